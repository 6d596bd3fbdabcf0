"""What all ways of writing share: prompts that are fit to be continued, and models that are ready."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch.nn.functional as F
from torch import Tensor, nn

from attnlab.arguments import at_least, is_boolean, is_tensor


def check_prompts(
    ids: Tensor, max_new_tokens: int, *, window: int | None = None, single: bool = False
) -> None:
    """Refuse what cannot be continued.

    Args:
        ids: the prompts (batch, n), n at least 1.
        max_new_tokens: words to be written.
        window: words that a word sees, if not all.
        single: whether there may be one prompt only.

    Raises:
        ValueError: the shape is another one, max_new_tokens is negative, or the window is empty.

    >>> import torch
    >>> check_prompts(torch.zeros(2, 0), 3)
    Traceback (most recent call last):
    ValueError: ids must have shape (batch, n) with n at least 1, got (2, 0)
    """
    is_tensor("ids", ids)
    at_least(0, max_new_tokens=max_new_tokens)
    if window is not None:
        at_least(1, window=window)
    if ids.dim() != 2 or not ids.shape[1] or (single and len(ids) != 1):
        shape = "(1, n): one prompt at a time," if single else "(batch, n)"
        raise ValueError(f"ids must have shape {shape} with n at least 1, got {tuple(ids.shape)}")


def check_padding(key_mask: Tensor, ids: Tensor) -> None:
    """Refuse a mask of prompts that are not padded on the left.

    Args:
        key_mask: boolean (batch, n): the words that are no padding.
        ids: the prompts (batch, n).

    Raises:
        TypeError: the mask is not boolean.
        ValueError: its shape is another one, or there is padding behind a word.

    >>> import torch
    >>> check_padding(torch.tensor([[True, False]]), torch.tensor([[3, 1]]))
    Traceback (most recent call last):
    ValueError: key_mask must be False, then True in each row: prompts are padded on the left
    """
    is_boolean("key_mask", key_mask)
    if key_mask.shape != ids.shape:
        raise ValueError(
            f"key_mask must have the shape of ids {tuple(ids.shape)}, got {tuple(key_mask.shape)}"
        )
    if not key_mask[:, -1].all() or (key_mask[:, :-1] & ~key_mask[:, 1:]).any():
        raise ValueError("key_mask must be False, then True in each row: prompts are padded on the left")


def ended(ids: Tensor, eos_token_id: int | None) -> bool:
    """Return whether all texts (batch, n) have ended.

    >>> import torch
    >>> texts = torch.tensor([[3, 1], [4, 1]])
    >>> ended(texts, eos_token_id=1), ended(texts, eos_token_id=3)
    (True, False)
    """
    return eos_token_id is not None and bool((ids[:, -1] == eos_token_id).all())


def filled(ids: Tensor, n: int, eos_token_id: int | None) -> Tensor:
    """Fill texts that have ended up to n words with the word that ends them.

    >>> import torch
    >>> filled(torch.tensor([[3, 1]]), 4, eos_token_id=1).tolist()
    [[3, 1, 1, 1]]
    """
    return ids if ids.shape[1] == n else F.pad(ids, (0, n - ids.shape[1]), value=eos_token_id)


@contextmanager
def writing(*models: nn.Module) -> Iterator[None]:
    """Put models into `eval` mode, and each of their parts back into the mode that it had."""
    before = [(part, part.training) for model in models for part in model.modules()]
    for model in models:
        model.eval()
    try:
        yield
    finally:
        for part, was_training in before:
            part.training = was_training
