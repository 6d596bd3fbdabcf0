"""Rectangles of the score matrix: which queries, which keys, and which pairs among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

HIDDEN = -1e30
"""The bias of a pair that may not attend: finite, so that a row without keys is no NaN on its way."""


@dataclass(frozen=True)
class Rows:
    """Rows of a sequence, tile by tile: row i of tile t is token start + t * step + i * spread."""

    start: int
    size: int
    step: int = 0
    spread: int = 1

    def view(self, x: Tensor, first: int, count: int) -> Tensor:
        """Show tiles first..first+count-1 of x (heads, n, d) as (heads, count, size, d), without copying."""
        heads, row, column = x.stride()
        start = x.storage_offset() + (self.start + first * self.step) * row
        shape = (x.shape[0], count, self.size, x.shape[2])
        return x.as_strided(shape, (heads, self.step * row, self.spread * row, column), start)

    def add(self, x: Tensor, tiles: Tensor, first: int, factor: float, fresh: bool) -> None:
        """Add factor * tiles (heads * count, size, d) to where `view` shows them in x; `fresh` stores them.

        Tiles may overlap when they are added, not when they are stored.
        """
        count = tiles.shape[0] // x.shape[0]
        tiles = tiles.view(x.shape[0], count, self.size, x.shape[2])
        if fresh:
            torch.mul(tiles, factor, out=self.view(x, first, count))
            return
        overlap = self.spread == 1 and count > 1 and self.step < self.size
        piece = self.step if overlap else self.size  # within one piece no token comes twice
        for at in range(0, self.size, piece):
            part = tiles[:, :, at : at + piece]
            rows = Rows(self.start + at * self.spread, part.shape[2], self.step, self.spread)
            rows.view(x, first, count).add_(part, alpha=factor)


@dataclass(frozen=True)
class Listed:
    """Rows of a sequence named one by one: row i of tile t is token table[t, i]. For keys only."""

    table: Tensor

    @property
    def size(self) -> int:
        """Return the number of rows of one tile."""
        return self.table.shape[1]

    def view(self, x: Tensor, first: int, count: int) -> Tensor:
        """Copy tiles first..first+count-1 of x (heads, n, d) to (heads, count, size, d)."""
        rows = self.table[first : first + count].flatten()
        return x.index_select(1, rows).view(x.shape[0], count, self.size, x.shape[2])

    def add(self, x: Tensor, tiles: Tensor, first: int, factor: float, fresh: bool) -> None:
        """Add factor * tiles (heads * count, size, d) to their rows of x (heads, n, d)."""
        assert not fresh, "listed rows may repeat: they can be added, not stored"
        count = tiles.shape[0] // x.shape[0]
        rows = self.table[first : first + count].flatten()
        x.index_add_(1, rows, tiles.view(x.shape[0], -1, x.shape[2]), alpha=factor)


Bias = Tensor | Callable[["Step"], Tensor] | None


@dataclass(frozen=True)
class Tiles:
    """`count` equal rectangles of the score matrix.

    The bias is 0 for a pair that may attend and `HIDDEN` or lower for one that may not: (1 or count, rows,
    columns), or a function of a step that makes (heads or 1, tiles of the step or 1, rows or 1, columns).
    """

    queries: Rows
    keys: Rows | Listed
    count: int = 1
    bias: Bias = None


@dataclass(frozen=True)
class Layer:
    """Tiles in which a query appears at most once. With `order` (heads, n) they lie on permuted tokens."""

    tiles: tuple[Tiles, ...]
    order: Tensor | None = None


@dataclass(frozen=True)
class Step:
    """What is computed at once: `count` tiles from `first` on, of some heads whose tokens have this order."""

    tiles: Tiles
    first: int
    count: int
    order: Tensor | None

    def queries(self, x: Tensor) -> Tensor:
        """Show the queries' rows of x (heads, n, d) as (heads * count, rows, d)."""
        return self.tiles.queries.view(x, self.first, self.count).flatten(0, 1)

    def keys(self, x: Tensor) -> Tensor:
        """Show the keys' rows of x (heads, n, d) as (heads * count, columns, d)."""
        return self.tiles.keys.view(x, self.first, self.count).flatten(0, 1)

    def bias(self) -> Tensor | None:
        """Return the bias of the step, (heads or 1, count or 1, rows or 1, columns)."""
        bias = self.tiles.bias
        if bias is None:
            return None
        if callable(bias):
            return bias(self)
        return bias[None] if bias.shape[0] == 1 else bias[None, self.first : self.first + self.count]


def portions(layer: Layer, heads: int, most: int) -> Iterator[tuple[slice, list[Step]]]:
    """Yield heads and what to compute for them, in steps of about `most` scores.

    As many heads come together as have no more scores than that between them. Of a head that has more, a step
    holds some of the tiles.
    """
    for tiles in [layer.tiles] if layer.order is not None else [(kind,) for kind in layer.tiles]:
        scores = sum(kind.count * kind.queries.size * kind.keys.size for kind in tiles)
        together = max(1, min(heads, most // scores))
        for at in range(0, heads, together):
            some = slice(at, min(at + together, heads))
            order = None if layer.order is None else layer.order[some]
            steps = []
            for kind in tiles:
                count = max(1, most // ((some.stop - at) * kind.queries.size * kind.keys.size))
                starts = range(0, kind.count, count)
                steps += [Step(kind, first, min(count, kind.count - first), order) for first in starts]
            yield some, steps
