"""What the tests of the exercises share."""

import pytest

from attnbook.checks import judge


@pytest.fixture
def judged():
    """Judge an answer: its status, and a piece of what the reader is told."""

    def examine(name, status, piece, answer):
        verdict = judge(name, answer)
        assert verdict.status == status, verdict.message
        assert piece in verdict.message, verdict.message

    return examine
