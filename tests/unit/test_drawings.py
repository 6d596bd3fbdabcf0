"""Drawings through what stands on them: numbers as in the library, no text on another, a small file."""

import itertools
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import torch
from matplotlib import style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patches import Ellipse, FancyArrowPatch, FancyBboxPatch

from attnbook import drawings, plots
from attnbook.drawings import asking, costs, history, models, order, serving, splitting
from attnbook.drawings.pen import Pen
from attnbook.plots import page
from attnlab import attention, masks, positions

DRAWINGS = [(name, narrow) for name in drawings.__all__ for narrow in (False, True)]
NARROWEST, LEAST = 312, 11
"""Pixels: of a drawing on a page of 320, and of a letter there."""
LARGEST = 40_000
"""Characters that a drawing may add to a page."""


def made(name, narrow=False):
    return getattr(drawings, name)(narrow=narrow)


def named(value):
    return value if isinstance(value, str) else "narrow" if value else "wide"


def words(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def boxes(figure):
    """Measure the texts, in points: about, for the page has a typeface of its own, and a narrower one."""
    with style.context(page.STYLE):
        renderer = FigureCanvasAgg(figure).get_renderer()
        texts = [text for axes in figure.axes for text in axes.texts]
        for text in texts:  # the signs that say what is mathematics take no room
            text.set_text(text.get_text().replace("$", "").replace("_", ""))
        return [(text.get_text(), text.get_window_extent(renderer)) for text in texts]


@pytest.mark.parametrize(("name", "narrow"), DRAWINGS, ids=named)
def test_no_text_lies_on_another_or_leaves_the_sheet(name, narrow):
    figure = made(name, narrow)
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


@pytest.mark.parametrize(("name", "narrow"), DRAWINGS, ids=named)
def test_a_drawing_fits_its_page_is_labelled_small_and_the_same_each_time(name, narrow):
    figure = made(name, narrow)
    sizes = [text.get_fontsize() for axes in figure.axes for text in axes.texts]
    if narrow:
        assert min(sizes) * NARROWEST / (72 * figure.get_figwidth()) >= LEAST
        assert figure.get_label() == made(name).get_label()
    else:
        assert figure.get_figwidth() == page.WIDE
        assert figure.get_figheight() <= 5.6
        assert min(sizes) >= 9
    alt = figure.get_label()
    assert 80 < len(alt) < 900
    assert alt.endswith(".")
    text = plots.svg(figure, alt=alt)
    assert text == plots.svg(made(name, narrow), alt=alt)
    assert len(text) < LARGEST
    # Nothing has a colour that the page cannot change.
    left = {colour for colour in re.findall(r"#[0-9a-f]{6}\b", text)} - {*plots.ROLES.values(), plots.ACCENT}
    assert not left, left
    ElementTree.fromstring(text)


@pytest.mark.parametrize(("name", "narrow"), DRAWINGS, ids=named)
def test_a_drawing_ends_above_and_below_where_its_picture_does(name, narrow):
    figure = made(name, narrow)
    drawn = [one for axes in figure.axes for one in (*axes.texts, *axes.patches, *axes.lines)]
    ends = [end for one in drawn for end in one.get_window_extent().intervaly]
    assert 0 < min(ends) < 6
    assert 0 < figure.bbox.y1 - max(ends) < 6


@pytest.mark.parametrize("narrow", [False, True], ids=named)
def test_symbols_are_slanted_and_their_indices_small_low_and_in_one_text(narrow):
    wanted = {"flow": "n × dmodel", "heads": "h × n × dhead", "stack": "n × dmodel", "encoder_decoder": "h1"}
    for name, whole in wanted.items():
        picture = ElementTree.fromstring(plots.svg(made(name, narrow), alt=name))
        texts = [text for text in picture.iter() if text.tag.endswith("text")]
        found = [text for text in texts if "".join(text.itertext()) == whole]
        assert found, name
        *letters, index = list(found[0])
        assert all("italic" in letter.get("style") and len(letter.text) == 1 for letter in letters)
        assert not (letters[-1].tail or "").strip(), "no gap before the index"
        assert "font-size: 70%" in index.get("style")
        assert index.get("dy") == "0.36em"
        assert "italic" not in index.get("style"), "a word or a number"
    for name in drawings.__all__:
        assert "$" not in plots.svg(made(name, narrow), alt=name)
    # What comes behind an index stands on the line again.
    pen = Pen(2, 1)
    pen.text(1, 0.5, "each $d_k$ wide")
    assert '<tspan dy="-0.25em"> wide</tspan>' in plots.svg(pen.figure, alt="widths")


@pytest.mark.parametrize("name", drawings.__all__)
def test_a_drawing_is_shown_with_its_own_words(name, capsys):
    plots.show(getattr(drawings, name))
    assert capsys.readouterr().out == f"<{made(name).get_label()}>\n"
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


def test_the_bars_of_the_curves_are_the_weights():
    lines = [line for axes in drawings.regression().axes for line in axes.lines]
    bars = [-(line.get_ydata()[1] - line.get_ydata()[0]) for line in lines if line.get_linewidth() == 5]
    weights = [asking.kernel_weights(torch.tensor([asking.QUERY]), w)[0] for w in asking.WIDTHS.values()]
    assert torch.allclose(torch.tensor(bars, dtype=torch.float64), asking.TALL * torch.cat(weights))


def test_the_flow_has_the_numbers_of_the_library():
    x, q, k, v = (torch.tensor(rows, dtype=torch.float64) for rows in asking.TOKENS.values())
    w_q, w_k, w_v = torch.tensor([[2.0], [0]]), torch.tensor([[1.0], [1]]), torch.tensor([[1.0, 0], [0, 10]])
    for given, w in ((q, w_q), (k, w_k), (v, w_v)):
        assert torch.equal(given, x @ w.double()), "made by the matrices of the chapter"
    row = q[:1] @ k.T
    want = [f"{n:g}" for n in row[0].tolist()]
    want += [f"{n:.2f}" for n in (*row.softmax(-1)[0], *attention(q, k, v)[0])]
    assert set(want) <= set(words(drawings.flow()))


@pytest.mark.parametrize("narrow", [False, True], ids=named)
def test_what_a_part_found_is_led_to_the_ring_that_adds_it(narrow):
    figure = drawings.stack(narrow=narrow)
    patches = figure.axes[0].patches
    tips = [one.get_window_extent().x0 for one in patches if isinstance(one, FancyArrowPatch)]
    rings = [one.get_window_extent() for one in patches if isinstance(one, Ellipse) and not one.get_fill()]
    assert len(rings) == 2
    for ring in rings:
        assert min(abs(tip - ring.x1) for tip in tips) < 0.03 * figure.dpi


@pytest.mark.parametrize(
    ("name", "spent"),
    [("stack", ("query",)), ("two_stacks", ("query", "key", "value")), ("paths", ()), ("pages", ()),
     ("window_tiles", ("query", "key"))],
)  # fmt: skip
def test_what_is_no_query_key_value_or_output_has_another_colour(name, spent):
    text = plots.svg(made(name), alt=name)
    assert [role for role in plots.ROLES if f"var(--attn-{role}" in text] == list(spent)


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


def test_a_page_serves_all_texts_with_the_same_words_in_it_and_before_it():
    one, other = held = serving.tables(serving.TEXTS, serving.SIZE, serving.FREE)
    shared = len(serving.BEGINNING) // serving.SIZE
    assert one[:shared] == other[:shared]
    assert not set(one[shared:]) & set(other[shared:])
    kept = {}  # page -> the words that it holds and those before
    for text, table in zip(serving.TEXTS, held, strict=True):
        for at, number in enumerate(table, start=1):
            until = text[: at * serving.SIZE]
            assert kept.setdefault(number, until) == until
    shown = words(drawings.pages())
    assert [text for text in shown if text.isdigit()] == [str(number) for number in range(serving.ROOM)]
    said = [text for text in shown if "words" in text]
    assert said == ["11 words, in pages 2, 0, 5", "14 words, in pages 2, 0, 7, 3"]
    # The same words elsewhere are other keys, and a page that is not full is nobody else's.
    assert serving.tables(["abab", "ab"], 2, range(9)) == [[0, 1], [0]]
    assert serving.tables(["abc", "abc"], 2, range(9)) == [[0, 1], [0, 2]]


def test_the_waves_are_the_sinusoids_and_the_columns_are_read_off_them():
    figure = drawings.waves()
    table = positions.sinusoidal(order.N + 1, order.D_MODEL)
    shown = [text.replace("−", "-") for text in words(figure) if "." in text]
    want = [f"{float(table[at, entry]):.2f}" for entry in range(order.SHOWN) for at in order.READ]
    assert shown == want
    long = [line for line in figure.axes[0].lines if len(line.get_xdata()) > order.N]
    assert len(long) == order.SHOWN
    for entry, line in enumerate(long):
        x, y = (torch.as_tensor(part) for part in line.get_data())
        place = (x - x[0]) / (x[-1] - x[0]) * order.N
        # A wave about its base, whose height is that of the sine's first point.
        base = long[entry - entry % 2].get_ydata()[0]
        wave = (base - y) / 0.28
        assert torch.allclose(
            wave, positions.sinusoidal_at(place, order.D_MODEL)[:, entry].double(), atol=1e-5
        )


def test_a_cell_lands_where_torch_puts_it():
    n, h, d = 3, splitting.N_HEADS, splitting.D_HEAD
    x, right, wrong = splitting.numbered()
    assert torch.equal(right, x.unflatten(-1, (h, d)).transpose(0, 1))
    assert torch.equal(wrong, x.reshape(h, n, d))
    numbers = [int(text) for text in words(drawings.reshape()) if text.isdigit()]
    want = [part.flatten().tolist() for heads in (right, wrong) for part in (x, *heads)]
    assert numbers == list(itertools.chain(*want))
    # Whose numbers a row of a head holds: its own token's, or another's.
    whose = [text for text in words(drawings.reshape()) if text in splitting.WORDS]
    owners = [[splitting.WORDS[number // x.shape[1]] for number in part[:, 0].tolist()]
              for heads in (right, wrong) for part in (x, *heads)]  # fmt: skip
    assert whose == list(itertools.chain(*owners))


def test_every_head_has_weights_of_its_own():
    one, other = splitting.weights_of_heads()
    assert torch.allclose(one.sum(-1), torch.ones(3, dtype=torch.float64))
    assert (one.argmax(-1) != other.argmax(-1)).any()


def test_the_asked_states_are_weighed_by_the_additive_score():
    h = torch.tensor([-3.0, -1.0, 1.0, 3.0], dtype=torch.float64)
    bump = 2 * torch.tanh(1 + h + 1) - 2 * torch.tanh(1 + h - 1)
    assert torch.allclose(models.asked_states(), bump.softmax(-1))
    figure = drawings.encoder_decoder()
    assert ", ".join(f"{w:.2f}" for w in models.asked_states()) in figure.get_label()
    fed_back = [arrow for arrow in figure.axes[0].patches if isinstance(arrow.get_linestyle(), tuple)]
    assert len(fed_back) == 2 * 2, "each of two decoders reads two of the words that it wrote"


def test_a_route_is_as_long_as_layers_are_needed():
    for sees in costs.SIGHTS.values():
        sight = sees(costs.LENGTH)
        seen, layers = torch.eye(costs.LENGTH, dtype=torch.bool), 0
        while not seen[-1, 0]:
            seen, layers = (sight.float() @ seen.float()) > 0, layers + 1
        places = costs.route(sight)
        assert len(places) - 1 == layers
        assert all(sight[b, a] for a, b in itertools.pairwise(places))
    said = [text for text in words(drawings.paths()) if "way" in text]
    assert said == ["7 steps on the way", "4 layers on the way", "1 layer on the way"]
    assert costs.route(masks.causal(1)) == [0]


@pytest.mark.parametrize("narrow", [False, True], ids=named)
def test_a_layer_is_drawn_as_the_interactive_one_is(narrow):
    drawn = {name: getattr(drawings, name)(narrow=narrow) for name in ("stack", "two_stacks")}
    for figure in drawn.values():
        assert "feed-forward network" in words(figure), "the text's term"
        assert min(text.get_fontsize() for text in figure.axes[0].texts) >= 10.5, "14 pixels"
        boxes = [one for one in figure.axes[0].patches if isinstance(one, FancyBboxPatch)]
        assert {box.get_linewidth() for box in boxes} == {0, models.HEAVY}
    # What is repeated stands on one ground, which says so, and nothing else does.
    axes = drawn["stack"].axes[0]
    boxes = [one for one in axes.patches if isinstance(one, FancyBboxPatch)]
    ground = boxes[0].get_window_extent()
    inside = [text.get_text() for text in axes.texts if ground.contains(*text.get_window_extent().min)]
    assert [text for text in inside if text not in ("$n × d_model$", "+")] == [
        "in each of $N$ layers",
        *("norm", "attention", "tokens hear each other"),
        *("norm", "feed-forward network", "each token by itself"),
    ]


def test_the_first_transformer_says_what_its_cross_attention_gets():
    assert {"queries", "keys", "values"} <= set(words(drawings.two_stacks()))


def test_a_pen_writes_one_line_and_gives_its_sheet_a_label():
    pen = Pen(2, 1, narrow=True)
    with pytest.raises(ValueError, match="one line, got 'a\\\\nb'"):
        pen.text(1, 0.5, "a\nb")
    pen.bracket((0.5, 0.8), (0.5, 0.2))
    assert pen.axes.lines[0].get_xdata().tolist() == [0.5, 0.42, 0.42, 0.5], "upwards, left is left"
    assert pen.figure_of("A bracket.").get_label() == "A bracket."


def test_the_tiles_of_a_window_hold_every_pair_that_counts_and_little_else():
    figure = drawings.window_tiles()
    band = masks.window(7, 2, 0)
    assert f"{band.sum()} cells are in the window" in figure.get_label()
    # Tokens stand once on each side; padding fills the first block of keys and the last block of both.
    shown = words(figure)
    assert all(shown.count(str(place)) == 2 for place in range(7))
    assert shown.count("pad") == 4
    row, column = band.nonzero().T
    assert ((row // 2 - column // 2 == 0) | (row // 2 - column // 2 == 1)).all(), "no pair lies outside"


def test_what_is_kept_of_a_token_has_the_area_of_its_numbers():
    figure = drawings.kept_of_a_token()
    filled = [patch.get_path().get_extents() for patch in figure.axes[0].patches if patch.get_fill()]
    parts = [rows * width for _, rows, each in serving.KEPT for _, width in each]
    areas = [box.width * box.height for box in filled]
    assert [area / areas[0] for area in areas] == pytest.approx([part / parts[0] for part in parts])
    # One mark: squares side by side on one line, or the longest hairline looks like the most.
    for narrow in (False, True):
        axes = drawings.kept_of_a_token(narrow=narrow).axes[0]
        drawn = [patch.get_window_extent() for patch in axes.patches if patch.get_fill()]
        for one in (drawn[:2], drawn[2:4], drawn[4:6], drawn[6:]):
            assert [box.height for box in one] == pytest.approx([one[-1].x1 - one[0].x0] * len(one))
            assert one[0].y0 == pytest.approx(drawn[0].y0)
    assert parts == [128 * 128, 128 * 128, 8 * 128, 8 * 128, 512, 64, 512 / 4]
    assert "32,768" in figure.get_label()
    assert "576" in figure.get_label()


def test_the_family_has_the_years_of_its_sources_and_no_two_changes_in_one_place():
    sources = Path(__file__).parents[2] / "chapters/references.bib"
    entries = re.split(r"\n@\w+\{", sources.read_text(encoding="utf-8"))
    years = {
        entry.split(",")[0].split("{")[-1]: int(re.search(r"year\s*= \{(\d+)\}", entry)[1])
        for entry in entries
    }
    changes = [change for branch in history.PLACES.values() for change in branch]
    assert {key: year for year, _, key in changes} == {key: years[key] for _, _, key in changes}
    assert years[history.ROOT[1]] == history.ROOT[0]
    for branch in history.PLACES.values():
        when = [year for year, *_ in branch]
        assert when == sorted(set(when))
    written = words(drawings.family())
    for _, name, _ in changes:
        assert name in written


def test_every_change_of_the_family_has_a_picture_of_its_own_that_shows_it():
    drawn = {}
    for _, name, _ in (change for branch in history.PLACES.values() for change in branch):
        pen = Pen(1, 1)
        history.PICTURES[name](pen, 0.2, 0.2)
        boxes = [one.get_window_extent() for one in (*pen.axes.patches, *pen.axes.lines)]
        dpi, apart = pen.figure.dpi, pen.apart
        assert min(box.x0 for box in boxes) >= (0.2 - 0.02) * apart * dpi, name
        assert max(box.x1 for box in boxes) <= (0.2 + history.SIDE + 0.02) * apart * dpi, name
        assert max(box.height for box in boxes) <= (history.SIDE + 0.04) * dpi, name
        drawn[name] = plots.svg(pen.figure, alt="x")
    assert len(set(drawn.values())) == len(drawn) == len(history.PICTURES) == 14
    # The masks are the library's, and no one looks ahead.
    assert torch.equal(history.LOOKED_AT["window"], masks.window(8, 2, 0))
    assert torch.equal(history.LOOKED_AT["patterns"], masks.fixed(8, 4))
    for seen in history.LOOKED_AT.values():
        assert not seen.triu(1).any()
        assert seen.diagonal().all()
    assert (history.LOOKED_AT["indexer"].sum(1) <= 3).all(), "an indexer keeps a few"
