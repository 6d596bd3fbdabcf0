"""Answers to the exercises on looking back that readers may try: right ones in other styles, and attempts to get by."""

import math

import numpy as np
import pytest
import torch

from attnlab import scores


def look(s, h, w_a, u_a, v):
    weights = (torch.tanh((s @ w_a)[..., None, :] + h @ u_a) @ v).softmax(-1)
    return (weights[..., None] * h).sum(-2)


def window(e, p, radius):
    away = torch.arange(1, e.shape[-1] + 1) - p
    return e.masked_fill(away.abs() > radius, -math.inf).softmax(-1) * torch.exp(-2 * (away / radius) ** 2)


def token_by_token(s, h, w_a, u_a, v):
    if s.dim() > 1:
        return torch.stack([token_by_token(a, b, w_a, u_a, v) for a, b in zip(s, h, strict=True)])
    e = torch.stack([v @ torch.tanh(s @ w_a + one @ u_a) for one in h])
    powers = (e - e.max()).exp()
    return sum(a * one for a, one in zip(powers / powers.sum(), h, strict=True))


def with_the_package(s, h, w_a, u_a, v):
    return (scores.softmax(scores.additive(s[..., None, :], h, w_a, u_a, v)) @ h)[..., 0, :]


def away(e, p):
    return torch.arange(1, e.shape[-1] + 1) - p


def filled(e, p, radius, low=-math.inf):
    weights = e.masked_fill(away(e, p).abs() > radius, low).softmax(-1)
    return weights * torch.exp(-2 * (away(e, p) / radius) ** 2)


def window_in_logarithms(e, p, radius):
    inside = e.masked_fill(away(e, p).abs() > radius, -math.inf)
    return (inside - inside.logsumexp(-1, keepdim=True) - 2 * (away(e, p) / radius) ** 2).exp()


def cut_and_divided(e, p, radius):
    weights = e.softmax(-1) * (away(e, p).abs() <= radius)
    return weights / weights.sum(-1, keepdim=True) * torch.exp(-2 * (away(e, p) / radius) ** 2)


def place_by_place(e, p, radius):
    if e.dim() > 1:
        return torch.stack([place_by_place(a, b, radius) for a, b in zip(e, p, strict=True)])
    near = [j for j in range(len(e)) if abs(j + 1 - p.item()) <= radius]
    inside = torch.softmax(e[near], 0)
    out = torch.zeros_like(e)
    for j, weight in zip(near, inside, strict=True):
        out[j] = weight * torch.exp(-((j + 1 - p[0]) ** 2) / (2 * (radius / 2) ** 2))
    return out


LOOKS = [
    ("token by token", "right", "", token_by_token),
    (
        "einsum",
        "right",
        "",
        lambda s, h, w, u, v: torch.einsum(
            "...n,...nm->...m",
            look(s, h, w, u, v).new_tensor(0)
            + (
                torch.tanh(
                    torch.einsum("...d,da->...a", s, w)[..., None, :] + torch.einsum("...nm,ma->...na", h, u)
                )
                @ v
            ).softmax(-1),
            h,
        ),
    ),
    ("the package's own score", "right", "", with_the_package),
    ("detached state", "wrong", "gradient", lambda s, h, w, u, v: look(s.detach(), h, w, u, v)),
    (
        "in single precision",
        "wrong",
        "float64",
        lambda s, h, w, u, v: look(s.float(), h.float(), w.float(), u.float(), v.float()).to(s.dtype),
    ),
    ("the first token only", "wrong", "should", lambda s, h, w, u, v: h[..., 0, :]),
    (
        "the state is not asked",
        "wrong",
        "should",
        lambda s, h, w, u, v: look(torch.zeros_like(s), h, w, u, v),
    ),
    (
        "with NumPy inside",
        "wrong",
        "gradient",
        lambda s, h, w, u, v: torch.from_numpy(
            np.asarray(look(s.detach(), h.detach(), w.detach(), u.detach(), v.detach()))
        ),
    ),
    (
        "tanh of the scores",
        "wrong",
        "should",
        lambda s, h, w, u, v: ((((s @ w)[..., None, :] + h @ u) @ v).tanh().softmax(-1)[..., None] * h).sum(
            -2
        ),
    ),
    (
        "a sharp corner for the tanh",
        "wrong",
        "should",
        lambda s, h, w, u, v: (
            (torch.nn.functional.hardtanh((s @ w)[..., None, :] + h @ u) @ v).softmax(-1)[..., None] * h
        ).sum(-2),
    ),
    (
        "scores cut at 80",
        "wrong",
        "several hundreds",
        lambda s, h, w, u, v: (
            (torch.tanh((s @ w)[..., None, :] + h @ u) @ v).clamp(-80, 80).softmax(-1)[..., None] * h
        ).sum(-2),
    ),
    (
        "weights detached",
        "wrong",
        "gradient",
        lambda s, h, w, u, v: (
            (torch.tanh((s @ w)[..., None, :] + h @ u) @ v).softmax(-1).detach()[..., None] * h
        ).sum(-2),
    ),
    (
        "softmax over the batch",
        "wrong",
        "should",
        lambda s, h, w, u, v: ((torch.tanh((s @ w)[..., None, :] + h @ u) @ v).softmax(0)[..., None] * h).sum(
            -2
        ),
    ),
    (
        "one state for the whole batch",
        "wrong",
        "",
        lambda s, h, w, u, v: look(s.reshape(-1, s.shape[-1])[0].expand_as(s), h, w, u, v),
    ),
]
WINDOWS = [
    ("place by place", "right", "", place_by_place),
    ("normal density", "right", "", lambda e, p, r: window(e, p, r) * 1.0),
    ("rounded place", "wrong", "should", lambda e, p, r: window(e, p.round(), r)),
    ("detached place", "wrong", "gradient", lambda e, p, r: window(e, p.detach(), r)),
    ("a window too wide by one", "wrong", "should", lambda e, p, r: window(e, p, r + 1)),
    ("a full density", "wrong", "should", lambda e, p, r: window(e, p, r) / (r / 2 * math.sqrt(2 * math.pi))),
    ("radius always 2", "wrong", "should", lambda e, p, r: window(e, p, 2)),
    ("nothing near gets everything", "wrong", "should", lambda e, p, r: e.softmax(-1)),
    ("in logarithms", "right", "", window_in_logarithms),
    ("the lowest float outside", "right", "", lambda e, p, r: filled(e, p, r, torch.finfo(e.dtype).min)),
    ("minus a hundred outside", "wrong", "outside", lambda e, p, r: filled(e, p, r, -100)),
    ("cut after the softmax, then divided", "wrong", "outside", cut_and_divided),
    (
        "the bell before the softmax",
        "wrong",
        "should",
        lambda e, p, r: filled(e - 2 * (away(e, p) / r) ** 2, p, r),
    ),
    ("the window of the rounded place", "wrong", "should", lambda e, p, r: filled(e, p.floor(), r)),
    (
        "a triangle for a bell",
        "wrong",
        "should",
        lambda e, p, r: filled(e, p, r) * (1 - away(e, p).abs() / r),
    ),
    (
        "one place for the whole batch",
        "wrong",
        "should",
        lambda e, p, r: window(e, p.flatten()[0] + 0 * p, r),
    ),
    ("written into the scores", "wrong", "in place", lambda e, p, r: e.copy_(window(e, p, r))),
]


