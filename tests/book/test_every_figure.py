"""What every figure keeps: a right button moves nothing, a Reset can be taken back, forced colours show."""

import pytest

from .conftest import AT_ONCE, NUMBERS, PATIENCE, STANDING, TOOLS, toc_pages
from .reader import unfold

TRAINED = ("playground", "design")
"""Figures with weights, which are no part of their state."""
READINGS = """() => [...document.querySelectorAll("figure.attnlab-figure [role=slider]")]
  .map((e) => e.getAttribute("aria-valuetext"))"""
GRIPS = """(figure) => {
  const all = [...figure.querySelectorAll(
    '[data-part="handle"], svg[role], table.attnlab-paint td button, [role="switch"]')];
  return all.filter((e) => e.checkVisibility() && e.getBoundingClientRect().width > 0)
    .filter((e, i, kept) => kept.length < 5 || i % Math.ceil(kept.length / 4) === 0)
    .map((e) => { e.dataset.grip = ""; });
}"""
CHANGE = """(figure) => {
  const seen = (e) => e.checkVisibility() && !e.disabled;
  const range = [...figure.querySelectorAll("input[type=range]")].find(seen);
  const choice = [...figure.querySelectorAll('[role="radio"][aria-checked="false"]')].find(seen);
  if (range) {
    range.value = range.value === range.max ? range.min : range.max;
    range.dispatchEvent(new Event("input", { bubbles: true }));
  } else choice?.click();
  return Boolean(range || choice);
}"""
BARS = """() => {
  const plain = new Set(["rgba(0, 0, 0, 0)"]);
  for (const root of document.querySelectorAll(".attnlab-root")) {
    for (const name of ["paper", "tint"]) {
      const probe = root.appendChild(document.createElement("i"));
      probe.style.backgroundColor = `var(--fig-${name})`;
      plain.add(getComputedStyle(probe).backgroundColor);
      probe.remove();
    }
  }
  for (const e of document.querySelectorAll(".attnlab-root :not(button, input, select, textarea)")) {
    const { backgroundColor, backgroundImage } = getComputedStyle(e);
    if (!(e instanceof HTMLElement) || !e.checkVisibility()) continue;
    if (!plain.has(backgroundColor) || /linear-gradient/.test(backgroundImage)) e.dataset.bar = "";
  }
}"""
LINED = """
  const lined = (e) => {
    const s = getComputedStyle(e), width = (side) => parseFloat(s[`${side}Width`]);
    const line = (side) => !["none", "hidden"].includes(s[`${side}Style`]) && width(side) >= 1;
    const frame = e.querySelector?.(":scope > .attnlab-frame");
    return line("outline") || ["Top", "Left", "Bottom"].some((side) => line(`border${side}`)) ||
      Boolean(frame && parseFloat(getComputedStyle(frame).strokeWidth) >= 2);
  };
  const all = (what) => [...document.querySelectorAll(`.attnlab-root ${what}`)]
    .filter((e) => e.checkVisibility() && e.getBoundingClientRect().width > 0);
  const where = (e) => `${e.closest("[data-figure]").dataset.figure}: ${e.outerHTML.slice(0, 110)}`;
"""
LOST = f"""() => {{ {LINED}
  const now = '[aria-current="true"], [aria-checked="true"], [aria-pressed="true"], .is-source, .is-focus';
  return [...new Set([...all(`:is(${{now}})`), ...all("[data-bar]")])].filter((e) => !lined(e)).map(where);
}}"""
UNFOCUSED = f"""() => {{ {LINED}
  return all(":is(button, input, select, textarea, summary, [tabindex])").filter((e) => !e.disabled)
    .filter((e) => {{ e.focus(); return document.activeElement === e && !lined(e); }}).map(where);
}}"""
DRAWN = """() => {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...pen.getImageData(0, 0, 1, 1).data].map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  return [...document.querySelectorAll(".attnlab-root")].flatMap((root) => {
    const probe = root.appendChild(document.createElement("i"));
    probe.style.forcedColorAdjust = "none";
    const of = (colour) => ((probe.style.color = colour), light(getComputedStyle(probe).color));
    const ground = of("Canvas");
    const least = { ink: 7, quiet: 4.5, query: 3, key: 3, value: 3, output: 3, accent: 3 };
    const faint = Object.keys(least).filter(
      (name) => contrast(of(`var(--fig-${name})`), ground) < least[name]);
    probe.remove();
    const forced = [...root.querySelectorAll("svg, svg *")]
      .filter((e) => getComputedStyle(e).forcedColorAdjust !== "none").map((e) => e.outerHTML.slice(0, 90));
    return [...faint.map((name) => `${root.dataset.figure}: ${name} is faint`), ...forced];
  });
}"""


@pytest.fixture(scope="module")
def benches(book, figures_of):
    """The pages of the book that have figures, each as a light page of them."""
    with_figures = [
        page
        for page in toc_pages()
        if 'data-attnlab="' in (book / f"{page}.html").read_text(encoding="utf-8")
    ]
    return {page: figures_of(page) for page in with_figures}


def state(page):
    return [page.evaluate(what) for what in (NUMBERS, TOOLS, READINGS)]


