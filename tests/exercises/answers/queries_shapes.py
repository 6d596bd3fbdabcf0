"""The shape of everything in an attention layer."""

import math

import numpy as np
import torch

from answers import right, wrong

SAID = {
    "q": "batch n_q d_k",
    "k": "batch n_k d_k",
    "v": "batch n_k d_v",
    "scores": "batch n_q n_k",
    "weights": "batch n_q n_k",
    "out": "batch n_q d_v",
}


def shapes(kind=tuple, **changed):
    """All six, some of them changed, each in a form."""

    def does(batch, n_q, n_k, d_model, d_k, d_v):
        size = {"batch": batch, "n_q": n_q, "n_k": n_k, "d_model": d_model, "d_k": d_k, "d_v": d_v}
        return {name: kind([size[one] for one in said.split()]) for name, said in {**SAID, **changed}.items()}

    return does


right(shapes(torch.Size), "sizes")
right(shapes(list), "lists")
right(shapes(np.array), "arrays")


@wrong("the entry 'k' is None")
def half_filled(batch, n_q, n_k, d_model, d_k, d_v):
    sizes = {"q": (batch, n_q, d_k), "k": None, "v": ..., "scores": n_q * n_k}
    return sizes | {"weights": (batch, n_q, n_k), "out": (batch, n_q, d_v)}


wrong("should be a tuple of 3")(shapes(math.prod), "numbers of entries")
wrong("the entry 'q' should have length 3, it has 2")(
    shapes(**{name: said.removeprefix("batch ") for name, said in SAID.items()}), "no batch"
)
wrong("Queries have the width d_k")(shapes(q="batch n_q d_model"), "queries as wide as tokens")
wrong("Keys have the width of the queries")(shapes(k="batch n_k d_model"), "keys as wide as tokens")
wrong("only the product turns them")(shapes(k="batch d_k n_k"), "keys transposed")
wrong("Keys come from the tokens that are asked")(shapes(k="batch n_q d_k"), "keys of those who ask")
wrong("Values have a width of their own")(shapes(v="batch n_k d_k"), "values as wide as keys")
wrong("Values come from the tokens that are asked")(shapes(v="batch n_q d_v"), "values of those who ask")
for said, title in (("batch n_k n_q", "turned"), ("batch n_q n_q", "square"), ("batch d_k d_k", "of widths")):
    wrong("a row for each token that asks and a column")(shapes(scores=said, weights=said), f"scores {title}")
wrong("A softmax changes no shape")(shapes(weights="batch n_q"), "one weight for each token that asks")
wrong("The output is a mean of values")(shapes(out="batch n_k d_v"), "an output for each key")
wrong("The output is a mean of values")(shapes(out="batch n_q d_model"), "outputs as wide as tokens")
