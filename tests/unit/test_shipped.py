"""The shipped tagger: as good as its card says, small, the same in both files, at ease with odd input."""

import base64
import itertools
import re

import conllu
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook import results
from attnbook.tagging import shipped, words
from attnbook.tagging.treebank import CHECKSUMS

PAGE = shipped.FILE.parents[2] / "static/tagger-model.js"


def test_the_sentence_of_the_book():
    tagged = shipped.load().tag("I saw a saw")
    assert tagged.tokens == ("I", "saw", "a", "saw")
    assert tagged.tags == ("PRON", "VERB", "DET", "NOUN")
    assert tagged.probabilities.shape == (4, 17)
    assert tagged.weights.shape == (2, 4, 4, 4)


@pytest.mark.parametrize("split", ["dev", "test"])
def test_the_accuracy_on_the_card_is_the_accuracy(treebank, split):
    tagger, right, total = shipped.load(), 0, 0
    for tokens, tags in getattr(treebank, split):
        right += sum(a == b for a, b in zip(tagger.tag(tokens).tags, tags, strict=True))
        total += len(tags)
    assert 100 * right / total == pytest.approx(tagger.card["accuracy"][split], abs=0.02)
    assert 100 * right / total >= 94.5


def test_both_files_are_small_and_hold_the_same_bytes():
    page = PAGE.read_text()
    stored = shipped.FILE.read_bytes()
    assert len(stored) <= 150_000
    assert len(page) <= 150_000
    assert base64.b64decode(re.search(r'"([A-Za-z0-9+/=]+)"', page).group(1)) == stored


def test_the_card_says_where_it_comes_from():
    card = shipped.load().card
    assert card["data"] == "UD English-EWT 2.16, train split"
    assert card["licence"] == "CC BY-SA 4.0"
    assert card["sha256"] == CHECKSUMS["en_ewt-ud-train.conllu"]
    assert len(card["tags"]) == 17
    assert "UD English-EWT" in repr(shipped.load())


def test_rounding_loses_nothing_that_was_not_lost_in_training():
    state = shipped.load().model.state_dict()
    again = shipped.dequantize(shipped.quantize(state))
    worst = max((again[name] - weight).abs().max().item() for name, weight in state.items())
    assert state["out.weight"].abs().max() > 0.1
    assert worst < 0.05  # a second rounding moves the clipped columns of the table a little, no more


def test_four_bits_are_packed_and_unpacked_column_by_column():
    table = torch.tensor([[-7.0, 3.0, 0.0, 7.0], [7.0, -1.0, 2.0, -6.0], [1.0, 7.0, -7.0, 5.0]])
    packed = shipped.quantize({"table.weight": table})
    assert packed["table.weight.q"].shape == (3, 2)
    assert packed["table.weight.q"].dtype == torch.uint8
    assert torch.allclose(shipped.dequantize(packed)["table.weight"], table, atol=1e-6)


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_an_empty_sentence_is_an_empty_answer(text):
    tagged = shipped.load().tag(text)
    assert tagged.tokens == tagged.tags == ()
    assert tagged.probabilities.shape == (0, 17)
    assert tagged.weights.shape == (2, 4, 0, 0)


@pytest.mark.parametrize(
    "text", ["👩‍👩‍👧 👍🏽!!", "שלום עולם", "<script>alert('x')</script>", "a\ud800b", "\u0000", "saw " * 300]
)
def test_odd_text_gets_an_answer(text):
    tagged = shipped.load().tag(text)
    n = len(tagged.tokens)
    assert len(tagged.tags) == n
    assert torch.allclose(tagged.probabilities.sum(-1), torch.ones(n))
    assert torch.allclose(tagged.weights.sum(-1), torch.ones(2, 4, n), atol=1e-5)


@given(st.text(max_size=40))
def test_splitting_loses_no_letter_and_invents_none(text):
    tokens = words.split(text)
    assert all(tokens)
    kept = re.sub("[\ud800-\udfff]", "\ufffd", text)
    assert "".join(tokens) == "".join(c for c in kept if not words._is_space(c))


def test_tokens_are_those_of_the_treebank(treebank_folder):
    def spans(tokens):
        ends = [0]
        for token in tokens:
            ends.append(ends[-1] + len(token))
        return set(itertools.pairwise(ends))

    found = gold = shared = 0
    with open(treebank_folder / "en_ewt-ud-dev.conllu", encoding="utf-8") as file:
        for sentence in conllu.parse_incr(file):
            want = spans(token["form"] for token in sentence if isinstance(token["id"], int))
            got = spans(words.split(sentence.metadata["text"]))
            found, gold, shared = found + len(got), gold + len(want), shared + len(got & want)
    assert 2 * shared / (found + gold) >= 0.98


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("don't", ["do", "n't"]),
        ("Can't", ["Ca", "n't"]),
        ("cannot", ["can", "not"]),
        ("it’s", ["it", "’s"]),
        ("well-known", ["well", "-", "known"]),
        ("U.S. e.g. Mr. Smith.", ["U.S.", "e.g.", "Mr.", "Smith", "."]),
        ("3.5, 1,000 and 10:30", ["3.5", ",", "1,000", "and", "10:30"]),
        ("http://x.com/a-b me@x.org", ["http://x.com/a-b", "me@x.org"]),
        ("wait... no!!", ["wait", "...", "no", "!!"]),
        ("👩‍👩‍👧👍🏽", ["👩‍👩‍👧", "👍🏽"]),
    ],
)
def test_how_text_is_cut(text, tokens):
    assert words.split(text) == tokens


