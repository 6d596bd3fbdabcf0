"""Stored results: read in one line, shown with where they come from; written by the scripts in benchmarks/.

>>> load("costs")["repeats"]
3
"""

from __future__ import annotations

import html
import json
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from IPython.display import display

from attnbook import benchmark, tables
from attnbook.experiments import Comparison
from attnbook.experiments.comparison import note as how


def folder() -> Path:
    """Return the folder of stored results: of the clone one stands in, or of attnbook's own.

    An installed package brings them along.

    Raises:
        FileNotFoundError: there is none; the message says what to do.

    >>> (folder() / "costs.json").is_file()
    True
    """
    here, package = Path.cwd(), Path(__file__).resolve().parent
    for place in (here, *here.parents, package.parents[1]):
        if (place / "benchmarks/results").is_dir() and (place / "_toc.yml").is_file():
            return place / "benchmarks/results"
    if (package / "stored").is_dir():
        return package / "stored"
    raise FileNotFoundError(
        f"no stored results: {package} is neither an installed attnbook, which brings them, nor in a clone "
        "of the book's repository. Install it, as the first cell of each notebook in notebooks/ does"
    )


def load(name: str) -> dict[str, Any]:
    """Return what is stored under a name.

    Args:
        name: a topic, as "tagging".

    Raises:
        FileNotFoundError: nothing is stored under it; the message lists what is.
        ValueError: the file names no commit, one with changes, or one that the clone's history does not have.

    >>> load("costs")["shape"]["heads"]
    8
    """
    path = folder() / f"{name}.json"
    if not path.is_file():
        there = ", ".join(sorted(file.stem for file in path.parent.glob("*.json")))
        raise FileNotFoundError(f"no results are stored under {name!r}; there are: {there}")
    stored = json.loads(path.read_text(encoding="utf-8"))
    commit = stored.get("commit")
    _refuse(commit, path.name, f"Run `{stored.get('made by')}` again, from a clean commit")
    if not _known(commit, path.parents[2]):
        raise ValueError(
            f"{path.name} must have a commit of this repository, so that anyone can make it again; git knows "
            f"no {commit} here. Run `{stored.get('made by')}` again, from a clean commit"
        )
    return stored


def sweep(name: str, which: str | None = None) -> Comparison:
    """Return a stored sweep, for its `plot`, its rows, or `experiments.again`.

    Args:
        name: a topic.
        which: which of its sweeps; the only one unless given.

    Raises:
        FileNotFoundError: nothing is stored under the name.
        ValueError: there is no such sweep, or several and none is asked for.
    """
    sweeps = load(name).get("sweeps", {})
    if which is None and len(sweeps) == 1:
        which = next(iter(sweeps))
    if which not in sweeps:
        raise ValueError(f"which must be a sweep of {name!r}, one of {list(sweeps)}, got {which!r}")
    return Comparison.from_dict(sweeps[which])


def show(
    name: str,
    head: Sequence[str] | None = None,
    rows: Sequence[Sequence[object]] | None = None,
    *,
    which: str | Sequence[str] | None = None,
    about: str = "",
    note: str = "",
    folded: str = "",
    also: Sequence[str] = (),
    digits: int = 2,
) -> None:
    """Display stored results as a real table, with where they come from in a fold under it.

    Stored sweeps bring their own tables. Other results, as times, are shown with the head and the rows
    that the page makes of them.

    Args:
        name: a topic.
        head: the names of the columns, where the page makes the table.
        rows: the cells.
        which: show one of several sweeps only; where the page makes the table, those from which it is made,
            all unless given, none for an empty tuple.
        about: what the table tells, in words, for readers who do not see it; needed with `head`.
        note: a line under the table. What the sweeps were given is told behind it.
        folded: how the numbers were made, longer than a line: it opens the fold.
        also: other topics whose numbers the page shows there; the fold has where they come from as well.
        digits: digits after the point in the table of a sweep.

    Raises:
        FileNotFoundError: nothing is stored under the name.
        ValueError: the results are no sweep and no rows were given, or there is no such sweep.

    >>> show("costs", ["layer", "n"], [["self-attention", 2]], about="exponents of the costs")
    layer           n
    self-attention  2
    made by python benchmarks/costs.py
    """
    stored = load(name)
    chosen = list(stored.get("sweeps", ())) if which is None else [which] if isinstance(which, str) else which
    if head is not None and rows is not None:
        given = how([sweep(name, title) for title in chosen]) if chosen else ""
        parts = [("", tables.Table(head, rows, about=about, note=f"{note} {given}".strip()))]
    elif chosen:
        parts = [(title, sweep(name, title).as_table(digits=digits)) for title in chosen]
        parts = parts if len(parts) > 1 else [("", parts[0][1])]
    else:
        raise ValueError(f"{name!r} holds no sweep: give the head and the rows of a table")
    display(_Shown(parts, [stored, *map(load, also)], folded))


def source(name: str) -> None:
    """Display where stored results come from, and nothing else: for a plot, or numbers in the text.

    Args:
        name: a topic.

    >>> source("costs")
    made by python benchmarks/costs.py
    """
    display(_Shown([], [load(name)]))


