"""What a class is given: notebooks without solutions, slides, and a sheet whose numbers are the book's."""

import csv
import html
import itertools
import json
import re
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "_ext")]

import graded
import marking
import readers
import slides
import source
import teacher
from attnlab_book import chapters, counts, lessons, licences
from notebook_form import of_toc

from attnbook import check_tests
from attnbook.checks import check
from attnbook.checks.exercise import EXERCISES, OTHERS

PATHS = of_toc()
each = pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])


@pytest.fixture(scope="module")
def made():
    return teacher.make(ROOT)


@pytest.fixture(scope="module")
def solutions():
    """What stands between the edges of solutions in all chapters: code, text and printed lines."""
    code, words, printed, elsewhere = [], [], [], []
    for path in PATHS:
        solving = False
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code":
                (code if solving else elsewhere).extend(map(str.strip, cell.source.splitlines()))
                shown = "".join(output.get("text", "") for output in cell.outputs)
                printed += map(str.strip, shown.splitlines()) if solving else []
                continue
            for at, piece in enumerate(teacher.EDGE.split(cell.source)):
                if at % 2:
                    solving = piece == "start"
                elif solving:
                    words += [line for line in piece.splitlines() if len(line) > 40]
        assert not solving
    return (
        {line for line in code if len(line) > 12} - set(elsewhere),
        set(words),
        {x for x in printed if len(x) > 25},
    )


def offered(path):
    """List the choices of each question of a page: those of its quiz, and those of its predictions."""
    stored = nbformat.read(path, as_version=4).cells
    text = "\n".join(cell.source for cell in stored if cell.cell_type == "markdown")
    quiz = [slides.choices(found["choices"]) for found in slides.QUESTION.finditer(text)]
    boxes = [found["inside"] for found in slides.BOX.finditer(text) if "class: predict" in found["options"]]
    return quiz, [slides.choices(inside) for inside in boxes if slides.choices(inside)]


def cells(content, kind=None):
    found = nbformat.reads(content, as_version=4).cells
    return [cell for cell in found if kind in (None, cell.cell_type)]


@each
def test_nothing_of_a_solution_is_left(path, made, solutions):
    edition = cells(made[f"students/{path.name}"])
    assert not [cell for cell in edition if cell.get("outputs") or cell.metadata.get("role") == "solution"]
    text = "\n".join(cell.source for cell in edition)
    assert "olution</summary>" not in text
    assert "solution-" not in text
    code, words, printed = solutions
    assert min(map(len, solutions)) > 10
    lines = set(map(str.strip, text.splitlines()))
    assert lines & code == set()
    assert lines & printed == set()
    # Text is made plain on its way: the words of a line, without what stood around them.
    plain = set(map(bare, text.splitlines()))
    assert plain & set(map(bare, words)) == set()


def bare(line):
    return " ".join(re.findall(r"[^\W\d_]{3,}", re.sub(r"\{[\w:-]+\}`[^`]*`|\[[^\]]*\]\([^)]*\)", "", line)))


@each
def test_all_else_is_the_readers_own(path, made):
    """The same code in the same order: what is tested of the readers' notebooks holds here too."""
    mine, theirs = (
        cells(made[f"students/{path.name}"], "code"),
        cells((ROOT / f"notebooks/{path.name}").read_text(), "code"),
    )
    assert [(cell.source, cell.metadata) for cell in mine] == [
        (cell.source, cell.metadata) for cell in theirs
    ]
    text = "\n".join(cell.source for cell in cells(made[f"students/{path.name}"], "markdown"))
    stored = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells)
    assert text.count("<summary>Hint") == stored.count("<summary>Hint")
    assert text.count("### Exercise ") == stored.count(":::{exercise}")
    assert text.count("<details") == text.count("</details>")
    assert "](../" not in text


def test_every_check_says_that_nothing_is_written_yet(made, capsys):
    for name, content in made.items():
        space = {"check": check, "check_tests": check_tests}
        for cell in cells(content, "code") if name.endswith(".ipynb") else ():
            if cell.metadata.get("role") == "stub":
                exec("import math\nimport torch\nfrom torch import nn\n" + cell.source, space)
            elif cell.metadata.get("role") == "check":
                exec(cell.source, space)
                assert re.fullmatch(r"○ \w+ is not written yet\.", capsys.readouterr().out.strip()), (
                    cell.source
                )


