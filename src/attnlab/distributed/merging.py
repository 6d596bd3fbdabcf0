"""Partial results of attention, and what they come to together."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from attnlab.arguments import check_mask, grouped_scores_shape, has_shape, is_tensor
from attnlab.precision import without_autocast, working, working_dtype


def partial_attention(
    q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    """Attend to some of the keys, and keep what is needed to add the others later.

    Args:
        q: queries (batch, n_heads, n_q, d_k).
        k: some of the keys (batch, n_kv_heads, n_k, d_k); n_kv_heads divides n_heads.
        v: their values (batch, n_kv_heads, n_k, d_v).
        mask: boolean, True = may attend: (n_q, n_k), or with the four dimensions of the scores.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.

    Returns:
        Output (batch, n_heads, n_q, d_v), as if there were no other keys, and the logarithm of the sum of the
        exponentials of the scores (batch, n_heads, n_q), both in float32 at least. Who sees no key has zeros
        and -inf. Both can be differentiated.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: a shape does not fit.

    References:
        Rabe and Staats 2021, section 3; Dao et al. 2023 (Flash-Decoding).

    >>> q, k, v = torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 3, 2), torch.tensor([[[[1.0], [2.0], [6.0]]]])
    >>> out, lse = partial_attention(q, k, v)
    >>> out.item(), round(lse.exp().item(), 3)
    (3.0, 3.0)
    """
    shape = grouped_scores_shape(q, k, v)
    if mask is not None:
        check_mask(mask, shape)
        mask = (mask if mask.dim() == 4 else mask[None, None]).expand(shape)
        mask = mask.unflatten(1, (k.shape[1], -1))
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    with without_autocast(q):
        q = working(q).unflatten(1, (k.shape[1], -1))
        out, lse = found(q, working(k), working(v), mask, scale)
    return out.flatten(1, 2), lse.flatten(1, 2)[..., 0]


def merge(outs: Sequence[Tensor], lses: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Join partial results of attention, which saw different keys, into what all the keys give.

    With Z_i = exp(lse_i), the sum of exponentials that part i found: out = Σ Z_i out_i / Σ Z_i, and
    lse = log Σ Z_i. Any number of parts, in any order, also of parts that are merged ones themselves. Parts
    may be empty.

    Args:
        outs: outputs (..., n_q, d_v), at least one.
        lses: for each the logarithm of its sum (..., n_q); -inf where the part saw no key, and then whatever
            its output holds there counts for nothing.

    Returns:
        The output (..., n_q, d_v) and its lse (..., n_q), in float32 at least. A query that no part has a key
        for gets zeros and -inf, and passes back zero gradient.

    Raises:
        ValueError: there is no part, or a shape does not fit.

    References:
        Milakov and Gimelshein 2018, section 3; Rabe and Staats 2021, section 3; Dao et al. 2023.

    >>> out, lse = merge([torch.tensor([[3.0]]), torch.tensor([[7.0]])], [torch.zeros(1), torch.zeros(1)])
    >>> out.item(), round(lse.exp().item(), 4)
    (5.0, 2.0)
    """
    if not outs or len(outs) != len(lses):
        raise ValueError(f"merge needs parts, each with its lse; got {len(outs)} and {len(lses)}")
    is_tensor("outs[0]", outs[0])
    for at, (out, lse) in enumerate(zip(outs, lses, strict=True)):
        has_shape(f"outs[{at}]", out, outs[0].shape)
        has_shape(f"lses[{at}]", lse, out.shape[:-1], "(..., n_q)")
    sums = torch.stack([working(lse) for lse in lses])[..., None]  # (parts, ..., n_q, 1)
    highest = sums.detach().amax(0)
    highest = highest.masked_fill(highest == -math.inf, 0.0)
    shares = (sums - highest).exp()
    total = shares.sum(0)
    nothing = total == 0
    total = total.masked_fill(nothing, 1.0)
    parts = torch.stack([working(out) for out in outs]).masked_fill(sums == -math.inf, 0.0)
    out = (shares / total * parts).sum(0)
    return out, (highest + total.log()).masked_fill(nothing, -math.inf)[..., 0]


def found(q: Tensor, k: Tensor, v: Tensor, seen: Tensor | None, scale: float) -> tuple[Tensor, Tensor]:
    """Attend to some keys: q (batch, n_kv_heads, group, n_q, d), output and lse (..., n_q, 1) likewise."""
    if 0 in k.shape[:-1] or 0 in q.shape[:-1]:
        nothing = (q.sum(-1, keepdim=True) * 0) + 0 * (k.sum() + v.sum())
        return nothing.expand(*q.shape[:-1], v.shape[-1]), nothing - math.inf
    scores = scaled(q, k, seen, scale)  # (batch, n_kv_heads, group, n_q, n_k)
    highest = scores.detach().amax(-1, keepdim=True)
    highest = highest.masked_fill(highest == -math.inf, 0.0)
    weights = (scores - highest).exp()
    total = weights.sum(-1, keepdim=True)
    nothing = total == 0
    total = total.masked_fill(nothing, 1.0)
    out = together(weights, v) / total
    return out, (highest + total.log()).masked_fill(nothing, -math.inf)


def scaled(q: Tensor, k: Tensor, seen: Tensor | None, scale: float) -> Tensor:
    """Return scores (batch, n_kv_heads, group, n_q, n_k), -inf where nothing is seen."""
    scores = together(q, k.mT) * scale
    return scores if seen is None else scores.masked_fill(~seen, -math.inf)


def together(x: Tensor, y: Tensor) -> Tensor:
    """Multiply x (..., group, n, d) by y (..., d, e): a group's heads are the rows of one matrix."""
    return (x.flatten(-3, -2) @ y).unflatten(-2, x.shape[-3:-1])


def like(x: Tensor, *shape: int) -> Tensor:
    """Make zeros in which sums can be kept: on x's device, in float32 at least."""
    return torch.zeros(shape, device=x.device, dtype=working_dtype(x.dtype))
