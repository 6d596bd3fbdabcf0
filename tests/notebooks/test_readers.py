"""The readers' edition: plain Markdown, nothing given away, nothing of the reader's lost."""

import ast
import doctest
import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "_ext")]

import readers
import source as book_source
from attnlab_book import chapters, licences
from attnlab_book.pages import UNSET
from notebook_form import of_toc

PAIRS = [(path, ROOT / "notebooks" / path.name) for path in of_toc()]
each = pytest.mark.parametrize(("source", "made"), PAIRS, ids=[path.stem for path, _ in PAIRS])


def cells(path, kind=None):
    found = nbformat.read(path, as_version=4).cells
    return [cell for cell in found if kind in (None, cell.cell_type)]


def test_the_edition_is_what_the_chapters_give():
    assert readers.write_all(ROOT, check=True) == [], "run scripts/readers.py"


@each
def test_its_first_text_says_where_it_comes_from_and_under_which_licence(source, made):
    title, empty, note, *_ = cells(made, "markdown")[0].source.split("\n")
    assert title.startswith("# ")
    assert empty == ""
    assert note == book_source.note(book_source.address(ROOT), f"chapters/{source.stem}")
    assert "I Saw a Saw: attention from first principles" in note
    assert "https://creativecommons.org/licenses/by/4.0/" in note


def test_a_note_leads_to_the_page_once_there_is_an_address(tmp_path):
    assert doctest.testmod(book_source) == (0, 2)
    linked = book_source.note("Ada/notes", "chapters/01_one")
    assert "](https://ada.github.io/notes/chapters/01_one.html)" in linked
    assert "](https://github.com/Ada/notes/blob/main/LICENSE)" in linked
    for address in (f"{UNSET}/notes", "Ada/notes"):
        (tmp_path / "_config.yml").write_text(f"repository:\n  url: https://github.com/{address}\n")
        assert book_source.address(tmp_path) == ("" if UNSET in address else address)
    # Another address is no reader's work, and other words are.
    digests = {
        readers._digest(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)]))
        for text in (linked, linked.replace("Ada", "Grace").replace("ada", "grace"), f"{linked} Mine.")
    }
    assert len(digests) == 2


@each
def test_code_to_take_along_says_whose_it_is(source, made):
    kept = [cell.source for cell in cells(source) if licences.TAKEN in cell.metadata.get("tags", [])]
    signed = [cell.source for cell in cells(made, "code") if cell.source.startswith(licences.SIGNED)]
    assert signed == [licences.SIGNED + code for code in kept]
    assert len(licences.SIGNED) <= 76


def test_a_figure_signs_its_code_as_the_book_does():
    frame = (ROOT / "src/widgets/ui/frame.js").read_text(encoding="utf-8")
    assert f"const SIGNED = {json.dumps(licences.SIGNED)};" in frame


MARKUP = {
    "directive": r"^[> ]*(:{3,}|(`{3,}|~{3,})\{)",
    "role": r"\{[\w:.+-]+\}",
    "reference": r"\((?:eq|ex)-",
    "footnote": r"\[\^[^\]\s]+\]",
    "target": r"^[> ]*\([\w-]+\)=[ ]*$",
    "comment": r"^[> ]*(%|<!--)",
    "block break": r"^\+\+\+",
    "attribute": r"\{[.#%][^}]*\}",
    "substitution": r"\{\{",
    "definition": r"^[> ]*: +\S",
    "task": r"^[> ]*[-*] \[[ xX]\]",
    "mathematics without its marks": r"\$|\\begin\{",
    # What all front ends show: folds, the quizzes' frame, and a little within their titles.
    "HTML": r"</?(?!(?:details|summary|div|em|sub|code)\b)[a-zA-Z][^>]*>|<\w+ (?!class=\"[\w -]+\">)[^>]*>",
}
"""What only the book or only some front ends show, outside code and formulas."""


def left(markdown):
    """Name the markup of a cell that front ends of notebooks would show raw."""
    # A directive may stand in a fence of its own.
    found = [kind for kind in ("directive",) if re.search(MARKUP[kind], markdown, re.MULTILINE)]
    words = re.sub(r"^[> ]*```.*?^[> ]*```$|`[^`\n]+`", "", markdown, flags=re.MULTILINE | re.DOTALL)
    rows = [row for row in words.split("\n") if row.lstrip("> ").startswith("|")]
    if any("|" in formula for row in rows for formula in re.findall(r"\$[^$]+\$", row)):
        found.append("a column's line in a formula")
    if re.search(r"\$\$ *\([\w-]+\)", words):
        found.append("label")
    words = re.sub(r"\$\$.*?\$\$|\$[^$]+\$", "", words, flags=re.DOTALL)
    kinds = {kind: form for kind, form in MARKUP.items() if kind != "directive"}
    return found + [kind for kind, form in kinds.items() if re.search(form, words, re.MULTILINE)]


