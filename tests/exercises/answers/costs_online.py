"""A softmax that never holds its row: one reading, three running numbers."""

import copy
import functools
import itertools
import math

import numpy as np
import torch

from answers import right, wrong


def online(
    start=-math.inf,
    new=lambda largest, s: torch.maximum(largest, s.max()),
    e=lambda s, now: (s - now).exp(),
    correction=lambda largest, now: (largest - now).exp(),
    powers=lambda powers, c, e: powers * c + e.sum(),
    total=lambda total, c, e, v: total * c + e @ v,
    pieces=lambda s, v: ((s, v),),
    end=lambda powers, total: total / powers,
):
    """Right; or with something changed."""

    def online_attention(tiles):
        largest, p, t = torch.tensor(start), 0.0, 0.0
        for tile in tiles:
            for s, v in pieces(*tile):
                now = new(largest, s)
                c, here = correction(largest, now), e(s, now)
                p, t, largest = powers(p, c, here), total(t, c, here, v), now
        return end(p, t)

    return online_attention


def sums(read):
    """Both sums relative to the largest score, which a first reading finds; `read` gives two."""

    def online_attention(tiles):
        first, second = read(tiles)
        largest = max(s.max() for s, _ in first)
        powers, total = 0.0, 0.0
        for s, v in second:
            e = (s - largest).exp()
            powers, total = powers + e.sum(), total + e @ v
        return total / powers

    return online_attention


def row(form=lambda x: x, end=lambda s, v: s.softmax(0) @ v):
    """Keep every tile in some form, and take the row at once."""

    def online_attention(tiles):
        scores, values = zip(*((form(s), form(v)) for s, v in tiles), strict=True)
        return end(*(torch.cat([torch.as_tensor(x) for x in part]) for part in (scores, values)))

    return online_attention


def all_scores(form):
    """The values are summed up as they come, with one running maximum; the scores are kept in some form."""

    def online_attention(tiles):
        largest, total, scores = torch.tensor(-math.inf), 0.0, []
        for s, v in tiles:
            new = torch.maximum(largest, s.max())
            total, largest = total * (largest - new).exp() + (s - new).exp() @ v, new
            scores.append(form(s))
        return total / (torch.cat([torch.as_tensor(s, dtype=v.dtype) for s in scores]) - largest).exp().sum()

    return online_attention


def padded(value, room):
    """Fill every tile up with such scores."""

    def fill(s, v):
        more = room(len(s))
        return ((torch.cat((s, s.new_full((more,), value))), torch.cat((v, v.new_zeros(more, v.shape[1])))),)

    return online(pieces=fill)


right(online(), "in tiles")
right(online(pieces=lambda s, v: zip(s.split(16), v.split(16), strict=True)), "sixteen keys at a time")
right(online(new=lambda m, s: torch.cat((m.view(1).to(s.dtype), s)).max()), "the past as one more score")
right(padded(-math.inf, lambda n: max(0, 40 - n)), "filled up with −∞")


@right
def by_logs(tiles):
    """Keep a mean and the log of the sum."""
    log, mean = torch.tensor(-math.inf), 0.0
    for s, v in tiles:
        new = torch.logaddexp(log, s.logsumexp(0))
        mean = mean * (log - new).exp() + (s.logsumexp(0) - new).exp() * (s.softmax(0) @ v)
        log = new
    return mean


@right
def in_numpy(tiles):
    largest, powers, total = -np.inf, 0.0, 0.0
    for s, v in tiles:
        s, v = s.numpy(), v.numpy()
        new = max(largest, s.max())
        correction, e = np.exp(largest - new), np.exp(s - new)
        powers, total, largest = powers * correction + e.sum(), total * correction + e @ v, new
    return torch.as_tensor(total / powers, dtype=torch.from_numpy(v).dtype)


@right
def one_key_at_a_time(tiles):
    largest, powers, total = -math.inf, 0.0, None
    for s, v in tiles:
        for score, value in zip(s.tolist(), v, strict=True):
            new = max(largest, score)
            correction, e = math.exp(largest - new), math.exp(score - new)
            powers = powers * correction + e
            total = e * value if total is None else total * correction + e * value
            largest = new
    return total / powers


@right
def triples_joined(tiles):
    """Each tile makes a triple, and triples are joined."""

    def alone(tile):
        s, v = tile
        e = (s - s.max()).exp()
        return s.max(), torch.cat((e.sum()[None], e @ v))

    def join(one, other):
        largest = torch.maximum(one[0], other[0])
        return largest, sum(part * (top - largest).exp() for top, part in (one, other))

    found = functools.reduce(join, map(alone, tiles))[1]
    return found[1:] / found[0]


@wrong("With 7 scores in tiles of 3: it does not stop")
def an_endless_one(tiles):
    tile = next(tiles)
    while True:
        tile = (tile[0] * 1, tile[1])


