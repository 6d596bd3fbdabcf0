"""The heads workshop in the page of its chapter: every choice against what Python computes."""

import pytest
import torch

from attnbook.widgets import HeadsWorkshop
from attnbook.widgets.heads import SENTENCE

from .conftest import page_of
from .reader import (
    SIDEWAYS,
    TOUCHING,
    assert_fits_a_thumb,
    choose,
    copied,
    figure,
    number,
    run_copied,
    saved,
    says,
    table,
    violations,
)

PAGE = page_of("multi_head")
FAINT = 'path[stroke="var(--fig-quiet)"]:not([stroke-dasharray])'


@pytest.fixture(scope="module")
def bench(figures_of):
    return figures_of(PAGE)


@pytest.fixture
def sums(site, bench):
    return figure(site.figures(bench), "heads")


@pytest.fixture
def shares(site, bench):
    return figure(site.figures(bench), "heads", 1)


def head(part, which):
    return part.locator(f'[data-part="head"][data-head="{which}"]')


def read(part, name, *keys):
    """Read what the drawing's parts of a name stand for."""
    found = part.locator(f'[data-part="plane"] {name}')
    return found.evaluate_all(
        "(all, keys) => all.map((e) => keys.map((k) => Number(e.dataset[k])))", list(keys)
    )


def assert_drawn(part, weights, least=0.0, arc="path[data-weight]"):
    """One arc for each head and word of weight enough, as wide as its weight."""
    wanted = weights.flatten()
    wanted = wanted[wanted >= least]
    assert [w for (w,) in read(part, arc, "weight")] == pytest.approx(wanted.tolist(), abs=6e-5)
    widths = part.locator(arc).evaluate_all("(all) => all.map((e) => +e.getAttribute('stroke-width'))")
    assert widths == pytest.approx((max(widths) / wanted.max() * wanted).tolist(), abs=0.02)
    assert part.locator('[data-part="error"]').is_hidden()


def assert_sums(part, large=None, **state):
    """`large`: the head that is drawn large."""
    expected = HeadsWorkshop(**({"token": 2} | state))
    assert_drawn(part, expected.weights[:, expected.token], 0.1, '[data-part="head"] path[data-weight]')
    if large:
        assert_drawn(
            part, expected.weights[large - 1, expected.token], arc='[data-part="picked"] path[data-weight]'
        )
        said = part.locator('[data-part="picked"] text').first.text_content()
        assert said == f"Head {large}" + ", off" * (large in expected.off)
        assert part.locator(".is-picked").evaluate_all("(all) => all.map((e) => e.dataset.head)") == [
            str(large)
        ]
    looks = [[float(cell) for cell in row[1:]] for row in table(part)]
    assert torch.allclose(torch.tensor(looks).double(), expected.weights[:, expected.token], atol=6e-5)
    *parts, total = table(part, "parts")
    on = [at not in expected.off for at in range(1, 9)]
    assert [row[1] == "on" for row in parts] == on
    mine = expected.parts[:, expected.token]
    assert torch.allclose(
        torch.tensor([[number(x) for x in row[2:]] for row in parts]).double(), mine, atol=6e-5
    )
    output = expected.output[expected.token].tolist()
    assert [number(cell) for cell in total[2:]] == pytest.approx(output, abs=6e-5)
    switches = part.get_by_role("switch")
    assert [one == "true" for one in switches.evaluate_all("(all) => all.map((e) => e.ariaChecked)")] == on
    # The drawing: each head's piece of each bar, as long as its part or nothing, and the mark of their sum.
    pieces = read(part, '[data-part="piece"]', "head", "number", "amount")
    assert [(h, c) for h, c, _ in pieces] == [(h, c) for c in range(4) for h in range(1, 9)]
    wanted = [mine[h - 1, c].item() * on[h - 1] for c in range(4) for h in range(1, 9)]
    assert [amount for *_, amount in pieces] == pytest.approx(wanted, abs=6e-5)
    widths = part.locator('[data-part="piece"] rect').evaluate_all(
        "(all) => all.map((e) => +e.getAttribute('width'))"
    )
    if any(on):
        unit = max(widths) / max(map(abs, wanted))
        assert widths == pytest.approx([unit * abs(x) for x in wanted], abs=0.02)
    marks = read(part, '[data-part="total"]', "number", "amount")
    assert marks == [[c, pytest.approx(x, abs=6e-5)] for c, x in enumerate(output)]
    return widths


