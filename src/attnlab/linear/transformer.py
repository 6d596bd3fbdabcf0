"""Linear attention with any feature map: Linear Transformer, Performer (FAVOR+), random features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from attnlab.linear.features import elu_plus_one
from attnlab.linear.inputs import check_form, per_token, together, token_by_token
from attnlab.linear.kernel import divisor, kernel_scan
from attnlab.masks import causal

Features = Callable[[Tensor], Tensor]


def linear_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    features: Features = elu_plus_one,
    gate: Tensor | None = None,
    mask: Tensor | None = None,
    is_causal: bool = False,
    form: Literal["chunked", "parallel", "recurrent"] = "chunked",
    chunk_size: int | None = None,
) -> Tensor:
    """Return the mean of the values, weighted by φ(q)·φ(k).

    out_i = Σ_j (φ(q_i)·φ(k_j)) v_j / Σ_j φ(q_i)·φ(k_j), over all keys or over j ≤ i. The `features` choose
    the model: `elu_plus_one` is the Linear Transformer, `PositiveFeatures` the Performer's FAVOR+,
    `FourierFeatures` random feature attention.

    A gate g forgets: the state is S_t = g_t S_{t-1} + (1 - g_t) φ(k_t) v_tᵀ, and z_t likewise.

    Args:
        q: queries (..., n_q, d_k).
        k: keys (..., n_k, d_k).
        v: values (..., n_k, d_v).
        features: the map φ, from (..., n, d_k) to (..., n, m).
        gate: (..., n, 1), between 0 and 1, for every token; needs `is_causal`.
        mask: boolean, broadcastable to (..., 1, n_k), True = may be attended to. The state passes a hidden
            token by as if it were not there.
        is_causal: hide later keys from every query; needs n_q == n_k.
        form: "chunked" costs n steps in the length, forward and backward; "recurrent" (causal) is the same
            recurrence one token at a time; "parallel" makes the (n_q, n_k) weights, the definition to compare
            with.
        chunk_size: tokens in a chunk; 128 or 256, whichever is faster, unless given. It changes the time, not
            the result.

    Returns:
        Output (..., n_q, d_v). A query with nothing to attend to, and one whose weights all round to zero,
        gets zeros.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: shapes do not fit, the mask differs from query to query, or the form needs `is_causal`.

    References:
        Katharopoulos et al. 2020, section 3; Choromanski et al. 2021, section 2; Peng et al. 2021, sections
        3.1 and 3.2 (gate); Hua et al. 2022, section 3.2 (chunks).

    >>> x = torch.zeros(3, 2)
    >>> linear_attention(x, x, torch.tensor([[3.0], [5.0], [7.0]]), is_causal=True).flatten().tolist()
    [3.0, 4.0, 5.0]
    """
    check_form(form, ("chunked", "parallel", "recurrent"))
    if not is_causal and (gate is not None or form == "recurrent"):
        what = "a gate" if gate is not None else "form='recurrent'"
        raise ValueError(f"{what} needs is_causal=True: a recurrence goes through the tokens in order")
    q, k, v, keep = together(q, k, v, mask, is_causal=is_causal)
    if gate is not None:
        gate = per_token("gate", gate, (*q.shape[:-1], 1))
    if form == "chunked":
        if chunk_size is None:
            scaled = gate is not None or hasattr(features, "scaled")
            chunk_size = 128 if is_causal and scaled else 256
        log = None if gate is None else gate.clamp(min=torch.finfo(gate.dtype).tiny).log()
        out = kernel_scan(features, q, k, v, keep, log, is_causal=is_causal, chunk_size=chunk_size)
        if gate is None:
            return out
        # A gate of 1 writes nothing. In logarithms that is next to nothing, and would count where it is all.
        written = gate < 1 if keep is None else (gate < 1) & keep
        return out.masked_fill(written.cumsum(-2) == 0, 0.0)
    if form == "parallel":
        return _parallel(features, q, k, v, keep, gate, is_causal)

    def step(q, k, v, keep, gate, state):
        return linear_step(q, k, v, state, features=features, gate=gate, keep=keep)

    return token_by_token(step, q, k, v, keep, gate)


def linear_step(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    state: Tensor | None = None,
    *,
    features: Features = elu_plus_one,
    gate: Tensor | None = None,
    keep: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Decode one token: write its key and value into the state, then read the state with its query.

    Args:
        q: query (..., d_k) of this token.
        k: its key (..., d_k).
        v: its value (..., d_v).
        state: what the last call returned; None before the first token.
        features: the map φ.
        gate: (..., 1), between 0 and 1: how much of the state stays.
        keep: boolean (..., 1); a token with False leaves the state as it is.

    Returns:
        Output (..., d_v), and the state (..., m, d_v + 1): the sum of φ(k) vᵀ, and in the last column of
        φ(k). Its size does not depend on how many tokens came before.

    References:
        Katharopoulos et al. 2020, section 3.4.

    >>> one = torch.ones(1)
    >>> out, state = linear_step(one, one, 3 * one)
    >>> out, state = linear_step(one, one, 5 * one, state)
    >>> out.tolist(), state.tolist()
    ([4.0], [[16.0, 4.0]])
    """
    ones = torch.cat((v, torch.ones_like(v[..., :1])), dim=-1)  # (..., d_v + 1)
    new = features(k)[..., :, None] * ones[..., None, :]  # (..., m, d_v + 1)
    old = torch.zeros_like(new) if state is None else state
    after = old + new if gate is None else gate[..., None] * old + (1 - gate[..., None]) * new
    if keep is not None:
        after = torch.where(keep[..., None], after, old)
    sums = (features(q)[..., None, :] @ after).squeeze(-2)  # (..., d_v + 1)
    return sums[..., :-1] / divisor(sums[..., -1:]), after


def _parallel(features, q, k, v, keep, gate, is_causal) -> Tensor:
    """The definition, with its (n_q, n_k) weights."""
    weights = features(q) @ features(k).mT
    if gate is not None:  # key j is written with 1 - g_j and forgotten by every later gate
        log = gate.double().clamp(min=torch.finfo(torch.float64).tiny).log()  # two gates of 0: no ∞ - ∞
        passed = (log if keep is None else log.masked_fill(~keep, 0.0)).cumsum(-2)
        faded = (passed - passed.mT).clamp(max=0.0).exp() * (1 - gate.mT)
        weights = weights * faded.to(weights.dtype)
    if keep is not None:
        weights = weights.masked_fill(~keep.mT, 0.0)
    if is_causal:
        weights = weights.masked_fill(~causal(q.shape[-2], device=q.device), 0.0)
    return weights @ v / divisor(weights.sum(-1, keepdim=True))
