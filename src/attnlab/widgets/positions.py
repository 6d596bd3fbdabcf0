"""Two tokens on a line, a sentence to shuffle, and six ways to tell attention the order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import traitlets
from torch import Tensor

from attnlab.dot_product import attention
from attnlab.positions import rotary, sinusoidal
from attnlab.tables import table_of
from attnlab.widgets.figure import STATIC, Figure, matrix_of

SCHEMES = ("none", "sinusoidal", "learned", "rotary", "alibi", "relative")
LAST = 31
"""The line of positions goes from 0 to this."""
FAR = 12
"""The curve shows distances from -FAR to FAR."""
WORDS = {"I": [-0.7, 0.6, 0.1, -0.8], "saw": [0.7, -0.1, -0.4, -1.8], "a": [1.0, 0.1, 1.0, 0.0]}
W_Q = [[0.0, 0.6, 1.7, -0.4], [-0.1, 0.9, -1.0, -0.2], [-0.3, 0.0, 0.6, -0.7], [0.5, 0.9, -0.4, -1.1]]
W_K = [[1.1, -0.1, 0.3, 0.4], [-0.7, 0.7, -1.1, -1.3], [0.0, -1.1, 0.0, 0.4], [1.2, -0.2, 0.1, -0.2]]
W_V = [[0.7, 1.4], [0.8, 1.1], [-0.1, 0.2], [1.6, 0.7]]
RELATIVE = [-0.8, -0.6, -0.2, 1.6, 0.3, 0.7, -0.1, -0.4, -0.5]
"""A bias for each distance from -4 to 4; farther ones share the ends."""


class PositionsLab(Figure):
    """Shift a query and a key along the line of positions, and shuffle a sentence, under six schemes.

    The head is small: words of width 4, queries and keys of width 4, values of width 2. "learned" is a table
    drawn at random and not trained.

    Args:
        scheme: "none", "sinusoidal", "learned", "rotary", "alibi" or "relative".
        tokens: the words of the sentence.
        x: their embeddings (n, 4); the book's own for "I", "saw" and "a" unless given.
        asks: which token the query belongs to, from 0.
        answers: which token the key belongs to, from 0.
        m: position of the query, 0 to 31.
        n: position of the key, 0 to 31.
        order: which token stands at each place of the sentence; as given unless given.

    Raises:
        ValueError: an argument does not fit; the message names it.

    >>> round(PositionsLab("rotary", m=3, n=2).score - PositionsLab("rotary", m=30, n=29).score, 12)
    0.0
    """

    _esm = STATIC / "positions.js"
    name = "positions"
    state = ("scheme", "tokens", "x", "wq", "wk", "wv", "learned", "relative", "slope", "base")
    state += ("asks", "answers", "m", "n", "order")
    scheme = traitlets.Unicode("none").tag(sync=True)
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    x = traitlets.List().tag(sync=True)
    wq = traitlets.List(W_Q).tag(sync=True)
    wk = traitlets.List(W_K).tag(sync=True)
    wv = traitlets.List(W_V).tag(sync=True)
    learned = traitlets.List().tag(sync=True)
    relative = traitlets.List(RELATIVE).tag(sync=True)
    slope = traitlets.Float(0.5).tag(sync=True)
    base = traitlets.Float(100.0).tag(sync=True)
    asks = traitlets.Int(3).tag(sync=True)
    answers = traitlets.Int(2).tag(sync=True)
    m = traitlets.Int(3).tag(sync=True)
    n = traitlets.Int(2).tag(sync=True)
    order = traitlets.List(traitlets.Int()).tag(sync=True)

    def __init__(
        self,
        scheme: str = "none",
        *,
        tokens: Sequence[str] = ("I", "saw", "a", "saw"),
        x: Any = None,
        asks: int = 3,
        answers: int = 2,
        m: int = 3,
        n: int = 2,
        order: Sequence[int] | None = None,
    ) -> None:
        if scheme not in SCHEMES:
            raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}; got {scheme!r}")
        if x is None:
            unknown = [token for token in tokens if token not in WORDS]
            if unknown:
                raise ValueError(f"x must be given for words other than {', '.join(WORDS)}; got {unknown}")
            x = [WORDS[token] for token in tokens]
        rows = matrix_of("x", x)
        if rows.shape != (len(tokens), 4):
            raise ValueError(f"x must have shape (tokens, 4) = ({len(tokens)}, 4), got {tuple(rows.shape)}")
        order = list(range(len(tokens))) if order is None else list(order)
        if sorted(order) != list(range(len(tokens))):
            raise ValueError(f"order must hold each of 0 to {len(tokens) - 1} once, got {order}")
        for name, value, end in (
            ("asks", asks, len(tokens) - 1),
            ("answers", answers, len(tokens) - 1),
            ("m", m, LAST),
            ("n", n, LAST),
        ):
            if not 0 <= value <= end:
                raise ValueError(f"{name} must be from 0 to {end}, got {value}")
        draw = torch.Generator().manual_seed(8)
        table = torch.randn(LAST + 1, 4, generator=draw, dtype=torch.float64).mul(3).round() / 10
        super().__init__(
            scheme=scheme,
            tokens=list(tokens),
            x=rows.tolist(),
            learned=table.tolist(),
            asks=asks,
            answers=answers,
            m=m,
            n=n,
            order=order,
        )

    def scores(self, asks: int, answers: int) -> Tensor:
        """Return the score of one token's query at every position against another's key at every position.

        Args:
            asks: which token asks.
            answers: which token answers.

        Returns:
            Scaled scores with their bias (32, 32), float64.
        """
        x = matrix_of("x", self.x)
        rows = [x[token].expand(LAST + 1, 4) for token in (asks, answers)]
        q, k = self._views(rows[0])[0], self._views(rows[1])[1]
        return q @ k.T / 2 + self._bias(LAST + 1)

    @property
    def score(self) -> float:
        """The score as the figure stands now."""
        return float(self.scores(self.asks, self.answers)[self.m, self.n])

    @property
    def weights(self) -> Tensor:
        """Weights of the sentence in its order (n, n), float64."""
        return self._attend()[1]

    @property
    def output(self) -> Tensor:
        """Output of the sentence in its order (n, 2), float64: row p belongs to the token at place p."""
        return self._attend()[0]

    def _attend(self) -> tuple[Tensor, Tensor]:
        q, k, v = self._views(matrix_of("x", self.x)[self.order])
        return attention(q, k, v, bias=self._bias(len(q)), need_weights=True)

    def _views(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values of words at places 0, 1, 2 and so on."""
        if self.scheme == "sinusoidal":
            x = x + sinusoidal(len(x), 4, base=self.base, dtype=torch.float64)
        if self.scheme == "learned":
            x = x + matrix_of("learned", self.learned)[: len(x)]
        q, k, v = (x @ matrix_of(name, getattr(self, name)) for name in ("wq", "wk", "wv"))
        if self.scheme == "rotary":
            q, k = rotary(q, base=self.base), rotary(k, base=self.base)
        return q, k, v

    def _bias(self, n: int) -> Tensor:
        place = torch.arange(n)
        distance = place - place[:, None]  # of the key from the query
        if self.scheme == "alibi":
            return -self.slope * distance.abs().double()
        if self.scheme == "relative":
            reach = len(self.relative) // 2
            return matrix_of("relative", [self.relative])[0][distance.clamp(-reach, reach) + reach]
        return torch.zeros(n, n, dtype=torch.float64)

    def names(self) -> list[str]:
        """Return the tokens, with a small number where a word stands twice."""
        small = "₁₂₃₄₅₆₇₈₉"
        return [
            token + (small[self.tokens[:at].count(token) % 9] if self.tokens.count(token) > 1 else "")
            for at, token in enumerate(self.tokens)
        ]

    def table(self) -> str:
        """Return the outputs of the sentence in its order, and the curve of scores over the distance."""
        names, labels = self.names(), [*self._starts()]
        rows = [
            [f"{place}", names[token], *(f"{value:.4f}" for value in out)]
            for place, (token, out) in enumerate(zip(self.order, self.output.tolist(), strict=True))
        ]
        scores = self.scores(self.asks, self.answers)
        curve = [
            [f"{d}", *(f"{scores[m, m + d]:.4f}" if 0 <= m + d <= LAST else "" for m in labels)]
            for d in range(-FAR, FAR + 1)
        ]
        return table_of(["place", "token", "output 1", "output 2"], rows) + table_of(
            ["key minus query", *(f"query at {m}" for m in labels)], curve
        )

    def _starts(self) -> list[int]:
        """List the query positions whose curves are shown: the present one first."""
        return [self.m, *(m for m in (0, 10, 21, LAST) if m != self.m)]

    def caption(self) -> str:
        """Return one sentence that says what the figure is for."""
        return "Positions: shift a query and a key along the line, then shuffle the sentence."
