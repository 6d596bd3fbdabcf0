"""Online softmax: one query's weighted mean, tile by tile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
import traitlets

from attnbook.tables import table_of
from attnbook.widgets.figure import STATIC, Figure, matrix_of

TILES = (1, 2, 3, 4, 6, 12)
SHIFTS = (0, 80, 1000, -1000)
LIMIT = 4.0


class Step(NamedTuple):
    """What is held after a tile: three numbers, what the old sums were multiplied by, and the quotient."""

    keys: str
    largest: float
    correction: float
    powers: float
    total: float
    output: float


class OnlineSoftmax(Figure):
    """Go through the scores of one query tile by tile, and reach the same output as all at once.

    Args:
        scores: 2 to 12 scores between -4 and 4.
        values: a number for each score.
        tile: scores that are looked at together: 1, 2, 3, 4, 6 or 12.
        step: tiles that have come in so far; none unless given.
        shift: added to every score: 0, 80, 1000 or -1000.
        rescale: whether the largest score so far is subtracted; without it the exponentials are taken in
            single precision as they are.

    Every argument is a trait: `figure.scores` are the scores as a reader has dragged them, `figure.step`
    counts the tiles that came in.

    Raises:
        ValueError: an argument does not fit; the message names it.

    >>> figure = OnlineSoftmax([0.0, 1.0, 3.0], [1.0, 2.0, 3.0], tile=2)
    >>> [round(step.output, 4) for step in figure.steps()], round(figure.output, 4)
    ([1.7311, 2.8018], 2.8018)
    """

    _esm = STATIC / "online.js"
    name = "online"
    state = ("scores", "values", "tile", "step", "shift", "rescale")
    scores = traitlets.List().tag(sync=True)
    values = traitlets.List().tag(sync=True)
    tile = traitlets.Int(4).tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)
    shift = traitlets.Int(0).tag(sync=True)
    rescale = traitlets.Bool(True).tag(sync=True)

    def __init__(
        self,
        scores: Sequence[float],
        values: Sequence[float],
        *,
        tile: int = 4,
        step: int = 0,
        shift: int = 0,
        rescale: bool = True,
    ) -> None:
        rows = {
            name: matrix_of(name, [list(row)])[0] for name, row in (("scores", scores), ("values", values))
        }
        n = len(rows["scores"])
        if not 2 <= n <= 12 or rows["scores"].abs().max() > LIMIT:
            raise ValueError(
                f"scores must be 2 to 12 numbers between -4 and 4, got {rows['scores'].tolist()}"
            )
        if len(rows["values"]) != n:
            raise ValueError(f"values must be {n} numbers, one for each score, got {len(rows['values'])}")
        for name, value, allowed in (("tile", tile, TILES), ("shift", shift, SHIFTS)):
            if value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(str, allowed))}, got {value}")
        if step < 0:
            raise ValueError(f"step must be 0 or larger, got {step}")
        super().__init__(
            scores=rows["scores"].tolist(),
            values=rows["values"].tolist(),
            tile=tile,
            step=step,
            shift=shift,
            rescale=rescale,
        )

    def steps(self) -> list[Step]:
        """Return what is held after each tile."""
        # Without rescaling single precision is the point: there the powers overflow.
        dtype = torch.float64 if self.rescale else torch.float32
        scores = (torch.tensor(self.scores, dtype=torch.float64) + self.shift).to(dtype)
        values = torch.tensor(self.values, dtype=dtype)
        largest, total, powers = -math.inf if self.rescale else 0.0, torch.zeros((), dtype=dtype), 0.0
        steps, first = [], 1
        for s, v in zip(scores.split(self.tile), values.split(self.tile), strict=True):
            new = max(largest, s.max().item()) if self.rescale else 0.0
            correction, e = math.exp(largest - new), (s - new).exp()
            total, powers = total * correction + e @ v, powers * correction + e.sum()
            largest, last = new, first + len(s) - 1
            keys = f"{first}–{last}" if len(s) > 1 else str(last)
            numbers = powers.item(), total.item(), (total / powers).item()
            steps.append(Step(keys, largest, correction, *numbers))
            first = last + 1
        return steps

    @property
    def output(self) -> float:
        """The weighted mean from the whole row at once."""
        scores = torch.tensor(self.scores, dtype=torch.float64) + self.shift
        return (scores.softmax(-1) @ torch.tensor(self.values, dtype=torch.float64)).item()

    def table(self) -> str:
        """Return what is held after each tile, and the output of all at once, whatever has been played."""
        rows = []
        for number, one in enumerate(self.steps(), start=1):
            kept = (_shown(one.largest), _shown(one.correction)) if self.rescale else ("not kept", "none")
            rows.append([str(number), one.keys, *kept, *map(_shown, (one.powers, one.total, one.output))])
        largest, keys = _shown(max(self.scores) + self.shift), f"1–{len(self.scores)}"
        rows.append(["all at once", keys, largest, "", "", "", _shown(self.output)])
        kept = ["largest score", "correction", "sum of powers", "weighted sum"]
        return table_of(["tile", "keys", *kept, "output so far"], rows)

    def caption(self) -> str:
        """Return one sentence that says what the figure shows."""
        return "Online softmax: what one query holds, tile by tile."


def _shown(x: float) -> str:
    if not math.isfinite(x):
        return "NaN" if math.isnan(x) else "∞" if x > 0 else "−∞"
    text = f"{x:.3e}" if x and not 1e-3 <= abs(x) < 1e5 else f"{x:.4f}"
    mantissa, _, power = text.partition("e")
    return (f"{mantissa}e{int(power):+d}" if power else text).replace("-", "−")
