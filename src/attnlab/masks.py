"""Boolean masks. True means "may attend", as in `torch.nn.functional.scaled_dot_product_attention`.

`torch.nn.MultiheadAttention` uses the opposite convention: there True means "may not". Masks are ordinary
tensors, so `&` (both must allow) and `|` (either may allow) combine them:

>>> (causal(3) & padding([2], n=3))[0].int().tolist()
[[1, 0, 0], [1, 1, 0], [1, 1, 0]]
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

Device = torch.device | str | None


def causal(n: int, *, device: Device = None) -> Tensor:
    """Let each token attend to itself and to the tokens before it.

    Args:
        n: sequence length, at least 1.
        device: where the mask is made.

    Returns:
        Boolean mask (n, n); row i is True in columns 0..i.

    Raises:
        ValueError: n is smaller than 1.

    References:
        Vaswani et al. 2017, section 3.2.3.

    >>> causal(3).int().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    _at_least("n", n, 1)
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()


def padding(lengths: Tensor | Sequence[int], n: int | None = None, *, device: Device = None) -> Tensor:
    """Hide the padded end of every sequence in a batch: no token may attend to it.

    Args:
        lengths: (batch,) number of real tokens of each sequence; 0 is allowed and leaves an empty row.
        n: padded length; the longest sequence unless given.
        device: where the mask is made; the device of `lengths` unless given.

    Returns:
        Boolean mask (batch, 1, n), True in columns 0..length-1. It hides keys, not queries: the middle axis
        broadcasts over the queries.

    Raises:
        ValueError: a length is negative or larger than n, or `lengths` is not one-dimensional.

    >>> padding([1, 3]).int().tolist()
    [[[1, 0, 0]], [[1, 1, 1]]]
    """
    lengths = torch.as_tensor(lengths, device=device)
    if lengths.dim() != 1 or lengths.numel() == 0:
        raise ValueError(f"lengths must have shape (batch,) with batch >= 1, got {tuple(lengths.shape)}")
    if lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise ValueError(f"lengths must be whole numbers, got dtype {lengths.dtype}")
    longest = int(lengths.max())
    n = longest if n is None else n
    if int(lengths.min()) < 0 or longest > n:
        raise ValueError(f"lengths must lie between 0 and n = {n}, got {lengths.tolist()}")
    return (torch.arange(n, device=lengths.device) < lengths[:, None])[:, None, :]


def window(n: int, before: int, after: int | None = None, *, device: Device = None) -> Tensor:
    """Let each token attend to its neighbours: `before` tokens back, itself, and `after` tokens ahead.

    Args:
        n: sequence length, at least 1.
        before: how many earlier tokens are visible, at least 0.
        after: how many later tokens are visible; as many as `before` unless given. 0 makes it causal.
        device: where the mask is made.

    Returns:
        Boolean mask (n, n); True where -before <= column - row <= after.

    Raises:
        ValueError: n is smaller than 1, or a width is negative.

    References:
        Beltagy et al. 2020, section 3.1.

    >>> window(4, 1).int().tolist()
    [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]
    """
    after = before if after is None else after
    _at_least("n", n, 1)
    _at_least("before", before, 0)
    _at_least("after", after, 0)
    position = torch.arange(n, device=device)
    offset = position - position[:, None]  # (n, n): column - row
    return (offset >= -before) & (offset <= after)


def _at_least(name: str, value: int, smallest: int) -> None:
    if value < smallest:
        raise ValueError(f"{name} must be at least {smallest}, got {value}")
