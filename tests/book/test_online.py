"""Online softmax in a page of the book: played, stepped and dragged, against what Python computes."""

import itertools
import json
import math

import pytest
import torch

from attnbook.widgets import OnlineSoftmax

from .reader import (
    SIDEWAYS,
    assert_fits_a_thumb,
    assert_readable_under_the_mouse,
    choose,
    copied,
    drag,
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

SCORES = [0.5, -1.0, 2.5, 3.0, -4.0, 0.0, 1.5, -0.5]
VALUES = [1.0, -2.0, 3.0, 0.5, 9.0, -7.0, 2.0, 4.0]


def ours(**changes):
    return OnlineSoftmax(**({"scores": SCORES, "values": VALUES, "tile": 3} | changes))


@pytest.fixture(scope="module")
def bench(page_with):
    return page_with(ours()._repr_html_())


@pytest.fixture
def part(site, bench):
    return figure(site.figures(bench), "online")


def go(part, step):
    """Step to a tile from the start."""
    press(part, "play", "Home", *["ArrowRight"] * step)


def amounts(part, what):
    """Read the numbers that parts of the drawing stand for."""
    drawn = part.locator(f'[data-part="{what}"]').evaluate_all("(all) => all.map((e) => e.dataset.amount)")
    return [float(amount) for amount in drawn]


def assert_shows(part, expected):
    """Hold cells, bars and marks to what Python computes, which unit tests hold to torch."""
    rows, step = static(expected.table())[0], expected.step
    assert table(part) == (rows if step == len(rows) - 1 else rows[:step])
    assert part.locator('[data-part="error"]').is_hidden()
    steps = expected.steps()
    now = steps[step - 1] if step else None
    for bar, amount in (("bar-sum", now and now.powers), ("bar-total", now and now.total)):
        assert amounts(part, bar) == pytest.approx([amount or 0.0], rel=1e-6, nan_ok=True)
    if now and expected.rescale:
        old = steps[step - 2] if step > 1 else None
        kept = [old.powers * now.correction, old.total * now.correction] if old else [0.0, 0.0]
        assert amounts(part, "kept") == pytest.approx(kept)
        assert amounts(part, "largest") == [now.largest]
        assert amounts(part, "output") == pytest.approx([now.output])
    whole = [expected.output] if step == len(steps) else []
    assert amounts(part, "whole") == pytest.approx(whole)
    seen = min(step * expected.tile, len(expected.scores))
    assert part.locator('[data-part="handle"]:visible').count() == seen


def test_it_starts_empty(site, bench):
    part = figure(site.open(bench), "online")
    assert_shows(part, ours())
    assert says(part) == "No tile has come in yet: 3 to come."
    # Nothing that is to be seen says what will come.
    shown = part.inner_text() + part.locator("svg").text_content()
    assert not any(number in shown for number in ("2.5", "3.0", "2.50", "0.607"))


@pytest.mark.parametrize("tile", [1, 2, 6, 12])
def test_tiles_of_every_size_reach_the_same_output(site, bench, tile):
    page = site.open(bench, query=f"?online={json.dumps({'tile': tile})}")
    part = figure(page, "online")
    press(part, "play", "End")
    assert_shows(part, ours(tile=tile, step=math.ceil(len(SCORES) / tile)))
    assert table(part)[-1][-1] == table(part)[-2][-1]


def test_it_steps_by_key_and_by_button(part):
    for step in (1, 2, 3):
        press(part, "play", "ArrowRight")
        assert_shows(part, ours(step=step))
        assert says(part).startswith(f"Tile {step} of 3: m = ")
    assert part.locator('[data-part="next"]').is_disabled()
    part.locator('[data-part="back"]').click()
    assert_shows(part, ours(step=2))
    press(part, "back", "Home")
    assert_shows(part, ours())
    part.locator('[data-part="next"]').click()
    assert_shows(part, ours(step=1))


def test_the_bars_shrink_only_where_a_larger_score_comes(part):
    shorter = []
    for step in (1, 2, 3):
        go(part, step)
        was = part.locator('rect[stroke-dasharray="4 3"]').count()
        shorter.append(was)
    # Tile 2 brings 3.0 after 2.5; tile 3 brings nothing larger.
    assert shorter == [0, 2, 0]
    go(part, 2)
    widths = part.locator('[data-part="kept"]').evaluate_all("(all) => all.map((e) => e.width.baseVal.value)")
    outlines = part.locator('rect[stroke-dasharray="4 3"]').evaluate_all(
        "(all) => all.map((e) => e.width.baseVal.value)"
    )
    by = torch.tensor(2.5 - 3.0).exp().item()
    assert [a / b for a, b in zip(widths, outlines, strict=True)] == pytest.approx([by, by], abs=2e-3)
    assert f"{by:.3f}" in part.locator('[data-part="correction"]').text_content()


def test_play_goes_to_the_end_and_starts_again(timed, bench):
    """Without motion it steps; with it, bars are longer on the way than when they rest."""
    part = timed(bench, "online")
    play, clock = part.locator('[data-part="play"]'), part.page.clock
    play.click()
    assert play.inner_text() == "Pause"
    assert_shows(part, ours(step=1))
    clock.run_for(2000)
    assert_shows(part, ours(step=2))
    clock.run_for(6000)
    assert_shows(part, ours(step=3))
    assert play.inner_text() == "Play"
    play.click()
    assert_shows(part, ours(step=1))
    play.click()
    assert play.inner_text() == "Play"
    clock.run_for(6000)
    assert_shows(part, ours(step=1))
    part.locator('[data-part="reset"]').click()
    assert_shows(part, ours())


def test_while_a_tile_comes_in_the_held_bars_shrink_before_its_own_part_is_added(site, bench):
    page = site.open(bench)
    page.emulate_media(reduced_motion="no-preference")
    part = figure(page, "online")
    moments, written = page.evaluate(
        """async () => {
          const press = (name) => document.querySelector(`[data-part="${name}"]`).click();
          const left = '[data-part="kept"][data-of="sum"]';
          const held = () => Number(document.querySelector(left).dataset.amount);
          const shares = () => document.querySelectorAll('[data-part="share"][data-of="sum"]').length;
          press("next");
          press("next");
          const [seen, written] = [[], new Set()];
          for (;;) {
            await new Promise((frame) => requestAnimationFrame(frame));
            const formula = document.querySelector('[data-part="correction"]');
            const texts = [...document.querySelectorAll('[data-part="plane"] text')];
            const m = texts.find((one) => one.textContent.startsWith("m"));
            written.add(m.textContent + " | " + (formula?.textContent ?? ""));
            seen.push([held(), shares(), document.querySelector('[data-part="status"]').textContent]);
            const bar = Number(document.querySelector('[data-part="bar-sum"]').dataset.amount);
            if (shares() && Math.abs(bar - WANT) < 1e-12) return [seen, [...written]];
          }
        }""".replace("WANT", repr(ours().steps()[1].powers))
    )
    page.emulate_media(reduced_motion="reduce")
    first, second = ours().steps()[:2]
    # Digits of m and of its formula are the old ones or those that stay, none between.
    assert written == ["m = 2.50 | ", "m = 3.00 | both × e2.50 − 3.00 = × 0.607"]
    # What is said never lags behind what is drawn.
    assert {said for *_, said in moments[:-1]} == {"Tile 2 of 3 comes in."}
    kept = [amount for amount, *_ in moments]
    assert all(a >= b for a, b in itertools.pairwise(kept))
    assert kept[-1] == pytest.approx(first.powers * second.correction)
    # On a busy machine frames are few; those before the tile's own part hold no less than what is left.
    assert all(amount <= first.powers + 1e-12 for amount in kept)
    assert all(amount == pytest.approx(kept[-1]) for amount, shares, _ in moments if shares)
    assert_shows(part, ours(step=2))


@pytest.mark.parametrize("shift", [80, 1000, -1000])
def test_extreme_scores_break_only_what_does_not_rescale(part, shift):
    go(part, 3)
    choose(part, "shift", shift)
    assert_shows(part, ours(shift=shift, step=3))
    # Beside a line called by the shift, a score says how far from it it is.
    labels = part.locator('[data-part="plane"] [role="slider"] text:nth-last-of-type(2)').all_text_contents()
    assert all(label[0] in "+−" or float(label) == 0 for label in labels), labels
    part.locator('[data-part="rescale"]').uncheck()
    if shift == 80:
        assert "NaN" not in str(table(part))
    else:
        assert_shows(part, ours(shift=shift, rescale=False, step=3))
        assert "t/z = NaN" in says(part)


def test_keys_and_a_drag_move_scores_and_reset_brings_them_back(part):
    go(part, 2)
    handle(part, 1).focus()
    for key in ("ArrowUp", "PageUp"):
        part.page.keyboard.press(key)
    moved = [0.5, 0.1, *SCORES[2:]]
    assert_shows(part, ours(scores=moved, step=2))
    x, y = middle(handle(part, 4))
    drag(part.page, (x, y), (x, y - 160))
    moved[4] = 4.0
    assert_shows(part, ours(scores=moved, step=2))
    part.locator('[data-part="reset"]').click()
    assert_shows(part, ours())


def test_sums_below_zero_and_beyond_the_axis_stay_in_their_bars(site, bench):
    values = [-3.0, 2.0, -3.0, 2.0, -3.0, -3.0, -3.0, -3.0]
    state = {"scores": [4.0] * 8, "values": values, "tile": 2, "step": 4}
    page = site.open(bench, query=f"?online={json.dumps(state)}")
    part = figure(page, "online")
    assert_shows(part, ours(**state))
    plane = part.locator('[data-part="plane"]').bounding_box()
    for bar in part.locator('[data-part="kept"], [data-part="share"] rect').all():
        box = bar.bounding_box()
        assert plane["x"] - 1 <= box["x"] <= box["x"] + box["width"] <= plane["x"] + plane["width"] + 1
    assert part.locator('[data-part="bar-sum"] path').count() == 1  # an arrow: it goes on


@pytest.mark.parametrize("rescale", [True, False])
def test_copied_code_prints_the_same_numbers(part, rescale):
    part.locator('[data-part="rescale"]').set_checked(rescale)
    got = [float(line.split()[-1]) for line in run_copied(part)[0].splitlines()]
    want = [*(step.output for step in ours(rescale=rescale).steps()), ours().output]
    assert got == pytest.approx(want, abs=1e-9 if rescale else 1e-6)


def test_a_link_and_a_picture_show_what_is_held(part):
    go(part, 2)
    assert "both × " in saved(part)
    part.page.goto(copied(part, "link"))
    assert_shows(figure(part.page, "online"), ours(step=2))


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"tile": 5}, "tile must be one of 1, 2, 3, 4, 6, 12, got 5"),
        ({"values": [1]}, "values must be 8 numbers"),
        ({"shift": 5}, "shift must be one of 0, 80, 1000, -1000, got 5"),
    ],
)
def test_a_broken_link_says_what_is_wrong_in_the_figure(site, bench, state, message):
    assert message in site.complaint(bench, "online", state)


