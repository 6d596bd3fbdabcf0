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
        mask = torch.atleast_2d(mask)  # the fused kernel refuses (n_k,)
    if bias is not None:
        check_broadcast("bias", bias, shape)
        bias = torch.atleast_2d(bias.to(q.dtype))
    if is_causal and q.shape[-2] != k.shape[-2]:
        raise ValueError(
            f"is_causal needs as many queries as keys, got n_q = {q.shape[-2]} and n_k = {k.shape[-2]}; "
            "pass a mask that says which keys each query may see"
        )
    if need_weights:
        weights = _weights(q, k, mask, bias, scale, is_causal)  # (..., n_q, n_k)
        return weights @ v, weights  # (..., n_q, d_v)
    return _fused(q, k, v, mask, bias, scale, is_causal)


def grouped_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    is_causal: bool = False,
    need_weights: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Attend with many query heads to fewer key-value heads, which groups of query heads share.

    Query head h reads key-value head h // (n_heads / n_kv_heads). A single query, as in decoding, takes a
    short cut: the heads of a group become the rows of one query matrix, so keys and values are read once and
    never copied.

    Args:
        q: queries (batch, n_heads, n_q, d_k).
        k: keys (batch, n_kv_heads, n_k, d_k).
        v: values (batch, n_kv_heads, n_k, d_v).
        mask: boolean, broadcastable to (batch, n_heads, n_q, n_k), True = may attend.
        bias: added to the scaled scores, broadcastable likewise.
        is_causal: hide later keys from every query.
        need_weights: return the weights (batch, n_heads, n_q, n_k) as well.

    Returns:
        Output (batch, n_heads, n_q, d_v), with `need_weights` also the weights.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: n_kv_heads does not divide n_heads, or a shape does not fit.

    References:
        Ainslie et al. 2023, section 2.2; Shazeer 2019, section 3 (one key-value head).

    >>> q, k, v = torch.zeros(1, 4, 1, 8), torch.zeros(1, 2, 3, 8), torch.ones(1, 2, 3, 5)
    >>> grouped_attention(q, k, v).shape
    torch.Size([1, 4, 1, 5])
    """
    for name, x in (("q", q), ("k", k), ("v", v)):
        if x.dim() != 4:
            raise ValueError(f"{name} must have shape (batch, heads, n, d), got {tuple(x.shape)}")
    n_heads, n_kv_heads = q.shape[1], k.shape[1]
    if n_kv_heads != v.shape[1] or not n_kv_heads or n_heads % n_kv_heads:
        raise ValueError(
            "k and v must share n_kv_heads, a divisor of n_heads; "
            f"got q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}"
        )
    size = n_heads // n_kv_heads
    if size > 1 and (q.shape[2] != 1 or is_causal):
        # Copies of keys and values cost n·d each. They keep the fused kernel and its causal short cut.
        k, v = (x.repeat_interleave(size, dim=1) for x in (k, v))
    elif size > 1:
        shape = (q.shape[0], n_heads, 1, k.shape[2])
        for name, x in (("mask", mask), ("bias", bias)):
            if x is not None:
                check_broadcast(name, x, shape)
        q, mask, bias = (_heads_as_rows(x, n_heads, n_kv_heads) for x in (q, mask, bias))
        result = attention(q, k, v, mask=mask, bias=bias, need_weights=need_weights)
        if need_weights:
            return tuple(x.reshape(x.shape[0], n_heads, 1, x.shape[-1]) for x in result)
        return result.reshape(result.shape[0], n_heads, 1, result.shape[-1])
    return attention(q, k, v, mask=mask, bias=bias, is_causal=is_causal, need_weights=need_weights)


def _heads_as_rows(x: Tensor | None, n_heads: int, n_kv_heads: int) -> Tensor | None:
    """Turn (batch, n_heads, 1, d) into (batch, n_kv_heads, group, d); what heads share stays as it is."""
    if x is None or x.dim() < 3 or x.shape[-3] == 1:
        return x
    return x.reshape(*x.shape[:-3], n_kv_heads, n_heads // n_kv_heads, x.shape[-1])


def _weights(
    q: Tensor, k: Tensor, mask: Tensor | None, bias: Tensor | None, scale: float | None, is_causal: bool
) -> Tensor:
    scores = scaled_dot(q, k, scale)  # (..., n_q, n_k)
    if mask is None and bias is None:
        # No row can be empty. That saves three passes over the largest tensor there is.
        if is_causal:
            scores.masked_fill_(~causal(q.shape[-2], device=q.device), -math.inf)
        return torch.softmax(scores, -1)
    if is_causal:
        mask = _and_causal(mask, q)
    return softmax(scores if bias is None else scores + bias, mask)


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
        mask = _and_causal(mask, q)
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


def _and_causal(mask: Tensor | None, q: Tensor) -> Tensor:
    past = causal(q.shape[-2], device=q.device)
    return past if mask is None else mask & past


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
