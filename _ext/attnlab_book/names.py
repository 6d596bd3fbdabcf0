"""Links the package's names in a text to their entries in its reference, and lists who uses what.

A chapter needs no marks for that: what `attention(q, k, v)` means in a page is what the page's cells imported
under that name. A name that a chapter defines itself, or asks its reader to define, is not the package's.

>>> space = names_of(["from attnlab import attention, masks", "def attention(q): ..."])
>>> find("masks.causal(5)", space)
'attnlab.masks.causal'
>>> find("attention(q, k, v)", space), find("sorted(words)", space)
(None, None)
"""

from __future__ import annotations

import ast
import importlib
import re
from collections import Counter
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from attnlab_book import chapters

CELL = re.compile(r'<div class="highlight-ipython3 .*?</pre>', re.DOTALL)
PATH = re.compile(r'<span class="n">\w+</span>(?:<span class="o">\.</span><span class="n">\w+</span>)*')
"""A name with dots, as Pygments writes it."""
CALL = re.compile(r"([A-Za-z_][\w.]*)(?:\(.*\))?", re.DOTALL)
PACKAGES = ("attnlab", "attnbook")
SPOKEN_OF = (
    "from attnlab import attention, linear, masks, patterns, positions, pretrained, recurrent, scores, "
    "sparse, transformer, MultiHeadAttention, SelfAttention, KVCache\n"
    "from attnbook import checks, tagging, widgets"
)
"""What pages without cells may name without saying where it is from."""


def packages() -> dict[str, Any]:
    """Import both packages; return them by name."""
    return {name: importlib.import_module(name) for name in PACKAGES}


def names_of(cells: list[str]) -> dict[str, Any]:
    """Say what a page's names mean: what its cells import from the package, less what they define.

    Args:
        cells: the sources of its code cells. One that is no plain Python is passed over.
    """
    found = packages()
    own: set[str] = set()
    for cell in cells:
        for node in _nodes(cell):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in PACKAGES:
                for name in node.names:
                    module = importlib.import_module(str(node.module))
                    found[name.asname or name.name] = _member(module, name.name)
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                own.add(node.name)
    return {name: thing for name, thing in found.items() if name not in own}


def find(text: str, space: dict[str, Any]) -> str | None:
    """Give the full name of what some code names; None if it is not the package's."""
    match = CALL.fullmatch(text.strip())
    if not match:
        return None
    first, *others = match[1].split(".")
    thing = space.get(first)
    for name in others:
        thing = None if thing is None else _member(thing, name)
    return _full_name(thing)


def used(cells: list[str]) -> list[str]:
    """List the full names of what code cells use of the package, in alphabetical order."""
    space = names_of(cells)
    written = {
        ast.unparse(node)
        for cell in cells
        for node in _nodes(cell)
        if isinstance(node, ast.Attribute | ast.Name)
    }
    return sorted({name for text in written if (name := find(text, space))})


def _full_name(thing: Any) -> str | None:
    """Say where a thing of the package is defined, which is not always where it is found."""
    name = getattr(thing, "__qualname__", None)
    full = getattr(thing, "__name__", "") if name is None else f"{getattr(thing, '__module__', '')}.{name}"
    return full if str(full).startswith(tuple(f"{package}." for package in PACKAGES)) else None


def code_cells(page: Path) -> list[str]:
    """Read the sources of a page's code cells; a page that is no notebook has none."""
    return [cell.source for cell in chapters.cells_of(page) if cell.kind == "code"]


def _nodes(cell: str) -> list[ast.AST]:
    try:
        return list(ast.walk(ast.parse(cell)))
    except SyntaxError:
        return []


def _member(thing: Any, name: str) -> Any:
    try:
        return getattr(thing, name)
    except AttributeError:
        try:
            return importlib.import_module(f"{thing.__name__}.{name}")
        except (AttributeError, ImportError):
            return None


