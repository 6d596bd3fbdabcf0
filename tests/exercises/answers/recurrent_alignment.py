"""The share of the weights that lies where each character was made, over those made from something."""

import numpy as np
import torch

from answers import right, wrong


def share(weights, made):
    truth = torch.zeros_like(weights)
    for at, places in enumerate(made):
        truth[at, list(places)] = 1
    return (weights * truth).sum() / sum(1 for places in made if places)


def each(take, mean=lambda found, made: sum(found) / len(found)):
    """A number for each row that has places, and a mean of them."""

    def answer(weights, made):
        rows = zip(weights, made, strict=True)
        return mean([take(row, list(places)) for row, places in rows if places], made)

    return answer


right(share, "with a matrix")
right(each(lambda row, places: sum(float(row[i]) for i in places)), "in plain Python")
right(each(lambda row, places: row.numpy()[places].sum(), lambda found, made: np.mean(found)), "NumPy's mean")
right(
    each(lambda row, places: row[torch.tensor(places)].sum(), lambda found, made: torch.stack(found).mean()),
    "stacked",
)


@wrong("It divides by all characters")
def empty_rows_count(weights, made):
    total = 0.0
    for row, places in zip(weights, made, strict=True):
        for i in places:
            total = total + row[i]
    return total / len(made)


@wrong("A character that was made from two places is one character")
def by_places(weights, made):
    found = [row[i] for row, places in zip(weights, made, strict=True) for i in places]
    return sum(found) / len(found)


wrong("It is a sum. Divide")(
    each(lambda row, places: row[places].sum(), lambda found, made: sum(found)), "a sum"
)
wrong("It asks whether the largest weight is in the right place")(
    each(lambda row, places: float(int(row.argmax()) in places)), "how often the largest is right"
)
wrong("Of several right places only the first counts")(
    each(lambda row, places: row[places[0]]), "the first place"
)
wrong("Of several right places only the best counts")(
    each(lambda row, places: max(row[i] for i in places)), "the best place"
)
wrong("The weights of several right places are averaged")(
    each(lambda row, places: row[places].mean()), "places averaged"
)
wrong("should be a number")(
    each(lambda row, places: float(row[places].sum()), lambda found, made: found), "a list"
)
wrong("two dates")(lambda weights, made: share(weights[:10], made[:10]), "ten characters")
wrong("should")(lambda weights, made: share(weights[:-1], made[:-1]), "not the last character")
wrong("should")(lambda weights, made: share(weights, made) * sum(map(bool, made)) / 8, "divided by eight")
wrong("should")(lambda weights, made: share(weights, made) * 1.02, "two in a hundred too much")
wrong("should")(lambda weights, made: round(float(share(weights, made)), 2), "rounded")
wrong("should")(lambda weights, made: 1 - share(weights, made), "what lies elsewhere")
wrong("should")(lambda weights, made: weights.max(), "the largest weight")
wrong("should")(
    lambda weights, made: share(weights, [p and range(p[0], p[-1] + 1) for p in made]),
    "what lies between, too",
)
