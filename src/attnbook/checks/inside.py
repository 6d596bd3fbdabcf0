"""Exercises on the heads of a real model: what one does, what is lost without it, and which word mattered."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnbook.checks.exercise import case, draws, exercise, gradient, late, mistake, precisions


def _shares(s, generator: torch.Generator) -> Tensor:
    return torch.randn(s.b, s.h, s.n, s.n, generator=generator).softmax(-1)


def _padded(s, generator: torch.Generator) -> Tensor:
    """Texts of different lengths, at least one of them whole; padded at the left or at the right."""
    lengths = torch.randint(2, s.n + 1, (s.b,), generator=generator)
    lengths[0] = s.n
    real = torch.arange(s.n) < lengths[:, None]
    return real.flip(-1) if s.h % 2 else real


def _previous(weights: Tensor, key_mask: Tensor, *, at: int = -1, whose: Callable | None = None) -> Tensor:
    """Mean weight at a distance; `whose` says which of the pieces count, (batch, n - 1)."""
    found = weights.diagonal(at, -2, -1)  # (batch, heads, n - 1)
    counts = (key_mask[:, 1:] & key_mask[:, :-1]) if whose is None else whose(key_mask)
    return (found * counts[:, None]).sum((0, 2)) / counts.sum()


def _by_text(weights: Tensor, key_mask: Tensor) -> Tensor:
    both = key_mask[:, 1:] & key_mask[:, :-1]
    some = both.any(-1)
    found = (weights.diagonal(-1, -2, -1) * both[:, None])[some]
    return (found.sum(-1) / both[some].sum(-1)[:, None]).mean(0)


def _texts(lengths: list[int], n: int, heads: int, *, left: bool = False, seed: int = 0) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    real = torch.arange(n) < torch.tensor(lengths)[:, None]
    weights = torch.randn(len(lengths), heads, n, n, generator=generator).softmax(-1)
    return {"weights": weights, "key_mask": real.flip(-1) if left else real}


exercise(
    "inside-previous",
    "previous_score",
    reference=lambda weights, key_mask: _previous(weights, key_mask),
    cases=[
        *draws(n=(4, 6, 7, 9, 11), b=(2, 3, 5), h=(2, 3, 4, 8), weights=_shares, key_mask=_padded, seeds=8, large=dict(n=41, b=42, h=43)),
        case("one text without padding", **_texts([6], 6, 3)),
        case("two pieces", "One of them has a piece before it.", **_texts([2], 2, 3)),
        case("a long text beside a short one", "Every piece counts once.", **_texts([12, 3], 12, 2)),
        case("texts that are padded at the left",
             "The first real piece has padding before it, and nothing to look back at.",
             **_texts([5, 7, 3], 7, 3, left=True)),
        case("a text of one piece beside another", "It has nothing before it and doesn't count.", **_texts([5, 1], 5, 2)),
        case("a text of no pieces beside another", "Nothing in it counts.", **_texts([5, 0], 5, 2)),
        case("heads that look at one piece alone", "A weight of exactly 0 counts like any other.",
             weights=torch.eye(5)[torch.tensor([[1, 2, 3, 4, 0], [0, 1, 2, 3, 4], [4, 0, 1, 2, 3], [0, 0, 2, 2, 4]])].expand(2, 4, 5, 5).clone(),
             key_mask=torch.tensor([[True] * 5, [True] * 3 + [False] * 2])),
        *late(case("two texts of 60 pieces", **_texts([60, 60], 60, 2))),
    ],
    promises=[gradient("weights"), precisions("float64")],
    mistakes=[
        mistake("This is the piece after, not the one before: rows ask, columns answer.",
                lambda weights, key_mask: _previous(weights, key_mask, at=1)),
        mistake("Padded pieces are counted too. key_mask says which are real.",
                lambda weights, key_mask: _previous(weights, key_mask, whose=lambda real: torch.ones_like(real[:, 1:]))),
        mistake("Padding may stand at the left: there the first real piece has padding before it. Both must be real.",
                lambda weights, key_mask: _previous(weights, key_mask, whose=lambda real: real[:, 1:])),
        mistake("Padding may stand at the right: there padding has a real piece before it. Both must be real.",
                lambda weights, key_mask: _previous(weights, key_mask, whose=lambda real: real[:, :-1])),
        mistake("The mean is taken text by text, so a piece of a short text counts more. Every piece counts once.",
                _by_text),
        mistake("The first piece of a text has none before it. Leave it out of the count.",
                lambda weights, key_mask: (
                    _previous(weights, key_mask) * (key_mask[:, 1:] & key_mask[:, :-1]).sum() / key_mask.sum()
                )),
        mistake("The sum is divided by all pieces, padding too.",
                lambda weights, key_mask: (
                    _previous(weights, key_mask) * (key_mask[:, 1:] & key_mask[:, :-1]).sum() / key_mask.numel()
                )),
        mistake("This is a sum. Divide it by the number of pieces that have one before them.",
                lambda weights, key_mask: (
                    _previous(weights, key_mask) * (key_mask[:, 1:] & key_mask[:, :-1]).sum()
                )),
        mistake("The heads are averaged. Each has a score of its own.",
                lambda weights, key_mask: _previous(weights, key_mask).mean()),
        mistake("This is how much pieces look at themselves.",
                lambda weights, key_mask: (
                    (weights.diagonal(0, -2, -1) * key_mask[:, None]).sum((0, 2)) / key_mask.sum()
                )),
    ],
    praise="One number a head: every real piece counts once, wherever the padding stands.",
)  # fmt: skip


def _without(
    x: Tensor,
    others: Tensor,
    head: int,
    w_o: Tensor,
    *,
    fill: Callable | None = None,
    at: Callable = lambda h, n: h,
) -> Tensor:
    """What a layer adds when something stands in a head's place."""
    filled = x.clone()
    value = others.mean(0)[head] if fill is None else fill(x, others, head)
    filled[:, :, at(head, x.shape[2])] = value
    return filled.flatten(-2) @ w_o


