"""Exercises on linear attention: a state that fades, and one step of the delta rule."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.checks.exercise import Case, at_most, case, exercise, gradient, late, mistake, precisions


def _walk(stay: Callable = lambda g: g, enter: Callable = lambda g: 1 - g, stay_sum: Callable | None = None,
          enter_sum: Callable | None = None, late: bool = False, early: bool = False, transposed: bool = False,
          asked: bool = True, divide: str = "q·z", eps: float = 0.0) -> Callable:  # fmt: skip
    """The gated recurrence, with one thing wrong."""
    stay_sum, enter_sum = stay_sum or stay, enter_sum or enter

    def causal_linear(q: Tensor, k: Tensor, v: Tensor, gate: Tensor) -> Tensor:
        # The sum of keys is one more column of the state, beside a value of 1.
        stays = torch.cat((stay(gate).expand(v.shape), stay_sum(gate)), -1)[..., None, :]
        enters = torch.cat((enter(gate) * v, enter_sum(gate)), -1)[..., None, :]
        terms = k[..., None] * enters  # (..., n, m, d + 1)
        if late:
            terms = stays * terms
        state, states = torch.zeros_like(terms[..., 0, :, :]), []
        for stays_now, term in zip(stays.unbind(-3), terms.unbind(-3), strict=True):
            state = torch.addcmul(term, stays_now, state)
            states.append(state)
        states = torch.stack(states, -3)
        if early:
            states = torch.cat((torch.zeros_like(states[..., :1, :, :]), states[..., :-1, :, :]), -3)
        query = q if asked else torch.ones_like(q)
        seen, sums = states[..., :-1], states[..., -1]
        above = (query[..., None] * seen).sum(-2) if not transposed else (query[..., None, :] * seen).sum(-1)
        if divide == "end":
            sums = sums[..., -1:, :]
        below = (sums if divide == "z" else query * sums).sum(-1, keepdim=True)
        tokens = torch.arange(1, k.shape[-2] + 1, dtype=v.dtype)[:, None]
        return above / ({"tokens": tokens, "nothing": 1.0}.get(divide, below) + eps)

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
          gates: tuple[float, float] = (0.2, 0.8), seed: int = 0) -> Case:  # fmt: skip
    """Positive features of queries and keys, values, and gates between two numbers."""
    draw = torch.Generator().manual_seed(n + m + seed)
    q, k = (torch.randn(*lead, n, m, generator=draw).exp() for _ in range(2))
    v, share = torch.randn(*lead, n, d, generator=draw), torch.rand(*lead, n, 1, generator=draw)
    return case(name, hint, q=q, k=k, v=v, gate=gates[0] + (gates[1] - gates[0]) * share)


def _one(g: Tensor) -> Tensor:
    return torch.ones_like(g)


def _first_whole(g: Tensor) -> Tensor:
    """What enters where a state begins with the first term, instead of with its share of it."""
    return torch.cat((torch.ones_like(g[..., :1, :]), 1 - g[..., 1:, :]), -2)


LONG = 1000
"""So many tokens that meeting all stored keys for each of them makes thirty times the numbers that a state does."""

exercise(
    "linear-running-state",
    "causal_linear",
    reference=_walk(),
    cases=[
        # m = d first: there a transposed state does not raise.
        _text((), 5, 3, 3, "5 tokens, 3 features and values of width 3"),
        _text((2, 3), 4, 6, 2),
        _text((3,), 6, 2, 5),
        _text((1,), 8, 4, 7),
        _text((2,), 1, 5, 3, "a single token", "It reads what it has written itself: its own value comes out."),
        _text((), 60, 3, 2, "gates from 0.95 to 0.99", "What was written long ago still counts.", (0.95, 0.99)),
        _text((2,), 4, 3, 4, "gates from 0.001 to 0.01", "Hardly anything stays: nearly the token's own value comes out.", (0.001, 0.01)),
        *late(
            _text((), 5, 3, 3, "5 other tokens, 3 features and values of width 3", seed=1),
            _text((), LONG, 2, 3, f"{LONG:,} tokens", "The product of so many gates is 0 for the machine; let a state fade step by step.", (0.05, 0.4)),
        ),
    ],
    promises=[
        gradient("q", "k", "v", "gate"),
        precisions("float64"),
        at_most(
            "The output is right, but about n² numbers are made: a token costs more in a longer text. Carry a state from "
            "token to token, and join the outputs once, at the end.",
            made=lambda q, k, v, gate: 0.75 * q.shape[-2] ** 2 if q.shape[-2] >= LONG else math.inf,
        ),
    ],
    mistakes=[
        mistake("Every token sees the whole text, and the gate is not used. Read the state as it is at token i.", _whole),
        mistake("The gate is not used: nothing fades.", _walk(_one, _one)),
        mistake("The weights are not divided by their sum. Let the sum of keys run along, and divide.", _walk(divide="nothing")),
        mistake("The new term is written whole. It enters with 1 - gate, in both sums.", _walk(enter=_one)),
        *(
            mistake("The first term is written whole. It enters with 1 - gate, as every other does: before it the state is 0.", does)
            for does in (_walk(enter=_first_whole), _walk(enter=_first_whole, enter_sum=lambda g: 1 - g))
        ),
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
        mistake("What a token writes fades by its own gate too. Let the old state fade by this token's gate first, then write.", _walk(late=True)),
        mistake("It divides by the sum over the whole text, which holds later keys: a leak. Let that sum run too.", lambda *a: _whole(*a, over="text")),
        mistake("It divides by the sum of keys at the end, which holds later keys: a leak. Let that sum run too.",
                lambda q, k, v, gate: _walk(divide="nothing")(q, k, v, gate) / (q @ _walk(divide="nothing")(torch.ones_like(gate), torch.ones_like(gate), k, gate)[..., -1:, :].mT)),
        mistake("It divides by the number of tokens. Divide by the sum of the weights.", _walk(divide="tokens")),
        mistake("It divides by the sum of keys alone. That vector has to meet the query: q · z.", _walk(divide="z")),
        mistake("The state is read transposed: q·S has its rows along the features of the key.", _walk(transposed=True)),
        mistake("The query is not asked. The state is read with q, and so is the sum of keys.", _walk(asked=False)),
        *(
            mistake("Off by one: token i reads the state before it has written. It may attend to itself.", _walk(early=True, eps=eps))
            for eps in (0.0, 1e-9)
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


def write(state: Tensor, k: Tensor, v: Tensor, beta: float, gate: float) -> Tensor:
    """The reference."""
    state = gate * state
    return state + beta * torch.outer(k, v - k @ state)


def _step(
    seed: int,
    m: int,
    d: int,
    beta: float,
    gate: float,
    name: str = "",
    hint: str = "",
    k: list[float] | None = None,
    dtype: torch.dtype = torch.float32,
) -> Case:
    draw = torch.Generator().manual_seed(seed)
    state, v, key = (torch.randn(*shape, generator=draw, dtype=dtype) for shape in ((m, d), (d,), (m,)))
    key = key / key.norm() if k is None else torch.tensor(k, dtype=dtype)
    return case(name, hint, state=state, k=key, v=v, beta=beta, gate=gate)


def _change(change: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Add a change to the faded state; it is made of the key, the value, the old answer, beta and that state."""

    def written(state: Tensor, k: Tensor, v: Tensor, beta: float, gate: float) -> Tensor:
        state = gate * state
        return state + change(k, v, k @ state, beta, state)

    return written


