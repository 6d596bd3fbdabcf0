"""Bahdanau's look back: the state asks through a small network, and no padding is heard."""

import math

import numpy as np
import torch

from answers import right, wrong
from attnlab import scores


def asked(s, h, w_a, u_a, v, bend=torch.tanh):
    return bend((s @ w_a)[..., None, :] + h @ u_a) @ v


def shared(e, real):
    return e.masked_fill(~real, -math.inf).softmax(-1)


def look(bend=torch.tanh, weigh=shared):
    """Right; or with something changed: `weigh` takes the scores and which tokens are real."""

    def answer(s, h, real, *w):
        return (weigh(asked(s, h, *w, bend=bend), real)[..., None] * h).sum(-2)

    return answer


right(look(weigh=lambda e, real: shared(e - e.amax(-1, keepdim=True), real)), "scores below zero")
right(
    lambda s, h, real, *w: look()(s, h[..., : (n := real.sum(-1).max()), :], real[..., :n], *w),
    "the text cut to the longest",
)


@right
def token_by_token(s, h, real, w_a, u_a, v):
    if s.dim() > 1:
        rows = zip(s, h, real, strict=True)
        return torch.stack([token_by_token(a, b, c, w_a, u_a, v) for a, b, c in rows])
    h = h[real]
    e = torch.stack([v @ torch.tanh(s @ w_a + one @ u_a) for one in h])
    powers = (e - e.max()).exp()
    return sum(a * one for a, one in zip(powers / powers.sum(), h, strict=True))


@right
def with_the_packages_own_score(s, h, real, w_a, u_a, v):
    e = scores.additive(s[..., None, :], h, w_a, u_a, v)
    return (scores.softmax(e, real[..., None, :]) @ h)[..., 0, :]


@right
def side_by_side_and_torchs_own_attention(s, h, real, w_a, u_a, v):
    pairs = torch.cat((s[..., None, :].expand(*h.shape[:-1], -1), h), -1)
    e = torch.tanh(pairs @ torch.cat((w_a, u_a))) @ v
    return torch.nn.functional.scaled_dot_product_attention(
        torch.zeros_like(h[..., :1, :]), h, h, attn_mask=e.where(real, -math.inf)[..., None, :]
    )[..., 0, :]


@right
def einsum(s, h, real, w_a, u_a, v):
    hidden = torch.einsum("...d,da->...a", s, w_a)[..., None, :] + torch.einsum("...nm,ma->...na", h, u_a)
    e = torch.einsum("...na,a->...n", hidden.tanh(), v)
    return torch.einsum("...n,...nm->...m", e.masked_fill(real.logical_not(), -1e30).softmax(-1), h)


@wrong("What is averaged are the h U_a")
def keys_as_values(s, h, real, w_a, u_a, v):
    keys = h @ u_a
    e = torch.tanh((s @ w_a).unsqueeze(-2) + keys) @ v
    return (shared(e, real).unsqueeze(-1) * keys).sum(-2)


@wrong("The state makes no difference")
def tanh_twice(s, h, real, w_a, u_a, v):
    asks, answers = torch.tanh(s @ w_a), torch.tanh(h @ u_a)
    weights = shared((asks[..., None, :] + answers) @ v, real)
    return torch.einsum("...n,...nm->...m", weights, h)


@wrong("divided by the root of their width")
def scaled(s, h, real, w_a, u_a, v):
    e = asked(s, h, w_a, u_a, v) / len(v) ** 0.5
    return (shared(e, real)[..., None] * h).sum(-2)


@wrong("The weights are returned")
def weights_returned(s, h, real, w_a, u_a, v):
    return shared(torch.tanh((s @ w_a)[..., None, :] + h @ u_a) @ v, real)


@wrong("The padding is cut after the softmax")
def padding_made_zero(s, h, real, *w):
    weights = asked(s, h, *w).softmax(-1)
    return torch.einsum("...n,...nm->...m", weights, h * real[..., None])


@wrong("All of the weight goes to the best token")
def the_best_token(s, h, real, *w):
    best = asked(s, h, *w).where(real, -math.inf).argmax(-1)
    return torch.take_along_dim(h, best[..., None, None], -2)[..., 0, :]


@wrong("The weights are not divided by their sum")
def powers_alone(s, h, real, *w):
    e = asked(s, h, *w).exp() * real
    return (e[..., None, :] @ h)[..., 0, :]


@wrong("scores of several hundreds")
def no_overflow_guard(s, h, real, *w):
    e = torch.exp(asked(s, h, *w)) * real
    return (e[..., None] * h).sum(-2) / e.sum(-1, keepdim=True)


