"""Temperature and the root of d: how scores saturate a softmax, and what is left of the gradient."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import torch
import traitlets
from torch import Tensor

from attnbook.tables import table_of
from attnbook.widgets.dice import uniforms
from attnbook.widgets.figure import STATIC, Figure, matrix_of
from attnlab import scores as score_functions

ROWS, KEYS, WIDEST = 64, 8, 1024
WIDTHS = tuple(2**p for p in range(11))
LIMIT = 4.0
CLOSED = 0.01
"""A row whose largest slope is below this is saturated: of at most 8 keys, one then has more than 0.98."""
CERTAIN = 0.99
"""Where the figure leaves slopes out, it counts rows whose largest weight is not below this."""


class Measures(NamedTuple):
    """What a softmax makes of rows of scores; the first two have the row as their last axis."""

    weights: Tensor
    slopes: Tensor
    entropy: Tensor
    share: Tensor
    largest: Tensor
    norm: Tensor
    left: Tensor


class Saturation(Figure):
    """Set width, temperature and scale, drag a row of scores, and see what gradient the softmax lets through.

    The row holds *scaled* scores, q·k/√d_k: the chapter on scaling shows that their spread does not grow
    with d_k. Without the scale the softmax gets them √d_k times as large. Above the row stand 64 sampled
    rows of as many keys, from queries and keys whose entries are standard normal. All scores lie on one axis,
    which stays.

    Args:
        scores: a row of 2 to 8 scaled scores between -4 and 4; the first sampled row unless given.
        d_k: width of queries and keys, a power of two from 1 to 1024.
        temperature: divides the scores.
        scaled: whether q·k is divided by √d_k.
        seed: which samples are drawn, 0 or larger.
        names: the names of the keys; numbers unless given.
        slopes: whether slopes and Jacobians are shown beside scores and weights.

    Raises:
        ValueError: an argument does not fit; the message names it.

    >>> figure = Saturation([0.0, 0.0], d_k=64)
    >>> figure.weights.tolist(), figure.jacobian.tolist()
    ([0.5, 0.5], [[0.25, -0.25], [-0.25, 0.25]])
    >>> round(Saturation([1.0, 0.0], d_k=64, scaled=False).largest, 6)
    0.000335
    """

    _esm = STATIC / "saturation.js"
    name = "saturation"
    state = ("scores", "names", "d_k", "temperature", "scaled", "seed", "slopes")
    scores = traitlets.List().tag(sync=True)
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    d_k = traitlets.Int(64).tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)
    scaled = traitlets.Bool(True).tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)
    slopes = traitlets.Bool(True).tag(sync=True)

    def __init__(
        self,
        scores: Any = None,
        *,
        d_k: int = 64,
        temperature: float = 1.0,
        scaled: bool = True,
        seed: int = 0,
        names: Sequence[str] | None = None,
        slopes: bool = True,
    ) -> None:
        row = [] if scores is None else matrix_of("scores", [list(scores)])[0].tolist()
        if row and (not 2 <= len(row) <= KEYS or max(map(abs, row)) > LIMIT):
            raise ValueError(
                f"scores must be 2 to {KEYS} numbers between -{LIMIT:g} and {LIMIT:g}, got {row}"
            )
        names = [str(j + 1) for j in range(len(row) or KEYS)] if names is None else list(names)
        if (row and len(names) != len(row)) or not 2 <= len(names) <= KEYS:
            wanted = f"the {len(row)} scores" if row else f"2 to {KEYS} keys"
            raise ValueError(f"names must name {wanted}, got {len(names)} names")
        if d_k not in WIDTHS:
            raise ValueError(f"d_k must be a power of two from 1 to {WIDEST}, got {d_k}")
        if not 0 < temperature < math.inf:
            raise ValueError(f"temperature must be positive, got {temperature}")
        if seed < 0:
            raise ValueError(f"seed must be 0 or larger, got {seed}")
        super().__init__(
            scores=row,
            names=names,
            d_k=d_k,
            temperature=temperature,
            scaled=bool(scaled),
            seed=seed,
            slopes=bool(slopes),
        )

    @property
    def samples(self) -> Tensor:
        """The sampled scores before the temperature, (64, 8), float64: q·k, over √d_k if `scaled` is on."""
        raw = sampled(self.seed)[WIDTHS.index(self.d_k)]
        return raw / math.sqrt(self.d_k) if self.scaled else raw

    @property
    def row(self) -> Tensor:
        """The row as it stands now before the temperature, (n,), float64."""
        if not self.scores:
            return self.samples[0, : len(self.names)]
        row = matrix_of("scores", [self.scores])[0]
        return row if self.scaled else row * math.sqrt(self.d_k)

    @property
    def weights(self) -> Tensor:
        """The weights of the row, (n,), float64."""
        return measure(self.row / self.temperature).weights

    @property
    def jacobian(self) -> Tensor:
        """The derivative of each weight by each score that the softmax gets, (n, n), float64."""
        return jacobian(self.weights)

    @property
    def entropy(self) -> float:
        """The entropy of the row's weights in nats."""
        return measure(self.row / self.temperature).entropy.item()

    @property
    def largest(self) -> float:
        """The largest entry of the Jacobian, max p (1 - p)."""
        return measure(self.row / self.temperature).largest.item()

    def table(self) -> str:
        """Return the row's numbers, and its measures beside those of the sampled rows."""
        row, samples = self.row, self.samples
        ours, theirs = (measure(x / self.temperature) for x in (row, samples[:, : len(row)]))
        columns = (row.tolist(), ours.weights.tolist(), ours.slopes.tolist())
        cells = [
            [name, f"{score:.4f}", number(p), number(slope)][: None if self.slopes else 3]
            for name, score, p, slope in zip(self.names, *columns, strict=True)
        ]
        head = ["key", "score", "weight p", "slope p(1 − p)"][: None if self.slopes else 3]
        spread = [f"{x.std(correction=0).item():.4f}" for x in (row, samples[:, : len(row)])]
        measures = [["spread of the scores", *spread]]
        if self.slopes:
            measures += [
                [text, number(getattr(ours, what).item()), number(getattr(theirs, what).quantile(0.5).item())]
                for what, text in MEASURES.items()
            ]
            reached = f"largest entry < {CLOSED}", ours.largest < CLOSED, theirs.largest < CLOSED
        else:
            tops = [x.weights.amax(-1) for x in (ours, theirs)]
            measures.append(["largest weight", *(number(top.quantile(0.5).item()) for top in tops)])
            reached = f"largest weight ≥ {CERTAIN}", *(top >= CERTAIN for top in tops)
        measures.append([reached[0], "yes" if reached[1] else "no", f"{int(reached[2].sum())} of {ROWS}"])
        return table_of(head, cells) + table_of(["measure", "this row", f"median of {ROWS} rows"], measures)

    def caption(self) -> str:
        """Return one sentence that says what the figure shows."""
        shown = "Scores, weights and slopes" if self.slopes else "Scores and weights"
        return f"{shown} of {ROWS} queries, and of one query key by key."


