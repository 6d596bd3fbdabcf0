"""How far a message travels through layers of windows, by who is asked while training.

    python benchmarks/relay.py [--only PART[/ROW] ...]

Writes results/sparse-relay.json. Reach is a power of the mask; whether training finds it is measured here:
each depth with every token asked, with one token asked in each window, and with the farthest alone. Each row
has learning rates of its own, the best of them with three seeds, and counts steps until 95 of 100 messages
arrive. Four layers of which the farthest token alone is asked take thousands of steps: their rates and seeds
are those of `LATE`. Finished runs are kept in .cache, so an interruption costs one run.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import torch

from attnbook import results
from attnbook.experiments import Comparison, around, sweep
from attnbook.experiments.relay import Relay
from attnbook.experiments.rows import Row
from attnbook.experiments.settings import settings_of
from attnbook.experiments.sweeps import choose_rate, train_pairs

CACHE = Path(__file__).parents[1] / ".cache/runs"
SEEDS, LEVEL, BUDGET, TOKENS = range(3), 0.95, 2000, 20
PARTS = ("every token asked", "one asked in each window", "only the farthest asked")
LATE = {0.001: (12_000, SEEDS), 0.002: (12_000, (0,)), 0.004: (BUDGET, SEEDS), 0.008: (BUDGET, (0,))}
"""For each rate the steps at most, and the seeds, of four layers of which the farthest alone is asked."""


def candidates(part: str) -> dict[str, Relay]:
    """Return a candidate for each depth."""
    rows = {}
    for layers in range(1, 5):
        row = Relay(layers, (0,), steps=BUDGET)
        edges = tuple(range(row.window, row.edge + 1, row.window))
        asked = {"every token asked": tuple(range(TOKENS)), "one asked in each window": edges}
        rows[f"{layers} layer" + "s" * (layers > 1)] = replace(row, asked=asked.get(part, (row.edge,)))
    return rows


def found(part: str, only: str = "") -> Comparison:
    """Train one part, or one row of it, or read from the cache what is there."""
    rows, out = candidates(part), None
    for name in [only] if only else rows:
        if part == PARTS[2] and name == "4 layers":
            one = Comparison({name: late(rows[name])}, measure="arrived", goal="high", level=LEVEL)
        else:
            one = sweep(
                {name: rows[name]},
                rates=around(0.012, n=3),
                seeds=SEEDS,
                scout=1,
                level=LEVEL,
                choose="steps",
                measure="arrived",
                cache=CACHE / f"relay-{part}-{name}.json",
            )
        out = one if out is None else replace(out, rows={**out.rows, **one.rows})
    return out


def late(candidate: Relay) -> Row:
    """Train four layers of which the farthest alone is asked."""
    tried = {}
    for rate, (steps, seeds) in LATE.items():
        longer = replace(candidate, steps=steps, every=50 if steps > BUDGET else candidate.every)
        tried[rate] = train_pairs("4 layers", longer, [(rate, seed) for seed in seeds])
    best = choose_rate(tried, goal="high", level=LEVEL, choose="steps")
    given = settings_of(candidate) | {"steps": max(steps for steps, _ in LATE.values())}
    return Row("4 layers", best, tried, edge=best in (min(tried), max(tried)), level=LEVEL, settings=given)


def main() -> None:
    """Train and store."""
    arguments = argparse.ArgumentParser(description=__doc__)
    help = "train these, and store nothing: PART or PART/ROW"
    arguments.add_argument("--only", nargs="+", metavar="PART", help=help)
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    if not chosen.only:
        results.begin()
    sweeps = {part: found(*part.split("/")) for part in chosen.only or PARTS}
    for part, comparison in sweeps.items():
        print(part, comparison.as_table(), sep="\n", flush=True)
    if not chosen.only:
        results.store("sparse-relay", {"sweeps": sweeps}, command="python benchmarks/relay.py", seeds=SEEDS)


if __name__ == "__main__":
    main()
