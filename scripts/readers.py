"""Writes the readers' edition: the chapters as plain notebooks that every front end shows alike.

    readers.py            write notebooks/ from chapters/
    readers.py --check    write nothing, say whether a file would change

The chapters are the book's source: they hold markup that only the book resolves, and solutions that run. A
reader's notebook holds neither. Numbers and citations stand in its text, hints and solutions are folded
HTML that runs nothing, no output is there before the reader has made it, and each figure has a name. Below
its title each says where it comes from and under which licence. Cells that only check what the text says,
often the answer to a prediction, are the book's alone.

A notebook in which a reader has written is never overwritten.

>>> print(plain(":::{admonition} Predict\\n:class: predict\\n\\nIn {chapter}`one`: {eq}`eq-a`?\\n:::", Names(
...     book=[Chapter("one", "One", "chapters/01_one", 1)], numbers={"eq-a": "1.1"}, sources={})))
> **Predict**
>
> In [chapter\xa001](01_one.ipynb): (1.1)?
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import html
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from notebook_form import ROOT, normalise, text, write

sys.path.insert(0, str(ROOT / "_ext"))

import source as book_source
from attnlab_book import chapters, licences, playground
from attnlab_book.chapters import Chapter

FOLDER = "notebooks"
OPEN = re.compile(r"^(:{3,})\{([\w-]+)\} ?(.*)$")
OPTION = re.compile(r"^:([\w-]+): ?(.*)$")
LABEL = re.compile(r"^\$\$ \((eq-[\w-]+)\)$", re.MULTILINE)
ROLE = re.compile(r"\{([\w:-]+)\}`([^`]+)`")
EXERCISE = re.compile(r"^:::\{exercise\}[^\n]*\n:label: (\S+)$", re.MULTILINE)
BEFORE_EXERCISES = (
    "*The first two cells with code, set-up and imports, are all that these exercises need (and the cell of "
    "a figure, where one is asked for): run those, and begin here. `check()` shows what you have solved and "
    "what is open. To begin one anew, run `from attnbook import stub`, and in its cell "
    '`stub("its-name")`.*'
)
FROM, UNTIL = "<details><summary>Solution</summary>", "<!-- end of the solution -->"
LINK = re.compile(r"\]\((\w+)\.md\)")
Sources = dict[str, tuple[str, str, str]]
Cut = Callable[[list[NotebookNode]], list[NotebookNode]]
TARGET = re.compile(r"^\([\w-]+\)=$\n*", re.MULTILINE)
NOTE = re.compile(r"\n*^\[\^([\w-]+)\]: (.+(?:\n.+)*)$", re.MULTILINE)
ADDRESS = re.compile(r"github\.com/\S+|[\w-]+\.github\.io/[\w.-]+/chapters/")
MARK = re.compile(r" ?\[\^([^\]\s]+)\]")


class UnknownMarkupError(ValueError):
    """The book can show this, and the readers' edition can't yet."""


class ChangedError(RuntimeError):
    """A notebook holds what a reader wrote."""


@dataclass(frozen=True)
class Names:
    """What mentions in a chapter's text stand for.

    Args:
        book: the chapters.
        numbers: the number of each labelled equation and exercise.
        sources: by key of the bibliography: authors as a text names them, year, and the entry in full.
        folder: where the page stands, and what it includes.
    """

    book: list[Chapter]
    numbers: dict[str, str]
    sources: Sources
    folder: Path = ROOT / "chapters"
    cited: dict[str, None] = field(default_factory=dict)
    """The keys that were used, in their order."""


def plain(markdown: str, names: Names) -> str:
    """Turn a cell's MyST into Markdown that needs no extension.

    Raises:
        UnknownMarkupError: a directive or role that has no plain form here, or a mark without its footnote.
    """
    # A notebook has no foot: a note stands in brackets behind what it is a note to.
    notes = {found[1]: " ".join(found[2].split()) for found in NOTE.finditer(markdown)}
    blocks = _blocks(NOTE.sub("", markdown).split("\n"), names)
    return _roles("\n".join(blocks), names, notes)


def _blocks(lines: list[str], names: Names) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(lines):
        opening = OPEN.match(lines[at])
        at += 1
        if not opening:
            found.append(lines[at - 1])
            continue
        fence, kind, title = opening.groups()
        try:
            end = next(i for i in range(at, len(lines)) if lines[i].rstrip() == fence)
        except StopIteration:
            raise UnknownMarkupError(f"{lines[at - 1]!r} is never closed") from None
        options = {}
        while at < end and (option := OPTION.match(lines[at])):
            options[option[1]] = option[2]
            at += 1
        body = "\n".join(_blocks(lines[at:end], names)).strip("\n")
        found += _block(kind, title, options, body, names).split("\n")
        at = end + 1
    return found


def _block(kind: str, title: str, options: dict[str, str], body: str, names: Names) -> str:
    if kind == "exercise":
        return f"### Exercise {names.numbers[options['label']]}: {title}\n\n{body}"
    if kind == "admonition" and "dropdown" in options.get("class", ""):
        return f"<details><summary>{html.escape(title, quote=False)}</summary>\n\n{body}\n\n</details>"
    if kind == "admonition":
        return "\n".join(f"> {line}".rstrip() for line in [f"**{title}**", "", *body.split("\n")])
    if kind in ("chapter-cards", "chapter-paths"):
        return body
    if kind == "chapter-start":
        return f"{body}, or start with {{chapter-title}}`{title}`."
    if kind == "chapter-path":
        return f"**{title}.** {body}"
    if kind == "include":
        return "\n".join(_blocks((names.folder / title).read_text(encoding="utf-8").split("\n"), names))
    if kind == "solution-start":
        return FROM
    if kind == "solution-end":
        return UNTIL
    raise UnknownMarkupError(f"there is no plain form of the directive {kind!r} yet")


def _roles(markdown: str, names: Names, notes: dict[str, str]) -> str:
    def note(mark: re.Match[str]) -> str:
        if mark[1] not in notes:
            raise UnknownMarkupError(f"there is no footnote {mark[1]!r} in its cell")
        return f" ({notes[mark[1]]})"

    # What stands between backticks or in a fence is code, whatever it looks like.
    pieces = re.split(r"(^```.*?^```$|(?<!\})`[^`\n]+`)", markdown, flags=re.MULTILINE | re.DOTALL)
    for at in range(0, len(pieces), 2):
        piece = LABEL.sub(lambda found: f"\\tag{{{names.numbers[found[1]]}}}\n$$", pieces[at])
        pieces[at] = LINK.sub(r"](../chapters/\1.md)", MARK.sub(note, TARGET.sub("", piece)))
    return ROLE.sub(lambda found: _role(found[1], found[2], names), "".join(pieces))


def _role(role: str, content: str, names: Names) -> str:
    if role in ("chapter", "Chapter", "chapter-title"):
        pieces = chapters.resolve(names.book, role, content)
        return "".join(f"[{text}]({_file(chapter)})" if chapter else text for text, chapter in pieces)
    if role == "term":
        return content.partition("<")[0].strip()
    if role == "eq":
        return f"({names.numbers[content]})"
    if role in ("cite:t", "cite:p"):
        keys = [key.strip() for key in content.split(",")]
        names.cited.update(dict.fromkeys(keys))
        known = [names.sources[key] for key in keys]
        if role == "cite:t":
            return " and ".join(f"{who} ({year})" for who, year, _ in known)
        return "(" + "; ".join(f"{who}, {year}" for who, year, _ in known) + ")"
    if role in playground.PAGES:
        return f"[{playground.split(content)[0]}]({playground.PAGES[role].rpartition('/')[2]}.ipynb)"
    if role.startswith("py:"):
        return f"`{content.removeprefix('~').rpartition('.')[2]}`"
    raise UnknownMarkupError(f"there is no plain form of the role {role!r} yet")


def _file(chapter: Chapter) -> str:
    return f"{chapter.page.rpartition('/')[2]}.ipynb"


def numbers_of(cells: list[NotebookNode], number: int | None) -> dict[str, str]:
    """Number a page's labelled equations and its exercises, each kind from one, behind a chapter's number."""
    source = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return {
        label: f"{at}" if number is None else f"{number}.{at}"
        for pattern in (LABEL, EXERCISE)
        for at, label in enumerate(pattern.findall(source), 1)
    }


def sources_of(path: Path) -> Sources:
    """Read a bibliography: authors as a text names them, year, and the whole entry as Markdown."""
    from pybtex.database import parse_file
    from pybtex.plugin import find_plugin

    data = parse_file(str(path))
    style = find_plugin("pybtex.style.formatting", "plain")()
    backend = find_plugin("pybtex.backends", "markdown")()
    whole = {entry.key: entry.text.render(backend) for entry in style.format_bibliography(data)}
    found = {}
    for key, entry in data.entries.items():
        people = [" ".join(person.last_names) for person in entry.persons["author"]]
        people = [re.sub(r"[{}]", "", person).replace("\\L", "Ł") for person in people]
        who = " and ".join(people) if len(people) < 3 else f"{people[0]} et al."
        found[key] = (who, entry.fields["year"], whole[key])
    return found


def names_of(path: Path, cells: list[NotebookNode], book: list[Chapter], sources: Sources) -> Names:
    """Say what mentions in a page stand for, given all its cells."""
    number = next((one.number for one in book if one.page.endswith(f"/{path.stem}")), None)
    return Names(book, numbers_of(cells, number), sources, path.parent)


def edition(
    path: Path, book: list[Chapter], sources: Sources, cut: Cut = lambda cells: cells
) -> NotebookNode:
    """Make the readers' edition of one chapter.

    Args:
        path: the chapter's notebook.
        book: all chapters.
        sources: the bibliography, as `sources_of` reads it.
        cut: what takes cells out, or changes them, before anything is made of them. Numbers stay.

    Raises:
        UnknownMarkupError: the chapter uses markup that has no plain form yet.
    """
    stored = nbformat.read(path, as_version=4)
    names = names_of(path, stored.cells, book, sources)
    cells: list[NotebookNode] = []
    folded: list[str] | None = None
    for cell in cut(stored.cells):
        if cell.cell_type == "markdown":
            words = plain(cell.source, names).replace(
                "## Exercises\n", f"## Exercises\n\n{BEFORE_EXERCISES}\n", 1
            )
            for part in re.split(f"^({FROM}|{UNTIL})$", words, flags=re.MULTILINE):
                part = part.strip("\n")
                if part == FROM:
                    folded = [part]
                elif part == UNTIL and folded:
                    cells.append(nbformat.v4.new_markdown_cell("\n\n".join([*folded, "</details>"])))
                    folded = None
                elif part and folded:
                    folded.append(part)
                elif part:
                    cells.append(nbformat.v4.new_markdown_cell(part))
        elif folded is not None:
            folded.append(_as_text(cell))
        elif not _only_checks(cell):
            cells.append(_to_run(cell))
    if names.cited:
        entries = "\n".join(f"- {' '.join(sources[key][2].split())}" for key in names.cited)
        cells.append(nbformat.v4.new_markdown_cell(f"### References\n\n{entries}"))
    address = book_source.address(path.parent.parent)
    first = next(cell for cell in cells if cell.cell_type == "markdown")
    title, _, rest = first.source.partition("\n")
    note = book_source.note(address, f"{path.parent.name}/{path.stem}")
    first.source = f"{title}\n\n{note}\n{rest}".strip()
    made = normalise(nbformat.v4.new_notebook(cells=cells))
    made.metadata["attnlab"] = {"edition": _digest(made)}
    return made


def _as_text(cell: NotebookNode) -> str:
    """Show a solution and what it printed, to be read and not run."""
    printed = "".join(output.get("text", "") for output in cell.outputs if output.output_type == "stream")
    shown = f"```python\n{cell.source}\n```"
    return f"{shown}\n\nIt prints\n\n```text\n{printed.rstrip()}\n```" if printed.strip() else shown


def _only_checks(cell: NotebookNode) -> bool:
    """Tell whether a cell is there for the book's tests: no page shows it, and it asserts."""
    return "remove-cell" in cell.metadata.get("tags", []) and "assert " in cell.source


