"""Compare what an answer returned with what it should be, and say where the first difference is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


@dataclass(frozen=True)
class Difference:
    """The first place where an answer is not what it should be.

    Attributes:
        text: one sentence that is true of it.
        want: the numbers there as they should be, written out, or nothing where a table would say no more.
        got: the numbers there as they are.
        off: for each of them, whether it differs.
        value: whether the value of a call is wrong, and not how it came about, its dtype or its gradient.
    """

    text: str
    want: tuple[str, ...] = ()
    got: tuple[str, ...] = ()
    off: tuple[bool, ...] = field(default=())
    value: bool = False


@dataclass(frozen=True)
class Tolerance:
    """How far a number may be off: `absolute` + `relative` · |wanted|."""

    absolute: float = 1e-6
    relative: float = 1e-6

    def __call__(self, want: float) -> float:
        """Return how far a number may be from `want`."""
        return self.absolute + self.relative * abs(want)


def difference(
    got: Any, want: Any, within: Tolerance = Tolerance(), place: str = "The output"
) -> Difference | None:
    """Find the first difference between an answer's result and the reference's.

    Numbers of any numeric type, tensors of any layout, and lists, tuples or arrays for sequences are taken as
    they come; what matters is what they say. Only a tensor of whole numbers, as places, must hold whole numbers:
    floats can't be looked up with.

    Args:
        got: what the answer returned.
        want: what the reference returned; its type says what is expected.
        within: how far numbers may be off.
        place: what is compared, as the subject of a sentence.

    Returns:
        The difference, or None where there is none.

    >>> difference([1, np.float32(2.5)], (1, 2.5)) is None
    True
    >>> difference(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0004])).text
    'The output should be [1.0, 2.0004], it is [1.0, 2.0].'
    >>> difference({"a": 1}, {"a": 1, "b": 2}).text
    "The output lacks the key 'b'."
    """
    if got is None:
        return Difference(f"{place} is None. Is a `return` missing?")
    if isinstance(want, Tensor):
        return _tensors(got, want, within, place)
    if isinstance(want, bool):
        return _truths(got, want, place)
    if isinstance(want, Real):
        return _numbers(got, want, within, place)
    if isinstance(want, str):
        if isinstance(got, str) and got == want:
            return None
        return Difference(f"{place} should be {want!r}, it is {_short(got)}.", (want,), (str(got),), (True,))
    if isinstance(want, Mapping):
        return _mappings(got, want, within, place)
    if not hasattr(want, "__len__"):
        return _oddities(got, want, within, place)
    return _sequences(got, want, within, place)


def describe(value: Any) -> str:
    """Write an argument for a message: a tensor by its shape, small things whole.

    >>> describe(torch.zeros(2, 3)), describe([1, 2]), describe(0.5)
    ('(2, 3)', '[1, 2]', '0.5')
    """
    if isinstance(value, Tensor):
        return str(tuple(value.shape)) if value.dim() else str(value.item())
    if callable(value):
        # The repr of a function would show an address of memory, another one each time.
        return f"the function {getattr(value, '__name__', type(value).__name__)}"
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    return _short(value)


def _short(value: Any, most: int = 90) -> str:
    text = (
        f"a {type(value).__name__} of shape {tuple(value.shape)}" if hasattr(value, "shape") else repr(value)
    )
    if " at 0x" in text:
        text = f"a {type(value).__name__}"
    return text if len(text) <= most else text[: most - 1] + "…"


def _tensors(got: Any, want: Tensor, within: Tolerance, place: str) -> Difference | None:
    if not isinstance(got, Tensor):
        return Difference(f"{place} should be a tensor, it is {_named(got)}.")
    if got.device.type == "meta":
        return Difference(f"{place} is a tensor without data, on the device meta.")
    got = got.detach()
    got = got.to_dense() if got.layout is not torch.strided or got.is_mkldnn else got
    if got.shape != want.shape:
        return Difference(f"{place} should have shape {tuple(want.shape)}, it has {tuple(got.shape)}.")
    # Whole numbers do for real ones, not the other way round.
    if _kind(got) != _kind(want) and (_kind(got), _kind(want)) != ("whole numbers", "real numbers"):
        return Difference(f"{place} should hold {_kind(want)}, it has dtype {describe(got.dtype)}.")
    a, b = got.to("cpu", torch.float64), want.detach().to("cpu", torch.float64)
    near = b.isfinite() & ((a - b).abs() <= within.absolute + within.relative * b.abs())
    off = ~(near | (a == b) | (a.isnan() & b.isnan()))
    if not off.any():
        return None
    where = tuple(off.nonzero()[0].tolist())
    return _line(a, b, off, where, place, _kind(want))


def _kind(x: Tensor) -> str:
    """Say what a tensor holds, by its dtype."""
    if x.dtype is torch.bool:
        return "True and False"
    if x.is_complex():
        return "complex numbers"
    return "real numbers" if x.is_floating_point() else "whole numbers"


def _line(a: Tensor, b: Tensor, off: Tensor, where: tuple[int, ...], place: str, kind: str) -> Difference:
    """Show the row of the first wrong entry, around it if the row is long."""
    if not where:
        got, want = _apart([a.item()], [b.item()], [True], kind)
        return Difference(f"{place} should be {want[0]}, it is {got[0]}.", tuple(want), tuple(got), (True,))
    row, column = where[:-1], where[-1]
    start = max(0, min(column - 3, a.shape[-1] - 8))
    part = slice(start, start + 8)
    marks = off[row][part].tolist()
    got, want = _apart(a[row][part].tolist(), b[row][part].tolist(), marks, kind)
    cut = a.shape[-1] > 8
    if row:
        name = f"Row {row[0]}" if len(row) == 1 else f"The row at [{', '.join(map(str, row))}]"
    else:
        name = place
    if cut:
        name = (
            f"{name}, from entry {start} to {start + len(got) - 1},"
            if row
            else f"{name}, from entry {start} on,"
        )
    if row and place != "The output":
        name += f" of {place[0].lower()}{place[1:]}"
    text = f"{name} should be [{', '.join(want)}], it is [{', '.join(got)}]."
    return Difference(text, tuple(want), tuple(got), tuple(marks))


def _apart(got: list, want: list, off: list[bool], kind: str = "real numbers") -> tuple[list[str], list[str]]:
    """Write both with as many digits as it takes to see each difference."""
    if kind != "real numbers":
        exact = bool if kind == "True and False" else int
        return [str(exact(x)) for x in got], [str(exact(x)) for x in want]
    for digits in range(3, 18):
        a, b = ([_digits(x, digits) for x in xs] for xs in (got, want))
        if all(x != y for x, y, wrong in zip(a, b, off, strict=True) if wrong):
            break
    return a, b


def _digits(x: float, digits: int) -> str:
    if not math.isfinite(x):
        return str(x)
    if x and (abs(x) >= 1e7 or abs(x) < 1e-4):
        return f"{x:.{digits}g}"
    text = f"{x:.{digits}f}".rstrip("0")
    text += "0" if text.endswith(".") else ""
    return text.removeprefix("-") if float(text) == 0 else text


def _truths(got: Any, want: bool, place: str) -> Difference | None:
    if isinstance(got, Tensor | np.ndarray) and _count(got) == 1:
        got = got.item()
    if isinstance(got, bool | np.bool_):
        if bool(got) == want:
            return None
        return Difference(
            f"{place} should be {want}, it is {bool(got)}.", (str(want),), (str(bool(got)),), (True,)
        )
    return Difference(f"{place} should be True or False, it is {_named(got)}.")


def number(value: Any) -> Real | None:
    """Take a real number of any kind: Python's, NumPy's, a tensor or an array of one; None if it is not one.

    >>> number(np.float32(0.5)), number(torch.tensor([3])), number(Fraction(1, 3)), number(True), number(1j)
    (0.5, 3, Fraction(1, 3), None, None)
    """
    if isinstance(value, Tensor | np.ndarray):
        if _count(value) != 1 or (isinstance(value, Tensor) and value.device.type == "meta"):
            return None
        value = value.item()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Decimal):
        value = Fraction(value) if value.is_finite() else float(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    return value


def _numbers(got: Any, want: Real, within: Tolerance, place: str) -> Difference | None:
    found = number(got)
    if found is None:
        return Difference(f"{place} should be a number, it is {_named(got)}.")
    exact = isinstance(want, Fraction)
    if exact and not isinstance(found, Rational):
        return Difference(f"{place} should be exact, a Fraction; it is a {type(found).__name__}.")
    if exact:
        equal = Fraction(int(found.numerator), int(found.denominator)) == want
    elif math.isfinite(found) and math.isfinite(want):
        # Differences of whole numbers too large for a float are taken exactly.
        equal = abs(Fraction(found) - Fraction(want)) <= Fraction(within(float(want)))
    else:
        equal = found == want or (math.isnan(found) and math.isnan(want))
    if equal:
        return None
    if exact:
        a, b = [str(found)], [str(want)]
    elif isinstance(found, Rational) and isinstance(want, int):
        a, b = [f"{found:,}" if isinstance(found, int) else str(found)], [f"{want:,}"]
    else:
        a, b = _apart([float(found)], [float(want)], [True])
    return Difference(f"{place} should be {b[0]}, it is {a[0]}.", tuple(b), tuple(a), (True,))


def _oddities(got: Any, want: Any, within: Tolerance, place: str) -> Difference | None:
    """What only a wrong implementation gives, such as the root of a negative number; no reference does."""
    if isinstance(got, complex) and isinstance(want, complex) and abs(got - want) <= within(abs(want)):
        return None
    return None if got is want else Difference(f"{place} should be {_short(want)}, it is {_short(got)}.")


def _mappings(got: Any, want: Mapping, within: Tolerance, place: str) -> Difference | None:
    if not isinstance(got, Mapping):
        return Difference(f"{place} should be a dict, it is {_named(got)}.")
    for words, odd in (("lacks", want.keys() - got.keys()), ("should not have", got.keys() - want.keys())):
        if odd:
            return Difference(f"{place} {words} the key {min(odd, key=str)!r}.")
    for key, value in want.items():
        found = difference(got[key], value, within, f"The entry {key!r}")
        if found:
            return found
    return None


def _sequences(got: Any, want: Sequence, within: Tolerance, place: str) -> Difference | None:
    names = getattr(want, "_fields", None)

    def odd() -> Difference:
        return Difference(f"{place} should be {_many(want)}, it is {_named(got)}.")

    if isinstance(got, str | bytes | Mapping) or not hasattr(got, "__iter__"):
        return odd()
    if names and isinstance(got, Tensor | np.ndarray) and got.shape[:1] != (len(want),):
        return odd()  # one of the values, where all were asked for
    try:
        got = list(got.tolist() if isinstance(got, Tensor | np.ndarray) else got)
    except Exception:
        return odd()  # it says that it can be iterated, and can't, such as an array of no dimension
    if len(got) != len(want):
        return _lengths(got, want, place)
    for index, (a, b) in enumerate(zip(got, want, strict=True)):
        if names:
            name = f"The {names[index].replace('_', ' ')}"
        else:
            name = f"The {ORDINALS[index]} entry" if index < len(ORDINALS) else f"Entry {index}"
        name = name if place == "The output" else f"{place}: {name[0].lower()}{name[1:]}"
        found = difference(a, b, within, name)
        if found:
            plain = isinstance(b, tuple) or not isinstance(b, Tensor | Sequence | Mapping)
            # Full of tensors, or cut off where they do not differ yet, they would say nothing.
            if not plain or any(isinstance(x, Tensor) for x in want):
                return found
            whole = _short(list(want)), _short(got)
            if whole[0] == whole[1]:
                return found
            return replace(found, text=f"{found.text} As a whole it should be {whole[0]}, it is {whole[1]}.")
    return None


def _lengths(got: list, want: Sequence, place: str) -> Difference:
    def plain(items: Sequence) -> list:
        return [
            tuple(x.tolist() if hasattr(x, "tolist") else x)
            if hasattr(x, "__iter__") and not isinstance(x, str)
            else x
            for x in items
        ]

    try:
        a, b = plain(got), plain(want)
        missing = [x for x in b if x not in a]
        extra = [x for x in a if x not in b]
    except (TypeError, ValueError, RuntimeError):
        missing = extra = []
    text = f"{place} should have length {len(want)}, it has {len(got)}."
    text += f" Missing: {_short(missing)}." if missing else ""
    text += f" Too much: {_short(extra)}." if extra else ""
    return Difference(text)


def _many(want: Sequence) -> str:
    names = getattr(want, "_fields", None)
    if names:
        return f"{len(want)} values ({', '.join(name.replace('_', ' ') for name in names)})"
    return f"a {type(want).__name__} of {len(want)}"


def _named(got: Any) -> str:
    if isinstance(got, Tensor):
        return f"a tensor of shape {tuple(got.shape)}"
    if isinstance(got, np.ndarray):
        return f"a NumPy array of shape {got.shape}"
    if isinstance(got, bool | int | float | complex | str | Fraction):
        return f"{_short(got)} ({type(got).__name__})"
    return f"of type {type(got).__name__}"


def _count(got: Tensor | np.ndarray) -> int:
    return got.numel() if isinstance(got, Tensor) else got.size
