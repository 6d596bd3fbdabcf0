"""Checkers of chapter 15, Linear attention."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attnlab.checks.legacy import Wrong, call, exercise, near, rounded, want_pair, want_tensor
from attnlab.checks.watch import Watch


def _draw(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@exercise("linear-costs", "multiplications")
def multiplications(answer: Callable) -> str:
    """Examine the counts of both orders of the brackets."""
    for n, m, d in ((1000, 16, 64), (10, 64, 32), (7, 3, 5)):
        got = tuple(want_pair(call(answer, n, m, d), "a pair: weights first, values first"))
        want = (n * n * (m + d), 2 * n * m * d)
        case = f"With n = {n}, m = {m}, d = {d}"
        if got == want[::-1]:
            raise Wrong(f"The two have changed places. {case}, weights first costs {want[0]:,}.")
        for place, mistake, message in (
            (0, n * n * m, f"Weights first leaves out the values: {n * n * d:,} more for weights times values."),
            (0, n * n * d, f"Weights first leaves out the weights: {n * n * m:,} more for queries times keys."),
            (0, n * n * m * d, "Weights first multiplies the two products. One comes after the other: add them."),
            (0, 2 * n * n * d, "A weight is a product of features: m multiplications each, not d."),
            (0, want[0] + n * n, "The division is not asked for. Count the two matrix products."),
            (0, n * (n + 1) // 2 * (m + d), "Every query sees every key here: nothing is causal."),
            (1, n * m * d, "Values first counts one product only. The sums are built once, then every query reads them."),
            (1, n * m * d + m * d, f"Values first reads the sums once. Every one of the {n} queries reads them."),
            (1, n * m * d + m, f"Values first reads the sums once. Every one of the {n} queries reads them."),
            (1, want[1] + n * m, "The division is not asked for. Count the two matrix products."),
            (1, want[1] + 2 * n * m, "The division is not asked for. Count the two matrix products."),
            (1, n * m * d + n * n * d, "Values first never makes n² weights. A query meets the (m, d) sums: m · d products."),
            (1, 2 * n * m * m, "The sums are m × d: a value has d numbers, not m."),
            (1, 2 * n * d * d, "The sums are m × d: a key has m features, not d."),
            (1, (n * m * d) ** 2, "Values first multiplies the two products. One comes after the other: add them."),
        ):  # fmt: skip
            if got[place] == mistake != want[place]:
                raise Wrong(message)
        if got != want:
            raise Wrong(f"{case} it should be {want}, it is {got}.")
    return "One grows with the square of the length, the other with the length."


@exercise("linear-features", "positive_features")
def positive_features(answer: Callable) -> str:
    """Examine FAVOR+'s positive random features, every direction with its opposite."""
    x, y, w = 0.5 * _draw(1, 2, 4, 3), 0.5 * _draw(13, 2, 4, 3), _draw(2, 6, 3)
    got = call(answer, x, w)
    angles, squares = x @ w.T, x.square().sum(-1, keepdim=True)
    if isinstance(got, Tensor) and got.shape == (2, 4, 6):
        for factor in (torch.ones_like(squares), (-squares / 2).exp()):
            added = (angles.exp() + (-angles).exp()) * factor
            if near(got / got.sum(), added / added.sum()):
                raise Wrong(
                    "The features of w and -w are added, so their products mix both. Keep them apart: 2m."
                )
        raise Wrong("It returns m features. Every row of w gives two: one for w, one for -w.")
    if isinstance(got, Tensor) and got.shape in ((2, 8, 6), (4, 4, 6)):
        raise Wrong("The halves for w and -w are joined along another axis. Features stand along the last.")
    got = want_tensor(got, (2, 4, 12))
    waves = _sorted(torch.cat((angles.cos(), angles.sin()), -1))
    if any(near(_sorted(got) * root, waves) for root in (1.0, 6**0.5, 12**0.5)):
        raise Wrong("Cosines and sines estimate the Gaussian kernel exp(-|q - k|²/2). Take the exponential.")
    if (got <= 0).any():
        raise Wrong("Some features are not positive. Take the exponential of each exponent.")
    both, root = torch.cat((angles, -angles), -1), math.sqrt(12)
    want = (both - squares / 2).exp() / root
    small = both * 3**-0.25
    for mistake, message in (
        (both.exp() / root, "The half square is missing: exp(w·x) alone is exp(|x|²/2) too large on average."),
        ((both - squares).exp() / root, "It takes away the whole square of the length. Half of it belongs to each factor."),
        ((both + squares / 2).exp() / root, "The half square has the wrong sign: it must be taken away."),
        (torch.cat((angles - squares / 2, squares / 2 - angles), -1).exp() / root,
         "The half square turns its sign with w. It doesn't change: -w is as good a direction as w."),
        ((both - squares.sqrt() / 2).exp() / root, "It takes away half of the length. Square it first."),
        (want * root, "The features are not divided: their products sum over 2m features, and a mean divides by 2m."),
        (want * math.sqrt(2), "It divides by the root of m. There are 2m features now: divide by the root of 2m."),
        (want / root, "Each factor is divided by 2m, so the product by (2m)². Divide by the root of 2m."),
        (want * root / 6, "Each factor is divided by m. The product should be divided by 2m: take the root of that."),
        (torch.cat(((angles - squares / 2).exp(),) * 2, -1) / root, "Both halves are the same. One of them needs -w."),
        ((both - x.square().sum((-1, -2), keepdim=True) / 2).exp() / root,
         "The squares are summed over the whole text. Each token has a length of its own."),
        ((both - x.square().mean(-1, keepdim=True) / 2).exp() / root, "It takes the mean of the squares. The length squared is their sum."),
        (want * math.sqrt(12 / 3), "It divides by the root of d, the width. The mean goes over the features."),
        ((small - squares / 2 * 3**-0.5).exp() / root, "It scales x by the fourth root of d once more. The scale is in x already."),
        (want / want.sum(-1, keepdim=True), "The features are made to sum to 1: a softmax. The mean divides by a number that is the same for all."),
    ):  # fmt: skip
        if near(_sorted(got), _sorted(mistake)):
            raise Wrong(message)
    if not near(_sorted(got), _sorted(want)):
        raise Wrong(
            f"The first row should be {rounded(want[0, 0])}, in any order; it is {rounded(got[0, 0])}."
        )
    other = want_tensor(call(answer, y, w), (2, 4, 12))
    angles, squares = y @ w.T, y.square().sum(-1, keepdim=True)
    keys = (torch.cat((angles, -angles), -1) - squares / 2).exp() / root
    if not near(got @ other.mT, want @ keys.mT):
        raise Wrong(
            "A query's features and a key's stand in different orders: their products must pair w with w."
        )
    got = want_tensor(call(answer, x[0, :1], w), (1, 12))
    if not near(_sorted(got), _sorted(want[0, :1])):
        raise Wrong("One token without a batch gets other features. Sum the squares along the last axis.")
    return "Positive, every direction twice, and their products are exp(q·k) on average."


