"""Linear attention with any feature map: Linear Transformer, Performer (FAVOR+), random features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from attnlab.linear.chunks import exact, fade
from attnlab.linear.features import elu_plus_one
from attnlab.linear.inputs import (
    check_form,
    hide,
    lifted,
    limited,
    of_token,
    per_token,
    state_shape,
    together,
    token_by_token,
)
from attnlab.linear.kernel import LOWEST, LinearState, divisor, empty_state, fitting, kernel_scan, scaled
from attnlab.linear.whole import attend_to_all
from attnlab.precision import without_autocast, working

Features = Callable[[Tensor], Tensor]


def linear_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    features: Features = elu_plus_one,
    gate: Tensor | None = None,
    key_mask: Tensor | None = None,
    is_causal: bool = False,
    form: Literal["chunked", "parallel", "recurrent"] = "chunked",
    block_size: int = 128,
    initial_state: LinearState | None = None,
    return_state: bool = False,
) -> Tensor | tuple[Tensor, LinearState]:
    """Return the mean of the values, weighted by φ(q)·φ(k).

    out_i = Σ_j (φ(q_i)·φ(k_j)) v_j / Σ_j φ(q_i)·φ(k_j), over all keys or over j ≤ i. The `features` choose
    the model: `elu_plus_one` is the Linear Transformer, `PositiveFeatures` the Performer's FAVOR+,
    `FourierFeatures` random feature attention.

    A gate g forgets: the state is S_t = g_t S_{t-1} + (1 - g_t) φ(k_t) v_tᵀ, and z_t likewise.

    Args:
        q: queries (..., n_q, d_k).
        k: keys (..., n_k, d_k).
        v: values (..., n_k, d_v).
        features: the map φ, from (..., n, d_k) to (..., n, m): a function or a module, with a gradient or
            without. It is called on pieces of the sequence or on all of it, in float32 where the inputs are
            halves. One that learns or draws random numbers keeps more in memory for the backward pass.
        gate: (..., n, 1), between 0 and 1, for every token; needs `is_causal`. Exactly 0 and 1 mean what they
            say, but get no gradient; what lies beyond counts
            as they do (in the parallel form, a formula, as it is).
        key_mask: boolean (batch, n_k) or (batch, 1, n_k), True = may be attended to, as `masks.padding` makes
            it. The state passes a hidden token by as if it were not there.
        is_causal: hide later keys from every query; needs n_q == n_k.
        form: "chunked" costs n steps in the length, forward and backward; "recurrent" (causal) is the same
            recurrence one token at a time; "parallel" makes the (n_q, n_k) weights, the definition to compare
            with. `torch.compile` leaves the chunked form out of its graph, and outside `torch.func` only the
            other two have a second derivative.
        block_size: tokens in a chunk. It changes the time, not the result.
        initial_state: the state that an earlier call returned for the text before this one; causal only.
        return_state: return the state after the last token as well, for the next call or for `linear_step`.

    Returns:
        Output (..., n_q, d_v). A query with nothing to attend to, and one whose weights all round to zero,
        gets zeros. With `return_state` also the state.

    Raises:
        TypeError: key_mask is not boolean, features are no function, or something else is no tensor.
        ValueError: shapes do not fit, or the form needs `is_causal`, or has no state.

    References:
        Katharopoulos et al. 2020, section 3; Choromanski et al. 2021, section 2; Peng et al. 2021, sections
        3.1 and 3.2 (gate); Hua et al. 2022, section 3.2 (chunks).

    >>> x = torch.zeros(3, 2)
    >>> linear_attention(x, x, torch.tensor([[3.0], [5.0], [7.0]]), is_causal=True).flatten().tolist()
    [3.0, 4.0, 5.0]
    """
    _check_features(features)
    check_form(form, ("chunked", "parallel", "recurrent"))
    with_state = initial_state is not None or return_state
    if not is_causal and (gate is not None or with_state or form == "recurrent"):
        what = "a gate" if gate is not None else "a state" if with_state else "form='recurrent'"
        raise ValueError(f"{what} needs is_causal=True: a recurrence goes through the tokens in order")
    if form == "parallel" and with_state:
        raise ValueError("form='parallel' has no state: it sees all tokens at once; take 'chunked'")
    q, k, v, key_mask = together(q, k, v, key_mask, is_causal=is_causal)
    if gate is not None:
        gate = working(per_token("gate", gate, (*q.shape[:-1], 1)))
        if key_mask is not None:
            gate, key_mask = gate.masked_fill(~key_mask, 1.0), None  # it forgets nothing and writes nothing
    if form == "parallel":
        return _parallel(features, q, k, v, key_mask, gate, is_causal)
    gate = None if gate is None else limited(gate, 0.0, 1.0)
    if form == "recurrent" and q.shape[-2]:

        def step(q, k, v, gate, key_mask, state):
            return _step(q, k, v, state, features, gate, key_mask)

        out, state = token_by_token(step, initial_state, q, k, v, gate, key_mask)
    elif is_causal:
        log = None if gate is None else gate.clamp(min=torch.finfo(gate.dtype).tiny).log()
        out, state = kernel_scan(features, q, k, v, key_mask, log, initial_state, block_size=block_size)
    else:
        return attend_to_all(features, q, k, v, key_mask, block_size)
    return (out, state) if return_state else out


def linear_step(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    state: LinearState | None = None,
    *,
    features: Features = elu_plus_one,
    gate: Tensor | None = None,
    key_mask: Tensor | None = None,
) -> tuple[Tensor, LinearState]:
    """Decode one token: write its key and value into the state, then read the state with its query.

    Args:
        q: query (..., d_k) of this token.
        k: its key (..., d_k).
        v: its value (..., d_v).
        state: what the last call returned, or `linear_attention` with `return_state`; None before the first
            token.
        features: the map φ.
        gate: (..., 1), between 0 and 1: how much of the state stays.
        key_mask: boolean (batch, 1), this token's column; one with False leaves the state as it is.

    Returns:
        Output (..., d_v) in the dtype of q, and the state. Its size does not depend on how many tokens came
        before. It is in float32 at least: in half precision a long sum would stop growing.

    Raises:
        TypeError: key_mask is not boolean, features are no function, or the state is no `LinearState`.
        ValueError: the state or key_mask has another shape.

    References:
        Katharopoulos et al. 2020, section 3.4.

    >>> one = torch.ones(1)
    >>> out, state = linear_step(one, one, 3 * one)
    >>> out, state = linear_step(one, one, 5 * one, state)
    >>> out.tolist(), state.sums.tolist(), state.total.tolist()
    ([4.0], [[16.0]], [[4.0]])
    """
    _check_features(features)
    return _step(q, k, v, state, features, gate, of_token(key_mask, k, v))


def _check_features(features: Features) -> None:
    if not callable(features):
        raise TypeError(f"features must be a function of vectors, as elu_plus_one is, got {features!r}")


def _step(q, k, v, state, features, gate, key_mask) -> tuple[Tensor, LinearState]:
    """Decode one token; the mask (..., 1) has been checked."""
    dtype = q.dtype
    with without_autocast(q):
        q, k, v, gate = lifted(q, *hide(key_mask, k, v), gate)
        gate = None if gate is None else limited(gate, 0.0, 1.0)
        fk, scale = scaled(features, k)  # (..., m), (..., 1)
        shape = state_shape(fk, v)
        if state is None:
            sums, total, top = empty_state(shape, fk.dtype, fk.device)
        else:
            sums, total, top = fitting("state", state, shape)
        if scale is None and gate is None:  # then every key counts 1, not exp(scale)
            kept, log_scale = top.exp(), torch.zeros_like(top)
            fk = fk if key_mask is None else fk * key_mask
        else:
            top, scale, fk = _counts(top, scale, fk, gate, key_mask)
            log_scale = torch.maximum(top, scale).detach()
            kept = fade(top - log_scale, fk)  # (..., 1, 1)
            fk = fk * fade(scale - log_scale, fk)[..., 0]
        sums = torch.addcmul(kept * sums, fk[..., None], v[..., None, :])
        total = kept * total + fk[..., None]
        fq = scaled(features, q)[0][..., None, :]  # (..., 1, m)
        out = (fq @ sums / divisor(fq @ total)).squeeze(-2)
        return out.to(dtype), LinearState(sums, total, log_scale)


def _counts(top, scale, fk, gate, key_mask) -> tuple[Tensor, Tensor, Tensor]:
    """Return the scales (..., 1, 1) of what was written before and of a key, and its features.

    A gate g multiplies the one by g and the other by 1 - g; a gate of 1 writes nothing, like a hidden key.
    """
    if gate is not None:
        tiny = torch.finfo(gate.dtype).tiny
        gate = gate if key_mask is None else gate.masked_fill(~key_mask, 1.0)
        top = top + gate.clamp(min=tiny).log()[..., None]
        fresh = (1 - gate).clamp(min=tiny).log()
        scale, key_mask = fresh if scale is None else scale + fresh, gate < 1
    if key_mask is not None:
        scale, fk = scale.masked_fill(~key_mask, LOWEST), fk * key_mask
    return top, scale[..., None], fk


def _parallel(features, q, k, v, key_mask, gate, is_causal) -> Tensor:
    """The definition, with its (n_q, n_k) weights."""
    dtype = q.dtype
    with without_autocast(q):
        q, k, v = lifted(q, k, v)
        weights = features(q) @ features(k).mT
        if gate is not None:  # key j is written with 1 - g_j and forgotten by every later gate
            exactly = exact(gate)
            log = exactly.clamp(min=torch.finfo(exactly.dtype).tiny).log()  # two gates of 0: no ∞ - ∞
            passed = log.cumsum(-2)
            faded = (passed - passed.mT).tril().exp() * (1 - gate.mT)  # no clamp: a gate of 1 would tie
            weights = weights * faded.to(weights.dtype)
        if key_mask is not None:
            weights = weights.masked_fill(~key_mask.mT, 0.0)
        if is_causal:
            weights = weights.tril()
        return (weights @ v / divisor(weights.sum(-1, keepdim=True))).to(dtype)
