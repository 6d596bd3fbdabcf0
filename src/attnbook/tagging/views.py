"""Attention as one designs it: who may see whom, how good any model can be that sees so, and what it costs.

A `Design` says, layer by layer, at which offsets from itself a word may look. Its ceiling is exact: among all
places of the grammar that look alike through it, the best model gives the tag that is most probable there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Literal, get_args

import torch
from torch import Tensor

from attnbook.tagging import grammar

Mix = Literal["attention", "mean"]
FARTHEST = 7
"""The grammar's longest sentences have eight words."""
LONGEST = FARTHEST + 1
D_MODEL = 32
"""The width for which bytes are counted; numbers have four bytes each."""
Language = Mapping[grammar.Sentence, Fraction]
"""(words, tags) -> probability."""


@dataclass(frozen=True)
class Design:
    """Who may see whom, in one layer or in two.

    A word always sees itself. At each offset of its layer it sees the word that stands there, if there is
    one. Of all these, so many as `nearest` says are kept, the word itself among them and, of two that are
    equally near, the one before.

    Args:
        layers: the offsets of each layer, from -7 to 7 without 0, which goes without saying.
        told: whether a word knows at which offset it sees another.
        nearest: how many words a word sees at most in a layer, itself counted; 0 for all that are painted.
        mix: how it takes in what it sees: "attention" weighs, "mean" takes the same share of each, untold.

    Raises:
        ValueError: an argument is out of its range, or a mean is told where.

    >>> Design(layers=((1, -1),), told=True).sees(4, 0)
    (0, 1)
    >>> Design(layers=((-3, -1, 1),), nearest=3).sees(5, 4)
    (1, 3, 4)
    """

    layers: tuple[tuple[int, ...], ...] = ((),)
    told: bool = False
    nearest: int = 0
    mix: Mix = "attention"

    def __post_init__(self) -> None:
        if len(self.layers) not in (1, 2):
            raise ValueError(f"layers must be one or two lists of offsets, got {len(self.layers)}")
        for offsets in self.layers:
            if not all(isinstance(o, int) and 0 < abs(o) <= FARTHEST for o in offsets):
                raise ValueError(f"offsets must be -{FARTHEST} to {FARTHEST} without 0, got {offsets}")
        if not 0 <= self.nearest <= LONGEST:
            raise ValueError(f"nearest must be 0 to {LONGEST}, got {self.nearest}")
        if self.mix not in get_args(Mix):
            raise ValueError(f"mix must be {' or '.join(get_args(Mix))}, got {self.mix!r}")
        if self.told and self.mix == "mean":
            raise ValueError("a mean takes the same share of all it sees: it can't be told where they stand")
        sorted_layers = tuple(tuple(sorted(set(offsets))) for offsets in self.layers)
        object.__setattr__(self, "layers", sorted_layers)

    def sees(self, n: int, place: int, layer: int = 0) -> tuple[int, ...]:
        """Return the places that a word sees in a sentence of n words.

        Args:
            n: words of the sentence.
            place: of the word, 0 to n - 1.
            layer: 0 or 1.

        Returns:
            Places in their order, its own among them.
        """
        open_to_it = {place, *(place + offset for offset in self.layers[layer])}
        there = [j for j in open_to_it if 0 <= j < n]
        closest = sorted(there, key=lambda j: (abs(j - place), j))
        return tuple(sorted(closest[: self.nearest or n]))

    def mask(self, n: int, layer: int = 0) -> Tensor:
        """Return the mask of a layer.

        Args:
            n: words of the sentence.
            layer: 0 or 1.

        Returns:
            Boolean (n, n), True = may attend.

        >>> Design(layers=((-1,),)).mask(3).int().tolist()
        [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
        """
        mask = torch.zeros(n, n, dtype=torch.bool)
        for place in range(n):
            mask[place, list(self.sees(n, place, layer))] = True
        return mask

    def tagger_choices(self) -> dict[str, object]:
        """Return what a `Tagger` of this design is made of: told, RoPE turns its queries and keys.

        RoPE tells at which offset a word stands, and no more: learned or sinusoidal places would also tell
        where in the sentence the word itself is, which the ceiling does not allow.

        >>> Design(told=True).tagger_choices()["positions"]
        'rotary'
        """
        positions = "rotary" if self.told else "none"
        return {"context": self.mix, "positions": positions, "n_layers": len(self.layers), "design": self}

    def masks(self, real: Tensor) -> list[Tensor]:
        """Return the mask of each layer for sentences of a batch, padded at their ends.

        Args:
            real: boolean (batch, n), False = padding.

        Returns:
            For each layer (batch, 1, n, n). A word of the padding sees itself.
        """
        lengths, n = real.sum(-1).tolist(), real.shape[-1]
        masks = []
        for layer in range(len(self.layers)):
            of = {}
            for length in set(lengths):
                of[length] = torch.eye(n, dtype=torch.bool, device=real.device)
                of[length][:length, :length] = self.mask(length, layer)
            masks.append(torch.stack([of[length] for length in lengths])[:, None])
        return masks


