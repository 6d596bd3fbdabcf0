"""Find out how a function or a layer is called: what it takes, what its mask means, whom it sees."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.properties.subject import (
    KEYS,
    MANY,
    PAIRS,
    Polarity,
    Sees,
    Subject,
    UnaskedError,
    copied,
    parameters_of,
)

HEADS = 7
"""Heads of a function of q, k and v: no length is as large, so that no mask is read as theirs."""
D_HEAD = 4
WIDTHS = ("embed_dim", "d_model", "hidden_size", "embed_size", "dim", "n_embd")


def subject_of(
    layer: Any,
    call: Callable[..., Any] | None,
    *,
    d_model: int | None,
    d_head: int | None,
    group: int,
    sees: Sees | None,
    positions: bool | Callable[..., Any],
    unit: int,
) -> Subject:
    """Return what the properties ask.

    Raises:
        TypeError: the layer can't be called, or its arguments don't say how.
        ValueError: the width of its tokens is not told and can't be found.
    """
    if not callable(layer):
        raise TypeError(f"layer must be a function or an nn.Module, got {type(layer).__name__}")
    is_module = isinstance(layer, nn.Module)
    if is_module:
        layer = _copied(layer)
    if call is None:
        call, split, hides = _found_call(layer)
    else:
        split, hides = _said_by(call)
    width = d_model or (_width(layer) if is_module or not split else None)
    raw = split and width is None
    if not raw and width is None:
        raise ValueError("d_model must be given: the width of this layer's tokens can't be found")
    subject = Subject(
        layer,
        call,
        raw=raw,
        split=split,
        lead=(2, HEADS * group) if raw else (2,),
        width=width or D_HEAD,
        d_head=d_head,
        group=group,
        hides=hides,
        positions=positions,
        unit=unit,
    )
    subject = _in_its_dtype(_with_its_lead(subject) if raw and group == 1 else subject)
    return replace(subject, sees=_found_sight(subject) if sees is None else sees)


def _copied(layer: nn.Module) -> nn.Module:
    """Return a copy to work on, as it computes when nothing is trained."""
    try:
        return copied(layer).eval()
    except Exception:  # it holds what can't be copied: it stays as it is
        return layer


def _said_by(call: Callable[..., Any]) -> tuple[bool, Any]:
    """Read from a reader's own `call` what it takes: (layer, x), (layer, q, k, v), and a mask behind."""
    names = list(parameters_of(call))[1:]
    hides = {"mask": "pairs", "key_mask": "keys"}.get(names[-1] if names else "")
    count = len(names) - (hides is not None)
    if count not in (1, 3):
        raise TypeError(
            "call must be a function of (layer, x) or (layer, q, k, v), with mask or key_mask behind where "
            f"there is one; it is one of ({', '.join(parameters_of(call))})"
        )
    return count == 3, hides


def _found_call(layer: Any) -> tuple[Callable[..., Any], bool, Any]:
    """Return how a layer is called, by its signature: the call, whether it takes q, k and v, its mask."""
    if isinstance(layer, nn.MultiheadAttention):
        return _torchs(layer), True, "pairs"
    if layer is F.scaled_dot_product_attention:  # it has no signature
        return lambda f, q, k, v, mask: f(q, k, v, attn_mask=mask), True, "pairs"
    forward = layer.forward if isinstance(layer, nn.Module) else layer
    parameters = parameters_of(forward)
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    places = [one for one in parameters.values() if one.kind in by_place]
    needed = [one.name for one in places if one.default is inspect.Parameter.empty]
    names = [name for name in needed if name not in (*PAIRS, *KEYS)]
    mask = next((name for name in (*PAIRS, *KEYS) if name in parameters), None)
    hides = None if mask is None else "pairs" if mask in PAIRS else "keys"
    if len(names) not in (1, 3) or len(names) + (mask in needed) != len(needed):
        raise TypeError(
            f"layer takes ({', '.join(parameters)}): say how it is called, by call=lambda layer, q, k, v: … "
            "or call=lambda layer, x: …, with mask or key_mask behind where there is one"
        )

    def plainly(layer: Any, *inputs: Tensor) -> Any:
        return layer(*inputs)

    def with_mask(layer: Any, *inputs: Any) -> Any:
        *inputs, hidden = inputs
        if hidden is None and mask not in needed:
            return layer(*inputs)
        return layer(*inputs, **{mask: hidden})

    return plainly if mask is None else with_mask, len(names) == 3, hides


