"""Makes room for a chapter: renames the files after it, rewrites what shows their numbers, writes a skeleton.

    insert_chapter.py TOPIC --at N                    the new chapter is number N; what was N becomes N + 1
    insert_chapter.py TOPIC --at N --title "A title"  its title; the topic's words unless given
    insert_chapter.py TOPIC --at N --part "Part V: X" its part: a neighbour's, or behind the last a new one

The skeleton is a chapter that runs and builds; what waits for words says "to write". All of it is made before
anything is written; a reason against it is said in a sentence, and then nothing has changed.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import jupytext
import nbformat
import notebooks
import readers
import set_address
import yaml
from attnlab_book import chapters, drawings
from attnlab_book.chapters import Chapter
from attnlab_book.weight import weigh
from nbclient.exceptions import CellExecutionError, DeadKernelError
from notebook_form import ROOT, normalise, text, write

SKELETON = Path(__file__).with_name("chapter.md")
TOPIC = re.compile(r"[a-z]+(_[a-z]+)*")
PART = re.compile(r"Part [IVX]+: \S.*")
PLAN = re.compile(r"(?<=^```\{counted\} plan\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
TO_WRITE = "*to write*"
QUESTIONS = 5


class RefusedError(ValueError):
    """The chapter can't be inserted so; the message says why, and nothing was changed."""


