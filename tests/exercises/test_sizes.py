"""What every exercise must meet: large sizes, sizes that come back with other numbers, another dtype.

Found by readers in nearly all exercises: answers that stop at some size between 5 and 40, that remember what
they returned for a shape, that hand back doubles for singles.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))

from stored import SOLUTIONS, run

from attnbook.checks import EXERCISES, judge
from attnbook.checks.engine import accepts
from attnbook.checks.exercise import Precisions

ENOUGH = 40
COUNTED = ("costs-", "sparse-", "heads-layer", "linear-delta", "linear-running-state")
"""Exercises in which work is counted, or which have large cases of their own for that."""
SMALL: dict[str, dict[str, str]] = {
    "devices-bytes": {"bytes_per_number": "A number takes a few bytes."},
    "masking-softmax": {
        "mask -4": "A mask of four axes has ones in front here; others have sizes of their own."
    },
    "masking-leaks": dict.fromkeys(("n", "mask -2", "mask -1"), "The reference tries every sentence."),
    "transformer-block": {"x -4": "One batch of batches shows an answer that knows one axis."},
    "today-bytes": {"bytes_per_number": "A number takes a few bytes."},
    "recurrent-local-window": {"p -1": "There is one place for each row of scores."},
}
"""By exercise, the sizes that stay small, and why."""


def sizes(value, name):
    """The sizes of an argument, by name: of each axis from the last, of a list, of its longest item."""
    if isinstance(value, Tensor):
        yield from ((f"{name} {axis}", value.shape[axis]) for axis in range(-value.dim(), 0))
    elif isinstance(value, bool) or callable(value):
        return
    elif isinstance(value, int):
        yield name, value
    elif isinstance(value, Mapping):
        yield name, len(value)
    elif isinstance(value, list | tuple):
        yield name, len(value)
        if all(isinstance(one, list | tuple) for one in value) and value:
            yield f"{name}, each", max(map(len, value))


def largest(task):
    found = {}
    for one in task.cases:
        for name, value in one.make().items():
            for what, size in sizes(value, name):
                found[what] = max(size, found.get(what, 0))
    return found


@pytest.mark.parametrize("name", [name for name in sorted(EXERCISES) if not name.startswith(COUNTED)])
def test_every_size_is_once_larger_than_forty(name):
    small = {what: size for what, size in largest(EXERCISES[name]).items() if size <= ENOUGH}
    assert set(small) == set(SMALL.get(name, {})), small


def shaped(value):
    """What an answer sees of its arguments that looks at shapes alone, and at plain numbers."""
    if isinstance(value, Tensor):
        return tuple(value.shape), value.dtype
    if isinstance(value, list | tuple):
        return tuple(type(one) if isinstance(one, int | str) else shaped(one) for one in value)
    if isinstance(value, Mapping):
        return len(value)
    return value if isinstance(value, int | float) else None


def remembering(answer, at=None):
    """Return what an answer returned for the first arguments of these shapes, or keep one of the arguments.

    Where a gradient is asked, it forgets: what is kept has none.
    """
    kept = {}

    def does(*arguments):
        if any(isinstance(one, Tensor) and one.requires_grad for one in arguments):
            return answer(*arguments)
        key = tuple(
            None if place == at and isinstance(one, float) else shaped(one)
            for place, one in enumerate(arguments)
        )
        if at is None:
            if key not in kept:
                kept[key] = answer(*arguments)
            return kept[key]
        stale = kept.setdefault(key, arguments[at])
        return answer(*arguments[:at], stale, *arguments[at + 1 :])

    return does


SEEN_WHOLE = {
    name
    for name, task in EXERCISES.items()
    if all(isinstance(x, int | float) for c in task.cases for x in c.values.values())
}
"""Exercises whose arguments are plain numbers: to remember those is no fault."""


@pytest.mark.parametrize("name", sorted(set(EXERCISES) - SEEN_WHOLE))
def test_an_answer_that_remembers_by_shapes_is_refused(name):
    task = EXERCISES[name]
    answer = run(SOLUTIONS[name])[task.answer]
    places = {None: None} | {
        what: at
        for at, (what, value) in enumerate(task.cases[0].make().items())
        if not isinstance(value, int)
    }
    assert not {what for what, at in places.items() if accepts(task, remembering(answer, at))}


def doubled(value):
    if isinstance(value, list | tuple):
        return type(value)(map(doubled, value))
    return value.double() if isinstance(value, Tensor) and value.is_floating_point() else value


@pytest.mark.parametrize(
    "name",
    [name for name, task in EXERCISES.items() if any(isinstance(p, Precisions) for p in task.promises)],
)
def test_doubles_for_singles_are_refused(name):
    task = EXERCISES[name]
    answer = run(SOLUTIONS[name])[task.answer]
    assert not accepts(task, lambda *arguments: doubled(answer(*arguments)))


def unit_weights(x, w_q, w_k):
    return ((x @ w_q) @ (x @ w_k).mT / (w_q.shape[0] * torch.tensor(w_q.shape[1]) ** 0.5)).softmax(-1)


def running_bag(x):
    return x.cumsum(-2) / torch.arange(1.0, x.shape[-2] + 1)[:, None]


def test_the_default_dtype_of_the_notebook_changes_no_verdict(judged):
    torch.set_default_dtype(torch.float64)  # as chapters do that count in double
    try:
        judged("scaling-unit-scores", "right", "", unit_weights)
        judged("why-running-bag", "right", "", running_bag)
    finally:
        torch.set_default_dtype(torch.float32)


def test_right_numbers_in_another_precision_are_no_known_mistake():
    def double(q, k, v, gate):
        q, k, v, gate = (x.double() for x in (q, k, v, gate))
        state, norm, rows = 0, 0, []
        for q_i, k_i, v_i, g in zip(*(x.unbind(-2) for x in (q, k, v, gate)), strict=True):
            state = g[..., None] * state + ((1 - g) * k_i)[..., None] * v_i[..., None, :]
            norm = g * norm + (1 - g) * k_i
            rows.append((q_i[..., None, :] @ state)[..., 0, :] / (q_i * norm).sum(-1, keepdim=True))
        return torch.stack(rows, -2)

    said = judge("linear-running-state", double).message
    assert said.startswith("With 5 tokens")
    assert "the dtype of its arguments, float32" in said
