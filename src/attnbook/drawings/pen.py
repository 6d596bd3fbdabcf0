"""What schematic drawings are made of: a sheet measured in inches, and boxes, arrows, tiles on it.

>>> pen = Pen(2, 1)
>>> pen.box(0.2, 0.2, 0.8, 0.4, "keys", role="key")
>>> pen.figure_of("A box that holds the keys.").get_label()
'A box that holds the keys.'
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, FancyArrowPatch, FancyBboxPatch, PathPatch, Rectangle
from matplotlib.path import Path
from torch import Tensor

from attnbook.plots import ACCENT, INK, ROLES, new
from attnbook.plots.page import WIDE

Point = tuple[float, float]

FAINT = 0.35
"""How opaque a line is that should be seen second."""

MARGIN = 3
"""Pixels that stay empty above and below a drawing."""


class Pen:
    """Draws on a sheet on which a unit is an inch, x goes to the right and y **down** from the upper left.

    For a phone the sheet is as wide as it says, and every letter has 11 points at least. Else it is as wide
    as the page's column: what stands on it is drawn apart, and letters and discs stay as they are.

    Every method that takes a `role` draws in the colour of "query", "key", "value" or "output", in the book's
    own for "accent", which is none of these, and without one in the colour of the page's text. Nothing drawn
    is opaque, so a drawing reads on any ground.

    Args:
        width: inches; with up to 4.3 letters keep 11 pixels on a phone.
        height: inches.
        narrow: for a phone.

    >>> pen = Pen(2, 1)
    >>> pen.text(1, 0.5, "query", role="query")
    >>> pen.arrow((0.1, 0.5), (0.5, 0.5), role="query")
    >>> len(pen.axes.texts), len(pen.axes.patches)
    (1, 1)
    """

    def __init__(self, width: float, height: float, narrow: bool = False) -> None:
        self.narrow = narrow
        self.apart = 1.0 if narrow else WIDE / width  # inches across that a unit is
        self.figure, self.axes = new(height)
        self.figure.set_figwidth(width if narrow else WIDE)
        self.figure.set_layout_engine("none")
        self.axes.set_position((0, 0, 1, 1))
        self.axes.set(xlim=(0, width), ylim=(height, 0))
        self.axes.axis("off")

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        role: str | None = None,
        align: str = "center",
        size: float = 11,
    ) -> None:
        """Write one line, the middle of its capitals at height y.

        Args:
            x: where it stands.
            y: where it stands.
            text: one line; a second one would lose its place in another typeface. Between dollars it is
                mathematics, as `plots.svg` sets it: "$n × d_model$".
            role: whose colour.
            align: "left", "center" or "right" of the text is at x.
            size: points.

        Raises:
            ValueError: the text has several lines.
        """
        if "\n" in text:
            raise ValueError(f"text must be one line, got {text!r}")
        size = max(size, 11) if self.narrow else size
        # Half of a capital below the middle: lines of one height stand level, whatever letters are in them.
        drop = 0.36 * size / 72
        how = {"color": _colour(role), "fontsize": size, "parse_math": False}
        self.axes.text(x, y + drop, text, ha=align, va="baseline", **how)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        text: str = "",
        *,
        role: str | None = None,
        fill: float = 0.12,
        size: float = 11,
        line: float = 1.1,
    ) -> None:
        """Draw a box with round corners and a line of text in its middle.

        Args:
            x: its left.
            y: its upper side.
            width: inches.
            height: inches.
            text: one line.
            role: whose colour.
            fill: how opaque it is inside, 0 to 1.
            size: points of the text.
            line: points of its edge; without any it is ground for what stands on it.
        """
        shape = f"round,pad=0,rounding_size={0.06 / self.apart}"
        inside = to_rgba(_colour(role), fill)
        how = {"facecolor": inside, "edgecolor": _colour(role) if line else "none", "linewidth": line}
        self.axes.add_patch(
            FancyBboxPatch((x, y), width, height, boxstyle=shape, mutation_aspect=self.apart, **how)
        )
        if text:
            self.text(x + width / 2, y + height / 2, text, role=role, size=size)

    def arrow(
        self,
        start: Point,
        end: Point,
        *,
        role: str | None = None,
        width: float = 1.2,
        alpha: float = 1.0,
        head: bool = True,
        dashed: bool = False,
    ) -> None:
        """Draw an arrow from one point to another.

        Args:
            start: (x, y).
            end: (x, y), where its tip is.
            role: whose colour.
            width: points.
            alpha: how opaque it is.
            head: whether it has a tip.
            dashed: as what is not always there.
        """
        self.axes.add_patch(
            FancyArrowPatch(
                start,
                end,
                arrowstyle="-|>" if head else "-",
                mutation_scale=8 + width,
                color=_colour(role),
                linewidth=width,
                alpha=alpha,
                linestyle=_dash(dashed),
                shrinkA=0,
                shrinkB=0,
                joinstyle="miter",
                capstyle="butt",
            )
        )

    def line(
        self,
        points: Sequence[Point],
        *,
        role: str | None = None,
        width: float = 1.2,
        alpha: float = 1.0,
        dashed: bool = False,
        arrow: bool = False,
    ) -> None:
        """Draw straight lines from point to point.

        Args:
            points: at least two (x, y).
            role: whose colour.
            width: points.
            alpha: how opaque it is.
            dashed: as what is not always there.
            arrow: whether the last piece ends in a tip.
        """
        points = list(points)
        if arrow:
            self.arrow(points[-2], points[-1], role=role, width=width, alpha=alpha, dashed=dashed)
            points.pop()
        if len(points) > 1:
            x, y = zip(*points, strict=True)
            dash = _dash(dashed)
            how = {"solid_capstyle": "butt", "solid_joinstyle": "round"}
            self.axes.plot(x, y, color=_colour(role), linewidth=width, alpha=alpha, linestyle=dash, **how)

    def web(self, pairs: Sequence[tuple[Point, Point]]) -> None:
        """Draw many thin, faint straight lines as one path.

        Args:
            pairs: their ends.
        """
        lines = Path.make_compound_path(*(Path(pair) for pair in pairs))
        self.axes.add_patch(PathPatch(lines, fill=False, edgecolor=INK, alpha=FAINT, linewidth=0.8))

    def dot(
        self,
        x: float,
        y: float,
        *,
        role: str | None = None,
        radius: float = 0.05,
        text: str = "",
        line: float = 1.1,
    ) -> None:
        """Draw a disc, or a ring around a sign.

        Args:
            x: its middle.
            y: its middle.
            role: whose colour.
            radius: inches.
            text: the sign; with one it is a ring.
            line: points of its edge.
        """
        how = {"facecolor": _colour(role)} if not text else {"fill": False, "edgecolor": _colour(role)}
        self.axes.add_patch(Ellipse((x, y), 2 * radius / self.apart, 2 * radius, linewidth=line, **how))
        if text:
            self.text(x, y, text, role=role)

    def dots(self, places: Sequence[Point], *, role: str | None = None, radius: float = 0.05) -> None:
        """Draw many discs as one thing.

        Args:
            places: their middles.
            role: whose colour.
            radius: inches.
        """
        x, y = zip(*places, strict=True)
        how = {"marker": "o", "markersize": 144 * radius, "markeredgewidth": 0, "linestyle": ""}
        self.axes.plot(x, y, color=_colour(role), **how)

    def tiles(
        self,
        x: float,
        y: float,
        rows: int,
        columns: int,
        *,
        size: float | Point = 0.24,
        role: str | None = None,
        shades: Tensor | Sequence[Sequence[float]] | None = None,
        texts: Sequence[Sequence[str]] | None = None,
        edge: float = 0.45,
    ) -> None:
        """Draw a matrix as tiles.

        Args:
            x: its left.
            y: its upper side.
            rows: how many.
            columns: how many.
            size: width and height of a tile, or one number for both.
            role: whose colour.
            shades: (rows, columns), how full each tile is, from 0 to 1; a little unless given. At 1 a tile
                is half opaque, so that a number can be read on it; at 1.9, without one, it is full.
            texts: what is written on each.
            edge: how opaque the edges are.
        """
        wide, high = (size, size) if isinstance(size, (int, float)) else size
        alike: dict[float, list[Path]] = {}
        for i in range(rows):
            for j in range(columns):
                # Rounded: what processors make different is not drawn.
                shade = 0.3 if shades is None else round(float(shades[i][j]), 3)
                left, top = x + j * wide, y + i * high
                if shade:
                    alike.setdefault(shade, []).append(_rectangle(left, top, wide, high))
                if texts is not None and texts[i][j]:
                    self.text(left + wide / 2, top + high / 2, texts[i][j], size=10)
        # One path for all tiles of a shade, and one for all edges: a file a fifth as long.
        for shade, paths in alike.items():
            filled = Path.make_compound_path(*paths)
            self.axes.add_patch(
                PathPatch(filled, facecolor=_colour(role), edgecolor="none", alpha=round(0.52 * shade, 4))
            )
        right, bottom = x + columns * wide, y + rows * high
        across = [[(x, y + i * high), (right, y + i * high)] for i in range(1, rows)]
        down = [[(x + j * wide, y), (x + j * wide, bottom)] for j in range(1, columns)]
        edges = [_rectangle(x, y, right - x, bottom - y), *(Path(ends) for ends in across + down)]
        lines = Path.make_compound_path(*edges)
        how = {"edgecolor": _colour(role), "alpha": edge, "linewidth": 0.8}
        self.axes.add_patch(PathPatch(lines, fill=False, **how))

    def frame(self, x: float, y: float, width: float, height: float, *, alpha: float) -> None:
        """Draw a thin dashed rectangle around something.

        Args:
            x: its left.
            y: its upper side.
            width: inches.
            height: inches.
            alpha: how opaque it is.
        """
        how = {"edgecolor": INK, "linewidth": 0.8, "linestyle": _dash(True), "alpha": alpha}
        self.axes.add_patch(Rectangle((x, y), width, height, fill=False, **how))

    def bracket(self, start: Point, end: Point) -> None:
        """Draw a square bracket from one point to another; it stands out to the left as it runs.

        Args:
            start: (x, y).
            end: (x, y), on the same row or in the same column.
        """
        depth = 0.08 / self.apart  # of one that stands upright
        (x0, y0), (x1, y1) = start, end
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        out = ((y1 - y0) / length * depth, -(x1 - x0) / length * depth)
        inner = [(x0 + out[0], y0 + out[1]), (x1 + out[0], y1 + out[1])]
        self.line([start, *inner, end], width=1.0)

    def figure_of(self, alt: str) -> Figure:
        """Hand the sheet over: cut above and below what is drawn, labelled with what `show` takes for `alt`.

        Args:
            alt: what it shows.

        Returns:
            The figure.
        """
        drawn = [*self.axes.texts, *self.axes.patches, *self.axes.lines]
        ends = [end for one in drawn for end in one.get_window_extent().intervaly]
        # Rounded: typefaces and processors differ in what nobody sees.
        low, high = (round(end / self.figure.dpi, 2) for end in (min(ends) - MARGIN, max(ends) + MARGIN))
        top = self.figure.get_figheight()
        self.axes.set_ylim(top - low, top - high)
        self.figure.set_figheight(high - low)
        self.figure.set_label(alt)
        return self.figure


def _colour(role: str | None) -> str:
    return {None: INK, "accent": ACCENT, **ROLES}[role]


def _dash(dashed: bool) -> str | tuple:
    return (0, (3, 2)) if dashed else "-"


def _rectangle(left: float, top: float, width: float, height: float) -> Path:
    right, bottom = left + width, top + height
    corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
    return Path(corners, closed=True)
