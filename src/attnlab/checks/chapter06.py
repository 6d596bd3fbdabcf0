"""Checkers of chapter 06, Masking."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from attnlab import masks
from attnlab.checks.verdict import Wrong, call, exercise, near, rounded, want_tensor
from attnlab.scores import softmax


def _draw(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@exercise("06-both-masks", "mask_for")
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
    return "Causal and padding: columns are hidden, each sentence has its own mask, True = may attend."


@exercise("06-masked-softmax", "masked_softmax")
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
    if not near(got, want):
        raise Wrong(f"The first row should be {rounded(want[0, 0])}, it is {rounded(got[0, 0])}.")
    if not near(want_tensor(call(answer, s, mask[:1]), (2, 3, 4)), softmax(s, mask[:1])):
        raise Wrong("A mask of shape (1, 3, 4) must serve every sentence of the batch.")
    loud = s.masked_fill(~mask, 300.0)
    if not near(want_tensor(call(answer, loud, mask), (2, 3, 4)), want):
        raise Wrong(
            "A hidden score of 300 changes the answer: the hidden tokens were still in the sum, and dividing "
            "by what is left of it repairs that on paper only."
        )
    for dtype in (torch.float16, torch.bfloat16):
        try:
            half = call(answer, s.to(dtype), mask)
        except Wrong as error:
            raise Wrong(f"In {str(dtype)[6:]} a number does not fit into 16 bits. {error}") from error
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
            "should be zeros: a large negative number makes small, it does not hide."
        )
    if not near(got, softmax(s.detach(), mask)):
        raise Wrong("With an empty row beside them, the other rows change.")
    # `call` copies what it is given, and a copy would keep the gradient: so the scores go in by a closure.
    weights = call(lambda: answer(1.0 * s, mask))
    (slope,) = torch.autograd.grad((weights * _draw(3, 3, 4)).sum(), s)
    if slope.isnan().any():
        raise Wrong(
            "The weights are right, but the gradient is NaN: a NaN was made inside and replaced later. The "
            "empty row must never reach the softmax."
        )
    if slope[1].abs().max() > 0:
        raise Wrong("A row with nothing allowed should pass back zero gradient.")
    return "Hidden before the softmax, in every precision; an empty row gives zeros, forward and backward."


@exercise("06-leaking-pairs", "leaking_pairs")
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
    for used, normed, allowed, want, name in cases:
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
        raise Wrong(start + "Differentiate one output row at a time: a sum of rows does not say who depends.")
    return "Every leak found, and none where there is none: one random projection of one row at a time."


def _model(mask: Tensor, normed: bool) -> Callable[[Tensor], Tensor]:
    def model(x: Tensor) -> Tensor:
        out = softmax(x @ x.transpose(-2, -1) / 2, mask) @ x
        return torch.nn.functional.layer_norm(out, out.shape[-1:]) if normed else out

    return model


@exercise("06-paint", "painted")
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
