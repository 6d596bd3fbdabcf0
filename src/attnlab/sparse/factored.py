"""The two patterns of the Sparse Transformer: every token reached in two steps, at a cost of n sqrt(n)."""

from __future__ import annotations

import math
from functools import lru_cache, partial

import torch
from torch import Tensor

from attnlab.arguments import at_least
from attnlab.sparse.band import band, tile_size
from attnlab.sparse.inputs import along, check
from attnlab.sparse.tiles import HIDDEN, Layer, Listed, Rows, Step, Tiles

ROWS = 256
"""Most rows of a tile: enough to keep the processor busy, few enough to keep the scores in its cache."""


def strided(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    stride: int | None = None,
    *,
    is_causal: bool = True,
    key_mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Attend to the last `stride` tokens and to every `stride`-th token before them.

    Equal to `attention(q, k, v, mask=masks.strided(n, stride))`. About n (stride + n / stride) scores:
    n sqrt(n) with the stride near sqrt(n). The far tokens of a query share its place modulo `stride`, so the
    tokens split into `stride` small sequences in which attention is dense.

    Args:
        q: queries (..., n, d_k).
        k: keys (..., n, d_k).
        v: values (..., n, d_v).
        stride: width of the neighbourhood and step between the far tokens; about sqrt(n) unless given.
        is_causal: False lets each token look ahead in the same way.
        key_mask: (batch, n) or (batch, 1, n), True = may be attended to, as `masks.padding` makes it.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.

    Returns:
        Output (..., n, d_v); zeros for a query that sees no key.

    Raises:
        TypeError: key_mask is not boolean.
        ValueError: shapes do not fit, or stride is smaller than 1.

    References:
        Child et al. 2019, section 4.3.

    >>> x = torch.eye(6)
    >>> (strided(x, x, x, 2)[5] > 0).int().tolist()
    [0, 1, 0, 1, 1, 1]
    """
    n, stride = _lengths(q, k, v, stride)
    layers = _strided_layers(n, min(stride, n), is_causal, str(q.device))
    return along(layers, q, k, v, key_mask, scale)[0]


def fixed(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    stride: int | None = None,
    summary: int = 1,
    *,
    is_causal: bool = True,
    key_mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Attend to the own block of `stride` tokens and to the last `summary` tokens of the blocks before.

    Equal to `attention(q, k, v, mask=masks.fixed(n, stride, summary))`. About n (stride + summary n / stride)
    scores: n sqrt(n) with the stride near sqrt(n).

    Args:
        q: queries (..., n, d_k).
        k: keys (..., n, d_k).
        v: values (..., n, d_v).
        stride: tokens a block; about sqrt(n) unless given.
        summary: how many tokens at the end of each block all later queries may attend to.
        is_causal: False lets each token look ahead in the same way.
        key_mask: (batch, n) or (batch, 1, n), True = may be attended to, as `masks.padding` makes it.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.

    Returns:
        Output (..., n, d_v); zeros for a query that sees no key.

    Raises:
        TypeError: key_mask is not boolean.
        ValueError: shapes do not fit, stride is smaller than 1, or `summary` is negative or above stride.

    References:
        Child et al. 2019, section 4.3.

    >>> x = torch.eye(6)
    >>> (fixed(x, x, x, 2)[5] > 0).int().tolist()
    [0, 1, 0, 1, 1, 1]
    """
    n, stride = _lengths(q, k, v, stride)
    if not 0 <= summary <= stride:
        raise ValueError(f"summary must lie between 0 and stride = {stride}, got {summary}")
    return along(_fixed_layers(n, stride, summary, is_causal, str(q.device)), q, k, v, key_mask, scale)[0]


def _lengths(q: Tensor, k: Tensor, v: Tensor, stride: int | None) -> tuple[int, int]:
    """Check the shapes; return n and the stride, which is near sqrt(n), the cheapest, unless given."""
    n = check(q, k, v)
    stride = round(math.sqrt(n)) if stride is None else stride
    at_least(1, stride=stride)
    return n, stride


@lru_cache(maxsize=16)
def _strided_layers(n: int, stride: int, is_causal: bool, device: str) -> list[Layer]:
    near = band(n, stride, 0 if is_causal else stride, tile_size(stride), device)
    near = Layer(tuple(Tiles(rows, columns, count, bias) for rows, columns, count, bias in near))
    length, longer = divmod(n, stride)  # `longer` residue classes hold one token more
    far = [*_far(0, length + 1, longer, stride, is_causal, device)]
    far += _far(longer, length, stride - longer, stride, is_causal, device)
    return [near, Layer(tuple(far))] if far else [near]


def _far(start: int, length: int, count: int, stride: int, is_causal: bool, device: str) -> list[Tiles]:
    """Cover the pairs two steps or more apart in `count` residue classes of the same length."""
    tiles = []
    if count == 0:
        return tiles
    for top in range(2 if is_causal else 0, length, ROWS):
        rows = min(ROWS, length - top)
        columns = top + rows - 2 if is_causal else length
        back = torch.arange(top, top + rows, device=device)[:, None] - torch.arange(columns, device=device)
        near = (back < 2) if is_causal else (back.abs() < 2)
        bias = torch.zeros(rows, columns, device=device).masked_fill_(near, HIDDEN)[None]
        queries = Rows(start + top * stride, rows, 1, stride)
        tiles.append(Tiles(queries, Rows(start, columns, 1, stride), count, bias))
    return tiles


@lru_cache(maxsize=16)
def _fixed_layers(n: int, stride: int, summary: int, is_causal: bool, device: str) -> list[Layer]:
    whole = n // stride
    own = [(Rows(0, stride, stride), whole)] if whole else []
    own += [(Rows(whole * stride, n % stride), 1)] if n % stride else []
    inside = tuple(tiles for rows, count in own for tiles in _square(rows, count, is_causal, device))
    position = torch.arange(n, device=device)
    ends = position[position % stride >= stride - summary]
    outside = []
    for top in range(0, n, ROWS):
        rows = min(ROWS, n - top)
        before = (top + rows - 1) // stride * summary if is_causal else len(ends)
        if before:
            bias = partial(_not_from_before if is_causal else _not_from_outside, stride)
            outside.append(Tiles(Rows(top, rows), Listed(ends[None, :before]), 1, bias))
    return [Layer(inside), Layer(tuple(outside))] if outside else [Layer(inside)]


def _not_from_before(stride: int, step: Step) -> Tensor:
    """Hide keys that do not lie in an earlier block than the query, (1, 1, rows, columns)."""
    return _blocks_back(stride, step).sub_(1).clamp_(max=0).mul_(-HIDDEN)


def _not_from_outside(stride: int, step: Step) -> Tensor:
    """Hide keys that lie in the query's own block, (1, 1, rows, columns)."""
    return _blocks_back(stride, step).abs_().sub_(1).clamp_(max=0).mul_(-HIDDEN)


def _blocks_back(stride: int, step: Step) -> Tensor:
    queries, keys = step.tiles.queries, step.tiles.keys.table
    token = torch.arange(queries.start, queries.start + queries.size, device=keys.device)
    return (token[:, None] // stride - keys // stride).float()[None, None]


def _square(rows: Rows, count: int, is_causal: bool, device: str) -> list[Tiles]:
    """Cover `count` blocks on the diagonal, each in strips of rows."""
    tiles = []
    for top in range(0, rows.size, ROWS):
        high = min(ROWS, rows.size - top)
        wide = top + high if is_causal else rows.size
        bias = None
        if is_causal:
            allowed = torch.ones(high, wide, dtype=torch.bool, device=device).tril(top)
            bias = torch.zeros(high, wide, device=device).masked_fill_(~allowed, HIDDEN)[None]
        strip = Rows(rows.start + top, high, rows.step)
        tiles.append(Tiles(strip, Rows(rows.start, wide, rows.step), count, bias))
    return tiles
