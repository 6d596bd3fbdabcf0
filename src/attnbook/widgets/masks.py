"""The mask painter: paint a mask, see the weights and outputs it leaves, and what leaks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import traitlets
from torch import Tensor

from attnbook.tables import table_of
from attnbook.widgets.figure import STATIC, Figure, matrix_of
from attnlab import masks, scores


class MaskPainter(Figure):
    """Paint the cells of a mask, hide before or after the softmax, nudge a token and see what moves.

    The tokens are queries, keys and values at once; scores are their dot products over the root of the width.

    Args:
        x: tokens (n, d), one row each; n at most 12.
        tokens: the n names of the tokens.
        mask: (n, n), truthy = may attend; causal unless given.
        late: multiply by the mask after the softmax, which is the wrong order, instead of hiding before it.
        nudged: which token is changed, from 0; -1 for none.
        nudge: what is added to every number of that token.
        size: the number that the presets use, 1 to n: padded tokens, prefix, document length, reach.

    Raises:
        ValueError: an argument does not fit; the message names it.

    >>> figure = MaskPainter([[1.0, 0.0], [0.0, 1.0]], ["I", "saw"])
    >>> figure.mask, figure.leak
    ([[1, 0], [1, 1]], None)
    >>> figure.late = True
    >>> figure.leak
    (0, 1)
    """

    _esm = STATIC / "masks.js"
    name = "masks"
    state = ("mask", "x", "tokens", "late", "nudged", "nudge", "size")
    mask = traitlets.List().tag(sync=True)
    x = traitlets.List().tag(sync=True)
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    late = traitlets.Bool(False).tag(sync=True)
    nudged = traitlets.Int(-1).tag(sync=True)
    nudge = traitlets.Float(1.0).tag(sync=True)
    size = traitlets.Int(2).tag(sync=True)

    def __init__(
        self,
        x: Any,
        tokens: Sequence[str],
        *,
        mask: Any = None,
        late: bool = False,
        nudged: int = -1,
        nudge: float = 1.0,
        size: int = 2,
    ) -> None:
        rows = matrix_of("x", x)
        n = len(rows)
        if n > 12:
            raise ValueError(f"x must have at most 12 tokens, got {n}")
        if len(tokens) != n:
            raise ValueError(f"tokens must name the {n} rows of x, got {len(tokens)} names")
        painted = masks.causal(n) if mask is None else matrix_of("mask", mask).bool()
        if painted.shape != (n, n):
            raise ValueError(f"mask must have shape (n, n) = {(n, n)}, got {tuple(painted.shape)}")
        if not -1 <= nudged < n:
            raise ValueError(f"nudged must be a token from 0 to {n - 1}, or -1 for none; got {nudged}")
        if not abs(nudge) <= 3:
            raise ValueError(f"nudge must be from -3 to 3, got {nudge}")
        if not 1 <= size <= n:
            raise ValueError(f"size must be from 1 to n = {n}, got {size}")
        super().__init__(
            x=rows.tolist(),
            tokens=list(tokens),
            mask=painted.int().tolist(),
            late=late,
            nudged=nudged,
            nudge=nudge,
            size=size,
        )

    def numbers(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return weights (n, n), output (n, d), and how far the nudge moves each output (n,); all float64."""
        x = matrix_of("x", self.x)
        changed = x.clone()
        if self.nudged >= 0:
            changed[self.nudged] += self.nudge
        (_, before), (weights, after) = self._attend(x), self._attend(changed)
        return weights, after, (after - before).abs().amax(-1)

    @property
    def weights(self) -> Tensor:
        """The weights as the figure stands now, (n, n), float64."""
        return self.numbers()[0]

    @property
    def output(self) -> Tensor:
        """The outputs as the figure stands now, (n, d), float64."""
        return self.numbers()[1]

    @property
    def leak(self) -> tuple[int, int] | None:
        """The first output and token such that the one depends on the other, which its row hides."""
        x = matrix_of("x", self.x)
        own = matrix_of("mask", self.mask).bool()
        own.fill_diagonal_(True)  # a token's query is its own, whatever its row hides
        return masks.leaks(lambda rows: self._attend(rows[0].double())[1][None], *x.shape, own)

    def _attend(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mask, raw = matrix_of("mask", self.mask).bool(), scores.scaled_dot(x, x)
        weights = scores.softmax(raw) * mask if self.late else scores.softmax(raw, mask)
        return weights, weights @ x

    def table(self) -> str:
        """Return each token's weights, their sum, its output, and how far the nudge moved it."""
        weights, output, moved = self.numbers()
        head = ["token", *(f"takes of {token}" for token in self.tokens), "sum"]
        head += [*(f"output {d + 1}" for d in range(output.shape[1])), "moved by"]
        rows = []
        for token, allowed, row, out, far in zip(
            self.tokens, self.mask, weights.tolist(), output.tolist(), moved.tolist(), strict=True
        ):
            shares = [f"{w:.4f}" if a else "hidden" for a, w in zip(allowed, row, strict=True)]
            rows.append([token, *shares, *(f"{value:.4f}" for value in (sum(row), *out, far))])
        return table_of(head, rows)

    def caption(self) -> str:
        """Return one sentence that says what the figure shows."""
        return "Who may see whom, and which outputs move when a token does."
