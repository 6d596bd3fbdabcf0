"""Timing that survives a busy machine: candidates take turns, and only ratios and medians are kept.

A clock read once tells about the machine as much as about the code. So `compare` runs the candidates one
after the other, again and again: a slow spell hits all of them, and the ratio within a round hardly feels it.
"""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

Clock = Callable[[], float]


@dataclass(frozen=True)
class Comparison:
    """The seconds of every candidate, round by round.

    Args:
        seconds: name -> (rounds,) seconds; entry r of every list was measured in the same round.

    >>> result = Comparison({"slow": [2.0, 4.0, 8.0], "fast": [1.0, 1.0, 4.0]})
    >>> result.median("slow"), result.spread("slow"), result.ratio("slow", "fast")
    (4.0, 0.5, 2.0)
    """

    seconds: Mapping[str, Sequence[float]]

    def median(self, name: str) -> float:
        """Return the median seconds of one candidate."""
        return statistics.median(self.seconds[name])

    def spread(self, name: str) -> float:
        """Return how far half of the rounds lie from the median at most, as a share of it."""
        middle = self.median(name)
        return statistics.median(abs(second - middle) for second in self.seconds[name]) / middle

    def ratio(self, slow: str, fast: str) -> float:
        """Return how many times as long `slow` takes: the median of the ratios within each round."""
        pairs = zip(self.seconds[slow], self.seconds[fast], strict=True)
        return statistics.median(a / b for a, b in pairs)

    def summary(self, base: str | None = None) -> dict[str, dict[str, float]]:
        """Return medians, spreads and, with `base`, "times base": how often each fits into its time."""
        out = {}
        for name in self.seconds:
            out[name] = {"median": self.median(name), "spread": self.spread(name)}
            if base is not None:
                out[name]["times base"] = self.ratio(base, name)
        return out


def compare(
    candidates: Mapping[str, Callable[[], object]],
    *,
    repeats: int = 7,
    warmup: int = 1,
    clock: Clock = time.perf_counter,
) -> Comparison:
    """Time functions side by side: in every round each runs once, and every round starts with another one.

    Args:
        candidates: name -> function without arguments; what it returns is dropped.
        repeats: number of rounds.
        warmup: rounds that run first and are not counted.
        clock: seconds as a function; `time.process_time` counts the seconds this process computed, which on a
            shared CPU is steadier than the time on the wall. A GPU is waited for before each reading.

    Returns:
        The seconds of each candidate in each round, with medians, spreads and ratios.

    Raises:
        ValueError: there is no candidate, or `repeats` is smaller than 1.

    >>> seconds = iter([0, 1, 1, 4])  # a clock that is read before and after each
    >>> result = compare({"a": int, "b": int}, repeats=1, warmup=0, clock=lambda: next(seconds))
    >>> result.ratio("b", "a")
    3.0
    """
    if not candidates:
        raise ValueError("candidates must name at least one function, got none")
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, got {repeats}")
    names = list(candidates)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(-warmup, repeats):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            _wait()
            start = clock()
            candidates[name]()
            _wait()
            spent = clock() - start
            if turn >= 0:
                seconds[name].append(max(spent, 1e-9))
    return Comparison(seconds)


@dataclass(frozen=True)
class Slope:
    """A power law y = factor · n^exponent, fitted on logarithms; `error` is the exponent's standard error."""

    exponent: float
    error: float
    factor: float


def slope(n: Sequence[float], y: Sequence[float]) -> Slope:
    """Fit the exponent of a power law: the slope of log y over log n, by least squares.

    Args:
        n: sizes, two different ones at least.
        y: what was measured at each size, positive.

    Returns:
        The exponent, its standard error (NaN with two points), and the factor in front.

    Raises:
        ValueError: fewer than two sizes, different lengths, or a number that has no logarithm.

    >>> fit = slope([1, 2, 4], [3, 12, 48])
    >>> round(fit.exponent, 6), round(fit.factor, 6)
    (2.0, 3.0)
    """
    if len(n) != len(y) or len(set(n)) < 2:
        raise ValueError(
            f"n and y must be equally long and hold two sizes at least, got {len(n)} and {len(y)} numbers"
        )
    if min(n) <= 0 or min(y) <= 0:
        raise ValueError(f"n and y must be positive to have logarithms, got {list(n)} and {list(y)}")
    a, b = [math.log(value) for value in n], [math.log(value) for value in y]
    mean_a, mean_b = statistics.fmean(a), statistics.fmean(b)
    square = sum((x - mean_a) ** 2 for x in a)
    exponent = sum((x - mean_a) * (z - mean_b) for x, z in zip(a, b, strict=True)) / square
    start = mean_b - exponent * mean_a
    left = sum((z - start - exponent * x) ** 2 for x, z in zip(a, b, strict=True))
    error = math.sqrt(left / (len(n) - 2) / square) if len(n) > 2 else math.nan
    return Slope(exponent, error, math.exp(start))


