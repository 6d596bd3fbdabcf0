"""Sets the formulas while the book is built: pages carry MathML, which browsers draw and screen readers read.

Temml turns TeX into MathML, in a JavaScript engine that pip brings, so that nobody needs Node. `fonts` cuts
their font.

>>> mathml("x", display=False)
'<math><mrow><mi>x</mi></mrow></math>'
"""

from __future__ import annotations

import html
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from docutils import nodes
from py_mini_racer import JSEvalException, MiniRacer
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

LOG = logging.getLogger(__name__)
TEMML = Path(__file__).with_name("formulas.js")


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
