"""Run code that nobody vouches for in a process of its own, which a limit ends and which reports over a pipe.

What holds on every system that has process groups:

- The code starts in an empty folder of its own, which is its home, too. It is not told where anything else
  lies, and the environment of its caller stays outside.
- It ends after a time on the clock, with all that it started; memory and the size of a file are limited. What
  it prints goes nowhere, and its folder goes when it ends.
- A report counts if it carries a key that was drawn for this process. If anything else comes through the
  pipe, nothing counts; if the process ends early, that is told.

On Linux, by Landlock, each line where the kernel is newer than for the one before, it can besides

- write nothing outside its folder, and read nothing but the system, Python and its libraries;
- make no TCP connection;
- send no signal to any other process.

What does not hold: without Landlock the code can read and delete whatever its user can. Everywhere, what
reports and what is judged share a process: code that sets out to find the key in its memory finds it. It
can fill the disk while it runs. Root can lift the limits; and a process that leaves its group and clears its
environment lives on. Whoever does not trust a class grades it in a container without a network, as a user who
owns nothing, with the notebooks mounted read-only.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnbook import results

HEARD = 1024**2
"""Bytes of reports that are read."""
KIN = 64
"""Processes that there may be at once."""
FILE = 256 * 1024**2
"""Bytes of a file that may be written."""
CREATE, ADD, RESTRICT = 444, 445, 446
"""Linux's numbers of Landlock's calls, on every processor."""
MARK = "ATTNBOOK_APART"
"""The variable by which processes are known that left their group."""
KEPT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
"""What is passed on of the caller's environment."""
BOOT = (
    "import importlib, json, sys; job = json.load(sys.stdin); sys.path[:] = job['path']; "
    "importlib.import_module(job['module']).serve(job)"
)


@dataclass(frozen=True)
class Limits:
    """What code may take that runs apart.

    Args:
        seconds: on the clock, from start to end.
        memory: bytes, beyond what Python and torch take themselves.

    Raises:
        ValueError: one of them is not above 0, or no number.

    >>> Limits(seconds=0)
    Traceback (most recent call last):
    ValueError: seconds must be above 0, got 0
    """

    seconds: float = 300.0
    memory: float = 4 * 1024**3

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 < value < math.inf:
                raise ValueError(f"{name} must be above 0, got {value}")


def run_apart(module: str, work: Any, limits: Limits | None = None) -> tuple[list[Any], str]:
    """Call a module's `serve` in a new process.

    Args:
        module: its name. `serve(job)` begins with `enter(job)`, finds the work in `job["work"]`, reports with
            the function that it got from `enter`, and ends with `leave`.
        work: what it is given; JSON.
        limits: what it may take.

    Returns:
        What was reported, in order, and a sentence that says why it did not come to its end; empty where it
        did. There are no reports where something else wrote into the pipe.

    Raises:
        TypeError: the work is not JSON.
        OSError: no process can be started.

    >>> run_apart("attnbook.grading.isolation", "ping")
    (['ping'], '')
    """
    limits = limits or Limits()
    key, mark = secrets.token_hex(16), secrets.token_hex(16)
    # Not the folder that Python was started in: a file there could bear the name of a module.
    path = [one for one in sys.path if one and (Path(one) != Path.cwd() or (Path(one) / "attnbook").is_dir())]
    job = {"module": module, "work": work, "path": path, "key": key, "limits": vars(limits)}
    given = json.dumps(job).encode()
    heard = bytearray()
    with tempfile.TemporaryDirectory(prefix="attnbook-", ignore_cleanup_errors=True) as home:
        process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-X", "utf8", "-c", BOOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=home,
            env=_environment(home, mark),
            start_new_session=True,
        )
        reader = threading.Thread(target=_listen, args=(process.stdout, heard), daemon=True)
        try:
            reader.start()
            with contextlib.suppress(OSError):  # it ended before it had read; that is told below
                process.stdin.write(given)
                process.stdin.close()
            trouble = _wait(process, heard, limits, mark)
        finally:
            _end(process, mark)
            reader.join(2)
            with contextlib.suppress(OSError):
                process.stdin.close()
            if not reader.is_alive():
                process.stdout.close()
    reports, ended = _believed(bytes(heard), key)
    if reports is None:
        return [], "Something else than the judge wrote where verdicts are read, so none is believed."
    how = f"signal {-process.returncode}" if process.returncode < 0 else f"status {process.returncode}"
    return reports, "" if ended else trouble or f"Its process ended with {how} before all was done."


