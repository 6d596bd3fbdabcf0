"""What moves around the text: colours, contents, sidebars, menus, and sections that wait below the screen."""

import re

import pytest

from book.conftest import page_of, toc_pages
from book.reader import parsed

CHAPTER = page_of("scaling")
MARKED = """async () => {
  const frame = () => new Promise(requestAnimationFrame), wrong = [];
  const inside = [...document.querySelectorAll("#pst-page-toc-nav a")].map((link) => link.hash);
  let places = 0;
  for (let y = 0; y < document.documentElement.scrollHeight - innerHeight - 2; y += 311, places++) {
    scrollTo(0, y);
    await frame();
    await frame();
    const sections = [...document.querySelectorAll("article section section")].filter((section) => {
      const { top, bottom } = section.getBoundingClientRect();
      const listed = inside.includes("#" + section.id), line = innerHeight / 3;
      return listed && top <= line && bottom > line - 60; // or the gap below it
    });
    const wanted = sections.length ? "#" + sections.at(-1).id : null;
    const marked = [...document.querySelectorAll("#pst-page-toc-nav [aria-current]")].map(({ hash }) => hash);
    if (wanted && (marked.length !== 1 || marked[0] !== wanted)) wrong.push([y, wanted, marked]);
  }
  return [places, wrong];
}"""
FOLDED = """() => [...document.querySelectorAll("article section section")]
  .filter((section) => getComputedStyle(section).contentVisibility !== "visible").length"""

LEADING = """(all) => all.map((one) => getComputedStyle(one)).map(
  ({ lineHeight, fontSize }) => parseFloat(lineHeight) / parseFloat(fontSize))"""
APART = """() => [...document.querySelectorAll(".bd-article p + .cell.has-figure")].map((cell) =>
  cell.querySelector("figure").getBoundingClientRect().top
    - cell.previousElementSibling.getBoundingClientRect().bottom)"""
HANGING = """() => {
  const box = document.querySelector(".objectives").getBoundingClientRect();
  const fold = document.querySelector(".objectives + .cell.tag_hide-input");
  const code = fold.querySelector("summary").getBoundingClientRect();
  return [fold.offsetHeight, code.left - box.right, (code.top + code.bottom) / 2 - box.bottom];
}"""
TEXT_RIGHT = """(heading) => Math.max(...[...heading.childNodes]
  .filter((node) => !node.matches?.(".headerlink"))
  .map((node) => {
    const range = document.createRange();
    range.selectNode(node);
    return range.getBoundingClientRect().right;
  }))"""
IN_LINE = """(cells) => cells.map((cell) => {
  const code = cell.querySelector(":scope > details.hide > summary").getBoundingClientRect();
  const last = [...cell.querySelectorAll("figcaption, small, details:not(.hide) > summary")].at(-1);
  return [cell.getBoundingClientRect().right - code.right, code.bottom - last.getBoundingClientRect().bottom];
})"""

CLOSE = ".cell:not(.has-room, .tag_take-it-with-you, .objectives + *) > details.hide > summary"
LOOSE = """(all) => all.map((code) => {
  const cell = code.closest(".cell"), box = code.getBoundingClientRect();
  const above = cell.querySelector(":scope > .cell_output") ?? cell.previousElementSibling;
  return [cell.getBoundingClientRect().right - box.right, box.bottom - above.getBoundingClientRect().bottom];
})"""
PRINT = """(all) => [...new Set(all.map((one) => {
  const { fontFamily, fontSize, lineHeight, color } = getComputedStyle(one);
  return [fontFamily, fontSize, lineHeight, color].join();
}))]"""


@pytest.mark.parametrize("name", [CHAPTER, "chapters/notation"])
def test_the_contents_mark_the_section_at_a_third_of_the_screen(site, name):
    places, wrong = site.open(name).evaluate(MARKED)
    assert places > 20
    assert wrong == []


