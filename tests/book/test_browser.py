"""Every page in a real browser with the network blocked: errors, axe, 320 px, dark, print, no server."""

import gzip
import json
import re
from pathlib import Path
from urllib.parse import quote

import pytest

from .conftest import page_of, toc_pages
from .reader import SIDEWAYS, STILL, says, violations

PAGES = [*toc_pages(), "search", "genindex"]
# The pages of the reference are made of the same parts: in dark, one speaks for all.
IN_DARK = [name for name in PAGES if "/api/" not in name or name.endswith("/attention")]
UNREACHABLE = """async () => {
  const open = "a, button, input, select, textarea, summary, [tabindex]";
  const places = "article pre, article .math, article .pst-scrollable-table-container, article figure";
  // What stands in a fold is marked when that opens.
  const folds = [...document.querySelectorAll("article details:not([open], figure *)")];
  for (const fold of folds) fold.open = true;
  await new Promise((go) => setTimeout(go, 100));
  const found = [...document.querySelectorAll(places)]
    .filter((e) => !e.closest("details:not([open])"))
    .filter((e) => e.scrollWidth > e.clientWidth + 1)
    .filter((e) => ["auto", "scroll"].includes(getComputedStyle(e).overflowX))
    .filter((e) => e.tabIndex < 0 && !e.querySelector(open))
    .map((e) => e.outerHTML.slice(0, 120));
  for (const fold of folds) fold.open = false;
  return found;
}"""
CLIPPED = """[...document.querySelectorAll("div.math")]
  .filter((e) => e.scrollWidth > e.clientWidth + 1).length"""
MOUNTS = """[...document.querySelectorAll("figure.attnlab-figure")].map(
  (figure) => figure.querySelectorAll(".attnlab-root").length)"""
COLOURS = """() => {
  const style = getComputedStyle(document.documentElement);
  const roles = ["query", "key", "value", "output"].map((r) => style.getPropertyValue(`--attn-${r}`).trim());
  return [...roles, getComputedStyle(document.body).backgroundColor];
}"""
WIDTHS = """[...document.querySelectorAll("figure.attnlab-figure")].map((figure) => {
  const { fontSize, color } = getComputedStyle(figure);
  return [figure.clientWidth, fontSize, color]; })"""
TOGETHER = """() => {
  const all = [...document.querySelectorAll("article :is(h2, .predict, figure[data-attnlab])")];
  return all.flatMap((box, i) => {
    const root = box.matches(".predict") && all[i + 1]?.querySelector(".attnlab-root");
    if (!root) return [];
    return [[root.dataset.figure, root.getBoundingClientRect().bottom - box.getBoundingClientRect().top]];
  });
}"""
# The colours of code go by class and by what it stands in, and all formulas are set alike: one of each
# stands for all, in half of axe's time.
THIN = """() => {
  const seen = new Set();
  for (const span of document.querySelectorAll("pre span")) {
    const kind = `${span.className} in ${span.closest("div, dt").parentElement.className}`;
    if (seen.has(kind)) span.replaceWith(...span.childNodes);
    seen.add(kind);
  }
  [...document.querySelectorAll("math")].slice(3).forEach((formula) => formula.replaceChildren("x"));
}"""
# Those that are like ours stand for faces of other systems, and fail where a system lacks them.
FONT_ERRORS = """document.fonts.ready.then(() => [...document.fonts].filter((face) =>
  face.status == 'error' && !face.family.includes('Like Saw')).length)"""


# Grouped by page: it is opened once, as a phone opens it, and made wide for what comes after.
every_page = pytest.mark.parametrize("name", PAGES, scope="module")
every_page_of_the_contents = pytest.mark.parametrize("name", toc_pages(), scope="module")


def on_a_phone(site, name):
    return site.show(name, width=320, height=700, theme="dark")


def on_a_desk(site, name):
    """The same page, wide and light: loading it again would take most of a test's time."""
    page = on_a_phone(site, name)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    page.evaluate(STILL)
    return page


