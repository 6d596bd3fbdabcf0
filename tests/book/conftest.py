"""The book, built once with warnings as errors, served here, in a browser that reaches nothing else."""

import functools
import http.server
import itertools
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import quote

import pytest
from bs4 import BeautifulSoup
from filelock import FileLock
from playwright.sync_api import TimeoutError, sync_playwright

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
    # The network is blocked: no name and no address leads anywhere but to this machine.
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]
PATIENCE = 300_000
"""Milliseconds that one step may take on a loaded machine; on an idle one nothing waits for them."""
STANDING = """() => "attnWhole" in document.documentElement.dataset &&
  [...document.querySelectorAll("figure.attnlab-figure")].every((figure) =>
  figure.dataset.mounted && figure.querySelector('[data-part="reset"], [data-part="error"]:not([hidden])'))"""
AT_ONCE = """globalThis.IntersectionObserver = class {
  constructor(told) { this.told = told; }
  observe(target) {
    const boundingClientRect = target.getBoundingClientRect();
    Promise.resolve().then(() => this.told([{ target, isIntersecting: true, boundingClientRect }]));
  }
  unobserve() {}
  disconnect() {}
};"""
"""All figures of a page stand, wherever the reader is: a test then waits for none of them."""
OPENED = """() => [...document.querySelectorAll("figure details")].map((details) => details.open)"""
REST = """(opened) => {
  document.querySelectorAll("figure details").forEach((details, i) => (details.open = opened[i]));
  document.activeElement?.blur();
  scrollTo(0, 0);
}"""
NUMBERS = """() => [...document.querySelectorAll("figure.attnlab-figure :is(td, th)")]
  .map((cell) => cell.textContent)"""
TOOLS = """() => [...document.querySelectorAll(
  "figure.attnlab-figure :is(input, [aria-checked], [aria-pressed])")]
  .map((tool) => [tool.value, tool.checked, tool.ariaChecked, tool.ariaPressed, tool.disabled])"""


def toc_pages() -> list[str]:
    """List the pages of _toc.yml, in order."""
    return chapters.pages(ROOT)


def page_of(topic: str) -> str:
    """Name the page of a chapter, whatever its number."""
    return chapters.find(chapters.read(ROOT), topic).page


class Tab:
    """One tab of the browser: what it shows stays there for the next test that asks for the same."""

    def __init__(self, site, theme, context=None):
        self.name, self.shown, self.starts = "", None, {}
        self.site, self.page = site, (context or site.context).new_page()
        self.page.add_init_script(
            f"localStorage.setItem('mode', '{theme}');"
            # Figures are open, whatever was asked before them.
            "addEventListener('load', () => document.querySelectorAll('figure[data-attnlab]')"
            ".forEach((figure) => figure.dispatchEvent(new Event('attnlab-asked'))))"
        )
        self.page.add_init_script(AT_ONCE)
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: site.errors.append(f"{self.name}: {error}"))

    def open(self, name, width, height, address, query=""):
        self.name, self.shown = name, None
        size = {"width": width, "height": height}
        if self.page.viewport_size != size:
            self.page.set_viewport_size(size)
        self.page.emulate_media(media="screen")  # a test may have printed: then figures hide their tools
        self.page.mouse.move(0, 0)
        self.page.goto(f"{address}/{name}.html{query}")
        self.page.wait_for_function(STANDING)

    def show(self, name, width, height, address):
        wanted = (f"{address}/{name}.html", width, height)
        if self.shown != wanted or self.page.url.partition("#")[0] != wanted[0]:
            self.open(name, width, height, address)
            self.shown = wanted

    def rest(self, opened):
        """Bring the figures back to where they started, by their own button."""
        for button in self.page.locator('figure [data-part="reset"]').all():
            button.dispatch_event("click")  # where it waits in a fold, too
        self.page.mouse.move(0, 0)
        self.page.evaluate(REST, opened)

    def _heard(self, message):
        if message.type in ("error", "warning"):
            self.site.errors.append(f"{self.name}: {message.text}")


