"""The exercise on finding leaks, and the models that leak or do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from attnbook.checks.exercise import case, exercise, late, mistake
from attnbook.checks.values import Difference, describe, difference, number
from attnlab import masks


def leaking_pairs(model: Callable, n: int, vocab_size: int, mask: Tensor) -> list[tuple[int, int]]:
    """The reference: every sentence that there is."""
    sentences = torch.cartesian_prod(*[torch.arange(vocab_size)] * n).reshape(-1, n)
    out = model(sentences).reshape(*[vocab_size] * n, n, -1)
    moves = [(out.amax(j) - out.amin(j)).movedim(-2, 0).flatten(1).amax(1) for j in range(n)]
    depends = torch.stack(moves, -1) > 1e-5
    return [(i, j) for i, j in (depends & ~mask).nonzero().tolist()]


def _pairs(got: Any) -> list[tuple[int, int]]:
    """Read a list of pairs in any form: tuples, lists, tensors, arrays."""
    if got is None:
        raise ValueError("It returned None. Where nothing leaks, return an empty list.")
    if isinstance(got, set | frozenset | dict | str) or not hasattr(got, "__iter__"):
        raise ValueError(f"It should return a list of pairs, it returned a {type(got).__name__}.")
    if getattr(got, "dtype", None) in (torch.bool, bool):
        raise ValueError("It should return a list of pairs (i, j), it returned a table of True and False.")
    pairs = []
    for pair in got:
        entries = [number(x) for x in pair] if hasattr(pair, "__iter__") and not isinstance(pair, str) else []
        if len(entries) != 2 or any(x is None or x != int(x) for x in entries):
            raise ValueError(f"Each entry of the list should be a pair (i, j), one is {describe(pair)}.")
        pairs.append((int(entries[0]), int(entries[1])))
    if twice := [pair for pair, count in Counter(pairs).items() if count > 1]:
        raise ValueError(f"Each pair should stand in the list once, {twice[0]} stands there more often.")
    return pairs


def _in_order(got: list, want: list, **_: Any) -> Difference | str | None:
    """Tell pairs in another order from other pairs."""
    if got != want and sorted(got) == want:
        return f"These are the right pairs, but in reading order they are {want}."
    return difference(got, want)


@lru_cache
def _vectors(vocab_size: int, d: int) -> Tensor:
    return torch.randn(vocab_size, d, generator=torch.Generator().manual_seed(vocab_size))


def _attends(used: Tensor, vocab_size: int, d: int = 3) -> Callable[[Tensor], Tensor]:
    """A model that uses a mask."""

    def model(words: Tensor) -> Tensor:
        x = _vectors(vocab_size, d)[words]
        return (x @ x.mT / 2).masked_fill(~used, -torch.inf).softmax(-1) @ x

    return model


def _late(vocab_size: int, d: int, again: bool) -> Callable[[Tensor], Tensor]:
    def model(words: Tensor) -> Tensor:
        x = _vectors(vocab_size, d)[words]
        weights = (x @ x.mT / 2).softmax(-1) * masks.causal(words.shape[1])
        return (weights / weights.sum(-1, keepdim=True) if again else weights) @ x

    return model


def _strays(
    vocab_size: int, *ways: tuple[int, Callable[[Tensor], Tensor], list[float]]
) -> Callable[[Tensor], Tensor]:
    """A causal model in which something strays to output i: (i, what of the words, into which numbers)."""

    def model(words: Tensor) -> Tensor:
        n = words.shape[1]
        out = _attends(masks.causal(n), vocab_size, 4)(words)
        for i, taken, given in ways:
            row = (torch.arange(n)[:, None] == i) * torch.tensor([*given, *[0.0] * (4 - len(given))])
            out = out + taken(words.T)[:, None, None] * row
        return out

    return model


def _holes(n: int, *cells: tuple[int, int]) -> Tensor:
    mask = masks.causal(n)
    for i, j in cells:
        mask[i, j] = True
    return mask


def _leaks(name: str, hint: str, model: Callable, n: int, vocab_size: int, mask: Tensor | None = None) -> Any:
    mask = masks.causal(n) if mask is None else mask
    return case(name, hint, model=model, n=n, vocab_size=vocab_size, mask=mask)


def _found(
    model: Callable,
    n: int,
    vocab_size: int,
    mask: Tensor,
    *,
    sentences: int = 100,
    places: Callable = lambda j: slice(j, j + 1),
    seen: Callable = lambda out: out,
    size: Callable = lambda move: move.abs().amax((0, 2)),
    least: float = 1e-5,
    keep: Callable = lambda i, j, mask: not mask[i, j],
) -> list[tuple[int, int]]:
    """Find leaks by exchanging words, or nearly so."""
    words, other = torch.randint(vocab_size, (2, sentences, n))
    before, pairs = model(words), []
    for j in range(n):
        changed = words.clone()
        changed[:, places(j)] = other[:, places(j)]
        moves = size((seen(model(changed)) - seen(before)).float())
        pairs += [(i, j) for i in range(n) if keep(i, j, mask) and moves[i] > least]
    return sorted(pairs)


exercise(
    "masking-leaks",
    "leaking_pairs",
    reference=leaking_pairs,
    cases=[
        _leaks("a causal mask with two holes", "", _attends(_holes(5, (0, 3), (2, 4)), 4), 5, 4),
        _leaks("two documents in one row and a mask that is causal alone",
               "The mask says what is forbidden: other documents too, earlier or later.",
               _attends(masks.causal(6), 3), 6, 3, masks.causal(6) & masks.packed([0, 0, 1, 1, 1, 1])),
        _leaks("a causal model", "Nothing leaks here, so the list is empty.", _attends(masks.causal(4), 7), 4, 7),
        _leaks("a mask after the softmax", "Every hidden score is still in the sum.", _late(2, 5, again=False), 7, 2),
        _leaks("a mask after the softmax, each row then divided by its sum",
               "That is the early mask again. What still moves is rounding, below 1e-5: it is no leak.",
               _late(3, 4, again=True), 5, 3),
        _leaks("a strict mask and a model whose words see themselves",
               "Here mask[i, i] is False, so a word that its own output depends on leaks.",
               _attends(masks.causal(6), 2), 6, 2, masks.causal(6).tril(-1)),
        _leaks("a mask that allows later words, and a model that sees all",
               "The mask says what is forbidden, causal or not.",
               _attends(masks.causal(3) | ~masks.causal(3), 9), 3, 9, masks.causal(3).T),
        _leaks("leaks into one number of an output",
               "Any number of the output may be the one that moves.",
               _strays(4, (0, lambda w: w[3] / 4, [0, 0, 0, 1]), (1, lambda w: -w[3] / 4, [1]), (2, lambda w: w[4] / 4, [0, 1])),
               5, 4),
        _leaks("leaks that a sum does not show",
               "One adds to a number of an output what it takes from another; the sign of one depends on the first word. Take "
               "the largest absolute value, over the numbers and over the sentences.",
               _strays(2, (0, lambda w: w[2] / 2, [1, -1]), (3, lambda w: (w[5] - 0.5) * (w[0] - 0.5), [0, 1])), 6, 2),
        _leaks("leaks that only a certain word shows",
               "Exchanging two other words for each other shows nothing: try many.",
               _strays(8, (0, lambda w: 1.0 * (w[1] == 0), [1]), (1, lambda w: 1.0 * (w[3] == 7), [0, 1])), 4, 8),
        _leaks("a leak that shows only where another word is right",
               "In most sentences nothing moves: try many sentences.",
               _strays(5, (1, lambda w: 1.0 * (w[4] == 2) * (w[1] == 3), [0, 0, 1])), 5, 5),
        _leaks("a leak that shows only where two other words differ",
               "Not all the other words of a sentence should be one and the same.",
               _strays(3, (0, lambda w: 1.0 * (w[3] == 1) * (w[1] != w[2]), [0, 1])), 5, 3),
        _leaks("a leak of the sum of all words",
               "Words that change places leave the sum as it is: exchange one for another.",
               _strays(3, (2, lambda w: w.sum(0) / 3, [1, 1, 1, 1])), 6, 3),
        _leaks("a leak of one part in a thousand",
               "It is faint, and a hundred times as large as what counts.",
               _strays(2, (3, lambda w: 0.001 * w[8], [1])), 9, 2),
        _leaks("one word", "A single word that may see itself can't leak.", _attends(masks.causal(1), 6), 1, 6),
        _leaks("a model that leaves every word as it is", "", lambda words: _vectors(4, 2)[words], 4, 4),
        *late(
            _leaks("45 different words, each leak shown by one of them alone",
                   "The more words there are, the more sentences it takes.",
                   _strays(45, (0, lambda w: 1.0 * (w[1] == 22), [1]), (0, lambda w: 1.0 * (w[2] == 7), [0, 1]),
                           (1, lambda w: 1.0 * (w[2] == 31), [1])), 3, 45),
            _leaks("1,000 different words, of which one alone shows the leaks, faintly",
                   "Few sentences show it: it takes more of them the more words there are, the largest move and no mean, "
                   "and a threshold below 0.001.",
                   lambda words: 0.001 * (words == 407).sum(-1)[:, None, None].expand(-1, 2, 1),
                   2, 1000, torch.zeros(2, 2).bool()),
        ),
    ],
    mistakes=[
        mistake("Row and column have changed places: i is the output, j the word.",
                lambda *a: [(j, i) for i, j in _found(*a)]),
        mistake("It stops at the first. One model may leak in many places.", lambda *a: _found(*a)[:1]),
        mistake("All of these may be seen: mask[i, j] is True. Keep the pairs where it is False.",
                lambda *a: _found(*a, keep=lambda i, j, mask: mask[i, j])),
        mistake("It lists what may be seen as well: leave out the pairs where mask[i, j] is True.",
                lambda *a: _found(*a, keep=lambda *_: True)),
        mistake("These are all pairs that the mask hides, whatever the model does.",
                lambda model, n, vocab_size, mask: [(i, j) for i, j in (~mask).nonzero().tolist()]),
        mistake("It looks at later words only. The mask says what is forbidden, causal or not.",
                lambda *a: _found(*a, keep=lambda i, j, mask: j > i)),
        mistake("It looks at later words only. The mask says what is forbidden, causal or not.",
                lambda *a: _found(*a, keep=lambda i, j, mask: j > i and not mask[i, j])),
        mistake("It leaves out i = j. Where the mask forbids the diagonal, a word that sees itself leaks.",
                lambda *a: _found(*a, keep=lambda i, j, mask: i != j and not mask[i, j])),
        mistake("It changes all words from j on, so a leak of a later word counts for the earlier ones too. Change one at a time.",
                lambda *a: _found(*a, places=lambda j: slice(j, None))),
        mistake("It changes all words up to j, so a leak of an earlier word counts for the later ones too. Change one at a time.",
                lambda *a: _found(*a, places=lambda j: slice(j + 1))),
        mistake("It looks at the most probable word alone. A leak may move the numbers and leave the largest the largest.",
                lambda *a: _found(*a, seen=lambda out: out.argmax(-1, keepdim=True))),
        mistake("It looks at one number of each output. Any of them may move.",
                lambda *a: _found(*a, seen=lambda out: out[..., :1])),
        mistake("It looks at one number of each output. Any of them may move.",
                lambda *a: _found(*a, seen=lambda out: out[..., -1:])),
        mistake("The softmax of an output does not notice what is added to all of its numbers. Compare the outputs as they are.",
                lambda *a: _found(*a, seen=lambda out: out.softmax(-1))),
        mistake("What moves may cancel when the numbers of an output are added. Take the largest absolute value.",
                lambda *a: _found(*a, size=lambda move: move.sum(2).abs().amax(0))),
        mistake("It takes rounding for a leak. A move of 1e-7 is none.",
                lambda *a: _found(*a, least=0.0)),
        mistake("The pairs come in the order of the words. Reading order goes row by row, output by output.",
                lambda *a: sorted(_found(*a), key=lambda pair: pair[::-1])),
    ],
    read=_pairs,
    compare=_in_order,
    lift=False,
    praise="Every leak found, faint and hidden ones too, and none where there is none.",
)  # fmt: skip
