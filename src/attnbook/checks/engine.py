"""Judges every exercise in one way: all cases, the promised gradients and precisions, then which mistake it is."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from attnbook.checks import running
from attnbook.checks.exercise import (
    Exercise,
    Gradient,
    Limit,
    Precisions,
    Without,
    floats,
    known,
)
from attnbook.checks.instruments import Memory, Work
from attnbook.checks.naming import dtypes, fitting
from attnbook.checks.running import Outcome
from attnbook.checks.trials import Trial, trials
from attnbook.checks.values import Difference, Tolerance, describe, difference
from attnbook.checks.verdict import Verdict

MEASURED = 60.0
"""Seconds of computing that an answer may take under instruments, which cost tens of times what it does itself."""
IN_USE = 60.0
"""Seconds of computing that an answer may take where it is put to work."""


@running.kept()
def judge(name: str, answer: Any) -> Verdict:
    """Examine an answer.

    Args:
        name: the exercise's name.
        answer: the reader's function.

    Returns:
        The verdict. Whatever the answer does is a verdict too, never an exception.

    Raises:
        ValueError: there is no exercise of that name.

    >>> judge("relevance-sparsemax", lambda scores: scores).status
    'wrong'
    """
    task = known(name)
    if not callable(answer):
        return Verdict(
            "wrong",
            f"The check needs your function itself, {task.answer}, without brackets behind it; it got "
            f"{describe(answer)}.",
            name,
        )
    if running.unwritten(answer):
        return Verdict("not yet", f"{task.answer} is not written yet.", name)
    misfit = running.misfit(answer, task.parameters, len(task.cases[0].values))
    if misfit:
        return Verdict("wrong", misfit, name)
    return _examine(task, answer)


@running.kept()
def accepts(task: Exercise, answer: Callable) -> bool:
    """Say whether an answer passes; stops at the first trial that fails. For those who try many answers."""
    return all(_tried(task, trial, answer)[1] is None for trial in trials(task))


def _examine(task: Exercise, answer: Callable) -> Verdict:
    outcomes: list[tuple[Trial, Outcome]] = []
    faults: list[tuple[Trial, Difference]] = []
    for trial in trials(task):
        if faults and trial.case.late:
            break  # they would say no more
        outcome, fault = _tried(task, trial, answer)
        outcomes.append((trial, outcome))
        if fault:
            faults.append((trial, fault))
        if outcome.endless:
            break
    verdict = _blamed(task, outcomes, faults) if faults else _used(task, answer)
    return replace(verdict, printed=_printed(outcomes))


def _printed(outcomes: list[tuple[Trial, Outcome]]) -> str:
    """What the answer printed in the first case in which it printed something."""
    texts = (f"With {trial} it printed:\n{got.printed}" for trial, got in outcomes if got.printed.strip())
    return next(texts, "")


def _blamed(
    task: Exercise, outcomes: list[tuple[Trial, Outcome]], faults: list[tuple[Trial, Difference]]
) -> Verdict:
    """Say what is wrong with an answer, from the trial in which it went wrong first."""
    trial, fault = faults[0]
    # Where the answer is wrong, most mistakes differ from it at once: those trials come first.
    wrong = {id(trial): fault for trial, fault in faults}
    telling = sorted(outcomes, key=lambda one: id(one[0]) not in wrong)
    named = (
        []
        if outcomes[-1][1].endless
        else fitting(task, telling, wrong, made=_mistaken, tolerance=_tolerance, right=_right)
    )
    hint = trial.case.hint if fault.value and not named else ""
    share = _share(outcomes, faults) if not named else ""
    text = fault.text[0].lower() + fault.text[1:]
    where = f"With {trial}: "
    if trial.leaves and not fault.text.startswith("It raised"):
        share, where = "", f"The values are right; the gradient is not. {where}"
    message = " ".join(filter(None, [*named, where + text, hint, share]))
    return Verdict("wrong", message, task.name, str(trial), fault.want, fault.got, fault.off)


def _used(task: Exercise, answer: Callable) -> Verdict:
    """Praise an answer that is right in all cases, once it has also done what it is there for."""
    praise = f"{task.praise} {_tested(task)}"
    if task.use is None:
        return Verdict("right", praise, task.name)
    with running.listening():
        outcome = running.run(task.use, lambda: {"answer": answer}, seconds=IN_USE)
    well, said = (False, outcome.trouble) if outcome.trouble else outcome.value
    if not well:
        return Verdict("wrong", f"In all cases it is right; put to work it is not. {said}", task.name)
    return Verdict("right", f"{praise} {said}", task.name)


def _tried(task: Exercise, trial: Trial, answer: Callable) -> tuple[Outcome, Difference | None]:
    """Make one call of an answer, and say what is wrong with it."""
    want = _expected(task, trial)
    # First without instruments: whether it ends is no matter of what they take, and what only a first call does, such
    # as an import or a table that is kept, is not work on these arguments. What this call prints is kept.
    started = time.process_time()
    outcome = _call(task, trial, answer)
    fault = _fault(task, trial, outcome, want)
    if fault and fault.value and trial.dtype is torch.float64 and dtypes(outcome.value) <= {trial.dtype}:
        # Whoever computes in double has made it the default: then `torch.tensor(d_k) ** 0.5` is double too.
        again = _call(task, trial, answer, default=torch.float64)
        fault = fault if _fault(task, trial, again, want) else None
    if fault is None and trial.dtype is None and not trial.leaves:
        measured = _measured(task, trial, answer, max(MEASURED, 100 * (time.process_time() - started)))
        if measured:
            measured.printed = outcome.printed
            outcome, fault = measured, _fault(task, trial, measured, want)
    return outcome, fault


def _measured(task: Exercise, trial: Trial, answer: Callable, seconds: float) -> Outcome | None:
    """Call an answer under the instruments that its promises need, where they need some."""
    limits = [p for p in task.promises if isinstance(p, Limit) and p.most(**trial.case.make()) < math.inf]
    banned = [p for p in task.promises if isinstance(p, Without)]
    if not limits and not banned:
        return None
    # Instruments take memory of their own: bytes are counted in another call.
    memory = Memory() if any(p.what == "bytes" for p in limits) else None
    if memory:
        _call(task, trial, answer, seconds=seconds, work=memory)
    work = Work() if limits or any(p.operations for p in banned) else None
    listen = tuple(f for p in banned for f in p.functions)
    outcome = _call(task, trial, answer, seconds=seconds, work=work, listen=listen)
    if work and memory:
        work.bytes = memory.bytes
    return outcome


def _call(
    task: Exercise,
    trial: Trial,
    answer: Callable,
    *,
    default: torch.dtype = torch.float32,
    seconds: float = 0.0,
    work: Work | Memory | None = None,
    listen: tuple[Callable, ...] = (),
) -> Outcome:
    """Call an answer and read what it returned."""
    with running.listening() as heard:
        outcome = running.run(
            task.around(answer),
            lambda: trial.case.make(trial.dtype),
            leaves=trial.leaves,
            work=work,
            listen=listen,
            seconds=seconds or max(running.PATIENCE, 100 * _expected(task, trial).seconds),
            seed=trial.seed,
            default=default,
        )
        if task.read and not outcome.trouble:
            try:
                outcome.value = task.read(outcome.value)
            except Exception as error:
                outcome.trouble = _unread(error, answer, outcome.value)
    outcome.printed = heard.text()
    return outcome


def _unread(error: Exception, answer: Callable, value: Any) -> str:
    """Say why a result could not be read: in the reader's words, or in those of what the result raised when used."""
    if type(error) is ValueError:
        return str(error)
    return running.said(error, answer) if callable(value) else f"It returned {describe(value)}."


