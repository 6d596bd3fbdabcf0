"""The figure "rope" in its page: a query and a key on their line against what Python computes."""

import re

import pytest
import torch

from attnbook.widgets import RopeDial

from .reader import (
    assert_fits_a_thumb,
    choose,
    copied,
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


@pytest.fixture(scope="module")
def bench(page_with):
    return page_with(RopeDial()._repr_html_())


@pytest.fixture
def part(site, bench):
    return figure(site.figures(bench), "rope")


def state(part):
    return [int(handle(part, which).get_attribute("aria-valuenow")) for which in ("query", "key")]


def turns(part):
    """Read in what direction each hand of the large dial points, counter-clockwise from the right."""
    ways = part.locator('[data-part="hand"]').evaluate_all("all => all.map(e => e.getAttribute('d'))")
    tips = [[float(x) for x in re.findall(r"-?[\d.]+", way)[2:4]] for way in ways]
    return torch.tensor([[x, -y] for x, y in tips])


def assert_shown(part, expected):
    assert state(part) == [expected.m, expected.n]
    rows = table(part)
    got = torch.tensor([[number(cell) for cell in row[2:]] for row in rows]).double()
    assert torch.allclose(got, torch.stack((expected.angles, expected.parts), -1), atol=6e-5)
    curve = table(part, "scores")
    assert [int(row[0]) for row in curve] == list(range(32))
    assert [number(row[1]) for row in curve] == pytest.approx(expected.curve.tolist(), abs=6e-5)
    angle = abs(expected.angles[expected.pair].item())
    assert part.locator('[data-part="angle"]').text_content() == f"angle {angle:.2f} rad"
    words = f"Distance {expected.n - expected.m}. Pair {expected.pair + 1}: angle {angle:.2f}."
    words += f" Score: {expected.score:.2f}."
    assert says(part) in (words.replace("-", "−"), "Reset.")
    drawn = turns(part)
    for hand, vector, place in zip(drawn, (expected.q, expected.k), (expected.m, expected.n), strict=True):
        wanted = expected.placed(vector)[place][2 * expected.pair : 2 * expected.pair + 2].float()
        assert torch.allclose(hand / hand.norm(), wanted / wanted.norm(), atol=0.02)
    checked = part.locator('[data-part="dial"][aria-checked="true"]')
    assert checked.count() == 1
    assert checked.get_attribute("data-which") == str(expected.pair)


def test_it_starts_as_python_says_on_one_screen(site, bench):
    page = site.open(bench)
    part = figure(page, "rope")
    assert_shown(part, RopeDial())
    assert part.locator(".attnlab-root").bounding_box()["height"] <= 530


@pytest.mark.parametrize("scheme", ["rotary", "sinusoidal"])
def test_dragging_both_turns_both_and_only_rope_keeps_the_angle(part, scheme):
    choose(part, "scheme", scheme)
    angle, before = part.locator('[data-part="angle"]').text_content(), turns(part)
    x, y = middle(handle(part, "both"))
    a_place = part.locator('[data-part="curve"]').evaluate("e => e.getBBox().width / 31")
    drag(part.page, (x, y), (x + 10 * a_place, y + 3), steps=5)
    assert_shown(part, RopeDial(scheme, m=22, n=19))
    now = turns(part)
    cosines = torch.cosine_similarity(before, now)
    assert (cosines < 0.9).all()  # both have turned
    assert (part.locator('[data-part="angle"]').text_content() == angle) == (scheme == "rotary")


def test_dragging_the_key_alone_changes_the_angle_and_the_point_stays_on_the_curve(part):
    curve = part.locator('[data-part="curve"]').get_attribute("d")
    x, y = middle(handle(part, "key").locator("circle"))
    a_place = part.locator('[data-part="curve"]').evaluate("e => e.getBBox().width / 31")
    for places in (4, -9, 16):
        drag(part.page, (x, y), (x + places * a_place, y), steps=4)
        n = RopeDial().n + places
        assert_shown(part, RopeDial(n=n))
        drag(part.page, (x + places * a_place, y), (x, y), steps=4)
        assert_shown(part, RopeDial())
    assert part.locator('[data-part="curve"]').get_attribute("d") == curve


def heights(part, name="curve"):
    way = part.locator(f'[data-part="{name}"]').get_attribute("d")
    return torch.tensor([float(y) for y in re.findall(r"-?[\d.]+", way)[1::2]])


def test_the_curve_goes_along_with_the_query_and_keeps_its_shape_under_rope_alone(part):
    for scheme in ("rotary", "sinusoidal"):
        choose(part, "scheme", scheme)
        handle(part, "query").focus()
        before = heights(part)
        part.page.keyboard.press("PageUp")
        after = heights(part)  # four points a place
        assert torch.allclose(after[20:], before[:-20], atol=0.11) == (scheme == "rotary")
        assert_shown(part, RopeDial(scheme, m=17))
        part.page.keyboard.press("PageDown")


GOES = """async (figure, value) => {
  const curve = () => figure.querySelector('[data-part="curve"]').getAttribute("d");
  const before = curve();
  figure.querySelector(`[data-value="${value}"]`).click();
  const first = curve();
  await new Promise((done) => setTimeout(done, 800));
  return [first !== before, first === curve()];
}"""


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_one_scheme_goes_over_to_the_other(part, motion):
    part.page.emulate_media(reduced_motion=motion)
    jumped, stayed = part.evaluate(GOES, "sinusoidal")
    part.page.emulate_media(reduced_motion="reduce")
    assert (jumped, stayed) == (motion == "reduce", motion == "reduce")
    assert_shown(part, RopeDial("sinusoidal"))


def test_heights_on_the_curve_are_scores_and_axes_stay(part):
    """Two ticks give the scale; it stays wherever query and key go, and under the other scheme."""
    scales = set()
    for scheme, which, key in (
        ("rotary", "query", "Home"),
        ("rotary", "key", "End"),
        ("sinusoidal", "query", "End"),
        ("sinusoidal", "key", "Home"),
    ):
        choose(part, "scheme", scheme)
        handle(part, which).press(key)
        m, n = state(part)
        expected = RopeDial(scheme, m=m, n=n)
        ticks = {
            words: box
            for words, box in part.locator('[data-part="plane"] text').evaluate_all(
                "all => all.filter(e => e.getAttribute('text-anchor') === 'end')"
                ".map(e => [e.textContent, e.getAttribute('y') - 4])"
            )
        }
        scales.add((ticks["−1"], ticks["0"], ticks["5"]))
        shown = (ticks["0"] - heights(part)[::4]) / (ticks["0"] - ticks["1"])
        assert torch.allclose(shown.double(), expected.curve, atol=0.01)
        point = part.locator('[data-part="point"]')
        assert number(part.locator('[data-part="told"]').text_content()) == pytest.approx(
            shown[n].item(), abs=0.011
        )
        assert float(point.get_attribute("cy")) == pytest.approx(heights(part)[4 * n].item(), abs=0.06)
    assert len(scales) == 1
    assert_shown(part, RopeDial("sinusoidal", m=31, n=0))


def test_keys_move_both_until_one_meets_an_end(part):
    handle(part, "both").focus()
    for key, m in (
        ("PageUp", 17),
        ("ArrowRight", 18),
        ("End", 31),
        ("ArrowLeft", 30),
        ("Home", 3),
        ("ArrowLeft", 3),
    ):
        part.page.keyboard.press(key)
        assert_shown(part, RopeDial(m=m, n=m - 3))


def test_a_pair_is_chosen_by_click_and_by_key(part):
    part.locator('[data-part="dial"]').nth(2).click()
    assert_shown(part, RopeDial(pair=2))
    part.locator('[data-part="dial"]').nth(2).focus()
    for key, pair in (("ArrowRight", 3), ("ArrowRight", 0), ("ArrowLeft", 3), ("ArrowUp", 2)):
        part.page.keyboard.press(key)
        assert_shown(part, RopeDial(pair=pair))
        assert part.locator('[data-part="dial"]').nth(pair).evaluate("e => e === document.activeElement")
    for pair, speed in enumerate(("1.000", "0.316", "0.100", "0.032")):
        label = part.locator('[data-part="dial"]').nth(pair).get_attribute("aria-label")
        assert label.startswith(f"pair {pair + 1}, speed {speed}: angle ")


def test_copied_code_prints_the_same_numbers(part):
    for scheme in ("rotary", "sinusoidal"):
        choose(part, "scheme", scheme)
        handle(part, "both").press("PageUp")
        m, n = state(part)
        shown, space = run_copied(part)
        now = RopeDial(scheme, m=m, n=n)
        torch.testing.assert_close(space["parts"], now.parts)
        torch.testing.assert_close(space["curve"], now.curve)
        assert float(shown.split()[-1]) == pytest.approx(now.score, abs=1e-9)


def test_a_copied_link_opens_the_same_state_and_reset_leads_back(part):
    choose(part, "scheme", "sinusoidal")
    handle(part, "key").press("End")
    part.locator('[data-part="dial"]').nth(1).click()
    part.page.goto(copied(part, "link"))
    linked = figure(part.page, "rope")
    assert_shown(linked, RopeDial("sinusoidal", n=31, pair=1))
    linked.locator('[data-part="reset"]').click()
    assert_shown(linked, RopeDial())


def test_the_saved_drawing_stands_alone(part):
    assert "angle 2.01 rad" in saved(part)


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ({"scheme": "alibi"}, "scheme must be one of rotary, sinusoidal"),
        ({"m": 40}, "m must be a whole number from 0 to 31"),
        ({"pair": 1.5}, "pair must be a whole number from 0 to 3"),
    ],
)
def test_a_broken_link_shows_an_error_and_no_blank(site, bench, state, why):
    assert why in site.complaint(bench, "rope", state)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(site, bench, theme):
    page = site.figures(bench, theme=theme)
    part = figure(page, "rope")
    part.locator("details:not(.attnlab-menu) > summary").click()
    for scheme in ("sinusoidal", "rotary"):
        choose(part, "scheme", scheme)
        assert violations(page) == []


def test_a_phone_shows_it_whole_with_room_for_a_thumb(site, bench):
    page = site.figures(bench, width=320, height=700)
    part = figure(page, "rope")
    for key in ("Home", "End"):
        handle(part, "both").press(key)
        for scheme in ("sinusoidal", "rotary"):
            choose(part, "scheme", scheme)
            assert_fits_a_thumb(page.locator("#figure-rope"))
    assert part.locator(".attnlab-root").bounding_box()["height"] <= 700


def test_with_forced_colours_hands_keep_theirs(site, bench):
    page = site.figures(bench)
    page.emulate_media(forced_colors="active")
    hands = page.locator('[data-part="hand"]').evaluate_all("all => all.map(e => getComputedStyle(e).stroke)")
    assert hands == ["rgb(0, 105, 168)", "rgb(176, 74, 0)"]
    page.emulate_media(forced_colors="none")
