"""Checkers of chapter 01, Why attention."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import torch

from attnlab.checks.verdict import Wrong, call, exercise, near, rounded, want_tensor


@exercise("why-best-tags", "best_tags")
def best_tags(answer: Callable) -> str:
    """Examine the lookup tagger: for every word its most frequent tag, ties by the alphabet."""
    counts = {
        "saw": {"NOUN": 2, "VERB": 5},
        "Saw": {"PROPN": 1},
        "a": {"DET": 4},
        "that": {"DET": 2, "PRON": 3, "SCONJ": 1},
        "can": {"NOUN": 3, "AUX": 3},
    }
    want = {"saw": "VERB", "Saw": "PROPN", "a": "DET", "that": "PRON", "can": "AUX"}
    got = call(answer, counts)
    if not isinstance(got, dict):
        raise Wrong(f"It should return a dict from word to tag, it returned {type(got).__name__}.")
    if got.keys() != counts.keys():
        odd = ", ".join(sorted(got.keys() ^ counts.keys()))
        raise Wrong(f"The keys should be the words as they were given, capitals too; look at: {odd}.")
    if any(isinstance(tag, int) for tag in got.values()):
        raise Wrong("It returns counts. The tagger needs the tag that has the largest count.")
    if got["saw"] == "NOUN":
        raise Wrong('For "saw", 5 VERB against 2 NOUN, it chose NOUN: that is not the most frequent tag.')
    if len(set(got.values())) == 1:
        raise Wrong(f"Every word got {got['a']}. Count for each word on its own, not over all words.")
    tie = got | {"can": "AUX"}
    if tie == want and got["can"] != "AUX":
        raise Wrong('"can" has 3 NOUN and 3 AUX: of equals take the first in the alphabet, AUX.')
    for word, tag in want.items():
        if got[word] != tag:
            raise Wrong(f'For "{word}" with {counts[word]} the most frequent tag is {tag}, not {got[word]}.')
    return "Every word has its most frequent tag, and ties go by the alphabet."


@exercise("why-ceiling", "ceiling")
def ceiling(answer: Callable) -> str:
    """Examine the exact ceiling of a per-word tagger: largest counts over all counts, as a fraction."""
    counts = {"saw": {"VERB": 3, "NOUN": 1}, "a": {"DET": 4}}
    got = call(answer, counts)
    if isinstance(got, float):
        raise Wrong("It returned a float. The ceiling is exact: return a Fraction.")
    if isinstance(got, bool) or not isinstance(got, int | Fraction):
        raise Wrong(f"It should return a Fraction, it returned {type(got).__name__}.")
    if got == Fraction(3, 4):
        raise Wrong('It counts only the ambiguous words. Tokens of "a" are right too, and they count: 7/8.')
    if got == Fraction(1, 8):
        raise Wrong(
            "1/8 is the share of tokens that stay wrong. The ceiling is the share that comes out right."
        )
    if got == Fraction(1, 2):
        raise Wrong("It gives all words one tag. The tagger may choose a tag for each word.")
    if got != Fraction(7, 8):
        raise Wrong(
            f"With 3 VERB and 1 NOUN for saw, 4 DET for a, the best accuracy is 7/8; ceiling returned {got}."
        )
    uneven = {"saw": {"VERB": 3, "NOUN": 1}, "a": {"DET": 12}, "can": {"AUX": 2, "NOUN": 1, "VERB": 1}}
    got = call(answer, uneven)
    mean_of_words = Fraction(Fraction(3, 4) + 1 + Fraction(1, 2), 3)
    if got == mean_of_words:
        raise Wrong(
            f"It averages over words ({got}). A word that occurs 12 times weighs 12 tokens: 17/20, not {got}."
        )
    if got != Fraction(17, 20):
        raise Wrong(f"For {uneven} the ceiling is 17/20, not {got}.")
    return "Every token counts once, and the ceiling is exact."


@exercise("why-bag", "bag_of_context")
def bag_of_context(answer: Callable) -> str:
    """Examine the uniform average: every row becomes the mean of all rows of its sentence."""
    x = torch.tensor([[1.0, 10.0], [2.0, 20.0], [6.0, 60.0]])
    got = call(answer, x)
    want = x.mean(0, keepdim=True).expand(3, 2)
    if isinstance(got, torch.Tensor) and got.shape in ((2,), (1, 2)):
        raise Wrong(
            f"Three tokens go in, three must come out: the output should have shape (3, 2), it has "
            f"{tuple(got.shape)}. Repeat the mean for every token."
        )
    if isinstance(got, torch.Tensor) and got.shape[:1] == (3,) and near(got[:, 0], x.mean(1)):
        raise Wrong("It averages over the features of one token. Average over the tokens: rows are tokens.")
    got = want_tensor(got, (3, 2))
    if near(got, x.sum(0, keepdim=True).expand(3, 2)):
        raise Wrong("It adds the rows up. Divide by their number: a mean keeps the size of its inputs.")
    if near(got, (x.sum(0, keepdim=True) - x) / 2):
        raise Wrong("Each row leaves itself out. Attention looks at its own token too, and so does the bag.")
    if not near(got, want):
        raise Wrong(
            f"For x = {x.tolist()} every row should be {want[0].tolist()}, the first is {got[0].tolist()}."
        )
    batch = torch.stack([x, 3 * x + 1])  # (2, 3, 2)
    got = want_tensor(call(answer, batch), (2, 3, 2))
    if not near(got, batch.mean(1, keepdim=True).expand(2, 3, 2)):
        raise Wrong("With a batch, sentences run into each other. Average over axis -2, the tokens, alone.")
    return "Every row is the mean of all rows of its own sentence, for any batch."


@exercise("why-mixture", "mix")
def mix(answer: Callable) -> str:
    """Examine softmax over each row of scores, then the weighted mean of the rows of x."""
    x = torch.tensor([[1.0, 0.0, 0.5], [0.0, 1.0, 2.0], [3.0, -1.0, 1.0]])
    scores = torch.tensor([[0.3, -0.2, 0.9], [1.1, 0.1, -0.4], [-0.6, 0.7, 0.2]])
    got = want_tensor(call(answer, x, scores), (3, 3))
    rows, columns = scores.softmax(-1), scores.softmax(-2)
    for mistake, message in (
        (
            columns @ x,
            "The softmax runs down the columns. Each row of scores belongs to one query: use dim=-1.",
        ),
        (scores @ x, "The scores are used as they are. Turn each row into weights with a softmax first."),
        (rows.mT @ x, "The weights are transposed: row i says how much token i takes of every token."),
        (
            scores / scores.sum(-1, keepdim=True) @ x,
            "It divides each row by its sum. Scores can be negative: take exponentials first.",
        ),
        (
            scores.exp() @ x,
            "The exponentials are not divided by their sum: a row of weights must sum to one.",
        ),
        (rows @ x.mT, "It mixes the columns of x. Rows are tokens: weights @ x."),
    ):
        if near(got, mistake):
            raise Wrong(message)
    if not near(got, rows @ x):
        raise Wrong(f"Row 0 should be {rounded(rows[0] @ x)}, it is {rounded(got[0])}.")
    if not near(want_tensor(call(answer, x, scores + 200), (3, 3)), rows @ x):
        raise Wrong(
            "With 200 added to every score the answer should stay. Large exponentials overflow: subtract "
            "the largest score of each row, or use torch.softmax."
        )
    batch, many = torch.stack([x, x + 1]), torch.stack([scores, 2 * scores])
    got = want_tensor(call(answer, batch, many), (2, 3, 3))
    if not near(got, many.softmax(-1) @ batch):
        raise Wrong("With a batch the answer changes: name the axes from the end (dim=-1).")
    return "Every output row is a weighted mean of the tokens, for any batch and any size of score."
