"""Checkers of chapter 04, Scaling by √d."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnlab.checks.verdict import Wrong, call, exercise, near, rounded, want_tensor


def _number(value: Any, what: str) -> float:
    if isinstance(value, Tensor) and value.numel() == 1:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Wrong(f"{what} should be a number, it is of type {type(value).__name__}.")
    return float(value)


def _alike(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-9)


@exercise("04-variance", "score_variance")
def score_variance(answer: Callable) -> str:
    """Examine Var(q·k) for entries of any means and variances."""
    d, a, s, b, t = 5, 1.5, 0.36, -0.4, 1.2
    got = _number(call(answer, d, a, s, b, t), "The variance")
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
        (math.sqrt(want), "That is the standard deviation. The exercise asks for the variance, its square."),
    ):  # fmt: skip
        if _alike(got, mistake):
            raise Wrong(message)
    for case in ((5, 1.5, 0.36, -0.4, 1.2), (64, 0.0, 1.0, 0.0, 1.0), (1, 2.0, 0.0, 3.0, 0.5)):
        d, a, s, b, t = case
        got, want = _number(call(answer, *case), "The variance"), d * (s * t + a * a * t + b * b * s)
        if not _alike(got, want):
            raise Wrong(
                f"With d = {d}, queries of mean {a} and variance {s}, keys of mean {b} and variance {t}, "
                f"the variance is {want:g}, not {got:g}."
            )
    return "The variance of a score, for any means and variances; d when they are 0 and 1."


@exercise("04-mean", "predict_mean")
def predict_mean(answer: Callable) -> str:
    """Examine the mean of a matrix of scores and its standard error, with shared queries and keys."""
    n_q, n_k, d, a, s, b, t = case = (3, 5, 4, 1.5, 0.36, -0.4, 1.2)
    mean, error = _pair(call(answer, *case))
    one = d * (s * t + a * a * t + b * b * s)
    square = d * (s / n_q * t / n_k + a * a * t / n_k + b * b * s / n_q)
    for wrong, message in (
        (a * b, "The mean is that of one product. A score is a sum of d of them."),
        (0.0, "The mean is 0 only if queries or keys have mean 0."),
    ):
        if _alike(mean, wrong):
            raise Wrong(message)
    if not _alike(mean, d * a * b):
        raise Wrong(f"The mean should be {d * a * b:g}, it is {mean:g}.")
    for wrong, message in (
        (math.sqrt(one / (n_q * n_k)), "It treats the scores as independent. Those of a row share a query, those of a column a key."),
        (square, "That is the variance of the mean. The standard error is its root."),
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
    if not isinstance(result, tuple) or len(result) != 2:
        raise Wrong(f"It should return two numbers, the mean and its standard error; it returned {result!r}.")
    return _number(result[0], "The mean"), _number(result[1], "The standard error")


@exercise("04-fourth", "square_error")
def square_error(answer: Callable) -> str:
    """Examine the standard error of the mean squared score, for entries of mean zero and any shape."""
    n_q, n_k, d, s, s4, t, t4 = case = (3, 5, 4, 2.0, 5.0, 0.5, 0.9)
    got = _number(call(answer, *case), "The standard error")
    n = n_q * n_k
    fourth = d * s4 * t4 + 3 * d * (d - 1) * (s * t) ** 2
    entry, row, column = fourth - (d * s * t) ** 2, d * t * t * (s4 - s * s), d * s * s * (t4 - t * t)
    want = math.sqrt((entry + (n_k - 1) * row + (n_q - 1) * column) / n)
    normal = (2 * d * d + 6 * d + 2 * d * (n_q + n_k - 2)) * (s * t) ** 2
    for mistake, message in (
        (math.sqrt(entry / n), "It treats the squares as independent. A long query makes its whole row large."),
        (math.sqrt(normal / n), "It takes the entries as normal, with a fourth moment of 3σ⁴. Use the one that is given."),
        (want**2, "That is the variance of the mean. The standard error is its root."),
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
    got, want = _number(call(answer, *coins), "The standard error"), math.sqrt((2 * 64 * 63) / (123 * 456))
    if not _alike(got, want):
        raise Wrong(
            f"For entries that are +1 or -1 the standard error should be {want:.4g}, it is {got:.4g}."
        )
    return "Any shape of entries, by its fourth moment; for coins sharing makes no difference."


@exercise("04-unit-scores", "unit_weights")
def unit_weights(answer: Callable) -> str:
    """Examine weights whose scores have unit variance when inputs and projections are N(0, 1)."""
    draw = torch.Generator().manual_seed(41)
    # Small numbers: at full size a wrong scale would saturate the softmax, and wrong scales would look alike.
    x, w_q, w_k = (size * torch.randn(*shape, generator=draw)
                   for size, shape in ((0.4, (5, 6)), (0.7, (6, 3)), (0.7, (6, 3))))  # fmt: skip
    got = want_tensor(call(answer, x, w_q, w_k), (5, 5))
    s = (x @ w_q) @ (x @ w_k).T
    unit = 6 * math.sqrt(3)
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
    ):  # fmt: skip
        if near(got, mistake, 1e-6):
            raise Wrong(message)
    want = (s / unit).softmax(-1)
    if not near(got, want, 1e-6):
        raise Wrong(f"The first row should be {rounded(want[0])}, it is {rounded(got[0])}.")
    batch = torch.stack([x, -0.5 * x.flip(0)])
    got = want_tensor(call(answer, batch, w_q, w_k), (2, 5, 5))
    if not near(got, ((batch @ w_q) @ (batch @ w_k).transpose(-2, -1) / unit).softmax(-1), 1e-6):
        raise Wrong(
            "With a batch the answer changes. Transpose the last two axes alone: k.transpose(-2, -1)."
        )
    return "Scores of unit variance, from the shapes alone, whatever the two widths are."
