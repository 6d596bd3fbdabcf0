"""The parameters of a decoder, counted from its sizes."""

import numpy as np
import torch

from answers import right, wrong


def count(
    d, h, g, e, f, gated, layers, words, tied, *, norms=2, last=1, biases=0, output=1, three=None, tables=None
):
    """Matrix by matrix; or with something changed."""
    attention = d * h * e + 2 * d * g * e + output * h * e * d
    network = d * f + f * d + (d * f if (gated if three is None else three) else 0)
    bias = biases * (e * (h + 2 * g) + d + f + (f if gated else 0) + d)
    tables = (1 if tied else 2) if tables is None else tables
    return layers * (attention + network + norms * d + bias) + last * d + tables * words * d


right(count, "matrix by matrix")
right(lambda *a: float(count(*a)), "a float")
right(lambda *a: np.int64(count(*a)), "a NumPy integer")
right(lambda *a: torch.tensor(count(*a)), "a tensor")


@right
def a_list_of_shapes(d, h, g, e, f, gated, layers, words, tied):
    shapes = [
        (d, h * e),
        (d, g * e),
        (d, g * e),
        (h * e, d),
        (d, f),
        (f, d),
        (1, 2 * d),
        *([(d, f)] if gated else []),
    ]
    return layers * sum(a * b for a, b in shapes) + d + (2 - tied) * words * d


@wrong("should be 3,396, it is 3,108")
def squares(d, h, g, e, f, gated, layers, words, tied):
    return layers * (4 * d**2 + (2 + gated) * d * f + 2 * d) + d + words * d * (2 - tied)


@wrong("should be")
def twelve_squares_a_layer(d, h, g, e, f, gated, layers, words, tied):
    return 12 * layers * d**2 + words * d


@wrong("Heads are d_head wide")
def heads_of_d_over_h(d, h, g, e, f, gated, layers, words, tied):
    return count(d, h, g, d // h, f, gated, layers, words, tied)


wrong("The last norm")(lambda *a: count(*a, last=0), "no last norm")
wrong("The norms are missing")(lambda *a: count(*a, last=0, norms=0), "no norms")
wrong("Each layer has two norms")(lambda *a: count(*a, norms=1), "one norm a layer")
wrong("a factor for each number and no bias")(lambda *a: count(*a, norms=4, last=2), "norms with biases")
wrong("The output projection of attention is missing")(lambda *a: count(*a, output=0), "no output projection")
wrong("A gated network has three matrices")(lambda *a: count(*a, three=False), "never gated")
wrong("Only a gated network has three matrices")(lambda *a: count(*a, three=True), "always gated")
wrong("Keys and values have n_kv_heads heads")(
    lambda d, h, g, *rest: count(d, h, h, *rest), "query heads everywhere"
)
wrong("should be")(lambda *a: count(*a) - a[6] * a[0] * a[2] * a[3], "keys and values counted once")
wrong("Each layer has weights of its own")(lambda *a: count(*a[:6], 1, *a[7:]), "one layer for all")
wrong("should be")(lambda *a: count(*a[:6], a[6] + 1, *a[7:]), "a layer too many")
wrong("have a table each")(lambda *a: count(*a, tables=1), "one table")
wrong("share one table")(lambda *a: count(*a, tables=2), "always two tables")
wrong("mixed up")(lambda *a: count(*a[:8], not a[8]), "tied turned round")
wrong("The tables of words are missing")(lambda *a: count(*a, tables=0), "no tables")
wrong("should be")(lambda *a: count(*a) + 2048 * a[0], "a table of positions")
wrong("Projections have no bias here")(lambda *a: count(*a, biases=1), "biases")
wrong("should be")(
    lambda *a: count(*a) + a[6] * (a[3] * (a[1] + 2 * a[2]) + a[0]), "biases of attention alone"
)
wrong("should be")(lambda *a: count(*a) + a[7], "a score's bias for each word")
wrong("should be")(lambda *a: count(*a) + 2, "norms of two numbers")
wrong("Llama")(lambda *a: count(*a) % 2**31, "32 bits")
wrong("should be")(lambda *a: round(count(*a), -3), "in thousands")
wrong("should be")(lambda *a: count(*a) / 1e6, "in millions")
wrong("number")(lambda *a: str(count(*a)), "text")
wrong("should be")(lambda *a: 134515008, "the sizes of one model")
