"""Soft lookup in the page of its chapter: drags, keys and choices against what Python computes."""

import math
import re

import pytest

from attnbook.widgets import SoftLookup

from .conftest import page_of
from .reader import (
    SIDEWAYS,
    choose,
    drag,
    figure,
    handle,
    middle,
    number,
    press,
    run_copied,
    says,
    table,
    violations,
)

PAGE = page_of("relevance_and_averaging")
VALUES = [[2.0, 1.0], [-1.0, 2.0], [-2.0, -1.0], [1.5, -2.0]]
NEARER = [[1.1, 0.6], [-0.6, 1.2], [-1.2, -0.6], [0.8, -1.2]]  # in the short page
NAMES = ["I", "saw", "a", "duck"]
LOOKS = """(names) => names.map((name) => {
  const paper = getComputedStyle(name.closest(".attnlab-root")).backgroundColor;
  const { paintOrder, stroke, strokeWidth } = getComputedStyle(name);
  return [paintOrder.split(" ")[0], stroke === paper, parseFloat(strokeWidth) >= 3];
})"""


MOVES = """(figure, [value, buttons]) => {
  const lines = [...figure.querySelectorAll("line")];
  figure.querySelector("svg").dispatchEvent(new PointerEvent("pointermove", { buttons, bubbles: true }));
  figure.querySelector(`[data-value="${value}"]`).click();
  const move = lines.some((line) => line.getAnimations().length > 0);
  document.dispatchEvent(new PointerEvent("pointerup")); // the hand lets go
  return [lines.every((line) => line.isConnected), move];
}"""


def lookup(**changes):
    return SoftLookup(**({"values": VALUES, "names": NAMES, "query": (1.0, 0.5)} | changes))


@pytest.fixture(scope="module")
def bench(figures_of):
    return figures_of(PAGE)


@pytest.fixture
def part(site, bench):
    return figure(site.figures(bench), "lookup")


def assert_looked_up(part, expected):
    raw, weights = expected.numbers()
    rows = {row[0]: row[1:] for row in table(part)}
    assert list(rows) == ["query", *NAMES, "output"]
    assert [number(cell) for cell in rows["query"][:2]] == pytest.approx(expected.query, abs=0.006)
    for name, point, score, weight in zip(
        NAMES, expected.values, raw.tolist(), weights.tolist(), strict=True
    ):
        got = [number(cell) for cell in rows[name]]
        assert got == pytest.approx([*point, score, weight], abs=0.006)
    assert [number(cell) for cell in rows["output"][:2]] == pytest.approx(expected.output.tolist(), abs=6e-5)


def test_it_starts_as_python_says(site, bench):
    part = figure(site.open(bench), "lookup")
    assert_looked_up(part, lookup())
    assert "inside the convex hull" in says(part)


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_a_choice_is_seen_to_change_the_lines_and_nothing_lags_behind_a_hand(site, part, motion):
    part.page.emulate_media(reduced_motion=motion)
    chosen, dragged = part.evaluate(MOVES, ["relu", 0]), part.evaluate(MOVES, ["softmax", 1])
    part.page.emulate_media(reduced_motion="reduce")
    assert chosen == [True, motion != "reduce"]
    assert dragged == [True, False]


@pytest.mark.parametrize("weights", ["softmax", "sparsemax", "relu", "none"])
@pytest.mark.parametrize("score", ["dot", "distance"])
def test_every_score_and_every_way_to_weigh(part, score, weights):
    choose(part, "score", score)
    choose(part, "weigh", weights)
    assert_looked_up(part, lookup(score=score, weights=weights))


def test_arrow_keys_move_the_query_and_a_value(part):
    handle(part, "query").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowUp"):
        part.page.keyboard.press(key)
    handle(part, 3).focus()
    part.page.keyboard.press("ArrowLeft")
    moved = [*VALUES[:3], [1.4, -2.0]]
    assert_looked_up(part, lookup(query=(1.2, 0.6), values=moved))
    part.locator('[data-part="reset"]').click()
    assert_looked_up(part, lookup())


