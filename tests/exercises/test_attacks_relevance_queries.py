"""Answers to the exercises on relevance, queries, keys and values that fooled an earlier checker, and others."""

import math

import numpy as np
import pytest
import torch

from attnlab import attention, scores


def pruned_once(z):
    stay = z > (z.sum(-1, keepdim=True) - 1) / z.shape[-1]
    return (z - ((z * stay).sum(-1, keepdim=True) - 1) / stay.sum(-1, keepdim=True)).clamp_min(0)


def pruned_until_done(z):  # Michelot's algorithm
    z = z - z.amax(-1, keepdim=True)
    stay = torch.ones_like(z, dtype=torch.bool)
    while True:
        threshold = ((z * stay).sum(-1, keepdim=True) - 1) / stay.sum(-1, keepdim=True)
        if torch.equal(stay & (z > threshold), stay):
            return (z - threshold).clamp_min(0)
        stay = stay & (z > threshold)


def support_of_the_first_row(z):
    ordered = z.sort(-1, descending=True).values
    thresholds = (ordered.cumsum(-1) - 1) / torch.arange(1, z.shape[-1] + 1)
    stay = int((ordered[0] > thresholds[0]).sum())
    return (z - thresholds[:, stay - 1 : stay]).clamp_min(0)


def halved(z):  # the right values, but the threshold is a constant to autograd
    z = z - z.amax(-1, keepdim=True)
    low, high = -torch.ones(len(z), 1), torch.zeros(len(z), 1)
    for _ in range(60):
        middle = (low + high) / 2
        over = (z - middle).clamp_min(0).sum(-1, keepdim=True) > 1
        low, high = torch.where(over, middle, low), torch.where(over, high, middle)
    return (z - low).clamp_min(0)


def near_the_leader(z):
    stay = z > z.amax(-1, keepdim=True) - 1
    return (z - ((z * stay).sum(-1, keepdim=True) - 1) / stay.sum(-1, keepdim=True)).clamp_min(0)


def two_at_most(z):
    top = z.topk(min(2, z.shape[-1]), -1).values
    thresholds = (top.cumsum(-1) - 1) / torch.arange(1, top.shape[-1] + 1)
    stay = (top > thresholds).sum(-1, keepdim=True)
    return (z - thresholds.gather(-1, stay - 1)).clamp_min(0)


def without_the_shift(z):
    ordered = z.sort(-1, descending=True).values
    thresholds = (ordered.cumsum(-1) - 1) / torch.arange(1, z.shape[-1] + 1)
    stay = (ordered > thresholds).sum(-1, keepdim=True)
    return (z - thresholds.gather(-1, stay - 1)).clamp_min(0)


def far_right(at, xs, ys, width):
    return torch.where(
        at > 30, ys[xs.argmax()], (w := (-((at[:, None] - xs) ** 2) / 2 / width**2).exp()) @ ys / w.sum(-1)
    )


def kernel(width=None, weigh=lambda e: e.softmax(-1)):
    return lambda at, xs, ys, w: weigh(-((at[:, None] - xs) ** 2) / (2 * (width or w) ** 2)) @ ys


def temperature_sought(low=-30.0, high=30.0, steps=100):
    def hear(s, heard):
        cold, hot = low, high
        for _ in range(steps):
            middle = (cold + hot) / 2
            p = ((s - s.max()) / math.exp(middle)).softmax(-1)
            cold, hot = (middle, hot) if torch.special.entr(p).sum().exp() < heard else (cold, middle)
        return p

    return hear


def entropy_written_out(s, heard):
    low, high = -30.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        p = (s / math.exp(middle)).softmax(-1)
        low, high = (middle, high) if (-(p * p.log()).sum()).exp() < heard else (low, middle)
    return p


def doubled_until_too_hot(s, heard):
    def row(t):
        return (s / t).softmax(-1)

    def words(t):
        return torch.special.entr(row(t)).sum().exp()

    t = 1.0
    while words(t) < heard:
        t *= 2
    while words(t) > heard:
        t /= 2
    low, high = t, 2 * t
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if words(middle) < heard else (low, middle)
    return row(high)


