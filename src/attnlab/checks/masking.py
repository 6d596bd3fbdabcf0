"""Exercises on masks: two at once, before the softmax, finding a leak, painting."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import layer_norm

from attnlab import masks
from attnlab.checks.exercise import case, draws, exercise, gradient, mistake, precisions
from attnlab.checks.values import number
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
        mistake(
            "The batch is lost: each sentence has its own padding, so the shape is (batch, n, n).",
            lambda lengths, n: mask_for(lengths, n).any(0),
        ),
        mistake(
            "The batch is lost: each sentence has its own padding, so the shape is (batch, n, n).",
            lambda lengths, n: mask_for(lengths, n).all(0),
        ),
        mistake(
            "It is inverted: True must mean may attend. Here True stands where it may not.",
            lambda lengths, n: ~mask_for(lengths, n),
        ),
        mistake(
            "It shows padding and hides the real tokens: real is where the place is smaller than the length.",
            lambda lengths, n: masks.causal(n) & ~masks.padding(lengths, n),
        ),
        mistake(
            "It looks the wrong way: a token may see what came before it, column <= row.",
            lambda lengths, n: masks.causal(n).T & masks.padding(lengths, n),
        ),
        mistake(
            "It is off by one: a token may see itself, and here the diagonal is closed.",
            lambda lengths, n: masks.causal(n).tril(-1) & masks.padding(lengths, n),
        ),
        mistake(
            "It is off by one: each token may see the next one.",
            lambda lengths, n: masks.window(n, n, 1) & masks.padding(lengths, n),
        ),
        mistake(
            "It hides the rows of padding tokens, which leaves rows with nothing to see. Hide only their columns: "
            "nobody may see them, what they see does no harm.",
            lambda lengths, n: masks.causal(n) & masks.padding(lengths, n).mT,
        ),
        mistake(
            "It allows where either mask does. Both must: use &.",
            lambda lengths, n: masks.causal(n) | masks.padding(lengths, n),
        ),
        mistake(
            "It is causal, but padding can be seen.", lambda lengths, n: masks.causal(n).expand(len(lengths), n, n)
        ),
        mistake(
            "It hides padding, but later tokens can be seen.",
            lambda lengths, n: masks.padding(lengths, n).expand(-1, n, -1),
        ),
        mistake(
            "One padding token is still seen: counted from 0, the first padding stands at place `length`.",
            lambda lengths, n: masks.causal(n) & masks.padding(lengths + 1, n + 1)[..., :n],
        ),
        mistake(
            "The last real token is hidden: counted from 0, it stands at place `length` - 1.",
            lambda lengths, n: masks.causal(n) & masks.padding((lengths - 1).clamp_min(0), n),
        ),
        mistake(
            "An empty sentence gets a token. With length 0 all of it is padding.",
            lambda lengths, n: mask_for(lengths.clamp_min(1), n),
        ),
        mistake(
            "It is as wide as the longest sentence. The batch is padded to n, which may be more.", _longest
        ),
        mistake(
            "The padding stands in front of the sentence. It comes at the end: real is where the place is smaller than "
            "the length.",
            lambda lengths, n: masks.causal(n) & masks.padding(lengths, n).flip(-1),
        ),
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
    """Scores less the largest visible one of their row."""
    largest = _hidden(scores, mask).amax(-1, keepdim=True)
    return scores - largest.masked_fill(largest == -math.inf, 0.0)


exercise(
    "masking-softmax",
    "masked_softmax",
    reference=lambda scores, mask: softmax(scores, mask),
    cases=[
        *draws(scores="... q k", mask=_visible, lead=[(2,), (3,), (), (2, 4), (5,)], seeds=8, spread=1.5),
        case(
            "one row of a mask for all queries, shape (2, 1, 4)",
            "A mask that broadcasts must serve every row.",
            scores=_normal(2, 3, 4),
            mask=torch.tensor([[[True, True, False, True]], [[False, True, False, False]]]),
        ),
        case(
            "a hidden score of 300",
            "If the hidden tokens are still in the sum, dividing by what is left of it repairs that on paper only.",
            **_row(0.5, 1.5, 300.0, seen="xx."),
        ),
        case(
            "visible scores of 300 and 301",
            "Their exponentials are larger than any number: subtract the largest visible score of the row first.",
            **_row(300.0, 301.0, 0.0, seen="xx."),
        ),
        case(
            "visible scores at the lowest number of 16 bits, -65,504",
            "Only minus infinity lies below all scores, and only the largest visible score, taken away, keeps them apart "
            "from rounding.",
            **_row(-65504.0, -65504.0, 0.0, seen="xx."),
        ),
        case(
            "an empty row between two others",
            "A row with nothing allowed gives zeros, and its neighbours mind nothing.",
            scores=_normal(3, 4),
            mask=torch.tensor([[True, False, False, False], [False] * 4, [True, True, False, True]]),
        ),
        case(
            "nothing allowed at all",
            "Rows with nothing allowed give zeros.",
            scores=_normal(2, 3, 4),
            mask=torch.zeros(3, 4, dtype=torch.bool),
        ),
    ],
    promises=[gradient("scores"), precisions("float64", "float16", "bfloat16")],
    mistakes=[
        mistake(
            "The mask comes after the softmax: rows do not sum to 1, and hidden scores still move the others.",
            lambda scores, mask: scores.softmax(-1) * mask,
        ),
        *(
            mistake(
                "Of a row with a hidden score of 300 nothing is left: it is still in the sum, or it is the score that is "
                "taken away. Dividing by what is left repairs that on paper only. Hide before the softmax.",
                lambda scores, mask, least=least: (
                    scores.softmax(-1) * mask / (scores.softmax(-1) * mask).sum(-1, keepdim=True).clamp_min(least)
                ),
            )
            for least in (0.0, 1e-6)
        ),
        mistake("The mask is inverted: True means may attend.", lambda scores, mask: softmax(scores, ~mask)),
        mistake(
            "The softmax runs down the columns. Each row belongs to one query: use dim=-1.",
            lambda scores, mask: softmax(scores, mask, dim=-2),
        ),
        mistake(
            "A score of 0 is not hidden, its exponential is 1. Only minus infinity has none.",
            lambda scores, mask: (scores * mask).softmax(-1),
        ),
        mistake(
            "A row with nothing allowed is NaN. It should be zeros: keep such rows away from the softmax.",
            lambda scores, mask: scores.masked_fill(~mask, -math.inf).softmax(-1),
        ),
        mistake(
            "The weights are right, but the gradient is not: a NaN was made inside and replaced later. An empty row must "
            "never reach the softmax.",
            lambda scores, mask: (scores + torch.zeros_like(scores).masked_fill(~mask, -math.inf)).softmax(-1).nan_to_num(0.0),
        ),
        mistake(
            "Rows with nothing allowed were opened for the softmax, as they may be; but then set them to zeros after it.",
            _opened,
        ),
        mistake(
            "-1e9 stands in for minus infinity. It makes small, it does not hide: an empty row gets the weights of "
            "hidden tokens. And float16 has no such number.",
            lambda scores, mask: _filled(-1e9, scores, mask),
        ),
        mistake(
            "-10,000 stands in for minus infinity. It makes small, it does not hide: an empty row gets the weights of "
            "hidden tokens, and visible scores may lie lower.",
            lambda scores, mask: _filled(-1e4, scores, mask),
        ),
        mistake(
            "The lowest number of the dtype stands in for minus infinity. It does not hide: an empty row gets the weights "
            "of hidden tokens, and visible scores may be as low.",
            lambda scores, mask: _filled(None, scores, mask),
        ),
        mistake(
            "The lowest number of the dtype stands in for minus infinity, and visible scores may be as low, above all in "
            "float16.",
            lambda scores, mask: _filled(None, scores, mask) * mask,
        ),
        *(
            mistake(
                "The exponential of a score beyond 88 is no number, that of a score below -104 is 0. Subtract the largest "
                "visible score of the row first, or let torch's softmax do it.",
                lambda scores, mask, more=more: _by_hand(scores, mask, more),
            )
            for more in (0.0, 1e-9)
        ),
        mistake(
            "A small number in the denominator saves the empty row, but 1e-9 is 0 in float16.",
            lambda scores, mask: _by_hand(_shifted(scores, mask), mask, 1e-9),
        ),
        mistake(
            "The logarithm of the sum is rounded as coarsely as the scores are large, so far from 0 rows no longer sum to "
            "1. Subtract the largest score first.",
            lambda scores, mask: (
                _hidden(scores, mask) - torch.logsumexp(_hidden(scores, mask), -1, keepdim=True)
            ).exp().masked_fill(~mask.any(-1, keepdim=True), 0.0),
        ),
    ],
    praise="Hidden before the softmax, however high or low the scores; an empty row gives zeros, forward and backward.",
)  # fmt: skip


def leaking_pairs(model: Callable, n: int, d_model: int, mask: Tensor) -> list[tuple[int, int]]:
    """The reference: the whole Jacobian in double precision."""
    x = torch.randn(1, n, d_model, dtype=torch.float64)
    slopes = torch.autograd.functional.jacobian(model, x)  # (1, n, d_model, 1, n, d_model)
    depends = slopes.abs().amax((0, 2, 3, 5)) > 1e-6
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
            raise ValueError(f"Each entry of the list should be a pair (i, j), one is {pair!r}.")
        pairs.append((int(entries[0]), int(entries[1])))
    return pairs


def _attends(used: Tensor, after: Callable[[Tensor], Tensor] = lambda out: out) -> Callable[[Tensor], Tensor]:
    """A model that uses a mask, and perhaps a layer behind."""
    return lambda x: after(softmax(x @ x.mT / 2, used) @ x)


def _late(again: bool, x: Tensor) -> Tensor:
    weights = (x @ x.mT / 2).softmax(-1) * masks.causal(x.shape[1])
    return (weights / weights.sum(-1, keepdim=True) if again else weights) @ x


def _strays(*ways: tuple[int, int, list[float], list[float]]) -> Callable[[Tensor], Tensor]:
    """A causal model in which something of token j strays to output i: (i, j, which numbers, into which)."""

    def model(x: Tensor) -> Tensor:
        n, d = x.shape[1:]
        out = _attends(masks.causal(n))(x)
        for i, j, taken, given in ways:
            taken, given = (torch.tensor([*w, *[0.0] * (d - len(w))]).to(x) for w in (taken, given))
            row = (torch.arange(n)[:, None] == i) * given
            out = out + row * (x[:, j] @ taken)
        return out

    return model


def _holes(n: int, *cells: tuple[int, int]) -> Tensor:
    mask = masks.causal(n)
    for i, j in cells:
        mask[i, j] = True
    return mask


def _leaks(name: str, hint: str, model: Callable, n: int, d_model: int, mask: Tensor | None = None) -> Any:
    mask = masks.causal(n) if mask is None else mask
    return case(name, hint, model=model, n=n, d_model=d_model, mask=mask)


def _found(
    model: Callable,
    n: int,
    d_model: int,
    mask: Tensor,
    *,
    start: Callable = torch.randn,
    probe: Callable = lambda row: row @ torch.randn(len(row)),
    size: Callable = lambda slope: slope.abs().amax(-1),
    keep: Callable = lambda i, j, mask: not mask[i, j],
) -> list[tuple[int, int]]:
    """Find leaks as the chapter does, or nearly so."""
    x = start(1, n, d_model).requires_grad_()
    out, pairs = model(x), []
    for i in range(n):
        (slope,) = torch.autograd.grad(probe(out[0, i]), x, retain_graph=True)
        sizes = size(slope[0])
        pairs += [(i, j) for j in range(n) if keep(i, j, mask) and sizes[j] > 1e-6]
    return pairs


exercise(
    "masking-leaks",
    "leaking_pairs",
    reference=leaking_pairs,
    cases=[
        _leaks("a causal mask with two holes", "", _attends(_holes(5, (0, 3), (2, 4))), 5, 4),
        _leaks(
            "two documents in one row and a mask that is causal alone",
            "The mask says what is forbidden: other documents too, earlier or later.",
            _attends(masks.causal(6)), 6, 3, masks.causal(6) & masks.packed([0, 0, 1, 1, 1, 1]),
        ),
        _leaks("a causal model", "Nothing leaks here, so the list is empty.", _attends(masks.causal(4)), 4, 6),
        _leaks(
            "a mask after the softmax",
            "Every hidden score is still in the sum. At x = 0 no score has a slope: ask at a random input.",
            lambda x: _late(False, x), 7, 5,
        ),
        _leaks(
            "a mask after the softmax, each row then divided by its sum",
            "That is the early mask again. What is left in the gradient is rounding, below 1e-6: it is no leak.",
            lambda x: _late(True, x), 8, 3,
        ),
        _leaks(
            "a strict mask and a model whose tokens see themselves",
            "Here mask[i, i] is False, so a token that sees itself leaks.",
            _attends(masks.causal(6)), 6, 2, masks.causal(6).tril(-1),
        ),
        _leaks("a strict mask, kept", "Nothing leaks here.", _attends(masks.causal(9).tril(-1)), 9, 4, masks.causal(9).tril(-1)),
        _leaks(
            "a mask that allows later tokens, and a model that sees all",
            "The mask says what is forbidden, causal or not.",
            _attends(masks.causal(3) | ~masks.causal(3)), 3, 7, masks.causal(3).T,
        ),
        _leaks(
            "two holes behind a layer norm",
            "A layer norm makes each output row sum to a constant: project it on a random direction, the plain sum has no "
            "gradient.",
            _attends(_holes(5, (0, 3), (2, 4)), lambda out: layer_norm(out, out.shape[-1:])), 5, 8,
        ),
        _leaks(
            "leaks from one number of a token into one number of an output",
            "The gradient must take in all numbers of both, and it may be negative.",
            _strays((0, 4, [1], [0, 0, 0, 1]), (1, 3, [0, 0, 0, -1], [1]), (1, 5, [0, 2], [0, 0, -1]), (2, 3, [0, 0, -1], [0, 1])),
            6, 4,
        ),
        _leaks(
            "leaks that cancel in a sum",
            "One adds to one number of an output what it takes from another, one takes from two tokens' numbers with "
            "opposite signs, one is opposite in two outputs. Take the largest absolute value, one output at a time.",
            _strays((0, 2, [1], [1, -1]), (1, 3, [1, -1], [0, 1]), (2, 4, [1, 1], [1]), (3, 4, [1, 1], [-1])), 5, 6,
        ),
        _leaks(
            "a leak of one part in a thousand",
            "It is faint, and ten thousand times as large as rounding.",
            _strays((3, 9, [0.001], [1])), 10, 3,
        ),
        _leaks("one token", "A single token that may see itself can't leak.", _attends(masks.causal(1)), 1, 5),
        _leaks("a model that leaves every token as it is", "", lambda x: 1.0 * x, 4, 3),
    ],
    mistakes=[
        mistake(
            "Row and column have changed places: i is the output, j the token.",
            lambda *a: [(j, i) for i, j in _found(*a)],
        ),
        mistake("It stops at the first. One model may leak in many places.", lambda *a: _found(*a)[:1]),
        mistake(
            "All of these may be seen: mask[i, j] is True. Keep the pairs where it is False.",
            lambda *a: _found(*a, keep=lambda i, j, mask: mask[i, j]),
        ),
        mistake(
            "It lists what may be seen as well: leave out the pairs where mask[i, j] is True.",
            lambda *a: _found(*a, keep=lambda *_: True),
        ),
        mistake(
            "These are all pairs that the mask hides, whatever the model does. Differentiate one output row at a time: a "
            "sum of rows does not say who depends.",
            lambda model, n, d_model, mask: [(i, j) for i, j in (~mask).nonzero().tolist()],
        ),
        mistake(
            "It looks at later tokens only. The mask says what is forbidden, causal or not.",
            lambda *a: _found(*a, keep=lambda i, j, mask: j > i),
        ),
        mistake(
            "It looks at later tokens only. The mask says what is forbidden, causal or not.",
            lambda *a: _found(*a, keep=lambda i, j, mask: j > i and not mask[i, j]),
        ),
        mistake(
            "It leaves out i = j. Where the mask forbids the diagonal, a token that sees itself leaks.",
            lambda *a: _found(*a, keep=lambda i, j, mask: i != j and not mask[i, j]),
        ),
        mistake(
            "It asks at x = 0, where every score is 0 and has no slope: a mask after the softmax goes unseen. Ask at a "
            "random input.",
            lambda *a: _found(*a, start=torch.zeros),
        ),
        mistake(
            "It asks about one number of each output row. Project the row on a random direction, so that all are in it.",
            lambda *a: _found(*a, probe=lambda row: row[0]),
        ),
        mistake(
            "It asks about one number of each output row. Project the row on a random direction, so that all are in it.",
            lambda *a: _found(*a, probe=lambda row: row[-1]),
        ),
        mistake(
            "It looks at the gradient of one number of each token. Any of them may leak.",
            lambda *a: _found(*a, size=lambda slope: slope[:, 0].abs()),
        ),
        mistake(
            "The entries of a token's gradient may cancel when they are added. Take the largest absolute value.",
            lambda *a: _found(*a, size=lambda slope: slope.sum(-1).abs()),
        ),
        mistake(
            "A gradient may be negative. Take absolute values.",
            lambda *a: _found(*a, size=lambda slope: slope.amax(-1)),
        ),
        mistake(
            "The pairs come in the order of the tokens. Reading order goes row by row, output by output.",
            lambda *a: sorted(_found(*a), key=lambda pair: pair[::-1]),
        ),
    ],
    read=_pairs,
    lift=False,
    praise="Every leak found, faint ones too, and none where there is none.",
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
        mistake(
            "The documents have two tokens each. They should have three: set the size before the preset.",
            lambda: _PREFIX & masks.packed([0, 0, 1, 1, 2, 2]),
        ),
        mistake("The prefix is missing: token 1 may see token 2 as well.", lambda: _CAUSAL & _PACKED),
        mistake("The second document sees the first: close rows 4 to 6 in columns 1 to 3.", lambda: _PREFIX),
        mistake("It allows where either mask does. Both must: &.", lambda: _PREFIX | _PACKED),
        mistake(
            "Rows and columns have changed places: a row is who looks, a column what is seen.",
            lambda: (_PREFIX & _PACKED).T,
        ),
        mistake("Within a document tokens see later ones. Only the prefix may be seen by all.", lambda: _PACKED),
        mistake(
            "The second document has no prefix: token 4 may not see token 5.", lambda: _BOTH_PREFIXES & _PACKED
        ),
        mistake(
            "The prefix has two tokens: token 3 may not be seen from before it.", lambda: masks.prefix(6, 3) & _PACKED
        ),
        mistake("It is causal, but the second document sees the first, and there is no prefix.", lambda: _CAUSAL),
        mistake("Everything is open: nothing is hidden.", lambda: _PREFIX | ~_PREFIX),
        mistake("Nothing is open: not even itself may a token see.", lambda: _PREFIX & ~_PREFIX),
    ],
    read=_cells,
    compare=_first_cell,
    praise="Two documents, one prefix, causal otherwise: 13 of 36 cells are open.",
)  # fmt: skip
