"""Designs and their ceilings, against references that share no line with them: nested sets and fractions."""

import itertools
import random
from collections import Counter
from fractions import Fraction

import pytest
import torch

from attnbook import results
from attnbook.tagging import grammar, views
from attnbook.tagging.training import expected_accuracy
from attnbook.tagging.views import Design
from attnbook.widgets import training


def small_language(rng):
    """Draw a language of short sentences over few words, so that many places look alike."""
    sentences = {}
    for _ in range(rng.randint(3, 40)):
        n = rng.randint(1, 6)
        words = tuple(rng.choice("ab" if rng.random() < 0.5 else "abc") for _ in range(n))
        tags = tuple(rng.choice("XYZ") for _ in range(n))
        sentences[words, tags] = Fraction(rng.randint(1, 9))
    total = sum(sentences.values())
    return {sentence: p / total for sentence, p in sentences.items()}


def looks(design, words):
    """Say what each place of a sentence sees, as nested sets and bags."""
    now = list(words)
    for layer, offsets in enumerate(design.layers):
        then = []
        for i in range(len(words)):
            near = {i} | {i + o for o in offsets}
            near = sorted((j for j in near if 0 <= j < len(words)), key=lambda j: (abs(i - j), j > i))
            near = near[: design.nearest] if design.nearest else near
            assert design.sees(len(words), i, layer) == tuple(sorted(near))
            if design.told:  # of equal ones a softmax passes on their value, and no more
                apart = any(now[j] != now[i] for j in near)
                seen = frozenset((j - i, now[j]) for j in near if apart)
            else:
                counts = Counter(now[j] for j in near)
                seen = frozenset((one, Fraction(n, len(near))) for one, n in counts.items())
            then.append((now[i], seen))
        now = then
    return now


def by_hand(design, language):
    mass = {}
    for (words, tags), p in language.items():
        for seen, tag in zip(looks(design, words), tags, strict=True):
            row = mass.setdefault(seen, {})
            row[tag] = row.get(tag, 0) + p
    return Fraction(
        sum(max(row.values()) for row in mass.values()), sum(sum(row.values()) for row in mass.values())
    )


def drawn(rng):
    offsets = [o for o in range(-3, 4) if o]
    layers = tuple(tuple(rng.sample(offsets, rng.randint(0, 3))) for _ in range(rng.randint(1, 2)))
    return Design(layers, rng.random() < 0.5, nearest=rng.choice((0, 0, 2, 3)))


@pytest.mark.parametrize("seed", range(60))
def test_ceilings_and_pairs_on_small_languages_are_those_of_nested_sets(seed):
    rng = random.Random(seed)
    language, design = small_language(rng), drawn(rng)
    assert views.ceiling(design, language) == by_hand(design, language)
    seen = sum(
        p * sum(len(design.sees(len(w), i, k)) for i in range(len(w)) for k in range(len(design.layers)))
        for (w, _), p in language.items()
    )
    assert views.pairs(design, language) == seen / sum(p * len(w) for (w, _), p in language.items())


def test_the_grammars_own_views_are_designs():
    every = tuple(o for o in range(-7, 8) if o)
    for design, view in (
        (Design(), "word"),
        (Design((tuple(range(-7, 0)),), told=True), "everything before"),
        (Design(((-2, -1),), told=True), "everything before"),
        (Design((every,), told=True), "whole sentence"),
    ):
        assert views.ceiling(design) == grammar.ceiling(view)
    # A softmax can't count: the bag of words can, and is worth a hundredth of a point more.
    gap = grammar.ceiling("bag of words") - views.ceiling(Design((every,)))
    assert 0.00009 < float(gap) < 0.00012
    gap = grammar.ceiling("both neighbours") - views.ceiling(Design(((-1, 1),), told=True))
    assert 0.00038 < float(gap) < 0.0004


