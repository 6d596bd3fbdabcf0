"""Decoding with a cache that lies on many devices."""

from __future__ import annotations

import torch
from torch import Tensor

from attnlab.distributed.merging import merge, partial_attention
from attnlab.distributed.traffic import Communicator, described


def split_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    comm: Communicator,
    *,
    mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Attend from queries that all processes have to keys and values of which each holds some.

    Equal to `grouped_attention` on all keys, in whatever order. Each process attends to its own part of the
    cache; the partial results, one vector and one number a query and head, go to all and are merged. How much
    is sent does not depend on how long the text is.

    Args:
        q: queries (batch, n_heads, n_q, d_k), the same in all processes.
        k: keys held here (batch, n_kv_heads, n_here, d_k); there may be none.
        v: their values (batch, n_kv_heads, n_here, d_v).
        comm: the processes; the same call is made in each of them.
        mask: boolean, True = may attend to a key held here: (n_q, n_here), or with the four dimensions of the
            scores. One new query needs none; several, that see each other in order, do.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.

    Returns:
        Output (batch, n_heads, n_q, d_v), the same in all processes.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: a shape does not fit, or another process is about to do something else.
        RuntimeError: a gradient is wanted. Decode under torch.no_grad().

    References:
        Dao et al. 2023 (Flash-Decoding); Milakov and Gimelshein 2018, section 3.

    >>> q, k, v = torch.zeros(1, 4, 1, 8), torch.zeros(1, 2, 3, 8), torch.ones(1, 2, 3, 5)
    >>> split_attention(q, k, v, Communicator()).shape
    torch.Size([1, 4, 1, 5])
    """
    if torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v)):
        raise RuntimeError("split_attention passes back no gradient: decode under torch.no_grad()")
    out, lse = partial_attention(q, k, v, mask=mask, scale=scale)
    comm.agree(f"split_attention of {described(q=q, k=k, v=v)}, {q.shape[2]} queries, scale={scale}", q)
    found = torch.cat((out, lse[..., None]), -1)  # (batch, n_heads, n_q, d_v + 1)
    parts = comm.all_gather(found, [found.shape] * comm.size, "partial results")
    return merge([part[..., :-1] for part in parts], [part[..., -1] for part in parts])[0].to(v.dtype)
