"""Answers to the exercises on linear attention that readers tried, or that fooled an earlier checker."""

import math

import pytest
import torch
import torch.nn.functional as F

TAYLOR, FEATURES, STATE, DELTA = "linear-taylor", "linear-features", "linear-running-state", "linear-delta"


def powers(x, *, constant=1.0, half=0.5**0.5):
    squares = (x[..., :, None] * x[..., None, :]).flatten(-2)
    return torch.cat((torch.full_like(x[..., :1], constant), x, half * squares), -1)


def half_table(x):
    """Each pair of entries once: what is off the diagonal counts twice."""
    i, j = torch.triu_indices(x.shape[-1], x.shape[-1])
    twice = torch.where(i == j, 2.0, 1.0).to(x.dtype).rsqrt()
    return torch.cat((x[..., i] * x[..., j] * twice, x, torch.ones_like(x[..., :1])), -1)


def by_token(x):
    if x.dim() > 1:
        return torch.stack([by_token(one) for one in x])
    return torch.cat((torch.ones(1, dtype=x.dtype), x, torch.kron(x, x) / math.sqrt(2)))


def of_the_table(x):
    """Features made of all tokens of a text: right within it, and of no use beside another."""
    s = x @ x.mT
    values, vectors = torch.linalg.eigh(1 + s + s.square() / 2)
    return vectors * values.clamp(min=0).sqrt()[..., None, :]


def directions(x, w, *, divide=None, second=-1.0, join=torch.cat):
    half = x.square().sum(-1, keepdim=True) / 2
    exponents = join((x @ w.mT - half, second * x @ w.mT - half), -1)
    return exponents.flatten(x.dim() - 1).exp() / (divide or (2 * len(w)) ** 0.5)


def in_loops(x, w):
    if x.dim() > 2:
        return torch.stack([in_loops(one, w) for one in x])
    rows = [[s * (row @ token) - token @ token / 2 for row in w for s in (1, -1)] for token in x]
    return torch.stack([torch.stack(row) for row in rows]).exp() / math.sqrt(2 * len(w))


def walk(q, k, v, gate, *, since=0):
    """Right; or with a state that starts anew every so many tokens."""
    state, total, out = 0, 0, []
    for i in range(k.shape[-2]):
        if since and i % since == 0:
            state, total = 0, 0
        g, term = gate[..., i, :], k[..., i, :, None] * v[..., i, None, :]
        state = g[..., None] * state + (1 - g[..., None]) * term
        total = g * total + (1 - g) * k[..., i, :]
        out.append((q[..., i, :, None] * state).sum(-2) / (q[..., i, :] * total).sum(-1, keepdim=True))
    return torch.stack(out, -2)


def all_weights(q, k, v, gate):
    passed = gate.double().log().cumsum(-2)
    weights = q @ k.mT * ((passed - passed.mT).tril().exp().to(q.dtype) * (1 - gate.mT)).tril()
    return weights @ v / weights.sum(-1, keepdim=True)


def stored_rows(q, k, v, gate):
    out, faded = [], None
    for i in range(k.shape[-2]):
        g = gate[..., i, :]
        faded = 1 - g if faded is None else torch.cat((faded * g, 1 - g), -1)
        weights = (k[..., : i + 1, :] @ q[..., i, :, None]).squeeze(-1) * faded
        out.append((weights[..., None] * v[..., : i + 1, :]).sum(-2) / weights.sum(-1, keepdim=True))
    return torch.stack(out, -2)


def last_five(q, k, v, gate):
    passed = gate.double().log().cumsum(-2)
    weights = (q @ k.mT * ((passed - passed.mT).tril().exp().to(q.dtype) * (1 - gate.mT)).tril()).triu(-4)
    return weights @ v / weights.sum(-1, keepdim=True)


def products(q, k, v, gate):
    passed = gate.cumprod(-2)
    k = k * (1 - gate) / passed
    state = (k[..., :, None] * v[..., None, :]).cumsum(-3)
    return (q[..., None, :] @ state).squeeze(-2) / (q * k.cumsum(-2)).sum(-1, keepdim=True)


def with_ones(q, k, v, gate):
    """A column of ones sums the weights."""
    v = F.pad(v, (0, 1), value=1.0)
    state = torch.zeros(*k.shape[:-2], k.shape[-1], v.shape[-1], dtype=v.dtype)
    rows = []
    for a, b, x, g in zip(*(t.unbind(-2) for t in (q, k, v, gate)), strict=True):
        state = torch.lerp(b[..., None] * x[..., None, :], state, g[..., None])
        rows.append((a[..., None, :] @ state).squeeze(-2))
    out = torch.stack(rows, -2)
    return out[..., :-1] / out[..., -1:]


