"""Sparse patterns in a page of the book: choices, sliders and a click against what Python computes."""

import pytest

from attnlab.widgets import SparsePatterns

from .reader import SIDEWAYS, choose, figure, middle, press, run_copied, says, static, table, violations


def ours(kind="strided", **changes):
    return SparsePatterns(kind, **({"n": 25, "width": 5, "depth": 2} | changes))


@pytest.fixture(scope="module")
def bench(page_with):
    return page_with(ours()._repr_html_())


@pytest.fixture
def part(site, bench):
    return figure(site.figures(bench), "patterns")


def assert_shows(part, expected):
    """Hold every cell, and the number of drawn cells, to Python's mask and its powers."""
    assert table(part) == static(expected.table())[0]
    pale, solid = (
        path.get_attribute("d").count("M") for path in part.locator("[data-part=plane] path").all()
    )
    one, deep = (int(expected.reach(depth).sum()) for depth in (1, expected.depth))
    assert (solid, pale) == (one, deep - one)
    assert f"{one} scores in a layer" in part.locator('[data-part="counters"]').inner_text()
    assert part.locator('[data-part="error"]').is_hidden()


def test_it_starts_as_python_says(site, bench):
    part = figure(site.open(bench), "patterns")
    assert_shows(part, ours())
    assert "Everyone is reached after 2" in says(part)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("kind", ["window", "fixed", "mixed"])
def test_every_pattern(part, kind, causal):
    choose(part, "kind", kind)
    choose(part, "causal", "yes" if causal else "no")
    assert_shows(part, ours(kind, causal=causal))
    assert part.locator('[data-part="globals"]').is_visible() == (kind == "mixed")


def test_sliders_by_keyboard(part):
    choose(part, "kind", "mixed")
    wanted = {"width": 6, "globals": 2, "random": 2, "depth": 3, "query": 23}
    for name, key in (
        ("width", "Right"),
        ("globals", "Right"),
        ("random", "Right"),
        ("depth", "Right"),
        ("query", "Left"),
    ):
        press(part, name, f"Arrow{key}")
    assert_shows(part, ours("mixed", **wanted))
    part.locator('[data-part="reset"]').click()
    assert_shows(part, ours())


def test_a_click_picks_the_token_of_its_row(part):
    plane = part.locator('[data-part="plane"]')
    middle(plane)  # in the window
    box = plane.bounding_box()
    for row in (0, 9, 23):  # near the top and near the bottom of a row
        for within in (0.2, 0.8):
            part.page.mouse.click(box["x"] + 20, box["y"] + box["height"] * (row + within) / 25)
            assert_shows(part, ours(query=row))


def test_the_token_follows_a_drag_and_stays_when_let_go(part):
    plane = part.locator('[data-part="plane"]')
    middle(plane)
    box = plane.bounding_box()

    def at(row):
        return box["x"] + 20, box["y"] + box["height"] * row / 25

    mouse = part.page.mouse
    mouse.move(*at(3.5))
    mouse.down()
    mouse.move(*at(17.5), steps=3)
    assert_shows(part, ours(query=17))
    mouse.move(*at(26))  # below the drawing: the last row
    assert_shows(part, ours())
    mouse.up()
    mouse.move(*at(5.5))
    assert_shows(part, ours())


def test_the_row_of_the_chosen_depth_is_marked(part):
    for depth in (2, 3):
        current = part.locator('[data-part="numbers"] tr[aria-current="true"]')
        assert [row.locator("th").inner_text() for row in current.all()] == [str(depth)]
        assert current.locator("td").first.evaluate("el => getComputedStyle(el).fontWeight") == "700"
        press(part, "depth", "ArrowRight")


def test_on_a_phone_the_sliders_have_room_and_the_table_is_whole(site, bench):
    part = figure(site.figures(bench, width=320, height=700), "patterns")
    choose(part, "causal", "no")
    for name in ("width", "depth", "query"):
        assert part.locator(f'[data-part="{name}"]').bounding_box()["width"] > 120
    assert part.locator(".attnlab-scroll").evaluate("el => el.scrollWidth - el.clientWidth") <= 0


@pytest.mark.parametrize("kind", ["strided", "mixed"])
def test_copied_code_prints_the_same_numbers(part, kind):
    choose(part, "kind", kind)
    got = [[int(x) for x in line.split()] for line in run_copied(part)[0].splitlines()]
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
    assert message in site.complaint(bench, "patterns", state)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_a_phone_does_not_scroll(site, bench, theme):
    page = site.figures(bench, theme=theme, width=320, height=700)
    part = figure(page, "patterns")
    choose(part, "kind", "mixed")
    assert violations(page) == []
    assert page.evaluate(SIDEWAYS) == []
