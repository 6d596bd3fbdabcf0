"""Positive random features: every direction twice, w and -w, and half of the square taken away."""

import math

import torch

from answers import right, wrong


def half_square(x):
    return x.square().sum(-1, keepdim=True) / 2


def features(
    x,
    w,
    *,
    half=half_square,
    second=lambda up, half: -up - half,
    join=torch.cat,
    divide=lambda m, d: (2 * m) ** 0.5,
):
    """Right; or with something changed: `second` makes the exponents for -w."""
    up = x @ w.mT
    exponents = join((up - half(x), second(up, half(x))), -1)
    return exponents.flatten(x.dim() - 1).exp() / divide(*w.shape)


right(features, "side by side")
right(lambda x, w: features(x, w).flip(-1), "in another order")
right(lambda x, w: features(x, w, join=torch.stack), "interleaved")
right(lambda x, w: features(x, -w), "-w first")


@right
def token_by_token(x, w):
    if x.dim() > 2:
        return torch.stack([token_by_token(one, w) for one in x])
    rows = [torch.cat((w @ token, -(w @ token))) - token @ token / 2 for token in x]
    return torch.stack(rows).exp() / math.sqrt(2 * len(w))


@right
def squares_of_distances(x, w):
    up = x @ w.mT
    return (torch.cat((up, -up), -1) - x.norm(dim=-1, keepdim=True) ** 2 / 2).exp() * (2 * w.shape[0]) ** -0.5


@right
def squares_completed(x, w):
    parts = [(u.square().sum() - (x - u).square().sum(-1, keepdim=True)) / 2 for u in (*w, *-w)]
    return torch.cat(parts, -1).exp() / (2 * len(w)) ** 0.5


@wrong("so their products mix both")
def added(x, w):
    up = x @ w.T
    return ((up - half_square(x)).exp() + (-up - half_square(x)).exp()) / (2 * len(w)) ** 0.5


@wrong("It returns m features")
def one_for_each_direction(x, w):
    return torch.exp(x @ w.T - half_square(x)) / math.sqrt(len(w))


@wrong("joined along another axis")
def below_each_other(x, w):
    up, down = (torch.exp(x @ u.T - half_square(x)) for u in (w, -w))
    return torch.cat((up, down), dim=-2) / math.sqrt(2 * len(w))


@wrong("Cosines and sines estimate")
def waves(x, w):
    return torch.cat(((x @ w.T).cos(), (x @ w.T).sin()), -1) / len(w) ** 0.5


@wrong("a sine can be negative")
def cosh_and_sinh(x, w):
    up = x @ w.mT
    return torch.cat((up.cosh(), up.sinh()), -1) * (-half_square(x)).exp() / len(w) ** 0.5


@wrong("a softmax")
def summing_to_one(x, w):
    return torch.cat((x @ w.T - half_square(x), -x @ w.T - half_square(x)), -1).softmax(-1)


@wrong("lose their own maximum")
def a_stabiliser_a_row(x, w):
    exponents = torch.cat((x @ w.mT, -x @ w.mT), -1)
    return (exponents - exponents.amax(-1, keepdim=True)).exp() / (2 * len(w)) ** 0.5


@wrong("should be")
def the_first_batchs_lengths(x, w):
    first = half_square(x.flatten(0, -3)[0]) if x.dim() > 2 else half_square(x)
    return features(x, w, half=lambda x: first)


wrong("second call")(lambda x, w: features(x, w)[..., torch.randperm(2 * len(w))], "an order for each call")
wrong("second call")(
    lambda x, w: features(x, w)[..., features(x, w).flatten(0, -2).mean(0).argsort()],
    "an order for each text",
)
wrong("different orders")(lambda x, w: features(x, w).sort(-1).values, "sorted")
wrong("Some features are not positive")(
    lambda x, w: features(x, w, divide=lambda m, d: 1).log() - math.log(2 * len(w)) / 2, "exponents"
)
wrong("The half square is missing")(lambda x, w: features(x, w, half=lambda x: 0), "no square")
wrong("the whole square of the length")(
    lambda x, w: features(x, w, half=lambda x: (x * x).sum(-1, True)), "no half"
)
wrong("The half square has the wrong sign")(
    lambda x, w: features(x, w, half=lambda x: -half_square(x)), "a square too many"
)
wrong("The half square turns its sign with w")(
    lambda x, w: features(x, w, second=lambda up, half: -(up - half)), "the half turned"
)
wrong("Both halves are the same")(lambda x, w: features(x, w, second=lambda up, half: up - half), "w twice")
wrong("It takes away half of the length")(
    lambda x, w: features(x, w, half=lambda x: torch.linalg.norm(x, dim=-1)[..., None] / 2),
    "half of the length",
)
wrong("The squares are summed over the whole text")(
    lambda x, w: features(x, w, half=lambda x: x.square().sum((-1, -2), keepdim=True) / 2),
    "the length of the text",
)
wrong("It takes the mean of the squares")(
    lambda x, w: features(x, w, half=lambda x: (x**2).mean(-1, keepdim=True) / 2), "the mean of the squares"
)
wrong("the fourth root of d once more")(lambda x, w: features(x * w.shape[1] ** -0.25, w), "scaled once more")
wrong("The features are not divided")(lambda x, w: features(x, w, divide=lambda m, d: 1), "not divided")
wrong("It divides by the root of m")(lambda x, w: features(x, w, divide=lambda m, d: m**0.5), "the root of m")
wrong("Each factor is divided by 2m")(lambda x, w: features(x, w, divide=lambda m, d: 2 * m), "by 2m")
wrong("Each factor is divided by m")(lambda x, w: features(x, w, divide=lambda m, d: m), "by m")
wrong("a root of the width d")(
    lambda x, w: features(x, w, divide=lambda m, d: (2 * d) ** 0.5), "the root of 2d"
)
wrong("a root of the width d")(
    lambda x, w: features(x, w, divide=lambda m, d: (4 * d) ** 0.5), "the root of 4d"
)
wrong("should be")(lambda x, w: features(x, w, divide=lambda m, d: 12**0.5), "the root of 12")
wrong("a token of length 6")(lambda x, w: features(x, w).clamp(max=5), "at most 5")
wrong("should be a tensor")(lambda x, w: features(x, w).tolist(), "a list")
wrong("in float64")(lambda x, w: features(x.float(), w.float()).to(x.dtype), "single precision")
