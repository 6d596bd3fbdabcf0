"""Two models side by side in a page of the book, against what Python computes from the census."""

import pytest

from attnbook import census
from attnbook.widgets import Anatomy

from .conftest import page_of
from .reader import figure, middle, saved, table


@pytest.fixture(scope="module")
def bench(page_with):
    return page_with(Anatomy()._repr_html_())


def shown(part):
    """Read names, and sizes in MiB."""
    units = {"KiB": 2**-10, "MiB": 1, "GiB": 2**10}
    rows = table(part, "numbers")
    sizes = [row[-1].split() for row in rows]
    return [row[0] for row in rows], [float(size) * units[unit] for size, unit in sizes]


def test_picked_models_and_a_dragged_length_hold_what_python_computes(site, bench):
    page = site.figures(bench)
    part = figure(page, "anatomy")
    for first, second, power in (
        ("gpt_oss", "llama", 17),
        ("mamba2", "deepseek_v4", 10),
        ("gpt2", "gemma2", 20),
    ):
        part.locator('[data-part="first"]').select_option(first)
        part.locator('[data-part="second"]').select_option(second)
        part.locator('[data-part="length"]').fill(str(power))
        names, sizes = shown(part)
        assert names == [census.checkpoint(name)["checkpoint"] for name in (first, second)]
        want = [size / 2**20 for size in Anatomy(first, second, length=2**power).sizes()]
        assert sizes == pytest.approx(want, rel=0.01)


def test_the_handle_follows_the_pointer_and_the_keys(site, bench):
    page = site.figures(bench)
    part = figure(page, "anatomy")
    handle = part.locator('[data-part="handle"]')
    before = handle.get_attribute("aria-valuetext")
    x, y = middle(handle)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y, steps=3)
    page.mouse.up()
    moved = handle.get_attribute("aria-valuetext")
    assert int(moved.split()[0].replace(",", "")) > int(before.split()[0].replace(",", ""))
    handle.press("End")
    assert handle.get_attribute("aria-valuetext") == "1,048,576 tokens"
    handle.press("ArrowRight")
    assert handle.get_attribute("aria-valuetext") == "1,048,576 tokens"
    # It comes to where one presses, too.
    chart = part.locator('[data-part="curves"]')
    chart.click(position={"x": 58 + (chart.bounding_box()["width"] - 76) / 2, "y": 60})
    assert handle.get_attribute("aria-valuetext") == "16,384 tokens"


@pytest.mark.parametrize("width", [1280, 600, 390, 320])
def test_the_sliders_thumb_stands_below_the_plots_handle(site, bench, width):
    part = figure(site.open(bench, width=width), "anatomy")
    slider = part.locator('[data-part="length"]')
    thumb = 16  # of a range input, as wide as the browser draws it
    for power in (8, 14, 17, 20):
        slider.fill(str(power))
        track = slider.bounding_box()
        at = track["x"] + thumb / 2 + (track["width"] - thumb) * (power - 8) / 12
        line = part.locator('[data-part="handle"] path').bounding_box()
        assert line["x"] + line["width"] / 2 == pytest.approx(at, abs=1), power


def test_where_they_cross_is_marked_once_the_hand_has_passed_it(site, bench):
    page = site.figures(bench)
    part = figure(page, "anatomy")
    assert part.locator('[data-part="curves"]').bounding_box()["height"] >= 240
    part.locator('[data-part="first"]').select_option("gpt_oss")
    part.locator('[data-part="second"]').select_option("kimi_linear")
    crossing = part.locator('[data-part="crossing"]')
    for power, marked in ((17, 0), (10, 0), (9, 1), (17, 1)):
        part.locator('[data-part="length"]').fill(str(power))
        assert crossing.count() == marked, power
    tokens = int(crossing.get_attribute("data-amount"))
    before, after = (Anatomy("gpt_oss", "kimi_linear", length=n).sizes() for n in (tokens - 1, tokens))
    assert before[0] <= before[1]
    assert after[0] > after[1]
    assert part.get_by_text(f"cross at {tokens}", exact=True).is_visible()
    # After Reset, and of two others, nothing has been seen yet.
    part.locator('[data-part="reset"]').click()
    assert crossing.count() == 0
    part.locator('[data-part="length"]').fill("9")
    assert crossing.count() == 1
    part.locator('[data-part="second"]').select_option("mamba2")
    assert crossing.count() == 0


def test_strips_have_a_bar_a_layer_and_what_differs_is_lit(site, bench):
    page = site.figures(bench)
    part = figure(page, "anatomy")
    part.locator('[data-part="first"]').select_option("llama")
    part.locator('[data-part="second"]').select_option("gpt_oss")
    strip = part.locator('[data-part="strip"][data-side="second"] > g')
    kinds = strip.evaluate_all("(bars) => bars.map((bar) => bar.dataset.kind).join('')")
    assert kinds == census.checkpoint("gpt_oss")["strip"]
    # Folded: what differs is a second question.
    first = part.locator('[data-part="formula"]').first
    assert not first.is_visible()
    part.locator('[data-part="differs"] > summary').click()
    assert first.is_visible()
    lit = part.locator('[data-part="formula"][data-side="second"] b[data-lit]')
    assert {"sink", "windows", "grouped"} == set(lit.evaluate_all("(all) => all.map((b) => b.dataset.name)"))
    assert part.locator('[data-part="formula"][data-side="first"] b[data-lit]').count() == 0


