"""Recall by each causal form of attention, and the tagger with each: what quality linear attention gives up.

    python benchmarks/recall.py [--only PART ...] [--add PART/ROW ...]

Writes results/linear-recall.json. Each form has learning rates of its own and three seeds. All states have
one size; FAVOR+ is tried with four times as many features as well. benchmarks/linear_forms.py times the same
rows. The tagger is measured on every sentence of the toy
grammar, each with its probability, so no run can be lucky in its examples. Finished runs are kept in .cache.
"""

from __future__ import annotations

import argparse
import dataclasses
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor

from attnlab import results
from attnlab.experiments import Comparison, Run, around, sweep
from attnlab.experiments.forms import Mixer
from attnlab.experiments.recall import Recall
from attnlab.tagging import Tagger, Vocabulary, grammar, train

CACHE = Path(__file__).parents[1] / ".cache/runs"
SEEDS = range(3)
PARTS = ("width 16", "newer value", "tagger, causal", "tagger, both ways")
CENTRES = {
    "softmax": 0.01,
    "elu + 1": 0.16,
    "FAVOR+": 0.04,
    "gate": 0.08,
    "delta rule": 0.16,
    "gate and delta": 0.16,
}
ROWS = tuple(CENTRES)
AS_DRAWN = ("softmax",)
"""It recalls with keys as they were drawn what can be recalled: any small rate will do."""
STEPS, EPOCHS, TAGGER_RATE = 200, 5, 0.006
SLOW = {("width 16", name): 2400 for name in ("FAVOR+, 64 features", "elu + 1")}
"""What was still improving after STEPS is given more, until it is not; and so is its neighbour in quality."""


def recalls(part: str) -> dict[str, Recall]:
    """Return a candidate for each form, and FAVOR+ once more with four times as many features."""
    times = 2 if part == "newer value" else 1
    rows = dict.fromkeys(ROWS) | {"FAVOR+, 64 features": 64}
    return {
        name: Recall.of(
            of_form(name), features=m, times=times, steps=SLOW.get((part, name), STEPS), **shape(times)
        )
        for name, m in rows.items()
    }


def shape(times: int) -> dict:
    """Return the numbers of pairs: one number where each key is written twice."""
    return {} if times == 1 else {"pairs": (16,)}


def of_form(name: str) -> str:
    """Return the form that a row has: its name without the number of features."""
    return name.split(",")[0]


@cache
def data() -> tuple[list, list, Vocabulary]:
    """Return what the taggers learn from, what chooses rate and epoch, and the words."""
    sentences = grammar.sample(4000, seed=1)
    return sentences, grammar.sample(1000, seed=2), Vocabulary(sentences)


@cache
def every() -> list[tuple[Tensor, Tensor, Tensor]]:
    """Return every sentence of the grammar in batches of one length: words, tags, probabilities."""
    *_, vocabulary = data()
    number = {tag: at for at, tag in enumerate(vocabulary.tags)}
    of_length: dict[int, list] = {}
    for (words, tags), p in grammar.sentences().items():
        row = (vocabulary.encode(words), torch.tensor([number[tag] for tag in tags]), torch.tensor(float(p)))
        of_length.setdefault(len(words), []).append(row)
    parts = [rows[at : at + 4096] for rows in of_length.values() for at in range(0, len(rows), 4096)]
    return [tuple(map(torch.stack, zip(*rows, strict=True))) for rows in parts]


@torch.no_grad()
def exact(tagger: Tagger) -> float:
    """Return what `expected_accuracy` does, in a fifth of the time: sentences are encoded once for all."""
    right, asked = 0.0, 0.0
    for words, tags, p in every():
        right += ((tagger(words).argmax(-1) == tags).sum(-1) * p).double().sum().item()
        asked += (tags.shape[1] * p).double().sum().item()
    return right / asked


