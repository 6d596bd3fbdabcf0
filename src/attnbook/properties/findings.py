"""What a battery found: one row a property, as text and as a table of the page."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from torch import Tensor

from attnbook.tables import table_of

Verdict = Literal["holds", "does not hold", "could not ask"]
MARKS: dict[Verdict, str] = {"holds": "✓", "does not hold": "✗", "could not ask": "○"}


@dataclass(frozen=True)
class Finding:
    """What one property came to.

    Attributes:
        name: the property's.
        verdict: "holds", "does not hold" or "could not ask".
        text: what was seen, with the numbers of the smallest counterexample; or why it could not be asked.
        example: where it does not hold, the tensors with which that is seen again, by name.

    >>> print(Finding("scale", "does not hold", "scores are divided by 4, not by 2"))
    ✗ scale: scores are divided by 4, not by 2
    """

    name: str
    verdict: Verdict
    text: str
    example: Mapping[str, Tensor] = field(default_factory=dict, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{MARKS[self.verdict]} {self.name}: {self.text}"


class Findings:
    """What `battery` returns: a finding for each property, by name or one after another; a table when shown.

    Args:
        subject: what was asked, in words.
        rows: the findings.
        notes: what was found out on the way.

    >>> found = Findings("a layer", [Finding("again", "holds", "twice the same")])
    >>> found
    a layer: 1 of 1 asked holds
    ✓ again  twice the same
    >>> found["again"].verdict, found.broken
    ('holds', ())
    """

    def __init__(self, subject: str, rows: list[Finding], notes: tuple[str, ...] = ()) -> None:
        self.subject, self.rows, self.notes = subject, tuple(rows), notes

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.rows)

    def __getitem__(self, name: str) -> Finding:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"no property is called {name!r}; there are: {', '.join(r.name for r in self.rows)}")

    def _named(self, verdict: Verdict) -> tuple[str, ...]:
        return tuple(row.name for row in self.rows if row.verdict == verdict)

    @property
    def kept(self) -> tuple[str, ...]:
        """The names of the properties that hold."""
        return self._named("holds")

    @property
    def broken(self) -> tuple[str, ...]:
        """The names of those that do not."""
        return self._named("does not hold")

    @property
    def unasked(self) -> tuple[str, ...]:
        """The names of those that could not be asked."""
        return self._named("could not ask")

    def _head(self) -> str:
        asked = len(self.rows) - len(self.unasked)
        verb = "holds" if len(self.kept) == 1 else "hold"
        notes = f" ({'; '.join(self.notes)})" if self.notes else ""
        return f"{self.subject}: {len(self.kept)} of {asked} asked {verb}{notes}"

    def __repr__(self) -> str:
        wide = max((len(row.name) for row in self.rows), default=0)
        lines = [textwrap.fill(self._head(), 96)]
        for row in self.rows:
            start = f"{MARKS[row.verdict]} {row.name:<{wide}}  "
            lines.append(
                textwrap.fill(row.text, 96, initial_indent=start, subsequent_indent=" " * (wide + 4))
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [[row.name, f"{MARKS[row.verdict]} {row.verdict}", row.text] for row in self.rows]
        label = html.escape(f"Ten properties asked of {self.subject}", quote=True)
        place = 'class="attnlab-scroll" role="group" tabindex="0" style="margin: 0.9rem 0"'
        table = table_of(["property", "verdict", "what was seen"], rows)
        return f'<p>{html.escape(self._head())}</p><div {place} aria-label="{label}">{table}</div>'
