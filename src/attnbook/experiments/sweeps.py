"""The one way in which this book compares trained models: a sweep of learning rates of its own for each."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from tqdm.auto import tqdm

from attnbook.benchmark import store
from attnbook.experiments.comparison import Comparison
from attnbook.experiments.rows import Row
from attnbook.experiments.runs import Goal, Run
from attnbook.experiments.settings import settings_of

Choose = Literal["end", "steps"]
Train = Callable[[float, int], Run]


class Together(Protocol):
    """A candidate that trains several (rate, seed) pairs side by side, which is faster than one by one."""

    def together(self, pairs: Sequence[tuple[float, int]]) -> Sequence[Run]:
        """Return one run for each (rate, seed), in their order."""


Candidate = Train | Together


class EdgeError(ValueError):
    """The best learning rate is the smallest or the largest tried: a better one may lie beyond."""


def around(centre: float, *, factor: float = 2.0, n: int = 5) -> list[float]:
    """Return a grid of learning rates with a common ratio.

    Args:
        centre: the middle of the grid.
        factor: the ratio of neighbours, above 1 and at most 2: a coarser grid can miss what it looks for.
        n: how many, odd and at least 3, so that the centre has neighbours on both sides.

    Raises:
        ValueError: centre is not positive, or factor or n is out of its range.

    >>> around(0.3, n=3)
    [0.15, 0.3, 0.6]
    """
    if not centre > 0:
        raise ValueError(f"centre must be positive, got {centre}")
    if n < 3 or n % 2 == 0:
        raise ValueError(f"n must be odd and at least 3, got {n}")
    if not 1 < factor <= 2:
        raise ValueError(f"factor must be above 1 and at most 2, got {factor}")
    return [_round(centre * factor**k) for k in range(-(n // 2), n // 2 + 1)]


def sweep(
    candidates: Mapping[str, Candidate],
    *,
    rates: Sequence[float] | Mapping[str, Sequence[float]],
    seeds: Iterable[int],
    goal: Goal = "high",
    level: float | None = None,
    choose: Choose = "end",
    tie: float = 0.0,
    flat: float = 0.01,
    widen: int = 4,
    may_end_at_edge: Collection[str] = (),
    controls: Mapping[str, Candidate] | None = None,
    scout: int | None = None,
    measure: str = "end value",
    cache: Path | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: bool = True,
) -> Comparison:
    """Train every candidate over learning rates of its own and several seeds, and keep its best rate.

    The best rate must have worse neighbours on both sides. Where it is the first or the last of its grid, the
    grid grows on that side, `widen` times at most.

    Args:
        candidates: name -> function of (rate, seed) that trains and returns a `Run`; or an object with
            a method `together(pairs)` that trains a list of (rate, seed) side by side.
        rates: a grid with a common ratio of at most 2, as from `around`; or one for each name.
        seeds: the seeds of each rate.
        goal: "high" if more of the curve's numbers is better, "low" if less.
        level: steps are counted until the curve reaches it.
        choose: how the best rate is found. "end": by the mean of `Run.value` over the seeds; among rates
            whose means differ from the best by `tie` at most, by steps to the level. "steps": by how many
            seeds reach the level, then by the mean of their steps, then by the end.
        tie: what counts as an equal end.
        flat: a row whose curves gained more than this over their last quarter is marked as still improving.
        widen: by how many rates a grid may grow on each side.
        may_end_at_edge: rows that may end at the edge of their grid. They are marked, and nothing may be
            concluded from them but what holds at the rates tried.
        controls: candidates in which only the suspected cause differs; printed beside, marked as controls.
        scout: so many seeds try each rate, and the others train at the best rate only; all unless given.
        measure: what `Run.value` is, for the head of the table.
        cache: a JSON file that keeps every finished run, so that an interruption costs one run.
        settings: what the runs depend on beside rate, seed and what the candidates say of themselves
            (`settings.settings_of`), by the names of `settings.WORDS`: for a candidate that is a function.
            All of it is kept, with the rows and in the cache, and a cache with other settings is refused.
        progress: show a bar if it takes more than two seconds.

    Returns:
        A row for each candidate and control: the best rate, its runs, and all that was tried.

    Raises:
        ValueError: an argument does not fit, or the cache was made with other settings.
        EdgeError: the best rate of a row stayed at the edge of its grid.

    >>> def quadratic(rate, seed):  # gradient descent on x²/2 from 1 + seed: best at a rate of 1
    ...     x, curve = 1.0 + seed, []
    ...     for _ in range(8):
    ...         x -= rate * x
    ...         curve.append(x * x / 2)
    ...     return Run(curve)
    >>> found = sweep({"descent": quadratic}, rates=around(0.25, n=3), seeds=range(2), goal="low", level=0.01)
    >>> found["descent"].rate, found["descent"].steps()
    (1.0, (1.0, 0.0))
    """
    controls, seeds = dict(controls or {}), list(dict.fromkeys(seeds))
    _check(candidates, controls, seeds, goal, choose, scout)
    judge = {"goal": goal, "level": level, "flat": flat}
    everyone = {**candidates, **controls}
    given = {name: dict(settings or {}) | settings_of(candidate) for name, candidate in everyone.items()}
    kept, rows = _Kept(cache, given), {}
    grids = {name: _grid(rates[name] if isinstance(rates, Mapping) else rates, name) for name in everyone}
    with tqdm(total=0, disable=not progress, unit="run", delay=2) as bar:
        for name, candidate in everyone.items():
            grid, room, tried = grids[name], {"lower": widen, "upper": widen}, {}
            factor = (grid[-1] / grid[0]) ** (1 / (len(grid) - 1))
            while True:
                kept.train(name, candidate, grid, seeds[:scout], bar)
                tried = {rate: kept.of(name, rate, seeds[:scout]) for rate in grid}
                best = choose_rate(tried, goal=goal, level=level, choose=choose, tie=tie)
                side = {grid[0]: "lower", grid[-1]: "upper"}.get(best)
                if side is None or not room[side]:
                    break
                room[side] -= 1
                more = _round(best * factor if side == "upper" else best / factor)
                grid = [more, *grid] if side == "lower" else [*grid, more]
            if best is not None:
                kept.train(name, candidate, [best], seeds, bar)
                tried[best] = kept.of(name, best, seeds)
            edge = side is not None
            row = Row(name, best, tried, control=name in controls, edge=edge, **judge, settings=given[name])
            if edge and name not in may_end_at_edge:
                raise EdgeError(
                    f"the best rate of {name!r}, {best:g}, is the {side} edge of its grid, {grid[0]:g} to "
                    f"{grid[-1]:g}: give rates beyond it, a larger widen, or name the row in may_end_at_edge "
                    "and conclude nothing from it"
                )
            rows[name] = row
    how = f"the best by {_HOW[choose]}" + (f", ends within {tie:g} counting as equal" if tie else "")
    return Comparison(rows, measure=measure, how=how, **judge)


_HOW = {"end": "their mean end", "steps": "the steps to the level"}


def choose_rate(
    tried: Mapping[float, Sequence[Run]], *, goal: Goal, level: float | None, choose: Choose, tie: float = 0.0
) -> float | None:
    """Return the best rate by a named criterion; a rate at which a run diverged loses to any other.

    Args:
        tried: rate -> its runs, the same number for each.
        goal: as in `sweep`, like the other arguments.
        level: steps are counted until the curve reaches it.
        choose: "end" or "steps".
        tie: what counts as an equal end.

    Returns:
        The rate; None if at every rate a run diverged.

    >>> ends = {0.1: [Run([0.9])], 0.2: [Run([1.0])], 0.4: [Run([float("nan")])]}
    >>> choose_rate(ends, goal="high", level=None, choose="end")
    0.2
    """
    sign = 1 if goal == "high" else -1
    alive = {rate: runs for rate, runs in tried.items() if not any(run.diverged for run in runs)}
    if not alive:
        return None
    end = {rate: sign * math.fsum(run.value for run in runs) / len(runs) for rate, runs in alive.items()}

    def quick(rate: float) -> tuple[int, float]:
        steps = [run.steps_to(level, goal) for run in alive[rate]]
        arrived = [step for step in steps if step is not None]
        return len(arrived), -math.fsum(arrived) / max(len(arrived), 1)

    if choose == "steps":
        return max(alive, key=lambda rate: (*quick(rate), end[rate]))
    equal = [rate for rate in alive if end[rate] >= max(end.values()) - tie]
    return max(equal, key=lambda rate: (*quick(rate), end[rate]))


class _Kept:
    """The finished runs, in memory and, if wanted, in a file that is written whole or not at all."""

    def __init__(self, path: Path | None, settings: Mapping[str, Mapping[str, Any]]) -> None:
        self.path, self.runs = path, {}
        # What JSON gives back: a tuple would never equal its list.
        self.settings = json.loads(json.dumps(settings))
        if path is not None and path.exists():
            found = json.loads(path.read_text())
            for name in {key.split(" | rate ")[0] for key in found["runs"]} & set(self.settings):
                if (old := found["settings"].get(name)) != self.settings[name]:
                    raise ValueError(
                        f"cache {path} holds runs of {name!r} with the settings {old}, got "
                        f"{self.settings[name]}: give another file, or delete it"
                    )
            self.settings = found["settings"] | self.settings
            self.runs = {key: Run.from_dict(run) for key, run in found["runs"].items()}

    def of(self, name: str, rate: float, seeds: Sequence[int]) -> list[Run]:
        return [self.runs[_key(name, rate, seed)] for seed in seeds]

    def train(
        self, name: str, candidate: Candidate, rates: Sequence[float], seeds: Sequence[int], bar: tqdm
    ) -> None:
        pairs = [(r, seed) for r in rates for seed in seeds if _key(name, r, seed) not in self.runs]
        bar.total += len(pairs)
        bar.set_description(name)
        for runs in _train(name, candidate, pairs):
            self.runs |= {_key(name, rate, seed): run for (rate, seed), run in runs}
            bar.update(len(runs))
            if self.path is not None:
                whole = {key: run.as_dict(level=None, goal="high") for key, run in self.runs.items()}
                store(self.path, {"settings": self.settings, "runs": whole})


def train_pairs(
    name: str, candidate: Candidate, pairs: Sequence[tuple[float, int]], *, progress: bool = True
) -> list[Run]:
    """Train one candidate at pairs of (rate, seed) and return a run for each, in their order."""
    done: list[Run] = []
    with tqdm(total=len(pairs), desc=name, disable=not progress, unit="run", delay=2) as bar:
        for runs in _train(name, candidate, pairs):
            done += [run for _, run in runs]
            bar.update(len(runs))
    return done


def _train(
    name: str, candidate: Candidate, pairs: Sequence[tuple[float, int]]
) -> Iterator[list[tuple[tuple[float, int], Run]]]:
    at_once = hasattr(candidate, "together")
    for batch in [pairs] if at_once and pairs else [[pair] for pair in pairs]:
        runs = candidate.together(batch) if at_once else [candidate(*batch[0])]
        for run in runs:
            if not isinstance(run, Run):
                raise ValueError(f"candidate {name!r} must return a Run, got {type(run).__name__}")
        yield list(zip(batch, runs, strict=True))


def _key(name: str, rate: float, seed: int) -> str:
    return f"{name} | rate {rate:g} | seed {seed}"


def _round(rate: float) -> float:
    return float(f"{rate:.4g}")


def _grid(rates: Sequence[float], name: str) -> list[float]:
    grid = [float(rate) for rate in rates]
    if len(grid) < 3 or min(grid) <= 0:
        raise ValueError(f"rates of {name!r} must be at least 3 positive numbers, got {grid}")
    ratios = [b / a for a, b in itertools.pairwise(grid)]
    if min(ratios) <= 1 or max(ratios) > 2.01 or max(ratios) > 1.05 * min(ratios):
        raise ValueError(f"rates of {name!r} must rise by a common ratio of at most 2, got {grid}")
    return [_round(rate) for rate in grid]


def _check(
    candidates: Mapping, controls: Mapping, seeds: Sequence[int], goal: str, choose: str, scout: int | None
) -> None:
    if not candidates:
        raise ValueError("candidates must name at least one, got none")
    if set(candidates) & set(controls):
        raise ValueError(
            f"controls must have names of their own, got {sorted(set(candidates) & set(controls))}"
        )
    if not seeds or not 1 <= (scout or 1) <= len(seeds):
        raise ValueError(f"seeds must be at least one, and scout at most their number, got {seeds}, {scout}")
    if goal not in ("high", "low"):
        raise ValueError(f"goal must be 'high' or 'low', got {goal!r}")
    if choose not in _HOW:
        raise ValueError(f"choose must be 'end' or 'steps', got {choose!r}")
