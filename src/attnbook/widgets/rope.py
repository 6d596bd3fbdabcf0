"""A query and a key on a line of positions, and the angle between them, pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import traitlets
from torch import Tensor

from attnbook.tables import table_of
from attnbook.widgets.figure import STATIC, Figure, matrix_of
from attnlab.positions import rotary, sinusoidal

SCHEMES = ("rotary", "sinusoidal")
LAST = 31
"""The line of positions goes from 0 to this."""
QUERY = [1.1, 0.5, -0.5, 1.1, 1.0, -1.0, 1.3, 0.5]
KEY = [0.8, -0.9, 0.8, 0.9, 0.3, -1.4, 1.2, -0.6]


class RopeDial(Figure):
    """Shift a query and a key along a line, together or alone, and watch the arrows of their pairs.

    Each pair of entries of a vector is an arrow. RoPE turns the arrows of query and key, each by its own
    position times the speed of the pair; sinusoids are added to them (as if W_q and W_k were the identity).

    Args:
        scheme: "rotary" or "sinusoidal".
        q: the query before any position, an even number of entries.
        k: the key, as many.
        m: position of the query, 0 to 31.
        n: position of the key, 0 to 31.
        pair: which pair the large dial shows, from 0, the fastest.
        words: whose query and key they are.
        base: the speeds are base to the power -2i/d.

    Raises:
        ValueError: an argument does not fit; the message names it.

    >>> near, far = RopeDial(m=3, n=2), RopeDial(m=30, n=29)
    >>> torch.allclose(near.angles, far.angles), abs(near.score - far.score) < 1e-12
    (True, True)
    """

    _esm = STATIC / "rope.js"
    name = "rope"
    state = ("scheme", "words", "q", "k", "base", "m", "n", "pair")
    scheme = traitlets.Unicode("rotary").tag(sync=True)
    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    q = traitlets.List(traitlets.Float()).tag(sync=True)
    k = traitlets.List(traitlets.Float()).tag(sync=True)
    base = traitlets.Float(100.0).tag(sync=True)
    m = traitlets.Int(12).tag(sync=True)
    n = traitlets.Int(9).tag(sync=True)
    pair = traitlets.Int(0).tag(sync=True)

    def __init__(
        self,
        scheme: str = "rotary",
        q: Any = None,
        k: Any = None,
        *,
        m: int = 12,
        n: int = 9,
        pair: int = 0,
        words: Sequence[str] = ("saw", "a"),
        base: float = 100.0,
    ) -> None:
        if scheme not in SCHEMES:
            raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}; got {scheme!r}")
        vectors = matrix_of("q and k", [list(QUERY if q is None else q), list(KEY if k is None else k)])
        if vectors.shape[1] % 2:
            raise ValueError(f"q and k must have an even number of entries, got {vectors.shape[1]}")
        if len(words) != 2:
            raise ValueError(f"words must name the query's word and the key's, got {list(words)}")
        if not base > 0:
            raise ValueError(f"base must be positive, got {base}")
        for name, value, end in (("m", m, LAST), ("n", n, LAST), ("pair", pair, vectors.shape[1] // 2 - 1)):
            if not 0 <= value <= end:
                raise ValueError(f"{name} must be from 0 to {end}, got {value}")
        q, k = vectors.tolist()
        super().__init__(scheme=scheme, words=list(words), q=q, k=k, base=base, m=m, n=n, pair=pair)

    def placed(self, vector: Sequence[float]) -> Tensor:
        """Return a vector at every position of the line.

        Args:
            vector: its entries before any position, as `q` or `k`.

        Returns:
            (32, d), float64.
        """
        rows = matrix_of("vector", [list(vector)]).expand(LAST + 1, -1)
        if self.scheme == "rotary":
            return rotary(rows, base=self.base)
        return rows + sinusoidal(LAST + 1, rows.shape[1], base=self.base, dtype=torch.float64)

    @property
    def angles(self) -> Tensor:
        """The angle from query to key in each pair, counter-clockwise, in radians (d/2,), float64."""
        (a, b), (c, d) = (t.view(-1, 2).T for t in (self.placed(self.q)[self.m], self.placed(self.k)[self.n]))
        return torch.atan2(a * d - b * c, a * c + b * d)

    @property
    def parts(self) -> Tensor:
        """What each pair adds to the score (d/2,), float64."""
        both = self.placed(self.q)[self.m] * self.placed(self.k)[self.n]
        return both.view(-1, 2).sum(-1) / len(self.q) ** 0.5

    @property
    def score(self) -> float:
        """The score as the figure stands now: the sum of the parts."""
        return float(self.parts.sum())

    @property
    def curve(self) -> Tensor:
        """The score with the key at each position, the query where it stands (32,), float64."""
        return self.placed(self.k) @ self.placed(self.q)[self.m] / len(self.q) ** 0.5

    def table(self) -> str:
        """Return the pairs with their speeds, angles and parts, and the score over the key's position."""
        speeds = [self.base ** (-2 * i / len(self.q)) for i in range(len(self.q) // 2)]
        columns = zip(speeds, self.angles.tolist(), self.parts.tolist(), strict=True)
        pairs = [[f"{i}", *(f"{value:.4f}" for value in row)] for i, row in enumerate(columns, 1)]
        scores = [[f"{p}", f"{score:.4f}"] for p, score in enumerate(self.curve.tolist())]
        return table_of(["pair", "speed", "angle", "part of the score"], pairs) + table_of(
            ["key at", "score"], scores
        )

    def caption(self) -> str:
        """Return one sentence that says what the figure shows."""
        return "A query and a key at their places, pair by pair, and their score."
