"""The delta rule: a matrix state that corrects what it holds under a key, and fades where tokens say so."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from attnlab.arguments import has_shape
from attnlab.linear.chunks import ChunkRule, dots, faded, faded_products, filled, slope_of_decay
from attnlab.linear.inputs import (
    LEAST,
    check_form,
    decays,
    hide,
    in_form,
    lifted,
    limited,
    of_token,
    per_token,
    state_shape,
    together,
)
from attnlab.precision import without_autocast


def delta_rule(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    beta: Tensor,
    *,
    log_decay: Tensor | None = None,
    key_mask: Tensor | None = None,
    form: Literal["chunked", "recurrent"] = "chunked",
    block_size: int = 64,
    initial_state: Tensor | None = None,
    return_state: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Read, at every token, a state that was corrected towards each (key, value): an associative memory.

    S_t = S_{t-1} + β_t k_t (v_t - S_{t-1}ᵀ k_t)ᵀ, out_t = S_tᵀ q_t. With keys of length 1 and β = 1 the old
    value under k_t is wiped out and v_t takes its place; β = 0 writes nothing, and β = 2 with v_t = 0 turns
    the sign of what is held, so that a state can count modulo 2. It is causal. With a decay α_t the state
    fades first, S_{t-1} being diag(α_t) S_{t-1} in both places: the gated delta rule with one α for all rows,
    Kimi Delta Attention with one for each.

    Args:
        q: queries (..., n, d_k); the scale, if any, is the caller's.
        k: keys (..., n, d_k), of length 1: longer ones let the state grow without bound when β ‖k‖² > 2.
        v: values (..., n, d_v).
        beta: rates β (..., n, 1), from 0 to 2. Beyond 1 the state transition diag(α) - β k (α k)ᵀ has a
            negative eigenvalue.
        log_decay: log α (..., n, 1) or (..., n, d_k), at most 0 (what is larger counts as 0); None for no
            fading.
        key_mask: boolean (batch, n) or (batch, 1, n), True = may be attended to, as `masks.padding` makes it.
            A hidden token leaves the state as it is.
        form: "chunked", which `torch.compile` leaves out of its graph, or "recurrent": one token at a time,
            which it compiles, and which alone has a second derivative outside `torch.func`.
        block_size: tokens in a chunk. It changes the time, not the result.
        initial_state: the state (..., d_k, d_v) that an earlier call returned for the text before this one.
        return_state: return the state after the last token as well, for the next call or for `delta_step`.

    Returns:
        Output (..., n, d_v); zeros where nothing may be attended to. With `return_state` also the state
        (..., d_k, d_v), in float32 at least.

    Raises:
        TypeError: key_mask is not boolean.
        ValueError: shapes do not fit, or the form is unknown.

    References:
        Schlag et al. 2021, section 4.2; Yang et al. 2024 (delta rule over sequence length), sections 3.1 and
        3.2; with a decay: Yang, Kautz and Hatamizadeh 2025 (gated delta networks), section 3; with one for
        each row: Kimi Team 2025, section 3; β beyond 1: Grazzi et al. 2025, theorem 1.

    >>> x = torch.ones(3, 1)
    >>> delta_rule(x, x, torch.tensor([[3.0], [5.0], [7.0]]), x).flatten().tolist()
    [3.0, 5.0, 7.0]
    """
    check_form(form, ("chunked", "recurrent"))
    q, k, v, key_mask = together(q, k, v, key_mask, is_causal=True)
    (beta,) = hide(key_mask, per_token("beta", beta, (*q.shape[:-1], 1)))
    sequences, step = [q, k, v, beta], delta_step
    if log_decay is not None:
        log_decay = decays(log_decay, q)
        sequences, step = [*sequences, *hide(key_mask, log_decay)], _fading_step
    return in_form(form, _DeltaRule(), step, sequences, initial_state, block_size, return_state)


