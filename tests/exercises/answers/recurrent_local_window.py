"""Luong's window: a softmax over the tokens near a place, bent by a bell around it."""

import math

import torch

from answers import right, wrong


def away(e, p, first=1):
    return torch.arange(first, first + e.shape[-1]) - p


def inside(e, p, radius, low=-math.inf, near=lambda far, radius: far <= radius):
    return e.masked_fill(~near(away(e, p).abs(), radius), low).softmax(-1)


def bell(e, p, sigma):
    return torch.exp(-(away(e, p) ** 2) / (2 * sigma**2))


def window(e, p, radius, sigma=None, **options):
    """Right; or with something changed."""
    return inside(e, p, radius, **options) * bell(e, p, radius / 2 if sigma is None else sigma)


right(window, "a mask and a bell")
right(lambda e, p, r: window(e, p, r, low=torch.finfo(e.dtype).min), "the lowest float outside")


@right
def place_by_place(e, p, radius):
    if e.dim() > 1:
        return torch.stack([place_by_place(a, b, radius) for a, b in zip(e, p, strict=True)])
    near = [j for j in range(len(e)) if abs(j + 1 - p.item()) <= radius]
    inside = torch.softmax(e[near], 0)
    out = torch.zeros_like(e)
    for j, weight in zip(near, inside, strict=True):
        out[j] = weight * torch.exp(-((j + 1 - p[0]) ** 2) / (2 * (radius / 2) ** 2))
    return out


@right
def in_logarithms(e, p, radius):
    near = e.masked_fill(away(e, p).abs() > radius, -math.inf)
    return (near - near.logsumexp(-1, keepdim=True) - 2 * (away(e, p) / radius) ** 2).exp()


@wrong("Then tokens outside it have taken weight away")
def masked_late(e, p, radius):
    return e.softmax(-1) * bell(e, p, radius / 2) * (away(e, p).abs() <= radius)


@wrong("outside")
def cut_after_the_softmax_then_divided(e, p, radius):
    weights = e.softmax(-1) * (away(e, p).abs() <= radius)
    return weights / weights.sum(-1, keepdim=True) * bell(e, p, radius / 2)


@wrong("divided by their sum after the bell")
def divided_again(e, p, radius):
    return window(e, p, radius) / window(e, p, radius).sum(-1, keepdim=True)


@wrong("should")
def as_many_as_the_window_holds_at_best(e, p, radius):
    far = away(e, p).abs()
    cut = far.topk(min(2 * radius + 1, e.shape[-1]), largest=False).values[..., -1:]
    return window(e, p, radius, near=lambda far, radius: far <= cut)


wrong("The tokens are counted from 0")(lambda e, p, r: window(e, p + 1, r), "counted from zero")
wrong("There is no window")(lambda e, p, r: e.softmax(-1) * bell(e, p, r / 2), "no window")
wrong("There is no bell")(inside, "no bell")
wrong("The bell is as wide as the window")(lambda e, p, r: window(e, p, r, sigma=r), "sigma is the radius")
wrong("The bell is too narrow")(lambda e, p, r: window(e, p, r, sigma=r / 4), "half the radius for 2 sigma")
wrong("The bell lacks its 2")(
    lambda e, p, r: inside(e, p, r) * torch.exp(-((2 * away(e, p) / r) ** 2)), "a bell without its 2"
)
wrong("The tokens at exactly the radius are left out")(
    lambda e, p, r: window(e, p, r, near=lambda far, radius: far < radius), "an open window"
)
wrong("should")(
    lambda e, p, r: window(e, p, r, near=lambda far, radius: far <= radius + 1), "too wide by one"
)
wrong("It is the bell alone")(lambda e, p, r: window(0 * e, p, r), "the scores unused")
wrong("divided by their sum after the bell")(
    lambda e, p, r: inside(e - 2 * (away(e, p) / r) ** 2, p, r), "the bell before the softmax"
)
wrong("should")(lambda e, p, r: window(e - 2 * (away(e, p) / r) ** 2, p, r), "the bell before it and after")
wrong("should")(lambda e, p, r: inside(e, p, r) * (1 - away(e, p).abs() / r), "a triangle for a bell")
wrong("should")(lambda e, p, r: window(e, p, r) / (r / 2 * math.sqrt(2 * math.pi)), "a full density")
wrong("should")(lambda e, p, r: window(e, p, r, sigma=max(r // 2, 1)), "a whole number for sigma")
wrong("should")(lambda e, p, r: window(e, p, 2), "radius always 2")
wrong("should")(lambda e, p, r: window(e, p.round(), r), "rounded place")
wrong("should")(lambda e, p, r: window(e, p.floor(), r), "the place before")
wrong("should")(lambda e, p, r: window(e, p.clamp(1, e.shape[-1]), r), "a place within the text")
wrong("One place is used for the whole batch")(
    lambda e, p, r: window(e, p.flatten()[0] + 0 * p, r), "one place for the whole batch"
)
wrong("should")(lambda e, p, r: e.softmax(-1), "a softmax of everything")
wrong("outside")(lambda e, p, r: window(e, p, r, low=-100), "minus a hundred outside")
wrong("a very low score")(lambda e, p, r: window(e, p, r, low=-1e4), "minus ten thousand outside")
wrong("in place")(lambda e, p, r: e.copy_(window(e, p, r)), "written into the scores")
wrong("gradient")(lambda e, p, r: window(e, p.detach(), r), "detached place")
wrong("gradient")(lambda e, p, r: window(e, p.detach(), r) + 0 * p, "the bell detached")
