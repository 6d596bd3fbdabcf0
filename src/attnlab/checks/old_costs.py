"""Checkers of chapter 13, What it costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attnlab.checks.legacy import Wrong, call, exercise, near, rounded, want_number, want_tensor

Mistakes = Iterable[tuple[float, str]]


def _named(got: float, want: float, mistakes: Mistakes, case: str) -> None:
    """Refuse a number that is not the wanted one, with the message of the mistake that makes it."""
    if math.isclose(got, want, rel_tol=1e-6):
        return
    for mistake, message in mistakes:
        if math.isclose(got, mistake, rel_tol=1e-6):
            stop = "" if message.endswith("?") else "."
            raise Wrong(f"{message}{stop} {case} it should be {want:.12g}, not {got:.12g}.")
    raise Wrong(f"{case} it should be {want:.12g}, it is {got:.12g}.")


@exercise("costs-count", "multiplications")
def multiplications(answer: Callable) -> str:
    """Examine a count of multiplications: four projections, scores, and the weighted sum."""
    for n, d_model, n_heads in ((7, 20, 5), (512, 64, 8), (3, 10, 5)):
        got = want_number(call(answer, n, d_model, n_heads), "What it returns")
        if got != int(got):
            raise Wrong(f"It should return a whole number, it returned {got}.")
        d_head, one = d_model // n_heads, n * n * d_model
        projections, attention = 4 * n * d_model**2, 2 * one
        mistakes = (
            (projections, "The attention itself is missing: scores, and the weighted sum of the values"),
            (attention, "The four projections are missing, n · d_model² each"),
            (projections + one, "Scores cost n² · d_model, and the weighted sum of the values as much again"),
            (projections * 3 // 4 + attention, "There are four projections: the output has one too"),
            (projections // 4 + attention, "There are four projections: for queries, keys, values and the output"),
            (projections + attention * n_heads, "Each head is only d_model / n_heads wide: all heads together cost n² · d_model"),
            (projections + 2 * n * n * d_head, "That is the attention of one head: there are n_heads of them"),
            (2 * (projections + attention), "Count multiplications. An addition goes with each, but is not asked for"),
            (4 * n * d_head**2 + attention, "Each projection maps d_model to d_model numbers, all heads together"),
            (4 * n * d_model * d_head + attention, "Each projection maps d_model to d_model numbers, all heads together"),
            (projections * n_heads + attention, "A projection makes the queries of all heads at once: it does not come once for each head"),
            (4 * d_model**2 + attention, "Every token goes through the projections, n of them"),
            (projections + 2 * n * d_model, "Every token asks every token: n² pairs, not n"),
            (projections + 2 * n * n, "A pair of tokens costs a sum over the width, for its score and again for its value"),
            (projections + n * (n + 1) * d_model, "Nothing is hidden here: every token asks every token, later ones too"),
            (3 * projections + attention, "The feed-forward block is another layer: only attention and its projections are asked for"),
            (projections + attention + n_heads * n * n, "The softmax is not asked for, nor the division by √d_head"),
            (projections + 4 * n * d_model + attention, "A bias is added, not multiplied"),
        )  # fmt: skip
        case = f"With n = {n}, d_model = {d_model} and {n_heads} heads"
        _named(got, projections + attention, mistakes, case)
    return "4 n d² + 2 n² d, whatever the number of heads."


class _Pieces(TorchDispatchMode):
    """Notes how many numbers are looked at together by what a softmax is made of."""

    KINDS = ("exp", "softmax", "max", "sort", "topk")

    def __init__(self) -> None:
        super().__init__()
        self.sizes = [0]

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if "expand" not in func.name() and any(kind in func.name() for kind in self.KINDS):
            self.sizes += [x.numel() for x in tree_leaves(args) if isinstance(x, Tensor)]
        return func(*args, **(kwargs or {}))


def _tiles(scores: Tensor, values: Tensor, size: int, mistake: str = "") -> Tensor:
    """Do online softmax with one mistake of the kind people make."""
    largest = torch.tensor(-math.inf)
    powers, total = torch.zeros(()), torch.zeros(values.shape[1])
    for s, v in zip(scores.split(size), values.split(size), strict=True):
        new = torch.maximum(largest, s.max())
        correction, e = (largest - new).exp(), (s - (s.max() if mistake == "own" else new)).exp()
        if mistake == "upside down" and torch.isfinite(largest):
            correction = 1 / correction
        if mistake == "base":
            correction, e = (largest - new).exp2(), (s - new).exp2()
        if mistake == "late":
            powers, total = (powers + e.sum()) * correction, (total + e @ v) * correction
        elif mistake == "share":
            powers, total = powers * correction + e.sum(), total * correction + e / e.sum() @ v
        else:
            powers = powers * (1.0 if mistake in ("none", "total") else correction) + e.sum()
            total = total * (1.0 if mistake in ("none", "powers") else correction) + e @ v
        largest = new
    return total if mistake == "undivided" else total / powers


@exercise("costs-online", "online_attention")
def online_attention(answer: Callable) -> str:
    """Examine attention of one query by tiles: running maximum, both corrections, the last tile, extreme scores."""
    draw = torch.Generator().manual_seed(12)
    scores, values = 2 * torch.randn(7, generator=draw), torch.randn(7, 3, generator=draw)
    scores[5] = 4.0  # the largest comes late: what was summed before must be corrected
    got = want_tensor(call(answer, scores, values, 3), (3,))
    parts = [s.softmax(0) @ v for s, v in zip(scores.split(3), values.split(3), strict=True)]
    for mistake, message in (
        (_tiles(scores, values, 3, "none"), "The old sums are not corrected when a larger score turns up. Multiply them by exp(old maximum − new maximum)."),
        (_tiles(scores, values, 3, "powers"), "The sum of powers is corrected, the weighted sum of the values is not. Both were made with the old maximum."),
        (_tiles(scores, values, 3, "total"), "The weighted sum is corrected, the sum of powers is not. Both were made with the old maximum."),
        (_tiles(scores, values, 3, "upside down"), "The correction is upside down: it should be exp(old maximum − new maximum), which is at most 1."),
        (_tiles(scores, values, 3, "undivided"), "The weighted sum is not divided by the sum of powers at the end."),
        (_tiles(scores, values, 3, "late"), "The correction comes too late: it is for the old sums, and the new tile is relative to the new maximum already."),
        (_tiles(scores, values, 3, "own"), "The powers of a tile are relative to its own largest score. Take the largest so far, as the sums do."),
        (_tiles(scores, values, 3, "base"), "Those are powers of two. A softmax takes powers of e."),
        (_tiles(scores, values, 3, "share"), "It takes a softmax in each tile. Only the sums can be corrected later: divide once, at the end."),
        (_tiles(scores / 3**0.5, values, 3), "The scores are divided by √d. These are finished scores: what is given is what goes into the softmax."),
        (scores[:6].softmax(0) @ values[:6], "The last tile is lost: 7 scores in tiles of 3 leave one over."),
        (scores[3:].softmax(0) @ values[3:], "The first tile is lost. It has to be summed like the others."),
        (torch.stack(parts).mean(0), "It takes a softmax in each tile and averages. A tile's share depends on all the others: keep the sums."),
    ):  # fmt: skip
        if near(got, mistake):
            raise Wrong(message)
    want = scores.softmax(0) @ values
    if not near(got, want):
        raise Wrong(f"It should return {rounded(want)}, it returned {rounded(got)}.")
    _extreme(answer, scores, values)
    _sees_no_row(answer)
    return "Three running numbers, and the output of the whole row."


def _extreme(answer: Callable, scores: Tensor, values: Tensor) -> None:
    """Refuse what only moderate scores let pass."""
    steep = torch.tensor([300.0, 100.0, 0.0, -100.0, 1.0, 2.0, -300.0])
    wide = torch.tensor([-1e4, 3.0, 1e4, 0.0, -1e4, 1e4, 5.0])
    for given, broken, changed in (
        (scores + 1e4, "With scores around 10,000 it returns inf or NaN. Subtract the largest score so far before exp.",
         "With 10,000 added to every score the output changes. A softmax feels only differences."),
        (scores - 1.2e4, "With scores around −12,000 it returns NaN: a maximum that starts too high never comes down. Start it at −∞.",
         "With 12,000 taken from every score the output changes. A softmax feels only differences."),
        (steep, "When the largest score is in the first tile it returns inf or NaN: the maximum so far must not shrink.",
         "When the largest score is in the first tile it goes wrong: the maximum so far must not shrink."),
        (wide, "With scores from −10,000 to 10,000 it returns inf or NaN. What is subtracted must be the largest score so far.",
         "With scores from −10,000 to 10,000 the weights should be one half on each of the two largest."),
    ):  # fmt: skip
        got = want_tensor(call(answer, given, values, 2), (3,))
        if not got.isfinite().all():
            raise Wrong(broken)
        if not near(got, given.softmax(0) @ values, 1e-3):
            raise Wrong(changed)


def _sees_no_row(answer: Callable) -> None:
    """Refuse what gets the right output from the whole row at once, or in other tiles than it was told."""
    scores, values = torch.linspace(-2.0, 2.0, 40), torch.linspace(0.0, 1.0, 40)[:, None]
    for tile in (2, 8):
        with _Pieces() as seen:
            got = want_tensor(call(answer, scores, values, tile), (1,))
        if not near(got, scores.softmax(0) @ values):
            raise Wrong(f"With 40 scores in tiles of {tile} the output is wrong.")
        size = max(seen.sizes)
        if size >= 40:
            raise Wrong(
                "The output is right, but it looks at the whole row at once. Go through it tile by tile."
            )
        if size > tile or 1 < size < tile:
            raise Wrong(
                f"With tiles of {tile} it looks at {size} scores at once. The size of a tile is given."
            )


@exercise("costs-intensity", "intensity")
def intensity(answer: Callable) -> str:
    """Examine the arithmetic intensity of one decoding step: operations for each byte of the cache."""
    for n, n_heads, n_kv_heads, d_head, size in (
        (1000, 15, 3, 64, 4),
        (4096, 32, 8, 128, 2),
        (50, 6, 1, 16, 4),
    ):
        got = want_number(call(answer, n, n_heads, n_kv_heads, d_head, size), "What it returns")
        operations, read = 4 * n * n_heads * d_head, 2 * n * n_kv_heads * d_head * size
        want = operations / read
        mistakes = (
            (read / operations, "It is upside down: operations for each byte, not bytes for each operation"),
            (want / 2, "Each number of the cache is multiplied and added: that is two operations"),
            (want * 2, "Keys and values are both read, and each takes part in one product: twice the work, twice the bytes"),
            (2 / size, "Only n_kv_heads keys and values are stored and read: query heads of a group share them"),
            (want * size, "Divide by bytes, not by numbers"),
            (want * size**2, "Divide by the bytes of a number: more of them mean fewer operations for each"),
            (want / 8, "bytes_per_number is in bytes already, not in bits"),
            (2 * n_kv_heads / (n_heads * size), "The heads have changed places: queries do the work, keys and values are read"),
            (2 * n_heads / size, "n_kv_heads keys and values are read, not one"),
            (2 / (n_kv_heads * size), "Every query head works with what is read, n_heads of them"),
            (want * n, "There is one new token, so one query in each head, not n"),
            (operations, "Those are the operations. Divide them by the bytes that are read"),
            (read, "Those are the bytes that are read. How many operations come for each?"),
            (operations // read, "// drops what is behind the point. Divide with /"),
            ((operations + 3 * n * n_heads) / read, "The softmax is left out here: count the scores and the weighted sum"),
            (operations / (read + 2 * n_heads * d_head * size), "Only the cache is asked for, not the query and the output"),
        )  # fmt: skip
        case = f"With {n} tokens, {n_heads} query heads, {n_kv_heads} key-value heads, d_head = {d_head} and {size} bytes a number"
        _named(got, want, mistakes, case)
    return "2 n_heads / (n_kv_heads · bytes), at any length and width."


@exercise("costs-win", "most_to_win")
def most_to_win(answer: Callable) -> str:
    """Examine the bound of what a free cache would win: weights once, every sequence's cache."""
    for n, batch, weights, token in (
        (1000, 4, 20_000_000, 1500),
        (8192, 16, 3_000_000_000, 131_072),
        (10, 1, 700, 350),
    ):
        got = want_number(call(answer, n, batch, weights, token), "What it returns")
        cache = batch * n * token
        share = cache / (weights + cache)
        mistakes = (
            (1 + n * token / weights, "The weights are read once for all sequences, but each sequence has a cache of its own"),
            (batch + cache / weights, "The weights are read once for all sequences, not once for each"),
            (1 + batch * token / weights, "Every token is in the cache, n of them in each sequence"),
            (1 + (batch + n) * token / weights, "Each of batch sequences has n tokens: batch · n of them"),
            (share, "That is the share of the cache. By what factor does a step become faster when it is gone?"),
            (100 * share, "That is the share of the cache. By what factor does a step become faster when it is gone?"),
            (1 - share, "That is the share of the weights, which remains. The factor is all of it over what remains"),
            (cache / weights, "The whole has the weights in it too: divide weights and caches by weights"),
            (1 + weights / cache, "It is the cache that costs nothing, not the weights: divide by what remains"),
            (weights + cache, "Those are the bytes of a step. Divide them by the bytes that remain without the cache"),
            (1 + 2 * cache / weights, "token_bytes has the key and the value of a token already"),
            (1 + cache // weights, "// drops what is behind the point. Divide with /"),
            (1 + n * cache / weights, "One new token reads its cache once: bytes grow with n, not with n²"),
        )  # fmt: skip
        case = f"With {batch} sequences of {n} tokens, {weights} bytes of weights and {token} bytes a token"
        _named(got, 1 + cache / weights, mistakes, case)
    return "1 + caches / weights: little cache, little to win."
