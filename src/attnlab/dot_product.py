"""The one definition of attention that everything else in the package calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, overload

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab.arguments import check_options, grouped_scores_shape, is_tensor, scores_shape
from attnlab.precision import without_autocast, working, working_dtype
from attnlab.scores import _scaled_dot

# What changes scores before the softmax: a function of (score, b, h, q_idx, kv_idx), as FlexAttention's.
ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


@overload
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    mask: Tensor | None = ...,
    bias: Tensor | None = ...,
    score_mod: ScoreMod | None = ...,
    scale: float | None = ...,
    is_causal: bool = ...,
    dropout: float = ...,
    sinks: Tensor | None = ...,
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
    score_mod: ScoreMod | None = ...,
    scale: float | None = ...,
    is_causal: bool = ...,
    dropout: float = ...,
    sinks: Tensor | None = ...,
    need_weights: Literal[True],
) -> tuple[Tensor, Tensor]: ...
def attention(
    q,
    k,
    v,
    *,
    mask=None,
    bias=None,
    score_mod=None,
    scale=None,
    is_causal=False,
    dropout=0.0,
    sinks=None,
    need_weights=False,
):
    """Return, for every query, the mean of the values weighted by how well their keys answer it.

    softmax(score_mod(scale · q kᵀ) + bias) v. The fused kernel of torch computes it unless the weights are
    asked for or the scores changed: it never stores the (n_q, n_k) matrix. Both roads agree to rounding; both
    add up in float32 at least, so that scores beyond the range of half precision do no harm.

    A mask hides numbers, not NaN: -inf is added to a hidden score and a hidden value is multiplied by 0, and
    NaN survives both, in every query that is not itself empty. Fill padding with finite numbers. Two kernels
    of torch differ here: `is_causal` may skip a hidden NaN, and on a CPU a *query* of NaN gets zeros where
    neither mask nor bias nor weights are asked for.

    With `score_mod` the scores are stored; on a GPU `torch.nn.attention.flex_attention` runs the same
    function inside a fused kernel. As there, what it makes of a hidden score is hidden, NaN too, and a query
    whose scores it all makes -inf attends to nothing.

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
        score_mod: changes the scaled scores, before bias and mask: a function of (score, b, h, q_idx,
            kv_idx) made of elementwise operations and lookups, as FlexAttention takes it. Here it is called
            once, with all scores (..., n_q, n_k), in float32 at least, and with whole numbers that broadcast
            against them: b (batch, 1, 1, 1), h (1, heads, 1, 1), q_idx (n_q, 1) and kv_idx (n_k,). Beside
            q (batch, n_q, d_k) h is 0, and beside q (n_q, d_k) b too; of more dimensions in front, b counts
            the first and h the last. It returns scores of the same dtype whose shape broadcasts to theirs.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.
        is_causal: hide later keys from every query; needs n_q == n_k. Faster than `mask=causal(n)`.
        dropout: chance of each weight to be dropped, in training; the others grow by 1 / (1 - dropout).
        sinks: a score for nothing, beside those of the keys: () for all heads, or (n_heads,) beside q (...,
            n_heads, n_q, d_k). It takes its share of every row and brings zeros, so that the weights of the
            keys sum to less than one. Neither bias, score_mod nor mask reach it.
        need_weights: return the weights as well, as they were used.

    Returns:
        Output (..., n_q, d_v), and with `need_weights` also the weights (..., n_q, n_k). A query that may
        attend to nothing gets zeros, in every dtype, and passes back zero gradient. Without any key or value
        that is all queries; without any query the output is empty.

    Raises:
        TypeError: the mask is not boolean; q, k, v, the bias or the sinks are no tensor; score_mod is no
            function, or returns another dtype.
        ValueError: shapes do not fit, that of what score_mod returns among them, or dropout is no chance; the
            message names the argument, its shape and the shape it needs.

    References:
        Vaswani et al. 2017, section 3.2.1; Dong et al. 2024, section 3 (score_mod); OpenAI 2025, section 2.2
        (sinks).

    >>> q, k, v = torch.zeros(1, 2), torch.randn(2, 2), torch.tensor([[1.0], [3.0]])
    >>> attention(q, k, v).tolist()
    [[2.0]]

    A soft cap, as in Gemma 2, bounds every score:

    >>> def soft_cap(score, b, h, q_idx, kv_idx):
    ...     return 50 * (score / 50).tanh()
    >>> _, weights = attention(1e4 * torch.ones(1, 1), v, v, score_mod=soft_cap, need_weights=True)
    >>> weights
    tensor([[0.5000, 0.5000]])

    A sink of the same score as both keys leaves them two thirds:

    >>> attention(q, k, v, sinks=torch.tensor(0.0), need_weights=True)[1]
    tensor([[0.3333, 0.3333]])
    """
    shape = scores_shape(q, k, v)
    check_options(shape, mask, bias, score_mod, is_causal, dropout, sinks)
    return _attend(
        q,
        k,
        v,
        shape,
        mask=mask,
        bias=bias,
        score_mod=score_mod,
        scale=scale,
        is_causal=is_causal,
        dropout=dropout,
        sinks=sinks,
        need_weights=need_weights,
    )


def grouped_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    score_mod: ScoreMod | None = None,
    scale: float | None = None,
    is_causal: bool = False,
    dropout: float = 0.0,
    sinks: Tensor | None = None,
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
        score_mod: as in `attention`; h counts query heads.
        scale: as in `attention`.
        is_causal: hide later keys from every query.
        dropout: as in `attention`.
        sinks: as in `attention`, one for each query head, or one for all.
        need_weights: return the weights (batch, n_heads, n_q, n_k) as well.

    Returns:
        Output (batch, n_heads, n_q, d_v), with `need_weights` also the weights.

    Raises:
        TypeError: the mask is not boolean, score_mod does not fit, or the sinks are no tensor.
        ValueError: n_kv_heads does not divide n_heads, or a shape does not fit.

    References:
        Ainslie et al. 2023, section 2.2; Shazeer 2019, section 3 (one key-value head).

    >>> q, k, v = torch.zeros(1, 4, 1, 8), torch.zeros(1, 2, 3, 8), torch.ones(1, 2, 3, 5)
    >>> grouped_attention(q, k, v).shape
    torch.Size([1, 4, 1, 5])
    """
    shape = grouped_scores_shape(q, k, v)
    check_options(shape, mask, bias, score_mod, is_causal, dropout, sinks)
    return _attend_in_groups(
        q,
        k,
        v,
        shape,
        mask=mask,
        bias=bias,
        score_mod=score_mod,
        scale=scale,
        is_causal=is_causal,
        dropout=dropout,
        sinks=sinks,
        need_weights=need_weights,
    )


