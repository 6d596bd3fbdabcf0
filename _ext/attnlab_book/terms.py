"""Links a term of the glossary where a chapter uses it first, and lists there the chapters that do.

Chapters stay plain text: a word is found, not marked. Words that English needs too, such as *state*, count
only where the chapter introduces them, which is where it sets them in italics or bold.

>>> sorted(forms("rotary positions (RoPE)"))
['RoPE', 'rotary position', 'rotary positions']
>>> wanted = {"key": ["key", "keys"], "attention": ["attention"], "linear attention": ["linear attention"]}
>>> [(found[0], term) for found, term in mentions("Queries look at keys; linear attention sums.", wanted)]
[('keys', 'key'), ('linear attention', 'linear attention')]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform

GLOSSARY = "chapters/glossary"
ORDINARY = frozenset(
    [
        "balance",
        "circuit",
        "control",
        "decode",
        "gate",
        "key",
        "loss",
        "position",
        "reach",
        "scale",
        "sink",
        "state",
        "value",
        "weights",
        "window",
    ]
)
"""Terms that are everyday words too."""
NAME = 4
"""How many words what is set in italics or bold may have, to count as a name: a sentence introduces none."""
INSIDE = (nodes.paragraph, nodes.emphasis, nodes.strong)
"""What a linked word may stand in, of all that holds text."""


def read(text: str) -> list[str]:
    """List the terms that a glossary's source defines, in its order."""
    body = text.partition(":::{glossary}\n")[2].partition("\n:::")[0]
    return [line.strip() for line in body.splitlines() if line.strip() and not line[0].isspace()]


def forms(term: str) -> set[str]:
    """Say how a term may stand in a text: its name and its abbreviation, one and many."""
    name, _, short = term.partition(" (")
    found = {name, short.rstrip(")")} - {""}
    if re.search(r"[^aeiou]y$", name):
        found.add(name[:-1] + "ies")
    elif name.endswith("s") and not name.endswith("ss"):
        found.add(name[:-1])
    elif name[-1].isalpha() and not name.endswith(("ss", "x")):
        found.add(name + "s")
    return found


def is_name(stressed: str) -> bool:
    """Tell whether what is set in italics or bold is short enough to be a name.

    >>> is_name("recurrent state"), is_name("How much of a state is left at the end?")
    (True, False)
    """
    return len(stressed.split()) <= NAME


def mentions(text: str, wanted: dict[str, list[str]]) -> Iterator[tuple[re.Match[str], str]]:
    """Find terms in a text: where they stand, and which. The longest that fits counts.

    Args:
        text: any text.
        wanted: the terms, each with the forms that it may have.
    """
    return _finder(wanted)(text)


def _finder(wanted: dict[str, list[str]]) -> Callable[[str], Iterator[tuple[re.Match[str], str]]]:
    """Make what `mentions` does, for many texts."""
    by_form = {form.lower(): term for term, ways in wanted.items() for form in ways}
    longest_first = sorted(by_form, key=len, reverse=True)
    # Without a term nothing fits.
    forms_of_all = "|".join(re.escape(form) for form in longest_first) or "(?!)"
    pattern = re.compile(rf"(?<![\w-])(?:{forms_of_all})(?![\w-])", re.IGNORECASE)
    return lambda text: ((found, by_form[found[0].lower()]) for found in pattern.finditer(text))


def load(app: Sphinx) -> None:
    """Read the glossary once a build, before any page."""
    source = Path(app.srcdir, f"{GLOSSARY}.md")
    defined = read(source.read_text(encoding="utf-8")) if source.exists() else []
    app.env.attnlab_terms = {term: sorted(forms(term)) for term in defined}  # type: ignore[attr-defined]


