"""Causal attention between two memories: tiles are read, and none is kept for longer than it takes."""

import functools
import math

import numpy as np
import torch

from answers import right, wrong


def causal(s, low=-math.inf, over=1):
    return s.masked_fill(torch.ones(s.shape).triu(over).bool(), low)


def tiles(
    keys=lambda i, n, size: range(0, i + 1, size),
    score=lambda q, k: q @ k.mT / math.sqrt(q.shape[1]),
    hide=causal,
    start=-math.inf,
    top=lambda s: s.amax(-1, keepdim=True),
    e=lambda s, new: (s - new).exp(),
    seen=lambda e, own: e,
    fade=lambda largest, new: (largest - new).exp(),
    correct=(True, True),
    end=lambda powers, total: total / powers,
):
    """Right; or with something changed: `keys` says where tiles of keys begin, `correct` which sums are."""

    def causal_tiles(read, n, size):
        for i in range(0, n, size):
            q = read("queries", i, i + size)
            largest, powers, total = (
                torch.full((len(q), 1), start),
                torch.zeros(len(q), 1),
                torch.zeros_like(q),
            )
            for j in keys(i, n, size):
                k, v = read("keys", j, j + size), read("values", j, j + size)
                s = hide(score(q, k)) if i == j else score(q, k)
                new = torch.maximum(largest, top(s))
                here, c = e(s, new), fade(largest, new)
                powers = (powers * c if correct[0] else powers) + here.sum(-1, keepdim=True)
                total = (total * c if correct[1] else total) + seen(here, i == j) @ v
                largest = new
            yield end(powers, total)

    return causal_tiles


def rows_of_scores(read, i, size):
    q = read("queries", i, i + size)
    scores = [q @ read("keys", j, j + size).mT / q.shape[1] ** 0.5 for j in range(0, i + 1, size)]
    return [*scores[:-1], causal(scores[-1])]


right(tiles(), "one after the other")
right(lambda *a: list(tiles()(*a)), "a list")
right(tiles(hide=lambda s: causal(s, -1e9)), "hidden by a large number")


@right
def from_the_diagonal_backwards(read, n, size):
    """With a mean and the log of the sum."""
    for i in range(0, n, size):
        q, log, mean = read("queries", i, i + size), torch.tensor(-math.inf), 0.0
        for j in range(i, -1, -size):
            s = torch.einsum("qd,kd->qk", q, read("keys", j, j + size)) * q.shape[-1] ** -0.5
            s = causal(s) if j == i else s
            new = torch.logaddexp(log, s.logsumexp(-1, keepdim=True))
            mean = mean * (log - new).exp() + (s - new).exp() @ read("values", j, j + size)
            log = new
        yield mean


def in_arrays(read, n, size, keep=False):
    """In NumPy, tile by tile; or with all keys and values kept in arrays."""
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


right(in_arrays, "in NumPy")
wrong("what it holds in fast memory grows")(functools.partial(in_arrays, keep=True), "keys kept in NumPy")


@wrong("it holds in fast memory grows with the text")
def everything_first(read, n, size):
    q, k, v = (
        torch.cat([read(name, i, i + size) for i in range(0, n, size)])
        for name in ("queries", "keys", "values")
    )
    out = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)
    return list(out[0].split(size))


@wrong("what it holds in fast memory grows")
def keys_kept(read, n, size):
    """Each key once in all: keys and values stay in fast memory."""
    k = v = None
    for i in range(0, n, size):
        q, more, others = (read(name, i, i + size) for name in ("queries", "keys", "values"))
        k, v = (more, others) if k is None else (torch.cat((k, more)), torch.cat((v, others)))
        yield causal(q @ k.mT / q.shape[-1] ** 0.5, over=i + 1).softmax(-1) @ v


@wrong("what it holds in fast memory grows")
def whole_rows(read, n, size):
    """One softmax over whole rows of scores; the values are streamed."""
    for i in range(0, n, size):
        weights = torch.cat(rows_of_scores(read, i, size), -1).softmax(-1).split(size, -1)
        yield sum(w @ read("values", size * j, size * j + size) for j, w in enumerate(weights))