MEASURES = {
    "entropy": "entropy (nats)",
    "share": "entropy / ln n",
    "largest": "largest Jacobian entry",
    "norm": "norm of the Jacobian",
    "left": "left of a gradient of 1",
}
"""The measures that the figure lists, and what it calls them."""


def jacobian(weights: Tensor) -> Tensor:
    """Return diag(p) - p pᵀ, its diagonal as a sum of products, which stays exact when a weight is nearly 1.

    Args:
        weights: rows of weights (..., n).

    Returns:
        Matrices (..., n, n).

    >>> jacobian(torch.tensor([0.75, 0.25])).tolist()
    [[0.1875, -0.1875], [-0.1875, 0.1875]]
    """
    products = weights[..., :, None] * weights[..., None, :]
    products = products - torch.diag_embed(products.diagonal(dim1=-2, dim2=-1))
    return torch.diag_embed(products.sum(-1)) - products


def measure(z: Tensor) -> Measures:
    """Measure what a softmax makes of rows, and how much of a gradient it lets through.

    Args:
        z: rows of scores as the softmax gets them (..., n).

    Returns:
        Weights, slopes p (1 - p), entropy in nats and as a share of ln n, the largest slope, the norm of the
        Jacobian, and what it leaves of a random gradient of length 1 (root mean square, norm/√n).

    >>> round(measure(torch.zeros(8)).share.item(), 4)
    1.0
    """
    weights = score_functions.softmax(z)
    entropy = torch.special.entr(weights).sum(-1)
    matrix = jacobian(weights)
    slopes = matrix.diagonal(dim1=-2, dim2=-1)
    norm = matrix.square().sum((-2, -1)).sqrt()
    n = z.shape[-1]
    return Measures(
        weights, slopes, entropy, entropy / math.log(n), slopes.amax(-1), norm, norm / math.sqrt(n)
    )


def number(x: float) -> str:
    """Write a number between 0 and a few: four decimals, or a power of ten when they would hide it.

    >>> number(0.25), number(0.0), number(0.00034)
    ('0.2500', '0', '3.4e-4')
    """
    if x == 0 or x >= 0.001:
        return f"{x:.4f}" if x else "0"
    mantissa, exponent = f"{x:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


@lru_cache(maxsize=4)
def sampled(seed: int) -> Tensor:
    """Draw q·k for every query, key and width, the same numbers as the page draws.

    Args:
        seed: which samples.

    Returns:
        Scores (11 widths, 64 queries, 8 keys), float64. A wider query is a narrower one with more entries.

    >>> sampled(0).shape
    torch.Size([11, 64, 8])
    """
    z = normals(seed, ROWS * (1 + KEYS) * WIDEST).view(ROWS, 1 + KEYS, WIDEST)
    q, k = z[:, :1], z[:, 1:]
    return torch.stack([(q[..., :d] * k[..., :d]).sum(-1) for d in WIDTHS])


def normals(seed: int, count: int) -> Tensor:
    """Draw standard normal numbers from integer arithmetic that JavaScript has too.

    Pairs of `dice.uniforms` become normal by Box and Muller's formula.

    Args:
        seed: 0 or larger.
        count: how many, even.

    Returns:
        (count,), float64.

    >>> draw = normals(0, 100_000)
    >>> abs(draw.mean().item()) < 0.01, abs(draw.std().item() - 1) < 0.01
    (True, True)
    """
    uniform = uniforms(seed, count)
    radius = (-2 * uniform[0::2].log()).sqrt()
    angle = 2 * math.pi * uniform[1::2]
    return torch.stack((radius * angle.cos(), radius * angle.sin()), -1).view(-1)
