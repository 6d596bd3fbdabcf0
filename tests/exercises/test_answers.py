"""Every answer in `answers/` is judged as it is marked there, and the reader is told what the mark says."""

import re
import sys
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import answers

from attnbook.checks import EXERCISES, judge, running


@cache
def judged(one):
    with pytest.MonkeyPatch.context() as patch:
        if "does not stop" in one.piece:
            patch.setattr(running, "PATIENCE", 0.2)  # of computing time, not of time on the clock
        return judge(one.exercise, one.does)


@pytest.mark.parametrize("one", answers.load(), ids=lambda one: f"{one.exercise}/{one.title}")
def test_an_answer_is_judged_as_marked(one):
    verdict = judged(one)
    assert verdict.status == one.status, verdict.message
    # Where it raised, the message quotes a line of the answer, in which its own mark may stand.
    assert one.piece in re.sub(r"in the line `.*?`", "", verdict.message), verdict.message


@pytest.mark.parametrize("name", sorted(EXERCISES))
def test_every_named_mistake_is_made_by_an_answer_of_another_hand(name):
    told = [judged(one).message for one in answers.load() if (one.exercise, one.status) == (name, "wrong")]
    nobody = {
        one.message for one in EXERCISES[name].mistakes if not any(one.message in said for said in told)
    }
    assert not nobody
