"""Rules and drafts on a grammar of four sentences, against sums written out."""

import itertools

import pytest
import torch

from attnbook.experiments import Text, decoding
from attnbook.experiments.depth import NextWords, toy_text
from attnbook.tagging import grammar
from attnbook.widgets import decoder
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


def passes(left: int, n_draft: int, rate: float) -> float:
    """Expected passes for the last words of a text: each way that its drafts can fall, one by one."""
    if left <= 0:
        return 0.0
    total, drafted = 1.0, min(n_draft, left)
    for kept in itertools.product((True, False), repeat=drafted):
        chance = 1.0
        for one in kept:
            chance *= rate if one else 1 - rate
        run = list(itertools.takewhile(bool, kept))
        total += chance * passes(left - len(run) - 1, n_draft, rate)
    return total


def test_an_end_cuts_a_pass_short():
    lengths = decoding.lengths_of(TEXT)
    assert lengths == pytest.approx({3: 0.5, 2: 0.5})
    for rate, n in itertools.product((0.0, 0.3, 0.9, 1.0), (0, 1, 2, 5)):
        want = 2.5 / (0.5 * passes(3, n, rate) + 0.5 * passes(2, n, rate))
        assert decoding.expected_words(rate, n, lengths) == pytest.approx(want)
    own, few = decoding.expected_words(0.8, 4), decoding.expected_words(0.8, 4, {1000: 1.0})
    assert few == pytest.approx(own, rel=0.01)  # where texts are long, ends are rare


def test_the_models_that_ship_are_near_what_can_be_known():
    text = toy_text(grammar.sentences())
    assert decoder.words() == text.words
    task = NextWords(text, 1)
    excess = {name: task.excess(one) for name, one in decoder.models().items()}
    assert 0 < excess["model"] < 0.005
    assert 0.02 < excess["draft"] < 0.06


@pytest.mark.parametrize(
    ("rule", "says"), [({}, 49), ({"top_k": 5}, 89), ({"top_p": 0.9}, 68), ({"min_p": 0.2}, 99)]
)
def test_what_the_chapter_says_of_hot_texts_begun_with_one_word(rule, says):
    whole = toy_text(grammar.sentences())
    rows = [row for row, words in enumerate(whole.probabilities) if words[0] == "I"]
    read, guess = whole.read[rows], whole.guess[rows, 1:]
    with torch.no_grad():
        scores = decoder.models()["model"](read)[:, 1:].double()
    p = distribution(scores, temperature=3.0, **rule).gather(-1, guess.clamp(min=0)[..., None])[..., 0]
    share = float(p.where(guess >= 0, 1.0).prod(-1).sum())
    assert round(100 * share) == says