def _environment(home: str, mark: str) -> dict[str, str]:
    """Give a process what it needs, and nothing that is the caller's."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    places = dict.fromkeys(("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP", "IPYTHONDIR"), home)
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return kept | places | threads | {"MPLBACKEND": "Agg", "CUDA_VISIBLE_DEVICES": "", MARK: mark}


def _listen(pipe: Any, heard: bytearray) -> None:
    with contextlib.suppress(OSError, ValueError):
        while len(heard) <= HEARD and (piece := os.read(pipe.fileno(), 65536)):
            heard.extend(piece)


def _wait(process: subprocess.Popen, heard: bytearray, limits: Limits, mark: str) -> str:
    """Wait until a process ends or must be ended; then say why."""
    started = counted = time.monotonic()
    while process.poll() is None:
        now = time.monotonic()
        if now - started > limits.seconds:
            return f"It took more than {limits.seconds:g} seconds and was ended."
        if len(heard) > HEARD:
            return "It wrote without end where verdicts are read, and was ended."
        if now - counted > 0.5:
            counted = now
            if len(_kin(mark)) > KIN:
                return f"It started more than {KIN} processes and was ended."
        time.sleep(0.02)
    return ""


def _kin(mark: str) -> list[int]:
    """List the processes that carry the mark, where the system shows them: who left the group has it, too."""
    found, wanted = [], f"{MARK}={mark}".encode()
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (place / "environ").read_bytes():
                found.append(int(place.name))
    return found


def _end(process: subprocess.Popen, mark: str) -> None:
    """End a process and whatever it has started."""
    for _ in range(20):
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        left = [pid for pid in _kin(mark) if pid != process.pid]
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not left:
            break
        time.sleep(0.02)
    process.wait()


def _believed(heard: bytes, key: str) -> tuple[list[Any] | None, bool]:
    """Read the reports, and whether they came to their end; None if a line is not of the process's own."""
    *lines, rest = heard.split(b"\n")
    found: list[Any] = []
    for line in lines:
        try:
            record = json.loads(line)
            if not secrets.compare_digest(record["key"], key):
                return None, False
            found.append(record["report"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return None, False
    return [one for one in found if one is not None], found[-1:] == [None] and not rest


# What follows runs in the new process.


def enter(job: dict[str, Any]) -> Callable[[Any], None]:
    """Begin in a new process: limits are set, and the pipe is put aside.

    Args:
        job: as `run_apart` made it.

    Returns:
        What sends a report. A copy of the process that calls it ends.

    Raises:
        KeyError: the job is another.
    """
    home, key = os.getpid(), job["key"]
    pipe, nothing = os.fdopen(os.dup(1), "wb"), os.open(os.devnull, os.O_RDWR)
    for place in range(3):
        os.dup2(nothing, place)

    def tell(report: Any) -> None:
        if os.getpid() != home:  # somebody made a copy of this process
            os._exit(1)
        pipe.write(json.dumps({"key": key, "report": report}).encode() + b"\n")
        pipe.flush()

    _bound(**job["limits"])
    _confine(os.getcwd(), job["path"])
    return tell


def leave(tell: Callable[[Any], None]) -> None:
    """Say that all is done, and end the process, whatever else still wants to run in it.

    Args:
        tell: what `enter` gave.

    Raises:
        OSError: nobody listens any more.
    """
    tell(None)
    os._exit(0)


def serve(job: dict[str, Any]) -> None:
    """Report the work itself: the least that a module can do.

    Args:
        job: as `run_apart` made it.

    Raises:
        KeyError: the job is another.
    """
    tell = enter(job)
    tell(job["work"])
    leave(tell)


def _bound(seconds: float, memory: float) -> None:
    """Set the system's limits on this process, where it has them. They can't be taken back."""
    try:
        import resource
    except ImportError:
        return
    with contextlib.suppress(OSError, ValueError):
        memory += int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = {"AS": math.ceil(memory), "CPU": math.ceil(seconds) + 5, "FSIZE": FILE, "CORE": 0}
    for name, value in most.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (value, value))


def landlock() -> int:
    """Ask for the version of Landlock: 0 where there is none, 6 from where a process's signals are held, too.

    >>> landlock() >= 0
    True
    """
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, ctypes.CDLL(None).syscall(CREATE, None, ctypes.c_size_t(0), 1))


def _confine(home: str, path: Sequence[str]) -> None:
    """Let this process write in its folder and read the system's and Python's, where Linux can see to it."""
    version = landlock()
    if not version:
        return
    system = ctypes.CDLL(None)
    files = (1 << (16 if version >= 5 else 15 if version >= 3 else 14 if version >= 2 else 13)) - 1
    # All kinds of access to files; to bind and to connect; abstract sockets and signals.
    rules = (ctypes.c_uint64 * 3)(files, 3, 3)
    known = ctypes.c_size_t(24 if version >= 6 else 16 if version >= 4 else 8)
    held = system.syscall(CREATE, ctypes.byref(rules), known, 0)
    read, execute, write_file = 0b1100, 0b1, 0b10
    python = [*path, sys.prefix, sys.base_prefix, sys.exec_prefix]
    with contextlib.suppress(FileNotFoundError):
        python.append(str(results.folder()))
    shared = ["/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", "/sys", "/dev"]
    granted = [(place, read | execute) for place in (*python, *shared) if Path(place).is_dir()]
    for place, access in [*granted, (home, files), (os.devnull, 0b100 | write_file)]:
        opened = os.open(place, os.O_PATH | os.O_CLOEXEC)
        rule = access.to_bytes(8, sys.byteorder) + opened.to_bytes(4, sys.byteorder)
        system.syscall(ADD, held, 1, rule, 0)
        os.close(opened)
    system.prctl(38, 1, 0, 0, 0)  # no new privileges, without which nobody may restrict himself
    system.syscall(RESTRICT, held, 0)
    os.close(held)
