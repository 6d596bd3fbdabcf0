"""Ten properties, asked of anybody's attention."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from torch import nn

from attnbook.checks.deadline import Endless, within
from attnbook.checks.running import kept
from attnbook.properties.calling import masked, subject_of
from attnbook.properties.computing import gradient, precision, second_call
from attnbook.properties.dividing import Decode, batch, pieces
from attnbook.properties.findings import Finding, Findings
from attnbook.properties.hiding import empty_row, leak
from attnbook.properties.subject import Polarity, Sees, Subject, UnaskedError
from attnbook.properties.weighing import definition, order, weights
from attnbook.properties.wording import Broken

PROPERTIES: dict[str, str] = {
    "definition": "Weights are a softmax of scores that are divided by the root of the width of a head.",
    "weights": "An output is a mean of values: equal values come back, and no weight is negative.",
    "order": "Who stands where says nothing; where places are told, distances alone, if that is promised.",
    "batch": "Each text of a batch, and each head, gets what it gets alone.",
    "leak": "What is hidden changes nothing, whatever it holds, as if it were cut out; what is shown counts.",
    "empty row": "Who may see nothing gets something finite and nothing of what is hidden; backward, too.",
    "gradient": "Slopes are those of finite differences, for every input and every weight.",
    "precision": "Large scores, and half precision, come near to what double precision gives.",
    "second call": "A second call, or one without gradients, gives the same; arguments stay as they were.",
    "pieces": "Each query, a beginning, a cache filled in pieces: as in the whole.",
}
"""The ten properties by name, and what each says."""


@kept()
def battery(
    layer: Any,
    call: Callable[..., Any] | None = None,
    *,
    d_model: int | None = None,
    d_head: int | None = None,
    group: int = 1,
    polarity: Polarity | None = None,
    sees: Sees | None = None,
    positions: bool | Callable[..., Any] = False,
    decode: Decode | None = None,
    not_meant: Collection[str] = (),
    unit: int = 1,
    seconds: float = 20.0,
    name: str = "",
) -> Findings:
    """Ask ten properties of any attention: which hold, which do not and where, and which could not be asked.

    It asks by calling, and knows nothing of the code; only to read the weights of a layer it looks for the
    projections to q, k and v, by the names that they usually have. A module is copied first and put into eval
    mode. That a property holds means that nothing against it was seen, on up to twelve tokens and on 320.

    Args:
        layer: a function of (q, k, v), each (batch, heads, n, d), or with fewer dimensions in front; or an
            `nn.Module` whose tokens are (batch, n, d_model), given as x alone or as q, k and v. A parameter
            called mask, attn_mask or the like takes a mask of pairs, tried as (n_q, n_k), (batch, n_q, n_k)
            and (batch, 1, n_q, n_k), or else one of keys; one called key_mask, key_padding_mask or the like
            takes one of keys (batch, n_k). Where none of these runs, nothing is asked that needs a mask.
        call: how it is called, where its own signature does not say so: a function of (layer, x) or (layer,
            q, k, v), with `mask` or `key_mask` as the last parameter where there is one, which is None where
            nothing is hidden.
        d_model: the width of tokens; found where a module has an attribute or a linear map that says it.
        d_head: the width of a layer's heads; found where an attribute says it, or how many heads there are.
        group: how many query heads share a key-value head, for a function.
        polarity: what the mask means: "keep" (boolean, True = may attend), "hide" (boolean, True = hidden) or
            "add" (added to the scores). Found out unless given; give it where the layer may be in the wrong.
        sees: whom a token sees without a mask: "all", "past" (itself and those before), or a function of n
            that returns a mask (n, n), as for a window. Found out unless given, where it is "all" or "past".
        positions: it is told where tokens stand, so that order counts. Where distances alone should count, a
            function that calls it with all places further on: of (layer, by how much, x) or (layer, by how
            much, q, k, v), with the mask behind as for `call`.
        decode: for what has a cache: takes the layer and a list of pieces, (batch, n_i, d_model) each, or
            tuples of q, k and v, and returns the output of each.
        not_meant: the properties that it does not promise, by name; they are not asked.
        unit: lengths are multiples of this.
        seconds: of computing that one property may take.
        name: what the table calls it; the layer's own name unless given.

    Returns:
        A finding for each of the ten, in the order of `PROPERTIES`. What the layer raises is not raised here.

    Raises:
        TypeError: the layer can't be called, or neither its signature nor `call` says how.
        ValueError: `not_meant` names no property, or the width of tokens can't be found.

    References:
        Claessen and Hughes 2000 (properties in the place of examples).

    >>> from torch.nn.functional import scaled_dot_product_attention
    >>> battery(scaled_dot_product_attention).broken
    ()
    >>> battery(lambda q, k, v: (q @ k.mT).softmax(-1) @ v, name="no scale")["definition"].text
    'd_head = 4: scores are divided by 1, √d_head is 2: nothing is divided'
    """
    unknown = set(not_meant) - PROPERTIES.keys()
    if unknown:
        raise ValueError(f"not_meant must name properties, of {', '.join(PROPERTIES)}; got {sorted(unknown)}")
    told = {"d_model": d_model, "d_head": d_head, "group": group, "sees": sees}
    told |= {"positions": positions, "unit": unit}
    name = name or _name_of(layer)
    try:
        subject = within(seconds, lambda: subject_of(layer, call, **told))
    except Endless:
        slow = f"It took longer than {seconds:.0f} seconds of computing to find out how it is called"
        return Findings(name, [Finding(key, "could not ask", slow) for key in PROPERTIES])
    try:
        subject = within(seconds, lambda: masked(subject, polarity))
    except Endless:
        slow = f"It took longer than {seconds:.0f} seconds of computing under a mask"
        subject = replace(subject, unmasked=slow)
    subject = replace(subject, softmax="definition" not in not_meant)
    asked: dict[str, Callable[[Subject], str]] = {
        "definition": definition,
        "weights": weights,
        "order": order,
        "batch": batch,
        "leak": leak,
        "empty row": empty_row,
        "gradient": gradient,
        "precision": precision,
        "second call": second_call,
        "pieces": lambda one: pieces(one, decode),
    }
    rows = [
        Finding(key, "could not ask", "Not meant here")
        if key in not_meant
        else _asked(key, ask, subject, seconds)
        for key, ask in asked.items()
    ]
    return Findings(name, rows, subject.notes)


def _asked(key: str, ask: Callable[[Subject], str], subject: Subject, seconds: float) -> Finding:
    try:
        text = within(seconds, lambda: ask(subject))
    except Broken as broken:
        return Finding(key, "does not hold", broken.text, broken.example)
    except UnaskedError as error:
        return Finding(key, "could not ask", str(error))
    except Endless:
        return Finding(key, "could not ask", f"It took longer than {seconds:.0f} seconds of computing")
    except (RuntimeError, ValueError, TypeError, IndexError) as error:  # what comes back is of no known form
        first = (str(error).strip().splitlines() or [""])[0]
        return Finding(key, "could not ask", f"What it returned can't be judged: {first[:120]}")
    return Finding(key, "holds", text)


def _name_of(layer: Any) -> str:
    if isinstance(layer, nn.Module):
        return type(layer).__name__
    found = getattr(layer, "__name__", type(layer).__name__)
    return "a function" if found == "<lambda>" else found


__all__ = ["PROPERTIES", "battery"]
