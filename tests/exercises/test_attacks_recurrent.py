"""Answers to the exercises on looking back that readers may try: right ones in other styles, and attempts to get by."""

import math

import numpy as np
import pytest
import torch

from attnlab import scores


def asked(s, h, w_a, u_a, v, bend=torch.tanh):
    return bend((s @ w_a)[..., None, :] + h @ u_a) @ v


def mean(e, h, real):
    return (e.masked_fill(~real, -math.inf).softmax(-1)[..., None] * h).sum(-2)


def look(s, h, real, w_a, u_a, v):
    return mean(asked(s, h, w_a, u_a, v), h, real)


def window(e, p, radius):
    away = torch.arange(1, e.shape[-1] + 1) - p
    return e.masked_fill(away.abs() > radius, -math.inf).softmax(-1) * torch.exp(-2 * (away / radius) ** 2)


def token_by_token(s, h, real, w_a, u_a, v):
    if s.dim() > 1:
        rows = zip(s, h, real, strict=True)
        return torch.stack([token_by_token(a, b, c, w_a, u_a, v) for a, b, c in rows])
    h = h[real]
    e = torch.stack([v @ torch.tanh(s @ w_a + one @ u_a) for one in h])
    powers = (e - e.max()).exp()
    return sum(a * one for a, one in zip(powers / powers.sum(), h, strict=True))


def with_the_package(s, h, real, w_a, u_a, v):
    e = scores.additive(s[..., None, :], h, w_a, u_a, v)
    return (scores.softmax(e, real[..., None, :]) @ h)[..., 0, :]


def side_by_side(s, h, real, w_a, u_a, v):
    pairs = torch.cat((s[..., None, :].expand(*h.shape[:-1], -1), h), -1)
    e = torch.tanh(pairs @ torch.cat((w_a, u_a))) @ v
    return torch.nn.functional.scaled_dot_product_attention(
        torch.zeros_like(h[..., :1, :]), h, h, attn_mask=e.where(real, -math.inf)[..., None, :]
    )[..., 0, :]


def with_einsum(s, h, real, w_a, u_a, v):
    hidden = torch.einsum("...d,da->...a", s, w_a)[..., None, :] + torch.einsum("...nm,ma->...na", h, u_a)
    e = torch.einsum("...na,a->...n", hidden.tanh(), v)
    return torch.einsum("...n,...nm->...m", e.masked_fill(real.logical_not(), -1e30).softmax(-1), h)


def cut_and_divided_again(s, h, real, w_a, u_a, v):
    weights = asked(s, h, w_a, u_a, v).softmax(-1) * real
    return torch.einsum("...n,...nm->...m", weights / weights.sum(-1, keepdim=True), h)


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


def bells(e, p, radius, sigma):
    return e.masked_fill(away(e, p).abs() > radius, -math.inf).softmax(-1) * torch.exp(
        -(away(e, p) ** 2) / (2 * sigma**2)
    )


def nearest(e, p, radius):
    far = away(e, p).abs()
    cut = far.topk(min(2 * radius + 1, e.shape[-1]), largest=False).values[..., -1:]
    return e.masked_fill(far > cut, -math.inf).softmax(-1) * torch.exp(-2 * (far / radius) ** 2)


