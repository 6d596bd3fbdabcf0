"""Temperature and √d in a page of the book: drags, keys and sliders against what Python computes."""

import json
import re

import pytest

from attnbook.widgets import Saturation
from attnbook.widgets.saturation import measure

from .reader import (
    TOUCHING,
    assert_fits_a_thumb,
    choose,
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

ROW = [1.5, 0.25, -0.5, 0.8]
NAMES = ["I", "saw", "a", "duck"]


def ours(**changes):
    return Saturation(**({"scores": ROW, "names": NAMES, "d_k": 64} | changes))


@pytest.fixture(scope="module")
def bench(page_with):
    """The figure with samples, with a row of its own, and without slopes."""
    without = Saturation(d_k=64, slopes=False)
    return page_with(*(f._repr_html_() for f in (Saturation(d_k=256, scaled=False), ours(), without)))


@pytest.fixture
def part(site, bench):
    return figure(site.figures(bench), "saturation", 1)


def assert_shows(part, expected):
    """Hold every cell of both tables to Python's own table, which unit tests hold to torch."""
    rows = table(part)
    assert [row[0] for row in rows] == expected.names
    got = measure(expected.row / expected.temperature)
    for row, *want in zip(rows, expected.row, got.weights, got.slopes, strict=True):
        assert [float(cell) for cell in row[1:]] == pytest.approx(
            [x.item() for x in want], abs=6e-5, rel=0.05
        )
    assert [row[1:] for row in table(part, "measures")] == [row[1:] for row in static(expected.table())[1]]
    assert part.locator('[data-part="error"]').is_hidden()


def test_it_starts_as_python_says(site, bench):
    page = site.open(bench)
    assert_shows(figure(page, "saturation", 0), Saturation(d_k=256, scaled=False))
    assert_shows(figure(page, "saturation", 1), ours())
    assert "Key I has weight 0.52 and slope 0.2495." in says(figure(page, "saturation", 1))
    heights = [part.bounding_box()["height"] for part in page.locator(".attnlab-root").all()]
    assert max(heights) <= 580


def test_without_slopes_it_shows_weights_and_how_many_rows_are_certain(site, bench):
    part = figure(site.figures(bench), "saturation", 2)
    for scale, closed in (("on", 0), ("off", 19)):
        choose(part, "scale", scale)
        expected = Saturation(d_k=64, scaled=scale == "on", slopes=False)
        numbers, measures = static(expected.table())
        assert [len(row) for row in table(part)] == [3] * 8
        assert table(part, "measures") == measures
        got = [[float(cell) for cell in row[1:]] for row in table(part)]
        want = [[float(cell) for cell in row[1:]] for row in numbers]
        assert got == [pytest.approx(row, abs=6e-5, rel=0.05) for row in want]
        assert f"Of 64 sampled queries, {closed} give 99 % or more to one key." in says(part)
    assert "slope" not in part.inner_text()


def test_without_the_scale_a_wide_row_saturates(part):
    for d_k in (128, 256, 512, 1024):
        press(part, "width", "ArrowRight")
        assert_shows(part, ours(d_k=d_k))
    choose(part, "scale", "off")
    assert_shows(part, ours(d_k=1024, scaled=False))
    assert "Of 64 sampled queries, 56 have no slope of 0.01 or more." in says(part)
    press(part, "width", "Home")
    assert_shows(part, ours(d_k=1, scaled=False))


def test_the_temperature_by_keyboard(part):
    press(part, "temperature", "Home")
    assert_shows(part, ours(temperature=0.031))
    press(part, "temperature", "End")  # what the widest width leaves out
    assert_shows(part, ours(temperature=32.0))


def test_keys_move_a_score_and_reset_brings_it_back(part):
    handle(part, 2).focus()
    for key in ("ArrowUp", "ArrowUp", "PageDown"):
        part.page.keyboard.press(key)
    assert_shows(part, ours(scores=[1.5, 0.25, -1.3, 0.8]))
    part.page.keyboard.press("End")
    assert_shows(part, ours(scores=[1.5, 0.25, 4.0, 0.8]))
    part.locator('[data-part="reset"]').click()
    assert_shows(part, ours())


def places(part):
    """Read how far from zero each score is drawn, in pixels to the right."""
    ticks = part.locator('[data-part="plane"] text').filter(has_text=re.compile("^(−10|0|10)$"))
    at = [middle(ticks.nth(i))[0] for i in range(ticks.count())][:3]  # the scales of the profiles come behind
    assert at[2] - at[1] == pytest.approx(at[1] - at[0], abs=2)
    marks = [handle(part, i).locator("rect") for i in range(4)]
    return [middle(mark)[0] - at[1] for mark in marks], (at[2] - at[1]) / 10


DOTS = re.compile(r"M ([-\d.]+) ([-\d.]+) h 0")


def dots(part):
    """Read where each sampled score is drawn."""
    path = part.locator('[data-part="cloud"]').get_attribute("d")
    return [(float(x), float(y)) for x, y in DOTS.findall(path)]


def test_what_is_beyond_the_axis_lies_in_heaps_at_its_ends(site, bench):
    part = figure(site.figures(bench), "saturation", 1)
    lines = part.locator('[data-part="ticks"]').first.get_attribute("d")
    low, *_, high = sorted({float(x) for x in re.findall(r"M ([\d.]+) ", lines)})
    drawn = dots(part)
    assert len(drawn) == 64 * 4
    assert all(low < x < high for x, _ in drawn)
    assert max(y for _, y in drawn) - min(y for _, y in drawn) > 195
    choose(part, "scale", "off")
    press(part, "width", "End")
    press(part, "temperature", "Home")
    drawn = dots(part)
    rows = ours(d_k=1024, scaled=False).samples[:, :4] / 0.031
    for side, heap in ((-1, [p for p in drawn if p[0] < low]), (1, [p for p in drawn if p[0] > high])):
        assert len(heap) == len(set(heap)) == (rows * side > 20).sum()
        assert len({x for x, _ in heap}) == 4  # a row of all four one behind the other


def test_one_gesture_is_marked_until_it_is_made(site, bench):
    page = site.open(bench)
    for nth, what in ((1, "slopes"), (2, "weights")):
        part = figure(page, "saturation", nth)
        prompt, ringed = part.locator('[data-part="prompt"]'), part.locator(".is-asked")
        assert prompt.inner_text() == f"Press no: where do the {what} go?"
        assert ringed.all_inner_texts() == ["no"]
        ringed.click()
        assert ringed.count() == 0
        assert prompt.inner_text() == "Which temperature undoes it?"
    assert figure(page, "saturation", 0).locator(".is-asked").count() == 0  # it begins without the division


@pytest.mark.parametrize("width", [390, 320])
def test_on_a_phone_the_fold_of_the_queries_says_how_many_are_lost(site, bench, width):
    part = figure(site.figures(bench, width=width, height=844), "saturation", 1)
    prompt, plane = part.locator('[data-part="prompt"]'), part.locator('[data-part="plane"]')

    def above():
        return plane.bounding_box()["y"] - part.bounding_box()["y"]

    top = above()
    asks, undo = "Press no: where do the slopes go?", "Which temperature undoes it?"
    fold = part.locator('[data-part="many"] summary')
    assert (prompt.inner_text(), fold.inner_text()) == (asks, "0 of 64 queries: slopes below 0.01")
    high = fold.bounding_box()["height"]
    for scale, scaled in (("off", False), ("on", True), ("off", False)):
        choose(part, "scale", scale)
        slopes = ours(d_k=64, scaled=scaled).samples[:, :4].softmax(-1)
        lost = ((slopes * (1 - slopes)).amax(-1) < 0.01).sum().item()
        assert lost == (0 if scaled else 28)
        said = f"{lost} of 64 queries: slopes below 0.01"
        assert (prompt.inner_text(), fold.inner_text()) == (asks if scaled else undo, said)
        assert fold.bounding_box()["height"] == high
        assert above() == pytest.approx(top, abs=1)
        assert prompt.bounding_box()["y"] < plane.bounding_box()["y"]
    press(part, "temperature", *["ArrowRight"] * 12)
    assert (prompt.inner_text(), fold.inner_text()) == (undo, "0 of 64 queries: slopes below 0.01")


def test_what_happened_is_said_when_the_scores_have_arrived(site, bench):
    part = figure(site.open(bench), "saturation", 1)
    part.page.emulate_media(reduced_motion="no-preference")
    try:
        seen = part.evaluate(SAID)
    finally:
        part.page.emulate_media(reduced_motion="reduce")
    assert seen["first"] == [seen["before"], "0.52"]
    *moving, (said, last) = seen["frames"]
    assert "28 have no slope" in said
    assert last == "1.00"
    assert {said for said, reading in moving if reading != last} == {seen["before"]}
    assert len({reading for _, reading in moving}) > 3  # the number beside the bar runs with it
    count = part.locator('[data-part="plane"] text').filter(has_text="of 64")
    assert count.all_text_contents() == ["28 of 64: below 0.01"]


SAID = """async (figure) => {
  const now = () => [figure.querySelector('[data-part="status"]').textContent,
    figure.querySelector('rect[data-part="weight"] + text').textContent];
  const [before] = now();
  figure.querySelector('[data-part="scale"] [data-value="off"]').click();
  const first = now(), frames = [];
  for (let i = 0, left = 12; i < 600 && left; i++) { // until it has spoken, and a little longer
    await new Promise(requestAnimationFrame);
    frames.push(now());
    if (frames.at(-1)[0] !== before) left--;
  }
  return { before, first, frames };
}"""


def cloud(part):
    """Read how wide the cloud of sampled scores is, in pixels."""
    return part.locator('[data-part="cloud"]').evaluate("(path) => path.getBBox().width")


def test_the_axis_stays_and_scores_fly_outwards(part):
    choose(part, "scale", "off")
    press(part, "width", "Home")
    narrow, wide = cloud(part), []
    for _ in range(3):
        at, unit = places(part)
        wide.append(unit)
        times = unit * float(table(part)[2][1]) / -0.5
        assert at[:3] == pytest.approx([1.5 * times, 0.25 * times, -0.5 * times], abs=1.5)
        press(part, "width", "ArrowRight", "ArrowRight")  # four times as wide: scores twice as far
    assert wide == pytest.approx([wide[0]] * 3, abs=0.1)
    assert cloud(part) > 4 * narrow
    press(part, "width", "End")  # 48 is beyond the axis: an arrow at its end, and the number
    at, unit = places(part)
    assert at[0] == pytest.approx(20 * unit, abs=1.5)
    assert handle(part, 0).text_content() == "48.0"
    assert re.search(
        r"standard deviation \d+, \d+ % beyond ±20", part.locator('[data-part="plane"]').text_content()
    )


def test_bars_are_as_long_as_their_numbers(part):
    choose(part, "scale", "off")
    for column, name, most in ((2, "weight", 1.0), (3, "slope", 0.25)):
        bars = part.locator(f'[data-part="{name}"]')
        full = part.locator('[data-part="plane"] > rect').nth(2 if name == "slope" else 6)
        across = float(full.get_attribute("width"))
        got = [float(bars.nth(i).get_attribute("width")) / across * most for i in range(4)]
        assert got == pytest.approx([float(row[column]) for row in table(part)], abs=6e-5)


def test_a_drag_takes_a_score_along_the_axis(part):
    _, unit = places(part)
    x, y = middle(handle(part, 1).locator("rect"))
    drag(part.page, (x, y), (x + 2 * unit, y))
    score = float(table(part)[1][1])
    assert score == pytest.approx(2.25, abs=0.15)
    assert_shows(part, ours(scores=[1.5, score, -0.5, 0.8]))
    drag(part.page, (x + 2 * unit, y), (x + 9 * unit, y))
    assert table(part)[1][1] == "4.0000"  # as far as a score of this row goes


def test_new_samples_are_those_of_the_next_seed_and_can_be_changed(site, bench):
    part = figure(site.figures(bench), "saturation", 0)
    part.locator('[data-part="draw"]').click()
    expected = Saturation(d_k=256, scaled=False, seed=1)
    assert_shows(part, expected)
    handle(part, 0).focus()
    part.page.keyboard.press("Home")
    scaled = [min(max(round(x / 16, 2), -4), 4) for x in expected.row.tolist()]
    assert_shows(part, Saturation([-4.0, *scaled[1:]], d_k=256, scaled=False, seed=1))


@pytest.mark.parametrize("scaled", [True, False])
def test_copied_code_prints_the_same_numbers(part, scaled):
    choose(part, "scale", "on" if scaled else "off")
    first, second = run_copied(part)[0].splitlines()
    assert json.loads(first.removeprefix("weights ")) == pytest.approx(
        ours(scaled=scaled).weights.tolist(), abs=1e-9
    )
    _, entropy, _, largest, _, norm = second.split()
    want = measure(ours(scaled=scaled).row)
    assert [float(entropy), float(largest), float(norm)] == pytest.approx(
        [want.entropy.item(), want.largest.item(), want.norm.item()], abs=1e-9
    )


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"d_k": 3}, "d_k must be a power of two from 1 to 1024, got 3"),
        ({"scores": [9, 0, 0, 0]}, "scores must be numbers between -4 and 4"),
        ({"temperature": 0}, "temperature must be positive, got 0"),
    ],
)
def test_a_broken_link_says_what_is_wrong_in_the_figure(site, bench, state, message):
    assert message in site.complaint(bench, "saturation-2", state)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_a_phone_does_not_scroll(site, bench, theme):
    page = site.figures(bench, theme=theme, width=320, height=700)
    part = figure(page, "saturation", 1)
    choose(part, "scale", "off")
    handle(part, 1).focus()
    assert violations(page) == []
    assert_fits_a_thumb(page.locator("figure"))


