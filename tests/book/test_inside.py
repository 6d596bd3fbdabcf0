"""The viewer of heads in the page of its chapter: every choice against what Python computes."""

import pytest

from attnbook.widgets import HeadsViewer

from .conftest import page_of
from .reader import SIDEWAYS, SMALL, copied, drag, figure, press, says, table, violations

PAGE = page_of("real_model")
START = {"sentence": 3, "layer": 4, "head": 2, "token": 6}

CELLS = """(shades) => shades.map((one) => (one.getAttribute("d").match(/M/g) ?? []).length)"""
"""How many cells of a head have which shade."""
MARKED = """(svg, n) => {
  const row = svg.querySelector("[data-asks]").getBBox(), size = row.height;
  const cells = [...svg.querySelectorAll("[data-cells]")].flatMap((one) =>
    [...one.getAttribute("d").matchAll(/M([-.\\d]+) ([-.\\d]+)/g)]);
  return cells.filter(([, , y]) => Math.abs(y - row.y) < size / 4)
    .map(([, x]) => Math.round((x - row.x - 1) / size)).sort((a, b) => a - b);
}"""
"""The columns that have ink in the row that the large head marks."""


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
    # The picked head once more, large: as in its square of the map, with the row of what looks marked.
    large = part.locator('[data-part="lines"] [data-cells]').evaluate_all(CELLS)
    name = f"{state['layer']}.{state['head']}"
    assert large == part.locator(f'[data-part="map"] [data-head="{name}"]').evaluate_all(CELLS)
    row = [weights[at] >= 0.1 for at in range(len(pieces))]
    assert part.locator('[data-part="lines"]').evaluate(MARKED, len(pieces)) == [
        at for at, on in enumerate(row) if on
    ]
    assert part.locator('[data-part="error"]').is_hidden()


def choose(part, sentence):
    """Choose a text of the list."""
    part.locator('[data-part="sentence"]').select_option(str(sentence))


def of_map(part, row, column):
    """Where a square of the map stands in the window, from its top left corner."""
    board = part.locator('[data-part="map"]')
    board.scroll_into_view_if_needed()
    box = board.bounding_box()
    size = box["height"] / board.evaluate("(svg) => svg.viewBox.baseVal.height / 32")
    return box["x"] + (column + 0.5) * size, box["y"] + (row + 0.5) * size


def of_lines(part, piece):
    """Where a piece that looks stands in the window."""
    lines = part.locator('[data-part="lines"]')
    lines.scroll_into_view_if_needed()
    names = lines.locator('text[text-anchor="end"]')
    box = names.nth(piece).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def now(part):
    """Read the numbers of the map's rim that stand out: of the column, of the row."""
    return part.locator(".attnlab-map .is-now").all_inner_texts()


def test_it_starts_as_python_says(site, bench):
    part = figure(site.open(bench), "inside")
    assert_shows(part)
    # Orange is a key, blue a weight: the frame of what is picked is dark.
    frame = part.locator('[data-part="map"] [data-chosen]')
    look = "(e, what) => getComputedStyle(e)[what]"
    assert frame.evaluate(look, "stroke") == part.locator(".attnlab-root").evaluate(look, "color")


def test_a_head_of_the_map_by_click(part):
    mouse = part.page.mouse
    mouse.click(*of_map(part, 1, 8))  # the encoder has a row for each layer
    assert_shows(part, layer=2, head=9)
    mouse.click(*of_map(part, 3, 1))
    assert_shows(part, layer=4, head=2)
    assert now(part) == ["2", "4"]
    choose(part, 5)
    assert_shows(part, sentence=5, layer=4, head=2)
    press(part, "layer", *["ArrowRight"] * 16)  # the strip goes along
    mouse.click(*of_map(part, 4, 17))  # the decoder a column
    assert_shows(part, sentence=5, layer=18, head=5)
    assert now(part) == ["18", "5"]
    mouse.click(*of_lines(part, 8))
    assert_shows(part, sentence=5, layer=18, head=5, token=8)
    assert "18.5: “ bread” gives most" in says(part)
    mouse.click(*of_lines(part, 0))  # the first word that looks
    assert table(part)[0][0] == "1  lamp"
    assert "“ lamp” gives most, 1.00, to “ lamp”" in says(part)
    mouse.click(*of_lines(part, 8))
    # A text of fewer layers and heads shows the last there is.
    choose(part, 0)
    expected = HeadsViewer(0, layer=6, head=5, token=6)
    assert [float(row[1]) for row in table(part)] == pytest.approx(expected.weights[6].tolist(), abs=0.0051)


