"""Whole models: what passes from an encoder to a decoder, and a Transformer's layer, uncovered."""

from __future__ import annotations

import torch
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.drawings.pen import Pen
from attnlab import scores

STATES = (0.5, 1.35, 2.2, 3.05)
"""Where the encoder's four states stand."""
HEAVY = 2.4
"""Points of the lines of a layer, heavy as in the interactive block."""


def asked_states() -> Tensor:
    """Weigh four states of one number, -3, -1, 1 and 3, by the additive score of one that asks for -1.

    Returns:
        Weights (4,).

    References:
        Bahdanau et al. 2015, section 3.1.

    >>> asked_states().argmax().item()
    1
    """
    h = torch.tensor([[-3.0], [-1.0], [1.0], [3.0]], dtype=torch.float64)
    # A bump over s - h = 0, from two hidden units: on above -1, and taken away above 1.
    ones = torch.ones(1, 2, dtype=torch.float64)
    asks = torch.tensor([[1.0, 1.0], [1.0, -1.0]], dtype=torch.float64)
    s, v = (
        torch.tensor([[-1.0, 1.0]], dtype=torch.float64),
        2 * torch.tensor([1.0, -1.0], dtype=torch.float64),
    )
    return scores.softmax(scores.additive(s, h, asks, -ones, v))[0]


def encoder_decoder(narrow: bool = False) -> Figure:
    """Draw two ways from a text read to a text written: over one vector, and by asking every state.

    Args:
        narrow: for a phone.

    Returns:
        The figure, labelled with its alt text.

    References:
        Cho et al. 2014; Bahdanau et al. 2015, section 3.

    >>> "one vector" in encoder_decoder().get_label()
    True
    """
    # One below the other on a phone, else side by side.
    pen, (right, below) = (Pen(4.3, 6.0, narrow), (0.0, 3.2)) if narrow else (Pen(8.7, 2.98), (4.4, 0.12))
    weights = asked_states()
    box, high = 0.46, 0.34
    asked = [right + at for at in STATES]
    for states, top, title in ((STATES, 0.12, "over one vector"), (asked, below, "asking every state")):
        pen.text(states[0] - 0.4, top + 0.03, title, align="left")
        for j, at in enumerate(states):
            pen.text(at, top + 0.33, f"$x_{j + 1}$", size=10)
            pen.arrow((at, top + 0.46), (at, top + 0.65))
            pen.box(at - box / 2, top + 0.68, box, high, role="value")
            pen.text(at, top + 0.85, f"$h_{j + 1}$", role="value")
            if j:
                start, end = states[j - 1] + box / 2 + 0.02, at - box / 2 - 0.03
                both = title == "asking every state"
                pen.arrow((start, top + (0.79 if both else 0.85)), (end, top + (0.79 if both else 0.85)))
                if both:  # read from the right as well
                    pen.arrow((end + 0.01, top + 0.91), (start + 0.01, top + 0.91))
        pen.text(states[3] + 0.45, top + 0.85, "encoder", align="left", size=10)
        pen.text(states[3] + 0.45, top + 2.15, "decoder", align="left", size=10)
        for t, at in enumerate(states[:3]):
            pen.box(at - box / 2, top + 1.98, box, high, role="query")
            pen.text(at, top + 2.15, f"$s_{t + 1}$", role="query")
            pen.arrow((at, top + 2.35), (at, top + 2.5))
            pen.text(at, top + 2.62, f"$y_{t + 1}$", size=10)
            if t:
                pen.arrow((states[t - 1] + box / 2 + 0.02, top + 2.15), (at - box / 2 - 0.03, top + 2.15))
                # The word just written is read at the next step.
                pen.arrow((states[t - 1] + 0.17, top + 2.6), (at - box / 2 + 0.04, top + 2.35), dashed=True)
    # One vector, made from the last state, and read at every step.
    top = 0.12
    pen.box(STATES[3] - 0.17, top + 1.28, 0.34, high, "$c$", role="output")
    pen.arrow((STATES[3], top + 1.04), (STATES[3], top + 1.25), role="output")
    pen.line([(STATES[3] - 0.19, top + 1.45), (STATES[0], top + 1.45)], role="output")
    for at in STATES[:3]:
        pen.arrow((at, top + 1.45), (at, top + 1.95), role="output")
    # The first state asks them all; what it hears makes the second.
    top, to = below, (asked[1], below + 1.68)
    lead = asked[0] - 0.36
    pen.line(
        [(asked[0] - box / 2, top + 2.15), (lead, top + 2.15), (lead, top + 1.16), (asked[3], top + 1.16)],
        role="query",
    )
    for at, weight in zip(asked, weights.tolist(), strict=True):
        pen.line([(at, top + 1.02), (at, top + 1.16)], role="value")
        pen.dot(at, top + 1.16, role="query")
        pen.arrow(
            (at, top + 1.16),
            (to[0] + 0.06 * (at - to[0]), to[1] - 0.13),
            role="output",
            width=0.8 + 5 * round(weight, 3),
            head=False,
        )
    pen.text(*to, "$c_2$", role="output")
    pen.arrow((to[0], to[1] + 0.14), (to[0], top + 1.95), role="output")
    shares = ", ".join(f"{weight:.2f}" for weight in weights.tolist())
    return pen.figure_of(
        "Two encoder-decoders. In both an encoder reads four tokens, each state made from a token and "
        "the state before, and a decoder writes three, each of which it reads at its next step. First, "
        "one vector c is made from the last state, and every step of the decoder reads it. Then the "
        "encoder reads from the right, too, and before its second step the decoder's state asks every state "
        f"of the encoder; weighed by {shares}, they are mixed into a vector for this step alone."
    )


