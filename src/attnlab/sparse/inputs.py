"""What every pattern does with its arguments before and after the tiles."""

from __future__ import annotations

import torch
from torch import Tensor

from attnlab.sparse.engine import attend, exact_dtype
from attnlab.sparse.tiles import HIDDEN, Layer


def along(
    layers: list[Layer],
    q: Tensor,
    k: Tensor,
    v: Tensor,
    key_mask: Tensor | None,
    scale: float | None,
    backward: list[Layer] | None = None,
    *,
    fused: bool = True,
) -> tuple[Tensor, Tensor]:
    """Run `attend` on tensors with any leading dimensions."""
    key_bias = None
    if key_mask is not None:
        check_key_mask(q, key_mask)
        key_mask = key_mask.reshape(key_mask.shape[0], *(1 for _ in q.shape[1:-2]), q.shape[-2])
        key_mask = key_mask.expand(q.shape[:-1]).reshape(q.shape[:-2].numel(), q.shape[-2])
        key_bias = torch.zeros(key_mask.shape, device=q.device, dtype=exact_dtype(q))
        key_bias.masked_fill_(~key_mask, HIDDEN)
    flat = (x.reshape(x.shape[:-2].numel(), *x.shape[-2:]) for x in (q, k, v))
    out, empty = attend(*flat, layers, backward=backward, key_bias=key_bias, scale=scale, fused=fused)
    return out.view(*q.shape[:-1], v.shape[-1]), empty.view(*q.shape[:-1], 1)


def check(q: Tensor, k: Tensor, v: Tensor) -> int:
    """Return the sequence length of self-attention, or say which shape does not fit."""
    got = f"got q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}"
    if q.dim() < 2 or q.shape != k.shape:
        raise ValueError(f"q and k must have the same shape (..., n, d_k), {got}")
    if v.shape[:-1] != q.shape[:-1]:
        raise ValueError(f"v must have shape (..., n, d_v) with the leading dimensions of q, {got}")
    if q.shape[-2] < 1:
        raise ValueError(f"a sequence must hold one token at least, {got}")
    return q.shape[-2]


def check_key_mask(q: Tensor, key_mask: Tensor) -> None:
    """Say what is wrong with a mask of the keys, if something is."""
    if not isinstance(key_mask, Tensor) or key_mask.dtype != torch.bool:
        got = f"dtype {key_mask.dtype}" if isinstance(key_mask, Tensor) else type(key_mask).__name__
        raise TypeError(f"key_mask must be a boolean tensor (True = may be attended to), got {got}")
    shapes = ((q.shape[0], q.shape[-2]), (q.shape[0], 1, q.shape[-2]))
    if q.dim() < 3 or tuple(key_mask.shape) not in shapes:
        raise ValueError(
            f"key_mask must have shape (batch, n) or (batch, 1, n) beside q (batch, ..., n, d_k), "
            f"got {tuple(key_mask.shape)} beside {tuple(q.shape)}"
        )