@wrong("what it holds in fast memory grows")
def whole_rows_in_tiles(read, n, size):
    """Nothing large is made, and all of it is kept."""
    for i in range(0, n, size):
        scores = rows_of_scores(read, i, size)
        largest = functools.reduce(torch.maximum, (s.amax(-1, keepdim=True) for s in scores))
        out = powers = 0.0
        for j, s in enumerate(scores):
            e = (s - largest).exp()
            out = out + e @ read("values", size * j, size * j + size)
            powers = powers + e.sum(-1, keepdim=True)
        yield out / powers


@wrong("what it holds in fast memory grows")
def whole_rows_in_numpy(read, n, size):
    for i in range(0, n, size):
        q = read("queries", i, i + size).numpy()
        s = np.concatenate([q @ read("keys", j, j + size).numpy().T for j in range(0, i + 1, size)], 1)
        s = np.where(np.tri(*s.shape, k=i, dtype=bool), s / np.sqrt(q.shape[1]), -np.inf)
        e = np.exp(s - s.max(1, keepdims=True))
        parts = (e[:, j : j + size] @ read("values", j, j + size).numpy() for j in range(0, i + 1, size))
        yield torch.tensor(sum(parts) / e.sum(1, keepdims=True), dtype=torch.float32)


@wrong("there is room for tiles of")
def the_whole_matrix(read, n, size):
    q, k, v = (read(name, 0, n) for name in ("queries", "keys", "values"))
    return list((causal(q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v).split(size))


@wrong("it reads more than the")
def one_query_at_a_time(read, n, size):
    for i in range(n):
        q, parts = read("queries", i, i + 1), []
        for j in range(0, i + 1, size):
            k, v = read("keys", j, min(j + size, i + 1)), read("values", j, min(j + size, i + 1))
            parts.append((q @ k.mT / q.shape[-1] ** 0.5, v))
        s, v = torch.cat([s for s, _ in parts], 1), torch.cat([v for _, v in parts])
        yield s.softmax(-1) @ v


@wrong("it reads more than")
def queries_read_twice(read, n, size):
    def twice(name, start, stop):
        if name == "queries":
            read(name, start, stop)
        return read(name, start, stop)

    return tiles()(twice, n, size)


@wrong("numbers of the queries that have to move")
def keys_outside(read, n, size):
    """Each tile of keys once, and the queries again for each: fewer numbers in all."""
    held = {}
    for j in range(0, n, size):
        k, v = read("keys", j, j + size), read("values", j, j + size)
        for i in range(j, n, size):
            q = read("queries", i, i + size)
            s = q @ k.mT / q.shape[-1] ** 0.5
            s = causal(s) if i == j else s
            m, z, t = held.get(i, (torch.tensor(-math.inf), 0.0, 0.0))
            new = torch.maximum(m, s.amax(-1, keepdim=True))
            e, fade = (s - new).exp(), (m - new).exp()
            held[i] = new, z * fade + e.sum(-1, keepdim=True), t * fade + e @ v
    return [t / z for _, z, t in held.values()]


@wrong("it raised ZeroDivisionError")
def own_tile_missing(read, n, size):
    for i in range(0, n, size):
        q, powers, total = read("queries", i, i + size), 0.0, 0.0
        for j in range(0, i, size):
            e = (q @ read("keys", j, j + size).mT / q.shape[-1] ** 0.5).exp()
            powers, total = powers + e.sum(-1, keepdim=True), total + e @ read("values", j, j + size)
        yield total / powers


@wrong("A tile of outputs is handed over once")
def handed_over_after_each_tile_of_keys(read, n, size):
    for i in range(0, n, size):
        q = read("queries", i, i + size)
        largest, powers, total = torch.full((len(q), 1), -math.inf), 0.0, 0.0
        for j in range(0, i + 1, size):
            s = q @ read("keys", j, j + size).mT / q.shape[-1] ** 0.5
            s = causal(s) if i == j else s
            new = torch.maximum(largest, s.amax(-1, keepdim=True))
            e, fade, largest = (s - new).exp(), (largest - new).exp(), new
            powers, total = (
                powers * fade + e.sum(-1, keepdim=True),
                total * fade + e @ read("values", j, j + size),
            )
            yield total / powers


@wrong("should have length 3, it has 5")
def some_tiles_twice(read, n, size):
    for i, tile in enumerate(tiles()(read, n, size)):
        yield from [tile] * (1 + (i > 0))


wrong("it reads more than")(lambda r, n, s: tiles()(r, n, max(1, s // 2)), "tiles of half the size")
wrong("there is room for tiles of")(lambda r, n, s: tiles()(r, n, 2 * s), "tiles of twice the size")
wrong("there is room for tiles of 3")(lambda r, n, s: tiles()(r, n, 4), "tiles of four")
wrong("it reads more than the")(tiles(keys=lambda i, n, size: range(0, n, size)), "hidden tiles read")
wrong("Nothing is hidden")(
    tiles(keys=lambda i, n, size: range(0, n, size), hide=lambda s: s), "nothing hidden"
)
wrong("on the diagonal a query still sees later tokens")(tiles(hide=lambda s: s), "diagonal not hidden")
wrong("The tile on the diagonal is left out")(
    tiles(keys=lambda i, n, size: range(0, i, size)), "only the tiles before it"
)
wrong("Each query sees its own tile only")(tiles(keys=lambda i, n, size: [i]), "its own tile only")
wrong("A query may see itself")(tiles(hide=lambda s: causal(s, over=0)), "itself hidden")
wrong("A query sees one token too many")(tiles(hide=lambda s: causal(s, over=2)), "the next one seen")
wrong("It hides the past and shows the future")(
    tiles(keys=lambda i, n, size: range(i, n, size), hide=lambda s: causal(s.mT).mT), "the future"
)
wrong("Hidden scores are set to 0")(tiles(hide=lambda s: s.tril()), "hidden by zero")
wrong("should be")(tiles(hide=lambda s: causal(s, -50.0)), "hidden by a small number")
wrong("should be")(tiles(hide=lambda s: s + torch.full(s.shape, -50.0).triu(1)), "lowered by a small number")
wrong("It hides after the softmax")(
    tiles(hide=lambda s: s, seen=lambda e, own: e.tril() if own else e), "hidden in the weights"
)
wrong("The scores are not divided by √d")(tiles(score=lambda q, k: q @ k.mT), "not scaled")
wrong("divided by d, not by √d")(tiles(score=lambda q, k: q @ k.mT / q.shape[1]), "divided by d")
wrong("The old sums are not corrected")(tiles(correct=(False, False)), "not corrected")
wrong("the weighted sum of the values is not")(tiles(correct=(True, False)), "the values not corrected")
wrong("not divided by the sum of powers")(tiles(end=lambda powers, total: total), "not divided")
wrong("Large exponentials overflow")(tiles(e=lambda s, new: s.exp(), correct=(False, False)), "no maximum")
wrong("Each query has a maximum of its own")(tiles(top=torch.max), "one maximum for the tile")
wrong("should be")(tiles(start=0.0), "a start at 0")
wrong("A maximum that starts at a number")(tiles(start=-1e4), "a start at -10,000")
wrong("Hidden scores are set to a number")(tiles(hide=lambda s: causal(s, -1e4)), "hidden by -10,000")
wrong("should be")(
    tiles(fade=lambda largest, new: (largest - new).exp().clamp(min=1e-6)), "a correction of 1e-6 at least"
)
wrong("The last, shorter tile is missing")(
    lambda r, n, s: list(tiles()(r, n, s))[: n // s or 1], "the last tile lost"
)
wrong("length 3, it has 1")(lambda r, n, s: list(tiles()(r, n, s))[:1], "the first tile only")
wrong("not joined to one tensor")(lambda *a: torch.cat(list(tiles()(*a))), "joined")
wrong("not row by row")(lambda *a: [row for tile in tiles()(*a) for row in tile], "row by row")
wrong("None")(lambda r, n, s: None, "nothing")
