"""Two models side by side in a page of the book, against what Python computes from the census."""

import pytest

from attnbook import census
from attnbook.widgets import Anatomy

from .reader import figure, middle, table


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


def test_strips_have_a_bar_a_layer_and_what_differs_is_lit(site, bench):
    page = site.figures(bench)
    part = figure(page, "anatomy")
    part.locator('[data-part="first"]').select_option("llama")
    part.locator('[data-part="second"]').select_option("gpt_oss")
    strip = part.locator('[data-part="strip"][data-side="second"] > g')
    kinds = strip.evaluate_all("(bars) => bars.map((bar) => bar.dataset.kind).join('')")
    assert kinds == census.checkpoint("gpt_oss")["strip"]
    lit = part.locator('[data-part="formula"][data-side="second"] b[data-lit]')
    assert {"sink", "windows", "grouped"} == set(lit.evaluate_all("(all) => all.map((b) => b.dataset.name)"))
    assert part.locator('[data-part="formula"][data-side="first"] b[data-lit]').count() == 0


def test_a_root_that_a_model_left_out_is_lit(site, bench):
    page = site.figures(bench)
    part = figure(page, "anatomy")
    part.locator('[data-part="first"]').select_option("gemma3_text")
    part.locator('[data-part="second"]').select_option("gemma4_text")
    said = [part.locator(f'[data-part="formula"][data-side="{side}"]') for side in ("first", "second")]
    lit = [one.locator('b[data-name="root"][data-lit]').inner_text() for one in said]
    assert lit == ["√168", "not divided by √d"]
    assert ["√d)" in one.inner_text() for one in said] == [False, False]


def test_two_caches_can_be_made_equal_and_a_legend_says_what_is_lit(site, bench):
    page = site.figures(bench)
    part = figure(page, "anatomy")
    part.locator('[data-part="first"]').select_option("gpt_oss")
    part.locator('[data-part="second"]').select_option("kimi_linear")
    assert "underlined: not as in the other model" in part.locator('[data-part="legend"]').inner_text()
    part.locator('[data-part="length"]').fill(str(9 + 20 / 64))
    _, (one, other) = shown(part)
    assert one == pytest.approx(other, rel=0.005)
    assert part.locator(".attnlab-status, [role=status]").first.inner_text().endswith(", as much.")


@pytest.mark.parametrize("width", [1280, 390])
def test_curves_stand_right_below_the_formulas_and_have_room_to_rise(site, bench, width):
    part = figure(site.figures(bench, width=width), "anatomy")
    lists, legend, curves = (
        part.locator(one).last.bounding_box()
        for one in ('[data-part="formula"]', '[data-part="legend"]', '[data-part="curves"]')
    )
    assert 0 <= legend["y"] - lists["y"] - lists["height"] < 10
    assert curves["height"] >= 150


def test_sinks_stand_beside_an_indexer(site, bench):
    page = site.figures(bench)
    part = figure(page, "anatomy")
    part.locator('[data-part="first"]').select_option("deepseek_v32")
    part.locator('[data-part="second"]').select_option("deepseek_v4")
    names = part.locator('[data-part="formula"][data-side="second"] b').evaluate_all(
        "(all) => all.map((b) => b.dataset.name)"
    )
    assert {"sink", "chosen", "pooled", "tied"} <= set(names)
