"""Lengths beyond training, as stored: where they come from, what they say, and some rows again."""

import importlib.util
import json
import statistics
from pathlib import Path

import pytest
import torch

from attnbook.experiments import Comparison, letters
from attnbook.tagging import Tagger, Vocabulary, grammar
from attnlab.masks import window

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
STORED = json.loads((BENCHMARKS / "results/positions.json").read_text())
SWEEPS = {title: Comparison.from_dict(found) for title, found in STORED["sweeps"].items()}
STREAMS = ["1–24", "25–48", "49–72", "73–96"]


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("benchmark_positions", BENCHMARKS / "positions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ends(title):
    """Return scheme -> mean accuracy at each length."""
    rows = SWEEPS[title].rows.values()
    return {row.name: [row.extra(key)[0] for key in row.runs[0].extras] for row in rows}


def test_the_stored_results_say_where_they_come_from(benchmark):
    assert STORED["made by"] == "python benchmarks/positions.py"
    assert {"processor", "threads", "python", "torch"} <= set(STORED["machine"])
    assert STORED["model"] == benchmark.MODEL
    assert STORED["training"] == benchmark.TRAINING
    assert STORED["bias rate"] == benchmark.BIAS_RATE == letters.BIAS_RATE
    assert STORED["streams"]["count"] == benchmark.STREAMS
    for title in ("letters", "streams"):
        assert list(SWEEPS[title].rows) == [*benchmark.SCHEMES, benchmark.SLOW]


def test_every_row_was_swept_with_room_on_both_sides():
    for title, found in SWEEPS.items():
        for row in found.rows.values():
            assert len(row.runs) == len(STORED["seeds"]) == 5
            if (title.startswith("letters"), row.name) != (True, "no positions"):
                assert not row.edge, (title, row.name)


def test_the_test_streams_are_those_of_the_grammar(benchmark):
    data = benchmark.held_out()
    assert {len(words) for words, _ in data} == {96}
    first = next(iter(grammar.sample(1, 10_000)))
    assert data[0][0][: len(first[0])] == first[0]
    assert data[0][1][: len(first[1])] == first[1]


def test_on_streams_a_relative_bias_at_its_own_rate_holds_like_alibi():
    mean = ends("streams")
    for scheme, (trained, *_) in mean.items():
        assert (trained > 94.5) == (scheme != "no positions")
    assert min(mean["ALiBi"] + mean["relative bias"]) > 94
    # With one rate for all, the rate hardly shows at the trained length, and beyond it does.
    by_rate = STORED["relative bias by the rate of all"]
    slow, fast = min(by_rate, key=float), max(by_rate, key=float)
    assert by_rate[slow][0] - by_rate[slow][-1] > 5 > 1 > abs(by_rate[fast][0] - by_rate[fast][-1])
    # As the chapter says it: the slowest rate against the fastest, on the first stretch and on the last.
    assert by_rate[fast][0] - by_rate[slow][0] == pytest.approx(0.5, abs=0.1)
    assert by_rate[fast][-1] - by_rate[slow][-1] == pytest.approx(14, abs=0.5)
    assert by_rate[fast][-1] == pytest.approx(95.3, abs=0.05)
    assert mean["relative bias, rate of all else"][-1] == pytest.approx(94.6, abs=0.05)
    for scheme in ("learned", "sinusoids"):  # the first word past the table is already lost
        assert mean[scheme][1] < 80
    assert mean["RoPE"][0] - mean["RoPE"][-1] > 5


def test_with_far_keys_hidden_what_counts_distances_holds():
    whole, near = ends("streams"), ends("streams, far keys hidden")
    for scheme in ("relative bias", "ALiBi", "RoPE"):
        assert min(near[scheme]) > 94
    for scheme in ("learned", "sinusoids"):  # their places are as new as before
        assert near[scheme][-1] < 85
    for scheme in near:
        assert near[scheme][0] == pytest.approx(whole[scheme][0])


def test_stretches_are_counted_word_by_word(benchmark):
    data = benchmark.streams(3, 96, seed=7)
    torch.manual_seed(0)
    tagger = Tagger(Vocabulary(data), context="causal attention", d_model=8, n_heads=2).eval()
    for within in (None, 5):
        want = []
        for start in (0, 24, 48, 72):
            right = 0
            for words, tags in data:
                scores = tagger(tagger.vocabulary.encode(words)[None], within=within)[0]
                guess = [tagger.vocabulary.tags[tag] for tag in scores.argmax(-1).tolist()]
                right += sum(guess[at] == tags[at] for at in range(start, start + 24))
            want.append(100 * right / 72)
        assert benchmark.by_stretch(tagger, data, within=within) == pytest.approx(want)


@pytest.mark.parametrize("scheme", ["relative bias", "RoPE", "learned"])
def test_letters_trained_again_stay_within_the_stored_spread(scheme):
    row = SWEEPS["letters"][scheme]
    again = letters.letter_before(scheme)(row.rate, 1)
    for key in ("16", "64"):
        values = [run.extras[key] for run in row.runs]
        assert abs(again.extras[key] - statistics.mean(values)) <= max(4 * statistics.stdev(values), 2.0)


def test_on_letters_the_speeds_of_rope_decide_how_far_it_holds():
    stored = json.loads((BENCHMARKS / "results/positions-speeds.json").read_text())
    assert stored["made by"] == "python benchmarks/positions_speeds.py"
    whole, near = map(Comparison.from_dict, stored["sweeps"].values())
    at = {}
    for name, row in whole.rows.items():
        assert len(row.runs) == 10
        assert not row.edge
        assert row.extra("16")[0] > 99
        assert near[name].extra("64")[0] > 99.5
        at[name] = row.extra("64")[0]
    wide, slow, fast = (at[f"width 8, base {base}"] for base in ("10,000", "1,000", "100"))
    assert wide > 98 > 85 > slow > 75 > 55 > fast
    assert at["width 16, base 10,000"] < 60
    layer = letters.LetterBefore("RoPE", base=100.0).attend
    assert layer.rotary.base == 100
    assert letters.LetterBefore("ALiBi").attend.rotary is None


def test_the_model_of_letters_sees_what_it_is_given():
    ids = torch.randint(8, (2, 20))
    for scheme in ("no positions", "learned", "sinusoids", "relative bias", "ALiBi", "RoPE"):
        torch.manual_seed(0)
        model = letters.LetterBefore(scheme)
        torch.nn.init.normal_(model.relative.weight)
        assert torch.allclose(model(ids, within=19), model(ids), atol=1e-5)
        far = ids.clone()
        far[:, 0] = (far[:, 0] + 1) % 8
        changed = (model(far, within=4) - model(ids, within=4)).abs().amax((0, 2)) > 1e-6
        assert changed.tolist() == window(20, 4, 4)[0].tolist()
        turned = torch.allclose(model(ids.flip(1)), model(ids).flip(1), atol=1e-5)
        assert turned == (scheme in ("no positions", "ALiBi"))  # these do not know left from right


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: letters.LetterBefore("absolute"), "scheme must be no positions, .*, RoPE; got 'absolute'"),
        (lambda: letters.letter_before("RoPE", steps=15), "steps must be a positive multiple of 10, got 15"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_bias_that_reaches_past_training_falls_until_far_keys_are_hidden():
    stored = json.loads((BENCHMARKS / "results/positions-reach.json").read_text())
    assert stored["made by"] == "python benchmarks/positions_reach.py"
    whole, near = map(Comparison.from_dict, stored["sweeps"].values())
    name, kept = "relative bias, reach 40", SWEEPS["streams"]["relative bias"]
    assert len(whole[name].runs) == 5
    assert not whole[name].edge
    assert abs(whole[name].extra("1–24")[0] - kept.extra("1–24")[0]) < 0.1
    assert whole[name].extra("73–96")[0] < 92 < 95 < kept.extra("73–96")[0]
    assert near[name].extra("73–96")[0] > 95
    vocabulary = Vocabulary([(("I", "saw"), ("PRON", "VERB"))])
    for reach, given in ((16, {}), (40, {"reach": 40})):
        tagger = Tagger(vocabulary, context="attention", positions="relative", **given)
        assert tagger.relative.weight.shape[1] == 2 * reach + 1
