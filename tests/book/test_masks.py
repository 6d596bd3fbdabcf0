"""The mask painter in the page of its chapter: clicks, drags and keys against what Python computes."""

import pytest
import torch

from attnlab import masks
from attnlab.widgets import MaskPainter

from .conftest import page_of
from .reader import SIDEWAYS, choose, drag, figure, middle, press, run_copied, saved, says, table, violations

PAGE = page_of("masking")
X = [[1.0, 0.2], [0.3, 1.2], [-0.8, 0.5], [0.9, -0.6], [-0.4, -1.0], [0.5, 0.8]]
NAMES = ["I", "saw", "it", "they", "fish", "."]
CAUSAL = masks.causal(6)


def painter(**changes):
    return MaskPainter(X, NAMES, **changes)


@pytest.fixture(scope="module")
def bench(figures_of):
    return figures_of(PAGE)


@pytest.fixture
def part(site, bench):
    return figure(site.figures(bench), "masks")


def cell(part, i, j):
    return part.locator(f'[data-part="mask"] [data-row="{i}"][data-column="{j}"]')


def paint(part, first, last):
    """Drag in two steps: a fast pointer, which jumps over the cells between."""
    drag(part.page, middle(cell(part, *first)), middle(cell(part, *last)), steps=2)


def click(part, name, value=None):
    part.locator(f'[data-part="{name}"]' + (f'[data-value="{value}"]' if value else "")).click()


def assert_shows(part, expected):
    """Compare the table of numbers, and what the cells say, with Python's."""
    weights, output, moved = expected.numbers()
    rows = table(part)
    assert [row[0] for row in rows] == NAMES
    for i, row in enumerate(rows):
        want = [f"{w:.4f}" if a else "hidden" for a, w in zip(expected.mask[i], weights[i], strict=True)]
        assert [text == "hidden" for text in row[1:7]] == [text == "hidden" for text in want]
        got = [float(text) for text in row[1:] if text != "hidden"]
        numbers = [float(text) for text in want if text != "hidden"]
        numbers += [weights[i].sum().item(), *output[i].tolist(), moved[i].item()]
        assert got == pytest.approx(numbers, abs=1.1e-4)
    pressed = part.locator('[data-part="mask"] [data-row]').evaluate_all(
        "cells => cells.map((c) => Number(c.getAttribute('aria-pressed') === 'true'))"
    )
    assert pressed == [x for row in expected.mask for x in row]


def test_it_starts_causal_and_only_a_nudged_token_moves(site, bench):
    part = figure(site.open(bench), "masks")
    assert_shows(part, painter())
    assert "No output depends on a token that its row hides. No output looks ahead." in says(part)
    assert "moves" not in says(part)
    choose(part, "nudged", 5)
    assert_shows(part, painter(nudged=5))
    assert "Nudging token 6 (.) moves output 6." in says(part)
    assert "allowed 21 of 36 (58 %)" in part.locator('[data-part="counters"]').inner_text()


def test_after_the_softmax_every_output_moves_and_the_first_leak_is_named(part):
    choose(part, "nudged", 5)
    part.locator('[data-part="late"]').check()
    expected = painter(late=True, nudged=5)
    assert_shows(part, expected)
    assert expected.leak == (0, 1)
    assert "Leak: output 1 (I) depends on token 2 (saw)" in says(part)
    assert "moves outputs 1, 2, 3, 4, 5, 6." in says(part)
    notes = part.locator('[data-part="outputs"] tbody tr td:last-child').all_inner_texts()
    moved = expected.numbers()[2].tolist()
    assert notes == [*(f"{far:.2f} leak" for far in moved[:5]), f"{moved[5]:.2f}"]


def test_presets_alone_and_both_and_either(part):
    for name, want in {
        "full": torch.ones(6, 6).bool(),
        "causal": CAUSAL,
        "padding": masks.padding([4], 6)[0].expand(6, 6),
        "prefix": masks.prefix(6, 2),
        "packed": masks.packed([0, 0, 1, 1, 2, 2]),
        "window": masks.window(6, 2),
    }.items():
        choose(part, "how", "=")
        click(part, "preset", name)
        assert_shows(part, painter(mask=want))
        click(part, "preset", "causal")
        for how, both in (("&", CAUSAL & want), ("|", CAUSAL | want)):
            choose(part, "how", how)
            click(part, "preset", name)
            assert_shows(part, painter(mask=both))
            click(part, "undo")
            assert_shows(part, painter())


