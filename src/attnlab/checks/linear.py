"""Exercises on linear attention: two orders of the brackets, positive features, a state that fades, the delta rule."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnlab.checks.exercise import Case, at_most, case, draws, exercise, gradient, mistake, precisions


class Costs(NamedTuple):
    """Multiplications in both orders; the names are those that a message uses."""

    cost_of_weights_first: int
    cost_of_values_first: int


def multiplications(n: int, m: int, d: int) -> Costs:
    """The reference."""
    return Costs(n * n * (m + d), 2 * n * m * d)


WEIGHTS_FIRST: list[tuple[str, Callable[[int, int, int], int]]] = [
    ("", lambda n, m, d: n * n * (m + d)),
    ("Weights first leaves out the values: n² · d more for weights times values.", lambda n, m, d: n * n * m),
    ("Weights first leaves out the weights: n² · m more for queries times keys.", lambda n, m, d: n * n * d),
    ("Weights first multiplies the two products. One comes after the other: add them.", lambda n, m, d: n * n * m * d),
    ("A weight is a product of features: m multiplications each, not d.", lambda n, m, d: 2 * n * n * d),
    ("Weights first counts the division too. That is not asked for: count the two matrix products.", lambda n, m, d: n * n * (m + d + 1)),
    ("Every query sees every key here: nothing is causal.", lambda n, m, d: n * (n + 1) // 2 * (m + d)),
]  # fmt: skip
VALUES_FIRST: list[tuple[str, Callable[[int, int, int], int]]] = [
    ("", lambda n, m, d: 2 * n * m * d),
    ("Values first counts one product only. The sums are built once, then every query reads them.", lambda n, m, d: n * m * d),
    ("Values first reads the sums once. Every one of the n queries reads them.", lambda n, m, d: n * m * d + m * d),
    ("Values first reads the sums once. Every one of the n queries reads them.", lambda n, m, d: n * m * d + m),
    ("Values first counts the division too. That is not asked for: count the two matrix products.", lambda n, m, d: 2 * n * m * d + n * m),
    ("Values first counts the division too. That is not asked for: count the two matrix products.", lambda n, m, d: 2 * n * m * d + 2 * n * m),
    ("Values first never makes n² weights. A query meets the (m, d) sums: m · d products.", lambda n, m, d: n * m * d + n * n * d),
    ("The sums are m × d: a value has d numbers, not m.", lambda n, m, d: 2 * n * m * m),
    ("The sums are m × d: a key has m features, not d.", lambda n, m, d: 2 * n * d * d),
    ("Values first multiplies the two products. One comes after the other: add them.", lambda n, m, d: (n * m * d) ** 2),
]  # fmt: skip

exercise(
    "linear-costs",
    "multiplications",
    reference=multiplications,
    cases=[
        case("", n=n, m=m, d=d)
        for n, m, d in ((1000, 16, 64), (10, 64, 32), (7, 3, 5), (1, 8, 6), (50, 1, 9), (12, 20, 1))
    ],
    mistakes=[
        mistake("The two have changed places: weights first comes first.", lambda n, m, d: multiplications(n, m, d)[::-1]),
        mistake(
            "Count multiplications. An addition goes with each, but is not asked for.",
            lambda n, m, d: tuple(2 * x for x in multiplications(n, m, d)),
        ),
        *(
            mistake(" ".join(filter(None, (one, two))), lambda n, m, d, f=f, g=g: (f(n, m, d), g(n, m, d)))
            for one, f in WEIGHTS_FIRST
            for two, g in VALUES_FIRST
            if one or two
        ),
    ],
    praise="One grows with the square of the length, the other with the length.",
)  # fmt: skip


def positive_features(x: Tensor, w: Tensor) -> Tensor:
    """The reference."""
    return _directions()(x, w)


def _directions(square: Callable[[Tensor], Tensor] = torch.square, divide: Callable[..., float] | None = None,
                second: float = -1.0, turned: bool = False, half: float = 0.5, axis: int = -1) -> Callable:  # fmt: skip
    """The features of w and of -w, with one thing wrong."""

    def features(x: Tensor, w: Tensor) -> Tensor:
        length = half * square(x).sum(-1, keepdim=True)
        angles = x @ w.mT
        both = torch.cat((angles - length, second * (angles if not turned else angles - length) - (not turned) * length), axis)
        return both.exp() / (divide(*w.shape) if divide else math.sqrt(2 * len(w)))

    return features  # fmt: skip


def _waves(divide: Callable[[int], float]) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda x, w: torch.cat(((x @ w.mT).cos(), (x @ w.mT).sin()), -1) / divide(len(w))


def _in_one_order(features: Any) -> Any:
    """Sort features, for all tokens alike: their order is free, as long as it is the same for every token."""
    if not isinstance(features, Tensor) or features.dim() == 0 or not features.is_floating_point():
        return features
    return features[..., features.detach().flatten(0, -2).double().nan_to_num().sum(0).argsort()]


exercise(
    "linear-features",
    "positive_features",
    reference=lambda x, w: _in_one_order(positive_features(x, w)),
    read=_in_one_order,
    cases=[
        *draws(x="... n d", w="m d", lead=[(2,), (), (3, 2), (4,)], spread=0.7, seeds=8),
        case("a token of zeros", "Its features are all alike: one, over the root of their number.", x=torch.zeros(3, 4), w=torch.eye(2, 4)),
        case(
            "a token of length 6 beside one of length 0.6",
            "Each token has a length of its own.",
            x=torch.tensor([[6.0, 0.0, 0.0], [0.0, -0.36, 0.48]]),
            w=torch.tensor([[1.0, 0.5, -0.25], [-0.5, 1.5, 0.75], [0.25, -1.0, 2.0], [1.25, 0.0, 0.5]]),
        ),
    ],
    promises=[precisions("float64")],
    mistakes=[
        mistake("The features of w and -w are added, so their products mix both. Keep them apart: 2m.",
                lambda x, w: sum(positive_features(x, w).chunk(2, -1))),
        *(
            mistake("It returns m features. Every row of w gives two: one for w, one for -w.", does)
            for does in (
                lambda x, w: positive_features(x, w)[..., : len(w)],
                lambda x, w: positive_features(x, w)[..., : len(w)] * math.sqrt(2),
            )
        ),
        mistake("The halves for w and -w are joined along another axis. Features stand along the last.", _directions(axis=-2)),
        *(
            mistake("Cosines and sines estimate the Gaussian kernel exp(-|q - k|²/2). Take the exponential.", _waves(divide))
            for divide in (lambda m: 1.0, lambda m: m**0.5, lambda m: (2 * m) ** 0.5)
        ),
        mistake("Some features are not positive. Take the exponential of each exponent.", lambda x, w: positive_features(x, w).log()),
        mistake("The half square is missing: exp(w·x) alone is exp(|x|²/2) too large on average.", _directions(half=0.0)),
        mistake("It takes away the whole square of the length. Half of it belongs to each factor.", _directions(half=1.0)),
        mistake("The half square has the wrong sign: it must be taken away.", _directions(half=-0.5)),
        mistake("The half square turns its sign with w. It doesn't change: -w is as good a direction as w.", _directions(turned=True)),
        mistake("It takes away half of the length. Square it first.", _directions(lambda x: x.norm(dim=-1, keepdim=True))),
        mistake("The features are not divided: their products sum over 2m features, and a mean divides by 2m.", _directions(divide=lambda m, d: 1.0)),
        mistake("It divides by the root of m. There are 2m features now: divide by the root of 2m.", _directions(divide=lambda m, d: m**0.5)),
        mistake("Each factor is divided by 2m, so the product by (2m)². Divide by the root of 2m.", _directions(divide=lambda m, d: 2 * m)),
        mistake("Each factor is divided by m. The product should be divided by 2m: take the root of that.", _directions(divide=lambda m, d: m)),
        *(
            mistake("It divides by a root of the width d. The mean goes over the features, 2m of them.", _directions(divide=divide))
            for divide in (lambda m, d: d**0.5, lambda m, d: (2 * d) ** 0.5, lambda m, d: (4 * d) ** 0.5)
        ),
        mistake("Both halves are the same. One of them needs -w.", _directions(second=1.0)),
        mistake(
            "The squares are summed over the whole text. Each token has a length of its own.",
            lambda x, w: (torch.cat((x @ w.mT, -x @ w.mT), -1) - x.square().sum((-1, -2), keepdim=True) / 2).exp() / math.sqrt(2 * len(w)),
        ),
        mistake("It takes the mean of the squares. The length squared is their sum.", _directions(lambda x: x.square() / x.shape[-1])),
        mistake("It scales x by the fourth root of d once more. The scale is in x already.", lambda x, w: positive_features(x / x.shape[-1] ** 0.25, w)),
        mistake(
            "The features are made to sum to 1: a softmax. The mean divides by a number that is the same for all.",
            lambda x, w: torch.cat((x @ w.mT, -x @ w.mT), -1).softmax(-1),
        ),
        mistake(
            "Each token's exponents lose their own maximum. Then products of features are no longer exp(q·k) on average.",
            lambda x, w: (lambda e: (e - e.amax(-1, keepdim=True)).exp() / math.sqrt(2 * len(w)))(positive_features(x, w).log()),
        ),
        mistake(
            "A query's features and a key's stand in different orders: their products must pair w with w.",
            lambda x, w: positive_features(x, w).sort(-1).values,
        ),
        mistake(
            "The absolute value of w·x comes first: a query's features and a key's then stand in different orders.",
            lambda x, w: (torch.cat(((x @ w.mT).abs(), -(x @ w.mT).abs()), -1) - x.square().sum(-1, keepdim=True) / 2).exp()
            / math.sqrt(2 * len(w)),
        ),
    ],
    praise="Positive, every direction twice, in the same order for every token: their products are exp(q·k) on average.",
)  # fmt: skip


def _walk(stay: Callable = lambda g: g, enter: Callable = lambda g: 1 - g, stay_sum: Callable | None = None,
          enter_sum: Callable | None = None, late: bool = False, early: bool = False, transposed: bool = False,
          asked: bool = True, divide: str = "q·z", eps: float = 0.0) -> Callable:  # fmt: skip
    """The gated recurrence, with one thing wrong."""
    stay_sum, enter_sum = stay_sum or stay, enter_sum or enter

    def causal_linear(q: Tensor, k: Tensor, v: Tensor, gate: Tensor) -> Tensor:
        state, total = torch.zeros_like(k[..., :1, :].mT * v[..., :1, :]), torch.zeros_like(k[..., 0, :])
        out = []
        for i in range(k.shape[-2]):
            g, key, query = gate[..., i, :], k[..., i, :], q[..., i, :] if asked else torch.ones_like(q[..., i, :])
            written = (
                stay(g)[..., None] * state + enter(g)[..., None] * key[..., None] * v[..., i, None, :],
                stay_sum(g) * total + enter_sum(g) * key,
            )
            if late:
                term, old = key[..., None] * v[..., i, None, :], total
                written = g[..., None] * (state + (1 - g)[..., None] * term), g * (old + (1 - g) * key)
            seen, sums = (state, total) if early else written
            state, total = written
            above = (query[..., None] * seen).sum(-2) if not transposed else (query[..., None, :] * seen).sum(-1)
            below = (query * sums).sum(-1, keepdim=True) if divide == "q·z" else sums.sum(-1, keepdim=True)
            below = {"tokens": i + 1, "nothing": 1.0}.get(divide, below)
            out.append(above / (below + eps))
        out = torch.stack(out, -2)
        return out / (q * total[..., None, :]).sum(-1, keepdim=True) if divide == "end" else out

    return causal_linear


def _weights(q: Tensor, k: Tensor, gate: Tensor) -> Tensor:
    """Return (..., n, n): key j is written with 1 - g_j, and every later gate up to i has faded it."""
    passed = gate.double().log().cumsum(-2)
    return (q @ k.mT).double() * ((passed - passed.mT).exp() * (1 - gate.mT)).tril()


def _whole(q: Tensor, k: Tensor, v: Tensor, gate: Tensor, over: str = "all") -> Tensor:
    """See the whole text, without a gate; or divide by what the whole text sums to."""
    all_of_it = q @ k.mT
    weights = all_of_it if over == "all" else _weights(q, k, gate).to(v.dtype)
    return weights @ v / all_of_it.sum(-1, keepdim=True)


def _products(q: Tensor, k: Tensor, v: Tensor, gate: Tensor) -> Tensor:
    """Divide by the product of all gates so far: right, until it is too small for a number."""
    passed = gate.cumprod(-2)
    k = k * (1 - gate) / passed
    state = (k[..., None] * v[..., None, :]).cumsum(-3)
    return (q[..., None, :] @ state).squeeze(-2) / (q * k.cumsum(-2)).sum(-1, keepdim=True)


def _text(lead: tuple[int, ...], n: int, m: int, d: int, name: str = "", hint: str = "",
          gates: tuple[float, float] = (0.2, 0.8)) -> Case:  # fmt: skip
    """Positive features of queries and keys, values, and gates between two numbers."""
    draw = torch.Generator().manual_seed(n + m)
    q, k = (torch.randn(*lead, n, m, generator=draw).exp() for _ in range(2))
    v, share = torch.randn(*lead, n, d, generator=draw), torch.rand(*lead, n, 1, generator=draw)
    return case(name, hint, q=q, k=k, v=v, gate=gates[0] + (gates[1] - gates[0]) * share)


def _one(g: Tensor) -> Tensor:
    return torch.ones_like(g)


LONG = 200
"""So many tokens that reading all stored keys for each of them dwarfs a state's work."""