@every_page_of_the_contents
def test_every_figure_mounts_once(site, name):
    counts = on_a_phone(site, name).evaluate(MOUNTS)
    assert counts == [1] * len(counts)
    if name == toc_pages()[0]:
        assert counts, "the landing page has its figure"


PLOTS = """() => [...document.querySelectorAll("figure.attnlab-plot")].flatMap((plot) => {
  const seen = [...plot.querySelectorAll("svg")].filter((svg) => svg.getBoundingClientRect().width);
  if (seen.length !== 1) return plot.checkVisibility() ? [{ plots: seen.length }] : [];
  const { left, right, height } = seen[0].getBoundingClientRect();
  const texts = [...seen[0].querySelectorAll("text")].filter((text) => text.textContent.trim());
  const letters = texts.map((text) => {
    const { a, b } = text.getScreenCTM();
    return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(a, b);
  });
  const prose = parseFloat(getComputedStyle(document.querySelector(".bd-article")).fontSize);
  const [least, most] = [Math.min(...letters), Math.max(...letters)];
  return [{ plots: 1, left, right, height, least, most, prose, room: document.documentElement.clientWidth }];
})"""


@every_page_of_the_contents
def test_a_plot_fills_its_column_and_its_letters_can_be_read_on_a_phone(site, name):
    for plot in on_a_phone(site, name).evaluate(PLOTS):
        assert plot["plots"] == 1, plot
        assert plot["least"] >= 11, plot
        assert plot["left"] >= 0, plot
        assert plot["right"] <= plot["room"], plot
    for plot in on_a_desk(site, name).evaluate(PLOTS):
        assert plot["plots"] == 1, plot
        assert plot["right"] - plot["left"] >= 560, plot
        assert plot["height"] <= 560, plot
        assert plot["most"] <= plot["prose"], plot


@every_page_of_the_contents
def test_no_formula_is_left_with_an_error(site, name):
    assert on_a_phone(site, name).locator(".math:not(:has(> math)), .math merror").count() == 0


@every_page
def test_a_phone_does_not_scroll_sideways(site, name):
    assert on_a_phone(site, name).evaluate(SIDEWAYS) == []


def test_on_a_phone_names_in_tables_stay_whole(site):
    broken = on_a_phone(site, "chapters/notation").evaluate("""() =>
      [...document.querySelectorAll(".bd-article table code")]
        .filter((code) => code.getClientRects().length > code.textContent.trim().split(/\\s+/).length)
        .map((code) => code.textContent)""")
    assert broken == []


@every_page_of_the_contents
def test_on_a_phone_few_formulas_scroll(site, name):
    # Most fit 320 px. The long ones left are no more than these, and they scroll inside themselves.
    left = {"why": 1, "relevance": 3, "before": 3, "transformer": 4}
    most = next((left[topic] for topic in left if f"_{topic}" in name), 0)
    assert on_a_phone(site, name).evaluate(CLIPPED) <= most


@every_page
def test_on_a_phone_keys_reach_whatever_scrolls(site, name):
    unreachable = on_a_phone(site, name).evaluate(UNREACHABLE)
    assert unreachable == [], "these scroll, and no key can reach them"


@every_page_of_the_contents
def test_a_prediction_and_its_figure_are_seen_together(site, name):
    """What one expects and what one then sees: on one screen of 1280 by 800."""
    for figure, height in on_a_desk(site, name).evaluate(TOGETHER):
        assert height <= 800, figure


@every_page
def test_axe_finds_nothing(site, name):
    page = on_a_desk(site, name)
    page.evaluate(THIN)
    light, dark = violations(page), []
    if name in IN_DARK:
        page.evaluate("document.documentElement.dataset.theme = 'dark'")
        dark = violations(page, "color-contrast", "link-in-text-block")
    page.evaluate("history.replaceState(null, '', '?thinned')")  # whoever asks for the page has it anew
    assert light == []
    assert dark == []


