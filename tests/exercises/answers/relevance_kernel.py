"""A mean of ys whose weights fall with the distance from xs."""

import torch

from answers import right, wrong


def kernel(exponent=lambda gap, width: -(gap**2) / (2 * width**2), weigh=lambda e: e.softmax(-1)):
    """Exponents from all distances, weights from the exponents."""
    return lambda at, xs, ys, width: weigh(exponent(at[:, None] - xs, width)) @ ys


def shifted(e):
    w = (e - e.amax(-1, keepdim=True)).exp()
    return w / w.sum(-1, keepdim=True)


right(kernel(weigh=shifted), "shifted by hand")
right(kernel(weigh=lambda e: (e - e.logsumexp(-1, keepdim=True)).exp()), "less the logarithm of the sum")
wrong("squares of large places lose the digits that count")(
    lambda at, xs, ys, w: ((at[:, None] * xs - xs**2 / 2) / w**2).softmax(-1) @ ys,
    "a dot product less half the key's square",
)
wrong("squares of large places lose the digits that count")(
    lambda at, xs, ys, w: (-(at[:, None] ** 2 - 2 * at[:, None] * xs + xs**2) / (2 * w**2)).softmax(-1) @ ys,
    "the square multiplied out",
)


@right
def by_distances(at, xs, ys, width):
    if at.requires_grad:  # the slope of cdist at a distance of 0 is not that of its square
        return kernel()(at, xs, ys, width)
    return (-(torch.cdist(at[:, None], xs[:, None]) ** 2) / 2 / width**2).softmax(-1) @ ys


@wrong("far from all points")
def all_to_the_last_on_the_far_right(at, xs, ys, width):
    near = kernel(weigh=lambda e: e.exp() / e.exp().sum(-1, keepdim=True))(at, xs, ys, width)
    return torch.where(at > 30, ys[xs.argmax()], near)


@wrong("a place far from two points side by side")
def the_nearest_where_the_sum_is_zero(at, xs, ys, width):
    gap = at[:, None] - xs
    e = (-(gap**2) / (2 * width**2)).exp()
    total = e.sum(-1)
    mean = e @ ys / torch.where(total == 0, 1, total)
    return torch.where(total == 0, ys[gap.abs().argmin(-1)], mean)


wrong("The kernel values are not divided")(kernel(weigh=torch.exp), "not divided")
wrong("The distance is not squared")(kernel(lambda gap, w: -gap.abs() / w), "not squared")
wrong("The width multiplies")(kernel(lambda gap, w: -(gap * w).square() / 2), "the width multiplies")
wrong("The width is not squared")(kernel(lambda gap, w: -(gap**2) / w / 2), "the width not squared")
wrong("The 2 is missing")(kernel(lambda gap, w: -((gap / w) ** 2)), "no 2")
wrong("Points far away weigh most")(kernel(lambda gap, w: (gap / w) ** 2 / 2), "no minus")
wrong("should be")(kernel(lambda gap, w: -(gap**2) / 2 / 0.64**2), "a width of its own")
wrong("should be")(lambda at, xs, ys, w: (at[:, None] * xs / w**2).softmax(-1) @ ys, "a bare dot product")
wrong("It takes the nearest point alone")(
    lambda at, xs, ys, w: torch.stack([min(zip(abs(a - xs), ys, strict=True))[1] for a in at]), "the nearest"
)
wrong("far away every exponential is 0")(
    kernel(weigh=lambda e: e.exp() / e.exp().sum(-1, keepdim=True)), "underflow"
)
wrong("far from all points")(
    kernel(weigh=lambda e: e.exp() / (e.exp().sum(-1, keepdim=True) + 1e-9)), "a billionth added"
)
