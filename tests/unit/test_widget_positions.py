"""The Python side of the figure "positions": its numbers against loops, its table, its errors."""

import json
import math

import pytest
import torch

from attnlab.widgets import PositionsLab

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
def test_scores_are_what_loops_give(scheme):
    figure = PositionsLab(scheme, m=17, n=20, asks=1, answers=0)
    assert figure.score == pytest.approx(by_hand(figure, 1, 0, 17, 20), abs=1e-12)
    scores = figure.scores(3, 2)
    for m, n in ((0, 0), (0, 31), (31, 0), (5, 4)):
        assert float(scores[m, n]) == pytest.approx(by_hand(figure, 3, 2, m, n), abs=1e-12)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_only_without_positions_do_the_twins_agree(scheme):
    figure = PositionsLab(scheme, order=[3, 0, 1, 2])
    out = figure.output
    assert torch.allclose(out[0], out[2], atol=1e-12) == (scheme == "none")
    scores = [
        [by_hand(figure, i, j, m, n) for n, j in enumerate(figure.order)] for m, i in enumerate(figure.order)
    ]
    torch.testing.assert_close(figure.weights, torch.tensor(scores, dtype=torch.float64).softmax(-1))


def test_the_table_holds_the_outputs_and_the_curve():
    figure = PositionsLab("rotary", m=5, n=2, order=[2, 0, 1, 3])
    cells = Cells(figure._repr_html_())
    assert json.loads(cells.figure["data-settings"]) == figure.settings()
    assert cells.rows[0] == ["place", "token", "output 1", "output 2"]
    assert [row[1] for row in cells.rows[1:5]] == ["a", "I", "saw₁", "saw₂"]
    got = [[float(cell) for cell in row[2:]] for row in cells.rows[1:5]]
    torch.testing.assert_close(torch.tensor(got), figure.output.float(), atol=6e-5, rtol=0)
    assert cells.rows[5] == ["key minus query", *(f"query at {m}" for m in (5, 0, 10, 21, 31))]
    curve = {int(row[0]): row[1:] for row in cells.rows[6:]}
    assert sorted(curve) == list(range(-12, 13))
    assert float(curve[-3][0]) == pytest.approx(figure.score, abs=6e-5)
    assert curve[-6][0] == curve[-1][1] == curve[1][4] == ""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scheme": "clock"}, "scheme must be one of none, .*; got 'clock'"),
        ({"tokens": ("I", "ran")}, r"x must be given for words other than I, saw, a; got \['ran'\]"),
        ({"x": [[1.0, 2.0]]}, r"x must have shape \(tokens, 4\) = \(4, 4\), got \(1, 2\)"),
        ({"order": [0, 1, 2, 2]}, "order must hold each of 0 to 3 once"),
        ({"m": 32}, "m must be from 0 to 31, got 32"),
        ({"n": -1}, "n must be from 0 to 31, got -1"),
        ({"asks": 4}, "asks must be from 0 to 3, got 4"),
    ],
)
def test_bad_input_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        PositionsLab(**changes)
