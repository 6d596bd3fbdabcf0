"""The block: its stages are those of the shipped tagger, taken apart by hand."""

import pytest
import torch

from attnbook.tagging import shipped
from attnbook.widgets import Block
from attnbook.widgets.block import follow, parts

from .test_widgets import Cells

TAGGER = shipped.load()
TOKENS = ("I", "saw", "a", "saw")


def test_the_last_stage_is_what_the_tagger_says():
    tagged, stages = TAGGER.tag(TOKENS), follow(TAGGER, TOKENS)
    assert torch.allclose(stages[-1].probabilities, tagged.probabilities, atol=1e-5)
    assert [stage.part for stage in stages[1:]] == ["attention 1", "network 1", "attention 2", "network 2"]
    streams = [stage.stream for stage in stages]
    for at in range(1, 5):
        step = (streams[at] - streams[at - 1]).norm(dim=-1) / streams[at - 1].norm(dim=-1)
        assert torch.allclose(stages[at].added, step, atol=1e-5)


def test_a_part_that_is_off_adds_nothing_and_a_head_is_that_of_head_weights():
    stages = follow(TAGGER, TOKENS, ["attention 1", "network 2"])
    assert torch.equal(stages[1].stream, stages[0].stream)
    assert torch.equal(stages[4].stream, stages[3].stream)
    assert [stage.on for stage in stages] == [True, False, True, True, False]
    weights = torch.ones(2, 4)
    weights[1, 2] = 0
    wanted = TAGGER.tag(TOKENS, head_weights=weights).probabilities
    assert torch.allclose(follow(TAGGER, TOKENS, ["head 2.3"])[-1].probabilities, wanted, atol=1e-5)


def test_without_norm_or_residual_each_layer_is_what_is_left():
    layer = TAGGER.model.layers[0]
    words = follow(TAGGER, TOKENS)[0].stream
    with torch.no_grad():
        heard = layer["attention"](words[None])[0]
        normed = layer["attention"](layer["norm"](words)[None])[0]
    assert torch.allclose(follow(TAGGER, TOKENS, ["norm"])[1].stream, words + heard, atol=1e-5)
    assert torch.allclose(follow(TAGGER, TOKENS, ["residual"])[1].stream, normed, atol=1e-5)


def test_the_table_says_what_the_chapter_says():
    rows = Cells(Block("I saw a saw", word=3)._repr_html_()).rows
    assert rows[0] == ["after", "switched", "tag", "probability", "added / stream"]
    assert [row[2] for row in rows[1:]] == ["VERB", "NOUN", "NOUN", "NOUN", "NOUN"]
    deaf = Block("I saw a saw", word=3, off=["attention 1", "attention 2"])
    assert deaf.tag == "VERB"
    assert Block("I saw a saw", word=3, off=["attention 1"]).tag == "NOUN"
    assert len(parts(TAGGER.card["form"])) == 14


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"sentence": 3}, TypeError, "sentence must be a str, got int"),
        ({"word": 4}, ValueError, "word must be from 0 to 3, got 4"),
        ({"off": ["attention 3"]}, ValueError, "off must name parts, .* got 'attention 3'"),
    ],
)
def test_wrong_arguments_are_named(given, error, message):
    with pytest.raises(error, match=message):
        Block(**given)