@pytest.mark.parametrize(("title", "status", "piece", "answer"), LOOKS, ids=[a[0] for a in LOOKS])
def test_look_back(judged, title, status, piece, answer):
    judged("recurrent-look-back", status, piece, answer)


@pytest.mark.parametrize(("title", "status", "piece", "answer"), WINDOWS, ids=[a[0] for a in WINDOWS])
def test_local_window(judged, title, status, piece, answer):
    judged("recurrent-local-window", status, piece, answer)


def in_plain_python(weights, made):
    found = [sum(float(row[i]) for i in places) for row, places in zip(weights, made, strict=True) if places]
    return sum(found) / len(found)


def with_a_matrix(weights, made):
    truth = torch.zeros_like(weights)
    for at, places in enumerate(made):
        truth[at, list(places)] = 1
    return (weights * truth).sum() / sum(1 for places in made if places)


@pytest.mark.parametrize(
    ("status", "piece", "answer"),
    [
        ("right", "", with_a_matrix),
        ("right", "", in_plain_python),
        ("wrong", "should", lambda weights, made: weights.max()),
        ("wrong", "should", lambda weights, made: with_a_matrix(weights, made) * 1.02),
        ("wrong", "should", lambda weights, made: with_a_matrix(weights[:-1], made[:-1])),
        ("wrong", "", lambda weights, made: 1 - with_a_matrix(weights, made)),
        (
            "right",
            "",
            lambda weights, made: np.mean(
                [w[list(p)].sum() for w, p in zip(weights.numpy(), made, strict=True) if p]
            ),
        ),
        ("wrong", "should", lambda weights, made: with_a_matrix(weights, made) * sum(map(bool, made)) / 8),
        (
            "wrong",
            "should",
            lambda weights, made: with_a_matrix(weights, [p and range(p[0], p[-1] + 1) for p in made]),
        ),
        ("wrong", "should", lambda weights, made: round(float(with_a_matrix(weights, made)), 2)),
    ],
)
def test_alignment(judged, status, piece, answer):
    judged("recurrent-alignment", status, piece, answer)


@pytest.mark.parametrize(
    ("status", "piece", "answer"),
    [
        ("right", "", lambda w: torch.minimum(w.sum(0), torch.ones(())).log().sum()),
        ("right", "", lambda w: sum(torch.log(torch.clamp(column.sum(), max=1.0)) for column in w.T)),
        ("right", "", lambda w: w.detach().sum(0).clamp(max=1).log().sum()),
        ("wrong", "should", lambda w: w.max(0).values.log().sum()),
        ("wrong", "should", lambda w: (w.sum(0).clamp(max=1) + 0.01).log().sum()),
        ("wrong", "should", lambda w: w[:-1].sum(0).clamp(max=1).log().sum()),
        ("right", "", lambda w: w.sum(0).log().clamp(max=0).sum()),
        ("right", "", lambda w: float(np.log(np.minimum(w.numpy().sum(0), 1)).sum())),
        ("wrong", "next to nothing", lambda w: w.sum(0).clamp(1e-3, 1).log().sum()),
        ("wrong", "60 tokens", lambda w: w.sum(0).clamp(max=1).prod().log()),
        ("wrong", "should", lambda w: w.mean(0).clamp(max=1).log().sum()),
        ("wrong", "should", lambda w: -(1 - w.sum(0)).clamp(min=0).sum()),
        ("wrong", "should", lambda w: w.sum(0).clamp(max=1).log().min()),
        ("wrong", "number", lambda w: w.sum(0).clamp(max=1).log()),
    ],
)  # fmt: skip
def test_coverage(judged, status, piece, answer):
    judged("recurrent-coverage", status, piece, answer)
