"""Linear attention against softmax: a line and a blur over 64 tokens, and the work of both brackets."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import traitlets
from torch import Tensor

from attnbook.tables import table_of
from attnbook.widgets.figure import STATIC, Figure
from attnbook.widgets.saturation import normals
from attnlab.linear import PositiveFeatures, elu_plus_one

TOKENS, WIDTH = 64, 8
TURNS = (1, 3, 7, 13)
"""How often each pair of a key's numbers turns round along the tokens."""
FEATURES = tuple(2**p for p in range(10))
LENGTHS = tuple(range(64, 2049, 64))
SHARPEST = 3.0
HEAD = 64
"""The width of a head in the counts of multiplications."""


class Compared(NamedTuple):
    """Both kinds of attention on the same tokens."""

    exact: Tensor
    weights: Tensor
    error: float
    error_of_mean: float


class LinearAgainstSoftmax(Figure):
    """Choose a feature map and the size of queries and keys; drag the length for which work is drawn.

    Each of 64 tokens looks for itself: its query is its key, which tells its place as sines and cosines do.
    So softmax draws a line on the diagonal. The work of each order of the brackets is an area: a square
    that grows with the length both ways, and a strip that grows one way.

    Args:
        map: "elu" for elu(x) + 1, "random" for positive random features.
        features: how many random features, a power of two from 1 to 512.
        sharpness: factor on queries and keys, above 0 and at most 3; at 1 their entries have mean square 1.
        seed: which random features, 0 or larger.
        length: tokens for which the work is drawn, a multiple of 64 up to 2,048.

    Raises:
        ValueError: an argument does not fit; the message names it.

    >>> figure = LinearAgainstSoftmax(map="random", features=512, sharpness=0.5)
    >>> figure.compared().error < figure.compared().error_of_mean
    True
    """

    _esm = STATIC / "linear.js"
    name = "linear"
    state = ("map", "features", "sharpness", "seed", "length")
    map = traitlets.Unicode("elu").tag(sync=True)
    features = traitlets.Int(64).tag(sync=True)
    sharpness = traitlets.Float(0.5).tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)
    length = traitlets.Int(512).tag(sync=True)

    def __init__(
        self,
        *,
        map: str = "elu",
        features: int = 64,
        sharpness: float = 0.5,
        seed: int = 0,
        length: int = 512,
    ) -> None:
        for what, value, allowed in (("map", map, ("elu", "random")), ("features", features, FEATURES)):
            if value not in allowed:
                raise ValueError(f"{what} must be one of {', '.join(str(x) for x in allowed)}; got {value!r}")
        if length not in LENGTHS:
            raise ValueError(f"length must be a multiple of 64 from 64 to {LENGTHS[-1]}, got {length}")
        if not 0 < sharpness <= SHARPEST:
            raise ValueError(f"sharpness must be above 0 and at most {SHARPEST:g}, got {sharpness}")
        if not 0 <= seed < 2**31:
            raise ValueError(f"seed must be a whole number from 0 to {2**31 - 1}, got {seed}")
        super().__init__(map=map, features=features, sharpness=float(sharpness), seed=seed, length=length)

    def compared(self) -> Compared:
        """Return both tables of weights (64, 64), float64, and the errors of the outputs, as shares."""
        q, k, v = drawn(self.sharpness)
        exact = (q @ k.T / WIDTH**0.5).softmax(-1)
        products = phi(q, self.map, self.features, self.seed) @ phi(k, self.map, self.features, self.seed).T
        weights = products / products.sum(-1, keepdim=True)
        want = exact @ v
        return Compared(
            exact,
            weights,
            ((weights @ v - want).norm() / want.norm()).item(),
            ((v.mean(0) - want).norm() / want.norm()).item(),
        )

    def multiplications(self) -> dict[str, int]:
        """Return what one head of width 64 costs: softmax, and both orders of the brackets."""
        n, m = self.length, HEAD if self.map == "elu" else self.features
        return {"softmax": 2 * n * n * HEAD, "scores": n * n * (m + HEAD), "values": 2 * n * m * HEAD}

    def table(self) -> str:
        """Return how sharp both are, how far off the output is, and the counts."""
        got, counts = self.compared(), self.multiplications()
        largest = [f"{w.amax(-1).mean().item():.4f}" for w in (got.exact, got.weights)]
        own = [f"{w.diagonal().mean().item():.4f}" for w in (got.exact, got.weights)]
        one = f"{1 / TOKENS:.4f}"
        return table_of(
            ["mean over the tokens", "softmax", "linear", "mean of all"],
            [
                ["largest weight", *largest, one],
                ["weight of the token itself", *own, one],
                ["error of the output", "0.0000", f"{got.error:.4f}", f"{got.error_of_mean:.4f}"],
            ],
        ) + table_of(
            ["computed", "multiplications"],
            [
                ["softmax(Q Kᵀ) V", f"{counts['softmax']:,}"],
                ["(φ(Q) φ(K)ᵀ) V", f"{counts['scores']:,}"],
                ["φ(Q) (φ(K)ᵀ V)", f"{counts['values']:,}"],
            ],
        )

    def caption(self) -> str:
        """Return one sentence that says what the figure shows."""
        return "Softmax and features: who of 64 tokens looks at whom, and the work as areas."


def drawn(sharpness: float) -> tuple[Tensor, Tensor, Tensor]:
    """Make queries, keys and values of the 64 tokens, (64, 8) each, float64, as the page does.

    Args:
        sharpness: factor on queries and keys.

    Returns:
        Queries and keys, which are alike: pairs of cosine and sine of the place; and drawn values.

    >>> q, k, v = drawn(1.0)
    >>> torch.equal(q, k), round(q.square().mean().item(), 9), v.shape
    (True, 1.0, torch.Size([64, 8]))
    """
    places = torch.arange(TOKENS, dtype=torch.float64)[:, None]
    angles = 2 * math.pi * places * torch.tensor(TURNS, dtype=torch.float64) / TOKENS
    k = sharpness * math.sqrt(2) * torch.stack((angles.cos(), angles.sin()), -1).flatten(-2)
    return k, k, normals(11, TOKENS * WIDTH).view(TOKENS, WIDTH)


def phi(x: Tensor, map: str, features: int, seed: int) -> Tensor:
    """Map queries or keys to features, as the page does.

    Args:
        x: (n, 8).
        map: "elu" or "random".
        features: how many random features.
        seed: of the random features; their directions are independent, not orthogonal.

    Returns:
        (n, 8) or (n, features).

    >>> phi(drawn(1.0)[0], "random", 4, 0).shape
    torch.Size([64, 4])
    """
    if map == "elu":
        return elu_plus_one(x)
    return PositiveFeatures(normals(seed, features * WIDTH).view(features, WIDTH))(x)
