"""Partial results from any number of parts, some of them empty."""

import math

import torch

from answers import right, wrong
from attnlab.distributed import merge


def one_by_one(outs, lses):
    """Each part with all before it; the past of nothing is nothing."""
    out, lse = torch.zeros_like(outs[0]), torch.full_like(lses[0], -math.inf)
    for its, z in zip(outs, lses, strict=True):
        top = torch.maximum(lse, z).detach()
        top = torch.where(top.isinf(), 0.0, top)
        a, b = (lse - top).exp(), (z - top).exp()
        total = a + b
        some = total > 0
        sure = torch.where(some, total, 1.0)
        its = torch.where(z[:, None].isinf(), 0.0, its)
        out = (a[:, None] * out + b[:, None] * its) / sure[:, None]
        lse = torch.where(some, top + sure.log(), -math.inf)
    return out, lse


def tables(weights=None, lse=None):
    """Weights and lse made apart: what of one query's lses, a list, comes of them."""

    def answer(outs, lses):
        found = torch.zeros_like(outs[0])
        wholes = []
        for i in range(lses.shape[1]):
            row = lses[:, i]
            for at, w in enumerate((weights or shares)(row)):
                found[i] = found[i] + w * torch.where(row[at].isinf(), 0.0, outs[at, i])
            wholes.append((lse or whole)(row))
        return found, torch.stack(wholes)

    return answer


def shares(row):
    if row.isinf().all():
        return torch.zeros_like(row)
    e = (row - row.max()).exp()
    return e / e.sum()


def whole(row):
    if row.isinf().all():
        return torch.full_like(row[0], -math.inf)
    return row.max() + (row - row.max()).exp().sum().log()


right(lambda outs, lses: merge(list(outs), list(lses)), "the package")
right(one_by_one)
right(tables(), "query by query")


@right
def halves(outs, lses):
    """A tree: the order of merging changes nothing."""
    if len(outs) == 1:
        return merge([outs[0]], [lses[0]])
    middle = len(outs) // 2
    return merge(
        *zip(halves(outs[:middle], lses[:middle]), halves(outs[middle:], lses[middle:]), strict=True)
    )


right(lambda outs, lses: one_by_one(outs.flip(0), lses.flip(0)), "from the last to the first")


@right
def differences(outs, lses):
    """A softmax of finite numbers: what is empty lies far below all others."""
    hole = lses.isinf()
    low = torch.where(hole, 0.0, lses).amin(0) - 1e4
    filled = torch.where(hole, low, lses)
    w = torch.where(hole, 0.0, filled.softmax(0))
    lse = torch.where(hole.all(0), -math.inf, filled.logsumexp(0))
    return torch.einsum("pn,pnd->nd", w, torch.where(hole[..., None], 0.0, outs)), lse


# Weights.
wrong("All parts count alike")(tables(lambda row: [1 / len(row)] * len(row)), "a mean")
wrong("The outputs are added up")(tables(lambda row: [1.0] * len(row)), "a sum")
wrong("The weights are the lses themselves")(
    tables(lambda row: torch.where(row.isinf(), 0.0, row) / torch.where(row.isinf(), 0.0, row).sum()),
    "lses as weights",
)
wrong("not divided by the sum")(tables(lambda row: math.e**row), "exponentials")
wrong("The weights run over the queries")(
    lambda outs, lses: (
        (torch.where(lses.isinf()[..., None], 0.0, outs) * lses.softmax(1)[..., None]).sum(0),
        one_by_one(outs, lses)[1],
    ),
    "the last axis",
)
wrong("The larger of the lses decides alone")(
    tables(lambda row: (row == row.max()) / (row == row.max()).sum()), "the best part"
)
wrong("Only the first two parts are merged")(lambda outs, lses: one_by_one(outs[:2], lses[:2]), "a pair")


@wrong("but with the lse of the last part alone")
def forgets_its_past(outs, lses):
    out, before, lse = outs[0], lses[0], lses[0]
    for at in range(1, len(outs)):
        out, lse = one_by_one(torch.stack([out, outs[at]]), torch.stack([before, lses[at]]))
        before = lses[at]
    return one_by_one(out[None], lse[None])


wrong("should be")(tables(lambda row: torch.softmax(row * math.log(2), 0)), "powers of 2")

wrong("Nothing is done about empty parts")(
    lambda outs, lses: (torch.einsum("pn,pnd->nd", lses.softmax(0), outs), lses.logsumexp(0)), "two lines"
)