def test_numbers_too_small_for_four_decimals_are_written_as_python_writes_them(site, bench):
    page = site.figures(bench)
    values = [-0.0002, 0.0003, -0.0001, 0.0, 0.0005, -0.0004, 0.0, -0.0002]
    page.goto(f"{page.url}?online={json.dumps({'values': values, 'tile': 1, 'step': 8})}")
    part = figure(page, "online")
    assert_shows(part, ours(values=values, tile=1, step=8))
    assert "−2.000e−4" in str(table(part))


def test_on_a_phone_the_scores_can_be_read_and_stay_apart(site, bench):
    part = figure(site.figures(bench, width=320, height=700), "online")
    go(part, 3)
    boxes = [box.bounding_box() for box in part.locator('[data-part="handle"] text:nth-of-type(1)').all()]
    assert len(boxes) == len(SCORES)
    assert min(box["height"] for box in boxes) >= 9
    sizes = part.locator("[data-part=plane] text").evaluate_all(
        "all => all.map((one) => parseFloat(getComputedStyle(one).fontSize))"
    )
    assert min(sizes) >= 11
    assert all(a["x"] + a["width"] <= b["x"] + 1 for a, b in itertools.pairwise(boxes))


@pytest.mark.parametrize(("width", "most"), [(1280, 530), (320, 700)])
def test_it_is_no_higher_than_a_screen(site, bench, width, most):
    part = figure(site.figures(bench, width=width, height=900), "online")
    for step in (0, 3):
        go(part, step)
        assert part.locator(".attnlab-root").bounding_box()["height"] <= most


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_a_phone_does_not_scroll(site, bench, theme):
    page = site.figures(bench, theme=theme, width=320, height=700)
    part = figure(page, "online")
    assert violations(page) == []
    go(part, 2)
    choose(part, "shift", "1000")
    part.locator("summary").first.click()
    assert violations(page) == []
    assert page.evaluate(SIDEWAYS) == []
    assert_fits_a_thumb(page.locator("figure"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_play_stays_readable_under_the_mouse(site, bench, theme):
    page = site.figures(bench, theme=theme)
    assert_readable_under_the_mouse(figure(page, "online").locator('[data-part="play"]'))