class Site:
    """Opens pages of the built book and keeps what must not happen: errors, requests to elsewhere.

    Opening a page takes most of a test's time, so a light tab and a dark one serve all tests. `open` loads a
    page afresh, `show` only if the tab shows another one; a test that leaves more behind than figures can
    take back says `open`.
    """

    def __init__(self, browser, address):
        self.browser, self.address = browser, address
        self.errors: list[str] = []
        self.outside: list[str] = []
        # Where pages came from so far: what one asks for last is heard when the next is open.
        self._homes = {address}
        self._tabs: dict[str, Tab] = {}
        # Without motion nothing fades: what a test sees is what stays.
        self.context = self.new_context("reduce")

    def new_context(self, reduced_motion):
        """Open a place for tabs from which nothing is asked unheard."""
        context = self.browser.new_context(
            reduced_motion=reduced_motion, permissions=["clipboard-read", "clipboard-write"]
        )
        context.set_default_timeout(PATIENCE)
        context.on("request", self._asked)
        return context

    def open(self, name, *, theme="light", width=1280, height=900, address=None, query=""):
        """Load a page and wait until its formulas are set and its figures stand."""
        tab, home = self._tab(theme), address or self.address
        self._homes.add(home)
        tab.open(name, width, height, home, query)
        return tab.page

    def show(self, name, *, theme="light", width=1280, height=900):
        """Go to a page as it was opened, in the tab's theme."""
        tab = self._tab(theme)
        tab.show(name, width, height, self.address)
        return tab.page

    def figures(self, name, *, theme="light", width=1280, height=900):
        """Go to a page of figures, each in the state in which it opened."""
        page, tab = self.show(name, theme=theme, width=width, height=height), self._tab(theme)
        if tab.shown not in tab.starts:
            tab.starts[tab.shown] = [page.evaluate(what) for what in (OPENED, NUMBERS, TOOLS)]
            return page
        opened, numbers, tools = tab.starts[tab.shown]
        tab.rest(opened)
        try:
            # What is computed piece by piece stands a moment after the click.
            page.wait_for_function(
                f"(start) => JSON.stringify(({NUMBERS})()) === start",
                arg=json.dumps(numbers, ensure_ascii=False, separators=(",", ":")),
                timeout=PATIENCE / 5,
            )
        except TimeoutError:
            now = page.evaluate(NUMBERS)
            which = next(
                (pair for pair in zip(numbers, now, strict=False) if pair[0] != pair[1]), "their count"
            )
            self.errors.append(f"{name}: reset does not lead back to the numbers of the start: {which}")
            tab.shown = None
            return self.show(name, theme=theme, width=width, height=height)
        if page.evaluate(TOOLS) != tools:
            tab.shown = None  # a tool that is set otherwise is no state: reset may leave it
        return self.show(name, theme=theme, width=width, height=height)

    def complaint(self, name, parameter, state) -> str:
        """Follow a link whose state does not fit: return what the figure says of it."""
        page = self.open(name, query=f"?{parameter}={quote(json.dumps(state))}")
        message = page.locator(f'#figure-{parameter} [data-part="error"]:not([hidden])').inner_text()
        self.hear()
        assert self.errors  # the figure also warns on the console, as it should
        self.errors.clear()
        return message

    def hear(self):
        """Let the tabs say what they have not said yet."""
        for tab in self._tabs.values():
            tab.page.evaluate("0")

    def assert_clean(self):
        """Fail if any page so far reported an error or asked for something from elsewhere."""
        self.hear()
        errors, outside = self.errors[:], self.outside[:]
        self.errors.clear()
        self.outside.clear()
        assert errors == []
        assert outside == []

    def _tab(self, theme):
        if theme not in self._tabs:
            self._tabs[theme] = Tab(self, theme)
        # A tab behind another one is given few frames or none, and whoever waits for one waits long.
        self._tabs[theme].page.bring_to_front()
        return self._tabs[theme]

    def _asked(self, request):
        if not request.url.startswith((*self._homes, "data:", "blob:")):
            self.outside.append(request.url)


