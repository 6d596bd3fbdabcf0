"""The chapters of the book, found by topic. The name of a chapter's file is the one place of its number.

The topic of `chapters/06_masking.ipynb` is `masking`, and the text says ``{chapter}`masking` ``. What that
becomes is decided here, without Sphinx, so that the built book and anything else that shows the text agree:

>>> book = [Chapter("masking", "Masking", "chapters/06_masking", 6), Chapter("decoding", "Decoding", "soon")]
>>> [text for text, chapter in mention(book, "mask")]
['chapter\\xa006']
>>> [text for text, chapter in mention(book, "decoding", capital=True)]
['The coming chapter\\xa0"Decoding"']
>>> [text for text, chapter in entry(book, "masking")]
['06 Masking']
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
    """

    topic: str
    title: str
    page: str
    number: int | None = None

    @property
    def label(self) -> str:
        """The number as file names write it, with two digits; empty while there is none."""
        return "" if self.number is None else f"{self.number:02}"

    @property
    def anchor(self) -> str:
        """Where on its page it stands: a promised chapter shares the page with others."""
        return "" if self.number is not None else "#chapter-" + self.topic.replace("_", "-")


def read(root: Path) -> list[Chapter]:
    """List the chapters of _toc.yml in their order, then the promised ones that have no file yet."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    pages = [entry["file"] for part in toc["parts"] for entry in part["chapters"]]
    found = []
    for page in pages:
        named = NUMBERED.fullmatch(page.rpartition("/")[2])
        if named:
            found.append(Chapter(named[2], _title(root / page), page, int(named[1])))
    if COMING in pages:
        topics = {chapter.topic for chapter in found}
        text = (root / f"{COMING}.md").read_text(encoding="utf-8")
        found += [
            Chapter(topic, title.strip(), COMING)
            for topic, title in PROMISED.findall(text)
            if topic not in topics
        ]
    return found


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


def mention(chapters: list[Chapter], names: str, *, capital: bool = False) -> list[Piece]:
    """Say "chapter" and its number, or "chapters" and theirs for several names with commas between them.

    A chapter that is not written yet has no number: it is "the coming chapter" and its title.

    Args:
        names: topics, as `find` takes them.
        capital: whether a sentence begins here.

    Raises:
        UnknownChapterError: a name is no topic of a chapter.
    """
    named = [find(chapters, name.strip()) for name in names.split(",")]
    written = [chapter for chapter in named if chapter.number is not None]
    if len(written) > 1:
        links: list[Piece] = [(chapter.label, chapter) for chapter in written]
        pieces: list[Piece] = [(f"chapters{SPACE}", None)]
    else:
        links = [(f"chapter{SPACE}{chapter.label}", chapter) for chapter in written]
        pieces = []
    links += [
        (f'the coming chapter{SPACE}"{chapter.title}"', chapter)
        for chapter in named
        if chapter.number is None
    ]
    for at, link in enumerate(links):
        if at:
            pieces.append((" and " if at == len(links) - 1 else ", ", None))
        pieces.append(link)
    if capital:
        text, chapter = pieces[0]
        pieces[0] = (text[0].upper() + text[1:], chapter)
    return pieces


def entry(chapters: list[Chapter], name: str) -> list[Piece]:
    """Say "06 Masking", as a table of contents does.

    Raises:
        UnknownChapterError: the name is no topic of a chapter.
    """
    chapter = find(chapters, name.strip())
    return [(f"{chapter.label} {chapter.title}".strip(), chapter)]


def _title(path: Path) -> str:
    if path.with_suffix(".ipynb").exists():
        notebook = json.loads(path.with_suffix(".ipynb").read_text(encoding="utf-8"))
        cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    else:
        cells = [path.with_suffix(".md").read_text(encoding="utf-8")]
    heading = re.search(r"^# (.+)$", "\n".join(cells), re.MULTILINE)
    return heading[1].strip() if heading else path.name
