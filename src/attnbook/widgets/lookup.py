"""Soft lookup in the plane: a query, keys that are values too, and the weighted mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import traitlets
from torch import Tensor

from attnbook.tables import table_of
from attnbook.widgets.figure import STATIC, Figure, matrix_of
from attnlab import scores

SCORES = ("dot", "distance")
WEIGHTS = {
    "softmax": scores.softmax,
    "sparsemax": scores.sparsemax,
    "relu": scores.relu,
    "none": lambda z: z,
}


class SoftLookup(Figure):
    """Drag a query and keys in the plane, and see how the weighted mean of the values follows.

    Args:
        values: points (n, 2), between -3 and 3; keys and values at once.
        names: the n names of the points.
        query: the query's point.
        score: "dot", or "distance" for minus half the squared distance.
        weights: how scores become weights: "softmax", "sparsemax", "relu" or "none".
        temperature: divides the scores.

    Raises:
        ValueError: an argument does not fit; the message names it.

    >>> figure = SoftLookup([[1.0, 0.0], [-1.0, 0.0]], ["I", "saw"], query=(0.0, 1.0))
    >>> figure.output.tolist()
    [0.0, 0.0]
    """

    _esm = STATIC / "lookup.js"
    name = "lookup"
    state = ("query", "values", "names", "score", "weights", "temperature")
    query = traitlets.List().tag(sync=True)
    values = traitlets.List().tag(sync=True)
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    score = traitlets.Unicode("dot").tag(sync=True)
    weights = traitlets.Unicode("softmax").tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)

    def __init__(
        self,
        values: Any,
        names: Sequence[str],
        *,
        query: Sequence[float] = (1.0, 1.0),
        score: str = "dot",
        weights: str = "softmax",
        temperature: float = 1.0,
    ) -> None:
        points, asked = matrix_of("values", values), matrix_of("query", [list(query)])
        for what, matrix in (("values", points), ("query", asked)):
            if matrix.shape[1] != 2 or matrix.abs().max() > 3:
                raise ValueError(f"{what} must be points (x, y) between -3 and 3, got {matrix.tolist()}")
        if len(names) != len(points):
            raise ValueError(f"names must name the {len(points)} values, got {len(names)} names")
        if score not in SCORES:
            raise ValueError(f"score must be one of {', '.join(SCORES)}; got {score!r}")
        if weights not in WEIGHTS:
            raise ValueError(f"weights must be one of {', '.join(WEIGHTS)}; got {weights!r}")
        if not temperature > 0:
            raise ValueError(f"temperature must be positive, got {temperature}")
        super().__init__(
            values=points.tolist(),
            names=list(names),
            query=asked[0].tolist(),
            score=score,
            weights=weights,
            temperature=temperature,
        )

    def numbers(self) -> tuple[Tensor, Tensor]:
        """Return scores and weights as the figure stands now, (n,) each, float64."""
        query, values = matrix_of("query", [self.query])[0], matrix_of("values", self.values)
        raw = values @ query if self.score == "dot" else -(values - query).square().sum(-1) / 2
        return raw, WEIGHTS[self.weights](raw / self.temperature)

    @property
    def output(self) -> Tensor:
        """The weighted sum of the values as the figure stands now, (2,), float64."""
        return self.numbers()[1] @ matrix_of("values", self.values)

    def table(self) -> str:
        """Return every point with its score and weight, and the output."""
        raw, weights = self.numbers()
        points = zip(self.names, self.values, raw.tolist(), weights.tolist(), strict=True)
        rows = [["query", *(f"{x:.2f}" for x in self.query), "", ""]]
        rows += [[name, f"{x:.2f}", f"{y:.2f}", f"{s:.4f}", f"{w:.4f}"] for name, (x, y), s, w in points]
        rows.append(
            ["output", *(f"{x:.4f}" for x in self.output.tolist()), "", f"{weights.sum().item():.4f}"]
        )
        return table_of(["point", "x", "y", "score", "weight"], rows)

    def caption(self) -> str:
        """Return one sentence that says what the figure shows."""
        return "A query among the words, and what it hears of them."
