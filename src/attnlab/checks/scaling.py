"""Exercises on scaling: the divisor that careless weights need, and a fair comparison of divisors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from torch import Tensor
from torch.nn.functional import normalize

from attnlab.checks.exercise import case, draws, exercise, gradient, mistake, precisions
from attnlab.checks.scaling_moments import ROUNDED


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
        *draws(x="... n m", w_q="m k", w_k="m k", lead=[(), (2,), (3,), (2, 4)], seeds=8),
        *draws(x="... n m", w_q="m k", w_k="m k", lead=[(), (1,)], seeds=2, spread=0.4, n=(6, 9)),
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


class Best(NamedTuple):
    """What `compare` returns for each divisor."""

    rate: float
    share: float


Train = Callable[[float, float], float]


def train(divisor: float, rate: float) -> float:
    """Return a share that follows no pattern, so that a best rate is found by trying them all."""
    return round(0.5 + 0.49 * math.sin(1000 * (round(float(divisor), 3) + 3.7 * round(float(rate), 4))), 4)


def _divisors(d_k: int) -> dict[str, float]:
    return {"√d": d_k**0.5, "d": d_k, "nothing": 1}


def _best(tried: list[tuple[float, float]]) -> tuple[float, float]:
    return max(tried, key=lambda pair: pair[1])


def _compare(
    choose: Callable[[list], tuple[float, float]] = _best, divisors: Callable[[int], dict] = _divisors
) -> Callable:
    """A `compare` that tries every rate with these divisors and chooses among the pairs (rate, share)."""
    return lambda train, d_k, rates: {
        name: Best(*choose([(rate, train(divisor, rate)) for rate in rates]))
        for name, divisor in divisors(d_k).items()
    }


def _one_rate(choose: Callable[[Train, int, Sequence[float]], float]) -> Callable:
    """A `compare` with one rate for all."""

    def does(train, d_k, rates):
        rate = choose(train, d_k, rates)
        return {name: Best(rate, train(divisor, rate)) for name, divisor in _divisors(d_k).items()}

    return does


ONE_RATE = "One rate for all favours the divisor it suits. Try every rate with each divisor."

exercise(
    "scaling-fair",
    "compare",
    reference=_compare(),
    cases=[
        case(f"d_k = {d_k} and the rates {', '.join(map(str, rates))}", train=train, d_k=d_k, rates=rates)
        for d_k, rates in (
            (9, (0.1, 0.3, 1.0)),
            (64, [1.0, 0.01, 0.1, 0.03, 0.3]),
            (2, (0.5, 0.25)),
            (50, [0.3, 2.0, 0.7, 0.002]),
            (16, (0.2,)),
            (100, tuple(round(0.01 * 2**step, 2) for step in range(9))),
        )
    ],
    within=ROUNDED,
    mistakes=[
        *(
            mistake(ONE_RATE, _one_rate(lambda train, d_k, rates, c=c: max(rates, key=lambda r: train(c(d_k), r))))
            for c in (lambda d: d**0.5, lambda d: d, lambda d: 1)
        ),
        mistake(ONE_RATE, _one_rate(lambda train, d_k, rates: rates[0])),
        mistake(ONE_RATE, _one_rate(lambda train, d_k, rates: rates[-1])),
        mistake(ONE_RATE, _one_rate(lambda train, d_k, rates: max(rates, key=lambda rate: sum(train(c, rate) for c in _divisors(d_k).values())))),
        mistake("It takes the largest rate. Take the rate with the largest share.", _compare(max)),
        mistake("It takes the smallest rate. Take the rate with the largest share.", _compare(min)),
        mistake("It reports the worst share. Take the best rate, not the worst.", _compare(lambda tried: min(tried, key=lambda pair: pair[1]))),
        mistake("The largest rate and the largest share are put together. Report the rate that reached the share.",
                _compare(lambda tried: (max(tried)[0], max(share for _, share in tried)))),
        mistake("The pair is turned around: (rate, share).", _compare(lambda tried: _best(tried)[::-1])),
        mistake("The divisors √d and d have changed places.", _compare(divisors=lambda d: {"d": d**0.5, "√d": d, "nothing": 1})),
        *(
            mistake("It passes the scale, such as 1/√d. train takes the divisor.",
                    _compare(divisors=lambda d, none=none: {"√d": d**-0.5, "d": 1 / d, "nothing": none}))
            for none in (1, 0)
        ),
        mistake("For nothing it divides by 0. Scores that nothing is done to are divided by 1.", _compare(divisors=lambda d: _divisors(d) | {"nothing": 0})),
        mistake("It cuts √d to a whole number. A divisor need not be one.", _compare(divisors=lambda d: _divisors(d) | {"√d": int(d**0.5)})),
        mistake("For √d it divides by 2. Take the root, not half.", _compare(divisors=lambda d: _divisors(d) | {"√d": d / 2})),
        mistake("train takes the divisor first, then the rate.", lambda train, d_k, rates: _compare()(lambda divisor, rate: train(rate, divisor), d_k, rates)),
    ],
    praise="Three divisors, each at the rate that suits it best: a fair comparison.",
)  # fmt: skip
