"""The stored measurement of lengths beyond training: where it comes from, what it says, and one row again."""

import hashlib
import importlib.util
import json
import statistics
from pathlib import Path

import pytest
import torch

from attnlab.tagging import Tagger, Vocabulary, grammar

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
STORED = json.loads((BENCHMARKS / "results/positions.json").read_text())


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("benchmark_positions", BENCHMARKS / "positions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_stored_results_say_where_they_come_from(benchmark):
    assert STORED["made by"] == "python benchmarks/positions.py"
    assert {"processor", "threads", "python", "torch"} <= set(STORED["machine"])
    assert STORED["model"] == benchmark.MODEL
    assert STORED["training"] == benchmark.TRAINING
    assert STORED["quick"]["setting"] == benchmark.QUICK
    assert list(STORED["schemes"]) == list(benchmark.SCHEMES)
    assert STORED["task"] == benchmark.describe()["task"]
    assert STORED["task"]["words"] == [24, 48, 72, 96]


def test_the_test_streams_are_those_of_the_grammar(benchmark):
    data = benchmark.held_out()
    assert {len(words) for words, _ in data} == {96}
    text = "\n".join(" ".join(words) + "\t" + " ".join(tags) for words, tags in data)
    assert hashlib.sha256(text.encode()).hexdigest() == STORED["task"]["test_sha256"]
    first = next(iter(grammar.sample(1, 10_000)))
    assert data[0][0][: len(first[0])] == first[0]
    assert data[0][1][: len(first[1])] == first[1]


@pytest.mark.parametrize("scheme", STORED["schemes"])
def test_the_stored_means_are_those_of_the_runs(scheme):
    stored = STORED["schemes"][scheme]
    assert [run["seed"] for run in stored["runs"]] == [0, 1, 2, 3, 4]
    columns = list(zip(*(run["accuracy"] for run in stored["runs"]), strict=True))
    assert stored["mean"] == pytest.approx([statistics.mean(column) for column in columns])
    assert stored["std"] == pytest.approx([statistics.stdev(column) for column in columns])


def test_every_scheme_reads_what_it_was_trained_on_and_alibi_reads_on():
    mean = {scheme: stored["mean"] for scheme, stored in STORED["schemes"].items()}
    for scheme in ("learned", "sinusoidal", "relative", "alibi", "rotary"):
        assert mean[scheme][0] > 94.5 > mean["none"][0]
    assert min(mean["alibi"]) > 94
    for scheme in ("learned", "sinusoidal"):  # the first word past the table is already lost
        assert mean[scheme][1] < 78
    for scheme in ("relative", "rotary"):
        assert mean[scheme][1] > 90 > mean[scheme][3]


def test_stretches_are_counted_word_by_word(benchmark):
    data = benchmark.streams(3, 96, seed=7)
    torch.manual_seed(0)
    tagger = Tagger(Vocabulary(data), d_model=8)
    want = []
    for start in (0, 24, 48, 72):
        right = 0
        for words, tags in data:
            best = tagger(tagger.vocabulary.encode(words)[None])[0].argmax(-1).tolist()
            guess = [tagger.vocabulary.tags[tag] for tag in best]
            right += sum(guess[at] == tags[at] for at in range(start, start + 24))
        want.append(100 * right / 72)
    assert benchmark.by_stretch(tagger, data) == pytest.approx(want)


def test_training_again_stays_within_the_stored_spread(benchmark):
    again = benchmark.quick(seed=1)["accuracy"]
    runs = [run["accuracy"] for run in STORED["quick"]["runs"]]
    for got, column in zip(again, zip(*runs, strict=True), strict=True):
        room = max(4 * statistics.stdev(column), 1.0)
        assert abs(got - statistics.mean(column)) <= room
