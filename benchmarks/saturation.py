"""What the factor 1/√d does to training: with and without it, from either start, by width.

    python benchmarks/saturation.py

Writes results/saturation-training.json. Four layers at each width: with the factor or without it, begun with
the first scores of the one or of the other. Each has learning rates of its own. At the width of 64 all seeds
try every rate, and the layers are read before training and after it: how many rows of weights are saturated,
and how many have most weight on the key that was asked for.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import torch
from torch import Tensor

from attnbook import results
from attnbook.experiments import Comparison, Retrieval, around, retrieval, sweep

CACHE = Path(__file__).parents[1] / ".cache/runs"
SEEDS, SCOUTS = range(10), 3
MIDDLES = {16: 0.01, 64: 0.005, 256: 0.0025}
"""Width of queries and keys -> the middle of the grid of rates."""
READ = 64
"""At this width all seeds try every rate, and the layers are read."""
TASK = {"d_model": 128, "words": 64, "steps": 400}
CLOSED = 0.01
"""A row whose slopes p (1 - p) are all below this is saturated: of eight keys, one is near 1."""


def candidates(d: int) -> dict[str, Retrieval]:
    """Give the four layers of a width by what the chapter calls them."""
    plain, how, root = {"scale": 1.0}, {"d_k": d, **TASK}, d**0.25
    return {
        "scaled": Retrieval(**how),
        "not scaled": Retrieval(**plain, **how),
        "not scaled, first scores as scaled": Retrieval(start=1 / root, **plain, **how),
        "scaled, first scores as not scaled": Retrieval(start=root, **how),
    }


def main() -> None:
    """Train and store."""
    torch.set_num_threads(1)
    results.begin()
    sweeps = {}
    for d, middle in MIDDLES.items():
        (name, first), (other, second), *controls = candidates(d).items()
        sweeps[f"width {d}"] = found = sweep(
            {name: first, other: second},
            controls=dict(controls),
            rates=around(middle),
            seeds=SEEDS,
            scout=None if d == READ else SCOUTS,
            level=0.9,
            tie=0.01,
            widen=6,
            measure="answered right",
            cache=CACHE / f"saturation-training-{d}.json",
            progress=False,
        )
        print(d, found.as_table(), sep="\n", flush=True)
    found = {"sweeps": sweeps, "read": reading(sweeps[f"width {READ}"])}
    print(found["read"])
    results.store("saturation-training", found, command="python benchmarks/saturation.py", seeds=SEEDS)


def reading(found: Comparison) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Read every layer before training and after it, one number for each seed."""
    out = {}
    for name, layer in candidates(READ).items():
        moved = layer.train([(found[name].rate, seed) for seed in SEEDS])[1:]
        still = dataclasses.replace(layer, steps=layer.every).train([(0.0, seed) for seed in SEEDS])[1:]
        out[name] = {"before": read(layer, *still), "after": read(layer, *moved)}
    return out


@torch.no_grad()
def read(layer: Retrieval, vectors: Tensor, matrices: list[Tensor]) -> dict[str, list[float]]:
    """Ask two thousand questions; return the shares of saturated rows and of rows led by the right key."""
    w_q, w_k, *_ = matrices
    draw = torch.Generator().manual_seed(1000)
    some = retrieval.ask(draw, batch=2000, tokens=layer.tokens, words=layer.words)
    names, contents = vectors[:, 0], vectors[:, 1]  # (models, words, d_model)
    x = (names[:, some.names] + contents[:, some.contents]) / 2**0.5  # (models, 2000, tokens, d_model)
    q = names[:, some.asked] @ w_q[:, None]  # (models, 2000, 1, d_k)
    factor = layer.d_k**-0.5 if layer.scale is None else layer.scale
    p = (factor * q @ (x @ w_k[:, None]).transpose(-2, -1)).softmax(-1)[..., 0, :]  # (models, 2000, tokens)
    closed = (p * (1 - p)).amax(-1) < CLOSED
    right = p.argmax(-1) == 0  # the first token is asked for
    return {"saturated": closed.float().mean(-1).tolist(), "right key": right.float().mean(-1).tolist()}


if __name__ == "__main__":
    main()
