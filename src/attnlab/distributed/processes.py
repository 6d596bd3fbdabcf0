"""Start some processes on this machine, let all run one function, and end all when one fails."""

from __future__ import annotations

import contextlib
import linecache
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from multiprocessing import connection
from typing import Any

import torch
import torch.distributed as dist

from attnlab.arguments import at_least
from attnlab.distributed.traffic import Communicator

WORDS = 200
"""Bytes in which a process says what it does, where the one that started it can read them at any time."""
GRACE = 0.5
"""Seconds for a process to be found dead, once another has complained of it."""
AT_START = "loads torch and meets the others"
Job = Callable[..., Any] | str


class ProcessError(RuntimeError):
    """One of the processes died, raised an error, or did not end in time; all have been ended.

    Attributes:
        rank: which one.
    """

    def __init__(self, rank: int, message: str) -> None:
        super().__init__(message)
        self.rank = rank

    def __reduce__(self):
        return type(self), (self.rank, str(self))


def run(
    job: Job, world: int, *args: Any, limit: float = 120.0, backend: str = "gloo", threads: int = 1
) -> list:
    """Let processes of this machine run a function together, and return what each of them returned.

    In a script, call it under `if __name__ == "__main__":`, for each process reads the script, too. In a
    notebook no process can see what a cell defines: keep the function in a module, or give its source.

    Args:
        job: a function that can be imported, or Python source in which a function `main` is defined. It is
            called with a `Communicator` and `args`.
        world: how many processes.
        args: what can be pickled.
        limit: seconds on the clock until all must have ended, their start included.
        backend: "gloo" between processes of any machine, "nccl" where each has a GPU of its own.
        threads: of torch, in each process.

    Returns:
        Results in order of rank.

    Raises:
        ProcessError: a process died, raised an error or did not end in time. It names the rank and what it
            was doing; none of the processes is left.

    >>> run("def main(comm, x): return comm.rank, comm.size, x", 1, "hello")
    [(0, 1, 'hello')]
    """
    start = time.monotonic()
    with Processes(world, limit=limit, backend=backend, threads=threads) as processes:
        return processes.run(job, *args, limit=max(limit - (time.monotonic() - start), 0.0))


