"""The next word and the two places: exact floors and bounds, held to what can be computed otherwise."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F

from attnbook.experiments import NextWord, Text, TwoPlaces, next_word, two_places
from attnlab import masks, scores
from attnlab.multihead import MultiHeadAttention

CHANCES = {("a", "b"): 0.5, ("a",): 0.2, ("b", "a", "a"): 0.3}


def causal(s):
    return scores.softmax(s, masks.causal(s.shape[-1]))


def late(s):
    return s.softmax(-1) * masks.causal(s.shape[-1])


def test_the_floor_is_what_the_true_probabilities_pay_word_by_word():
    def chance(beginning):
        return sum(p for words, p in CHANCES.items() if words[: len(beginning)] == beginning)

    paid = guesses = 0.0
    for words, p in CHANCES.items():
        for at in range(len(words) + 1):
            goes_on = chance(words[: at + 1]) if at < len(words) else p
            paid -= p * math.log(goes_on / chance(words[:at]))
            guesses += p
    assert next_word.floor(CHANCES) == pytest.approx(paid / guesses, rel=1e-12)


def test_reading_and_writing_are_exact_means_over_all_sentences():
    text = Text(CHANCES)
    for weigh in (causal, late):
        model = NextWord(text, weigh, d_model=8)
        parameters = [part[None] for part in model.begin(torch.Generator().manual_seed(3))]
        want = {"reading": 0.0, "writing": 0.0}
        for at, (words, p) in enumerate(CHANCES.items()):
            read, guess = text.read[at, : len(words) + 1], text.guess[at, : len(words) + 1]
            whole = model.logits(parameters, text.read[at][None, None])[0, 0]
            for place in range(len(words) + 1):
                piece = model.logits(parameters, read[: place + 1][None, None])[0, 0, -1]
                for name, logits in (("reading", whole[place]), ("writing", piece)):
                    want[name] += p * F.cross_entropy(logits, guess[place]).item()
        guesses = sum(p * (len(words) + 1) for words, p in CHANCES.items())
        got = model.losses(parameters)
        assert got == pytest.approx({name: x / guesses for name, x in want.items()}, rel=1e-5)
        assert (abs(got["reading"] - got["writing"]) < 1e-5) is (weigh is causal)


def test_an_honest_model_never_pays_less_than_the_floor_and_a_late_mask_does():
    chances = {words: 1 / 27 for words in itertools.product("abc", repeat=3)}
    ends = {
        weigh: NextWord(Text(chances), weigh, steps=200, batch=64).together([(0.02, 0)])[0].extras
        for weigh in (causal, late)
    }
    floor = next_word.floor(chances)
    assert floor == pytest.approx(3 * math.log(3) / 4)
    assert floor <= ends[causal]["reading"] < floor + 0.1
    assert ends[late]["reading"] < floor < ends[late]["writing"]


def test_no_layer_of_one_head_beats_the_bound_and_the_right_one_of_two_heads_is_perfect():
    queries, tokens, wanted = two_places.draw(500, seed=1)
    least = two_places.bound(tokens)
    for seed in range(5):
        torch.manual_seed(seed)
        layer = MultiHeadAttention(4, 1, d_head=16, bias=False)
        assert TwoPlaces(1, 16).error(layer, queries, tokens, wanted).item() >= least * 0.9999
    layer = MultiHeadAttention(4, 2, d_head=4, bias=False)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
        for head in range(2):
            # It looks at the place that the query names in its two numbers, and writes into its own output.
            for place in range(2):
                layer.q_proj.weight[4 * head + place, 2 * head + place] = 100
                layer.k_proj.weight[4 * head + place, 2 + place] = 1
                layer.v_proj.weight[4 * head, place] = 1
            layer.out_proj.weight[head, 4 * head] = 1
        assert TwoPlaces(2, 4).error(layer, queries, tokens, wanted).item() < 1e-8


@pytest.mark.parametrize("more", [{"gate": "query"}, {"added": "query"}, {"empty": 1}, {"empty": 2}], ids=str)
def test_one_head_passes_the_bound_where_an_assumption_is_broken(more):
    assert TwoPlaces(1, 16, **more)(0.03, seed=0).value < 0.6


@pytest.mark.parametrize("more", [{"gate": "whole"}, {"sinks": True}], ids=str)
def test_one_number_for_all_columns_of_a_head_does_little(more):
    assert TwoPlaces(1, 16, **more)(0.03, seed=0).value > 0.7


def test_tokens_that_hold_nothing_change_neither_numbers_nor_questions():
    queries, tokens, _ = two_places.draw(3, seed=1)
    wide, among = two_places.with_empty(queries, tokens, 2)
    assert torch.equal(wide, F.pad(queries, (0, 2)))
    assert torch.equal(among[:, :2], F.pad(tokens, (0, 2)))
    assert torch.equal(among[:, 2:], F.pad(torch.eye(2), (4, 0)).expand(3, 2, 6))


def test_tokens_with_two_numbers_have_the_same_bound_and_one_head_carries_one_of_them():
    queries, tokens, wanted = two_places.draw(4000, seed=1, numbers=2)
    u = tokens[..., :2] + tokens[..., 2:4]
    assert torch.equal(wanted[:, 2], torch.cat((u[:, 1], u[:, 0]), -1))  # (right, left)
    centre = wanted[:, [0, 3]].mean(1, keepdim=True)  # the square's centre
    best = (wanted - centre)[:, [1, 2]].square().sum() / wanted.numel()
    assert two_places.bound(tokens) == pytest.approx(best.item(), rel=1e-4)
    assert torch.equal(queries[0], F.pad(two_places.QUESTIONS, (0, 2)))
    ends = [TwoPlaces(1, 16, questions=(1, 2), numbers=d)(0.03, seed=0).value / 2 for d in (1, 2)]
    assert ends[0] < 0.05  # of the error of always saying the mean
    assert ends[1] > 0.45


def test_one_head_that_is_asked_one_question_needs_no_routing():
    run = TwoPlaces(1, 8, questions=(1,))(0.03, seed=0)
    assert run.value < 1e-3
    assert TwoPlaces(1, 8)(0.03, seed=0).value > 0.999
