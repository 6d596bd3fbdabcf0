"""A message over several windows: the first token is a label, and tokens far from it must name it.

What a token *can* know is the reach of the windows, a power of the mask. Whether training finds it is
another question, and depends on who is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.experiments.fitting import fit
from attnbook.experiments.runs import Run
from attnlab import masks
from attnlab.multihead import MultiHeadAttention

NOT_ASKED = -100
"""The number that `F.cross_entropy` passes over."""


class Windowed(nn.Module):
    """Layers of attention under one mask, each followed by a feed-forward block; both add to their input.

    Args:
        mask: boolean (n, n), True = may attend; the same in each layer.
        n_layers: how many layers.
        n_words: how many words, numbered from 1. Word 0 is padding, and nobody attends to it.
        n_classes: how many answers a token can give.
        d: width.

    >>> model = Windowed(masks.window(5, 1, 0), 2, n_words=9, n_classes=3)
    >>> model(torch.ones(4, 5, dtype=torch.long)).shape
    torch.Size([4, 5, 3])
    """

    def __init__(self, mask: Tensor, n_layers: int, n_words: int, n_classes: int, d: int = 32) -> None:
        super().__init__()
        self.register_buffer("mask", mask)
        self.embedding = nn.Embedding(n_words + 1, d)
        self.see = nn.ModuleList(MultiHeadAttention(d, 4, rotary=True) for _ in range(n_layers))
        self.think = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))
            for _ in range(n_layers)
        )
        self.out = nn.Linear(d, n_classes)

    def forward(self, words: Tensor) -> Tensor:
        """Return the scores (batch, n, n_classes) of words (batch, n)."""
        n = words.shape[-1]
        near, real, x = self.mask[:n, :n], words != 0, self.embedding(words)  # x: (batch, n, d)
        for see, think in zip(self.see, self.think, strict=True):
            x = x + see(F.layer_norm(x, x.shape[-1:]), mask=near, key_mask=real)
            x = x + think(x)
        return self.out(x)


@dataclass(frozen=True)
class Relay:
    """Train a stack of windows to carry a label as far as it can, and say how often it arrives.

    A candidate for `sweep`. The first token is one of `labels` labels, the others are noise. The loss counts
    the tokens in `asked`. The curve is the share of right answers at the edge, the farthest token that can
    know, `window · n_layers` places on; it ends when three points in a row are above 0.99.

    Args:
        n_layers: layers, each with its own weights.
        asked: places of the tokens that are asked while training; the label's own place is 0.
        window: how far back one layer looks.
        labels: how many labels.
        steps: updates at most, of 32 messages each.
        every: steps between two points of the curve.

    >>> run = Relay(1, asked=[2], window=2, labels=2, steps=200)(0.01, seed=0)
    >>> run.steps_to(0.95, "high") is not None
    True
    """

    told: ClassVar = {
        "optimizer": "AdamW",
        "examples": "messages",
        "counts": "labels that arrived at the farthest token in reach",
    }

    n_layers: int
    asked: Sequence[int]
    window: int = 4
    labels: int = 8
    steps: int = 1000
    every: int = 10
    batch: int = 32
    d_model: int = 32

    @property
    def edge(self) -> int:
        """The farthest place that can know the label."""
        return self.window * self.n_layers

    def __call__(self, rate: float, seed: int) -> Run:
        """Train once; where tokens beyond the edge were asked, say how the best of them did."""
        model, curve = self.train(rate, seed)
        beyond = self.right(model, self.exam(seed))[self.edge + 1 :]
        return Run(curve, every=self.every, extras={"beyond": max(beyond)} if beyond else {})

    def train(self, rate: float, seed: int) -> tuple[Windowed, list[float]]:
        """Return the trained model, and its curve."""
        torch.manual_seed(seed)
        mask = masks.window(self.n_tokens, self.window, 0)
        model = Windowed(mask, self.n_layers, 2 * self.labels, self.labels, self.d_model)
        draw, exam = torch.Generator().manual_seed(seed), self.exam(seed)

        def loss() -> Tensor:
            words = self.messages(self.batch, draw)
            wanted = torch.full_like(words, NOT_ASKED)
            wanted[:, list(self.asked)] = words[:, :1] - 1
            return F.cross_entropy(model(words).flatten(0, 1), wanted.flatten())

        def watch() -> float:
            return self.right(model, exam)[self.edge]

        how = {"rate": rate, "steps": self.steps, "every": self.every}
        return model, fit(model, loss, watch, **how, decay=False, until=0.99)

    @property
    def n_tokens(self) -> int:
        """The length of a message. Nobody beyond the edge and the last token asked is needed."""
        return max(self.edge, *self.asked) + 1

    def messages(self, count: int, draw: torch.Generator) -> Tensor:
        """Draw messages (count, n_tokens): words 1 to `labels` are labels, as many after them noise."""
        words = torch.randint(self.labels + 1, 2 * self.labels + 1, (count, self.n_tokens), generator=draw)
        words[:, 0] = torch.randint(1, self.labels + 1, (count,), generator=draw)
        return words

    def exam(self, seed: int) -> Tensor:
        """Draw 300 messages that no training sees."""
        return self.messages(300, torch.Generator().manual_seed(1000 + seed))

    @staticmethod
    def right(model: nn.Module, words: Tensor) -> list[float]:
        """Return the share of messages whose label is named, for each distance from it."""
        with torch.no_grad():
            guess = model(words).argmax(-1)  # (count, n_tokens)
        return (guess == words[:, :1] - 1).float().mean(0).tolist()
