"""The one definition of attention that everything else in the package calls."""

from __future__ import annotations

import math
from typing import Literal, overload

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab.masks import causal
from attnlab.scores import check_broadcast, check_mask, scaled_dot, softmax


@overload
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    mask: Tensor | None = ...,
    bias: Tensor | None = ...,
    scale: float | None = ...,
    is_causal: bool = ...,
    need_weights: Literal[False] = ...,
) -> Tensor: ...
@overload
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    mask: Tensor | None = ...,
    bias: Tensor | None = ...,
    scale: float | None = ...,
    is_causal: bool = ...,
    need_weights: Literal[True],
) -> tuple[Tensor, Tensor]: ...
def attention(q, k, v, *, mask=None, bias=None, scale=None, is_causal=False, need_weights=False):
    """Return, for every query, the mean of the values weighted by how well their keys answer it.

    softmax(scale · q kᵀ + bias) v. The fused kernel of torch computes it unless the weights are asked for: it
    never stores the (n_q, n_k) matrix. Both roads agree to rounding.

    Args:
        q: queries (..., n_q, d_k).
        k: keys (..., n_k, d_k).
        v: values (..., n_k, d_v); d_v sets the width of the output.
        mask: boolean, broadcastable to (..., n_q, n_k), True = may attend.
        bias: added to the scaled scores, broadcastable to (..., n_q, n_k).
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.
        is_causal: hide later keys from every query; needs n_q == n_k. Faster than `mask=causal(n)`.
        need_weights: return the weights as well.

    Returns:
        Output (..., n_q, d_v), and with `need_weights` also the weights (..., n_q, n_k). A query that may
        attend to nothing gets zeros, in every dtype, and passes back zero gradient.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: shapes do not fit; the message names the argument, its shape and the shape it needs.

    References:
        Vaswani et al. 2017, section 3.2.1.

    >>> q, k, v = torch.zeros(1, 2), torch.randn(2, 2), torch.tensor([[1.0], [3.0]])
    >>> attention(q, k, v).tolist()
    [[2.0]]
    """
    shape = _scores_shape(q, k, v)
    if mask is not None:
        check_mask(mask, shape)
    if bias is not None:
        check_broadcast("bias", bias, shape)
        bias = bias.to(q.dtype)
    if is_causal and q.shape[-2] != k.shape[-2]:
        raise ValueError(
            f"is_causal needs as many queries as keys, got n_q = {q.shape[-2]} and n_k = {k.shape[-2]}; "
            "pass a mask that says which keys each query may see"
        )
    if need_weights:
        if is_causal:
            future = causal(q.shape[-2], device=q.device)
            mask = future if mask is None else mask & future
        scores = scaled_dot(q, k, scale)  # (..., n_q, n_k)
        weights = softmax(scores if bias is None else scores + bias, mask)
        return weights @ v, weights  # (..., n_q, d_v)
    return _fused(q, k, v, mask, bias, scale, is_causal)


def _fused(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    scale: float | None,
    is_causal: bool,
) -> Tensor:
    if mask is None and bias is None:
        return F.scaled_dot_product_attention(q, k, v, is_causal=is_causal, scale=scale)
    if is_causal:
        past = causal(q.shape[-2], device=q.device)
        mask = past if mask is None else mask & past
    # What the kernels answer for a row with nothing to attend to differs between devices and dtypes. So no
    # kernel sees one: an empty row is opened, computed like any other, and its output replaced by zeros.
    if bias is None:
        alive = mask.any(-1, keepdim=True)  # (..., n_q, 1)
        allowed = mask | ~alive
    else:
        bias = bias if mask is None else bias.masked_fill(~mask, -math.inf)
        alive = (bias > -math.inf).any(-1, keepdim=True) | bias.isnan().any(-1, keepdim=True)
        allowed = bias.masked_fill(~alive, 0.0)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed, scale=scale)
    return out.masked_fill(~alive, 0.0)


def _scores_shape(q: Tensor, k: Tensor, v: Tensor) -> torch.Size:
    """Return (..., n_q, n_k), or raise a ValueError that says which shape does not fit."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        if x.dim() < 2:
            raise ValueError(f"{name} must have shape (..., n, d), got {tuple(x.shape)}")
    got = f"got q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}"
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q and k must share their last dimension d_k, {got}")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"k and v must have the same number of tokens n_k, {got}")
    try:
        batch = torch.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    except RuntimeError:
        raise ValueError(f"the leading dimensions of q, k and v must broadcast, {got}") from None
    return torch.Size((*batch, q.shape[-2], k.shape[-2]))