def entries(app: Sphinx) -> dict[str, tuple[str, str]]:
    """Find the entries of the reference: where each thing stands, by its full name."""
    known = getattr(app, "attnlab_entries", None)
    if known is None:
        known = app.attnlab_entries = {}  # type: ignore[attr-defined]
        for written, entry in app.env.domains["py"].objects.items():  # type: ignore[attr-defined]
            full = find(written, packages())
            if full and entry.objtype != "module":
                known[full] = (entry.docname, entry.node_id)
    return known


def link_cells(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Link the package's names in a page's cells, each where it is first called, to their entries."""
    cells = code_cells(Path(app.srcdir, pagename))
    if cells and "body" in context:
        space, linked = names_of(cells), set[str]()

        def link(path: re.Match[str]) -> str:
            name = find(re.sub("<[^>]*>", "", path[0]), space)
            address = _address(app, pagename, name)
            if not address or name in linked:
                return path[0]
            linked.add(str(name))
            return f'<a class="attn-name reference internal" href="{escape(address)}">{path[0]}</a>'

        context["body"] = CELL.sub(lambda cell: _each_line(cell[0], link), context["body"])


def _each_line(cell: str, link: Callable[[re.Match[str]], str]) -> str:
    """Link in every line but those that import: a name is looked up where it does something."""
    lines = cell.split("\n")
    return "\n".join(line if 'class="kn"' in line else PATH.sub(link, line) for line in lines)


def link_mentions(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Link the first mention of each name in a page's text to its entry."""
    space = names_of([SPOKEN_OF, *code_cells(Path(app.srcdir, docname))])
    linked: set[str] = set()
    for literal in list(doctree.findall(nodes.literal)):
        name = None if _is_linked(literal) else find(literal.astext(), space)
        address = _address(app, docname, name)
        if address and name not in linked:
            linked.add(str(name))
            literal.replace_self(_link(literal.astext(), address))


def _is_linked(node: Any) -> bool:
    while isinstance(node, nodes.Element):
        if isinstance(node, nodes.reference | nodes.title):
            return True
        node = node.parent
    return False


def _address(app: Sphinx, docname: str, name: str | None) -> str | None:
    page, place = entries(app).get(name or "", (docname, ""))
    return None if page == docname else f"{app.builder.get_relative_uri(docname, page)}#{place}"


def _link(text: str, address: str) -> nodes.reference:
    shown = nodes.literal("", text)
    return nodes.reference("", "", shown, internal=True, refuri=address, classes=["attn-name"])


class NamesByChapter(nodes.General, nodes.Element):
    """Stands for the index by chapter until all entries of the reference are known."""


class NamesByChapterDirective(SphinxDirective):
    """``{names-by-chapter}``: what each chapter uses of the package."""

    def run(self) -> list[nodes.Node]:
        """Leave a place for the list."""
        return [NamesByChapter()]


def fill_index(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the list in its place: for each chapter the documented names in its cells."""
    for place in list(doctree.findall(NamesByChapter)):
        items = nodes.definition_list()
        for chapter in app.env.attnlab_chapters:  # type: ignore[attr-defined]
            line = nodes.paragraph()
            names = used(code_cells(Path(app.srcdir, chapter.page)))
            addresses = [address for name in names if (address := _address(app, docname, name))]
            paths = [address.partition("#")[2].split(".") for address in addresses]
            often = Counter(path[-1] for path in paths)
            for address, path in zip(addresses, paths, strict=True):
                # Several modules have a ``show``: those stand with their module, as they are called.
                shown = ".".join(path[-2:] if often[path[-1]] > 1 else path[-1:])
                line += [_link(shown, address), nodes.Text(" ")]
            title = nodes.reference("", f"{chapter.label} {chapter.title}", internal=True)
            title["refuri"] = app.builder.get_relative_uri(docname, chapter.page)
            items += nodes.definition_list_item("", nodes.term("", "", title), nodes.definition("", line))
        place.replace_self(items)
