"""The joint tagger: what it reads, what it hides, what it learns from; and the columns of the treebank."""

import pytest
import torch

from attnbook import results
from attnbook.experiments import Comparison
from attnbook.tagging import grammar
from attnbook.tagging.columns import COLUMNS, Annotated, Labels, load_columns
from attnbook.tagging.joint import (
    MOST_LETTERS,
    UNKNOWN,
    JointTagger,
    Letters,
    LetterVocabulary,
    Together,
    train_jointly,
)
from attnbook.tagging.taggers import Vocabulary
from attnbook.tagging.training import NO_TAG, evaluate, predict
from attnbook.tagging.treebank import read


def annotated(count, seed):
    """Sentences of the toy grammar; the other columns repeat what is known of the neighbours."""
    found = []
    for words, tags in grammar.sample(count, seed):
        before = ("START", *tags[:-1])
        labels = tuple((tag, tag[:2], "", f"after {b}", "root") for tag, b in zip(tags, before, strict=True))
        found.append(Annotated(words, labels))
    return found


@pytest.fixture(scope="module")
def sentences():
    return annotated(300, 1)


def make(sentences, **options):
    torch.manual_seed(0)
    tagged = [s.tagged for s in sentences]
    letters = LetterVocabulary(tagged) if options.get("d_letters") else Vocabulary(tagged, affixes=True)
    labels = Labels(sentences)
    return JointTagger(letters, labels.names, d_model=32, n_heads=4, n_layers=1, **options), labels


def test_labels_are_numbered_and_rare_ones_are_not_learned():
    one = Annotated(("a", "b"), (("X", "x", "", "r", "root"), ("Y", "y", "", "r", "root")))
    labels = Labels([one, Annotated(("a",), (("X", "z", "", "r", "<X"),))], at_least=2)
    assert list(labels.names) == list(COLUMNS)
    assert labels.names["tag"] == ("X",)
    assert labels.encode(one).tolist() == [[0, NO_TAG, 0, 0, 0], [NO_TAG, NO_TAG, 0, 0, 0]]
    assert labels.encode(Annotated((), ())).shape == (0, 5)


def test_letters_are_numbered_and_long_words_keep_both_ends():
    vocabulary = LetterVocabulary([(("abcdefghijklmnopqrstuvwxyz",), ("X",))], at_least=1)
    numbers = vocabulary.encode(("abcdefghijklmnopqrstuvwxyz", "za?"))[:, -MOST_LETTERS:]
    assert numbers[0].tolist() == [*range(2, 10), *range(20, 28)]
    assert numbers[1, :4].tolist() == [27, 2, UNKNOWN, 0]


def test_a_word_is_read_alike_wherever_it_stands_and_padding_is_nothing():
    torch.manual_seed(0)
    letters = Letters(9, 8, 16).eval()
    words = torch.tensor([[[2, 3, 0, 0], [4, 5, 6, 7]], [[4, 5, 6, 7], [0, 0, 0, 0]]])
    out = letters(words)
    assert torch.allclose(out[0, 1], out[1, 0], atol=1e-6)
    alone = letters(torch.tensor([[[2, 3]]]))
    assert torch.allclose(out[0, 0], alone[0, 0], atol=1e-6)
    assert not torch.allclose(letters(torch.tensor([[[3, 2]]])), alone, atol=1e-3)


def test_words_of_any_length_are_read_as_each_by_itself():
    torch.manual_seed(0)
    letters = Letters(9, 8, 16).eval()
    lengths = torch.tensor([0, 1, 4, 5, 7, 8, 15, 16, 2, 16])
    words = torch.randint(1, 9, (10, MOST_LETTERS)) * (torch.arange(MOST_LETTERS) < lengths[:, None])
    together = letters(words[None])[0]
    for word, length, out in zip(words, lengths.tolist(), together, strict=True):
        own = word[:length]
        mean = letters.stack(letters.embedding(own)[None])[0].mean(0) if length else torch.zeros(8)
        assert torch.allclose(out, letters.out_proj(mean), atol=1e-5)


def test_taggers_together_give_the_mean_of_their_probabilities(sentences):
    tagged, labels = [s.tagged for s in sentences], Labels(sentences)
    vocabulary = Vocabulary(tagged, affixes=True)
    few = [JointTagger(vocabulary, labels.names, d_model=8, n_heads=2) for _ in range(3)]
    together = Together(few).eval()
    ids = torch.nn.utils.rnn.pad_sequence([vocabulary.encode(words) for words, _ in tagged[:4]], True)
    mean = sum(tagger(ids).softmax(-1) for tagger in few) / 3
    assert torch.allclose(together(ids).exp(), mean, atol=1e-6)
    own = [names for names in predict(together, [words for words, _ in tagged[:4]])]
    best = [tuple(vocabulary.tags[at] for at in row) for row in mean.argmax(-1).tolist()]
    assert own == [row[: len(words)] for row, (words, _) in zip(best, tagged, strict=False)]
    assert evaluate(Together(few[:1]), tagged).all == evaluate(few[0], tagged).all


