"""What is installed: a small library that needs torch alone, and the package with all that the book uses."""

import ast
import importlib.metadata as metadata
import os
import re
import shutil
import subprocess
import sys
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import nbformat
import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "_ext"))

from attnlab_book import chapters

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
OFFLINE = ["--no-index", "--no-deps"]
PLACES = {"attnlab": ".", "attnbook": "src/attnbook"}
FIRST_EIGHT = [chapter for chapter in chapters.read(ROOT) if chapter.number in range(1, 9)]
LARGEST = 230_000
"""Bytes that the library's wheel may have."""
LEAST = 10
"""Statements of mathematics that each of the first chapters has: fewer, and nothing would be tried."""

TRIES_EVERY_MODULE = """
import importlib, pkgutil, sys, attnlab
for module in pkgutil.walk_packages(attnlab.__path__, "attnlab."):
    importlib.import_module(module.name)
print(len(sys.modules))
"""
USES_TORCH_ALONE = """
import torch, attnlab
from attnlab import attention, linear, masks, sparse, transformer
q = k = v = torch.randn(1, 2, 40, 8)
want = attention(q, k, v, mask=masks.window(40, 3, 0))
assert torch.allclose(sparse.window(q, k, v, 3, 0), want, atol=1e-5)
assert linear.linear_attention(q, k, v, is_causal=True).shape == q.shape
assert attnlab.MultiHeadAttention(16, 4, rotary=True)(torch.randn(1, 5, 16)).shape == (1, 5, 16)
assert transformer.Encoder(d_model=8, n_heads=2, n_layers=2)(torch.randn(1, 5, 8)).shape == (1, 5, 8)
"""
ASKS_FOR_WEIGHTS = """
from attnlab import pretrained
for load in (pretrained.load_minilm, pretrained.load_smollm2):
    try:
        load()
    except ModuleNotFoundError as error:
        print(error.name, error)
"""


