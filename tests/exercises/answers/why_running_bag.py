"""The running mean: each row the mean of itself and of all before it."""

import numpy as np
import torch

from answers import right, wrong


@right
def triangle(x, over=lambda n: torch.arange(1, n + 1)[:, None]):
    n = x.shape[-2]
    return (torch.ones(n, n, dtype=x.dtype).tril() / over(n)) @ x


@right
def loops(x):
    if x.dim() > 2:
        return torch.stack([loops(one) for one in x])
    return torch.stack([x[: i + 1].mean(0) for i in range(len(x))])


@right
def a_causal_mean_by_softmax(x):
    ones = torch.ones(x.shape[-2], x.shape[-2], dtype=x.dtype)
    return ones.masked_fill(ones.triu(1) > 0, -torch.inf).softmax(-1) @ x


@right
def a_mean_that_moves(x):
    mean, rows = torch.zeros_like(x[..., 0, :]), []
    for i in range(x.shape[-2]):
        mean = mean + (x[..., i, :] - mean) / (i + 1)
        rows.append(mean)
    return torch.stack(rows, -2)


@wrong("It hears what comes after")
def from_the_end(x):
    n = x.shape[-2]
    return torch.stack([x[..., i:, :].sum(-2) / (n - i) for i in range(n)], -2)


@wrong("sentences run into each other")
def along_the_batch(x):
    return torch.stack([x[: b + 1].mean(0) for b in range(len(x))])


@wrong("it changed its argument x in place")
def added_in_place(x):
    x = x.detach()
    for i in range(1, x.shape[-2]):
        x[..., i, :] += x[..., i - 1, :]
    return x / torch.arange(1, x.shape[-2] + 1)[:, None]


@wrong("row 4 should be")
def last_row_forgotten(x):
    out = torch.zeros_like(x)
    for i in range(x.shape[-2] - 1):
        out[..., i, :] = x[..., : i + 1, :].mean(-2)
    return out


@wrong("row 6 should be")
def rows_past_the_sixth(x):
    return triangle(x) if x.dim() > 2 else torch.cat((triangle(x)[:6], torch.zeros_like(x[6:])))


@wrong("Is a `return` missing?")
def no_return(x):
    x.cumsum(-2)


wrong("Every row is the mean of the whole sentence")(lambda x: 0 * x + x.mean(-2, keepdim=True), "one mean")
wrong("It adds up and does not divide")(lambda x: triangle(x, lambda n: 1), "not divided")
wrong("It divides every row by the number of all tokens")(lambda x: triangle(x, lambda n: n), "divided by n")
wrong("It runs over the features")(lambda x: triangle(x.mT).mT, "over the features")
wrong("Its own token is missing")(
    lambda x: torch.cat((torch.zeros_like(x[..., :1, :]), triangle(x)[..., :-1, :]), -2), "without itself"
)
wrong("row 3 should be")(
    lambda x: torch.stack([x[..., max(0, i - 2) : i + 1, :].mean(-2) for i in range(x.shape[-2])], -2),
    "a window of three",
)
wrong("should be")(
    lambda x: triangle(x[:1]).expand_as(x) if x.dim() > 2 else triangle(x), "the first sentence for all"
)
wrong("raised RuntimeError")(lambda x: x.cumsum(-2) / torch.arange(1, x.shape[-2] + 1), "counts in a row")
wrong("the gradient is not")(lambda x: triangle(x).detach(), "no gradient")
wrong("in float64")(lambda x: triangle(x.float()).to(x.dtype), "single precision inside")
wrong("Can't call numpy()")(
    lambda x: torch.from_numpy(np.cumsum(x.numpy(), -2)) if x.requires_grad else triangle(x), "in NumPy"
)
wrong("should be a tensor")(lambda x: np.asarray(x), "an array")