def test_at_the_end_of_a_page_the_section_that_was_asked_for_is_marked(site):
    page = site.open(CHAPTER)
    page.set_viewport_size({"width": 1600, "height": 800})  # on less, a button opens the contents
    marked = page.locator("#pst-page-toc-nav [aria-current]")
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    last = page.locator("#pst-page-toc-nav a").last.inner_text()
    marked.filter(has_text=last).wait_for()
    assert marked.count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_new_reader_gets_the_systems_colours_before_any_script_is_loaded(site, scheme):
    context = site.browser.new_context(color_scheme=scheme)
    page = context.new_page()
    page.route("**/*.js*", lambda route: route.abort())
    page.goto(f"{site.address}/{CHAPTER}.html")
    assert page.evaluate("({...document.documentElement.dataset}).theme") == scheme
    context.close()


def test_colours_follow_the_system_until_the_reader_chooses(site):
    context = site.browser.new_context(color_scheme="light")
    page = context.new_page()
    page.goto(f"{site.address}/{CHAPTER}.html")
    theme, button = "document.documentElement.dataset.theme", page.locator(".theme-switch-button").first
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"{theme} === 'dark'")
    button.click()  # from the system's to light, which is not what stands
    assert page.evaluate(theme) == "light"
    page.reload()
    assert page.evaluate(theme) == "light"
    button.click()
    assert page.evaluate(theme) == "dark"
    button.click()
    assert page.evaluate("document.documentElement.dataset.mode") == "auto"
    context.close()


@pytest.mark.parametrize("name", ["primary", "secondary"])
def test_on_a_narrow_screen_a_sidebar_is_a_dialog_and_comes_back(site, name):
    page = site.open(CHAPTER, width=390)
    button, dialog = page.locator(f".{name}-toggle"), page.locator(f"#pst-{name}-sidebar-modal")
    links = page.locator(f"#pst-{name}-sidebar a").count()
    assert links > 5
    button.click()
    assert dialog.is_visible()
    assert dialog.locator("a").count() == links
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    assert page.locator(f"#pst-{name}-sidebar a").count() == links
    assert button.evaluate("(element) => element === document.activeElement")
    button.click()
    page.mouse.click(388 if name == "primary" else 2, 600)  # beside it
    dialog.wait_for(state="hidden")


def test_a_link_of_the_contents_leads_out_of_their_dialog(site):
    page = site.open(CHAPTER, width=390)
    page.locator(".secondary-toggle").click()
    dialog = page.locator("#pst-secondary-sidebar-modal")
    link = dialog.locator("a").nth(3)
    target = link.get_attribute("href")
    link.click()
    dialog.wait_for(state="hidden")
    page.wait_for_function(f"Math.abs(document.querySelector('{target}').getBoundingClientRect().top) < 120")


def test_on_a_wide_screen_the_list_of_pages_goes_and_comes(site):
    page = site.open(CHAPTER)
    bar = page.locator("#pst-primary-sidebar")
    page.locator(".primary-toggle").click()
    bar.wait_for(state="hidden")
    page.locator(".primary-toggle").click()
    bar.wait_for(state="visible")


def test_the_menu_of_downloads_opens_and_closes(site):
    page = site.open(CHAPTER)
    button = page.locator('[data-bs-toggle="dropdown"]')
    menu = button.locator("+ .dropdown-menu")
    assert menu.is_hidden()
    button.click()
    assert button.get_attribute("aria-expanded") == "true"
    box = menu.bounding_box()
    assert box["x"] + box["width"] <= 1280
    page.mouse.move(640, 700)  # it also opens where the mouse stands
    page.keyboard.press("Escape")
    assert menu.is_hidden()
    button.click()
    page.mouse.click(640, 700)
    assert menu.is_hidden()
    assert button.get_attribute("aria-expanded") == "false"


def test_sections_wait_below_the_screen_and_all_of_them_unfold(site):
    page = site.open(CHAPTER)
    assert page.evaluate(FOLDED) == 0
    blocked = site.browser.new_context().new_page()
    blocked.route("**/book.js*", lambda route: route.abort())
    blocked.goto(f"{site.address}/{CHAPTER}.html")
    assert blocked.evaluate(FOLDED) == blocked.locator("article section section").count() > 5
    blocked.context.close()


