"""Checkers of chapter 03, Queries, keys, values."""

from __future__ import annotations

from collections.abc import Callable

import torch

from attnlab.attention import attention
from attnlab.checks.legacy import Wrong, call, exercise, near, rounded, want_tensor


def _draw(seed: int, *shape: int) -> torch.Tensor:
    return 0.7 * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@exercise("queries-self-attention", "self_attention")
def self_attention(answer: Callable) -> str:
    """Examine single-head self-attention: three projections, scaled scores, softmax of each row, the sum."""
    x, w_q, w_k, w_v = _draw(1, 4, 3), _draw(2, 3, 5), _draw(3, 3, 5), _draw(4, 3, 2)
    got = want_tensor(call(answer, x, w_q, w_k, w_v), (4, 2))
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    s, root = q @ k.T, 5**0.5
    for mistake, message in (
        (s.softmax(-1) @ v, "The scores are not scaled. Divide them by the root of d_k."),
        ((s / 5).softmax(-1) @ v, "It divides by d_k. Divide by its square root."),
        (
            (s / 3**0.5).softmax(-1) @ v,
            "It divides by the root of d_model. The scores are sums over d_k products.",
        ),
        (
            (s.softmax(-1) / root) @ v,
            "The scale comes after the softmax. Scale the scores, then take the softmax.",
        ),
        (
            (s / root).softmax(-2) @ v,
            "The softmax runs down the columns. Each row belongs to one query: use dim=-1.",
        ),
        (
            (s.T / root).softmax(-1) @ v,
            "Queries and keys have changed places: row i belongs to the query of token i.",
        ),
        ((s / root) @ v, "There is no softmax between the scores and the sum."),
    ):
        if near(got, mistake):
            raise Wrong(message)
    want = attention(q, k, v)
    if not near(got, want):
        raise Wrong(f"The first row should be {rounded(want[0])}, it is {rounded(got[0])}.")
    batch = torch.stack([x, _draw(5, 4, 3)])
    got = want_tensor(call(answer, batch, w_q, w_k, w_v), (2, 4, 2))
    if not near(got, attention(batch @ w_q, batch @ w_k, batch @ w_v)):
        raise Wrong(
            "With a batch the answer changes. Transpose the last two axes alone: k.transpose(-2, -1)."
        )
    return "Three projections, scaled scores, softmax of each row, weighted sum: with a batch too."


@exercise("queries-columns", "attention_columns")
def attention_columns(answer: Callable) -> str:
    """Examine attention for tokens stored as columns, O = V softmax(Kᵀ Q / sqrt(d_k))."""
    q, k, v = _draw(6, 5, 3), _draw(7, 5, 4), _draw(8, 2, 4)  # d_k = 5; three queries, four keys
    got = call(answer, q, k, v)
    if isinstance(got, torch.Tensor) and got.shape == (3, 2):
        raise Wrong(
            "The output has tokens as rows. In this convention they are columns: shape (d_v, n_q) = (2, 3)."
        )
    got = want_tensor(got, (2, 3))
    s, root = k.T @ q, 5**0.5
    for mistake, message in (
        (v @ (s / root).softmax(1), "The softmax runs along the rows. Here each query is a column: its column must sum to 1."),
        (v @ s.softmax(0), "The scores are not scaled. Divide them by the root of d_k, the number of rows of K."),
        (v @ (s / 2).softmax(0), "It divides by the root of the number of keys. d_k is the number of rows here."),
        (v @ (s / 3**0.5).softmax(0), "It divides by the root of the number of queries. d_k is the number of rows here."),
        (v @ (s / 5).softmax(0), "It divides by d_k. Divide by its square root."),
    ):  # fmt: skip
        if near(got, mistake):
            raise Wrong(message)
    want = attention(q.T, k.T, v.T).T
    if not near(got, want):
        raise Wrong(f"The first column should be {rounded(want[:, 0])}, it is {rounded(got[:, 0])}.")
    return "Tokens as columns: the transpose of our convention, and nothing else."


@exercise("queries-shapes", "shapes")
def shapes(answer: Callable) -> str:
    """Examine the shapes of every intermediate, from the five sizes."""
    for batch, n, d_model, d_k, d_v in ((50, 5, 3, 7, 4), (2, 3, 8, 1, 6)):
        got = call(answer, batch, n, d_model, d_k, d_v)
        want = {
            "q": (batch, n, d_k),
            "k": (batch, n, d_k),
            "v": (batch, n, d_v),
            "scores": (batch, n, n),
            "weights": (batch, n, n),
            "out": (batch, n, d_v),
        }
        if not isinstance(got, dict) or got.keys() != want.keys():
            raise Wrong(f"It should return a dict with the keys {', '.join(want)}.")
        got = {name: tuple(shape) for name, shape in got.items()}
        case = f"batch = {batch}, n = {n}, d_model = {d_model}, d_k = {d_k}, d_v = {d_v}"
        for name, message in (
            ("scores", "Scores compare every token with every token: n by n, whatever the widths"),
            ("weights", "A softmax changes no shape"),
            ("q", "Queries have the width d_k, one row a token"),
            ("k", "Keys have the width of the queries, or they could not be compared"),
            ("v", "Values have a width of their own, d_v"),
            ("out", "The output is a mean of values: it has their width, d_v"),
        ):
            if got[name] != want[name]:
                raise Wrong(f"{message}. With {case}, {name} has shape {want[name]}, not {got[name]}.")
    return "Every shape follows from five sizes; d_k leaves no trace in the output."
