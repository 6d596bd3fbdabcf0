"""Checkers of chapter 02, Relevance and averaging."""

from __future__ import annotations

from collections.abc import Callable

import torch

from attnlab.checks.legacy import Wrong, call, exercise, near, rounded, want_tensor
from attnlab.scores import sparsemax as reference


@exercise("relevance-lookup", "soft_lookup")
def soft_lookup(answer: Callable) -> str:
    """Examine the three steps for one query: dot products, softmax, weighted sum."""
    query = torch.tensor([0.5, -1.0])
    keys = torch.tensor([[1.0, 0.5], [-0.5, 0.8], [0.3, -0.7]])
    values = torch.tensor([[1.0, 0.0, 2.0, 5.0], [0.0, 3.0, -1.0, 1.0], [2.0, 2.0, 0.5, -3.0]])
    got = want_tensor(call(answer, query, keys, values), (4,))
    scores = keys @ query
    weights = scores.softmax(0)
    for mistake, message in (
        (scores @ values, "The scores are used as weights. They do not sum to 1: put a softmax between."),
        (scores / scores.sum() @ values, "It divides the scores by their sum. Negative scores then give negative weights."),
        (values.mean(0), "Every value gets the same weight. The query should decide: compare it with the keys."),
        (values[scores.argmax()], "It returns the value of the best key alone. Soft means that each gives its share."),
        (scores.exp() @ values, "The exponentials are not divided by their sum."),
        ((-scores).softmax(0) @ values, "The key that fits worst gets most. A larger dot product means more relevant."),
        ((scores / 2**0.5).softmax(0) @ values, "It scales the scores. That comes in chapter 04; here use them as they are."),
    ):  # fmt: skip
        if near(got, mistake):
            raise Wrong(message)
    if not near(got, weights @ values):
        want, found = ([round(x, 3) for x in t.tolist()] for t in (weights @ values, got))
        raise Wrong(f"The output should be {want}, it is {found}.")
    one = want_tensor(call(answer, query, keys[:1], values[:1]), (4,))
    if not near(one, values[0]):
        raise Wrong("With a single key the output must be its value: a share of everything.")
    return "Dot products, softmax, weighted sum: for any number of keys."


@exercise("relevance-sparsemax", "sparsemax")
def sparsemax(answer: Callable) -> str:
    """Examine sparsemax of each row, against the package's own."""
    z = torch.tensor([[1.0, 0.5, -1.0], [0.1, 0.2, 0.3], [3.0, 0.0, 2.5]])
    got = want_tensor(call(answer, z), (3, 3))
    want = reference(z)
    shifted = (z - z.amax(-1, keepdim=True) + 1).clamp_min(0)
    for mistake, message in (
        (z.softmax(-1), "That is softmax: no weight is exactly zero. Sparsemax subtracts a threshold and cuts at 0."),
        (torch.nn.functional.one_hot(z.argmax(-1), 3).float(), "It gives everything to the largest score. Close rivals must keep a share."),
        (shifted, "The rows do not sum to 1. The threshold depends on how many scores stay above it."),
        (shifted / shifted.sum(-1, keepdim=True), "It cuts and then divides by the sum. Sparsemax subtracts one threshold from all that stay."),
        (reference(z, dim=0), "It works down the columns. Each row is one query: use the last axis."),
        (z - (z.sum(-1, keepdim=True) - 1) / 3, "The threshold counts every score, and some weights are negative. Count only those that stay."),
        ((z - (z.sum(-1, keepdim=True) - 1) / 3).clamp_min(0), "The threshold counts every score, also those that end at 0. Count only those that stay."),
    ):  # fmt: skip
        if near(got, mistake):
            raise Wrong(message)
    if not near(got, want):
        raise Wrong(
            f"The first row, {z[0].tolist()}, should give {want[0].tolist()}, it gives {got[0].tolist()}."
        )
    if not near(want_tensor(call(answer, z + 50), (3, 3)), want, 1e-4):
        raise Wrong("With 50 added to every score the answer should stay: only differences count.")
    ties = torch.zeros(2, 4)
    if not near(want_tensor(call(answer, ties), (2, 4)), torch.full((2, 4), 0.25)):
        raise Wrong("Four equal scores should share: 0.25 each.")
    return "Every row is the nearest point of the simplex, with zeros where scores are far below."


@exercise("relevance-kernel", "kernel_average")
def kernel_average(answer: Callable) -> str:
    """Examine the Nadaraya-Watson average with a Gaussian kernel."""
    xs, ys = torch.tensor([0.0, 1.0, 2.5, 4.0]), torch.tensor([1.0, 3.0, -1.0, 0.5])
    at, width = torch.tensor([0.4, 3.0]), 0.8
    got = want_tensor(call(answer, at, xs, ys, width), (2,))
    gap = at[:, None] - xs
    exponent = -(gap**2) / (2 * width**2)
    want = exponent.softmax(-1) @ ys
    for mistake, message in (
        (exponent.exp() @ ys, "The kernel values are not divided by their sum: far from all points it would answer 0."),
        ((-gap.abs() / width).softmax(-1) @ ys, "The distance is not squared. The Gaussian kernel is exp(-distance² / (2 width²))."),
        ((-(gap**2) * width**2 / 2).softmax(-1) @ ys, "The width multiplies. A wider kernel looks further: divide by 2 width²."),
        ((-(gap**2) / (2 * width)).softmax(-1) @ ys, "The width is not squared: divide by 2 width²."),
        ((-exponent).softmax(-1) @ ys, "Points far away weigh most: the exponent lacks its minus sign."),
        (ys[gap.abs().argmin(-1)], "It takes the nearest point alone. Every point should give its share."),
    ):  # fmt: skip
        if near(got, mistake):
            raise Wrong(message)
    if not near(got, want):
        raise Wrong(f"The averages should be {rounded(want)}, they are {rounded(got)}.")
    far = want_tensor(call(answer, torch.tensor([60.0]), xs, ys, width), (1,))
    if not near(far, ys[-1:], 1e-3):
        raise Wrong(
            "Far from all points it should answer with the nearest one. Every exponential is 0 there: "
            "use a softmax, which subtracts the largest exponent first."
        )
    return "A weighted mean whose weights fall with distance, near and far."
