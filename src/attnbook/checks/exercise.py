"""An exercise is data: a reference, cases, mistakes, promises. The engine judges them all in one way."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType, SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from attnbook.checks.instruments import once
from attnbook.checks.running import copies
from attnbook.checks.values import Difference, Tolerance, describe

EVEN = tuple(range(2, 17, 2))
"""For `draws(..., d=EVEN)`: a width that pairs can be cut from."""


@dataclass(frozen=True)
class Fresh:
    """An argument that is made anew for each call, such as an iterator: `fresh(lambda: once(tiles))`."""

    make: Callable[[], Any]
    name: str


def fresh(make: Callable[[], Any], name: str) -> Any:
    """Have an argument made anew for each call.

    Args:
        make: makes it.
        name: what a message calls it.
    """
    return Fresh(make, name)


@dataclass(frozen=True, eq=False)
class Case:
    """One set of arguments, by name, in the order of the reference's parameters.

    Attributes:
        name: what is special about it, for the message; its sizes if nothing is.
        values: the arguments.
        hint: a sentence that is true of this case and helps whoever fails here first.
        exact: whether its numbers stay as they are in double precision. Its values are asked for, no gradients.
        drawn: whether it came from `draws`.
        late: whether it is tried once all else is right, and only as it is: it is there for answers that stop at
            some size, or that remember, and would show a reader numbers by the hundred.
    """

    name: str
    values: dict[str, Any]
    hint: str = ""
    drawn: bool = False
    exact: bool = False
    late: bool = False

    def make(self, dtype: torch.dtype | None = None) -> dict[str, Any]:
        """Make the arguments, floating tensors in `dtype` where one is given."""
        made = {}
        for name, value in self.values.items():
            value = value.make() if isinstance(value, Fresh) else copies(value)
            if dtype and floats(value):
                # Numbers that single precision does not have: what goes through it on its way is found out.
                rough = isinstance(value, Tensor) and value.dtype is not torch.float64 and not self.exact
                value = value.to(dtype)
                value = value * (1 + 1e-9) if rough and dtype is torch.float64 else value
            made[name] = value
        return made


def floats(value: Any) -> bool:
    """Say whether an argument can be had in another precision: a floating tensor, or a source of items."""
    return isinstance(value, once) or (isinstance(value, Tensor) and value.is_floating_point())


def case(name: str, hint: str = "", /, **values: Any) -> Case:
    """Make a case by hand.

    Args:
        name: what is special about it, as in "a row of equal scores".
        hint: a sentence that is true of this case, for whoever fails here first.
        values: the arguments.
    """
    return Case(name, values, hint)


def late(*cases: Case) -> tuple[Case, ...]:
    """Have cases tried once all others are right: large ones, or others of sizes that came before.

    >>> late(case("a long text", n=300))[0].late
    True
    """
    return tuple(replace(one, late=True) for one in cases)


def rows(names: str, *values: tuple[Any, ...]) -> tuple[Case, ...]:
    """Make cases of plain arguments, a row of values for each.

    Args:
        names: of the arguments, in order.
        values: a row for each case.

    >>> [one.values for one in rows("d variance", (5, 0.36), (64, 1.0))]
    [{'d': 5, 'variance': 0.36}, {'d': 64, 'variance': 1.0}]
    """
    return tuple(Case("", dict(zip(names.split(), row, strict=True))) for row in values)


LARGE = 41
"""The least of the sizes that are large."""


def draws(
    *,
    lead: Sequence[tuple[int, ...]] = ((),),
    seeds: int = 4,
    spread: float = 1.0,
    dtype: torch.dtype = torch.float32,
    large: Mapping[str, int] | None = MappingProxyType({}),
    **shapes: Any,
) -> tuple[Case, ...]:
    """Draw cases in which no two sizes are equal, within a case, and no case has the sizes of another.

    Late cases follow: one with the sizes of the first and other numbers, and for each size one in which it is
    large while the others stay small, so that an answer in loops has little to do.

    Args:
        lead: leading shapes for "...", used in turn.
        seeds: how many cases, each from its own seed. Among any four, `n` is once 1 and once larger than 8.
        spread: standard deviation of the entries.
        dtype: of the tensors.
        large: for sizes that take listed values, how large they are when they are large; None for no late cases.
        shapes: arguments in order. A text such as "... n d" is a normal tensor with a size for each letter; a
            function takes the sizes (`s.n`, `s.lead`) and a generator and returns the argument; anything else
            of a one-word name that a text or a function uses is the list of values that this size may take,
            or `...` for the usual ones.

    Returns:
        The cases.

    >>> cases = draws(x="... n d", lead=[(), (2,)], d=EVEN, large={"d": 48})
    >>> [tuple(x.shape) for c in cases if not c.late for x in c.make().values()]
    [(5, 14), (2, 1, 6), (11, 2), (2, 7, 8)]
    >>> [tuple(x.shape) for c in cases if c.late for x in c.make().values()]
    [(5, 14), (42, 14), (2, 42, 8), (7, 48), (43, 8, 16)]
    """
    letters = list(
        dict.fromkeys(
            w for text in shapes.values() if isinstance(text, str) for w in text.split() if w != "..."
        )
    )
    pools = {
        w: shapes.pop(w)
        for w in list(shapes)
        if shapes[w] is ... or (isinstance(shapes[w], Sequence) and not isinstance(shapes[w], str))
    }
    letters = list(dict.fromkeys((*pools, *letters)))
    pools = {w: pool for w, pool in pools.items() if pool is not ...}

    def draw(front: tuple[int, ...], sizes_by: int, numbers_by: int, **fixed: int) -> Case:
        sizes = _distinct(letters, pools | {w: (size,) for w, size in fixed.items()}, front, sizes_by)
        generator, values = torch.Generator().manual_seed(numbers_by), {}
        for name, spec in shapes.items():
            if callable(spec):
                values[name] = spec(sizes, generator)
                continue
            shape = tuple(
                size for w in spec.split() for size in (front if w == "..." else (getattr(sizes, w),))
            )
            values[name] = (spread * torch.randn(shape, generator=generator)).to(dtype)
        return Case("", values, drawn=True, late=numbers_by >= LATE)

    found = [draw(tuple(lead[seed % len(lead)]), seed, seed) for seed in range(seeds)]
    if large is None:
        return tuple(found)
    ranks = sorted({len(front): tuple(front) for front in reversed(lead)}.values(), key=len)
    longer = {w: large.get(w, LARGE + i) for i, w in enumerate(letters) if w in large or w not in pools}
    wanted = [(ranks[i % len(ranks)], {w: size}) for i, (w, size) in enumerate(longer.items())]
    if "n" in longer:  # an answer may go another way with a batch
        wanted = [(front, {"n": longer["n"]}) for front in ranks] + [
            one for one in wanted if "n" not in one[1]
        ]
    for axis in range(len(ranks[-1])):
        wanted.append(((*ranks[-1][:axis], LARGE + len(letters) + axis, *ranks[-1][axis + 1 :]), {}))
    found.append(draw(tuple(lead[0]), 0, LATE))
    found += [draw(front, 4 * i, LATE + 1 + i, **fixed) for i, (front, fixed) in enumerate(wanted)]
    return tuple(found)


LATE = 1000
"""The seed of the first late case."""


def _distinct(letters: Iterable[str], pools: dict, lead: tuple[int, ...], seed: int) -> SimpleNamespace:
    """Give each letter a size; `n` goes through a small, a single, a larger and another one."""
    pools = {"n": ((5, 1, 11, 7)[seed % 4] + seed // 4 * (seed % 4 != 1),)} | pools
    draw = random.Random(seed)
    for _ in range(1000):
        sizes = {w: draw.choice(pools.get(w, range(2, 13))) for w in letters}
        if len({*sizes.values(), *lead}) == len(sizes) + len(set(lead)):
            return SimpleNamespace(lead=lead, **sizes)
    raise ValueError(
        f"sizes must be able to differ from each other and from the lead {lead}; pools are {pools}"
    )


@dataclass(frozen=True)
class Mistake:
    """A wrong implementation, and what to say to whoever wrote the same."""

    message: str
    does: Callable


def mistake(message: str, does: Callable) -> Mistake:
    """Name a mistake.

    It is named to a reader only if `does` gives what the reader's answer gave in every trial.

    Args:
        message: what is wrong and what to do, true of every answer that behaves so.
        does: the wrong implementation.
    """
    return Mistake(message, does)


@dataclass(frozen=True)
class Gradient:
    """Promise: the gradient of these arguments is the reference's."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Precisions:
    """Promise: it holds in these dtypes too, and the output keeps the dtype of the inputs."""

    dtypes: tuple[torch.dtype, ...]


