"""Exercises on scaling: who owns the variance of scores, and the rate that suits a candidate best."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.checks.exercise import case, draws, exercise, fresh, gradient, mistake, precisions
from attnbook.checks.instruments import Hoarding
from attnbook.checks.values import Tolerance


def _variance(part: Tensor) -> Tensor:
    return part.var((-2, -1), correction=0)


Matrices = tuple[Tensor, Tensor, Tensor]


def _split(
    parts: Callable[[Tensor, Tensor, Tensor, Tensor], Matrices] = lambda s, r, c, m: (
        r - m,
        c - m,
        s - r - c + m,
    ),
    measure: Callable[[Tensor], Tensor] = _variance,
) -> Callable:
    """Make a `split` from s, its row means r, its column means c and its mean m."""

    def does(s: Tensor) -> Tensor:
        rows, columns = s.mean(-1, keepdim=True), s.mean(-2, keepdim=True)
        made = parts(s, rows, columns, s.mean((-2, -1), keepdim=True))
        return torch.stack([measure(part) for part in made])

    return does


def _matrix(s: Tensor) -> Tensor:
    """Split without regard to leading axes: over the first two, whatever they are."""
    rows, columns = s.mean(1, keepdim=True), s.mean(0, keepdim=True)
    return torch.stack([_variance(part) for part in (rows, columns, s - rows - columns)])


def _shares(s: Tensor) -> Tensor:
    found = _split()(s)
    return found / found.sum(0)


FAR = replace(
    case(
        "scores near 10,000, where a mean of squares less the square of the mean has no digit left",
        s=1e4
        + torch.tensor([[3, -1, 1, 1], [-4, 0, -2, -2], [1, 1, 3, -1], [0, -4, -2, -2]], dtype=torch.float32),
    ),
    exact=True,
)
"""Whole numbers, and halves as means: single precision keeps them, but not their squares."""


exercise(
    "scaling-owed",
    "split",
    reference=_split(),
    cases=[
        *draws(s="... n k", lead=[(), (2,), (3, 2), (4,)]),
        case("a score for each query, the same for all keys", s=torch.tensor([[2.0], [-1.0], [0.5]]).expand(3, 5).clone()),
        case("a score for each key, the same for all queries", s=torch.tensor([[2.0, -1.0, 0.5, 4.0]]).expand(3, 4).clone()),
        FAR,
        case("scores that belong to the pair alone", s=torch.tensor([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0]])),
    ],
    promises=[gradient("s"), precisions("float64")],
    mistakes=[
        mistake("Query and key have changed places. A row belongs to one query: its mean is the query's part.", _split(lambda s, r, c, m: (c, r, s - r - c))),
        mistake("The three are there in another order. Query, key, pair.", _split(lambda s, r, c, m: (s - r - c, r, c))),
        mistake("These are standard deviations. Return the variances.", _split(measure=lambda part: _variance(part).sqrt())),
        mistake("These are shares. Return the variances themselves.", _shares),
        mistake("For the pair it returns the variance of the whole matrix. Take the two other parts off.", lambda s: torch.stack([*_split()(s)[:2], _variance(s)])),
        mistake("The pair keeps the query's part. Take the row means off, too.", _split(lambda s, r, c, m: (r, c, s - c))),
        mistake("The pair keeps the key's part. Take the column means off, too.", _split(lambda s, r, c, m: (r, c, s - r))),
        mistake("For query and key it takes what is left in each row and column. The query's part is the mean of its row.", _split(lambda s, r, c, m: (s - r, s - c, s - r - c))),
        mistake("It divides by one less than their number. Use correction=0: then the three sum to the variance of the matrix.",
                _split(measure=lambda part: part.var((-2, -1), correction=1))),
        mistake("These are mean squares. A variance is taken about the mean of the matrix.",
                _split(lambda s, r, c, m: (r, c, s - r - c + m), lambda part: part.square().mean((-2, -1)))),
        mistake("These are mean squares. The parts still have the mean of the matrix in them.",
                _split(lambda s, r, c, m: (r, c, s - r - c), lambda part: part.square().mean((-2, -1)))),
        mistake("It is right without a batch alone. Count axes from the end: -2 is that of the queries, -1 that of the keys.", _matrix),
    ],
    praise="The query's, the key's and the pair's variance, for each matrix of a batch.",
)  # fmt: skip


class Best(NamedTuple):
    """What `search` returns."""

    rate: float
    share: float


Train = Callable[[float], float]


def _peak(best: float, limit: float, most: float) -> Train:
    """A `train` that is best near 2**best and diverges above 2**limit; no two rates do equally well.

    It refuses to run more than `most` times.
    """
    runs = 0

    def train(rate: float) -> float:
        nonlocal runs
        runs += 1
        if runs > most:
            raise Hoarding(
                f"It trains more than {most:.0f} times. Go as far as it takes and no further: until the best rate has a worse "
                "neighbour on both sides."
            )
        x = math.log2(float(rate))
        return math.nan if x > limit else round(0.9 * 0.8 ** abs(x - best), 6)

    return train


def _runs(rate: float, best: float) -> float:
    """More than enough: six for each step to the best rate, and some to see that it is the best."""
    return 12 + 6 * abs(best - math.log2(rate))


def _search(
    down: bool = True,
    up: bool = True,
    factor: float = 2.0,
    lost: float = -1.0,
    farther: bool = True,
    halvings: float = math.inf,
    while_lost: float = math.inf,
    order: Callable[[float, float], tuple[float, float]] = lambda rate, share: (rate, share),
) -> Callable:
    """Make a `search` that goes in these directions, by this factor, once or farther, with so many halvings."""

    def does(train: Train, rate: float) -> Best:
        def at(rate: float) -> float:
            share = train(rate)
            return lost if math.isnan(share) else share

        first = rate
        for go, step in ((down, 1 / factor), (up, factor)):
            while go and (at(rate * step) > at(rate) or (step < 1 and at(rate * step) == at(rate) == lost)):
                lost_here = at(rate) == lost
                rate *= step
                if not farther and rate != first:
                    break
                if step < 1 and rate <= first * factor ** -min(
                    halvings, while_lost if lost_here else math.inf
                ):
                    break
        return Best(*order(rate, train(rate)))

    return does


def _one_too_far(train: Train, rate: float) -> Best:
    rate = _search()(train, rate).rate
    return Best(2 * rate, train(2 * rate))


def _three(train: Train, rate: float) -> Best:
    tried = {r: train(r) for r in (rate / 2, rate, rate * 2)}
    return Best(*max(((r, -1.0 if math.isnan(s) else s) for r, s in tried.items()), key=lambda pair: pair[1]))


exercise(
    "scaling-search",
    "search",
    reference=_search(),
    cases=[
        case(f"the first rate {rate}{said}", train=fresh(partial(_peak, best, limit, _runs(rate, best)), "train"), rate=rate)
        for rate, best, limit, said in (
            (0.01, math.log2(0.01) + 5.2, 9.0, ", far too small"),
            (0.7, math.log2(0.7) - 4.3, 9.0, ", far too large"),
            (0.3, math.log2(0.3) + 0.1, 9.0, ", which is the best"),
            (0.05, math.log2(0.05) + 2.3, math.log2(0.05) + 2.5, ", and the double of the best diverges"),
            (6.0, math.log2(6) - 7.4, math.log2(6) - 3.5, ", at which it diverges"),
            (3.0, math.log2(3) - 2.2, math.log2(3) - 1.5, ", at which it diverges, and so does the double of the best"),
            (0.25, math.log2(0.25) + 0.2, math.log2(0.25) + 0.5, ", which is the best, and its double diverges"),
            (0.7, math.log2(0.7) - 0.6, 9.0, ", a little too large"),
            (1e-9, math.log2(1e-9) + 30.3, 9.0, ", a billionth of a good one"),
            (1e6, math.log2(1e6) - 26.2, 99.0, ", millions of times too large"),
            (1e6, math.log2(1e6) - 26.2, -4.0, ", millions of times too large, and all but the last of the way down diverges"),
        )
    ],
    within=Tolerance(1e-6, 1e-5),
    lift=False,
    mistakes=[
        mistake("It only goes up. The best rate may be below the first one.", _search(down=False)),
        mistake("It only goes down. The best rate may be above the first one.", _search(up=False)),
        mistake("It tries three rates. Where the best is at the edge of what was tried, go on.", _three),
        mistake("It goes one step at most. Go on until the best rate has a worse neighbour on both sides.", _search(farther=False)),
        mistake("It stops after some halvings. Go down as far as it takes.", _search(halvings=8)),
        mistake("It gives up where runs go on diverging. Go down as far as it takes.", _search(while_lost=5)),
        mistake("It returns the first rate. Try others.", _search(down=False, up=False)),
        mistake("Its rates are a factor of 10 apart. Use 2.", _search(factor=10.0)),
        mistake("It goes one step past the best. Keep the best rate, not the last one tried.", _one_too_far),
        mistake("The pair is turned around: (rate, share).", _search(order=lambda rate, share: (share, rate))),
    ],
    praise="The best rate, from starts too small, too large and diverged, with a worse neighbour on both sides.",
)  # fmt: skip
