"""How relevant is each key to each query, and how scores become weights.

Score functions take queries (..., n_q, d_k) and keys (..., n_k, d_k) and return (..., n_q, n_k). All are
plain tensor operations: they run under autograd to any order, under `torch.func` and, whole, under
`torch.compile`.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnlab.arguments import check_mask, has_shape, is_tensor
from attnlab.precision import working


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
    return _scaled_dot(q, k, scale)


def _scaled_dot(q: Tensor, k: Tensor, scale: float | None) -> Tensor:
    """Do what `scaled_dot` does, on arguments that were checked at the caller's door."""
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
    has_shape("w", w, (q.shape[-1], k.shape[-1]))
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
    has_shape("w_q", w_q, (q.shape[-1], d_a))
    has_shape("w_k", w_k, (k.shape[-1], d_a))
    has_shape("v", v, (d_a,))
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
    has_shape("w", w, (d_q + k.shape[-1], w.shape[-1]))
    return additive(q, k, w[:d_q], w[d_q:], v)


def softmax(scores: Tensor, mask: Tensor | None = None, dim: int = -1, *, temperature: float = 1.0) -> Tensor:
    """Turn scores into weights that are positive and sum to one along `dim`.

    The largest score is subtracted first: no exponential overflows. A row in which nothing is allowed is all
    zeros, never NaN, and passes back zero gradient.

    Args:
        scores: any shape, any floating dtype; -inf counts as "not allowed".
        mask: boolean, True = may attend: of two dimensions, the last two of `scores`, or of all of theirs.
        dim: the axis whose entries share the weight.
        temperature: divides the scores; towards 0 the largest takes all, a large one makes all alike.

    Returns:
        Weights, the shape of `scores`.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: the mask does not fit `scores`, or the temperature is not positive.

    >>> softmax(torch.tensor([[0.0, 0.0], [5.0, 1.0]]), torch.tensor([[True, True], [False, False]])).tolist()
    [[0.5, 0.5], [0.0, 0.0]]
    """
    if isinstance(temperature, str) or not temperature > 0:
        raise ValueError(f"temperature must be positive, got {temperature!r}")
    scores, empty = _opened(scores, mask, dim)
    if temperature != 1.0 and scores.shape[dim]:
        # First subtract, then divide: a quotient by a small temperature soon leaves the range of half
        # precision, and where all have left it nobody knows any more which was the largest.
        scores = (scores - scores.amax(dim, keepdim=True).detach()) / temperature
    return torch.softmax(scores, dim).masked_fill(empty, 0.0)


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
    scores, empty = _opened(scores, mask, dim)
    if not scores.shape[dim]:
        return scores
    z = working(scores).transpose(dim, -1)  # sums of halves would not reach 1
    z = (z - z.amax(-1, keepdim=True).detach()).clamp_min(-2.0)  # below -1 no weight is left
    ordered = z.sort(-1, descending=True).values
    excess = ordered.cumsum(-1) - 1  # what the k largest have too much, together
    count = torch.arange(1, z.shape[-1] + 1, device=z.device, dtype=z.dtype)
    # How many keep a weight: one at least, even in a row of NaN, which has no larger and no smaller.
    support = (count * ordered > excess).sum(-1, keepdim=True).clamp_min(1)
    threshold = excess.gather(-1, support - 1) / support
    # What lies on the threshold keeps nothing and has no slope. (A clamp's slope there is torch's affair.)
    weights = (z - threshold).masked_fill(z <= threshold, 0.0)
    return weights.transpose(dim, -1).to(scores.dtype).masked_fill(empty, 0.0)


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
    return scores.relu() / allowed


def _hidden(scores: Tensor, mask: Tensor | None) -> Tensor:
    is_tensor("scores", scores)
    if mask is not None:
        check_mask(mask, scores.shape)
        return scores.masked_fill(~mask, -math.inf)
    return scores


def _opened(scores: Tensor, mask: Tensor | None, dim: int) -> tuple[Tensor, Tensor]:
    """Hide what the mask hides. Empty rows, returned too, are filled with zeros: those can be weighed."""
    scores = _hidden(scores, mask)
    # (not: == -inf).all, so that a row of NaN stays NaN: hiding a reader's bug would not be kind.
    empty = (scores == -math.inf).all(dim, keepdim=True)
    return scores.masked_fill(empty, 0.0), empty


def _same_width(q: Tensor, k: Tensor) -> None:
    is_tensor("q", q)
    is_tensor("k", k)
    if q.dim() < 2 or k.dim() < 2 or q.shape[-1] != k.shape[-1]:
        raise ValueError(
            "q (..., n_q, d_k) and k (..., n_k, d_k) must share their width d_k, "
            f"got q {tuple(q.shape)} and k {tuple(k.shape)}"
        )
