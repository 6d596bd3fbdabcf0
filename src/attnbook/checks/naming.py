"""Which of the known mistakes an answer is: those that give what it gave, in every trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from attnbook.checks.exercise import Exercise
from attnbook.checks.instruments import once
from attnbook.checks.running import Outcome
from attnbook.checks.trials import Trial
from attnbook.checks.values import Difference, Tolerance, difference


def fitting(
    task: Exercise,
    outcomes: list[tuple[Trial, Outcome]],
    wrong: dict[int, Difference],
    *,
    made: Callable[[Exercise, Trial, Callable], Outcome],
    tolerance: Callable[..., Tolerance],
    right: Callable[[Exercise, Trial, Outcome], bool],
) -> list[str]:
    """Find the messages of all mistakes that fit; two implementations may share one.

    Args:
        task: the exercise.
        outcomes: what the answer came to, with the trials in the order in which they tell most.
        wrong: what is wrong, by the `id` of each trial in which something is.
        made: what a wrong implementation comes to in a trial.
        tolerance: `(task, trial, want, arguments)` to how far a number may be off.
        right: whether an outcome's values are those of the reference.

    Returns:
        The messages, none where nothing fits.
    """

    def near(task: Exercise, trial: Trial, want: Any) -> Tolerance:
        if placeholder:
            return Tolerance(0, 0)
        # In double, too, the steps of an answer may have been made in single precision.
        return tolerance(
            task, trial, want, trial.case.make(torch.float32 if trial.dtype is torch.float64 else trial.dtype)
        )

    # One number everywhere is a placeholder. A mistake that comes near it by rounding is not what was written.
    placeholder = _constant(outcomes)
    # What is right in every trial in which the answer's values are wrong does not explain them: it only came near,
    # as what fails in long texts alone comes near an answer that rounds to single precision.
    off = [t for t, got in outcomes if id(t) in wrong and wrong[id(t)].value and not got.failed]

    def explains(does: Callable) -> bool:
        return not off or any(not right(task, trial, made(task, trial, does)) for trial in off)

    return list(
        dict.fromkeys(
            one.message
            for one in task.mistakes
            if _same(task, one.does, outcomes, wrong, made, near) and explains(one.does)
        )
    )


def dtypes(value: Any) -> set[torch.dtype]:
    """Return the dtypes of the tensors of real numbers in arguments or in an output."""
    leaves = tree_leaves(tree_map(lambda x: x.items if isinstance(x, once) else x, value))
    return {x.dtype for x in leaves if isinstance(x, Tensor) and x.is_floating_point()}


def _constant(outcomes: list[tuple[Trial, Outcome]]) -> bool:
    """Say whether an answer gave one and the same number everywhere."""
    seen: set[float] = set()
    for leaf in tree_leaves([got.value for _, got in outcomes if not got.failed]):
        if isinstance(leaf, Tensor) and leaf.layout is torch.strided and not leaf.is_meta:
            seen |= set(leaf.detach().flatten()[:1000].tolist())
        elif isinstance(leaf, int | float):
            seen.add(leaf)
        else:
            return False
    return len(seen) == 1 and not any(isinstance(x, bool) for x in seen)


def _same(
    task: Exercise,
    does: Callable,
    outcomes: list[tuple[Trial, Outcome]],
    wrong: dict[int, Difference],
    made: Callable[[Exercise, Trial, Callable], Outcome],
    near: Callable[..., Tolerance],
) -> bool:
    """Say whether a wrong implementation came to what the answer came to, in every trial that has an answer."""
    if all(got.failed for _, got in outcomes):
        return False
    for trial, got in outcomes:
        if got.failed:
            continue  # where it gives no answer, there is nothing to compare
        known = made(task, trial, does)
        if known.failed:
            return False
        if bool(known.trouble) != bool(got.trouble):
            return False
        wanted = tree_map(lambda x: x.detach() if isinstance(x, Tensor) else x, known.value)
        if difference(got.value, wanted, near(task, trial, wanted)):
            return False
        if id(trial) in wrong and not wrong[id(trial)].value and dtypes(got.value) != dtypes(known.value):
            return False  # right numbers of the wrong precision are not explained by what has the right one
        if id(trial) in wrong and wrong[id(trial)].value:
            continue  # its gradients say no more: at a kink, as that of a root at 0, they hang on rounding
        for name, slope in known.slopes.items():
            other = got.slopes.get(name)
            if slope is None or other is None:  # no gradient is one of zeros
                if any(one is not None and one.any() for one in (slope, other)):
                    return False
            elif difference(other, slope, near(task, trial, slope)):
                return False
    if any(id(trial) in wrong and not got.failed for trial, got in outcomes):
        return True
    # The answer gives nothing wherever it is wrong, which fits all that is right elsewhere: unless that fails too.
    return all(made(task, trial, does).failed for trial, got in outcomes if got.failed)
