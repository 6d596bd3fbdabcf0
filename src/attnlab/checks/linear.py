"""Exercises on linear attention: two orders of the brackets, and positive random features."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnlab.checks.exercise import case, draws, exercise, mistake, precisions


class Costs(NamedTuple):
    """Multiplications in both orders; the names are those that a message uses."""

    cost_of_weights_first: int
    cost_of_values_first: int


def multiplications(n: int, m: int, d: int) -> Costs:
    """The reference."""
    return Costs(n * n * (m + d), 2 * n * m * d)


WEIGHTS_FIRST: list[tuple[str, Callable[[int, int, int], int]]] = [
    ("", lambda n, m, d: n * n * (m + d)),
    ("Weights first leaves out the values: n² · d more for weights times values.", lambda n, m, d: n * n * m),
    ("Weights first leaves out the weights: n² · m more for queries times keys.", lambda n, m, d: n * n * d),
    ("Weights first multiplies the two products. One comes after the other: add them.", lambda n, m, d: n * n * m * d),
    ("A weight is a product of features: m multiplications each, not d.", lambda n, m, d: 2 * n * n * d),
    ("Weights first counts the division too. That is not asked for: count the two matrix products.", lambda n, m, d: n * n * (m + d + 1)),
    ("Every query sees every key here: nothing is causal.", lambda n, m, d: n * (n + 1) // 2 * (m + d)),
]  # fmt: skip
VALUES_FIRST: list[tuple[str, Callable[[int, int, int], int]]] = [
    ("", lambda n, m, d: 2 * n * m * d),
    ("Values first counts one product only. The sums are built once, then every query reads them.", lambda n, m, d: n * m * d),
    ("Values first reads the sums once. Every one of the n queries reads them.", lambda n, m, d: n * m * d + m * d),
    ("Values first reads the sums once. Every one of the n queries reads them.", lambda n, m, d: n * m * d + m),
    ("Values first counts the division too. That is not asked for: count the two matrix products.", lambda n, m, d: 2 * n * m * d + n * m),
    ("Values first counts the division too. That is not asked for: count the two matrix products.", lambda n, m, d: 2 * n * m * d + 2 * n * m),
    ("Values first never makes n² weights. A query meets the (m, d) sums: m · d products.", lambda n, m, d: n * m * d + n * n * d),
    ("The sums are m × d: a value has d numbers, not m.", lambda n, m, d: 2 * n * m * m),
    ("The sums are m × d: a key has m features, not d.", lambda n, m, d: 2 * n * d * d),
    ("Values first multiplies the two products. One comes after the other: add them.", lambda n, m, d: (n * m * d) ** 2),
]  # fmt: skip

exercise(
    "linear-costs",
    "multiplications",
    reference=multiplications,
    cases=[
        case("", n=n, m=m, d=d)
        for n, m, d in ((1000, 16, 64), (10, 64, 32), (7, 3, 5), (1, 8, 6), (50, 1, 9), (12, 20, 1))
    ],
    mistakes=[
        mistake("The two have changed places: weights first comes first.", lambda n, m, d: multiplications(n, m, d)[::-1]),
        mistake(
            "Count multiplications. An addition goes with each, but is not asked for.",
            lambda n, m, d: tuple(2 * x for x in multiplications(n, m, d)),
        ),
        *(
            mistake(" ".join(filter(None, (one, two))), lambda n, m, d, f=f, g=g: (f(n, m, d), g(n, m, d)))
            for one, f in WEIGHTS_FIRST
            for two, g in VALUES_FIRST
            if one or two
        ),
    ],
    praise="One grows with the square of the length, the other with the length.",
)  # fmt: skip


def positive_features(x: Tensor, w: Tensor) -> Tensor:
    """The reference."""
    return _directions()(x, w)


def _directions(square: Callable[[Tensor], Tensor] = torch.square, divide: Callable[..., float] | None = None,
                second: float = -1.0, turned: bool = False, half: float = 0.5, axis: int = -1) -> Callable:  # fmt: skip
    """The features of w and of -w, with one thing wrong."""

    def features(x: Tensor, w: Tensor) -> Tensor:
        length = half * square(x).sum(-1, keepdim=True)
        angles = x @ w.mT
        both = torch.cat(
            (angles - length, second * (angles if not turned else angles - length) - (not turned) * length),
            axis,
        )
        return both.exp() / (divide(*w.shape) if divide else math.sqrt(2 * len(w)))

    return features  # fmt: skip


def _waves(divide: Callable[[int], float]) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda x, w: torch.cat(((x @ w.mT).cos(), (x @ w.mT).sin()), -1) / divide(len(w))


def _in_one_order(features: Any) -> Any:
    """Sort features, for all tokens alike: their order is free, as long as it is the same for every token."""
    if not isinstance(features, Tensor) or features.dim() == 0 or not features.is_floating_point():
        return features
    return features[..., features.detach().flatten(0, -2).double().nan_to_num().sum(0).argsort()]


exercise(
    "linear-features",
    "positive_features",
    reference=lambda x, w: _in_one_order(positive_features(x, w)),
    read=_in_one_order,
    cases=[
        *draws(x="... n d", w="m d", lead=[(2,), (), (3, 2), (4,)], spread=0.7, seeds=8),
        case("a token of zeros", "Its features are all alike: one, over the root of their number.", x=torch.zeros(3, 4), w=torch.eye(2, 4)),
        case(
            "a token of length 6 beside one of length 0.6",
            "Each token has a length of its own.",
            x=torch.tensor([[6.0, 0.0, 0.0], [0.0, -0.36, 0.48]]),
            w=torch.tensor([[1.0, 0.5, -0.25], [-0.5, 1.5, 0.75], [0.25, -1.0, 2.0], [1.25, 0.0, 0.5]]),
        ),
    ],
    promises=[precisions("float64")],
    mistakes=[
        mistake("The features of w and -w are added, so their products mix both. Keep them apart: 2m.",
                lambda x, w: sum(positive_features(x, w).chunk(2, -1))),
        *(
            mistake("It returns m features. Every row of w gives two: one for w, one for -w.", does)
            for does in (
                lambda x, w: positive_features(x, w)[..., : len(w)],
                lambda x, w: positive_features(x, w)[..., : len(w)] * math.sqrt(2),
            )
        ),
        mistake("The halves for w and -w are joined along another axis. Features stand along the last.", _directions(axis=-2)),
        *(
            mistake("Cosines and sines estimate the Gaussian kernel exp(-|q - k|²/2). Take the exponential.", _waves(divide))
            for divide in (lambda m: 1.0, lambda m: m**0.5, lambda m: (2 * m) ** 0.5)
        ),
        mistake("Some features are not positive. Take the exponential of each exponent.", lambda x, w: positive_features(x, w).log()),
        mistake("The half square is missing: exp(w·x) alone is exp(|x|²/2) too large on average.", _directions(half=0.0)),
        mistake("It takes away the whole square of the length. Half of it belongs to each factor.", _directions(half=1.0)),
        mistake("The half square has the wrong sign: it must be taken away.", _directions(half=-0.5)),
        mistake("The half square turns its sign with w. It doesn't change: -w is as good a direction as w.", _directions(turned=True)),
        mistake("It takes away half of the length. Square it first.", _directions(lambda x: x.norm(dim=-1, keepdim=True))),
        mistake("The features are not divided: their products sum over 2m features, and a mean divides by 2m.", _directions(divide=lambda m, d: 1.0)),
        mistake("It divides by the root of m. There are 2m features now: divide by the root of 2m.", _directions(divide=lambda m, d: m**0.5)),
        mistake("Each factor is divided by 2m, so the product by (2m)². Divide by the root of 2m.", _directions(divide=lambda m, d: 2 * m)),
        mistake("Each factor is divided by m. The product should be divided by 2m: take the root of that.", _directions(divide=lambda m, d: m)),
        *(
            mistake("It divides by a root of the width d. The mean goes over the features, 2m of them.", _directions(divide=divide))
            for divide in (lambda m, d: d**0.5, lambda m, d: (2 * d) ** 0.5, lambda m, d: (4 * d) ** 0.5)
        ),
        mistake("Both halves are the same. One of them needs -w.", _directions(second=1.0)),
        mistake(
            "The squares are summed over the whole text. Each token has a length of its own.",
            lambda x, w: (torch.cat((x @ w.mT, -x @ w.mT), -1) - x.square().sum((-1, -2), keepdim=True) / 2).exp() / math.sqrt(2 * len(w)),
        ),
        mistake("It takes the mean of the squares. The length squared is their sum.", _directions(lambda x: x.square() / x.shape[-1])),
        mistake("It scales x by the fourth root of d once more. The scale is in x already.", lambda x, w: positive_features(x / x.shape[-1] ** 0.25, w)),
        mistake(
            "The features are made to sum to 1: a softmax. The mean divides by a number that is the same for all.",
            lambda x, w: torch.cat((x @ w.mT, -x @ w.mT), -1).softmax(-1),
        ),
        mistake(
            "Each token's exponents lose their own maximum. Then products of features are no longer exp(q·k) on average.",
            lambda x, w: (lambda e: (e - e.amax(-1, keepdim=True)).exp() / math.sqrt(2 * len(w)))(positive_features(x, w).log()),
        ),
        mistake(
            "A query's features and a key's stand in different orders: their products must pair w with w.",
            lambda x, w: positive_features(x, w).sort(-1).values,
        ),
        mistake(
            "The absolute value of w·x comes first: a query's features and a key's then stand in different orders.",
            lambda x, w: (torch.cat(((x @ w.mT).abs(), -(x @ w.mT).abs()), -1) - x.square().sum(-1, keepdim=True) / 2).exp()
            / math.sqrt(2 * len(w)),
        ),
    ],
    praise="Positive, every direction twice, in the same order for every token: their products are exp(q·k) on average.",
)  # fmt: skip
