"""The softmax at the temperature at which so many words are heard."""

import math

import numpy as np
import torch

from answers import right, wrong


def words(p):
    return torch.special.entr(p).sum().exp()


def sought(count=words, low=-30.0, high=30.0, steps=100, row=lambda s, t: ((s - s.max()) / t).softmax(-1)):
    """Halve the range of the temperature's logarithm until `count` of the row is what was asked."""

    def hear(s, heard):
        cold, hot = low, high
        for _ in range(steps):
            middle = (cold + hot) / 2
            p = row(s, math.exp(middle))
            cold, hot = (middle, hot) if count(p) < heard else (cold, middle)
        return p

    return hear


@right
def doubled_until_too_hot(s, heard):
    s = s - s.mean()

    def row(t):
        return (s / t).softmax(-1)

    t = 1.0
    while words(row(t)) < heard:
        t *= 2
    while words(row(t)) > heard:
        t /= 2
    low, high = t, 2 * t
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if words(row(middle)) < heard else (low, middle)
    return row(high)


@right
def false_position_in_numpy(s, heard):
    numbers = np.asarray(s, dtype=np.float64)
    numbers = (numbers - numbers.max()) / np.ptp(numbers)

    def row(log_t):
        e = np.exp(numbers / math.exp(log_t))
        return e / e.sum()

    def gap(log_t):
        p = row(log_t)
        return -(p * np.log(np.maximum(p, 1e-300))).sum() - math.log(heard)

    cold, hot = -25.0, 25.0
    for i in range(200):  # with a halving whenever it stalls
        guess = (cold * gap(hot) - hot * gap(cold)) / (gap(hot) - gap(cold)) if i % 2 else (cold + hot) / 2
        cold, hot = (guess, hot) if gap(guess) < 0 else (cold, guess)
    return torch.tensor(row((cold + hot) / 2), dtype=s.dtype)


@right
def by_sharpness(s, heard):
    z, low, high = (s - s.max()).double(), 1e-15, 1e15
    for _ in range(200):
        middle = math.sqrt(low * high)
        p = (z * middle).softmax(-1)
        if -(p[p > 0] * p[p > 0].log()).sum() > math.log(heard):
            low = middle
        else:
            high = middle
    return p.to(s)


@right
def by_log_softmax(s, heard):
    z, log_t, step = s.double() - s.double().max(), 0.0, 32.0
    while step > 1e-12:
        log_p = (z / math.exp(log_t)).log_softmax(-1)
        log_t += step if (-(log_p.exp() * log_p).sum()).exp() < heard else -step
        step /= 2
    return log_p.exp().to(s)


@wrong("It gives the best `heard` words equal weights")
def the_best_few(s, heard):
    few = max(1, round(heard))
    return torch.tensor([1 / few if place < few else 0.0 for place in (-s).argsort().argsort()])


@wrong("should be")
def a_grid(s, heard):
    rows = [(s / t).softmax(-1) for t in torch.logspace(-8, 8, 800).tolist()]
    return min(rows, key=lambda p: (words(p) - heard).abs())


wrong("That is the softmax at temperature 1")(lambda s, heard: s.softmax(-1), "temperature 1")
wrong("It takes `heard` for the temperature")(
    lambda s, heard: (s / heard).softmax(-1), "heard as temperature"
)
wrong("should be")(lambda s, heard: (s / s.std()).softmax(-1), "standard scores")
wrong("The word that fits worst gets most")(sought(row=lambda s, t: (-s / t).softmax(-1)), "the sign turned")
wrong("It counts words as 1/Σp²")(sought(lambda p: 1 / (p @ p)), "one over the sum of squares")
wrong("It counts words as the power of 2")(sought(lambda p: 2 ** torch.special.entr(p).sum()), "bits")
wrong("It compares the entropy itself")(sought(lambda p: torch.special.entr(p).sum()), "the entropy itself")
wrong("it mixes the best word with all words")(
    sought(row=lambda s, t: (torch.eye(len(s))[s.argmax()] + t / len(s)) / (1 + t)),
    "the best and a share for all",
)
wrong("0 · ln 0 is NaN")(sought(lambda p: (-(p * p.log()).sum()).exp()), "entropy written out")
wrong("subtract the largest score first")(
    sought(row=lambda s, t: (s / t).softmax(-1)), "divided without subtracting"
)
right(sought(row=lambda s, t: (s.double() / t).softmax(-1).to(s)), "divided in double precision")
wrong("should be")(sought(steps=8), "a few steps")
wrong("should be")(sought(low=math.log(0.01), high=math.log(100)), "temperatures from 0.01 to 100")
wrong("one score far below the others")(
    lambda s, heard: sought(low=-4.0, high=4.0)((s - s.max()) / (s.max() - s.min()), heard),
    "divided by their range, then from e^-4 to e^4",
)
wrong("should be")(sought(low=0.0), "no temperature below 1")
wrong("should be")(lambda s, heard: sought()(s, 1 + (len(s) - 1) / 2), "half of the words, whatever is asked")
