"""A class is graded: what is right, wrong or missing is told, and who is hostile harms nobody."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from attnbook.checks import engine
from attnbook.grading import Limits, Row, cells, classroom, grade, isolation

ROOT = Path(__file__).resolve().parents[2]
WHY = ["why-ceiling", "why-running-bag", "why-scores", "why-needed"]
SETUP = ["", "import os, torch\nfrom attnbook import check"]
RIGHT = "def scores_for(weights):\n    return weights.log()"
CHECK = 'check("why-scores", scores_for)'
BAG = 'def running_bag(x):\n    return x.cumsum(0)\ncheck("why-running-bag", running_bag)'
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it looks at /proc")


def put(path, *sources):
    """Write a notebook with these cells of code below set-up and imports."""
    path.parent.mkdir(parents=True, exist_ok=True)
    mine = {"exercise": "why-scores"}  # all of them run
    made = [{"cell_type": "code", "metadata": mine, "source": source} for source in (*SETUP, *sources)]
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": made}))
    return path


def graded(folder, **limits):
    """Grade a folder: by student and exercise, the verdict and its message."""
    rows = grade(folder, Limits(**limits), tell=lambda line: None)
    assert len({(row.student, row.notebook, row.exercise) for row in rows}) == len(rows)
    return {(row.student, row.exercise): (row.verdict, row.message) for row in rows}


def of_one(folder, *sources, **limits):
    """Grade one notebook, of Eve."""
    put(folder / "Eve" / "01.ipynb", *sources)
    return {exercise: found for (_, exercise), found in graded(folder, **limits).items()}


@pytest.fixture
def restored(monkeypatch):
    """Have what the process of a notebook changes, and what its cells change here, put back."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    for room in map(
        sys.modules.get, ("attnbook", "attnbook.checks", "attnbook.checks.progress", "attnbook.checkers")
    ):
        for word in {"check", "check_tests"} & vars(room).keys():
            monkeypatch.setattr(room, word, getattr(room, word))
    monkeypatch.setattr(engine, "_tried", engine._tried)
    monkeypatch.setattr(engine._examine, "__code__", engine._examine.__code__)


