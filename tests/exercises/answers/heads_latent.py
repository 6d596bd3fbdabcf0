"""Latent attention: the query is brought to what is kept, and no key of a head is made."""

import math

import numpy as np
import torch

from answers import right, wrong
from attnlab import attention


def latent(
    q, c, w_uk, w_uv, *, root=lambda q, c: q.shape[-1] ** 0.5, weigh=lambda s: s.softmax(-1), back=1.0
):
    c = c.unsqueeze(1)
    return weigh(q @ w_uk.mT @ c.mT / root(q, c)) @ c @ w_uv * back


def with_keys(q, c, w_uk, w_uv):
    k, v = (torch.einsum("bmr,hrd->bhmd", c, w) for w in (w_uk, w_uv))
    return attention(q, k, v)


@right
def head_by_head(q, c, w_uk, w_uv):
    heads = []
    for i in range(q.shape[1]):
        s = (q[:, i] @ w_uk[i].T) @ c.transpose(1, 2) / math.sqrt(w_uk.shape[2])
        heads.append((s.softmax(-1) @ c) @ w_uv[i])
    return torch.stack(heads, 1)


@right
def einsum(q, c, w_uk, w_uv):
    asked = torch.einsum("bhnd,hrd->bhnr", q, w_uk) * q.shape[-1] ** -0.5
    weights = torch.einsum("bhnr,bmr->bhnm", asked, c).softmax(-1)
    return torch.einsum("bhnr,hrw->bhnw", torch.einsum("bhnm,bmr->bhnr", weights, c), w_uv)


@right
def the_package_asks_one_wide_key(q, c, w_uk, w_uv):
    """Multi-query attention, with one key and value that is what is kept."""
    kept = c[:, None].expand(-1, q.shape[1], -1, -1)
    return attention(q @ w_uk.mT, kept, kept, scale=q.shape[-1] ** -0.5) @ w_uv


@right
def heads_as_rows(q, c, w_uk, w_uv):
    """All queries of all heads ask what is kept as if they were tokens."""
    asked = (q @ w_uk.mT).flatten(1, 2)
    mixed = ((asked @ c.mT) * q.shape[-1] ** -0.5).softmax(-1) @ c
    return mixed.unflatten(1, q.shape[1:3]) @ w_uv


def in_arrays(scores, mixed):
    """NumPy wherever no gradient is asked."""

    def answer(q, c, w_uk, w_uv):
        if q.requires_grad:
            return heads_as_rows(q, c, w_uk, w_uv)
        q, c, w_uk, w_uv = (x.numpy() for x in (q, c, w_uk, w_uv))
        s = scores(q * q.dtype.type(q.shape[-1] ** -0.5), c, w_uk)
        s -= s.max(-1, keepdims=True)
        np.exp(s, out=s)
        return torch.from_numpy(mixed(s / s.sum(-1, keepdims=True), c, w_uv))

    return answer


arrays = in_arrays(
    lambda q, c, w_uk: (q @ w_uk.swapaxes(1, 2)) @ c[:, None].swapaxes(2, 3),
    lambda w, c, w_uv: (w @ c[:, None]) @ w_uv,
)
keys_in_arrays = in_arrays(
    lambda q, c, w_uk: q @ (c[:, None] @ w_uk).swapaxes(2, 3),
    lambda w, c, w_uv: w @ (c[:, None] @ w_uv),
)
right(arrays, "in arrays")

# How.
wrong("the keys and values of the heads are never made")(keys_in_arrays, "keys and values as arrays")
wrong("the keys and values of the heads are never made")(with_keys, "keys and values made")
wrong("the keys and values of the heads are never made")(
    lambda q, c, w_uk, w_uv: (
        (q @ (c[:, None] @ w_uk).mT / q.shape[-1] ** 0.5).softmax(-1) @ c[:, None] @ w_uv
    ),
    "keys made, values not",
)
wrong("the keys and values of the heads are never made")(
    lambda q, c, w_uk, w_uv: (
        (q @ w_uk.mT @ c[:, None].mT / q.shape[-1] ** 0.5).softmax(-1) @ (c[:, None] @ w_uv)
    ),
    "values made, keys not",
)


