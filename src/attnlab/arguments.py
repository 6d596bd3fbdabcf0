"""Checks that several modules make: a message names the argument, what it was and what it should be."""

from __future__ import annotations

import torch
from torch import Tensor


def at_least(smallest: int, **sizes: int) -> None:
    """Check that sizes are large enough.

    Args:
        smallest: the least that is allowed.
        sizes: each size under the caller's name for it.

    Raises:
        ValueError: one is smaller.

    >>> at_least(1, n=3, d_model=0)
    Traceback (most recent call last):
    ...
    ValueError: d_model must be at least 1, got 0
    """
    for name, size in sizes.items():
        if size < smallest:
            raise ValueError(f"{name} must be at least {smallest}, got {size}")


def divides(whole: int, **parts: int) -> None:
    """Check that a number divides another without rest.

    Args:
        whole: the number to be divided.
        parts: each divisor under the caller's name for it.

    Raises:
        ValueError: one is smaller than 1 or leaves a rest.

    >>> divides(6, n_kv_heads=4)
    Traceback (most recent call last):
    ...
    ValueError: n_kv_heads must divide 6, got 4
    """
    for name, part in parts.items():
        if part < 1 or whole % part:
            raise ValueError(f"{name} must divide {whole}, got {part}")


def has_width(name: str, x: Tensor, width: int) -> None:
    """Check that rows of tokens have the width that a layer was made for.

    Args:
        name: the caller's name for the tensor.
        x: tokens (..., n, width).
        width: the width.

    Raises:
        ValueError: x has no rows, or rows of another width.

    >>> import torch
    >>> has_width("x", torch.zeros(5, 3), 4)
    Traceback (most recent call last):
    ...
    ValueError: x must have shape (..., n, 4), got (5, 3)
    """
    if x.dim() < 2 or x.shape[-1] != width:
        raise ValueError(f"{name} must have shape (..., n, {width}), got {tuple(x.shape)}")


def no_second_derivative(what: str, instead: str) -> None:
    """Refuse, within a backward pass written by hand, to be differentiated itself.

    Args:
        what: the caller's name for itself.
        instead: what has a second derivative.

    Raises:
        RuntimeError: autograd records the backward pass, as `create_graph=True` makes it do. Without this a
            second derivative would come out, silently without the part that runs through here.

    >>> no_second_derivative("this form", "the other form")
    Traceback (most recent call last):
    ...
    RuntimeError: this form has no second derivative (create_graph=True); the other form has one
    """
    if torch.is_grad_enabled():
        raise RuntimeError(f"{what} has no second derivative (create_graph=True); {instead} has one")
