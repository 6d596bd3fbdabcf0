"""Hybrids: stacks in which some layers attend by softmax and others keep a state, and what they recall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.experiments.fitting import fit
from attnbook.experiments.recall import texts
from attnbook.experiments.runs import Run
from attnlab import MultiHeadAttention
from attnlab.linear import GatedDeltaNet


class Stack(nn.Module):
    """Embeddings, layers that mix tokens, each with a network behind it, and a readout.

    A pair is one token, the vector of its key plus that of its value; a question has a vector in the place of
    a value.

    Args:
        layers: one letter each, from the first: "s" for softmax, "d" for a gated delta rule.
        keys: how many keys there are.
        values: how many values there are.
        d_model: width of tokens.
        n_heads: heads of every layer.
        d_head: width of a query and a key; d_model / n_heads is that of a value.

    >>> stack = Stack("ds", keys=5, values=4, d_model=8, n_heads=2, d_head=3)
    >>> stack(torch.zeros(1, 6, dtype=torch.long), torch.zeros(1, 4, dtype=torch.long)).shape
    torch.Size([1, 2, 4])
    """

    def __init__(
        self, layers: str, *, keys: int, values: int, d_model: int = 32, n_heads: int = 2, d_head: int = 16
    ) -> None:
        super().__init__()
        makers = {
            "s": lambda: MultiHeadAttention(d_model, n_heads, bias=False),
            "d": lambda: GatedDeltaNet(
                d_model, n_heads, d_head=d_head, d_v=d_model // n_heads, kernel_size=1
            ),
        }
        self.key, self.value = nn.Embedding(keys, d_model), nn.Embedding(values + 1, d_model)
        self.mixers = nn.ModuleList([makers[layer]() for layer in layers])
        for mixer in self.mixers:
            if isinstance(mixer, GatedDeltaNet):
                nn.init.zeros_(mixer.log_a)  # all begin with long memories, for nothing is to be forgotten
        self.networks = nn.ModuleList(
            nn.Sequential(nn.RMSNorm(d_model), nn.Linear(d_model, 2 * d_model), nn.GELU(),
                          nn.Linear(2 * d_model, d_model))
            for _ in layers
        )  # fmt: skip
        self.norms = nn.ModuleList(nn.RMSNorm(d_model) for _ in layers)
        self.read = nn.Sequential(nn.RMSNorm(d_model), nn.Linear(d_model, values))

    def forward(self, keys: Tensor, values: Tensor) -> Tensor:
        """Read pairs, then questions.

        Args:
            keys: (batch, n), those of the pairs and then those that are asked for.
            values: (batch, pairs), with the pairs alone.

        Returns:
            Logits (batch, n - pairs, values), one for each question.
        """
        asked = keys.shape[1] - values.shape[1]
        x = self.key(keys) + self.value(F.pad(values, (0, asked), value=self.value.num_embeddings - 1))
        for mix, norm, network in zip(self.mixers, self.norms, self.networks, strict=True):
            how = {"is_causal": True} if isinstance(mix, MultiHeadAttention) else {}
            x = x + mix(norm(x), **how)
            x = x + network(x)
        return self.read(x[:, -asked:])


@dataclass(frozen=True)
class Hybrid:
    """Train a stack to recall values by their keys; a candidate of `sweep`.

    Curve and value are the share of right answers, in texts that it does not learn from.

    Args:
        layers: as in `Stack`.
        pairs: pairs of a text, all with different keys.
        asked: how many of them are asked for.
        keys: how many keys there are.
        values: how many values there are.
        d_model: width of tokens.
        d_head: width of a key, in each of two heads.
        steps: updates, at most: a stack that knows all of three tests in a row is done.
        batch: texts of one update, new ones each time.

    >>> small = {"pairs": 2, "asked": 1, "keys": 4, "values": 2, "d_model": 4, "d_head": 2}
    >>> run = Hybrid("ds", **small, steps=20, batch=2)(0.01, 0)
    >>> 0 <= run.value <= 1
    True
    """

    told: ClassVar = {"optimizer": "AdamW", "examples": "texts", "counts": "values recalled"}

    layers: str
    pairs: int = 32
    asked: int = 16
    keys: int = 64
    values: int = 32
    d_model: int = 32
    d_head: int = 16
    steps: int = 1000
    batch: int = 16

    def __call__(self, rate: float, seed: int) -> Run:
        """Train once."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = Stack(self.layers, keys=self.keys, values=self.values, d_model=self.d_model,
                          d_head=self.d_head)  # fmt: skip

        def drawn(count: int, draw: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
            how = {"asked": self.asked, "keys": self.keys, "values": self.values}
            which, numbers, at = texts(count, self.pairs, draw=draw, **how)
            numbers = numbers[:, 0]
            return torch.cat((which, which.gather(1, at)), 1), numbers, numbers.gather(1, at)

        draw = torch.Generator().manual_seed(seed)

        def loss() -> Tensor:
            keys, values, wanted = drawn(self.batch, draw)
            return F.cross_entropy(model(keys, values).flatten(0, 1), wanted.flatten())

        def right(count: int) -> float:
            keys, values, wanted = drawn(count, torch.Generator().manual_seed(1000))
            return (model(keys, values).argmax(-1) == wanted).float().mean().item()

        how = {"rate": rate, "steps": self.steps, "every": max(self.steps // 40, 1)}
        curve = fit(model, loss, lambda: right(50), clip=1.0, until=0.999, **how)
        with torch.no_grad():
            return Run(curve, every=how["every"], value=right(400))
