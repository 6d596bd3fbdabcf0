"""How far ahead a score must be for a weight, among n keys of a spread, at a temperature."""

import math

import numpy as np
import torch

from answers import right, wrong


def ahead(n, spread, weight, temperature):
    log_odds = math.log(weight) - math.log1p(-weight)
    return temperature * (math.log(n - 1) + log_odds + (spread / temperature) ** 2 / 2)


@right
def halving_in_samples(n, spread, weight, temperature):
    others = (spread / temperature * torch.randn(300, n - 1)).logsumexp(-1)
    low, high = -100.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        less = (middle / temperature - others).sigmoid().mean() < weight
        low, high = (middle, high) if less else (low, middle)
    return middle


right(ahead, "in another order")
right(lambda n, s, w, t: np.float32(ahead(n, s, w, t)), "NumPy's number")
right(lambda n, s, w, t: torch.tensor(ahead(n, s, w, t)), "a tensor")
right(
    lambda n, s, w, t: (
        t * (torch.logit(torch.tensor(w, dtype=torch.float64)) + math.log(n - 1)) + s**2 / 2 / t
    ),
    "the logit",
)

wrong("the spread of their scores counts")(lambda n, s, w, t: ahead(n, 0, w, t), "no spread")
wrong("The variance comes in whole.")(
    lambda n, s, w, t: ahead(n, s, w, t) + s**2 / t / 2, "the whole variance"
)
wrong("It takes the spread where the variance belongs")(
    lambda n, s, w, t: ahead(n, math.sqrt(s), w, t), "the spread for the variance"
)
wrong("of the weight")(lambda n, s, w, t: ahead(n, 0, w, t) + s / t, "the spread over the temperature")
wrong("The weight's odds are missing")(lambda n, s, w, t: t * math.log(n - 1) + s**2 / t / 2, "no odds")
wrong("It takes ln w.")(lambda n, s, w, t: t * math.log((n - 1) * w) + s**2 / (2 * t), "ln w")
wrong("The odds are upside down")(
    lambda n, s, w, t: t * (math.log(n - 1) - math.log(w / (1 - w))) + s * s / 2 / t, "odds upside down"
)
wrong("There are n − 1.")(lambda n, s, w, t: t * math.log(n * w / (1 - w)) + s**2 / (2 * t), "n others")
wrong("The number of keys is missing")(
    lambda n, s, w, t: t * math.log(w / (1 - w)) + s**2 / (2 * t), "no number of keys"
)
wrong("of the weight")(lambda n, s, w, t: ahead(1000, s, w, t), "a thousand keys")
wrong("The temperature is forgotten")(
    lambda n, s, w, t: math.log((n - 1) * w / (1 - w)) + s**2 / 2, "no temperature"
)
wrong("That is s/T")(
    lambda n, s, w, t: math.log((n - 1) * w / (1 - w)) + (s / t) ** 2 / 2, "what the softmax gets"
)
wrong("The others' spread is divided by it, too")(
    lambda n, s, w, t: t * (math.log((n - 1) * w / (1 - w)) + s**2 / 2), "the temperature outside"
)
wrong("one T below, not two")(
    lambda n, s, w, t: t * math.log((n - 1) * w / (1 - w)) + (s / t) ** 2 / 2, "one T too many below"
)
wrong("It divides by the temperature.")(
    lambda n, s, w, t: math.log((n - 1) * w / (1 - w)) / t + t * s**2 / 2, "divided by the temperature"
)
wrong("take natural logarithms")(
    lambda n, s, w, t: t * math.log((n - 1) * w / (1 - w), 2) + s**2 / (2 * t), "logarithms of base 2"
)
wrong("take natural logarithms")(
    lambda n, s, w, t: t * math.log10((n - 1) * w / (1 - w)) + s**2 / (2 * t), "logarithms of base 10"
)
wrong("of the weight")(
    lambda n, s, w, t: s * math.sqrt(2 * math.log(n)) + t * math.log(w / (1 - w)), "the largest of the others"
)
wrong("of the weight")(
    lambda n, s, w, t: ahead(n, s if t == 1 else 0, w, t), "the spread at temperature 1 alone"
)
wrong("of the weight")(lambda n, s, w, t: ahead(n, s, w, t) + 0.5 * t, "half a nat too far")
wrong("It never goes below 0")(
    lambda n, s, w, t: ahead(n, s, w, t) if w > 1 / n and ahead(n, s, w, t) > 0 else 0.0, "never behind"
)
wrong("lacks its temperature")(
    lambda n, s, w, t: t * math.log((n - 1) * w / (1 - w)) + 0.5 * s**2, "the variance at temperature 1"
)
wrong("of the weight")(lambda n, s, w, t: round(ahead(n, s, w, t)), "rounded")
wrong("of the weight")(lambda n, s, w, t: 6.9, "always 6.9")
wrong("nan")(lambda n, s, w, t: math.nan, "NaN")
wrong("inf")(lambda n, s, w, t: math.inf, "infinite")
wrong("should be a number")(lambda n, s, w, t: f"{ahead(n, s, w, t):.2f}", "text")
wrong("should be a number")(lambda n, s, w, t: (ahead(n, s, w, t),), "a tuple")
