"""A state that fills, in a page of the book: steps, clicks and rules against what Python computes."""

import ast

import pytest

from attnbook.widgets import StateFilling
from attnbook.widgets.state import NEW_DAY, ORDERS, RULES

from .reader import (
    assert_fits_a_thumb,
    choose,
    drag,
    figure,
    middle,
    press,
    run_copied,
    saved,
    says,
    static,
    table,
    violations,
)


@pytest.fixture(scope="module")
def bench(page_with):
    return page_with(
        StateFilling()._repr_html_(), StateFilling(rule="gate", step=7, likeness=0.3)._repr_html_()
    )


@pytest.fixture
def part(site, bench):
    return figure(site.figures(bench), "state")


def assert_shows(part, **state):
    """Hold the tables and every square of the drawing to Python's numbers."""
    expected = StateFilling(**state)
    numbers, orders = static(expected.table())
    assert table(part) == numbers
    assert table(part, "orders") == orders
    assert squares(part, "held") == pytest.approx(expected.held.flatten().tolist(), abs=6e-5)
    assert squares(part, "answer") == pytest.approx(expected.answer.tolist(), abs=6e-5)
    assert squares(part, "softmax", area=False) == pytest.approx(expected.softmax.tolist(), abs=6e-5)
    lengths = part.locator('[data-part="softmax"]').evaluate_all(
        "(all) => all.map((e) => Number(e.getAttribute('width')))"
    )
    assert lengths == pytest.approx([53 * x for x in expected.softmax.tolist()], abs=0.01)  # of a cell
    weights = expected.weights.tolist() + [0] * (len(ORDERS) - expected.step)
    assert squares(part, "weight", area=False) == pytest.approx(weights, abs=6e-5)
    assert part.locator('[data-part="error"]').is_hidden()


def squares(part, name, area=True):
    """Read what squares stand for, and hold their areas to it: 2 fills a cell."""
    found = part.locator(f'[data-part="plane"] [data-part="{name}"]').evaluate_all(
        "(all) => all.map((e) => [Number(e.dataset.value), Number(e.getAttribute('width'))])"
    )
    if area:
        full = 53.0  # cells of 56 pixels, less their frame
        assert [width for _, width in found] == pytest.approx(
            [full * (min(abs(x), 2) / 2) ** 0.5 for x, _ in found], abs=0.3
        )
    return [x for x, _ in found]


def test_it_starts_empty_and_as_python_says(site, bench):
    page = site.open(bench)
    assert_shows(figure(page, "state"))
    assert says(figure(page, "state")) == "No order has been read."
    assert_shows(figure(page, "state", 1), rule="gate", step=7, likeness=0.3)
    heights = [part.bounding_box()["height"] for part in page.locator(".attnlab-root").all()]
    assert max(heights) <= 585  # with what one predicts of it, a screen


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_at_every_order(part, rule):
    choose(part, "rule", rule)
    assert part.locator('[data-part="stays"]').is_visible() == (rule in ("gate", "both"))
    for step in range(1, 9):
        press(part, "step", "ArrowRight")
        assert_shows(part, rule=rule, step=step)
    for who in ("Bob", "Cy", "Dee"):
        choose(part, "asked", who)
        assert_shows(part, rule=rule, step=8, asked=who)
    press(part, "step", "Home")
    assert_shows(part, rule=rule, asked="Dee")


def test_sliders_by_keyboard_and_reset(part):
    press(part, "step", "End")
    press(part, "likeness", "End")
    assert_shows(part, step=8, likeness=0.8)
    choose(part, "rule", "both")
    press(part, "stays", *["ArrowLeft"] * 4)
    assert_shows(part, rule="both", step=8, likeness=0.8, stays=0.8)
    choose(part, "rule", "gate")
    assert_shows(part, rule="gate", step=8, likeness=0.8)
    part.locator('[data-part="reset"]').click()
    assert_shows(part)


def test_a_click_reads_up_to_an_order_and_a_drag_goes_along(part):
    order = part.locator('[data-part="order"]')
    order.nth(2).click()
    assert_shows(part, step=3)
    assert says(part) == "For Ann: state tea 1.00, milk 1.00; softmax tea 0.50, milk 0.50."
    drag(part.page, middle(order.nth(1)), middle(order.nth(6)), steps=12)
    assert_shows(part, step=7)


def test_the_latest_order_is_seen_where_key_and_value_meet(part):
    written = part.locator('[data-part="written"]')
    assert written.count() == 0
    press(part, "step", *["ArrowRight"] * 4)  # Dee: juice
    where = "(cell) => [Number(cell.dataset.row), Number(cell.dataset.column), Number(cell.dataset.value)]"
    assert written.evaluate_all(f"(all) => all.map({where})") == [[3, 2, 1]]
    held = part.locator('[data-part="held"][data-row="3"][data-column="2"]')
    assert middle(written) == pytest.approx(middle(held), abs=0.6)
    press(part, "likeness", "End")  # a key lies in every row
    key = StateFilling(step=4, likeness=0.8).vectors[3].tolist()
    assert written.evaluate_all(f"(all) => all.map({where})") == [
        [row, 2, pytest.approx(share, abs=6e-5)] for row, share in enumerate(key)
    ]


