"""Exercises on the moments of scores: their variance, the error of their mean, and that of their mean square."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import NamedTuple

from attnlab.checks.exercise import exercise, mistake, rows
from attnlab.checks.values import Tolerance

ROUNDED = Tolerance(1e-6, 1e-5)
"""Numbers may be computed in single precision, as NumPy and torch do."""

exercise(
    "scaling-variance",
    "score_variance",
    reference=lambda d, mean_q, var_q, mean_k, var_k: (
        d * (var_q * var_k + mean_q**2 * var_k + mean_k**2 * var_q)
    ),
    cases=rows(
        "d mean_q var_q mean_k var_k",
        (5, 1.5, 0.36, -0.4, 1.2),
        (64, 0.0, 1.0, 0.0, 1.0),
        (1, 2.0, 0.0, 3.0, 0.5),
        (12, -0.7, 2.25, 0.3, 0.09),
        (300, 0.0, 0.8, 1.1, 0.0),
        (7, -2.0, 0.5, -1.0, 3.0),
    ),
    within=ROUNDED,
    mistakes=[
        mistake("That is the variance of one product. A score is a sum of d of them.", lambda d, a, s, b, t: s * t + a * a * t + b * b * s),
        mistake("It multiplies by d². Variances of independent terms add: d times, not d² times.", lambda d, a, s, b, t: d * d * (s * t + a * a * t + b * b * s)),
        mistake("It multiplies by the root of d. Variances of d independent terms add up to d times one of them; the root comes when you take the standard deviation.",
                lambda d, a, s, b, t: d**0.5 * (s * t + a * a * t + b * b * s)),
        mistake("The means are ignored. A query with a mean far from 0 passes the spread of the keys on.", lambda d, a, s, b, t: d * s * t),
        mistake("The term of the two variances is missing: with zero means nothing would be left.", lambda d, a, s, b, t: d * (a * a * t + b * b * s)),
        mistake("The spread of the queries, times the squared mean of the keys, is missing.", lambda d, a, s, b, t: d * (s * t + a * a * t)),
        mistake("The spread of the keys, times the squared mean of the queries, is missing.", lambda d, a, s, b, t: d * (s * t + b * b * s)),
        mistake("The cross terms are crossed wrongly: the squared mean of one side multiplies the variance of the other.",
                lambda d, a, s, b, t: d * (s * t + a * a * s + b * b * t)),
        mistake("The means in the cross terms are not squared.", lambda d, a, s, b, t: d * (s * t + a * t + b * s)),
        mistake("The cross terms have the product of the means. Each has one mean, squared, and the variance of the other side.",
                lambda d, a, s, b, t: d * (s * t + a * b * (s + t))),
        mistake("It adds the two variances. Those of a sum add; a score multiplies first.", lambda d, a, s, b, t: d * (s + t)),
        mistake("That is the mean of the squared products. Take the square of their mean away.", lambda d, a, s, b, t: d * (s + a * a) * (t + b * b)),
        mistake("The squared mean is taken off once for the whole score. Take (μqμk)² off each of the d products.",
                lambda d, a, s, b, t: d * (s + a * a) * (t + b * b) - (d * a * b) ** 2),
        mistake("The squared mean of one product is taken off once. Take it off each of the d products.",
                lambda d, a, s, b, t: d * (s + a * a) * (t + b * b) - (a * b) ** 2),
        mistake("It takes off the mean of a product. Take off the square of that mean.", lambda d, a, s, b, t: d * ((s + a * a) * (t + b * b) - a * b)),
        mistake("It squares the variances. The arguments are variances already, not standard deviations.",
                lambda d, a, s, b, t: d * (s * s * t * t + a * a * t * t + b * b * s * s)),
        mistake("That is the standard deviation. The exercise asks for the variance, its square.", lambda d, a, s, b, t: (d * (s * t + a * a * t + b * b * s)) ** 0.5),
    ],
    praise="The variance of a score, for any means and variances; d when they are 0 and 1.",
)  # fmt: skip


class Estimate(NamedTuple):
    """What `predict_mean` returns."""

    mean: float
    standard_error: float


def predict_mean(
    n_q: int, n_k: int, d: int, mean_q: float, var_q: float, mean_k: float, var_k: float
) -> Estimate:
    """The reference."""
    square = d * (var_q * var_k / (n_q * n_k) + mean_q**2 * var_k / n_k + mean_k**2 * var_q / n_q)
    return Estimate(d * mean_q * mean_k, square**0.5)


def _mean(
    mean: Callable[..., float] = lambda p: p.mean, error: Callable[..., float] = lambda p: p.square**0.5
) -> Callable:
    """A wrong `predict_mean`, from the arguments p: means a, b; variances s, t; `one` is that of a single score."""

    def does(n_q, n_k, d, mean_q, var_q, mean_k, var_k):
        right = predict_mean(n_q, n_k, d, mean_q, var_q, mean_k, var_k)
        one = d * (var_q * var_k + mean_q**2 * var_k + mean_k**2 * var_q)
        p = SimpleNamespace(
            n_q=n_q, n_k=n_k, n=n_q * n_k, d=d, a=mean_q, s=var_q, b=mean_k, t=var_k,
            mean=right.mean, square=right.standard_error**2, one=one,
        )  # fmt: skip
        return Estimate(mean(p), error(p))

    return does


exercise(
    "scaling-mean",
    "predict_mean",
    reference=predict_mean,
    cases=rows(
        "n_q n_k d mean_q var_q mean_k var_k",
        (3, 5, 4, 1.5, 0.36, -0.4, 1.2),
        (123, 456, 64, 0.0, 1.0, 0.0, 1.0),
        (7, 2, 16, 0.5, 2.0, 1.0, 0.25),
        (1, 1, 6, -0.8, 1.7, 0.6, 0.9),
        (1, 9, 3, 0.7, 0.4, -1.3, 2.2),
        (8, 1, 1, 2.0, 0.3, 0.0, 1.4),
    ),
    within=ROUNDED,
    mistakes=[
        mistake("The mean is that of one product. A score is a sum of d of them.", _mean(mean=lambda p: p.a * p.b)),
        mistake("Mean and standard error are those of one product. A score is a sum of d of them.",
                _mean(mean=lambda p: p.a * p.b, error=lambda p: (p.square / p.d) ** 0.5)),
        mistake("That is the sum of all scores. Their mean is that of one score.", _mean(mean=lambda p: p.n * p.mean)),
        mistake("The mean is 0 only if queries or keys have mean 0.", _mean(mean=lambda p: 0.0)),
        mistake("The pair is turned around: the mean comes first, then its standard error.", lambda *arguments: Estimate(*predict_mean(*arguments)[::-1])),
        mistake("It treats the scores as independent. Those of a row share a query, those of a column a key.", _mean(error=lambda p: (p.one / p.n) ** 0.5)),
        mistake("That is the variance of the mean. The standard error is its root.", _mean(error=lambda p: p.square)),
        mistake("It divides by the number of scores outside the root, and treats them as independent besides.", _mean(error=lambda p: p.one**0.5 / p.n)),
        mistake("The width is missing in the standard error: the mean score is a sum of d products.", _mean(error=lambda p: (p.square / p.d) ** 0.5)),
        mistake("What the scores of a row owe to their shared query is missing.", _mean(error=lambda p: (p.square - p.d * p.b**2 * p.s / p.n_q) ** 0.5)),
        mistake("What the scores of a column owe to their shared key is missing.", _mean(error=lambda p: (p.square - p.d * p.a**2 * p.t / p.n_k) ** 0.5)),
        mistake("An entry is counted among its own partners. It shares its query with n_k - 1 others, its key with n_q - 1.",
                _mean(error=lambda p: (((p.one + p.n_k * p.d * p.b**2 * p.s + p.n_q * p.d * p.a**2 * p.t) / p.n) ** 0.5))),
        mistake("That is half of a 95 % interval. The standard error is one standard deviation of the mean.", _mean(error=lambda p: 1.96 * p.square**0.5)),
        mistake("That is how far one score strays. The mean of many strays less.", _mean(error=lambda p: p.one**0.5)),
        mistake("It counts vectors instead of scores. Each side is averaged over its own number.", _mean(error=lambda p: (p.one / (p.n_q + p.n_k)) ** 0.5)),
        mistake("The two numbers have changed places: the mean query averages n_q queries.",
                _mean(error=lambda p: (p.d * (p.s * p.t / p.n + p.a**2 * p.t / p.n_q + p.b**2 * p.s / p.n_k)) ** 0.5)),
        mistake("In the standard error the means are ignored: with them, a shared query or key moves a whole row or column.",
                _mean(error=lambda p: (p.d * p.s * p.t / p.n) ** 0.5)),
        mistake("The term of the two variances is missing.", _mean(error=lambda p: (p.d * (p.a**2 * p.t / p.n_k + p.b**2 * p.s / p.n_q)) ** 0.5)),
    ],
    praise="The mean of the matrix and its standard error, with every shared query and key counted.",
)  # fmt: skip


def _error(variance: Callable[[SimpleNamespace], float]) -> Callable:
    """A `square_error` from p: V, R and C of the chapter's count, E s⁴, moments s, s4 of queries and t, t4 of keys."""

    def does(n_q, n_k, d, var_q, fourth_q, var_k, fourth_k):
        p = SimpleNamespace(n_q=n_q, n_k=n_k, d=d, s=var_q, s4=fourth_q, t=var_k, t4=fourth_k)
        p.fourth = d * fourth_q * fourth_k + 3 * d * (d - 1) * (var_q * var_k) ** 2
        p.V = p.fourth - (d * var_q * var_k) ** 2
        p.R = d * var_k**2 * (fourth_q - var_q**2)
        p.C = d * var_q**2 * (fourth_k - var_k**2)
        p.total = p.V + (n_k - 1) * p.R + (n_q - 1) * p.C
        return (variance(p) / (n_q * n_k)) ** 0.5

    return does


