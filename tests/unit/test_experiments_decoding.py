"""Rules and drafts on a grammar of four sentences, against sums written out."""

import itertools

import pytest
import torch

from attnlab.experiments import Text, decoding
from attnlab.transformer import LanguageModel, distribution

TEXT = Text({("a", "b"): 0.4, ("b",): 0.3, ("a",): 0.2, ("b", "b"): 0.1})


def model(seed=0):
    torch.manual_seed(seed)
    return LanguageModel(len(TEXT.words), 8, 2, 1, std=1.0).double().eval()


@pytest.mark.parametrize("rules", [{}, {"temperature": 0.5}, {"top_k": 2}, {"temperature": 0.0}])
def test_the_probability_of_a_sentence_is_the_product_of_its_words(rules):
    one = model()
    chances = decoding.chances_of(decoding.scores_of(one, TEXT), TEXT, **rules)
    for words, chance in zip(TEXT.probabilities, chances.tolist(), strict=True):
        want, ids = 1.0, [0]
        for word in (*words, "<end>"):
            at = TEXT.words.index(word)
            want *= float(distribution(one(torch.tensor([ids]))[0, -1].detach(), **rules)[at])
            ids.append(at)
        assert chance == pytest.approx(want, abs=1e-12)
    found = decoding.measured(decoding.scores_of(one, TEXT), TEXT, **rules)
    assert found["grammatical"] == pytest.approx(float(chances.sum()))
    assert found["sentences"] == int((chances > 0).sum())


def test_a_draft_is_kept_where_both_agree():
    own, theirs = (decoding.scores_of(model(seed), TEXT) for seed in (0, 1))
    assert decoding.acceptance(own, own, TEXT) == pytest.approx(1)
    want = places = 0.0
    for row, (words, chance) in enumerate(TEXT.probabilities.items()):
        for at in range(len(words) + 1):
            want += chance * float(torch.minimum(own[row, at].softmax(-1), theirs[row, at].softmax(-1)).sum())
            places += chance
    assert decoding.acceptance(own, theirs, TEXT) == pytest.approx(want / places)


def test_words_a_pass_lie_between_one_and_all_that_was_drafted():
    found = decoding.words_a_pass(model(), model(1), 2, sentences=20, seed=0)
    assert 1 <= found["words a pass"] <= 3
    assert 0 <= found["kept"] <= 1
    mine = decoding.words_a_pass(model(), model(), 2, sentences=20, seed=0)
    assert mine["kept"] == 1
    assert [decoding.expected_words(rate, 3) for rate in (0.0, 1.0)] == [1, 4]
    for rate, n in itertools.product((0.3, 0.9), (1, 4)):
        assert decoding.expected_words(rate, n) == pytest.approx((1 - rate ** (n + 1)) / (1 - rate))
