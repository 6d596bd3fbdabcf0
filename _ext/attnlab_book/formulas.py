"""Sets the formulas while the book is built: pages carry MathML, which browsers draw and screen readers read.

Temml turns TeX into MathML, in a JavaScript engine that pip brings, so that nobody needs Node. STIX Two Math,
which ziamath carries, is cut down to the signs that the pages show; its table of mathematics stays, by which
roots and brackets grow.

>>> mathml("x", display=False)
'<math><mrow><mi>x</mi></mrow></math>'
"""

from __future__ import annotations

import html
import os
import re
from functools import lru_cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from docutils import nodes
from fontTools import subset
from py_mini_racer import JSEvalException, MiniRacer
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

LOG = logging.getLogger(__name__)
TEMML = Path(__file__).with_name("formulas.js")
FONT = "ziamath/fonts/STIXTwoMath-Regular.ttf"
FORMULA = re.compile(r"<math\b.*?</math>", re.DOTALL)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@lru_cache(maxsize=1)
def _engine(process: int) -> MiniRacer:
    # One for each process: a builder may write its pages in several.
    engine = MiniRacer()
    engine.eval(TEMML.read_text(encoding="utf-8"))
    return engine


@lru_cache(maxsize=4096)
def mathml(tex: str, *, display: bool) -> str:
    """Return a formula of TeX as MathML.

    Args:
        tex: the formula, without what encloses it in a text.
        display: whether it stands on a line of its own.

    Raises:
        ValueError: the formula can't be read; the message says where.

    >>> mathml(r"\\frac{1}{", display=True)
    Traceback (most recent call last):
    ValueError: ...
    """
    try:
        return str(_engine(os.getpid()).call("formula", tex, display))
    except JSEvalException as error:
        raise ValueError(f"{tex!r} is no formula: {str(error).splitlines()[0]}") from error


def visit_inline(self: Any, node: nodes.math) -> None:
    """Write a formula that stands in a line."""
    self.body.append(self.starttag(node, "span", "", CLASS="math notranslate nohighlight"))
    self.body.append(f"{_set(node, display=False)}</span>")
    raise nodes.SkipNode


def visit_display(self: Any, node: nodes.math_block) -> None:
    """Write a formula that stands alone, behind its number."""
    self.body.append(self.starttag(node, "div", "", CLASS="math notranslate nohighlight"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(f"{_set(node, display=True)}</div>\n")
    raise nodes.SkipNode


def _set(node: nodes.Element, *, display: bool) -> str:
    tex = node.astext().strip()
    try:
        return mathml(tex, display=display)
    except ValueError as error:
        LOG.warning("%s", error, location=node)
        return f"<code>{html.escape(tex)}</code>"


def write_font(app: Sphinx, exception: Exception | None) -> None:
    """Write the font with the signs of all pages; attnlab.css names it."""
    if exception or app.builder.format != "html":
        return
    shown = {"√"}  # drawn by <msqrt>, which holds no sign
    for page in Path(app.outdir).rglob("*.html"):
        for formula in FORMULA.findall(page.read_text(encoding="utf-8")):
            shown.update(html.unescape(re.sub(r"<[^>]*>", "", formula)))
    target = Path(app.outdir, "_static/fonts/stix-two-math.woff")
    target.parent.mkdir(parents=True, exist_ok=True)
    options = subset.Options(flavor="woff", layout_features=["*"], hinting=False, notdef_outline=True)
    font = subset.load_font(str(distribution("ziamath").locate_file(FONT)), options)
    cut = subset.Subsetter(options)
    cut.populate(unicodes={ord(sign) for sign in shown} | {ord(_slanted(sign)) for sign in shown})
    cut.subset(font)
    subset.save_font(font, str(target), options)


def _slanted(sign: str) -> str:
    """Return the sign that a browser draws for a variable of one letter."""
    if sign == "h":
        return "\u210e"
    if sign in LETTERS:
        return chr(0x1D434 + LETTERS.index(sign))
    small, large = "αβγδεζηθικλμνξοπρςστυφχψω∂ϵϑϰϕϱϖ", "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡϴΣΤΥΦΧΨΩ∇"
    for row, first in ((small, 0x1D6FC), (large, 0x1D6E2)):
        if sign in row:
            return chr(first + row.index(sign))
    return sign