def test_one_offset_alone_tells_nothing_more_where_it_is_told():
    for offset in (-3, -2, -1, 1, 2, 3):
        told, untold = (views.ceiling(Design(((offset,),), told=told)) for told in (True, False))
        assert told == untold


def test_two_on_is_the_best_third_offset_and_three_on_the_second():
    best = {o: views.ceiling(Design(((-1, 1, o),), told=True)) for o in (-4, -3, -2, 2, 3, 4)}
    assert sorted(best, key=best.get)[-2:] == [3, 2]
    assert views.pairs(Design(((-1, 1, -3),))) < views.pairs(Design(((-1, 1, -2),)))


def right(look):
    """Say what share of the grammar's words the best model gets right if `look` is what it sees."""
    scale, places = 100**12, {}  # whole numbers: fractions are slow to add up
    for (words, tags), p in grammar.sentences().items():
        weight = p.numerator * (scale // p.denominator)
        for i, tag in enumerate(tags):
            row = places.setdefault(look(words, i), {})
            row[tag] = row.get(tag, 0) + weight
    every = sum(sum(row.values()) for row in places.values())
    return Fraction(sum(max(row.values()) for row in places.values()), every)


def told_that(offset, *others):
    """See the words at other offsets, told where, and at one offset only whether a word stands there."""

    def look(words, i):
        seen = tuple((o, words[i + o]) for o in (0, *others) if 0 <= i + o < len(words))
        if 0 <= i + offset < len(words):
            return seen, "a word"
        return words[i] if {word for _, word in seen} == {words[i]} else seen

    return look


def test_beside_the_neighbours_the_words_two_and_three_back_tell_only_that_they_stand_there():
    for offset, only_that in ((-2, True), (-3, True), (2, False)):
        ceiling = views.ceiling(Design(((-1, 1, offset),), told=True))
        assert (ceiling == right(told_that(offset, -1, 1))) == only_that


def test_alone_that_a_word_stands_three_back_tells_more_than_the_word_two_back():
    that_alone, counted = (
        right(told_that(-3)),
        right(lambda words, i: (words[i], words[i - 2] if i > 1 else "")),
    )
    assert views.ceiling(Design(((-2,),), told=True)) < counted < that_alone
    assert that_alone < views.ceiling(Design(((-3,),), told=True))


@pytest.mark.parametrize("seed", range(20))
def test_a_mean_has_the_ceiling_of_a_softmax_that_is_not_told_and_telling_never_lowers_it(seed):
    rng = random.Random(200 + seed)
    language, one = small_language(rng), drawn(rng)
    untold, told = (Design(one.layers, told, one.nearest) for told in (False, True))
    mean = Design(one.layers, False, one.nearest, "mean")
    assert views.ceiling(mean, language) == views.ceiling(untold, language) <= views.ceiling(told, language)


def test_what_is_held_is_counted_word_by_word():
    assert views.reading(Design()) == (256, 0)
    assert views.reading(Design((tuple(range(-7, 0)),))) == (8 * 256, 0)
    assert views.reading(Design(((-3,),))) == (4 * 256, 0)  # those between are still to be asked for
    # At the last word nobody waits any more: then three words lie in the second layer.
    assert views.reading(Design(((1,), (1,)))) == (5 * 256, 2)
    assert views.reading(Design(((-1,), (-1,)), mix="mean")) == (4 * 128, 0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"layers": ()}, "layers must be one or two lists"),
        ({"layers": ((0,),)}, "offsets must be -7 to 7 without 0"),
        ({"layers": ((8,),)}, "offsets must be -7 to 7 without 0"),
        ({"nearest": 9}, "nearest must be 0 to 8, got 9"),
        ({"mix": "sum"}, "mix must be attention or mean, got 'sum'"),
        ({"told": True, "mix": "mean"}, "it can't be told where"),
    ],
)
def test_what_is_no_design_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Design(**given)


def test_probabilities_without_room_are_refused():
    odd = {(("a",), ("X",)): Fraction(1, 2**70), (("b",), ("X",)): 1 - Fraction(1, 2**70)}
    with pytest.raises(ValueError, match="common denominator"):
        views.ceiling(Design(), odd)


