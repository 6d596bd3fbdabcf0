"""What most tests ask: the shape of what comes out, and one example. A page counts what these let pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnbook.checkers.judging import caught
from attnbook.checkers.tasks import CHECKERS
from attnbook.tables import Table

Inputs = Callable[[], tuple[Any, ...]]
TITLES = {
    "testing-scaling": "scaled attention",
    "testing-mask": "a mask",
    "testing-heads": "grouped heads",
    "testing-rotary": "rotary positions",
    "testing-cache": "a cache",
    "testing-linear": "linear attention",
}
"""What each task tests, in a word or two."""


def _normal(*shape: int) -> Tensor:
    return torch.randn(*shape)


def _pieces(make: Callable, parts: tuple[Tensor, ...]) -> Tensor:
    """Feed a text to a cache, one token at a time."""
    step = make(3)
    return torch.cat([step(*(x[..., i : i + 1, :] for x in parts)) for i in range(parts[0].shape[-2])], -2)


EXAMPLES: dict[str, Inputs] = {
    "testing-scaling": lambda: (_normal(5, 64), _normal(5, 64), _normal(5, 64)),
    "testing-mask": lambda: (*(_normal(5, 8) for _ in "qkv"), torch.ones(5, 5).tril() > 0),
    "testing-heads": lambda: (_normal(2, 5, 16), *(0.3 * _normal(16, n) for n in (16, 8, 8, 16)), 4, 2),
    "testing-rotary": lambda: (_normal(5, 8), torch.arange(5)),
    "testing-cache": lambda: tuple(_normal(5, 8) for _ in "qkv"),
    "testing-linear": lambda: tuple(_normal(5, 8) for _ in "qkv"),
}
"""One input of each task, as a first test draws it: small, equally wide, one batch or none, one mask."""


def _called(name: str, code: Callable, given: tuple[Any, ...]) -> Tensor:
    return _pieces(code, given) if name == "testing-cache" else code(*given)


def of_shape(name: str) -> Callable[[Any], bool]:
    """Make a test that asks for nothing but the shape.

    Args:
        name: of a task.
    """
    given = EXAMPLES[name]()
    shape = given[0].shape  # in each of these examples what comes out is as wide as what goes in
    return lambda code: _called(name, code, EXAMPLES[name]()).shape == shape


def of_one_example(name: str) -> Callable[[Any], bool]:
    """Make a test that compares one example with right code.

    Args:
        name: of a task.
    """
    task = CHECKERS[name]

    def test(code: Any) -> bool:
        given = EXAMPLES[name]()
        want = _called(name, task.reference.build(task.function), tuple(_copy(x) for x in given))
        return torch.allclose(_called(name, code, given), want, rtol=1e-3, atol=1e-4)

    return test


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def census() -> Table:
    """Count, for each task, the broken code that a test of shapes refuses, and one example.

    >>> print(census())  # doctest: +ELLIPSIS
    tested ...
    """
    rows, sums = [], [0, 0, 0]
    for name, task in CHECKERS.items():
        broken = sum(not one.right for one in task.candidates)
        row = [broken, len(caught(name, of_shape(name))), len(caught(name, of_one_example(name)))]
        rows.append([TITLES[name], *row])
        sums = [a + b for a, b in zip(sums, row, strict=True)]
    rows.append(["all", *sums])
    head = ["tested", "broken", "refused by their shape", "refused by one example"]
    return Table(head, rows, about="broken pieces of code of each task, and how many two lazy tests refuse")
