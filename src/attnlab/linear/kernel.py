"""Attention with a kernel in place of exp(q·k), linear in the length because the brackets move.

With weights φ(q_i)·φ(k_j) the sum over keys can be taken before any query is known:

    out_i = Σ_j (φ(q_i)·φ(k_j)) v_j / Σ_j φ(q_i)·φ(k_j)  =  φ(q_i)ᵀ S / φ(q_i)ᵀ z,
    S = Σ_j φ(k_j) v_jᵀ,   z = Σ_j φ(k_j).

Causally, S and z run over the keys so far: a recurrence whose state is a matrix. In the code the values carry
a last column of ones, so that z is the last column of S and every line below is written once.
"""

from __future__ import annotations

import functools

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab.linear.chunks import Pieces, State, Step, exact, fade, scan, working_dtype
from attnlab.linear.features import of_scale

LOWEST = -1e30
"""Stands for log 0. Minus infinity would do, were its difference with itself not NaN."""

INNER = 64
"""Tokens of a part, in which queries meet keys one by one."""


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
        self.features, self.reads, self.writes = features, reads, writes
        there = {"q": reads, "k": writes, "v": writes, "keep": writes and keep, "gate": writes and gate}
        self.names = [name for name, is_there in there.items() if is_there]

    def forward(self, state: State, pieces: Pieces) -> tuple[State, Tensor | None]:
        """Return the new state (S, M) and the chunk's output, or None if the step does not read."""
        memory, top = state  # (batch, m, d_v + 1), (batch, 1, 1)
        x = dict(zip(self.names, pieces, strict=True))
        keep, out = x.get("keep"), None
        fk, scale = scaled(self.features, x["k"]) if self.writes else (None, None)
        fk, weights = _weigh(fk, scale, keep, *_forget(x.get("gate"), keep), top)
        fold = _Fold(pieces[0], self.reads and self.writes and weights.scale is None)
        before, after = memory, memory
        if self.writes:
            fk, ones = fold(fk), fold(F.pad(x["v"], (0, 1), value=1.0))  # (batch * parts, c, m or d_v + 1)
            before, after = fold.states(memory, weights.kept(memory), fk, weights.at_end(ones))
        if self.reads:
            fq = fold(scaled(self.features, x["q"])[0])  # a query's scale cancels between the sums
            sums = weights.at_query(torch.bmm(fq, before))  # (batch * parts, c, d_v + 1)
            if self.writes:
                within = weights.between(torch.bmm(fq, fk.mT)).tril_()  # (batch * parts, c, c)
                sums = sums.baddbmm_(within, ones)
            sums = fold.back(sums)
            out = sums[..., :-1] / divisor(sums[..., -1:])
        return weights.after(after), out

    def backward(self, state, pieces, out, d_out, d_state):
        """Differentiate by hand: about twice the products of `forward`, and none of autograd's notes."""
        memory, top = state
        x = dict(zip(self.names, pieces, strict=True))
        d = dict.fromkeys(self.names)
        d_memory = torch.zeros_like(memory) if d_state[0] is None else d_state[0]
        keep, gate, scale = x.get("keep"), (None, None), None
        fk, before = None, memory
        if self.writes:
            (fk, scale), pull_k = _pullback(self.features, x["k"])
        if "gate" in x:
            gate, pull_gate = _autograd(lambda g: _forget(g, keep), x["gate"])
        fk, weights = _weigh(fk, scale, keep, *gate, top)
        fold = _Fold(pieces[0], self.reads and self.writes and weights.scale is None)
        if self.writes:
            fk, ones = fold(fk), fold(F.pad(x["v"], (0, 1), value=1.0))
            end = weights.at_end(ones)
            if fold.parts > 1 or gate[1] is not None:
                before, after = fold.states(memory, weights.kept(memory), fk, end)
            d_total = None if gate[1] is None else (d_memory * after).sum((-2, -1), keepdim=True)
        d_before = None
        if self.reads:
            (fq, _), pull_q = _pullback(self.features, x["q"])
            fq = fold(fq)
            below = weights.at_query(torch.bmm(fq, before[..., -1:]))  # (batch * parts, c, 1)
            if self.writes:
                within = weights.between(torch.bmm(fq, fk.mT)).tril_()
                below += within.sum(-1, keepdim=True)
            d_sums = d_out / divisor(fold.back(below))
            d_below = -(d_sums * out).sum(-1, keepdim=True)
            d_sums = fold(torch.cat((d_sums, d_below), dim=-1))  # (batch * parts, c, d_v + 1)
            read = weights.at_query(d_sums)
            d_fq = torch.bmm(read, before.mT)
            d_before = torch.bmm(fq.mT, read)
        d_after, d_memory = fold.d_states(weights.kept(d_memory), d_memory, d_before)
        if self.writes:
            d_fk = torch.bmm(end, d_after.mT)
            d_ones = weights.at_end(torch.bmm(fk, d_after))
            if self.reads:
                d_within = weights.between(torch.bmm(d_sums, ones.mT)).tril_()
                d_fq.baddbmm_(d_within, fk)
                d_fk.baddbmm_(d_within.mT, fq)
                d_ones.baddbmm_(within.mT, d_sums)
            d["v"] = fold.back(d_ones)[..., :-1]
            if "gate" in x:
                d["gate"] = pull_gate(of_scale(fk, d_fk), d_total)
            d_fk = fold.back(d_fk)
            d["k"] = pull_k(d_fk if keep is None else d_fk * keep, with_scale=scale is not None)
        if self.reads:
            d["q"] = pull_q(fold.back(d_fq))
        return [d_memory, None], list(d.values())


