"""More wrong answers about scaling and saturation, beyond the files beside this one: each hears what is wrong."""

import math

import pytest
import torch
from torch.nn.functional import normalize

from attnlab.checks import judge


def entry(d, s, s4, t, t4, pairings=3):
    return d * s4 * t4 + pairings * d * (d - 1) * (s * t) ** 2 - (d * s * t) ** 2


def fourth(n_q, n_k, d, s, s4, t, t4, pairings=3, power=1, inner=2, outside=False):
    row, column = d**power * t**inner * (s4 - s * s), d**power * s**inner * (t4 - t * t)
    total = entry(d, s, s4, t, t4, pairings) + (n_k - 1) * row + (n_q - 1) * column
    return math.sqrt(total) / (n_q * n_k) if outside else math.sqrt(total / (n_q * n_k))


def mean_of(error):
    return lambda n_q, n_k, d, a, s, b, t: (d * a * b, error(n_q, n_k, d, a, s, b, t))


def scores(x, w_q, w_k):
    return (x @ w_q) @ (x @ w_k).transpose(-2, -1)


def share(e):
    return e / e.sum(-1, keepdim=True)


def plain(n, spread, temperature):
    return max(0.0, math.log(n) - (spread / temperature) ** 2 / 2)


def of_finfo(pair):
    return lambda dtype: pair(torch.finfo(dtype))


WRONG = [
    ("scaling-variance", lambda d, a, s, b, t: d * (s + a * a) * (t + b * b) - (d * a * b) ** 2, "taken off once"),
    ("scaling-variance", lambda d, a, s, b, t: d * ((s + a * a) * (t + b * b) - a * b), "the square of that mean"),
    ("scaling-variance", lambda d, a, s, b, t: d**0.5 * (s * t + a * a * t + b * b * s), "the root of d"),
    ("scaling-mean", mean_of(lambda n, m, d, a, s, b, t: math.sqrt(s * t / n / m + a * a * t / m + b * b * s / n)),
     "The width is missing"),
    ("scaling-mean", mean_of(lambda n, m, d, a, s, b, t: math.sqrt(d * (s * t / n / m + a * a * t / m))),
     "owe to their shared query is missing"),
    ("scaling-mean", mean_of(lambda n, m, d, a, s, b, t: math.sqrt(d * (s * t + a * a * t + b * b * s)) / n / m),
     "outside the root"),
    ("scaling-fourth", lambda *a: fourth(*a, pairings=1), "in three ways"),
    ("scaling-fourth", lambda *a: fourth(*a, power=0), "The width is missing in R and C"),
    ("scaling-fourth", lambda *a: fourth(*a, inner=1), "the square of that factor"),
    ("scaling-fourth", lambda *a: fourth(*a, outside=True), "under the root, once"),
    ("scaling-unit-scores", lambda x, q, k: (scores(x, k, q) / 6 / 3**0.5).softmax(-1), "have changed places"),
    ("scaling-unit-scores", lambda x, q, k: (scores(x, q, k) / 6 / 3**0.5).softmax(1), "dim=1 runs down"),
    ("scaling-unit-scores", lambda x, q, k: (scores(x, q, k) / len(x) / 3**0.5).softmax(-1), "number of tokens"),
    ("scaling-unit-scores", lambda x, q, k: (normalize(x @ q, dim=-1) @ normalize(x @ k, dim=-1).mT).softmax(-1),
     "Those are cosines"),
    ("saturation-jacobian", lambda p: torch.eye(p.shape[-1]) - p[..., None] * p[..., None, :], "not ones: diag(p)"),
    ("saturation-jacobian", lambda p: torch.eye(p.shape[-1]) - p[..., None, :].expand(*p.shape, p.shape[-1]), "ln p"),
    ("saturation-jacobian", lambda p: p[..., None] * (torch.eye(p.shape[-1]) - p[..., None]), "the square of one"),
    ("saturation-backward", lambda p, g: p * g - (p * g).sum(-1, keepdim=True), "without its factor p"),
    ("saturation-backward", lambda p, g: p * (g - (p * g).mean(-1, keepdim=True)), "once more"),
    ("saturation-backward", lambda p, g: p * (g - (p * g).sum(-2, keepdim=True)), "down the columns"),
    ("saturation-predict", lambda n, s, t: abs(math.log(n) - (s / t) ** 2 / 2), "return 0"),
    ("saturation-predict", lambda n, s, t: plain(n, s, t) / math.log(n), "a share of ln n"),
    ("saturation-predict", lambda n, s, t: plain(n, t, s), "It divides the temperature by the spread"),
    ("saturation-stable-softmax", lambda s: share((s.clamp_min(-1e4) - s.clamp_min(-1e4).amax(-1, True)).exp()),
     "shared out equally"),
    ("saturation-stable-softmax", lambda s: share((s - s.abs().amax(-1, True)).exp()), "nor the largest in size"),
    ("saturation-stable-softmax", lambda s: share((s - s.amax(-1, True)).exp2()), "powers of two"),
    ("saturation-limits", of_finfo(lambda i: (math.log(i.max), math.log(i.tiny * i.eps))), "low comes first"),
    ("saturation-limits", of_finfo(lambda i: (-math.log(i.tiny * i.eps), math.log(i.max))), "a negative score"),
    ("saturation-limits", of_finfo(lambda i: (i.min, math.log(i.max))), "the most negative number itself"),
    ("saturation-limits", of_finfo(lambda i: ("low", "high")), "low should be a number, it is of type str"),
    ("scaling-fair", lambda train, d, rates: {"d": 1}, "the keys √d, d and nothing"),
    ("scaling-fair", lambda train, d, rates: {c: (rates[0], 0) for c in ("√d", "d", "nothing")}, "not all rates"),
    ("saturation-slower", lambda train, d, seeds, below: [train(d, d, seed)[0] for seed in seeds], "It takes d_k"),
    ("saturation-slower", lambda train, d, seeds, below: [train(d, c, s)[0] for s in seeds for c in (1, d**-0.5)],
     "one ratio for each of the 3 seeds"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "answer", "message"), WRONG, ids=lambda x: x if isinstance(x, str) else "answer"
)
def test_it_says_what_is_wrong(name, answer, message):
    verdict = judge(name, answer)
    assert verdict.status == "wrong"
    assert message in verdict.message


def test_a_function_among_the_arguments_is_called_by_its_name():
    def breaks(train, d_k, rates):
        raise ZeroDivisionError("by zero")

    assert "arguments the function train, 9," in judge("scaling-fair", breaks).message
