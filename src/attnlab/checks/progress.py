"""What this reader has solved: shown as a table, kept in a file."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from attnlab.checks.engine import judge
from attnlab.checks.exercise import EXERCISES
from attnlab.checks.verdict import MARKS, show

_SEEN: dict[str, dict[str, Any]] = {}
FILE = "attnlab-progress.json"


def check(name: str, answer: Any) -> None:
    """Show the verdict on an answer: ✓ right, ✗ wrong and why, ○ not written yet.

    Args:
        name: the exercise's name.
        answer: the reader's function.

    Raises:
        ValueError: there is no exercise of that name.

    >>> check("relevance-sparsemax", lambda scores: scores)  # doctest: +ELLIPSIS
    ✗ ...
    """
    verdict = judge(name, answer)
    if verdict.status != "not yet":
        seen = _SEEN.setdefault(name, {"solved": False, "tries": 0})
        seen["tries"] += not seen["solved"]
        seen["solved"] |= verdict.status == "right"
    show(verdict)


@dataclass(frozen=True)
class Report:
    """What was solved, by exercise: {"solved": bool, "tries": int}."""

    exercises: dict[str, dict[str, Any]]
    path: Path

    def _lines(self) -> list[tuple[str, str, str]]:
        lines = []
        for name in EXERCISES:
            seen = self.exercises.get(name)
            status = "not yet" if not seen else "right" if seen["solved"] else "wrong"
            tries = "" if not seen else f"{seen['tries']} {'try' if seen['tries'] == 1 else 'tries'}"
            lines.append((MARKS[status], name, tries))
        return lines

    def __str__(self) -> str:
        solved = sum(seen["solved"] for seen in self.exercises.values())
        rows = "\n".join(f"{mark} {name:<28}{tries}".rstrip() for mark, name, tries in self._lines())
        return f"{rows}\n{solved} of {len(EXERCISES)} solved; kept in {self.path.name}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{mark}</td><td style='text-align: left'>{escape(name)}</td><td>{tries}</td></tr>"
            for mark, name, tries in self._lines()
        )
        solved = sum(seen["solved"] for seen in self.exercises.values())
        return (
            f"<table><thead><tr><th></th><th>exercise</th><th>tries</th></tr></thead><tbody>{rows}</tbody></table>"
            f"<p>{solved} of {len(EXERCISES)} solved; kept in <code>{escape(self.path.name)}</code></p>"
        )


def report(path: str | os.PathLike = FILE) -> Report:
    """Show what this reader has solved, and keep it in a file beside the notebook.

    What the file already says is kept: an exercise that was solved once stays solved, also from another chapter's
    notebook or another day. Tries are counted until the first right answer.

    Args:
        path: the file, JSON; made if it does not exist, written whole or not at all.

    Returns:
        The report; a notebook shows it as a table.

    Raises:
        ValueError: there is a file of that name that holds something else; it is left as it is.
    """
    path = Path(path)
    found: dict[str, dict[str, Any]] = {}
    if path.exists():
        try:
            found = json.loads(path.read_text(encoding="utf-8"))["exercises"]
            found = {
                name: {"solved": bool(x["solved"]), "tries": int(x["tries"])} for name, x in found.items()
            }
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"path must be a file written by report(), {path.name} holds something else"
            ) from error
    for name, seen in _SEEN.items():
        old = found.get(name, {"solved": False, "tries": 0})
        tries = old["tries"] if old["solved"] else max(old["tries"], seen["tries"])
        found[name] = {"solved": old["solved"] or seen["solved"], "tries": tries}
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps({"exercises": found}, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    part.replace(path)
    return Report(found, path)
