"""Recall by each causal form of attention: what quality linear attention gives up.

    python benchmarks/recall.py [--only PART ...] [--add PART/ROW ...]

Writes results/linear-recall.json. Each form has learning rates of its own and three seeds. All states have
one size. Finished runs are kept in .cache.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

import torch

from attnbook import results
from attnbook.experiments import Comparison, around, sweep
from attnbook.experiments.recall import Recall

CACHE = Path(__file__).parents[1] / ".cache/runs"
SEEDS = range(3)
PARTS = ("width 16", "newer value")
CENTRES = {
    "softmax": 0.01,
    "softmax, a slope": 0.01,
    "sum": 0.08,
    "sum, no signs": 0.16,
    "no signs, less the mean": 0.16,
    "elu + 1, no division": 0.16,
    "elu + 1": 0.16,
    "FAVOR+": 0.04,
    "gate": 0.08,
    "delta rule": 0.16,
    "gate and delta": 0.16,
}
AS_DRAWN = ("softmax", "softmax, a slope")
"""They recall with keys as they were drawn what can be recalled: any small rate will do."""
STEPS = 200
SLOW = {
    ("width 16", name): 2400
    for name in ("sum, no signs", "no signs, less the mean", "elu + 1, no division", "elu + 1")
}
"""What was still improving after STEPS is given more, until it is not; the control as much as its row."""


def recalls(part: str) -> dict[str, Recall]:
    """Return a candidate for each form."""
    times = 2 if part == "newer value" else 1
    return {
        name: Recall.of(name, times=times, steps=SLOW.get((part, name), STEPS), **shape(times))
        for name in CENTRES
    }


def shape(times: int) -> dict:
    """Return the numbers of pairs: one number where each key is written twice."""
    return {} if times == 1 else {"pairs": (16,)}


def found(part: str, only: str = "") -> Comparison:
    """Train one part, or one row of it, or read from the cache what is there."""
    rows, out = recalls(part), None
    for name in [only] if only else rows:
        one = sweep(
            {name: rows[name]},
            rates=around(CENTRES[name], n=3),
            seeds=SEEDS,
            scout=1,
            may_end_at_edge=AS_DRAWN,
            measure="recalled" if part != "newer value" else "newer value",
            cache=CACHE / f"recall-{part}-{name.replace('/', '')}.json",
        )
        out = one if out is None else dataclasses.replace(out, rows={**out.rows, **one.rows})
    return out


def main() -> None:
    """Train and store."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument(
        "--only", nargs="+", metavar="PART", help="train these, and store nothing: PART or PART/ROW"
    )
    arguments.add_argument(
        "--add",
        nargs="+",
        metavar="PART/ROW",
        help="train these rows, and put them with those that are stored",
    )
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    if not chosen.only:
        results.begin()
    sweeps = {part: found(*part.split("/")) for part in chosen.only or chosen.add or PARTS}
    for part, comparison in sweeps.items():
        print(part, comparison.as_table(), sep="\n", flush=True)
    if chosen.add:
        sweeps = beside(sweeps)
    if not chosen.only:
        results.store("linear-recall", {"sweeps": sweeps}, command="python benchmarks/recall.py", seeds=SEEDS)


def beside(added: dict[str, Comparison]) -> dict[str, Comparison]:
    """Return what is stored with some rows new or made again, in the order of the script."""
    sweeps = {part: results.sweep("linear-recall", part) for part in PARTS}
    for place, one in added.items():
        part = place.split("/")[0]
        sweeps[part] = dataclasses.replace(one, rows={**sweeps[part].rows, **one.rows})
    for part, sweep_of_part in sweeps.items():
        rows = sweep_of_part.rows
        kept = {name: rows[name] for name in recalls(part) if name in rows}
        sweeps[part] = dataclasses.replace(sweep_of_part, rows=kept)
    return sweeps


if __name__ == "__main__":
    main()
