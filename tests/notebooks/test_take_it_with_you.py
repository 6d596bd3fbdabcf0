"""The last cell of a chapter holds all that it built: it runs by itself, on torch alone."""

import ast
import json
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]
TAG = "take-it-with-you"
"""The tag of the cell; the one after it holds the assertion that the package computes the same."""


def cells(path: Path) -> list[dict]:
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def tagged(path: Path) -> list[int]:
    return [at for at, cell in enumerate(cells(path)) if TAG in cell["metadata"].get("tags", ())]


CHAPTERS = [path for path in sorted((ROOT / "chapters").glob("[0-9]*.ipynb")) if tagged(path)]
by_name = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)


def modules(source: str) -> set[str]:
    """Name what a cell imports, by its first part."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    return names


@by_name
def test_it_runs_by_itself_on_torch_alone(path):
    (at,) = tagged(path)
    source = "".join(cells(path)[at]["source"])
    assert modules(source) <= {"torch", *sys.stdlib_module_names}, modules(source)
    default, draw = torch.get_default_dtype(), torch.get_rng_state()
    try:
        torch.set_default_dtype(torch.float32)
        exec(compile(source, f"{path.stem}, the code to take along", "exec"), {"__name__": "kept"})
    finally:
        torch.set_default_dtype(default)
        torch.set_rng_state(draw)


@by_name
def test_the_next_cell_holds_it_equal_to_the_package(path):
    (at,) = tagged(path)
    following = cells(path)[at + 1]
    assert following["cell_type"] == "code"
    assert "assert" in "".join(following["source"])
