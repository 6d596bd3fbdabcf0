"""When attention was changed, and where: a tree that grows out of the formula of 2017."""

from __future__ import annotations

from matplotlib.figure import Figure

from attnbook.drawings.pen import Pen

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
YEARS = range(2018, 2027)


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
    # On a phone there is room for three branches; the other two stand below them, beside their own years.
    places, step = list(PLACES.items()), 0.26
    if narrow:
        pen, middle = Pen(4.2, 6.3, narrow), 2.05
        tiers = ((0.0, (0.55, 2.05, 3.05), places[:3]), (3.0, (0.55, 2.05), places[3:]))
    else:
        pen, middle = Pen(4.8, 3.3), 2.4
        tiers = ((0.0, (0.55, 1.61, 2.4, 3.1, 3.93), places),)
    pen.box(middle - 1.25, 0.06, 2.5, 0.34, f"{ROOT[0]}: $softmax(q kᵀ / √d) v$")
    for down, columns, branches in tiers:
        bus = 0.52 + down
        stem = [(middle, 0.4), (middle, 0.52), *(((4.05, 0.52), (4.05, bus)) if down else ())]
        high = {year: bus + 0.5 + step * (year - YEARS[0]) for year in YEARS}
        for year, y in high.items():
            pen.text(0.05, y, str(year), align="left", size=10)
        for x, (place, changes) in zip(columns, branches, strict=True):
            pen.text(x - 0.05, bus + 0.21, place, align="left", size=10)
            pen.line([*stem, (x, bus), (x, bus + 0.11)], width=1.0, alpha=0.6)
            pen.line([(x, bus + 0.31), (x, high[changes[-1][0]])], width=1.0, alpha=0.6)
            for year, name, _ in changes:
                pen.dot(x, high[year], radius=0.04)
                pen.text(x + 0.1, high[year], name, align="left", size=10)
    told = "; ".join(
        f"{place}: " + ", ".join(f"{year} {name}" for year, name, _ in changes)
        for place, changes in PLACES.items()
    )
    return pen.figure_of(
        f"Out of the formula of {ROOT[0]} grow five branches, with time running down. {told}."
    )
