"""What every pattern does with its arguments before and after the tiles."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import torch
from torch import Tensor

from attnlab.patterns.plan import Plan
from attnlab.patterns.tiles import HIDDEN
from attnlab.sparse.engine import exact_dtype, run


def outside_graphs(function: Callable) -> Callable:
    """Let a function run as it is under `torch.compile`, which would take its many small steps one by one."""

    @wraps(function)
    def call(*given, **options):
        run = torch.compiler.disable(function) if torch.compiler.is_compiling() else function
        return run(*given, **options)

    return call


def along(
    plan: Plan | None,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    key_mask: Tensor | None,
    scale: float | None,
    orders: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Run a plan on tensors with any leading dimensions."""
    key_bias = None
    if key_mask is not None:
        kept = of_keys(q, key_mask).expand(q.shape[:-1]).reshape(q.shape[:-2].numel(), q.shape[-2])
        key_bias = torch.zeros(kept.shape, device=q.device, dtype=exact_dtype(q)).masked_fill(~kept, HIDDEN)
    flat = (x.reshape(x.shape[:-2].numel(), *x.shape[-2:]) for x in (q, k, v))
    out, empty = run(*flat, plan, key_bias=key_bias, orders=orders, scale=scale)
    return out.view(*q.shape[:-1], v.shape[-1]), empty.view(*q.shape[:-1], 1)


def check(q: Tensor, k: Tensor, v: Tensor) -> int:
    """Return the sequence length of self-attention, or say which shape does not fit."""
    got = f"got q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}"
    if q.dim() < 2 or q.shape != k.shape:
        raise ValueError(f"q and k must have the same shape (..., n, d_k), {got}")
    if v.shape[:-1] != q.shape[:-1]:
        raise ValueError(f"v must have shape (..., n, d_v) with the leading dimensions of q, {got}")
    return q.shape[-2]


def of_keys(q: Tensor, key_mask: Tensor) -> Tensor:
    """Return a mask of the keys as (batch, 1, ..., n) beside q (batch, ..., n, d), or say what is wrong."""
    if not isinstance(key_mask, Tensor) or key_mask.dtype != torch.bool:
        got = f"dtype {key_mask.dtype}" if isinstance(key_mask, Tensor) else type(key_mask).__name__
        raise TypeError(f"key_mask must be a boolean tensor (True = may be attended to), got {got}")
    shapes = ((q.shape[0], q.shape[-2]), (q.shape[0], 1, q.shape[-2]))
    if q.dim() < 3 or tuple(key_mask.shape) not in shapes:
        raise ValueError(
            f"key_mask must have shape (batch, n) or (batch, 1, n) beside q (batch, ..., n, d_k), "
            f"got {tuple(key_mask.shape)} beside {tuple(q.shape)}"
        )
    return key_mask.reshape(q.shape[0], *(1 for _ in q.shape[1:-2]), q.shape[-2])