@dataclass(frozen=True)
class Limit:
    """Promise: what is computed on the way stays under a limit."""

    message: str
    what: str
    most: Callable[..., float]


@dataclass(frozen=True)
class Without:
    """Promise: these functions, and these operations of torch, are not called."""

    message: str
    functions: tuple[Callable | str, ...]
    operations: tuple[str, ...] = ()


def gradient(*names: str) -> Gradient:
    """Promise that the gradient of these arguments is right, compared with the reference's.

    Where an answer is a tuple, list or dictionary, the gradient goes through all its tensors.
    """
    return Gradient(names)


def precisions(*names: str) -> Precisions:
    """Promise that it holds in these dtypes, as in `precisions("float64", "float16")`, and keeps them."""
    return Precisions(tuple(getattr(torch, name) for name in names))


def at_most(message: str, **limits: Callable[..., float]) -> tuple[Limit, ...]:
    """Promise that the work stays under limits, in every case.

    Args:
        message: what to say to whoever does more; the figures are added.
        limits: by the name of a measure of `instruments.Work` (largest, made, held, steps, bytes), a function of
            the arguments, by name, that returns the most it may be; infinite in a case where it does not matter.
    """
    return tuple(Limit(message, what, most) for what, most in limits.items())


def without(message: str, *functions: Callable | str) -> Without:
    """Promise that the answer does not call these functions, under any name and at any depth.

    Args:
        message: what to say to whoever does; the name of the function is added.
        functions: Python's or built into torch; a text such as "_softmax" is an operation of torch, as it
            dispatches it, whatever function or method asks for it; one such as "torch._decomp" is a module.
    """
    texts = [one for one in functions if isinstance(one, str)]
    return Without(
        message,
        tuple(one for one in functions if not isinstance(one, str) or "." in one),
        tuple(one for one in texts if "." not in one),
    )


