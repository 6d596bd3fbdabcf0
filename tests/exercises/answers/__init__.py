"""Answers that readers gave, or could give: one file an exercise, each a function or class on the page.

A file is named after its exercise, `heads-layer` in `heads_layer.py`. What it marks with `right` must be
accepted; what it marks with `wrong` must be refused, and the reader told why.

    @wrong("with a_j in place")
    def gates_shifted(a, x): ...

    right(recurrence_in_tiles(8), "in tiles of 8")
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple


class Answer(NamedTuple):
    """An answer, what the reader must be told of it (a piece of the message), and the exercise."""

    exercise: str
    title: str
    status: str
    piece: str
    does: Any


ANSWERS: list[Answer] = []


def right(does: Any, title: str = "", /) -> Any:
    """Note an answer that must be accepted; returns it as it is."""
    return _note("right", "", does, title)


def wrong(piece: str, /) -> Callable[..., Any]:
    """Note an answer that must be refused with a message that has this piece in it."""
    return lambda does, title="": _note("wrong", piece, does, title)


def _note(status: str, piece: str, does: Any, title: str) -> Any:
    module = sys._getframe(2).f_globals["__name__"]  # the file that calls, wherever the answer was made
    exercise = module.rpartition(".")[2].replace("_", "-")
    ANSWERS.append(Answer(exercise, title or does.__name__, status, piece, does))
    return does


def load() -> list[Answer]:
    """Import every file beside this one and return what they noted.

    Raises:
        AssertionError: two answers of an exercise have one title.
    """
    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        importlib.import_module(f"{__name__}.{path.stem}")
    titles = [(one.exercise, one.title) for one in ANSWERS]
    assert len(set(titles)) == len(titles), {one for one in titles if titles.count(one) > 1}
    return ANSWERS
