"""Checkers of chapter 08, Positional encoding."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnlab.attention import attention
from attnlab.checks.legacy import Wrong, call, exercise, near, rounded, want_tensor, wrong_row
from attnlab.positions import alibi as true_alibi
from attnlab.positions import rotary, sinusoidal


def _draw(seed: int, *shape: int) -> Tensor:
    return 0.7 * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@exercise("positions-sinusoids", "add_sinusoids")
def add_sinusoids(answer: Callable) -> str:
    """Examine the sum of a batch of embeddings and their sinusoidal positions."""
    x, base = _draw(1, 3, 5, 6), 50.0  # batch, n and d all differ
    got = want_tensor(call(answer, x, base), (3, 5, 6)) - x
    pair, pos = torch.arange(3), torch.arange(5.0)[:, None]

    def table(angle: Tensor) -> Tensor:
        return torch.stack((angle.sin(), angle.cos()), -1).flatten(-2).expand(3, -1, -1)

    speed = base ** (-2 * pair / 6)
    want = table(pos * speed)
    per_entry = pos * base ** (-torch.arange(6) / 6)
    both = torch.stack((per_entry[:, 0::2].sin(), per_entry[:, 1::2].cos()), -1).flatten(-2)
    for mistake, message in (
        (torch.zeros(3, 5, 6), "It returns x as it was. Add the positions to it."),
        (want - x, "It returns the positions alone. Add them to x."),
        (
            torch.stack(((pos * speed).cos(), (pos * speed).sin()), -1).flatten(-2).expand(3, -1, -1),
            "Sine and cosine have changed places: the even entries hold the sine.",
        ),
        (
            torch.cat(((pos * speed).sin(), (pos * speed).cos()), -1).expand(3, -1, -1),
            "All sines come first, then all cosines. They take turns: sine, cosine, sine, cosine.",
        ),
        (
            table(pos * base ** (-pair / 6)),
            "The speeds fall too slowly: pair i has the speed base ** (-2i / d), with the 2.",
        ),
        (both.expand(3, -1, -1), "The sine and the cosine of a pair must share one speed, that of entry 2i."),
        (
            table(pos * base ** (2 * pair / 6)),
            "The speeds grow from pair to pair. The power of the base divides, it does not multiply.",
        ),
        (
            table((pos + 1) * speed),
            "Positions count from 0: the first token has sines of 0 and cosines of 1.",
        ),
        (
            table(torch.arange(3.0)[:, None] * speed)[0][:, None].expand(3, 5, 6),
            "It counts positions over the batch: all tokens of a sentence get one vector. Tokens are axis -2.",
        ),
        (
            (6**0.5 - 1) * x + want,
            "It multiplies x by the root of d, as the paper does with its own embeddings. Here x is taken as it is.",
        ),
        (
            table(2 * torch.pi * pos * speed),
            "The speeds are 2π times too high: a hand of speed 1 needs 2π tokens for a round.",
        ),
        (table(pos * 10000 ** (-2 * pair / 6)), "It ignores the base that it is given."),
    ):
        if near(got, mistake):
            raise Wrong(message)
    if not near(got, want):
        raise Wrong(
            f"Position 1 should add {rounded(want[0, 1])} to its token, it adds {rounded(got[0, 1])}."
        )
    got = want_tensor(call(answer, x, 10000.0), (3, 5, 6))
    if not near(got, x + sinusoidal(5, 6)):
        raise Wrong("With base 50 it is right, with base 10000 it is not.")
    return "Sines and cosines in turn, one speed a pair, tokens counted within their own sentence."


@exercise("positions-rope", "rotary_attention")
def rotary_attention(answer: Callable) -> str:
    """Examine attention whose queries and keys are turned by their positions, neighbours paired."""
    q, k, v = _draw(2, 2, 3, 5, 4), _draw(3, 2, 3, 5, 4), _draw(4, 2, 3, 5, 6)
    got = want_tensor(call(answer, q, k, v), (2, 3, 5, 6))
    place = torch.arange(5)

    def turned(t: Tensor, at: Tensor = place, **options: Any) -> Tensor:
        return rotary(t, at, **options)

    for mistake, message in (
        (
            attention(q, k, v),
            "Positions make no difference: all tokens are turned alike. The angle of a pair is its speed times "
            "the position of the token, counted along axis -2, not over the batch or the heads.",
        ),
        (
            attention(turned(q, layout="halves"), turned(k, layout="halves"), v),
            "It pairs entry i with entry i + d/2. Here neighbours are paired: 0 with 1, 2 with 3.",
        ),
        (
            attention(turned(q, layout="halves"), turned(k), v),
            "Queries and keys are paired in two ways. Turn both with neighbours paired.",
        ),
        (
            attention(turned(q), turned(k), turned(v)),
            "It turns the values too. Then the output depends on where the sentence stands: leave v alone.",
        ),
        (
            attention(turned(q), turned(k, -place), v),
            "Queries and keys turn opposite ways, so scores depend on m + n. Turn both the same way.",
        ),
        (
            attention(turned(q), k, v),
            "Only the queries are turned. Then the score depends on the query's place alone, not on a distance.",
        ),
        (attention(q, turned(k), v), "Only the keys are turned. Turn the queries as well."),
        (
            attention(turned(q, -place), turned(k, -place), v),
            "Both turn the wrong way round: (a, b) becomes (a cos - b sin, a sin + b cos).",
        ),
        (
            attention(turned(q, base=100.0), turned(k, base=100.0), v),
            "The speeds fall too slowly: pair i turns at base ** (-2i / d), with the 2.",
        ),
        (
            attention(turned(q, base=1.0), turned(k, base=1.0), v),
            "All pairs turn at one speed. Pair i turns at base ** (-2i / d).",
        ),
        (
            attention(q + sinusoidal(5, 4), k + sinusoidal(5, 4), v),
            "Positions are added to queries and keys. RoPE adds nothing, it turns.",
        ),
        (
            (turned(q) @ turned(k).transpose(-2, -1) / 2).softmax(-2) @ v,
            "The softmax runs down the columns. Each row belongs to one query: use dim=-1.",
        ),
        (attention(turned(q), turned(k), v, scale=1.0), "The scores are not scaled by 1 / sqrt(d)."),
        (attention(turned(q), turned(k), v, scale=1 / 4), "It divides by d. Divide by its root."),
    ):
        if near(got, mistake):
            raise Wrong(message)
    want = attention(turned(q), turned(k), v)
    if not near(got, want):
        raise Wrong(wrong_row(got, want))
    got = want_tensor(call(answer, q, k, v, 20.0), (2, 3, 5, 6))
    if not near(got, attention(turned(q, base=20.0), turned(k, base=20.0), v)):
        raise Wrong("With base 10000 it is right, with base 20 it is not: use the base that is given.")
    return "Queries and keys turned alike, neighbours paired, values left alone."


@exercise("positions-alibi", "alibi")
def alibi(answer: Callable) -> str:
    """Examine the bias of ALiBi without a mask: minus the head's slope times the distance."""
    got = want_tensor(call(answer, 4, 5), (4, 5, 5)).float()
    place = torch.arange(5.0)
    gap = place - place[:, None]
    head = torch.arange(4.0)[:, None, None]
    slopes = 2 ** (-8 * (head + 1) / 4)
    for mistake, message in (
        (slopes * gap.abs(), "It rewards distance. The bias is negative away from the diagonal."),
        (
            slopes * gap,
            "Keys after the query are rewarded: the distance is |m - n|, without a sign.",
        ),
        (
            -slopes * gap,
            "Keys before the query are rewarded: the distance is |m - n|, without a sign.",
        ),
        (
            -(2 ** (-8 * head / 4)) * gap.abs(),
            "The slopes start at 1. The first of 4 heads has the slope 2 ** (-8 / 4) = 0.25.",
        ),
        (
            -(2 ** (-(head + 1))) * gap.abs(),
            "Those are the slopes of eight heads. With h heads, each is 2 ** (-8 / h) times the one before.",
        ),
        (
            -(2.0**-8) * gap.abs().expand(4, 5, 5),
            "All heads have one slope. They should differ, so that some see near and some see far.",
        ),
        (
            (-slopes * gap.abs()).flip(0),
            "The heads come in the reverse order: the first has the steepest slope, 2 ** (-8 / h).",
        ),
        (
            -slopes * (-gap).clamp_min(0),
            "Keys after the query cost nothing. Without a mask the price is the same on both sides: |m - n|.",
        ),
        (
            -slopes * (gap.abs() + 1),
            "A token pays for itself. The distance to itself is 0.",
        ),
        (
            -(2 ** (-(head + 1) / 4)) * gap.abs(),
            "The 8 is missing: the slope of head i of h is 2 ** (-8 i / h).",
        ),
        (-slopes * gap**2, "It squares the distance. Each step costs the same."),
    ):
        if near(got, mistake):
            raise Wrong(message)
    want = true_alibi(4, 5)
    if got.isinf().any():
        raise Wrong("It hides tokens with -inf. The exercise asks for the bias alone, without a mask.")
    if not near(got, want):
        raise Wrong(wrong_row(got, want))
    got = want_tensor(call(answer, 8, 3), (8, 3, 3)).float()
    if not near(got, true_alibi(8, 3)):
        raise Wrong("With 4 heads it is right, with 8 it is not: the slopes depend on the number of heads.")
    return "Every head takes its own fixed price for each step of distance, in both directions."