def ceiling(design: Design, language: Language | None = None) -> Fraction:
    """Compute the best accuracy of any model that sees sentences through a design.

    What a word sees of one layer is itself and what a softmax of any weights can pass on. *Told* where words
    stand, as by RoPE, that is the set of (offset, word) pairs, but nothing at all where every word seen is
    the word itself. *Untold*, the shares of the words seen, itself among them. In a second layer the same
    holds of what each word saw in the first.

    Proof. The output of a head is the sum of w(v) u(v) over the different words v that are seen: u(v) is the
    value of v, and w(v) the sum of exp(s(o, v)) over the offsets o at which v stands, divided by the same sum
    over all v. RoPE turns queries and keys: the scores s depend on o, the values u do not. With one
    different word w is 1, and the output its value, wherever it stands and however often. So two such places
    give the same output whatever the weights.
    With two or more, two places give the same output whatever the weights only if they see the same. Values
    of different words can be chosen independent, so both see the same words, and for each v the sums of both
    places have one ratio r. The key of v can be chosen without changing that of another word: so r is the
    same for all keys of v. Under RoPE, s(o, v) as a function of that key is another linear function for each
    o, and exponentials of different linear functions are linearly independent: r is 1, and v stands at the
    same offsets in both places. Untold, s depends on v alone: the sum is the number of v times exp(s(v)), and
    the numbers of all v have one ratio, which is to say that their shares are the same.
    That one choice of weights tells two places apart means that nearly all do, as all is analytic in them; a
    network after each layer turns different vectors into independent ones for the next.

    So even who is told where words stand can't count equal ones. And for one untold layer over the whole
    sentence the ceiling is `grammar.ceiling("bag of words")`, but for sentences that repeat another one word
    by word, which a bag can tell apart.

    Args:
        design: who sees whom.
        language: sentences with their probabilities; those of the toy grammar unless given.

    Returns:
        The expected number of right tags over the expected number of words.

    Raises:
        ValueError: the probabilities have no common denominator that leaves room in 64 bits.

    >>> ceiling(Design()) == grammar.ceiling("word")
    True
    >>> ceiling(Design(layers=((-2, -1),), told=True)) == grammar.ceiling("everything before")
    True
    """
    counts = _seen_in(design, language)[-1]
    return Fraction(int(counts.amax(-1).sum()), int(counts.sum()))


def lost_by_word(design: Design, language: Language | None = None) -> dict[str, Fraction]:
    """Split up what a design loses by word.

    Args:
        design: who sees whom.
        language: as for `ceiling`.

    Returns:
        word -> what it loses in all its places, a share of all words; with the ceiling they sum to 1.

    >>> lost = lost_by_word(Design(layers=((-1, 1),), told=True))
    >>> [word for word, share in lost.items() if share > Fraction(1, 1000)]
    ['can', 'that']
    """
    (words, _, _), view, counts = _seen_in(design, language)
    lost, _ = _lost(words, view, counts)
    language = grammar.sentences() if language is None else language
    every = sorted({word for words, _ in language for word in words})
    return {word: Fraction(int(lost[at]), int(counts.sum())) for at, word in enumerate(every)}


@dataclass(frozen=True)
class Confusion:
    """Two places that look alike through a design, and want different tags.

    Attributes:
        word: the word that stands there.
        lost: what it loses by the view in all its places, as a share of all words.
        alike: (words, place, tag) of one and of the other: for the two tags that are most probable where it
            loses most, the sentence each in which the tag's lead over all others is largest; where it has
            none anywhere, the most probable sentence.
    """

    word: str
    lost: Fraction
    alike: tuple[tuple[grammar.Words, int, str], tuple[grammar.Words, int, str]]