def test_a_combination_is_written_as_python(part):
    click(part, "larger")
    click(part, "preset", "packed")
    choose(part, "how", "&")
    click(part, "preset", "causal")
    text = part.locator('[data-part="recipe"]').inner_text()
    assert text == "mask = packed([0, 0, 0, 1, 1, 1]) & causal(6)"
    want = eval(text.removeprefix("mask = "), vars(masks))
    assert_shows(part, painter(mask=want))
    click(part, "invert")
    assert part.locator('[data-part="recipe"]').inner_text() == f"mask = ~({text.removeprefix('mask = ')})"
    assert_shows(part, painter(mask=~want))


def test_clicks_and_a_drag_paint_what_the_first_cell_became(part):
    cell(part, 0, 5).click()
    mask = CAUSAL.clone()
    mask[0, 5] = True
    assert_shows(part, painter(mask=mask))
    assert "The first to look ahead is output 1 (I), at token 6 (.)." in says(part)
    assert part.locator('[data-part="recipe"]').inner_text() == "mask: painted by hand"
    paint(part, (3, 0), (3, 5))
    mask[3] = False
    assert_shows(part, painter(mask=mask))
    assert "Empty: row 4 (they); the output is zeros." in says(part)
    click(part, "undo")
    mask[3, :4] = True
    assert_shows(part, painter(mask=mask))
    click(part, "reset")
    assert_shows(part, painter())


def test_keys_walk_toggle_and_paint(part):
    keyboard = part.page.keyboard
    cell(part, 0, 0).focus()
    for key in ("ArrowRight", "Space", "Shift+ArrowRight", "ArrowDown", "Enter", "ArrowUp", "ArrowUp"):
        keyboard.press(key)
    mask = CAUSAL.clone()
    mask[0, 1] = mask[0, 2] = mask[1, 2] = True
    assert_shows(part, painter(mask=mask))
    assert cell(part, 0, 2).evaluate("(cell) => cell === document.activeElement")


def test_nudge_by_keyboard(part):
    choose(part, "nudged", 2)
    press(part, "nudge", "Home")
    assert_shows(part, painter(nudged=2, nudge=-3.0))
    choose(part, "nudged", -1)
    assert part.locator('[data-part="nudge"]').is_disabled()
    assert_shows(part, painter(nudged=-1))


@pytest.mark.parametrize("late", [False, True])
def test_copied_code_prints_the_same_output(part, late):
    part.locator('[data-part="late"]').set_checked(late)
    cell(part, 2, 4).click()
    space = run_copied(part)[1]
    mask = CAUSAL.clone()
    mask[2, 4] = True
    expected = painter(mask=mask, late=late)
    assert torch.allclose(space["weights"] @ space["x"], expected.output, atol=1e-12)


def test_the_saved_drawing_holds_every_weight(part):
    text, weights = saved(part), painter().numbers()[0]
    assert all(f">{w:.2f}</text>" in text for w in weights[CAUSAL].tolist())
    assert text.count(">−∞</text>") == 15


def test_320_pixels_hold_the_whole_mask(site, bench):
    page = site.figures(bench, width=320)
    part = figure(page, "masks")
    assert page.evaluate(SIDEWAYS) == []
    box = cell(part, 0, 5).bounding_box()
    assert box["x"] + box["width"] <= 320
    assert min(box["width"], box["height"]) >= 24
    # The long recipe of a combination wraps here: what is painted must not move away under the finger.
    click(part, "larger")
    click(part, "preset", "packed")
    choose(part, "how", "&")
    click(part, "preset", "causal")
    part.evaluate("el => el.scrollIntoView({ block: 'center' })")
    paint(part, (2, 0), (2, 5))
    mask = CAUSAL & masks.packed([0, 0, 0, 1, 1, 1])
    mask[2] = False
    assert_shows(part, painter(mask=mask))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(site, bench, theme):
    page = site.figures(bench, theme=theme)
    part = figure(page, "masks")
    part.locator('[data-part="late"]').check()
    part.locator("details:not(.attnlab-menu) > summary").click()
    assert violations(page) == []
