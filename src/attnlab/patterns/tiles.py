"""Rectangles of the score matrix: which queries, which keys, and which pairs among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

HIDDEN = torch.finfo(torch.float32).min / 2
"""The bias of a pair that may not attend: finite, so that a row without keys is no NaN on its way.

What is below `HIDDEN / 2`, -8.5e37, counts as hidden. So scores must be smaller than 8.5e37 in size, a
quarter of what single precision holds; then no sum of a score and the bias leaves its range either.
"""


@dataclass(frozen=True)
class Rows:
    """Rows of a sequence, tile by tile: row i of tile t is token start + t * step + i * spread."""

    start: int
    size: int
    step: int = 0
    spread: int = 1

    def tokens(self, first: int, count: int, device: torch.device | str) -> Tensor:
        """Name the tokens of tiles first..first+count-1, (count, size)."""
        tile = torch.arange(first, first + count, device=device)[:, None]
        return self.start + tile * self.step + torch.arange(self.size, device=device) * self.spread

    def part(self, at: int, size: int) -> Rows:
        """Return rows at..at+size-1 of every tile."""
        return replace(self, start=self.start + at * self.spread, size=size)

    def view(self, x: Tensor, first: int, count: int) -> Tensor:
        """Show tiles first..first+count-1 of x (heads, n, d) as (heads, count, size, d), without copying."""
        heads, row, column = x.stride()
        start = x.storage_offset() + (self.start + first * self.step) * row
        shape = (x.shape[0], count, self.size, x.shape[2])
        return x.as_strided(shape, (heads, self.step * row, self.spread * row, column), start)

    def put(self, x: Tensor, tiles: Tensor, first: int, count: int) -> None:
        """Write down in x what was changed in the tiles that `view` showed: it is there already."""

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
            self.part(at, part.shape[2]).view(x, first, count).add_(part, alpha=factor)


@dataclass(frozen=True, eq=False)
class Listed:
    """Rows of a sequence named one by one: row i of tile t is token table[t, i]. They are copied to be read.

    As queries, the rows of one tile only, and no token twice.
    """

    table: Tensor

    @property
    def size(self) -> int:
        """Return the number of rows of one tile."""
        return self.table.shape[1]

    def tokens(self, first: int, count: int, device: torch.device | str) -> Tensor:
        """Name the tokens of tiles first..first+count-1, (count, size)."""
        return self.table[first : first + count]

    def part(self, at: int, size: int) -> Listed:
        """Return rows at..at+size-1 of every tile."""
        return Listed(self.table[:, at : at + size])

    def view(self, x: Tensor, first: int, count: int) -> Tensor:
        """Copy tiles first..first+count-1 of x (heads, n, d) to (heads, count, size, d)."""
        rows = self.table[first : first + count].flatten()
        return x.index_select(1, rows).view(x.shape[0], count, self.size, x.shape[2])

    def put(self, x: Tensor, tiles: Tensor, first: int, count: int) -> None:
        """Write down in x what was changed in the tiles that `view` copied."""
        x.index_copy_(1, self.table[first : first + count].flatten(), tiles.flatten(1, 2))

    def add(self, x: Tensor, tiles: Tensor, first: int, factor: float, fresh: bool) -> None:
        """Add factor * tiles (heads * count, size, d) to their rows of x (heads, n, d)."""
        assert not fresh, "listed rows may repeat: they can be added, not stored"
        count = tiles.shape[0] // x.shape[0]
        rows = self.table[first : first + count].flatten()
        x.index_add_(1, rows, tiles.view(x.shape[0], -1, x.shape[2]), alpha=factor)


@dataclass(frozen=True, eq=False)
class Tiles:
    """`count` equal rectangles of the score matrix; no token is a query in two of them.

    The bias is 0 for a pair that may attend and `HIDDEN` for one that may not: (1 or count, rows,
    columns), or a function that makes it (heads or 1, tiles or 1, rows or 1, columns) for a portion of the
    work. `fresh` says that no tiles before these held the same rows: in the forward pass the same queries, in
    the backward pass the same keys. What is found there can then be stored, and need not be merged.
    """

    queries: Rows | Listed
    keys: Rows | Listed
    count: int = 1
    bias: Tensor | Callable | None = None
    fresh: bool = False

    @property
    def pairs(self) -> int:
        """Return how many scores the tiles hold, hidden ones too."""
        return self.count * self.queries.size * self.keys.size

    def visible(self, first: int, count: int) -> Tensor:
        """Say of tiles first..first+count-1 which pairs may attend: boolean (count, rows, columns)."""
        shape = (count, self.queries.size, self.keys.size)
        if self.bias is None:
            return torch.ones(shape, dtype=torch.bool)
        bias = self.bias if self.bias.shape[0] == 1 else self.bias[first : first + count]
        return (bias == 0).expand(shape)
