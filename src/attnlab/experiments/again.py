"""A short run beside a stored one: it must land within the stored spread, or say that it did not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from IPython.display import display

from attnlab import tables
from attnlab.experiments.comparison import Comparison, with_spread
from attnlab.experiments.sweeps import Candidate, train_pairs


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
        """Return whether the mean of a row lies where the stored runs say, or within `flat` of it."""
        old, new = self.stored[name], self.live[name]
        (want, spread), (got, _) = old.end(), new.end()
        error = spread * math.sqrt(1 / len(old.runs) + 1 / len(new.runs))
        return abs(got - want) <= max(self.within * error, old.flat)

    @property
    def agree(self) -> bool:
        """Whether all rows agree."""
        return all(map(self.agrees, self.live.rows))

    def table(self, *, digits: int = 2) -> None:
        """Display both, row by row."""
        rows = [
            [
                name,
                f"{row.rate:g}",
                with_spread(*self.stored[name].end(), digits),
                with_spread(*row.end(), digits),
                "yes" if self.agrees(name) else "no",
            ]
            for name, row in self.live.rows.items()
        ]
        seeds = len(next(iter(self.live.rows.values())).runs)
        note = (
            f"{self.stored.measure}; here {seeds} seeds at the stored best rates. They agree if the means "
            f"differ by at most {self.within:g} standard errors or by {self.stored.flat:g}."
        )
        head = ["", "rate", "stored", "here", "agree"]
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

    >>> from attnlab.experiments import Run, sweep
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
