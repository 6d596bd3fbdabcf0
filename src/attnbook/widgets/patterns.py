"""Sparse patterns: layer by layer, of whom a token hears."""

from __future__ import annotations

import torch
import traitlets
from torch import Tensor

from attnbook.tables import table_of
from attnbook.tagging.words import bucket
from attnbook.widgets.figure import STATIC, Figure
from attnlab import masks

KINDS = ("window", "strided", "fixed", "mixed")
DEEPEST = 8
LIMITS = {"n": (4, 48), "width": (1, 12), "globals": (0, 4), "random": (0, 4), "depth": (1, DEEPEST)}


class SparsePatterns(Figure):
    """Choose a pattern, and see layer by layer of whom a token hears, and through whom.

    Args:
        kind: "window", "strided", "fixed", or "mixed" for window, global and random tokens together.
        n: tokens, 4 to 48.
        width: tokens the window reaches back (and ahead, if not causal), or the stride; 1 to 12.
        globals: tokens at the start that all see and that see all, 0 to 4; "mixed" only.
        random: random keys of each query, 0 to 4; "mixed" only.
        causal: hide later tokens.
        depth: layers shown, 1 to 8. No more is said of deeper ones than a reader has asked for.
        query: the token that asks, 0 to n - 1; the last unless given.

    Raises:
        ValueError: an argument does not fit; the message names it.

    >>> figure = SparsePatterns("window", n=9, width=2, depth=3)
    >>> figure.reach(1)[8].sum().item(), figure.reach(3)[8].sum().item()
    (3, 7)
    """

    _esm = STATIC / "patterns.js"
    name = "patterns"
    state = ("kind", "n", "width", "globals", "random", "causal", "depth", "query")
    kind = traitlets.Unicode("window").tag(sync=True)
    n = traitlets.Int(36).tag(sync=True)
    width = traitlets.Int(6).tag(sync=True)
    globals = traitlets.Int(1).tag(sync=True)
    random = traitlets.Int(1).tag(sync=True)
    causal = traitlets.Bool(True).tag(sync=True)
    depth = traitlets.Int(1).tag(sync=True)
    query = traitlets.Int(0).tag(sync=True)

    def __init__(
        self,
        kind: str = "window",
        *,
        n: int = 36,
        width: int = 6,
        globals: int = 1,
        random: int = 1,
        causal: bool = True,
        depth: int = 1,
        query: int | None = None,
    ) -> None:
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}; got {kind!r}")
        query = n - 1 if query is None else query
        given = {"n": n, "width": width, "globals": globals, "random": random, "depth": depth, "query": query}
        for name, value in given.items():
            low, high = (LIMITS | {"query": (0, n - 1)})[name]
            if not low <= value <= high:
                raise ValueError(f"{name} must be a whole number from {low} to {high}, got {value}")
        super().__init__(kind=kind, causal=causal, **given)

    @property
    def mask(self) -> Tensor:
        """Who may attend to whom in one layer: boolean (n, n)."""
        n, width = self.n, self.width
        if self.kind in ("strided", "fixed"):
            mask = getattr(masks, self.kind)(n, width, is_causal=False)
        else:
            mask = masks.window(n, width)
        if self.kind == "mixed":
            drawn = torch.zeros(n, n, dtype=torch.bool)
            for i in range(n):
                drawn[i, [bucket(f"{i} {r}", 0, n) for r in range(self.random)]] = True
            mask = mask | masks.global_tokens(n, range(self.globals)) | drawn
        return mask & masks.causal(n) if self.causal else mask

    def reach(self, depth: int) -> Tensor:
        """Return who is reached by whom after so many layers: boolean (n, n)."""
        mask = self.mask
        reach = mask
        for _ in range(depth - 1):
            reach = (mask.float() @ reach.float()) > 0
        return reach

    def table(self) -> str:
        """Return, for each layer shown, what the token has heard of and how many pairs are reached."""
        possible = self.n * (self.n + 1) // 2 if self.causal else self.n**2
        rows = []
        for depth in range(1, self.depth + 1):
            reach = self.reach(depth)
            pairs = int(reach.sum())
            mine = int(reach[self.query].sum())
            rows.append([str(depth), str(mine), str(pairs), f"{100 * pairs / possible:.1f} %"])
        return table_of(["layers", "tokens heard of", "pairs reached", "of all"], rows)

    def caption(self) -> str:
        """Return one sentence that says what the figure shows."""
        return "Sparse patterns: layer by layer, of whom a token hears, and through whom."
