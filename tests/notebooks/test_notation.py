"""Every letter of a formula stands in the notation, for its chapter or for all, and no letter there is idle.

A formula is not parsed: what is neither a letter nor its index is blotted out, and the rest is read from left
to right. So `d_\\text{model}`, `\\hat p`, `q'` are letters of their own, and `\\ln`, `\\text{error}` none.
"""

import re
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "_ext"))

from attnlab_book import chapters

BOOK = chapters.read(ROOT)
ALL = "all"

FORMULA = re.compile(r"\$\$(.+?)\$\$|\$((?:[^$\n]|\n(?!\n))+?)\$", re.DOTALL)
BLOCK = re.compile(r"^(`{3,}|:{3,})\{math\}[^\n]*\n(.*?)^\1", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)

GREEK = "alpha|beta|gamma|delta|varepsilon|theta|mu|omega|phi|pi|rho|sigma|tau"
ACCENT = r"\\(?:hat|tilde|bar|overrightarrow|overleftarrow)(?![a-z])"
NO_LETTER = re.compile(
    r"\\(?:begin|end)\{\w*\}|\\operatorname\*?\{[^{}]*\}|\\\\(?:\[\w*\])?"
    rf"|(?!{ACCENT}|\\text\{{)\\(?!(?:{GREEK})(?![a-z]))(?:[A-Za-z]+|[^\sA-Za-z])"
)
"""Commands that stand for no letter: functions, arrows, spaces, brackets."""
LETTER = re.compile(
    rf"({ACCENT}\s*\{{?)?(PE|\\(?:{GREEK})(?![a-z])|[A-Za-z])\}}?('*)"  # \hat p', and PE as one
    rf"(?:_(\{{{ACCENT} \w\}}|\{{[^{{}}]*\}}|\\(?:{GREEK})|\S))?('*)"
)

COUNTERS = set("ijklmt")
"""Letters that, as an index, only count: tokens (i, j, k), entries (l, m), steps (t)."""
OF_KEYS = {"W", "d", "n", "b", r"\mu", r"\sigma"}
"""What carries the index k for "of keys": these, too, are symbols with a meaning of their own."""
OTHER_WITH_AN_INDEX = {"e", "h", "H"}
"""An index makes these another: Euler's number and a score, heads and a state, entropy and a head."""


def formulas(text):
    """List the formulas of a page in Markdown."""
    blocks = [found[2] for found in BLOCK.finditer(text)]
    rest = CODE.sub("", BLOCK.sub("", text))
    return blocks + [shown or inline for shown, inline in FORMULA.findall(rest)]


def letters(formula):
    """List the letters of a formula, each with its accent, its prime and the index that makes it another."""
    text = re.sub(r"(?<=[A-Za-z}])_\\text\{(\w+)\}", r"_{\1}", NO_LETTER.sub(" ", formula))
    text = re.sub(r"\\text\{[^{}]*\}", " ", text)
    return {_name(*found.groups()) for found in LETTER.finditer(text)}


def _name(accent, letter, prime, index, prime_behind):
    name = (re.sub(r"[\s{]", "", accent) + " " if accent else "") + letter + prime + prime_behind
    index = (index or "").strip("{}")
    counts = set(re.sub(r"[\d\s+,<-]", "", index)) <= COUNTERS
    if index and not (index == "k" and letter in OF_KEYS) and counts:
        return f"{name}_i" if name in OTHER_WITH_AN_INDEX else name
    return f"{name}_{index}" if index else name


def page(path):
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    cells = chapters.cells_of(path.with_suffix(""))
    return "\n\n".join(cell.source for cell in cells if cell.kind == "markdown")


@cache
def used():
    """Give the letters of each page with formulas, by the topic of the chapter or the name of the page."""
    paths = sorted(path for path in (ROOT / "chapters").rglob("*") if path.suffix in {".md", ".ipynb"})
    pages = {
        re.sub(r"^\d\d_", "", path.stem): {
            letter for formula in formulas(page(path)) for letter in letters(formula)
        }
        for path in paths
        if path.stem != "notation"
    }
    return {name: found for name, found in pages.items() if found}


