"""End a call that does not stop, also one that catches whatever is thrown into it."""

from __future__ import annotations

import ctypes
import functools
import itertools
import random
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

LONGEST = 60.0
"""Seconds on the clock after which a call counts as endless in any case: it may wait instead of computing."""
GLANCE = 0.05
"""Seconds between two looks at a call."""


class Endless(BaseException):
    """Thrown into an answer that does not stop. Not an Exception, so that an answer does not catch it by chance."""


class _Thrown(Endless):
    """The first of them."""

    def __init__(self, *_: object) -> None:
        # This runs in the thread it was thrown into. From here on another one comes at every line, so that where this
        # one is caught the next comes in the handler, which no `try` of its own protects.
        if _WATCHDOG.watches(threading.get_ident()):
            _insist(sys._getframe(1))


def _throw(thread: int) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_Thrown))


def _insist(frame: FrameType | None) -> None:
    """Throw at every other line or so of this frame and of those that called it, down to the watchdog's own."""
    # A tracer that raises is taken off, and one written in Python would be hit itself. So it is C all through: its
    # arguments (frame, event, more) are too many for the function, which does not mind, and what it returns, the
    # tracer of the next line, is drawn: there is no thread 0. At *every* line, CPython 3.12 would come back into the
    # `try` for ever.
    types = (ctypes.c_ulong, *[ctypes.py_object] * 4)
    throw = ctypes.PYFUNCTYPE(ctypes.c_int, *types)(("PyThreadState_SetAsyncExc", ctypes.pythonapi))
    again, not_now = (functools.partial(throw, thread, Endless) for thread in (threading.get_ident(), 0))
    turns = random.Random(0).choices((again, not_now), k=97)
    throw.restype = functools.partial(next, itertools.cycle(turns))
    while frame is not None and frame.f_code.co_filename != __file__:
        frame.f_trace = again
        frame = frame.f_back
    sys.settrace(again)


@dataclass
class _Watched:
    """A call: its thread, the seconds that it may compute, and the time on the clock at which it ends anyway."""

    thread: int
    seconds: float
    clock: float
    trace: Any
    computed: float = 0.0
    seen: float | None = None  # the process's computing time at the last look
    thrown: bool = False


class _Watchdog:
    """Throws `Endless` into a thread that has computed for too long. Works without signals, so on every system."""

    def __init__(self) -> None:
        self._lock, self._wake = threading.Lock(), threading.Event()
        self._watched: _Watched | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread that looks, if it does not run yet."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._guard, daemon=True)
            self._thread.start()

    def watches(self, thread: int) -> bool:
        """Say whether a call in this thread is watched."""
        one = self._watched
        return one is not None and one.thread == thread

    def call(self, seconds: float, function: Callable[[], Any]) -> Any:
        """See `within`."""
        self.start()
        clock = time.monotonic() + max(LONGEST, 20 * seconds)
        one = self._watched = _Watched(threading.get_ident(), seconds, clock, sys.gettrace())
        self._wake.set()
        # What is thrown in the last moment arrives here, not later in the reader's notebook. (It must not be taken
        # back: CPython 3.11 then keeps looking for it at every step.) One may be on its way when the call ends, and
        # another until the lock is held; so the last of three releases comes to its end.
        try:
            try:
                try:
                    value = function()
                finally:
                    self._watched = None
                    sys.settrace(one.trace)
                    self._release(one)
            finally:
                sys.settrace(one.trace)
                self._release(one)
        finally:
            self._release(one)
            if one.thrown:
                raise Endless
        return value

    def _release(self, one: _Watched) -> None:
        with self._lock:
            self._watched = None
            self._wake.clear()
        for _ in range(20 * one.thrown):
            time.sleep(0.001)

    def _guard(self) -> None:
        while True:
            self._wake.wait()
            time.sleep(GLANCE)
            with self._lock:
                one = self._watched
                if one is not None and self._late(one):
                    one.thrown = True
                    _throw(one.thread)

    def _late(self, one: _Watched) -> bool:
        # Read here and not where the call begins: most calls are over before, and the clock is slow.
        now = time.process_time()
        # To look at its frames takes memory, which would be counted as the call's own: only where it takes long.
        if one.computed > one.seconds / 2 and _importing(one.thread):
            one.clock += GLANCE
        elif one.seen is not None:
            one.computed += now - one.seen
        one.seen = now
        return one.computed > one.seconds or time.monotonic() > one.clock


def _importing(thread: int) -> bool:
    frame = sys._current_frames().get(thread)
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


_WATCHDOG = _Watchdog()


def within(seconds: float, function: Callable[[], Any]) -> Any:
    """Call a function that may compute for so many seconds.

    What the thread spends on imports does not count: they may take long, and they end.

    Args:
        seconds: of computing, of all threads together; twenty times as much on the clock, and no less than `LONGEST`: a busy machine
            gives a call a small share of its time.
        function: what is called. It is stopped between two steps of Python's, not within one of torch's.

    Returns:
        What the function returned.

    Raises:
        Endless: it took longer, whatever it did when it was told.

    >>> within(1.0, lambda: 2 + 2)
    4
    """
    return _WATCHDOG.call(seconds, function)
