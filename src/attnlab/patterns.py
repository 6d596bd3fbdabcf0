"""Masks of the sparse patterns: which pairs a long sequence can afford. `masks` offers them all.

Each is a definition, with n² entries; `sparse` computes the same attention without them.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from attnlab.arguments import at_least

Device = torch.device | str | None


def global_tokens(n: int, tokens: Tensor | Sequence[int], *, device: Device = None) -> Tensor:
    """Let a few tokens attend to all and be attended to by all.

    Args:
        n: sequence length, at least 1.
        tokens: positions of the global tokens, each between 0 and n - 1.
        device: where the mask is made.

    Returns:
        Boolean mask (n, n); True in the rows and in the columns of the global tokens.

    Raises:
        ValueError: n is smaller than 1, or a position lies outside the sequence.

    References:
        Beltagy et al. 2020, section 3.1 ("global attention").

    >>> global_tokens(3, [0]).int().tolist()
    [[1, 1, 1], [1, 0, 0], [1, 0, 0]]
    """
    at_least(1, n=n)
    chosen = torch.zeros(n, dtype=torch.bool, device=device)
    chosen[positions("tokens", tokens, n, device)] = True
    return chosen[:, None] | chosen


def random_keys(n: int, count: int, *, seed: int, block: int = 1, device: Device = None) -> Tensor:
    """Let each query attend to a few keys drawn at random, the same on every device.

    With `block` the draw is made for blocks: the sequence is cut into blocks of so many tokens, and the
    queries of one block share `count` random blocks of keys. That is what makes random keys fast to fetch.

    Args:
        n: sequence length, at least 1.
        count: how many different keys (or blocks of keys) each query sees; at most as many as there are.
        seed: number that fixes the draw.
        block: tokens a block; the last block may be shorter.
        device: where the mask is made.

    Returns:
        Boolean mask (n, n); every row is True at `count` keys, or `count` blocks of keys.

    Raises:
        ValueError: n or block is smaller than 1, or `count` is negative or larger than the number of blocks.

    References:
        Zaheer et al. 2020, section 2 and appendix D (blocks).

    >>> random_keys(4, 2, seed=0).sum(-1).tolist()
    [2, 2, 2, 2]
    """
    blocks = random_blocks(n, count, seed=seed, block=block).to(device=device)
    seen = torch.zeros(len(blocks), len(blocks), dtype=torch.bool, device=device).scatter_(1, blocks, True)
    return seen.repeat_interleave(block, 0).repeat_interleave(block, 1)[:n, :n]


def random_blocks(n: int, count: int, *, seed: int, block: int = 1) -> Tensor:
    """Draw what `random_keys` shows: for each block of queries, the numbers of its blocks of keys.

    Args:
        n: sequence length, at least 1.
        count: how many different blocks of keys each block of queries sees.
        seed: number that fixes the draw.
        block: tokens a block.

    Returns:
        Whole numbers (ceil(n / block), count), ascending in each row.

    Raises:
        ValueError: as in `random_keys`.

    References:
        Bentley and Floyd 1987 (drawing without putting back, in time and memory linear in what is drawn).

    >>> random_blocks(6, 3, seed=0, block=2).tolist()
    [[0, 1, 2], [0, 1, 2], [0, 1, 2]]
    """
    at_least(1, n=n, block=block)
    at_least(0, count=count)
    total = -(-n // block)
    if count > total:
        raise ValueError(
            f"count must be at most {total}, the number of blocks of {block} in {n}, got {count}"
        )
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.empty(total, 0, dtype=torch.long)
    for last in range(total - count, total):
        pick = torch.randint(last + 1, (total, 1), generator=generator)
        again = (drawn == pick).any(1, keepdim=True)  # drawn before: take `last`, which was not there to draw
        drawn = torch.cat((drawn, torch.where(again, last, pick)), dim=1)
    return drawn.sort(1).values


def strided(n: int, stride: int, *, is_causal: bool = True, device: Device = None) -> Tensor:
    """Let each token attend to its last `stride` neighbours and, beyond them, to every `stride`-th token.

    Args:
        n: sequence length, at least 1.
        stride: width of the neighbourhood and step between the far tokens, at least 1; near sqrt(n) it is
            cheapest.
        is_causal: False lets each token look ahead in the same way.
        device: where the mask is made.

    Returns:
        Boolean mask (n, n); row i is True at columns j <= i with i - j <= stride or (i - j) % stride == 0.

    Raises:
        ValueError: n or stride is smaller than 1.

    References:
        Child et al. 2019, section 4.3 ("strided attention").

    >>> strided(6, 2)[5].int().tolist()
    [0, 1, 0, 1, 1, 1]
    """
    at_least(1, n=n, stride=stride)
    position = torch.arange(n, device=device)
    back = position[:, None] - position  # (n, n): row - column
    mask = (back.abs() <= stride) | (back % stride == 0)
    return mask & (back >= 0) if is_causal else mask


def fixed(n: int, stride: int, summary: int = 1, *, is_causal: bool = True, device: Device = None) -> Tensor:
    """Cut the sequence into blocks: a token attends to its block and to the last tokens of the others.

    Args:
        n: sequence length, at least 1.
        stride: tokens a block, at least 1; near sqrt(n) it is cheapest.
        summary: how many tokens at the end of each block all may attend to.
        is_causal: False lets each token look ahead in the same way.
        device: where the mask is made.

    Returns:
        Boolean mask (n, n); row i is True at columns j <= i with j // stride == i // stride or
        j % stride >= stride - summary.

    Raises:
        ValueError: n or stride is smaller than 1, or `summary` does not lie between 0 and stride.

    References:
        Child et al. 2019, section 4.3 ("fixed attention").

    >>> fixed(6, 2)[5].int().tolist()
    [0, 1, 0, 1, 1, 1]
    """
    at_least(1, n=n, stride=stride)
    if not 0 <= summary <= stride:
        raise ValueError(f"summary must lie between 0 and stride = {stride}, got {summary}")
    position = torch.arange(n, device=device)
    same = position[:, None] // stride == position // stride
    mask = same | (position % stride >= stride - summary)
    return mask.tril() if is_causal else mask


def positions(name: str, tokens: Tensor | Sequence[int], n: int, device: Device = None) -> Tensor:
    """Return positions in a sequence as a tensor, or say what is wrong with them.

    Args:
        name: the caller's name for them.
        tokens: whole numbers between 0 and n - 1; none is allowed.
        n: sequence length.
        device: where the tensor is made.

    Returns:
        Whole numbers (count,).

    Raises:
        ValueError: they are no list of whole numbers, or one lies outside the sequence.

    >>> positions("tokens", [2, 0], n=3).tolist()
    [2, 0]
    """
    at = torch.as_tensor(tokens, device=device)
    at = at.long() if at.numel() == 0 else at
    if at.dim() != 1 or at.is_floating_point() or at.dtype == torch.bool:
        raise ValueError(f"{name} must be a list of positions, got {tuple(at.shape)} of dtype {at.dtype}")
    if at.numel() and not 0 <= int(at.min()) <= int(at.max()) < n:
        raise ValueError(f"{name} must lie between 0 and n - 1 = {n - 1}, got {at.tolist()}")
    return at.long()