@each
def test_quizzes_ask_and_do_not_tell(path, made):
    text = "\n".join(cell.source for cell in cells(made[f"students/{path.name}"], "markdown"))
    text = re.sub(r"^> ", "", text, flags=re.MULTILINE).replace("\\", "")
    quiz, predictions = offered(path)
    assert len(quiz) == (5 if path.stem[0].isdigit() else 0)
    assert slides.SAW not in text
    for question in quiz + predictions:
        assert len(question) == 3
        assert sum(choice.right for choice in question) == 1, question
        for choice in question:
            assert f"- {choice.title}" in text
            assert f"<summary>{choice.title}</summary>" not in text
            assert len(choice.why) < 25 or choice.why[:60] not in text


def test_the_teacher_chooses_what_stays():
    source = (
        '<details class="hint"><summary>Hint 1</summary>\n\nSplit.\n\n</details>\n\n**1. Why?**\n\n'
        '<details class="answer"><summary>A *.</summary>\n\nYes. So.\n\n</details>\n'
        '<details class="answer"><summary>B.</summary>\n\nNo.\n\n</details>\n\n'
        ":::{admonition} What you saw\n:class: dropdown\n\nAll.\n:::\n\nOn."
    )
    assert teacher.students_text(source, hints=False) == "**1. Why?**\n\n- A \\*.\n- B.\n\nOn."
    assert teacher.students_text(source).startswith(source.partition("\n\n**")[0])
    assert teacher.students_text(source, answers=True) == source


def test_the_sheets_numbers_are_the_books(made):
    rows = list(csv.DictReader(made["marking.csv"].lstrip("\N{BYTE ORDER MARK}").splitlines()))
    tasks = [row for row in rows if row["minutes"]]
    book = [chapter for chapter in chapters.read(ROOT) if chapter.number is not None]
    for chapter in book:
        mine = [row for row in tasks if row["chapter"] == f"{chapter.label} {chapter.title}"]
        counted = counts.of_chapter(ROOT, chapter)
        assert sum(int(row["minutes"]) for row in mine) == counted.task_minutes
        assert len(mine) == len(counted.exercises)
        assert all(int(row["points"]) * teacher.MINUTES_A_POINT == int(row["minutes"]) for row in mine)
        assert [row["number"] for row in mine] == [f"{chapter.number}.{at}" for at in range(1, len(mine) + 1)]
    assert {row["given"] for row in rows} == {""}
    project = [row for row in rows if not row["minutes"]]
    assert sum(int(row["points"]) for row in project) == 100
    page = (ROOT / "chapters/teachers.md").read_text()
    assert all(f"| {row['points']} | {row['title'].split(': ', 1)[1]} |" in page for row in project)
    assert all(row["title"].split(": ")[0] in made["marking.html"] for row in project)


@each
def test_a_deck_has_every_figure_prediction_and_question(path, made):
    if f"slides/{path.stem}.html" not in made:
        aside = ("index", "five_minutes", "playground", "design", "best_tagger", "configuration", "testing")
        assert path.stem in aside
        return
    stored = nbformat.read(path, as_version=4).cells
    prose = "\n".join(cell.source for cell in stored if cell.cell_type == "markdown")
    deck = made[f"slides/{path.stem}.html"]
    shown = re.findall(r'<section class="slide (\w+)".*?</section>', deck, re.DOTALL)
    assert shown[0] == "title"
    assert shown[-1] == "source"
    assert shown.count("predict") == len(re.findall(r"^:class: predict$", prose, re.MULTILINE))
    assert shown.count("quiz") == 5
    figures = sum('class=\\"attnlab-figure' in json.dumps(cell.get("outputs", "")) for cell in stored)
    assert deck.count('<figure class="attnlab-figure') == figures
    # Every right answer is there, and hidden until one asks for it.
    seen = re.sub(r'<aside class="notes"[^>]* hidden>.*?</aside>', "", deck, flags=re.DOTALL)
    assert deck.count('class="right"') >= 5
    assert 'class="right"' not in seen
    assert not re.search(r'(?:src|href)="(?!https://|#)', deck)
    assert not re.search(r":::|\{[\w:-]+\}`", re.sub(r"<script>.*?</script>", "", deck, flags=re.DOTALL))


def words(markup):
    """The words of some Markdown or HTML, without formulas, links and entities: what both forms share."""
    bare = re.sub(r"\$[^$]*\$|\\[(\[].*?\\[)\]]|\{[\w:-]+\}`[^`]*`|<[^>]+>|&\w+;", " ", markup)
    return re.findall(r"[A-Za-z]{3,}", re.sub(r"\]\([^)]*\)", " ", bare))