def assert_shares(part, **state):
    expected = HeadsWorkshop(**({"token": 2} | state))
    share = expected.heads // expected.kv_heads
    assert_drawn(part, expected.weights[:, expected.token], 0.1)
    # Arcs of the other words would run from one head into the next.
    assert part.locator(f'[data-part="plane"] {FAINT}').count() == 0
    assert part.evaluate(TOUCHING) == []
    got = table(part)
    assert len(got) == expected.heads
    for at, row in enumerate(got):
        assert row[:2] == [f"head {at + 1}", str(at // share + 1)]
        want = [*expected.weights[at, expected.token].tolist(), expected.errors[at].item()]
        assert [float(cell) for cell in row[2:]] == pytest.approx(want, abs=6e-5)
    sums = {name: now for name, now, _ in table(part, "sums")}
    assert float(sums["output error"]) == pytest.approx(expected.error, abs=6e-5)
    alike = sums["heads look alike"]
    assert alike == "–" if expected.heads == 1 else float(alike) == pytest.approx(expected.overlap, abs=6e-5)
    assert sums["keys, values a token"] == str(32 // share)
    label = part.locator('[data-part="plane"]').get_attribute("aria-label")
    assert label.startswith(f"{expected.heads} query head")
    assert f"{expected.kv_heads} key and value head" in label
    # The wires end where as many boxes stand as there are key-value heads.
    assert part.locator('[data-part="wire"]').count() == expected.heads
    assert [at for (at,) in read(part, '[data-part="cache"]', "which")] == [
        h // share + 1 for h in range(expected.heads)
    ]
    places = part.locator('[data-part="cache"] rect:first-child').evaluate_all(
        "(all) => all.map((e) => e.getAttribute('x'))"
    )
    assert len(set(places)) == expected.kv_heads


def test_it_starts_as_python_says_and_gives_nothing_away(site, bench):
    page = site.open(bench)
    part = figure(page, "heads")
    assert_sums(part, large=1)
    assert says(part) == "Seen from “that” (word 3)."
    assert_shares(figure(page, "heads", 1))
    for nth in (0, 1):
        assert page.locator(".attnlab-root").nth(nth).bounding_box()["height"] <= 520


def where(part):
    """Say where the words to look from and all that is drawn of the heads stand, from the figure's top."""
    return part.evaluate("""(figure) =>
      [...figure.querySelectorAll('[data-part="token"], [data-part="head"]')]
        .map((e) => Math.round(e.getBoundingClientRect().top - figure.getBoundingClientRect().top))""")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_sum_stands_below_from_the_first_and_a_switch_moves_nothing_else(site, bench, width):
    part = figure(site.open(bench, width=width), "heads")
    stood, high = where(part), part.bounding_box()["height"]
    assert_sums(part, large=1)
    head(part, 1).click()
    assert_sums(part, large=1, off=[1])
    assert (where(part), part.bounding_box()["height"]) == (stood, high)


@pytest.mark.parametrize("width", [1280, 768, 390, 320])
def test_the_head_pointed_at_is_drawn_large(site, bench, width):
    part = figure(site.open(bench, width=width), "heads")
    plane = part.locator('[data-part="plane"]').bounding_box()["width"]
    for which in (6, 3):
        head(part, which).hover()
        assert_sums(part, large=which)
        # An arc that goes two words far is high, and on a phone the head has all of the width.
        box = part.locator('[data-part="picked"] [data-key="arcs"]').bounding_box()
        assert box["height"] > (180 if width > 560 else 100)
        assert box["width"] > (0.35 if width > 560 else 0.85) * plane
    assert part.evaluate(TOUCHING) == []


def test_a_head_that_is_off_is_missing_from_the_bars_and_nothing_else_moves(sums):
    head(sums, 1).click()
    head(sums, 1).click()
    whole = assert_sums(sums)
    arcs = read(sums, "path[data-weight]", "weight")
    head(sums, 1).click()
    left = assert_sums(sums, off=[1])
    assert read(sums, "path[data-weight]", "weight") == arcs
    assert left == [0 if at % 8 == 0 else width for at, width in enumerate(whole)]  # one scale throughout
    head(sums, 6).click()
    assert_sums(sums, off=[1, 6])
    assert says(sums) == "Seen from “that” (word 3). Switched off: heads 1, 6."
    head(sums, 1).click()
    choose(sums, "token", 5)
    assert_sums(sums, off=[6], token=5)
    for which in (1, 2, 3, 4, 5, 7, 8):
        head(sums, which).click()
    assert_sums(sums, off=range(1, 9), token=5)
    assert run_copied(sums)[0].endswith("output [0.0, 0.0, 0.0, 0.0]")


def test_by_keyboard(site, bench):
    sums = figure(site.open(bench), "heads")
    sums.locator('[data-part="token"] [aria-checked="true"]').focus()
    keys = sums.page.keyboard
    for _ in range(2):
        keys.press("ArrowRight")
    assert_sums(sums, token=4)
    assert SENTENCE[4] in sums.locator('[data-part="numbers"] caption').text_content()
    head(sums, 1).focus()
    for key in ("Enter", "ArrowRight", "ArrowDown", "Space"):
        keys.press(key)
    assert_sums(sums, large=6, token=4, off=[1, 6])
    keys.press("Space")
    assert_sums(sums, token=4, off=[1])
    keys.press("Shift+Tab")
    keys.press("Tab")  # back at the switch that was left
    keys.press("Space")
    assert_sums(sums, token=4, off=[1, 6])
    sums.locator('[data-part="reset"]').click()
    assert_sums(sums)


def test_every_way_to_share(shares):
    for heads, kv_heads in ((8, 4), (8, 2), (8, 1), (4, 4), (4, 2), (2, 1), (1, 1)):
        choose(shares, "heads", heads)
        choose(shares, "kv", kv_heads)
        assert_shares(shares, heads=heads, kv_heads=kv_heads)
    choose(shares, "kv", 4)  # there are never more of them than query heads
    assert_shares(shares, heads=4, kv_heads=4)
    choose(shares, "heads", 2)
    assert_shares(shares, heads=2, kv_heads=2)


def test_links_bring_back_the_state_and_nothing_large(sums):
    head(sums, 3).click()
    address = copied(sums, "link")
    assert len(address) < 300
    sums.page.goto(address)
    assert_sums(figure(sums.page, "heads"), off=[3])
    other = figure(sums.page, "heads", 1)
    choose(other, "kv", 2)
    other.page.goto(copied(other, "link"))
    assert_shares(figure(other.page, "heads", 1), kv_heads=2)


def test_a_link_with_a_head_that_is_not_there(site, bench):
    assert "off must name heads from 1 to 8" in site.complaint(bench, "heads", {"off": [9]})


def test_copied_code_prints_the_same_numbers(sums):
    head(sums, 2).click()
    shown = run_copied(sums)[0].partition("output ")[2]
    printed = [float(cell) for cell in shown.strip("[]").split(",")]
    assert printed == pytest.approx(HeadsWorkshop(off=[2]).output[2].tolist(), abs=1e-9)
    shares = figure(sums.page, "heads", 1)
    choose(shares, "kv", 2)
    shown = run_copied(shares)[0]
    assert float(shown.split()[-1]) == pytest.approx(HeadsWorkshop(kv_heads=2).error, abs=1e-9)


def test_the_saved_drawing_has_its_heads_and_bars(sums):
    head(sums, 2).click()
    text = saved(sums)
    assert text.count('role="switch"') == 8
    assert text.count("data-number") == 36  # eight pieces and a mark for each of four numbers
    assert "stroke-dasharray" in text


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(site, bench, theme):
    page = site.figures(bench, theme=theme)
    head(figure(page, "heads"), 1).click()
    choose(figure(page, "heads", 1), "kv", 1)
    assert violations(page) == []


def test_a_phone_does_not_scroll_sideways(site, bench):
    page = site.open(bench, width=320, height=640)
    assert page.evaluate(SIDEWAYS) == []
    assert_fits_a_thumb(page.locator("figure"))
    assert_sums(figure(page, "heads"))
    for which in (1, 8):
        box = head(figure(page, "heads"), which).bounding_box()
        assert min(box["width"], box["height"]) >= 60


def tops(part, what):
    return {round(box["y"]) for box in (one.bounding_box() for one in part.locator(what).all())}


@pytest.mark.parametrize(("width", "most"), [(390, 590), (320, 610)])
def test_on_a_phone_few_arcs_are_drawn_and_the_table_has_all(site, bench, width, most):
    page = site.figures(bench, width=width, height=700)
    part = figure(page, "heads", 1)
    for heads, kv_heads, token in ((8, 8, 2), (8, 2, 5), (4, 1, 0), (1, 1, 3)):
        choose(part, "heads", heads)
        choose(part, "kv", kv_heads)
        choose(part, "token", token)
        assert_shares(part, heads=heads, kv_heads=kv_heads, token=token)
        assert part.locator(".attnlab-root").evaluate("(root) => root.offsetHeight") <= most
    # Both choices beside one another, the words in one row.
    assert len(tops(part, '[data-part="heads"] button, [data-part="kv"] button')) == 1
    for nth in (0, 1):
        assert len(tops(figure(page, "heads", nth), '[data-part="token"] button')) == 1


ONE_AXIS = """(figure) => {
  const middle = (e) => ((box) => (box.left + box.right) / 2)(e.getBoundingClientRect());
  const all = (what) => [...figure.querySelectorAll(`[data-part="plane"] ${what}`)].map(middle);
  const columns = [all('[data-key="looks"]'), all('circle[stroke-width="2.5"]'), all('[data-part="cache"]')];
  return columns[0].map((x, i) => Math.max(...columns.map((one) => Math.abs(one[i] - x))));
}"""


@pytest.mark.parametrize("width", [1280, 768, 390, 320])
def test_a_head_stands_on_one_axis_with_its_keys_and_below_its_choices(site, bench, width):
    part = figure(site.figures(bench, width=width), "heads", 1)
    away = part.evaluate(ONE_AXIS)
    assert len(away) == 8
    assert max(away) < 0.1
    ends = [part.locator(f'[data-part="{name}"]').bounding_box() for name in ("heads", "kv", "token")]
    drawn = part.locator('[data-part="plane"]').bounding_box()["y"]
    assert all(box["y"] + box["height"] <= drawn for box in ends)


def test_the_arcs_of_heads_side_by_side_are_wide(shares):
    arcs = shares.locator('[data-part="plane"] path[data-weight]')
    widest = arcs.evaluate_all("""(all) => all.filter((e) => e.dataset.weight > 0.8)
      .map((e) => e.getBoundingClientRect().width)""")
    assert len(widest) == 5  # one word back, one ahead, two back, two ahead, its own
    assert min(widest) > 35
    beyond = shares.locator('[data-part="plane"]').evaluate("""(plane) => Math.max(...
      [...plane.querySelectorAll("path")].map((e) => e.getBoundingClientRect().right))
      - plane.getBoundingClientRect().right""")
    assert beyond <= 1
