"""Kernel attention over a whole text: the keys are summed once, and every query reads the sum.

Both passes go over the text in blocks, so that what is made in between stays small enough for a fast memory,
and is handed from block to block instead of being asked for anew from the system.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attnlab.arguments import at_least, no_second_derivative
from attnlab.linear.chunks import cut, fade, transformed
from attnlab.linear.kernel import LOWEST, divisor, empty_state, probe, scaled, visible
from attnlab.precision import without_autocast, working


def attend_to_all(
    features, q: Tensor, k: Tensor, v: Tensor, key_mask: Tensor | None, block_size: int
) -> Tensor:
    """Let every query read all visible keys.

    Where a gradient is wanted, features that are no wider than the vectors they are made of are kept for the
    backward pass. Wider ones are made again, block by block; but not those of a map that learns or draws,
    which autograd must record.

    Args:
        features: the map φ.
        q: queries (..., n_q, d_k).
        k: keys (..., n_k, d_k) with the same leading dimensions.
        v: values (..., n_k, d_v), likewise.
        key_mask: boolean (..., n_k, 1) or None.
        block_size: tokens in a block.

    Returns:
        Output (..., n_q, d_v) in the dtype of q.
    """
    at_least(1, block_size=block_size)
    with without_autocast(q):
        (fk_first, _), recorded = probe(features, k)
        learning = torch.is_grad_enabled() and (q.requires_grad or k.requires_grad)
        if not (recorded or transformed() or (learning and fk_first.shape[-1] <= k.shape[-1])):
            return _Whole.apply(features, block_size, q, k, v, key_mask)
        fq, (fk, scale) = scaled(features, working(q))[0], _of_keys(features, working(k), key_mask)
        if scale is not None:
            fk = _weighed(fk, scale, _largest(scale))
        if transformed():
            denominator = divisor(fq @ fk.sum(-2, keepdim=True).mT)
            return (fq @ (fk.mT @ working(v)) / denominator).to(q.dtype)
        return _Whole.apply(None, block_size, fq, fk, v, None).to(q.dtype)


class _Whole(torch.autograd.Function):
    """The two passes. Without a map, q and k are features already, and what is hidden is zero.

    Why by hand: measured as in `chunks`, a training step with `elu_plus_one` takes 1.2 to 1.5 times as long
    where autograd records the blocks, twice as long where it makes them again, and 1.1 to 1.9 times without
    blocks. FAVOR+ gains less in time: with as many features as a key has numbers 1.2 to 1.3, 2, and 1 to 1.1.
    With four times as many it is for the memory: recorded, a step takes as long and 3 times the memory.
    """

    @staticmethod
    def forward(ctx, features, block_size, q, k, v, key_mask):
        ctx.features, ctx.block_size = features, block_size
        q, k, v = (x.detach() for x in (q, k, v))  # a module's hooks must not take them for leaves
        state = None
        for kb, vb, *seen in cut([x for x in (k, v, key_mask) if x is not None], block_size):
            fk, scale = _of_keys(features, kb, *seen)
            if state is None:
                state = empty_state((len(fk), fk.shape[-1], vb.shape[-1]), fk.dtype, fk.device)
            sums, total, top = state  # (batch, m, d_v), (batch, m, 1), (batch, 1, 1)
            if scale is not None:
                before, top = top, torch.maximum(top, _largest(scale))
                kept, fk = fade(before - top, fk), _weighed(fk, scale, top)
                sums, total = sums * kept, total * kept
            state = torch.baddbmm(sums, fk.mT, vb), total + fk.sum(-2, keepdim=True).mT, top
        sums, total, top = state
        out = q.new_empty(*q.shape[:-1], v.shape[-1])
        denominator = sums.new_empty(*q.shape[:-1], 1)
        blocks = _blocks(block_size, out, denominator)
        for (qb,), out_b, denominator_b in zip(cut([q], block_size), *blocks, strict=True):
            fq = _of_queries(features, qb)
            denominator_b.copy_(divisor(torch.bmm(fq, total)))
            torch.div(torch.bmm(fq, sums), denominator_b, out=out_b)
        ctx.save_for_backward(q, k, v, key_mask, out, denominator, *state)
        return out

    @staticmethod
    def backward(ctx, d_out):
        no_second_derivative("the chunked form", "form='parallel'")
        q, k, v, key_mask, out, denominator, sums, total, top = ctx.saved_tensors
        features, size = ctx.features, ctx.block_size
        d_q, d_k, d_v = (torch.empty_like(x, memory_format=torch.contiguous_format) for x in (q, k, v))
        d_sums, d_total = torch.zeros_like(sums), torch.zeros_like(total)
        with without_autocast(q):  # the caller's backward may run under one
            blocks = zip(cut([q, out, denominator, d_out], size), *_blocks(size, d_q), strict=True)
            for (qb, out_b, denominator_b, d_out_b), d_qb in blocks:
                with torch.enable_grad():
                    leaf = qb.detach().requires_grad_()
                    fq_recorded = _of_queries(features, leaf)
                fq, d_numerator = fq_recorded.detach(), d_out_b / denominator_b
                d_denominator = (d_numerator * out_b).sum(-1, keepdim=True).neg_()  # (batch, c, 1)
                d_sums = torch.baddbmm(d_sums, fq.mT, d_numerator)
                d_total = torch.baddbmm(d_total, fq.mT, d_denominator)
                d_fq = torch.bmm(d_numerator, sums.mT).addcmul_(d_denominator, total.mT)
                d_qb.copy_(_through(fq_recorded, leaf, d_fq))
            pieces = [x for x in (k, v, key_mask) if x is not None]
            for (kb, vb, *seen), d_kb, d_vb in zip(cut(pieces, size), *_blocks(size, d_k, d_v), strict=True):
                with torch.enable_grad():
                    leaf = kb.detach().requires_grad_()
                    fk, scale = _of_keys(features, leaf, *seen)
                    fk = fk if scale is None else _weighed(fk, scale, top)
                d_vb.copy_(torch.bmm(fk.detach(), d_sums))
                d_kb.copy_(_through(fk, leaf, torch.baddbmm(d_total.mT, vb, d_sums.mT)))
        return None, None, d_q, d_k, d_v, None


def _of_queries(features, q: Tensor) -> Tensor:
    """Return features of queries. Their scale cancels between the two sums."""
    return q if features is None else scaled(features, q)[0]


def _of_keys(features, k: Tensor, seen: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
    """Return features of keys and their scale, zero and next to nothing where a key is hidden."""
    fk, scale = (k, None) if features is None else scaled(features, k)
    return visible(fk, scale, seen)


def _largest(scale: Tensor) -> Tensor:
    """Return the largest of scales (..., n, 1), and at least `LOWEST`. It cancels, and has no gradient."""
    least = scale.new_full((*scale.shape[:-2], 1, 1), LOWEST)
    return torch.cat((least, scale.detach()), -2).amax(-2, keepdim=True)


def _weighed(fk: Tensor, scale: Tensor, top: Tensor) -> Tensor:
    """Return features of keys that count exp(scale - top) times."""
    return fk * fade(scale - top, fk)


def _through(recorded: Tensor, leaf: Tensor, d_features: Tensor) -> Tensor:
    """Return the gradient of what features were made of, zero where they have none."""
    if recorded is leaf:
        return d_features
    if not recorded.requires_grad:
        return torch.zeros_like(leaf)
    (d_leaf,) = torch.autograd.grad(recorded, leaf, d_features, allow_unused=True, materialize_grads=True)
    return d_leaf


def _blocks(block_size: int, *tensors: Tensor) -> list[tuple[Tensor, ...]]:
    """Return the blocks of contiguous tensors (..., n, d), to be written into."""
    return [x.view(x.shape[:-2].numel(), *x.shape[-2:]).split(block_size, dim=-2) for x in tensors]
