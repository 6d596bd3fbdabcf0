"""Runs every kind of test and ends with a table of what passed and how long it took.

The long step that trains taggers runs beside the others: two cores are enough for both.
"""

from __future__ import annotations

import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence

import dev_setup

ROOT = dev_setup.ROOT
BESIDE = ("unit and doctests",)


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
    began = time.monotonic()
    beside = [
        _Beside(name, chosen.pop(name), variables) for name in BESIDE if name in chosen and len(chosen) > 1
    ]
    results = [_run(name, command, variables) for name, command in chosen.items()]
    results += [step.result() for step in beside]
    print(f"\n{'step':<22}{'':<8}{'s':>6}")
    for name, code, seconds in results:
        print(f"{name:<22}{'passed' if code == 0 else 'FAILED':<8}{seconds:>6.1f}")
    failed = sum(code != 0 for _, code, _ in results)
    print(f"{'all, side by side':<22}{'':<8}{time.monotonic() - began:>6.1f}\n")
    print(f"{len(results) - failed} passed, {failed} failed")
    return int(failed > 0)


def _run(name: str, command: list[str], variables: dict[str, str]) -> tuple[str, int, float]:
    print(f"\n── {name}", flush=True)
    began = time.monotonic()
    code = subprocess.run(command, cwd=ROOT, env=variables, stdin=subprocess.DEVNULL).returncode
    return name, code, time.monotonic() - began


class _Beside:
    """A step that runs while others do; its output is shown when it is asked for its result."""

    def __init__(self, name: str, command: list[str], variables: dict[str, str]) -> None:
        print(f"── {name}: running beside the others", flush=True)
        self.name, self.began = name, time.monotonic()
        self.output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the result is read
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=variables, stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output
        )
        self.ended = 0.0
        self.watch = threading.Thread(target=self._wait, daemon=True)
        self.watch.start()

    def _wait(self) -> None:
        self.process.wait()
        self.ended = time.monotonic()

    def result(self) -> tuple[str, int, float]:
        """Wait for the end, show the output, say how it went."""
        self.watch.join()
        self.output.seek(0)
        print(f"\n── {self.name}\n{self.output.read().decode(errors='replace')}", flush=True)
        self.output.close()
        return self.name, self.process.returncode, self.ended - self.began
