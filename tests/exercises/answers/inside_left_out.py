"""How far a score falls when each word is left out."""

import itertools

import numpy as np
import torch

from answers import right, wrong


def drops(score, pieces, kept=lambda p, i: p[:i] + p[i + 1 :], whole=list):
    """Right; or with other words kept, or another text for the whole."""
    return [score(whole(pieces)) - score(kept(pieces, i)) for i in range(len(pieces))]


def other(change):
    """The drops, changed when they are there."""
    return lambda score, pieces: [change(x) for x in drops(score, pieces)]


right(lambda *a: torch.tensor(drops(*a)), "a tensor")
right(lambda *a: np.array(drops(*a)), "an array")
right(lambda *a: tuple(drops(*a)), "a tuple")
right(lambda *a: drops(*a, kept=lambda p, i: [q for j, q in enumerate(p) if j != i]), "by enumerate")


@right
def all_but_one_turned_round(score, pieces):
    kept = itertools.combinations(pieces, len(pieces) - 1)
    return [score(list(pieces)) - score(list(one)) for one in kept][::-1]


@right
def popped_and_put_back(score, pieces):
    whole, found = score(list(pieces)), []
    for i in range(len(pieces)):
        word = pieces.pop(i)
        found.append(whole - score(list(pieces)))
        pieces.insert(i, word)
    return found


@wrong("The drops come in the reverse order")
def all_but_one_as_they_come(score, pieces):
    return all_but_one_turned_round(score, pieces)[::-1]


@wrong("A word that comes twice loses both places")
def by_value(score, pieces):
    whole = score(list(pieces))
    return [whole - score([p for p in pieces if p != piece]) for piece in pieces]


@wrong("drop of its first place")
def removed(score, pieces):
    found = []
    for piece in pieces:
        rest = list(pieces)
        rest.remove(piece)
        found.append(score(list(pieces)) - score(rest))
    return found


@wrong("drop of its first place")
def once_for_each_word(score, pieces):
    found = dict(zip(reversed(pieces), reversed(drops(score, pieces)), strict=True))
    return [found[word] for word in pieces]


@wrong("What was left out is not put back")
def popped_for_good(score, pieces):
    rest, found = list(pieces), []
    for _ in pieces:
        rest.pop(0)
        found.append(score(list(pieces)) - score(list(rest)))
    return found


@wrong("it changed its argument pieces in place")
def the_list_emptied(score, pieces):
    found = drops(score, pieces)
    pieces.clear()
    return found


wrong("The sign is turned")(other(lambda x: -x), "signs turned")
wrong("These are sizes")(other(abs), "sizes")
wrong("should be")(other(lambda x: max(0.0, x)), "only falls")
wrong("should be")(other(round), "rounded")
wrong("a score of thirds")(other(lambda x: round(x, 2)), "rounded to hundredths")
wrong("should be")(other(int), "whole numbers")
wrong("These are shares of the whole")(
    lambda score, p: [1 - score(p[:i] + p[i + 1 :]) / score(list(p)) for i in range(len(p))], "shares"
)
wrong("should be")(lambda score, p: [x / len(p) for x in drops(score, p)], "a share of the text")
wrong("should be")(
    lambda score, p: [x - sum(drops(score, p)) / len(p) for x in drops(score, p)], "against the mean drop"
)
wrong("should be")(lambda score, p: [x - score([]) for x in drops(score, p)], "less what nothing scores")
wrong("This is the score without each word")(
    lambda score, p: [score(p[:i] + p[i + 1 :]) for i in range(len(p))], "not subtracted"
)
wrong("This is the score of each word alone")(
    lambda score, p: [score([word]) for word in p], "each word alone"
)
wrong("It keeps the words up to that place")(
    lambda *a: drops(*a, kept=lambda p, i: [*itertools.islice(p, i)]), "the words before it"
)
wrong("should be")(
    lambda score, p: [score(p[: i + 1]) - score(p[:i]) for i in range(len(p))], "what each adds"
)
wrong("should be")(
    lambda score, p: [score(p[i:]) - score(p[i + 1 :]) for i in range(len(p))], "what a suffix loses"
)
wrong("should be")(lambda *a: drops(*a, kept=lambda p, i: p[i + 1 :] + p[:i]), "in another order")
wrong("should be")(
    lambda *a: drops(*a, kept=lambda p, i: sorted(p[:i] + p[i + 1 :]), whole=sorted), "sorted texts"
)
wrong("The word was replaced by another piece")(
    lambda *a: drops(*a, kept=lambda p, i: [*p[:i], "[MASK]", *p[i + 1 :]]), "masked"
)
wrong("The word was replaced by an empty one")(
    lambda *a: drops(*a, kept=lambda p, i: [*p[:i], "", *p[i + 1 :]]), "an empty word"
)
wrong("should be")(
    lambda score, p: [sum(score([q]) for q in p) - score(p[:i] + p[i + 1 :]) for i in range(len(p))],
    "the parts' sum for the whole",
)
wrong("should be")(
    lambda score, p: [score(" ".join(p)) - score(" ".join(p[:i] + p[i + 1 :])) for i in range(len(p))],
    "one string",
)
wrong("AttributeError")(
    lambda *a: drops(*a, kept=lambda p, i: tuple(p[:i] + p[i + 1 :]), whole=tuple), "a tuple handed over"
)
wrong("changed its argument pieces")(lambda *a: drops(*a, whole=lambda p: p), "its own list handed over")
wrong("should have length")(lambda *a: drops(*a)[:-1], "not the last")
wrong("should be")(lambda *a: drops(*a)[-1:] + drops(*a)[:-1], "the last one first")
wrong("should be")(lambda score, p: drops(score, p) if len(p) > 1 else [0.0], "nothing for one word")
wrong("should be a list")(lambda score, p: dict(zip(p, drops(score, p), strict=True)), "by word")
