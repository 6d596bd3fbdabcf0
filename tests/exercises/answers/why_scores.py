"""Scores whose softmax gives back the shares."""

import numpy as np
import torch

from answers import right, wrong

right(lambda w: w.log() + torch.arange(w.shape[-2])[:, None], "a constant for each row")
right(lambda w: (w / w.amax(-1, keepdim=True)).log(), "the largest is zero")
right(lambda w: torch.where(w > 0, w.log(), -1e9), "far below")
right(lambda w: torch.log1p(w - 1), "a logarithm near one")
right(lambda w: torch.from_numpy(np.log(w.numpy())), "in NumPy")

wrong("It returns the shares themselves")(lambda w: w - w.mean(-1, keepdim=True), "the shares")
wrong("It takes exponentials")(lambda w: w.exp(), "exponentials")
wrong("undoes a sigmoid")(lambda w: (w / (1 - w)).log(), "log odds")
wrong("The logarithm has another base")(lambda w: w.log2(), "powers of two")
wrong("The logarithm has another base")(lambda w: w.log() / np.log(10), "powers of ten")
wrong("The sign is turned")(lambda w: (1 / w).log(), "one over the share")
wrong("Rows and columns have changed places")(lambda w: w.mT.log(), "transposed")
wrong("should be")(torch.zeros_like, "uniform")

wrong("Shares of zero come out larger than zero")(lambda w: (w + 0.001).log(), "a thousandth added")
wrong("should be [0.5, 0.5, 0.0]")(lambda w: (w + 1e-9).log(), "a billionth added")
wrong("the softmax of your scores should be")(lambda w: w.clamp_min(1e-5).log(), "cut off")
wrong("should be [0.5, 0.5, 0.0]")(lambda w: w.log().clamp_min(-20), "a floor under the scores")
wrong("Which score makes its exponential zero?")(lambda w: w.log().nan_to_num(neginf=0.0), "zeros scored 0")
wrong("nan")(lambda w: w.log() * (w > 0), "zeros are NaN")
wrong("should be a tensor")(lambda w: w.log().tolist(), "a list")
