"""Plots through the numbers they draw, and the SVG through what a page needs of it."""

import math
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import matplotlib as mpl
import pytest
import torch

from attnbook import plots
from attnbook.plots import page
from attnlab import masks


def drawn(axes):
    return [text.get_text() for text in axes.texts]


def test_a_heat_map_writes_and_shades_every_number():
    _, axes = plots.new()
    weights = torch.tensor([[0.34, 0.65, 0.01], [0.0, 1.0, 0.0]])
    plots.heatmap(weights, ["saw", "a"], ["I", "saw", "a"], axes)
    assert drawn(axes) == ["0.34", "0.65", "0.01", "0.00", "1.00", "0.00"]
    shades = [patch.get_alpha() for patch in axes.patches if patch.get_fill()]
    assert shades == pytest.approx([0.52 * w for w in weights.flatten().tolist()])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["saw", "a"]


def test_signed_values_take_their_colour_from_the_sign():
    _, axes = plots.new()
    plots.heatmap(torch.tensor([[2.0, -1.0, -0.001]]), ["q"], ["a", "b", "c"], axes, signed=True)
    assert drawn(axes) == ["2.00", "−1.00", "0.00"]
    cells = [patch for patch in axes.patches if patch.get_fill()]
    assert [mpl.colors.to_hex(c.get_facecolor()) for c in cells] == [
        plots.ROLES[r] for r in ("query", "key", "key")
    ]
    assert [c.get_alpha() for c in cells] == pytest.approx([0.52, 0.26, 0.00026])


def test_a_heat_map_without_numbers_shades_only_what_can_be_seen():
    _, axes = plots.new()
    plots.heatmap(torch.tensor([[0.5, 0.004], [0.0, 1.0]]), ["a", "b"], ["c", "d"], axes, decimals=None)
    assert not drawn(axes)
    assert [(c.get_x(), c.get_y(), c.get_alpha()) for c in axes.patches] == [(0, 0, 0.26), (1, 1, 0.52)]


def test_dots_stand_at_their_numbers_and_a_missing_one_is_left_out():
    figure, axes = plots.new()
    plots.dots(axes, ["lookup", "attention"], {"all": [89.5, 91.2], "strong": [float("nan"), 76.5]})
    assert drawn(axes) == ["89.5", "91.2", "76.5"]
    assert [line.get_xdata().tolist() for line in axes.lines] == [[89.5, 91.2], [76.5]]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["all", "strong"]
    assert "lookup" in plots.svg(figure, alt="two taggers")


def test_lines_stand_at_their_numbers_within_their_bands():
    _, axes = plots.new()
    numbers = {"with": [1.0, 2.0, float("nan")], "without": [4.0, 5.0, 6.0]}
    plots.lines(axes, [4, 16, 64], numbers, spread={"without": [1.0, 0.5, 2.0]}, log="x")
    assert [line.get_ydata().tolist()[:2] for line in axes.lines] == [[1.0, 2.0], [4.0, 5.0]]
    assert len({(line.get_color(), line.get_marker(), line.get_linestyle()) for line in axes.lines}) == 2
    band = axes.collections[0].get_paths()[0].vertices
    at_16 = band[band[:, 0] == 16][:, 1]
    assert (at_16.min(), at_16.max()) == (4.5, 5.5)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["4", "16", "64"]
    assert axes.get_xscale() == "log"
    assert axes.get_yscale() == "linear"


def test_series_without_a_role_have_no_roles_colour_and_at_most_one_has_a_hue():
    figure, (left, middle, right) = plots.new(columns=3)
    six = {str(number): [number, number] for number in range(6)}
    four = dict(list(six.items())[:4])
    plots.lines(left, [0, 1], six)
    plots.dots(middle, ["a", "b"], four)
    plots.histogram(right, {label: torch.tensor(row).float() for label, row in four.items()})
    looks = [(line.get_color(), line.get_linestyle()) for line in left.lines]
    assert len(set(looks)) == 6
    assert [colour for colour, _ in looks if colour not in (plots.INK, plots.QUIET)] == [plots.ACCENT]
    assert looks[0][0] == plots.ACCENT
    assert [line.get_color() for line in middle.lines] == [colour for colour, _ in looks[:4]]
    assert not [colour for colour in plots.ROLES.values() if colour in plots.svg(figure, alt="series")]


