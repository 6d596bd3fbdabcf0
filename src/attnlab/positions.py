"""Where a token stands. Attention relates a set; these tell it the order.

All of it runs under `torch.func` and `torch.compile(fullgraph=True)`; none keeps a table between calls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from attnlab.arguments import Device, at_least, fits_tokens, has_width, is_tensor

PairLayout = Literal["interleaved", "halves"]


def sinusoidal(
    n: int, d_model: int, *, base: float = 10000.0, device: Device = None, dtype: torch.dtype = torch.float32
) -> Tensor:
    """Give every position a fixed vector of sines and cosines, to be added to the embeddings.

    Dimension 2i holds sin(pos / base^(2i/d_model)), dimension 2i+1 the cosine. The wavelengths run from 2π
    towards base·2π tokens.

    Args:
        n: number of positions.
        d_model: width, even.
        base: sets the longest wavelength.
        device: where the table is made.
        dtype: dtype of the table; the angles are computed more finely, whatever it is.

    Returns:
        Table (n, d_model).

    Raises:
        ValueError: n is negative, d_model is odd or smaller than 2, or base is not positive.

    References:
        Vaswani et al. 2017, section 3.5.

    >>> (sinusoidal(2, 4) * 1000).round().int().tolist()
    [[0, 1000, 0, 1000], [841, 540, 10, 1000]]
    """
    at_least(0, n=n)
    return sinusoidal_at(torch.arange(n, device=device), d_model, base=base, dtype=dtype)


def sinusoidal_at(
    positions: Tensor, d_model: int, *, base: float = 10000.0, dtype: torch.dtype = torch.float32
) -> Tensor:
    """Give the vectors of `sinusoidal` for any positions, in any order, fractional or negative too.

    Args:
        positions: (..., n).
        d_model: width, even.
        base: that of the table.
        dtype: dtype of the vectors; the angles are computed more finely, whatever it is.

    Returns:
        Vectors (..., n, d_model).

    Raises:
        ValueError: d_model is odd or smaller than 2, or base is not positive.

    References:
        Vaswani et al. 2017, section 3.5.

    >>> torch.equal(sinusoidal_at(torch.tensor([2, 0]), 4), sinusoidal(3, 4)[[2, 0]])
    True
    """
    _even("d_model", d_model)
    angles = _angles(positions, d_model, base)  # (..., n, d_model / 2)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).to(dtype)


def rotation(k: float, d_model: int, *, base: float = 10000.0, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return the matrix that moves every sinusoidal position by k: R PE(pos) = PE(pos + k).

    It turns each pair (sine, cosine) by k times its frequency, whatever pos is: one fixed linear map says "k
    tokens further" anywhere in the sequence. The sine comes first, so the turn is clockwise. With positions
    as rows, table[k:] = table[:-k] Rᵀ.

    Args:
        k: how far, in tokens; negative or fractional if need be.
        d_model: width, even.
        base: that of the table.
        dtype: dtype of the matrix.

    Returns:
        Orthogonal matrix (d_model, d_model), zero outside blocks of two by two.

    Raises:
        ValueError: d_model is odd or smaller than 2.

    References:
        Vaswani et al. 2017, section 3.5.

    >>> table = sinusoidal(9, 4)
    >>> torch.allclose(table[3:], table[:-3] @ rotation(3, 4).T, atol=1e-6)
    True
    """
    _even("d_model", d_model)
    angles = _angles(torch.tensor(k), d_model, base)  # (d_model / 2,)
    cos, sin = angles.cos(), angles.sin()
    # sin(a + b) = cos b sin a + sin b cos a  and  cos(a + b) = -sin b sin a + cos b cos a.
    blocks = torch.stack((torch.stack((cos, sin), -1), torch.stack((-sin, cos), -1)), -2)
    return torch.block_diag(*blocks.to(dtype))  # (d_model, d_model)


