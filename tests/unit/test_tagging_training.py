"""Training, evaluation, and the stored results of the treebank, recomputed and retrained."""

import importlib
import importlib.util
import json
import math
import random
import statistics
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest
import torch
from tqdm import tqdm

from attnbook.experiments import Comparison
from attnbook.tagging import (
    MostFrequentTag,
    Tagger,
    Vocabulary,
    contexts,
    evaluate,
    grammar,
    ladder,
    predict,
    taggers,
    train,
    training,
)
from attnbook.tagging.training import Score
from attnbook.tagging.treebank import CHECKSUMS

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
STORED = json.loads((BENCHMARKS / "results/tagging.json").read_text())
LADDER = Comparison.from_dict(STORED["sweeps"]["ladder"])
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
    table = MostFrequentTag(treebank.train)
    score = benchmark().score(treebank, table)
    assert (round(score.all, 2), round(score.strong, 2)) == (89.49, 70.91)
    known = {word.lower() for words, _ in treebank.train for word in words}
    new = [
        (w, t)
        for words, tags in treebank.test
        for w, t in zip(words, tags, strict=True)
        if w.lower() not in known
    ]
    right = sum(table.tag([word])[0] == tag for word, tag in new)
    assert score.unknown_tokens == len(new)
    assert score.unknown == pytest.approx(100 * right / len(new))
    assert STORED["lookup"] == pytest.approx(vars(score))


def test_every_row_was_swept_with_room_on_both_sides():
    for row in LADDER.rows.values():
        rates = sorted(row.tried)
        assert not row.edge, row.name
        assert rates[0] < row.rate < rates[-1], row.name
        best = {rate: row.tried[rate][0].value for rate in rates}  # the one seed that tried every rate
        assert best[row.rate] == max(best.values()), row.name
        assert len(row.runs) == len(STORED["seeds"]) == 3
        assert all(not run.extras for rate in rates if rate != row.rate for run in row.tried[rate])


@pytest.mark.parametrize(
    ("row", "all_", "strong"),
    [
        ("+ prefixes, suffixes, shape", 89.8, 70.0),
        ("average", 90.9, 75.0),
        ("attention", 91.2, 76.5),
        ("attention, learned positions of 0.3", 94.0, 87.5),
        ("attention, relative bias", 94.5, 89.5),
        ("attention, RoPE", 94.5, 90.0),
        ("two windows of three", 94.5, 90.0),
        ("two of attention, RoPE, 12 epochs", 94.9, 90.5),
    ],
)
def test_the_stored_rows_reach_what_the_design_asks(row, all_, strong):
    assert LADDER[row].extra("all words")[0] >= all_
    assert LADDER[row].extra("strongly ambiguous")[0] >= strong


def test_the_stored_results_say_where_they_come_from():
    script = benchmark()
    assert STORED["data"]["sha256"] == CHECKSUMS
    assert STORED["made by"] == "python benchmarks/tagging.py"
    assert {"processor", "threads", "python", "torch"} <= set(STORED["machine"])
    assert list(LADDER.rows) == [*script.ROWS, script.CONTROL]
    assert STORED["rows"] == {name: {"than": than, "options": o} for name, (than, o) in script.ROWS.items()}
    for key, value in {"training": script.TRAINING, "bias rate": script.BIAS_RATE}.items():
        assert STORED[key] == value
    assert STORED["alike"] == script.ALIKE | {"at_least": script.AT_LEAST}


def test_each_row_changes_one_thing():
    rows = benchmark().ROWS
    for name, (than, options) in rows.items():
        if than is not None:
            before = rows[than][1]
            changed = {key for key in options.keys() | before if options.get(key) != before.get(key)}
            # Learned positions exist only together with the spread at which they begin.
            assert len(changed - {"position_std"}) == 1, name


def test_the_table_of_the_ladder_shows_the_stored_runs():
    head, rows = ladder(STORED, ["most frequent tag", "attention, RoPE"])
    assert head[:4] == ["test set, %", "all words", "strongly ambiguous", "unknown"]
    assert rows[0][1:3] == ["89.5", "70.9"]
    values = [run.extras["all words"] for run in LADDER["attention, RoPE"].runs]
    assert rows[1][1] == f"{statistics.mean(values):.1f} ± {statistics.stdev(values):.1f}"
    assert len(ladder(STORED)[1]) == 1 + len(LADDER.rows)


def test_training_again_stays_within_the_stored_spread(treebank):
    again = vars(benchmark().quick(treebank, seed=1))
    for key in ("all", "strong", "unknown"):
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


def test_a_bar_shows_how_far_a_long_training_is(monkeypatch, capsys):
    # It waits two seconds: where nothing takes long, nothing is drawn.
    module, asked = importlib.import_module("attnbook.tagging.training"), []
    later = {"delay": 1e9}
    monkeypatch.setattr(module, "tqdm", lambda **how: asked.append(how) or tqdm(**how | later))
    sentences = grammar.sample(40, seed=1)
    train(Tagger(Vocabulary(sentences), d_model=8), sentences, sentences, epochs=2, seed=0)
    assert [(how["disable"], how["delay"]) for how in asked] == [(False, 2)]
    assert capsys.readouterr().err == ""


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


