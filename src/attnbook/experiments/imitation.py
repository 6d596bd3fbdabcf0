"""An indexer that learns to imitate dense attention, on the task of recalling one value of many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.experiments.descent import by_seed, descend
from attnbook.experiments.recall import question
from attnbook.experiments.runs import Run
from attnlab import attention
from attnlab.selection import imitation_loss, index_scores, selected_attention, top_keys

SHARP = 16.0
"""What the scores of dense attention are multiplied with, as in the chapter on sparse attention."""


def texts(count: int, n: int, *, d: int = 32, seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Draw texts as an indexer sees them: each token its key and its value side by side, and a last number.

    The last number is 1 in the token that asks, which has no value.

    Returns:
        The tokens that ask (count, 1, d + 9), those of the text (count, n, d + 9), the keys (count, n, d),
        the values (count, n, 8), and the right ones (count, 1), as numbers.

    >>> asks, text, keys, values, wanted = texts(3, 16, seed=0)
    >>> asks.shape, text.shape, wanted.shape
    (torch.Size([3, 1, 41]), torch.Size([3, 16, 41]), torch.Size([3, 1]))
    """
    q, k, v, wanted = question(count, n, d=d, seed=seed)
    q, k, v = q.float(), k.float(), v.float()
    asks = F.pad(F.pad(q, (0, v.shape[-1])), (0, 1), value=1.0)
    return asks, F.pad(torch.cat((k, v), -1), (0, 1)), k, v, wanted


@dataclass(frozen=True)
class Imitation:
    """Train an indexer to choose what dense attention weighs; a candidate of `sweep`.

    The curve is the share of values recalled in texts that are new at each step, by attention over the `top`
    tokens that the indexer chose. A guess is right in one text of eight.

    Args:
        width: numbers of each small head.
        heads: small heads.
        top: how many tokens are chosen.
        tokens: tokens of a text.
        d: width of the keys.
        steps: updates; at a rate of 0 the indexer stays as it was drawn.
        batch: texts of one update.

    >>> Imitation(width=16, steps=100).together([(0.03, 0)])[0].value > 0.9
    True
    """

    told: ClassVar = {"optimizer": "Adam", "examples": "texts", "counts": "values recalled"}

    width: int = 8
    heads: int = 1
    top: int = 8
    tokens: int = 64
    d: int = 32
    steps: int = 200
    batch: int = 32

    def together(self, pairs: Sequence[tuple[float, int]]) -> list[Run]:
        """Train one indexer for each (rate, seed): those of one seed side by side, on the same texts."""
        return by_seed(self._train, pairs)

    def _train(self, rates: Sequence[float], seed: int) -> list[Run]:
        draw, count, d = torch.Generator().manual_seed(seed), len(rates), self.d + 9

        def matrix(rows: int, columns: int) -> Tensor:
            return (torch.randn(rows, columns, generator=draw) / rows**0.5).repeat(count, 1, 1)

        to_query, to_key = matrix(d, self.heads * self.width), matrix(d, self.width)
        to_weights = torch.zeros(count, d, self.heads)
        to_weights[:, -1] = 1.0  # at first every head counts alike, for every question
        parameters = [x.requires_grad_() for x in (to_query, to_key, to_weights)]

        def scores(asks: Tensor, text: Tensor) -> Tensor:
            """Return the scores of every indexer, (count, texts, 1, n)."""
            q = (asks @ to_query[:, None]).unflatten(-1, (self.heads, self.width)).transpose(2, 3)
            return index_scores(q, text @ to_key[:, None], asks @ to_weights[:, None])

        def right(found: Tensor, asks: Tensor, k: Tensor, v: Tensor, wanted: Tensor, top: int) -> Tensor:
            """Return the share of values that each indexer's choice recalls, (count,)."""
            places = top_keys(found, top).flatten(0, 1)
            q, k, v = (x.repeat(count, 1, 1)[:, None] for x in (asks[..., : k.shape[-1]], k, v))
            out = selected_attention(q, k, v, places, scale=SHARP)[:, 0].argmax(-1)
            return (out == wanted.repeat(count, 1)).float().view(count, -1).mean(-1)

        def measure(step: int) -> tuple[Tensor, Tensor]:
            asks, text, k, v, wanted = texts(
                self.batch, self.tokens, d=self.d, seed=10_000 * (seed + 1) + step
            )
            weights = attention(asks[..., : k.shape[-1]], k, v, scale=SHARP, need_weights=True)[1]
            found = scores(asks, text)
            loss = torch.stack([imitation_loss(one, weights) for one in found])
            return loss, right(found.detach(), asks, k, v, wanted, self.top)

        every = max(1, self.steps // 20)
        runs = descend(
            parameters, torch.tensor(rates), measure, steps=self.steps, every=every, optimizer="Adam"
        )
        with torch.no_grad():
            asks, text, *given = texts(1000, self.tokens, d=self.d, seed=seed)
            found = scores(asks, text)
            shares = {top: right(found, asks, *given, top) for top in (4, 8, 16)}
        ends = shares[self.top] if self.top in shares else right(found, asks, *given, self.top)
        return [
            Run(
                run.curve,
                every=every,
                value=ends[at].item(),
                extras={f"top {top}": share[at].item() for top, share in shares.items()},
            )
            for at, run in enumerate(runs)
        ]
