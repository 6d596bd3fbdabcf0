"""Attention with a kernel in place of exp(q·k), linear in the length because the brackets move.

With weights φ(q_i)·φ(k_j) the sum over keys can be taken before any query is known:

    out_i = Σ_j (φ(q_i)·φ(k_j)) v_j / Σ_j φ(q_i)·φ(k_j)  =  φ(q_i)ᵀ S / φ(q_i)ᵀ z,
    S = Σ_j φ(k_j) v_jᵀ,   z = Σ_j φ(k_j).

Causally, S and z run over the keys so far: a recurrence whose state is a matrix and a vector. (A column of
ones beside the values would make z the last column of S, and every line below would be written once. But
products of 65 columns take a CPU a quarter longer than those of 64.)
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import NamedTuple

import torch
from torch import Tensor
from torch._subclasses import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode

from attnlab.arguments import has_shape
from attnlab.linear.chunks import ChunkRule, Pieces, State, exact, fade, scan, transformed
from attnlab.linear.features import FourierFeatures, PositiveFeatures, elu_plus_one
from attnlab.precision import without_autocast, working

LOWEST = -1e30
"""Stands for log 0. Minus infinity would do, were its difference with itself not NaN."""


class LinearState(NamedTuple):
    """What linear attention remembers of a text: two sums, each to be multiplied by exp(log_scale).

    The scale keeps sums within the range of floats whose terms are not, as those of FAVOR+. It carries no
    gradient: the sums carry all of it.

    Attributes:
        sums: S (..., m, d_v), the sum of φ(k) vᵀ; float32 at least.
        total: z (..., m, 1), the sum of φ(k).
        log_scale: (..., 1, 1), the logarithm of the scale of both.
    """

    sums: Tensor
    total: Tensor
    log_scale: Tensor


class KernelRule(ChunkRule):
    """One chunk: queries are answered from the state and from the chunk's own past keys, causally.

    The pieces are q, k, v and, as far as they are there, `key_mask` (1 for a key that may be seen, else 0)
    and the logarithm of `gate`.

    A feature map may return a logarithmic scale beside the features of a key, and a gate is one more: key j
    counts exp(scale_j) times. A running maximum M keeps every exponential at or below 1. M depends on the
    past alone: subtracting a maximum over all keys would let a large later key round the earlier ones to
    zero.
    """

    def __init__(self, features, *, key_mask: bool = False, gate: bool = False):
        self.features = features
        self.names = ["q", "k", "v", *["key_mask"] * key_mask, *["gate"] * gate]

    def forward(self, state: State, pieces: Pieces) -> tuple[State, Tensor]:
        """Return the new state (S, z, M) and the chunk's output."""
        sums, total, top = state  # (batch, m, d_v), (batch, m, 1), (batch, 1, 1)
        x = dict(zip(self.names, pieces, strict=True))
        fq, fk, scale, forgotten = self._features(x)
        weights = _Weights(scale, forgotten, top)
        # What was read from the state, (batch, c, d_v) and (batch, c, 1).
        numerator, denominator = (weights.at_query(torch.bmm(fq, s)) for s in (sums, total))
        within = weights.between(torch.bmm(fq, fk.mT))  # (batch, c, c)
        if transformed():  # vmap cannot write in place what is mapped into what is not
            within = within.tril()
            numerator = numerator.baddbmm(within, x["v"])
        else:
            within.tril_()
            numerator.baddbmm_(within, x["v"])
        denominator = denominator + within.sum(-1, keepdim=True)
        state = weights.after(*self._written(sums, total, fk, x["v"], weights))
        return state, numerator / divisor(denominator)

    def backward(self, state, pieces, out, d_out, d_state):
        """Differentiate the products by hand: three quarters of autograd's, and none of its notes.

        Measured as in `chunks`, a training step takes 1.3 to 1.4 times as long where autograd differentiates
        each chunk, made again, and 1.4 to 1.6 times under `torch.utils.checkpoint`; with a gate or FAVOR+,
        whose exponentials cost more, 1.2 to 1.3 and 1.2 to 1.5 times. A loop that autograd records takes 0.8
        to 1.1 times as long, and 1.35 times the memory, with a gate or FAVOR+ 2.7 to 3.1 times.
        """
        sums, total, top = state
        x = dict(zip(self.names, pieces, strict=True))
        with torch.enable_grad():  # maps and gates are autograd's
            leaves = {name: x[name].detach().requires_grad_() for name in ("q", "k", "gate") if name in x}
            recorded = self._features({**x, **leaves})
        fq, fk, scale, forgotten = (None if r is None else r.detach() for r in recorded)
        weights = _Weights(scale, forgotten, top)
        d_sums, d_total = (
            torch.zeros_like(s) if d is None else d for s, d in zip(state[:2], d_state[:2], strict=True)
        )
        d_fq = d_scale = d_forgotten = None
        ones = torch.ones_like(fk[..., :1])  # (batch, c, 1)
        d_fk = torch.bmm(weights.at_end(x["v"]), d_sums.mT).addcmul_(weights.at_end(ones), d_total.mT)
        d_v = weights.at_end(torch.bmm(fk, d_sums))
        if forgotten is not None:
            after = self._written(sums, total, fk, x["v"], weights)
            d_forgotten = sum(
                (d * s).sum((-2, -1), keepdim=True) for d, s in zip((d_sums, d_total), after, strict=True)
            )
        d_sums, d_total = weights.kept(d_sums), weights.kept(d_total)
        if d_out is not None:
            within = weights.between(torch.bmm(fq, fk.mT)).tril_()
            denominator = weights.at_query(torch.bmm(fq, total)) + within.sum(-1, keepdim=True)
            d_numerator = d_out / divisor(denominator)  # (batch, c, d_v)
            d_denominator = -(d_numerator * out).sum(-1, keepdim=True)  # (batch, c, 1)
            d_read_sums, d_read_total = weights.at_query(d_numerator), weights.at_query(d_denominator)
            d_fq = torch.bmm(d_read_sums, sums.mT).addcmul_(d_read_total, total.mT)
            d_sums = torch.baddbmm(d_sums, fq.mT, d_read_sums)
            d_total = torch.baddbmm(d_total, fq.mT, d_read_total)
            d_within = weights.between(torch.bmm(d_numerator, x["v"].mT).add_(d_denominator)).tril_()
            d_fq.baddbmm_(d_within, fk)
            d_fk.baddbmm_(d_within.mT, fq)
            d_v.baddbmm_(within.mT, d_numerator)
        if scale is not None:
            d_scale = (d_fk * fk).sum(-1, keepdim=True)  # it multiplies all features of a key
        pairs = zip(recorded, (d_fq, d_fk, d_scale, d_forgotten), strict=True)
        pairs = [(r, d.to(r)) for r, d in pairs if d is not None and r.requires_grad]
        grads = dict.fromkeys(self.names) | {"v": d_v}
        if pairs:
            outputs, d_outputs = zip(*pairs, strict=True)
            d_leaves = torch.autograd.grad(outputs, list(leaves.values()), d_outputs, allow_unused=True)
            grads |= dict(zip(leaves, d_leaves, strict=True))
        return [d_sums, d_total, None], [grads[name] for name in self.names]

    def _written(self, sums, total, fk, v, weights) -> tuple[Tensor, Tensor]:
        """Return both sums after the chunk's keys."""
        sums = torch.baddbmm(weights.kept(sums), fk.mT, weights.at_end(v))
        ones = torch.ones_like(fk[..., :1])  # (batch, c, 1)
        return sums, torch.baddbmm(weights.kept(total), fk.mT, weights.at_end(ones))

    def _features(self, x: dict[str, Tensor]) -> tuple[Tensor | None, ...]:
        """Return features of queries and of visible keys, the keys' scale, and log of what is forgotten."""
        fq = scaled(self.features, x["q"])[0]  # a query's scale cancels between the sums
        fk, scale = scaled(self.features, x["k"])
        key_mask, forgotten = x.get("key_mask"), None
        if "gate" in x:
            gate = exact(x["gate"])
            passed = gate.cumsum(-2)  # (batch, c, 1)
            fresh = (-torch.expm1(gate)).clamp(min=torch.finfo(gate.dtype).tiny).log() - passed
            scale = fresh if scale is None else scale + fresh
            forgotten = gate.sum(-2, keepdim=True)
            key_mask = gate < 0  # a gate of 1 keeps all that was and writes nothing
        return fq, *visible(fk, scale, key_mask), forgotten


