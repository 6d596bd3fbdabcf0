"""The chapters of the book, found by topic. The name of a chapter's file is the one place of its number.

The topic of `chapters/06_sound.ipynb` is `sound`, and the text says ``{chapter}`sound` ``. What that
becomes is decided here, without Sphinx, so that the built book and anything else that shows the text agree:

>>> book = [Chapter("sound", "Sound", "chapters/06_sound", 6), Chapter("decoding", "Decoding", "soon")]
>>> [text for text, chapter in resolve(book, "chapter", "so")]
['chapter\\xa006']
>>> [text for text, chapter in resolve(book, "Chapter", "decoding")]
['The coming chapter\\xa0“Decoding”']
>>> [text for text, chapter in resolve(book, "chapter-title", "sound")]
['06 Sound']
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import yaml

COMING = "chapters/the_machine"
"""The page that says what the chapters that are not written yet will teach."""
NUMBERED = re.compile(r"(\d\d)_(\w+)")
PROMISED = re.compile(r"^\(chapter-([a-z_]+)\)=\n+## (.+)$", re.MULTILINE)
ROLE = re.compile(r"\{([Cc]hapter|chapter-title)\}`([^`]*)`")
"""A mention as pages write it: its role, and the topics that it names."""
SPACE = "\N{NO-BREAK SPACE}"

Piece = tuple[str, "Chapter | None"]
"""Some text, and the chapter that it links to, if any."""


class UnknownChapterError(LookupError):
    """No chapter, or more than one, goes by this name."""


@dataclass(frozen=True)
class Chapter:
    """A chapter of the book, or one that is promised.

    Args:
        topic: what its file name says after the number.
        title: its first heading.
        page: the page it stands on, without a suffix, from the root of the repository.
        number: the number in its file name; None while it is not written.
        part: the heading of its part of the book.
    """

    topic: str
    title: str
    page: str
    number: int | None = None
    part: str = ""

    @property
    def label(self) -> str:
        """The number as file names write it, with two digits; empty while there is none."""
        return "" if self.number is None else f"{self.number:02}"

    @property
    def anchor(self) -> str:
        """Where on its page it stands: a promised chapter shares the page with others."""
        return "" if self.number is not None else "#chapter-" + self.topic.replace("_", "-")


@dataclass(frozen=True)
class Cell:
    """A cell of a notebook, as far as it is counted."""

    kind: str
    source: str
    tags: tuple[str, ...] = ()
    role: str = ""
    exercise: str = ""
    shows: bool = False


def cells_of(page: Path) -> list[Cell]:
    """Read the cells of a page, named without a suffix; one that is no notebook has none."""
    notebook = page.with_suffix(".ipynb")
    if not notebook.exists():
        return []
    cells = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        about, outputs = cell["metadata"], cell.get("outputs", [])
        cells.append(
            Cell(
                cell["cell_type"],
                "".join(cell["source"]),
                tuple(about.get("tags", ())),
                about.get("role", ""),
                about.get("exercise", ""),
                bool(outputs),
            )
        )
    return cells


def pages(root: Path) -> list[str]:
    """List the pages of _toc.yml in their order, without suffixes, from the root of the repository."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    entries = [entry for part in toc["parts"] for entry in part["chapters"]]
    return [toc["root"], *(page["file"] for entry in entries for page in (entry, *entry.get("sections", ())))]


def read(root: Path) -> list[Chapter]:
    """List the chapters of _toc.yml in their order, then the promised ones that have no file yet."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    found, promised = [], []
    for part in toc["parts"]:
        for page in (entry["file"] for entry in part["chapters"]):
            named = NUMBERED.fullmatch(page.rpartition("/")[2])
            if named:
                found.append(Chapter(named[2], _title(root / page), page, int(named[1]), part["caption"]))
            if page == COMING:
                text = (root / f"{page}.md").read_text(encoding="utf-8")
                promised = [
                    Chapter(topic, title.strip(), page, part=part["caption"])
                    for topic, title in PROMISED.findall(text)
                ]
    topics = {chapter.topic for chapter in found}
    return found + [chapter for chapter in promised if chapter.topic not in topics]


def find(chapters: list[Chapter], name: str) -> Chapter:
    """Find a chapter by its topic, or by the beginning of it that no other topic shares.

    Raises:
        UnknownChapterError: no topic begins so, or several do.
    """
    exact = [chapter for chapter in chapters if chapter.topic == name]
    fitting = exact or [chapter for chapter in chapters if name and chapter.topic.startswith(name)]
    if len(fitting) == 1:
        return fitting[0]
    known = ", ".join(chapter.topic for chapter in fitting or chapters)
    problem = "is the beginning of several topics" if fitting else "is no topic of a chapter"
    raise UnknownChapterError(f"{name!r} {problem}: {known}")


def resolve(chapters: list[Chapter], role: str, names: str) -> list[Piece]:
    """Say what stands in the place of a mention.

    Args:
        role: `chapter`, or `Chapter` where a sentence begins, or `chapter-title` for number and title.
        names: a topic as `find` takes it; several with commas between them give "chapters" and their numbers.

    Raises:
        UnknownChapterError: a name is no topic of a chapter.
    """
    if role == "chapter-title":
        chapter = find(chapters, names.strip())
        return [(f"{chapter.label} {chapter.title}".strip(), chapter)]
    pieces = _listed([find(chapters, name.strip()) for name in names.split(",")])
    if role[0].isupper():
        text, chapter = pieces[0]
        pieces[0] = (text[0].upper() + text[1:], chapter)
    return pieces


def _listed(named: list[Chapter]) -> list[Piece]:
    """List chapters by their numbers, then those that have none yet by their titles."""
    written = [chapter for chapter in named if chapter.number is not None]
    if len(written) > 1:
        links: list[Piece] = [(chapter.label, chapter) for chapter in written]
        pieces: list[Piece] = [(f"chapters{SPACE}", None)]
    else:
        links = [(f"chapter{SPACE}{chapter.label}", chapter) for chapter in written]
        pieces = []
    links += [
        (f"the coming chapter{SPACE}“{chapter.title}”", chapter)
        for chapter in named
        if chapter.number is None
    ]
    for at, link in enumerate(links):
        if at:
            pieces.append((" and " if at == len(links) - 1 else ", ", None))
        pieces.append(link)
    return pieces


def _title(path: Path) -> str:
    cells = [cell.source for cell in cells_of(path) if cell.kind == "markdown"]
    if not cells:
        cells = [path.with_suffix(".md").read_text(encoding="utf-8")]
    heading = re.search(r"^# (.+)$", "\n".join(cells), re.MULTILINE)
    return heading[1].strip() if heading else path.name
