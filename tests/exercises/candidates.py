"""Inputs on which candidates are right or wrong: ordinary ones, and special ones of each kind that tells."""

from __future__ import annotations

import torch
from torch import Tensor


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def three(
    n: int, m: int, d: int, w: int, *lead: int, spread: float = 1.0, dtype: torch.dtype = torch.float32
):
    """Queries, keys and values."""
    parts = ((n, d), (m, d), (m, w))
    return [spread * draw(*lead, *part, seed=i, dtype=dtype) for i, part in enumerate(parts)]


def call(*given):
    """Call the code once."""
    return lambda code, lift: [code(*map(lift, given))]


def slopes(*given, of=lambda code: code):
    """The gradients of a random projection of the output, of each argument that has one."""

    def use(code, lift):
        leaves = [lift(x).clone().requires_grad_() if floats(x) else x for x in given]
        out = of(code)(*leaves)
        probe = draw(*out.shape, seed=9).to(out.dtype)
        wanted = [x for x in leaves if floats(x)]
        found = torch.autograd.grad((out * probe).sum(), wanted, allow_unused=True)
        return [torch.zeros_like(x) if g is None else g for g, x in zip(found, wanted, strict=True)]

    return use


def twice(first, second):
    """Call the code with one input, then with another."""

    def use(code, lift):
        one, two = list(map(lift, first)), list(map(lift, second))
        return [code(*one), code(*two), *(x for x in one if floats(x))]

    return use


def again(*given):
    """Call the code twice with the very same tensors."""

    def use(code, lift):
        same = list(map(lift, given))
        return [code(*same), code(*same), *(x for x in same if isinstance(x, Tensor))]

    return use


def pieces(sizes, window: int, d: int = 6, w: int = 5, lead=(2,), spread: float = 1.0, dtype=torch.float32):
    """Feed a text to a cache in pieces."""
    n = sum(sizes)
    parts = three(n, n, d, w, *lead, spread=spread, dtype=dtype)
    parts = [x.abs() for x in parts] if spread > 1 else parts

    def use(code, lift):
        step, at, out = code(window), 0, []
        for size in sizes:
            out.append(step(*(lift(x)[..., at : at + size, :] for x in parts)))
            at += size
        return out

    return use


def piece_slopes(code, lift):
    q, k, v = (lift(x).clone().requires_grad_() for x in three(7, 7, 4, 3))
    step = code(4)
    out = torch.cat([step(q[a:b], k[a:b], v[a:b]) for a, b in ((0, 3), (3, 4), (4, 7))])
    loss = (out * draw(7, 3, seed=9).to(out.dtype)).sum()
    found = torch.autograd.grad(loss, (q, k, v), allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, (q, k, v), strict=True)]


def two_caches(code, lift):
    q, k, v = (lift(x) for x in three(3, 3, 4, 3))
    return [code(4)(q, k, v), code(4)(q, k, v)]


def caches_in_turn(code, lift):
    """Two caches are filled at the same time."""
    q, k, v = (lift(x) for x in three(4, 4, 4, 3))
    steps, out = (code(4), code(4)), []
    for i in range(4):
        out.append(steps[i % 2](q[i : i + 1], k[i : i + 1], v[i : i + 1]))
    return out


def one_place(code, lift):
    """The next token is written where the last one stood."""
    step, out = code(4), []
    texts = [lift(x) for x in three(5, 5, 4, 3)]
    places = [torch.empty_like(x[:1]) for x in texts]
    for i in range(5):
        for place, x in zip(places, texts, strict=True):
            place.copy_(x[i : i + 1])
        out.append(step(*places))
    return out


def floats(x) -> bool:
    return isinstance(x, Tensor) and x.is_floating_point()


def weights(d_model: int, n_heads: int, n_kv: int, d: int, w: int, spread: float = 0.4, dtype=torch.float32):
    shapes = ((d_model, n_heads * d), (d_model, n_kv * d), (d_model, n_kv * w), (n_heads * w, d_model))
    return [spread * draw(*shape, seed=5 + i, dtype=dtype) for i, shape in enumerate(shapes)]


