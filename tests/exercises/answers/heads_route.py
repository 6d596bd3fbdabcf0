"""Two heads, by hand, that put what they find where the query wants it."""

import math

import torch

from answers import right, wrong


def route(m, *, scale=1e4, dtype=torch.float32, w_q=None, w_o=None):
    place = torch.eye(m, dtype=dtype)
    w_k = torch.cat((torch.zeros(1, 2 * m, dtype=dtype), torch.cat((place, place), 1)))
    w_v = torch.cat((torch.ones(1, 2, dtype=dtype), torch.zeros(m, 2, dtype=dtype)))
    w_q = torch.block_diag(place, place) if w_q is None else w_q
    return scale * w_q, w_k, w_v, torch.eye(2, dtype=dtype) if w_o is None else w_o


def but(**changes):
    """Those matrices, some of them changed: `w_q=lambda w: …`."""

    def changed(m):
        names = ("w_q", "w_k", "w_v", "w_o")
        return tuple(changes.get(name, lambda w: w)(w) for name, w in zip(names, route(m), strict=True))

    return changed


def halves(first, second):
    """A diagonal of queries for the first half of the query and the second: what each head looks for."""
    return lambda m: route(m, w_q=torch.kron(torch.tensor([first, second]), torch.eye(m)))


@right
def keys_on_a_circle(m):
    """Two columns are enough for any number of places."""
    angle = torch.arange(m) * 2 * math.pi / m
    circle = torch.stack((angle.cos(), angle.sin()), -1)  # the nearest neighbour is 1 - cos(2π/m) below
    w_q = torch.block_diag(circle, circle) * 100 / (1 - math.cos(2 * math.pi / m))
    return w_q, torch.cat((torch.zeros(1, 4), torch.cat((circle, circle), 1))), *route(m)[2:]


@right
def keys_on_a_line(m):
    """Place p as (p, p²): the score 2ap − p² is largest at p = a."""
    p, w_q, w_k = torch.arange(m) + 0.0, torch.zeros(2 * m, 4), torch.zeros(1 + m, 4)
    w_q[:m, :2] = w_q[m:, 2:] = 100 * torch.stack((2 * p, -torch.ones(m)), -1)
    w_k[1:] = torch.stack((p, p * p, p, p * p), -1)
    return w_q, w_k, *route(m)[2:]


@right
def the_whole_token_as_value(m):
    """The output matrix reads the number."""
    w_o = torch.zeros(2 * (1 + m), 2)
    w_o[0, 0] = w_o[1 + m, 1] = 1
    return *route(m)[:2], torch.eye(1 + m).repeat(1, 2), w_o


@right
def heads_exchanged(m):
    """Head 1 answers the second question and writes into the second number."""
    w_q, w_k, w_v, w_o = route(m)
    return w_q.roll(m, 0), w_k, w_v, w_o.flip(0)


right(lambda m: route(m, scale=100 * m**0.5), "as large as the root takes")
right(but(w_q=lambda w: w / 1e4, w_k=lambda w: w * 1e4), "large in the keys")
right(but(w_k=lambda w: w + (torch.arange(len(w)) > 0)[:, None]), "a constant in the scores")
right(lambda m: route(m, dtype=torch.float64), "double precision")
right(lambda m: list(route(m)), "a list of matrices")

# Where the heads look.
wrong("Both heads look at the place that is asked for first")(
    halves([1.0, 1.0], [0.0, 0.0]), "the first twice"
)
wrong("Both heads look at the place that is asked for second")(
    halves([0.0, 0.0], [1.0, 1.0]), "the second twice"
)
wrong("not 0 and 1")(lambda m: route(m, scale=10.0), "not sharp")
wrong("With 150 places")(lambda m: route(m, scale=100.0), "sharp for a hundred places")
wrong("should be")(lambda m: route(m, scale=3.0 * m**0.5), "nearly sharp")
wrong("The queries are a bare identity")(but(w_q=lambda w: torch.eye(len(w))), "a bare identity")
wrong("the scores have the wrong sign")(but(w_k=torch.neg), "the farthest place")
wrong("Every token gets the same weight")(but(w_q=torch.zeros_like), "no queries")
wrong("The numbers that the tokens hold enter the scores")(
    but(w_k=lambda w: w.where(w.any(-1, keepdim=True), 1.0)), "numbers in the keys"
)
wrong("should be")(
    but(w_k=lambda w: w + 0.2 * ~w.any(-1, keepdim=True)), "a fifth of the numbers in the keys"
)
wrong("should be")(but(w_q=lambda w: w * math.inf), "not finite")
wrong("With twelve places")(lambda m: {k: route(k) for k in (2, 3, 5, 9)}.get(m), "a table of four")
wrong("the rows of w_k without the first")(lambda m: route(min(m, 5)), "places up to five")
wrong("the rows of w_k without the first")(lambda m: route(2), "two places")

# What they answer.
wrong("The two numbers are exchanged")(but(w_o=lambda w: w.flip(0)), "numbers exchanged")
wrong("Both heads write into the first number")(
    but(w_o=lambda w: torch.tensor([[1.0, 0.0], [1.0, 0.0]])), "both into the first"
)
wrong("Each number is halved")(but(w_v=lambda w: w / 2), "halved")
wrong("should be")(but(w_o=lambda w: torch.full((2, 2), 0.5)), "the mean of both")
wrong("should be")(but(w_v=torch.ones_like), "values see the place")

# In which form.
wrong("should return four matrices")(lambda m: None, "nothing")
wrong("should return four matrices")(lambda m: route(m)[:3], "three matrices")
wrong("should be a matrix of floating numbers")(lambda m: tuple(w.tolist() for w in route(m)), "lists")
wrong("it is (4, 4) of int64")(lambda m: tuple(w.long() for w in route(m)), "whole numbers")
wrong("w_q should have a row for each number of a query")(but(w_q=lambda w: w[:-1]), "w_q a row short")
wrong("w_v should have a row for each number of a token")(but(w_v=lambda w: w.T), "w_v transposed")
wrong("w_o should have two columns")(but(w_o=lambda w: torch.ones(2, 3)), "w_o three wide")
wrong("w_o should have two columns")(lambda m: tuple(w[..., :1] for w in route(m)), "one column for both")
wrong("their number should be even")(
    but(
        w_q=lambda w: w[:, 1:], w_k=lambda w: w[:, 1:], w_v=lambda w: w[:, :1], w_o=lambda w: torch.ones(1, 2)
    ),
    "one head",
)
