"""Speculative decoding: a small model drafts, the large one checks several words in one step.

What is written has the probabilities of the large model, whatever the small one drafts.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from attnlab.arguments import at_least
from attnlab.transformer import samplers
from attnlab.transformer.generation import writing
from attnlab.transformer.language import LanguageModel


class Speculation(NamedTuple):
    """What was written, and how.

    Args:
        ids: prompt and what follows (1, n + n_new).
        steps: passes of the large model.
        drafted: words drafted.
        accepted: words of these that were kept.
    """

    ids: Tensor
    steps: int
    drafted: int
    accepted: int


def accept_or_resample(
    drafted: Tensor, q: Tensor, p: Tensor, generator: torch.Generator | None = None
) -> Tensor:
    """Turn words drafted with probabilities q into words with probabilities p.

    Word i is kept with probability min(1, p_i / q_i). At the first that is not, a word is drawn from what q
    gave too little to, max(0, p_i - q_i) divided by its sum, and the others are dropped. If all are kept, one
    more is drawn from the last row of p.

    Args:
        drafted: numbers of words (n,), word i drawn from q[i].
        q: the draft's probabilities (n, n_words).
        p: the wanted ones at these places and the next (n + 1, n_words).
        generator: where the draws come from.

    Returns:
        The words kept and one more (n_kept + 1,).

    Raises:
        ValueError: a shape does not fit.

    References:
        Leviathan et al. 2023, section 2.3 and appendix A.1; Chen et al. 2023, algorithm 2.

    >>> q = torch.tensor([[0.0, 1.0]])
    >>> accept_or_resample(torch.tensor([1]), q, torch.tensor([[1.0, 0.0], [0.0, 1.0]])).tolist()
    [0]
    """
    n = len(drafted)
    if p.shape != (n + 1, q.shape[-1]) or q.shape[0] != n:
        raise ValueError(
            f"for {n} words drafted, q must have shape (n, n_words) and p (n + 1, n_words), "
            f"got {tuple(q.shape)} and {tuple(p.shape)}"
        )
    for i, word in enumerate(drafted.tolist()):
        keep = (p[i, word] / q[i, word]).clamp(max=1)
        if not samplers.draw(torch.stack((1 - keep, keep))[None], generator).item():
            missing = (p[i] - q[i]).clamp(min=0)
            missing = missing if missing.any() else p[i]  # only where rounding refused a word
            new = samplers.draw(missing[None] / missing.sum(), generator)[0]
            return torch.cat((drafted[:i], new))
    return torch.cat((drafted, samplers.draw(p[n:], generator)[0]))


@torch.no_grad()
def speculate(
    model: LanguageModel,
    draft: LanguageModel,
    ids: Tensor,
    n_new: int,
    *,
    n_draft: int = 4,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    end: int | None = None,
    generator: torch.Generator | None = None,
) -> Speculation:
    """Write what `generate` writes, with fewer passes of the model.

    The draft writes `n_draft` words by itself. The model reads all of them in one pass, which gives its own
    probabilities at each of these places, and `accept_or_resample` keeps what may be kept. Every pass of the
    model writes at least one word.

    Args:
        model: the model whose words are wanted.
        draft: a cheaper one with the same vocabulary.
        ids: one prompt (1, n).
        n_new: words to be written.
        n_draft: words drafted for each pass.
        temperature: as in `generate`, of both models, and so are the other rules.
        top_k: likewise.
        top_p: likewise.
        min_p: likewise.
        end: the word that ends a text; after it nothing is computed, and the text is filled with it.
        generator: where the draws come from.

    Returns:
        What was written, and the counts.

    Raises:
        ValueError: a size does not fit, or a number is out of its range.

    References:
        Leviathan et al. 2023, algorithm 1.

    >>> model = LanguageModel(n_words=10, d_model=16, n_heads=4, n_layers=2)
    >>> speculate(model, model, torch.tensor([[3, 1, 4]]), 10).steps  # drafts of its own are all kept
    2
    """
    at_least(0, n_new=n_new, n_draft=n_draft)
    if ids.dim() != 2 or ids.shape[0] != 1 or not ids.shape[1]:
        raise ValueError(f"ids must have shape (1, n) with n at least 1, got {tuple(ids.shape)}")
    rules = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p}
    samplers.distribution(torch.zeros(1, 1), **rules)
    full = ids.shape[1] + n_new
    steps = drafted = accepted = 0
    with writing(model, draft):
        own, theirs = model.new_cache(1, full), draft.new_cache(1, full)
        while ids.shape[1] < full and not (steps and ids[0, -1] == end):
            n = ids.shape[1]
            text, q = ids, []
            for _ in range(min(n_draft, full - n - 1)):  # the model itself adds the last one
                scores = draft(text[:, theirs[0].length :], cache=theirs, last=True)[0]
                q.append(samplers.distribution(scores, **rules))
                text = torch.cat((text, samplers.draw(q[-1], generator)), 1)
                if text[0, -1] == end:
                    break
            scores = model(text[:, own[0].length :], cache=own)[0, n - 1 - text.shape[1] :]
            p = samplers.distribution(scores, **rules)  # (n_drafted + 1, n_words)
            q = torch.cat(q) if q else p[:0]
            new = accept_or_resample(text[0, n:], q, p, generator)
            steps, drafted, accepted = steps + 1, drafted + len(q), accepted + len(new) - 1
            if end is not None and end in new[:-1]:
                new = new[:-1]  # a draft that ended was kept whole: nothing follows it
            ids = torch.cat((ids, new[None]), 1)
            for layer in (*own, *theirs):  # forget what was not kept
                layer.length = min(layer.length, ids.shape[1] - 1)
    if ids.shape[1] < full:
        ids = torch.cat((ids, ids.new_full((1, full - ids.shape[1]), end)), 1)
    return Speculation(ids, steps, drafted, accepted)