exercise(
    "linear-running-state",
    "causal_linear",
    reference=_walk(),
    cases=[
        # m = d first: there a transposed state does not raise.
        _text((), 5, 3, 3, "5 tokens, 3 features and values of width 3"),
        _text((2, 3), 4, 6, 2),
        _text((3,), 9, 2, 5),
        _text((1,), 12, 4, 7),
        _text((2,), 1, 5, 3, "a single token", "It reads what it has written itself: its own value comes out."),
        _text((), 40, 3, 2, "gates from 0.95 to 0.99", "What was written long ago still counts.", (0.95, 0.99)),
        _text((2,), 7, 3, 4, "gates from 0.001 to 0.01", "Hardly anything stays: nearly the token's own value comes out.", (0.001, 0.01)),
        _text((), LONG, 2, 3, f"{LONG} tokens", "The product of so many gates is 0 for the machine; let a state fade step by step."),
    ],
    promises=[
        gradient("q", "k", "v", "gate"),
        precisions("float64"),
        at_most(
            "The output is right, but every token meets all keys before it again: about n² numbers are made. Carry a state "
            "from token to token instead.",
            made=lambda q, k, v, gate: 3 * q.shape[-2] ** 2 if q.shape[-2] >= LONG else math.inf,
        ),
    ],
    mistakes=[
        mistake("Every token sees the whole text, and the gate is not used. Read the state as it is at token i.", _whole),
        mistake("The gate is not used: nothing fades.", _walk(_one, _one)),
        mistake("The weights are not divided by their sum. Let the sum of keys run along, and divide.", _walk(divide="nothing")),
        mistake("The new term is written whole. It enters with 1 - gate, in both sums.", _walk(enter=_one)),
        mistake("The new value is written whole. It enters with 1 - gate, as its key does in the other sum.", _walk(enter=_one, enter_sum=lambda g: 1 - g)),
        mistake("The new key is added whole to the sum of keys. It enters with 1 - gate there too.", _walk(enter_sum=_one)),
        *(
            mistake("The sum of keys does not fade. The gate acts on both sums, or the weights do not sum to 1.", does)
            for does in (
                _walk(stay_sum=_one, enter_sum=_one),
                _walk(stay_sum=_one),
                _walk(enter=_one, stay_sum=_one, enter_sum=_one),
            )
        ),
        *(
            mistake("The matrix does not fade. The gate acts on both sums, or the weights do not sum to 1.", does)
            for does in (
                _walk(_one, _one, lambda g: g, lambda g: 1 - g),
                _walk(_one, lambda g: 1 - g, lambda g: g, lambda g: 1 - g),
            )
        ),
        mistake("gate and 1 - gate have changed places: the gate says how much stays.", _walk(lambda g: 1 - g, lambda g: g)),
        mistake("What is written fades at once. Let the old state fade first, then write.", _walk(late=True, divide="q·z")),
        mistake("It divides by the sum over the whole text, which holds later keys: a leak. Let that sum run too.", lambda *a: _whole(*a, over="text")),
        mistake("It divides by the sum of keys at the end, which holds later keys: a leak. Let that sum run too.",
                lambda q, k, v, gate: _walk(divide="nothing")(q, k, v, gate) / (q @ _walk(divide="nothing")(torch.ones_like(gate), torch.ones_like(gate), k, gate)[..., -1:, :].mT)),
        mistake("It divides by the number of tokens. Divide by the sum of the weights.", _walk(divide="tokens")),
        mistake("It divides by the sum of keys alone. That vector has to meet the query: q · z.", _walk(divide="z")),
        mistake("The query is not asked. The state is read with q, and so is the sum of keys.", _walk(asked=False)),
        *(
            mistake("Off by one: token i reads the state before it has written. It may attend to itself.", _walk(early=True, eps=eps))
            for eps in (0.0, 1e-12, 1e-9, 1e-6)
        ),
        *(
            mistake("Something is added to what it divides by. Token 0 reads what it has written itself, so the sum is never 0.", _walk(eps=eps))
            for eps in (1e-2, 1e-3, 1e-4, 1e-5)
        ),
        mistake("Queries and keys have changed places.", lambda q, k, v, gate: _walk()(k, q, v, gate)),
        mistake("Only a few tokens back are seen. What is older has faded, but still counts.",
                lambda q, k, v, gate: (lambda w: w @ v / w.sum(-1, keepdim=True))(_weights(q, k, gate).triu(-4).to(v.dtype))),
        mistake("It divides by the product of all gates so far, which is 0 for the machine in a long text. Let a state fade step by step.", _products),
    ],
    praise="A matrix and a vector run along and fade, and every token reads what is written so far, at the same cost each.",
)  # fmt: skip