def _to_run(cell: NotebookNode) -> NotebookNode:
    tags = cell.metadata.get("tags", [])
    signed = licences.SIGNED if licences.TAKEN in tags else ""
    made = nbformat.v4.new_code_cell(signed + _named_figure(cell.source))
    made.metadata = NotebookNode(
        {key: cell.metadata[key] for key in ("exercise", "role") if key in cell.metadata}
    )
    if not signed and any(tag.startswith(("hide", "remove")) for tag in tags):
        # Jupyter and its kin fold a cell that says so; Colab wants a word of its own. What one takes along is
        # long on a page alone.
        made.metadata.update(jupyter={"source_hidden": True}, cellView="form")
    return made


def _named_figure(source: str) -> str:
    """Give a figure that a cell only shows the name `figure`, and say what can be read from it."""
    from attnbook import widgets

    try:
        last = ast.parse(source).body[-1]
    except (SyntaxError, IndexError):
        return source
    calls = isinstance(last, ast.Expr) and isinstance(last.value, ast.Call)
    called = re.match(r"(?:widgets\.)?([A-Z]\w+)\b", ast.unparse(last)) if calls else None
    kind = getattr(widgets, called[1], None) if called else None
    if kind is None:
        return source
    lines = source.split("\n")
    before, shown = lines[: last.lineno - 1], lines[last.lineno - 1 :]
    held = ", ".join(f"figure.{name}" for name in kind.state)
    say = f"# Read or set what it shows: {held}."
    return "\n".join([*before, *_wrapped(say), f"figure = {shown[0]}", *shown[1:], "figure"])


