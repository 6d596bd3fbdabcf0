"""Exercises on relevance and averaging: a kernel, the right temperature, sparsemax."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace

import torch
from torch import Tensor

from attnbook.checks.exercise import Case, case, draws, exercise, gradient, late, mistake, precisions
from attnbook.checks.values import Tolerance
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


def _width(sizes: SimpleNamespace, generator: torch.Generator) -> float:
    return (0.3, 0.8, 1.7, 0.64)[sizes.n % 4]


def _points(name: str, hint: str, at: list, xs: list, ys: list, width: float) -> Case:
    return case(name, hint, at=torch.tensor(at), xs=torch.tensor(xs), ys=torch.tensor(ys), width=width)


exercise(
    "relevance-kernel",
    "kernel_average",
    reference=lambda at, xs, ys, width: _gauss(at, xs, width).softmax(-1) @ ys,
    cases=[
        *draws(at="m", xs="n", ys="n", width=_width, seeds=8),
        *(
            _points(
                f"places far from all points, on the {side}",
                "Every exponential is 0 there: use a softmax, which subtracts the largest exponent first.",
                *(at, [1.0, 0.0, 4.0, 2.5], [3.0, 1.0, 0.5, -1.0], 0.8),
            )
            for side, at in (("right", [60.0, 45.5]), ("left", [-70.0]))
        ),
        _points(
            "a place far from two points side by side",
            "Every exponential is 0 there, and yet the nearest point does not have all the weight: use a softmax.",
            # The mean is near zero: else the gradient hangs on the last digits of the exponents.
            *([46.0], [1.5, 2.0], [-1.8, 0.2], 3.0),
        ),
        case(
            "the months of 1990, with a width of 0.05",
            "Subtract first: squares of large places lose the digits that count.",
            at=1990.03 + torch.arange(5) / 12,
            xs=1990 + torch.arange(6) / 12,
            ys=torch.tensor([1.0, 3.0, 2.0, 5.0, 4.0, 1.5]),
            width=0.05,
        ),
        _points("two points at the same place", "", [1.0, 3.0, 0.2], [1.0, 1.0], [2.0, 4.0], 2.0),
        *late(_points("two points at two places", "", [1.0, 3.0, 0.2], [0.0, 1.5], [2.0, 4.0], 0.7)),
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


def _words_heard(p: Tensor) -> Tensor:
    return torch.special.entr(p).sum().exp()


def _hear(s: Tensor, heard: float, measure: Callable[[Tensor], Tensor] = _words_heard) -> Tensor:
    """Close in on the temperature from both sides, in its logarithm."""
    s, low, high = s - s.max(), -40.0, 40.0
    for _ in range(120):
        middle = (low + high) / 2
        p = (s / math.exp(middle)).softmax(-1)
        low, high = (middle, high) if measure(p) < heard else (low, middle)
    return p


def _mixed(s: Tensor, heard: float) -> Tensor:
    """Mix the best word with all words until enough are heard: right in number, not a softmax."""
    best, low, high = _one_hot(s.argmax(), s), 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        p = (1 - middle) * best + middle / len(s)
        low, high = (middle, high) if _words_heard(p) < heard else (low, middle)
    return p


def _best_few(s: Tensor, heard: float) -> Tensor:
    few = s.topk(max(1, round(heard))).indices
    return torch.zeros_like(s).index_fill(0, few, 1 / len(few))


def _share(part: float) -> Callable[[SimpleNamespace, torch.Generator], float]:
    return lambda sizes, generator: 1 + part * (sizes.n - 1)


_LENGTHS = (2, 3, 5, 8, 13, 17)
_TENTHS = torch.tensor([0.3, -0.2, 0.9, 0.1, 0.5])

exercise(
    "relevance-temperature",
    "hear",
    reference=_hear,
    cases=[
        *draws(s="n", heard=_share(0.5), n=_LENGTHS, seeds=4, large=dict(n=41)),
        *draws(s="n", heard=_share(0.15), n=_LENGTHS, spread=5.0, seeds=4, large=None),
        *draws(s="n", heard=_share(0.9), n=_LENGTHS, spread=0.2, seeds=4, large=None),
        case("two words that share the largest score", s=torch.tensor([2.0, 2.0, 0.5, -1.0]), heard=2.5),
        case("nearly one word", s=_TENTHS, heard=1.05),
        case(
            "one score far below the others",
            "How far apart the scores lie says little about the temperature.",
            s=torch.tensor([1.0, 0.9, 0.5, -10000.0]),
            heard=1.5,
        ),
        case("nearly all words", s=_TENTHS, heard=4.99),
        case("scores of millions", "Temperatures of millions are needed here.", s=_TENTHS * 1e7, heard=2.5),
        case(
            "scores of millionths", "Temperatures of millionths are needed here.", s=_TENTHS * 1e-6, heard=2.5
        ),
        case("300 added to every score", "Only differences count.", s=_TENTHS * 4 + 300, heard=3.0),
        case("scores below -300", "Only differences count.", s=_TENTHS * 4 - 300, heard=3.0),
        *late(
            case(
                "five million added to every score",
                "Divided as they are, such scores lose the digits that count: subtract the largest score first.",
                s=torch.tensor([0.0, 1.0, 2.0, 3.0]) + 5e6,
                heard=2.5,
            ),
        ),
    ],
    within=Tolerance(2e-4, 2e-4),
    mistakes=[
        mistake(
            "That is the softmax at temperature 1, whatever `heard` says.", lambda s, heard: s.softmax(-1)
        ),
        mistake(
            "It takes `heard` for the temperature. Look for the temperature at which so many words are heard.",
            lambda s, heard: (s / heard).softmax(-1),
        ),
        mistake(
            "It gives the best `heard` words equal weights and the others none. Softmax leaves nobody out.",
            _best_few,
        ),
        mistake(
            "As many words are heard as should be, but it mixes the best word with all words: those are not the "
            "weights of a softmax.",
            _mixed,
        ),
        mistake(
            "It counts words as 1/Σp². The measure asked for is the exponential of the entropy.",
            lambda s, heard: _hear(s, heard, lambda p: 1 / p.square().sum()),
        ),
        mistake(
            "It counts words as the power of 2 of an entropy in nats. With ln belongs exp.",
            lambda s, heard: _hear(s, heard, lambda p: torch.special.entr(p).sum().exp2()),
        ),
        mistake(
            "It compares the entropy itself with `heard`. The number of words is its exponential.",
            lambda s, heard: _hear(s, heard, lambda p: torch.special.entr(p).sum()),
        ),
        mistake(
            "Where the temperature is low, some weights are 0, and 0 · ln 0 is NaN: no comparison with NaN is true. "
            "torch.special.entr gives 0 there.",
            lambda s, heard: _hear(s, heard, lambda p: (-(p * p.log()).sum()).exp()),
        ),
        mistake(
            "The word that fits worst gets most: the sign of the scores is turned.",
            lambda s, heard: _hear(-s, heard),
        ),
    ],
    praise="As many words as asked for, at the one temperature that does it, for small scores and for large ones.",
)

_LOWEST = torch.finfo(torch.float32).min

exercise(
    "relevance-sparsemax",
    "sparsemax",
    reference=lambda z: sparsemax(z),
    cases=[
        case("rows of three", z=torch.tensor([[1.0, 0.5, -1.0], [0.1, 0.2, 0.3], [3.0, 0.0, 2.5]])),
        *draws(z="n k", k=(3,), seeds=2, large=None),
        *draws(z="n k", k=(8, 16, 24), spread=0.7, seeds=4, large=dict(k=42)),
        *draws(z="n k", k=(8, 12), spread=0.1, seeds=2, large=None),
        case(
            "a row whose second step still drops a score", z=torch.tensor([[1.0, 0.9, 0.2, 0.15, 0.1, -3.0]])
        ),
        case(
            "a row in which each step drops one more score, six in all",
            "Take the threshold anew until nothing drops.",
            z=torch.tensor([[-1.0032, 0.0, -1.9715, -1.0086, -1.0015, -1.1571, -1.0318]]),
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
        case(
            "scores so large that 1 is lost beside them",
            "Subtract the largest score of each row first.",
            z=torch.tensor([[1.0, 1.0, 0.0]]) * 1e20,
        ),
        case(
            "a row with a score of a hundred million above one with small scores",
            "Each row has a largest score of its own: subtract that.",
            z=torch.tensor([[1e8, 0.0, 0.0], [1.0, 0.5, -1.0]]),
        ),
        case(
            "two scores that a mask has made the lowest number there is",
            "Their sum is minus infinity. What is more than 1 below the largest gets nothing: how far does not matter.",
            z=torch.tensor([[0.5, _LOWEST, 0.0, _LOWEST]]),
        ),
        case("42 scores that are nearly equal", "Any number may stay.", z=torch.linspace(0, 0.01, 42)[None]),
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
