"""Draws the README's picture, _static/screenshot.png, from the landing page of the built book."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "_build/html/chapters/index.html"
PICTURE = ROOT / "_static/screenshot.png"


def main() -> None:
    """Open the page as a reader sees it, and keep the part around the figure."""
    if not PAGE.exists():
        raise SystemExit("there is no built book yet: run `make html` first")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 1060})
        page.goto(PAGE.as_uri())
        page.locator("[data-part=arcs]").wait_for()
        page.screenshot(path=PICTURE)
        browser.close()
    print(f"wrote {PICTURE.relative_to(ROOT)}, {PICTURE.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
