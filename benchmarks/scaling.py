"""What divides the scores: by √d, by d, by nothing, each with learning rates of its own.

    python benchmarks/scaling.py

Writes results/scaling-divisors.json. A divisor changes the scores at the start, and how far a step moves
them. The second is a matter of the rate of W_q and W_k alone, so each divisor is also tried with a rate of
its own for these two: what then differs is the start. Finished runs stay in .cache.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from attnbook import results
from attnbook.experiments import Comparison, Retrieval, around, sweep
from attnbook.experiments.rows import Row
from attnbook.experiments.sweeps import choose_rate

CACHE = Path(__file__).parents[1] / ".cache/runs"
D, SEEDS, SCOUT, STEPS = 64, range(10), 5, 300
CENTRES = {"SGD": 0.7, "Adam": 0.014}
TO = {"SGD": 0.5, "Adam": 0.25}
"""With the rate of W_q and W_k times d to this power, dividing by d moves scores as dividing by √d does."""


def candidates(optimizer: str) -> dict[str, Retrieval]:
    """Return the three divisors."""
    how = {"d_k": D, "optimizer": optimizer, "steps": STEPS}
    return {
        "√d": Retrieval(**how),
        "d": Retrieval(scale=1 / D, **how),
        "nothing": Retrieval(scale=1.0, **how),
    }


def one_rate(name: str, head: Retrieval) -> Comparison:
    """Sweep the rate of one candidate; a rate that fails one seed in ten is not the best, so all try all."""
    return sweep(
        {name: head},
        rates=around(CENTRES[head.optimizer], factor=2**0.5, n=7),
        seeds=SEEDS,
        level=0.9,
        tie=0.01,
        widen=8,
        measure="answered right",
        cache=CACHE / f"scaling-{head.optimizer}-{name}-{head.faster:g}.json",
    )


def two_rates(name: str, head: Retrieval, guess: float) -> Row:
    """Find by what W_q and W_k should go faster, a power of two with worse ones on both sides, then sweep."""
    factors, found = around(guess, factor=2, n=3), {}
    while True:
        for faster in (f for f in factors if f not in found):
            rough = sweep(
                {name: replace(head, faster=faster, steps=STEPS // 2)},
                rates=around(CENTRES[head.optimizer], factor=2, n=5),
                seeds=SEEDS[:SCOUT],
                level=0.9,
                choose="steps",
                cache=CACHE / f"scaling-{head.optimizer}-{name}-{faster:g}-rough.json",
            )
            found[faster] = rough[name].runs
            print(head.optimizer, name, f"× {faster:g}:", rough[name].rate, rough[name].steps(), flush=True)
        best = choose_rate(found, goal="high", level=0.9, choose="steps")
        if best not in (factors[0], factors[-1]):
            row = one_rate(name, replace(head, faster=best))[name]
            return replace(row, name=f"{name}; W_q, W_k × {best:g}")
        factors.insert(0 if best == factors[0] else len(factors), best * (0.5 if best == factors[0] else 2))


def train(optimizer: str) -> Comparison:
    """Train the three divisors with one rate for all matrices, and with two."""
    heads = candidates(optimizer)
    found = {name: one_rate(name, head) for name, head in heads.items()}
    rows = [comparison[name] for name, comparison in found.items()]
    for name, power in (("√d", 0), ("d", 1), ("nothing", -1)):
        rows.append(two_rates(name, heads[name], 2.0 ** round(6 * TO[optimizer] * power)))
    return replace(found["√d"], rows={row.name: row for row in rows})


def main() -> None:
    """Train and store."""
    torch.set_num_threads(1)
    results.begin()
    sweeps = {optimizer: train(optimizer) for optimizer in CENTRES}
    for optimizer, found in sweeps.items():
        print(optimizer, found.as_table(), sep="\n", flush=True)
    results.store("scaling-divisors", {"sweeps": sweeps}, command="python benchmarks/scaling.py", seeds=SEEDS)


if __name__ == "__main__":
    main()