def _w_o(s, generator: torch.Generator) -> Tensor:
    return torch.randn(s.h * s.d, s.w, generator=generator)


def _ablated(
    batch: int, n: int, h: int, d: int, m: int, width: int, head: int, shift: float = 0.0
) -> dict[str, Any]:
    g = torch.Generator().manual_seed(h + m)
    return {
        "x": torch.randn(batch, n, h, d, generator=g),
        "others": torch.randn(m, h, d, generator=g) + shift,
        "head": head,
        "w_o": torch.randn(h * d, width, generator=g),
    }


exercise(
    "inside-mean-ablation",
    "layer_without",
    reference=lambda x, others, head, w_o: _without(x, others, head, w_o),
    cases=[
        *draws(n=..., b=(2, 3, 4), h=(2, 3, 5, 6), d=(3, 4, 5, 7), m=(8, 9, 10, 12), w=(6, 8, 11, 13),
               x="b n h d", others="m h d", head=lambda s, _: s.b % s.h, w_o=_w_o, seeds=8, large=dict(b=42, h=43, d=44, m=45, w=46)),
        case("the first head", **_ablated(2, 5, 4, 3, 9, 7, 0)),
        case("the last head", **_ablated(2, 5, 4, 3, 9, 7, 3)),
        case("a layer with one head", "Every piece then adds the same.", **_ablated(2, 5, 1, 3, 9, 7, 0)),
        case("a single other piece", "It is its own mean.", **_ablated(2, 5, 4, 3, 1, 7, 2)),
        case("others far from zero", "A mean that is large is what later layers are used to.",
             **_ablated(3, 4, 2, 5, 6, 8, 1, shift=5.0)),
        *late(case("the last of 43 heads", **_ablated(2, 5, 43, 3, 9, 7, 42))),
    ],
    promises=[gradient("x", "w_o"), precisions("float64")],
    mistakes=[
        mistake("This is an ablation by zero. Put the head's mean over `others` there.",
                lambda *a: _without(*a, fill=lambda x, others, head: 0.0)),
        mistake("This is the mean over x itself. A mean of the text that is being read knows something of it: take it over "
                "`others`.",
                lambda *a: _without(*a, fill=lambda x, others, head: x[:, :, head].mean((0, 1)))),
        mistake("This is the mean over each text of x. Take it over `others`.",
                lambda *a: _without(*a, fill=lambda x, others, head: x[:, :, head].mean(1, keepdim=True))),
        mistake("This is the mean of all heads. Each has a mean of its own.",
                lambda *a: _without(*a, fill=lambda x, others, head: others.mean((0, 1)))),
        mistake("This is one number for the whole head. Its mean is a vector: one number for each of its columns.",
                lambda *a: _without(*a, fill=lambda x, others, head: others[:, head].mean())),
        mistake("One of the other pieces stands there, not their mean.",
                lambda *a: _without(*a, fill=lambda x, others, head: others[0, head])),
        mistake("This is the median of the others, not their mean.",
                lambda *a: _without(*a, fill=lambda x, others, head: others[:, head].median(0).values)),
        mistake("The head before it was replaced: heads are counted from 0.",
                lambda *a: _without(*a, at=lambda h, n: h - 1)),
        mistake("All heads were replaced. Only one is removed.",
                lambda x, others, head, w_o: _without(
                    x, others, head, w_o, fill=lambda x, others, head: others.mean(0), at=lambda h, n: slice(None))),
        mistake("All *other* heads were replaced: this keeps the one that should go.",
                lambda x, others, head, w_o: torch.cat(
                    [x[:, :, h] if h == head else others.mean(0)[h].expand(x[:, :, h].shape) for h in range(x.shape[2])], -1
                ) @ w_o),
        mistake("The mean was added to what the head gives. It stands in its place.",
                lambda *a: _without(*a, fill=lambda x, others, head: x[:, :, head] + others[:, head].mean(0))),
        mistake("Nothing was replaced.", lambda *a: _without(*a, fill=lambda x, others, head: x[:, :, head])),
        mistake("The columns of the heads are interleaved. w_o expects all columns of head 0 first, then those of head 1.",
                lambda x, others, head, w_o: (
                    lambda y: y.transpose(-1, -2).flatten(-2) @ w_o)(
                    torch.stack([others.mean(0)[h].expand(x[:, :, h].shape) if h == head else x[:, :, h]
                                 for h in range(x.shape[2])], 2))),
    ],
    praise="One head says the same everywhere, its mean over other text; the others say what they said.",
)  # fmt: skip


