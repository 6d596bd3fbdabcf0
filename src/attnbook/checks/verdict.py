"""What a reader sees of a judgement: a panel in a notebook, a line elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any, Literal

from IPython import get_ipython
from IPython.display import display

MARKS = {"right": "✓", "wrong": "✗", "not yet": "○"}
COLOURS = {"right": "#2e8b57", "wrong": "#d1495b", "not yet": "#8a8a8a"}
# An entry that differs is drawn by weight and a line, not by colour alone.
MARKED = f"; font-weight: bold; border-bottom: 2px solid {COLOURS['wrong']}"


@dataclass(frozen=True)
class Verdict:
    """The judgement of one answer.

    Attributes:
        status: right, wrong, or not yet written.
        message: why, in whole sentences.
        exercise: its name.
        case: the first case that went wrong.
        want: the numbers at the first place that went wrong, as they should be.
        got: as they are.
        off: which of them differ.
        printed: what the answer printed in the first case in which it printed something.

    >>> print(Verdict("right", "Every row sums to one."))
    ✓ Every row sums to one.
    """

    status: Literal["right", "wrong", "not yet"]
    message: str
    exercise: str = ""
    case: str = ""
    want: tuple[str, ...] = ()
    got: tuple[str, ...] = ()
    off: tuple[bool, ...] = ()
    printed: str = ""

    def __str__(self) -> str:
        return f"{MARKS[self.status]} {self.message}"

    def _repr_html_(self) -> str:
        """Draw the panel. A mark stands beside the colour; the text keeps the page's own, light or dark."""
        message = self.message
        table = self._table()
        if table:  # it says the same numbers, and marks them
            numbers = f" should be [{', '.join(self.want)}], it is [{', '.join(self.got)}]."
            message = message.replace(numbers, " differs.")
        return (
            f'<div class="attnlab-verdict" style="border-left: 4px solid {COLOURS[self.status]}; '
            f'padding: 0.4em 0.8em; margin: 0.4em 0; overflow-x: auto"><strong>{MARKS[self.status]}</strong> '
            f"{escape(message)}{table}</div>"
        )

    def _table(self) -> str:
        if len(self.want) < 2:
            return ""
        rows = []
        for name, numbers in (("should be", self.want), ("is", self.got)):
            cells = "".join(
                f'<td style="padding: 0 0.6em; text-align: right{MARKED if wrong else ""}">{escape(number)}</td>'
                for number, wrong in zip(numbers, self.off, strict=True)
            )
            rows.append(
                f'<tr><th scope="row" style="padding-right: 0.6em; text-align: left; white-space: nowrap">{name}</th>'
                f"{cells}</tr>"
            )
        return f'<table style="margin: 0.4em 0 0; border-collapse: collapse">{"".join(rows)}</table>'


def show(verdict: Verdict) -> None:
    """Show a verdict, as a panel in a notebook, as a line anywhere else; before it what the answer printed.

    Args:
        verdict: what to show.
    """
    if verdict.printed:
        print(verdict.printed.rstrip("\n"), end="\n\n")
    publish(verdict)


def publish(shown: Any) -> None:
    """Show something in both its forms: the page in a notebook, its text anywhere else.

    Args:
        shown: it has a `_repr_html_`, and its `str` says the same.
    """
    if hasattr(get_ipython(), "kernel"):
        display({"text/plain": str(shown), "text/html": shown._repr_html_()}, raw=True)
    else:
        print(shown)
