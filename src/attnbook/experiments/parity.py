"""Parity: after every bit, whether the ones so far are even or odd; what a state must turn its sign for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.experiments.days import Layer
from attnbook.experiments.fitting import fit
from attnbook.experiments.runs import Run
from attnlab.linear import GatedDeltaNet

LAYERS: Mapping[str, float | None] = {"softmax": None, "gate": None, "delta, β ≤ 1": 1.0, "delta, β ≤ 2": 2.0}
"""What is tried: a form of `days.Layer`, or a `GatedDeltaNet` with this largest β. Nothing else differs in
the last two."""


def texts(count: int, n: int, *, draw: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw texts of n bits behind a mark that they begin.

    Returns:
        Tokens (count, n + 1), the mark being 2, and after each token whether the ones so far are odd.

    >>> tokens, odd = texts(1, 4, draw=torch.Generator().manual_seed(0))
    >>> tokens.tolist(), odd.tolist()
    ([[2, 0, 1, 1, 0]], [[0, 0, 1, 0, 0]])
    """
    bits = torch.randint(2, (count, n), generator=draw)
    return F.pad(bits, (1, 0), value=2), F.pad(bits.cumsum(-1) % 2, (1, 0))


def layer(name: str, d_model: int) -> nn.Module:
    """Return one of `LAYERS`; it maps (batch, n, d_model) to the same shape, causally, without positions."""
    largest = LAYERS[name]
    if largest is None:
        return Layer(name, d_model)
    return GatedDeltaNet(d_model, n_heads=1, kernel_size=1, max_beta=largest)


@dataclass(frozen=True)
class Parity:
    """Train one layer between embeddings and a linear readout to keep parity; a candidate of `sweep`.

    The curve is the share of right answers in texts as long as those it learns from, the value that in texts
    of `longer` bits, and the extra that after the last quarter of them.

    Args:
        name: one of `LAYERS`.
        n: bits of a text.
        longer: bits of the texts at the end.
        d_model: width of tokens, keys and values.
        steps: updates.
        batch: texts of one update, new ones each time.

    >>> sorted(Parity("gate", n=3, longer=8, d_model=4, steps=20, batch=2)(0.1, seed=0).extras)
    ['at the end']
    """

    told: ClassVar = {"optimizer": "AdamW", "examples": "texts", "counts": "right answers, at every bit"}

    name: str
    n: int = 32
    longer: int = 256
    d_model: int = 16
    steps: int = 500
    batch: int = 32

    def __call__(self, rate: float, seed: int) -> Run:
        """Train once."""
        draw = torch.Generator().manual_seed(seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = nn.Sequential(
                nn.Embedding(3, self.d_model), layer(self.name, self.d_model), nn.Linear(self.d_model, 2)
            )

        def loss() -> Tensor:
            tokens, odd = texts(self.batch, self.n, draw=draw)
            return F.cross_entropy(model(tokens).flatten(0, 1), odd.flatten())

        def right(count: int, n: int) -> Tensor:
            tokens, odd = texts(count, n, draw=torch.Generator().manual_seed(1000 + n))
            return (model(tokens).argmax(-1) == odd)[:, 1:].float().mean(0)

        every = 25
        curve = fit(
            model, loss, lambda: right(50, self.n).mean().item(), rate=rate, steps=self.steps, every=every
        )
        with torch.no_grad():
            found = right(200, self.longer)
        last = found[-self.longer // 4 :].mean().item()
        return Run(curve, every=every, value=found.mean().item(), extras={"at the end": last})
