"""Every answer in `answers/` is judged as it is marked there, and the reader is told what the mark says."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import answers

from attnlab.checks import judge


@pytest.mark.parametrize("one", answers.load(), ids=lambda one: f"{one.exercise}/{one.title}")
def test_an_answer_is_judged_as_marked(one):
    verdict = judge(one.exercise, one.does)
    assert verdict.status == one.status, verdict.message
    assert one.piece in verdict.message, verdict.message
