"""Exercises on positions: buckets of distances, rotary attention, places on a grid."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnbook.checks.exercise import case, draws, exercise, gradient, late, mistake, precisions, without
from attnlab import positions
from attnlab.dot_product import attention

EVEN_AND_SEVERAL = (6, 8, 10, 12, 14, 16)
"""Widths of three pairs and more: with two a wrong fall of the speeds may look right."""


def _buckets(
    distance: Tensor,
    n_buckets: int,
    longest: int,
    *,
    half: Callable[[int], int] = lambda n: n // 2,
    share: Callable[[Tensor, int, int], Tensor] = lambda r, e, most: (r / e).log() / math.log(most / e),
    whole: Callable[[Tensor], Tensor] = torch.floor,
    last: int = 1,
) -> Tensor:
    """T5's buckets for distances into the past, or some that are wrong in some way."""
    e = half(n_buckets)
    far = e + whole(share(distance.double().clamp_min(e), e, longest) * (n_buckets - e)).long()
    return torch.where(distance < e, distance, far.clamp_max(n_buckets - last))


def _between(n: int, n_buckets: int, longest: int, *shape: int, most: int) -> Tensor:
    """Draw distances from 0 to `most`, none of which rounding could put into another bucket."""
    e, draw = n_buckets // 2, torch.Generator().manual_seed(n)
    r = torch.arange(most + 1)
    at = (r.double().clamp_min(1) / e).log() / math.log(longest / e) * e
    clear = (r <= e) | (r >= longest) | ((at - at.round()).abs() > 1e-3)
    r = r[clear]
    return r[torch.randint(len(r), shape, generator=draw)]


def _wrong(**options: Any) -> Callable[[Tensor, int, int], Tensor]:
    return lambda distance, n_buckets, longest: _buckets(distance, n_buckets, longest, **options)


