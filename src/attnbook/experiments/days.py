"""Orders that change, in days that end: texts in which things are overwritten, and others to be cleared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.experiments.descent import by_seed, descend
from attnbook.experiments.forms import form
from attnbook.experiments.runs import Run

KINDS = ("once", "changed", "another day")
"""One asks for people who ordered once today, changed the order today, or ordered, but not today."""


def texts(
    count: int, *, days: int, orders: int, guests: int, customers: int, drinks: int, draw: torch.Generator
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Draw texts of some days; a day is a mark that it begins, and orders by its guests, again and again.

    Args:
        count: how many texts.
        days: how many days in each.
        orders: how many orders a day; who of the guests orders what is drawn anew each time.
        guests: how many customers come on a day, drawn anew for each.
        customers: how many customers there are. The mark has the number after the last.
        drinks: how many drinks there are. The number after the last stands for none.
        draw: the source of randomness.

    Returns:
        Who (count, n) and what (count, n), token by token; what each customer is to get at the end
        (count, customers): the newest order of the last day, or none; and which of `KINDS` the customer is,
        (count, customers), or -1 for who never ordered.

    >>> how = {"days": 2, "orders": 2, "guests": 2, "customers": 3, "drinks": 4}
    >>> who, what, wanted, kind = texts(1, **how, draw=torch.Generator())
    >>> who.shape, what[0, ::3].tolist(), wanted.shape
    (torch.Size([1, 6]), [4, 4], torch.Size([1, 3]))
    """
    come = torch.rand(count, days, customers, generator=draw).argsort(-1)[..., :guests]
    who = come.gather(-1, torch.randint(guests, (count, days, orders), generator=draw))
    what = torch.randint(drinks, (count, days, orders), generator=draw)
    wanted = torch.full((count, customers), drinks)
    kind = torch.full((count, customers), -1)
    kind.scatter_(1, who[:, :-1].flatten(1), 2)
    for at in range(orders):
        person, drink = who[:, -1, at : at + 1], what[:, -1, at : at + 1]
        held, known = wanted.gather(1, person), kind.gather(1, person)
        # Who orders the same again stays what he was; who changed stays so, whatever comes.
        now = torch.where(held == drinks, 0, torch.where(held == drink, known, 1))
        kind.scatter_(1, person, now)
        wanted.scatter_(1, person, drink)
    who = F.pad(who, (1, 0), value=customers).flatten(1)
    what = F.pad(what, (1, 0), value=drinks).flatten(1)
    return who, what, wanted, kind


@dataclass(frozen=True)
class Days:
    """Train a form of attention to know at the end of a text what each customer is to get; for `sweep`.

    What training may choose is a vector for each customer and one for the mark, the rates of an order and
    those of a mark, how sharply the answer is read, and how readily it says "none". All forms get the same
    of these, and use the rates that they have. The curve is the share of right answers in texts that are new
    at each step. At the end other texts are asked, each of `KINDS` for itself; their mean is the value.

    Args:
        name: one of `forms.FORMS`, or "sum": the gated form with a gate that always stands open.
        d: width of the keys, and so the rows of a linear form's state.
        days, orders, guests, customers, drinks: as in `texts`.
        steps: updates.
        batch: texts of one update.

    >>> task = Days("gate and delta", d=8, days=2, orders=3, guests=2, customers=3, drinks=4, steps=5)
    >>> sorted(task.together([(0.1, 0)])[0].extras)
    ['another day', 'changed', 'once']
    """

    told: ClassVar = {
        "optimizer": "Adam",
        "examples": "texts",
        "counts": "the mean of the shares of each kind of customer",
    }

    name: str
    d: int = 8
    days: int = 3
    orders: int = 24
    guests: int = 6
    customers: int = 12
    drinks: int = 16
    steps: int = 300
    batch: int = 16

    def together(self, pairs: Sequence[tuple[float, int]]) -> list[Run]:
        """Train one model for each (rate, seed): those of one seed side by side, on the same texts."""
        return by_seed(self._train, pairs)

    def _train(self, rates: Sequence[float], seed: int) -> list[Run]:
        draw, count = torch.Generator().manual_seed(seed), len(rates)
        keys = torch.randn(self.customers + 1, self.d, generator=draw).repeat(count, 1, 1).requires_grad_()
        gates = torch.full((count, 2, 2), 3.0, requires_grad=True)  # of an order, of a mark: kept, and beta
        sharpness = torch.full((count,), 1.0, requires_grad=True)
        none = torch.zeros(count, requires_grad=True)
        parameters = [keys, gates, sharpness, none]

        def right(texts: int, source: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
            who, what, wanted, kind = self._texts(texts, source)
            got = sharpness.exp()[:, None, None, None] * self._answers(keys, gates, who, what)
            got = got + F.pad(none[:, None], (self.drinks, 0))[:, None, None]
            wanted = wanted.expand(count, -1, -1)
            loss = F.cross_entropy(got.movedim(-1, 1), wanted, reduction="none").flatten(1).mean(-1)
            loss = loss + 0 * gates.sum((-2, -1))  # a form without rates has a gradient for them all the same
            return loss, (got.argmax(-1) == wanted).float(), kind

        def measure(step: int) -> tuple[Tensor, Tensor]:
            loss, hit, _ = right(self.batch, draw)
            return loss, hit.flatten(1).mean(-1)

        curves = descend(
            parameters,
            torch.tensor(rates),
            measure,
            steps=self.steps,
            every=min(25, self.steps),
            optimizer="Adam",
        )
        with torch.no_grad():
            _, hit, kind = right(200, torch.Generator().manual_seed(1000))
        exam = {name: hit[:, kind == at].mean(-1).tolist() for at, name in enumerate(KINDS)}
        return [
            self._run(curve.curve, {name: shares[at] for name, shares in exam.items()})
            for at, curve in enumerate(curves)
        ]

    def _answers(self, keys: Tensor, gates: Tensor, who: Tensor, what: Tensor) -> Tensor:
        """Read the text and ask for everybody: (models, texts, customers, drinks and none)."""
        texts, n = who.shape
        asked = torch.arange(self.customers).expand(texts, -1)
        x = keys[:, torch.cat((who, asked), 1)]  # (models, texts, n + customers, d)
        v = F.one_hot(F.pad(what, (0, self.customers)), self.drinks + 1).to(x.dtype)
        rate = gates.sigmoid()[:, (who == self.customers).long()]  # (models, texts, n, 2)
        rate = F.pad(rate, (0, 0, 0, self.customers), value=1.0)
        if self.name == "sum":
            rate = torch.ones_like(rate)
        written = torch.arange(x.shape[-2]) < n  # who asks only reads
        attend = form("gate" if self.name == "sum" else self.name, self.d)
        if self.name == "delta rule":
            rate = rate[..., 1:]
        out = attend(x, x, v.expand(*x.shape[:-1], -1), rate, written.expand(len(x), -1))
        return out[..., n:, :]

    def _run(self, curve: Sequence[float], shares: dict[str, float]) -> Run:
        mean = sum(shares.values()) / len(shares) if math.isfinite(curve[-1]) else math.nan
        return Run(curve, every=25, value=mean, extras=shares)

    def _texts(self, count: int, draw: torch.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        names = ("days", "orders", "guests", "customers", "drinks")
        return texts(count, **{name: getattr(self, name) for name in names}, draw=draw)