@exercise("positions-equivariant", "is_equivariant")
def is_equivariant(answer: Callable) -> str:
    """Examine a test for permutation equivariance with functions that are, and functions that are not."""
    x = _draw(5, 7, 4)
    noise = 1 + 1e-7 * torch.arange(7.0)[:, None]  # what another order of summation may do

    def plain(t: Tensor) -> Tensor:
        return attention(t, t, t) * noise[: len(t)]

    def placed(t: Tensor) -> Tensor:
        return plain(t + sinusoidal(len(t), 4))

    def first(t: Tensor) -> Tensor:
        return t - t[:1]

    def last(t: Tensor) -> Tensor:
        return t - t[-1:]

    def flip(t: Tensor) -> Tensor:
        return t.flip(0)

    def faint(t: Tensor) -> Tensor:
        return t + 0.01 * sinusoidal(len(t), 4)

    def moody(t: Tensor) -> Tensor:
        return t * (t[0, :1] > t[1, :1])  # half of all orders do not show it

    def ordered(t: Tensor) -> Tensor:
        return t.sort(0).values

    cases = (
        (lambda t: 2 * t, True, "Doubling each row treats all rows alike, so the answer is True."),
        (
            plain,
            True,
            "Attention without positions is equivariant up to rounding. "
            "Permute the rows of the input, permute the rows of the output alike, compare with a tolerance.",
        ),
        (
            lambda t: t * torch.tensor([1.0, 2, 3, 4]),
            True,
            "A weight for each column is equivariant. Permute rows (tokens), not columns.",
        ),
        (
            placed,
            False,
            "With sinusoids the order matters: f(PX) and P f(X) differ. Try orders that are not the one given, and "
            "compare row by row.",
        ),
        (
            ordered,
            False,
            "Sorting gives the same output for every order. That is invariance: f(PX) = f(X). "
            "Equivariance is f(PX) = P f(X), for every order.",
        ),
        (
            flip,
            False,
            "Turning the rows around commutes with some orders, such as turning around. Try several orders.",
        ),
        (first, False, "Subtracting the first row singles out a place. Move the first row in some order."),
        (last, False, "Subtracting the last row singles out a place. Move the last row in some order."),
        (faint, False, "Positions of size 0.01 went unnoticed: the tolerance is too wide."),
        (
            moody,
            False,
            "A function whose fault shows in half of all orders passed. One order can be unlucky: try ten.",
        ),
    )
    seeds = itertools.count()
    for function, want, message in (*cases, cases[-1], cases[-1]):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(next(seeds))
            got = call(answer, function, x)
        if isinstance(got, Tensor) and got.dtype == torch.bool and got.dim() == 0:
            got = bool(got)
        if not isinstance(got, bool):
            raise Wrong(f"It should return True or False, it returned {type(got).__name__}.")
        if got != want:
            raise Wrong(message)
    return "It knows layers that see an order from layers that see a set, up to rounding."
