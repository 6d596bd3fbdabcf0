"""Answers to the exercises on costs that readers tried, or that fooled an earlier checker."""

import copy
import functools
import itertools
import math

import numpy as np
import pytest
import torch

from attnlab.checks import running


@pytest.fixture(autouse=True)
def _little_patience(monkeypatch, request):
    """Computing time, not time on the clock; the long ones among the right answers need more."""
    if "endless" in request.node.name:
        monkeypatch.setattr(running, "PATIENCE", 0.2)


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


def by_halves(a, x):
    """The chain is short, but its pieces are computed one after the other: as many calls as tokens."""
    if len(x) == 1:
        return x
    half = len(x) // 2
    first, second = by_halves(a[:half], x[:half]), by_halves(a[half:], x[half:])
    return torch.cat((first, second + a[half:].cumprod(0)[:, None] * first[-1]))


def padded_recurrence(a, x):
    n, a, step = len(x), a.unsqueeze(1), 1
    while step < n:
        zeros = (0, 0, step, 0)
        x, a = x + a * torch.nn.functional.pad(x, zeros)[:n], a * torch.nn.functional.pad(a, zeros)[:n]
        step += step
    return x


def up_to_sixteen(a, x):
    a = a[:, None]
    for step in (1, 2, 4, 8):
        x = x + a * torch.cat((torch.zeros_like(x[:step]), x))[: len(x)]
        a = a * torch.cat((torch.zeros_like(a[:step]), a))[: len(a)]
    return x


def one_call_each(a, x):
    """Token by token, in one call each: too many steps all the same."""
    h, states = torch.zeros_like(x[0]), []
    for i in range(len(x)):
        h = torch.addcmul(x[i], a[i], h)
        states.append(h)
    return torch.stack(states)


def logarithms(a, x):
    sums = a.clamp_min(1e-30).log().cumsum(0)[:, None]
    return (sums.exp()) * (x * (-sums).exp()).cumsum(0)


def tiles(read, n, size, *, hide=-math.inf, start=-math.inf, stop=lambda i, n, size: i + 1, times=1):
    """Right; or with something changed."""
    out = []
    for i in range(0, n, size):
        for _ in range(times):
            q = read("queries", i, i + size)
        m, z, t = torch.full((len(q), 1), start), 0.0, 0.0
        for j in range(0, stop(i, n, size), size):
            k, v = read("keys", j, j + size), read("values", j, j + size)
            s = q @ k.mT / math.sqrt(q.shape[1])
            if i == j:
                s = s + torch.full(s.shape, hide).triu(1)
            new = torch.maximum(m, s.amax(-1, keepdim=True))
            e = (s - new).exp()
            z, t, m = z * (m - new).exp() + e.sum(-1, keepdim=True), t * (m - new).exp() + e @ v, new
        out.append(t / z)
    return out


def backwards(read, n, size):
    """From the diagonal to the first tile, with a mean and the log of the sum: as right."""
    for i in range(0, n, size):
        q, log, mean = read("queries", i, i + size), torch.tensor(-math.inf), 0.0
        for j in range(i, -1, -size):
            s = torch.einsum("qd,kd->qk", q, read("keys", j, j + size)) * q.shape[-1] ** -0.5
            if j == i:
                s = torch.where(torch.ones_like(s).tril() > 0, s, -math.inf)
            new = torch.logaddexp(log, s.logsumexp(-1, keepdim=True))
            mean = mean * (log - new).exp() + (s - new).exp() @ read("values", j, j + size)
            log = new
        yield mean


def kept_keys(read, n, size):
    """Each key once in all: keys and values stay in fast memory."""
    k = v = None
    for i in range(0, n, size):
        q, more, others = (read(name, i, i + size) for name in ("queries", "keys", "values"))
        k, v = (more, others) if k is None else (torch.cat((k, more)), torch.cat((v, others)))
        s = q @ k.mT / q.shape[-1] ** 0.5
        s[:, i:] += torch.full((len(q), len(q)), -math.inf).triu(1)
        yield s.softmax(-1) @ v


def from_a_copy(tiles):
    """Two passes, the first one through a deep copy of the iterator."""
    largest = max(s.max() for s, _ in copy.deepcopy(tiles))
    sums = [((s - largest).exp().sum(), (s - largest).exp() @ v) for s, v in tiles]
    powers, total = (sum(part) for part in zip(*sums, strict=True))
    return total / powers


def first_maximum(tiles):
    """Relative to the largest score of the first tile for ever: nothing to correct, until it overflows."""
    largest, powers, total = None, 0.0, 0.0
    for s, v in tiles:
        largest = s.max() if largest is None else largest
        e = (s - largest).exp()
        powers, total = powers + e.sum(), total + e @ v
    return total / powers


