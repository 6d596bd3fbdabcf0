"""The stored goldens are what torch computes now, and the built scripts are what the sources give."""

import gzip
import importlib.util
import json
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
spec = importlib.util.spec_from_file_location("make_goldens", HERE / "make_goldens.py")
make_goldens = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_goldens)


def assert_same(stored, now, where="$"):
    """Compare numbers to a hair and everything else exactly."""
    if isinstance(now, float) or isinstance(stored, float):
        assert stored == pytest.approx(now, rel=1e-5 if "single" in where else 1e-11, abs=1e-13), where
    elif isinstance(now, dict):
        assert stored.keys() == now.keys(), where
        for key in now:
            assert_same(stored[key], now[key], f"{where}.{key}")
    elif isinstance(now, list | tuple):
        assert len(stored) == len(now), where
        for at, (a, b) in enumerate(zip(stored, now, strict=True)):
            assert_same(a, b, f"{where}[{at}]")
    else:
        assert stored == now, where


@pytest.mark.parametrize("name", make_goldens.GOLDENS)
def test_the_stored_goldens_are_current(name):
    assert_same(json.loads((HERE / f"goldens/{name}.json").read_text()), make_goldens.GOLDENS[name]())


def test_every_stored_file_has_its_maker():
    assert {path.stem for path in (HERE / "goldens").glob("*.json")} == set(make_goldens.GOLDENS)


def test_the_built_scripts_are_what_the_sources_give(tmp_path):
    subprocess.run(["node", "scripts/build_widgets.mjs", str(tmp_path)], cwd=ROOT, check=True)
    built = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.js"))
    figures = {path.name for path in (ROOT / "src/widgets").glob("*.js")} - {"host.js"}
    assert {"calculator.js", "lookup.js", "saturation.js", "tag.js"} <= figures
    assert {path.name for path in built} == {"attnlab.js", "search.js", "formulas.js"} | figures
    for path in built:
        assert (ROOT / path).read_bytes() == (tmp_path / path).read_bytes(), f"{path}: run `make widgets`"


def test_every_module_is_small_and_a_page_gets_the_host_and_its_own_figures():
    modules = [p for p in (ROOT / "src/attnbook/static").glob("*.js") if not p.name.endswith("-model.js")]
    assert modules
    for path in modules:
        if path.stem in ("playground", "design"):  # they train, and each stands once, on a page of its own
            assert len(gzip.compress(path.read_bytes())) < 29_000
        else:
            # A third of it on its way to a reader. A configuration is read by the same rules as in Python,
            # and it is said where each number comes from that its file leaves out;
            # its layers and its cache are drawn. The landing page's moves, and the calculator goes from stage
            # to stage.
            most = {"configuration": 42_500, "tag": 40_000, "calculator": 39_500}.get(path.stem, 37_000)
            assert path.stat().st_size < most, path.name
    assert [path.name for path in (ROOT / "_static").rglob("*.js")] == ["attnlab.js"]
    assert (ROOT / "_static/attnlab.js").stat().st_size < 4_000  # no page grows with the number of figures


def test_the_types_hold():
    done = subprocess.run(
        ["npx", "--no-install", "tsc", "-p", "tsconfig.json"], cwd=ROOT, capture_output=True
    )
    assert done.returncode == 0, done.stdout.decode()
