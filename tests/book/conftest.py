"""The book, built once with warnings as errors, served here, in a browser that reaches nothing else."""

import functools
import http.server
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "_ext")]

import dev_setup
from attnlab_book import chapters

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def toc_pages() -> list[str]:
    """List the pages of _toc.yml, in order."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    return [toc["root"], *chapters]


def page_of(topic: str) -> str:
    """Name the page of a chapter, whatever its number."""
    return chapters.find(chapters.read(ROOT), topic).page


class Site:
    """Opens pages of the built book and keeps what must not happen: errors, requests to elsewhere."""

    def __init__(self, browser, address):
        self.browser, self.address = browser, address
        self.errors: list[str] = []
        self.outside: list[str] = []
        self.sizes: dict[str, int] = {}

    def open(self, name, *, theme="light", width=1280, height=900, address=None, watch=None, **options):
        """Open a page and wait until its formulas are set and its figures stand."""
        address = address or self.address
        # Without motion nothing fades: what a test sees is what stays.
        size = {"width": width, "height": height}
        context = self.browser.new_context(
            viewport=size,
            reduced_motion="reduce",
            permissions=["clipboard-read", "clipboard-write"],
            **options,
        )
        context.add_init_script(
            f"localStorage.setItem('mode', '{theme}'); localStorage.setItem('theme', '{theme}')"
        )
        context.set_default_timeout(8000)
        context.route("**/*", lambda route: self._let(route, address))
        page = context.new_page()
        page.on("console", lambda message: self._heard(name, message))
        page.on("pageerror", lambda error: self.errors.append(f"{name}: {error}"))
        if watch:
            page.on("requestfinished", lambda request: watch(request.response()))
        page.goto(f"{address}/{name}.html")
        page.wait_for_load_state("load")
        page.evaluate("window.MathJax?.startup?.promise")
        page.wait_for_function(
            "[...document.querySelectorAll('figure.attnlab-figure')].every((f) => f.dataset.mounted)"
        )
        return page

    def _let(self, route, address):
        url = route.request.url
        if url.startswith((address, "data:", "blob:")):
            route.continue_()
        else:
            self.outside.append(url)
            route.abort()

    def _heard(self, name, message):
        if message.type in ("error", "warning"):
            self.errors.append(f"{name}: {message.text}")

    def complaint(self, name, parameter, state) -> str:
        """Follow a link whose state does not fit: return what the figure says of it."""
        page = self.open(name)
        page.goto(f"{page.url}?{parameter}={json.dumps(state)}")
        message = page.locator(f'#figure-{parameter} [data-part="error"]:not([hidden])').inner_text()
        assert self.errors  # the figure also warns on the console, as it should
        self.errors.clear()
        return message

    def assert_clean(self):
        """Fail if any page so far reported an error or asked for something from elsewhere."""
        errors, outside = self.errors[:], self.outside[:]
        self.errors.clear()
        self.outside.clear()
        assert errors == []
        assert outside == []


@pytest.fixture(scope="session")
def book(tmp_path_factory) -> Path:
    """Build the whole book in a folder of its own; the build fails at the first warning."""
    folder = tmp_path_factory.mktemp("book")
    done = subprocess.run(
        dev_setup.build_command("--path-output", str(folder)),
        cwd=ROOT,
        env=dev_setup.variables(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    assert "WARNING" not in done.stdout + done.stderr
    return folder / "_build/html"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="session")
def address(book):
    """Serve the book on this machine."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(book)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def page_with(book):
    """Put figures below the title of a page of the book, whatever the chapters show; return its name."""
    page = (book / f"{toc_pages()[-1]}.html").read_text(encoding="utf-8")
    # The title of the article: print has one of its own before it.
    title = page.index("</h1>", page.index('<article class="bd-article">')) + len("</h1>")
    made = []

    def make(*figures: str) -> str:
        made.append(f"chapters/bench_{len(made)}")
        text = page[:title] + "".join(figures) + page[title:]
        (book / f"{made[-1]}.html").write_text(text, encoding="utf-8")
        return made[-1]

    yield make
    for name in made:
        (book / f"{name}.html").unlink()


@pytest.fixture(scope="session")
def browser():
    """Start Chromium: the one that the set-up found, or Playwright's own."""
    path = os.environ.get("CHROMIUM") or dev_setup.browser()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def site(browser, address):
    """Open pages; whatever the test was about, no page may err or reach out."""
    opened = Site(browser, address)
    yield opened
    for context in browser.contexts:
        context.close()
    opened.assert_clean()
