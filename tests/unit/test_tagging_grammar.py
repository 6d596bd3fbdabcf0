"""The toy grammar: its ceilings as fractions, by a second enumeration, and as bounds on trained taggers."""

import functools
import itertools
from collections import Counter, defaultdict
from fractions import Fraction

import pytest
import torch

from attnbook.tagging import MostFrequentTag, Tagger, Vocabulary, expected_accuracy, grammar, train

EXACT = {
    "nothing": Fraction(16, 69),
    "word": Fraction(5143, 6900),
    "word and position": Fraction(568097, 690000),
    "bag and own place": Fraction(67774139029, 69000000000),
    "previous word": Fraction(40907, 43125),
    "next word": Fraction(39806, 43125),
    "both neighbours": Fraction(566871, 575000),
    "everything before": Fraction(205217, 215625),
    "whole sentence": Fraction(14323, 14375),
}


def lists_of(symbol):
    """Yield every tagged word list below a symbol with its probability, rule by rule."""
    if symbol in grammar.LEXICON:
        for word, per_cent in grammar.LEXICON[symbol]:
            yield ((word, symbol[:4] if symbol[:4] == "PRON" else symbol),), Fraction(per_cent, 100)
        return
    for expansion, per_cent in grammar.RULES[symbol]:
        for parts in itertools.product(*(list(lists_of(part)) for part in expansion.split())):
            probability = Fraction(per_cent, 100)
            for _, p in parts:
                probability *= p
            yield tuple(itertools.chain.from_iterable(words for words, _ in parts)), probability


@pytest.fixture(scope="module")
def enumerated():
    every = Counter()
    for pairs, probability in lists_of("S"):
        every[pairs] += probability
    return every


def test_a_second_enumeration_finds_the_same_sentences(enumerated):
    want = {(tuple(w for w, _ in pairs), tuple(t for _, t in pairs)): p for pairs, p in enumerated.items()}
    assert grammar.sentences() == want
    assert sum(want.values()) == 1
    assert len({words for words, _ in want}) == 61_242


@pytest.mark.parametrize("view", EXACT)
def test_the_ceilings_are_these_fractions(view):
    assert grammar.ceiling(view) == EXACT[view]


def test_the_bag_by_a_second_way_of_counting(enumerated):
    seen, tokens, whole = defaultdict(Counter), 0, 100**12
    for pairs, probability in enumerated.items():
        share = probability.numerator * (whole // probability.denominator)  # whole numbers are added faster
        assert share == whole * probability
        bag = frozenset(Counter(word for word, _ in pairs).items())
        for word, tag in pairs:
            seen[word, bag][tag] += share
        tokens += share * len(pairs)
    got = grammar.ceiling("bag of words")
    assert got == Fraction(sum(max(tags.values()) for tags in seen.values()), tokens)
    assert round(100 * float(got), 3) == 86.419


def test_seeing_more_never_hurts():
    for less, more in (
        ("nothing", "word"),
        ("word", "word and position"),
        ("word", "bag of words"),
        ("word", "previous word"),
        ("previous word", "both neighbours"),
        ("next word", "both neighbours"),
        ("previous word", "everything before"),
        ("everything before", "whole sentence"),
        ("both neighbours", "whole sentence"),
        ("word and position", "bag and own place"),
        ("bag of words", "bag and own place"),
        ("bag and own place", "whole sentence"),
    ):
        assert grammar.ceiling(less) < grammar.ceiling(more)


def test_counts_and_samples():
    assert grammar.tag_counts()["saw"] == {"VERB": Fraction(3, 10), "NOUN": Fraction(231, 1600)}
    drawn = grammar.sample(20_000, seed=3)
    assert drawn == grammar.sample(20_000, seed=3)
    assert drawn != grammar.sample(20_000, seed=4)
    share = sum(words[0] == "I" for words, _ in drawn) / len(drawn)
    assert share == pytest.approx(0.6 * 0.4, abs=0.012)  # four standard errors


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"view must be one of 'nothing', .* got 'tags'"):
        grammar.ceiling("tags")
    with pytest.raises(ValueError, match=r"view must be one of 'nothing', .* got 'tags'"):
        grammar.right_by_word("tags")
    with pytest.raises(ValueError, match="count must be at least 0, got -1"):
        grammar.sample(-1, seed=0)


TAGGERS = {
    "word": {"epochs": 2},
    "word and position": {"positions": "learned"},
    "mean": {"context": "mean"},
    "attention": {"context": "attention"},
    "causal": {"context": "causal attention", "positions": "rotary"},
    "whole": {"context": "attention", "positions": "rotary", "n_layers": 2},
}


@functools.cache
def reached(name):
    """Train a tagger of TAGGERS, and compute its accuracy over all sentences of the grammar."""
    options = dict(TAGGERS[name])
    epochs = options.pop("epochs", 4)
    sentences = grammar.sample(8000, seed=1)
    torch.manual_seed(0)
    tagger = Tagger(Vocabulary(sentences), d_model=32, n_heads=2, **options)
    train(tagger, sentences, sentences[:500], epochs=epochs, seed=0, lr=5e-3, progress=False)
    return expected_accuracy(tagger)


@pytest.mark.parametrize(
    ("name", "view", "below"),
    [
        ("word", "word", 1e-6),
        ("word and position", "word and position", 0.005),
        ("mean", "bag of words", 0.015),
        ("attention", "bag of words", 0.015),
        ("causal", "everything before", 0.02),
        ("whole", "whole sentence", 0.02),
    ],
)
def test_no_trained_tagger_beats_its_ceiling_and_each_comes_near(name, view, below):
    best = float(grammar.ceiling(view))
    assert best - below < reached(name) <= best + 1e-9


def test_a_leak_shows_as_an_accuracy_above_the_ceiling():
    ceiling = float(grammar.ceiling("everything before"))
    assert reached("causal") <= ceiling
    assert reached("whole") > ceiling  # what a causal tagger reaches if its mask is forgotten


def test_the_lookup_reaches_its_ceiling():
    assert expected_accuracy(MostFrequentTag(grammar.sample(20_000, seed=0))) == pytest.approx(5143 / 6900)
