"""Exercises on heads: cutting the width, putting it back, sharing keys and values, the size of the cache."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attnlab.checks.exercise import case, draws, exercise, gradient, mistake, precisions, without
from attnlab.dot_product import attention, grouped_attention


def _normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _width(s, generator: torch.Generator) -> Tensor:
    """Tokens as wide as h heads of width d."""
    return torch.randn(*s.lead, s.n, s.h * s.d, generator=generator)


exercise(
    "heads-split",
    "split_heads",
    reference=lambda x, n_heads: torch.stack(x.chunk(n_heads, -1), -3),
    cases=[
        *draws(n=..., h=(2, 3, 4, 6), d=(2, 3, 4, 5, 6, 8), x=_width, n_heads=lambda s, _: s.h,
               lead=[(2,), (3,), (), (2, 4), (5,)], seeds=8),
        case("one head", x=_normal(2, 5, 4), n_heads=1),
        case("heads of width 1", x=_normal(2, 5, 4), n_heads=4),
    ],
    promises=[gradient("x"), precisions("float64")],
    mistakes=[
        mistake("The heads are cut but not moved: swap the axes of tokens and heads.",
                lambda x, n_heads: x.unflatten(-1, (n_heads, -1))),
        mistake("The shape is right, the numbers are not: a reshape straight to (heads, n, d_head) mixes tokens and heads. "
                "Cut the last axis first, then swap two axes.",
                lambda x, n_heads: x.reshape(*x.shape[:-2], n_heads, x.shape[-2], -1)),
        mistake("It transposes before it cuts. Cut the width while it is the last axis, then swap two axes.",
                lambda x, n_heads: x.mT.reshape(*x.shape[:-2], n_heads, x.shape[-2], -1)),
        mistake("A head should hold neighbouring columns; here it got columns that lie n_heads apart. Unflatten to "
                "(heads, d_head), in this order.",
                lambda x, n_heads: x.unflatten(-1, (-1, n_heads)).movedim(-1, -3)),
        mistake("The batch is lost: all sentences run into one.",
                lambda x, n_heads: x.reshape(-1, n_heads, x.shape[-1] // n_heads).transpose(0, 1)),
        mistake("It counts the axes from the front, which is right for one leading axis only. Count from the end: -1, -2, -3.",
                lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).transpose(1, 2)),
        mistake("The heads come in the reverse order: head 1 holds the first columns.",
                lambda x, n_heads: torch.stack(x.chunk(n_heads, -1)[::-1], -3)),
        mistake("Each head should be width / n_heads wide; here every head is n_heads wide.",
                lambda x, n_heads: x.unflatten(-1, (-1, n_heads)).transpose(-3, -2)),
        mistake("Each head should be width / n_heads wide, not always 2.",
                lambda x, n_heads: x.unflatten(-1, (-1, 2)).transpose(-3, -2)),
    ],
    praise="Every head holds its own columns of every token, whatever stands in front of them.",
)  # fmt: skip

exercise(
    "heads-merge",
    "merge_heads",
    reference=lambda x: torch.cat(x.unbind(-3), -1),
    cases=[
        *draws(x="... h n d", lead=[(2,), (3,), (), (2, 4), (5,)], seeds=8),
        case("one head", x=_normal(2, 1, 5, 4)),
        case("heads of width 1", x=_normal(2, 4, 5, 1)),
    ],
    promises=[gradient("x"), precisions("float64")],
    mistakes=[
        mistake("It reshapes without moving the heads back: a row now mixes several tokens. Swap the axes of heads and "
                "tokens first.",
                lambda x: x.reshape(*x.shape[:-3], x.shape[-2], -1)),
        mistake("The heads are interleaved, one number of each in turn. All of head 1 comes first, then all of head 2.",
                lambda x: x.movedim(-3, -1).flatten(-2)),
        mistake("The heads come in the reverse order.", lambda x: torch.cat(x.unbind(-3)[::-1], -1)),
        mistake("The heads are averaged. Set them side by side: width heads · d_head.", lambda x: x.mean(-3)),
        mistake("The heads are added up. Set them side by side: width heads · d_head.", lambda x: x.sum(-3)),
        mistake("Only the first head is left. Set all side by side: width heads · d_head.", lambda x: x[..., 0, :, :]),
        mistake("It counts the axes from the front, which is right for one leading axis only. Count from the end: -1, -2, -3.",
                lambda x: x.transpose(1, 2).flatten(-2)),
        mistake("The axes are swapped but not joined: the heads should stand side by side in one axis.",
                lambda x: x.transpose(-3, -2)),
        mistake("Heads and tokens are joined into one axis. Join the heads with their columns.",
                lambda x: x.flatten(-3, -2)),
    ],
    praise="The heads stand side by side again, whatever stands in front of them: it undoes the split exactly.",
)  # fmt: skip


def _groups(s, generator: torch.Generator) -> Tensor:
    """Queries of r heads for each of g key-value heads."""
    return torch.randn(*s.lead, s.r * s.g, s.n, s.d, generator=generator)


def _neighbours(t: Tensor, share: int) -> Tensor:
    return t.repeat_interleave(share, -3)


def _in_turn(t: Tensor, share: int) -> Tensor:
    return torch.cat([t] * share, -3)


def _attend(q, k, v, *, keys=_neighbours, values=_neighbours, scale=None, dim=-1):
    """Attention of query heads to key-value heads that were repeated in some way."""
    share = q.shape[-3] // k.shape[-3]
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return (q @ keys(k, share).mT * scale).softmax(dim) @ values(v, share)


def _shared(kv_heads: int, share: int) -> dict[str, Tensor]:
    shapes = {"q": (kv_heads * share, 3, 7), "k": (kv_heads, 6, 7), "v": (kv_heads, 6, 9)}
    return {name: _normal(2, *shape, seed=seed) for seed, (name, shape) in enumerate(shapes.items())}


exercise(
    "heads-grouped-query",
    "grouped_query",
    reference=lambda q, k, v: _attend(q, k, v),
    cases=[
        *draws(n=..., r=(2, 3, 4), g=(2, 3, 4, 5), q=_groups, k="... g m d", v="... g m w", lead=[(2,), (3,), (1,), (4,)],
               seeds=6),
        case("eight heads that share four", **_shared(4, 2)),
        case("one key-value head for all five query heads (multi-query)", **_shared(1, 5)),
        case("a key-value head for each of four query heads", "Then nothing is shared.", **_shared(4, 1)),
        case("one head", **_shared(1, 1)),
    ],
    promises=[
        gradient("q", "k", "v"),
        precisions("float64"),
        without(
            "Here softmax and matrix products do it, without a ready-made attention.",
            attention, grouped_attention, scaled_dot_product_attention),
    ],
    mistakes=[
        mistake("The heads are dealt out in turn (1 2 1 2 1 2). Neighbours share: 1 1 1 2 2 2, repeat_interleave.",
                lambda q, k, v: _attend(q, k, v, keys=_in_turn, values=_in_turn)),
        mistake("Keys and values are repeated in different orders: a head gets the keys of one group and the values of another.",
                lambda q, k, v: _attend(q, k, v, values=_in_turn)),
        mistake("Keys and values are repeated in different orders: a head gets the keys of one group and the values of another.",
                lambda q, k, v: _attend(q, k, v, keys=_in_turn)),
        mistake("All query heads use the first key-value head. That is multi-query attention; here each group has its own.",
                lambda q, k, v: _attend(q, k[:, :1], v[:, :1])),
        mistake("The key-value heads are averaged. They were averaged long ago, if ever; each group has its own.",
                lambda q, k, v: _attend(q, k.mean(1, keepdim=True), v.mean(1, keepdim=True))),
        mistake("The groups come in the reverse order: the first query heads use the first key-value head.",
                lambda q, k, v: _attend(q, k.flip(1), v.flip(1))),
        mistake("The query heads are cut into two halves. There are as many groups as key-value heads.",
                lambda q, k, v: _attend(q, k[:, :2], v[:, :2])),
        mistake("Only one query head for each group is left. All of them ask; they share only keys and values.",
                lambda q, k, v: _attend(q[:, : k.shape[1]], k, v)),
        mistake("The queries of a group are averaged. All of them ask for themselves; only keys and values are shared.",
                lambda q, k, v: _attend(
                    _neighbours(q.unflatten(1, (k.shape[1], -1)).mean(2), q.shape[1] // k.shape[1]), k, v
                )),
        mistake("The scores are not scaled. Divide them by the root of d_head.", lambda q, k, v: _attend(q, k, v, scale=1.0)),
        mistake("It divides by d_head. Divide by its root.", lambda q, k, v: _attend(q, k, v, scale=1 / q.shape[-1])),
        mistake("It divides by the root of the whole width. A head's scores are sums over d_head products.",
                lambda q, k, v: _attend(q, k, v, scale=(q.shape[1] * q.shape[-1]) ** -0.5)),
        mistake("It divides by the root of all the keys' columns, n_kv_heads · d_head. A head's scores are sums over d_head products.",
                lambda q, k, v: _attend(q, k, v, scale=(k.shape[1] * k.shape[-1]) ** -0.5)),
        mistake("It divides by the root of the values' width. Scores are sums over d_head products: divide by the root of d_head.",
                lambda q, k, v: _attend(q, k, v, scale=v.shape[-1] ** -0.5)),
        mistake("It divides by the root of the number of keys. Scores are sums over d_head products: divide by the root of d_head.",
                lambda q, k, v: _attend(q, k, v, scale=k.shape[-2] ** -0.5)),
        mistake("It divides after the softmax, so rows no longer sum to 1. Divide the scores.",
                lambda q, k, v: _attend(q, k, v, scale=1.0) / q.shape[-1] ** 0.5),
        mistake("The softmax runs down the columns. Each row belongs to one query: use dim=-1.",
                lambda q, k, v: _attend(q, k, v, dim=-2)),
        mistake("The softmax runs over the heads. Each row belongs to one query of one head: use dim=-1.",
                lambda q, k, v: _attend(q, k, v, dim=1)),
    ],
    praise="Neighbouring query heads share a key-value head: from one for each of them down to one for all.",
)  # fmt: skip


def cache_bytes(n_layers, n_heads, n_kv_heads, d_head, n, batch, bytes_per_number):
    """The reference."""
    return 2 * n_layers * n_kv_heads * d_head * n * batch * bytes_per_number


_SIZES = dict(n_layers=5, n_heads=12, n_kv_heads=3, d_head=7, n=11, batch=13, bytes_per_number=4)
_LLAMA = dict(n_layers=80, n_heads=64, n_kv_heads=8, d_head=128, n=131072, batch=16, bytes_per_number=2)

exercise(
    "heads-cache-bytes",
    "cache_bytes",
    reference=cache_bytes,
    cases=[
        case("5 layers, 12 heads that share 3, d_head 7, 11 tokens, 13 texts, 4 bytes a number", **_SIZES),
        case("keys and values of their own for 4 heads, 2 bytes a number", **_SIZES | dict(n_heads=4, n_kv_heads=4, n=17, bytes_per_number=2)),
        case("one key-value head for 6 heads, one text, 8 bytes a number", **_SIZES | dict(n_heads=6, n_kv_heads=1, d_head=9, batch=1, bytes_per_number=8)),
        case("one layer and one token, one byte a number", **_SIZES | dict(n_layers=1, n_kv_heads=2, n=1, bytes_per_number=1)),
        case("Llama 3 70B, 16 texts of 131,072 tokens", **_LLAMA),
    ],
    mistakes=[
        mistake("Keys *and* values are kept: a factor of two is missing.", lambda *a: cache_bytes(*a) / 2),
        mistake("Query heads keep nothing; count the key-value heads.", lambda t, h, g, *a: cache_bytes(t, h, h, *a)),
        mistake("The width of one head is d_head already; query heads play no part.",
                lambda t, h, g, *a: cache_bytes(t, h, g, *a) * h),
        mistake("Every layer has keys and values of its own.", lambda t, *a: cache_bytes(1, *a)),
        mistake("Every text in the batch has a cache of its own.", lambda *a: cache_bytes(*a[:5], 1, a[6])),
        mistake("These are numbers, not bytes.", lambda *a: cache_bytes(*a[:6], 1)),
        mistake("It takes two bytes for every number. How many a number has is given.", lambda *a: cache_bytes(*a[:6], 2)
        ),
        mistake("Every token leaves a key and a value.", lambda *a: cache_bytes(*a[:4], 1, *a[5:])),
        mistake("A key is a vector: d_head numbers.", lambda *a: cache_bytes(*a[:3], 1, *a[4:])),
        mistake("Every key-value head keeps keys and values of its own.", lambda *a: cache_bytes(*a[:2], 1, *a[3:])
        ),
        mistake("These are bits. A byte has eight of them.", lambda *a: cache_bytes(*a) * 8),
        mistake("Queries are not kept: each is used once, in its own step.",
                lambda t, h, g, *a: cache_bytes(t, h, g, *a) + cache_bytes(t, h, h, *a) // 2),
        mistake("Queries are not kept: each is used once, in its own step.", lambda *a: cache_bytes(*a) * 3 // 2),
        mistake("The cache holds one row for each token, not one for each pair of tokens.",
                lambda *a: cache_bytes(*a) * a[4]),
        mistake("The cache holds keys and values, not scores.",
                lambda t, h, g, d, n, *a: cache_bytes(t, h, g, 1, n * n, *a)),
        mistake("n_heads / n_kv_heads says how many query heads share. What is kept are the n_kv_heads that they share.",
                lambda t, h, g, *a: cache_bytes(t, h, h // g, *a)),
    ],
    praise="Two times layers, key-value heads, width, tokens, texts, bytes: and no query heads.",
)  # fmt: skip
