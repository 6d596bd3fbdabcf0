"""Checkers of chapter 06, Masking."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from attnlab import masks
from attnlab.checks.legacy import Wrong, call, exercise, near, rounded, want_tensor, wrong_row
from attnlab.scores import softmax


def _draw(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@exercise("masking-both", "mask_for")
def both_masks(answer: Callable) -> str:
    """Examine a boolean mask (batch, n, n) that is causal and hides padding."""
    lengths, n = torch.tensor([2, 5, 3]), 5
    got = call(answer, lengths, n)
    if isinstance(got, Tensor) and got.shape == (n, n):
        raise Wrong("The batch is lost: each sentence has its own padding, so the shape is (batch, n, n).")
    got = want_tensor(got, (3, n, n))
    if got.dtype != torch.bool:
        raise Wrong(f"The mask should be boolean, True = may attend; it has dtype {got.dtype}.")
    past, real = masks.causal(n), masks.padding(lengths, n)  # (n, n), (batch, 1, n)
    rows = real.transpose(-2, -1)
    for mistake, message in (
        (~(past & real), "It is inverted: True must mean may attend. Here True stands where it may not."),
        (
            past & ~real,
            "It shows padding and hides the real tokens: real is where the place is smaller than the length.",
        ),
        (past.T & real, "It looks the wrong way: a token may see what came before it, column <= row."),
        (past.tril(-1) & real, "It is off by one: a token may see itself, and here the diagonal is closed."),
        (masks.window(n, n, 1) & real, "It is off by one: each token may see the next one."),
        (past & rows, "It hides the rows of padding tokens. Hide their columns: nobody may see them."),
        (
            past & rows & real,
            "It hides the rows of padding tokens too. That leaves rows with nothing to see.",
        ),
        (past | real, "It allows where either mask does. Both must: use &."),
        (past.expand(3, n, n), "It is causal, but padding can be seen."),
        (
            past & masks.padding(lengths + 1, n + 1)[..., :n],
            "One padding token is still seen: counted from 0, the first padding stands at place `length`.",
        ),
        (real.expand(3, n, n), "It hides padding, but later tokens can be seen."),
    ):
        if torch.equal(got, mistake):
            raise Wrong(message)
    wrong = (got != (past & real)).nonzero()
    if len(wrong):
        b, i, j = wrong[0].tolist()
        raise Wrong(
            f"With lengths {lengths.tolist()} and n = {n}, sentence {b}, row {i}, column {j} should be "
            f"{not bool(got[b, i, j])}."
        )
    lengths, n = torch.tensor([1, 4]), 6  # nobody fills this batch
    if not torch.equal(
        want_tensor(call(answer, lengths, n), (2, n, n)), masks.causal(n) & masks.padding(lengths, n)
    ):
        raise Wrong(
            f"With lengths {lengths.tolist()} and n = {n} it is wrong, with [2, 5, 3] and 5 it is right."
        )
    return "Causal and padding: columns are hidden, each sentence has its own mask, True = may attend."


@exercise("masking-softmax", "masked_softmax")
def masked_softmax(answer: Callable) -> str:
    """Examine a masked softmax: order, hidden extremes, half precision, the empty row and its gradient."""
    s = _draw(1, 2, 3, 4)
    mask = masks.causal(4)[1:] & masks.padding([4, 3])  # (2, 3, 4), no row is empty
    got, want = want_tensor(call(answer, s, mask), (2, 3, 4)), softmax(s, mask)
    if near(got, s.softmax(-1) * mask):
        raise Wrong(
            "The mask comes after the softmax: rows do not sum to 1, and hidden scores still move the others."
        )
    if near(got, softmax(s, ~mask)):
        raise Wrong("The mask is inverted: True means may attend.")
    if near(got, softmax(s, mask, dim=-2)):
        raise Wrong("The softmax runs down the columns. Each row belongs to one query: use dim=-1.")
    if near(got, (s * mask).softmax(-1)):
        raise Wrong("A score of 0 is not hidden, its exponential is 1. Only minus infinity has none.")
    if not near(got, want):
        raise Wrong(wrong_row(got, want))
    if not near(want_tensor(call(answer, s, mask[:1]), (2, 3, 4)), softmax(s, mask[:1])):
        raise Wrong("A mask of shape (1, 3, 4) must serve every sentence of the batch.")
    loud = s.masked_fill(~mask, 300.0)
    if not near(want_tensor(call(answer, loud, mask), (2, 3, 4)), want):
        raise Wrong(
            "A hidden score of 300 changes the answer: the hidden tokens were still in the sum, and dividing "
            "by what is left of it repairs that on paper only."
        )
    deep = torch.tensor([[-1e5, -1e5 - 1, 0.0]])
    seen = torch.tensor([[True, True, False]])
    if not near(want_tensor(call(answer, deep, seen), (1, 3)), softmax(deep, seen)):
        raise Wrong(
            "With visible scores near -100,000 the rows go wrong: they lie below the number that should hide. "
            "Only minus infinity is smaller than all others."
        )
    for dtype in (torch.float16, torch.bfloat16):
        try:
            half = call(answer, s.to(dtype), mask)
        except Wrong as error:
            raise Wrong(f"In {str(dtype)[6:]} a number does not fit into 16 bits. {error}") from error
        if want_tensor(half, (2, 3, 4)).dtype != dtype:
            raise Wrong(f"Scores in {str(dtype)[6:]} come back as {str(half.dtype)[6:]}. Keep their dtype.")
        if not near(want_tensor(half, (2, 3, 4)).float(), softmax(s.to(dtype), mask).float(), 0.02):
            raise Wrong(f"In {str(dtype)[6:]} the weights are wrong.")
    return _empty_row(answer)


def _empty_row(answer: Callable) -> str:
    s, mask = _draw(2, 3, 4).requires_grad_(), masks.causal(4)[:3].clone()
    mask[1] = False
    got = want_tensor(call(answer, s.detach(), mask), (3, 4))
    if got[1].isnan().any():
        raise Wrong("A row with nothing allowed is NaN. It should be zeros.")
    if got[1].abs().max() > 0:
        raise Wrong(
            f"A row with nothing allowed got the weights {rounded(got[1])}, all of them for hidden tokens. It "
            "should be zeros. (A large negative number makes small, it does not hide; a row that was opened for "
            "the softmax must be set to zeros after it.)"
        )
    if not near(got, softmax(s.detach(), mask)):
        raise Wrong("With an empty row beside them, the other rows change.")
    # `call` copies what it is given, and a copy would keep the gradient: so the scores go in by a closure.
    weights = call(lambda: answer(1.0 * s, mask))
    if not weights.requires_grad:
        raise Wrong("No gradient comes back to the scores: something was detached or made into a new tensor.")
    (slope,) = torch.autograd.grad((weights * _draw(3, 3, 4)).sum(), s)
    if slope.isnan().any():
        raise Wrong(
            "The weights are right, but the gradient is NaN: a NaN was made inside and replaced later. The "
            "empty row must never reach the softmax."
        )
    if slope[1].abs().max() > 0:
        raise Wrong("A row with nothing allowed should pass back zero gradient.")
    return "Hidden before the softmax, in every precision; an empty row gives zeros, forward and backward."


@exercise("masking-leaks", "leaking_pairs")
def leaking_pairs(answer: Callable) -> str:
    """Examine a leak finder on models whose leaks are known, one of them behind a layer norm."""
    n, d = 5, 4
    causal = masks.causal(n)
    holes = causal.clone()
    holes[0, 3] = holes[2, 4] = True
    document = masks.packed([0, 0, 1, 1, 1])
    cases = (
        (holes, False, causal, [(0, 3), (2, 4)], "a causal mask with two holes"),
        (causal, False, document & causal, [(2, 0), (2, 1), (3, 0), (3, 1), (4, 0), (4, 1)],
         "two documents in one row and a mask that is causal alone"),
        (causal, False, causal, [], "a causal model"),
        (holes, True, causal, [(0, 3), (2, 4)], "two holes behind a layer norm"),
    )  # fmt: skip
    hidden = [(i, j) for i in range(n) for j in range(i + 1, n)]
    for used, normed, allowed, want, name in cases:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)  # answers draw at random: the verdict should not
            got = call(answer, _model(used, normed), n, d, allowed)
        if not isinstance(got, list):
            raise Wrong(f"It should return a list of pairs, it returned {type(got).__name__}.")
        got = [tuple(int(x) for x in pair) if hasattr(pair, "__iter__") else pair for pair in got]
        if got == want:
            continue
        start = f"For {name} it should return {want}, it returned {got}. "
        if want and got == [(j, i) for i, j in want]:
            raise Wrong(start + "Row and column have changed places: i is the output, j the token.")
        if want and got == want[:1]:
            raise Wrong(start + "It stops at the first.")
        if got and all(allowed[i, j] for i, j in got):
            raise Wrong(
                start + "All of these may be seen: mask[i, j] is True. Keep the pairs where it is False."
            )
        if got == hidden:
            raise Wrong(
                start
                + "These are all pairs that the mask hides. Differentiate one output row at a time: a sum of "
                "rows does not say who depends."
            )
        if normed:
            raise Wrong(
                start + "A layer norm makes each output row sum to a constant: project it on a random "
                "direction, the plain sum has no gradient."
            )
        if set(want) < set(got) and all(i == j or used[i, j] for i, j in got):
            raise Wrong(
                start + "It lists what may be seen as well: leave out the pairs where mask[i, j] is True."
            )
        if sorted(got) == sorted(want):
            raise Wrong(start + "The pairs are right, their order is not.")
        if any(j <= i for i, j in want) and not any(j <= i for i, j in got):
            raise Wrong(
                start + "It looks at later tokens only. The mask says what is forbidden, causal or not."
            )
        if set(got) < set(want):
            raise Wrong(
                start
                + "Some are missed. A gradient may be negative, and its entries may cancel: take the largest "
                "absolute value. One row may leak more than once."
            )
        raise Wrong(start + "Differentiate one output row at a time: a sum of rows does not say who depends.")
    if call(answer, _narrow_leak, n, d, causal) != [(0, 4)]:
        raise Wrong(
            "A leak from the first number of a token into the last number of an output was missed: the gradient "
            "must take in all numbers of both."
        )
    return "Every leak found, and none where there is none: one random projection of one row at a time."


def _model(mask: Tensor, normed: bool) -> Callable[[Tensor], Tensor]:
    def model(x: Tensor) -> Tensor:
        out = softmax(x @ x.transpose(-2, -1) / 2, mask) @ x
        return torch.nn.functional.layer_norm(100 * out, out.shape[-1:]) if normed else out

    return model


def _narrow_leak(x: Tensor) -> Tensor:
    out = _model(masks.causal(x.shape[1]), normed=False)(x)
    stray = torch.zeros_like(out)
    stray[0, 0, -1] = x[0, -1, 0]
    return out + stray


@exercise("masking-paint", "painted")
def paint(answer: Callable) -> str:
    """Examine a painted mask: two documents of three tokens, a prefix of two in the first, causal."""
    got = call(answer)
    if isinstance(got, Tensor):
        got = got.int().tolist()
    try:
        mask = torch.tensor(got, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        raise Wrong("It should return figure.mask: six rows of six zeros and ones.") from None
    if mask.shape != (6, 6) or not ((mask == 0) | (mask == 1)).all():
        raise Wrong("It should return figure.mask: six rows of six zeros and ones.")
    mask = mask.bool()
    causal, prefix, packed = masks.causal(6), masks.prefix(6, 2), masks.packed([0, 0, 0, 1, 1, 1])
    second = masks.packed([0, 0, 1, 2, 2, 3])  # two tokens of each document that see each other
    for mistake, message in (
        (
            ~(prefix & packed),
            "It is inverted: an open cell says that a token may be seen.",
        ),
        (
            prefix & masks.packed([0, 0, 1, 1, 2, 2]),
            "The documents have two tokens each. They should have three: set the size before the preset.",
        ),
        (causal & packed, "The prefix is missing: token 1 may see token 2 as well."),
        (prefix, "The second document sees the first: close rows 4 to 6 in columns 1 to 3."),
        (prefix | packed, "It allows where either mask does. Both must: &."),
        (
            (prefix & packed).T,
            "Rows and columns have changed places: a row is who looks, a column what is seen.",
        ),
        (packed, "Within a document tokens see later ones. Only the prefix may be seen by all."),
        ((causal | second) & packed, "The second document has no prefix: token 4 may not see token 5."),
        (masks.prefix(6, 3) & packed, "The prefix has two tokens: token 3 may not be seen from before it."),
        (causal, "It is causal, but the second document sees the first, and there is no prefix."),
    ):
        if torch.equal(mask, mistake):
            raise Wrong(message)
    wrong = (mask != (prefix & packed)).nonzero()
    if len(wrong):
        i, j = wrong[0].tolist()
        raise Wrong(f"Row {i + 1}, column {j + 1} should be {'closed' if mask[i, j] else 'open'}.")
    return "Two documents, one prefix, causal otherwise: 13 of 36 cells are open."
