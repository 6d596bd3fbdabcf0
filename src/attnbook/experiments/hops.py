"""Follow a ring of names for several hops: each needs the one before it, so layers have to work in turn.

Each token of a ring holds a name and the name it points to; they are a set, in no order. A question holds a
name and a number of hops, and asks where one arrives. One hop is one lookup. The second one asks with what
the first has found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.experiments.depth import Bare
from attnbook.experiments.fitting import fit
from attnbook.experiments.runs import Run
from attnlab.transformer import Encoder


def rings(count: int, names: int, draw: torch.Generator) -> Tensor:
    """Draw rings (count, names): each name points to another one, and all of them lie on one ring.

    >>> ring = rings(1, 4, torch.Generator().manual_seed(0))
    >>> [int(follow(ring, torch.tensor([[2]]), torch.tensor([[hops]]))) for hops in range(5)]
    [2, 3, 0, 1, 2]
    """
    order = torch.rand(count, names, generator=draw).argsort(-1)
    return torch.empty_like(order).scatter_(1, order, order.roll(-1, 1))


def follow(ring: Tensor, start: Tensor, hops: Tensor) -> Tensor:
    """Say where one arrives: from the names `start` (count, n), after so many `hops` (count, n)."""
    for done in range(int(hops.max())):
        start = torch.where(hops > done, ring.gather(1, start), start)
    return start


class Follower(nn.Module):
    """Layers of attention over the tokens of a ring and the questions about it; nobody attends to a question.

    Args:
        names: how many names.
        farthest: the largest number of hops.
        d_model: width.
        n_heads: heads of each layer.
        n_layers: layers.
        part: what is left out of every layer: "residual", or nothing.

    >>> model, two = Follower(5, 3, 16, 2, 1), torch.ones(1, 2, dtype=torch.long)
    >>> model(torch.tensor([[1, 2, 3, 4, 0]]), two, two).shape
    torch.Size([1, 2, 5])
    """

    def __init__(
        self,
        names: int,
        farthest: int,
        d_model: int,
        n_heads: int,
        n_layers: int,
        part: Literal["", "residual"] = "",
    ) -> None:
        super().__init__()
        self.name = nn.Embedding(names, d_model)
        self.points_to = nn.Embedding(names, d_model)
        self.hops = nn.Embedding(farthest + 1, d_model)
        self.stack = Encoder(d_model, n_heads, n_layers)
        self.out = nn.Linear(d_model, names)
        if part:
            for layer in self.stack.layers:
                layer.__class__ = Bare  # the same weights, another way through them

    def forward(self, ring: Tensor, start: Tensor, hops: Tensor) -> Tensor:
        """Return the scores (batch, n, names) of the answers to n questions on each ring (batch, names)."""
        told = self.name.weight + self.points_to(ring)  # (batch, names, d_model)
        asked = self.name(start) + self.hops(hops)  # (batch, n, d_model)
        x, names = torch.cat((told, asked), 1), ring.shape[1]
        heard = torch.arange(x.shape[1]) < names
        return self.out(self.stack(x, key_mask=heard.expand(len(x), -1))[:, names:])


@dataclass(frozen=True)
class Hops:
    """Train a stack on questions of one to `farthest` hops, mixed; a candidate of `sweep`.

    The curve is the share of right answers, each number of hops counting alike, on rings that no training
    sees. The extras have it for each number of hops at the end. Who guesses among the names that were not
    asked about gets one in `names` − 1.

    Args:
        n_layers: layers.
        d_model: width.
        names: names on a ring.
        farthest: the largest number of hops, smaller than `names`, so that nobody arrives where he began.
        steps: of AdamW, each with new rings and a question about each name.
        every: steps between two points of the curve.
        batch: rings in a step.
        d_head: width of a head.
        part: what is left out of every layer: "residual", or nothing.

    >>> run = Hops(1, d_model=16, names=3, farthest=1, steps=150, every=50)(0.01, seed=0)
    >>> run.extras["1 hop"] > 0.95
    True
    """

    told: ClassVar = {
        "optimizer": "AdamW on a cosine",
        "examples": "rings",
        "counts": "answers right, all numbers of hops alike",
    }

    n_layers: int
    d_model: int = 64
    names: int = 10
    farthest: int = 4
    steps: int = 1000
    every: int = 100
    batch: int = 32
    d_head: int = 16
    part: Literal["", "residual"] = ""

    def __call__(self, rate: float, seed: int) -> Run:
        """Train once."""
        model, curve = self.train(rate, seed)
        names = [f"{hops} hop" + "s" * (hops > 1) for hops in range(1, self.farthest + 1)]
        return Run(curve, self.every, extras=dict(zip(names, self.right(model, seed), strict=True)))

    def train(self, rate: float, seed: int) -> tuple[Follower, list[float]]:
        """Return the trained model and its curve."""
        torch.manual_seed(seed)
        sizes = (self.names, self.farthest, self.d_model, self.d_model // self.d_head, self.n_layers)
        model = Follower(*sizes, self.part)
        draw, shape = torch.Generator().manual_seed(seed), (self.batch, self.names)

        def loss() -> Tensor:
            ring, start = rings(*shape, draw), torch.arange(self.names).expand(shape)
            hops = torch.randint(1, self.farthest + 1, shape, generator=draw)
            return F.cross_entropy(
                model(ring, start, hops).flatten(0, 1), follow(ring, start, hops).flatten()
            )

        def watch() -> float:
            return sum(self.right(model, seed)) / self.farthest

        return model, fit(model, loss, watch, rate=rate, steps=self.steps, every=self.every)

    @torch.no_grad()
    def right(self, model: nn.Module, seed: int) -> list[float]:
        """Return the share of right answers after one hop, two, and so on, on 300 rings of an exam."""
        ring = rings(300, self.names, torch.Generator().manual_seed(1000 + seed))
        start, found = torch.arange(self.names).expand_as(ring), []
        for count in range(1, self.farthest + 1):
            hops = torch.full_like(start, count)
            guess = model(ring, start, hops).argmax(-1)  # (300, names)
            found.append(float((guess == follow(ring, start, hops)).float().mean()))
        return found