def unfold(part):
    """Open the sampled queries where they are in a fold."""
    part.locator('[data-part="many"]').evaluate_all("(all) => all.forEach((fold) => (fold.open = true))")


@pytest.mark.parametrize(("width", "most"), [(390, 510), (320, 560)])
def test_on_a_phone_one_query_comes_first_and_the_samples_are_one_tap_away(site, bench, width, most):
    page = site.open(bench, width=width, height=700)
    part, root = figure(page, "saturation", 1), figure(page, "saturation", 1).locator(".attnlab-root")
    assert root.bounding_box()["height"] <= most
    plane = part.locator('[data-part="plane"]')
    words = plane.locator("text")
    assert ("slope: how fast p moves" if width == 390 else "slope") in words.all_text_contents()
    assert {word.get_attribute("font-size") for word in words.all()} == {"13"}
    # Dots, and below all of them two columns, equally wide; a pair of bars in each row.
    low = max(at["y"] + at["height"] for at in (handle(part, i).bounding_box() for i in range(4)))
    tracks = [track.bounding_box() for track in plane.locator("> rect").all()]
    weights, slopes = tracks[:4], tracks[4:]
    assert min(track["y"] for track in tracks) > low
    assert [track["y"] for track in weights] == [track["y"] for track in slopes]
    assert {round(track["width"], 2) for track in weights + slopes} == {round(weights[0]["width"], 2)}
    assert weights[0]["x"] + weights[0]["width"] + 40 < slopes[0]["x"]
    first = [part.locator(f'[data-part="{what}"]').first.bounding_box() for what in ("weight", "slope")]
    assert [bar["x"] for bar in first] == pytest.approx([weights[0]["x"], slopes[0]["x"]], abs=1)
    cloud, again = part.locator('[data-part="cloud"]'), part.locator('[data-part="draw"]')
    assert not cloud.is_visible()
    assert not again.is_visible()
    part.locator('[data-part="many"] summary').click()
    assert len(dots(part)) == 64 * 4
    assert "deviation" not in part.locator('[data-part="many"]').text_content()
    assert again.is_visible()
    # Who moves the width sees the cloud: both fit a small phone's screen under the book's bar.
    bottom = cloud.bounding_box()["y"] + cloud.bounding_box()["height"]
    assert bottom - part.locator('[data-part="width"]').bounding_box()["y"] < 360
    whole = saved(part)
    assert "largest slope" in whole
    assert whole.count("<svg") == 2
    # Where there are only weights the question is of the samples: they stand at the top.
    without = figure(page, "saturation", 2)
    assert without.locator('[data-part="many"]').is_hidden()
    above = without.locator('[data-part="plane"]').evaluate("""(plane) =>
      plane.querySelector('[data-part="cloud"]').getBoundingClientRect().bottom
      < plane.querySelector('[data-part="handle"]').getBoundingClientRect().bottom""")
    assert above


