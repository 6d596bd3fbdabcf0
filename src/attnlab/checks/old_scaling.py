"""Checkers of chapter 04, Scaling by √d."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import normalize

from attnlab.checks.legacy import Wrong, call, exercise, near, rounded, want_number, want_pair, want_tensor


def _alike(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-9)


@exercise("scaling-variance", "score_variance")
def score_variance(answer: Callable) -> str:
    """Examine Var(q·k) for entries of any means and variances."""
    d, a, s, b, t = 5, 1.5, 0.36, -0.4, 1.2
    got = want_number(call(answer, d, a, s, b, t), "The variance")
    want = d * (s * t + a * a * t + b * b * s)
    for mistake, message in (
        (s * t + a * a * t + b * b * s, "That is the variance of one product. A score is a sum of d of them."),
        (d * d * (s * t + a * a * t + b * b * s), "It multiplies by d². Variances of independent terms add: d times, not d² times."),
        (d * s * t, "The means are ignored. A query with a mean far from 0 passes the spread of the keys on."),
        (d * (a * a * t + b * b * s), "The term of the two variances is missing: with zero means nothing would be left."),
        (d * (s * t + a * a * t), "The spread of the queries, times the squared mean of the keys, is missing."),
        (d * (s * t + b * b * s), "The spread of the keys, times the squared mean of the queries, is missing."),
        (d * (s * t + a * a * s + b * b * t), "The cross terms are crossed wrongly: the squared mean of one side multiplies the variance of the other."),
        (d * (s * t + a * t + b * s), "The means in the cross terms are not squared."),
        (d * (s + t), "It adds the two variances. Those of a sum add; a score multiplies first."),
        (d * (s + a * a) * (t + b * b), "That is the mean of the squared products. Take the square of their mean away."),
        (d * (s * s * t * t + a * a * t * t + b * b * s * s), "It squares the variances. The arguments are variances already, not standard deviations."),
        (math.sqrt(d) * (s * t + a * a * t + b * b * s), "It multiplies by the root of d. Variances of d independent terms add up to d times one of them; the root comes when you take the standard deviation."),
        (d * (s + a * a) * (t + b * b) - (d * a * b) ** 2, "The squared mean is taken off once for the whole score. Take (μqμk)² off each of the d products."),
        (d * ((s + a * a) * (t + b * b) - a * b), "It takes off the mean of a product. Take off the square of that mean."),
        (d * (s * t + a * b * (s + t)), "The cross terms have the product of the means. Each has one mean, squared, and the variance of the other side."),
        (math.sqrt(want), "That is the standard deviation. The exercise asks for the variance, its square."),
    ):  # fmt: skip
        if _alike(got, mistake):
            raise Wrong(message)
    for case in ((5, 1.5, 0.36, -0.4, 1.2), (64, 0.0, 1.0, 0.0, 1.0), (1, 2.0, 0.0, 3.0, 0.5)):
        d, a, s, b, t = case
        got, want = want_number(call(answer, *case), "The variance"), d * (s * t + a * a * t + b * b * s)
        if not _alike(got, want):
            raise Wrong(
                f"With d = {d}, queries of mean {a} and variance {s}, keys of mean {b} and variance {t}, "
                f"the variance is {want:g}, not {got:g}."
            )
    return "The variance of a score, for any means and variances; d when they are 0 and 1."


@exercise("scaling-mean", "predict_mean")
def predict_mean(answer: Callable) -> str:
    """Examine the mean of a matrix of scores and its standard error, with shared queries and keys."""
    n_q, n_k, d, a, s, b, t = case = (3, 5, 4, 1.5, 0.36, -0.4, 1.2)
    mean, error = _pair(call(answer, *case))
    one = d * (s * t + a * a * t + b * b * s)
    square = d * (s / n_q * t / n_k + a * a * t / n_k + b * b * s / n_q)
    for wrong, message in (
        (a * b, "The mean is that of one product. A score is a sum of d of them."),
        (n_q * n_k * d * a * b, "That is the sum of all scores. Their mean is that of one score."),
        (0.0, "The mean is 0 only if queries or keys have mean 0."),
    ):
        if _alike(mean, wrong):
            raise Wrong(message)
    if not _alike(mean, d * a * b):
        raise Wrong(f"The mean should be {d * a * b:g}, it is {mean:g}.")
    for wrong, message in (
        (math.sqrt(one / (n_q * n_k)), "It treats the scores as independent. Those of a row share a query, those of a column a key."),
        (square, "That is the variance of the mean. The standard error is its root."),
        (math.sqrt(one) / (n_q * n_k), "It divides by the number of scores outside the root, and treats them as independent besides."),
        (math.sqrt(square / d), "The width is missing: the mean score is a sum of d products."),
        (math.sqrt(square - d * b * b * s / n_q), "What the scores of a row owe to their shared query is missing."),
        (math.sqrt(square - d * a * a * t / n_k), "What the scores of a column owe to their shared key is missing."),
        (math.sqrt((one + n_k * d * b * b * s + n_q * d * a * a * t) / (n_q * n_k)), "An entry is counted among its own partners. It shares its query with n_k - 1 others, its key with n_q - 1."),
        (1.96 * math.sqrt(square), "That is half of a 95 % interval. The standard error is one standard deviation of the mean."),
        (math.sqrt(one), "That is how far one score strays. The mean of many strays less."),
        (math.sqrt(one / (n_q + n_k)), "It counts vectors instead of scores. Each side is averaged over its own number."),
        (math.sqrt(d * (s / n_k * t / n_q + a * a * t / n_q + b * b * s / n_k)), "The two numbers have changed places: the mean query averages n_q queries."),
        (math.sqrt(d * s / n_q * t / n_k), "The means are ignored: with them, a shared query or key moves a whole row or column."),
        (math.sqrt(d * (a * a * t / n_k + b * b * s / n_q)), "The term of the two variances is missing."),
    ):  # fmt: skip
        if _alike(error, wrong):
            raise Wrong(message)
    for case in (
        (3, 5, 4, 1.5, 0.36, -0.4, 1.2),
        (123, 456, 64, 0.0, 1.0, 0.0, 1.0),
        (7, 2, 16, 0.5, 2.0, 1.0, 0.25),
    ):
        n_q, n_k, d, a, s, b, t = case
        mean, error = _pair(call(answer, *case))
        want = math.sqrt(d * (s * t / (n_q * n_k) + a * a * t / n_k + b * b * s / n_q))
        if not (_alike(mean, d * a * b) and _alike(error, want)):
            raise Wrong(
                f"For {n_q} queries and {n_k} keys of width {d}, means {a} and {b}, variances {s} and {t}, "
                f"it should be {d * a * b:g} ± {want:.4g}, it is {mean:g} ± {error:.4g}."
            )
    return "The mean of the matrix and its standard error, with every shared query and key counted."


def _pair(result: Any) -> tuple[float, float]:
    mean, error = want_pair(result, "two numbers, the mean and its standard error")
    return want_number(mean, "The mean"), want_number(error, "The standard error")


@exercise("scaling-fourth", "square_error")
def square_error(answer: Callable) -> str:
    """Examine the standard error of the mean squared score, for entries of mean zero and any shape."""
    n_q, n_k, d, s, s4, t, t4 = case = (3, 5, 4, 2.0, 5.0, 0.5, 0.9)
    got = want_number(call(answer, *case), "The standard error")
    n = n_q * n_k
    fourth = d * s4 * t4 + 3 * d * (d - 1) * (s * t) ** 2
    entry, row, column = fourth - (d * s * t) ** 2, d * t * t * (s4 - s * s), d * s * s * (t4 - t * t)
    want = math.sqrt((entry + (n_k - 1) * row + (n_q - 1) * column) / n)
    normal = (2 * d * d + 6 * d + 2 * d * (n_q + n_k - 2)) * (s * t) ** 2
    for mistake, message in (
        (math.sqrt(entry / n), "It treats the squares as independent. A long query makes its whole row large."),
        (math.sqrt(normal / n), "It takes the entries as normal, with a fourth moment of 3σ⁴. Use the one that is given."),
        (want**2, "That is the variance of the mean. The standard error is its root."),
        (want / math.sqrt(n), "The number of scores divides under the root, once."),
        *((math.sqrt(abs(entry + (pairings - 3) * d * (d - 1) * (s * t) ** 2 + (n_k - 1) * row + (n_q - 1) * column) / n),
           "In E s⁴ the products of two squares are miscounted: four terms fall into two pairs in three ways, which gives 3d(d − 1).") for pairings in (0, 1, 6)),
        (math.sqrt((entry + 3 * d * (s * t) ** 2 + (n_k - 1) * row + (n_q - 1) * column) / n), "In E s⁴ it counts 3d² products of two squares. The two squares are of different terms: 3d(d − 1)."),
        (math.sqrt((entry + ((n_k - 1) * row + (n_q - 1) * column) / d) / n), "The width is missing in R and C: |q|² is a sum of d squares."),
        (math.sqrt((entry + ((n_k - 1) * row + (n_q - 1) * column) * d) / n), "R and C grow like d, not like d²: the variances of d independent squares add."),
        (math.sqrt((entry + (n_k - 1) * row / t + (n_q - 1) * column / s) / n), "Given the query, the mean of s² is σ_k²|q|². Its variance has σ_k⁴, the square of that factor."),
        (math.sqrt((entry + (n_k - 1) * row / t**2 + (n_q - 1) * column / s**2) / n), "Given the query, the mean of s² is σ_k²|q|². The factor σ_k² is missing, and so is σ_q² on the other side."),
        (math.sqrt((entry + (n_q - 1) * row + (n_k - 1) * column) / n), "The counts have changed places: each entry shares its query with n_k - 1 others."),
        (math.sqrt((entry + n_k * row + n_q * column) / n), "An entry is counted among those that share its query. There are n_k - 1 others."),
        (math.sqrt((fourth + (n_k - 1) * row + (n_q - 1) * column) / n), "For one entry it takes the mean of s⁴. The variance of s² is that less the square of the mean of s²."),
        (math.sqrt((entry + (n_k - 1) * d * t * t * s4 + (n_q - 1) * d * s * s * t4) / n), "The variance of a squared entry is its fourth moment less the square of its variance."),
        (math.sqrt((entry + (n_k - 1) * row) / n), "Entries of a column share their key: their covariance is missing."),
        (math.sqrt((entry + (n_q - 1) * column) / n), "Entries of a row share their query: their covariance is missing."),
    ):  # fmt: skip
        if _alike(got, mistake):
            raise Wrong(message)
    if not _alike(got, want):
        raise Wrong(
            f"For {n_q} queries and {n_k} keys of width {d}, variances {s} and {t}, fourth moments {s4} and "
            f"{t4}, the standard error is {want:.4g}, not {got:.4g}."
        )
    coins = (123, 456, 64, 1.0, 1.0, 1.0, 1.0)
    got, want = (
        want_number(call(answer, *coins), "The standard error"),
        math.sqrt((2 * 64 * 63) / (123 * 456)),
    )
    if not _alike(got, want):
        raise Wrong(
            f"For entries that are +1 or -1 the standard error should be {want:.4g}, it is {got:.4g}."
        )
    return "Any shape of entries, by its fourth moment; for coins sharing makes no difference."


@exercise("scaling-unit-scores", "unit_weights")
def unit_weights(answer: Callable) -> str:
    """Examine weights whose scores have unit variance when inputs and projections are N(0, 1)."""
    draw = torch.Generator().manual_seed(41)
    # Small numbers: at full size a wrong scale would saturate the softmax, and wrong scales would look alike.
    x, w_q, w_k = (size * torch.randn(*shape, generator=draw)
                   for size, shape in ((0.4, (5, 6)), (0.7, (6, 3)), (0.7, (6, 3))))  # fmt: skip
    got = want_tensor(call(answer, x, w_q, w_k), (5, 5))
    s = (x @ w_q) @ (x @ w_k).T
    unit = 6 * math.sqrt(3)
    cosines = normalize(x @ w_q, dim=-1) @ normalize(x @ w_k, dim=-1).T
    for mistake, message in (
        (s.softmax(-1), "The scores are not scaled."),
        ((s / 3**0.5).softmax(-1), "It divides by the root of d_k alone. That is enough for queries of variance 1; these have more."),
        ((s / 3).softmax(-1), "It divides by d_k alone: by the width instead of its root, and the variance of the queries is left out."),
        ((s / 18).softmax(-1), "It divides by d_model · d_k. The sum over d_k products calls for the root of d_k."),
        ((s / 6).softmax(-1), "It divides by d_model alone. That makes the queries right; the score is still a sum over d_k."),
        ((s / 18**0.5).softmax(-1), "It divides by the root of d_model · d_k. Queries and keys each bring a root of d_model."),
        ((s / (3 * 6**0.5)).softmax(-1), "d_model and d_k have changed places. The score sums over d_k, each query entry over d_model."),
        ((s / 6**1.5).softmax(-1), "It uses d_model where d_k belongs: the score is a sum over the d_k entries of query and key."),
        ((s / 6**0.5).softmax(-1), "It divides by the root of d_model alone."),
        ((s / unit**2).softmax(-1), "It divides by the variance of the scores. Divide by their standard deviation."),
        ((s / s.std()).softmax(-1), "It divides by the spread of these very scores. The scale must not depend on the data: work it out from the shapes."),
        ((s / s.std(-1, keepdim=True)).softmax(-1), "It divides by the spread of these very scores. The scale must not depend on the data: work it out from the shapes."),
        (s.softmax(-1) / unit, "The scale comes after the softmax: the rows no longer sum to 1. Scale the scores."),
        ((s / unit).softmax(-2), "The softmax runs down the columns. Each row belongs to one query: use dim=-1."),
        (s / unit, "There is no softmax: these are scores, not weights."),
        ((s * unit).softmax(-1), "It multiplies by the standard deviation of the scores. Divide by it."),
        ((s / (5 * 3**0.5)).softmax(-1), "It uses the number of tokens. A query entry is a sum over d_model: the length of the text has no part in it."),
        ((s.T / unit).softmax(-1), "Queries and keys have changed places: w_q makes the queries, and each row belongs to a query."),
        ((s / (x @ w_q).std() / (x @ w_k).std() / 3**0.5).softmax(-1), "It divides by the spread of these very queries and keys. The scale must not depend on the data: work it out from the shapes."),
        (cosines.softmax(-1), "Those are cosines: it divides each score by the lengths of its two vectors. One divisor, from the shapes, serves them all."),
    ):  # fmt: skip
        if near(got, mistake, 1e-6):
            raise Wrong(message)
    want = (s / unit).softmax(-1)
    if not near(got, want, 1e-6):
        raise Wrong(f"The first row should be {rounded(want[0])}, it is {rounded(got[0])}.")
    batch = torch.stack([x, -0.5 * x.flip(0)])
    got = want_tensor(call(answer, batch, w_q, w_k), (2, 5, 5))
    s = (batch @ w_q) @ (batch @ w_k).transpose(-2, -1) / unit
    if near(got, s.softmax(1), 1e-6):
        raise Wrong("With a batch, dim=1 runs down the columns. Count the axis from the end: dim=-1.")
    if not near(got, s.softmax(-1), 1e-6):
        raise Wrong(
            "With a batch the answer changes. Transpose the last two axes alone: k.transpose(-2, -1)."
        )
    return "Scores of unit variance, from the shapes alone, whatever the two widths are."


@exercise("scaling-fair", "compare")
def compare(answer: Callable) -> str:
    """Examine a comparison of divisors, each at its own best rate, by a training that notes how it is called."""
    d_k, rates = 9, (0.1, 0.3, 1.0)
    shares = {3.0: (0.5, 0.7, 0.9), 9.0: (0.2, 0.8, 0.6), 1.0: (0.75, 0.4, 0.1)}
    tried: list[tuple[float, float]] = []

    def train(divisor: float, rate: float) -> float:
        tried.append((float(divisor), rate))
        known = shares.get(float(divisor), (0.0, 0.0, 0.0))
        return known[rates.index(rate)] if rate in rates else 0.0

    got = call(answer, train, d_k, rates)
    if not isinstance(got, dict) or set(got) != {"√d", "d", "nothing"}:
        raise Wrong(f"It should return a dict with the keys √d, d and nothing; it returned {got!r}.")
    found = {name: want_pair(pair, f"for {name} a pair (rate, share)") for name, pair in got.items()}
    divisors = {divisor for divisor, _ in tried}
    if not divisors <= set(shares):
        odd = min(divisors - set(shares))
        raise Wrong(
            f"With d_k = 9 it trained with the divisor {odd:g}. The three are 3, 9, and 1 for nothing."
        )
    for name, divisor in (("√d", 3.0), ("d", 9.0), ("nothing", 1.0)):
        rate, share = (
            want_number(value, f"For {name}, the {what}")
            for value, what in zip(found[name], ("rate", "share"), strict=True)
        )
        top = max(shares[divisor])
        best = rates[shares[divisor].index(top)]
        if {rate for tested, rate in tried if tested == divisor} < set(rates):
            raise Wrong(
                f"For {name} not all rates were tried. One rate for all would favour the divisor it suits."
            )
        if (share, rate) == (best, top):
            raise Wrong("The pair is turned around: (rate, share).")
        if share == min(shares[divisor]):
            raise Wrong(
                f"For {name} it reports the worst share, {share:g}. Take the best rate, not the worst."
            )
        if share in {max(shares[other]) for other in shares if other != divisor}:
            raise Wrong(f"For {name} it reports the share of another divisor.")
        if best != max(rates) and (rate, share) == (max(rates), shares[divisor][-1]):
            raise Wrong(f"For {name} it takes the largest rate. Take the rate with the largest share.")
        if not _alike(share, top):
            raise Wrong(
                f"For {name} the best share is {top:g}, it reports {share:g}. Each divisor has a best rate of its own."
            )
        if rate != best:
            raise Wrong(f"For {name} the best rate is {best:g}, it reports {rate:g}.")
    return "Three divisors, each at the rate that suits it best: a fair comparison."
