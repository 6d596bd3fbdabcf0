"""Writing with a language model: one word at a time, or the best of several continuations."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab import masks
from attnlab.arguments import at_least, is_number_of
from attnlab.rolling import RollingCache
from attnlab.transformer import samplers
from attnlab.transformer.language import LanguageModel
from attnlab.transformer.prompts import check_padding, check_prompts, ended, filled, writing
from attnlab.transformer.speculative import speculate
from attnlab.transformer.stacks import ADDED


@torch.no_grad()
def generate(
    model: LanguageModel,
    ids: Tensor,
    max_new_tokens: int,
    *,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    eos_token_id: int | None = None,
    key_mask: Tensor | None = None,
    window: int | None = None,
    use_cache: bool = True,
    draft: LanguageModel | None = None,
    n_draft: int = 4,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Write on: one word at a time, each drawn from what the scores of the model make probable.

    With a `draft` a pass of the model may write several words. Each text has the probability that it has
    without; only what a seed draws is another text.

    Args:
        model: the model; it is used as if in `eval` mode.
        ids: the prompts (batch, n), n at least 1. Shorter ones are padded on the left.
        max_new_tokens: words to be written.
        temperature: see `samplers.temper`; with 0 the best word is taken (greedy).
        top_k: see `samplers.top_k`.
        top_p: see `samplers.top_p`.
        min_p: see `samplers.min_p`.
        eos_token_id: the word that ends a text; after it, be it the last of a prompt, comes only this word.
        key_mask: boolean (batch, n): the words of the prompts that are no padding.
        window: each word sees itself and those before it, so many in all, and the cache holds no more. With
            a draft it holds all: a word that is dropped must not have taken another's place.
        use_cache: keep keys and values from step to step. Without, each step reads all words again; the
            words are the same.
        draft: a cheaper model with the same vocabulary, which writes ahead (see `speculative.speculate`).
            The texts of a batch are then written one after another, as each keeps another number of words.
        n_draft: words drafted for each pass.
        generator: where the draws come from.

    Returns:
        Prompts and what follows (batch, n + max_new_tokens).

    Raises:
        TypeError: key_mask is not boolean.
        ValueError: a prompt is empty or padded on the right, a number is out of its range, or the draft has
            another vocabulary.

    >>> model = LanguageModel(vocab_size=10, d_model=16, n_heads=4, n_layers=2)
    >>> generate(model, torch.tensor([[3, 1, 4]]), 5).shape
    torch.Size([1, 8])
    >>> best = generate(model, torch.tensor([[3, 1, 4]]), 5)  # greedy, so there is one text
    >>> draft = LanguageModel(vocab_size=10, d_model=8, n_heads=2, n_layers=1)
    >>> torch.equal(generate(model, torch.tensor([[3, 1, 4]]), 5, draft=draft), best)
    True
    """
    check_prompts(ids, max_new_tokens, window=window)
    is_number_of("word", model.out_proj.out_features, eos_token_id=eos_token_id)
    batch, n = ids.shape
    rules = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p}
    samplers.distribution(torch.zeros(1, 1), **rules)  # refuse what is wrong before any work
    if key_mask is not None:
        check_padding(key_mask, ids)
    if draft is not None:
        draft_options = {
            "n_draft": n_draft,
            "eos_token_id": eos_token_id,
            "window": window,
            "use_cache": use_cache,
        }
        continuations = [ids.new_empty(0, max_new_tokens)]
        for row in range(batch):
            prompt = ids[row : row + 1] if key_mask is None else ids[row, key_mask[row]][None]
            speculation = speculate(
                model, draft, prompt, max_new_tokens, **draft_options, **rules, generator=generator
            )
            continuations.append(speculation.ids[:, prompt.shape[1] :])
        return torch.cat((ids, torch.cat(continuations)), 1)
    # Which words are no padding (batch, n + max_new_tokens), the new ones among them.
    full_key_mask = None if key_mask is None else F.pad(key_mask, (0, max_new_tokens), value=True)
    with writing(model):
        cache = None
        if use_cache:
            rolling = window is not None
            cache = model.new_cache(batch, window if rolling else n + max_new_tokens, rolling=rolling)
        unread = ids
        while ids.shape[1] < n + max_new_tokens and not ended(ids, eos_token_id):
            # The first pass reads the prompt (prefill), every other one the word just written (decode).
            options = _what_is_seen(model, ids, unread.shape[1], full_key_mask, window, cache)
            scores = model(unread, cache=cache, last=True, **options)[:, 0]  # (batch, vocab_size)
            new = samplers.draw(samplers.distribution(scores, **rules), generator)
            if eos_token_id is not None:
                new = new.where(ids[:, -1:] != eos_token_id, eos_token_id)
            ids = torch.cat((ids, new), 1)
            unread = new if use_cache else ids
    return filled(ids, n + max_new_tokens, eos_token_id)


