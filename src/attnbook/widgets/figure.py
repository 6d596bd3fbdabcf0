"""What every figure has: its two forms of display, its table, and a stable text form."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import torch
from torch import Tensor

STATIC = Path(__file__).parents[1] / "static"


class Figure(anywidget.AnyWidget):
    """What all figures share: both forms of display, and a `repr` without a memory address."""

    name: ClassVar[str]
    """The figure's name in the page and of its script."""
    state: ClassVar[tuple[str, ...]]
    """The traits that make up its state."""

    # The one of ipywidgets 7, which Colab has, shows the view alone, and IPython would ask it first.
    _ipython_display_ = None

    def settings(self) -> dict[str, Any]:
        """Return the state, as the page stores it."""
        return {key: getattr(self, key) for key in self.state}

    def table(self) -> str:
        """Return the figure's numbers as an HTML table.

        Raises:
            NotImplementedError: the figure's class has none yet.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must have a method table() that returns its numbers as an HTML table, "
            "made by attnbook.tables.table_of(head, rows): print, screen readers and GitHub show it"
        )

    def caption(self) -> str:
        """Return one sentence that says what the figure shows, true in each of its states.

        What to do with it stands in the prose, and what a reader is asked to find out stands after it.

        Raises:
            NotImplementedError: the figure's class has none yet.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must have a method caption() that returns one sentence, plain text, "
            "which says what the figure shows"
        )

    def __repr__(self) -> str:
        return f"<figure: {self.name}>"

    def _repr_html_(self) -> str:
        settings = html.escape(json.dumps(self.settings(), ensure_ascii=False), quote=True)
        return (
            f'<figure class="attnlab-figure" data-attnlab="{self.name}" data-settings="{settings}">'
            f"{self.table()}<figcaption>{html.escape(self.caption())}</figcaption></figure>"
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict, dict]:
        view = super()._repr_mimebundle_(**kwargs)
        data, metadata = view if isinstance(view, tuple) else (view or {}, {})
        return {**data, "text/plain": repr(self), "text/html": self._repr_html_()}, metadata


def matrix_of(name: str, rows: Any) -> Tensor:
    """Read rows of numbers, or say what is wrong with them.

    Args:
        name: what the caller calls them, for the message.
        rows: lists of numbers, or a tensor.

    Returns:
        Matrix (rows, columns), float64.

    Raises:
        ValueError: the rows differ in length, are empty, or hold something else than finite numbers.

    >>> matrix_of("X", [[1, 2]]).tolist()
    [[1.0, 2.0]]
    """
    try:
        matrix = torch.as_tensor(rows, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} must be rows of numbers, all of one length: {error}") from None
    if matrix.dim() != 2 or 0 in matrix.shape:
        raise ValueError(f"{name} must have shape (rows, columns), got {tuple(matrix.shape)}")
    if not matrix.isfinite().all():
        raise ValueError(f"{name} must hold finite numbers, got {matrix.tolist()}")
    return matrix
