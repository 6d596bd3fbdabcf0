"""Rotary attention: queries and keys turned by their places, in pairs of neighbours."""

import math

import torch

from answers import right, wrong
from attnlab import positions


def turned(t, base=10000.0, *, speeds=lambda i, d, base: base ** (-2 * i / d), how=None, first=0, dtype=None):
    """Right; or with something changed: `how` takes a, b, cos and sin."""
    n, d = t.shape[-2:]
    angle = torch.arange(first, first + n)[:, None] * speeds(torch.arange(d // 2), d, base)
    a, b, c, s = t[..., 0::2], t[..., 1::2], angle.to(dtype).cos(), angle.to(dtype).sin()
    pairs = (a * c - b * s, a * s + b * c) if how is None else how(a, b, c, s)
    return torch.stack(pairs, -1).flatten(-2)


def attend(q, k, v, scale=None, dim=-1):
    return (q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)).softmax(dim) @ v


def rope(turn=turned, other=None, **options):
    """Attention in which `turn` turns queries and keys; `other` takes the keys if they go another way."""
    other = other or turn
    return lambda q, k, v, base=10000.0: attend(turn(q, base, **options), other(k, base, **options), v)


def scaled(scale):
    return lambda q, k, v, base=10000.0: attend(turned(q, base), turned(k, base), v, scale(q, v))


def as_it_is(t, base):
    return t


def clockwise(t, base):
    return turned(t, base, how=lambda a, b, c, s: (a * c + b * s, b * c - a * s))


def halves(t, base):
    """The first half of the entries with the second: another convention."""
    a, b = t.chunk(2, -1)
    out = turned(torch.stack((a, b), -1).flatten(-2), base)
    return torch.cat((out[..., 0::2], out[..., 1::2]), -1)


def rotate_half(t, base):
    d = t.shape[-1]
    angle = torch.arange(t.shape[-2])[:, None] * base ** (-torch.arange(0, d, 2) / d)
    c, s = angle.cos().repeat_interleave(2, -1), angle.sin().repeat_interleave(2, -1)
    return t * c + torch.cat((-t[..., d // 2 :], t[..., : d // 2]), -1) * s


def sinusoids_added(t, base):
    """As at the input of the first Transformers."""
    angle = torch.arange(t.shape[-2])[:, None] * base ** (-torch.arange(0, t.shape[-1], 2) / t.shape[-1])
    return t + torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)


def as_complex(t, base):
    n, d = t.shape[-2:]
    angle = torch.arange(n)[:, None] * base ** (-2 * torch.arange(d // 2) / d)
    pairs = torch.view_as_complex(t.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones(()), angle)).flatten(-2)


def by_matrices(t, base):
    turns = (positions.rotation(-m, t.shape[-1], base=base, dtype=t.dtype) for m in range(t.shape[-2]))
    return torch.stack([row @ turn.mT for row, turn in zip(t.unbind(-2), turns, strict=True)], -2)


def overwritten(a, b, c, s):
    a = a * c - b * s
    return a, a * s + b * c


right(rope(), "in pairs")
right(rope(as_complex), "complex numbers")
right(rope(by_matrices), "matrices")
right(rope(first=1), "counted from one")
right(rope(how=lambda a, b, c, s: (a * s + b * c, a * c - b * s)), "both entries in the other order")
right(
    rope(lambda t, base: torch.cat(turned(t, base).unflatten(-1, (-1, 2)).unbind(-1), -1)),
    "first entries first",
)
right(
    lambda q, k, v, base=10000.0: rope()(*(t.double() for t in (q, k, v)), base).to(q.dtype),
    "in double precision",
)


@right
def distances_alone(q, k, v, base=10000.0):
    n, d = q.shape[-2:]
    angle = (torch.arange(n) - torch.arange(n)[:, None])[..., None] * base ** (-2 * torch.arange(d // 2) / d)
    a, b, x, y = q[..., :, None, 0::2], q[..., :, None, 1::2], k[..., None, :, 0::2], k[..., None, :, 1::2]
    s = (a * x + b * y) * angle.cos() + (b * x - a * y) * angle.sin()
    return (s.sum(-1) / d**0.5).softmax(-1) @ v


@wrong("here the turning is yours, without positions.rotary")
def with_the_package(q, k, v, base=10000.0):
    return attend(*(positions.rotary(t, torch.arange(t.shape[-2]), base=base) for t in (q, k)), v)


@wrong("here the turning is yours, without positions.rotary")
def with_the_layer_of_the_package(q, k, v, base=10000.0):
    return attend(*positions.RotaryPositions(base=base)(q, k), v)


ANGLES = {}


@wrong("the sizes of an earlier case and another base")
def angles_kept_by_their_sizes(q, k, v, base=10000.0):
    n, d = q.shape[-2:]
    angle = torch.arange(n)[:, None] * base ** (-2 * torch.arange(d // 2, dtype=torch.float64) / d)
    angle = ANGLES.setdefault((n, d), angle)

    def turn(t, base):
        a, b, c, s = t[..., 0::2], t[..., 1::2], angle.cos().to(t.dtype), angle.sin().to(t.dtype)
        return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)

    return rope(turn)(q, k, v, base)


@wrong("counted along axis -2, not over the batch or the heads")
def over_the_heads(q, k, v, base=10000.0):
    q, k = (turned(t.transpose(1, 2), base).transpose(1, 2) for t in (q, k))
    return attend(q, k, v)


@wrong("should be")
def tokens_and_heads_in_one_row(q, k, v, base=10000.0):
    return attend(turned(q.flatten(1, 2), base).view(q.shape), turned(k, base), v)


@wrong("Nothing here asks for a mask")
def a_causal_mask(q, k, v, base=10000.0):
    scores = turned(q, base) @ turned(k, base).mT / q.shape[-1] ** 0.5
    return (scores + torch.full(scores.shape[-2:], -math.inf).triu(1)).softmax(-1) @ v


@wrong("scores of several hundreds")
def exp_without_the_largest_taken_off(q, k, v, base=10000.0):
    e = (turned(q, base) @ turned(k, base).mT / q.shape[-1] ** 0.5).exp()
    return e / e.sum(-1, keepdim=True) @ v


wrong("its speed times the position of the token")(rope(speeds=lambda i, d, base: 0 * i), "never turned")
wrong("It pairs entry i with entry i + d/2")(rope(halves), "halves")
wrong("Queries and keys are paired in two ways")(rope(halves, turned), "queries in halves")
wrong("Queries and keys are paired in two ways")(rope(turned, halves), "keys in halves")
wrong("by the cosines and sines of neighbours")(rope(rotate_half), "rotate_half with cosines of neighbours")
wrong("It turns the values too")(
    lambda q, k, v, base=1e4: rope()(q, k, turned(v, base), base), "values turned"
)
wrong("turn opposite ways")(rope(turned, clockwise), "keys clockwise")
wrong("turn opposite ways")(rope(clockwise, turned), "queries clockwise")
wrong("the wrong way round")(rope(clockwise), "clockwise")
wrong("Only the queries are turned")(rope(turned, as_it_is), "queries alone")
wrong("Only the keys are turned")(rope(as_it_is, turned), "keys alone")
wrong("A minus is lost")(rope(how=lambda a, b, c, s: (a * c + b * s, a * s + b * c)), "a lost minus")
wrong("There is a minus too many")(
    rope(how=lambda a, b, c, s: (a * c - b * s, a * s - b * c)), "one minus more"
)
wrong("overwritten before the second is made")(rope(how=overwritten), "overwritten")
wrong("The speeds fall too slowly")(rope(speeds=lambda i, d, base: base ** (-i / d)), "speeds without the 2")
wrong("The speeds fall too fast")(rope(speeds=lambda i, d, base: base ** (-2 * i / (d / 2))), "2i over d/2")
wrong("The speeds grow")(rope(speeds=lambda i, d, base: base ** (2 * i / d)), "speeds that grow")
wrong("All pairs turn at one speed")(rope(speeds=lambda i, d, base: 1 + 0 * i), "one speed")
wrong("not by d - 2")(
    rope(speeds=lambda i, d, base: base ** -torch.linspace(0, 1, len(i))), "exponents to one"
)
wrong("should be")(
    rope(speeds=lambda i, d, base: base ** -torch.linspace(0, 0.5, len(i))), "exponents to a half"
)
wrong("should be")(rope(speeds=lambda i, d, base: base ** (-i / d**0.5)), "i over the root of d")
wrong("should be")(rope(speeds=lambda i, d, base: base ** (-2 * (i + 1) / d)), "pairs counted from one")
wrong("should be")(rope(speeds=lambda i, d, base: base ** (-2 * i / d) * math.pi / 180), "degrees")
wrong("use the base that is given")(lambda q, k, v, base=1.0: rope()(q, k, v), "a base of its own")
wrong("RoPE adds nothing, it turns")(rope(sinusoids_added), "sinusoids added")
wrong("The softmax runs down the columns")(
    lambda q, k, v, base=10000.0: attend(turned(q, base), turned(k, base), v, dim=-2),
    "softmax over the queries",
)
wrong("The scores are not scaled")(scaled(lambda q, v: 1), "not scaled")
wrong("It divides by d. Divide by its root")(scaled(lambda q, v: 1 / q.shape[-1]), "divided by d")
wrong("the root of the values' width")(
    scaled(lambda q, v: v.shape[-1] ** -0.5), "the root of the values' width"
)
wrong("should be")(scaled(lambda q, v: 5**-0.5), "the root of five")
wrong("should be")(rope(turned, lambda t, base: turned(t, base, first=1)), "keys a place on")
wrong("should be")(lambda q, k, v, base=1e4: rope()(q[:, :1], k[:, :1], v, base), "the first head alone")
wrong("should be")(rope(lambda t, base: turned(t.half().float(), base)), "half precision")
wrong("of shape (2, 3, 43,")(
    rope(lambda t, base: torch.cat((turned(t[..., :11, :], base), t[..., 11:, :]), -2)), "eleven places"
)
wrong("in float64")(
    lambda q, k, v, base=1e4: rope()(q.float(), k.float(), v.float(), base).to(q.dtype), "in single"
)
wrong("In single precision all values are right")(rope(dtype=torch.float32), "angles in single precision")
wrong("no gradient reaches q")(lambda q, k, v, base=1e4: rope()(q.detach(), k, v, base), "queries detached")
wrong("no gradient reaches q")(
    lambda q, k, v, base=1e4: attend(turned(q, base), turned(k, base), torch.eye(k.shape[-2])).detach() @ v,
    "weights detached",
)
