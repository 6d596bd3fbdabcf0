"""Writes the chapters' quizzes for learning platforms: GIFT for Moodle, QTI 1.2 for Canvas.

    quizzes.py              write _build/quizzes/NN_topic.gift.txt and NN_topic.qti.zip for each chapter
    quizzes.py --to FOLDER  into another folder

Questions, choices and what is said of each choice come from the chapters. Formulas stand between \\( and \\),
which both platforms set.

>>> print(escaped("{a: b} = c"))
\\{a\\: b\\} \\= c
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import readers
import slides
from attnlab_book import chapters
from notebook_form import ROOT
from source import TITLE, address, note

BOOK = TITLE.partition(":")[0]
FOLDER = "_build/quizzes"
GIFT = re.compile(r"[\\~=#{}:]")
FORMULA = re.compile(r'<(span|div) class="math \w+">(.*?)</\1>', re.DOTALL)
QTI = "http://www.imsglobal.org/xsd/ims_qtiasiv1p2"
PACKAGE = "http://www.imsglobal.org/xsd/imscp_v1p1"
LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The date of all files in a package: the same chapters give the same bytes."""


@dataclass(frozen=True)
class Quiz:
    """The quiz of one chapter, as HTML.

    Args:
        title: number and title of the chapter.
        topic: its file name without the number.
        source: where the text comes from, and under which licence.
        questions: what is asked, and the choices offered.
    """

    title: str
    topic: str
    source: str
    questions: list[tuple[str, list[slides.Choice]]]


def of(root: Path, chapter: chapters.Chapter, names: readers.Names) -> Quiz:
    """Read the quiz of a chapter.

    Raises:
        ValueError: a question has not one right choice.
    """
    cells = nbformat.read(root / f"{chapter.page}.ipynb", as_version=4).cells
    questions = []
    for asked, offered in slides.questions(cells):
        if sum(one.right for one in offered) != 1:
            raise ValueError(f"{chapter.page}: not one right choice: {asked}")
        # A summary is HTML already; what is said of a choice is Markdown.
        told = [slides.Choice(one.title, _inline(one.why, names)) for one in offered]
        questions.append((_inline(asked, names), told))
    title = f"{chapter.label} {chapter.title}"
    return Quiz(title, chapter.topic, note(address(root), chapter.page), questions)


def _inline(markdown: str, names: readers.Names) -> str:
    """Make HTML of a text; one paragraph alone goes without its marks."""
    shown = FORMULA.sub(r"\2", slides.rendered(markdown, names))
    inside = shown.removeprefix("<p>").removesuffix("</p>")
    return shown if "<p>" in inside else inside


def escaped(shown: str) -> str:
    """Escape what GIFT reads as a sign of its own. An empty line would end the question."""
    return GIFT.sub(r"\\\g<0>", shown).replace("\n", "\\n")


def gift(quiz: Quiz) -> str:
    """Write a quiz as GIFT: each choice with what is said of it, and a category for the question bank."""
    parts = [f"// {quiz.source}", f"$CATEGORY: {BOOK}/{quiz.title.replace('/', '//')}"]
    for at, (asked, offered) in enumerate(quiz.questions, 1):
        lines = [f"\t{'=' if one.right else '~'}{escaped(one.title)}#{escaped(one.why)}\n" for one in offered]
        parts.append(f"::{escaped(quiz.title)}, question {at}::[html]{escaped(asked)} {{\n{''.join(lines)}}}")
    return "\n\n".join(parts) + "\n"


def _element(parent: ElementTree.Element, path: str, words: str = "", **given: str) -> ElementTree.Element:
    """Add elements one in another, as `material/mattext`; the last has the words and attributes."""
    *outer, last = path.split("/")
    for tag in outer:
        parent = ElementTree.SubElement(parent, tag)
    made = ElementTree.SubElement(parent, last, given)
    made.text = words or None
    return made


def _text(root: ElementTree.Element) -> bytes:
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


