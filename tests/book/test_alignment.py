"""The alignment figure in the page of its chapter: every step against what Python computes."""

import re
from itertools import pairwise

import pytest

from attnbook.widgets import DateAlignment

from .conftest import page_of
from .reader import (
    SIDEWAYS,
    TOUCHING,
    assert_fits_a_thumb,
    choose,
    copied,
    figure,
    press,
    run_copied,
    says,
    table,
    violations,
)

PAGE = page_of("before_transformers")


@pytest.fixture(scope="module")
def bench(figures_of):
    return figures_of(PAGE)


@pytest.fixture
def part(site, bench):
    return figure(site.figures(bench), "alignment")


def assert_shows(part, text="5/3/84", score="bahdanau", step=0):
    expected = DateAlignment(text, score, step=step)
    got = table(part)
    assert [row[0] for row in got] == [c.replace(" ", "␣") for c in expected.answer[:step]]
    # The page computes in double precision, Python in single.
    for row, chance, weights in zip(got, expected.probabilities, expected.weights.tolist(), strict=True):
        assert [float(cell) for cell in row[1:]] == pytest.approx([chance, *weights], abs=1.1e-4)
    drawing = part.locator('[data-part="drawing"]')
    written = drawing.locator("[data-written]").all_text_contents()
    assert written == [row[0] for row in got]
    asks = drawing.locator("[data-asks]")
    assert asks.count() == (step > 0)
    if step:
        state = step - 1 if score == "bahdanau" else step
        assert asks.get_attribute("data-state") == str(state)
        shades = drawing.locator("rect[data-weight]").evaluate_all(
            "(cells) => cells.map((cell) => Number(cell.getAttribute('fill-opacity')))"
        )
        assert shades == pytest.approx([0.52 * w for w in expected.weights[-1].tolist()], abs=1e-3)
    assert part.locator('[data-part="error"]').is_hidden()


def test_it_starts_with_nothing_written(site, bench):
    part = figure(site.open(bench), "alignment")
    assert_shows(part)
    assert "Nothing is written yet" in says(part)


def test_step_by_step_to_the_end_and_round_again(part):
    for step in range(1, 11):
        part.locator('[data-part="next"]').click()
        assert_shows(part, step=step)
        assert f"Step {step}:" in says(part)
    assert part.locator('[data-part="next"]').inner_text() == "Start again"
    part.locator('[data-part="next"]').click()
    assert_shows(part)


def test_every_score_asks_with_its_own_state(part):
    press(part, "step", "End")
    for score in ("dot", "general", "concat", "bahdanau"):
        choose(part, "score", score)
        assert_shows(part, score=score, step=10)
        assert ("s₉ asks" if score == "bahdanau" else "h₁₀ asks") in says(part)


def test_a_date_of_ones_own(part):
    field = part.locator('[data-part="text"]')
    field.fill("The Third of May, 1984")
    press(part, "step", "End")
    assert_shows(part, text="The Third of May, 1984", step=10)
    field.fill("!!")
    assert "nothing to read" in says(part)
    field.fill("3.5.84 " * 9)
    assert "Only the first 40" in says(part)
    part.get_by_role("button", name="5/3/84", exact=True).click()
    assert_shows(part)


def test_copied_code_prints_the_answer_and_the_weights(part):
    press(part, "step", "ArrowRight", "ArrowRight")
    shown = run_copied(part)[0]
    assert shown.startswith("1984-05-03")
    weights = DateAlignment("5/3/84", step=2).weights
    found = [float(x) for x in re.findall(r"\d\.\d+(?:e-\d+)?", shown)]
    assert found == pytest.approx(weights.flatten().tolist(), abs=1e-3)


def test_a_link_brings_back_the_state_and_no_weights(part):
    choose(part, "score", "general")
    press(part, "step", "End")
    address = copied(part, "link")
    assert len(address) < 300
    part.page.goto(address)
    assert_shows(figure(part.page, "alignment"), score="general", step=10)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(site, bench, theme):
    page = site.figures(bench, theme=theme)
    press(figure(page, "alignment"), "step", "End")
    assert violations(page) == []


def test_a_phone_does_not_scroll_sideways(site, bench):
    page = site.figures(bench, width=320, height=640)
    part = figure(page, "alignment")
    press(part, "step", "End")
    assert page.evaluate(SIDEWAYS) == []
    assert_fits_a_thumb(part)