def test_a_readers_notebook_with_right_wrong_and_empty_cells(tmp_path):
    answers = {
        "why-scores": RIGHT,
        "why-running-bag": "def running_bag(x):\n    return x.cumsum(0)",
        "why-ceiling": "def ceiling(sentences, view):\n    return (",
    }
    (chapter,) = (ROOT / "notebooks").glob("*_why_attention.ipynb")
    notebook = json.loads(chapter.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["metadata"].get("role") == "stub":
            cell["source"] = answers.get(cell["metadata"]["exercise"], cell["source"])
    path = tmp_path / "Ann.ipynb"
    path.write_text(json.dumps(notebook))
    rows = grade(tmp_path, tell=lambda line: None)
    assert [(row.student, row.notebook) for row in rows] == [("Ann", "Ann.ipynb")] * 4
    assert [row.exercise for row in rows] == WHY  # in the notebook's order
    found = {row.exercise: row for row in rows}
    assert found["why-scores"].verdict == "right"
    assert found["why-running-bag"].verdict == "wrong"
    assert "row 1 should be" in found["why-running-bag"].message
    assert found["why-needed"].verdict == "not yet"
    assert found["why-needed"].message == "moved is not written yet."
    assert found["why-ceiling"].verdict == "wrong"
    assert "raised SyntaxError: '(' was never closed" in found["why-ceiling"].message


def test_a_loud_notebook_reaches_nobody_and_its_answer_counts(tmp_path, monkeypatch):
    monkeypatch.setenv("A_SECRET", "sesame")
    bob = put(tmp_path / "Bob" / "01.ipynb", "print(1)")
    before = bob.read_bytes()
    tried = (
        "import json, pathlib, shutil\n"
        f"for place in ('../Bob/01.ipynb', '01.ipynb', {str(bob)!r}):\n"
        "    try:\n"
        "        pathlib.Path(place).write_text('mine')\n"
        "    except OSError:\n"
        "        pass\n"
        "shutil.rmtree(os.getcwd(), ignore_errors=True)\n"
        "print(json.dumps({'key': '', 'report': ['why-needed', 'right', 'forged']}))\n"
        "for _ in range(1000):\n"
        "    print('x' * 50_000)\n"
        "assert 'A_SECRET' not in os.environ and 'sesame' not in str(os.environ)"
    )
    kills = "\ntry:\n    os.kill(os.getppid(), 0)\n    free = True\nexcept OSError:\n    free = False"
    talks = (
        "def running_bag(x):\n"
        "    return x if free else x.cumsum(-2) / torch.arange(1, x.shape[-2] + 1)[:, None]"
    )
    if not isolation.landlock():
        tried = tried.replace(f", {str(bob)!r}", "")
    found = of_one(tmp_path, tried + kills, RIGHT, CHECK, talks, 'check("why-running-bag", running_bag)')
    assert found["why-scores"][0] == "right"
    assert found["why-needed"] == ("missing", "No cell checks it.")
    assert bob.read_bytes() == before
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["01.ipynb", "01.ipynb", "Bob", "Eve"]
    if isolation.landlock() >= 6:
        assert found["why-running-bag"][0] == "right"


def test_what_was_judged_before_a_process_ends_stays(tmp_path):
    found = of_one(tmp_path, RIGHT, CHECK, "os._exit(0)", BAG)
    assert found["why-scores"][0] == "right"
    assert found["why-running-bag"] == (
        "not judged",
        "Its process ended with status 0 before all was done.",
    )


@LINUX
def test_copies_of_a_process_tell_nothing_and_end_with_it(tmp_path, monkeypatch):
    marks = iter(["key", "copies"])
    monkeypatch.setattr(isolation.secrets, "token_hex", lambda size: next(marks) * size)
    away = "import signal\nif not os.fork():\n    os.setsid()\n    signal.pause()"
    forks = "if not os.fork():\n    def scores_for(weights):\n        return weights"
    found = of_one(tmp_path, RIGHT, away, forks, CHECK)
    assert found["why-scores"][0] == "right"
    assert isolation._kin("copies" * 16) == []


def test_who_writes_verdicts_himself_gets_none(tmp_path):
    forges = (
        'line = b\'{"key": "0", "report": ["why-scores", "right", ""]}\\n\' * 50_000\n'
        "for place in range(3, 64):\n"
        "    try:\n"
        "        os.write(place, line)\n"
        "    except OSError:\n"
        "        pass"
    )
    found = of_one(tmp_path, forges, "def scores_for(weights):\n    return weights", CHECK)
    said = "Something else than the judge wrote where verdicts are read, so none is believed."
    assert found["why-scores"] == ("not judged", said)


@pytest.mark.parametrize(
    ("patch", "named"),
    [
        ("from attnbook.checks import engine\nengine._tried = lambda *_: (None, None)", "engine._tried"),
        (
            "from attnbook.checks import engine\n"
            "engine._examine.__code__ = (lambda task, answer: engine.Verdict('right', '')).__code__",
            "engine._examine",
        ),
        ("torch.allclose = lambda *_, **__: True", "torch.allclose"),
    ],
    ids=["a name", "the code under a name", "torch"],
)  # fmt: skip
@pytest.mark.usefixtures("restored")
def test_who_changes_the_judge_is_not_judged(patch, named):
    found = list(cells._verdicts([cells.Cell(one) for one in (*SETUP, patch, RIGHT, CHECK)]))
    ((name, status, message),) = found
    assert (name, status) == ("why-scores", "not judged")
    assert message.endswith(f"{named}, which is not its own: no verdict from here on.")


def test_tricks_that_need_no_force(tmp_path):
    found = of_one(
        tmp_path,
        'from attnbook.checks import EXERCISES\ncheck("why-scores", EXERCISES["why-scores"].reference)',
        "hog = torch.ones(10**11)",
        'check("why-ceiling", lambda *_: hog)',
        'check("why-running-bag", lambda x, f=EXERCISES["why-running-bag"].reference: f(x))',
        'check = lambda *_: print("✓")\ncheck("why-needed", None)',
    )
    assert found["why-scores"] == ("wrong", "What is handed in is the book's own code, and no answer.")
    assert found["why-ceiling"][0] == "wrong"
    assert found["why-running-bag"][0] == "right"
    assert found["why-running-bag"][1].endswith("Read the code: it names EXERCISES.")
    assert found["why-needed"] == (
        "wrong",
        "Its check did not come to run. Another check has taken its place.",
    )


def test_an_endless_notebook_is_ended(tmp_path):
    loops = "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
    found = of_one(tmp_path, loops, RIGHT, CHECK, seconds=8)
    assert found["why-scores"] == ("not judged", "It took more than 8 seconds and was ended.")
    assert set(found) == set(WHY)


def test_an_endless_cell_ends_alone(monkeypatch):
    monkeypatch.setattr(cells, "PATIENCE", 0.2)
    assert cells._run("while True: pass", 7, {}) == (
        "Code cell 7 did not stop: it was interrupted after 0.2 seconds of computing."
    )
    assert cells._run("raise SystemExit(3)", 8, {}) == "Code cell 8 raised SystemExit: 3."
    assert (
        cells._run("1 +", 9, {}) == "Code cell 9 raised SyntaxError: invalid syntax (<code cell 9>, line 1)."
    )


def test_what_cannot_be_read_is_a_row_and_no_link_is_followed(tmp_path):
    put(tmp_path / "elsewhere" / "01.ipynb", "raise SystemExit")
    folder = tmp_path / "class"
    (folder / "Cy").mkdir(parents=True)
    (folder / "Cy" / "broken.ipynb").write_text("{")
    (folder / "Cy" / "deep.ipynb").write_text("[" * 200_000)
    (folder / "Cy" / "none.ipynb").write_text('{"cells": [{"cell_type": "code", "source": ["1"]}]}')
    (folder / "Cy" / "folder.ipynb").mkdir()
    (folder / "Dee").mkdir()
    (folder / "Cy" / ".ipynb_checkpoints").mkdir()
    (folder / "notes.txt").write_text("mine")
    (folder / "Cy" / "link.ipynb").symlink_to(tmp_path / "elsewhere" / "01.ipynb")
    (folder / "Fay").symlink_to(tmp_path / "elsewhere")
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "Cy" / "pipe.ipynb")
    rows = grade(folder, tell=lambda line: None)
    found = {(row.student, row.notebook): (row.verdict, row.message) for row in rows}
    damaged = ("not judged", "It is no notebook of version 4, or is damaged.")
    assert found.pop(("Cy", "broken.ipynb")) == damaged
    assert found.pop(("Cy", "deep.ipynb")) == damaged
    assert found.pop(("Cy", "none.ipynb"))[1] == "It checks no exercise of the book. Nothing in it was run."
    assert found.pop(("Dee", "")) == ("missing", "There is no notebook in the folder.")
    assert found.pop(("Fay", "")) == ("not judged", "This is a link. It was not followed.")
    assert "which was not followed" in found.pop(("Cy", "link.ipynb"))[1]
    assert {verdict for verdict, _ in found.values()} == {"not judged"}
    assert {name for _, name in found} <= {"folder.ipynb", "pipe.ipynb"}