class _Fold:
    """Cuts a chunk into parts of `INNER` tokens which are computed side by side, where none has a scale.

    Within a part queries meet keys one by one, between parts through the state: shorter parts need fewer
    products, and longer chunks fewer calls.
    """

    def __init__(self, piece: Tensor, wanted: bool):
        self.batch, self.n = piece.shape[:2]
        self.parts = self.n // INNER if wanted and self.n % INNER == 0 else 1

    def __call__(self, x: Tensor) -> Tensor:
        """Fold (batch, n, d) to (batch * parts, n / parts, d)."""
        return x.reshape(self.batch * self.parts, self.n // self.parts, x.shape[-1])

    def back(self, x: Tensor) -> Tensor:
        """Undo it."""
        return x.view(self.batch, self.n, x.shape[-1])

    def states(self, memory: Tensor, kept: Tensor, fk: Tensor, end: Tensor) -> tuple[Tensor, Tensor]:
        """Return the state before each part, (batch * parts, m, d_v + 1), and the one after the last."""
        if self.parts == 1:
            return memory, torch.baddbmm(kept, fk.mT, end)
        written = torch.bmm(fk.mT, end).unflatten(0, (self.batch, self.parts))
        before = [memory]
        for part in written.unbind(1):
            before.append(before[-1] + part)
        return torch.stack(before[:-1], 1).flatten(0, 1), before[-1]

    def d_states(self, d_kept: Tensor, d_memory: Tensor, d_before: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the gradient of what each part writes, and that of the state before the chunk."""
        if self.parts == 1:
            return d_memory, d_kept if d_before is None else d_kept + d_before
        d_before = d_before.unflatten(0, (self.batch, self.parts))
        d_written = [d_memory]
        for part in reversed(d_before.unbind(1)):
            d_written.append(d_written[-1] + part)
        return torch.stack(d_written[-2::-1], 1).flatten(0, 1), d_written[-1]


class _Weights:
    """The factors exp(scale_j - M) of a chunk; without scales they are all 1, and nothing is computed."""

    def __init__(self, scale: Tensor | None, total: Tensor | None, top: Tensor):
        self.scale, self.total, self.before, self.top = scale, total, top, top
        if scale is not None:
            with torch.no_grad():
                self.running = torch.maximum(scale.cummax(dim=-2).values, top)  # (batch, c, 1)
                self.top = self.running[:, -1:]

    def between(self, x: Tensor) -> Tensor:
        """Weigh the chunk's keys as each of its queries does, (batch, c, c); later keys are still there."""
        if self.scale is None:
            return x
        return x * fade((self.scale.mT - self.running).clamp(max=0.0), x)

    def at_query(self, x: Tensor) -> Tensor:
        """Weigh what was read from the state as each query does."""
        return x if self.scale is None else x * fade(self.before - self.running, x)

    def at_end(self, x: Tensor) -> Tensor:
        """Weigh what the chunk's keys write as the state after it does."""
        return x if self.scale is None else x * fade(self.scale - self.top, x)

    def kept(self, x: Tensor) -> Tensor:
        """Weigh the state before the chunk as the state after it does."""
        return x if self.scale is None else x * fade(self.before - self.top, x)

    def after(self, memory: Tensor) -> State:
        """Return the state and M, lowered by what the chunk forgot. The state takes the gradient of that."""
        if self.total is None:
            return memory, self.top
        lowered = self.total.detach()
        return memory * (self.total - lowered).exp().to(memory), self.top + lowered


def _weigh(fk, scale, keep, fresh, total, top) -> tuple[Tensor | None, _Weights]:
    """Return the keys' features without the hidden keys, and the weights of what is left."""
    if fresh is not None:
        scale = fresh if scale is None else scale + fresh
    if keep is not None:
        fk = fk * keep
        scale = None if scale is None else scale.masked_fill(keep == 0, LOWEST)
    return fk, _Weights(scale, total, top)


def _forget(gate: Tensor | None, keep: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """Return what log g adds to a key's scale, log(1 - g_j) - Σ_{t≤j} log g_t, and its sum over the chunk."""
    if gate is None:
        return None, None
    if keep is not None:
        gate = gate * keep  # a hidden token forgets nothing
    gate = exact(gate)
    passed = gate.cumsum(-2)  # (batch, c, 1)
    written = (-torch.expm1(gate)).clamp(min=torch.finfo(gate.dtype).tiny).log()
    return written - passed, passed[:, -1:]


def _pullback(features, x: Tensor):
    """Return (features, scale) of x, and the function that takes the features' gradient to that of x."""
    if hasattr(features, "pull"):
        phi, scale = scaled(features, x)
        return (phi, scale), functools.partial(features.pull, x, phi)
    (phi, scale), pull = _autograd(lambda x: scaled(features, x), x)
    return (phi, scale), lambda d_phi, with_scale=False: pull(
        d_phi, of_scale(phi, d_phi) if with_scale else None
    )


def _autograd(function, x: Tensor):
    """Return what a function of x returns, and the function that takes gradients of it to that of x."""
    with torch.enable_grad():
        leaf = x.detach().requires_grad_()
        made = function(leaf)

    def pull(*given):
        pairs = [(m, g.to(m)) for m, g in zip(made, given, strict=True) if g is not None]
        return torch.autograd.grad([m for m, _ in pairs], leaf, [g for _, g in pairs])[0]

    return [None if m is None else m.detach() for m in made], pull


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
