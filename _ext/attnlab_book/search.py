"""Writes what the book's search looks through: the sections' titles, prose and words of formulas.

It is a script, so that it works from the disk, and small: readers load it when they open the search.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from docutils import nodes
from pybtex.richtext import Text
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx_exercise.nodes import exercise_enumerable_node, solution_node

from attnlab_book import chapters, share, sources, synonyms, terms
from attnlab_book.numbering import ChapterMention

ABOUT = {f"chapters/{page}" for page in ("how_we_test", "licences", "marking_sample", "teachers")}
"""Pages that tell of the book, not of attention."""
EXERCISES = "Exercises"
FEWEST = 5
"""Words of a sentence that says something alone."""
CODE = "search-code.js"
"""Only who asks for code loads it."""
FILES = ("search-sections.js", "search.js")
LEFT = {"attn-cards", "cell_output"}
"""Classes of what says nothing of its own: cards say what the chapters' pages do."""
LISTS = (nodes.bullet_list, nodes.enumerated_list, nodes.definition_list)
PROSE = (nodes.paragraph, nodes.term, nodes.caption, addnodes.desc_signature)
RAISED = str.maketrans("0123456789nHLr", "⁰¹²³⁴⁵⁶⁷⁸⁹ⁿᴴᴸʳ")
"""Exponents that have a letter of their own."""
RARE = 6
"""In how many sections a word stands at most for a sentence to be kept for its sake."""
SELDOM = 3
"""The same, of pages about the book."""
REFERENCE = "reference"
QUIZ = "Quiz"
"""The heading of questions: alone they are riddles, and their answers give them away."""
SENTENCE = re.compile(r"(?<=[.?!]) (?=[A-Z])")
SOURCES = "Sources"
SILENT = (nodes.raw, nodes.comment, nodes.literal_block)
STAGE = "attnbook"
"""The package of which the search knows names only: readers of the book seldom ask for more."""
WINGS = tuple(f"{STAGE}.{part}." for part in ("drawings", "experiments", "plots"))
"""Modules of which nobody asks for more than what they are for."""
WORD = re.compile(r"\w\w+")
NAMED = re.compile(r"(?<=\.)[A-Za-z]\w{3,}")
"""What code takes from a module or an object."""
TORCH = (torch, torch.Tensor, torch.nn, torch.nn.functional)
SAYS = re.compile(r"[^\W\d_]{2}")
"""A line of code that has no name says nothing."""
ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|s|e|ly|ions?)$")


class Section(NamedTuple):
    """One place that can be found."""

    anchor: str
    heading: str
    """Of a page's first section: nothing."""
    text: str
    stressed: str
    """What is set in italics or bold: the names that a section introduces."""
    unread: str
    """Words by which it is found, and of which no excerpt is made: of formulas, tables, aims."""


def write(app: Sphinx, env: BuildEnvironment) -> None:
    """Put the sections, as a script, beside the script that searches them; tell pages what both hold.

    Before pages are written: they name these files by their content, so no cache gives an older one.
    """
    if app.builder.name != "html":
        return
    static = Path(app.outdir, "_static")
    static.mkdir(parents=True, exist_ok=True)
    sections, code = gather(app, env)
    _script(static / CODE, "attnlabCode", code)
    _script(static / FILES[0], "attnlabSections", sections | {"coded": _named(static / CODE)})
    shutil.copyfile(Path(__file__).with_name(FILES[1]), static / FILES[1])
    named = [_named(static / name) for name in FILES]
    app.add_js_file(None, body=f"globalThis.attnlabSearch={json.dumps(named)};")


def _script(path: Path, name: str, value: object) -> None:
    held = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    path.write_text(f"globalThis.{name}={held};\n", encoding="utf-8")


def _named(path: Path) -> str:
    return f"{path.name}?v={hashlib.sha256(path.read_bytes()).hexdigest()[:8]}"


