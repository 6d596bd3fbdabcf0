"""Linear attention against softmax in a page of the book, against what Python computes."""

import re

import pytest
import torch

from attnbook.widgets import LinearAgainstSoftmax

from .reader import (
    assert_fits_a_thumb,
    choose,
    drag,
    figure,
    handle,
    middle,
    press,
    run_copied,
    saved,
    says,
    static,
    table,
    violations,
)

LEVELS = 40


def ours(**changes):
    return LinearAgainstSoftmax(**({"map": "random", "features": 16, "sharpness": 1.0} | changes))


@pytest.fixture(scope="module")
def bench(page_with):
    return page_with(ours()._repr_html_(), LinearAgainstSoftmax()._repr_html_())


@pytest.fixture
def part(site, bench):
    return figure(site.figures(bench), "linear")


def assert_shows(part, expected):
    """Hold every cell of both tables to Python's own, which unit tests hold to the package."""
    numbers, counts = static(expected.table())
    assert table(part) == numbers
    assert table(part, "cost") == counts
    assert part.locator('[data-part="error"]').is_hidden()


def levels(part, name):
    """Read a map: for each cell the level with which it is painted."""
    paths = part.locator(f'[data-part="{name}"] path').evaluate_all(
        "(all) => all.map((e) => [Number(e.dataset.level), e.getAttribute('d')])"
    )
    cells = torch.zeros(64, 64)
    for level, path in paths:
        for x, y, run in re.findall(r"M(\d+) (\d+)\.5h(\d+)", path):
            assert not cells[int(y), int(x) : int(x) + int(run)].any()
            cells[int(y), int(x) : int(x) + int(run)] = level
    return cells


SCALE = """(figure) => {
  const bar = figure.querySelector('[data-part="scale"]');
  const { a, e: from } = bar.transform.baseVal.consolidate().matrix;
  const wide = 40 * a;
  const inks = [...bar.children].map((e) => [e.getAttribute("d"), Number(e.dataset.level)]);
  const ticks = [...figure.querySelectorAll('[data-part="tick"]')];
  return [inks, wide, ...ticks.map((e) => [e.textContent, Number(e.getAttribute("x")) - from])];
}"""


def assert_painted(part, expected):
    """Every cell has its own weight's root, in fortieths, whatever is set: a scale from 0 to 1 for both."""
    got = expected.compared()
    words = part.locator('[data-part="plane"] text').all_text_contents()
    names = ("softmax", "elu + 1" if expected.map == "elu" else "random")
    inks, bar, *ticks = part.evaluate(SCALE)
    assert inks == [[f"M{at} 0.5h1", at + 1] for at in range(LEVELS)]
    assert [word for word, _ in ticks] == ["1 %", "10 %", "50 %", "100 %"]
    assert [at / bar for _, at in ticks] == pytest.approx([0.01**0.5, 0.1**0.5, 0.5**0.5, 1], abs=0.002)
    for part_of, weights, name in zip(("exact", "approximate"), (got.exact, got.weights), names, strict=True):
        assert (levels(part, part_of) - LEVELS * weights.sqrt().float()).abs().max() < 0.501
        assert f"{name}: {100 * weights.diagonal().mean():.0f} % on itself" in words


def areas(part):
    """Read the areas as width and height, in tokens."""
    boxes = [part.locator(f'[data-part="{name}"]') for name in ("square", "strip")]
    sizes = [[float(box.get_attribute(key)) for key in ("width", "height")] for box in boxes]
    frame = part.locator('[data-part="plane"] rect[fill="none"]').last
    unit = float(frame.get_attribute("width")) / 2048
    return [[size / unit for size in box] for box in sizes]


def test_it_starts_as_python_says(site, bench):
    page = site.open(bench)
    for nth, expected in enumerate((ours(), LinearAgainstSoftmax())):
        part = figure(page, "linear", nth)
        assert_shows(part, expected)
        assert_painted(part, expected)
    heights = [part.bounding_box()["height"] for part in page.locator(".attnlab-root").all()]
    assert max(heights) <= 550


def test_maps_and_new_features(part):
    part.locator('[data-part="draw"]').click()
    assert_shows(part, ours(seed=1))
    assert_painted(part, ours(seed=1))
    choose(part, "map", "elu")
    assert_painted(part, ours(seed=1, map="elu"))
    assert part.locator('[data-part="features"]').is_hidden()
    assert part.locator('[data-part="draw"]').is_hidden()
    part.locator('[data-part="reset"]').click()
    assert_shows(part, ours())