def _torchs(layer: nn.MultiheadAttention) -> Callable[..., Any]:
    def call(layer: nn.MultiheadAttention, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        if not layer.batch_first:
            q, k, v = (x.transpose(0, 1) for x in (q, k, v))
        out = layer(q, k, v, attn_mask=mask, need_weights=False)[0]
        return out if layer.batch_first else out.transpose(0, 1)

    return call


def _width(layer: Any) -> int | None:
    for name in WIDTHS:
        if isinstance(getattr(layer, name, None), int):
            return getattr(layer, name)
    linear = (
        [one for one in layer.modules() if isinstance(one, nn.Linear)] if isinstance(layer, nn.Module) else []
    )
    return linear[0].in_features if linear else None


def _with_its_lead(subject: Subject) -> Subject:
    """Try q, k and v with batch and heads, with a batch alone, and with neither."""
    for lead in ((2, HEADS), (2,), ()):
        one = replace(subject, lead=lead)
        for dtype in (torch.float64, torch.float32):
            asked = replace(one, dtype=dtype)
            try:
                asked(asked.draw(3 * subject.unit))
            except UnaskedError:
                continue
            return one
    return subject


def _in_its_dtype(subject: Subject) -> Subject:
    """In double precision where it can: what is not rounding shows."""
    for dtype in (torch.float64, torch.float32):
        try:
            one = subject.in_dtype(dtype)
            if one(one.draw(2 * subject.unit)).dtype != dtype:
                continue
            if dtype is torch.float64 and _rounds_inside(one):
                note = "it computes in single precision inside, so it is asked in that"
                return replace(subject.in_dtype(torch.float32), notes=(note,))
            return one
        except Exception:
            continue
    return replace(subject, dtype=torch.float32)


def _rounds_inside(subject: Subject) -> bool:
    """Say whether a step so small that its square is nothing shows any bend: that is rounding."""
    inputs, step = subject.draw(3 * subject.unit, seed=3), 1e-7
    ends = [
        subject(
            tuple(
                x + sign * step * y
                for x, y in zip(inputs, subject.draw(3 * subject.unit, seed=4), strict=True)
            )
        )
        for sign in (1, 0, -1)
    ]
    bend = (ends[0] - 2 * ends[1] + ends[2]).detach().abs().max()
    return bool(bend > 1e-10 * max(1.0, float(ends[1].detach().abs().max())))


def _found_sight(subject: Subject) -> Sees | None:
    """Ask who moves with whom: all with all, or each with those before it, on a longer text, too."""
    n = 4 * subject.unit
    try:
        moves, _ = subject.moved(subject.draw(n))
    except UnaskedError:
        return "all"
    apart = ~torch.eye(n, dtype=torch.bool)
    if moves[apart].all():
        return "all"
    if not (moves == moves.new_ones(n, n).tril())[apart].all():
        return None
    try:
        moves, _ = subject.moved(subject.draw(MANY * subject.unit))
    except UnaskedError:
        return "past"
    part = subject.of_the_past(moves)
    return None if part is not None and len(part) else "past"


SHAPES = {2: "(n, m)", 3: "(batch, n, m)", 4: "(batch, 1, n, m)", 1: "(batch, m)"}
"""The shapes in which a mask is tried, by dimensions; the last one is of keys."""
MEANT = {
    "hide": "its mask hides where it is True, the opposite of scaled_dot_product_attention",
    "add": "its mask is a number that is added",
}


def masked(subject: Subject, polarity: Polarity | None) -> Subject:
    """Find the shape and the meaning of a layer's mask; where it takes none of the shapes, none is asked.

    Args:
        subject: what is asked.
        polarity: what its mask means, where that was told.
    """
    if subject.hides is None:
        return replace(subject, polarity=polarity or "keep")
    tried = SHAPES if subject.hides == "pairs" else {1: SHAPES[1]}
    for laid, shape in tried.items():
        if laid != 2 and subject.hides == "pairs" and not subject.lead:
            continue
        one = replace(subject, laid=laid) if laid > 1 else replace(subject, hides="keys")
        ran = [replace(one, polarity=p) for p in ([polarity] if polarity else ("keep", "hide", "add"))]
        ran = [each for each in ran if _runs(each)]
        if not ran:
            continue
        one = ran[0] if polarity else next(filter(_fits, ran), ran[0])
        notes = [] if polarity or one.polarity == "keep" else [MEANT[one.polarity]]
        if laid > 2 or one.hides != subject.hides:
            notes.append(f"its mask is {shape}")
        return replace(one, notes=(*one.notes, *notes))
    shapes = " nor ".join(tried.values())
    return replace(
        subject,
        polarity=polarity or "keep",
        unmasked=f"It takes a mask, but not of shape {shapes}: say how it is called, by call=",
    )


def _runs(subject: Subject) -> bool:
    """Say whether it takes such a mask, at two lengths: one might happen to be the number of its heads."""
    try:
        for n in subject.lengths(3, 4, 5)[:2]:
            subject(subject.draw(n), subject.a_mask(n, seed=1))
    except UnaskedError:
        return False
    return True


def _fits(subject: Subject) -> bool:
    """Say whether it is moved by no key that such a mask hides, and by some that it shows."""
    n = subject.lengths(3, 4)[0]
    mask = subject.a_mask(n, seed=1)
    want, apart = subject.pairs(mask, n), ~torch.eye(n, dtype=torch.bool)
    if want is None:
        return False
    moves, _ = subject.moved(subject.draw(n), mask)
    return bool(not (moves & ~want)[apart].any() and (moves & want)[apart].any())
