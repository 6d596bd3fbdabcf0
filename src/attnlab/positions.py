"""Where a token stands. Attention relates a set; these tell it the order."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

PairLayout = Literal["interleaved", "halves"]


def sinusoidal(
    n: int,
    d_model: int,
    *,
    base: float = 10000.0,
    device: torch.device | str | None = None,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Give every position a fixed vector of sines and cosines, to be added to the embeddings.

    Dimension 2i holds sin(pos / base^(2i/d_model)), dimension 2i+1 the cosine. The wavelengths run from 2π
    towards base·2π tokens.

    Args:
        n: number of positions, at least 1.
        d_model: width, even.
        base: sets the longest wavelength.
        device: where the table is made.
        dtype: dtype of the table; the angles are computed more finely, whatever it is.

    Returns:
        Table (n, d_model).

    Raises:
        ValueError: n is smaller than 1, or d_model is odd or smaller than 2.

    References:
        Vaswani et al. 2017, section 3.5.

    >>> (sinusoidal(2, 4) * 1000).round().int().tolist()
    [[0, 1000, 0, 1000], [841, 540, 10, 1000]]
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    _even("d_model", d_model)
    angles = _angles(torch.arange(n, device=device), d_model, base)  # (n, d_model / 2)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).to(dtype)


def rotary(
    x: Tensor,
    positions: Tensor | None = None,
    *,
    base: float = 10000.0,
    layout: PairLayout = "interleaved",
) -> Tensor:
    """Turn each pair of a query or key by an angle that grows with its position (RoPE).

    Pair i of a token at position m turns by m · base^(-2i/d). The dot product of a query turned for m and a
    key turned for n then depends on positions through m - n alone.

    Args:
        x: queries or keys (..., n, d), d even.
        positions: (n,) or broadcastable to (..., n), whole or fractional; 0..n-1 unless given.
        base: sets the slowest turn.
        layout: which two entries make pair i: neighbours 2i and 2i+1 ("interleaved", as in the paper), or i
            and i + d/2 ("halves", as in GPT-NeoX and Llama). Weights trained with one do not fit the other.

    Returns:
        Tensor of the shape and dtype of x; every vector keeps its length.

    Raises:
        ValueError: d is odd, `positions` does not fit, or the layout is unknown.

    References:
        Su et al. 2021, section 3.4.2.

    >>> x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    >>> (rotary(x) * 1000).round().int().tolist()
    [[1000, 0], [540, 841]]
    """
    if x.dim() < 2:
        raise ValueError(f"x must have shape (..., n, d), got {tuple(x.shape)}")
    n, d = x.shape[-2:]
    _even("the last dimension of x", d)
    if positions is None:
        positions = torch.arange(n, device=x.device)
    if positions.shape[-1:] != (n,):
        raise ValueError(f"positions must end in n = {n}, got shape {tuple(positions.shape)}")
    angles = _angles(positions, d, base)  # (..., n, d/2)
    # Only the sine and cosine are rounded to the dtype of x. An angle of a few thousand in half precision
    # would lose its last bits, and with them the phase.
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    if layout == "interleaved":
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)
    if layout == "halves":
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)
    raise ValueError(f"layout must be 'interleaved' or 'halves', got {layout!r}")


def _angles(positions: Tensor, d: int, base: float) -> Tensor:
    """Return positions (..., n) times the d/2 frequencies base^(-2i/d), as (..., n, d/2)."""
    # Apple's GPUs have no float64. Everywhere else the angle of a far position keeps its last digits.
    dtype = torch.float32 if positions.device.type == "mps" else torch.float64
    exponent = torch.arange(0, d, 2, device=positions.device, dtype=dtype) / d
    return positions.to(dtype)[..., None] * base**-exponent


def _even(name: str, d: int) -> None:
    if d < 2 or d % 2:
        raise ValueError(f"{name} must be even and at least 2, got {d}")
