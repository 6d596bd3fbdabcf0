"""What the chapters show: plots as inline SVG that take the page's colours, each with its text alternative.

>>> import torch
>>> figure, axes = new()
>>> heatmap(torch.tensor([[0.9, 0.1]]), ["saw"], ["I", "saw"], axes)
>>> text = svg(figure, alt="saw looks at I")
>>> "currentColor" in text, 'aria-label="saw looks at I"' in text
(True, True)
"""

from __future__ import annotations

import html
import io
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

STYLE = Path(__file__).with_name("attnlab.mplstyle")
INK = "#111111"
"""The text colour of the style file; in the page it becomes the colour of the text around the plot."""

ROLES = {"query": "#0069a8", "key": "#b04a00", "value": "#00795a", "output": "#a0307a"}
"""One colour a role, from the first chapter to the last; the page has its own for dark mode."""


def new(width: float = 4.8, height: float = 3.0, columns: int = 1) -> tuple[Figure, Axes | list[Axes]]:
    """Make a figure in the book's style.

    Args:
        width: inches; up to about 5 its text can still be read on a phone.
        height: inches.
        columns: number of axes side by side.

    Returns:
        The figure, and its axes (a list when there are several).

    Raises:
        ValueError: columns is smaller than 1.

    >>> figure, axes = new(columns=2)
    >>> len(axes)
    2
    """
    if columns < 1:
        raise ValueError(f"columns must be at least 1, got {columns}")
    with style.context(STYLE):
        figure = Figure(figsize=(width, height))
        axes = figure.subplots(1, columns, squeeze=False)[0]
    return figure, (axes[0] if columns == 1 else list(axes))


def heatmap(
    values: Tensor,
    rows: Sequence[str],
    columns: Sequence[str],
    axes: Axes,
    *,
    signed: bool = False,
    limit: float | None = None,
    decimals: int = 2,
) -> None:
    """Draw a matrix as cells, each with its number: weights on a 0-to-1 scale, or signed scores.

    Args:
        values: (n_q, n_k).
        rows: the n_q labels of the queries.
        columns: the n_k labels of the keys.
        axes: where to draw.
        signed: colour by sign, on a scale symmetric about zero, instead of from 0 to 1.
        limit: the end of the scale; 1 for weights, the largest magnitude for signed values, unless given.
        decimals: digits after the point.

    Raises:
        ValueError: the labels do not fit the values, or an unsigned value is negative or above `limit`.

    >>> import torch
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
    for i in range(len(rows)):
        for j in range(len(columns)):
            value = float(values[i, j])
            colour = ROLES["key"] if value < 0 else ROLES["query"]
            # At most about half opaque: the number on top then reads in light and in dark.
            axes.add_patch(Rectangle((j, i), 1, 1, facecolor=colour, alpha=0.52 * min(abs(value) / limit, 1)))
            axes.add_patch(Rectangle((j, i), 1, 1, fill=False, edgecolor=INK, alpha=0.15, linewidth=0.8))
            axes.text(j + 0.5, i + 0.5, _number(value, decimals), ha="center", va="center", color=INK)
    axes.set(xlim=(0, len(columns)), ylim=(len(rows), 0), aspect="equal")
    axes.set_xticks([j + 0.5 for j in range(len(columns))], columns)
    axes.set_yticks([i + 0.5 for i in range(len(rows))], rows)
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

    >>> _, axes = new()
    >>> dots(axes, ["lookup", "attention"], {"all": [89.5, 91.2]})
    >>> [text.get_text() for text in axes.texts]
    ['89.5', '91.2']
    """
    colours, markers = list(ROLES.values()), "osD^"
    if len(series) > len(markers):
        raise ValueError(f"series must be at most {len(markers)}, got {len(series)}")
    for at, (label, numbers) in enumerate(series.items()):
        if len(numbers) != len(names):
            raise ValueError(f"series {label!r} must have {len(names)} numbers, got {len(numbers)}")
        places = [row for row, number in enumerate(numbers) if number == number]
        kept = [numbers[row] for row in places]
        widths = [spread[label][row] for row in places] if spread else None
        axes.errorbar(kept, places, xerr=widths, fmt=markers[at], color=colours[at], label=label)
        for row, number in zip(places, kept, strict=True):
            axes.annotate(
                _number(number, decimals),
                (number, row),
                xytext=(0, 7),
                textcoords="offset points",
                ha="center",
                color=colours[at],
                fontsize=9,
            )
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.7)
    axes.grid(axis="y")
    if len(series) > 1:
        axes.legend(loc="upper center", bbox_to_anchor=(0.4, -0.12), ncols=len(series), frameon=False)


def svg(figure: Figure, *, alt: str) -> str:
    """Turn a figure into SVG for the middle of a page: its colours follow the page, its text stays text.

    Args:
        figure: a matplotlib figure.
        alt: what the plot shows, in words, for readers who do not see it.

    Returns:
        An `<svg>` element; the same figure gives the same text.

    Raises:
        ValueError: alt is empty.

    >>> figure, axes = new()
    >>> svg(figure, alt="")
    Traceback (most recent call last):
    ...
    ValueError: alt must say in words what the plot shows, got ''
    """
    if not alt.strip():
        raise ValueError(f"alt must say in words what the plot shows, got {alt!r}")
    buffer = io.StringIO()
    with style.context(STYLE):
        # `Date` would make every run differ.
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    # The <style> in matplotlib's files speaks of every element of the page it stands in.
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = text[text.index("<svg") :]
    # Identifiers are unique in a file of matplotlib's, not among the plots of a page.
    prefix = "p" + sha256((alt + text).encode()).hexdigest()[:8] + "-"
    text = re.sub(r'(\bid="|xlink:href="#|url\(#)', rf"\g<1>{prefix}", text)
    text = text.replace(INK, "currentColor")
    for role, colour in ROLES.items():
        text = text.replace(colour, f"var(--attn-{role}, {colour})")
    text = re.sub(r"font-family: [^;\"]*", "font-family: inherit", text)
    view = re.search(r'viewBox="([^"]+)"', text).group(1)
    body = text[text.index(">", text.index("<svg")) + 1 :]
    pixels = figure.get_figwidth() * 96
    opening = (
        f'<svg role="img" aria-label="{html.escape(alt)}" viewBox="{view}" '
        'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'style="width: {pixels:.0f}px; max-width: 100%; height: auto">'
    )
    return opening + re.sub(r"\n\s*", "\n", body).strip()


def show(figure: Figure, *, alt: str, caption: str | None = None) -> None:
    """Display a figure in a notebook and in the book.

    Args:
        figure: a matplotlib figure.
        alt: what the plot shows, in words.
        caption: a line under the plot; none unless given.

    Raises:
        ValueError: alt is empty.

    >>> show(new()[0], alt="an empty frame")
    <an empty frame>
    """
    from IPython.display import display

    display(_Picture(svg(figure, alt=alt), alt, caption))


class _Picture:
    """What a notebook shows: the plot where it can, its text alternative everywhere else."""

    def __init__(self, picture: str, alt: str, caption: str | None) -> None:
        self.picture, self.alt, self.caption = picture, alt, caption

    def __repr__(self) -> str:
        return f"<{self.alt}>"

    def _repr_html_(self) -> str:
        caption = f"<figcaption>{html.escape(self.caption)}</figcaption>" if self.caption else ""
        return f'<figure class="attnlab-plot">{self.picture}{caption}</figure>'


def _number(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    # A minus sign as wide as the digits, and no "-0.00".
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")