def stack(narrow: bool = False) -> Figure:
    """Draw a Transformer that writes, uncovered: one layer around its stream, its norms before its parts.

    Args:
        narrow: for a phone.

    Returns:
        The figure, labelled with its alt text.

    References:
        Vaswani et al. 2017, figure 1; Xiong et al. 2020, figure 1 (norms before).

    >>> "norm, then attention" in stack().get_label()
    True
    """
    pen, left = (Pen(4.2, 5.1, narrow), 0.0) if narrow else (Pen(6.9, 5.1), 1.35)
    x, part, wide, high, ring = left + 0.95, left + 2.9, 1.9, 0.34, 0.14
    pen.box(left + 0.1, 0.68, 4.0, 3.52, fill=0.06, line=0)
    _box(pen, x, 0.1, 1.5, "words + places")
    pen.text(x + 0.14, 0.88, "$n × d_model$", align="left")
    pen.text(left + 4.0, 0.88, "in each of $N$ layers", align="right")
    above = 0.1 + high
    for fork, name, what, role in (
        (1.14, "attention", "tokens hear each other", "query"),
        (2.72, "feed-forward network", "each token by itself", None),
    ):
        norm, does = fork + 0.14, fork + 0.62
        back = does + high + 0.16
        pen.line([(x, above), (x, back - ring)], width=HEAVY)
        pen.line([(x, fork), (part, fork), (part, norm)], width=HEAVY)
        _box(pen, part, norm, wide, "norm")
        pen.line([(part, norm + high), (part, does)], width=HEAVY)
        _box(pen, part, does, wide, name, role)
        pen.line([(part, does + high), (part, back), (x + ring, back)], width=HEAVY, arrow=True)
        pen.dot(x, back, radius=ring, text="+", line=HEAVY)
        pen.text(x + 0.22, back + 0.2, what, align="left")
        above = back + ring
    pen.arrow((x, above), (x, 4.44), width=HEAVY)
    _box(pen, x, 4.46, 0.8, "norm")
    pen.line([(x + 0.4, 4.63), (x + 0.66, 4.63)], width=HEAVY)
    _box(pen, x + 1.06, 4.46, 0.8, "linear")
    pen.arrow((x + 1.46, 4.63), (x + 1.84, 4.63), width=HEAVY)
    pen.text(x + 1.92, 4.63, "the next word", align="left")
    return pen.figure_of(
        "A Transformer that writes. The embedded words, with their places, enter a stream of n by "
        "d_model numbers. Each of N layers has two side roads: norm, then attention, in which tokens "
        "hear each other; and norm, then a feed-forward network, which works on each token by itself. "
        "What comes out of each is added to the stream. After the last layer come a norm and a linear "
        "map, which give the scores of the next word."
    )