def confusion(design: Design, language: Language | None = None) -> Confusion | None:
    """Find the word that loses most by a design, and two of its places that look alike.

    Args:
        design: who sees whom.
        language: as for `ceiling`.

    Returns:
        The first in the alphabet, or in the language, where several are equal; None if nothing is lost.

    >>> confusion(Design(layers=((-1, 1),), told=True)).alike
    ((('that', 'can'), 0, 'PRON'), (('that', 'can', 'can', 'saw'), 0, 'DET'))
    """
    (words, tags, weights), view, counts = _seen_in(design, language)
    language = grammar.sentences() if language is None else language
    real = words >= 0
    by_word, word_at = _lost(words, view, counts)
    if not by_word.any():
        return None
    worst = _first(by_word == by_word.max())
    of_it = (counts.sum(-1) - counts.amax(-1)).where(word_at == worst, 0)
    place = _first((of_it == of_it.max())[view.where(real, 0)] & real)
    look = view.flatten()[place]
    two = sorted(range(counts.shape[1]), key=lambda tag: (-int(counts[look, tag]), tag))[:2]
    sentences, number = list(language), {}
    same = torch.tensor([number.setdefault(text, len(number)) for text, _ in sentences])
    none = torch.zeros(len(number), words.shape[1], dtype=torch.int64)
    here = weights[:, None].where((view == look) & real, 0)
    alike = []
    for tag in two:
        with_it = none.index_add(0, same, here.where(tags == tag, 0))
        by_how_much = 2 * with_it - none.index_add(0, same, here)
        often = by_how_much if by_how_much.max() > 0 else with_it
        often = often[same].where((here > 0) & (tags == tag), -1)
        which, at = divmod(_first(often == often.max()), words.shape[1])
        alike.append((sentences[which][0], at, sentences[which][1][at]))
    return Confusion(alike[0][0][alike[0][1]], Fraction(int(by_word[worst]), int(counts.sum())), tuple(alike))


def pairs(design: Design, language: Language | None = None) -> Fraction:
    """Count pairs of a word and a word that it sees, itself among them, in all layers together.

    Args:
        design: who sees whom.
        language: as for `ceiling`.

    Returns:
        Expected pairs over expected words: the keys of a word on average.

    >>> round(float(pairs(Design(layers=((-1, 1),)))), 3)
    2.536
    """
    chance = _lengths() if language is None else _length_chances(language)
    layers = range(len(design.layers))
    total = sum(p * int(design.mask(n, layer).sum()) for n, p in chance.items() for layer in layers)
    return Fraction(total, sum(p * n for n, p in chance.items()))


def reading(design: Design, n: int = LONGEST) -> tuple[int, int]:
    """Simulate reading a sentence from left to right, tagging each word as soon as all it needs is there.

    A layer works on a word once it has all that the word sees, and lets go of what nobody will ask for again.

    Args:
        design: who sees whom.
        n: words of the sentence.

    Returns:
        The bytes that are held at most: of each word in each layer its key and its value, `D_MODEL` numbers
        of four bytes each, for a mean the value alone; and for how many words a tag has to wait at most.

    >>> reading(Design(layers=((-2, -1),))), reading(Design(layers=((-1, 1),)))
    ((768, 0), (768, 1))
    """
    made = list(range(n))  # when what a layer takes in is there
    held = [0] * n
    for layer in range(len(design.layers)):
        sees = [design.sees(n, i, layer) for i in range(n)]
        done = [max(made[j] for j in seen) for seen in sees]
        for j in range(n):
            last = max(done[i] for i in range(n) if j in sees[i])
            for now in range(made[j], last + 1):
                held[now] += 1
        made = done
    each = D_MODEL * 4 * (1 if design.mix == "mean" else 2)
    return max(held) * each, max(done - i for i, done in enumerate(made))


Arrays = tuple[Tensor, Tensor, Tensor]
"""Words and tags (sentences, n), and weights (sentences,), as of `_arranged`."""


def _seen_in(design: Design, language: Language | None) -> tuple[Arrays, Tensor, Tensor]:
    """Give a language as arrays, and what `_counted` makes of it."""
    if language is None or language is grammar.sentences():
        return _seen_in_the_grammar(design)
    arrays = _arranged(language)
    return arrays, *_counted(design, arrays)


@lru_cache(maxsize=1)  # a design's ceiling and what it confuses are mostly asked for together
def _seen_in_the_grammar(design: Design) -> tuple[Arrays, Tensor, Tensor]:
    arrays = _arranged_grammar()
    return arrays, *_counted(design, arrays)


def _counted(design: Design, arrays: Arrays) -> tuple[Tensor, Tensor]:
    """Number what each word sees (sentences, n), and add up its tags' weights there (views, tags)."""
    words, tags, weights = arrays
    real = words >= 0
    lengths = real.sum(-1)
    view = words
    for layer in range(len(design.layers)):
        mask = torch.zeros(words.shape[1] + 1, *2 * words.shape[1:], dtype=torch.bool)
        for n in lengths.unique().tolist():
            mask[n, :n, :n] = design.mask(n, layer)
        view = (_told if design.told else _shares)(view, mask[lengths])
    n_tags = int(tags.max()) + 1
    counts = torch.zeros((int(view.max()) + 1) * n_tags, dtype=torch.int64)
    counts.scatter_add_(0, (view * n_tags + tags)[real], weights[:, None].expand_as(words)[real])
    return view, counts.view(-1, n_tags)


