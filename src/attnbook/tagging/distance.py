"""A sentence whose first tag hangs on a word far away, and who learns it.

"Have the students who missed the exam taken it" asks, and *have* is an auxiliary; with *take* it commands,
and *have* is a verb. Between the two words any number of clauses can stand.

References:
    Marcus 1980, A theory of syntactic recognition for natural language, for a pair of sentences like these.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from attnbook.experiments import Run
from attnbook.tagging.grammar import Sentence
from attnbook.tagging.taggers import Tagger, Vocabulary
from attnbook.tagging.training import evaluate, train

PEOPLE = ("students", "teachers", "sailors", "doctors")
THINGS = ("exam", "boat", "film", "key")
VERBS = ("missed", "saw", "liked", "lost")
MOST = 6
"""So many clauses stand between the two words at most."""


def draw(count: int, seed: int, clauses: Sequence[int] = range(MOST + 1)) -> list[Sentence]:
    """Draw sentences.

    Args:
        count: how many, at least 0.
        seed: the same seed draws the same sentences.
        clauses: how many stand between *have* and its verb, in turn; each clause has four words.

    Returns:
        (words, tags) for each sentence; one half of them ask, the other half command.

    Raises:
        ValueError: count is negative, or there is no number of clauses.

    >>> [" ".join(words) for words, _ in draw(2, seed=6, clauses=[0, 1])]
    ['have the students take it', 'have the sailors who missed the exam taken it']
    """
    if count < 0:
        raise ValueError(f"count must be at least 0, got {count}")
    if not clauses:
        raise ValueError("clauses must hold at least one number, got none")
    chance, found = random.Random(seed), []
    for at in range(count):
        asks = chance.random() < 0.5
        words, tags = ["have", "the", chance.choice(PEOPLE)], ["AUX" if asks else "VERB", "DET", "NOUN"]
        for _ in range(clauses[at % len(clauses)]):
            words += ["who", chance.choice(VERBS), "the", chance.choice(THINGS)]
            tags += ["PRON", "VERB", "DET", "NOUN"]
        words += ["taken" if asks else "take", "it"]
        found.append((tuple(words), (*tags, "VERB", "PRON")))
    return found


@dataclass(frozen=True)
class Distance:
    """A tagger that learns from such sentences; a candidate of `experiments.sweep`.

    Args:
        options: the tagger's, as `{"context": "attention"}`.
        sentences: how many it learns from.
        epochs: how often it sees them.
        d_model: width.
        n_heads: heads, where there are any.

    >>> run = Distance({"context": "window"}, sentences=60, epochs=2)(0.01, seed=0)
    >>> len(run.curve), sorted(run.extras)
    (2, ['11 words away', '19 words away', '27 words away', '3 words away', 'have'])
    """

    told: ClassVar = {"optimizer": "AdamW on a cosine", "counts": "*have* tagged right in 700 new sentences"}

    options: dict[str, Any]
    sentences: int = 2000
    epochs: int = 6
    d_model: int = 32
    n_heads: int = 2

    def __call__(self, rate: float, seed: int) -> Run:
        """Train once. The curve is the accuracy on all words of new sentences; the value that on *have*."""
        learned, held_out = draw(self.sentences, seed=2 * seed + 1), draw(700, seed=2 * seed + 2)
        torch.manual_seed(seed)
        tagger = Tagger(Vocabulary(learned), d_model=self.d_model, n_heads=self.n_heads, **self.options)
        history = train(tagger, learned, held_out, epochs=self.epochs, seed=seed, lr=rate, progress=False)
        right = evaluate(tagger, held_out, strong={"have"}).strong
        extras = {"have": right}
        for clauses in range(0, MOST + 1, 2):
            test = draw(400, seed=10_000 + seed, clauses=[clauses])
            extras[f"{3 + 4 * clauses} words away"] = evaluate(tagger, test, strong={"have"}).strong
        return Run([100 * accuracy for accuracy in history.dev], value=right, extras=extras)
