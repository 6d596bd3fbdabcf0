"""Judges every exercise in one way: all cases, the promised gradients and precisions, then which mistake it is."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from attnlab.checks import running
from attnlab.checks.exercise import (
    EXERCISES,
    Case,
    Exercise,
    Gradient,
    Limit,
    Precisions,
    Without,
    floats,
    label,
)
from attnlab.checks.instruments import Memory, Work
from attnlab.checks.running import Outcome
from attnlab.checks.values import Difference, Tolerance, describe, difference
from attnlab.checks.verdict import Verdict

MEASURED = 60.0
"""Seconds of computing that an answer may take under instruments, which cost tens of times what it does itself."""
IN_USE = 60.0
"""Seconds of computing that an answer may take where it is put to work."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One call that is made: a case, in a precision, with gradients or without."""

    case: Case
    dtype: torch.dtype | None = None
    leaves: tuple[str, ...] = ()
    seed: int = 0

    def __str__(self) -> str:
        return label(self.case) + (f", in {describe(self.dtype)}" if self.dtype else "")


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
    if name not in EXERCISES:
        raise ValueError(f"name must be one of {', '.join(sorted(EXERCISES))}; got {name!r}")
    task = EXERCISES[name]
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


def accepts(task: Exercise, answer: Callable) -> bool:
    """Say whether an answer passes; stops at the first trial that fails. For those who try many answers."""
    return all(
        _fault(task, trial, _call(task, trial, answer), _expected(task, trial)) is None
        for trial in trials(task)
    )


@lru_cache(maxsize=1024)
def trials(task: Exercise) -> tuple[Trial, ...]:
    """List the calls: every case; the drawn ones also with gradients and in every promised precision."""
    return tuple(_listing(task))


def _listing(task: Exercise) -> Iterator[Trial]:
    names = tuple(
        name for promise in task.promises if isinstance(promise, Gradient) for name in promise.names
    )
    dtypes = [
        dtype for promise in task.promises if isinstance(promise, Precisions) for dtype in promise.dtypes
    ]
    for seed, one in enumerate(task.cases):
        yield Trial(one, seed=seed)
    for seed, one in enumerate(task.cases):
        leaves = tuple(
            name
            for name in names
            if isinstance(one.values.get(name), Tensor) and one.values[name].is_floating_point()
        )
        if leaves:
            yield Trial(one, leaves=leaves, seed=seed)
    for dtype in dtypes:
        for seed, one in enumerate(task.cases):
            given = [x for x in one.make().values() if floats(x)]
            if given and all(_holds(x, dtype) for x in given if isinstance(x, Tensor)):
                yield Trial(one, dtype, seed=seed)


def _holds(x: Tensor, dtype: torch.dtype) -> bool:
    """Say whether numbers that are finite stay finite in a precision."""
    return bool((x.to(dtype).isfinite() | ~x.isfinite()).all())


def _examine(task: Exercise, answer: Callable) -> Verdict:
    outcomes: list[tuple[Trial, Outcome]] = []
    faults: list[tuple[Trial, Difference]] = []
    for trial in trials(task):
        outcome = _call(task, trial, answer)
        outcomes.append((trial, outcome))
        fault = _fault(task, trial, outcome, _expected(task, trial))
        if fault:
            faults.append((trial, fault))
        if outcome.endless:
            break
    if not faults:
        return _used(task, answer)
    trial, fault = faults[0]
    # Where the answer is wrong, most mistakes differ from it at once: those trials come first.
    wrong = {id(trial) for trial, _ in faults}
    telling = sorted(outcomes, key=lambda one: id(one[0]) not in wrong)
    named = [] if outcomes[-1][1].endless else _named(task, telling, wrong)
    hint = trial.case.hint if not named else ""
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
    outcome = running.run(task.use, lambda: {"answer": answer}, seconds=IN_USE)
    well, said = (False, outcome.trouble) if outcome.trouble else outcome.value
    if not well:
        return Verdict("wrong", f"In all cases it is right; put to work it is not. {said}", task.name)
    return Verdict("right", f"{praise} {said}", task.name)


