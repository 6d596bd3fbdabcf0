"""What the functions of this package check and prepare alike."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from attnlab.arguments import has_shape, is_tensor, of_keys, scores_shape
from attnlab.linear.chunks import ChunkRule, scan
from attnlab.precision import working, working_dtype

LEAST = -1e4
"""Stands for any lower logarithm of a decay: exp(-10000) is 0 in every dtype, and infinity breaks sums."""


def together(
    q: Tensor, k: Tensor, v: Tensor, key_mask: Tensor | None, *, is_causal: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Check shapes and spread the leading dimensions of all over each other, without copying.

    Args:
        q: queries (..., n_q, d_k).
        k: keys (..., n_k, d_k).
        v: values (..., n_k, d_v).
        key_mask: boolean (batch, n_k) or (batch, 1, n_k): which keys exist, for all heads and queries alike.
        is_causal: whether n_q must equal n_k.

    Returns:
        q, k, v and the mask as a column (..., n_k, 1), or None. Hidden keys and values are zeros, so that
        nothing in them, NaN neither, can reach an output or a gradient.

    Raises:
        TypeError: key_mask is not boolean.
        ValueError: shapes do not fit.
    """
    *batch, n_q, n_k = scores_shape(q, k, v)
    if is_causal and n_q != n_k:
        raise ValueError(f"is_causal needs as many queries as keys, got n_q = {n_q} and n_k = {n_k}")
    if key_mask is not None:
        key_mask = of_keys(key_mask, batch, n_k)[..., None].expand(*batch, n_k, 1)
    q, k, v = (x.expand(*batch, *x.shape[-2:]) for x in (q, k, v))
    return q, *hide(key_mask, k, v), key_mask


def hide(key_mask: Tensor | None, *tensors: Tensor) -> tuple[Tensor, ...]:
    """Return tensors (..., d) with zeros where the mask (..., 1) is False."""
    if key_mask is None:
        return tensors
    return tuple(x.masked_fill(~key_mask, 0.0) for x in tensors)


def of_token(key_mask: Tensor | None, k: Tensor, v: Tensor) -> Tensor | None:
    """Return a step's mask of its one key, (batch, 1), with as many dimensions as k and v (batch, ..., d).

    Raises:
        TypeError: key_mask is not boolean.
        ValueError: it has another shape.
    """
    return None if key_mask is None else of_keys(key_mask, state_shape(k, v)[:-2], 1)


def lifted(*tensors: Tensor | None) -> list[Tensor | None]:
    """Return tensors in the dtype that sums over a sequence are kept in, and None for None."""
    return [None if x is None else working(x) for x in tensors]


def per_token(name: str, x: Tensor, shape: tuple[int, ...] | torch.Size) -> Tensor:
    """Check one tensor of gates or rates and spread it over (..., n, d).

    Args:
        name: what the caller calls it, for the message.
        x: the tensor.
        shape: the shape (..., n, d) it should broadcast to; d = 1 for one number a token.

    Returns:
        The tensor with that shape, not copied.

    Raises:
        TypeError: it is no tensor.
        ValueError: it does not fit.

    >>> per_token("beta", torch.ones(3, 1), (2, 3, 1)).shape
    torch.Size([2, 3, 1])
    """
    is_tensor(name, x)
    if x.dim() < 2 or x.shape[-2:] != shape[-2:]:
        raise ValueError(
            f"{name} must end in {tuple(shape[-2:])}, one row a token, got shape {tuple(x.shape)}"
        )
    try:
        return x.expand(shape)
    except RuntimeError:
        raise ValueError(f"{name} of shape {tuple(x.shape)} does not broadcast to {tuple(shape)}") from None


def limited(x: Tensor, low: float, high: float) -> Tensor:
    """Return numbers, those beyond a range as its ends.

    The ends themselves have their slope, which those of a clamp have in some versions of torch.

    >>> limited(torch.tensor([-3.0, 0.5, 2.0]), 0.0, 1.0).tolist()
    [0.0, 0.5, 1.0]
    """
    if not (torch.is_grad_enabled() and x.requires_grad):
        return x.clamp(low, high)
    return x.masked_fill(x < low, low).masked_fill(x > high, high)


