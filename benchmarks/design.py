"""Compute the ceiling and the price of all small designs, and which of them no other beats.

    python benchmarks/design.py [--out FILE]

Writes results/design.json. All designs of one layer whose words see any of the offsets -4 to 4, and of two
layers that see any of -2 to 2, each told where and not: 1,024 of them. Nothing is trained and nothing is
drawn: every ceiling is exact, over all sentences of the toy grammar.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from attnbook import results
from attnbook.tagging import views

ONE, TWO = (-4, -3, -2, -1, 1, 2, 3, 4), (-2, -1, 1, 2)


def main() -> None:
    """Compute them all, and store them with their frontier."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--out", type=Path, help="another file, for a trial")
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    results.begin(chosen.out)
    found = []
    for design in designs():
        best, price = views.ceiling(design), views.pairs(design)
        found.append((best, price, design))
    edge = frontier([(float(price), best) for best, price, _ in found])
    numbers = {
        "columns": ["offsets by layer", "told where", "ceiling, %", "pairs a word", "bytes held", "wait"],
        "designs": [row(*one) for one in found],
        "frontier": [row(*found[at]) for at in edge],
    }
    results.store("design", numbers, command="python benchmarks/design.py", path=chosen.out)


def designs() -> Iterator[views.Design]:
    """Yield every small design, those of one layer first."""
    for told in (True, False):
        for offsets in subsets(ONE):
            yield views.Design((offsets,), told=told)
        for layers in itertools.product(subsets(TWO), repeat=2):
            yield views.Design(layers, told=told)


def subsets(offsets: Sequence[int]) -> list[tuple[int, ...]]:
    """List all choices among some offsets.

    >>> subsets((-1, 1))
    [(), (-1,), (1,), (-1, 1)]
    """
    return [some for size in range(len(offsets) + 1) for some in itertools.combinations(offsets, size)]


def frontier(points: Sequence[tuple[float, float]]) -> list[int]:
    """Return which points no other beats: at most their price, and better.

    Args:
        points: (price, accuracy) of each.

    Returns:
        Their numbers, the cheapest first; of several that are alike, the first.

    >>> frontier([(1, 50), (3, 70), (2, 70), (4, 65)])
    [0, 2]
    """
    kept: list[int] = []
    for at in sorted(range(len(points)), key=lambda at: (points[at][0], -points[at][1], at)):
        if not kept or points[at][1] > points[kept[-1]][1]:
            kept.append(at)
    return kept


def row(best: float, price: float, design: views.Design) -> list:
    """Write a design as a row of the stored table."""
    held, wait = views.reading(design)
    return [design.layers, design.told, round(100 * float(best), 6), round(float(price), 6), held, wait]


if __name__ == "__main__":
    main()
