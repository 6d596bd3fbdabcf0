"""Properties of the weights: they make a mean, at one temperature, and do not look at places."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from attnbook.properties.reading import Opened, RawReader, reader_of
from attnbook.properties.subject import Inputs, Subject, UnaskedError, per_row, scale_of
from attnbook.properties.wording import Broken, few, number, rows_of, short


def weights(subject: Subject) -> str:
    """Each output is a mean of values: equal values come back, and no weight is negative."""
    for n in (2, 3, 5):
        n *= subject.unit
        for mask in (None, subject.a_mask(n)):
            inputs = subject.draw(n)
            if subject.split:
                inputs = (inputs[0], inputs[1], inputs[2][..., :1, :].expand_as(inputs[2]))
            else:
                inputs = (inputs[0][..., :1, :].expand_as(inputs[0]),)
            got = subject(inputs, mask)
            alone = tuple(x[..., : subject.unit, :] for x in inputs)
            want = inputs[2] if subject.raw else subject(alone)
            if subject.raw and subject.group > 1:
                want = want.repeat_interleave(subject.group, -3)
            want = want[..., :1, :].expand_as(got)
            _rows_alike(got, want, subject, inputs, mask)
    if subject.raw:
        _no_weight_is_negative(subject)
    return "equal values come back" + (", under a mask too" if subject.asks else "")


def _rows_alike(got: Tensor, want: Tensor, subject: Subject, inputs: Inputs, mask: Tensor | None) -> None:
    apart = per_row(got, want).where(subject.judged(mask, got.shape[-2]), 0.0)
    if (apart > 100 * subject.close * scale_of(want)).any():
        row = int(apart.argmax())
        size = few(got[..., row, :], want[..., row, :])
        under = " under a mask" if mask is not None else ""
        raise Broken(
            f"{inputs[-1].shape[-2]} equal values{under} should come back; in row {row} {size}",
            **rows_of(inputs, mask),
        )


def _no_weight_is_negative(subject: Subject) -> None:
    """Unit vectors for values: the output is the weights."""
    n = 3
    if n % subject.unit:
        return
    q, k, v = subject.draw(n, seed=3)
    v = torch.eye(n, v.shape[-1]).to(v).expand_as(v)
    weights = subject((q, 2 * k, v))[..., :n].detach().reshape(-1, n)
    row = int(weights.amin(-1).argmin())
    if weights[row].min() < -subject.close:
        raise Broken(f"a weight is negative: {short(weights[row])}", q=q, k=2 * k, v=v)


def definition(subject: Subject) -> str:
    """Weights are a softmax of scores that are divided by the root of the width of a head."""
    reader, seen = reader_of(subject), []
    for d in reader.widths:
        root, divisors = math.sqrt(d), []
        for lead in (1.0, 3.0):
            first, second = reader.weights((root * lead / 2, -root * lead / 2), d)
            if math.isfinite(first) and first > 0 and abs(first - second) < 1e-6 * first:
                raise Broken(
                    f"d_head = {d}: two keys get the same weight, {number(first)}, though their scores are "
                    f"{lead:.0f} apart"
                )
            if not (0 < first < math.inf and 0 < second < math.inf):
                raise UnaskedError(f"As weights of two keys one reads {number(first)} and {number(second)}")
            divisors.append(root * lead / math.log(first / second))
        if abs(divisors[0] - divisors[1]) > 0.01 * abs(divisors[0]):
            times = [math.exp(min(50.0, root * x / y)) for x, y in zip((1, 3), divisors, strict=True)]
            raise Broken(
                f"d_head = {d}: of keys whose scores lie 1 and 3 apart one should weigh 2.72 and 20.1 "
                f"times as much as the other; it is {number(times[0])} and {number(times[1])} times"
            )
        if abs(divisors[0] - root) > 0.01 * root:
            raise Broken(
                f"d_head = {d}: scores are divided by {number(divisors[0])}, √d_head is {number(root)}"
                + _guess(divisors[0], d, subject)
            )
        seen.append(number(root))
        _as_far_up_or_down(subject, reader, d)
    widths = ", ".join(map(str, reader.widths))
    return f"scores are divided by {', '.join(seen)} for d_head = {widths}; only their differences count"


def _as_far_up_or_down(subject: Subject, reader: RawReader | Opened, d: int) -> None:
    """Two keys whose scores lie 1 apart, wherever they lie."""
    want = math.e
    for middle in (300.0, -300.0, 3e4, -3e4):
        up, down = reader.weights((math.sqrt(d) * (middle + 1), math.sqrt(d) * middle), d)
        others = 2 * subject.unit - 1
        if not abs(up - want * down) < 0.02 or abs(up + others * down - 1) > 0.02:
            raise Broken(
                f"d_head = {d}: scores of {middle + 1:,.0f} and {middle:,.0f} should weigh as 1 and 0 do, "
                f"{number(want / (want + others))} and {number(1 / (want + others))}; they weigh "
                f"{number(up)} and {number(down)}"
            )


def _guess(divisor: float, d: int, subject: Subject) -> str:
    heads = subject.lead[-1] if subject.raw and len(subject.lead) == 2 else 0
    known = {
        "nothing is divided": 1.0,
        "that is d_head, without the root": float(d),
        "that is √d_model": math.sqrt(heads * d if subject.raw else subject.width),
        "it multiplies by the root": 1 / math.sqrt(d),
        "that is the root of the width of the values": math.sqrt(d + 3) if subject.raw else 0.0,
        "that is the root of the number of keys": math.sqrt(2 * subject.unit),
    }
    fitting = [words for words, value in known.items() if abs(divisor - value) < 0.01 * value]
    return f": {' or '.join(fitting)}" if fitting else ""


def order(subject: Subject) -> str:
    """Who stands where says nothing: keys change places with their values, queries among themselves."""
    if callable(subject.positions):
        return _only_distances_count(subject)
    if subject.positions:
        raise UnaskedError("It is told places: who stands where should count")
    if subject.sees not in ("all", "past"):
        raise UnaskedError("Whom it sees depends on places")
    whole = subject.sees == "all"
    for n in (2, 3, 5):
        n *= subject.unit
        inputs, mask = subject.draw(n), subject.a_mask(n) if whole and subject.asks == "pairs" else None
        if not subject.split and n == 2 and not whole:
            continue
        before = subject(inputs, mask)
        turn = torch.arange(n).roll(1)
        if subject.split:
            moved = (inputs[0], *(x[..., turn, :] for x in inputs[1:]))
            after = subject(moved, None if mask is None else mask[:, turn])
        else:
            # Where the past alone is seen, the last token sees all, and stays.
            turn = turn if whole else torch.cat((torch.arange(n - 1).roll(1), torch.tensor([n - 1])))
            moved = (inputs[0][..., turn, :],)
            mask = None if mask is None else mask[turn][:, turn]
            after, before = subject(moved, mask), before[..., turn, :]
        _same_rows(after, before, subject, inputs, whole, "keys change places with their values")
        if subject.split and whole:
            turned = subject((inputs[0][..., turn, :], *inputs[1:]), None if mask is None else mask[turn])
            want = subject(inputs, mask)[..., turn, :]
            _same_rows(turned, want, subject, inputs, whole, "queries change places")
    if subject.split:
        return "keys with their values may change places" + (
            ", and queries" if whole else " (asked of the last row)"
        )
    return "tokens may change places" + ("" if whole else " before the last one, which sees them all")


def _only_distances_count(subject: Subject) -> str:
    """Tell all tokens places that lie as much further on."""
    for n in (2, 5):
        inputs = subject.draw(n * subject.unit, seed=n)
        before = subject(inputs)
        for by in (1, 3000):

            def call(layer: Any, *given: Any, by: int = by) -> Any:
                return subject.positions(layer, by, *given)

            apart = per_row(replace(subject, call=call)(inputs), before)
            if (apart > 100 * subject.close * scale_of(before)).any():
                n, row, size = n * subject.unit, int(apart.argmax()), number(float(apart.max()))
                raise Broken(
                    f"{n} tokens: with all places {by:,} further on, row {row} moves by {size}",
                    **rows_of(inputs),
                )
    return "distances alone count: from place 1 or 3,000 on it gives the same"


def _same_rows(got: Tensor, want: Tensor, subject: Subject, inputs: Inputs, whole: bool, what: str) -> None:
    apart = per_row(got, want)
    apart = apart if whole else apart[-1:]
    if (apart > 100 * subject.close * scale_of(want)).any():
        row = int(apart.argmax()) if whole else got.shape[-2] - 1
        raise Broken(
            f"{inputs[0].shape[-2]} tokens: where {what}, row {row} "
            f"{few(got[..., row, :], want[..., row, :])}",
            **rows_of(inputs),
        )
