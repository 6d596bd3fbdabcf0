"""Hand code to a reader's test so that only what it does can be told of it: calls, and nothing else.

A notebook is no prison. What is refused here are the ways that a reader would think of: the source, the name,
the frame, the closure, the collector of garbage, the file, and keeping one candidate for the next.
"""

from __future__ import annotations

import builtins
import contextlib
import inspect
import math
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import torch
from torch import Tensor

HIDDEN = {
    *("__code__", "__closure__", "__globals__", "__func__", "__self__", "__defaults__", "__kwdefaults__"),
    *("__dict__", "__name__", "__qualname__", "__wrapped__", "__module__", "__doc__", "__reduce__"),
}
"""What a function has and what is handed out has not, where a reader's line asks for it."""
BANNED = {
    *("inspect", "gc", "dis", "ctypes", "_getframe", "_current_frames", "settrace", "setprofile"),
    *("addaudithook", "f_back", "f_locals", "f_code", "f_globals", "tb_frame", "gi_frame", "next_functions"),
    *("__code__", "__closure__", "__globals__", "__func__", "__getattribute__", "__subclasses__"),
    *("_exit", "abort", "kill", "attnbook.checkers", "checkers", "battery"),
}
"""Names that a test has no need of. Its code is read for them before it runs."""
WATCHED = {
    *("sys._getframe", "sys._current_frames", "gc.get_objects", "gc.get_referrers", "gc.get_referents"),
    *("object.__getattr__", "sys.settrace", "sys.setprofile", "open"),
}
"""What Python tells of while a test runs, of whatever name it is called by."""
CODE = str(Path(__file__).parent / "code")
BETWEEN = (inspect.__file__, "<frozen importlib._bootstrap>")
LIBRARY = (
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    *(str(Path(torch.__file__).parents[1]), str(Path(__file__).parents[1]), "<frozen", "<code>"),
)
HOLDERS = (torch, torch.nn, torch.nn.functional, torch.linalg, torch.autograd, torch.testing)
HOLDERS = (*HOLDERS, torch.Tensor, torch.nn.Module, torch.Generator, math, builtins)
"""What a test could patch. All of it is put back."""


class Peeking(BaseException):
    """A test looked at something else than what the code does. No Exception, so that no test catches it."""


@dataclass(eq=False)
class Call:
    """A call of what was handed out: the arguments as they were, and what it returned or raised."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    out: Any = None
    raised: str = ""


@dataclass(eq=False)
class Handle:
    """A function that was handed out: by which call, and how it was called since."""

    does: Callable
    parent: Call | None = None
    calls: list[Call] = field(default_factory=list)


@dataclass
class Session:
    """One run of a test with one candidate."""

    thread: int = field(default_factory=threading.get_ident)
    handles: list[Handle] = field(default_factory=list)
    given: list[Any] = field(default_factory=list)  # what was handed out stays alive, and its id its own
    count: int = 0
    inside: int = 0
    peeked: str = ""
    last: tuple[Handle, Call] | None = None

    def hand(self, does: Callable, parent: Call | None = None) -> Any:
        """Wrap a function."""
        handed = Handed()
        handle = Handle(does, parent)
        self.given.append(handed)
        self.handles.append(handle)
        _PARTS[id(handed)] = (self, handle)
        return handed

    def peek(self, what: str) -> None:
        """Note that the test looked where it must not, and end it."""
        self.peeked = self.peeked or what
        raise Peeking(what)

    def close(self) -> None:
        """Take back all that was handed out."""
        for handed in self.given:
            _PARTS.pop(id(handed), None)

    def called(self, handle: Handle, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function that was handed out, and pass on what it does and nothing of how."""
        call = Call(tuple(map(_kept, args)), {name: _kept(x) for name, x in kwargs.items()})
        if handle.parent is None and handle.calls and not callable(handle.calls[-1].out):
            handle.calls.pop()  # of a plain function only the last call is needed
        handle.calls.append(call)
        self.last, self.count, self.inside = (handle, call), self.count + 1, self.inside + 1
        raised: Exception | None = None
        try:
            value = handle.does(*args, **kwargs)
        except Exception as error:
            raised = _bare(error)
        finally:
            self.inside -= 1
        if raised is not None:
            call.raised = f"{type(raised).__name__}: {raised}"
            raise raised
        if callable(value) and not isinstance(value, Tensor):
            call.out = value
            return self.hand(value, call)
        call.out = _kept(value)
        return value


_PARTS: dict[int, tuple[Session, Handle]] = {}
_NOW: list[Session] = []


