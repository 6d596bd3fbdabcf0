"""Writes what the book's search looks through: the sections' titles, prose and words of formulas."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from attnlab_book import chapters
from attnlab_book.numbering import ChapterMention

PROSE = (nodes.paragraph, nodes.term, nodes.caption, addnodes.desc_signature)
SCRIPT = re.compile(r'(?<=_static/)(search(?:-sections)?\.js)(?:\?v=\w+)?(?=")')
SILENT = (nodes.raw, nodes.comment, nodes.literal_block)


def write(app: Sphinx, exception: Exception | None) -> None:
    """Put the sections, as a script, beside the script that searches them."""
    if exception or app.builder.name != "html":
        return
    static = Path(app.outdir, "_static")
    numbered = {one.page: one for one in app.env.attnlab_chapters if one.number is not None}  # type: ignore[attr-defined]
    sections = []
    for page in sorted(app.env.all_docs, key=lambda page: (page not in numbered, page)):
        chapter = numbered.get(page)
        title = f"{chapter.label} {chapter.title}" if chapter else app.env.titles[page].astext()
        kind = "chapter" if chapter else "reference" if "/api" in page else "page"
        for anchor, heading, text, terms in _sections(app.env.get_doctree(page), app.env.attnlab_chapters):  # type: ignore[attr-defined]
            at = app.builder.get_target_uri(page) + (f"#{anchor}" if heading else "")
            sections.append(
                {
                    "at": at,
                    "page": title,
                    "title": heading or title,
                    "text": text,
                    "terms": terms,
                    "kind": kind,
                }
            )
    listed = json.dumps(sections, ensure_ascii=False, separators=(",", ":"))
    (static / "search-sections.js").write_text(f"globalThis.attnlabSections={listed};\n", encoding="utf-8")
    shutil.copyfile(Path(__file__).with_name("search.js"), static / "search.js")
    # Named by what they hold, once that is written: no cache may give the sections of an older book.
    page = Path(app.outdir, "search.html")
    page.write_text(
        SCRIPT.sub(partial(_versioned, static), page.read_text(encoding="utf-8")), encoding="utf-8"
    )


def _versioned(static: Path, found: re.Match[str]) -> str:
    held = hashlib.sha256((static / found[1]).read_bytes()).hexdigest()[:8]
    return f"{found[1]}?v={held}"


def short(formula: str) -> str:
    """Write a small formula of a line of prose as plain text, and of a larger one that it was there.

    >>> short(r"\\sqrt{d_k}"), short("p"), short(r"\\frac{a}{b} + \\sum_i x_i")
    ('√d_k', 'p', '…')
    """
    plain = re.sub(r"\\sqrt\s*\{?(\w+)\}?", r"√\1", formula)
    return plain.strip() if len(plain) <= 12 and "\\" not in plain else "…"


def _sections(doctree: nodes.document, book: list[chapters.Chapter]) -> Iterator[tuple[str, str, str, str]]:
    """Give anchor, heading, prose and words of formulas of each section; of a page's first one no heading."""
    for section in doctree.findall(nodes.section):
        prose, formulas = [], []
        for node in section.findall():
            if _home(node) is not section:
                continue
            if isinstance(node, PROSE):
                prose.append(_prose(node, book))
            elif isinstance(node, (nodes.math, nodes.math_block)):
                formulas += re.findall(r"[A-Za-z]+", node.astext())
        if not isinstance(section[0], nodes.title):
            continue
        heading = "" if section.parent is doctree else _prose(section[0], book)
        text = re.sub(r"\s+", " ", " ".join(prose)).strip()
        yield section["ids"][0], heading, text, " ".join(dict.fromkeys(formulas))


def _home(node: nodes.Node) -> nodes.Node | None:
    """Find the section that a node stands in; what is in a fold or an output stands in none."""
    while node is not None and not isinstance(node, nodes.section):
        if isinstance(node, SILENT) or "cell_output" in getattr(node, "attributes", {}).get("classes", ()):
            return None
        node = node.parent
    return node


def _prose(node: nodes.Node, book: list[chapters.Chapter]) -> str:
    """Read what a reader sees, but for large formulas."""
    if isinstance(node, nodes.Text):
        return node.astext()
    if isinstance(node, ChapterMention):
        try:
            return "".join(text for text, _ in chapters.resolve(book, node["role"], node["topics"]))
        except chapters.UnknownChapterError:
            return ""
    if isinstance(node, nodes.math):
        return short(node.astext())
    if isinstance(node, addnodes.desc_signature):
        return f"{node.get('fullname', '')}: "
    if isinstance(node, addnodes.pending_xref) and node.get("refdomain") == "cite":
        return re.sub(r"([a-z]+?)_?(\d{4})\w*", lambda found: f"{found[1].title()} {found[2]}", node.astext())
    if isinstance(node, SILENT):
        return ""
    return "".join(_prose(child, book) for child in node.children)
