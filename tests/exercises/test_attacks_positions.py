"""Answers to the exercises on positions that readers tried, or that fooled an earlier checker."""

import itertools
import math

import numpy as np
import pytest
import torch

from attnlab import positions


def table(n, d, base=10000.0, speeds=None):
    pair = torch.arange(d // 2)
    angle = torch.arange(n)[:, None] * (base ** (-2 * pair / d) if speeds is None else speeds(pair, d))
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)


def five_rows(x, base=10000.0):
    rows = table(5, x.shape[-1], base)
    return x + torch.cat((rows, rows[-1:].expand(max(x.shape[1] - 5, 0), -1)))[: x.shape[1]]


def another_default(x, base=10.0):
    return x + table(*x.shape[1:], base)


def entry_by_entry(x, base=10000.0):
    out = x.clone()
    for p, i in itertools.product(range(x.shape[1]), range(x.shape[2])):
        angle = p / base ** ((i - i % 2) / x.shape[2])
        out[:, p, i] = out[:, p, i] + (math.cos(angle) if i % 2 else math.sin(angle))
    return out


def by_numpy(x, base=10000.0):
    n, d = x.shape[1:]
    angle = np.arange(n)[:, None] / np.power(base, np.arange(0, d, 2) / d)
    return x + torch.from_numpy(np.stack((np.sin(angle), np.cos(angle)), -1).reshape(n, d))


def first_sentence(x, base=10000.0):
    return torch.cat((x[:1] + table(*x.shape[1:], base), x[1:]))


def last_row_left(x, base=10000.0):
    return torch.cat(((x + table(*x.shape[1:], base))[:, :-1], x[:, -1:]), 1)


SINUSOIDS = [
    ("another default", "wrong", "the base left out", another_default),
    ("five rows", "wrong", "should be", five_rows),
    ("the first sentence alone", "wrong", "Only the first sentence of the batch", first_sentence),
    ("its last token left", "wrong", "should be", last_row_left),
    ("detached", "wrong", "no gradient reaches x", lambda x, base=10000.0: x.detach() + table(*x.shape[1:], base)),
    ("the mean of both", "wrong", "should be", lambda x, base=10000.0: (x + table(*x.shape[1:], base)) / 2),
    ("without a base", "wrong", "it is called with (x, base)", lambda x: x + table(*x.shape[1:])),
    ("speeds by d - 2", "wrong", "should be", lambda x, base=10000.0: x + table(*x.shape[1:], speeds=lambda i, d: base ** (-2 * i / max(d - 2, 1)))),
    ("positions from -1", "wrong", "should be", lambda x, base=10000.0: x + table(x.shape[1] + 1, x.shape[2], base).roll(1, 0)[:-1]),
    ("in place", "wrong", "it changed its argument x in place", lambda x, base=10000.0: x.add_(table(*x.shape[1:], base))),
    ("half as large", "wrong", "should be", lambda x, base=10000.0: x + 0.5 * table(*x.shape[1:], base)),
    ("the package", "right", "", lambda x, base=10000.0: x + positions.sinusoidal(*x.shape[1:], base=base)),
    ("entry by entry", "right", "", entry_by_entry),
    ("NumPy inside", "right", "", by_numpy),
    ("two assignments", "right", "",
     lambda x, base=10000.0: x + torch.zeros(x.shape[1:]).index_copy(1, torch.arange(0, x.shape[2], 2), table(*x.shape[1:], base)[:, 0::2])
     .index_copy(1, torch.arange(1, x.shape[2], 2), table(*x.shape[1:], base)[:, 1::2])),
    ("exp of logarithms", "right", "",
     lambda x, base=10000.0: x + table(*x.shape[1:], speeds=lambda i, d: torch.exp(-2 * i / d * math.log(base)))),
]  # fmt: skip


def turned(t, base=10000.0, speeds=None, how=None):
    n, d = t.shape[-2:]
    pair = torch.arange(d // 2)
    angle = torch.arange(n)[:, None] * (base ** (-2 * pair / d) if speeds is None else speeds(pair, d, base))
    a, b, c, s = t[..., 0::2], t[..., 1::2], angle.cos(), angle.sin()
    pairs = (a * c - b * s, a * s + b * c) if how is None else how(a, b, c, s)
    return torch.stack(pairs, -1).flatten(-2)


def attend(q, k, v, scale=None):
    return (q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)).softmax(-1) @ v


