"""Linformer: attention to a fixed number of mixtures of the keys, instead of to the keys."""

from __future__ import annotations

from torch import Tensor

from attnlab.dot_product import attention
from attnlab.linear.inputs import together


def linformer_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mix_keys: Tensor,
    mix_values: Tensor | None = None,
    *,
    key_mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Attend to r mixtures of the keys and values: softmax(scale · q (E k)ᵀ) (F v).

    E and F are learned matrices over the *positions*. That costs n·r instead of n². It is not causal, and
    cannot be made so: each mixture holds every token, the last one too.

    Args:
        q: queries (..., n_q, d_k).
        k: keys (..., n_k, d_k).
        v: values (..., n_k, d_v).
        mix_keys: E (..., r, n_max) with n_max ≥ n_k; a shorter sequence uses the first n_k columns.
        mix_values: F of the same form; E again unless given.
        key_mask: boolean (batch, n_k) or (batch, 1, n_k), True = may be attended to, as `masks.padding` makes
            it. A hidden token enters no mixture.
        scale: factor on the scores; 1/sqrt(d_k) unless given.

    Returns:
        Output (..., n_q, d_v). With every key hidden all mixtures are zero, and so is the output.

    Raises:
        TypeError: key_mask is not boolean.
        ValueError: shapes do not fit, or the sequence is longer than n_max.

    References:
        Wang et al. 2020, section 4.

    >>> import torch
    >>> k, v = torch.zeros(4, 2), torch.tensor([[1.0], [2.0], [3.0], [4.0]])
    >>> halves = torch.tensor([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    >>> linformer_attention(k[:1], k, v, halves).tolist()
    [[2.5]]
    """
    q, k, v, _ = together(q, k, v, key_mask, is_causal=False)
    mix_values = mix_keys if mix_values is None else mix_values
    n = k.shape[-2]
    for name, mix in (("mix_keys", mix_keys), ("mix_values", mix_values)):
        if mix.dim() < 2 or mix.shape[-1] < n:
            raise ValueError(f"{name} must end in (r, n_max) with n_max >= n_k = {n}, got {tuple(mix.shape)}")
    return attention(q, mix_keys[..., :n] @ k, mix_values[..., :n] @ v, scale=scale)
