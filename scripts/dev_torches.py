"""Runs unit tests and exercises under the lowest torch that is promised, and under the newest there is.

Colab and everybody's own machine bring a torch of their own; .venv has one. So each of these has an
environment of its own, .torches/VERSION: the pinned packages, but another torch. Of that pip takes the build
for processors alone where it knows an index that has one (PIP_EXTRA_INDEX_URL, which the workflow sets), else
the one with CUDA's libraries, about 5 GB. The newest is asked for anew each time.
"""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from collections.abc import Sequence

import dev_setup
import dev_test

ROOT = dev_setup.ROOT
FOLDER = ROOT / ".torches"
NEWEST = "newest"
STEPS = ("unit and doctests", "exercises")


def lowest() -> str:
    """Return the lowest torch that pyproject.toml allows."""
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    (found,) = (need.removeprefix("torch>=") for need in needs if need.startswith("torch>="))
    return found


def pins(version: str) -> str:
    """Return the text of requirements.txt with another torch.

    Raises:
        SetupError: the version is neither a number nor "newest".
    """
    if version != NEWEST and not re.fullmatch(r"\d+(\.\d+)+", version):
        raise dev_setup.SetupError(f"a torch is called by its number, like 2.11, or {NEWEST}; got {version}")
    torch = "torch" if version == NEWEST else f"torch=={version}.*"
    text, found = re.subn(r"(?m)^torch==.+$", torch, (ROOT / "requirements.txt").read_text())
    assert found == 1
    return text


def main(versions: Sequence[str]) -> int:
    """Run the tests under some torches, or under the lowest and the newest."""
    wanted = {version: pins(version) for version in versions or (lowest(), NEWEST)}
    dev_setup.node_modules()
    chosen = {}
    for version, text in wanted.items():
        folder = FOLDER / version
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "requirements.txt").write_text(text)
        dev_setup.install(folder, folder / "requirements.txt")
        python = dev_setup.python(folder)
        asked = [python, "-c", "import torch; print(torch.__version__)"]
        torch = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        steps = dev_test.steps(python)
        variables = dev_setup.variables(folder) | dev_test.threads(os.environ) | dev_test.kind(os.environ)
        chosen |= {f"torch {torch}: {name}": (steps[name], variables) for name in STEPS}
    return dev_test.side_by_side(chosen)