def _sorted(x: Tensor) -> Tensor:
    return x.sort(-1).values


@exercise("linear-running-state", "causal_linear")
def causal_linear(answer: Callable) -> str:
    """Examine causal linear attention by a running state that fades."""
    # m = d in one sentence, where a transposed state does not raise; then a batch, m ≠ d.
    q, k, v, gate = _text(3, 5, m=3, d=3)
    got = want_tensor(call(answer, q, k, v, gate), (5, 3))

    def mean(weights: Tensor, of: Tensor | None = None) -> Tensor:
        return weights @ v / (weights if of is None else of).sum(-1, keepdim=True)

    whole, faded = q @ k.T, _faded(gate)
    weights, plain, kept, swapped = (
        whole * faded,
        whole.tril(),
        whole * faded / (1 - gate.T),
        whole * _faded(1 - gate),
    )
    states, sums = torch.einsum("ij,jm,jd->imd", faded, k, v), faded @ k  # (n, m, d), (n, m)
    both = "The gate acts on both sums, or the weights do not sum to 1."
    leak = "which holds later keys: a leak. Let that sum run too."
    for mistake, message in (
        (mean(whole), "Every token sees the whole text, and the gate is not used. Read the state as it is at token i."),
        (mean(plain), "The gate is not used: nothing fades."),
        (weights @ v, "The weights are not divided by their sum. Let the sum of keys run along, and divide."),
        (mean(kept), "The new term is written whole. It enters with 1 - gate, in both sums."),
        (mean(kept, weights), "The new value is written whole. It enters with 1 - gate, as its key does in the other sum."),
        (mean(weights, kept), "The new key is added whole to the sum of keys. It enters with 1 - gate there too."),
        (mean(weights, plain), f"The sum of keys does not fade. {both}"),
        (mean(kept, plain), f"The sum of keys does not fade. {both}"),
        (mean(plain, weights), f"The matrix does not fade. {both}"),
        (mean(swapped), "gate and 1 - gate have changed places: the gate says how much stays."),
        (mean(weights * gate.T), "What is written fades at once. Let the old state fade first, then write."),
        (mean(weights, whole), f"It divides by the sum over the whole text, {leak}"),
        (weights @ v / (q @ sums[-1])[:, None], f"It divides by the sum of keys at the end, {leak}"),
        (weights @ v / torch.arange(1, 6)[:, None], "It divides by the number of tokens. Divide by the sum of the weights."),
        (weights @ v / sums.sum(-1, keepdim=True), "It divides by the sum of keys alone. That vector has to meet the query: q · z."),
        (torch.einsum("im,ijm->ij", q, states) / weights.sum(-1, keepdim=True),
         "The state is read transposed: q·S has its rows along the features of the key."),
        (states.sum(1) / sums.sum(-1, keepdim=True), "The query is not asked. The state is read with q, and so is the sum of keys."),
    ):  # fmt: skip
        if near(got, mistake, 1e-4):
            raise Wrong(message)
    # Whether the state has faded before it is read or not, the division takes out.
    if near(got[1:], mean(weights.tril(-1))[1:], 1e-4):
        raise Wrong("Off by one: token i reads the state before it has written. It may attend to itself.")
    if got.isnan().any():
        raise Wrong("There is a NaN. Token 0 reads what it has written itself, so its sum is not 0.")
    if not near(got, mean(weights), 1e-4):
        raise Wrong(f"The second row should be {rounded(mean(weights)[1])}, it is {rounded(got[1])}.")
    q, k, v, gate = _text(6, 2, 3, 4, m=6, d=2)
    got = want_tensor(call(answer, q, k, v, gate), (2, 3, 4, 2))
    weights = q @ k.mT * _faded(gate)
    if not near(got, weights @ v / weights.sum(-1, keepdim=True), 1e-4):
        raise Wrong("With a batch the answer changes. Each text needs a state of its own.")
    q, k, v, gate = _text(9, 64, m=2, d=2)
    with Watch() as watch:
        call(answer, q, k, v, gate)
    if watch.numbers >= 64 * 64:
        raise Wrong("It makes a tensor of n × n numbers. Carry a state from token to token instead.")
    return "A matrix and a vector run along and fade, and every token reads what is written so far."


