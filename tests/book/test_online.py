"""Online softmax in a page of the book: drags, keys and choices against what Python computes."""

import itertools
import json

import pytest

from attnlab.widgets import OnlineSoftmax

from .reader import (
    SIDEWAYS,
    choose,
    drag,
    figure,
    handle,
    middle,
    press,
    run_copied,
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


def assert_shows(part, expected):
    """Hold every cell to Python's own table, which unit tests hold to torch."""
    assert table(part) == static(expected.table())[0]
    assert part.locator('[data-part="error"]').is_hidden()


def test_it_starts_as_python_says(site, bench):
    part = figure(site.open(bench), "online")
    assert_shows(part, ours())
    assert "They differ by less than 1e-12" in says(part)
    assert "holds 16,777,216 numbers" in part.locator('[data-part="memory"]').inner_text()


@pytest.mark.parametrize("tile", [1, 2, 6, 12])
def test_tiles_of_every_size_reach_the_same_output(part, tile):
    choose(part, "tile", tile)
    assert_shows(part, ours(tile=tile))
    assert table(part)[-1][-1] == table(part)[-2][-1]


def test_stepping_by_keyboard_shows_one_tile_more(part):
    press(part, "step", "Home")
    assert_shows(part, ours(step=0))
    assert "nothing is held" in says(part)
    for step in (1, 2):
        press(part, "step", "ArrowRight")
        assert_shows(part, ours(step=step))
        assert "it will be" in says(part)


@pytest.mark.parametrize("shift", [80, 1000, 10000, -10000])
def test_extreme_scores_break_only_what_does_not_rescale(part, shift):
    choose(part, "shift", shift)
    assert_shows(part, ours(shift=shift))
    choose(part, "rescale", "off")
    if shift == 80:
        assert "NaN" not in str(table(part))
    else:
        assert_shows(part, ours(shift=shift, rescale=False))
        assert ("overflow" if shift > 0 else "underflow to zero") in says(part)


def test_keys_and_a_drag_move_scores_and_reset_brings_them_back(part):
    handle(part, 1).focus()
    for key in ("ArrowUp", "PageUp"):
        part.page.keyboard.press(key)
    assert_shows(part, ours(scores=[0.5, 0.1, *SCORES[2:]]))
    x, y = middle(handle(part, 4))
    drag(part.page, (x, y), (x, y - 160))
    assert_shows(part, ours(scores=[0.5, 0.1, 2.5, 3.0, 4.0, *SCORES[5:]]))
    part.locator('[data-part="reset"]').click()
    assert_shows(part, ours())


@pytest.mark.parametrize("rescale", [True, False])
def test_copied_code_prints_the_same_numbers(part, rescale):
    choose(part, "rescale", "on" if rescale else "off")
    got = [float(line.split()[-1]) for line in run_copied(part)[0].splitlines()]
    want = [*(step.output for step in ours(rescale=rescale).steps()), ours().output]
    assert got == pytest.approx(want, abs=1e-9 if rescale else 1e-6)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"tile": 5}, "tile must be one of 1, 2, 3, 4, 6, 12, got 5"),
        ({"values": [1]}, "values must be 8 numbers"),
    ],
)
def test_a_broken_link_says_what_is_wrong_in_the_figure(site, bench, state, message):
    assert message in site.complaint(bench, "online", state)


def test_numbers_too_small_for_four_decimals_are_written_as_python_writes_them(site, bench):
    page = site.figures(bench)
    values = [-0.0002, 0.0003, -0.0001, 0.0, 0.0005, -0.0004, 0.0, -0.0002]
    page.goto(f"{page.url}?online={json.dumps({'values': values, 'tile': 1, 'step': 8})}")
    part = figure(page, "online")
    assert_shows(part, ours(values=values, tile=1))
    assert "−2.000e−4" in str(table(part))


def test_on_a_phone_the_scores_can_be_read_and_stay_apart(site, bench):
    part = figure(site.figures(bench, width=320, height=700), "online")
    boxes = [box.bounding_box() for box in part.locator('[data-part="handle"] text:nth-of-type(1)').all()]
    assert len(boxes) == len(SCORES)
    assert min(box["height"] for box in boxes) >= 9
    assert all(a["x"] + a["width"] <= b["x"] for a, b in itertools.pairwise(boxes))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_a_phone_does_not_scroll(site, bench, theme):
    page = site.figures(bench, theme=theme, width=320, height=700)
    part = figure(page, "online")
    choose(part, "shift", "1000")
    assert violations(page) == []
    assert page.evaluate(SIDEWAYS) == []
