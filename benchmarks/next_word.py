"""Three ways to mask a model that guesses the next word, each with learning rates of its own.

    python benchmarks/next_word.py

Writes results/masking-leaks.json. A rate is chosen by the loss that training shows, as one would who does not
know of the leak; the exact losses of reading and of writing stand beside it.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import torch
from torch import Tensor

from attnbook import results
from attnbook.experiments import NextWord, Text, around, next_word, sweep
from attnbook.tagging import grammar
from attnlab import masks, scores

CACHE = Path(__file__).parents[1] / ".cache/runs/masking-leaks.json"
SEEDS = range(5)


def honest(s: Tensor) -> Tensor:
    """Mask before the softmax."""
    return scores.softmax(s, masks.causal(s.shape[-1]))


def one_too_many(s: Tensor) -> Tensor:
    """Leave one cell too many open in each row."""
    n = s.shape[-1]
    return scores.softmax(s, masks.window(n, before=n, after=1))


def late(s: Tensor) -> Tensor:
    """Mask after the softmax."""
    return s.softmax(-1) * masks.causal(s.shape[-1])


def main() -> None:
    """Train and store."""
    torch.set_num_threads(1)
    results.begin()
    chances: Counter[tuple[str, ...]] = Counter()
    for (words, _), p in grammar.sentences().items():
        chances[words] += float(p)
    text = Text(chances)
    ways = {"causal": honest, "one too many": one_too_many, "mask late": late}
    found = sweep(
        {name: NextWord(text, weigh) for name, weigh in ways.items()},
        rates=around(0.024, n=3),
        seeds=SEEDS,
        scout=2,
        goal="low",
        measure="loss in training",
        cache=CACHE,
        progress=False,
    )
    print(found.as_table(), flush=True)
    numbers = {"floor": next_word.floor(chances), "sweeps": {"three masks": found}}
    results.store("masking-leaks", numbers, command="python benchmarks/next_word.py", seeds=SEEDS)


if __name__ == "__main__":
    main()
