"""A sentence to shuffle, and six ways to tell attention the order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import traitlets
from torch import Tensor

from attnbook.tables import table_of
from attnbook.widgets.figure import STATIC, Figure, flag, matrix_of
from attnlab.dot_product import attention
from attnlab.positions import rotary, sinusoidal

SCHEMES = ("none", "sinusoidal", "learned", "rotary", "alibi", "relative")
LONGEST = 8
WORDS = {"I": [-1.5, -1.5, 1.2, -0.5], "saw": [-0.1, 0.8, -1.1, -1.6], "a": [1.1, 1.1, -0.4, 1.2]}
W_Q = [[-1.1, -0.7, -0.8, 0.2], [0.0, 0.4, 0.4, -0.8], [-1.6, 0.3, 0.4, 0.6], [-1.3, 0.0, -0.1, -0.4]]
W_K = [[0.7, 0.6, -0.3, 0.2], [-1.1, 0.2, -0.4, 0.9], [0.1, -1.1, -0.6, -0.4], [0.7, -0.6, 1.1, 1.1]]
W_V = [[-1.3, 0.4], [0.0, 0.8], [0.1, -0.4], [-0.5, -0.2]]
LEARNED = [
    [0.0, 0.7, 0.0, -0.2],
    [0.2, -0.3, 0.1, 0.8],
    [1.1, -0.3, 0.2, -0.2],
    [0.2, 1.2, -0.5, -0.4],
    [-0.6, 0.1, 0.4, 0.3],
    [0.5, -0.8, -0.1, 0.6],
    [-0.3, 0.4, 0.9, -0.7],
    [0.8, 0.2, -0.4, 0.5],
]
RELATIVE = [-0.8, -0.6, -0.2, 1.6, 0.3, 0.7, -0.1, -0.4, -0.5]
"""A bias for each distance from -4 to 4; farther ones share the ends."""


class PositionsLab(Figure):
    """Drag the words of a sentence to other places, and see what becomes of their outputs under six schemes.

    The head is small: words of width 4, queries and keys of width 4, values of width 2. Nothing in it was
    trained: "learned" is a table as drawn, "relative" a bias that was made up.

    Args:
        scheme: "none", "sinusoidal", "learned", "rotary", "alibi" or "relative".
        tokens: the words of the sentence, 8 at most.
        x: their embeddings (n, 4); the book's own for "I", "saw" and "a" unless given.
        order: which token stands at each place of the sentence; as given unless given.
        base: of rotary and sinusoidal positions, at least 1; of a larger one the second pair turns less.
        only: whether there is a sentence to shuffle, with rotary positions or with none, and nothing else.

    Raises:
        TypeError: only is not a bool.
        ValueError: an argument does not fit; the message names it.

    >>> figure = PositionsLab("none", order=[3, 1, 0, 2])
    >>> round(figure.change.max().item(), 12), figure.names()[3]
    (0.0, 'saw₂')
    """

    _esm = STATIC / "positions.js"
    name = "positions"
    state = ("scheme", "tokens", "x", "wq", "wk", "wv", "learned", "relative", "slope", "base", "order")
    scheme = traitlets.Unicode("none").tag(sync=True)
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    x = traitlets.List().tag(sync=True)
    wq = traitlets.List(W_Q).tag(sync=True)
    wk = traitlets.List(W_K).tag(sync=True)
    wv = traitlets.List(W_V).tag(sync=True)
    learned = traitlets.List(LEARNED).tag(sync=True)
    relative = traitlets.List(RELATIVE).tag(sync=True)
    slope = traitlets.Float(0.5).tag(sync=True)
    base = traitlets.Float(100.0).tag(sync=True)
    order = traitlets.List(traitlets.Int()).tag(sync=True)
    only = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        scheme: str = "none",
        *,
        tokens: Sequence[str] = ("I", "saw", "a", "saw"),
        x: Any = None,
        order: Sequence[int] | None = None,
        base: float = 100.0,
        only: bool = False,
    ) -> None:
        known = ("none", "rotary") if flag("only", only) else SCHEMES
        if scheme not in known:
            raise ValueError(f"scheme must be one of {', '.join(known)}; got {scheme!r}")
        if not 1 <= len(tokens) <= LONGEST:
            raise ValueError(f"tokens must be 1 to {LONGEST} words, got {len(tokens)}")
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
        if base < 1:
            raise ValueError(f"base must be at least 1, got {base}")
        super().__init__(
            scheme=scheme, tokens=list(tokens), x=rows.tolist(), order=order, base=float(base), only=only
        )

    @property
    def weights(self) -> Tensor:
        """Weights of the sentence in its order (n, n), float64."""
        return self._attend(self.order)[1]

    @property
    def output(self) -> Tensor:
        """Output of the sentence in its order (n, 2), float64: row p belongs to the token at place p."""
        return self._attend(self.order)[0]

    @property
    def change(self) -> Tensor:
        """How far each output is from that of the same token in the sentence as written (n,), float64."""
        written = self._attend(list(range(len(self.tokens))))[0]
        return (self.output - written[self.order]).norm(dim=-1)

    def _attend(self, order: list[int]) -> tuple[Tensor, Tensor]:
        q, k, v = self._views(matrix_of("x", self.x)[order])
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
        """Return the outputs of the sentence in its order, and how far each is from that as written."""
        names = self.names()
        rows = [
            [f"{place}", names[token], *(f"{value:.4f}" for value in out), f"{change:.4f}"]
            for place, (token, out, change) in enumerate(
                zip(self.order, self.output.tolist(), self.change.tolist(), strict=True)
            )
        ]
        return table_of(["place", "token", "output 1", "output 2", "change"], rows)

    def caption(self) -> str:
        """Return one sentence that says what the figure shows."""
        return "The output of each word, where it was written and where it stands."
