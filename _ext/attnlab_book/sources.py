"""Says below each entry of the bibliography which chapters cite it, and in which of their sections.

The entries are told apart by their authors and years, as texts cite them; so they carry no numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

BIBLIOGRAPHY = "chapters/references"


class Place(NamedTuple):
    """A section that cites a source."""

    page: str
    anchor: str
    """Empty where a page cites above its first section."""
    title: str


def rewrite_bibliography(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Have the bibliography written again in every build: what it lists stands in other pages."""
    return [BIBLIOGRAPHY] if BIBLIOGRAPHY in env.found_docs else []


def cited(doctree: nodes.document, page: str) -> Iterator[tuple[str, Place]]:
    """Find the citations of a page, in their order: the key, and the section that it stands in."""
    for mention in doctree.findall(addnodes.pending_xref):
        if mention.get("refdomain") == "cite":
            section = _section(mention)
            title = section.next_node(nodes.title) if section else None
            place = Place(page, section["ids"][0] if section else "", title.astext() if title else "")
            for key in mention["reftarget"].split(","):
                yield key.strip(), place


def _section(node: nodes.Node) -> nodes.section | None:
    """Find the section that something stands in; a page's whole is none."""
    while node.parent is not None:
        node = node.parent
        if isinstance(node, nodes.section) and isinstance(node.parent, nodes.section):
            return node
    return None


def say_where_sources_are_cited(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """End each entry with links to the sections that cite it, and take its number away."""
    if docname != BIBLIOGRAPHY:
        return
    env = app.env
    places: dict[str, dict[Place, None]] = {}
    for page in _in_order(env):
        for key, place in cited(env.get_doctree(page), page):
            places.setdefault(key, {})[place] = None
    keys = {one.citation_id: one.key for one in env.get_domain("cite").citations}  # type: ignore[attr-defined]
    for entry in doctree.findall(nodes.citation):
        for label in list(entry.findall(nodes.label)):
            label.parent.remove(label)
        (key,) = {keys[one] for one in entry["ids"] if one in keys}
        if key in places:
            entry += _line(app, list(places[key]))


def _in_order(env: BuildEnvironment) -> list[str]:
    """List the pages in the order of the contents, without the bibliography itself."""
    relations = env.collect_relations()
    page: str | None = env.config.root_doc
    found = []
    while page is not None:
        found.append(page)
        page = relations[page][2]
    return [page for page in found if page != BIBLIOGRAPHY]


def _line(app: Sphinx, places: list[Place]) -> nodes.paragraph:
    labels = {one.page: one.label for one in app.env.attnlab_chapters}  # type: ignore[attr-defined]
    line = nodes.paragraph("", "Cited in ", classes=["attn-used"])
    for at, page in enumerate(dict.fromkeys(place.page for place in places)):
        address = app.builder.get_relative_uri(BIBLIOGRAPHY, page)
        name = labels.get(page) or app.env.titles[page].astext()
        line += nodes.Text("; " if at else "")
        line += nodes.reference("", name, internal=True, refuri=address)
        sections = [place for place in places if place.page == page and place.anchor]
        for nth, place in enumerate(sections):
            line += nodes.Text(", " if nth else ": ")
            line += nodes.reference("", place.title, internal=True, refuri=f"{address}#{place.anchor}")
    line += nodes.Text(".")
    return line
