"""The one definition of attention that everything else in the package calls."""

from __future__ import annotations

import math
from typing import Literal, overload

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab.arguments import chance, check_bias, check_mask, is_tensor
from attnlab.precision import without_autocast, working, working_dtype
from attnlab.scores import scaled_dot


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
    dropout: float = ...,
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
    dropout: float = ...,
    need_weights: Literal[True],
) -> tuple[Tensor, Tensor]: ...
def attention(q, k, v, *, mask=None, bias=None, scale=None, is_causal=False, dropout=0.0, need_weights=False):
    """Return, for every query, the mean of the values weighted by how well their keys answer it.

    softmax(scale · q kᵀ + bias) v. The fused kernel of torch computes it unless the weights are asked for: it
    never stores the (n_q, n_k) matrix. Both roads agree to rounding; both add up in float32 at least, so that
    scores beyond the range of half precision do no harm.

    A mask hides numbers, not NaN: -inf is added to a hidden score and a hidden value is multiplied by 0, and
    NaN survives both, in every query that is not itself empty. Fill padding with finite numbers. Two kernels
    of torch differ here: `is_causal` may skip a hidden NaN, and on a CPU a *query* of NaN gets zeros where
    neither mask nor bias nor weights are asked for.

    It runs under autocast, `torch.func` (`grad`, `vmap`, `jacrev`), `torch.compile(fullgraph=True)`, and on
    meta and fake tensors. Second derivatives and forward mode need `need_weights=True`: most fused kernels
    have neither, and say so.

    Args:
        q: queries (..., n_q, d_k).
        k: keys (..., n_k, d_k).
        v: values (..., n_k, d_v); d_v sets the width of the output.
        mask: boolean, True = may attend: (n_q, n_k), or with every dimension of the scores (..., n_q, n_k),
            each its size or 1.
        bias: added to the scaled scores; the shapes of `mask`.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.
        is_causal: hide later keys from every query; needs n_q == n_k. Faster than `mask=causal(n)`.
        dropout: chance of each weight to be dropped, in training; the others grow by 1 / (1 - dropout).
        need_weights: return the weights as well, as they were used.

    Returns:
        Output (..., n_q, d_v), and with `need_weights` also the weights (..., n_q, n_k). A query that may
        attend to nothing gets zeros, in every dtype, and passes back zero gradient. Without any key or value
        that is all queries; without any query the output is empty.

    Raises:
        TypeError: the mask is not boolean, or q, k, v or the bias is no tensor.
        ValueError: shapes do not fit, or dropout is no chance; the message names the argument, its shape and
            the shape it needs.

    References:
        Vaswani et al. 2017, section 3.2.1.

    >>> q, k, v = torch.zeros(1, 2), torch.randn(2, 2), torch.tensor([[1.0], [3.0]])
    >>> attention(q, k, v).tolist()
    [[2.0]]
    """
    shape = _scores_shape(q, k, v)
    if dropout:
        chance(dropout=dropout)
    if mask is not None:
        check_mask(mask, shape)
    if bias is not None:
        check_bias(bias, shape)
        bias = bias.to(working_dtype(q.dtype))  # beyond the range of a half it would be infinite
    if is_causal and q.shape[-2] != k.shape[-2]:
        raise ValueError(
            f"is_causal needs as many queries as keys, got n_q = {q.shape[-2]} and n_k = {k.shape[-2]}; "
            "pass a mask that says which keys each query may see"
        )
    allowed = empty = None
    if mask is not None or bias is not None:
        if is_causal:
            past, is_causal = _past(q), False
            mask = past if mask is None else mask & past
        allowed, empty = _opened(mask, bias)
    if need_weights:
        weights = _weights(q, k, allowed, scale, is_causal)  # (..., n_q, n_k)
        weights = weights if empty is None else weights.masked_fill(empty, 0.0)
        weights = F.dropout(weights, dropout) if dropout else weights
        out = weights @ v  # (..., n_q, d_v)
    elif 0 in shape[:-2]:  # nothing to attend: on torch 2.11 the kernel would divide by the number of heads
        out = q @ k.mT @ v
    else:
        out = F.scaled_dot_product_attention(
            q, k, v, attn_mask=allowed, dropout_p=dropout, is_causal=is_causal, scale=scale
        )
    out = out if empty is None else out.masked_fill(empty, 0.0)
    return (out, weights) if need_weights else out