@each
def test_no_markup_is_left_that_only_the_book_knows(source, made):
    for cell in cells(made, "markdown"):
        assert left(cell.source) == [], cell.source
        assert cell.source.count("<details") == cell.source.count("</details>")
        for link in re.findall(r"\]\((?!https?://)([^)#]*)", re.sub(r"`[^`\n]+`", "", cell.source)):
            assert (made.parent / link).is_file(), link


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (":::{admonition} So", "directive"),
        ("```{figure} x\n```", "directive"),
        ("see {ref}`here`", "role"),
        ("a noun.[^coarse]", "footnote"),
        ("[^coarse]: Coarser sets.", "footnote"),
        ("Words.\n\n(train-it)=", "target"),
        ("% a comment", "comment"),
        ("+++", "block break"),
        ("$$\na\n$$ (eq-a)", "label"),
        ("an [image](x.png){.wide}", "attribute"),
        ("{{ name }}", "substitution"),
        ("Term\n: what it is", "definition"),
        ("- [ ] to do", "task"),
        ("it costs $3", "mathematics without its marks"),
        ("\\begin{align}\na\n\\end{align}", "mathematics without its marks"),
        ("| a | $|x|$ |", "a column's line in a formula"),
        ("<iframe></iframe>", "HTML"),
        ('<div style="color: red">', "HTML"),
    ],
)
def test_what_is_left_is_found(raw, kind):
    assert kind in left(raw)


@pytest.mark.parametrize(
    "shown",
    [
        "`{eq}` and `[^a]`",
        "```python\nx[:::2]  # {a}\n```",
        "$\\frac{a}{b}$, `a`",
        '> <details class="hint"><summary>A</summary>',
        "$$\n\\begin{aligned} a \\end{aligned}\n\\tag{1.1}\n$$",
        "| $a$ | $b$ |",
        "40 % of $p < q$",
        "[a](b.ipynb)",
    ],
)
def test_what_every_front_end_shows_is_no_markup(shown):
    assert left(shown) == []


@each
def test_solutions_are_folded_text_and_the_readers_own_code_is_the_only_code(source, made):
    inside, outside, solving = [], [], False
    for cell in cells(source):
        if cell.cell_type == "markdown":
            words = cell.source
            for edge in re.findall(r"^:::\{solution-(start|end)\}", words, re.MULTILINE):
                solving = edge == "start"
        else:
            (inside if solving else outside).append(cell)
    outside = [cell for cell in outside if cell not in checks_of(source)]
    assert not [cell for cell in outside if cell.metadata.get("role") == "solution"]
    folded = [cell.source for cell in cells(made, "markdown") if cell.source.startswith(readers.FROM)]
    assert [
        code for fold in folded for code in re.findall(r"^```python\n(.*?)\n```$", fold, re.M | re.S)
    ] == [cell.source for cell in inside]
    assert all(fold.endswith("</details>") for fold in folded)
    code = cells(made, "code")
    assert not [cell for cell in code if cell.outputs or cell.execution_count]
    for mine, theirs in zip(code, outside, strict=True):
        assert mine.metadata.get("exercise") == theirs.metadata.get("exercise")
        assert mine.metadata.get("role") == theirs.metadata.get("role")
        tags = theirs.metadata.get("tags", [])
        aside = any(tag.startswith(("hide", "remove")) for tag in tags) and "take-it-with-you" not in tags
        assert mine.metadata.get("jupyter", {}).get("source_hidden", False) == aside
        assert mine.metadata.get("cellView") == ("form" if aside else None)


@each
def test_running_all_needs_nothing_that_the_reader_has_yet_to_write(source, made):
    asked = set()
    for cell in cells(made, "code"):
        if cell.source.lstrip().startswith("# In Colab"):
            continue
        tree = ast.parse(cell.source)
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names -= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        if cell.metadata.get("role") == "stub":
            asked |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        elif cell.metadata.get("role") != "check":
            assert not names & asked, cell.source


def checks_of(source):
    """List the cells that no page shows, but for the set-up."""
    return [cell for cell in cells(source, "code")[1:] if "remove-cell" in cell.metadata.get("tags", [])]


@each
def test_no_hidden_cell_states_the_answer_to_a_prediction(source, made):
    """What only checks the book's words runs in the book's tests; a front end may show what is hidden."""
    code = cells(made, "code")
    assert code[0].metadata.get("jupyter") == {"source_hidden": True}  # the set-up stays
    checks = [cell.source for cell in checks_of(source)]
    assert all("assert " in check for check in checks)
    assert not {cell.source for cell in code} & set(checks)


@each
def test_each_figure_has_the_name_that_its_cell_speaks_of(source, made):
    shown = [cell for cell in cells(source, "code") if "attnlab-figure" in str(cell.outputs)]
    named = [cell.source for cell in cells(made, "code") if cell.source.endswith("\nfigure")]
    assert (
        len(named) == len([cell for cell in shown if re.search(r"\b[A-Z]\w+\(", cell.source)]) > 0
        or not shown
    )
    for code in named:
        (comment,) = re.findall(r"(?:^#.*\n)+", code, re.MULTILINE)[-1:] or [""]
        for name in re.findall(r"figure\.(\w+)", comment):
            assert name.isidentifier()


