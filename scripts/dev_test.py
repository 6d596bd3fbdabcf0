"""Runs every kind of test, a step more at a time than there are cores, and ends with a table of what passed.

Each step is one process that keeps one core busy, so that all cores have work to the end: the long steps
start first, and the notebooks are several. A step's output is shown when it ends, so that two never mix.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

import dev_setup

ROOT = dev_setup.ROOT
AT_ONCE = 1 + max(2, min(os.cpu_count() or 2, 8))
"""One more than cores: a test in a browser and its browser wait for one another."""


class Result(NamedTuple):
    """How a step ended."""

    name: str
    code: int
    seconds: float
    computed: float
    """Processor seconds, the step's own processes included; 0 where the system does not tell."""
    output: str


def steps(python: str = dev_setup.python()) -> dict[str, list[str]]:
    """Name each step and its command: what says most in a moment first, then the long ones, then the rest."""
    pytest = [python, "-m", "pytest", "-q", "--durations=5", "--durations-min=3"]
    run = "tests/notebooks/test_notebooks.py::test_a_cold_run_gives_the_stored_outputs"
    notebooks = sorted(path.stem for path in ROOT.glob("chapters/*.ipynb"))
    # A few at a time: starting pytest takes as long as many a cell.
    together = [notebooks[at : at + 6] for at in range(0, len(notebooks), 6)]
    browser = halves(
        sorted(ROOT.glob("tests/book/test_*.py"), key=lambda path: (-path.stat().st_size, path.name))
    )
    # node --test takes no folder on every version that we support.
    node_tests = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("tests/widgets/**/*.test.mjs"))
    return {
        "ruff check": [python, "-m", "ruff", "check", "--quiet", "."],
        "ruff format": [python, "-m", "ruff", "format", "--check", "--quiet", "."],
        "book in a browser, one half": [*pytest, *browser[0]],
        "exercises": [*pytest, "tests/exercises"],
        "unit and doctests": [*pytest, "tests/unit", "src", "tests/widgets"],
        "book in a browser, other half": [*pytest, *browser[1]],
        **{
            f"notebooks {', '.join(name.split('_')[0] for name in few)}": [
                *pytest,
                *(f"{run}[{name}]" for name in few),
            ]
            for few in together
        },
        "mutants": [*pytest, "tests/mutants"],
        "notebooks as stored": [*pytest, "tests/notebooks", "-k", "not cold_run"],
        "repository": [
            *pytest,
            "tests/test_repository.py",
            "tests/test_changing.py",
            "tests/test_clocks.py",
            "tests/test_torches.py",
            "tests/test_wheel.py",
        ],
        "figures (node)": ["node", "--test", *node_tests],
        "address": [python, "scripts/set_address.py", "--check"],
    }


def halves(files: Sequence[Path]) -> tuple[list[str], list[str]]:
    """Deal files out, each to the half that has less: their sizes tell about how long they take."""
    dealt: tuple[list[str], list[str]] = ([], [])
    sizes = [0, 0]
    for path in files:
        half = sizes.index(min(sizes))
        dealt[half].append(str(path.relative_to(ROOT)))
        sizes[half] += path.stat().st_size
    return sorted(dealt[0]), sorted(dealt[1])


def threads(given: Mapping[str, str]) -> dict[str, str]:
    """Give a step as many threads as OMP_NUM_THREADS asks for, or one: more than cores only wait."""
    many = given.get("OMP_NUM_THREADS", "1")
    return dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), many)


def kind(given: Mapping[str, str]) -> dict[str, str]:
    """Keep oneDNN from the AMX of a processor that torch is told not to use.

    Else torch's fused attention raises there in bfloat16. Held lower still, oneDNN lacks its LSTM in it.
    """
    lowered = given.get("ATEN_CPU_CAPABILITY") in ("default", "avx2")
    return {"ONEDNN_MAX_CPU_ISA": given.get("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")} if lowered else {}


def main(only: Sequence[str]) -> int:
    """Set up and run the steps whose names contain one of `only`, or all of them."""
    dev_setup.environment()
    if (ROOT / "package.json").exists():
        dev_setup.node_modules()
    variables = dev_setup.variables() | threads(os.environ) | kind(os.environ)
    variables["CHROMIUM"] = dev_setup.browser()
    chosen = {name: step for name, step in steps().items() if not only or any(word in name for word in only)}
    if not chosen:
        raise dev_setup.SetupError(f"no step is called {' or '.join(only)}; there are: {', '.join(steps())}")
    with tempfile.TemporaryDirectory() as built:
        # The first that needs the book builds it for the other.
        variables["ATTNLAB_BUILT"] = built
        return side_by_side({name: (command, variables) for name, command in chosen.items()})


def side_by_side(chosen: Mapping[str, tuple[list[str], dict[str, str]]]) -> int:
    """Run named commands, each with its variables, and say how they ended; return 0 if all did well."""
    began = time.monotonic()
    results = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        running = [pool.submit(_run, name, *how) for name, how in chosen.items()]
        for done in as_completed(running):
            results.append(result := done.result())
            print(f"\n── {result.name}\n{result.output}", flush=True)
    wide = max(len(result.name) for result in results) + 2
    print(f"\n{'step':<{wide}}{'':<8}{'s':>7}{'CPU s':>7}")
    for name, code, seconds, computed, _ in results:
        print(f"{name:<{wide}}{'FAILED' if code else 'passed':<8}{seconds:>7.1f}{computed:>7.1f}")
    computed = sum(result.computed for result in results)
    failed = sum(result.code != 0 for result in results)
    print(f"{'all, side by side':<{wide}}{'':<8}{time.monotonic() - began:>7.1f}{computed:>7.1f}\n")
    print(f"{len(results) - failed} passed, {failed} failed")
    return int(failed > 0)


def _run(name: str, command: list[str], variables: dict[str, str]) -> Result:
    print(f"… {name}", flush=True)
    began = time.monotonic()
    # A file, not a pipe: wait4 is what tells the processor seconds, and it reads nothing.
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        computed = 0.0
        if hasattr(os, "wait4"):
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            computed = used.ru_utime + used.ru_stime
        code = process.wait()
        output.seek(0)
        text = output.read().decode("utf-8", errors="replace")
    return Result(name, code, time.monotonic() - began, computed, text)
