"""Training with and without 1/√d, by width, each with learning rates of its own.

    python benchmarks/saturation.py

Writes results/saturation-training.json. At the widest, two controls say what the factor does: one leaves it
out and starts with the same scores, the other keeps it and starts with the scores of the other.
"""

from __future__ import annotations

from pathlib import Path

import torch

from attnbook import results
from attnbook.experiments import Retrieval, around, sweep

CACHE = Path(__file__).parents[1] / ".cache/runs"
SEEDS, STEPS = range(5), 800
RATES = {4: (0.03, 0.03), 16: (0.03, 0.015), 64: (0.02, 0.01), 256: (0.014, 0.005), 512: (0.01, 0.0035)}
"""Width -> the middles of the two grids, with and without the factor."""


def main() -> None:
    """Train and store."""
    torch.set_num_threads(1)
    results.begin()
    sweeps = {}
    for d, (fast, slow) in RATES.items():
        how, root = {"d_k": d, "steps": STEPS}, d**0.25
        rows = {"scaled": Retrieval(**how), "not scaled": Retrieval(scale=1.0, **how)}
        controls = {
            "not scaled, first scores as scaled": Retrieval(scale=1.0, start=1 / root, **how),
            "scaled, first scores as not scaled": Retrieval(start=root, **how),
        }
        controls = controls if d == max(RATES) else {}
        middles = dict(zip([*rows, *controls], (fast, slow, slow, fast), strict=False))
        sweeps[f"width {d}"] = found = sweep(
            rows,
            controls=controls,
            rates={name: around(middle, factor=2**0.5) for name, middle in middles.items()},
            seeds=SEEDS,
            scout=2,
            level=0.9,
            tie=0.01,
            widen=6,
            measure="answered right",
            cache=CACHE / f"saturation-{d}.json",
            progress=False,
        )
        print(d, found.as_table(), sep="\n", flush=True)
    results.store(
        "saturation-training", {"sweeps": sweeps}, command="python benchmarks/saturation.py", seeds=SEEDS
    )


if __name__ == "__main__":
    main()
