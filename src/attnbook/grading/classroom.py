"""A folder with a class's notebooks in, a table with a row for each exercise out.

Everything is read before anything runs, and nothing is ever written into the folder. What runs is what
`attnbook.grading.isolation` holds; what that does not protect stands there.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import html
import io
import json
import os
import stat
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, field, fields
from pathlib import Path
from typing import Any

from attnbook.checks.exercise import EXERCISES, OTHERS
from attnbook.checks.verdict import MARKS
from attnbook.grading.cells import CHECK, Cell, judge_apart, named
from attnbook.grading.isolation import Limits

LARGEST = 20 * 1024**2
"""Bytes of a notebook that are read."""
LONGEST = 1000
"""Characters of a cell of the table."""
FILES = ("grades.csv", "grades.html")
STYLE = """
body { font: 11pt/1.4 system-ui, sans-serif; max-width: 70rem; margin: 1rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin-bottom: 1.5rem; }
caption { text-align: left; font-weight: 600; padding: 0.3rem 0; }
th, td { border-bottom: 1px solid #999; padding: 0.2rem 0.5rem; text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
td:nth-child(3) { white-space: nowrap; }
@media (prefers-color-scheme: dark) { body { background: #16191d; color: #e6e6e6; } }
"""


@dataclass(frozen=True)
class Row:
    """A line of the table.

    Attributes:
        student: the name of the folder, or of the file without its ending.
        notebook: the file; empty where there is none.
        exercise: its name; empty where the line is about the whole notebook.
        verdict: right, wrong or not yet, as `check` says it; missing; or not judged.
        message: why.

    >>> Row("Ann", "01.ipynb", "why-scores", "right", "One line\\nor two.").message
    'One line or two.'
    """

    student: str
    notebook: str
    exercise: str
    verdict: str
    message: str

    def __post_init__(self) -> None:
        for one in fields(self):
            object.__setattr__(self, one.name, _clean(getattr(self, one.name)))


@dataclass(frozen=True)
class Handed:
    """What a student handed in: the cells of a notebook, or why there are none."""

    student: str
    path: Path
    cells: tuple[Cell, ...] = ()
    trouble: str = ""
    digest: str = field(default="", repr=False)

    @property
    def exercises(self) -> list[str]:
        """The exercises that belong to it, first those that it checks, then others of the same topics."""
        topics = {name.partition("-")[0] for name in self.asked}
        others = [name for name in TASKS if name.partition("-")[0] in topics and name not in self.asked]
        return [*self.asked, *others]

    @property
    def asked(self) -> list[str]:
        """The exercises that it checks, in its order."""
        names = (name for cell in self.cells for name in CHECK.findall(cell.source))
        return list(dict.fromkeys(name for name in names if name in TASKS))


TASKS: dict[str, Any] = EXERCISES | OTHERS


def collect(folder: Path) -> list[Handed]:
    """Read a class's notebooks, and run nothing.

    Args:
        folder: it holds a folder for each student, or a notebook for each. What is hidden, or deeper, is not
            looked at, and no link is followed.

    Returns:
        What was handed in, in the order of names. A student without a notebook is there, too.

    Raises:
        NotADirectoryError: there is no such folder.

    >>> collect(Path("no-such"))
    Traceback (most recent call last):
    NotADirectoryError: folder must be a folder of students' notebooks, got no-such
    """
    if not folder.is_dir():
        raise NotADirectoryError(f"folder must be a folder of students' notebooks, got {folder}")
    found: list[Handed] = []
    for entry in sorted(folder.iterdir(), key=lambda path: path.name):
        if entry.name.startswith("."):
            continue
        if entry.suffix == ".ipynb" and not (entry.is_dir() and not entry.is_symlink()):
            found.append(_read(entry.stem, entry))
        elif entry.is_symlink():
            found.append(Handed(entry.name, entry, trouble="This is a link. It was not followed."))
        elif entry.is_dir():
            names = sorted(os.listdir(entry))
            inside = [name for name in names if name.endswith(".ipynb") and name[0] != "."]
            found += [_read(entry.name, entry / name) for name in inside]
            found += [] if inside else [Handed(entry.name, entry)]
    return found


def _read(student: str, path: Path) -> Handed:
    """Read one notebook, or say why it can't be."""
    try:
        content = _bytes(path)
        cells = json.loads(content)["cells"]
        read = tuple(_cell(cell) for cell in cells if cell["cell_type"] == "code")
    except OSError as error:
        return Handed(student, path, trouble=f"It can't be read: {error.strerror or error}.")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Handed(student, path, trouble="It is no notebook of version 4, or is damaged.")
    return Handed(student, path, read, digest=hashlib.sha256(content).hexdigest())


def _bytes(path: Path) -> bytes:
    """Read a plain file that is no link, and not too large."""
    flags = (
        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    if path.is_symlink():
        raise OSError("it is a link, which was not followed")
    with os.fdopen(os.open(path, flags), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_size > LARGEST:
            raise OSError(f"it is no plain file of at most {LARGEST // 1024**2} MB")
        return file.read()


def _cell(cell: dict[str, Any]) -> Cell:
    source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
    return Cell(source, "exercise" in cell.get("metadata", {}) or CHECK.search(source) is not None)


def grade(folder: Path, limits: Limits | None = None, *, tell: Callable[[str], None] = print) -> list[Row]:
    """Judge a class's notebooks, one after the other, each in a process of its own.

    Args:
        folder: as `collect` takes it.
        limits: what a notebook may take.
        tell: is given a line for each notebook.

    Returns:
        A row for each exercise of each notebook, and for each that could not be judged.

    Raises:
        NotADirectoryError: there is no such folder.
        OSError: no process can be started.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as made:
    ...     file = Path(made, "Ann.ipynb").write_text("no notebook")
    ...     grade(Path(made))[0].message
    Ann Ann.ipynb: not judged 1
    'It is no notebook of version 4, or is damaged.'
    """
    handed = collect(folder)
    rows: list[Row] = []
    for one in handed:
        mine = _rows(one, limits)
        rows += mine
        counted = Counter(row.verdict for row in mine)
        tell(
            f"{mine[0].student} {mine[0].notebook}: {', '.join(f'{what} {n}' for what, n in counted.items())}"
        )
    rows += _changed(handed) + _lacking(folder, handed)
    return sorted(rows, key=lambda row: (row.student, row.notebook))  # within a notebook as in the book


def _rows(one: Handed, limits: Limits | None) -> list[Row]:
    def row(exercise: str, verdict: str, message: str) -> Row:
        return Row(
            one.student, one.path.name if one.path.suffix == ".ipynb" else "", exercise, verdict, message
        )

    if one.trouble:
        return [row("", "not judged", one.trouble)]
    if one.path.suffix != ".ipynb":
        return [row("", "missing", "There is no notebook in the folder.")]
    if not one.exercises:
        return [row("", "not judged", "It checks no exercise of the book. Nothing in it was run.")]
    found = judge_apart(one.cells, limits)
    read = named(one.cells)
    rows = []
    for name in one.exercises:
        if name in found.verdicts:
            verdict, message = found.verdicts[name]
            note = f" Read the code: it names {read}." if read and verdict == "right" else ""
            rows.append(row(name, verdict, message[: LONGEST - len(note)] + note))
        elif name not in one.asked:
            rows.append(row(name, "missing", "No cell checks it."))
        else:
            rows.append(row(name, "not judged", found.trouble or "Its check did not come to run."))
    return rows


def _changed(handed: Sequence[Handed]) -> list[Row]:
    """Say which notebooks are not any more what was read."""
    rows = []
    for one in handed:
        try:
            same = not one.digest or hashlib.sha256(_bytes(one.path)).hexdigest() == one.digest
        except OSError:
            same = False
        if not same:
            said = "The file changed while the class was graded. The verdicts are on what was in it before."
            rows.append(Row(one.student, one.path.name, "", "not judged", said))
    return rows


def _lacking(folder: Path, handed: Sequence[Handed]) -> list[Row]:
    """Say who has not handed in what at least half of the students with a folder have."""
    inside = [one for one in handed if one.path.parent != folder and not one.path.is_dir()]
    students = {one.student for one in handed if one.path.parent != folder or one.path.is_dir()}
    there = {(one.student, one.path.name) for one in inside}
    counted = Counter(one.path.name for one in inside if one.exercises)
    common = sorted(name for name, count in counted.items() if 2 * count >= len(students))
    said = "It is not in the folder, and at least half of the class have handed it in."
    return [
        Row(student, name, "", "missing", said)
        for student in sorted(students)
        for name in common
        if (student, name) not in there
    ]


def _clean(text: str) -> str:
    """Keep what can be printed, on one line and of bounded length."""
    line = " ".join(str(text)[: 4 * LONGEST].split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)[:LONGEST]


def as_csv(rows: Sequence[Row]) -> str:
    r"""Write the table for a spreadsheet. No cell of it is read as a formula.

    >>> as_csv([Row("=1+1", "01.ipynb", "why-scores", "right", "-1, as asked")]).splitlines()[1]
    '\'=1+1,01.ipynb,why-scores,right,"\'-1, as asked"'
    """
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(one.name for one in fields(Row))
    lines.writerows(
        [f"'{cell}" if cell[:1] in tuple("=+-@|%") else cell for cell in astuple(row)] for row in rows
    )
    return "\N{BYTE ORDER MARK}" + out.getvalue()


def as_page(rows: Sequence[Row]) -> str:
    """Write the table as a page, a part for each student.

    >>> "&lt;b&gt;" in as_page([Row("<b>", "", "", "missing", "")])
    True
    """
    tables = []
    for student in dict.fromkeys(row.student for row in rows):
        mine = [row for row in rows if row.student == student]
        counted = Counter(row.verdict for row in mine)
        said = ", ".join(
            f"{what} {counted[what]}" for what in (*MARKS, "missing", "not judged") if counted[what]
        )
        lines = "".join(
            f"<tr><td>{html.escape(row.notebook)}<td>{html.escape(row.exercise)}"
            f"<td>{MARKS.get(row.verdict, '–')} {html.escape(row.verdict)}<td>{html.escape(row.message)}"
            for row in mine
        )
        tables.append(
            f"<table><caption>{html.escape(student)}: {said}</caption>"
            f'<thead><tr><th scope="col">notebook<th scope="col">exercise<th scope="col">verdict'
            f'<th scope="col">message</thead><tbody>{lines}</tbody></table>'
        )
    return (
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width, initial-scale=1"><title>Grades</title><style>{STYLE}</style>'
        f"<h1>Grades</h1>{''.join(tables)}</html>\n"
    )


def write(out: Path, rows: Sequence[Row], *, force: bool = False) -> list[Path]:
    """Write both files, each whole or not at all.

    Args:
        out: the folder, made if there is none.
        rows: the table.
        force: write over files that are there.

    Returns:
        The files.

    Raises:
        FileExistsError: one is there, and not to be written over. The table lies beside it then; the message
            says where.
    """
    out.mkdir(parents=True, exist_ok=True)
    made = {name: text for name, text in zip(FILES, (as_csv(rows), as_page(rows)), strict=True)}
    for name, text in made.items():
        (out / f".{name}.part").write_text(text, encoding="utf-8", newline="")
    refuse(out, force, beside=f" The table is in {out / f'.{FILES[0]}.part'}.")
    return [(out / f".{name}.part").replace(out / name) for name in made]


def refuse(out: Path, force: bool, beside: str = "") -> None:
    """Refuse to write over what is there.

    Raises:
        FileExistsError: a file is there, and not to be written over.
    """
    there = [str(out / name) for name in FILES if os.path.lexists(out / name)]
    if there and not force:
        raise FileExistsError(
            f"out must hold no grades yet, or say --force; there is {', '.join(there)}.{beside}"
        )


def main(words: list[str] | None = None) -> int:
    """Grade a class.

    Returns:
        0 if all was judged, whatever the verdicts; 1 if something could not be, 2 if an argument is wrong.

    Raises:
        SystemExit: the words are none that this command knows.
    """
    parser = argparse.ArgumentParser(prog="python -m attnbook", description="What a class needs.")
    commands = parser.add_subparsers(dest="command", required=True)
    of_grade = commands.add_parser(
        "grade", help="judge a class's notebooks", description=grade.__doc__.partition(".")[0]
    )
    of_grade.add_argument("folder", type=Path, help="FOLDER/STUDENT/*.ipynb, or FOLDER/STUDENT.ipynb")
    of_grade.add_argument(
        "--out", type=Path, default=Path("grades"), help="for grades.csv and grades.html (grades)"
    )
    of_grade.add_argument("--force", action="store_true", help="write over grades that are there")
    of_grade.add_argument(
        "--seconds", type=float, default=Limits.seconds, help="for a notebook (%(default)g)"
    )
    of_grade.add_argument(
        "--gigabytes", type=float, default=Limits.memory / 1024**3, help="of memory (%(default)g)"
    )
    given = parser.parse_args(words)
    try:
        folder, out, here = given.folder.resolve(), given.out.resolve(), Path.cwd().resolve()
        limits = Limits(given.seconds, given.gigabytes * 1024**3)
        if out.is_relative_to(folder):
            raise ValueError(f"out must lie outside of the folder that is graded, got {given.out}")
        if here.is_relative_to(folder) and not sys.flags.safe_path:
            raise ValueError(
                f"folder must not be where Python was started, got {given.folder}: Python imports what lies "
                "there. Run this from another place"
            )
        refuse(given.out, given.force)
        rows = grade(given.folder, limits)
        files = write(given.out, rows, force=given.force)
    except (OSError, ValueError) as error:
        print(f"grade: {error}", file=sys.stderr)
        return 2
    print(f"{len(rows)} rows in {' and '.join(map(str, files))}")
    return int(any(row.verdict == "not judged" for row in rows))