def test_each_step_decays_by_the_rate_of_the_schedule(monkeypatch):
    # The vector of unknown words gets no gradient here: only weight decay moves it, by a factor of
    # 1 - rate · decay a step. The rate climbs for a twentieth of the steps, then falls like half a cosine.
    scores = iter(range(100))
    monkeypatch.setattr(training, "evaluate", lambda *_: Score(next(scores), math.nan, 1, 0))
    tagger, epochs, lr, decay = small(), 5, 0.01, 2.0
    before = tagger.embedding.weight[1].detach().clone()
    train(tagger, SENTENCES, SENTENCES[:9], epochs=epochs, seed=0, lr=lr, weight_decay=decay, progress=False,
          batch_tokens=64)  # fmt: skip
    batches = training.batches(training._encode(tagger, SENTENCES), 64, random.Random(0))
    steps = epochs * sum(1 for _ in batches)
    warm = steps // 20
    assert warm > 2
    rates = [lr * (1 + at * (warm - 1) / warm) / warm for at in range(warm)]
    rates += [lr * (1 + math.cos(math.pi * at / (steps - warm))) / 2 for at in range(steps - warm)]
    want = before * math.prod(1 - rate * decay for rate in rates)
    torch.testing.assert_close(tagger.embedding.weight[1].detach(), want, rtol=1e-3, atol=1e-6)


def test_hiding_words_is_for_training_alone():
    tagger = small(word_dropout=0.9).train()
    sentences = [words for words, _ in SENTENCES[:100]]
    assert predict(tagger, sentences) == predict(tagger, sentences)
    assert tagger.training
    ids = tagger.vocabulary.encode(sentences[0])[None]
    assert not torch.equal(tagger(ids), tagger(ids))
    assert torch.equal(tagger.eval()(ids), tagger(ids))


def test_the_seconds_are_those_between_two_readings_of_the_clock(monkeypatch):
    readings = iter([100.0, 107.0])
    monkeypatch.setattr(training, "time", SimpleNamespace(process_time=lambda: next(readings)))
    history = train(small(), SENTENCES[:20], SENTENCES[:20], epochs=1, seed=0, progress=False)
    assert history.seconds == 7.0


EVERYWHERE = ["none", "learned", "sinusoidal"]
INSIDE = ["relative", "alibi", "rotary"]
OTHERS = ["alone", "mean", "window", "recurrent"]
CASES = [("none", "none"), *product(OTHERS, EVERYWHERE), *product(ATTENTION, EVERYWHERE + INSIDE)]


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


def test_a_block_without_context_takes_each_word_by_itself():
    tagger = small(context="alone", n_layers=2).eval()
    ids = tagger.vocabulary.encode(("I", "saw", "a", "saw"))
    together = tagger(ids[None])[0]
    alone = torch.cat([tagger(ids[None, at : at + 1])[0] for at in range(4)])
    assert torch.allclose(together, alone, atol=1e-6)
    inside = sum(p.numel() for p in tagger.layers[0].each.parameters())
    assert sum(p.numel() for p in tagger.layers[0].parameters()) == inside


def test_a_window_hears_one_word_to_each_side():
    torch.manual_seed(0)
    layer = contexts.Window(6).double()
    x = torch.randn(2, 5, 6, dtype=torch.float64)
    padded = torch.nn.functional.pad(x, (0, 0, 1, 1))
    weight = layer.places.weight  # (out, in, place)
    by_hand = sum(padded[:, at : at + 5] @ weight[:, :, at].T for at in range(3)) + layer.places.bias
    assert torch.allclose(layer(x, key_mask=None), layer.out(by_hand))
    attention = small(context="attention").layers[0].mixer
    window = small(context="window").layers[0].mixer
    assert (
        sum(p.numel() for p in window.parameters()) == sum(p.numel() for p in attention.parameters()) - 2 * 16
    )  # attention has a bias more for queries and keys


def test_a_recurrent_layer_goes_both_ways():
    torch.manual_seed(0)
    layer = contexts.Recurrent(6)
    x = torch.randn(1, 5, 6)
    x_later = x.clone()
    x_later[:, 3] += 1
    change = (layer(x_later, key_mask=None) - layer(x, key_mask=None)).abs().amax((0, 2))
    forward, back = (layer(x_later, key_mask=None) - layer(x, key_mask=None))[0].abs().split(3, -1)
    assert (change > 0).all()
    assert forward[:3].max() == 0  # what came before does not know what comes later
    assert back[4].max() == 0


