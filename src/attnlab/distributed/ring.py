"""Ring attention: queries stay where they are, keys and values go around."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from attnlab.arguments import at_least, has_shape, is_tensor, no_second_derivative, of_keys
from attnlab.arguments import grouped_scores_shape as check_heads
from attnlab.distributed.merging import found, like, merge, scaled, together
from attnlab.distributed.splits import Split
from attnlab.distributed.traffic import Communicator, described
from attnlab.precision import without_autocast, working

AT_ONCE = {"cpu": 2**20, "cuda": 2**26}
"""Scores that are made at once, so that no table of all of them is ever there."""
ROWS = 256
"""Queries that are computed at once at most: later keys than they see are left out."""


def ring_attention(
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
    """Attend over a sequence of which each process holds some tokens, by passing keys and values around.

    Equal to `grouped_attention` on the whole sequence. At each of world - 1 steps a process attends to the
    keys that it holds, merges that with what it found before (`merge`), and has meanwhile passed those keys
    on. What is not visible is not computed, and with a window keys go no farther than they are seen. Scores
    are made for a few queries at once and made again in the backward pass, in which the gradients of keys and
    values travel along and come home. Memory falls as the number of processes grows: both the keys that are
    held and those that come are there, and nothing grows with the square of the length.

    A gradient is that of the sum of what all processes derive theirs from. It can be differentiated once.

    Args:
        q: queries of this process (batch, n_heads, size, d_k), as `split.take` takes them.
        k: its keys (batch, n_kv_heads, size, d_k); n_kv_heads divides n_heads.
        v: its values (batch, n_kv_heads, size, d_v).
        comm: the processes; the same call is made in each of them.
        split: who holds which tokens.
        is_causal: hide later keys.
        window: (before, after), how many earlier and later tokens a query sees.
        key_mask: boolean (batch, size), or (batch, 1, size); True = a real token, of those held here.
        documents: whole numbers (batch, size), the document of each token held here: tokens attend within
            their own only.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.

    Returns:
        Output of the queries held here (batch, n_heads, size, d_v); zeros for a query that sees no key.

    Raises:
        TypeError: the key_mask is not boolean, or documents are no whole numbers.
        ValueError: a shape does not fit the split, a width is negative, the split is for another number of
            processes, or another process is about to do something else.

    References:
        Liu et al. 2023, section 3; Brandon et al. 2023 (causal balance); Llama Team 2024, section 3.3.2
        (zigzag); Dao et al. 2022, algorithm 4 (the backward pass of a block).

    >>> from attnlab import attention
    >>> q, k, v = torch.randn(3, 1, 2, 5, 4)
    >>> out = ring_attention(q, k, v, Communicator(), Split(5, 1), is_causal=True)
    >>> torch.allclose(out, attention(q, k, v, is_causal=True), atol=1e-5)
    True
    """
    sight = agreed("ring_attention", q, k, v, comm, split, is_causal, window, key_mask, documents, scale)
    return attended(q, k, v, comm, split, sight)


@dataclass(frozen=True)
class Sight:
    """Which query sees which key of the whole sequence, and the scale of the scores.

    A query at i sees keys from i - before to i + after. `documents` and `key_mask` are those of the whole
    sequence, (batch, n), or None.
    """

    before: int
    after: int
    scale: float
    documents: Tensor | None = None
    key_mask: Tensor | None = None

    def keys(self, start: int, stop: int, first: int, last: int) -> tuple[int, int]:
        """Return which of the keys first..last are in sight of a query of start..stop; none if they cross."""
        return max(first, start - self.before), min(last, stop + self.after)

    def mask(self, start: int, stop: int, first: int, last: int, device: torch.device) -> Tensor | None:
        """Return who sees whom, (batch or 1, 1, 1, n_q, n_k), or None if all see all."""
        seen = None
        if first < stop - 1 - self.before or last - 1 > start + self.after:
            i = torch.arange(start, stop, device=device)[:, None]
            away = torch.arange(first, last, device=device) - i  # (n_q, n_k)
            seen = ((away >= -self.before) & (away <= self.after))[None]
        if self.documents is not None:
            same = self.documents[:, start:stop, None] == self.documents[:, None, first:last]
            seen = same if seen is None else seen & same
        if self.key_mask is not None:
            real = self.key_mask[:, None, first:last]
            seen = real if seen is None else seen & real
        return None if seen is None else seen[:, None, None]


def agreed(name, q, k, v, comm, split, is_causal, window, key_mask, documents, scale) -> Sight:
    """Check what a call was given, here and against the other processes, and collect what hides keys."""
    check_heads(q, k, v)
    size, batch, n = split.size(comm.rank) if split.world == comm.size else -1, len(q), split.n
    if size < 0:
        raise ValueError(f"split must be for the {comm.size} processes there are, got world = {split.world}")
    for what, x in (("q", q), ("k", k), ("v", v)):
        has_shape(what, x, (batch, x.shape[1], size, x.shape[3]), "(batch, heads, size, d)")
    before, after = (n, n) if window is None else window
    at_least(0, before=before, after=after)
    if key_mask is not None:
        key_mask = of_keys(key_mask, (batch,), size).reshape(batch, size)
    if documents is not None:
        is_tensor("documents", documents)
        if documents.is_floating_point() or documents.dtype == torch.bool:
            raise TypeError(f"documents must be whole numbers, got dtype {documents.dtype}")
        has_shape("documents", documents, (batch, size), "(batch, size)")
    comm.agree(
        f"{name} of {described(q=q, k=k, v=v)} with {split}, is_causal={bool(is_causal)}, window={window}, "
        f"key_mask={'no' if key_mask is None else 'yes'}, scale={scale}, "
        f"documents={'no' if documents is None else documents.dtype}",
        q,
    )
    shapes = [(batch, split.size(rank)) for rank in range(split.world)]
    whole = [
        None if x is None else split.join(comm.all_gather(x.contiguous(), shapes, "labels"), dim=1)
        for x in (documents, key_mask)
    ]
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    return Sight(before, 0 if is_causal else after, scale, *whole)


def attended(q, k, v, comm, split, sight) -> Tensor:
    """Do what `ring_attention` does, on arguments that were checked at the caller's door."""
    return _Ring.apply(q, k, v, comm, split, sight)


