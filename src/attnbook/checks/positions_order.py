"""The exercise on testing whether a function sees an order."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.checks.exercise import case, exercise, late, mistake
from attnlab import positions
from attnlab.dot_product import attention


def _orders(n: int, many: int = 10) -> list[Tensor]:
    return [torch.randperm(n) for _ in range(many)]


def _close(a: Tensor, b: Tensor, off: float = 1e-5) -> bool:
    return torch.allclose(a, b, rtol=0, atol=off)


def _asks(
    agree: Callable[[Callable, Tensor, Tensor], bool] = lambda f, x, p: _close(f(x[p]), f(x)[p]),
    orders: Callable[[int], list[Tensor]] = _orders,
) -> Callable[[Callable, Tensor], bool]:
    """A test for order: which orders it tries, and what it compares."""
    return lambda f, x: all(agree(f, x, p) for p in orders(len(x)))


def is_equivariant(f: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    """The reference."""
    return _asks(orders=lambda n: _orders(n, 100))(f, x)


def _of(n: int, d: int, first: float | None = None) -> Tensor:
    """An input; `first` is its first number, where it matters."""
    x = torch.randn(n, d, generator=torch.Generator().manual_seed(n))
    if first is not None:
        x[0, 0] = first
    return x


def _noisy(t: Tensor) -> Tensor:
    # What another order of summation may do, made visible on every machine.
    return attention(t, t, t) * (1 + 1e-7 * torch.arange(len(t))[:, None])


def _cancelled(t: Tensor) -> Tensor:
    # What is left where large numbers cancel, made visible on every machine: any row may get any of it.
    return (1e-7 * torch.arange(len(t), dtype=t.dtype))[:, None].expand(t.shape)


def _moody(t: Tensor) -> Tensor:
    """Lets rows through only if the first is one of the two largest: two orders of seven do not show it.

    It never says too much: signed differences have one sign.
    """
    return t.abs() * (t[0, 0] >= t[:, 0].sort().values[-2])


def _shuffled(row: int, to: float = 2.0) -> Callable[[Tensor], Tensor]:
    """Sees an order in one row of the output alone, and only if the row with the largest entry is not the first."""

    def f(t: Tensor) -> Tensor:
        out = t.clone()
        if t[0, 0] < t[:, 0].max():
            out[row] = to * out[row]
        return out

    return f


def _last_is_no_number(t: Tensor) -> Tensor:
    return torch.cat((t[:-1], torch.full_like(t[-1:], torch.nan)))


def _plus(size: float) -> Callable[[Tensor], Tensor]:
    return lambda t: t + size * positions.sinusoidal(*t.shape, dtype=t.dtype)


def _a_thousandth_at_the_front(t: Tensor) -> Tensor:
    """Sees an order in one entry of many: the mean of all differences is less than rounding."""
    out = t.clone()
    out[0, 0] += 1e-3
    return out


def _beyond_three(t: Tensor) -> Tensor:
    """Minds the order only if more than three rows have left their places, where the first column falls."""
    moved = (t[:, 0] != t[:, 0].sort(descending=True).values).sum()
    return torch.cat((t[:1] * (1 + (moved > 3)), t[1:]))


def _beyond_the_ends(t: Tensor) -> Tensor:
    """Minds the order only if the row with the largest entry stands neither second, first nor last.

    From these places an exchange of two neighbours and a roll, of which all orders can be made, need not take it away.
    """
    at = int(t[:, 0].argmax())
    return t * (1 + (2 <= at < len(t) - 1))


def _of_thousands(t: Tensor) -> Tensor:
    """Outputs of which torch's own relative part, 1e-5, is some hundredths; the order moves them by thousandths, exactly."""
    return 4096 * t.round() + torch.arange(len(t))[:, None] / 512


_SINGLED = "It singles out one place. An order that moves this row shows it; try ten orders or more."
_UNLUCKY = "Its fault shows in five orders of seven. One order can be unlucky: try ten."