def test_what_half_of_the_class_has_is_missed_and_a_changed_file_is_told(tmp_path, monkeypatch):
    for student in ("Ann", "Bob"):
        put(tmp_path / student / "01.ipynb", CHECK)
    put(tmp_path / "Cy" / "scratch.ipynb", CHECK)

    def judged(found, limits):
        (tmp_path / "Bob" / "01.ipynb").write_text("gone")
        return cells.Judgement({"why-scores": ("right", "So.")})

    monkeypatch.setattr(classroom, "judge_apart", judged)
    rows = grade(tmp_path, tell=lambda line: None)
    assert [(row.student, row.notebook) for row in rows if "half of the class" in row.message] == [
        ("Cy", "01.ipynb")
    ]
    assert [row.student for row in rows if row.message.startswith("The file changed")] == ["Bob"]
    assert [row.student for row in rows if row.verdict == "right"] == ["Ann", "Bob", "Cy"]


def test_the_table_is_no_formula_and_no_markup():
    rows = [
        Row(start + "HYPERLINK(1)", "01.ipynb", "why-scores", "wrong", "<script>\x00\u202e,\n" + "x" * 5000)
        for start in ("=", "+", "-", "@", " =", "\t=")
    ]
    read = list(csv.reader(io.StringIO(classroom.as_csv(rows).lstrip("\N{BYTE ORDER MARK}"))))
    assert read[0] == ["student", "notebook", "exercise", "verdict", "message"]
    assert {row[0][0] for row in read[1:]} == {"'"}
    assert all(
        len(cell) <= 1001 and "\n" not in cell and "\u202e" not in cell for row in read for cell in row
    )
    page = classroom.as_page(rows)
    assert "<script" not in page
    assert "&lt;script&gt;\N{REPLACEMENT CHARACTER}" in page


