"""One candidate of a sweep: its best rate, the runs there, and what limits what they say."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from attnbook.experiments.runs import Goal, Run


@dataclass(frozen=True)
class Row:
    """One candidate: the best of the rates that were tried, and the runs at each.

    Args:
        name: what the table calls it.
        rate: the best rate; None if runs diverged at every one.
        tried: rate -> its runs, from the smallest rate.
        control: whether it stands here as a control.
        edge: whether the best rate is the first or the last that was tried.
        goal: "high" or "low", as in `sweep`.
        level: steps count until the curve reaches it.
        flat: how much a row may have gained in its last quarter and still count as finished.
        settings: what its runs were given, as `settings_of` reads it off the candidate.

    >>> row = Row("a", 0.1, {0.1: [Run([0.5, 0.9]), Run([0.5, 1.0])]}, level=0.9)
    >>> row.end(), row.steps(), row.marks()
    ((0.95, 0.07071067811865474), (2.0, 0.0), ['still improving'])
    """

    name: str
    rate: float | None
    tried: Mapping[float, Sequence[Run]]
    control: bool = False
    edge: bool = False
    goal: Goal = "high"
    level: float | None = None
    flat: float = 0.01
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def runs(self) -> Sequence[Run]:
        """The runs at the best rate."""
        return self.tried[self.rate] if self.rate is not None else ()

    def end(self) -> tuple[float, float]:
        """Return mean and standard deviation over the seeds of the number that chose the rate."""
        return spread_of([run.value for run in self.runs])

    def extra(self, name: str) -> tuple[float, float]:
        """Return mean and standard deviation over the seeds of one of the other numbers."""
        return spread_of([run.extras[name] for run in self.runs])

    def steps(self) -> tuple[float, float]:
        """Return mean and standard deviation of the steps to the level, of the runs that reached it."""
        return spread_of([step for step in self._steps() if step is not None])

    def arrived(self) -> int:
        """Return how many runs at the best rate reached the level."""
        return sum(step is not None for step in self._steps())

    def marks(self) -> list[str]:
        """Return what limits the row: diverged runs, a rate at the edge, curves that still improve."""
        out = ["control"] if self.control else []
        lost = {rate for rate, runs in self.tried.items() if any(run.diverged for run in runs)}
        if self.rate is None:
            return [*out, "diverged at every rate"]
        if lost:
            out.append(
                f"diverges from {min(lost):.2g}" if min(lost) > self.rate else f"diverged at {min(lost):.2g}"
            )
        if self.edge:
            out.append("rate at the edge: nothing may be concluded")
        gains = [run.gain(self.goal) for run in self.runs if run.curve]
        if gains and statistics.fmean(gains) > self.flat:
            out.append("still improving")
        return out

    def _steps(self) -> list[int | None]:
        return [run.steps_to(self.level, self.goal) for run in self.runs]


def with_spread(mean: float, spread: float, digits: int) -> str:
    """Write a mean with its standard deviation; a dash for nothing, no ± for a single run.

    >>> with_spread(0.951, 0.012, 2), with_spread(0.9, float("nan"), 1), with_spread(float("nan"), 0.0, 1)
    ('0.95 ± 0.01', '0.9', '–')
    """
    if math.isnan(mean):
        return "–"
    return f"{mean:.{digits}f}" + ("" if math.isnan(spread) else f" ± {spread:.{digits}f}")


def spread_of(values: Sequence[float]) -> tuple[float, float]:
    """Return mean and standard deviation; NaN for what cannot be had from so few values."""
    if not values:
        return math.nan, math.nan
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else math.nan
