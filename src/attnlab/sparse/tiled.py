"""Dense attention by tiles: FlashAttention's arithmetic, without its kernel."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from attnlab.arguments import at_least
from attnlab.sparse.inputs import along, check
from attnlab.sparse.tiles import HIDDEN, Layer, Rows, Tiles


def tiled(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    is_causal: bool = False,
    tile: int = 128,
    key_mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Attend to all keys without ever holding the (n, n) matrix, forward or backward.

    Equal to `attention(q, k, v, is_causal=is_causal)`. Each query goes through the keys tile by tile and
    keeps a mean of the values so far and the log of the sum of the exponentials so far; a larger score that
    comes later rescales both (online softmax). Time is still n², memory is linear.

    `F.scaled_dot_product_attention` does the same in one fused kernel and is faster: use that. This form is
    here to be read, and runs on any device.

    Args:
        q: queries (..., n, d_k).
        k: keys (..., n, d_k).
        v: values (..., n, d_v).
        is_causal: hide later tokens; tiles that are hidden whole are skipped.
        tile: rows and columns of a tile.
        key_mask: (batch, n) or (batch, 1, n), True = may be attended to, as `masks.padding` makes it.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.

    Returns:
        Output (..., n, d_v); zeros for a query that sees no key.

    Raises:
        TypeError: key_mask is not boolean.
        ValueError: shapes do not fit, or tile is smaller than 1.

    References:
        Milakov and Gimelshein 2018, section 3; Rabe and Staats 2021; Dao et al. 2022, algorithm 1.

    >>> x = torch.randn(5, 2)
    >>> torch.allclose(tiled(x, x, x, tile=2), torch.softmax(x @ x.T / 2**0.5, -1) @ x, atol=1e-6)
    True
    """
    n = check(q, k, v)
    at_least(1, tile=tile)
    layers = _layers(n, tile, is_causal, str(q.device))
    return along(layers, q, k, v, key_mask, scale, fused=False)[0]


@lru_cache(maxsize=16)
def _layers(n: int, tile: int, is_causal: bool, device: str) -> list[Layer]:
    """Sort the tiles by how far their keys lie behind their queries: layer 0 is the diagonal."""
    starts = range(0, n, tile)
    triangle = torch.ones(tile, tile, dtype=torch.bool, device=device).tril()
    triangle = torch.zeros(tile, tile, device=device).masked_fill_(~triangle, HIDDEN)[None]

    def one(row: int, column: int) -> Tiles:
        rows, columns = min(tile, n - row), min(tile, n - column)
        bias = triangle[:, :rows, :columns] if is_causal and row == column else None
        return Tiles(Rows(row, rows), Rows(column, columns), 1, bias)

    layers = [Layer(tuple(one(at, at) for at in starts))]
    for back in range(tile, n, tile):
        layers.append(Layer(tuple(one(at, at - back) for at in starts if at >= back)))
        if not is_causal:
            layers.append(Layer(tuple(one(at, at + back) for at in starts if at + back < n)))
    return layers