def test_a_drag_moves_the_query_and_none_leaves_the_hull(part):
    middle(part.locator('[data-part="plane"]'))  # in the window, whole
    box = part.locator('[data-part="plane"]').bounding_box()
    end = (box["x"] + box["width"] * 300 / 360, box["y"] + box["height"] * 60 / 360)
    drag(part.page, middle(handle(part, "query")), end)
    x, y = (number(cell) for cell in table(part)[0][1:3])
    assert (x, y) == pytest.approx((2.4, 2.4), abs=0.1)
    assert_looked_up(part, lookup(query=(x, y)))
    assert "inside the convex hull" in says(part)
    choose(part, "weigh", "none")
    assert "outside the convex hull" in says(part)


def test_an_output_beyond_the_plane_is_an_arrow_on_the_ray_to_it(part):
    mark = part.locator('[data-part="output"]')
    assert mark.get_attribute("data-off") == "false"
    choose(part, "weigh", "none")
    assert mark.get_attribute("data-off") == "true"
    assert "at (10.75, 4.00), beyond the edge of the plane" in says(part)
    x, y = lookup(weights="none").output.tolist()  # (10.75, 4)
    numbers = re.findall(r"-?[0-9.]+", mark.get_attribute("transform"))
    across, down, turn = map(float, numbers)
    assert (across, down) == pytest.approx((180 + 150, 180 - 150 * y / x), abs=0.01)
    assert turn == pytest.approx(-math.degrees(math.atan2(y, x)), abs=0.01)


def test_the_temperature_by_keyboard(part):
    press(part, "temperature", "Home")
    assert_looked_up(part, lookup(temperature=0.01))
    press(part, "temperature", "End")
    assert_looked_up(part, lookup(temperature=100.0))


@pytest.mark.parametrize("weights", ["softmax", "sparsemax", "relu", "none"])
def test_copied_code_prints_the_same_output(part, weights):
    choose(part, "weigh", weights)
    last = run_copied(part)[0].splitlines()[-1]
    got = [float(x) for x in last[last.index("[") + 1 : last.index("]")].split(",")]
    assert got == pytest.approx(lookup(weights=weights).output.tolist(), abs=1e-4)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(site, bench, theme):
    page = site.figures(bench, theme=theme)
    part = figure(page, "lookup")
    choose(part, "weigh", "relu")
    assert violations(page) == []


BARS = """(figure) => [...figure.querySelectorAll('[data-part="bars"] > :not(:first-child)')].map((row) => {
  const [name, room] = row.children, bar = room.firstElementChild;
  const whole = room.clientWidth - 4 * parseFloat(getComputedStyle(document.documentElement).fontSize);
  return [name.textContent, room.textContent, bar.clientWidth / whole, row.className === "is-lead"];
})"""


@pytest.mark.parametrize("page", [PAGE, "chapters/five_minutes"])
def test_where_there_is_room_weights_stand_as_bars_beside_the_plane(site, page):
    part = figure(site.open(page), "lookup")
    handle(part, "query").focus()
    for key in ["ArrowLeft"] * 6 + ["ArrowUp"] * 2:
        part.page.keyboard.press(key)
    start, values = ((1.0, 0.5), VALUES) if page == PAGE else ((-1.3, 0.4), NEARER)
    weights = lookup(query=(start[0] - 0.6, start[1] + 0.2), values=values).numbers()[1].tolist()
    bars = part.evaluate(BARS)
    assert [(name, text) for name, text, *_ in bars] == [
        (name, f"{weight:.2f}") for name, weight in zip(NAMES, weights, strict=True)
    ]
    assert [share for _, _, share, _ in bars] == pytest.approx(weights, abs=0.01)
    assert [lead for *_, lead in bars] == [weight == max(weights) for weight in weights]
    # Nothing frames the plane, and nothing says a number twice.
    assert part.locator('[data-part="plane"] rect').count() == 0
    shares = part.locator('[data-part="share"]')
    assert not any(share.is_visible() for share in shares.all())
    drawn, beside = (part.locator(f'[data-part="{name}"]').bounding_box() for name in ("plane", "bars"))
    assert drawn["x"] + drawn["width"] <= beside["x"]
    assert drawn["y"] < beside["y"] < beside["y"] + beside["height"] < drawn["y"] + drawn["height"]


ENDS = """(figure) => [...figure.querySelectorAll('[data-part="bars"] i')].map((bar) => {
  const { left, right } = bar.getBoundingClientRect();
  return [left, right];
})"""