def _earlier(ids: list[int], i: int) -> list[int]:
    return [j for j in range(i) if ids[j] == ids[i]]


def _induction(
    weights: Tensor, ids: list[int], pick: Callable = lambda places, i: [places[-1] + 1]
) -> Tensor:
    """Mean weight on the places that `pick` makes of the earlier places of the same piece."""
    rows = [i for i in range(len(ids)) if _earlier(ids, i)]
    if not rows:
        return torch.zeros_like(weights[:, 0, 0])
    return torch.stack([weights[:, i, pick(_earlier(ids, i), i)].sum(-1) for i in rows]).mean(0)


def _nought_is_none(weights: Tensor, ids: list[int]) -> Tensor:
    """Notes the latest places, and takes place 0 for no place at all."""
    last: dict[int, int] = {}
    found = []
    for i, piece in enumerate(ids):
        if last.get(piece):
            found.append(weights[:, i, last[piece] + 1])
        last[piece] = i
    return torch.stack(found).mean(0) if found else torch.zeros_like(weights[:, 0, 0])


def _repeats(heads: int, ids: list[int], seed: int = 0) -> dict[str, Any]:
    g = torch.Generator().manual_seed(seed)
    n = len(ids)
    scores = torch.randn(heads, n, n, generator=g).masked_fill(torch.ones(n, n).triu(1).bool(), -torch.inf)
    return {"weights": scores.softmax(-1), "ids": ids}


