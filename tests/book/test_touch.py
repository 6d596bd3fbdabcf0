"""Fingers: a handle follows them, everywhere else the page scrolls."""

import pytest

from attnbook.widgets import MaskPainter, PositionsLab, RopeDial, Saturation, SoftLookup, SparsePatterns

from .conftest import AT_ONCE, PATIENCE, page_of

NUMBERS = """(figure) => [...figure.querySelectorAll("td, [role=slider]")]
  .map((e) => e.getAttribute("aria-valuetext") ?? e.getAttribute("aria-label") ?? e.textContent).join()"""
A_FRAME = "() => new Promise(requestAnimationFrame)"
AT_REST = """async () => {
  for (let still = 0, last = -1; still < 6; last = scrollY) {
    await new Promise(requestAnimationFrame);
    still = scrollY === last ? still + 1 : 0;
  } }"""
"""Waits until the page has not scrolled for some frames: a swipe may end later than the finger."""
X = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 0.5]]


@pytest.fixture(scope="module")
def phone(browser, address, page_with):
    """Open figures on a phone; return the page, and a way to draw a finger over it."""
    name = page_with(
        SoftLookup([[2, 1], [-1, 2], [-2, -1]], ["I", "saw", "a"])._repr_html_(),
        Saturation([1.5, 0.2, -0.5, 1.0], names=["I", "saw", "a", "duck"], scaled=False)._repr_html_(),
        PositionsLab()._repr_html_(),
        RopeDial(m=12, n=5)._repr_html_(),
        SparsePatterns("window", n=16, width=3)._repr_html_(),
        MaskPainter(X, ["I", "saw", "a", "duck"])._repr_html_(),
        "<div style='height: 900px'></div>",
    )
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    context.set_default_timeout(PATIENCE)
    context.add_init_script(AT_ONCE)
    page = context.new_page()
    page.goto(f"{address}/{name}.html")
    page.wait_for_function("document.querySelectorAll('.attnlab-root [data-part=reset]').length === 6")
    devtools = context.new_cdp_session(page)

    def swipe(x, y, dx, dy):
        def touch(kind, points):
            devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        touch("touchStart", [{"x": x, "y": y}])
        for step in range(1, 11):
            touch("touchMove", [{"x": x + dx * step / 10, "y": y + dy * step / 10}])
            page.evaluate(A_FRAME)
        touch("touchEnd", [])
        page.evaluate(AT_REST)

    yield page, swipe
    context.close()


def bring(page, figure, part):
    """Scroll until a part of a figure stands in the middle; return its middle."""
    at = page.locator(f'[data-figure="{figure}"] {part}').first
    at.evaluate("(e) => e.scrollIntoView({block: 'center'})")
    page.evaluate(AT_REST)
    box = at.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def state(page, figure):
    return page.locator(f'[data-figure="{figure}"]').evaluate(NUMBERS), page.evaluate("scrollY")


@pytest.mark.parametrize(
    ("figure", "part", "dx", "dy"),
    [
        ("lookup", '[data-which="query"] path', 30, -50),
        ("saturation", '[data-part="handle"] rect', -50, 0),
        ("positions", '[data-which="1"] rect', 80, 0),
        ("rope", '[data-which="query"] path', 50, 0),
    ],
)
def test_a_handle_follows_the_finger_and_the_page_stays(phone, figure, part, dx, dy):
    page, swipe = phone
    x, y = bring(page, figure, part)
    numbers, scrolled = state(page, figure)
    swipe(x, y, dx, dy)
    after, still = state(page, figure)
    assert after != numbers
    assert still == scrolled
    to_x, to_y = page.locator(f'[data-figure="{figure}"] {part}').first.evaluate(
        "(e) => { const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }"
    )
    assert abs(to_x - x - dx) < 10
    assert abs(to_y - y - dy) < 6


@pytest.mark.parametrize(
    ("figure", "part"),
    [
        ("lookup", '[data-part="plane"]'),
        ("positions", "svg"),
        ("rope", "svg"),
        ("saturation", '[data-part="cloud"]'),
        ("patterns", '[data-part="plane"]'),
        ("masks", "table.attnlab-paint"),
    ],
)
def test_a_swipe_anywhere_else_scrolls_the_page_and_changes_nothing(phone, figure, part):
    page, swipe = phone
    page.locator('[data-figure="saturation"] [data-part="many"]').evaluate("(fold) => (fold.open = true)")
    x, y = bring(page, figure, part)
    numbers, scrolled = state(page, figure)
    # Not on a handle: beside the lookup's query, below the words of the order.
    swipe(x + (60 if figure == "lookup" else 0), y + (100 if figure == "positions" else 60), 0, -200)
    after, moved = state(page, figure)
    assert after == numbers
    assert moved > scrolled + 120


