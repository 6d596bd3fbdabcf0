"""Exercises on steps and on traffic: a recurrence in few rounds, and attention between two memories."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.checks.exercise import (
    Fresh,
    at_most,
    case,
    exercise,
    fresh,
    gradient,
    late,
    mistake,
    precisions,
)
from attnbook.checks.instruments import SlowMemory
from attnbook.checks.values import Tolerance


def _stepwise(gate: Callable = lambda a, i: a[i], add: Callable = lambda g, h, x: g * h + x) -> Callable:
    """Make a recurrence token by token, with another gate or another sum."""

    def recurrence(a: Tensor, x: Tensor) -> Tensor:
        h, states = torch.zeros_like(x[0]), []
        for i in range(len(x)):
            h = add(gate(a, i), h, x[i])
            states.append(h)
        return torch.stack(states)

    return recurrence


def _doubling(mistake: str) -> Callable[[Tensor, Tensor], Tensor]:
    """Make the rounds with one mistake of the kind people make."""

    def back(x: Tensor, step: int) -> Tensor:
        return torch.cat((torch.zeros_like(x[:step]), x))[: len(x)]

    def recurrence(a: Tensor, x: Tensor) -> Tensor:
        a, step = a[:, None], 1
        while step < len(x) - (mistake == "short") * (len(x) // 2):
            joined = a * back(a, step)
            if mistake == "new gate":
                a, x = joined, x + joined * back(x, step)
            elif mistake == "other gate":
                a, x = joined, x + back(a, step) * back(x, step)
            elif mistake == "old gates":
                x = x + a * back(x, step)
            elif mistake == "square":
                a, x = a * a, x + a * back(x, step)
            else:
                a, x = joined, x + a * back(x, step)
            step = step + 1 if mistake == "next" else 2 * step
        return x

    return recurrence


def _gates(seed: int, n: int, d: int) -> dict[str, Tensor]:
    draw = torch.Generator().manual_seed(seed)
    return {"a": 2 * torch.rand(n, generator=draw) - 0.8, "x": torch.randn(n, d, generator=draw)}


def _with_zeros(seed: int, n: int, d: int, *places: int) -> dict[str, Tensor]:
    made = _gates(seed, n, d)
    made["a"][list(places)] = 0.0
    return made


MANY, MORE = 2048, 16_384
"""So many tokens that a walk over every eighth of them takes ten times the steps of doubling. With more, walks along the
rows and columns of a square are refused, too; there a table of all pairs would fill the memory, and is refused before.
"""


def _heard(seed: int, n: int) -> dict[str, Tensor]:
    """Gates so near to 1 that a token is heard, in single precision, for longer than half the text."""
    made = _gates(seed, n, 2)
    made["a"] = 1 - 20 / n * (1 - made["a"].abs().clamp_max(1.0))
    return made


exercise(
    "costs-scan",
    "recurrence",
    reference=_stepwise(),
    cases=[
        case("", **_gates(0, 5, 3)),
        case("", **_gates(1, 11, 4)),
        case("", **_gates(2, 16, 6)),
        case("a single token", **_gates(3, 1, 2)),
        case("two tokens", **_gates(4, 2, 5)),
        case("gates of zero", "A gate of zero forgets: nothing may be divided by it.", **_with_zeros(5, 13, 3, 4, 9)),
        case("gates of one", "It is a running sum then.", a=torch.ones(9), x=_gates(6, 9, 4)["x"]),
        case("gates of a thousandth", "Their products vanish: nothing may be divided by them.",
             a=torch.full((40,), 1e-3), x=_gates(7, 40, 3)["x"]),
        *late(
            case("5 tokens, other numbers", **_gates(9, 5, 3)),
            case(f"{MANY:,} tokens", **_heard(8, MANY)),
            case(f"{MORE:,} tokens", **_heard(8, MORE)),
        ),
    ],
    promises=[
        precisions("float64"),
        gradient("a", "x"),
        at_most(
            "It takes too many steps one after the other. Each round should double how far back a token has heard.",
            steps=lambda a, x: 22 * math.log2(len(x)) if len(x) >= MANY else math.inf,
        ),
        at_most(
            "It makes a tensor far larger than x, such as a table of n × n numbers. Rounds on (n, d) are enough.",
            largest=lambda a, x: 4 * x.numel() if len(x) == MANY else math.inf,
        ),
    ],
    mistakes=[
        mistake("The gates are not joined: after a round, a token's gate has to be the product of its own and the one it took in.", _doubling("old gates")),
        mistake("The joined gate is the token's own times that of the one it took in, not its own squared.", _doubling("square")),
        mistake("The input is brought up to date with the joined gate. It takes the gate as it was before the round.", _doubling("new gate")),
        mistake("What comes from `step` places back is multiplied by the gate of the token it comes to, not by its own.", _doubling("other gate")),
        mistake("It stops too early: rounds go on until a step reaches over the whole text.", _doubling("short")),
        mistake("After a round the tokens stand for twice as many: double the step, do not add one.", _doubling("next")),
        mistake("The gates are not used: that is a running sum.", lambda a, x: x.cumsum(0)),
        mistake("The gate multiplies what was there before, not what comes in: a h + x, not a (h + x).", _stepwise(add=lambda g, h, x: g * (h + x))),
        mistake("What comes in is not multiplied by 1 − a here: a h + x.", _stepwise(add=lambda g, h, x: g * h + (1 - g) * x)),
        mistake("The gate of the token before is used: h_i takes its own gate a_i.", _stepwise(gate=lambda a, i: a[i - 1])),
        mistake("All states are asked for, not the last.", lambda a, x: _stepwise()(a, x)[-1]),
        mistake("One gate for all: each token has its own.", _stepwise(gate=lambda a, i: a[0])),
        mistake("It runs from the last token to the first. A state hears what came before.", lambda a, x: _stepwise()(a.flip(0), x.flip(0)).flip(0)),
        mistake("The inputs are multiplied by their gates, and nothing is carried on.", lambda a, x: a[:, None] * x),
    ],
    praise="All states in few steps one after the other, with gates of zero and of one, and with their gradients.",
)  # fmt: skip


def _memory(seed: int, n: int, d: int, size: int, spread: float = 1.0, shift: float = 0.0) -> dict:
    draw = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(n, d, generator=draw) for _ in range(3))
    # Rows of the queries have a common part, which one row of the keys answers: its scores are large.
    q, k = spread * q + shift, spread * k
    k[n // 2] += shift
    return _lying((q, k, v), size)


def _lying(matrices: tuple[Tensor, Tensor, Tensor], size: int) -> dict:
    n, d = matrices[0].shape
    seen = d * sum(min(start + size, n) for start in range(0, n, size))
    moved = {"queries": n * d, "keys": seen, "values": seen}
    named = dict(zip(("queries", "keys", "values"), matrices, strict=True))
    read: Fresh = fresh(lambda: SlowMemory(size, moved, **named), f"memory of width {d}")
    return {"read": read, "n": n, "size": size}


def _loud(places: tuple[int, ...], n: int, size: int, score: float) -> dict:
    """Scores that are about `score` for some keys and small for the others."""
    draw = torch.Generator().manual_seed(n)
    q, k, v = torch.ones(n, 4), 0.1 * torch.randn(n, 4, generator=draw), torch.randn(n, 4, generator=draw)
    for place in places:
        k[place] += score / 2
    return _lying((q, k, v), size)


def _low(n: int, size: int) -> dict:
    """Scores of about -12,000, in halves: no order of summation rounds them. Small values, for a log of a sum is rounded."""
    draw = torch.Generator().manual_seed(n)
    k = -3000 - torch.randint(8, (n, 1), generator=draw).expand(n, 16) / 8
    return _lying((torch.ones(n, 16), k.contiguous(), 0.005 * torch.randn(n, 16, generator=draw)), size)


def _forgotten(n: int, size: int) -> dict:
    """Large values with scores of 0, and a last key with a score of 200 and small values."""
    draw = torch.Generator().manual_seed(n)
    q, k, v = torch.ones(n, 4), torch.zeros(n, 4), 1e4 * (1 + torch.rand(n, 4, generator=draw))
    k[-1], v[-1] = 100.0, torch.randn(4, generator=draw)
    return _lying((q, k, v), size)


def _tiles(mistake: str = "") -> Callable:
    """Make the reference, or an answer with one mistake of the kind people make."""

    def causal_tiles(read: SlowMemory, n: int, size: int) -> list[Tensor]:
        stop = n // size * size if mistake == "last tile lost" and n > size else n
        q = torch.cat([read("queries", i, i + size) for i in range(0, n, size)])
        k, v = (
            torch.cat([read(name, j, j + size) for j in range(0, n, size)]) for name in ("keys", "values")
        )
        s = q @ k.mT
        s = s if mistake == "unscaled" else s / (q.shape[-1] if mistake == "d" else q.shape[-1] ** 0.5)
        i, j = torch.arange(n)[:, None], torch.arange(n)
        later = j // size > i // size  # tiles that need not be read
        hidden = {
            "all": j < 0,
            "itself": j >= i,
            "tiles": later,
            "later tiles": j // size >= i // size,
            "own tile": (j > i) | (j // size < i // size),
            "ahead": (j > i + 1) | later,
            "upside down": j < i,
        }.get(mistake, j > i)
        if mistake in ("zeros", "low"):
            weights = (
                s.masked_fill(hidden, 0.0 if mistake == "zeros" else -1e4)
                .masked_fill(later, -math.inf)
                .softmax(-1)
            )
        elif mistake == "after":
            weights = s.masked_fill(later, -math.inf).softmax(-1).masked_fill(hidden, 0.0)
        else:
            weights = s.masked_fill(hidden, -math.inf).softmax(-1)
        return list((weights @ v)[:stop].split(size))

    return causal_tiles


def _running(mistake: str) -> Callable:
    """Go through the tiles as asked, and forget a correction."""

    def causal_tiles(read: SlowMemory, n: int, size: int) -> list[Tensor]:
        out = []
        for i in range(0, n, size):
            q = read("queries", i, i + size)
            start = -1e4 if mistake == "start" else -math.inf
            largest, powers, total = torch.full((len(q), 1), start), 0.0, 0.0
            for j in range(0, i + 1, size):
                k, v = read("keys", j, j + size), read("values", j, j + size)
                s = q @ k.mT / q.shape[-1] ** 0.5
                if i == j:
                    s = s.masked_fill(torch.ones(s.shape).triu(1).bool(), -math.inf)
                top = s.amax() if mistake == "one maximum" else s.amax(-1, keepdim=True)
                new = torch.zeros(()) if mistake == "raw" else torch.maximum(largest, top)
                correction, e = (largest - new).exp(), (s - new).exp()
                powers = powers * (1.0 if mistake in ("none", "raw") else correction) + e.sum(
                    -1, keepdim=True
                )
                total = total * (1.0 if mistake in ("none", "raw", "powers") else correction) + e @ v
                largest = new
                if mistake == "early" and j < i:
                    out.append(total / powers)
            out.append(total if mistake == "undivided" else total / powers)
        return out

    return causal_tiles


LONG, TILE = 1024, 32
"""So many tokens that one tile's rows of scores dwarf the outputs and all tiles that are held at once."""

