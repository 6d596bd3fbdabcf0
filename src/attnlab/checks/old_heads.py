"""Checkers of chapter 07, Multi-head attention."""

from __future__ import annotations

from collections.abc import Callable

import torch

from attnlab.attention import attention
from attnlab.checks.legacy import Wrong, call, exercise, near, want_tensor


def _draw(seed: int, *shape: int) -> torch.Tensor:
    return 0.7 * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@exercise("heads-split", "split_heads")
def split_heads(answer: Callable) -> str:
    """Examine the cut of a width into heads: (..., n, heads * d_head) to (..., heads, n, d_head)."""
    x = _draw(1, 2, 3, 8)  # batch 2, n 3, width 8: with 4 heads d_head = 2, so no two sizes that matter agree
    got = call(answer, x, 4)
    if isinstance(got, torch.Tensor) and got.shape == (2, 3, 4, 2):
        raise Wrong("The heads are cut but not moved: swap the axes of tokens and heads, shape (2, 4, 3, 2).")
    if isinstance(got, torch.Tensor) and got.shape[0] != 2:
        raise Wrong(
            f"The batch is lost: two sentences came in, the shape that came out is {tuple(got.shape)}."
        )
    got = want_tensor(got, (2, 4, 3, 2))
    for mistake, message in (
        (
            x.reshape(2, 4, 3, 2),
            "The shape is right, the numbers are not: a reshape straight to (heads, n, d_head) mixes tokens and "
            "heads. Cut the last axis first, then swap two axes.",
        ),
        (
            x.transpose(1, 2).reshape(2, 4, 3, 2),
            "It transposes before it cuts. Cut the width while it is the last axis, then swap two axes.",
        ),
        (
            x.unflatten(-1, (2, 4)).permute(0, 3, 1, 2),
            "Head i got every fourth column. Heads are neighbouring columns: unflatten to (heads, d_head), in "
            "this order.",
        ),
    ):
        if near(got, mistake):
            raise Wrong(message)
    if not near(got, torch.stack([x[..., 2 * i : 2 * i + 2] for i in range(4)], 1)):
        raise Wrong("Head i should hold the columns from i · d_head on, of every token in its order.")
    single = _draw(2, 5, 12)
    got = call(answer, single, 3)
    if isinstance(got, torch.Tensor) and got.shape == (6, 5, 2):
        raise Wrong("With width 12 and 3 heads, each head is 4 wide: width / n_heads, not always 2.")
    if not isinstance(got, torch.Tensor) or not near(got, torch.stack(single.chunk(3, -1))):
        raise Wrong("Without a batch the answer changes. Count the axes from the end: -1, -2, -3.")
    return "Every head holds its own columns of every token, with a batch or without."


@exercise("heads-merge", "merge_heads")
def merge_heads(answer: Callable) -> str:
    """Examine the way back: (..., heads, n, d_head) to (..., n, heads * d_head)."""
    x = _draw(3, 2, 4, 3, 5)
    got = call(answer, x)
    if isinstance(got, torch.Tensor) and got.shape == (2, 3, 5):
        kinds = {"averaged": x.mean(1), "added up": x.sum(1)}
        kind = next((kind for kind, mistake in kinds.items() if near(got, mistake)), "not all there")
        raise Wrong(f"The heads are {kind}. Set them side by side: width heads · d_head = 20.")
    got = want_tensor(got, (2, 3, 20))
    for mistake, message in (
        (
            x.reshape(2, 3, 20),
            "It reshapes without moving the heads back: a row now mixes several tokens. Swap the axes of heads "
            "and tokens first.",
        ),
        (
            x.permute(0, 2, 3, 1).flatten(-2),
            "The heads are interleaved, one number of each in turn. All of head 1 comes first, then all of head 2.",
        ),
        (
            x.flip(1).transpose(1, 2).flatten(-2),
            "The heads come in the reverse order.",
        ),
    ):
        if near(got, mistake):
            raise Wrong(message)
    if not near(got, torch.cat(x.unbind(1), -1)):
        raise Wrong("Row t should hold what head 1 says of token t, then what head 2 says of it, and so on.")
    single = _draw(4, 3, 2, 5)
    if not near(want_tensor(call(answer, single), (2, 15)), torch.cat(single.unbind(0), -1)):
        raise Wrong("Without a batch the answer changes. Count the axes from the end: -1, -2, -3.")
    return "The heads stand side by side again: it undoes the split exactly."


