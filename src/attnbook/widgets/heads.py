"""Heads workshop: see where the heads of a layer look, and its output as the sum of their parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
import traitlets
from torch import Tensor

from attnbook.tables import table_of
from attnbook.widgets.figure import STATIC, Figure, matrix_of
from attnlab.dot_product import attention

SENTENCE = ("they", "saw", "that", "I", "saw", "them")
HEADS = (1, 2, 4, 8)
VIEWS = ("sum", "share")


def example() -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Make a layer of eight legible heads, each two wide, for the six words of `SENTENCE`.

    Heads 1 to 4 look one back, one ahead, two back and two ahead; head 5 looks for its own word, head 6 for
    "saw", head 7 for pronouns, and head 8 hardly chooses. Queries and keys of each head are turned by an
    angle of its own. That changes no score; but keys of several heads, once averaged, fit none of them.

    Returns:
        Tokens x (6, 16) and the weights w_q, w_k, w_v (16, 16) and w_o (16, 4), float64, rounded to two
        decimals.

    >>> [tuple(matrix.shape) for matrix in example()]
    [(6, 16), (16, 16), (16, 16), (16, 16), (16, 4)]
    """
    step = math.pi / 4  # from one place to the next
    words = {"they": 0, "I": 30, "them": 60, "saw": 150, "that": 260}  # degrees: pronouns stand together
    x = torch.zeros(len(SENTENCE), 16, dtype=torch.float64)
    for i, word in enumerate(SENTENCE):
        angle = math.radians(words[word])
        rest = [math.sin(1.7 * angle * (f + 1) + f) for f in range(11)]
        x[i] = torch.tensor(
            [math.cos(step * i), math.sin(step * i), math.cos(angle), math.sin(angle), 1, *rest]
        )
    w_q, w_k = torch.zeros(2, 16, 16, dtype=torch.float64)
    turns = [math.radians(degrees) for degrees in (0, 30, 70, 100, 170, 200, 250, 280)]
    for head, turn in enumerate(turns):
        at = slice(2 * head, 2 * head + 2)
        kind = slice(0, 2) if head < 4 else slice(2, 4)  # what the keys tell: the place, or the word
        w_k[kind, at] = 2 * _turn(turn)
        if head < 4:
            w_q[kind, at] = 6 * _turn(turn + step * (-1, 1, -2, 2)[head])
        elif head == 4:
            w_q[kind, at] = 4 * _turn(turn)
        else:  # one question for everybody, asked through the feature that is always 1
            towards, strength = ((words["saw"], 3), (words["I"], 3), (words["that"], 0.4))[head - 5]
            w_q[4, at] = strength * _turn(turn + math.radians(towards))[0]
    # Neighbours pass on much the same, heads far apart do not: a part for each half, each pair and each head.
    row, column = torch.arange(16, dtype=torch.float64)[:, None], torch.arange(16, dtype=torch.float64)
    parts = [(0.7, 8), (0.3, 4), (0.2, 2)]  # strength, columns that share it
    w_v = sum(
        a * torch.cos(1 + row * (2.3 + column // w) + 2.1 * (column % 2) + w * (column // w))
        for a, w in parts
    )
    # Heads write into all four numbers, some more into this one, some into that; most add, a few take away.
    head, number = row.div(2, rounding_mode="floor"), column[:4]
    strength = torch.where(row % 2 == 0, -0.25, 1.0) * torch.where(
        head < 4, 0.25, torch.where(head < 6, 0.4, 0.8)
    )
    w_o = strength * (1 + torch.cos(1 + 2.1 * head + 1.7 * number))
    return tuple(matrix.round(decimals=2) for matrix in (x, w_q, w_k, w_v, w_o))


def _turn(angle: float) -> Tensor:
    c, s = math.cos(angle), math.sin(angle)
    return torch.tensor([[c, s], [-s, c]], dtype=torch.float64)


def _overlap(weights: Tensor) -> float:
    n = len(weights)
    common = torch.minimum(weights[:, None], weights[None]).sum(-1).mean(-1)  # (heads, heads)
    return 1.0 if n == 1 else ((common.sum() - n) / (n * (n - 1))).item()


class HeadsWorkshop(Figure):
    """See where the heads of a layer look, and switch them off: its output is the sum of their parts.

    One layer of fixed width is cut into `heads` slices. Neighbouring slices of its keys and values are
    averaged until `kv_heads` are left, and each serves heads / kv_heads query heads. The view "sum" draws
    what each head adds to the output, and "share" who shares keys and values.

    Args:
        x: tokens (n, d_model); those of `example()` unless given.
        w_q: query weights (d_model, width), the width divisible by 8; of `example()` unless given.
        w_k: key weights, as w_q.
        w_v: value weights, as w_q.
        w_o: output weights (width, d_out); of `example()` unless given.
        tokens: the n names of the tokens.
        heads: query heads, 1, 2, 4 or 8.
        kv_heads: key-value heads, 1, 2, 4 or 8, at most `heads`.
        token: the token whose weights are shown, from 0.
        off: the heads that are switched off, numbered from 1; they add nothing to the output.
        view: "sum" or "share".

    Raises:
        ValueError: an argument does not fit; the message names it.

    References:
        Shazeer 2019, section 3 (one key-value head); Ainslie et al. 2023, section 2 (groups, by the mean).

    >>> figure = HeadsWorkshop(heads=8, kv_heads=8)
    >>> figure.error, figure.weights.shape
    (0.0, torch.Size([8, 6, 6]))
    >>> without = HeadsWorkshop(off=[1, 2])
    >>> torch.allclose(without.output, figure.output - figure.parts[:2].sum(0))
    True
    """

    _esm = STATIC / "heads.js"
    name = "heads"
    state = ("heads", "kv_heads", "token", "off", "view", "x", "w_q", "w_k", "w_v", "w_o", "tokens")
    heads = traitlets.Int(8).tag(sync=True)
    kv_heads = traitlets.Int(8).tag(sync=True)
    token = traitlets.Int(0).tag(sync=True)
    off = traitlets.List(traitlets.Int()).tag(sync=True)
    view = traitlets.Enum(VIEWS, "sum").tag(sync=True)
    x = traitlets.List().tag(sync=True)
    w_q = traitlets.List().tag(sync=True)
    w_k = traitlets.List().tag(sync=True)
    w_v = traitlets.List().tag(sync=True)
    w_o = traitlets.List().tag(sync=True)
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(
        self,
        x: Any = None,
        w_q: Any = None,
        w_k: Any = None,
        w_v: Any = None,
        w_o: Any = None,
        tokens: Sequence[str] = SENTENCE,
        *,
        heads: int = 8,
        kv_heads: int = 8,
        token: int = 0,
        off: Sequence[int] = (),
        view: str = "sum",
    ) -> None:
        names = ("x", "w_q", "w_k", "w_v", "w_o")
        given = dict(zip(names, (x, w_q, w_k, w_v, w_o), strict=True))
        m = {
            name: matrix_of(name, shown if value is None else value)
            for (name, value), shown in zip(given.items(), example(), strict=True)
        }
        n, d_model = m["x"].shape
        for name in names[1:4]:
            if m[name].shape[0] != d_model or m[name].shape[1] % 8 or m[name].shape != m["w_q"].shape:
                raise ValueError(
                    f"{name} must have shape (d_model = {d_model}, width), with one width for all three, "
                    f"divisible by 8; got {tuple(m[name].shape)}"
                )
        if len(m["w_o"]) != len(m["w_q"][0]):
            raise ValueError(
                f"w_o must have shape (width = {len(m['w_q'][0])}, d_out), got {tuple(m['w_o'].shape)}"
            )
        if len(tokens) != n:
            raise ValueError(f"tokens must name the {n} rows of x, got {len(tokens)} names")
        if heads not in HEADS:
            raise ValueError(f"heads must be 1, 2, 4 or 8, got {heads}")
        if kv_heads not in HEADS or kv_heads > heads:
            raise ValueError(f"kv_heads must be 1, 2, 4 or 8 and at most heads = {heads}, got {kv_heads}")
        if not 0 <= token < n:
            raise ValueError(f"token must be from 0 to {n - 1}, got {token}")
        if not set(off) <= set(range(1, heads + 1)):
            raise ValueError(f"off must name heads from 1 to {heads}, got {list(off)}")
        if view not in VIEWS:
            raise ValueError(f'view must be "sum" or "share", got {view!r}')
        super().__init__(
            **{name: matrix.tolist() for name, matrix in m.items()},
            tokens=list(tokens),
            heads=heads,
            kv_heads=kv_heads,
            token=token,
            off=sorted(set(off)),
            view=view,
        )

    def attend(self, kv_heads: int | None = None) -> tuple[Tensor, Tensor]:
        """Compute each head's output (heads, n, d_head) and weights (heads, n, n), float64.

        Args:
            kv_heads: key-value heads; as the figure stands now unless given.

        Returns:
            Outputs and weights.
        """
        kv_heads = self.kv_heads if kv_heads is None else kv_heads
        x, *w = (matrix_of(key, getattr(self, key)) for key in ("x", "w_q", "w_k", "w_v"))
        q, k, v = ((x @ m).unflatten(-1, (self.heads, -1)).transpose(0, 1) for m in w)  # (heads, n, d_head)
        share = self.heads // kv_heads
        k, v = (t.unflatten(0, (kv_heads, share)).mean(1).repeat_interleave(share, 0) for t in (k, v))
        return attention(q, k, v, need_weights=True)

    @property
    def weights(self) -> Tensor:
        """The weights as the figure stands now, (heads, n, n), float64."""
        return self.attend()[1]

    @property
    def parts(self) -> Tensor:
        """What each head adds to the layer's output, off or not, (heads, n, d_out), float64."""
        return self.attend()[0] @ matrix_of("w_o", self.w_o).unflatten(0, (self.heads, -1))

    @property
    def output(self) -> Tensor:
        """The layer's output, the sum of the parts of those heads that are on, (n, d_out), float64."""
        on = torch.tensor([head + 1 not in self.off for head in range(self.heads)], dtype=torch.float64)
        return torch.einsum("h,hnd->nd", on, self.parts)

    @property
    def errors(self) -> Tensor:
        """How far each head's output is from its output with its own keys and values, relative, (heads,)."""
        full, _ = self.attend(self.heads)
        return (self.attend()[0] - full).norm(dim=(1, 2)) / full.norm(dim=(1, 2))

    @property
    def error(self) -> float:
        """The same for all heads together."""
        full, _ = self.attend(self.heads)
        return ((self.attend()[0] - full).norm() / full.norm()).item()

    @property
    def overlap(self) -> float:
        """How alike the heads look: the share of weight that two heads have in common, mean of all pairs."""
        return _overlap(self.weights)

    def table(self) -> str:
        """Return where the token looks, and what each head adds or what sharing loses and saves."""
        return self._sum_tables() if self.view == "sum" else self._share_tables()

    def _sum_tables(self) -> str:
        rows = [
            [f"head {at}", *(f"{w:.4f}" for w in row)]
            for at, row in enumerate(self.weights[:, self.token].tolist(), 1)
        ]
        names = [f"o{at}" for at in range(1, len(self.w_o[0]) + 1)]
        parts = [
            [f"head {at}", "off" if at in self.off else "on", *(f"{part:.4f}" for part in row)]
            for at, row in enumerate(self.parts[:, self.token].tolist(), 1)
        ]
        whole = ["sum of those on", "", *(f"{part:.4f}" for part in self.output[self.token].tolist())]
        return table_of(["head", *self.tokens], rows) + table_of(["part of", "is", *names], [*parts, whole])

    def _share_tables(self) -> str:
        share = self.heads // self.kv_heads
        rows = [
            [f"head {at + 1}", str(at // share + 1), *(f"{w:.4f}" for w in row), f"{error:.4f}"]
            for at, (row, error) in enumerate(
                zip(self.weights[:, self.token].tolist(), self.errors.tolist(), strict=True)
            )
        ]
        looks = table_of(["head", "K/V head", *self.tokens, "error"], rows)
        width, own = len(self.w_k[0]), _overlap(self.attend(self.heads)[1])
        kept = 2 * width * self.kv_heads // self.heads
        sums = table_of(
            ["this layer", "now", "unshared"],
            [
                ["output error", f"{self.error:.4f}", "0.0000"],
                ["heads look alike", *(f"{x:.4f}" if self.heads > 1 else "–" for x in (self.overlap, own))],
                ["keys, values a token", str(kept), str(2 * width)],
            ],
        )
        return looks + sums

    def caption(self) -> str:
        """Return one sentence that says what the figure shows."""
        return (
            "Where each head looks, and what it adds to the output."
            if self.view == "sum"
            else "Where each query head looks, and which keys and values it uses."
        )
