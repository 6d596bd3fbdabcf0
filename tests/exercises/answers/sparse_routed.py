"""Each token reads its own block up to itself, and the earlier blocks whose mean key fits its query."""

import math

import torch
import torch.nn.functional as F

from answers import right, wrong
from attnlab import attention


def of_blocks(x, size):
    return x.unflatten(-2, (-1, size))


def most(scores, top):
    return scores.argsort(-1, descending=True).argsort(-1) < top


def best(scores, top):
    return F.one_hot(scores.topk(min(top, scores.shape[-1])).indices, scores.shape[-1]).sum(-2) > 0


def seen(
    q,
    k,
    size,
    top,
    judge=lambda q, k, size: q @ of_blocks(k, size).mean(-2).mT,
    pick=most,
    among=lambda mine, block: block < mine,
    far=lambda mine, block: block < mine,
    near=lambda back: back >= 0,
):
    """Which blocks each token chooses, and which tokens of its own it sees; or with something changed."""
    at = torch.arange(q.shape[-2])
    mine, block = at[:, None] // size, torch.arange(q.shape[-2] // size)
    scores = judge(q, k, size).masked_fill(~among(mine, block), -math.inf)
    return pick(scores, top) & far(mine, block), (mine == at // size) & near(at[:, None] - at)


def routed(*, attend=attention, **options):
    """Right; or with something changed."""

    def answer(q, k, v, size, top):
        chosen, own = seen(q, k, size, top, **options)
        return attend(q, k, v, mask=chosen.repeat_interleave(size, -1) | own)

    return answer


def judged(by):
    """Each block stands for itself with one vector."""
    return routed(judge=lambda q, k, size: q @ by(of_blocks(k, size)).mT)


def scaled(scale):
    return routed(attend=lambda q, k, v, mask: attention(q, k, v, mask=mask, scale=scale(q, v)))


right(routed(), "ranks")
right(routed(pick=best), "one hot")
right(
    routed(pick=lambda scores, top: scores >= scores.topk(min(top, scores.shape[-1])).values[..., -1:]),
    "a threshold",
)
right(judged(lambda k: k.sum(-2)), "sums for means")
right(
    routed(judge=lambda q, k, size: (q @ k.mT).unflatten(-1, (-1, size)).mean(-1)), "the mean of the scores"
)


@right
def token_by_token(q, k, v, size, top):
    """Gather the keys of each token, and attend to nothing else."""
    if q.dim() > 2:
        return torch.stack([token_by_token(*x, size, top) for x in zip(q, k, v, strict=True)])
    rows = []
    for i, query in enumerate(q):
        earlier = i // size
        means = k[: earlier * size].reshape(earlier, size, k.shape[-1]).mean(1)
        chosen = (means @ query).topk(min(top, earlier)).indices
        at = [*(b * size + j for b in chosen.tolist() for j in range(size)), *range(earlier * size, i + 1)]
        rows.append((k[at] @ query / query.shape[-1] ** 0.5).softmax(-1) @ v[at])
    return torch.stack(rows)


@wrong("it raised RuntimeError")
def more_wanted_than_there_are(q, k, v, size, top):
    return routed(
        pick=lambda scores, top: torch.zeros_like(scores).scatter(-1, scores.topk(top).indices, 1) > 0
    )(q, k, v, size, top)


@wrong("It takes one choice for a whole block of queries")
def one_choice_for_a_block(q, k, v, size, top):
    def judge(q, k, size):
        return (of_blocks(q, size).mean(-2) @ of_blocks(k, size).mean(-2).mT).repeat_interleave(size, -2)

    return routed(judge=judge)(q, k, v, size, top)


@wrong("It chooses single keys")
def the_best_keys(q, k, v, size, top):
    at = torch.arange(q.shape[-2])
    own = (at[:, None] // size == at // size) & (at <= at[:, None])
    scores = (q @ k.mT).masked_fill(at // size >= at[:, None] // size, -math.inf)
    return attention(q, k, v, mask=own | best(scores, top) & scores.isfinite())


@wrong("It reads the means of the chosen blocks")
def summaries(q, k, v, size, top):
    chosen, own = seen(q, k, size, top)
    k, v = (torch.cat((x, of_blocks(x, size).mean(-2)), -2) for x in (k, v))
    return attention(q, k, v, mask=torch.cat((own.expand(*chosen.shape[:-1], -1), chosen), -1))


@wrong("should be")
def two_softmaxes(q, k, v, size, top):
    """The mean of what the own block says, and of what it says with the chosen ones."""
    chosen, own = seen(q, k, size, top)
    alone = attention(q, k, v, mask=own)
    both = attention(q, k, v, mask=chosen.repeat_interleave(size, -1) | own)
    return torch.where(chosen.any(-1, keepdim=True), (alone + both) / 2, alone)


def cut_off(q, k, v, mask):
    return ((q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) * mask) @ v


wrong("A token's own block counts among its `top`")(
    routed(among=lambda mine, block: block <= mine), "own block counted"
)
wrong("Later blocks take part in the choice")(routed(among=lambda mine, block: block >= 0), "hidden late")
wrong("topk chooses hidden ones, too")(
    routed(pick=best, far=lambda mine, block: block >= 0), "hidden ones chosen"
)
wrong("Later blocks are chosen and seen")(
    routed(among=lambda mine, block: block >= 0, far=lambda mine, block: block >= 0), "later blocks"
)
wrong("Of its own block a token sees later tokens")(routed(near=lambda back: back == back), "looks ahead")
wrong("Its own block is missing")(routed(near=lambda back: back != back), "only the chosen")
wrong("Of its own block a token sees itself alone")(
    routed(near=lambda back: back == 0), "itself and the chosen"
)
wrong("It does not see itself")(routed(near=lambda back: back > 0), "without itself")
wrong("It chooses the blocks that fit worst")(judged(lambda k: -k.mean(-2)), "the worst")
wrong("It chooses the nearest blocks")(
    routed(
        judge=lambda q, k, size: 0.0 * q @ of_blocks(k, size).mean(-2).mT + torch.arange(k.shape[-2] // size)
    ),
    "the nearest",
)
wrong("It judges a block by its first key")(judged(lambda k: k[..., 0, :]), "the first key")
wrong("It judges a block by its last key")(judged(lambda k: k[..., -1, :]), "the last key")
wrong("It takes the largest entries of a block's keys")(
    judged(lambda k: k.max(-2).values), "the largest entries"
)
wrong("It judges a block by its best key")(
    routed(judge=lambda q, k, size: (q @ k.mT).unflatten(-1, (-1, size)).amax(-1)), "the best score"
)
wrong("should be")(
    routed(judge=lambda q, k, size: (q @ k.mT).unflatten(-1, (-1, size)).logsumexp(-1)), "the logsumexp"
)
wrong("should be")(judged(lambda k: F.normalize(k.mean(-2), dim=-1)), "unit means")
wrong("should be")(
    routed(judge=lambda q, k, size: q @ k.unflatten(-2, (size, -1)).mean(-3).mT), "every other token a block"
)
wrong("It chooses one block too many")(routed(pick=lambda s, top: most(s, top + 1)), "one too many")
wrong("It chooses one block too few")(
    routed(pick=lambda s, top: s > s.topk(min(top, s.shape[-1])).values[..., -1:]),
    "a threshold that leaves itself out",
)
wrong("It chooses one block. `top` are wanted")(
    routed(pick=lambda s, top: F.one_hot(s.argmax(-1), s.shape[-1]) > 0), "the best alone"
)
wrong("should be")(routed(pick=lambda s, top: most(s, 2)), "two blocks always")
wrong("should be")(routed(pick=lambda s, top: most(s, top) & (s > 0)), "positive ones only")
wrong("should be")(
    routed(pick=lambda s, top: most(s, top) | (s.isfinite() & ~s.roll(-1, -1).isfinite())),
    "the block before in any case",
)
wrong("It sees everything before it")(lambda q, k, v, *_: attention(q, k, v, is_causal=True), "causal")
wrong("It sees its own block alone")(
    lambda q, k, v, size, top: attention(*(of_blocks(x, size) for x in (q, k, v)), is_causal=True).flatten(
        -3, -2
    ),
    "own block alone",
)
wrong("The mask comes after the softmax")(routed(attend=cut_off), "the weights cut off")
wrong("The scale is wrong. Divide")(scaled(lambda q, v: 1.0), "no scale")
wrong("The scale is wrong. Divide")(scaled(lambda q, v: 1 / q.shape[-1]), "divided by d")
wrong("the root of the values' width")(scaled(lambda q, v: v.shape[-1] ** -0.5), "by the values' width")
wrong("should be")(
    lambda q, k, v, *rest: (
        token_by_token(q, k, v, *rest) if q.dim() == 2 else routed()(q[:1], k[:1], v[:1], *rest).expand_as(v)
    ),
    "the first of a batch",
)
wrong("in float64")(
    lambda q, k, v, *rest: routed()(q.float(), k.float(), v.float(), *rest).to(q.dtype),
    "single precision inside",
)
wrong("no gradient reaches k")(lambda q, k, *rest: routed()(q, k.detach(), *rest), "keys without gradient")
