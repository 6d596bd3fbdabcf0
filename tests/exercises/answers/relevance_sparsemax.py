"""Weights with zeros: scores less one threshold, cut at 0."""

import torch

from answers import right, wrong
from attnlab import scores


def threshold(z, stay):
    return ((z * stay).sum(-1, keepdim=True) - 1) / stay.sum(-1, keepdim=True)


def keep(stay):
    """The threshold of those that stay, whoever that is."""
    return lambda z: (z - threshold(z, stay(z))).clamp_min(0)


def thresholds(ordered):
    return (ordered.cumsum(-1) - 1) / torch.arange(1, ordered.shape[-1] + 1)


def by_sorting(z):
    ordered = z.sort(-1, descending=True).values
    stay = (ordered > thresholds(ordered)).sum(-1, keepdim=True)
    return (z - thresholds(ordered).gather(-1, stay - 1)).clamp_min(0)


right(lambda z: by_sorting((z - z.amax(-1, keepdim=True)).clamp_min(-2)), "sorted, shifted, cut at -2")
wrong("the lowest number there is")(lambda z: by_sorting(z - z.amax(-1, keepdim=True)), "sorted and shifted")
wrong("above one with small scores")(lambda z: by_sorting(z - z.max()), "the largest of all rows subtracted")
wrong("With scores near a hundred million: it raised")(by_sorting, "sorted, sums at 1e8")
wrong("so large that 1 is lost")(lambda z: by_sorting(z.double()).to(z), "sorted, in double precision")


@right
def pruned_until_done(z):
    """Michelot's algorithm."""
    z = (z - z.amax(-1, keepdim=True)).clamp_min(-3)
    stay = torch.ones_like(z, dtype=torch.bool)
    while True:
        more = stay & (z > threshold(z, stay))
        if torch.equal(stay, more):
            return (z - threshold(z, stay)).clamp_min(0)
        stay = more


def pruned(steps):
    """So many thresholds, each of the scores that the one before has left."""

    def answer(z):
        z = (z - z.amax(-1, keepdim=True)).clamp_min(-2)
        stay = torch.ones_like(z, dtype=torch.bool)
        for _ in range(steps):
            stay = stay & (z > threshold(z, stay))
        return (z - threshold(z, stay)).clamp_min(0)

    return answer


right(pruned(64), "pruned as often as may be needed")
wrong("each step drops one more score")(pruned(4), "pruned four times")


def at_most(most):
    """The thresholds of the largest few alone."""

    def answer(z):
        top = z.topk(min(most, z.shape[-1]), -1).values
        stay = (top > thresholds(top)).sum(-1, keepdim=True)
        return (z - thresholds(top).gather(-1, stay - 1)).clamp_min(0)

    return answer


wrong("lets two scores stay")(at_most(2), "two at most")
wrong("42 scores that are nearly equal")(
    lambda z: at_most(12)((z - z.amax(-1, keepdim=True)).clamp_min(-2)), "twelve at most"
)


@wrong("should be")
def as_many_as_in_the_first_row(z):
    ordered = z.sort(-1, descending=True).values
    stay = int((ordered[0] > thresholds(ordered)[0]).sum())
    return (z - thresholds(ordered)[:, stay - 1 : stay]).clamp_min(0)


@wrong("The values are right; the gradient is not")
def the_threshold_halved_in(z):
    """To autograd the threshold is a constant."""
    z = z - z.amax(-1, keepdim=True)
    low, high = -torch.ones(len(z), 1), torch.zeros(len(z), 1)
    for _ in range(60):
        middle = (low + high) / 2
        over = (z - middle).clamp_min(0).sum(-1, keepdim=True) > 1
        low, high = torch.where(over, middle, low), torch.where(over, high, middle)
    return (z - low).clamp_min(0)


@wrong("it changed its argument z in place")
def shifted_in_place(z):
    z -= z.amax(-1, keepdim=True)
    return scores.sparsemax(z)


@wrong("It cuts and then divides by the sum")
def renormalised(z):
    p = torch.relu(z - z.amax(-1, keepdim=True) + 1)
    return p / p.sum(-1, keepdim=True)


wrong("The rows do not sum to 1")(lambda z: torch.relu(z - z.amax(-1, keepdim=True) + 1), "cut alone")
wrong("That is softmax")(lambda z: z.softmax(-1), "softmax")
wrong("It gives everything to the largest score")(
    lambda z: torch.zeros_like(z).scatter(-1, z.argmax(-1, keepdim=True), 1.0), "all to the largest"
)
wrong("It works down the columns")(lambda z: scores.sparsemax(z, dim=0), "down the columns")
wrong("some weights are negative")(lambda z: z - threshold(z, torch.ones_like(z)), "nothing cut")
wrong("The threshold counts every score, also those")(keep(torch.ones_like), "all counted")
wrong("That threshold can drop further scores")(
    keep(lambda z: z > threshold(z, torch.ones_like(z))), "pruned once"
)
wrong("keeps every score within 1")(
    keep(lambda z: z > z.amax(-1, keepdim=True) - 1), "within 1 of the leader"
)
wrong("hold real numbers")(lambda z: z > 0, "a boolean")
wrong("gradient")(lambda z: scores.sparsemax(z).detach(), "detached")
