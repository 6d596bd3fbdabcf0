"""Ships, with the built book, the licence of each thing in it that others made, and lists them.

>>> [one.name for one in SHIPPED if one.licence.startswith("Apache")]
['MathJax']
"""

from __future__ import annotations

import shutil
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

HERE = Path(__file__).parent
TAKEN = "take-it-with-you"
"""The tag of a cell that is there to be copied whole."""
SIGNED = "# From the book I Saw a Saw, by the attnlab authors. MIT licence.\n"
"""What code says first that is copied from a page; `src/widgets/ui/frame.js` says the same."""
FOLDER = "_static/licences"


class Shipped(NamedTuple):
    """What others made and the built book carries; its text lies here, or in the package that brings it."""

    name: str
    licence: str
    files: tuple[str, ...]
    """Where it lies below `_static`; patterns."""
    package: str | None = None
    about: str = ""

    @property
    def text(self) -> Path:
        """Find the licence's text.

        Raises:
            FileNotFoundError: it is neither here nor in the package.
        """
        if self.package is None:
            return HERE / self.file
        for file in distribution(self.package).files or ():
            if file.name.split(".")[0] in ("LICENSE", "LICENCE", "COPYING") and "dist-info" in file.parts[0]:
                return Path(str(file.locate()))
        raise FileNotFoundError(f"the package {self.package} has no licence among its files")

    @property
    def file(self) -> str:
        """Name the text's file in the built book."""
        return f"{self.name.lower().replace(' ', '-').replace('.', '-')}.txt"


SHIPPED = (
    Shipped("MathJax", "Apache 2.0", (), "django-static-mathjax", "sets the formulas of the slides"),
    Shipped(
        "STIX Two Math", "SIL OFL 1.1", ("fonts/stix-two-math.woff2",), about="the signs of the formulas"
    ),
    Shipped("Source Serif 4", "SIL OFL 1.1", ("fonts/saw-serif*.woff2",), about="the text, cut down"),
    Shipped("Source Sans 3", "SIL OFL 1.1", ("fonts/saw-sans.woff2",), about="what is around it, cut down"),
    Shipped("MiniSearch", "MIT", ("search.js",), about="finds what is searched for"),
    Shipped(
        "Sphinx",
        "BSD 2-Clause",
        (
            *("basic.css", "doctools.js", "documentation_options.js", "searchtools.js", "language_data.js"),
            *("sphinx_highlight.js", "file.png", "plus.png", "minus.png"),
        ),
        "sphinx",
        "builds the pages",
    ),
    Shipped(
        "Sphinx Book Theme",
        "BSD 3-Clause",
        (
            *("styles/sphinx-book-theme.*", "scripts/sphinx-book-theme.*", "images/*", "locales/**"),
            "sbt-webpack-macros.html",
        ),
        "sphinx-book-theme",
        "how they look; its pictures are the marks of Colab, Binder and other hosts",
    ),
    Shipped(
        "PyData Sphinx Theme",
        "BSD 3-Clause",
        (
            *("styles/pydata-sphinx-theme.*", "styles/theme.css", "scripts/pydata-sphinx-theme.*"),
            # Most of the one sheet is cut from the theme's, with Bootstrap in it; the others are named below.
            *("webpack-macros.html", "book.css"),
        ),
        "pydata-sphinx-theme",
        "how they look",
    ),
    Shipped("Bootstrap", "MIT", ("scripts/bootstrap.*",), about="comes with the theme"),
    Shipped("Popper", "MIT", ("scripts/bootstrap.js",), about="comes with Bootstrap"),
    Shipped(
        "Font Awesome",
        "fonts: SIL OFL 1.1; icons: CC BY 4.0; code: MIT",
        ("vendor/fontawesome/**", "fonts/fa-*", "scripts/fontawesome.*"),
        about="the signs on buttons, whole and cut down to those in use",
    ),
    Shipped("MyST-NB", "BSD 3-Clause", ("mystnb.*.css",), "myst-nb", "shows cells"),
    Shipped(
        "sphinx-design", "MIT", ("sphinx-design.min.css", "design-tabs.js"), "sphinx-design", "cards and tabs"
    ),
    Shipped(
        "sphinx-copybutton",
        "MIT",
        ("copybutton*", "copy-button.svg", "check-solid.svg"),
        "sphinx-copybutton",
        "copies code",
    ),
    Shipped("clipboard.js", "MIT", ("clipboard.min.js",), about="comes with sphinx-copybutton"),
    Shipped(
        "sphinx-togglebutton",
        "MIT",
        ("togglebutton.*", "play-solid.svg"),
        "sphinx-togglebutton",
        "folds what is hidden",
    ),
    Shipped("sphinx-thebe", "MIT", ("sphinx-thebe.*",), "sphinx-thebe", "comes with Jupyter Book"),
    Shipped("sphinx-exercise", "MIT", ("exercise.css",), "sphinx-exercise", "exercises"),
    Shipped("sphinx-proof", "MIT", ("proof.css",), "sphinx-proof", "proofs"),
    Shipped("Pygments", "BSD 2-Clause", ("pygments.css",), "pygments", "the colours of code"),
    Shipped(
        "accessible-pygments", "BSD 3-Clause", ("pygments.css",), "accessible-pygments", "the colours of code"
    ),
)
OURS = (
    *("attnlab.*", "book.js", "theme.js", "questions.js", "search-sections.js", "figures/*", "models/*"),
    *("search-code.js", "favicon.svg", "logo.svg", "screenshot.png", "licences/*", "share/*", "stills/*"),
)
"""What this repository makes: its own licences are told on the page."""


def copy(app: Sphinx) -> None:
    """Put each text into the built book."""
    if app.builder.format != "html":
        return
    folder = Path(app.outdir, FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    for one in SHIPPED:
        shutil.copyfile(one.text, folder / one.file)


def sign_code(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Begin each cell that is there to be copied with one line: whose it is, and under which licence."""
    for cell in doctree.findall(nodes.container):
        if f"tag_{TAKEN}" in cell["classes"]:
            # Where code is folded, what it prints stands before it.
            code = next(one for one in cell.findall(nodes.literal_block) if "output" not in one["classes"])
            # What is not its own source counts as parsed, and is not highlighted.
            code.rawsource = SIGNED + code.astext()
            code[:] = [nodes.Text(code.rawsource)]


class Licences(SphinxDirective):
    """`{licences}`: a table of what others made, each with a link to its licence's text."""

    def run(self) -> list[nodes.Node]:
        """Write a line for each."""
        rows = "".join(
            f"<tr><td>{one.name}</td><td>{one.about}</td>"
            f'<td><a href="../{FOLDER}/{one.file}">{one.licence}</a></td></tr>'
            for one in SHIPPED
        )
        head = "<thead><tr><th>what</th><th>what for</th><th>licence</th></tr></thead>"
        return [nodes.raw("", f'<table class="table">{head}<tbody>{rows}</tbody></table>', format="html")]
