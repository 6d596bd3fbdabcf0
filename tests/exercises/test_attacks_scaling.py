"""Answers to the exercises on scaling that readers tried, or that fooled an earlier checker."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from attnlab.checks import judge


def variance(d, a, s, b, t):
    return d * ((s + a * a) * (t + b * b) - (a * b) ** 2)


def estimate(n_q, n_k, d, a, s, b, t):
    return d * a * b, math.sqrt(variance(d, a, s / n_q, b, t / n_k))


def fourth(n_q, n_k, d, s, s4, t, t4, *, pairs=None, mean=None, row=None, column=None):
    moment = d * s4 * t4 + (3 * d * (d - 1) * (s * t) ** 2 if pairs is None else pairs)
    entry = moment - ((d * s * t) ** 2 if mean is None else mean)
    row = d * t * t * (s4 - s * s) if row is None else row
    column = d * s * s * (t4 - t * t) if column is None else column
    return math.sqrt((entry + (n_k - 1) * row + (n_q - 1) * column) / (n_q * n_k))


def single(answer, kind):
    """The same, computed from numbers of another kind."""
    return lambda *arguments: answer(*(x if isinstance(x, int) else kind(x) for x in arguments))


def weights(x, w_q, w_k, divisor):
    return ((x @ w_q) @ (x @ w_k).transpose(-2, -1) / divisor).softmax(-1)


def weights_in_loops(x, w_q, w_k):
    if x.dim() > 2:
        return torch.stack([weights_in_loops(one, w_q, w_k) for one in x])
    m, d = w_q.shape
    rows = [torch.stack([(a @ w_q) @ (b @ w_k) for b in x]) / m / math.sqrt(d) for a in x]
    return torch.stack([row.exp() / row.exp().sum() for row in (row - row.max() for row in rows)])


def searched(train, d_k, rates, divisors=None, start=None):
    """Compare in plain loops."""
    best = {}
    for name, divisor in (divisors or {"√d": math.sqrt(d_k), "d": d_k, "nothing": 1.0}).items():
        top = None
        for rate in rates if start is None else start:
            share = train(divisor, rate)
            if top is None or share > top[1]:
                top = (rate, share)
        best[name] = top
    return best


def until_it_falls(train, d_k, rates):
    best = {}
    for name, divisor in (("√d", d_k**0.5), ("d", d_k), ("nothing", 1)):
        tried = []
        for rate in rates:
            tried.append((rate, train(divisor, rate)))
            if len(tried) > 1 and tried[-1][1] < tried[-2][1]:
                break
        best[name] = max(tried, key=lambda pair: pair[1])
    return best


def sorts_the_rates(train, d_k, rates):
    rates.sort() if isinstance(rates, list) else None
    return searched(train, d_k, rates)


ATTACKS = [
    ("taken off once", "scaling-variance", "wrong", "taken off once for the whole score",
     lambda d, a, s, b, t: d * (s + a * a) * (t + b * b) - (d * a * b) ** 2),
    ("off, not squared", "scaling-variance", "wrong", "the square of that mean", lambda d, a, s, b, t: d * ((s + a * a) * (t + b * b) - a * b)),
    ("root of d", "scaling-variance", "wrong", "the root of d", lambda d, a, s, b, t: d**0.5 * variance(1, a, s, b, t)),
    ("the standard deviation", "scaling-variance", "wrong", "That is the standard deviation", lambda *p: variance(*p) ** 0.5),
    ("means without sign", "scaling-variance", "right", "", lambda d, a, s, b, t: variance(d, abs(a), s, abs(b), t)),
    ("one mean for both", "scaling-variance", "wrong", "With d = 5", lambda d, a, s, b, t: variance(d, a, s, a, t)),
    ("d of at least 2", "scaling-variance", "wrong", "With d = 1", lambda d, a, s, b, t: variance(max(d, 2), a, s, b, t)),
    ("whole numbers", "scaling-variance", "wrong", "With d = 5", lambda d, a, s, b, t: int(variance(d, a, s, b, t))),
    ("one variance for both", "scaling-variance", "wrong", "With d = 5", lambda d, a, s, b, t: variance(d, a, s, b, s)),
    ("never above 64", "scaling-variance", "wrong", "With d = 300", lambda d, a, s, b, t: variance(min(d, 64), a, s, b, t)),
    ("zero means are 1", "scaling-variance", "wrong", "With d = 64", lambda d, a, s, b, t: variance(d, a or 1, s, b or 1, t)),
    ("text", "scaling-variance", "wrong", "should be a number, it is '2.1' (str)", lambda *p: "2.1"),
    ("NumPy's numbers", "scaling-variance", "right", "", single(variance, np.float32)),
    ("an array of one", "scaling-variance", "right", "", single(variance, np.array)),
    ("a tensor of one", "scaling-variance", "right", "", single(variance, torch.tensor)),
    ("a Fraction", "scaling-variance", "right", "", single(variance, Fraction)),
    ("a sum of d", "scaling-variance", "right", "", lambda d, a, s, b, t: sum(s * t + a * a * t + b * b * s for _ in range(d))),
    ("no width", "scaling-mean", "wrong", "The width is missing", lambda n, m, d, a, s, b, t: (d * a * b, estimate(n, m, 1, a, s, b, t)[1])),
    ("no shared query", "scaling-mean", "wrong", "owe to their shared query is missing",
     lambda n, m, d, a, s, b, t: (d * a * b, math.sqrt(d * (s * t / n / m + a * a * t / m)))),
    ("outside the root", "scaling-mean", "wrong", "outside the root", lambda n, m, d, a, s, b, t: (d * a * b, variance(d, a, s, b, t) ** 0.5 / n / m)),
    ("all of one product", "scaling-mean", "wrong", "Mean and standard error are those of one product",
     lambda n, m, d, *p: estimate(n, m, 1, *p)),
    ("one number", "scaling-mean", "wrong", "2 values (mean, standard error)", lambda *p: estimate(*p)[0]),
    ("the error first", "scaling-mean", "wrong", "The pair is turned around", lambda *p: estimate(*p)[::-1]),
    ("the mean without sign", "scaling-mean", "wrong", "the mean should be -2.4", lambda *p: (abs(estimate(*p)[0]), estimate(*p)[1])),
    ("n - 1", "scaling-mean", "wrong", "the standard error should be", lambda n, m, *p: (p[0] * p[1] * p[3], estimate(max(n - 1, 1), max(m - 1, 1), *p)[1])),
    ("one side for both", "scaling-mean", "wrong", "the standard error", lambda n, m, *p: estimate(n, n, *p)),
    ("one query is none", "scaling-mean", "wrong", "the standard error should be", lambda n, m, d, a, s, b, t: (d * a * b, variance(d, a, s / (n - 1), b, t / (m - 1)) ** 0.5)),
    ("the formula for many", "scaling-mean", "wrong", "the term of the two variances is missing",
     lambda n, m, d, a, s, b, t: (d * a * b, math.sqrt(d * (a * a * t / m + b * b * s / n)))),
    ("a list", "scaling-mean", "right", "", lambda *p: list(estimate(*p))),
    ("a tensor for the pair", "scaling-mean", "right", "", lambda *p: torch.tensor(estimate(*p))),
    ("an array for the pair", "scaling-mean", "right", "", lambda *p: np.array(estimate(*p), dtype=np.float32)),
    ("by counting pairs", "scaling-mean", "right", "",
     lambda n, m, d, a, s, b, t: (d * a * b, math.sqrt((variance(d, a, s, b, t) + (m - 1) * d * b * b * s + (n - 1) * d * a * a * t) / n / m))),
    ("variances not squared", "scaling-fourth", "wrong", "Yours is not squared",
     lambda n, m, d, s, s4, t, t4: fourth(n, m, d, s, s4, t, t4, pairs=3 * d * (d - 1) * s * t)),
    ("d² off", "scaling-fourth", "wrong", "It takes away d²", lambda n, m, d, *p: fourth(n, m, d, *p, mean=d * d)),
    ("kurtoses in R and C", "scaling-fourth", "wrong", "R and C are divided by the variances",
     lambda n, m, d, s, s4, t, t4: fourth(n, m, d, s, s4, t, t4, row=d * (s4 / s**2 - 1), column=d * (t4 / t**2 - 1))),
    ("kurtoses everywhere", "scaling-fourth", "wrong", "the moments over the variances alone",
     lambda n, m, d, s, s4, t, t4: fourth(n, m, d, 1, s4 / s**2, 1, t4 / t**2)),
    ("kurtoses, then the scale", "scaling-fourth", "right", "",
     lambda n, m, d, s, s4, t, t4: s * t * fourth(n, m, d, 1, s4 / s**2, 1, t4 / t**2)),
    ("kurtoses, scaled for one", "scaling-fourth", "wrong", "the output should be", lambda n, m, d, s, s4, t, t4: s * t * d * fourth(n, m, 1, 1, s4 / s**2, 1, t4 / t**2)),
    ("one pairing", "scaling-fourth", "wrong", "in three ways", lambda n, m, d, s, s4, t, t4: fourth(n, m, d, s, s4, t, t4, pairs=d * (d - 1) * (s * t) ** 2)),
    ("no pairs", "scaling-fourth", "wrong", "in three ways", lambda n, m, d, s, s4, t, t4: (fourth(n, m, d, s, s4, t, t4) ** 2 - 3 * d * (d - 1) * (s * t) ** 2 / n / m) ** 0.5),
    ("no width", "scaling-fourth", "wrong", "The width is missing in R and C",
     lambda n, m, d, s, s4, t, t4: fourth(n, m, d, s, s4, t, t4, row=t * t * (s4 - s * s), column=s * s * (t4 - t * t))),
    ("the factor once", "scaling-fourth", "wrong", "the square of that factor",
     lambda n, m, d, s, s4, t, t4: fourth(n, m, d, s, s4, t, t4, row=d * t * (s4 - s * s), column=d * s * (t4 - t * t))),
    ("outside the root", "scaling-fourth", "wrong", "under the root, once", lambda n, m, *p: fourth(n, m, *p) / (n * m) ** 0.5),
    ("the same for coins", "scaling-fourth", "wrong", "fourth_k = 1.0", lambda n, m, d, s, s4, t, t4: fourth(n, m, d, s, s4, t, t4) if s4 > s * s or t4 > t * t else 0),
    ("queries alone", "scaling-fourth", "wrong", "should be", lambda n, m, d, s, s4, t, t4: fourth(n, m, d, s, s4, s, s4)),
    ("a negative root", "scaling-fourth", "wrong", "it is (", lambda *p: (-fourth(*p)) ** 0.5),
    ("NumPy's numbers", "scaling-fourth", "right", "", lambda *p: np.float32(fourth(*p))),
    ("a tensor", "scaling-fourth", "right", "", lambda *p: torch.tensor(fourth(*p))),
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
    ("without a batch", "scaling-unit-scores", "wrong", "right without a batch alone", lambda x, q, k: torch.mm(torch.mm(x, q), torch.mm(x, k).t()).div(q.shape[0] * q.shape[1] ** 0.5).softmax(-1)),
    ("half of the gradient", "scaling-unit-scores", "wrong", "the gradient is not", lambda x, q, k: weights(x, q, k.detach(), q.shape[0] * q.shape[1] ** 0.5)
     if not x.requires_grad else ((x @ q) @ (x.detach() @ k.detach()).mT / q.shape[0] / q.shape[1] ** 0.5).softmax(-1)),
    ("single precision inside", "scaling-unit-scores", "wrong", "in float64", lambda x, q, k: weights(x.float(), q.float(), k.float(), q.shape[0] * q.shape[1] ** 0.5).to(x.dtype)),
    ("rounded", "scaling-unit-scores", "wrong", "should be", lambda x, q, k: weights(x, q, k, q.shape[0] * q.shape[1] ** 0.5).mul(1000).round() / 1000),
    ("scaled before", "scaling-unit-scores", "right", "", lambda x, q, k: weights(x, q / q.shape[0] ** 0.5, k / q.shape[0] ** 0.5, q.shape[1] ** 0.5)),
    ("one matrix of both", "scaling-unit-scores", "right", "", lambda x, q, k: (torch.einsum("...im,mk,nk,...jn->...ij", x, q, k, x) / q.shape[0] / q.shape[1] ** 0.5).softmax(-1)),
    ("loops", "scaling-unit-scores", "right", "", weights_in_loops),
    ("torch's own attention", "scaling-unit-scores", "right", "", lambda x, q, k: scaled_dot_product_attention(x @ q, x @ k, torch.eye(x.shape[-2], dtype=x.dtype).expand(*x.shape[:-1], x.shape[-2]), scale=1 / q.shape[0] / q.shape[1] ** 0.5)),
    ("a third", "scaling-fair", "wrong", "d_k = 64", lambda train, d, rates: searched(train, d, rates, {"√d": d / 3, "d": d, "nothing": 1})),
    ("a whole root", "scaling-fair", "wrong", "A divisor need not be one", lambda train, d, rates: searched(train, d, rates, {"√d": int(d**0.5), "d": d, "nothing": 1})),
    ("rates of its own", "scaling-fair", "wrong", "d_k = 64", lambda train, d, rates: searched(train, d, rates, start=(0.1, 0.3, 1.0))),
    ("more rates", "scaling-fair", "wrong", "the rate should be", lambda train, d, rates: searched(train, d, rates, start=(*rates, 0.9, 0.05))),
    ("until it falls", "scaling-fair", "wrong", "should be", until_it_falls),
    ("not the last", "scaling-fair", "wrong", "should be", lambda train, d, rates: searched(train, d, rates, start=rates[:-1] or rates)),
    ("upside down", "scaling-fair", "wrong", "It passes the scale", lambda train, d, rates: searched(train, d, rates, {"√d": d**-0.5, "d": 1 / d, "nothing": 1})),
    ("by zero", "scaling-fair", "wrong", "divided by 1", lambda train, d, rates: searched(train, d, rates, {"√d": d**0.5, "d": d, "nothing": 0})),
    ("rates first", "scaling-fair", "wrong", "the divisor first", lambda train, d, rates: searched(lambda c, r: train(r, c), d, rates)),
    ("shares alone", "scaling-fair", "wrong", "2 values (rate, share)", lambda train, d, rates: {k: v[1] for k, v in searched(train, d, rates).items()}),
    ("one key", "scaling-fair", "wrong", "lacks the key", lambda train, d, rates: {"d": (rates[0], train(d, rates[0]))}),
    ("nothing tried", "scaling-fair", "wrong", "the rate should be", lambda train, d, rates: {c: (rates[0], 0) for c in ("√d", "d", "nothing")}),
    ("pairs in a list", "scaling-fair", "wrong", "should be a dict", lambda train, d, rates: list(searched(train, d, rates).values())),
    ("sorts the rates", "scaling-fair", "wrong", "it changed its argument rates in place", sorts_the_rates),
    ("it breaks", "scaling-fair", "wrong", "it raised ZeroDivisionError", lambda train, d, rates: 1 / 0),
    ("plain loops", "scaling-fair", "right", "", searched),
    ("rates in single precision", "scaling-fair", "right", "", lambda train, d, rates: searched(train, d, torch.tensor(rates))),
    ("rates in NumPy", "scaling-fair", "right", "", lambda train, d, rates: searched(train, np.float64(d), np.array(rates))),
    ("pairs as arrays", "scaling-fair", "right", "", lambda train, d, rates: {k: np.array(v) for k, v in searched(train, d, rates).items()}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "status", "message", "answer"), [a[1:] for a in ATTACKS], ids=[f"{a[1]}-{a[0]}" for a in ATTACKS]
)
def test_an_attack_is_judged_rightly(name, status, message, answer):
    verdict = judge(name, answer)
    assert verdict.status == status, verdict.message
    assert message.lower() in verdict.message.lower(), verdict.message