def test_what_opens_a_menu_moves_nothing(site, benches):
    """Neither a right button nor a middle one, nor the first one with Control, which opens one on a Mac."""
    touched = 0
    for name in benches.values():
        page = site.figures(name)
        for part in page.locator("figure.attnlab-figure").all():
            part.evaluate(GRIPS)
            if part.get_attribute("data-attnlab") in TRAINED:
                continue  # it goes on by itself
            before = state(page)
            for grip in part.locator("[data-grip]").all():
                grip.scroll_into_view_if_needed()
                box = grip.bounding_box()
                x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
                for button, key in (("right", None), ("middle", None), ("left", "Control")):
                    if key and grip.get_attribute("data-part") != "handle":
                        continue  # elsewhere a click with a key held is a click
                    page.mouse.move(x, y)
                    if key:
                        page.keyboard.down(key)
                    page.mouse.down(button=button)
                    page.mouse.move(x + 40, y + 25, steps=2)
                    page.mouse.up(button=button)
                    if key:
                        page.keyboard.up(key)
                touched += 1
            assert state(page) == before, part.get_attribute("data-attnlab")
    assert touched > 20


FOOT = """(root) => {
  const box = (what) => root.querySelector(`:scope > ${what}`).getBoundingClientRect();
  const [fold, bar, status] = ["details", ".attnlab-bar", ".attnlab-status"].map(box);
  return [fold.top - bar.top, fold.left - root.querySelector(".attnlab-body").getBoundingClientRect().left,
    status.height && status.left - fold.right, status.height && status.top - bar.bottom];
}"""


def test_what_can_be_unfolded_stands_in_the_line_of_the_buttons_and_what_is_said_beside_or_below(
    site, benches
):
    for width in (1280, 390):
        found = 0
        for name in benches.values():
            # As they stand: some still count, and to reset them asks for numbers that are not there yet.
            page = site.show(name, width=width)
            for root in page.locator(".attnlab-root:has(> details:not([open]))").all():
                lower, inward, beside, below = root.evaluate(FOOT)
                assert abs(lower) < 1, (name, width)
                assert abs(inward) < 1, (name, width)
                assert 0 <= (beside if width == 1280 else below) < 30, (name, width)
                found += 1
        assert found >= 15


def test_undo_takes_back_a_reset_until_something_is_changed(site, benches):
    undone = set()
    for name in benches.values():
        page = site.open(name)
        for part in page.locator("figure.attnlab-figure").all():
            which = part.get_attribute("data-attnlab")
            undo, reset = (part.locator(f'.attnlab-bar [data-part="{name}"]') for name in ("undo", "reset"))
            unfold(part)
            reset.click()
            assert undo.is_hidden(), which  # nothing to take back
            if which in TRAINED or not part.evaluate(CHANGE):
                continue
            changed = state(page)
            reset.click()
            assert state(page) != changed, which
            undo.click()
            assert state(page) == changed, which
            assert undo.is_hidden()
            reset.click()
            part.evaluate(CHANGE)
            steps = which in ("masks", "calculator")  # they have more steps to take back
            assert undo.is_hidden() != steps, which
            undone.add(which)
    assert len(undone) > 10


PLAYS = """(all) => all.map((play) => {
  const { borderRadius } = getComputedStyle(play), { content } = getComputedStyle(play, "::before");
  return [play.textContent, borderRadius, content.includes("▶"), play.classList.contains("attnlab-act")];
})"""


def test_play_looks_alike_and_is_filled_where_it_is_what_to_press_first(site, benches):
    filled = {}
    for name in benches.values():
        page = site.figures(name)
        for which in ("calculator", "online", "patterns", "state"):
            part = page.locator(f'figure[data-attnlab="{which}"]:has([data-part="play"])').first
            if not part.count():
                continue
            ((words, *looks, first),) = part.locator('[data-part="play"]').evaluate_all(PLAYS)
            assert [words, *looks] == ["Play", "999px", True], which
            filled[which] = first
            # Where an entry is ringed, it comes first, and no button is filled.
            asked = part.locator("td.is-asked").count()
            assert part.locator(".attnlab-act").count() + asked == 1, which
    assert filled == {"calculator": False, "online": True, "patterns": False, "state": True}


@pytest.fixture(scope="module")
def forced(browser, address):
    """A tab in which the system says the colours."""
    context = browser.new_context(forced_colors="active", reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    context.add_init_script(AT_ONCE)
    yield context.new_page()
    context.close()


def test_forced_colours_keep_marks_bars_the_current_row_and_focus(forced, address, benches):
    for name in benches.values():
        forced.emulate_media(forced_colors="none", color_scheme="light")
        forced.goto(f"{address}/{name}.html")
        forced.wait_for_function(STANDING)
        for line in forced.locator('[data-part="settings"][aria-expanded="false"]').all():
            line.click()
        while (closed := forced.locator("figure details:not([open], .attnlab-menu) > summary")).count():
            closed.first.click()
        forced.evaluate(BARS)
        for scheme in ("light", "dark"):
            forced.emulate_media(forced_colors="active", color_scheme=scheme)
            assert forced.evaluate(LOST) == []
            assert forced.evaluate(DRAWN) == []
            forced.keyboard.press("Tab")
            assert forced.evaluate(UNFOCUSED) == []
