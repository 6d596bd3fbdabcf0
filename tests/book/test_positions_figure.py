"""The figure "positions" in its page: words dragged to other places against what Python computes."""

import re

import pytest
import torch

from attnbook.widgets import PositionsLab

from .reader import (
    TOUCHING,
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

SCHEMES = ["none", "sinusoidal", "learned", "rotary", "alibi", "relative"]
NAMES = PositionsLab().names()


@pytest.fixture(scope="module")
def bench(page_with):
    return page_with(PositionsLab()._repr_html_())


@pytest.fixture
def part(site, bench):
    return figure(site.figures(bench), "positions")


def order(part):
    """Read which token stands at each place: the words are numbered where they stand twice."""
    return [NAMES.index(row[1]) for row in table(part)]


def assert_shown(part, expected):
    rows = table(part)
    assert [row[1] for row in rows] == [NAMES[token] for token in expected.order]
    for row, out, change in zip(rows, expected.output.tolist(), expected.change.tolist(), strict=True):
        assert [number(cell) for cell in row[2:]] == pytest.approx([*out, change], abs=6e-5)
    for place, token in enumerate(expected.order):
        grip = handle(part, token)
        assert grip.get_attribute("aria-valuenow") == str(place)
        assert grip.get_attribute("aria-label") == NAMES[token]
    words = " ".join(NAMES[token] for token in expected.order) + "."
    assert says(part).startswith((words, "Reset."))


def tips(part, kind):
    """Read where each word's arrow ends, now or as written, from the middle of its ring."""
    ways = part.locator(f'[data-part="{kind}"]').evaluate_all(
        "all => all.map(e => [e.dataset.which, e.getAttribute('d')])"
    )
    return {
        int(which): torch.tensor([float(x) for x in re.findall(r"-?[\d.]+", way)[2:4]]) for which, way in ways
    }


def test_it_starts_as_python_says_and_gives_nothing_away(site, bench):
    page = site.open(bench)
    part = figure(page, "positions")
    assert_shown(part, PositionsLab())
    assert says(part) == "I saw₁ a saw₂."
    assert part.locator('[data-part="verdict"]').inner_text() == "What becomes of the arrows?"
    assert part.locator(".attnlab-root").bounding_box()["height"] <= 530


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_word_is_dragged_to_another_place_and_takes_its_output_along_or_not(part, scheme):
    choose(part, "scheme", scheme)
    before = tips(part, "before")
    (x, y), (to, _) = middle(handle(part, 0)), middle(handle(part, 2))
    drag(part.page, (x, y), (to + 6, y + 4), steps=6)
    expected = PositionsLab(scheme, order=[1, 2, 0, 3])
    assert_shown(part, expected)
    assert f"Largest change of an output: {expected.change.max():.2f}." in says(part)
    # What is as written is computed by the same scheme, and says so.
    names = {"sinusoidal": "sinusoids", "rotary": "RoPE", "alibi": "ALiBi", "relative": "relative bias"}
    labels = part.locator('[data-part="plane"] > text').all_text_contents()
    assert (f"(with {names.get(scheme, scheme)})" in labels) == (scheme != "none")
    assert "drag a word" in labels
    verdict, changed = part.locator('[data-part="verdict"]'), int((expected.change > 0.005).sum())
    assert verdict.inner_text() == (
        f"{changed} of 4 arrows turned, grew or shrank."
        if changed
        else "No arrow turned or grew: they only moved."
    )
    assert (changed == 0) == (scheme == "none")
    # It stands under the arrows, before anything to press, and larger than the text.
    under = part.locator('[data-part="plane"]').bounding_box()
    assert 0 < verdict.bounding_box()["y"] - under["y"] - under["height"] < 30
    assert float(verdict.evaluate("(e) => parseFloat(getComputedStyle(e).fontSize)")) >= 18
    now, unit = tips(part, "arrow"), None
    assert all(torch.equal(tip, before[token]) for token, tip in tips(part, "before").items())
    for place, token in enumerate(expected.order):
        out = expected.output[place].float() * torch.tensor([1.0, -1.0])
        unit = unit or now[token].norm() / out.norm()
        assert torch.allclose(now[token], out * unit, atol=0.8)
        assert torch.allclose(now[token], before[token], atol=0.2) == (expected.change[place] < 0.02)
    # Dropped between two places, it settles on its own: below its line's end.
    box = handle(part, 0).locator("rect").bounding_box()
    assert box["x"] + box["width"] / 2 == pytest.approx(to, abs=1.5)


def test_while_it_is_held_a_word_follows_the_pointer(part):
    x, y = middle(handle(part, 3).locator("rect"))
    apart = x - middle(handle(part, 2).locator("rect"))[0]
    page = part.page
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - apart / 3, y, steps=3)
    assert middle(handle(part, 3).locator("rect"))[0] == pytest.approx(x - apart / 3, abs=1)
    assert order(part) == [0, 1, 2, 3]
    page.mouse.move(x - apart * 2 / 3, y, steps=3)
    assert order(part) == [0, 1, 3, 2]
    page.mouse.up()
    assert middle(handle(part, 2).locator("rect"))[0] == pytest.approx(x, abs=1)


