"""Slips beside the files of wrong answers: the checkers of linear attention name these too."""

import re

import pytest
import torch
import torch.nn.functional as F

from attnlab.checks import judge


def counted(first, second):
    return lambda n, m, d: (first(n, m, d), second(n, m, d))


def scores(n, m, d):
    return n * n * (m + d)


def values(n, m, d):
    return 2 * n * m * d


def directions(x, w, *, square=None, axis=-1, divide=None, second=-1.0, size=1.0):
    half = (x.square() if square is None else square(x)).sum(-1, keepdim=True) / 2
    exponents = torch.cat((size * x @ w.T - half, second * size * x @ w.T - half), axis)
    return exponents.exp() / (divide or (2 * len(w)) ** 0.5)


def magnitudes(x, w):
    angles, half = (x @ w.T).abs(), x.square().sum(-1, keepdim=True) / 2
    return torch.cat((angles - half, -angles - half), -1).exp() / (2 * len(w)) ** 0.5


def softmaxed(x, w):
    return torch.cat((x @ w.T, -x @ w.T), -1).softmax(-1)


def walk(q, k, v, gate, *, stay=None, enter=None, stay_sum=None, enter_sum=None, fade_late=False, asked=True,
         divide="q·z", fade_first=False):  # fmt: skip
    """The gated recurrence, with one thing wrong."""
    stay = stay or (lambda g: g)
    enter = enter or (lambda g: 1 - g)
    stay_sum, enter_sum = stay_sum or stay, enter_sum or enter
    state, total, out = 0, torch.zeros_like(k[..., 0, :]), []
    for i in range(k.shape[-2]):
        g, key = gate[..., i, :], k[..., i, :]
        term = key[..., None] * v[..., i, None, :]
        if fade_late:
            state = stay(g)[..., None] * (state + enter(g)[..., None] * term)
            total = stay(g) * (total + enter(g) * key)
        elif fade_first:  # and read before writing
            state, total = g[..., None] * (state + 0 * term), g * total
        else:
            state = stay(g)[..., None] * state + enter(g)[..., None] * term
            total = stay_sum(g) * total + enter_sum(g) * key
        query = q[..., i, :] if asked else torch.ones_like(key)
        above = (query[..., None] * state).sum(-2)
        below = (query * total).sum(-1, keepdim=True) if divide == "q·z" else total.sum(-1, keepdim=True)
        below = {"tokens": i + 1, "nothing": 1.0}.get(divide, below)
        out.append(above / (below + 1e-12))
        if fade_first:
            state, total = state + (1 - g[..., None]) * term, total + (1 - g) * key
    return torch.stack(out, -2)


def squares(q, k, v, gate, whole=False):
    """Right, or nearly: with all n × n weights."""
    passed = gate.log().cumsum(-2)
    weights = (q @ k.mT * (passed - passed.mT).exp() * (1 - gate.mT)).tril()
    return weights @ v / ((q @ k.mT) if whole else weights).sum(-1, keepdim=True)


def scaled_in_place(q, k, v, gate):
    q /= q.sum(-1, keepdim=True)
    return walk(q, k, v, gate)


def only_matrices(q, k, v, gate):
    if q.dim() > 2:
        return torch.stack([walk(q[0, 0], k[0, 0], v[0, 0], gate[0, 0])] * 6).view(*v.shape)
    return walk(q, k, v, gate)


def ungated(q, k, v, gate):
    return (q @ (k.mT @ v)) / (q @ k.sum(-2, keepdim=True).mT)


def doubled(x):
    return 2 * x * x


def length(x):
    return x.norm(dim=-1, keepdim=True)


def one_less(g):
    return 1 - g


def same(g):
    return g


ONE = torch.ones_like


def delta(change):
    return lambda s, k, v, beta: s + change(s, k, v, beta)


