"""Nucleus sampling: the fewest words that have the share, and each row with a number of its own."""

import functools

import torch

from answers import right, wrong


def best_first(p, share):
    return p.sort(dim=-1, descending=True, stable=True)


def kept(stays, order=best_first):
    """What is kept, not divided: `stays` takes sorted probabilities, their running sum and the share."""

    def answer(p, share):
        best, at = order(p, share)
        return torch.zeros_like(p).scatter(-1, at, best * stays(best, best.cumsum(-1), share))

    return answer


def divided(answer):
    @functools.wraps(answer)
    def normed(p, share):
        found = answer(p, share)
        return found / found.sum(-1, keepdim=True)

    return normed


nucleus = kept(lambda best, total, share: total - best < share)
top_p = right(divided(nucleus), "less than the share before it")
right(
    divided(kept(lambda best, total, share: torch.nn.functional.pad(total[..., :-1], (1, 0)) < share)),
    "shifted",
)


@right
@divided
def gathered_back(p, share):
    best, order = best_first(p, share)
    return p * (best.cumsum(-1) - best < share).gather(-1, order.argsort(-1))


@right
@divided
def by_ranks(p, share):
    best, order = best_first(p, share)
    return p * ((best.cumsum(-1) < share).sum(-1, keepdim=True) >= order.argsort(-1))


@right
def in_loops(p, share):
    rows = []
    for row in p.reshape(-1, p.shape[-1]).tolist():
        total, kept = 0.0, [0.0] * len(row)
        for at in sorted(range(len(row)), key=lambda at: -row[at]):
            if total < share:
                kept[at] = row[at]
                total += row[at]
        rows.append([x / total for x in kept])
    return torch.tensor(rows, dtype=p.dtype).reshape(p.shape)


@wrong("Equal words are all kept")
@divided
def a_cut_with_all_equals(p, share):
    best = p.sort(dim=-1, descending=True).values
    last = (best.cumsum(-1) < share).sum(-1, keepdim=True).clamp(max=p.shape[-1] - 1)
    return p * (p >= best.gather(-1, last))


@wrong("one more is kept")
@divided
def the_usual_shift(p, share):
    best, order = p.sort(-1, descending=True)
    out = best.cumsum(-1) > share
    out[..., 1:] = out[..., :-1].clone()
    out[..., 0] = False
    return p.masked_fill(torch.zeros_like(out).scatter(-1, order, out), 0)


@wrong("All rows keep as many words as the first one")
@divided
def as_many_as_in_the_first_row(p, share):
    best, order = best_first(p, share)
    first = best.reshape(-1, p.shape[-1])[0]
    best[..., int((first.cumsum(-1) < share).sum()) + 1 :] = 0
    return torch.zeros_like(p).scatter(-1, order, best)


@wrong("The probabilities come back in sorted order")
@divided
def sorted_order(p, share):
    best, _ = best_first(p, share)
    return best * (best.cumsum(-1) - best < share)


@wrong("The words are summed up in the order of the vocabulary")
@divided
def not_sorted(p, share):
    before = torch.cat((torch.zeros_like(p[..., :1]), p.cumsum(-1)[..., :-1]), -1)
    return p.where(before < share, 0)


@wrong("The least probable words are kept")
@divided
def worst_first(p, share):
    return kept(lambda best, total, share: total - best < share, lambda p, share: p.sort(-1))(p, share)


wrong("The word that crosses the share is left out")(
    divided(kept(lambda best, total, share: total <= share)), "crossing word dropped"
)
wrong("The word that reaches the share is left out")(
    divided(kept(lambda best, total, share: total < share)), "only below the share"
)
wrong("one more is kept")(
    divided(kept(lambda best, total, share: total - best <= share)), "at most the share"
)
wrong("Divide by its sum")(nucleus, "not divided")
wrong("A second softmax")(
    lambda p, share: p.masked_fill(top_p(p, share) == 0, -torch.inf).softmax(-1), "a softmax again"
)
wrong("That is min-p: a share")(
    divided(lambda p, share: p * (p >= share * p.amax(-1, keepdim=True))), "min-p"
)
wrong("That is min-p with 1 − share")(
    divided(lambda p, share: p * (p / p.amax(-1, keepdim=True) >= 1 - share)), "min-p of the rest"
)
wrong("With four equal words")(lambda p, share: top_p(p.flip(-1), share).flip(-1), "the later of two equals")
wrong("should be")(lambda p, share: top_p(p, max(share, float(p.amax()) + 1e-4)), "at least two words")
wrong("should be")(lambda p, share: top_p(p.flatten(), share).reshape(p.shape), "over all rows at once")
wrong("should be")(
    lambda p, share: top_p(p.T, share).T if p.dim() == 2 else top_p(p, share), "over the first axis"
)
wrong("should be")(lambda p, share: top_p(p, 0.9), "always 0.9")
wrong("should be")(lambda p, share: p, "all words")
wrong("should")(lambda p, share: top_p(p, share) > 0, "a mask")
wrong("should be a tensor")(lambda p, share: top_p(p, share).numpy(), "an array")
wrong("in float64")(lambda p, share: top_p(p.float(), share).to(p.dtype), "in single precision")
