"""Starts the browser in which scripts draw and print."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dev_setup
from playwright.sync_api import Browser, sync_playwright


@contextmanager
def started() -> Iterator[Browser]:
    """Start the Chromium that the set-up finds; it ends with the block.

    Raises:
        SetupError: there is none, and none could be installed.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=dev_setup.browser(), args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            yield browser
        finally:
            browser.close()
