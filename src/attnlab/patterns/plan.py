"""Cut a pattern into tiles: the plan that attention follows, made once for a length and a device.

A pattern is a union of terms; a term is a window and a few leaves that must all allow a pair. Each term
brings the tiles of its cheapest part, clipped by its window. A pair that several terms see belongs to the
first of them: the others hide it in their tiles. So every visible pair lies in exactly one tile.

The work is that of the tiles; no table of n² pairs is made on the way. A bias takes at most as many numbers
as its tiles hold pairs, and much less where tiles are alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab.patterns.tiles import HIDDEN, Listed, Rows, Tiles

ROWS = 256
"""Most rows of a tile: enough to keep the processor busy, few enough to keep the scores in its cache."""
AT_ONCE = 2**18
"""How many pairs are looked at together while a plan is made."""
Sees = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Plan:
    """The tiles of a pattern, in the order in which they are run.

    Args:
        forward: tiles for the forward pass.
        backward: the same pairs for the backward pass. A window has other tiles there: tiles of keys, in
            which each key has one place, so that its gradients are stored instead of added up.
        blank_queries: some query is in no fresh tile of `forward`: its running numbers need a start.
        blank_keys: some key is in no fresh tile of `backward`: its gradients start at zero.
        may_be_empty: some query sees no key.
    """

    forward: tuple[Tiles, ...]
    backward: tuple[Tiles, ...]
    blank_queries: bool
    blank_keys: bool
    may_be_empty: bool

    def with_tensors(self, change: Callable[[Tensor], Tensor]) -> Plan:
        """Return the plan with every tensor in it changed."""

        def rows(side):
            return Listed(change(side.table)) if isinstance(side, Listed) else side

        def tiles(one):
            bias = change(one.bias) if isinstance(one.bias, Tensor) else one.bias
            return replace(one, queries=rows(one.queries), keys=rows(one.keys), bias=bias)

        return replace(
            self, forward=tuple(map(tiles, self.forward)), backward=tuple(map(tiles, self.backward))
        )


def cut(terms: Sequence, n: int, device: torch.device | str, block_size: int | None = None) -> Plan:
    """Cut a union of terms into tiles.

    Args:
        terms: the terms of a pattern, see `attnlab.patterns.algebra.Term`.
        n: sequence length.
        device: where the attention will run.
        block_size: most rows and columns of a tile; unless given, what suits each part of the pattern.

    Returns:
        The plan; each pair that one term at least sees is visible in exactly one tile of each direction.
    """
    # Windows first: their tiles hold every query once. Then what repeats, so that its tiles stay alike.
    terms = sorted(terms, key=lambda term: (bool(term.leaves), term.period(n) is None))
    forward, backward, earlier_rules, period = [], [], [], 1
    for term in terms:
        period = math.lcm(period, term.period(n)) if period and term.period(n) else None
        term_sees = term.sees(n, device)
        sees = reduce(_but_not, earlier_rules, term_sees)
        by_queries, by_keys = _cover(term, n, device, block_size)
        shown = _shown(by_queries, sees, period, n, device)
        forward += shown
        backward += shown if by_keys is by_queries else _shown(by_keys, sees, period, n, device)
        earlier_rules.append(term_sees)
    forward, blank_queries = _marked(forward, "queries", n, device)
    backward, blank_keys = _marked(backward, "keys", n, device)
    return Plan(forward, backward, blank_queries, blank_keys, not _all_see(forward, n, device))


def _but_not(sees: Sees, other: Sees) -> Sees:
    return lambda i, j: sees(i, j) & ~other(i, j)


def _cover(term, n: int, device, block_size: int | None) -> tuple[list[Tiles], list[Tiles]]:
    """Return the cheapest tiles that hold all pairs of a term: by queries, and by keys."""
    before, after = min(term.before, n - 1), min(term.after, n - 1)
    size = block_size or tile_size(before + after)
    rows = block_size or ROWS
    choices = []
    for leaf in term.leaves:
        tiles = [_clipped(one, before, after) for one in leaf.cover(n, rows, device)]
        choices.append([one for one in tiles if one is not None])
    if not term.leaves or before + after < n - 1:
        choices.append(band(n, before, after, size))
    tiles = min(choices, key=lambda tiles: sum(one.pairs for one in tiles))
    if tiles is choices[-1] and len(choices) > len(term.leaves):
        by_keys = [Tiles(one.keys, one.queries, one.count) for one in band(n, after, before, size)]
        return _split(tiles, block_size), _split(by_keys, block_size)
    tiles = _split(tiles, block_size)
    return tiles, tiles


def tile_size(reach: int) -> int:
    """Choose how many queries share a tile: more of them waste more of the rectangle on the band's edges."""
    return 32 if reach < 256 else 64 if reach < 1024 else 128