def _lost(words: Tensor, view: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Add up what each word loses, and say whose each view is."""
    real, lost = words >= 0, counts.sum(-1) - counts.amax(-1)
    word_at = torch.zeros_like(lost).scatter_(0, view[real], words[real])
    return torch.zeros_like(lost).scatter_add_(0, word_at, lost), word_at


def _first(which: Tensor) -> int:
    """Say where the first True stands."""
    return int(which.flatten().nonzero()[0])


def _told(view: Tensor, mask: Tensor) -> Tensor:
    """Number itself and who is seen where: view and result (sentences, n), mask (sentences, n, n)."""
    seen = [where_open for offset, where_open in _by_offset(view, mask, -1) if offset]
    # Where all that is seen is alike, a softmax passes on that, and no more.
    apart = torch.zeros_like(view, dtype=torch.bool)
    for one in seen:
        apart |= (one >= 0) & (one != view)
    found = [view + 1, *((one + 1) * apart for one in seen)]
    return _numbered(found, int(view.max()) + 2).where(view >= 0, view)


def _shares(view: Tensor, mask: Tensor) -> Tensor:
    """Number the shares of what a word sees, and itself: shapes as for `_told`."""
    most, nothing = int(mask.sum(-1).max()), int(view.max()) + 1
    columns = torch.stack([one for _, one in _by_offset(view, mask, nothing)], -1)
    seen = columns.int().sort(-1).values[..., :most]  # half as wide, so sorted faster
    often = torch.zeros_like(seen)
    for at in range(most):
        often += seen == seen[..., at, None]
    often = often.where(seen < nothing, 0)
    divisor = often[..., 0]
    for at in range(1, most):
        divisor = torch.gcd(divisor, often[..., at])
    # Equal ones stand side by side, so every divisor-th is one of each share.
    kept = (torch.arange(most) * divisor.clamp_min(1)[..., None]).clamp_max(most)
    seen = torch.nn.functional.pad(seen, (0, 1), value=nothing).gather(-1, kept)
    return _numbered([view + 1, *seen.long().unbind(-1)], nothing + 1).where(view >= 0, view)


def _by_offset(view: Tensor, mask: Tensor, nothing: int) -> Iterator[tuple[int, Tensor]]:
    """Give what is seen at each offset at which anything is, (sentences, n), `nothing` where it is not."""
    n = view.shape[1]
    for offset in range(1 - n, n):
        open_to_it = mask.diagonal(offset, -2, -1)  # (sentences, n - |offset|)
        if open_to_it.any():
            here = slice(max(0, -offset), n - max(0, offset))
            there = slice(max(0, offset), n + min(0, offset))
            seen = torch.full_like(view, nothing)
            seen[:, here] = view[:, there].where(open_to_it, nothing)
            yield offset, seen


def _numbered(columns: Sequence[Tensor], width: int) -> Tensor:
    """Number the different combinations of some columns, all of them from 0 to below `width`."""
    found, top = columns[0], width
    for column in columns[1:]:
        if top * width >= 2**63:
            found, top = _dense(found, top)
        found, top = found * width + column, top * width
    return _dense(found, top)[0]


def _dense(found: Tensor, top: int) -> tuple[Tensor, int]:
    """Number the different ones of whole numbers below `top` in their order, and say how many there are."""
    if top > 2**22:
        values, number = torch.unique(found, return_inverse=True)
        return number, len(values)
    there = torch.zeros(top, dtype=torch.bool)  # so few that a list of all is faster than sorting
    there[found] = True
    number = there.cumsum(0) - 1
    return number[found], int(there.sum())


@cache
def _arranged_grammar() -> Arrays:
    return _arranged(grammar.sentences())


def _arranged(language: Language) -> Arrays:
    """Write sentences as numbers: words and tags (sentences, n), -1 beyond the end, and whole weights."""
    common = math.lcm(*(p.denominator for p in language.values()))
    whole = [p.numerator * (common // p.denominator) for p in language.values()]
    if sum(whole) * max(len(words) for words, _ in language) >= 2**63:
        raise ValueError(f"probabilities must have a common denominator under 2**60, got {common}")
    padded = []
    for which in (0, 1):
        named = sorted({one for sentence in language for one in sentence[which]})
        number = {one: at for at, one in enumerate(named)}
        rows = [[number[one] for one in sentence[which]] for sentence in language]
        n = max(map(len, rows))
        padded.append(torch.tensor([row + [-1] * (n - len(row)) for row in rows]))
    return padded[0], padded[1], torch.tensor(whole)


@cache
def _lengths() -> dict[int, Fraction]:
    return _length_chances(grammar.sentences())


def _length_chances(language: Language) -> dict[int, Fraction]:
    chance: dict[int, Fraction] = {}
    for (words, _), p in language.items():
        chance[len(words)] = chance.get(len(words), Fraction(0)) + p
    return chance