def rotary(
    x: Tensor, positions: Tensor | None = None, *, base: float = 10000.0, layout: PairLayout = "interleaved"
) -> Tensor:
    """Turn each pair of a query or key by an angle that grows with its position (RoPE).

    Pair i of a token at position m turns by m · base^(-2i/d). The dot product of a query turned for m and a
    key turned for n then depends on positions through m - n alone.

    Args:
        x: queries or keys (..., n, d), d even.
        positions: (n,), or with every dimension (..., n) of x, each its size or 1; whole or fractional. One
            row a sequence, beside heads, is `positions[:, None]`. 0..n-1 unless given.
        base: sets the slowest turn.
        layout: which two entries make pair i: neighbours 2i and 2i+1 ("interleaved", as in the paper), or i
            and i + d/2 ("halves", as in GPT-NeoX). Weights trained with one do not fit the other.

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
    is_tensor("x", x)
    if x.dim() < 2:
        raise ValueError(f"x must have shape (..., n, d), got {tuple(x.shape)}")
    return _turn((x,), positions, x.shape[-1], base, layout)[0]


class RotaryPositions(nn.Module):
    """Turn queries and keys by the same angles (`rotary`), made once for both: what a layer is given.

    It learns nothing and keeps nothing, so it changes no `state_dict`, and layers may share one.

    Args:
        base: sets the slowest turn; 10,000 in the paper, 500,000 in Llama 3.
        layout: "interleaved" as in the paper, or "halves" as in GPT-NeoX and the published Llama weights.
        width: how many entries of a head are turned, the first ones, an even number; all of them unless
            given. GPT-NeoX turns a quarter.

    Raises:
        ValueError: width is odd or smaller than 2, base is not positive, or the layout is unknown.

    References:
        Su et al. 2021, section 3.4.2; Black et al. 2022, section 2.1 (a part of the entries).

    >>> q, k = RotaryPositions(layout="halves")(torch.ones(1, 4, 3, 8), torch.ones(1, 2, 3, 8))
    >>> q.shape, k.shape
    (torch.Size([1, 4, 3, 8]), torch.Size([1, 2, 3, 8]))
    """

    def __init__(
        self, *, base: float = 10000.0, layout: PairLayout = "interleaved", width: int | None = None
    ) -> None:
        super().__init__()
        if width is not None:
            _even("width", width)
        _known(layout)
        _base(base)
        self.base, self.layout, self.width = base, layout, width

    def forward(self, q: Tensor, k: Tensor, positions: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Turn queries (..., n, d) and keys (..., n, d) of the same tokens.

        Args:
            q: queries.
            k: keys, perhaps of fewer heads.
            positions: as in `rotary`.

        Returns:
            Both, turned.

        Raises:
            ValueError: d is odd or smaller than width, or `positions` does not fit.
        """
        width = q.shape[-1] if self.width is None else self.width
        if width > q.shape[-1]:
            raise ValueError(f"width must be at most d = {q.shape[-1]}, got {width}")
        if width == q.shape[-1]:
            return _turn((q, k), positions, width, self.base, self.layout)
        parts = _turn((q[..., :width], k[..., :width]), positions, width, self.base, self.layout)
        return tuple(torch.cat((part, x[..., width:]), -1) for part, x in zip(parts, (q, k), strict=True))

    def extra_repr(self) -> str:
        """Say what it was made with."""
        width = "" if self.width is None else f", width={self.width}"
        return f"base={self.base}, layout={self.layout!r}{width}"


