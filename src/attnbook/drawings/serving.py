"""What is kept of a token, and how a server keeps many texts: in pages, what begins alike only once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from matplotlib.figure import Figure

from attnbook.drawings.pen import Pen

ROOM, SIZE = 8, 4
FREE = (2, 0, 5, 7, 3, 1, 6, 4)
"""The pages of the memory, in the order in which they became free."""
BEGINNING = ("answer", "in", "one", "short", "line", "and", "stay", "polite")
TEXTS = ([*BEGINNING, "what", "is", "a"], [*BEGINNING, "who", "saw", "the", "saw", "that", "I"])


def tables(texts: Sequence[Sequence[str]], size: int, free: Sequence[int]) -> list[list[int]]:
    """Say which page of the memory holds each page of each text.

    A full page serves every text that has the same words in it *and before it*. Any other is one text's own.

    Args:
        texts: their words so far.
        size: words of a page.
        free: pages that may be taken, in this order.

    Returns:
        For each text the pages that hold it, from its first word on.

    References:
        Kwon et al. 2023, section 4.

    >>> tables(["abcd", "abce", "xbcd"], size=2, free=range(9))
    [[0, 1], [0, 2], [3, 4]]
    """
    taken: Iterator[int] = iter(free)
    known: dict[tuple[str, ...], int] = {}
    found = []
    for words in texts:
        table = []
        for end in range(size, len(words) + size, size):
            until = tuple(words[:end])
            full = len(until) == end
            page = known[until] if full and until in known else next(taken)
            if full:
                known[until] = page
            table.append(page)
        found.append(table)
    return found


def pages(narrow: bool = False) -> Figure:
    """Draw two texts that begin alike, and the pages of one memory in which their keys and values lie.

    Args:
        narrow: for a phone.

    Returns:
        The figure, labelled with its alt text.

    References:
        Kwon et al. 2023, section 4.

    >>> "both texts" in pages().get_label()
    True
    """
    pen = Pen(4.3, 2.75, narrow)
    left, slot, high, apart = 0.92, (0.088, 0.27), 0.27, (0.84, 0.42)
    wide = SIZE * slot[0]
    held = tables(TEXTS, SIZE, FREE)
    filled = dict.fromkeys(range(ROOM), 0)
    tops, middle = (0.42, 2.06), 1.24
    both = [page for page in held[0] if page in held[1]]
    shades = {page: 0.95 if page in both else 0.45 for page in range(ROOM)}
    for words, table, top in zip(TEXTS, held, tops, strict=True):
        which, above = TEXTS.index(words) + 1, top < middle
        pen.text(0.06, top + high / 2, f"text {which}", align="left")
        said = f"{len(words)} words, in pages {', '.join(map(str, table))}"
        pen.text(left, top - 0.18 if above else top + high + 0.2, said, align="left", size=10)
        rest = iter(words)
        for at, page in enumerate(table):
            filled[page] = n = len(list(islice(rest, SIZE)))
            x = left + at * apart[0]
            _page(pen, x, top, n, slot, shades[page])
            ends = (top + high + 0.04, middle - 0.05) if above else (top - 0.04, middle + high + 0.05)
            there = left + page * apart[1] + wide / 2
            pen.arrow((x + wide / 2, ends[0]), (there, ends[1]), alpha=0.6)
    pen.text(0.06, middle + high / 2, "memory", align="left")
    for page, n in filled.items():
        x = left + page * apart[1]
        _page(pen, x, middle, n, slot, shades[page])
        pen.text(x + wide / 2, middle + high / 2, str(page), size=10)
    used = sum(n > 0 for n in filled.values())
    return pen.figure_of(
        f"A memory of {ROOM} pages, each with room for the keys and values of {SIZE} words. "
        + "; ".join(
            f"text {i} has {len(words)} words, in pages {', '.join(map(str, table))}"
            for i, (words, table) in enumerate(zip(TEXTS, held, strict=True), start=1)
        )
        + f". Pages {' and '.join(map(str, both))} serve both texts, whose first {len(BEGINNING)} words are "
        f"the same; {ROOM - used} pages are free."
    )


KEPT = (
    (("128 heads",), 128, (("key", 128), ("value", 128))),
    (("8 groups",), 8, (("key", 128), ("value", 128))),
    (("a latent and", "a short key"), 1, ((None, 512), ("key", 64))),
    (("¼ of a", "pooled row"), 1, ((None, 512 // 4),)),
)
"""What each way to keep a token is called, in lines, its rows, and a row's parts, each with its width."""


def kept_of_a_token(narrow: bool = False) -> Figure:
    """Draw what one layer keeps of one token, four ways, all to one scale.

    Args:
        narrow: for a phone.

    Returns:
        The figure, labelled with its alt text.

    References:
        DeepSeek-AI 2024, section 2.1; DeepSeek-AI 2026.

    >>> "32,768" in kept_of_a_token().get_label()
    True
    """
    pen = Pen(4.2, 3.2, narrow) if narrow else Pen(6.9, 3.2)
    middles, largest = ((0.65, 1.75, 2.75, 3.72), 1.2) if narrow else ((1.2, 3.1, 4.6, 6.0), 1.9)
    each, base, said = [rows * sum(width for _, width in parts) for _, rows, parts in KEPT], largest + 0.4, []
    for middle, (name, _, parts), numbers in zip(middles, KEPT, each, strict=True):
        # Squares: the eye compares areas of one shape, and the last is still seen beside the first.
        side = largest * (numbers / each[0]) ** 0.5
        at = middle - side / 2
        for role, width in parts:
            wide = side * width / sum(width for _, width in parts)
            pen.tiles(at, base - side, 1, 1, size=(wide, side), role=role, shades=[[1.0]], edge=0.0)
            if numbers == each[0]:
                pen.text(at + wide / 2, base - side - 0.16, f"{role}s", role=role)
            at += wide
        for line, text in enumerate((f"{numbers:,}", *name)):
            pen.text(middle, base + 0.2 + 0.21 * line, text)
        said.append(f"{' '.join(name)}: {numbers:,} numbers")
    return pen.figure_of(
        "What one layer keeps of one token, as squares of one scale. "
        + "; ".join(said)
        + ". A latent and a pooled row, in grey, are key and value at once."
    )


def _page(pen: Pen, x: float, y: float, n: int, slot: tuple[float, float], shade: float) -> None:
    """Draw a page of which the first n slots are filled."""
    shades = [[shade if at < n else 0.0 for at in range(SIZE)]]
    pen.tiles(x, y, 1, SIZE, size=slot, role="accent", shades=shades)
