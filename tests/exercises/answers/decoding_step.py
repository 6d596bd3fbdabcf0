"""One token more, with a rolling cache: it takes slot t mod window and sees every slot that has been used."""

import math

import torch

from answers import right, wrong


def step(
    x, t, keys, values, w_q, w_k, w_v, *, slot=lambda t, w: t % w, seen=lambda t: t + 1, scale=lambda k, x: k
):
    """Right; or with something changed."""
    keys, values = keys.clone(), values.clone()
    at = slot(t, keys.shape[1])
    keys[:, at], values[:, at] = x @ w_k, x @ w_v
    k, v = keys[:, : seen(t)], values[:, : seen(t)]
    scores = (x @ w_q)[:, None] @ k.mT / math.sqrt(scale(k.shape[-1], x.shape[-1]))
    return (scores.softmax(-1) @ v)[:, 0], keys, values


def look(q, k, v):
    return ((q[:, None] @ k.mT / k.shape[-1] ** 0.5).softmax(-1) @ v)[:, 0]


def in_dtype(dtype):
    def answer(x, t, keys, values, *w):
        made = step(x.to(dtype), t, keys.to(dtype), values.to(dtype), *(one.to(dtype) for one in w))
        return tuple(one.to(x.dtype) for one in made)

    return answer


def masked(mend):
    """All slots, and those that no token has had are hidden; `mend` takes values in hand."""

    def answer(x, t, keys, values, w_q, w_k, w_v):
        at = torch.arange(keys.shape[1])
        here, used = (at == t % len(at))[:, None], at <= t
        keys = torch.where(here, (x @ w_k)[:, None], keys)
        values = torch.where(here, (x @ w_v)[:, None], values)
        scores = torch.einsum("bd,bkd->bk", x @ w_q, keys) / math.sqrt(keys.shape[-1])
        weights = scores.masked_fill(~used, -torch.inf).softmax(-1)
        return torch.einsum("bk,bkd->bd", weights, mend(values, used[:, None])), keys, values

    return answer


right(lambda *a: list(step(*a)), "a list")
right(masked(lambda values, used: values.where(used, 0)), "all slots under a mask, unused values made 0")


@right
def in_loops(x, t, keys, values, w_q, w_k, w_v):
    keys, values, room = keys.clone(), values.clone(), keys.shape[1]
    keys[:, t % room], values[:, t % room] = x @ w_k, x @ w_v
    out = torch.zeros_like(values[:, 0])
    for b in range(len(x)):
        scores = keys[b, : t + 1] @ (x[b] @ w_q) / w_q.shape[1] ** 0.5
        e = (scores - scores.max()).exp()
        out[b] = sum(one * values[b, s] for s, one in enumerate(e)) / e.sum()
    return out, keys, values


@right
def with_torchs_attention(x, t, keys, values, w_q, w_k, w_v):
    keys, values = step(x, t, keys, values, w_q, w_k, w_v)[1:]
    k, v = keys[:, : t + 1], values[:, : t + 1]
    return torch.nn.functional.scaled_dot_product_attention((x @ w_q)[:, None], k, v)[:, 0], keys, values


@wrong("w + 1 tokens are seen")
def the_window_and_itself(x, t, keys, values, w_q, w_k, w_v):
    k, v = torch.cat((keys[:, :t], (x @ w_k)[:, None]), 1), torch.cat((values[:, :t], (x @ w_v)[:, None]), 1)
    out = look(x @ w_q, k, v)
    slot, keys, values = t % keys.shape[1], keys.clone(), values.clone()
    keys[:, slot], values[:, slot] = k[:, -1], v[:, -1]
    return out, keys, values


@wrong("in which the new token is not yet")
def looks_first(x, t, keys, values, w_q, w_k, w_v):
    return look(x @ w_q, keys[:, : t + 1], values[:, : t + 1]), *step(x, t, keys, values, w_q, w_k, w_v)[1:]


@wrong("The new token does not see itself")
def those_before_it(x, t, keys, values, w_q, w_k, w_v):
    used = min(max(1, t), keys.shape[1])
    return look(x @ w_q, keys[:, :used], values[:, :used]), *step(x, t, keys, values, w_q, w_k, w_v)[1:]


@wrong("Nothing moves in a rolling cache")
def moved_up(x, t, keys, values, w_q, w_k, w_v):
    keys = torch.cat((keys[:, 1:], (x @ w_k)[:, None]), 1)
    values = torch.cat((values[:, 1:], (x @ w_v)[:, None]), 1)
    used = min(t + 1, keys.shape[1])
    return look(x @ w_q, keys[:, -used:], values[:, -used:]), keys, values