LOOKS = [
    ("token by token", "right", "", token_by_token),
    ("einsum", "right", "", with_einsum),
    ("the package's own score", "right", "", with_the_package),
    ("side by side, and torch's own attention", "right", "", side_by_side),
    ("state detached", "wrong", "gradient", lambda s, *rest: look(s.detach(), *rest)),
    (
        "in single precision",
        "wrong",
        "float64",
        lambda s, h, real, *w: look(s.float(), h.float(), real, *(x.float() for x in w)).to(s.dtype),
    ),
    ("the first token only", "wrong", "should", lambda s, h, *_: h[..., 0, :]),
    ("the state is not asked", "wrong", "should", lambda s, *rest: look(torch.zeros_like(s), *rest)),
    (
        "with NumPy inside",
        "wrong",
        "gradient",
        lambda *given: torch.from_numpy(np.asarray(look(*(x.detach() for x in given)))),
    ),
    (
        "tanh of the scores",
        "wrong",
        "should",
        lambda s, h, real, *w: mean(asked(s, h, *w, bend=lambda x: x).tanh(), h, real),
    ),
    (
        "a sharp corner for the tanh",
        "wrong",
        "should",
        lambda s, h, real, *w: mean(asked(s, h, *w, bend=torch.nn.functional.hardtanh), h, real),
    ),
    (
        "scores cut at 80",
        "wrong",
        "several hundreds",
        lambda s, h, real, *w: mean(asked(s, h, *w).clamp(-80, 80), h, real),
    ),
    ("scores detached", "wrong", "gradient", lambda s, h, real, *w: mean(asked(s, h, *w).detach(), h, real)),
    (
        "softmax over the batch",
        "wrong",
        "",
        lambda s, h, real, *w: (asked(s, h, *w).masked_fill(~real, -1e9).softmax(0)[..., None] * h).sum(-2),
    ),
    (
        "one state for the whole batch",
        "wrong",
        "",
        lambda s, *rest: look(s.reshape(-1, s.shape[-1])[0].expand_as(s), *rest),
    ),
    (
        "one length for the whole batch",
        "wrong",
        "",
        lambda s, h, real, *w: look(s, h, real.reshape(-1, real.shape[-1])[0].expand_as(real), *w),
    ),
    (
        "every text a token longer",
        "wrong",
        "",
        lambda s, h, real, *w: look(s, h, real | real.roll(1, -1) & (torch.arange(real.shape[-1]) > 0), *w),
    ),
    (
        "the last token forgotten",
        "wrong",
        "",
        lambda s, h, real, *w: look(s, h, real & real.roll(-1, -1), *w),
    ),
    (
        "the padding set to zero, and heard",
        "wrong",
        "",
        lambda s, h, real, *w: look(s, h * real[..., None], torch.ones_like(real), *w),
    ),
    (
        "minus thirty for the padding",
        "wrong",
        "far higher",
        lambda s, h, real, *w: mean(asked(s, h, *w).masked_fill(~real, -30), h, real | True),
    ),
    (
        "padding lowered by a hundred",
        "wrong",
        "far higher",
        lambda s, h, real, *w: mean(asked(s, h, *w) - 100 * ~real, h, real | True),
    ),
    ("cut, then divided again", "wrong", "", cut_and_divided_again),
    (
        "the text cut to the longest",
        "right",
        "",
        lambda s, h, real, *w: look(s, h[..., : (n := real.sum(-1).max()), :], real[..., :n], *w),
    ),
    ("no batch", "wrong", "", lambda s, h, real, *w: token_by_token(s, h[real], real[real], *w)),
    (
        "written into the annotations",
        "wrong",
        "in place",
        lambda s, h, real, *w: look(s, h.mul_(real[..., None]), real, *w),
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
    ("a whole number for sigma", "wrong", "should", lambda e, p, r: bells(e, p, r, max(r // 2, 1))),
    ("as many tokens as the window holds at best", "wrong", "should", nearest),
    ("a place within the text", "wrong", "should", lambda e, p, r: window(e, p.clamp(1, e.shape[-1]), r)),
    ("the bell detached", "wrong", "gradient", lambda e, p, r: window(e, p.detach(), r) + 0 * p),
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
        ("wrong", "two dates", lambda weights, made: with_a_matrix(weights[:10], made[:10])),
        (
            "wrong",
            "should be a number",
            lambda weights, made: [float(r[list(p)].sum()) for r, p in zip(weights, made, strict=True) if p],
        ),
        (
            "right",
            "",
            lambda weights, made: torch.stack(
                [weights[i, torch.tensor(p)].sum() for i, p in enumerate(made) if p]
            ).mean(),
        ),
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
        ("wrong", "last of 12 steps", lambda w: w[:8].sum(0).clamp(max=1).log().sum()),
        ("wrong", "next to nothing", lambda w: (w.sum(0).clamp(max=1) + 1e-9).log().sum()),
        ("right", "", lambda w: w.log().logsumexp(0).clamp(max=0).sum()),
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
