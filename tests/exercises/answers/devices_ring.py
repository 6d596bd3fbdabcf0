"""One step of a ring: attend to what is held, merge, pass on."""

import math

import torch

from answers import right, wrong
from attnlab.distributed import merge, partial_attention


def place(r, i, c):
    return r * c + i


def sees(query, key, c):
    return key <= query


def by_queries(seen=sees, ask=None, scale=math.sqrt, join=None, following=True):
    """Query by query. `join` is of the past (out, lse), and of scores and values seen now."""

    def answer(out, lse, q, k, v, owner, causal):
        p, c, d = q.shape
        new, total = torch.empty_like(out), torch.empty_like(lse)
        for r in range(p):
            for i in range(c):
                mask = [
                    seen(place(r, i, c), place(owner[r], j, c), c) or not (causal if ask is None else ask)
                    for j in range(c)
                ]
                scores, values = (k[r] @ q[r, i] / scale(d))[mask], v[r][mask]
                new[r, i], total[r, i] = (join or joined)(out[r, i], lse[r, i], scores, values)
        return new, total, *(passed(k, v, owner) if following else (k, v, owner))

    return answer


def joined(out, lse, scores, values):
    top = max([lse, *scores])
    if top == -math.inf:
        return torch.zeros_like(out), top
    before, e = (lse - top).exp(), (scores - top).exp()
    total = before + e.sum()
    return (before * out + e @ values) / total, top + total.log()


def passed(k, v, owner):
    p = len(owner)
    come = [(r + p - 1) % p for r in range(p)]
    return k[come], v[come], [owner[r] for r in come]


right(by_queries(), "query by query")


@right
def the_package(out, lse, q, k, v, owner, causal):
    """Device by device, with a mask where a block is partly visible."""
    p, c, _ = q.shape
    news, lses = [], []
    for r in range(p):
        rows = torch.arange(r * c, (r + 1) * c)
        columns = torch.arange(owner[r] * c, (owner[r] + 1) * c)
        mask = rows[:, None] >= columns if causal else torch.ones(c, c) > 0
        one, its = partial_attention(q[None, None, r], k[None, None, r], v[None, None, r], mask=mask)
        both = merge([out[r], one[0, 0]], [lse[r], its[0, 0]])
        news.append(both[0]), lses.append(both[1])
    return torch.stack(news), torch.stack(lses), *passed(k, v, owner)


@right
def blocks(out, lse, q, k, v, owner, causal):
    """A block that comes later is not computed, one that comes earlier needs no mask."""
    p, d = len(q), q.shape[-1]
    out, lse = out.clone(), lse.clone()
    for r, at in enumerate(owner):
        if causal and at > r:
            continue
        scores = torch.einsum("id,jd->ij", q[r], k[r]) * d**-0.5
        if causal and at == r:
            scores += torch.full_like(scores, -math.inf).triu(1)
        total = torch.logaddexp(lse[r], scores.logsumexp(-1))
        out[r] = out[r] * (lse[r] - total).exp()[:, None] + (scores - total[:, None]).exp() @ v[r]
        lse[r] = total
    return out, lse, torch.roll(k, 1, 0), torch.roll(v, 1, 0), [owner[r - 1] for r in range(p)]


@wrong("a table of all pairs of the whole text is made")
def a_mask_of_the_whole_text(out, lse, q, k, v, owner, causal):
    """The rows and columns of each device are cut out of one mask of everything."""
    p, c, d = q.shape
    whole = torch.ones(p * c, p * c).tril() if causal else torch.ones(p * c, p * c)
    seen = whole.view(p, c, p, c).transpose(1, 2)[torch.arange(p), torch.tensor(owner)] > 0
    scores = (q / d**0.5 @ k.transpose(1, 2)).masked_fill(~seen, -math.inf)
    top = torch.maximum(lse, scores.amax(-1))
    top = top.masked_fill(top.isinf(), 0.0)
    before, e = (lse - top).exp(), (scores - top[..., None]).exp()
    total = before + e.sum(-1)
    new = (before[..., None] * out + e @ v) / total.clamp_min(1e-30)[..., None]
    return [new, top + total.log(), *passed(k, v, owner)]


# What was found before.
def alone(out, lse, scores, values):
    return joined(torch.zeros_like(out), torch.full_like(lse, -math.inf), scores, values)


def mixed(new=None, total=None):
    """What comes of the past and of this step alone, each a pair; right where nothing else is said."""

    def join(out, lse, *now):
        right, this = joined(out, lse, *now), alone(out, lse, *now)
        return new(out, this[0]) if new else right[0], total(lse, this[1]) if total else right[1]

    return by_queries(join=join)


wrong("What was found before is lost")(by_queries(join=alone), "this step alone")
wrong("count alike")(mixed(new=lambda past, now: torch.lerp(past, now, 0.5)), "the mean of both")
wrong("is added to what was found before")(mixed(new=torch.add), "a sum")
wrong("keeps all of its weight")(
    by_queries(
        join=lambda out, lse, s, v: (
            out + (torch.cat([lse[None], s]).softmax(0).nan_to_num()[1:] @ v),
            joined(out, lse, s, v)[1],
        )
    ),
    "the past is not rescaled",
)
wrong("The lse stays what it was")(mixed(total=lambda past, now: past), "the old lse")
wrong("The lse is that of this step alone")(mixed(total=lambda past, now: now), "the new lse")
wrong("should be")(mixed(total=torch.add), "lses added")

