"""Numbers chapters by their file names, and what is counted in them by chapter; turns mentions into links."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors.toctree import TocTreeCollector
from sphinx.util import logging

from attnlab_book import chapters, drawings

ROLES = ("chapter", "chapter-title")
FIRST_FIGURE = "figure"
"""The name of the place where a page's first figure is asked about."""
logger = logging.getLogger(__name__)


class ChapterMention(nodes.Inline, nodes.Element):
    """Stands for a mention until pages are written: the number may change while the page does not."""


def mention_role(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any, *_: Any
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Read ``{chapter}`masking` ``; ``{Chapter}`` begins a sentence, ``{chapter-title}`` adds the title."""
    node = ChapterMention(role=name, topics=text)
    node.line = lineno
    return [node], []


def read_chapters(app: Sphinx) -> None:
    """Read which chapters there are, once a build."""
    app.env.attnlab_chapters = chapters.read(Path(app.srcdir))  # type: ignore[attr-defined]


def link_mentions(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put links in the place of mentions; a name that is no chapter's is a warning."""
    book = app.env.attnlab_chapters  # type: ignore[attr-defined]
    for node in list(doctree.findall(ChapterMention)):
        role, topics = node["role"], node["topics"]
        try:
            pieces = chapters.resolve(book, role, topics)
        except chapters.UnknownChapterError as error:
            logger.warning("{%s}: %s", role, error, location=node, type="attnlab", subtype="chapter")
            pieces = [(topics, None)]
        node.replace_self([_link(app, docname, text, chapter) for text, chapter in pieces])


def write_mention(translator: nodes.NodeVisitor, node: ChapterMention) -> None:
    """Write a mention in a heading where contents list that heading: there it is words alone."""
    pieces = chapters.resolve(translator.builder.env.attnlab_chapters, node["role"], node["topics"])  # type: ignore[attr-defined]
    translator.body.append(escape("".join(text for text, _ in pieces)))  # type: ignore[attr-defined]
    raise nodes.SkipNode


def _link(app: Sphinx, docname: str, text: str, chapter: chapters.Chapter | None) -> nodes.Node:
    if chapter is None:
        return nodes.Text(text)
    address = app.builder.get_relative_uri(docname, chapter.page) + chapter.anchor
    return nodes.reference("", text, internal=True, refuri=address, classes=["attn-chapter"])


def number_by_file_name(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Give each chapter the number in its file name, and count what is counted within the chapter.

    Sphinx numbers pages one after the other, which is wrong as soon as one between them is missing.
    """
    written = [chapter for chapter in env.attnlab_chapters if chapter.number is not None]  # type: ignore[attr-defined]
    before = env.toc_secnumbers
    env.toc_secnumbers = {**before}
    for chapter in written:
        _set_number(env, chapter.page, chapter.number)
    # Exercises, equations and figures take their first number from here ...
    TocTreeCollector().assign_figure_numbers(env)
    # ... and titles are written as file names are, with two digits.
    for chapter in written:
        _set_number(env, chapter.page, chapter.label)
    return [chapter.page for chapter in written]


def _set_number(env: BuildEnvironment, page: str, number: int | str | None) -> None:
    places = [node for node in env.tocs[page].findall(nodes.reference) if "anchorname" in node]
    # Sections within a chapter have no number of their own.
    env.toc_secnumbers[page] = {node["anchorname"]: () for node in places} | {"": (number,)}  # type: ignore[dict-item]
    for node in places:
        node["secnumber"] = (number,) if node["anchorname"] == "" else None
    env.titles[page]["secnumber"] = (number,)


def name_part(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Say above a chapter's title which part of the book it belongs to: on a phone no sidebar does.

    Beside it, where there is room, stands the picture by which the landing page leads here. Both lead to the
    first figure, which may stand several screens below.
    """
    for chapter in app.env.attnlab_chapters:  # type: ignore[attr-defined]
        if chapter.page == pagename and "body" in context:
            # A chapter that is being written may have none yet.
            picture = drawings.drawing(chapter.topic) if chapter.topic in drawings.DRAWINGS else ""
            picture = picture.replace('"attn-drawing"', '"attn-drawing attn-emblem"')
            part = escape(chapter.part)
            if f'id="{FIRST_FIGURE}"' in context["body"]:
                part += f' <a href="#{FIRST_FIGURE}">to the figure</a>'
                silent = f'<a href="#{FIRST_FIGURE}" aria-hidden="true" tabindex="-1">'  # the words say it
                picture = picture and f"{silent}{picture}</a>"
            top = f'{picture}<p class="attn-part">{part}</p>\n<h1>'
            context["body"] = context["body"].replace("<h1>", top, 1)
            return