def best_of_a_grid(s, heard):
    rows = [(s / t).softmax(-1) for t in torch.logspace(-8, 8, 2000).tolist()]
    return min(rows, key=lambda p: (torch.special.entr(p).sum().exp() - heard).abs())


def by_sharpness(s, heard):
    z, low, high = (s - s.max()).double(), 1e-15, 1e15
    for _ in range(400):
        middle = math.sqrt(low * high)
        p = (z * middle).softmax(-1)
        if -(p[p > 0] * p[p > 0].log()).sum() > math.log(heard):
            low = middle
        else:
            high = middle
    return p.to(s)


def by_log_softmax(s, heard):
    z, log_t, step = s.double() - s.double().max(), 0.0, 32.0
    while step > 1e-12:
        log_p = (z / math.exp(log_t)).log_softmax(-1)
        log_t += step if (-(log_p.exp() * log_p).sum()).exp() < heard else -step
        step /= 2
    return log_p.exp().to(s)


def by_newton(s, heard):
    numbers = np.asarray(s, dtype=np.float64)
    numbers = (numbers - numbers.max()) / np.ptp(numbers)

    def row(log_t):
        e = np.exp(numbers / np.exp(log_t))
        return e / e.sum()

    def gap(log_t):
        p = row(log_t)
        return -(p * np.log(np.maximum(p, 1e-300))).sum() - math.log(heard)

    cold, hot = -25.0, 25.0
    for _ in range(200):  # false position, with a halving whenever it stalls
        guess = (cold * gap(hot) - hot * gap(cold)) / (gap(hot) - gap(cold)) if _ % 2 else (cold + hot) / 2
        cold, hot = (guess, hot) if gap(guess) < 0 else (cold, guess)
    return torch.tensor(row((cold + hot) / 2), dtype=s.dtype)


def half_filled(batch, n_q, n_k, d_model, d_k, d_v):
    sizes = {"q": (batch, n_q, d_k), "k": None, "v": ..., "scores": n_q * n_k}
    return sizes | {"weights": (batch, n_q, n_k), "out": (batch, n_q, d_v)}


def all_shapes(kind):
    def shapes(batch, n_q, n_k, d_model, d_k, d_v):
        sizes = {"q": (batch, n_q, d_k), "k": (batch, n_k, d_k), "v": (batch, n_k, d_v)}
        sizes |= {"scores": (batch, n_q, n_k), "weights": (batch, n_q, n_k), "out": (batch, n_q, d_v)}
        return {name: kind(shape) for name, shape in sizes.items()}

    return shapes


def circle(length, reach=2 * math.pi, turn=1):
    def before(n):
        arrows = torch.polar(torch.full((n,), length), reach * torch.arange(n) / n)
        keys = torch.view_as_real(arrows)
        return keys.roll(turn, 0), keys

    return before


def parabola(n):  # -(i - 1 - j)^2 is a product of two pairs, but for what all keys of a row share
    place = torch.arange(n, dtype=torch.float64)
    return 10 * torch.stack((2 * (place - 1), torch.ones(n)), -1), torch.stack((place, -(place**2)), -1)


def only_eight(n):
    return circle(100.0)(n) if n < 9 else (torch.zeros(n, 2), torch.zeros(n, 2))


def by_svd(share):
    def narrow(w_q, w_k):
        u, s, vh = torch.linalg.svd(w_q @ w_k.T * math.sqrt(len(w_q) / w_q.shape[1]))
        return u * s**share, vh.T * s ** (1 - share)

    return narrow


def by_qr(w_q, w_k):
    turn, triangle = torch.linalg.qr(w_k.T)  # W_k = triangle.T @ turn.T
    factor = (len(w_q) / w_q.shape[1]) ** 0.25
    return factor * w_q @ turn, factor * triangle.T


