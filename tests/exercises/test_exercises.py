"""Every checker refuses its wrong answers with the fitting message and accepts the chapter's own solution."""

from pathlib import Path

import nbformat
import pytest

from attnlab.checks import EXERCISES, check, judge

HERE = Path(__file__).parent
CHAPTERS = HERE.parents[1] / "chapters"
WRONG = sorted(HERE.glob("*/wrong_*.py"))


def run(source: str) -> dict:
    """Execute one answer as a notebook would, with what its chapter imports."""
    space: dict = {}
    exec("import torch\nfrom fractions import Fraction\nfrom attnlab.checks import check\n", space)
    exec(source, space)
    return space


def cells(role: str) -> dict[str, str]:
    """Collect the code of the cells with this role, by exercise, from every chapter."""
    found: dict[str, str] = {}
    for path in sorted(CHAPTERS.glob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.metadata.get("role") == role:
                name = cell.metadata["exercise"]
                assert name not in found, f"{name} has two {role} cells"
                found[name] = cell.source
    return found


STUBS, SOLUTIONS, CHECKS = cells("stub"), cells("solution"), cells("check")


def test_chapters_checkers_and_wrong_answers_name_the_same_exercises():
    folders = {path.name for path in HERE.iterdir() if list(path.glob("wrong_*.py"))}
    assert set(EXERCISES) == set(STUBS) == set(SOLUTIONS) == set(CHECKS) == folders


@pytest.mark.parametrize("name", sorted(EXERCISES))
def test_between_four_and_six_wrong_answers(name):
    assert 4 <= len(list((HERE / name).glob("wrong_*.py"))) <= 6


@pytest.mark.parametrize("path", WRONG, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_wrong_answer_is_refused_with_the_message_that_fits(path):
    first, _, source = path.read_text().partition("\n")
    assert first.startswith("# expect: ")
    exercise = EXERCISES[path.parent.name]
    verdict = judge(exercise.name, run(source)[exercise.answer])
    assert verdict.status == "wrong"
    assert first.removeprefix("# expect: ") in verdict.message


@pytest.mark.parametrize("name", sorted(EXERCISES))
def test_the_solution_in_the_chapter_is_accepted(name):
    verdict = judge(name, run(SOLUTIONS[name])[EXERCISES[name].answer])
    assert verdict.status == "right", verdict.message


@pytest.mark.parametrize("name", sorted(EXERCISES))
def test_the_unwritten_stub_is_said_to_be_unwritten(name):
    assert judge(name, run(STUBS[name])[EXERCISES[name].answer]).status == "not yet"


@pytest.mark.parametrize("name", sorted(EXERCISES))
def test_the_check_cell_calls_its_own_checker(name):
    assert f'check("{name}", {EXERCISES[name].answer})' in CHECKS[name]


@pytest.mark.parametrize("name", sorted(EXERCISES))
def test_answers_of_the_wrong_kind_are_refused_and_nothing_escapes(name):
    for odd in (lambda *_: "text", lambda *_: 1, lambda *_: {}, lambda *_: [], lambda: 0):
        assert judge(name, odd).status == "wrong"

    def breaks(*_):
        raise ZeroDivisionError("by zero")

    assert "It raised ZeroDivisionError: by zero" in judge(name, breaks).message


def test_a_checker_needs_a_name_it_knows_and_a_function():
    with pytest.raises(ValueError, match=r"name must be one of costs-count, .* got '99-none'"):
        judge("99-none", print)
    with pytest.raises(TypeError, match="answer must be your function mix, got int"):
        check("why-mixture", 3)