class LinkFirstUse(SphinxTransform):
    """Puts a link to the glossary where a chapter uses a term first."""

    # Once the text is parsed and smart quotes are set, before Sphinx collects what a page links to.
    default_priority = 800

    def apply(self, **_: object) -> None:
        """Go through the page's text in its order, once."""
        env = self.env
        if env.docname not in {
            chapter.page for chapter in env.attnlab_chapters if chapter.number is not None
        }:
            return
        env.note_dependency(str(Path(env.srcdir, f"{GLOSSARY}.md")))
        find = _finder(env.attnlab_terms)
        linked = {link["reftarget"].lower() for link in _links(self.document)}
        for text in list(self.document.findall(nodes.Text)):
            if not _is_prose(text):
                continue
            stressed = isinstance(text.parent, (nodes.emphasis, nodes.strong)) and is_name(
                text.parent.astext()
            )
            pieces: list[nodes.Node] = []
            words, done = str(text), 0
            for found, term in find(words):
                if term.lower() in linked or (term in ORDINARY and not stressed):
                    continue
                linked.add(term.lower())
                pieces += [nodes.Text(words[done : found.start()]), _link(found[0], term, env.docname)]
                done = found.end()
            if pieces:
                text.parent.replace(text, [*pieces, nodes.Text(words[done:])])


def _link(word: str, term: str, page: str) -> addnodes.pending_xref:
    shown = nodes.inline("", word, classes=["xref", "std", "std-term"])
    return addnodes.pending_xref(
        "",
        shown,
        refdomain="std",
        reftype="term",
        reftarget=term,
        refexplicit=True,
        refwarn=True,
        refdoc=page,
    )


def _links(document: nodes.document) -> list[addnodes.pending_xref]:
    return [link for link in document.findall(addnodes.pending_xref) if link.get("reftype") == "term"]


def _is_prose(text: nodes.Text) -> bool:
    """Tell whether a text stands in a paragraph, and in no title, link, formula or box of aims."""
    node, paragraph = text.parent, False
    while node is not None:
        if isinstance(node, nodes.TextElement) and not isinstance(node, INSIDE):
            return False
        if {"objectives", "cell"} & set(getattr(node, "attributes", {}).get("classes", [])):
            return False
        paragraph = paragraph or isinstance(node, nodes.paragraph)
        node = node.parent
    return paragraph


def rewrite_glossary(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Have the glossary written again in every build: what it lists stands in other pages."""
    return [GLOSSARY] if GLOSSARY in env.found_docs else []


def say_where_terms_are_used(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """End each definition with links to the chapters that use the term."""
    if docname != GLOSSARY:
        return
    env = app.env
    users: dict[str, list[tuple[str, str]]] = {}
    for chapter in env.attnlab_chapters:  # type: ignore[attr-defined]
        for target in {link["reftarget"].lower() for link in _links(env.get_doctree(chapter.page))}:
            users.setdefault(target, []).append((chapter.label, chapter.page))
    for item in doctree.findall(nodes.definition_list_item):
        name = item.next_node(nodes.term).astext()
        used = users.get(name.lower(), [])
        if used:
            line = nodes.paragraph(classes=["attn-used"])
            line += nodes.Text("chapter " if len(used) == 1 else "chapters ")
            for at, (label, page) in enumerate(used):
                if at:
                    line += nodes.Text(", ")
                address = app.builder.get_relative_uri(docname, page)
                line += nodes.reference("", label, internal=True, refuri=address)
            item.next_node(nodes.definition).append(line)


def explain_links(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Give each link to the glossary the first sentence of the definition, shown on hovering."""
    meanings = _meanings(app)
    for link in doctree.findall(nodes.reference):
        anchor = link.get("refuri", "").partition(f"{GLOSSARY.rpartition('/')[2]}.html#")[2]
        if anchor in meanings:
            link["reftitle"] = meanings[anchor]


def _meanings(app: Sphinx) -> dict[str, str]:
    env, known = app.env, getattr(app, "attnlab_meanings", None)
    if known is None:
        # Not kept with the environment, which outlives a change of the glossary.
        known = app.attnlab_meanings = {}  # type: ignore[attr-defined]
        if GLOSSARY not in env.found_docs:
            return known
        for item in env.get_doctree(GLOSSARY).findall(nodes.definition_list_item):
            paragraph = item.next_node(nodes.paragraph)
            sentence = paragraph.astext().partition(". ")[0].rstrip(".")
            # A tooltip shows letters only: no formula, no code.
            if not any(piece.astext() in sentence for piece in paragraph.findall(nodes.math)):
                for name in item.next_node(nodes.term)["ids"]:
                    known[name] = sentence
    return known
