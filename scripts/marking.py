"""Makes the page of answers for whoever marks: quizzes, predictions, exercises and their mistakes.

Nothing is typed here: questions and reasons come from the chapters, the idea of a solution from its strongest
hint and its own words and code, the mistakes that have a name from the exercises' data.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import readers
import slides
import source
from attnlab_book import counts
from nbformat import NotebookNode
from notebook_form import ROOT

from attnbook.checks.exercise import EXERCISES, OTHERS

SHOWN = 5
"""Mistakes of an exercise that stand in view; the others are folded."""

EDGE = re.compile(r"^:::\{solution-(start|end)\}.*?^:::$", re.MULTILINE | re.DOTALL)
PAPER = """
@page { margin: 15mm; }
body { font: 11pt/1.4 system-ui, sans-serif; max-width: 52rem; margin: 1rem auto; padding: 0 1rem;
  overflow-wrap: anywhere; }
h2 { border-bottom: 2px solid #999; margin-top: 2.2rem; } h3 { margin-bottom: 0.2rem; }
pre { background: #f4f4f4; padding: 0.5rem; overflow-x: auto; font-size: 9.5pt; }
.asked { font-weight: 600; } .asked p { margin: 0.8rem 0 0; }
.right { margin-left: 1rem; } .right p { margin: 0.2rem 0; }
summary { cursor: pointer; } nav a { margin-right: 0.8rem; }
@media (prefers-color-scheme: dark) {
  body { background: #16191d; color: #e6e6e6; }
  pre { background: #22272e; } a { color: #8ab4f8; }
}
"""
ABOUT = (
    "Made from the chapters and from the data of the exercises. What is called a mistake here is told to "
    "its reader in the same words, and first stand those that most of the wrong answers make which the "
    "book keeps for its tests. An answer that makes none of them is shown the first case in which it differs."
)


@dataclass(frozen=True)
class Question:
    """A question of a quiz, or a box to predict in: what is asked, the right answer and why."""

    asked: str
    answer: str
    why: str


@dataclass
class Solved:
    """An exercise: its title, how it is thought, its solution, and what is said to its named mistakes."""

    name: str
    title: str
    idea: str = ""
    words: str = ""
    code: str = ""
    mistakes: list[str] = field(default_factory=list)


def quiz(cells: list[NotebookNode]) -> list[Question]:
    """Read the questions of a chapter's quiz with their right answers."""
    return [_right(asked, offered) for asked, offered in slides.questions(cells)]


def predictions(cells: list[NotebookNode]) -> list[Question]:
    """Read the boxes to predict in. One that has no choices is answered by what is said behind its figure."""
    found: list[Question] = []
    open_box: tuple[str, list[slides.Choice]] | None = None
    for cell in cells:
        if cell.cell_type != "markdown":
            continue
        parts = [*slides.BOX.finditer(cell.source), *slides.FOLD.finditer(cell.source)]
        for part in sorted(parts, key=lambda part: part.start()):
            given = part.groupdict()
            if "predict" in (given.get("options") or ""):
                if open_box:
                    found.append(_told(open_box, ""))
                inside = given["inside"]
                open_box = slides.FOLD.split(inside)[0].strip(), slides.choices(inside)
            elif slides.SAW in (given.get("name"), given.get("title")) and open_box:
                found.append(_told(open_box, given.get("inside") or given["body"]))
                open_box = None
    return [*found, _told(open_box, "")] if open_box else found


def _told(box: tuple[str, list[slides.Choice]], saw: str) -> Question:
    asked, offered = box
    answer, reason = next(_lettered(offered), ("", ""))
    return Question(asked, answer, "\n\n".join(filter(None, [reason, saw.strip()])))


def _right(asked: str, offered: list[slides.Choice]) -> Question:
    ((answer, why),) = _lettered(offered)
    return Question(asked, answer, why)


def _lettered(offered: list[slides.Choice]) -> Iterator[tuple[str, str]]:
    """Give the right choices, each with the letter that it has on the slides, and its reason."""
    for letter, one in zip(slides.LETTERS, offered, strict=False):
        if one.right:
            yield f"{letter}. {one.title}", one.why


def exercises(cells: list[NotebookNode]) -> list[Solved]:
    """Read a chapter's exercises: the strongest hint, the solution, and the mistakes that have a name."""
    found: list[Solved] = []
    solving = False
    for cell in cells:
        if cell.cell_type != "markdown":
            if cell.metadata.get("role") == "solution" and found:
                found[-1].name = cell.metadata["exercise"]
                found[-1].code = cell.source
                found[-1].mistakes = mistakes(found[-1].name)
            continue
        for at, piece in enumerate(EDGE.split(cell.source)):
            if at % 2:
                solving = piece == "start"
            elif solving and piece.strip():
                found[-1].words = f"{found[-1].words}\n\n{piece.strip()}".strip()
            else:
                for part in re.split(r"(?=^:::\{exercise\} )", piece, flags=re.MULTILINE):
                    opened = re.match(r":::\{exercise\} (.+)", part)
                    if opened and counts.TASK.search(part):
                        found.append(Solved("", opened[1]))
                    hints = [fold["body"] for fold in slides.FOLD.finditer(part) if fold["kind"] == "hint"]
                    if hints and found and not found[-1].code:
                        found[-1].idea = hints[-1]
    return found


def mistakes(name: str) -> list[str]:
    """List what is said to the named mistakes of an exercise, the commonest first.

    Common is what many of the wrong answers make that are kept for its tests; nobody has counted readers'.
    """
    kept = [one.piece for one in counts.answers(ROOT) if one.exercise == name and one.status == "wrong"]
    messages = list(dict.fromkeys(one.message for one in (EXERCISES | OTHERS)[name].mistakes))
    return sorted(messages, key=lambda message: -sum(piece in message for piece in kept))


def chapter(path: Path, names: readers.Names, title: str, anchor: str) -> str:
    """Write a chapter's answers as HTML."""
    cells = nbformat.read(path, as_version=4).cells

    def show(words: str) -> str:
        return slides.rendered(words, names)

    parts = [f'<section id="{anchor}"><h2>{html.escape(title)}</h2>']
    for heading, asked in (("Predictions", predictions(cells)), ("Quiz", quiz(cells))):
        if asked:
            parts.append(f"<h3>{heading}</h3>")
        for at, one in enumerate(asked, 1):
            answer = f"<p><b>{one.answer}</b></p>" if one.answer else ""
            numbered = rf"{at}\. {one.asked}"  # no list of one
            parts.append(
                f'<div class="asked">{show(numbered)}</div><div class="right">{answer}{show(one.why)}</div>'
            )
    for one in exercises(cells):
        number = names.numbers.get(f"ex-{one.name}", "")
        told = [f"<li>{html.escape(message)}</li>" for message in one.mistakes]
        rest = (
            f"<details><summary>{len(told) - SHOWN} more</summary><ul>{''.join(told[SHOWN:])}</ul></details>"
        )
        words = show(one.words) if one.words else ""
        parts.append(
            f"<h3>Exercise {number}: {html.escape(one.title)}</h3>{show(one.idea)}"
            f"<details><summary>Solution</summary>{words}<pre>{html.escape(one.code)}</pre></details>"
            f"<p>Mistakes with a name:</p><ul>{''.join(told[:SHOWN])}</ul>{rest if told[SHOWN:] else ''}"
        )
    return "\n".join(parts) + "</section>"


def page(sections: dict[str, tuple[str, str]]) -> str:
    """Write all sections as one page that asks for nothing else.

    Args:
        sections: by anchor, the title of a page and its answers.
    """
    links = "".join(
        f'<a href="#{anchor}">{html.escape(title)}</a> ' for anchor, (title, _) in sections.items()
    )
    shown = "\n".join(section for _, section in sections.values())
    origin = slides.MARKDOWN.renderInline(source.note(source.address(ROOT), "chapters/teachers"))
    scripts = "".join(f"<script>{slides._inline(script)}</script>" for script in slides.formulas(shown))
    carried = f"<footer>{slides.carried(shown)}</footer>"
    return (
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta name="viewport" '
        'content="width=device-width, initial-scale=1"><title>Answers, for marking</title>'
        f"<style>{PAPER}</style><h1>Answers, for marking</h1><p>{origin} {ABOUT}</p>"
        f"<nav>{links}</nav>{shown}{carried}{scripts}</html>\n"
    )