# The lse.
wrong("The lses are added up")(tables(lse=lambda row: sum(row)), "lses summed")
wrong("The lse is the largest of the lses")(tables(lse=lambda row: row.max()), "the largest")
wrong("The second result is the sum of exponentials")(tables(lse=lambda row: row.exp().sum()), "no logarithm")
wrong("The lse is that of a mean of exponentials")(
    tables(lse=lambda row: whole(row - math.log(len(row)))), "a mean of exponentials"
)
wrong("should be")(tables(lse=lambda row: whole(row) / math.log(2)), "a logarithm to base 2")
wrong("should be")(tables(lse=lambda row: row[-1]), "that of the last part")

# Empty parts, large numbers.
wrong("An empty part counts as one with the lse 0")(
    lambda outs, lses: one_by_one(torch.nan_to_num(outs), torch.where(lses.isinf(), 0.0, lses)), "−∞ as 0"
)


@wrong("What an empty part holds goes through")
def nan_times_0(outs, lses):
    weights = torch.stack([shares(row) for row in lses.T], 1)
    return torch.einsum("pn,pnd->nd", weights, outs), one_by_one(outs, lses)[1]


wrong("an empty part that holds ∞")(
    lambda outs, lses: nan_times_0(torch.where(outs.isnan(), 0.0, outs), lses), "NaN alone is replaced"
)

wrong("Where no part has a key, −∞ − (−∞) makes NaN")(
    tables(
        lambda row: (row - row.max()).exp() / (row - row.max()).exp().sum(),
        lambda row: row.max() + (row - row.max()).exp().sum().log(),
    ),
    "no thought of empty rows",
)
wrong("Where no part has a key, the lse is 0")(
    tables(lse=lambda row: torch.zeros(()).to(row) if row.isinf().all() else whole(row)), "an lse of 0"
)
wrong("exp(lse) is made before anything is taken off")(
    lambda outs, lses: (
        sum(torch.where(z.isinf(), 0.0, z.exp())[:, None] * torch.where(z.isinf()[:, None], 0.0, its)
            for its, z in zip(outs, lses, strict=True)) / lses.exp().sum(0)[:, None],
        lses.exp().sum(0).log(),
    ),
    "plain exponentials",
)  # fmt: skip


@wrong("In double precision, too, their exponentials are infinite")
def in_double(outs, lses):
    """No number of single precision overflows here."""
    hole = lses.isinf()
    e = torch.where(hole, 0.0, lses).double().exp().masked_fill(hole, 0.0)
    some = ~hole.all(0)
    total = torch.where(some, e.sum(0), 1.0)
    held = torch.where(hole[..., None], 0.0, outs)
    out = (e[..., None] * held).sum(0) / total[:, None]
    return out.to(outs), torch.where(some, total.log(), -math.inf).to(lses)


wrong("lses of about 2,000")(
    lambda outs, lses: one_by_one(outs, torch.where(lses.isinf(), lses, lses.clamp(-300, 300))), "clamped"
)
wrong("lses of about −100,000")(
    lambda outs, lses: one_by_one(outs, torch.where(lses.isinf(), lses, lses.clamp(min=-3000))), "a floor"
)


def empty_at(low):
    """An empty part gets a low lse in place of −∞, and queries that no part has a key for are put right."""

    def answer(outs, lses):
        hole = lses.isinf()
        none = hole.all(0)
        filled = torch.where(hole, low, lses)
        held = torch.where(hole[..., None], 0.0, outs)
        out = (filled.softmax(0)[..., None] * held).sum(0)
        return torch.where(none[:, None], 0.0, out), torch.where(none, -math.inf, filled.logsumexp(0))

    return answer


for low in (-100.0, -1000.0, -1e4):
    wrong("no number of your own can stand for −∞")(empty_at(low), f"an empty part at {low:,.0f}")


@wrong("The largest of all lses is taken off")
def one_top(outs, lses):
    e = torch.exp(lses - lses.flatten().max())
    out = torch.einsum("pn,pnd->nd", e, torch.where(lses.isinf()[..., None], 0.0, outs)) / e.sum(0)[:, None]
    return out, lses.flatten().max() + e.sum(0).log()


# What is returned.
wrong("The lse comes first")(lambda outs, lses: one_by_one(outs, lses)[::-1], "the lse first")
wrong("should be 2 values (output, lse)")(lambda outs, lses: one_by_one(outs, lses)[0], "the output alone")


@wrong("the gradient of lses is NaN")
def filled_over_afterwards(outs, lses):
    held = torch.where(lses.isinf()[..., None], 0.0, outs)
    out = torch.nan_to_num((lses.softmax(0)[..., None] * held).sum(0))
    return out, one_by_one(outs, lses)[1]


wrong("the gradient is not")(lambda outs, lses: one_by_one(outs, lses.detach()), "weights detached")


@wrong("it changed its argument outs in place")
def in_place(outs, lses):
    outs[lses.isinf()] = 0.0
    return one_by_one(outs, lses)