def decays(log_decay: Tensor, q: Tensor) -> Tensor:
    """Check the logarithms of decays, one a token or one for each row of the state, and limit them.

    Args:
        log_decay: log α, which broadcasts to (..., n, 1) or (..., n, d_k).
        q: queries (..., n, d_k).

    Returns:
        log α (..., n, 1) or (..., n, d_k), from `LEAST` to 0.

    Raises:
        TypeError: it is no tensor.
        ValueError: it has another shape.

    >>> decays(torch.tensor([[0.5], [-torch.inf]]), torch.ones(2, 4)).flatten().tolist()
    [0.0, -10000.0]
    """
    is_tensor("log_decay", log_decay)
    width = 1 if log_decay.dim() > 1 and log_decay.shape[-1] == 1 else q.shape[-1]
    return limited(per_token("log_decay", log_decay, (*q.shape[:-1], width)), LEAST, 0.0)


def state_shape(k: Tensor, v: Tensor) -> tuple[int, ...]:
    """Return the shape (..., d_k, d_v) of the state of one token's key (..., d_k) and value (..., d_v)."""
    lead = k.shape[:-1]
    if v.shape[:-1] != lead:
        lead = torch.broadcast_shapes(lead, v.shape[:-1])
    return (*lead, k.shape[-1], v.shape[-1])


def check_form(form: str, forms: tuple[str, ...]) -> None:
    """Raise a ValueError unless the form is one of those there are."""
    if form not in forms:
        raise ValueError(f"form must be one of {', '.join(map(repr, forms))}, got {form!r}")


def token_by_token(step, state, *sequences: Tensor | None) -> tuple[Tensor, object]:
    """Run `step(*tokens, state) -> (out, state)` over the tokens of sequences (..., n, d), one by one.

    Args:
        step: what to do with one token of each sequence, (..., d) each.
        state: what it gets first.
        sequences: tensors with the same leading dimensions and length, at least 1; the first is not None. For
            one that is, the step gets None.

    Returns:
        The outputs (..., n, d_out) in the dtype of the first sequence, and the last state.
    """
    outs, rows = [], [itertools.repeat(None) if x is None else x.unbind(-2) for x in sequences]
    for tokens in zip(*rows, strict=False):
        out, state = step(*tokens, state)
        outs.append(out)
    return torch.stack(outs, dim=-2), state


def in_form(
    form: str,
    rule: ChunkRule,
    step,
    sequences: list[Tensor],
    state: Tensor | None,
    block_size: int,
    return_state: bool,
) -> Tensor | tuple[Tensor, Tensor]:
    """Run a recurrence whose state is one matrix, in chunks or token by token.

    Args:
        form: "chunked" or "recurrent".
        rule: what happens in a chunk.
        step: what happens to a token: `step(*tokens, state) -> (out, state)`.
        sequences: q, k (..., n, d_k), v (..., n, d_v) and what else the rule and the step take.
        state: the caller's `initial_state` (..., d_k, d_v), or None for zeros.
        block_size: tokens in a chunk.
        return_state: return the last state beside the output.

    Returns:
        The output (..., n, d_v) and, if asked for, the state, in float32 at least.

    Raises:
        ValueError: the state has another shape.
    """
    q, _, v = sequences[:3]
    shape = (*q.shape[:-2], q.shape[-1], v.shape[-1])
    if state is None:
        state = torch.zeros(shape, dtype=working_dtype(q.dtype), device=q.device)
    has_shape("initial_state", state, shape, "(..., d_k, d_v)")
    state = state.to(working_dtype(q.dtype))  # of another precision than the sequences, it takes theirs
    if form == "recurrent" and q.shape[-2]:  # no tokens at all are one empty chunk
        out, state = token_by_token(step, state, *sequences)
    else:
        flat = state.reshape(q.shape[:-2].numel(), *shape[-2:])
        out, (state,) = scan(rule, (flat,), sequences, block_size)
    return (out, state.view(shape)) if return_state else out
