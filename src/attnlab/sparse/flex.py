"""The patterns of near blocks on FlexAttention: torch compiles a mask, given as a function, into one kernel.

The kernel skips the blocks of 128 by 128 pairs that a mask leaves empty, and works on a GPU, where the many
small products of the tiles leave most of the processors idle. On a CPU it has no backward pass.

References: Dong et al. 2024, sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, and_masks, create_block_mask, flex_attention

from attnlab.sparse.inputs import check_key_mask

Engine = Literal["auto", "tiles", "flex"]
Visible = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
NARROWEST = 16
"""The kernel wants heads at least so wide."""


def picks_flex(engine: Engine, q: Tensor, v: Tensor) -> bool:
    """Choose the engine: FlexAttention on a CUDA GPU where its kernel takes the inputs, otherwise the tiles.

    Raises:
        ValueError: the engine has another name.

    >>> picks_flex("auto", torch.zeros(8, 64), torch.zeros(8, 64))
    False
    """
    if engine not in get_args(Engine):
        raise ValueError(f"engine must be {', '.join(get_args(Engine))}; got {engine!r}")
    wide = min(q.shape[-1], v.shape[-1]) >= NARROWEST
    return engine == "flex" or (engine == "auto" and q.is_cuda and wide and q.dtype != torch.float64)


def flex(
    q: Tensor, k: Tensor, v: Tensor, pattern: Callable[..., Visible], options: tuple, key_mask: Tensor | None,
    scale: float | None,
) -> Tensor:  # fmt: skip
    """Attend where `pattern(*options, device)` says that a query sees a key; nothing is (n, n).

    Args:
        q: queries (..., n, d_k).
        k: keys (..., n, d_k).
        v: values (..., n, d_v).
        pattern: makes the function of (batch, head, query, key) that is True for a visible pair.
        options: its arguments before the device; hashable, because the blocks of a mask are found once.
        key_mask: (batch, n) or (batch, 1, n), True = may be attended to.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.

    Returns:
        Output (..., n, d_v); zeros for a query that sees no key.
    """
    n, device = q.shape[-2], str(q.device)
    if key_mask is None:
        blocks = _blocks(pattern, options, n, device)
        shape = (1, -1)
    else:
        check_key_mask(q, key_mask)
        kept = key_mask.reshape(-1, n)
        visible = and_masks(pattern(*options, device), lambda batch, head, i, j: kept[batch, j])
        blocks = create_block_mask(visible, len(kept), None, n, n, device=device)
        shape = (len(kept), -1)
    run = _compiled() if q.is_cuda else flex_attention
    out = run(*(x.reshape(*shape, *x.shape[-2:]) for x in (q, k, v)), block_mask=blocks, scale=scale)
    return out.reshape(*q.shape[:-1], v.shape[-1])


@lru_cache(maxsize=16)
def _blocks(pattern: Callable[..., Visible], options: tuple, n: int, device: str) -> BlockMask:
    return create_block_mask(pattern(*options, device), None, None, n, n, device=device)


@lru_cache(maxsize=1)
def _compiled() -> Callable:
    return torch.compile(flex_attention)