def _shares(row: Callable[[SimpleNamespace], float], column: Callable[[SimpleNamespace], float]) -> Callable:
    """The same with other values for R and C."""
    return _error(lambda p: p.V + (p.n_k - 1) * row(p) + (p.n_q - 1) * column(p))


exercise(
    "scaling-fourth",
    "square_error",
    reference=_error(lambda p: p.total),
    cases=rows(
        "n_q n_k d var_q fourth_q var_k fourth_k",
        (3, 5, 4, 2.0, 5.0, 0.5, 0.9),
        (7, 2, 6, 2.0, 11.0, 3.0, 30.0),
        (123, 456, 64, 1.0, 1.0, 1.0, 1.0),
        (1, 8, 5, 0.6, 0.5, 1.9, 4.0),
        (9, 1, 2, 1.4, 6.0, 0.7, 0.49),
        (4, 6, 1, 0.8, 1.5, 1.7, 9.0),
        (10, 12, 3, 1.5, 6.75, 0.6, 1.08),
    ),
    within=ROUNDED,
    mistakes=[
        mistake("It treats the squares as independent. A long query makes its whole row large.", _error(lambda p: p.V)),
        mistake("It takes the entries as normal, with a fourth moment of 3σ⁴. Use the one that is given.",
                _error(lambda p: (2 * p.d**2 + 6 * p.d + 2 * p.d * (p.n_q + p.n_k - 2)) * (p.s * p.t) ** 2)),
        mistake("That is the variance of the mean. The standard error is its root.", _error(lambda p: p.total**2 / (p.n_q * p.n_k))),
        mistake("The number of scores divides under the root, once.", _error(lambda p: p.total / (p.n_q * p.n_k))),
        *(
            mistake("In E s⁴ the products of two squares are miscounted: four terms fall into two pairs in three ways, which gives 3d(d − 1).",
                    _error(lambda p, pairs=pairs: p.total + (pairs - 3) * p.d * (p.d - 1) * (p.s * p.t) ** 2))
            for pairs in (0, 1, 2, 6)
        ),
        mistake("In E s⁴ it counts 3d² products of two squares. The two squares are of different terms: 3d(d − 1).",
                _error(lambda p: p.total + 3 * p.d * (p.s * p.t) ** 2)),
        mistake("In E s⁴ the product of two squares is E q² E k², squared: (σ_q² σ_k²)². Yours is not squared.",
                _error(lambda p: p.total + 3 * p.d * (p.d - 1) * (p.s * p.t - (p.s * p.t) ** 2))),
        mistake("The mean of s² is d σ_q² σ_k². It takes away d², which is its square for variances of 1 alone.",
                _error(lambda p: p.total + (p.d * p.s * p.t) ** 2 - p.d**2)),
        mistake("The width is missing in R and C: |q|² is a sum of d squares.", _shares(lambda p: p.R / p.d, lambda p: p.C / p.d)),
        mistake("R and C grow like d, not like d²: the variances of d independent squares add.", _shares(lambda p: p.R * p.d, lambda p: p.C * p.d)),
        mistake("Given the query, the mean of s² is σ_k²|q|². Its variance has σ_k⁴, the square of that factor.", _shares(lambda p: p.R / p.t, lambda p: p.C / p.s)),
        mistake("Given the query, the mean of s² is σ_k²|q|². The factor σ_k² is missing, and so is σ_q² on the other side.",
                _shares(lambda p: p.R / p.t**2, lambda p: p.C / p.s**2)),
        mistake("R and C are divided by the variances: they hold for variances of 1. Keep σ_k⁴ and σ_q⁴.",
                _shares(lambda p: p.d * (p.s4 / p.s**2 - 1), lambda p: p.d * (p.t4 / p.t**2 - 1))),
        mistake("It works with the moments over the variances alone. In the end multiply the variance of the mean by (σ_q² σ_k²)².",
                _error(lambda p: p.total / (p.s * p.t) ** 2)),
        mistake("The counts have changed places: each entry shares its query with n_k - 1 others.", _error(lambda p: p.V + (p.n_q - 1) * p.R + (p.n_k - 1) * p.C)),
        mistake("An entry is counted among those that share its query. There are n_k - 1 others.", _error(lambda p: p.total + p.R + p.C)),
        mistake("For one entry it takes the mean of s⁴. The variance of s² is that less the square of the mean of s².",
                _error(lambda p: p.total + (p.d * p.s * p.t) ** 2)),
        mistake("The variance of a squared entry is its fourth moment less the square of its variance.",
                _shares(lambda p: p.d * p.t**2 * p.s4, lambda p: p.d * p.s**2 * p.t4)),
        mistake("Entries of a column share their key: their covariance is missing.", _error(lambda p: p.V + (p.n_k - 1) * p.R)),
        mistake("Entries of a row share their query: their covariance is missing.", _error(lambda p: p.V + (p.n_q - 1) * p.C)),
    ],
    praise="Any shape of entries, by its fourth moment; for coins sharing makes no difference.",
)  # fmt: skip
