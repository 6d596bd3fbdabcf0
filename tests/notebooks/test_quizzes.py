"""The quizzes for learning platforms ask what the chapters ask, and say of each choice what they say."""

import html
import io
import re
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "_ext")]

import quizzes
import slides
from attnlab_book import chapters

BOOK = chapters.read(ROOT)
each = pytest.mark.parametrize("chapter", BOOK, ids=[one.topic for one in BOOK])
IN = {"q": quizzes.QTI, "p": quizzes.PACKAGE}


@pytest.fixture(scope="module")
def made():
    return quizzes.make(ROOT)


def words(text):
    """Take the words and numbers of a text in Markdown or HTML, without marks of either."""
    text = re.sub(r"\{[\w:-]+\}`([^`]*)`|\[([^\]]*)\]\([^)]*\)", r"\1\2", text)
    return re.findall(r"\w+", html.unescape(re.sub(r"</?\w+>", "", text)).replace("_", " "))


def asked(chapter):
    """Read a chapter's quiz by its lines: questions, and choices with what is said of them."""
    cells = nbformat.read(ROOT / f"{chapter.page}.ipynb", as_version=4).cells
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    block = re.search(r'<div class="quiz">(.*?)</div>', text, re.DOTALL)[1]
    found = []
    for line in filter(None, block.splitlines()):
        if line.startswith("**"):
            found.append((words(re.sub(r"^\*\*\d+\.|\*\*$", "", line)), []))
        elif line.startswith("<details"):
            found[-1][1].append([words(re.search("<summary>(.*)</summary>", line)[1]), []])
        elif line != "</details>":
            found[-1][1][-1][1] += words(line)
    return [(question, [tuple(one) for one in offered]) for question, offered in found]


def plain(signs):
    return signs.translate({0xE000 + ord(sign): sign for sign in r"\~=#{}:"}).replace(chr(0xE06E), "\n")


def read_gift(text):
    """Read GIFT: name, question, and choices as (right, text, what is said of it)."""
    hidden = re.sub(r"\\([\\~=#{}:n])", lambda found: chr(0xE000 + ord(found[1])), text)
    assert "\\" not in hidden
    found = []
    for block in re.split(r"\n{2,}", hidden.strip()):
        if block.startswith(("//", "$CATEGORY: ")):
            continue
        name, question, inside = re.fullmatch(
            r"::([^:{}]+)::\[html\]([^{}~=#]+) \{([^{}]+)\}", block
        ).groups()
        offered = re.findall(r"([~=])([^~=#]+)#([^~=#]+)", inside)
        assert sum(len(sign + choice + why) + 1 for sign, choice, why in offered) == len(inside.strip()) + 1
        told = [(sign == "=", plain(choice).strip(), plain(why).strip()) for sign, choice, why in offered]
        found.append((plain(name), plain(question), told))
    return found