exercise(
    "inside-induction",
    "induction_score",
    reference=lambda weights, ids: _induction(weights, ids),
    cases=[
        case("a text of two rounds", **_repeats(3, [5, 9, 2, 7, 5, 9, 2, 7])),
        case("a text of three rounds", "Of several earlier places, the latest counts.",
             **_repeats(2, [4, 8, 6, 4, 8, 6, 4, 8, 6], seed=1)),
        case("pieces that come back after different distances", **_repeats(4, [1, 2, 3, 1, 4, 2, 5, 1, 6, 6, 2, 3], seed=2)),
        case("a piece that comes twice in a row", "What came after it last time is the piece itself.",
             **_repeats(2, [7, 7, 3, 8], seed=3)),
        case("one piece comes back, the others don't", **_repeats(5, [3, 1, 4, 15, 9, 2, 6, 5, 35, 8, 4], seed=4)),
        case("nothing comes back", "Then there is nothing to look at: zeros.", **_repeats(3, [1, 2, 3, 4], seed=5)),
        case("one piece", "Nothing comes back: zeros.", **_repeats(2, [1], seed=6)),
        case("one head", **_repeats(1, [1, 2, 1, 2, 3, 1], seed=7)),
        # Numbers from a vocabulary, each an object of its own; one pair is equal in its last 16 bits.
        case("a longer text, with numbers as large as those of real pieces",
             "Equal numbers are the same piece, however large they are and however far apart they stand.",
             **_repeats(2, torch.tensor([49151, 300, *range(2000, 2012), 65836, 49151, 700, 300]).tolist(), seed=8)),
        *late(
            case("a text as long as that of two rounds", **_repeats(3, [5, 9, 2, 7, 9, 9, 7, 5], seed=9)),
            case("45 pieces", **_repeats(2, [i % 19 for i in range(45)], seed=10)),
            case("43 heads", **_repeats(43, [4, 8, 4, 8, 4], seed=11)),
        ),
    ],
    promises=[gradient("weights"), precisions("float64")],
    mistakes=[
        mistake("This is the weight on the earlier place of the same piece. An induction head looks one place further, at what "
                "came *after* it.",
                lambda weights, ids: _induction(weights, ids, lambda places, i: [places[-1]])),
        mistake("This is the weight on what came *before* the piece last time. Look at what came after it.",
                lambda weights, ids: _induction(weights, ids, lambda places, i: [max(places[-1] - 1, 0)])),
        mistake("Of several earlier places it takes the first. The latest counts.",
                lambda weights, ids: _induction(weights, ids, lambda places, i: [places[0] + 1])),
        mistake("It adds up all earlier places. Only the latest counts.",
                lambda weights, ids: _induction(weights, ids, lambda places, i: [j + 1 for j in places])),
        mistake("This is a sum. Take the mean over the pieces that came before.",
                lambda weights, ids: _induction(weights, ids) * sum(bool(_earlier(ids, i)) for i in range(len(ids)))),
        mistake("It divides by all pieces. Count those that came before.",
                lambda weights, ids: (
                    _induction(weights, ids) * sum(bool(_earlier(ids, i)) for i in range(len(ids))) / len(ids)
                )),
        mistake("The heads are averaged. Each has a score of its own.",
                lambda weights, ids: _induction(weights, ids).mean()),
        mistake("Nothing is found. Look a piece up *before* you note it as the latest: else it finds itself.",
                lambda weights, ids: torch.zeros_like(weights[:, 0, 0])),
        mistake("A piece that stood at place 0 is taken for new: 0 is a place, and `if last.get(...)` takes it for none.",
                _nought_is_none),
        mistake("Row and column have changed places: the later piece asks, so it is the row.",
                lambda weights, ids: _induction(weights.mT, ids)),
        mistake("This is how much each piece that came before looks at the piece right before it.",
                lambda weights, ids: _induction(weights, ids, lambda places, i: [i - 1])),
    ],
    praise="The latest earlier place, one step further; zeros where nothing comes back.",
)  # fmt: skip


def left_out(score: Callable, pieces: list[str]) -> list[float]:
    """The reference."""
    whole = score(list(pieces))
    return [whole - score(pieces[:i] + pieces[i + 1 :]) for i in range(len(pieces))]


def _letters(pieces: list[str]) -> float:
    return float(sum(len(piece) for piece in pieces))


def _pairs(pieces: list[str]) -> float:
    """Neighbours matter together: order and repetition count."""
    return sum(len(a) * 10 + len(b) for a, b in itertools.pairwise(pieces)) - 0.5 * len(pieces)


