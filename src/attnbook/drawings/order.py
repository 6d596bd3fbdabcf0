"""Where a token stands, as waves that are read off at its place."""

from __future__ import annotations

import torch
from matplotlib.figure import Figure

from attnbook.drawings.pen import FAINT, Pen
from attnlab import positions

N, D_MODEL, SHOWN = 40, 16, 8
READ = (5, 26)
"""The two positions that are read off."""


def waves(narrow: bool = False) -> Figure:
    """Draw sinusoidal positions: fast and slow waves, and two positions read off them as columns.

    Args:
        narrow: for a phone.

    Returns:
        The figure, labelled with its alt text.

    References:
        Vaswani et al. 2017, section 3.5.

    >>> "position 5" in waves().get_label()
    True
    """
    pen = Pen(4.3, 4.35, narrow)
    table = positions.sinusoidal(N + 1, D_MODEL)
    left, unit, tall, high = 0.66, 2.25 / N, 0.28, 0.84
    columns, readings = (3.08, 3.72), []
    pen.text(0.06, 0.2, "entry", align="left", size=10)
    for pair in range(SHOWN // 2):
        base = 0.8 + pair * high
        pen.line([(left, base), (left + N * unit, base)], width=0.8, alpha=FAINT)
        # A slow wave is smooth with fewer points.
        places = torch.linspace(0, N, (2 if pair else 5) * N + 1, dtype=torch.float64)
        fine = positions.sinusoidal_at(places, D_MODEL)
        for part, dashed in enumerate((False, True)):
            entry, y = 2 * pair + part, base + (0.3 * part - 0.15)
            pen.text(0.2, y, str(entry), align="right", size=10)
            pen.line([(0.27, y), (0.55, y)], dashed=dashed, width=1.4, alpha=0.9 - 0.3 * part)
            curve = zip(places.tolist(), fine[:, entry].tolist(), strict=True)
            points = [(left + unit * place, base - tall * height) for place, height in curve]
            pen.line(points, dashed=dashed, width=1.4, alpha=0.9 - 0.3 * part)
            for column, place in zip(columns, READ, strict=True):
                value = round(float(table[place, entry]), 2)
                readings.append((left + unit * place, base - tall * value))
                pen.tiles(
                    column,
                    y - 0.15,
                    1,
                    1,
                    size=(0.52, 0.3),
                    role="query" if value >= 0 else "key",
                    shades=[[abs(value)]],
                    texts=[[f"{value:.2f}".replace("-", "−")]],
                )
    pen.dots(readings, radius=0.04)
    bottom = 0.8 + (SHOWN // 2 - 1) * high + 0.42
    for column, place in zip(columns, READ, strict=True):
        pen.line([(left + unit * place, 0.32), (left + unit * place, bottom)], width=0.8)
        pen.text(left + unit * place, 0.2, str(place), size=10)
        pen.text(column + 0.26, 0.2, str(place), size=10)
    pen.line([(left, bottom), (left + N * unit, bottom)], width=0.8)
    for place in range(0, N + 1, 10):
        pen.text(left + unit * place, bottom + 0.14, str(place), size=10)
    pen.text(left + N * unit / 2, bottom + 0.36, "position")
    for column in columns:
        pen.text(column + 0.26, bottom + 0.14, "⋮")
    said = [" ".join(f"{value:.2f}" for value in table[place, :SHOWN].tolist()) for place in READ]
    return pen.figure_of(
        f"Sinusoidal positions of width {D_MODEL}: the first {SHOWN} entries, in four pairs of a sine and "
        f"a dashed cosine over {N} positions. The first pair makes a whole turn in about six positions, "
        "each next one takes about three times as many. Read off at one place, the waves give its "
        f"column: position {READ[0]} is {said[0]} and so on, position {READ[1]} is {said[1]} and so on."
    )