@pytest.mark.parametrize("width", [320, 390, 600, 768, 1280])
def test_no_words_of_the_drawing_touch(site, bench, width):
    page = site.figures(bench, width=width, height=900)
    for nth in range(3):
        part = figure(page, "saturation", nth)
        unfold(part)
        for scale in ("on", "off"):
            choose(part, "scale", scale)
            assert part.evaluate(TOUCHING) == [], (nth, scale)


INK = """(texts) => texts.map((text) => {
  const { x, width } = text.getBBox();
  const [y, size] = [Number(text.getAttribute("y")), Number(text.getAttribute("font-size"))];
  return [x, x + width, y - 0.76 * size, y + 0.05 * size];
})"""


def test_a_number_that_stands_on_its_own_line_leaves_a_gap_there(site, bench):
    """Paper around each letter closes what is open between two: a line in between would strike it through."""
    part = figure(site.figures(bench, width=390, height=700), "saturation", 0)
    handles = part.locator('[data-part="handle"]').evaluate_all(
        """(all) => all.map((g) => {
          const text = g.querySelector("text");
          const way = g.querySelector("path[stroke]").getAttribute("d");
          const inside = Math.sign(Number(text.getAttribute("x"))) === Math.sign(Number(way.split(" ")[1]));
          const { strokeWidth, fontSize } = getComputedStyle(text);
          return [inside, parseFloat(strokeWidth), parseFloat(fontSize)];
        })"""
    )
    on_a_line = [(paper, size) for inside, paper, size in handles if inside]
    assert on_a_line
    assert all(paper >= 0.7 * size for paper, size in on_a_line)