def begin(path: Path | None = None) -> None:
    """Begin a script that stores results: refuse changed code now, not after an hour of training.

    What runs is the code of this moment, so `store` writes its commit, whatever is committed in between.

    Args:
        path: where the results will go, for a trial, which may run on any code; as in `store`.

    Raises:
        ValueError: the code has no commit, or was changed since.
    """
    global _begun
    _begun = _commit()
    if path is None:
        _refuse(_begun, "this code", _TRIAL)


_begun: str | None = None
_TRIAL = "Commit the code, then run the script; or give `path=` for a trial"


def store(
    name: str,
    numbers: Mapping[str, Any],
    *,
    command: str,
    seeds: Iterable[int] | None = None,
    packages: Sequence[str] = (),
    path: Path | None = None,
) -> None:
    """Write results with where they come from; an interruption leaves the old file whole.

    Args:
        name: a topic; no chapter's number.
        numbers: what to keep. Under the key "sweeps", a title for each `Comparison`.
        command: what to type to make them again, as "python benchmarks/heads.py".
        seeds: the seeds of the runs, where there are any.
        packages: installed packages whose versions matter.
        path: another file, for a trial.

    Raises:
        ValueError: a number is not finite; or the code has no commit, or was changed, and this is no trial.
    """
    commit = _begun or _commit()
    if path is None:
        _refuse(commit, "this code", _TRIAL)
    numbers = dict(numbers)
    if "sweeps" in numbers:
        numbers["sweeps"] = {
            title: found.as_dict() if isinstance(found, Comparison) else found
            for title, found in numbers["sweeps"].items()
        }
    head = {"made by": command, "commit": commit, "date": datetime.now(UTC).strftime("%Y-%m-%d")}
    if seeds is not None:
        head["seeds"] = list(seeds)
    target = path or folder() / f"{name}.json"
    benchmark.store(target, head | {"machine": benchmark.provenance(*packages)} | numbers)


def facts(stored: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return where results come from, as pairs of words: command, commit, date, seeds, machine, versions.

    >>> facts({"made by": "a script", "seeds": [0, 1], "machine": {"torch": "2.13.0", "threads": 1}})
    [('made by', 'a script'), ('seeds', '0, 1'), ('threads', '1'), ('torch', '2.13.0')]
    """
    out = [(key, str(stored[key])) for key in ("made by", "commit", "date") if stored.get(key)]
    if stored.get("seeds"):
        out.append(("seeds", ", ".join(map(str, stored["seeds"]))))
    machine = dict(stored.get("machine", {}))
    versions = {key: machine.pop(key, None) for key in ("python", "torch")} | machine.pop("packages", {})
    for found in (machine, versions):
        out += [(key, str(value)) for key, value in found.items() if value is not None]
    return out


class _Shown:
    """Tables, each with a title where there are several, and the fold."""

    def __init__(
        self, parts: Sequence[tuple[str, tables.Table]], stored: Sequence[Mapping[str, Any]], folded: str = ""
    ) -> None:
        self.parts, self.facts, self.folded = parts, [facts(one) for one in stored], folded

    def __repr__(self) -> str:
        text = [f"{title}\n{table!r}" if title else repr(table) for title, table in self.parts]
        made = (f"made by {said}" for one in self.facts for key, said in one if key == "made by")
        return "\n".join([*text, *([self.folded] if self.folded else []), *made])

    def _repr_html_(self) -> str:
        body = "".join(
            (f"<p><strong>{html.escape(title)}</strong></p>" if title else "") + table._repr_html_()
            for title, table in self.parts
        )
        said = (("".join(f"<li>{html.escape(': '.join(fact))}</li>" for fact in one)) for one in self.facts)
        lists = "".join(f"<ul>{lines}</ul>" for lines in said)
        first = f"<p>{html.escape(self.folded)}</p>" if self.folded else ""
        return f"{body}<details><summary>Where these numbers come from</summary>{first}{lists}</details>"


def _refuse(commit: str | None, what: str, remedy: str) -> None:
    if commit is None or not re.fullmatch("[0-9a-f]{7,40}", commit):
        raise ValueError(
            f"{what} must have a commit without changes, so that anyone can make the results again; it has "
            f"{commit or 'none'}. {remedy}"
        )


@cache
def _known(commit: str, clone: Path) -> bool:
    """Return whether a clone's history has a commit; yes where there is no history, or only a part of it."""

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *words], cwd=clone, capture_output=True, text=True, check=False)

    try:
        whole = (clone / ".git").exists() and git(
            "rev-parse", "--is-shallow-repository"
        ).stdout.strip() == "false"
        return not whole or git("cat-file", "-e", f"{commit}^{{commit}}").returncode == 0
    except OSError:  # no git
        return True


def _commit() -> str | None:
    """Return the commit of the code that runs, marked if the code was changed since; None outside a clone."""
    root = Path(__file__).resolve().parents[2]

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout

    try:
        changed = git("status", "--porcelain", "--", "src", "benchmarks/*.py").strip()
        return git("rev-parse", "--short=10", "HEAD").strip() + (" with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None
