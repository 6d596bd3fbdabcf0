"""Two places that hold numbers: the bound of one head that sees nothing else, and what passes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.experiments.runs import Run
from attnlab.dot_product import attention
from attnlab.multihead import MultiHeadAttention

QUESTIONS = torch.tensor([[1.0, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]])
"""The four questions, left-left, left-right, right-left and right-right, each place as two numbers."""


def draw(n: int, seed: int, numbers: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    """Draw pairs of tokens, and what is right for each question.

    Args:
        n: how many pairs.
        seed: the same seed draws the same pairs.
        numbers: how many a token holds, d.

    Returns:
        Queries (n, 4, 2 + 2 d), zero behind their first 4 columns; tokens (n, 2, 2 + 2 d), each with its
        numbers at its place, then the place itself; and the right answers (n, 4, 2 d).

    >>> queries, tokens, wanted = draw(1, seed=0)
    >>> bool((wanted[0, 1] == tokens[0, :, :2].sum(0)).all())  # (left, right)
    True
    """
    u = torch.randn(n, 2, numbers, generator=torch.Generator().manual_seed(seed))
    place = torch.eye(2).expand(n, 2, 2)
    wanted = torch.cat((QUESTIONS[:, :2] @ u, QUESTIONS[:, 2:] @ u), -1)
    held = (place[..., None] * u[:, :, None] + 0.0).flatten(-2)  # + 0.0: no minus zeros to look at
    queries = F.pad(QUESTIONS, (0, 2 * numbers - 2)).expand(n, 4, -1)
    return queries, torch.cat((held, place), -1), wanted


def with_empty(queries: Tensor, tokens: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Add tokens that hold no number, each in a place of its own.

    Args:
        queries: (n, questions, width).
        tokens: (n, 2, width).
        count: how many to add, c.

    Returns:
        Queries (n, questions, width + c), the new columns zero, and tokens (n, 2 + c, width + c).

    >>> with_empty(*draw(1, seed=0)[:2], 1)[1][0, 2].tolist()
    [0.0, 0.0, 0.0, 0.0, 1.0]
    """
    empty = F.pad(torch.eye(count), (tokens.shape[-1], 0)).expand(len(tokens), -1, -1)
    return F.pad(queries, (0, count)), torch.cat((F.pad(tokens, (0, count)), empty), 1)


def bound(tokens: Tensor) -> float:
    """Return the least mean squared error of one head over the four questions: the mean of (u₁ − u₂)²/8.

    The tokens are those of `draw`; where they hold several numbers, the mean runs over these too. It holds
    for two tokens alone, whose weights sum to one (beside a sink they don't), with nothing added to what the
    head says and nothing bent behind it.
    """
    u = tokens[..., :-2].unflatten(-1, (2, -1)).sum(-2)
    return ((u[:, 0] - u[:, 1]) ** 2).mean().item() / 8


class GatedHead(nn.Module):
    """One head whose output goes through a gate: each of its numbers times one between 0 and 1.

    Args:
        d_model: width of queries and tokens.
        d_head: width of the head.
        blind: the gate is given ones instead of the query, and so is the same for every question.
        whole: the gate is one number, for all columns of the head.

    References:
        Qiu et al. 2025, section 2.2.

    >>> GatedHead(4, 8)(torch.zeros(1, 3, 4), context=torch.zeros(1, 2, 4)).shape
    torch.Size([1, 3, 4])
    """

    def __init__(self, d_model: int, d_head: int, *, blind: bool = False, whole: bool = False) -> None:
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_head, bias=False)
        self.k_proj = nn.Linear(d_model, d_head, bias=False)
        self.v_proj = nn.Linear(d_model, d_head, bias=False)
        self.gate = nn.Linear(d_model, 1 if whole else d_head)
        self.out_proj = nn.Linear(d_head, d_model, bias=False)
        self.blind = blind

    def forward(self, x: Tensor, *, context: Tensor) -> Tensor:
        """Let x, (batch, n_q, d_model), ask the context, (batch, n_k, d_model); returns the shape of x."""
        heard = attention(self.q_proj(x), self.k_proj(context), self.v_proj(context))
        seen = torch.ones_like(x) if self.blind else x
        return self.out_proj(self.gate(seen).sigmoid() * heard)