def _attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    shape: Sequence[int],
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    score_mod: ScoreMod | None = None,
    scale: float | None = None,
    is_causal: bool = False,
    dropout: float = 0.0,
    sinks: Tensor | None = None,
    need_weights: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Do what `attention` does, on arguments that were checked at the caller's door.

    The shape is that of the scores, (..., n_q, n_k).
    """
    if sinks is not None and sinks.dim() < 2:
        sinks = sinks[..., None, None]  # (n_heads, 1, 1): for every query
    if bias is not None:
        bias = bias.to(working_dtype(q.dtype))  # beyond the range of a half it would be infinite
    allowed = empty = None
    if mask is not None or bias is not None or score_mod is not None:
        if is_causal:
            past, is_causal = _past(q), False
            mask = past if mask is None else mask & past
        if score_mod is None:
            allowed, empty = _opened(mask, bias)
    # Beside a sink the weights of one query cost less than a copy of all keys, which the kernel would need.
    if need_weights or score_mod is not None or (sinks is not None and (shape[-2] == 1 or scale == 0)):
        if score_mod is None:
            weights = _weights(q, k, allowed, scale, is_causal, sinks)  # (..., n_q, n_k)
        else:
            weights, empty = _modified_weights(q, k, shape, mask, bias, score_mod, scale, sinks)
        weights = weights if empty is None else weights.masked_fill(empty, 0.0)
        weights = F.dropout(weights, dropout) if dropout else weights
        out = weights @ v  # (..., n_q, d_v)
    elif 0 in shape[:-2]:  # nothing to attend: on torch 2.11 the kernel would divide by the number of heads
        out = q @ k.mT @ v
    elif sinks is not None:
        out = _beside_a_sink(q, k, v, allowed, sinks, scale, is_causal=is_causal, dropout=dropout)
    else:
        out = F.scaled_dot_product_attention(
            q, k, v, attn_mask=allowed, dropout_p=dropout, is_causal=is_causal, scale=scale
        )
    out = out if empty is None else out.masked_fill(empty, 0.0)
    return (out, weights) if need_weights else out


def _attend_in_groups(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    shape: Sequence[int],
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    score_mod: ScoreMod | None = None,
    is_causal: bool = False,
    sinks: Tensor | None = None,
    need_weights: bool = False,
    **options,
) -> Tensor | tuple[Tensor, Tensor]:
    """Do what `grouped_attention` does, on arguments that were checked at the caller's door."""
    n_heads, n_kv_heads = q.shape[1], k.shape[1]
    size = n_heads // n_kv_heads if n_kv_heads else 1
    as_rows = size > 1 and q.shape[2] == 1 and not is_causal and score_mod is None
    if as_rows:
        sinks = None if sinks is None else sinks[..., None, None]
        q, mask, bias, sinks = (_heads_as_rows(x, n_heads, n_kv_heads) for x in (q, mask, bias, sinks))
    elif size > 1:
        # Copies of keys and values cost n·d each (none is made where one serves all heads). They keep the
        # fused kernel and its causal short cut.
        k, v = (x[:, :, None].expand(-1, -1, size, -1, -1).flatten(1, 2) for x in (k, v))
    options |= {"score_mod": score_mod, "is_causal": is_causal, "sinks": sinks, "need_weights": need_weights}
    result = _attend(q, k, v, shape, mask=mask, bias=bias, **options)
    if not as_rows:
        return result
    if need_weights:
        return tuple(x.reshape(x.shape[0], n_heads, 1, x.shape[-1]) for x in result)
    return result.reshape(result.shape[0], n_heads, 1, result.shape[-1])


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


