"""Attention with a kernel in place of exp(q·k), linear in the length because the brackets move.

With weights φ(q_i)·φ(k_j) the sum over keys can be taken before any query is known:

    out_i = Σ_j (φ(q_i)·φ(k_j)) v_j / Σ_j φ(q_i)·φ(k_j)  =  φ(q_i)ᵀ S / φ(q_i)ᵀ z,
    S = Σ_j φ(k_j) v_jᵀ,   z = Σ_j φ(k_j).

Causally, S and z run over the keys so far: a recurrence whose state is a matrix. In the code the values carry
a last column of ones, so that z is the last column of S and every line below is written once.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab.linear.chunks import Pieces, State, Step, exact, scan, working_dtype

LOWEST = -1e30
"""Stands for log 0. Minus infinity would do, were its difference with itself not NaN."""


class KernelStep(Step):
    """One chunk: `reads` answers queries from the state and, with `writes`, from the chunk's own past keys.

    The pieces are, in this order and as far as they are there: q if it reads; k, v if it writes; then `keep`
    (1 for a key that may be seen, else 0) and log `gate`.

    A feature map may return a logarithmic scale beside the features of a key, and a gate is one more: key j
    counts exp(scale_j) times. A running maximum M keeps every exponential at or below 1. M depends on the
    past alone: subtracting a maximum over all keys would let a large later key round the earlier ones to
    zero.
    """

    def __init__(self, features, *, reads: bool, writes: bool, keep: bool, gate: bool):
        self.features, self.reads, self.writes, self.keep, self.gate = features, reads, writes, keep, gate

    def forward(self, state: State, pieces: Pieces) -> tuple[State, Tensor | None]:
        """Return the new state (S, M) and the chunk's output, or None if the step does not read."""
        memory, top = state  # (batch, m, d_v + 1), (batch, 1, 1)
        fq, fk, scale, total = self._lift(pieces)
        weights = _Weights(scale, top)
        if self.reads:
            sums = torch.bmm(weights.at_query(fq), memory)  # (batch, c, d_v + 1)
        if self.writes:
            ones = F.pad(self._values(pieces), (0, 1), value=1.0)  # (batch, c, d_v + 1)
            if self.reads:
                within = weights.between(torch.bmm(fq, fk.mT)).tril_()  # (batch, c, c)
                sums = torch.baddbmm(sums, within, ones)
            memory = torch.baddbmm(weights.kept(memory), weights.at_end(fk).mT, ones)
            top = weights.top
            if total is not None:  # the whole chunk's forgetting: lower M, and leave its gradient in S
                memory, top = memory * (total - total.detach()).exp().to(memory), top + total.detach()
        if not self.reads:
            return (memory, top), None
        return (memory, top), sums[..., :-1] / divisor(sums[..., -1:])

    def backward(self, state, pieces, out, d_out, d_state):
        """Differentiate by hand: about twice the products of `forward`, and none of autograd's notes."""
        memory, top = state
        with torch.enable_grad():  # the feature maps are the caller's: autograd knows them
            leaves = [x.detach().requires_grad_() for x in pieces]
            made = self._lift(leaves)
        fq, fk, scale, total = (None if x is None else x.detach() for x in made)
        weights = _Weights(scale, top)
        d_memory = torch.zeros_like(memory) if d_state[0] is None else d_state[0]
        d_fq = d_fk = d_v = d_scale = d_total = None
        if self.writes:
            ones = F.pad(self._values(pieces), (0, 1), value=1.0)
            end = weights.at_end(fk)
            if total is not None:
                after = torch.baddbmm(weights.kept(memory), end.mT, ones)
                d_total = (d_memory * after).sum((-2, -1), keepdim=True)
            d_fk = weights.at_end(torch.bmm(ones, d_memory.mT))
            d_ones = torch.bmm(end, d_memory)
            d_memory = weights.kept(d_memory)
        if self.reads:
            here = weights.at_query(fq)
            below = torch.bmm(here, memory[..., -1:])  # (batch, c, 1)
            if self.writes:
                within = weights.between(torch.bmm(fq, fk.mT)).tril_()
                below += within.sum(-1, keepdim=True)
            d_sums = d_out / divisor(below)
            d_below = -(d_sums * out).sum(-1, keepdim=True)
            d_sums = torch.cat((d_sums, d_below), dim=-1)  # (batch, c, d_v + 1)
            d_fq = weights.at_query(torch.bmm(d_sums, memory.mT))
            if self.writes:
                d_within = weights.between(torch.bmm(d_sums, ones.mT)).tril_()
                d_fq.baddbmm_(d_within, fk)
                d_fk.baddbmm_(d_within.mT, fq)
                d_ones.baddbmm_(within.mT, d_sums)
            d_memory = torch.baddbmm(d_memory, here.mT, d_sums)
        if self.writes:
            d_v = d_ones[..., :-1]
            if scale is not None:  # a key's scale multiplies its features
                d_scale = (d_fk * fk).sum(-1, keepdim=True)
        grads = zip(made, (d_fq, d_fk, d_scale, d_total), strict=True)
        pairs = [(x, d.to(x)) for x, d in grads if d is not None and x.requires_grad]
        tops, given = zip(*pairs, strict=True)
        d_pieces = list(torch.autograd.grad(tops, leaves, given, allow_unused=True))
        if self.writes:
            d_pieces[1 + self.reads] = d_v
        return [d_memory, None], d_pieces

    def _values(self, pieces: Pieces) -> Tensor:
        return pieces[1 + self.reads]

    def _lift(self, pieces: Pieces):
        """Return φ(q), φ(k), the keys' log scales and the chunk's total log gate, None where absent."""
        rest = list(pieces)
        fq = fk = scale = total = None
        if self.reads:
            fq, _ = scaled(self.features, rest.pop(0))  # a query's scale cancels between numerator and sum
        if self.writes:
            fk, scale = scaled(self.features, rest.pop(0))
            rest.pop(0)  # the values
            keep = rest.pop(0) if self.keep else None
            if keep is not None:
                fk = fk * keep
            if self.gate:
                gate = rest.pop(0)  # log g
                if keep is not None:
                    gate = gate * keep  # a hidden token forgets nothing
                gate = exact(gate)
                passed = gate.cumsum(-2)  # (batch, c, 1)
                new = (-torch.expm1(gate)).clamp(min=torch.finfo(gate.dtype).tiny).log()  # log(1 - g)
                scale = new - passed if scale is None else scale + new - passed
                total = passed[:, -1:]
            if scale is not None and keep is not None:
                scale = scale.masked_fill(keep == 0, LOWEST)
        return fq, fk, scale, total


