"""Window, global and random keys together: the patterns of Longformer and BigBird."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor

from attnlab.arguments import at_least
from attnlab.dot_product import attention
from attnlab.patterns import positions, random_blocks, random_keys
from attnlab.sparse.band import band, in_window, tile_size
from attnlab.sparse.flex import Engine, Visible, flex, picks_flex
from attnlab.sparse.inputs import along, check
from attnlab.sparse.tiles import HIDDEN, Layer, Listed, Rows, Step, Tiles

ROWS = 256
"""Rows of the tiles whose keys are the global tokens."""


def big_bird(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    before: int,
    after: int | None = None,
    *,
    tokens: Tensor | Sequence[int] = (),
    count: int = 0,
    seed: int = 0,
    block: int = 64,
    is_causal: bool = False,
    key_mask: Tensor | None = None,
    scale: float | None = None,
    engine: Engine = "auto",
) -> Tensor:
    """Attend to the neighbours, to a few global tokens, and to some blocks of keys drawn at random.

    Equal to `attention(q, k, v, mask=m)` with m = masks.window(n, before, after) |
    masks.global_tokens(n, tokens) | masks.random_keys(n, count, seed=seed, block=block), and with
    `& masks.causal(n)` when causal. A pair that belongs to several of the three counts once. Cost: about
    n (before + after + tokens + count · block) scores, and n for each global token. Without random blocks it
    is Longformer's pattern.

    Args:
        q: queries (..., n, d_k).
        k: keys (..., n, d_k).
        v: values (..., n, d_v).
        before: how many earlier tokens are visible, at least 0.
        after: how many later tokens are visible; as many as `before` unless given.
        tokens: positions of the global tokens, which see all and are seen by all.
        count: how many random blocks of keys each block of queries sees.
        seed: number that fixes the draw.
        block: tokens a random block. Single keys (1) are slow to fetch.
        is_causal: hide later tokens from every query, from the global ones too.
        key_mask: (batch, n) or (batch, 1, n), True = may be attended to, as `masks.padding` makes it.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.
        engine: "tiles", "flex" or "auto", as in `window`.

    Returns:
        Output (..., n, d_v); zeros for a query that sees no key.

    Raises:
        TypeError: key_mask is not boolean.
        ValueError: shapes do not fit, a width is negative, a global token lies outside the sequence, there
            are fewer blocks than `count`, or the engine has another name.

    References:
        Zaheer et al. 2020, section 2; Beltagy et al. 2020, section 3.1.

    >>> x = torch.eye(5)
    >>> (big_bird(x, x, x, 1, tokens=[0]) > 0).int().tolist()
    [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0], [1, 0, 1, 1, 1], [1, 0, 0, 1, 1]]
    """
    n = check(q, k, v)
    after = before if after is None else after
    at_least(0, before=before, after=after)
    after = 0 if is_causal else after
    where = positions("tokens", tokens, n, q.device).unique()
    reach = min(before, n - 1), min(after, n - 1)
    names = tuple(where.tolist())
    if picks_flex(engine, q, v):
        return flex(q, k, v, _visible, (n, *reach, names, count, seed, block, is_causal), key_mask, scale)
    layers, backward = _layers(n, *reach, names, count, seed, block, is_causal, str(q.device))
    out, _ = along(layers, q, k, v, key_mask, scale, backward)
    if len(where) == 0:
        return out
    # The rows of the global tokens are dense: a few queries against all keys.
    seen = where[:, None] >= torch.arange(n, device=q.device) if is_causal else None  # (tokens, n)
    if key_mask is not None:
        keys = key_mask.reshape(q.shape[0], *(1 for _ in q.shape[1:-1]), n)
        seen = keys if seen is None else seen & keys
    rows = attention(q.index_select(-2, where), k, v, mask=seen, scale=scale)
    return out.index_copy(-2, where, rows)


def _visible(
    n: int, before: int, after: int, tokens: tuple[int, ...], count: int, seed: int, block: int,
    is_causal: bool, device: str,
) -> Visible:  # fmt: skip
    """Return the pattern as FlexAttention wants it."""
    is_global = torch.zeros(n, dtype=torch.bool, device=device)
    is_global[list(tokens)] = True
    drawn = random_keys(-(-n // block), count, seed=seed, device=device)  # of blocks, not of tokens
    window = in_window(before, after, device)

    def visible(batch: Tensor, head: Tensor, i: Tensor, j: Tensor) -> Tensor:
        seen = window(batch, head, i, j) | is_global[i] | is_global[j] | drawn[i // block, j // block]
        return seen & (j <= i) if is_causal else seen

    return visible


@lru_cache(maxsize=8)
def _layers(
    n: int,
    before: int,
    after: int,
    tokens: tuple[int, ...],
    count: int,
    seed: int,
    block: int,
    is_causal: bool,
    device: str,
) -> tuple[list[Layer], list[Layer]]:
    """Cut window, global columns and random blocks into tiles; no pair stands in two of them."""
    where = torch.tensor(tokens, dtype=torch.long, device=device)
    taken = torch.zeros(n, device=device).index_fill_(0, where, HIDDEN)  # keys that the global columns hold
    size = tile_size(before + after)
    near = Layer(
        tuple(
            Tiles(rows, columns, number, _without(columns, bias, taken, tokens))
            for rows, columns, number, bias in band(n, before, after, size, device)
        )
    )
    near_by_keys = Layer(
        tuple(
            Tiles(columns, rows, number, _without(rows, bias.transpose(1, 2).contiguous(), taken, tokens))
            for rows, columns, number, bias in band(n, after, before, size, device)
        )
    )
    rest = []
    if tokens:
        rest.append(Layer(tuple(_global_columns(n, where, is_causal))))
    if count:
        table = random_blocks(n, count, seed=seed, block=block).to(device)
        rest.append(Layer(tuple(_random(n, before, after, taken, table, block, is_causal))))
    return [near, *rest], [near_by_keys, *rest]


def _without(keys: Rows, bias: Tensor, taken: Tensor, tokens: tuple[int, ...]):
    """Hide some keys in the tiles of a band, besides what its bias hides."""
    if not tokens:
        return bias

    def full(step: Step) -> Tensor:
        hidden = keys.view(taken[None, :, None], step.first, step.count)  # (1, count, columns, 1)
        return bias + hidden.transpose(2, 3)

    return full


def _global_columns(n: int, where: Tensor, is_causal: bool) -> list[Tiles]:
    tiles = []
    for top in range(0, n, ROWS):
        rows = min(ROWS, n - top)
        bias = None
        if is_causal:
            ahead = where > torch.arange(top, top + rows, device=where.device)[:, None]
            bias = torch.zeros(ahead.shape, device=where.device).masked_fill_(ahead, HIDDEN)[None]
        tiles.append(Tiles(Rows(top, rows), Listed(where[None]), 1, bias))
    return tiles


def _random(
    n: int, before: int, after: int, taken: Tensor, table: Tensor, block: int, is_causal: bool
) -> list[Tiles]:
    """Cover the random blocks of keys, without the pairs that window and global columns hold."""
    inside = torch.arange(block, device=table.device)
    keys = (table[:, :, None] * block + inside).flatten(1)  # (blocks, count * block)
    tiles = []
    for first, number, rows in ((0, n // block, block), (n // block, 1, n % block)):
        if number == 0 or rows == 0:
            continue
        names = keys[first : first + number]
        start = torch.arange(first, first + number, device=table.device) * block
        offset = names[:, None, :] - (start[:, None, None] + inside[:rows, None])  # (blocks, rows, columns)
        hidden = (offset >= -before) & (offset <= after) | (names >= n)[:, None]
        if is_causal:
            hidden |= offset > 0
        names = names.clamp_max(n - 1)
        bias = taken[names][:, None].expand(offset.shape).masked_fill(hidden, HIDDEN)
        tiles.append(Tiles(Rows(first * block, rows, block), Listed(names), number, bias))
    return tiles
