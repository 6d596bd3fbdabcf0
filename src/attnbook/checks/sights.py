"""Exercises of the page on which one designs attention: whether two places look alike, and what a ceiling is."""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.checks.exercise import Case, case, exercise, late, mistake
from attnbook.checks.values import Tolerance

Words = list[str]


def _alike(
    *,
    own: bool = True,
    wraps: bool = False,
    counts: bool = False,
    edges: Callable[[int, int], bool] = lambda at, n: 0 <= at < n,
    side: int = 1,
    seen: Callable[[dict[int, str], str], object] = lambda found, word: found,
    lone: Callable[[dict[int, str], str], bool] = lambda found, word: set(found.values()) == {word},
) -> Callable[[Words, int, Words, int, list[int]], bool]:
    """Ask whether two places look alike, or what somebody takes for it.

    `own`: whether a word sees itself; `wraps`: whether a negative place counts from the end; `counts`: whether
    equal words can be counted; `edges`: which places there are; `side`: of the offsets; `seen`: what is compared;
    `lone`: where no offset tells.
    """

    def look(words: Words, at: int, offsets: list[int]) -> object:
        n, found = len(words), {}
        for offset in (0, *offsets) if own else offsets:
            there = at + side * offset
            if edges(there, n) or (wraps and -n <= there < 0):
                found[offset] = words[there]
        return words[at] if not counts and lone(found, words[at]) else seen(found, words[at])

    return lambda a, i, b, j, offsets: look(a, i, offsets) == look(b, j, offsets)


alike = _alike()


def _drawn(seed: int, most: int, count: int) -> tuple[Case, ...]:
    """Draw cases, those first that look alike and are not the same."""
    rng = random.Random(seed)
    found: dict[bool, list[Case]] = {True: [], False: []}
    while min(map(len, found.values())) < count:
        a, b = ([rng.choice(("can", "saw", "that")) for _ in range(rng.randint(1, most))] for _ in "ab")
        i, j = rng.randrange(len(a)), rng.randrange(len(b))
        offsets = rng.sample([o for o in range(-most, most + 1) if o], rng.randint(1, most))
        near = [o for o in offsets if abs(o) <= 3] or [rng.choice((-1, 1))]
        if rng.random() < 0.7:
            offsets = near
        answer = alike(a, i, b, j, offsets)
        if len(found[answer]) < count and (a, i) != (b, j) and a[i] == b[j]:
            found[answer].append(case("", a=a, i=i, b=b, j=j, offsets=offsets))
    return (*found[True], *found[False])


def _long(n: int, same: bool) -> Case:
    """Two long texts in which a place of each sees many words, of which at most the farthest is another."""
    rng = random.Random(n)
    middle = [rng.choice(("can", "saw", "that", "fish")) for _ in range(2 * n + 1)]
    a, b = ["I", *middle, "left"], ["you", "will", *middle[:-1], middle[-1] if same else "dog", "me"]
    offsets = [o for o in range(-n, n + 1) if o]
    return case(f"texts of {len(a)} and {len(b)} words", a=a, i=n + 1, b=b, j=n + 2, offsets=offsets)


def _of(text: str) -> Words:
    return text.split()


