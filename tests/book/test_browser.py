"""Every page in a real browser with the network blocked: errors, axe, 320 px, dark, print, no server."""

import gzip

import pytest

from .conftest import toc_pages
from .reader import SIDEWAYS, violations

PAGES = [*toc_pages(), "search", "genindex"]
UNREACHABLE = """() => {
  const open = "a, button, input, select, textarea, summary, [tabindex]";
  const places = "article pre, article .math, article .pst-scrollable-table-container, article figure";
  return [...document.querySelectorAll(places)]
    .filter((e) => e.scrollWidth > e.clientWidth + 1)
    .filter((e) => ["auto", "scroll"].includes(getComputedStyle(e).overflowX))
    .filter((e) => e.tabIndex < 0 && !e.querySelector(open))
    .map((e) => e.outerHTML.slice(0, 120));
}"""
MOUNTS = """[...document.querySelectorAll("figure.attnlab-figure")].map(
  (figure) => figure.querySelectorAll(".attnlab-root").length)"""
COLOURS = """() => {
  const style = getComputedStyle(document.documentElement);
  const roles = ["query", "key", "value", "output"].map((r) => style.getPropertyValue(`--attn-${r}`).trim());
  return [...roles, getComputedStyle(document.body).backgroundColor];
}"""
FONT_ERRORS = "document.fonts.ready.then(() => [...document.fonts].filter((f) => f.status == 'error').length)"


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_in_light_and_dark(site, name):
    page = site.open(name)
    assert violations(page) == []
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert violations(page) == []


@pytest.mark.parametrize("name", PAGES)
def test_a_phone_does_not_scroll_sideways(site, name):
    page = site.open(name, width=320, height=700, theme="dark")
    assert page.evaluate(SIDEWAYS) == []
    unreachable = page.evaluate(UNREACHABLE)
    assert unreachable == [], "these scroll, and no key can reach them"


@pytest.mark.parametrize("name", toc_pages())
def test_every_figure_mounts_once(site, name):
    page = site.open(name)
    counts = page.evaluate(MOUNTS)
    assert counts == [1] * len(counts)
    if name == toc_pages()[0]:
        assert counts, "the landing page has its figure"


def test_formulas_are_set_with_the_fonts_of_the_book(site):
    page = site.open("chapters/notation")
    assert page.locator("mjx-container").count() > 10
    assert page.locator("mjx-merror").count() == 0
    assert page.evaluate(FONT_ERRORS) == 0


@pytest.mark.parametrize("name", toc_pages())
def test_no_formula_is_left_with_an_error(site, name):
    page = site.open(name)
    assert page.locator("mjx-merror").count() == 0


def test_it_works_without_a_server(site, book):
    """Opened from the disk: the same formulas and figures, and nothing is asked of any network."""
    for name in toc_pages()[:2]:
        page = site.open(name, address=book.as_uri())
        assert page.evaluate("[...document.querySelectorAll('.attnlab-error')].every((e) => e.hidden)")
        page.context.close()


def test_dark_mode_changes_the_page_and_every_role(site):
    page = site.open(toc_pages()[0])
    light = page.evaluate(COLOURS)
    assert light[:4] == ["#0069a8", "#b04a00", "#00795a", "#a0307a"]
    page.locator(".theme-switch-button").first.click()
    if page.evaluate("document.documentElement.dataset.theme") == "light":
        page.locator(".theme-switch-button").first.click()
    dark = page.evaluate(COLOURS)
    assert dark[:4] == ["#6cb6f5", "#f5a15a", "#3fcf9f", "#ef9acb"]
    assert light[4] != dark[4]


def test_printing_shows_the_text_and_opens_what_is_folded(site):
    page = site.open(toc_pages()[-1])
    page.emulate_media(media="print")
    assert not page.locator(".bd-sidebar-primary").is_visible()
    assert page.locator("article h1").first.is_visible()
    folded = "<details id=t><summary>a</summary>b</details>"
    page.evaluate(f"document.querySelector('article').insertAdjacentHTML('beforeend', '{folded}')")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.querySelector('#t').open")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not page.evaluate("document.querySelector('#t').open")


OWN = ("attnlab.js", "attnlab.css", "book.js", "models/", "mathjax/", "chapters/")
"""What a page loads because of this book; all else comes with Jupyter Book and its theme."""


def test_a_page_is_light(site):
    """Whatever the browser asks for, gzipped as a server would send it; fonts and pictures as they are."""
    for name in toc_pages()[:2]:
        sizes: dict[str, int] = {}
        page = site.open(name, watch=lambda response, sizes=sizes: sizes.update(weight(response)))
        page.wait_for_timeout(300)
        own = sum(size for url, size in sizes.items() if any(part in url for part in OWN))
        total = sum(sizes.values())
        print(f"{name}: {own // 1000} kB beyond the theme, {total // 1000} kB in all, {len(sizes)} requests")
        assert len(sizes) > 10
        assert own < 420_000
        assert total < 580_000
        assert not any("searchindex" in url for url in sizes)  # it grows with the book


def weight(response) -> dict[str, int]:
    """Return the response's address and the bytes it takes on the wire."""
    body = response.body()
    packed = response.url.rpartition(".")[2].partition("?")[0] in ("woff", "woff2", "png")
    return {response.url: len(body if packed else gzip.compress(body))}


def test_without_scripts_the_book_can_be_read(site):
    context = site.browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.address}/{toc_pages()[0]}.html")
    assert page.locator("article h1").is_visible()
    assert page.locator("figure.attnlab-figure table").first.is_visible()


def test_search_finds_a_word(site):
    page = site.open("search")
    page.goto(f"{site.address}/search.html?q=softmax")
    page.wait_for_selector("#search-results li a", timeout=5000)


def test_requests_to_elsewhere_are_seen(site):
    """The guard itself: a page that reaches out is caught."""
    page = site.open(toc_pages()[0])
    page.evaluate("new Image().src = 'http://example.org/x.png'")
    page.wait_for_timeout(200)
    assert site.outside == ["http://example.org/x.png"]
    site.outside.clear()
    site.errors.clear()