class _Weights:
    """The factors exp(scale_j - M) of a chunk; without scales they are all 1, and nothing is computed."""

    def __init__(self, scale: Tensor | None, forgotten: Tensor | None, top: Tensor):
        self.scale, self.forgotten, self.before, self.top = scale, forgotten, top, top
        if scale is not None:
            with torch.no_grad():
                running = torch.cat((top.to(scale), scale), dim=-2).cummax(dim=-2).values
                self.running, self.top = running[:, 1:], running[:, -1:]  # (batch, c, 1), (batch, 1, 1)

    def between(self, x: Tensor) -> Tensor:
        """Weigh the chunk's keys as each of its queries does, (batch, c, c); later keys are still there."""
        if self.scale is None:
            return x
        # Later keys out by `tril`, not by a clamp at 0: a key that is its own maximum lies on that bound.
        return x * fade((self.scale.mT - self.running).tril(), x)

    def at_query(self, x: Tensor) -> Tensor:
        """Weigh what was read from the state as each query does."""
        return x if self.scale is None else x * fade(self.before - self.running, x)

    def at_end(self, x: Tensor) -> Tensor:
        """Weigh what the chunk's keys write as the state after it does."""
        return x if self.scale is None else x * fade(self.scale - self.top, x)

    def kept(self, x: Tensor) -> Tensor:
        """Weigh the state before the chunk as the state after it does."""
        return x if self.scale is None else x * fade(self.before - self.top, x)

    def after(self, *sums: Tensor) -> State:
        """Return the sums and M, lowered by what the chunk forgot. The sums take the gradient of that."""
        if self.forgotten is None:
            return *sums, self.top
        lowered = self.forgotten.detach()
        once = (self.forgotten - lowered).exp()  # 1, but for its gradient
        return *(s * once.to(s) for s in sums), self.top + lowered


