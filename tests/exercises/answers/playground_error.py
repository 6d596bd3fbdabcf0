"""The standard error of an accuracy whose words come in sentences."""

import math

import numpy as np
import torch

from answers import right, wrong


def off(correct, words, p=None):
    """How far each sentence's right words lie from its share of all."""
    p = correct.sum() / words.sum() if p is None else p
    return correct - p * words


@right
def in_numpy(correct, words):
    r, n = correct.numpy(), words.numpy()
    return torch.tensor(np.linalg.norm(r - r.sum() / n.sum() * n) / n.sum())


right(lambda correct, words: in_numpy(correct, words).float(), "rounded to single precision")
right(lambda r, n: off(r.float(), n.float()).norm() / n.float().sum(), "in single precision")

wrong("Sentences are drawn")(
    lambda r, n: ((p := r.sum() / n.sum()) - p * p).div(n.sum()).sqrt(), "words drawn one by one"
)
wrong("as one throw that comes out right or wrong")(
    lambda r, n: ((p := r.sum() / n.sum()) - p * p).div(len(n)).sqrt(), "sentences as throws"
)
wrong("each counting alike")(lambda r, n: (r / n).std() / len(n) ** 0.5, "shares")
wrong("It sums the distances before it squares them")(
    lambda r, n: off(r, n).sum().square().sqrt() / n.sum(), "summed, then squared"
)
wrong("The root is missing")(lambda r, n: (off(r, n) ** 2).sum() / n.sum(), "no root")
wrong("is divided by the number of words before the root")(
    lambda r, n: (off(r, n).dot(off(r, n)) / n.sum()).sqrt(), "the root over all"
)
wrong("The mean of the squares is taken")(
    lambda r, n: (off(r, n) ** 2).mean() ** 0.5 / n.sum(), "the mean of squares"
)
wrong("It is divided by the number of sentences")(lambda r, n: off(r, n).norm() / len(n), "over sentences")
wrong("mean number of right words")(lambda r, n: (r - r.mean()).norm() / n.sum(), "against the mean")
wrong("p is the mean of the sentences' shares")(
    lambda r, n: off(r, n, (r / n).mean()).norm() / n.sum(), "p as a mean of shares"
)
wrong("Absolute distances are summed")(lambda r, n: off(r, n).norm(p=1) / n.sum(), "absolute distances")
wrong("That is the accuracy")(lambda r, n: (r / n.sum()).sum(), "the accuracy")
wrong("should be")(lambda r, n: in_numpy(r, n) * math.sqrt(len(n) / (len(n) - 1)), "one less")
wrong("should be")(lambda r, n: 2 * in_numpy(r, n), "two errors")
