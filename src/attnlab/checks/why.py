"""Exercises on why attention: counting tags, a bag of context, the first mixture."""

from __future__ import annotations

from fractions import Fraction

import torch
from torch import Tensor

from attnlab.checks.exercise import case, draws, exercise, gradient, mistake, precisions

Counts = dict[str, dict[str, int]]

SAW = {"saw": {"NOUN": 2, "VERB": 5}, "Saw": {"PROPN": 1}, "a": {"DET": 4}}
TIES = {"can": {"NOUN": 3, "AUX": 3}, "like": {"AUX": 3, "NOUN": 3}, "left": {"VERB": 1, "ADJ": 2, "ADV": 2}}
UNEVEN = {"saw": {"VERB": 3, "NOUN": 1}, "a": {"DET": 12}, "can": {"AUX": 2, "NOUN": 1, "VERB": 1}}


def best_tags(counts: Counts) -> dict[str, str]:
    """The reference."""
    return {word: max(sorted(tags), key=tags.__getitem__) for word, tags in counts.items()}


def _total(counts: Counts) -> dict[str, int]:
    total: dict[str, int] = {}
    for tags in counts.values():
        for tag, count in tags.items():
            total[tag] = total.get(tag, 0) + count
    return total


exercise(
    "why-best-tags",
    "best_tags",
    reference=best_tags,
    cases=[
        case("five VERB against two NOUN, and a word with a capital", counts=SAW),
        case("ties", "Of equally frequent tags take the first in the alphabet, in whatever order they come.", counts=TIES),
        case("a word with one tag", counts={"the": {"DET": 1}}),
        case("no word", counts={}),
    ],
    mistakes=[
        mistake(
            "It chooses the least frequent tag.",
            lambda counts: {word: min(sorted(tags), key=tags.__getitem__) for word, tags in counts.items()},
        ),
        mistake(
            "It returns counts. The tagger needs the tag that has the largest count.",
            lambda counts: {word: max(tags.values()) for word, tags in counts.items()},
        ),
        mistake(
            "Every word gets one tag. Count for each word on its own, not over all words.",
            lambda counts: {word: max(sorted(_total(counts)), key=_total(counts).__getitem__) for word in counts},
        ),
        mistake(
            "Every word gets one tag. Count for each word on its own, not over all words.",
            lambda counts: {word: max(_total(counts), key=_total(counts).__getitem__) for word in counts},
        ),
        mistake(
            "The words are changed. Leave them as they are written, capitals too.",
            lambda counts: {word.lower(): tag for word, tag in best_tags(counts).items()},
        ),
        mistake(
            "Of equally frequent tags it takes the one that comes first in the counts. Take the first in the alphabet.",
            lambda counts: {word: max(tags, key=tags.__getitem__) for word, tags in counts.items()},
        ),
        mistake(
            "Of equally frequent tags it takes the last in the alphabet. Take the first.",
            lambda counts: {word: max(sorted(tags)[::-1], key=tags.__getitem__) for word, tags in counts.items()},
        ),
        mistake(
            "It returns all of the most frequent tags. Of equally frequent ones take the first in the alphabet.",
            lambda counts: {word: [t for t in sorted(tags) if tags[t] == max(tags.values())] for word, tags in counts.items()},
        ),
        mistake(
            "It takes the first tag in the alphabet. Take the most frequent one; only ties go by the alphabet.",
            lambda counts: {word: min(tags) for word, tags in counts.items()},
        ),
    ],
    praise="Every word has its most frequent tag, and ties go by the alphabet.",
)  # fmt: skip


def ceiling(counts: Counts) -> Fraction:
    """The reference."""
    return Fraction(
        sum(max(tags.values()) for tags in counts.values()),
        sum(map(sum, (t.values() for t in counts.values()))),
    )


def _share(word: dict[str, int]) -> Fraction:
    return Fraction(max(word.values()), sum(word.values()))


exercise(
    "why-ceiling",
    "ceiling",
    reference=ceiling,
    cases=[
        case("saw three times VERB and once NOUN, a four times DET", counts={"saw": {"VERB": 3, "NOUN": 1}, "a": {"DET": 4}}),
        case("a word that occurs twelve times beside two that occur four times", counts=UNEVEN),
        case("a word none of whose tags has a majority", counts={"can": {"AUX": 2, "NOUN": 2, "VERB": 1}, "a": {"DET": 3}}),
        case("a word with one tag", counts={"the": {"DET": 7}}),
    ],
    mistakes=[
        mistake("It returned a float. The ceiling is exact: return a Fraction.", lambda counts: float(ceiling(counts))),
        mistake(
            "It counts only the ambiguous words. Words with one tag are right too, and their tokens count.",
            lambda counts: ceiling({w: t for w, t in counts.items() if len(t) > 1} or counts),
        ),
        mistake(
            "That is the share of tokens that stay wrong. The ceiling is the share that comes out right.",
            lambda counts: 1 - ceiling(counts),
        ),
        mistake(
            "It gives all words one tag. The tagger may choose a tag for each word.",
            lambda counts: Fraction(max(_total(counts).values()), sum(_total(counts).values())),
        ),
        mistake(
            "It averages over words. A word that occurs 12 times weighs 12 tokens.",
            lambda counts: sum(map(_share, counts.values())) / Fraction(len(counts)),
        ),
        mistake(
            "It counts a word only if its best tag has at least half of its tokens. The best tag counts in any case.",
            lambda counts: Fraction(
                sum(max(t.values()) for t in counts.values() if _share(t) >= Fraction(1, 2)),
                sum(_total(counts).values()),
            ),
        ),
    ],
    praise="Every token counts once, and the ceiling is exact.",
)  # fmt: skip