def test_far_keys_can_be_hidden():
    tagger = small(context="causal attention", positions="rotary").eval()
    ids = tagger.vocabulary.encode(("I", "saw", "a", "saw", "that"))[None]
    other = tagger.vocabulary.encode(("they", "saw", "a", "saw", "that"))[None]
    near, near_other = tagger(ids, within=2), tagger(other, within=2)
    assert torch.allclose(near[:, 3:], near_other[:, 3:], atol=1e-6)
    assert not torch.allclose(near[:, 2], near_other[:, 2], atol=1e-4)
    assert torch.allclose(tagger(ids, within=4), tagger(ids), atol=1e-6)
    with pytest.raises(ValueError, match="within hides keys of attention: context has none, it is 'mean'"):
        small(context="mean")(ids, within=2)


def test_the_relative_bias_learns_at_its_own_rate():
    def trained(**own):
        tagger = small(context="attention", positions="relative")
        train(tagger, SENTENCES, SENTENCES[:50], epochs=1, seed=0, lr=1e-3, progress=False, **own)
        return tagger

    slow, alike, fast = trained(), trained(bias_lr=1e-3), trained(bias_lr=1e-1)
    # Adam's steps are about the rate: its numbers can't leave zero by more than the rates of all steps.
    steps = sum(1 for _ in training.batches(training._encode(slow, SENTENCES), 1024))
    assert slow.relative.weight.abs().max() <= 1.2e-3 * steps
    assert torch.allclose(slow.relative.weight, alike.relative.weight, atol=1e-5)
    assert fast.relative.weight.abs().max() > 20 * slow.relative.weight.abs().max()


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
    for context in get_args(taggers.Context):
        assert predict(small(context=context), [()]) == [()]
    for positions in get_args(taggers.Positions):
        tagger = small(context="attention", positions=positions)
        assert predict(tagger, [()]) == [()]
        none = tagger.vocabulary.encode(())[None].expand(2, -1, -1)
        assert tagger(none).shape == (2, 0, len(tagger.vocabulary.tags))


def test_unknown_words_and_guesses():
    lookup = MostFrequentTag([(("dog", "Paris"), ("NOUN", "PROPN"))])
    assert lookup.tag(("Dog", "Rome", "7", "?", "cat")) == ("NOUN", "PROPN", "NUM", "PUNCT", "NOUN")
    # A word as it is written counts for itself; the lower case is for words that are new as they are written.
    month = MostFrequentTag([(("May", "May", "may", "May"), ("PROPN", "PROPN", "AUX", "PROPN"))])
    assert month.tag(("may", "May", "MAY")) == ("AUX", "PROPN", "AUX")
    vocabulary = Vocabulary([(("dog",), ("NOUN",))])
    assert vocabulary.encode(("Dog", "cat")).tolist() == vocabulary.encode(("dog", "cow")).tolist()
    score = evaluate(lookup, [(("Dog", "Rome", "cow"), ("NOUN", "PROPN", "VERB"))], known=["dog", "paris"])
    assert (score.unknown, score.unknown_tokens) == (50.0, 2)
    assert evaluate(lookup, [(("Dog",), ("NOUN",))]).unknown_tokens == 0
    score = evaluate(lookup, [(("Dog", "DOG", "Rome"), ("NOUN", "VERB", "PROPN"))], strong=["dog"])
    assert (score.strong, score.strong_tokens) == (50.0, 2)  # capitals do not hide a strong word


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: small(context="all"),
            "context must be none, alone, mean, .*, causal attention; got 'all'",
        ),
        (lambda: small(positions="fixed"), "positions must be none, .*, alibi, rotary; got 'fixed'"),
        (
            lambda: small(context="mean", positions="alibi"),
            "alibi positions act inside attention: .* it is 'mean'",
        ),
        (lambda: small(positions="rotary"), "rotary positions act inside attention: .* it is 'none'"),
        (lambda: train(small(), SENTENCES, SENTENCES, epochs=0, seed=0), "epochs must be at least 1, got 0"),
        (lambda: train(small(), [], SENTENCES, epochs=1, seed=0), "train must hold at least one sentence"),
        (lambda: train(small(), SENTENCES, [], epochs=1, seed=0), "dev must hold at least one word"),
        (lambda: train(small(), SENTENCES, [((), ())], epochs=1, seed=0), "dev must hold at least one word"),
        (
            lambda: train(small(), SENTENCES, SENTENCES, epochs=1, seed=0, bias_lr=0.1),
            "bias_lr needs a tagger with relative positions, this one has 'none'",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("context", ["mean", "attention"])
def test_without_residual_a_part_takes_the_place_of_its_input(context):
    vocabulary = Vocabulary(SENTENCES)
    ids = vocabulary.encode(("I", "saw", "a", "saw"))[None]
    for residual in (True, False):
        torch.manual_seed(0)
        tagger = Tagger(vocabulary, context=context, d_model=8, n_heads=2, residual=residual)
        with torch.no_grad():
            for value in tagger.layers[0].mixer.parameters():
                value.zero_()
        scores = tagger(ids)[0]
        # The mixer gives nothing: what is left of the words is what stood beside it.
        assert torch.equal(scores[0], scores[2]) != residual
