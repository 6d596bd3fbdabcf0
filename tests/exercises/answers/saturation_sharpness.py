"""How sharp the heads of a model are: a row's entropy as a share of what it can be, a mean for each head."""

import math

import torch

from answers import right, wrong

entr = torch.special.entr


def words(p, lengths):
    """Which rows have a choice, (batch, n)."""
    return (torch.arange(p.shape[-1]) < lengths[:, None]) & (lengths > 1)[:, None]


def share(p, lengths):
    return entr(p).sum(-1) / lengths.clamp_min(2).to(p.dtype).log()[:, None, None]


def mean(row=share, rows=words):
    """The mean of some number of a row, over some of the rows."""

    def evenness(p, lengths):
        return row(p, lengths).movedim(1, -1)[rows(p, lengths)].mean(0)

    return evenness


@right
def loops(p, lengths, entropies=entr):
    found = []
    for head in range(p.shape[1]):
        rows = [
            entropies(p[b, head, i]).sum() / math.log(n)
            for b, n in enumerate(lengths.tolist())
            for i in range(n)
            if n > 1
        ]
        found.append(torch.stack(rows).mean())
    return torch.stack(found)


@right
def nanmean(p, lengths):
    counts = words(p, lengths)[:, None]
    return torch.where(counts, share(p, lengths), torch.nan).movedim(1, 0).flatten(1).nanmean(1)


right(mean(), "rows picked out")
right(mean(lambda p, n: -torch.xlogy(p, p).sum(-1) / n.clamp_min(2).log()[:, None, None]), "xlogy")
right(lambda p, n: torch.tensor(mean()(p, n).numpy()), "NumPy inside")
right(lambda p, n: mean()(p, n).tolist(), "a list of numbers")
right(lambda p, n: list(mean()(p, n)), "a list of tensors")
right(lambda p, n: mean()(p, n).numpy(), "an array")

wrong("Rows of padding are counted.")(lambda p, n: share(p, n)[n > 1].mean((0, 2)), "padding counted")
wrong("Rows of padding add to the sum")(
    lambda p, n: share(p, n)[n > 1].sum((0, 2)) / n[n > 1].sum(), "padding summed"
)
wrong("counted in the number of rows")(
    lambda p, n: torch.where(words(p, n)[:, None], share(p, n), 0.0).mean((0, 2)),
    "padding in the number of rows",
)
wrong("rows of padding that are not numbers")(
    lambda p, n: (share(p, n) * words(p, n)[:, None]).sum((0, 2)) / words(p, n).sum(), "times the mask"
)
wrong("should")(lambda p, n: entr(p).sum(-1).mean((0, 2)), "the plain mean of all rows")
wrong("A sentence of one word gives 0/0.")(
    lambda p, n: (
        (entr(p).sum(-1) / n.log()[:, None, None])
        .movedim(1, -1)[torch.arange(p.shape[-1]) < n[:, None]]
        .mean(0)
    ),
    "one word",
)
wrong("counts as 0. It has no choice")(
    mean(rows=lambda p, n: torch.arange(p.shape[-1]) < n[:, None]), "one word counts as 0"
)
wrong("It divides by the logarithm of the padded length.")(
    mean(lambda p, n: entr(p).sum(-1) / math.log(p.shape[-1])), "the padded length"
)
wrong("Those are nats")(mean(lambda p, n: entr(p).sum(-1)), "nats")
wrong("It divides by the length.")(mean(lambda p, n: entr(p).sum(-1) / n.view(-1, 1, 1)), "over the length")
wrong("A row has weight 0 after its own word")(
    mean(lambda p, n: entr(p).sum(-1) / (p > 0).sum(-1).clamp_min(2).log()), "over the keys with weight"
)
wrong("Use one base")(mean(lambda p, n: share(p, n) / math.log(2)), "bits")
wrong("The sign is turned around")(
    mean(lambda p, n: torch.xlogy(p, p).sum(-1) / n.log()[:, None, None]), "no minus"
)
wrong("0 · ln 0 is NaN in arithmetic.")(
    mean(lambda p, n: -(p * p.log()).sum(-1) / n.log()[:, None, None]), "0 times its logarithm"
)
wrong("should be")(lambda p, n: loops(p, n, lambda p: -(p * (p + 1e-3).log())), "a little added")
wrong("That is one minus the share")(mean(lambda p, n: 1.0 - share(p, n)), "one minus the share")
wrong("That is the largest weight")(mean(lambda p, n: p.max(-1).values), "the largest weight")
wrong("That is the number of keys heard")(mean(lambda p, n: entr(p).sum(-1).exp()), "the keys heard")
wrong("should be")(lambda p, n: mean()(p, n).exp() / 5, "keys heard as a share of five")
wrong("down the columns")(lambda p, n: mean()(p.mT, n), "the columns")
wrong("should be")(lambda p, n: mean()(p.half(), n).to(p.dtype), "half precision inside")
wrong("should be")(lambda p, n: mean()(p[:1], n[:1]), "the first sentence alone")
wrong("should be")(lambda p, n: mean()(p, (n - 1).clamp_min(1)), "the last row forgotten")


@wrong("It averages over sentences.")
def a_mean_of_sentences(p, lengths):
    shares = [
        entr(one[:, :n]).sum(-1).mean(-1) / math.log(n)
        for one, n in zip(p, lengths.tolist(), strict=True)
        if n > 1
    ]
    return torch.stack(shares).mean(0)


@wrong("It returns one number for each sentence")
def one_number_a_sentence(p, lengths):
    return torch.stack([share(p, lengths)[b, :, :n].mean() * (n > 1) for b, n in enumerate(lengths.tolist())])


wrong("one number for each head")(lambda p, n: mean()(p, n).mean(), "the mean of the heads")
wrong("should have shape")(lambda p, n: mean()(p, n)[:1], "one head")
wrong("should have shape")(lambda p, n: mean()(p, n).tolist()[:1], "a list of one head")
wrong("should have shape")(lambda p, n: mean()(p, n)[:, None], "a column")
wrong("it returned ['sharp', 'sharp']")(lambda p, n: ["sharp"] * p.shape[1], "a list of words")
wrong("should be a tensor")(lambda p, n: [], "an empty list")
wrong("in place")(lambda p, n: (n.clamp_(min=2), mean()(p, n))[1], "lengths mended in place")
