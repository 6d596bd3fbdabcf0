"""What a sweep found: a row for each candidate, its table with the marks that limit it, its curves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from IPython.display import display

from attnbook import plots, tables
from attnbook.experiments.rows import Row, spread_of, with_spread
from attnbook.experiments.runs import Goal, Run
from attnbook.experiments.settings import counted, shared, tell


@dataclass(frozen=True)
class Comparison:
    """Rows that were made alike, and how.

    Args:
        rows: name -> row, in the order of the table.
        measure: what is compared, for the head of the table.
        how: how a rate was chosen.
        goal: "high" or "low", as in `sweep`.
        level: steps count until the curve reaches it.
        flat: how much a row may have gained in its last quarter and still count as finished.

    >>> runs = {0.1: [Run([0.2])], 0.2: [Run([0.9])], 0.4: [Run([0.4])]}
    >>> found = Comparison({"a": Row("a", 0.2, runs)}, measure="right")
    >>> found.table()
       best rate  right
    a        0.2   0.90
    3 learning rates a row; one seed; looked at every step.
    >>> Comparison.from_dict(found.as_dict())["a"].rate
    0.2
    """

    rows: Mapping[str, Row]
    measure: str = "end value"
    how: str = ""
    goal: Goal = "high"
    level: float | None = None
    flat: float = 0.01

    def __getitem__(self, name: str) -> Row:
        if name not in self.rows:
            raise KeyError(f"no row is called {name!r}; there are: {', '.join(self.rows)}")
        return self.rows[name]

    def only(self, *names: str) -> Comparison:
        """Return a comparison of some of the rows."""
        return replace(self, rows={name: self[name] for name in names})

    def pick(self, extras: Mapping[str, str], rows: Iterable[str] | None = None) -> Comparison:
        """Return some of the rows with some of their other numbers, those at the best rates alone.

        A number measured on a test set should not be looked at anywhere else.

        Args:
            extras: number -> what the table shall call it.
            rows: names, in the order of the table; all rows unless given.

        Raises:
            KeyError: there is no such row, or a run at its best rate lacks one of the numbers.

        >>> row = Row("a", 0.1, {0.1: [Run([1.0], extras={"s": 2.0, "test": 0.9})]})
        >>> Comparison({"a": row}).pick({"test": "right"})["a"].extra("right")[0]
        0.9
        """

        def kept(row: Row, rate: float, run: Run) -> Run:
            found = {new: run.extras[old] for old, new in extras.items()} if rate == row.rate else {}
            return replace(run, extras=found)

        chosen = [self[name] for name in (self.rows if rows is None else rows)]
        thin = {
            row.name: replace(
                row, tried={rate: [kept(row, rate, run) for run in runs] for rate, runs in row.tried.items()}
            )
            for row in chosen
        }
        return replace(self, rows=thin)

    def cells(self, digits: int = 2) -> tuple[list[str], list[list[str]]]:
        """Return the head of the table and its rows, as text."""
        extras = list(
            dict.fromkeys(key for row in self.rows.values() for run in row.runs for key in run.extras)
        )
        head = ["", "best rate", self.measure, *extras]
        if self.level is not None:
            head.insert(2, f"steps to {self.level:g}")
        notes = any(row.marks() for row in self.rows.values())
        body = []
        for row in self.rows.values():
            line = [row.name, "–" if row.rate is None else f"{row.rate:.2g}"]
            if self.level is not None:
                missing = "" if row.arrived() == len(row.runs) else f" ({row.arrived()} of {len(row.runs)})"
                line.append(with_spread(*row.steps(), 0) + missing)
            line.append(with_spread(*row.end(), digits))
            for key in extras:
                found = all(key in run.extras for run in row.runs)
                line.append(with_spread(*row.extra(key), digits) if found else "–")
            body.append(line + (["; ".join(row.marks())] if notes else []))
        return head + (["marks"] if notes else []), body

    def note(self) -> str:
        """Return the line under the table: how it was made, from the settings and the runs themselves."""
        return note([self])

    def table(self, *, digits: int = 2) -> None:
        """Display the table: best rate, steps, end, spread, marks, and how it was made.

        Args:
            digits: digits after the point.
        """
        display(self.as_table(digits=digits))

    def as_table(self, *, digits: int = 2) -> tables.Table:
        """Return what `table` displays."""
        head, body = self.cells(digits)
        return tables.Table(head, body, about=f"{self.measure} of each row", note=self.note())

    def plot(
        self,
        *,
        against: str = "step",
        upto: int | None = None,
        ylim: tuple[float, float] | None = None,
        title: str = "",
    ) -> None:
        """Display the curves at the best rates; or, against "rate", the end at every rate that was tried.

        Args:
            against: "step" or "rate".
            upto: the last step to draw.
            ylim: the ends of the vertical axis.
            title: over the plot.

        Raises:
            ValueError: against is neither, or the rows were stored without their curves.
        """
        if against not in ("step", "rate"):
            raise ValueError(f"against must be 'step' or 'rate', got {against!r}")
        figure, axes = plots.new(2.9)
        over = "step" if against == "step" else "learning rate"
        lines = self._curves() if against == "step" else self._ends()
        x = sorted(
            {at for points in lines.values() for at in points if against == "rate" or at <= (upto or at)}
        )
        said = "; ".join(map(self._words, self.rows.values()))
        if against == "rate":
            ends = (
                [f"{mean:.2f} at {rate:.2g}" for rate, (mean, _) in row.items()] for row in lines.values()
            )
            said = "; ".join(f"{name}: {', '.join(end)}" for name, end in zip(lines, ends, strict=True))
        blank = (math.nan, 0.0)
        middle = {name: [points.get(at, blank)[0] for at in x] for name, points in lines.items()}
        half = {name: [points.get(at, blank)[1] for at in x] for name, points in lines.items()}
        plots.lines(axes, x, middle, spread=half, log="x" if against == "rate" else "")
        axes.set(title=title, xlabel=over, ylabel=self.measure)
        if against == "rate":
            axes.tick_params(axis="x", labelrotation=60)
        if ylim:
            axes.set_ylim(*ylim)
        plots.show(
            figure,
            alt=f"{title}{': ' * bool(title)}{self.measure} against the {over}. {said}.",
            caption="Each at its best rate. " * (against == "step")
            + "Bands: one standard deviation between the seeds.",
        )

    def _words(self, row: Row) -> str:
        reached = (
            f"reaches {self.level:g} after {with_spread(*row.steps(), 0)} steps and "
            if self.level is not None and row.arrived()
            else ""
        )
        return f"{row.name} {reached}ends at {with_spread(*row.end(), 2)}"

    def _curves(self) -> dict[str, dict[float, tuple[float, float]]]:
        out = {}
        for row in self.rows.values():
            curves = [run.curve for run in row.runs if run.curve]
            if row.runs and not curves:
                raise ValueError(f"row {row.name!r} was stored without its curves")
            points = range(min(map(len, curves), default=0))
            every = row.runs[0].every if row.runs else 1
            out[row.name] = {(i + 1) * every: spread_of([curve[i] for curve in curves]) for i in points}
        return out

    def _ends(self) -> dict[str, dict[float, tuple[float, float]]]:
        alive = {
            name: {rate: runs for rate, runs in row.tried.items() if not any(run.diverged for run in runs)}
            for name, row in self.rows.items()
        }
        return {
            name: {rate: spread_of([run.value for run in runs]) for rate, runs in tried.items()}
            for name, tried in alive.items()
        }

    def as_dict(self) -> dict[str, Any]:
        """Return all that a file should keep; curves at the best rates only."""
        judge = {"goal": self.goal, "level": self.level, "flat": self.flat}
        common = shared({name: row.settings for name, row in self.rows.items()})
        rows = {
            name: {
                "settings": {key: x for key, x in row.settings.items() if key not in common},
                "rate": row.rate,
                "control": row.control,
                "edge": row.edge,
                "tried": {
                    f"{rate:g}": [
                        run.as_dict(level=self.level, goal=self.goal, curve=rate == row.rate) for run in runs
                    ]
                    for rate, runs in sorted(row.tried.items())
                },
            }
            for name, row in self.rows.items()
        }
        head = {"measure": self.measure, "how": self.how, "settings": common}
        return judge | head | {"rows": rows}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Comparison:
        """Return the comparison that `as_dict` wrote."""
        judge = {key: stored[key] for key in ("goal", "level", "flat")}
        rows = {}
        for name, row in stored["rows"].items():
            tried = {float(rate): [Run.from_dict(run) for run in runs] for rate, runs in row["tried"].items()}
            own = stored["settings"] | row["settings"]
            rows[name] = Row(name, row["rate"], tried, row["control"], row["edge"], **judge, settings=own)
        return cls(rows, stored["measure"], stored["how"], **judge)


def note(parts: Sequence[Comparison], but: Sequence[str] = ()) -> str:
    """Return the line under a table of several comparisons, or of one: all that their rows were given.

    A name that several of them use for a row stands for all of these rows.

    Args:
        parts: the comparisons.
        but: settings that the names of the rows tell already.
    """
    rows = [row for part in parts for row in part.rows.values()]
    every = sorted({run.every for row in rows for run in row.runs if run.curve})
    rates, seeds = ([*map(len, these)] for these in ([row.tried for row in rows], [row.runs for row in rows]))
    tried = [len(runs) for row in rows for rate, runs in row.tried.items() if rate != row.rate]
    given = [(row.name, {key: x for key, x in row.settings.items() if key not in but}) for row in rows]
    by = f" tried by {_seeds(tried)}" if tried and max(seeds) > 1 else ""
    chosen = dict.fromkeys(part.how for part in parts if part.how)
    said = [", ".join([f"{_range(rates)} learning rates a row{by}", *chosen])]
    said.append(f"{_seeds(seeds)}, mean ± standard deviation" if max(seeds) > 1 else "one seed")
    if every:
        unit = "epoch" if any("epochs" in row.settings for row in rows) else "step"
        apart = unit if every == [1] else f"{_range(every)} {unit}s"
        said.append(f"looked at every {apart}")
    what = counted(given)
    sentences = [", ".join(tell(given)), "; ".join(said), f"counted: {what}" * bool(what)]
    return " ".join(f"{text[0].upper()}{text[1:]}." for text in sentences if text)


def _range(counts: Sequence[int]) -> str:
    least, most = min(counts), max(counts)
    return str(least) if least == most else f"{least} to {most}"


def _seeds(counts: Sequence[int]) -> str:
    return "one seed" if max(counts) == 1 else f"{_range(counts)} seeds"
