"""The best accuracy of any model, from what each place sees."""

from collections import Counter

import torch

from answers import right, wrong


def tabled(looks, tags, mass):
    table = torch.zeros(int(looks.max()) + 1, int(tags.max()) + 1, dtype=mass.dtype)
    table.index_put_((looks, tags), mass, accumulate=True)
    return table


@right
def counted_in_python(looks, tags, mass):
    sums = Counter()
    for look, tag, one in zip(looks.tolist(), tags.tolist(), mass.tolist(), strict=True):
        sums[look, tag] += one
    best = Counter()
    for (look, _), one in sums.items():
        best[look] = max(best[look], one)
    return torch.tensor(sum(best.values()) / sum(sums.values()))


@right
def one_hot(looks, tags, mass):
    seen = torch.nn.functional.one_hot(looks).to(mass)
    given = torch.nn.functional.one_hot(tags).to(mass)
    return (seen.mT @ (mass[:, None] * given)).max(-1).values.sum() / mass.sum()


@right
def look_by_look(looks, tags, mass):
    best = [max(mass[(looks == a) & (tags == b)].sum() for b in tags.unique()) for a in looks.unique()]
    return torch.stack(best).sum() / mass.sum()


@right
def scattered(looks, tags, mass):
    flat = torch.zeros((int(looks.max()) + 1) * (int(tags.max()) + 1), dtype=mass.dtype)
    flat.scatter_add_(0, looks * (int(tags.max()) + 1) + tags, mass)
    return flat.view(int(looks.max()) + 1, -1).amax(1).sum() / flat.sum()


right(lambda *given: tabled(*given).amax(-1).sum().div(given[-1].sum()).float(), "in single precision")

wrong("is averaged over looks")(
    lambda *given: (lambda t: (t.amax(-1) / t.sum(-1))[t.sum(-1) > 0].mean())(tabled(*given)),
    "a mean of shares",
)
wrong("It takes the heaviest single place")(
    lambda looks, tags, mass: (
        torch.stack([mass[looks == a].amax() for a in looks.unique()]).sum() / mass.sum()
    ),
    "the heaviest place",
)
wrong("Places are counted")(
    lambda looks, tags, mass: tabled(looks, tags, mass * 0 + 1).amax(-1).sum() / len(mass), "counted"
)


@wrong("overwrite one another")
def assigned(looks, tags, mass):
    table = torch.zeros(int(looks.max()) + 1, int(tags.max()) + 1, dtype=mass.dtype)
    for a, b, one in zip(looks, tags, mass, strict=True):
        table[a, b] = one
    return table.amax(-1).sum() / mass.sum()


@wrong("The one with the most mass is right more often")
def by_majority(looks, tags, mass):
    given = tabled(looks, tags, torch.ones_like(mass)).argmax(-1)
    return (mass * (given[looks] == tags)).sum() / mass.sum()


wrong("One tag is given to all")(lambda *given: tabled(*given).sum(0).max() / given[-1].sum(), "one tag")
wrong("draws its tags with their probabilities")(
    lambda *given: (lambda t: (t * t / t.sum(-1, keepdim=True).clamp_min(1e-99)).sum() / t.sum())(
        tabled(*given)
    ),
    "drawn",
)
wrong("That is the loss")(lambda *given: 1 - tabled(*given).amax(-1).sum() / given[-1].sum(), "the loss")
wrong("It is not divided")(lambda *given: tabled(*given).amax(-1).sum(), "not divided")
wrong("It is divided by the number of places")(
    lambda *given: tabled(*given).amax(-1).sum() / len(given[-1]), "by places"
)
wrong("It is divided by the number of looks")(
    lambda *given: tabled(*given).amax(-1).sum() / len(set(given[0].tolist())), "by looks"
)
wrong("It asks for each tag")(lambda *given: tabled(*given).amax(0).sum() / given[-1].sum(), "the other axis")
wrong("Only looks with one tag count")(
    lambda *given: (lambda t: t[(t > 0).sum(-1) == 1].sum() / t.sum())(tabled(*given)), "pure looks"
)
wrong("should be")(lambda *given: tabled(*given).amax(-1).max() / given[-1].sum(), "one look")


@wrong("it raised IndexError")
def table_of_fixed_size(looks, tags, mass):
    table = torch.zeros(1000, 1000, dtype=mass.dtype)
    table.index_put_((looks, tags), mass, accumulate=True)
    return table.amax(-1).sum() / mass.sum()
