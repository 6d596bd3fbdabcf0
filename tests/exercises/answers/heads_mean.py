"""A layer's output with one head at its mean."""

import math

import torch

from answers import right, wrong


def mix(heads, w_o):
    return heads.transpose(1, 2).flatten(2) @ w_o


def put(value, at=lambda i: i, real=lambda real: real):
    """Put something for what head i says, or another: `value` of that and of the table of real tokens."""

    def at_its_mean(heads, w_o, i, mask):
        heads, place = heads.clone(), at(i)
        heads[:, place] = value(heads[:, place], real(mask))
        return mix(heads, w_o)

    return at_its_mean


def mean(said, real):
    return said[real].mean(0)


@right
def a_sum_over_heads(heads, w_o, i, real):
    out, rows = 0, w_o.unflatten(0, (heads.shape[1], -1))
    for j, said in enumerate(heads.unbind(1)):
        out = out + (mean(said, real).expand_as(said) if j == i else said) @ rows[j]
    return out


@right
def loops(heads, w_o, i, real):
    kept = [heads[b, i, t] for b in range(len(real)) for t in range(real.shape[1]) if real[b, t]]
    parts = list(heads.unbind(1))
    parts[i] = torch.stack(kept).mean(0).expand_as(parts[i])
    return torch.cat(parts, -1) @ w_o


@right
def where_and_einsum(heads, w_o, i, real):
    of_i = torch.einsum("bnd,bn->d", heads[:, i], real.to(heads.dtype)) / real.sum()
    own = (torch.arange(heads.shape[1]) == i)[:, None, None]
    rows = w_o.unflatten(0, (heads.shape[1], -1))
    return torch.einsum("bhnd,hdm->bnm", torch.where(own, of_i, heads), rows)


right(
    put(lambda said, real: said.masked_fill(~real[..., None], math.nan).flatten(0, 1).nanmean(0)), "nanmean"
)

# Another number.
wrong("Head i is set to zero")(put(lambda said, real: 0), "zero")
wrong("Nothing is changed")(put(lambda said, real: said), "nothing changed")
wrong("Padding is counted in the mean")(put(lambda said, real: said.flatten(0, 1).mean(0)), "padding counted")
wrong("The sum is divided by all rows")(
    put(lambda said, real: (said * real[..., None]).mean((0, 1))), "over all rows"
)
wrong("should be")(put(mean, real=lambda real: ~real), "padding alone")
wrong("should be")(put(mean, real=lambda real: real.flip(1)), "the mask turned")
wrong("Each sentence has its own mean")(
    put(lambda said, real: (said * real[..., None]).sum(1, True) / real.sum(1)[:, None, None]),
    "a mean a sentence",
)
wrong("It takes the mean of the sentences' means")(
    put(lambda said, real: torch.stack([x[one].mean(0) for x, one in zip(said, real, strict=True)]).mean(0)),
    "a mean of means",
)
wrong("should be")(put(lambda said, real: said.mean(0)), "place by place")
wrong("The mean runs over the columns too")(put(lambda said, real: said[real].mean()), "one number")
wrong("should be")(put(lambda said, real: said[real].median(0).values), "the median")
wrong("should be")(put(lambda said, real: said[0][real[0]].mean(0)), "the first sentence's")
wrong("should be")(put(lambda said, real: said[0, 0]), "the first token's")
wrong("Rows of padding keep what head i said")(
    put(lambda said, real: torch.where(real[..., None], mean(said, real), said)), "padding keeps its own"
)

# Another head.
wrong("Another head is taken out")(put(mean, at=lambda i: i - 1), "counted from 1")
wrong("should be")(
    lambda heads, w_o, i, real: put(mean, at=lambda _: min(1, heads.shape[1] - 1))(heads, w_o, i, real),
    "head 1 always",
)


@wrong("The mean is that of all heads")
def of_all_heads(heads, w_o, i, real):
    out = heads.clone()
    out[:, i] = torch.stack([mean(said, real) for said in heads.unbind(1)]).mean(0)
    return mix(out, w_o)


@wrong("All other heads are at their means")
def all_others(heads, w_o, i, real):
    heads = heads.clone()
    for j in {*range(heads.shape[1])} - {i}:
        heads[:, j] = mean(heads[:, j], real)
    return mix(heads, w_o)


@wrong("Only what head i says is left")
def the_others_silent(heads, w_o, i, real):
    alone = torch.zeros_like(heads)
    alone[:, i] = mean(heads[:, i], real)
    return mix(alone, w_o)


# Joined and mixed in another way.
def joined(join):
    return lambda heads, w_o, i, real: join(
        put(mean)(heads, torch.eye(len(w_o), dtype=heads.dtype), i, real), heads, w_o
    )


wrong("should have shape")(joined(lambda rows, heads, w_o: rows), "not mixed")
wrong("should be")(
    joined(lambda rows, heads, w_o: rows.unflatten(-1, (heads.shape[1], -1)).mT.flatten(-2) @ w_o),
    "interleaved",
)


@wrong("without moving them back")
def not_moved_back(heads, w_o, i, real):
    heads = heads.clone()
    heads[:, i] = mean(heads[:, i], real)
    return heads.reshape(len(heads), heads.shape[2], -1) @ w_o


@wrong("it changed its argument heads in place")
def in_place(heads, w_o, i, real):
    heads[:, i] = mean(heads[:, i], real)
    return mix(heads, w_o)


wrong("no gradient")(lambda heads, *rest: put(mean)(heads.detach(), *rest), "detached")
wrong("the gradient is not")(put(lambda said, real: mean(said, real).detach()), "the mean detached")
wrong("in float64")(
    lambda heads, w_o, i, real: put(mean)(heads.float(), w_o.float(), i, real).to(heads.dtype),
    "single precision inside",
)
