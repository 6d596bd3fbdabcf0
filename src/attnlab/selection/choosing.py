"""Which keys each query reads: scores of few numbers, the best of them, and how such scores are learned."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab.arguments import at_least, check_mask, has_shape, is_tensor
from attnlab.precision import without_autocast, working


def index_scores(q: Tensor, k: Tensor, weights: Tensor | None = None, *, scale: float = 1.0) -> Tensor:
    """Score keys by a few small heads: the sum over heads of weights · relu(scale · q kᵀ).

    The lightning indexer. All heads ask the same keys. A key that no head wants scores 0, many at once: what
    chooses by these scores must say what it does with equals (`top_keys` does).

    Args:
        q: (..., n_heads, n_q, width).
        k: (..., n_k, width).
        weights: how much each head counts for a query, (..., n_q, n_heads), of either sign; 1 unless given.
        scale: factor on q kᵀ.

    Returns:
        Scores (..., n_q, n_k), of float32 at least.

    Raises:
        ValueError: a shape does not fit.

    References:
        DeepSeek-AI 2025 (DeepSeek-V3.2), section 2.1, equation 1.

    >>> q, k = torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]]]), torch.tensor([[3.0, 1.0], [-2.0, 5.0]])
    >>> index_scores(q, k, torch.tensor([[1.0, 10.0]])).tolist()
    [[13.0, 50.0]]
    """
    is_tensor("q", q)
    is_tensor("k", k)
    if q.dim() < 3 or k.dim() < 2 or q.shape[-1] != k.shape[-1]:
        raise ValueError(
            "q (..., n_heads, n_q, width) and k (..., n_k, width) must share their width, "
            f"got q {tuple(q.shape)} and k {tuple(k.shape)}"
        )
    if weights is not None:
        shape = (*q.shape[:-3], q.shape[-2], q.shape[-3])
        has_shape("weights", weights, shape, "(..., n_q, n_heads)")
    with without_autocast(q):
        scores = (working(q * scale) @ working(k).mT.unsqueeze(-3)).relu_()  # (..., n_heads, n_q, n_k)
        if weights is None:
            return scores.sum(-3)
        return torch.einsum("...hqk,...qh->...qk", scores, working(weights))


@torch.no_grad()
def top_keys(scores: Tensor, top: int, *, mask: Tensor | None = None) -> Tensor:
    """Find for each query the places of the keys with the largest scores, the largest first.

    Scores are compared in float32, and of equal ones the earlier key is taken, on every device: so the same
    keys come out of a whole text and of one that is decoded token by token. The choice has no gradient.

    Args:
        scores: (..., n_q, n_k); -inf is never chosen.
        top: how many keys a query reads at most.
        mask: boolean, True = may be chosen: (n_q, n_k), or with every dimension of the scores.

    Returns:
        Places (..., n_q, min(top, n_k)), whole numbers; -1, behind the others, where there were fewer.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: top is smaller than 1, or the mask does not fit.

    >>> top_keys(torch.tensor([[0.0, 7.0, 0.0, 0.0]]), 3).tolist()
    [[1, 0, 2]]
    >>> top_keys(torch.zeros(2, 2), 2, mask=torch.tensor([[True, False], [True, True]])).tolist()
    [[0, -1], [0, 1]]
    """
    is_tensor("scores", scores)
    at_least(1, top=top)
    if mask is not None:
        check_mask(mask, scores.shape)
        scores = scores.masked_fill(~mask, -torch.inf)
    n_k = scores.shape[-1]
    top = min(top, n_k)
    places = torch.arange(n_k, device=scores.device).expand_as(scores)
    block_size = round((n_k / max(1, top)) ** 0.5)
    if block_size > 1:
        # The best keys lie in as many blocks at most, those with the best maxima: so only n_k / block_size
        # maxima and top · block_size keys are put in order.
        scores = F.pad(scores, (0, -n_k % block_size), value=-torch.inf)
        blocks = scores.unflatten(-1, (-1, block_size)).amax(-1)
        best = _best(blocks, torch.arange(blocks.shape[-1], device=scores.device), top)
        places = best[..., None] * block_size + torch.arange(block_size, device=scores.device)
        places = places.flatten(-2)
        scores = scores.gather(-1, places)
    best = _best(scores, places, top)
    return places.gather(-1, best).masked_fill(scores.gather(-1, best) == -torch.inf, -1)


def _best(scores: Tensor, places: Tensor, top: int) -> Tensor:
    """Return where the largest scores (..., n) stand, in order; of equal ones that of the first place."""
    # The bits of a number are in its order once those of negative ones are turned round. With the place in
    # the lower half of a longer number no two are equal. (Adding 0 makes 0 of -0.)
    bits = (scores.float() + 0.0).view(torch.int32)
    bits = bits ^ (bits >> 31 & 0x7FFFFFFF)
    return ((bits.long() << 32) - places).topk(min(top, scores.shape[-1])).indices


def keys_of_blocks(blocks: Tensor, block_size: int, n_k: int) -> Tensor:
    """Turn places of blocks into places of the keys in them, up to the query itself.

    Args:
        blocks: places of blocks (..., n_q, top); block b holds the keys from b · block_size on. -1 is nobody.
        block_size: keys in a block.
        n_k: number of keys; the queries are the last n_q of them.

    Returns:
        Places of keys (..., n_q, top · block_size); -1 for those of nobody and those behind the query.

    Raises:
        ValueError: block_size or n_k is too small.

    >>> keys_of_blocks(torch.tensor([[0, -1], [1, 0]]), 2, 4).tolist()
    [[0, 1, -1, -1], [2, 3, 0, 1]]
    """
    is_tensor("blocks", blocks)
    n_q = blocks.shape[-2]
    at_least(1, block_size=block_size)
    at_least(n_q, n_k=n_k)
    places = blocks[..., None] * block_size + torch.arange(block_size, device=blocks.device)
    at = torch.arange(n_k - n_q, n_k, device=blocks.device)[:, None, None]
    return places.masked_fill((blocks[..., None] < 0) | (places > at), -1).flatten(-2)


def selection_mask(places: Tensor, n_k: int) -> Tensor:
    """Write places as a mask: what dense attention needs to read the same keys.

    Args:
        places: (..., n_q, top); -1 is nobody.
        n_k: number of keys.

    Returns:
        Boolean mask (..., n_q, n_k), True where a place is. Places of all heads, (batch, n_q, top), make a
        mask (batch, n_q, n_k): write `[:, None]` for scores with heads.

    >>> selection_mask(torch.tensor([[2, 0], [1, -1]]), 3).int().tolist()
    [[1, 0, 1], [0, 1, 0]]
    """
    is_tensor("places", places)
    seen = torch.zeros(*places.shape[:-1], n_k + 1, dtype=torch.bool, device=places.device)
    return seen.scatter(-1, places.where(places >= 0, n_k), torch.ones_like(places, dtype=torch.bool))[
        ..., :n_k
    ]


def imitation_loss(
    scores: Tensor, weights: Tensor, *, mask: Tensor | None = None, places: Tensor | None = None
) -> Tensor:
    """Say how far an indexer is from dense attention: the divergence KL(weights, softmax of its scores).

    The choice itself has no slope, so an indexer is trained to imitate: at first the weights over all keys,
    later those over the keys it selects. Tokens and weights are given detached: the loss trains the indexer
    alone, and the loss of the model trains the rest.

    Args:
        scores: those of the indexer, (batch, n_q, n_k).
        weights: what dense attention gave, (batch, n_heads, n_q, n_k), whose mean over heads is imitated, or
            (batch, n_q, n_k).
        mask: boolean, True = may be attended to: (n_q, n_k) or (batch, n_q, n_k), that of the attention.
        places: the keys that were selected, (batch, n_q, top); all are compared unless given. The weights are
            then divided by their sum over these.

    Returns:
        The mean over queries, in nats, at least 0. A query without weight adds nothing.

    Raises:
        ValueError: a shape does not fit.

    References:
        DeepSeek-AI 2025 (DeepSeek-V3.2), section 2.1.1, equations 3 and 4.

    >>> imitation_loss(torch.tensor([[[0.0, 0.0]]]), torch.tensor([[[1.0, 0.0]]])).exp().item()
    2.0
    """
    is_tensor("scores", scores)
    is_tensor("weights", weights)
    wanted = weights.mean(1) if weights.dim() == 4 else weights
    has_shape("weights", wanted, scores.shape, "(batch, n_q, n_k)")
    if mask is not None:
        check_mask(mask, scores.shape)
        scores = scores.masked_fill(~mask, -torch.inf)
    if places is not None:
        nobody, at = places < 0, places.clamp(min=0)
        scores = scores.gather(-1, at).masked_fill(nobody, -torch.inf)
        wanted = wanted.gather(-1, at).masked_fill(nobody, 0.0)
        wanted = wanted / wanted.sum(-1, keepdim=True).clamp(min=torch.finfo(wanted.dtype).tiny)
    # Where nothing is wanted nothing is asked: -inf times 0 would be NaN.
    log = scores.masked_fill((scores == -torch.inf).all(-1, keepdim=True), 0.0).log_softmax(-1)
    divergence = (torch.xlogy(wanted, wanted) - wanted * log.masked_fill(wanted == 0, 0.0)).sum(-1)
    return divergence.sum() / max(1, divergence.numel())
