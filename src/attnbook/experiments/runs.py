"""One training run: what was watched, how it ended, and whether its end means anything."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Goal = Literal["high", "low"]
"""Whether more is better (a share of right answers) or less (a loss)."""


@dataclass(frozen=True)
class Run:
    """What one training run left behind.

    Args:
        curve: what was watched while it trained, on data that it does not learn from: point i stands for step
            (i + 1) · `every`. A number that is not finite says that the run diverged.
        every: steps between two points.
        value: the number by which a learning rate is chosen; the mean of the last tenth of the curve unless
            given. It comes from development data, never from the test set.
        extras: other numbers, as the accuracy on the test set or the seconds: shown, never chosen by.
        steps: the step at which a level was reached, for a run that is stored without its curve.

    Raises:
        ValueError: there is neither a curve nor a value, or `every` is smaller than 1.

    >>> run = Run([0.2, 0.7, 0.95, 0.97], every=10)
    >>> run.value, run.steps_to(0.9, "high"), run.diverged
    (0.97, 30, False)
    >>> Run([0.2, float("nan")]).diverged
    True
    """

    curve: Sequence[float] = ()
    every: int = 1
    value: float | None = None
    extras: Mapping[str, float] = field(default_factory=dict)
    steps: int | None = None

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError(f"every must be at least 1, got {self.every}")
        if self.value is None:
            if not self.curve:
                raise ValueError("a run needs a curve or a value, got neither")
            last = self.curve[-math.ceil(len(self.curve) / 10) :]
            object.__setattr__(self, "value", math.fsum(last) / len(last))

    @property
    def diverged(self) -> bool:
        """Whether a number of the curve, or the end, is not finite."""
        return not all(map(math.isfinite, (self.value, *self.curve)))

    def steps_to(self, level: float | None, goal: Goal) -> int | None:
        """Return the first step at which the curve has reached the level; None if it never does."""
        if level is None or not self.curve:
            return self.steps
        reached = (at for at, y in enumerate(self.curve, 1) if (y >= level if goal == "high" else y <= level))
        first = next(reached, None)
        return None if first is None else first * self.every

    def gain(self, goal: Goal) -> float:
        """Return by how much the last quarter of the curve is better than the quarter before it.

        NaN for a curve of less than two points, which tells nothing.
        """
        size = max(len(self.curve) // 4, 1)
        if len(self.curve) < 2:
            return math.nan
        before, last = self.curve[-2 * size : -size], self.curve[-size:]
        return (math.fsum(last) / size - math.fsum(before) / size) * (1 if goal == "high" else -1)

    def as_dict(self, *, level: float | None, goal: Goal, curve: bool = True) -> dict[str, Any]:
        """Return what JSON can hold: None for what is not finite, six digits, a curve if wanted."""
        return {
            "value": _plain(self.value),
            "steps": self.steps_to(level, goal),
            "every": self.every,
            "curve": [_plain(y) for y in self.curve] if curve else [],
            "extras": {name: _plain(x) for name, x in self.extras.items()},
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Run:
        """Return the run that `as_dict` wrote."""
        return cls(
            curve=[_number(y) for y in stored["curve"]],
            every=stored["every"],
            value=_number(stored["value"]),
            extras={name: _number(x) for name, x in stored["extras"].items()},
            steps=stored["steps"],
        )


def _plain(x: float) -> float | None:
    return float(f"{x:.6g}") if math.isfinite(x) else None


def _number(x: float | None) -> float:
    return math.nan if x is None else float(x)
