"""Sparse patterns in a page of the book: layer by layer, of whom a token hears, against Python."""

import pytest

from attnbook.widgets import SparsePatterns

from .conftest import page_of
from .reader import (
    SIDEWAYS,
    assert_fits_a_thumb,
    choose,
    figure,
    handle,
    middle,
    press,
    run_copied,
    saved,
    says,
    static,
    table,
    violations,
)

DRAWN = """(paths) => paths.map((path) => [Number(path.dataset.layer), path.dataset.part,
  path.getAttribute("d").split("M").length - 1])"""


def ours(kind="strided", **changes):
    return SparsePatterns(kind, **({"n": 25, "width": 5, "depth": 2} | changes))


@pytest.fixture(scope="module")
def bench(page_with):
    return page_with(ours()._repr_html_())


@pytest.fixture
def part(site, bench):
    return figure(site.figures(bench), "patterns")


def click(part, name, times=1):
    for _ in range(times):
        part.locator(f'[data-part="{name}"]').click()


def token(part):
    return int(handle(part, "query").get_attribute("aria-valuenow")) - 1


def column(part, j, n=25):
    """The middle of a token of the drawing, in the row of the one that asks."""
    box = part.locator('[data-part="plane"]').bounding_box()
    return box["x"] + 38 + (box["width"] - 38 - 62) * (j + 0.5) / n, box["y"] + 34


def assert_shows(part, expected):
    """Hold every drawn token, layer by layer, to Python's mask and its powers; no more is said than asked."""
    assert table(part) == static(expected.table())[0]
    assert len(table(part)) == expected.depth
    drawn = part.locator('[data-part="plane"] path[data-layer]').evaluate_all(DRAWN)
    before, want = 1, []  # from the start a token has heard of itself
    for layer in range(1, expected.depth + 1):
        after = int(expected.reach(layer)[expected.query].sum())
        want += [[layer, "old", before], [layer, "new", after - before]]
        before = after
    assert drawn == want
    of = expected.query + 1 if expected.causal else expected.n
    assert f"token {expected.query + 1} has heard of {before} of {of}." in says(part)
    assert says(part).startswith(f"{int(expected.mask.sum())} of ")
    assert part.locator('[data-part="mask"] path').get_attribute("d").count("M") == int(expected.mask.sum())
    assert part.locator('[data-part="error"]').is_hidden()


def test_the_chapter_asks_before_it_shows(site, figures_of):
    """The answer, seven layers, is nowhere on first view; step by step it comes."""
    part = figure(site.open(figures_of(page_of("sparse_attention"))), "patterns")
    shown = {"n": 29, "width": 4}
    assert_shows(part, ours("window", **shown, depth=1))
    assert not part.locator('[data-part="numbers"], [data-part="mask"]').first.is_visible()
    words = part.inner_text() + (part.locator('[data-part="plane"]').get_attribute("aria-label") or "")
    assert "7" not in words
    for depth in range(2, 8):
        assert "29 of 29" not in says(part)
        click(part, "next")
        assert_shows(part, ours("window", **shown, depth=depth))
    assert "29 of 29" in says(part)
    # What a pattern promises it shows.
    choose(part, "kind", "mixed")
    assert part.locator('[data-part="random"]').input_value() == "1"
    assert_shows(part, ours("mixed", **shown, depth=7))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("kind", ["window", "strided", "fixed", "mixed"])
def test_every_pattern(part, kind, causal):
    choose(part, "kind", kind)
    choose(part, "causal", "yes" if causal else "no")
    assert_shows(part, ours(kind, causal=causal))
    assert part.locator('[data-part="globals"]').is_visible() == (kind == "mixed")


def test_steps_and_their_end(part):
    choose(part, "kind", "window")
    click(part, "back")
    assert_shows(part, ours("window", depth=1))
    assert part.locator('[data-part="back"]').is_disabled()
    click(part, "next", 7)
    assert_shows(part, ours("window", depth=8))
    click(part, "next")  # from the start
    assert_shows(part, ours("window", depth=1))