def test_taggers_together_must_number_alike(sentences):
    one, _ = make(sentences)
    other, _ = make(sentences[:20])
    with pytest.raises(ValueError, match=r"taggers\[1\] does not"):
        Together([one, other])
    with pytest.raises(ValueError, match="at least one tagger, got none"):
        Together([])


def test_of_a_hidden_word_only_its_place_is_seen(sentences):
    tagger, _ = make(sentences, d_letters=8)
    tagger.eval()
    first, second = (tagger.vocabulary.encode(words)[None] for words in (("I", "saw"), ("I", "can")))
    hidden = torch.tensor([[False, True]])
    assert not torch.allclose(tagger.read(first), tagger.read(second))
    assert torch.allclose(tagger.read(first, hidden), tagger.read(second, hidden))


def test_padding_changes_no_score(sentences):
    tagger, _ = make(sentences)
    tagger.eval()
    short, long = (tagger.vocabulary.encode(words) for words in (("I", "saw"), ("I", "saw", "a", "dog")))
    both = tagger(torch.nn.utils.rnn.pad_sequence([short, long], batch_first=True))
    assert torch.allclose(both[0, :2], tagger(short[None])[0], atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"d_letters": 8}])
def test_it_learns_the_toy_grammar(sentences, options):
    tagger, labels = make(sentences, dropout=0.0, word_dropout=0.0, **options)
    seen = []
    history = train_jointly(
        tagger, labels, sentences, annotated(60, 2), epochs=4, seed=0, rate=5e-3, batch_tokens=128,
        average=0.9, watch=lambda epoch, accuracy: seen.append((epoch, accuracy)),
    )  # fmt: skip
    assert [epoch for epoch, _ in seen] == [1, 2, 3, 4]
    assert history.best_epoch == max(range(4), key=history.dev.__getitem__) + 1
    right = evaluate(tagger, [s.tagged for s in annotated(200, 3)]).all
    assert right > 90 > 100 * float(grammar.ceiling("word"))
    assert not tagger.training


def test_without_the_others_their_heads_learn_nothing(sentences):
    for others, moved in ((0.0, False), (0.3, True)):
        tagger, labels = make(sentences)
        before = [column.weight.detach().clone() for column in tagger.columns]
        how = {"epochs": 1, "seed": 0, "average": 0.0, "guess": 0.0}
        train_jointly(tagger, labels, sentences[:40], sentences[:5], others=others, **how)
        change = [(c.weight - b).norm() / b.norm() for c, b in zip(tagger.columns, before, strict=True)]
        assert (change[3] > 0.01) == moved  # weight decay alone moves a column by less
        assert change[0] > 0.01


def test_the_relative_bias_goes_ten_times_as_fast(sentences):
    tagger, labels = make(sentences)
    how = {"epochs": 1, "seed": 0, "average": 0.0, "rate": 1e-3, "batch_tokens": 4096}
    train_jointly(tagger, labels, sentences[:20], sentences[:5], **how)  # one step: Adam moves by the rate
    assert tagger.stack.relative.weight.abs().max().item() == pytest.approx(1e-2, rel=1e-3)


def test_all_columns_of_the_treebank(treebank_folder):
    dev = load_columns("dev", treebank_folder)
    assert [s.tagged for s in dev] == list(read(treebank_folder / "en_ewt-ud-dev.conllu"))
    from_ap = dev[0]
    assert from_ap.words[:3] == ("From", "the", "AP")
    assert from_ap.labels[0] == ("ADP", "IN", "", "case", ">PROPN")
    assert from_ap.labels[3] == (
        "VERB", "VBZ", "Mood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin", "root", "root",
    )  # fmt: skip


def test_without_a_treebank_it_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.delenv("ATTNLAB_DATA", raising=False)
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="load_treebank"):
        load_columns("dev")


def test_the_stored_taggers_stand_on_top_of_the_ladder():
    rows = results.load("tagging-joint")["rows"]
    pairs = rows["two of them, averaged"]
    members = [seed for pair in pairs["seeds"] for seed in pair]
    assert len(set(members)) == len(members) >= 6  # three pairs, and nobody is in two
    assert set(members) <= set(rows["all of it"]["seeds"])
    right = [run["test"]["all"] for run in pairs["runs"]]
    assert sum(right) / len(right) > 95.7
    taggers = Comparison.from_dict(results.load("tagging")["sweeps"]["ladder"])
    assert max(row.extra("all words")[0] for row in taggers.rows.values()) < min(
        run["test"]["all"] for run in rows["all of it"]["runs"]
    )
