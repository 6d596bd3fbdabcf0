"""Measure the pieces of a Transformer layer against two speeds of the machine, and a layer by its length.

    python benchmarks/roofline.py [--repeats 5] [--out FILE]

Writes benchmarks/results/costs-roofline.json. Every time stands beside the speeds measured in the same
rounds: what it tells is how far a piece is from its bound, not how fast this machine is.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from attnbook import results
from attnbook.benchmark import Comparison, compare
from attnlab import attention

HEADS, D_HEAD = 8, 64
WIDTH = HEADS * D_HEAD
N = 2048
"""The length at which a layer is taken apart."""
LENGTHS = (1_000, 2_000, 4_000, 8_000, 16_000)
BOOK = 100_000
CACHED, LAYERS = 8192, 12
"""Decoding: words in the cache, and how many layers take turns, so that none finds its numbers near by."""
MATRIX, BATCHES = 2048, (1, 4, 16, 64)
BLOCK = 64 * 1024**2
"""Numbers in the block that is read and copied."""

SPEEDS = ("large product", "copying", "reading")


def main() -> None:
    """Measure the pieces, then whole layers, and store both."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--out", type=Path, help="another file, for a trial")
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    results.begin(chosen.out)
    torch.set_grad_enabled(False)
    torch.manual_seed(0)
    found = {
        "reading a text": measured(speeds() | layer_pieces(), chosen.repeats),
        "decoding": measured(speeds() | decoding(), chosen.repeats),
    }
    numbers = {
        "clock": "CPU time of the process",
        "shape": {"heads": HEADS, "d_head": D_HEAD, "n": N, "cached": CACHED, "matrix": MATRIX},
        "repeats": chosen.repeats,
        "speeds": {what: {name: rows[name] for name in SPEEDS} for what, rows in found.items()},
        "pieces": {name: row for rows in found.values() for name, row in rows.items() if name not in SPEEDS},
        "lengths": by_length(chosen.repeats),
        "book": book(),
    }
    results.store("costs-roofline", numbers, command="python benchmarks/roofline.py", path=chosen.out)


def timed(runs: dict[str, Callable], repeats: int) -> Comparison:
    """Compare by the seconds that this process computed: others may be at work on the machine."""
    return compare(runs, repeats=repeats, warmup=2, clock=time.process_time)


def measured(pieces: dict[str, tuple[int, int, Callable]], repeats: int) -> dict[str, dict]:
    """Time pieces in turns; return operations, bytes that must move at least, and seconds."""
    found = timed({name: run for name, (_, _, run) in pieces.items()}, repeats)
    for name, (operations, moved, _) in pieces.items():
        done, read = (amount / found.median(name) / 1e9 for amount in (operations, moved))
        print(f"{name:40} {done:8.1f} G/s {read:8.1f} GB/s", flush=True)
    return {
        name: {
            "operations": operations,
            "bytes": moved,
            "seconds": found.median(name),
            "spread": found.spread(name),
        }
        for name, (operations, moved, _) in pieces.items()
    }