def delta_step(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    beta: Tensor,
    state: Tensor | None = None,
    *,
    log_decay: Tensor | None = None,
    key_mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Decode one token: ask the state for the key's value, write the difference, read.

    Args:
        q: query (..., d_k) of this token.
        k: its key (..., d_k).
        v: its value (..., d_v).
        beta: rate (..., 1).
        state: what the last call returned, or `delta_rule` with `return_state`; None before the first token.
        log_decay: log α (..., 1) or (..., d_k), at most 0 (what is larger counts as 0), by which the state
            fades first; None for no fading.
        key_mask: boolean (batch, 1), this token's column; one with False leaves the state as it is.

    Returns:
        Output (..., d_v) in the dtype of q, and the state (..., d_k, d_v), in float32 at least: in half
        precision a long sum would stop growing.

    Raises:
        TypeError: key_mask is not boolean.
        ValueError: the state or key_mask has another shape.

    >>> one = torch.ones(1)
    >>> delta_step(one, one, 5 * one, one / 2, state=torch.tensor([[3.0]]))
    (tensor([4.]), tensor([[4.]]))
    """
    dtype = q.dtype
    with without_autocast(q):
        q, k, v, beta, state = lifted(q, *hide(of_token(key_mask, k, v), k, v, beta), state)
        shape = state_shape(k, v)
        state = k.new_zeros(shape) if state is None else state
        has_shape("state", state, shape, "(..., d_k, d_v)")
        if log_decay is not None:
            (log_decay,) = lifted(*hide(of_token(key_mask, k, v), log_decay))
            state = limited(log_decay, LEAST, 0.0).exp()[..., None] * state
        v_old = (k[..., None, :] @ state).squeeze(-2)  # (..., d_v): what the state has under this key
        state = torch.addcmul(state, k[..., :, None], (beta * (v - v_old))[..., None, :])
        return (q[..., None, :] @ state).squeeze(-2).to(dtype), state


def _fading_step(q, k, v, beta, log_decay, state):
    return delta_step(q, k, v, beta, state, log_decay=log_decay)


class _DeltaRule(ChunkRule):
    """One chunk. The corrections u_t = β_t (v_t - S_{t-1}ᵀ k_t) are unknown, but they solve a linear system.

    S_{t-1} is the state S before the chunk plus the corrections of the chunk's earlier tokens, so that
    u_t + β_t Σ_{s<t} (k_t·k_s) u_s = β_t (v_t - Sᵀ k_t). The matrix is 1 on the diagonal and 0 above it: one
    triangular solve gives all corrections of the chunk, and with them it is linear attention without
    division. Where the state fades, exp(b_t - b_s) lies between two tokens, b being the running sum of log α:
    a number beside k_t·k_s, or one for each row of the state, within that product.
    """

    def forward(self, state, pieces):
        (memory,) = state  # (batch, d_k, d_v)
        q, k, v, beta, *fading = pieces
        system, scores, _, start, end, through = _tables(q, k, *fading)
        error = torch.baddbmm(v, k * start, memory, alpha=-1)  # (batch, c, d_v)
        u = _solved(beta * system, beta * error)
        out = torch.baddbmm((q * start) @ memory, scores.tril(), u)
        return (torch.baddbmm(through * memory, (k * end).mT, u),), out

    def backward(self, state, pieces, out, d_out, d_state):
        (memory,) = state
        q, k, v, beta, *fading = pieces
        if fading and fading[0].shape[-1] > 1:
            return super().backward(state, pieces, out, d_out, d_state)
        d_out, d_after = filled(d_out, out), filled(d_state[0], memory)
        system, scores, between, start, end, through = _tables(q, k, *fading)
        error = torch.baddbmm(v, k * start, memory, alpha=-1)
        u = _solved(beta * system, beta * error)
        d_u = torch.baddbmm((k * end) @ d_after, scores.tril().mT, d_out)
        d_solved = _solved((beta * system).mT, d_u, upper=True)  # of β times the error
        d_error = beta * d_solved
        d_scores, d_system = ((d_out @ u.mT) * between).tril(), (d_solved @ u.mT).tril(-1)
        d_beta = dots(d_solved, error) - dots(d_system, system)
        d_system = -beta * d_system * between
        d_q = torch.baddbmm(start * (d_out @ memory.mT), d_scores, k)
        k_reads = d_system @ k - start * (d_error @ memory.mT)
        k_leaves = end * (u @ d_after.mT)  # for what goes out of the chunk
        k_writes = torch.baddbmm(torch.baddbmm(k_leaves, d_scores.mT, q), d_system.mT, k)
        d_memory = torch.baddbmm(through * d_after, (q * start).mT, d_out)
        d_memory = torch.baddbmm(d_memory, (k * start).mT, d_error, alpha=-1)
        d_pieces = [d_q, k_reads + k_writes, d_error, d_beta]
        if fading:
            d_through = (through * memory * d_after).sum((-2, -1), keepdim=True)
            d_through = d_through + dots(k, k_leaves).sum(-2, keepdim=True)
            d_pieces += [slope_of_decay(dots(q, d_q) + dots(k, k_reads), dots(k, k_writes), d_through)]
        return [d_memory], d_pieces


def _tables(q, k, log_decay=None):
    """Return keys times keys and queries times keys (batch, c, c), and what fades: see `faded`."""
    if log_decay is None:
        return k @ k.mT, q @ k.mT, 1.0, 1.0, 1.0, 1.0
    fades = faded(log_decay, q)
    if log_decay.shape[-1] == 1:
        return (k @ k.mT) * fades[0], (q @ k.mT) * fades[0], *fades
    return *faded_products(torch.stack((k, q)), k, log_decay).unbind(), *fades


def _solved(system, right, upper=False):
    """Solve a triangular system with ones on its diagonal, whatever stands there and beyond it."""
    return torch.linalg.solve_triangular(system, right, upper=upper, unitriangular=True)
