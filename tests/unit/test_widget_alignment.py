"""The alignment figure: its table holds what its models compute, and its models are what they claim to be."""

import random
import runpy
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from attnbook.experiments import dates, translation
from attnbook.widgets import DateAlignment, stored
from attnbook.widgets.alignment import LONGEST, MOST, learned, models
from attnlab.recurrent import BahdanauModel, LuongModel

from .test_widgets import Cells


@pytest.mark.parametrize("score", ["bahdanau", "dot", "general", "concat"])
def test_the_table_holds_what_a_model_does_step_by_step(score):
    figure = DateAlignment("3 may 1984", score, step=7)
    rows = Cells(figure._repr_html_()).rows
    assert rows[0] == ["written", "probability", *"3", "␣", *"may", "␣", *"1984"]
    assert [row[0] for row in rows[1:]] == list("1984-05")
    model = models()[score]
    with torch.no_grad():
        memory = model.read(dates.encode(["3 may 1984"]))
        state, word = model.begin(memory), torch.tensor([dates.START])
        for row in rows[1:]:
            logits, state, weights = model.step(word, state, memory)
            word = logits.argmax(-1)
            assert row[0] == dates.TARGET[word]
            assert float(row[1]) == pytest.approx(logits.softmax(-1).max().item(), abs=6e-5)
            assert [float(cell) for cell in row[2:]] == pytest.approx(weights[0].tolist(), abs=6e-5)


def test_the_models_are_of_the_kinds_that_their_names_say():
    found = models()
    assert list(found) == ["bahdanau", "dot", "general", "concat"]
    assert type(found["bahdanau"]) is BahdanauModel
    assert all(type(found[name]) is LuongModel and found[name].score == name for name in list(found)[1:])


def test_they_get_as_many_new_dates_right_as_the_figure_says():
    card = stored.card("alignment")
    pairs = translation.new(300, 1, 11, learned())  # the card counts a thousand others
    for name, model in models().items():
        found = translation.measure(model, pairs)
        assert 100 * found["right"] == pytest.approx(card["models"][name]["right"], abs=3)
        assert found["aligned"] > 0.3  # evenly shared out it would be about 0.1


def test_what_they_learned_from_is_what_they_were_trained_on():
    shipped = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks/ship_alignment.py"))
    assert shipped["SEED"] == 0
    assert max(shipped["STEPS"].values()) == LONGEST.steps
    first = dates.draw(LONGEST.batch, 1, random.Random(0))
    assert learned() >= {pair.text for pair in first}
    short = replace(LONGEST, name="dot", steps=50)
    assert learned() >= short.known(0)
    assert learned().isdisjoint(pair.text for pair in translation.new(100, 1, shipped["TEST"], learned()))


def test_text_that_no_model_knows_is_left_out_or_cut():
    assert DateAlignment("3 MAY, 1984!").read == "3 may, 1984"
    assert len(DateAlignment("1" * 60).read) == MOST
    empty = DateAlignment("!?")
    assert (empty.read, empty.answer, empty.weights.shape) == ("", "", (0, 0))
    assert Cells(empty._repr_html_()).rows == [["written", "probability"]]


def test_errors_name_the_argument():
    with pytest.raises(ValueError, match="score must be one of bahdanau, dot, general, concat, got 'cosine'"):
        DateAlignment(score="cosine")
    with pytest.raises(ValueError, match="step must be from 0 to 10, got 11"):
        DateAlignment("3.5.84", step=11)