class HeadBesideMatrix(nn.Module):
    """One head, and a matrix times the query added to what it says.

    Args:
        d_model: width of queries and tokens.
        d_head: width of the head.

    >>> HeadBesideMatrix(4, 8)(torch.zeros(1, 3, 4), context=torch.zeros(1, 2, 4)).shape
    torch.Size([1, 3, 4])
    """

    def __init__(self, d_model: int, d_head: int) -> None:
        super().__init__()
        self.head = MultiHeadAttention(d_model, 1, d_head=d_head, bias=False)
        self.beside = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Tensor, *, context: Tensor) -> Tensor:
        """Let x, (batch, n_q, d_model), ask the context, (batch, n_k, d_model); returns the shape of x."""
        return self.head(x, context=context) + self.beside(x)


@dataclass(frozen=True)
class TwoPlaces:
    """A layer of attention that is asked for two places, in order; a candidate of `sweep`.

    Args:
        n_heads: number of heads.
        d_head: width of each.
        gate: behind the head, if there is one: "query" if it sees that, "whole" if it is one number for all
            columns besides, else "blind".
        sinks: the head learns a sink.
        added: "query" if a matrix times the query is added to what the head says.
        empty: tokens that hold no number, beside the two that do.
        numbers: how many each of these two holds.
        questions: which of the four are asked; (left, right) alone is `(1,)`.
        steps: of Adam.

    >>> run = TwoPlaces(1, 4, steps=20)(0.03, seed=0)
    >>> len(run.curve), run.value >= 1
    (2, True)
    """

    told: ClassVar = {
        "optimizer": "Adam",
        "examples": "pairs",
        "counts": "the squared error on 2,000 new pairs",
    }

    n_heads: int
    d_head: int
    questions: tuple[int, ...] = (0, 1, 2, 3)
    gate: Literal["", "query", "whole", "blind"] = ""
    sinks: bool = False
    added: Literal["", "query"] = ""
    empty: int = 0
    numbers: int = 1
    steps: int = 400
    every: int = 10
    batch: int = 128

    def __call__(self, rate: float, seed: int) -> Run:
        """Train once. The curve is the error over `bound`, on pairs that are new at that step."""
        return self.train(rate, seed)[1]

    def layer(self) -> nn.Module:
        """Make the layer, as it is before training."""
        wide = 2 + 2 * self.numbers + self.empty
        if self.gate:
            return GatedHead(wide, self.d_head, blind=self.gate == "blind", whole=self.gate == "whole")
        if self.added:
            return HeadBesideMatrix(wide, self.d_head)
        return MultiHeadAttention(wide, self.n_heads, d_head=self.d_head, bias=False, sinks=self.sinks)

    def train(self, rate: float, seed: int) -> tuple[nn.Module, Run]:
        """Train once, and return the layer too."""
        torch.manual_seed(seed)
        layer = self.layer()
        optimizer, watched = torch.optim.Adam(layer.parameters(), lr=rate), []
        for step in range(self.steps):
            queries, tokens, wanted = draw(self.batch, seed * self.steps + step, self.numbers)
            error = self.error(layer, queries, tokens, wanted)
            optimizer.zero_grad()
            error.backward()
            optimizer.step()
            watched.append(error.item() / bound(tokens))
        points = torch.tensor(watched).unflatten(0, (-1, self.every)).mean(-1)
        with torch.no_grad():
            queries, tokens, wanted = draw(2000, -1, self.numbers)
            end = self.error(layer, queries, tokens, wanted).item() / bound(tokens)
        return layer, Run(points.tolist(), every=self.every, value=end)

    def error(self, layer: nn.Module, queries: Tensor, tokens: Tensor, wanted: Tensor) -> Tensor:
        """Return the mean squared error on the questions that are asked."""
        asked = list(self.questions)
        queries, tokens = with_empty(queries[:, asked], tokens, self.empty)
        return F.mse_loss(layer(queries, context=tokens)[..., : wanted.shape[-1]], wanted[:, asked])
