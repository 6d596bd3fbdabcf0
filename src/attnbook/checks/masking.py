"""Exercises on masks: packed documents, before the softmax, painting."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnbook.checks.exercise import case, draws, exercise, gradient, late, mistake, precisions, rows
from attnbook.experiments.next_word import SKIP
from attnlab import masks
from attnlab.scores import softmax


class Packed(NamedTuple):
    """What a row of packed documents is, by the names that messages use."""

    row_of_words: Tensor
    row_of_positions: Tensor
    row_of_guesses: Tensor
    mask: Tensor


def _pack(
    documents: list[list[int]],
    n: int,
    *,
    places: Callable = lambda document: range(len(document)),
    guesses: Callable = lambda document, row: [*document[1:], SKIP],
    sees: Callable = lambda i, j, owner, row: j <= i and owner[i] == owner[j] >= 0,
) -> Packed:
    """The reference, in plain loops, and what departs from it in one place."""
    row = [word for document in documents for word in document]
    empty = n - len(row)
    owner = [at for at, document in enumerate(documents) for _ in document] + [-1] * empty
    place = [at for document in documents for at in places(document)] + [0] * empty
    guess = [word for document in documents for word in guesses(document, row)] + [SKIP] * empty
    row += [0] * empty
    mask = [[bool(sees(i, j, owner, row)) for j in range(n)] for i in range(n)]
    return Packed(*map(torch.tensor, (row, place, guess, mask)))


def _run_on(documents: list[list[int]], n: int) -> tuple[Tensor, ...]:
    words, _, guesses, mask = _pack(documents, n)
    length = sum(map(len, documents))
    return words, torch.arange(n) * (torch.arange(n) < length), guesses, mask


def pack(documents: list[list[int]], n: int) -> Packed:
    """The reference."""
    return _pack(documents, n)


def _all_through(documents: list[list[int]], n: int, skip: int = SKIP) -> tuple[Tensor, ...]:
    """Guesses shifted over the whole row at once, as for one text."""
    words, places, _, mask = _pack(documents, n)
    guesses = torch.full_like(words, skip)
    guesses[:-1] = words[1:]
    return words, places, guesses, mask


def _across(documents: list[list[int]], n: int) -> tuple[Tensor, ...]:
    """Guesses shifted over the whole row, but not into the padding."""
    words, places, guesses, mask = _all_through(documents, n)
    guesses[max(sum(map(len, documents)) - 1, 0) :] = SKIP
    return words, places, guesses, mask


exercise(
    "masking-pack",
    "pack",
    reference=pack,
    cases=[
        *rows("documents n", ([[5, 3, 8], [7, 2]], 7), ([[4, 9], [6, 1, 3, 2], [8]], 9)),
        case("a row that is full", "Nothing is padded.", documents=[[3, 7], [5, 2, 9]], n=5),
        case("a single document", documents=[[6, 2, 7, 3]], n=6),
        case("documents of one word", "Such a word has nothing to guess.", documents=[[6], [2], [7]], n=4),
        case("two documents alike", "They are two all the same: neither sees the other.",
             documents=[[4, 8, 4], [4, 8, 4]], n=8),
        case("documents that hold the number 0",
             "It is a word there: padding is known by the lengths.", documents=[[0, 5, 0], [0, 6]], n=8),
        case("a row of one place", documents=[[9]], n=1),
        case("a word that comes twice in a row", "The second is the first one's guess, as any other word would be.",
             documents=[[4, 4, 4], [8, 8]], n=6),
        case("many documents, one of them long", "A word sees all that comes before it in its document.",
             documents=[[1, 2, 3], list(range(10, 34)), [5], [9, 8, 7, 6], [3, 2]], n=36),
        case("words with the numbers of a large vocabulary", "A number of 8 bits ends at 127 or 255, one of 16 at 32,767.",
             documents=[[49151, 30521, 300], [128, 70000]], n=6),
        *late(
            case("other words", documents=[[4, 1, 6], [9, 3]], n=7),
            case("45 documents, one of 120 words, in a row of 300", documents=[[1 + (i * j) % 40 for j in range(3)] for i in range(44)] + [list(range(120))], n=300),
        ),
    ],
    mistakes=[
        mistake("The last word of a document guesses the first of the next. It has nothing to guess: -100.", _across),
        mistake("The guesses are shifted over the whole row: they cross from one document into the next, and into the padding. "
                "Where a document ends there is nothing to guess: -100.", _all_through),
        mistake("The guesses are shifted over the whole row: they cross from one document into the next, and into the padding. "
                "Where a document ends there is nothing to guess: -100.",
                lambda documents, n: _all_through(documents, n, skip=0)),
        mistake("The guesses are not shifted: each word would guess itself, which it sees.",
                lambda documents, n: _pack(documents, n, guesses=lambda document, row: document)),
        mistake("The guesses are shifted the wrong way: each word would guess the one before it, which it sees.",
                lambda documents, n: _pack(documents, n, guesses=lambda document, row: [SKIP, *document[:-1]])),
        mistake("Where a document ends, 0 is no guess to skip but a word. -100 is what cross_entropy passes over.",
                lambda documents, n: _pack(documents, n, guesses=lambda document, row: [*document[1:], 0])),
        mistake("The places run on through the row. Each document counts its own from 0.",
                _run_on),
        mistake("The places are counted from 1. Each document counts its own from 0.",
                lambda documents, n: _pack(documents, n, places=lambda document: range(1, len(document) + 1))),
        mistake("The mask is causal alone: a document reads those before it.",
                lambda documents, n: _pack(documents, n, sees=lambda i, j, owner, row: j <= i)),
        mistake("The mask is causal alone: a document reads those before it.",
                lambda documents, n: _pack(documents, n, sees=lambda i, j, owner, row: j <= i and owner[j] >= 0)),
        mistake("The mask is causal alone: a document reads those before it.",
                lambda documents, n: _pack(documents, n, sees=lambda i, j, owner, row: j <= i and min(owner[i], owner[j]) >= 0)),
        mistake("Words see later ones of their document. The mask is causal as well: both must allow.",
                lambda documents, n: _pack(documents, n, sees=lambda i, j, owner, row: owner[i] == owner[j] >= 0)),
        mistake("Words see later ones of their document. The mask is causal as well: both must allow.",
                lambda documents, n: _pack(documents, n, sees=lambda i, j, owner, row: owner[i] == owner[j])),
        mistake("The padding sees itself, as if it were one more document. Here its rows and columns are all False.",
                lambda documents, n: _pack(documents, n, sees=lambda i, j, owner, row: j <= i and owner[i] == owner[j])),
        mistake("Words do not see themselves. They may: column <= row.",
                lambda documents, n: _pack(documents, n, sees=lambda i, j, owner, row: j < i and owner[i] == owner[j] >= 0)),
        mistake("It is inverted: True must mean may attend. Here True stands where it may not.",
                lambda documents, n: _pack(documents, n, sees=lambda i, j, owner, row: not (j <= i and owner[i] == owner[j] >= 0))),
        mistake("Rows and columns have changed places: each word sees itself and what comes after.",
                lambda documents, n: _pack(documents, n, sees=lambda i, j, owner, row: j >= i and owner[i] == owner[j] >= 0)),
        mistake("A document may hold the number of the padding as a word. Know the padding by the lengths.",
                lambda documents, n: _pack(documents, n,
                                           sees=lambda i, j, owner, row: j <= i and owner[i] == owner[j] and row[i] and row[j])),
    ],
    praise="Each document keeps its places, its guesses and its view to itself, and nobody sees padding.",
)  # fmt: skip


def _visible(s: Any, generator: torch.Generator) -> Tensor:
    """A random mask without an empty row; its own leading dimensions take turns: all, none, ones."""
    shape = {0: s.lead, 1: (), 2: (1,) * len(s.lead)}[s.q % 3]
    mask = torch.rand(*shape, s.q, s.k, generator=generator) < 0.5
    return mask.scatter(-1, torch.randint(s.k, (*shape, s.q, 1), generator=generator), True)


def _row(*scores: float, seen: str) -> dict[str, Tensor]:
    return {"scores": torch.tensor([scores]), "mask": torch.tensor([[c == "x" for c in seen]])}


def _normal(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def _filled(low: float | None, scores: Tensor, mask: Tensor) -> Tensor:
    """Hide with a number in the place of minus infinity: the lowest of the dtype unless given."""
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min if low is None else low).softmax(-1)


def _by_hand(scores: Tensor, mask: Tensor, more: float = 0.0) -> Tensor:
    """Exponentials, mask, sum."""
    weights = scores.exp() * mask
    return weights / (weights.sum(-1, keepdim=True) + more)


def _opened(scores: Tensor, mask: Tensor) -> Tensor:
    """The softmax with empty rows left open."""
    return scores.masked_fill(~mask & mask.any(-1, keepdim=True), -math.inf).softmax(-1)


def _hidden(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -math.inf)


def _shifted(scores: Tensor, mask: Tensor) -> Tensor:
    """Visible scores less the largest of their row; minus infinity where hidden."""
    hidden = _hidden(scores, mask)
    largest = hidden.amax(-1, keepdim=True)
    return hidden - largest.masked_fill(largest == -math.inf, 0.0)


exercise(
    "masking-softmax",
    "masked_softmax",
    reference=lambda scores, mask: softmax(scores, mask.expand(scores.shape)),
    cases=[
        *draws(scores="... q k", mask=_visible, lead=[(2,), (3,), (), (2, 4), (5,)], seeds=5, spread=1.5),
        case("one row of a mask for all queries, shape (2, 1, 4)",
             "A mask that broadcasts must serve every row.",
             scores=_normal(2, 3, 4),
             mask=torch.tensor([[[True, True, False, True]], [[False, True, False, False]]])),
        case("one row of a mask for everything, shape (4,)", "A mask that broadcasts may have fewer axes than the scores.",
             scores=_normal(2, 3, 4), mask=torch.tensor([True, False, True, True])),
        case("a hidden score of 300",
             "If the hidden tokens are still in the sum, dividing by what is left of it repairs that on paper only.",
             **_row(0.5, 1.5, 300.0, seen="xx.")),
        case("visible scores of 300 and 301",
             "Their exponentials are larger than any number: subtract the largest visible score of the row first.",
             **_row(300.0, 301.0, 0.0, seen="xx.")),
        case("visible scores at the lowest number of 16 bits, -65,504",
             "Only minus infinity lies below all scores, and only the largest visible score, taken away, keeps them apart "
             "from rounding.",
             **_row(-65504.0, -65504.0, 0.0, seen="xx.")),
        case("an empty row between two others",
             "A row with nothing allowed gives zeros, and its neighbours mind nothing.",
             scores=_normal(3, 4),
             mask=torch.tensor([[True, False, False, False], [False] * 4, [True, True, False, True]])),
        case("nothing allowed at all",
             "Rows with nothing allowed give zeros.",
             scores=_normal(2, 3, 4),
             mask=torch.zeros(3, 4, dtype=torch.bool)),
        case("a column of a mask, shape (3, 1)", "Each query may look at all keys, or at none.",
             scores=_normal(3, 4), mask=torch.tensor([[True], [False], [True]])),
        case("visible scores of -1e38", "Minus infinity is the only number below all that a dtype can hold.",
             **_row(-1e38, -1e38, 0.0, seen="xx.")),
    ],
    promises=[gradient("scores"), precisions("float64", "float16", "bfloat16")],
    mistakes=[
        mistake("The mask comes after the softmax: rows do not sum to 1, and hidden scores still move the others.",
                lambda scores, mask: scores.softmax(-1) * mask),
        *(
            mistake("Of a row with a hidden score of 300 nothing is left: it is still in the sum, or it is the score that is "
                    "taken away. Dividing by what is left repairs that on paper only. Hide before the softmax.",
                    lambda scores, mask, least=least: (
                        scores.softmax(-1) * mask / (scores.softmax(-1) * mask).sum(-1, keepdim=True).clamp_min(least)
                    ),
            )
            for least in (0.0, 1e-6)
        ),
        mistake("The mask makes no difference: hidden scores get their weight like all others.",
                lambda scores, mask: scores.softmax(-1)),
        mistake("The mask is inverted: True means may attend.", lambda scores, mask: softmax(scores, ~mask.expand(scores.shape))),
        mistake("The softmax runs down the columns. Each row belongs to one query: use dim=-1.",
                lambda scores, mask: softmax(scores, mask.expand(scores.shape), dim=-2)),
        mistake("A score of 0 is not hidden, its exponential is 1. Only minus infinity has none.",
                lambda scores, mask: (scores * mask).softmax(-1)),
        mistake("A row with nothing allowed is NaN. It should be zeros: keep such rows away from the softmax.",
                lambda scores, mask: scores.masked_fill(~mask, -math.inf).softmax(-1)),
        mistake("The weights are right, but the gradient is not: a NaN was made inside and replaced later. An empty row must "
                "never reach the softmax.",
                lambda scores, mask: (scores + torch.zeros_like(scores).masked_fill(~mask, -math.inf)).softmax(-1).nan_to_num(0.0)),
        mistake("Rows with nothing allowed were opened for the softmax, as they may be; but then set them to zeros after it.",
                _opened),
        mistake("-10,000 stands in for minus infinity. It makes small, it does not hide: an empty row gets the weights of "
                "hidden tokens, and visible scores may lie lower.",
                lambda scores, mask: _filled(-1e4, scores, mask)),
        *(
            mistake("A large negative number stands in for minus infinity. It makes small, it does not hide: an empty row gets "
                    "the weights of hidden tokens, and float16 has no number below -65,504.",
                    lambda scores, mask, low=low: _filled(low, scores, mask))
            for low in (None, -1e9)
        ),
        mistake("The lowest number of the dtype stands in for minus infinity, and visible scores may be as low, above all in "
                "float16.",
                lambda scores, mask: _filled(None, scores, mask) * mask),
        *(
            mistake("The exponential of a score beyond 88 is no number, that of a score below -104 is 0. Subtract the largest "
                    "visible score of the row first, or let torch's softmax do it.",
                    lambda scores, mask, more=more: _by_hand(scores, mask, more),
            )
            for more in (0.0, 1e-9)
        ),
        mistake("A small number in the denominator saves the empty row, but 1e-9 is 0 in float16.",
                lambda scores, mask: _by_hand(_shifted(scores, mask), mask, 1e-9)),
        mistake("The logarithm of the sum is rounded as coarsely as the scores are large, so far from 0 rows no longer sum to "
                "1. Subtract the largest score first.",
                lambda scores, mask: (
                    _hidden(scores, mask) - torch.logsumexp(_hidden(scores, mask), -1, keepdim=True)
                ).exp().masked_fill(~mask.any(-1, keepdim=True), 0.0)),
    ],
    praise="Hidden before the softmax, however high or low the scores; an empty row gives zeros, forward and backward.",
)  # fmt: skip


def _cells(got: Any) -> Tensor:
    """Read a mask of six rows of six, in whatever form."""
    try:
        mask = torch.tensor([[float(x) for x in row] for row in got])
    except (TypeError, ValueError, RuntimeError):
        mask = torch.zeros(0)
    if mask.shape != (6, 6) or not ((mask == 0) | (mask == 1)).all():
        raise ValueError("It should return figure.mask: six rows of six zeros and ones.")
    return mask.bool()


def _first_cell(got: Tensor, want: Tensor) -> str | None:
    wrong = (got != want).nonzero().tolist()
    if not wrong:
        return None
    (i, j), others = wrong[0], len(wrong) - 1
    more = f" {others} more {'cell is' if others == 1 else 'cells are'} wrong." if others else ""
    return f"Row {i + 1}, column {j + 1} should be {'open' if want[i, j] else 'closed'}.{more}"


_PREFIX, _PACKED, _CAUSAL = masks.prefix(6, 2), masks.packed([0, 0, 0, 1, 1, 1]), masks.causal(6)
_BOTH_PREFIXES = _CAUSAL | masks.packed([0, 0, 1, 2, 2, 3])

exercise(
    "masking-paint",
    "painted",
    reference=lambda: _PREFIX & _PACKED,
    cases=[case("your mask")],
    mistakes=[
        mistake("It is inverted: an open cell says that a token may be seen.", lambda: ~(_PREFIX & _PACKED)),
        mistake("The documents have two tokens each. They should have three: set the size before the preset.",
                lambda: _PREFIX & masks.packed([0, 0, 1, 1, 2, 2])),
        mistake("The prefix is missing: token 1 may see token 2 as well.", lambda: _CAUSAL & _PACKED),
        mistake("The second document sees the first: close rows 4 to 6 in columns 1 to 3.", lambda: _PREFIX),
        mistake("It allows where either mask does. Both must: &.", lambda: _PREFIX | _PACKED),
        mistake("Rows and columns have changed places: a row is who looks, a column what is seen.",
                lambda: (_PREFIX & _PACKED).T),
        mistake("Within a document tokens see later ones. Only the prefix may be seen by all.", lambda: _PACKED),
        mistake("The second document has no prefix: token 4 may not see token 5.", lambda: _BOTH_PREFIXES & _PACKED
        ),
        mistake("The prefix has two tokens: token 3 may not be seen from before it.", lambda: masks.prefix(6, 3) & _PACKED
        ),
        mistake("It is causal, but the second document sees the first, and there is no prefix.", lambda: _CAUSAL),
        mistake("Everything is open: nothing is hidden.", lambda: _PREFIX | ~_PREFIX),
        mistake("Nothing is open: not even itself may a token see.", lambda: _PREFIX & ~_PREFIX),
    ],
    read=_cells,
    compare=_first_cell,
    praise="Two documents, one prefix, causal otherwise: 13 of 36 cells are open.",
)  # fmt: skip
