"""Each notebook of _toc.yml, alone and cold: nbval runs it and compares every stored output."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from unittest import mock

import nbformat
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import notebooks
from notebook_form import WIDGET_VIEW, normalise, of_toc, text

NOTEBOOKS = of_toc()


def by_name(path: Path) -> str:
    return path.stem


def nbval(*paths: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "pytest", "-rA", "-c", str(HERE / "nbval.ini"), "-p", "nbval_sockets"]
    command += [
        f"--rootdir={ROOT}",
        "--nbval",
        "--nbval-current-env",
        "--nbval-kernel-startup-timeout=600",
        "--nbval-sanitize-with",
        str(HERE / "sanitize.cfg"),
        *map(str, paths),
    ]
    stricter = os.environ | {"PYTHONSTARTUP": str(HERE / "tolerances.py")}
    return subprocess.run(
        command, cwd=HERE, env=stricter, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )


def test_every_notebook_is_in_the_table_of_contents():
    assert {path.name for path in (ROOT / "chapters").glob("*.ipynb")} == {path.name for path in NOTEBOOKS}


@pytest.fixture(scope="session")
def cold(request) -> str:
    """Run all notebooks that this session asks for, each in a kernel of its own; return what nbval says."""
    asked = [item for item in request.session.items if "cold" in item.fixturenames]
    done = nbval(*(item.callspec.params["path"] for item in asked))
    assert done.returncode in (0, 1), done.stdout[-6000:] + done.stderr[-2000:]  # all passed, or some did not
    return done.stdout


@pytest.mark.parametrize("path", NOTEBOOKS, ids=by_name)
def test_a_cold_run_gives_the_stored_outputs(path, cold):
    source = path.read_text(encoding="utf-8")
    if "pretrained.load_" in source:
        # Here: it loads torch, for which each of the other notebooks would wait.
        from attnlab.pretrained.files import MODELS, WeightsError, fetch

        # Without the weights its cells say so and show less: nothing to compare with what is stored.
        try:
            [fetch(name) for name in MODELS]
        except WeightsError as error:
            pytest.skip(str(error))
    cells = sum(cell.cell_type == "code" for cell in nbformat.reads(source, as_version=4).cells)
    ended = re.findall(rf"^([A-Z]+) \S*/{re.escape(path.name)}\b", cold, re.MULTILINE)
    assert ended == ["PASSED"] * cells, cold[-12000:]


def test_a_stored_output_that_is_wrong_is_noticed(tmp_path):
    cell = nbformat.v4.new_code_cell("print(1 + 1)", execution_count=1)
    cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text="3\n")]
    path = tmp_path / "wrong.ipynb"
    path.write_text(text(normalise(nbformat.v4.new_notebook(cells=[cell]))))
    done = nbval(path)
    assert done.returncode == 1
    assert "1 failed" in done.stdout


@pytest.mark.parametrize(
    ("check", "holds"),
    [
        ("assert torch.allclose(x, x + 5e-5, atol=1e-4)", False),  # on another processor it may be 2e-4
        ("assert torch.allclose(x, x + 3e-5, atol=1e-4)", True),
        ("assert not torch.allclose(x, x + 2e-4, atol=1e-4)", False),
        ("assert not torch.allclose(x, x + 4e-4, atol=1e-4)", True),
        ("assert (x - 5e-5).abs().max() < 1e-4", False),
        ("assert (x - 3e-5).abs().max() < 1e-4", True),
        ("assert x.sum() - 0.5 < 0", True),  # no tolerance
    ],
)
def test_a_tolerance_is_three_times_what_is_measured(check, holds):
    shell = InteractiveShell()
    with mock.patch("torch.allclose", torch.allclose):
        exec((HERE / "tolerances.py").read_text(), {"get_ipython": lambda: shell})
        done = shell.run_cell(f"import torch\nx = torch.zeros(3, dtype=torch.float64)\n{check}")
    assert done.success == holds


@pytest.mark.parametrize("path", NOTEBOOKS, ids=by_name)
def test_it_is_stored_in_the_normal_form(path):
    stored = path.read_text(encoding="utf-8")
    assert stored == text(normalise(nbformat.reads(stored, as_version=4)))
    assert WIDGET_VIEW not in stored


@pytest.mark.parametrize("path", NOTEBOOKS, ids=by_name)
def test_every_cell_was_run_in_order_and_none_shows_a_warning(path):
    code = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert code
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    for cell in code:
        for output in cell.outputs:
            assert output.output_type != "error" or "raises-exception" in cell.metadata.get("tags", [])
            assert output.get("name") != "stderr", f"stderr below {cell.source[:60]!r}: {output.text[:200]}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=by_name)
def test_no_cell_hides_how_far_a_training_is(path):
    # A bar comes after two seconds and is never stored: no cell has to switch it off.
    assert "progress=" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=by_name)
def test_pictures_are_html_with_words_not_pixels(path):
    for cell in nbformat.read(path, as_version=4).cells:
        for output in cell.get("outputs", []):
            assert not any(kind.startswith("image/") for kind in output.get("data", {})), cell.source[:80]


def two_cells(compared, timed, code="time()"):
    cells = [nbformat.v4.new_code_cell("show()"), nbformat.v4.new_code_cell(code)]
    cells[1].metadata["tags"] = [notebooks.TIMED]
    for count, (cell, printed) in enumerate(zip(cells, (compared, timed), strict=True), 1):
        cell.execution_count = count
        cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=printed)]
    return normalise(nbformat.v4.new_notebook(cells=cells))


@pytest.mark.parametrize(
    ("again", "after"),
    [
        (("0.9", "7 ms"), ("0.9", "5 ms")),  # nothing but a time: the file stays as it is
        (("0.8", "7 ms"), ("0.8", "7 ms")),  # a new result: all is of one run
        (("0.9", "7 ms", "time(2)"), ("0.9", "7 ms", "time(2)")),  # as does new code
    ],
)
def test_what_is_stored_comes_from_one_run(tmp_path, monkeypatch, again, after):
    path = tmp_path / "one.ipynb"
    path.write_text(text(two_cells("0.9", "5 ms")))
    monkeypatch.setattr(notebooks, "run", lambda path: two_cells(*again))
    changed = again[::2] != ("0.9",)
    assert notebooks.run_all([path], check=True) == int(changed)
    assert path.read_text() == text(two_cells("0.9", "5 ms"))
    assert notebooks.run_all([path], check=False) == 0
    assert path.read_text() == text(two_cells(*after))
    assert notebooks.run_all([path], check=True) == 0


@pytest.mark.parametrize("path", NOTEBOOKS, ids=by_name)
def test_results_measured_anew_change_an_output_that_is_compared(path):
    # Else outputs that are not compared, and rest on the same results, would stay as they were.
    code = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    timed = [cell for cell in code if notebooks.TIMED in cell.metadata.get("tags", [])]
    if not timed:
        return
    compared = "".join(str(cell.outputs) for cell in code if cell not in timed)
    for stored in (ROOT / "benchmarks/results").glob("*.json"):
        made = json.loads(stored.read_text())
        if any(f'"{stored.stem}"' in cell.source for cell in code if "results" in cell.source):
            assert made.get("commit", made["made by"]) in compared, stored.stem
