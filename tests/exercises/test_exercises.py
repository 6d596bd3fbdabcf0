"""Every checker refuses its wrong answers with the fitting message and accepts the chapter's own solution."""

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))

import answers
from equal import EQUAL, LEADING, STYLES
from machines import REWRITINGS, einsum_product, mutants, over_batches, with_einsum
from stored import CHECKS, SOLUTIONS, STUBS, run

from attnbook.checks import EXERCISES, engine, judge, running
from attnbook.checks.engine import accepts
from attnbook.checks.exercise import OTHERS

NAMES = sorted(EXERCISES)


@pytest.fixture(autouse=True)
def _little_patience(monkeypatch):
    # Computing time, not time on the clock: a busy machine changes nothing.
    monkeypatch.setattr(running, "PATIENCE", 0.5)


def test_chapters_checkers_and_answers_name_the_same_exercises():
    answered = {one.exercise for one in answers.load()}
    there = set(EXERCISES) | set(OTHERS)
    assert there == set(STUBS) == set(SOLUTIONS) == set(CHECKS)
    assert set(EXERCISES) == answered


@pytest.mark.parametrize("name", NAMES)
def test_there_are_wrong_answers(name):
    given = [one for one in answers.load() if (one.exercise, one.status) == (name, "wrong")]
    assert len(given) >= 4


@pytest.mark.parametrize("name", NAMES)
def test_every_mistake_is_refused_and_named(name):
    task = EXERCISES[name]
    told = Counter(one.message for one in task.mistakes)
    for one in task.mistakes:
        if told[one.message] == 1:  # that it is told is shown by an answer of another hand (test_answers)
            assert not accepts(task, one.does), one.message
            continue
        verdict = judge(name, one.does)
        assert verdict.status == "wrong", one.message
        assert one.message in verdict.message, f"{one.message}\n{verdict.message}"


@pytest.mark.parametrize("name", NAMES)
def test_the_solution_in_the_chapter_is_accepted(name):
    verdict = judge(name, run(SOLUTIONS[name])[EXERCISES[name].answer])
    assert verdict.status == "right", verdict.message


@pytest.mark.parametrize("name", NAMES)
def test_the_solution_needs_a_third_of_its_tolerance_at_most(name, monkeypatch):
    # Another processor rounds in another way, and a right answer is right there, too.
    whole = engine._tolerance

    def third(*arguments):
        tolerance = whole(*arguments)
        return replace(tolerance, absolute=tolerance.absolute / 3, relative=tolerance.relative / 3)

    monkeypatch.setattr(engine, "_tolerance", third)
    assert accepts(EXERCISES[name], run(SOLUTIONS[name])[EXERCISES[name].answer])


@pytest.mark.parametrize("name", NAMES)
def test_no_mutant_of_the_solution_passes(name):
    task, alive = EXERCISES[name], set()
    for what, source in mutants(SOLUTIONS[name]).items():
        try:
            answer = run(source)[task.answer]
        except Exception:
            continue
        if accepts(task, answer):
            alive.add(what)
    # No more than listed. What is listed need not pass everywhere: where rounding decides, processors differ.
    assert alive <= set(EQUAL.get(name, {})), alive - set(EQUAL.get(name, {}))


@pytest.mark.parametrize("name", EQUAL)
def test_what_may_be_equal_is_still_a_mutant_of_the_solution(name):
    assert set(EQUAL[name]) <= set(mutants(SOLUTIONS[name]))


@pytest.mark.parametrize("name", NAMES)
def test_the_solution_in_other_words_passes(name):
    task = EXERCISES[name]
    task = replace(task, cases=[one for one in task.cases if not one.late])  # a style has no size
    answer = run(SOLUTIONS[name])[task.answer]
    styles = {title: change(answer) for title, change in REWRITINGS.items()}
    styles["einsum"] = run(with_einsum(SOLUTIONS[name]), einsum_product=einsum_product)[task.answer]
    for road in ("a loop", "vmap") if name in LEADING else ():
        styles[f"a batch by {road}"] = over_batches(answer, LEADING[name], road)
    refused = {title for title, other in styles.items() if not accepts(task, other)}
    assert refused <= set(STYLES.get(name, {}))


@pytest.mark.parametrize("name", NAMES)
def test_the_unwritten_stub_is_said_to_be_unwritten(name):
    answer = EXERCISES[name].answer
    assert str(judge(name, run(STUBS[name])[answer])) == f"○ {answer} is not written yet."


@pytest.mark.parametrize("name", NAMES)
def test_the_check_cell_calls_its_own_checker(name):
    assert f'check("{name}", {EXERCISES[name].answer})' in CHECKS[name]


def exits(*_):
    sys.exit("gone")


def breaks(*_):
    raise ZeroDivisionError("by zero")


def items(*_):
    yield from ("one", "two")


ODD = (
    *("text", 1, {}, [], None, Ellipsis, True, float("nan"), 1j, [1, 2], [None], [(9, 9)], [(0, 3, 0.5)]),
    *({"a": None}, {"√d": 1}, print, object(), np.ones(3), np.array("x")),
    *(
        (torch.ones(2), torch.ones(2)),
        torch.tensor(True),
        torch.ones(3, 3) > 0,
        torch.ones(0),
        torch.tensor(1.0),
    ),
    *(torch.eye(3).to_sparse(), torch.ones(2, device="meta"), torch.ones(2) * 1j),
)


@pytest.mark.parametrize("name", NAMES)
def test_answers_of_the_wrong_kind_are_refused_and_nothing_escapes(name):
    for odd in (
        *((lambda *_, odd=odd: odd) for odd in ODD),
        lambda: 0,
        lambda a, b, c, d, e, f, g, h, i: 0,
        exits,
        items,
    ):
        verdict = judge(name, odd)
        assert verdict.status == "wrong", verdict.message
        assert " at 0x" not in verdict.message
    assert (
        "it raised ZeroDivisionError: by zero, in the line `raise ZeroDivisionError"
        in judge(name, breaks).message
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_boolean_of_the_right_shape_is_a_verdict(name):
    task = EXERCISES[name]

    def boolean(*arguments):
        found = task.reference(*arguments)
        return found > 0 if isinstance(found, torch.Tensor) and found.is_floating_point() else None

    assert judge(name, boolean).status == "wrong"


def test_a_checker_needs_a_name_it_knows_and_a_function():
    with pytest.raises(ValueError, match=r"name must be one of .*why-running-bag.* got 'no-such'"):
        judge("no-such", print)
    assert "without brackets behind it; it got 3" in judge("why-scores", 3).message
