"""What becomes of a distribution when a model writes: exact, over all sentences of the toy grammar."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from attnbook.experiments.depth import NextWords
from attnbook.experiments.next_word import SKIP, Text
from attnbook.experiments.runs import Run
from attnlab.transformer import LanguageModel, distribution, samplers
from attnlab.transformer.speculative import speculate

START, END = 0, 1


@torch.no_grad()
def scores_of(model: LanguageModel, text: Text) -> Tensor:
    """Return the scores of every next word in every sentence (sentences, n, vocab_size)."""
    return torch.cat([model(part) for part in text.read.split(4096)])


def chances_of(scores: Tensor, text: Text, **rules: float | None) -> Tensor:
    """Return with what probability each sentence of a grammar is written.

    Args:
        scores: as from `scores_of`.
        text: the sentences.
        rules: of `transformer.distribution`.

    Returns:
        (sentences,). They sum to less than one by what is written beside the grammar.
    """
    found = []
    for part, guess in zip(scores.split(4096), text.guess.split(4096), strict=True):
        p = distribution(part.double(), **rules).gather(-1, guess.clamp(min=0)[..., None])[..., 0]
        found.append(p.where(guess != SKIP, 1.0).prod(-1))
    return torch.cat(found)


def measured(scores: Tensor, text: Text, **rules: float | None) -> dict[str, float]:
    """Say what a rule makes of a model, exactly.

    Args:
        scores: as from `scores_of`.
        text: the sentences.
        rules: of `transformer.distribution`.

    Returns:
        "grammatical": share of what is written that is a sentence of the grammar; "covered": share of the
        grammar's probability in sentences that can be written at all; "sentences": how many these are;
        "likeliest": the probability of the sentence that is written most often.
    """
    chances = chances_of(scores, text, **rules)
    can = chances > 0
    return {
        "grammatical": float(chances.sum()),
        "covered": float(text.chances[can].sum()),
        "sentences": int(can.sum()),
        "likeliest": float(chances.max()),
    }


def acceptance(model: Tensor, draft: Tensor, text: Text, **rules: float | None) -> float:
    """Return the chance that a drafted word is kept, averaged over all places of all sentences.

    Args:
        model: the model's scores, as from `scores_of`.
        draft: the draft's.
        text: the sentences, each as often as the grammar writes it.
        rules: of `transformer.distribution`.

    References:
        Leviathan et al. 2023, lemma 3.3 and theorem 3.5: it is the sum over words of min(p, q).
    """
    total = places = 0.0
    parts = (model, draft, text.guess, text.chances)
    for own, theirs, guess, chances in zip(*(part.split(4096) for part in parts), strict=True):
        p, q = (distribution(scores.double(), **rules) for scores in (own, theirs))
        there = (guess != SKIP) * chances[:, None]
        total += float((torch.minimum(p, q).sum(-1) * there).sum())
        places += float(there.sum())
    return total / places


def every_way(run: Callable[[], Hashable]) -> dict[Hashable, float]:
    """Run once for each way in which the draws of words can fall.

    Args:
        run: writes something by `samplers.draw`, one row at a time, and by no other chance.

    Returns:
        What came out -> its probability, summed over all ways to it.

    >>> every_way(lambda: int(samplers.draw(torch.tensor([[0.75, 0.0, 0.25]]))))
    {0: 0.75, 2: 0.25}
    """
    found: dict[Hashable, float] = {}
    todo: list[tuple[int, ...]] = [()]
    honest = samplers.draw
    try:
        while todo:
            planned, taken, chances = todo.pop(), [], []

            def draw(
                p: Tensor, generator: None = None, planned=planned, taken=taken, chances=chances
            ) -> Tensor:
                (row,) = p.tolist()
                if len(taken) < len(planned):
                    word = planned[len(taken)]
                else:
                    word, *others = [at for at, share in enumerate(row) if share > 0]
                    todo.extend((*taken, other) for other in others)
                taken.append(word)
                chances.append(row[word])
                return torch.tensor([[word]])

            samplers.draw = draw
            out = run()
            found[out] = found.get(out, 0.0) + math.prod(chances)
    finally:
        samplers.draw = honest
    return found


def expected_words(rate: float, n_draft: int, lengths: Mapping[int, float] | None = None) -> float:
    """Return the words that one pass of the model writes, if each draft is kept with the same chance.

    Args:
        rate: that chance.
        n_draft: words drafted for a pass.
        lengths: words of a text, its end included -> how often. A pass writes nothing behind an end. Without,
            texts have none.

    References:
        Leviathan et al. 2023, equation 1, for texts without an end.

    >>> expected_words(0.5, 2), expected_words(1.0, 4)
    (1.75, 5.0)
    >>> expected_words(1.0, 4, {7: 1.0})  # five words, then two
    3.5
    """
    if lengths is None:
        return math.fsum(rate**k for k in range(n_draft + 1))
    passes = [0.0]  # passes[m]: so many for the last m words
    for left in range(1, max(lengths) + 1):
        drafted = min(n_draft, left)
        refused = math.fsum(rate**k * (1 - rate) * passes[left - k - 1] for k in range(drafted))
        whole = rate**drafted * passes[max(left - drafted - 1, 0)]
        passes.append(1 + refused + whole)
    words = math.fsum(chance * n for n, chance in lengths.items())
    return words / math.fsum(chance * passes[n] for n, chance in lengths.items())


def lengths_of(text: Text) -> dict[int, float]:
    """Return how many words the sentences have, their end included, and how often.

    >>> lengths_of(Text({("a", "b"): 0.75, ("b",): 0.25}))
    {3: 0.75, 2: 0.25}
    """
    found: dict[int, float] = {}
    for words, chance in text.probabilities.items():
        found[len(words) + 1] = found.get(len(words) + 1, 0.0) + chance
    return found


def words_a_pass(
    model: LanguageModel,
    draft: LanguageModel,
    n_draft: int,
    *,
    sentences: int,
    seed: int,
    max_new_tokens: int = 12,
) -> dict[str, float]:
    """Write sentences and count.

    Args:
        model: the model.
        draft: the draft.
        n_draft: words drafted for a pass.
        sentences: how many.
        seed: of the draws.
        max_new_tokens: words of a sentence at most, its end included.

    Returns:
        "words a pass" of the model, and "kept", the share of drafted words that was kept.
    """
    generator, start = torch.Generator().manual_seed(seed), torch.tensor([[START]])
    words = steps = drafted = accepted = 0
    for _ in range(sentences):
        found = speculate(
            model,
            draft,
            start,
            max_new_tokens,
            n_draft=n_draft,
            temperature=1.0,
            eos_token_id=END,
            generator=generator,
        )
        ends = (found.ids[0, 1:] == END).nonzero()
        words += int(ends[0]) + 1 if len(ends) else max_new_tokens
        steps, drafted, accepted = steps + found.steps, drafted + found.drafted, accepted + found.accepted
    return {"words a pass": words / steps, "kept": accepted / max(drafted, 1)}


@dataclass(frozen=True)
class Shared:
    """Let the heads of a trained model share keys and values, and train a little further; for `sweep`.

    Args:
        task: what the models were trained on, and for how long it goes on.
        trained: seed -> trained model.
        n_kv_heads: key-value heads that are left.
    """

    task: NextWords
    trained: Mapping[int, LanguageModel] = field(repr=False)
    n_kv_heads: int

    def __call__(self, rate: float, seed: int) -> Run:
        """Average, measure, train, measure again."""
        pooled = self.trained[seed].grouped(self.n_kv_heads)
        before = self.task.excess(pooled.eval())
        _, curve = self.task.train(rate, seed + 1000, pooled.train())  # sentences of its own
        extras = {"averaged": before, "trained further": self.task.excess(pooled.eval())}
        return Run(curve, self.task.every, extras=extras)


def longer(task: NextWords, steps: int) -> NextWords:
    """Return the same task with another number of steps, its loss then measured over all sentences."""
    return replace(task, steps=steps, exact=True)