def multiplications(function: Callable[[], object]) -> int:
    """Count the multiplications in the matrix products of a call; an addition goes with each.

    Torch's fused attention counts too, and counts whole even where a causal kernel skips the hidden half.

    >>> a = torch.ones(2, 3)
    >>> multiplications(lambda: a @ a.T), multiplications(lambda: torch.nn.functional.linear(a, a))
    (12, 12)
    """
    fused, formulas = "_scaled_dot_product_flash_attention_for_cpu", {}
    formulas[getattr(torch.ops.aten, fused)] = lambda q, k, v, *_, **__: sdpa_flop_count(q, k, v)
    formulas[getattr(torch.ops.aten, fused + "_backward")] = lambda *s, **_: sdpa_backward_flop_count(*s[:4])
    with FlopCounterMode(display=False, custom_mapping=formulas) as counter:
        function()
    return counter.get_total_flops() // 2


def longest_chain(out: torch.Tensor) -> int:
    """Count the calculations that had to wait for one another, as autograd recorded them.

    A calculation on whole tensors is one link, and so is a sum. Another code for the same numbers may have a
    shorter chain.

    Args:
        out: made from a tensor that asks for a gradient.

    Returns:
        Nodes on the longest way through the recorded graph, the inputs' own included.

    Raises:
        ValueError: nothing was recorded.

    >>> x = torch.ones(3, requires_grad=True)
    >>> longest_chain(x * 2), longest_chain((x * 2).exp() + x)
    (2, 4)
    """
    if out.grad_fn is None:
        raise ValueError("out must come from a tensor that asks for a gradient: nothing was recorded")
    depth: dict[object, int] = {}
    waiting = [out.grad_fn]
    while waiting:  # no recursion: a chain may be longer than Python's stack
        before = [node for node, _ in waiting[-1].next_functions if node is not None]
        missing = [node for node in before if node not in depth]
        waiting.extend(missing)
        if not missing:
            depth[waiting.pop()] = 1 + max((depth[node] for node in before), default=0)
    return depth[out.grad_fn]


# The peak of the resident memory can be reset on Linux; elsewhere a difference of peaks is a lower bound.
_WATCH = """
import pathlib, sys
def _peak():
    try:
        lines = pathlib.Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except OSError:
        import resource
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
def _reset():
    try:
        pathlib.Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass
"""


def peak_memory(statement: str, setup: str = "pass", *, timeout: float = 600) -> int:
    """Measure how many bytes a statement needs at its peak, beyond what `setup` left in memory.

    A fresh Python process runs `setup`, notes its memory, runs `statement`, and notes the peak: nothing that
    this process did before can hide in the answer.

    Args:
        statement: Python source to measure.
        setup: Python source that runs first; its names are visible to `statement`. Let it run the statement's
            code once on a small input, or the libraries that are loaded at the first call count too.
        timeout: seconds until the process is given up.

    Returns:
        Peak resident bytes minus the resident bytes before.

    Raises:
        RuntimeError: the process failed; the message ends with its own.

    >>> peak_memory("x = b'1' * 50_000_000") >= 40_000_000
    True
    """
    program = (
        f"{_WATCH}\n{setup}\n_reset()\n_before = _peak()\n{statement}\nprint('peak', _peak() - _before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=timeout, env=dict(os.environ)
    )
    if done.returncode:
        raise RuntimeError(f"the measured process failed ({done.returncode}): {done.stderr.strip()[-500:]}")
    return int(done.stdout.split()[-1])


def provenance(*packages: str) -> dict:
    """Describe where numbers come from: processor, threads, device, and the versions that made them.

    Args:
        packages: names of installed packages whose versions matter; a missing one is recorded as None.

    >>> provenance()["torch"] == torch.__version__
    True
    """
    cuda = torch.cuda.is_available()
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if cuda else None,
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "packages": {name: _version(name) for name in packages},
    }


def store(path: Path, results: dict) -> None:
    """Write numbers, texts, lists and dictionaries as JSON; an interruption leaves the old file whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".part")
    text = json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False)
    # A list of numbers on one line: curves would take a page each.
    text = re.sub(r'\[\n[^][{}"]*\]', lambda found: " ".join(found[0].split()), text)
    temporary.write_text(text + "\n")
    os.replace(temporary, path)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