HALF, DOUBLE = torch.float16, torch.float64
MASK = draw(2, 5, 7, seed=3) > -0.3
MASK[..., 0] = True
EMPTY = MASK.clone()
EMPTY[0, 2] = EMPTY[1, 0] = False
FAR = [torch.tensor([40.0, 0.1, 5.0])[:, None] * torch.eye(4)[:3], 40 * torch.eye(4), draw(4, 4, seed=2)]
"""Rows whose best scores lie far apart."""
_scaled = [
    60 * draw(2, 64, dtype=HALF).abs(),
    60 * draw(3, 64, seed=1, dtype=HALF).abs(),
    draw(3, 4, seed=2, dtype=HALF),
]


def _hidden_far(top: float = -100.0):
    """What is seen scores 200 below what is hidden; and two that are seen differ by one."""
    q = torch.ones(1, 4)
    k = torch.tensor([top - 200, top - 199, top])[:, None] / 2 * torch.ones(3, 4) / 4 * 4**0.5 * 2 / 2
    return q, k, draw(3, 5, seed=2), torch.tensor([[True, True, False]])


FARTHEST = (torch.ones(1, 1), torch.tensor([[-1e30], [0.0]]), torch.eye(2), torch.tensor([[True, False]]))
"""What is seen scores lower than what one would fill in."""
PLACES = torch.tensor([3, 0, 5, 1, 2])

COMMON = {
    "testing-scaling": [call(*three(5, 7, 64, 64))],
    "testing-mask": [call(*three(5, 7, 6, 4), MASK[0])],
    "testing-heads": [call(draw(2, 5, 12), *weights(12, 4, 2, 3, 3), 4, 2)],
    "testing-rotary": [call(draw(5, 8), PLACES)],
    "testing-cache": [pieces((4, 1, 3), 3)],
    "testing-linear": [call(*three(9, 9, 4, 5))],
}
"""Ordinary inputs of each exercise, as a first test has them."""

