"""What most tests ask: the shape of what comes out, and one example. A page counts what examples refuse."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


def _pieces(make: Callable, parts: tuple[Tensor, ...], sizes: tuple[int, ...]) -> Tensor:
    """Feed a text to a cache in pieces."""
    step = make(3)
    return torch.cat([step(*piece) for piece in zip(*(x.split(sizes, -2) for x in parts), strict=True)], -2)


def _a_mask(*shape: int) -> Tensor:
    """Draw a mask under which each query sees its first key, and others by chance."""
    return (torch.rand(shape) < 0.5).index_fill(-1, torch.tensor([0]), True)


EXAMPLES: dict[str, Inputs] = {
    "testing-scaling": lambda: (_normal(5, 64), _normal(5, 64), _normal(5, 64)),
    "testing-mask": lambda: (*(_normal(5, 8) for _ in "qkv"), torch.ones(5, 5).tril() > 0),
    "testing-heads": lambda: (_normal(2, 5, 16), *(0.3 * _normal(16, n) for n in (16, 8, 8, 16)), 4, 2),
    "testing-rotary": lambda: (_normal(5, 8), torch.arange(5)),
    "testing-cache": lambda: tuple(_normal(5, 8) for _ in "qkv"),
    "testing-linear": lambda: tuple(_normal(5, 8) for _ in "qkv"),
}
"""One input of each task, as a first test draws it: small, equally wide, one batch or none, one mask."""


APART: dict[str, Inputs] = {
    "testing-scaling": lambda: (_normal(2, 3, 5), _normal(2, 4, 5), _normal(2, 4, 6)),
    "testing-mask": lambda: (_normal(2, 3, 5), _normal(2, 4, 5), _normal(2, 4, 6), _a_mask(2, 3, 4)),
    "testing-heads": lambda: (
        _normal(2, 5, 12),
        *(0.4 * _normal(*shape) for shape in ((12, 20), (12, 10), (12, 4), (8, 12))),
        4,
        2,
    ),
    "testing-rotary": lambda: (_normal(2, 5, 14), torch.tensor([3, 0, -7, 5000, 100_000])),
    "testing-cache": lambda: (_normal(2, 11, 6), _normal(2, 11, 6), _normal(2, 11, 5)),
    "testing-linear": lambda: (_normal(2, 37, 5), _normal(2, 37, 5), _normal(2, 37, 3)),
}
"""One input of each task with a batch and unequal sizes; places are far, pieces uneven, masks drawn."""


def _called(name: str, code: Callable, given: tuple[Any, ...]) -> Tensor:
    if name != "testing-cache":
        return code(*given)
    n = given[0].shape[-2]
    return _pieces(code, given, (1,) * n if n < 11 else (1, 4, 1, 5))


def of_shape(name: str) -> Callable[[Any], bool]:
    """Make a test that asks for nothing but the shape.

    Args:
        name: of a task.
    """
    given = EXAMPLES[name]()
    shape = given[0].shape  # in each of these examples what comes out is as wide as what goes in
    return lambda code: _called(name, code, EXAMPLES[name]()).shape == shape


def of_one_example(name: str, examples: Mapping[str, Inputs] = EXAMPLES) -> Callable[[Any], bool]:
    """Make a test that compares one example with right code.

    Args:
        name: of a task.
        examples: an input of each task, by its name.
    """
    task = CHECKERS[name]

    def test(code: Any) -> bool:
        given = examples[name]()
        want = _called(name, task.reference.build(task.function), tuple(_copy(x) for x in given))
        return torch.allclose(_called(name, code, given), want, rtol=1e-3, atol=1e-4)

    return test


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def census() -> Table:
    """Count, for each task, the broken code that one example refuses, and a better one.

    >>> print(census())  # doctest: +ELLIPSIS
    tested ...
    """
    rows, sums = [], [0, 0, 0]
    for name, task in CHECKERS.items():
        broken = sum(not one.right for one in task.candidates)
        tests = (of_one_example(name), of_one_example(name, APART))
        row = [broken, *(len(caught(name, test)) for test in tests)]
        rows.append([TITLES[name], *row])
        sums = [a + b for a, b in zip(sums, row, strict=True)]
    rows.append(["all", *sums])
    head = ["tested", "broken", "refused by one example", "by one, all sizes different"]
    return Table(head, rows, about="broken code of each task, and how much two tests refuse")