def root_of_sixteen(w_q, w_k):
    return w_q @ w_k.T * math.sqrt(len(w_q)) / 4, torch.eye(len(w_q))


def largest_direction_only(w_q, w_k):
    u, s, vh = torch.linalg.svd(w_q @ w_k.T * math.sqrt(len(w_q) / w_q.shape[1]))
    s[1:] = 0
    return u * s, vh.T


def layer(attend=attention, ask=lambda x, memory: (x, memory), sizes=lambda *given: given):
    class Head(torch.nn.Module):
        def __init__(self, d_model, d_memory, d_k, d_v):
            super().__init__()
            d_model, d_memory, d_k, d_v = sizes(d_model, d_memory, d_k, d_v)
            self.v_proj = torch.nn.Linear(d_memory, d_v, bias=False)
            self.k_proj = torch.nn.Linear(d_memory, d_k, bias=False)
            self.q_proj = torch.nn.Linear(d_model, d_k, False)

        def forward(self, x, memory=None):
            asks, asked = ask(x, x if memory is None else memory)
            return attend(self.q_proj(asks), self.k_proj(asked), self.v_proj(asked))

    return Head


def bilinear(q, k, v):
    return torch.einsum(
        "...qk,...kv->...qv", (torch.einsum("...qd,...kd->...qk", q, k) / q.shape[-1] ** 0.5).softmax(-1), v
    )


def in_loops(q, k, v):
    if q.dim() > 2:
        return torch.stack([in_loops(*one) for one in zip(q, k, v, strict=True)])
    return torch.stack(
        [sum(w * x for w, x in zip((k @ one / len(one) ** 0.5).softmax(0), v, strict=True)) for one in q]
    )


def last_row_forgotten(q, k, v):
    out = attention(q, k, v)
    return torch.cat((out[..., :-1, :], 0 * out[..., -1:, :]), -2)


def overflowing(q, k, v):
    e = (q @ k.mT / q.shape[-1] ** 0.5).exp()
    return e / e.sum(-1, keepdim=True) @ v


def two_by_three(q, k, v):
    if q.dim() < 4:
        return attention(q, k, v)
    return torch.stack(
        [torch.stack([attention(q[i, j], k[i, j], v[i, j]) for j in range(3)]) for i in range(2)]
    )


