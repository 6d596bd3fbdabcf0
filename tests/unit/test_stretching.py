"""Stretching a trained model: the speeds, the task, the controls, and the stored numbers."""

import json
import math
from pathlib import Path
from typing import get_args

import pytest
import torch

from attnbook.experiments import Comparison, stretching
from attnlab import attention, positions
from attnlab.masks import causal, window

STORED_AT = Path(__file__).parents[2] / "benchmarks/results"
STORED = json.loads((STORED_AT / "stretching.json").read_text())
READ = Comparison.from_dict(STORED["sweeps"]["trained on 32"])["RoPE"]


@pytest.fixture
def model():
    torch.manual_seed(0)
    return stretching.Repeater().eval()


def test_ends_of_the_speeds():
    d, base, trained, factor = 128, 10000.0, 4096, 4
    plain = torch.tensor([base ** (-2 * i / d) for i in range(d // 2)], dtype=torch.float64)
    options = {"base": base, "trained": trained, "factor": factor}
    divided = {way: plain / stretching.stretched(way, d, **options)[0] for way in get_args(stretching.Way)}
    assert torch.allclose(divided["as it is"], torch.ones(64, dtype=torch.float64))
    assert torch.allclose(divided["interpolation"], torch.full((64,), 4.0, dtype=torch.float64))
    larger = divided["larger base"]
    assert larger[0].item() == pytest.approx(1)
    assert larger[-1].item() == pytest.approx(4)
    assert torch.allclose(larger[1:] / larger[:-1], torch.full((63,), 4 ** (1 / 63), dtype=torch.float64))
    rounds = trained * plain / (2 * math.pi)
    chosen = divided["larger base, chosen"]
    assert chosen[0].item() == pytest.approx(1)
    assert chosen[-1].item() == pytest.approx(stretching.LARGER)
    assert torch.equal(divided["slow pairs"], torch.where(rounds >= 1, 1.0, 4.0).double())
    kept = stretching.KEPT_FROM
    assert torch.allclose(divided["by parts"][rounds >= kept], torch.tensor(1.0, dtype=torch.float64))
    assert torch.allclose(divided["by parts"][rounds <= 1], torch.tensor(4.0, dtype=torch.float64))
    assert (divided["by parts"].diff() >= -1e-12).all()
    assert torch.equal(divided["by parts"], divided["by parts, sharper"])
    # YaRN: the scores grow by the square of what queries and keys are multiplied by.
    assert stretching.stretched("by parts, sharper", d, **options)[1] == pytest.approx(0.1 * math.log(4) + 1)


def test_unstretched_it_turns_as_the_package_does():
    q, k = torch.randn(2, 1, 2, 7, 32)
    turned = stretching.Turn(stretching.stretched("as it is", 32)[0])(q, k)
    for got, x in zip(turned, (q, k), strict=True):
        assert torch.allclose(got, positions.rotary(x, base=stretching.BASE), atol=1e-5)
    slower = stretching.Turn(stretching.stretched("interpolation", 32)[0])(q, k)[0]
    assert torch.allclose(slower, positions.rotary(q, torch.arange(7) / 4, base=stretching.BASE), atol=1e-5)


def test_a_cut_beyond_all_distances_changes_nothing(model):
    ids = torch.randint(stretching.WORDS, (2, 20))
    assert torch.allclose(model(ids, cut=19), model(ids), atol=1e-4)
    assert torch.allclose(model(ids, within=19), model(ids), atol=1e-4)
    assert not torch.allclose(model(ids, cut=5), model(ids), atol=1e-2)


def test_a_cut_distance_is_taken_pair_by_pair(model):
    layer, x = model.layers[0], torch.randn(1, 9, stretching.D_MODEL)
    heads = [p(x).unflatten(-1, (2, 32)).transpose(1, 2) for p in (layer.q_proj, layer.k_proj, layer.v_proj)]
    out = torch.zeros(1, 2, 9, 32)
    for m in range(9):
        where = torch.tensor([m - min(m - n, 3) for n in range(m + 1)])
        q = positions.rotary(heads[0][..., m : m + 1, :], torch.tensor([m]), base=stretching.BASE)
        k = positions.rotary(heads[1][..., : m + 1, :], where, base=stretching.BASE)
        out[..., m : m + 1, :] = attention(q, k, heads[2][..., : m + 1, :])
    want = layer.out_proj(out.transpose(1, 2).flatten(-2))
    assert torch.allclose(stretching.attend_cut(layer, x, 3), want, atol=1e-5)


def test_hidden_keys_are_hidden(model):
    ids = torch.randint(stretching.WORDS, (1, 12))
    other = ids.clone()
    other[0, 0] = (other[0, 0] + 1) % stretching.WORDS
    changed = (model(ids, within=2) - model(other, within=2)).abs().amax((0, 2)) > 1e-6
    reach = (window(12, 2, 0) & causal(12)).float()
    assert changed.tolist() == ((reach @ reach)[:, 0] > 0).tolist()


def test_texts_repeat_and_only_known_words_count():
    ids, following, known = stretching.draw(50, 64, torch.Generator().manual_seed(1))
    sizes = []
    for text, after, where in zip(ids, following, known, strict=True):
        size = int(where.int().argmax())
        sizes.append(size)
        assert where.tolist() == [at >= size for at in range(64)]
        assert text[:size].unique().numel() == size
        assert torch.equal(text[size:], text[:-size])
        assert torch.equal(after[:-1], text[1:])
    assert 8 <= min(sizes) < 16
    assert 40 < max(sizes) <= 48


def test_the_stored_results_say_where_they_come_from():
    assert STORED["made by"] == "python benchmarks/stretching.py"
    for name, value in STORED["settings"].items():
        assert getattr(stretching, name.upper()) == value
    assert len(READ.runs) == len(STORED["seeds"]) == 5
    assert not READ.edge


def test_what_was_left_open_was_chosen_with_other_models():
    tried = STORED["chosen with other models"]
    for name, chosen, grid in (
        ("kept from", stretching.KEPT_FROM, stretching.KEPT_FROMS),
        ("larger", stretching.LARGER, stretching.LARGERS),
    ):
        assert list(map(float, tried[name])) == list(grid)
        assert float(max(tried[name], key=tried[name].get)) == chosen
        assert grid[0] < chosen < grid[-1]


def test_choosing_tries_every_number_and_trains_as_told(monkeypatch):
    for name, value in {"STEPS": 20, "KEPT_FROMS": (2.0, 5.0), "LARGERS": (4.0,)}.items():
        monkeypatch.setattr(stretching, name, value)
    once = stretching.choose(0.0025, [7])
    assert {name: list(tried) for name, tried in once.items()} == {"kept from": ["2", "5"], "larger": ["4"]}
    torch.manual_seed(7)
    model = stretching.Repeater()
    stretching.learn(model, 32, 0.0025, 20)
    by_hand = stretching.right(model.stretch("larger base"), 128, seed=2)
    assert once["larger"]["4"] == pytest.approx(by_hand)


def test_slow_pairs_slowed_reach_far_and_interpolation_loses_the_neighbour():
    mean = {name: READ.extra(name)[0] for name in READ.runs[0].extras}
    at = {way: mean[f"{way}, 128"] for way in get_args(stretching.Way)}
    assert at["by parts"] > 85 > 70 > at["larger base"] > 40 > 30 > at["as it is"] > at["interpolation"]
    assert at["larger base, chosen"] > at["slow pairs"] > 85
    assert mean["slow pairs, 32"] > 98
    assert mean["as it is, 32"] > 99 > 97 > mean["by parts, 32"] - 2 > 90
    assert mean["interpolation, 32"] < 50
    # Unseen turns do harm by themselves; cutting them down is no cure, nor is a window.
    assert mean["as it is, 128"] + 20 < mean["cut, 128"] < mean["by parts, 128"] - 20
    assert mean["hidden, 128"] < 40


def test_a_way_that_is_not_known_is_named():
    with pytest.raises(ValueError, match=r"way must be as it is, .*; got 'ntk'"):
        stretching.stretched("ntk", 8)


def test_taggers_lost_by_unseen_turns_and_numbers_chosen_elsewhere_do_not_serve_every_way():
    streams = STORED["streams"]
    assert streams["trained"] == 24
    mean = {
        way: torch.tensor([one[way] for one in streams["right"]]).mean(0).tolist()
        for way in streams["right"][0]
    }
    before = json.loads((Path(__file__).parents[2] / "benchmarks/results/positions.json").read_text())
    row = Comparison.from_dict(before["sweeps"]["streams"])["RoPE"]
    assert streams["rate"] == row.rate
    for place, name in enumerate(row.runs[0].extras):
        assert mean["as it is"][place] == pytest.approx(row.extra(name)[0], abs=1)
    assert mean["as it is"][-1] < 80
    for way in ("hidden", "cut"):
        assert min(mean[way]) > mean["as it is"][0] - 1
    assert mean["larger base, chosen"][-1] > mean["as it is"][0] - 1.1
    assert mean["as it is"][0] - mean["by parts"][0] == pytest.approx(6, abs=1)
    assert mean["as it is"][0] - mean["slow pairs"][0] < 1.5
    assert min(mean["slow pairs"]) > 91 > mean["by parts"][-1]
    # A head of 16: no pair goes round five times in 24 words.
    assert 24 / (2 * math.pi) < stretching.KEPT_FROM


def test_begun_as_xavier_does_slow_pairs_are_ahead_and_all_else_is_as_before():
    stored = json.loads((STORED_AT / "stretching-start.json").read_text())
    assert stored["made by"] == "python benchmarks/stretching_start.py"
    assert stored["rate"] == READ.rate
    assert len(stored["right"]) == 5
    at = {name: [one[name] for one in stored["right"]] for name in stored["right"][0]}
    ahead = [a > b for a, b in zip(at["slow pairs, 128"], at["larger base, chosen, 128"], strict=True)]
    assert ahead.count(True) == 4
    assert min(at["larger base, chosen, 128"]) > 80 > 20 > max(at["as it is, 128"])
    for a, b, c in zip(
        *(at[f"{way}, 32"] for way in ("interpolation", "larger base, chosen", "slow pairs")), strict=True
    ):
        assert a < 40 < 80 < b < c