def test_bars_of_weights_that_are_no_shares_keep_their_proportions_and_negative_ones_go_left(part):
    choose(part, "weigh", "none")
    weights = lookup(weights="none").numbers()[1].tolist()
    assert min(weights) < -1 < 1 < max(weights)
    ends = part.evaluate(ENDS)
    most = weights.index(max(weights))
    zero, unit = ends[most][0], (ends[most][1] - ends[most][0]) / weights[most]
    for (left, right), weight in zip(ends, weights, strict=True):
        assert (left, right) == pytest.approx(
            (zero + unit * min(weight, 0), zero + unit * max(weight, 0)), abs=1
        )


DRAWN = """(figure) => [
  figure.querySelector('[data-part="bars"] > .attnlab-label').textContent,
  [...figure.querySelectorAll('[data-part="bars"] i')].map((bar) => {
    const { left, width } = bar.getBoundingClientRect(), zero = bar.parentElement.getBoundingClientRect();
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    return [(left - zero.left) / (zero.width - 4 * rem), width / (zero.width - 4 * rem), bar.className];
  }),
  [...figure.querySelectorAll("line")].map((line) => Number(line.getAttribute("stroke-width"))),
  [...figure.querySelectorAll('[data-part="plane"] > text')].map((text) => text.textContent),
]"""
"""The words above the bars; where each begins and how wide it is, in tracks; lines; the output's name."""


@pytest.mark.parametrize("power", [0.3, 0, -0.6])
def test_a_fixed_axis_shows_how_weights_that_are_no_shares_run_away(part, power):
    part.locator('[data-part="temperature"]').fill(str(power))
    for weigh, low, high, said in (("none", -8, 8, ", from −8 to 8"), ("relu", 0, 2, ", from 0 to 2")):
        choose(part, "weigh", weigh)
        name, bars, lines, output = part.evaluate(DRAWN)
        assert name == f"Weight of each{said}"
        expected = lookup(weights=weigh, temperature=round(10**power, 3))
        weights = expected.numbers()[1].tolist()
        for weight, (start, width, look), line in zip(weights, bars, lines, strict=True):
            seen = min(max(weight, low), high)
            assert start == pytest.approx((min(seen, 0) - low) / (high - low), abs=0.002)
            assert width == pytest.approx(abs(seen) / (high - low), abs=0.002)
            assert ("is-past" in look) == (seen != weight)
            assert line == pytest.approx(0.5 + 8 * abs(seen) / high, abs=0.006)
        # Of an output that the plane has no room for one reads how far away it is.
        far = math.hypot(*expected.output.tolist())
        off = max(map(abs, expected.output.tolist())) > 3
        assert output == ["output", *[f"{far:.1f} away"] * off]
    choose(part, "weigh", "softmax")
    assert part.evaluate(DRAWN)[0] == "Weight of each"


LETTERS = """(text) => {
  const { left, right, bottom } = text.getBoundingClientRect();
  return [left, bottom - 15, right, bottom - 5]; // without the paper around them
}"""


def test_where_query_and_output_meet_their_names_stay_apart(part):
    """And an output on a point is a ring around it."""
    texts = part.locator('[data-part="plane"] text')
    handle(part, "query").focus()
    for key in ["ArrowLeft"] * 12 + ["ArrowUp"] * 12:
        part.page.keyboard.press(key)
        query, output = (texts.filter(has_text=name).evaluate(LETTERS) for name in ("query", "output"))
        across, down = (min(query[i + 2], output[i + 2]) - max(query[i], output[i]) for i in (0, 1))
        assert across < 4 or down < 4, (query, output)
    press(part, "temperature", "Home")
    assert part.locator('[data-part="output"] circle').get_attribute("fill") == "none"


def test_a_name_steps_aside_for_what_is_dragged_onto_it(site):
    part = figure(site.open("chapters/five_minutes", width=390, height=844), "lookup")
    share = part.locator('[data-part="share"]').nth(3)
    name = share.locator("xpath=..")
    height = name.bounding_box()["height"]
    mark = handle(part, "query").locator("path, circle").nth(1)
    above = middle(name)
    drag(part.page, middle(mark), above)
    named, marked = name.bounding_box(), mark.bounding_box()
    assert named["y"] > marked["y"] + marked["height"] - 4  # below both
    assert named["y"] > above[1] + height / 2
    drag(part.page, middle(mark), (above[0] - 90, above[1] - 60))
    assert name.bounding_box()["y"] == pytest.approx(above[1] - height / 2, abs=1)


