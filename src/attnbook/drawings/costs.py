"""What attention costs: what is kept, how far a signal travels, what moves, and what a window computes."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.drawings.pen import FAINT, Pen
from attnlab import KVCache, masks

PASSES = (("I", "saw"), ("a",), ("saw",), ("too",))


def cache(narrow: bool = False) -> Figure:
    """Draw a key-value cache that grows: a prompt is read at once, then each step adds a word and asks once.

    Args:
        narrow: for a phone.

    Returns:
        The figure, labelled with its alt text.

    >>> "4 keys" in cache().get_label()
    True
    """
    words = [word for part in PASSES for word in part]
    kept = KVCache(batch=1, n_kv_heads=1, capacity=len(words), d_head=1)
    pen = Pen(4.3, 4.35, narrow)
    first, size, high, said = 1.5, (0.43, 0.28), 1.08, []
    for step, part in enumerate(PASSES):
        n, before = len(part), kept.length
        kept.append(*torch.zeros(2, 1, 1, n, 1))
        top, kind = 0.42 + step * high, "decode" if step else "prefill"
        counts = f"{_count(n, 'query', 'queries')}, {_count(kept.length, 'key')}" + f", {before} kept" * bool(
            before
        )
        said.append(f"{kind} reads {' '.join(part)}: {counts}")
        pen.text(0.06, top - 0.22, kind, align="left")
        pen.text(first, top - 0.22, counts, align="left", size=10)
        shades = [[0.8 if slot >= before else 0.2 for slot in range(kept.length)]]
        ask = first - 0.33
        pen.tiles(ask - n * size[0], top, 1, n, size=size, role="query", texts=[part])
        pen.arrow((ask + 0.05, top + 0.14), (first - 0.05, top + 0.14), role="query")
        for role, y in (("key", top), ("value", top + size[1])):
            texts = [words[: kept.length]] if role == "key" else None
            pen.tiles(first, y, 1, kept.length, size=size, role=role, texts=texts, shades=shades)
            if kept.length < kept.capacity:
                empty = (kept.capacity - kept.length) * size[0]
                pen.frame(first + kept.length * size[0], y, empty, size[1], alpha=FAINT)
            pen.text(
                first + kept.capacity * size[0] + 0.1, y + 0.14, f"{role}s", role=role, align="left", size=10
            )
    return pen.figure_of(
        f"A key-value cache that grows: {'; '.join(said)}. The keys and values of earlier words are kept, "
        "those of the words just read are added, and only the new words ask."
    )


def _count(n: int, one: str, more: str | None = None) -> str:
    return f"{n} {one if n == 1 else more or one + 's'}"


LENGTH = 8
# What each token sees when a kind of layer is applied once.
SIGHTS = {
    "recurrence": lambda n: masks.window(n, 1, 0),
    "convolution of 3": lambda n: masks.window(n, 2, 0),
    "attention": masks.causal,
}


def route(sight: Tensor) -> list[int]:
    """Find the shortest way from the first token to the last, if each application goes as far as it can.

    Args:
        sight: boolean (n, n), what each token sees in one application, itself too.

    Returns:
        The places where the signal is, from 0 to n-1.

    >>> route(masks.window(8, 2, 0))
    [0, 2, 4, 6, 7]
    """
    places = [0]
    while places[-1] < len(sight) - 1:
        places.append(int(sight[:, places[-1]].nonzero().max()))
    return places


def paths(narrow: bool = False) -> Figure:
    """Draw how a signal gets from the first token to the last: in a recurrence, a convolution and attention.

    Args:
        narrow: for a phone.

    Returns:
        The figure, labelled with its alt text.

    References:
        Vaswani et al. 2017, section 4.

    >>> "attention: 1 layer" in paths().get_label()
    True
    """
    pen = Pen(4.2, 5.2, narrow)
    left, unit, gap, top, said = 0.35, 0.5, 0.36, 0.16, []
    for name, sees in SIGHTS.items():
        sight = sees(LENGTH)
        way = route(sight)
        steps = len(way) - 1
        in_turn = name == "recurrence"
        count = _count(steps, "step" if in_turn else "layer")
        said.append(f"{name}: {count}")
        pen.text(0.06, top, name, align="left")
        pen.text(4.14, top, f"{count} on the way", align="right", size=10)
        # The one layer of attention is drawn taller, to tell its lines apart.
        high = 2 * gap if steps == 1 else gap
        rows = [top + 0.34 + high * layer for layer in range(2 if in_turn else len(way))]
        xs = [left + unit * place for place in range(LENGTH)]
        seen = [(j, i) for i, j in sight.nonzero().tolist()]
        if in_turn:
            pairs = [((x, rows[0]), (x, rows[1])) for x in xs]
            pairs += [((xs[j], rows[1]), (xs[i], rows[1])) for j, i in seen if i != j]
            points = [(xs[0], rows[0]), *((xs[place], rows[1]) for place in way)]
        else:
            layers = list(pairwise(rows))
            pairs = [((xs[j], above), (xs[i], below)) for above, below in layers for j, i in seen]
            points = [(xs[place], row) for place, row in zip(way, rows, strict=True)]
        pen.web(pairs)
        for start, end in pairwise(points):
            pen.arrow(start, _short_of(start, end, 0.06), role="accent", width=2.2)
        pen.dots([(x, row) for row in rows for x in xs if (x, row) not in points])
        pen.dots(points, role="accent")
        top = rows[-1] + 0.55
    pen.text(left, top - 0.26, "first", size=10)
    pen.text(left + (LENGTH - 1) * unit, top - 0.26, "last", size=10)
    return pen.figure_of(
        f"The way of a signal from the first of {LENGTH} tokens to the last. "
        f"{'; '.join(said).capitalize()}. The steps of the recurrence wait for one another; a layer of a "
        "convolution or of attention works on all tokens at once."
    )


def _short_of(start: tuple[float, float], end: tuple[float, float], by: float) -> tuple[float, float]:
    """Return the point on the way from start to end that lies so much before the end."""
    length = math.dist(start, end)
    return tuple(b - (b - a) * by / length for a, b in zip(start, end, strict=True))


def memories(narrow: bool = False) -> Figure:
    """Draw attention in tiles: what is in the large slow memory, what in the small fast one, what travels.

    Args:
        narrow: for a phone.

    Returns:
        The figure, labelled with its alt text.

    References:
        Dao et al. 2022, figure 1.

    >>> "never" in memories().get_label()
    True
    """
    pen, n, now = Pen(4.3, 5.4, narrow), 4, {"query": 2, "key": 1, "value": 1, "output": 2}
    tile, wide, tops = 0.3, 0.44, (0.55, 2.85)
    columns = {"query": 0.5, "key": 1.5, "value": 2.28, "output": 3.15}
    pen.box(0.06, 0.1, 4.18, 1.86, fill=0.04)
    pen.box(0.06, 2.6, 4.18, 1.5, fill=0.12)
    pen.text(0.2, 0.31, "large, slow memory", align="left", size=10)
    pen.text(0.2, 3.9, "small, fast memory", align="left", size=10)
    for (role, at), letter in zip(columns.items(), "QKVO", strict=True):
        pen.text(at - 0.12, tops[0] + 2 * tile, f"${letter}$", role=role, align="right")
        shades = [[0.9 if row == now[role] else 0.25] for row in range(n)]
        if role == "output":  # written from above, one tile when its queries have seen all keys
            shades = [[0.6 if row < now[role] else 0.0] for row in range(n)]
        pen.tiles(at, tops[0], n, 1, size=(wide, tile), role=role, shades=shades)
        pen.tiles(at, tops[1], 1, 1, size=(wide, tile), role=role, shades=[[0.9]])
        ends = [(at + wide / 2, tops[0] + n * tile + 0.06), (at + wide / 2, tops[1] - 0.05)]
        streams = role in ("key", "value")
        pen.arrow(*(ends[::-1] if role == "output" else ends), role=role, width=3 if streams else 1.2)
    for at, text in ((0.82, "once"), (3.47, "once")):
        pen.text(at, 2.28, text, align="left", size=10)
    pen.text(2.6, 2.18, "tile", align="left", size=10)
    pen.text(2.6, 2.38, "by tile", align="left", size=10)
    # Queries meet keys in a tile of scores, and what that weighs of the values is added to the output.
    below, bus = tops[1] + tile, 3.58
    pen.tiles(1.1, bus - 0.15, 1, 1, size=0.3, shades=[[0.5]])
    pen.line(
        [(columns["query"] + wide / 2, below + 0.03), (columns["query"] + wide / 2, bus), (1.07, bus)],
        role="query",
        arrow=True,
    )
    pen.line(
        [
            (columns["key"] + wide / 2, below + 0.03),
            (columns["key"] + wide / 2, bus - 0.08),
            (1.43, bus - 0.08),
        ],
        role="key",
        arrow=True,
    )
    end = columns["output"] + wide / 2
    pen.line([(1.43, bus + 0.08), (end, bus + 0.08), (end, below + 0.04)], arrow=True)
    pen.line(
        [(columns["value"] + wide / 2, below + 0.03), (columns["value"] + wide / 2, bus + 0.08)], role="value"
    )
    pen.dot(columns["value"] + wide / 2, bus + 0.08, role="value")
    pen.text(end + 0.28, tops[1] + tile / 2, "$m$, $z$, $t$", align="left", size=10)
    # What would be needed at once without tiles.
    grid, top, cell = 2.05, 4.3, 0.25
    pen.tiles(grid, top, n, n, size=cell, shades=[[0.0] * n] * n, edge=0.25)
    pen.tiles(grid + now["key"] * cell, top + now["query"] * cell, 1, 1, size=cell, shades=[[0.5]])
    pen.text(0.2, top + 0.34, "$n × n$ scores:", align="left")
    pen.text(0.2, top + 0.6, "never written", align="left")
    return pen.figure_of(
        "Attention in tiles. The large, slow memory holds Q, K, V and O, each cut into four tiles. One "
        "tile of Q comes to the small, fast memory once; all tiles of K and V stream past it. There a "
        "tile of scores is made, weighs its values, and is forgotten; what stays is the m, z and t of each "
        "query. A tile of O goes back once. The matrix of n by n scores is never written: one tile of its "
        "sixteen is there at a time."
    )


def window_tiles(narrow: bool = False) -> Figure:
    """Draw a causal window cut into tiles: a block of queries meets its own block of keys and the one before.

    Seven tokens, a window of 2 back, blocks of 2; the last block is filled up with padding.

    Args:
        narrow: for a phone.

    Returns:
        The figure, labelled with its alt text.

    References:
        Beltagy et al. 2020, section 3.1.

    >>> "4 tiles" in window_tiles().get_label()
    True
    """
    pen, n, back, size = Pen(4.3, 4.15, narrow), 7, 2, 0.35
    left, top = 0.72, 0.62
    sees = masks.window(n, back, 0)
    names = [*["pad"] * back, *(str(place) for place in range(n)), "pad"]
    for column, name in enumerate(names):
        pen.text(left + (column + 0.5) * size, top - 0.16, name, role="key", size=9)
    for row, name in enumerate(names[back:]):
        pen.text(left - 0.1, top + (row + 0.5) * size, name, role="query", size=9, align="right")
    pen.text(left + len(names) * size / 2, top - 0.44, "keys", role="key")
    pen.text(0.06, top - 0.44, "queries", role="query", align="left")
    counts, blocks = 0, range(0, len(names) - back, back)
    pen.frame(left, top, len(names) * size, len(names[back:]) * size, alpha=FAINT)
    for first in blocks:
        rows, columns = range(first, first + back), range(first - back, first + back)
        inside = [[i < n and 0 <= j < n and bool(sees[i, j]) for j in columns] for i in rows]
        counts += sum(map(sum, inside))
        shades = [[1.0 if one else 0.12 for one in row] for row in inside]
        pen.tiles(
            left + first * size, top + first * size, back, 2 * back, size=size, role="query", shades=shades
        )
    foot = top + len(names[back:]) * size + 0.3
    for x, shade, said in ((left, 1.0, "counts"), (left + 1.2, 0.12, "computed, then hidden")):
        pen.tiles(x, foot - 0.1, 1, 1, size=0.2, role="query", shades=[[shade]])
        pen.text(x + 0.28, foot, said, align="left", size=10)
    return pen.figure_of(
        f"A window of {back} back over {n} tokens, in {len(blocks)} tiles along the diagonal. Each block of "
        f"{back} queries meets {2 * back} keys: its own block and the one before. {counts} cells are in the "
        "window, three in most rows; the others of the tiles are computed and hidden. Outside of the tiles "
        "nothing is computed. The first tile begins with padded keys, the last one ends with a padded row."
    )
