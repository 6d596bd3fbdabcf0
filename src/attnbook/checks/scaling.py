"""Exercises on scaling: the divisor that careless weights need, and norms on queries and keys."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import normalize

from attnbook.checks.exercise import case, draws, exercise, gradient, mistake, precisions


def _scores(x: Tensor, w_q: Tensor, w_k: Tensor) -> Tensor:
    return (x @ w_q) @ (x @ w_k).mT


def _over(divisor: Callable[[int, int], float]) -> Callable:
    """Weights from scores over a divisor that follows from d_model and d_k."""
    return lambda x, w_q, w_k: (_scores(x, w_q, w_k) / divisor(*w_q.shape)).softmax(-1)


def _with(weights: Callable[[Tensor], Tensor]) -> Callable:
    """Weights that are made in another way from rightly divided scores."""
    return lambda x, w_q, w_k: weights(_scores(x, w_q, w_k) / w_q.shape[0] / w_q.shape[1] ** 0.5)


def _by_spread(spread: Callable[[Tensor, Tensor, Tensor], Tensor | float]) -> Callable:
    """Weights from scores over a divisor that is measured on the scores or the queries and keys."""

    def does(x: Tensor, w_q: Tensor, w_k: Tensor) -> Tensor:
        s = _scores(x, w_q, w_k)
        return (s / spread(s, x @ w_q, x @ w_k)).softmax(-1)

    return does


MEASURED = "It divides by the spread of these very {}. The scale must not depend on the data: work it out from the shapes."

exercise(
    "scaling-unit-scores",
    "unit_weights",
    reference=_over(lambda m, k: m * k**0.5),
    cases=[
        *draws(x="... n m", w_q="m k", w_k="m k", lead=[(), (2,), (3,), (2, 4)]),
        *draws(x="... n m", w_q="m k", w_k="m k", lead=[(), (1,)], seeds=2, spread=0.4, n=(6, 9), large=None),
    ],
    promises=[gradient("x", "w_q", "w_k"), precisions("float64")],
    mistakes=[
        mistake("The scores are not scaled.", _over(lambda m, k: 1)),
        mistake("It divides by the root of d_k alone. That is enough for queries of variance 1; these have more.", _over(lambda m, k: k**0.5)),
        mistake("It divides by d_k alone: by the width instead of its root, and the variance of the queries is left out.", _over(lambda m, k: k)),
        mistake("It divides by d_model · d_k. The sum over d_k products calls for the root of d_k.", _over(lambda m, k: m * k)),
        mistake("It divides by d_model alone. That makes the queries right; the score is still a sum over d_k.", _over(lambda m, k: m)),
        mistake("It divides by the root of d_model · d_k. Queries and keys each bring a root of d_model.", _over(lambda m, k: (m * k) ** 0.5)),
        mistake("d_model and d_k have changed places. The score sums over d_k, each query entry over d_model.", _over(lambda m, k: k * m**0.5)),
        mistake("It uses d_model where d_k belongs: the score is a sum over the d_k entries of query and key.", _over(lambda m, k: m**1.5)),
        mistake("It divides by the root of d_model alone.", _over(lambda m, k: m**0.5)),
        mistake("It divides by the variance of the scores. Divide by their standard deviation.", _over(lambda m, k: m * m * k)),
        mistake("It multiplies by the standard deviation of the scores. Divide by it.", _over(lambda m, k: 1 / (m * k**0.5))),
        mistake("The scale comes after the softmax: the rows no longer sum to 1. Scale the scores.",
                lambda x, w_q, w_k: (_scores(x, w_q, w_k).softmax(-1) / (w_q.shape[0] * math.sqrt(w_q.shape[1])))),
        mistake("The softmax runs down the columns. Each row belongs to one query: use dim=-1.",
                _with(lambda s: s.softmax(-2))),
        mistake("With a batch, dim=1 is another axis. Count the axis from the end: dim=-1.",
                _with(lambda s: s.softmax(1))),
        mistake("There is no softmax: these are scores, not weights.", _with(lambda s: s)),
        mistake("Queries and keys have changed places: w_q makes the queries, and each row belongs to a query.",
                lambda x, w_q, w_k: (_scores(x, w_k, w_q) / w_q.shape[0] / math.sqrt(w_q.shape[1])).softmax(-1)),
        mistake("It uses the number of tokens. A query entry is a sum over d_model: the length of the text has no part in it.",
                lambda x, w_q, w_k: (_scores(x, w_q, w_k) / x.shape[-2] / math.sqrt(w_q.shape[1])).softmax(-1)),
        mistake("It is right without a batch alone. @, .transpose(-2, -1) and .softmax(-1) take any axes before the last two along.",
                lambda x, w_q, w_k: (x.mm(w_q).mm(x.mm(w_k).t()) / w_q.shape[0] / w_q.shape[1] ** 0.5).softmax(-1)),
        mistake("It is right with one batch axis alone. @, .transpose(-2, -1) and .softmax(-1) take any axes before the last two along.",
                lambda x, w_q, w_k: (((x @ w_q).bmm((x @ w_k).mT) / w_q.shape[0] / w_q.shape[1] ** 0.5).softmax(-1))),
        mistake(MEASURED.format("scores"), _by_spread(lambda s, q, k: s.std())),
        mistake(MEASURED.format("scores"), _by_spread(lambda s, q, k: s.std(-1, keepdim=True))),
        mistake(MEASURED.format("scores"), _by_spread(lambda s, q, k: s.std((-2, -1), keepdim=True))),
        mistake(MEASURED.format("queries and keys"), _by_spread(lambda s, q, k: q.std() * k.std() * math.sqrt(q.shape[-1]))),
        mistake("Those are cosines: it divides each score by the lengths of its two vectors. One divisor, from the shapes, serves them all.",
                lambda x, w_q, w_k: (normalize(x @ w_q, dim=-1) @ normalize(x @ w_k, dim=-1).mT).softmax(-1)),
    ],
    praise="Scores of unit variance, from the shapes alone, for any two widths, with a batch and without.",
)  # fmt: skip


Norm = Callable[[Tensor, Tensor], Tensor]
EPS = 1e-6


def _rms(x: Tensor, gain: Tensor) -> Tensor:
    return x * (x.square().mean(-1, keepdim=True) + EPS).rsqrt() * gain


def _weights(q: Tensor, k: Tensor) -> Tensor:
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)


def _normed(norm: Norm = _rms, norm_k: Norm | None = None, weights: Callable = _weights) -> Callable:
    """Make a `normed_weights`, with one norm for both sides unless two are given."""
    return lambda q, k, gain_q, gain_k: weights(norm(q, gain_q), (norm_k or norm)(k, gain_k))


def _length(x: Tensor, gain: Tensor) -> Tensor:
    return x * (x.square().sum(-1, keepdim=True) + EPS).rsqrt() * gain


def _layer_norm(x: Tensor, gain: Tensor) -> Tensor:
    return _rms(x - x.mean(-1, keepdim=True), gain)


GAINS = {"gain_q": "d", "gain_k": "d"}
ROWS = {"q": torch.tensor([[0.0, 0, 0], [3e-4, -5e-4, 8e-4], [400, -900, 100]])}
KEYS = torch.tensor([[1.0, 2, -1], [0.3, -0.2, 0.5]])
ONES = {"gain_q": torch.ones(3), "gain_k": torch.ones(3)}

exercise(
    "scaling-qk-norm",
    "normed_weights",
    reference=_normed(),
    cases=[
        *draws(q="... n d", k="... m d", lead=[(), (2,), (3, 2), (4,)], **GAINS),
        case("a query of zeros, a tiny and a large one", **ROWS, k=KEYS, **ONES),
        case("a key of zeros and a tiny one", q=KEYS, k=ROWS["q"], **ONES),
    ],
    promises=[gradient("q", "k", "gain_q", "gain_k"), precisions("float64")],
    mistakes=[
        mistake("Nothing is normed: these are plain scaled scores.", lambda q, k, gain_q, gain_k: _weights(q, k)),
        mistake("The keys are not normed.", _normed(norm_k=lambda x, gain: x * gain)),
        mistake("The queries are not normed.", _normed(lambda x, gain: x * gain, _rms)),
        mistake("The gains are missing.", _normed(lambda x, gain: _rms(x, 1.0))),
        mistake("The gain comes before the norm, which takes most of it away again. Norm first.",
                _normed(lambda x, gain: _rms(x * gain, 1.0))),
        mistake("It divides by the length. The root mean square is smaller, by the root of d_k.", _normed(_length)),
        mistake("It divides by the mean square. Take its root.", _normed(lambda x, gain: x / (x.square().mean(-1, keepdim=True) + EPS) * gain)),
        mistake("It takes the mean of the entries off, as a layer norm does. Here nothing is subtracted.", _normed(_layer_norm)),
        mistake("ε is missing: a vector of zeros is divided by 0.",
                _normed(lambda x, gain: x / x.square().mean(-1, keepdim=True).sqrt() * gain)),
        mistake("ε stands outside the root. It is added to the mean square.",
                _normed(lambda x, gain: x / (x.square().mean(-1, keepdim=True).sqrt() + EPS) * gain)),
        mistake("The mean runs over the tokens. It runs over the entries of one vector, the last axis.",
                _normed(lambda x, gain: x * (x.square().mean(-2, keepdim=True) + EPS).rsqrt() * gain)),
        mistake("The mean runs over all vectors. Each vector is divided by a number of its own.",
                _normed(lambda x, gain: x * (x.square().mean((-2, -1), keepdim=True) + EPS).rsqrt() * gain)),
        mistake("The scale is missing: after the norm each vector has the length of the root of d_k, and scores still need their 1/√d_k.",
                _normed(weights=lambda q, k: (q @ k.mT).softmax(-1))),
        mistake("It divides the scores by d_k, which makes them cosines. The exercise keeps the usual scale, the root of d_k.",
                _normed(weights=lambda q, k: (q @ k.mT / q.shape[-1]).softmax(-1))),
        mistake("The softmax runs down the columns. Each row belongs to one query: use dim=-1.",
                _normed(weights=lambda q, k: (q @ k.mT / q.shape[-1] ** 0.5).softmax(-2))),
        mistake("With a batch, dim=1 is another axis. Count the axis from the end: dim=-1.",
                _normed(weights=lambda q, k: (q @ k.mT / q.shape[-1] ** 0.5).softmax(1))),
        mistake("The scale comes after the softmax. Scale the scores.",
                _normed(weights=lambda q, k: (q @ k.mT).softmax(-1) / q.shape[-1] ** 0.5)),
        mistake("There is no softmax: these are scores, not weights.", _normed(weights=lambda q, k: q @ k.mT / q.shape[-1] ** 0.5)),
    ],
    praise="Each query and each key over its root mean square, gains, scale, softmax; zeros and gradients too.",
)  # fmt: skip
