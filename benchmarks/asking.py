"""Must queries and keys be apart? One head on the toy grammar, two with less, two that never hear themselves.

    python benchmarks/asking.py
    python benchmarks/asking.py rivals
    python benchmarks/asking.py starts
    python benchmarks/asking.py turned

Writes results/asking.json; with "rivals" results/asking-rivals.json, on one full table and plain means; with
"starts" results/asking-starts.json, on matrices that start smaller; with "turned" results/asking-turned.json,
on one matrix and turned signs.
Finished runs stay in .cache, so an interruption costs little.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from attnbook import results
from attnbook.experiments import around, sweep
from attnbook.tagging.asking import FORMS, RIVALS, STARTS, TURNED, Asking

CACHE = Path(__file__).parents[1] / ".cache/runs"
SEEDS, STEPS = range(10), 600
PARTS = {"": FORMS, "rivals": RIVALS, "starts": STARTS, "turned": TURNED}
FEWER = {"starts": 3, "turned": 3}
"""Of how many rates a grid has to begin with, where not of five."""


def main() -> None:
    """Train and store."""
    torch.set_num_threads(1)
    results.begin()
    part = "".join(sys.argv[1:])
    name = f"asking-{part}" if part else "asking"
    found = sweep(
        {form: Asking(make, steps=STEPS) for form, make in PARTS[part].items()},
        rates=around(0.04, n=FEWER.get(part, 5)),
        seeds=SEEDS,
        flat=0.5,
        measure="right, %",
        cache=CACHE / f"{name}.json",
        progress=False,
    )
    print(found.as_table(digits=1), flush=True)
    command = f"python benchmarks/asking.py {part}".rstrip()
    results.store(name, {"sweeps": {name: found}}, command=command, seeds=SEEDS)


if __name__ == "__main__":
    main()
