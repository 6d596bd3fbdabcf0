"""Stretch a trained model: read texts four times as long in several ways; write results/stretching.json.

    python benchmarks/stretching.py

Two causal layers with rotary positions learn texts of 32 words, each one block over and over
(`attnlab.experiments.stretching`). The rate is chosen on texts of 32. Two ways of stretching leave a number
open: it is chosen with other models on other texts of 128, and stands in the experiment. The same weights
then read texts of 128 with other speeds of rotation, without any training; as controls with far keys hidden,
and with far keys whose distance is cut down to the longest of training, so that no turn is unseen. Finished
runs are kept in _build/runs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from attnlab import results
from attnlab.experiments import around, stretching, sweep

KEPT = Path(__file__).parents[1] / "_build/runs"
SEEDS, CHOOSING = (0, 1, 2, 3, 4), (100, 101, 102)


def main() -> None:
    """Read the command line, train, and store."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    names = ["TRAINED", "FACTOR", "BASE", "KEPT_FROM", "LARGER", "WORDS", "D_MODEL", "N_HEADS", "STEPS"]
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
    tried = stretching.choose(first["RoPE"].rate, CHOOSING)
    numbers = {"settings": settings, "chosen with other models": tried, "sweeps": {"trained on 32": first}}
    results.store("stretching", numbers, command="python benchmarks/stretching.py", seeds=chosen.seeds)


if __name__ == "__main__":
    main()
