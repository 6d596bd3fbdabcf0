"""Numbers as the findings say them."""

from __future__ import annotations

from torch import Tensor

from attnbook.properties.subject import Inputs


class Broken(Exception):
    """A property does not hold: what was seen, and with which tensors."""

    def __init__(self, text: str, **example: Tensor) -> None:
        super().__init__(text)
        self.text, self.example = text, example


def number(x: float) -> str:
    """Return three digits of a number.

    >>> number(0.12345), number(float("nan")), number(1234.5)
    ('0.123', 'NaN', '1.23e+03')
    """
    return "NaN" if x != x else f"{x:.3g}"


def short(row: Tensor) -> str:
    """Return the first numbers of a row.

    >>> import torch
    >>> short(torch.arange(5.0))
    '[0, 1, 2, 3, …]'
    """
    flat = row.detach().double().flatten().tolist()
    return f"[{', '.join(map(number, flat[:4]))}{', …' if len(flat) > 4 else ''}]"


def two(a: float, b: float) -> tuple[str, str]:
    """Return two numbers with as many digits as it takes to tell them apart, three at least.

    >>> two(0.5, 0.25), two(0.33334, 0.33331)
    (('0.5', '0.25'), ('0.33334', '0.33331'))
    """
    for digits in range(3, 17):
        pair = tuple("NaN" if x != x else f"{x:.{digits}g}" for x in (a, b))
        if pair[0] != pair[1]:
            break
    return pair


def few(got: Tensor, want: Tensor) -> str:
    """Say how one row differs from what it should be, where it does most: (..., d) each.

    >>> import torch
    >>> few(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0]))
    'is 2 where it should be 3'
    """
    a, b = got.detach().double().flatten(), want.detach().double().flatten()
    apart = (a - b).abs().nan_to_num(float("inf"), float("inf"))
    place = int(apart.argmax())
    return "is {} where it should be {}".format(*two(float(a[place]), float(b[place])))


def rows_of(inputs: Inputs, mask: Tensor | None = None) -> dict[str, Tensor]:
    """Return inputs by their names."""
    named = dict(zip(("q", "k", "v") if len(inputs) == 3 else ("x",), inputs, strict=True))
    return named if mask is None else named | {"mask": mask}
