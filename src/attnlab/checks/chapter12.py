"""Checkers of chapter 12, What it costs."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from attnlab.checks.verdict import Wrong, call, exercise, near, rounded, want_tensor


def _whole_number(result: object) -> int:
    if isinstance(result, bool) or not isinstance(result, int | float) or result != int(result):
        raise Wrong(f"It should return a whole number, it returned {result!r}.")
    return int(result)


@exercise("12-count", "multiplications")
def multiplications(answer: Callable) -> str:
    """Examine a count of multiplications: four projections, scores, and the weighted sum."""
    for n, d_model, n_heads in ((6, 8, 2), (512, 64, 8), (3, 10, 5)):
        got = _whole_number(call(answer, n, d_model, n_heads))
        projections, one = 4 * n * d_model**2, n * n * d_model
        case = f"With n = {n}, d_model = {d_model} and {n_heads} heads"
        for mistake, message in (
            (projections, "The attention itself is missing: scores, and the weighted sum of the values"),
            (2 * one, "The four projections are missing, n · d_model² each"),
            (projections + one, "Scores cost n² · d_model, and the weighted sum of the values as much again"),
            (3 * n * d_model**2 + 2 * one, "There are four projections: the output has one too"),
            (projections + 2 * one * n_heads, "Each head is only d_model / n_heads wide: all heads together cost n² · d_model"),
            (2 * (projections + 2 * one), "Count multiplications. An addition goes with each, but is not asked for"),
            (4 * n * (d_model // n_heads) ** 2 + 2 * one, "Each projection maps d_model to d_model numbers, all heads together"),
        ):  # fmt: skip
            if got == mistake:
                raise Wrong(f"{message}. {case} it should be {projections + 2 * one}, not {got}.")
        if got != projections + 2 * one:
            raise Wrong(f"{case} it should be {projections + 2 * one}, it is {got}.")
    return "4 n d² for the projections, 2 n² d for the attention, whatever the number of heads."


def _tiles(scores: torch.Tensor, values: torch.Tensor, size: int, mistake: str) -> torch.Tensor:
    """Do online softmax with one mistake of the kind people make."""
    largest = torch.tensor(-math.inf)
    powers, total = torch.zeros(()), torch.zeros(values.shape[1])
    for s, v in zip(scores.split(size), values.split(size), strict=True):
        new = s.max() if mistake == "tile" else torch.maximum(largest, s.max())
        correction = (largest - new).exp()
        if mistake == "upside down" and torch.isfinite(largest):
            correction = 1 / correction
        e = (s - new).exp()
        powers = powers * (1.0 if mistake in ("none", "total") else correction) + e.sum()
        total = total * (1.0 if mistake in ("none", "powers") else correction) + e @ v
        largest = new
    return total if mistake == "undivided" else total / powers


@exercise("12-online", "online_attention")
def online_attention(answer: Callable) -> str:
    """Examine attention of one query by tiles: running maximum, both corrections, the last tile, extreme scores."""
    draw = torch.Generator().manual_seed(12)
    scores, values = 2 * torch.randn(7, generator=draw), torch.randn(7, 3, generator=draw)
    scores[5] = 4.0  # the largest comes late: what was summed before must be corrected
    got = want_tensor(call(answer, scores, values, 3), (3,))
    means = [scores[:3], scores[3:6], scores[6:]]
    for mistake, message in (
        (_tiles(scores, values, 3, "none"), "The old sums are not corrected when a larger score turns up. Multiply them by exp(old maximum − new maximum)."),
        (_tiles(scores, values, 3, "powers"), "The sum of powers is corrected, the weighted sum of the values is not. Both were made with the old maximum."),
        (_tiles(scores, values, 3, "total"), "The weighted sum is corrected, the sum of powers is not. Both were made with the old maximum."),
        (_tiles(scores, values, 3, "upside down"), "The correction is upside down: it should be exp(old maximum − new maximum), which is at most 1."),
        (_tiles(scores, values, 3, "undivided"), "The weighted sum is not divided by the sum of powers at the end."),
        (scores[:6].softmax(0) @ values[:6], "The last tile is lost: 7 scores in tiles of 3 leave one over."),
        (torch.stack([s.softmax(0) @ v for s, v in zip(means, values.split(3), strict=True)]).mean(0), "It takes a softmax in each tile and averages. A tile's share depends on all the others: keep the sums."),
    ):  # fmt: skip
        if near(got, mistake):
            raise Wrong(message)
    want = scores.softmax(0) @ values
    if not near(got, want):
        raise Wrong(f"It should return {rounded(want)}, it returned {rounded(got)}.")
    got = want_tensor(call(answer, scores + 1e4, values, 2), (3,))
    if not got.isfinite().all():
        raise Wrong(
            "With scores around 10,000 it returns inf or NaN. Subtract the largest score so far before exp."
        )
    if not near(got, (scores + 1e4).softmax(0) @ values, 1e-3):
        raise Wrong("With 10,000 added to every score the output changes. A softmax feels only differences.")
    falling = scores.sort(descending=True)
    got = want_tensor(call(answer, falling.values, values[falling.indices], 2), (3,))
    if not near(got, want):
        raise Wrong(
            "When the largest score is in the first tile it goes wrong: the maximum so far must not shrink."
        )
    return "Three running numbers, any tile, any score: the output of the whole row."


@exercise("12-intensity", "intensity")
def intensity(answer: Callable) -> str:
    """Examine the arithmetic intensity of one decoding step: operations for each byte of the cache."""
    for n, n_heads, n_kv_heads, d_head, size in (
        (1000, 15, 3, 64, 4),
        (4096, 32, 8, 128, 2),
        (50, 6, 1, 16, 4),
    ):
        got = call(answer, n, n_heads, n_kv_heads, d_head, size)
        if isinstance(got, bool) or not isinstance(got, int | float):
            raise Wrong(f"It should return a number, it returned {got!r}.")
        operations, read = 4 * n * n_heads * d_head, 2 * n * n_kv_heads * d_head * size
        want = operations / read
        case = f"With {n} tokens, {n_heads} query heads, {n_kv_heads} key-value heads, d_head = {d_head} and {size} bytes a number"
        for mistake, message in (
            (read / operations, "It is upside down: operations for each byte, not bytes for each operation"),
            (want / 2, "Each number of the cache is multiplied and added: that is two operations"),
            (want * 2, "Keys and values are both read, and each takes part in one product: twice the work, twice the bytes"),
            (operations / (2 * n * n_heads * d_head * size), "Only n_kv_heads keys and values are stored and read: query heads of a group share them"),
            (operations / (2 * n * n_kv_heads * d_head), "Divide by bytes, not by numbers"),
        ):  # fmt: skip
            if math.isclose(got, mistake) and not math.isclose(mistake, want):
                raise Wrong(f"{message}. {case} it should be {want:g}, not {got:g}.")
        if not math.isclose(got, want):
            raise Wrong(f"{case} it should be {want:g}, it is {got:g}.")
    return "2 n_heads / (n_kv_heads · bytes): neither the length nor the width appears in it."