def test_the_answers_are_the_chapters_own_and_whole(made):
    page = made["answers.html"]
    book = [chapter for chapter in chapters.read(ROOT) if chapter.number is not None]
    topics = [*(one.topic for one in book), "playground", "design", "testing"]
    found = page.split('<section id="')[1:]
    parts = {one.partition('"')[0].replace("-", "_"): one for one in found}
    assert sorted(parts) == sorted(topics)
    for chapter in book:
        part = parts[chapter.topic]
        shown = " ".join(words(part.replace("&#x27;", "'")))
        path = ROOT / f"{chapter.page}.ipynb"
        quiz, boxes = offered(path)
        right = [
            (letter, choice)
            for question in (*quiz, *boxes)
            for letter, choice in zip("ABC", question, strict=True)
            if choice.right
        ]
        assert len(right) == len(quiz) + len(boxes) > 5
        for letter, choice in right:
            assert f"<b>{letter}. {choice.title}</b>" in part
            assert choice.why.split(".")[0] == "Yes"
            first = max(re.split(r"\$[^$]*\$|\{[\w:-]+\}`[^`]*`|[*`]", choice.why), key=len)
            assert " ".join(words(first)) in shown, choice.why
        wrong = [choice for question in quiz for choice in question if not choice.right]
        assert not [choice for choice in wrong if f". {choice.title}</b>" in part]
        assert part.count("<h3>Exercise ") == len(counts.of_chapter(ROOT, chapter).exercises)
    for topic in topics:
        part, (path,) = parts[topic], [one for one in PATHS if one.stem.endswith(topic)]
        for solved in marking.exercises(nbformat.read(path, as_version=4).cells):
            task = (EXERCISES | OTHERS)[solved.name]
            assert f"def {task.answer}" in solved.code or f"class {task.answer}" in solved.code
            assert solved.idea
            assert set(solved.mistakes) == {one.message for one in task.mistakes}
            assert html.escape(solved.code) in part
    assert not re.search(
        r":::|\{[\w:-]+\}`", re.sub(r"<script>.*?</script>|<pre>.*?</pre>", "", page, flags=re.DOTALL)
    )
    assert f"From <em>{source.TITLE}</em>, by {source.PEOPLE}." in page or f">{source.TITLE}</a>" in page
    assert 'href="https://creativecommons.org/licenses/by/4.0/"' in page
    # The formulas are drawn by what the page brings along.
    assert page.count("<script>") == 2


def test_every_exercise_that_has_points_has_an_answer(made):
    sheet = csv.DictReader(made["marking.csv"].lstrip("\N{BYTE ORDER MARK}").splitlines())
    rows = [row for row in sheet if row["minutes"]]
    told = re.findall(r"<h3>Exercise ([^:]+): (.+?)</h3>", made["answers.html"])
    assert [(row["number"], html.escape(row["title"])) for row in rows] == told
    assert {row["chapter"] for row in rows} == set(
        map(html.unescape, re.findall(r"<h2>(.+?)</h2>", made["answers.html"]))
    )
    assert "Playground" in {row["chapter"] for row in rows}


def test_whoever_asks_for_answers_keeps_them_in_the_students_notebooks(monkeypatch, tmp_path, capsys):
    asked = []
    monkeypatch.setattr(teacher, "make", lambda root, **kept: asked.append(kept) or {})
    for words in ([], ["--keep-answers"], ["--no-hints"]):
        assert teacher.main([*words, "--to", str(tmp_path)]) == 0
    assert [(one["answers"], one["hints"]) for one in asked] == [(False, True), (True, True), (False, False)]
    with pytest.raises(SystemExit):  # what looks as if it made the page of answers
        teacher.main(["--answers", "--to", str(tmp_path)])
    assert "--answers" in capsys.readouterr().err


def test_mistakes_that_most_wrong_answers_make_come_first():
    kept = [
        one for one in counts.answers(ROOT) if one.exercise == "masking-softmax" and one.status == "wrong"
    ]
    often = [sum(one.piece in message for one in kept) for message in marking.mistakes("masking-softmax")]
    assert often == sorted(often, reverse=True)
    assert often[0] > often[-1]


BOOK = [chapter for chapter in chapters.read(ROOT) if chapter.number is not None]
TEACHERS = (ROOT / "chapters/teachers.md").read_text(encoding="utf-8")


