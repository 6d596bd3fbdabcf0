"""How a token's numbers are dealt out to heads, and what goes wrong when they are dealt in another order."""

from __future__ import annotations

import torch
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.drawings.pen import Pen
from attnlab import scores

WORDS = ("I", "saw", "it")
N_HEADS, D_HEAD = 2, 2
D_MODEL = N_HEADS * D_HEAD


def numbered() -> tuple[Tensor, Tensor, Tensor]:
    """Number the entries of three tokens of width four, and deal them to two heads, rightly and wrongly.

    Returns:
        The tokens (3, 4), and twice the heads (2, 3, 2).

    >>> x, right, wrong = numbered()
    >>> right[0].tolist(), wrong[0].tolist()
    ([[0, 1], [4, 5], [8, 9]], [[0, 1], [2, 3], [4, 5]])
    """
    n = len(WORDS)
    x = torch.arange(n * D_MODEL).view(n, D_MODEL)
    right = x.view(n, N_HEADS, D_HEAD).transpose(0, 1)  # (heads, n, d_head)
    return x, right, x.reshape(N_HEADS, n, D_HEAD)


def reshape(narrow: bool = False) -> Figure:
    """Draw the split into heads beside a reshape that has the right shape and the wrong numbers.

    Args:
        narrow: for a phone.

    Returns:
        The figure, labelled with its alt text.

    >>> "0 1, 4 5, 8 9" in reshape().get_label()
    True
    """
    x, *ways = numbered()
    pen, cell, said = Pen(4.3, 4.0, narrow), 0.3, []
    titles = (("right", ("view(n, h, d)", ".transpose(0, 1)")), ("wrong", ("reshape(h, n, d)",)))
    for at, heads, (title, code) in zip((0.08, 2.17), ways, titles, strict=True):
        middle = at + 0.36 + 0.66
        pen.text(middle, 0.18, title)
        first = set(heads[0].flatten().tolist())
        shades = [[0.8 if number in first else 0.12 for number in row] for row in x.tolist()]
        _cells(pen, middle - 2 * cell, 0.4, x, cell, shades)
        _words(pen, middle - 2 * cell - 0.06, 0.4, x, cell, "right")
        for head, left, side in ((0, at + 0.36, "right"), (1, at + 0.36 + 0.72, "left")):
            pen.arrow((middle + (head - 0.5) * 0.6, 1.38), (left + cell, 1.86))
            _cells(pen, left, 1.95, heads[head], cell, [[(0.8, 0.12)[head]] * 2] * 3)
            _words(pen, left - 0.06 if side == "right" else left + 0.66, 1.95, heads[head], cell, side)
            pen.text(left + cell, 3.05, f"head {head + 1}", size=10)
            said.append(", ".join(" ".join(map(str, row)) for row in heads[head].tolist()))
        for line, text in enumerate(code):
            pen.text(middle, 3.42 + 0.22 * line, text, size=10)
    return pen.figure_of(
        "Twelve numbers, 0 to 11, are three tokens of four. Split by view and transpose, head 1 has the "
        f"first two numbers of every token, {said[0]}, and head 2 the others, {said[1]}. Split by a "
        f"reshape alone, head 1 has {said[2]}, all of the first token and half of the second, and head 2 "
        f"the remaining ones, {said[3]}."
    )


def _cells(
    pen: Pen, left: float, top: float, numbers: Tensor, cell: float, shades: list[list[float]]
) -> None:
    texts = [[str(number) for number in row] for row in numbers.tolist()]
    pen.tiles(left, top, *numbers.shape, size=cell, shades=shades, texts=texts)


