"""A softmax under a mask, with rows in which nothing is allowed, in every precision."""

import math

import numpy as np
import torch

from answers import right, wrong
from attnlab import scores

INF = math.inf


def softmax(s, m, **options):
    """The package's, which takes no mask that broadcasts."""
    return scores.softmax(s, m.expand(s.shape), **options)


def hidden(s, m):
    return s.masked_fill(~m, -INF)


def empty(m):
    return ~m.any(-1, keepdim=True)


def opened(s, m):
    """Empty rows are left as they are."""
    return s.masked_fill(~m & ~empty(m), -INF)


def filled(low, then=lambda p, m: p):
    """A number in the place of minus infinity."""
    return lambda s, m: then(s.masked_fill(~m, low(s.dtype) if callable(low) else low).softmax(-1), m)


def by_hand(less=lambda s: 0.0, more=0.0, least=0.0):
    """Exponentials, mask, sum."""

    def masked_softmax(s, m):
        e = m * (s - less(s)).exp()
        return e / (e.sum(-1, keepdim=True) + more).clamp_min(least)

    return masked_softmax


def shifted(s, m):
    """Exponentials of what is visible, the largest of it taken off."""
    largest = hidden(s, m).amax(-1, keepdim=True)
    return (hidden(s, m) - largest.masked_fill(largest == -INF, 0.0)).exp()


@right
def row_by_row(s, mask):
    mask = mask.expand(s.shape)
    out = torch.zeros_like(s)
    for place in np.ndindex(*s.shape[:-1]):
        if mask[place].any():
            out[place] = out[place].masked_scatter(mask[place], s[place][mask[place]].softmax(0))
    return out


@right
def torchs_attention_to_unit_vectors(s, m):
    eye = torch.eye(s.shape[-1], dtype=s.dtype).expand(*s.shape[:-2], -1, -1)
    return torch.nn.functional.scaled_dot_product_attention(
        s, eye, eye, attn_mask=m.expand(s.shape), scale=1.0
    )


@right
def where_for_where(s, m):
    weights = torch.where(m | empty(m), s, -INF).softmax(-1)
    return torch.where(empty(m), 0.0, weights).to(s.dtype)


right(lambda s, m: shifted(s, m) / shifted(s, m).sum(-1, keepdim=True).clamp_min(1e-4), "by hand")
right(lambda s, m: opened(s, m).softmax(-1).masked_fill(empty(m), 0.0), "empty rows open, then filled")
right(lambda s, m: opened(s, m).log_softmax(-1).exp().masked_fill(empty(m), 0.0), "exp of log_softmax")
right(
    lambda s, m: (s + torch.zeros_like(s).masked_fill(~m & ~empty(m), -INF)).softmax(-1) * m,
    "minus infinity added, empty rows open",
)
right(lambda s, m: hidden(s, m).softmax(-1).masked_fill(~m, 0.0), "NaN filled over on both sides")
right(lambda s, m: torch.where(m, hidden(s, m).softmax(-1), 0.0), "filled, then chosen by where")
right(lambda s, m: softmax(s.double(), m).to(s.dtype), "in double precision")

# When, and with what, to hide.
wrong("The mask comes after the softmax")(lambda s, m: s.softmax(-1).masked_fill(~m, 0), "masked after")
wrong("Of a row with a hidden score of 300 nothing is left")(
    lambda s, m: (p := m * s.softmax(-1)) / p.sum(-1, keepdim=True).clamp_min(1e-6), "divided again"
)
wrong("The mask makes no difference")(lambda s, m: torch.nn.functional.softmax(s, dim=-1), "nothing hidden")
wrong("The mask is inverted")(lambda s, m: opened(s, ~m).softmax(-1) * (~m).any(-1, keepdim=True), "inverted")
wrong("A score of 0 is not hidden")(lambda s, m: s.masked_fill(~m, 0.0).softmax(-1), "filled with 0")
wrong("-10,000 stands in for minus infinity")(filled(-10_000.0), "-10,000")
wrong("float16 has no number below -65,504")(filled(-1e9), "-1e9")
wrong("row 1 should be [0.0, 0.0, 0.0, 0.0], it is [0.25, 0.25, 0.25, 0.25]")(
    filled(lambda dtype: torch.finfo(dtype).min), "the lowest number"
)
wrong("visible scores may be as low")(
    filled(lambda dtype: torch.finfo(dtype).min, torch.mul), "the lowest number, and the mask after"
)
wrong("visible scores at the lowest number")(filled(-6e4, torch.mul), "-60,000, and the mask after")
wrong("visible scores of -1e38")(filled(-1e9, torch.mul), "-1e9, and the mask after")
wrong("visible scores of -1e38")(
    lambda s, m: filled(-1e9)(s.double(), m).masked_fill(empty(m), 0.0).to(s.dtype),
    "-1e9 in double precision",
)
wrong("visible scores of -1e38")(
    lambda s, m: ((s.double() + ~m * -1e9).softmax(-1) * m).to(s.dtype), "-1e9 added in double precision"
)
wrong("visible scores of -1e38")(
    filled(lambda dtype: -INF if dtype is torch.float16 else -1e30, lambda p, m: p.masked_fill(~m, 0.0)),
    "-1e30 where it is a number",
)
wrong("an empty row between two others")(lambda s, m: (s + ~m * -1e9).softmax(-1), "-1e9 added")