def two_stacks(narrow: bool = False) -> Figure:
    """Draw the first Transformer uncovered: an encoder beside a decoder, their norms after their parts.

    Args:
        narrow: for a phone.

    Returns:
        The figure, labelled with its alt text.

    References:
        Vaswani et al. 2017, figure 1.

    >>> "cross-attention" in two_stacks().get_label()
    True
    """
    pen = Pen(4.3, 5.2, narrow)
    wide, high, enter = 1.74, 0.34, 0.5
    left, right, network = 1.1, 3.2, "feed-forward network"
    towers = (
        (left, -1, "encoder", (("attention", 0.84), (network, 2.0)), 0.0),
        (right, 1, "decoder", (("causal attention", 0.84), ("cross-attention", 2.72), (network, 3.88)), 4.96),
    )
    for x, side, title, parts, end in towers:
        edges = sorted((x - side * (wide / 2 + 0.06), x + side * (wide / 2 + 0.2)))
        foot = parts[-1][1] + 2 * high + 0.2
        pen.box(edges[0], enter - 0.14, edges[1] - edges[0], foot - enter + 0.14, fill=0.06, line=0)
        pen.text(x, 0.12, f"{title}, $N$ ×")
        above = 0.26
        for part, top in parts:
            crossed, heard = part == "cross-attention", part != network
            pen.arrow((x, above), (x, top - 0.02), role="query" if crossed else None, width=HEAVY)
            _box(pen, x, top, wide, part, "query" if heard else None)
            pen.line([(x, top + high), (x, top + high + 0.1)], width=HEAVY)
            _box(pen, x, top + high + 0.1, 1.2, "add, norm")
            # The stream goes round the part, and what the part found is added to it.
            around, fork, back = x + side * (wide / 2 + 0.12), top - 0.24, top + 1.5 * high + 0.1
            pen.line(
                [(x, fork), (around, fork), (around, back), (x + side * 0.62, back)], width=HEAVY, arrow=True
            )
            above = top + 2 * high + 0.1
        if end:
            pen.arrow((x, above), (x, end - 0.02), width=HEAVY)
            _box(pen, x, end, wide, "linear")
    meet, foot = 2.72 + high / 2, 2.0 + 2 * high + 0.1
    for role, shift in (("key", -0.05), ("value", 0.05)):
        ways = [(left - shift, foot), (left - shift, meet + shift), (right - wide / 2 - 0.03, meet + shift)]
        pen.line(ways, role=role, width=HEAVY, arrow=True)
    pen.text(left - 0.2, 3.2, "keys", role="key", align="left")
    pen.text(left + 0.3, 3.2, "values", role="value", align="left")
    pen.text(right - 0.1, 1.95, "queries", role="query", align="right")
    return pen.figure_of(
        "The first Transformer. Each of N encoder layers has attention and a feed-forward network; each of N "
        "decoder layers has causal attention, cross-attention and such a network. The stream goes round "
        "every part, what the part found is added to it, and a norm follows. In cross-attention the "
        "queries come from the decoder, the keys and values from the end of the encoder. A linear map "
        "ends the decoder."
    )


def _box(pen: Pen, x: float, y: float, wide: float, name: str, role: str | None = None) -> None:
    """Draw a part of a layer, in the middle of x: its box is empty, as the interactive one's is."""
    pen.box(x - wide / 2, y, wide, 0.34, name, role=role, fill=0.1 if role else 0.0, line=HEAVY)
