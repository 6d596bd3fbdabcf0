"""Weights from queries and keys that are divided by their root mean square, with a gain."""

import torch
from torch.nn.functional import rms_norm, scaled_dot_product_attention

from answers import right, wrong


def rms(x, gain, eps=1e-6):
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * gain


def over(norm):
    """A norm that divides by something else before the gain."""
    return lambda x, gain: x / norm(x) * gain


def scaled(q, k):
    return q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5


def normed(norm_q=rms, norm_k=None, weights=lambda q, k: scaled(q, k).softmax(-1)):
    """Both sides with one norm, unless two are given."""
    return lambda q, k, gain_q, gain_k: weights(norm_q(q, gain_q), (norm_k or norm_q)(k, gain_k))


@right
def torchs_norm(q, k, gain_q, gain_k):
    return scaled(rms_norm(q, gain_q.shape, gain_q, 1e-6), rms_norm(k, gain_k.shape, gain_k, 1e-6)).softmax(
        -1
    )


@right
def torchs_attention(q, k, gain_q, gain_k):
    one_hot = torch.eye(k.shape[-2], dtype=k.dtype).expand(*k.shape[:-1], k.shape[-2])
    return scaled_dot_product_attention(rms(q, gain_q), rms(k, gain_k), one_hot)


@right
def by_lengths(q, k, gain_q, gain_k):
    d = q.shape[-1]
    q, k = (
        x * gain / (x.square().sum(-1, keepdim=True) + 1e-6 * d).sqrt()
        for x, gain in ((q, gain_q), (k, gain_k))
    )
    return (torch.einsum("...id,...jd->...ij", q, k) * d**0.5).softmax(-1)


right(lambda q, k, a, b: normed()(q, k, b, a), "gains exchanged")
right(lambda q, k, a, b: normed()(q, k, a * b, 1.0), "both gains on one side")
right(lambda q, k, a, b: (rms(q, a / q.shape[-1] ** 0.5) @ rms(k, b).mT).softmax(-1), "the scale in a gain")

wrong("Nothing is normed")(normed(lambda x, gain: x), "nothing normed")
wrong("The keys are not normed")(normed(rms, torch.mul), "queries alone")
wrong("The queries are not normed")(normed(torch.mul, rms), "keys alone")
wrong("The gains are missing")(normed(lambda x, gain: rms(x, torch.ones_like(gain))), "no gains")
wrong("The gain comes before the norm")(normed(lambda x, gain: rms(gain * x, 1)), "gains first")
wrong("should be")(normed(lambda x, gain: rms(x, 1 + gain)), "gains of 1 + g")
wrong("should be")(normed(lambda x, gain: rms(x, gain.mean())), "a gain of one number")
wrong("should be")(lambda q, k, a, b: normed()(q, k, a, a), "one gain for both")
wrong("should be")(lambda q, k, a, b: normed()(q, k, (a * b).mean(), 1.0), "the mean gain of both")

wrong("It divides by the length")(
    normed(over(lambda x: (x.square().sum(-1, keepdim=True) + 1e-6).sqrt())), "lengths"
)
wrong("It divides by the mean square")(
    normed(over(lambda x: (x * x).mean(-1, keepdim=True) + 1e-6)), "mean squares"
)
wrong("It takes the mean of the entries off")(
    normed(lambda x, gain: torch.nn.functional.layer_norm(x, x.shape[-1:], gain, eps=1e-6)), "a layer norm"
)
wrong("should be")(
    normed(over(lambda x: (x.var(-1, keepdim=True, correction=0) + 1e-6).sqrt())), "a spread about the mean"
)
wrong("The mean runs over the tokens")(
    normed(over(lambda x: ((x * x).mean(-2, keepdim=True) + 1e-6).sqrt())), "over the tokens"
)
wrong("The mean runs over all vectors")(
    normed(over(lambda x: ((x * x).mean((-2, -1), keepdim=True) + 1e-6).sqrt())), "over all vectors"
)

wrong("ε is missing")(normed(lambda x, gain: rms(x, gain, eps=0.0)), "no ε")
wrong("ε stands outside the root")(
    normed(over(lambda x: x.pow(2).mean(-1, keepdim=True).sqrt() + 1e-6)), "ε outside"
)
wrong("should be")(normed(lambda x, gain: rms(x, gain, eps=1e-5)), "a larger ε")
wrong("should be")(normed(lambda x, gain: rms_norm(x, gain.shape, gain)), "torch's own ε")
wrong("should be")(
    normed(over(lambda x: x.square().mean(-1, keepdim=True).sqrt().clamp_min(1e-6))), "ε for zeros alone"
)
wrong("should be")(
    normed(
        lambda x, gain: over(lambda x: x.square().mean(-1, keepdim=True).sqrt())(x, 1).nan_to_num() * gain
    ),
    "zeros without NaN",
)

wrong("The scale is missing")(normed(weights=lambda q, k: (q @ k.mT).softmax(-1)), "no scale")
wrong("cosines")(normed(weights=lambda q, k: (scaled(q, k) / q.shape[-1] ** 0.5).softmax(-1)), "scaled twice")
wrong("The scale comes after the softmax")(
    normed(weights=lambda q, k: (q @ k.mT).softmax(-1).div(q.shape[-1] ** 0.5)), "scaled after the softmax"
)
wrong("The softmax runs down the columns")(
    normed(weights=lambda q, k: scaled(k, q).softmax(-1).mT), "down the columns"
)
wrong("With a batch, dim=1 is another axis")(
    normed(weights=lambda q, k: scaled(q, k).softmax(dim=1)), "dim=1"
)
wrong("There is no softmax")(normed(weights=scaled), "no softmax")
wrong("should be")(lambda q, k, a, b: rms(q * a @ (k * b).mT, 1.0).softmax(-1), "the scores normed")
wrong("it raised")(
    lambda q, k, a, b: (rms(q, a).mm(rms(k, b).t()) / q.shape[-1] ** 0.5).softmax(-1), "no batch"
)
wrong("it raised")(lambda q, k, a, b: normed()(q, k, a, b) + 0 * (q - k).sum(), "as many keys as queries")
wrong("float64")(
    lambda q, k, a, b: normed()(q.float(), k.float(), a.float(), b.float()).to(q.dtype),
    "single precision inside",
)
wrong("gradient")(
    normed(over(lambda x: (x.square().mean(-1, keepdim=True) + 1e-6).sqrt().detach())), "divisors detached"
)
