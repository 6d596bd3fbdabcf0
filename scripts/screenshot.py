"""Takes the README's picture from the built book: the landing page with the live tagger, as a reader sees it.

screenshot.py    writes _static/screenshot.png; build the book first (make html)
"""

from __future__ import annotations

import sys

import dev_setup
from playwright.sync_api import sync_playwright

PAGE = dev_setup.ROOT / "_build/html/chapters/index.html"
TARGET = dev_setup.ROOT / "_static/screenshot.png"


def main() -> int:
    """Open the page, pick the second "saw", store the picture."""
    if not PAGE.exists():
        print("the book is not built: make html", file=sys.stderr)
        return 1
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=dev_setup.browser(), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 1060}, reduced_motion="reduce")
        page.goto(PAGE.as_uri())
        page.locator('[data-part="token"]').nth(3).click()
        page.wait_for_selector('[data-part="arcs"]')
        page.wait_for_timeout(500)
        page.screenshot(path=TARGET)
        browser.close()
    print(f"{TARGET.relative_to(dev_setup.ROOT)}: {TARGET.stat().st_size // 1024} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
