"""Linear attention against softmax: two feature maps, two orders of brackets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import traitlets
from torch import Tensor

from attnlab.linear import PositiveFeatures, elu_plus_one
from attnlab.tables import table_of
from attnlab.widgets.figure import STATIC, Figure
from attnlab.widgets.saturation import normals

WIDTH = 8
FEATURES = tuple(2**p for p in range(10))
LENGTHS = tuple(64 * 2**p for p in range(11))
HEAD = 64
"""The width of a head in the counts of multiplications."""


class Compared(NamedTuple):
    """Both kinds of attention on the same tokens."""

    exact: Tensor
    weights: Tensor
    error: float
    error_of_mean: float


class LinearAgainstSoftmax(Figure):
    """Choose a feature map, the size of queries and keys, and the order of the brackets.

    Args:
        tokens: 2 to 8 words; their queries, keys and values of width 8 are drawn once and for all.
        map: "elu" for elu(x) + 1, "random" for positive random features.
        features: how many random features, a power of two from 1 to 512.
        sharpness: factor on queries and keys, above 0 and at most 3.
        seed: which random features, 0 or larger.
        order: "scores" for (φ(Q) φ(K)ᵀ) V, "values" for φ(Q) (φ(K)ᵀ V): two costs, one output.
        length: tokens for which multiplications are counted, 64 times a power of two, up to 65,536.
        query: the token whose row is marked; the last unless given.

    Raises:
        ValueError: an argument does not fit; the message names it.

    >>> figure = LinearAgainstSoftmax(["I", "saw", "a", "saw"], map="random", features=512, sharpness=0.5)
    >>> figure.compared().error < figure.compared().error_of_mean
    True
    """

    _esm = STATIC / "linear.js"
    name = "linear"
    state = ("tokens", "map", "features", "sharpness", "seed", "order", "length", "query")
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    map = traitlets.Unicode("elu").tag(sync=True)
    features = traitlets.Int(64).tag(sync=True)
    sharpness = traitlets.Float(1.0).tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)
    order = traitlets.Unicode("values").tag(sync=True)
    length = traitlets.Int(4096).tag(sync=True)
    query = traitlets.Int(0).tag(sync=True)

    def __init__(
        self,
        tokens: Sequence[str] = ("I", "saw", "a", "man", "with", "it"),
        *,
        map: str = "elu",
        features: int = 64,
        sharpness: float = 1.0,
        seed: int = 0,
        order: str = "values",
        length: int = 4096,
        query: int | None = None,
    ) -> None:
        n = len(tokens)
        query = n - 1 if query is None else query
        if isinstance(tokens, str) or not 2 <= n <= 8:
            raise ValueError(f"tokens must be 2 to 8 words, got {tokens!r}")
        for what, value, allowed in (
            ("map", map, ("elu", "random")),
            ("order", order, ("scores", "values")),
            ("features", features, FEATURES),
            ("length", length, LENGTHS),
        ):
            if value not in allowed:
                raise ValueError(f"{what} must be one of {', '.join(str(x) for x in allowed)}; got {value!r}")
        if not 0 < sharpness <= 3:
            raise ValueError(f"sharpness must be above 0 and at most 3, got {sharpness}")
        for what, value, end in (("seed", seed, 2**31), ("query", query, n)):
            if not 0 <= value < end:
                raise ValueError(f"{what} must be a whole number from 0 to {end - 1}, got {value}")
        super().__init__(
            tokens=list(tokens),
            map=map,
            features=features,
            sharpness=float(sharpness),
            seed=seed,
            order=order,
            length=length,
            query=query,
        )

    def compared(self) -> Compared:
        """Return both tables of weights (n, n), float64, and the errors of the outputs, as shares."""
        q, k, v = drawn(len(self.tokens), self.sharpness)
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
        """Return both tables of weights, the errors, and the counts."""
        got, counts = self.compared(), self.multiplications()
        rows = [
            [name, *(f"{w:.2f}" for w in row)]
            for title, weights in (("softmax", got.exact), ("linear", got.weights))
            for name, row in zip((f"{title}: {t}" for t in self.tokens), weights.tolist(), strict=True)
        ]
        n, largest = len(self.tokens), [w[self.query].max().item() for w in (got.exact, got.weights)]
        sharp = [f"largest weight of “{self.tokens[self.query]}”", *(f"{x:.4f}" for x in (*largest, 1 / n))]
        errors = ["error of the output", "0.0000", f"{got.error:.4f}", f"{got.error_of_mean:.4f}"]
        marked = {key: " ←" if key == self.order else "" for key in counts}
        names = {
            "softmax": "softmax(Q Kᵀ) V",
            "scores": "(φ(Q) φ(K)ᵀ) V" + marked["scores"],
            "values": "φ(Q) (φ(K)ᵀ V)" + marked["values"],
        }
        return (
            table_of(["token", *self.tokens], rows)
            + table_of(["measure", "softmax", "linear", "mean of all"], [sharp, errors])
            + table_of(["computed", "multiplications"], [[names[key], f"{counts[key]:,}"] for key in counts])
        )

    def caption(self) -> str:
        """Return one sentence that says what the figure is for."""
        return "Linear attention against softmax: what is blurred, and where the cost goes."


def drawn(n: int, sharpness: float) -> tuple[Tensor, Tensor, Tensor]:
    """Draw queries, keys and values of n tokens, (n, 8) each, float64, as the page does.

    Args:
        n: tokens.
        sharpness: factor on queries and keys.

    >>> [x.shape for x in drawn(3, 1.0)]
    [torch.Size([3, 8]), torch.Size([3, 8]), torch.Size([3, 8])]
    """
    q, k, v = normals(11, 3 * n * WIDTH).view(3, n, WIDTH)
    return sharpness * q, sharpness * k, v


def phi(x: Tensor, map: str, features: int, seed: int) -> Tensor:
    """Map queries or keys to features, as the page does.

    Args:
        x: (n, 8).
        map: "elu" or "random".
        features: how many random features.
        seed: of the random features; their directions are independent, not orthogonal.

    Returns:
        (n, 8) or (n, features).

    >>> phi(drawn(2, 1.0)[0], "random", 4, 0).shape
    torch.Size([2, 4])
    """
    if map == "elu":
        return elu_plus_one(x)
    return PositiveFeatures(normals(seed, features * WIDTH).view(features, WIDTH))(x)