@dataclass(frozen=True)
class Tagging:
    """Train the tagger of one layer with one form of attention; a candidate of `sweep`."""

    told: ClassVar = {"optimizer": "AdamW on a cosine", "counts": "tags right in 1,000 new sentences"}

    name: str
    causal: bool
    features: int | None = None
    epochs: int = EPOCHS
    sentences: int = 4000
    batch_tokens: int = 300
    d_model: int = 32
    n_heads: int = 2

    def __call__(self, rate: float, seed: int) -> Run:
        """Train once on 4,000 sentences, and tag every sentence of the grammar."""
        sentences, dev, vocabulary = data()
        assert len(sentences) == self.sentences
        torch.manual_seed(seed)
        context = "causal attention" if self.causal else "attention"
        how = {
            "context": context,
            "positions": "sinusoidal",
            "d_model": self.d_model,
            "n_heads": self.n_heads,
        }
        tagger = Tagger(vocabulary, **how)
        tagger.layers[0].mixer = Mixer(
            self.name, self.d_model, causal=self.causal, features=self.features, seed=seed
        )
        loop = {"epochs": self.epochs, "batch_tokens": self.batch_tokens, "progress": False}
        history = train(tagger, sentences, dev, seed=seed, lr=rate, **loop)
        dev_curve = [100 * share for share in history.dev]
        return Run(dev_curve, value=max(dev_curve), extras={"every sentence": 100 * exact(tagger)})


def taggers(causal: bool) -> dict[str, Tagging]:
    """Return a candidate for each form."""
    if not causal:
        return {name: Tagging(name, False) for name in ("softmax", "elu + 1", "Linformer")}
    more = {"FAVOR+, 64 features": Tagging("FAVOR+", True, 64)}
    return {name: Tagging(name, True) for name in ROWS} | more


def rows_of(part: str) -> dict[str, Recall] | dict[str, Tagging]:
    """Return the candidates of one part."""
    if part.startswith("tagger"):
        return taggers("causal" in part)
    return recalls(part)


def found(part: str, only: str = "") -> Comparison:
    """Train one part, or one row of it, or read from the cache what is there."""
    rows, out = rows_of(part), None
    for name in [only] if only else rows:
        common = {"seeds": SEEDS, "scout": 1, "cache": CACHE / f"recall-{part}-{name.replace('/', '')}.json"}
        if part.startswith("tagger"):
            one = sweep(
                {name: rows[name]}, rates=around(TAGGER_RATE, n=3), flat=0.3, measure="dev, %",
                **common,
            )  # fmt: skip
        else:
            one = sweep(
                {name: rows[name]},
                rates=around(CENTRES[of_form(name)], n=3),
                may_end_at_edge=AS_DRAWN,
                measure="recalled" if part != "newer value" else "newer value",
                **common,
            )
        out = one if out is None else dataclasses.replace(out, rows={**out.rows, **one.rows})
    return out


def main() -> None:
    """Train and store."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument(
        "--only", nargs="+", metavar="PART", help="train these, and store nothing: PART or PART/ROW"
    )
    arguments.add_argument(
        "--add",
        nargs="+",
        metavar="PART/ROW",
        help="train these rows, and put them with those that are stored",
    )
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    if not chosen.only:
        results.begin()
    sweeps = {part: found(*part.split("/")) for part in chosen.only or chosen.add or PARTS}
    for part, comparison in sweeps.items():
        print(part, comparison.as_table(), sep="\n", flush=True)
    if chosen.add:
        sweeps = beside(sweeps)
    if not chosen.only:
        results.store("linear-recall", {"sweeps": sweeps}, command="python benchmarks/recall.py", seeds=SEEDS)


def beside(added: dict[str, Comparison]) -> dict[str, Comparison]:
    """Return what is stored with some rows new or made again, in the order of the script."""
    sweeps = {part: results.sweep("linear-recall", part) for part in PARTS}
    for place, one in added.items():
        part = place.split("/")[0]
        sweeps[part] = dataclasses.replace(one, rows={**sweeps[part].rows, **one.rows})
    for part, sweep_of_part in sweeps.items():
        rows = sweep_of_part.rows
        kept = {name: rows[name] for name in rows_of(part) if name in rows}
        sweeps[part] = dataclasses.replace(sweep_of_part, rows=kept)
    return sweeps


if __name__ == "__main__":
    main()