@wrong("The cache has grown")
def grown(x, t, keys, values, w_q, w_k, w_v):
    keys = torch.hstack((keys, (x @ w_k).unsqueeze(1)))
    values = torch.hstack((values, (x @ w_v).unsqueeze(1)))
    return look(x @ w_q, keys, values), keys, values


@wrong("The cache that comes back is the old one")
def old_cache_returned(x, t, keys, values, *w):
    return step(x, t, keys, values, *w)[0], keys, values


@wrong("changed its argument keys in place")
def in_place(x, t, keys, values, w_q, w_k, w_v):
    slot = t % keys.shape[1]
    keys[:, slot], values[:, slot] = x @ w_k, x @ w_v
    return look(x @ w_q, keys[:, : t + 1], values[:, : t + 1]), keys, values


@wrong("should be")
def masked_after_the_softmax(x, t, keys, values, w_q, w_k, w_v):
    keys, values = step(x, t, keys, values, w_q, w_k, w_v)[1:]
    weights = ((x @ w_q)[:, None] @ keys.mT / keys.shape[-1] ** 0.5).softmax(-1)
    return (weights * (torch.arange(keys.shape[1]) <= t) @ values)[:, 0], keys, values


@wrong("scores of several hundred")
def exponentials_as_they_come(x, t, keys, values, w_q, w_k, w_v):
    keys, values = step(x, t, keys, values, w_q, w_k, w_v)[1:]
    k, v = keys[:, : t + 1], values[:, : t + 1]
    e = ((x @ w_q)[:, None] @ k.mT / k.shape[-1] ** 0.5).exp()
    return (e / e.sum(-1, keepdim=True) @ v)[:, 0], keys, values


wrong("NaN")(masked(lambda values, used: values), "all slots under a mask")
wrong("slots that no token has had yet are attended to")(
    lambda *a: step(*a, seen=lambda t: None), "all slots"
)
wrong("The new token's own slot is left out")(
    lambda *a: step(*a, seen=lambda t: max(t, 1)), "one slot too few"
)
wrong("should be")(lambda *a: step(*a, seen=lambda t: t + 2), "one slot too many")
wrong("takes the last slot")(lambda *a: step(*a, slot=lambda t, w: min(t, w - 1)), "nothing rolls")
wrong("here it went one before")(lambda *a: step(*a, slot=lambda t, w: (t - 1) % w), "slots from t - 1")
wrong("here it went one behind")(lambda *a: step(*a, slot=lambda t, w: (t + 1) % w), "slots from t + 1")
wrong("The scores are not scaled")(lambda *a: step(*a, scale=lambda k, x: 1), "not scaled")
wrong("the root of the token's width")(lambda *a: step(*a, scale=lambda k, x: x), "scaled by d_model")
wrong("It is its root")(lambda *a: step(*a, scale=lambda k, x: k**2), "divided by the width")
wrong("should be")(lambda x, t, k, *a: step(x, t, k, *a, scale=lambda *_: k.shape[1]), "scaled by the window")
wrong("Queries and keys have changed places")(
    lambda x, t, k, v, w_q, w_k, w_v: step(x, t, k, v, w_k, w_q, w_v), "keys for queries"
)
wrong("should")(lambda x, t, k, v, *w: step(x[:1], t, k[:1], v[:1], *w), "the first text alone")
wrong("should be")(lambda x, t, k, v, *w: (x @ w[2], *step(x, t, k, v, *w)[1:]), "only the newest")
wrong("should be")(
    lambda x, t, *a: (step(x, t, *a)[2][:, : t + 1].mean(1), *step(x, t, *a)[1:]), "the mean of all used"
)
wrong("should be")(
    lambda x, t, k, *a: step(x, t, k * (torch.arange(k.shape[1]) < t)[:, None], *a), "unused slots emptied"
)
wrong("should be")(lambda *a: (step(*a)[0], *(y.roll(1, 1) for y in step(*a)[1:])), "the cache rolled round")
wrong("should")(lambda *a: step(*a)[0], "the output alone")
wrong("should")(lambda *a: [step(*a)[i] for i in (0, 2, 1)], "values before keys")
wrong("should")(in_dtype(torch.bfloat16), "in half precision")
wrong("in float64")(in_dtype(torch.float32), "in single precision")
