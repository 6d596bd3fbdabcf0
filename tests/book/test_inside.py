"""The viewer of heads in the page of its chapter: every choice against what Python computes."""

import pytest

from attnlab.widgets import HeadsViewer

from .conftest import page_of
from .reader import SIDEWAYS, SMALL, choose, copied, figure, press, says, table, violations

PAGE = page_of("real_model")
START = {"sentence": 3, "layer": 1, "head": 4, "token": 6}


@pytest.fixture(scope="module")
def bench(figures_of):
    return figures_of(PAGE)


@pytest.fixture
def part(site, bench):
    return figure(site.figures(bench), "inside")


def assert_shows(part, **state):
    state = START | state
    expected = HeadsViewer(**state)
    pieces = expected.texts[state["sentence"]]["pieces"]
    weights = expected.weights[state["token"]].tolist()
    rows = table(part)
    assert [row[0] for row in rows] == [f"{at + 1} {piece}" for at, piece in enumerate(pieces)]
    assert [float(row[1]) for row in rows] == pytest.approx(weights, abs=0.0051)
    drawn = part.locator('[data-part="lines"] path[data-weight]')
    shown = drawn.evaluate_all("(paths) => paths.map((path) => Number(path.dataset.weight))")
    assert shown == pytest.approx([w for w in weights if w >= 0.02], abs=0.0051)
    said = says(part)
    looks = f"head {state['layer']}.{state['head']}: “{pieces[state['token']]}” gives most"
    assert said == "Reset." or looks in said
    assert part.locator('[data-part="error"]').is_hidden()


def test_it_starts_as_python_says(site, bench):
    part = figure(site.open(bench), "inside")
    assert_shows(part)


def test_a_head_of_the_map_by_click(part):
    board = part.locator('[data-part="map"]')
    board.click(position={"x": 28 * 1.5, "y": 28 * 3.5})  # the encoder has a row for each layer
    assert_shows(part, layer=4, head=2)
    choose(part, "sentence", 5)
    assert_shows(part, sentence=5, layer=4, head=2)
    board.click(position={"x": 28 * 17.5, "y": 28 * 4.5})  # the decoder a column
    assert_shows(part, sentence=5, layer=18, head=5)
    choose(part, "token", 8)
    assert_shows(part, sentence=5, layer=18, head=5, token=8)
    assert "18.5: “ bread” gives most" in says(part)
    part.locator('[data-part="lines"]').click(position={"x": 60, "y": 20})  # the first word that looks
    assert table(part)[0][0] == "1  lamp"
    assert "“ lamp” gives most, 1.00, to “ lamp”" in says(part)
    choose(part, "token", 8)
    # A text of fewer layers and heads shows the last there is.
    choose(part, "sentence", 0)
    expected = HeadsViewer(0, layer=6, head=5, token=6)
    assert [float(row[1]) for row in table(part)] == pytest.approx(expected.weights[6].tolist(), abs=0.0051)


def test_by_keyboard(part):
    press(part, "layer", "End")
    press(part, "head", "ArrowLeft")
    assert_shows(part, layer=6, head=3)
    part.locator('[data-part="token"] [aria-checked="true"]').focus()
    part.page.keyboard.press("ArrowRight")
    assert_shows(part, layer=6, head=3, token=7)
    part.locator('[data-part="sentence"] [aria-checked="true"]').focus()
    part.page.keyboard.press("ArrowLeft")
    assert_shows(part, sentence=2, layer=6, head=3, token=7)
    part.locator('[data-part="reset"]').click()
    assert_shows(part)


def test_a_link_brings_back_the_state_and_no_weights(part):
    choose(part, "sentence", 4)
    press(part, "layer", "End")
    address = copied(part, "link")
    assert len(address) < 300
    part.page.goto(address)
    assert_shows(figure(part.page, "inside"), sentence=4, layer=6)


def test_copied_code_asks_for_the_same_head_of_the_same_text(part):
    code = copied(part)
    compile(code, "copied", "exec")
    assert 'text = "i like sushi because it makes me happy ."' in code
    assert "weights[0, 3, 6]" in code
    choose(part, "sentence", 5)
    assert "load_smollm2()" in copied(part)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(site, bench, theme):
    page = site.figures(bench, theme=theme)
    part = figure(page, "inside")
    choose(part, "sentence", 5)
    assert violations(page) == []


def test_a_phone_does_not_scroll_sideways(site, bench):
    page = site.figures(bench, width=320, height=640)
    figure(page, "inside")
    assert page.evaluate(SIDEWAYS) == []
    assert page.locator('figure[data-attnlab="inside"]').evaluate_all(SMALL) == []