def test_without_scripts_nothing_waits(site):
    context = site.browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.address}/{CHAPTER}.html")
    heights = page.locator("article section section").evaluate_all(
        "(all) => all.map((one) => getComputedStyle(one).contentVisibility)"
    )
    assert set(heights) == {"visible"}
    context.close()


def test_a_link_into_a_page_leads_there(site):
    page = site.open(CHAPTER, query="#exercises")
    page.wait_for_function("Math.abs(document.querySelector('#exercises').getBoundingClientRect().top) < 120")
    assert page.evaluate(FOLDED) == 0


@pytest.mark.parametrize("name", toc_pages())
def test_no_page_loads_the_themes_own_scripts(book, name):
    text = (book / f"{name}.html").read_text(encoding="utf-8")
    for script in ("bootstrap", "pydata-sphinx-theme", "sphinx-book-theme"):
        assert f"{script}.js" not in text
    assert "_static/theme.js" in text


def test_code_is_set_as_openly_as_its_text(site):
    leads = site.open(CHAPTER).locator(".bd-article .highlight pre").evaluate_all(LEADING)
    assert len(leads) > 5
    assert min(leads) >= 1.45


@pytest.mark.parametrize("width", [1280, 390])
def test_the_code_of_a_setup_takes_no_line_of_the_page(site, width):
    page = site.open(page_of("what_it_costs"), width=width)
    height, right, below = page.evaluate(HANGING)
    assert height == 0
    assert 0 <= right <= 12  # behind the box, not in it
    assert -22 <= below <= -14  # in its line
    page.locator(".objectives + .cell.tag_hide-input summary").click()
    assert page.evaluate(HANGING)[0] > 100


@pytest.mark.parametrize("width", [1280, 390])
def test_a_caption_begins_where_the_text_does(site, width):
    page = site.show(page_of("what_it_costs"), width=width)
    lefts = "(all) => [...new Set(all.map((one) => Math.round(one.getBoundingClientRect().left)))]"
    assert len(page.locator(":is(article h2, figure > figcaption):visible").evaluate_all(lefts)) == 1


def test_where_the_line_is_short_the_code_of_a_setup_waits_until_the_box_is_opened(site):
    page = site.open(page_of("what_it_costs"), width=320)
    code = page.locator(".objectives + .cell.tag_hide-input summary")
    assert not code.is_visible()
    page.locator("details.objectives > summary").click()
    assert code.is_visible()


@pytest.mark.parametrize("width", [1280, 390])
def test_a_chapter_s_first_heading_is_as_near_where_nothing_is_imported(site, width):
    gaps = [
        site.show(page_of(topic), width=width).evaluate(
            """() => document.querySelector("article h2").getBoundingClientRect().top
              - document.querySelector(".objectives").getBoundingClientRect().bottom"""
        )
        for topic in ("why_attention", "what_it_costs")
    ]
    assert abs(gaps[0] - gaps[1]) < 2
    assert max(gaps) < 45


@pytest.mark.parametrize(
    ("topic", "width"),
    [("multi_head", 1280), ("many_devices", 1200), ("many_devices", 1090), ("masking", 390)],
)
def test_a_chapter_has_its_picture_beside_its_title_where_there_is_room(site, topic, width):
    page = site.show(page_of(topic), width=width)
    picture = page.locator("article svg.attn-emblem[aria-hidden=true]")
    assert picture.count() == 1
    assert picture.is_visible() == (width >= 1200)
    place = "() => document.querySelector('details.objectives').getBoundingClientRect().top"
    if width < 1200:
        return
    box, title = picture.bounding_box(), page.locator("article h1").evaluate(TEXT_RIGHT)
    assert 90 <= box["height"] <= 120
    assert title < box["x"]
    before = page.evaluate(place)
    picture.evaluate("(one) => one.style.setProperty('display', 'none', 'important')")
    assert page.evaluate(place) == before, "it takes no line of the page"
    page.emulate_media(media="print")
    picture.evaluate("(one) => one.removeAttribute('style')")
    assert not picture.is_visible()
    page.emulate_media(media="screen")


