"""The best that a tagger can do that knows a word by a view of it."""

import math
from collections import Counter, UserDict, defaultdict
from fractions import Fraction
from statistics import mean

from answers import right, wrong


def tally(sentences, view, weigh=lambda p: p):
    """How probable each tag is, for each look."""
    seen = defaultdict(Counter)
    for (words, tags), p in sentences.items():
        for i, tag in enumerate(tags):
            seen[view(words, i)][tag] += weigh(p)
    return seen.values()


def hits(seen):
    return sum(max(tags.values()) for tags in seen)


def total(seen):
    return sum(tags.total() for tags in seen)


@right
def in_plain_dicts(sentences, view):
    seen = {}
    for (words, tags), p in sentences.items():
        for i in range(len(words)):
            look = seen.setdefault(view(words, i), {})
            look[tags[i]] = look.get(tags[i], 0) + p
    return sum(max(t.values()) for t in seen.values()) / sum(p * len(w) for (w, _), p in sentences.items())


ceiling = in_plain_dicts


@right
def the_function_first(sentences, view):
    """Choose the function, then count what it gets right."""
    pairs = Counter()
    for (words, tags), p in sentences.items():
        for i, tag in enumerate(tags):
            pairs[view(words, i), tag] += p
    best = {look: tag for (look, tag), _ in sorted(pairs.items(), key=lambda pair: pair[1])}
    return Fraction(sum(p for (look, tag), p in pairs.items() if best[look] == tag), pairs.total())


@right
def in_whole_numbers(sentences, view):
    scale = math.lcm(*(p.denominator for p in sentences.values()))
    seen = tally(sentences, view, lambda p: int(p * scale))
    return Fraction(hits(seen), total(seen))


@right
def by_search(sentences, view):
    """Ask of a look only whether it equals another."""
    looks, seen = [], []
    for (words, tags), p in sentences.items():
        for i, tag in enumerate(tags):
            look = view(words, i)
            if look not in looks:
                looks.append(look)
                seen.append(Counter())
            seen[looks.index(look)][tag] += p
    return hits(seen) / total(seen)


@wrong("Every sentence counts alike")
def no_probabilities(sentences, view):
    pairs = Counter((view(words, i), tag) for words, tags in sentences for i, tag in enumerate(tags))
    best = Counter()
    for (look, _), count in pairs.items():
        best[look] = max(best[look], count)
    return Fraction(best.total(), pairs.total())


@wrong("It averages over sentences")
def a_share_for_each_sentence(sentences, view):
    seen, shares = defaultdict(Counter), Fraction(0)
    for (words, tags), p in sentences.items():
        for i, tag in enumerate(tags):
            seen[view(words, i)][tag] += p
    for (words, tags), p in sentences.items():
        guessed = [seen[view(words, i)].most_common(1)[0][0] for i in range(len(words))]
        shares += p * sum(map(str.__eq__, guessed, tags)) / len(tags)
    return shares


@wrong("none of whose tags has a majority")
def half_or_nothing(sentences, view):
    seen = tally(sentences, view)
    return sum(m for tags in seen if 2 * (m := max(tags.values())) >= tags.total()) / total(seen)


@wrong("changed its argument sentences")
def emptied(sentences, view):
    found = ceiling(sentences, view)
    sentences.clear()
    return found


@wrong("should be")
def two_words_a_sentence(sentences, view):
    short = {pair: p for pair, p in UserDict(sentences).items() if len(pair[0]) == 2}
    return ceiling(short, view)


wrong("Divide by how many words")(lambda s, view: hits(tally(s, view)), "not divided")
wrong("the output should be")(
    lambda s, view: hits(tally(s, view)) / len(s), "divided by the number of sentences"
)
wrong("the share of words that stay wrong")(lambda s, view: 1 - ceiling(s, view), "the error rate")
wrong("It averages over looks")(
    lambda s, view: mean(max(tags.values()) / tags.total() for tags in tally(s, view)), "a mean over looks"
)
wrong("It looks at the word whatever the view shows")(
    lambda s, view: ceiling(s, lambda words, i: words[i]), "the word alone"
)
wrong("a view of the place and of no word")(
    lambda s, view: ceiling(s, lambda words, i: (words[i], view(words, i))), "the word beside the view"
)
wrong("should be")(
    lambda s, view: ceiling(s, lambda words, i: words[: i + 1]), "the words so far whatever the view"
)
wrong("should be")(
    lambda s, view: sum(ceiling({one: Fraction(1)}, view) * p for one, p in s.items()),
    "each sentence has a function of its own",
)
wrong("should be")(lambda s, view: Fraction(7, 8), "one of the numbers")
wrong("a view of the whole sentence")(
    lambda s, view: ceiling(s, lambda words, i: str(view(words, i))[:12]), "the first letters of the view"
)
wrong("a view of the whole sentence")(
    lambda s, view: ceiling(s, lambda words, i: str(view(words, i))[:60]), "more letters of the view"
)
wrong("It went through a float")(lambda s, view: float(ceiling(s, view)), "a float")
wrong("It went through a float")(
    lambda s, view: Fraction(float(ceiling(s, view))).limit_denominator(), "a fraction close by"
)
