"""Cuts the book's fonts down to the signs that its pages show.

Three cuts of Source Serif 4 for the text, one of Source Sans 3, in all weights, for what stands around it,
and STIX Two Math, which ziamath carries, for the formulas. Its table of mathematics stays, by which roots
and brackets grow. Adobe keeps the name Source for whole fonts, so the cut ones are called Saw.
"""

from __future__ import annotations

import html
import re
from importlib.metadata import distribution
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx

HERE = Path(__file__).with_name("fonts")
TEXT = {
    "saw-serif": "source-serif-4-latin-400-normal",
    "saw-serif-italic": "source-serif-4-latin-400-italic",
    "saw-serif-bold": "source-serif-4-latin-600-normal",
    "saw-sans": "source-sans-3-latin-wght-normal",
}
"""Their names in the built book, which first.js fetches early, and the packages' own."""
FORMULAS = "stix-two-math"
STIX = "ziamath/fonts/STIXTwoMath-Regular.ttf"
FORMULA = re.compile(r"<math\b.*?</math>", re.DOTALL)
HIDDEN = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
TYPED = {chr(code) for code in range(0x20, 0x7F)}
"""What a reader may write into a figure, or a script into a page."""


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the fonts with the signs of all pages; attnlab.css names them."""
    if exception or app.builder.format != "html":
        return
    text, formulas = set(TYPED), {"√"}  # drawn by <msqrt>, which holds no sign
    for path in Path(app.outdir).rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        for formula in FORMULA.findall(page):
            formulas.update(_shown(formula))
        text.update(_shown(FORMULA.sub("", page)))
    folder = Path(app.outdir, "_static/fonts")
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in TEXT.items():
        _cut(HERE / f"{source}.woff2", text, folder / f"{name}.woff2", name)
    whole = Path(str(distribution("ziamath").locate_file(STIX)))
    _cut(whole, formulas | {_slanted(sign) for sign in formulas}, folder / f"{FORMULAS}.woff2")


def _shown(part: str) -> str:
    return html.unescape(HIDDEN.sub("", part))


def _cut(source: Path, signs: set[str], target: Path, name: str | None = None) -> None:
    options = subset.Options(flavor="woff2", layout_features=["*"], hinting=False, notdef_outline=True)
    if name:
        # Numbers stand below one another in tables; no page asks for small capitals or old figures.
        options.layout_features = ["kern", "liga", "ccmp", "locl", "mark", "mkmk", "lnum", "tnum"]
    font = subset.load_font(str(source), options)
    cut = subset.Subsetter(options)
    cut.populate(unicodes=[ord(sign) for sign in signs])
    cut.subset(font)
    if name:
        _call(font, name)
    subset.save_font(font, str(target), options)


def _call(font: TTFont, name: str) -> None:
    for record in font["name"].names:
        if record.nameID in (1, 3, 4, 6, 16):
            record.string = name.replace("saw", "Saw")


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
