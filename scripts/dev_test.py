"""Runs every kind of test, one after the other, and ends with a table of what passed and how long it took."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence

import dev_setup

ROOT = dev_setup.ROOT


def steps() -> dict[str, list[str]]:
    """Name each step and its command, the quick ones first."""
    python = dev_setup.python()
    pytest = [python, "-m", "pytest", "-q", "--durations=5", "--durations-min=3"]
    # node --test takes no folder on every version that we support.
    node_tests = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("tests/widgets/**/*.test.mjs"))
    return {
        "ruff check": [python, "-m", "ruff", "check", "--quiet", "."],
        "ruff format": [python, "-m", "ruff", "format", "--check", "--quiet", "."],
        "address": [python, "scripts/set_address.py", "--check"],
        "figures (node)": ["node", "--test", *node_tests],
        "repository": [*pytest, "tests/test_repository.py"],
        "exercises": [*pytest, "tests/exercises"],
        "unit and doctests": [*pytest, "tests/unit", "src/attnlab", "tests/widgets"],
        "mutants": [*pytest, "tests/mutants"],
        "notebooks": [*pytest, "tests/notebooks"],
        "book in a browser": [*pytest, "tests/book"],
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
    results = []
    for name, command in chosen.items():
        print(f"\n── {name}", flush=True)
        began = time.monotonic()
        code = subprocess.run(command, cwd=ROOT, env=variables, stdin=subprocess.DEVNULL).returncode
        results.append((name, code, time.monotonic() - began))
    print(f"\n{'step':<22}{'':<8}{'s':>6}")
    for name, code, seconds in results:
        print(f"{name:<22}{'passed' if code == 0 else 'FAILED':<8}{seconds:>6.1f}")
    failed = sum(code != 0 for _, code, _ in results)
    print(f"{'all':<22}{'':<8}{sum(seconds for *_, seconds in results):>6.1f}\n")
    print(f"{len(results) - failed} passed, {failed} failed")
    return int(failed > 0)
