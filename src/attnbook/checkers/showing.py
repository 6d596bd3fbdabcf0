"""What a property caught, for a page: how many, and the hardest with the line that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attnbook import results
from attnbook.checkers.board import Shown
from attnbook.checkers.judging import caught
from attnbook.checkers.lazy import APART, TITLES, of_one_example
from attnbook.checkers.tasks import known
from attnbook.checks.verdict import publish
from attnbook.tables import Table


def show_caught(name: str, tests: Callable[[Any], Any], broken: str = "") -> None:
    """Show what a test refuses: how many, and one of them with its line.

    Args:
        name: the exercise's name.
        tests: the test.
        broken: the name of one of them; the hardest unless given.

    Raises:
        ValueError: the test refuses right code, or does not refuse the one that is named.

    >>> import torch
    >>> def few(attention):
    ...     return attention(*torch.ones(3, 3, 4)).mean() < 2
    >>> show_caught("testing-linear", few, "not divided")
    Refuses 3 of 20, one of which: The sum of the weights is not divided by: outputs grow with the text.
    it has:
    return (pairs @ v.to(wide) / torch.ones_like(total)).to(q.dtype)
    it should have:
    return (pairs @ v.to(wide) / total).to(q.dtype)
    """
    found = caught(name, tests)
    chosen = [one for one in found if one.name == broken] if broken else found[-1:]
    if not chosen:
        raise ValueError(f"broken must be one of {', '.join(one.name for one in found)}; got {broken!r}")
    (one,) = chosen
    count = sum(not x.right for x in known(name).candidates)
    wrong, right = zip(*one.wrong_lines(), strict=True)
    parts = (("it has", _lines(wrong)), ("it should have", _lines(right)))
    publish(Shown(f"Refuses {len(found)} of {count}, one of which: {one.says}", parts))


def together(questions: Mapping[str, Sequence[Callable[[Any], Any]]]) -> Table:
    """Count the broken code of each task that questions refuse, and the battery, alone and with an example.

    Args:
        questions: of a task, by its name. One that has none does not count in the last row.

    Raises:
        ValueError: a question refuses right code.

    >>> print(together({}))  # doctest: +ELLIPSIS
    tested ...
    """
    battery: dict[str, set[str]] = {}
    for row in results.load("battery-candidates")["found"]:
        if row["caught by"] and not row["right"]:
            battery.setdefault(row["exercise"], set()).add(row["title"])
    rows, sums = [], [0] * 5
    for name, title in TITLES.items():
        found = {one.name for asked in questions.get(name, ()) for one in caught(name, asked)}
        wrong = [one for one in known(name).candidates if not one.right]
        told = {one.name for one in wrong if one.says in battery.get(name, ())}
        example = {one.name for one in caught(name, of_one_example(name, APART))}
        if name not in questions:
            rows.append([title, len(wrong), "–", "–", len(told), len(told | example)])
            continue
        row = [len(wrong), len(found), len(found | example), len(told), len(told | example)]
        rows.append([title, *row])
        sums = [a + b for a, b in zip(sums, row, strict=True)]
    head = ["tested", "broken", "questions", "questions + example", "battery", "battery + example"]
    about = "broken code of each task: how much questions, the battery and an example refuse"
    return Table(head, [*rows, ["all that both were asked", *sums]], about=about)


def _lines(texts: tuple[str, ...]) -> str:
    lines = [line.strip() for text in texts for line in text.splitlines()]
    told = [line for line in lines if line.partition(" = ")[0] != line.partition(" = ")[2]]  # not `x = x`
    return "\n".join(told) or "(nothing)"