def test_features_and_hashes():
    assert words.features("USA")[-1] == "shape=XX"
    assert words.features("B2b-x")[-1] == "shape=Xdx-x"
    assert words.bucket("foobar", 0, 2**32) == 0xBF9CF968  # published FNV-1a test vector
    assert words.bucket("foobar", 1, 2**32) != words.bucket("foobar", 0, 2**32)


@pytest.mark.parametrize("at", [0, 2])
def test_a_hidden_word_is_worth_as_much_as_any_other_to_the_rest(at):
    tagger, words = shipped.load(), ["I", "saw", "a", "saw"]
    other = [*words[:at], "elephants", *words[at + 1 :]]
    got, want = tagger.tag(words, hidden=[at]), tagger.tag(other, hidden=[at])
    rest = [i for i in range(4) if i != at]
    assert torch.equal(got.probabilities[rest], want.probabilities[rest])
    assert not torch.allclose(got.probabilities[rest], tagger.tag(words).probabilities[rest], atol=1e-3)
    assert torch.equal(got.weights[..., at], torch.zeros(2, 4, 4))
    assert torch.allclose(got.weights.sum(-1), torch.ones(2, 4, 4))


def test_with_every_word_hidden_each_word_stands_alone():
    tagger, words = shipped.load(), ["I", "saw", "a", "saw"]
    tagged = tagger.tag(words, hidden=range(4))
    assert torch.equal(tagged.probabilities[1], tagged.probabilities[3])
    assert torch.equal(tagged.weights, torch.zeros(2, 4, 4, 4))
    assert torch.allclose(tagged.probabilities[2], tagger.tag(["a"], hidden=[0]).probabilities[0])


@pytest.mark.parametrize("at", [-1, 4])
def test_a_word_that_is_not_there_cannot_be_hidden(at):
    with pytest.raises(ValueError, match="hidden must be tokens from 0 to 3"):
        shipped.load().tag("I saw a saw", hidden=[at])


@pytest.mark.parametrize(("layer", "head"), [(0, 1), (1, 3)])
def test_a_removed_head_passes_nothing_on(layer, head):
    tagger, changed = shipped.load(), shipped.ShippedTagger(shipped.FILE)
    with torch.no_grad():  # the independent way: the output projection no longer reads that head
        width = tagger.card["form"]["d_model"] // tagger.card["form"]["n_heads"]
        columns = slice(head * width, (head + 1) * width)
        changed.model.layers[layer]["attention"].out_proj.weight[:, columns] = 0
    keep = torch.ones(2, 4)
    keep[layer, head] = 0
    got = tagger.tag("I saw a saw", head_weights=keep)
    assert torch.allclose(got.probabilities, changed.tag("I saw a saw").probabilities, atol=1e-6)
    assert not torch.allclose(got.probabilities, tagger.tag("I saw a saw").probabilities, atol=1e-4)
    every = tagger.tag("I saw a saw", head_weights=torch.ones(2, 4))
    assert torch.equal(every.probabilities, tagger.tag("I saw a saw").probabilities)


def test_the_stored_removals_are_what_the_tagger_does(treebank):
    stored = results.load("heads-ablation")
    keep = torch.ones(2, 4)
    keep[1, 1] = 0
    right = total = 0
    for tokens, tags in treebank.test:
        right += sum(
            a == b for a, b in zip(shipped.load().tag(tokens, head_weights=keep).tags, tags, strict=True)
        )
        total += len(tags)
    assert stored["accuracy"] == pytest.approx(shipped.load().card["accuracy"]["test"], abs=0.02)
    assert 100 * right / total == pytest.approx(
        stored["accuracy"] - stored["without"]["zero"][1][1]["lost"], abs=0.02
    )


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"head_weights must have shape \(2, 4\), got \(4,\)"):
        shipped.load().tag("I saw", head_weights=torch.ones(4))
    with pytest.raises(TypeError, match="sentence must be a str or a sequence of str, got 3"):
        shipped.load().tag(3)
    with pytest.raises(TypeError, match=r"sentence must be a str or a sequence of str, got \['a', 1\]"):
        shipped.load().tag(["a", 1])
    with pytest.raises(TypeError, match="text must be a str, got NoneType"):
        words.split(None)
