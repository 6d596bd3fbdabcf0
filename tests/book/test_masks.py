"""The mask painter in the page of its chapter: clicks, drags and keys against what Python computes."""

import io
from contextlib import redirect_stdout

import pytest
import torch

from attnlab import masks
from attnlab.widgets import MaskPainter

from .test_browser import violations
from .test_figures import figure, table

PAGE = "chapters/06_masking"
X = [[1.0, 0.2], [0.3, 1.2], [-0.8, 0.5], [0.9, -0.6], [-0.4, -1.0], [0.5, 0.8]]
NAMES = ["I", "saw", "it", "they", "fish", "."]
CAUSAL = masks.causal(6)


def painter(**changes):
    return MaskPainter(X, NAMES, **({"nudged": 5} | changes))


@pytest.fixture
def part(site):
    return figure(site.open(PAGE), "masks")


def cell(part, i, j):
    return part.locator(f'[data-part="mask"] [data-row="{i}"][data-column="{j}"]')


def drag(part, first, last):
    """Drag in two steps: a fast pointer, which jumps over the cells between."""
    start, end = cell(part, *first).bounding_box(), cell(part, *last).bounding_box()
    mouse = part.page.mouse
    mouse.move(start["x"] + 10, start["y"] + 10)
    mouse.down()
    mouse.move(end["x"] + 10, end["y"] + 10, steps=2)
    mouse.up()


def press(part, name, value=None):
    part.locator(f'[data-part="{name}"]' + (f'[data-value="{value}"]' if value else "")).click()


def says(part):
    return part.locator('[data-part="status"]').inner_text()


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


def test_it_starts_causal_and_only_the_nudged_token_moves(part):
    assert_shows(part, painter())
    assert "No output depends on a token that its row hides. No output looks ahead." in says(part)
    assert "Nudging token 6 (.) moves output 6." in says(part)
    assert "allowed 21 of 36 (58 %)" in part.locator('[data-part="counters"]').inner_text()


def test_after_the_softmax_every_output_moves_and_the_first_leak_is_named(part):
    part.locator('[data-part="late"]').check()
    expected = painter(late=True)
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
        part.locator('[data-part="how"] [data-value="="]').click()
        press(part, "preset", name)
        assert_shows(part, painter(mask=want))
        press(part, "preset", "causal")
        for how, both in (("&", CAUSAL & want), ("|", CAUSAL | want)):
            part.locator(f'[data-part="how"] [data-value="{how}"]').click()
            press(part, "preset", name)
            assert_shows(part, painter(mask=both))
            press(part, "undo")
            assert_shows(part, painter())


def test_a_combination_is_written_as_python(part):
    press(part, "larger")
    press(part, "preset", "packed")
    part.locator('[data-part="how"] [data-value="&"]').click()
    press(part, "preset", "causal")
    text = part.locator('[data-part="recipe"]').inner_text()
    assert text == "mask = packed([0, 0, 0, 1, 1, 1]) & causal(6)"
    want = eval(text.removeprefix("mask = "), vars(masks))
    assert_shows(part, painter(mask=want))
    press(part, "invert")
    assert part.locator('[data-part="recipe"]').inner_text() == f"mask = ~({text.removeprefix('mask = ')})"
    assert_shows(part, painter(mask=~want))


def test_clicks_and_a_drag_paint_what_the_first_cell_became(part):
    cell(part, 0, 5).click()
    mask = CAUSAL.clone()
    mask[0, 5] = True
    assert_shows(part, painter(mask=mask))
    assert "The first to look ahead is output 1 (I), at token 6 (.)." in says(part)
    assert part.locator('[data-part="recipe"]').inner_text() == "mask: painted by hand"
    drag(part, (3, 0), (3, 5))
    mask[3] = False
    assert_shows(part, painter(mask=mask))
    assert "Empty: row 4 (they); the output is zeros." in says(part)
    press(part, "undo")
    mask[3, :4] = True
    assert_shows(part, painter(mask=mask))
    press(part, "reset")
    assert_shows(part, painter())


def test_keys_walk_toggle_and_paint(part):
    keyboard = part.page.keyboard
    cell(part, 0, 0).focus()
    for key in ("ArrowRight", "Space", "Shift+ArrowRight", "ArrowDown", "Enter", "ArrowUp", "ArrowUp"):
        keyboard.press(key)
    mask = CAUSAL.clone()
    mask[0, 1] = mask[0, 2] = mask[1, 2] = True
    assert_shows(part, painter(mask=mask))
    assert part.page.evaluate("Object.values(document.activeElement.dataset).join()") == "0,2"


def test_nudge_by_keyboard(part):
    part.locator('[data-part="nudged"] [data-value="2"]').click()
    part.locator('[data-part="nudge"]').focus()
    part.page.keyboard.press("Home")
    assert_shows(part, painter(nudged=2, nudge=-3.0))
    part.locator('[data-part="nudged"] [data-value="-1"]').click()
    assert part.locator('[data-part="nudge"]').is_disabled()
    assert_shows(part, painter(nudged=-1))


@pytest.mark.parametrize("late", [False, True])
def test_copied_code_prints_the_same_output(site, late):
    page = site.open(PAGE, permissions=["clipboard-read", "clipboard-write"])
    part = figure(page, "masks")
    part.locator('[data-part="late"]').set_checked(late)
    cell(part, 2, 4).click()
    press(part, "pytorch")
    page.wait_for_timeout(100)
    space: dict = {}
    with redirect_stdout(io.StringIO()):
        exec(page.evaluate("navigator.clipboard.readText()"), space)
    mask = CAUSAL.clone()
    mask[2, 4] = True
    expected = painter(mask=mask, late=late)
    assert torch.allclose(space["weights"] @ space["x"], expected.output, atol=1e-12)


def test_320_pixels_hold_the_whole_mask(site):
    page = site.open(PAGE, width=320)
    part = figure(page, "masks")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    box = cell(part, 0, 5).bounding_box()
    assert box["x"] + box["width"] <= 320
    assert min(box["width"], box["height"]) >= 24
    # The long recipe of a combination wraps here: what is painted must not move away under the finger.
    press(part, "larger")
    press(part, "preset", "packed")
    part.locator('[data-part="how"] [data-value="&"]').click()
    press(part, "preset", "causal")
    part.evaluate("el => el.scrollIntoView({ block: 'center' })")
    drag(part, (2, 0), (2, 5))
    mask = CAUSAL & masks.packed([0, 0, 0, 1, 1, 1])
    mask[2] = False
    assert_shows(part, painter(mask=mask))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(site, theme):
    page = site.open(PAGE, theme=theme)
    part = figure(page, "masks")
    part.locator('[data-part="late"]').check()
    part.locator("details summary").click()
    page.wait_for_timeout(300)
    assert violations(page) == []