def test_series_in_an_order_go_from_light_to_dark_in_one_hue():
    figure, axes = plots.new()
    plots.lines(axes, [0, 1], {"1": [0, 1], "2": [1, 1], "3": [1, 2]}, ordered=True)
    colours = [mpl.colors.to_rgb(line.get_color()) for line in axes.lines]
    hues, _, lights = mpl.colors.rgb_to_hsv(colours).T
    assert max(hues) - min(hues) < 0.02
    assert list(lights) == sorted(lights, reverse=True)
    assert len({line.get_linestyle() for line in axes.lines}) == 3
    text = plots.svg(figure, alt="depths")
    assert all(f"var(--attn-step-{number}, {colour})" in text for number, colour in enumerate(plots.STEPS, 1))
    with pytest.raises(ValueError, match="at most 3, got 4"):
        plots.lines(axes, [], {str(i): [] for i in range(4)}, ordered=True)


def test_the_first_of_some_lines_may_have_a_roles_colour():
    _, axes = plots.new()
    plots.lines(axes, [0, 1], {"weight": [0, 1], "slope": [1, 0]}, colour=plots.ROLES["query"])
    assert [line.get_color() for line in axes.lines] == [plots.ROLES["query"], plots.INK]


def test_every_colour_of_a_plot_can_be_read_as_text_on_the_page_and_on_a_dark_one():
    sheet = (Path(__file__).parents[2] / "_static/attnlab.css").read_text(encoding="utf-8")
    light, dark = (
        dict(re.findall(r"--attn-([\w-]+): (#[0-9a-f]{6})", sheet.split(start, 1)[1].split("}")[0]))
        for start in ('html[data-theme="light"] {', 'html[data-theme="dark"] {')
    )
    names = {**plots.ROLES, "accent": plots.ACCENT, "quiet": plots.QUIET}
    names |= {f"step-{number}": colour for number, colour in enumerate(plots.STEPS, 1)}

    def luminance(colour):
        parts = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in mpl.colors.to_rgb(colour)
        ]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    for page_colours in (light, dark):
        paper = luminance(page_colours["paper"])
        for name, colour in names.items():
            here = luminance(page_colours[name])
            least, most = sorted((here, paper))
            assert (most + 0.05) / (least + 0.05) >= 4.5, name
            assert page_colours is dark or page_colours[name] == colour


def test_a_curve_has_no_beads():
    _, axes = plots.new()
    plots.lines(axes, range(20), {"measured": range(20)})
    plots.lines(axes, range(21), {"a curve": range(21)})
    assert [line.get_marker() for line in axes.lines] == ["o", ""]


def test_names_stand_on_their_lines_in_their_colours_instead_of_a_legend():
    figure, axes = plots.new()
    plots.lines(axes, [0, 4], {"weight $p$": [0.0, 1.0], "flat": [0.5, 0.5]})
    plots.name(axes, {"flat": (1, "below right"), "weight $p$": (3, "left")})
    flat, weight = axes.texts
    assert (flat.xy, weight.xy) == ((1, 0.5), (3, 0.75))
    assert (flat.xyann, weight.xyann) == ((5, -5), (-5, 0))
    assert (flat.get_ha(), flat.get_va()) == ("left", "top")
    assert (weight.get_ha(), weight.get_va()) == ("right", "center")
    assert (flat.get_color(), weight.get_color()) == (plots.INK, plots.ACCENT)
    assert axes.get_legend() is None
    assert "$" not in plots.svg(figure, alt="two lines")


def test_a_histogram_is_a_density_over_bins_that_its_sets_share():
    _, axes = plots.new()
    samples = {"narrow": torch.tensor([0.0, 0.1, 0.2, 0.3]), "wide": torch.tensor([[-2.0, 2.0], [0.1, 0.3]])}
    plots.histogram(axes, samples, bins=4, curve=lambda x: torch.exp(-x.square() / 2))
    filled = [patch.get_data() for patch in axes.patches if patch.get_fill()]
    assert [data.edges.tolist() for data in filled] == [[-2.0, -1.0, 0.0, 1.0, 2.0]] * 2
    assert [data.values.tolist() for data in filled] == [[0, 0, 1, 0], [0.25, 0, 0.5, 0.25]]
    x, y = axes.lines[0].get_data()
    assert y[100] == 1.0
    assert x[100] == pytest.approx(0.0, abs=1e-12)


def test_arcs_are_as_thick_as_their_weights_and_end_at_their_keys():
    _, axes = plots.new()
    weights = torch.tensor([[0.75, 0.24, 0.01], [0.0, 0.5, 0.5]])
    plots.arcs(axes, weights, ["saw", "a"], ["I", "saw", "a"])
    ends = [(*patch.get_path().vertices[0], *patch.get_path().vertices[-1]) for patch in axes.patches]
    want = [(1 / 4, 1, 1 / 6, 0), (1 / 4, 1, 3 / 6, 0), (3 / 4, 1, 3 / 6, 0), (3 / 4, 1, 5 / 6, 0)]
    assert torch.allclose(torch.tensor(ends).double(), torch.tensor(want).double())
    widths = [patch.get_linewidth() for patch in axes.patches]
    assert widths == pytest.approx([5.0, 1.94, 3.5, 3.5])