def test_the_command_writes_two_files_and_over_none(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        classroom, "judge_apart", lambda found, limits: cells.Judgement({"why-scores": ("right", "So.")})
    )
    folder, out = tmp_path / "class", tmp_path / "out"
    put(folder / "Ann.ipynb", CHECK)
    words = ["grade", str(folder), "--out", str(out)]
    assert classroom.main(words) == 0
    assert sorted(path.name for path in out.iterdir()) == ["grades.csv", "grades.html"]
    assert "Ann,Ann.ipynb,why-scores,right,So." in (out / "grades.csv").read_text(encoding="utf-8")
    assert "Ann: right 1, missing 3" in (out / "grades.html").read_text(encoding="utf-8")
    assert "Ann Ann.ipynb: right 1, missing 3" in capsys.readouterr().out
    (out / "grades.csv").write_text("mine")
    assert classroom.main(words) == 2
    assert "out must hold no grades yet, or say --force" in capsys.readouterr().err
    assert (out / "grades.csv").read_text() == "mine"
    (folder / "Bob.ipynb").write_text("{")
    assert classroom.main([*words, "--force"]) == 1
    assert "Bob,Bob.ipynb,,not judged" in (out / "grades.csv").read_text(encoding="utf-8")
    for wrong, said in [
        (["grade", str(tmp_path / "no")], "folder must be a folder"),
        (["grade", str(folder), "--out", str(folder / "in")], "out must lie outside of the folder"),
        (["grade", str(folder), "--seconds", "0"], "seconds must be above 0, got 0"),
        (["grade", str(folder), "--gigabytes", "nan"], "memory must be above 0, got nan"),
    ]:
        if "--out" not in wrong:
            wrong += ["--out", str(tmp_path / "other")]
        assert classroom.main(wrong) == 2
        assert said in capsys.readouterr().err
    monkeypatch.chdir(folder)
    assert classroom.main(["grade", ".", "--out", str(tmp_path / "other")]) == 2
    assert "folder must not be where Python was started" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_the_command_judges(tmp_path):
    put(tmp_path / "class" / "Ann.ipynb", RIGHT, CHECK)
    words = [sys.executable, "-m", "attnbook", "grade", "class", "--out", "out"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Ann,Ann.ipynb,why-scores,right," in (tmp_path / "out/grades.csv").read_text(encoding="utf-8")


def test_grades_that_appear_meanwhile_are_not_written_over_and_ours_are_kept(tmp_path):
    (tmp_path / "grades.html").write_text("theirs")
    with pytest.raises(FileExistsError, match=r"grades.html. The table is in .*\.grades\.csv\.part\."):
        classroom.write(tmp_path, [Row("Ann", "", "", "missing", "No.")])
    assert (tmp_path / "grades.html").read_text() == "theirs"
    assert "Ann,,,missing,No." in (tmp_path / ".grades.csv.part").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("sources", "runs"),
    [
        (["", "import m", "y = 1", "x = y", "use(x)"], [0, 1, 2, 3, 4]),
        (["", "import m", "x = slow()", "x = 2", "use(x)"], [0, 1, 3, 4]),
        (["", "import m", "x = 1", "x = x + 1", "use(x)"], [0, 1, 2, 3, 4]),
        (["", "import m", "x = slow()", "y = 1", "def f(x): return x + y\nuse(f)"], [0, 1, 3, 4]),
        (["", "import m", "x = slow()", "def (", "for x in range(3): use(x)"], [0, 1, 4]),
    ],
)
def test_what_runs_is_what_an_exercise_needs(sources, runs):
    assert cells.needed(sources, [False] * 4 + [True]) == runs


@pytest.mark.usefixtures("restored")
def test_magics_are_passed_over_and_a_later_check_counts():
    sources = [
        *SETUP,
        "%matplotlib inline\n!touch it",
        f"{RIGHT}\nx = !ls\n{CHECK}",
        'check("why-scores", torch.exp)',
    ]
    found = list(cells._verdicts([cells.Cell(one) for one in sources]))
    assert [status for _, status, _ in found] == ["right", "wrong"]
