"""Exercises on positions: sinusoids, rotary attention, ALiBi's bias."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnlab import positions
from attnlab.checks.exercise import case, draws, exercise, gradient, mistake, without
from attnlab.dot_product import attention

EVEN_AND_SEVERAL = (6, 8, 10, 12, 14, 16)
"""Widths of three pairs and more: with two a wrong fall of the speeds may look right."""


def _table(
    n: int,
    d: int,
    base: float = 10000.0,
    *,
    speeds: Callable[[Tensor, int, float], Tensor] = lambda pair, d, base: base ** (-2 * pair / d),
    first: int = 0,
    swap: bool = False,
    halves: bool = False,
) -> Tensor:
    """The table of sinusoids, or one that is wrong in some way."""
    angle = (first + torch.arange(n))[:, None] * speeds(torch.arange(d // 2), d, base)
    parts = (angle.cos(), angle.sin()) if swap else (angle.sin(), angle.cos())
    return torch.cat(parts, -1) if halves else torch.stack(parts, -1).flatten(-2)


def _added(x: Tensor, base: float = 10000.0, **options: Any) -> Tensor:
    return x + _table(*x.shape[-2:], base, **options)


def _adds(**options: Any) -> Callable[..., Tensor]:
    return lambda x, base=10000.0: _added(x, base, **options)


def _own_speeds(x: Tensor, base: float = 10000.0) -> Tensor:
    n, d = x.shape[-2:]
    angle = torch.arange(n)[:, None] * base ** (-torch.arange(d) / d)
    return x + torch.stack((angle[:, 0::2].sin(), angle[:, 1::2].cos()), -1).flatten(-2)


def _over_the_batch(x: Tensor, base: float = 10000.0) -> Tensor:
    return x + _table(len(x), x.shape[-1], base)[:, None]


_ROUND = 2 * torch.pi

exercise(
    "positions-sinusoids",
    "add_sinusoids",
    reference=lambda x, base=10000.0: x + positions.sinusoidal(*x.shape[-2:], base=base),
    cases=[
        *draws(x="b n d", d=EVEN_AND_SEVERAL, base=lambda s, _: (50.0, 10000.0, 200.0, 10.0)[s.b % 4], seeds=6),
        case("the base left out", "Then it is 10000.", x=torch.zeros(2, 7, 8)),
        case("one pair, base 50", x=torch.zeros(3, 5, 2), base=50.0),
        case("one sentence of 40 tokens", x=torch.zeros(1, 40, 6), base=10000.0),
    ],
    promises=[gradient("x")],
    mistakes=[
        mistake("It returns x as it was. Add the positions to it.", lambda x, base=10000.0: x),
        mistake("It returns the positions alone. Add them to x.",
                lambda x, base=10000.0: _added(torch.zeros_like(x), base)),
        mistake("Sine and cosine have changed places: the even entries hold the sine.",
                _adds(swap=True)),
        mistake("All sines come first, then all cosines. They take turns: sine, cosine, sine, cosine.",
                _adds(halves=True)),
        mistake("The speeds fall too slowly: pair i has the speed base ** (-2i / d), with the 2.",
                _adds(speeds=lambda i, d, base: base ** (-i / d))),
        mistake("The speeds fall too fast: with i counting pairs, it is base ** (-2i / d), not 4i.",
                _adds(speeds=lambda i, d, base: base ** (-4 * i / d))),
        mistake("The sine and the cosine of a pair must share one speed, that of entry 2i.", _own_speeds),
        mistake("The speeds grow from pair to pair. The power of the base divides, it does not multiply.",
                _adds(speeds=lambda i, d, base: base ** (2 * i / d))),
        mistake("All pairs turn at one speed. Pair i has the speed base ** (-2i / d).",
                _adds(speeds=lambda i, d, base: torch.ones(len(i)))),
        mistake("Positions count from 0: the first token has sines of 0 and cosines of 1.",
                _adds(first=1)),
        mistake("It counts positions over the batch: all tokens of a sentence get one vector. Tokens are axis -2.",
                _over_the_batch),
        mistake("It multiplies x by the root of d, as the paper does with its own embeddings. Here x is taken as it is.",
                lambda x, base=10000.0: _added(x * x.shape[-1] ** 0.5, base)),
        mistake("The speeds are 2π times too high: a hand of speed 1 needs 2π tokens for a round.",
                _adds(speeds=lambda i, d, base: _ROUND * base ** (-2 * i / d))),
        mistake("It ignores the base that it is given.", lambda x, base=10000.0: _added(x)),
        mistake("Only the first sentence of the batch gets positions. Each has tokens of its own, counted from 0.",
                lambda x, base=10000.0: torch.cat((_added(x[:1], base), x[1:]))),
    ],
    praise="Sines and cosines in turn, one speed a pair, tokens counted within their own sentence.",
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
               lead=[(2, 3), (3, 2), (1, 4), (4, 1)], d=EVEN_AND_SEVERAL, w=(2, 4, 18, 20, 22), seeds=6, spread=1.5),
        *draws(q="... n d", k="... n d", v="... n w", lead=[(2, 3)], d=(8,), w=(6,), seeds=1, spread=1.5),
        *draws(q="... n d", k="... n d", v="... n w", base=lambda *_: 50.0, lead=[(3, 5)], n=(6,), d=(2,), w=(4,), seeds=1, spread=1.5),
    ],
    promises=[
        gradient("q", "k", "v"),
        without("Here the turning is yours, without positions.rotary.", positions.rotary),
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
                _with(lambda t, base: _added(t, base))),
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


def _price(
    n_heads: int,
    n: int,
    *,
    slopes: Callable[[Tensor, int], Tensor] = lambda i, h: 2 ** (-8 * (i + 1) / h),
    gap: Callable[[Tensor], Tensor] = torch.abs,
) -> Tensor:
    """Minus slope times distance; `gap` takes the place of the key less that of the query."""
    place = torch.arange(n)
    heads = torch.arange(n_heads)
    return -slopes(heads, n_heads)[:, None, None] * gap(place - place[:, None])


def _sloped(slopes: Callable[[Tensor, int], Tensor]) -> Callable[[int, int], Tensor]:
    return lambda n_heads, n: _price(n_heads, n, slopes=slopes)


exercise(
    "positions-alibi",
    "alibi",
    reference=lambda n_heads, n: positions.alibi(n_heads, n),
    cases=[
        case("4 heads and 5 tokens", n_heads=4, n=5),
        case("8 heads and 3 tokens", n_heads=8, n=3),
        case("2 heads and 9 tokens", n_heads=2, n=9),
        case("16 heads and 6 tokens", "Half of the exponents are not whole numbers.", n_heads=16, n=6),
        case("one head", n_heads=1, n=4),
        case("one token", n_heads=4, n=1),
        case("32 heads and 20 tokens", n_heads=32, n=20),
    ],
    mistakes=[
        mistake("It rewards distance. The bias is negative away from the diagonal.",
                lambda n_heads, n: -_price(n_heads, n)),
        mistake("Keys after the query are rewarded: the distance is |m - n|, without a sign.",
                lambda n_heads, n: _price(n_heads, n, gap=lambda g: -g)),
        mistake("Keys before the query are rewarded: the distance is |m - n|, without a sign.",
                lambda n_heads, n: _price(n_heads, n, gap=lambda g: g)),
        mistake("The slopes start at 1. The first of h heads has the slope 2 ** (-8 / h).",
                _sloped(lambda i, h: 2 ** (-8 * i / h))),
        mistake("Those are the slopes of eight heads. With h heads, each is 2 ** (-8 / h) times the one before.",
                _sloped(lambda i, h: 2.0 ** -(i + 1))),
        mistake("The exponent of 16 heads steps by a half: 8 / h, without rounding it down.",
                _sloped(lambda i, h: 2.0 ** (-(8 // h) * (i + 1)))),
        mistake("All heads have one slope. They should differ, so that some see near and some see far.",
                _sloped(lambda i, h: torch.full((h,), 2.0**-8))),
        mistake("All heads have one slope. They should differ, so that some see near and some see far.",
                _sloped(lambda i, h: torch.full((h,), 2.0 ** (-8 / h)))),
        mistake("All heads have the slope 1. They should differ, so that some see near and some see far.",
                _sloped(lambda i, h: torch.ones(h))),
        mistake("The heads come in the reverse order: the first has the steepest slope, 2 ** (-8 / h).",
                lambda n_heads, n: _price(n_heads, n).flip(0)),
        mistake("Keys after the query cost nothing. Without a mask the price is the same on both sides: |m - n|.",
                lambda n_heads, n: _price(n_heads, n, gap=lambda g: (-g).clamp_min(0))),
        mistake("Keys before the query cost nothing. Without a mask the price is the same on both sides: |m - n|.",
                lambda n_heads, n: _price(n_heads, n, gap=lambda g: g.clamp_min(0))),
        mistake("It hides later tokens with -inf. The exercise asks for the bias alone, without a mask.",
                lambda n_heads, n: _price(n_heads, n).masked_fill(torch.ones(n, n).triu(1).bool(), -torch.inf)),
        mistake("A token pays for itself. The distance to itself is 0.",
                lambda n_heads, n: _price(n_heads, n, gap=lambda g: g.abs() + 1)),
        mistake("The 8 is missing: the slope of head i of h is 2 ** (-8 i / h).", _sloped(lambda i, h: 2 ** (-(i + 1) / h))
        ),
        mistake("The slopes fall evenly. They fall by a factor: head i of h has 2 ** (-8 i / h).",
                _sloped(lambda i, h: (i + 1) / h)),
        mistake("It squares the distance. Each step costs the same.",
                lambda n_heads, n: _price(n_heads, n, gap=lambda g: g**2)),
    ],
    praise="Every head takes its own fixed price for each step of distance, in both directions, up to 32 heads.",
)  # fmt: skip
