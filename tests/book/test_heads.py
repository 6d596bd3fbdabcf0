"""The heads workshop in the page of its chapter: every choice against what Python computes."""

import pytest

from attnlab.widgets import HeadsWorkshop
from attnlab.widgets.heads import SENTENCE

from .conftest import page_of
from .reader import SIDEWAYS, choose, copied, figure, run_copied, says, table, violations

PAGE = page_of("multi_head")


@pytest.fixture(scope="module")
def bench(figures_of):
    return figures_of(PAGE)


@pytest.fixture
def part(site, bench):
    return figure(site.figures(bench), "heads")


def assert_shows(part, **state):
    expected = HeadsWorkshop(**({"token": 2} | state))
    share = expected.heads // expected.kv_heads
    got = table(part)
    assert len(got) == expected.heads
    for head, row in enumerate(got):
        assert row[:2] == [f"head {head + 1}", str(head // share + 1)]
        want = [*expected.weights[head, expected.token].tolist(), expected.errors[head].item()]
        assert [float(cell) for cell in row[2:]] == pytest.approx(want, abs=6e-5)
    sums = {name: now for name, now, _ in table(part, "sums")}
    assert float(sums["output error"]) == pytest.approx(expected.error, abs=6e-5)
    assert float(sums["heads look alike"]) == pytest.approx(expected.overlap, abs=6e-5)
    assert sums["keys, values a token"] == str(32 // share)
    drawn = part.locator('[data-part="wires"] rect[data-weight]')
    shades = drawn.evaluate_all("(cells) => cells.map((cell) => Number(cell.getAttribute('fill-opacity')))")
    wanted = [0.52 * w for w in expected.weights[:, expected.token].flatten().tolist()]
    assert shades == pytest.approx(wanted, abs=6e-4)
    assert part.locator('[data-part="error"]').is_hidden()


def test_it_starts_as_python_says(site, bench):
    part = figure(site.open(bench), "heads")
    assert_shows(part)
    assert "Multi-head: 8 query heads" in says(part)


def test_every_way_to_share(part):
    for heads, kv_heads in ((8, 4), (8, 2), (8, 1), (4, 4), (4, 2), (2, 1), (1, 1)):
        choose(part, "heads", heads)
        choose(part, "kv", kv_heads)
        assert_shows(part, heads=heads, kv_heads=kv_heads)
        label = part.locator('[data-part="wires"]').get_attribute("aria-label")
        assert label.startswith(f"{heads} query head")
        assert f"{kv_heads} key and value head" in label
        assert part.locator('[data-part="wires"] circle').count() == heads
        assert part.locator('[data-part="wires"] rect[data-cache]').count() == 2 * kv_heads


def test_there_are_never_more_kv_heads_than_query_heads(part):
    choose(part, "heads", 2)
    assert_shows(part, heads=2, kv_heads=2)
    choose(part, "kv", 4)
    assert_shows(part, heads=4, kv_heads=4)


def test_by_keyboard(part):
    part.locator('[data-part="token"] [aria-checked="true"]').focus()
    for _ in range(2):
        part.page.keyboard.press("ArrowRight")
    assert_shows(part, token=4)
    assert SENTENCE[4] in part.locator('[data-part="numbers"] caption').text_content()
    part.locator('[data-part="kv"] [aria-checked="true"]').focus()
    part.page.keyboard.press("ArrowLeft")
    assert_shows(part, token=4, kv_heads=4)
    part.locator('[data-part="reset"]').click()
    assert_shows(part)


def test_a_link_brings_back_the_state_and_nothing_large(part):
    choose(part, "kv", 2)
    address = copied(part, "link")
    assert len(address) < 300
    part.page.goto(address)
    assert_shows(figure(part.page, "heads"), kv_heads=2)


def test_copied_code_prints_the_same_numbers(part):
    choose(part, "kv", 2)
    shown = run_copied(part)[0]
    assert float(shown.split()[-1]) == pytest.approx(HeadsWorkshop(kv_heads=2).error, abs=1e-9)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(site, bench, theme):
    page = site.figures(bench, theme=theme)
    part = figure(page, "heads")
    choose(part, "kv", 1)
    assert violations(page) == []


def test_a_phone_does_not_scroll_sideways(site, bench):
    page = site.figures(bench, width=320, height=640)
    figure(page, "heads")
    assert page.evaluate(SIDEWAYS) == []
