"""A short run beside a stored one: it must land within the stored spread, or say that it did not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from IPython.display import display

from attnbook import tables
from attnbook.experiments.comparison import Comparison
from attnbook.experiments.rows import with_spread
from attnbook.experiments.sweeps import Candidate, train_pairs


@dataclass(frozen=True)
class Again:
    """Some rows of a stored comparison, trained again.

    Args:
        stored: what was found before.
        live: the same rows at the same rates, with fewer seeds.
        within: the standard errors by which the two means may differ.
    """

    stored: Comparison
    live: Comparison
    within: float = 3.0

    def agrees(self, name: str) -> bool:
        """Return whether the mean end of a row, and its mean steps, lie where the stored runs say.

        Ends may always differ by `flat`, and steps by two points of the curve.
        """
        old, new = self.stored[name], self.live[name]
        pairs = [(old.end(), new.end(), old.flat)]
        if old.level is not None:
            if not new.arrived():
                return not old.arrived()
            pairs.append((old.steps(), new.steps(), 2 * new.runs[0].every))
        share = math.sqrt(1 / len(old.runs) + 1 / len(new.runs))
        # A stored row of one seed has no spread; then only the room that is always there counts.
        return all(
            abs(got - want) <= max(0.0 if math.isnan(spread) else self.within * spread * share, room)
            for (want, spread), (got, _), room in pairs
        )

    @property
    def agree(self) -> bool:
        """Whether all rows agree."""
        return all(map(self.agrees, self.live.rows))

    def table(self, *, digits: int = 2) -> None:
        """Display both, row by row."""
        steps = self.stored.level is not None
        head = ["", "rate", f"stored: {self.stored.measure}", "here"]
        head += ["stored: steps", "here", "agree"] if steps else ["agree"]
        rows = []
        for name, row in self.live.rows.items():
            both = (self.stored[name], row)
            cells = [with_spread(*which.end(), digits) for which in both]
            cells += [with_spread(*which.steps(), 0) for which in both] if steps else []
            rows.append([name, f"{row.rate:.2g}", *cells, "yes" if self.agrees(name) else "no"])
        seeds = len(next(iter(self.live.rows.values())).runs)
        note = f"Here: {seeds} seed{'s' * (seeds > 1)} at the stored best rates. To agree is to lie within "
        note += f"{self.within:g} standard errors of the difference."
        display(tables.Table(head, rows, about="stored runs beside new ones", note=note))


def again(
    stored: Comparison,
    candidates: Mapping[str, Candidate],
    *,
    seeds: Iterable[int],
    within: float = 3.0,
    progress: bool = True,
) -> Again:
    """Train rows of a stored comparison again, each at its stored best rate alone.

    Args:
        stored: what a sweep found.
        candidates: the rows to train, by their stored names.
        seeds: fewer than were stored, for a page should not take minutes.
        within: the standard errors by which the two means may differ.
        progress: show a bar if it takes more than two seconds.

    Returns:
        Both, and whether they agree.

    Raises:
        KeyError: a candidate has no stored row.
        ValueError: a stored row has no rate, because it diverged at every one.

    >>> from attnbook.experiments import Run, sweep
    >>> flat = {"a": lambda rate, seed: Run([1 - abs(rate - 0.2)])}
    >>> found = sweep(flat, rates=[0.1, 0.2, 0.4], seeds=[0, 1], progress=False)
    >>> again(found, flat, seeds=[7], progress=False).agree
    True
    """
    seeds, rows = list(seeds), {}
    for name, candidate in candidates.items():
        old = stored[name]
        if old.rate is None:
            raise ValueError(f"row {name!r} diverged at every rate: there is none to train it at")
        runs = train_pairs(name, candidate, [(old.rate, seed) for seed in seeds], progress=progress)
        rows[name] = replace(old, tried={old.rate: runs})
    return Again(stored, replace(stored, rows=rows), within)
