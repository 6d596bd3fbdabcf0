"""When attention was changed, and where: a tree that grows out of the formula of 2017."""

from __future__ import annotations

from collections.abc import Callable

import torch
from matplotlib.figure import Figure

from attnbook.drawings.pen import FAINT, Pen
from attnlab import masks

ROOT = (2017, "vaswani2017attention")
PLACES: dict[str, tuple[tuple[int, str, str], ...]] = {
    "kept": (
        (2019, "one key head", "shazeer2019fast"),
        (2023, "grouped heads", "ainslie2023gqa"),
        (2024, "latent", "deepseek2024v2"),
        (2026, "pooled", "deepseek2026v4"),
    ),
    "looked at": (
        (2019, "patterns", "child2019generating"),
        (2020, "window", "beltagy2020longformer"),
        (2025, "indexer", "deepseek2025pushing"),
    ),
    "scores": (
        (2020, "QK-norm", "henry2020query"),
        (2021, "rotary", "su2021roformer"),
        (2023, "sink", "miller2023attention"),
    ),
    "comes out": ((2025, "gate", "qiu2025gated"),),
    "other road": (
        (2020, "linear", "katharopoulos2020transformers"),
        (2021, "delta rule", "schlag2021linear"),
        (2025, "gated delta", "yang2025gated"),
    ),
}
"""For each place of the formula its changes, each with its year, its name and the key of its source."""
SIDE = 0.32
"""How large the picture of a change is, inches."""
BEST = ((), (0,), (0,), (0, 2), (2,), (0, 2), (2, 5), (0, 5))
"""Which others an indexer finds for each of eight words."""
LOOKED_AT = {
    "patterns": masks.fixed(8, 4),
    "window": masks.window(8, 2, 0),
    "indexer": torch.tensor([[j in (i, *best) for j in range(8)] for i, best in enumerate(BEST)]),
}
"""Who looks at whom in the small masks."""


def family(narrow: bool = False) -> Figure:
    """Draw the changes to the formula of 2017: a branch a place, time running down.

    Args:
        narrow: for a phone.

    Returns:
        The figure, labelled with its alt text.

    References:
        Of each change the source that `PLACES` names; its year is the source's.

    >>> "2023 grouped heads" in family().get_label()
    True
    """
    # On a phone there is room for three branches: two above, and three below them, beside their own years.
    places, step = list(PLACES.items()), 0.4
    if narrow:
        pen, middle = Pen(4.2, 8.0, narrow), 2.05
        tiers = ((0.0, (0.54, 2.3), places[:2]), (3.72, (0.54, 1.82, 2.8), places[2:]))
    else:
        pen, middle = Pen(6.9, 4.2), 3.45
        tiers = ((0.0, (0.65, 2.15, 3.4, 4.5, 5.5), places),)
    pen.box(middle - 1.25, 0.06, 2.5, 0.34, f"{ROOT[0]}: $softmax(q kᵀ / √d) v$")
    for down, columns, branches in tiers:
        bus = 0.52 + down
        stem = [(middle, 0.4), (middle, 0.52), *(((4.12, 0.52), (4.12, bus)) if down else ())]
        when = [year for _, changes in branches for year, *_ in changes]
        years = range(min(when), max(when) + 1)
        high = {year: bus + 0.6 + step * (year - years[0]) for year in years}
        for year, y in high.items():
            pen.text(0.05, y, str(year), align="left", size=10)
        for x, (place, changes) in zip(columns, branches, strict=True):
            at = x + SIDE / 2
            pen.text(x, bus + 0.21, place, align="left")
            pen.line([*stem, (at, bus), (at, bus + 0.11)], width=1.0, alpha=0.6)
            above = bus + 0.32
            for year, name, _ in changes:
                top = high[year] - SIDE / 2
                if top - above > 0.1:  # the branch goes from picture to picture
                    pen.line([(at, above), (at, top - 0.03)], width=1.0, alpha=0.6)
                PICTURES[name](pen, x, top)
                pen.text(x + SIDE + 0.08, high[year], name, align="left", size=10)
                above = top + SIDE + 0.03
    told = "; ".join(
        f"{place}: " + ", ".join(f"{year} {name}" for year, name, _ in changes)
        for place, changes in PLACES.items()
    )
    return pen.figure_of(
        f"Out of the formula of {ROOT[0]} grow five branches, with time running down. {told}."
    )


