"""The viewer of heads: its numbers are the stored weights, and these are the model's."""

import base64
import gzip
import json

import pytest
import torch

from attnbook.tour import weights_of
from attnbook.widgets import HeadsViewer
from attnbook.widgets.inside import STORED, pack
from attnlab import pretrained
from attnlab.pretrained import WeightsError
from attnlab.pretrained.minilm import MiniLM
from attnlab.pretrained.smollm2 import SmolLM2

from .test_widgets import Cells

STORED_TEXTS = json.loads(STORED.read_text(encoding="utf-8"))


class Words:
    """A tokenizer of a word each."""

    def encode(self, text):
        return type("Cut", (), {"ids": [len(word) for word in text.split()]})

    def encode_batch(self, texts):
        return [self.encode(text) for text in texts]

    def id_to_token(self, at):
        return "x" * at

    def decode(self, ids):
        return " " + "x" * ids[0]


@pytest.fixture
def models():
    torch.manual_seed(0)
    sizes = {"d_model": 12, "n_heads": 3, "n_layers": 2, "d_ff": 8}
    return MiniLM(20, Words(), **sizes).eval(), SmolLM2(Words(), vocab_size=20, n_kv_heads=1, **sizes).eval()


def test_a_figure_of_any_text_holds_the_weights_of_every_head(models):
    for model in models:
        want = weights_of(model, "I saw a very old saw")
        for layer in (1, 2):
            for head in (1, 2, 3):
                figure = HeadsViewer.of("I saw a very old saw", model, layer=layer, head=head, token=4)
                assert figure.weights.shape == (6, 6)
                assert (figure.weights - want[layer - 1, head - 1]).abs().max() <= 0.5 / 255 + 1e-5
        rows = Cells(figure._repr_html_()).rows
        assert rows[0] == ["piece", "weight"]
        assert [float(row[1]) for row in rows[1:]] == pytest.approx(figure.weights[4].tolist(), abs=0.0051)
        assert [row[0] for row in rows[1:3]] == [f"1 {model.pieces('I')[0]}", f"2 {model.pieces('saw')[0]}"]


def test_a_text_must_have_pieces_and_not_too_many(models):
    for text in ("", "a " * 65):
        with pytest.raises(ValueError, match=r"text must have 1 to 64 pieces, got (0|65)"):
            pack(models[1], text)


def test_what_is_stored_is_small_and_adds_up():
    assert len(gzip.compress(STORED.read_bytes())) < 200_000
    assert {text["model"] for text in STORED_TEXTS} == {"all-MiniLM-L6-v2", "SmolLM2-135M-Instruct"}
    for at, text in enumerate(STORED_TEXTS):
        n, shape = len(text["pieces"]), (text["layers"], text["heads"])
        size = n * (n + 1) // 2 if text["causal"] else n * n
        assert len(base64.b64decode(text["weights"])) == shape[0] * shape[1] * size
        for layer, head in ((1, 1), shape):
            sums = HeadsViewer(at, layer=layer, head=head).weights.sum(-1)
            assert (sums - 1).abs().max() < 0.5 * n / 255


@pytest.mark.parametrize("load", ["load_minilm", "load_smollm2"])
def test_what_is_stored_is_what_the_model_computes(load):
    try:
        model = getattr(pretrained, load)()
    except WeightsError as error:
        pytest.skip(str(error))
    causal = load == "load_smollm2"
    for at, text in enumerate(STORED_TEXTS):
        if text["causal"] != causal:
            continue
        pieces = text["pieces"]
        plain = "".join(pieces) if causal else " ".join(pieces[1:-1]).replace(" ##", "")
        assert model.pieces(plain) == pieces
        want = weights_of(model, plain)
        for layer, head in ((1, 3), (4, 2), (text["layers"], text["heads"])):
            got = HeadsViewer(at, layer=layer, head=head).weights
            assert (got - want[layer - 1, head - 1]).abs().max() < 0.003


def test_settings_are_the_state():
    figure = HeadsViewer(2, layer=4, head=2, token=7)
    settings = json.loads(Cells(figure._repr_html_()).figure["data-settings"])
    assert settings == figure.settings()
    assert settings["texts"] == STORED_TEXTS


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sentence": 6}, "sentence must be from 0 to 5, got 6"),
        ({"layer": 0}, "layer must be at least 1, got 0"),
        ({"layer": 7}, "layer must be at most 6 for this text, got 7"),
        ({"head": 13}, "head must be at most 12 for this text, got 13"),
        ({"token": -1}, "token must be at least 0, got -1"),
        ({"token": 7}, "token must be at most 6 for this text, got 7"),
    ],
)
def test_bad_input_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        HeadsViewer(**changes)