def test_a_figures_comment_names_what_it_holds():
    code = readers._named_figure('x = 1\nwidgets.SoftLookup(\n    [[1.0, 0.0]], ["I"]\n)')
    assert code.split("\n")[-4:] == ["figure = widgets.SoftLookup(", '    [[1.0, 0.0]], ["I"]', ")", "figure"]
    assert "figure.query, figure.values" in " ".join(code.split("\n# "))
    assert (
        readers._named_figure("figure = widgets.SoftLookup(1)\nfigure")
        == "figure = widgets.SoftLookup(1)\nfigure"
    )
    assert readers._named_figure("x.softmax(-1)") == "x.softmax(-1)"
    assert readers._named_figure("%pip install x") == "%pip install x"


@pytest.fixture
def names():
    book = [chapters.Chapter("masking", "Masking", "chapters/06_sound", 6)]
    sources = {
        "one": ("Ada", "1843", "Ada. Notes."),
        "many": ("Ada et al.", "1844", "Ada and others. More."),
    }
    return readers.Names(book, {"eq-a": "6.2", "ex-a": "6.1"}, sources)


@pytest.mark.parametrize(
    ("markup", "wanted"),
    [
        ("see {eq}`eq-a`", "see (6.2)"),
        ("{Chapter}`masking` says", "[Chapter\xa006](06_sound.ipynb) says"),
        ("{term}`weights` and {term}`heads <head>`", "weights and heads"),
        ("{cite:t}`one` says {cite:p}`one,many`", "Ada (1843) says (Ada, 1843; Ada et al., 1844)"),
        ("$$\na = b\n$$ (eq-a)", "$$\na = b\n\\tag{6.2}\n$$"),
        ("`{eq}` is code", "`{eq}` is code"),
        ("```\n$$ (eq-a)\n```", "```\n$$ (eq-a)\n```"),
        ("(here)=\n\nWords.", "Words."),
        ("Words.\n\n(next)=", "Words.\n\n"),
        ("On.[^a] Go.\n\n[^a]: A {term}`head`,\n  or `x`.\n\nSo.", "On. (A head, or `x`.) Go.\n\nSo."),
        ("`x[^a]` is code", "`x[^a]` is code"),
        ('{playground}`two runs <{"b": {}}>`.', "[two runs](playground.ipynb)."),
        (":::{exercise} Do\n:label: ex-a\n\nThis.\n:::", "### Exercise 6.1: Do\n\nThis."),
        (
            ":::{admonition} \"So\"\n:class: dropdown\n\nThus.\n:::",
            "<details><summary>\"So\"</summary>\n\nThus.\n\n</details>",
        ),
        ("::::{chapter-paths}\n\n:::{chapter-path} On\nIt.\n:::\n::::", "**On.** It."),
        ("the [glossary](glossary.md)", "the [glossary](../chapters/glossary.md)"),
    ],
)  # fmt: skip
def test_markup_becomes_plain(names, markup, wanted):
    assert readers.plain(markup, names) == wanted


def test_what_a_page_includes_stands_in_its_edition(names, tmp_path):
    (tmp_path / "_more.md").write_text("See {eq}`eq-a`.\n")
    markup = "::::{admonition} So\n:class: dropdown\n\n:::{include} _more.md\n:::\n::::"
    told = readers.plain(markup, replace(names, folder=tmp_path))
    assert told == "<details><summary>So</summary>\n\nSee (6.2).\n\n</details>"


@pytest.mark.parametrize(
    "markup", [":::{video} x\n:::", "{ref}`x`", ":::{admonition} never closed", "a noun[^x]"]
)
def test_markup_without_a_plain_form_stops_the_edition(names, markup):
    with pytest.raises(readers.UnknownMarkupError):
        readers.plain(markup, names)


@pytest.fixture
def copied(tmp_path):
    (tmp_path / "chapters").mkdir()
    whole = ("_toc.yml", "_config.yml", "chapters/references.bib", "chapters/_words.md")
    for name in (*whole, *(f"chapters/{path.name}" for path, _ in PAIRS)):
        shutil.copy(ROOT / name, tmp_path / name)
    for page in chapters.pages(ROOT):
        if (ROOT / f"{page}.md").exists():
            (tmp_path / page).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / f"{page}.md", tmp_path / f"{page}.md")
    return tmp_path


def test_what_a_reader_wrote_is_never_overwritten(copied):
    assert len(readers.write_all(copied)) == len(PAIRS)
    assert readers.write_all(copied) == []
    path = copied / "notebooks" / PAIRS[1][1].name
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[-1].source += "\n\nmine"
    nbformat.write(notebook, path)
    with pytest.raises(readers.ChangedError, match=f"notebooks/{path.name} was changed by a reader"):
        readers.write_all(copied)
    assert "mine" in path.read_text()
    path.rename(path.with_name("my_copy.txt"))
    assert readers.write_all(copied) == [path.name]
    # One that was only run is nobody's work: its cells are as they were.
    notebook = nbformat.read(path, as_version=4)
    next(cell for cell in notebook.cells if cell.cell_type == "code").execution_count = 7
    nbformat.write(notebook, path)
    assert readers.write_all(copied) == [path.name]
