"""How much is computed at once: tiles of some heads, few enough for their scores to stay in the cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from attnlab.patterns.tiles import Tiles


@dataclass(frozen=True)
class Portion:
    """What is computed at once: `count` tiles from `first` on, of some heads whose tokens have this order."""

    tiles: Tiles
    first: int
    count: int
    order: Tensor | None = None

    def queries(self, x: Tensor) -> Tensor:
        """Show the queries' rows of x (heads, n, d) as (heads * count, rows, d)."""
        return self.tiles.queries.view(x, self.first, self.count).flatten(0, 1)

    def keys(self, x: Tensor) -> Tensor:
        """Show the keys' rows of x (heads, n, d) as (heads * count, columns, d)."""
        return self.tiles.keys.view(x, self.first, self.count).flatten(0, 1)

    def bias(self) -> Tensor | None:
        """Return the bias of the tiles, (heads or 1, count or 1, rows or 1, columns)."""
        bias = self.tiles.bias
        if bias is None:
            return None
        if callable(bias):
            return bias(self)
        return bias[None] if bias.shape[0] == 1 else bias[None, self.first : self.first + self.count]


def shared_out(
    tiles: Sequence[Tiles], heads: int, at_once: int, order: Tensor | None = None
) -> Iterator[tuple[slice, list[Portion]]]:
    """Yield heads and what to compute for them, in portions of about `at_once` scores.

    As many heads come together as have no more scores than that between them. Of a head that has more, a
    portion holds some of the tiles. With an `order` (heads, n) the tiles lie on permuted tokens, and come all
    together, so that a head's tokens are permuted once.
    """
    for group in [(one,) for one in tiles] if order is None else [tiles]:
        scores = sum(one.pairs for one in group)
        heads_at_once = max(1, min(heads, at_once // scores))
        for start in range(0, heads, heads_at_once):
            head_slice = slice(start, min(start + heads_at_once, heads))
            order_of_heads = None if order is None else order[head_slice]
            portions = []
            for one in group:
                count = max(1, at_once // ((head_slice.stop - start) * one.queries.size * one.keys.size))
                for first in range(0, one.count, count):
                    portions.append(Portion(one, first, min(count, one.count - first), order_of_heads))
            yield head_slice, portions
