"""Numbers drawn by integer arithmetic that JavaScript has too: what is drawn here is drawn in the page."""

from __future__ import annotations

import torch
from torch import Tensor


def uniforms(seed: int, count: int, first: int = 0) -> Tensor:
    """Draw numbers between 0 and 1, each as likely as any other: a counter, mixed by MurmurHash3's last step.

    Args:
        seed: 0 or larger.
        count: how many.
        first: the number of the first one.

    Returns:
        (count,), float64.

    References:
        Appleby 2011 (MurmurHash3, `fmix32`).

    >>> draw = uniforms(0, 100_000)
    >>> abs(draw.mean().item() - 0.5) < 0.005, abs(draw.var().item() - 1 / 12) < 0.005
    (True, True)
    """
    start = int(_mixed(torch.tensor(seed + 0x9E3779B9)))
    return (_mixed(torch.arange(first, first + count) + start).double() + 0.5) / 2**32


def _mixed(x: Tensor) -> Tensor:
    low = 0xFFFFFFFF  # only the low 32 bits count; int64 products wrap, and their low bits stay right
    x = x & low
    x = ((x ^ (x >> 16)) * 0x85EBCA6B) & low
    x = ((x ^ (x >> 13)) * 0xC2B2AE35) & low
    return x ^ (x >> 16)
