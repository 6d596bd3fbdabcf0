"""Each token reads its own block, up to itself, and the earlier blocks whose mean key fits its query best."""

import math

import torch
import torch.nn.functional as F

from answers import right, wrong
from attnlab import attention


def most(scores, top):
    """The rank of each block says whether it is chosen."""
    return scores.argsort(-1, descending=True).argsort(-1) < top


def means(x, size):
    return x.unflatten(-2, (-1, size)).mean(-2)


def routed(
    judge=lambda q, k, size: q @ means(k, size).mT,
    pick=most,
    earlier=lambda mine, block: block < mine,
    shown=lambda mine, block: block < mine,
    near=torch.tril,
    attend=lambda q, k, v, mask: attention(q, k, v, mask=mask),
):
    """Right; or with something changed: `pick` chooses among `earlier` blocks, `shown` hides again."""

    def answer(q, k, v, size, top):
        n = q.shape[-2]
        block = torch.arange(n) // size
        mine, every = block[:, None], torch.arange(n // size)
        scores = judge(q, k, size).masked_fill(~earlier(mine, every), -math.inf)
        chosen = pick(scores, top)[..., block] & shown(mine, block)
        return attend(q, k, v, chosen | (mine == block) & near(torch.ones(n, n, dtype=torch.bool)))

    return answer


def judged(fit):
    """By another measure, of queries, and of keys in blocks: (..., blocks, size, d)."""
    return routed(lambda q, k, size: fit(q, k.unflatten(-2, (-1, size))))


def token_by_token(read):
    """Attend to what `read` makes of the earlier blocks, and of the best of them, and to the own block."""

    def answer(q, k, v, size, top):
        if q.dim() > 2:
            return torch.stack([answer(*x, size, top) for x in zip(q, k, v, strict=True)])
        rows = []
        for i, query in enumerate(q):
            own = i // size * size
            far = [x[:own].reshape(-1, size, x.shape[-1]) for x in (k, v)]
            fit = far[0].mean(1) @ query
            best = fit.topk(min(top, len(fit))).indices
            keys, values = (
                torch.cat((read(x, best, query, far[0], top), x_all[own : i + 1]))
                for x, x_all in zip(far, (k, v), strict=True)
            )
            rows.append((keys @ query / query.shape[-1] ** 0.5).softmax(-1) @ values)
        return torch.stack(rows)

    return answer


def best_keys(x, best, query, keys, top):
    """Single ones, out of all blocks."""
    fit = keys.flatten(0, 1) @ query
    return x.flatten(0, 1)[fit.topk(min(top, len(fit))).indices]


def by_topk(scores, top):
    blocks = scores.shape[-1]
    return F.one_hot(scores.topk(min(top, blocks)).indices, blocks).sum(-2) > 0


def nearest(scores, top):
    earlier = scores.isfinite()
    return earlier & (earlier.flip(-1).cumsum(-1).flip(-1) <= top)


def scaled(scale):
    return routed(
        attend=lambda q, k, v, mask: (q @ k.mT * scale(q, v)).masked_fill(~mask, -1e9).softmax(-1) @ v
    )


right(routed(), "ranks")
right(routed(pick=by_topk), "one hot")
right(routed(pick=lambda s, top: s >= s.topk(min(top, s.shape[-1])).values[..., -1:]), "a threshold")
right(judged(lambda q, blocks: q @ blocks.sum(-2).mT), "sums for means")
right(routed(lambda q, k, size: (q @ k.mT).unflatten(-1, (-1, size)).mean(-1)), "the mean of the scores")
right(judged(lambda q, blocks: (q @ blocks.mean(-2).mT).log_softmax(-1)), "the logarithm of a softmax")
right(token_by_token(lambda x, best, *_: x[best].flatten(0, 1)), "token by token")

# Among which blocks.
wrong("A token's own block counts among its `top`")(
    routed(earlier=lambda mine, block: block <= mine), "its own among the top"
)
wrong("Later blocks take part in the choice")(
    routed(earlier=lambda mine, block: mine + block >= 0), "later ones hidden afterwards"
)
wrong("topk chooses hidden ones, too")(
    routed(pick=by_topk, shown=lambda mine, block: mine + block >= 0), "hidden ones chosen"
)
wrong("Later blocks are chosen and seen")(
    routed(earlier=lambda mine, block: mine + block >= 0, shown=lambda mine, block: mine + block >= 0),
    "later ones chosen",
)
wrong("should be")(
    routed(pick=lambda s, top: most(s, top) | (s.isfinite() & ~s.roll(-1, -1).isfinite())),
    "the block before in any case",
)

for low in (-1e3, -1e4):
    wrong("scores around −20,000")(
        routed(pick=lambda s, top, low=low: most(s.masked_fill(s.isinf(), low), top)),
        f"later ones hidden by {low:.0f}",
    )

# Its own block.
wrong("Of its own block a token sees later tokens")(routed(near=torch.clone), "its whole block")
wrong("Its own block is missing")(routed(near=torch.zeros_like), "without its block")
wrong("Of its own block a token sees itself alone")(routed(near=lambda m: m.tril().triu()), "itself alone")
wrong("It does not see itself")(routed(near=lambda m: m.tril(-1)), "without itself")


@wrong("It sees its own block alone")
def own_blocks(q, k, v, size, top):
    q, k, v = (x.unflatten(-2, (-1, size)) for x in (q, k, v))
    return attention(q, k, v, is_causal=True).flatten(-3, -2)


wrong("It sees everything before it")(lambda q, k, v, size, top: attention(q, k, v, is_causal=True), "causal")

# By what a block is judged.
wrong("It chooses the blocks that fit worst")(judged(lambda q, blocks: -q @ blocks.mean(-2).mT), "the worst")
wrong("It chooses the nearest blocks")(routed(pick=nearest), "the nearest")
wrong("It takes one choice for a whole block of queries")(
    routed(lambda q, k, size: means(q, size).repeat_interleave(size, -2) @ means(k, size).mT),
    "one choice for a block",
)
wrong("It judges a block by its first key")(
    routed(lambda q, k, size: q @ k[..., ::size, :].mT), "the first key"
)
wrong("It judges a block by its last key")(
    routed(lambda q, k, size: q @ k[..., size - 1 :: size, :].mT), "the last key"
)
wrong("It takes the largest entries of a block's keys")(
    judged(lambda q, blocks: q @ blocks.max(-2).values.mT), "the largest entries"
)
wrong("It judges a block by its best key")(
    judged(lambda q, blocks: torch.einsum("...id,...bjd->...ibj", q, blocks).amax(-1)), "the best key"
)
wrong("It judges a block by the length of its mean key")(
    judged(lambda q, blocks: 0 * q[..., :1] + blocks.mean(-2).square().sum(-1)[..., None, :]),
    "the mean key's length",
)
wrong("A negative one does not fit")(judged(lambda q, blocks: (q @ blocks.mean(-2).mT).square()), "squared")
wrong("it compares keys with mean queries")(routed(lambda q, k, size: k @ means(q, size).mT), "mean queries")
wrong("should be")(
    routed(lambda q, k, size: (q @ k.mT).unflatten(-1, (-1, size)).logsumexp(-1)), "the logsumexp"
)
wrong("blocks that score hundreds apart")(
    judged(lambda q, blocks: (q @ blocks.mean(-2).mT).softmax(-1)), "a softmax"
)
wrong("should be")(judged(lambda q, blocks: q @ F.normalize(blocks.mean(-2), dim=-1).mT), "unit means")
wrong("should be")(
    routed(lambda q, k, size: q @ k.unflatten(-2, (size, -1)).mean(-3).mT), "every other token a block"
)

# How many.
wrong("It chooses one block too many")(
    routed(pick=lambda s, top: s >= s.sort(descending=True).values[..., : top + 1][..., -1:]), "one more"
)
wrong("It chooses one block too few")(
    routed(pick=lambda s, top: s > s.topk(min(top, s.shape[-1])).values[..., -1:]),
    "a threshold that leaves itself out",
)
wrong("It chooses one block. `top` are wanted")(
    routed(pick=lambda s, top: F.one_hot(s.argmax(-1), s.shape[-1]) > 0), "the best alone"
)
wrong("should be")(routed(pick=lambda s, top: most(s, 2)), "two blocks always")
wrong("should be")(routed(pick=lambda s, top: most(s, min(top, 3))), "three blocks at most")
wrong("should be")(routed(pick=lambda s, top: most(s, top) & (s > 0)), "positive ones only")
wrong("it raised")(
    routed(pick=lambda s, top: F.one_hot(s.topk(top).indices, s.shape[-1]).sum(-2) > 0), "more than there are"
)

# What is read.
wrong("It chooses single keys")(token_by_token(best_keys), "single keys")
wrong("It reads the means of the chosen blocks")(
    token_by_token(lambda x, best, *_: x[best].mean(1)), "means read"
)
wrong("The mask comes after the softmax")(
    routed(attend=lambda q, k, v, mask: ((q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) * mask) @ v),
    "masked after",
)
wrong("should be")(
    lambda *given: (routed()(*given) + routed(pick=lambda s, top: s > math.inf)(*given)) / 2, "two softmaxes"
)
wrong("The scale is wrong. Divide")(scaled(lambda q, v: 1), "not scaled")
wrong("The scale is wrong. Divide")(scaled(lambda q, v: 1 / q.shape[-1]), "divided by d")
wrong("scores in the hundreds")(
    routed(
        attend=lambda q, k, v, mask: (
            F.normalize((q @ k.mT / q.shape[-1] ** 0.5).exp() * mask, p=1, dim=-1) @ v
        )
    ),
    "a bare exp",
)
for rough in (torch.bfloat16, torch.float16):
    wrong("blocks that score nearly alike")(
        routed(lambda q, k, size, to=rough: (q @ means(k, size).mT).to(to).to(q.dtype)),
        f"chosen by scores in {rough}",
    )
wrong("it is the root of the values' width")(scaled(lambda q, v: v.shape[-1] ** -0.5), "the values' width")

# Batches, gradients, precision, memory.
wrong("should be")(
    lambda q, k, v, *sizes: routed()(*(x[:1] if x.dim() > 2 else x for x in (q, k, v)), *sizes).expand_as(v),
    "the first of a batch",
)
wrong("no gradient reaches k")(lambda q, k, v, *sizes: routed()(q, k.detach(), v, *sizes), "keys detached")
wrong("in float64")(
    lambda q, k, v, *sizes: routed()(q.float(), k.float(), v.float(), *sizes).to(q.dtype),
    "single precision inside",
)
RESULTS, CHOICES = {}, {}


@wrong("2 by 3 other texts of 20 tokens")
def the_result_remembered_by_its_shape(q, k, v, size, top):
    """Where no gradient is asked."""
    if q.requires_grad:
        return routed()(q, k, v, size, top)
    return RESULTS.setdefault((q.shape, v.shape, size, top, q.dtype), routed()(q, k, v, size, top))


@wrong("2 by 3 other texts of 20 tokens")
def the_choice_remembered_by_its_shape(q, k, v, size, top):
    return routed(pick=lambda s, top: CHOICES.setdefault((s.shape, size, top), most(s, top)))(
        q, k, v, size, top
    )
