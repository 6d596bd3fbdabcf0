"""Heads that work together: one writes what another looks for."""

from __future__ import annotations

from matplotlib.figure import Figure

from attnbook.drawings.pen import FAINT, Pen

WORDS = ("lamp", "river", "king", "lamp")


def induction(narrow: bool = False) -> Figure:
    """Draw how a text is copied: a head that looks one back, and above it one that finds what came next.

    Args:
        narrow: for a phone.

    Returns:
        The figure, labelled with its alt text.

    References:
        Elhage et al. 2021, section on induction heads; Olsson et al. 2022.

    >>> "looks one back" in induction().get_label()
    True
    """
    pen = Pen(4.3, 3.72, narrow)
    xs, wide, high = (0.55, 1.59, 2.63, 3.67), 0.92, 0.32
    tops = {"read": 0.12, "below": 1.1, "above": 2.3, "guess": 3.28}
    for x, word in zip(xs, WORDS, strict=True):
        pen.box(x - wide / 2, tops["read"], wide, high, word)
    lamp, river, king, again = xs
    # Each piece's stream goes down through both layers, and not through what is written there.
    through = ((tops["below"] + 0.12, tops["below"] + 0.12 + high), (1.75, 2.01))
    for x, boxed in ((lamp, False), (river, True), (king, False), (again, True)):
        gaps = through if boxed else through[1:]
        ends = [tops["read"] + high, 0.61, 0.87, *(y for gap in gaps for y in gap), tops["above"]]
        for start, end in zip(ends[::2], ends[1::2], strict=True):
            pen.line([(x, start), (x, end)], width=3, alpha=FAINT)
    pen.text(0.06, 0.74, "a head below looks one back", align="left", size=10)
    pen.arrow((lamp, 0.94), (river - 0.08, tops["below"] + 0.1), role="value")
    pen.box(river - 0.57, tops["below"] + 0.12, 1.14, high, "after “lamp”", role="key", size=10)
    pen.box(again - 0.57, tops["below"] + 0.12, 1.14, high, "after “lamp”?", role="query", size=10)
    middle = tops["below"] + 0.12 + high / 2
    pen.arrow((again - 0.6, middle), (river + 0.61, middle), role="query")
    pen.text(0.06, 1.88, "a head above finds that key, and takes the value there", align="left", size=10)
    pen.box(river - wide / 2, tops["above"], wide, high, "river", role="value")
    level = tops["above"] + high / 2
    pen.arrow((river + wide / 2 + 0.03, level), (again - wide / 2 - 0.04, level), role="value")
    pen.box(again - wide / 2, tops["above"], wide, high, "river", role="output")
    pen.arrow((again, tops["above"] + high), (again, tops["guess"] - 0.02))
    pen.text(again, tops["guess"] + 0.14, "next: river")
    return pen.figure_of(
        "How two heads copy. The text is lamp, river, king, lamp. A head below, which looks one back, "
        "writes to the place of river that it stands after lamp; there the head above makes a key of it. "
        "The second lamp asks for what stands after lamp. The two match, the value of river is taken, and "
        "the guess for the next piece is river."
    )
