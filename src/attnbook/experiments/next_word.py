"""Guess the next word: a small model whose only view of the text is one attention head.

The sentences come with their probabilities, so every loss is an expectation over all of them, exact, and so
is the least that any honest model can pay.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.experiments.descent import DTYPE, descend
from attnbook.experiments.runs import Run
from attnlab import positions, scores

Words = tuple[str, ...]
SKIP = -100
"""The number that `F.cross_entropy` passes over."""


def floor(probabilities: Mapping[Words, float]) -> float:
    """Return the least mean loss, in nats a guess, of any model that sees only the words before.

    A sentence of m words is m + 1 guesses, for its end is guessed too. By the chain rule their surprises sum
    to -ln p(sentence), and by Gibbs' inequality no other guesses pay less on average.

    Args:
        probabilities: sentence -> its probability; they sum to one.

    >>> round(floor({("a",): 0.5, ("b",): 0.5}), 3)  # ln 2 for the word, nothing for the end
    0.347
    """
    surprise = -math.fsum(p * math.log(p) for p in probabilities.values())
    return surprise / math.fsum(p * (len(words) + 1) for words, p in probabilities.items())


@dataclass(frozen=True)
class Text:
    """Sentences as numbers.

    Args:
        probabilities: sentence -> its probability; they sum to one.

    >>> text = Text({("a", "b"): 0.5, ("b",): 0.5})
    >>> text.words, text.read.tolist()
    (['<start>', '<end>', 'a', 'b'], [[0, 2, 3], [0, 3, 0]])
    >>> text.guess.tolist()  # shifted by one: each place guesses the word after it; -100 is no guess
    [[2, 3, 1], [3, 1, -100]]
    """

    probabilities: Mapping[Words, float]

    @cached_property
    def words(self) -> list[str]:
        """The vocabulary, from <start> and <end>."""
        return ["<start>", "<end>", *sorted({word for words in self.probabilities for word in words})]

    @cached_property
    def read(self) -> Tensor:
        """What is read, (sentences, n), from <start>."""
        return self._numbers[0]

    @cached_property
    def guess(self) -> Tensor:
        """What is to be guessed there, (sentences, n), to <end>."""
        return self._numbers[1]

    @cached_property
    def chances(self) -> Tensor:
        """The probabilities, (sentences,)."""
        return torch.tensor(list(self.probabilities.values()), dtype=torch.float64)

    @cached_property
    def _numbers(self) -> tuple[Tensor, Tensor]:
        number = {word: at for at, word in enumerate(self.words)}
        n = 1 + max(map(len, self.probabilities))
        read = torch.zeros(len(self.probabilities), n, dtype=torch.long)
        guess = torch.full_like(read, SKIP)
        for at, words in enumerate(self.probabilities):
            row = torch.tensor([*(number[word] for word in words), 1])
            read[at, 1 : len(row)], guess[at, : len(row)] = row[:-1], row
        return read, guess


@dataclass(frozen=True)
class NextWord:
    """One head with rotary positions and a small network behind it; a candidate of `sweep`.

    Its curve is the loss on sentences that are new at that step, its extras the exact mean losses in nats
    a guess. "reading": the whole sentence is handed over, as in training. "writing": one more word at a time,
    as in use, when there is no future to see.

    Args:
        text: the sentences.
        weigh: turns scores (..., n, n) into weights: here a model is honest or not.
        d_model: the width.
        steps: of Adam.
        every: steps to a point of the curve.
        batch: sentences in each step.
    """

    told: ClassVar = {"optimizer": "Adam", "examples": "new sentences", "counts": "nats a guess"}

    text: Text = field(repr=False)
    weigh: Callable[[Tensor], Tensor]
    d_model: int = 32
    steps: int = 400
    every: int = 10
    batch: int = 128

    def together(self, pairs: Sequence[tuple[float, int]]) -> list[Run]:
        """Train one model for each (rate, seed)."""
        seeds = list(dict.fromkeys(seed for _, seed in pairs))
        which = torch.tensor([seeds.index(seed) for _, seed in pairs])
        draws = [torch.Generator().manual_seed(seed) for seed in seeds]
        begun = zip(*map(self.begin, draws), strict=True)
        parameters = [torch.stack(part)[which].requires_grad_() for part in begun]
        chances = self.text.chances

        def measure(step: int) -> tuple[Tensor, Tensor]:
            some = [torch.multinomial(chances, self.batch, True, generator=draw) for draw in draws]
            drawn = torch.stack(some)[which]  # (models, batch)
            logits = self.logits(parameters, self.text.read[drawn])
            guess = self.text.guess[drawn]
            loss = F.cross_entropy(logits.movedim(-1, 1), guess, reduction="none", ignore_index=SKIP)
            loss = loss.sum((-2, -1)) / (guess != SKIP).sum((-2, -1))
            return loss, loss

        rates = torch.tensor([rate for rate, _ in pairs], dtype=DTYPE)
        how = {"steps": self.steps, "every": self.every, "optimizer": "Adam"}
        runs = descend(parameters, rates, measure, **how)
        ends = [self.losses([p[at : at + 1] for p in parameters]) for at in range(len(pairs))]
        return [Run(run.curve, self.every, extras=end) for run, end in zip(runs, ends, strict=True)]

    def begin(self, draw: torch.Generator) -> list[Tensor]:
        """Draw the vectors of the words, and the matrices: W_q, W_k, W_v, and two of the network behind."""
        size, d = len(self.text.words), self.d_model
        shapes = [(size, d), (d, d), (d, d), (d, d), (2 * d, 64), (64, size)]
        first, *rest = (torch.randn(shape, generator=draw, dtype=DTYPE) for shape in shapes)
        return [first, *(matrix / matrix.shape[0] ** 0.5 for matrix in rest)]

    def logits(self, parameters: Sequence[Tensor], read: Tensor, *, last: bool = False) -> Tensor:
        """Compute the guesses of every model.

        Args:
            parameters: as from `begin`, each with a dimension of models in front.
            read: (models, batch, n) numbers of words.
            last: make the guess at the last place only.

        Returns:
            Logits (models, batch, n, words); with `last` (models, batch, 1, words).
        """
        vectors, w_q, w_k, w_v, w_in, w_out = (p[:, None] for p in parameters)
        x = vectors[torch.arange(len(read))[:, None, None], 0, read]  # (models, batch, n, d)
        s = scores.scaled_dot(positions.rotary(x @ w_q), positions.rotary(x @ w_k))
        heard = self.weigh(s) @ (x @ w_v)  # (models, batch, n, d)
        if last:
            heard, x = heard[..., -1:, :], x[..., -1:, :]
        return (torch.cat((x, heard), -1) @ w_in).relu() @ w_out

    @torch.no_grad()
    def losses(self, parameters: Sequence[Tensor]) -> dict[str, float]:
        """Return the exact mean loss of one model, in nats a guess, when it reads and when it writes.

        Args:
            parameters: as from `begin`, with one model in front.
        """
        read, guess, chances = self.text.read, self.text.guess, self.text.chances
        guesses = (chances * (guess != SKIP).sum(-1)).sum()
        reading = sum(
            (p * self._surprise(parameters, r, g).sum(-1)).sum()
            for r, g, p in zip(read.split(4096), guess.split(4096), chances.split(4096), strict=True)
        )
        writing = torch.zeros((), dtype=torch.float64)
        for n in range(1, read.shape[1] + 1):
            # Many sentences begin alike, and a model that writes is asked once for each beginning.
            asked = guess[:, n - 1] != SKIP
            rows = torch.cat((read[asked, :n], guess[asked, n - 1 : n]), -1)
            once, back = rows.unique(dim=0, return_inverse=True)
            share = torch.zeros(len(once), dtype=torch.float64).index_add_(0, back, chances[asked])
            for row, p in zip(once.split(4096), share.split(4096), strict=True):
                writing += (p * self._surprise(parameters, row[:, :n], row[:, n:], last=True).sum(-1)).sum()
        return {"reading": (reading / guesses).item(), "writing": (writing / guesses).item()}

    def _surprise(
        self, parameters: Sequence[Tensor], read: Tensor, guess: Tensor, *, last: bool = False
    ) -> Tensor:
        logits = self.logits(parameters, read[None], last=last)[0]
        return F.cross_entropy(logits.movedim(-1, 1), guess, reduction="none", ignore_index=SKIP).double()
