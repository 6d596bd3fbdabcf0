"""A test of a function: does it treat all tokens alike, whatever their order?"""

import itertools

import numpy as np
import torch

from answers import right, wrong


def orders(n, many=10):
    return [torch.randperm(n) for _ in range(many)]


def close(a, b, off=1e-5):
    return bool(((a - b).abs() < off).all())


def asks(agree, orders=orders):
    """`agree` takes the output for tokens in another order, the output, and that order."""
    return lambda f, x: all(bool(agree(f(x[p]), f(x), p)) for p in orders(len(x)))


def rolls(n):
    return [torch.arange(n).roll(k) for k in range(1, n)]


def turned_around(n):
    return [torch.arange(n).flip(0)]


def exchanges(n, pairs=lambda n: itertools.combinations(range(n), 2)):
    out = []
    for i, j in pairs(n):
        order = torch.arange(n)
        order[[i, j]] = order[[j, i]]
        out.append(order)
    return out


def row_by_row(got, out, p):
    return close(got, out[p])


def rings(n):
    """Three neighbours in a ring, one place on: even orders, all of which come of these."""
    out = []
    for i in range(n - 2):
        order = torch.arange(n)
        order[i : i + 3] = order[i : i + 3].roll(1)
        out.append(order)
    return out


right(asks(row_by_row), "ten orders")
right(asks(lambda got, out, p: close(got[p.argsort()], out)), "put back in order")
right(
    asks(row_by_row, lambda n: [torch.tensor(np.random.default_rng(i).permutation(n)) for i in range(12)]),
    "NumPy's orders",
)
right(
    lambda f, x: np.all([np.allclose(f(x[p]), f(x)[p], rtol=0, atol=1e-5) for p in orders(len(x))]),
    "NumPy's truth",
)
right(
    lambda f, x: torch.stack([(f(x[p]) - f(x)[p]).abs().max() < 1e-5 for p in orders(len(x))]).all(),
    "a tensor's truth",
)


@right
def by_matrices(f, x):
    eye = torch.eye(len(x))
    return all(torch.allclose(f(eye[p] @ x), eye[p] @ f(x), rtol=0, atol=1e-5) for p in orders(len(x)))


@wrong("It takes invariance, f(PX) = f(X), as well")
def invariance_as_well(f, x):
    for order in orders(len(x), 5):
        got = f(x[order])
        if not (close(got, f(x)) or close(got, f(x)[order])):
            return False
    return True


@wrong("It permutes columns. Permute rows (tokens).")
def columns(f, x):
    return all(torch.allclose(f(x[:, p]), f(x)[:, p], atol=1e-5) for p in orders(x.shape[1]))


@wrong("only where all rows of the output are alike")
def two_orders_that_know_nothing_of_each_other(f, x):
    return close(f(x[torch.randperm(len(x))]), f(x)[torch.randperm(len(x))])


@wrong("should be False, it is True")
def any_order(f, x):
    return any(close(f(x[p]), f(x)[p]) for p in [torch.arange(len(x)), *orders(len(x))])


@wrong("it changed its argument x in place")
def the_argument_shuffled(f, x):
    out, order = f(x), torch.randperm(len(x))
    return close(out[order], f(x.copy_(x[order].clone())))


@wrong("It says the opposite")
def whether_the_order_matters(f, x):
    return any(not close(f(x[p]), f(x)[p]) for p in orders(len(x)))


