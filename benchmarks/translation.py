"""Dates to ISO 8601: one fixed vector against attention, by the number of dates in a text.

    python benchmarks/translation.py

Writes results/translation.json. Every model learns from the same texts, of one to three dates; all have
embeddings of 24 and states of 64. Then Luong's windows, on texts of one date, with embeddings of 16 and
states of 32.
"""

from __future__ import annotations

from pathlib import Path

import torch

from attnbook import results
from attnbook.experiments import Comparison, Translation, around, sweep

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
    results.store("translation", {"sweeps": sweeps}, command="python benchmarks/translation.py", seeds=SEEDS)


if __name__ == "__main__":
    main()
