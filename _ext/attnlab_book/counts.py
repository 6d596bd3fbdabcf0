"""Counts what the chapters hold and how they are tested, so that no page says it from memory.

>>> minutes("About 40 minutes to read, and an hour and a quarter more with the exercises.")
(40, 75)
"""

from __future__ import annotations

import ast
import importlib
import re
import runpy
import sys
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from attnbook.checks.exercise import EXERCISES, OTHERS
from attnlab_book.chapters import Chapter, cells_of, pages

SPOKEN = {"half an hour": 30, "an hour and a quarter": 75, "an hour and a half": 90, "an hour": 60}
OPENING = re.compile(r"About (\d+) minutes to read, and ([\w ]+?) more")
TASK = re.compile(r"Difficulty (\d) of 5, about (\d+) minutes")
UNCOMPARED = "nbval-ignore-output"


@dataclass
class Count:
    """What one chapter holds."""

    outputs: int = 0
    uncompared: int = 0
    exercises: list[str] = field(default_factory=list)
    task_minutes: int = 0
    mistakes: int = 0
    wrong_answers: int = 0


def minutes(text: str) -> tuple[int, int]:
    """Read the minutes that a chapter promises: to read it, and more for its exercises.

    Raises:
        ValueError: the text promises none.
    """
    found = OPENING.search(text)
    if found is None:
        raise ValueError("the chapter does not say “About … minutes to read, and … more”")
    more = found[2].removesuffix(" minutes")
    return int(found[1]), SPOKEN[more] if more in SPOKEN else int(more)


def promised(page: Path) -> tuple[int, int]:
    """Read the minutes that a page, named without a suffix, promises; errors as of `minutes`."""
    return minutes(" ".join(cell.source for cell in cells_of(page)))


def of_chapter(root: Path, chapter: Chapter) -> Count:
    """Count a chapter's outputs and exercises, and the answers that its exercises are tried with."""
    count = Count()
    for cell in cells_of(root / chapter.page):
        count.outputs += cell.shows
        count.uncompared += cell.shows and UNCOMPARED in cell.tags
        count.task_minutes += sum(int(found[2]) for found in TASK.finditer(cell.source))
        if cell.role == "solution":
            count.exercises.append(cell.exercise)
            count.mistakes += len((EXERCISES | OTHERS)[cell.exercise].mistakes)
            count.wrong_answers += wrong_answers(root)[cell.exercise]
    return count


def notebooks(root: Path, book: list[Chapter]) -> list[Chapter]:
    """List the pages that are notebooks, in the order of the contents: chapters, and what stands between."""
    known = {chapter.page: chapter for chapter in book}
    found = []
    for page in pages(root):
        if (root / f"{page}.ipynb").exists():
            (title,) = re.findall(r"^# (.+)$", cells_of(root / page)[1].source, re.MULTILINE)[:1]
            found.append(known.get(page) or Chapter(page.rpartition("/")[2], title, page))
    return found


@cache
def answers(root: Path) -> list[Any]:
    """List the right and wrong answers that the tests keep, with `exercise`, `status` and `piece`."""
    folder = root / "tests/exercises"
    sys.path.insert(0, str(folder))
    try:
        return list(importlib.import_module("answers").load())
    finally:
        sys.path.remove(str(folder))


@cache
def wrong_answers(root: Path) -> Counter[str]:
    """Count, for each exercise, the answers that must be refused."""
    return Counter(one.exercise for one in answers(root) if one.status == "wrong")


