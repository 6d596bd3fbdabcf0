"""How a checker calls a reader's function and says what it found."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Literal

import torch
from torch import Tensor

MARKS = {"right": "✓", "wrong": "✗", "not yet": "○"}


class Wrong(Exception):
    """What a checker raises: a message to the reader that names the mistake."""


class NotYet(Exception):
    """What `call` raises when the reader has not written the function yet."""


@dataclass(frozen=True)
class Verdict:
    """The judgement of one answer."""

    status: Literal["right", "wrong", "not yet"]
    message: str

    def __str__(self) -> str:
        return f"{MARKS[self.status]} {self.message}"


@dataclass(frozen=True)
class Exercise:
    """A named exercise: what the reader's function is called, and the checker that examines it."""

    name: str
    answer: str
    checker: Callable[[Callable], str]


EXERCISES: dict[str, Exercise] = {}


def exercise(name: str, answer: str) -> Callable:
    """Register a checker.

    Args:
        name: the exercise's name, chapter first, as in "why-mixture".
        answer: what the reader's function is called.

    Returns:
        A decorator for the checker. The checker takes the reader's function, raises `Wrong` or returns the
        sentence that says what is now known to be right.
    """

    def register(checker: Callable[[Callable], str]) -> Callable[[Callable], str]:
        EXERCISES[name] = Exercise(name, answer, checker)
        return checker

    return register


def judge(name: str, answer: Callable) -> Verdict:
    """Examine an answer.

    Args:
        name: the exercise's name.
        answer: the reader's function.

    Returns:
        The verdict. A mistake in the answer is a verdict too, never an exception.

    Raises:
        ValueError: there is no exercise of that name.
        TypeError: the answer is not a function.

    >>> judge("why-mixture", lambda x, scores: x).status
    'wrong'
    """
    if name not in EXERCISES:
        raise ValueError(f"name must be one of {', '.join(sorted(EXERCISES))}; got {name!r}")
    if not callable(answer):
        raise TypeError(f"answer must be your function {EXERCISES[name].answer}, got {type(answer).__name__}")
    try:
        return Verdict("right", EXERCISES[name].checker(answer))
    except NotYet as found:
        return Verdict("not yet", f"{EXERCISES[name].answer} is not written yet: it {found}.")
    except Wrong as found:
        return Verdict("wrong", str(found))


def check(name: str, answer: Callable) -> None:
    """Print the verdict on an answer: ✓ right, ✗ wrong and why, ○ not written yet.

    Args:
        name: the exercise's name.
        answer: the reader's function.

    Raises:
        ValueError: there is no exercise of that name.
        TypeError: the answer is not a function.

    >>> check("why-bag", lambda x: x.mean(-2, keepdim=True).expand_as(x))
    ✓ Every row is the mean of all rows of its own sentence, for any batch.
    """
    print(judge(name, answer))


def call(function: Callable, *arguments: Any) -> Any:
    """Call a reader's function with copies of the arguments and refuse what no answer should do.

    Args:
        function: the reader's function.
        arguments: what it is called with.

    Returns:
        What it returned.

    Raises:
        NotYet: it returned None or raised NotImplementedError.
        Wrong: it raised something else, or changed an argument.
    """
    given = deepcopy(arguments)
    try:
        result = function(*given)
    except NotImplementedError:
        raise NotYet("raised NotImplementedError") from None
    except Exception as error:
        raise Wrong(
            f"It raised {type(error).__name__}: {error}. The call had {_describe(arguments)}."
        ) from error
    if not all(_same(a, b) for a, b in zip(arguments, given, strict=True)):
        raise Wrong("It changed its argument in place. Work on a copy: the caller still needs the original.")
    if result is None or result is Ellipsis:
        raise NotYet("returned None")
    return result


def want_tensor(result: Any, shape: tuple[int, ...]) -> Tensor:
    """Refuse a result that is not a tensor of the wanted shape.

    Args:
        result: what the reader's function returned.
        shape: the shape it should have.

    Returns:
        The result.

    Raises:
        Wrong: it is something else.
    """
    if not isinstance(result, Tensor):
        raise Wrong(f"It should return a tensor, it returned {type(result).__name__}.")
    if result.shape != shape:
        raise Wrong(f"The output should have shape {tuple(shape)}, it has {tuple(result.shape)}.")
    return result


def want_number(result: Any, what: str) -> float:
    """Refuse a result that is not one finite number.

    Args:
        result: what the reader's function returned; a tensor with one element counts as its number.
        what: what the number is called in the message.

    Returns:
        The number.

    Raises:
        Wrong: it is something else.
    """
    if isinstance(result, Tensor) and result.numel() == 1:
        result = result.item()
    if isinstance(result, bool) or not isinstance(result, int | float):
        raise Wrong(f"{what} should be a number, it is of type {type(result).__name__}.")
    if not math.isfinite(result):
        raise Wrong(f"{what} should be a finite number, it is {result}.")
    return float(result)


def want_pair(result: Any, words: str) -> tuple[Any, Any]:
    """Refuse a result that is not a pair.

    Args:
        result: what the reader's function returned.
        words: what the two are, as in "two numbers, the mean and its standard error".

    Returns:
        The two.

    Raises:
        Wrong: it is something else.
    """
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise Wrong(f"It should return {words}; it returned {result!r}.")
    return result[0], result[1]


def near(a: Tensor, b: Tensor, tolerance: float = 1e-5) -> bool:
    """Say whether two tensors have one shape and agree to a tolerance.

    Args:
        a: one tensor.
        b: the other.
        tolerance: the largest difference allowed.

    Returns:
        True if they agree.

    >>> near(torch.ones(2), torch.ones(2) + 1e-7), near(torch.ones(2), torch.ones(1, 2))
    (True, False)
    """
    return a.shape == b.shape and bool(((a - b).abs() <= tolerance).all())


def rounded(x: Tensor) -> list[float]:
    """Write a vector for a message, to three digits.

    Args:
        x: (n,).

    Returns:
        Its numbers.

    >>> rounded(torch.tensor([0.12345, 2.0]))
    [0.123, 2.0]
    """
    return [round(value, 3) for value in x.tolist()]


def wrong_row(got: Tensor, want: Tensor) -> str:
    """Say which row is the first that is wrong, what it is and what it should be.

    Args:
        got: (..., n).
        want: the same shape.

    Returns:
        One sentence. Places count from 0.

    >>> wrong_row(torch.zeros(2, 2), torch.tensor([[0.0, 0.0], [0.0, 0.5]]))
    'Row 1 should be [0.0, 0.5], it is [0.0, 0.0].'
    """
    off = ((got - want).abs() > 1e-5) | got.isnan()
    at = tuple(off.any(-1).nonzero()[0].tolist())
    name = f"Row {at[0]}" if len(at) == 1 else f"The row at [{', '.join(map(str, at))}]"
    return f"{name} should be {rounded(want[at] + 0.0)}, it is {rounded(got[at] + 0.0)}."


def _same(a: Any, b: Any) -> bool:
    return torch.equal(a, b) if isinstance(a, Tensor) and isinstance(b, Tensor) else a == b


def _words(argument: Any) -> str:
    if isinstance(argument, Tensor):
        return f"shape {tuple(argument.shape)}"
    # The repr of a function would show an address of memory, another one each time.
    return f"the function {argument.__name__}" if isinstance(argument, FunctionType) else repr(argument)


def _describe(arguments: tuple) -> str:
    parts = [_words(a) for a in arguments]
    if not parts:
        return "no arguments"
    return "arguments " + ", ".join(parts) if len(parts) > 1 else "argument " + parts[0]
