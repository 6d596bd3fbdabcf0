"""The retrieval task: tokens that carry a name and a content, a query that names one or two of them.

Scaling, saturation and the number of heads are all tried on it. The model is one attention layer and nothing
else. Everything in it but the softmax is linear, so what names and contents contribute to the scores and to
the answers is computed once a step for all words, in tables, and looked up for each token: the same numbers
as with the tokens themselves, many times faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.experiments.descent import DTYPE, Optimizer, descend
from attnbook.experiments.runs import Run


@dataclass(frozen=True)
class Questions:
    """A batch for each of several models.

    Args:
        names: (models, batch, tokens), all different within a question.
        contents: (models, batch, tokens).
        asked: (models, batch, asked), the names that are asked for, in order.
        answers: (models, batch, asked), the contents that stand with them.
    """

    names: Tensor
    contents: Tensor
    asked: Tensor
    answers: Tensor


def ask(
    draw: torch.Generator, *, batch: int = 64, tokens: int = 8, words: int = 16, asked: int = 1
) -> Questions:
    """Draw questions for one model.

    >>> some = ask(torch.Generator().manual_seed(0), batch=2, asked=2)
    >>> some.names.shape, some.asked.shape, bool((some.asked == some.names[..., :2]).all())
    (torch.Size([2, 8]), torch.Size([2, 2]), True)
    """
    names = torch.rand(batch, words, generator=draw, dtype=DTYPE).argsort(-1)[:, :tokens]
    contents = torch.randint(words, (batch, tokens), generator=draw)
    return Questions(names, contents, names[:, :asked], contents[:, :asked])  # the first, as good as any


@dataclass(frozen=True)
class Retrieval:
    """One attention layer that learns the task; a candidate of `sweep`, which trains its runs side by side.

    Names and contents have fixed random vectors; a token is the sum of its two, divided by √2,
    and a query the names that are asked for, side by side. The matrices are drawn so that queries and keys
    begin with mean 0 and variance 1; each seed has its own vectors, matrices and questions.

    Args:
        d_k: the width of the queries and keys of all heads together, and of their values.
        scale: what the scores are multiplied with; one over the root of the width of a head unless given.
        start: what the matrices of queries and keys are multiplied with before training.
        faster: what the learning rate of these two matrices is multiplied with.
        heads: number of heads, a divisor of d_k.
        asked: how many names are asked for, in order.
        optimizer: "SGD" or "Adam".
        steps: of training.
        every: steps to a point of the curve, which shows the share of contents answered right.
        batch: new questions in each step.
        d_model: width of a token.
        words: how many names there are, and as many contents.
        tokens: of a question, beside the query.

    Raises:
        ValueError: heads does not divide d_k.

    >>> runs = Retrieval(d_k=8, steps=20).together([(0.01, 0), (0.01, 1)])
    >>> len(runs), len(runs[0].curve)
    (2, 4)
    """

    told: ClassVar = {"examples": "questions", "counts": "contents answered right"}

    d_k: int = 64
    scale: float | None = None
    start: float = 1.0
    faster: float = 1.0
    heads: int = 1
    asked: int = 1
    optimizer: Optimizer = "Adam"
    steps: int = 300
    every: int = 5
    batch: int = 64
    d_model: int = 32
    words: int = 16
    tokens: int = 8

    def __post_init__(self) -> None:
        if self.heads < 1 or self.d_k % self.heads:
            raise ValueError(f"heads must divide d_k = {self.d_k}, got {self.heads}")

    def together(self, pairs: Sequence[tuple[float, int]]) -> list[Run]:
        """Train one model for each (rate, seed); its examples depend on the seed alone."""
        return self.train(pairs)[0]

    def train(self, pairs: Sequence[tuple[float, int]]) -> tuple[list[Run], Tensor, list[Tensor]]:
        """Train as `together` does, and return the layers too.

        Args:
            pairs: a rate and a seed for each model.

        Returns:
            The runs; the vectors of names and contents, (models, 2, words, d_model); W_q, W_k, W_v and W_out,
            each with a dimension of models in front.

        >>> _, vectors, (w_q, *_) = Retrieval(d_k=8, steps=5).train([(0.01, 0), (0.01, 1)])
        >>> vectors.shape, w_q.shape
        (torch.Size([2, 2, 16, 32]), torch.Size([2, 32, 8]))
        """
        seeds = list(dict.fromkeys(seed for _, seed in pairs))
        which = torch.tensor([seeds.index(seed) for _, seed in pairs])
        draws = [torch.Generator().manual_seed(seed) for seed in seeds]
        vectors, matrices = zip(*map(self.begin, draws), strict=True)
        vectors = torch.stack(vectors)[which]
        parameters = [torch.stack(m)[which].requires_grad_() for m in zip(*matrices, strict=True)]

        def measure(step: int) -> tuple[Tensor, Tensor]:
            sizes = {"batch": self.batch, "tokens": self.tokens, "words": self.words, "asked": self.asked}
            drawn = [ask(draw, **sizes) for draw in draws]
            parts = ("names", "contents", "asked", "answers")
            some = Questions(*(torch.stack([getattr(q, part) for q in drawn])[which] for part in parts))
            logits = self.answers(vectors, parameters, some)
            loss = F.cross_entropy(logits.movedim(-1, 1), some.answers, reduction="none").flatten(1).mean(-1)
            return loss, (logits.argmax(-1) == some.answers).float().flatten(1).mean(-1)

        rates = torch.tensor([rate for rate, _ in pairs], dtype=DTYPE)
        how = {"steps": self.steps, "every": self.every, "optimizer": self.optimizer}
        how["factors"] = [self.faster, self.faster, 1.0, 1.0]
        runs = descend(parameters, rates, measure, **how)
        return runs, vectors, [p.detach() for p in parameters]

    def begin(self, draw: torch.Generator) -> tuple[Tensor, list[Tensor]]:
        """Draw the vectors of names and contents, (2, words, d_model), and W_q, W_k, W_v and W_out."""
        vectors = torch.randn(2, self.words, self.d_model, generator=draw, dtype=DTYPE)
        shapes = [(self.asked * self.d_model, self.d_k), (self.d_model, self.d_k), (self.d_model, self.d_k)]
        shapes.append((self.d_k, self.asked * self.words))
        matrices = [torch.randn(shape, generator=draw, dtype=DTYPE) / shape[0] ** 0.5 for shape in shapes]
        return vectors, [matrices[0] * self.start, matrices[1] * self.start, *matrices[2:]]

    def answers(self, vectors: Tensor, matrices: Sequence[Tensor], some: Questions) -> Tensor:
        """Compute the layer for a batch of each model.

        Args:
            vectors: (models, 2, words, d_model).
            matrices: W_q, W_k, W_v, W_out, each with a dimension of models in front.
            some: the questions.

        Returns:
            Logits (models, batch, asked, words).
        """
        w_q, w_k, w_v, w_out = matrices
        h, d = self.heads, self.d_k // self.heads
        # Tables: what each name, at each place of the query, scores with each name and each content.
        q = vectors[:, 0, None] @ w_q.unflatten(1, (self.asked, -1))  # (models, asked, words, d_k)
        k = (vectors @ w_k[:, None]) / 2**0.5  # (models, 2, words, d_k)
        v = (vectors @ w_v[:, None]) / 2**0.5
        q, k = q.unflatten(-1, (h, d)), k.unflatten(-1, (h, d))
        table = torch.einsum("mawhd,mpuhd->mpawhu", q, k) * (d**-0.5 if self.scale is None else self.scale)
        message = torch.einsum("mpuhd,mhdo->mphuo", v.unflatten(-1, (h, d)), w_out.unflatten(1, (h, d)))
        model = torch.arange(len(vectors))[:, None, None, None]
        place = torch.arange(self.asked)[:, None]
        asked = some.asked[..., None]  # (models, batch, asked, 1)
        scores, out = 0.0, 0.0
        for part, words in enumerate((some.names, some.contents)):
            # advanced indices around the slice of heads: (models, batch, asked, tokens, h)
            scores = scores + table[model, part, place, asked, :, words[:, :, None]].sum(2)
        weights = self.weigh(scores)  # (models, batch, tokens, h)
        for part, words in enumerate((some.names, some.contents)):
            # what each head gives to each word, added up first: then one product with the messages
            given = torch.zeros(*weights.shape[:2], self.words, h, dtype=weights.dtype)
            given = given.scatter_add(2, words[..., None].expand_as(weights), weights)
            out = out + given.transpose(2, 3).flatten(2) @ message[:, part].flatten(1, 2)
        return out.unflatten(-1, (self.asked, self.words))

    def weigh(self, scores: Tensor) -> Tensor:
        """Turn scores (models, batch, tokens, h) into weights; a control may do it in another way."""
        return scores.softmax(2)