@cache
def of_package(root: Path) -> dict[str, int]:
    """Count what tests the package, and how it is tested itself.

    Returns:
        `tests`, the functions that test; `treebank` of these need the treebank's files, `weights` those of
        a published model. `mutants`, the ways in which the package is broken on purpose; `quick` of them are
        tried in every run, and all aim at `aimed` functions. `machines`, the kinds that the suite runs on.
    """
    run = runpy.run_path(str(root / "tests/mutants/run.py"))
    files = {path: _functions(path) for path in sorted((root / "tests").rglob("test_*.py"))}
    shared = {path.parent: _functions(path) for path in sorted((root / "tests").rglob("conftest.py"))}
    tests, need = [], Counter[str]()
    for path, functions in files.items():
        known = {**shared.get(path.parent, {}), **functions}
        for name in functions:
            if name.startswith("test_"):
                tests.append((path, name))
                need[_needs(name, known)] += 1
    aimed = {
        one
        for mutant in run["MUTANTS"]
        for file, _, name in [mutant.tests.partition("::")]
        for one in tests
        if one[0] == root / "tests" / file and name in ("", one[1])
    }
    flow = yaml.safe_load((root / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    return {
        "mutants": len(run["MUTANTS"]),
        "quick": len(run["QUICK"]),
        "aimed": len(aimed),
        "tests": len(tests),
        "treebank": need["treebank"],
        "weights": need["weights"],
        "machines": len(flow["jobs"]["test"]["strategy"]["matrix"]["include"]),
    }


def _functions(path: Path) -> dict[str, set[str]]:
    """Read which names each function of a file asks for or uses."""
    found = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            inside = list(ast.walk(node))
            names = {one.id for one in inside if isinstance(one, ast.Name)}
            names |= {one.arg for one in inside if isinstance(one, ast.arg)}
            found[node.name] = names | {one.attr for one in inside if isinstance(one, ast.Attribute)}
    return found


def _needs(name: str, known: dict[str, set[str]]) -> str:
    """Name what a test is left out without: `treebank`, `weights`, or nothing."""
    reached, waiting = set[str](), [name]
    while waiting:
        if (one := waiting.pop()) not in reached:
            reached.add(one)
            waiting += known.get(one, ())
    if "treebank_folder" in reached:
        return "treebank"
    return "weights" if "skip" in reached else ""


class Counted(SphinxDirective):
    """``{counted} tests``, a table of all notebooks, and ``{counted} minutes``, one of all chapters.

    ``{counted} plan`` has a line of topics for each week, ``{counted} lesson`` one topic: minutes in class.
    """

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Count now: the numbers stand in the page's source."""
        root = Path(self.env.srcdir)
        book = [chapter for chapter in self.env.attnlab_chapters if chapter.number is not None]
        if self.arguments[0] in ("plan", "lesson"):
            return self._lessons(root, book)
        if self.arguments[0] == "tests":
            book = notebooks(root, book)
        counts = [of_chapter(root, chapter) for chapter in book]
        for chapter in book:
            self.env.note_dependency(str(root / f"{chapter.page}.ipynb"))
        if self.arguments[0] == "tests":
            head = [
                "page",
                "outputs",
                "not compared",
                "exercises",
                "mistakes with a name",
                "wrong answers",
            ]
            rows = [
                [one.outputs, one.uncompared, len(one.exercises), one.mistakes, one.wrong_answers]
                for one in counts
            ]
        else:
            head = ["chapter", "to read", "exercises", "minutes for these"]
            rows = [
                [promised(root / chapter.page)[0],
                 len(one.exercises), one.task_minutes]
                for chapter, one in zip(book, counts, strict=True)
            ]  # fmt: skip
        total: list[Any] = ["the book", *map(sum, zip(*rows, strict=True))]
        titles = [
            f"[{one.title}]({one.topic}.ipynb)" if one.number is None else f"{{chapter-title}}`{one.topic}`"
            for one in book
        ]
        return self._table(head, [[title, *row] for title, row in zip(titles, rows, strict=True)] + [total])

    def _lessons(self, root: Path, book: list[Chapter]) -> list[nodes.Node]:
        from attnlab_book import lessons  # which counts with what is above

        for chapter in book:
            self.env.note_dependency(str(root / f"{chapter.page}.ipynb"))
        words = "\n".join(self.content)
        if self.arguments[0] == "lesson":
            (chapter,) = [one for one in book if one.topic == words.strip()]
            rows = [
                [f"{part.begins}–{part.ends}", part.heading, part.predictions or ""]
                for part in lessons.sections(root, chapter)
            ]
            return self._table(["minutes", "section", "to predict"], rows, left=2)
        held = {chapter.topic: lessons.lesson(root, chapter) for chapter in book}
        rows = []
        for at, week in enumerate(lessons.weeks_of(words, held), 1):
            titles = ", ".join(f"{{chapter-title}}`{topic}`" for topic in week.topics) or week.words
            rows.append([at, titles, week.minutes or "", week.exercises or ""])
        head = ["week", "chapters", "in class", "at home"]
        return self._table(head, rows, left=2)

    def _table(self, head: list[str], rows: list[list[Any]], left: int = 1) -> list[nodes.Node]:
        """Make a table whose columns but the first, or the first few, are numbers."""
        rule = ["---"] * left + ["---:"] * (len(head) - left)
        lines = ["| " + " | ".join(map(str, row)) + " |" for row in (head, rule, *rows)]
        found = self.parse_text_to_nodes("\n".join(lines))
        found[0]["classes"].append("attn-counted")  # type: ignore[index]
        return found


def package_role(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any, *_: Any
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Write a number of `of_package`: ``{counted}`mutants` ``."""
    root = Path(inliner.document.settings.env.srcdir)
    return [nodes.Text(f"{of_package(root)[text]:,}")], []
