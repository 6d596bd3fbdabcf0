"""Dates to ISO 8601: one fixed vector against attention, by the number of dates in a text.

    python benchmarks/translation.py [name ...]

Writes results/translation.json. Every model learns from the same texts, of one to four dates; all have
embeddings of 24 and states of 64. With names, only those rows are trained, and kept in the cache.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from attnlab import results
from attnlab.experiments import Translation, around, sweep

CACHE = Path(__file__).parents[1] / ".cache/runs/translation.json"
SEEDS, STEPS = range(3), 800
SIZE = {"d_embed": 24, "d_hidden": 64}
ROWS = {
    "fixed vector": ("fixed", SIZE, 1),
    "Bahdanau": ("bahdanau", SIZE | {"d_align": 32}, 1),
    "Luong, general": ("general", SIZE, 1),
    "Luong, dot": ("dot", SIZE, 1),
    "Luong, local-p": ("local-p", SIZE, 1),
    "Luong, local-m": ("local-m", SIZE, 1),
    "Luong, general, input feeding": ("general", SIZE | {"feed": True}, 1),
    "Luong, concat": ("concat", SIZE, 1),
}
CONTROLS = {
    "fixed vector, three times the steps": ("fixed", SIZE, 3),
    "fixed vector, twice as wide": ("fixed", SIZE | {"d_hidden": 128}, 1),
}


def candidate(name: str, options: dict, times: int) -> Translation:
    """Return a candidate with `times` as many steps."""
    return Translation(name, options, steps=STEPS * times, every=STEPS * times // 10)


def main() -> None:
    """Train and store."""
    torch.set_num_threads(1)
    only = sys.argv[1:]
    rows, controls = (
        {name: candidate(*how) for name, how in group.items() if not only or name in only}
        for group in (ROWS, CONTROLS)
    )
    if only and not rows:
        rows, controls = controls, {}
    found = sweep(
        rows,
        controls=controls,
        rates={name: around(0.006, n=3) for name in {**rows, **controls}},
        seeds=SEEDS,
        scout=1,
        level=0.95,
        tie=0.01,
        measure="dates right",
        budget=f"Adam, {STEPS} steps of 32 texts; one seed tries the rates",
        cache=CACHE,
        settings={"steps": STEPS, "version": 1},
        may_end_at_edge=[name for name in {**rows, **controls} if "fixed" in name or "local-m" in name],
        progress=False,
    )
    print(found.as_table(), flush=True)
    if not only:
        command = "python benchmarks/translation.py"
        results.store(
            "translation", {"sweeps": {"by the number of dates": found}}, command=command, seeds=SEEDS
        )


if __name__ == "__main__":
    main()
