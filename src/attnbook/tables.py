"""Tables of text in a page: real ones, that a screen reader can walk through and a phone can scroll."""

from __future__ import annotations

import html
from collections.abc import Sequence

from IPython.display import display


def table_of(head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = False) -> str:
    """Write a table of text in HTML; nothing in it is read as markup.

    Args:
        head: the names of the columns.
        rows: the cells; the first of each row names it.
        numbers: mark all columns but the first as numbers, which the page sets to the right.

    Returns:
        A `<table>` element.

    >>> table_of(["a"], [["<b>"]]).count("&lt;b&gt;")
    1
    """
    kind = ' class="num"' if numbers else ""
    # A heading without words is none: a screen reader would announce it.
    top = "".join(
        f'<th scope="col"{kind if at else ""}>{html.escape(text)}</th>' if text else "<td></td>"
        for at, text in enumerate(head)
    )
    body = "".join(
        f'<tr><th scope="row">{html.escape(first)}</th>'
        + "".join(f"<td{kind}>{html.escape(text)}</td>" for text in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


class Table:
    """A table as a notebook shows it: a real one where it can, aligned text everywhere else.

    Args:
        head: the names of the columns.
        rows: the cells, turned into text with `str`; the first of each row names it.
        about: what the table tells, in words, for readers who do not see it.
        note: a line under the table, for all readers.

    Raises:
        ValueError: about is empty, or a row has more or fewer cells than the head.

    >>> Table(["n", "cost"], [[1, 2.5], [10, 25]], about="cost by length")
    n   cost
    1    2.5
    10    25
    """

    def __init__(
        self, head: Sequence[str], rows: Sequence[Sequence[object]], *, about: str, note: str = ""
    ) -> None:
        if not about.strip():
            raise ValueError(f"about must say in words what the table tells, got {about!r}")
        self.head, self.about, self.note = [str(name) for name in head], about, note
        self.rows = [[str(cell) for cell in row] for row in rows]
        for row in self.rows:
            if len(row) != len(head):
                raise ValueError(f"a row must have {len(head)} cells, as the head has, got {len(row)}: {row}")

    def __repr__(self) -> str:
        lines = [self.head, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join([*(_line(line, widths) for line in lines), *([self.note] if self.note else [])])

    def _repr_html_(self) -> str:
        table = table_of(self.head, self.rows, numbers=True)
        label = html.escape(self.about, quote=True)
        place = 'class="attnlab-scroll" role="group" tabindex="0" style="margin: 0.9rem 0"'
        note = f"<p><small>{html.escape(self.note)}</small></p>" if self.note else ""
        return f'<div {place} aria-label="{label}">{table}</div>{note}'


def show(head: Sequence[str], rows: Sequence[Sequence[object]], *, about: str, note: str = "") -> None:
    """Display a `Table` in a notebook and in the book.

    Args:
        head: as in `Table`, like the rest.
        rows: the cells.
        about: what the table tells.
        note: a line under the table.

    Raises:
        ValueError: about is empty, or a row has more or fewer cells than the head.

    >>> show(["n", "cost"], [[1, 2.5]], about="cost by length", note="one run")
    n  cost
    1   2.5
    one run
    """
    display(Table(head, rows, about=about, note=note))


def _line(cells: list[str], widths: list[int]) -> str:
    first, *rest = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]).rstrip()
