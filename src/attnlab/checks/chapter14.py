"""Checkers of chapter 14, Linear attention."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attnlab.checks.verdict import Wrong, call, exercise, near, rounded, want_tensor


def _draw(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@exercise("14-costs", "multiplications")
def multiplications(answer: Callable) -> str:
    """Examine the counts of both orders of the brackets."""
    for n, m, d in ((1000, 16, 64), (10, 64, 32), (7, 3, 5)):
        got = call(answer, n, m, d)
        want = (n * n * (m + d), 2 * n * m * d)
        case = f"With n = {n}, m = {m}, d = {d}"
        if not isinstance(got, tuple) or len(got) != 2:
            raise Wrong("It should return a pair: weights first, values first.")
        if got == want[::-1]:
            raise Wrong(f"The two have changed places. {case}, weights first costs {want[0]:,}.")
        if got[0] == n * n * m:
            raise Wrong(f"Weights first leaves out the values: {n * n * d:,} more for weights times values.")
        if got[0] == n * n * m * d:
            raise Wrong("Weights first multiplies the two products. One comes after the other: add them.")
        if got[1] == n * m * d:
            raise Wrong(
                "Values first counts one product only. The sums are built once, then every query reads them."
            )
        if got[1] in (n * m * d + m * d, n * m * d + m):
            raise Wrong(f"Values first reads the sums once. Every one of the {n} queries reads them.")
        if got != want:
            raise Wrong(f"{case} it should be {want}, it is {got}.")
    return "One grows with the square of the length, the other with the length."  # fmt: skip


@exercise("14-features", "positive_features")
def positive_features(answer: Callable) -> str:
    """Examine FAVOR+'s positive random features."""
    x, w = 0.5 * _draw(1, 2, 4, 3), _draw(2, 6, 3)
    got = call(answer, x, w)
    if isinstance(got, Tensor) and got.shape == (2, 4, 12):
        raise Wrong("Cosines and sines estimate the Gaussian kernel exp(-|q - k|²/2). Take the exponential.")
    got = want_tensor(got, (2, 4, 6))
    angles, squares = x @ w.T, x.square().sum(-1, keepdim=True)
    want = (angles - squares / 2).exp() / math.sqrt(6)
    for mistake, message in (
        (angles.exp() / math.sqrt(6), "The half square is missing: exp(w·x) alone is exp(|x|²/2) too large on average."),
        ((angles - squares).exp() / math.sqrt(6), "It takes away the whole square of the length. Half of it belongs to each factor."),
        ((angles + squares / 2).exp() / math.sqrt(6), "The half square has the wrong sign: it must be taken away."),
        (want * math.sqrt(6), "The features are not divided: their products sum over m features, and a mean divides by m."),
        (want / math.sqrt(6), "Each factor is divided by m, so the product is divided by m². Divide by the root of m."),
        ((angles - x.square().sum((-1, -2), keepdim=True) / 2).exp() / math.sqrt(6),
         "The squares are summed over the whole text. Each token has a length of its own."),
        (want * math.sqrt(6 / 3), "It divides by the root of d, the width. The mean goes over the m rows of w."),
    ):  # fmt: skip
        if near(got, mistake):
            raise Wrong(message)
    if not near(got, want):
        raise Wrong(f"The first row should be {rounded(want[0, 0])}, it is {rounded(got[0, 0])}.")
    return "Positive, and their products are exp(q·k) on average."


@exercise("14-running-state", "causal_linear")
def causal_linear(answer: Callable) -> str:
    """Examine causal linear attention by a running state."""
    # m = d in one sentence, where a transposed state does not raise; then a batch, m ≠ d.
    q, k, v = _draw(3, 5, 3).exp(), _draw(4, 5, 3).exp(), _draw(5, 5, 3)
    got = want_tensor(call(answer, q, k, v), (5, 3))
    weights = q @ k.T
    past = weights.tril()
    total = past.sum(-1, keepdim=True)
    states = (k[:, :, None] * v[:, None, :]).cumsum(0)  # (n, m, d)
    want = past @ v / total
    for mistake, message in (
        (weights @ v / weights.sum(-1, keepdim=True), "Every token sees the whole text. Read the state as it is at token i."),
        (past @ v, "The weights are not divided by their sum. Let the sum of keys run along, and divide."),
        (past @ v / weights.sum(-1, keepdim=True), "It divides by the sum over the whole text, which holds later keys: a leak. Let that sum run too."),
        (past @ v / torch.arange(1, 6)[:, None], "It divides by the number of tokens. Divide by the sum of the weights."),
        (torch.stack([a @ s.T for a, s in zip(q, states, strict=True)]) / total, "The state is read transposed: q·S has its rows along the features of the key."),
    ):  # fmt: skip
        if near(got, mistake, 1e-4):
            raise Wrong(message)
    if near(got[1:], (weights.tril(-1) @ v / weights.tril(-1).sum(-1, keepdim=True))[1:], 1e-4):
        raise Wrong("Off by one: token i reads the state before it has written. It may attend to itself.")
    if not near(got, want, 1e-4):
        raise Wrong(f"The second row should be {rounded(want[1])}, it is {rounded(got[1])}.")
    q, k, v = _draw(6, 2, 4, 6).exp(), _draw(7, 2, 4, 6).exp(), _draw(8, 2, 4, 2)
    got = want_tensor(call(answer, q, k, v), (2, 4, 2))
    past = (q @ k.mT).tril()
    if not near(got, past @ v / past.sum(-1, keepdim=True), 1e-4):
        raise Wrong("With a batch the answer changes. Each text needs a state of its own.")
    return "A matrix and a vector run along, and every token reads what is written so far."


@exercise("14-delta", "write")
def write(answer: Callable) -> str:
    """Examine one step of the delta rule."""
    state, k, v = (
        _draw(9, 3, 3),
        torch.tensor([0.6, 0.0, 0.8]),
        _draw(10, 3),
    )  # square, so that .T does not raise
    got = want_tensor(call(answer, state, k, v, 0.5), (3, 3))
    held = k @ state
    for mistake, message in (
        (state + 0.5 * torch.outer(k, v), "It adds the value to what is there. Overwriting first takes away what the key holds."),
        (state - 0.5 * torch.outer(k, v - held), "Wrong sign: this moves the state away from the value."),
        (state + 0.5 * torch.outer(v - held, k), "The outer product is transposed: rows of the state belong to the key."),
        (state + 0.5 * torch.outer(k, v - state @ k), "What the key holds is k @ state, not state @ k: rows belong to the key."),
        (0.5 * state + 0.5 * torch.outer(k, v), "The whole state fades. Only what this key holds may change."),
        (state + torch.outer(k, v - held), "The rate is missing: beta says how much of the difference is written."),
        (state + torch.outer(k, 0.5 * v - held), "beta multiplies the value alone. It must multiply the whole difference."),
    ):  # fmt: skip
        if near(got, mistake):
            raise Wrong(message)
    want = state + 0.5 * torch.outer(k, v - held)
    if not near(got, want):
        raise Wrong(f"The first row should be {rounded(want[0])}, it is {rounded(got[0])}.")
    v = _draw(11, 2)
    got = want_tensor(call(answer, _draw(12, 3, 2), k, v, 1.0), (3, 2))
    if not near(k @ got, v):
        raise Wrong("With beta = 1 the key should answer with the new value alone.")
    return "The old answer is taken away, the new one written; other keys keep theirs."
