"""Weights from scores of unit variance, whatever the widths."""

import math

import torch
from torch.nn.functional import scaled_dot_product_attention

from answers import right, wrong


def weights(x, w_q, w_k, divisor, softmax=lambda s: s.softmax(-1)):
    return softmax((x @ w_q) @ (x @ w_k).transpose(-2, -1) / divisor)


def over(divisor):
    """A divisor that follows from d_model and d_k."""
    return lambda x, w_q, w_k: weights(x, w_q, w_k, divisor(*w_q.shape))


def unit(m, k):
    return m * math.sqrt(k)


def with_softmax(softmax):
    return lambda x, w_q, w_k: weights(x, w_q, w_k, unit(*w_q.shape), softmax)


def over_spread(spread):
    """A divisor that is measured on queries, keys and scores."""
    return lambda x, w_q, w_k: weights(x, w_q, w_k, spread(x @ w_q, x @ w_k, (x @ w_q) @ (x @ w_k).mT))


@right
def loops(x, w_q, w_k):
    if x.dim() > 2:
        return torch.stack([loops(one, w_q, w_k) for one in x])
    queries, keys = [one @ w_q for one in x], [one @ w_k for one in x]
    rows = [torch.stack([q @ k for k in keys]) / unit(*w_q.shape) for q in queries]
    return torch.stack([row.exp() / row.exp().sum() for row in (row - row.max() for row in rows)])


@right
def torchs_own_attention(x, w_q, w_k):
    n = x.shape[-2]
    one_hot = torch.eye(n, dtype=x.dtype).expand(*x.shape[:-1], n)
    return scaled_dot_product_attention(x @ w_q, x @ w_k, one_hot, scale=1 / unit(*w_q.shape))


right(
    lambda x, q, k: weights(x, q / len(q) ** 0.5, k / len(k) ** 0.5, q.shape[1] ** 0.5),
    "matrices scaled before",
)
right(
    lambda x, q, k: (torch.einsum("...im,mk,nk,...jn->...ij", x, q, k, x) / unit(*q.shape)).softmax(-1),
    "one product of four",
)
# A tensor as divisor has whatever dtype is the notebook's default.
right(over(lambda m, k: m * torch.sqrt(torch.tensor(k))), "the root of a tensor")
right(over(lambda m, k: m * torch.tensor(k) ** 0.5), "a tensor to the power of a half")
wrong("in float64")(over(lambda m, k: m * torch.tensor(k, dtype=torch.float32).sqrt()), "a root in float32")

wrong("The scores are not scaled")(over(lambda m, k: 1), "no scale")
wrong("It divides by the root of d_k alone")(over(lambda m, k: math.sqrt(k)), "the projections forgotten")
wrong("It divides by d_k alone")(over(lambda m, k: float(k)), "d_k")
wrong("It divides by d_model alone")(over(lambda m, k: float(m)), "d_model")
wrong("It divides by the root of d_model alone")(over(lambda m, k: math.sqrt(m)), "the root of d_model")
wrong("It divides by d_model · d_k")(over(lambda m, k: m * k), "d_k for its root")
wrong("It divides by the root of d_model · d_k")(over(lambda m, k: math.sqrt(m * k)), "one root of both")
wrong("d_model and d_k have changed places")(over(lambda m, k: unit(k, m)), "widths exchanged")
wrong("It uses d_model where d_k belongs")(over(lambda m, k: unit(m, m)), "d_model for d_k")
wrong("It divides by the variance of the scores")(over(lambda m, k: unit(m, k) ** 2), "the variance")
wrong("It multiplies by the standard deviation")(over(lambda m, k: unit(m, k) ** -1), "multiplied")
wrong("row 0 should be")(over(lambda m, k: unit(6, 3)), "6 and 3")
wrong("row 0 should be")(over(lambda m, k: unit(2, k**3)), "2 for the root of d_model")
wrong("should be")(over(lambda m, k: unit(m, 64)), "width 64")
wrong("number of tokens")(
    lambda x, q, k: weights(x, q, k, unit(x.shape[-2], q.shape[1])), "the number of tokens"
)
wrong("must not depend on the data")(over_spread(lambda q, k, s: s.std()), "the spread of all scores")
wrong("the spread of these very scores")(
    over_spread(lambda q, k, s: s.std(dim=-1, keepdim=True)), "the spread of a row"
)
wrong("the spread of these very queries and keys")(
    over_spread(lambda q, k, s: q.std() * k.std() * q.shape[-1] ** 0.5), "the spread of queries and keys"
)
wrong("Those are cosines")(
    over_spread(lambda q, k, s: q.norm(dim=-1)[..., None] * k.norm(dim=-1)[..., None, :]), "cosines"
)
wrong("Queries and keys have changed places")(
    lambda x, q, k: weights(x, k, q, unit(*q.shape)), "queries for keys"
)

wrong("The scale comes after the softmax")(
    lambda x, q, k: weights(x, q, k, 1) / unit(*q.shape), "scaled after the softmax"
)
wrong("The softmax runs down the columns")(with_softmax(lambda s: s.mT.softmax(-1).mT), "down the columns")
wrong("With a batch, dim=1 is another axis")(with_softmax(lambda s: s.softmax(1)), "dim=1")
wrong("There is no softmax")(with_softmax(lambda s: s), "no softmax")
wrong("should be")(
    with_softmax(lambda s: (s - s.diagonal(dim1=-2, dim2=-1)[..., None, :]).softmax(-1)),
    "its own score taken off",
)
wrong("should be")(with_softmax(lambda s: s.softmax(-1).mul(1000).round() / 1000), "rounded")


@wrong("right without a batch alone")
def matrices_alone(x, w_q, w_k):
    return torch.mm(torch.mm(x, w_q), torch.mm(x, w_k).t()).div(unit(*w_q.shape)).softmax(-1)


@wrong("right with one batch axis alone")
def one_batch_axis(x, w_q, w_k):
    return (torch.bmm(x @ w_q, (x @ w_k).mT) / unit(*w_q.shape)).softmax(-1)


@wrong("it raised")
def three_axes(x, w_q, w_k):
    return ((x @ w_q) @ (x @ w_k).permute(0, 2, 1) / unit(*w_q.shape)).softmax(-1)


@wrong("it changed its argument w_q in place")
def matrices_scaled_in_place(x, w_q, w_k):
    d_model, d_k = w_q.shape
    w_q /= d_model**0.5
    w_k /= d_model**0.5
    return weights(x, w_q, w_k, d_k**0.5)


@wrong("the gradient is not")
def half_of_the_gradient(x, w_q, w_k):
    keys = (x @ w_k).detach()
    return ((x @ w_q) @ keys.mT / unit(*w_q.shape)).softmax(-1)


@wrong("in float64")
def single_precision_inside(x, w_q, w_k):
    return weights(x.float(), w_q.float(), w_k.float(), unit(*w_q.shape)).to(x.dtype)