exercise(
    "design-alike",
    "alike",
    reference=alike,
    cases=[
        case("a word between the same neighbours", "What stands farther away is not seen.",
             a=_of("I saw a saw"), i=1, b=_of("will I saw a dog"), j=2, offsets=[-1, 1]),
        case("a neighbour on the other side", "Told where, a word before is not a word after.",
             a=_of("that can saw"), i=1, b=_of("saw can that"), j=1, offsets=[-1, 1]),
        case("a word at the beginning", "Nobody stands before the first word. (In Python, words[-1] is the last one.)",
             a=_of("that can"), i=0, b=_of("can that saw"), j=1, offsets=[-1]),
        case("the last word", "Nobody stands behind the last word.",
             a=_of("I saw"), i=1, b=_of("I saw you"), j=1, offsets=[1]),
        case("a twin three words back", "All that is seen is one word: its value is passed on, and neither where it stands nor how often.",
             a=_of("I saw a duck"), i=1, b=_of("I saw the old saw"), j=4, offsets=[-3]),
        case("a twin before and a twin behind", "All that is seen is one word, once or twice, here or there.",
             a=_of("can can"), i=0, b=_of("can can"), j=1, offsets=[-1, 1]),
        case("a twin and another word", "As soon as two different words are seen, offsets tell.",
             a=_of("can can that"), i=1, b=_of("can that can"), j=2, offsets=[-2, -1, 1]),
        case("two twins of another word", "The word itself is seen, too: these are two words, and offsets tell.",
             a=_of("that can"), i=1, b=_of("that that can"), j=2, offsets=[-2, -1]),
        case("a twin before, a twin behind, and another word", "The words are the same in the same order, and stand elsewhere.",
             a=_of("can can that"), i=0, b=_of("can can that"), j=1, offsets=[-1, 1, 2]),
        case("other words in the same neighbourhood", "Each word sees itself.",
             a=_of("I saw you"), i=1, b=_of("I see you"), j=1, offsets=[-1, 1]),
        case("no offsets", "A word sees itself.", a=_of("I saw a saw"), i=1, b=_of("I saw a saw"), j=3, offsets=[]),
        case("no offsets, and other words", a=_of("I saw a saw"), i=1, b=_of("I saw a saw"), j=2, offsets=[]),
        *_drawn(1, 4, 12),
        *late(*_drawn(2, 8, 12), *_drawn(4, 60, 6), _long(30, True), _long(31, False), _long(45, True)),
    ],
    mistakes=[
        mistake("Where all that is seen is one word, it tells places apart by offset or by number. A softmax over equal values passes on that value, and no more.",
                _alike(counts=True)),
        mistake("A place before the beginning is read from the end: in Python, words[-1] is the last word. Ask whether the place is at least 0.",
                _alike(wraps=True)),
        mistake("Each word sees itself, too.", _alike(own=False)),
        mistake("It compares which words are seen, and not where.", _alike(seen=lambda found, word: (word, set(found.values())))),
        mistake("It compares which words are seen and how often, and not where.", _alike(seen=lambda found, word: (word, sorted(found.values())))),
        mistake("It compares at which offsets something is seen, and not what.", _alike(seen=lambda found, word: (word, set(found)))),
        mistake("It compares the words that are seen in their order, and not their offsets: where one is missing, others slip into its place.",
                _alike(seen=lambda found, word: (word, [found[o] for o in sorted(found)]))),
        mistake("The offsets go the wrong way: -1 is the word before.", _alike(side=-1)),
        mistake("Offsets tell nothing as soon as the words seen beside itself are alike, it says. The word itself is seen, too: only where they are its twins is there one word.",
                _alike(lone=lambda found, word: len({one for o, one in found.items() if o}) < 2)),
        mistake("Where any twin is seen, it gives up. Only where every word seen is the word itself do offsets tell nothing.",
                _alike(lone=lambda found, word: list(found.values()).count(word) > 1 or set(found.values()) == {word})),
        mistake("It asks whether the word is the same, and nothing else.", lambda a, i, b, j, offsets: a[i] == b[j]),
        mistake("It asks for the same place of the same sentence. Other sentences can look alike.", lambda a, i, b, j, offsets: (a, i) == (b, j)),
        mistake("It asks for the same place, too. A word does not know where in the sentence it stands.",
                lambda a, i, b, j, offsets: i == j and alike(a, i, b, j, offsets)),
        mistake("It says True, whatever is seen.", lambda a, i, b, j, offsets: True),
        mistake("It says False, whatever is seen.", lambda a, i, b, j, offsets: False),
        mistake("It says the opposite.", lambda a, i, b, j, offsets: not alike(a, i, b, j, offsets)),
    ],
    lift=False,
    praise="It knows what a softmax can pass on: words and offsets, and of twins among themselves nothing.",
)  # fmt: skip


def _table(looks: Tensor, tags: Tensor, mass: Tensor) -> Tensor:
    table = mass.new_zeros(int(looks.max()) + 1, int(tags.max()) + 1)
    return table.index_put((looks, tags), mass, accumulate=True)


def ceiling(looks: Tensor, tags: Tensor, mass: Tensor) -> Tensor:
    """The reference."""
    return _table(looks, tags, mass).amax(-1).sum() / mass.sum()


def _places(seed: int, places: int, looks: int, tags: int, *, spread: float = 1.0) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        "looks": torch.randint(looks, (places,), generator=generator),
        "tags": torch.randint(tags, (places,), generator=generator),
        "mass": (spread * torch.randn(places, generator=generator, dtype=torch.float64)).exp(),
    }


def _listed(looks: list[int], tags: list[int], mass: list[float]) -> dict[str, Tensor]:
    return {"looks": torch.tensor(looks), "tags": torch.tensor(tags), "mass": torch.tensor(mass).double()}


def _written_over(looks: Tensor, tags: Tensor, mass: Tensor) -> Tensor:
    last = dict(zip(zip(looks.tolist(), tags.tolist(), strict=True), mass.tolist(), strict=True))
    best: dict[int, float] = {}
    for (look, _), one in last.items():
        best[look] = max(one, best.get(look, 0.0))
    return sum(best.values()) / mass.sum()