@pytest.mark.parametrize(("width", "below"), [(320, True), (390, True), (1280, False)])
def test_no_line_of_the_axis_runs_through_a_number(site, bench, width, below):
    page = site.figures(bench, width=width, height=700)
    for nth, keys in ((0, 8), (1, 4), (2, 8)):
        part = figure(page, "saturation", nth)
        unfold(part)
        drawings = part.locator(':has(> [data-part="ticks"])').all()
        assert len(drawings) == 1 + (below and nth < 2)
        runs = words_of = 0
        for plane in drawings:
            lines = [
                (float(x), float(y), float(y) + float(long))
                for path in plane.locator('[data-part="ticks"]').all()
                for x, y, long in re.findall(r"M ([\d.]+) ([\d.]+) v ([\d.]+)", path.get_attribute("d"))
            ]
            # The numbers on the axis have a ground of their own: they stand in the way of the lines.
            words = plane.locator("text:not([data-part=handle] text)")
            for left, right, top, bottom in words.evaluate_all(INK):
                assert not [x for x, y0, y1 in lines if left < x < right and y0 < bottom and top < y1]
            runs, words_of = runs + len(lines), words_of + words.count()
        assert runs == 5 * 2  # past the samples, and past the scores of the one query
        assert words_of > 2 * keys


def test_the_drawing_that_is_saved_stands_alone(part):
    saved(part)
