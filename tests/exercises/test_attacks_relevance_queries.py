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


def head(
    scale=lambda x, w_q, w_v: w_q.shape[-1] ** -0.5, weigh=lambda s: s.softmax(-1), project=lambda x, w: x @ w
):
    def self_attention(x, w_q, w_k, w_v):
        q, k, v = (project(x, w) for w in (w_q, w_k, w_v))
        return weigh(q @ k.mT * scale(x, w_q, w_v)) @ v

    return self_attention


def rows_forgotten(x, w_q, w_k, w_v):
    out = attention(x @ w_q, x @ w_k, x @ w_v)
    return torch.cat((out[..., :-1, :], torch.zeros_like(out[..., -1:, :])), -2)


def first_two_of_the_batch(x, w_q, w_k, w_v):
    if x.dim() == 2:
        return head()(x, w_q, w_k, w_v)
    return torch.stack([head()(x[0], w_q, w_k, w_v), head()(x[1], w_q, w_k, w_v)])


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


def half_filled(batch, n, d_model, d_k, d_v):
    return {
        "q": (batch, n, d_k),
        "k": None,
        "v": ...,
        "scores": n * n,
        "weights": (batch, n, n),
        "out": (batch, n, d_v),
    }


def all_shapes(kind):
    def shapes(batch, n, d_model, d_k, d_v):
        sizes = {"q": (batch, n, d_k), "k": (batch, n, d_k), "v": (batch, n, d_v), "scores": (batch, n, n)}
        return {
            name: kind(shape)
            for name, shape in (sizes | {"weights": (batch, n, n), "out": (batch, n, d_v)}).items()
        }

    return shapes


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
    ("the root of five", "queries-self-attention", "wrong", "should be", head(lambda x, w_q, w_v: 5**-0.5)),
    ("the root of n + 1", "queries-self-attention", "wrong", "should be", head(lambda x, w_q, w_v: (x.shape[-2] + 1) ** -0.5)),
    ("the root of a sum", "queries-self-attention", "wrong", "should be",
     head(lambda x, w_q, w_v: (x.shape[-1] + w_v.shape[-1]) ** -0.5)),
    ("two sentences", "queries-self-attention", "wrong", "should", first_two_of_the_batch),
    ("the last row", "queries-self-attention", "wrong", "row 4 should be", rows_forgotten),
    ("overflow", "queries-self-attention", "wrong", "Large exponentials overflow",
     head(weigh=lambda s: s.exp() / s.exp().sum(-1, keepdim=True))),
    ("detached", "queries-self-attention", "wrong", "no gradient reaches x", lambda *a: head()(*a).detach()),
    ("dim 1", "queries-self-attention", "wrong", "The softmax runs along dimension 1", head(weigh=lambda s: s.softmax(1))),
    ("linear layers", "queries-self-attention", "right", "",
     head(project=lambda x, w: torch.nn.functional.linear(x, w.mT))),
    ("fused", "queries-self-attention", "right", "",
     lambda x, w_q, w_k, w_v: torch.nn.functional.scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v)),
    ("one product", "queries-self-attention", "right", "",
     lambda x, w_q, w_k, w_v: (x @ (w_q @ w_k.mT) @ x.mT / math.sqrt(w_q.shape[-1])).softmax(-1) @ x @ w_v),
    ("by rows", "queries-columns", "right", "", lambda q, k, v: attention(q.T, k.T, v.T).T),
    ("the root of five", "queries-columns", "wrong", "should be", lambda q, k, v: v @ (k.T @ q / 5**0.5).softmax(0)),
    ("the last column", "queries-columns", "wrong", "should be",
     lambda q, k, v: torch.cat(((o := v @ (k.T @ q / len(q) ** 0.5).softmax(0))[:, :-1], 0 * o[:, -1:]), 1)),
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