exercise(
    "positions-buckets",
    "buckets",
    reference=lambda distance, n_buckets, longest: _buckets(distance, n_buckets, longest),
    cases=[
        case("the distances 0 to 7, 8 buckets, longest 50", "The first half of the buckets hold a distance each.",
             distance=torch.arange(8), n_buckets=8, longest=50),
        case("T5's 32 buckets, longest 128", distance=_between(0, 32, 128, 6, 7, most=127), n_buckets=32, longest=128),
        case("distances beyond the longest", "They all share the last bucket.",
             distance=torch.tensor([[100, 101, 102], [150, 1000, 99999]]), n_buckets=12, longest=100),
        case("two buckets", "Here, and all before.", distance=torch.tensor([0, 1, 5, 30]), n_buckets=2, longest=20),
        case("10 buckets, longest 300", distance=_between(1, 10, 300, 40, most=400), n_buckets=10, longest=300),
        case("20 buckets, longest 47, a batch of tables", distance=_between(2, 20, 47, 2, 3, 5, most=60), n_buckets=20, longest=47),
        case("a single distance", distance=torch.tensor(33), n_buckets=6, longest=70),
        *late(
            case("the distances 7 to 0, 8 buckets, longest 50", distance=torch.arange(7, -1, -1), n_buckets=8, longest=50),
            case("64 buckets, longest 5000", distance=_between(3, 64, 5000, 43, 44, most=6000), n_buckets=64, longest=5000),
            case("20 buckets, longest 47, 41 tables", distance=_between(4, 20, 47, 41, 2, 1, most=60), n_buckets=20, longest=47),
        ),
    ],
    mistakes=[
        mistake("It rounds to the nearest bucket. A distance belongs to the range that it has reached: round down.",
                _wrong(whole=torch.round)),
        mistake("It rounds up. A distance belongs to the range that it has reached: round down.", _wrong(whole=torch.ceil)),
        mistake("The far ranges have one width. They grow by a factor: take logarithms.",
                _wrong(share=lambda r, e, most: (r - e) / (most - e))),
        mistake("The logarithms start at distance 1. The far ranges start where the exact ones end, at half the buckets.",
                _wrong(share=lambda r, e, most: r.log() / math.log(most))),
        mistake("Distances beyond the longest get buckets that do not exist. They share the last one, n_buckets - 1.",
                _wrong(last=-10**6)),
        mistake("The last bucket is one too many: they are counted from 0, so the last is n_buckets - 1.", _wrong(last=0)),
        mistake("The last bucket stays empty. Distances from the longest on belong to n_buckets - 1.", _wrong(last=2)),
        mistake("Every distance has a bucket of its own, up to the last. Only the first half do so.",
                lambda distance, n_buckets, longest: distance.clamp_max(n_buckets - 1)),
        mistake("A quarter of the buckets hold a distance each. It should be half of them.", _wrong(half=lambda n: max(n // 4, 1))),
        mistake("The far ranges have all buckets to themselves. They have the second half, so half as many.",
                lambda distance, n_buckets, longest: torch.where(
                    distance < n_buckets // 2, distance,
                    (n_buckets // 2 + (distance.clamp_min(1) / (n_buckets // 2)).log() / math.log(longest / (n_buckets // 2)) * n_buckets)
                    .long().clamp_max(n_buckets - 1))),
        mistake("Near distances are taken from the formula for far ones. Below half the buckets, the bucket is the distance.",
                lambda distance, n_buckets, longest: (
                    n_buckets // 2 + ((distance.double().clamp_min(1) / (n_buckets // 2)).log() / math.log(longest / (n_buckets // 2)) * (n_buckets // 2))
                    .floor().long()).clamp(0, n_buckets - 1)),
    ],
    praise="Near distances one by one, far ones in ranges that widen by a factor, the farthest together.",
)  # fmt: skip


def _turned(t: Tensor, base: float, places: Tensor | None = None, **options: Any) -> Tensor:
    return positions.rotary(t, torch.arange(t.shape[-2]) if places is None else places, base=base, **options)


def _backwards(t: Tensor, base: float) -> Tensor:
    return _turned(t, base, -torch.arange(t.shape[-2]))


def _pairs(t: Tensor, base: float, how: Callable, speeds: Callable | None = None) -> Tensor:
    """Turn neighbours in a way of one's own: `how` takes a, b, cos and sin."""
    n, d = t.shape[-2:]
    pair = torch.arange(d // 2)
    angle = torch.arange(n)[:, None] * (base ** (-2 * pair / d) if speeds is None else speeds(pair, d, base))
    angle = angle.to(t.dtype)
    return torch.stack(how(t[..., 0::2], t[..., 1::2], angle.cos(), angle.sin()), -1).flatten(-2)


def _right(a, b, c, s):
    return a * c - b * s, a * s + b * c


def _with(turn: Callable[[Tensor, float], Tensor], also: Callable | None = None, **options: Any) -> Callable:
    """Attention in which `turn` turns queries and keys; `also` takes the keys, if they go another way."""

    def answer(q, k, v, base=10000.0):
        return attention(turn(q, base), (also or turn)(k, base), v, **options)

    return answer


def _speeds(speeds: Callable) -> Callable:
    return _with(lambda t, base: _pairs(t, base, _right, speeds))


def _mixed_up(t: Tensor, base: float) -> Tensor:
    """Entry i with entry i + d/2, but with the cosines of neighbours."""
    d = t.shape[-1]
    angle = torch.arange(t.shape[-2])[:, None] * base ** (-2 * torch.arange(d // 2) / d)
    angle = angle.repeat_interleave(2, -1).to(t.dtype)
    a, b = t.chunk(2, -1)
    return t * angle.cos() + torch.cat((-b, a), -1) * angle.sin()


def _own_scores(q, k, v, base=10000.0, *, scale=None, dim=-1):
    q, k = _turned(q, base), _turned(k, base)
    return (q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale(q, k, v))).softmax(dim) @ v


exercise(
    "positions-rope",
    "rotary_attention",
    reference=lambda q, k, v, base=10000.0: _own_scores(q, k, v, base),
    cases=[
        *draws(q="... n d", k="... n d", v="... n w", base=lambda s, _: (10000.0, 50.0, 200.0)[s.n % 3],
               lead=[(2, 3), (3, 2), (1, 4), (4, 1)], d=EVEN_AND_SEVERAL, w=(2, 4, 18, 20, 22), seeds=6, spread=1.5,
               large=dict(d=44, w=46)),
        *draws(q="... n d", k="... n d", v="... n w", lead=[(2, 3)], d=(8,), w=(6,), seeds=1, spread=1.5, large=None),
        *draws(q="... n d", k="... n d", v="... n w", base=lambda *_: 50.0, lead=[(3, 5)], n=(6,), d=(2,), w=(4,), seeds=1, spread=1.5,
               large=None),
        case("scores of several hundreds", "There exp overflows; Tensor.softmax takes the largest score of a row off first.",
             q=torch.eye(4).expand(1, 1, 4, 4) * 30, k=torch.eye(4).flip(0).expand(1, 1, 4, 4) * 40, v=torch.arange(16.0).view(1, 1, 4, 4) / 4),
        *late(case("the sizes of an earlier case and another base", "An angle depends on the base too, not on the sizes alone.",
                   q=torch.eye(4).expand(1, 1, 4, 4) * 3, k=torch.eye(4).expand(1, 1, 4, 4), v=torch.arange(16.0).view(1, 1, 4, 4) / 4, base=20.0)),
    ],
    promises=[
        gradient("q", "k", "v"),
        precisions("float64"),
        without("Here the turning is yours, without positions.rotary.", positions.rotary, positions.RotaryPositions.forward),
    ],
    mistakes=[
        mistake("Positions make no difference: all tokens are turned alike. The angle of a pair is its speed times the position "
                "of the token, counted along axis -2, not over the batch or the heads.",
                lambda q, k, v, base=10000.0: attention(q, k, v)),
        mistake("It pairs entry i with entry i + d/2. Here neighbours are paired: 0 with 1, 2 with 3.",
                _with(lambda t, base: _turned(t, base, layout="halves"))),
        mistake("Queries and keys are paired in two ways. Turn both with neighbours paired.",
                _with(lambda t, base: _turned(t, base, layout="halves"), _turned)),
        mistake("Queries and keys are paired in two ways. Turn both with neighbours paired.",
                _with(_turned, lambda t, base: _turned(t, base, layout="halves"))),
        mistake("Entry i is turned together with entry i + d/2, but by the cosines and sines of neighbours: 0 with 1, 2 with 3. "
                "Here neighbours are paired throughout.",
                _with(_mixed_up)),
        mistake("It turns the values too. Then the output depends on where the sentence stands: leave v alone.",
                lambda q, k, v, base=10000.0: _own_scores(q, k, _turned(v, base), base)),
        mistake("Queries and keys turn opposite ways, so scores depend on m + n. Turn both the same way.",
                _with(_turned, _backwards)),
        mistake("Queries and keys turn opposite ways, so scores depend on m + n. Turn both the same way.",
                _with(_backwards, _turned)),
        mistake("Only the queries are turned. Then the score depends on the query's place alone, not on a distance.",
                _with(_turned, lambda t, base: t)),
        mistake("Only the keys are turned. Turn the queries as well.", _with(lambda t, base: t, _turned)),
        mistake("Both turn the wrong way round: (a, b) becomes (a cos - b sin, a sin + b cos).", _with(_backwards)
        ),
        mistake("A minus is lost: (a, b) becomes (a cos - b sin, a sin + b cos), and without it lengths change.",
                _with(lambda t, base: _pairs(t, base, lambda a, b, c, s: (a * c + b * s, a * s + b * c)))),
        mistake("There is a minus too many: (a, b) becomes (a cos - b sin, a sin + b cos), and else lengths change.",
                _with(lambda t, base: _pairs(t, base, lambda a, b, c, s: (a * c - b * s, a * s - b * c)))),
        mistake("The first entry of a pair is overwritten before the second is made of it: keep the old one.",
                _with(
                    lambda t, base: _pairs(t, base, lambda a, b, c, s: (a * c - b * s, (a * c - b * s) * s + b * c))
                )),
        mistake("The speeds fall too slowly: pair i turns at base ** (-2i / d), with the 2.",
                _speeds(lambda i, d, base: base ** (-i / d))),
        mistake("The speeds fall too fast: pair i turns at base ** (-2i / d), not 4i.",
                _speeds(lambda i, d, base: base ** (-4 * i / d))),
        mistake("The speeds grow from pair to pair: pair i turns at base ** (-2i / d), with the minus.",
                _speeds(lambda i, d, base: base ** (2 * i / d))),
        mistake("All pairs turn at one speed. Pair i turns at base ** (-2i / d).",
                _speeds(lambda i, d, base: torch.ones(len(i)))),
        mistake("The last pair turns at 1 / base. It should be a little faster: 2i is divided by d, not by d - 2.",
                _speeds(lambda i, d, base: base ** (-2 * i / max(d - 2, 1)))),
        mistake("It uses the base 10000 always: use the base that is given.",
                lambda q, k, v, base=10000.0: _own_scores(q, k, v)),
        mistake("Positions are added to queries and keys. RoPE adds nothing, it turns.",
                _with(lambda t, base: t + positions.sinusoidal(*t.shape[-2:], base=base, dtype=t.dtype))),
        mistake("Later tokens are hidden. Nothing here asks for a mask: every token sees all.", _with(_turned, is_causal=True)
        ),
        mistake("The softmax runs down the columns. Each row belongs to one query: use dim=-1.",
                lambda *a: _own_scores(*a, dim=-2)),
        mistake("The scores are not scaled by 1 / sqrt(d).", lambda *a: _own_scores(*a, scale=lambda q, k, v: 1.0)),
        mistake("It divides by d. Divide by its root.", lambda *a: _own_scores(*a, scale=lambda q, k, v: 1 / q.shape[-1])
        ),
        mistake("It divides by the root of the values' width. Scores are sums over d products: divide by the root of d.",
                lambda *a: _own_scores(*a, scale=lambda q, k, v: v.shape[-1] ** -0.5)),
    ],
    praise="Queries and keys turned alike, neighbours paired, values left alone.",
)  # fmt: skip


def _grid(
    x: Tensor, rows: Tensor, columns: Tensor, base: float = 10000.0, *, turn: Callable = positions.rotary
) -> Tensor:
    """Turn the first half of the entries by the row, the second by the column."""
    half = x.shape[-1] // 2
    return torch.cat((turn(x[..., :half], rows, base=base), turn(x[..., half:], columns, base=base)), -1)


def _in_halves(t: Tensor, at: Tensor, base: float) -> Tensor:
    return positions.rotary(t, at, base=base, layout="halves")


def _one_row_of_speeds(x: Tensor, rows: Tensor, columns: Tensor, base: float = 10000.0) -> Tensor:
    half = x.shape[-1] // 2
    by_row, by_column = (positions.rotary(x, at, base=base) for at in (rows, columns))
    return torch.cat((by_row[..., :half], by_column[..., half:]), -1)


def _in_turns(x: Tensor, rows: Tensor, columns: Tensor, base: float = 10000.0) -> Tensor:
    pairs = x.unflatten(-1, (-1, 2, 2))
    parts = [
        positions.rotary(pairs[..., i, :].flatten(-2), at, base=base) for i, at in enumerate((rows, columns))
    ]
    return torch.stack([part.unflatten(-1, (-1, 2)) for part in parts], -2).flatten(-3)


exercise(
    "positions-grid",
    "grid_rotary",
    reference=lambda x, rows, columns, base=10000.0: _grid(x, rows, columns, base),
    cases=[
        *draws(x="... n d",
               rows=lambda s, g: torch.randint(0, 9, (s.n,), generator=g),
               columns=lambda s, g: torch.randint(0, 14, (s.n,), generator=g),
               base=lambda s, _: (10000.0, 50.0, 100.0)[s.n % 3],
               lead=[(2, 3), (), (3,), (4, 1)], d=(8, 12, 16, 20, 24), seeds=6, large=dict(d=48)),
        case("four patches of a picture, the base left out", "Then it is 10000.",
             x=torch.ones(1, 4, 8), rows=torch.tensor([0, 0, 1, 1]), columns=torch.tensor([0, 1, 0, 1])),
        case("a pair for each", x=torch.ones(3, 4), rows=torch.tensor([0, 3, 1]), columns=torch.tensor([2, 0, 1]), base=10.0),
        *late(case("rows and columns up to 60", x=torch.ones(4, 8), rows=torch.tensor([0, 41, 60, 7]), columns=torch.tensor([59, 3, 44, 0]))),
        *late(case("rows and columns up to 5000", x=torch.ones(4, 8), rows=torch.tensor([0, 700, 5000, 64]), columns=torch.tensor([4096, 3, 90, 1000]))),
        *late(case("the sizes of an earlier case and another base", "An angle depends on the base too, not on the sizes alone.",
                   x=torch.ones(1, 4, 8), rows=torch.tensor([0, 0, 1, 1]), columns=torch.tensor([0, 1, 0, 1]), base=20.0)),
    ],
    promises=[gradient("x")],
    mistakes=[
        mistake("It returns x as it was. Turn its pairs.", lambda x, rows, columns, base=10000.0: x),
        mistake("Rows and columns have changed places: the first half is turned by the row.",
                lambda x, rows, columns, base=10000.0: _grid(x, columns, rows, base)),
        mistake("Only rows count. The second half of the entries is turned by the column.",
                lambda x, rows, columns, base=10000.0: _grid(x, rows, rows, base)),
        mistake("Only columns count. The first half of the entries is turned by the row.",
                lambda x, rows, columns, base=10000.0: _grid(x, columns, columns, base)),
        mistake("The second half is left as it is. Turn it by the column.",
                lambda x, rows, columns, base=10000.0: _grid(x, rows, 0 * columns, base)),
        mistake("Every pair is turned twice, so angles add up: one down looks like one to the right. Turn half of the entries by each.",
                lambda x, rows, columns, base=10000.0: positions.rotary(positions.rotary(x, rows, base=base), columns, base=base)),
        mistake("The two halves share one row of speeds, as if they were one RoPE. Each half is a RoPE of its own, with speeds from 1 down.",
                _one_row_of_speeds),
        mistake("Pairs take turns, one by the row, the next by the column. Here the first half of the entries is for rows.", _in_turns),
        mistake("It pairs entry i with one half a width away. Neighbours make a pair.",
                lambda x, rows, columns, base=10000.0: _grid(x, rows, columns, base, turn=_in_halves)),
        mistake("It turns the wrong way round.", lambda x, rows, columns, base=10000.0: _grid(x, -rows, -columns, base)),
        mistake("It ignores the base that it is given.", lambda x, rows, columns, base=10000.0: _grid(x, rows, columns)),
        mistake("It counts the patches one after the other. The angles are those of rows and columns as given.",
                lambda x, rows, columns, base=10000.0: positions.rotary(x, base=base)),
    ],
    praise="Half of each vector tells the row and half the column, each with all its speeds.",
)  # fmt: skip