exercise(
    "linear-delta",
    "write",
    reference=write,
    cases=[
        # Square first: there a transposed state does not raise.
        _step(9, 3, 3, 0.5, 0.8, "a state of 3 by 3, beta = 0.5 and gate = 0.8"),
        _step(10, 4, 4, 0.3, 0.9, "a state of 4 by 4, beta = 0.3 and gate = 0.9"),
        _step(11, 3, 2, 1.0, 1.0, "beta = 1 and gate = 1", "The key answers with the new value alone.", k=[-0.6, 0.0, 0.8]),
        _step(12, 5, 7, 0.9, 0.35),
        _step(13, 8, 3, 0.05, 0.6),
        _step(14, 1, 6, 0.7, 0.75, "a key of one number, −1", "A key may be negative.", k=[-1.0]),
        _step(15, 4, 5, 0.6, 1.0, "a key along one axis and gate = 1", "All rows but one stay: they belong to keys at right angles.", k=[0.0, 0.0, -1.0, 0.0]),
        _step(16, 2, 9, 0.0, 0.45, "beta = 0", "Nothing is written, and the state fades."),
        _step(17, 6, 2, 1.5, 0.7, "beta = 1.5", "Use beta as it is given."),
        _step(19, 5, 2, 0.8, 0.0, "gate = 0", "Nothing stays of what was."),
        # A key of length 1 in double precision must be made there.
        _step(18, 7, 4, 0.4, 0.55, "a state of 7 by 4 in float64", dtype=torch.float64),
        *late(*(_step(20, 3, 3, beta, gate, f"another state of 3 by 3, beta = {beta} and gate = {gate}")
                for beta, gate in ((0.5, 0.8), (0.25, 0.8), (0.5, 0.7)))),
    ],
    promises=[gradient("state", "v")],
    mistakes=[
        mistake("It adds the value to what is there. Overwriting first takes away what the key holds.", _change(lambda k, v, held, beta, s: beta * torch.outer(k, v))),
        mistake("Wrong sign: this moves the state away from the value.", _change(lambda k, v, held, beta, s: -beta * torch.outer(k, v - held))),
        mistake("The outer product is transposed: rows of the state belong to the key.", _change(lambda k, v, held, beta, s: beta * torch.outer(v - held, k))),
        mistake("What the key holds is k @ state, not state @ k: rows belong to the key.", _change(lambda k, v, held, beta, s: beta * torch.outer(k, v - s @ k))),
        mistake("The whole state fades once more, with beta. Then only what this key holds may change.", _change(lambda k, v, held, beta, s: beta * torch.outer(k, v) - beta * s)),
        mistake("The rate is missing: beta says how much of the difference is written.", _change(lambda k, v, held, beta, s: torch.outer(k, v - held))),
        mistake("beta multiplies the value alone. It must multiply the whole difference.", _change(lambda k, v, held, beta, s: torch.outer(k, beta * v - held))),
        mistake("beta multiplies the old answer alone. It must multiply the whole difference.", _change(lambda k, v, held, beta, s: torch.outer(k, v - beta * held))),
        mistake("It takes the old answer away and writes nothing in its place.", _change(lambda k, v, held, beta, s: -beta * torch.outer(k, held))),
        mistake("The difference goes into every row. It is written under k: an outer product.", _change(lambda k, v, held, beta, s: beta * (v - held))),
        mistake("That is the change alone. Add it to the state.", _change(lambda k, v, held, beta, s: beta * torch.outer(k, v - held) - s)),
        mistake("The whole state is replaced. Only what this key holds may change.", lambda state, k, v, beta, gate: torch.outer(k, v)),
        mistake("That is what the key holds afterwards. Return the state.", lambda state, k, v, beta, gate: k @ write(state, k, v, beta, gate)),
        *(
            mistake("It takes the key's entries without their sign, or without the negative ones. A key points where it points.", does)
            for does in (
                lambda state, k, v, beta, gate: write(state, k.abs(), v, beta, gate),
                lambda state, k, v, beta, gate: write(state, k.relu(), v, beta, gate),
            )
        ),
        mistake("beta is kept between 0 and 1. Use it as it is given.", lambda state, k, v, beta, gate: write(state, k, v, min(max(beta, 0), 1), gate)),
        mistake("beta and 1 - beta have changed places.", lambda state, k, v, beta, gate: write(state, k, v, 1 - beta, gate)),
        mistake("The gate is not used: nothing fades.", lambda state, k, v, beta, gate: write(state, k, v, beta, 1)),
        mistake("The difference is taken to what the state held before it faded. Let it fade first, then ask.",
                lambda state, k, v, beta, gate: gate * state + beta * torch.outer(k, v - k @ state)),
        mistake("What is written fades at once. Let the old state fade first, then write.",
                lambda state, k, v, beta, gate: gate * write(state, k, v, beta, 1)),
        mistake("The state fades in the difference alone. What is added to has to fade as well.",
                lambda state, k, v, beta, gate: state + beta * torch.outer(k, v - gate * (k @ state))),
        mistake("gate and 1 - gate have changed places: the gate says how much stays.", lambda state, k, v, beta, gate: write(state, k, v, beta, 1 - gate)),
        mistake("gate and beta have changed places.", lambda state, k, v, beta, gate: write(state, k, v, gate, beta)),
        mistake("What is written enters with 1 - gate too. Here beta alone says how much.", lambda state, k, v, beta, gate: gate * state + (1 - gate) * beta * torch.outer(k, v - gate * (k @ state))),
    ],
    praise="All fades, the old answer is taken away, the new one written; what keys at right angles hold only fades.",
)  # fmt: skip
