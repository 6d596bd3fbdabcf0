"""Linear attention against softmax in a page of the book, against what Python computes."""

import html
import io
import json
import re
from contextlib import redirect_stdout

import pytest

from attnlab.widgets import LinearAgainstSoftmax

from .conftest import toc_pages
from .test_browser import SIDEWAYS, violations
from .test_figures import after_title, figure


def ours(**changes):
    return LinearAgainstSoftmax(**({"map": "random", "features": 16} | changes))


@pytest.fixture(scope="module")
def bench(book):
    """A page of the book with the figure below its title, whatever the chapters show."""
    page = (book / f"{toc_pages()[-1]}.html").read_text(encoding="utf-8")
    title = after_title(page)
    name = "chapters/bench_linear"
    (book / f"{name}.html").write_text(page[:title] + ours()._repr_html_() + page[title:], encoding="utf-8")
    yield name
    (book / f"{name}.html").unlink()


@pytest.fixture
def part(site, bench):
    return figure(site.open(bench), "linear")


def cells(part, name):
    rows = part.locator(f'[data-part="{name}"] tbody tr').all()
    return [row.locator("th, td").all_text_contents() for row in rows]


def assert_shows(part, expected):
    """Hold every cell of the four tables to Python's own, which unit tests hold to the package."""
    first, second, third = (
        [
            [html.unescape(cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)]
            for row in re.findall(r"<tr>(.*?)</tr>", body)
        ]
        for body in re.findall(r"<tbody>(.*?)</tbody>", expected.table())
    )
    both = cells(part, "exact") + cells(part, "approximate")
    assert [row[1:] for row in both] == [row[1:] for row in first]
    assert cells(part, "numbers") == second
    assert cells(part, "cost") == third
    assert part.locator('[data-part="error"]').is_hidden()


def test_it_starts_as_python_says(part):
    assert_shows(part, ours())
    assert "Both brackets agree to 1e-12" in part.locator('[data-part="status"]').inner_text()


def test_maps_brackets_and_new_features(part):
    part.locator('[data-part="draw"]').click()
    assert_shows(part, ours(seed=1))
    part.locator('[data-part="order"] [data-value="scores"]').click()
    assert_shows(part, ours(seed=1, order="scores"))
    part.locator('[data-part="map"] [data-value="elu"]').click()
    assert_shows(part, ours(seed=1, order="scores", map="elu"))
    assert part.locator('[data-part="features"]').is_hidden()
    part.locator('[data-part="reset"]').click()
    assert_shows(part, ours())


def test_sliders_by_keyboard(part):
    wanted = {"features": 512, "sharpness": 3.0, "length": 65536, "query": 5}
    for name in wanted:
        part.locator(f'[data-part="{name}"]').focus()
        part.page.keyboard.press("End")
    assert_shows(part, ours(**wanted))
    assert "no better than the mean of all values" in part.locator('[data-part="status"]').inner_text()
    for name in wanted:
        part.locator(f'[data-part="{name}"]').focus()
        part.page.keyboard.press("Home")
    assert_shows(part, ours(features=1, sharpness=0.1, length=64, query=0))


@pytest.mark.parametrize("mapped", ["elu", "random"])
def test_copied_code_prints_the_same_numbers(site, bench, mapped):
    page = site.open(bench, permissions=["clipboard-read", "clipboard-write"])
    part = figure(page, "linear")
    part.locator(f'[data-part="map"] [data-value="{mapped}"]').click()
    part.locator('[data-part="pytorch"]').click()
    page.wait_for_timeout(100)
    shown = io.StringIO()
    with redirect_stdout(shown):
        exec(page.evaluate("navigator.clipboard.readText()"), {})
    orders, error = (float(line.split()[1]) for line in shown.getvalue().strip().splitlines())
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
    page = site.open(bench)
    page.goto(f"{page.url}?linear={json.dumps(state)}")
    assert message in figure(page, "linear").locator('[data-part="error"]').inner_text()
    site.errors.clear()  # the figure also warns on the console, as it should


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_a_phone_does_not_scroll(site, bench, theme):
    page = site.open(bench, theme=theme, width=320, height=700)
    part = figure(page, "linear")
    part.locator('[data-part="order"] [data-value="scores"]').click()
    assert violations(page) == []
    assert page.evaluate(SIDEWAYS) == []