def test_a_plan_counts_what_the_chapters_hold_and_keeps_to_its_hours():
    held = {chapter.topic: lessons.lesson(ROOT, chapter) for chapter in BOOK}
    for chapter in BOOK:
        lesson, (quiz, boxes) = held[chapter.topic], offered(ROOT / f"{chapter.page}.ipynb")
        assert lesson.reading == counts.promised(ROOT / chapter.page)[0]
        assert lesson.exercises == counts.of_chapter(ROOT, chapter).task_minutes
        assert (lesson.predictions, lesson.questions) == (len(boxes), len(quiz))
        assert lesson.minutes == lesson.reading + 10 * len(boxes) + 2 * len(quiz)
    seven, fourteen = (
        lessons.weeks_of(plan, held)
        for plan in re.findall(r"^```\{counted\} plan\n(.*?)^```$", TEACHERS, re.MULTILINE | re.DOTALL)
    )
    assert (len(seven), len(fourteen)) == (7, 14)
    for plan, most in ((seven, 90), (fourteen, 180)):
        for at, week in enumerate(plan, 1):
            assert week.minutes <= most, (
                f"week {at} takes {week.minutes} minutes: move a chapter in teachers.md"
            )
    topics = [topic for week in fourteen for topic in week.topics]
    assert topics == list(held), "the plan of fourteen weeks has every chapter, in order"
    with pytest.raises(ValueError, match="no chapter has the topic 'maskin'"):
        lessons.weeks_of("maskin", held)


def test_the_plan_of_one_lesson_goes_through_the_chapter_and_stops_in_time():
    (topic,) = re.findall(r"^```\{counted\} lesson\n(.*?)\n```$", TEACHERS, re.MULTILINE)
    (chapter,) = [one for one in BOOK if one.topic == topic]
    parts = lessons.sections(ROOT, chapter)
    assert all(one.ends == after.begins for one, after in itertools.pairwise(parts))
    whole = lessons.lesson(ROOT, chapter)
    assert abs(parts[-1].ends - whole.minutes) <= 3  # a chapter's minutes are rounded to five
    assert sum(part.predictions for part in parts) == whole.predictions
    (stop,) = re.findall(r"In a single one stop after \*([^*]+)\*", TEACHERS)
    (at,) = [at for at, part in enumerate(parts) if part.heading == stop]
    assert parts[at].ends <= 47
    assert parts[at + 1].ends > 47
    assert parts[-1].ends <= 90


def test_what_students_believe_is_shaken_by_what_the_chapter_shows():
    page = (ROOT / "chapters/beliefs.md").read_text(encoding="utf-8")
    entry = r"^\{chapter-title\}`(\w+)`\n: \*\*(.+?)\*\* (.+?) \*Ask next:\* (.+)$"
    rows = re.findall(entry, page, re.MULTILINE)
    assert [topic for topic, *_ in rows] == [chapter.topic for chapter in BOOK]
    for (topic, said, shakes, asks), chapter in zip(rows, BOOK, strict=True):
        if "to write" in said:
            continue
        assert re.fullmatch(r'"[^"]+\."', said), topic
        assert re.search(r"[Ff]igure|\*Common mistakes\*", shakes), topic
        assert asks.endswith("?"), topic
        told = "\n".join(
            cell.source for cell in chapters.cells_of(ROOT / chapter.page) if cell.kind == "markdown"
        )
        numbers = re.findall(r"\d+(?:\.\d+)?", re.sub(r"\*[\d/]+\*", "", shakes))
        missing = [one for one in numbers if not re.search(rf"(?<![\d.]){re.escape(one)}(?![\d]|\.\d)", told)]
        assert missing == [], topic


def shown_text(markup):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", markup)).split())


def test_whatever_a_class_is_given_says_where_it_comes_from_and_under_which_licence(made):
    said = f"From {source.TITLE}, by {source.PEOPLE}. Text and pictures: CC BY 4.0. Code: MIT."
    assert len([name for name in made if "/" in name]) > 30
    for name, content in made.items():
        if name.endswith(".ipynb"):
            first = cells(content, "markdown")[0].source
            assert said in shown_text(re.sub(r"\[([^\]]+)\]\([^)]*\)|\*", r"\1", first)), name
            assert first.startswith("# ")
        elif name.startswith("slides/"):
            shown = re.findall(r'<section class="slide .*?</section>', content, re.DOTALL)
            assert said in shown_text(shown[0]), name
            assert said in shown_text(shown[-1]), name
            assert 'href="https://creativecommons.org/licenses/by/4.0/"' in shown[0]


