"""The last cell of a chapter holds all that it built: it runs by itself, on torch alone."""

import ast
import json
import sys
from pathlib import Path

import pytest
import torch

from attnbook.checks.instruments import Work

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


def test_what_all_heads_share_is_not_copied_for_each():
    (path,) = (path for path in CHAPTERS if path.stem.endswith("todays_models"))
    (at,) = tagged(path)
    kept = {"__name__": "kept"}
    exec(compile("".join(cells(path)[at]["source"]), path.stem, "exec"), kept)
    n, heads, r, d_r = 2000, 16, 64, 16
    layer = kept["Latent"](32, heads, r, 8, d_r)
    with torch.no_grad(), Work() as work:
        layer(torch.randn(1, 1, 32), torch.randn(1, n, r + d_r))
    assert work.largest == (n + 1) * (r + d_r), "what is kept, with one row more; scores are fewer"


def test_a_choice_that_was_read_before_trains_no_indexer_in_silence():
    (path,) = (path for path in CHAPTERS if path.stem.endswith("sparse_attention"))
    (at,) = tagged(path)
    kept = {"__name__": "kept"}
    exec(compile("".join(cells(path)[at]["source"]), path.stem, "exec"), kept)
    chosen = kept["Indexer"](8, top=4)(torch.randn(1, 20, 8), size=8)
    weights = torch.full((1, 20, 20), 1 / 20)
    assert kept["imitation"](chosen, weights).requires_grad
    with pytest.raises(ValueError, match="0 queries of 20 have a choice"):
        kept["imitation"](chosen, weights)


@by_name
def test_more_than_a_screen_of_it_is_folded_on_its_page_and_nowhere_else(path):
    (at,) = tagged(path)
    cell = cells(path)[at]
    assert ("hide-input" in cell["metadata"]["tags"]) == (len(cell["source"]) > 60)
    reader = cells(ROOT / "notebooks" / path.name)
    assert (
        "jupyter"
        not in next(one for one in reader if "".join(cell["source"]) in "".join(one["source"]))["metadata"]
    )
