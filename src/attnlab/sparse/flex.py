"""Patterns on FlexAttention: torch compiles a mask, given as a function, into one kernel.

The kernel skips the blocks of 128 by 128 pairs that a pattern leaves empty, and works on a GPU, where the
many small products of the tiles leave most of the processors idle. On a CPU it has no backward pass.

References: Dong et al. 2024, sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import flex_attention

from attnlab.arguments import of_keys
from attnlab.patterns import Pattern
from attnlab.patterns.block_masks import SIDE

Engine = Literal["auto", "tiles", "flex"]
NARROWEST = 16
"""The kernel wants heads at least so wide."""
KERNELS = 4096
"""How many kernels torch may make, one for each pattern, shape, dtype and way to ask."""
WASTE = 16
"""FlexAttention is chosen if its blocks hold at most so many times the pairs of the tiles."""


def picks_flex(engine: Engine, q: Tensor, v: Tensor, pattern: Pattern) -> bool:
    """Choose the engine: FlexAttention on a CUDA GPU where its kernel takes the inputs, otherwise the tiles.

    Of a pattern that touches most blocks, as single far tokens do, the kernel would skip little: that is left
    to the tiles too.

    Raises:
        ValueError: the engine has another name.

    >>> picks_flex("auto", torch.zeros(8, 64), torch.zeros(8, 64), Pattern())
    False
    """
    check_engine(engine)
    wide = min(q.shape[-1], v.shape[-1]) >= NARROWEST
    if engine != "auto" or not (q.is_cuda and wide and q.dtype != torch.float64):
        return engine == "flex"
    return _leaves_much_out(pattern, q.shape[-2], str(q.device))


@lru_cache(maxsize=64)
def _leaves_much_out(pattern: Pattern, n: int, device: str) -> bool:
    blocks = pattern.block_mask(n, device=device)
    touched = sum(int(x.sum()) for x in (blocks.kv_num_blocks, blocks.full_kv_num_blocks))
    return touched * SIDE**2 <= WASTE * sum(one.pairs for one in pattern.tiles(n, device=device))


def check_engine(engine: Engine, among: tuple[str, ...] = get_args(Engine)) -> None:
    """Say what is wrong with the name of an engine, if something is."""
    if engine not in among:
        raise ValueError(f"engine must be {', '.join(among)}; got {engine!r}")


def along_blocks(
    q: Tensor, k: Tensor, v: Tensor, pattern: Pattern, key_mask: Tensor | None, scale: float | None
) -> Tensor:
    """Attend where a pattern sees, on FlexAttention; its blocks are found from the tiles.

    Args:
        q: queries (..., n, d_k).
        k: keys (..., n, d_k).
        v: values (..., n, d_v).
        pattern: which pairs are seen.
        key_mask: (batch, n) or (batch, 1, n), True = may be attended to.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.

    Returns:
        Output (..., n, d_v); zeros for a query that sees no key.
    """
    n = q.shape[-2]
    visible = None if key_mask is None else of_keys(key_mask, q.shape[:-2], n).reshape(-1, n)
    blocks = pattern.block_mask(n, key_mask=visible, device=q.device)
    shape = (1 if visible is None else len(visible), -1)
    run = _compiled() if q.is_cuda else flex_attention
    out = run(*(x.reshape(*shape, *x.shape[-2:]) for x in (q, k, v)), block_mask=blocks, scale=scale)
    return out.reshape(*q.shape[:-1], v.shape[-1])


@lru_cache(maxsize=1)
def _compiled(backend: str = "inductor") -> Callable:
    """Return the compiled kernel, which is made again for every pattern.

    torch gives up after eight times, and runs what it was given as it stands: all n² scores. Not here.
    """
    compiled = torch.compile(flex_attention, backend=backend, fullgraph=True, dynamic=False)

    def run(q: Tensor, k: Tensor, v: Tensor, **settings) -> Tensor:
        with torch._dynamo.config.patch(recompile_limit=KERNELS, accumulated_recompile_limit=KERNELS):
            return compiled(q, k, v, **settings)

    return run