def assessment(quiz: Quiz) -> bytes:
    """Write a quiz as an assessment of QTI 1.2, a point for each question."""
    root = ElementTree.Element("questestinterop", {"xmlns": QTI})
    test = _element(root, "assessment", ident=quiz.topic, title=quiz.title)
    _element(test, "qticomment", quiz.source)
    section = _element(test, "section", ident="root_section")
    for at, (asked, offered) in enumerate(quiz.questions, 1):
        _item(section, f"{quiz.topic}_{at}", f"Question {at}", asked, offered)
    return _text(root)


def _item(
    section: ElementTree.Element, ident: str, title: str, asked: str, offered: list[slides.Choice]
) -> None:
    item = _element(section, "item", ident=ident, title=title)
    # Fields that Canvas asks for, named as in its own exports.
    fields = _element(item, "itemmetadata/qtimetadata")
    for label, entry in (("question_type", "multiple_choice_question"), ("points_possible", "1")):
        field = _element(fields, "qtimetadatafield")
        _element(field, "fieldlabel", label)
        _element(field, "fieldentry", entry)
    shown = _element(item, "presentation")
    _element(shown, "material/mattext", asked, texttype="text/html")
    response = _element(shown, "response_lid", ident="response1", rcardinality="Single")
    listed = _element(response, "render_choice", shuffle="Yes")
    marked = _element(item, "resprocessing")
    _element(marked, "outcomes/decvar", varname="SCORE", vartype="Decimal", minvalue="0", maxvalue="100")
    idents = [f"{ident}_{letter}" for letter, _ in zip(slides.LETTERS, offered, strict=False)]
    for mine, one in zip(idents, offered, strict=True):
        label = _element(listed, "response_label", ident=mine)
        _element(label, "material/mattext", one.title, texttype="text/html")
        said = _element(marked, "respcondition", **{"continue": "Yes"})
        _element(said, "conditionvar/varequal", mine, respident="response1")
        _element(said, "displayfeedback", feedbacktype="Response", linkrefid=f"{mine}_fb")
        told = _element(item, "itemfeedback", ident=f"{mine}_fb")
        _element(told, "flow_mat/material/mattext", one.why, texttype="text/html")
    (right,) = (mine for mine, one in zip(idents, offered, strict=True) if one.right)
    scored = _element(marked, "respcondition", **{"continue": "No"})
    _element(scored, "conditionvar/varequal", right, respident="response1")
    _element(scored, "setvar", "100", action="Set", varname="SCORE")


def manifest(quiz: Quiz) -> bytes:
    """Write what a package lists of itself."""
    root = ElementTree.Element("manifest", {"xmlns": PACKAGE, "identifier": f"{quiz.topic}_package"})
    about = _element(root, "metadata")
    _element(about, "schema", "IMS Content")
    _element(about, "schemaversion", "1.1.3")
    _element(root, "organizations")
    name = f"{quiz.topic}.xml"
    resource = _element(root, "resources/resource", identifier=quiz.topic, type="imsqti_xmlv1p2", href=name)
    _element(resource, "file", href=name)
    return _text(root)


def package(quiz: Quiz) -> bytes:
    """Put an assessment and its manifest into one file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in (("imsmanifest.xml", manifest(quiz)), (f"{quiz.topic}.xml", assessment(quiz))):
            archive.writestr(zipfile.ZipInfo(name, LONG_AGO), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def make(root: Path) -> dict[str, bytes]:
    """Make all files: what to write, by name."""
    book, sources = chapters.read(root), readers.sources_of(root / "chapters/references.bib")
    made = {}
    for chapter in book:
        path = root / f"{chapter.page}.ipynb"
        names = readers.names_of(path, nbformat.read(path, as_version=4).cells, book, sources)
        quiz = of(root, chapter, names)
        made[f"{path.stem}.gift.txt"] = gift(quiz).encode()
        made[f"{path.stem}.qti.zip"] = package(quiz)
    return made


def main(words: list[str] | None = None) -> int:
    """Write the folder anew."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--to", metavar="FOLDER", type=Path, default=ROOT / FOLDER)
    options = parser.parse_args(words)
    made = make(ROOT)
    options.to.mkdir(parents=True, exist_ok=True)
    for name, content in made.items():
        (options.to / name).write_bytes(content)
    print(f"{len(made)} files written in {options.to}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
