"""Makes the slides of a chapter: its figures, its boxes to predict in and its quiz, in one file.

A deck carries the scripts of its figures, the models that these read, and MathJax if it has a formula. What
gives an answer away stands in the notes, which stay hidden until the N key.

>>> [one.title for one in choices(
...     '<details class="answer"><summary>A half.</summary>\\n\\nYes. It is.\\n\\n</details>')]
['A half.']
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import readers
from attnlab_book import assets, licences
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from nbformat import NotebookNode
from notebook_form import ROOT

SAW = "What you saw"
FOLD = re.compile(
    r'<details class="(?P<kind>\w+)"><summary>(?P<title>.*?)</summary>\s*(?P<body>.*?)\s*</details>',
    re.DOTALL,
)
QUESTION = re.compile(
    r"^\*\*(?P<number>\d+)\. (?P<question>[^\n]+)\*\*\n+"
    r"(?P<choices>(?:<details class=\"answer\">.*?</details>\s*)+)",
    re.MULTILINE | re.DOTALL,
)
BOX = re.compile(
    r"^(?P<fence>:{3,})\{admonition\} (?P<name>[^\n]+)\n(?P<options>(?::[\w-]+:[^\n]*\n)+)"
    r"(?P<inside>.*?)\n(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
HEADING = re.compile(r"^## (?P<heading>.+)$", re.MULTILINE)
PARTS = (HEADING, BOX, FOLD, QUESTION)
STATIC = ROOT / "src/attnbook/static"
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)\s]*\)")
FONT = re.compile(r"@font-face \{[^}]*\}\n?")
ORIGINS = {
    "tagger": "a small tagger that learned from [UD English-EWT]"
    "(https://universaldependencies.org/treebanks/en_ewt/index.html) 2.16 by Natalia Silveira and others, "
    "passed on as that is, under [CC BY-SA 4.0](https://creativecommons.org/licenses/by-sa/4.0/)",
}
"""Where models come from that are under other terms than the book's, by the name of their file."""
PUBLISHED = {"all-MiniLM-L6-v2": "sentence-transformers", "SmolLM2-135M-Instruct": "HuggingFaceTB"}
"""Models of others whose weights of attention a figure may hold, and who published each."""
APACHE = "https://www.apache.org/licenses/LICENSE-2.0"
MATHJAX = f"MathJax, which sets the formulas, under the [Apache License 2.0]({APACHE}), "
MATHJAX += "whose text is in this file's source"
LETTERS = "ABCDEF"


def _mathjax() -> Path:
    """Find MathJax's es5 folder in the package that carries it.

    Raises:
        FileNotFoundError: the package is not installed.
    """
    spec = find_spec("mathjax")
    for place in (spec.submodule_search_locations or []) if spec else []:
        if (folder := Path(place, "static/mathjax/es5")).exists():
            return folder
    raise FileNotFoundError(
        "MathJax is not installed: pip install -r requirements.txt (its package is django-static-mathjax)"
    )


@dataclass
class Slide:
    """One slide, as HTML.

    Args:
        kind: `title`, `predict`, `figure`, `exercises`, `quiz` or `source`.
        title: its heading.
        body: what all see.
        notes: what only the teacher should see.
    """

    kind: str
    title: str
    body: str
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Choice:
    """One choice of a question, and what is said of it."""

    title: str
    why: str

    @property
    def right(self) -> bool:
        """Whether it is the right one."""
        return self.why.startswith("Yes")


def choices(markdown: str) -> list[Choice]:
    """Read the choices of one question, in the form that quizzes and boxes to predict in share."""
    found = (fold for fold in FOLD.finditer(markdown) if fold["kind"] == "answer" and fold["title"] != SAW)
    return [Choice(fold["title"], fold["body"]) for fold in found]


def questions(cells: list[NotebookNode]) -> Iterator[tuple[str, list[Choice]]]:
    """Read the questions of a chapter's quiz: what is asked, in Markdown, and the choices offered."""
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    for found in QUESTION.finditer(text):
        yield found["question"], choices(found["choices"])


def _formula(tex: str, options: dict[str, bool]) -> str:
    return (r"\[{}\]" if options["display_mode"] else r"\({}\)").format(html.escape(tex))


MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
MARKDOWN.use(dollarmath_plugin, double_inline=True, renderer=_formula)


def rendered(markdown: str, names: readers.Names) -> str:
    """Make HTML of a chapter's text. A slide has no other pages to link to."""
    return MARKDOWN.render(LINK.sub(r"\1", readers.plain(markdown, names))).strip()


def _listed(offered: list[Choice]) -> str:
    # A summary is plain text in HTML, as the page has it.
    return (
        '<ol class="choices">' + "".join(f"<li>{one.title}</li>" for one in offered) + "</ol>"
        if offered
        else ""
    )


def _answers(offered: list[Choice], names: readers.Names) -> list[str]:
    return [
        f'<div class="{"right" if one.right else "wrong"}"><b>{letter}.</b> {rendered(one.why, names)}</div>'
        for letter, one in zip(LETTERS, offered, strict=False)
    ]


def of(
    cells: list[NotebookNode],
    names: readers.Names,
    *,
    title: str,
    question: str,
    exercises: list[str],
    source: str,
) -> list[Slide]:
    """Make a chapter's slides, in its order.

    Args:
        cells: its cells, without the solutions.
        names: what mentions stand for.
        title: number and title of the chapter.
        question: what the landing page asks for it.
        exercises: a line for each exercise; none, and there is no slide of them.
        source: what is said of the book, in Markdown, on the first slide and the last.
    """
    origin = MARKDOWN.renderInline(source)
    slides = [Slide("title", title, f'<p>{html.escape(question)}</p><p class="source">{origin}</p>')]
    heading, told = "", [slides[0]]
    for cell in cells:
        if cell.cell_type == "code":
            shown = _figure(cell, plots=told[-1].kind == "predict")
            if shown:
                slides.append(Slide("figure", heading, shown, list(told[-1].notes)))
                told = [*(one for one in told if one.kind == "predict"), slides[-1]]
            continue
        parts = [part for pattern in PARTS for part in pattern.finditer(cell.source)]
        inside = [(part.start(), part.end()) for part in parts]
        for part in sorted(parts, key=lambda part: part.start()):
            if any(start < part.start() < end for start, end in inside):
                continue  # a fold of a box or of a question, which were read with it
            found = part.groupdict()
            if "heading" in found:
                heading = rendered(found["heading"], names).removeprefix("<p>").removesuffix("</p>")
                if heading == "Exercises" and exercises:
                    listed = "".join(f"<li>{html.escape(line)}</li>" for line in exercises)
                    slides.append(Slide("exercises", heading, f"<ol>{listed}</ol>"))
                told = [Slide("none", "", "")]
            elif "question" in found:
                offered = choices(found["choices"])
                body = f'<div class="asked">{rendered(found["question"], names)}</div>{_listed(offered)}'
                slides.append(
                    Slide("quiz", f"Quiz, question {found['number']}", body, _answers(offered, names))
                )
            elif SAW in (found.get("name"), found.get("title")):
                said = rendered(found.get("inside") or found["body"], names)
                for one in told:
                    one.notes.append(f"<div><b>{SAW}.</b> {said}</div>")
            elif "predict" in (found.get("options") or ""):
                slides.append(_predict(found["name"], found["inside"], names))
                told = [slides[-1]]
    return [*slides, _source(origin, "".join(slide.body + "".join(slide.notes) for slide in slides))]


def _source(origin: str, shown: str) -> Slide:
    """Say on the last slide where all comes from that the deck carries."""
    return Slide("source", "Where this comes from", f"<p>{origin}</p>{carried(shown)}")


def carried(shown: str) -> str:
    """Say what a page carries besides the book's own, and under which terms."""
    told = [told for name, told in ORIGINS.items() if any(name in path.name for path in _models(shown))]
    told += [
        f"weights of attention that [{model}](https://huggingface.co/{owner}/{model}), under the "
        f"[Apache License 2.0]({APACHE}), computed on sentences of our own"
        for model, owner in PUBLISHED.items()
        if html.escape(f'"model": "{model}"') in shown
    ]
    told += [MATHJAX] if _has_formulas(shown) else []
    listed = "".join(f"<li>{MARKDOWN.renderInline(one)}</li>" for one in told)
    return f"<p>This file also carries</p><ul>{listed}</ul>" if listed else ""