def grouped_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    is_causal: bool = False,
    dropout: float = 0.0,
    need_weights: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Attend with many query heads to fewer key-value heads, which groups of query heads share.

    Query head h reads key-value head h // (n_heads / n_kv_heads). A single query, as in decoding, takes a
    short cut: the heads of a group become the rows of one query matrix, so keys and values are read once and
    never copied. What `attention` says about NaN, autocast, `torch.func` and `torch.compile` holds here too.

    Args:
        q: queries (batch, n_heads, n_q, d_k).
        k: keys (batch, n_kv_heads, n_k, d_k).
        v: values (batch, n_kv_heads, n_k, d_v).
        mask: boolean, True = may attend: (n_q, n_k), or (batch or 1, n_heads or 1, n_q or 1, n_k or 1).
        bias: added to the scaled scores; the shapes of `mask`.
        scale: as in `attention`.
        is_causal: hide later keys from every query.
        dropout: as in `attention`.
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
        is_tensor(name, x)
        if x.dim() != 4:
            raise ValueError(f"{name} must have shape (batch, heads, n, d), got {tuple(x.shape)}")
    n_heads, n_kv_heads = q.shape[1], k.shape[1]
    shared = n_heads % n_kv_heads == 0 if n_kv_heads else n_heads == 0
    if n_kv_heads != v.shape[1] or not shared:
        raise ValueError(
            "k and v must share n_kv_heads, a divisor of n_heads; "
            f"got q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}"
        )
    options = {"scale": scale, "is_causal": is_causal, "dropout": dropout, "need_weights": need_weights}
    size = n_heads // n_kv_heads if n_kv_heads else 1
    if size > 1 and (q.shape[2] != 1 or is_causal):
        # Copies of keys and values cost n·d each. They keep the fused kernel and its causal short cut.
        k, v = (x.repeat_interleave(size, dim=1) for x in (k, v))
    elif size > 1:
        shape = (q.shape[0], n_heads, 1, k.shape[2])
        if mask is not None:
            check_mask(mask, shape)
        if bias is not None:
            check_bias(bias, shape)
        q, mask, bias = (_heads_as_rows(x, n_heads, n_kv_heads) for x in (q, mask, bias))
        result = attention(q, k, v, mask=mask, bias=bias, **options)
        if need_weights:
            return tuple(x.reshape(x.shape[0], n_heads, 1, x.shape[-1]) for x in result)
        return result.reshape(result.shape[0], n_heads, 1, result.shape[-1])
    return attention(q, k, v, mask=mask, bias=bias, **options)


def _heads_as_rows(x: Tensor | None, n_heads: int, n_kv_heads: int) -> Tensor | None:
    """Turn (batch, n_heads, 1, d) into (batch, n_kv_heads, group, d); what heads share stays as it is."""
    if x is None or x.dim() < 3 or x.shape[-3] == 1:
        return x
    return x.reshape(*x.shape[:-3], n_kv_heads, n_heads // n_kv_heads, x.shape[-1])


def _opened(mask: Tensor | None, bias: Tensor | None) -> tuple[Tensor, Tensor]:
    """Join mask and bias, and find the rows (..., n_q, 1) that may attend to nothing.

    What the kernels answer for such a row differs between devices and dtypes. So none sees one: an empty row
    is opened here and computed like any other; `attention` puts zeros in the place of what comes out.
    """
    if bias is None:
        empty = ~mask.any(-1, keepdim=True)
        return mask | empty, empty
    bias = bias if mask is None else bias.masked_fill(~mask, -math.inf)
    empty = (bias == -math.inf).all(-1, keepdim=True)  # a row of NaN is not empty: it shall be seen
    return bias.masked_fill(empty, 0.0), empty


def _weights(q: Tensor, k: Tensor, allowed: Tensor | None, scale: float | None, is_causal: bool) -> Tensor:
    dtype = q.dtype
    q, k = (working(x) for x in (q, k))  # as within the fused kernels
    with without_autocast(q):
        scores = scaled_dot(q, k, scale)  # (..., n_q, n_k)
        if allowed is not None:
            # Added, not filled in, as the kernels do it: NaN + -inf is NaN on both roads.
            scores = scores + (_as_bias(allowed, scores) if allowed.dtype == torch.bool else allowed)
        elif is_causal:
            scores.masked_fill_(~_past(q), -math.inf)
        return torch.softmax(scores, -1).to(dtype)


def _as_bias(mask: Tensor, scores: Tensor) -> Tensor:
    return torch.zeros_like(mask, dtype=scores.dtype).masked_fill(~mask, -math.inf)


def _past(q: Tensor) -> Tensor:
    """Return the causal mask (n, n) for queries (..., n, d). There may be none of them."""
    n = q.shape[-2]
    return torch.ones(n, n, dtype=torch.bool, device=q.device).tril()


def _scores_shape(q: Tensor, k: Tensor, v: Tensor) -> torch.Size:
    """Return (..., n_q, n_k), or raise a ValueError that says which shape does not fit."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        is_tensor(name, x)
        if x.dim() < 2:
            raise ValueError(f"{name} must have shape (..., n, d), got {tuple(x.shape)}")
    got = f"got q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}"
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q and k must share their last dimension d_k, {got}")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"k and v must have the same number of tokens n_k, {got}")
    batch = q.shape[:-2]
    if not k.shape[:-2] == batch == v.shape[:-2]:  # asked first: torch takes as long as a small kernel here
        try:
            batch = torch.broadcast_shapes(batch, k.shape[:-2], v.shape[:-2])
        except RuntimeError:
            raise ValueError(f"the leading dimensions of q, k and v must broadcast, {got}") from None
    return torch.Size((*batch, q.shape[-2], k.shape[-2]))
