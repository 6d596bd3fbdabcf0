"""Writes what a class needs into the folder teacher/, which git ignores.

    teacher.py                 students/ without solutions, slides/ for each chapter, a marking sheet, answers
    teacher.py --no-hints      the students' notebooks without hints
    teacher.py --keep-answers  with what the quizzes and the boxes to predict in say of each choice
    teacher.py --nbgrader      also nbgrader/, a course that nbgrader hands out and grades
    teacher.py --to FOLDER     into another folder

The students' notebooks are the readers' edition less every solution: none is left to unfold, and the checks
stay. A file that somebody has changed since it was written here is never overwritten.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import html
import io
import json
import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import graded
import marking
import nbformat
import readers
import slides
from attnlab_book import chapters, counts, share
from nbformat import NotebookNode
from notebook_form import ROOT, text, write
from source import address, current, note, pages

FOLDER = "teacher"
WRITTEN = ".written.json"
EDGE = re.compile(r"^:::\{solution-(start|end)\}.*?^:::$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r"^:::\{exercise\} (?P<title>.+)\n:label: (?P<label>\S+)$", re.MULTILINE)
PROJECT = re.compile(r"^## A project.*?(?=^## )", re.MULTILINE | re.DOTALL)
PART = re.compile(r"^\| (?P<part>[^|]+) \| (?P<points>\d+) \| (?P<full>[^|]+) \|$", re.MULTILINE)
MINUTES_A_POINT = 5
PAPER = """
@page { margin: 15mm; }
body { font: 11pt/1.35 system-ui, sans-serif; max-width: 60rem; margin: 1rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin-bottom: 1.2rem; break-inside: avoid; }
caption { text-align: left; font-weight: 600; padding: 0.3rem 0; }
th, td { border-bottom: 1px solid #999; padding: 0.2rem 0.5rem; text-align: left; vertical-align: top; }
tr > :first-child { width: 3.5rem; }
.n { text-align: right; width: 4.5rem; } .given { width: 6rem; }
tfoot td { font-weight: 600; border-bottom: 0; }
"""


class ChangedError(RuntimeError):
    """A file holds what somebody wrote by hand."""


@dataclass(frozen=True)
class Task:
    """A line of the marking sheet: an exercise, or a part of the project (without minutes)."""

    chapter: str
    number: str
    title: str
    difficulty: int | str
    minutes: int | str
    points: int


def without_solutions(cells: list[NotebookNode]) -> list[NotebookNode]:
    """Take solutions out of a chapter: their text, their cells, and what these printed."""
    kept, solving = [], False
    for cell in cells:
        if cell.cell_type != "markdown":
            if not solving and cell.metadata.get("role") != "solution":
                kept.append(cell)
            continue
        words = []
        for at, piece in enumerate(EDGE.split(cell.source)):
            if at % 2:
                solving = piece == "start"
            elif not solving and piece.strip():
                words.append(piece.strip("\n"))
        if words:
            kept.append(nbformat.v4.new_markdown_cell("\n\n".join(words)))
    return kept


def students_text(source: str, *, hints: bool = True, answers: bool = False) -> str:
    """Take out of a chapter's text what students should not see.

    Args:
        source: the text of a cell without solutions, as the chapter has it.
        hints: keep the hints.
        answers: keep what is said of each choice of a quiz or a prediction, and what was to be seen.

    Raises:
        ValueError: the text holds an edge of a solution.
    """
    if EDGE.search(source):
        raise ValueError("a solution is cut out together with its cells: without_solutions")

    def fold(found: re.Match[str]) -> str:
        saw = found["title"] == slides.SAW
        return (
            "" if (saw and not answers) or (not saw and found["kind"] == "hint" and not hints) else found[0]
        )

    def untold(found: re.Match[str]) -> str:
        if found.groupdict().get("name") == slides.SAW:
            return ""
        return slides.FOLD.sub(
            lambda one: (
                "- " + re.sub(r"([*_])", r"\\\1", one["title"]) if one["kind"] == "answer" else one[0]
            ),
            found[0],
        )

    changed = source
    if not answers:
        changed = slides.QUESTION.sub(untold, slides.BOX.sub(untold, changed))
    changed = slides.FOLD.sub(fold, changed)
    return re.sub(r"\n{3,}", "\n\n", changed).strip("\n") if changed != source else source


def students(
    path: Path, book: list[chapters.Chapter], sources: readers.Sources, *, published: str, **kept: bool
) -> NotebookNode:
    """Make the students' edition of one page: the readers', less the solutions.

    Args:
        path: its notebook.
        book: all chapters.
        sources: the bibliography.
        published: where the book's other pages are read.
        kept: `hints`, `answers`, as `students_text` takes them.
    """

    def cut(cells: list[NotebookNode]) -> list[NotebookNode]:
        cells = without_solutions(cells)
        for cell in cells:
            if cell.cell_type == "markdown":
                source = readers.LINK.sub(rf"]({published}/chapters/\1.html)", cell.source)
                cell.source = students_text(source, **kept)
        return [cell for cell in cells if cell.source.strip()]

    return readers.edition(path, book, sources, cut)


def tasks(path: Path, title: str, names: readers.Names) -> list[Task]:
    """List the exercises of a page, with the difficulty and the minutes that stand beside them."""
    found = []
    for cell in chapters.cells_of(path):
        opened = list(TITLE.finditer(cell.source)) if cell.kind == "markdown" else []
        for one, asked in zip(opened, counts.TASK.finditer(cell.source), strict=bool(opened)):
            minutes = int(asked[2])
            points = max(1, round(minutes / MINUTES_A_POINT))
            number = names.numbers[one["label"]]
            found.append(Task(title, number, one["title"], int(asked[1]), minutes, points))
    return found


def project(root: Path) -> list[Task]:
    """List the parts of the project, with the points that the page for teachers gives them."""
    page = (root / "chapters/teachers.md").read_text(encoding="utf-8")
    (section,) = PROJECT.findall(page)
    return [
        Task("The project", "", f"{one['part']}: {one['full']}", "", "", int(one["points"]))
        for one in PART.finditer(section)
    ]


def as_csv(sheet: list[Task]) -> str:
    """Write the sheet for a spreadsheet, with a last column to fill in."""
    out = io.StringIO()
    lines = csv.DictWriter(out, [*Task.__dataclass_fields__, "given"], lineterminator="\n")
    lines.writeheader()
    lines.writerows(asdict(task) for task in sheet)
    return "\N{BYTE ORDER MARK}" + out.getvalue()


def as_page(sheet: list[Task]) -> str:
    """Write the sheet as a page that prints: a table for each chapter, with room for what was given."""
    tables = []
    for title in dict.fromkeys(task.chapter for task in sheet):
        rows = [task for task in sheet if task.chapter == title]
        lines = [
            f'<tr><td>{row.number}<td>{html.escape(row.title)}<td class="n">{row.difficulty}'
            f'<td class="n">{row.minutes}<td class="n">{row.points}<td class="given">'
            for row in rows
        ]
        minutes = sum(int(row.minutes or 0) for row in rows)
        tables.append(
            f"<table><caption>{html.escape(title)}</caption><thead><tr><th><th>"
            '<th class="n">difficulty<th class="n">minutes<th class="n">points<th class="given">given</thead>'
            f'<tbody>{"".join(lines)}</tbody><tfoot><tr><td><td>in all<td><td class="n">{minutes or ""}'
            f'<td class="n">{sum(row.points for row in rows)}<td class="given"></tfoot></table>'
        )
    return (
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Marking sheet</title>'
        f"<style>{PAPER}</style><h1>Marking sheet</h1><p>Name: ______________________________</p>"
        "<p>An exercise is right when its check says ✓. "
        f"It gives a point for each {MINUTES_A_POINT} of its minutes.</p>{''.join(tables)}</html>\n"
    )


def make(root: Path, *, nbgrader: bool = False, **kept: bool) -> dict[str, str]:
    """Make all files: what to write, by name.

    Args:
        root: of the repository.
        nbgrader: make a course for nbgrader, too, of the pages that have exercises.
        kept: `hints`, `answers`, as `students_text` takes them.
    """
    book, sources = chapters.read(root), readers.sources_of(root / "chapters/references.bib")
    titles = {one.page: f"{one.label} {one.title}" for one in book}
    topics, asked = {one.page: one.topic for one in book}, share.questions(root)
    published, made, sheet = f"https://{pages(current(root))}", {}, []
    answered: dict[str, tuple[str, str]] = {}
    for page in chapters.pages(root):
        path = root / f"{page}.ipynb"
        if not path.exists():
            continue
        edition = students(path, book, sources, published=published, **kept)
        made[f"students/{path.name}"] = text(edition)
        stored = nbformat.read(path, as_version=4).cells
        names = readers.names_of(path, stored, book, sources)
        mine = tasks(root / page, titles.get(page, path.stem.capitalize()), names)
        sheet += mine
        if nbgrader and mine:
            handed = graded.graded(edition, [one.points for one in mine])
            made[f"nbgrader/source/{path.stem}/{path.name}"] = text(handed)
        if page in titles or mine:
            title = titles.get(page, path.stem.capitalize())
            anchor = topics.get(page, path.stem).replace("_", "-")
            answered[anchor] = title, marking.chapter(path, names, title, anchor)
        if page in titles:
            listed = [f"{one.title} (difficulty {one.difficulty}, {one.minutes} minutes)" for one in mine]
            shown = slides.of(
                without_solutions(stored),
                names,
                title=titles[page],
                question=asked[topics[page]],
                exercises=listed,
                source=note(address(root), page),
            )
            made[f"slides/{path.stem}.html"] = slides.deck(shown)
    sheet += project(root)
    if nbgrader:
        made["nbgrader/nbgrader_config.py"] = graded.SETTINGS
    return made | {
        "marking.csv": as_csv(sheet),
        "marking.html": as_page(sheet),
        "answers.html": marking.page(answered),
    }


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _untouched(path: Path, written: str | None) -> bool:
    """Tell whether a file is as it was written: to run a notebook is not to change it."""
    if path.suffix == ".ipynb":
        return readers.is_untouched(path)
    return _digest(path.read_text(encoding="utf-8")) == written


def write_all(folder: Path, made: dict[str, str]) -> list[str]:
    """Write files into a folder, and take away those that were written there before and are no more.

    Returns:
        The names of the files that were written.

    Raises:
        ChangedError: somebody has changed a file that would be overwritten; nothing is written then.
    """
    record = folder / WRITTEN
    before = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    old = [name for name in before if name not in made and (folder / name).exists()]
    there = [name for name in made if (folder / name).exists()]
    differ = [name for name in there if (folder / name).read_text(encoding="utf-8") != made[name]]
    theirs = [name for name in (*differ, *old) if not _untouched(folder / name, before.get(name))]
    if theirs:
        raise ChangedError(
            f"{', '.join(str(folder / name) for name in theirs)} was changed by hand, or is not from here, "
            "and stays as it is; give it another name, or choose another folder with --to, and run this again"
        )
    changed = [name for name in made if name not in there or name in differ]
    for name in changed:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write(folder / name, made[name])
    for name in old:
        (folder / name).unlink()
    write(record, json.dumps({name: _digest(content) for name, content in made.items()}, indent=1))
    return changed


def main(words: list[str] | None = None) -> int:
    """Write the folder, or say whose file is in the way."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--no-hints", dest="hints", action="store_false")
    parser.add_argument("--keep-answers", action="store_true")
    parser.add_argument("--nbgrader", action="store_true")
    parser.add_argument("--to", metavar="FOLDER", type=Path, default=ROOT / FOLDER)
    options = parser.parse_args(words)
    try:
        made = make(ROOT, nbgrader=options.nbgrader, hints=options.hints, answers=options.keep_answers)
        changed = write_all(options.to, made)
    except (ChangedError, readers.UnknownMarkupError) as error:
        print(error, file=sys.stderr)
        return 1
    what = "students/, slides/, marking.csv, marking.html and answers.html"
    what += ", and nbgrader/" if options.nbgrader else ""
    print(f"{len(changed)} files written in {options.to}: {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