exercise(
    "costs-tiles",
    "causal_tiles",
    reference=_tiles(),
    cases=[
        case("12 tokens in tiles of 4", **_memory(0, 12, 3, 4)),
        case("10 tokens in tiles of 3", "The last tile is shorter.", **_memory(1, 10, 5, 3)),
        case("tiles of one token", **_memory(2, 7, 4, 1)),
        case("one tile that holds the whole text", **_memory(3, 6, 2, 9)),
        case("a single token", **_memory(4, 1, 8, 2)),
        case("one key that all later ones attend to", "Running numbers made before it must be corrected, both sums.",
             **_memory(5, 14, 6, 4, shift=2.0)),
        case("scores up to some hundreds", "Subtract the largest score so far before exp.", **_memory(6, 9, 4, 2, spread=12.0)),
        case("a score of 200 in the first tile and small ones after it", "The maximum so far must not shrink, and each query has its own.",
             **_loud((0,), 11, 3, 200.0)),
        case("a score of 200 in the last tile", "Running numbers made before it must be corrected.", **_loud((9,), 11, 4, 200.0)),
        case("small scores only, about −200", "A maximum that starts at a number may never come down: start it at −∞.", **_loud(tuple(range(9)), 9, 2, -200.0)),
        case("scores about −12,000", "Start the maximum at −∞, and hide with −∞: no score may be lower.", **_low(10, 4)),
        case("values of 10,000 before a score of 200", "What the correction makes too small for the precision is gone: keep nothing of it.", **_forgotten(8, 3)),
        *late(case(f"{LONG:,} tokens in tiles of {TILE}", **_memory(7, LONG, 4, TILE))),
    ],
    promises=[
        at_most(
            "It keeps more than its tiles and the outputs: what it holds in fast memory grows with the text.",
            held=lambda read, n, size: 1.2 * n * read.width + 8 * size * (size + read.width) if n >= LONG else math.inf,
            bytes=lambda read, n, size: 4 * n * size if n >= LONG else math.inf,
        ),
    ],
    mistakes=[
        mistake("Hand over the outputs tile by tile, not joined to one tensor.", lambda read, n, size: torch.cat(_tiles()(read, n, size))),
        mistake("Hand over the outputs tile by tile, not row by row.", lambda read, n, size: list(torch.cat(_tiles()(read, n, size)))),
        mistake("A tile of outputs is handed over once, when all keys that it sees have gone by.", _running("early")),
        mistake("Nothing is hidden: a query may see its own token and those before it.", _tiles("all")),
        mistake("Whole tiles are hidden, but on the diagonal a query still sees later tokens of its own tile.", _tiles("tiles")),
        mistake("The tile on the diagonal is left out. A query sees the tokens before it in its own tile, and itself.", _tiles("later tiles")),
        mistake("Each query sees its own tile only. The tiles before it have to stream past, too.", _tiles("own tile")),
        mistake("A query may see itself.", _tiles("itself")),
        mistake("A query sees one token too many: the next one.", _tiles("ahead")),
        mistake("It hides the past and shows the future.", _tiles("upside down")),
        mistake("Hidden scores are set to 0, which is a score like others. Minus infinity hides.", _tiles("zeros")),
        mistake("Hidden scores are set to a number, and other scores may be lower. Minus infinity hides.", _tiles("low")),
        mistake("A maximum that starts at a number never comes down to scores far below it. Start it at −∞.", _running("start")),
        mistake("It hides after the softmax: the weights that are left do not sum to 1.", _tiles("after")),
        mistake("The scores are not divided by √d.", _tiles("unscaled")),
        mistake("The scores are divided by d, not by √d.", _tiles("d")),
        mistake("The last, shorter tile is missing.", _tiles("last tile lost")),
        mistake("The old sums are not corrected when a larger score turns up. Multiply them by exp(old maximum − new maximum).", _running("none")),
        mistake("The sum of powers is corrected, the weighted sum of the values is not. Both were made with the old maximum.", _running("powers")),
        mistake("The weighted sum is not divided by the sum of powers at the end.", _running("undivided")),
        mistake("Large exponentials overflow. Subtract the largest score so far before exp.", _running("raw")),
        mistake("Each query has a maximum of its own: take it along the keys, not over the whole tile.", _running("one maximum")),
    ],
    within=Tolerance(5e-5, 5e-5),
    praise="The outputs of causal attention, each query read once, keys and values once for each tile that sees them.",
)  # fmt: skip