def read_qti(packed):
    """Read a package by its manifest: title and questions, as `read_gift` gives them."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        assert archive.testzip() is None
        (resource,) = ElementTree.fromstring(archive.read("imsmanifest.xml")).iterfind(".//p:resource", IN)
        assert resource.get("type") == "imsqti_xmlv1p2"
        assert [one.get("href") for one in resource] == [resource.get("href")]
        assert archive.namelist() == ["imsmanifest.xml", resource.get("href")]
        root = ElementTree.fromstring(archive.read(resource.get("href")))
    idents = [one.get("ident") for one in root.iter() if one.get("ident") not in (None, "response1")]
    assert len(idents) == len(set(idents))
    found = []
    for item in root.iterfind(".//q:item", IN):
        fields = [one.text for one in item.iterfind(".//q:fieldentry", IN)]
        assert fields == ["multiple_choice_question", "1"]
        said = {
            one.get("ident"): one.find(".//q:mattext", IN).text for one in item.iterfind("q:itemfeedback", IN)
        }
        right, shown = [], {}
        for condition in item.iterfind(".//q:respcondition", IN):
            choice = condition.find(".//q:varequal", IN).text
            if condition.find("q:setvar", IN) is not None:
                right.append(choice)
            else:
                shown[choice] = said.pop(condition.find("q:displayfeedback", IN).get("linkrefid"))
        assert said == {}
        offered = {
            one.get("ident"): one.find(".//q:mattext", IN).text
            for one in item.iterfind(".//q:response_label", IN)
        }
        assert offered.keys() == shown.keys()
        told = [([choice] == right, text, shown[choice]) for choice, text in offered.items()]
        found.append((item.find("q:presentation/q:material/q:mattext", IN).text, told))
    return root.find("q:assessment", IN).get("title"), found


def test_each_chapter_has_both(made):
    stems = [Path(chapter.page).name for chapter in BOOK]
    assert list(made) == [f"{stem}{end}" for stem in stems for end in (".gift.txt", ".qti.zip")]
    assert quizzes.make(ROOT) == made


@each
def test_questions_choices_and_reasons_are_the_chapters(chapter, made):
    stem = Path(chapter.page).name
    text = made[f"{stem}.gift.txt"].decode()
    gift, (title, qti) = read_gift(text), read_qti(made[f"{stem}.qti.zip"])
    assert f"\n$CATEGORY: I Saw a Saw/{title}\n" in text
    assert "CC BY 4.0" in text.splitlines()[0]
    assert [name for name, *_ in gift] == [f"{title}, question {at}" for at in range(1, 6)]
    assert [(question, told) for _, question, told in gift] == qti
    stored = asked(chapter)
    assert len(stored) == 5
    for (question, offered), (shown, told) in zip(stored, qti, strict=True):
        assert words(shown) == question
        assert [(words(choice), words(why)) for _, choice, why in told] == offered
        assert [right for right, *_ in told] == [why[0] == "Yes" for _, why in offered]
        assert sum(right for right, *_ in told) == 1


def test_formulas_stand_between_marks_that_platforms_set(made):
    told = "\n".join(text.decode() for name, text in made.items() if name.endswith(".txt"))
    read = [shown for part in read_gift(told) for shown in (part[1], *(why for *_, why in part[2]))]
    formulas = [one for shown in read for one in re.findall(r"\\\((.*?)\\\)", shown)]
    assert r"p_i(g_i - \bar g)" in formulas
    assert r"x \cdot y \le |x||y|" in formulas
    assert not [shown for shown in read if "$" in shown or "class=" in shown]


def test_a_sign_of_gift_is_a_letter_of_its_text():
    # GIFT reads a backslash and an n as a new line. An empty line would end the question.
    assert quizzes.escaped("a = {b}: ~ # \\nu\n\nc") == r"a \= \{b\}\: \~ \# \\nu\n\nc"
    signs = r"\nu ~=#{}: \{"
    quiz = quizzes.Quiz("A/B: C", "a", "x", [(signs, [slides.Choice(signs, signs), slides.Choice("b", "c")])])
    ((name, question, told),) = read_gift(quizzes.gift(quiz))
    assert (name, question) == ("A/B: C, question 1", signs)
    assert told == [(False, signs, signs), (False, "b", "c")]
    assert "$CATEGORY: I Saw a Saw/A//B: C\n" in quizzes.gift(quiz)


def test_a_question_without_one_right_choice_stops_it(monkeypatch):
    monkeypatch.setattr(
        slides, "questions", lambda cells: [("Q?", [slides.Choice("a", "No."), slides.Choice("b", "No.")])]
    )
    with pytest.raises(ValueError, match="why_attention: not one right choice: Q"):
        quizzes.make(ROOT)


def test_the_command_writes_what_was_made(made, tmp_path, capsys):
    folder = tmp_path / "quizzes"
    assert quizzes.main(["--to", str(folder)]) == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == made
    assert capsys.readouterr().out == f"{2 * len(BOOK)} files written in {folder}\n"
