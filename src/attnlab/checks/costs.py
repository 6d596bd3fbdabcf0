"""Exercises on what attention costs: multiplications, a softmax by tiles, bytes of a step of decoding."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attnlab.checks.exercise import Fresh, at_most, case, exercise, fresh, mistake, precisions
from attnlab.checks.instruments import once


def multiplications(n: int, d_model: int, n_heads: int) -> int:
    """The reference."""
    return 4 * n * d_model**2 + 2 * n * n * d_model


def _layers(*sizes: tuple[int, int, int]) -> list:
    return [
        case(f"n = {n}, d_model = {d}, {h} {'head' if h == 1 else 'heads'}", n=n, d_model=d, n_heads=h)
        for n, d, h in sizes
    ]


exercise(
    "costs-count",
    "multiplications",
    reference=multiplications,
    cases=_layers((7, 20, 5), (512, 64, 8), (3, 10, 5), (1, 12, 4), (9, 6, 1), (30, 8, 8), (100, 48, 16)),
    mistakes=[
        mistake("The attention itself is missing: scores, and the weighted sum of the values.", lambda n, d, h: 4 * n * d * d),
        mistake("The four projections are missing, n · d_model² each.", lambda n, d, h: 2 * n * n * d),
        mistake(
            "Scores cost n² · d_model, and the weighted sum of the values as much again.",
            lambda n, d, h: 4 * n * d * d + n * n * d,
        ),
        mistake("There are four projections: the output has one too.", lambda n, d, h: 3 * n * d * d + 2 * n * n * d),
        mistake(
            "There are four projections: for queries, keys, values and the output.",
            lambda n, d, h: n * d * d + 2 * n * n * d,
        ),
        mistake(
            "Each head is only d_model / n_heads wide: all heads together cost n² · d_model.",
            lambda n, d, h: 4 * n * d * d + 2 * n * n * d * h,
        ),
        mistake(
            "That is the attention of one head: there are n_heads of them.",
            lambda n, d, h: 4 * n * d * d + 2 * n * n * (d // h),
        ),
        mistake(
            "Count multiplications. An addition goes with each, but is not asked for.",
            lambda n, d, h: 8 * n * d * d + 4 * n * n * d,
        ),
        *(
            mistake("Each projection maps d_model to d_model numbers, all heads together.", does)
            for does in (
                lambda n, d, h: 4 * n * (d // h) ** 2 + 2 * n * n * d,
                lambda n, d, h: 4 * n * d * (d // h) + 2 * n * n * d,
            )
        ),
        mistake(
            "A projection makes the queries of all heads at once: it does not come once for each head.",
            lambda n, d, h: 4 * n * d * d * h + 2 * n * n * d,
        ),
        mistake("Every token goes through the projections, n of them.", lambda n, d, h: 4 * d * d + 2 * n * n * d),
        mistake("Every token asks every token: n² pairs, not n.", lambda n, d, h: 4 * n * d * d + 2 * n * d),
        mistake(
            "A pair of tokens costs a sum over the width, for its score and again for its value.",
            lambda n, d, h: 4 * n * d * d + 2 * n * n,
        ),
        mistake(
            "Nothing is hidden here: every token asks every token, later ones too.",
            lambda n, d, h: 4 * n * d * d + n * (n + 1) * d,
        ),
        mistake(
            "The feed-forward block is another layer: only attention and its projections are asked for.",
            lambda n, d, h: 12 * n * d * d + 2 * n * n * d,
        ),
        mistake(
            "The softmax is not asked for, nor the division by √d_head.",
            lambda n, d, h: 4 * n * d * d + 2 * n * n * d + h * n * n,
        ),
        mistake(
            "A bias is added, not multiplied.",
            lambda n, d, h: 4 * n * (d * d + d) + 2 * n * n * d,
        ),
    ],
    praise="4 n d² + 2 n² d, whatever the number of heads.",
)  # fmt: skip


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
            tiles=_steep([10_000.0, 10_001.5, 9_999.0, 10_002.0, 10_000.5], 2),
        ),
        case(
            "scores around −12,000",
            "A maximum that starts too high never comes down: start it at −∞.",
            tiles=_steep([-12_000.0, -12_001.5, -11_999.0, -12_000.5, -11_998.0], 2),
        ),
        case(
            "300 in the first tile, everything else below",
            "The maximum so far must not shrink: later powers are relative to 300, too.",
            tiles=_steep([300.0, 100.0, 0.0, -100.0, 1.0, 2.0, -300.0], 2),
        ),
        case(
            "scores from −10,000 to 10,000",
            "The weights should be one half on each of the two largest.",
            tiles=_steep([-1e4, 3.0, 1e4, 0.0, -1e4, 1e4, 5.0], 2),
        ),
        case("4,096 scores in tiles of 32", tiles=_row(6, 4096, 7, 32)),
    ],
    promises=[
        precisions("float64"),
        at_most(
            "It keeps more than a tile and three running numbers: what it holds grows with the row.",
            held=lambda tiles: 12 * _sizes(tiles)[0] + 200,
            bytes=lambda tiles: 80_000 + 2 * _sizes(tiles)[0],
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
        mistake("A maximum that starts at 0 never comes down to scores far below. Start it at −∞.", _by_tiles(start=0.0)),
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


def _intensity(n: int, n_heads: int, n_kv_heads: int, d_head: int, bytes_per_number: float) -> float:
    """The reference."""
    return (4 * n * n_heads * d_head) / (2 * n * n_kv_heads * d_head * bytes_per_number)


def _steps(*sizes: tuple[int, int, int, int, float]) -> list:
    return [
        case(
            f"{n} {'token' if n == 1 else 'tokens'}, {h} query heads, {k} key-value heads, d_head = {d} and "
            f"{b} bytes a number",
            n=n,
            n_heads=h,
            n_kv_heads=k,
            d_head=d,
            bytes_per_number=b,
        )
        for n, h, k, d, b in sizes
    ]


exercise(
    "costs-intensity",
    "intensity",
    reference=_intensity,
    cases=[
        *_steps((1000, 15, 3, 64, 4), (4096, 32, 8, 128, 2), (50, 6, 1, 16, 4), (1, 12, 12, 32, 2)),
        *_steps((300, 40, 8, 96, 0.5625), (77, 10, 4, 24, 1), (2048, 71, 1, 64, 8)),
    ],
    mistakes=[
        mistake("It is upside down: operations for each byte, not bytes for each operation.", lambda n, h, k, d, b: k * b / (2 * h)),
        mistake("Each number of the cache is multiplied and added: that is two operations.", lambda n, h, k, d, b: h / (k * b)),
        mistake(
            "Keys and values are both read, and each takes part in one product: twice the work, twice the bytes.",
            lambda n, h, k, d, b: 4 * h / (k * b),
        ),
        mistake(
            "Only n_kv_heads keys and values are stored and read: query heads of a group share them.",
            lambda n, h, k, d, b: 2 / b,
        ),
        mistake("Divide by bytes, not by numbers.", lambda n, h, k, d, b: 2 * h / k),
        mistake("Divide by the bytes of a number: more of them mean fewer operations for each.", lambda n, h, k, d, b: 2 * h * b / k),
        mistake("bytes_per_number is in bytes already, not in bits.", lambda n, h, k, d, b: h / (4 * k * b)),
        mistake("The heads have changed places: queries do the work, keys and values are read.", lambda n, h, k, d, b: 2 * k / (h * b)),
        mistake("n_kv_heads keys and values are read, not one.", lambda n, h, k, d, b: 2 * h / b),
        mistake("Every query head works with what is read, n_heads of them.", lambda n, h, k, d, b: 2 / (k * b)),
        mistake("There is one new token, so one query in each head, not n.", lambda n, h, k, d, b: 2 * n * h / (k * b)),
        mistake("Those are the operations. Divide them by the bytes that are read.", lambda n, h, k, d, b: 4 * n * h * d),
        mistake("Those are the bytes that are read. How many operations come for each?", lambda n, h, k, d, b: 2 * n * k * d * b),
        mistake("// drops what is behind the point. Divide with /.", lambda n, h, k, d, b: 4 * n * h * d // (2 * n * k * d * b)),
        mistake("n_heads // n_kv_heads drops what is behind the point. Divide with /.", lambda n, h, k, d, b: 2 * (h // k) / b),
        mistake(
            "The softmax is left out here: count the scores and the weighted sum.",
            lambda n, h, k, d, b: (4 * n * h * d + 3 * n * h) / (2 * n * k * d * b),
        ),
        mistake(
            "Only the cache is asked for, not the query and the output.",
            lambda n, h, k, d, b: 4 * n * h * d / (2 * n * k * d * b + 2 * h * d * b),
        ),
    ],
    praise="2 n_heads / (n_kv_heads · bytes), at any length and width.",
)  # fmt: skip


def _caches(*sizes: tuple[int, int, int, int]) -> list:
    return [
        case(
            f"{batch} {'sequence' if batch == 1 else 'sequences'} of {n} {'token' if n == 1 else 'tokens'}, "
            f"{w:,} bytes of weights and {t:,} bytes a token",
            n=n,
            batch=batch,
            weight_bytes=w,
            token_bytes=t,
        )
        for n, batch, w, t in sizes
    ]


exercise(
    "costs-win",
    "most_to_win",
    reference=lambda n, batch, weight_bytes, token_bytes: 1 + batch * n * token_bytes / weight_bytes,
    cases=[
        *_caches((1000, 4, 20_000_000, 1500), (8192, 16, 3_000_000_000, 131_072), (10, 1, 700, 350)),
        *_caches((1, 3, 40, 7), (2000, 64, 1_000_000, 4096), (5, 2, 300_000, 11)),
    ],
    mistakes=[
        mistake(
            "The weights are read once for all sequences, but each sequence has a cache of its own.",
            lambda n, batch, w, t: 1 + n * t / w,
        ),
        mistake("The weights are read once for all sequences, not once for each.", lambda n, batch, w, t: batch + batch * n * t / w),
        mistake("Every token is in the cache, n of them in each sequence.", lambda n, batch, w, t: 1 + batch * t / w),
        mistake("Each of batch sequences has n tokens: batch · n of them.", lambda n, batch, w, t: 1 + (batch + n) * t / w),
        *(
            mistake("That is the share of the cache. By what factor does a step become faster when it is gone?", does)
            for does in (
                lambda n, batch, w, t: batch * n * t / (w + batch * n * t),
                lambda n, batch, w, t: 100 * batch * n * t / (w + batch * n * t),
            )
        ),
        mistake(
            "That is the share of the weights, which remains. The factor is all of it over what remains.",
            lambda n, batch, w, t: w / (w + batch * n * t),
        ),
        mistake(
            "The whole has the weights in it too: divide weights and caches by weights.",
            lambda n, batch, w, t: batch * n * t / w,
        ),
        mistake(
            "It is the cache that costs nothing, not the weights: divide by what remains.",
            lambda n, batch, w, t: 1 + w / (batch * n * t),
        ),
        mistake(
            "Those are the bytes of a step. Divide them by the bytes that remain without the cache.",
            lambda n, batch, w, t: w + batch * n * t,
        ),
        mistake("token_bytes has the key and the value of a token already.", lambda n, batch, w, t: 1 + 2 * batch * n * t / w),
        mistake("// drops what is behind the point. Divide with /.", lambda n, batch, w, t: 1 + batch * n * t // w),
        mistake("One new token reads its cache once: bytes grow with n, not with n².", lambda n, batch, w, t: 1 + batch * n * n * t / w),
    ],
    praise="1 + caches / weights: little cache, little to win.",
)  # fmt: skip
