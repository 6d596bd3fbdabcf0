"""Queries and keys of width two, by which every place hears the one before it."""

import math

import numpy as np
import torch

from answers import right, wrong


def circle(length, reach=2 * math.pi, turn=1):
    """Arrows on a circle, or on a part of it; the query of a place is the key `turn` places before."""

    def before(n):
        keys = torch.view_as_real(torch.polar(torch.full((n,), length), reach * torch.arange(n) / n))
        return keys.roll(turn, 0), keys

    return before


@right
def parabola(n):
    """-(i - 1 - j)² is a product of two pairs, but for what all keys of a row share."""
    place = torch.arange(n, dtype=torch.float64)
    return 10 * torch.stack((2 * (place - 1), torch.ones(n)), -1), torch.stack((place, -(place**2)), -1)


right(circle(50.0), "complex arrows")
right(circle(300.0, reach=math.pi), "half a circle")
right(circle(1e6), "very long")
right(lambda n: list(circle(80.0)(n)), "a list")
right(lambda n: tuple((9 * x).round().long() for x in circle(80.0)(n)), "whole numbers")

wrong("hears the one after it")(circle(100.0, turn=-1), "the one after")
wrong("hears itself")(circle(100.0, turn=0), "itself")
wrong("place 1 should give at least 0.9 to place 0")(circle(100.0, turn=2), "two before")
wrong("and most, 1.000, to place 2")(lambda n: circle(100.0)(n)[::-1], "queries and keys exchanged")
wrong("The arrows are too short")(circle(1.0), "short")
wrong("With n = 20: place 1 should give at least 0.9 to place 0; it gives")(circle(6.0), "enough for eight")
wrong("With n = 50")(circle(20.0), "enough for twenty")
wrong("not a number")(circle(math.inf), "endless")
wrong("not a number")(circle(1e25), "products overflow")
wrong("With n = 37")(
    lambda n: circle(100.0)(n) if n in (1, 2, 3, 8, 20, 50) else 2 * [torch.zeros(n, 2)], "listed places"
)
wrong("With n = 20")(lambda n: circle(100.0)(n) if n < 9 else 2 * [torch.zeros(n, 2)], "eight places")


@wrong("With n = 3: place 1 should give at least 0.9 to place 0")
def on_a_line(n):
    keys = 10 * torch.stack((torch.arange(n).float(), torch.ones(n)), -1)
    return keys.roll(1, 0), keys


@wrong("should be a tensor of shape (3, 2), a row for each place; it is a tensor of shape (3, 4)")
def a_width_for_each_place(n):
    keys = 100 * torch.eye(n + 1)[:n]
    return keys.roll(1, 0), keys


wrong("a row for each place")(lambda n: (torch.ones(n, 1), torch.ones(n, 1)), "too narrow")
wrong("it is a tensor of shape (2, 3)")(lambda n: tuple(x.T for x in circle(80.0)(n)), "arrows turned")
wrong("should be a tensor")(lambda n: (np.ones((n, 2)), np.ones((n, 2))), "arrays")
wrong("should return two matrices; it returned a tensor of shape (3, 2)")(
    lambda n: torch.zeros(n, 2), "one matrix"
)