class _Ring(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, comm, split, sight):
        with without_autocast(q):
            out, lse = _forward(q, k, v, comm, split, sight)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.all = comm, split, sight
        return out.flatten(1, 2).to(v.dtype)

    @staticmethod
    def backward(ctx, grad):
        no_second_derivative("ring_attention", "attention(need_weights=True)")
        with without_autocast(grad):
            return *_backward(grad, *ctx.saved_tensors, *ctx.all), None, None, None


def _forward(q, k, v, comm, split, sight) -> tuple[Tensor, Tensor]:
    """Return output (batch, n_kv_heads, group, size, d_v) and lse (..., size, 1)."""
    q = working(q).unflatten(1, (k.shape[1], -1))
    out = like(q, *q.shape[:-1], v.shape[-1])
    lse = torch.full_like(out[..., :1], -math.inf)
    held, hops = torch.cat((k, v), -1), split.hops(sight.before, sight.after)
    for hop in range(hops + 1):
        at = (comm.rank - hop) % comm.size  # whose keys these are
        if hop < hops:
            comes = _empty(held, split.size((at - 1) % comm.size))
            coming = comm.shift(held, comes, "keys and values")
        keys, values = (working(x) for x in held.split((k.shape[-1], v.shape[-1]), -1))
        for rows, columns, seen in _blocks(comm, split, at, sight, q):
            one, its_lse = found(
                q[..., rows, :], keys[..., columns, :], values[..., columns, :], seen, sight.scale
            )
            both = merge([out[..., rows, :], one], [lse[..., rows, 0], its_lse[..., 0]])
            out[..., rows, :], lse[..., rows, 0] = both
            comm.work["scores"] += (rows.stop - rows.start) * (columns.stop - columns.start)
        held = coming() if hop < hops else held
    return out, lse