def _wrapped(comment: str, width: int = 76) -> list[str]:
    lines = [""]
    for word in comment.split(" "):
        if len(lines[-1]) + len(word) >= width:
            lines.append("#")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _digest(notebook: NotebookNode) -> str:
    # Where the repository is may be changed by a command, which is no reader.
    sources = [ADDRESS.sub("", f"{cell.cell_type}\n{cell.source}") for cell in notebook.cells]
    return hashlib.sha256("\n\n".join(sources).encode()).hexdigest()[:16]


def is_untouched(path: Path) -> bool:
    """Tell whether a notebook is as it was written: nobody has changed a cell since."""
    notebook = nbformat.read(path, as_version=4)
    return notebook.metadata.get("attnlab", {}).get("edition") == _digest(notebook)


def write_all(root: Path, *, check: bool = False) -> list[str]:
    """Write the readers' edition of every chapter, or only compare.

    Returns:
        The names of the files that differ from what the chapters give.

    Raises:
        ChangedError: a reader has written in a notebook that would be overwritten.
    """
    book = chapters.read(root)
    sources = sources_of(root / "chapters/references.bib")
    made = {
        f"{name}.ipynb": text(edition(root / f"chapters/{name}.ipynb", book, sources))
        for name in (page.rpartition("/")[2] for page in chapters.pages(root))
        if (root / f"chapters/{name}.ipynb").exists()
    }
    folder = root / FOLDER
    there = {path.name: path for path in folder.glob("*.ipynb")}
    changed = [
        name
        for name in sorted({*made, *there})
        if name not in made or name not in there or there[name].read_text(encoding="utf-8") != made[name]
    ]
    if check:
        return changed
    theirs = [name for name in changed if name in there and not is_untouched(there[name])]
    if theirs:
        raise ChangedError(
            f"{', '.join(f'{FOLDER}/{name}' for name in theirs)} was changed by a reader and stays as it is; "
            "give it another name, and run this again"
        )
    folder.mkdir(exist_ok=True)
    for name in changed:
        if name in made:
            write(folder / name, made[name])
        else:
            there[name].unlink()
    return changed


def main(words: list[str] | None = None) -> int:
    """Write the edition, or say what would change."""
    whole = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=whole)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args(words).check
    try:
        changed = write_all(ROOT, check=check)
    except (ChangedError, UnknownMarkupError) as error:
        print(error, file=sys.stderr)
        return 1
    for name in changed:
        print(f"{FOLDER}/{name} {'would change: run scripts/readers.py' if check else 'written'}")
    return int(check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
