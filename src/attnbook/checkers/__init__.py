"""Exercises in which the reader is the checker: a test is written, and tried on right and on broken code.

A page calls `check_tests("testing-mask", test_mask)` after its exercise. A task is data: right code in some
styles, and broken code as a change of a few words in it, with what people get wrong and where it was seen.

>>> import torch
>>> given = torch.ones(2, 3), torch.ones(4, 3), torch.ones(4, 5), torch.ones(2, 4, dtype=torch.bool)
>>> def test_mask(attention):
...     return attention(*given).shape == (2, 5)
>>> board = check_tests("testing-mask", test_mask)  # doctest: +ELLIPSIS
✗ 0 of 22 broken ones refused; all 4 right ones pass. To look at ...
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from attnbook.checkers.board import Board
from attnbook.checkers.judging import caught, judge
from attnbook.checkers.tasks import CHECKERS, Task, known
from attnbook.checks.cells import uncompiled
from attnbook.checks.progress import note
from attnbook.checks.verdict import publish

__all__ = ["CHECKERS", "Board", "Task", "caught", "check_tests", "judge", "known"]


def check_tests(name: str, tests: Any) -> Board:
    """Try a test on right and on broken code, and show the board.

    Args:
        name: the exercise's name.
        tests: the reader's test: a function of the code. It returns True or None where the code is right,
            and returns False or raises where it is wrong.

    Returns:
        The board: `look` shows what a survivor gives, and `show_line` what is wrong with it.

    Raises:
        ValueError: there is no exercise of that name.

    >>> def test_rotary(rotate):
    ...     "Nothing yet."
    >>> board = check_tests("testing-rotary", test_rotary)
    ○ test_rotary is not written yet.
    """
    board = judge(name, tests)
    older = uncompiled(tests, known(name).answer)
    if older and board.trouble:
        board = replace(board, trouble=f"{older} {board.trouble}")
    elif older:
        print(older)
    if board.status != "not yet":
        note(name, board.status == "right")
    publish(board)
    return board