def gather(app: Sphinx, env: BuildEnvironment) -> tuple[dict[str, object], dict[str, object]]:
    """List all that the search needs: pages with their sections, names of terms, other words for things.

    And, apart, what few ask for: the lines of code of each section, with its heading where it has nothing
    else; and where what has a number stands, with its title and what it is about.
    """
    book = env.attnlab_chapters  # type: ignore[attr-defined]
    asked = share.lines(Path(app.srcdir))
    numbered = {one.page: one for one in book if one.number is not None}
    pages: list[tuple[str, str, str, list[Section]]] = []
    code: list[tuple[str, ...]] = []
    places: dict[str, tuple[str, str, str]] = {}
    for page in sorted(env.all_docs, key=lambda page: (page not in numbered, page)):
        chapter = numbered.get(page)
        title = f"{chapter.label} {chapter.title}" if chapter else env.titles[page].astext()
        kind = "chapter" if chapter else REFERENCE if "/api" in page else "about" if page in ABOUT else "page"
        doctree = env.get_doctree(page)
        sections = list(_sections(doctree, book, brief=kind == REFERENCE))
        if not sections[0].text:
            # Before its first heading a page has its aims alone: its question says more in a line.
            topic = chapter.topic if chapter else Path(page).name
            begins = SENTENCE.split(next((one.text for one in sections if one.text), ""))[0]
            sections[0] = sections[0]._replace(text=asked.get(topic, begins).replace("'", "’"))
        # A heading alone tells nobody why it was found.
        sections = [one for at, one in enumerate(sections) if at == 0 or one.text]
        if page == terms.GLOSSARY:
            kind, whole = "glossary", sections[0]
            sections = [
                whole._replace(text=SENTENCE.split(whole.text)[0], stressed="", unread=""),
                *_definitions(doctree, book),
            ]
        address = app.builder.get_target_uri(page)
        pages.append((address, title, kind, sections))
        listed = {section.anchor for section in sections}
        code += [
            (f"{address}#{at}".rstrip("#"), "\n".join(lines), *([] if at in listed else [heading]))
            for (at, heading), lines in _coded(doctree).items()
        ]
        if chapter:
            for name, at, title_, about in _numbered(doctree, book, chapter):
                places[name] = (f"{address}#{at}", title_, about)
    found_in = Counter(
        word
        for *_, kind, sections in pages
        for section in sections
        for word in (_stems(f"{section.text} {section.unread}") if kind != REFERENCE else ())
    )
    kept = [
        (
            at,
            title,
            kind,
            # What a reference says is short already.
            [
                list(
                    one
                    if kind == REFERENCE
                    else one._replace(text=essential(one.text, found_in, SELDOM if kind == "about" else RARE))
                )
                for one in sections
            ],
        )
        for at, title, kind, sections in pages
    ]
    forms = [sorted(terms.forms(term)) for term in env.attnlab_terms]  # type: ignore[attr-defined]
    same = [form for form in forms if len({word[:4].lower() for word in form}) > 1]
    sourced = list(_sources(app, env, [page for page in numbered if page in env.all_docs]))
    called = {name for _, lines, *_ in code for name in NAMED.findall(lines) if _in_torch(name)}
    hardly = sorted({name.lower() for name in called if all(found_in[one] <= RARE for one in _stems(name))})
    searched = {
        "pages": kept,
        "same": same,
        "asked": synonyms.ASKED,
        "alone": synonyms.ALONE,
        "sources": sourced,
        # PyTorch's functions of which sentences hardly speak are looked for in code.
        "called": hardly,
        "errors": list(synonyms.ERRORS.items()),
    }
    return searched, {"lines": code, "numbered": places}


def _sources(app: Sphinx, env: BuildEnvironment, pages: list[str]) -> Iterator[tuple[str, str, str, str]]:
    """List what the bibliography has: where, title, whose, and the section that cites it most."""
    told: dict[str, Counter[sources.Place]] = {}
    for page in sorted(pages):
        for key, place in sources.cited(env.get_doctree(page), page):
            # What a chapter lists at its end it tells of above.
            if place.title not in (SOURCES, EXERCISES):
                told.setdefault(key, Counter())[place] += 1
    bibliography = app.builder.get_target_uri(sources.BIBLIOGRAPHY)
    for one in env.get_domain("cite").citations:  # type: ignore[attr-defined]
        fields = one.entry.fields
        names = [" ".join(map(_plain, person.last_names)) for person in one.entry.persons.get("author", [])]
        whose = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
        title = _plain(fields.get("title", ""))
        (place, _), *_ = told.get(one.key, Counter()).most_common(1) or [(None, 0)]
        teller = f"{app.builder.get_target_uri(place.page)}#{place.anchor}".rstrip("#") if place else ""
        yield f"{bibliography}#{one.citation_id}", title, f"{whose}, {fields.get('year', '')}.", teller


def _plain(latex: str) -> str:
    return str(Text.from_latex(latex))


def essential(text: str, found_in: Counter[str], rare: int = RARE) -> str:
    """Leave out sentences that say no rare word for the first time: nobody finds the section by them.

    Behind one of few words the next stays: alone it would be a riddle.

    >>> often = Counter("mask hide later word from you".split() * 9)
    >>> essential("Masks hide words. From you. Masks hide later words. A leak hides later words.", often, 2)
    'Masks hide words. From you. … A leak hides later words.'
    """
    said: set[str] = set()
    kept, riddle = [], False
    for at, sentence in enumerate(SENTENCE.split(text)):
        words = _stems(sentence)
        own = at == 0 or any(found_in[word] <= rare for word in words - said)
        if own or riddle:
            kept.append(sentence)
            said |= words
        elif kept[-1] != "…":
            kept.append("…")
        riddle = own and len(sentence.split()) < FEWEST
    return " ".join(kept)


