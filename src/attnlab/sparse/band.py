"""Sliding-window attention: the band of the score matrix, cut into small rectangles."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from attnlab.arguments import at_least
from attnlab.sparse.flex import Engine, Visible, flex, picks_flex
from attnlab.sparse.inputs import along, check
from attnlab.sparse.tiles import HIDDEN, Layer, Rows, Tiles


def window(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    before: int,
    after: int | None = None,
    *,
    key_mask: Tensor | None = None,
    scale: float | None = None,
    engine: Engine = "auto",
) -> Tensor:
    """Attend to the neighbours only: n (before + after + 1) scores instead of n².

    Equal to `attention(q, k, v, mask=masks.window(n, before, after))`. Time and memory grow linearly with n,
    forward and backward. Queries are cut into tiles. The keys that a tile can reach lie side by side, so they
    are read where they are, and neighbouring tiles read overlapping keys without a copy.

    Args:
        q: queries (..., n, d_k).
        k: keys (..., n, d_k).
        v: values (..., n, d_v).
        before: how many earlier tokens are visible, at least 0.
        after: how many later tokens are visible; as many as `before` unless given. 0 makes it causal.
        key_mask: (batch, n) or (batch, 1, n), True = may be attended to, as `masks.padding` makes it.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.
        engine: "tiles" runs on every device; "flex" is FlexAttention, without a backward pass on a CPU;
            "auto" takes FlexAttention on a CUDA GPU and the tiles elsewhere.

    Returns:
        Output (..., n, d_v); zeros for a query that sees no key.

    Raises:
        TypeError: key_mask is not boolean.
        ValueError: shapes do not fit, a width is negative, or the engine has another name.

    References:
        Beltagy et al. 2020, section 3.1; Child et al. 2019.

    >>> x = torch.eye(4)
    >>> (window(x, x, x, 1) > 0).int().tolist()
    [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]
    """
    n = check(q, k, v)
    after = before if after is None else after
    at_least(0, before=before, after=after)
    if picks_flex(engine, q, v):
        return flex(q, k, v, in_window, (before, after), key_mask, scale)
    layers, backward = _layers(n, min(before, n - 1), min(after, n - 1), str(q.device))
    return along(layers, q, k, v, key_mask, scale, backward)[0]


def in_window(before: int, after: int, device: str) -> Visible:
    """Return the window as FlexAttention wants it."""
    return lambda batch, head, i, j: (j - i >= -before) & (j - i <= after)


@lru_cache(maxsize=16)
def _layers(n: int, before: int, after: int, device: str) -> tuple[list[Layer], list[Layer]]:
    """Cut the band into tiles of queries for the forward pass, and into tiles of keys for the backward pass.

    In tiles of keys every key has one place, so that its gradients are stored instead of added up.
    """
    size = tile_size(before + after)
    forward = [
        Tiles(rows, columns, count, bias)
        for rows, columns, count, bias in band(n, before, after, size, device)
    ]
    backward = [
        Tiles(columns, rows, count, bias.transpose(1, 2).contiguous())
        for rows, columns, count, bias in band(n, after, before, size, device)
    ]
    return [Layer(tuple(forward))], [Layer(tuple(backward))]


def tile_size(reach: int) -> int:
    """Choose how many queries share a tile: more of them waste more of the rectangle on the band's edges."""
    return 32 if reach < 256 else 64 if reach < 1024 else 128


def band(n: int, before: int, after: int, size: int, device: str) -> list[tuple[Rows, Rows, int, Tensor]]:
    """Cover the pairs with -before <= column - row <= after: (rows, columns, number of tiles, bias) each.

    All tiles whose columns lie inside the sequence are alike, and come as one; those at the ends come one by
    one.
    """
    row = torch.arange(size, device=device)[:, None]
    column = torch.arange(-before, size + after, device=device)
    offset = column - row
    bias = torch.zeros(offset.shape, device=device)
    bias = bias.masked_fill_((offset < -before) | (offset > after), HIDDEN)[None]
    inner = range(-(-before // size), (n - size - after) // size + 1)  # tiles with all their columns
    out = []
    if len(inner):
        start = inner[0] * size
        out.append(
            (Rows(start, size, size), Rows(start - before, size + before + after, size), len(inner), bias)
        )
    for tile in range(-(-n // size)):
        if tile in inner:
            continue
        start = tile * size
        rows = min(size, n - start)
        first, last = max(0, start - before), min(n, start + rows + after)
        shift = start - before
        out.append(
            (Rows(start, rows), Rows(first, last - first), 1, bias[:, :rows, first - shift : last - shift])
        )
    return out