def _words(pen: Pen, x: float, top: float, numbers: Tensor, cell: float, align: str) -> None:
    for row, first in enumerate(numbers[:, 0].tolist()):
        pen.text(x, top + (row + 0.5) * cell, WORDS[first // D_MODEL], align=align, size=10)


def weights_of_heads() -> Tensor:
    """Weigh three tokens in two heads, from random queries and keys: two different pictures.

    Returns:
        Weights (2, 3, 3).

    >>> weights_of_heads().sum(-1).round(decimals=6).unique().tolist()
    [1.0]
    """
    draw = torch.Generator().manual_seed(3)
    q, k = 1.4 * torch.randn(2, N_HEADS, len(WORDS), D_HEAD, generator=draw, dtype=torch.float64)
    return scores.softmax(scores.scaled_dot(q, k))


def heads(narrow: bool = False) -> Figure:
    """Draw a layer of two heads with its shapes: project, split, attend in each, join, project.

    Args:
        narrow: for a phone.

    Returns:
        The figure, labelled with its alt text.

    References:
        Vaswani et al. 2017, section 3.2.2.

    >>> "join" in heads().get_label()
    True
    """
    pen, cell, n = Pen(4.2 if narrow else 4.4, 5.5, narrow), 0.16, len(WORDS)
    wide, tall, slim = D_MODEL * cell, n * cell, D_HEAD * cell
    weights = weights_of_heads()
    center = 2.75 if narrow else 1.95
    y = {"x": 0.1, "qkv": 0.95, "split": 1.9, "weights": 2.7, "out": 3.4, "join": 4.1, "y": 4.9}
    roles = ("query", "key", "value")
    pen.tiles(center - wide / 2, y["x"], n, D_MODEL, size=cell)
    for part, role in enumerate(roles):
        left = center + (part - 1) * 0.9 - wide / 2
        pen.arrow(
            (center + (part - 1) * 0.2, y["x"] + tall + 0.05), (left + wide / 2, y["qkv"] - 0.06), role=role
        )
        pen.tiles(left, y["qkv"], n, D_MODEL, size=cell, role=role, shades=[[0.9] * 2 + [0.2] * 2] * n)
        for head in range(N_HEADS):
            to = _slice(center, head, part, slim)
            start = (left + (head + 0.5) * slim, y["qkv"] + tall + 0.04)
            pen.line([start, (to + slim / 2, y["split"] - 0.05)], role=role, width=1.1)
            shade = [[(0.9, 0.2)[head]] * D_HEAD] * n
            pen.tiles(to, y["split"], n, D_HEAD, size=cell, role=role, shades=shade)
    for head in range(N_HEADS):
        q, k, v = (_slice(center, head, part, slim) + slim / 2 for part in range(3))
        grid = (q + k) / 2
        for at, role in ((q, "query"), (k, "key")):
            tip = (grid + (at - grid) * 0.6, y["weights"] - 0.05)
            pen.arrow((at, y["split"] + tall + 0.05), tip, role=role)
        pen.tiles(grid - n * cell / 2, y["weights"], n, n, size=cell, role="query", shades=weights[head])
        pen.line([(v, y["split"] + tall + 0.05), (v, y["out"] - 0.06)], role="value", arrow=True)
        pen.line(
            [
                (grid, y["weights"] + tall + 0.05),
                (grid, y["out"] + tall / 2),
                (v - slim / 2 - 0.05, y["out"] + tall / 2),
            ],
            role="query",
            arrow=True,
        )
        shade = [[(0.9, 0.2)[head]] * D_HEAD] * n
        pen.tiles(v - slim / 2, y["out"], n, D_HEAD, size=cell, role="output", shades=shade)
        end = (center + (head - 0.5) * slim, y["join"] - 0.06)
        pen.arrow((v, y["out"] + tall + 0.05), end, role="output")
    pen.tiles(
        center - wide / 2, y["join"], n, D_MODEL, size=cell, role="output", shades=[[0.9] * 2 + [0.2] * 2] * n
    )
    pen.arrow((center, y["join"] + tall + 0.05), (center, y["y"] - 0.06))
    pen.tiles(center - wide / 2, y["y"], n, D_MODEL, size=cell)
    pen.text(center + 0.08, (y["join"] + tall + y["y"]) / 2, "$W_o$", align="left")
    # A phone has no room for the shapes on the other side: there they stand below the names.
    shape, lower = (0.06, 0.11) if narrow else (3.45, 0.0)
    for name, where in (
        ("tokens", "x"),
        ("project", "qkv"),
        ("split", "split"),
        ("weights", "weights"),
        ("mix", "out"),
        ("join", "join"),
        ("project", "y"),
    ):
        pen.text(0.06, y[where] + tall / 2 - lower, name, align="left", size=10)
    whole, part = "n × d_model", "h × n × d_head"
    for where, said in {
        **dict.fromkeys(y, whole),
        "split": part,
        "weights": "h × n × n",
        "out": part,
    }.items():
        pen.text(shape, y[where] + tall / 2 + lower, f"${said}$", align="left")
    return pen.figure_of(
        "A layer of two heads, from top to bottom. Tokens, n by d_model, are projected to queries, keys "
        "and values of the same shape. Each is split by columns: the first half goes to head 1, the "
        "second to head 2. Each head has weights of its own, n by n, and mixes its own values, n by "
        "d_head. The two outputs are joined side by side to n by d_model, and W_o projects them."
    )


def _slice(center: float, head: int, part: int, slim: float) -> float:
    """Return where the columns of one head begin in the row of queries, keys and values, split."""
    return center + (head - 0.5) * 1.4 + (part - 1) * (slim + 0.07) - slim / 2