@pytest.fixture(scope="session")
def book(tmp_path_factory) -> Path:
    """Build the whole book in a folder of its own, or copy what another process of this run has built."""
    own = tmp_path_factory.mktemp("book")
    if "ATTNLAB_BUILT" not in os.environ:
        return _build(own)
    shared = Path(os.environ["ATTNLAB_BUILT"])
    with FileLock(shared / "lock"):
        if not (shared / "whole").exists():
            _build(shared)
            (shared / "whole").touch()
    return shutil.copytree(shared / "_build/html", own / "html")


def _build(folder: Path) -> Path:
    """Build the book; the build fails at the first warning."""
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
    protocol_version = "HTTP/1.1"  # one connection for all files of a page

    def log_message(self, *arguments):
        pass

    def end_headers(self):
        kept = "max-age=3600" if "/_static/" in self.path else "no-cache"
        self.send_header("Cache-Control", kept)
        super().end_headers()


@pytest.fixture(scope="session")
def address(book):
    """Serve the book on this machine."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(book)))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="session")
def frame(book) -> tuple[str, str]:
    """A page of the book around its title, without what figures do not need: formulas, search, navigation."""
    page = BeautifulSoup((book / f"{toc_pages()[-1]}.html").read_text(encoding="utf-8"), "html.parser")
    for script in page.find_all("script"):
        if not any(own in str(script) for own in ("attnlab.js", "book.js", "prefers-color-scheme")):
            script.decompose()
    for part in page.select("dialog, header, footer, #pst-primary-sidebar > *, .bd-toc > *, .onlyprint"):
        part.decompose()
    article = page.select_one("article.bd-article")
    article.clear()
    page.body["class"] = "has-figures"
    article.append(BeautifulSoup("<section><h1>Figures</h1>FIGURES</section>", "html.parser"))
    before, after = str(page).split("FIGURES")
    return before, after


COUNTER = itertools.count()


@pytest.fixture(scope="module")
def page_with(book, frame):
    """Put figures on a light page of their own, whatever the chapters show; return its name."""
    made = []

    def make(*figures: str) -> str:
        made.append(f"chapters/bench_{next(COUNTER)}")  # no tab has seen this page
        (book / f"{made[-1]}.html").write_text("".join(figures).join(frame), encoding="utf-8")
        return made[-1]

    yield make
    for name in made:
        (book / f"{name}.html").unlink()


@pytest.fixture(scope="module")
def figures_of(book, page_with):
    """Put the figures of a chapter, as its page has them, on a light page; return its name."""

    def make(name: str) -> str:
        page = BeautifulSoup((book / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
        return page_with(*map(str, page.select("figure.attnlab-figure")))

    return make


@pytest.fixture(scope="session")
def browser():
    """Start Chromium: the one that the set-up found, or Playwright's own."""
    path = os.environ.get("CHROMIUM") or dev_setup.browser()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=PATIENCE)
        yield started
        started.close()


@pytest.fixture(scope="session")
def tabs(browser, address):
    """Open the tabs that all tests share."""
    return Site(browser, address)


@pytest.fixture
def site(tabs):
    """Open pages; whatever the test was about, no page may err or reach out."""
    yield tabs
    tabs.assert_clean()


@pytest.fixture
def timed(site):
    """Open figures in a tab of their own whose clock stands: what plays by itself waits for the test."""
    contexts = []

    def opened(name, figure, reduced_motion="reduce"):
        contexts.append(site.new_context(reduced_motion))
        tab = Tab(site, "light", contexts[-1])
        tab.page.clock.install(time=0)
        tab.open(name, 1280, 900, site.address)
        tab.page.clock.pause_at(3600)
        return tab.page.locator(f'figure[data-attnlab="{figure}"]').first

    yield opened
    for context in contexts:
        context.close()
