"""All-to-all: tokens are exchanged for heads, attended to, and exchanged back."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor

from attnlab.arguments import no_second_derivative
from attnlab.distributed.ring import agreed, attended
from attnlab.distributed.splits import Split, compacted, heads_of
from attnlab.distributed.traffic import Communicator


def all_to_all_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    comm: Communicator,
    split: Split,
    *,
    is_causal: bool = False,
    window: tuple[int, int] | None = None,
    key_mask: Tensor | None = None,
    documents: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Attend over a sequence of which each process holds some tokens, by giving each some heads of all.

    Equal to `grouped_attention` on the whole sequence. One exchange brings to each process the queries of its
    heads and the keys and values that these read, of every token; it attends as if it were alone; a second
    exchange takes every output to where its token is. Query heads need not divide evenly, but there must be
    one for each process. Of fewer key-value heads than processes, one goes to all that read it, and its
    gradient is the sum of theirs.

    Args:
        q: queries of this process (batch, n_heads, size, d_k), as `split.take` takes them.
        k: its keys (batch, n_kv_heads, size, d_k); n_kv_heads divides n_heads.
        v: its values (batch, n_kv_heads, size, d_v).
        comm: the processes; the same call is made in each of them.
        split: who holds which tokens.
        is_causal: as in `ring_attention`, and so are the others.
        window: (before, after).
        key_mask: (batch, size).
        documents: (batch, size).
        scale: factor on q kᵀ.

    Returns:
        Output of the queries held here (batch, n_heads, size, d_v); zeros for a query that sees no key.

    Raises:
        TypeError: the key_mask is not boolean, or documents are no whole numbers.
        ValueError: there are fewer query heads than processes, a shape does not fit the split, or another
            process is about to do something else.

    References:
        Jacobs et al. 2023, section 3.

    >>> from attnlab import attention
    >>> q, k, v = torch.randn(3, 1, 2, 5, 4)
    >>> out = all_to_all_attention(q, k, v, Communicator(), Split(5, 1), window=(1, 0))
    >>> out.shape
    torch.Size([1, 2, 5, 4])
    """
    heads_of(q.shape[1], k.shape[1], comm.size, 0)  # before anything is sent: are there enough?
    hides = is_causal, window, key_mask, documents
    sight = agreed("all_to_all_attention", q, k, v, comm, split, *hides, scale)
    batch, _, size, d = q.shape
    dealt = [heads_of(q.shape[1], k.shape[1], comm.size, rank) for rank in range(comm.size)]
    reads = dealt[comm.rank][1]
    once = sorted(set(reads))
    there = [split.size(rank) for rank in range(comm.size)]

    def exchanged(x: Tensor, heads: Sequence[Sequence[int]]) -> Tensor:
        """Give away heads of the tokens here, and get the tokens of the heads here, (batch, heads, n, d)."""
        parts = [x[:, list(some)] for some in heads]
        shapes = [(batch, len(heads[comm.rank]), n, x.shape[-1]) for n in there]
        return split.join(_Exchange.apply(comm, "tokens for heads", shapes, *parts))

    q = exchanged(q, [heads for heads, _ in dealt])
    kv = exchanged(torch.cat((k, v), -1), [sorted(set(each)) for _, each in dealt])
    kept, _ = compacted(reads)
    if kept != once:
        kv = kv[:, [once.index(head) for head in kept]]
    k, v = kv.split((d, v.shape[-1]), -1)
    alone = copy.copy(comm)  # which counts into the same counts
    alone.rank, alone.size = 0, 1
    out = attended(q, k, v, alone, Split(split.n, 1), sight)  # (batch, heads here, n, d_v)
    parts = [split.take(out, rank) for rank in range(comm.size)]
    shapes = [(batch, len(heads), size, out.shape[-1]) for heads, _ in dealt]
    return torch.cat(_Exchange.apply(comm, "heads for tokens", shapes, *parts), 1)


class _Exchange(torch.autograd.Function):
    """Parts for all processes against parts from all; a gradient goes the way back."""

    @staticmethod
    def forward(ctx, comm, kind, shapes, *parts):
        ctx.comm, ctx.kind, ctx.shapes = comm, kind, [part.shape for part in parts]
        return tuple(comm.all_to_all(parts, shapes, kind))

    @staticmethod
    def backward(ctx, *grads):
        no_second_derivative("all_to_all_attention", "attention(need_weights=True)")
        return None, None, None, *ctx.comm.all_to_all(grads, ctx.shapes, f"gradients of {ctx.kind}")
