"""The heads workshop: its table holds the numbers of a layer that was built another way."""

import itertools
import json

import pytest
import torch
from torch.nn import functional as F

from attnbook.widgets import HeadsWorkshop
from attnbook.widgets.heads import SENTENCE, example

from .test_widgets import Cells


def by_loops(x, w_q, w_k, w_v, heads, kv_heads):
    """Return outputs and weights of each head: one head at a time, its keys and values averaged by hand."""
    width, share = w_q.shape[1] // heads, heads // kv_heads
    outputs, weights = [], []
    for head in range(heads):
        mine = [slice(h * width, (h + 1) * width) for h in range(heads) if h // share == head // share]
        q = x @ w_q[:, head * width : (head + 1) * width]
        k = sum(x @ w_k[:, at] for at in mine) / share
        v = sum(x @ w_v[:, at] for at in mine) / share
        weights.append(F.softmax(q @ k.T / width**0.5, dim=-1))
        outputs.append(weights[-1] @ v)
    return outputs, weights


@pytest.mark.parametrize(("heads", "kv_heads"), [(1, 1), (2, 1), (4, 2), (8, 8), (8, 4), (8, 2), (8, 1)])
def test_the_figure_holds_the_numbers_of_heads_in_a_loop(heads, kv_heads):
    figure = HeadsWorkshop(heads=heads, kv_heads=kv_heads, token=4, view="share")
    outputs, weights = by_loops(*example()[:4], heads, kv_heads)
    own, _ = by_loops(*example()[:4], heads, heads)
    assert torch.allclose(figure.weights, torch.stack(weights), atol=1e-12)
    assert torch.allclose(figure.output, torch.cat(outputs, -1) @ example()[4], atol=1e-12)
    error = (torch.cat(outputs, -1) - torch.cat(own, -1)).norm() / torch.cat(own, -1).norm()
    assert figure.error == pytest.approx(error.item(), abs=1e-12)
    rows = Cells(figure._repr_html_()).rows
    assert rows[0] == ["head", "K/V head", *SENTENCE, "error"]
    for head, row in enumerate(rows[1 : heads + 1]):
        assert row[:2] == [f"head {head + 1}", str(head * kv_heads // heads + 1)]
        assert [float(cell) for cell in row[2:8]] == pytest.approx(weights[head][4].tolist(), abs=5e-5)
        gap = (outputs[head] - own[head]).norm() / own[head].norm()
        assert float(row[8]) == pytest.approx(gap.item(), abs=5e-5)
    sums = {row[0]: row[1:] for row in rows[heads + 1 : heads + 5]}
    assert float(sums["output error"][0]) == pytest.approx(figure.error, abs=5e-5)
    pairs = list(itertools.combinations(weights, 2))
    common = [torch.minimum(a, b).sum(-1).mean().item() for a, b in pairs] or [1.0]
    assert figure.overlap == pytest.approx(sum(common) / len(common), abs=1e-12)
    if heads == 1:
        assert sums["heads look alike"] == ["–", "–"]
    else:
        assert float(sums["heads look alike"][0]) == pytest.approx(figure.overlap, abs=5e-5)
    assert sums["keys, values a token"] == [str(32 * kv_heads // heads), "32"]


@pytest.mark.parametrize(("heads", "off"), [(8, []), (8, [2, 7]), (8, range(1, 9)), (4, [3]), (1, [1])])
def test_what_is_off_is_missing_from_the_sum_and_changes_nothing_else(heads, off):
    figure = HeadsWorkshop(heads=heads, kv_heads=heads, token=2, off=off)
    x, w_q, w_k, w_v, w_o = example()
    outputs, weights = by_loops(x, w_q, w_k, w_v, heads, heads)
    # As one product: with the columns of a head at zero it can't be heard.
    silent = [torch.zeros_like(out) if at in off else out for at, out in enumerate(outputs, 1)]
    assert torch.allclose(figure.output, torch.cat(silent, -1) @ w_o, atol=1e-12)
    assert torch.allclose(figure.weights, torch.stack(weights), atol=1e-12)
    rows = Cells(figure._repr_html_()).rows
    assert rows[0] == ["head", *SENTENCE]
    assert rows[heads + 1] == ["part of", "is", "o1", "o2", "o3", "o4"]
    share = 16 // heads
    for at, (looks, part) in enumerate(zip(rows[1 : heads + 1], rows[heads + 2 : -1], strict=True), 1):
        assert looks[0] == part[0] == f"head {at}"
        assert [float(cell) for cell in looks[1:]] == pytest.approx(weights[at - 1][2].tolist(), abs=5e-5)
        assert part[1] == ("off" if at in off else "on")
        mine = outputs[at - 1][2] @ w_o[(at - 1) * share : at * share]
        assert [float(cell) for cell in part[2:]] == pytest.approx(mine.tolist(), abs=5e-5)
    assert [float(cell) for cell in rows[-1][2:]] == pytest.approx(figure.output[2].tolist(), abs=5e-5)


def test_what_the_chapter_says_of_the_parts():
    parts = HeadsWorkshop().parts
    takes_away = (parts[:, 2] < 0).all(-1)
    assert takes_away.nonzero().flatten().tolist() == [5]  # head 6 alone
    assert (parts[0, 2] > 0).all()


def test_each_of_the_eight_heads_looks_where_it_is_said_to_look():
    weights = HeadsWorkshop().weights
    middle = weights[:4, 2]  # the third word has two on each side
    assert middle.argmax(-1).tolist() == [1, 3, 0, 4]
    assert middle.amax(-1).min() > 0.8
    assert weights[4, 1].topk(2).indices.sort().values.tolist() == [
        1,
        4,
    ]  # its own word, twice in the sentence
    assert weights[5].topk(2, -1).indices.sort(-1).values.tolist() == [[1, 4]] * 6
    assert weights[6].topk(3, -1).indices.sort(-1).values.tolist() == [[0, 3, 5]] * 6
    assert weights[7].max() < 0.4


def test_two_heads_in_one_cannot_look_both_ways():
    merged = HeadsWorkshop(heads=4, kv_heads=4).weights
    assert merged[0].argmax(-1).tolist() == list(range(6))  # one back plus one ahead: itself
    assert torch.allclose(merged[1], torch.full((6, 6), 1 / 6, dtype=torch.float64), atol=0.01)


def test_the_angle_of_a_head_changes_no_score_of_its_own():
    x, w_q, w_k, w_v, _ = example()
    angle = torch.tensor(0.7, dtype=torch.float64)
    turn = torch.stack((torch.stack((angle.cos(), angle.sin())), torch.stack((-angle.sin(), angle.cos()))))
    q, k = w_q.clone(), w_k.clone()
    q[:, :2], k[:, :2] = q[:, :2] @ turn, k[:, :2] @ turn
    assert torch.allclose(HeadsWorkshop(x, q, k, w_v).weights, HeadsWorkshop().weights, atol=1e-12)
    assert HeadsWorkshop(x, q, k, w_v, kv_heads=4).error != pytest.approx(
        HeadsWorkshop(kv_heads=4).error, abs=0.01
    )


def test_settings_are_the_state_and_stay_small():
    figure = HeadsWorkshop(heads=4, kv_heads=1, token=2, off=(4, 1), view="share")
    settings = json.loads(Cells(figure._repr_html_()).figure["data-settings"])
    assert settings == figure.settings()
    assert (settings["heads"], settings["kv_heads"], settings["token"]) == (4, 1, 2)
    assert (settings["off"], settings["view"]) == ([1, 4], "share")
    assert len(json.dumps(settings)) < 9000


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"heads": 3}, "heads must be 1, 2, 4 or 8, got 3"),
        ({"heads": 2, "kv_heads": 4}, "kv_heads must be 1, 2, 4 or 8 and at most heads = 2, got 4"),
        ({"token": 6}, "token must be from 0 to 5, got 6"),
        ({"tokens": ["a"]}, "tokens must name the 6 rows of x, got 1 names"),
        ({"w_k": [[1.0] * 8] * 16}, r"w_k must have shape \(d_model = 16, width\).* got \(16, 8\)"),
        ({"heads": 4, "kv_heads": 4, "off": [5]}, r"off must name heads from 1 to 4, got \[5\]"),
        ({"view": "both"}, 'view must be "sum" or "share", got \'both\''),
        ({"w_o": [[1.0] * 4] * 8}, r"w_o must have shape \(width = 16, d_out\), got \(8, 4\)"),
        ({"w_q": [[1.0] * 9] * 16}, r"w_q must have shape .* divisible by 8; got \(16, 9\)"),
    ],
)
def test_bad_input_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        HeadsWorkshop(**changes)