def test_a_root_that_a_model_left_out_is_lit(site, bench):
    page = site.figures(bench)
    part = figure(page, "anatomy")
    part.locator('[data-part="first"]').select_option("gemma3_text")
    part.locator('[data-part="second"]').select_option("gemma4_text")
    part.locator('[data-part="differs"] > summary').click()
    said = [part.locator(f'[data-part="formula"][data-side="{side}"]') for side in ("first", "second")]
    lit = [one.locator('b[data-name="root"][data-lit]').inner_text() for one in said]
    assert lit == ["√168", "not divided by √d"]
    assert ["√d)" in one.inner_text() for one in said] == [False, False]


def test_two_caches_can_be_made_equal_and_a_legend_says_what_is_lit(site, bench):
    page = site.figures(bench)
    part = figure(page, "anatomy")
    part.locator('[data-part="first"]').select_option("gpt_oss")
    part.locator('[data-part="second"]').select_option("kimi_linear")
    part.locator('[data-part="differs"] > summary').click()
    assert "underlined: not as in the other" in part.locator('[data-part="legend"]').inner_text()
    part.locator('[data-part="length"]').fill(str(9 + 20 / 64))
    _, (one, other) = shown(part)
    assert one == pytest.approx(other, rel=0.005)
    assert part.locator(".attnlab-status, [role=status]").first.inner_text().endswith(", as much.")
    assert part.locator('[data-part="factor"]').text_content() == "both hold the same"


def bars(part):
    """Read of both bars how wide they are drawn, and the bytes they stand for."""
    wide = '(all) => all.map((bar) => [Number(bar.getAttribute("width")), Number(bar.dataset.amount)])'
    return part.locator('[data-part="bar"]').evaluate_all(wide)


def test_bars_have_one_linear_scale_that_no_length_changes(site, bench):
    page = site.figures(bench)
    part = figure(page, "anatomy")
    part.locator('[data-part="first"]').select_option("gpt_oss")
    part.locator('[data-part="second"]').select_option("kimi_linear")
    ticks, pixels = set(), []
    for power, factor in (
        (20, "A holds 4.6 times as much as B"),
        (17, "A holds 4.5 times as much as B"),
        (8, "B holds 1.8 times as much as A"),
    ):
        part.locator('[data-part="length"]').fill(str(power))
        sizes = Anatomy("gpt_oss", "kimi_linear", length=2**power).sizes()
        assert [amount for _, amount in bars(part)] == sizes
        assert part.locator('[data-part="factor"]').text_content() == factor
        ticks.add(tuple(part.locator('[data-part="tick"]').all_text_contents()))
        pixels += [(width, size) for (width, _), size in zip(bars(part), sizes, strict=True)]
    assert ticks == {("0", "10 GiB", "20 GiB", "30 GiB")}
    # The larger one of a million tokens fills it; what is too small to be seen is a line.
    (most, full), box = pixels[0], part.locator('[data-part="memory"]').bounding_box()
    assert box["width"] - 110 < most < box["width"] - 90
    for width, size in pixels:
        assert width == pytest.approx(max(most * size / full, 1.5), abs=0.1)
    assert part.locator('[data-part="size"]').all_text_contents() == ["13.5 MiB", "23.8 MiB"]
    # A saved picture says who they are.
    assert ">A gpt-oss-120b, B Kimi Linear 48B-A3B: 256 tokens</text>" in saved(part)


def test_a_model_beyond_its_positions_would_hold(site, bench):
    page = site.figures(bench)
    part = figure(page, "anatomy")
    part.locator('[data-part="first"]').select_option("gpt2")
    part.locator('[data-part="second"]').select_option("llama")
    part.locator('[data-part="length"]').fill("12")
    assert part.locator('[data-part="factor"]').text_content() == "B would hold 14 times as much as A"
    dashed = part.locator('[data-part="bar"][stroke-dasharray]')
    assert dashed.evaluate_all("(all) => all.map((bar) => bar.dataset.side)") == ["first"]
    assert "reads 1,024 tokens at most" in part.inner_text()


def test_strips_bars_and_slider_are_in_one_view_of_a_phone(site, bench):
    part = figure(site.figures(bench, width=390), "anatomy")
    root, strips, memory, length, curves = (
        part.locator(one).first.bounding_box()
        for one in (
            ".attnlab-body",
            '[data-part="strip"]',
            '[data-part="memory"]',
            '[data-part="length"]',
            '[data-part="curves"]',
        )
    )
    assert strips["y"] < curves["y"] < length["y"] < memory["y"]
    assert length["y"] + length["height"] - root["y"] < 480
    assert part.locator(".attnlab-root").bounding_box()["height"] < 640
    assert memory["height"] < 80
    assert curves["height"] >= 200
    assert memory["width"] == curves["width"] > 300


@pytest.mark.parametrize("width", [1280, 390])
def test_what_a_figure_unfolds_has_all_of_its_width(site, width):
    """A cell's code has its place in the line of a caption, and takes none from what stands in a figure."""
    part = figure(site.open(page_of("todays_models"), width=width), "anatomy")
    part.locator('[data-part="differs"]').evaluate("(fold) => (fold.open = true)")
    fold, inner = (part.locator(f'[data-part="differs"]{one}') for one in ("", " > .attnlab-pair"))
    columns = inner.locator(":scope > *").last.bounding_box()
    box = fold.bounding_box()
    assert columns["x"] + columns["width"] == pytest.approx(box["x"] + box["width"], abs=1)


def test_sinks_stand_beside_an_indexer(site, bench):
    page = site.figures(bench)
    part = figure(page, "anatomy")
    part.locator('[data-part="first"]').select_option("deepseek_v32")
    part.locator('[data-part="second"]').select_option("deepseek_v4")
    names = part.locator('[data-part="formula"][data-side="second"] b').evaluate_all(
        "(all) => all.map((b) => b.dataset.name)"
    )
    assert {"sink", "chosen", "pooled", "tied"} <= set(names)