def test_play_goes_on_until_all_is_heard_and_starts_again(timed, bench):
    part = timed(bench, "patterns")
    choose(part, "kind", "window")
    press(part, "width", "End")  # 12: two layers hear all
    click(part, "back")
    play = part.locator('[data-part="play"]')
    play.click()
    assert_shows(part, ours("window", width=12))
    assert play.inner_text() == "Play"  # done
    press(part, "width", *["ArrowLeft"] * 4)  # 8: three layers
    click(part, "back")
    play.click()
    assert play.inner_text() == "Pause"
    assert_shows(part, ours("window", width=8, depth=2))
    part.page.clock.run_for(5000)
    assert play.inner_text() == "Play"
    assert_shows(part, ours("window", width=8, depth=3))
    play.click()
    assert_shows(part, ours("window", width=8, depth=1))
    play.click()
    assert play.inner_text() == "Play"
    part.page.clock.run_for(5000)
    assert_shows(part, ours("window", width=8, depth=1))


def test_sliders_by_keyboard(part):
    choose(part, "kind", "mixed")
    for name in ("width", "globals", "random"):
        press(part, name, "ArrowRight")
    assert_shows(part, ours("mixed", width=6, globals=2, random=2))
    part.locator('[data-part="reset"]').click()
    assert table(part) == static(ours().table())[0]
    part.locator('[data-part="undo"]').click()
    assert_shows(part, ours("mixed", width=6, globals=2, random=2))


def test_the_token_that_asks_by_keyboard(part):
    asker = handle(part, "query")
    asker.focus()
    for key, want in (("ArrowLeft", 23), ("PageDown", 19), ("Home", 0), ("ArrowUp", 1), ("End", 24)):
        part.page.keyboard.press(key)
        assert asker.get_attribute("aria-valuetext") == f"token {want + 1}"
        assert_shows(part, ours(query=want))


def test_a_click_or_a_drag_chooses_who_asks(part):
    middle(part.locator('[data-part="plane"]'))
    mouse = part.page.mouse
    for j in (0, 9, 23):
        mouse.click(*column(part, j))
        assert_shows(part, ours(query=j))
    mouse.move(*column(part, 23))
    mouse.down()
    mouse.move(*column(part, 11), steps=3)
    assert_shows(part, ours(query=11))
    mouse.move(*column(part, 40))  # beside the drawing: the last token
    assert_shows(part, ours())
    mouse.up()
    mouse.move(*column(part, 5))
    assert token(part) == 24


def test_axes_are_labelled_and_saved(part):
    texts = part.locator('[data-part="plane"] text').all_text_contents()
    assert {"layer", "heard of", "token 25 asks", "1", "25"} <= set(texts)
    # Its two shades are named where the squares are.
    legend = part.locator('[data-part="legend"]')
    assert legend.text_content().split("■")[1:] == [" heard now  ", " heard before  "]
    shades = "(all) => all.map((one) => one.getAttribute('fill-opacity') ?? '1')"
    squares = part.locator('[data-part="new"], [data-part="old"]')
    assert {*legend.locator("tspan").evaluate_all(shades)} == {*squares.evaluate_all(shades)} == {"1", "0.5"}
    assert part.locator('[data-part="mask"] text').all_text_contents() == ["keys", "queries"]
    drawing = saved(part)
    assert ">25 of 25</text>" in drawing
    assert ">token 25 asks</text>" in drawing


@pytest.mark.parametrize(("width", "least"), [(390, 9.5), (320, 7)])
def test_the_tokens_take_the_width_of_a_phone_and_layers_to_come_are_columns_that_fade(
    site, figures_of, width, least
):
    page = page_of("sparse_attention")
    part = figure(site.open(figures_of(page), width=width), "patterns")
    found = part.locator('[data-part="plane"]').evaluate(
        """(svg) => {
          const box = (what) => svg.querySelector(what).getBoundingClientRect();
          const texts = [...svg.querySelectorAll("text")];
          const named = texts.filter((one) => /^(layer|heard)$/.test(one.textContent));
          return {
            all: svg.getBoundingClientRect().width,
            inks: [...svg.querySelectorAll('[data-part="open"]')].map((e) =>
              Number(e.getAttribute("stroke-opacity"))),
            dashes: box('[data-part="open"]').width / svg.querySelector('[data-part="open"]')
              .getAttribute("stroke-dasharray").split(" ").reduce((a, b) => a + Number(b), 0),
            row: box('[data-part="open"]').width,
            heads: named.map((one) => one.getBoundingClientRect().bottom - box('[role="slider"] text').top),
          };
        }"""
    )
    assert found["dashes"] == pytest.approx(29, abs=0.3), "a column a token"
    assert found["inks"] == pytest.approx([0.5 * (1 - i / 12) for i in range(12)])
    assert found["row"] / 29 >= least
    assert found["row"] >= 0.84 * found["all"]
    assert [gap <= 6 for gap in found["heads"]] == [True, True], "above, not beside"
    high = part.bounding_box()["height"]
    click(part, "next", 7)
    assert part.locator('[data-part="open"]').count() == 0
    assert part.bounding_box()["height"] == high


