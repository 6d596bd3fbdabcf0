"""Query heads that share key-value heads."""

import math

import torch
from torch.nn.functional import scaled_dot_product_attention

from answers import right, wrong
from attnlab import MultiHeadAttention, attention
from attnlab.dot_product import grouped_attention


def scaled(q, k):
    return q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5


def attend(q, k, v, scores=scaled, weigh=lambda s: s.softmax(-1)):
    return weigh(scores(q, k)) @ v


def share(q, k):
    return q.shape[1] // k.shape[1]


def neighbours(q, k):
    return k.repeat_interleave(share(q, k), 1)


def in_turn(q, k):
    return k.repeat(1, share(q, k), 1, 1)


def grouped(keys=neighbours, values=neighbours, **parts):
    """Keys and values repeated in some way, then attention with other parts."""
    return lambda q, k, v: attend(q, keys(q, k), values(q, v), **parts)


def over(root):
    """Scores over another root: of what the sizes of q, k and v say."""

    def grouped_query(q, k, v):
        return grouped(scores=lambda a, b: a @ b.mT / root(q, k, v) ** 0.5)(q, k, v)

    return grouped_query


@right
def head_by_head(q, k, v):
    return torch.stack(
        [attend(q[:, i], k[:, i // share(q, k)], v[:, i // share(q, k)]) for i in range(q.shape[1])], 1
    )


@right
def queries_as_rows(q, k, v):
    """All queries of a group ask as if they were tokens."""
    groups = q.unflatten(1, (k.shape[1], -1))
    return attend(groups.flatten(2, 3), k, v).unflatten(2, groups.shape[2:4]).flatten(1, 2)


@right
def einsum(q, k, v):
    s = torch.einsum("bgrqd,bgkd->bgrqk", q.unflatten(1, (k.shape[1], -1)), k) / q.shape[-1] ** 0.5
    return torch.einsum("bgrqk,bgkv->bgrqv", s.softmax(-1), v).flatten(1, 2)


@right
def an_index(q, k, v):
    group = torch.arange(q.shape[1]) * k.shape[1] // q.shape[1]
    return attend(q, k[:, group], v[:, group])


right(
    lambda q, k, v: attend(q.unflatten(1, (k.shape[1], -1)), k[:, :, None], v[:, :, None]).flatten(1, 2),
    "expanded",
)
right(grouped(weigh=lambda s: (s - s.logsumexp(-1, keepdim=True)).exp()), "less the logarithm of the sum")

# Who shares what with whom.
wrong("The heads are dealt out in turn")(grouped(in_turn, in_turn), "in turn")
wrong("Keys and values are repeated in different orders")(grouped(values=in_turn), "values in another order")
wrong("All query heads use the first key-value head")(
    lambda q, k, v: attend(q, k[:, :1], v[:, :1]), "the first for all"
)
wrong("should be")(lambda q, k, v: attend(q, k[:, -1:], v[:, -1:]), "the last for all")
wrong("The key-value heads are averaged")(
    lambda q, k, v: attend(q, k.mean(-3, keepdim=True), v.mean(-3, keepdim=True)), "averaged"
)
wrong("should be")(lambda q, k, v: grouped()(q, k, v.mean(1, keepdim=True).expand_as(v)), "values averaged")
wrong("The groups come in the reverse order")(
    lambda q, k, v: grouped()(q.flip(1), k, v).flip(1), "the groups from the end"
)
wrong("Only one query head for each group is left")(
    lambda q, k, v: attend(q[:, : k.shape[1]], k, v), "one query a group"
)
wrong("The queries of a group are averaged")(
    lambda q, k, v: grouped()(
        neighbours(q, torch.stack([x.mean(1) for x in q.chunk(k.shape[1], 1)], 1)), k, v
    ),
    "queries averaged",
)
wrong("should have shape")(
    lambda q, k, v: grouped()(q, k, v).unflatten(1, (k.shape[1], -1)).sum(2), "added up over the group"
)
wrong("sixteen heads that share eight")(
    lambda q, k, v: grouped()(q, k if k.shape[1] <= 5 else k.flip(1), v), "five groups at most"
)


@wrong("should be")
def two_halves(q, k, v):
    first, second = q.tensor_split(2, 1)
    return torch.cat((attend(first, k[:, :1], v[:, :1]), attend(second, k[:, -1:], v[:, -1:])), 1)


@wrong("a key-value head for each of four query heads: it raised ValueError: nothing is shared")
def not_where_nothing_is_shared(q, k, v):
    if q.shape[1] == k.shape[1]:
        raise ValueError("nothing is shared")
    return grouped()(q, k, v)


# Scale and softmax.
wrong("The scores are not scaled")(over(lambda q, k, v: 1), "no scale")
wrong("It divides by d_head")(over(lambda q, k, v: q.shape[-1] ** 2), "d_head for its root")
wrong("It divides by the root of the whole width")(
    over(lambda q, k, v: q.shape[1] * q.shape[-1]), "the whole width"
)
wrong("n_kv_heads · d_head")(over(lambda q, k, v: k.shape[1] * k.shape[-1]), "the width of all keys")
wrong("the root of the values' width")(over(lambda q, k, v: v.shape[-1]), "the values' width")
wrong("It divides by the root of the number of keys")(over(lambda q, k, v: k.shape[2]), "the number of keys")
wrong("should be")(over(lambda q, k, v: share(q, k) * q.shape[-1]), "the width of a group")
wrong("should be")(over(lambda q, k, v: 5), "five")
wrong("It divides after the softmax")(
    lambda q, k, v: grouped(scores=lambda a, b: a @ b.mT)(q, k, v / k.shape[-1] ** 0.5),
    "scaled after the softmax",
)
wrong("The softmax runs down the columns")(grouped(weigh=lambda s: s.mT.softmax(-1).mT), "down the columns")
wrong("The softmax runs over the heads")(grouped(weigh=lambda s: torch.softmax(s, 1)), "over the heads")
wrong("exp overflows")(
    grouped(weigh=lambda s: s.exp() / s.exp().sum(-1, keepdim=True)), "exponentials by hand"
)
wrong("should be")(
    grouped(weigh=lambda s: s.masked_fill(torch.ones(s.shape[-2:]).triu(1).bool(), -math.inf).softmax(-1)),
    "a causal mask",
)


@wrong("as many queries as keys")
def causal_where_it_can_be(q, k, v):
    n = q.shape[-2]
    hidden = torch.ones(n, k.shape[-2]).triu(1).bool() if n == k.shape[-2] else torch.tensor(False)
    return grouped(weigh=lambda s: s.masked_fill(hidden, -math.inf).softmax(-1))(q, k, v)


def below_the_largest(s):
    e = (s - s.max()).exp()
    return e / e.sum(-1, keepdim=True)


wrong("The largest of all scores is taken off")(grouped(weigh=below_the_largest), "less the largest of all")

# By whom, in which precision.
wrong("without a ready-made attention. (It called scaled_dot_product_attention.)")(
    lambda q, k, v: scaled_dot_product_attention(q, k, v, enable_gqa=True), "torch's own"
)
wrong("without a ready-made attention. (It called grouped_attention.)")(grouped_attention, "the package's")
wrong("without a ready-made attention. (It called attention.)")(
    lambda q, k, v: attention(q, neighbours(q, k), neighbours(q, v)), "the package's, after repeating"
)
wrong("no gradient reaches k")(lambda q, k, v: grouped()(q, k.detach(), v), "keys detached")
wrong("should be")(
    lambda q, k, v: grouped()(q.half(), k.half(), v.half()).to(q.dtype), "half precision inside"
)


@wrong("without a ready-made attention. (It called attnlab.dot_product.)")
def asks_a_layer(q, k, v):
    MultiHeadAttention(4, 2)(torch.zeros(1, 3, 4), need_weights=True)
    return grouped()(q, k, v)
