"""Runs every kind of test, two steps at a time, and ends with a table of what passed and how long it took.

A step's output is shown when it ends, so that two never mix. The long steps start first.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

import dev_setup

ROOT = dev_setup.ROOT
AT_ONCE = 2
"""Steps side by side: each uses one core most of the time."""


def steps() -> dict[str, list[str]]:
    """Name each step and its command: what says most in a moment first, then the long ones, then the rest."""
    python = dev_setup.python()
    pytest = [python, "-m", "pytest", "-q", "--durations=5", "--durations-min=3"]
    # node --test takes no folder on every version that we support.
    node_tests = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("tests/widgets/**/*.test.mjs"))
    return {
        "ruff check": [python, "-m", "ruff", "check", "--quiet", "."],
        "ruff format": [python, "-m", "ruff", "format", "--check", "--quiet", "."],
        "book in a browser": [*pytest, "tests/book"],
        "notebooks": [*pytest, "tests/notebooks"],
        "unit and doctests": [*pytest, "tests/unit", "src/attnlab", "tests/widgets"],
        "mutants": [*pytest, "tests/mutants"],
        "exercises": [*pytest, "tests/exercises"],
        "repository": [*pytest, "tests/test_repository.py"],
        "address": [python, "scripts/set_address.py", "--check"],
        "figures (node)": ["node", "--test", *node_tests],
    }


def main(only: Sequence[str]) -> int:
    """Set up and run the steps whose names contain one of `only`, or all of them."""
    dev_setup.environment()
    if (ROOT / "package.json").exists():
        dev_setup.node_modules()
    variables = dev_setup.variables() | {"CHROMIUM": dev_setup.browser()}
    chosen = {name: step for name, step in steps().items() if not only or any(word in name for word in only)}
    if not chosen:
        raise dev_setup.SetupError(f"no step is called {' or '.join(only)}; there are: {', '.join(steps())}")
    began = time.monotonic()
    results = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        running = [pool.submit(_run, name, command, variables) for name, command in chosen.items()]
        for done in as_completed(running):
            name, code, seconds, output = done.result()
            print(f"\n── {name}\n{output}", flush=True)
            results.append((name, code, seconds))
    print(f"\n{'step':<22}{'':<8}{'s':>6}")
    for name, code, seconds in results:
        print(f"{name:<22}{'passed' if code == 0 else 'FAILED':<8}{seconds:>6.1f}")
    failed = sum(code != 0 for _, code, _ in results)
    print(f"{'all, side by side':<22}{'':<8}{time.monotonic() - began:>6.1f}\n")
    print(f"{len(results) - failed} passed, {failed} failed")
    return int(failed > 0)


def _run(name: str, command: list[str], variables: dict[str, str]) -> tuple[str, int, float, str]:
    print(f"… {name}", flush=True)
    began = time.monotonic()
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    return name, done.returncode, time.monotonic() - began, done.stdout