def test_a_new_layer_and_another_pattern_are_seen_to_come_unless_motion_is_unwelcome(site, bench):
    page = site.open(bench)
    part = figure(page, "patterns")
    moving = """document.getAnimations().map((a) => a.effect.target).filter((el) =>
      el.closest('[data-part=plane]')).map((el) => el.dataset.gone !== undefined)"""
    still = "() => document.getAnimations().length === 0"
    counts = []
    for wish in ("reduce", "no-preference"):
        page.emulate_media(reduced_motion=wish)
        part.locator('[data-part="reset"]').click()
        page.wait_for_function(still)
        for name in ("[data-part=next]", "[data-part=back]", "[data-value=mixed]"):
            counts.append(page.evaluate(f"document.querySelector('{name}').click(), {moving}"))
            page.wait_for_function(still)
    page.emulate_media(reduced_motion="reduce")
    assert counts[:3] == [[], [], []]
    grows, goes, changes = map(set, counts[3:])
    assert (grows, goes, changes) == ({False}, {True}, {False, True})


def test_a_layer_is_spoken_of_when_it_has_grown(site, bench):
    page = site.open(bench)
    part = figure(page, "patterns")
    part.locator('[data-part="back"]').click()
    page.emulate_media(reduced_motion="no-preference")
    said, coming, then = page.evaluate(
        """async () => {
          const said = () => document.querySelector('[data-part="status"]').textContent;
          const before = said();
          document.querySelector('[data-part="next"]').click();
          const rows = [...document.querySelectorAll('[data-part="heard"]')];
          const seen = [said() === before, rows.map((row) => getComputedStyle(row).opacity)];
          const ends = document.getAnimations().map((one) => one.finished);
          await Promise.all(ends);
          await new Promise((frame) => requestAnimationFrame(() => setTimeout(frame)));
          return [...seen, said()];
        }"""
    )
    page.emulate_media(reduced_motion="reduce")
    assert said
    assert coming == ["1", "0"]  # the number of a row comes with its squares
    assert f"After 2 layers token 25 has heard of {int(ours().reach(2)[24].sum())} of 25." in then
    assert_shows(part, ours())


@pytest.mark.parametrize("kind", ["strided", "mixed"])
def test_copied_code_prints_the_same_numbers(part, kind):
    choose(part, "kind", kind)
    got = [[int(x) for x in line.split()] for line in run_copied(part)[0].splitlines()]
    reach = [ours(kind).reach(depth) for depth in (1, 2)]
    assert got == [[depth, int(r[24].sum()), int(r.sum())] for depth, r in enumerate(reach, start=1)]


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"kind": "ring"}, "kind must be one of window"),
        ({"width": 99}, "width must be a whole number from 1 to 12"),
    ],
)
def test_a_broken_link_says_what_is_wrong_in_the_figure(site, bench, state, message):
    assert message in site.complaint(bench, "patterns", state)


@pytest.mark.parametrize(("width", "most"), [(1280, 520), (320, 700)])
def test_the_figure_fits_its_screen(site, bench, width, most):
    part = figure(site.figures(bench, width=width), "patterns")
    buttons = [part.locator(f'[data-part="{name}"]') for name in ("next", "play", "back")]
    words = [button.inner_text().strip() for button in buttons]
    assert words == ["Next" if width == 320 else "Next layer", "Play", "Back"]
    places = [button.bounding_box() for button in buttons]
    # One row, and no word of it is broken.
    assert max(place["height"] for place in places) <= 36
    assert max(place["y"] for place in places) - min(place["y"] for place in places) <= 2
    click(part, "next", 6)
    assert part.locator(".attnlab-root").bounding_box()["height"] <= most
    square = part.evaluate(
        "(el) => Number(el.querySelector('[data-part=new]').getAttribute('d').match(/h([0-9.]+)/)[1])"
    )
    assert square == pytest.approx(18 if width > 1000 else 7.7, abs=0.5)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_a_phone_does_not_scroll(site, bench, theme):
    page = site.figures(bench, theme=theme, width=320, height=700)
    part = figure(page, "patterns")
    choose(part, "kind", "mixed")
    part.locator('details[data-part="figures"] > summary').click()
    assert violations(page) == []
    assert page.evaluate(SIDEWAYS) == []
    assert_fits_a_thumb(page.locator("figure"))