@wrong("the keys and values of the heads are never made")
def keys_in_pieces(q, c, w_uk, w_uv):
    """A few tokens at a time: no tensor is large, and all keys are made nevertheless."""
    s = torch.cat([q @ (piece[:, None] @ w_uk).mT for piece in c.split(10, 1)], -1)
    return (s / q.shape[-1] ** 0.5).softmax(-1) @ c[:, None] @ w_uv


# Scale and softmax.
wrong("the root of the kept vector's width")(
    lambda q, c, w_uk, w_uv: latent(q, c, w_uk, w_uv, root=lambda q, c: c.shape[-1] ** 0.5), "the kept width"
)
wrong("The scores are not scaled")(
    lambda q, c, w_uk, w_uv: latent(q, c, w_uk, w_uv, root=lambda q, c: 1), "no scale"
)
wrong("It divides by d_head")(
    lambda q, c, w_uk, w_uv: latent(q, c, w_uk, w_uv, root=lambda q, c: q.shape[-1]), "d_head for its root"
)
wrong("It divides after the softmax")(
    lambda q, c, w_uk, w_uv: latent(
        q, c, w_uk, w_uv, root=lambda q, c: 1, weigh=lambda s: s.softmax(-1) / w_uk.shape[-1] ** 0.5
    ),
    "scaled after the softmax",
)
wrong("should be")(
    lambda q, c, w_uk, w_uv: latent(q, c, w_uk, w_uv, root=lambda q, c: c.shape[-2] ** 0.5),
    "the number of tokens",
)
wrong("The softmax runs down the columns")(
    lambda q, c, w_uk, w_uv: latent(q, c, w_uk, w_uv, weigh=lambda s: s.mT.softmax(-1).mT), "down the columns"
)
wrong("should be")(
    lambda q, c, w_uk, w_uv: latent(q, c, w_uk, w_uv, weigh=lambda s: s.softmax(1)), "over the heads"
)
wrong("exp overflows")(
    lambda q, c, w_uk, w_uv: latent(
        q, c, w_uk, w_uv, weigh=lambda s: s.exp() / s.exp().sum(-1, keepdim=True)
    ),
    "exponentials by hand",
)


@wrong("The largest of all scores is taken off")
def less_the_largest_of_all(q, c, w_uk, w_uv):
    def weigh(s):
        e = (s - s.max()).exp()
        return e / e.sum(-1, keepdim=True)

    return latent(q, c, w_uk, w_uv, weigh=weigh)


# Whose matrices.
wrong("All heads use the matrices of the first")(
    lambda q, c, w_uk, w_uv: latent(q, c, w_uk[0].expand_as(w_uk), w_uv[0].expand_as(w_uv)),
    "the first for all",
)
wrong("All heads use the key matrix of the first")(
    lambda q, c, w_uk, w_uv: latent(q, c, w_uk[0], w_uv), "the first keys for all"
)
wrong("should be")(lambda q, c, w_uk, w_uv: latent(q, c, w_uk.mean(0), w_uv), "a mean of the key matrices")
wrong("should be")(lambda q, c, w_uk, w_uv: latent(q, c, w_uk, w_uv.flip(0)), "the values of another head")
wrong("should have shape")(
    lambda q, c, w_uk, w_uv: (q @ w_uk.mT @ c[:, None].mT / q.shape[-1] ** 0.5).softmax(-1) @ c[:, None],
    "what is kept, mixed, and no values",
)
wrong("should be")(
    lambda q, c, w_uk, w_uv: latent(q[:1], c[:1], w_uk, w_uv).expand(len(q), -1, -1, -1),
    "the first text for all",
)

# In which precision, and with which gradient.
wrong("no gradient reaches c")(
    lambda q, c, w_uk, w_uv: latent(q, c.detach(), w_uk, w_uv), "what is kept detached"
)
wrong("should be")(
    lambda q, c, w_uk, w_uv: latent(q.half(), c.half(), w_uk.half(), w_uv.half()).to(q.dtype),
    "half precision inside",
)


@wrong("Nothing here is causal")
def causal_where_it_can_be(q, c, w_uk, w_uv):
    k, v = (torch.einsum("bmr,hrd->bhmd", c, w) for w in (w_uk, w_uv))
    return attention(q, k, v, is_causal=q.shape[2] == c.shape[1])