@dataclass
class Change:
    """What is to be done, made before any of it is.

    Args:
        chapter: the new one.
        renamed: old and new place of each notebook behind it, the last one first.
        texts: what files will hold, by their new places.
    """

    chapter: Chapter
    renamed: list[tuple[Path, Path]]
    texts: dict[Path, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """Where a chapter goes: beside a neighbour, perhaps under the heading of a part that is new.

    Args:
        beside: the neighbour.
        before: whether it goes before it; else behind.
        heading: the new part; empty if there is none.
    """

    beside: Chapter
    before: bool
    heading: str = ""

    def into(self, words: str, line: str, new: str, *, name: str, extra: str = "") -> str:
        """Put a line beside the one line of a text that a pattern finds; `extra` goes before it.

        Raises:
            RefusedError: there is no such line, or there are several.
        """
        found = list(re.finditer(f"^{line}$\n?", words, re.MULTILINE))
        if len(found) != 1:
            raise RefusedError(
                f"{name} should have one line for {self.beside.topic!r}, and has {len(found)}: "
                "put that right first"
            )
        at = found[0].start() if self.before else found[0].end()
        return f"{words[:at]}{extra}{new}\n{words[at:]}"


def planned(root: Path, topic: str, number: int, title: str = "", part: str = "") -> Change:
    """Make all that inserting a chapter changes, and write nothing.

    Args:
        root: the repository.
        topic: what its file name will say after the number.
        number: its number.
        title: its title; the topic's words unless given.
        part: the heading of its part; that of the chapter which it comes before unless given.

    Raises:
        RefusedError: something is in the way.
    """
    book = [chapter for chapter in chapters.read(root) if chapter.number is not None]
    title = title.strip() or topic.replace("_", " ").capitalize()
    _check(book, topic, number, title)
    place = _place(book, number, part)
    page = f"chapters/{number:02}_{topic}"
    chapter = Chapter(topic, title, page, number, place.heading or place.beside.part)
    change = Change(chapter, _renamed(root, book, number))
    names = {old.stem: new.stem for old, new in change.renamed}
    _check_files(root, change)
    _rewrite(root, change, place, names)
    _check_mentions(root, book, change)
    change.texts[root / f"{page}.ipynb"] = _skeleton(root, chapter, place)
    minutes = minutes_of(change.texts[root / f"{page}.ipynb"])
    readme = root / "README.md"
    change.texts[readme] = change.texts[readme].replace("MINUTES", str(minutes))
    return change


def minutes_of(stored: str) -> int:
    """Weigh a stored notebook, in minutes to the next five."""
    return max(5, 5 * round(weigh(nbformat.reads(stored, as_version=4)).minutes / 5))


def _check(book: list[Chapter], topic: str, number: int, title: str) -> None:
    if not TOPIC.fullmatch(topic):
        raise RefusedError(
            f"a topic is small letters with _ between words, as sparse_attention; got {topic!r}"
        )
    if topic in {one.topic for one in book}:
        raise RefusedError(f"{topic!r} is the topic of another chapter")
    last = book[-1].number or 0
    if not 1 <= number <= last + 1:
        raise RefusedError(f"--at must be 1 to {last + 1}: the last chapter is {last}, got {number}")
    if re.search(r"[|`\[\]{}\n]", title) or title in {one.title for one in book}:
        raise RefusedError(
            f"a title has no brackets, bars or backticks, and is no other chapter's; got {title!r}"
        )


def _place(book: list[Chapter], number: int, part: str) -> Place:
    before = [one for one in book if one.number < number]  # type: ignore[operator]
    behind = [one for one in book if one.number >= number]  # type: ignore[operator]
    if behind and part in ("", behind[0].part):
        return Place(behind[0], before=True)
    if before and part in ("", before[-1].part):
        return Place(before[-1], before=False)
    if not behind and PART.fullmatch(part) and part not in {one.part for one in book}:
        return Place(before[-1], before=False, heading=part)
    beside = list(dict.fromkeys(one.part for one in (*before[-1:], *behind[:1])))
    new = "" if behind else ", or a new one, as “Part V: The frontier”"
    raise RefusedError(
        f"at {number} the part can be {' or '.join(f'“{one}”' for one in beside)}{new}; got {part!r}"
    )


def _renamed(root: Path, book: list[Chapter], number: int) -> list[tuple[Path, Path]]:
    behind = [one for one in book if one.number >= number]  # type: ignore[operator]
    if behind and behind[0].number != number:
        return []  # there is a gap
    return [
        (root / f"{one.page}.ipynb", root / f"chapters/{one.number + 1:02}_{one.topic}.ipynb")  # type: ignore[operator]
        for one in reversed(behind)
    ]


def _check_files(root: Path, change: Change) -> None:
    moving = {old for old, _ in change.renamed}
    for new in (*(new for _, new in change.renamed), root / f"{change.chapter.page}.ipynb"):
        if new.exists() and new not in moving:
            raise RefusedError(f"{new.relative_to(root)} is in the way: it is no chapter of _toc.yml")
    theirs = [
        path for path in sorted((root / readers.FOLDER).glob("*.ipynb")) if not readers.is_untouched(path)
    ]
    if theirs:
        raise RefusedError(
            f"{theirs[0].relative_to(root)} was changed by a reader: give it another name first"
        )


def _rewrite(root: Path, change: Change, place: Place, names: dict[str, str]) -> None:
    """Rewrite whatever lists chapters or names their files."""
    new, beside = change.chapter, place.beside
    moved = dict(change.renamed)

    def renamed(words: str) -> str:
        pattern = "|".join(map(re.escape, names))
        return re.sub(rf"\b(?:{pattern})\b", lambda found: names[found[0]], words) if names else words

    def edit(name: str, words: str) -> None:
        path = root / name
        change.texts[moved.get(path, path)] = words

    for path in _listed(root):
        name = str(path.relative_to(root))
        if path.suffix == ".ipynb" or name in ("README.md", "_toc.yml"):
            continue
        words = path.read_text(encoding="utf-8")
        if renamed(words) != words:
            edit(name, renamed(words))

    toc = (root / "_toc.yml").read_text(encoding="utf-8")
    edit("_toc.yml", renamed(_toc(toc, place, new)))

    readme = (root / "README.md").read_text(encoding="utf-8")
    address = f"https://{set_address.pages(set_address.current(root))}"
    file = new.page.rpartition("/")[2]
    # The new name goes in after the others were changed: it may be one of the old.
    links = f"[{new.title}]({address}/chapters/\0.html), [notebook](notebooks/\0.ipynb)"
    marked = place.into(
        readme,
        rf"\| \[[^\]]+\]\(\S*/{re.escape(beside.page)}\.html\), .*\|",
        f"| {links} | MINUTES | {TO_WRITE} |",
        name="README.md",
        extra=f"| **{place.heading}** | | |\n" if place.heading else "",
    )
    edit("README.md", renamed(marked).replace("\0", file))

    row = rf"\| \{{chapter-title\}}`{beside.topic}` \|.*\|"
    _index(root, change, place, row)
    for page in chapters.pages(root):
        path = root / f"{page}.md"
        if not path.exists():
            continue
        words = change.texts.get(path) or path.read_text(encoding="utf-8")
        if f"{{chapter-title}}`{beside.topic}`" in words:
            edit(f"{page}.md", _tables(words, place, new, row, f"{page}.md", root))
    name = "_ext/attnlab_book/drawings.py"
    words = change.texts.get(root / name) or (root / name).read_text(encoding="utf-8")
    if new.topic not in drawings.DRAWINGS:
        line = rf'    "{beside.topic}": _\w+,'
        edit(name, place.into(words, line, f'    "{new.topic}": _to_come,', name=name))


def _toc(words: str, place: Place, new: Chapter) -> str:
    line = f"      - file: {new.page}"
    if not place.heading:
        return place.into(words, f"      - file: {re.escape(place.beside.page)}", line, name="_toc.yml")
    # A part ends where the next one's caption begins: pages without a number belong to it, too.
    at = words.index("  - caption:", words.index(f"      - file: {place.beside.page}\n"))
    return f'{words[:at]}  - caption: "{place.heading}"\n    chapters:\n{line}\n{words[at:]}'


def _index(root: Path, change: Change, place: Place, row: str) -> None:
    """Put the chapter among the cards of the landing page."""
    path, new = root / "chapters/index.ipynb", change.chapter
    notebook = nbformat.read(path, as_version=4)
    before = place.beside if not place.before else None
    after = f"{{chapter}}`{before.topic}`" if before else ""
    line = f"| {{chapter-title}}`{new.topic}` | To write: which question does it ask? | {after} |".replace(
        "  |", " |"
    )
    cells = [cell for cell in notebook.cells if re.search(f"^{row}$", cell.source, re.MULTILINE)]
    if len(cells) != 1:
        raise RefusedError(
            f"chapters/index.ipynb should have one row for {place.beside.topic!r}, and has {len(cells)}"
        )
    (cell,) = cells
    if place.heading:
        found = re.search(rf"^{row}\n::::$\n?", cell.source, re.MULTILINE)
        if found is None:
            raise RefusedError(
                f"chapters/index.ipynb: behind {place.beside.topic!r} no ::::{{chapter-cards}} ends"
            )
        head = "| chapter | the question | after |\n| --- | --- | --- |"
        cards = f"### {place.heading}\n\n::::{{chapter-cards}}\n{head}\n{line}\n::::"
        cell.source = f"{cell.source[: found.end()].rstrip()}\n\n{cards}\n{cell.source[found.end() :]}"
    else:
        cell.source = place.into(cell.source, row, line, name="chapters/index.ipynb")
    change.texts[path] = text(normalise(notebook))


def _tables(words: str, place: Place, new: Chapter, row: str, name: str, root: Path) -> str:
    """Give the chapter its row in each table and list of all chapters, and its place in each plan."""
    book = [one.topic for one in chapters.read(root) if one.number is not None]
    listed = re.findall(r"^\| \{chapter-title\}`(\w+)` \|", words, re.MULTILINE)
    if listed == book:
        (line,) = re.findall(f"^{row}$", words, re.MULTILINE)
        cells = len(re.split(r"(?<!\\)\|", line)) - 3
        words = place.into(
            words, row, f"| {{chapter-title}}`{new.topic}` |{f' {TO_WRITE} |' * cells}", name=name
        )
    entry = rf"\{{chapter-title\}}`{place.beside.topic}`\n: .*\n"
    if re.findall(r"^\{chapter-title\}`(\w+)`\n: ", words, re.MULTILINE) == book:
        blank = f"{{chapter-title}}`{new.topic}`\n: **{TO_WRITE}** {TO_WRITE} *Ask next:* {TO_WRITE}\n"
        words = place.into(words, entry, blank, name=name)
    there = place.beside.topic
    both = f"{new.topic}, {there}" if place.before else f"{there}, {new.topic}"

    def plan(found: re.Match[str]) -> str:
        whole = set(re.findall(r"\w+", found[0])) >= set(book)
        return re.sub(rf"\b{there}\b", both, found[0]) if whole else found[0]

    return PLAN.sub(plan, words)


def _check_mentions(root: Path, book: list[Chapter], change: Change) -> None:
    """Refuse a topic that would make a shortened name in some text the beginning of two."""
    every = [*book, change.chapter]
    for page in chapters.pages(root):
        path = root / f"{page}.md"
        cells = [path.read_text(encoding="utf-8")] if path.exists() else []
        cells += [cell.source for cell in chapters.cells_of(root / page)]
        for role, topics in chapters.ROLE.findall("\n".join(cells)):
            try:
                chapters.resolve(every, role, topics)
            except chapters.UnknownChapterError as error:
                raise RefusedError(
                    f"{page} has {{{role}}}`{topics}`, and then {error}: write it out first"
                ) from None


def _skeleton(root: Path, chapter: Chapter, place: Place) -> str:
    """Make the chapter's notebook, with what its cells print."""
    book = [one for one in chapters.read(root) if one.number is not None]
    first = book[0]
    before = [one for one in book if one.number < chapter.number]  # type: ignore[operator]
    set_up = nbformat.read(root / f"{first.page}.ipynb", as_version=4).cells[0]
    words = SKELETON.read_text(encoding="utf-8")
    quiz = "".join(_question(at) for at in range(QUESTIONS))
    for name, value in {
        "TITLE": chapter.title,
        "LABEL": chapter.topic.replace("_", "-"),
        "BEFORE": (before or [place.beside])[-1].topic,
        "QUIZ": f'<div class="quiz">\n\n{quiz}</div>\n',
    }.items():
        words = words.replace(name, value)
    notebook = jupytext.reads(words, fmt="md:myst")
    notebook.cells.insert(0, set_up)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chapter.ipynb"
        write(path, text(normalise(notebook)))
        try:
            made = notebooks.run(path)
        except (CellExecutionError, DeadKernelError, RuntimeError) as error:
            raise RefusedError(f"the skeleton does not run here: {str(error).splitlines()[-1]}") from None
    minutes = minutes_of(text(made))
    for cell in made.cells:
        cell.source = cell.source.replace("About MINUTES minutes", f"About {minutes} minutes")
    return text(normalise(made))


def _question(at: int) -> str:
    choices = [("A wrong answer", "No. Say why."), ("Another wrong one", "No. Say why.")]
    choices.insert(at % 3, ("The right answer", "Yes. Say why."))
    folds = "".join(
        f'<details class="answer"><summary>{title}, to write.</summary>\n\n{why}\n\n</details>\n'
        for title, why in choices
    )
    return f"**{at + 1}. To write: what should a reader be able to answer?**\n\n{folds}\n"


def _listed(root: Path) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=root, capture_output=True, text=True, check=True
    )
    paths = [root / name for name in listed.stdout.splitlines()]
    return [path for path in paths if path.suffix in set_address.SUFFIXES and path.is_file()]


