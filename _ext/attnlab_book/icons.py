"""Cuts the theme's icon fonts down to the icons that its pages show: 4 KB instead of 274.

An icon that is not listed here still draws: the browser then fetches the theme's whole font, as before.
"""

from __future__ import annotations

from pathlib import Path

import pydata_sphinx_theme
from fontTools import subset

FONTS = (
    Path(pydata_sphinx_theme.__file__).parent / "theme/pydata_sphinx_theme/static/vendor/fontawesome/webfonts"
)
ICONS = {
    # The names of the glyphs: buttons of the page, and the signs of admonitions and of links to elsewhere.
    "fa-solid-900": [
        *("bars", "magnifying-glass", "sun", "moon", "circle-half-stroke", "list", "arrow-up", "angle-left"),
        *(
            "angle-right",
            "angle-down",
            "chevron-down",
            "chevron-up",
            "chevron-right",
            "rocket",
            "download",
            "file",
        ),
        *(
            "file-pdf",
            "lightbulb",
            "pencil",
            "xmark",
            "bell",
            "circle-check",
            "circle-exclamation",
            "circle-info",
        ),
        *("triangle-exclamation", "arrow-up-right-from-square", "magnifying-glass-minus", "share"),
        *("circle-xmark", "link", "print", "expand", "floppy-disk", "code", "outdent"),
    ],
    "fa-brands-400": ["github"],
}


def write(folder: Path) -> None:
    """Write the small fonts; attnlab.css names them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, glyphs in ICONS.items():
        options = subset.Options(flavor="woff", glyph_names=False, notdef_outline=False, hinting=False)
        font = subset.load_font(str(FONTS / f"{name}.ttf"), options)
        known = set(font.getGlyphOrder())
        cut = subset.Subsetter(options)
        cut.populate(glyphs=[glyph for glyph in glyphs if glyph in known])
        cut.subset(font)
        subset.save_font(font, str(folder / f"{name}.woff"), options)