def _call(task: Exercise, trial: Trial, answer: Callable, *, measured: bool = True) -> Outcome:
    plain = trial.dtype is None and not trial.leaves
    promises = task.promises if measured and plain else ()
    limits = {p.what for p in promises if isinstance(p, Limit) and p.most(**trial.case.make()) < math.inf}
    banned = [p for p in promises if isinstance(p, Without)]

    def call(seconds: float, work: Work | Memory | None = None, listen: tuple[Callable, ...] = ()) -> Outcome:
        return running.run(
            task.around(answer),
            lambda: trial.case.make(trial.dtype),
            leaves=trial.leaves,
            work=work,
            listen=listen,
            seconds=seconds,
            seed=trial.seed,
        )

    # First without instruments: whether it ends is no matter of what they take, and what only a first call does, such
    # as an import or a table that is kept, is not work on these arguments.
    started = time.process_time()
    outcome = call(max(running.PATIENCE, 100 * _expected(task, trial).seconds))
    if not outcome.failed and (limits or banned):
        seconds = max(MEASURED, 100 * (time.process_time() - started))
        # Instruments take memory of their own: bytes are counted in another call.
        taken = call(seconds, Memory()).work.bytes if "bytes" in limits else 0
        work = Work() if limits or any(p.operations for p in banned) else None
        outcome = call(seconds, work, tuple(f for p in banned for f in p.functions))
        if work:
            work.bytes = taken
    if task.read and not outcome.trouble:
        try:
            outcome.value = task.read(outcome.value)
        except Exception as error:
            outcome.trouble = (
                str(error) if type(error) is ValueError else f"It returned {describe(outcome.value)}."
            )
    return outcome


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
        return found
    if trial.dtype and isinstance(got.value, Tensor) and got.value.dtype != trial.dtype:
        return Difference(f"The output should keep that dtype, it has {describe(got.value.dtype)}.")
    for name, slope in want.slopes.items():
        found = _slopes(name, got.slopes[name], slope, _tolerance(task, trial, slope, arguments))
        if found:
            return found
    overdone = _overdone(task, trial, got)
    return Difference(overdone) if overdone else None


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


def _named(task: Exercise, outcomes: list[tuple[Trial, Outcome]], wrong: set[int]) -> list[str]:
    """The messages of all mistakes that fit; two implementations may share one."""
    return list(
        dict.fromkeys(one.message for one in task.mistakes if _same_mistake(task, one.does, outcomes, wrong))
    )


def _same_mistake(
    task: Exercise, does: Callable, outcomes: list[tuple[Trial, Outcome]], wrong: set[int]
) -> bool:
    """Say whether a wrong implementation came to what the answer came to, in every trial that has an answer."""
    if all(got.failed for _, got in outcomes):
        return False
    for trial, got in outcomes:
        if got.failed:
            continue  # where it gives no answer, there is nothing to compare
        made = _mistaken(task, trial, does)
        if made.failed:
            return False
        if bool(made.trouble) != bool(got.trouble):
            return False
        wanted = tree_map(lambda x: x.detach() if isinstance(x, Tensor) else x, made.value)
        if difference(got.value, wanted, _tolerance(task, trial, wanted, trial.case.make(trial.dtype))):
            return False
        for name, slope in made.slopes.items():
            other = got.slopes.get(name)
            if (slope is None) != (other is None):
                return False
            if slope is not None and difference(
                other, slope, _tolerance(task, trial, slope, trial.case.make())
            ):
                return False
    if any(id(trial) in wrong and not got.failed for trial, got in outcomes):
        return True
    # The answer gives nothing wherever it is wrong, which fits all that is right elsewhere: unless that fails too.
    return all(_mistaken(task, trial, does).failed for trial, got in outcomes if got.failed)


@lru_cache(maxsize=4096)
def _mistaken(task: Exercise, trial: Trial, does: Callable) -> Outcome:
    """What a known mistake gives for a trial. The next answer is compared with it, too."""
    return _call(task, trial, does, measured=False)


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