# Who sees whom.
wrong("Every block has the mask of the first step")(
    by_queries(lambda i, j, c: i % c >= j % c), "tril everywhere"
)
wrong("those of later owners are not")(
    by_queries(lambda i, j, c: i >= j if i // c == j // c else True), "the diagonal alone"
)
wrong("Whole blocks are hidden or visible")(by_queries(lambda i, j, c: i // c >= j // c), "by blocks")
wrong("A query does not see itself")(by_queries(lambda i, j, c: i > j), "strictly earlier")
wrong("A query sees later keys, and none before it")(by_queries(lambda i, j, c: i <= j), "upside down")
wrong("`causal` is not used")(by_queries(ask=False), "never causal")
wrong("Later keys are hidden even where `causal` is False")(by_queries(ask=True), "always causal")


@wrong("should be")
def owner_as_after_the_first_step(out, lse, q, k, v, owner, causal):
    """It takes device r to hold the keys of r − 1."""
    p = len(owner)
    return by_queries()(out, lse, q, k, v, [(r - 1) % p for r in range(p)], causal)


@wrong("keys dealt out in another order, the first at home")
def owners_counted_from_the_first(out, lse, q, k, v, owner, causal):
    """Where device 0 holds its own keys, it takes all others to hold theirs."""
    whose = owner if owner[0] else list(range(len(owner)))
    return *by_queries()(out, lse, q, k, v, whose, causal)[:4], passed(k, v, owner)[2]


# Scores.
wrong("Scores are not scaled")(by_queries(scale=lambda d: 1), "no scale")
wrong("Scores are divided by d")(by_queries(scale=lambda d: d), "d")


@wrong("exp is taken before anything is taken off")
def plain(out, lse, q, k, v, owner, causal):
    def join(out, lse, scores, values):
        total = lse.exp() + scores.exp().sum()
        new = lse.exp() * out + scores.exp() @ values
        return new / total if total > 0 else new, total.log()

    return by_queries(join=join)(out, lse, q, k, v, owner, causal)


@wrong("In double precision, too, their exponentials are infinite")
def plain_in_double(out, lse, q, k, v, owner, causal):
    def join(out, lse, scores, values):
        before, e = lse.double().exp(), scores.double().exp()
        total = before + e.sum()
        new = before * out.double() + e @ values.double()
        return (new / total if total > 0 else new).to(out), total.log().to(out)

    return by_queries(join=join)(out, lse, q, k, v, owner, causal)


def hidden_at(low):
    """Hidden keys get a low score in place of −∞, and rows without any key are put right."""

    def answer(out, lse, q, k, v, owner, causal):
        p, c, d = q.shape
        at = torch.arange(p * c).view(p, c)
        later = at[owner][:, None, :] > at[:, :, None] if causal else torch.zeros(p, c, c) > 0
        row = torch.cat((lse[..., None], torch.where(later, low, q @ k.mT / d**0.5)), -1)
        w, total = row.softmax(-1), row.logsumexp(-1)
        none = later.all(-1)  # nothing new: all stays as it was
        new = torch.where(none[..., None], out, w[..., :1] * out + w[..., 1:] @ v)
        return new, torch.where(none, lse, total), *passed(k, v, owner)

    return answer


wrong("no number of your own can stand for −∞")(hidden_at(-100.0), "hidden at −100")
wrong("no number of your own can stand for −∞")(hidden_at(-1e4), "hidden at −10,000")


@wrong("Who has seen no key yet gets NaN")
def no_thought_of_empty_rows(out, lse, q, k, v, owner, causal):
    def join(out, lse, scores, values):
        row = torch.cat([lse[None], scores])
        e = (row - row.max()).exp()
        weights = e / e.sum()
        return weights[0] * out + weights[1:] @ values, row.logsumexp(0)

    return by_queries(join=join)(out, lse, q, k, v, owner, causal)


# Passing on.
def then(change):
    return lambda out, lse, q, k, v, owner, causal: (
        *by_queries()(out, lse, q, k, v, owner, causal)[:2], *change(k, v, owner)
    )  # fmt: skip


def back(k, v, owner):
    come = [(r + 1) % len(owner) for r in range(len(owner))]
    return k[come], v[come], [owner[r] for r in come]


wrong("Keys go to the device before")(then(back), "the other way")
wrong("Keys and values stay where they are")(by_queries(following=False), "nothing moves")
wrong("The owner stays behind")(then(lambda k, v, owner: (*passed(k, v, owner)[:2], owner)), "the old owner")
wrong("Keys move, values don't")(
    then(lambda k, v, owner: (passed(k, v, owner)[0], v, passed(k, v, owner)[2])), "keys alone"
)
wrong("Keys are passed on before they are used")(
    lambda out, lse, q, k, v, owner, causal: (
        *by_queries()(out, lse, q, *passed(k, v, owner), causal)[:2],
        *passed(k, v, owner),
    ),
    "passes on, then computes",
)
wrong("should be")(
    then(lambda k, v, owner: (*passed(k, v, owner)[:2], [o + 1 for o in owner])), "owners counted up"
)
wrong("should have length 5")(lambda *given: by_queries()(*given)[:2], "the results alone")


@wrong("it changed its argument out in place")
def in_place(out, lse, q, k, v, owner, causal):
    new, total, *rest = by_queries()(out, lse, q, k, v, owner, causal)
    out[:], lse[:] = new, total
    return out, lse, *rest


@wrong("In single precision all values are right")
def in_single(out, lse, q, k, v, owner, causal):
    return by_queries()(*(x.float() for x in (out, lse, q, k, v)), owner, causal)
