"""The exercise on finding leaks, and the models that leak or do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import layer_norm

from attnlab import masks
from attnlab.checks.exercise import case, exercise, mistake
from attnlab.checks.values import describe, number
from attnlab.scores import softmax


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
            raise ValueError(f"Each entry of the list should be a pair (i, j), one is {describe(pair)}.")
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
        _leaks("two documents in one row and a mask that is causal alone",
               "The mask says what is forbidden: other documents too, earlier or later.",
               _attends(masks.causal(6)), 6, 3, masks.causal(6) & masks.packed([0, 0, 1, 1, 1, 1])),
        _leaks("a causal model", "Nothing leaks here, so the list is empty.", _attends(masks.causal(4)), 4, 6),
        _leaks("a mask after the softmax",
               "Every hidden score is still in the sum. At x = 0 no score has a slope: ask at a random input.",
               lambda x: _late(False, x), 7, 5),
        _leaks("a mask after the softmax, each row then divided by its sum",
               "That is the early mask again. What is left in the gradient is rounding, below 1e-6: it is no leak.",
               lambda x: _late(True, x), 8, 3),
        _leaks("a strict mask and a model whose tokens see themselves",
               "Here mask[i, i] is False, so a token that sees itself leaks.",
               _attends(masks.causal(6)), 6, 2, masks.causal(6).tril(-1)),
        _leaks("a strict mask, kept", "Nothing leaks here.", _attends(masks.causal(9).tril(-1)), 9, 4, masks.causal(9).tril(-1)),
        _leaks("a mask that allows later tokens, and a model that sees all",
               "The mask says what is forbidden, causal or not.",
               _attends(masks.causal(3) | ~masks.causal(3)), 3, 7, masks.causal(3).T),
        _leaks("two holes behind a layer norm",
               "A layer norm makes each output row sum to a constant: project it on a random direction, the plain sum has no "
               "gradient.",
               _attends(_holes(5, (0, 3), (2, 4)), lambda out: layer_norm(out, out.shape[-1:])), 5, 8),
        _leaks("leaks from one number of a token into one number of an output",
               "The gradient must take in all numbers of both, and it may be negative.",
               _strays((0, 4, [1], [0, 0, 0, 1]), (1, 3, [0, 0, 0, -1], [1]), (1, 5, [0, 2], [0, 0, -1]), (2, 3, [0, 0, -1], [0, 1])),
               6, 4),
        _leaks("leaks that cancel in a sum",
               "One adds to a number of an output what it takes from another, one takes two numbers of a token with opposite "
               "signs, one is opposite in two outputs. Take the largest absolute value, one output at a time.",
               _strays((0, 2, [1], [1, -1]), (1, 3, [1, -1], [0, 1]), (2, 4, [1, 1], [1]), (3, 4, [1, 1], [-1])), 5, 6),
        _leaks("a leak of one part in a thousand",
               "It is faint, and ten thousand times as large as rounding.",
               _strays((3, 9, [0.001], [1])), 10, 3),
        _leaks("one token", "A single token that may see itself can't leak.", _attends(masks.causal(1)), 1, 5),
        _leaks("a model that leaves every token as it is", "", lambda x: 1.0 * x, 4, 3),
    ],
    mistakes=[
        mistake("Row and column have changed places: i is the output, j the token.",
                lambda *a: [(j, i) for i, j in _found(*a)]),
        mistake("It stops at the first. One model may leak in many places.", lambda *a: _found(*a)[:1]),
        mistake("All of these may be seen: mask[i, j] is True. Keep the pairs where it is False.",
                lambda *a: _found(*a, keep=lambda i, j, mask: mask[i, j])),
        mistake("It lists what may be seen as well: leave out the pairs where mask[i, j] is True.",
                lambda *a: _found(*a, keep=lambda *_: True)),
        mistake("These are all pairs that the mask hides, whatever the model does. Differentiate one output row at a time: a "
                "sum of rows does not say who depends.",
                lambda model, n, d_model, mask: [(i, j) for i, j in (~mask).nonzero().tolist()]),
        mistake("It looks at later tokens only. The mask says what is forbidden, causal or not.",
                lambda *a: _found(*a, keep=lambda i, j, mask: j > i)),
        mistake("It looks at later tokens only. The mask says what is forbidden, causal or not.",
                lambda *a: _found(*a, keep=lambda i, j, mask: j > i and not mask[i, j])),
        mistake("It leaves out i = j. Where the mask forbids the diagonal, a token that sees itself leaks.",
                lambda *a: _found(*a, keep=lambda i, j, mask: i != j and not mask[i, j])),
        mistake("It asks at x = 0, where every score is 0 and has no slope: a mask after the softmax goes unseen. Ask at a "
                "random input.",
                lambda *a: _found(*a, start=torch.zeros)),
        mistake("It asks about one number of each output row. Project the row on a random direction, so that all are in it.",
                lambda *a: _found(*a, probe=lambda row: row[0])),
        mistake("It asks about one number of each output row. Project the row on a random direction, so that all are in it.",
                lambda *a: _found(*a, probe=lambda row: row[-1])),
        mistake("It looks at the gradient of one number of each token. Any of them may leak.",
                lambda *a: _found(*a, size=lambda slope: slope[:, 0].abs())),
        mistake("The entries of a token's gradient may cancel when they are added. Take the largest absolute value.",
                lambda *a: _found(*a, size=lambda slope: slope.sum(-1).abs())),
        mistake("A gradient may be negative. Take absolute values.",
                lambda *a: _found(*a, size=lambda slope: slope.amax(-1))),
        mistake("The pairs come in the order of the tokens. Reading order goes row by row, output by output.",
                lambda *a: sorted(_found(*a), key=lambda pair: pair[::-1])),
    ],
    read=_pairs,
    lift=False,
    praise="Every leak found, faint ones too, and none where there is none.",
)  # fmt: skip
