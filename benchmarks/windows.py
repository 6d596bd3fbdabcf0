"""What a window loses: taggers of the toy grammar that see a few neighbours only.

    python benchmarks/windows.py [--only ROW ...]

Writes results/sparse-windows.json. Each row has learning rates of its own and three seeds. A tagger is
measured on every sentence of the grammar, each with its probability: its ceiling is exact, and no run can be
lucky in its examples. Finished runs are kept in .cache, so an interruption costs one run.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook import results
from attnbook.experiments import Comparison, Run, around, sweep
from attnbook.experiments.fitting import fit
from attnbook.experiments.relay import NOT_ASKED, Windowed
from attnbook.tagging import grammar
from attnlab import masks

CACHE = Path(__file__).parents[1] / ".cache/runs"
SEEDS, LONGEST = range(3), 8
WORDS = sorted({word for row in grammar.LEXICON.values() for word, _ in row})


def encode(sentences) -> tuple[Tensor, Tensor]:
    """Return words and tags (count, 8) as numbers; word 0 is padding, which is not asked for."""
    number = {word: at for at, word in enumerate(WORDS, start=1)}
    tag = {name: at for at, name in enumerate(grammar.TAGS)}
    words = torch.zeros(len(sentences), LONGEST, dtype=torch.long)
    tags = torch.full((len(sentences), LONGEST), NOT_ASKED)
    for at, (sentence, names) in enumerate(sentences):
        words[at, : len(sentence)] = torch.tensor([number[word] for word in sentence])
        tags[at, : len(names)] = torch.tensor([tag[name] for name in names])
    return words, tags


@cache
def data() -> dict[str, tuple[Tensor, ...]]:
    """Return what is learned from, what chooses the rate, and every sentence with its probability."""
    every = grammar.sentences()
    weights = torch.tensor([float(p) for p in every.values()], dtype=torch.float64)
    return {
        "study": encode(grammar.sample(8000, seed=1)),
        "dev": encode(grammar.sample(500, seed=2)),
        "every": (*encode(list(every)), weights),
    }


def right(model: Windowed, words: Tensor, tags: Tensor, weights: Tensor | None = None) -> float:
    """Return the share of right tags, in per cent; each sentence counts with its weight."""
    weights = torch.ones(len(words), dtype=torch.float64) if weights is None else weights
    hits, asked = torch.zeros(()), torch.zeros(())
    with torch.no_grad():
        for w, t, weight in zip(words.split(4096), tags.split(4096), weights.split(4096), strict=True):
            weight = weight[:, None] * (t != NOT_ASKED)
            hits = hits + (weight * (model(w).argmax(-1) == t)).sum()
            asked = asked + weight.sum()
    return 100 * (hits / asked).item()


@dataclass(frozen=True)
class Tagging:
    """Train layers of windows to tag; a candidate of `sweep`."""

    told: ClassVar = {
        "optimizer": "AdamW on a cosine",
        "examples": "sentences",
        "counts": "tags right in 500 new sentences",
    }

    window: int
    n_layers: int
    steps: int = 300
    batch: int = 64
    every: int = 50
    d_model: int = 32

    def __call__(self, rate: float, seed: int) -> Run:
        """Train once; the dev set chooses the rate, and every sentence of the grammar is the test."""
        torch.manual_seed(seed)
        model = Windowed(
            masks.window(LONGEST, self.window), self.n_layers, len(WORDS), len(grammar.TAGS), self.d_model
        )
        study, draw = data()["study"], torch.Generator().manual_seed(seed)

        def loss() -> Tensor:
            rows = torch.randint(len(study[0]), (self.batch,), generator=draw)
            return F.cross_entropy(model(study[0][rows]).flatten(0, 1), study[1][rows].flatten())

        curve = fit(
            model, loss, lambda: right(model, *data()["dev"]), rate=rate, steps=self.steps, every=self.every
        )
        every = {"every sentence": right(model, *data()["every"])}
        return Run(curve, every=self.every, value=curve[-1], extras=every)


def rows() -> dict[str, Tagging]:
    """Return the windows and depths that are compared."""
    some = ((0, 1), (1, 1), (2, 1), (7, 1), (1, 2))
    return {f"window {w}, {layers} layer" + "s" * (layers > 1): Tagging(w, layers) for w, layers in some}


def found(only: Sequence[str] = ()) -> Comparison:
    """Train all rows or some, or read from the cache what is there."""
    out = None
    for name in only or rows():
        one = sweep(
            {name: rows()[name]},
            rates=around(0.008, n=3),
            seeds=SEEDS,
            scout=1,
            flat=0.3,
            measure="dev, %",
            cache=CACHE / f"windows-{name}.json",
        )
        out = one if out is None else replace(out, rows={**out.rows, **one.rows})
    return out


def main() -> None:
    """Train and store."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", nargs="+", choices=rows(), help="train these, and store nothing")
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    if not chosen.only:
        results.begin()
    tagger = found(chosen.only or ())
    print(tagger.as_table(), flush=True)
    if not chosen.only:
        command = "python benchmarks/windows.py"
        results.store("sparse-windows", {"sweeps": {"tagger": tagger}}, command=command, seeds=SEEDS)


if __name__ == "__main__":
    main()
