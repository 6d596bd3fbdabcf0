"""The mask painter in the page of its chapter: clicks, drags and keys against what Python computes."""

import pytest
import torch

from attnbook.widgets import MaskPainter
from attnlab import masks

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


def unfold(part, name):
    """Open a fold, unless it is open."""
    fold = part.locator(f'details[data-part="{name}"]')
    if fold.get_attribute("open") is None:
        fold.locator("summary").click()


def gauges(part):
    """Read what stands beside each row: its sum, and how far its output moved."""
    return table(part, "outputs")


def assert_shows(part, expected):
    """Compare the table of numbers, what the cells say and what stands beside them with Python's."""
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
    # What a row shows sums to what stands beside it: cells have weights, whenever they are closed.
    shown = part.locator('[data-part="mask"] [data-row]').all_text_contents()
    for i, (total, _) in enumerate(gauges(part)):
        assert sum(map(float, shown[6 * i : 6 * i + 6])) == pytest.approx(float(total), abs=0.035)
    closed = part.locator('[data-part="mask"] .is-closed').all_text_contents()
    assert closed == ["0"] * (36 - sum(pressed))
    for (total, far), row, wanted in zip(gauges(part), weights, moved.tolist(), strict=True):
        assert float(total) == pytest.approx(row.sum().item(), abs=6e-3)
        assert float(far.removesuffix(" leak") or 0) == pytest.approx(wanted, abs=6e-3)


def test_it_starts_causal_and_says_what_is_and_not_what_follows(site, bench):
    part = figure(site.open(bench), "masks")
    assert_shows(part, painter())
    assert says(part) == "21 of 36 cells open, the others closed before the softmax: score −∞."
    # Which outputs a nudge moves is asked beside the figure.
    assert all(far == "" for _, far in gauges(part))
    # Where it will stand is in sight before.
    assert part.locator('[data-part="outputs"] th').last.is_visible()
    assert "moved" not in says(part)
    assert not part.locator('[data-part="numbers"]').is_visible()
    assert cell(part, 0, 5).get_attribute("title") == "closed before the softmax: score −∞, so weight 0"
    assert not cell(part, 5, 0).get_attribute("title")
    labels = part.locator(".attnlab-label").all_text_contents()
    assert labels == ["Nudge a token", "Nudge by", "Close cells", "Apply a preset", "Size"]


TOPS = """(figure) => [...figure.querySelectorAll("button, summary, input, tr")]
  .map((e) => Math.round(e.getBoundingClientRect().top - figure.getBoundingClientRect().top))"""


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_a_nudge_moves_nothing_that_stands(site, bench, width):
    part = figure(site.figures(bench, width=width), "masks")
    assert part.locator('[data-part="nudge"]').is_disabled()
    assert not part.locator('[data-part="preset"]').first.is_visible()
    unfold(part, "presets")
    stood = part.evaluate(TOPS)
    choose(part, "nudged", 5)
    assert part.locator('[data-part="nudge"]').is_enabled()
    assert part.evaluate(TOPS) == stood


def test_the_first_gesture_is_ringed_until_it_is_made_and_a_row_s_name_nudges_its_token(part):
    ringed = part.locator(".is-asked")
    assert ringed.all_inner_texts() == ["after the softmax"]
    ringed.click()
    assert ringed.count() == 0
    choose(part, "late", "before")
    assert ringed.count() == 0
    row = part.locator('[data-part="mask"] tbody th').nth(5)
    row.click()
    assert_shows(part, painter(nudged=5))
    row.click()
    assert_shows(part, painter())


def test_on_a_phone_how_far_rows_moved_takes_the_width_that_is_left(site, bench):
    part = figure(site.figures(bench, width=390), "masks")
    choose(part, "nudged", 5)
    gauge, slider = (
        part.locator(one).last.bounding_box() for one in (".attnlab-gauge", '[data-part="nudge"]')
    )
    assert gauge["width"] > 55
    assert gauge["x"] + gauge["width"] <= slider["x"] + slider["width"]


def test_presets_stand_beside_the_mask_where_there_is_room(site, bench):
    part = figure(site.figures(bench, width=1280), "masks")
    high = part.bounding_box()["height"]
    unfold(part, "presets")
    assert part.bounding_box()["height"] == pytest.approx(high, abs=1)
    mask = part.locator('[data-part="mask"]').bounding_box()
    tools = part.locator('[data-part="preset"], [data-part="smaller"], [data-part="larger"]')
    for box in (one.bounding_box() for one in tools.all()):
        assert mask["x"] + mask["width"] < box["x"]
        assert box["x"] + box["width"] <= part.bounding_box()["x"] + part.bounding_box()["width"] - 16


def test_only_a_nudged_token_moves(part):
    choose(part, "nudged", 5)
    assert_shows(part, painter(nudged=5))
    assert says(part).endswith("Token 6 (.) nudged by 1.0: output 6 moved.")


