"""The sampler figure: its table holds what the model gives and what a rule leaves of it."""

import pytest
import torch

from attnbook.widgets import Decoding, Sampling
from attnbook.widgets.decoder import models, words
from attnlab.transformer import distribution

from .test_widgets import Cells


def scores_after(*spoken):
    ids = torch.tensor([[words().index(word) for word in ("<start>", *spoken)]])
    with torch.no_grad():
        return models()["model"](ids)[0, -1]


def test_the_table_holds_what_the_rules_leave_of_the_models_guesses():
    figure = Sampling("I saw", rule="top_p", top_p=0.6, temperature=1.5)
    head, *rows = Cells(figure._repr_html_()).rows
    assert head == ["next word", "model", "drawn with", "drawn"]
    scores = scores_after("I", "saw")
    before, after = scores.softmax(-1), distribution(scores, 1.5, top_p=0.6)
    for row in rows:
        i = words().index(row[0])
        assert [float(cell) for cell in row[1:3]] == pytest.approx(
            [float(before[i]), float(after[i])], abs=6e-5
        )
    assert [row[0] for row in rows if row[3]] == [figure.drawn]
    assert figure.kept == [words()[i] for i in after.argsort(descending=True)[: int((after > 0).sum())]]


def test_it_draws_what_the_decoder_writes_without_a_draft():
    """One seed tells one story in both figures."""
    for seed in range(20):
        assert [Sampling("I saw", seed=seed).drawn] == Decoding("I saw", seed=seed).written


def test_words_are_drawn_as_often_as_they_are_probable():
    p = distribution(scores_after("I"), 1.0, top_k=3)
    drawn = [Sampling("I", rule="top_k", top_k=3, seed=seed).drawn for seed in range(400)]
    for i in p.nonzero().flatten().tolist():
        error = (float(p[i] * (1 - p[i])) / 400) ** 0.5
        assert abs(drawn.count(words()[i]) / 400 - float(p[i])) < 4.5 * error


def test_greedy_has_no_temperature():
    assert Sampling("I", rule="greedy", temperature=2.0).rules == {"temperature": 0.0}
    assert Sampling("I", rule="min_p", temperature=2.0).rules == {"temperature": 2.0, "min_p": 0.2}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"text": "I saw Anna"}, "text must be of I, a, can, .*; got 'Anna'"),
        ({"text": "I " * 12}, "text must have at most 11 words, got 12"),
        ({"rule": "best"}, "rule must be one of all, greedy, top_k, top_p, min_p, got 'best'"),
        ({"temperature": -1.0}, "temperature must be at least 0, got -1.0"),
        ({"top_k": 0}, "k must be at least 1, got 0"),
        ({"min_p": 2.0}, "must be .* got 2.0"),
    ],
)  # fmt: skip
def test_errors_name_the_argument(given, message):
    with pytest.raises(ValueError, match=message):
        Sampling(**given)
