"""The one form in which notebooks are stored, so that running them again leaves no difference.

>>> import nbformat
>>> cell = nbformat.v4.new_code_cell("print(1)", execution_count=7, metadata={"execution": {"start": "noon"}})
>>> notebook = normalise(nbformat.v4.new_notebook(cells=[cell], metadata={"widgets": {}}))
>>> notebook.cells[0].execution_count, dict(notebook.cells[0].metadata), sorted(notebook.metadata)
(1, {}, ['kernelspec', 'language_info'])
"""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import nbformat
import yaml
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parent.parent
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
# Without the version: it differs between readers and says nothing that requirements.txt does not say.
LANGUAGE = {
    "name": "python",
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "pygments_lexer": "ipython3",
}
OWN_METADATA = ("tags", "exercise", "role", "mystnb", "jupyter", "slideshow", "cellView")


def of_toc() -> list[Path]:
    """List the notebooks of _toc.yml, in reading order."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    names: list[str] = []

    def collect(node: object) -> None:
        if isinstance(node, dict):
            names.extend(str(node[key]) for key in ("root", "file") if key in node)
            for value in node.values():
                collect(value)
        elif isinstance(node, list):
            for value in node:
                collect(value)

    collect(toc)
    paths = [ROOT / f"{name}.ipynb" for name in names]
    return [path for path in paths if path.exists()]


def normalise(notebook: NotebookNode) -> NotebookNode:
    """Bring a notebook into the stored form, in place, and return it.

    Cell ids come from the cells' text, so that an edit changes one id and a conversion changes none. Widget
    views and their state go: they need a kernel, and each has its HTML beside it.
    """
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = NotebookNode(kernelspec=NotebookNode(KERNEL), language_info=NotebookNode(LANGUAGE))
    seen: Counter[str] = Counter()
    count = 0
    for cell in notebook.cells:
        cell.source = "\n".join(line.rstrip() for line in cell.source.strip("\n").split("\n"))
        cell.metadata = NotebookNode(
            {key: cell.metadata[key] for key in OWN_METADATA if key in cell.metadata}
        )
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:8]
        seen[digest] += 1
        cell.id = f"{digest}-{seen[digest]}" if seen[digest] > 1 else digest
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count if cell.execution_count is not None else None
            cell.outputs = _outputs(cell.outputs, cell.execution_count)
    return notebook


def _outputs(outputs: list[NotebookNode], count: int | None) -> list[NotebookNode]:
    kept: list[NotebookNode] = []
    for output in outputs:
        if output.output_type == "stream":
            if kept and kept[-1].output_type == "stream" and kept[-1].name == output.name:
                kept[-1].text += output.text
            else:
                kept.append(output)
            continue
        if "data" in output:
            if output.data.pop(WIDGET_VIEW, None) and "text/html" not in output.data:
                continue  # a progress bar: its last state is no result
            output.metadata = NotebookNode()
            if not output.data:
                continue
        if output.output_type == "execute_result":
            output.execution_count = count
        kept.append(output)
    for output in kept:
        if output.output_type == "stream":
            # A progress bar rewrites its line: what stays on the screen is the last state.
            output.text = "\n".join(line.rstrip("\r").split("\r")[-1] for line in output.text.split("\n"))
    return kept


def text(notebook: NotebookNode) -> str:
    """Return the file's text: sorted keys, one space of indentation, a newline at the end."""
    nbformat.validate(notebook)
    return nbformat.writes(notebook).rstrip("\n") + "\n"


def write(path: Path, content: str) -> None:
    """Write a file whole or not at all."""
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_text(content, encoding="utf-8")
    temporary.replace(path)