@pytest.mark.parametrize("word", NAMES)
def test_beyond_a_word_there_is_more_to_get_and_a_hand_gets_there(site, word):
    part = figure(site.open("chapters/five_minutes", width=390, height=844), "lookup")
    plane, mark = part.locator('[data-part="plane"]'), handle(part, "query").locator("path")
    x, y = NEARER[NAMES.index(word)]
    middle(plane)  # in the window, whole
    box = plane.bounding_box()
    share = part.locator('[data-part="share"]').nth(NAMES.index(word))  # hidden here, and kept
    shares = []
    for far in (1, 1.5, 2.4 / max(abs(x), abs(y))):  # at its point, beyond it, and at the edge
        to = [box["x"] + box["width"] * (180 + 62.5 * far * x) / 360]
        to.append(box["y"] + box["height"] * (180 - 62.5 * far * y) / 360)
        drag(part.page, middle(mark), to)
        shares.append(float(share.text_content()))
    assert 0.65 < shares[0] < 0.8 < shares[1] <= 0.92 <= shares[2] < 0.98


def test_a_drag_that_misses_its_handle_selects_no_name(site):
    part = figure(site.open("chapters/five_minutes"), "lookup")
    middle(part.locator('[data-part="plane"]'))
    box = part.locator('[data-part="plane"]').bounding_box()
    ends = [(box["x"] + box["width"] * at, box["y"] + box["height"] * at) for at in (0.05, 0.95)]
    drag(part.page, *ends)
    assert part.page.evaluate("getSelection().toString()") == ""


def test_on_a_phone_shares_stand_beside_the_names(site):
    part = figure(site.open(PAGE, width=320), "lookup")
    assert part.locator('[data-part="bars"]').is_hidden()
    shares = part.locator('[data-part="share"]')
    assert all(share.is_visible() for share in shares.all())
    assert_names_are_tall(part)
    shown = list(map(float, shares.all_text_contents()))
    assert shown == pytest.approx(lookup(query=(1.0, 0.5), values=VALUES).numbers()[1].tolist(), abs=0.006)
    assert part.page.evaluate(SIDEWAYS) == []


@pytest.mark.parametrize("width", [390, 320])
def test_on_a_phone_bars_stand_under_a_plane_that_is_alone(site, width):
    """There one drags the query onto a word: it would cover what stands at its name."""
    part = figure(site.open("chapters/five_minutes", width=width), "lookup")
    drawn, beside = (part.locator(f'[data-part="{name}"]').bounding_box() for name in ("plane", "bars"))
    assert drawn["y"] + drawn["height"] <= beside["y"] + 1
    assert not any(share.is_visible() for share in part.locator('[data-part="share"]').all())
    shown = [(name, text) for name, text, *_ in part.evaluate(BARS)]
    weights = lookup(query=(-1.3, 0.4), values=NEARER).numbers()[1].tolist()
    assert shown == [(name, f"{weight:.2f}") for name, weight in zip(NAMES, weights, strict=True)]
    assert_names_are_tall(part)
    assert part.page.evaluate(SIDEWAYS) == []


def assert_names_are_tall(part):
    sizes = part.locator('[data-part="plane"] text').evaluate_all(
        "all => all.map((one) => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a)"
    )
    assert min(sizes) >= 11.5


def test_names_stay_readable_over_lines(part):
    """Paper lies around their letters, in the colour of the page's theme."""
    plane = part.locator('[data-part="plane"] text')
    for theme in ("light", "dark"):
        part.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        looks = plane.evaluate_all(LOOKS)
        assert len(looks) > 3
        assert all(look == ["stroke", True, True] for look in looks), looks
    part.page.evaluate("document.documentElement.dataset.theme = 'light'")


def test_where_it_stands_alone_its_words_take_the_plane_and_query_and_output_are_two_things(site):
    part = figure(site.open("chapters/five_minutes"), "lookup")
    middle(part.locator('[data-part="plane"]'))  # in the window, whole
    width = part.locator('[data-part="plane"]').bounding_box()["width"]
    at = {which: middle(handle(part, which).locator("circle").first) for which in ("query", 0, 2)}
    output = middle(part.locator('[data-part="output"] circle').first)
    assert at[0][0] - at[2][0] > 0.36 * width
    assert math.dist(at["query"], output) > 0.07 * width
    # A point stops where the plane ends.
    for _ in range(12):
        handle(part, "query").press("ArrowLeft")
    assert handle(part, "query").get_attribute("aria-valuetext") == "x −2.40, y 0.40"
