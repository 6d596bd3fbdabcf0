"""Sparse patterns in a page of the book: choices, sliders and a click against what Python computes."""

import io
import json
import re
from contextlib import redirect_stdout

import pytest

from attnlab.widgets import SparsePatterns

from .conftest import toc_pages
from .test_browser import SIDEWAYS, violations
from .test_figures import after_title, figure, table


def ours(kind="strided", **changes):
    return SparsePatterns(kind, **({"n": 25, "width": 5, "depth": 2} | changes))


@pytest.fixture(scope="module")
def bench(book):
    """A page of the book with the figure below its title, whatever the chapters show."""
    page = (book / f"{toc_pages()[-1]}.html").read_text(encoding="utf-8")
    title = after_title(page)
    name = "chapters/bench_patterns"
    (book / f"{name}.html").write_text(page[:title] + ours()._repr_html_() + page[title:], encoding="utf-8")
    yield name
    (book / f"{name}.html").unlink()


@pytest.fixture
def part(site, bench):
    return figure(site.open(bench), "patterns")


def assert_shows(part, expected):
    """Hold every cell, and the number of drawn cells, to Python's mask and its powers."""
    static = [
        re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)
        for row in re.findall(r"<tr>(.*?)</tr>", expected.table().split("<tbody>")[1])
    ]
    assert table(part) == static
    pale, solid = (
        path.get_attribute("d").count("M") for path in part.locator("[data-part=plane] path").all()
    )
    one, deep = (int(expected.reach(depth).sum()) for depth in (1, expected.depth))
    assert (solid, pale) == (one, deep - one)
    assert f"{one} scores in a layer" in part.locator('[data-part="counters"]').inner_text()
    assert part.locator('[data-part="error"]').is_hidden()


def test_it_starts_as_python_says(part):
    assert_shows(part, ours())
    assert "Everyone is reached after 2" in part.locator('[data-part="status"]').inner_text()


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("kind", ["window", "fixed", "mixed"])
def test_every_pattern(part, kind, causal):
    part.locator(f'[data-part="kind"] [data-value="{kind}"]').click()
    part.locator(f'[data-part="causal"] [data-value="{"yes" if causal else "no"}"]').click()
    assert_shows(part, ours(kind, causal=causal))
    assert part.locator('[data-part="globals"]').is_visible() == (kind == "mixed")


def test_sliders_by_keyboard(part):
    part.locator('[data-part="kind"] [data-value="mixed"]').click()
    wanted = {"width": 6, "globals": 2, "random": 2, "depth": 3, "query": 23}
    for name, key in (
        ("width", "Right"),
        ("globals", "Right"),
        ("random", "Right"),
        ("depth", "Right"),
        ("query", "Left"),
    ):
        part.locator(f'[data-part="{name}"]').focus()
        part.page.keyboard.press(f"Arrow{key}")
    assert_shows(part, ours("mixed", **wanted))
    part.locator('[data-part="reset"]').click()
    assert_shows(part, ours())


def test_a_click_or_a_drag_picks_the_token_of_its_row(part):
    plane = part.locator('[data-part="plane"]')
    plane.scroll_into_view_if_needed()
    box = plane.bounding_box()

    def at(row):
        return box["x"] + 20, box["y"] + box["height"] * row / 25

    for row in (0.2, 9.5, 12.5, 20.2, 23.8, 24.9):
        part.page.mouse.click(*at(row))
        assert_shows(part, ours(query=int(row)))
    part.page.mouse.move(*at(3.5))
    part.page.mouse.down()
    part.page.mouse.move(*at(17.5), steps=3)
    assert_shows(part, ours(query=17))
    part.page.mouse.move(*at(40))  # below the figure: the last row
    part.page.mouse.up()
    assert_shows(part, ours())
    part.page.mouse.move(*at(5.5))  # let go: nothing follows any more
    assert_shows(part, ours())


def test_the_row_of_the_chosen_depth_is_marked(part):
    for depth in (2, 3):
        current = part.locator('[data-part="numbers"] tr[aria-current="true"]')
        assert [row.locator("th").inner_text() for row in current.all()] == [str(depth)]
        assert current.locator("td").first.evaluate("el => getComputedStyle(el).fontWeight") == "700"
        part.locator('[data-part="depth"]').focus()
        part.page.keyboard.press("ArrowRight")


def test_on_a_phone_a_slider_has_room_and_the_table_is_whole(site, bench):
    part = figure(site.open(bench, width=320, height=700), "patterns")
    for name in ("width", "depth", "query"):
        assert part.locator(f'[data-part="{name}"]').bounding_box()["width"] > 120
    wide = part.locator(".attnlab-scroll").evaluate("el => el.scrollWidth - el.clientWidth")
    assert wide <= 0


@pytest.mark.parametrize("kind", ["strided", "mixed"])
def test_copied_code_prints_the_same_numbers(site, bench, kind):
    page = site.open(bench, permissions=["clipboard-read", "clipboard-write"])
    part = figure(page, "patterns")
    part.locator(f'[data-part="kind"] [data-value="{kind}"]').click()
    part.locator('[data-part="pytorch"]').click()
    page.wait_for_timeout(100)
    shown = io.StringIO()
    with redirect_stdout(shown):
        exec(page.evaluate("navigator.clipboard.readText()"), {})
    got = [[int(x) for x in line.split()] for line in shown.getvalue().strip().splitlines()]
    reach = [ours(kind).reach(depth) for depth in (1, 2)]
    assert got == [[depth, int(r[24].sum()), int(r.sum())] for depth, r in enumerate(reach, start=1)]


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"kind": "ring"}, "kind must be one of window"),
        ({"width": 99}, "width must be a whole number from 1 to 12"),
    ],
)
def test_a_broken_link_says_what_is_wrong_in_the_figure(site, bench, state, message):
    page = site.open(bench)
    page.goto(f"{page.url}?patterns={json.dumps(state)}")
    assert message in figure(page, "patterns").locator('[data-part="error"]').inner_text()
    site.errors.clear()  # the figure also warns on the console, as it should


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_a_phone_does_not_scroll(site, bench, theme):
    page = site.open(bench, theme=theme, width=320, height=700)
    part = figure(page, "patterns")
    part.locator('[data-part="kind"] [data-value="mixed"]').click()
    assert violations(page) == []
    assert page.evaluate(SIDEWAYS) == []