def lines(part, what):
    """How many lines these stand in: from the middle of one to that of the next is less than half a line."""
    boxes = [one.bounding_box() for one in part.locator(what).all() if one.is_visible()]
    middles = sorted(box["y"] + box["height"] / 2 for box in boxes)
    return 1 + sum(after - before > 9 for before, after in pairwise(middles))


@pytest.mark.parametrize(("width", "most"), [(1280, 540), (390, 590), (320, 640)])
def test_the_drawing_stands_first_and_what_steps_through_it_in_one_line(site, bench, width, most):
    page = site.figures(bench, width=width, height=700)
    part = figure(page, "alignment")
    drawing = part.locator('[data-part="drawing"]').bounding_box()
    assert drawing["y"] < part.locator('[data-part="next"]').bounding_box()["y"]
    assert lines(part, '.attnlab-stepped :is([data-part="next"], [data-part="step"], .attnlab-reading)') == 1
    assert lines(part, '[data-part="score"] button') == 1
    heights, called = set(), "Next character" if width > 999 else "Next"
    for score, states in (("bahdanau", "s"), ("concat", "h")):
        choose(part, "score", score)
        press(part, "step", "Home")
        assert part.locator('[data-part="next"]').inner_text() == called
        for step in range(1, 11):
            part.locator('[data-part="next"]').click()
            heights.add(part.locator(".attnlab-root").evaluate("(root) => root.offsetHeight"))
            assert part.evaluate(TOUCHING) == [], (score, step)
        assert_shows(part, score=score, step=10)
        # The name of the last state stays within its ring.
        *_, ring = part.locator("[data-state]").all()
        name = part.locator('[data-part="drawing"] text', has_text=f"{states}₁₀").bounding_box()
        around = ring.bounding_box()
        assert around["x"] <= name["x"]
        assert name["x"] + name["width"] <= around["x"] + around["width"]
    assert len(heights) == 1, heights
    assert heights.pop() <= most


@pytest.mark.parametrize(("width", "every"), [(390, 1), (320, 2)])
def test_where_names_of_states_would_be_tiny_every_second_has_one_and_who_asks(site, bench, width, every):
    part = figure(site.figures(bench, width=width, height=700), "alignment")
    for score, first, letter in (("bahdanau", 0, "s"), ("concat", 1, "h")):
        choose(part, "score", score)
        press(part, "step", "Home")
        for step in range(4):
            asks = max(step - 1, 0) + first
            named = part.locator('[data-part="drawing"] text').evaluate_all(
                "(all, letter) => all.filter((one) => one.textContent[0] === letter)"
                ".map((one) => [one.textContent.slice(1), one.getBoundingClientRect().height])",
                letter,
            )
            digits = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
            assert [int(name.translate(digits)) for name, _ in named] == [
                t for t in range(11) if t % every == 0 or t == asks
            ]
            assert min(height for _, height in named) >= (15 if width == 320 else 13)
            part.locator('[data-part="next"]').click()


def test_a_score_is_named_in_full_to_who_hears_it(site, bench):
    part = figure(site.figures(bench, width=320, height=640), "alignment")
    names = ["Bahdanau", "Luong, dot", "Luong, general", "Luong, concat"]
    for name in names:
        part.get_by_role("radio", name=name, exact=True).click()
        assert part.get_by_role("radio", checked=True).get_attribute("data-value") in name.lower()


def test_letters_keep_their_size_on_a_phone(site, bench):
    page = site.figures(bench, width=320, height=640)
    part = figure(page, "alignment")
    part.locator('[data-part="text"]').fill("the twenty-first of december, 1984")
    drawing = part.locator('[data-part="drawing"]')
    boxes = drawing.locator("rect[data-weight]").evaluate_all(
        "(cells) => cells.map((cell) => cell.getBoundingClientRect().toJSON())"
    )
    assert len(boxes) == 34
    assert min(box["width"] for box in boxes) > 16
    assert len({round(box["top"]) for box in boxes}) == 3  # rows
    letters = drawing.locator("text").evaluate_all(
        "(texts) => texts.map((text) => text.getBoundingClientRect().height)"
    )
    assert min(letters) > 10
