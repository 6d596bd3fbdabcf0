"""More slips that the checkers of costs name, and odd answers that are right."""

import math

import pytest
import torch

from attnlab.checks import judge


def by_tiles(
    scores, values, tile, *, start=-math.inf, size=None, after=False, base=False, own=False, of=None
):
    largest, powers, total = torch.tensor(start), torch.zeros(()), torch.zeros(values.shape[-1])
    for s, v in zip(scores.split(size or tile), values.split(size or tile), strict=True):
        seen = s.max() if of is None else of(s)
        new = seen if own else torch.maximum(largest, seen)
        correction, e = ((x.exp2() if base else x.exp()) for x in (largest - new, s - new))
        if after:
            powers, total = (powers + e.sum()) * correction, (total + e @ v) * correction
        else:
            powers, total = powers * correction + e.sum(), total * correction + e @ v
        largest = new
    return total / powers


def own_maximum(scores, values, tile):
    largest, powers, total = -math.inf, 0.0, 0.0
    for s, v in zip(scores.split(tile), values.split(tile), strict=True):
        new = max(largest, s.max().item())
        e, correction = (s - s.max()).exp(), math.exp(largest - new)
        powers, total, largest = powers * correction + e.sum(), total * correction + e @ v, new
    return total / powers


def shares(scores, values, tile):
    parts = zip(scores.split(tile), values.split(tile), strict=True)
    return torch.stack([s.softmax(0) @ v for s, v in parts]).mean(0)


def in_place(scores, values, tile):
    scores -= scores[:tile].max()
    return by_tiles(scores, values, tile)


def logs(scores, values, tile):
    """Keep a mean and the log of the sum, as `sparse.tiled` does: another road, as right."""
    log, mean = torch.tensor(-math.inf), torch.zeros(values.shape[-1])
    for s, v in zip(scores.split(tile), values.split(tile), strict=True):
        new = torch.logaddexp(log, s.logsumexp(0))
        mean = mean * (log - new).exp() + (s.logsumexp(0) - new).exp() * (s.softmax(0) @ v)
        log = new
    return mean


def slices(scores, values, tile):
    """Use slices and plain numbers for the running maximum."""
    largest, powers, total = -math.inf, 0.0, 0.0
    for at in range(0, len(scores), tile):
        s, v = scores[at : at + tile], values[at : at + tile]
        new = max(largest, float(s.max()))
        e = torch.exp(s - new)
        powers = powers * math.exp(largest - new) + float(e.sum())
        total = total * math.exp(largest - new) + (e[:, None] * v).sum(0)
        largest = new
    return total / powers


def padded(scores, values, tile):
    """Fill the last tile up with scores of minus infinity."""
    more = -len(scores) % tile
    scores = torch.cat((scores, torch.full((more,), -math.inf)))
    return by_tiles(scores, torch.cat((values, torch.zeros(more, values.shape[1]))), tile)


