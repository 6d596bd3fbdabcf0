"""What it is to ask: a curve that is asked for its height, and one token that asks all others."""

from __future__ import annotations

import torch
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.drawings.pen import Pen
from attnlab import attention, scores

PLACES = torch.tensor([0.4, 1.1, 1.7, 2.6, 3.1, 4.0, 4.4, 5.3, 6.1, 6.6], dtype=torch.float64)
HEIGHTS = torch.tensor([0.9, 1.4, 2.3, 2.0, 2.7, 1.6, 1.2, 0.5, 1.0, 0.6], dtype=torch.float64)
QUERY = 5.0
WIDTHS = {"narrow": 0.25, "wide": 1.2}
TALL = 0.85
"""Inches that the bar of a weight of 1 is high."""

WORDS = ("I", "saw", "it")
TOKENS = {
    "x": [[1, 0], [0, 1], [1, 1]],
    "q": [[2], [0], [2]],
    "k": [[1], [1], [2]],
    "v": [[1, 0], [0, 10], [1, 10]],
}


def kernel_weights(places: Tensor, width: float) -> Tensor:
    """Weigh the known places by closeness: the softmax of minus half the squared distances, at width².

    Args:
        places: (n,), where the curve is asked for.
        width: of the kernel.

    Returns:
        Weights (n, 10), of the ten known points.

    References:
        Nadaraya 1964; Watson 1964.

    >>> kernel_weights(PLACES[:1], 0.1).argmax().item()
    0
    """
    closeness = -(places[:, None] - PLACES).square() / 2
    return scores.softmax(closeness, temperature=width**2)


def regression(narrow: bool = False) -> Figure:
    """Draw kernel regression: ten points, means by a narrow and a wide kernel, the weights of one query.

    Args:
        narrow: for a phone.

    Returns:
        The figure, labelled with its alt text.

    References:
        Nadaraya 1964; Watson 1964.

    >>> "kernel" in regression().get_label()
    True
    """
    pen = Pen(4.2, 4.3, narrow)
    left, unit, tall = 0.28, 0.52, 0.56  # inches: where x = 0 is, and how long 1 is, across and up
    floor, bases = 1.95, {"narrow": 2.9, "wide": 3.9}
    grid = torch.linspace(0, 7, 141, dtype=torch.float64)
    query = torch.tensor([QUERY], dtype=torch.float64)
    ask = left + unit * QUERY

    def across(x: Tensor, y: Tensor, base: float, scale: float) -> list[tuple[float, float]]:
        return [
            (left + unit * at, base - scale * high) for at, high in zip(x.tolist(), y.tolist(), strict=True)
        ]

    pen.line([(ask, 0.34), (ask, bases["wide"])], role="query")
    pen.text(ask, 0.2, "query", role="query")
    for x, y in across(PLACES, HEIGHTS, floor, tall):
        pen.dot(x, y, role="value")
        for base in bases.values():
            pen.dot(x, base + 0.1, role="key", radius=0.035)
    outputs = []
    for (name, width), dashed in zip(WIDTHS.items(), (False, True), strict=True):
        curve = kernel_weights(grid, width) @ HEIGHTS
        pen.line(across(grid, curve, floor, tall), role="output", dashed=dashed, width=1.8)
        weights = kernel_weights(query, width)[0]
        outputs.append(float(weights @ HEIGHTS))
        pen.dot(ask, floor - tall * outputs[-1], role="output", radius=0.07)
        for x, y in across(PLACES, weights, bases[name], TALL):
            pen.line([(x, bases[name]), (x, y)], role="query", width=5, alpha=0.6)
        sample = bases[name] - 0.74  # of the curve that these weights belong to
        pen.line([(left, sample), (left + unit, sample)], role="output", dashed=dashed, width=1.8)
        pen.text(left, bases[name] - 0.55, name, align="left")
        pen.text(left, bases[name] - 0.36, "weights", align="left")
    for base in (floor, *bases.values()):
        pen.line([(left, base), (left + 7 * unit, base)], width=0.8)
    pen.text(left, 0.75, "values", role="value", align="left")
    pen.text(ask + 0.14, floor - tall * outputs[1] - 0.14, "outputs", role="output", align="left")
    pen.text(left, bases["wide"] + 0.27, "keys", role="key", align="left")
    return pen.figure_of(
        "Kernel regression. Above, ten points and two curves of their weighted means: with a narrow "
        "kernel it runs close to every point, with a wide one, dashed, it is smooth. Below, the weights of "
        f"one query at {QUERY:g}: the narrow kernel gives nearly all to the nearest, and the mean is "
        f"{outputs[0]:.2f}, the wide one gives some to most of them, and it is {outputs[1]:.2f}."
    )


