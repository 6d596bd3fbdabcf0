"""Runs readers' notebooks as Colab would, from their first cell on, and again as after a restart.

elsewhere.py notebooks/NAME.ipynb ...    with a Python that has never seen attnlab

Where that Python has the package google.colab, its kernel runs them: scripts/colab.txt says what else Colab
brings. Each notebook runs twice in a folder where nothing lies but folders called as the packages. The
first time its first cell installs both, from here and not from its address; the second time all is
there, and only the kernel is a new one. Fails if a kernel or a cell fails, if anything that was there was
replaced, or if a check says anything else than that nothing is written yet.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parent.parent
PIP = [sys.executable, "-m", "pip"]
PACKAGES = ("attnlab", "attnbook")
ASKS = "import attnbook, attnlab; print(attnlab.__file__, attnbook.__file__, sep=chr(10))"
STARTS = """from ipykernel.kernelapp import IPKernelApp
from google.colab._kernel import Kernel
IPKernelApp.launch_instance(kernel_class=Kernel)"""


def surroundings(folder: Path) -> dict[str, str]:
    """Let whatever fetches the repository fetch it from here, and let Jupyter find Colab's kernel."""
    kernel = folder / "kernels/colab/kernel.json"
    kernel.parent.mkdir(parents=True)
    argv = [sys.executable, "-c", STARTS, "-f", "{connection_file}"]
    kernel.write_text(json.dumps({"argv": argv, "display_name": "Colab", "language": "python"}))
    address = re.search(r"^  url: (\S+)$", (ROOT / "_config.yml").read_text(), re.MULTILINE)[1]
    return {
        "JUPYTER_PATH": str(folder),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{ROOT.as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": address,
    }


def pip(*words: str) -> set[str]:
    """Give the lines that pip says."""
    return set(subprocess.run([*PIP, *words], capture_output=True, text=True).stdout.splitlines())


def said(cell: NotebookNode) -> str:
    """Give what a cell printed or showed, as text."""
    return "".join(
        output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in cell.outputs
    )


def run(path: Path, folder: Path) -> int:
    """Run one notebook in a folder; return how many checks wait for an answer.

    Raises:
        AssertionError: the package is not the one that was installed, or a check said something else.
        CellExecutionError: a cell failed.
    """
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(ASKS))
    kernel = "colab" if find_spec("google") and find_spec("google.colab") else "python3"
    place = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=1200, kernel_name=kernel, resources=place).execute()
    for where in said(notebook.cells[-1]).split():
        assert not Path(where).is_relative_to(ROOT), f"{where} is not what the set-up cell installed"
    checks = [said(cell) for cell in notebook.cells if cell.metadata.get("role") == "check"]
    wrong = [text for text in checks if "is not written yet" not in text]
    assert not wrong, f"a check says {wrong[0]!r}"
    return len(checks)


def main(names: list[str]) -> int:
    """Run the notebooks, one after the other."""
    if not names or any(map(find_spec, PACKAGES)):
        print(__doc__ if not names else "attnlab is here already: try a Python that has never seen it")
        return 2
    before, complaints = pip("freeze", "--all"), pip("check")
    with tempfile.TemporaryDirectory() as jupyter, tempfile.TemporaryDirectory() as folder:
        os.environ |= surroundings(Path(jupyter))
        for package in PACKAGES:
            Path(folder, package).mkdir()
        for name in names:
            waiting = [run(Path(name), Path(folder)) for _ in ("at first", "started again")]
            gone, new = before - pip("freeze", "--all"), pip("check") - complaints
            assert not gone, f"the set-up cell put something in the place of {gone}"
            assert not new - {"No broken requirements found."}, f"pip check: {new}"
            print(f"{Path(name).stem}: {waiting[0]} checks wait, {waiting[1]} started again", flush=True)
            subprocess.run([*PIP, "uninstall", "-q", "-y", *PACKAGES], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
