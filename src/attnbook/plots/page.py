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
from hashlib import sha256
from pathlib import Path

from IPython.display import display
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

STYLE = Path(__file__).parents[1] / "attnbook.mplstyle"
INK = "#111111"
"""The text colour of the style file; in the page it becomes the colour of the text around the plot."""

PLACES = re.compile(r'\b(?:d|points|[xy][12]?|width|height)="[^"]*"|\b(?:translate|rotate)\([^)]*\)')
"""What says in an SVG file where something is; `scale` must keep its digits."""

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


def svg(figure: Figure, *, alt: str) -> str:
    """Turn a figure into SVG for the middle of a page: its colours follow the page, its text stays text.

    Places are rounded to a hundredth of a point: nobody sees less, and processors differ in the last digits.

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
    text = PLACES.sub(_rounded, text[text.index("<svg") :])
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


def _rounded(attribute: re.Match[str]) -> str:
    return re.sub(r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", attribute[0])


def show(figure: Figure, *, alt: str | None = None, caption: str | None = None, wide: bool = False) -> None:
    """Display a figure in a notebook and in the book.

    Args:
        figure: a matplotlib figure.
        alt: what the plot shows, in words; the figure's label unless given, which the drawings of
            `attnbook.drawings` bring along.
        caption: a line under the plot; none unless given.
        wide: on a phone it scrolls and stays readable, where others shrink.

    Raises:
        ValueError: alt is empty, or neither is given.

    >>> show(new()[0], alt="an empty frame")
    <an empty frame>
    """
    alt = figure.get_label() if alt is None else alt
    display(_Picture(svg(figure, alt=alt), alt, caption, wide))


class _Picture:
    """What a notebook shows: the plot where it can, its text alternative everywhere else."""

    def __init__(self, picture: str, alt: str, caption: str | None, wide: bool = False) -> None:
        self.picture, self.alt, self.caption = picture, alt, caption
        self.kind = "attnlab-plot wide" if wide else "attnlab-plot"

    def __repr__(self) -> str:
        return f"<{self.alt}>"

    def _repr_html_(self) -> str:
        caption = f"<figcaption>{html.escape(self.caption)}</figcaption>" if self.caption else ""
        return f'<figure class="{self.kind}">{self.picture}{caption}</figure>'