class Handed:
    """Something to call. It has no name, no code, and is never the same twice."""

    __slots__ = ("__weakref__",)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the code."""
        return _found(self).called(args, kwargs)

    def __repr__(self) -> str:
        return "<the code under test>"

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return Handed
        if name in HIDDEN and _NOW and not _NOW[-1].inside and _by_reader(sys._getframe(1)):
            _NOW[-1].peek(f"It asks the code for {name}.")
        if name == "__name__":
            return "code"
        if name == "__signature__":
            return inspect.signature(_found(self).handle.does)
        raise AttributeError(name)


@dataclass(frozen=True)
class _Part:
    session: Session
    handle: Handle

    def called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.session.called(self.handle, args, kwargs)


def _found(handed: Any) -> _Part:
    found = _PARTS.get(id(handed))
    if found is None:
        if _NOW:
            _NOW[-1].peek("It keeps what it was given for other code.")
        raise Peeking("What was handed out for a test is gone when the test is over.")
    return _Part(*found)


def _kept(value: Any) -> Any:
    if isinstance(value, Tensor):
        try:
            return value.detach().clone()
        except RuntimeError:  # inside a transform of torch.func
            return value
    return value


def _bare(error: Exception) -> Exception:
    """The same exception without the frames that it came through."""
    try:
        made = type(error)(*error.args)
    except Exception:
        made = RuntimeError(str(error))
    return made


def _by_reader(frame: FrameType) -> bool:
    return not frame.f_code.co_filename.startswith(LIBRARY)


_HOOKED: list[bool] = []
_BUSY: list[bool] = []


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if not _NOW or _BUSY or event not in WATCHED:
        return
    session = _NOW[-1]
    if session.inside or threading.get_ident() != session.thread:
        return
    _BUSY.append(True)
    try:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename in (
            inspect.__file__,
            "<frozen importlib._bootstrap>",
        ):
            frame = frame.f_back
        reader = frame is not None and _by_reader(frame)
    finally:
        _BUSY.clear()
    if event == "open":
        if str(args[0]).startswith(CODE):
            session.peek("It reads the file in which the code stands.")
    elif reader:
        what = args[1] if event == "object.__getattr__" else event
        session.peek(f"It looks at {what}.")


@contextlib.contextmanager
def session() -> Iterator[Session]:
    """Open a session: watch where a test looks, and take back at the end what was handed out."""
    if not _HOOKED:
        _HOOKED.append(True)
        sys.addaudithook(_audit)
    one = Session()
    _NOW.append(one)
    try:
        yield one
    finally:
        _NOW.remove(one)
        one.close()


def suspicious(tests: Callable) -> str:
    """Say what a test's code names that no test needs, or return an empty text.

    Functions that it calls by a name of its own module or notebook are read, too.

    >>> suspicious(lambda code: code.__code__.co_code)
    '__code__'
    """
    waiting, seen = [tests], set()
    while waiting:
        one = waiting.pop()
        code = getattr(one, "__code__", None)
        if not isinstance(code, CodeType) or code in seen:
            continue
        seen.add(code)
        for part in _codes(code):
            texts = [x for x in part.co_consts if isinstance(x, str)]
            for name in (*part.co_names, *texts):
                if name in BANNED or name.startswith("attnbook.checkers"):
                    return name
        around = getattr(one, "__globals__", {})
        names = {name for part in _codes(code) for name in part.co_names}
        cells = [cell.cell_contents for cell in getattr(one, "__closure__", None) or () if _full(cell)]
        others = [around.get(name) for name in names] + cells
        waiting += [x for x in others if isinstance(x, FunctionType) and _made_by_reader(x)]
        for module in others:
            if isinstance(module, ModuleType) and module.__name__ in BANNED:
                return module.__name__
    return ""


def _full(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _made_by_reader(value: Any) -> bool:
    code = getattr(value, "__code__", None)
    return isinstance(code, CodeType) and not code.co_filename.startswith(LIBRARY)


def _of_library(name: str, value: Any) -> bool:
    """Say whether a library put its own function anew: torch wraps some when its compiler is loaded."""
    return (
        hasattr(value, "__code__") and not _made_by_reader(value) and getattr(value, "__name__", "") == name
    )


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes(one)


@contextlib.contextmanager
def unpatched(changed: list[str]) -> Iterator[None]:
    """Put back whatever is changed in torch, in `math` and among the built-in functions, and name it.

    Args:
        changed: the names are added here.
    """
    before = [(holder, dict(vars(holder))) for holder in HOLDERS]
    before[0][1].pop("Storage")  # it follows the default dtype, which is anybody's
    threads = torch.get_num_threads()
    try:
        yield
    finally:
        for holder, names in before:
            now = dict(vars(holder))
            for name, value in now.items():
                ours = not isinstance(holder, ModuleType) and not _of_library(name, value)
                if name not in names and (ours or _made_by_reader(value)):
                    delattr(holder, name)
                    changed.append(f"{holder.__name__}.{name}")
            for name, value in names.items():
                new = now.get(name, changed)
                if new is not value and not name.startswith("__") and not _of_library(name, new):
                    setattr(holder, name, value)
                    changed.append(f"{holder.__name__}.{name}")
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)


@contextlib.contextmanager
def bounded(room: int) -> Iterator[None]:
    """Let a test take so many bytes more than there are in use, where the system can say no.

    Args:
        room: in bytes.
    """
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = pages * resource.getpagesize() + room
        if soft != resource.RLIM_INFINITY:
            most = min(most, soft)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    except (ImportError, OSError, ValueError):  # no such limit on this system
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
