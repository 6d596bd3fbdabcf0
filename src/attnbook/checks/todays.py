"""Exercises on attention in today's models: a step from latents, a sink beside the scores, a gate behind the heads."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnbook.checks.exercise import at_most, case, draws, exercise, gradient, late, mistake, precisions
from attnbook.checks.sparse import in_each_way

LONG = 2000
"""So many tokens that expanding them makes some forty times the numbers that an absorbed step makes."""


def _overflows(scores: Tensor) -> Tensor:
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


def _below_the_largest(scores: Tensor) -> Tensor:
    e = (scores - scores.max()).exp()
    return e / e.sum(-1, keepdim=True)


def _below_the_mean(scores: Tensor) -> Tensor:
    e = (scores - scores.mean(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


def _from_latents(
    q: Tensor,
    q_r: Tensor,
    c: Tensor,
    k_r: Tensor,
    U: Tensor,
    V: Tensor,
    *,
    content: float = 1.0,
    place: float = 1.0,
    root: Callable[..., float] = lambda d, d_r, r: (d + d_r) ** 0.5,
    weigh: Callable[[Tensor], Tensor] = lambda s: s.softmax(-1),
) -> Tensor:
    """The reference, with parts that can be exchanged: keys and values of each head, and a query to each."""
    k, v = c @ U, c @ V  # (h, n, d) and (h, n, d_v)
    scores = content * (k @ q[..., None]).squeeze(-1) + place * q_r @ k_r.mT
    weights = weigh(scores / root(q.shape[-1], q_r.shape[-1], c.shape[-1]))
    return (weights[:, None] @ v).squeeze(1)


def _two_softmaxes(q: Tensor, q_r: Tensor, c: Tensor, k_r: Tensor, U: Tensor, V: Tensor) -> Tensor:
    parts = ((1.0, 0.0), (0.0, 1.0))
    return sum(_from_latents(q, q_r, c, k_r, U, V, content=one, place=two) for one, two in parts) / 2


def _token(h: int, n: int, r: int, d: int, d_r: int, d_v: int, seed: int = 0) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed + h + 10 * n + 100 * d)
    shapes = {"q": (h, d), "q_r": (h, d_r), "c": (n, r), "k_r": (n, d_r), "U": (h, r, d), "V": (h, r, d_v)}
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


def _loud(*heads: float) -> dict[str, Tensor]:
    """Scores of each head that all lie 100 times a number higher: the weights stay what they are.

    Quarters, and a root of 4, so that scores are exact: rounding at that height would shift weights.
    """
    given = {name: (4 * x).round() / 4 for name, x in _token(len(heads), 5, 3, 12, 4, 6).items()}
    given["q_r"][:, 0], given["k_r"][:, 0] = 400.0 * torch.tensor(heads), 1.0
    return given


def _one_above(height: float) -> dict[str, Tensor]:
    """One token of five whose score lies far above those of the others, in both heads."""
    given = _loud(height, height)
    given["k_r"][:, 0] = torch.tensor([0.0, 0, 1, 0, 0])
    return given


def _with(**options: Any) -> Callable:
    return lambda q, q_r, c, k_r, U, V: _from_latents(q, q_r, c, k_r, U, V, **options)


exercise(
    "today-latent",
    "absorbed_step",
    reference=lambda q, q_r, c, k_r, U, V: _from_latents(q, q_r, c, k_r, U, V),
    cases=[
        # Keys as wide as values first: there U and V do not tell themselves apart by shape.
        case("values as wide as keys", **_token(3, 6, 4, 5, 2, 5)),
        *draws(n=..., q="h d", q_r="h e", c="n r", k_r="n e", U="h r d", V="h r w", seeds=6),
        case("one head", **_token(1, 7, 4, 5, 3, 2)),
        case("one number is kept as latent", **_token(3, 6, 1, 4, 2, 5)),
        case("as many heads as tokens", "Each head has a row of weights, over the tokens.", **_token(5, 5, 4, 3, 2, 6)),
        case("scores about 100", "There exp overflows; Tensor.softmax takes the largest score of a row off first.", **_loud(1.0, 1.0)),
        case("heads whose scores lie 160 apart", "Each head has a largest score of its own.", **_loud(1.0, -0.6)),
        case("a score about 200 above the others", "All of the weight goes there. Only the largest score of a row, taken off, keeps exp within bounds.", **_one_above(2.0)),
        *late(case(f"8 heads and {LONG:,} tokens", **_token(8, LONG, 4, 128, 4, 128))),
    ],
    promises=[
        precisions("float64"),
        *at_most(
            "The output is right, but something of each head is made for every token that came before. Bring the queries to "
            "the latents with U, and the mixture of latents to the values with V.",
            made=lambda q, q_r, c, k_r, U, V: 6 * len(q) * (c.numel() + k_r.numel()) if len(c) >= LONG else math.inf,
        ),
    ],
    mistakes=[
        mistake("It divides by the root of what is kept of a token, r + d_r. The scores are those of heads with keys d + d_r wide: divide by the root of that.",
                _with(root=lambda d, d_r, r: (r + d_r) ** 0.5)),
        mistake("It divides by the root of d alone. A key has d + d_r numbers, the turned ones among them.",
                _with(root=lambda d, d_r, r: d**0.5)),
        mistake("It divides by the root of d_r alone. A key has d + d_r numbers.",
                _with(root=lambda d, d_r, r: d_r**0.5)),
        mistake("It divides by the root of r. Scores are those of the heads: divide by the root of d + d_r.",
                _with(root=lambda d, d_r, r: r**0.5)),
        mistake("It divides by d + d_r. Divide by its root.", _with(root=lambda d, d_r, r: d + d_r)),
        mistake("The scores are not scaled. Divide them by the root of d + d_r.", _with(root=lambda d, d_r, r: 1.0)),
        mistake("Each part of the score has a root of its own. They are one score, of a key d + d_r wide.",
                lambda q, q_r, c, k_r, U, V: _from_latents(q / q.shape[-1] ** 0.5, q_r / q_r.shape[-1] ** 0.5, c, k_r, U, V, root=lambda *_: 1.0)),
        mistake("The part with positions is missing: add q_r · k_r to every score.", _with(place=0.0)),
        mistake("The part with contents is missing: the scores are made of positions alone.", _with(content=0.0)),
        mistake("Both parts have a softmax of their own. Add the scores, then take one softmax.", _two_softmaxes),
        mistake("Where values are as wide as keys, U makes the values too. Values are made with V.",
                lambda q, q_r, c, k_r, U, V: _from_latents(q, q_r, c, k_r, U, U if U.shape == V.shape else V)),
        mistake("Where keys are as wide as values, U and V have changed places: U makes keys, V values.",
                lambda q, q_r, c, k_r, U, V: _from_latents(q, q_r, c, k_r, *((V, U) if U.shape == V.shape else (U, V)))),
        mistake("All heads use the U of the first. What is kept is shared; each head has matrices of its own.",
                lambda q, q_r, c, k_r, U, V: _from_latents(q, q_r, c, k_r, U[:1].expand_as(U), V)),
        mistake("All heads use the V of the first. What is kept is shared; each head has matrices of its own.",
                lambda q, q_r, c, k_r, U, V: _from_latents(q, q_r, c, k_r, U, V[:1].expand_as(V))),
        mistake("All heads use the turned query of the first. The key k_r is shared, the queries q_r are not.",
                lambda q, q_r, c, k_r, U, V: _from_latents(q, q_r[:1].expand_as(q_r), c, k_r, U, V)),
        mistake("The softmax runs over the heads. Each head has weights over the tokens: dim=-1.", _with(weigh=lambda s: s.softmax(0))),
        mistake("exp overflows where scores are large: the output is not a number. Tensor.softmax takes the largest score off first.",
                _with(weigh=_overflows)),
        mistake("The largest of all scores is taken off, and where a head lies far below it, 0 is divided by 0. Take off the largest of each head.",
                _with(weigh=_below_the_largest)),
        mistake("The mean of a row is taken off, and exp still overflows where one score lies far above it. Take off the largest of the row.",
                _with(weigh=_below_the_mean)),
    ],
    praise="A step that reads latents and turned keys, and never makes a head's keys or values of the tokens before.",
)  # fmt: skip


def sink_softmax(scores: Tensor, sink: Tensor) -> Tensor:
    """The reference."""
    return _beside(scores, sink[:, None, None])[..., :-1]


def _beside(scores: Tensor, sink: Tensor) -> Tensor:
    return torch.cat((scores, sink.expand(*scores.shape[:-1], sink.shape[-1])), -1).softmax(-1)


def _square(scores: Tensor) -> bool:
    return len(set(scores.shape[-3:])) == 1


def _along(columns: bool) -> Callable[[Tensor, Tensor], Tensor]:
    """A sink for each key, or for each query: where there are as many of them as heads, that raises nothing."""

    def answer(scores: Tensor, sink: Tensor) -> Tensor:
        if not _square(scores):
            return sink_softmax(scores, sink)
        if not columns:
            return _beside(scores, sink[:, None])[..., :-1]
        top = torch.maximum(scores.amax(-1, keepdim=True), sink)
        e = (scores - top).exp()
        return e / (e.sum(-1, keepdim=True) + (sink - top).exp())

    return answer


def _without_the_sink(scores: Tensor, sink: Tensor) -> Tensor:
    top = scores.amax(-1, keepdim=True)
    e = (scores - top).exp()
    return e / (e.sum(-1, keepdim=True) + (sink[:, None, None] - top).exp())


def _by_head(scores: Tensor, sink: Tensor) -> Tensor:
    sink = sink[:, None, None]
    top = torch.maximum(scores.amax((-2, -1), keepdim=True), sink)
    e = (scores - top).exp()
    return e / (e.sum(-1, keepdim=True) + (sink - top).exp())


def _shared_out(scores: Tensor, sink: Tensor) -> Tensor:
    weights = _beside(scores, sink[:, None, None])
    return weights[..., :-1] + weights[..., -1:] / scores.shape[-1]


def _as(other: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda scores, sink: sink_softmax(scores, other(sink))


def _normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _hidden() -> Tensor:
    scores = _normal(2, 3, 4, seed=5)
    scores[0, 1], scores[1, 0, 2:], scores[1, 2, :3] = -math.inf, -math.inf, -math.inf
    return scores


def _rows_apart() -> Tensor:
    """In every head one row of scores near 0 and one near 200."""
    scores = _exact(2, 2, 3, seed=8)
    scores[:, 1] += 200
    return scores


def _exact(*shape: int, seed: int) -> Tensor:
    """Quarters: what stands beside a hundred is not rounded."""
    return (4 * _normal(*shape, seed=seed)).round() / 4


exercise(
    "today-sink",
    "sink_softmax",
    reference=sink_softmax,
    cases=[
        *draws(n=..., scores="... h n m", sink="h", lead=[(2,), (), (3, 2), (4,)], seeds=6),
        case("three heads, queries and keys", "There is a sink for each head.", scores=_normal(2, 3, 3, 3, seed=1), sink=torch.tensor([2.0, -1.0, 0.5])),
        case("one head", scores=_normal(1, 4, 6, seed=2), sink=torch.tensor([1.5])),
        case("sinks of −60", "Hardly anything goes there: the rows sum to 1, nearly.", scores=_normal(2, 3, 4, seed=3), sink=torch.full((2,), -60.0)),
        case("hidden keys, and a row of them", "A score of −∞ has weight 0, also where a row has no other.", scores=_hidden(), sink=torch.tensor([0.5, -1.0])),
        case("scores and sinks about 100", "Their exponentials are larger than any number: the largest of a row is taken off first.",
             scores=100 + _exact(2, 3, 4, seed=4), sink=torch.tensor([99.5, 101.25])),
        case("rows whose scores lie 200 apart", "Each row has a largest score of its own.", scores=_rows_apart(), sink=torch.tensor([0.5, -1.0])),
        case("sinks of 150 above ordinary scores", "Nearly all goes to the sink.", scores=_normal(2, 3, 4, seed=6), sink=torch.tensor([150.0, 0.5])),
    ],
    promises=[gradient("scores", "sink"), precisions("float64")],
    mistakes=[
        *in_each_way(
            "The rows sum to 1, as without a sink. Its exponential belongs in the sum, and what it gets is missing from the row.",
            lambda scores, sink: scores.softmax(-1),
            lambda scores, sink: (lambda w: w / w.sum(-1, keepdim=True))(sink_softmax(scores, sink)),
        ),
        mistake("The weight of the sink is returned as well. Cut its column off: there is no value for it.",
                lambda scores, sink: _beside(scores, sink[:, None, None])),
        mistake("The weight of the sink is returned as well, in front. Cut its column off: there is no value for it.",
                lambda scores, sink: _beside(scores, sink[:, None, None]).roll(1, -1)),
        mistake("A column is cut off, but it is not that of the sink.",
                lambda scores, sink: _beside(scores, sink[:, None, None])[..., 1:]),
        mistake("The weight of the sink is shared out among the keys. It goes nowhere: the row sums to less than 1.", _shared_out),
        mistake("The softmax is made first and divided by 1 + exp(sink) afterwards. The sink stands beside the scores: in the same sum.",
                lambda scores, sink: scores.softmax(-1) / (1 + sink.exp())[:, None, None]),
        mistake("The weights close by the sink alone: sigmoid(−sink), whatever the scores are. It stands beside the scores: in the same sum.",
                lambda scores, sink: scores.softmax(-1) * torch.sigmoid(-sink)[:, None, None]),
        mistake("The sink itself is added to the sum. It is a score: its exponential is added.",
                lambda scores, sink: (lambda e: e / (e.sum(-1, keepdim=True) + sink[:, None, None]))(scores.exp())),
        mistake("A 1 is added to the sum, the exponential of 0, whatever the sink is.", _as(torch.zeros_like)),
        mistake("The sink has the wrong sign.", _as(torch.neg)),
        mistake("It opens where it should close: the rows sum to what the sink should get.",
                lambda scores, sink: scores.softmax(-1) * _beside(scores, sink[:, None, None])[..., -1:]),
        mistake("All heads have the sink of the first. Each has one of its own.", _as(lambda sink: sink[:1].expand_as(sink))),
        mistake("Every row has the sinks of all heads. A head has its own, and no other.",
                lambda scores, sink: _beside(scores, sink)[..., : scores.shape[-1]]),
        mistake("Where there are as many queries as heads, each query has a sink. Each head has one: sink[:, None, None].", _along(columns=False)),
        mistake("Where there are as many keys as heads, each key has a sink. Each head has one: sink[:, None, None].", _along(columns=True)),
        mistake("exp overflows where scores or sinks are large. Take the largest of the row and its sink off first, as Tensor.softmax does.",
                lambda scores, sink: scores.exp() / (scores.exp().sum(-1, keepdim=True) + sink.exp()[:, None, None])),
        mistake("The largest score is taken off, the sink not counted. That is −∞ where all keys are hidden, and the exponential of a sink far above it overflows.",
                _without_the_sink),
        mistake("The largest score of a head is taken off, and where a row lies far below it, 0 is divided by 0. Take off the largest of each row.", _by_head),
    ],
    praise="Rows that sum to less than 1, by what the sink of their head gets: large scores, hidden keys and empty rows included.",
)  # fmt: skip


def gated(x: Tensor, heads: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """The reference."""
    return _gate()(x, heads, w, b)


def _gate(
    squash: Callable[[Tensor], Tensor] = torch.sigmoid,
    put: Callable[[Tensor, Tensor], Tensor] = lambda gate, heads: gate * heads,
    order: Callable[[Tensor, Tensor], Tensor] = lambda gate, heads: gate.unflatten(-1, (heads.shape[1], -1)).transpose(1, 2),
    asks: Callable[[Tensor, Tensor], Tensor] = lambda x, heads: x,
    weight: Callable[[Tensor], Tensor] = lambda w: w,
    bias: float = 1.0,
) -> Callable:  # fmt: skip
    """The gate, with one thing wrong."""

    def answer(x: Tensor, heads: Tensor, w: Tensor, b: Tensor) -> Tensor:
        made = squash(asks(x, heads) @ weight(w).mT + bias * b)  # (batch, n, h · d) or (batch, n, h)
        return put(order(made, heads), heads)

    return answer


def _where_it_fits(does: Callable) -> Callable:
    """Do it where the tokens are as wide as the heads side by side, and w is square."""
    return lambda x, heads, w, b: (does if w.shape[0] == w.shape[1] else gated)(x, heads, w, b)


def _entries_first(gate: Tensor, heads: Tensor) -> Tensor:
    """The columns dealt out to the heads in turn."""
    return gate.unflatten(-1, (-1, heads.shape[1])).permute(0, 3, 1, 2)


def _given(b: int, h: int, n: int, d: int, d_model: int, numbers: int, seed: int = 0) -> dict[str, Tensor]:
    shapes = {"x": (b, n, d_model), "heads": (b, h, n, d), "w": (numbers, d_model), "b": (numbers,)}
    return {name: _normal(*shape, seed=seed + i) for i, (name, shape) in enumerate(shapes.items())}


def _rows(entries: bool) -> Callable[..., Tensor]:
    return lambda s, g: torch.randn(s.h * (s.d if entries else 1), s.m, generator=g)


def _biases(entries: bool) -> Callable[..., Tensor]:
    return lambda s, g: torch.randn(s.h * (s.d if entries else 1), generator=g)


exercise(
    "today-gate",
    "gated",
    reference=gated,
    cases=[
        *(
            one
            for entries in (True, False)
            for one in draws(n=..., x="c n m", heads="c h n d", w=_rows(entries), b=_biases(entries), seeds=4)
        ),
        case("a number for each entry, tokens as wide as three heads of 4", "The gate is made of the tokens.", **_given(2, 3, 5, 4, 12, 12)),
        case("as many tokens as heads", "The gate of a token belongs to what its own query found.", **_given(2, 3, 3, 4, 7, 12)),
        case("a number for each head, as many tokens as heads", "One number for all entries of a head.", **_given(2, 4, 4, 3, 6, 4)),
        case("as many numbers in a head as heads", "Of the rows of w the first d belong to the first head.", **_given(2, 3, 5, 3, 6, 9)),
        case("one head, of one number", **_given(2, 1, 4, 1, 3, 1)),
    ],
    promises=[gradient("x", "heads", "w", "b"), precisions("float64")],
    mistakes=[
        mistake("Where it fits, the gate is made of what the heads found. It is made of x, the tokens that ask.",
                _where_it_fits(_gate(asks=lambda x, heads: heads.transpose(1, 2).flatten(2)))),
        mistake("Where w is square it is used the other way round. A row of w makes one number of the gate: x @ w.T.",
                _where_it_fits(_gate(weight=lambda w: w.mT))),
        mistake("That is a softmax: the numbers of a token compete. Each gate opens by itself: a sigmoid.", _gate(lambda z: z.softmax(-1))),
        mistake("That is SiLU: the gate may grow beyond 1. Take the sigmoid alone.", _gate(lambda z: z * z.sigmoid())),
        mistake("That is tanh: the gate may turn a sign. The sigmoid lies between 0 and 1.", _gate(torch.tanh)),
        mistake("The gate has no sigmoid: it may be any number.", _gate(lambda z: z)),
        mistake("It closes where it should open: the sign is wrong.", _gate(lambda z: (-z).sigmoid())),
        mistake("The bias is missing.", _gate(bias=0.0)),
        mistake("The bias is taken away.", _gate(bias=-1.0)),
        mistake("That is the gate. Multiply the heads by it.", _gate(put=lambda gate, heads: gate.expand_as(heads))),
        mistake("The gate is added. It multiplies.", _gate(put=lambda gate, heads: gate + heads)),
        mistake("The gated output is added to the heads. The gate multiplies, and nothing goes around it.", _gate(put=lambda gate, heads: heads + gate * heads)),
        mistake("The numbers of several tokens are mixed: in x @ w.T the tokens come before the heads. Give each head its axis, then swap it with the tokens'.",
                _gate(order=lambda gate, heads: gate.reshape(*heads.shape[:3], -1))),
        mistake("The rows of w are dealt out to the heads in turn. The first d of them belong to the first head.", _gate(order=_entries_first)),
        mistake("The mean of all tokens gates every one of them. Each gates its own output.", _gate(asks=lambda x, heads: x.mean(1, keepdim=True).expand_as(x))),
        mistake("The last token gates all of them. Each gates its own output.", _gate(asks=lambda x, heads: x[:, -1:].expand_as(x))),
        mistake("A head has one gate for all its entries, where each entry has one of its own.",
                lambda x, heads, w, b: heads * torch.sigmoid(x @ w.mT + b).unflatten(-1, (heads.shape[1], -1)).transpose(1, 2).mean(-1, keepdim=True)),
    ],
    praise="Each token opens and closes what its own query found, by entry or by head.",
)  # fmt: skip