MAPS = """async (figure) => {
  const seen = [];
  figure.querySelector('[data-part="map"] [aria-checked="false"]').click();
  for (let i = 0; i < 40; i++) {
    await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
    const maps = [...figure.querySelectorAll('[data-part="approximate"] > g')];
    const said = figure.querySelector('[data-part="status"]').textContent;
    seen.push([maps.map((one) => [one.dataset.key ?? null, Number(getComputedStyle(one).opacity)]), said]);
  }
  return seen;
}"""


def test_another_map_comes_while_the_last_one_goes_unless_motion_is_unwanted(part):
    before = says(part)
    part.page.emulate_media(reduced_motion="no-preference")
    seen = part.evaluate(MAPS)
    part.page.emulate_media(reduced_motion="reduce")
    both = [dict(maps) for maps, _ in seen if len(maps) == 2]
    assert {frozenset(one) for one in both} == {frozenset({None, "elu 0"})}
    for way, key in ((-1, None), (1, "elu 0")):
        went = [way * one[key] for one in both]
        assert went == sorted(went)
        assert any(0.2 < abs(x) < 0.8 for x in went)
    # What is said of the new map is said when it is there; a slider's changes follow the hand.
    assert all(said == before for (maps, said) in seen if len(maps) == 2 and maps[1][1] < 0.99)
    assert seen[-1][0] == [["elu 0", 1]]
    assert seen[-1][1] == says(part) != before
    assert all(maps == [["random 0", 1]] for maps, _ in part.evaluate(MAPS))
    part.page.emulate_media(reduced_motion="no-preference")
    press(part, "sharpness", "End")
    assert part.locator('[data-part="approximate"] > g').count() == 1
    part.page.emulate_media(reduced_motion="reduce")


@pytest.mark.parametrize("width", [1280, 560, 390])
def test_the_work_stands_first_and_is_largest(site, bench, width):
    part = figure(site.open(bench, width=width), "linear")
    work, *maps = (
        part.locator('[data-part="plane"] rect[fill="none"]').nth(at).bounding_box() for at in (2, 0, 1)
    )
    assert all(work["width"] > 1.15 * one["width"] for one in maps)
    assert all(work["x"] < one["x"] if width > 1000 else work["y"] < one["y"] for one in maps)
    # Where the maps stand below, what is beside it is its legend's.
    assert width > 1000 or work["width"] >= 0.57 * (maps[1]["x"] + maps[1]["width"] - work["x"])


def test_the_size_is_ringed_until_it_is_moved(part):
    asked, size = part.locator(".is-asked"), part.locator('[data-part="sharpness"]')
    assert asked.locator("input").get_attribute("aria-label") == "Size of q and k"
    # The ring leaves its name room, and the name stands in line with the others.
    names = part.locator(".attnlab-row > .attnlab-label")
    lefts = names.evaluate_all("all => all.map((e) => e.getBoundingClientRect().left)")
    assert len(lefts) == 2
    assert lefts[0] == pytest.approx(lefts[1], abs=0.1)
    assert lefts[0] - asked.bounding_box()["x"] >= 5
    press(part, "features", "ArrowRight")
    assert asked.count() == 1
    size.press("ArrowRight")
    assert asked.count() == 0
    size.press("ArrowLeft")
    assert asked.count() == 0


def test_with_size_softmax_draws_a_line_and_features_do_not_follow(part):
    choose(part, "map", "elu")
    press(part, "sharpness", "End")
    assert_painted(part, ours(map="elu", sharpness=3.0))
    exact, blurred = levels(part, "exact"), levels(part, "approximate")
    assert exact.diagonal().min() == LEVELS
    assert (exact - exact.diagonal().diag()).max() <= 2  # nearly nothing beside the line
    assert 2 < blurred.mean() < blurred.max() < LEVELS / 4  # on the scale of the line
    assert "Largest weight, on the mean: 1.00 and 0.03." in says(part)
    # A weight that grows is inked more: the scale does not move under the hand.
    before = ours(map="elu").compared().weights
    grew = ours(map="elu", sharpness=3.0).compared().weights > 1.5 * before
    press(part, "sharpness", "Home", *["ArrowRight"] * 9)
    assert_painted(part, ours(map="elu"))
    assert grew.any()
    assert (blurred > levels(part, "approximate"))[grew].all()
    press(part, "sharpness", "Home")
    assert_shows(part, ours(map="elu", sharpness=0.1))