def tagger_of(design, seed):
    return training.build(seed, d_model=16, **design.tagger_choices())


@pytest.mark.parametrize(
    "design",
    [
        Design(((-1, 1),)),
        Design(((-2, 1),), told=True, nearest=2),
        Design(((-1,), (1, 2)), mix="mean"),
        Design(((-2,), (1,))),
        Design(((-1, 1), (-1,)), told=True),
    ],
)
def test_places_that_look_alike_get_the_same_scores(design):
    """However a model is drawn: who sees the same says the same, in padded batches too."""
    tagger, found = tagger_of(design, 3), {}
    rng = random.Random(1)
    some = [words for words, _ in rng.sample(sorted(grammar.sentences()), 250)]
    some += [("saw", "can"), ("can", "can"), ("saw", "saw", "can", "can")]
    encoded = [tagger.vocabulary.encode(words) for words in some]
    padded = torch.nn.utils.rnn.pad_sequence(encoded, batch_first=True)
    scores = tagger(padded)
    alike = 0
    for words, rows in zip(some, scores, strict=True):
        for seen, row in zip(looks(design, words), rows[: len(words)], strict=True):
            alike += seen in found
            assert torch.allclose(found.setdefault(seen, row), row, atol=1e-9)
    assert alike > 100
    alone = tagger(encoded[0][None])[0]
    assert torch.allclose(alone, scores[0, : len(some[0])], atol=1e-9)


@pytest.mark.parametrize(
    "design",
    [
        Design(((-3,),), told=True),
        Design(((-2, -1, 1),), told=True),
        Design(((-3, 1, 2),), told=True, nearest=3),
        Design(((-1,), (1, 2)), told=True),
        Design(((-2, 1, 2),)),
        Design(((-1,), (1,))),
        Design(((-1, 1),), mix="mean"),
        Design(((-1,), (1,)), mix="mean"),
    ],
)
def test_ten_random_models_tell_apart_what_a_view_keeps_apart_and_nothing_else(design):
    words = ("a", "saw", "that")
    sentences = [one for n in (1, 2, 3, 4, 5) for one in itertools.product(words, repeat=n)]
    seen = [look for one in sentences for look in looks(design, one)]
    groups = {look: at for at, look in enumerate(dict.fromkeys(seen))}
    which = torch.tensor([groups[look] for look in seen])  # (places,)
    assert 8 < len(groups) < len(seen) / 2
    apart = torch.zeros(len(groups), len(groups), dtype=torch.float64)
    for seed in range(10):
        tagger = tagger_of(design, seed)
        with torch.no_grad():
            for p in tagger.parameters():
                p.copy_(0.4 * torch.randn(p.shape, generator=torch.Generator().manual_seed(seed)))
        encoded = [tagger.vocabulary.encode(one) for one in sentences]
        padded = torch.nn.utils.rnn.pad_sequence(encoded, batch_first=True)
        scores = tagger(padded)[(padded[..., 0] != 0)].detach()  # (places, tags)
        of = torch.zeros(len(groups), scores.shape[1], dtype=torch.float64)
        of[which] = scores
        assert (of[which] - scores).abs().max() < 1e-9
        apart = torch.maximum(apart, (of[:, None] - of).abs().amax(-1))
    apart.fill_diagonal_(1)
    print(apart.min())
    assert apart.min() > 1e-6


@pytest.mark.parametrize(
    ("seed", "design"),
    [
        (0, Design(((-1,),), told=True)),
        (1, Design(((-1, 1),))),
        (2, Design(((-1,), (1,)), mix="mean")),
    ],
)
def test_no_trained_model_passes_its_ceiling(seed, design):
    tagger = tagger_of(design, seed)
    training.train(tagger, seed, steps=120, lr=0.02, batch_size=32)
    best = float(views.ceiling(design))
    assert best - 0.1 < expected_accuracy(tagger) <= best + 1e-9


