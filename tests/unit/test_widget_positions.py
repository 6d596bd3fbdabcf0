"""The Python side of the figure "positions": its numbers against loops, its table, its errors."""

import json
import math
import re
from itertools import permutations
from pathlib import Path

import pytest
import torch

from attnbook.widgets import PositionsLab

from .test_widgets import Cells

SCHEMES = ("none", "sinusoidal", "learned", "rotary", "alibi", "relative")


def by_hand(figure, asks, answers, m, n):
    """Score one pair in plain loops."""

    def view(token, place, w):
        row = list(figure.x[token])
        for i in range(4):
            angle = place * figure.base ** (-(i - i % 2) / 4)
            if figure.scheme == "sinusoidal":
                row[i] += (math.sin, math.cos)[i % 2](angle)
            if figure.scheme == "learned":
                row[i] += figure.learned[place][i]
        out = [sum(row[i] * w[i][j] for i in range(4)) for j in range(4)]
        if figure.scheme == "rotary":
            for i in (0, 2):
                turn = complex(
                    math.cos(place * figure.base ** (-i / 4)), math.sin(place * figure.base ** (-i / 4))
                )
                turned = complex(out[i], out[i + 1]) * turn
                out[i], out[i + 1] = turned.real, turned.imag
        return out

    q, k = view(asks, m, figure.wq), view(answers, n, figure.wk)
    extra = 0.0
    if figure.scheme == "alibi":
        extra = -0.5 * abs(m - n)
    if figure.scheme == "relative":
        extra = figure.relative[min(max(n - m, -4), 4) + 4]
    return sum(a * b for a, b in zip(q, k, strict=True)) / 2 + extra


@pytest.mark.parametrize("scheme", SCHEMES)
def test_only_without_positions_do_the_twins_agree(scheme):
    figure = PositionsLab(scheme, order=[3, 0, 1, 2])
    out = figure.output
    assert torch.allclose(out[0], out[2], atol=1e-12) == (scheme == "none")
    scores = [
        [by_hand(figure, i, j, m, n) for n, j in enumerate(figure.order)] for m, i in enumerate(figure.order)
    ]
    torch.testing.assert_close(figure.weights, torch.tensor(scores, dtype=torch.float64).softmax(-1))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_change_is_against_the_sentence_as_written(scheme):
    figure, order = PositionsLab(scheme), [2, 0, 1, 3]
    written = figure.output
    assert torch.equal(figure.change, torch.zeros(4, dtype=torch.float64))
    figure.order = order
    by_hand = [
        math.dist(figure.output[place].tolist(), written[token].tolist()) for place, token in enumerate(order)
    ]
    assert figure.change.tolist() == pytest.approx(by_hand, abs=1e-12)
    assert (figure.change.max() > 0.1) == (scheme != "none")


def test_the_table_holds_the_outputs_and_their_change():
    figure = PositionsLab("rotary", order=[2, 0, 1, 3])
    cells = Cells(figure._repr_html_())
    assert json.loads(cells.figure["data-settings"]) == figure.settings()
    assert cells.rows[0] == ["place", "token", "output 1", "output 2", "change"]
    assert [row[:2] for row in cells.rows[1:]] == [["0", "a"], ["1", "I"], ["2", "saw₁"], ["3", "saw₂"]]
    got = torch.tensor([[float(cell) for cell in row[2:]] for row in cells.rows[1:]])
    want = torch.cat((figure.output, figure.change[:, None]), -1).float()
    torch.testing.assert_close(got, want, atol=6e-5, rtol=0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scheme": "clock"}, "scheme must be one of none, .*; got 'clock'"),
        ({"tokens": ("I", "ran")}, r"x must be given for words other than I, saw, a; got \['ran'\]"),
        ({"x": [[1.0, 2.0]]}, r"x must have shape \(tokens, 4\) = \(4, 4\), got \(1, 2\)"),
        ({"order": [0, 1, 2, 2]}, "order must hold each of 0 to 3 once"),
        ({"tokens": ("a",) * 9}, "tokens must be 1 to 8 words, got 9"),
    ],
)
def test_bad_input_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        PositionsLab(**changes)


def test_at_the_short_pages_base_every_arrow_is_seen_wherever_its_word_goes():
    source = (Path(__file__).parents[2] / "chapters/five_minutes.ipynb").read_text(encoding="utf-8")
    (base,) = re.findall(r'PositionsLab\(\\"none\\", base=(\d+), only=True\)', source)
    lengths = torch.stack(
        [
            PositionsLab("rotary", base=float(base), order=order).output.norm(dim=-1)
            for order in permutations(range(4))
        ]
    )
    assert lengths.min() > 0.2 * lengths.max()
