"""Writes what the page *Read a configuration* needs: what fields mean, and the sections that have them.

A section is named by its chapter's topic and its heading; a heading that is not there stops the build.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from attnlab_book import chapters

PAGE = "chapters/configuration.ipynb"
NAME = "configuration-model.js"
SOURCES = (
    "_toc.yml",
    "benchmarks/results/census-checkpoints.json",
    "benchmarks/results/configurations.json",
    "src/attnbook/census.py",
    "src/attnbook/configuration.py",
    "src/attnbook/fields.py",
    "src/attnbook/reading.py",
    "src/attnbook/rules.py",
    "src/attnbook/static/census-fields.json",
    "src/attnbook/static/class-defaults.json",
    "src/attnbook/widgets/configuration.py",
)
"""What the script is made of, beside the headings of the chapters."""


def sources(app: Sphinx) -> list[Path]:
    """List what the script is made of, if the book has the page that loads it."""
    return [Path(app.srcdir, name) for name in SOURCES] if Path(app.srcdir, PAGE).is_file() else []


def script(where: Callable[[str, str], tuple[str, str]]) -> str:
    """Return what a page loads: `where` tells a section's title and address, from topic and heading."""
    from attnbook.widgets import configuration

    return f"(globalThis.attnlabModels ??= {{}}).configuration = {configuration.data(where)};\n"


def write(app: Sphinx, exception: Exception | None) -> None:
    """Put the fields, as a script, beside the models that figures load."""
    if exception or app.builder.format != "html" or not sources(app):
        return
    book = app.env.attnlab_chapters  # type: ignore[attr-defined]
    places = {}
    for one in book:
        if one.number is not None:
            sections = app.env.get_doctree(one.page).findall(nodes.section)
            headings = {
                section[0].astext(): section["ids"][0]
                for section in sections
                if len(section) and isinstance(section[0], nodes.title)
            }
            places[one.page] = headings

    def where(topic: str, label: str) -> tuple[str, str]:
        chapter = chapters.find(book, topic)
        if label not in places[chapter.page]:
            raise ExtensionError(f"census-fields.json must name a section of {chapter.page}, got {label!r}")
        address = f"{app.builder.get_target_uri(chapter.page)}#{places[chapter.page][label]}"
        return f"{chapter.label} {chapter.title}: {label}", address

    target = Path(app.outdir, "_static/models", NAME)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(script(where), encoding="utf-8")
