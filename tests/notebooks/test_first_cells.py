"""A notebook's first two code cells, set-up and imports, are enough to do any of its exercises."""

import json
from pathlib import Path

import nbformat
import pytest
import torch

from attnbook.checks.exercise import EXERCISES, OTHERS

ROOT = Path(__file__).parents[2]
NOTEBOOKS = [
    path for path in sorted((ROOT / "notebooks").glob("*.ipynb")) if '"role": "stub"' in path.read_text()
]


@pytest.fixture
def fresh_torch():
    """Some notebooks set a default; other tests have their own."""
    before = torch.get_default_dtype(), torch.is_grad_enabled(), torch.get_num_threads()
    yield
    torch.set_default_dtype(before[0])
    torch.set_grad_enabled(before[1])
    torch.set_num_threads(before[2])
    torch.set_printoptions(profile="default")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stubs_and_checks_run_after_the_first_two_cells(path, fresh_torch, capsys):
    code = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert code[0].source.startswith("# In Colab")
    space: dict = {}
    exec(code[1].source, space)
    seen = set()
    for cell in code[2:]:
        role, name = cell.metadata.get("role"), cell.metadata.get("exercise")
        if role == "stub":
            exec(cell.source, space)
        if role == "check":
            capsys.readouterr()
            exec(cell.source, space)
            assert capsys.readouterr().out == f"○ {(EXERCISES | OTHERS)[name].answer} is not written yet.\n"
            seen.add(name)
    assert seen
    solutions = [
        cell
        for cell in nbformat.read(ROOT / "chapters" / path.name, as_version=4).cells
        if cell.metadata.get("role") == "solution"
    ]
    assert {cell.metadata["exercise"] for cell in solutions} == seen
    space["check"] = space["check_tests"] = lambda *_: None
    for cell in solutions:
        exec(cell.source, space)  # what a solution calls is there, too


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_says_which_cells_its_exercises_need(path):
    said = [
        cell["source"] for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "markdown"
    ]
    (exercises,) = ["".join(text) for text in said if "## Exercises\n" in "".join(text)]
    assert "first two cells with code" in exercises
    assert "check()" in exercises
    assert "stub(" in exercises
