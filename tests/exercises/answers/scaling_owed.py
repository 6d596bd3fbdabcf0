"""The variance of a matrix of scores: the query's part, the key's, the pair's."""

import numpy as np
import torch

from answers import right, wrong


def variance(part):
    return part.var((-2, -1), correction=0)


def parts(s):
    rows, columns = s.mean(-1, keepdim=True), s.mean(-2, keepdim=True)
    return rows, columns, s - rows - columns


def split(of=lambda rows, columns, pair: (rows, columns, pair), measure=variance):
    """Measure three matrices that are made `of` the three parts, the mean of the matrix in each."""
    return lambda s: torch.stack([measure(part) for part in of(*parts(s))])


@right
def loops(s):
    if s.dim() > 2:
        return torch.stack([loops(one) for one in s], 1)
    n_q, n_k = s.shape
    mean = s.sum() / s.numel()
    query = [row.sum() / n_k - mean for row in s]
    key = torch.stack([column.sum() / n_q - mean for column in s.T])
    pair = sum(((row - q - key - mean) ** 2).sum() for row, q in zip(s, query, strict=True))
    return torch.stack((sum(x**2 for x in query) / n_q, sum(x**2 for x in key) / n_k, pair / (n_q * n_k)))


@right
def by_subtraction(s):
    query, key = s.mean(-1).var(-1, correction=0), s.mean(-2).var(-1, correction=0)
    return torch.stack((query, key, variance(s) - query - key))


@right
def einsum(s):
    rows = torch.einsum("...ij->...i", s)[..., None] / s.shape[-1]
    return torch.stack([variance(part) for part in (rows, *parts(s)[1:])])


wrong("have changed places")(split(lambda r, c, pair: (c, r, pair)), "the key first")
wrong("The three are there in another order")(split(lambda r, c, pair: (pair, r, c)), "the pair first")
wrong("should have shape (3,), it has (2,)")(split(lambda r, c, pair: (r, c)), "two of three")
wrong("The pair keeps the query's part")(
    split(lambda r, c, pair: (r, c, pair + r)), "the pair with the query"
)
wrong("The pair keeps the key's part")(split(lambda r, c, pair: (r, c, pair + c)), "the pair with the key")
wrong("For the pair it returns the variance of the whole matrix")(
    split(lambda r, c, pair: (r, c, r + c + pair)), "the whole for the pair"
)
wrong("For query and key it takes what is left")(
    split(lambda r, c, pair: (c + pair, r + pair, pair)), "what is left in rows and columns"
)
wrong("It divides by one less")(split(measure=lambda part: part.var((-2, -1))), "sample variances")
wrong("These are standard deviations")(
    split(measure=lambda part: part.std((-2, -1), correction=0)), "standard deviations"
)
wrong("The parts still have the mean of the matrix")(
    split(measure=lambda part: (part * part).mean((-2, -1))), "mean squares"
)


@wrong("These are mean squares. A variance is taken")
def mean_squares_of_rows_and_columns(s):
    rows, columns, pair = parts(s)
    pair = pair + s.mean((-2, -1), keepdim=True)
    return torch.stack([(part**2).mean((-2, -1)) for part in (rows, columns, pair)])


wrong("These are shares")(lambda s: split()(s) / variance(s), "shares")
wrong("should have shape (3, 2)")(split(measure=lambda part: part.var(correction=0)), "one matrix for all")
wrong("shape")(lambda s: split()(s[(0,) * (s.dim() - 2)]), "the first matrix alone")
wrong("should have shape")(lambda s: split()(s).movedim(0, -1), "stacked at the end")
wrong("should be a tensor")(lambda s: tuple(split()(s)), "a tuple")
wrong("gradient")(lambda s: split()(s.detach()), "no gradient")
wrong("float64")(lambda s: split()(s.float()).to(s.dtype), "single precision inside")
wrong("changed its argument")(lambda s: split()(s.sub_(s.mean())), "centred in place")


@wrong("It is right without a batch alone")
def axes_from_the_front(s):
    rows, columns = s.mean(1, keepdim=True), s.mean(0, keepdim=True)
    return torch.stack([variance(part) for part in (rows, columns, s - rows - columns)])


@wrong("should be")
def centred_on_the_first_query(s):
    rows = s.mean(-1, keepdim=True)
    columns = (s - rows)[..., :1, :]
    return torch.stack([variance(part) for part in (rows, columns, s - rows - columns)])


@wrong("should be")
def the_spread_of_rows(s):
    across, down = s.var(-1, correction=0).mean(-1), s.var(-2, correction=0).mean(-1)
    return torch.stack((across, down, variance(s)))


@wrong("should be")
def medians(s):
    return torch.stack([variance(part) for part in (s.median(-1, keepdim=True).values, *parts(s)[1:])])


@wrong("no gradient reaches s")
def in_numpy(s):
    s = s.detach().numpy()
    rows, columns = s.mean(-1, keepdims=True), s.mean(-2, keepdims=True)
    return torch.from_numpy(np.stack([part.var((-2, -1)) for part in (rows, columns, s - rows - columns)]))


@wrong("a mean of squares less the square of the mean")
def mean_of_squares_less_the_square(s):
    two = (-2, -1)
    return torch.stack([(part**2).mean(two) - part.mean(two) ** 2 for part in parts(s)])
