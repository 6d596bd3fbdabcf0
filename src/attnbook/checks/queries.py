"""Exercises on queries, keys and values: every shape, a head of width two by hand, the same head in other matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnbook.checks.exercise import case, draws, exercise, late, mistake, rows
from attnbook.checks.values import Difference, difference

Shape = tuple[int, ...]


def _shapes(**changed: Callable[..., Shape]) -> Callable[..., dict[str, Shape]]:
    def shapes(batch: int, n_q: int, n_k: int, d_model: int, d_k: int, d_v: int) -> dict[str, Shape]:
        found = {
            "q": (batch, n_q, d_k),
            "k": (batch, n_k, d_k),
            "v": (batch, n_k, d_v),
            "scores": (batch, n_q, n_k),
            "weights": (batch, n_q, n_k),
            "out": (batch, n_q, d_v),
        }
        return found | {name: change(batch, n_q, n_k, d_model, d_k, d_v) for name, change in changed.items()}

    return shapes


_TABLE = (
    "Scores have a row for each token that asks and a column for each that is asked, whatever the widths."
)
_ASKED = "Values come from the tokens that are asked, as keys do: one row for each of these."
_MEAN = "The output is a mean of values for each token that asks: as many rows as queries, as wide as values."

exercise(
    "queries-shapes",
    "shapes",
    reference=_shapes(),
    cases=rows("batch n_q n_k d_model d_k d_v", (50, 5, 9, 3, 7, 4), (2, 7, 3, 8, 1, 6), (1, 12, 10, 5, 9, 2))
    + late(*rows("batch n_q n_k d_model d_k d_v", (43, 44, 45, 46, 47, 48))),
    mistakes=[
        *(
            mistake(_TABLE, wrong)
            for wrong in (
                _shapes(scores=lambda b, i, j, m, k, v: (b, i, k)),
                _shapes(
                    scores=lambda b, i, j, m, k, v: (b, i, k), weights=lambda b, i, j, m, k, v: (b, i, k)
                ),
                _shapes(
                    scores=lambda b, i, j, m, k, v: (b, j, i), weights=lambda b, i, j, m, k, v: (b, j, i)
                ),
                _shapes(
                    scores=lambda b, i, j, m, k, v: (b, i, i), weights=lambda b, i, j, m, k, v: (b, i, i)
                ),
                _shapes(
                    scores=lambda b, i, j, m, k, v: (b, k, k), weights=lambda b, i, j, m, k, v: (b, k, k)
                ),
            )
        ),
        mistake("A softmax changes no shape.", _shapes(weights=lambda b, i, j, m, k, v: (i, j))),
        mistake("A softmax changes no shape.", _shapes(weights=lambda b, i, j, m, k, v: (b, i))),
        mistake(
            "Queries have the width d_k, one row a token.", _shapes(q=lambda b, i, j, m, k, v: (b, i, m))
        ),
        mistake(
            "Keys have the width of the queries, or they could not be compared.",
            _shapes(k=lambda b, i, j, m, k, v: (b, j, m)),
        ),
        mistake(
            "Keys are stored with a row for each token, as queries are; only the product turns them.",
            _shapes(k=lambda b, i, j, m, k, v: (b, k, j)),
        ),
        mistake(
            "Keys come from the tokens that are asked.",
            _shapes(k=lambda b, i, j, m, k, v: (b, i, k)),
        ),
        mistake("Values have a width of their own, d_v.", _shapes(v=lambda b, i, j, m, k, v: (b, j, k))),
        mistake(_ASKED, _shapes(v=lambda b, i, j, m, k, v: (b, i, v))),
        mistake(_MEAN, _shapes(out=lambda b, i, j, m, k, v: (b, i, m))),
        mistake(_MEAN, _shapes(out=lambda b, i, j, m, k, v: (b, i, k))),
        mistake(_MEAN, _shapes(out=lambda b, i, j, m, k, v: (b, j, v))),
    ],
    praise="Every shape follows from six sizes; d_k leaves no trace in the output.",
)


def _what(got: Any) -> str:
    return f"a tensor of shape {tuple(got.shape)}" if isinstance(got, Tensor) else f"a {type(got).__name__}"


def _before(turn: int = 1, length: float = 100.0) -> Callable[[int], tuple[Tensor, Tensor]]:
    """Places on a circle; the key of a place is where the query of the next one points."""

    def before(n: int) -> tuple[Tensor, Tensor]:
        angle = 2 * math.pi * torch.arange(n) / n
        keys = length * torch.stack((angle.cos(), angle.sin()), -1)
        return keys.roll(turn, 0), keys

    return before


def _hears(got: Any, want: tuple[Tensor, Tensor], n: int) -> Difference | str | None:
    """Look whom each place hears."""
    if not isinstance(got, list | tuple) or len(got) != 2:
        return (
            difference(got, want)
            if got is None
            else f"It should return two matrices; it returned {_what(got)}."
        )
    for name, one in zip(("W_q", "W_k"), got, strict=True):
        if not isinstance(one, Tensor) or one.shape != (n, 2):
            return f"{name} should be a tensor of shape ({n}, 2), a row for each place; it is {_what(one)}."
    if any(one.is_complex() or one.dtype is torch.bool or one.device.type == "meta" for one in got):
        return "W_q and W_k should hold real numbers."
    # In the numbers that were given, where arrows too long overflow; whole ones as attention would get them.
    kind = torch.promote_types(got[0].dtype, got[1].dtype)
    kind = kind if kind.is_floating_point else torch.float32
    w_q, w_k = (one.detach().to_dense().to("cpu", kind) for one in got)
    weights = (w_q @ w_k.T / 2**0.5).softmax(-1)
    if weights.isnan().any():
        return "A weight is not a number: the arrows are too long, or hold NaN."
    for i in range(1, n):
        if weights[i, i - 1] < 0.9:
            most = int(weights[i].argmax())
            whom = "to itself" if most == i else f"to place {most}"
            least = f"{weights[i, i - 1]:.3f}" if weights[i, i - 1] >= 5e-4 else "nearly nothing"
            text = f"Place {i} should give at least 0.9 to place {i - 1}; it gives {least}"
            return text + ("." if most == i - 1 else f", and most, {weights[i, most]:.3f}, {whom}.")
    return None


exercise(
    "queries-before",
    "before",
    reference=_before(),
    cases=rows("n", (3,), (8,), (20,), (50,), (2,), (1,)) + late(*rows("n", (37,))),
    compare=_hears,
    mistakes=[
        mistake("Every place hears the one after it. Turn the queries the other way.", _before(turn=-1)),
        mistake(
            "Every place hears itself. The query of place i points to the key of i - 1.", _before(turn=0)
        ),
        mistake("The arrows are too short: the right place leads, but not by enough.", _before(length=1.0)),
    ],
    praise="A table of rank two lets every place pick the one before it, among up to fifty.",
)


def _narrow(factor: Callable[[int, int], float]) -> Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]:
    def narrow(w_q: Tensor, w_k: Tensor) -> tuple[Tensor, Tensor]:
        d_model, d_k = w_q.shape
        return w_q @ w_k.T * factor(d_model, d_k), torch.eye(d_model, dtype=w_q.dtype)

    return narrow


def _spread(m: int, k: int, seed: int) -> Tensor:
    return torch.randn(m, k, generator=torch.Generator().manual_seed(seed))


def _same_head(got: Any, want: tuple[Tensor, Tensor], w_q: Tensor, w_k: Tensor) -> Difference | str | None:
    """Compare what the scores of two heads depend on."""
    if not isinstance(got, list | tuple) or len(got) != 2:
        return (
            difference(got, want)
            if got is None
            else f"It should return two matrices; it returned {_what(got)}."
        )
    d, d_k = w_q.shape
    for name, one in zip(("W_q", "W_k"), got, strict=True):
        if not isinstance(one, Tensor) or one.shape != (d, d):
            return f"The new {name} should be a tensor of shape ({d}, {d}), it is {_what(one)}."
    if any(one.is_complex() or one.dtype is torch.bool or one.device.type == "meta" for one in got):
        return "The new matrices should hold real numbers."
    a, b, w_q, w_k = (x.detach().to_dense().to("cpu", torch.float64) for x in (*got, w_q, w_k))
    product, table = a @ b.T, w_q @ w_k.T
    # In words first, where one factor explains all; the numbers say the rest.
    for factor, text in (
        (d_k**-0.5 * d**0.5, None),
        (1.0, "The product is the same, the head is not: attention divides by the root of the width, and it shrank."),
        ((d_k / d) ** 0.5, "The widths stand the wrong way round: the new scores are divided by a smaller root."),
        (d / d_k, "It corrects by the ratio of the widths; the scores are divided by their roots."),
        (d_k**-0.5, "The new head divides once more, by the root of its own width: give that back."),
    ):  # fmt: skip
        if torch.allclose(product, factor * table, rtol=1e-4, atol=1e-4 * float(table.abs().max() * factor)):
            return text
    if torch.allclose(product.T, (d / d_k) ** 0.5 * table, rtol=1e-4, atol=1e-4):
        return "Queries and keys have changed places: the table is transposed."
    found = difference(
        product / d**0.5, table / d_k**0.5, place="The table W_q W_kᵀ over the root of its width"
    )
    return found or "The scores differ from those of the given head."


exercise(
    "queries-narrow",
    "narrow",
    reference=_narrow(lambda d, k: (d / k) ** 0.5),
    cases=[
        *draws(w_q="m k", w_k="m k", m=(2, 3, 4, 5, 6), k=(7, 8, 9, 12, 16), seeds=6, large=dict(k=42)),
        case(
            "d_model = 1",
            w_q=torch.tensor([[2.0, -1.0, 0.5]]),
            w_k=torch.tensor([[1.0, 3.0, -2.0]]),
        ),
        case(
            "queries that use one direction only",
            "An inverse of W_q does not exist here; none is needed.",
            w_q=torch.tensor([[1.0, 2, 0, 1], [2, 4, 0, 2], [-1, -2, 0, -1]]),
            w_k=torch.tensor([[0.5, 1, 3, -1], [1, 0, 0, 2], [0, -1, 1, 1]]),
        ),
        case(
            "queries whose first columns are 0",
            w_q=torch.tensor([[0.0, 0, 0, 1, 2], [0, 0, 0, -1, 3], [0, 0, 0, 2, 1]]),
            w_k=torch.tensor([[1.0, 2, 0, 2, -1], [0, 1, 1, 1, 3], [-1, 0, 2, 1, 1]]),
        ),
        *late(case("d_model = 43", w_q=_spread(43, 47, 0), w_k=_spread(43, 47, 1))),
    ],
    compare=_same_head,
    mistakes=[
        mistake(
            "The columns that were cut off counted in every score: a head is its product, not its first columns.",
            lambda w_q, w_k: (w_q[:, : len(w_q)], w_k[:, : len(w_q)]),
        ),
    ],
    praise="The same scores for every token, from matrices no wider than the tokens.",
)
