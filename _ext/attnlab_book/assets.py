"""Copies what pages load at run time into the built book, before the first page is written.

Not on `html-page-context`: an incremental build writes only changed pages, and would then leave old scripts.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from functools import lru_cache
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from attnlab_book import fields, icons

EXPORT = re.compile(r"export\{(?:[^}]*,)?([\w$]+) as default\};?\s*$")
"""How a built module ends, with what it calls its figure."""


def copy(app: Sphinx) -> None:
    """Put figures, models' weights and the book's scripts below `_static` of the built book."""
    if app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    # Loaded by the page that needs them, so they must not lie in the source _static: Jupyter Book would load
    # every script it finds there on every page.
    for script in Path(app.srcdir, "src/attnbook/static").glob("*.js"):
        if script.stem.endswith("-model"):
            _copy(script, static / "models" / script.name)
        else:
            target = static / "figures" / script.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(classic(script.stem, script.read_text(encoding="utf-8")), encoding="utf-8")
    # Sphinx does so for the scripts that it names itself; these are named by a script.
    app.add_js_file(None, body=f'globalThis.attnlabVersion = "?v={version(app)}";')
    icons.write(static / "fonts")
    for name in ("theme.js", "book.js", "questions.js"):
        _copy(Path(__file__).with_name(name), static / name)
        app.add_js_file(name, loading_method="defer")


@lru_cache(maxsize=1)
def version(app: Sphinx) -> str:
    """Name what the figures' scripts and the models hold."""
    held = hashlib.sha256()
    scripts = sorted(Path(app.srcdir, "src/attnbook/static").glob("*.js"))
    for script in (*scripts, *fields.sources(app)):
        held.update(script.read_bytes())
    return held.hexdigest()[:8]


def classic(name: str, module: str) -> str:
    """Make a script of a figure's module that puts the figure where the page's host looks for it.

    From file:// browsers load scripts, and refuse modules.
    """
    found = EXPORT.search(module)
    if not found:
        raise ExtensionError(f"{name}.js must end with its default export; it ends with {module[-40:]!r}")
    register = f"(globalThis.attnlabFigures ??= {{}})[{name!r}] = {found[1]};"
    return f'(() => {{\n"use strict";\n{module[: found.start()]};\n{register}\n}})();\n'


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