def test_after_the_softmax_every_output_moves_and_each_leak_is_marked(part):
    choose(part, "nudged", 5)
    choose(part, "late", "after")
    expected = painter(late=True, nudged=5)
    assert_shows(part, expected)
    assert "closed after the softmax: weight × 0" in says(part)
    assert says(part).endswith("outputs 1, 2, 3, 4, 5, 6 moved.")
    moved = expected.numbers()[2].tolist()
    assert [far for _, far in gauges(part)] == [*(f"{far:.2f} leak" for far in moved[:5]), f"{moved[5]:.2f}"]
    # A sum is drawn as long as it is.
    drawn = part.locator('[data-part="outputs"] .is-sum').evaluate_all(
        "all => all.map((e) => e.firstElementChild.offsetWidth / e.clientWidth)"
    )
    assert drawn == pytest.approx(expected.weights.sum(-1).tolist(), abs=0.03)
    unfold(part, "figures")
    counters = part.locator('[data-part="counters"]').inner_text()
    assert "rows not summing to 1: 5" in counters
    assert "leaking pairs: 15" in counters


GAUGES = """(part) => [...part.querySelectorAll('[data-part="outputs"] td + td > span')].map((gauge) => {
  const { borderTopColor, backgroundImage } = getComputedStyle(gauge);
  const bar = gauge.querySelector("i").getBoundingClientRect().width;
  return [borderTopColor, backgroundImage.includes("gradient"), gauge.clientWidth, bar];
})"""


@pytest.mark.parametrize(("width", "room"), [(1280, 120), (320, 25)])
def test_a_leak_has_the_colour_of_outputs_and_stripes_and_what_may_move_has_none(site, bench, width, room):
    part = figure(site.figures(bench, width=width), "masks")
    choose(part, "nudged", 5)
    choose(part, "late", "after")
    *leaks, own = part.evaluate(GAUGES)
    output = part.evaluate(
        """(part) => {
          const probe = part.appendChild(document.createElement("i"));
          probe.style.color = "var(--fig-output)";
          return [getComputedStyle(probe).color, probe.remove()][0];
        }"""
    )
    assert len(leaks) == 5
    assert all(colour == output and striped for colour, striped, *_ in leaks)
    assert not own[1]
    moved = painter(late=True, nudged=5).numbers()[2].tolist()
    for (_, _, wide, bar), far in zip([*leaks, own], moved, strict=True):
        assert wide >= room
        # However small, a move is seen.
        assert bar == pytest.approx(max(wide * far / 1.5, 3), abs=1)


WRITTEN = """(part) => [...part.querySelectorAll(".is-leak b")].map((b) => {
  const text = document.createRange();
  text.selectNodeContents(b);
  const [is, frame] = [text.getBoundingClientRect(), b.parentElement.getBoundingClientRect()];
  const spare = [is.left - frame.left, frame.right - is.right, is.top - frame.top, frame.bottom - is.bottom];
  return [b.innerText.split(/\\s+/).join(" "), Math.min(...spare), parseFloat(getComputedStyle(b).fontSize)];
})"""


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_a_leak_s_amount_is_in_its_frame_at_any_width(site, bench, width):
    part = figure(site.figures(bench, width=width), "masks")
    choose(part, "nudged", 5)
    choose(part, "late", "after")
    texts, spare, sizes = zip(*part.evaluate(WRITTEN), strict=True)
    moved = painter(late=True, nudged=5).numbers()[2].tolist()
    assert list(texts) == [f"{far:.2f} leak" for far in moved[:5]]
    assert min(spare) >= 0
    assert min(sizes) >= 11
    # It is no higher than its row.
    high = part.locator('[data-part="outputs"] tbody tr').evaluate_all(
        "all => all.map((e) => e.offsetHeight)"
    )
    assert len(set(high)) == 1


APART = """(part) => [...part.querySelectorAll(".is-sum")].map((gauge) => {
  const text = document.createRange();
  text.selectNodeContents(gauge.querySelector("b"));
  const [is, bar, frame] = [text, gauge.querySelector("i"), gauge].map((e) => e.getBoundingClientRect());
  // The digits end above their line's: on 78 % of it.
  return [is.top + 0.78 * is.height < bar.top, bar.bottom <= frame.bottom, frame.height];
})"""


@pytest.mark.parametrize(("width", "cell_wide"), [(1280, 60), (390, 28), (320, 25)])
def test_a_sum_stands_above_its_bar_and_a_wide_screen_has_wide_cells(site, bench, width, cell_wide):
    part = figure(site.figures(bench, width=width), "masks")
    choose(part, "late", "after")
    assert part.evaluate(APART) == [[True, True, 26]] * 6
    assert cell(part, 0, 0).bounding_box()["width"] == pytest.approx(cell_wide, abs=1)