def in_other_arrows(w_q, w_k):
    turn = torch.randn(len(w_q), len(w_q), dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    turn += 4 * torch.eye(len(w_q))
    table = (w_q @ w_k.T).double() * math.sqrt(len(w_q) / w_q.shape[1])
    return table @ turn, torch.linalg.inv(turn).T


def causal(q, k, v):
    return attention(q, k, v, mask=torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril())


ATTACKS = [
    ("pruned once", "relevance-sparsemax", "wrong", "That threshold can drop further scores", pruned_once),
    ("within 1 of the leader", "relevance-sparsemax", "wrong", "keeps every score within 1", near_the_leader),
    ("two at most", "relevance-sparsemax", "wrong", "lets two scores stay", two_at_most),
    ("sums at 1e8", "relevance-sparsemax", "wrong", "With scores near a hundred million: it raised", without_the_shift),
    ("a boolean", "relevance-sparsemax", "wrong", "hold real numbers", lambda z: z > 0),
    ("detached", "relevance-sparsemax", "wrong", "gradient", lambda z: scores.sparsemax(z).detach()),
    ("the first row's support", "relevance-sparsemax", "wrong", "should be", support_of_the_first_row),
    ("halved", "relevance-sparsemax", "wrong", "The values are right; the gradient is not", halved),
    ("pruned until done", "relevance-sparsemax", "right", "", pruned_until_done),
    ("sorted and shifted", "relevance-sparsemax", "right", "", lambda z: without_the_shift(z - z.amax(-1, True))),
    ("a few steps", "relevance-temperature", "wrong", "should be", temperature_sought(steps=8)),
    ("a grid", "relevance-temperature", "wrong", "should be", best_of_a_grid),
    ("only hot", "relevance-temperature", "wrong", "should be", temperature_sought(low=0.0)),
    ("entropy written out", "relevance-temperature", "wrong", "0 · ln 0 is NaN", entropy_written_out),
    ("doubled until too hot", "relevance-temperature", "right", "", doubled_until_too_hot),
    ("a half heard", "relevance-temperature", "wrong", "should be", lambda s, heard: temperature_sought()(s, 1 + (len(s) - 1) / 2)),
    ("standard scores", "relevance-temperature", "wrong", "",
     lambda s, heard: (e := (s / s.std()).exp()) / e.sum()),
    ("false position in NumPy", "relevance-temperature", "right", "", by_newton),
    ("sharpness", "relevance-temperature", "right", "", by_sharpness),
    ("log softmax", "relevance-temperature", "right", "", by_log_softmax),
    ("the width 0.64", "relevance-kernel", "wrong", "should be", kernel(0.64)),
    ("far right only", "relevance-kernel", "wrong", "far from all points", far_right),
    ("plus epsilon", "relevance-kernel", "wrong", "far from all points",
     kernel(weigh=lambda e: e.exp() / (e.exp().sum(-1, keepdim=True) + 1e-9))),
    ("as a dot product", "relevance-kernel", "right", "",
     lambda at, xs, ys, w: ((at[:, None] * xs - xs**2 / 2) / w**2).softmax(-1) @ ys),
    ("keys not of one length", "relevance-kernel", "wrong", "should be",
     lambda at, xs, ys, w: (at[:, None] * xs / w**2).softmax(-1) @ ys),
    ("shifted by hand", "relevance-kernel", "right", "",
     kernel(weigh=lambda e: (w := (e - e.amax(-1, True)).exp()) / w.sum(-1, keepdim=True))),
    ("by distances", "relevance-kernel", "right", "",
     lambda at, xs, ys, w: (-torch.cdist(at[:, None], xs[:, None]) ** 2 / 2 / w**2).softmax(-1) @ ys
     if not at.requires_grad else kernel()(at, xs, ys, w)),
    ("half a circle", "queries-before", "right", "", circle(300.0, reach=math.pi)),
    ("complex arrows", "queries-before", "right", "", circle(50.0)),
    ("a parabola", "queries-before", "right", "", parabola),
    ("lists", "queries-before", "right", "", lambda n: list(circle(80.0)(n))),
    ("eight places", "queries-before", "wrong", "With n = 20", only_eight),
    ("very long", "queries-before", "right", "", circle(1e6)),
    ("endless arrows", "queries-before", "wrong", "not a number", circle(math.inf)),
    ("two before", "queries-before", "wrong", "place 1 should give at least 0.9 to place 0", circle(100.0, turn=2)),
    ("barely too short", "queries-before", "wrong", "With n = 50", circle(20.0)),
    ("too narrow", "queries-before", "wrong", "a row for each place", lambda n: (torch.ones(n, 1), torch.ones(n, 1))),
    ("NumPy", "queries-before", "wrong", "should be a tensor", lambda n: (np.ones((n, 2)), np.ones((n, 2)))),
    ("arrows turned", "queries-before", "wrong", "it is a tensor of shape (2, 3)", lambda n: tuple(x.T for x in circle(80.0)(n))),
    ("whole numbers", "queries-before", "right", "", lambda n: tuple((9 * x).round().long() for x in circle(80.0)(n))),
    ("another gauge", "queries-narrow", "right", "", in_other_arrows),
    ("symmetric", "queries-narrow", "wrong", "should be",
     lambda w_q, w_k: ((lambda t: (t + t.T) / 2)(by_svd(1.0)(w_q, w_k)[0] @ by_svd(1.0)(w_q, w_k)[1].T), torch.eye(len(w_q)))),
    ("the fourth root, once", "queries-narrow", "wrong", "should be",
     lambda w_q, w_k: (w_q @ w_k.T * (len(w_q) / w_q.shape[1]) ** 0.25, torch.eye(len(w_q)))),
    ("SVD", "queries-narrow", "right", "", by_svd(1.0)),
    ("SVD, shared", "queries-narrow", "right", "", by_svd(0.5)),
    ("QR", "queries-narrow", "right", "", by_qr),
    ("keys hold all", "queries-narrow", "right", "",
     lambda w_q, w_k: (torch.eye(len(w_q)), w_k @ w_q.T * math.sqrt(len(w_q) / w_q.shape[1]))),
    ("sixteen for all", "queries-narrow", "wrong", "should be", root_of_sixteen),
    ("one direction", "queries-narrow", "wrong", "should be", largest_direction_only),
    ("zeros", "queries-narrow", "wrong", "should be", lambda w_q, w_k: (0 * w_q @ w_k.T, torch.eye(len(w_q)))),
    ("NaN", "queries-narrow", "wrong", "should be", lambda w_q, w_k: (w_q @ w_k.T * math.nan, torch.eye(len(w_q)))),
    ("means of columns", "queries-narrow", "wrong", "should be",
     lambda w_q, w_k: tuple(torch.nn.functional.adaptive_avg_pool1d(w, len(w_q)) for w in (w_q, w_k))),
    ("one matrix", "queries-narrow", "wrong", "two matrices", lambda w_q, w_k: w_q @ w_k.T),
    ("the package", "queries-layer", "right", "", layer()),
    ("fused", "queries-layer", "right", "", layer(torch.nn.functional.scaled_dot_product_attention)),
    ("einsum", "queries-layer", "right", "", layer(bilinear)),
    ("loops", "queries-layer", "right", "", layer(in_loops)),
    ("overflow", "queries-layer", "wrong", "exp overflows", layer(overflowing)),
    ("a batch of 2 by 3", "queries-layer", "wrong", "should have shape", layer(two_by_three)),
    ("half of it detached", "queries-layer", "wrong", "no gradient reaches x",
     layer(lambda q, k, v: attention(q.detach(), k.detach(), v))),
    ("the root of the number of keys", "queries-layer", "wrong", "should be",
     layer(lambda q, k, v: attention(q, k, v, scale=k.shape[-2] ** -0.5))),
    ("always causal where it asks itself", "queries-layer", "wrong", "of the entry 'head(x)'",
     layer(lambda q, k, v: (causal if q.shape == k.shape else attention)(q, k, v))),
    ("the last row", "queries-layer", "wrong", "row 4 of the entry", layer(last_row_forgotten)),
    ("causal", "queries-layer", "wrong", "should be", layer(causal)),
    ("asks the wrong way", "queries-layer", "wrong", "cannot be multiplied", layer(ask=lambda x, memory: (memory, x))),
    ("sizes swapped", "queries-layer", "wrong", "'q_proj.weight'", layer(sizes=lambda a, b, c, d: (a, b, d, c))),
    ("an instance", "queries-layer", "wrong", "it raised TypeError", layer()(2, 2, 2, 2)),
    ("values averaged", "queries-layer", "wrong", "no gradient reaches x",
     layer(lambda q, k, v: v.mean(-2, keepdim=True).expand(*q.shape[:-1], -1))),
    ("a list", "queries-layer", "wrong", "should return a tensor", layer(lambda *qkv: attention(*qkv).tolist())),
    ("half filled", "queries-shapes", "wrong", "the entry 'k' is None", half_filled),
    ("sizes", "queries-shapes", "right", "", all_shapes(torch.Size)),
    ("lists", "queries-shapes", "right", "", all_shapes(list)),
    ("arrays", "queries-shapes", "right", "", all_shapes(np.array)),
    ("numbers of entries", "queries-shapes", "wrong", "should be a tuple of 3", all_shapes(math.prod)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "status", "message", "answer"),
    [a[1:] for a in ATTACKS],
    ids=[f"{a[1]}: {a[0]}" for a in ATTACKS],
)
def test_an_attack_is_judged_rightly(judged, name, status, message, answer):
    judged(name, status, message, answer)