exercise(
    "positions-equivariant",
    "is_equivariant",
    reference=is_equivariant,
    cases=[
        case("twice each row", "That treats all rows alike, so the answer is True.", f=lambda t: 2 * t, x=_of(7, 4)),
        case("rows that cancel but for rounding",
             "Differences below 1e-5 are rounding, so the answer is True: compare with a tolerance that is absolute. Where outputs are "
             "close to 0, a relative one allows for nothing.",
             f=_cancelled, x=_of(8, 3)),
        case("attention without positions",
             "It is equivariant up to rounding. Permute the rows of the input, permute the rows of the output alike, compare "
             "with a tolerance.",
             f=_noisy, x=_of(9, 5)),
        case("a weight for each column",
             "It treats all rows alike, so the answer is True. Permute rows (tokens), not columns.",
             f=lambda t: t * torch.arange(1, t.shape[1] + 1), x=_of(6, 3)),
        case("the mean of all rows in place of each",
             "Its rows are all alike, so permuting them changes nothing: it is equivariant as well as invariant.",
             f=lambda t: t.mean(0, keepdim=True).expand(t.shape), x=_of(8, 2)),
        case("attention with sinusoids added to its tokens",
             "The order matters: f(PX) and P f(X) differ. Try orders that are not the one given, and compare row by row.",
             f=lambda t: _noisy(_plus(1.0)(t)), x=_of(7, 4)),
        case("sorted columns",
             "Sorting gives the same output for every order. That is invariance: f(PX) = f(X). Equivariance is f(PX) = P f(X), "
             "for every order.",
             f=lambda t: t.sort(0).values, x=_of(8, 5)),
        case("rows turned around",
             "That commutes with some orders, such as turning around. Try several orders.",
             f=lambda t: t.flip(0), x=_of(6, 4)),
        case("each row plus its neighbours on a ring",
             "It commutes with rolling and with turning around, not with every order. Draw orders at random.",
             f=lambda t: t + t.roll(1, 0) + t.roll(-1, 0), x=_of(9, 3)),
        case("the sum of all rows so far", "The order matters: the first row is left as it is.", f=lambda t: t.cumsum(0), x=_of(5, 6)),
        case("each row less the first", _SINGLED, f=lambda t: t - t[:1], x=_of(7, 3)),
        case("each row less the last", _SINGLED, f=lambda t: t - t[-1:], x=_of(8, 4)),
        case("each row less the fourth", _SINGLED, f=lambda t: t - t[3:4], x=_of(6, 5)),
        case("sinusoids of a thousandth added",
             "A thousandth is more than rounding: the tolerance must be tighter.",
             f=_plus(1e-3), x=_of(7, 6).abs() + 1),
        case("every other row with its sign changed",
             "The order matters. Compare entry by entry: lengths of rows don't say which way they point.",
             f=lambda t: t * (-1.0) ** torch.arange(len(t))[:, None], x=_of(6, 3)),
        case("the number of the row added to its last entry",
             "The order matters, if in one column alone. Compare all columns.",
             f=lambda t: t + torch.arange(len(t))[:, None] * (torch.arange(t.shape[1]) == t.shape[1] - 1), x=_of(8, 5)),
        *(case(f"a function in which the order moves the {which} row of the output alone", "Compare all rows.", f=_shuffled(row), x=_of(60, 3, first=9.0))
          for which, row in (("last", -1), ("first", 0))),
        case("a thousandth added to the first entry of the first row",
             "One entry a thousandth off is enough. A mean of all differences hides it among the others: compare entry by entry.",
             f=_a_thousandth_at_the_front, x=_of(60, 6)),
        case("a function that minds the order only if some number is above 50", "Whether it does is asked of this x, whose first number is 100.",
             f=lambda t: t + (t.max() > 50) * positions.sinusoidal(*t.shape, dtype=t.dtype), x=_of(6, 6, first=100.0)),
        *late(case("a function that minds the order only if some number is above 50, and none is", f=lambda t: t + (t.max() > 50) * positions.sinusoidal(*t.shape, dtype=t.dtype), x=_of(6, 6))),
        case("a last row that is not a number", "It stays in its place whatever the order. No comparison with NaN is true: ask whether all entries are close, not whether one is far.",
             f=_last_is_no_number, x=_of(5, 4)),
        case("outputs that are not a number", "The text says that a NaN is no rounding, wherever it stands: then the answer is False. Leave out equal_nan.",
             f=lambda t: torch.full_like(t, torch.nan), x=_of(6, 4)),
        *late(case("the number of the row added to its last entry, of 44",
                   f=lambda t: t + torch.arange(len(t))[:, None] * (torch.arange(t.shape[1]) == t.shape[1] - 1), x=_of(8, 44))),
        case("a function that minds the order only if more than three rows have moved",
             "For this x it commutes with every exchange of two rows and every ring of three, and not with every order. Draw orders at random.",
             f=_beyond_three, x=_of(9, 4).sort(0, descending=True).values),
        *(case(f"a function that some orders do not show, x of shape (7, {d})", _UNLUCKY, f=_moody, x=_of(7, d, first=3.0))
          for d in (2, 3, 4, 5)),
        case("a function that minds the order only if the largest row has gone far",
             "All orders can be made of a few, one after the other. But f is asked at this x alone, which these few may not show. Draw orders at random.",
             f=_beyond_the_ends, x=_of(20, 4, first=9.0)),
        case("thousands, and a part that minds the order",
             "It moves outputs by some thousandths, and the text says that one is not rounding. Of thousands torch.allclose allows hundredths: rtol=0 forbids it.",
             f=_of_thousands, x=_of(5, 3).abs() + 1),
        case("a function in which the order moves the 31st row of the output alone", "Compare all rows.", f=_shuffled(30), x=_of(60, 3, first=9.0)),
    ],
    mistakes=[
        mistake("It says True whatever the function does. If it tries an order, it is the one given: try others.",
                _asks(orders=lambda n: [torch.arange(n)])),
        mistake("It tries too few orders: one can be unlucky. Try ten.", _asks(orders=lambda n: _orders(n, 1))),
        mistake("It tries one order, turned around. Some functions commute with that and with no other: try ten at random.",
                _asks(orders=lambda n: [torch.arange(n).flip(0)])),
        mistake("It only rolls the rows. A mean of neighbours on a ring commutes with that: draw orders at random.",
                _asks(orders=lambda n: [torch.arange(n).roll(k) for k in range(n)])),
        mistake("It only exchanges the first two rows. Draw orders at random.",
                _asks(orders=lambda n: [torch.tensor([1, 0, *range(2, n)])])),
        *(
            mistake("It tries two orders of which all others can be made. But f is asked at one x, and another order of it may show what these do not: "
                    "draw orders at random.",
                    _asks(orders=lambda n, by=by: [torch.tensor([1, 0, *range(2, n)]), torch.arange(n).roll(by)]))
            for by in (1, -1)
        ),
        mistake("It asks for f(PX) = f(X), which is invariance. Permute the rows of the output alike: f(PX) = P f(X).",
                _asks(lambda f, x, p: _close(f(x[p]), f(x)))),
        mistake("It takes invariance, f(PX) = f(X), as well. Sorted rows are invariant, and not equivariant.",
                _asks(lambda f, x, p: _close(f(x[p]), f(x)) or _close(f(x[p]), f(x)[p]))),
        mistake("It permutes columns. Permute rows (tokens).",
                lambda f, x: all(_close(f(x[:, p]), f(x)[:, p]) for p in _orders(x.shape[1]))),
        mistake("It says True only where all rows of the output are alike. Take the rows of the output in the very order of the input's: "
                "f(x)[order] goes with x[order].",
                _asks(lambda f, x, p: _close(f(x[p]), f(x)[p.argsort()]))),
        mistake("It allows for too little rounding. Sums in another order differ in the last digits: compare with a tolerance.",
                _asks(lambda f, x, p: torch.equal(f(x[p]), f(x)[p]))),
        *(
            mistake("The tolerance is too wide. A thousandth is more than rounding.",
                    _asks(lambda f, x, p, off=off: _close(f(x[p]), f(x)[p], off)),
            )
            for off in (0.009, 1.0)
        ),
        mistake("It takes a NaN for equal to a NaN. The text says that a NaN is no rounding: leave out equal_nan.",
                _asks(lambda f, x, p: torch.allclose(f(x[p]), f(x)[p], rtol=0, atol=1e-5, equal_nan=True))),
        mistake("It allows for a part of each number, as torch.allclose does unless rtol=0. Of thousands that is more than a thousandth.",
                _asks(lambda f, x, p: torch.allclose(f(x[p]), f(x)[p], atol=1e-5))),
        mistake("It compares the mean of all differences, in which one entry can hide. Compare entry by entry.",
                _asks(lambda f, x, p: (f(x[p]) - f(x)[p]).abs().mean() < 1e-5)),
        mistake("It compares sums over the rows, which don't say where a row went. Compare row by row.",
                _asks(lambda f, x, p: _close(f(x[p]).sum(0), f(x).sum(0), 1e-4))),
        mistake("It compares sorted rows, which don't say where a row went. Compare row by row, in their order.",
                _asks(lambda f, x, p: _close(f(x[p]).sort(0).values, f(x).sort(0).values))),
        mistake("It says False whatever the function does.", lambda f, x: False),
        mistake("It says the opposite: True is for functions that treat all rows alike.", lambda f, x: not is_equivariant(f, x)),
    ],
    lift=False,
    praise="It knows layers that see an order from layers that see a set, up to rounding.",
)  # fmt: skip