def write(state: Tensor, k: Tensor, v: Tensor, beta: float) -> Tensor:
    """The reference."""
    return state + beta * torch.outer(k, v - k @ state)


def _step(seed: int, m: int, d: int, beta: float, name: str = "", hint: str = "", k: list[float] | None = None) -> Case:
    draw = torch.Generator().manual_seed(seed)
    state, v, key = torch.randn(m, d, generator=draw), torch.randn(d, generator=draw), torch.randn(m, generator=draw)
    key = key / key.norm() if k is None else torch.tensor(k)
    return case(name, hint, state=state, k=key, v=v, beta=beta)  # fmt: skip


def _change(change: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Add a change to the state; it is made of the key, the value, the old answer, beta and the state."""
    return lambda state, k, v, beta: state + change(k, v, k @ state, beta, state)


exercise(
    "linear-delta",
    "write",
    reference=write,
    cases=[
        # Square first: there a transposed state does not raise.
        _step(9, 3, 3, 0.5, "a state of 3 by 3 and beta = 0.5"),
        _step(10, 4, 4, 0.3, "a state of 4 by 4 and beta = 0.3"),
        _step(11, 3, 2, 1.0, "beta = 1", "The key answers with the new value alone.", k=[-0.6, 0.0, 0.8]),
        _step(12, 5, 7, 0.9),
        _step(13, 8, 3, 0.05),
        _step(14, 1, 6, 0.7, "a key of one number, −1", "A key may be negative.", k=[-1.0]),
        _step(15, 4, 5, 0.6, "a key along one axis", "All rows but one stay: they belong to keys at right angles.", k=[0.0, 0.0, -1.0, 0.0]),
        _step(16, 2, 9, 0.0, "beta = 0", "Nothing is written, and the state stays."),
        _step(17, 6, 2, 1.5, "beta = 1.5", "Use beta as it is given."),
    ],
    promises=[gradient("state", "v"), precisions("float64")],
    mistakes=[
        mistake("It adds the value to what is there. Overwriting first takes away what the key holds.", _change(lambda k, v, held, beta, s: beta * torch.outer(k, v))),
        mistake("Wrong sign: this moves the state away from the value.", _change(lambda k, v, held, beta, s: -beta * torch.outer(k, v - held))),
        mistake("The outer product is transposed: rows of the state belong to the key.", _change(lambda k, v, held, beta, s: beta * torch.outer(v - held, k))),
        mistake("What the key holds is k @ state, not state @ k: rows belong to the key.", _change(lambda k, v, held, beta, s: beta * torch.outer(k, v - s @ k))),
        mistake("The whole state fades. Only what this key holds may change.", _change(lambda k, v, held, beta, s: beta * torch.outer(k, v) - beta * s)),
        mistake("The rate is missing: beta says how much of the difference is written.", _change(lambda k, v, held, beta, s: torch.outer(k, v - held))),
        mistake("beta multiplies the value alone. It must multiply the whole difference.", _change(lambda k, v, held, beta, s: torch.outer(k, beta * v - held))),
        mistake("beta multiplies the old answer alone. It must multiply the whole difference.", _change(lambda k, v, held, beta, s: torch.outer(k, v - beta * held))),
        mistake("It takes the old answer away and writes nothing in its place.", _change(lambda k, v, held, beta, s: -beta * torch.outer(k, held))),
        mistake("The difference goes into every row. It is written under k: an outer product.", _change(lambda k, v, held, beta, s: beta * (v - held))),
        mistake("That is the change alone. Add it to the state.", _change(lambda k, v, held, beta, s: beta * torch.outer(k, v - held) - s)),
        mistake("The whole state is replaced. Only what this key holds may change.", lambda state, k, v, beta: torch.outer(k, v)),
        mistake("What the key holds is k @ state, not the sum of all rows.", _change(lambda k, v, held, beta, s: beta * torch.outer(k, v - s.sum(0)))),
        mistake("beta is used twice.", _change(lambda k, v, held, beta, s: beta * beta * torch.outer(k, v - held))),
        mistake("That is what the key holds afterwards. Return the state.", lambda state, k, v, beta: k @ write(state, k, v, beta)),
        *(
            mistake("It takes the key's entries without their sign, or without the negative ones. A key points where it points.", does)
            for does in (
                lambda state, k, v, beta: write(state, k.abs(), v, beta),
                lambda state, k, v, beta: write(state, k.relu(), v, beta),
            )
        ),
        mistake("beta is kept between 0 and 1. Use it as it is given.", lambda state, k, v, beta: write(state, k, v, min(max(beta, 0), 1))),
        mistake("beta and 1 - beta have changed places.", lambda state, k, v, beta: write(state, k, v, 1 - beta)),
    ],
    praise="The old answer is taken away, the new one written; keys at right angles keep theirs.",
)  # fmt: skip
