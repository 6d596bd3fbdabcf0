"""Controls of saturation.py: the gradient let through from a start without saturation; more rates.

    python benchmarks/saturation_control.py

Writes results/saturation-control.json: steps until nine of ten questions are answered right. The gradient is
let through in the layer that divides its scores by √d and in the one that does not, at the two rates of
saturation.py. The layer that divides is trained from its saturated start at the other rates of its sweep.
At a high rate, from a start where no row is saturated, the layer that does not divide stands beside one that
does, and whose W_q and W_k take larger steps: as many times larger as they are themselves. Under Adam these
two are one layer. There the gradient is let through, too, and both layers are read after training: how many
rows of weights are saturated, and how many have most weight on the key that was asked for.
"""

from __future__ import annotations

import torch
from saturation import HIGH, MIDDLE, RATES, SEEDS, TASK, D, LetThrough, read, steps

from attnbook import results
from attnbook.experiments import Retrieval, around


def main() -> None:
    """Train and store."""
    torch.set_num_threads(1)
    results.begin()
    short = TASK | {"steps": 100}
    root = D**0.25
    others = [rate for rate in around(MIDDLE) if rate not in RATES]
    plain = Retrieval(scale=1.0, start=1 / root, **TASK)
    through = LetThrough(scale=1.0, start=1 / root, **TASK)
    candidates = {
        "scaled, let through": (LetThrough(**short), RATES),
        "not scaled, unsaturated, let through": (through, (*RATES, HIGH)),
        "scaled, saturated": (Retrieval(start=root, **TASK), others),
        "not scaled, unsaturated": (plain, [HIGH]),
        "scaled, larger steps": (Retrieval(faster=root, **TASK), [HIGH]),
    }
    found = {
        name: {str(rate): steps(layer, rate) for rate in rates} for name, (layer, rates) in candidates.items()
    }
    print(found, flush=True)
    end = {
        name: {f"after, at {HIGH:g}": read(layer, *layer.train([(HIGH, seed) for seed in SEEDS])[1:])}
        for name, layer in (
            ("not scaled, unsaturated", plain),
            ("not scaled, unsaturated, let through", through),
        )
    }
    print(end)
    command = "python benchmarks/saturation_control.py"
    results.store("saturation-control", {"steps": found, "read": end}, command=command, seeds=SEEDS)


if __name__ == "__main__":
    main()