def flow(narrow: bool = False) -> Figure:
    """Draw how one token asks: its query meets all keys, scores become weights, and the values are mixed.

    The numbers are those of three tokens with queries and keys of one number each.

    Args:
        narrow: for a phone.

    Returns:
        The figure, labelled with its alt text.

    References:
        Vaswani et al. 2017, section 3.2.1.

    >>> "0.79" in flow().get_label()
    True
    """
    x, q, k, v = (torch.tensor(rows, dtype=torch.float64) for rows in TOKENS.values())
    row = scores.scaled_dot(q[:1], k)
    weights = scores.softmax(row)
    out = attention(q[:1], k, v)[0]
    pen = Pen(4.3, 5.35, narrow)
    middles = (1.4, 2.1, 2.8)
    y = {"tokens": 0.5, "query": 1.4, "scores": 2.3, "weights": 3.1, "values": 3.95, "output": 4.85}
    bus, share = 1.86, 2.62
    for name, role in zip(y, (None, "query", None, None, "value", "output"), strict=True):
        pen.text(0.06, y[name], name, role=role, align="left")
    pen.text(0.06, share, "softmax", align="left", size=10)
    thick = [0.8 + 5 * round(weight, 3) for weight in weights[0].tolist()]
    for j, (word, at) in enumerate(zip(WORDS, middles, strict=True)):
        pen.text(at, 0.17, word)
        # The value comes from the token too, past its key.
        side = at + 0.33
        wire = [(at + 0.26, y["tokens"]), (side, y["tokens"]), (side, y["values"]), (at + 0.26, y["values"])]
        pen.line(wire, role="value", alpha=0.7)
        pen.arrow((at, 0.68), (at, 1.23), role="key")
        pen.line([(at, 1.57), (at, 2.14)], arrow=True)
        pen.dot(at, bus, role="query", radius=0.055)
        pen.line([(at, 2.46), (at, 2.94)], arrow=True)
        pen.arrow((at, 3.26), (at, 3.79), width=thick[j], role="query", head=False)
        pen.arrow((at, 4.11), (2.1 + 0.35 * (j - 1), 4.69), width=thick[j], role="output", head=False)
        _numbers(pen, at, y["tokens"], x[j])
        _numbers(pen, at, y["query"], k[j], role="key")
        _numbers(pen, at, y["scores"], row[0, j : j + 1], shade=0)
        weight = weights[0, j : j + 1]
        _numbers(pen, at, y["weights"], weight, role="query", shade=float(weight), decimals=2)
        _numbers(pen, at, y["values"], v[j], role="value")
    pen.line([(middles[0], share), (middles[-1], share)])
    # The query leaves the first token and meets every key.
    lead = 0.85
    pen.line([(1.14, y["tokens"]), (lead, y["tokens"]), (lead, 1.23)], role="query", arrow=True)
    _numbers(pen, lead, y["query"], q[0], role="query")
    pen.line([(lead, 1.57), (lead, bus), (middles[-1], bus)], role="query")
    _numbers(pen, 2.1, y["output"], out, role="output", decimals=2)
    for where, role, align in ((0.78, "query", "right"), (1.33, "key", "right"), (3.2, "value", "left")):
        pen.text(where, 0.92, f"$W_{role[0]}$", role=role, align=align)
    for where, shape, role in (
        ("tokens", "n × d_model", None),
        ("scores", "1 × n", None),
        ("weights", "1 × n", None),
        ("values", "n × d_v", "value"),
        ("output", "1 × d_v", "output"),
    ):
        pen.text(3.4, y[where], f"${shape}$", role=role, align="left")
    pen.text(3.4, 1.28, "keys", role="key", align="left")
    pen.text(3.4, 1.52, "$n × d_k$", role="key", align="left")
    pen.text(2.1, 5.2, "$n$ queries at once: $n × n$ weights", size=10)
    said = [", ".join(f"{number:.{digits}f}" for number in numbers.tolist())
            for numbers, digits in ((row[0], 0), (weights[0], 2), (out, 2))]  # fmt: skip
    return pen.figure_of(
        f"How one token asks, from top to bottom. Each of the tokens {', '.join(WORDS)} gives a key and a "
        f"value; {WORDS[0]} gives the query, {float(q[0]):g}. The query meets every key: the scores are "
        f"{said[0]}. The softmax makes them the weights {said[1]}. With these shares the values are mixed "
        f"into the output, {said[2]}. Of n tokens there are n by d_k keys and n by d_v values; each query "
        "gives n scores and an output of d_v."
    )


def _numbers(
    pen: Pen,
    middle: float,
    y: float,
    numbers: Tensor,
    *,
    role: str | None = None,
    shade: float = 0.3,
    decimals: int = 0,
) -> None:
    wide, high, n = (0.44 if decimals else 0.25), 0.3, len(numbers)
    texts = [[f"{number:.{decimals}f}" for number in numbers.tolist()]]
    corner = (middle - n * wide / 2, y - high / 2)
    pen.tiles(*corner, 1, n, size=(wide, high), role=role, texts=texts, shades=[[shade] * n])