def test_the_stored_frontier_is_that_of_its_designs():
    stored = results.load("design")
    designs, edge = stored["designs"], stored["frontier"]
    assert len(designs) == 1024
    for _, _, best, price, *_ in designs:
        assert any(p <= price and b >= best for _, _, b, p, *_ in edge)
    for one, another in itertools.pairwise(edge):
        assert one[2] < another[2]
        assert one[3] < another[3]
    for layers, told, best, price, held, wait in edge[::5]:
        design = Design(tuple(map(tuple, layers)), told=told)
        assert best == pytest.approx(100 * float(views.ceiling(design)), abs=1e-6)
        assert price == pytest.approx(float(views.pairs(design)), abs=1e-6)
        assert (held, wait) == views.reading(design)
    deep = [row for row in designs if row[1] and len(row[0]) == 2]
    single = [row for row in designs if len(row[0]) == 1]

    def beaten(row, less=0):
        return row[2] > max(one[2] for one in single if one[3] <= row[3] - less + 1e-9) + 1e-9

    assert len(deep) == 256
    assert sum(map(beaten, deep)) == 0
    assert sum(beaten(row, 1) for row in deep) == 12  # if a second layer were not charged for the word itself
    assert all(len(row[0]) == 1 for row in edge)


def test_two_words_on_help_that_at_the_beginning():
    lost = [views.lost_by_word(Design((offsets,), told=True)) for offsets in ((-1, 1), (-1, 1, 2))]
    won = {word: 100 * float(lost[0][word] - lost[1][word]) for word in lost[0]}
    assert sum(won.values()) == pytest.approx(0.8779, abs=1e-4)
    assert won["that"] == pytest.approx(0.8376, abs=1e-4)
    for offsets, losses in zip(((-1, 1), (-1, 1, 2)), lost, strict=True):
        assert views.ceiling(Design((offsets,), told=True)) + sum(losses.values()) == 1


def confused(design, language):
    """Find the word and the two places by hand, among nested sets."""
    places = {}
    for (words, tags), p in language.items():
        for at, (seen, tag) in enumerate(zip(looks(design, words), tags, strict=True)):
            places.setdefault((words[at], seen), {}).setdefault(tag, Counter())[words, at] += p
    lost = {}
    for (word, _), row in places.items():
        mass = sorted(sum(by.values()) for by in row.values())
        lost[word] = lost.get(word, 0) + sum(mass[:-1])
    return places, lost


@pytest.mark.parametrize("seed", range(30))
def test_what_is_confused_looks_alike_and_is_the_worst(seed):
    rng = random.Random(100 + seed)
    language, design = small_language(rng), drawn(rng)
    found = views.confusion(design, language)
    places, lost = confused(design, language)
    total = sum(p * len(words) for (words, _), p in language.items())
    assert {w: s * total for w, s in views.lost_by_word(design, language).items()} == lost
    if found is None:
        assert not any(lost.values())
        return
    assert found.word == min(word for word in lost if lost[word] == max(lost.values()))
    assert found.lost == max(lost.values()) / total
    (one, i, first), (other, j, second) = found.alike
    assert one[i] == other[j] == found.word
    seen = looks(design, one)[i]
    assert seen == looks(design, other)[j]
    row = places[found.word, seen]
    mass = {tag: sum(by.values()) for tag, by in row.items()}
    worst = max(
        sum(v) - max(v)
        for v in ([sum(b.values()) for b in r.values()] for (w, _), r in places.items() if w == found.word)
    )
    assert sum(mass.values()) - max(mass.values()) == worst
    assert [mass[first], mass[second]] == sorted(mass.values(), reverse=True)[:2]
    for text, at, tag in found.alike:
        lead = {where: 2 * p - sum(by[where] for by in row.values()) for where, p in row[tag].items()}
        by = lead if max(lead.values()) > 0 else row[tag]
        assert by[text, at] == max(by.values())