def test_what_is_held_lies_above_all_others(part):
    names = """(all) => all.map((handle) => handle.dataset.which).join("")"""
    handles, (x, y) = part.locator('[data-part="handle"]'), middle(handle(part, 1).locator("rect"))
    part.page.mouse.move(x, y)
    part.page.mouse.down()
    part.page.mouse.move(x + 40, y, steps=3)
    assert handles.evaluate_all(names) == "0231"
    part.page.mouse.move(x + 80, y, steps=3)
    assert middle(handle(part, 1).locator("rect"))[0] == pytest.approx(x + 80, abs=1)
    part.page.mouse.up()
    assert handles.evaluate_all(names) == "0123"  # as keys go through them


def test_keys_move_a_word_and_keep_hold_of_it(part):
    choose(part, "scheme", "relative")
    handle(part, 3).focus()
    for key, wanted in (
        ("ArrowLeft", [0, 1, 3, 2]),
        ("Home", [3, 0, 1, 2]),
        ("ArrowLeft", [3, 0, 1, 2]),
        ("ArrowRight", [0, 3, 1, 2]),
        ("End", [0, 1, 2, 3]),
        ("ArrowDown", [0, 1, 3, 2]),
    ):
        part.page.keyboard.press(key)
        assert order(part) == wanted
        assert handle(part, 3).evaluate("e => e === document.activeElement")
    assert_shown(part, PositionsLab("relative", order=[0, 1, 3, 2]))


def test_two_words_that_are_tapped_change_places(part):
    page = part.page
    first, last = handle(part, 0).locator("rect"), handle(part, 3).locator("rect")
    page.mouse.click(*middle(first))
    assert says(part) == "I is picked: tap another word, and they change places."
    assert order(part) == [0, 1, 2, 3]
    page.mouse.click(*middle(last))
    assert_shown(part, PositionsLab(order=[3, 1, 2, 0]))
    # Once more on the same word, and nothing is picked; what is dragged, or moved otherwise, isn't either.
    page.mouse.click(*middle(last))
    page.mouse.click(*middle(last))
    assert says(part).startswith("saw₂ saw₁ a I.")
    page.mouse.click(*middle(last))
    part.locator('[data-part="restore"]').click()
    assert_shown(part, PositionsLab())
    page.mouse.click(*middle(last))
    assert says(part).startswith("saw₂ is picked")
    page.mouse.click(*middle(last))
    # With keys, too.
    handle(part, 1).focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    assert says(part) == "I saw₁ a saw₂."


@pytest.mark.parametrize("scheme", ["none", "rotary"])
def test_a_shuffle_is_another_order_and_can_be_taken_back(part, scheme):
    choose(part, "scheme", scheme)
    part.locator('[data-part="shuffle"]').click()
    now = order(part)
    assert now != [0, 1, 2, 3]
    assert_shown(part, PositionsLab(scheme, order=now))
    part.locator('[data-part="restore"]').click()
    assert_shown(part, PositionsLab(scheme))
    part.locator('[data-part="shuffle"]').click()
    part.locator('[data-part="reset"]').click()
    assert_shown(part, PositionsLab())


def test_copied_code_prints_the_same_numbers(part):
    part.locator('[data-part="shuffle"]').click()
    for scheme in SCHEMES:
        choose(part, "scheme", scheme)
        now = PositionsLab(scheme, order=order(part))
        _, space = run_copied(part)
        torch.testing.assert_close(space["outputs"](space["order"]), now.output)


