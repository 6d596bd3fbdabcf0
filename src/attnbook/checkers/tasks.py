"""The exercises in which the reader writes the test: what each tests, and what is handed to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from attnbook.checkers.candidates import Candidate, load
from attnbook.checks.exercise import OTHERS


@dataclass(frozen=True)
class Told:
    """What a page or a sheet for marking says of a broken candidate."""

    message: str


@dataclass(frozen=True)
class Task:
    """An exercise.

    Attributes:
        name: topic first, as of other exercises.
        answer: what the reader's test is called.
        function: what the code under test is called.
        file: where its candidates stand.
        praise: what is known of a test that gets full marks.
    """

    name: str
    answer: str
    function: str
    file: str
    praise: str

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Give all of them, right ones first, then broken ones from easy to hard."""
        return load(self.file)

    @property
    def reference(self) -> Candidate:
        """The first right one, which says what the others must give."""
        return self.candidates[0]

    @cached_property
    def mistakes(self) -> tuple[Told, ...]:
        """What is said of each broken candidate."""
        return tuple(Told(one.says) for one in self.candidates if not one.right)

    @property
    def stub(self) -> str:
        """The cell that the reader begins with."""
        return f"def {self.answer}({self.function}):\n    ...  # your code here"


CHECKERS: dict[str, Task] = {}


def _task(name: str, answer: str, function: str, file: str, praise: str) -> None:
    CHECKERS[name] = OTHERS[name] = Task(name, answer, function, file, praise)


_task(
    "testing-scaling",
    "test_scaling",
    "attention",
    "scaling",
    "Other widths, batches, large scores, half precision, gradients and a second call: it asks for all.",
)
_task(
    "testing-mask",
    "test_mask",
    "attention",
    "mask",
    "Your test tells a leak beside very low scores, and knows the empty row, forward and backward.",
)
_task(
    "testing-heads",
    "test_heads",
    "heads",
    "heads",
    "Your test knows which head reads which group, and what is learned.",
)
_task(
    "testing-rotary",
    "test_rotary",
    "rotate",
    "rotary",
    "Your test knows the direction, the speed and the pairs of the turn, far out and below zero.",
)
_task(
    "testing-cache",
    "test_cache",
    "make",
    "cache",
    "Pieces of several sizes, batches, two caches at once, gradients across pieces: it asks for all.",
)
_task(
    "testing-linear",
    "test_linear",
    "attention",
    "linear",
    "Your test holds the fast form to the slow one, at the edges of pieces and in the gradient, too.",
)


def known(name: str) -> Task:
    """Look an exercise up.

    Args:
        name: its name.

    Raises:
        ValueError: there is no exercise of that name.

    >>> known("testing-mask").answer
    'test_mask'
    """
    if name not in CHECKERS:
        raise ValueError(f"name must be one of {', '.join(sorted(CHECKERS))}; got {name!r}")
    return CHECKERS[name]
