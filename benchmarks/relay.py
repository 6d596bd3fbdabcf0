"""How far a message travels through layers of windows, by who is asked while training.

    python benchmarks/relay.py [--only PART ...]

Writes results/sparse-relay.json. Reach is a power of the mask; whether training finds it is measured here: each
depth with every token asked, with one token asked in each window, and with the farthest alone. Each row has
learning rates of its own and three seeds, and counts the steps until 95 of 100 messages arrive. Finished runs
are kept in .cache, so an interruption costs one run.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import torch

from attnlab import results
from attnlab.experiments import Comparison, around, sweep
from attnlab.experiments.relay import Relay

CACHE = Path(__file__).parents[1] / ".cache/runs"
SEEDS, LEVEL, BUDGET, TOKENS = range(3), 0.95, 3000, 20
PARTS = ("every token asked", "one asked in each window", "only the farthest asked")


def candidates(part: str) -> dict[str, Relay]:
    """Return a candidate for each depth."""
    rows = {}
    for layers in range(1, 5):
        row = Relay(layers, (0,), steps=BUDGET)
        edges = tuple(range(row.window, row.edge + 1, row.window))
        asked = {"every token asked": tuple(range(TOKENS)), "one asked in each window": edges}
        rows[f"{layers} layer" + "s" * (layers > 1)] = replace(row, asked=asked.get(part, (row.edge,)))
    return rows


def found(part: str) -> Comparison:
    """Train one part, or read from the cache what is there."""
    rows = candidates(part)
    last = "4 layers" if part == PARTS[2] else ""
    how = {
        "seeds": SEEDS, "level": LEVEL, "choose": "steps", "measure": "arrived", "budget": f"at most {BUDGET} steps",
        "cache": CACHE / f"relay-{part}.json", "settings": {"budget": BUDGET, "version": 2},
    }  # fmt: skip
    quick = {name: row for name, row in rows.items() if name != last}
    whole = sweep(quick, rates=around(0.012 if not last else 0.006, n=3), **how)
    if last:  # where nothing arrives no rate is best, and a longer search would not make one
        slow = sweep({last: rows[last]}, rates=around(0.004, n=3), widen=0, may_end_at_edge=[last], **how)
        whole = replace(whole, rows={**whole.rows, **slow.rows})
    return whole


def main() -> None:
    """Train and store."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", nargs="+", choices=PARTS, help="train these, and store nothing")
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    sweeps = {part: found(part) for part in chosen.only or PARTS}
    for part, comparison in sweeps.items():
        print(part, comparison.as_table(), sep="\n", flush=True)
    if not chosen.only:
        results.store("sparse-relay", {"sweeps": sweeps}, command="python benchmarks/relay.py", seeds=SEEDS)


if __name__ == "__main__":
    main()