def test_a_tap_paints_a_cell_of_the_mask_and_picks_a_row_of_the_pattern(phone):
    page, _ = phone
    for figure, part in (("masks", "table.attnlab-paint td button"), ("patterns", '[data-part="plane"]')):
        x, y = bring(page, figure, part)
        numbers, scrolled = state(page, figure)
        page.touchscreen.tap(x, y)
        page.evaluate(AT_REST)
        after, still = state(page, figure)
        assert after != numbers, figure
        assert still == scrolled


def test_a_tap_on_one_word_and_one_on_another_swap_them(phone):
    page, _ = phone
    page.emulate_media(reduced_motion="reduce")  # else a word is measured on its way, and tapped where it was
    page.locator('[data-figure="positions"] [data-part="reset"]').evaluate("(reset) => reset.click()")
    page.touchscreen.tap(*bring(page, "positions", '[data-which="1"][role="slider"] rect'))
    page.get_by_text("saw₁ is picked").wait_for()
    page.touchscreen.tap(*bring(page, "positions", '[data-which="2"][role="slider"] rect'))
    page.evaluate(AT_REST)
    words = page.locator('[data-figure="positions"] tbody td:nth-child(2)').all_text_contents()
    assert words == ["I", "a", "saw₁", "saw₂"]


def test_only_the_first_button_of_a_mouse_drags(site, page_with):
    page = site.open(page_with(SoftLookup([[2, 1], [-1, 2], [-2, -1]], ["I", "saw", "a"])._repr_html_()))
    box = page.locator('[data-which="query"] path').bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    numbers = page.locator('[data-figure="lookup"]').evaluate(NUMBERS)
    for button, moves in (("right", False), ("middle", False), ("left", True)):
        page.mouse.move(x, y)
        page.mouse.down(button=button)
        page.mouse.move(x + 40, y + 30, steps=4)
        page.mouse.up(button=button)
        assert (page.locator('[data-figure="lookup"]').evaluate(NUMBERS) != numbers) == moves, button
    page.keyboard.press("Escape")
    site.assert_clean()


def test_reset_leads_back_to_the_page_and_not_to_the_link(site, page_with):
    name = page_with(SoftLookup([[2, 1], [-1, 2], [-2, -1]], ["I", "saw", "a"], query=(1, 0.5))._repr_html_())
    numbers = site.open(name).locator('[data-figure="lookup"]').evaluate(NUMBERS)
    page = site.open(name, query='?lookup={"query":[-2,2],"of another edition":1}')
    figure = page.locator('[data-figure="lookup"]')
    assert figure.evaluate(NUMBERS) != numbers
    page.locator('[data-part="reset"]').click()
    assert figure.evaluate(NUMBERS) == numbers
    site.assert_clean()


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("{", "its state can't be read"),
        ("[1]", "its state can't be read"),
        ('{"query":7}', "query should be a list, and is a number"),
        ('{"query":["a","b"]}', ""),
        ('{"score":"taste"}', "score must be dot or distance, got “taste”"),
        ('{"values":[[1,1]]}', ""),
    ],
)
def test_a_broken_link_says_so_and_opens_the_figure_as_the_page_has_it(site, page_with, state, why):
    name = page_with(SoftLookup([[2, 1], [-1, 2], [-2, -1]], ["I", "saw", "a"])._repr_html_())
    numbers = site.open(name).locator('[data-figure="lookup"]').evaluate(NUMBERS)
    page = site.open(name, query=f"?lookup={state}")
    said = page.locator('[data-part="error"]:not([hidden])').inner_text()
    assert said.startswith("The link asks for something else than this figure can show: " + why)
    assert said.endswith("It stands here as the page has it.")
    figure = page.locator('[data-figure="lookup"]')
    assert figure.evaluate(NUMBERS) == numbers
    page.locator('[data-which="query"]').press("ArrowRight")
    assert figure.evaluate(NUMBERS) != numbers
    assert page.locator('[data-part="error"]:not([hidden])').count() == 0
    site.hear()
    assert site.errors
    site.errors.clear()


@pytest.mark.parametrize("kind", [".cell_input", ".cell_output"])
def test_code_and_what_it_prints_that_goes_on_at_the_right_says_so_until_its_end(site, kind):
    page = site.open(page_of("why_attention"), width=390)
    cell = page.locator(f"{kind} pre").first
    looks = cell.evaluate(
        "(cell) => ['Attachment', 'Repeat', 'Image'].map((one) => getComputedStyle(cell)[`background${one}`])"
    )
    # What hides the shadow moves with the lines; the shadow stays at the edge.
    assert looks[0].split(", ")[:2] == ["local", "scroll"]
    assert looks[1].split(", ")[:2] == ["no-repeat", "no-repeat"]
    assert looks[2].count("linear-gradient") == 2
