"""Speculative decoding: a small model drafts, the large one checks several words in one step.

What is written has the probabilities of the large model, whatever the small one drafts.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from attnlab.arguments import at_least, is_number_of
from attnlab.transformer import samplers
from attnlab.transformer.language import LanguageModel
from attnlab.transformer.prompts import check_prompts, ended, filled, writing


class Speculation(NamedTuple):
    """What was written, and how.

    Args:
        ids: prompt and what follows (1, n + max_new_tokens).
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
        q: the draft's probabilities (n, vocab_size).
        p: the wanted ones at these places and the next (n + 1, vocab_size).
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
            f"for {n} words drafted, q must have shape (n, vocab_size) and p (n + 1, vocab_size), "
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
    max_new_tokens: int,
    *,
    n_draft: int = 4,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    eos_token_id: int | None = None,
    window: int | None = None,
    use_cache: bool = True,
    generator: torch.Generator | None = None,
) -> Speculation:
    """Write a text as `generate` with a draft does, which calls this for each, and count the passes.

    The draft writes `n_draft` words by itself. The model reads all of them in one pass, which gives its own
    probabilities at each of these places, and `accept_or_resample` keeps what may be kept. Every pass of the
    model writes at least one word.

    Args:
        model: the model whose words are wanted.
        draft: a cheaper one with the same vocabulary.
        ids: one prompt (1, n).
        max_new_tokens: words to be written.
        n_draft: words drafted for each pass.
        temperature: as in `generate`, of both models, and so are all others.

    Returns:
        What was written, and the counts.

    Raises:
        ValueError: a size does not fit, or a number is out of its range.

    References:
        Leviathan et al. 2023, algorithm 1.

    >>> model = LanguageModel(vocab_size=10, d_model=16, n_heads=4, n_layers=2)
    >>> speculate(model, model, torch.tensor([[3, 1, 4]]), 10).steps  # drafts of its own are all kept
    2
    """
    check_prompts(ids, max_new_tokens, window=window, single=True)
    at_least(0, n_draft=n_draft)
    sizes = [one.out_proj.out_features for one in (model, draft)]
    if sizes[0] != sizes[1]:
        raise ValueError(f"draft must know the model's {sizes[0]} words and no others, it knows {sizes[1]}")
    is_number_of("word", sizes[0], eos_token_id=eos_token_id)
    rules = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p}
    samplers.distribution(torch.zeros(1, 1), **rules)
    n_full = ids.shape[1] + max_new_tokens
    verify, propose = (_Reader(one, n_full if use_cache else None, window, rules) for one in (model, draft))
    steps = drafted = accepted = 0
    with writing(model, draft):
        while ids.shape[1] < n_full and not ended(ids, eos_token_id):
            n = ids.shape[1]
            text, q = ids, []
            while text.shape[1] < min(n + n_draft, n_full - 1):  # the model itself adds the last one
                q.append(propose(text))
                text = torch.cat((text, samplers.draw(q[-1], generator)), 1)
                if ended(text, eos_token_id):
                    break
            p = verify(text, len(q) + 1)  # (n_drafted + 1, vocab_size)
            new = accept_or_resample(text[0, n:], torch.cat(q) if q else p[:0], p, generator)
            steps, drafted, accepted = steps + 1, drafted + len(q), accepted + len(new) - 1
            if eos_token_id is not None and eos_token_id in new[:-1]:
                new = new[:-1]  # a draft that ended was kept whole: nothing follows it
            ids = torch.cat((ids, new[None]), 1)
            for reader in (verify, propose):
                # The last word is not read yet; what was dropped must be read anew.
                for layer in reader.cache or ():
                    layer.truncate(ids.shape[1] - 1)
    return Speculation(filled(ids, n_full, eos_token_id), steps, drafted, accepted)


class _Reader:
    """A model that goes on where it stopped reading, and gives the probabilities of what comes next."""

    def __init__(
        self, model: LanguageModel, capacity: int | None, window: int | None, rules: dict[str, float | None]
    ) -> None:
        self.model, self.window, self.rules = model, window, rules
        self.cache = None if capacity is None else model.new_cache(1, capacity)

    def __call__(self, text: Tensor, n_last: int = 1) -> Tensor:
        """Read a text (1, n) and return the probabilities after its last words (n_last, vocab_size)."""
        n_read, mask = self.cache[0].length if self.cache else 0, None
        if self.window is not None:
            place = torch.arange(text.shape[1], device=text.device)
            mask = place > place[n_read:, None] - self.window
        scores = self.model(text[:, n_read:], mask=mask, cache=self.cache, last=n_last == 1)
        return samplers.distribution(scores[0, -n_last:], **self.rules)
