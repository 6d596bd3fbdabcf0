"""Drawings through what stands on them: numbers as in the library, no text on another, a small file."""

import itertools
import re
import xml.etree.ElementTree as ElementTree

import pytest
import torch
from matplotlib import style
from matplotlib.backends.backend_agg import FigureCanvasAgg

from attnbook import drawings, plots
from attnbook.drawings import asking
from attnbook.drawings.pen import Pen
from attnbook.plots import page
from attnlab import attention

DRAWINGS = [(name,) for name in drawings.__all__]
LARGEST = 40_000
"""Characters that a drawing may add to a page."""


def made(name, *arguments):
    return getattr(drawings, name)(*arguments)


def words(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def boxes(figure):
    """Measure the texts, in points: about, for the page has a typeface of its own, and a narrower one."""
    with style.context(page.STYLE):
        renderer = FigureCanvasAgg(figure).get_renderer()
        texts = [text for axes in figure.axes for text in axes.texts]
        return [(text.get_text(), text.get_window_extent(renderer)) for text in texts]


@pytest.mark.parametrize("drawing", DRAWINGS, ids="-".join)
def test_no_text_lies_on_another_or_leaves_the_sheet(drawing):
    figure = made(*drawing)
    found = boxes(figure)
    assert found
    sheet = figure.bbox
    for text, box in found:
        assert sheet.x0 <= box.x0 < box.x1 <= sheet.x1, text
        assert sheet.y0 <= box.y0 < box.y1 <= sheet.y1, text
    for (one, a), (other, b) in itertools.combinations(found, 2):
        # The box of a line has room for letters that hang down; an index stands in it.
        wide = min(a.x1, b.x1) - max(a.x0, b.x0)
        high = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert wide <= 1 or high <= 0.15 * min(a.height, b.height), f"{one} and {other}"


@pytest.mark.parametrize("drawing", DRAWINGS, ids="-".join)
def test_a_drawing_is_narrow_labelled_small_and_the_same_each_time(drawing):
    figure = made(*drawing)
    assert figure.get_figwidth() <= 4.8
    alt = figure.get_label()
    assert 80 < len(alt) < 900
    assert alt.endswith(".")
    text = plots.svg(figure, alt=alt)
    assert text == plots.svg(made(*drawing), alt=alt)
    assert len(text) < LARGEST
    # Nothing has a colour that the page cannot change.
    left = {colour for colour in re.findall(r"#[0-9a-f]{6}\b", text)} - set(plots.ROLES.values())
    assert not left, left
    ElementTree.fromstring(text)


@pytest.mark.parametrize("drawing", DRAWINGS, ids="-".join)
def test_a_drawing_is_shown_with_its_own_words(drawing, capsys):
    figure = made(*drawing)
    plots.show(figure)
    assert capsys.readouterr().out == f"<{figure.get_label()}>\n"
    sizes = {text.get_fontsize() for axes in figure.axes for text in axes.texts}
    assert min(sizes) >= 8
    with pytest.raises(ValueError, match="alt must say in words"):
        plots.show(plots.new()[0])


def test_the_curves_are_weighted_means_and_a_narrow_kernel_hears_the_nearest():
    x = torch.linspace(0, 7, 29, dtype=torch.float64)
    for width in asking.WIDTHS.values():
        bell = torch.exp(-((x[:, None] - asking.PLACES) ** 2) / (2 * width**2))
        assert torch.allclose(asking.kernel_weights(x, width), bell / bell.sum(1, keepdim=True))
    narrow, wide = (asking.kernel_weights(torch.tensor([asking.QUERY]), w)[0] for w in asking.WIDTHS.values())
    assert narrow.max() > 0.85 > 0.35 > wide.max()
    said = re.findall(r"\d\.\d\d", drawings.regression().get_label())
    assert said == [f"{float(w @ asking.HEIGHTS):.2f}" for w in (narrow, wide)]


def test_the_flow_has_the_numbers_of_the_library():
    x, q, k, v = (torch.tensor(rows, dtype=torch.float64) for rows in asking.TOKENS.values())
    w_q, w_k, w_v = torch.tensor([[2.0], [0]]), torch.tensor([[1.0], [1]]), torch.tensor([[1.0, 0], [0, 10]])
    for given, w in ((q, w_q), (k, w_k), (v, w_v)):
        assert torch.equal(given, x @ w.double()), "made by the matrices of the chapter"
    scores = q[:1] @ k.T
    want = [f"{n:g}" for n in scores[0].tolist()]
    want += [f"{n:.2f}" for n in (*scores.softmax(-1)[0], *attention(q, k, v)[0])]
    assert set(want) <= set(words(drawings.flow()))


def test_a_pass_asks_once_for_each_word_that_it_reads():
    shown = words(drawings.cache())
    counts = [text for text in shown if "quer" in text]
    assert counts == [
        "2 queries, 2 keys",
        "1 query, 3 keys, 2 kept",
        "1 query, 4 keys, 3 kept",
        "1 query, 5 keys, 4 kept",
    ]
    # Every word is a query in one pass, and a key in that pass and all later ones.
    assert [shown.count(word) for word in ("I", "a", "too")] == [1 + 4, 1 + 3, 1 + 1]


def test_a_pen_writes_one_line_and_gives_its_sheet_a_label():
    pen = Pen(2, 1)
    with pytest.raises(ValueError, match="one line, got 'a\\\\nb'"):
        pen.text(1, 0.5, "a\nb")
    pen.bracket((0.5, 0.8), (0.5, 0.2))
    assert pen.axes.lines[0].get_xdata().tolist() == [0.5, 0.42, 0.42, 0.5], "upwards, left is left"
    assert pen.figure_of("A bracket.").get_label() == "A bracket."
