"""Orders that change, in days that end: which causal layer learns what is still true, and at which token.

    python benchmarks/days.py

Writes results/linear-days.json. Every layer makes what it takes (queries, keys, values, rates) of its tokens,
and has learning rates of its own and three seeds, all of which choose the best; the state of every linear one
has one size. Finished runs are kept in .cache.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

import torch

from attnbook import results
from attnbook.experiments import Comparison, around, sweep
from attnbook.experiments.days import KINDS, SHAPE, Days, texts

CACHE = Path(__file__).parents[1] / ".cache/runs"
SEEDS = range(3)
CENTRES = {
    "softmax": 0.01,
    "sum": 0.01,
    "gate": 0.005,
    "delta rule": 0.005,
    "gate and delta": 0.01,
}
AT_CHANCE = ("softmax", "sum")
"""They can't know what is newer: one low level is reached at every rate."""
STEPS = 400
SLOW = {"gate": 1600, "delta rule": 1600, "gate and delta": 1600}
"""What was still improving after STEPS is given more, until it is not."""


def found() -> Comparison:
    """Train every layer, or read from the cache what is there."""
    out = None
    for name, centre in CENTRES.items():
        one = sweep(
            {name: Days(name, steps=SLOW.get(name, STEPS))},
            rates=around(centre, n=3),
            seeds=SEEDS,
            level=0.95,
            tie=0.005,
            may_end_at_edge=AT_CHANCE,
            measure="right",
            cache=CACHE / f"days-{name}.json",
        )
        out = one if out is None else dataclasses.replace(out, rows={**out.rows, **one.rows})
    return out


def shares() -> dict[str, float]:
    """Return how many of the customers are of each kind, in two thousand texts."""
    kind = texts(2000, **SHAPE, draw=torch.Generator().manual_seed(0))[-1]
    return {name: round((kind == at).float().mean().item(), 4) for at, name in enumerate(KINDS)}


def main() -> None:
    """Train and store."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    torch.set_num_threads(1)
    results.begin()
    comparison = found()
    print(comparison.as_table(), flush=True)
    stored = {"shape": SHAPE, "kinds": shares(), "sweeps": {"orders": comparison}}
    results.store("linear-days", stored, command="python benchmarks/days.py", seeds=SEEDS)


if __name__ == "__main__":
    main()
