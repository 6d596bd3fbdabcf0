"""One head on the toy grammar: tokens, the exact accuracy, and training side by side."""

import pytest
import torch
import torch.nn.functional as F

from attnbook.tagging import asking, grammar


def test_a_token_is_its_word_and_its_place():
    x = asking.encode(["saw", "a"], ["a"])
    assert x.shape == (2, asking.PLACES, asking.WIDTH)
    assert x[0, 0].nonzero().flatten().tolist() == [asking.WORDS.index("saw"), len(asking.WORDS)]
    assert torch.equal(x.sum(-1), torch.tensor([[2.0, 2] + 6 * [0], [2] + 7 * [0]]))


@pytest.mark.parametrize("words", [["I"] * 9, ["zebra"]])
def test_what_is_no_sentence_of_the_grammar_is_refused(words):
    with pytest.raises(ValueError, match="must"):
        asking.encode(words)


def test_the_best_tagger_by_word_and_place_reaches_its_ceiling_exactly():
    words, tags, chance = asking._everything()
    count = torch.zeros(asking.PLACES, len(asking.WORDS), len(grammar.TAGS), dtype=torch.float64)
    for place in range(asking.PLACES):
        real = words[:, place] >= 0
        at = words[real, place], tags[real, place]
        count[place].index_put_(at, chance[real], accumulate=True)
    best = F.one_hot(count.argmax(-1), len(grammar.TAGS)).float()

    def model(x):
        word, place = x.split((len(asking.WORDS), asking.PLACES), -1)
        return torch.einsum("bnp,bnw,pwt->bnt", place, word, best)

    assert asking.accuracy(model) == pytest.approx(float(grammar.ceiling("word and position")), abs=1e-9)


def test_what_the_forms_share():
    x = asking.encode(asking.SAW)
    q, k, v = asking.Views(0, 0, 1)(x)
    assert torch.equal(q, k)
    assert not torch.equal(k, v)
    counts = {name: sum(p.numel() for p in make().parameters()) for name, make in asking.FORMS.items()}
    assert counts["queries are the keys"] < counts["queries, keys, values"]
    for name in ("all three", "queries are the keys"):  # the control takes away a possibility, no number
        free = counts["queries, keys, values" if name == "all three" else name]
        assert counts[f"{name}, never itself"] == free
    heard = asking.looks(asking.FORMS["compared as they are"](), asking.SAW)
    torch.testing.assert_close(heard[1, 2], heard[1, 0])  # "a" as much as "I", whatever is learned


def test_keys_half_turned_score_both_ways_alike_and_not_as_keys_do():
    x = asking.encode(asking.SAW)
    torch.manual_seed(0)
    turned = asking.TURNED["queries are keys half turned"]()
    torch.manual_seed(0)
    plain = asking.FORMS["queries are the keys"]()
    assert turned.load_state_dict(plain.state_dict())  # not a number more
    q, k, _ = turned.views(x)
    assert torch.equal(k, plain.views(x)[1])
    assert torch.equal(q.abs(), k.abs())
    assert (q == -k)[0, :4].sum(-1).tolist() == 4 * [asking.HEAD // 2]
    assert torch.allclose(q @ k.mT, (q @ k.mT).mT, atol=1e-5)
    q, k, _ = asking.OneTable()(x)
    assert not torch.allclose(q @ k.mT, (q @ k.mT).mT, atol=1e-2)


def test_a_smaller_start_is_of_queries_and_keys_alone():
    x = asking.encode(asking.SAW)
    for which in ((0, 0, 1), (0, 1, 2)):
        torch.manual_seed(0)
        q, k, v = asking.Views(*which)(x)
        torch.manual_seed(0)
        small = asking.Views(*which, start=0.1)(x)
        torch.testing.assert_close(small, (0.1 * q, 0.1 * k, v))


def test_taggers_trained_side_by_side_learn_what_each_learns_alone():
    task = asking.Asking(asking.FORMS["queries, keys, values"], steps=3, every=1, batch=8)
    together = task.train([(0.01, 0), (0.1, 1)])
    alone = task.train([(0.1, 1)])[0]
    for a, b in zip(together[1][0].parameters(), alone[0].parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    assert together[1][1].curve == pytest.approx(alone[1].curve)