def _predict(name: str, inside: str, names: readers.Names) -> Slide:
    """Show the question and what can be chosen; what one can try afterwards is for the teacher."""
    offered = choices(inside)
    asked, after = inside, ""
    if offered:
        folds = list(FOLD.finditer(inside))
        asked, after = inside[: folds[0].start()], inside[folds[-1].end() :]
    notes = _answers(offered, names)
    if after.strip():
        notes.append(f"<div>{rendered(after, names)}</div>")
    return Slide(
        "predict", name, f'<div class="asked">{rendered(asked, names)}</div>{_listed(offered)}', notes
    )


def _figure(cell: NotebookNode, *, plots: bool) -> str:
    """Take the live figures of a cell, and its plot or table if one is asked for, as the book stores them."""
    wanted = "attnlab-figure|attnlab-plot" if plots else "attnlab-figure"
    shown = "".join(output.get("data", {}).get("text/html", "") for output in cell.outputs)
    found = re.findall(rf'<figure class="(?:{wanted})".*?</figure>', shown, re.DOTALL)
    if plots and not found and "<table" in shown:
        return f"<figure>{shown}</figure>"
    return "".join(found)


def deck(slides: list[Slide]) -> str:
    """Write slides as one page that asks for nothing else."""
    shown = "\n".join(_section(at, slide) for at, slide in enumerate(slides, 1))
    scripts = [*formulas(shown), *_scripts(shown), _text(ROOT / "_static/attnlab.js")]
    style = FONT.sub("", _text(ROOT / "_static/attnlab.css"))
    page = _text(ROOT / "scripts/slides.html")
    for place, content in {
        "TITLE": re.sub(r"<[^>]+>", "", slides[0].title),
        "STYLE": style,
        "SLIDES": shown,
        "SCRIPTS": "\n".join(f"<script>{_inline(script)}</script>" for script in scripts),
    }.items():
        before, after = page.split(f"<!-- {place} -->")
        page = before + content + after
    return page


def formulas(shown: str) -> list[str]:
    """List the scripts that draw the formulas of a page, if it has one, with their licence."""
    if not _has_formulas(shown):
        return []
    (licence,) = [one.text for one in licences.SHIPPED if one.name == "MathJax"]
    # It writes formulas as drawings, and so needs no fonts. Its licence asks for its text beside it.
    mathjax = f"/* MathJax\n{_text(licence)}*/\n{_text(_mathjax() / 'tex-svg-full.js')}"
    return [_text(ROOT / "scripts/slides_math.js"), mathjax]


def _has_formulas(shown: str) -> bool:
    return r"\(" in shown or r"\[" in shown


def _section(at: int, slide: Slide) -> str:
    level = "h1" if slide.kind == "title" else "h2"
    notes = (
        f'<aside class="notes" aria-label="Notes" hidden>{"".join(slide.notes)}</aside>'
        if slide.notes
        else ""
    )
    return (
        f'<section class="slide {slide.kind}" id="slide-{at}">'
        f'<{level} tabindex="-1">{slide.title}</{level}>{slide.body}{notes}</section>'
    )


def _modules(shown: str) -> dict[str, str]:
    """Read the script of each kind of figure in a page."""
    kinds = dict.fromkeys(re.findall(r'data-attnlab="(\w+)"', shown))
    return {kind: _text(STATIC / f"{kind}.js") for kind in kinds}


def _models(shown: str) -> list[Path]:
    """List the models that the figures of a page would load."""
    modules = _modules(shown).values()
    return [
        path
        for path in sorted(STATIC.glob("*-model.js"))
        if any("-model.js" in text and f'"{path.stem.removesuffix("-model")}"' in text for text in modules)
    ]


def _scripts(shown: str) -> list[str]:
    """List the scripts of the figures in a page, and the models that they would otherwise load."""
    models = map(_text, _models(shown))
    return [*models, *(assets.classic(kind, text) for kind, text in _modules(shown).items())]


def _inline(script: str) -> str:
    # What would end a script's element, or begin a comment in it, says the same with a stroke.
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