@exercise("heads-grouped-query", "grouped_query")
def grouped_query(answer: Callable) -> str:
    """Examine grouped-query attention: neighbouring query heads share a key-value head."""
    q, k, v = _draw(5, 2, 6, 4, 5), _draw(6, 2, 2, 3, 5), _draw(7, 2, 2, 3, 7)  # six heads share two

    def spread(t: torch.Tensor) -> torch.Tensor:
        return t.repeat_interleave(3, 1)

    def tiled(t: torch.Tensor) -> torch.Tensor:
        return t.repeat(1, 3, 1, 1)

    got = call(answer, q, k, v)
    if isinstance(got, torch.Tensor) and got.shape == (2, 2, 4, 7):
        raise Wrong(
            "Only one query head for each group is left. All six ask; they share only keys and values."
        )
    got = want_tensor(got, (2, 6, 4, 7))
    for mistake, message in (
        (
            attention(q, tiled(k), tiled(v)),
            "The heads are dealt out in turn (1 2 1 2 1 2). Neighbours share: 1 1 1 2 2 2, repeat_interleave.",
        ),
        (
            attention(q, spread(k), tiled(v)),
            "Keys and values are repeated in different orders: a head gets the keys of one group and the "
            "values of another.",
        ),
        (
            attention(q, tiled(k), spread(v)),
            "Keys and values are repeated in different orders: a head gets the keys of one group and the "
            "values of another.",
        ),
        (
            attention(q, k[:, :1], v[:, :1]),
            "All query heads use the first key-value head. That is multi-query attention; here there are two.",
        ),
        (
            attention(q, k.mean(1, keepdim=True), v.mean(1, keepdim=True)),
            "The key-value heads are averaged. They were averaged long ago, if ever; each group has its own.",
        ),
        (
            attention(q, spread(k), spread(v), scale=1.0),
            "The scores are not scaled. Divide them by the root of d_head.",
        ),
        (
            attention(q, spread(k), spread(v), scale=30**-0.5),
            "It divides by the root of the whole width. A head's scores are sums over d_head products.",
        ),
        (
            attention(q, spread(k), spread(v), scale=1 / 5),
            "It divides by d_head. Divide by its root.",
        ),
        (
            attention(q, spread(k), spread(v), scale=1.0) / 5**0.5,
            "It divides after the softmax, so rows no longer sum to 1. Divide the scores.",
        ),
        (
            (q @ spread(k).transpose(-2, -1) / 5**0.5).softmax(-2) @ spread(v),
            "The softmax runs down the columns. Each row belongs to one query: use dim=-1.",
        ),
        (
            attention(spread(q.unflatten(1, (2, 3)).mean(2)), spread(k), spread(v)),
            "The queries of a group are averaged. All six ask for themselves; only keys and values are shared.",
        ),
    ):
        if near(got, mistake):
            raise Wrong(message)
    if not near(got, attention(q, spread(k), spread(v))):
        raise Wrong(
            "Query heads 1 to 3 should use key-value head 1, and 4 to 6 head 2, each softmaxed by itself."
        )
    alone = _draw(8, 1, 1, 3, 5), _draw(9, 1, 1, 3, 7)
    single = _draw(10, 1, 4, 2, 5)
    if not near(want_tensor(call(answer, single, *alone), (1, 4, 2, 7)), attention(single, *alone)):
        raise Wrong("With one key-value head for all four query heads (multi-query) the answer is wrong.")
    return "Neighbouring query heads share a key-value head: grouped-query, down to multi-query."


@exercise("heads-cache-bytes", "cache_bytes")
def cache_bytes(answer: Callable) -> str:
    """Examine the bytes that cached keys and values take."""
    for layers, heads, kv_heads, d_head, n, batch, size in ((5, 12, 3, 7, 11, 13, 4), (2, 4, 4, 3, 5, 1, 2)):
        want = 2 * layers * kv_heads * d_head * n * batch * size
        case = (
            f"{layers} layers, {heads} heads that share {kv_heads}, head width {d_head}, {n} tokens, "
            f"batch {batch}, {size} bytes a number"
        )
        got = call(answer, layers, heads, kv_heads, d_head, n, batch, size)
        if isinstance(got, bool) or not isinstance(got, int | float):
            raise Wrong(f"It should return a number of bytes, it returned {type(got).__name__}.")
        for mistake, message in (
            (want / 2, "Keys *and* values are kept: a factor of two is missing"),
            (want * heads / kv_heads, "Query heads keep nothing; count the key-value heads"),
            (want * heads, "The width of one head is d_head already; query heads play no part"),
            (want / layers, "Every layer has keys and values of its own"),
            (want / batch, "Every text in the batch has a cache of its own"),
            (want / size, "These are numbers, not bytes"),
            (want / n, "Every token leaves a key and a value"),
            (want / d_head, "A key is a vector: d_head numbers"),
            (want / kv_heads, "Every key-value head keeps keys and values of its own"),
            (want * 8, "These are bits. A number of 16 bits has two bytes"),
            (want * (1 + heads / kv_heads / 2), "Queries are not kept: each is used once, in its own step"),
            (want * n, "The cache holds one row for each token, not one for each pair of tokens"),
            (want * n / d_head, "The cache holds keys and values, not scores"),
            (want * 3 / 2, "Queries are not kept: each is used once, in its own step"),
        ):
            if mistake != want and got == mistake:
                raise Wrong(f"{message}. With {case} it is {want}, not {got:g}.")
        if got != want:
            raise Wrong(f"With {case} it is {want} bytes, not {got:g}.")
    return "Two times layers, key-value heads, width, tokens, texts, bytes: and no query heads."