wrong("The padding is not left out")(look(weigh=lambda e, real: e.softmax(-1)), "padding heard")
wrong("The padding gets a score of 0")(
    look(weigh=lambda e, real: torch.where(real, e, 0.0).softmax(-1)), "a score of 0 for the padding"
)
wrong("The padding gets all the weight")(
    look(weigh=lambda e, real: e.masked_fill(real, -math.inf).softmax(-1)), "the mask turned round"
)
wrong("far higher")(
    look(weigh=lambda e, real: e.masked_fill(~real, -30).softmax(-1)), "minus thirty for the padding"
)
wrong("far higher")(look(weigh=lambda e, real: (e - 100 * ~real).softmax(-1)), "padding lowered by a hundred")
wrong("far higher")(
    look(weigh=lambda e, real: e.softmax(-1) * real / (e.softmax(-1) * real).sum(-1, keepdim=True)),
    "cut, then divided again",
)
wrong("should")(
    lambda s, h, real, *w: look(weigh=lambda e, real: e.softmax(-1))(s, h * real[..., None], real, *w),
    "padding set to zero, and heard",
)
wrong("The scores are used as weights")(look(weigh=lambda e, real: e.where(real, 0)), "scores for weights")
wrong("The scores are returned")(lambda s, h, real, *w: asked(s, h, *w), "scores returned")
wrong("Every token gets the same weight")(
    look(weigh=lambda e, real: 0 * e + real / real.sum(-1, keepdim=True)), "a plain mean"
)
wrong("The tanh is missing")(look(bend=lambda x: x), "no tanh")
wrong("a ReLU stands where the tanh should be")(look(bend=torch.nn.functional.relu), "ReLU")
wrong("a sigmoid stands where the tanh should be")(look(bend=lambda x: 1 / (1 + (-x).exp())), "sigmoid")
wrong("should")(look(bend=torch.nn.functional.hardtanh), "a sharp corner for the tanh")
wrong("should")(
    lambda s, h, real, *w: (shared(asked(s, h, *w, bend=lambda x: x).tanh(), real)[..., None] * h).sum(-2),
    "tanh of the scores",
)
wrong("several hundreds")(look(weigh=lambda e, real: shared(e.clamp(-80, 80), real)), "scores cut at 80")
wrong("should")(look(weigh=lambda e, real: e.masked_fill(~real, -1e9).softmax(0)), "softmax over the batch")
wrong("runs along the first axis")(
    look(weigh=lambda e, real: e.masked_fill(~real, -math.inf).softmax(0)), "softmax over the batch, and −∞"
)
wrong("scores very low")(
    look(weigh=lambda e, real: e.masked_fill(~real, -1e4).softmax(-1)), "-10000 for padding"
)
wrong("should")(lambda s, h, *_: h[..., 0, :], "the first token only")
wrong("The state makes no difference")(
    lambda s, *rest: look()(torch.zeros_like(s), *rest), "the state is not asked"
)
wrong("One state asks for the whole batch")(
    lambda s, *rest: look()(s.reshape(-1, s.shape[-1])[0].expand_as(s), *rest),
    "one state for the whole batch",
)
wrong("One text's padding is used for the whole batch")(
    lambda s, h, real, *w: look()(s, h, real.reshape(-1, real.shape[-1])[0].expand_as(real), *w),
    "one length for the whole batch",
)
wrong("should")(
    lambda s, h, real, *w: look()(s, h, real | real.roll(1, -1) & (torch.arange(real.shape[-1]) > 0), *w),
    "every text a token longer",
)
wrong("should")(lambda s, h, real, *w: look()(s, h, real & real.roll(-1, -1), *w), "the last token forgotten")
wrong("raised ValueError")(lambda s, h, real, *w: token_by_token(s, h[real], real[real], *w), "no batch")
wrong("in place")(
    lambda s, h, real, *w: look()(s, h.mul_(real[..., None]), real, *w), "written into the annotations"
)
wrong("float64")(
    lambda s, h, real, *w: look()(s.float(), h.float(), real, *(x.float() for x in w)).to(s.dtype),
    "in single precision",
)
wrong("gradient")(look(weigh=lambda e, real: shared(e, real).detach()), "weights detached")
wrong("gradient")(look(weigh=lambda e, real: shared(e.detach(), real)), "scores detached")
wrong("gradient")(lambda s, *rest: look()(s.detach(), *rest), "state detached")
wrong("gradient")(
    lambda *given: torch.from_numpy(np.asarray(look()(*(x.detach() for x in given)))), "with NumPy inside"
)
