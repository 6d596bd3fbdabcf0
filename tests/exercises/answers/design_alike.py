"""Whether two places look alike through offsets that are told."""

from answers import right, wrong


def compared(look):
    def does(a, i, b, j, offsets):
        return look(a, i, offsets) == look(b, j, offsets)

    does.__name__ = look.__name__
    return does


def pairs(words, at, offsets):
    return {(o, words[at + o]) for o in [0, *offsets] if 0 <= at + o < len(words)}


@right
@compared
def sets_of_pairs(words, at, offsets):
    seen = pairs(words, at, offsets)
    return seen if len({word for _, word in seen}) > 1 else words[at]


@right
@compared
def others_only(words, at, offsets):
    there = {o: words[at + o] for o in offsets if at + o in range(len(words))}
    return words[at], there if any(word != words[at] for word in there.values()) else None


@right
def padded(a, i, b, j, offsets):
    """Write blanks on both sides, and compare rows."""
    reach = max([0, *map(abs, offsets)])
    rows = []
    for words, at in ((a, i), (b, j)):
        room = [None] * reach + words + [None] * reach
        row = [room[at + reach + o] for o in [0, *sorted(offsets)]]
        rows.append(row[:1] if set(row) <= {row[0], None} else row)
    return rows[0] == rows[1]


@right
def place_by_place(a, i, b, j, offsets):
    if a[i] != b[j]:
        return False
    same, twins = True, True
    for o in offsets:
        one = a[i + o] if 0 <= i + o < len(a) else ""
        other = b[j + o] if 0 <= j + o < len(b) else ""
        same = same and one == other
        twins = twins and one in ("", a[i]) and other in ("", a[i])
    return same or twins


wrong("Where all that is seen is one word")(compared(pairs), "pairs and no more")


@wrong("in Python, words[-1] is the last word")
@compared
def from_the_end(words, at, offsets):
    seen = {(o, words[at + o]) for o in [0, *offsets] if at + o < len(words) and at + o >= -len(words)}
    return seen if len({word for _, word in seen}) > 1 else words[at]


wrong("should be")(
    compared(lambda words, at, offsets: [words[(at + o) % len(words)] for o in [0, *offsets]]), "in a ring"
)


@wrong("Each word sees itself, too")
@compared
def others_alone(words, at, offsets):
    seen = pairs(words, at, offsets) - {(0, words[at])}
    return words[at] if {word for _, word in seen} == {words[at]} else seen


@wrong("at which offsets something is seen, and not what")
@compared
def offsets_alone(words, at, offsets):
    seen = pairs(words, at, offsets)
    twins = {word for _, word in seen} == {words[at]}
    return words[at] if twins else (words[at], frozenset(o for o, _ in seen))


@wrong("beside itself are alike, it says")
@compared
def one_other_word(words, at, offsets):
    others = {(o, word) for o, word in pairs(words, at, offsets) if o}
    few = {word for _, word in others}
    return words[at] if len(few) < 2 else (words[at], frozenset(others))


@wrong("Where any twin is seen, it gives up")
@compared
def any_twin(words, at, offsets):
    seen = pairs(words, at, offsets)
    twin = any(o and word == words[at] for o, word in seen)
    return words[at] if twin or len(seen) == 1 else seen


wrong("Other sentences can look alike")(lambda a, i, b, j, offsets: a == b and i == j, "the same sentence")


wrong("and not where")(
    compared(lambda words, at, offsets: (words[at], {word for _, word in pairs(words, at, offsets)})), "a set"
)


@wrong("and how often")
@compared
def bags(words, at, offsets):
    seen = sorted(word for _, word in pairs(words, at, offsets))
    return words[at], seen if set(seen) != {words[at]} else []


@wrong("and not their offsets")
@compared
def rows(words, at, offsets):
    seen = [word for _, word in sorted(pairs(words, at, offsets))]
    return words[at], seen if set(seen) != {words[at]} else []


wrong("It asks whether the word is the same")(lambda a, i, b, j, offsets: a[i] == b[j], "the word")
wrong("The offsets go the wrong way")(
    lambda a, i, b, j, offsets: sets_of_pairs(a, i, b, j, [-o for o in offsets]), "the other side"
)
wrong("It says the opposite")(lambda *given: not sets_of_pairs(*given), "the opposite")
wrong("It says True")(lambda *given: True, "always")
wrong("It says False")(lambda *given: False, "never")
wrong("It asks for the same place, too")(
    lambda a, i, b, j, offsets: i == j and sets_of_pairs(a, i, b, j, offsets), "the same place"
)
wrong("should be")(lambda a, i, b, j, offsets: sets_of_pairs(a, i, b, j, offsets[:1]), "one offset")
wrong("should be")(lambda a, i, b, j, offsets: sets_of_pairs(a, i, b, j, [*offsets, -1]), "one offset more")
wrong("should be")(
    lambda a, i, b, j, offsets: sets_of_pairs(a, i, b, j, [o for o in offsets if abs(o) < 8]), "near offsets"
)
wrong("should be")(
    lambda a, i, b, j, offsets: sets_of_pairs(a[:40], i, b[:40], j, offsets) if max(i, j) < 40 else True,
    "the first forty",
)


@wrong("With other words in the same neighbourhood")
@compared
def first_letters(words, at, offsets):
    seen = pairs([word[0] for word in words], at, offsets)
    return seen if len({letter for _, letter in seen}) > 1 else words[at][0]