def test_a_deck_names_what_else_it_carries_and_holds_the_licence_of_what_others_made(made):
    (licence,) = [one.text.read_text(encoding="utf-8") for one in licences.SHIPPED if one.name == "MathJax"]
    assert "Apache License" in licence
    seen = set()
    for name, content in made.items():
        if not name.endswith(".html"):
            continue
        tagger = "globalThis.attnlabModels ??= {}).tagger = " in content
        formulas = "MathJax.version" in content
        assert content.count(licence) == formulas, name
        if name.startswith("slides/"):
            seen |= {("tagger", tagger), ("formulas", formulas)}
            last = re.findall(r'<section class="slide source".*?</section>', content, re.DOTALL)[0]
            assert ("Natalia Silveira" in last) == tagger, name
            assert ('href="https://creativecommons.org/licenses/by-sa/4.0/"' in last) == tagger, name
            assert ("MathJax" in last) == formulas, name
            for model, owner in slides.PUBLISHED.items():
                held = model in content.replace(last, "")
                seen.add((model, held))
                assert (f'href="https://huggingface.co/{owner}/{model}"' in last) == held, name
    two = {(name, here) for name in ("tagger", *slides.PUBLISHED) for here in (True, False)}
    assert {*two, ("formulas", True)} <= seen
    assert licence in made["answers.html"]
    assert "<footer><p>This file also carries</p><ul><li>MathJax" in made["answers.html"]


def test_every_model_whose_weights_a_figure_shows_has_its_publisher():
    stored = json.loads((slides.STATIC / "inside-weights.json").read_text(encoding="utf-8"))
    assert {text["model"] for text in stored} == set(slides.PUBLISHED)
    notice = (ROOT / "src/attnbook/NOTICE").read_text(encoding="utf-8")
    assert all(f"huggingface.co/{owner}/{model}" in notice for model, owner in slides.PUBLISHED.items())


PREDICT = """:::{admonition} Predict, then look
:class: predict

Will it {term}`grow`?

<details class="answer"><summary>It grows.</summary>

No. It shrinks.

</details>
<details class="answer"><summary>It shrinks.</summary>

Yes. By $\\sqrt d$.

</details>
<details class="answer"><summary>It stays.</summary>

No.

</details>

After that, drag.
:::"""


@pytest.mark.parametrize("answers", [False, True])
def test_a_box_with_choices_is_a_question_with_notes(answers):
    figure = '<figure class="attnlab-figure" data-attnlab="tag"><table></table></figure>'
    shows = nbformat.v4.new_code_cell("f")
    shows.outputs = [nbformat.v4.new_output("execute_result", {"text/html": figure})]
    told = '<details class="saw"><summary>What you saw</summary>\n\nIt shrank.\n\n</details>'
    markdown = [nbformat.v4.new_markdown_cell(text) for text in (f"## Size\n\n{PREDICT}", told)]
    names = readers.Names([], {}, {})
    cells = [markdown[0], shows, markdown[1]]
    made = slides.of(cells, names, title="One", question="?", exercises=[], source="From *it*.")
    assert [slide.kind for slide in made] == ["title", "predict", "figure", "source"]
    assert made[0].body == '<p>?</p><p class="source">From <em>it</em>.</p>'
    assert made[1].body == (
        '<div class="asked"><p>Will it grow?</p></div>'
        '<ol class="choices"><li>It grows.</li><li>It shrinks.</li><li>It stays.</li></ol>'
    )
    for slide in made[1:3]:
        assert [re.sub(r"<[^>]+>", "", note) for note in slide.notes] == [
            "A. No. It shrinks.",
            r"B. Yes. By \(\sqrt d\).",
            "C. No.",
            "After that, drag.",
            "What you saw. It shrank.",
        ]
    assert made[2].title == "Size"
    assert made[2].body == figure
    text = teacher.students_text(PREDICT, answers=answers)
    assert ("shrinks.</summary>\n\nYes" in text) is answers
    assert ("- It grows.\n- It shrinks.\n- It stays.\n\nAfter that, drag." in text) is not answers


