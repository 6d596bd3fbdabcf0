"""The calls that an exercise is judged by: its cases, with gradients or without, in each promised precision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from attnbook.checks.exercise import Case, Exercise, Gradient, Precisions, floats, label
from attnbook.checks.values import describe


@dataclass(frozen=True, eq=False)
class Trial:
    """One call that is made: a case, in a precision, with gradients or without."""

    case: Case
    dtype: torch.dtype | None = None
    leaves: tuple[str, ...] = ()
    seed: int = 0

    def __str__(self) -> str:
        return label(self.case) + (f", in {describe(self.dtype)}" if self.dtype else "")


@lru_cache(maxsize=1024)
def trials(task: Exercise) -> tuple[Trial, ...]:
    """List the calls: every case, also with gradients and in every promised precision; then those that are late."""
    return tuple(_listing(task))


def _listing(task: Exercise) -> Iterator[Trial]:
    names = tuple(
        name for promise in task.promises if isinstance(promise, Gradient) for name in promise.names
    )
    dtypes = [
        dtype for promise in task.promises if isinstance(promise, Precisions) for dtype in promise.dtypes
    ]
    early = [(seed, one) for seed, one in enumerate(task.cases) if not one.late]
    for seed, one in early:
        yield Trial(one, seed=seed)
    # Not of exact cases: at huge scores a fused kernel keeps the logarithm of a row's sum, and that is rounded.
    for seed, one in early:
        if one.exact:
            continue
        leaves = tuple(
            name
            for name in names
            if isinstance(one.values.get(name), Tensor) and one.values[name].is_floating_point()
        )
        if leaves:
            yield Trial(one, leaves=leaves, seed=seed)
    for dtype in dtypes:
        for seed, one in early:
            given = [x for x in one.make().values() if floats(x)]
            if given and all(_holds(x, dtype) for x in given if isinstance(x, Tensor)):
                yield Trial(one, dtype, seed=seed)
    for seed, one in enumerate(task.cases):
        if one.late:
            yield Trial(one, seed=seed)


def _holds(x: Tensor, dtype: torch.dtype) -> bool:
    """Say whether numbers that are finite stay finite in a precision."""
    return bool((x.to(dtype).isfinite() | ~x.isfinite()).all())
