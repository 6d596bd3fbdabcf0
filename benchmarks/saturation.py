"""What a saturated start does to training: the retrieval task, with and without the factor 1/√d.

    python benchmarks/saturation.py

Writes results/saturation-training.json. Two layers try every rate: one divides its scores by √d, one does
not. Then layers that differ from them in one thing each are trained at the same two rates: in the spread of
their first scores, or in what passes back through the softmax. Three are read before training and after it:
how many rows of weights are saturated, and how many have most weight on the key that was asked for.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import torch
from torch import Tensor

from attnbook import results
from attnbook.experiments import Comparison, Retrieval, around, retrieval, sweep

CACHE = Path(__file__).parents[1] / ".cache/runs"
SEEDS = range(10)
D = 64
"""The width of queries and keys."""
MIDDLE = 0.005
"""Of the grid of rates."""
RATES = (0.0025, 0.005)
"""At these all layers are compared."""
HIGH = 0.02
"""A rate at which the layer without the factor ends badly, and is read again."""
READ = ("scaled", "not scaled", "not scaled, let through")
"""The layers that are read."""
TASK = {"d_k": D, "d_model": 128, "words": 64, "steps": 400}
CLOSED = 0.01
"""A row whose slopes p (1 - p) are all below this is saturated: of eight keys, one is near 1."""


class LetThrough(Retrieval):
    """A layer that computes with its weights and learns as if its scores had been divided by √d again."""

    def weigh(self, scores: Tensor) -> Tensor:
        """Give the weights of the scores, and the gradient of a softmax that is √d times as warm."""
        weights, warm = scores.softmax(2), (scores / self.d_k**0.5).softmax(2)
        return warm + (weights - warm).detach()


def layers() -> dict[str, Retrieval]:
    """Give all layers by name: whether they divide, how they begin, and what passes back."""
    root, linear = D**0.25, 3**-0.5  # the entries of a new nn.Linear have variance 1/(3 d_model)
    return {
        "scaled": Retrieval(**TASK),
        "not scaled": Retrieval(scale=1.0, **TASK),
        "scaled, saturated": Retrieval(start=root, **TASK),
        "not scaled, unsaturated": Retrieval(scale=1.0, start=1 / root, **TASK),
        "scaled, saturated, let through": LetThrough(start=root, **TASK),
        "not scaled, let through": LetThrough(scale=1.0, **TASK),
        "scaled, as nn.Linear": Retrieval(start=linear, **TASK),
        "not scaled, as nn.Linear": Retrieval(scale=1.0, start=linear, **TASK),
    }


def main() -> None:
    """Train and store."""
    torch.set_num_threads(1)
    results.begin()
    every = layers()
    found = sweep(
        {name: every[name] for name in ("scaled", "not scaled")},
        rates=around(MIDDLE),
        seeds=SEEDS,
        level=0.9,
        tie=0.01,
        widen=6,
        measure="answered right",
        cache=CACHE / "saturation-training-64.json",
        progress=False,
    )
    print(found.as_table(), flush=True)
    trained = {name: {str(rate): steps(layer, rate) for rate in RATES} for name, layer in every.items()}
    print(trained, flush=True)
    out = {"sweeps": {f"width {D}": found}, "steps": trained, "read": reading(found)}
    print(out["read"])
    results.store("saturation-training", out, command="python benchmarks/saturation.py", seeds=SEEDS)


def steps(layer: Retrieval, rate: float) -> list[int | None]:
    """Train at one rate; return for each seed the steps until nine of ten questions are answered right."""
    return [run.steps_to(0.9, "high") for run in layer.together([(rate, seed) for seed in SEEDS])]


def reading(found: Comparison) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Read layers before training, after it at the best rate, and after it at a high one, for each seed."""
    out = {}
    for name in READ:
        layer = layers()[name]
        still = dataclasses.replace(layer, steps=layer.every).train([(0.0, seed) for seed in SEEDS])[1:]
        out[name] = {"before": read(layer, *still)}
        rates = {f"after, at {HIGH:g}": HIGH} | ({"after": found[name].rate} if name in found.rows else {})
        for when, rate in rates.items():
            out[name][when] = read(layer, *layer.train([(rate, seed) for seed in SEEDS])[1:])
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
