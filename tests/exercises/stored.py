"""The cells of the chapters that belong to exercises, and how an answer is run."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import nbformat

HERE = Path(__file__).parent
CHAPTERS = HERE.parents[1] / "chapters"


def run(source: str, **names: object) -> dict:
    """Execute one answer as a notebook would, with what its chapter imports."""
    space: dict = {"check": lambda *_: None, **names}
    exec("import math\nimport torch\nfrom fractions import Fraction\nfrom attnlab import positions\n", space)
    with contextlib.redirect_stdout(io.StringIO()):
        exec(source, space)
    return space


def cells(role: str) -> dict[str, str]:
    """Collect the code of the cells with this role, by exercise, from every chapter."""
    found: dict[str, str] = {}
    for path in sorted(CHAPTERS.glob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.metadata.get("role") == role:
                name = cell.metadata["exercise"]
                assert name not in found, f"{name} has two {role} cells"
                found[name] = cell.source
    return found


STUBS, SOLUTIONS, CHECKS = cells("stub"), cells("solution"), cells("check")
