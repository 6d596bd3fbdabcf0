"""Runs the notebooks of _toc.yml from the top, each in a fresh kernel, and stores them in one normal form.

    notebooks.py                    run all, store all
    notebooks.py 01                 run those whose names contain "01"
    notebooks.py --check            run all, store nothing, say whether a stored output would change
    notebooks.py --normalise        store all in the normal form without running them
    notebooks.py --to-md FILE.ipynb write the notebook as MyST text (beside --out, or to the screen)
    notebooks.py --from-md FILE.md  write chapters/FILE.ipynb from MyST text; unchanged cells keep outputs

A notebook that fails leaves its stored file as it was, and so does one in which nothing changed but outputs
that differ from run to run (cells tagged nbval-ignore-output). If anything else changed, so are these stored.
Whatever is stored, the readers' edition follows it.
"""

from __future__ import annotations

import argparse
import copy
import difflib
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import jupytext
import nbformat
import readers
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from nbformat import NotebookNode
from notebook_form import ROOT, normalise, of_toc, text, write
from traitlets.config import Config

TIMED = "nbval-ignore-output"
TRIES = 3


def file_sockets(folder: str) -> dict[str, str]:
    """Settings of a kernel manager: talk through files, so that no two kernels ask for the same TCP port.

    Jupyter's own place for the files is relative to the working directory, which the kernel does not share.
    """
    return {} if os.name == "nt" else {"transport": "ipc", "ip": str(Path(folder, "kernel"))}


def run(path: Path) -> NotebookNode:
    """Run one notebook in a fresh kernel and return it normalised; the file stays untouched.

    Raises:
        CellExecutionError: a cell raised.
    """
    for attempt in range(1, TRIES + 1):
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        with tempfile.TemporaryDirectory(prefix="attnlab-") as folder:
            client = NotebookClient(
                notebook,
                timeout=600,
                startup_timeout=30,
                kernel_name="python3",
                config=Config(KernelManager=Config(file_sockets(folder))),
                resources={"metadata": {"path": str(path.parent)}},
            )
            try:
                client.execute()
                return normalise(notebook)
            except CellExecutionError:
                raise
            except (DeadKernelError, RuntimeError):
                # The kernel never came up; a cell's own error is the branch above.
                if attempt == TRIES:
                    raise
    raise AssertionError("unreachable")


def difference(path: Path, new: NotebookNode) -> list[str]:
    """Compare a run with the stored file; outputs of cells that say they differ from run to run do not count.

    If there is any other difference, the run is to be stored whole: a time kept from an older run would stand
    beside new results, or below new code.
    """
    stored = nbformat.read(path, as_version=4)
    compared = copy.deepcopy(new)
    for old_cell, new_cell in zip(stored.cells, compared.cells, strict=False):
        timed = new_cell.cell_type == "code" and TIMED in new_cell.metadata.get("tags", [])
        if timed and old_cell.get("outputs") and new_cell.outputs:
            new_cell.outputs = old_cell.outputs
    old_lines, new_lines = path.read_text(encoding="utf-8").splitlines(), text(compared).splitlines()
    return [
        line[:160]
        for line in difflib.unified_diff(old_lines, new_lines, "stored", "run again", lineterm="", n=1)
    ]


def run_all(paths: list[Path], check: bool) -> int:
    """Run notebooks and store them, or with `check` say what would change."""
    bad = 0
    for path in paths:
        began = time.monotonic()
        try:
            notebook = run(path)
        except (CellExecutionError, DeadKernelError, RuntimeError) as error:
            bad += 1
            print(
                f"{path.name}: failed; the stored file is as it was\n\n{_plain(str(error))}", file=sys.stderr
            )
            continue
        changes = difference(path, notebook)
        if changes and not check:
            write(path, text(notebook))
        bad += bool(changes) and check
        word = ("differs" if check else "stored") if changes else "unchanged"
        print(f"{path.name}: {word} ({time.monotonic() - began:.0f} s)", flush=True)
        if changes and check:
            print("\n".join(changes[:40]))
    return int(bad > 0)


def from_md(source: Path, target: Path) -> None:
    """Write a notebook from MyST text; code cells whose text is the same keep their outputs."""
    notebook = jupytext.reads(source.read_text(encoding="utf-8"), fmt="md:myst")
    old: dict[str, list[NotebookNode]] = {}
    if target.exists():
        for cell in normalise(nbformat.read(target, as_version=4)).cells:
            if cell.cell_type == "code":
                old.setdefault(cell.source, []).append(cell)
    for cell in normalise(notebook).cells:
        if cell.cell_type == "code" and old.get(cell.source):
            kept = old[cell.source].pop(0)
            cell.outputs, cell.execution_count = kept.outputs, kept.execution_count
    write(target, text(normalise(notebook)))


def to_md(source: Path) -> str:
    """Return a notebook as MyST text."""
    return jupytext.writes(normalise(nbformat.read(source, as_version=4)), fmt="md:myst")


def _plain(message: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", message)


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", help="run only the notebooks whose file names contain one of these"
    )
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--normalise", action="store_true")
    parser.add_argument("--to-md", type=Path, metavar="FILE.ipynb")
    parser.add_argument("--from-md", type=Path, metavar="FILE.md")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.to_md:
        content = to_md(arguments.to_md)
        write(arguments.out, content) if arguments.out else sys.stdout.write(content)
        return 0
    if arguments.from_md:
        from_md(arguments.from_md, arguments.out or ROOT / "chapters" / f"{arguments.from_md.stem}.ipynb")
        return readers.main([])
    names = arguments.names
    paths = [path for path in of_toc() if not names or any(name in path.name for name in names)]
    if names and not paths:
        print(f"no notebook of _toc.yml has {' or '.join(names)} in its name", file=sys.stderr)
        return 1
    if arguments.normalise:
        for path in paths:
            write(path, text(normalise(nbformat.read(path, as_version=4))))
        return readers.main([])
    failed = run_all(paths, arguments.check)
    return failed if arguments.check else failed or readers.main([])


if __name__ == "__main__":
    sys.exit(main())