PLACES = """() => Object.fromEntries(Object.entries({
  text: "article section > p", box: "article .predict", figure: "article figure[data-attnlab]",
  contents: ".bd-sidebar-secondary",
}).map(([name, where]) => {
  const { left, right } = document.querySelector(where).getBoundingClientRect();
  return [name, [left, right - left]];
}))"""


CLOSED = "() => document.querySelector('.bd-sidebar-primary').getBoundingClientRect().left < 0"


@pytest.mark.parametrize("closed", [False, True])
def test_on_a_wide_screen_a_figure_takes_the_room_beside_the_text(site, closed):
    page = site.open(page_of("scaling"))
    if closed:
        page.locator(".primary-toggle:visible").click()
        page.wait_for_function(CLOSED)
    for width, wanted in (
        (1280, 1000 if closed else 960),
        (1440, 1000),
        (1600, 1000 if closed else 918),
        (1920, 1000 if closed else 918),
    ):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate(STILL)
        places = page.evaluate(PLACES)
        (left, of_text), (start, of_figure) = places["text"], places["figure"]
        assert of_text == 688
        assert places["box"] == places["text"]
        assert start == left
        assert round(of_figure) == wanted
        # The page's contents stand beside it, or a button opens them.
        assert page.locator(".secondary-toggle:visible").count() == (width < 1600)
        if width < 1600:
            page.locator(".secondary-toggle:visible").click()
            page.locator("#pst-secondary-sidebar-modal nav.page-toc").wait_for()
            page.keyboard.press("Escape")
            page.wait_for_function("() => !document.querySelector('dialog[open]')")
        else:
            assert start + of_figure <= places["contents"][0]
        assert page.evaluate(SIDEWAYS) == []


def test_formulas_are_set_with_the_fonts_of_the_book(site):
    page = site.show("chapters/notation")
    assert page.locator("math").count() > 10
    assert page.evaluate("[...document.fonts].find((f) => f.family.includes('STIX')).status") == "loaded"
    assert page.evaluate(FONT_ERRORS) == 0


def test_it_works_without_a_server(site, book):
    """Opened from the disk: the same formulas and figures, and nothing is asked of any network."""
    for name in toc_pages()[:2]:
        page = site.open(name, address=book.as_uri())
        assert page.evaluate("[...document.querySelectorAll('.attnlab-error')].every((e) => e.hidden)")


def test_a_light_page_of_figures_gives_them_the_room_that_the_book_gives(site, figures_of):
    """Most tests of figures use pages without the rest of the book; that must not change the figures."""
    name = toc_pages()[1]
    light = figures_of(name)
    for width in (320, 1280):
        in_the_book, alone = (site.open(page, width=width).evaluate(WIDTHS) for page in (name, light))
        assert in_the_book == alone
        assert alone


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


OWN = (
    "attnlab.js",
    "attnlab.css",
    "book.js",
    "theme.js",
    "questions.js",
    "figures/",
    "models/",
    "fonts/stix",
    "chapters/",
)
"""What a page loads because of this book; all else comes with Jupyter Book and its theme."""


