"""The picture that stands for a figure where no script runs: what its own *Save SVG* writes as it opens.

The pictures are stored in _static/stills, drawn by scripts/stills.py; each carries the digest of what it was
drawn from, so that a test can tell whether it still fits its figure.
"""

from __future__ import annotations

import hashlib
import json
import re
from html import unescape
from pathlib import Path

from attnlab_book import chapters

FOLDER = "_static/stills"
SCRIPTS = "src/attnbook/static"
FIGURE = re.compile(r'<figure class="attnlab-figure" data-attnlab="(\w+)" data-settings="([^"]*)">')
"""A figure as `attnbook.widgets` writes it: its name, and the state in which it opens."""
SIZE = re.compile(r'<svg [^>]*?\bwidth="([\d.]+)" height="([\d.]+)"')
ALT = "The figure as it opens. Its numbers are in the table."


def name(figure: str, settings: str) -> str:
    """Name the picture of a figure by its state, as a page writes it."""
    state = json.dumps(json.loads(unescape(settings)), sort_keys=True)
    return f"{figure}-{hashlib.sha256(state.encode()).hexdigest()[:8]}"


def wanted(root: Path) -> dict[str, str]:
    """Give each picture its figure, empty, as the notebooks of the book store it."""
    found = {}
    for page in chapters.pages(root):
        notebook = (root / page).with_suffix(".ipynb")
        if not notebook.exists():
            continue
        for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", []):
                stored = "".join(output.get("data", {}).get("text/html", ""))
                found |= {name(*one.groups()): f"{one[0]}</figure>" for one in FIGURE.finditer(stored)}
    return found


def digest(root: Path, picture: str) -> str:
    """Name what a picture was drawn from, beside the state in its name: its figure's script and model."""
    script = root / SCRIPTS / f"{picture.rpartition('-')[0]}.js"
    held = hashlib.sha256(script.read_bytes())
    for model in sorted(script.parent.glob("*-model.js")):
        if f'"{model.stem.removesuffix("-model")}"'.encode() in script.read_bytes():
            held.update(model.read_bytes())
    return held.hexdigest()[:16]


def show(body: str, root: Path, to_static: str) -> str:
    """Put its picture into each figure of a page, for browsers that run no script: others never load it."""

    def with_picture(figure: re.Match[str]) -> str:
        path = root / FOLDER / f"{name(*figure.groups())}.svg"
        if not path.exists():  # not drawn yet: its table stands for it, and a test says what to do
            return figure[0]
        width, height = SIZE.search(path.read_text(encoding="utf-8")).groups()  # type: ignore[union-attr]
        image = f'<img src="{to_static}/{path.name}" width="{width}" height="{height}" alt="{ALT}">'
        return f"{figure[0]}<noscript>{image}</noscript>"

    return FIGURE.sub(with_picture, body)
