"""Properties of how it is computed: large numbers, half precision, slopes, and once more."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnbook.properties.subject import Inputs, Subject, UnaskedError, per_row, scale_of
from attnbook.properties.wording import Broken, few, number, rows_of, two

LONG = 320
"""Tokens over which sums run in half precision."""
HALVES = {torch.bfloat16: "bfloat16", torch.float16: "float16"}


def precision(subject: Subject) -> str:
    """Scores of hundreds and half precision come near to what double precision gives."""
    told = [_large(subject)]
    tried = [name for dtype, name in HALVES.items() if _half(subject, dtype, name)]
    if tried:
        told.append(f"{' and '.join(tried)} as near as rounding allows, over {LONG} tokens too")
    if "float16" in tried and subject.raw and _large_products(subject.in_dtype(torch.float16)):
        told.append("and where q·k exceeds 65,504")
    return ", ".join(told)


def _exactly(subject: Subject, inputs: Inputs, mask: Tensor | None) -> Tensor:
    """Compute the same numbers, and the same weights, in double precision."""
    other = subject.in_dtype(torch.float64)
    return other(tuple(x.double() for x in inputs), mask)


def _large(subject: Subject) -> str:
    single = subject.in_dtype(torch.float32)
    for n in (2, 3, 5):
        for size in (10.0, 30.0) if subject.split else (10.0, 30.0, 100.0):
            inputs = single.draw(n * subject.unit, seed=n)
            # Values stay as they are, so that what is compared is the weights.
            inputs = (size * inputs[0], size * inputs[1], inputs[2]) if subject.split else (size * inputs[0],)
            got = single(inputs)
            if not got.isfinite().all():
                raise Broken(
                    f"{n * subject.unit} tokens, {size:.0f} times as large, in float32: it is not finite",
                    **rows_of(inputs),
                )
            if subject.dtype is not torch.float64:
                continue
            want = _exactly(single, inputs, None)
            apart = per_row(got, want)
            if (apart > 0.02 * scale_of(want)).any():
                row = int(apart.argmax())
                raise Broken(
                    f"{n * subject.unit} tokens, {size:.0f} times as large, in float32: row {row} "
                    f"{few(got[..., row, :], want[..., row, :])}, which it is in float64",
                    **rows_of(inputs),
                )
    return "large scores stay finite" + (" and right" if subject.dtype is torch.float64 else "")


def _half(subject: Subject, dtype: torch.dtype, name: str) -> bool:
    """Ask in half precision; False where the layer does not run in it at all."""
    half = subject.in_dtype(dtype)
    eps = torch.finfo(dtype).eps
    for n in (3, 5):
        inputs = half.draw(n * subject.unit, seed=n)
        try:
            half(inputs)
        except UnaskedError as error:
            if "overflow" in str(error):
                raise Broken(f"{n * subject.unit} tokens in {name}: {error}", **rows_of(inputs)) from None
            return False
        for mask in (None, subject.a_mask(n * subject.unit)):
            try:
                got = half(inputs, mask)
            except UnaskedError as error:
                if "overflow" in str(error):
                    raise Broken(
                        f"{n * subject.unit} tokens under a mask in {name}: {error}", **rows_of(inputs, mask)
                    ) from None
                continue
            _near(got, half, inputs, mask, 32 * eps, name)
    _near_over_many(half, 16 * eps, name)
    return True


def _near(got: Tensor, half: Subject, inputs: Inputs, mask: Tensor | None, within: float, name: str) -> None:
    n = inputs[0].shape[-2]
    if got.dtype != half.dtype:
        kind = str(got.dtype).removeprefix("torch.")
        under = "" if mask is None else " under a mask"
        raise Broken(f"inputs in {name}{under} give an output in {kind}", **rows_of(inputs, mask))
    try:
        want = _exactly(half, inputs, mask)
    except UnaskedError:
        return
    apart = per_row(got, want)
    if (apart > within * scale_of(want)).any():
        row = int(apart.argmax())
        raise Broken(
            f"{n} tokens in {name}{'' if mask is None else ' under a mask'}: row {row} "
            f"{few(got[..., row, :], want[..., row, :])}, which it is in float64",
            **rows_of(inputs, mask),
        )


def _near_over_many(half: Subject, within: float, name: str) -> None:
    """Take a mean of many equal weights: a sum kept in half precision stops growing."""
    n = LONG - LONG % half.unit
    tokens = half.draw(half.unit, seed=1)
    if half.split:
        inputs = tuple(torch.full((*x.shape[:-2], n, x.shape[-1]), 0.5, dtype=x.dtype) for x in tokens)
        inputs[2][..., : n // 2, :], inputs[2][..., n // 2 :, :] = 1.0, 0.0
    else:
        first = tokens[0][..., :1, :].repeat_interleave(n // 2, -2)
        inputs = (
            torch.cat(
                (first, 0.5 * first.roll(1, -1)[..., :1, :].expand(*first.shape[:-2], n - n // 2, -1)), -2
            ),
        )
    try:
        got = half(inputs)
    except UnaskedError:
        return
    _near(got, half, inputs, None, within, name)


def _large_products(half: Subject) -> bool:
    """Ask with numbers that half precision holds, and products and sums that it does not.

    Scores lie far apart or are equal, so that it does not matter how they are rounded. False where it takes
    none of these sizes.
    """
    n = LONG - LONG % half.unit
    for width in (64, half.width):
        q, k, v = half.draw(n, width=width, seed=2)
        q, k = torch.full_like(q, 320 / width), torch.full_like(k, 300.0)
        k[..., 1, :] = 400.0  # q·k is 96,000, and 128,000 for this key
        try:
            got = half((q, k, v))
        except UnaskedError:
            continue
        _near(got, half, (q, k, v), None, 32 * torch.finfo(q.dtype).eps, "float16, where q·k exceeds 65,504")
        return True
    return False


def gradient(subject: Subject) -> str:
    """The slope of every input and every weight is the one that finite differences give."""
    n = subject.lengths(3, 4, 5)[0]
    mask, inputs = subject.a_mask(n), subject.draw(n, seed=4)
    if not subject.split and subject.sees != "all":
        mask = None
    leaves = {name: x.clone().requires_grad_() for name, x in rows_of(inputs).items()}
    weights = _weights(subject)
    out = subject.plain(tuple(x * 1.0 for x in leaves.values()), mask)
    draw = torch.Generator().manual_seed(1)
    g = torch.randn(out.shape, generator=draw, dtype=torch.float64).to(out.dtype)
    every = leaves | weights
    if out.requires_grad:
        try:
            (out * g).sum().backward()
        except RuntimeError as error:
            first = str(error).splitlines()[0][:120]
            raise Broken(f"backward raises {first}", **rows_of(inputs, mask)) from None
    for name, leaf in every.items():
        _slope_is_right(subject, inputs, mask, g, name, leaf, draw)
    others = f" and of {len(weights)} weights" if weights else ""
    return f"the slopes of {', '.join(leaves)}{others} are those of finite differences"


def _weights(subject: Subject) -> dict[str, Tensor]:
    if not isinstance(subject.layer, nn.Module):
        return {}
    return {
        name: w for name, w in subject.layer.named_parameters() if w.requires_grad and w.is_floating_point()
    }


def _slope_is_right(
    subject: Subject, inputs: Inputs, mask: Tensor | None, g: Tensor, name: str, leaf: Tensor,
    draw: torch.Generator,
) -> None:  # fmt: skip
    slope, leaf.grad = leaf.grad, None
    step, within = (1e-5, 1e-3) if subject.dtype is torch.float64 else (1e-2, 0.1)
    way = torch.randn(leaf.shape, generator=draw, dtype=torch.float64).to(leaf.dtype)
    ends = []
    for sign in (1, -1):
        moved = dict(rows_of(inputs))
        if name in moved:
            moved[name] = moved[name] + sign * step * way
            out = subject(tuple(moved.values()), mask)
        else:
            kept = leaf.data.clone()
            try:
                leaf.data.add_(sign * step * way)
                out = subject(inputs, mask)
            finally:
                leaf.data.copy_(kept)
        ends.append(float((out.detach().double() * g.double()).sum()))
    want = (ends[0] - ends[1]) / (2 * step)
    size = scale_of(torch.tensor([want]))
    if slope is None:
        if abs(want) > within * size:
            raise Broken(
                f"no gradient reaches {name}; finite differences along one way give {number(want)}",
                **rows_of(inputs, mask),
            )
        return
    got = float((slope.double() * way.double()).sum())
    if not abs(got - want) <= within * max(size, abs(got)):
        raise Broken(
            "along one way the slope of {} is {}; finite differences give {}".format(name, *two(got, want)),
            **rows_of(inputs, mask),
        )


def second_call(subject: Subject) -> str:
    """A second call gives the same, so does one without gradients, and arguments stay as they were."""
    n = subject.lengths(3, 4, 5)[0]
    one, other = subject.draw(n, seed=6), subject.draw(n, seed=8)
    for mask in (None, subject.a_mask(n)) if subject.asks else (None,):
        under = "" if mask is None else " under a mask"
        given = tuple(x.clone() for x in one)
        kept = None if mask is None else mask.clone()
        first = subject.plain(given, kept, seed=0).detach().clone()
        for name, before, after in zip(rows_of(one), one, given, strict=True):
            if not torch.equal(before, after):
                raise Broken(
                    f"{n} tokens{under}: {name} is changed in place, from "
                    f"{number(float(before.flatten()[_first_apart(before, after)]))} to "
                    f"{number(float(after.flatten()[_first_apart(before, after)]))}",
                    **rows_of(one, mask),
                )
        if kept is not None and not torch.equal(kept, mask):
            raise Broken(f"{n} tokens: the mask is changed in place", **rows_of(one, mask))
        another = subject.plain(tuple(x.clone() for x in other), mask, seed=1).detach()
        if torch.equal(another, first):
            raise Broken(f"{n} tokens{under}: other numbers give the same output", **rows_of(one, mask))
        second = subject.plain(tuple(x.clone() for x in one), mask, seed=2).detach()
        _the_same(second, first, subject, one, mask, f"{n} tokens{under}, called again")
        ungraded = subject.plain(tuple(x.clone() for x in one), mask, graded=False, seed=0)
        _the_same(ungraded, first, subject, one, mask, f"{n} tokens{under}, without gradients")
    return "called again, and without gradients, it gives the same; its arguments stay as they were"


def _first_apart(a: Tensor, b: Tensor) -> int:
    return int((a != b).flatten().nonzero()[0])


def _the_same(
    got: Tensor, want: Tensor, subject: Subject, inputs: Inputs, mask: Tensor | None, of: str
) -> None:
    apart = per_row(got, want)
    if (apart > 100 * subject.close * scale_of(want)).any():
        row = int(apart.argmax())
        raise Broken(
            f"{of}: row {row} {few(got[..., row, :], want[..., row, :])}, which it was at first",
            **rows_of(inputs, mask),
        )


__all__ = ["gradient", "precision", "second_call"]