def first_whole(q, k, v, gate):
    """A state that starts with the first term, instead of with its share of it."""
    return walk(q, k, v, torch.cat((torch.zeros_like(gate[..., :1, :]), gate[..., 1:, :]), -2))


def doubling(q, k, v, gate):
    """Neighbours joined, then pairs, then fours: all states at once, and nothing divided by products."""
    terms = (k * (1 - gate))[..., None] * F.pad(v, (0, 1), value=1.0)[..., None, :]
    stays, back = gate[..., None], 1
    while back < k.shape[-2]:
        later = terms[..., back:, :, :] + stays[..., back:, :, :] * terms[..., :-back, :, :]
        terms = torch.cat((terms[..., :back, :, :], later), -3)
        stays = torch.cat((stays[..., :back, :, :], stays[..., back:, :, :] * stays[..., :-back, :, :]), -3)
        back *= 2
    out = (q[..., None, :] @ terms).squeeze(-2)
    return out[..., :-1] / out[..., -1:]


def chunks(size):
    """A state from chunk to chunk, weights within."""

    def causal_linear(q, k, v, gate):
        v = F.pad(v, (0, 1), value=1.0)
        state, out = torch.zeros(*k.shape[:-2], k.shape[-1], v.shape[-1], dtype=v.dtype), []
        for a, b, x, g in zip(*(t.split(size, -2) for t in (q, k, v, gate)), strict=True):
            passed = g.log().cumsum(-2)
            within = a @ b.mT * ((passed - passed.mT).tril().exp() * (1 - g.mT)).tril()
            out.append(within @ x + (passed.exp() * a) @ state)
            last = passed[..., -1:, :]
            state = last.exp() * state + (b * (1 - g) * (last - passed).exp()).mT @ x
        out = torch.cat(out, -2)
        return out[..., :-1] / out[..., -1:]

    return causal_linear


def one_state(q, k, v, gate):
    if q.dim() == 2:
        return walk(q, k, v, gate)
    return torch.cat([walk(q[:1], k[:1], v[:1], gate[:1])] * len(q))


def right(s, k, v, b, g):
    s = g * s
    return s + b * torch.outer(k, v - k @ s)


def in_place(s, k, v, b, g):
    s *= g
    s += b * torch.outer(k, v - k @ s)
    return s


def columns(s, k, v, b, g):
    s = g * s
    return torch.stack([s[:, j] + b * (v[j] - k @ s[:, j]) * k for j in range(s.shape[1])], 1)