@wrong("scores from −10,000")
def relative_to_the_first_tile(tiles):
    """Nothing to correct, until it overflows."""
    largest, powers, total = None, 0.0, 0.0
    for s, v in tiles:
        largest = s.max() if largest is None else largest
        e = (s - largest).exp()
        powers, total = powers + e.sum(), total + e @ v
    return total / powers


@wrong("Subtract the largest score so far before exp")
def no_maximum(tiles):
    powers, total = 0.0, 0.0
    for s, v in tiles:
        powers, total = powers + s.exp().sum(), total + s.exp() @ v
    return total / powers


@wrong("The first tile is lost")
def the_first_tile_sets_the_maximum(tiles):
    s, _ = next(tiles)
    largest, powers, total = s.max(), 0.0, 0.0
    for s, v in tiles:
        new = torch.maximum(largest, s.max())
        e = (s - new).exp()
        powers, total = powers * (largest - new).exp() + e.sum(), total * (largest - new).exp() + e @ v
        largest = new
    return total / powers


wrong("they come only once")(sums(lambda tiles: (tiles, tiles)), "read twice")
wrong("it reads the tiles a second time")(sums(itertools.tee), "two passes by tee")
wrong("what it holds grows with the row")(sums(lambda tiles: [list(tiles)] * 2), "two passes by a list")
wrong("what it holds grows with the row")(
    sums(lambda tiles: (copy.deepcopy(tiles), tiles)), "two passes by a copy"
)
wrong("what it holds grows with the row")(row(), "the whole row")
wrong("In single precision all values are right")(row(lambda x: x.tolist()), "kept as lists")
wrong("what it holds grows with the row")(row(lambda x: x.numpy().copy()), "kept as arrays")
wrong("what it holds grows with the row")(all_scores(lambda s: s), "all scores kept")
wrong("what it holds grows")(all_scores(lambda s: s.tolist()), "all scores kept in a list")
wrong("what it holds grows")(all_scores(lambda s: s.numpy().copy()), "all scores kept in arrays")
wrong("The old sums are not corrected")(online(correction=lambda largest, now: 1.0), "not corrected")
wrong("the weighted sum of the values is not")(
    online(total=lambda t, c, e, v: t + e @ v), "total not corrected"
)
wrong("the sum of powers is not")(online(powers=lambda p, c, e: p + e.sum()), "powers not corrected")
wrong("The correction is upside down")(
    online(correction=lambda m, now: (now - m).exp() if m > -math.inf else 1.0), "upside down"
)
wrong("The correction comes too late")(
    online(powers=lambda p, c, e: (p + e.sum()) * c, total=lambda t, c, e, v: (t + e @ v) * c),
    "corrected too late",
)
wrong("relative to its own largest score")(
    online(e=lambda s, now: (s - s.max()).exp()), "each tile by itself"
)
wrong("not the largest so far")(online(new=lambda largest, s: s.max()), "the maximum shrinks")
wrong("Start it at −∞")(online(start=0.0), "a start at 0")
wrong("Start it at −∞")(online(start=-1e4), "a start at −10,000")
wrong("should be")(online(new=lambda m, s: torch.maximum(m, s[0])), "the first score for the maximum")
wrong("Those are powers of two")(
    online(e=lambda s, now: 2.0 ** (s - now), correction=lambda m, now: 2.0 ** (m - now)), "powers of two"
)
wrong("not divided by the sum of powers")(online(end=lambda powers, total: total), "not divided")
wrong("Only the sums can be corrected later")(
    online(total=lambda t, c, e, v: t * c + (e / e.sum()) @ v), "divided in each tile"
)
wrong("in each tile and averages")(
    lambda tiles: (lambda parts: sum(parts) / len(parts))([s.softmax(0) @ v for s, v in tiles]),
    "tiles averaged",
)
wrong("in each tile and adds up")(lambda tiles: sum(s.softmax(0) @ v for s, v in tiles), "tiles added up")
wrong("It returns the mean of the values")(row(end=lambda s, v: v.mean(0)), "the mean of the values")
wrong("the value with the largest score")(row(end=lambda s, v: v[s == s.max()][0]), "the best value")
wrong("These are finished scores")(
    online(pieces=lambda s, v: ((s / math.sqrt(v.shape[1]), v),)), "divided by the root of d"
)
wrong("scores in tiles of")(padded(0.0, lambda n: -n % 3), "padded with scores of zero")
wrong("With scores around 10,000")(online(pieces=lambda s, v: ((s.clamp(-80, 80), v),)), "clamped scores")
wrong("should keep the dtype")(
    lambda tiles: online(pieces=lambda s, v: ((s.float(), v.float()),))(tiles).double(), "single precision"
)
wrong("the output should be")(
    lambda tiles: (lambda s, v: s.softmax(0) @ v)(*next(tiles)), "the first tile only"
)
wrong("the output should be")(lambda tiles: online()(tiles) * 0.999, "a little more below the line")
wrong("should have shape")(lambda tiles: online()(tiles)[None], "a batch of one")
wrong("should be a tensor")(lambda tiles: (s for s, v in tiles), "a generator is no answer")
