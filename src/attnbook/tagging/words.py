"""From text to tokens to features, by rules that the page's JavaScript follows to the letter.

Characters are told apart by their Unicode general category alone. `\\w` and `isalpha` mean different things
in Python and in JavaScript; the categories do not.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby

ENDINGS = ("n't", "'s", "'m", "'re", "'ve", "'ll", "'d")
_WITH_PERIOD = """
mr. mrs. ms. dr. prof. st. jr. sr. vs. etc. inc. co. corp. ltd. gen. rep. sen. gov. lt. col. no. ph.d. fig.
al. jan. feb. mar. apr. jun. jul. aug. sep. sept. oct. nov. dec. ave. blvd. rd. approx. dept. est.
"""
ABBREVIATIONS = frozenset(_WITH_PERIOD.split())
ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*://|www\.)[^ ]|[^@]+@[^@.]+\.[^@]", re.ASCII | re.IGNORECASE)
INITIALS = re.compile(r"(?:[a-z]\.)+[a-z]?\.?", re.ASCII | re.IGNORECASE)


def split(text: str) -> list[str]:
    """Cut a text into tokens the way the English Web Treebank does: "don't" is "do", "n't".

    Numbers, abbreviations, web and mail addresses stay whole; a run of one punctuation mark and an emoji with
    its modifiers are one token each.

    Args:
        text: any text, in any script.

    Returns:
        The tokens, in order; none of them is empty.

    Raises:
        TypeError: text is not a string.

    References:
        Silveira et al. 2014, section 3.

    >>> split("I don't think it's well-known (3.5 km).")
    ['I', 'do', "n't", 'think', 'it', "'s", 'well', '-', 'known', '(', '3.5', 'km', ')', '.']
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, got {type(text).__name__}")
    # Half of a surrogate pair has no UTF-8 form; JavaScript would replace it too.
    text = re.sub("[\ud800-\udfff]", "\ufffd", text)
    chunks = ("".join(run) for is_space, run in groupby(text, _is_space) if not is_space)
    return [token for chunk in chunks for token in _pieces(chunk)]


def features(token: str) -> list[str]:
    """Describe a token by its letters: the word, its beginnings and endings, its shape.

    Args:
        token: one token.

    Returns:
        Nine features: the lower-case word, prefixes of 1 to 3 code points, suffixes of 1 to 4, the shape. The
        shape writes X, x, d or the character itself, runs cut to two.

    >>> features("Saw")
    ['w=saw', 'p1=s', 'p2=sa', 'p3=saw', 's1=w', 's2=aw', 's3=saw', 's4=saw', 'shape=Xxx']
    """
    low = token.lower()
    marks = "".join("".join(run)[:2] for _, run in groupby(map(_shape, token)))
    prefixes = [f"p{i}={low[:i]}" for i in (1, 2, 3)]
    suffixes = [f"s{i}={low[-i:]}" for i in (1, 2, 3, 4)]
    return [f"w={low}", *prefixes, *suffixes, f"shape={marks[:8]}"]


def bucket(feature: str, seed: int, n_buckets: int) -> int:
    """Hash a feature to a row of a table: FNV-1a, 32 bits, over its UTF-8 bytes.

    Args:
        feature: any text.
        seed: mixed into the start value; each seed is another hash function.
        n_buckets: number of rows.

    Returns:
        A row, 0 to n_buckets - 1.

    References:
        Fowler, Noll and Vo, FNV hash; draft-eastlake-fnv, section 2.

    >>> bucket("a", 0, 2**32) == 0xE40C292C
    True
    """
    state = 0x811C9DC5 ^ seed
    for byte in feature.encode():
        state = (state ^ byte) * 0x01000193 & 0xFFFFFFFF
    return state % n_buckets


def _is_space(char: str) -> bool:
    category = unicodedata.category(char)
    return category[0] == "Z" or category == "Cc"


def _is_word(char: str) -> bool:
    return char == "_" or unicodedata.category(char)[0] in "LMN"


def _is_digit(char: str) -> bool:
    return unicodedata.category(char)[0] == "N"


def _shape(char: str) -> str:
    category = unicodedata.category(char)
    if category in ("Lu", "Lt"):
        return "X"
    if category[0] == "L":
        return "x"
    return "d" if category[0] == "N" else char


def _pieces(chunk: str) -> list[str]:
    """Cut a stretch without white space."""
    before, core, after = _peel(chunk)
    whole = core + after
    if whole.lower() in ABBREVIATIONS or (INITIALS.fullmatch(whole) and "." in whole[:-1]):
        core, after = whole, ""
    elif after.startswith(".") and (core + ".").lower() in ABBREVIATIONS:
        core, after = core + ".", after[1:]
    middle = [core] if ADDRESS.match(core) else _inside(core)
    return [*_runs(before), *middle, *_runs(after)]


def _peel(chunk: str) -> tuple[str, str, str]:
    """Separate what is no word at both ends: '"Hi!"' is '"', 'Hi', '!"'."""
    if chunk.replace("’", "'").lower() in ENDINGS:
        return "", chunk, ""
    places = [i for i, char in enumerate(chunk) if _is_word(char)]
    if not places:
        return chunk, "", ""
    return chunk[: places[0]], chunk[places[0] : places[-1] + 1], chunk[places[-1] + 1 :]


def _runs(marks: str) -> list[str]:
    """Cut punctuation: runs of one character stay together, and so does an emoji with what modifies it."""
    out: list[str] = []
    for char in marks:
        if out and (char == out[-1][-1] or _joins(char) or out[-1][-1] == "\u200d"):
            out[-1] += char
        else:
            out.append(char)
    return out


def _joins(char: str) -> bool:
    return unicodedata.category(char) in ("Mn", "Me", "Mc", "Cf", "Sk") and ord(char) > 127


def _inside(core: str) -> list[str]:
    """Cut within a word: at hyphens and slashes, and before the endings n't, 's, 'm, 're, 've, 'll, 'd."""
    if not core:
        return []
    parts, start = [], 0
    for i in range(1, len(core) - 1):
        if not _is_word(core[i]) and not _holds(core, i):
            parts += [core[start:i], core[i]]
            start = i + 1
    parts.append(core[start:])
    out: list[str] = []
    for part in parts:
        if not part:
            continue
        if out and not _is_word(part[0]) and part[0] == out[-1][-1] and len(part) == 1:
            out[-1] += part  # "--" inside a word is one mark
        else:
            out += _contraction(part)
    return out


def _holds(core: str, i: int) -> bool:
    """Say whether the mark at place i belongs inside its word, as in 3.5, 10:30, o'clock, AT&T, x.com."""
    left, mark, right = core[i - 1], core[i], core[i + 1]
    if not (_is_word(left) and _is_word(right)):
        return False
    if mark in ".,:":
        return (_is_digit(left) and _is_digit(right)) or mark == "."
    return mark in "'’&"


def _contraction(part: str) -> list[str]:
    low = part.lower().replace("’", "'")
    if len(low) != len(part):  # a few letters change their length in lower case: leave those words alone
        return [part]
    if low == "cannot":
        return [part[:3], part[3:]]
    for ending in ENDINGS:
        if low.endswith(ending) and len(low) > len(ending):
            return [part[: -len(ending)], part[-len(ending) :]]
    return [part]