PRESETS = {
    "causal": CAUSAL,
    "padding": masks.padding([4], 6)[0].expand(6, 6),
    "prefix": masks.prefix(6, 2),
    "packed": masks.packed([0, 0, 1, 1, 2, 2]),
}


def test_presets_alone_and_with_what_is_there(part):
    unfold(part, "presets")
    values = "all => all.map((e) => e.dataset.value)"
    assert part.locator('[data-part="preset"]').evaluate_all(values) == list(PRESETS)
    for name, want in PRESETS.items():
        choose(part, "how", "=")
        click(part, "preset", name)
        assert_shows(part, painter(mask=want))
        click(part, "preset", "packed")
        choose(part, "how", "&")
        click(part, "preset", name)
        assert_shows(part, painter(mask=PRESETS["packed"] & want))


def test_undo_goes_back_a_step_at_a_time_and_passes_over_what_changed_nothing(part):
    undo = part.locator('[data-part="undo"]')
    assert undo.is_hidden()
    unfold(part, "presets")
    choose(part, "how", "=")
    for name in ("packed", "prefix", "prefix", "prefix"):
        click(part, "preset", name)
    undo.click()
    assert_shows(part, painter(mask=PRESETS["packed"]))
    undo.click()
    assert_shows(part, painter())
    assert undo.is_hidden()
    assert part.locator('[data-part="reset"]').evaluate("e => e === document.activeElement")


def test_undo_takes_back_a_reset_and_then_what_came_before_it(part):
    cell(part, 0, 5).click()
    choose(part, "nudged", 2)
    choose(part, "late", "after")
    mask = CAUSAL.clone()
    mask[0, 5] = True
    for _ in range(2):  # the second changes nothing, and is no step
        click(part, "reset")
    assert_shows(part, painter())
    click(part, "undo")
    assert_shows(part, painter(mask=mask, nudged=2, late=True))
    click(part, "undo")
    assert_shows(part, painter(nudged=2, late=True))


def test_a_combination_is_written_as_python(part):
    unfold(part, "presets")
    choose(part, "how", "=")
    click(part, "larger")
    click(part, "preset", "packed")
    choose(part, "how", "&")
    click(part, "preset", "causal")
    text = part.locator('[data-part="recipe"]').inner_text()
    assert text == "mask = packed([0, 0, 0, 1, 1, 1]) & causal(6)"
    want = eval(text.removeprefix("mask = "), vars(masks))
    assert_shows(part, painter(mask=want))


def test_clicks_and_a_drag_paint_what_the_first_cell_became(part):
    cell(part, 0, 5).click()
    mask = CAUSAL.clone()
    mask[0, 5] = True
    assert_shows(part, painter(mask=mask))
    assert "22 of 36 cells open" in says(part)
    assert part.locator('[data-part="recipe"]').text_content() == "mask: painted by hand"
    paint(part, (3, 0), (3, 5))
    mask[3] = False
    assert_shows(part, painter(mask=mask))
    assert gauges(part)[3] == ["0.00", ""]
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
    choose(part, "late", "after" if late else "before")
    cell(part, 2, 4).click()
    space = run_copied(part)[1]
    mask = CAUSAL.clone()
    mask[2, 4] = True
    expected = painter(mask=mask, late=late)
    assert torch.allclose(space["weights"] @ space["x"], expected.output, atol=1e-12)


def test_the_saved_drawing_holds_every_weight(part):
    text, weights = saved(part), painter().numbers()[0]
    assert all(f">{w:.2f}</text>" in text for w in weights[CAUSAL].tolist())
    assert text.count(">0</text>") == 15


def test_320_pixels_hold_the_whole_mask(site, bench):
    page = site.figures(bench, width=320)
    part = figure(page, "masks")
    assert page.evaluate(SIDEWAYS) == []
    box = cell(part, 0, 5).bounding_box()
    assert box["x"] + box["width"] <= 320
    assert min(box["width"], box["height"]) >= 24
    # The long recipe of a combination wraps here: what is painted must not move away under the finger.
    unfold(part, "presets")
    choose(part, "how", "=")
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
    choose(part, "late", "after")
    choose(part, "nudged", 5)
    assert violations(page) == []
    for fold in ("presets", "figures"):
        unfold(part, fold)
    assert violations(page) == []


@pytest.mark.parametrize(("width", "most"), [(1280, 520), (320, 700)])
def test_the_figure_fits_its_screen(site, bench, width, most):
    part = figure(site.figures(bench, width=width), "masks")
    assert part.locator(".attnlab-root").bounding_box()["height"] <= most
    choose(part, "late", "after")
    choose(part, "nudged", 5)
    assert part.locator(".attnlab-root").bounding_box()["height"] <= most


def test_the_bullets_of_an_exercise_stand_inside_its_box(site):
    lists = site.open(PAGE).locator(".exercise section > ul")
    assert lists.evaluate_all(
        "(all) => all.map((e) => parseFloat(getComputedStyle(e).paddingLeft) > 16)"
    ) == [True]
