"""Letting the gradient through where no row is saturated: the control of saturation.py from the other start.

    python benchmarks/saturation_control.py

Writes results/saturation-control.json: steps until nine of ten questions are answered right, for the layer
that divides its scores by √d and for the one that does not, at the two rates of saturation.py.
"""

from __future__ import annotations

import torch
from saturation import RATES, SEEDS, TASK, D, LetThrough, steps

from attnbook import results


def main() -> None:
    """Train and store."""
    torch.set_num_threads(1)
    results.begin()
    short = TASK | {"steps": 100}
    layers = {
        "scaled, let through": LetThrough(**short),
        "not scaled, unsaturated, let through": LetThrough(scale=1.0, start=D**-0.25, **short),
    }
    found = {name: {str(rate): steps(layer, rate) for rate in RATES} for name, layer in layers.items()}
    print(found)
    command = "python benchmarks/saturation_control.py"
    results.store("saturation-control", {"steps": found}, command=command, seeds=SEEDS)


if __name__ == "__main__":
    main()
