"""Must queries and keys be apart? One head on the toy grammar, two with less, two that never hear themselves.

    python benchmarks/asking.py

Writes results/asking.json. Finished runs stay in .cache, so an interruption costs little.
"""

from __future__ import annotations

from pathlib import Path

import torch

from attnbook import results
from attnbook.experiments import around, sweep
from attnbook.tagging.asking import FORMS, Asking

CACHE = Path(__file__).parents[1] / ".cache/runs"
SEEDS, STEPS = range(10), 600


def main() -> None:
    """Train and store."""
    torch.set_num_threads(1)
    results.begin()
    found = sweep(
        {name: Asking(make, steps=STEPS) for name, make in FORMS.items()},
        rates=around(0.04),
        seeds=SEEDS,
        flat=0.5,
        measure="right, %",
        cache=CACHE / "asking.json",
        progress=False,
    )
    print(found.as_table(digits=1), flush=True)
    results.store("asking", {"sweeps": {"asking": found}}, command="python benchmarks/asking.py", seeds=SEEDS)


if __name__ == "__main__":
    main()