def test_the_corner_is_dragged_and_moved_by_keys_and_the_strip_grows_one_way(part):
    corner = handle(part, "length")
    for key, length in (
        ("End", 2048),
        ("ArrowLeft", 1984),
        ("PageDown", 1728),
        ("Home", 64),
        ("PageUp", 320),
    ):
        corner.focus()
        part.page.keyboard.press(key)
        assert_shows(part, ours(length=length))
        square, strip = areas(part)
        assert square == pytest.approx([length, length], rel=1e-3)
        assert strip == pytest.approx([length, 16], abs=11)  # a pixel at least
    press(part, "features", "End")
    assert areas(part)[1] == pytest.approx([320, 512], rel=1e-3)  # more features than tokens do not pay
    x, y = middle(corner)
    unit = part.locator('[data-part="square"]').bounding_box()["width"] / 320
    drag(part.page, (x, y), (x + 640 * unit, y + 640 * unit))
    assert_shows(part, ours(features=512, length=960))


def test_sliders_by_keyboard(part):
    press(part, "features", "Home")
    assert_shows(part, ours(features=1))
    press(part, "features", "End")
    press(part, "sharpness", "End")
    assert_shows(part, ours(features=512, sharpness=3.0))
    assert_painted(part, ours(features=512, sharpness=3.0))


@pytest.mark.parametrize("mapped", ["elu", "random"])
def test_copied_code_prints_the_same_numbers(part, mapped):
    choose(part, "map", mapped)
    orders, error = (float(line.split()[1]) for line in run_copied(part)[0].splitlines())
    assert orders < 1e-12
    assert error == pytest.approx(ours(map=mapped).compared().error, abs=1e-9)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"map": "relu"}, "map must be elu or random, got relu"),
        ({"features": 3}, "a power of two from 1 to 512"),
        ({"length": 100}, "length must be a multiple of 64 from 64 to 2048, got 100"),
    ],
)
def test_a_broken_link_says_what_is_wrong_in_the_figure(site, bench, state, message):
    assert message in site.complaint(bench, "linear", state)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_a_phone_does_not_scroll(site, bench, theme):
    page = site.figures(bench, theme=theme, width=320, height=700)
    part = figure(page, "linear")
    handle(part, "length").focus()
    assert violations(page) == []
    assert_fits_a_thumb(page.locator("figure"))
    heights = [part.bounding_box()["height"] for part in page.locator(".attnlab-root").all()]
    assert max(heights) <= 740


def test_the_drawing_that_is_saved_stands_alone(part):
    assert all(
        f">{words}</text>" in saved(part)
        for words in ("softmax: 16 % on itself", "random: 5 % on itself", "values first: n × 16")
    )


CONTRAST = """(g) => {
  const light = (rgb) => [0.2126, 0.7152, 0.0722].reduce((sum, part, i) =>
    sum + part * (rgb[i] <= 10.3 ? rgb[i] / 3294.6 : ((rgb[i] / 255 + 0.055) / 1.055) ** 2.4), 0);
  const rgb = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const probe = document.createElement("span");
  probe.style.color = "var(--fig-paper)";
  g.closest(".attnlab-root").append(probe);
  const paper = rgb(getComputedStyle(probe).color);
  probe.remove();
  return [...g.querySelectorAll("path")].map((path) => {
    const [ink, strength] = [rgb(getComputedStyle(path).stroke), Number(path.getAttribute("stroke-opacity"))];
    const pair = [light(paper), light(ink.map((x, i) => strength * x + (1 - strength) * paper[i]))];
    return [Number(path.dataset.level), strength, (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05)];
  });
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_weights_are_seen_and_told_from_one_another(site, bench, theme):
    part = figure(site.figures(bench, theme=theme), "linear")
    seen = {"exact": {}, "approximate": {}}
    for mapped, size in (("elu", "Home"), ("elu", "End"), ("random", "End")):
        choose(part, "map", mapped)
        press(part, "sharpness", size)
        assert_painted(
            part, ours(map=mapped, sharpness={"Home": 0.1, "End": 3.0}[size])
        )  # what is not painted rounds to none
        for name in ("exact", "approximate"):
            for level, strength, contrast in part.locator(f'[data-part="{name}"]').evaluate(CONTRAST):
                assert strength == pytest.approx((level / LEVELS) ** 0.65, abs=6e-4)
                seen[name][level] = contrast
    assert {1, 2, 3, 10} <= set(seen["approximate"])
    assert seen["approximate"][5] > 1.4  # 1/64, all that an even weight has
    assert seen["approximate"][10] > 1.25
    for contrasts in seen.values():
        by_level = [contrasts[level] for level in sorted(contrasts)]
        assert by_level == sorted(by_level)