def _text(seed: int, *shape: int, m: int, d: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Positive features of queries and keys, values, and gates from 0.2 to 0.8."""
    q, k, v, gate = (_draw(seed + i, *shape, width) for i, width in enumerate((m, m, d, 1)))
    return q.exp(), k.exp(), v, 0.2 + 0.6 * gate.sigmoid()


def _faded(gate: Tensor) -> Tensor:
    """Return (..., n, n): key j is written with 1 - g_j, and every later gate up to i has faded it."""
    passed = gate.log().cumsum(-2)
    return ((passed - passed.mT).exp() * (1 - gate.mT)).tril()


@exercise("linear-delta", "write")
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
        (state + torch.outer(k, v - 0.5 * held), "beta multiplies the old answer alone. It must multiply the whole difference."),
        (state + 0.5 * torch.outer(k, v) - torch.outer(k, held), "beta multiplies the value alone. It must multiply the whole difference."),
        (state - 0.5 * torch.outer(k, held), "It takes the old answer away and writes nothing in its place."),
        (state + 0.5 * (v - held), "The difference goes into every row. It is written under k: an outer product."),
        (0.5 * torch.outer(k, v - held), "That is the change alone. Add it to the state."),
        (torch.outer(k, v), "The whole state is replaced. Only what this key holds may change."),
        (state + 0.5 * torch.outer(k, v - state.sum(0)), "What the key holds is k @ state, not the sum of all rows."),
        (state + 0.25 * torch.outer(k, v - held), "beta is used twice."),
        (k @ (state + 0.5 * torch.outer(k, v - held)), "That is what the key holds afterwards. Return the state."),
    ):  # fmt: skip
        if near(got, mistake):
            raise Wrong(message)
    want = state + 0.5 * torch.outer(k, v - held)
    if not near(got, want):
        raise Wrong(f"The first row should be {rounded(want[0])}, it is {rounded(got[0])}.")
    for beta in (1.0, 0.3):
        state, v = _draw(12, 3, 2), _draw(11, 2)
        got = want_tensor(call(answer, state, k, v, beta), (3, 2))
        if beta == 1.0 and not near(k @ got, v):
            raise Wrong("With beta = 1 the key should answer with the new value alone.")
        if not near(got, state + beta * torch.outer(k, v - k @ state)):
            raise Wrong(
                f"With beta = {beta} and a state of 3 by 2 the answer is another. Use beta as it is given."
            )
    return "The old answer is taken away, the new one written; orthogonal keys keep theirs."
