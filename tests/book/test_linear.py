"""Linear attention against softmax in a page of the book, against what Python computes."""

import pytest

from attnlab.widgets import LinearAgainstSoftmax

from .reader import SIDEWAYS, choose, figure, press, run_copied, says, static, table, violations


def ours(**changes):
    return LinearAgainstSoftmax(**({"map": "random", "features": 16} | changes))


@pytest.fixture(scope="module")
def bench(page_with):
    return page_with(ours()._repr_html_())


@pytest.fixture
def part(site, bench):
    return figure(site.figures(bench), "linear")


def assert_shows(part, expected):
    """Hold every cell of the four tables to Python's own, which unit tests hold to the package."""
    first, second, third = static(expected.table())
    both = table(part, "exact") + table(part, "approximate")
    assert [row[1:] for row in both] == [row[1:] for row in first]
    assert table(part) == second
    assert table(part, "cost") == third
    assert part.locator('[data-part="error"]').is_hidden()


def test_it_starts_as_python_says(site, bench):
    part = figure(site.open(bench), "linear")
    assert_shows(part, ours())
    assert "Both brackets agree to 1e-12" in says(part)


def test_maps_brackets_and_new_features(part):
    part.locator('[data-part="draw"]').click()
    assert_shows(part, ours(seed=1))
    choose(part, "order", "scores")
    assert_shows(part, ours(seed=1, order="scores"))
    choose(part, "map", "elu")
    assert_shows(part, ours(seed=1, order="scores", map="elu"))
    assert part.locator('[data-part="features"]').is_hidden()
    part.locator('[data-part="reset"]').click()
    assert_shows(part, ours())


def test_sliders_by_keyboard(part):
    wanted = {"features": 512, "sharpness": 3.0, "length": 65536, "query": 5}
    for name in wanted:
        press(part, name, "End")
    assert_shows(part, ours(**wanted))
    assert "no better than the mean of all values" in says(part)
    for name in wanted:
        press(part, name, "Home")
    assert_shows(part, ours(features=1, sharpness=0.1, length=64, query=0))


def test_bars_are_as_long_as_the_counts_and_the_status_says_how_they_compare(part):
    for length, order, words in (
        ("Home", "values", "does 4 times fewer multiplications than softmax"),
        ("End", "values", "does 4,096 times fewer multiplications than softmax"),
        ("Home", "scores", "does 1.6 times fewer multiplications than softmax"),
    ):
        press(part, "length", length)
        choose(part, "order", order)
        assert words in says(part)
        counts = [int(row[1].replace(",", "")) for row in table(part, "cost")]
        bars = part.locator('[data-part="cost"] td').evaluate_all(
            "cells => cells.map((cell) => parseFloat(getComputedStyle(cell).backgroundSize))"
        )
        assert bars == pytest.approx([100 * count / max(counts) for count in counts], abs=0.01)
    choose(part, "map", "elu")
    assert "does as many multiplications as softmax" in says(part)


@pytest.mark.parametrize("mapped", ["elu", "random"])
def test_copied_code_prints_the_same_numbers(part, mapped):
    choose(part, "map", mapped)
    orders, error = (float(line.split()[1]) for line in run_copied(part)[0].splitlines())
    assert orders < 1e-12
    assert error == pytest.approx(ours(map=mapped).compared().error, abs=1e-9)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"map": "relu"}, "map must be elu or random, got relu"),
        ({"features": 3}, "a power of two from 1 to 512"),
    ],
)
def test_a_broken_link_says_what_is_wrong_in_the_figure(site, bench, state, message):
    assert message in site.complaint(bench, "linear", state)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_a_phone_does_not_scroll(site, bench, theme):
    page = site.figures(bench, theme=theme, width=320, height=700)
    part = figure(page, "linear")
    choose(part, "order", "scores")
    assert violations(page) == []
    assert page.evaluate(SIDEWAYS) == []