def test_a_drawn_mask_fills_what_is_allowed():
    _, axes = plots.new()
    allowed = masks.window(5, 1, 0)
    plots.mask(axes, allowed, list("abcde"), list("abcde"))
    cells = [(int(p.get_y()), int(p.get_x())) for p in axes.patches if p.get_fill()]
    assert cells == [tuple(cell) for cell in allowed.nonzero().tolist()]
    assert [label.get_text() for label in axes.get_yticklabels()] == list("abcde")


def test_the_svg_takes_its_colours_and_type_from_the_page():
    figure, axes = plots.new()
    plots.heatmap(torch.tensor([[0.5]]), ["q"], ["k"], axes)
    axes.plot([0, 1], [0, 1], color=plots.ACCENT)
    text = plots.svg(figure, alt='a "quoted" <alt>')
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img"
    assert root.get("aria-label") == 'a "quoted" <alt>'
    assert plots.INK not in text
    assert "currentColor" in text
    assert "var(--attn-query, #0069a8)" in text
    assert "var(--attn-accent, #8a6100)" in text
    assert not re.search(r"<style|<metadata|DejaVu|<!--", text)
    assert {e.text.strip() for e in root.iter("{http://www.w3.org/2000/svg}text")} == {"q", "k", "0.50"}


def test_the_same_figure_gives_the_same_text_and_two_share_no_identifier():
    def make(number):
        figure, axes = plots.new()
        plots.dots(axes, ["a"], {"x": [number]})
        return plots.svg(figure, alt="one dot")

    assert make(1.0) == make(1.0)
    ids = [set(re.findall(r'\bid="([^"]+)"', make(number))) for number in (1.0, 2.0)]
    assert ids[0]
    assert not ids[0] & ids[1]
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', make(1.0))) <= ids[0]


def test_the_last_digits_of_a_processor_are_not_drawn():
    def make(noise):
        figure, axes = plots.new()
        plots.lines(axes, [1, 2, 3], {"x": [0.1 + noise, 0.4, 0.25 - noise]})
        return plots.svg(figure, alt="a line")

    assert make(0.0) == make(1e-7)
    assert make(0.0) != make(1e-2)
    assert not re.search(r'\b[xyd]="[^"]*\.\d{3}', make(0.0))


def test_showing_leaves_the_readers_settings_alone(capsys):
    mpl.rcParams["font.size"] = 23.0
    figure, _ = plots.new()
    plots.show(figure, alt="an empty frame", caption="A <caption>.")
    assert capsys.readouterr().out == "<an empty frame>\n"
    assert mpl.rcParams["font.size"] == 23.0
    mpl.rcdefaults()


def shown(monkeypatch, *arguments, **settings):
    """What a page gets, and its two pictures' widths in pixels."""
    got = []
    monkeypatch.setattr(page, "display", got.append)
    plots.show(*arguments, **settings)
    html = got[0]._repr_html_()
    return html, [int(wide) for wide in re.findall(r"\bwidth: (\d+)px", html)]


def test_a_plot_is_shown_for_the_column_and_for_a_phone(monkeypatch):
    figure, axes = plots.new()
    names = ["a short one", "queries, keys, values, never itself"]
    plots.dots(axes, names, {"x": [1.0, 2.0]})
    html, widths = shown(monkeypatch, figure, alt="two dots", caption="A <caption>.")
    assert html.startswith('<figure class="attnlab-plot"><svg role="img"')
    assert html.endswith("<figcaption>A &lt;caption&gt;.</figcaption></figure>")
    assert widths[0] == round(96 * page.WIDE)
    assert 320 < widths[1] < 360
    assert html.count('aria-label="two dots"') == 2
    # Where there is no style sheet of the book's, the second is not seen.
    assert html.count('<svg role="img"') == 2
    assert html.count('class="narrow" style="display: none; ') == 1
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    assert shown(monkeypatch, figure, alt="two dots", caption="A <caption>.")[0] == html
    assert figure.get_size_inches().tolist() == [page.WIDE, 3.0]


def test_long_names_of_rows_leave_a_phone_the_room_of_the_plot(monkeypatch):
    figure, axes = plots.new()
    plots.dots(axes, ["queries, keys, values, never itself"], {"x": [1.0]})
    rooms, draw = [], page.svg

    def measured(*arguments, **settings):
        text = draw(*arguments, **settings)
        rooms.append(axes.get_position().width)
        return text

    monkeypatch.setattr(page, "svg", measured)
    plots.show(figure, alt="a dot")
    assert rooms[0] < 0.75 < 0.9 < rooms[1]