class Processes:
    """Processes of this machine that wait for functions to run together: started once, used many times.

    Used as a context, they end with it; they also end with the process that started them. They meet in a file
    of their own and talk by ports that the system chooses: two such groups never collide.

    Args:
        world: how many.
        limit: seconds on the clock for their start, and for each `run` that has no other.
        backend: "gloo" or "nccl".
        threads: of torch, in each process.
        check: as in `Communicator`.

    Raises:
        ProcessError: one did not start.
    """

    def __init__(
        self,
        world: int,
        *,
        limit: float = 120.0,
        backend: str = "gloo",
        threads: int = 1,
        check: bool = True,
    ) -> None:
        at_least(1, world=world, threads=threads)
        self.world, self.limit = world, limit
        self._folder = tempfile.TemporaryDirectory(prefix="attnlab-", ignore_cleanup_errors=True)
        # A fork server imports torch once for all; where there is none, each process does.
        context = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
        if sys.platform == "linux":
            context.set_forkserver_preload(["attnlab.distributed"])
        self._lines, self._words, self._processes = [], [], []
        store = os.path.join(self._folder.name, "meet")
        try:
            for rank in range(world):
                ours, theirs = context.Pipe()
                words = context.RawArray("c", WORDS)
                words.value = AT_START.encode()
                settings = (rank, world, store, backend, threads, check)
                process = context.Process(target=_serve, args=(theirs, words, *settings), daemon=True)
                process.start()
                theirs.close()
                self._lines.append(ours)
                self._words.append(words)
                self._processes.append(process)
            self._collect(limit)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pids(self) -> list[int]:
        """The system's numbers of the processes, in order of rank; none once they have ended."""
        return [process.pid for process in self._processes]

    def run(self, job: Job, *args: Any, limit: float | None = None) -> list:
        """Let all processes run a function, and return what each returned.

        Args:
            job: as in `run`.
            args: what can be pickled.
            limit: seconds on the clock; that of the group unless given.

        Returns:
            Results in order of rank.

        Raises:
            ProcessError: one died, raised an error or did not end in time. All are ended.
            RuntimeError: they have been ended before.
            ValueError: the function can't be found by another process.
        """
        if not self._processes:
            raise RuntimeError("the processes have ended: start others")
        message = _packed(job, args)
        for rank, line in enumerate(self._lines):
            with contextlib.suppress(OSError):  # it is dead, which is found below
                line.send_bytes(message)
                self._words[rank].value = b"begins"
        return self._collect(self.limit if limit is None else limit)

    def close(self) -> None:
        """End all processes, whatever they do."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join()
            process.close()
        for line in self._lines:
            line.close()
        self._processes, self._lines = [], []
        self._folder.cleanup()

    def _collect(self, limit: float) -> list:
        """Wait for what each returned; end all as soon as one fails."""
        results: dict[int, Any] = {}
        failed: dict[int, str] = {}
        end = time.monotonic() + limit
        try:
            while len(results) < self.world:
                left = {line: rank for rank, line in enumerate(self._lines) if rank not in results | failed}
                ready = connection.wait(list(left), max(end - time.monotonic(), 0.0)) if left else []
                for line in ready:
                    rank = left[line]
                    try:
                        kind, value = pickle.loads(line.recv_bytes())
                    except (EOFError, OSError):  # its end of the line is gone, and it with it
                        kind, value = "dead", None
                    if kind == "result":
                        results[rank] = value
                    elif kind == "raised":
                        failed[rank] = value
                        end = min(end, time.monotonic() + GRACE)
                    else:
                        raise self._dead(rank)
                if not ready:
                    raise self._late(results, failed, limit)
        except BaseException:
            self.close()
            raise
        return [results[rank] for rank in range(self.world)]

    def _doing(self, rank: int) -> str:
        return self._words[rank].value.decode(errors="replace")

    def _dead(self, rank: int) -> ProcessError:
        process = self._processes[rank]
        process.join(5)
        code = process.exitcode
        how = f"was ended by {signal.Signals(-code).name}" if code and code < 0 else f"ended with {code}"
        message = f"rank {rank} {how}; its last words: {self._doing(rank)!r}"
        if self._doing(rank) == AT_START and code == 1:
            message += '. Is a script\'s call of this under `if __name__ == "__main__":`?'
        return ProcessError(rank, f"{message}. {self._others({rank})}")

    def _late(self, results: dict, failed: dict[int, str], limit: float) -> ProcessError:
        if failed:
            rank = next(iter(failed))
            return ProcessError(
                rank, f"rank {rank} raised an error. {self._others({rank} | set(results))}\n\n{failed[rank]}"
            )
        late = [rank for rank in range(self.world) if rank not in results]
        # Who waits for a message is late because another one is.
        rank = min(late, key=lambda rank: self._doing(rank).startswith("waits for"))
        message = f"after {limit:g} s rank {rank} has not ended; its last words: {self._doing(rank)!r}"
        return ProcessError(rank, f"{message}. {self._others({rank} | set(results))}")

    def _others(self, known: set[int]) -> str:
        each = (f"rank {r}: {self._doing(r)!r}" for r in range(self.world) if r not in known)
        return f"All have been ended. The others' last words: {', '.join(each) or 'none was at work'}"


def _packed(job: Job, args: tuple) -> bytes:
    if not isinstance(job, str) and getattr(job, "__module__", None) == "__main__":
        import __main__

        if not hasattr(__main__, "__file__"):  # a notebook, or the interpreter
            raise ValueError(
                f"no other process can see {job.__name__}, which a cell defines: give its source as a string "
                "that defines main(comm, ...), or keep it in a module"
            )
    try:
        return pickle.dumps((job, args))
    except (AttributeError, pickle.PicklingError) as error:
        raise ValueError(f"job and args must be known to other processes: {error}") from error


def _serve(line, words, rank: int, world: int, store: str, backend: str, threads: int, check: bool) -> None:
    """Do in a process of its own what is asked for, until the line is cut."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who pressed the keys is the parent, which ends this one
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo0" if sys.platform == "darwin" else "lo")
    torch.set_num_threads(threads)
    if backend == "nccl":
        torch.cuda.set_device(rank)

    def listener(what: str) -> None:
        words.value = what.encode()[: WORDS - 1]

    def reply(kind: str, value: Any) -> None:
        line.send_bytes(pickle.dumps((kind, value)))

    try:
        dist.init_process_group(
            backend, init_method=f"file://{store}", rank=rank, world_size=world, timeout=timedelta(days=1)
        )
    except Exception:
        reply("raised", traceback.format_exc())
        return
    reply("result", None)
    while True:
        try:
            message = line.recv_bytes()
        except (EOFError, OSError):
            return
        try:
            job, args = pickle.loads(message)
            job = _main_of(job) if isinstance(job, str) else job
            listener(f"runs {getattr(job, '__name__', job)}")
            reply("result", job(Communicator(check=check, listener=listener), *args))
        except Exception:
            reply("raised", traceback.format_exc())


def _main_of(source: str) -> Callable:
    """Run source, and return its function `main`; a traceback shows its lines."""
    name = f"<source {abs(hash(source))}>"
    if name not in linecache.cache:
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names: dict[str, Any] = {"__name__": "attnlab_job"}
    exec(compile(source, name, "exec"), names)
    if not callable(names.get("main")):
        raise ValueError("the source must define a function main(comm, ...)")
    return names["main"]


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    connection.wait([parent.sentinel])
    os._exit(1)
