"""The code that a reader's test is tried on: right in several styles, and wrong as people are wrong.

What is wrong is kept as a change of a few words in right code, so that the line can be shown beside what it
should be.
"""

from __future__ import annotations

import functools
import math
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher
from importlib.resources import files
from types import CodeType
from typing import Any

import torch
from torch.nn import functional

SEEN_BY = (
    "values",
    "sizes",
    "large numbers",
    "empty row",
    "gradients",
    "half precision",
    "double precision",
    "second call",
)
"""What a broken candidate can be told by: any numbers; certain sizes or places; and so on."""


@dataclass(frozen=True)
class Candidate:
    """A piece of code.

    Attributes:
        name: what it is called on the board.
        code: its source; the last function that it defines with the task's name is what is tested.
        title: of right code, its style.
        base: of broken code, the right code of which it is a change; empty for right code.
        says: what is wrong, and what people get wrong there.
        source: where it was seen: repositories with the number of a thread, or this book's readings.
        level: of difficulty, 1 to 5.
        tells: which kind of input it can be told by, one of `SEEN_BY`.
    """

    name: str
    code: str
    title: str = ""
    base: str = ""
    says: str = ""
    source: str = ""
    level: int = 0
    tells: str = ""

    @property
    def right(self) -> bool:
        """Whether it is right."""
        return not self.base

    def build(self, function: str) -> Callable:
        """Make the function anew, so that nothing that it keeps outlives one use.

        Args:
            function: its name in the code.
        """
        space: dict[str, Any] = {"torch": torch, "F": functional, "math": math, "__name__": "code"}
        exec(_compiled(self.code), space)
        return space[function]

    def wrong_lines(self) -> list[tuple[str, str]]:
        """List the lines that are wrong, each with what stands there in right code; either may be empty."""
        ours, theirs = self.code.splitlines(), self.base.splitlines()
        found = []
        for kind, a, b, c, d in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
            if kind != "equal":
                found.append(("\n".join(ours[a:b]), "\n".join(theirs[c:d])))
        return found


@functools.cache
def _compiled(code: str) -> CodeType:
    return compile(code, "<code>", "exec", dont_inherit=True)


@functools.cache
def load(name: str) -> tuple[Candidate, ...]:
    """Read the candidates of a task: the right ones, then the broken ones from easy to hard.

    Args:
        name: of a file in `code/`.

    Raises:
        ValueError: a change does not fit the code that it is to change.

    >>> [one.name for one in load("scaling") if one.right]
    ['plain', 'loops', 'einsum', 'fused']
    >>> load("scaling")[5].wrong_lines()
    [('    scores = scores / q.shape[-1]', '    scores = scores / q.shape[-1] ** 0.5')]
    """
    text = files("attnbook.checkers").joinpath(f"code/{name}.toml").read_text(encoding="utf-8")
    kept = tomllib.loads(text)
    right = {one["name"]: Candidate(one["name"], one["code"], one["title"]) for one in kept["right"]}
    wrong = []
    for one in kept["wrong"]:
        base = code = right[one["of"]].code
        for old, new in one["change"]:
            if base.count(old) != 1:
                raise ValueError(f"{one['name']}: {old!r} must stand once in {one['of']!r} of {name}")
            code = code.replace(old, new)
        texts = {key: one[key] for key in ("says", "source", "level", "tells")}
        wrong.append(Candidate(one["name"], code, base=base, **texts))
    return (*right.values(), *sorted(wrong, key=lambda one: one.level))
