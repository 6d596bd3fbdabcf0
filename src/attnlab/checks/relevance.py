"""Exercises on relevance and averaging: the soft lookup, a kernel, sparsemax."""

from __future__ import annotations

from types import SimpleNamespace

import torch
from torch import Tensor

from attnlab.checks.exercise import case, draws, exercise, gradient, mistake, precisions
from attnlab.scores import sparsemax


def _gauss(at: Tensor, xs: Tensor, width: float, power: float = 2.0) -> Tensor:
    return -((at[:, None] - xs).abs() ** power) / (2 * width**2)


def _one_hot(best: Tensor, like: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(best, like.shape[-1]).to(like.dtype)


def _all_stay(z: Tensor) -> Tensor:
    return z - (z.sum(-1, keepdim=True) - 1) / z.shape[-1]


def _pruned_once(z: Tensor) -> Tensor:
    stay = _all_stay(z) > 0
    threshold = ((z * stay).sum(-1, keepdim=True) - 1) / stay.sum(-1, keepdim=True)
    return (z - threshold).clamp_min(0)


def _within_one(z: Tensor) -> Tensor:
    stay = z > z.amax(-1, keepdim=True) - 1
    threshold = ((z * stay).sum(-1, keepdim=True) - 1) / stay.sum(-1, keepdim=True)
    return (z - threshold).clamp_min(0)


def _at_most_two(z: Tensor) -> Tensor:
    top = z.topk(min(2, z.shape[-1]), -1).values
    thresholds = (top.cumsum(-1) - 1) / torch.arange(1, top.shape[-1] + 1)
    stay = (top > thresholds).sum(-1, keepdim=True)
    return (z - thresholds.gather(-1, stay - 1)).clamp_min(0)


def _cut(z: Tensor) -> Tensor:
    return (z - z.amax(-1, keepdim=True) + 1).clamp_min(0)


exercise(
    "relevance-lookup",
    "soft_lookup",
    reference=lambda query, keys, values: (keys @ query).softmax(0) @ values,
    cases=[
        *draws(query="d", keys="n d", values="n m", seeds=8),
        case(
            "scores of several hundreds",
            "Every exponential must stay finite: subtract the largest score first, or use torch.softmax.",
            query=torch.tensor([10.0, -20.0]),
            keys=torch.tensor([[9.0, -9.0], [8.9, -9.0], [1.0, 2.0]]),
            values=torch.tensor([[1.0], [5.0], [-3.0]]),
        ),
        case(
            "scores below -100",
            "Every exponential is 0 there: subtract the largest score first, or use torch.softmax.",
            query=torch.tensor([-20.0]),
            keys=torch.tensor([[7.0], [7.1], [8.0]]),
            values=torch.tensor([[1.0, 0.0], [5.0, 2.0], [-3.0, 4.0]]),
        ),
    ],
    promises=[gradient("query", "keys", "values"), precisions("float64")],
    mistakes=[
        mistake(
            "The scores are used as weights. They do not sum to 1: put a softmax between.",
            lambda query, keys, values: keys @ query @ values,
        ),
        mistake(
            "It divides the scores by their sum. Negative scores then give negative weights.",
            lambda query, keys, values: (keys @ query) / (keys @ query).sum() @ values,
        ),
        mistake(
            "Every value gets the same weight. The query should decide: compare it with the keys.",
            lambda query, keys, values: values.mean(0),
        ),
        mistake(
            "Every weight is 1: the softmax runs along an axis of length 1. It should run over the keys.",
            lambda query, keys, values: ((keys @ query[:, None]).softmax(-1).mT @ values)[0],
        ),
        mistake(
            "It returns the value of the best key alone. Soft means that each gives its share.",
            lambda query, keys, values: values[(keys @ query).argmax()],
        ),
        mistake(
            "The exponentials are not divided by their sum.",
            lambda query, keys, values: (keys @ query).exp() @ values,
        ),
        mistake(
            "The key that fits worst gets most. A larger dot product means more relevant.",
            lambda query, keys, values: (-keys @ query).softmax(0) @ values,
        ),
        mistake(
            "It scales the scores by the root of the width. That comes later; here use them as they are.",
            lambda query, keys, values: (keys @ query / len(query) ** 0.5).softmax(0) @ values,
        ),
        mistake(
            "Large exponentials overflow: subtract the largest score first, or use torch.softmax.",
            lambda query, keys, values: (keys @ query).exp() / (keys @ query).exp().sum() @ values,
        ),
    ],
    praise="Dot products, softmax, weighted sum: for any number of keys and scores of any size.",
)


def _width(sizes: SimpleNamespace, generator: torch.Generator) -> float:
    return (0.3, 0.8, 1.7, 0.64)[sizes.n % 4]


exercise(
    "relevance-kernel",
    "kernel_average",
    reference=lambda at, xs, ys, width: _gauss(at, xs, width).softmax(-1) @ ys,
    cases=[
        *draws(at="m", xs="n", ys="n", width=_width, seeds=8),
        *(
            case(
                f"places far from all points, on the {side}",
                "Every exponential is 0 there: use a softmax, which subtracts the largest exponent first.",
                at=torch.tensor(at),
                xs=torch.tensor([1.0, 0.0, 4.0, 2.5]),
                ys=torch.tensor([3.0, 1.0, 0.5, -1.0]),
                width=0.8,
            )
            for side, at in (("right", [60.0, 45.5]), ("left", [-70.0]))
        ),
        case(
            "two points at the same place",
            at=torch.tensor([1.0, 3.0, 0.2]),
            xs=torch.tensor([1.0, 1.0]),
            ys=torch.tensor([2.0, 4.0]),
            width=2.0,
        ),
    ],
    promises=[gradient("at", "xs", "ys"), precisions("float64")],
    mistakes=[
        mistake(
            "The kernel values are not divided by their sum: far from all points it would answer 0.",
            lambda at, xs, ys, width: _gauss(at, xs, width).exp() @ ys,
        ),
        mistake(
            "The distance is not squared. The Gaussian kernel is exp(-distance² / (2 width²)).",
            lambda at, xs, ys, width: (-(at[:, None] - xs).abs() / width).softmax(-1) @ ys,
        ),
        mistake(
            "The distance is not squared. The Gaussian kernel is exp(-distance² / (2 width²)).",
            lambda at, xs, ys, width: _gauss(at, xs, width, 1.0).softmax(-1) @ ys,
        ),
        mistake(
            "The width multiplies. A wider kernel looks further: divide by 2 width².",
            lambda at, xs, ys, width: (-((at[:, None] - xs) ** 2) * width**2 / 2).softmax(-1) @ ys,
        ),
        mistake(
            "The width is not squared: divide by 2 width².",
            lambda at, xs, ys, width: (-((at[:, None] - xs) ** 2) / (2 * width)).softmax(-1) @ ys,
        ),
        mistake(
            "The 2 is missing: divide by 2 width².",
            lambda at, xs, ys, width: (2 * _gauss(at, xs, width)).softmax(-1) @ ys,
        ),
        mistake(
            "Points far away weigh most: the exponent lacks its minus sign.",
            lambda at, xs, ys, width: (-_gauss(at, xs, width)).softmax(-1) @ ys,
        ),
        mistake(
            "It takes the nearest point alone. Every point should give its share.",
            lambda at, xs, ys, width: ys[(at[:, None] - xs).abs().argmin(-1)],
        ),
        mistake(
            "Near the points it is right, far away every exponential is 0: use a softmax, which subtracts the "
            "largest exponent first.",
            lambda at, xs, ys, width: _gauss(at, xs, width).exp() @ ys / _gauss(at, xs, width).exp().sum(-1),
        ),
    ],
    praise="A weighted mean whose weights fall with distance, near and far, for any width.",
)

exercise(
    "relevance-sparsemax",
    "sparsemax",
    reference=lambda z: sparsemax(z),
    cases=[
        case("rows of three", z=torch.tensor([[1.0, 0.5, -1.0], [0.1, 0.2, 0.3], [3.0, 0.0, 2.5]])),
        *draws(z="n k", k=(3,), seeds=2),
        *draws(z="n k", k=(8, 16, 24), spread=0.7, seeds=4),
        *draws(z="n k", k=(8, 12), spread=0.1, seeds=2),
        case(
            "a row whose second step still drops a score", z=torch.tensor([[1.0, 0.9, 0.2, 0.15, 0.1, -3.0]])
        ),
        case("a leader and three rivals within 1 of it", z=torch.tensor([[1.0, 0.3, 0.2, 0.05]])),
        case("four equal scores", z=torch.zeros(2, 4)),
        case("one score a row", z=torch.tensor([[3.0], [-2.0]])),
        case(
            "50 added to every score",
            "Only differences count.",
            z=torch.tensor([[51.0, 50.5, 49.0, 50.75], [50.1, 50.2, 50.3, 50.25]]),
        ),
        case(
            "scores near a hundred million",
            "There sums lose their last digits: subtract the largest score of each row first.",
            z=torch.tensor([[1.0, 1.0, 0.0]]) * 1e8,
        ),
    ],
    promises=[gradient("z"), precisions("float64")],
    mistakes=[
        mistake(
            "That is softmax: no weight is exactly zero. Sparsemax subtracts a threshold and cuts at 0.",
            lambda z: z.softmax(-1),
        ),
        mistake(
            "It gives everything to the largest score. Close rivals must keep a share.",
            lambda z: _one_hot(z.argmax(-1), z),
        ),
        mistake(
            "The rows do not sum to 1. The threshold depends on how many scores stay above it.",
            _cut,
        ),
        mistake(
            "It cuts and then divides by the sum. Sparsemax subtracts one threshold from all that stay.",
            lambda z: _cut(z) / _cut(z).sum(-1, keepdim=True),
        ),
        mistake(
            "It works down the columns. Each row is one query: use the last axis.",
            lambda z: sparsemax(z.mT).mT,
        ),
        mistake(
            "The threshold counts every score, and some weights are negative. Count only those that stay.",
            _all_stay,
        ),
        mistake(
            "The threshold counts every score, also those that end at 0. Count only those that stay.",
            lambda z: _all_stay(z).clamp_min(0),
        ),
        mistake(
            "It drops what falls below the first threshold and computes the threshold once more. That threshold "
            "can drop further scores: look for the largest s whose s-th score stays above its own threshold.",
            _pruned_once,
        ),
        mistake(
            "It keeps every score within 1 of the largest. Some of those end at 0 and must not count.",
            _within_one,
        ),
        mistake("It lets two scores stay at most. Any number may.", _at_most_two),
    ],
    praise="Every row sums to one, with the one threshold of the scores that stay, and zeros where they don't.",
)