def band(n: int, before: int, after: int, size: int) -> list[Tiles]:
    """Cover the pairs with -before <= column - row <= after by tiles of `size` rows.

    The keys that a tile can reach lie side by side, so they are read where they are, and neighbouring tiles
    read overlapping keys without a copy. All tiles whose columns lie inside the sequence are alike, and come
    as one; those at the ends come one by one.
    """
    inner = range(-(-before // size), (n - size - after) // size + 1)  # tiles with all their columns
    out = []
    if len(inner):
        start = inner[0] * size
        keys = Rows(start - before, size + before + after, size)
        out.append(Tiles(Rows(start, size, size), keys, len(inner)))
    for tile in range(-(-n // size)):
        if tile in inner:
            continue
        start = tile * size
        rows = min(size, n - start)
        first, last = max(0, start - before), min(n, start + rows + after)
        out.append(Tiles(Rows(start, rows), Rows(first, last - first)))
    return out


def _clipped(one: Tiles, before: int, after: int) -> Tiles | None:
    """Leave out the keys that a window hides from all queries of a tile; None if that hides all."""
    queries, keys = one.queries, one.keys
    if isinstance(keys, Listed) and one.count > 1:
        return one
    tokens = queries.tokens(0, 1, "cpu") if isinstance(queries, Rows) else queries.table
    low, high = int(tokens.min()) - before, int(tokens.max()) + after
    if isinstance(keys, Listed):
        keys = Listed(keys.table[:, (keys.table[0] >= low) & (keys.table[0] <= high)])
    else:  # the queries of later tiles move on as far as the keys do
        first = max(0, -((keys.start - low) // keys.spread))
        last = min(keys.size - 1, (high - keys.start) // keys.spread)
        keys = keys.part(first, last - first + 1)
    return replace(one, keys=keys) if keys.size > 0 else None


def _split(tiles: list[Tiles], block_size: int | None) -> list[Tiles]:
    """Cut tiles that are wider or taller than a block."""
    if block_size is None:
        return tiles
    return [
        replace(one, queries=one.queries.part(top, min(block_size, one.queries.size - top)),
                keys=one.keys.part(left, min(block_size, one.keys.size - left)))
        for one in tiles
        for top in range(0, one.queries.size, block_size)
        for left in range(0, one.keys.size, block_size)
    ]  # fmt: skip


def _shown(tiles: list[Tiles], sees: Sees, period: int | None, n: int, device) -> list[Tiles]:
    """Give tiles their bias; leave out the rows and columns at their edges in which all is hidden."""
    if period == 1 and all(isinstance(one.queries, Rows) and isinstance(one.keys, Rows) for one in tiles):
        return _slices(tiles, sees, device) if tiles else []
    out = []
    for one in tiles:
        bias = _bias(one, sees, period, n, device)
        used = (bias == 0).any(0)
        if used.any():
            rows, columns = _between(used.any(1)), _between(used.any(0))
            bias = bias[:, rows, columns]
            out.append(_part(one, rows, columns, None if (bias == 0).all() else bias, n))
    return out


def _slices(tiles: list[Tiles], sees: Sees, device) -> list[Tiles]:
    """Do it for tiles in which only the distance counts: their biases are parts of one wide bias."""
    spread = tiles[0].queries.spread
    shifts = [(one.keys.start - one.queries.start) // spread for one in tiles]
    sizes = [(one.queries.size, one.keys.size) for one in tiles]
    rows, columns = (max(size) for size in zip(*sizes, strict=True))
    wide = columns >= rows
    if not wide:  # the same, with queries and keys changed about
        shifts, sizes, rows = [-shift for shift in shifts], [size[::-1] for size in sizes], columns
    low = min(shifts)
    columns = max(shift + size[1] for shift, size in zip(shifts, sizes, strict=True)) - low
    short = torch.arange(rows, device=device)[:, None] * spread
    long = torch.arange(low, low + columns, device=device) * spread
    strips = short.split(max(1, AT_ONCE // columns))
    seen = [(sees(part, long) if wide else sees(long, part)).expand(len(part), columns) for part in strips]
    seen = torch.cat(seen)
    before = F.pad(seen.cumsum(1, dtype=torch.int32), (1, 0))  # how many are seen to the left, in each row
    in_any = seen.any(0)
    cut_down = []
    for one, shift, (high, width) in zip(tiles, shifts, sizes, strict=True):
        left, right = shift - low, shift - low + width
        in_row = before[:high, right] - before[:high, left]
        if in_row.any():
            top = _between(in_row > 0)
            side = _between(in_any[left:right] if high == rows else seen[:high, left:right].any(0))
            full = int(in_row.sum()) == (top.stop - top.start) * (side.stop - side.start)
            cut_down.append((one, top, side, None if full else slice(left + side.start, left + side.stop)))
    mixed = [place for *_, place in cut_down if place]
    left = min((place.start for place in mixed), default=0)  # a bias is kept for these alone
    seen = seen[:, left : max((place.stop for place in mixed), default=0)]
    bias = _as_bias(seen if wide else seen.T)
    out = []
    for one, top, side, place in cut_down:
        bias_place = (top, slice(place.start - left, place.stop - left)) if place else ()
        bias_place, ends = (bias_place, (top, side)) if wide else (bias_place[::-1], (side, top))
        out.append(_part(one, *ends, bias[bias_place][None] if place else None, 0))
    return out


def _between(used: Tensor) -> slice:
    """Return what lies between the first and the last True, both included."""
    used_at = used.nonzero()
    return slice(int(used_at[0]), int(used_at[-1]) + 1)


def _part(one: Tiles, rows: slice, columns: slice, bias: Tensor | None, n: int) -> Tiles:
    """Return some rows and columns of tiles, with their bias."""
    queries = one.queries.part(rows.start, rows.stop - rows.start)
    keys = one.keys.part(columns.start, columns.stop - columns.start)
    if isinstance(keys, Listed):
        keys = Listed(keys.table.clamp_max(n - 1))  # beyond the end: hidden
    return Tiles(queries, keys, one.count, bias)


def _bias(one: Tiles, sees: Sees, period: int | None, n: int, device) -> Tensor:
    """Make a bias pair by pair, (count, rows, columns), or (1, rows, columns) where the tiles are alike."""
    steps = [side.step for side in (one.queries, one.keys) if isinstance(side, Rows)]
    alike = period and len(set(steps)) == 1 and len(steps) == 2 and steps[0] % period == 0
    count, size = 1 if alike else one.count, (one.queries.size, one.keys.size)
    out, portion = [], max(1, AT_ONCE // math.prod(size))
    for first in range(0, count, portion):
        span = first, min(portion, count - first)
        i, j = one.queries.tokens(*span, device)[:, :, None], one.keys.tokens(*span, device)[:, None]
        seen = sees(i, j.clamp_max(n - 1)) & (j < n)
        out.append(_as_bias(seen.expand(span[1], *size)))
    return torch.cat(out)


def _as_bias(seen: Tensor) -> Tensor:
    return torch.zeros(seen.shape, device=seen.device).masked_fill_(~seen, HIDDEN)  # side by side in memory


def _marked(tiles: list[Tiles], side: str, n: int, device) -> tuple[tuple[Tiles, ...], bool]:
    """Mark the tiles whose rows no tiles before them covered; say whether some row is in no such tile."""
    covered = torch.zeros(n, dtype=torch.bool, device=device)
    covered_fresh, out = covered.clone(), []
    for one in tiles:
        rows = getattr(one, side)
        tokens = rows.tokens(0, one.count, device).flatten()
        fresh = isinstance(rows, Rows) and not covered[tokens].any() and len(tokens.unique()) == len(tokens)
        covered[tokens] = True
        if fresh:
            covered_fresh[tokens] = True
        out.append(replace(one, fresh=bool(fresh)))
    return tuple(out), not bool(covered_fresh.all())


def _all_see(tiles: Sequence[Tiles], n: int, device) -> bool:
    """Say whether every query sees a key."""
    alive = torch.zeros(n, dtype=torch.bool, device=device)
    for one in tiles:
        tokens = one.queries.tokens(0, one.count, device)
        seen = True if one.bias is None else (one.bias == 0).any(-1).expand(tokens.shape)
        alive[tokens[seen].flatten()] = True
    return bool(alive.all())
