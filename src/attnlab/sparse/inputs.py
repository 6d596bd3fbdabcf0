"""What every pattern does with its arguments before and after the tiles."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import torch
from torch import Tensor

from attnlab.arguments import is_tensor, of_keys
from attnlab.patterns.plan import Plan
from attnlab.patterns.tiles import HIDDEN
from attnlab.precision import working_dtype
from attnlab.sparse.engine import run


def outside_graphs(function: Callable) -> Callable:
    """Let a function run as it is under `torch.compile`, which would take its many small steps one by one."""

    @wraps(function)
    def call(*args, **options):
        run = torch.compiler.disable(function) if torch.compiler.is_compiling() else function
        return run(*args, **options)

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
        lead, n = q.shape[:-2], q.shape[-2]
        visible = of_keys(key_mask, lead, n).expand(*lead, n).reshape(lead.numel(), n)
        zeros = torch.zeros(visible.shape, device=q.device, dtype=working_dtype(q.dtype))
        key_bias = zeros.masked_fill(~visible, HIDDEN)
    flat = (x.reshape(x.shape[:-2].numel(), *x.shape[-2:]) for x in (q, k, v))
    out, empty = run(*flat, plan, key_bias=key_bias, orders=orders, scale=scale)
    return out.view(*q.shape[:-1], v.shape[-1]), empty.view(*q.shape[:-1], 1)


def check(q: Tensor, k: Tensor, v: Tensor) -> int:
    """Return the sequence length of self-attention, or say which shape does not fit."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        is_tensor(name, x)
    got = f"got q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}"
    if q.dim() < 2 or q.shape != k.shape:
        raise ValueError(f"q and k must have the same shape (..., n, d_k), {got}")
    if v.shape[:-1] != q.shape[:-1]:
        raise ValueError(f"v must have shape (..., n, d_v) with the leading dimensions of q, {got}")
    return q.shape[-2]
