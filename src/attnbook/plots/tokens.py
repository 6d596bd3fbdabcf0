"""What is drawn between tokens: who looks where, and who may."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from torch import Tensor

from attnbook.plots.page import INK, ROLES, new, show


def arcs(
    axes: Axes,
    weights: Tensor,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    focus: int | None = None,
    least: float = 0.02,
) -> None:
    """Draw two rows of tokens, queries above keys, and an arc as thick as its weight from each to each.

    Args:
        axes: where to draw.
        weights: (n_q, n_k), between 0 and 1.
        queries: the n_q tokens that look.
        keys: the n_k tokens that are looked at.
        focus: draw the arcs of this query alone, each with its number.
        least: weights below this get no arc.

    Raises:
        ValueError: the labels do not fit, a weight is not between 0 and 1, or `focus` is no query.

    >>> import torch
    >>> _, axes = new()
    >>> arcs(axes, torch.tensor([[0.9, 0.1], [0.0, 1.0]]), ["I", "saw"], ["I", "saw"], focus=0)
    >>> len(axes.patches), [text.get_text() for text in axes.texts]
    (2, ['I', 'saw', 'I', 'saw', '0.90', '0.10'])
    """
    if weights.shape != (len(queries), len(keys)):
        raise ValueError(
            f"weights must have shape (queries, keys) = ({len(queries)}, {len(keys)}), "
            f"got {tuple(weights.shape)}"
        )
    if weights.min() < 0 or weights.max() > 1 + 1e-6:
        raise ValueError(
            f"weights must lie between 0 and 1, got {float(weights.min()):g} to {float(weights.max()):g}"
        )
    if focus is not None and not 0 <= focus < len(queries):
        raise ValueError(f"focus must be a query, 0 to {len(queries) - 1}, got {focus}")
    places = {"queries": _spread_out(len(queries)), "keys": _spread_out(len(keys))}
    rows = (("query", queries, places["queries"], 1.0), ("key", keys, places["keys"], 0.0))
    for role, labels, xs, height in rows:
        for label, x in zip(labels, xs, strict=True):
            where = {"va": "bottom"} if height else {"va": "top"}
            axes.text(x, height + (0.04 if height else -0.04), label, ha="center", color=ROLES[role], **where)
    for i in range(len(queries)) if focus is None else [focus]:
        for j, weight in enumerate(weights[i].tolist()):
            if weight < least:
                continue
            start, end = places["queries"][i], places["keys"][j]
            bend = Path([(start, 1), (start, 0.4), (end, 0.6), (end, 0)], [1, 4, 4, 4])
            axes.add_patch(
                PathPatch(bend, fill=False, edgecolor=ROLES["query"], alpha=0.2 + 0.6 * weight,
                          linewidth=0.5 + 6 * weight)
            )  # fmt: skip
            if focus is not None:
                axes.text(end, -0.2, f"{weight:.2f}", ha="center", va="top", color=INK)
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.35, 1.25))
    axes.axis("off")


def mask(
    axes: Axes, allowed: Tensor, rows: Sequence[str] | None = None, columns: Sequence[str] | None = None
) -> None:
    """Draw a boolean mask: a filled cell where the query of the row may attend to the key of the column.

    Args:
        axes: where to draw.
        allowed: boolean (n_q, n_k), True = may attend.
        rows: labels of the queries; none unless given.
        columns: labels of the keys; none unless given.

    Raises:
        ValueError: `allowed` is not a boolean matrix, or the labels do not fit.

    >>> from attnlab import masks
    >>> _, axes = new()
    >>> mask(axes, masks.causal(3))
    >>> sum(patch.get_fill() for patch in axes.patches)
    6
    """
    if allowed.dim() != 2 or allowed.dtype != torch.bool:
        raise ValueError(
            f"allowed must be a boolean matrix (n_q, n_k), got {allowed.dtype} {tuple(allowed.shape)}"
        )
    n_q, n_k = allowed.shape
    for name, labels, n in (("rows", rows, n_q), ("columns", columns, n_k)):
        if labels is not None and len(labels) != n:
            raise ValueError(f"{name} must be {n} labels, got {len(labels)}")
    for i, j in allowed.nonzero().tolist():
        axes.add_patch(Rectangle((j + 0.04, i + 0.04), 0.92, 0.92, facecolor=ROLES["query"], alpha=0.6))
    axes.add_patch(Rectangle((0, 0), n_k, n_q, fill=False, edgecolor=INK, alpha=0.3, linewidth=0.8))
    axes.set(xlim=(0, n_k), ylim=(n_q, 0), aspect="equal")
    axes.set_xticks([j + 0.5 for j in range(n_k)] if columns else [], columns)
    axes.set_yticks([i + 0.5 for i in range(n_q)] if rows else [], rows)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def show_mask(
    allowed: Tensor,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    *,
    alt: str | None = None,
    caption: str | None = None,
) -> None:
    """Draw any mask and display it.

    Args:
        allowed: boolean (n_q, n_k), True = may attend.
        rows: labels of the queries; none unless given.
        columns: labels of the keys; those of the rows, if they fit, unless given.
        alt: what the plot shows, in words; the size and the share of allowed cells unless given.
        caption: a line under the plot; none unless given.

    Raises:
        ValueError: as in `mask`.

    >>> from attnlab import masks
    >>> show_mask(masks.causal(4))
    <A mask of 4 queries and 4 keys; 10 of its 16 cells are allowed.>
    """
    n_q, n_k = allowed.shape[-2:]
    if columns is None and n_q == n_k:
        columns = rows
    figure, axes = new(0.9 + min(2.6, 0.32 * max(n_q, n_k)))
    mask(axes, allowed, rows, columns)
    count = int(allowed.sum())
    show(
        figure,
        alt=alt or f"A mask of {n_q} queries and {n_k} keys; {count} of its {n_q * n_k} cells are allowed.",
        caption=caption,
    )


def _spread_out(n: int) -> list[float]:
    return [(i + 0.5) / n for i in range(n)]