def test_with_the_button_down_the_choice_goes_along(part):
    drag(part.page, of_map(part, 3, 1), of_map(part, 1, 8), steps=9)
    assert_shows(part, layer=2, head=9)
    drag(part.page, of_lines(part, 6), of_lines(part, 2), steps=9)
    assert_shows(part, layer=2, head=9, token=2)
    large = part.locator('[data-part="lines"] rect:not([data-key])').bounding_box()
    part.page.mouse.click(large["x"] + 30, large["y"] + large["height"] * 9.5 / 12)  # a row of the large head
    assert_shows(part, layer=2, head=9, token=9)


def test_by_keyboard(part):
    press(part, "layer", "End")
    press(part, "head", "ArrowLeft")
    assert_shows(part, layer=6, head=1)
    press(part, "lines", "ArrowDown")
    assert_shows(part, layer=6, head=1, token=7)
    lines = part.locator('[data-part="lines"]')
    assert lines.get_attribute("aria-valuenow") == "8"
    assert lines.get_attribute("aria-valuetext").startswith("makes: ")
    for key, token in (("End", 11), ("ArrowDown", 11), ("Home", 0), ("ArrowUp", 0), ("ArrowRight", 1)):
        press(part, "lines", key)
        assert_shows(part, layer=6, head=1, token=token)
    press(part, "sentence", "ArrowUp")
    assert_shows(part, sentence=2, layer=6, head=1, token=1)
    part.locator('[data-part="reset"]').click()
    assert_shows(part)
    part.locator('[data-part="undo"]').click()
    assert_shows(part, sentence=2, layer=6, head=1, token=1)


def test_the_texts_of_a_model_stand_below_its_name(part):
    groups = part.locator("optgroup")
    labels = groups.evaluate_all("(all) => all.map((one) => [one.label, one.children.length])")
    assert labels == [["all-MiniLM-L6-v2", 5], ["SmolLM2-135M-Instruct", 1]]


def test_a_link_brings_back_the_state_and_no_weights(part):
    choose(part, 4)
    press(part, "layer", "End")
    address = copied(part, "link")
    assert len(address) < 300
    part.page.goto(address)
    assert_shows(figure(part.page, "inside"), sentence=4, layer=6)


def test_copied_code_asks_for_the_same_head_of_the_same_text(part):
    code = copied(part)
    compile(code, "copied", "exec")
    assert 'text = "i like sushi because it makes me happy ."' in code
    assert "weights[3, 1, 6]" in code
    choose(part, 5)
    assert "load_smollm2()" in copied(part)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(site, bench, theme):
    page = site.figures(bench, theme=theme)
    part = figure(page, "inside")
    choose(part, 5)
    assert violations(page) == []


def test_a_phone_does_not_scroll_sideways(site, bench):
    page = site.figures(bench, width=320, height=640)
    part = figure(page, "inside")
    assert part.locator(".attnlab-root").bounding_box()["height"] <= 720
    assert part.locator('[data-part="lines"]').bounding_box()["height"] >= 12 * 24  # a thumb finds a word
    assert part.locator('[data-part="lines"] [data-asks]').count() == 0
    assert page.evaluate(SIDEWAYS) == []
    assert page.locator('figure[data-attnlab="inside"]').evaluate_all(SMALL) == []


def test_it_is_seen_at_once(part):
    for sentence in (3, 4, 5):
        choose(part, sentence)
        assert part.locator(".attnlab-root").bounding_box()["height"] <= 570