ATTACKS = [
    ("half of the table", TAYLOR, "right", "", half_table),
    ("token by token", TAYLOR, "right", "", by_token),
    ("einsum", TAYLOR, "right", "", lambda x: torch.cat((x[..., :1] * 0 + 1, torch.einsum("...i,...j->...ij", x, x).flatten(-2) / 2**0.5, x), -1)),
    ("turned round", TAYLOR, "right", "", lambda x: -powers(x).flip(-1)),
    ("two halves of 1", TAYLOR, "right", "", lambda x: torch.cat((torch.full_like(x[..., :2], 0.5**0.5), powers(x)[..., 1:]), -1)),
    ("the square of (1, x)", TAYLOR, "right", "", lambda x: (lambda y: torch.cat((torch.full_like(x[..., :1], 0.5**0.5), (y[..., :, None] * y[..., None, :]).flatten(-2) / 2**0.5), -1))(torch.cat((torch.ones_like(x[..., :1]), x), -1))),
    ("zeros besides", TAYLOR, "right", "", lambda x: F.pad(powers(x), (0, 3))),
    ("at most 30 features", TAYLOR, "wrong", "should be", lambda x: powers(x)[..., :30]),
    ("no half", TAYLOR, "wrong", "The square is not halved", lambda x: powers(x, half=1.0)),
    ("the 1 doubled", TAYLOR, "wrong", "should be", lambda x: powers(x, constant=2.0)),
    ("made of the whole text", TAYLOR, "wrong", "should be", of_the_table),
    ("weights", TAYLOR, "wrong", "Those are the weights", lambda x: 1 + x @ x.mT + (x @ x.mT) ** 2 / 2),
    ("single precision", TAYLOR, "wrong", "in float64", lambda x: powers(x.float()).to(x.dtype)),
    ("the first text alone", TAYLOR, "wrong", "should be", lambda x: powers(x[:1]).expand(*x.shape[:-1], -1) if x.dim() > 2 else powers(x)),
    ("all texts in one row", TAYLOR, "wrong", "should have shape", lambda x: powers(x.flatten(0, -2))),
    ("a list", TAYLOR, "wrong", "should be a tensor", lambda x: powers(x).tolist()),
    ("the absolute value", TAYLOR, "wrong", "should be", lambda x: powers(x).abs()),
    ("nothing random, but exp", TAYLOR, "wrong", "exponential of each entry", lambda x: x.exp()),
    ("the root of 12", FEATURES, "wrong", "should be", lambda x, w: directions(x, w, divide=12**0.5)),
    ("the root of 4d", FEATURES, "wrong", "a root of the width d", lambda x, w: directions(x, w, divide=(4 * w.shape[1]) ** 0.5)),
    ("the root of 2d", FEATURES, "wrong", "a root of the width d", lambda x, w: directions(x, w, divide=(2 * w.shape[1]) ** 0.5)),
    ("half of it missing", FEATURES, "wrong", "Both halves are the same", lambda x, w: directions(x, w, second=1.0)),
    ("a stabiliser a row", FEATURES, "wrong", "lose their own maximum", lambda x, w: (lambda e: (e - e.amax(-1, keepdim=True)).exp() / (2 * len(w)) ** 0.5)(directions(x, w, divide=1.0).log())),
    ("sorted", FEATURES, "wrong", "different orders", lambda x, w: directions(x, w).sort(-1).values),
    ("the first batch's lengths", FEATURES, "wrong", "should be", lambda x, w: directions(x, w) * (x.square().sum(-1, keepdim=True) / 2).exp() * (-x.square().flatten(0, -3)[0].sum(-1, keepdim=True) / 2).exp() if x.dim() > 2 else directions(x, w)),
    ("single precision", FEATURES, "wrong", "in float64", lambda x, w: directions(x.float(), w.float()).to(x.dtype)),
    ("a list", FEATURES, "wrong", "should be a tensor", lambda x, w: directions(x, w).tolist()),
    ("interleaved", FEATURES, "right", "", lambda x, w: directions(x, w, join=torch.stack)),
    ("-w first", FEATURES, "right", "", lambda x, w: directions(x, -w)),
    ("in loops", FEATURES, "right", "", in_loops),
    ("squares of distances", FEATURES, "right", "", lambda x, w: (torch.cat((x @ w.mT, -(x @ w.mT)), -1) - x.norm(dim=-1, keepdim=True) ** 2 / 2).exp() * (2 * w.shape[0]) ** -0.5),
    ("at most 5", FEATURES, "wrong", "a token of length 6", lambda x, w: directions(x, w).clamp(max=5)),
    ("cosh and sinh", FEATURES, "wrong", "a sine can be negative", lambda x, w: torch.cat(((x @ w.mT).cosh(), (x @ w.mT).sinh()), -1) * (-x.square().sum(-1, keepdim=True) / 2).exp() / len(w) ** 0.5),
    ("squares completed", FEATURES, "right", "", lambda x, w: torch.cat([((u.square().sum() - (x - u).square().sum(-1, keepdim=True)) / 2).exp() for u in (*w, *-w)], -1) / (2 * len(w)) ** 0.5),
    ("weights over all stored keys", STATE, "wrong", "meets all keys before it again", stored_rows),
    ("all n × n weights", STATE, "wrong", "meets all keys before it again", all_weights),
    ("the last five", STATE, "wrong", "should be", last_five),
    ("anew every 50 tokens", STATE, "wrong", "1,000 tokens", lambda *a: walk(*a, since=50)),
    ("values where it is long", STATE, "wrong", "should be", lambda q, k, v, g: v if v.shape[-2] > 12 else walk(q, k, v, g)),
    ("division by products", STATE, "wrong", "the product of all gates so far", products),
    ("one state for the batch", STATE, "wrong", "should be", one_state),
    ("a thousandth added", STATE, "wrong", "Something is added", lambda q, k, v, g: walk(q, k, v, g) * (lambda z: z / (z + 1e-3))(walk_sum(q, k, g))),
    ("queries and keys swapped", STATE, "wrong", "Queries and keys have changed places", lambda q, k, v, g: walk(k, q, v, g)),
    ("gates reversed", STATE, "wrong", "should be", lambda q, k, v, g: walk(q, k, v, g.flip(-2))),
    ("no gradient to the gate", STATE, "wrong", "no gradient reaches gate", lambda q, k, v, g: walk(q, k, v, g.detach())),
    ("in place", STATE, "wrong", "it changed its argument q in place", lambda q, k, v, g: walk(q.div_(2), k, v, g)),
    ("single precision", STATE, "wrong", "in float64", lambda q, k, v, g: walk(q.float(), k.float(), v.float(), g.float()).to(v.dtype)),
    ("the first term whole", STATE, "wrong", "should be", first_whole),
    ("gates kept from 0.05 to 0.95", STATE, "wrong", "gates from 0.95 to 0.99", lambda q, k, v, g: walk(q, k, v, g.clamp(0.05, 0.95))),
    ("a parallel prefix", STATE, "right", "", doubling),
    ("a column of ones", STATE, "right", "", with_ones),
    ("chunks of 16", STATE, "right", "", chunks(16)),
    ("chunks of 64", STATE, "right", "", chunks(64)),
    ("the absolute key", DELTA, "wrong", "A key points where it points", lambda s, k, v, b, g: right(s, k.abs(), v, b, g)),
    ("the positive key", DELTA, "wrong", "A key points where it points", lambda s, k, v, b, g: right(s, k.relu(), v, b, g)),
    ("half of beta", DELTA, "wrong", "should be", lambda s, k, v, b, g: right(s, k, v, 0.5, g)),
    ("at least a half", DELTA, "wrong", "With a state of 4 by 4, beta = 0.3 and gate = 0.9", lambda s, k, v, b, g: right(s, k, v, max(b, 0.5), g)),
    ("at most one", DELTA, "wrong", "Use it as it is given", lambda s, k, v, b, g: right(s, k, v, min(b, 1.0), g)),
    ("the sign lost", DELTA, "wrong", "Wrong sign", lambda s, k, v, b, g: 2 * g * s - right(s, k, v, b, g)),
    ("what it holds", DELTA, "wrong", "Return the state", lambda s, k, v, b, g: k @ right(s, k, v, b, g)),
    ("in place", DELTA, "wrong", "it changed its argument state in place", in_place),
    ("detached", DELTA, "wrong", "no gradient reaches", lambda s, k, v, b, g: right(s, k, v, b, g).detach()),
    ("the gate as a logarithm", DELTA, "wrong", "should be", lambda s, k, v, b, g: right(s, k, v, b, 2.718281828**g)),
    ("the gate only where it is not 0", DELTA, "wrong", "With gate = 0", lambda s, k, v, b, g: right(s, k, v, b, g or 1.0)),
    ("square states alone", DELTA, "wrong", "With beta = 1 and gate = 1", lambda s, k, v, b, g: right(s, k, v, b, g) if len(k) == len(v) else g * s),
    ("by rows", DELTA, "right", "", lambda s, k, v, b, g: torch.stack([g * row + b * x * (v - g * (k @ s)) for row, x in zip(s, k, strict=True)])),
    ("a projection", DELTA, "right", "", lambda s, k, v, b, g: (torch.eye(len(k), dtype=s.dtype) - b * torch.outer(k, k)) @ (g * s) + b * torch.outer(k, v)),
    ("addr", DELTA, "right", "", lambda s, k, v, b, g: (g * s).addr(k, v - g * s.T @ k, alpha=b)),
    ("by columns", DELTA, "right", "", columns),
    ("einsum", DELTA, "right", "", lambda s, k, v, b, g: g * s + b * torch.einsum("m,d->md", k, v - g * torch.einsum("m,md->d", k, s))),
    ("divided by the length", DELTA, "right", "", lambda s, k, v, b, g: right(s, k / k.norm(), v, b, g)),
]  # fmt: skip


def walk_sum(q, k, gate):
    """What the weights of each token sum to."""
    total, out = 0, []
    for i in range(k.shape[-2]):
        total = gate[..., i, :] * total + (1 - gate[..., i, :]) * k[..., i, :]
        out.append((q[..., i, :] * total).sum(-1, keepdim=True))
    return torch.stack(out, -2)


@pytest.mark.parametrize(
    ("name", "status", "message", "answer"),
    [a[1:] for a in ATTACKS],
    ids=[f"{a[1]}: {a[0]}" for a in ATTACKS],
)
def test_an_attack_is_judged_rightly(judged, name, status, message, answer):
    judged(name, status, message, answer)