@pytest.mark.parametrize("width", [1280, 390])
def test_code_stands_in_the_line_of_a_caption_or_fold(site, width):
    page = site.open(page_of("multi_head"), width=width)
    found = page.locator(".has-room").evaluate_all(IN_LINE)
    assert len(found) >= 5
    assert all(abs(right) <= 2 and 0 <= below <= 14 for right, below in found), found
    # Where there is no such line, it stands close below what it made, and always at the right.
    for chapter, least in (("sparse_attention", 6), ("softmax_saturation", 4)):
        page = site.open(page_of(chapter), width=width)
        loose = page.locator(CLOSE).evaluate_all(LOOSE)
        assert len(loose) >= least
        assert all(abs(right) <= 2 and 20 <= below <= 40 for right, below in loose), loose
    assert {round(below) for _, below in loose} == {24}
    # What the text gives to take along is no small print: its fold is as wide as the text.
    page = site.open(page_of("sparse_attention"), width=width)
    fold, text = (
        page.locator(f".tag_take-it-with-you{part}").first.bounding_box()
        for part in (" > details.hide > summary", " > .cell_output, .tag_take-it-with-you")
    )
    assert fold["width"] == pytest.approx(text["width"], abs=4)
    page = site.open(page_of("multi_head"), width=width)
    cell = page.locator(".has-room").first
    cell.locator("details.hide > summary").click()
    caption, code = (cell.locator(part).bounding_box() for part in ("figcaption", "details.hide"))
    assert code["y"] >= caption["y"] + caption["height"] - 1


def test_small_print_is_of_one_kind_below_figures_and_tables(site):
    page = site.show(page_of("why_attention"))
    notes = page.locator("article :is(figcaption, .cell_output small)")
    assert notes.count() >= 5
    (kind,) = notes.evaluate_all(PRINT)
    assert "Saw Sans" in kind.split(",")[0]
    assert "14.72px" in kind


@pytest.mark.parametrize(("width", "question"), [(1280, 320), (390, 300), (320, 300)])
def test_a_chapter_s_question_stands_on_its_first_screen(site, width, question):
    page = site.show(page_of("multi_head"), width=width)
    aims = page.locator("details.objectives")
    assert aims.locator("summary").inner_text() == "About 45 minutes; afterwards you can …"
    assert aims.bounding_box()["height"] < 45  # one line
    assert page.locator("#a-question p").first.bounding_box()["y"] < question + 30
    aims.locator("summary").click()
    assert aims.locator("summary").inner_text() == "In this chapter"
    assert aims.locator("li").first.is_visible()
    aims.locator("summary").click()


def test_aims_of_the_playground_are_one_line_as_a_chapter_s_are(site):
    aims = site.show("chapters/playground").locator("details.objectives")
    assert aims.locator("summary").inner_text() == "About 25 minutes; afterwards you can …"
    assert aims.bounding_box()["height"] < 45


def test_a_word_with_a_hyphen_stays_in_one_line_of_its_heading(site):
    heading = site.show(page_of("multi_head"), width=320).locator("article h1")
    assert "Multi-head attention" in heading.inner_text()
    assert heading.locator(".attn-tied").evaluate(
        "(word) => [word.textContent, word.getClientRects().length]"
    ) == [
        "Multi-head",
        1,
    ]


@pytest.mark.parametrize("width", [1280, 320])
def test_a_gesture_stands_right_above_its_figure(site, width):
    apart = site.open("chapters/five_minutes", width=width).evaluate(APART)
    assert len(apart) >= 4
    assert all(4 < gap < 24 for gap in apart), apart


def test_no_drawing_of_a_figure_has_the_whole_page_styled_anew(book):
    """Where the style of a page's frame hangs on what is in it, browsers ask again after every change."""
    sheet = (book / "_static/book.css").read_text(encoding="utf-8")
    frame = (
        r"(?:html|body|main|:root|\.bd-[\w-]+|\.cell|#main-content)(?:\.[\w-]+|\[[^\]]*\])*:(?:not\(:)?has\("
    )
    assert re.findall(rf"(?<![\w.#-]){frame}[^)]*\)", sheet) == []
    body = parsed(book / "chapters/five_minutes.html").body
    assert {"has-figures", "has-playground"} <= set(body["class"])
    assert len(body.select(".cell.has-figure")) == len(body.select("figure[data-attnlab]"))


