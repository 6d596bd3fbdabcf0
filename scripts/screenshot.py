"""Takes the README's picture from the built book, and draws what shared links to its pages show.

screenshot.py    writes _static/screenshot.png and _static/share/*.png; build the book first (make html)
"""

from __future__ import annotations

import io
import sys

import dev_browser
import dev_setup
from PIL import Image, PngImagePlugin
from playwright.sync_api import Browser

sys.path.insert(0, str(dev_setup.ROOT / "_ext"))

from attnlab_book import share

PAGE = dev_setup.ROOT / "_build/html/chapters/index.html"
TARGET = dev_setup.ROOT / "_static/screenshot.png"


def draw_shared(browser: Browser) -> None:
    """Draw the pictures of links, each with the digest of what it was drawn from."""
    width, height = share.SIZE
    page = browser.new_page(viewport={"width": width, "height": height})
    folder = dev_setup.ROOT / share.FOLDER
    folder.mkdir(exist_ok=True)
    wanted = share.pictures(dev_setup.ROOT)
    for name, picture in wanted.items():
        page.set_content(picture)
        drawn = Image.open(io.BytesIO(page.screenshot())).convert("RGB").quantize(64)
        about = PngImagePlugin.PngInfo()
        about.add_text("Drawn-From", share.digest(picture))
        drawn.save(folder / f"{name}.png", optimize=True, pnginfo=about)
    for old in folder.glob("*.png"):
        if old.stem not in wanted:
            old.unlink()
    print(f"{share.FOLDER}: {len(wanted)} pictures")


def main() -> int:
    """Open the page, pick "work", store the picture; then draw those of links."""
    if not PAGE.exists():
        print("the book is not built: make html", file=sys.stderr)
        return 1
    with dev_browser.started() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 1000}, reduced_motion="reduce")
        page.goto(PAGE.as_uri())
        page.locator('[data-part="token"]').nth(3).click()
        page.wait_for_selector(".is-asked")
        page.wait_for_timeout(500)
        page.screenshot(path=TARGET)
        draw_shared(browser)
    print(f"{TARGET.relative_to(dev_setup.ROOT)}: {TARGET.stat().st_size // 1024} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
