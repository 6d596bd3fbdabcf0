"""The Python side of the figure "rope": its numbers against complex ones, its table, its errors."""

import cmath
import json
import math

import pytest
import torch

from attnbook.widgets import RopeDial

from .test_widgets import Cells


def arrows(figure, vector, place):
    """Write a vector at a place as complex numbers, one a pair: they turn, or a hand is added."""
    d = len(vector)
    speeds = [figure.base ** (-i / d) for i in range(0, d, 2)]
    pairs = [complex(vector[i], vector[i + 1]) for i in range(0, d, 2)]
    if figure.scheme == "rotary":
        return [pair * cmath.exp(1j * speed * place) for pair, speed in zip(pairs, speeds, strict=True)]
    hands = [complex(math.sin(speed * place), math.cos(speed * place)) for speed in speeds]
    return [pair + hand for pair, hand in zip(pairs, hands, strict=True)]


@pytest.mark.parametrize("scheme", ["rotary", "sinusoidal"])
@pytest.mark.parametrize(("m", "n"), [(12, 9), (0, 31), (7, 7)])
def test_angles_parts_and_scores_are_those_of_complex_numbers(scheme, m, n):
    figure = RopeDial(scheme, m=m, n=n)
    q, k = arrows(figure, figure.q, m), arrows(figure, figure.k, n)
    angles = [cmath.phase(b / a) for a, b in zip(q, k, strict=True)]
    parts = [(a.conjugate() * b).real / math.sqrt(8) for a, b in zip(q, k, strict=True)]
    assert figure.angles.tolist() == pytest.approx(angles, abs=1e-12)
    assert figure.parts.tolist() == pytest.approx(parts, abs=1e-12)
    assert figure.score == pytest.approx(sum(parts), abs=1e-12)
    for place in (0, 13, 31):
        there = arrows(figure, figure.k, place)
        score = sum((a.conjugate() * b).real for a, b in zip(q, there, strict=True)) / math.sqrt(8)
        assert figure.curve[place].item() == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize("scheme", ["rotary", "sinusoidal"])
def test_when_both_move_only_ropes_angles_and_score_stay(scheme):
    figure = RopeDial(scheme, m=5, n=2)
    angles, score = figure.angles, figure.score
    figure.m, figure.n = 25, 22
    assert torch.allclose(figure.angles, angles, atol=1e-12) == (scheme == "rotary")
    assert (abs(figure.score - score) < 1e-12) == (scheme == "rotary")
    figure.n = 21
    assert not torch.isclose(figure.angles, angles, atol=1e-3).any()


def test_the_table_holds_the_pairs_and_the_curve():
    figure = RopeDial(m=4, n=9, pair=2)
    cells = Cells(figure._repr_html_())
    assert json.loads(cells.figure["data-settings"]) == figure.settings()
    assert cells.rows[0] == ["pair", "speed", "angle", "part of the score"]
    assert [row[:2] for row in cells.rows[1:5]] == [
        ["1", "1.0000"],
        ["2", "0.3162"],
        ["3", "0.1000"],
        ["4", "0.0316"],
    ]
    got = torch.tensor([[float(cell) for cell in row[2:]] for row in cells.rows[1:5]])
    torch.testing.assert_close(got, torch.stack((figure.angles, figure.parts), -1).float(), atol=6e-5, rtol=0)
    assert cells.rows[5] == ["key at", "score"]
    curve = {int(row[0]): float(row[1]) for row in cells.rows[6:]}
    assert list(curve) == list(range(32))
    assert curve[9] == pytest.approx(figure.score, abs=6e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scheme": "alibi"}, "scheme must be one of rotary, sinusoidal; got 'alibi'"),
        ({"q": [1.0, 2.0]}, "q and k must be rows of numbers, all of one length"),
        ({"q": [1.0], "k": [1.0]}, "q and k must have an even number of entries, got 1"),
        ({"words": ("saw",)}, "words must name the query's word and the key's"),
        ({"base": 0.0}, "base must be positive, got 0.0"),
        ({"m": 32}, "m must be from 0 to 31, got 32"),
        ({"n": -1}, "n must be from 0 to 31, got -1"),
        ({"pair": 4}, "pair must be from 0 to 3, got 4"),
    ],
)
def test_bad_input_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        RopeDial(**changes)
