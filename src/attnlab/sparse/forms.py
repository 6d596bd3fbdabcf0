"""Attention under any pattern, and the patterns of the literature by name."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from attnlab.patterns import (
    Causal,
    Everything,
    Fixed,
    GlobalTokens,
    Pattern,
    RandomBlocks,
    Strided,
    Window,
)
from attnlab.sparse.flex import Engine, along_blocks, picks_flex
from attnlab.sparse.inputs import along, check, outside_graphs


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    pattern: Pattern,
    *,
    key_mask: Tensor | None = None,
    scale: float | None = None,
    engine: Engine = "auto",
    block_size: int | None = None,
) -> Tensor:
    """Attend to the pairs of a pattern, with time and memory that follow their number instead of n².

    Equal to `attention(q, k, v, mask=pattern.dense(n))`, forward and backward.

    Under `torch.compile` the tiles run as they are, between the compiled graphs; `fullgraph=True` is refused.
    `torch.func.grad` and `torch.func.vmap` work on the tiles. Derivatives in forward mode and second
    derivatives are refused. Under autocast the dtype of the inputs is kept, and sums are float32 at least.

    Args:
        q: queries (..., n, d_k).
        k: keys (..., n, d_k).
        v: values (..., n, d_v).
        pattern: which pairs may attend; one of `attnlab.patterns`, or several joined by `&` and `|`.
        key_mask: (batch, n) or (batch, 1, n), True = may be attended to, as `masks.padding` makes it.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.
        engine: "tiles" runs on every device; "flex" is FlexAttention, without a backward pass on a CPU;
            "auto" takes FlexAttention on a CUDA GPU, if the pattern leaves it blocks to skip, and the tiles
            elsewhere.
        block_size: most rows and columns of a tile; unless given, what suits each part of the pattern.

    Returns:
        Output (..., n, d_v); zeros for a query that sees no key.

    Raises:
        TypeError: key_mask is not boolean, or the pattern is a mask or something else.
        ValueError: shapes do not fit, the pattern does not fit the length, block_size is smaller than 1, or
            the engine has another name.

    References:
        Child et al. 2019; Beltagy et al. 2020; Zaheer et al. 2020.

    >>> import torch
    >>> x = torch.eye(4)
    >>> (attend(x, x, x, Window(1) | GlobalTokens([3])) > 0).int().tolist()
    [[1, 1, 0, 1], [1, 1, 1, 1], [0, 1, 1, 1], [1, 1, 1, 1]]
    """
    check(q, k, v)
    if not isinstance(pattern, Pattern):
        raise TypeError(f"pattern must be a Pattern, as Window(2) is, got {type(pattern).__name__}")
    if q.shape[:-1].numel() and picks_flex(engine, q, v, pattern):
        return along_blocks(q, k, v, pattern, key_mask, scale)
    return _on_tiles(q, k, v, pattern, key_mask, scale, block_size)


@outside_graphs
def _on_tiles(q, k, v, pattern, key_mask, scale, block_size) -> Tensor:
    n = q.shape[-2]
    plan = pattern.plan(n, device=q.device, block_size=block_size) if n else None
    return along(plan, q, k, v, key_mask, scale)[0]


def window(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    before: int,
    after: int | None = None,
    *,
    key_mask: Tensor | None = None,
    scale: float | None = None,
    engine: Engine = "auto",
) -> Tensor:
    """Attend to the neighbours only: n (before + after + 1) scores instead of n².

    Equal to `attention(q, k, v, mask=masks.window(n, before, after))`. Time and memory grow linearly with n,
    forward and backward. Queries are cut into tiles. The keys that a tile can reach lie side by side, so they
    are read where they are, and neighbouring tiles read overlapping keys without a copy.

    Runs under `torch.compile`, `torch.func.grad` and `torch.func.vmap` as `attend` does.

    Args:
        q: queries (..., n, d_k).
        k: keys (..., n, d_k).
        v: values (..., n, d_v).
        before: how many earlier tokens are visible, at least 0.
        after: how many later tokens are visible; as many as `before` unless given. 0 makes it causal.
        key_mask: (batch, n) or (batch, 1, n), True = may be attended to, as `masks.padding` makes it.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.
        engine: "tiles", "flex" or "auto", as in `attend`.

    Returns:
        Output (..., n, d_v); zeros for a query that sees no key.

    Raises:
        TypeError: key_mask is not boolean.
        ValueError: shapes do not fit, a width is negative, or the engine has another name.

    References:
        Beltagy et al. 2020, section 3.1; Child et al. 2019.

    >>> import torch
    >>> x = torch.eye(4)
    >>> (window(x, x, x, 1) > 0).int().tolist()
    [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]
    """
    return attend(q, k, v, Window(before, after), key_mask=key_mask, scale=scale, engine=engine)


def big_bird(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    before: int,
    after: int | None = None,
    *,
    global_tokens: Tensor | Sequence[int] = (),
    n_random: int = 0,
    seed: int = 0,
    block_size: int = 64,
    is_causal: bool = False,
    key_mask: Tensor | None = None,
    scale: float | None = None,
    engine: Engine = "auto",
) -> Tensor:
    """Attend to the neighbours, to a few global tokens, and to some blocks of keys drawn at random.

    The pattern is `Window(before, after) | GlobalTokens(global_tokens) | RandomBlocks(n_random, block_size,
    seed)`, and with `& Causal()` when causal. A pair that belongs to several of the three counts once. Cost:
    about n (before + after + globals + n_random · block_size) scores, and n for each global token. Without
    random blocks it is Longformer's pattern.

    Runs under `torch.compile`, `torch.func.grad` and `torch.func.vmap` as `attend` does.

    Args:
        q: queries (..., n, d_k).
        k: keys (..., n, d_k).
        v: values (..., n, d_v).
        before: how many earlier tokens are visible, at least 0.
        after: how many later tokens are visible; as many as `before` unless given.
        global_tokens: positions of the global tokens, which see all and are seen by all.
        n_random: how many random blocks of keys each block of queries sees.
        seed: number that fixes the draw.
        block_size: tokens a random block. Single keys (1) are slow to fetch.
        is_causal: hide later tokens from every query, from the global ones too.
        key_mask: (batch, n) or (batch, 1, n), True = may be attended to, as `masks.padding` makes it.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.
        engine: "tiles", "flex" or "auto", as in `attend`.

    Returns:
        Output (..., n, d_v); zeros for a query that sees no key.

    Raises:
        TypeError: key_mask is not boolean.
        ValueError: shapes do not fit, a width is negative, a global token lies outside the sequence, there
            are fewer blocks than `n_random`, or the engine has another name.

    References:
        Zaheer et al. 2020, section 2; Beltagy et al. 2020, section 3.1.

    >>> import torch
    >>> x = torch.eye(5)
    >>> (big_bird(x, x, x, 1, global_tokens=[0]) > 0).int().tolist()
    [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0], [1, 0, 1, 1, 1], [1, 0, 0, 1, 1]]
    """
    pattern = Window(before, after) | GlobalTokens(global_tokens)
    pattern |= RandomBlocks(n_random, block_size, seed)
    pattern = pattern & Causal() if is_causal else pattern
    return attend(q, k, v, pattern, key_mask=key_mask, scale=scale, engine=engine)


def strided(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    stride: int | None = None,
    *,
    is_causal: bool = True,
    key_mask: Tensor | None = None,
    scale: float | None = None,
    engine: Engine = "auto",
) -> Tensor:
    """Attend to the last `stride` tokens and to every `stride`-th token before them.

    Equal to `attention(q, k, v, mask=masks.strided(n, stride))`. About n (stride + n / stride) scores:
    n sqrt(n) with the stride near sqrt(n). The far tokens of a query share its place modulo `stride`, so the
    tokens split into `stride` small sequences in which attention is dense.

    Runs under `torch.compile`, `torch.func.grad` and `torch.func.vmap` as `attend` does.

    Args:
        q: queries (..., n, d_k).
        k: keys (..., n, d_k).
        v: values (..., n, d_v).
        stride: width of the neighbourhood and step between the far tokens; about sqrt(n) unless given.
        is_causal: False lets each token look ahead in the same way.
        key_mask: (batch, n) or (batch, 1, n), True = may be attended to, as `masks.padding` makes it.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.
        engine: "tiles", "flex" or "auto", as in `attend`.

    Returns:
        Output (..., n, d_v); zeros for a query that sees no key.

    Raises:
        TypeError: key_mask is not boolean.
        ValueError: shapes do not fit, or stride is smaller than 1.

    References:
        Child et al. 2019, section 4.3.

    >>> import torch
    >>> x = torch.eye(6)
    >>> (strided(x, x, x, 2)[5] > 0).int().tolist()
    [0, 1, 0, 1, 1, 1]
    """
    pattern = Strided(_near_root(check(q, k, v)) if stride is None else stride)
    pattern = pattern & Causal() if is_causal else pattern
    return attend(q, k, v, pattern, key_mask=key_mask, scale=scale, engine=engine)


def fixed(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    stride: int | None = None,
    summary: int = 1,
    *,
    is_causal: bool = True,
    key_mask: Tensor | None = None,
    scale: float | None = None,
    engine: Engine = "auto",
) -> Tensor:
    """Attend to its own block of `stride` tokens and to the last `summary` tokens of the blocks before.

    Equal to `attention(q, k, v, mask=masks.fixed(n, stride, summary))`. About n (stride + summary n / stride)
    scores: n sqrt(n) with the stride near sqrt(n).

    Runs under `torch.compile`, `torch.func.grad` and `torch.func.vmap` as `attend` does.

    Args:
        q: queries (..., n, d_k).
        k: keys (..., n, d_k).
        v: values (..., n, d_v).
        stride: tokens a block; about sqrt(n) unless given.
        summary: how many tokens at the end of each block all later queries may attend to.
        is_causal: False lets each token look ahead in the same way.
        key_mask: (batch, n) or (batch, 1, n), True = may be attended to, as `masks.padding` makes it.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.
        engine: "tiles", "flex" or "auto", as in `attend`.

    Returns:
        Output (..., n, d_v); zeros for a query that sees no key.

    Raises:
        TypeError: key_mask is not boolean.
        ValueError: shapes do not fit, stride is smaller than 1, or `summary` is negative or above stride.

    References:
        Child et al. 2019, section 4.3.

    >>> import torch
    >>> x = torch.eye(6)
    >>> (fixed(x, x, x, 2)[5] > 0).int().tolist()
    [0, 1, 0, 1, 1, 1]
    """
    pattern = Fixed(_near_root(check(q, k, v)) if stride is None else stride, summary)
    pattern = pattern & Causal() if is_causal else pattern
    return attend(q, k, v, pattern, key_mask=key_mask, scale=scale, engine=engine)


def tiled(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    is_causal: bool = False,
    block_size: int = 128,
    key_mask: Tensor | None = None,
    scale: float | None = None,
    engine: Engine = "auto",
) -> Tensor:
    """Attend to all keys without ever holding the (n, n) matrix, forward or backward.

    Equal to `attention(q, k, v, is_causal=is_causal)`. Each query goes through the keys tile by tile and
    keeps a mean of the values so far and the log of the sum of the exponentials so far; a larger score that
    comes later rescales both (online softmax). Time is still n², memory is linear.

    `F.scaled_dot_product_attention` does the same in one fused kernel and is faster: use that. This form is
    here to be read, and runs on any device.

    Runs under `torch.compile`, `torch.func.grad` and `torch.func.vmap` as `attend` does.

    Args:
        q: queries (..., n, d_k).
        k: keys (..., n, d_k).
        v: values (..., n, d_v).
        is_causal: hide later tokens; tiles that are hidden whole are skipped.
        block_size: rows and columns of a tile.
        key_mask: (batch, n) or (batch, 1, n), True = may be attended to, as `masks.padding` makes it.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.
        engine: "tiles", "flex" or "auto", as in `attend`.

    Returns:
        Output (..., n, d_v); zeros for a query that sees no key.

    Raises:
        TypeError: key_mask is not boolean.
        ValueError: shapes do not fit, or block_size is smaller than 1.

    References:
        Milakov and Gimelshein 2018, section 3; Rabe and Staats 2021; Dao et al. 2022, algorithm 1.

    >>> import torch
    >>> x = torch.randn(5, 2)
    >>> torch.allclose(tiled(x, x, x, block_size=2), torch.softmax(x @ x.T / 2**0.5, -1) @ x, atol=1e-6)
    True
    """
    pattern = Causal() if is_causal else Everything()
    return attend(q, k, v, pattern, key_mask=key_mask, scale=scale, engine=engine, block_size=block_size)


def _near_root(n: int) -> int:
    """Return the stride near sqrt(n), the cheapest."""
    return max(1, round(math.sqrt(n)))
