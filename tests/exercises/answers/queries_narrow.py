"""Matrices as narrow as the tokens that give the scores of wide ones."""

import math

import torch

from answers import right, wrong


def factor(w_q, w_k):
    """What the narrow head, which divides by a smaller root, must make up for."""
    return math.sqrt(len(w_q) / w_q.shape[1])


def table(w_q, w_k):
    return w_q @ w_k.T * factor(w_q, w_k)


def queries_hold(found):
    """The whole table in the queries, an identity for the keys."""
    return lambda w_q, w_k: (found(w_q, w_k), torch.eye(len(w_q)))


def by_svd(share):
    def narrow(w_q, w_k):
        u, s, vh = torch.linalg.svd(table(w_q, w_k))
        return u * s**share, vh.T * s ** (1 - share)

    return narrow


@right
def by_qr(w_q, w_k):
    turn, triangle = torch.linalg.qr(w_k.T)  # W_k = triangle.T @ turn.T
    root = factor(w_q, w_k) ** 0.5
    return root * w_q @ turn, root * triangle.T


@right
def in_other_arrows(w_q, w_k):
    turn = torch.randn(len(w_q), len(w_q), dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    turn += 4 * torch.eye(len(w_q))
    return table(w_q, w_k).double() @ turn, torch.linalg.inv(turn).T


right(by_svd(1.0), "SVD")
right(by_svd(0.5), "SVD, shared")
right(lambda w_q, w_k: (torch.eye(len(w_q)), table(w_q, w_k).T), "keys hold all")


@wrong("should be")
def the_largest_direction_alone(w_q, w_k):
    u, s, vh = torch.linalg.svd(table(w_q, w_k))
    return u[:, :1] * s[0] * torch.eye(len(w_q))[0], vh.T


@wrong("queries that use one direction only")
def by_an_inverse(w_q, w_k):
    new = w_q[:, : len(w_q)] if len(w_q) > 1 else torch.ones(1, 1)
    return new, torch.linalg.solve(new, table(w_q, w_k)).T


@wrong("queries whose first columns are 0")
def by_what_inverts_the_first_columns(w_q, w_k):
    new = w_q[:, : len(w_q)]
    return new, (torch.linalg.pinv(new) @ table(w_q, w_k)).T


wrong("should be a tensor of shape")(lambda w_q, w_k: (w_q, w_k), "as wide")
wrong("The columns that were cut off")(lambda w_q, w_k: tuple(w.T[: len(w)].T for w in (w_q, w_k)), "cut off")
wrong("should be")(
    lambda w_q, w_k: tuple(torch.nn.functional.adaptive_avg_pool1d(w, len(w)) for w in (w_q, w_k)),
    "means of columns",
)
wrong("the product is the same, the head is not")(queries_hold(lambda q, k: q @ k.T), "no factor")
wrong("the new head divides once more")(queries_hold(lambda q, k: q @ k.T / q.shape[1] ** 0.5), "own root")
wrong("it corrects by the ratio of the widths")(
    queries_hold(lambda q, k: table(q, k) * factor(q, k)), "the ratio of the widths"
)
wrong("the widths stand the wrong way round")(
    queries_hold(lambda q, k: q @ k.T / factor(q, k)), "the factor upside down"
)
wrong("should be")(queries_hold(lambda q, k: q @ k.T * factor(q, k) ** 0.5), "the fourth root, on one side")
wrong("should be")(queries_hold(lambda q, k: q @ k.T * math.sqrt(len(q)) / 4), "a width of sixteen for all")
wrong("queries and keys have changed places")(queries_hold(lambda q, k: table(q, k).T), "turned")
wrong("should be")(queries_hold(lambda q, k: (table(q, k) + table(q, k).T) / 2), "made symmetric")
wrong("should be")(queries_hold(lambda q, k: 0 * q @ k.T), "zeros")
wrong("should be")(queries_hold(lambda q, k: q @ k.T * math.nan), "NaN")
wrong("two matrices")(table, "one matrix")
