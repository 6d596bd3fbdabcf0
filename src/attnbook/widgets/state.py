"""A state that fills order by order: what is added, what fades, what is taken out, and what comes back."""

from __future__ import annotations

import math

import torch
import traitlets
from torch import Tensor

from attnbook.tables import table_of
from attnbook.widgets.figure import STATIC, Figure
from attnlab.dot_product import attention
from attnlab.linear import delta_rule, gated_linear_attention

PEOPLE = ("Ann", "Bob", "Cy", "Dee")
DRINKS = ("tea", "milk", "juice")
ORDERS = (
    ("Ann", "tea"),
    ("Bob", "milk"),
    ("Ann", "milk"),
    ("Dee", "juice"),
    ("Bob", "tea"),
    ("Cy", "tea"),
    ("Ann", "tea"),
    ("Cy", "milk"),
)
NEW_DAY = 5
"""The first order of the second day."""
RULES = ("sum", "gate", "delta", "both")
LIKEST = 0.8
SHARP = 8.0
"""What softmax multiplies its scores with, so that it tells one person from another."""


class StateFilling(Figure):
    """Read orders one by one into a state, by a rule, and ask it for somebody's drink.

    An order writes its key, the person, and its value, the drink, as an outer product. With a gate the state
    fades before each order, and is empty before the first of a new day. With the delta rule, what the state
    holds under the key is taken out first. Softmax attention to the same orders stands beside.

    Args:
        rule: "sum", "gate", "delta" or "both".
        step: how many orders have been read, from 0 to 8.
        asked: whose key is the query: "Ann", "Bob", "Cy" or "Dee".
        likeness: the product of two people's keys, all of length 1, from 0 to 0.8.
        stays: what a gate leaves of the state at an order of the same day, from 0 to 1. Unless given, a half
            with "gate" and all with "both".

    Raises:
        ValueError: an argument does not fit; the message names it.

    >>> figure = StateFilling(rule="delta", step=3)
    >>> figure.held[0].tolist(), figure.answer.tolist()
    ([0.0, 1.0, 0.0], [0.0, 1.0, 0.0])
    """

    _esm = STATIC / "state.js"
    name = "state"
    state = ("rule", "step", "asked", "likeness", "stays")
    rule = traitlets.Unicode("sum").tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)
    asked = traitlets.Unicode("Ann").tag(sync=True)
    likeness = traitlets.Float(0.0).tag(sync=True)
    stays = traitlets.Float(1.0).tag(sync=True)

    def __init__(
        self,
        *,
        rule: str = "sum",
        step: int = 0,
        asked: str = "Ann",
        likeness: float = 0.0,
        stays: float | None = None,
    ) -> None:
        for what, value, allowed in (("rule", rule, RULES), ("asked", asked, PEOPLE)):
            if value not in allowed:
                raise ValueError(f"{what} must be one of {', '.join(allowed)}; got {value!r}")
        if not 0 <= step <= len(ORDERS):
            raise ValueError(f"step must be a whole number from 0 to {len(ORDERS)}, got {step}")
        stays = (0.5 if rule == "gate" else 1.0) if stays is None else stays
        for what, number, most in (("likeness", likeness, LIKEST), ("stays", stays, 1.0)):
            if not 0 <= number <= most:
                raise ValueError(f"{what} must be from 0 to {most:g}, got {number}")
        super().__init__(rule=rule, step=step, asked=asked, likeness=float(likeness), stays=float(stays))

    @property
    def vectors(self) -> Tensor:
        """The people's keys, (4, 4), float64: each of length 1, any two with the same product."""
        n, c = len(PEOPLE), self.likeness
        own = math.sqrt(1 - c)
        shared = (math.sqrt(1 - c + n * c) - own) / n
        return own * torch.eye(n, dtype=torch.float64) + shared

    @property
    def gates(self) -> Tensor:
        """What stays of the state before each order read, (step,), float64."""
        gates = torch.ones(self.step, dtype=torch.float64)
        if self.rule in ("gate", "both"):
            gates *= self.stays
            gates[NEW_DAY : NEW_DAY + 1] = 0
        return gates

    @property
    def held(self) -> Tensor:
        """The state (4, 3), float64, with a row for each number of a key and a column for each drink."""
        _, k, v = self._read()
        how = {"initial_state": torch.zeros(4, 3, dtype=torch.float64), "return_state": True}
        fades = self.gates.log()[:, None]
        if self.rule in ("sum", "gate"):
            return gated_linear_attention(k, k, v, fades, **how)[1]
        return delta_rule(k, k, v, torch.ones_like(fades), log_decay=fades, **how)[1]

    @property
    def answer(self) -> Tensor:
        """What the query reads from the state, (3,), float64."""
        return self._read()[0] @ self.held

    @property
    def weights(self) -> Tensor:
        """The weights of softmax attention on the orders read, (step,), float64."""
        q, k, v = self._read()
        return attention(q[None], k, v, scale=SHARP, need_weights=True)[1][0]

    @property
    def softmax(self) -> Tensor:
        """What softmax attention answers, (3,), float64; zeros before the first order."""
        return self.weights @ self._read()[2]

    @property
    def today(self) -> str:
        """The newest order of whoever is asked for, of the day on which the text now stands, or "nothing"."""
        first = NEW_DAY if self.step > NEW_DAY else 0
        return dict(ORDERS[first : self.step]).get(self.asked, "nothing")

    def table(self) -> str:
        """Return the state with what both ways answer, and the weights of softmax."""
        rows = [*self.held.tolist(), self.answer.tolist(), self.softmax.tolist()]
        names = [*(f"row {i + 1}" for i in range(4)), "state answers", "softmax answers"]
        cells = [[name, *(number(x) for x in row)] for name, row in zip(names, rows, strict=True)]
        weights = self.weights.tolist()
        orders = [
            [f"{t + 1} {who}", what, f"{weights[t]:.4f}" if t < self.step else "not read"]
            for t, (who, what) in enumerate(ORDERS)
        ]
        return table_of(["", *DRINKS], cells) + table_of(["order", "drink", "softmax weight"], orders)

    def caption(self) -> str:
        """Return one sentence that says what the figure shows."""
        return "A state that fills order by order, and what it answers."

    def _read(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the query (4,), and keys (step, 4) and values (step, 3) of the orders read."""
        keys, read = self.vectors, ORDERS[: self.step]
        who = [PEOPLE.index(person) for person, _ in read]
        what = [DRINKS.index(drink) for _, drink in read]
        drinks = torch.eye(len(DRINKS), dtype=torch.float64)
        return keys[PEOPLE.index(self.asked)], keys[who], drinks[what]


def number(x: float) -> str:
    """Write a number of the state with four decimals and a real minus sign.

    >>> number(-0.25), number(-1e-9)
    ('−0.2500', '0.0000')
    """
    text = f"{x:.4f}"
    return text.replace("-", "" if float(text) == 0 else "−")
