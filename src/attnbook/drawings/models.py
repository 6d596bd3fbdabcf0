"""Whole models: what passes from an encoder to a decoder, and a Transformer's layer, uncovered."""

from __future__ import annotations

import torch
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.drawings.pen import Pen
from attnlab import scores

STATES = (0.5, 1.35, 2.2, 3.05)
"""Where the encoder's four states stand."""


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
    pen = Pen(4.2, 5.1, narrow)
    x = 1.15
    pen.box(0.35, 0.1, 1.6, 0.34, "words + places")
    for start, end in ((0.44, 1.8), (2.04, 3.15), (3.39, 3.6)):
        pen.line([(x, start), (x, end)], width=3, alpha=0.45)
    pen.text(x + 0.12, 0.66, "$n × d_model$", align="left")
    for top, part, what in (
        (1.1, "attention", "tokens hear each other"),
        (2.45, "feed-forward", "each token by itself"),
    ):
        pen.dot(x, top, radius=0.045)
        pen.arrow((x, top), (1.6, top))
        pen.box(1.63, top - 0.17, 0.62, 0.34, "norm")
        pen.arrow((2.25, top), (2.62, top))
        pen.box(2.65, top - 0.17, 1.3, 0.34, part, role="accent")
        pen.text(3.2, top + 0.44, what, align="right", size=10)
        # The ring is as round on every sheet, so the tip is as near to it.
        ring = x + 0.13 / pen.apart
        pen.line([(3.3, top + 0.17), (3.3, top + 0.82), (ring, top + 0.82)], arrow=True)
        pen.dot(x, top + 0.82, radius=0.12, text="+")
    pen.bracket((0.72, 3.5), (0.72, 0.85))
    pen.text(0.34, 2.18, "$N$ ×")
    pen.arrow((x, 3.6), (x, 3.84), width=1.2)
    pen.box(x - 0.5, 3.86, 1.0, 0.34, "norm")
    pen.arrow((x, 4.2), (x, 4.4))
    pen.box(x - 0.5, 4.42, 1.0, 0.34, "linear")
    pen.arrow((x + 0.5, 4.59), (2.05, 4.59))
    pen.text(2.12, 4.59, "the next word", align="left")
    return pen.figure_of(
        "A Transformer that writes. The embedded words, with their places, enter a stream of n by "
        "d_model numbers. Each of N layers has two side roads: norm, then attention, in which tokens "
        "hear each other; and norm, then feed-forward, which works on each token by itself. What comes "
        "out of each is added to the stream. After the last layer come a norm and a linear map, which "
        "give the scores of the next word."
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
    pen = Pen(4.3, 5.05, narrow)
    wide, high, enter = 1.36, 0.32, 0.5
    left, right = 1.1, 3.2
    towers = (
        (left, -1, "encoder", (("attention", 0.8), ("feed-forward", 1.85)), 2.72),
        (
            right,
            1,
            "decoder",
            (("causal attention", 0.8), ("cross-attention", 2.56), ("feed-forward", 3.6)),
            4.56,
        ),
    )
    for x, side, title, parts, end in towers:
        pen.text(x, 0.16, f"{title}, $N$ ×")
        last = parts[-1][1] + 0.78
        edges = sorted((x - side * (wide / 2 + 0.1), x + side * (wide / 2 + 0.27)))
        pen.frame(edges[0], enter - 0.12, edges[1] - edges[0], last - enter + 0.12, alpha=0.5)
        above = 0.3
        for part, top in parts:
            pen.arrow((x, above), (x, top - 0.02), role="query" if part == "cross-attention" else None)
            pen.box(x - wide / 2, top, wide, high, part, role="accent", size=10)
            pen.line([(x, top + high), (x, top + 0.43)])
            pen.box(x - 0.5, top + 0.44, 1.0, 0.26, "add, norm", size=10)
            # The stream goes round the part, and what the part found is added to it.
            around, fork = x + side * (wide / 2 + 0.14), top - 0.16
            pen.line(
                [(x, fork), (around, fork), (around, top + 0.57), (x + side * 0.52, top + 0.57)], arrow=True
            )
            above = top + 0.7
        if side == 1:
            pen.arrow((x, above), (x, end - 0.02))
            pen.box(x - wide / 2, end, wide, high, "linear", size=10)
    meet, foot = 2.75, 1.85 + 0.7
    for role, shift in (("key", -0.045), ("value", 0.045)):
        pen.line(
            [(left - shift, foot), (left - shift, meet + shift), (right - wide / 2 - 0.03, meet + shift)],
            role=role,
            arrow=True,
        )
    pen.text(left - 0.2, 2.95, "keys", role="key", align="left")
    pen.text(left + 0.3, 2.95, "values", role="value", align="left")
    pen.text(right - 0.1, 1.95, "queries", role="query", align="right")
    return pen.figure_of(
        "The first Transformer. Each of N encoder layers has attention and feed-forward; each of N "
        "decoder layers has causal attention, cross-attention and feed-forward. The stream goes round "
        "every part, what the part found is added to it, and a norm follows. In cross-attention the "
        "queries come from the decoder, the keys and values from the end of the encoder. A linear map "
        "ends the decoder."
    )
