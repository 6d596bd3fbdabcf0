"""What is installed: the wheel holds the package and its stored results, and attention needs torch alone."""

import importlib.metadata as metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from attnlab import book

ROOT = Path(__file__).resolve().parents[1]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
OFFLINE = ["--no-index", "--no-deps"]

USES_TORCH_ALONE = """
import torch, attnlab
from attnlab import attention, linear, masks, sparse
q = k = v = torch.randn(1, 2, 40, 8)
want = attention(q, k, v, mask=masks.window(40, 3, 0))
assert torch.allclose(sparse.window(q, k, v, 3, 0), want, atol=1e-5)
assert linear.linear_attention(q, k, v, is_causal=True).shape == q.shape
assert attnlab.MultiHeadAttention(16, 4, rotary=True)(torch.randn(1, 5, 16)).shape == (1, 5, 16)
assert attnlab.benchmark and attnlab.KVCache
"""

BOOK = {"book", "checks", "experiments", "plots", "results", "tables", "tagging", "widgets"}
TRIES_EVERY_MODULE = """
import importlib, json, pkgutil, attnlab
said = {}
for module in pkgutil.walk_packages(attnlab.__path__, "attnlab.", onerror=lambda name: None):
    try:
        importlib.import_module(module.name)
    except Exception as error:
        said[module.name] = [type(error).__name__, str(error)]
    else:
        said[module.name] = None
print(json.dumps(said))
"""


ASKS_FOR_WEIGHTS = """
from attnlab import pretrained
for load in (pretrained.load_minilm, pretrained.load_smollm2):
    try:
        load()
    except ImportError as error:
        print(type(error).__name__, error)
"""


def files_of(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The files that git tracks, without anything that was built beside them."""
    folder = tmp_path_factory.mktemp("tree")
    names = ["src/attnlab", "benchmarks/results", "scripts/build_wheel.py"]
    names += ["pyproject.toml", "README.md", "LICENSE"]
    listed = subprocess.run(
        ["git", "ls-files", *names], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for name in listed:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def wheel(tree, tmp_path_factory):
    before, folder = files_of(tree), tmp_path_factory.mktemp("wheel")
    # With the pinned backend of requirements.txt: no index is asked.
    subprocess.run([*PIP, "wheel", *OFFLINE, "--no-build-isolation", "-w", folder, tree], check=True)
    assert files_of(tree) == before, "building left files in the tree"
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory):
    """A folder with the wheel, torch and what torch asks for: all that `pip install attnlab` brings."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run([*PIP, "install", *OFFLINE, "--target", folder, wheel], check=True)
    waiting, there = ["torch"], set()
    while waiting:
        name = waiting.pop()
        if name in there:
            continue
        there.add(name)
        found = metadata.distribution(name)
        for file in found.files or ():
            top, source = folder / file.parts[0], Path(found.locate_file(file.parts[0]))
            if file.parts[0] != ".." and not top.exists():
                top.symlink_to(source.resolve())
        needs = [Requirement(text) for text in found.requires or ()]
        waiting += [need.name for need in needs if not need.marker or need.marker.evaluate({"extra": ""})]
    return folder


def run_in(site, code):
    # -I and -S: no variables, no user's folder, no site-packages; only the standard library and `site`.
    command = [sys.executable, "-I", "-S", "-B", "-c", f"import sys; sys.path.append({str(site)!r})\n{code}"]
    return subprocess.run(command, capture_output=True, text=True, cwd=site)


def test_the_wheel_holds_every_file_of_the_package_and_the_stored_results(tree, wheel):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    stored = {f"attnlab/stored/{name}" for name in files_of(tree / "benchmarks/results")}
    assert {"attnlab/stored/costs.json", "attnlab/stored/real-model-reference.safetensors"} < stored
    assert names == stored | {str(Path("attnlab", name)) for name in files_of(tree / "src/attnlab")}
    assert {"attnlab/attnlab.mplstyle", "attnlab/tagging/data/tagger.safetensors"} < names
    assert any(re.fullmatch(r"attnlab/static/\w+\.js", name) for name in names)


def test_it_asks_for_torch_alone_and_the_book_is_an_extra(wheel):
    (name,) = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("/METADATA")]
    text = zipfile.ZipFile(wheel).read(name).decode()
    needs = [Requirement(line) for line in re.findall(r"^Requires-Dist: (.+)$", text, re.MULTILINE)]
    assert [need.name for need in needs if not need.marker] == ["torch"]
    extra = {need.name for need in needs if need.marker and need.marker.evaluate({"extra": "book"})}
    assert extra == {name.lower() for name in book.NEEDS}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(project["optional-dependencies"]) == {"book"}


def test_attention_runs_where_torch_is_all_there_is(site):
    done = run_in(site, USES_TORCH_ALONE + f"assert attnlab.__file__.startswith({str(site)!r})")
    assert done.returncode == 0, done.stderr


def test_a_notebook_alone_finds_the_stored_results(wheel, tmp_path):
    (tmp_path / "alone").mkdir()
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = "from attnlab import results; print(results.folder()); results.show('tagging')"
    there = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "alone", env=there, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found, _, shown = done.stdout.partition("\n")
    assert Path(found) == tmp_path / "site/attnlab/stored"
    assert "made by python benchmarks/tagging.py" in shown


def test_what_needs_the_book_says_so(site):
    done = run_in(site, TRIES_EVERY_MODULE)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    refused = {name: text for name, text in said.items() if text}
    for name, (kind, text) in refused.items():
        assert kind == "ImportError", f"{name}: {kind}: {text}"
        assert 'pip install "attnlab[book]"' in text, f"{name}: {text}"
        assert "matplotlib" in text
    top = {name for name in said if name.count(".") == 1}
    assert {f"attnlab.{name}" for name in BOOK} == refused.keys() & top


def test_the_loaders_of_weights_say_what_is_missing(site):
    done = run_in(site, ASKS_FOR_WEIGHTS)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert line.startswith("ImportError this part of attnlab needs")
        assert line.endswith('pip install "attnlab[book]"')
