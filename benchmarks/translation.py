"""Dates to ISO 8601: one fixed vector against attention, by the number of dates in a text.

    python benchmarks/translation.py

Writes results/translation.json. Every model learns from the same texts, of one to three dates; all have
embeddings of 24 and states of 64. Then one run of one vector again, at its best rate, in three times
the steps.
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
}
LONGER = ("fixed", SIZE, 3)
MIDDLE = 0.012


def candidate(name: str, options: dict, times: int) -> Translation:
    """Return a candidate with `times` as many steps."""
    return Translation(name, options, steps=STEPS * times, every=STEPS * times // 10)


def train(topic: str, rows: dict[str, tuple[str, dict, int]]) -> Comparison:
    """Sweep the candidates of `rows`, all in one way."""
    found = sweep(
        {name: candidate(*row) for name, row in rows.items()},
        seeds=SEEDS,
        scout=1,
        cache=CACHE / f"{topic}.json",
        rates=around(MIDDLE, n=3),
        level=0.95,
        tie=0.01,
        measure="dates right",
        progress=False,
    )
    print(found.as_table(), flush=True)
    return found


def main() -> None:
    """Train and store."""
    torch.set_num_threads(1)
    results.begin()
    found = train("translation", ROWS)
    rate = found["fixed vector"].rate
    longer = candidate(*LONGER)(rate, seed=0).extras | {"rate": rate, "seed": 0}
    print(longer, flush=True)
    numbers = {"sweeps": {"by the number of dates": found}, "in three times the steps": longer}
    results.store("translation", numbers, command="python benchmarks/translation.py", seeds=SEEDS)


if __name__ == "__main__":
    main()
