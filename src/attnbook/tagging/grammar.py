"""A toy grammar of English, small enough to enumerate: the best possible accuracy is a fraction.

Its words are ambiguous on purpose: "saw" is a noun or a verb, "that" a pronoun or a determiner, "can" an
auxiliary, a noun or a verb. Every sentence has a probability, so the accuracy of the best tagger that sees
only part of the sentence can be computed exactly (`ceiling`) instead of estimated.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from functools import cache
from itertools import accumulate

Words = tuple[str, ...]
Tags = tuple[str, ...]
Sentence = tuple[Words, Tags]
"""The words of a sentence, and their tags."""

# Symbol -> ((expansion, per cent), ...). A symbol that expands to words is a tag; PRONs and PRONo, subject
# and object pronouns, are both tagged PRON.
RULES: dict[str, tuple[tuple[str, int], ...]] = {
    "S": (("Subj VP", 65), ("Subj AUX VP", 35)),
    "Subj": (("PRONs", 60), ("DET NOUN", 30), ("DET ADJ NOUN", 10)),
    "VP": (("VERB", 25), ("VERB Obj", 75)),
    "Obj": (("PRONo", 25), ("DET NOUN", 55), ("DET ADJ NOUN", 20)),
}
LEXICON: dict[str, tuple[tuple[str, int], ...]] = {
    "PRONs": (("I", 40), ("you", 25), ("they", 25), ("that", 10)),
    "PRONo": (("me", 30), ("you", 25), ("them", 25), ("that", 20)),
    "DET": (("a", 35), ("the", 45), ("that", 20)),
    "AUX": (("can", 60), ("will", 40)),
    "ADJ": (("left", 50), ("old", 50)),
    "NOUN": (("saw", 15), ("can", 20), ("duck", 15), ("fish", 20), ("watch", 15), ("dog", 15)),
    "VERB": (("saw", 30), ("can", 10), ("duck", 15), ("fish", 15), ("watch", 15), ("left", 15)),
}
TAGS: Tags = ("ADJ", "AUX", "DET", "NOUN", "PRON", "VERB")

# What a tagger may know about the word at place i when it chooses its tag.
VIEWS: dict[str, Callable[[Words, int], Hashable]] = {
    "nothing": lambda words, i: None,
    "word": lambda words, i: words[i],
    "word and position": lambda words, i: (words[i], i),
    "bag of words": lambda words, i: (words[i], tuple(sorted(words))),
    "bag and own place": lambda words, i: (words[i], i, tuple(sorted(words))),
    "previous word": lambda words, i: words[max(i - 1, 0) : i + 1] if i else ("", words[i]),
    "next word": lambda words, i: (words[i], *words[i + 1 : i + 2]),
    "both neighbours": lambda words, i: (i > 0, words[max(i - 1, 0) : i + 2]),
    "everything before": lambda words, i: words[: i + 1],
    "whole sentence": lambda words, i: (i, words),
}


@cache
def sentences() -> dict[Sentence, Fraction]:
    """List every tagged sentence of the grammar with its probability.

    Returns:
        (words, tags) -> probability; the probabilities sum to one. 61,242 different word sequences, some of
        which can be tagged in more than one way.

    >>> len(sentences()), sum(sentences().values())
    (61596, Fraction(1, 1))
    >>> sentences()[("I", "saw", "a", "saw"), ("PRON", "VERB", "DET", "NOUN")]
    Fraction(81081, 80000000)
    """
    # Numbers are whole multiples of 100**-rules until the end: fractions are exact but slow to add up.
    found: Counter[Sentence] = Counter()
    depth = 12  # at most 4 rules and 8 words
    for shape, weight, rules in _expand(("S",), 1, 0):
        tags = tuple(symbol[:4] if symbol.startswith("PRON") else symbol for symbol in shape)
        partial: list[tuple[Words, int]] = [((), weight)]
        for symbol in shape:
            partial = [((*words, w), p * q) for words, p in partial for w, q in LEXICON[symbol]]
        missing = 100 ** (depth - rules - len(shape))
        for words, p in partial:
            found[words, tags] += p * missing
    return {sentence: Fraction(p, 100**depth) for sentence, p in found.items()}


def ceiling(view: str) -> Fraction:
    """Compute the best accuracy of any tagger that sees the sentence through a view.

    Accuracy is the expected number of right tags divided by the expected number of words. Among all places
    that look alike through the view the best tagger gives the tag that is most probable there; no other
    choice does better, and the choices do not interfere.

    Args:
        view: a key of `VIEWS`: "nothing" (one tag for all), "word", "word and position", "bag of words" (what
            attention without positions sees), "bag and own place", "previous word", "next word",
            "both neighbours", "everything before" (causal), "whole sentence".

    Returns:
        The accuracy, between 0 and 1, exactly.

    Raises:
        ValueError: there is no such view.

    >>> ceiling("word"), round(100 * float(ceiling("word")), 3)
    (Fraction(5143, 6900), 74.536)
    """
    return sum(right_by_word(view).values())


def right_by_word(view: str) -> dict[str, Fraction]:
    """Split a ceiling up by word: what share of all words it is, and comes out right at best.

    Args:
        view: as for `ceiling`.

    Returns:
        word -> share of all words; together they are the ceiling.

    Raises:
        ValueError: there is no such view.

    >>> right = right_by_word("word")
    >>> sum(right.values()) == ceiling("word"), round(float(right["saw"]), 4)
    (True, 0.0696)
    """
    return dict(_best(view)[0])


def entropy(view: str) -> float:
    """Compute the least cross-entropy of any tagger that sees the sentence through a view.

    That is the entropy of a word's tag given what is seen, its mean over the words. Only the tagger that
    knows every tag's probability reaches it.

    Args:
        view: as for `ceiling`.

    Returns:
        Nats per word.

    Raises:
        ValueError: there is no such view.

    >>> round(entropy("word"), 4), round(entropy("whole sentence"), 4)
    (0.4236, 0.0063)
    """
    return _best(view)[1]


@cache
def _best(view: str) -> tuple[dict[str, Fraction], float]:
    """Find what the best tagger gets right, as shares of all words by word, and the least cross-entropy."""
    if view not in VIEWS:
        raise ValueError(f"view must be one of {', '.join(map(repr, VIEWS))}; got {view!r}")
    look, scale = VIEWS[view], 100**12  # whole numbers again, see `sentences`
    places: dict[tuple[Hashable, str, str], int] = {}
    for (words, tags), probability in sentences().items():
        weight = probability.numerator * (scale // probability.denominator)
        for i, tag in enumerate(tags):
            place = look(words, i), words[i], tag
            places[place] = places.get(place, 0) + weight
    seen: defaultdict[Hashable, dict[str, int]] = defaultdict(dict)
    for (sight, _, tag), count in places.items():
        seen[sight][tag] = seen[sight].get(tag, 0) + count
    best = {sight: max(tags, key=tags.__getitem__) for sight, tags in seen.items()}
    right: Counter[str] = Counter()
    for (sight, word, tag), count in places.items():
        right[word] += count * (tag == best[sight])
    everything = sum(places.values())
    # Whole numbers this large are turned into floats as late as can be.
    least = sum(
        count / everything * -math.log(count / alike)
        for tags in seen.values()
        for alike in [sum(tags.values())]
        for count in tags.values()
    )
    return {word: Fraction(count, everything) for word, count in sorted(right.items())}, least


def tag_counts() -> dict[str, dict[str, Fraction]]:
    """Count how often each word is expected in one sentence, by tag.

    Returns:
        word -> tag -> expected number of occurrences, tags with the largest count first.

    >>> tag_counts()["dog"]
    {'NOUN': Fraction(231, 1600)}
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for (words, tags), probability in sentences().items():
        for word, tag in zip(words, tags, strict=True):
            counts[word][tag] += probability
    return {word: dict(tags.most_common()) for word, tags in sorted(counts.items())}


def sample(count: int, seed: int) -> list[Sentence]:
    """Draw sentences with the grammar's probabilities.

    Args:
        count: how many, at least 0.
        seed: the same seed draws the same sentences.

    Returns:
        (words, tags) for each sentence.

    Raises:
        ValueError: count is negative.

    >>> sample(1, seed=0)
    [(('you', 'can', 'watch', 'a', 'left', 'saw'), ('PRON', 'AUX', 'VERB', 'DET', 'ADJ', 'NOUN'))]
    """
    if count < 0:
        raise ValueError(f"count must be at least 0, got {count}")
    every = list(sentences())
    reach = list(accumulate(map(float, sentences().values())))
    return random.Random(seed).choices(every, cum_weights=reach, k=count)


def _expand(symbols: tuple[str, ...], weight: int, rules: int) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Yield every sequence of tag symbols with its weight and the number of rules that made it."""
    for at, symbol in enumerate(symbols):
        if symbol in RULES:
            for expansion, per_cent in RULES[symbol]:
                longer = (*symbols[:at], *expansion.split(), *symbols[at + 1 :])
                yield from _expand(longer, weight * per_cent, rules + 1)
            return
    yield symbols, weight, rules
