"""Sends readers who open or download a chapter as a notebook to its readers' edition."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

STORED, EDITION = "chapters", "notebooks"
"""The folder of the book's source, and that of the plain notebooks which `scripts/readers.py` writes."""


def launch_edition(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Let the launch buttons open the readers' edition: Colab and Binder know no MyST."""
    folder, _, name = pagename.rpartition("/")
    if folder == STORED and Path(app.srcdir, EDITION, f"{name}.ipynb").exists():
        for button in _buttons(context.get("header_buttons", [])):
            url = button.get("url", "")
            # Not the link that shows or edits the source: it is the book's.
            if "colab" in url or "urlpath=" in url:
                button["url"] = url.replace(f"{STORED}/{name}.ipynb", f"{EDITION}/{name}.ipynb")


def _buttons(groups: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for button in groups:
        yield button
        yield from _buttons(button.get("buttons", []))


def offer_edition(app: Sphinx, exception: Exception | None) -> None:
    """Put the readers' edition where the download button leads."""
    if exception or app.builder.name != "html":
        return
    for notebook in Path(app.srcdir, EDITION).glob("*.ipynb"):
        offered = Path(app.outdir, "_sources", STORED, notebook.name)
        if offered.exists():
            shutil.copyfile(notebook, offered)
