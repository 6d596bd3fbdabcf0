"""The figures' Python side: what a page and a reader without scripts get, and what an exercise can read."""

import json
import math
import pkgutil
import re
from functools import partial
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import nbformat
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from torch.utils.flop_counter import FlopCounterMode

from attnbook import widgets
from attnbook.tagging import shipped
from attnbook.widgets import linear as linear_figure
from attnbook.widgets import saturation
from attnlab import attention, linear, scores

X = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
W = [[0.5, -1.0], [2.0, 0.25]]


class Cells(HTMLParser):
    """Collect the rows of a table as text, and the attributes of the figure."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.figure, self.tags, self.open = [], {}, [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "figure":
            self.figure = dict(attrs)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.open = True

    def handle_endtag(self, tag):
        self.open = self.open and tag not in ("td", "th")

    def handle_data(self, data):
        if self.open:
            self.rows[-1][-1] += data


ROOT = Path(__file__).parents[2]


def unregistered(figures, exported, page):
    """Say of each class of a figure where it is not named yet, in sentences for whoever adds one."""
    said = []
    for kind in figures:
        if kind.__name__ not in exported:
            said.append(
                f"{kind.__name__} can't be imported from attnbook.widgets: "
                f"in src/attnbook/widgets/__init__.py add `from {kind.__module__} import {kind.__name__}`, "
                "and its name to __all__"
            )
        if f".. autoclass:: attnbook.widgets.{kind.__name__}\n" not in page:
            said.append(
                f"{kind.__name__} is missing in the reference: in chapters/api/figures.md add the line "
                f"`.. autoclass:: attnbook.widgets.{kind.__name__}`"
            )
    return said


def figures():
    """Find the classes of all figures, wherever they are named."""
    modules = [import_module(m.name) for m in pkgutil.iter_modules(widgets.__path__, "attnbook.widgets.")]
    return [
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, widgets.Figure) and kind.__module__ == module.__name__
    ]


def test_every_figure_is_registered():
    page = (ROOT / "chapters/api/figures.md").read_text()
    assert unregistered(figures(), widgets.__all__, page) == []
    assert len(figures()) > 15
    # A script without a class is shown by nobody; host.js is the page's own.
    scripts = {path.stem for path in (ROOT / "src/widgets").glob("*.js")} - {"host"}
    assert {kind.name for kind in figures() if kind is not widgets.Figure} == scripts


def test_a_figure_that_is_not_registered_or_not_finished_is_told_what_is_missing():
    class Bare(widgets.Figure):
        name = "bare"
        state = ()

    first, second = unregistered([Bare], [], "")
    assert "in src/attnbook/widgets/__init__.py add `from" in first
    assert second.endswith("in chapters/api/figures.md add the line `.. autoclass:: attnbook.widgets.Bare`")
    assert unregistered([Bare], ["Bare"], ".. autoclass:: attnbook.widgets.Bare\n") == []
    with pytest.raises(
        NotImplementedError, match=r"Bare must have a method table\(\) that returns its numbers"
    ):
        Bare()._repr_html_()
    with pytest.raises(
        NotImplementedError, match=r"Bare must have a method caption\(\) that returns one sentence"
    ):
        Bare().caption()


def test_a_calculator_says_of_its_numbers_what_is_so():
    eye, ones = [[1.0, 0.0], [0.0, 1.0]], [[-1.0], [1.0]]
    tokens = ["I", "saw"]
    opens = "It opens where “{}” meets “{}”: a score of {}."
    for focus, said in (
        ((0, 0), opens.format("I", "I", "1.00, and none is larger")),
        ((0, 1), opens.format("I", "saw", "−1.00")),
        ((7, 7), opens.format("saw", "saw", "1.00, and none is larger")),  # as the figure reads it
        (None, "Each query and each key is one number here, each value 2 numbers."),
    ):
        assert widgets.Calculator(eye, ones, ones, eye, tokens, stage=3, focus=focus).caption() == said
    for stage in (1, 2, 4):
        views = widgets.Calculator(eye, ones, ones, eye, tokens, stage=stage).caption()
        assert views == "Each query and each key is one number here, each value 2 numbers."
    # Where three stages follow each other, it holds for all of them.
    way = widgets.Calculator(eye, ones, ones, eye, tokens, stage=3, focus=None, only=True).caption()
    assert way == "Each row is one query’s way from its scores to its output."


@pytest.mark.parametrize("hidden", [[], [1], [2, 3], [0, 1, 2, 3]])
def test_what_a_caption_says_of_looks_is_so(hidden):
    tagged = widgets.TagSentence("I saw a saw", word=3, hidden=hidden)
    assert tagged.caption() == "Each word shares out 100 % of looks among the words that are not hidden."
    assert tagged.caption() != widgets.TagSentence("I saw a saw", only=True).caption()
    assert torch.allclose(
        tagged.weights.sum(-1), torch.full((4,), float(len(hidden) < 4))
    )  # all, or none to look at
    assert tagged.weights[:, hidden].count_nonzero() == 0


def test_a_caption_asks_for_no_gesture():
    """The prose above says what to do, and a caption stays under every state."""
    stored = "".join(path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("chapters/*.ipynb")))
    captions = re.findall(r"data-attnlab=[^\n]*?<figcaption>(.*?)</figcaption>", stored)
    assert len(captions) >= 20
    asks = re.compile(
        r"(^|[:;,] (and )?)(drag|press|pick|click|switch|step through|play|paste|hide|set|watch|see)\b", re.I
    )
    for caption in captions:
        assert not asks.search(caption), caption


@pytest.mark.parametrize(
    "make", [lambda: widgets.TagSentence(), lambda: widgets.Calculator(X, W, W, W, "abc")]
)
def test_a_figure_shows_itself_in_both_forms(make):
    figure = make()
    data, _ = figure._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/plain"] == f"<figure: {figure.name}>"
    cells = Cells(data["text/html"])
    assert cells.figure["class"] == "attnlab-figure"
    assert cells.figure["data-attnlab"] == figure.name
    assert json.loads(cells.figure["data-settings"]) == figure.settings()
    assert cells.tags.count("table") == cells.tags.count("figcaption") == 1
    assert data["text/html"] == make()._repr_html_()


def test_it_does_so_where_ipywidgets_would_show_the_view_alone(monkeypatch):
    # As version 7, which Colab has: IPython asks for this method before it asks for a bundle of forms.
    views = []
    monkeypatch.setattr(
        widgets.Figure.__base__, "_ipython_display_", lambda figure: views.append(figure), raising=False
    )
    data, _ = InteractiveShell.instance().display_formatter.format(widgets.TagSentence("I saw a saw"))
    assert views == []
    assert data["text/html"].startswith('<figure class="attnlab-figure"')
    assert "application/vnd.jupyter.widget-view+json" in data


def test_the_calculators_table_holds_torchs_numbers():
    figure = widgets.Calculator(X, W, torch.tensor(W), W, ["I", "saw", "it"], causal=True)
    x, w = torch.tensor(X).double(), torch.tensor(W).double()
    out, weights = attention(x @ w, x @ w, x @ w, is_causal=True, need_weights=True)
    rows = Cells(figure._repr_html_()).rows
    assert rows[0] == ["token", "takes of I", "takes of saw", "takes of it", "output 1", "output 2"]
    got = torch.tensor([[float(cell) for cell in row[1:]] for row in rows[1:]])
    assert torch.allclose(got, torch.cat((weights, out), -1).float(), atol=6e-5)
    assert torch.equal(figure.weights, weights)
    assert torch.equal(figure.output, out)
    assert "votes" not in figure.settings()
    voted = widgets.Calculator(X, W, W, W, "abc", votes=["verb", "noun"])
    assert voted.settings()["votes"] == Cells(voted._repr_html_()).rows[0][-2:] == ["verb", "noun"]
    with pytest.raises(ValueError, match="votes must name the 2 columns of W_v, got 1 names"):
        widgets.Calculator(X, W, W, W, "abc", votes=["verb"])


def test_a_change_of_a_trait_changes_the_numbers():
    figure = widgets.Calculator(X, W, W, W, ["I", "saw", "it"])
    before = figure.weights
    figure.X = [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    assert torch.allclose(figure.weights[2], torch.full((3,), 1 / 3, dtype=torch.float64))
    assert not torch.allclose(figure.weights, before)


def test_the_taggers_table_holds_the_packages_numbers():
    figure = widgets.TagSentence("I saw a saw", word=3, head="2.1")
    tagged = shipped.load().tag("I saw a saw")
    rows = Cells(figure._repr_html_()).rows
    assert [row[:2] for row in rows] == [
        ["word", "tag"],
        *map(list, zip(tagged.tokens, tagged.tags, strict=True)),
    ]
    assert [row[4] for row in rows] == ["hidden", "no", "no", "no", "no"]
    got = torch.tensor([[float(cell) for cell in row[2:4]] for row in rows[1:]])
    want = torch.stack((tagged.probabilities.amax(-1), tagged.weights[1, 0, 3]), -1)
    assert torch.allclose(got, want, atol=6e-5)
    assert figure.tagged.tags == ("PRON", "VERB", "DET", "NOUN")


def test_the_mean_of_the_heads_is_shown_unless_one_is_named():
    weights = shipped.load().tag("I saw a saw").weights
    assert torch.equal(widgets.TagSentence().weights, weights.mean((0, 1)))
    assert torch.equal(widgets.TagSentence(head="1.4").weights, weights[0, 3])


def test_a_word_hidden_in_the_figure_is_hidden_from_the_tagger():
    figure = widgets.TagSentence("I saw a saw", word=3, hidden=[2, 2])
    assert figure.hidden == [2]
    assert figure.tagged.tags == ("PRON", "VERB", "DET", "PROPN")
    assert torch.equal(figure.weights, shipped.load().tag("I saw a saw", hidden=[2]).weights.mean((0, 1)))
    rows = Cells(figure._repr_html_()).rows
    assert rows[3][3:] == ["0.0000", "yes"]
    figure.hidden = []
    assert figure.tagged.tags == ("PRON", "VERB", "DET", "NOUN")


def test_what_is_typed_is_text_and_never_markup():
    sentence = "<script>alert('x')</script> & \"quotes\" <img onerror=x>"
    text = widgets.TagSentence(sentence)._repr_html_()
    cells = Cells(text)
    assert set(cells.tags) == {"figure", "table", "thead", "tbody", "tr", "th", "td", "figcaption"}
    assert json.loads(cells.figure["data-settings"])["sentence"] == sentence
    assert not re.search(r"<(script|img)", text)


def test_names_of_tokens_are_text_and_never_markup():
    names = ["<b>I</b>", "a & b", '"c"']
    cells = Cells(widgets.Calculator(X, W, W, W, names)._repr_html_())
    assert "b" not in cells.tags
    assert [row[0] for row in cells.rows[1:]] == names
    assert cells.rows[0][1:4] == [f"takes of {name}" for name in names]


def test_an_empty_sentence_has_an_empty_table():
    assert Cells(widgets.TagSentence("")._repr_html_()).rows == [
        ["word", "tag", "probability", "weight", "hidden"]
    ]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: widgets.TagSentence(3), TypeError, "sentence must be a str, got int"),
        (lambda: widgets.TagSentence("I saw", word=2), ValueError, "word must be from 0 to 1, .* got 2"),
        (
            lambda: widgets.TagSentence("I saw", hidden=[2]),
            ValueError,
            r"hidden must be tokens from 0 to 1, got \[2\]",
        ),
        (
            lambda: widgets.TagSentence("I saw", head="9"),
            ValueError,
            "head must be 'mean' or one of 1.1, .*'9'",
        ),
        (
            lambda: widgets.Calculator(X, W, W, W, ["I"]),
            ValueError,
            "tokens must name the 3 rows of X, got 1 names",
        ),
        (
            lambda: widgets.Calculator(X, [[1.0]], W, W, "abc"),
            ValueError,
            r"W_q must have shape \(d_model = 2, width\), got \(1, 1\)",
        ),
        (
            lambda: widgets.Calculator(X, W, [[1.0], [2.0]], W, "abc"),
            ValueError,
            r"W_k must have the shape of W_q, \(2, 2\); got \(2, 1\)",
        ),
        (
            lambda: widgets.Calculator([[1.0], [1.0, 2.0]], W, W, W, "ab"),
            ValueError,
            "X must be rows of numbers, all of one length",
        ),
        (
            lambda: widgets.Calculator([[float("nan"), 1.0]], W, W, W, "a"),
            ValueError,
            "X must hold finite numbers",
        ),
        (
            lambda: widgets.Calculator(X, W, W, W, "abc", stage=7),
            ValueError,
            "stage must be from 1 to 6, got 7",
        ),
        (
            lambda: widgets.Calculator(X, W, W, W, "abc", focus=(-1, 0)),
            ValueError,
            "focus must be a row and a column, from 0",
        ),
        (
            lambda: widgets.Calculator(X, W, W, W, "abc", asked=((2, 0), (0, 0))),
            ValueError,
            r"asked must hold a row and a column of W_q, \(2, 2\); got \(2, 0\)",
        ),
        (
            lambda: widgets.Calculator(X, W, W, W, "abc", asked=((1, 0), (0, 3))),
            ValueError,
            r"asked must hold a row and a column of the weights, \(3, 3\); got \(0, 3\)",
        ),
        (lambda: widgets.PositionsLab(base=0.5), ValueError, "base must be at least 1, got 0.5"),
        (lambda: widgets.Calculator([1.0], W, W, W, "a"), ValueError, r"X must have shape \(rows, columns\)"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_soft_lookup_holds_the_packages_numbers():
    values = [[2.0, 1.0], [-1.0, 2.5], [0.3, -2.0]]
    figure = widgets.SoftLookup(values, "abc", query=(0.7, -0.2), weights="sparsemax", temperature=0.5)
    v, q = torch.tensor(values).double(), torch.tensor([0.7, -0.2]).double()
    weights = scores.sparsemax(v @ q / 0.5)
    rows = Cells(figure._repr_html_()).rows
    assert [row[0] for row in rows] == ["point", "query", "a", "b", "c", "output"]
    assert [float(row[4]) for row in rows[2:5]] == pytest.approx(weights.tolist(), abs=5e-5)
    assert [float(x) for x in rows[5][1:3]] == pytest.approx((weights @ v).tolist(), abs=5e-5)
    figure.score, figure.weights = "distance", "softmax"
    want = (-(v - q).square().sum(-1) / 2 / 0.5).softmax(-1) @ v
    assert torch.allclose(figure.output, want, atol=1e-6)


@pytest.mark.parametrize("shift", [0, 80, 1000, -1000])
@pytest.mark.parametrize("tile", [1, 2, 3, 4, 6, 12])
def test_online_softmax_reaches_torchs_output_in_tiles_of_any_size(tile, shift):
    scores = [0.5, -1.0, 2.5, 3.0, -4.0, 0.0, 1.5]
    values = [1.0, -2.0, 3.0, 0.5, 9.0, -7.0, 2.0]
    figure = widgets.OnlineSoftmax(scores, values, tile=tile, shift=shift)
    before = -torch.inf
    for step in figure.steps():
        seen = int(step.keys.split("–")[-1])
        part = torch.tensor(scores[:seen]).double() + shift
        powers = (part - part.max()).exp()
        assert step.largest == part.max()
        assert step.correction == pytest.approx(torch.tensor(before - step.largest).exp().item())
        assert step.powers == pytest.approx(powers.sum().item())
        assert step.total == pytest.approx((powers @ torch.tensor(values[:seen]).double()).item())
        before = step.largest
        assert step.output == pytest.approx((part.softmax(-1) @ torch.tensor(values[:seen]).double()).item())
    assert seen == 7
    rows = Cells(figure._repr_html_()).rows
    assert len(rows) == 2 + len(figure.steps())
    want = (torch.tensor(scores).double().softmax(-1) @ torch.tensor(values).double()).item()
    assert float(rows[-1][6].replace("−", "-")) == pytest.approx(want, abs=5e-5)
    assert rows[-2][6] == rows[-1][6]


def test_the_table_of_online_softmax_word_for_word():
    figure = widgets.OnlineSoftmax([0.0, 1.0, -1.0], [0.0, -0.0004, 0.0], tile=1, shift=1000)
    e = 0.367879  # of -1, and its square of -2
    assert Cells(figure._repr_html_()).rows[1:] == [
        ["1", "1", "1000.0000", "0.0000", "1.0000", "0.0000", "0.0000"],
        ["2", "2", "1001.0000", f"{e:.4f}", f"{1 + e:.4f}", "−4.000e−4", "−2.924e−4"],
        ["3", "3", "1001.0000", "1.0000", f"{1 + e + e**2:.4f}", "−4.000e−4", "−2.661e−4"],
        ["all at once", "1–3", "1001.0000", "", "", "", "−2.661e−4"],
    ]


def test_without_rescaling_single_precision_overflows_and_underflows():
    for step in widgets.OnlineSoftmax([0.3, 1.7], [1.1, 2.3], tile=1, shift=80, rescale=False).steps():
        held = torch.tensor([step.powers, step.total], dtype=torch.float64)
        assert torch.equal(held, held.float().double())  # numbers of single precision
    for shift, powers in ((1000, "∞"), (-1000, "0.0000")):
        figure = widgets.OnlineSoftmax([0.0, 1.0], [1.0, 2.0], tile=1, shift=shift, rescale=False)
        rows = Cells(figure._repr_html_()).rows
        assert rows[1][2:] == ["not kept", "none", powers, powers, "NaN"]
        assert rows[-1][6] == "1.7311"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scores": [5.0, 0.0]}, r"scores must be 2 to 12 numbers between -4 and 4, got \[5.0, 0.0\]"),
        ({"values": [1.0]}, "values must be 2 numbers, one for each score, got 1"),
        ({"tile": 5}, "tile must be one of 1, 2, 3, 4, 6, 12, got 5"),
        ({"shift": 7}, "shift must be one of 0, 80, 1000, -1000, got 7"),
        ({"step": -1}, "step must be 0 or larger, got -1"),
    ],
)
def test_online_softmax_names_bad_input(changes, message):
    with pytest.raises(ValueError, match=message):
        widgets.OnlineSoftmax(**({"scores": [0.0, 1.0], "values": [1.0, 2.0]} | changes))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("kind", ["window", "strided", "fixed", "mixed"])
def test_sparse_patterns_count_what_paths_of_that_many_layers_reach(kind, causal):
    given = {"n": 14, "width": 3, "globals": 1, "random": 1, "causal": causal, "query": 9}
    assert (
        len(Cells(widgets.SparsePatterns(kind, **given)._repr_html_()).rows) == 2
    )  # no layer that is not shown
    figure = widgets.SparsePatterns(kind, depth=8, **given)
    rows = Cells(figure._repr_html_()).rows
    assert len(rows) == 9
    sees = [{j for j in range(14) if figure.mask[i, j]} for i in range(14)]
    assert all(i in seen for i, seen in enumerate(sees))
    assert not causal or all(max(seen) == i for i, seen in enumerate(sees))
    reached = [{i} for i in range(14)]
    for layers, row in enumerate(rows[1:], start=1):
        reached = [set().union(*(reached[j] for j in sees[i])) for i in range(14)]
        assert row[:3] == [str(layers), str(len(reached[9])), str(sum(map(len, reached)))]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "ring"}, "kind must be one of window, strided, fixed, mixed; got 'ring'"),
        ({"n": 99}, "n must be a whole number from 4 to 48, got 99"),
        ({"depth": 0}, "depth must be a whole number from 1 to 8, got 0"),
        ({"query": 36}, "query must be a whole number from 0 to 35, got 36"),
    ],
)
def test_sparse_patterns_name_bad_input(changes, message):
    with pytest.raises(ValueError, match=message):
        widgets.SparsePatterns(**changes)


@pytest.mark.parametrize("mapped", ["elu", "random"])
def test_linear_against_softmax_holds_the_packages_numbers(mapped):
    figure = widgets.LinearAgainstSoftmax(map=mapped, features=32, sharpness=1.4, seed=2)
    q, k, v = linear_figure.drawn(1.4)
    rows = Cells(figure._repr_html_()).rows
    _, exact = attention(q, k, v, need_weights=True)
    directions = saturation.normals(2, 32 * 8).view(32, 8)
    features = linear.elu_plus_one if mapped == "elu" else linear.PositiveFeatures(directions)
    eye = torch.eye(64, dtype=torch.float64)
    weights = linear.linear_attention(q, k, eye, features=features)
    assert torch.allclose(figure.compared().weights, weights, atol=1e-12)
    for row, of in ((rows[1], lambda w: w.amax(-1)), (rows[2], lambda w: w.diagonal())):
        want = [of(w).mean().item() for w in (exact, weights)]
        assert [float(x) for x in row[1:3]] == pytest.approx(want, abs=5.1e-5)
    want = ((weights @ v - exact @ v).norm() / (exact @ v).norm()).item()
    assert figure.compared().error == pytest.approx(want, abs=1e-9)
    assert float(rows[3][2]) == pytest.approx(want, abs=5.1e-5)


def test_the_counts_of_linear_against_softmax_are_those_of_the_products():
    figure = widgets.LinearAgainstSoftmax(map="random", features=16, length=128)
    fq, v = torch.zeros(128, 16), torch.zeros(128, 64)
    counts = {}
    for name, run in (("scores", lambda: (fq @ fq.T) @ v), ("values", lambda: fq @ (fq.T @ v))):
        with FlopCounterMode(display=False) as counter:
            run()
        counts[name] = counter.get_total_flops() // 2
    assert figure.multiplications() == {"softmax": 2 * 128 * 128 * 64} | counts


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"length": 100}, "length must be a multiple of 64 from 64 to 2048, got 100"),
        ({"map": "relu"}, "map must be one of elu, random; got 'relu'"),
        ({"features": 3}, "features must be one of 1, 2, 4, .*; got 3"),
        ({"sharpness": 0.0}, "sharpness must be above 0 and at most 3, got 0.0"),
        ({"seed": -1}, "seed must be a whole number from 0 to 2147483647, got -1"),
    ],
)
def test_linear_against_softmax_names_bad_input(changes, message):
    with pytest.raises(ValueError, match=message):
        widgets.LinearAgainstSoftmax(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": [[4.0, 0.0]]}, r"values must be points \(x, y\) between -3 and 3, got \[\[4.0, 0.0\]\]"),
        ({"query": (1.0,)}, r"query must be points \(x, y\)"),
        ({"names": ["a", "b"]}, "names must name the 1 values, got 2 names"),
        ({"score": "cosine"}, "score must be one of dot, distance; got 'cosine'"),
        ({"weights": "max"}, "weights must be one of softmax, sparsemax, relu, none; got 'max'"),
        ({"temperature": 0.0}, "temperature must be positive, got 0.0"),
    ],
)
def test_soft_lookup_names_bad_input(changes, message):
    with pytest.raises(ValueError, match=message):
        widgets.SoftLookup(**({"values": [[1.0, 0.0]], "names": ["a"]} | changes))


def test_saturation_holds_torchs_numbers():
    row = [1.5, 0.25, -0.5, 0.8]
    figure = widgets.Saturation(row, d_k=16, temperature=2.0, scaled=False, names="abcd")
    z = torch.tensor(row).double() * 4 / 2
    weights = z.softmax(-1)
    jacobian = torch.autograd.functional.jacobian(lambda z: z.softmax(-1), z)
    assert torch.allclose(figure.weights, weights)
    assert torch.allclose(figure.jacobian, jacobian)
    assert figure.largest == pytest.approx(jacobian.max().item())
    entropy = -(weights * weights.log()).sum().item()
    assert figure.entropy == pytest.approx(entropy)
    rows = Cells(figure._repr_html_()).rows
    assert [row[0] for row in rows[:5]] == ["key", "a", "b", "c", "d"]
    got = torch.tensor([[float(cell) for cell in row[1:]] for row in rows[1:5]])
    want = torch.stack((4 * torch.tensor(row), weights.float(), jacobian.diagonal().float()), -1)
    assert torch.allclose(got, want, atol=6e-5)
    measures = {row[0]: row[1:] for row in rows[6:]}
    spread = figure.samples[:, :4].std(correction=0).item()  # as many keys as the row has
    assert measures["spread of the scores"][1] == f"{spread:.4f}"
    assert float(measures["entropy (nats)"][0]) == pytest.approx(entropy, abs=6e-5)
    assert float(measures["entropy / ln n"][0]) == pytest.approx(entropy / math.log(4), abs=6e-5)
    assert float(measures["norm of the Jacobian"][0]) == pytest.approx(jacobian.norm().item(), abs=6e-5)


def test_what_saturation_says_is_left_of_a_gradient_is_left():
    figure = widgets.Saturation(d_k=4)
    gradient = torch.randn(20_000, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    gradient = gradient / gradient.norm(dim=-1, keepdim=True)
    left = (gradient @ figure.jacobian).square().sum(-1).mean().sqrt().item()
    rows = Cells(figure._repr_html_()).rows
    (cell,) = [row[1] for row in rows if row[0] == "left of a gradient of 1"]
    assert float(cell) == pytest.approx(left, rel=0.02)


def test_sampled_scores_have_the_spread_that_the_chapter_on_scaling_predicts():
    for d_k in (1, 16, 1024):
        raw = widgets.Saturation(d_k=d_k, scaled=False).samples
        assert raw.shape == (64, 8)
        assert raw.std().item() == pytest.approx(d_k**0.5, rel=0.1)
        assert torch.allclose(widgets.Saturation(d_k=d_k).samples * d_k**0.5, raw)
    assert torch.equal(widgets.Saturation(seed=1).row, widgets.Saturation(seed=1).samples[0])
    assert not torch.equal(widgets.Saturation(seed=1).row, widgets.Saturation(seed=2).row)


def test_a_wide_unscaled_row_saturates_and_a_scaled_one_does_not():
    assert ">0 of 64<" in widgets.Saturation(d_k=1024).table()
    assert ">50 of 64<" in widgets.Saturation(d_k=1024, scaled=False).table()
    without = widgets.Saturation(d_k=1024, scaled=False, slopes=False)
    certain = (without.samples.softmax(-1).amax(-1) >= 0.99).sum().item()
    assert f">{certain} of 64<" in without.table()
    assert "slope" not in without.table() + without.caption()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scores": [5.0, 0.0]}, r"scores must be 2 to 8 numbers between -4 and 4, got \[5.0, 0.0\]"),
        ({"scores": [1.0]}, "scores must be 2 to 8 numbers"),
        ({"scores": [1.0, float("nan")]}, "scores must hold finite numbers"),
        ({"scores": [1.0, 0.0], "names": "abc"}, "names must name the 2 scores, got 3 names"),
        ({"names": "a"}, "names must name 2 to 8 keys, got 1 names"),
        ({"d_k": 100}, "d_k must be a power of two from 1 to 1024, got 100"),
        ({"temperature": 0.0}, "temperature must be positive, got 0.0"),
        ({"seed": -1}, "seed must be 0 or larger, got -1"),
    ],
)
def test_saturation_names_bad_input(changes, message):
    with pytest.raises(ValueError, match=message):
        widgets.Saturation(**changes)


def painter(**changes):
    return widgets.MaskPainter(**({"x": X, "tokens": "abc"} | changes))


def test_the_mask_painter_holds_the_packages_numbers():
    figure = painter(nudged=2, nudge=0.5)
    x = torch.tensor(X).double()
    changed = x.clone()
    changed[2] += 0.5
    out, weights = attention(changed, changed, changed, is_causal=True, need_weights=True)
    rows = Cells(figure._repr_html_()).rows
    assert rows[0][1:] == [
        "takes of a",
        "takes of b",
        "takes of c",
        "sum",
        "output 1",
        "output 2",
        "moved by",
    ]
    assert rows[1][1:5] == ["1.0000", "hidden", "hidden", "1.0000"]
    assert [float(cell) for cell in rows[3][1:4]] == pytest.approx(weights[2].tolist(), abs=5e-5)
    assert [[float(cell) for cell in row[5:7]] for row in rows[1:]] == pytest.approx(out, abs=5e-5)
    moved = (out - attention(x, x, x, is_causal=True)).abs().amax(-1)
    assert [float(row[7]) for row in rows[1:]] == pytest.approx(moved.tolist(), abs=5e-5)
    assert torch.equal(figure.weights, weights)
    assert torch.equal(figure.output, out)


def test_a_late_mask_leaks_and_an_empty_row_gives_zeros():
    figure = painter(mask=[[0, 0, 0], [0, 1, 0], [1, 0, 1]])
    assert figure.leak is None
    assert figure.output[0].tolist() == [0.0, 0.0]
    figure.late = True
    assert figure.leak == (1, 0)
    assert figure.weights[1].sum() < 1
    figure.mask = [[1, 1, 1]] * 3
    assert figure.leak is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": torch.zeros(13, 1), "tokens": "abcdefghijklm"}, "x must have at most 12 tokens, got 13"),
        ({"tokens": "ab"}, "tokens must name the 3 rows of x, got 2 names"),
        ({"mask": [[1, 0]]}, r"mask must have shape \(n, n\) = \(3, 3\), got \(1, 2\)"),
        ({"nudged": 3}, "nudged must be a token from 0 to 2, or -1 for none; got 3"),
        ({"nudge": -4.0}, "nudge must be from -3 to 3, got -4.0"),
        ({"size": 0}, "size must be from 1 to n = 3, got 0"),
    ],
)
def test_the_mask_painter_names_bad_input(changes, message):
    with pytest.raises(ValueError, match=message):
        painter(**changes)


def test_the_landing_page_says_of_the_model_what_it_does():
    """Hide *to*, then switch attention off: the tags, and the percentages that its prose has."""
    page = nbformat.read(ROOT / "chapters/index.ipynb", as_version=4)
    prose = " ".join(cell.source for cell in page.cells if cell.cell_type == "markdown")
    shown = {
        "work": (widgets.TagSentence("I love to work"), "VERB", 88),
        "work, hidden to": (widgets.TagSentence("I love to work", hidden=[2]), "NOUN", 96),
        "saw": (widgets.TagSentence("I saw a saw", attention=True), "NOUN", 97),
        "saw, alone": (widgets.TagSentence("I saw a saw", attention=False), "VERB", 97),
    }
    said = {}
    for name, (figure, tag, percent) in shown.items():
        tagged = figure.tagged
        assert tagged.tags[3] == tag, name
        said[name] = round(100 * tagged.probabilities[3].max().item())
        assert said[name] == percent, name
    assert f"from verb, with {said['work']} %, to noun, with {said['work, hidden to']} %" in prose
    assert f"from noun to verb, with {said['saw']} % each" in prose
    assert said["saw"] == said["saw, alone"]


def test_without_attention_words_spelled_alike_come_out_alike():
    whole, alone = (widgets.TagSentence("I saw a saw", attention=on).tagged for on in (True, False))
    assert alone.tags == ("PRON", "VERB", "DET", "VERB")
    assert torch.allclose(alone.probabilities[1], alone.probabilities[3], atol=1e-6)
    assert not torch.allclose(whole.probabilities[1], whole.probabilities[3], atol=0.1)
    assert alone.weights.count_nonzero() == 0
    assert torch.equal(whole.probabilities, shipped.load().tag("I saw a saw").probabilities)
    # Each word's numbers are its own: in another sentence they are the same.
    other = widgets.TagSentence("They saw", attention=False).tagged.probabilities[1]
    assert torch.allclose(other, alone.probabilities[1], atol=1e-6)


@pytest.mark.parametrize(
    "figure", [widgets.TagSentence, partial(widgets.SoftLookup, [[1, 0]], ["I"]), widgets.PositionsLab]
)
def test_that_there_is_one_gesture_and_nothing_else_is_stored_only_where_it_is_so(figure):
    assert "only" not in figure().settings()
    assert figure(only=True).settings()["only"] is True
    with pytest.raises(TypeError, match="only must be a bool, got int"):
        figure(only=1)


def test_what_is_for_later_is_folded_only_where_the_figure_is_whole():
    assert "folded" not in widgets.TagSentence().settings()
    folded = widgets.TagSentence("I saw", folded=True)
    assert folded.settings()["folded"] is True
    assert "numbers" in folded.caption()
    with pytest.raises(TypeError, match="folded must be a bool, got int"):
        widgets.TagSentence(folded=1)
    for beside in ({"only": True}, {"attention": False}):
        with pytest.raises(ValueError, match="folded is for the whole figure"):
            widgets.TagSentence("I saw", folded=True, **beside)


def test_with_one_gesture_order_has_two_schemes():
    with pytest.raises(ValueError, match="scheme must be one of none, rotary; got 'alibi'"):
        widgets.PositionsLab("alibi", only=True)


def test_the_switch_stands_alone_and_is_stored_only_where_it_is():
    assert "attention" not in widgets.TagSentence().settings()
    assert widgets.TagSentence(attention=True).settings()["attention"] is True
    assert "without" in widgets.TagSentence(attention=True).caption()
    assert widgets.TagSentence("", attention=False).tagged.tokens == ()
    for beside in ({"word": 1}, {"hidden": [1]}):
        with pytest.raises(ValueError, match="beside the switch of attention no word is picked"):
            widgets.TagSentence("I saw", attention=True, **beside)