def test_axes_may_stand_one_below_the_other_on_a_phone(monkeypatch):
    figure, both = plots.new(2.0, columns=2)
    boxes, draw = [], page.svg

    def measured(*arguments, **settings):
        text = draw(*arguments, **settings)
        boxes.append([axes.get_position() for axes in both])
        return text

    monkeypatch.setattr(page, "svg", measured)
    first, again = [shown(monkeypatch, figure, alt="two frames", stacked=True) for _ in range(2)]
    (left, right), (upper, lower) = boxes[:2]
    assert left.x1 < right.x0
    assert (left.y0, left.y1) == (right.y0, right.y1)
    assert upper.y0 > lower.y1
    assert (upper.x0, upper.x1) == (lower.x0, lower.x1)
    assert first == again
    assert figure.get_size_inches().tolist() == [page.WIDE, 2.0]


def test_what_draws_is_asked_for_both(monkeypatch):
    def draw(narrow=False):
        return plots.new(narrow=narrow)[0]

    _, widths = shown(monkeypatch, draw, alt="an empty frame")
    assert widths == [round(96 * inches) for inches in (page.WIDE, page.NARROW)]


def test_a_heat_map_may_have_its_labels_above_its_rows():
    _, axes = plots.new(narrow=True)
    plots.heatmap(torch.tensor([[0.5], [0.25]]), ["one", "other"], ["k"], axes, above=True)
    assert drawn(axes) == ["one", "0.50", "other", "0.25"]
    tops = [patch.get_y() for patch in axes.patches if patch.get_fill()]
    labels = [text.get_position()[1] for text in axes.texts[::2]]
    assert labels[0] < tops[0] < 1 < labels[1] < tops[1]
    assert not axes.get_yticklabels()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda axes: plots.new(columns=0), "columns must be at least 1, got 0"),
        (
            lambda axes: plots.heatmap(torch.ones(2, 3), ["a"], ["b"], axes),
            r"values must have shape \(rows, columns\) = \(1, 1\), got \(2, 3\)",
        ),
        (
            lambda axes: plots.heatmap(torch.tensor([[1.5]]), ["a"], ["b"], axes),
            "between 0 and limit = 1, got 1.5 to 1.5",
        ),
        (
            lambda axes: plots.heatmap(torch.tensor([[-1.0]]), ["a"], ["b"], axes),
            "between 0 and limit = 1, got -1",
        ),
        (lambda axes: plots.dots(axes, ["a"], {"x": [1, 2]}), "series 'x' must have 1 numbers, got 2"),
        (lambda axes: plots.lines(axes, [1], {"x": [1, 2]}), "series 'x' must have 1 numbers, got 2"),
        (lambda axes: plots.lines(axes, [], {str(i): [] for i in range(7)}), "at most 6, got 7"),
        (
            lambda axes: plots.lines(axes, [1], {"x": [1]}, log="z"),
            "or 'xy', got 'z'",
        ),
        (lambda axes: plots.name(axes, {"x": (0, "left")}), "'x' is none"),
        (
            lambda axes: (axes.plot([1], label="x"), plots.name(axes, {"x": (0, "top")})),
            "or right, got 'top'",
        ),
        (lambda axes: plots.histogram(axes, {"x": torch.ones(2)}, bins=1), "bins must be at least 2, got 1"),
        (lambda axes: plots.histogram(axes, {}), "samples must hold 1 to 4 sets, got 0"),
        (
            lambda axes: plots.histogram(axes, {"x": torch.tensor([1, math.nan])}),
            "'x' must be finite",
        ),
        (lambda axes: plots.arcs(axes, torch.ones(1, 2), ["a"], ["b"]), r"\(1, 1\), got \(1, 2\)"),
        (lambda axes: plots.arcs(axes, torch.full((1, 1), 2.0), ["a"], ["b"]), "between 0 and 1, got 2 to 2"),
        (
            lambda axes: plots.arcs(axes, torch.ones(1, 1), ["a"], ["b"], focus=1),
            "focus must be a query",
        ),
        (lambda axes: plots.mask(axes, torch.ones(2, 2)), r"boolean matrix \(n_q, n_k\), got torch.float32"),
        (lambda axes: plots.mask(axes, masks.causal(2), ["a"]), "rows must be 2 labels, got 1"),
        (lambda axes: plots.dots(axes, [], {str(i): [] for i in range(5)}), "at most 4, got 5"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(plots.new()[1])


def test_a_legend_has_the_colour_of_the_text_and_so_turns_light_in_dark_mode():
    _, axes = plots.new()
    plots.lines(axes, [1, 2], {"scaled": [1, 2], "not scaled": [2, 1]})
    texts = axes.get_legend().get_texts()
    assert {mpl.colors.to_hex(text.get_color()) for text in texts} == {plots.INK}