@lru_cache(maxsize=4096)
def _expected(task: Exercise, trial: Trial) -> Outcome:
    """What the reference gives for a trial, computed in float64 from the very same numbers."""

    def make() -> dict[str, Any]:
        values = trial.case.make(trial.dtype)
        if not task.lift:
            return values
        return {key: value.to(torch.float64) if floats(value) else value for key, value in values.items()}

    started = time.process_time()
    outcome = running.run(task.reference, make, leaves=trial.leaves, seconds=600, seed=trial.seed)
    outcome.seconds = time.process_time() - started
    if outcome.failed or outcome.trouble:
        raise RuntimeError(f"the reference of {task.name} fails with {trial}: {outcome.trouble}")
    return outcome


def _fault(task: Exercise, trial: Trial, got: Outcome, want: Outcome) -> Difference | None:
    """What is wrong with the outcome of a trial, if anything."""
    if got.trouble:
        return Difference(got.trouble)
    arguments = trial.case.make(trial.dtype)
    found = _compared(task, trial, got.value, want.value, arguments)
    if found:
        return replace(found, value=True)
    given = dtypes(arguments)
    if any(isinstance(p, Precisions) for p in task.promises) and len(given) == 1:
        other = dtypes(got.value) - given
        if other:
            asked = "that dtype" if trial.dtype else f"the dtype of its arguments, {describe(given.pop())}"
            return Difference(f"The output should keep {asked}, it has {describe(other.pop())}.")
    for name, slope in want.slopes.items():
        found = _slopes(name, got.slopes[name], slope, _tolerance(task, trial, slope, arguments))
        if found:
            return found
    overdone = _overdone(task, trial, got)
    return Difference(overdone) if overdone else None