SPECIAL = {
    "testing-scaling": {
        "sizes": [call(*three(5, 7, 6, 4, 2)), call(*three(3, 4, 5, 9, 2, 3))],
        "large numbers": [
            call(*FAR),
            call(FAR[0][:, None], *(x.expand(3, 4, 4) for x in FAR[1:])),
            call(*three(4, 5, 8, 3, spread=12.0)),
        ],
        "gradients": [slopes(*three(4, 5, 6, 3))],
        "half precision": [call(*_scaled), call(*three(4, 5, 6, 3, dtype=HALF))],
        "double precision": [call(*three(4, 5, 6, 3, dtype=DOUBLE))],
        "second call": [again(*three(4, 5, 6, 3)), twice(three(4, 5, 6, 3), three(4, 5, 20, 3))],
    },
    "testing-mask": {
        "sizes": [call(*three(5, 7, 6, 4, 2), MASK), call(*three(5, 7, 6, 4, 2), MASK[0])],
        "large numbers": [call(*_hidden_far()), call(*_hidden_far(-1900.0)), call(*FARTHEST)],
        "double precision": [call(*three(5, 7, 6, 4, 2, dtype=DOUBLE), MASK)],
        "empty row": [call(*three(5, 7, 6, 4, 2), EMPTY), call(*three(5, 7, 6, 4), torch.zeros(5, 7) > 0)],
        "gradients": [slopes(*three(5, 7, 6, 4, 2), EMPTY)],
        "half precision": [call(*three(5, 7, 6, 4, 2, dtype=HALF), MASK)],
        "second call": [
            again(*three(5, 7, 6, 4, 2), MASK),
            twice((*three(5, 7, 6, 4), MASK[0]), (*three(5, 7, 6, 4), MASK[1])),
            twice((*three(5, 7, 6, 4), MASK[0]), (*three(5, 7, 20, 4), MASK[0])),
        ],
    },
    "testing-heads": {
        "sizes": [
            call(draw(2, 5, 12), *weights(12, 4, 2, 5, 2), 4, 2),
            call(draw(2, 4, 12), *weights(12, 4, 2, 3, 3), 4, 2),
        ],
        "gradients": [slopes(draw(2, 5, 12), *weights(12, 4, 2, 3, 3), 4, 2)],
        "half precision": [
            call(20 * draw(1, 3, 64, dtype=HALF), *weights(64, 4, 2, 16, 3, spread=0.7, dtype=HALF), 4, 2),
        ],
        "second call": [
            twice(
                (draw(2, 5, 12), *weights(12, 4, 2, 3, 3), 4, 2),
                (draw(2, 5, 12, seed=8), *weights(12, 4, 2, 3, 3), 4, 2),
            )
        ],
        "double precision": [
            call(draw(2, 5, 12, dtype=DOUBLE), *weights(12, 4, 2, 3, 3, dtype=DOUBLE), 4, 2)
        ],
    },
    "testing-rotary": {
        "sizes": [
            call(draw(5, 14), PLACES),
            call(draw(5, 2, 8), torch.tensor([4, 1])),
            call(draw(5, 5, 8), PLACES),
            call(draw(3, 6), torch.tensor([-3, 0, -100])),
        ],
        "large numbers": [call(draw(4, 8), torch.tensor([2047, 2048, 5000, 100_000]))],
        "gradients": [slopes(draw(5, 8), PLACES)],
        "half precision": [call(draw(3, 8, dtype=HALF), torch.tensor([5, 1234, 4097]))],
        "double precision": [call(draw(5, 8, dtype=DOUBLE), PLACES)],
        "second call": [
            again(draw(5, 8), PLACES),
            twice((draw(5, 8), PLACES), (draw(5, 8, seed=1), PLACES + 9)),
        ],
    },
    "testing-cache": {
        "sizes": [pieces((30, 1, 40, 2, 9), 5, lead=())],
        "gradients": [piece_slopes],
        "half precision": [
            pieces((3, 2), 4, d=64, spread=60.0, lead=(), dtype=HALF),
            pieces((3, 2), 4, dtype=HALF),
        ],
        "double precision": [pieces((3, 2), 4, dtype=DOUBLE)],
        "second call": [two_caches, caches_in_turn, one_place],
    },
    "testing-linear": {
        "sizes": [call(*three(53, 53, 4, 5)), call(*three(37, 37, 4, 5, 2, 3))],
        "large numbers": [call(*(x - 9 * (i < 2) for i, x in enumerate(three(6, 6, 4, 5))))],
        "gradients": [slopes(*three(37, 37, 4, 5))],
        "half precision": [
            call(*(x - 9 * (i < 2) for i, x in enumerate(three(6, 6, 4, 5, dtype=HALF)))),
            call(*(x.abs() + 30 for x in three(3000, 3000, 2, 1, dtype=HALF))),
        ],
        "double precision": [call(*three(9, 9, 4, 5, dtype=DOUBLE))],
        "second call": [again(*three(9, 9, 4, 5)), twice(three(9, 9, 4, 5), three(9, 9, 4, 5))],
    },
}
"""Inputs of the kinds that some candidates can only be told by."""


def widen(x):
    return x.double() if floats(x) else x.clone() if isinstance(x, Tensor) else x


def agree(build, reference, use, loose: float = 1.0) -> bool:
    """Say whether code gives what the reference gives in double precision, as far as its own goes."""
    given = []

    def keep(x):
        given.extend([x.dtype] if floats(x) else [])
        return x.clone() if isinstance(x, Tensor) else x

    want = use(reference(), widen)
    try:
        got = use(build(), keep)
    except Exception:
        return False
    kept = given[0]
    eps = torch.finfo(kept).eps
    few = 4 if kept is HALF else 64
    for one, other in zip(got, want, strict=True):
        if one.shape != other.shape or (one.is_floating_point() and one.dtype is not kept):
            return False
        one, other = one.double(), other.double()
        most = few * eps * max(1.0, float(other.abs().max())) * loose
        if not torch.allclose(one, other, rtol=few * eps * loose, atol=most):
            return False
    return True
