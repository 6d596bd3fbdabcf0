"""Judge a reader's test: what it refuses, what it lets pass, and why right code is right all the same."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from attnbook.checkers import handing
from attnbook.checkers.board import Board, Judged
from attnbook.checkers.candidates import Candidate
from attnbook.checkers.tasks import Task, known
from attnbook.checks import running
from attnbook.checks.running import Outcome
from attnbook.checks.values import describe

SEEDS = (0, 1, 2)
"""A test that draws numbers is tried with each. Broken code is refused where it is refused with all."""
BUDGET = 2.0
"""Seconds of computing that a test may take for each piece of code."""
LONGEST = 20.0
"""Seconds on the clock after which a test that hardly computes counts as waiting, all pieces together."""
ROOM = 2 * 1024**3
"""Bytes that it may take for it."""


@dataclass
class Tried:
    """One run of the test: whether it refused the code, why, and what ends the judgement, if anything."""

    refused: bool
    why: str = ""
    ends: str = ""


@running.kept()
def judge(name: str, tests: Any) -> Board:
    """Try a test on right and on broken code.

    Args:
        name: the exercise's name.
        tests: the reader's test: a function of the code. It returns True or None where the code is right,
            and returns False or raises where it is wrong.

    Returns:
        The board. Whatever the test does ends in one, never in an exception.

    Raises:
        ValueError: there is no exercise of that name.

    >>> board = judge("testing-scaling", lambda attention: True)
    >>> board.status, board.refused
    ('wrong', 0)
    """
    task = known(name)
    if not callable(tests):
        got = describe(tests)
        itself = f"It needs your test itself, {task.answer}, without brackets behind it; it got {got}."
        return Board(task, trouble=itself)
    if running.unwritten(tests):
        return Board(task, trouble=f"{task.answer} is not written yet.", written=False)
    misfit = running.misfit(tests, ["the code"], 1)
    if misfit:
        return Board(task, trouble=misfit)
    named = handing.suspicious(tests)
    if named:
        return Board(task, trouble=_refused(f"It names {named}."))
    judged: dict[str, Judged] = {}
    clock, computed = time.monotonic(), time.process_time()
    for seed in SEEDS:
        waiting = [one for one in task.candidates if one.code not in judged]
        random.SystemRandom().shuffle(waiting)  # a test that counts its calls tells nothing
        for one in waiting:
            tried = _tried(task, one, tests, seed)
            if tried.ends:
                return Board(task, trouble=tried.ends)
            passed, used = time.monotonic() - clock, time.process_time() - computed
            if passed > LONGEST and used < passed / 10:
                waits = f"It waits: of {passed:.0f} seconds on the clock it computed for {used:.0f}."
                return Board(task, trouble=f"{waits} Nothing was judged; a test needs no pause.")
            if tried.refused == one.right:  # once is enough: right code refused, or broken code let through
                judged[one.code] = Judged(one, tried.refused, tried.why)
    for one in task.candidates:
        judged.setdefault(one.code, Judged(one, not one.right))
    return Board(task, tuple(judged[one.code] for one in task.candidates))


def caught(name: str, tests: Callable[[Any], Any]) -> list[Candidate]:
    """List the broken candidates that a test refuses, from easy to hard.

    Args:
        name: the exercise's name.
        tests: the test.

    Raises:
        ValueError: the test refuses right code, or can't be judged, or there is no exercise of that name.

    >>> def few(attention):
    ...     return attention(*torch.ones(3, 3, 4)).mean() < 1.5
    >>> [one.name for one in caught("testing-linear", few)]
    ['not divided', 'multiplied by the sum', 'the mean']
    """
    board = judge(name, tests)
    if board.trouble or board.complaints:
        raise ValueError(f"tests must accept right code; {board.message}")
    return [one.candidate for one in board.judged if one.refused]


def _refused(what: str) -> str:
    return (
        f"{what} A test may call the code as often as it likes, and look at nothing else: not at its source, "
        "its name or what is kept around it."
    )


def _tried(task: Task, one: Candidate, tests: Callable, seed: int) -> Tried:
    """Run the test once."""
    changed: list[str] = []
    with handing.session() as session, handing.unpatched(changed), running.listening():
        handed = session.hand(one.build(task.function))
        with handing.bounded(ROOM):
            outcome = running.run(tests, lambda: {"code": handed}, seconds=BUDGET, seed=seed)
    if session.peeked:
        return Tried(True, ends=_refused(session.peeked))
    if changed:
        return Tried(
            True,
            ends=f"It changes {changed[0]}, which is not its own; that was put back. Nothing was judged.",
        )
    kind = "right" if one.right else "broken"
    if outcome.endless:
        return Tried(
            True,
            ends=f"With {kind} code it did not stop: it was ended after {BUDGET:g} seconds of computing.",
        )
    if any(
        text in outcome.trouble
        for text in ("allocate memory", "not enough memory", "MemoryError", "bad_alloc")
    ):
        return Tried(
            True,
            ends=f"With {kind} code it asks for more than {ROOM // 1024**3} GB of memory. Smaller inputs do.",
        )
    if outcome.failed:
        return Tried(True, _why(task, session, outcome) if one.right else "")
    if session.count == 0:
        return Tried(True, ends="It never calls the code, so what it says of it is no test.")
    verdict = _truth(outcome.value)
    if verdict is None:
        got = describe(outcome.value)
        return Tried(
            True,
            ends=f"It returned {got}. Where the code is right return True or nothing; else return False.",
        )
    return Tried(not verdict, "" if verdict or not one.right else _why(task, session, outcome))


def _truth(value: Any) -> bool | None:
    """Read a verdict; None where it is none."""
    if value is None:
        return True
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, Tensor) and value.dtype is torch.bool and value.numel() == 1:
        return bool(value)
    return None


def _why(task: Task, session: handing.Session, outcome: Outcome) -> str:
    """Say on which input right code was refused, and that it is right there."""
    what = outcome.trouble or "It returned False."
    what = f"Your test said no: {what[0].lower()}{what[1:]}"
    if session.last is None:
        return f"{what} It had not called the code."
    handle, call = session.last
    where = f"Its last call was with {_listed(call)}."
    try:
        want = _replayed(task, handle, call)
    except Exception:
        return f"{where} The task promises nothing for such an input. {what}"
    if call.raised:
        return f"{where} It raised {call.raised}: the task promises nothing for such an input. {what}"
    if callable(call.out):
        return f"{where} {what}"
    near, exact = _near(call.out, want)
    if not near:
        return f"{where} The task promises nothing for such an input, or not to so many digits. {what}"
    digits = "" if exact else " The last digits may differ: compare with a tolerance."
    return f"{where} What it gave there equals the definition, to rounding.{digits} {what}"


def _listed(call: handing.Call) -> str:
    """Name the arguments of a call."""
    parts = []
    for one in (*call.args, *call.kwargs.values()):
        if isinstance(one, Tensor) and one.dim():
            parts.append(f"shape {describe(one)} in {describe(one.dtype)}")
        else:
            parts.append(describe(one))
    return ", ".join(parts) or "nothing"


def _replayed(task: Task, handle: handing.Handle, call: handing.Call) -> Any:
    """What the definition gives for a call, in double precision, after the calls that came before it."""

    def wide(value: Any) -> Any:
        return value.double() if isinstance(value, Tensor) and value.is_floating_point() else value

    function = task.reference.build(task.function)
    if handle.parent is not None:
        function = function(*handle.parent.args, **handle.parent.kwargs)
        for earlier in handle.calls[: handle.calls.index(call)]:
            function(*map(wide, earlier.args))
    return function(*map(wide, call.args), **tree_map(wide, call.kwargs))


def _near(got: Any, want: Any) -> tuple[bool, bool]:
    """Say whether an output is the wanted one as far as its precision goes, and whether to the last digit."""
    if not (isinstance(got, Tensor) and isinstance(want, Tensor) and got.shape == want.shape):
        return False, False
    eps = torch.finfo(got.dtype).eps if got.is_floating_point() else 0.0
    want = want.detach()
    if not want.isfinite().all():  # where the definition itself gives no number, nothing is promised
        return False, False
    size = max(1.0, float(want.abs().max()) if want.numel() else 1.0)
    near = torch.allclose(got.double(), want, rtol=64 * eps, atol=64 * eps * size)
    return near, torch.equal(got, want.to(got.dtype))
