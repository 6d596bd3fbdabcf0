"""Stretch a trained model: read texts four times as long in several ways; write results/stretching.json.

    python benchmarks/stretching.py

Two causal layers with rotary positions learn texts of 32 words, each one block over and over
(`attnlab.experiments.stretching`). The rate is chosen on texts of 32. The same weights then read texts of 128
with other speeds of rotation, without any training; as controls with far keys hidden, and with far keys whose
distance is cut down to the longest of training, so that only their number is new. Then each way is trained on
texts of 128 for a while, at a rate of its own. Finished runs are kept in _build/runs.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

import torch

from attnlab import results
from attnlab.experiments import around, stretching, sweep

KEPT = Path(__file__).parents[1] / "_build/runs"
SEEDS = (0, 1, 2, 3, 4)
WAYS = get_args(stretching.Way)[:4]
"""Those that are trained on; sharper scores can be learned."""


def main() -> None:
    """Read the command line, train, and store; --untuned stops before the second training."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    arguments.add_argument("--untuned", action="store_true")
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    names = ["TRAINED", "FACTOR", "BASE", "KEPT_FROM", "WORDS", "D_MODEL", "N_HEADS", "STEPS", "TUNING"]
    settings = {name.lower(): getattr(stretching, name) for name in names}
    first = sweep(
        {"RoPE": stretching.repeat},
        rates=around(0.01, n=3),
        seeds=chosen.seeds,
        scout=1,
        measure="right at 32",
        budget=f"{stretching.STEPS} steps of 32 texts",
        cache=KEPT / "stretching.json",
        settings=settings,
    )
    sweeps = {"trained on 32": first}
    if not chosen.untuned:
        rate = first["RoPE"].rate
        sweeps["trained on"] = sweep(
            {way: stretching.tune(way, rate) for way in WAYS},
            rates=around(0.004, n=3),
            seeds=chosen.seeds,
            scout=1,
            measure="right at 128",
            flat=0.02,
            budget=f"{stretching.TUNING} steps of 32 texts of 128 words",
            cache=KEPT / "stretching-tuned.json",
            settings=settings | {"first rate": rate},
        )
    numbers = {"settings": settings, "sweeps": sweeps}
    results.store("stretching", numbers, command="python benchmarks/stretching.py", seeds=chosen.seeds)


if __name__ == "__main__":
    main()