def files_of(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The files that git tracks, without anything that was built beside them."""
    folder = tmp_path_factory.mktemp("tree")
    names = ["src/attnlab", "src/attnbook", "benchmarks/results", "pyproject.toml", "README.md", "LICENSE"]
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", *names],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    for name in listed:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def wheels(tree, tmp_path_factory):
    before, found = files_of(tree), {}
    for name, place in PLACES.items():
        folder = tmp_path_factory.mktemp(name)
        # With the pinned backend of requirements.txt: no index is asked.
        command = [*PIP, "wheel", *OFFLINE, "--no-build-isolation", "-w", folder, tree / place]
        subprocess.run(command, check=True)
        (found[name],) = folder.iterdir()
    assert files_of(tree) == before, "building left files in the tree"
    return found


def needs(wheel, extra=""):
    (name,) = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("/METADATA")]
    text = zipfile.ZipFile(wheel).read(name).decode()
    asked = [Requirement(line) for line in re.findall(r"^Requires-Dist: (.+)$", text, re.MULTILINE)]
    return {need.name for need in asked if not need.marker or need.marker.evaluate({"extra": extra})}


@pytest.fixture(scope="module")
def site(wheels, tmp_path_factory):
    """A folder with the library's wheel, torch and what torch asks for: what `pip install attnlab` brings."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run([*PIP, "install", *OFFLINE, "--target", folder, wheels["attnlab"]], check=True)
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
        asked = [Requirement(text) for text in found.requires or ()]
        waiting += [need.name for need in asked if not need.marker or need.marker.evaluate({"extra": ""})]
    return folder


def run_in(site, code):
    # -I and -S: no variables, no user's folder, no site-packages; only the standard library and `site`.
    command = [sys.executable, "-I", "-S", "-B", "-c", f"import sys; sys.path.append({str(site)!r})\n{code}"]
    return subprocess.run(command, capture_output=True, text=True, cwd=site)


def contents(wheel):
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def test_the_librarys_wheel_is_small_and_holds_the_library_alone(tree, wheels):
    assert contents(wheels["attnlab"]) == {f"attnlab/{name}" for name in files_of(tree / "src/attnlab")}
    assert wheels["attnlab"].stat().st_size < LARGEST


def test_the_books_wheel_holds_its_package_and_the_stored_results(tree, wheels):
    names = contents(wheels["attnbook"])
    stored = {f"attnbook/stored/{name}" for name in files_of(tree / "benchmarks/results")}
    assert {"attnbook/stored/costs.json", "attnbook/stored/real-model-reference.safetensors"} < stored
    beside = {"attnbook/pyproject.toml", "attnbook/LICENSE", "attnbook/NOTICE"}
    assert names == stored | {f"attnbook/{name}" for name in files_of(tree / "src/attnbook")} - beside
    assert {"attnbook/attnbook.mplstyle", "attnbook/tagging/data/tagger.safetensors"} < names
    assert any(re.fullmatch(r"attnbook/static/\w+\.js", name) for name in names)


def told(wheel):
    """Read what a wheel says of its licences: their texts by name, and the lines of its metadata."""
    held = zipfile.ZipFile(wheel)
    texts = {
        name.rpartition("/")[2]: held.read(name).decode()
        for name in held.namelist()
        if ".dist-info/licenses/" in name
    }
    (name,) = [name for name in held.namelist() if name.endswith("/METADATA")]
    return texts, held.read(name).decode().splitlines()


@pytest.mark.parametrize(
    ("name", "files", "terms"),
    [("attnlab", {"LICENSE"}, "MIT"), ("attnbook", {"LICENSE", "NOTICE"}, "MIT AND CC-BY-SA-4.0")],
)
def test_a_wheel_carries_the_licences_of_all_that_is_in_it(wheels, name, files, terms):
    texts, lines = told(wheels[name])
    assert texts.keys() == files
    assert f"License-Expression: {terms}" in lines
    assert {f"License-File: {file}" for file in files} <= set(lines)
    assert texts["LICENSE"] == (ROOT / "LICENSE").read_text()
    assert "Permission is hereby granted, free of charge" in texts["LICENSE"]


def test_the_notice_names_whatever_the_books_wheel_holds_that_is_no_code_of_ours(wheels):
    notice = told(wheels["attnbook"])[0]["NOTICE"]
    for link in (
        "https://creativecommons.org/licenses/by-sa/4.0/",
        "https://universaldependencies.org/treebanks/en_ewt/index.html",
        "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2",
        "https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct",
        "https://www.apache.org/licenses/LICENSE-2.0",
    ):
        assert link in notice
    named = re.findall(r"(?:stored|static|tagging/data)/[\w*.-]+", notice)
    # What is measured here is ours; figures are built from src/widgets.
    stored = r"stored/(?:real-model-|configurations).*"
    learned = rf"attnbook/(?:.*-model\.js|.*\.safetensors|static/.*\.json|{stored})"
    held = [
        name.removeprefix("attnbook/") for name in contents(wheels["attnbook"]) if re.fullmatch(learned, name)
    ]
    assert len(held) > 8
    assert [one for one in held if not any(fnmatch(one, pattern) for pattern in named)] == []
    assert [pattern for pattern in named if not any(fnmatch(one, pattern) for one in held)] == []


def test_the_library_asks_for_torch_alone_and_both_have_one_version(wheels):
    assert needs(wheels["attnlab"]) == {"torch"}
    assert needs(wheels["attnlab"], "pretrained") == {"torch", "gguf", "numpy", "safetensors", "tokenizers"}
    assert "attnlab" in needs(wheels["attnbook"])
    assert len({wheel.name.split("-")[1] for wheel in wheels.values()}) == 1


def test_attention_runs_where_torch_is_all_there_is(site):
    done = run_in(site, USES_TORCH_ALONE + f"assert attnlab.__file__.startswith({str(site)!r})")
    assert done.returncode == 0, done.stderr


def test_every_module_of_the_library_is_imported_where_torch_is_all_there_is(site):
    done = run_in(site, TRIES_EVERY_MODULE)
    assert done.returncode == 0, done.stderr


def mathematics(cells):
    """Keep the cells that need torch, the library and the standard library alone.

    What is from elsewhere goes, and with it every cell that uses it, or a name that only such a cell makes.
    """
    kept, missing = [], set()
    for cell in cells:
        tree = ast.parse(cell)
        for node in list(tree.body):
            if isinstance(node, ast.Import | ast.ImportFrom):
                of = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
                if of.partition(".")[0] not in {"attnlab", "torch", *sys.stdlib_module_names}:
                    missing |= {(name.asname or name.name).partition(".")[0] for name in node.names}
                else:
                    kept.append(ast.unparse(node))
                tree.body.remove(node)
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
        makes = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        makes |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        if {node.id for node in names if isinstance(node.ctx, ast.Load)} & missing:
            missing |= makes
        elif tree.body:
            missing -= makes
            kept.append(ast.unparse(tree))
    return kept


def test_the_mathematics_of_the_first_chapters_runs_where_torch_is_all_there_is(site):
    each = []
    for chapter in FIRST_EIGHT:
        cells = nbformat.read(ROOT / f"{chapter.page}.ipynb", as_version=4).cells
        code = [cell.source for cell in cells if cell.cell_type == "code" and "%pip" not in cell.source]
        kept = mathematics(code)
        assert len(kept) >= LEAST, (
            f"{chapter.topic} has {len(kept)} statements of mathematics on torch and attnlab alone; "
            f"a chapter of the first {len(FIRST_EIGHT)} needs {LEAST}"
        )
        each.append(f"torch.set_default_dtype(torch.float32)\nexec({chr(10).join(kept)!r}, {{}})")
    # One process, which loads torch once; each chapter has names of its own.
    done = run_in(site, "import torch\n" + "\n".join(each))
    assert done.returncode == 0, done.stderr


def test_the_loaders_of_weights_say_what_is_missing(site):
    done = run_in(site, ASKS_FOR_WEIGHTS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f'{name} published weights are read with {name}: pip install "attnlab[pretrained]"'
        for name in ("safetensors", "gguf")
    ]


def test_a_notebook_alone_finds_the_stored_results(wheels, tmp_path):
    (tmp_path / "alone").mkdir()
    for wheel in wheels.values():
        zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = "from attnbook import results; print(results.folder()); results.show('tagging')"
    there = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "alone", env=there, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found, _, shown = done.stdout.partition("\n")
    assert Path(found) == tmp_path / "site/attnbook/stored"
    assert "made by python benchmarks/tagging.py" in shown