class LearnedPositions(nn.Module):
    """Give every position a vector of its own, learned like those of the words and added to them.

    A position that training never reached learns nothing, and one past the end has no vector at all.

    Args:
        max_positions: rows of the table, at least 1.
        d_model: width.
        std: spread of the vectors at the start. From a small one, a short training may learn too little.
        device: where the vectors are made.
        dtype: dtype of the vectors.

    Raises:
        ValueError: max_positions or d_model is smaller than 1, or std is negative.

    References:
        Gehring et al. 2017, section 3.1; Devlin et al. 2019, section 3.

    >>> LearnedPositions(10, 4)(torch.zeros(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    def __init__(
        self,
        max_positions: int,
        d_model: int,
        *,
        std: float = 0.02,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        at_least(1, max_positions=max_positions, d_model=d_model)
        if not std >= 0:
            raise ValueError(f"std must be at least 0, got {std}")
        weight = torch.empty(max_positions, d_model, device=device, dtype=dtype)
        self.weight = nn.Parameter(weight.normal_(std=std))

    def forward(self, x: Tensor) -> Tensor:
        """Add to each token of x (..., n, d_model) the vector of its place.

        Raises:
            ValueError: x has another width, or more tokens than the table has rows.
        """
        max_positions, d_model = self.weight.shape
        has_width("x", x, d_model)
        if x.shape[-2] > max_positions:
            raise ValueError(f"x must have at most max_positions = {max_positions} tokens, got {x.shape[-2]}")
        return x + self.weight[: x.shape[-2]]


class RelativeBias(nn.Module):
    """Learn, for every head, a number for each distance between key and query, to be added to the scores.

    Distances beyond `reach` share the number of the last one, so any length can be asked for. All begin at
    zero: an untrained bias changes nothing.

    Args:
        n_heads: number of heads.
        reach: the largest distance with a number of its own, in either direction.
        device: where the numbers are made.
        dtype: dtype of the numbers.

    Raises:
        ValueError: n_heads is smaller than 1, or reach is negative.

    References:
        Shaw et al. 2018, section 3.2, for the clipped distances; Raffel et al. 2020, section 2.1, for one
        number per head and distance.

    >>> bias = RelativeBias(n_heads=1, reach=1)
    >>> _ = bias.weight.data.copy_(torch.tensor([[-1.0, 0.0, 1.0]]))  # before, here, after
    >>> bias(3)[0].tolist()
    [[0.0, 1.0, 1.0], [-1.0, 0.0, 1.0], [-1.0, -1.0, 0.0]]
    """

    def __init__(
        self, n_heads: int, reach: int, *, device: Device = None, dtype: torch.dtype | None = None
    ) -> None:
        super().__init__()
        at_least(1, n_heads=n_heads)
        at_least(0, reach=reach)
        self.reach = reach
        self.weight = nn.Parameter(torch.zeros(n_heads, 2 * reach + 1, device=device, dtype=dtype))

    def forward(self, n_q: int, n_k: int | None = None) -> Tensor:
        """Lay the numbers out as a bias for `attention`.

        Args:
            n_q: number of queries; they are the last n_q of the n_k tokens.
            n_k: number of keys; as many as queries unless given.

        Returns:
            Bias (n_heads, n_q, n_k); beside a batch of sequences write `bias[None]`.

        Raises:
            ValueError: n_q is negative or larger than n_k.
        """
        offset = _offsets(n_q, n_k, self.weight.device).clamp(-self.reach, self.reach)
        return self.weight[:, offset + self.reach]  # (n_heads, n_q, n_k)


def alibi(n_heads: int, n_q: int, n_k: int | None = None, *, device: Device = None) -> Tensor:
    """Take from every score a penalty that grows with the distance: ``-slope · |i - j|``, one slope a head.

    Nothing is learned, and every length has its bias. Under a causal mask this is the paper's ALiBi. Without
    one the penalty is the same to the left and to the right, so such a layer can't tell them apart.

    Args:
        n_heads: number of heads.
        n_q: number of queries; they are the last n_q of the n_k tokens.
        n_k: number of keys; as many as queries unless given.
        device: where the bias is made.

    Returns:
        Bias (n_heads, n_q, n_k); beside a batch of sequences write `bias[None]`.

    Raises:
        ValueError: n_heads is smaller than 1, or n_q is negative or larger than n_k.

    References:
        Press et al. 2022, section 3.

    >>> alibi(1, 3)[0].mul(256).int().tolist()
    [[0, -1, -2], [-1, 0, -1], [-2, -1, 0]]
    """
    slopes = torch.tensor(alibi_slopes(n_heads), device=device)
    return -slopes[:, None, None] * _offsets(n_q, n_k, device).abs()  # (n_heads, n_q, n_k)


def alibi_slopes(n_heads: int) -> list[float]:
    """Return ALiBi's slope of every head: for a power of two, from 2^(-8/n_heads) down to 2^-8.

    For other numbers of heads, the authors' code takes the slopes of the power of two below, then every
    second one of the power above.

    Args:
        n_heads: number of heads, at least 1.

    Raises:
        ValueError: n_heads is smaller than 1.

    References:
        Press et al. 2022, section 3, and the code published with it.

    >>> alibi_slopes(4), [round(slope, 3) for slope in alibi_slopes(3)]
    ([0.25, 0.0625, 0.015625, 0.00390625], [0.062, 0.004, 0.25])
    """
    at_least(1, n_heads=n_heads)
    below = 2 ** (n_heads.bit_length() - 1)  # the largest power of two that is not above n_heads
    slopes = [2 ** (-8 * (head + 1) / below) for head in range(below)]
    between = [2 ** (-4 * (head + 1) / below) for head in range(0, 2 * below, 2)]
    return slopes + between[: n_heads - below]


def _offsets(n_q: int, n_k: int | None, device: Device) -> Tensor:
    """Return the place of each key minus that of each query (n_q, n_k); the queries stand at the end."""
    n_k = n_q if n_k is None else n_k
    at_least(0, n_q=n_q)
    if n_k < n_q:
        raise ValueError(f"n_k must be at least n_q = {n_q}, got {n_k}")
    positions = torch.arange(n_k, device=device)
    return positions - positions[n_k - n_q :, None]


def _angles(positions: Tensor, d: int, base: float) -> Tensor:
    """Return positions (..., n) times the d/2 frequencies base^(-2i/d), as (..., n, d/2)."""
    _base(base)
    # Apple's GPUs have no float64. Everywhere else the angle of a far position keeps its last digits.
    dtype = torch.float32 if positions.device.type == "mps" else torch.float64
    rates = torch.logspace(0, 2 / d - 1, d // 2, base, dtype=dtype, device=positions.device)
    return positions.unsqueeze(-1) * rates  # in the dtype of the rates


def _turn(
    vectors: Sequence[Tensor], positions: Tensor | None, d: int, base: float, layout: PairLayout
) -> tuple[Tensor, ...]:
    """Turn some tensors (..., n, d) of the same tokens, whose sines and cosines are made once."""
    n, like = vectors[0].shape[-2], vectors[0]
    _even("the last dimension of x", d)
    _known(layout)
    if positions is None:
        positions = torch.arange(n, device=like.device)
    for x in vectors:
        fits_tokens("positions", positions, x.shape[:-1])
    angles = _angles(positions, d, base)  # (..., n, d/2)
    # Only the sine and cosine are rounded to the dtype of x. An angle of a few thousand in half precision
    # would lose its last bits, and with them the phase.
    cos, sin = angles.cos().to(like.dtype), angles.sin().to(like.dtype)
    # The width as pairs: (d/2, 2) if neighbours make one, (2, d/2) if halves do. With the pair (a, b) turned
    # around as (b, a), both a·cos - b·sin and b·cos + a·sin come from one product and one sum.
    pair, sizes = (-1, (-1, 2)) if layout == "interleaved" else (-2, (2, -1))
    cos, sin = torch.stack((cos, cos), pair), torch.stack((-sin, sin), pair)
    pairs = (x.unflatten(-1, sizes) for x in vectors)
    return tuple(torch.addcmul(x * cos, x.flip(pair), sin).flatten(-2) for x in pairs)


def _known(layout: str) -> None:
    if layout not in get_args(PairLayout):
        raise ValueError(f"layout must be 'interleaved' or 'halves', got {layout!r}")


def _base(base: float) -> None:
    if not 0 < base < math.inf:
        raise ValueError(f"base must be positive and finite, got {base}")


def _even(name: str, d: int) -> None:
    if d < 2 or d % 2:
        raise ValueError(f"{name} must be even and at least 2, got {d}")
