"""An exercise on what attention costs: a softmax that never holds its row."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.checks.exercise import Fresh, at_most, case, exercise, fresh, late, mistake, precisions
from attnbook.checks.instruments import once


def _online(tiles: once) -> Tensor:
    """The reference: the whole row at once, which the exercise forbids."""
    scores, values = (torch.cat(parts) for parts in zip(*tiles, strict=True))
    return scores.softmax(0) @ values


def _in_tiles(scores: Tensor, values: Tensor, *tile: int) -> Fresh:
    """Hand out scores and values once, in tiles of one size, or of several in turn until they are used up."""
    cut = tile[0] if len(tile) == 1 else list(tile)
    pairs = list(zip(scores.split(cut), values.split(cut), strict=True))
    sizes = f"tiles of {tile[0]}" if len(tile) == 1 else f"tiles of {', '.join(map(str, tile))}"
    return fresh(lambda: once(pairs, "tiles"), f"{len(scores)} scores in {sizes}")


def _row(seed: int, n: int, d: int, *tile: int, spread: float = 2.0) -> Fresh:
    draw = torch.Generator().manual_seed(seed)
    return _in_tiles(spread * torch.randn(n, generator=draw), torch.randn(n, d, generator=draw), *tile)


def _steep(scores: list[float], *tile: int) -> Fresh:
    values = torch.randn(len(scores), 3, generator=torch.Generator().manual_seed(12))
    return _in_tiles(torch.tensor(scores), values, *tile)


def _sizes(tiles: once) -> tuple[int, int]:
    """Numbers of the largest tile, and of all."""
    found = [s.numel() + v.numel() for s, v in tiles]
    return max(found), sum(found)


def _by_tiles(mistake: str = "", start: float = -math.inf) -> Callable[[once], Tensor]:
    """Make an online softmax with one mistake of the kind people make."""

    def online_attention(tiles: once) -> Tensor:
        largest, powers, total = torch.tensor(start), torch.zeros(()), 0.0
        for s, v in tiles:
            new = s.max() if mistake == "shrinks" else torch.maximum(largest, s.max())
            correction, e = (largest - new).exp(), (s - (s.max() if mistake == "own" else new)).exp()
            if mistake == "upside down" and torch.isfinite(largest):
                correction = 1 / correction
            if mistake == "base":
                correction, e = (largest - new).exp2(), (s - new).exp2()
            if mistake == "late":
                powers, total = (powers + e.sum()) * correction, (total + e @ v) * correction
            elif mistake == "share":
                powers, total = powers * correction + e.sum(), total * correction + e / e.sum() @ v
            else:
                powers = powers * (1.0 if mistake in ("none", "total") else correction) + e.sum()
                total = total * (1.0 if mistake in ("none", "powers") else correction) + e @ v
            largest = new
        return total if mistake == "undivided" else total / powers

    return online_attention


def _raw(tiles: once) -> Tensor:
    powers, total = 0.0, 0.0
    for s, v in tiles:
        powers, total = powers + s.exp().sum(), total + s.exp() @ v
    return total / powers


def _first_lost(tiles: once) -> Tensor:
    scores, values = next(tiles)
    largest, powers, total = scores.max(), torch.zeros(()), torch.zeros(values.shape[-1])
    for s, v in tiles:
        new = torch.maximum(largest, s.max())
        correction, e = (largest - new).exp(), (s - new).exp()
        powers, total, largest = powers * correction + e.sum(), total * correction + e @ v, new
    return total / powers


MANY = 8192
"""So many scores that keeping them, as numbers of torch, of NumPy or of Python, dwarfs a tile."""

exercise(
    "costs-online",
    "online_attention",
    reference=_online,
    cases=[
        case("", tiles=_row(12, 7, 3, 3)),
        case("", tiles=_row(1, 12, 5, 4)),
        case(
            "the largest score in the last tile",
            "What was summed before must be corrected, both sums.",
            tiles=_steep([0.5, -1.0, 1.5, 0.0, 2.0, -0.5, 4.0, 1.0], 3),
        ),
        case(
            "the largest score in the first tile",
            "The maximum so far must not shrink.",
            tiles=_steep([4.0, -1.0, 1.5, 0.0, 2.0, -0.5, 0.5], 2),
        ),
        case("a single score", tiles=_row(2, 1, 4, 6)),
        case("one tile that holds the whole row", tiles=_row(3, 5, 2, 8)),
        case("tiles of one score", tiles=_row(4, 9, 6, 1)),
        case("tiles of 1, 6, 2 and 4 scores", tiles=_row(5, 13, 4, 1, 6, 2, 4)),
        case("the same score everywhere", tiles=_steep([0.75] * 11, 4)),
        case(
            "scores around 10,000",
            "Subtract the largest score so far before exp.",
            tiles=_steep([10_000.0, 10_040.0, 9_960.0, 10_080.0, 10_020.0], 2),
        ),
        case(
            "scores around −12,000",
            "A maximum that starts too high never comes down: start it at −∞.",
            tiles=_steep([-12_000.0, -12_040.0, -11_960.0, -12_020.0, -11_920.0], 2),
        ),
        case(
            "300 in the first tile, everything else below",
            "The maximum so far must not shrink: later powers are relative to 300, too.",
            tiles=_steep([300.0, 100.0, 0.0, -100.0, 1.0, 2.0, -300.0], 2),
        ),
        case(
            "scores from −10,000 to 10,000",
            "All of the weight belongs to the largest.",
            tiles=_steep([-1e4, 3.0, 9e3, 0.0, -1e4, 1e4, 5.0], 2),
        ),
        *late(case(f"{MANY:,} scores in tiles of {MANY // 256}", tiles=_row(6, MANY, 1, MANY // 256))),
    ],
    promises=[
        precisions("float64"),
        at_most(
            "It keeps more than a tile and three running numbers: what it holds grows with the row.",
            held=lambda tiles: MANY / 8 if sum(_sizes(tiles)) >= MANY else math.inf,
            bytes=lambda tiles: 2 * MANY if sum(_sizes(tiles)) >= MANY else math.inf,
        ),
    ],
    mistakes=[
        mistake("The old sums are not corrected when a larger score turns up. Multiply them by exp(old maximum − new maximum).", _by_tiles("none")),
        mistake("The sum of powers is corrected, the weighted sum of the values is not. Both were made with the old maximum.", _by_tiles("powers")),
        mistake("The weighted sum is corrected, the sum of powers is not. Both were made with the old maximum.", _by_tiles("total")),
        mistake("The correction is upside down: it should be exp(old maximum − new maximum), which is at most 1.", _by_tiles("upside down")),
        mistake("The weighted sum is not divided by the sum of powers at the end.", _by_tiles("undivided")),
        mistake("The correction comes too late: it is for the old sums, and the new tile is relative to the new maximum already.", _by_tiles("late")),
        mistake("The powers of a tile are relative to its own largest score. Take the largest so far, as the sums do.", _by_tiles("own")),
        mistake("The maximum is that of the last tile, not the largest so far: old sums then grow without limit.", _by_tiles("shrinks")),
        mistake("Those are powers of two. A softmax takes powers of e.", _by_tiles("base")),
        mistake("It takes a softmax in each tile. Only the sums can be corrected later: divide once, at the end.", _by_tiles("share")),
        *(
            mistake("A maximum that starts at a number never comes down to scores far below it. Start it at −∞.", _by_tiles(start=start))
            for start in (0.0, -1e2, -1e3, -1e4)
        ),
        mistake("Large exponentials overflow, small ones vanish. Subtract the largest score so far before exp.", _raw),
        mistake(
            "The scores are divided by √d. These are finished scores: what is given is what goes into the softmax.",
            lambda tiles: _online([(s / v.shape[-1] ** 0.5, v) for s, v in tiles]),
        ),
        mistake("The first tile is lost. It has to be summed like the others.", _first_lost),
        mistake(
            "It takes a softmax in each tile and averages. A tile's share depends on all the others: keep the sums.",
            lambda tiles: torch.stack([s.softmax(0) @ v for s, v in tiles]).mean(0),
        ),
        mistake(
            "It takes a softmax in each tile and adds up. A tile's share depends on all the others: keep the sums.",
            lambda tiles: torch.stack([s.softmax(0) @ v for s, v in tiles]).sum(0),
        ),
        mistake(
            "It returns the mean of the values: the scores are not used.",
            lambda tiles: torch.cat([v for _, v in tiles]).mean(0),
        ),
        mistake(
            "It returns the value with the largest score. The others have their share.",
            lambda tiles: (lambda s, v: v[s.argmax()])(*(torch.cat(x) for x in zip(*tiles, strict=True))),
        ),
    ],
    praise="One reading, three running numbers, and the output of the whole row, whatever the size of its scores.",
)  # fmt: skip