SLIPS = (
    ("linear-costs", counted(lambda n, m, d: n * n * d, values), "leaves out the weights"),
    ("linear-costs", counted(lambda n, m, d: 2 * n * n * d, values), "m multiplications each, not d"),
    ("linear-costs", counted(lambda n, m, d: scores(n, m, d) + n * n, values), "division is not asked for"),
    ("linear-costs", counted(lambda n, m, d: n * (n + 1) // 2 * (m + d), values), "nothing is causal"),
    ("linear-costs", counted(scores, lambda n, m, d: n * m * d + n * n * d), "never makes n² weights"),
    ("linear-costs", counted(scores, lambda n, m, d: 2 * n * m * m), "a value has d numbers"),
    ("linear-costs", counted(scores, lambda n, m, d: 2 * n * d * d), "a key has m features"),
    ("linear-costs", counted(scores, lambda n, m, d: (n * m * d) ** 2), "Values first multiplies"),
    ("linear-costs", counted(scores, lambda n, m, d: 2 * n * m * d + n * m), "division is not asked for"),
    ("linear-costs", lambda n, m, d: scores(n, m, d), "It should return a pair"),
    ("linear-features", lambda x, w: directions(x, w)[..., : len(w)], "Every row of w gives two"),
    ("linear-features", lambda x, w: directions(x, w, axis=-2), "Features stand along the last"),
    ("linear-features", lambda x, w: directions(x, w, second=1.0), "Both halves are the same"),
    ("linear-features", lambda x, w: directions(x, w, divide=1.0), "a mean divides by 2m"),
    ("linear-features", lambda x, w: directions(x, w, divide=2 * len(w)), r"the product by \(2m\)²"),
    ("linear-features", lambda x, w: directions(x, w, divide=len(w)), "Each factor is divided by m"),
    ("linear-features", lambda x, w: directions(x, w, divide=w.shape[1] ** 0.5), "root of d, the width"),
    ("linear-features", lambda x, w: directions(x, w, square=doubled), "the whole square of the length"),
    ("linear-features", lambda x, w: directions(x, w, square=lambda x: -x * x), "wrong sign"),
    ("linear-features", lambda x, w: directions(x, w, square=lambda x: x.square() / 3), "mean of the squares"),
    ("linear-features", lambda x, w: directions(x, w, square=length), "Square it first"),
    ("linear-features", lambda x, w: directions(x * 3**-0.25, w), "once more"),
    ("linear-features", magnitudes, "different orders"),
    ("linear-features", softmaxed, "a softmax"),
    ("linear-features", lambda x, w: directions(x, w).log(), "not positive"),
    ("linear-features", lambda x, w: directions(x, w).sort(-1).values, "different orders"),
    ("linear-features", lambda x, w: directions(x, w, square=lambda x: F.pad(x, (0, 1)).square() * len(x) / 2),
     "One token without a batch"),
    ("linear-running-state", ungated, "sees the whole text"),
    ("linear-running-state", lambda *a: walk(*a, stay=ONE, enter=ONE), "The gate is not used"),
    ("linear-running-state", lambda *a: walk(*a, divide="nothing"), "not divided by their sum"),
    ("linear-running-state", lambda *a: walk(*a, divide="tokens"), "number of tokens"),
    ("linear-running-state", lambda *a: walk(*a, divide="z"), "has to meet the query"),
    ("linear-running-state", lambda *a: walk(*a, enter=ONE, enter_sum=one_less), "new value is written whole"),
    ("linear-running-state", lambda *a: walk(*a, enter_sum=ONE), "new key is added whole"),
    ("linear-running-state", lambda *a: walk(*a, stay_sum=ONE, enter_sum=ONE), "does not fade"),
    ("linear-running-state", lambda *a: walk(*a, stay=ONE, enter=ONE, stay_sum=same, enter_sum=one_less),
     "The matrix does not fade"),
    ("linear-running-state", lambda *a: walk(*a, stay=one_less, enter=same), "changed places"),
    ("linear-running-state", lambda *a: walk(*a, fade_late=True), "fades at once"),
    ("linear-running-state", lambda *a: walk(*a, fade_first=True), "reads the state before it has written"),
    ("linear-running-state", lambda *a: walk(*a, asked=False), "The query is not asked"),
    ("linear-running-state", lambda *a: squares(*a, whole=True), "over the whole text"),
    ("linear-running-state", squares, "n × n numbers"),
    ("linear-running-state", scaled_in_place, "changed its argument in place"),
    ("linear-running-state", only_matrices, "With a batch"),
    ("linear-running-state", lambda q, k, v, g: walk(q, k, v, g.flip(-2)), "second row should be"),
    ("linear-delta", delta(lambda s, k, v, b: torch.outer(k, v - b * (k @ s))), "the old answer alone"),
    ("linear-delta", delta(lambda s, k, v, b: torch.outer(k, b * v - k @ s)), "the value alone"),
    ("linear-delta", delta(lambda s, k, v, b: torch.outer(k, v - k @ s)), "The rate is missing"),
    ("linear-delta", delta(lambda s, k, v, b: -b * torch.outer(k, k @ s)), "writes nothing in its place"),
    ("linear-delta", delta(lambda s, k, v, b: b * (v - k @ s)), "goes into every row"),
    ("linear-delta", delta(lambda s, k, v, b: b * torch.outer(k, v - s.sum(0))), "the sum of all rows"),
    ("linear-delta", delta(lambda s, k, v, b: b * b * torch.outer(k, v - k @ s)), "used twice"),
    ("linear-delta", delta(lambda s, k, v, b: 0.5 * torch.outer(k, v - k @ s)), "With beta = 1"),
    ("linear-delta", delta(lambda s, k, v, b: max(b, 0.5) * torch.outer(k, v - k @ s)), "Use beta as it is"),
    ("linear-delta", lambda s, k, v, b: b * torch.outer(k, v - k @ s), "the change alone"),
    ("linear-delta", lambda s, k, v, b: torch.outer(k, v), "whole state is replaced"),
    ("linear-delta", lambda s, k, v, b: k @ s + b * (v - k @ s), r"should have shape \(3, 3\)"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "answer", "message"), SLIPS, ids=[f"{s[0]}: {s[2]}" for s in SLIPS])
def test_a_slip_is_a_verdict_that_names_it(name, answer, message):
    verdict = judge(name, answer)
    assert verdict.status == "wrong"
    assert re.search(message, verdict.message), verdict.message


def interleaved(x, w):
    angles = x @ w.mT
    exponents = torch.stack((angles, -angles), -1).flatten(-2) - x.norm(dim=-1, keepdim=True) ** 2 / 2
    return exponents.exp() * (2 * w.shape[0]) ** -0.5


def summed_at_once(q, k, v, gate):
    """No loop: sums that are divided by how much has faded, good for short texts."""
    passed = gate.log().cumsum(-2)
    k = k * (1 - gate) * (-passed).exp()
    state = (k[..., :, None] * v[..., None, :]).cumsum(-3)
    return (q[..., None, :] @ state).squeeze(-2) / (q * k.cumsum(-2)).sum(-1, keepdim=True)


def with_ones(q, k, v, gate):
    """The package's own trick: a column of ones sums the weights."""
    v = F.pad(v, (0, 1), value=1.0)
    state = torch.zeros(*k.shape[:-2], k.shape[-1], v.shape[-1], dtype=v.dtype)
    rows = []
    for a, b, x, g in zip(*(t.unbind(-2) for t in (q, k, v, gate)), strict=True):
        state = torch.lerp(b[..., None] * x[..., None, :], state, g[..., None])
        rows.append((a[..., None, :] @ state).squeeze(-2))
    out = torch.stack(rows, -2)
    return out[..., :-1] / out[..., -1:]


RIGHT = (
    ("linear-costs", lambda n, m, d: [n * n * m + n * n * d, n * m * d * 2]),
    ("linear-costs", lambda n, m, d: (float(n**2 * (m + d)), 2.0 * n * m * d)),
    ("linear-features", interleaved),
    ("linear-running-state", walk),
    ("linear-running-state", summed_at_once),
    ("linear-running-state", with_ones),
    (
        "linear-delta",
        lambda s, k, v, b: (torch.eye(len(k)) - b * torch.outer(k, k)) @ s + b * torch.outer(k, v),
    ),
    ("linear-delta", lambda s, k, v, b: s.addr(k, v - s.T @ k, alpha=b)),
    ("linear-delta", lambda s, k, v, b: s + b * k[:, None] * (v - (k[:, None] * s).sum(0))),
)


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_what_only_looks_odd_is_right(name, answer):
    verdict = judge(name, answer)
    assert verdict.status == "right", verdict.message
