"""Draws the pictures that stand for figures where no script runs, as each figure's own Save SVG writes it.

stills.py    writes _static/stills/*.svg from the notebooks and src/attnbook/static; needs no built book
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

import dev_browser
import dev_setup

sys.path.insert(0, str(dev_setup.ROOT / "_ext"))

from attnlab_book import assets, fields, stills

PAGE = """<!DOCTYPE html><html lang="en" data-theme="light"><meta charset="utf-8"><title>Figures</title>
<style>body { width: 43rem; margin: 0 auto; }</style>FIGURES<script src="attnlab.js"></script></html>"""
STANDING = """() => [...document.querySelectorAll("figure")].every((figure) =>
  figure.querySelector('[data-part="reset"], [data-part="error"]:not([hidden])'))"""
SAVED = """(at) => new Promise((saved) => {
  HTMLAnchorElement.prototype.click = () => {}; // nothing is downloaded
  URL.createObjectURL = (blob) => (saved(blob.text()), "");
  document.querySelectorAll("figure")[at].querySelector('[data-part="svg"]').click();
})"""
"""What a figure's own button saves."""
NEEDLESS = ("class", "role", "tabindex", r"data-[\w-]+", r"aria-[\w-]+")
"""What an image can't use: it is named where it is shown, and nothing in it takes a key."""
MARGIN = 10


def lay_out(folder: Path, figures: list[str]) -> Path:
    """Write a page of figures, with all that the page's host loads beside it."""
    sources = dev_setup.ROOT / stills.SCRIPTS
    for place in ("figures", "models"):
        (folder / place).mkdir()
    for script in sources.glob("*.js"):
        text = script.read_text(encoding="utf-8")
        if script.stem.endswith("-model"):
            (folder / "models" / script.name).write_text(text, encoding="utf-8")
        else:
            classic = assets.classic(script.stem, text)
            (folder / "figures" / script.name).write_text(classic, encoding="utf-8")
    # Links into the book are no part of a picture.
    (folder / "models" / fields.NAME).write_text(fields.script(lambda *_: ("", "#")), encoding="utf-8")
    shutil.copy(dev_setup.ROOT / "_static/attnlab.js", folder)
    page = folder / "figures.html"
    page.write_text(PAGE.replace("FIGURES", "\n".join(figures)), encoding="utf-8")
    return page


def on_a_card(svg: str, digest: str) -> str:
    """Put a drawing on a white card, for dark pages too, and write on it what it was drawn from."""
    head, rest = re.match(r"(<svg [^>]*>)(.*)", svg, re.DOTALL).groups()  # type: ignore[union-attr]
    left, top, width, height = map(float, re.search(r'viewBox="([^"]*)"', head)[1].split())  # type: ignore[index]
    left, top, width, height = left - MARGIN, top - MARGIN, width + 2 * MARGIN, height + 2 * MARGIN
    size = f'width="{width:g}" height="{height:g}"'
    rest = re.sub(rf' (?:{"|".join(NEEDLESS)})="[^"]*"', "", rest)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left:g} {top:g} {width:g} {height:g}" {size}'
        f' font-family="system-ui, sans-serif" data-drawn-from="{digest}">'
        f'<rect x="{left:g}" y="{top:g}" {size} rx="8" fill="#fff"/>{rest}\n'
    )


def main() -> int:
    """Draw all, and delete what no page shows any more."""
    wanted = stills.wanted(dev_setup.ROOT)
    folder = dev_setup.ROOT / stills.FOLDER
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place, dev_browser.started() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 1000}, reduced_motion="reduce")
        page.goto(lay_out(Path(place), list(wanted.values())).as_uri())
        page.wait_for_function(STANDING)
        for at, picture in enumerate(wanted):
            svg = on_a_card(page.evaluate(SAVED, at), stills.digest(dev_setup.ROOT, picture))
            (folder / f"{picture}.svg").write_text(svg, encoding="utf-8")
    for old in folder.glob("*.svg"):
        if old.stem not in wanted:
            old.unlink()
    size = sum(path.stat().st_size for path in folder.glob("*.svg"))
    print(f"{stills.FOLDER}: {len(wanted)} pictures, {size // 1024} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
