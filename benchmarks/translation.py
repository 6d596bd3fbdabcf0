"""Dates to ISO 8601: one fixed vector against attention, by the number of dates in a text.

    python benchmarks/translation.py

Writes results/translation.json. Every model learns from the same texts, of one to three dates; all have
embeddings of 24 and states of 64. Then Luong's windows, on texts of one date, with embeddings of 16 and
states of 32; and what Bahdanau's model leaves out of texts that are longer than those it learned from.
"""

from __future__ import annotations

import random
from pathlib import Path

import torch
from torch import Tensor

from attnbook import results
from attnbook.experiments import Comparison, Translation, around, dates, sweep, translation
from attnlab.recurrent import Translator

CACHE = Path(__file__).parents[1] / ".cache/runs"
SEEDS, STEPS = range(3), 600
SIZE = {"d_embed": 24, "d_hidden": 64}
ROWS = {
    "fixed vector": ("fixed", SIZE, 1),
    "Bahdanau": ("bahdanau", SIZE | {"d_align": 32}, 1),
    "Luong, general": ("general", SIZE, 1),
    "Luong, dot": ("dot", SIZE, 1),
    "Luong, general, input feeding": ("general", SIZE | {"feed": True}, 1),
}
CONTROLS = {"fixed vector, three times the steps": ("fixed", SIZE, 3)}
WINDOWS = ("local-m", "local-p", "general")
MIDDLE = 0.012


def candidate(name: str, options: dict, times: int) -> Translation:
    """Return a candidate with `times` as many steps."""
    return Translation(name, options, steps=STEPS * times, every=STEPS * times // 10)


def windows() -> Comparison:
    """Let Luong's decoder look at a window around its own step, at one that it places, or at everything."""
    how = {"train_on": (1,), "test_on": (1,), "steps": 400, "every": 40}
    found = sweep(
        {name: Translation(name, {"d_embed": 16, "d_hidden": 32}, **how) for name in WINDOWS},
        rates=around(0.01, n=3),
        seeds=SEEDS,
        scout=1,
        tie=0.01,
        may_end_at_edge=WINDOWS,
        measure="30 dates right",
        cache=CACHE / "translation_windows.json",
        progress=False,
    )
    return found.pick({"1 date": "100 others right", "aligned": "aligned"})


def coverage() -> list[dict]:
    """Train Bahdanau's model once more and count what it leaves out and writes twice, by number of dates."""
    model, _ = candidate(*ROWS["Bahdanau"]).train(0.006, 0)
    return [counts(model, n) for n in (2, 3, 4, 5)]


def counts(model: Translator, n: int) -> dict:
    """Let a model write texts of n dates and look at what went wrong in the first that did."""
    pairs = dates.draw(200, n, random.Random(-4))
    written, weights = translation.write(model, [pair.text for pair in pairs], max_new_tokens=11 * n + 11)
    wanted, given = [pair.iso.split(" ") for pair in pairs], [text.split(" ") for text in written]
    skipped = [len(set(w) - set(g)) for w, g in zip(wanted, given, strict=True)]
    twice = [len(g) - len(set(g)) for g in given]
    covered = [row.sum(0).clamp(max=1).log().mean().item() for row in weights]
    right = [w == g for w, g in zip(wanted, given, strict=True)]
    wrong = next((at for at, good in enumerate(right) if not good), None)
    example = {}
    if wrong is not None:
        pair = pairs[wrong]
        example = {"text": pair.text, "wanted": pair.iso, "written": written[wrong]}
        example["received"] = [round(x, 1) for x in received(weights[wrong], pair, n)]

    def mean(values: list[float], keep: bool) -> float | None:
        kept = [x for x, good in zip(values, right, strict=True) if good == keep]
        return round(sum(kept) / len(kept), 3) if kept else None

    return {
        "dates": n,
        "texts right": sum(right) / len(right),
        "skipped": sum(skipped) / (n * len(pairs)),
        "written twice": sum(twice) / (n * len(pairs)),
        "dates written": sum(map(len, given)) / len(given),
        "penalty, right": mean(covered, True),
        "penalty, wrong": mean(covered, False),
        "example": example,
    }


def received(weights: Tensor, pair: dates.Dates, n: int) -> list[float]:
    """Return how much weight the characters of each date of a text got, over all steps."""
    got = weights.sum(0).tolist()
    places = [{i for made in pair.made[11 * k : 11 * k + 10] for i in made} for k in range(n)]
    return [sum(got[min(of) : max(of) + 1]) for of in places]


def main() -> None:
    """Train and store."""
    torch.set_num_threads(1)
    results.begin()
    found = sweep(
        {name: candidate(*how) for name, how in ROWS.items()},
        controls={name: candidate(*how) for name, how in CONTROLS.items()},
        rates=around(MIDDLE, n=3),
        seeds=SEEDS,
        scout=1,
        level=0.95,
        tie=0.01,
        measure="dates right",
        cache=CACHE / "translation.json",
        may_end_at_edge=["fixed vector", *CONTROLS],
        progress=False,
    )
    print(found.as_table(), flush=True)
    local = windows()
    print(local.as_table(), flush=True)
    sweeps = {"by the number of dates": found, "windows": local}
    numbers = {"sweeps": sweeps, "coverage": coverage()}
    results.store("translation", numbers, command="python benchmarks/translation.py", seeds=SEEDS)


if __name__ == "__main__":
    main()
