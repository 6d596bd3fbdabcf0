"""The figure in which attention is designed, from Python."""

import json
import re
import sys
from pathlib import Path

import nbformat
import pytest
import torch

from attnbook.widgets import AttentionDesign, training

from .test_widgets import Cells

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "_ext"))

from attnlab_book import playground as links


def test_its_table_has_the_ceiling_and_the_price():
    rows = Cells(AttentionDesign([[-1, 1]])._repr_html_()).rows
    assert ["sees", "−1 +1"] in rows
    assert ["ceiling", "98.55 %"] in rows
    assert ["loses most", "that, 1.03 points; alike: “[that] can” PRON, “[that] can can saw” DET"] in rows
    assert ["pairs a word", "2.54"] in rows
    assert ["bytes held", "768"] in rows


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"layers": [[9]]}, "offsets must be -7 to 7"),
        ({"told": True, "mix": "mean"}, "it can't be told where"),
        ({"seed": -1}, "seed must be 0 or larger, got -1"),
        ({"panel": "secrets"}, "panel must be challenges, tried, numbers, or empty; got 'secrets'"),
    ],
)
def test_what_does_not_fit_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        AttentionDesign(**given)


def test_the_trained_tagger_comes_back():
    figure = AttentionDesign([[-1], [1]], mix="mean", seed=2)
    assert figure.told is False
    trained = figure.tagger()
    training.train(trained, 2, steps=2, lr=0.01, batch_size=4)
    values = torch.nn.utils.parameters_to_vector(trained.parameters()).detach()
    figure.weights = values.numpy().tobytes()
    for ours, theirs in zip(figure.tagger().parameters(), trained.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_links_in_the_chapter_open_designs_that_meet_its_challenges():
    states = []
    for cell in nbformat.read(ROOT / "chapters/design.ipynb", as_version=4).cells:
        for content in re.findall(r"\{design\}`([^`]+)`", cell.source):
            words, state = links.split(content)
            assert words
            assert {"layers", "told"} <= state.keys() <= set(AttentionDesign.state)
            states.append(AttentionDesign(**state).settings())
    board = (ROOT / "src/widgets/math/board.js").read_text(encoding="utf-8")
    solutions = re.findall(r"solution: (\{.*\}),$", board, re.MULTILINE)
    wanted = [json.loads(re.sub(r"(\w+):", r'"\1":', one)) for one in solutions]
    assert states == [AttentionDesign(**{"told": False, **one}).settings() for one in wanted]
