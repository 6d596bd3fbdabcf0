"""Call a reader's function so that nothing it does reaches the reader as a surprise: copies, limits, exceptions."""

from __future__ import annotations

import contextlib
import copy
import dis
import functools
import inspect
import io
import linecache
import random
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnbook.checks.deadline import Endless, within
from attnbook.checks.instruments import Calls, Hoarding, Memory, Work

PATIENCE = 5.0
"""Seconds of computing after which an answer counts as endless, unless its reference needs more than 1/100 of it.

Imports don't count, nor do instruments: an answer runs without them first.
"""
HEARD = 2000
"""Characters that are kept of what an answer prints."""


@dataclass
class Outcome:
    """What one call of an answer came to.

    Attributes:
        value: what it returned.
        trouble: a sentence about an exception, an endless loop or a changed argument; empty if there was none.
        failed: whether `value` is missing because of it.
        slopes: the gradient of each argument that has one, by name; None where no gradient arrived.
        work: what was computed on the way, where somebody asked.
        called: the names of the functions that were called, of those that somebody asked about.
        seconds: computing time, where somebody took it.
        printed: the beginning of what was printed on the way, where somebody listened.
    """

    value: Any = None
    trouble: str = ""
    failed: bool = False
    endless: bool = False
    slopes: dict[str, Tensor | None] = field(default_factory=dict)
    work: Work | Memory | None = None
    called: tuple[str, ...] = ()
    seconds: float = 0.0
    printed: str = ""


class Heard(io.StringIO):
    """Keeps the beginning of what is printed: an answer that does not stop may print for as long."""

    def write(self, text: str) -> int:
        """Take in what there is room for."""
        super().write(text[: max(0, HEARD - self.tell())])
        return len(text)

    def text(self) -> str:
        """Return what was printed, and say where it was cut."""
        return self.getvalue() + (" …" if self.tell() >= HEARD else "")


@contextlib.contextmanager
def listening(heard: Heard | None = None) -> Iterator[Heard]:
    """Keep what is printed from the notebook: it would come once for each case."""
    heard = Heard() if heard is None else heard
    with contextlib.redirect_stdout(heard):
        yield heard


def unwritten(answer: Callable) -> bool:
    """Say whether a function is an untouched stub: its body is `...`, `pass` or `raise NotImplementedError`.

    A class is one if all its methods are.

    >>> def stub(x):
    ...     "Its docstring does not count."
    ...     ...
    >>> unwritten(stub), unwritten(lambda x: None)
    (True, False)
    """
    if isinstance(answer, type):
        methods = [one for one in vars(answer).values() if inspect.isfunction(one)]
        return bool(methods) and all(map(unwritten, methods))
    code = getattr(_inner(answer), "__code__", None)
    if not isinstance(code, CodeType) or code.co_name == "<lambda>":
        return False
    idle = {"RESUME", "NOP", "CACHE", "PRECALL", "PUSH_NULL"}
    steps = [step for step in dis.get_instructions(code) if step.opname not in idle]
    names = [step.opname for step in steps]
    if names in (["LOAD_CONST", "RETURN_VALUE"], ["RETURN_CONST"]):
        # `return None` written out makes the same code as `...`; either way nothing is written yet.
        return steps[0].argval is None
    return (
        any(step.opname == "LOAD_GLOBAL" and step.argval == "NotImplementedError" for step in steps[:1])
        and names[-1] == "RAISE_VARARGS"
        and set(names[1:-1]) <= {"CALL", "LOAD_CONST"}
    )


def misfit(answer: Callable, names: list[str], given: int) -> str:
    """Say how an answer's parameters differ from the call that is made, or return an empty text."""
    try:
        signature = inspect.signature(answer)
    except (TypeError, ValueError):
        return ""
    try:
        signature.bind(*range(given))
    except TypeError:
        return f"It takes {signature}; it is called with ({', '.join(names[:given])})."
    return ""


def run(
    answer: Callable,
    make: Callable[[], dict[str, Any]],
    *,
    leaves: tuple[str, ...] = (),
    work: Work | Memory | None = None,
    listen: tuple[Callable, ...] = (),
    seconds: float = PATIENCE,
    seed: int = 0,
    default: torch.dtype = torch.float32,
) -> Outcome:
    """Call an answer once.

    Args:
        answer: the reader's function.
        make: makes the arguments by name, in order, anew at each call and each time the same.
        leaves: the arguments whose gradients are wanted.
        work: notes what is computed.
        listen: functions whose calls are noted.
        seconds: computing time after which it is stopped, give or take a twentieth of a second.
        seed: of all random generators, so that an answer that draws gives one verdict.
        default: the dtype of tensors that are made without one; the reader's notebook may have another.

    Returns:
        The outcome; nothing is ever raised but KeyboardInterrupt.
    """
    given, before = make(), make()
    roots = {}
    for name in leaves:
        roots[name] = given[name].detach().requires_grad_()
        given[name] = (
            roots[name] * 1.0
        )  # not a leaf: work in place is reported as such, not as autograd's error
    outcome = Outcome(work=work)
    calls = Calls(listen) if listen else contextlib.nullcontext()
    computed, clock = time.process_time(), time.monotonic()
    try:
        with surroundings(seed, default), outcome.work or contextlib.nullcontext(), calls:
            outcome.value = within(seconds, lambda: _finished(answer(*given.values())))
    except KeyboardInterrupt:
        raise
    except Endless:
        outcome.failed = outcome.endless = True
        computed, clock = time.process_time() - computed, time.monotonic() - clock
        outcome.trouble = f"It does not stop: it was interrupted after {computed:.0f} seconds of computing, {clock:.0f} on the clock."
    except Hoarding as error:
        outcome.failed, outcome.trouble = True, str(error)
    except BaseException as error:  # an answer may even exit
        outcome.failed, outcome.trouble = True, said(error, answer)
    outcome.called = tuple(calls.seen) if listen else ()
    if not outcome.failed:
        outcome.trouble = _touched(before, given)
        outcome.slopes.update(zip(roots, _slopes(outcome, list(roots.values()), seed), strict=True))
    return outcome


