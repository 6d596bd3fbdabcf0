"""The decoder figure: its table holds what its models compute, and its draws are the models' own."""

import math

import pytest
import torch

from attnbook.widgets import Decoding, stored
from attnbook.widgets.decoder import END, MOST, models, one_pass, words
from attnbook.widgets.figure import STATIC
from attnlab.cache import kv_cache_bytes
from attnlab.transformer import generate

from .test_widgets import Cells


def numbered(*spoken):
    return torch.tensor([[words().index(word) for word in ("<start>", *spoken)]])


def test_greedy_writes_what_generate_writes_with_a_draft_and_without():
    want = generate(models()["model"], numbered("I"), 8, eos_token_id=END)[0].tolist()
    want = [words()[i] for i in want[2 : want.index(END) + 1]]
    for draft in (0, 1, 3):
        text, passes = ["I"], []
        while "<end>" not in text:
            step = one_pass(" ".join(text), {"temperature": 0.0}, draft)
            text, passes = [*text, *(words()[i] for i in step.words)], [*passes, len(step.words)]
        assert text[1:] == want
        assert (len(passes) == len(want)) == (draft == 0)


def test_a_table_says_what_became_of_each_drafted_word():
    figure = Decoding(draft=3, seed=2216)
    step = figure.step()
    assert (figure.written, step.kept) == (["I", "can", "left"], 2)
    assert (figure.drafted, figure.accepted) == (["I", "can", "can"], 2)
    rows = Cells(figure._repr_html_()).rows
    at = rows.index(["drafted", "draft", "model", "kept with", "so"])
    assert [row[4] for row in rows[at + 1 : at + 4]] == ["kept", "kept", "left instead"]
    for row, word, p, q in zip(rows[at + 1 :], step.drafted, step.p, step.q, strict=False):
        assert float(row[3]) == pytest.approx(min(1.0, float(p[word] / q[word])), abs=6e-5)
    at = rows.index(["of this pass", "number"])
    counted = dict(rows[at + 1 :])
    total = sum(figure.reads.values())
    assert counted["together, bytes"] == f"{total:,}"
    assert counted["bytes a word"] == f"{round(total / 3):,}"
    assert (counted["passes so far"], counted["words so far"]) == ("1", "3")


def test_a_pass_reads_all_weights_and_the_whole_cache():
    first = Decoding("I saw a")
    model = models()["model"]
    weights = sum(p.numel() for p in model.parameters()) - model.embedding.weight.numel()
    assert first.reads == {"weights": 2 * (weights + 4 * 32), "cache": kv_cache_bytes(2, 4, 8, 4), "draft": 0}
    later = Decoding("I saw a", [1, 1])
    assert later.reads["weights"] == 2 * (weights + 32)
    for heads in (2, 1):
        shared = Decoding("I saw a", heads=heads)
        assert shared.reads["cache"] == first.reads["cache"] * heads // 4
        saved = 2 * 2 * (4 - heads) * 8 * 33  # keys and values of two layers: 32 weights and a bias a number
        assert shared.reads["weights"] == first.reads["weights"] - 2 * saved
    small = sum(p.numel() for p in models()["draft"].parameters())
    drafts = Decoding("I saw a", [1], draft=2, seed=1)
    assert len(drafts.drafted) == 2
    each = 2 * (small - 19 * 8 + 8)
    assert drafts.reads["draft"] == 2 * each + kv_cache_bytes(1, 4, 2, 4) + kv_cache_bytes(1, 4, 2, 5)


def test_no_text_outgrows_the_cache():
    text = "that can can the old fish will saw a you them"
    assert len(text.split()) == MOST
    assert len(Decoding(text, draft=4).step().drafted) == 0
    for n in range(MOST):
        step = one_pass(" ".join(text.split()[:n]), {"temperature": 3.0}, draft=4, seed=5)
        assert n + len(step.words) <= MOST


def test_the_models_are_what_their_card_says():
    assert (STATIC / "decoder-model.js").stat().st_size <= 100_000
    assert stored.card("decoder")["words"][:2] == ["<start>", "<end>"]
    with torch.no_grad():
        found = models()["model"](numbered("I", "saw", "a")).softmax(-1)
    assert found[0, 0, words().index("I")] == pytest.approx(0.6 * 0.4, abs=0.01)
    assert math.isclose(found[0, 3].sum().item(), 1, abs_tol=1e-5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"text": "I saw Anna"}, "text must be of I, a, can, .*; got 'Anna'"),
        ({"text": "I " * 12}, "text must have at most 11 words, got 12"),
        ({"text": "I saw", "passes": [2, 1]}, r"passes must write 1 .*, 2 at most in all, got \[2, 1\]"),
        ({"draft": 5}, "draft must be from 0 to 4, got 5"),
        ({"heads": 3}, "heads must be 4, 2 or 1, got 3"),
        ({"place": 1}, "place must be from 0 to 0, got 1"),
    ],
)  # fmt: skip
def test_errors_name_the_argument(given, message):
    with pytest.raises(ValueError, match=message):
        Decoding(**given)
