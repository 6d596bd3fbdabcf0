"""Answers to the exercises on heads that readers tried, or that fooled an earlier checker."""

import functools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attnlab import attention
from attnlab.dot_product import grouped_attention


def split(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(-3, -2)


def merge(x):
    return x.transpose(-3, -2).flatten(-2)


def column_by_column(x, n_heads):
    width = x.shape[-1] // n_heads
    return torch.stack([x[..., i * width : (i + 1) * width] for i in range(n_heads)], -3)


def number_by_number(x):
    if x.dim() > 3:
        return torch.stack([number_by_number(one) for one in x])
    heads, n, d = x.shape
    return torch.stack([torch.stack([x[c // d, t, c % d] for c in range(heads * d)]) for t in range(n)])


SPLITS = [
    ("detached", "wrong", "no gradient reaches x", lambda x, h: split(x.detach(), h)),
    ("made anew", "wrong", "no gradient reaches x", lambda x, h: torch.tensor(split(x, h).tolist()).to(x.dtype)),
    ("in single precision", "wrong", "in float64", lambda x, h: split(x.float(), h).to(x.dtype)),
    ("heads of two", "wrong", "should", lambda x, h: x.unflatten(-1, (-1, 2)).transpose(-3, -2)),
    ("four heads", "wrong", "should have shape", lambda x, h: split(x, 4)),
    ("tokens for heads", "wrong", "should have shape", lambda x, h: x.unflatten(-2, (-1, 1)).transpose(-3, -2)),
    ("each head turned around", "wrong", "should be", lambda x, h: split(x, h).flip(-1)),
    ("tokens turned around", "wrong", "should be", lambda x, h: split(x, h).flip(-2)),
    ("head axis last", "wrong", "should have shape", lambda x, h: x.unflatten(-1, (h, -1)).movedim(-2, -1)),
    ("scaled by the root of d_head", "wrong", "should be", lambda x, h: split(x, h) / (x.shape[-1] / h) ** 0.5),
    ("slices", "right", "", column_by_column),
    ("view and permute", "right", "",
     lambda x, h: x.reshape(-1, x.shape[-2], h, x.shape[-1] // h).permute(0, 2, 1, 3).reshape(*x.shape[:-2], h, x.shape[-2], -1)),
    ("a list, stacked", "right", "", lambda x, h: torch.stack(torch.split(x, x.shape[-1] // h, -1)).movedim(0, -3)),
    ("with identity matrices", "right", "",
     lambda x, h: torch.einsum("...nw,hwd->...hnd", x, torch.eye(x.shape[-1], dtype=x.dtype).view(x.shape[-1], h, -1).transpose(0, 1))),
]  # fmt: skip

MERGES = [
    ("detached", "wrong", "no gradient reaches x", lambda x: merge(x.detach())),
    ("two heads", "wrong", "should", lambda x: torch.cat((x[..., 0, :, :], x[..., -1, :, :]), -1)),
    ("heads below each other", "wrong", "Join the heads with their columns", lambda x: x.flatten(-3, -2)),
    ("turned around", "wrong", "The heads come in the reverse order", lambda x: torch.cat(x.unbind(-3)[::-1], -1)),
    ("for one batch axis", "wrong", "In 7 of 10 cases it is right",
     lambda x: x.permute(0, 2, 1, 3).flatten(2) if x.dim() == 4 else x.flatten(-2)),
    ("in half precision", "wrong", "should be", lambda x: merge(x.half()).to(x.dtype)),
    ("the largest head", "wrong", "should have shape", lambda x: x.amax(-3)),
    ("a head too many", "wrong", "should have shape", lambda x: torch.cat((merge(x), x[..., 0, :, :]), -1)),
    ("with an axis left", "wrong", "should have shape", lambda x: merge(x)[None]),
    ("side by side", "right", "", lambda x: torch.cat(list(x.unbind(-3)), -1)),
    ("number by number", "right", "", number_by_number),
    ("pairwise", "right", "", lambda x: functools.reduce(lambda a, b: torch.cat((a, b), -1), x.unbind(-3))),
    ("reshaped", "right", "", lambda x: x.movedim(-3, -2).reshape(*x.shape[:-3], x.shape[-2], -1)),
]  # fmt: skip


def attend(q, k, v, scale=None):
    return (q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)).softmax(-1) @ v


def grouped(q, k, v, **options):
    share = q.shape[1] // k.shape[1]
    return attend(q, k.repeat_interleave(share, 1), v.repeat_interleave(share, 1), **options)


def halves(q, k, v):
    half = q.shape[1] // 2
    return torch.cat((attend(q[:, :half], k[:, :1], v[:, :1]), attend(q[:, half:], k[:, -1:], v[:, -1:])), 1)


def head_by_head(q, k, v):
    share = q.shape[1] // k.shape[1]
    return torch.stack([attend(q[:, i], k[:, i // share], v[:, i // share]) for i in range(q.shape[1])], 1)


def queries_as_rows(q, k, v):
    groups = q.unflatten(1, (k.shape[1], -1))  # all queries of a group ask as if they were tokens
    return attend(groups.flatten(2, 3), k, v).unflatten(2, groups.shape[2:4]).flatten(1, 2)


def not_shared_only(q, k, v):
    if q.shape[1] == k.shape[1]:
        raise ValueError("nothing is shared")
    return grouped(q, k, v)


GROUPS = [
    ("torch's own", "wrong", "without a ready-made attention. (It called scaled_dot_product_attention.)",
     lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)),
    ("the package's", "wrong", "without a ready-made attention. (It called grouped_attention.)", grouped_attention),
    ("the package's, after repeating", "wrong", "without a ready-made attention. (It called attention.)",
     lambda q, k, v: attention(q, k.repeat_interleave(q.shape[1] // k.shape[1], 1), v.repeat_interleave(q.shape[1] // k.shape[1], 1))),
    ("the root of five", "wrong", "should be", lambda q, k, v: grouped(q, k, v, scale=5**-0.5)),
    ("two halves", "wrong", "should be", halves),
    ("the root of d_v", "wrong", "the root of the values' width", lambda q, k, v: grouped(q, k, v, scale=v.shape[-1] ** -0.5)),
    ("the root of all keys", "wrong", "n_kv_heads · d_head", lambda q, k, v: grouped(q, k, v, scale=(k.shape[1] * k.shape[-1]) ** -0.5)),
    ("the root of the share", "wrong", "should be", lambda q, k, v: grouped(q, k, v, scale=(k.shape[1] / q.shape[1] / q.shape[-1]) ** 0.5)),
    ("as many heads of each refused", "wrong", "a key-value head for each of four query heads: it raised ValueError: nothing is shared",
     not_shared_only),
    ("detached keys", "wrong", "no gradient reaches k", lambda q, k, v: grouped(q, k.detach(), v)),
    ("added up over the group", "wrong", "should have shape", lambda q, k, v: grouped(q, k, v).unflatten(1, (k.shape[1], -1)).sum(2)),
    ("a causal mask", "wrong", "should be",
     lambda q, k, v: (
         (q @ k.repeat_interleave(q.shape[1] // k.shape[1], 1).mT / q.shape[-1] ** 0.5)
         .masked_fill(torch.ones(q.shape[2], k.shape[2]).triu(1).bool(), -math.inf)
         .softmax(-1)
         @ v.repeat_interleave(q.shape[1] // k.shape[1], 1)
     )),
    ("the last group for all", "wrong", "should be", lambda q, k, v: attend(q, k[:, -1:], v[:, -1:])),
    ("head by head", "right", "", head_by_head),
    ("queries as rows", "right", "", queries_as_rows),
    ("einsum", "right", "",
     lambda q, k, v: torch.einsum(
         "bgrqk,bgkv->bgrqv",
         (torch.einsum("bgrqd,bgkd->bgrqk", q.unflatten(1, (k.shape[1], -1)), k) / q.shape[-1] ** 0.5).softmax(-1), v,
     ).flatten(1, 2)),
    ("expanded", "right", "",
     lambda q, k, v: attend(q.unflatten(1, (k.shape[1], -1)), k[:, :, None], v[:, :, None]).flatten(1, 2)),
    ("an index", "right", "",
     lambda q, k, v: attend(q, *(t[:, torch.arange(q.shape[1]) * k.shape[1] // q.shape[1]] for t in (k, v)))),
]  # fmt: skip


def cache(layers, heads, kv_heads, d_head, n, batch, size):
    return 2 * layers * kv_heads * d_head * n * batch * size


CACHES = [
    ("two bytes always", "wrong", "It takes two bytes for every number", lambda *a: cache(*a[:6], 2)),
    ("four bytes always", "wrong", "should be", lambda *a: cache(*a[:6], 4)),
    ("keys with positions of their own", "wrong", "should be", lambda *a: cache(*a) + a[4]),
    ("a number of kilobytes", "wrong", "should be", lambda *a: cache(*a) / 1024),
    ("the share", "wrong", "n_heads / n_kv_heads says how many", lambda *a: cache(*a) // a[2] * (a[1] // a[2])),
    ("32 bits", "wrong", "should be", lambda *a: int(np.int64(cache(*a)).astype(np.int32))),
    ("values as wide as the model", "wrong", "should be", lambda *a: cache(*a) // 2 * (1 + a[1])),
    ("a text", "wrong", "should be a number", lambda *a: str(cache(*a))),
    ("one token more", "wrong", "should be", lambda *a: cache(*a[:4], a[4] + 1, *a[5:])),
    ("the logarithm", "wrong", "should be", lambda *a: math.log2(cache(*a))),
    ("two numbers", "wrong", "should be a number", lambda *a: (cache(*a) // 2, cache(*a) // 2)),
    ("np.prod", "right", "", lambda layers, heads, *rest: np.prod([2, layers, *rest])),
    ("a tensor of one number", "right", "", lambda layers, heads, *rest: torch.tensor([2, layers, *rest]).prod()),
    ("a Fraction", "right", "", lambda *a: Fraction(cache(*a))),
    ("a float", "right", "", lambda *a: float(cache(*a))),
    ("math.prod", "right", "", lambda layers, heads, *rest: math.prod((2, layers, *rest))),
    ("added up, layer by layer", "right", "", lambda layers, *rest: sum(cache(1, *rest) for _ in range(layers))),
]  # fmt: skip

ATTACKS = [
    pytest.param(name, *rest, id=f"{name}: {title}")
    for name, attacks in (
        ("heads-split", SPLITS),
        ("heads-merge", MERGES),
        ("heads-grouped-query", GROUPS),
        ("heads-cache-bytes", CACHES),
    )
    for title, *rest in attacks
]


@pytest.mark.parametrize(("name", "status", "piece", "answer"), ATTACKS)
def test_an_attack_is_judged_rightly(judged, name, status, piece, answer):
    judged(name, status, piece, answer)