def _beside_a_sink(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    allowed: Tensor | None,
    sinks: Tensor,
    scale: float | None,
    *,
    is_causal: bool,
    dropout: float,
) -> Tensor:
    """Let the fused kernel attend to one key more, in front, whose value is zero and whose score the sink.

    A further column makes that score: 1 in the queries, 0 in the keys, the sink (n_heads, 1, 1) in the new
    one. A second one holds what rounding to half precision takes from the first.
    """
    d, d_v = q.shape[-1], v.shape[-1]
    width = (max(d, d_v) + 2 + 7) // 8 * 8  # eights, and one width for all: what the kernels ask for
    scale = 1 / math.sqrt(d) if scale is None else scale
    score = working(sinks) / scale
    rough = score.to(torch.bfloat16).to(q.dtype)  # autocast may round to it, too
    rest = (score - rough).nan_to_num(0.0, 0.0, 0.0).to(q.dtype)  # -inf, which is no sink, leaves no rest
    new = F.pad(torch.cat((rough, rest), -1), (d, width - d - 2))  # (n_heads, 1, width)
    lead = torch.broadcast_shapes(k.shape[:-2], new.shape[:-2])
    k = F.pad(k, (0, width - d)).expand(*lead, -1, -1)
    k = torch.cat((new.expand(*lead, -1, -1), k), -2)  # (..., 1 + n_k, width)
    v = F.pad(v, (0, width - d_v, 1, 0))
    q = F.pad(q, (0, width - d, int(is_causal), 0), value=1.0)  # with a query beside the key: still causal
    if allowed is not None:
        allowed = allowed.expand(*allowed.shape[:-1], k.shape[-2] - 1)
        allowed = F.pad(allowed, (1, 0), value=allowed.dtype == torch.bool)
    out = F.scaled_dot_product_attention(
        q, k, v, attn_mask=allowed, dropout_p=dropout, is_causal=is_causal, scale=scale
    )
    return out[..., int(is_causal) :, :d_v]


