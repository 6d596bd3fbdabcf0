"""Exercises on masks: two at once, before the softmax, painting."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attnlab import masks
from attnlab.checks.exercise import case, draws, exercise, gradient, mistake, precisions
from attnlab.scores import softmax


def mask_for(lengths: Tensor, n: int) -> Tensor:
    """The reference."""
    return masks.causal(n) & masks.padding(lengths, n)


def _batch(n: int, *lengths: int) -> dict[str, Any]:
    return {"lengths": torch.tensor(lengths), "n": n}


def _longest(lengths: Tensor, n: int) -> Tensor:
    return mask_for(lengths, max(int(lengths.max()), 1))


exercise(
    "masking-both",
    "mask_for",
    reference=mask_for,
    cases=[
        case("lengths [2, 5, 3] and n = 5", **_batch(5, 2, 5, 3)),
        case("lengths [1, 4] and n = 6", "The batch may be padded beyond its longest sentence.", **_batch(6, 1, 4)),
        case("an empty sentence among others, n = 4", "Nobody in it may see anything.", **_batch(4, 3, 0)),
        case("one sentence, n = 3", "A batch of one is a batch.", **_batch(3, 2)),
        case("n = 1", **_batch(1, 1, 0, 1)),
        case("as many sentences as tokens, n = 4", **_batch(4, 4, 1, 3, 2)),
        case("lengths [12, 7, 1, 9, 10] and n = 12", **_batch(12, 12, 7, 1, 9, 10)),
    ],
    mistakes=[
        mistake("The batch is lost: each sentence has its own padding, so the shape is (batch, n, n).",
                lambda lengths, n: mask_for(lengths, n).any(0)),
        mistake("The batch is lost: each sentence has its own padding, so the shape is (batch, n, n).",
                lambda lengths, n: mask_for(lengths, n).all(0)),
        mistake("It is inverted: True must mean may attend. Here True stands where it may not.",
                lambda lengths, n: ~mask_for(lengths, n)),
        mistake("It shows padding and hides the real tokens: real is where the place is smaller than the length.",
                lambda lengths, n: masks.causal(n) & ~masks.padding(lengths, n)),
        mistake("It looks the wrong way: a token may see what came before it, column <= row.",
                lambda lengths, n: masks.causal(n).T & masks.padding(lengths, n)),
        mistake("It is off by one: a token may see itself, and here the diagonal is closed.",
                lambda lengths, n: masks.causal(n).tril(-1) & masks.padding(lengths, n)),
        mistake("It is off by one: each token may see the next one.",
                lambda lengths, n: masks.window(n, n, 1) & masks.padding(lengths, n)),
        mistake("It hides the rows of padding tokens, which leaves rows with nothing to see. Hide only their columns: "
                "nobody may see them, what they see does no harm.",
                lambda lengths, n: masks.causal(n) & masks.padding(lengths, n).mT),
        mistake("It allows where either mask does. Both must: use &.",
                lambda lengths, n: masks.causal(n) | masks.padding(lengths, n)),
        mistake("It is causal, but padding can be seen.", lambda lengths, n: masks.causal(n).expand(len(lengths), n, n)
        ),
        mistake("It hides padding, but later tokens can be seen.",
                lambda lengths, n: masks.padding(lengths, n).expand(-1, n, -1)),
        mistake("One padding token is still seen: counted from 0, the first padding stands at place `length`.",
                lambda lengths, n: masks.causal(n) & masks.padding(lengths + 1, n + 1)[..., :n]),
        mistake("The last real token is hidden: counted from 0, it stands at place `length` - 1.",
                lambda lengths, n: masks.causal(n) & masks.padding((lengths - 1).clamp_min(0), n)),
        mistake("An empty sentence gets a token. With length 0 all of it is padding.",
                lambda lengths, n: mask_for(lengths.clamp_min(1), n)),
        mistake("It is as wide as the longest sentence. The batch is padded to n, which may be more.", _longest
        ),
        mistake("The padding stands in front of the sentence. It comes at the end: real is where the place is smaller than "
                "the length.",
                lambda lengths, n: masks.causal(n) & masks.padding(lengths, n).flip(-1)),
    ],
    praise="Causal and padding: columns are hidden, each sentence has its own mask, True = may attend.",
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
    reference=lambda scores, mask: softmax(scores, mask),
    cases=[
        *draws(scores="... q k", mask=_visible, lead=[(2,), (3,), (), (2, 4), (5,)], seeds=8, spread=1.5),
        case("one row of a mask for all queries, shape (2, 1, 4)",
             "A mask that broadcasts must serve every row.",
             scores=_normal(2, 3, 4),
             mask=torch.tensor([[[True, True, False, True]], [[False, True, False, False]]])),
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
        mistake("The mask is inverted: True means may attend.", lambda scores, mask: softmax(scores, ~mask)),
        mistake("The softmax runs down the columns. Each row belongs to one query: use dim=-1.",
                lambda scores, mask: softmax(scores, mask, dim=-2)),
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
        mistake("A large negative number stands in for minus infinity. It makes small, it does not hide: an empty row gets the "
                "weights of hidden tokens, and float16 has no number below -65,504.",
                lambda scores, mask: _filled(None, scores, mask)),
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