def _most_places(looks: Tensor, tags: Tensor, mass: Tensor) -> Tensor:
    given = _table(looks, tags, torch.ones_like(mass)).argmax(-1)
    return mass[given[looks] == tags].sum() / mass.sum()


def _mean(found: Tensor) -> Tensor:
    return found[found.isfinite()].mean()


exercise(
    "design-ceiling",
    "ceiling",
    reference=ceiling,
    cases=[
        case("four places, of which three look alike", "Two places with one tag outweigh a third.", **_listed([0, 0, 0, 1], [0, 0, 1, 1], [0.2, 0.2, 0.3, 0.3])),
        case("places that all look different", "Then nothing is lost.", **_listed([0, 1, 2, 3], [0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4])),
        case("places that all look alike", "Then one tag must do for all.", **_listed([0, 0, 0, 0], [0, 1, 2, 1], [0.4, 0.3, 0.1, 0.2])),
        case("one place", **_listed([0], [2], [0.7])),
        case("masses that are counts", "They need not sum to one.", **_listed([1, 1, 0, 0, 1], [0, 1, 1, 0, 1], [30.0, 20.0, 4.0, 5.0, 15.0])),
        case("numbers that are left out", "Nobody sees 1, and tag 0 is given to nobody.", **_listed([2, 0, 2, 0, 2], [1, 2, 2, 2, 1], [1.0, 2.0, 2.5, 3.0, 1.0])),
        *(case("", **_places(seed, places, looks, tags)) for seed, (places, looks, tags) in enumerate(((9, 3, 2), (14, 4, 3), (30, 5, 6), (25, 11, 4)))),
        case("one place outweighs all", **_places(7, 20, 4, 3, spread=4.0)),
        *late(case("", **_places(11, 9, 3, 2)), case("", **_places(12, 700, 60, 50)), case("", **_places(13, 61, 47, 43)),
              case("looks with large numbers", "On the page there are far more looks than tags.", **_places(14, 61, 9000, 3))),
    ],
    mistakes=[
        mistake("The share that each look gets right is averaged over looks, as if all of them were as frequent. Add up masses, and divide once.",
                lambda looks, tags, mass: _mean((lambda t: t.amax(-1) / t.sum(-1))(_table(looks, tags, mass)))),
        mistake("It takes the heaviest single place of each look. Places with one look and one tag add up first.",
                lambda looks, tags, mass: sum(mass[looks == one].max() for one in looks.unique()) / mass.sum()),
        mistake("Places are counted, each for one. Add up their masses.", lambda looks, tags, mass: ceiling(looks, tags, torch.ones_like(mass))),
        mistake("Places with one look and one tag overwrite one another: with an index, torch writes the last one. Add them up.", _written_over),
        mistake("It gives each look the tag with the most places. The one with the most mass is right more often.",
                _most_places),
        mistake("One tag is given to all. A model may give another one to each look.", lambda looks, tags, mass: ceiling(torch.zeros_like(looks), tags, mass)),
        mistake("It is what a model gets right that draws its tags with their probabilities. The best one always gives the most probable.",
                lambda looks, tags, mass: (lambda t: (t.square().sum(-1) / t.sum(-1).clamp_min(1e-300)).sum() / t.sum())(_table(looks, tags, mass))),
        mistake("That is the loss. The ceiling is what is left of 1.", lambda looks, tags, mass: 1 - ceiling(looks, tags, mass)),
        mistake("It is not divided by the mass of all places.", lambda looks, tags, mass: ceiling(looks, tags, mass) * mass.sum()),
        mistake("It is divided by the number of places. Divide by their mass.", lambda looks, tags, mass: ceiling(looks, tags, mass) * mass.sum() / len(mass)),
        mistake("It is divided by the number of looks. Divide by the mass of all places.", lambda looks, tags, mass: ceiling(looks, tags, mass) * mass.sum() / len(looks.unique())),
        mistake("It asks for each tag which look has most of it. Ask for each look which tag it has most.", lambda looks, tags, mass: ceiling(tags, looks, mass)),
        mistake("Only looks with one tag count, it says. Where there are several, the most probable one is right at times.",
                lambda looks, tags, mass: (lambda t: t.amax(-1)[(t > 0).sum(-1) == 1].sum() / t.sum())(_table(looks, tags, mass))),
    ],
    within=Tolerance(1e-7, 1e-6),
    praise="That is how the page computes its ceilings, from 61,242 sentences.",
)  # fmt: skip
