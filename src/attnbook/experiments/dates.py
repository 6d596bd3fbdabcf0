"""Dates as people write them, and as ISO 8601 has them: a task whose true alignment is known.

A small grammar writes one date or several in many forms. It notes for each character of the answer which
characters of the text made it, so that what a model looks at can be held against what is right.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import torch
from torch import Tensor

_MONTHS = "january february march april may june july august september october november december"
MONTHS = tuple(_MONTHS.split())
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
WEEKDAYS = tuple(_WEEKDAYS.split())
_UNITS = "first second third fourth fifth sixth seventh eighth ninth"
_TEENS = "tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
_TWENTIES = " ".join(f"twenty-{unit}" for unit in _UNITS.split())
ORDINALS = tuple(f"{_UNITS} {_TEENS} twentieth {_TWENTIES} thirtieth thirty-first".split())
FIRST, LAST = date(1950, 1, 1), date(2049, 12, 31)
"""A year written with two digits is one of these hundred, so it is never in doubt."""
FORMS = {
    "3 may 1984": ["D", " ", "N", " ", "Y"],
    "3 may 84": ["D", " ", "N", " ", "y"],
    "may 3, 1984": ["N", " ", "D", ", ", "Y"],
    "3rd of may 1984": ["O", " of ", "N", " ", "Y"],
    "may 3rd, 84": ["N", " ", "O", ", ", "y"],
    "thu, 3 may 1984": ["W", ", ", "D", " ", "N", " ", "Y"],
    "the third of may, 1984": ["the ", "F", " of ", "N", ", ", "Y"],
    "3.5.1984": ["D", ".", "M", ".", "Y"],
    "3.5.84": ["D", ".", "M", ".", "y"],
    "5/3/1984": ["M", "/", "D", "/", "Y"],
    "5/3/84": ["M", "/", "D", "/", "y"],
    "1984, may 3": ["Y", ", ", "N", " ", "D"],
}
"""An example of each form, and its parts (day, month, year), each in one of several spellings."""
JOINTS = (" and ", " to ", "; ", ", then ")
SOURCE = "\0 ,-./;" + "0123456789" + "abcdefghijklmnopqrstuvwxyz"
"""The characters of the texts; number 0 is padding."""
TARGET = "<>- 0123456789"
"""The characters of the answers; < starts one and > ends it."""
START, END = 0, 1


@dataclass(frozen=True)
class Dates:
    """A text, its answer, and what made what.

    Args:
        text: one date or several, as people write them.
        iso: the same dates as YYYY-MM-DD, with a space between.
        made: for each character of `iso` the places of the characters of `text` that it was made from; none
            for hyphens and spaces.

    >>> pair = write(date(1984, 5, 3), "3 may 1984")
    >>> pair.text, pair.iso
    ('3 may 1984', '1984-05-03')
    >>> [pair.text[i] for i in pair.made[6]]  # the second digit of the month
    ['m', 'a', 'y']
    """

    text: str
    iso: str
    made: tuple[tuple[int, ...], ...]


def write(day: date, form: str, *, abbreviate: bool = False, pad: bool = False) -> Dates:
    """Write one date.

    Args:
        day: the date, from 1950 to 2049.
        form: one of `FORMS`.
        abbreviate: three letters for a month or a weekday.
        pad: two digits for a day or a month below ten, where they are written in digits.

    Raises:
        ValueError: there is no such form, or the date is out of range.

    >>> write(date(2007, 10, 21), "5/3/84").text
    '10/21/07'
    """
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(map(repr, FORMS))}, got {form!r}")
    if not FIRST <= day <= LAST:
        raise ValueError(f"day must be from {FIRST} to {LAST}, got {day}")
    two = "02d" if pad else "d"
    suffix = "th" if 10 < day.day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    cut = 3 if abbreviate else None
    spelled = {
        "D": f"{day.day:{two}}",
        "O": f"{day.day}{suffix}",
        "F": ORDINALS[day.day - 1],
        "M": f"{day.month:{two}}",
        "N": MONTHS[day.month - 1][:cut],
        "Y": f"{day.year}",
        "y": f"{day.year % 100:02d}",
        "W": WEEKDAYS[day.weekday()][:cut],
    }
    text, at = "", {}
    for part in FORMS[form]:
        words = spelled.get(part, part)
        at[part] = range(len(text), len(text) + len(words))
        text += words
    fields = [_year(at), _two(at, text, "M", "N"), _two(at, text, "D", "O", "F")]
    made = [*fields[0], (), *fields[1], (), *fields[2]]
    return Dates(text, day.isoformat(), tuple(map(tuple, made)))


def join(pairs: Sequence[Dates], joints: Sequence[str]) -> Dates:
    """Write several dates one after the other, with words between them.

    Args:
        pairs: the dates.
        joints: what stands between two of them, one less than there are dates.

    >>> one = write(date(1984, 5, 3), "3.5.84")
    >>> both = join([one, one], [" and "])
    >>> both.text, both.iso, both.made[11]
    ('3.5.84 and 3.5.84', '1984-05-03 1984-05-03', (15, 16))
    """
    text, iso, made = "", "", []
    for pair, joint in zip(pairs, ["", *joints], strict=True):
        text += joint
        made += [(), *pair.made] if iso else pair.made
        made[len(made) - len(pair.made) :] = [tuple(i + len(text) for i in places) for places in pair.made]
        iso += f" {pair.iso}" if iso else pair.iso
        text += pair.text
    return Dates(text, iso, tuple(made))


def draw(count: int, n: int, source: random.Random) -> list[Dates]:
    """Draw texts of n dates each: any day of the hundred years, any form.

    Args:
        count: how many texts.
        n: dates in each.
        source: the source of randomness.

    >>> draw(1, 2, random.Random(0))[0].text
    'february 15th, 19, then sep 26th, 41'
    """

    def one() -> Dates:
        day = FIRST + timedelta(source.randrange((LAST - FIRST).days + 1))
        how = {"abbreviate": source.random() < 0.5, "pad": source.random() < 0.5}
        return write(day, source.choice(list(FORMS)), **how)

    return [join([one() for _ in range(n)], source.choices(JOINTS, k=n - 1)) for _ in range(count)]


def encode(texts: Sequence[str]) -> Tensor:
    """Turn texts into numbers, padded with 0: (batch, n_s).

    Raises:
        ValueError: a text has a character that the grammar doesn't use.

    >>> encode(["a-", "b"]).tolist()
    [[17, 3], [18, 0]]
    """
    unknown = sorted({c for text in texts for c in text} - set(SOURCE[1:]))
    if unknown:
        raise ValueError(f"texts must be written in lower-case letters, digits and ' ,-./;', got {unknown}")
    n = max(map(len, texts))
    return torch.tensor([[SOURCE.index(c) for c in text.ljust(n, "\0")] for text in texts])


def answers(texts: Sequence[str]) -> Tensor:
    """Turn answers of one length into numbers, each between START and END: (batch, n + 2).

    >>> answers(["1-"]).tolist()
    [[0, 5, 2, 1]]
    """
    return torch.tensor([[START, *(TARGET.index(c) for c in text), END] for text in texts])


def decode(tokens: Tensor) -> list[str]:
    """Turn numbers (batch, n_t) into answers; each ends before its END.

    >>> decode(answers(["1984-05-03"])[:, 1:])
    ['1984-05-03']
    """
    return ["".join(TARGET[t] for t in row).split(">")[0] for row in tokens.tolist()]


def right(found: Sequence[str], pairs: Sequence[Dates]) -> float:
    """Return the share of *dates* that are right, each at its own place.

    A text of three dates counts three times, so that longer texts aren't wrong more often only because there
    is more to get wrong.

    >>> right(["1984-05-03 1984-05-04"], [Dates("", "1984-05-03 1999-01-01", ())])
    0.5
    """
    wanted = [pair.iso.split(" ") for pair in pairs]
    given = [text.split(" ") for text in found]
    texts = zip(given, wanted, strict=True)
    hits = sum(a == b for text in texts for a, b in zip(*text, strict=False))
    return hits / sum(map(len, wanted))


def aligned(weights: Tensor, pairs: Sequence[Dates], *, around: int = 0) -> float:
    """Return how much weight falls on the characters that made what was written, on average over its digits.

    Args:
        weights: (batch, n_t, n_s), a row for each character of the answers; rows after them are not read.
        pairs: the texts and answers.
        around: count so many characters before and after as right too.

    >>> pair = write(date(1984, 5, 3), "3.5.1984")
    >>> aligned(torch.full((1, 10, 8), 1 / 8), [pair])  # a look everywhere: one character of eight
    0.125
    """
    found = []
    for rows, pair in zip(weights.tolist(), pairs, strict=True):
        for row, places in zip(rows, pair.made, strict=False):
            if places:
                near = {i + by for i in places for by in range(-around, around + 1)}
                found.append(sum(row[i] for i in near if 0 <= i < len(pair.text)))
    return sum(found) / len(found)


def _year(at: dict[str, range]) -> list[tuple[int, ...]]:
    """The century of a year of two digits follows from both; its own digits from each."""
    if "Y" in at:
        return [(i,) for i in at["Y"]]
    return [tuple(at["y"])] * 2 + [(i,) for i in at["y"]]


def _two(at: dict[str, range], text: str, *parts: str) -> list[tuple[int, ...]]:
    """Two digits of a day or a month: each from its own where there are two, else both from what there is."""
    places = at[next(part for part in parts if part in at)]
    digits = [i for i in places if text[i].isdigit()]
    if len(digits) == 2:
        return [(i,) for i in digits]
    return [tuple(digits or places)] * 2
