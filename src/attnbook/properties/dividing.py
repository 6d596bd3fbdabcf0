"""Properties of parts: a text or a head alone, some of the queries, a prefix, a cache filled in pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from attnbook.checks.deadline import Endless
from attnbook.checks.running import said, surroundings
from attnbook.properties.subject import Subject, UnaskedError, first_tensor, per_row, scale_of
from attnbook.properties.wording import Broken, few, number, rows_of

Decode = Callable[[Any, Sequence[Any]], Sequence[Any]]


def batch(subject: Subject) -> str:
    """Each text of a batch, and each head, gets what it gets alone."""
    said_of = []
    for n in (2, 3, 5):
        n *= subject.unit
        if not subject.lead:
            break
        for texts in (2, 4):
            inputs = subject.draw(n, lead=(texts, *subject.lead[1:]), seed=n)
            mask = subject.a_mask(n)
            whole = subject(inputs, mask)
            for b in range(texts):
                got = subject(tuple(x[b : b + 1] for x in inputs), mask)
                _alike(whole[b : b + 1], got, subject, inputs, f"{n} tokens, {texts} texts: of text {b}")
        said_of = ["each text is as alone"]
    if said_of and subject.asks and _with_masks_of_their_own(subject):
        said_of.append("with a mask of its own too")
    if subject.raw and len(subject.lead) == 2:
        kept = 4 if subject.group == 1 else 2
        inputs = subject.draw(3 * subject.unit, lead=(2, kept * subject.group), seed=9)
        whole = subject(inputs)
        for h in range(kept):
            own = slice(h * subject.group, (h + 1) * subject.group)
            got = subject((inputs[0][:, own], *(x[:, h : h + 1] for x in inputs[1:])))
            of = f"of head {h}" if subject.group == 1 else f"of the heads that should read keys of head {h},"
            _alike(whole[:, own], got, subject, inputs, f"{kept * subject.group} heads: {of}")
        said_of.append(
            "each head too" if subject.group == 1 else f"{subject.group} heads side by side share keys"
        )
    if not said_of:
        raise UnaskedError("It takes one text at a time")
    return ", ".join(said_of)


def _with_masks_of_their_own(subject: Subject) -> bool:
    """Give each text a mask of its own, where that is taken; say whether it is."""
    n = subject.lengths(4, 5, 6)[0]
    inputs = subject.draw(n, lead=(2, *subject.lead[1:]), seed=5)
    own = [subject.a_mask(n, seed) for seed in (1, 2)]
    both = torch.cat(own) if subject.hides == "keys" else torch.stack(own)[:, None]
    try:
        whole = subject(inputs, both)
    except UnaskedError:
        return False
    for b in range(2):
        got = subject(tuple(x[b : b + 1] for x in inputs), own[b])
        _alike(whole[b : b + 1], got, subject, inputs, f"{n} tokens, a mask for each text: of text {b}")
    return True


def _alike(got: Tensor, want: Tensor, subject: Subject, inputs: tuple, of: str) -> None:
    apart = per_row(got, want)
    if (apart > 100 * subject.close * scale_of(want)).any():
        row = int(apart.argmax())
        raise Broken(
            f"{of} row {row} {few(got[..., row, :], want[..., row, :])}, which it is alone", **rows_of(inputs)
        )


def pieces(subject: Subject, decode: Decode | None = None) -> str:
    """Some of the queries, a prefix, or a cache filled in pieces: as in the whole."""
    told = []
    if subject.split:
        _each_query_alone(subject)
        told.append("each row answers its own query")
    if subject.split and subject.sees == "all":
        for n in (2, 3, 5):
            n *= subject.unit
            inputs = subject.draw(n, n + subject.unit, seed=n)
            whole = subject(inputs)
            for some in (slice(0, subject.unit), slice(subject.unit, None)):
                one = inputs[0][..., some, :]
                got = subject((one, *inputs[1:]))
                _parts_alike(got, whole[..., some, :], subject, inputs, f"{one.shape[-2]} of {n} queries")
        told.append("some of the queries get what all get")
    if subject.sees == "past":
        for n in (2, 3, 5):
            inputs = subject.draw(n * subject.unit, seed=n)
            whole = subject(inputs)
            for cut in range(subject.unit, n * subject.unit, subject.unit):
                got = subject(tuple(x[..., :cut, :] for x in inputs))
                of = f"{cut} of {n * subject.unit} tokens"
                _parts_alike(got, whole[..., :cut, :], subject, inputs, of)
        told.append("a beginning is as within the whole")
        if subject.split:
            _last_queries(subject, told)
    if decode is not None:
        _decoded(subject, decode)
        told.append("a cache filled in pieces is the whole")
    if not told:
        if subject.sees is None:
            raise UnaskedError("Whom it sees was not found: say sees=")
        raise UnaskedError("Everyone sees all: no part stands alone; for a cache say decode=")
    return ", ".join(told)


def _each_query_alone(subject: Subject) -> None:
    """Exchange one query: its row alone may move, and does."""
    for n in (2, 3, 5):
        n *= subject.unit
        inputs = subject.draw(n, seed=n)
        other = subject.draw(n, seed=n + 50)[0]
        before = subject(inputs)
        for i in range(n):
            q = inputs[0].clone()
            q[..., i, :] = other[..., i, :]
            sizes = per_row(subject((q, *inputs[1:])), before)
            moved = sizes > 100 * subject.close * scale_of(before)
            moved[i] = False
            if moved.any():
                row = int(moved.nonzero()[0])
                raise Broken(
                    f"{n} tokens: another query {i} moves row {row} by {number(float(sizes[row]))}",
                    **rows_of(inputs),
                )


def _parts_alike(got: Tensor, want: Tensor, subject: Subject, inputs: tuple, of: str) -> None:
    apart = per_row(got, want)
    if (apart > 100 * subject.close * scale_of(want)).any():
        row = int(apart.argmax())
        raise Broken(
            f"{of}: row {row} {few(got[..., row, :], want[..., row, :])}, which it is in the whole",
            **rows_of(inputs),
        )


def _last_queries(subject: Subject, told: list[str]) -> None:
    """Ask with the last queries alone: they should see all keys before them."""
    n, unit = 5 * subject.unit, subject.unit
    inputs = subject.draw(n, seed=1)
    for last in (unit, 2 * unit):
        try:
            got = subject((inputs[0][..., n - last :, :], *inputs[1:]))
        except UnaskedError:
            told.append("fewer queries than keys are refused")
            return
        want = subject(inputs)[..., n - last :, :]
        _parts_alike(got, want, subject, inputs, f"the last {last} of {n} queries, beside all keys")
    told.append("the last queries beside all keys, too")


def _decoded(subject: Subject, decode: Decode) -> None:
    for n, cuts in ((3, (1, 1, 1)), (6, (3, 1, 2)), (6, (1, 4, 1)), (12, (5, 1, 1, 5))):
        inputs = subject.draw(n * subject.unit, seed=n)
        sizes = [cut * subject.unit for cut in cuts]
        parts = list(zip(*(x.split(sizes, -2) for x in inputs), strict=True))
        try:
            with surroundings(0, subject.dtype), torch.no_grad():
                given = parts if subject.split else [x for (x,) in parts]
                outs = [first_tensor(out) for out in decode(subject.layer, given)]
        except (KeyboardInterrupt, Endless):
            raise
        except BaseException as error:
            raise UnaskedError(said(error, decode).rstrip(".").partition(", in the line")[0]) from error
        if [None if out is None else out.shape[-2] for out in outs] != sizes:
            raise UnaskedError("decode should return an output for each piece")
        of = f"pieces of {', '.join(map(str, sizes))} tokens"
        _parts_alike(torch.cat(outs, -2), subject(inputs), subject, inputs, of)


__all__ = ["batch", "pieces"]
