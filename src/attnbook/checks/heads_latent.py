"""The exercise on latent attention: one narrow vector a token is kept, and no head's keys or values are made."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attnbook.checks.exercise import at_most, case, draws, exercise, gradient, late, mistake, precisions

LONG = 2000


def _attend(q, c, w_uk, w_uv, *, root=None, weigh=lambda s: s.softmax(-1), w_k=None, w_v=None, after=1.0):
    """The reference, with parts that can be exchanged: keys and values of each head, then attention."""
    k = c[:, None] @ (w_uk if w_k is None else w_k)  # (batch, n_heads, n_k, d_head)
    v = c[:, None] @ (w_uv if w_v is None else w_v)
    return weigh(q @ k.mT / (q.shape[-1] ** 0.5 if root is None else root)) @ v * after


def _overflows(scores: Tensor) -> Tensor:
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


def _given(b: int, h: int, n: int, m: int, r: int, d: int, w: int) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(b + 10 * h + 100 * n)
    shapes = {"q": (b, h, n, d), "c": (b, m, r), "w_uk": (h, r, d), "w_uv": (h, r, w)}
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


def _loud() -> dict[str, Any]:
    """Scores that all lie about 100 higher: exp overflows in single precision, and the weights stay what they are.

    Quarters, so that products are exact: rounding at that height would shift weights.
    """
    given = _given(1, 2, 3, 5, 4, 6, 7)
    given |= {name: (4 * given[name]).round() / 4 for name in ("q", "c", "w_uk")}
    given["w_uk"][:, 0], given["w_uk"][:, 0, 0] = 0.0, 1.0
    given["q"][..., 0], given["c"][..., 0] = 256.0, 1.0
    given["w_uk"][:, 1:, 0] = 0.0
    return given


def _apart() -> dict[str, Any]:
    """The same, but the scores of the first row lie 200 above those of the others."""
    given = _loud()
    given["q"][:, :, 1:, 0] = -256.0
    return given


def _causal_where_square(scores: Tensor) -> Tensor:
    n, m = scores.shape[-2:]
    if n == m:
        scores = scores.masked_fill(scores.new_ones(n, n).triu(1).bool(), -math.inf)
    return scores.softmax(-1)


def _below_the_largest(scores: Tensor) -> Tensor:
    e = (scores - scores.max()).exp()
    return e / e.sum(-1, keepdim=True)


exercise(
    "heads-latent",
    "latent",
    reference=lambda q, c, w_uk, w_uv: _attend(q, c, w_uk, w_uv),
    cases=[
        *draws(q="b h n d", c="b m r", w_uk="h r d", w_uv="h r w", seeds=6),
        case("one head", **_given(2, 1, 3, 5, 4, 6, 7)),
        case("one number is kept for each token", **_given(2, 3, 4, 5, 1, 6, 2)),
        case("as much is kept as a head is wide", **_given(2, 3, 4, 6, 5, 5, 5)),
        case("as many queries as tokens", "Nothing is hidden there either.", **_given(2, 3, 5, 5, 4, 6, 7)),
        case("scores about 100", "There exp overflows; Tensor.softmax takes the largest score of a row off first.", **_loud()),
        case("rows whose scores lie 200 apart", "Each row has a largest score of its own.", **_apart()),
        *late(case(f"one query, {LONG:,} tokens", **_given(1, 8, 1, LONG, 4, 128, 128))),
    ],
    promises=[
        gradient("q", "c", "w_uk", "w_uv"),
        precisions("float64"),
        *at_most(
            "Here the keys and values of the heads are never made: bring the query to what is kept, and the mixture of what is kept to the values.",
            made=lambda q, c, w_uk, w_uv: 6 * q.shape[1] * c.numel() if c.shape[1] >= LONG else math.inf,
            bytes=lambda q, c, w_uk, w_uv: 8 * q.shape[1] * c.numel() if c.shape[1] >= LONG else math.inf,
        ),
    ],
    mistakes=[
        mistake("It divides by the root of the kept vector's width. The scores are what they were: divide by the root of d_head.",
                lambda q, c, w_uk, w_uv: _attend(q, c, w_uk, w_uv, root=c.shape[-1] ** 0.5)),
        mistake("The scores are not scaled. Divide them by the root of d_head.",
                lambda q, c, w_uk, w_uv: _attend(q, c, w_uk, w_uv, root=1.0)),
        mistake("It divides by d_head. Divide by its root.",
                lambda q, c, w_uk, w_uv: _attend(q, c, w_uk, w_uv, root=q.shape[-1])),
        mistake("It divides after the softmax, so rows no longer sum to 1. Divide the scores.",
                lambda q, c, w_uk, w_uv: _attend(q, c, w_uk, w_uv, root=1.0, after=q.shape[-1] ** -0.5)),
        mistake("All heads use the matrices of the first. What is kept is shared; each head has matrices of its own.",
                lambda q, c, w_uk, w_uv: _attend(q, c, w_uk, w_uv, w_k=w_uk[:1], w_v=w_uv[:1])),
        mistake("All heads use the key matrix of the first. What is kept is shared; each head has matrices of its own.",
                lambda q, c, w_uk, w_uv: _attend(q, c, w_uk, w_uv, w_k=w_uk[:1])),
        mistake("It hides later tokens, where there are as many queries as tokens. Nothing here is causal.",
                lambda q, c, w_uk, w_uv: _attend(q, c, w_uk, w_uv, weigh=_causal_where_square)),
        mistake("The softmax runs down the columns. Each row belongs to one query: use dim=-1.",
                lambda q, c, w_uk, w_uv: _attend(q, c, w_uk, w_uv, weigh=lambda s: s.softmax(-2))),
        mistake("exp overflows where scores are large: the output is not a number. Tensor.softmax takes the largest score off first.",
                lambda q, c, w_uk, w_uv: _attend(q, c, w_uk, w_uv, weigh=_overflows)),
        mistake("The largest of all scores is taken off, and where a row lies far below it, 0 is divided by 0. Take off the largest of each row.",
                lambda q, c, w_uk, w_uv: _attend(q, c, w_uk, w_uv, weigh=_below_the_largest)),
    ],
    praise="The output of all heads from one narrow vector a token, with few numbers made on the way.",
)  # fmt: skip