SLIPS = (
    ("costs-count", lambda n, d, h: 4 * n * d * (d // h) + 2 * n * n * d, "Each projection maps"),
    ("costs-count", lambda n, d, h: 4 * n * d * d + 2 * n * n * (d // h), "attention of one head"),
    ("costs-count", lambda n, d, h: 4 * d * d + 2 * n * n * d, "goes through the projections"),
    ("costs-count", lambda n, d, h: n * d * d + 2 * n * n * d, "for queries, keys, values and the output"),
    ("costs-count", lambda n, d, h: 4 * n * d * d + n * (n + 1) * d, "Nothing is hidden"),
    ("costs-count", lambda n, d, h: 12 * n * d * d + 2 * n * n * d, "The feed-forward block"),
    ("costs-count", lambda n, d, h: 4 * n * d * d * h + 2 * n * n * d, "not come once for each head"),
    ("costs-count", lambda n, d, h: 4 * n * d * d + 2 * n * n * d + h * n * n, "The softmax is not asked for"),
    ("costs-count", lambda n, d, h: 4 * n * (d * d + d) + 2 * n * n * d, "A bias is added"),
    ("costs-count", lambda n, d, h: 4 * n * d * d + 2 * n * d, "n² pairs"),
    ("costs-count", lambda n, d, h: 4 * n * d * d + 2 * n * n, "a sum over the width"),
    ("costs-count", lambda n, d, h: 4 * n * d * d + 2 * n * n * d + 0.5, "a whole number"),
    ("costs-count", lambda n, d, h: math.nan, "a finite number"),
    ("costs-online", shares, "takes a softmax in each tile and averages"),
    ("costs-online", lambda s, v, t: s.softmax(0) @ v, "the whole row at once"),
    ("costs-online", lambda s, v, t: by_tiles(s, v, t, size=len(s)), "the whole row at once"),
    ("costs-online", lambda s, v, t: by_tiles(s, v, t, size=3), "The size of a tile is given"),
    ("costs-online", lambda s, v, t: by_tiles(s, v, t, start=0.0), "Start it at −∞"),
    ("costs-online", lambda s, v, t: by_tiles(s, v, t, start=-1e4), "Start it at −∞"),
    ("costs-online", lambda s, v, t: by_tiles(s, v, t, own=True), "the maximum so far must not shrink"),
    ("costs-online", lambda s, v, t: by_tiles(s, v, t, of=lambda x: x[0]), "must be the largest score so far"),
    ("costs-online", lambda s, v, t: by_tiles(s, v, t, after=True), "comes too late"),
    ("costs-online", lambda s, v, t: by_tiles(s, v, t, base=True), "powers of two"),
    ("costs-online", own_maximum, "relative to its own largest"),
    ("costs-online", lambda s, v, t: by_tiles(s / 3**0.5, v, t), "divided by √d"),
    ("costs-online", lambda s, v, t: by_tiles(s[t:], v[t:], t), "The first tile is lost"),
    ("costs-online", lambda s, v, t: by_tiles(s.clamp(min=-80), v, t), "the output changes"),
    ("costs-online", in_place, "changed its argument in place"),
    ("costs-online", lambda s, v, t: by_tiles(s, v, t)[None], "should have shape"),
    ("costs-intensity", lambda n, h, k, d, b: 2 * k / (h * b), "have changed places"),
    ("costs-intensity", lambda n, h, k, d, b: 2 * h / b, "not one"),
    ("costs-intensity", lambda n, h, k, d, b: 2 / (k * b), "Every query head works"),
    ("costs-intensity", lambda n, h, k, d, b: h / (4 * k * b), "not in bits"),
    ("costs-intensity", lambda n, h, k, d, b: 2 * h * b / k, "Divide by the bytes of a number"),
    ("costs-intensity", lambda n, h, k, d, b: 2 * h // (k * b), "// drops"),
    ("costs-intensity", lambda n, h, k, d, b: 4 * n * h * d, "Those are the operations"),
    ("costs-intensity", lambda n, h, k, d, b: 2 * n * k * d * b, "Those are the bytes"),
    ("costs-intensity", lambda n, h, k, d, b: (4 * d + 3) * h / (2 * k * d * b), "The softmax is left out"),
    ("costs-win", lambda n, b, w, c: b + b * n * c / w, "not once for each"),
    ("costs-win", lambda n, b, w, c: 1 + b * c / w, "Every token is in the cache"),
    ("costs-win", lambda n, b, w, c: 1 + (b + n) * c / w, "batch · n of them"),
    ("costs-win", lambda n, b, w, c: w / (w + b * n * c), "the share of the weights"),
    ("costs-win", lambda n, b, w, c: 100 - 100 / (1 + b * n * c / w), "the share of the cache"),
    ("costs-win", lambda n, b, w, c: w + b * n * c, "the bytes of a step"),
    ("costs-win", lambda n, b, w, c: 1 + b * n * n * c / w, "not with n²"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "answer", "message"), SLIPS, ids=[f"{s[0]}: {s[2]}" for s in SLIPS])
def test_a_slip_is_a_verdict_that_names_it(name, answer, message):
    verdict = judge(name, answer)
    assert verdict.status == "wrong"
    assert message in verdict.message


ODD = (
    ("costs-count", lambda n, d, h: float(2 * n * d * (2 * d + n))),
    ("costs-count", lambda n, d, h: torch.tensor(2 * n * d * (2 * d + n))),
    ("costs-online", by_tiles),
    ("costs-online", logs),
    ("costs-online", slices),
    ("costs-online", padded),
    ("costs-online", lambda s, v, t: by_tiles(s.flip(0), v.flip(0), t)),
    ("costs-intensity", lambda n, h, k, d, b: torch.tensor(2 * h / (k * b))),
    ("costs-win", lambda n, b, w, c: torch.tensor(1 + b * n * c / w, dtype=torch.float64)),
)


@pytest.mark.parametrize(("name", "answer"), ODD, ids=range(len(ODD)))
def test_what_only_looks_odd_is_right(name, answer):
    verdict = judge(name, answer)
    assert verdict.status == "right", verdict.message
