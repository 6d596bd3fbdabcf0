"""The paper that plots are drawn on: a figure in the book's style, and its way into a page.

>>> figure, axes = new()
>>> text = svg(figure, alt="an empty frame")
>>> "currentColor" in text, 'aria-label="an empty frame"' in text
(True, True)
"""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from IPython.display import display
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.transforms import ScaledTranslation

STYLE = Path(__file__).parents[1] / "attnbook.mplstyle"
INK = "#111111"
"""The text colour of the style file; in the page it becomes the colour of the text around the plot."""

ACCENT, QUIET = "#8a6100", "#56606d"
"""The book's own brown and a mid grey, for what has none of the roles, as readable as text."""

STEPS = ("#966b00", "#644600", "#332300")
"""One hue from light to dark, for series in an order, such as depths."""

WIDE, NARROW = 6.9, 3.6
"""How many inches wide a plot is drawn, for the page's column and once more for a phone."""

LONG = 8
"""Letters of a row's name that a phone has room for beside the row."""

PLACES = re.compile(r'\b(?:d|points|[xy][12]?|width|height|viewBox)="[^"]*"|\b(?:translate|rotate)\([^)]*\)')
"""What says in an SVG file where something is; `scale` must keep its digits."""

SYMBOL = re.compile(r"\b([A-Za-z])(?:_(\w+))?\b", re.ASCII)
"""A letter that stands for a number, with its index, such as d_model."""
SLANTED = "font-style: italic; font-family: var(--attn-serif, serif)"
SMALL, LOWER = 0.7, 0.25
"""How large an index is, and how much lower it stands, both in sizes of its letter."""

ROLES = {"query": "#0069a8", "key": "#b04a00", "value": "#00795a", "output": "#a0307a"}
"""One colour a role, from the first chapter to the last; the page has its own for dark mode."""


def new(height: float = 3.0, columns: int = 1, *, narrow: bool = False) -> tuple[Figure, Axes | list[Axes]]:
    """Make a figure in the book's style, as wide as the page's column; `show` lays it out for a phone, too.

    Args:
        height: inches.
        columns: number of axes side by side.
        narrow: as wide as a phone, for one that is drawn for both.

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
        figure = Figure(figsize=(NARROW if narrow else WIDE, height))
        axes = figure.subplots(1, columns, squeeze=False)[0]
    return figure, (axes[0] if columns == 1 else list(axes))


def svg(figure: Figure, *, alt: str, tight: bool = False) -> str:
    """Turn a figure into SVG for the middle of a page: its colours follow the page, its text stays text.

    In text that matplotlib was told not to parse, `$n × d_model$` becomes mathematics: letters slanted, the
    index small and low, right behind its letter in any typeface.

    Places are rounded to a hundredth of a point: nobody sees less, and processors differ in the last digits.

    Args:
        figure: a matplotlib figure.
        alt: what the plot shows, in words, for readers who do not see it.
        tight: cut off what is empty around it.

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
        cut = {"bbox_inches": "tight", "pad_inches": 0.02} if tight else {}
        figure.savefig(buffer, format="svg", metadata={"Date": None}, **cut)
    text = buffer.getvalue()
    # The <style> in matplotlib's files speaks of every element of the page it stands in.
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = PLACES.sub(_rounded, text[text.index("<svg") :])
    # Every group has an identifier; only what is drawn again needs one.
    again = set(re.findall(r'#([^")]+)', text))
    text = re.sub(r' id="([^"]+)"', lambda one: one[0] if one[1] in again else "", text)
    # Identifiers are unique in a file of matplotlib's, not among the plots of a page.
    prefix = "p" + sha256((alt + text).encode()).hexdigest()[:8] + "-"
    text = re.sub(r'(\bid="|xlink:href="#|url\(#)', rf"\g<1>{prefix}", text)
    text = text.replace(INK, "currentColor")
    steps = {f"step-{number}": colour for number, colour in enumerate(STEPS, start=1)}
    for name, colour in {**ROLES, "accent": ACCENT, "quiet": QUIET, **steps}.items():
        text = text.replace(colour, f"var(--attn-{name}, {colour})")
    text = re.sub(r"font-family: [^;\"]*", "font-family: inherit", text)
    text = re.sub(r">([^<]*\$[^<]*)</text>", lambda one: f">{_symbols(one[1])}</text>", text)
    view = re.search(r'viewBox="([^"]+)"', text).group(1)
    pixels = float(view.split()[2]) * 96 / 72
    body = text[text.index(">", text.index("<svg")) + 1 :]
    opening = (
        f'<svg role="img" aria-label="{html.escape(alt)}" viewBox="{view}" '
        'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'style="width: {pixels:.0f}px; max-width: 100%; height: auto">'
    )
    return opening + re.sub(r"\n\s*", "\n", body).strip()