def joined(tiles):
    """Each tile makes a triple, and triples are joined: as right."""

    def alone(tile):
        s, v = tile
        e = (s - s.max()).exp()
        return s.max(), torch.cat((e.sum()[None], e @ v))

    def join(one, other):
        largest = torch.maximum(one[0], other[0])
        return largest, sum(part * (top - largest).exp() for top, part in (one, other))

    sums = functools.reduce(join, map(alone, tiles))[1]
    return sums[1:] / sums[0]


def odd_and_even(a, x):
    """Join neighbours, solve for every other token, and fill in the rest: another scan, as right."""
    n = len(x)
    if n == 1:
        return x
    whole, gates = n // 2 * 2, a[:, None]
    odd = odd_and_even(a[1:whole:2] * a[:whole:2], x[1:whole:2] + gates[1:whole:2] * x[:whole:2])
    before = torch.cat((torch.zeros_like(x[:1]), odd))[: (n + 1) // 2]
    even = x[::2] + gates[::2] * before
    out = torch.empty_like(x).index_copy(0, torch.arange(0, n, 2), even)
    return out.index_copy(0, torch.arange(1, n, 2), odd)


def nine_rounds(a, x):
    a = a[:, None]
    for step in (2**i for i in range(9)):
        zeros = (0, 0, step, 0)
        x = x + a * torch.nn.functional.pad(x, zeros)[: len(x)]
        a = a * torch.nn.functional.pad(a, zeros)[: len(a)]
    return x


def around(a, x):
    """Roll, so that the first tokens hear the last ones."""
    a, step = a[:, None], 1
    while step < len(x):
        x, a, step = x + a * x.roll(step, 0), a * a.roll(step, 0), 2 * step
    return x


def in_arrays(read, n, size, keep=False):
    """Attention in NumPy, tile by tile; or with all keys and values kept in arrays."""
    k = v = None
    for i in range(0, n, size):
        q = read("queries", i, i + size).numpy()
        m, z, t = np.full((len(q), 1), -np.inf), 0.0, 0.0
        for j in range(i if keep else 0, i + 1, size):
            more, others = read("keys", j, j + size).numpy(), read("values", j, j + size).numpy()
            k, v = (np.concatenate((k, more)), np.concatenate((v, others))) if keep and i else (more, others)
            s = q @ k.T / np.sqrt(q.shape[1])
            if i == j:
                s = np.where(np.tri(*s.shape, k=s.shape[1] - len(q), dtype=bool), s, -np.inf)
            new = np.maximum(m, s.max(1, keepdims=True))
            e, correction = np.exp(s - new), np.exp(m - new)
            z, t, m = z * correction + e.sum(1, keepdims=True), t * correction + e @ v, new
        yield torch.tensor(t / z, dtype=torch.float32)


def early(read, n, size):
    """Hand over what there is after each tile of keys."""
    out = iter(tiles(read, n, size))
    for i in range(0, n, size):
        yield from [next(out)] * (1 + (i > 0))


ATTACKS = [
    ("two passes by tee", "costs-online", "wrong", "", two_passes),
    ("two passes by a list", "costs-online", "wrong", "what it holds grows with the row", lambda t: two_passes(list(t))),
    ("every tile kept", "costs-online", "wrong", "what it holds grows with the row", kept(lambda x: x)),
    ("kept as lists", "costs-online", "wrong", "In single precision all values are right", kept(lambda x: x.tolist())),
    ("kept as arrays", "costs-online", "wrong", "what it holds grows with the row", kept(lambda x: x.numpy().copy())),
    ("padded with scores of zero", "costs-online", "wrong", "scores in tiles of", zero_padded),
    ("a start at 0", "costs-online", "wrong", "Start it at −∞", lambda t: online(t, start=0.0)),
    ("a start at −10,000", "costs-online", "wrong", "Start it at −∞", lambda t: online(t, start=-1e4)),
    ("the first score for the maximum", "costs-online", "wrong", "should be", lambda t: online(t, new=lambda m, s: torch.maximum(m, s[0]))),
    ("the maximum shrinks", "costs-online", "wrong", "not the largest so far", lambda t: online(t, new=lambda m, s: s.max())),
    ("clamped scores", "costs-online", "wrong", "With scores around 10,000", lambda t: online(t, pieces=lambda s, v: ((s.clamp(-80, 80), v),))),
    ("a batch of one", "costs-online", "wrong", "should have shape", lambda t: online(t)[None]),
    ("single precision", "costs-online", "wrong", "should keep the dtype", lambda t: online(t, pieces=lambda s, v: ((s.float(), v.float()),)).double()),
    ("an endless one", "costs-online", "wrong", "With 7 scores in tiles of 3: it does not stop", endless),
    ("a generator is no answer", "costs-online", "wrong", "should be a tensor", lambda t: (s for s, v in t)),
    ("by logs", "costs-online", "right", "", by_logs),
    ("NumPy", "costs-online", "right", "", in_numpy),
    ("one key at a time", "costs-online", "right", "", in_plain_numbers),
    ("sixteen keys at a time", "costs-online", "right", "", lambda t: online(t, pieces=lambda s, v: zip(s.split(16), v.split(16), strict=True))),
    ("the past as one more score", "costs-online", "right", "", lambda t: online(t, new=lambda m, s: torch.cat((m.view(1).to(s.dtype), s)).max())),
    ("filled up with −∞", "costs-online", "right", "", padded),
    ("two passes by a copy", "costs-online", "wrong", "what it holds grows with the row", from_a_copy),
    ("relative to the first tile", "costs-online", "wrong", "scores from −10,000", first_maximum),
    ("the first tile only", "costs-online", "wrong", "the output should be", lambda t: (lambda s, v: s.softmax(0) @ v)(*next(t))),
    ("a little more below the line", "costs-online", "wrong", "the output should be", lambda t: online(t) * 0.999),
    ("triples joined", "costs-online", "right", "", joined),
    ("odd and even", "costs-scan", "right", "", odd_and_even),
    ("nine rounds", "costs-scan", "wrong", "2,048 tokens", nine_rounds),
    ("the last ones heard by the first", "costs-scan", "wrong", "row 0 should be", around),
    ("gates without their sign", "costs-scan", "wrong", "should be", lambda a, x: padded_recurrence(a.abs(), x)),
    ("the last row forgotten", "costs-scan", "wrong", "row 4 should be", lambda a, x: torch.cat((padded_recurrence(a, x)[:-1], x[-1:]))),
    ("by halves, one after the other", "costs-scan", "wrong", "too many steps", by_halves),
    ("with pad", "costs-scan", "right", "", padded_recurrence),
    ("token by token", "costs-scan", "wrong", "too many steps", one_call_each),
    ("four rounds", "costs-scan", "wrong", "2,048 tokens", up_to_sixteen),
    ("by logarithms", "costs-scan", "wrong", "should be", logarithms),
    ("the arguments changed", "costs-scan", "wrong", "", lambda a, x: x.mul_(1) + 1),
    ("the inputs", "costs-scan", "wrong", "should be", lambda a, x: x),
    ("zeros", "costs-scan", "wrong", "should be", lambda a, x: torch.zeros_like(x)),
    ("single precision", "costs-scan", "wrong", "in float64", lambda a, x: padded_recurrence(a.float(), x.float()).to(x.dtype)),
    ("no gradient for the gates", "costs-scan", "wrong", "gradient", lambda a, x: padded_recurrence(a.detach(), x)),
    ("a list of states", "costs-scan", "wrong", "should be a tensor", lambda a, x: list(padded_recurrence(a, x))),
    ("a list", "costs-tiles", "right", "", tiles),
    ("from the diagonal backwards", "costs-tiles", "right", "", backwards),
    ("hidden by a large number", "costs-tiles", "right", "", lambda r, n, s: tiles(r, n, s, hide=-1e9)),
    ("hidden by a small one", "costs-tiles", "wrong", "should be", lambda r, n, s: tiles(r, n, s, hide=-50.0)),
    ("a start at 0", "costs-tiles", "wrong", "should be", lambda r, n, s: tiles(r, n, s, start=0.0)),
    ("queries read twice", "costs-tiles", "wrong", "it reads more than", lambda r, n, s: tiles(r, n, s, times=2)),
    ("tiles of half the size", "costs-tiles", "wrong", "it reads", lambda r, n, s: tiles(r, n, max(1, s // 2))),
    ("tiles of twice the size", "costs-tiles", "wrong", "there is room for tiles of", lambda r, n, s: tiles(r, n, 2 * s)),
    ("keys kept", "costs-tiles", "wrong", "what it holds in fast memory grows", kept_keys),
    ("in NumPy", "costs-tiles", "right", "", in_arrays),
    ("keys kept in NumPy", "costs-tiles", "wrong", "what it holds in fast memory grows", functools.partial(in_arrays, keep=True)),
    ("joined", "costs-tiles", "wrong", "not joined to one tensor", lambda r, n, s: torch.cat(tiles(r, n, s))),
    ("row by row", "costs-tiles", "wrong", "not row by row", lambda r, n, s: [row for tile in tiles(r, n, s) for row in tile]),
    ("tiles of four", "costs-tiles", "wrong", "there is room for tiles of 3", lambda r, n, s: tiles(r, n, 4)),
    ("the last tile lost", "costs-tiles", "wrong", "The last, shorter tile is missing", lambda r, n, s: tiles(r, n, s)[: n // s or 1]),
    ("some tiles twice", "costs-tiles", "wrong", "should have length 3, it has 5", early),
    ("the first tile only", "costs-tiles", "wrong", "length 3, it has 1", lambda r, n, s: tiles(r, n, s)[:1]),
    ("nothing", "costs-tiles", "wrong", "None", lambda r, n, s: None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "status", "message", "answer"),
    [a[1:] for a in ATTACKS],
    ids=[f"{a[1]}: {a[0]}" for a in ATTACKS],
)
def test_an_attack_is_judged_rightly(judged, name, status, message, answer):
    judged(name, status, message, answer)
