"""Gated linear attention: a matrix state whose rows fade, each at its own pace, as the token says."""

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
    together,
)
from attnlab.precision import without_autocast


def gated_linear_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    log_decay: Tensor,
    *,
    key_mask: Tensor | None = None,
    form: Literal["chunked", "recurrent"] = "chunked",
    block_size: int = 64,
    initial_state: Tensor | None = None,
    return_state: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Read, at every token, a state that fades row by row, each row as fast as the token says.

    S_t = diag(α_t) S_{t-1} + k_t v_tᵀ, out_t = S_tᵀ q_t.
    It is causal, and there is no division: the decay α keeps the state from growing. α ≡ 1 is linear
    attention without its normaliser; one α for all rows is a retention or Mamba-2 layer. That one is at the
    same time a masked table, out = (q kᵀ ∘ L) v with L_ij = α_{j+1} ⋯ α_i for j ≤ i (state-space duality),
    and a `block_size` of n computes it so.

    Args:
        q: queries (..., n, d_k); the scale, if any, is the caller's.
        k: keys (..., n, d_k).
        v: values (..., n, d_v).
        log_decay: log α (..., n, d_k) or (..., n, 1), at most 0; what is larger counts as 0, no decay.
        key_mask: boolean (batch, n) or (batch, 1, n), True = may be attended to, as `masks.padding` makes it.
            A hidden token leaves the state as it is: it neither writes nor lets anything fade.
        form: "chunked", which `torch.compile` leaves out of its graph, or "recurrent": one token at a time,
            which it compiles, and which alone has a second derivative outside `torch.func`.
        block_size: tokens in a chunk. It changes the time, not the result.
        initial_state: the state (..., d_k, d_v) that an earlier call returned for the text before this one.
        return_state: return the state after the last token as well, for the next call or for `gated_step`.

    Returns:
        Output (..., n, d_v); zeros where nothing may be attended to. With `return_state` also the state
        (..., d_k, d_v), in float32 at least.

    Raises:
        TypeError: key_mask is not boolean.
        ValueError: shapes do not fit, or the form is unknown.

    References:
        Yang et al. 2024 (gated linear attention), sections 4.1 to 4.3; Dao and Gu 2024, sections 5 and 6.

    >>> x, half = torch.ones(3, 1), torch.full((3, 1), 0.5)
    >>> gated_linear_attention(x, x, x, half.log()).flatten().tolist()
    [1.0, 1.5, 1.75]
    """
    check_form(form, ("chunked", "recurrent"))
    q, k, v, key_mask = together(q, k, v, key_mask, is_causal=True)
    (log_decay,) = hide(key_mask, decays(log_decay, q))
    sequences = [q, k, v, log_decay]
    return in_form(form, _GatedRule(), gated_step, sequences, initial_state, block_size, return_state)


def gated_step(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    log_decay: Tensor,
    state: Tensor | None = None,
    *,
    key_mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Decode one token: let the state fade, write, read.

    Args:
        q: query (..., d_k) of this token.
        k: its key (..., d_k).
        v: its value (..., d_v).
        log_decay: log α (..., d_k) or (..., 1), at most 0; what is larger counts as 0, no decay.
        state: what the last call returned, or `gated_linear_attention` with `return_state`; None before the
            first token.
        key_mask: boolean (batch, 1), this token's column; one with False leaves the state as it is.

    Returns:
        Output (..., d_v) in the dtype of q, and the state (..., d_k, d_v), in float32 at least: in half
        precision a long sum would stop growing.

    Raises:
        TypeError: key_mask is not boolean.
        ValueError: the state or key_mask has another shape.

    >>> one = torch.ones(1)
    >>> gated_step(one, one, one, one.log(), state=torch.ones(1, 1))
    (tensor([2.]), tensor([[2.]]))
    """
    dtype = q.dtype
    with without_autocast(q):
        q, k, v, log_decay, state = lifted(q, *hide(of_token(key_mask, k, v), k, v, log_decay), state)
        new = k[..., :, None] * v[..., None, :]  # (..., d_k, d_v)
        if state is not None:
            has_shape("state", state, new.shape, "(..., d_k, d_v)")
            new = torch.addcmul(new, limited(log_decay, LEAST, 0.0).exp()[..., None], state)
        return (q[..., None, :] @ new).squeeze(-2).to(dtype), new


class _GatedRule(ChunkRule):
    """One chunk. Between tokens j ≤ i lies the decay exp(b_i - b_j), b being the running sum of log α.

    With one decay a token that is a number, at most 1, which multiplies the weight of j for i. With one for
    each row of the state it stands inside the product of q and k, as `faded_products` has it.
    """

    def forward(self, state, pieces):
        (memory,) = state  # (batch, d_k, d_v)
        q, k, v, log_decay = pieces
        between, start, end, through = faded(log_decay, q)
        by_row = log_decay.shape[-1] > 1
        weights = faded_products(q, k, log_decay) if by_row else ((q @ k.mT) * between).tril()
        out = torch.baddbmm((q * start) @ memory, weights, v)
        return (torch.baddbmm(through * memory, (k * end).mT, v),), out

    def backward(self, state, pieces, out, d_out, d_state):
        if pieces[3].shape[-1] > 1:
            return super().backward(state, pieces, out, d_out, d_state)
        (memory,), (q, k, v, log_decay) = state, pieces
        d_out, d_after = filled(d_out, out), filled(d_state[0], memory)
        between, start, end, through = faded(log_decay, q)
        weights, d_weights = ((q @ k.mT) * between).tril(), ((d_out @ v.mT) * between).tril()
        d_q = torch.baddbmm(start * (d_out @ memory.mT), d_weights, k)
        k_leaves = end * (v @ d_after.mT)  # for what goes out of the chunk
        d_k = torch.baddbmm(k_leaves, d_weights.mT, q)
        d_v = torch.baddbmm((k * end) @ d_after, weights.mT, d_out)
        d_memory = torch.baddbmm(through * d_after, (q * start).mT, d_out)
        d_through = (through * memory * d_after).sum((-2, -1), keepdim=True) + dots(k, k_leaves).sum(
            -2, keepdim=True
        )
        return [d_memory], [d_q, d_k, d_v, slope_of_decay(dots(q, d_q), dots(k, d_k), d_through)]