def _stems(text: str) -> set[str]:
    return {ENDING.sub("", word.lower()) for word in WORD.findall(text)}


def short(formula: str) -> str:
    """Write a small formula of a line of prose as plain text, and of another that it was there.

    >>> short(r"\\sqrt{d_k}"), short("p"), short(r"\\frac{a}{b} + \\sum_i x_i"), short("s_{ij}")
    ('√d_k', 'p', '…', '…')
    >>> short("2n^2 d"), short("-10^9"), short("10^{12}"), short("p^*"), short("e^{1.6}"), short(r"-\\ln p")
    ('2n²d', '−10⁹', '10¹²', '…', '…', '−ln p')
    """
    plain = re.sub(r"\\sqrt\s*\{?(\w+)\}?", r"√\1", formula).strip().replace("-", "−")
    plain = re.sub(
        r"\^(?:\{([0-9nHLr]+)\}|([0-9nHLr]))",
        lambda found: (found[1] or found[2]).translate(RAISED),
        plain,
    )
    # A function's name keeps its gap.
    plain = re.sub(r"\\(exp|ln|log)\b", r"\1", re.sub(r"(?<!ln|xp|og)(?<=\w) (?=\w)", "", plain))
    return plain if len(plain) <= 12 and not re.search(r"[\\{^]", plain) else "…"


def _sections(doctree: nodes.document, book: list[chapters.Chapter], brief: bool) -> Iterator[Section]:
    """Read a page's sections; of a reference, `brief`, names and what is said of them first."""
    for section in doctree.findall(nodes.section):
        prose, stressed, unread, formulas = [], [], [], []
        heading = section[0].astext()
        for node in section.findall():
            if _home(node) is not section or _replies(node):
                continue
            if isinstance(node, PROSE) or _mistaken(node):
                text = _prose(node, book)
                if brief and isinstance(node, nodes.paragraph):
                    text = SENTENCE.split(text)[0] if _opens(node) else ""
                    inside = not isinstance(node.parent, nodes.section)
                    text = "" if inside and heading.startswith(STAGE) else text
                elif brief and isinstance(node, addnodes.desc_signature):
                    # Of the stage, what can be imported.
                    attribute = heading.startswith(STAGE) and "." in text
                    text = "" if attribute or heading.startswith(WINGS) else text
                elif not brief:
                    text, left = _readable(node, _spaced(text), asks=heading == EXERCISES)
                    unread += [word.strip(".,;:?!()“”") for word in left.replace("…", " ").split()]
                prose.append(text)
            elif isinstance(node, (nodes.emphasis, nodes.strong)) and not brief:
                stressed.append(_prose(node, book))
            elif isinstance(node, (nodes.math, nodes.math_block)):
                formulas += re.findall(r"[A-Za-z]+", node.astext())
        if not isinstance(section[0], nodes.title) or heading == QUIZ:
            continue
        yield Section(
            section["ids"][0] if section.parent is not doctree else "",
            "" if section.parent is doctree else _prose(section[0], book),
            _spaced(" ".join(prose)),
            _spaced(", ".join(dict.fromkeys(one for one in stressed if terms.is_name(one)))),
            " ".join(dict.fromkeys([*unread, *formulas])),
        )


def _coded(doctree: nodes.document) -> dict[tuple[str, str], list[str]]:
    """List a page's lines of code by section and heading, each once; a solution's would give it away."""
    lines: dict[tuple[str, str], dict[str, None]] = {}
    for block in doctree.findall(nodes.literal_block):
        section = _home(block.parent)
        if section is None or any(isinstance(one, solution_node) for one in _above(section)):
            continue
        anchor = "" if section.parent is doctree else section["ids"][0]
        shown = (line.strip() for line in block.astext().splitlines())
        of = lines.setdefault((anchor, section[0].astext()), {})
        of.update((line, None) for line in shown if SAYS.search(line))
    return {place: list(own) for place, own in lines.items() if own}