exercise(
    "why-bag",
    "bag_of_context",
    reference=lambda x: x.mean(-2, keepdim=True).expand(x.shape),
    cases=draws(x="... n d", lead=[(), (2,), (3,), (2, 4)], seeds=8),
    promises=[gradient("x"), precisions("float64")],
    mistakes=[
        mistake(
            "As many tokens must come out as go in. Repeat the mean for every token.",
            lambda x: x.mean(-2),
        ),
        mistake(
            "Repeat the mean for every token: it should be a row for each.",
            lambda x: x.mean(-2, keepdim=True),
        ),
        mistake(
            "It averages over the features of one token. Average over the tokens: rows are tokens.",
            lambda x: x.mean(-1, keepdim=True).expand(x.shape),
        ),
        mistake(
            "It adds the rows up. Divide by their number: a mean keeps the size of its inputs.",
            lambda x: x.sum(-2, keepdim=True).expand(x.shape),
        ),
        mistake(
            "Each row leaves itself out. Attention looks at its own token too, and so does the bag.",
            lambda x: (x.sum(-2, keepdim=True) - x) / (x.shape[-2] - 1),
        ),
        mistake(
            "With a batch, sentences run into each other. Average over axis -2, the tokens, alone.",
            lambda x: x.mean(0, keepdim=True).expand(x.shape),
        ),
        mistake(
            "It averages over everything, tokens and features. Average over axis -2, the tokens, alone.",
            lambda x: x.mean().expand(x.shape),
        ),
    ],
    praise="Every row is the mean of all rows of its own sentence, for any batch.",
)


def _scores(s, generator: torch.Generator) -> Tensor:
    return torch.randn(*s.lead, s.n, s.n, generator=generator)


exercise(
    "why-mixture",
    "mix",
    reference=lambda x, scores: scores.softmax(-1) @ x,
    cases=[
        *draws(x="... n d", scores=_scores, lead=[(), (2,), (3,), (2, 4)], seeds=8),
        case(
            "200 added to all scores",
            x=torch.eye(3, 2),
            scores=torch.tensor([[200.0, 201.0, 199.0]]).expand(3, 3),
        ),
        case(
            "rows of scores near 0, near 300 and near -300",
            "Take the largest score of each row from that row alone.",
            x=torch.eye(3, 2),
            scores=torch.tensor([[0.0, 1.0, 0.5], [300.0, 301.0, 299.0], [-300.0, -301.0, -299.0]]),
        ),
        case(
            "a row that spans from -200 to 200",
            "Only the largest score of a row, taken away from it, keeps every exponential finite.",
            x=torch.eye(2, 3),
            scores=torch.tensor([[-200.0, 200.0], [200.0, -200.0]]),
        ),
    ],
    promises=[gradient("x", "scores"), precisions("float64")],
    mistakes=[
        mistake(
            "The softmax runs down the columns. Each row of scores belongs to one query: use dim=-1.",
            lambda x, scores: scores.softmax(-2) @ x,
        ),
        mistake(
            "The softmax runs along dimension 1, which is another one in a batch. Count from the end: dim=-1.",
            lambda x, scores: scores.softmax(1) @ x,
        ),
        mistake(
            "The scores are used as they are. Turn each row into weights with a softmax first.",
            lambda x, scores: scores @ x,
        ),
        mistake(
            "The weights are transposed: row i says how much token i takes of every token.",
            lambda x, scores: scores.softmax(-1).mT @ x,
        ),
        mistake(
            "It divides each row by its sum. Scores can be negative: take exponentials first.",
            lambda x, scores: scores / scores.sum(-1, keepdim=True) @ x,
        ),
        mistake(
            "The exponentials are not divided by their sum: a row of weights must sum to one.",
            lambda x, scores: scores.exp() @ x,
        ),
        mistake(
            "Large exponentials overflow: subtract the largest score of each row first, or use torch.softmax.",
            lambda x, scores: scores.exp() / scores.exp().sum(-1, keepdim=True) @ x,
        ),
    ],
    praise="Every output row is a weighted mean of the tokens, for any batch and any size of score.",
)