def test_a_page_is_light(site):
    """Whatever the browser asks for, gzipped as a server would send it; fonts and pictures as they are."""
    for name in toc_pages()[:2]:
        context = site.browser.new_context()  # nothing is in its memory yet
        page, responses = context.new_page(), []
        page.on("requestfinished", lambda request, responses=responses: responses.append(request.response()))
        page.goto(f"{site.address}/{name}.html")
        page.wait_for_function("'attnWhole' in document.documentElement.dataset")
        for part in page.locator("figure[data-attnlab]").all():  # as who reads on comes to each
            part.scroll_into_view_if_needed()
            part.locator('[data-part="reset"]').wait_for(state="attached")
        page.evaluate("() => document.fonts.ready")
        sizes = {url: size for response in responses for url, size in weight(response).items()}
        # The search's: they are fetched when all of it stands, and only where nobody spares data.
        sizes = {url: size for url, size in sizes.items() if "_static/search" not in url}
        mounts = page.locator("figure[data-attnlab]")
        shown = set(mounts.evaluate_all("mounts => mounts.map(mount => mount.dataset.attnlab)"))
        context.close()
        own = sum(size for url, size in sizes.items() if any(part in url for part in OWN))
        total = sum(sizes.values())
        print(f"{name}: {own // 1000} kB beyond the theme, {total // 1000} kB in all, {len(sizes)} requests")
        assert len(sizes) > 6
        assert own < 420_000
        assert total < 580_000
        assert not any("searchindex" in url for url in sizes)  # it grows with the book
        loaded = {Path(url).stem for url in sizes if "figures/" in url}
        assert loaded == shown  # its own figures, and no others


FAR = """() => [...document.querySelectorAll(".bd-article section section")].map((section) => {
  const { top, bottom } = section.getBoundingClientRect();
  return [bottom < -innerHeight || top > 2 * innerHeight, getComputedStyle(section).contentVisibility];
})"""
"""Of each section: whether it is a screen away, and whether the browser has to care for it."""


@pytest.mark.parametrize("dialog", ["#pst-search-dialog", "#pst-primary-sidebar-modal"])
def test_behind_a_dialog_what_is_far_away_is_not_styled_anew(site, dialog):
    page = site.open(page_of("why_attention"), width=390, height=844)
    page.wait_for_function("'attnWhole' in document.documentElement.dataset")
    page.evaluate("document.querySelectorAll('.bd-article section section')[3].scrollIntoView()")
    stands = "() => [document.documentElement.scrollHeight, scrollY]"
    before = page.evaluate(stands)
    opener = ".search-button__button" if "search" in dialog else ".primary-toggle"
    page.locator(f"{opener}:visible").first.evaluate("(button) => button.click()")  # a hand's would scroll
    page.locator(f"{dialog}[open]").wait_for()
    states = page.evaluate(FAR)
    assert {state for far, state in states if far} == {"auto"}
    assert {state for far, state in states if not far} == {"visible"}
    assert page.evaluate(stands) == before  # what waits is as high as it was
    page.keyboard.press("Escape")
    page.wait_for_function(f"() => ({FAR})().every(([, state]) => state === 'visible')")
    assert page.evaluate(stands) == before


def test_a_figure_far_below_costs_nothing_until_the_reader_comes_near(site):
    context = site.browser.new_context(viewport={"width": 390, "height": 844})
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{site.address}/{page_of('transformer')}.html")
    page.wait_for_function("'attnWhole' in document.documentElement.dataset")
    part = page.locator('figure[data-attnlab="block"]')
    assert part.locator("table").count() == 1  # its numbers stand there, under the cover of a prediction
    assert part.locator("[data-part=reset]").count() == 0
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.wait_for_function(
        "document.querySelector('figure[data-attnlab=block] > img').naturalWidth > 0"
    )  # on paper its picture, too
    assert not any("models/" in url for url in asked)
    part.evaluate("(figure) => scrollTo(0, figure.getBoundingClientRect().top + scrollY - innerHeight * 1.5)")
    part.locator("[data-part=reset]").wait_for(state="attached")  # a screen before it is seen
    assert any("models/tagger-model" in url for url in asked)
    context.close()


