"""How relevant is each key to each query, and how scores become weights.

Every score function takes queries (..., n_q, d_k) and keys (..., n_k, d_k) and returns scores
(..., n_q, n_k).
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


def softmax(scores: Tensor, mask: Tensor | None = None, dim: int = -1) -> Tensor:
    """Turn scores into weights that are positive and sum to one along `dim`.

    The largest score is subtracted first, so no exponential overflows. A row in which nothing is allowed has
    no weights to give: it is all zeros, never NaN, and passes back zero gradient.

    Args:
        scores: any shape, any floating dtype; -inf counts as "not allowed".
        mask: boolean, broadcastable to `scores`, True = may attend.
        dim: the axis whose entries share the weight.

    Returns:
        Weights, the shape of `scores`.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: the mask does not broadcast to the shape of `scores`.

    >>> softmax(torch.tensor([[0.0, 0.0], [5.0, 1.0]]), torch.tensor([[True, True], [False, False]])).tolist()
    [[0.5, 0.5], [0.0, 0.0]]
    """
    if mask is not None:
        check_mask(mask, scores.shape)
        scores = scores.masked_fill(~mask, -math.inf)
    # (not: == -inf).all, so that a row of NaN stays NaN: hiding a reader's bug would not be kind.
    empty = (scores == -math.inf).all(dim, keepdim=True)
    return torch.softmax(scores.masked_fill(empty, 0.0), dim).masked_fill(empty, 0.0)


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


def _same_width(q: Tensor, k: Tensor) -> None:
    if q.dim() < 2 or k.dim() < 2 or q.shape[-1] != k.shape[-1]:
        raise ValueError(
            "q (..., n_q, d_k) and k (..., n_k, d_k) must share their width d_k, "
            f"got q {tuple(q.shape)} and k {tuple(k.shape)}"
        )