def carry_out(change: Change) -> None:
    """Rename, then write."""
    for old, new in change.renamed:
        old.rename(new)
    for path, words in change.texts.items():
        write(path, words)


def main(given: list[str] | None = None) -> int:
    """Insert a chapter, and say what is left to do by hand."""
    parser = argparse.ArgumentParser(
        prog="insert-chapter", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("--at", type=int, required=True, metavar="N")
    parser.add_argument("--title", default="")
    parser.add_argument("--part", default="")
    asked = parser.parse_args(given)
    try:
        change = planned(ROOT, asked.topic, asked.at, asked.title, asked.part)
    except (RefusedError, OSError, yaml.YAMLError) as error:
        print(f"{error}\nNothing was changed.", file=sys.stderr)
        return 1
    carry_out(change)
    readers.main([])
    new = change.chapter
    print(
        f"\n{new.page}.ipynb is chapter {new.label}, “{new.title}”, in “{new.part}”; "
        f"chapters that moved on by one: {len(change.renamed)}.\n\n"
        "Left to do: the chapter; its question in chapters/index.ipynb; what can be grabbed, in\n"
        "README.md; its rows on the pages for teachers (all of these are found by\n"
        "`git grep --untracked -E '\\*to write|To write:'`);\n"
        "the plan of all chapters in chapters/teachers.md, if a week is now too full\n"
        "(`python -m pytest -q tests/notebooks/test_teacher.py` says which);\n"
        "its picture in _ext/attnlab_book/drawings.py; and then `make html` and `make screenshot`,\n"
        "which draws what links to the renumbered chapters show."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
