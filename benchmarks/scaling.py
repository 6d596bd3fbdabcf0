"""What divides the scores, and with what scores training starts: each pair with learning rates of its own.

    python benchmarks/scaling.py

Writes results/scaling-divisors.json. A divisor changes the scores at the start, and how far a step of
training moves them. So each divisor (√d, d, nothing) is tried with each of the three starts that they give
by themselves: first scores with a standard deviation of 1, of 1/√d and of √d. For this W_q and W_k are
multiplied before training, and nothing else differs. Beside them stand T5's own start, and as a control of
"certain and wrong" a head that begins certain and right. As a check of the task, the divisors once more on
wide tokens. Finished runs stay in .cache.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from attnbook import results
from attnbook.experiments import Comparison, Retrieval, around, sweep

CACHE = Path(__file__).parents[1] / ".cache/runs"
D, WIDE, SEEDS, STEPS = 64, 256, range(10), 300
SCALES = {"√d": D**-0.5, "d": 1 / D, "nothing": 1.0}
HOW = {"d_k": D, "optimizer": "Adam", "steps": STEPS, "every": 1}
FIRST = {"1/√d": D**-0.5, "1": 1.0, "√d": D**0.5}
"""The standard deviation of the first scores, as a name and as a number."""


class LikeT5(Retrieval):
    """A head of which W_q alone is divided by √d, before training."""

    def begin(self, draw: torch.Generator) -> tuple[Tensor, list[Tensor]]:
        """Draw what the other heads draw."""
        vectors, (w_q, *others) = super().begin(draw)
        return vectors, [w_q / self.d_k**0.5, *others]


class Certain(Retrieval):
    """A head with W_k = W_q before training: the name that is asked for scores highest, as a rule."""

    def begin(self, draw: torch.Generator) -> tuple[Tensor, list[Tensor]]:
        """Draw what the other heads draw, and let W_k go."""
        vectors, (w_q, _, *others) = super().begin(draw)
        return vectors, [w_q, w_q.clone(), *others]


def heads() -> dict[str, Retrieval]:
    """Return nine heads: each divisor with each start."""
    return {
        f"by {divisor}, first scores {name}": Retrieval(
            scale=scale, start=(first / (scale * D**0.5)) ** 0.5, **HOW
        )
        for divisor, scale in SCALES.items()
        for name, first in FIRST.items()
    }


def train(name: str, candidates: dict[str, Retrieval]) -> Comparison:
    """Sweep the rate of each; a rate at which one seed in ten gets lost is not the best, so all try all."""
    return sweep(
        candidates,
        rates=around(0.01, factor=2**0.5, n=5),
        seeds=SEEDS,
        level=0.9,
        tie=0.001,
        widen=8,
        measure="answered right",
        cache=CACHE / f"scaling-{name}.json",
    )


def main() -> None:
    """Train and store."""
    torch.set_num_threads(1)
    results.begin()
    own = {name: head for name, head in heads().items() if head.start == 1}
    beside = {
        "like T5": LikeT5(scale=SCALES["nothing"], **HOW),
        "certain and right": Certain(scale=SCALES["√d"], start=FIRST["√d"] ** 0.5, **HOW),
    }
    sweeps = {
        "starts": train("starts", heads()),
        "beside": train("beside", beside),
        "wide tokens": train("wide", {name: replace(head, d_model=WIDE) for name, head in own.items()}),
    }
    for found in sweeps.values():
        print(found.as_table(), flush=True)
    results.store("scaling-divisors", {"sweeps": sweeps}, command="python benchmarks/scaling.py", seeds=SEEDS)


if __name__ == "__main__":
    main()