LIGHT = """(part, what) => {
  const [r, g, b] = getComputedStyle(part)[what].match(/[\\d.]+/g).map((x) => x / 255)
    .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}"""
"""How light a colour is."""
BESIDE = """async (height) => {
  const frame = () => new Promise(requestAnimationFrame);
  const bar = document.querySelector("#pst-secondary-sidebar");
  const standing = "p, pre, table, h2, figure, details, .math, .attn-emblem";
  const parts = document.querySelectorAll(`article :is(${standing})`);
  const seen = [], over = [];
  for (let y = 0; y < document.documentElement.scrollHeight; y += height) {
    scrollTo({ top: y, behavior: "instant" });
    for (let i = 0; i < 6; i++) await frame();
    const shown = getComputedStyle(bar).visibility === "visible";
    const ground = bar.getBoundingClientRect();
    seen.push(shown);
    if (!shown) continue;
    for (const part of parts) {
      const { left, right, top, bottom, width } = part.getBoundingClientRect();
      const across = right > ground.left + 1 && left < ground.right;
      if (width && part.checkVisibility() && across && bottom > ground.top && top < ground.bottom)
        over.push(`${y}: ${part.localName} ${part.className}`);
    }
  }
  return [seen, over];
}"""
"""Down a page: where its contents are seen beside the text, and what they lie on."""


@pytest.mark.parametrize("width", [1200, 1280, 1440])
@pytest.mark.parametrize("topic", ["sparse_attention", "why_attention"])
def test_the_contents_stand_beside_the_text_and_give_way_to_figures(site, topic, width):
    page = site.open(page_of(topic), width=width, height=800)
    seen, over = page.evaluate(BESIDE, 300)
    assert over == []
    assert False in seen  # where a figure passes
    assert seen.count(True) > 0.5 * len(seen)
    assert page.locator(".secondary-toggle").is_visible()  # for then


def test_in_the_dark_comments_are_the_quietest_of_code(site):
    page = site.open(page_of("sparse_attention"), theme="dark")
    light = {
        kind: page.locator(f".highlight .{kind}").first.evaluate(LIGHT, "color")
        for kind in ("c1", "mi", "s2", "o", "n", "nb", "k")
    }
    ground = page.locator(".highlight pre").first.evaluate(LIGHT, "backgroundColor")
    assert min(light, key=light.get) == "c1"
    assert (light["c1"] + 0.05) / (ground + 0.05) > 4.5


MEASURED = """async () => {
  const own = Object.getOwnPropertyDescriptor(Element.prototype, "scrollWidth"), read = [];
  const get = function () { read.push(this); return own.get.call(this); };
  Object.defineProperty(Element.prototype, "scrollWidth", { ...own, get });
  dispatchEvent(new Event("resize"));
  while (!read.length) await new Promise((go) => setTimeout(go, 20));
  await new Promise((go) => setTimeout(go, 100));
  Object.defineProperty(Element.prototype, "scrollWidth", own);
  return [read.length, read.filter((one) => one.closest("details:not([open])")).length];
}"""
WIDE = """(fold) => [...fold.querySelectorAll("pre")].filter((one) => one.scrollWidth > one.clientWidth + 1)
  .map((one) => one.tabIndex)"""


def test_what_waits_in_a_fold_is_measured_when_it_opens(site):
    """Each alone would be laid out for it: 60 ms of a slow phone for seven of them."""
    page = site.open(page_of("why_attention"), width=390)
    read, closed = page.evaluate(MEASURED)
    assert read > 20
    assert closed == 0
    fold = page.locator("article details:not([open]):has(pre)").first.element_handle()
    fold.evaluate("(fold) => (fold.open = true)")
    page.wait_for_function(
        "(fold) => [...fold.querySelectorAll('pre')].some((one) => one.tabIndex === 0)", arg=fold
    )
    assert set(fold.evaluate(WIDE)) == {0}
