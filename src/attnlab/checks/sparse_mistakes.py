"""Mistakes that the checkers of chapter 14 know by name: what each would answer, and what to say to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab import masks
from attnlab.attention import attention

Rule = Callable[[Tensor, Tensor, Tensor, int], Tensor]  # of row - column, row, column, stride
STRIDED: list[tuple[Rule, str]] = [
    (lambda b, i, j, s: (b >= 0) & (b % s == 0),
     "The neighbourhood is missing: the last `stride` tokens are visible too."),
    (lambda b, i, j, s: (b >= 0) & (b <= s), "It is a window: every `stride`-th token before it is missing."),
    (lambda b, i, j, s: (b >= 0) & ((b <= s) | (j % s == 0)),
     "It takes columns that are multiples of the stride. It is the distance, row - column, that must be "
     "one."),
    (lambda b, i, j, s: (b >= 0) & ((b <= s) | (j % s == s - 1)),
     "It takes the last column of each block: that is the fixed pattern. Here the distance counts."),
    (lambda b, i, j, s: (b >= 0) & ((i // s == j // s) | (j % s == s - 1)),
     "That is the fixed pattern. Here the distance counts, row - column, not where blocks begin."),
    (lambda b, i, j, s: (b >= 0) & ((i // s == j // s) | (b % s == 0)),
     "Its neighbourhood is a block of the text. It should slide: the last `stride` tokens, wherever it is."),
    (lambda b, i, j, s: (b.abs() <= s) | (b % s == 0), "It is not causal: later tokens are visible."),
    (lambda b, i, j, s: (b.abs() <= s) | ((b >= 0) & (b % s == 0)),
     "It is not causal in the neighbourhood: b.abs() lets later tokens in."),
    (lambda b, i, j, s: (b <= 0) & ((b >= -s) | (b % s == 0)),
     "It is transposed: rows are queries, and a query looks back. The distance is row - column."),
    (lambda b, i, j, s: (b >= 0) & (b <= s) & (b % s == 0),
     "It allows where both rules do. Either is enough: use |."),
    (lambda b, i, j, s: (b >= 0) & ((b <= s) ^ (b % s == 0)),
     "It leaves out what both rules allow: use |, not ^."),
    (lambda b, i, j, s: (b > 0) & ((b <= s) | (b % s == 0)), "It is off by one: a token may see itself."),
    (lambda b, i, j, s: (b >= 0) & ((b <= s + 1) | (b % s == 0)),
     "It is off by one: the neighbourhood is a token too wide."),
    (lambda b, i, j, s: (b >= 0) & ((b < s - 1) | (b % s == 0)),
     "It is off by one: the neighbourhood is a token too narrow."),
    (lambda b, i, j, s: (b >= 0) & ((b <= s) | (b % (s + 1) == 0)),
     "It is off by one: the far tokens stand stride + 1 apart."),
    (lambda b, i, j, s: (b >= 0) & ((b <= s) | (b % s == s - 1)),
     "The far tokens are shifted: their distance is a multiple of the stride, without rest."),
    (lambda b, i, j, s: (b >= 0) & ((b <= s) | (b == 2 * s)),
     "It has one far token. There is one for every multiple of the stride."),
    (lambda b, i, j, s: ~((b >= 0) & ((b <= s) | (b % s == 0))),
     "It is inverted: True must mean may attend."),
]  # fmt: skip


def follows(rule: Rule, n: int, stride: int) -> Tensor:
    """Write out a rule as a mask (n, n)."""
    row, column = torch.arange(n)[:, None], torch.arange(n)
    return rule(row - column, row, column, stride)


def _blocks(q: Tensor, k: Tensor, v: Tensor, w: int, weights: Callable, around: bool = False) -> Tensor:
    """Attend by blocks, with weights made of scores, distances behind, and which keys are no padding.

    With `around` the last tokens stand before the first block.
    """
    n, column = q.shape[-2], torch.arange(2 * w)
    q, k, v = (F.pad(x, (0, 0, 0, -n % w)) for x in (q, k, v))
    k, v = (torch.cat((x[..., -w:, :] * around, x), -2).unfold(-2, 2 * w, w).mT for x in (k, v))
    q = q.unflatten(-2, (-1, w))
    real = torch.arange(q.shape[-3])[:, None, None] * w + column >= w
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    out = weights(scores, torch.arange(w)[:, None] + w - column, real | around) @ v
    return out.flatten(-3, -2)[..., :n, :]


def _plain(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -1e9).softmax(-1)


def _open(first: int, last: int, of: Callable[[Tensor, Tensor], Tensor] = _plain) -> Callable:
    """Weights that see what lies `first` to w + `last` places behind."""
    return lambda s, back, real: of(s, (back >= first) & (back <= s.shape[-2] + last) & real)


def _window(q: Tensor, k: Tensor, v: Tensor, before: int, after: int = 0, **options: Any) -> Tensor:
    return attention(q, k, v, mask=masks.window(q.shape[-2], before, after), **options)


def _twice(q: Tensor, w: int) -> Tensor:
    """Count in the window once, and again within a block."""
    block = torch.arange(q.shape[-2]) // w
    seen = masks.window(q.shape[-2], w, 0).float()
    return seen + seen * (block[:, None] == block)


BLOCKS: list[tuple[Callable[[Tensor, Tensor, Tensor, int], Tensor], str]] = [
    (lambda q, k, v, w: _blocks(q, k, v, w, _open(0, -1)),
     "It is off by one: the token w places back is visible too."),
    (lambda q, k, v, w: _blocks(q, k, v, w, _open(1, 0)), "It is off by one: a token may attend to itself."),
    (lambda q, k, v, w: _blocks(q, k, v, w, _open(-1, 0)), "It is off by one: it looks one token ahead."),
    (lambda q, k, v, w: _blocks(q, k, v, w, _open(0, 1)), "It is off by one: w places back is the last."),
    (lambda q, k, v, w: _window(q, k, v, w + 1), "It is off by one: w places back is the last."),
    (lambda q, k, v, w: _dense(q, k, v, lambda i, j: i - j <= w, w), "It looks ahead as well."),
    (lambda q, k, v, w: _window(q, k, v, w, w), "It looks ahead as well."),
    (lambda q, k, v, w: _window(q, k, v, 0, w), "It looks ahead, where it should look back."),
    (lambda q, k, v, w: _dense(q, k, v, lambda i, j: (j // w == i // w) | (j // w == i // w + 1), w),
     "It reads the block after its own. The window looks back."),
    (lambda q, k, v, w: _dense(q, k, v, lambda i, j: i // w == j // w, w),
     "Each block sees itself alone: the block before is missing."),
    (lambda q, k, v, w: _dense(q, k, v, lambda i, j: (i // w == j // w) & (i >= j), w),
     "Each block sees itself alone: the block before is missing."),
    (lambda q, k, v, w: _dense(q, k, v, lambda i, j: (i // w == j // w) | (i // w == j // w + 1), w),
     "Every pair of the two blocks is open. Within them, 0 <= i - j <= w."),
    (lambda q, k, v, w: _dense(q, k, v, lambda i, j: (i >= j) & (i // w - j // w <= 1), w),
     "The window has no end: within the two blocks, i - j may be w at most."),
    (lambda q, k, v, w: attention(q, k, v, is_causal=True), "The window has no end: i - j may be w at most."),
    (lambda q, k, v, w: _blocks(q, k, v, w, _open(0, 0), around=True),
     "The first block sees the last one: rolling goes round. Before the first block stands nothing."),
    (lambda q, k, v, w: _blocks(q, k, v, w, _open(0, 0, lambda s, mask: s.softmax(-1) * mask)),
     "The mask comes after the softmax, so the rows no longer sum to one. Hide scores, not weights."),
    (lambda q, k, v, w: _blocks(q, k, v, w, _open(0, 0, lambda s, mask: (s * mask).softmax(-1))),
     "Hidden scores are set to 0, and e to the 0 is 1. They must go to −∞."),
    (lambda q, k, v, w: _blocks(q, k, v, w, _open(0, 0, lambda s, m: s.masked_fill(~m, -1e9).softmax(-2))),
     "The softmax runs over the queries of a block. Each query's weights sum to one: the last axis."),
    *[(lambda q, k, v, w, f=factor: _window(q, k, v, w, scale=f(q, v, w)),
       f"The scale is wrong: {what}. Divide the scores by √d, of the queries' width.")
      for factor, what in ((lambda q, v, w: 1.0, "there is none"),
                           (lambda q, v, w: 1 / q.shape[-1], "it is d, without the root"),
                           (lambda q, v, w: v.shape[-1] ** -0.5, "it is the root of the values' width"),
                           (lambda q, v, w: w**-0.5, "it is the root of the window"))],
    (lambda q, k, v, w: _window(k, q, v, w),
     "Queries and keys have changed places."),
    (lambda q, k, v, w: attention(q, k, v, bias=_twice(q, w).log()),
     "Pairs within a block count twice: once in the block, once in the window."),
]  # fmt: skip


def _dense(q: Tensor, k: Tensor, v: Tensor, rule: Callable[[Tensor, Tensor], Tensor], w: int) -> Tensor:
    place = torch.arange(q.shape[-2])
    near_by = (place[:, None] // w - place // w).abs() <= 1  # by blocks nothing further can be seen
    return attention(q, k, v, mask=rule(place[:, None], place) & near_by)


Count = Callable[[Tensor, int], Tensor]  # keys of each row at a stride
STRIDES: list[tuple[Count, str]] = [
    (lambda i, s: i.clamp_max(s) + i // s,
     "Distances 0 and s are counted twice: as neighbours, and as multiples of s."),
    (lambda i, s: i.clamp_max(s) + (i // s - 2).clamp_min(0),
     "A far token of each row is missing: of its i // s + 1 multiples, two are neighbours."),
    (lambda i, s: (i // s - 1).clamp_min(0),
     "The neighbours have been forgotten: a wider neighbourhood is not free."),
    (lambda i, s: s + i // s,
     "It is √(n/2), rounded, or a count in which rows near the start have s neighbours and less than no far "
     "token: they have min(i, s), and none."),
    (lambda i, s: s + (i // s - 1).clamp_min(0),
     "It is √(n/2), rounded down, or a count in which rows near the start have s neighbours: they have "
     "min(i, s)."),
    (lambda i, s: (i + 1).clamp_max(s) + ((i + 1) // s - 1).clamp_min(0),
     "Rows count from 0: row 0 sees itself only."),
    (lambda i, s: i.clamp_max(s) + (-(-i // s) - 1).clamp_min(0),
     "i // s rounds down: a multiple of s that would lie before the start is no token."),
    (lambda i, s: (i.clamp_max(s) + (i // s - 1).clamp_min(0))[-1:],
     "That counts the last row only. Rows near the start have fewer pairs."),
]  # fmt: skip
"""Wrong counts of the keys of row i at stride s, but for a constant."""
