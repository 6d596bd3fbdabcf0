"""The playground from Python: what it may be made of, the tagger that comes back, the links to it."""

import base64
import itertools
import re
import sys
from pathlib import Path

import nbformat
import pytest
import torch

from attnbook.tagging import grammar
from attnbook.widgets import Playground, training
from attnbook.widgets.playground import DEFAULTS, VIEWS, checked

from .test_widgets import Cells

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "_ext"))

from attnlab_book import playground as links


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"d_model": 7}, "d_model of a must be 8, 16, 32, 64; got 7"),
        ({"heads": 2}, "a must hold context, positions,"),
        ({"rate": 2}, "rate of a must be larger than 0 and at most 1, got 2"),
        ({"context": "mean", "positions": "rotary"}, "rotary positions of a act inside attention"),
    ],
)
def test_a_choice_that_does_not_fit_is_named(given, message):
    with pytest.raises(ValueError, match=message):
        Playground(given)
    second = re.sub(r"\ba (must|act)", r"b \1", message)
    with pytest.raises(ValueError, match=second):
        Playground(None, given)


def test_seeds_and_runs_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="seed must be 0 or larger, got -1"):
        Playground(seed=-1)
    with pytest.raises(ValueError, match="panel must be challenges, words, gradient, numbers, or empty"):
        Playground(panel="secrets")
    with pytest.raises(ValueError, match="run must be 'a', or 'b' where there is a second one; got 'b'"):
        Playground().tagger("b")
    with pytest.raises(ValueError, match="divide must be root, width, nothing; got 'd'"):
        training.build(0, divide="d")


def test_where_training_is_all_there_is_it_is_so_stored():
    assert "only" not in Playground().settings()
    figure = Playground(b={"positions": "rotary"}, only=True)
    assert figure.settings()["only"] is True
    with pytest.raises(TypeError, match="only must be a bool, got int"):
        Playground(only=1)
    with pytest.raises(ValueError, match="trained only, no panel is open; got 'words'"):
        Playground(panel="words", only=True)


def test_its_table_has_the_choices_and_the_exact_ceilings():
    rows = Cells(Playground({"positions": "rotary"}, {"n_heads": 4})._repr_html_()).rows
    assert rows[0] == ["run", "A", "B"]
    assert [row[0] for row in rows[1:10]] == list(DEFAULTS)
    assert ["positions", "rotary", "none"] in rows
    assert ["n_heads", "2", "4"] in rows
    for row, view in zip(rows[11:], VIEWS, strict=True):
        assert row == [
            view,
            f"{100 * float(grammar.ceiling(view)):.2f} %",
            f"{grammar.entropy(view):.3f}",
        ]


def test_the_trained_tagger_comes_back():
    figure = Playground({"d_model": 8, "positions": "learned"}, seed=3)
    begun = figure.tagger()
    trained = training.build(3, context="attention", positions="learned", d_model=8)
    for ours, theirs in zip(begun.parameters(), trained.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    training.train(trained, 3, steps=3, lr=0.01, batch_size=4)
    values = torch.nn.utils.parameters_to_vector(trained.parameters()).detach()
    figure.weights_a = values.numpy().tobytes()
    for ours, theirs in zip(figure.tagger("a").parameters(), trained.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    other = training.build(0, context="attention", positions="learned", d_model=8)
    training.load(other, base64.b64encode(values.float().numpy().tobytes()).decode())
    for ours, theirs in zip(other.parameters(), trained.parameters(), strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-6)


def test_making_a_tagger_moves_nobody_elses_dice():
    torch.manual_seed(1)
    want = torch.rand(3)
    torch.manual_seed(1)
    training.build(0, context="attention", d_model=8)
    assert torch.equal(torch.rand(3), want)


def test_scores_are_divided_as_asked():
    root, width, nothing = (
        training.build(0, divide=divide, context="attention", d_model=16, n_heads=1)
        for divide in ("root", "width", "nothing")
    )
    ids = root.vocabulary.encode(("I", "saw", "a", "saw"))[None]
    scores = []
    for tagger in (root, width, nothing):
        layer = tagger.layers[0]
        x = layer.norm(tagger.embedding(ids).sum(-2))
        scores.append(layer.mixer(x, need_weights=True)[1].log())
    # Differences within a row are those of the scores: q·k over 4, over 16, and over 1.
    gaps = [row - row[..., :1] for row in scores]
    assert torch.allclose(gaps[0], 4 * gaps[1], atol=1e-12)
    assert torch.allclose(gaps[2], 4 * gaps[0], atol=1e-12)


def test_what_python_draws_has_the_grammars_words_and_tags():
    for words, tags in itertools.islice(training.sentences(2), 200):
        assert (words, tags) in grammar.sentences()


def test_the_entropies_are_those_of_a_sum_over_all_sentences():
    chances = {}
    for (words, tags), p in grammar.sentences().items():
        for i, tag in enumerate(tags):
            seen = chances.setdefault((words, i), {})
            seen[tag] = seen.get(tag, 0) + float(p)
    table = torch.zeros(len(chances), len(grammar.TAGS), dtype=torch.float64)
    for row, seen in enumerate(chances.values()):
        for tag, p in seen.items():
            table[row, grammar.TAGS.index(tag)] = p
    total = table.sum()
    least = torch.special.entr(table / table.sum(-1, keepdim=True)).sum(-1) @ table.sum(-1) / total
    assert grammar.entropy("whole sentence") == pytest.approx(least.item(), abs=1e-12)
    assert [grammar.entropy(view) for view in VIEWS] == sorted(map(grammar.entropy, VIEWS), reverse=True)


def test_links_in_the_chapters_open_states_that_there_are():
    found = 0
    for path in sorted((ROOT / "chapters").glob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            for content in re.findall(r"\{playground\}`([^`]+)`", cell.source):
                words, state = links.split(content)
                assert words
                assert state.keys() <= set(Playground.state), path.name
                for run in "ab":
                    checked(state.get(run) or {}, run)
                found += 1
    assert found >= 8
    with pytest.raises(ValueError, match="write `text"):
        links.split("no state")
