"""Writing with a language model: one word at a time, or the best of several continuations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from attnlab import masks
from attnlab.arguments import at_least
from attnlab.rolling import RollingCache
from attnlab.transformer import samplers
from attnlab.transformer.language import LanguageModel


@torch.no_grad()
def generate(
    model: LanguageModel,
    ids: Tensor,
    n_new: int,
    *,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    end: int | None = None,
    key_mask: Tensor | None = None,
    window: int | None = None,
    use_cache: bool = True,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Write on: one word at a time, each drawn from what the scores of the model make probable.

    Args:
        model: the model; it is used as if in `eval` mode.
        ids: the prompts (batch, n), n at least 1. Shorter ones are padded on the left.
        n_new: words to be written.
        temperature: see `samplers.temper`; with 0 the best word is taken (greedy).
        top_k: see `samplers.top_k`.
        top_p: see `samplers.top_p`.
        min_p: see `samplers.min_p`.
        end: the word that ends a text; whatever comes after it is this word again.
        key_mask: boolean (batch, n): the words of the prompts that are no padding.
        window: each word sees itself and those before it, so many in all, and the cache holds no more.
        use_cache: keep keys and values from step to step. Without, each step reads all words again; the
            words are the same.
        generator: where the draws come from.

    Returns:
        Prompts and what follows (batch, n + n_new).

    Raises:
        TypeError: key_mask is not boolean.
        ValueError: a prompt is empty or padded on the right, or a number is out of its range.

    >>> model = LanguageModel(n_words=10, d_model=16, n_heads=4, n_layers=2)
    >>> generate(model, torch.tensor([[3, 1, 4]]), 5).shape
    torch.Size([1, 8])
    """
    _check(ids, n_new)
    if window is not None:
        at_least(1, window=window)
    batch, n = ids.shape
    limits = {"top_k": top_k, "top_p": top_p, "min_p": min_p}
    samplers.distribution(torch.zeros(1, 1), temperature, **limits)  # refuse what is wrong before any work
    real = None if key_mask is None else _real(key_mask, ids, n_new)
    with writing(model):
        cache = None
        if use_cache:
            rolling = window is not None
            cache = model.new_cache(batch, window if rolling else n + n_new, rolling=rolling)
        unread = ids
        for _ in range(n_new):
            # The first pass reads the prompt (prefill), every other one the word just written (decode).
            how = _what_is_seen(ids.shape[1], unread.shape[1], real, window, cache)
            scores = model(unread, cache=cache, last=True, **how)[:, 0]  # (batch, n_words)
            new = samplers.draw(samplers.distribution(scores, temperature, **limits), generator)
            if end is not None:
                new = new.where(ids[:, -1:] != end, end)
            ids = torch.cat((ids, new), 1)
            unread = new if use_cache else ids
    return ids


@torch.no_grad()
def beam_search(
    model: LanguageModel, ids: Tensor, n_new: int, beams: int, *, end: int | None = None
) -> tuple[Tensor, Tensor]:
    """Look for the most probable continuation, with several kept at a time.

    At each step every kept beginning is continued by every word, and the most probable are kept. One beam is
    greedy; as many as there are beginnings find the best text for certain.

    Args:
        model: the model; it is used as if in `eval` mode.
        ids: one prompt (1, n).
        n_new: words to be written.
        beams: beginnings kept.
        end: the word that ends a text; whatever comes after it is this word again, at no cost.

    Returns:
        The texts (beams, n + n_new), the best first, and the logarithms of their probabilities (beams,).
        There are fewer if fewer are possible.

    Raises:
        ValueError: the prompt is not one, or a number is too small.

    References:
        Sutskever et al. 2014, section 3.2.

    >>> model = LanguageModel(n_words=10, d_model=16, n_heads=4, n_layers=2)
    >>> texts, logarithms = beam_search(model, torch.tensor([[3, 1, 4]]), n_new=5, beams=4)
    >>> texts.shape, logarithms.shape
    (torch.Size([4, 8]), torch.Size([4]))
    """
    _check(ids, n_new)
    at_least(1, beams=beams)
    if len(ids) != 1:
        raise ValueError(f"ids must have shape (1, n): one prompt at a time, got {tuple(ids.shape)}")
    with writing(model):
        cache, unread = model.new_cache(1, ids.shape[1] + n_new), ids
        total = torch.zeros(1, device=ids.device)
        for _ in range(n_new):
            scores = model(unread, cache=cache, last=True)[:, 0]
            step = scores.to(torch.promote_types(scores.dtype, torch.float32)).log_softmax(-1)
            if end is not None:
                ended = ids[:, -1:] == end
                stay = torch.full_like(step, -torch.inf)
                stay[:, end] = 0
                step = torch.where(ended, stay, step)
            every = (total[:, None] + step).flatten()  # beginnings times words
            total, best = every.topk(min(beams, int(every.isfinite().sum())))
            rows, new = best // step.shape[1], best % step.shape[1]
            for layer in cache:
                layer.select(rows)
            unread = new[:, None]
            ids = torch.cat((ids[rows], unread), 1)
    return ids, total


@contextmanager
def writing(*models: nn.Module) -> Iterator[None]:
    """Put models into `eval` mode, and back."""
    before = [model.training for model in models]
    for model in models:
        model.eval()
    try:
        yield
    finally:
        for model, was_training in zip(models, before, strict=True):
            model.train(was_training)


def _check(ids: Tensor, n_new: int) -> None:
    at_least(0, n_new=n_new)
    if ids.dim() != 2 or not ids.shape[1]:
        raise ValueError(f"ids must have shape (batch, n) with n at least 1, got {tuple(ids.shape)}")


def _real(key_mask: Tensor, ids: Tensor, n_new: int) -> Tensor:
    """Return which words are no padding (batch, n + n_new), the new ones among them."""
    if key_mask.dtype != torch.bool:
        raise TypeError(f"key_mask must be boolean, True = a word, got {key_mask.dtype}")
    if key_mask.shape != ids.shape:
        raise ValueError(
            f"key_mask must have the shape of ids {tuple(ids.shape)}, got {tuple(key_mask.shape)}"
        )
    if not key_mask[:, -1].all() or (key_mask[:, :-1] & ~key_mask[:, 1:]).any():
        raise ValueError("key_mask must be False, then True in each row: prompts are padded on the left")
    return torch.cat((key_mask, key_mask.new_ones(len(ids), n_new)), 1)


def _what_is_seen(n: int, n_q: int, real: Tensor | None, window: int | None, cache: list | None) -> dict:
    """Return masks and places for the last n_q of n words."""
    how = {}
    if window is not None and n_q > 1:
        how["mask"] = masks.window(n, window - 1, 0)
    if real is not None:
        keys = real[:, :n]
        how["places"] = (keys.cumsum(-1) - 1).clamp(min=0)[:, n - n_q :]
        if cache and n_q == 1 and isinstance(cache[0], RollingCache):
            keys = keys[:, cache[0].next_order]
        how["key_mask"] = keys
    return how