def _symbols(text: str) -> str:
    """Set what stands between dollars as mathematics.

    >>> print(_symbols("$d_k$ wide"))  # doctest: +ELLIPSIS
    <tspan style="...">d</tspan><tspan dy="0.36em" style="...">k</tspan><tspan dy="-0.25em"> wide</tspan>
    """
    spans, low = "", False

    def add(part: str, style: str = "", down: str = "") -> None:
        nonlocal spans, low
        moved = down or (f"-{LOWER}em" if low and part else "")
        traits = (f' dy="{moved}"' if moved else "") + (f' style="{style}"' if style else "")
        spans += f"<tspan{traits}>{part}</tspan>" if traits else part
        low = bool(down) or (low and not part)

    for at, part in enumerate(text.split("$")):
        # Plain, letter, index, plain, letter, index, ...
        pieces = SYMBOL.split(part) if at % 2 else [part]
        for plain, letter, index in zip(pieces[::3], [*pieces[1::3], ""], [*pieces[2::3], ""], strict=True):
            add(plain)
            if letter:
                add(letter, SLANTED)
            if index:
                slant = SLANTED if len(index) == 1 and index.isalpha() else ""
                add(index, f"font-size: {SMALL:.0%}; {slant}".strip("; "), f"{LOWER / SMALL:.2f}em")
    return spans


def _rounded(attribute: re.Match[str]) -> str:
    return re.sub(r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", attribute[0])


def show(
    figure: Figure | Callable[..., Figure],
    *,
    alt: str | None = None,
    caption: str | None = None,
    stacked: bool = False,
) -> None:
    """Display a figure in a notebook and in the book: for the page's column, and once more for a phone.

    A notebook shows the first; in the book the style sheet chooses.

    Args:
        figure: a matplotlib figure, which is laid out anew for a phone; or what draws one, and with
            `narrow=True` one for a phone, as all of `attnbook.drawings` do.
        alt: what the plot shows, in words; the figure's label unless given, which drawings bring along.
        caption: a line under the plot; none unless given.
        stacked: on a phone the axes of a figure stand one below the other.

    Raises:
        ValueError: alt is empty, or neither is given.

    >>> show(new()[0], alt="an empty frame")
    <an empty frame>
    """
    wide, phone = (figure, None) if isinstance(figure, Figure) else (figure(), figure(narrow=True))
    alt = wide.get_label() if alt is None else alt
    pictures = svg(wide, alt=alt)
    if phone:
        narrow = svg(phone, alt=alt)
    else:
        with _narrow(wide, stacked):
            narrow = svg(wide, alt=alt, tight=True)
    # Only the book's style sheet shows it, and then hides the other.
    pictures += narrow.replace('style="', 'class="narrow" style="display: none; ', 1)
    display(_Picture(pictures, alt, caption))


@contextmanager
def _narrow(figure: Figure, stacked: bool) -> Iterator[None]:
    """Lay a figure out for a phone: names of rows, which would take half of it, stand above their rows."""
    (width, height), high, named = figure.get_size_inches(), 0.0, []
    beside, rows = [axes.get_subplotspec() for axes in figure.axes], 1
    if stacked:
        rows = len(beside)
        for axes, place in zip(figure.axes, GridSpec(rows, 1, figure=figure), strict=True):
            axes.set_subplotspec(place)
    for axes in figure.axes:
        labels = axes.get_yticklabels()
        if max((len(label.get_text()) for label in labels), default=0) > LONG:
            tick = axes.yaxis.get_major_ticks()[0]
            as_they_are = {"pad": tick.get_pad(), "length": tick.tick1line.get_markersize()}
            named.append((axes, labels[0].get_ha(), labels[0].get_va(), as_they_are))
            axes.tick_params(axis="y", pad=-4, length=0)
            for label in labels:
                label.set(ha="left", va="bottom")
                label.set_transform(label.get_transform() + ScaledTranslation(0, 0.1, figure.dpi_scale_trans))
            high = max(high, 0.1 * len(labels))
    figure.set_size_inches(NARROW, rows * height + high)
    try:
        yield
    finally:
        figure.set_size_inches(width, height)
        for axes, place in zip(figure.axes, beside, strict=True):
            axes.set_subplotspec(place)
        for axes, ha, va, as_they_are in named:
            axes.tick_params(axis="y", **as_they_are)
            for label in axes.get_yticklabels():
                label.set(ha=ha, va=va)


class _Picture:
    """What a notebook shows: the plot where it can, its text alternative everywhere else."""

    def __init__(self, pictures: str, alt: str, caption: str | None) -> None:
        self.pictures, self.alt, self.caption = pictures, alt, caption

    def __repr__(self) -> str:
        return f"<{self.alt}>"

    def _repr_html_(self) -> str:
        caption = f"<figcaption>{html.escape(self.caption)}</figcaption>" if self.caption else ""
        return f'<figure class="attnlab-plot">{self.pictures}{caption}</figure>'
