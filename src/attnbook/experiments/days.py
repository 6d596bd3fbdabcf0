"""Orders that change, in days that end: texts in which things are overwritten, and others to be cleared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.experiments.forms import form
from attnbook.experiments.runs import Run

KINDS = ("once", "changed", "another day", "never")
"""One asks for people who ordered one drink today, changed it, ordered on other days only, or never did."""
SHAPE = {"days": 3, "orders": 12, "guests": 6, "customers": 12, "drinks": 8}
"""What `texts` is asked for unless something else is given."""


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
        (count, customers).

    >>> how = {"days": 2, "orders": 2, "guests": 2, "customers": 3, "drinks": 4}
    >>> who, what, wanted, kind = texts(1, **how, draw=torch.Generator())
    >>> who.shape, what[0, ::3].tolist(), wanted.shape
    (torch.Size([1, 6]), [4, 4], torch.Size([1, 3]))
    """
    come = torch.rand(count, days, customers, generator=draw).argsort(-1)[..., :guests]
    who = come.gather(-1, torch.randint(guests, (count, days, orders), generator=draw))
    what = torch.randint(drinks, (count, days, orders), generator=draw)
    wanted = torch.full((count, customers), drinks)
    kind = torch.full((count, customers), 3)
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


class Layer(nn.Module):
    """One head of one of `forms.FORMS`, with all that it takes made of its tokens: q, k, v and two rates.

    Args:
        name: which form.
        d_model: width of tokens, keys and values.

    >>> Layer("gate and delta", 8)(torch.randn(2, 5, 8)).shape
    torch.Size([2, 5, 8])
    """

    def __init__(self, name: str, d_model: int) -> None:
        super().__init__()
        self.name, self.attend = name, form(name, d_model)
        self.to_qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.to_rates = nn.Linear(d_model, 2)  # what is kept, and what is written
        self.to_out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, n, d_model) to the same shape; causal."""
        q, k, v = self.to_qkv(x).chunk(3, -1)
        rates = self.to_rates(x).sigmoid()
        rates = rates[..., 1:] if self.name == "delta rule" else rates
        return self.to_out(self.attend(q, k, v, rates, None))


class Reader(nn.Module):
    """Embeddings, one layer that mixes tokens, and a readout: all else is the same whatever the layer is.

    An order is one token, the vector of its customer plus that of its drink. A day's mark and a question, one
    for each customer behind the last order, have vectors in the place of a drink.

    Args:
        layer: maps (batch, n, d_model) to the same shape, and lets no token look ahead.
        d_model: width of tokens.
        customers: how many there are.
        drinks: how many there are.
    """

    def __init__(self, layer: nn.Module, d_model: int, customers: int, drinks: int) -> None:
        super().__init__()
        self.layer = layer
        self.who = nn.Embedding(customers + 1, d_model)  # the last is the day's
        self.what = nn.Embedding(drinks + 2, d_model)  # the last two are the day's and the question's
        self.read = nn.Linear(d_model, drinks + 1)

    def forward(self, who: Tensor, what: Tensor) -> Tensor:
        """Read texts (count, n) as `texts` draws them; return logits (count, customers, drinks and none)."""
        customers = self.who.num_embeddings - 1
        asked = torch.arange(customers).expand(len(who), -1)
        x = self.who(torch.cat((who, asked), 1)) + self.what(
            F.pad(what, (0, customers), value=self._question)
        )
        return self.read(self.layer(x)[:, -customers:])

    def tokens(self) -> dict[str, Tensor]:
        """Return all tokens that there are, by kind: vectors (tokens, d_model)."""
        orders = self.who.weight[:-1, None] + self.what.weight[:-2]
        return {
            "an order": orders.flatten(0, 1),
            "a new day": self.who.weight[-1:] + self.what.weight[-2:-1],
            "a question": self.who.weight[:-1] + self.what.weight[-1:],
        }

    @property
    def _question(self) -> int:
        return self.what.num_embeddings - 1


def learn(
    make: Callable[[int], nn.Module],
    *,
    rate: float = 0.01,
    seed: int = 0,
    steps: int = 400,
    batch: int = 16,
    every: int = 25,
    d_model: int = 32,
    **shape: int,
) -> tuple[Reader, Run]:
    """Train a layer on texts of days, by Adam.

    Args:
        make: width -> a layer, as for `Reader`.
        rate: the learning rate.
        seed: of what the reader begins with, and of the texts.
        steps: updates.
        batch: texts of one update, new ones each time.
        every: updates to a point of the curve.
        d_model: width of tokens.
        shape: as `SHAPE`.

    Returns:
        The reader, and its run. The curve is the share of customers who get what they should, in texts not
        yet learned from. The value is that share in other texts at the end, and the extras those of `KINDS`.

    >>> how = {"steps": 5, "d_model": 8, "days": 1, "orders": 2, "guests": 2, "customers": 3}
    >>> reader, run = learn(lambda d: Layer("gate", d), **how)
    >>> sorted(run.extras), len(reader.tokens()["an order"])
    (['changed', 'never', 'once'], 24)
    """
    shape = SHAPE | shape
    draw = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        reader = Reader(make(d_model), d_model, shape["customers"], shape["drinks"])
    optimizer, watched = torch.optim.Adam(reader.parameters(), lr=rate), []
    for _ in range(steps):
        who, what, wanted, _ = texts(batch, **shape, draw=draw)
        logits = reader(who, what)
        watched.append((logits.argmax(-1) == wanted).float().mean().item())
        loss = F.cross_entropy(logits.flatten(0, 1), wanted.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    curve = [sum(watched[at : at + every]) / every for at in range(0, steps // every * every, every)]
    with torch.no_grad():
        who, what, wanted, kind = texts(400, **shape, draw=torch.Generator().manual_seed(1000))
        right = (reader(who, what).argmax(-1) == wanted).float()
    shares = {name: right[kind == at].mean().item() for at, name in enumerate(KINDS) if (kind == at).any()}
    return reader, Run(curve, every=every, value=right.mean().item(), extras=shares)


@dataclass(frozen=True)
class Days:
    """Train a layer of one form to know at the end of a text what each customer is to get; for `sweep`.

    Everything around the form is the same: see `Layer` and `Reader`. Curve, value and extras as in `learn`.

    Args:
        name: one of `forms.FORMS`.
        d_model: width of tokens and keys, and so the rows of a linear form's state.
        days, orders, guests, customers, drinks: as in `texts`.
        steps: updates.
        batch: texts of one update.

    >>> run = Days("gate and delta", d_model=8, steps=5, batch=2)(0.1, seed=0)
    >>> sorted(run.extras)
    ['another day', 'changed', 'never', 'once']
    """

    told: ClassVar = {
        "optimizer": "Adam",
        "examples": "texts",
        "counts": "the share of customers who get what they should",
    }

    name: str
    d_model: int = 32
    days: int = 3
    orders: int = 12
    guests: int = 6
    customers: int = 12
    drinks: int = 8
    steps: int = 400
    batch: int = 16

    def __call__(self, rate: float, seed: int) -> Run:
        """Train once."""
        how = {name: getattr(self, name) for name in ("d_model", "steps", "batch", *SHAPE)}
        return learn(lambda d_model: Layer(self.name, d_model), rate=rate, seed=seed, **how)[1]
