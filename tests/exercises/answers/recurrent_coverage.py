"""The coverage penalty: the logarithm of what each token got, at most 1, summed up."""

import numpy as np
import torch

from answers import right, wrong


def penalty(weights):
    return weights.sum(0).clamp(max=1).log().sum()


right(lambda w: torch.minimum(w.sum(0), torch.ones(())).log().sum(), "minimum")
right(lambda w: w.sum(0).log().clamp(max=0).sum(), "capped at log 1")
right(lambda w: w.log().logsumexp(0).clamp(max=0).sum(), "in logarithms throughout")
right(lambda w: sum(torch.log(torch.clamp(column.sum(), max=1.0)) for column in w.T), "column by column")
right(lambda w: penalty(w.detach()), "detached")
right(lambda w: float(np.log(np.minimum(w.numpy().sum(0), 1)).sum()), "in NumPy")
wrong("There is no cap")(lambda w: w.sum(0).log().sum(), "no cap")
wrong("There is no cap")(lambda w: w.clamp(max=1).sum(0).log().sum(), "the weights capped")
wrong("The sums run over the tokens")(lambda w: penalty(w.T), "over the tokens")
wrong("The sign is turned")(lambda w: -penalty(w), "positive")
wrong("It is a mean")(lambda w: w.sum(0).clamp(max=1).log().mean(), "a mean")
wrong("The logarithm is missing")(lambda w: w.sum(0).clip(0, 1).sum(), "no logarithm")
wrong("It is the logarithm of the sum")(lambda w: w.sum(0).clamp(max=1).sum().log(), "logarithm of the sum")
wrong("Each weight has its logarithm taken")(lambda w: w.log().sum(0).clamp(max=0).sum(), "logarithms first")
wrong("The logarithm has the base 2")(lambda w: penalty(w) / np.log(2), "in bits")
wrong("next to nothing")(lambda w: (w.sum(0).clamp(max=1) + 1e-9).log().sum(), "a billionth added")
wrong("next to nothing")(lambda w: w.sum(0).clamp(1e-3, 1).log().sum(), "at least a thousandth")
wrong("far less than that")(lambda w: (w.sum(0).clamp(max=1) + 1e-12).log().sum(), "a trillionth added")
wrong("far less than that")(lambda w: w.sum(0).clamp(1e-12, 1).log().sum(), "at least a trillionth")
wrong("60 tokens")(lambda w: w.sum(0).clamp(max=1).prod().log(), "the logarithm of a product")
wrong("last of 12 steps")(lambda w: penalty(w[:8]), "eight steps")
wrong("should")(lambda w: penalty(w[:-1]), "not the last step")
wrong("should")(lambda w: (w.sum(0).clamp(max=1) + 0.01).log().sum(), "a hundredth added")
wrong("should")(lambda w: w.amax(0).log().sum(), "the largest weight of each")
wrong("should")(lambda w: w.mean(0).clamp(max=1).log().sum(), "mean weights")
wrong("should")(lambda w: w.sum(0).clamp(max=1).log().min(), "the worst token")
wrong("should")(lambda w: -(1 - w.sum(0)).clamp(min=0).sum(), "what is missing")
wrong("number")(lambda w: w.sum(0).clamp(max=1).log(), "not summed up")
