"""Answers to the exercises on positions that readers tried, or that fooled an earlier checker."""

import itertools
import math

import numpy as np
import pytest
import torch

from attnlab import positions


def by_hand(distance, n_buckets, longest):
    """Count the ranges that a distance has reached, one by one."""
    half = n_buckets // 2
    out = torch.zeros_like(distance)
    for at, r in enumerate(distance.flatten().tolist()):
        ends = [half * (longest / half) ** (j / half) for j in range(half)]
        bucket = r if r < half else half + sum(r >= end for end in ends[1:])
        out.view(-1)[at] = bucket
    return out


def thresholds(distance, n_buckets, longest):
    half = n_buckets // 2
    ends = [*range(1, half + 1), *(half * (longest / half) ** (j / half) for j in range(1, half))]
    return torch.bucketize(distance.double(), torch.tensor(ends, dtype=torch.float64), right=True)


def bucket(distance, n_buckets, longest, exact=None, power=1.0):
    half = n_buckets // 2 if exact is None else exact
    share = (distance.clamp_min(half) / half).log() / math.log(longest / half)
    far = (half + (n_buckets - half) * share**power).long().clamp_max(n_buckets - 1)
    return torch.where(distance < half, distance, far)


BUCKETS = [
    ("both directions", "wrong", "should be", lambda r, n, most: bucket(r, n // 2, most)),
    ("32 buckets always", "wrong", "should be", lambda r, n, most: bucket(r, 32, most)),
    ("128 always", "wrong", "should be", lambda r, n, most: bucket(r, n, 128)),
    ("one exact too few", "wrong", "should be", lambda r, n, most: bucket(r, n, most, exact=max(n // 2 - 1, 1))),
    ("roots in place of logarithms", "wrong", "should be", lambda r, n, most: bucket(r, n, most, power=0.5)),
    ("counted from 1", "wrong", "should be", lambda r, n, most: bucket(r, n, most) + 1),
    ("doubling whatever the longest", "wrong", "should be",
     lambda r, n, most: torch.where(r < n // 2, r, (n // 2 + (r.clamp_min(1) / (n // 2)).log2().floor().long()).clamp_max(n - 1))),
    ("one too far", "wrong", "should be", lambda r, n, most: bucket(r, n, most + 1)),
    ("32 bits", "right", "", lambda r, n, most: bucket(r, n, most).int()),
    ("zero forgotten", "wrong", "should be", lambda r, n, most: bucket(r, n, most).clamp_min(1)),
    ("the first row alone", "wrong", "should", lambda r, n, most: bucket(r[:1] if r.dim() else r, n, most)),
    ("a list", "wrong", "should be a tensor", lambda r, n, most: bucket(r, n, most).tolist()),
    ("flattened", "wrong", "should have shape", lambda r, n, most: bucket(r, n, most).flatten()),
    ("ranges counted", "right", "", by_hand),
    ("thresholds", "right", "", thresholds),
    ("NumPy inside", "right", "",
     lambda r, n, most: torch.from_numpy(np.where(r.numpy() < n // 2, r.numpy(), np.minimum(
         n - 1, n // 2 + np.floor(np.log(np.maximum(r.numpy(), n // 2) / (n // 2)) / np.log(most / (n // 2)) * (n // 2)))).astype(int))),
    ("logarithms of base 2", "right", "",
     lambda r, n, most: torch.where(r < n // 2, r, (n // 2 * (1 + (r.clamp_min(1) * 2 / n).log2() / math.log2(most * 2 / n))).floor().long().clamp_max(n - 1))),
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
    ("degrees", "wrong", "should be", rope(speeds=lambda i, d, base: base ** (-2 * i / d) * math.pi / 180)),
    ("pairs counted from one", "wrong", "should be", rope(speeds=lambda i, d, base: base ** (-2 * (i + 1) / d))),
    ("the first head alone", "wrong", "should be", lambda q, k, v, base=10000.0: rope()(q[:, :1], k[:, :1], v, base)),
    ("half precision", "wrong", "should be", rope(lambda t, base: turned(t.half().float(), base))),
    ("weights detached", "wrong", "no gradient reaches q",
     lambda q, k, v, base=10000.0: (turned(q, base) @ turned(k, base).mT / q.shape[-1] ** 0.5).softmax(-1).detach() @ v),
    ("both entries in the other order", "right", "", rope(how=lambda a, b, c, s: (a * s + b * c, a * c - b * s))),
    ("complex numbers", "right", "", rope(as_complex)),
    ("matrices", "right", "", rope(by_matrices)),
    ("distances alone", "right", "", relative),
    ("first entries first, in both", "right", "", rope(lambda t, base: torch.cat((turned(t, base)[..., 0::2], turned(t, base)[..., 1::2]), -1))),
    ("in double precision", "right", "", lambda q, k, v, base=10000.0: rope()(q.double(), k.double(), v.double(), base).to(q.dtype)),
    ("counted from one", "right", "",
     lambda q, k, v, base=10000.0: attend(*(turned(torch.cat((t[..., :1, :], t), -2), base)[..., 1:, :] for t in (q, k)), v)),
]  # fmt: skip


def on_a_grid(x, rows, columns, base=10000.0, first=0):
    half = x.shape[-1] // 2
    return torch.cat(
        (turned_at(x[..., :half], rows - first, base), turned_at(x[..., half:], columns - first, base)), -1
    )


def turned_at(t, at, base):
    d = t.shape[-1]
    angle = at[:, None] * base ** (-2 * torch.arange(d // 2) / d)
    a, b, c, s = t[..., 0::2], t[..., 1::2], angle.cos(), angle.sin()
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)


def as_one_row(x, rows, columns, base=10000.0):
    at = rows * (int(columns.max()) + 1) + columns
    return positions.rotary(x, at, base=base)


def by_complex(x, rows, columns, base=10000.0):
    d = x.shape[-1]
    speed = base ** (-4 * torch.arange(d // 4) / d)
    angle = torch.cat((rows[:, None] * speed, columns[:, None] * speed), -1)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones(()), angle)).flatten(-2)


def token_by_token(x, rows, columns, base=10000.0):
    one = [
        on_a_grid(x[..., i : i + 1, :], rows[i : i + 1], columns[i : i + 1], base) for i in range(x.shape[-2])
    ]
    return torch.cat(one, -2)


GRIDS = [
    ("one long row", "wrong", "should be", as_one_row),
    ("counted from 1", "wrong", "should be", lambda x, rows, columns, base=10000.0: on_a_grid(x, rows, columns, base, first=-1)),
    ("half the distance", "wrong", "should be", lambda x, rows, columns, base=10000.0: on_a_grid(x, rows / 2, columns / 2, base)),
    ("the sum and the difference", "wrong", "should be", lambda x, rows, columns, base=10000.0: on_a_grid(x, rows + columns, rows - columns, base)),
    ("sinusoids added", "wrong", "should be", lambda x, rows, columns, base=10000.0: x + positions.sinusoidal(*x.shape[-2:], base=base)),
    ("detached", "wrong", "no gradient reaches x", lambda x, rows, columns, base=10000.0: on_a_grid(x.detach(), rows, columns, base)),
    ("from the first patch", "wrong", "should be", lambda x, rows, columns, base=10000.0: on_a_grid(x, rows - rows[0], columns - columns[0], base)),
    ("no row beyond 5", "wrong", "should be", lambda x, rows, columns, base=10000.0: on_a_grid(x, rows.clamp_max(5), columns, base)),
    ("both halves apart", "wrong", "should be a tensor", lambda x, rows, columns, base=10000.0: on_a_grid(x, rows, columns, base).chunk(2, -1)),
    ("without a base", "wrong", "it is called with", lambda x, rows, columns: on_a_grid(x, rows, columns)),
    ("another default", "wrong", "the base left out", lambda x, rows, columns, base=100.0: on_a_grid(x, rows, columns, base)),
    ("turned by hand", "right", "", on_a_grid),
    ("complex numbers", "right", "", by_complex),
    ("token by token", "right", "", token_by_token),
    ("a stack of two", "right", "",
     lambda x, rows, columns, base=10000.0: torch.stack([positions.rotary(part, at, base=base) for part, at in zip(x.chunk(2, -1), (rows, columns), strict=True)], -2).flatten(-2)),
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
    ("lengths of rows", "wrong", "which way they point",
     lambda f, x: all(close(f(x[p]).norm(dim=-1), f(x)[p].norm(dim=-1)) for p in orders(len(x)))),
    ("the first column", "wrong", "Compare all columns", lambda f, x: all(close(f(x[p])[:, 0], f(x)[p][:, 0]) for p in orders(len(x)))),
    ("differences with their sign", "wrong", "should be False", lambda f, x: all(bool((f(x[p]) - f(x)[p]).max() < 1e-5) for p in orders(len(x)))),
    ("a hundredth of each number", "wrong", "too wide", lambda f, x: all(torch.allclose(f(x[p]), f(x)[p], 1e-2, 1e-5) for p in orders(len(x)))),
    ("a tolerance that is relative alone", "wrong", "a tolerance that is absolute",
     lambda f, x: all(torch.allclose(f(x[p]), f(x)[p]) for p in orders(len(x), 20))),
    ("exchanges of neighbours", "right", "",
     lambda f, x: all(close(f(x[p]), f(x)[p]) for p in [torch.tensor([*range(i), i + 1, i, *range(i + 2, len(x))]) for i in range(len(x) - 1)])),
    ("all exchanges of two", "right", "", exchanges),
    ("matrices", "right", "", by_matrix),
    ("NumPy's truth", "right", "",
     lambda f, x: np.all([np.allclose(f(x[p]), f(x)[p], atol=1e-5) for p in orders(len(x))])),
    ("a tensor's truth", "right", "", lambda f, x: torch.stack([(f(x[p]) - f(x)[p]).abs().max() < 1e-5 for p in orders(len(x))]).all()),
    ("put back in order", "right", "", lambda f, x: all(close(f(x[p])[p.argsort()], f(x)) for p in orders(len(x)))),
    ("NumPy's orders", "right", "",
     lambda f, x: all(close(f(x[p]), f(x)[p]) for p in map(torch.tensor, (np.random.default_rng(i).permutation(len(x)) for i in range(12))))),
]  # fmt: skip

ATTACKS = [
    pytest.param(name, *rest, id=f"{name}: {title}")
    for name, attacks in (
        ("positions-buckets", BUCKETS),
        ("positions-rope", ROPES),
        ("positions-grid", GRIDS),
        ("positions-equivariant", TESTS),
    )
    for title, *rest in attacks
]


@pytest.mark.parametrize(("name", "status", "piece", "answer"), ATTACKS)
def test_an_attack_is_judged_rightly(judged, name, status, piece, answer):
    judged(name, status, piece, answer)
