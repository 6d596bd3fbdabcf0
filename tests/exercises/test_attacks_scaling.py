"""Answers to the exercises on scaling that readers tried, or that fooled an earlier checker."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch.nn.functional import rms_norm, scaled_dot_product_attention

from attnlab.checks import judge


def parts(s):
    rows, columns = s.mean(-1, keepdim=True), s.mean(-2, keepdim=True)
    return rows, columns, s - rows - columns


def variances(parts):
    return torch.stack([part.var((-2, -1), correction=0) for part in parts])


def split_in_loops(s):
    if s.dim() > 2:
        return torch.stack([split_in_loops(one) for one in s], 1)
    n_q, n_k = s.shape
    mean = sum(s[i, j] for i in range(n_q) for j in range(n_k)) / (n_q * n_k)
    query = [sum(s[i, j] for j in range(n_k)) / n_k - mean for i in range(n_q)]
    key = [sum(s[i, j] for i in range(n_q)) / n_q - mean for j in range(n_k)]
    pair = sum((s[i, j] - query[i] - key[j] - mean) ** 2 for i in range(n_q) for j in range(n_k))
    return torch.stack((sum(x**2 for x in query) / n_q, sum(x**2 for x in key) / n_k, pair / (n_q * n_k)))


def split_by_subtraction(s):
    query, key = s.mean(-1).var(-1, correction=0), s.mean(-2).var(-1, correction=0)
    return torch.stack((query, key, s.var((-2, -1), correction=0) - query - key))


def rms(x, gain, eps=1e-6):
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * gain


def weights_of(q, k):
    return (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1)


def weights(x, w_q, w_k, divisor):
    return ((x @ w_q) @ (x @ w_k).transpose(-2, -1) / divisor).softmax(-1)


def weights_in_loops(x, w_q, w_k):
    if x.dim() > 2:
        return torch.stack([weights_in_loops(one, w_q, w_k) for one in x])
    m, d = w_q.shape
    rows = [torch.stack([(a @ w_q) @ (b @ w_k) for b in x]) / m / math.sqrt(d) for a in x]
    return torch.stack([row.exp() / row.exp().sum() for row in (row - row.max() for row in rows)])


def tried(train, rates):
    """The best of these rates, a diverged run below all others."""
    shares = {rate: train(rate) for rate in rates}
    return max(shares.items(), key=lambda pair: -1 if math.isnan(pair[1]) else pair[1])


def walk(train, rate, diverged=-1.0, factor=2):
    def at(rate):
        share = train(rate)
        return diverged if math.isnan(share) else share

    while at(rate / factor) >= at(rate):
        rate = rate / factor
    while at(rate * factor) > at(rate):
        rate = rate * factor
    return rate, train(rate)


def by_recursion(train, rate):
    best, share = tried(train, (rate / 2, rate, rate * 2))
    if best == rate and not math.isnan(share):
        return rate, share
    return by_recursion(train, best if not math.isnan(share) else rate / 2)


def until_finite_then_up(train, rate):
    while math.isnan(train(rate)):
        rate /= 2
    while train(rate * 2) > train(rate):
        rate *= 2
    return rate, train(rate)


def never_below_the_start(train, rate):
    found = walk(train, rate)
    return max(found, (rate, train(rate)))


ATTACKS = [
    ("sample variances", "scaling-owed", "wrong", "It divides by one less", lambda s: torch.stack([p.var((-2, -1)) for p in parts(s)])),
    ("the key first", "scaling-owed", "wrong", "have changed places", lambda s: variances(parts(s))[[1, 0, 2]]),
    ("the pair less the query alone", "scaling-owed", "wrong", "keeps the key's part", lambda s: torch.stack((*variances(parts(s))[:2], s.var((-2, -1), correction=0) - variances(parts(s))[0]))),
    ("centred on the first query", "scaling-owed", "wrong", "should be", lambda s: variances((r := s.mean(-1, keepdim=True), c := s[..., :1, :] - r[..., :1, :], s - r - c))),
    ("two of three", "scaling-owed", "wrong", "should have shape (3,), it has (2,)", lambda s: variances(parts(s))[:2]),
    ("a tuple", "scaling-owed", "wrong", "should be a tensor", lambda s: tuple(variances(parts(s)))),
    ("stacked at the end", "scaling-owed", "wrong", "should have shape", lambda s: variances(parts(s)).movedim(0, -1)),
    ("shares", "scaling-owed", "wrong", "These are shares", lambda s: variances(parts(s)) / s.var((-2, -1), correction=0)),
    ("one matrix for all", "scaling-owed", "wrong", "should have shape (3, 2)", lambda s: torch.stack([p.var(correction=0) for p in parts(s)])),
    ("the first matrix", "scaling-owed", "wrong", "shape", lambda s: variances(parts(s[(0,) * (s.dim() - 2)]))),
    ("spread of rows", "scaling-owed", "wrong", "should be", lambda s: torch.stack((s.var(-1, correction=0).mean(-1), s.var(-2, correction=0).mean(-1), s.var((-2, -1), correction=0)))),
    ("in single precision", "scaling-owed", "wrong", "float64", lambda s: variances(parts(s.float())).to(s.dtype)),
    ("no gradient", "scaling-owed", "wrong", "gradient", lambda s: variances(parts(s.detach()))),
    ("centred in place", "scaling-owed", "wrong", "changed its argument", lambda s: variances(parts(s.sub_(s.mean())))),
    ("loops", "scaling-owed", "right", "", split_in_loops),
    ("by subtraction", "scaling-owed", "right", "", split_by_subtraction),
    ("by einsum", "scaling-owed", "right", "", lambda s: variances((torch.einsum("...ij->...i", s)[..., None] / s.shape[-1], *parts(s)[1:]))),
    ("by NumPy", "scaling-owed", "wrong", "no gradient reaches s", lambda s: torch.from_numpy(np.stack([x.var((-2, -1)) for x in (lambda a: (a.mean(-1, keepdims=True), a.mean(-2, keepdims=True), a - a.mean(-1, keepdims=True) - a.mean(-2, keepdims=True)))(s.detach().numpy())]))),
    ("medians", "scaling-owed", "wrong", "should be", lambda s: variances((s.median(-1, keepdim=True).values, *parts(s)[1:]))),
    ("6 and 3", "scaling-unit-scores", "wrong", "row 0 should be", lambda x, q, k: weights(x, q, k, 6 * 3**0.5)),
    ("2 for the root of d_model", "scaling-unit-scores", "wrong", "row 0 should be", lambda x, q, k: weights(x, q, k, 2 * q.shape[1] ** 1.5)),
    ("permute(0, 2, 1)", "scaling-unit-scores", "wrong", "It raised",
     lambda x, q, k: ((x @ q) @ (x @ k).permute(0, 2, 1) / q.shape[0] / q.shape[1] ** 0.5).softmax(-1)),
    ("queries for keys", "scaling-unit-scores", "wrong", "have changed places", lambda x, q, k: weights(x, k, q, q.shape[0] * q.shape[1] ** 0.5)),
    ("dim=1", "scaling-unit-scores", "wrong", "With a batch, dim=1 is another axis" , lambda x, q, k: ((x @ q) @ (x @ k).mT / q.shape[0] / q.shape[1] ** 0.5).softmax(min(1, x.dim() - 1))),
    ("the number of tokens", "scaling-unit-scores", "wrong", "number of tokens", lambda x, q, k: weights(x, q, k, x.shape[-2] * q.shape[1] ** 0.5)),
    ("cosines", "scaling-unit-scores", "wrong", "Those are cosines",
     lambda x, q, k: ((x @ q / (x @ q).norm(dim=-1, keepdim=True)) @ (x @ k / (x @ k).norm(dim=-1, keepdim=True)).mT).softmax(-1)),
    ("the spread at hand", "scaling-unit-scores", "wrong", "must not depend on the data", lambda x, q, k: weights(x, q, k, ((x @ q) @ (x @ k).mT).std())),
    ("its own score taken off", "scaling-unit-scores", "wrong", "should be", lambda x, q, k: (lambda s: (s - s.diagonal(dim1=-2, dim2=-1)[..., None, :]).softmax(-1))((x @ q) @ (x @ k).mT / q.shape[0] / q.shape[1] ** 0.5)),
    ("width 64", "scaling-unit-scores", "wrong", "should be", lambda x, q, k: weights(x, q, k, q.shape[0] * 8)),
    ("without a batch", "scaling-unit-scores", "wrong", "right without a batch alone", lambda x, q, k: torch.mm(torch.mm(x, q), torch.mm(x, k).t()).div(q.shape[0] * q.shape[1] ** 0.5).softmax(-1)),
    ("half of the gradient", "scaling-unit-scores", "wrong", "the gradient is not", lambda x, q, k: weights(x, q, k.detach(), q.shape[0] * q.shape[1] ** 0.5)
     if not x.requires_grad else ((x @ q) @ (x.detach() @ k.detach()).mT / q.shape[0] / q.shape[1] ** 0.5).softmax(-1)),
    ("single precision inside", "scaling-unit-scores", "wrong", "in float64", lambda x, q, k: weights(x.float(), q.float(), k.float(), q.shape[0] * q.shape[1] ** 0.5).to(x.dtype)),
    ("rounded", "scaling-unit-scores", "wrong", "should be", lambda x, q, k: weights(x, q, k, q.shape[0] * q.shape[1] ** 0.5).mul(1000).round() / 1000),
    ("scaled before", "scaling-unit-scores", "right", "", lambda x, q, k: weights(x, q / q.shape[0] ** 0.5, k / q.shape[0] ** 0.5, q.shape[1] ** 0.5)),
    ("one matrix of both", "scaling-unit-scores", "right", "", lambda x, q, k: (torch.einsum("...im,mk,nk,...jn->...ij", x, q, k, x) / q.shape[0] / q.shape[1] ** 0.5).softmax(-1)),
    ("loops", "scaling-unit-scores", "right", "", weights_in_loops),
    ("torch's own attention", "scaling-unit-scores", "right", "", lambda x, q, k: scaled_dot_product_attention(x @ q, x @ k, torch.eye(x.shape[-2], dtype=x.dtype).expand(*x.shape[:-1], x.shape[-2]), scale=1 / q.shape[0] / q.shape[1] ** 0.5)),
    ("lengths", "scaling-qk-norm", "wrong", "It divides by the length", lambda q, k, a, b: weights_of(*(x * (x.square().sum(-1, keepdim=True) + 1e-6).rsqrt() * g for x, g in ((q, a), (k, b))))),
    ("gains of 1 + g", "scaling-qk-norm", "wrong", "should be", lambda q, k, a, b: weights_of(rms(q, 1 + a), rms(k, 1 + b))),
    ("about the mean", "scaling-qk-norm", "wrong", "should be", lambda q, k, a, b: weights_of(*(g * x / (x.var(-1, keepdim=True, correction=0) + 1e-6).sqrt() for x, g in ((q, a), (k, b))))),
    ("the mean gain of both", "scaling-qk-norm", "wrong", "should be", lambda q, k, a, b: weights_of(rms(q, (a * b).mean()), rms(k, 1.0))),
    ("gains exchanged", "scaling-qk-norm", "right", "", lambda q, k, a, b: weights_of(rms(q, b), rms(k, a))),
    ("another ε", "scaling-qk-norm", "wrong", "should be", lambda q, k, a, b: weights_of(rms(q, a, 1e-5), rms(k, b, 1e-5))),
    ("ε for zeros alone", "scaling-qk-norm", "wrong", "should be", lambda q, k, a, b: weights_of(*(g * x / x.square().mean(-1, keepdim=True).sqrt().clamp_min(1e-6) for x, g in ((q, a), (k, b))))),
    ("zeros without NaN", "scaling-qk-norm", "wrong", "should be", lambda q, k, a, b: weights_of(*(g * (x / x.square().mean(-1, keepdim=True).sqrt()).nan_to_num() for x, g in ((q, a), (k, b))))),
    ("one gain for both", "scaling-qk-norm", "wrong", "should be", lambda q, k, a, b: weights_of(rms(q, a), rms(k, a))),
    ("the gain as one number", "scaling-qk-norm", "wrong", "should be", lambda q, k, a, b: weights_of(rms(q, a.mean()), rms(k, b.mean()))),
    ("scaled twice", "scaling-qk-norm", "wrong", "cosines", lambda q, k, a, b: weights_of(rms(q, a), rms(k, b) / q.shape[-1] ** 0.5)),
    ("the scores normed", "scaling-qk-norm", "wrong", "should be", lambda q, k, a, b: rms(q * a @ (k * b).mT, 1.0).softmax(-1)),
    ("divisor without gradient", "scaling-qk-norm", "wrong", "gradient", lambda q, k, a, b: weights_of(q / (q.square().mean(-1, keepdim=True) + 1e-6).sqrt().detach() * a, rms(k, b))),
    ("in single precision", "scaling-qk-norm", "wrong", "float64", lambda q, k, a, b: weights_of(rms(q.float(), a.float()), rms(k.float(), b.float())).to(q.dtype)),
    ("without a batch", "scaling-qk-norm", "wrong", "It raised", lambda q, k, a, b: (rms(q, a).mm(rms(k, b).t()) / q.shape[-1] ** 0.5).softmax(-1)),
    ("as many keys as queries", "scaling-qk-norm", "wrong", "It raised", lambda q, k, a, b: weights_of(rms(q, a), rms(k, b)) + 0 * (q - k).sum()),
    ("torch's norm", "scaling-qk-norm", "right", "", lambda q, k, a, b: weights_of(rms_norm(q, a.shape, a, 1e-6), rms_norm(k, b.shape, b, 1e-6))),
    ("the scale in the gain", "scaling-qk-norm", "right", "", lambda q, k, a, b: (rms(q, a / q.shape[-1] ** 0.5) @ rms(k, b).mT).softmax(-1)),
    ("by lengths", "scaling-qk-norm", "right", "", lambda q, k, a, b: (torch.einsum("...id,...jd->...ij", *(x * g / (x.square().sum(-1, keepdim=True) + 1e-6 * x.shape[-1]).sqrt() for x, g in ((q, a), (k, b)))) * q.shape[-1] ** 0.5).softmax(-1)),
    ("torch's own attention", "scaling-qk-norm", "right", "", lambda q, k, a, b: scaled_dot_product_attention(rms(q, a), rms(k, b), torch.eye(k.shape[-2], dtype=k.dtype).expand(*k.shape[:-1], k.shape[-2]))),
    ("torch's own ε", "scaling-qk-norm", "wrong", "should be", lambda q, k, a, b: weights_of(rms_norm(q, a.shape, a), rms_norm(k, b.shape, b))),
    ("both gains on one side", "scaling-qk-norm", "right", "", lambda q, k, a, b: weights_of(rms(q, a * b), rms(k, 1.0))),
    ("a dictionary", "scaling-search", "wrong", "2 values", lambda train, rate: dict(zip(("rate", "share"), walk(train, rate), strict=True))),
    ("tensors", "scaling-search", "right", "", lambda train, rate: tuple(torch.tensor(x) for x in walk(train, rate))),
    ("up alone", "scaling-search", "wrong", "far too large", until_finite_then_up),
    ("NaN as it comes", "scaling-search", "wrong", "at which it diverges", lambda train, rate: walk(train, rate, math.nan)),
    ("NaN for the best", "scaling-search", "wrong", "", lambda train, rate: walk(train, min(rate, 0.1), 2.0) if train(2 * rate) == train(2 * rate) else (rate, 2.0)),
    ("a grid of seven", "scaling-search", "wrong", "should be", lambda train, rate: tried(train, [rate * 2.0**i for i in range(-3, 4)])),
    ("rates of its own", "scaling-search", "wrong", "should be", lambda train, rate: walk(train, 0.1)),
    ("by roots of 2", "scaling-search", "wrong", "should be", lambda train, rate: walk(train, rate, factor=2**0.5)),
    ("by tens", "scaling-search", "wrong", "Use 2", lambda train, rate: walk(train, rate, factor=10)),
    ("the share first", "scaling-search", "wrong", "The pair is turned around", lambda train, rate: walk(train, rate)[::-1]),
    ("the rate alone", "scaling-search", "wrong", "2 values", lambda train, rate: walk(train, rate)[0]),
    ("never below", "scaling-search", "wrong", "should be", never_below_the_start),
    ("nothing tried", "scaling-search", "wrong", "It returns the first rate", lambda train, rate: (rate, train(rate))),
    ("for ever", "scaling-search", "wrong", "it trains more than 43 times", lambda train, rate: next(r for r in iter(lambda: rate, None) if train(r) > 1)),
    ("by recursion", "scaling-search", "right", "", by_recursion),
    ("a long list", "scaling-search", "wrong", "it trains more than 38 times", lambda train, rate: tried(train, [rate * 2.0**i for i in range(-20, 21)])),
    ("a tenth until it is finite", "scaling-search", "wrong", "at which it diverges", lambda train, rate: walk(train, next(r for r in (rate / 10.0**i for i in range(9)) if train(r) == train(r)))),
    ("minus infinity", "scaling-search", "right", "", lambda train, rate: walk(train, rate, -math.inf)),
    ("Fractions", "scaling-search", "right", "", lambda train, rate: walk(train, Fraction(rate))),
    ("NumPy's numbers", "scaling-search", "right", "", lambda train, rate: tuple(np.float32(x) for x in walk(train, rate))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "status", "message", "answer"), [a[1:] for a in ATTACKS], ids=[f"{a[1]}-{a[0]}" for a in ATTACKS]
)
def test_an_attack_is_judged_rightly(name, status, message, answer):
    verdict = judge(name, answer)
    assert verdict.status == status, verdict.message
    assert message.lower() in verdict.message.lower(), verdict.message
