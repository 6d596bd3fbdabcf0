"""The figure "positions" in its page: drags, keys and shuffles against what Python computes."""

import io
from contextlib import redirect_stdout

import pytest
import torch

from attnlab.widgets import PositionsLab

from .test_browser import SIDEWAYS, violations
from .test_figures import table

PAGE = "chapters/08_positional_encoding"
SCHEMES = ["none", "sinusoidal", "learned", "rotary", "alibi", "relative"]


def first(page):
    """Find the first of the page's two figures of this kind, the one without positions."""
    found = page.locator("#figure-positions")
    found.locator('[data-part="reset"]').wait_for()
    return found


@pytest.fixture
def part(site):
    return first(site.open(PAGE))


def number(cell):
    return float(cell.replace("−", "-"))


def pick(part, scheme):
    part.locator(f'[data-part="scheme"] [data-value="{scheme}"]').click()


def handle(part, which):
    return part.locator(f'[data-part="handle"][data-which="{which}"]')


def status(part):
    return part.locator('[data-part="status"]').inner_text()


def order(part):
    """Read which token stands at each place: the words are numbered where they stand twice."""
    names = PositionsLab().names()
    return [names.index(row[1]) for row in table(part)]


def assert_shown(part, expected):
    rows = table(part)
    assert [row[1] for row in rows] == [expected.names()[token] for token in expected.order]
    for row, wanted in zip(rows, expected.output.tolist(), strict=True):
        assert [number(cell) for cell in row[2:]] == pytest.approx(wanted, abs=6e-5)
    assert f"{expected.score:.2f}".replace("-", "−") in status(part)
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


def test_it_starts_as_python_says_and_the_two_saws_are_one(part):
    assert_shown(part, PositionsLab())
    assert "saw₁ and saw₂ get the same output" in status(part)


def test_keys_shift_one_token_and_both(part):
    for scheme in SCHEMES:
        pick(part, scheme)
        for which, key, times in (("query", "ArrowRight", 6), ("key", "ArrowLeft", 1), ("both", "PageUp", 2)):
            handle(part, which).focus()
            for _ in range(times):
                part.page.keyboard.press(key)
        assert_shown(part, PositionsLab(scheme, m=19, n=11))
        assert ("Shift both, and it stays" in status(part)) == (scheme not in ("sinusoidal", "learned"))
        handle(part, "both").focus()
        part.page.keyboard.press("End")
        assert_shown(part, PositionsLab(scheme, m=31, n=23))
        part.locator('[data-part="reset"]').click()
        handle(part, "both").focus()
        part.page.keyboard.press("ArrowRight")
        assert_shown(part, PositionsLab(m=4, n=3))
        part.page.keyboard.press("ArrowLeft")


def test_a_drag_shifts_both_and_rope_does_not_mind(part):
    pick(part, "rotary")
    before = status(part).split("score ")[1]
    box = part.locator('[data-part="line"]').bounding_box()
    bar = handle(part, "both")
    bar.scroll_into_view_if_needed()
    start = bar.bounding_box()
    mouse = part.page.mouse
    mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
    mouse.down()
    mouse.move(start["x"] + start["width"] / 2 + box["width"] / 2, start["y"], steps=5)
    mouse.up()
    m = int(handle(part, "query").get_attribute("aria-valuenow"))
    n = int(handle(part, "key").get_attribute("aria-valuenow"))
    assert m - n == 1
    assert 19 <= m <= 23
    assert status(part).split("score ")[1] == before
    pick(part, "sinusoidal")
    assert_shown(part, PositionsLab("sinusoidal", m=m, n=n))


def test_a_drag_moves_the_query_alone(part):
    pick(part, "alibi")
    query = handle(part, "query")
    query.scroll_into_view_if_needed()
    start, box = query.bounding_box(), part.locator('[data-part="line"]').bounding_box()
    mouse = part.page.mouse
    x, y = start["x"] + start["width"] / 2, start["y"] + start["height"] * 0.7
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + box["width"] * 10 * 260 / 300 / 31, y + 3, steps=4)
    mouse.up()
    m = int(query.get_attribute("aria-valuenow"))
    assert abs(m - 13) <= 1
    assert_shown(part, PositionsLab("alibi", m=m))


@pytest.mark.parametrize("scheme", ["none", "rotary"])
def test_a_shuffle_shuffles_the_outputs_and_with_positions_changes_them(part, scheme):
    pick(part, scheme)
    part.locator('[data-part="shuffle"]').click()
    now = order(part)
    assert now != [0, 1, 2, 3]
    assert_shown(part, PositionsLab(scheme, order=now))
    assert ("changed no token's output" in status(part)) == (scheme == "none")
    part.locator('[data-part="restore"]').click()
    assert order(part) == [0, 1, 2, 3]


def test_two_words_swap_by_keyboard(part):
    pick(part, "relative")
    tokens = part.locator('[data-part="token"]')
    tokens.nth(0).focus()
    part.page.keyboard.press("Enter")
    assert tokens.nth(0).get_attribute("aria-pressed") == "true"
    tokens.nth(3).focus()
    part.page.keyboard.press("Space")
    assert order(part) == [3, 1, 2, 0]
    assert_shown(part, PositionsLab("relative", order=[3, 1, 2, 0]))


def test_copied_code_prints_the_same_numbers(site):
    page = site.open(PAGE, permissions=["clipboard-read", "clipboard-write"])
    part = first(page)
    handle(part, "both").focus()
    page.keyboard.press("PageUp")
    part.locator('[data-part="shuffle"]').click()
    for scheme in SCHEMES:
        pick(part, scheme)
        now = PositionsLab(scheme, m=8, n=7, order=order(part))
        part.locator('[data-part="pytorch"]').click()
        page.wait_for_timeout(100)
        shown, space = io.StringIO(), {}
        with redirect_stdout(shown):
            exec(page.evaluate("navigator.clipboard.readText()"), space)
        assert float(shown.getvalue().splitlines()[0]) == pytest.approx(now.score, abs=6e-5)
        got = space["attention"](*space["views"](space["sentence"]), bias=space["bias"](4))
        torch.testing.assert_close(got, now.output)


def test_the_saved_drawing_stands_alone(part):
    with part.page.expect_download() as download:
        part.locator('[data-part="svg"]').click()
    text = download.value.path().read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert "var(" not in text
    assert "saw₁ = saw₂" in text


def test_a_broken_link_shows_an_error_and_no_blank(site):
    page = site.open(PAGE)
    page.goto(f'{page.url.split("?")[0]}?positions={{"scheme":"clock"}}')
    part = page.locator("#figure-positions")
    part.locator('[data-part="error"]').wait_for()
    assert "scheme must be one of none, sinusoidal" in part.locator('[data-part="error"]').inner_text()
    site.errors.clear()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(site, theme):
    page = site.open(PAGE, theme=theme)
    part = first(page)
    pick(part, "sinusoidal")
    part.locator("summary").click()
    part.locator('[data-part="token"]').nth(1).click()
    page.wait_for_timeout(200)
    assert violations(page) == []


def test_a_phone_shows_it_whole_with_room_for_a_thumb(site):
    page = site.open(PAGE, width=320, height=700)
    part = first(page)
    for scheme in ("sinusoidal", "rotary"):
        pick(part, scheme)
        assert page.evaluate(SIDEWAYS) == []
    for target in part.locator("button, summary, [data-part='handle']").all():
        box = target.bounding_box()
        assert min(box["width"], box["height"]) >= 24
