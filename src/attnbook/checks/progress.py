"""What this reader has solved: kept in a file beside the notebook, and shown on demand."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any

from IPython import get_ipython

from attnbook.checks.cells import uncompiled
from attnbook.checks.engine import judge
from attnbook.checks.exercise import EXERCISES, OTHERS, known
from attnbook.checks.verdict import MARKS, publish, show

_NOTHING = object()
_SEEN: dict[str, dict[str, Any]] = {}
FILE = "attnlab-progress.json"


def check(name: str | None = None, answer: Any = _NOTHING) -> None:
    """Show the verdict on an answer: ✓ right, ✗ wrong and why, ○ not written yet.

    Without arguments, show what is solved and what is open. In a notebook that is kept in a file beside it.

    Args:
        name: the exercise's name.
        answer: the reader's function.

    Raises:
        ValueError: there is no exercise of that name.
        TypeError: there is a name and no function.

    >>> check("relevance-sparsemax", lambda scores: scores)  # doctest: +ELLIPSIS
    ✗ ...
    """
    if name is None:
        _overview()
        return
    if answer is _NOTHING:
        raise TypeError(f"check needs your function too: check({name!r}, {known(name).answer})")
    verdict = judge(name, answer)
    older = uncompiled(answer, known(name).answer)
    if older:
        verdict = replace(verdict, message=f"{older} {verdict.message}")
    if verdict.status != "not yet":
        note(name, verdict.status == "right")
    show(verdict)


def note(name: str, solved: bool) -> None:
    """Count a try of an exercise; in a notebook, keep it in the file.

    Args:
        name: the exercise's name.
        solved: whether the answer was right.
    """
    seen = _SEEN.setdefault(name, {"solved": False, "tries": 0})
    seen["tries"] += not seen["solved"]
    seen["solved"] |= solved
    if hasattr(get_ipython(), "kernel"):
        with contextlib.suppress(OSError, ValueError):  # no place to write, or a file that is not ours
            report()


def _overview() -> None:
    """Show the report; a file that can't be read is put aside, and one that can't be written is missed by nobody."""
    try:
        found = report()
    except ValueError:
        aside = Path(FILE).with_suffix(".damaged")
        Path(FILE).replace(aside)
        print(f"{FILE} could not be read. It is {aside.name} now, and a new one begins.")
        found = report()
    except OSError:
        found = Report(dict(_SEEN), Path(FILE))
    publish(found)


@dataclass(frozen=True)
class Report:
    """What was solved, by exercise: {"solved": bool, "tries": int}; and what was answered in the book's pages."""

    exercises: dict[str, dict[str, Any]]
    path: Path
    pages: dict[str, Any] = field(default_factory=dict)
    """By page, `given`: by question the chosen answer and whether it is right. The book's pages write and read it."""

    def _topics(self) -> dict[str, list[str]]:
        """By topic, its exercises: what became of each, its name, and how many tries it took."""
        topics: dict[str, list[str]] = {}
        for name in (*EXERCISES, *OTHERS):
            topic, _, short = name.partition("-")
            seen = self.exercises.get(name)
            status = "not yet" if not seen else "right" if seen["solved"] else "wrong"
            tries = f" ({seen['tries']})" if seen else ""
            topics.setdefault(topic, []).append(f"{MARKS[status]} {short}{tries}")
        return topics

    def _sum(self) -> str:
        solved = sum(seen["solved"] for seen in self.exercises.values())
        given = [answer for page in self.pages.values() for answer in page["given"].values()]
        right = sum(right for _, right in given)
        asked = f"{len(given)} questions answered in the book, {right} right; " if given else ""
        every = len(EXERCISES) + len(OTHERS)
        return f"{solved} of {every} solved (in brackets the tries); {asked}kept in {self.path.name}"

    def __str__(self) -> str:
        rows = [f"{topic:<12}{'   '.join(parts)}" for topic, parts in self._topics().items()]
        return "\n".join([*rows, self._sum()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th scope='row' style='text-align: left'>{escape(topic)}</th>"
            + "".join(f"<td style='text-align: left'>{escape(part)}</td>" for part in parts)
            + "</tr>"
            for topic, parts in self._topics().items()
        )
        return f"<table><tbody>{rows}</tbody></table><p>{escape(self._sum())}</p>"


def report(path: str | os.PathLike = FILE) -> Report:
    """Show what this reader has solved, and keep it in a file beside the notebook.

    What the file already says is kept: an exercise that was solved once stays solved, also from another chapter's
    notebook or another day, and so do the answers of the book's pages, whose sidebar saves and opens such a
    file. Tries are counted until the first right answer.

    Args:
        path: the file, JSON; made if it does not exist, written whole or not at all.

    Returns:
        The report; a notebook shows it as a table.

    Raises:
        ValueError: there is a file of that name that holds something else; it is left as it is.
    """
    path = Path(path)
    found: dict[str, dict[str, Any]] = {}
    pages: dict[str, Any] = {}
    if path.exists():
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
            found = {
                name: {"solved": bool(x["solved"]), "tries": int(x["tries"])}
                for name, x in held["exercises"].items()
            }
            pages = {
                name: page
                | {"given": {asked: [int(at), bool(right)] for asked, (at, right) in page["given"].items()}}
                for name, page in held.get("pages", {}).items()
            }
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"path must be a file written by report(), {path.name} holds something else"
            ) from error
    for name, seen in _SEEN.items():
        old = found.get(name, {"solved": False, "tries": 0})
        tries = old["tries"] if old["solved"] else max(old["tries"], seen["tries"])
        found[name] = {"solved": old["solved"] or seen["solved"], "tries": tries}
    part = path.with_name(f"{path.name}.{os.getpid()}.part")  # another notebook may write at this moment
    held = {"exercises": found} | ({"pages": pages} if pages else {})
    part.write_text(json.dumps(held, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    part.replace(path)
    return Report(found, path, pages)