def _finished(value: Any) -> Any:
    """Go through what a generator hands out."""
    return list(value) if isinstance(value, Iterator) else value


def _slopes(outcome: Outcome, roots: list[Tensor], seed: int) -> Sequence[Tensor | None]:
    """The gradients of a random projection of the output, which sees every entry of each of its tensors."""
    none: list[Tensor | None] = [None] * len(roots)
    draw = torch.Generator().manual_seed(seed + 1)
    try:
        probed = [
            (out, torch.randn(out.shape, generator=draw, dtype=torch.float64))
            for out in (_floats(outcome.value) if roots else ())
        ]
        probed = [(out, probe.to(out.dtype)) for out, probe in probed if out.requires_grad]
        if not probed:
            return none
        outs, probes = zip(*probed, strict=True)
        return torch.autograd.grad(outs, roots, probes, retain_graph=True, allow_unused=True)
    except RuntimeError as error:
        outcome.failed, outcome.trouble = True, f"The backward pass raised RuntimeError: {_first(error)}"
        return none


def _floats(value: Any) -> Iterator[Tensor]:
    """The tensors of an output that may have a gradient: it is one, or a tuple, list or dictionary of some."""
    if isinstance(value, Tensor):
        yield from [value] if value.is_floating_point() else []
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from _floats(one)
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from _floats(value[key])


def _touched(before: dict[str, Any], after: dict[str, Any]) -> str:
    for name, old in before.items():
        if not _same(old, after[name]):
            return f"It changed its argument {name} in place. Work on a copy: the caller still needs the original."
    return ""


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor):
        return a.shape == b.shape and torch.equal(a.nan_to_num(7e37), b.detach().nan_to_num(7e37))
    if callable(a) or isinstance(a, Iterator):
        return True
    return bool(a == b)


def said(error: BaseException, answer: Callable) -> str:
    """Say what was raised, with the line of the reader's own code where it happened.

    Args:
        error: the exception.
        answer: the reader's function or class.

    Returns:
        One sentence.
    """
    inner = _inner(answer)
    parts = vars(inner).values() if isinstance(inner, type) else (inner,)
    code = next((one.__code__ for one in parts if hasattr(one, "__code__")), None)
    text = (
        f"It raised {type(error).__name__}: {_first(error)}"
        if str(error)
        else f"It raised {type(error).__name__}"
    )
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if code is not None and frame.filename == code.co_filename
    ]
    line = own and linecache.getline(own[-1].filename, own[-1].lineno or 0).strip()
    return f"{text.rstrip('.')}, in the line `{line}`." if line else f"{text.rstrip('.')}."


def _first(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0]


def _inner(answer: Callable) -> Callable:
    while isinstance(answer, functools.partial):
        answer = answer.func
    answer = inspect.unwrap(answer)
    if not hasattr(answer, "__code__") and not isinstance(answer, type):
        answer = type(answer).__call__
    return getattr(answer, "__func__", answer)


_keeping = False


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Random numbers, torch's modes and defaults, and warnings go on afterwards as if nothing had been asked.

    Within another it does nothing: to ask numpy how far it is takes longer than most answers do, so whoever makes many
    calls does it once around all of them. As a decorator, `@kept()`. It stands outside of `within`: what ends an
    endless answer is thrown at every step until it is out, and may hit what tidies up on its way.
    """
    global _keeping
    if _keeping:
        yield
        return
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    default, graded = torch.get_default_dtype(), torch.is_grad_enabled()
    with warnings.catch_warnings():
        try:
            _keeping = True
            yield
        finally:
            _keeping = False
            random.setstate(states[0])
            np.random.set_state(states[1])  # noqa: NPY002
            torch.set_rng_state(states[2])
            torch.set_default_dtype(default)
            torch.set_grad_enabled(graded)


@contextlib.contextmanager
def surroundings(seed: int, dtype: torch.dtype) -> Iterator[None]:
    """Seeds, modes and defaults as they are in a fresh kernel, and as they were afterwards."""
    default = torch.get_default_dtype()
    with kept(), torch.random.fork_rng(devices=[]), torch.enable_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Not torch.manual_seed: for each kind of device it keeps a traceback, more work than most answers do.
        torch.default_generator.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        torch.set_default_dtype(dtype)
        try:
            yield
        finally:
            torch.set_default_dtype(default)


def copies(value: Any) -> Any:
    """Copy an argument; functions and the engine's own objects stay what they are."""
    if isinstance(value, Tensor):
        return value.clone()
    return value if callable(value) else copy.deepcopy(value)