@pytest.mark.parametrize(("width", "cell"), [(1280, 56), (600, 30), (320, 27)])
def test_the_state_is_as_large_as_there_is_room_and_stands_beside_its_orders(site, bench, width, cell):
    part = figure(site.figures(bench, width=width), "state")
    press(part, "step", "ArrowRight")
    assert part.locator('[data-part="written"]').bounding_box()["width"] == pytest.approx(cell - 3, abs=3.1)
    orders = [one.bounding_box() for one in part.locator('[data-part="order"] rect:first-child').all()]
    held = part.locator('[data-part="held"]').first.bounding_box()
    if width == 1280:
        right = max(box["x"] + box["width"] for box in orders)
        assert held["x"] - right < 180  # what stands between is names and keys
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in orders)


def test_play_goes_to_the_end_and_a_hand_stops_it(timed, bench):
    part = timed(bench, "state")
    play, clock = part.locator('[data-part="play"]'), part.page.clock
    play.click()
    clock.run_for(1000)
    assert play.inner_text() == "Pause"
    assert_shows(part, step=2)
    press(part, "step", "ArrowRight")
    clock.run_for(5000)
    assert play.inner_text() == "Play"
    assert_shows(part, step=3)
    play.click()
    clock.run_for(8000)
    assert play.inner_text() == "Play"
    assert_shows(part, step=8)
    play.click()  # from the beginning
    clock.run_for(250)
    assert_shows(part, step=1)


def test_with_motion_an_order_fades_takes_out_and_writes(timed, bench):
    """Where the page may move, the drawing passes through what is between, and ends at the table."""
    part = timed(bench, "state", "no-preference")
    clock, order = part.page.clock, part.locator('[data-part="order"]')
    choose(part, "rule", "delta")
    press(part, "step", "ArrowRight", "ArrowRight")
    clock.run_for(2000)
    before = says(part)
    press(part, "step", "ArrowRight")  # Ann: milk instead of tea
    clock.run_for(200)
    assert says(part) == before
    tea, milk = squares(part, "held")[:2]
    assert 0 < tea < 1
    assert milk == 0
    clock.run_for(450)
    tea, milk = squares(part, "held")[:2]
    assert tea == 0
    assert 0 < milk < 1
    assert says(part) == before
    clock.run_for(1000)
    # What came of it is said when it is seen.
    assert says(part) != before
    assert_shows(part, rule="delta", step=3)
    assert order.count() == len(ORDERS)


def test_with_motion_another_rule_is_seen_to_take_out_what_it_does_not_keep(timed, bench):
    """Squares go from what one rule holds to what the other does; in a hurry, from where they stand."""
    part = timed(bench, "state", "no-preference")
    clock = part.page.clock
    press(part, "step", "ArrowRight", "ArrowRight", "ArrowRight")
    clock.run_for(2000)
    before = says(part)
    choose(part, "rule", "delta")
    clock.run_for(200)
    tea, milk = squares(part, "held")[:2]
    assert 0 < tea < 1
    assert milk == 1
    assert says(part) == before
    choose(part, "rule", "sum")
    assert squares(part, "held")[0] == tea
    choose(part, "rule", "delta")
    clock.run_for(1000)
    assert says(part) != before
    assert_shows(part, rule="delta", step=3)


@pytest.mark.parametrize("rule", RULES)
def test_copied_code_prints_the_same_answer(part, rule):
    choose(part, "rule", rule)
    press(part, "step", "End")
    press(part, "likeness", "ArrowRight", "ArrowRight")
    (line,) = run_copied(part)[0].splitlines()
    want = StateFilling(rule=rule, step=8, likeness=0.2).answer
    assert ast.literal_eval(line.removeprefix("answer ")) == pytest.approx(want.tolist(), abs=1e-9)
    assert 0 < NEW_DAY < len(ORDERS)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"rule": "fade"}, "rule must be one of sum, gate, delta, both, got fade"),
        ({"step": 9}, "step must be a whole number from 0 to 8, got 9"),
        ({"likeness": 0.9}, "likeness must be from 0 to 0.8, got 0.9"),
    ],
)
def test_a_broken_link_says_what_is_wrong_in_the_figure(site, bench, state, message):
    assert message in site.complaint(bench, "state", state)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_a_phone_does_not_scroll(site, bench, theme):
    page = site.figures(bench, theme=theme, width=320, height=700)
    part = figure(page, "state", 1)
    part.locator('[data-part="order"]').nth(3).click()
    assert violations(page) == []
    assert_fits_a_thumb(page.locator("figure"))
    heights = [part.bounding_box()["height"] for part in page.locator(".attnlab-root").all()]
    assert max(heights) <= 740


def test_the_drawing_that_is_saved_stands_alone(part):
    press(part, "step", "End")
    assert all(f">{word}</text>" in saved(part) for word in ("Ann", "juice", "query"))