wrong("If it tries an order, it is the one given")(
    asks(row_by_row, lambda n: [torch.arange(n)]), "the given order"
)
wrong("one can be unlucky")(asks(row_by_row, lambda n: orders(n, 1)), "one order")
wrong("It tries one order, turned around")(asks(row_by_row, turned_around), "turned around")
wrong("It only rolls the rows")(asks(row_by_row, rolls), "rolls")
wrong("each row plus its neighbours on a ring")(
    asks(row_by_row, lambda n: rolls(n) + turned_around(n)), "rolls and turning around"
)
wrong("It only exchanges the first two rows")(
    asks(row_by_row, lambda n: exchanges(n, lambda n: [(0, 1)])), "the first two exchanged"
)
wrong("more than three rows have moved")(
    asks(row_by_row, lambda n: exchanges(n, lambda n: itertools.pairwise(range(n)))),
    "exchanges of neighbours",
)
wrong("more than three rows have moved")(asks(row_by_row, exchanges), "all exchanges of two")
wrong("which is invariance")(asks(lambda got, out, p: close(got, out), lambda n: orders(n, 1)), "invariance")
wrong("f(x)[order] goes with x[order]")(
    asks(lambda got, out, p: close(got, out[p.argsort()])), "the order back"
)
wrong("compare with a tolerance")(
    asks(lambda got, out, p: got.equal(out[p]), lambda n: orders(n, 1)), "to the last bit"
)
wrong("too little rounding")(asks(lambda got, out, p: close(got, out[p], 1e-9)), "too tight")
wrong("The tolerance is too wide")(asks(lambda got, out, p: close(got, out[p], 9e-3)), "a wide tolerance")
wrong("too wide")(asks(lambda got, out, p: got.allclose(out[p], 1e-2, 1e-5)), "a hundredth of each number")
wrong("unless rtol=0")(asks(lambda got, out, p: got.allclose(out[p], atol=1e-5)), "torch's own relative part")
wrong("unless rtol=0")(
    asks(lambda got, out, p: np.allclose(out[p], got, atol=1e-5)), "NumPy's own relative part"
)
wrong("two orders of which all others can be made")(
    asks(row_by_row, lambda n: [torch.tensor([1, 0, *range(2, n)]), torch.arange(n).roll(1)]),
    "two orders that make all",
)
wrong("two orders of which all others can be made")(
    asks(row_by_row, lambda n: [torch.tensor([1, 0, *range(2, n)]), torch.arange(n).roll(-1)]),
    "two orders that make all, the other way round",
)
wrong("a tolerance that is absolute")(
    asks(lambda got, out, p: got.allclose(out[p]), lambda n: orders(n, 20)),
    "a tolerance that is relative alone",
)
wrong("It compares the mean of all differences")(
    asks(lambda got, out, p: (out[p] - got).abs().mean() < 1e-5), "the mean difference"
)
wrong("It compares sums")(asks(lambda got, out, p: close(got.sum(0), out.sum(0), 1e-4)), "sums")
wrong("It compares sorted rows")(
    asks(lambda got, out, p: close(got.sort(0).values, out.sort(0).values)), "sorted rows"
)
wrong("should be")(asks(lambda got, out, p: close(got.mean(), out.mean()), lambda n: orders(n, 1)), "means")
wrong("which way they point")(
    asks(lambda got, out, p: close(got.norm(dim=-1), out[p].norm(dim=-1))), "lengths of rows"
)
wrong("Compare all columns")(asks(lambda got, out, p: close(got[:, 0], out[p][:, 0])), "the first column")
wrong("should be False")(asks(lambda got, out, p: (got - out[p]).max() < 1e-5), "differences with their sign")
wrong("a last row that is not a number")(
    asks(lambda got, out, p: not ((got - out[p]).abs() > 1e-5).any()), "no difference seen"
)
wrong("takes a NaN for equal to a NaN")(
    asks(lambda got, out, p: got.allclose(out[p], 0, 1e-5, equal_nan=True)), "NaN equal to NaN"
)
wrong("more than three rows have moved")(asks(row_by_row, rings), "rings of three")
wrong("moves the last row of the output alone")(
    asks(lambda got, out, p: close(got[0], out[p][0])), "the first row"
)
wrong("moves the last row of the output alone")(
    asks(lambda got, out, p: close(got[:-1], out[p][:-1])), "not the last row"
)
wrong("moves the first row of the output alone")(
    asks(lambda got, out, p: close(got[-1], out[p][-1])), "the last row"
)
wrong("moves the 31st row of the output alone")(
    asks(lambda got, out, p: close(got[[0, -1]], out[p][[0, -1]])), "the first row and the last"
)
wrong("some number is above 50")(lambda f, x: asks(row_by_row)(f, torch.randn_like(x)), "an input of its own")
wrong("should be")(lambda f, x: asks(row_by_row)(f, torch.zeros_like(x)), "zeros for an input")
wrong("should be True or False")(
    lambda f, x: torch.stack([f(x[p]) == f(x)[p] for p in orders(len(x))]), "a tensor of truths"
)
wrong("should be True or False")(
    lambda f, x: max(float((f(x[p]) - f(x)[p]).abs().max()) for p in orders(len(x))), "the largest difference"
)
wrong("It says False whatever the function does")(
    lambda f, x: f(x[torch.randperm(len(x))]) is f(x), "the same object"
)
