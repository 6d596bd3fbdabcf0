"""Attention as one designs it: who may see whom, how good any model can be that sees so, and what it costs.

A `Design` says, layer by layer, at which offsets from itself a word may look. Its ceiling is exact: among all
places of the grammar that look alike through it, the best model gives the tag that is most probable there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
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
    one; the first words of the sentence may be seen by all. Of all these, so many as `nearest` says are kept,
    the word itself among them and, of two that are equally near, the one before.

    Args:
        layers: the offsets of each layer, from -7 to 7 without 0, which goes without saying.
        told: whether a word knows at which offset it sees another.
        first: how many of the first words everybody sees, 0 to 2.
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
    first: int = 0
    nearest: int = 0
    mix: Mix = "attention"

    def __post_init__(self) -> None:
        if len(self.layers) not in (1, 2):
            raise ValueError(f"layers must be one or two lists of offsets, got {len(self.layers)}")
        for offsets in self.layers:
            if not all(isinstance(o, int) and 0 < abs(o) <= FARTHEST for o in offsets):
                raise ValueError(f"offsets must be -{FARTHEST} to {FARTHEST} without 0, got {offsets}")
        if self.first not in (0, 1, 2):
            raise ValueError(f"first must be 0, 1 or 2, got {self.first}")
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
        open_to_it = {place, *(place + offset for offset in self.layers[layer]), *range(self.first)}
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

    What a word sees of one layer is itself and, told, the set of (offset, word) pairs; untold, the *shares*
    of the words seen, itself among them: a softmax, as a mean, gives two equal words and one of each twice
    the same output, so nobody who mixes so can count. In a second layer the same holds of what each word saw
    in the first. For one untold layer over the whole sentence that is `grammar.ceiling("bag of words")`,
    but for sentences that repeat another one word by word, which a bag can tell apart.

    Args:
        design: who sees whom.
        language: sentences with their probabilities; those of the toy grammar unless given.

    Returns:
        The expected number of right tags over the expected number of words.

    Raises:
        ValueError: the probabilities have no common denominator that leaves room in 64 bits.

    >>> ceiling(Design()) == grammar.ceiling("word")
    True
    >>> ceiling(Design(layers=((-1, 1),), told=True)) == grammar.ceiling("both neighbours")
    True
    """
    words, tags, weights = _arrays() if language is None else _arranged(language)
    lengths = (words >= 0).sum(-1)
    view = words
    for layer in range(len(design.layers)):
        mask = torch.zeros(words.shape[1] + 1, *2 * words.shape[1:], dtype=torch.bool)
        for n in lengths.unique().tolist():
            mask[n, :n, :n] = design.mask(n, layer)
        view = (_told if design.told else _shares)(view, mask[lengths])
    real = words >= 0
    n_tags = int(tags.max()) + 1
    counts = torch.zeros((int(view.max()) + 1) * n_tags, dtype=torch.int64)
    counts.scatter_add_(0, (view * n_tags + tags)[real], weights[:, None].expand_as(words)[real])
    return Fraction(int(counts.view(-1, n_tags).amax(-1).sum()), int(counts.sum()))


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


def _told(view: Tensor, mask: Tensor) -> Tensor:
    """Number what a word sees at which offsets: view and result (sentences, n), mask (sentences, n, n)."""
    n, width = view.shape[1], int(view.max()) + 2
    found = view
    for offset in range(1 - n, n):
        seen = torch.zeros_like(view)
        here, there = slice(max(0, -offset), n - max(0, offset)), slice(max(0, offset), n + min(0, offset))
        open_to_it = mask.diagonal(offset, -2, -1)  # (sentences, n - |offset|)
        if not offset or not open_to_it.any():
            continue
        seen[:, here] = (view[:, there] + 1) * open_to_it
        found = _numbered(found, seen, width)
    return found.where(view >= 0, view)


def _shares(view: Tensor, mask: Tensor) -> Tensor:
    """Number the shares of what a word sees, and itself: shapes as for `_told`."""
    most, nothing = int(mask.sum(-1).max()), int(view.max()) + 1
    seen = view[:, None].expand_as(mask).where(mask, nothing).sort(-1).values[..., :most]
    often = (seen[..., None] == seen[..., None, :]).sum(-1).where(seen < nothing, 0)
    divisor = often[..., 0]
    for at in range(1, most):
        divisor = torch.gcd(divisor, often[..., at])
    # Equal ones stand side by side, so every divisor-th is one of each share.
    kept = (torch.arange(most) * divisor.clamp_min(1)[..., None]).clamp_max(most)
    seen = torch.nn.functional.pad(seen, (0, 1), value=nothing).gather(-1, kept)
    found = view
    for at in range(most):
        found = _numbered(found, seen[..., at], nothing + 1)
    return found.where(view >= 0, view)


def _numbered(found: Tensor, more: Tensor, width: int) -> Tensor:
    """Number the different pairs of a view so far and what is seen besides, below `width`."""
    return torch.unique(found * width + more, return_inverse=True)[1]


@cache
def _arrays() -> tuple[Tensor, Tensor, Tensor]:
    return _arranged(grammar.sentences())


def _arranged(language: Language) -> tuple[Tensor, Tensor, Tensor]:
    """Write sentences as numbers: words and tags (sentences, n), -1 beyond the end, whole weights."""
    common = math.lcm(*(p.denominator for p in language.values()))
    whole = [p.numerator * (common // p.denominator) for p in language.values()]
    if sum(whole) * max(len(words) for words, _ in language) >= 2**63:
        raise ValueError(f"probabilities must have a common denominator under 2**60, got {common}")
    padded = []
    for which in (0, 1):
        number: dict[str, int] = {}
        rows = [[number.setdefault(one, len(number)) for one in sentence[which]] for sentence in language]
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