def test_a_link_into_a_figure_that_nobody_came_near_begins_with_the_state_that_it_asks_for(site):
    context = site.browser.new_context(viewport={"width": 390, "height": 640})
    page = context.new_page()
    page.add_init_script("globalThis.IntersectionObserver = class { observe() {} unobserve() {} }")
    page.goto(f"{site.address}/chapters/playground.html")
    page.evaluate("globalThis.here = true")
    part = page.locator('figure[data-attnlab="playground"]')
    assert part.locator("[data-part=train]").count() == 0
    page.get_by_role("link", name="Give run B positions").evaluate("(a) => a.click()")
    part.locator("[data-part=reset]").wait_for(state="attached")
    positions = part.locator('[data-run="B"][data-name="positions"]')
    assert positions.evaluate("(one) => one.selectedOptions[0].textContent") == "RoPE"
    page.wait_for_function("document.activeElement.matches('figure[data-attnlab=playground]')")
    assert page.locator(".attnlab-back a").count() == 1
    assert page.evaluate("globalThis.here")  # the page has not been loaded again
    context.close()


def weight(response) -> dict[str, int]:
    """Return the response's address and the bytes it takes on the wire."""
    body = response.body()
    packed = response.url.rpartition(".")[2].partition("?")[0] in ("woff", "woff2", "png")
    return {response.url: len(body if packed else gzip.compress(body))}


def test_a_link_to_a_figure_leads_to_it_in_its_state(site):
    query = f"?calculator={quote(json.dumps({'stage': 5}))}#figure-calculator"
    page = site.open(page_of("why_attention"), height=800, query=query)
    figure = page.locator("#figure-calculator")
    # Below the first figure and many formulas: the top of what it asks stands where a heading would.
    box = page.locator(".cell:has(#figure-calculator)").locator("xpath=preceding-sibling::*[1]")
    assert "predict" in box.get_attribute("class")
    page.wait_for_function(
        "(box) => Math.abs(box.getBoundingClientRect().top - 72) < 2", arg=box.element_handle()
    )
    assert "Stage 5 of 6" in says(figure)
    # What its scripts loaded is named by its content: no cache gives an older one.
    loaded = page.evaluate("performance.getEntriesByType('resource').map(({ name }) => name)")
    named = {re.search(r"\?v=(\w+)$", url)[1] for url in loaded if re.search("/(figures|models)/", url)}
    assert len(named) == 1
    assert len(named.pop()) == 8


@pytest.mark.parametrize(
    ("width", "height", "first"), [(1280, 800, True), (390, 844, True), (390, 300, False)]
)
@pytest.mark.parametrize("where", ["five_minutes", "positional_encoding"])  # a line of text; a box
def test_a_link_to_a_figure_shows_what_the_page_asks_there_where_it_leaves_room(
    site, where, width, height, first
):
    state = quote(json.dumps({"height": height}))  # unknown, and passed over: each page is loaded anew
    query = f"?positions={state}#figure-positions"
    address = "chapters/five_minutes" if where == "five_minutes" else page_of(where)
    page = site.open(address, width=width, height=height, query=query)
    request = page.locator(".cell:has(#figure-positions)").locator("xpath=preceding-sibling::*[1]")
    assert request.locator("strong").count() == 1 or "predict" in request.get_attribute("class")
    leads = request if first else page.locator("#figure-positions")
    page.wait_for_function(
        "(one) => Math.abs(one.getBoundingClientRect().top - 72) < 2",
        arg=leads.element_handle(),
        timeout=20_000,
    )


def test_without_scripts_the_book_can_be_read(site):
    context = site.browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.address}/{toc_pages()[0]}.html")
    assert page.locator("article h1").is_visible()
    assert page.locator("figure.attnlab-figure table").first.is_visible()
    context.close()


@pytest.mark.parametrize("elsewhere", ["http://example.org/x.png", "http://192.0.2.1/x.png"])
def test_requests_to_elsewhere_are_seen_and_lead_nowhere(site, elsewhere):
    """The guard itself: a page that reaches out is caught."""
    page = site.open(toc_pages()[-1])
    with page.expect_event("requestfailed") as failed:
        page.evaluate(f"new Image().src = '{elsewhere}'")
    assert failed.value.failure == "net::ERR_NAME_NOT_RESOLVED"
    assert site.outside == [elsewhere]
    site.outside.clear()
    site.hear()
    site.errors.clear()