@torch.no_grad()
def beam_search(
    model: LanguageModel, ids: Tensor, max_new_tokens: int, num_beams: int, *, eos_token_id: int | None = None
) -> tuple[Tensor, Tensor]:
    """Look for the most probable continuation, with several kept at a time.

    At each step every kept beginning is continued by every word, and the most probable are kept. One beam is
    greedy; as many as there are beginnings find the best text for certain.

    Args:
        model: the model; it is used as if in `eval` mode.
        ids: one prompt (1, n).
        max_new_tokens: words to be written.
        num_beams: beginnings kept.
        eos_token_id: the word that ends a text; whatever comes after it is this word again, at no cost.

    Returns:
        The texts (num_beams, n + max_new_tokens), the best first, and the logarithms of their probabilities
        (num_beams,). There are fewer if fewer are possible.

    Raises:
        ValueError: the prompt is not one, or a number is too small.

    References:
        Sutskever et al. 2014, section 3.2.

    >>> model = LanguageModel(vocab_size=10, d_model=16, n_heads=4, n_layers=2)
    >>> texts, logarithms = beam_search(model, torch.tensor([[3, 1, 4]]), max_new_tokens=5, num_beams=4)
    >>> texts.shape, logarithms.shape
    (torch.Size([4, 8]), torch.Size([4]))
    """
    check_prompts(ids, max_new_tokens, single=True)
    is_number_of("word", model.out_proj.out_features, eos_token_id=eos_token_id)
    at_least(1, num_beams=num_beams)
    with writing(model):
        cache, unread = model.new_cache(1, ids.shape[1] + max_new_tokens), ids
        total = torch.zeros(1, device=ids.device)
        for _ in range(max_new_tokens):
            scores = model(unread, cache=cache, last=True)[:, 0]
            step = scores.to(torch.promote_types(scores.dtype, torch.float32)).log_softmax(-1)
            if eos_token_id is not None:
                ended = ids[:, -1:] == eos_token_id
                only_eos = torch.full_like(step, -torch.inf)
                only_eos[:, eos_token_id] = 0
                step = torch.where(ended, only_eos, step)
            continued = (total[:, None] + step).flatten()  # beginnings times words
            total, best = continued.topk(min(num_beams, int(continued.isfinite().sum())))
            rows, new = best // step.shape[1], best % step.shape[1]
            for layer in cache:
                layer.select(rows)
            unread = new[:, None]
            ids = torch.cat((ids[rows], unread), 1)
    return ids, total


def _what_is_seen(
    model: LanguageModel,
    ids: Tensor,
    n_q: int,
    full_key_mask: Tensor | None,
    window: int | None,
    cache: list | None,
) -> dict[str, Tensor]:
    """Return the masks and the position_ids of the last n_q words of all texts."""
    n, options = ids.shape[1], {}
    if window is not None and cache is None:  # a rolling cache sees to it itself
        options["mask"] = masks.window(n, window - 1, 0, device=ids.device)
    if full_key_mask is not None:
        key_mask = full_key_mask[:, :n]
        if model.stack.positions in ADDED:  # all others count distances, which padding does not change
            options["position_ids"] = (key_mask.cumsum(-1) - 1).clamp(min=0)[:, n - n_q :]
        if cache and n_q == 1 and isinstance(cache[0], RollingCache):
            key_mask = key_mask[:, cache[0].next_order]
        options["key_mask"] = key_mask
    return options
