"""How much each head looks at the piece before: a mean over all real pieces that have one."""

import torch

from answers import right, wrong


def both(real):
    return real[:, 1:] & real[:, :-1]


def back(weights, by=-1):
    return weights.diagonal(by, -2, -1)


def over(found, counts, number=None):
    """The sum over the pieces that count, by their number or by another one."""
    return (found * counts[:, None]).sum((0, 2)) / (counts.sum() if number is None else number)


def previous(weights, real):
    return over(back(weights), both(real))


right(lambda w, real: back(w).movedim(1, -1)[both(real)].mean(0), "by a mask")
right(
    lambda w, real: back(w).transpose(0, 1).masked_select(both(real)).view(w.shape[1], -1).mean(1),
    "chosen head by head",
)
right(
    lambda w, real: back(w).masked_fill(~both(real)[:, None], float("nan")).nanmean((0, 2)),
    "a mean that skips what is no number",
)
right(
    lambda w, real: over(w[:, :, range(1, w.shape[2]), range(w.shape[2] - 1)], both(real)),
    "rows and columns named",
)
right(lambda w, real: over(back(w), both(real), real.sum() - real.any(-1).sum()), "counted by texts")


@right
def loops(weights, real):
    texts, heads, n, _ = weights.shape
    places = [(t, i) for t in range(texts) for i in range(1, n) if real[t, i] and real[t, i - 1]]
    return torch.stack([sum(weights[t, h, i, i - 1] for t, i in places) / len(places) for h in range(heads)])


@wrong("The mean is taken text by text")
def text_by_text(weights, real):
    rows = []
    for w, here in zip(weights, real, strict=True):
        if here.sum() > 1:
            rows.append(back(w[:, here][:, :, here]).mean(-1))
    return torch.stack(rows).mean(0)


@wrong("This is how much pieces look at themselves")
def at_itself(weights, real):
    return torch.stack([w[here].mean() for w, here in ((w, real) for w in back(weights, 0).unbind(1))])


@wrong("should be")
def padding_at_the_left_forgotten(weights, real):
    ends = enumerate(real.sum(-1).tolist())
    return torch.stack([back(weights)[t, :, i] for t, n in ends for i in range(n - 1)]).mean(0)


@wrong("should be")
def shares_among_the_real(weights, real):
    weights = weights * real[:, None, None]
    return previous(weights / weights.sum(-1, keepdim=True), real)


@wrong("should be")
def how_often_it_is_the_largest(weights, real):
    return over(weights.argmax(-1)[:, :, 1:] == torch.arange(weights.shape[-1] - 1), both(real))


wrong("This is the piece after")(lambda w, real: over(back(w, 1), both(real)), "the next")
wrong("Padded pieces are counted too")(lambda w, real: back(w).mean((0, 2)), "padding counts")
wrong("Padding may stand at the left")(lambda w, real: over(back(w), real[:, 1:]), "the piece alone is real")
wrong("Padding may stand at the right")(
    lambda w, real: over(back(w), real[:, :-1]), "the one before alone is real"
)
wrong("The first piece of a text has none before it")(
    lambda w, real: over(back(w), both(real), real.sum()), "the first pieces counted"
)
wrong("divided by all pieces, padding too")(
    lambda w, real: over(back(w), both(real), real.numel()), "all places counted"
)
wrong("This is a sum")(lambda w, real: over(back(w), both(real), 1), "a sum")
wrong("The heads are averaged")(lambda w, real: back(w).mean(1)[both(real)].mean(), "heads averaged")
wrong("should be")(lambda w, real: (back(w) * both(real)[:, None]).mean((0, 2)), "padding divides too")
wrong("should be")(lambda w, real: over(back(w), both(real), real.sum() - 1), "one text in the count")
wrong("should be")(lambda w, real: back(w)[0][:, both(real)[0]].mean(-1), "the first text alone")
wrong("should be")(lambda w, real: (back(w) * both(real)[:, None]).amax((0, 2)), "the largest")
wrong("should be")(lambda w, real: back(w).movedim(1, -1)[both(real)].median(0).values, "the median")
wrong("should be")(lambda w, real: over(back(w, -2), both(real)[:, 1:], both(real).sum()), "two back")
wrong("should be")(lambda w, real: (previous(w, real) + previous(w.mT, real)) / 2, "both directions")
wrong("should be")(lambda w, real: previous(w[:, :, 1:, 1:], real[:, 1:]), "the first piece is no word")
wrong("should be")(lambda w, real: over(back(w.roll(1, -1), 0), real), "the first looks at the last")
wrong("should be")(
    lambda w, real: over(back(w), (real & real.roll(1, -1))[:, :-1], both(real).sum()),
    "a mask that wraps around",
)
wrong("should be")(
    lambda w, real: back(w).masked_select(both(real)[:, None]).view(w.shape[1], -1).mean(1),
    "chosen text by text, not head by head",
)
wrong("should be")(
    lambda w, real: previous(w / (w.sum(-1, keepdim=True) - back(w, 0)[..., None]), real),
    "shares without the piece itself",
)
wrong("should be")(
    lambda w, real: previous(w.masked_fill(~real[:, None, None], 0).softmax(-1), real), "a second softmax"
)
wrong("A weight of exactly 0")(
    lambda w, real: torch.stack([x[x > 0].mean() for x in (back(w) * both(real)[:, None]).unbind(1)]),
    "what is above 0 alone",
)
wrong("Nothing in it counts")(
    lambda w, real: over(back(w), both(real), (real.sum(1) - 1).sum()),
    "one less for each text, also for none",
)
wrong("A weight of exactly 0")(
    lambda w, real: over(back(w), both(real), (back(w)[:, 0] * both(real)).count_nonzero()),
    "what is above 0 in the first head",
)
wrong("should be")(
    lambda w, real: previous(w[..., :-1, :-1], real[:, :-1]) if w.shape[-1] > 50 else previous(w, real),
    "the last piece of a long text forgotten",
)
wrong("should have shape")(lambda w, real: previous(w, real)[:3], "three heads")
wrong("should have shape")(lambda w, real: (back(w) * both(real)[:, None]).sum(2), "a number for each text")
wrong("should be a tensor")(lambda w, real: previous(w, real).tolist(), "a list")
wrong("`return`")(lambda w, real: None, "nothing")
wrong("changed its argument weights")(
    lambda w, real: previous(w.mul_(real[:, None, :, None]), real), "padding zeroed in place"
)
wrong("in float64")(lambda w, real: previous(w.float(), real), "in single precision")
wrong("no gradient reaches weights")(lambda w, real: previous(w.detach(), real), "detached")
wrong("no gradient reaches weights")(
    lambda w, real: torch.from_numpy(previous(w.detach(), real).numpy()), "in NumPy"
)