def _right(task: Exercise, trial: Trial, got: Outcome) -> bool:
    """Say whether the values of an outcome are those of the reference, whatever its gradients are."""
    want = _expected(task, trial).value
    return not got.trouble and _compared(task, trial, got.value, want, trial.case.make(trial.dtype)) is None


def _overdone(task: Exercise, trial: Trial, got: Outcome) -> str:
    """What to say about a call that was promised away, or work beyond a limit; empty where there is neither."""
    for promise in task.promises:
        if isinstance(promise, Without):
            names = {getattr(one, "__name__", one) for one in promise.functions}
            used = [name for name in got.called if name in names]
            used += [name for name in promise.operations if got.work and got.work.calls[name]]
            if used:
                return f"{promise.message} (It called {used[0]}.)"
        if isinstance(promise, Limit) and got.work:
            count, most = getattr(got.work, promise.what), promise.most(**trial.case.make(trial.dtype))
            if count > most:
                return f"{promise.message} (It took {count:,.0f}, at most {most:,.0f} are needed.)"
    return ""


def _compared(
    task: Exercise, trial: Trial, got: Any, want: Any, arguments: dict[str, Any]
) -> Difference | None:
    if task.compare:
        try:
            found = task.compare(got, want, **arguments)
        except Exception:
            # A comparer that meets a kind of result nobody thought of: the plain comparison says what it is.
            found = difference(got, want) or Difference(
                f"It returned {describe(got)}, which can't be judged."
            )
        return Difference(found) if isinstance(found, str) else found
    return difference(got, want, _tolerance(task, trial, want, arguments))


def _slopes(name: str, got: Tensor | None, want: Tensor | None, within: Tolerance) -> Difference | None:
    if want is None or (got is None and not want.any()):
        return None
    if got is None:
        return Difference(f"No gradient reaches {name}: something on the way was detached or made anew.")
    if got.isnan().any() and not want.isnan().any():
        return Difference(f"The gradient of {name} is NaN.")
    return difference(got, want, within, f"The gradient of {name}")


def _tolerance(task: Exercise, trial: Trial, want: Any, arguments: dict[str, Any]) -> Tolerance:
    """As much as rounding in the arguments' precision explains, and a little more."""
    if task.within and not trial.dtype:
        return task.within
    given = {x.dtype for x in arguments.values() if isinstance(x, Tensor) and x.is_floating_point()}
    if not given and not (isinstance(want, Tensor) and want.is_floating_point()):
        return Tolerance(1e-9, 1e-6)
    eps = max(torch.finfo(dtype).eps for dtype in given or {trial.dtype or torch.float32})
    size = max([1.0, *(float(x.detach().abs().max()) for x in [want] if isinstance(x, Tensor) and x.numel())])
    size = size if size < float("inf") else 1.0
    return Tolerance(64 * eps * size if eps < 1e-3 else 8 * eps * size, 64 * eps if eps < 1e-3 else 8 * eps)


@lru_cache(maxsize=4096)
def _mistaken(task: Exercise, trial: Trial, does: Callable) -> Outcome:
    """What a known mistake gives for a trial. The next answer is compared with it, too."""
    return _call(task, trial, does)


def _share(outcomes: list[tuple[Trial, Outcome]], faults: list[tuple[Trial, Difference]]) -> str:
    """Say what the failing cases have in common, where that is plain to see."""
    bad = {id(trial) for trial, _ in faults}
    plain = [trial for trial, _ in outcomes if not trial.dtype and not trial.leaves]
    failing = [trial for trial in plain if id(trial) in bad]
    if not failing:
        other = "double" if faults[0][0].dtype is torch.float32 else "single"
        return f"In {other} precision all values are right." if faults[0][0].dtype else ""
    if len(failing) == len(plain):
        return ""
    return f"In {len(plain) - len(failing)} of {len(plain)} cases it is right."


def _tested(task: Exercise) -> str:
    """Say what an accepted answer was tried on."""
    count = len(task.cases)
    parts = [f"{count} {'case' if count == 1 else 'cases'}"]
    for promise in task.promises:
        if isinstance(promise, Gradient):
            parts.append(f"the gradient of {_listed(promise.names)}")
        if isinstance(promise, Precisions):
            parts.append(_listed([describe(dtype) for dtype in promise.dtypes]))
    return f"({'; '.join(parts)}.)"


def _listed(names: Any) -> str:
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else str(last)
