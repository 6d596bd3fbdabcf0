"""Orders that change, in days that end: which causal form of attention knows what is still true.

    python benchmarks/days.py

Writes results/linear-days.json. Every form has the same things to train, learning rates of its own and three
seeds; all linear ones have a state of one size. Finished runs are kept in .cache.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

import torch

from attnbook import results
from attnbook.experiments import Comparison, around, sweep
from attnbook.experiments.days import Days

CACHE = Path(__file__).parents[1] / ".cache/runs"
SEEDS = range(3)
CENTRES = {
    "softmax": 0.1,
    "softmax, gate": 0.05,
    "sum": 0.1,
    "gate": 0.1,
    "delta rule": 0.1,
    "gate and delta": 0.2,
}
AT_CHANCE = ("softmax", "sum")
"""They can't know what is newer: one low level is reached at every rate."""
STEPS = 300


def found() -> Comparison:
    """Train every form, or read from the cache what is there."""
    out = None
    for name, centre in CENTRES.items():
        one = sweep(
            {name: Days(name, steps=STEPS)},
            rates=around(centre, n=3),
            seeds=SEEDS,
            scout=1,
            may_end_at_edge=AT_CHANCE,
            measure="right",
            cache=CACHE / f"days-{name}.json",
        )
        out = one if out is None else dataclasses.replace(out, rows={**out.rows, **one.rows})
    return out


def main() -> None:
    """Train and store."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    torch.set_num_threads(1)
    results.begin()
    comparison = found()
    print(comparison.as_table(), flush=True)
    shape = {field.name: field.default for field in dataclasses.fields(Days) if field.name != "name"}
    stored = {"shape": shape | {"steps": STEPS}, "sweeps": {"orders": comparison}}
    results.store("linear-days", stored, command="python benchmarks/days.py", seeds=SEEDS)


if __name__ == "__main__":
    main()
