"""How relevant is each key to each query, and how scores become weights.

Score functions take queries (..., n_q, d_k) and keys (..., n_k, d_k) and return (..., n_q, n_k).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def dot(q: Tensor, k: Tensor) -> Tensor:
    """Score every query against every key by their dot product, q kᵀ.

    Args:
        q: queries (..., n_q, d_k).
        k: keys (..., n_k, d_k).

    Returns:
        Scores (..., n_q, n_k).

    Raises:
        ValueError: the widths of q and k differ.

    References:
        Luong et al. 2015, section 3.1 ("dot").

    >>> dot(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]])).tolist()
    [[11.0, 2.0]]
    """
    _same_width(q, k)
    return q @ k.transpose(-2, -1)


def scaled_dot(q: Tensor, k: Tensor, scale: float | None = None) -> Tensor:
    """Score by the dot product times `scale`, so that the spread of the scores does not grow with d_k.

    Args:
        q: queries (..., n_q, d_k).
        k: keys (..., n_k, d_k).
        scale: factor on every score; 1/sqrt(d_k) unless given.

    Returns:
        Scores (..., n_q, n_k).

    Raises:
        ValueError: the widths of q and k differ.

    References:
        Vaswani et al. 2017, section 3.2.1.

    >>> scaled_dot(torch.ones(1, 4), torch.ones(2, 4)).tolist()
    [[2.0, 2.0]]
    """
    _same_width(q, k)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    # Scaling q costs n·d multiplications, scaling the scores n²; and unscaled scores overflow fp16 sooner.
    return (q * scale) @ k.transpose(-2, -1)


def general(q: Tensor, k: Tensor, w: Tensor) -> Tensor:
    """Score through a learned matrix, q W kᵀ: queries and keys may differ in width and in language.

    Args:
        q: queries (..., n_q, d_q).
        k: keys (..., n_k, d_k).
        w: (d_q, d_k).

    Returns:
        Scores (..., n_q, n_k).

    Raises:
        ValueError: w does not have the shape (d_q, d_k).

    References:
        Luong et al. 2015, section 3.1 ("general").

    >>> general(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0]]), torch.tensor([[1.0], [10.0]])).tolist()
    [[63.0]]
    """
    _has_shape("w", w, (q.shape[-1], k.shape[-1]))
    return q @ w @ k.transpose(-2, -1)


def additive(q: Tensor, k: Tensor, w_q: Tensor, w_k: Tensor, v: Tensor) -> Tensor:
    """Score with a small network, v · tanh(q W_q + k W_k).

    Args:
        q: queries (..., n_q, d_q).
        k: keys (..., n_k, d_k).
        w_q: (d_q, d_a).
        w_k: (d_k, d_a).
        v: (d_a,).

    Returns:
        Scores (..., n_q, n_k).

    Raises:
        ValueError: a weight does not have its shape.

    References:
        Bahdanau et al. 2015, appendix A.1.2.

    >>> one = torch.ones(1, 1)
    >>> additive(one, -one, one, one, torch.ones(1)).tolist()
    [[0.0]]
    """
    d_a = w_q.shape[-1]
    _has_shape("w_q", w_q, (q.shape[-1], d_a))
    _has_shape("w_k", w_k, (k.shape[-1], d_a))
    _has_shape("v", v, (d_a,))
    hidden = (q @ w_q)[..., :, None, :] + (k @ w_k)[..., None, :, :]  # (..., n_q, n_k, d_a)
    return hidden.tanh() @ v


def concat(q: Tensor, k: Tensor, w: Tensor, v: Tensor) -> Tensor:
    """Score with a network on query and key side by side, v · tanh([q; k] W): `additive` in one matrix.

    Args:
        q: queries (..., n_q, d_q).
        k: keys (..., n_k, d_k).
        w: (d_q + d_k, d_a).
        v: (d_a,).

    Returns:
        Scores (..., n_q, n_k).

    Raises:
        ValueError: a weight does not have its shape.

    References:
        Luong et al. 2015, section 3.1 ("concat").

    >>> concat(torch.ones(1, 1), -torch.ones(1, 1), torch.ones(2, 1), torch.ones(1)).tolist()
    [[0.0]]
    """
    d_q = q.shape[-1]
    _has_shape("w", w, (d_q + k.shape[-1], w.shape[-1]))
    return additive(q, k, w[:d_q], w[d_q:], v)


def softmax(scores: Tensor, mask: Tensor | None = None, dim: int = -1, *, temperature: float = 1.0) -> Tensor:
    """Turn scores into weights that are positive and sum to one along `dim`.

    The largest score is subtracted first: no exponential overflows. A row in which nothing is allowed is all
    zeros, never NaN, and passes back zero gradient.

    Args:
        scores: any shape, any floating dtype; -inf counts as "not allowed".
        mask: boolean, broadcastable to `scores`, True = may attend.
        dim: the axis whose entries share the weight.
        temperature: divides the scores; towards 0 the largest takes all, a large one makes all alike.

    Returns:
        Weights, the shape of `scores`.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: the mask does not broadcast to the shape of `scores`, or the temperature is not positive.

    >>> softmax(torch.tensor([[0.0, 0.0], [5.0, 1.0]]), torch.tensor([[True, True], [False, False]])).tolist()
    [[0.5, 0.5], [0.0, 0.0]]
    """
    scores = _hidden(scores, mask)
    if temperature != 1.0:
        if not temperature > 0:
            raise ValueError(f"temperature must be positive, got {temperature}")
        scores = scores / temperature
    # (not: == -inf).all, so that a row of NaN stays NaN: hiding a reader's bug would not be kind.
    empty = (scores == -math.inf).all(dim, keepdim=True)
    return torch.softmax(scores.masked_fill(empty, 0.0), dim).masked_fill(empty, 0.0)


def sparsemax(scores: Tensor, mask: Tensor | None = None, dim: int = -1) -> Tensor:
    """Turn scores into weights by the nearest point of the simplex: small scores get exactly zero.

    Args:
        scores: as in `softmax`.
        mask: as in `softmax`.
        dim: the axis whose entries share the weight.

    Returns:
        Weights, the shape of `scores`; a row in which nothing is allowed is all zeros.

    Raises:
        TypeError, ValueError: the mask does not fit, as in `softmax`.

    References:
        Martins and Astudillo 2016, algorithm 1.

    >>> sparsemax(torch.tensor([1.0, 0.5, -1.0])).tolist()
    [0.75, 0.25, 0.0]
    """
    scores = _hidden(scores, mask)
    empty = (scores == -math.inf).all(dim, keepdim=True)
    z = scores.masked_fill(empty, 0.0).transpose(dim, -1)
    z = (z - z.amax(-1, keepdim=True).detach()).clamp_min(-2.0)  # below -1 no weight is left
    ordered = z.sort(-1, descending=True).values
    excess = ordered.cumsum(-1) - 1  # what the k largest have too much, together
    count = torch.arange(1, z.shape[-1] + 1, device=z.device, dtype=z.dtype)
    support = (count * ordered > excess).sum(-1, keepdim=True)  # how many keep a weight
    threshold = excess.gather(-1, support - 1) / support
    return (z - threshold).clamp_min(0).transpose(dim, -1).masked_fill(empty, 0.0)


def relu(scores: Tensor, mask: Tensor | None = None, dim: int = -1) -> Tensor:
    """Turn scores into weights without letting them compete: the positive ones, divided by their number.

    Args:
        scores: as in `softmax`.
        mask: as in `softmax`.
        dim: the axis along which keys are counted; hidden keys are not.

    Returns:
        Weights, the shape of `scores`. A row need not sum to one; where nothing is allowed it is zeros.

    Raises:
        TypeError, ValueError: the mask does not fit, as in `softmax`.

    References:
        Wortsman et al. 2023, section 3.

    >>> relu(torch.tensor([2.0, -1.0])).tolist()
    [1.0, 0.0]
    """
    scores = _hidden(scores, mask)
    allowed = (scores > -math.inf).sum(dim, keepdim=True).clamp_min(1)
    return scores.clamp_min(0) / allowed


def check_mask(mask: Tensor, shape: tuple[int, ...] | torch.Size) -> None:
    """Say plainly what is wrong with a mask that cannot be used with scores of this shape.

    Args:
        mask: what the caller passed as a mask.
        shape: the shape of the scores, (..., n_q, n_k).

    Raises:
        TypeError: the mask is not a boolean tensor.
        ValueError: the mask does not broadcast to `shape`.

    >>> check_mask(torch.ones(2, 3, dtype=torch.bool), (8, 2, 3))
    >>> check_mask(torch.ones(2, 3), (8, 2, 3))
    Traceback (most recent call last):
    ...
    TypeError: mask must be a boolean tensor (True = may attend), got dtype torch.float32
    """
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        got = f"dtype {mask.dtype}" if isinstance(mask, Tensor) else type(mask).__name__
        raise TypeError(f"mask must be a boolean tensor (True = may attend), got {got}")
    check_broadcast("mask", mask, shape)


def check_broadcast(name: str, value: Tensor, shape: tuple[int, ...] | torch.Size) -> None:
    """Check that a tensor can be spread over scores of a given shape without enlarging them.

    Args:
        name: what the caller calls the tensor, for the message.
        value: the tensor.
        shape: the shape of the scores, (..., n_q, n_k).

    Raises:
        ValueError: it does not broadcast, or would enlarge the scores.

    >>> check_broadcast("bias", torch.zeros(3, 3), (2, 4, 4))
    Traceback (most recent call last):
    ...
    ValueError: bias of shape (3, 3) does not broadcast to the scores' shape (2, 4, 4)
    """
    try:
        fits = torch.broadcast_shapes(value.shape, shape) == torch.Size(shape)
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(
            f"{name} of shape {tuple(value.shape)} does not broadcast to the scores' shape {tuple(shape)}"
        )


def _hidden(scores: Tensor, mask: Tensor | None) -> Tensor:
    if mask is not None:
        check_mask(mask, scores.shape)
        return scores.masked_fill(~mask, -math.inf)
    return scores


def _has_shape(name: str, value: Tensor, shape: tuple[int, ...]) -> None:
    if value.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {tuple(value.shape)}")


def _same_width(q: Tensor, k: Tensor) -> None:
    if q.dim() < 2 or k.dim() < 2 or q.shape[-1] != k.shape[-1]:
        raise ValueError(
            "q (..., n_q, d_k) and k (..., n_k, d_k) must share their width d_k, "
            f"got q {tuple(q.shape)} and k {tuple(k.shape)}"
        )
