"""The figure "positions" in its page: drags, keys and shuffles against what Python computes."""

import pytest
import torch

from attnlab.widgets import PositionsLab

from .conftest import page_of
from .reader import (
    assert_fits_a_thumb,
    choose,
    drag,
    figure,
    handle,
    middle,
    number,
    run_copied,
    saved,
    says,
    table,
    violations,
)

PAGE = page_of("positional_encoding")
SCHEMES = ["none", "sinusoidal", "learned", "rotary", "alibi", "relative"]


@pytest.fixture(scope="module")
def bench(figures_of):
    return figures_of(PAGE)


@pytest.fixture
def part(site, bench):
    """The first of the page's two figures of this kind, the one without positions."""
    return figure(site.figures(bench), "positions")


def order(part):
    """Read which token stands at each place: the words are numbered where they stand twice."""
    names = PositionsLab().names()
    return [names.index(row[1]) for row in table(part)]


def assert_shown(part, expected):
    rows = table(part)
    assert [row[1] for row in rows] == [expected.names()[token] for token in expected.order]
    for row, wanted in zip(rows, expected.output.tolist(), strict=True):
        assert [number(cell) for cell in row[2:]] == pytest.approx(wanted, abs=6e-5)
    assert f"{expected.score:.2f}".replace("-", "−") in says(part)
    curve = part.locator('[data-part="curve"] tbody tr').all()
    scores = expected.scores(expected.asks, expected.answers)
    assert len(curve) == 25
    for row in (curve[2], curve[11], curve[12], curve[20]):
        cells = row.locator("th, td").all_text_contents()
        n = expected.m + int(number(cells[0]))
        if 0 <= n <= 31:
            assert number(cells[1]) == pytest.approx(float(scores[expected.m, n]), abs=6e-5)
        else:
            assert cells[1] == ""


def test_it_starts_as_python_says_and_the_two_saws_are_one(site, bench):
    part = figure(site.open(bench), "positions")
    assert_shown(part, PositionsLab())
    assert "saw₁ and saw₂ get the same output" in says(part)


def test_keys_shift_one_token_and_both(part):
    for scheme in SCHEMES:
        choose(part, "scheme", scheme)
        for which, key, times in (("query", "ArrowRight", 6), ("key", "ArrowLeft", 1), ("both", "PageUp", 2)):
            handle(part, which).focus()
            for _ in range(times):
                part.page.keyboard.press(key)
        assert_shown(part, PositionsLab(scheme, m=19, n=11))
        assert ("Shift both, and it stays" in says(part)) == (scheme not in ("sinusoidal", "learned"))
        handle(part, "both").focus()
        part.page.keyboard.press("End")
        assert_shown(part, PositionsLab(scheme, m=31, n=23))
        part.locator('[data-part="reset"]').click()
        handle(part, "both").focus()
        part.page.keyboard.press("ArrowRight")
        assert_shown(part, PositionsLab(m=4, n=3))
        part.page.keyboard.press("ArrowLeft")


def test_a_drag_shifts_both_and_rope_does_not_mind(part):
    choose(part, "scheme", "rotary")
    before = says(part).split("score ")[1]
    assert "Shift both" not in before  # the page asks what a shift does: the answer waits for one
    width = part.locator('[data-part="line"]').bounding_box()["width"]
    x, y = middle(handle(part, "both"))
    drag(part.page, (x, y), (x + width / 2, y), steps=5)
    m = int(handle(part, "query").get_attribute("aria-valuenow"))
    n = int(handle(part, "key").get_attribute("aria-valuenow"))
    assert m - n == 1
    assert 19 <= m <= 23
    assert says(part).split("score ")[1].replace(" Shift both, and it stays.", "") == before
    assert "Shift both, and it stays." in says(part)
    choose(part, "scheme", "sinusoidal")
    assert_shown(part, PositionsLab("sinusoidal", m=m, n=n))


def test_a_drag_moves_the_query_alone(part):
    choose(part, "scheme", "alibi")
    query = handle(part, "query")
    width = part.locator('[data-part="line"]').bounding_box()["width"]
    x, y = middle(query)
    drag(part.page, (x, y), (x + width * 10 * 260 / 300 / 31, y + 3))
    m = int(query.get_attribute("aria-valuenow"))
    assert abs(m - 13) <= 1
    assert_shown(part, PositionsLab("alibi", m=m))


@pytest.mark.parametrize("scheme", ["none", "rotary"])
def test_a_shuffle_shuffles_the_outputs_and_with_positions_changes_them(part, scheme):
    choose(part, "scheme", scheme)
    part.locator('[data-part="shuffle"]').click()
    now = order(part)
    assert now != [0, 1, 2, 3]
    assert_shown(part, PositionsLab(scheme, order=now))
    assert ("changed no token's output" in says(part)) == (scheme == "none")
    part.locator('[data-part="restore"]').click()
    assert order(part) == [0, 1, 2, 3]


def test_two_words_swap_by_keyboard(part):
    choose(part, "scheme", "relative")
    tokens = part.locator('[data-part="token"]')
    tokens.nth(0).focus()
    part.page.keyboard.press("Enter")
    assert tokens.nth(0).get_attribute("aria-pressed") == "true"
    tokens.nth(3).focus()
    part.page.keyboard.press("Space")
    assert order(part) == [3, 1, 2, 0]
    assert_shown(part, PositionsLab("relative", order=[3, 1, 2, 0]))


def test_copied_code_prints_the_same_numbers(part):
    handle(part, "both").focus()
    part.page.keyboard.press("PageUp")
    part.locator('[data-part="shuffle"]').click()
    for scheme in SCHEMES:
        choose(part, "scheme", scheme)
        now = PositionsLab(scheme, m=8, n=7, order=order(part))
        shown, space = run_copied(part)
        assert float(shown.splitlines()[0]) == pytest.approx(now.score, abs=6e-5)
        got = space["attention"](*space["views"](space["sentence"]), bias=space["bias"](4))
        torch.testing.assert_close(got, now.output)


def test_the_saved_drawing_stands_alone(part):
    assert "saw₁ = saw₂" in saved(part)


def test_a_broken_link_shows_an_error_and_no_blank(site, bench):
    assert "scheme must be one of none, sinusoidal" in site.complaint(bench, "positions", {"scheme": "clock"})


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(site, bench, theme):
    page = site.figures(bench, theme=theme)
    part = figure(page, "positions")
    choose(part, "scheme", "sinusoidal")
    part.locator("details:not(.attnlab-menu) > summary").click()
    part.locator('[data-part="token"]').nth(1).click()
    assert violations(page) == []


def test_a_phone_shows_it_whole_with_room_for_a_thumb(site, bench):
    page = site.figures(bench, width=320, height=700)
    part = figure(page, "positions")
    for scheme in ("sinusoidal", "rotary"):
        choose(part, "scheme", scheme)
        assert_fits_a_thumb(page.locator("#figure-positions"))
