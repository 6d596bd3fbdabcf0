"""Causal attention in its forms behind one call, so that an experiment changes the form and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlab.arguments import of_keys
from attnlab.dot_product import attention
from attnlab.linear import (
    FourierFeatures,
    PositiveFeatures,
    delta_rule,
    elu_plus_one,
    gated_linear_attention,
    linear_attention,
)

FORMS = (
    "softmax",
    "softmax, a slope",
    "sum",
    "sum, no signs",
    "no signs, less the mean",
    "elu + 1, no division",
    "elu + 1",
    "FAVOR+",
    "RFA, gate",
    "gate",
    "delta rule",
    "gate and delta",
)

SUMS: dict[str, Callable[[Tensor], Tensor]] = {
    "sum": lambda x: x,
    "sum, no signs": torch.abs,
    "elu + 1, no division": elu_plus_one,
}
"""What is made of queries and keys before a plain sum; each is then scaled to length 1."""

Form = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor | None], Tensor]


def form(
    name: str, d: int, *, features: int | None = None, seed: int = 0, is_causal: bool = True
) -> Callable[..., Tensor]:
    """Return one form as a function (q, k, v, rate, key_mask) -> output.

    Args:
        name: one of `FORMS`. The gated forms and the sums are causal. In "softmax, a slope" every token from
            a key to its query lowers the score by -log of its rate: one number for all tokens is the slope of
            ALiBi, and fades the weight as a gate fades a state. "sum" adds up values under keys of length 1
            and divides by nothing; "sum, no signs" and "elu + 1, no division" do so with |x| and elu(x) + 1,
            made to have length 1; "no signs, less the mean" is a control of the former: of each token's
            weights the mean is taken away.
        d: width of queries and keys.
        features: how many random features FAVOR+ and RFA draw; d unless given. The state of all other linear
            forms has d rows.
        seed: what they are drawn with.
        is_causal: let no token look ahead.

    Returns:
        A function of q, k (..., n, d), v (..., n, d_v), a rate between 0 and 1 (..., n, 1), which is the
        delta rule's β, the share that a gate keeps, and ignored by the others, and a boolean mask of the keys
        (batch, n), or None. "gate and delta" takes two rates (..., n, 2): what is kept, and β.

    Raises:
        ValueError: there is no such form.

    >>> q, k, v = torch.randn(3, 1, 5, 8)
    >>> [form(name, 8)(q, k, v, torch.full((1, 5, 1), 0.5), None).shape[-2:] for name in FORMS[:2]]
    [torch.Size([5, 8]), torch.Size([5, 8])]
    """
    if name not in FORMS:
        raise ValueError(f"name must be one of {', '.join(map(repr, FORMS))}; got {name!r}")
    m, draw = features or d, torch.Generator().manual_seed(seed)
    if name == "softmax":
        return lambda q, k, v, rate, key_mask: attention(q, k, v, mask=_row(q, key_mask), is_causal=is_causal)
    if name == "softmax, a slope":
        return lambda q, k, v, rate, key_mask: attention(
            q, k, v, bias=_faded(rate[..., :1]), mask=_row(q, key_mask), is_causal=True
        )
    if name in SUMS:
        return lambda q, k, v, rate, key_mask: gated_linear_attention(
            *_unit(*map(SUMS[name], (q, k))), v, torch.zeros_like(q[..., :1]), key_mask=key_mask
        )
    if name == "no signs, less the mean":
        return lambda q, k, v, rate, key_mask: _less_the_mean(*_unit(q.abs(), k.abs()), key_mask) @ v
    if name == "gate":  # no division: what fades cannot grow without bound
        return lambda q, k, v, rate, key_mask: gated_linear_attention(
            *_unit(q, k), v, rate[..., :1].log(), key_mask=key_mask
        )
    if name == "delta rule":
        return lambda q, k, v, rate, key_mask: delta_rule(*_unit(q, k), v, rate[..., :1], key_mask=key_mask)
    if name == "gate and delta":
        return lambda q, k, v, rate, key_mask: delta_rule(
            *_unit(q, k), v, rate[..., -1:], log_decay=rate[..., :1].log(), key_mask=key_mask
        )
    phi: Callable[[Tensor], Tensor] = elu_plus_one
    if name == "FAVOR+":
        phi = PositiveFeatures.draw(d, m, generator=draw)
    if name == "RFA, gate":  # each row of its matrix is two features, a sine and a cosine
        phi = FourierFeatures.draw(d, m // 2, sigma=0.5, generator=draw)
    return _Kernel(phi, gated=name == "RFA, gate", is_causal=is_causal)


class _Kernel(nn.Module):
    """Linear attention as a module, so that a layer that holds it saves its random features."""

    def __init__(self, features: Callable[[Tensor], Tensor], *, gated: bool, is_causal: bool) -> None:
        super().__init__()
        self.features, self.gated, self.is_causal = features, gated, is_causal

    def forward(self, q: Tensor, k: Tensor, v: Tensor, rate: Tensor, key_mask: Tensor | None) -> Tensor:
        gate = rate[..., :1] if self.gated else None
        return linear_attention(
            q, k, v, features=self.features, gate=gate, key_mask=key_mask, is_causal=self.is_causal
        )


def _row(q: Tensor, key_mask: Tensor | None) -> Tensor | None:
    """Turn a mask of the keys into one of the pairs, beside queries (batch, ..., n, d)."""
    return None if key_mask is None else of_keys(key_mask, q.shape[:-2], q.shape[-2])[..., None, :]


def _faded(rate: Tensor) -> Tensor:
    """Return the logarithm of what is left at each token of each before it, (..., n, n)."""
    passed = rate.log().cumsum(-2)
    return passed - passed.mT


def _less_the_mean(q: Tensor, k: Tensor, key_mask: Tensor | None) -> Tensor:
    """Return causal weights (..., n, n), each less the mean of those that its token sees."""
    weights = q @ k.mT
    seen = torch.ones_like(weights, dtype=torch.bool).tril()
    if key_mask is not None:
        seen = seen & _row(q, key_mask)
    weights = weights * seen
    return (weights - weights.sum(-1, keepdim=True) / seen.sum(-1, keepdim=True).clamp(min=1)) * seen


def _unit(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    return F.normalize(q, dim=-1), F.normalize(k, dim=-1)