def _first_place(pieces: list[str]) -> float:
    return pieces.index("saw") / 4 if "saw" in pieces else -3.0


def _used_up(pieces: list[str]) -> float:
    """Eats what it is given: an answer that hands over its own list loses it."""
    total = 0.0
    while pieces:
        total += len(pieces) * len(pieces.pop())
    return total


def _drop(score: Callable, pieces: list[str], without: Callable[[int], list[str]]) -> list[float]:
    whole = score(list(pieces))
    return [whole - score(list(without(i))) for i in range(len(pieces))]


exercise(
    "inside-left-out",
    "left_out",
    reference=left_out,
    cases=[
        case("a score that counts letters", score=_letters, pieces=["a", "tool", "with", "a", "sharp", "blade"]),
        case("a score in which neighbours matter together", score=_pairs, pieces=["I", "saw", "a", "dark", "saw"]),
        case("a word that comes twice", "Each place is left out by itself: the first a, then the other.",
             score=_first_place, pieces=["a", "man", "saw", "a", "saw"]),
        case("a score that is below zero", score=lambda pieces: -_pairs(pieces), pieces=["the", "river", "is", "wide"]),
        case("words that don't matter", "A drop of 0 is an answer too.", score=lambda pieces: 2.0, pieces=["one", "two", "three"]),
        case("one word", "Without it the text is empty.", score=_letters, pieces=["alone"]),
        case("the same word four times", score=_pairs, pieces=["no"] * 4),
        case("a score that uses up the list it is given", "Hand over a new list each time.", score=_used_up,
             pieces=["it", "eats", "its", "own", "words"]),
        case("a score of thirds", "It is a number, with all its digits.", score=lambda pieces: _letters(pieces) / 3,
             pieces=["a", "tool", "with", "a", "sharp", "blade"]),
        *late(case("45 words", score=_pairs, pieces=["I", "saw", "a", "saw", "that"] * 9)),
    ],
    mistakes=[
        mistake("The sign is turned: a word that mattered has a positive drop, score of the whole minus score without it.",
                lambda score, pieces: [-x for x in left_out(score, pieces)]),
        mistake("This is the score without each word. How far does it fall from the score of the whole?",
                lambda score, pieces: [score(pieces[:i] + pieces[i + 1 :]) for i in range(len(pieces))]),
        mistake("This is the score of each word alone. Leave one out, keep the others.",
                lambda score, pieces: [score([piece]) for piece in pieces]),
        mistake("A word that comes twice loses both places. Leave out one place at a time.",
                lambda score, pieces: _drop(score, pieces, lambda i: [x for x in pieces if x != pieces[i]])),
        mistake("A word that comes twice gets the drop of its first place each time (`remove` goes by the word). Leave out place i.",
                lambda score, pieces: _drop(
                    score, pieces, lambda i: [x for j, x in enumerate(pieces) if j != pieces.index(pieces[i])])),
        mistake("What was left out is not put back: each text is the whole without one place.",
                lambda score, pieces: _drop(score, pieces, lambda i: pieces[i + 1 :])),
        mistake("It keeps the words up to that place. Keep all but one.",
                lambda score, pieces: _drop(score, pieces, lambda i: pieces[:i])),
        mistake("The word was replaced by another piece. Leave its place out.",
                lambda score, pieces: _drop(score, pieces, lambda i: [*pieces[:i], "[MASK]", *pieces[i + 1 :]])),
        mistake("The word was replaced by an empty one. Leave its place out.",
                lambda score, pieces: _drop(score, pieces, lambda i: [*pieces[:i], "", *pieces[i + 1 :]])),
        mistake("These are sizes. A word that makes the score fall when it is there has a negative drop.",
                lambda score, pieces: [abs(x) for x in left_out(score, pieces)]),
        mistake("These are shares of the whole. Return the drops themselves.",
                lambda score, pieces: [x / score(list(pieces)) for x in left_out(score, pieces)]),
        mistake("The drops come in the reverse order.", lambda score, pieces: left_out(score, pieces)[::-1]),
    ],
    lift=False,
    praise="Each place left out once, the others untouched; words that come twice too.",
)  # fmt: skip
