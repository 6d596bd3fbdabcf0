"""What is drawn: matrices with their numbers, dots, lines and distributions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from torch import Tensor

from attnbook.plots.page import ACCENT, INK, QUIET, ROLES, STEPS

STYLES = (
    (ACCENT, "o", "-"),
    (INK, "s", "--"),
    (QUIET, "D", "-."),
    (INK, "^", ":"),
    (QUIET, "v", "-"),
    (INK, "x", "-"),
)
"""Colour, marker and dash of series that have no role. The first is emphasised, and no other has a hue."""


def heatmap(
    values: Tensor,
    rows: Sequence[str],
    columns: Sequence[str],
    axes: Axes,
    *,
    signed: bool = False,
    limit: float | None = None,
    decimals: int | None = 2,
    above: bool = False,
    colour: str = ROLES["query"],
) -> None:
    """Draw a matrix as cells, each with its number: weights on a 0-to-1 scale, or signed scores.

    Args:
        values: (n_q, n_k).
        rows: the n_q labels of the queries.
        columns: the n_k labels of the keys.
        axes: where to draw.
        signed: colour by sign, on a scale symmetric about zero, instead of from 0 to 1.
        limit: the end of the scale; 1 for weights, the largest magnitude for signed values, unless given.
        decimals: digits after the point; None for cells without numbers, where there are many.
        above: write the labels of the queries above their rows, where there is no room beside them.
        colour: of the cells that are not negative, if they are no weights of queries.

    Raises:
        ValueError: the labels do not fit the values, or an unsigned value is negative or above `limit`.

    >>> from attnbook.plots import new
    >>> _, axes = new()
    >>> heatmap(torch.tensor([[1.0, -2.0]]), ["saw"], ["I", "a"], axes, signed=True)
    >>> [text.get_text() for text in axes.texts]
    ['1.00', '−2.00']
    """
    if values.shape != (len(rows), len(columns)):
        raise ValueError(
            f"values must have shape (rows, columns) = ({len(rows)}, {len(columns)}), "
            f"got {tuple(values.shape)}"
        )
    values = values.detach().double()
    if limit is None:
        limit = max(float(values.abs().max()), 1e-12) if signed else 1.0
    if not signed and (values.min() < 0 or values.max() > limit * (1 + 1e-6)):
        raise ValueError(
            f"values must lie between 0 and limit = {limit:g}, got {float(values.min()):g} to "
            f"{float(values.max()):g}; or pass signed=True"
        )
    gap = 0.45 if above else 0.0  # the part of a row's height that its label takes
    for i in range(len(rows)):
        if above:
            axes.text(0, i + gap / 2, rows[i], ha="left", va="center", color=INK)
        for j in range(len(columns)):
            value = float(values[i, j])
            if decimals is None and round(abs(value) / limit, 2) == 0:
                continue  # nothing to see
            filled = ROLES["key"] if value < 0 else colour
            # At most about half opaque: the number on top then reads in light and in dark.
            cell = (j, i + gap), 1, 1 - gap
            axes.add_patch(Rectangle(*cell, facecolor=filled, alpha=0.52 * min(abs(value) / limit, 1)))
            if decimals is not None:
                axes.add_patch(Rectangle(*cell, fill=False, edgecolor=INK, alpha=0.15, linewidth=0.8))
                said = _number(value, decimals)
                axes.text(j + 0.5, i + (1 + gap) / 2, said, ha="center", va="center", color=INK)
    axes.set(xlim=(0, len(columns)), ylim=(len(rows), 0))
    axes.set_xticks([j + 0.5 for j in range(len(columns))], columns)
    axes.set_yticks([] if above else [i + 0.5 for i in range(len(rows))], None if above else rows)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def dots(
    axes: Axes,
    names: Sequence[str],
    series: Mapping[str, Sequence[float]],
    *,
    spread: Mapping[str, Sequence[float]] | None = None,
    decimals: int = 1,
) -> None:
    """Draw a named number a row as a dot with its value beside it; several series share the rows.

    Dots need no zero on the axis, bars would: two taggers at 94 and 95 per cent stay apart.

    Args:
        axes: where to draw.
        names: the rows, from top to bottom.
        series: for each series its numbers, one a row; NaN leaves a row out.
        spread: for each series the half-width of the line through its dots.
        decimals: digits of the numbers.

    Raises:
        ValueError: a series has another length than `names`, or there are more series than markers.

    >>> from attnbook.plots import new
    >>> _, axes = new()
    >>> dots(axes, ["lookup", "attention"], {"all": [89.5, 91.2]})
    >>> [text.get_text() for text in axes.texts]
    ['89.5', '91.2']
    """
    if len(series) > 4:
        raise ValueError(f"series must be at most 4, got {len(series)}")
    for (label, numbers), (colour, marker, _) in zip(series.items(), STYLES, strict=False):
        if len(numbers) != len(names):
            raise ValueError(f"series {label!r} must have {len(names)} numbers, got {len(numbers)}")
        places = [row for row, number in enumerate(numbers) if number == number]
        kept = [numbers[row] for row in places]
        widths = [spread[label][row] for row in places] if spread else None
        axes.errorbar(kept, places, xerr=widths, fmt=marker, color=colour, label=label)
        for row, number in zip(places, kept, strict=True):
            axes.annotate(
                _number(number, decimals),
                (number, row),
                xytext=(0, 7),
                textcoords="offset points",
                ha="center",
                color=colour,
                fontsize=10,
            )
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.7)
    axes.grid(axis="y")
    if len(series) > 1:
        axes.legend(
            loc="upper center", bbox_to_anchor=(0.4, -0.12), ncols=len(series), frameon=False, labelcolor=INK
        )


def lines(
    axes: Axes,
    x: Sequence[float],
    series: Mapping[str, Sequence[float]],
    *,
    spread: Mapping[str, Sequence[float]] | None = None,
    log: str = "",
    ordered: bool = False,
    colour: str = ACCENT,
) -> None:
    """Draw series over a common axis, told apart by colour, dash and, up to 20 places, marker.

    The first is emphasised.

    Args:
        axes: where to draw.
        x: the places, at least one.
        series: for each series its numbers, one a place; NaN leaves a gap.
        spread: for some or all series the half-width of a band around them.
        log: which axes are logarithmic: "", "x", "y" or "xy".
        ordered: draw at most three series, such as depths, in one hue from light to dark, and emphasise none.
        colour: what emphasises the first, such as a role's: weights are blue everywhere.

    Raises:
        ValueError: a series has another length than `x`, there are more than six (three, if ordered), or
            `log` is unknown.

    >>> from attnbook.plots import new
    >>> _, axes = new()
    >>> lines(axes, [4, 64], {"with 1/√d": [1.0, 1.0], "without": [2.0, 8.0]}, log="x")
    >>> [line.get_ydata().tolist() for line in axes.lines]
    [[1.0, 1.0], [2.0, 8.0]]
    """
    hues = STEPS if ordered else (colour, *(hue for hue, *_ in STYLES[1:]))
    styles = [(hue, *style[1:]) for hue, style in zip(hues, STYLES, strict=False)]
    if len(series) > len(styles):
        raise ValueError(f"series must be at most {len(styles)}, got {len(series)}")
    if log not in ("", "x", "y", "xy"):
        raise ValueError(f"log must be '', 'x', 'y' or 'xy', got {log!r}")
    for (label, numbers), (colour, marker, dash) in zip(series.items(), styles, strict=False):
        if len(numbers) != len(x):
            raise ValueError(f"series {label!r} must have {len(x)} numbers, got {len(numbers)}")
        # More markers would make a string of beads of a curve.
        seen = marker if len(x) <= 20 else ""
        axes.plot(x, numbers, dash, marker=seen, markersize=4, color=colour, label=label)
        if spread and label in spread:
            middle, half = torch.tensor(numbers), torch.tensor(spread[label])
            axes.fill_between(x, (middle - half).tolist(), (middle + half).tolist(), color=colour, alpha=0.18)
    if "x" in log:
        axes.set_xscale("log", base=2)
        axes.set_xticks(list(x), [f"{place:g}" for place in x])
        axes.minorticks_off()
    if "y" in log:
        axes.set_yscale("log")
    axes.grid(axis="y")
    if len(series) > 1:
        axes.legend(frameon=False, labelcolor=INK)


def name(axes: Axes, places: Mapping[str, tuple[float, str]]) -> None:
    """Write the names of lines onto them, each in its line's colour; a legend goes.

    Args:
        axes: where lines with labels are drawn.
        places: for each label the x of a point of its line, and the side of it to write on: "above", "below",
            "left" or "right", or two of them, such as "above left".

    Raises:
        ValueError: no line has such a label, or a side has another name.

    >>> from attnbook.plots import new
    >>> _, axes = new()
    >>> lines(axes, [0, 1], {"rising": [0.0, 2.0], "falling": [2.0, 0.0]})
    >>> name(axes, {"rising": (0.75, "above left"), "falling": (0.75, "below left")})
    >>> [(text.get_text(), *map(float, text.xy)) for text in axes.texts]
    [('rising', 0.75, 1.5), ('falling', 0.75, 0.5)]
    """
    of = {line.get_label(): line for line in axes.lines}
    for label, (x, sides) in places.items():
        if label not in of:
            raise ValueError(f"places must name lines with labels, {label!r} is none")
        if strange := set(sides.split()) - {"above", "below", "left", "right"}:
            raise ValueError(f"a side must be above, below, left or right, got {strange.pop()!r}")
        right, up = ("right" in sides) - ("left" in sides), ("above" in sides) - ("below" in sides)
        axes.annotate(
            label,
            (x, float(np.interp(x, *of[label].get_data()))),
            xytext=(5 * right, 5 * up),
            textcoords="offset points",
            ha=("center", "left", "right")[right],
            va=("center", "bottom", "top")[up],
            color=of[label].get_color(),
            parse_math=False,  # `svg` sets what stands between dollars
        )
    if legend := axes.get_legend():
        legend.remove()


def histogram(
    axes: Axes,
    samples: Mapping[str, Tensor],
    *,
    bins: int = 40,
    curve: Callable[[Tensor], Tensor] | None = None,
) -> None:
    """Draw how samples are distributed: densities over common bins, beside what theory predicts.

    Args:
        axes: where to draw.
        samples: for each set its numbers, of any shape.
        bins: how many bins share the whole range, at least 2.
        curve: the density that theory predicts, drawn as a line in the colour of the text.

    Raises:
        ValueError: bins is too small, there are more than four sets, or one is empty or not finite.

    >>> from attnbook.plots import new
    >>> _, axes = new()
    >>> histogram(axes, {"scores": torch.tensor([0.0, 0.0, 1.0, 1.0])}, bins=2)
    >>> axes.patches[0].get_data().values.tolist()
    [1.0, 1.0]
    """
    if bins < 2:
        raise ValueError(f"bins must be at least 2, got {bins}")
    if not 1 <= len(samples) <= 4:
        raise ValueError(f"samples must hold 1 to 4 sets, got {len(samples)}")
    flat = {label: values.detach().double().flatten().cpu() for label, values in samples.items()}
    for label, values in flat.items():
        if not len(values) or not values.isfinite().all():
            raise ValueError(f"samples {label!r} must be finite numbers, at least one")
    low = min(float(values.min()) for values in flat.values())
    high = max(float(values.max()) for values in flat.values())
    edges = torch.linspace(low, high if high > low else low + 1, bins + 1, dtype=torch.float64)
    for (label, values), (colour, _, dash) in zip(flat.items(), STYLES, strict=False):
        density = torch.histogram(values, edges, density=True).hist.tolist()
        axes.stairs(density, edges.tolist(), fill=True, color=colour, alpha=0.25)
        axes.stairs(density, edges.tolist(), color=colour, linestyle=dash, linewidth=1.5, label=label)
    if curve is not None:
        places = torch.linspace(float(edges[0]), float(edges[-1]), 201, dtype=torch.float64)
        axes.plot(places.tolist(), curve(places).tolist(), color=INK, linewidth=1.5, label="predicted")
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    if len(samples) > 1 or curve is not None:
        axes.legend(frameon=False, labelcolor=INK)


def _number(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    # A minus sign as wide as the digits, and no "-0.00".
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")
