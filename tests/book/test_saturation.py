"""Temperature and √d in a page of the book: drags, keys and sliders against what Python computes."""

import io
import json
import re
from contextlib import redirect_stdout

import pytest

from attnlab.widgets import Saturation
from attnlab.widgets.saturation import measure

from .conftest import toc_pages
from .test_browser import SIDEWAYS, violations
from .test_figures import after_title, table

ROW = [1.5, 0.25, -0.5, 0.8]
NAMES = ["I", "saw", "a", "duck"]


def ours(**changes):
    return Saturation(**({"scores": ROW, "names": NAMES, "d_k": 64} | changes))


@pytest.fixture(scope="module")
def bench(book):
    """A page of the book with the figure twice below its title: with samples, and with a row of its own."""
    page = (book / f"{toc_pages()[-1]}.html").read_text(encoding="utf-8")
    title = after_title(page)
    figures = Saturation(d_k=256, scaled=False)._repr_html_() + ours()._repr_html_()
    name = "chapters/bench_saturation"
    (book / f"{name}.html").write_text(page[:title] + figures + page[title:], encoding="utf-8")
    yield name
    (book / f"{name}.html").unlink()


def nth(page, at):
    found = page.locator('figure[data-attnlab="saturation"]').nth(at)
    found.locator('[data-part="reset"]').wait_for()
    return found


@pytest.fixture
def part(site, bench):
    return nth(site.open(bench), 1)


def rows_of(part, name):
    rows = part.locator(f'[data-part="{name}"] tbody tr').all()
    return [row.locator("th, td").all_text_contents() for row in rows]


def assert_shows(part, expected):
    """Hold every cell of both tables to Python's own table, which unit tests hold to torch."""
    rows = table(part)
    assert [row[0] for row in rows] == expected.names
    got = measure(expected.row / expected.temperature)
    for row, *want in zip(rows, expected.row, got.weights, got.slopes, strict=True):
        assert [float(cell) for cell in row[1:]] == pytest.approx(
            [x.item() for x in want], abs=6e-5, rel=0.05
        )
    measures = rows_of(part, "measures")
    static = re.findall(r"<td>(.*?)</td>", expected.table().split("<tbody>")[2])
    assert [cell for row in measures for cell in row[1:]] == static
    assert part.locator('[data-part="error"]').is_hidden()


def test_it_starts_as_python_says(site, bench):
    page = site.open(bench)
    assert_shows(nth(page, 0), Saturation(d_k=256, scaled=False))
    assert_shows(nth(page, 1), ours())
    assert "open" in nth(page, 1).locator('[data-part="status"]').inner_text()


def test_without_the_scale_a_wide_row_saturates(part):
    width = part.locator('[data-part="width"]')
    width.focus()
    for d_k in (128, 256, 512, 1024):
        part.page.keyboard.press("ArrowRight")
        assert_shows(part, ours(d_k=d_k))
    part.locator('[data-part="scale"] [data-value="off"]').click()
    assert_shows(part, ours(d_k=1024, scaled=False))
    assert "saturated, next to no gradient" in part.locator('[data-part="status"]').inner_text()
    width.focus()
    part.page.keyboard.press("Home")
    assert_shows(part, ours(d_k=1, scaled=False))


def test_the_temperature_by_keyboard(part):
    part.locator('[data-part="temperature"]').focus()
    part.page.keyboard.press("Home")
    assert_shows(part, ours(temperature=0.01))
    part.page.keyboard.press("End")
    assert_shows(part, ours(temperature=100.0))
    assert "nearly uniform" in part.locator('[data-part="status"]').inner_text()


def test_keys_move_a_score_and_reset_brings_it_back(part):
    part.locator('[data-part="handle"][data-which="2"]').focus()
    for key in ("ArrowUp", "ArrowUp", "PageDown"):
        part.page.keyboard.press(key)
    assert_shows(part, ours(scores=[1.5, 0.25, -1.3, 0.8]))
    part.page.keyboard.press("End")
    assert_shows(part, ours(scores=[1.5, 0.25, 4.0, 0.8]))
    part.locator('[data-part="reset"]').click()
    assert_shows(part, ours())


def test_a_drag_moves_a_score(part):
    handle = part.locator('[data-part="handle"][data-which="1"]')
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    mouse, x = part.page.mouse, box["x"] + box["width"] / 2
    mouse.move(x, box["y"] + box["height"] / 2)
    mouse.down()
    mouse.move(x, box["y"] - 40, steps=4)
    mouse.up()
    score = float(table(part)[1][1])
    assert score == 4.0
    assert_shows(part, ours(scores=[1.5, score, -0.5, 0.8]))


def test_new_samples_are_those_of_the_next_seed_and_can_be_changed(site, bench):
    part = nth(site.open(bench), 0)
    part.locator('[data-part="draw"]').click()
    expected = Saturation(d_k=256, scaled=False, seed=1)
    assert_shows(part, expected)
    part.locator('[data-part="handle"][data-which="0"]').focus()
    part.page.keyboard.press("Home")
    scaled = [min(max(round(x / 16, 2), -4), 4) for x in expected.row.tolist()]
    assert_shows(part, Saturation([-4.0, *scaled[1:]], d_k=256, scaled=False, seed=1))


@pytest.mark.parametrize("scaled", [True, False])
def test_copied_code_prints_the_same_numbers(site, bench, scaled):
    page = site.open(bench, permissions=["clipboard-read", "clipboard-write"])
    part = nth(page, 1)
    part.locator(f'[data-part="scale"] [data-value="{"on" if scaled else "off"}"]').click()
    part.locator('[data-part="pytorch"]').click()
    page.wait_for_timeout(100)
    shown = io.StringIO()
    with redirect_stdout(shown):
        exec(page.evaluate("navigator.clipboard.readText()"), {})
    first, second = shown.getvalue().strip().splitlines()
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
    page = site.open(bench)
    page.goto(f"{page.url}?saturation-2={json.dumps(state)}")
    error = nth(page, 1).locator('[data-part="error"]')
    assert message in error.inner_text()
    site.errors.clear()  # the figure also warns on the console, as it should


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_a_phone_does_not_scroll(site, bench, theme):
    page = site.open(bench, theme=theme, width=320, height=700)
    part = nth(page, 1)
    part.locator('[data-part="scale"] [data-value="off"]').click()
    part.locator('[data-part="handle"][data-which="1"]').focus()
    assert violations(page) == []
    assert page.evaluate(SIDEWAYS) == []
    small = page.evaluate(
        """[...document.querySelectorAll('[data-figure="saturation"] :is(button, input, [role=slider])')]
        .map((e) => e.getBoundingClientRect()).filter((b) => b.width < 24 || b.height < 24).length"""
    )
    assert small == 0


def test_the_drawing_that_is_saved_stands_alone(part):
    with part.page.expect_download() as saved:
        part.locator('[data-part="svg"]').click()
    text = saved.value.path().read_text()
    assert text.startswith("<svg")
    assert "var(" not in text