def _backward(grad, q, k, v, out, lse, comm, split, sight) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of q, k and v of this process.

    dS = P (dP - rowsum(dO O)), with P = exp(S - lse). What a process finds for keys that are not its own is
    added to what those before it found, and goes on; from the last that saw them it goes home.
    """
    group = (k.shape[1], -1)
    queries, grad = (working(x).unflatten(1, group) for x in (q, grad))
    inner = (grad * out).sum(-1, keepdim=True)
    lse = lse.masked_fill(lse == -math.inf, math.inf)  # of no key, exp(-inf - inf) = 0
    dq, home, traveller = torch.zeros_like(queries), None, None
    held, hops = torch.cat((k, v), -1), split.hops(sight.before, sight.after)
    for hop in range(hops + 1):
        at = (comm.rank - hop) % comm.size
        if hop < hops:
            coming = comm.shift(held, _empty(held, split.size((at - 1) % comm.size)), "keys and values")
        widths = k.shape[-1], v.shape[-1]
        keys, values = (working(x) for x in held.split(widths, -1))
        d_held = like(held, *held.shape)
        dk, dv = d_held.split(widths, -1)
        for rows, columns, seen in _blocks(comm, split, at, sight, queries, count=False):
            q_rows, g_rows = queries[..., rows, :], grad[..., rows, :]
            k_rows, v_rows = keys[..., columns, :], values[..., columns, :]
            p = (scaled(q_rows, k_rows, seen, sight.scale) - lse[..., rows, :]).exp()
            ds = p * (together(g_rows, v_rows.mT) - inner[..., rows, :]) * sight.scale
            dq[..., rows, :] += together(ds, k_rows)
            dk[..., columns, :] += ds.flatten(2, 3).mT @ q_rows.flatten(2, 3)
            dv[..., columns, :] += p.flatten(2, 3).mT @ g_rows.flatten(2, 3)
        if hop == 0:
            home = d_held
        else:
            if traveller is not None:
                d_held += traveller()
            by = 1 if hop < hops else -hops
            comes = _empty(home, split.size((at - 1) % comm.size if hop < hops else comm.rank))
            traveller = comm.shift(d_held, comes, "gradients of keys and values", by=by)
        held = coming() if hop < hops else held
    if traveller is not None:
        home += traveller()
    dk, dv = home.split((k.shape[-1], v.shape[-1]), -1)
    return dq.flatten(1, 2).to(q.dtype), dk.to(k.dtype), dv.to(v.dtype)


def _empty(x: Tensor, size: int) -> Tensor:
    return x.new_empty(*x.shape[:2], size, x.shape[3])


def _blocks(comm, split, at, sight, q, *, count=True):
    """Yield which rows of the queries here and columns of the keys of `at` see each other, and how.

    Places are those among the tokens that a process holds. A block is a run of queries and a run of keys.
    """
    mine, heads = 0, q.shape[:3].numel()
    at_once = AT_ONCE.get(q.device.type, AT_ONCE["cuda"])
    for start, stop in split.runs(comm.rank):
        theirs = 0
        for first, last in split.runs(at):
            any_seen = False
            height = max(1, min(ROWS, at_once // max(1, heads * (last - first))))
            for top in range(start, stop, height):
                bottom = min(top + height, stop)
                low, high = sight.keys(top, bottom, first, last)
                if low >= high:
                    continue
                seen = sight.mask(top, bottom, low, high, q.device)
                if (sight.documents is not None or sight.key_mask is not None) and not seen.any():
                    continue
                any_seen = True
                rows = slice(mine + top - start, mine + bottom - start)
                yield rows, slice(theirs + low - first, theirs + high - first), seen
            if count:
                comm.work["blocks" if any_seen else "skipped"] += 1
            theirs += last - first
        mine += stop - start