def rope(turn=turned, **options):
    return lambda q, k, v, base=10000.0: attend(turn(q, base, **options), turn(k, base, **options), v)


def overwritten(a, b, c, s):
    a = a * c - b * s
    return a, a * s + b * c


def rotate_half(t, base):
    n, d = t.shape[-2:]
    angle = torch.arange(n)[:, None] * base ** (-2 * torch.arange(d // 2) / d)
    c, s = angle.cos().repeat_interleave(2, -1), angle.sin().repeat_interleave(2, -1)
    a, b = t.chunk(2, -1)
    return t * c + torch.cat((-b, a), -1) * s


def as_complex(t, base):
    n, d = t.shape[-2:]
    angle = torch.arange(n)[:, None] * base ** (-2 * torch.arange(d // 2) / d)
    return torch.view_as_real(
        torch.view_as_complex(t.unflatten(-1, (-1, 2)).contiguous()) * torch.polar(torch.ones(()), angle)
    ).flatten(-2)


def by_matrices(t, base):
    rows = [
        t[..., m, :] @ positions.rotation(-m, t.shape[-1], base=base, dtype=t.dtype).mT
        for m in range(t.shape[-2])
    ]
    return torch.stack(rows, -2)


def relative(q, k, v, base=10000.0):
    """The score of each pair from its distance alone."""
    n, d = q.shape[-2:]
    angle = (torch.arange(n) - torch.arange(n)[:, None])[..., None] * base ** (-2 * torch.arange(d // 2) / d)
    a, b, x, y = q[..., :, None, 0::2], q[..., :, None, 1::2], k[..., None, :, 0::2], k[..., None, :, 1::2]
    s = (a * x + b * y) * angle.cos() + (b * x - a * y) * angle.sin()
    return (s.sum(-1) / d**0.5).softmax(-1) @ v


ROPES = [
    ("the package", "wrong", "here the turning is yours, without positions.rotary", rope(lambda t, base: positions.rotary(t, torch.arange(t.shape[-2]), base=base))),
    ("i over the root of d", "wrong", "should be", rope(speeds=lambda i, d, base: base ** (-i / d**0.5))),
    ("i over d - 2", "wrong", "should be", rope(speeds=lambda i, d, base: base ** (-i / max(d - 2, 1)))),
    ("exponents to a half", "wrong", "should be", rope(speeds=lambda i, d, base: base ** -torch.linspace(0, 0.5, len(i)))),
    ("exponents to one", "wrong", "not by d - 2", rope(speeds=lambda i, d, base: base ** -torch.linspace(0, 1, len(i)))),
    ("clockwise", "wrong", "the wrong way round", rope(how=lambda a, b, c, s: (a * c + b * s, b * c - a * s))),
    ("a lost minus", "wrong", "A minus is lost", rope(how=lambda a, b, c, s: (a * c + b * s, a * s + b * c))),
    ("overwritten", "wrong", "overwritten before the second is made", rope(how=overwritten)),
    ("rotate_half with cosines of neighbours", "wrong", "by the cosines and sines of neighbours", rope(rotate_half)),
    ("a causal mask", "wrong", "Nothing here asks for a mask",
     lambda q, k, v, base=10000.0: ((turned(q, base) @ turned(k, base).mT / q.shape[-1] ** 0.5).masked_fill(torch.ones(q.shape[-2], q.shape[-2]).triu(1).bool(), -math.inf)).softmax(-1) @ v),
    ("a base of its own", "wrong", "use the base that is given", lambda q, k, v, base=1.0: rope()(q, k, v)),
    ("detached queries", "wrong", "no gradient reaches q", lambda q, k, v, base=10000.0: rope()(q.detach(), k, v, base)),
    ("the root of five", "wrong", "should be", lambda q, k, v, base=10000.0: attend(turned(q, base), turned(k, base), v, 5**-0.5)),
    ("positions of tokens and heads", "wrong", "should be",
     lambda q, k, v, base=10000.0: attend(turned(q.flatten(1, 2), base).view(q.shape), turned(k, base), v)),
    ("keys a place on", "wrong", "should be",
     lambda q, k, v, base=10000.0: attend(turned(q, base), turned(torch.cat((k[..., :1, :], k), -2), base)[..., 1:, :], v)),
    ("complex numbers", "right", "", rope(as_complex)),
    ("matrices", "right", "", rope(by_matrices)),
    ("distances alone", "right", "", relative),
    ("first entries first, in both", "right", "", rope(lambda t, base: torch.cat((turned(t, base)[..., 0::2], turned(t, base)[..., 1::2]), -1))),
    ("in double precision", "right", "", lambda q, k, v, base=10000.0: rope()(q.double(), k.double(), v.double(), base).to(q.dtype)),
    ("counted from one", "right", "",
     lambda q, k, v, base=10000.0: attend(*(turned(torch.cat((t[..., :1, :], t), -2), base)[..., 1:, :] for t in (q, k)), v)),
]  # fmt: skip


def price(n_heads, n, slope=lambda i, h: 2 ** (-8 * (i + 1) / h)):
    return torch.tensor(
        [[[-slope(i, n_heads) * abs(a - b) for b in range(n)] for a in range(n)] for i in range(n_heads)]
    )


BIASES = [
    ("steps rounded down", "wrong", "without rounding it down", lambda h, n: price(h, n, lambda i, h: 2.0 ** (-(8 // h) * (i + 1)))),
    ("four heads", "wrong", "should", lambda h, n: price(h, n, lambda i, h: 2.0 ** (-2 * (i + 1)))),
    ("slopes of 2 ** -(i + 1) from 16 on", "wrong", "16 heads", lambda h, n: price(h, n, lambda i, h: 2 ** (-8 * (i + 1) / min(h, 8)))),
    ("a square matrix", "wrong", "should have shape (4, 5, 5)", lambda h, n: price(h, n)[0]),
    ("a list", "wrong", "should be a tensor", lambda h, n: price(h, n).tolist()),
    ("one row", "wrong", "should have shape", lambda h, n: price(h, n)[:, :1]),
    ("capped at four", "wrong", "should be", lambda h, n: price(h, n).clamp_min(-4 * 2 ** (-8 / h))),
    ("whole numbers", "wrong", "should be", lambda h, n: price(h, n).long()),
    ("hidden later tokens", "wrong", "without a mask", lambda h, n: price(h, n) + torch.full((n, n), -math.inf).triu(1)),
    ("slopes by e", "wrong", "should be", lambda h, n: price(h, n, lambda i, h: math.exp(-8 * (i + 1) / h))),
    ("the heads last", "wrong", "should have shape", lambda h, n: price(h, n).movedim(0, -1)),
    ("entry by entry", "right", "", price),
    ("the package", "right", "", positions.alibi),
    ("in double precision", "right", "", lambda h, n: price(h, n).double()),
    ("cdist", "right", "",
     lambda h, n: -(0.5 ** (8 / h * torch.arange(1.0, h + 1)))[:, None, None] * torch.cdist(*[torch.arange(float(n))[:, None]] * 2)),
    ("a product of slopes", "right", "",
     lambda h, n: -torch.full((h,), 2 ** (-8 / h)).cumprod(0)[:, None, None] * (torch.arange(n) - torch.arange(n)[:, None]).abs()),
]  # fmt: skip


def orders(n, many=10):
    return [torch.randperm(n) for _ in range(many)]


def close(a, b, off=1e-5):
    return bool(((a - b).abs() < off).all())


def rolls(f, x):
    return all(close(f(x.roll(k, 0)), f(x).roll(k, 0)) for k in range(1, len(x)))


def turns_and_rolls(f, x):
    return rolls(f, x) and close(f(x.flip(0)), f(x).flip(0))


def exchanges(f, x):
    out = []
    for i, j in itertools.combinations(range(len(x)), 2):
        order = torch.arange(len(x))
        order[[i, j]] = order[[j, i]]
        out.append(close(f(x[order]), f(x)[order]))
    return all(out)


def by_matrix(f, x):
    eye = torch.eye(len(x))
    return all(torch.allclose(f(eye[p] @ x), eye[p] @ f(x), atol=1e-5) for p in orders(len(x)))


TESTS = [
    ("rolls", "wrong", "It only rolls the rows", rolls),
    ("rolls and turning around", "wrong", "each row plus its neighbours on a ring", turns_and_rolls),
    ("a wide tolerance", "wrong", "The tolerance is too wide", lambda f, x: all(close(f(x[p]), f(x)[p], 9e-3) for p in orders(len(x)))),
    ("sums", "wrong", "It compares sums", lambda f, x: all(close(f(x[p]).sum(0), f(x).sum(0), 1e-4) for p in orders(len(x)))),
    ("sorted rows", "wrong", "It compares sorted rows", lambda f, x: all(close(f(x[p]).sort(0).values, f(x).sort(0).values) for p in orders(len(x)))),
    ("means", "wrong", "should be", lambda f, x: abs(float(f(x).mean() - f(x[torch.randperm(len(x))]).mean())) < 1e-5),
    ("one order", "wrong", "one can be unlucky", lambda f, x: close(f(x[p := torch.randperm(len(x))]), f(x)[p])),
    ("any order", "wrong", "should be False, it is True", lambda f, x: any(close(f(x[p]), f(x)[p]) for p in [torch.arange(len(x)), *orders(len(x))])),
    ("the order back", "wrong", "f(x)[order] goes with x[order]", lambda f, x: all(close(f(x[p]), f(x)[p.argsort()]) for p in orders(len(x)))),
    ("two orders that know nothing of each other", "wrong", "only where all rows of the output are alike",
     lambda f, x: close(f(x[torch.randperm(len(x))]), f(x)[torch.randperm(len(x))])),
    ("too tight", "wrong", "too little rounding", lambda f, x: all(close(f(x[p]), f(x)[p], 1e-9) for p in orders(len(x)))),
    ("a tensor of truths", "wrong", "should be True or False", lambda f, x: torch.stack([f(x[p]) == f(x)[p] for p in orders(len(x))])),
    ("the largest difference", "wrong", "should be True or False", lambda f, x: max(float((f(x[p]) - f(x)[p]).abs().max()) for p in orders(len(x)))),
    ("a shuffled argument", "wrong", "it changed its argument x in place",
     lambda f, x: close(f(x)[(p := torch.randperm(len(x)))], f(x.copy_(x[p].clone())))),
    ("other inputs", "wrong", "should be", lambda f, x: all(close(f(torch.zeros_like(x)[p]), f(torch.zeros_like(x))[p]) for p in orders(len(x)))),
    ("all exchanges of two", "right", "", exchanges),
    ("matrices", "right", "", by_matrix),
    ("NumPy's truth", "right", "",
     lambda f, x: np.all([np.allclose(f(x[p]), f(x)[p], atol=1e-5) for p in orders(len(x))])),
    ("a tensor's truth", "right", "", lambda f, x: torch.stack([(f(x[p]) - f(x)[p]).abs().max() < 1e-5 for p in orders(len(x))]).all()),
    ("the tolerance of allclose itself", "right", "", lambda f, x: all(torch.allclose(f(x[p]), f(x)[p]) for p in orders(len(x), 20))),
    ("put back in order", "right", "", lambda f, x: all(close(f(x[p])[p.argsort()], f(x)) for p in orders(len(x)))),
    ("NumPy's orders", "right", "",
     lambda f, x: all(close(f(x[p]), f(x)[p]) for p in map(torch.tensor, (np.random.default_rng(i).permutation(len(x)) for i in range(12))))),
]  # fmt: skip

ATTACKS = [
    pytest.param(name, *rest, id=f"{name}: {title}")
    for name, attacks in (
        ("positions-sinusoids", SINUSOIDS),
        ("positions-rope", ROPES),
        ("positions-alibi", BIASES),
        ("positions-equivariant", TESTS),
    )
    for title, *rest in attacks
]


@pytest.mark.parametrize(("name", "status", "piece", "answer"), ATTACKS)
def test_an_attack_is_judged_rightly(judged, name, status, piece, answer):
    judged(name, status, piece, answer)
