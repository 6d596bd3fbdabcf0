"""Gated linear attention: a matrix state whose rows fade, each at its own pace, as the token says."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab.arguments import has_shape, is_tensor
from attnlab.linear.chunks import ChunkRule, exact, fade
from attnlab.linear.inputs import (
    check_form,
    hide,
    in_form,
    lifted,
    limited,
    of_token,
    per_token,
    together,
)
from attnlab.precision import without_autocast

LEAST = -1e4
"""Stands for any lower logarithm of a decay: exp(-10000) is 0 in every dtype, and infinity breaks sums."""


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
    attention without its normaliser; one α for all rows is a retention or Mamba-2 layer.

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
        Yang et al. 2024 (gated linear attention), sections 4.1 to 4.3.

    >>> x, half = torch.ones(3, 1), torch.full((3, 1), 0.5)
    >>> gated_linear_attention(x, x, x, half.log()).flatten().tolist()
    [1.0, 1.5, 1.75]
    """
    check_form(form, ("chunked", "recurrent"))
    q, k, v, key_mask = together(q, k, v, key_mask, is_causal=True)
    is_tensor("log_decay", log_decay)
    width = log_decay.shape[-1] if log_decay.dim() > 1 and log_decay.shape[-1] == 1 else q.shape[-1]
    log_decay = limited(per_token("log_decay", log_decay, (*q.shape[:-1], width)), LEAST, 0.0)
    (log_decay,) = hide(key_mask, log_decay)
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
    each row of the state it stands inside the product of q and k. Its factors exp(b_i) and exp(-b_j) could be
    multiplied into q and k, if exp(-b_j) did not overflow. With a token r between them, exp(b_i - b_r) and
    exp(b_r - b_j) are both at most 1. So the chunk is halved: the queries of its later half meet the keys of
    its earlier half with r in the middle, in one product; then the halves are halved, down to single tokens.
    """

    def forward(self, state, pieces):
        if pieces[3].shape[-1] == 1:
            return self._by_token(state, pieces)
        (memory,) = state  # (batch, d_k, d_v)
        n = pieces[0].shape[-2]
        size = 1 << max(n - 1, 0).bit_length()
        # Tokens of zeros round the last chunk up to a power of two: they write nothing and let nothing fade.
        q, k, v, log_decay = (F.pad(x, (0, 0, 0, size - n)) for x in pieces)
        b = exact(log_decay).cumsum(-2)  # (batch, size, d_k)
        total = b[:, -1:]
        out = (q * fade(b, q)) @ memory + (q * k).sum(-1, keepdim=True) * v
        span = 1
        while span < size:
            q2, k2, v2, b2 = (x.unflatten(-2, (-1, 2, span)) for x in (q, k, v, b))
            q_later, k_earlier, b_later, b_earlier = q2[:, :, 1], k2[:, :, 0], b2[:, :, 1], b2[:, :, 0]
            middle = b_earlier[..., -1:, :]  # (batch, blocks, 1, d_k)
            q_later = q_later * fade(b_later - middle, q)
            k_earlier = k_earlier * fade(middle - b_earlier, q)
            out_later = q_later @ k_earlier.mT @ v2[:, :, 0]  # (batch, blocks, span, d_v)
            out = out + F.pad(out_later, (0, 0, span, 0)).flatten(1, 2)
            span *= 2
        memory = fade(total.mT, q) * memory + (k * fade(total - b, q)).mT @ v
        return (memory,), out[:, :n]

    def _by_token(self, state, pieces):
        """One decay a token: a table of weights (batch, c, c), masked by what fades between two tokens."""
        (memory,) = state
        q, k, v, log_decay = pieces
        b = exact(log_decay).cumsum(-2)  # (batch, c, 1)
        total = exact(log_decay).sum(-2, keepdim=True)  # an empty chunk has one too
        weights = (q @ k.mT) * fade((b - b.mT).tril(), q)
        out = torch.baddbmm((q * fade(b, q)) @ memory, weights.tril(), v)
        return (torch.baddbmm(fade(total, q) * memory, (k * fade(total - b, q)).mT, v),), out