AUTOGRAD = (
    torch.autograd.grad,
    torch.autograd.backward,
    torch.autograd.Variable._execution_engine.run_backward,
    forward_ad.make_dual,
    torch._VF._make_dual,
)
"""What differentiates."""
BY_HAND = without(
    "It leaves the work to autograd. Write the backward pass itself.", *AUTOGRAD, "_softmax_backward_data"
)
"""Promise that a backward pass through a softmax is written out."""


@dataclass(frozen=True, eq=False)
class Exercise:
    """What the engine needs to know. See `exercise` for the fields."""

    name: str
    answer: str
    reference: Callable
    cases: tuple[Case, ...]
    praise: str
    promises: tuple[Any, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    within: Tolerance | None = None
    compare: Callable[..., Difference | str | None] | None = None
    read: Callable[[Any], Any] | None = None
    lift: bool = True
    use: Callable[[Callable], tuple[bool, str]] | None = None
    stub: str = ""
    around: Callable[[Callable], Callable] = lambda answer: answer
    parameters: list[str] = field(default_factory=list)


EXERCISES: dict[str, Exercise] = {}
OTHERS: dict[str, Any] = {}
"""Exercises of another kind, by name, which register themselves. Each has an `answer`, `mistakes` and a `stub`."""


def exercise(
    name: str,
    answer: str,
    *,
    reference: Callable,
    cases: Iterable[Case],
    praise: str,
    promises: Iterable[Any] = (),
    mistakes: Iterable[Mistake] = (),
    within: Tolerance | None = None,
    compare: Callable[..., Difference | str | None] | None = None,
    read: Callable[[Any], Any] | None = None,
    lift: bool = True,
    use: Callable[[Callable], tuple[bool, str]] | None = None,
    stub: str = "",
    around: Callable[[Callable], Callable] = lambda answer: answer,
) -> Exercise:
    """Register an exercise.

    Args:
        name: topic first, as in "masking-leaks".
        answer: what the reader's function is called.
        reference: a right implementation, in plain code; its parameters give the arguments their names.
        cases: from `draws` and `case`.
        praise: what is known of an answer that passes: nothing that the cases do not test.
        promises: `gradient(...)`, `precisions(...)`, `at_most(...)`, `without(...)`.
        mistakes: from `mistake`.
        within: how far a number may be off, where the precision of the arguments does not say it.
        compare: `(got, want, **arguments)` to a Difference, a sentence, or None, where many answers are right.
        read: takes a result in any of the forms that are welcome to the reference's form; a ValueError is a
            sentence about a form that is not.
        lift: whether the reference computes in float64; turn it off where an argument is a function that can't.
        use: puts an answer that is right in all cases to work, as in a training of some seconds; returns
            whether that went as it should, and a sentence of what came of it.
        stub: the cell that the reader begins with, if it is no function with the parameters of the reference.
        around: makes of an answer what is called in its place, such as two calls of it whose results must fit.

    Returns:
        The exercise.

    Raises:
        ValueError: the name is taken, or a case does not fit the reference's parameters.
    """
    if name in EXERCISES:
        raise ValueError(f"name must be new, there is already an exercise {name!r}")
    parameters = list(inspect.signature(reference).parameters)
    cases = tuple(sorted(cases, key=lambda one: one.late))
    for one in cases:
        if list(one.values) != parameters[: len(one.values)]:
            raise ValueError(
                f"cases of {name} must give {parameters} in order, {one.name!r} gives {list(one.values)}"
            )
    flat: list[Any] = []
    for promise in promises:
        flat.extend(promise if isinstance(promise, tuple) else (promise,))
    EXERCISES[name] = Exercise(
        name,
        answer,
        reference,
        cases,
        praise,
        tuple(flat),
        tuple(mistakes),
        within,
        compare,
        read,
        lift,
        use,
        stub,
        around,
        parameters,
    )
    return EXERCISES[name]


def known(name: str) -> Exercise:
    """Look an exercise up.

    Args:
        name: its name.

    Raises:
        ValueError: there is no exercise of that name.
    """
    if name not in EXERCISES:
        raise ValueError(f"name must be one of {', '.join(sorted(EXERCISES))}; got {name!r}")
    return EXERCISES[name]


def label(one: Case) -> str:
    """Name a case in a message: what is special about it, or its arguments.

    >>> label(case("a long row", x=torch.zeros(3))), label(case("", x=torch.zeros(2, 3), w=0.5))
    ('a long row', 'x of shape (2, 3), w = 0.5')
    """
    if one.name:
        return one.name
    parts = []
    for name, value in one.values.items():
        if isinstance(value, Fresh):
            parts.append(value.name)
        elif isinstance(value, Tensor) and value.dim():
            parts.append(f"{name} of shape {describe(value)}")
        else:
            parts.append(f"{name} = {describe(value)}")
    return ", ".join(parts)