def _numbered(
    doctree: nodes.document, book: list[chapters.Chapter], chapter: chapters.Chapter
) -> Iterator[tuple[str, str, str, str]]:
    """List a chapter's equations and exercises: by what name one asks, where, title, and what it is about."""
    labelled = [one for one in doctree.findall(nodes.math_block) if one.get("label")]
    for at, equation in enumerate(labelled, 1):
        number = f"{chapter.number}.{at}"
        section = _home(equation)
        about = _prose(section[0], book) if section else ""
        yield f"equation {number}", equation["ids"][0], f"Equation ({number})", about
    for at, exercise in enumerate(doctree.findall(exercise_enumerable_node), 1):
        number = f"{chapter.number}.{at}"
        title = exercise[0].astext().removeprefix("Exercise")
        told = [_spaced(_prose(one, book)) for one in exercise.findall(nodes.paragraph)]
        asked = [one for one in SENTENCE.split(" ".join(told)) if not one.startswith("Difficulty")]
        about = asked[0] if asked else ""
        yield f"exercise {number}", exercise["ids"][0], f"Exercise {number} ({title.strip(' ()')})", about


def _in_torch(name: str) -> bool:
    return any(callable(getattr(of, name, None)) for of in TORCH)


def _above(node: nodes.Node) -> Iterator[nodes.Node]:
    while node is not None:
        yield node
        node = node.parent


def _readable(node: nodes.Node, text: str, asks: bool) -> tuple[str, str]:
    """Part what can be read alone, in a list of places, from what can't.

    That is a table, the aims, a sentence whose formula is left out, one that something else goes on with: a
    figure, a display, and what a section that `asks` wants to know.
    """
    above = node.parent
    while not isinstance(above, nodes.section):
        if isinstance(above, nodes.table) or "objectives" in above["classes"]:
            return "", text
        above = above.parent
    sentences = SENTENCE.split(text)
    free = isinstance(node, nodes.paragraph) and not isinstance(node.parent, nodes.list_item)
    listed = isinstance(node.next_node(descend=False, siblings=True), LISTS)
    open_end = text.endswith(":") or (free and text[-1:] not in ".?!”’)")
    left = [sentences.pop()] if open_end and not listed else []
    left += [sentences.pop(0)] if sentences and free and text[0].islower() else []
    riddles = [one for one in sentences if "…" in one or (asks and "?" in one)]
    left += riddles
    return " ".join(one for one in sentences if one not in riddles), " ".join(left)


def _definitions(doctree: nodes.document, book: list[chapters.Chapter]) -> Iterator[Section]:
    for item in doctree.findall(nodes.definition_list_item):
        term = item.next_node(nodes.term)
        meaning = _spaced(_prose(item.next_node(nodes.definition), book))
        yield Section(term["ids"][0], term.astext(), meaning, "", "")


def _replies(node: nodes.Node) -> bool:
    """Tell whether it answers a prediction: whoever found it could predict no more."""
    if not isinstance(node, nodes.paragraph) or "predict" not in node.parent.get("classes", ()):
        return False
    before = node.parent[max(0, node.parent.index(node) - 1)]
    return isinstance(before, nodes.raw) and 'class="answer"' in before.astext()


def _mistaken(node: nodes.Node) -> bool:
    """Tell whether it is what somebody gets wrong: the title of a box."""
    return isinstance(node, nodes.title) and "mistake" in node.parent.get("classes", ())


def _opens(node: nodes.Node) -> bool:
    """Tell whether a paragraph is the first of what it stands in, and no field such as *Args*."""
    before = node.parent.index(node)
    first = not any(isinstance(one, nodes.paragraph) for one in node.parent[:before])
    return first and isinstance(node.parent, (nodes.section, addnodes.desc_content))


def _home(node: nodes.Node) -> nodes.Node | None:
    """Find the section that a node stands in; what is in a fold, an output or a card stands in none."""
    while node is not None and not isinstance(node, nodes.section):
        if isinstance(node, SILENT) or LEFT & set(getattr(node, "attributes", {}).get("classes", ())):
            return None
        node = node.parent
    return node


def _spaced(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


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
    if isinstance(node, addnodes.pending_xref) and node.get("reftype") == "eq":
        return _equation(node, book)
    if isinstance(node, addnodes.pending_xref) and node.get("refdomain") == "cite":
        names = re.sub(r"([a-z]+?)_?\d{4}\w*", lambda found: found[1].title(), node.astext()).replace(
            ",", ", "
        )
        return names if node["reftype"] == "t" else f"({names})"
    if isinstance(node, SILENT):
        return ""
    return "".join(_prose(child, book) for child in node.children)


def _equation(node: addnodes.pending_xref, book: list[chapters.Chapter]) -> str:
    """Write an equation's number as its page will: Sphinx counts them later."""
    labels = [one.get("label") for one in node.document.findall(nodes.math_block) if one.get("label")]
    numbers = [chapter.number for chapter in book if chapter.page == node["refdoc"]]
    known = numbers and node["reftarget"] in labels
    return f"({numbers[0]}.{labels.index(node['reftarget']) + 1})" if known else "…"