def divisor(denominator: Tensor) -> Tensor:
    """Return sums of weights to divide by; one that is zero, or next to it, divides to zero.

    Next to it: a quotient of two numbers below 1e-30 has few digits left, and its gradient overflows.
    """
    return denominator.masked_fill(denominator.abs() < 1e-30, torch.inf)


def scaled(features, x: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return features and their logarithmic scale; None for a map that needs none, or has no such method."""
    return features.scaled(x) if hasattr(features, "scaled") else (features(x), None)


def visible(fk: Tensor, scale: Tensor | None, key_mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Return features of keys and their scale: zero, and the logarithm of next to nothing, where hidden."""
    if key_mask is None:
        return fk, scale
    return fk * key_mask, None if scale is None else scale.masked_fill(key_mask == 0, LOWEST)


def kernel_scan(
    features, q, k, v, key_mask, gate, state: LinearState | None, *, block_size: int
) -> tuple[Tensor, LinearState]:
    """Run causal kernel attention over tensors that share their leading dimensions.

    Args:
        features: the map φ.
        q: queries (..., n_q, d_k).
        k: keys (..., n_k, d_k).
        v: values (..., n_k, d_v).
        key_mask: boolean (..., n_k, 1) or None.
        gate: log gate (..., n_k, 1) or None. It is 0 at hidden keys.
        state: what was read before; None for nothing.
        block_size: tokens in a chunk.

    Returns:
        Output (..., n_q, d_v), and the state after the last key.
    """
    (fk_first, scale), plain = probe(features, k)
    lead, dtype = q.shape[:-2], fk_first.dtype
    empty = empty_state((*lead, fk_first.shape[-1], v.shape[-1]), dtype, q.device)
    state = empty if state is None else fitting("initial_state", state, empty.sums.shape)
    sums, total, top = (x.reshape(lead.numel(), *x.shape[-2:]) for x in state)
    if gate is None and scale is None:  # then every key counts 1, not exp(scale)
        sums, total, top = sums * top.exp(), total * top.exp(), torch.zeros_like(top)
    state = (sums.to(dtype), total.to(dtype), top)
    rule = KernelRule(features, key_mask=key_mask is not None, gate=gate is not None)
    sequences = [x for x in (q, k, v, key_mask, gate) if x is not None]
    out, state = scan(rule, state, sequences, block_size, plain=plain)
    sums, total, top = (x.view(*lead, *x.shape[1:]) for x in state)
    return out, LinearState(sums, total, top.detach())


def empty_state(shape, dtype: torch.dtype, device) -> LinearState:
    """Return the state before the first token for sums of a shape: nothing, at the least scale."""
    sums = torch.zeros(shape, dtype=dtype, device=device)
    least = torch.full((*shape[:-2], 1, 1), LOWEST, dtype=dtype, device=device)
    return LinearState(sums, sums.new_zeros(*shape[:-1], 1), least)


def fitting(name: str, state: LinearState, shape: tuple[int, ...]) -> LinearState:
    """Return a state whose sums have a shape (..., m, d_v), with their total and scale.

    Raises:
        TypeError: it is no such state.
        ValueError: one of its tensors has another shape.
    """
    if not isinstance(state, LinearState):
        raise TypeError(f"{name} must be a LinearState, got {type(state).__name__}")
    wanted = (shape, (*shape[:-1], 1), (*shape[:-2], 1, 1))
    for field, got, want in zip(LinearState._fields, state, wanted, strict=True):
        has_shape(f"{name}.{field}", got, want)
    return state


KNOWN = (PositiveFeatures, FourierFeatures)
"""Maps that draw nothing: their matrix was drawn when they were made."""


def probe(features, k: Tensor) -> tuple[tuple[Tensor, Tensor | None], bool]:
    """Return features of the first key with their scale, and whether autograd must record the map.

    It must where the map learns: only its own record reaches the map's parameters. And where the map draws
    random numbers: made again in the backward pass they would be others.
    """
    watch = nullcontext()
    # Under a transformation and on fake tensors autograd records anyway.
    if not (
        features is elu_plus_one or type(features) in KNOWN or transformed() or isinstance(k, FakeTensor)
    ):
        watch = _Draws(k.device)
    with watch, torch.enable_grad(), without_autocast(k):
        first = scaled(features, working(k[..., :1, :].detach()))
    drawn = isinstance(watch, _Draws) and watch.put_back()
    return first, first[0].requires_grad or drawn


class _Draws(TorchDispatchMode):
    """Notice whether this thread draws random numbers.

    Generators are looked at only when it does. Comparing them before and after would take what another thread
    draws meanwhile for the map's own, and put it back, so that it came again.
    """

    def __init__(self, device: torch.device):
        super().__init__()
        self.device, self.before = device, []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if not self.before and torch.Tag.nondeterministic_seeded in function.tags:
            arguments = (*args, *(kwargs or {}).values())
            generators = [x for x in arguments if isinstance(x, torch.Generator)] or [torch.default_generator]
            if self.device.type == "cuda":
                generators.append(torch.cuda.default_generators[self.device.index])
            self.before = [(generator, generator.get_state()) for generator in generators]
        return function(*args, **(kwargs or {}))

    def put_back(self) -> bool:
        """Say whether anything was drawn; asking costs no random numbers."""
        for generator, state in self.before:
            generator.set_state(state)
        return bool(self.before)
