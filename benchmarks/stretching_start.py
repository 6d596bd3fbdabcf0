"""A control of stretching.py: the same models from another initialisation.

    python benchmarks/stretching_start.py

Writes results/stretching-start.json: the task, the steps and the rate of stretching.py, with the matrices of
attention begun as Xavier does, by the sum of their widths. Nothing is chosen anew.
"""

from __future__ import annotations

import torch
from torch import nn

from attnbook import results
from attnbook.experiments import stretching

SEEDS = range(5)
WAYS = ("as it is", "interpolation", "larger base, chosen", "slow pairs")


def read(rate: float, seed: int) -> dict[str, float]:
    """Train one model, and return its right words in per cent by way and length."""
    torch.manual_seed(seed)
    model = stretching.Repeater()
    for layer in model.layers:
        for matrix in layer.parameters():
            if matrix.dim() == 2:
                nn.init.xavier_uniform_(matrix)
    stretching.learn(model, stretching.TRAINED, rate, stretching.STEPS)
    long = stretching.FACTOR * stretching.TRAINED
    lengths = (stretching.TRAINED, long)
    return {f"{way}, {n}": stretching.right(model.stretch(way), n) for way in WAYS for n in lengths}


def main() -> None:
    """Train, and store."""
    torch.set_num_threads(1)
    results.begin()
    rate = results.sweep("stretching", "trained on 32")["RoPE"].rate
    right = [read(rate, seed) for seed in SEEDS]
    for one in right:
        print({name: round(share) for name, share in one.items()})
    command = "python benchmarks/stretching_start.py"
    results.store("stretching-start", {"rate": rate, "right": right}, command=command, seeds=SEEDS)


if __name__ == "__main__":
    main()