def rows(text):
    """List the rows of the notation: for which chapter, and which letters."""
    listed, place = [], ALL
    for line in text.splitlines():
        if line.startswith("#"):
            role, link = chapters.ROLE.search(line), re.search(r"\((\w+)\.ipynb\)", line)
            place = chapters.find(BOOK, role[2]).topic if role else link[1] if link else ALL
        elif line.startswith("|"):
            shown = {letter for formula in formulas(line.split("|")[1]) for letter in letters(formula)}
            if shown:
                listed.append((place, shown))
    return listed


def missing(listed, pages):
    """Say of each letter that is not explained where it is used."""
    numbered = {chapter.topic for chapter in BOOK if chapter.number is not None}
    said = {}
    for place, shown in listed:
        said.setdefault(place, set()).update(shown)
    every = set().union(*said.values())
    return sorted(
        f"{name}: {letter}"
        for name, found in pages.items()
        # A page in the back that belongs to no chapter may use the letters of any.
        for letter in found - (said[ALL] | said.get(name, set()) if name in {*numbered, *said} else every)
    )


def idle(listed, pages):
    """Say of each letter that is explained and not used: by its chapter, or, of those for all, by any."""
    every = set().union(*pages.values())
    return sorted(
        f"{place}: {letter}"
        for place, shown in listed
        for letter in shown
        if letter not in (every if place == ALL else pages.get(place, set()))
    )


NOTATION = page(ROOT / "chapters/notation.md")


@pytest.mark.parametrize(
    ("formula", "wanted"),
    [
        (r"d_\text{model} + d_k + k_j + W_q^i", {"d_model", "d_k", "k", "W_q", "i"}),
        (r"\operatorname{softmax}\!\Big(\frac{Q K^\top}{\sqrt{d_k}}\Big) V", {"Q", "K", "d_k", "V"}),
        (r"\hat p_w, \tilde{h}_{t-1}, W_{\tilde h}", {r"\hat p_w", r"\tilde h", r"W_\tilde h"}),
        (r"\underbrace{k_j'^\top}_{\text{key}} + \sum_\text{texts} m'", {"k'", "m'"}),
        (r"PE(p)_{2i+1} = \sigma_q^2 \\[4pt] e^{s_{ij}} e_{tj}", {"PE", "p", r"\sigma_q", "e", "s", "e_i"}),
    ],
)
def test_a_formula_is_read_letter_by_letter(formula, wanted):
    found = letters(formula)
    assert wanted <= found
    assert found - wanted <= {"i", "j"}


def test_formulas_are_found_in_lines_and_blocks_and_not_in_code():
    text = "Take $a$ or\n\n$$\nb\n$$\n\nnot `$c$`.\n\n```{math}\n:label: eq\nd\n```\n\n```python\n$e$\n```"
    assert [re.sub(":label: eq", "", formula).strip() for formula in formulas(text)] == ["d", "a", "b"]


def test_every_letter_of_every_formula_stands_in_the_notation():
    pages = used()
    assert len(pages) > 15
    assert missing(rows(NOTATION), pages) == []


def test_every_letter_of_the_notation_is_used():
    assert idle(rows(NOTATION), used()) == []


NAMED = re.compile(r"\\operatorname\{(E|Var|Cov)\}|\\(odot|propto)(?![a-z])")
"""Signs of a few formulas that say no word: what they mean, a table says."""


def test_signs_that_say_no_word_stand_in_the_notation_too():
    paths = [path for path in (ROOT / "chapters").rglob("*") if path.suffix in {".md", ".ipynb"}]
    told, used = set(), set()
    for path in paths:
        table = path.stem == "notation"
        for formula in formulas(page(path)):
            (told if table else used).update(one[1] or one[2] for one in NAMED.finditer(formula))
    assert told == used != set()


def test_whatever_row_is_deleted_its_chapter_is_named():
    pages, listed = used(), rows(NOTATION)
    for at, (place, shown) in enumerate(listed):
        others = listed[:at] + listed[at + 1 :]
        told = {line.partition(": ")[2] for line in missing(others, pages)}
        # What is said twice of a letter is two meanings of it, and without one of them it is still found.
        again = set().union(*(more for where, more in others if where in {place, ALL}))
        own = {letter for where, more in listed for letter in more if where != ALL}
        assert shown - again - (own if place == ALL else set()) <= told, place
    assert idle([*listed, ("scaling", {r"\gamma"}), (ALL, {r"\gamma"})], pages) == [
        r"all: \gamma",
        r"scaling: \gamma",
    ]
