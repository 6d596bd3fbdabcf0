"""Exercises on linear attention: the first powers of softmax, and positive random features."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnbook.checks.exercise import case, draws, exercise, mistake, precisions


def taylor_features(x: Tensor) -> Tensor:
    """The reference."""
    return _taylor()(x)


def _taylor(
    constant: float = 1.0, first: float = 1.0, second: float = 0.5**0.5, third: float = 0.0
) -> Callable:
    """Features whose products are the powers of x·y, each times the square of its factor."""

    def features(x: Tensor) -> Tensor:
        squares = (x[..., :, None] * x[..., None, :]).flatten(-2)  # (..., n, d²)
        parts = [torch.full_like(x[..., :1], constant), first * x, second * squares]
        if third:
            parts.append(third * (squares[..., :, None] * x[..., None, :]).flatten(-2))
        return torch.cat(parts, -1)

    return features


def _half_table(x: Tensor) -> Tensor:
    """Each pair of entries once, and not counted twice."""
    rows, columns = torch.triu_indices(x.shape[-1], x.shape[-1])
    return torch.cat((torch.ones_like(x[..., :1]), x, x[..., rows] * x[..., columns] / math.sqrt(2)), -1)


def _on_two_texts(answer: Callable) -> Callable:
    """Ask for the features of another text in a second call: a query's and a key's are made in different ones, too."""

    @functools.wraps(answer)
    def both(x: Tensor, *w: Tensor) -> tuple[Any, Any]:
        return answer(x, *w), answer(-0.5 * x, *w)

    return both


def _real(features: Any) -> bool:
    return isinstance(features, Tensor) and features.dim() > 1 and features.is_floating_point()


def _products(two: tuple[Any, Any]) -> Any:
    """All products of features of two tokens, of another text too: they do not depend on an order."""
    features, others = two
    if not _real(features) or not _real(others) or features.shape != others.shape:
        return features
    rows = torch.cat((features.flatten(0, -2), others.flatten(0, -2)))
    return (features.flatten(0, -2) @ rows.mT).unflatten(0, features.shape[:-1])  # (..., n, all tokens)


exercise(
    "linear-taylor",
    "taylor_features",
    reference=lambda x: _products(_on_two_texts(taylor_features)(x)),
    around=_on_two_texts,
    read=_products,
    cases=[
        *draws(x="... n d", lead=[(2,), (), (3, 2), (4,)], seeds=6),
        case("two tokens at right angles", "Their product is 1.", x=torch.eye(2, 3)),
        case("a token and its opposite", "The first power changes its sign, the second doesn't.", x=torch.tensor([[1.5, -0.5], [-1.5, 0.5]])),
        case("a token of zeros", "Its product with any token is 1.", x=torch.tensor([[0.0, 0.0, 0.0, 0.0], [1.0, -2.0, 0.5, 3.0]])),
    ],
    promises=[precisions("float64")],
    mistakes=[
        mistake("The second power is missing.", _taylor(second=0.0)),
        mistake("The 1 is missing: one feature is the same for every token.", _taylor(constant=0.0)),
        mistake("The first power is missing: the entries themselves are features.", _taylor(first=0.0)),
        mistake("The square is not halved. Each of the two factors takes the root of one half.", _taylor(second=1.0)),
        mistake("The square is divided by 4: each of the two factors takes the *root* of one half.", _taylor(second=0.5)),
        mistake("There is a third power too. Stop at the second.", _taylor(third=6**-0.5)),
        *(
            mistake("The square of a sum has mixed terms: every entry times every other one is a feature, not the squares alone.", does)
            for does in (
                lambda x: torch.cat((torch.ones_like(x[..., :1]), x, x.square() / math.sqrt(2)), -1),
                lambda x: torch.cat((torch.ones_like(x[..., :1]), x, x.square()), -1),
            )
        ),
        mistake("A pair of different entries comes twice in the square of the sum: it needs the root of two, or both places.", _half_table),
        mistake("There are as many ones as entries, so their products sum to d. One is enough.", lambda x: torch.cat((torch.ones_like(x), _taylor()(x)[..., 1:]), -1)),
        mistake("The scale is in x already: nothing is divided by a root of d.", lambda x: _taylor()(x / x.shape[-1] ** 0.25)),
        mistake("The three parts are added. Put them side by side: their products then add up.", lambda x: 1 + x + x.square() / 2),
        mistake("That is the exponential of each entry. Its products are sums of exponentials.", torch.exp),
        mistake("Those are the weights. Return the features of each token alone.", lambda x: (lambda s: 1 + s + s.square() / 2)(x @ x.mT)),
    ],
    praise="1 + q·k + (q·k)²/2 without ever meeting a pair: positive, and with nothing random in it.",
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


class Features(NamedTuple):
    """Of a text, and of another one, made in a second call."""

    features: Any
    features_of_a_second_call: Any


def _in_one_order(two: tuple[Any, Any]) -> Features:
    """Sort features as those of the first text are: their order is free, as long as it is the same for all."""
    if not all(map(_real, two)) or two[0].shape != two[1].shape:
        return Features(*two)
    order = two[0].detach().flatten(0, -2).double().nan_to_num().sum(0).argsort()
    return Features(*(part[..., order] for part in two))


exercise(
    "linear-features",
    "positive_features",
    reference=lambda x, w: _in_one_order(_on_two_texts(positive_features)(x, w)),
    around=_on_two_texts,
    read=_in_one_order,
    cases=[
        *draws(x="... n d", w="m d", lead=[(2,), (), (3, 2), (4,)], spread=0.7, seeds=8),
        case("a token of zeros", "Its features are all alike: one, over the root of their number.", x=torch.zeros(3, 4), w=torch.eye(2, 4)),
        case(
            "a token of length 6 beside one of length 0.6",
            "Each token has a length of its own.",
            x=torch.tensor([[6.0, 0.0, 0.0], [0.0, -0.36, 0.48]]),
            w=torch.tensor([[4.0, 0.5, -0.25], [-0.5, 1.5, 0.75], [0.25, -1.0, 2.0], [1.25, 0.0, 0.5]]),
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
        mistake(
            "Those are hyperbolic cosines and sines: their products are right, but a sine can be negative. Keep w and -w apart.",
            lambda x, w: torch.cat(((x @ w.mT).cosh(), (x @ w.mT).sinh()), -1) * (-x.square().sum(-1, keepdim=True) / 2).exp() / math.sqrt(len(w)),
        ),
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
    ],
    praise="Positive, every direction twice, in the same order for every token: their products are exp(q·k) on average.",
)  # fmt: skip