def test_what_somebody_changed_is_never_overwritten(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")])
    notebook.metadata["attnlab"] = {"edition": readers._digest(notebook)}
    files = {"students/a.ipynb": nbformat.writes(notebook), "marking.csv": "a", "slides/a.html": "b"}
    assert teacher.write_all(tmp_path, files) == list(files)
    assert teacher.write_all(tmp_path, files) == []
    # A notebook that was only run is nobody's work; what is no more made goes.
    notebook.cells[0].execution_count = 3
    nbformat.write(notebook, tmp_path / "students/a.ipynb")
    assert teacher.write_all(tmp_path, files | {"slides/b.html": "c"}) == [
        "students/a.ipynb",
        "slides/b.html",
    ]
    assert teacher.write_all(tmp_path, files) == []
    assert not (tmp_path / "slides/b.html").exists()
    (tmp_path / "marking.csv").write_text("mine")
    with pytest.raises(teacher.ChangedError, match=r"marking\.csv was changed by hand"):
        teacher.write_all(tmp_path, files | {"slides/a.html": "new"})
    assert (tmp_path / "slides/a.html").read_text() == "b"
    (tmp_path / "marking.csv").write_text("a")
    (tmp_path / "theirs.csv").write_text("theirs")
    with pytest.raises(teacher.ChangedError, match=r"theirs\.csv was changed by hand, or is not from here"):
        teacher.write_all(tmp_path, files | {"theirs.csv": "ours"})
    assert (tmp_path / "theirs.csv").read_text() == "theirs"


def test_git_ignores_the_folder():
    assert f"{teacher.FOLDER}/" in (ROOT / ".gitignore").read_text().splitlines()


def test_nbgrader_gets_answers_to_fill_in_and_checks_that_give_the_sheets_points(made):
    more = teacher.make(ROOT, nbgrader=True)
    assert {name: more[name] for name in made} == made
    course = {name: text for name, text in more.items() if name not in made}
    assert "ClearSolutions.enabled = False" in course.pop("nbgrader/nbgrader_config.py")
    sheet = list(csv.DictReader(made["marking.csv"].removeprefix("\N{BYTE ORDER MARK}").splitlines()))
    points, names = [], []
    for name, text in course.items():
        stem = Path(name).stem
        assert name == f"nbgrader/source/{stem}/{stem}.ipynb"
        theirs, mine = cells(made[f"students/{stem}.ipynb"]), cells(text)
        for before, cell in zip(theirs, mine, strict=True):
            given, role = cell.metadata.pop("nbgrader", None), cell.metadata.get("role")
            assert (given is None) == (role is None)
            if role is None or role == "stub":
                assert cell == before
            if role is None:
                continue
            checks = role == "check"
            assert (given["grade"], given["locked"], given["solution"]) == (checks, checks, not checks)
            assert given["schema_version"] == 3
            assert given["task"] is False
            names.append(given["grade_id"])
            if checks:
                points.append(given["points"])
                exercise, answer = re.search(r'"([\w-]+)", (\w+)\)$', before.source).groups()
                assert exercise == cell.metadata["exercise"]
                assert names[-2:] == [exercise, f"{exercise}-check"]
                shown, seen = cell.source.split("\n### BEGIN HIDDEN TESTS\n")
                assert shown == before.source
                asked = f'judge("{exercise}", {answer}).status == "right"\n### END HIDDEN TESTS'
                assert seen.endswith(asked)
    assert len(names) == len(set(names)) == 2 * len(EXERCISES | OTHERS)
    assert points == [int(row["points"]) for row in sheet if row["minutes"]]


@pytest.mark.parametrize(("answer", "right"), [("lambda s, m: s.softmax(-1)", False), (None, True)])
def test_what_is_hidden_behind_a_check_fails_where_an_answer_is_wrong(answer, right):
    (path,) = (path for path in PATHS if path.stem.endswith("_masking"))
    page = cells(path.read_text(), "code")
    (solution,) = [
        cell.source.partition("\n\n\ncheck")[0]
        for cell in page
        if cell.metadata.get("role") == "solution" and cell.metadata["exercise"] == "masking-softmax"
    ]
    space = {}
    exec(f"import torch\nmasked_softmax = {answer}" if answer else f"import torch\n{solution}", space)
    judged = graded.hidden("masking-softmax", 'check("masking-softmax", masked_softmax)')
    if right:
        exec(judged, space)
    else:
        with pytest.raises(AssertionError):
            exec(judged, space)


def test_points_that_are_too_few_are_refused():
    (path,) = (path for path in PATHS if path.stem.endswith("_masking"))
    page = nbformat.read(ROOT / "notebooks" / path.name, as_version=4)
    with pytest.raises(ValueError, match="not as many points as checks"):
        graded.graded(page, [1])
