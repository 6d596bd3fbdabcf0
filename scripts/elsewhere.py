"""Runs a reader's notebook where nothing of the book is: as in Colab, whose torch is of another version.

elsewhere.py notebooks/NAME.ipynb ...    with the Python that calls this; needs torch, ipykernel, nbclient

The set-up cell of the first one fetches the repository into an empty folder, from here and not from its
address, and installs it beside the torch that is there. The others run in that folder, as in a session that
was started again. Fails if a cell fails, if torch was replaced, or if a check says anything else than that
nothing is written yet.
"""

from __future__ import annotations

import re
import sys
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parent.parent
CLONED = re.compile(r"https://github\.com/[\w-]+/[\w.-]+(?: attnlab)?")
ASKS = """import importlib.metadata, attnlab
print(importlib.metadata.version("torch"), attnlab.__file__)"""


def prepared(notebook: NotebookNode, source: str) -> NotebookNode:
    """Let the set-up cell fetch from `source`, and ask at the end which torch and which attnlab were used.

    Raises:
        ValueError: the first cell of code fetches no repository.
    """
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    first.source, found = CLONED.subn(f"{source} attnlab", first.source)
    if not found:
        raise ValueError("the first cell of code fetches no repository")
    notebook.cells.append(nbformat.v4.new_code_cell(ASKS))
    return notebook


def said(cell: NotebookNode) -> str:
    """Give what a cell printed or showed, as text."""
    return "".join(
        output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in cell.outputs
    )


def run(path: Path, folder: Path) -> str:
    """Run one notebook in a folder; return what it used.

    Raises:
        AssertionError: torch was replaced, the package is not the one that was installed, or a check said
            something else.
        CellExecutionError: a cell failed.
    """
    before = version("torch")
    notebook = prepared(nbformat.read(path, as_version=4), ROOT.as_uri())
    client = NotebookClient(
        notebook, timeout=1200, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    used, where = said(notebook.cells[-1]).split()
    assert used == before, f"the set-up cell replaced torch {before} with {used}"
    assert not Path(where).is_relative_to(ROOT), f"{where} is not what the set-up cell installed"
    checks = [said(cell) for cell in notebook.cells if cell.metadata.get("role") == "check"]
    wrong = [text for text in checks if "is not written yet" not in text]
    assert not wrong, f"a check says {wrong[0]!r}"
    return f"torch {used}, {len(checks)} checks wait"


def main(names: list[str]) -> int:
    """Run the notebooks, one after the other."""
    if not names or find_spec("attnlab"):
        print(__doc__ if not names else "attnlab is here already: try a Python that has never seen it")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            print(f"{Path(name).stem}: {run(Path(name), Path(folder))}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