def _weights(
    q: Tensor,
    k: Tensor,
    allowed: Tensor | None,
    scale: float | None,
    is_causal: bool,
    sinks: Tensor | None = None,
) -> Tensor:
    dtype = q.dtype
    q, k = (working(x) for x in (q, k))  # as within the fused kernels
    with without_autocast(q):
        scores = _scaled_dot(q, k, scale)  # (..., n_q, n_k)
        if allowed is not None:
            # Added, not filled in, as the kernels do it: NaN + -inf is NaN on both roads.
            scores = scores + (_as_bias(allowed, scores) if allowed.dtype == torch.bool else allowed)
        elif is_causal:
            scores.masked_fill_(~_past(q), -math.inf)
        return _softmax(scores, sinks).to(dtype)


def _softmax(scores: Tensor, sinks: Tensor | None) -> Tensor:
    """Weigh scores (..., n_q, n_k), of which a sink takes its share."""
    if sinks is None:
        return torch.softmax(scores, -1)
    sinks = sinks.to(scores.dtype).expand(*scores.shape[:-1], 1)
    return torch.softmax(torch.cat((sinks, scores), -1), -1)[..., 1:]


def _modified_weights(
    q: Tensor,
    k: Tensor,
    shape: Sequence[int],
    mask: Tensor | None,
    bias: Tensor | None,
    score_mod: ScoreMod,
    scale: float | None,
    sinks: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Return weights of changed scores (..., n_q, n_k), and which rows (..., n_q, 1) have no score left."""
    with without_autocast(q):
        scores = _modified(_scaled_dot(working(q), working(k), scale).expand(shape), score_mod)
        if bias is not None:
            scores = scores + bias
        if mask is not None:  # filled in, not added: the function may have made NaN of what is hidden
            scores = scores.masked_fill(~mask, -math.inf)
        empty = (scores == -math.inf).all(-1, keepdim=True)
        return _softmax(scores.masked_fill(empty, 0.0), sinks).to(q.dtype), empty


def _modified(scores: Tensor, score_mod: ScoreMod) -> Tensor:
    """Call the function with scores (..., n_q, n_k) and what counts them, and check what it returns."""
    shape, dims = scores.shape, scores.dim()

    def along(dim: int) -> Tensor:
        count = torch.arange(shape[dim], device=scores.device)
        return count.view([-1 if at == dim else 1 for at in range(dims)])

    none = torch.zeros((), dtype=torch.long, device=scores.device)
    b, h = along(0) if dims > 2 else none, along(dims - 3) if dims > 3 else none
    q_idx, kv_idx = (torch.arange(n, device=scores.device) for n in shape[-2:])
    out = score_mod(scores, b, h, q_idx[:, None], kv_idx)
    is_tensor("what score_mod returns", out)
    if out.dtype != scores.dtype:
        raise TypeError(f"score_mod must return scores of dtype {scores.dtype}, as it got, got {out.dtype}")
    if out.shape == shape:
        return out
    try:
        return out.expand(shape)
    except RuntimeError:
        raise ValueError(
            f"score_mod must return scores of shape {tuple(shape)}, got {tuple(out.shape)}"
        ) from None


def _as_bias(mask: Tensor, scores: Tensor) -> Tensor:
    return torch.zeros_like(mask, dtype=scores.dtype).masked_fill(~mask, -math.inf)


def _past(q: Tensor) -> Tensor:
    """Return the causal mask (n, n) for queries (..., n, d). There may be none of them."""
    n = q.shape[-2]
    return torch.ones(n, n, dtype=torch.bool, device=q.device).tril()
