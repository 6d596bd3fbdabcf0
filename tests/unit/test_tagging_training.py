"""Training, evaluation, and the stored results of the treebank, recomputed and retrained."""

import importlib.util
import json
import statistics
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from attnlab.tagging import MostFrequentTag, Tagger, Vocabulary, evaluate, grammar, predict, train, training
from attnlab.tagging.training import Score
from attnlab.tagging.treebank import CHECKSUMS, strongly_ambiguous

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
STORED = json.loads((BENCHMARKS / "results/tagging.json").read_text())
ATTENTION = ["attention", "causal attention"]
SENTENCES = grammar.sample(600, seed=5)


def benchmark():
    spec = importlib.util.spec_from_file_location("benchmark_tagging", BENCHMARKS / "tagging.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def small(seed=0, **options):
    torch.manual_seed(seed)
    return Tagger(Vocabulary(SENTENCES), d_model=16, n_heads=2, **options)


def test_the_lookup_on_the_treebank(treebank):
    score = evaluate(MostFrequentTag(treebank.train), treebank.test, strongly_ambiguous(treebank.train))
    assert (round(score.all, 2), round(score.strong, 2)) == (89.49, 70.91)
    assert score.all == STORED["rows"]["lookup"]["all"]["mean"]


@pytest.mark.parametrize(
    ("row", "all_", "strong"),
    [
        ("word", 85.2, 68.6),
        ("affixes", 89.8, 70.5),
        ("attention", 91.2, 76.5),
        ("learned-0.02", 91.5, 77.6),
        ("learned-0.3", 94.2, 87.9),
        ("sinusoidal", 92.2, 80.8),
        ("relative", 93.6, 86.1),
        ("alibi", 92.0, 80.0),
        ("rotary", 94.5, 90.0),
        ("rotary-2", 95.2, 91.5),
    ],
)
def test_the_stored_rows_reach_what_the_design_asks(row, all_, strong):
    stored = STORED["rows"][row]
    assert stored["all"]["mean"] >= all_
    assert stored["strong"]["mean"] >= strong


@pytest.mark.parametrize("row", STORED["rows"])
def test_the_stored_means_are_those_of_the_runs(row):
    stored = STORED["rows"][row]
    seeds = [run["seed"] for run in stored["runs"]]
    assert seeds == ([None] if row == "lookup" else [0, 1, 2])
    for key in ("all", "strong", "seconds"):
        values = [run[key] for run in stored["runs"]]
        assert stored[key]["mean"] == pytest.approx(statistics.mean(values))
        if len(values) > 1:
            assert stored[key]["std"] == pytest.approx(statistics.stdev(values))


def test_the_stored_results_say_where_they_come_from():
    assert STORED["data"]["sha256"] == CHECKSUMS
    assert STORED["made by"] == "python benchmarks/tagging.py"
    assert set(STORED["machine"]) == {"processor", "threads", "python", "torch"}
    script = benchmark()
    assert [row for row in STORED["rows"] if row != "lookup"] == list(script.ROWS)
    for row, (name, affixes, options, changes) in script.ROWS.items():
        stored = STORED["rows"][row]
        assert (stored["name"], stored["options"]) == (name, options | {"affixes": affixes})
        assert stored["training"] == script.TRAINING | changes


def test_training_again_stays_within_the_stored_spread(treebank):
    again = benchmark().quick(treebank, seed=1)
    for key in ("all", "strong"):
        values = [run[key] for run in STORED["quick"]["runs"]]
        room = max(4 * statistics.stdev(values), 0.6)
        assert abs(again[key] - statistics.mean(values)) <= room
    assert STORED["quick"]["setting"] == benchmark().QUICK


def test_the_same_seed_trains_the_same_tagger():
    def weights(seed):
        tagger = small(seed, context="attention", positions="rotary", dropout=0.2, word_dropout=0.2)
        train(tagger, SENTENCES, SENTENCES[:50], epochs=1, seed=seed, progress=False)
        return torch.cat([p.flatten() for p in tagger.parameters()])

    assert torch.equal(weights(0), weights(0))
    assert not torch.equal(weights(0), weights(1))


def test_the_best_epoch_is_kept_though_later_ones_are_worse(monkeypatch):
    seen = []

    def scripted(tagger, _):
        seen.append(torch.cat([p.detach().flatten() for p in tagger.parameters()]))
        return Score((50.0, 90.0, 70.0)[len(seen) - 1], float("nan"), 1, 0)

    monkeypatch.setattr(training, "evaluate", scripted)
    tagger = small()
    assert train(tagger, SENTENCES, SENTENCES, epochs=3, seed=0, progress=False).best_epoch == 2
    kept = torch.cat([p.detach().flatten() for p in tagger.parameters()])
    assert torch.equal(kept, seen[1])
    assert not torch.equal(kept, seen[2])


def test_the_best_epoch_is_kept_and_patience_ends_training():
    tagger = small()
    history = train(
        tagger, SENTENCES, SENTENCES[:100], epochs=30, seed=0, lr=5e-3, patience=2, progress=False
    )
    assert len(history.dev) < 30
    assert len(history.dev) == history.best_epoch + 2
    assert history.dev[history.best_epoch - 1] == max(history.dev)
    assert evaluate(tagger, SENTENCES[:100]).all / 100 == max(history.dev)
    assert not tagger.training


def test_the_seconds_are_those_between_two_readings_of_the_clock(monkeypatch):
    readings = iter([100.0, 107.0])
    monkeypatch.setattr(training, "time", SimpleNamespace(process_time=lambda: next(readings)))
    history = train(small(), SENTENCES[:20], SENTENCES[:20], epochs=1, seed=0, progress=False)
    assert history.seconds == 7.0


EVERYWHERE = ["none", "learned", "sinusoidal"]
INSIDE = ["relative", "alibi", "rotary"]
CASES = [("none", "none"), *product(["mean"], EVERYWHERE), *product(ATTENTION, EVERYWHERE + INSIDE)]


def loud(tagger):
    """Give learned numbers that start at zero a say."""
    if tagger.relative is not None:
        torch.nn.init.normal_(tagger.relative.weight, std=2.0)
    return tagger.eval()


@pytest.mark.parametrize(("context", "positions"), CASES)
def test_padding_changes_no_answer(context, positions):
    tagger = loud(small(context=context, positions=positions))
    alone = [predict(tagger, [words])[0] for words, _ in SENTENCES[:40]]
    assert predict(tagger, [words for words, _ in SENTENCES[:40]]) == alone
    ids = tagger.vocabulary.encode(SENTENCES[0][0])[None]
    padded = torch.nn.functional.pad(ids, (0, 0, 0, 3))
    assert torch.allclose(tagger(padded)[:, : ids.shape[1]], tagger(ids), atol=1e-5)


@pytest.mark.parametrize("positions", EVERYWHERE + INSIDE)
def test_a_causal_tagger_sees_no_later_word(positions):
    tagger = loud(small(context="causal attention", positions=positions, n_layers=2))
    ids = tagger.vocabulary.encode(("I", "saw", "a", "saw"))[None]
    other = tagger.vocabulary.encode(("I", "saw", "a", "duck"))[None]
    assert torch.allclose(tagger(ids)[:, :3], tagger(other)[:, :3], atol=1e-6)
    assert not torch.allclose(tagger(ids)[:, 3], tagger(other)[:, 3], atol=1e-2)


@pytest.mark.parametrize("positions", EVERYWHERE + INSIDE)
def test_only_positions_tell_the_two_saws_apart(positions):
    tagger = loud(small(context="attention", positions=positions))
    scores = tagger(tagger.vocabulary.encode(("I", "saw", "a", "saw"))[None])[0]
    assert torch.allclose(scores[1], scores[3], atol=1e-6) == (positions == "none")


@pytest.mark.parametrize("positions", ["none", "alibi"])
def test_a_symmetric_penalty_cannot_tell_left_from_right(positions):
    tagger = loud(small(context="attention", positions=positions))
    ids = tagger.vocabulary.encode(("they", "can", "watch", "a", "duck"))[None]
    assert torch.allclose(tagger(ids.flip(1)), tagger(ids).flip(1), atol=1e-5)


def test_a_word_starts_with_one_spread_whatever_its_features():
    sentences = grammar.sample(600, seed=6)
    for affixes in (False, True):
        torch.manual_seed(0)
        tagger = Tagger(Vocabulary(sentences, affixes=affixes), d_model=512)
        ids = tagger.vocabulary.encode(("saw", "watch", "old"))
        assert tagger.embedding(ids).sum(-2).std().item() == pytest.approx(0.3, abs=0.02)


def test_an_empty_list_and_an_empty_sentence():
    assert predict(small(), []) == []
    assert predict(small(), [(), ("I", "saw")])[0] == ()
    assert predict(MostFrequentTag(SENTENCES), [()]) == [()]


def test_unknown_words_and_guesses():
    lookup = MostFrequentTag([(("dog", "Paris"), ("NOUN", "PROPN"))])
    assert lookup.tag(("Dog", "Rome", "7", "?", "cat")) == ("NOUN", "PROPN", "NUM", "PUNCT", "NOUN")
    vocabulary = Vocabulary([(("dog",), ("NOUN",))])
    assert vocabulary.encode(("Dog", "cat")).tolist() == vocabulary.encode(("dog", "cow")).tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: small(context="all"),
            "context must be none, mean, attention or causal attention, got 'all'",
        ),
        (lambda: small(positions="fixed"), "positions must be none, .*, alibi, rotary; got 'fixed'"),
        (
            lambda: small(context="mean", positions="alibi"),
            "alibi positions act inside attention: .* it is 'mean'",
        ),
        (lambda: small(positions="rotary"), "rotary positions act inside attention: .* it is 'none'"),
        (lambda: train(small(), SENTENCES, SENTENCES, epochs=0, seed=0), "epochs must be at least 1, got 0"),
        (lambda: train(small(), [], SENTENCES, epochs=1, seed=0), "train must hold at least one sentence"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
