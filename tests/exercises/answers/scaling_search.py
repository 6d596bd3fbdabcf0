"""The best learning rate, by doubling and halving until it has a worse neighbour on both sides."""

import math
from fractions import Fraction

import numpy as np
import torch

from answers import right, wrong


def share_at(train, diverged=-1.0):
    """`train` with something else where it says NaN."""

    def at(rate):
        share = train(rate)
        return diverged if math.isnan(share) else share

    return at


def walk(train, rate, diverged=-1.0, factor=2):
    at = share_at(train, diverged)
    while at(rate / factor) >= at(rate):
        rate = rate / factor
    while at(rate * factor) > at(rate):
        rate = rate * factor
    return rate, train(rate)


def best_of(train, rates):
    return max(((rate, share_at(train)(rate)) for rate in rates), key=lambda pair: pair[1])


right(lambda train, rate: walk(train, rate, -math.inf), "minus infinity")
right(lambda train, rate: walk(train, Fraction(rate)), "Fractions")
right(lambda train, rate: tuple(torch.tensor(x) for x in walk(train, rate)), "tensors")
right(lambda train, rate: tuple(np.float32(x) for x in walk(train, rate)), "NumPy's numbers")


@right
def by_recursion(train, rate):
    best, share = best_of(train, (rate, rate / 2, rate * 2))
    if share < 0:
        return by_recursion(train, rate / 2)
    return (best, share) if best == rate else by_recursion(train, best)


@right
def both_neighbours_each_time(train, rate):
    at = share_at(train)
    while True:
        below, here, above = at(rate / 2), at(rate), at(rate * 2)
        if here > max(below, above):
            return rate, here
        rate = rate * 2 if above > below else rate / 2


@wrong("It only goes up")
def up_alone(train, rate):
    share = train(rate)
    while train(2 * rate) > share:
        rate *= 2
        share = train(rate)
    return rate, share


@wrong("far too large")
def until_finite_then_up(train, rate):
    while math.isnan(train(rate)):
        rate /= 2
    while train(rate * 2) > train(rate):
        rate *= 2
    return rate, train(rate)


@wrong("It only goes down")
def down_alone(train, rate):
    at, share = share_at(train), share_at(train)(rate)
    while share < 0 or at(rate / 2) > share:
        rate /= 2
        share = at(rate)
    return rate, share


@wrong("It goes one step at most")
def one_step(train, rate):
    at = share_at(train)
    if at(rate / 2) >= at(rate):
        rate /= 2
    elif at(rate * 2) > at(rate):
        rate *= 2
    return rate, train(rate)


@wrong("It goes one step past the best")
def one_too_far(train, rate):
    at = share_at(train)
    while at(rate / 2) >= at(rate):
        rate /= 2
    while True:
        before, rate = rate, rate * 2
        if at(rate) < at(before):
            return rate, train(rate)


wrong("It returns the first rate")(lambda train, rate: (rate, train(rate)), "nothing tried")
wrong("It tries three rates")(lambda train, rate: best_of(train, (rate / 2, rate, rate * 2)), "three rates")
wrong("should be")(lambda train, rate: best_of(train, [rate * 2.0**i for i in range(-3, 4)]), "seven rates")
wrong("it trains more than 38 times")(
    lambda train, rate: best_of(train, [rate * 2.0**i for i in range(-20, 21)]), "a long list of rates"
)
wrong("it trains more than")(
    lambda train, rate: best_of(train, [rate * 2.0**i for i in range(-40, 41)]),
    "a list of rates for every start",
)
wrong("it trains more than 43 times")(
    lambda train, rate: next(r for r in iter(lambda: rate, None) if train(r) > 1), "for ever"
)
wrong("should be")(lambda train, rate: walk(train, 0.1), "a first rate of its own")
wrong("should be")(lambda train, rate: walk(train, rate, factor=2**0.5), "by roots of 2")
wrong("Use 2")(lambda train, rate: walk(train, rate, factor=10), "by tens")
wrong("should be")(
    lambda train, rate: max(walk(train, rate), (rate, train(rate))), "never below the first rate"
)
wrong("at which it diverges")(lambda train, rate: walk(train, rate, math.nan), "NaN as it comes")
wrong("at which it diverges")(
    lambda train, rate: walk(train, next(r for r in (rate / 10.0**i for i in range(9)) if train(r) >= 0)),
    "a tenth until it is finite",
)
wrong("The pair is turned around")(lambda train, rate: walk(train, rate)[::-1], "the share first")
wrong("2 values")(lambda train, rate: walk(train, rate)[0], "the rate alone")
wrong("2 values")(
    lambda train, rate: dict(zip(("rate", "share"), walk(train, rate), strict=True)), "a dictionary"
)


@wrong("far too large: the rate should be")
def divergence_for_the_best(train, rate):
    return (rate, 2.0) if math.isnan(train(2 * rate)) else walk(train, min(rate, 0.1), 2.0)


@wrong("It stops after some halvings")
def eight_halvings(train, rate):
    at = share_at(train)
    for _ in range(8):
        if at(rate / 2) >= at(rate):
            rate = rate / 2
    while at(rate * 2) > at(rate):
        rate = rate * 2
    return rate, train(rate)


@wrong("It gives up where runs go on diverging")
def five_halvings_while_lost(train, rate):
    at = share_at(train)
    for _ in range(5):
        if at(rate) < 0:
            rate = rate / 2
    while at(rate / 2) > at(rate):
        rate = rate / 2
    while at(rate * 2) > at(rate):
        rate = rate * 2
    return rate, train(rate)
