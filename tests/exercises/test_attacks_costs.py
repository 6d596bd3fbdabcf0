"""Answers to the exercises on costs that readers tried, or that fooled an earlier checker."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch


def online(tiles, start=-math.inf, new=lambda m, s: torch.maximum(m, s.max()), pieces=lambda s, v: ((s, v),)):
    """Right; or with another start, another maximum, and tiles cut in pieces."""
    largest, powers, total = torch.tensor(start), 0.0, 0.0
    for tile in tiles:
        for s, v in pieces(*tile):
            now = new(largest, s)
            correction, e = (largest - now).exp(), (s - now).exp()
            powers, total, largest = powers * correction + e.sum(), total * correction + e @ v, now
    return total / powers


def two_passes(tiles):
    first, second = itertools.tee(tiles)
    largest = max(s.max() for s, _ in first)
    powers, total = 0.0, 0.0
    for s, v in second:
        e = (s - largest).exp()
        powers, total = powers + e.sum(), total + e @ v
    return total / powers


def kept(form):
    """Keep every tile in some form, and take the row at once."""

    def online_attention(tiles):
        scores, values = zip(*((form(s), form(v)) for s, v in tiles), strict=True)
        s, v = (torch.cat([torch.as_tensor(x) for x in part]) for part in (scores, values))
        return s.softmax(0) @ v

    return online_attention


def by_logs(tiles):
    """Keep a mean and the log of the sum, as `sparse.tiled` does: another road, as right."""
    log, mean = torch.tensor(-math.inf), 0.0
    for s, v in tiles:
        new = torch.logaddexp(log, s.logsumexp(0))
        mean = mean * (log - new).exp() + (s.logsumexp(0) - new).exp() * (s.softmax(0) @ v)
        log = new
    return mean


def in_numpy(tiles):
    largest, powers, total = -np.inf, 0.0, 0.0
    for s, v in tiles:
        s, v = s.numpy(), v.numpy()
        new = max(largest, s.max())
        correction, e = np.exp(largest - new), np.exp(s - new)
        powers, total, largest = powers * correction + e.sum(), total * correction + e @ v, new
    return torch.as_tensor(total / powers, dtype=torch.from_numpy(v).dtype)


def in_plain_numbers(tiles):
    largest, powers, total = -math.inf, 0.0, None
    for s, v in tiles:
        for score, value in zip(s.tolist(), v, strict=True):
            new = max(largest, score)
            correction, e = math.exp(largest - new), math.exp(score - new)
            powers = powers * correction + e
            total = e * value if total is None else total * correction + e * value
            largest = new
    return total / powers


def padded(tiles):
    """Fill every tile up to 40 scores: with minus infinity nothing changes."""

    def fill(s, v):
        more = max(0, 40 - len(s))
        return (
            (torch.cat((s, s.new_full((more,), -math.inf))), torch.cat((v, v.new_zeros(more, v.shape[1])))),
        )

    return online(tiles, pieces=fill)


def zero_padded(tiles):
    def fill(s, v):
        more = -len(s) % 3
        return ((torch.cat((s, s.new_zeros(more))), torch.cat((v, v.new_zeros(more, v.shape[1])))),)

    return online(tiles, pieces=fill)


def endless(tiles):
    tile = next(tiles)
    while True:
        tile = (tile[0] * 1, tile[1])


def exact(n, d, h):
    return 4 * n * d * d + 2 * n * n * d


def ratio(n, h, k, d, b):
    return 2 * h / (k * b)


def win(n, batch, w, t):
    return 1 + batch * n * t / w


ATTACKS = [
    ("two passes by tee", "costs-online", "wrong", "", two_passes),
    ("two passes by a list", "costs-online", "wrong", "what it holds grows with the row", lambda t: two_passes(list(t))),
    ("every tile kept", "costs-online", "wrong", "what it holds grows with the row", kept(lambda x: x)),
    ("kept as lists", "costs-online", "wrong", "what it holds grows with the row", kept(lambda x: x.tolist())),
    ("kept as arrays", "costs-online", "wrong", "what it holds grows with the row", kept(lambda x: x.numpy().copy())),
    ("padded with scores of zero", "costs-online", "wrong", "scores in tiles of", zero_padded),
    ("a start at 0", "costs-online", "wrong", "Start it at −∞", lambda t: online(t, start=0.0)),
    ("a start at −10,000", "costs-online", "wrong", "Start it at −∞", lambda t: online(t, start=-1e4)),
    ("the first score for the maximum", "costs-online", "wrong", "should be", lambda t: online(t, new=lambda m, s: torch.maximum(m, s[0]))),
    ("the maximum shrinks", "costs-online", "wrong", "not the largest so far", lambda t: online(t, new=lambda m, s: s.max())),
    ("clamped scores", "costs-online", "wrong", "With scores around 10,000", lambda t: online(t, pieces=lambda s, v: ((s.clamp(-80, 80), v),))),
    ("a batch of one", "costs-online", "wrong", "should have shape", lambda t: online(t)[None]),
    ("single precision", "costs-online", "wrong", "in float64", lambda t: online(t, pieces=lambda s, v: ((s.float(), v.float()),)).double()),
    ("an endless one", "costs-online", "wrong", "With 7 scores in tiles of 3: it does not stop", endless),
    ("a generator is no answer", "costs-online", "wrong", "should be a tensor", lambda t: (s for s, v in t)),
    ("by logs", "costs-online", "right", "", by_logs),
    ("NumPy", "costs-online", "right", "", in_numpy),
    ("one key at a time", "costs-online", "right", "", in_plain_numbers),
    ("two keys at a time", "costs-online", "right", "", lambda t: online(t, pieces=lambda s, v: zip(s.split(2), v.split(2), strict=True))),
    ("the past as one more score", "costs-online", "right", "", lambda t: online(t, new=lambda m, s: torch.cat((m.view(1).to(s.dtype), s)).max())),
    ("filled up with −∞", "costs-online", "right", "", padded),
    ("Fraction", "costs-count", "right", "", lambda *a: Fraction(exact(*a))),
    ("Decimal", "costs-count", "right", "", lambda *a: Decimal(exact(*a))),
    ("int64", "costs-count", "right", "", lambda *a: np.int64(exact(*a))),
    ("an array of one", "costs-count", "right", "", lambda *a: np.array(exact(*a))),
    ("a tensor", "costs-count", "right", "", lambda *a: torch.tensor(exact(*a))),
    ("half of one more", "costs-count", "wrong", "13160.0, it is 13160.5", lambda *a: exact(*a) + 0.5),
    ("NaN", "costs-count", "wrong", "it is nan", lambda *a: math.nan),
    ("a pair", "costs-count", "wrong", "should be a number", lambda *a: (exact(*a), 0)),
    ("a bias is added", "costs-count", "wrong", "A bias is added", lambda n, d, h: exact(n, d, h) + 4 * n * d),
    ("scores of all heads in full width", "costs-count", "wrong", "only d_model / n_heads wide", lambda n, d, h: 4 * n * d * d + 2 * h * n * n * d),
    ("causal", "costs-count", "wrong", "Nothing is hidden", lambda n, d, h: 4 * n * d * d + n * (n + 1) * d),
    ("whole groups", "costs-intensity", "wrong", "n_heads // n_kv_heads drops", lambda n, h, k, d, b: 2 * (h // k) / b),
    ("two digits", "costs-intensity", "wrong", "0.5625 bytes", lambda *a: round(ratio(*a), 2)),
    ("two whole bytes", "costs-intensity", "wrong", "should be", lambda n, h, k, d, b: ratio(n, h, k, d, int(b) or 1)),
    ("four bytes always", "costs-intensity", "wrong", "should be", lambda n, h, k, d, b: h / k / 2),
    ("a Fraction", "costs-intensity", "right", "", lambda n, h, k, d, b: Fraction(2 * h, k) / Fraction(b)),
    ("a Decimal", "costs-intensity", "right", "", lambda n, h, k, d, b: Decimal(2 * h) / (k * Decimal(b))),
    ("float32", "costs-intensity", "right", "", lambda *a: np.float32(ratio(*a))),
    ("a 0-d array", "costs-intensity", "right", "", lambda *a: np.array(ratio(*a))),
    ("the long way", "costs-intensity", "right", "", lambda n, h, k, d, b: sum(4 * h * d for _ in range(n)) / (2 * n * k * d * b)),
    ("a Fraction", "costs-win", "right", "", lambda n, batch, w, t: Fraction(w + batch * n * t, w)),
    ("a tensor", "costs-win", "right", "", lambda *a: torch.tensor(win(*a), dtype=torch.float64)),
    ("float32", "costs-win", "right", "", lambda *a: np.float32(win(*a))),
    ("three digits", "costs-win", "wrong", "should be", lambda *a: round(win(*a), 3)),
    ("weights for each", "costs-win", "wrong", "not once for each", lambda n, batch, w, t: batch + batch * n * t / w),
    ("per cent", "costs-win", "wrong", "the share of the cache", lambda *a: 100 - 100 / win(*a)),
    ("square of the length", "costs-win", "wrong", "not with n²", lambda n, batch, w, t: 1 + batch * n * n * t / w),
    ("a text", "costs-win", "wrong", "should be a number", lambda *a: str(win(*a))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "status", "message", "answer"),
    [a[1:] for a in ATTACKS],
    ids=[f"{a[1]}: {a[0]}" for a in ATTACKS],
)
def test_an_attack_is_judged_rightly(judged, name, status, message, answer):
    judged(name, status, message, answer)