def speeds() -> dict[str, tuple[int, int, Callable]]:
    """Return what the machine does at best: a large product, and reading or copying a large block."""
    a, b = torch.randn(2, 2048, 2048)
    block, target = torch.ones(BLOCK), torch.empty(BLOCK)
    ones = torch.ones(BLOCK // 4096, 4096)
    vector = torch.ones(4096)
    return {
        "large product": (2 * 2048**3, 3 * 4 * 2048**2, lambda: a @ b),
        "copying": (0, 2 * 4 * BLOCK, lambda: target.copy_(block)),
        "reading": (2 * BLOCK, 4 * BLOCK, lambda: ones @ vector),
    }


def layer_pieces() -> dict[str, tuple[int, int, Callable]]:
    """Return one layer's pieces on a text of N tokens, read at once; an addition counts as an operation."""
    x, matrix, wide = torch.randn(N, WIDTH), torch.randn(WIDTH, WIDTH), torch.randn(WIDTH, 4 * WIDTH)
    q, k, v = torch.randn(3, 1, HEADS, N, D_HEAD)
    scores = q @ k.mT / D_HEAD**0.5
    weights, room = scores.softmax(-1), torch.empty_like(scores)
    product, square = 2 * N * N * WIDTH, 4 * HEADS * N * N
    text = 4 * N * WIDTH

    def stored() -> Tensor:
        torch.matmul(q / D_HEAD**0.5, k.mT, out=room)
        torch.softmax(room, -1, out=room)
        return room @ v

    return {
        "projection": (2 * N * WIDTH**2, 2 * text + 4 * WIDTH**2, lambda: x @ matrix),
        "feed-forward, first matrix": (8 * N * WIDTH**2, 5 * text + 16 * WIDTH**2, lambda: x @ wide),
        "scores, stored": (product, 2 * text + square, lambda: torch.matmul(q, k.mT, out=room)),
        "softmax of stored scores": (
            4 * HEADS * N * N,
            2 * square,
            lambda: torch.softmax(scores, -1, out=room),
        ),
        "weighted sum, weights stored": (product, 2 * text + square, lambda: weights @ v),
        "attention, scores stored": (2 * product, 4 * text, stored),
        "attention, fused": (2 * product, 4 * text, lambda: attention(q, k, v)),
        "attention, fused and causal": (product, 4 * text, lambda: attention(q, k, v, is_causal=True)),
    }


def decoding() -> dict[str, tuple[int, int, Callable]]:
    """Return the pieces of a decoding step: one query on a cache, and a few rows through a matrix."""
    found: dict[str, tuple[int, int, Callable]] = {}
    for heads in (8, 2, 1):
        caches = itertools.cycle(
            [torch.randn(2, 1, heads, CACHED, D_HEAD) for _ in range(LAYERS * 8 // heads)]
        )
        q = torch.randn(1, heads, HEADS // heads, D_HEAD)  # the queries that share a head, as rows

        def ask(caches: itertools.cycle = caches, q: Tensor = q) -> None:
            for _ in range(LAYERS):
                k, v = next(caches)
                (q @ k.mT).softmax(-1) @ v

        moved = 2 * 4 * heads * CACHED * D_HEAD * LAYERS
        found[f"one query, {heads} key-value head{'s' * (heads > 1)}"] = (
            4 * HEADS * CACHED * D_HEAD * LAYERS,
            moved,
            ask,
        )
    matrices = itertools.cycle([torch.randn(MATRIX, MATRIX) for _ in range(LAYERS)])
    for batch in BATCHES:
        rows = torch.randn(batch, MATRIX)

        def multiply(rows: Tensor = rows) -> None:
            for _ in range(LAYERS):
                rows @ next(matrices)

        moved = 4 * (MATRIX**2 + 2 * batch * MATRIX) * LAYERS
        found[f"a matrix, {batch} text{'s' * (batch > 1)}"] = (
            2 * batch * MATRIX**2 * LAYERS,
            moved,
            multiply,
        )
    return found


def parts(n: int) -> dict[str, Callable[[], None]]:
    """Return the two parts of a causal layer on n tokens: its matrices, and its attention."""
    x = torch.randn(n, WIDTH)
    square, wide, narrow = (
        torch.randn(4, WIDTH, WIDTH),
        torch.randn(WIDTH, 4 * WIDTH),
        torch.randn(4 * WIDTH, WIDTH),
    )
    q, k, v = torch.randn(3, 1, HEADS, n, D_HEAD)

    def matrices() -> None:
        for rows in x.split(4_000):
            for matrix in square:
                rows @ matrix
            (rows @ wide).relu_() @ narrow

    return {"matrices": matrices, "attention": lambda: attention(q, k, v, is_causal=True)}


def by_length(repeats: int) -> dict[str, dict[str, dict]]:
    """Time both parts at each length, all lengths' rounds apart."""
    found = {}
    for n in LENGTHS:
        result = timed(parts(n), repeats if n < 16_000 else 3)
        found[str(n)] = result.summary()
        print(n, {name: round(row["median"], 4) for name, row in found[str(n)].items()}, flush=True)
    return found


def book() -> dict:
    """Time a page of 1,000 tokens and a book of 100,000 side by side, the book once."""
    page, long = parts(LENGTHS[0]), parts(BOOK)
    seconds: dict[str, list[float]] = {"page": [], "book": []}
    for name in page:
        short = timed({name: page[name]}, 9).median(name)
        start = time.process_time()
        long[name]()
        seconds["book"].append(time.process_time() - start)
        again = timed({name: page[name]}, 9).median(name)
        seconds["page"].append((short + again) / 2)
    found = Comparison({name: [sum(values)] for name, values in seconds.items()})
    print("book", seconds, found.ratio("book", "page"))
    return {
        "tokens": {"page": LENGTHS[0], "book": BOOK},
        "seconds": seconds,
        "ratio": found.ratio("book", "page"),
    }


if __name__ == "__main__":
    main()
