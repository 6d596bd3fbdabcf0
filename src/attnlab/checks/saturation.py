"""Exercises on saturation: the softmax's Jacobian and entropy, and how much slower a saturated one learns."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from attnlab.checks.exercise import at_most, case, draws, exercise, mistake, precisions, rows
from attnlab.checks.values import Difference, difference, number

LEADS = ((), (2,), (3,), (2, 4), (1,), (4, 3))


def _weights(s, generator: torch.Generator) -> Tensor:
    """Rows of weights in double precision, so that they sum to one in that and, rounded, in single precision."""
    return torch.randn(*s.lead, s.n, generator=generator, dtype=torch.float64).softmax(-1)


def jacobian(weights: Tensor) -> Tensor:
    """The reference."""
    return torch.diag_embed(weights) - _outer(weights)


def _outer(p: Tensor) -> Tensor:
    return p[..., :, None] * p[..., None, :]


def _eye(p: Tensor) -> Tensor:
    return torch.eye(p.shape[-1], dtype=p.dtype)


def _mixed(p: Tensor) -> Tensor:
    flat = p.reshape(-1, p.shape[-1])
    return torch.diag_embed(p) - flat.T @ flat / len(flat)


exercise(
    "saturation-jacobian",
    "jacobian",
    reference=jacobian,
    cases=[
        *draws(weights=_weights, n=(5, 11, 7, 9), lead=LEADS, seeds=6),
        case("a single key", "Nothing can be shifted there.", weights=torch.ones(1)),
        case("a row with all the weight on one key", "Nothing can be shifted there.", weights=torch.tensor([[0.0, 1.0, 0.0]])),
    ],
    promises=[precisions("float32")],
    mistakes=[
        mistake("Only diag(p) is there. Every score also changes the sum that all weights are divided by.", torch.diag_embed),
        mistake("Only −p pᵀ is there. A score also raises its own exponential: add diag(p).", lambda p: -_outer(p)),
        mistake("The entries beside the diagonal are missing: a higher score takes weight from the others.", lambda p: torch.diag_embed(p * (1 - p))),
        mistake("The sign is turned around: a higher score raises its own weight, so the diagonal is positive.", lambda p: -jacobian(p)),
        mistake("A higher score takes weight from the others: subtract the outer product.", lambda p: torch.diag_embed(p) + _outer(p)),
        mistake("On the diagonal of the first matrix stand the weights, not ones: diag(p).", lambda p: _eye(p) - _outer(p)),
        mistake("The weights on the diagonal are squared: it is diag(p), so that p(1 − p) is left there.", lambda p: torch.diag_embed(p * p) - _outer(p)),
        mistake("The outer product is subtracted twice.", lambda p: torch.diag_embed(p) - 2 * _outer(p)),
        mistake("Beside the diagonal stands −p_i p_j, with the weights of two keys. Yours has the square of one: turn one of the two into a row.",
                lambda p: p[..., None] * (_eye(p) - p[..., None])),
        mistake("Beside the diagonal stands −p_i p_j, with the weights of two keys. Yours has the square of one: turn one of the two into a column.",
                lambda p: p[..., None, :] * (_eye(p) - p[..., None, :])),
        mistake("The factor p_i before each row is missing: these are derivatives of ln p.", lambda p: _eye(p) - p[..., None, :]),
        mistake("It takes the softmax again. The argument holds the weights already.", lambda p: jacobian(p.softmax(-1))),
        mistake("One row is right, a batch of rows is not: diag and outer know one row alone. Each row has a Jacobian of its own.",
                lambda p: torch.diag(p) - torch.outer(p, p)),
        mistake("One row is right, a batch of rows is not. Each row has a Jacobian of its own.", _mixed),
    ],
    praise="diag(p) − p pᵀ, one for each row, whatever stands before the last axis.",
)  # fmt: skip


def backward(weights: Tensor, gradient: Tensor) -> Tensor:
    """The reference."""
    return weights * (gradient - (weights * gradient).sum(-1, keepdim=True))


def _slopes(s, generator: torch.Generator) -> Tensor:
    return torch.randn(*s.lead, s.n, generator=generator, dtype=torch.float64)


NO_MATRIX = "It builds a matrix. Multiply out (diag(p) − p pᵀ) g: none is needed."

exercise(
    "saturation-backward",
    "backward",
    reference=backward,
    cases=[
        *draws(weights=_weights, gradient=_slopes, n=(5, 11, 7, 9), lead=LEADS, seeds=6),
        *draws(weights=_weights, gradient=_slopes, n=(200,), lead=[(2,), ()], seeds=2),
        case("a single key", "Its gradient is the mean itself: nothing is left.", weights=torch.ones(3, 1), gradient=torch.tensor([[2.0], [-1.0], [0.5]])),
    ],
    promises=[
        precisions("float32"),
        at_most(NO_MATRIX, largest=lambda weights, gradient: 4 * weights.numel()),
        at_most(NO_MATRIX, bytes=lambda weights, gradient: 60_000 + 150 * weights.numel()),
    ],
    mistakes=[
        mistake("The weighted mean of the gradient is not subtracted: the result should sum to zero in each row.", lambda p, g: p * g),
        mistake("It subtracts the plain mean of the gradient. The mean has the weights p.", lambda p, g: p * (g - g.mean(-1, keepdim=True))),
        mistake("It subtracts the sum of the gradient, without the weights p.", lambda p, g: p * (g - g.sum(-1, keepdim=True))),
        mistake("That is the diagonal alone. The other entries of a row are −p_i p_j.", lambda p, g: p * (1 - p) * g),
        mistake("The mean runs over the whole batch. Every row has a mean of its own: sum over the last axis.", lambda p, g: p * (g - (p * g).sum())),
        mistake("The factor p before the bracket is missing.", lambda p, g: g - (p * g).sum(-1, keepdim=True)),
        mistake("The sign is turned around.", lambda p, g: -backward(p, g)),
        mistake("The mean is added. Subtract it.", lambda p, g: p * (g + (p * g).sum(-1, keepdim=True))),
        mistake("The mean is subtracted without its factor p: multiply the whole bracket by the weights.", lambda p, g: p * g - (p * g).sum(-1, keepdim=True)),
        mistake("It averages p g over the keys once more. The p are weights already: take the sum.", lambda p, g: p * (g - (p * g).mean(-1, keepdim=True))),
        mistake("In a batch the mean runs down the columns. Every row has a mean of its own: sum over the last axis.",
                lambda p, g: p * (g - (p * g).sum(0, keepdim=True))),
        mistake("The mean runs down the columns. Every row has a mean of its own: sum over the last axis.", lambda p, g: p * (g - (p * g).sum(-2, keepdim=True))),
        mistake("It takes the softmax again. The argument holds the weights already.", lambda p, g: backward(p.softmax(-1), g)),
        mistake("One row is right, a batch is not: every row has a mean of its own. Sum over the last axis, with keepdim=True.", lambda p, g: p * (g - p.dot(g))),
    ],
    praise="p times the gradient less its weighted mean, and no matrix built.",
)  # fmt: skip


@lru_cache(maxsize=64)
def sampled_entropy(n: int, spread: float, temperature: float) -> float:
    """The reference: the mean entropy of 500 rows of n normal scores."""
    scores = spread / temperature * torch.randn(500, n, generator=torch.Generator().manual_seed(n))
    return torch.special.entr(scores.softmax(-1)).sum(-1).mean().item()


def _near_a_tenth(
    got: Any, want: float, n: int, spread: float, temperature: float
) -> Difference | str | None:
    """Between the formula, which stops at zero, and sampled rows; a tenth of a nat off either way."""
    said = number(got)
    if said is None:
        return difference(got, want)
    shown = (f"{want:.2f}",), (f"{float(said):.4g}",), (True,)
    if said < 0:
        return Difference(f"It says {said:.4g} nats. No entropy is below zero: stop there.", *shown)
    formula = max(0.0, math.log(n) - (spread / temperature) ** 2 / 2)
    if min(formula, want) - 0.1 <= said <= max(formula, want) + 0.1:
        return None
    return Difference(f"Sampled rows have {want:.2f} nats on average; it says {said:.4g}.", *shown)


def _clipped(formula: Callable[[int, float, float], float]) -> Callable:
    return lambda n, spread, temperature: max(0.0, formula(n, spread, temperature))


def _lost(n: int, spread: float, temperature: float) -> float:
    return math.log(n) - (spread / temperature) ** 2 / 2


exercise(
    "saturation-predict",
    "predict_entropy",
    reference=sampled_entropy,
    cases=[
        *rows("n spread temperature", (1000, 1.2, 1.5), (1000, 1.0, 1.0), (64, 0.5, 0.8), (5000, 3.0, 1.5),
              (2000, 0.9, 0.5), (300, 3.0, 2.0), (128, 0.0, 0.7)),
        case("n = 64, spread 16 and temperature 1", "One row is nearly one-hot there: 0 is as good an answer as what a few leaders keep.",
             n=64, spread=16.0, temperature=1.0),
        case("a single key, spread 2 and temperature 1", "It has all the weight: 0 nats.", n=1, spread=2.0, temperature=1.0),
    ],
    compare=_near_a_tenth,
    mistakes=[
        mistake("Beyond the freezing point the formula falls below zero. No entropy does: stop at 0.", _lost),
        mistake("Beyond the freezing point the formula falls below zero, and it takes the sign away. Return 0 there.",
                lambda n, spread, temperature: abs(_lost(n, spread, temperature))),
        *(
            mistake(message, does) for message, formula in (
                ("The entropy is in bits. Use the natural logarithm.", lambda n, s, t: _lost(n, s, t) / math.log(2)),
                ("ln n is the natural logarithm, not the one to base 2.", lambda n, s, t: math.log2(n) - (s / t) ** 2 / 2),
                ("ln n is the natural logarithm, not the one to base 10.", lambda n, s, t: math.log10(n) - (s / t) ** 2 / 2),
                ("Half the variance is lost, not all of it.", lambda n, s, t: math.log(n) - (s / t) ** 2),
                ("Half the variance is lost, not a quarter of it.", lambda n, s, t: math.log(n) - (s / t) ** 2 / 4),
                ("It takes the spread. What counts is its square, the variance.", lambda n, s, t: math.log(n) - s / t / 2),
                ("It multiplies by the temperature. Scores are divided by it.", lambda n, s, t: math.log(n) - (s * t) ** 2 / 2),
                ("The temperature divides the scores, so the variance is divided by its square.", lambda n, s, t: math.log(n) - s**2 / 2 / t),
                ("The temperature is forgotten.", lambda n, s, t: math.log(n) - s**2 / 2),
                ("That is the entropy of equal weights. Half the variance of the scores is lost.", lambda n, s, t: math.log(n)),
                ("It divides the temperature by the spread. Scores are divided by the temperature.", lambda n, s, t: math.log(n) - (t / s) ** 2 / 2),
                ("That is the entropy as a share of ln n. The exercise asks for nats.", lambda n, s, t: _lost(n, s, t) / math.log(n)),
                ("That is the exponential of the entropy, a number of keys. The exercise asks for nats.", lambda n, s, t: math.exp(max(0.0, _lost(n, s, t)))),
                ("That is the logarithm of the sum, ln n + variance/2. Entropy falls as the spread grows.", lambda n, s, t: math.log(n) + (s / t) ** 2 / 2),
            ) for does in (formula, _clipped(formula))
        ),
    ],
    praise="ln n less half the variance of what the softmax gets, as long as that is above zero, and never below it.",
)  # fmt: skip


def train(d_k: int, scale: float, seed: int) -> list[float]:
    """Return losses in quarters that wander down and jump back, from one seed for each call."""
    draw = random.Random(f"{int(d_k)} {float(scale):.4f} {int(seed)}")
    steps = draw.randint(12, 30)
    fall = draw.uniform(0.04, 0.2)
    return [max(0.25, round(4 * (2.5 - fall * step + draw.uniform(-0.6, 0.6))) / 4) for step in range(steps)]


Steps = Callable[[Sequence[float], float], float]


def _first(losses: Sequence[float], below: float, never: int = 0) -> int:
    return next((step for step, loss in enumerate(losses, 1) if loss < below), len(losses) + never)


def _slowdown(
    steps: Steps = _first,
    scale: Callable[[float], float] = lambda d: d**-0.5,
    ratio: Callable[[float, float], float] = lambda plain, scaled: plain / scaled,
    other: int = 0,
) -> Callable:
    """A `slowdown` with another way to count, another scale, another ratio or another seed for the scaled run."""
    return lambda train, d_k, seeds, below: [
        ratio(steps(train(d_k, 1.0, seed), below), steps(train(d_k, scale(d_k), seed + other), below))
        for seed in seeds
    ]


def _other_width(train: Callable, d_k: int, seeds: Sequence[int], below: float) -> list[float]:
    return [_first(train(1, 1.0, seed), below) / _first(train(d_k, d_k**-0.5, seed), below) for seed in seeds]


exercise(
    "saturation-slower",
    "slowdown",
    reference=_slowdown(),
    cases=[
        case(f"d_k = {d_k}, the seeds {', '.join(map(str, seeds))} and below = {below}", train=train, d_k=d_k, seeds=seeds, below=below)
        for d_k, seeds, below in ((16, [3, 5, 8], 1.0), (64, [0, 1, 2, 3, 4], 1.5), (2, (7, 4), 0.75), (512, [9], 2.0), (50, range(10, 22), 1.25), (9, [6, 2, 11, 1], 0.5))
    ],
    mistakes=[
        mistake("It multiplies the scores by √d_k. The scale is 1/√d_k.", _slowdown(scale=lambda d: d**0.5)),
        mistake("It scales by 1/d_k. The scale is 1/√d_k.", _slowdown(scale=lambda d: 1 / d)),
        mistake("It takes d_k for the scale. The scale is 1/√d_k.", _slowdown(scale=lambda d: d)),
        mistake("It scales by d_k^(-1/4). That is the share of each of query and key; the scores get 1/√d_k.", _slowdown(scale=lambda d: d**-0.25)),
        mistake("Both runs go without the scale. One of the two gets 1/√d_k.", _slowdown(scale=lambda d: 1.0)),
        mistake("The ratios are upside down: steps without the scale go on top.", _slowdown(ratio=lambda plain, scaled: scaled / plain)),
        mistake("Those are differences. Divide.", _slowdown(ratio=lambda plain, scaled: plain - scaled)),
        mistake("It divides whole numbers without a remainder: // cuts the ratio.", _slowdown(ratio=lambda plain, scaled: plain // scaled)),
        *(mistake("Steps are counted from 0. Count from 1.", _slowdown(lambda losses, below, late=late: _first(losses, below, late) - (late == 0 or _first(losses, below, 1) <= len(losses)))) for late in (0, 1)),
        mistake("Steps are counted from 0. Count from 1.", _slowdown(lambda losses, below: next((i for i, loss in enumerate(losses) if loss < below), len(losses)))),
        mistake("A run that never gets there counts its steps and one more. It counts all its steps.", _slowdown(lambda losses, below: _first(losses, below, 1))),
        mistake("A run that never gets there counts as one step. It counts all its steps.",
                _slowdown(lambda losses, below: _first(losses, below) if min(losses) < below else 1)),
        mistake("A loss equal to the mark is not below it.", _slowdown(lambda losses, below: next((i for i, loss in enumerate(losses, 1) if loss <= below), len(losses)))),
        *(mistake("It counts all losses above the mark, also those after the first below it. Count up to the first.",
                  _slowdown(lambda losses, below, more=more: min(len(losses), sum(loss >= below for loss in losses) + more))) for more in (0, 1)),
        mistake("It counts up to the last loss above the mark. Count up to the first one below it.",
                _slowdown(lambda losses, below: min(len(losses), max((i for i, loss in enumerate(losses, 1) if loss >= below), default=0) + 1))),
        mistake("It compares losses. Compare the numbers of steps.", _slowdown(lambda losses, below: losses[-1])),
        mistake("It compares losses. Compare the numbers of steps.", _slowdown(lambda losses, below: losses[0])),
        mistake("It compares losses. Compare the numbers of steps.", _slowdown(lambda losses, below: min(losses))),
        mistake("It counts all steps of each run. Count up to the first loss below the mark.", _slowdown(lambda losses, below: len(losses))),
        mistake("The two runs of a pair start from different seeds. Both start from the same one.", _slowdown(other=1)),
        mistake("The width differs between the two runs. Only the scale does.", _other_width),
        mistake("The ratios come in another order. Return them in the order of the seeds.", lambda *a: _slowdown()(*a)[::-1]),
        mistake("The ratios are sorted. Return them in the order of the seeds.", lambda *a: sorted(_slowdown()(*a))),
        mistake("It returns the mean of the ratios. Return one ratio for each seed.", lambda *a: sum(_slowdown()(*a)) / len(_slowdown()(*a))),
    ],
    praise="One ratio for each seed, from runs that differ in nothing but the scale.",
)  # fmt: skip