# Rows in which nothing is allowed.
wrong("A row with nothing allowed is NaN")(
    lambda s, m: (s + torch.where(m, 0.0, -INF).to(s.dtype)).softmax(-1), "empty rows are NaN"
)
wrong("a NaN was made inside and replaced later")(
    lambda s, m: (p := (s + torch.where(m, 0.0, -INF).to(s.dtype)).softmax(-1)).where(~p.isnan(), 0.0),
    "NaN replaced",
)
wrong("a NaN was made inside")(
    lambda s, m: (s + m.to(s.dtype).log()).softmax(-1).masked_fill(empty(m), 0.0),
    "the mask's logarithm added",
)
wrong("a NaN was made inside")(
    lambda s, m: torch.where(m, (s + torch.zeros_like(s).masked_fill(~m, -INF)).softmax(-1), 0.0),
    "added, then chosen by where",
)
wrong("Rows with nothing allowed were opened")(
    lambda s, m: hidden(s, m | empty(m)).softmax(-1), "empty rows left open"
)
wrong("an empty row")(lambda s, m: softmax(s, m) + empty(m), "empty rows one")

# Exponentials by hand.
wrong("The exponential of a score beyond 88")(by_hand(), "the equation as it stands")
wrong("The exponential of a score beyond 88")(by_hand(more=1e-9), "the equation, 1e-9 in the denominator")
wrong("1e-9 is 0 in float16")(
    lambda s, m: shifted(s, m) / (shifted(s, m).sum(-1, keepdim=True) + 1e-9), "1e-9 in the denominator"
)
wrong("a hidden score of 300")(by_hand(lambda s: s.max(), least=1e-30), "less the largest of all")
wrong("visible scores of 300 and 301")(by_hand(lambda s: s - s.clamp(-50, 50), least=1e-30), "clamped")
wrong("The logarithm of the sum is rounded")(
    lambda s, m: (hidden(s, m) - hidden(s, m).logsumexp(-1, keepdim=True)).exp().masked_fill(empty(m), 0.0),
    "less the logarithm of the sum",
)
wrong("should be")(
    lambda s, m: hidden(s, m).exp() / hidden(s, m).exp().sum((-2, -1), keepdim=True).clamp_min(1e-30),
    "over all rows together",
)


@wrong("in bfloat16: it raised KeyError")
def no_bfloat16(s, m):
    least = {torch.float64: -1e308, torch.float32: -3e38, torch.float16: -65504.0}[s.dtype]
    e = (hidden(s, m) - hidden(s, m).amax(-1, keepdim=True).clamp_min(least)).exp()
    total = e.sum(-1, keepdim=True)
    return e / total.where(total > 0, 1.0)


wrong("In single precision all values are right")(lambda s, m: softmax(s.float(), m), "single precision kept")
wrong("should be")(lambda s, m: softmax(s.half(), m).to(s.dtype), "through half precision")

# Shapes, axes, gradients.
wrong("down the columns")(lambda s, m: softmax(s, m, dim=-2), "down the columns")
wrong("should be")(lambda s, m: softmax(2 * s, m), "doubled")
wrong("should")(
    lambda s, m: softmax(s, m.expand(s.shape).reshape(-1, *s.shape[-2:])[0]), "one mask for the whole batch"
)
wrong("one row of a mask for all queries")(
    lambda s, m: softmax(s, m if m.shape == s.shape else m.squeeze()), "one dimension squeezed"
)


@wrong("shape (4,): it raised AssertionError: a table")
def tables_alone(s, m):
    assert m.dim() > 1, "a table"
    return where_for_where(s, m)


@wrong("shape (3, 1): it raised AssertionError: a column")
def a_column_for_each_key(s, m):
    assert m.shape[-1] == s.shape[-1], "a column for each key"
    return where_for_where(s, m)


@wrong("IndexError")
def a_mask_of_the_same_shape(s, m):
    s = s.clone()
    s[~m] = -INF
    return s.softmax(-1)


@wrong("it changed its argument scores in place")
def hidden_in_place(s, m):
    s.masked_fill_(~m & ~empty(m), -INF)
    return s.softmax(-1).masked_fill(empty(m), 0.0)


wrong("no gradient reaches scores")(lambda s, m: softmax(s.detach(), m), "detached")
wrong("no gradient reaches scores")(
    lambda s, m: torch.tensor(softmax(s.detach(), m).numpy(force=True)), "by NumPy"
)
