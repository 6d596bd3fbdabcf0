"""Features whose products are 1 + x·y + (x·y)²/2, whatever their order."""

import math

import torch
import torch.nn.functional as F

from answers import right, wrong


def table(x):
    return (x[..., :, None] * x[..., None, :]).flatten(-2)


def ones(x):
    return torch.ones_like(x[..., :1])


def powers(x, *, constant=1.0, half=0.5**0.5, squares=table):
    return torch.cat((constant * ones(x), x, half * squares(x)), -1)


right(lambda x: powers(x).roll(3, -1), "another order, the same in every call")
right(lambda x: -powers(x).flip(-1), "turned round")
right(lambda x: torch.cat((torch.full_like(x[..., :2], 0.5**0.5), powers(x)[..., 1:]), -1), "two halves of 1")
right(lambda x: F.pad(powers(x), (0, 3)), "zeros besides")
right(
    lambda x: torch.cat(
        (x[..., :1] * 0 + 1, torch.einsum("...i,...j->...ij", x, x).flatten(-2) / 2**0.5, x), -1
    ),
    "einsum",
)


@right
def half_of_the_table(x):
    """Each pair of entries once: what is off the diagonal counts twice."""
    i, j = torch.triu_indices(x.shape[-1], x.shape[-1])
    twice = torch.where(i == j, 2.0, 1.0).to(x.dtype).rsqrt()
    return torch.cat((x[..., i] * x[..., j] * twice, x, ones(x)), -1)


@right
def token_by_token(x):
    if x.dim() > 1:
        return torch.stack([token_by_token(one) for one in x])
    return torch.cat((torch.ones(1, dtype=x.dtype), x, torch.kron(x, x) / math.sqrt(2)))


@right
def the_square_of_one_and_x(x):
    y = torch.cat((ones(x), x), -1)
    return torch.cat((ones(x) * 0.5**0.5, table(y) / 2**0.5), -1)


@wrong("comes twice in the square of the sum")
def half_of_the_table_counted_once(x):
    i, j = torch.triu_indices(x.shape[-1], x.shape[-1])
    return powers(x, squares=lambda x: x[..., i] * x[..., j])


@wrong("should be")
def made_of_the_whole_text(x):
    """Right within it, and of no use beside another."""
    s = x @ x.mT
    values, vectors = torch.linalg.eigh(1 + s + s.square() / 2)
    return vectors * values.clamp(min=0).sqrt()[..., None, :]


@wrong("should be")
def a_rotation_for_each_call(x):
    found = powers(x)
    draw = torch.randn(found.shape[-1], found.shape[-1], dtype=torch.float64)
    return (found.double() @ torch.linalg.qr(draw)[0]).to(found.dtype)


wrong("should be")(lambda x: powers(x)[..., torch.randperm(powers(x).shape[-1])], "an order for each call")
wrong("The 1 is missing")(lambda x: powers(x)[..., 1:], "no constant")
wrong("The first power is missing")(lambda x: torch.cat((ones(x), table(x) / 2**0.5), -1), "no first power")
wrong("The second power is missing")(lambda x: torch.cat((ones(x), x), -1), "no second power")
wrong("There is a third power too")(
    lambda x: torch.cat(
        (powers(x), torch.einsum("...i,...j,...k->...ijk", x, x, x).flatten(-3) / 6**0.5), -1
    ),
    "the third power",
)
wrong("The square is not halved")(lambda x: powers(x, half=1.0), "no half")
wrong("The square is divided by 4")(lambda x: powers(x, half=0.5), "a half for each factor")
wrong("has mixed terms")(lambda x: powers(x, squares=torch.square), "squares alone")
wrong("as many ones as entries")(lambda x: torch.cat((x**0, x, table(x) / math.sqrt(2)), -1), "a row of ones")
wrong("nothing is divided by a root of d")(lambda x: powers(x / math.sqrt(math.sqrt(x.shape[-1]))), "scaled")
wrong("Put them side by side")(lambda x: 1 + x + x**2 / 2, "added up")
wrong("exponential of each entry")(lambda x: x.exp(), "exponentials")
wrong("Those are the weights")(lambda x: 1 + x @ x.mT + (x @ x.mT) ** 2 / 2, "weights")
wrong("should be")(lambda x: powers(x, constant=2.0), "the 1 doubled")
wrong("should be")(lambda x: powers(x).abs(), "the absolute value")
wrong("should be")(lambda x: powers(x)[..., :30], "at most 30 features")
wrong("should be")(
    lambda x: powers(x[:1]).expand(*x.shape[:-1], -1) if x.dim() > 2 else powers(x), "the first text alone"
)
wrong("should have shape")(lambda x: powers(x.flatten(0, -2)), "all texts in one row")
wrong("should be a tensor")(lambda x: powers(x).tolist(), "a list")
wrong("in float64")(lambda x: powers(x.float()).to(x.dtype), "single precision")
