"""What divides the scores: by √d, by d, by nothing, each with learning rates of its own.

    python benchmarks/scaling.py

Writes results/scaling-divisors.json. The controls separate the two things in which a divisor differs: the
scores at the start, and how fast they move. Finished runs stay in .cache, so an interruption costs little.
"""

from __future__ import annotations

from pathlib import Path

import torch

from attnlab import results
from attnlab.experiments import Retrieval, around, sweep

CACHE = Path(__file__).parents[1] / ".cache/runs"
D, SEEDS, STEPS = 64, range(5), 300
CENTRES = {"SGD": 0.7, "Adam": 0.014}


def candidates(optimizer: str) -> tuple[dict[str, Retrieval], dict[str, Retrieval]]:
    """Return the three divisors, and the controls."""
    how = {"d_k": D, "optimizer": optimizer, "steps": STEPS}
    root = D**0.25  # on queries and on keys, so √d on their product
    rows = {
        "√d": Retrieval(**how),
        "d": Retrieval(scale=1 / D, **how),
        "nothing": Retrieval(scale=1.0, **how),
    }
    controls = {
        "nothing, first scores as with √d": Retrieval(scale=1.0, start=1 / root, **how),
        "d, first scores as with √d": Retrieval(scale=1 / D, start=root, **how),
        "√d, first scores as with nothing": Retrieval(start=root, **how),
    }
    return rows, controls


def main() -> None:
    """Train and store."""
    torch.set_num_threads(1)
    sweeps = {}
    for optimizer, centre in CENTRES.items():
        rows, controls = candidates(optimizer)
        sweeps[optimizer] = sweep(
            rows,
            controls=controls,
            rates=around(centre, factor=2**0.5, n=7),
            seeds=SEEDS,
            level=0.9,
            tie=0.01,
            widen=8,
            measure="answered right",
            budget=f"{optimizer}, {STEPS} steps of 64 questions, one rate for all matrices",
            cache=CACHE / f"scaling-{optimizer}.json",
            settings={"d": D, "steps": STEPS, "version": 1},
        )
        print(optimizer, sweeps[optimizer].as_table(), sep="\n", flush=True)
    results.store("scaling-divisors", {"sweeps": sweeps}, command="python benchmarks/scaling.py", seeds=SEEDS)


if __name__ == "__main__":
    main()
