"""Attention over keys that were chosen, alone or beside a summary and a window."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab import sparse
from attnlab.arguments import at_least, chance, grouped_scores_shape, has_shape, is_tensor
from attnlab.dot_product import attention, grouped_attention
from attnlab.selection.choosing import keys_of_blocks, top_keys

Pool = Callable[[Tensor], Tensor]


def selected_attention(
    q: Tensor, k: Tensor, v: Tensor, places: Tensor, *, scale: float | None = None, dropout: float = 0.0
) -> Tensor:
    """Attend to chosen keys alone, which are gathered: n_q · top scores a head instead of n_q · n_k.

    Equal to `grouped_attention(q, k, v, mask=selection_mask(places, n_k))`, forward and backward. What is
    gathered serves all query heads that share a key-value head: the more they are, the less the gathering
    costs beside the products. It goes in portions of the queries, so nothing of n_q · n_k numbers is made.
    Where gradients are wanted, what was gathered is kept: top (d_k + d_v) numbers a query and key-value head.

    Args:
        q: queries (batch, n_heads, n_q, d_k).
        k: keys (batch, n_kv_heads, n_k, d_k).
        v: values (batch, n_kv_heads, n_k, d_v).
        places: whom each query reads, all different: (batch, n_q, top), for all heads alike, or
            (batch, n_kv_heads, n_q, top). -1 is nobody.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.
        dropout: chance of each weight to be dropped, in training.

    Returns:
        Output (batch, n_heads, n_q, d_v); zeros for a query that reads nobody.

    Raises:
        TypeError: places are no whole numbers.
        ValueError: a shape does not fit, or dropout is no chance.

    References:
        DeepSeek-AI 2025 (DeepSeek-V3.2), section 2.1, equation 2; Yuan et al. 2025, section 3.4.

    >>> q, k, v = torch.zeros(1, 2, 3, 4), torch.zeros(1, 1, 3, 4), torch.tensor([[[[1.0], [3.0], [8.0]]]])
    >>> selected_attention(q, k, v, torch.tensor([[[0, -1], [1, 0], [0, 2]]]))[0, 1].tolist()
    [[1.0], [2.0], [4.5]]
    """
    batch, n_heads, n_q, n_k = grouped_scores_shape(q, k, v)
    chance(dropout=dropout)
    is_tensor("places", places)
    n_kv_heads, lead = k.shape[1], (batch, n_q) if places.dim() == 3 else (batch, k.shape[1], n_q)
    has_shape("places", places, (*lead, *places.shape[-1:]), "(batch, n_q, top)")
    if places.dtype != torch.long:
        raise TypeError(f"places must be whole numbers (torch.long), got dtype {places.dtype}")
    places = places[:, None] if places.dim() == 3 else places
    top, count = places.shape[-1], batch * n_kv_heads
    group = n_heads // max(1, n_kv_heads)
    q = q.unflatten(1, (n_kv_heads, group)).transpose(2, 3).flatten(0, 1)  # (count, n_q, group, d_k)
    seen = (places >= 0).expand(-1, n_kv_heads, -1, -1).flatten(0, 1).unsqueeze(-2)  # (count, n_q, 1, top)
    first = n_k * torch.arange(count, device=k.device).view(batch, n_kv_heads, 1, 1)
    rows = (places.clamp(min=0) + first).flatten(0, 1)  # (count, n_q, top), in a table of all heads' keys
    at_once = GATHERED.get(k.device.type, GATHERED["cuda"])
    portion = max(1, at_once // max(1, count * top * (k.shape[-1] + v.shape[-1])))
    out = [
        attention(
            q[:, start : start + portion],
            _rows_of(k, rows[:, start : start + portion]),
            _rows_of(v, rows[:, start : start + portion]),
            mask=seen[:, start : start + portion],
            scale=scale,
            dropout=dropout,
        )
        for start in range(0, max(n_q, 1), portion)
    ]
    out = torch.cat(out, 1).unflatten(0, (batch, n_kv_heads))  # (batch, n_kv_heads, n_q, group, d_v)
    return out.transpose(2, 3).flatten(1, 2)


GATHERED = {"cpu": 2**20, "cuda": 2**28}
"""How many numbers are gathered at once: near a processor few, on a GPU enough to keep it busy."""


def _rows_of(x: Tensor, rows: Tensor) -> Tensor:
    """Return rows (count, n_q, top, d) of a table of the keys of all heads, (batch, n_kv_heads, n_k, d)."""
    if not rows.numel():
        return x.new_zeros(*rows.shape, x.shape[-1])
    return F.embedding(rows, x.flatten(0, 2))


def branched_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    gates: Tensor,
    *,
    block_size: int,
    top: int,
    window: int,
    pool: Pool | None = None,
    scale: float | None = None,
) -> Tensor:
    """Attend causally on three roads, and add what they found, each times a gate.

    *Compressed*: to one key and value for each block that has ended. *Selected*: to all keys of the `top`
    blocks that the first road weighs most, the query's own among them. *Window*: to the last tokens. The
    heads that share keys choose together, by the sum of their weights.

    Args:
        q: queries (batch, n_heads, n, d_k).
        k: keys (batch, n_kv_heads, n, d_k).
        v: values (batch, n_kv_heads, n, d_v).
        gates: (batch, n_heads, n, 3), as a sigmoid of the token makes them: for each road its factor.
        block_size: tokens a block.
        top: how many blocks a query reads, its own counted.
        window: how many tokens the last road sees, itself counted.
        pool: makes one key or value of a block, (..., blocks, block_size, d) -> (..., blocks, d); their mean
            unless given. A module that is given trains.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.

    Returns:
        Output (batch, n_heads, n, d_v).

    Raises:
        ValueError: a shape does not fit, or a size is smaller than 1.

    References:
        Yuan et al. 2025, sections 3.2 and 3.3, where each road has keys and values of its own, and blocks
        overlap.

    >>> q, k, v = torch.randn(3, 1, 2, 9, 4)
    >>> branched_attention(q, k, v, torch.ones(1, 2, 9, 3), block_size=4, top=2, window=3).shape
    torch.Size([1, 2, 9, 4])
    """
    batch, n_heads, n, n_k = grouped_scores_shape(q, k, v)
    at_least(1, block_size=block_size, top=top, window=window)
    has_shape("gates", gates, (batch, n_heads, n, 3), "(batch, n_heads, n, 3)")
    if n != n_k:
        raise ValueError(f"each token reads those before it: as many keys as queries, got {n_k} and {n}")
    n_kv_heads, group = k.shape[1], n_heads // max(1, k.shape[1])
    ended, at = n // block_size, torch.arange(n, device=q.device)
    blocks = torch.arange(-(-n // block_size), device=q.device)  # one of them may not have ended
    pool = (lambda x: x.mean(-2)) if pool is None else pool
    few = [pool(x[:, :, : ended * block_size].unflatten(2, (ended, block_size))) for x in (k, v)]
    past = (blocks[:ended] + 1) * block_size <= at[:, None] + 1  # (n, ended)
    compressed, weights = grouped_attention(q, *few, mask=past, scale=scale, need_weights=True)

    shares = weights.detach().unflatten(1, (n_kv_heads, group)).sum(2)  # (batch, n_kv_heads, n, ended)
    shares = F.pad(shares, (0, len(blocks) - ended))
    shares = shares.masked_fill(blocks == at[:, None] // block_size, torch.inf)
    chosen = top_keys(shares, top, mask=blocks * block_size <= at[:, None])
    selected = selected_attention(q, k, v, keys_of_blocks(chosen, block_size, n), scale=scale)

    k, v = (x.repeat_interleave(group, 1) for x in (k, v))
    near = sparse.window(q, k, v, window - 1, 0, scale=scale)
    return torch.einsum("bhnc,cbhnd->bhnd", gates, torch.stack((compressed, selected, near)))