def _shared(groups: int) -> Callable[[Pen, float, float], None]:
    """Four heads that ask, above the key heads that they share."""

    def draw(pen: Pen, x: float, y: float) -> None:
        wide = SIDE / 4
        for head in range(4):
            owner = x + (head * groups // 4 + 0.5) * SIDE / groups
            pen.line([(x + (head + 0.5) * wide, y + 0.05), (owner, y + 0.22)], width=0.8, alpha=0.6)
        pen.dots([(x + (head + 0.5) * wide, y + 0.04) for head in range(4)], role="query", radius=0.032)
        for group in range(groups):
            _fill(pen, x + (group + 0.5) * SIDE / groups - 0.05, y + 0.21, 0.1, 0.11, role="key")

    return draw


def _latent(pen: Pen, x: float, y: float) -> None:
    """One narrow row, of which the wide key and the wide value are made."""
    _fill(pen, x + 0.11, y, 0.1, 0.08)
    for role, left in (("key", x), ("value", x + 0.17)):
        pen.line([(x + 0.16, y + 0.08), (left + 0.075, y + 0.21)], width=0.8, alpha=0.6)
        _fill(pen, left, y + 0.21, 0.15, 0.11, role=role)


def _pooled(pen: Pen, x: float, y: float) -> None:
    """Four rows that become one."""
    pen.tiles(x, y, 4, 1, size=(0.12, SIDE / 4), edge=0.7)
    for row in range(4):
        pen.line([(x + 0.13, y + (row + 0.5) * SIDE / 4), (x + 0.2, y + SIDE / 2)], width=0.8, alpha=0.6)
    _fill(pen, x + 0.2, y + SIDE * 3 / 8, 0.12, SIDE / 4)


def _mask(name: str) -> Callable[[Pen, float, float], None]:
    seen = LOOKED_AT[name]
    n = len(seen)
    return lambda pen, x, y: pen.tiles(x, y, n, n, size=SIDE / n, role="accent", shades=seen * 1.9, edge=0.2)


def _normed(pen: Pen, x: float, y: float) -> None:
    """A query and a key, both as long as the circle says."""
    _turning(pen, x, y, ("query", 20, 1.0), ("key", 115, 1.0))


def _turned(pen: Pen, x: float, y: float) -> None:
    """A key, and the same key turned."""
    _turning(pen, x, y, ("key", 20, FAINT), ("key", 80, 1.0))


def _turning(pen: Pen, x: float, y: float, *hands: tuple[str, float, float]) -> None:
    middle, radius = (x + SIDE / 2, y + SIDE / 2), SIDE / 2
    circle = torch.linspace(0, 2 * torch.pi, 25, dtype=torch.float64)
    ring = torch.stack((middle[0] + radius * circle.cos(), middle[1] + radius * circle.sin()), -1)
    pen.line(ring.tolist(), width=0.8, alpha=FAINT)
    for role, degrees, alpha in hands:
        angle = torch.tensor(degrees, dtype=torch.float64).deg2rad()
        tip = (middle[0] + radius * angle.cos().item(), middle[1] - radius * angle.sin().item())
        pen.line([middle, tip], role=role, width=2, alpha=alpha)


def _sink(pen: Pen, x: float, y: float) -> None:
    """Weights, and beside them a share that goes to no word."""
    pen.frame(x, y, 0.08, SIDE, alpha=0.9)
    for at, high in enumerate((0.2, 0.1, 0.06), start=1):
        _fill(pen, x + at * 0.085, y + SIDE - high, 0.06, high)


def _gate(pen: Pen, x: float, y: float) -> None:
    """What comes out, and how much of it is let through."""
    for at, (high, share) in enumerate(((0.32, 0.3), (0.22, 1.0), (0.28, 0.0), (0.18, 0.6))):
        left, base = x + at * 0.083, y + SIDE
        pen.tiles(left, base - high, 1, 1, size=(0.066, high), role="output", shades=[[0.25]], edge=0.5)
        _fill(pen, left, base - share * high, 0.066, share * high, role="output")


def _state(old: float, *, replaced: bool) -> Callable[[Pen, float, float], None]:
    """A key and a value meet in a table of one size: added to what is there, or put in its place.

    Args:
        old: how much is left of what was there.
        replaced: whether the row of the key is emptied first.
    """

    def draw(pen: Pen, x: float, y: float) -> None:
        cell, n, row = 0.08, 3, 1
        pen.tiles(x, y + cell, n, 1, size=cell, role="key", shades=[[1.9 * (i == row)] for i in range(n)])
        pen.tiles(x + cell, y, 1, n, size=cell, role="value", shades=[[1.9] * n])
        left, shades = x + cell, [[old] * n for _ in range(n)]
        if not replaced:
            shades[row] = [old + 0.5] * n
        else:
            shades[row] = [0.0] * n
            _fill(pen, left, y + (1 + row) * cell, n * cell, cell, role="value")
        pen.tiles(left, y + cell, n, n, size=cell, shades=shades)

    return draw


def _fill(pen: Pen, x: float, y: float, wide: float, high: float, role: str | None = None) -> None:
    if high:
        pen.tiles(x, y, 1, 1, size=(wide, high), role=role, shades=[[1.6]], edge=0.0)


PICTURES: dict[str, Callable[[Pen, float, float], None]] = {
    "one key head": _shared(1),
    "grouped heads": _shared(2),
    "latent": _latent,
    "pooled": _pooled,
    **{name: _mask(name) for name in LOOKED_AT},
    "QK-norm": _normed,
    "rotary": _turned,
    "sink": _sink,
    "gate": _gate,
    "linear": _state(0.7, replaced=False),
    "delta rule": _state(0.7, replaced=True),
    "gated delta": _state(0.25, replaced=True),
}
"""What each change does, as a picture with its upper left at (x, y)."""
