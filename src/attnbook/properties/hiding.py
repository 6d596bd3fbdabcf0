"""Properties of what is hidden: it changes nothing, whatever it holds; and what is shown counts."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.properties.reading import reader_of
from attnbook.properties.subject import MANY, Inputs, Subject, UnaskedError, per_row, scale_of
from attnbook.properties.wording import Broken, few, number, rows_of, short

LOUD = 1000.0
"""How many times as large hidden keys and values are made."""
FAR = 3e4
"""Scores are taken this far either way: half precision can still hold them."""


def leak(subject: Subject) -> str:
    """What is hidden changes nothing, whatever it holds, as if it were cut out; what is shown counts."""
    if subject.seen(2 * subject.unit) is None:
        _say_what_it_sees(subject)
    said = []
    for n in (2, 3, 5, MANY):
        _moved_as_seen(subject, subject.draw(n * subject.unit), None)
    said.append("who sees whom is as it should be" if subject.sees != "all" else "everyone sees all")
    if subject.hides is None:
        said.append("and it takes no mask")
    elif subject.unmasked:
        raise UnaskedError(subject.unmasked)
    else:
        for n in subject.lengths(2, 3, 5, MANY):
            for seed in (0, 1) if n < MANY * subject.unit else (0,):
                _moved_as_seen(subject, subject.draw(n, seed=seed), subject.a_mask(n, seed))
        for n in subject.lengths(2, 3, 5):
            _as_if_cut_out(subject, n)
        said.append("hidden keys change nothing, also a thousand times as large, as if cut out")
        said.append(_far_scores(subject))
    return ", ".join(filter(None, said))


def _say_what_it_sees(subject: Subject) -> None:
    """It was not told and not found whom a token sees: part of the past may be meant, other pairs are not.

    Raises:
        UnaskedError: each token sees itself and some of those before it.
        Broken: it sees something else.
    """
    for n in (3, 4, 5, MANY):
        n *= subject.unit
        moves, _ = subject.moved(subject.draw(n))
        part = subject.of_the_past(moves)
        usual = moves.all() or (part is not None and not len(part))
        if not usual or n == MANY * subject.unit:
            break
    if part is not None and len(part):
        i, j = part[0].tolist()
        raise UnaskedError(
            f"{n} tokens without a mask: row {i} does not move with key {j} before it. If a part of the past "
            "is meant, as in a window, say which by sees="
        )
    rows = "; ".join(f"row {i} is moved by {moves[i].nonzero().flatten().tolist()}" for i in range(n))
    raise Broken(
        f"{n} tokens without a mask: {rows}. That is neither all nor all before it: say sees= if it is meant",
        moves=moves,
    )


def _moved_as_seen(subject: Subject, inputs: Inputs, hidden: Tensor | None) -> None:
    n = inputs[0].shape[-2]
    out = subject(inputs, hidden)
    want = subject.pairs(hidden, n)
    rows = want.any(-1) & subject.judged(hidden, n)
    nan = (out.isnan().any(-1).reshape(-1, n).any(0) & rows).nonzero()
    if len(nan):
        raise Broken(
            f"{n} tokens: row {int(nan[0])} is NaN, though it may see some", **rows_of(inputs, hidden)
        )
    moves, sizes = subject.moved(inputs, hidden)
    if not subject.split:  # a token asks, too: whether it sees itself can't be told so
        want = want | torch.eye(n, dtype=torch.bool)
        moves = moves | torch.eye(n, dtype=torch.bool)
    wrong = (moves != want) & rows[:, None]
    if wrong.any():
        i, j = map(int, wrong.nonzero()[0])
        text = (
            f"is moved by {number(float(sizes[i, j]))} with key {j}, which it may not see"
            if moves[i, j]
            else f"does not move with key {j}, which it may see"
        )
        upside = (
            " (as if the mask were inverted)"
            if hidden is not None and _inverted(moves, want, subject)
            else ""
        )
        raise Broken(f"{n} tokens: row {i} {text}{upside}", **rows_of(inputs, hidden))


def _inverted(moves: Tensor, want: Tensor, subject: Subject) -> bool:
    apart = ~torch.eye(len(want), dtype=torch.bool) if not subject.split else torch.ones_like(want)
    return bool((moves != want)[apart].all())


def _as_if_cut_out(subject: Subject, n: int) -> None:
    """Hide some keys from all: the others get what they get where those are not there."""
    keep = n - max(1, n // 3)
    keep -= keep % subject.unit
    if not keep:
        return
    moved = subject.positions or subject.sees not in ("all", "past") or subject.hides == "keys"
    order = torch.arange(n) if moved else torch.randperm(n, generator=torch.Generator().manual_seed(n))
    kept = order[:keep].sort()[0]
    shown = torch.zeros(n, dtype=torch.bool).index_fill(0, kept, True)
    hidden = shown[None] if subject.hides == "keys" else shown.expand(n, n)
    if subject.hides == "pairs" and not subject.split:
        hidden = hidden | torch.eye(n, dtype=torch.bool)  # no row is empty here
    inputs = subject.draw(n, seed=5)
    # Where the past alone is seen, a row may be left with nothing: that is another property's matter.
    rows = kept if not subject.split or subject.sees != "all" else torch.arange(n)
    for times in (1.0, LOUD):
        loud = inputs
        for key in (~shown).nonzero().flatten().tolist():
            loud = subject.changed(loud, key, times)
        got = subject(loud, hidden)[..., rows, :]
        try:
            if subject.split and subject.sees != "all":
                want = subject((loud[0][..., kept, :], *subject.only(loud, kept)[1:]))
            else:
                want = subject(subject.only(loud, kept))
        except UnaskedError:
            return
        apart = per_row(got, want)
        if (apart > 100 * subject.close * scale_of(want)).any():
            row = int(apart.argmax())
            held = "" if times == 1 else ", of large numbers,"
            raise Broken(
                f"{n} tokens, keys {(~shown).nonzero().flatten().tolist()}{held} hidden: row "
                f"{int(rows[row])} "
                f"{few(got[..., row, :], want[..., row, :])}, which it is where they are cut out",
                **rows_of(loud, hidden),
            )


def _far_scores(subject: Subject) -> str:
    """Hide keys with a huge score beside a visible one with a score as low."""
    if not subject.softmax or callable(subject.sees):
        return ""
    n = subject.lengths(2, 3, 4)[0]
    shown = torch.arange(n) == 0
    hidden = shown[None] if subject.hides == "keys" else shown.expand(n, n)
    try:
        reader = reader_of(subject)
        root = reader.widths[0] ** 0.5
        first, last = reader.weights((-root * FAR, root * FAR), reader.widths[0], hidden)
    except UnaskedError:
        return ""
    if not abs(first - 1) < 1e-3 or not abs(last) < 1e-6:
        raise Broken(
            f"{n} tokens: key 0 alone is visible, its score is -3·10⁴, hidden ones have 3·10⁴; they weigh "
            f"{number(first)} and {number(last)}, which should be 1 and 0"
        )
    return "nor with a score of 3·10⁴ beside one of -3·10⁴"


def empty_row(subject: Subject) -> str:
    """Who may see nothing gets something finite that holds nothing of what is hidden; backward, too."""
    if subject.hides is None:
        raise UnaskedError("It takes no mask, so no row is empty")
    if subject.unmasked:
        raise UnaskedError(subject.unmasked)
    n, row = subject.lengths(3, 4, 5)[0], 1
    inputs = subject.draw(n, seed=2)
    if subject.hides == "keys":
        if not inputs[0].dim() > 2:
            raise UnaskedError("There is no batch, and so no second text without a key")
        hidden = torch.ones(inputs[0].shape[0], n, dtype=torch.bool)
        hidden[row] = False
        part, what = (lambda x: x[row]), "text 1, all of whose keys are hidden,"
    else:
        hidden = torch.ones(n, n, dtype=torch.bool)
        hidden[row] = False
        part, what = (lambda x: x[..., row : row + 1, :]), f"row {row}, which may see nothing,"
    leaves = tuple(x.clone().requires_grad_() for x in inputs)
    out = subject(leaves, hidden)
    made = part(out.detach())
    if not made.isfinite().all():
        kind = "NaN" if made.isnan().any() else "infinite"
        raise Broken(f"{n} tokens: {what} is {kind}", **rows_of(inputs, hidden))
    if not out.isfinite().all():
        raise Broken(f"{n} tokens: beside {what} others are not finite", **rows_of(inputs, hidden))
    told = _of_others(subject, inputs, hidden, part, row)
    if told:
        raise Broken(
            f"{n} tokens: {what} is {short(made)} and moves by {number(told)} with what it may not see",
            **rows_of(inputs, hidden),
        )
    if out.requires_grad:
        grads = torch.autograd.grad(out.sum(), leaves, allow_unused=True)
        for name, grad in zip(rows_of(inputs), grads, strict=True):
            if grad is not None and not grad.isfinite().all():
                raise Broken(
                    f"{n} tokens: backward, the gradient of {name} is NaN", **rows_of(inputs, hidden)
                )
    _empty_in_halves(subject, hidden, part, what)
    zero = not made.any()
    return f"an empty row is {'zero' if zero else 'finite'}, forward and backward"


def _empty_in_halves(subject: Subject, hidden: Tensor, part, what: str) -> None:
    for dtype, name in ((torch.bfloat16, "bfloat16"), (torch.float16, "float16")):
        half = subject.in_dtype(dtype)
        inputs = half.draw(hidden.shape[-1], seed=2)
        try:
            out = half(inputs, hidden)
        except UnaskedError:
            continue
        if not out.isfinite().all():
            raise Broken(f"in {name} {what} is {short(part(out.detach()))}", **rows_of(inputs, hidden))


def _of_others(subject: Subject, inputs: Inputs, hidden: Tensor, part, row: int) -> float:
    """Return by how much an empty row moves with keys it may not see: those of other tokens than its own."""
    before, most = part(subject(inputs, hidden).detach()), 0.0
    n = inputs[-1].shape[-2]
    for key in range(n):
        after = part(subject(subject.changed(inputs, key), hidden).detach())
        apart = (after - before).abs()
        if subject.hides == "keys":
            if not subject.split:
                apart[..., key, :] = 0  # it is the token itself that asks
        elif not subject.split and key == row:
            continue
        most = max(most, float(apart.nan_to_num(float("inf")).max()))
    return most if most > subject.close * scale_of(before) else 0.0


__all__ = ["empty_row", "leak"]
