"""FlexAttention's blocks of a pattern, counted from its tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, and_masks

from attnlab.patterns.plan import AT_ONCE
from attnlab.patterns.tiles import Tiles

SIDE = 128
"""Rows and columns of a block, FlexAttention's own choice."""


def from_tiles(
    tiles: Sequence[Tiles], n: int, device: str, mask_mod: Callable, *, full: bool = True
) -> BlockMask:
    """Find the blocks that hold a visible pair, and those that hold nothing else.

    The tiles hold each visible pair once, so that a block's pairs can be counted tile by tile.

    Args:
        tiles: as `Pattern.tiles` returns them.
        n: sequence length.
        device: where the attention will run.
        mask_mod: the rule, for blocks that are visible in part.
        full: False lists the blocks without a hidden pair among the others, so that the rule is asked there.

    Returns:
        A `BlockMask` whose tables have (n / 128)² entries, one for each block.
    """
    side = -(-n // SIDE)
    pairs = torch.zeros(side * side, dtype=torch.long, device=device)
    for one in tiles:
        for first, count in _portions(one):
            i, j = (rows.tokens(first, count, device) // SIDE for rows in (one.queries, one.keys))
            if one.bias is None and count == 1:  # every row meets every column
                rows, columns = (torch.bincount(x.flatten(), minlength=side) for x in (i, j))
                pairs += (rows[:, None] * columns).flatten()
            else:
                block = i[:, :, None] * side + j[:, None]
                pairs.index_add_(0, block.flatten(), one.visible(first, count).to(pairs).flatten())
    pairs = pairs.view(side, side)
    whole = (pairs == SIDE * SIDE) if full else torch.zeros_like(pairs, dtype=torch.bool)
    lists = [*_listed((pairs > 0) & ~whole), *(_listed(whole) if full else (None, None))]
    return BlockMask.from_kv_blocks(*lists, BLOCK_SIZE=SIDE, mask_mod=mask_mod, seq_lengths=(n, n))


def where_kept(blocks: BlockMask, key_mask: Tensor) -> BlockMask:
    """Return the blocks with a rule that hides keys too; they must have been made with `full=False`."""
    out = copy(blocks)  # one list of blocks serves the whole batch
    out.mask_mod = and_masks(blocks.mask_mod, lambda batch, head, i, j: key_mask[batch, j])
    return out


def _portions(one: Tiles):
    """Yield first and count of tiles that hold about as many pairs as are looked at together."""
    step = 1 if one.bias is None else max(1, AT_ONCE // (one.queries.size * one.keys.size))
    for first in range(0, one.count, step):
        yield first, min(step, one.count - first)


def _listed(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """Return how many blocks each row has, and which, those first."""
    order = (~blocks).to(torch.int8).argsort(dim=1, stable=True)
    return blocks.sum(1).to(torch.int32)[None, None], order.to(torch.int32)[None, None]
