"""Every number of single-head attention, to edit and to follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import traitlets
from torch import Tensor

from attnbook.tables import table_of
from attnbook.widgets.figure import STATIC, Figure, flag, matrix_of
from attnlab.dot_product import attention


class Calculator(Figure):
    """Edit any number of single-head attention and follow it through six stages.

    Args:
        X: tokens (n, d_model).
        W_q: query weights (d_model, d_k); scores are Q Kᵀ with Q = X W_q.
        W_k: key weights (d_model, d_k).
        W_v: value weights (d_model, d_v).
        tokens: the n names of the rows.
        stage: the stage it starts at, 1 to 6.
        focus: row and column, from 0, of the cell chosen there; None for no cell.
        scale: factor on the scores; 1/sqrt(d_k) if None.
        causal: hide later tokens.
        asked: row and column, from 0, of the entry of W_q to change first, which is ringed, and of the weight
            that the formula then tells, before and now; None for none.
        votes: names of the columns of the values; at the output the figure says which of them has most.
        only: whether this stage is there and nothing else; once a number is picked, one button leads on.

    Every argument is a trait: `figure.X` is the matrix as a reader has changed it. `figure.focus` is the
    chosen cell: row and column counted from 0, and its matrix once one was picked.

    Raises:
        TypeError: only is not a bool.
        ValueError: shapes do not fit; the message names the argument, its shape and the shape it needs.

    >>> eye = [[1.0, 0.0], [0.0, 1.0]]
    >>> figure = Calculator([[1.0, 0.0], [0.0, 1.0]], eye, eye, eye, ["I", "saw"])
    >>> figure.weights.sum(-1).tolist()
    [1.0, 1.0]
    """

    _esm = STATIC / "calculator.js"
    name = "calculator"
    state = ("X", "W_q", "W_k", "W_v", "tokens", "stage", "focus", "scale", "causal")
    X = traitlets.List().tag(sync=True)
    W_q = traitlets.List().tag(sync=True)
    W_k = traitlets.List().tag(sync=True)
    W_v = traitlets.List().tag(sync=True)
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    stage = traitlets.Int(1, min=1, max=6).tag(sync=True)
    focus = traitlets.List([0, 0]).tag(sync=True)
    scale = traitlets.Float(None, allow_none=True).tag(sync=True)
    causal = traitlets.Bool(False).tag(sync=True)
    asked = traitlets.List().tag(sync=True)
    votes = traitlets.List(traitlets.Unicode(), None, allow_none=True).tag(sync=True)
    only = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        X: Any,
        W_q: Any,
        W_k: Any,
        W_v: Any,
        tokens: Sequence[str],
        *,
        stage: int = 1,
        focus: tuple[int, int] | None = (0, 0),
        scale: float | None = None,
        causal: bool = False,
        asked: tuple[tuple[int, int], tuple[int, int]] | None = None,
        votes: Sequence[str] = (),
        only: bool = False,
    ) -> None:
        given = {"X": X, "W_q": W_q, "W_k": W_k, "W_v": W_v}
        m = {name: matrix_of(name, rows) for name, rows in given.items()}
        n, d_model = m["X"].shape
        for name in ("W_q", "W_k", "W_v"):
            if m[name].shape[0] != d_model:
                raise ValueError(
                    f"{name} must have shape (d_model = {d_model}, width), got {tuple(m[name].shape)}"
                )
        if m["W_k"].shape != m["W_q"].shape:
            raise ValueError(
                f"W_k must have the shape of W_q, {tuple(m['W_q'].shape)}; got {tuple(m['W_k'].shape)}"
            )
        if len(tokens) != n:
            raise ValueError(f"tokens must name the {n} rows of X, got {len(tokens)} names")
        if not 1 <= stage <= 6:
            raise ValueError(f"stage must be from 1 to 6, got {stage}")
        if focus is not None and (len(focus) != 2 or min(focus) < 0):
            raise ValueError(f"focus must be a row and a column, from 0; got {focus}")
        cells = {"W_q": tuple(m["W_q"].shape), "the weights": (n, n)}
        for (what, shape), cell in zip(cells.items(), asked or (None, None), strict=True):
            if cell and not (len(cell) == 2 and 0 <= cell[0] < shape[0] and 0 <= cell[1] < shape[1]):
                raise ValueError(f"asked must hold a row and a column of {what}, {shape}; got {cell}")
        if votes and len(votes) != m["W_v"].shape[1]:
            width = m["W_v"].shape[1]
            raise ValueError(f"votes must name the {width} columns of W_v, got {len(votes)} names")
        rows = {name: matrix.tolist() for name, matrix in m.items()}
        super().__init__(
            **rows,
            tokens=list(tokens),
            stage=stage,
            focus=list(focus or ()),
            scale=scale,
            causal=causal,
            asked=[[*asked[0], "Wq"], list(asked[1])] if asked else [],
            votes=list(votes) or None,
            only=flag("only", only),
        )

    def settings(self) -> dict[str, Any]:
        """Return the state, what to change first where that is asked, and the votes' names."""
        more = {key: value for key in ("asked", "votes") if (value := getattr(self, key))}
        return super().settings() | more

    def _attend(self) -> tuple[Tensor, Tensor]:
        x, w_q, w_k, w_v = (matrix_of(key, getattr(self, key)) for key in ("X", "W_q", "W_k", "W_v"))
        return attention(
            x @ w_q, x @ w_k, x @ w_v, scale=self.scale, is_causal=self.causal, need_weights=True
        )

    @property
    def weights(self) -> Tensor:
        """The weights as the figure stands now, (n, n), float64."""
        return self._attend()[1]

    @property
    def output(self) -> Tensor:
        """The output as the figure stands now, (n, d_v), float64."""
        return self._attend()[0]

    def table(self) -> str:
        """Return the weights and the output of every token."""
        output, weights = self._attend()
        outputs = self.votes or [f"output {j + 1}" for j in range(output.shape[1])]
        head = ["token", *(f"takes of {token}" for token in self.tokens), *outputs]
        numbers = torch.cat((weights, output), -1).tolist()
        rows = [[token, *(f"{x:.4f}" for x in row)] for token, row in zip(self.tokens, numbers, strict=True)]
        return table_of(head, rows)

    def caption(self) -> str:
        """Return one sentence: of the way that `only` leads, the score it opens at, or widths."""
        if self.only:
            return "Each row is one query’s way from its scores to its output."
        widths = len(self.W_q[0]), len(self.W_v[0])
        wide, wide_v = ("one number" if width == 1 else f"{width} numbers" for width in widths)
        if self.stage != 3 or len(self.focus) != 2:
            return f"Each query and each key is {wide} here, each value {wide_v}."
        x, w_q, w_k = (matrix_of(key, getattr(self, key)) for key in ("X", "W_q", "W_k"))
        scores = x @ w_q @ (x @ w_k).T  # (n, n)
        row, column = (min(at, len(self.tokens) - 1) for at in self.focus)
        score = scores[row, column]
        written = f"{score:.2f}".replace("-", "−") + ", and none is larger" * bool(score == scores.max())
        return f"It opens where “{self.tokens[row]}” meets “{self.tokens[column]}”: a score of {written}."