def test_a_copied_link_opens_the_same_state(part):
    choose(part, "scheme", "alibi")
    part.locator('[data-part="shuffle"]').click()
    now = order(part)
    part.page.goto(copied(part, "link"))
    assert_shown(figure(part.page, "positions"), PositionsLab("alibi", order=now))


def test_the_saved_drawing_stands_alone(part):
    picture = saved(part)
    assert picture.count(">saw₂</text>") == 2


def test_a_broken_link_shows_an_error_and_no_blank(site, bench):
    assert "scheme must be one of none, sinusoidal" in site.complaint(bench, "positions", {"scheme": "clock"})
    assert "order must hold each of 0 to 3 once" in site.complaint(
        bench, "positions", {"order": [0, 0, 1, 2]}
    )


def test_one_word_and_eight_words_stand_too(site, page_with):
    ones = PositionsLab("learned", tokens=["saw"])
    eight = PositionsLab(
        "sinusoidal", tokens=["I", "saw", "a", "saw", "a", "saw", "I", "saw"], order=[*range(1, 8), 0]
    )
    page = site.open(page_with(ones._repr_html_(), eight._repr_html_()), width=320)
    for nth, expected in enumerate((ones, eight)):
        rows = table(figure(page, "positions", nth))
        got = [[number(cell) for cell in row[2:4]] for row in rows]
        assert torch.allclose(torch.tensor(got).double(), expected.output, atol=6e-5)
    assert_fits_a_thumb(page.locator("figure"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(site, bench, theme):
    page = site.figures(bench, theme=theme)
    part = figure(page, "positions")
    choose(part, "scheme", "sinusoidal")
    part.locator("details:not(.attnlab-menu) > summary").click()
    handle(part, 2).press("ArrowLeft")
    assert violations(page) == []


def test_a_phone_shows_it_whole_with_room_for_a_thumb(site, bench):
    page = site.figures(bench, width=320, height=700)
    part = figure(page, "positions")
    for scheme in ("sinusoidal", "rotary"):
        choose(part, "scheme", scheme)
        handle(part, 2).press("ArrowLeft")
        assert_fits_a_thumb(page.locator("#figure-positions"))
    assert part.locator(".attnlab-root").bounding_box()["height"] <= 700


def test_with_forced_colours_arrows_and_words_keep_theirs(site, bench):
    page = site.figures(bench)
    page.emulate_media(forced_colors="active")
    arrow = page.locator('[data-part="arrow"]').first
    assert arrow.evaluate("e => getComputedStyle(e).stroke") == "rgb(160, 48, 122)"
    assert (
        page.locator('[data-part="plane"]').evaluate("e => getComputedStyle(e).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    page.emulate_media(forced_colors="none")


@pytest.mark.parametrize("width", [320, 1280])
def test_each_row_is_named_at_its_left_and_nothing_touches(site, bench, width):
    part = figure(site.figures(bench, width=width, height=700), "positions")
    handle(part, 2).press("ArrowLeft")
    texts = part.locator('[data-part="plane"] text')
    boxes = {text.text_content(): text.bounding_box() for text in texts.all()}
    left = part.locator('[data-part="plane"]').bounding_box()["x"]
    names = {name: box for name, box in boxes.items() if abs(box["x"] - left) < 1}
    chip = handle(part, 0).locator("rect").bounding_box()
    top = part.locator('[data-part="plane"] text', has_text="saw₁").first.bounding_box()
    if width == 320:  # above the rows
        above, now = names["outputs as written (below: dashed)"], names["now:"]
        assert above["y"] < top["y"] < now["y"] < names["drag"]["y"] < chip["y"]
    else:
        assert list(names) == ["output", "as written", "now", "drag a word", "(dashed: as written)"]
        assert names["as written"]["y"] == pytest.approx(top["y"], abs=4)
        assert chip["y"] < middle(texts.filter(has_text="now"))[1] < chip["y"] + chip["height"]
        assert max(box["x"] + box["width"] for box in names.values()) < chip["x"]
    assert part.evaluate(TOUCHING) == []
    # The six dots that say "grip" stand beside the longest word, or above its letters, which fill 12.
    gaps = part.locator('[data-part="handle"]').evaluate_all(
        """(all) => all.map((one) => {
          const [dots, word] = ["path", "text"]
            .map((name) => one.querySelector(name).getBoundingClientRect());
          return [word.left - dots.right, word.bottom - 4 - 12 - dots.bottom];
        })"""
    )
    assert all(gap[width == 320] > 2 for gap in gaps), gaps