class _Weights:
    """The factors exp(scale_j - M) of a chunk; without scales they are all 1, and nothing is computed."""

    def __init__(self, scale: Tensor | None, top: Tensor):
        self.scale, self.before, self.top = scale, top, top
        if scale is not None:
            with torch.no_grad():
                self.running = torch.maximum(scale.cummax(dim=-2).values, top)  # (batch, c, 1)
                self.top = self.running[:, -1:]

    def between(self, x: Tensor) -> Tensor:
        """Weigh the chunk's keys as each of its queries does, (batch, c, c); later keys are still there."""
        if self.scale is None:
            return x
        return x * (self.scale.mT - self.running).clamp(max=0.0).to(x).exp()

    def at_query(self, x: Tensor) -> Tensor:
        """Weigh the state as each query does."""
        return x if self.scale is None else x * (self.before - self.running).to(x).exp()

    def at_end(self, x: Tensor) -> Tensor:
        """Weigh the chunk's keys as the state after it does."""
        return x if self.scale is None else x * (self.scale - self.top).to(x).exp()

    def kept(self, x: Tensor) -> Tensor:
        """Weigh the state before the chunk as the state after it does."""
        return x if self.scale is None else x * (self.before - self.top).to(x).exp()


def divisor(below: Tensor) -> Tensor:
    """Return sums of weights to divide by; one that is zero, or next to it, divides to zero.

    Next to it: a quotient of two numbers below 1e-30 has few digits left, and its gradient overflows.
    """
    return below.masked_fill(below.abs() < 1e-30, torch.inf)


def scaled(features, x: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return features and their logarithmic scale, None for a map that has no need of one."""
    return features.scaled(x) if hasattr(features, "scaled") else (features(x), None)


def kernel_scan(features, q, k, v, keep, gate, *, is_causal: bool, chunk_size: int) -> Tensor:
    """Run kernel attention over tensors that share their leading dimensions.

    Args:
        features: the map φ.
        q: queries (..., n_q, d_k).
        k: keys (..., n_k, d_k).
        v: values (..., n_k, d_v).
        keep: boolean (..., n_k, 1) or None.
        gate: log gate (..., n_k, 1) or None; causal only.
        is_causal: hide later keys.
        chunk_size: tokens in a chunk.

    Returns:
        Output (..., n_q, d_v).
    """
    with torch.enable_grad():  # does the map learn? Then only autograd's own record reaches its parameters
        one = scaled(features, k[..., :1, :].detach().to(working_dtype(k.dtype)))[0]
    step = {"keep": keep is not None, "gate": gate is not None}
    run = {"chunk_size": chunk_size, "plain": one.requires_grad}
    batch, dtype = q.shape[:-2].numel(), one.dtype
    memory = torch.zeros(batch, one.shape[-1], v.shape[-1] + 1, dtype=dtype, device=q.device)
    state = (memory, memory.new_full((batch, 1, 1), LOWEST))
    written = [x for x in (k, v, keep, gate) if x is not None]
    if is_causal:
        return scan(KernelStep(features, reads=True, writes=True, **step), state, [q, *written], **run)[0]
    _, state = scan(KernelStep(features, reads=False, writes=True, **step), state, written, **run)
    return scan(KernelStep(features, reads=True, writes=False, **step), state, [q], **run)[0]
