"""The files that a reader copies compute what the library computes, and need torch alone."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from attnlab import transformer

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CLOSE = {"rtol": 1e-12, "atol": 1e-12}  # in float64; what differs is below 1e-14
PAD, BOS = 10, 11


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def renamed(tensors, names):
    """Take the library's names to a copy's."""
    out = {}
    for name, x in tensors:
        for ours, theirs in names.items():
            name = re.sub(ours, theirs, name)
        out[name] = x
    return out


def gradients(model):
    return ((name, p.grad) for name, p in model.named_parameters())


@pytest.fixture(autouse=True)
def in_float64():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


NAMES_IN_GPT = {
    r"^stack\.layers": "blocks",
    r"^stack\.learned": "position_embedding",
    r"^stack\.final_norm": "final_norm",
    r"^embedding": "token_embedding",
    r"^out_proj": "lm_head",
    r"ffn\.in_proj": "ffn.0",
    r"ffn\.out_proj": "ffn.2",
}


def in_gpt(tensors):
    """Take a LanguageModel's tensors to the names of the GPT, whose three projections are one."""
    out = renamed(tensors, NAMES_IN_GPT)
    for q in [name for name in out if "q_proj" in name]:
        parts = [out.pop(q.replace("q_proj", part)) for part in ("q_proj", "k_proj", "v_proj")]
        out[q.replace("q_proj", "qkv_proj")] = torch.cat(parts)
    return out


@pytest.fixture
def language_models():
    """Return the library's model and the copy, with the same weights."""
    ours = transformer.LanguageModel(
        vocab_size=12,
        d_model=16,
        n_heads=4,
        n_layers=3,
        positions="learned",
        max_positions=9,
        activation="gelu",
        std=1.0,
    )
    theirs = example("gpt").GPT(vocab_size=12, d_model=16, n_heads=4, n_layers=3, max_positions=9)
    theirs.load_state_dict(in_gpt(ours.state_dict().items()))
    return ours, theirs


def test_the_gpt_is_the_language_model(language_models):
    ours, theirs = language_models
    ids = torch.randint(12, (3, 9))
    for model in language_models:
        F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten()).backward()
    assert_close(theirs(ids), ours(ids), **CLOSE)
    wanted, got = in_gpt(gradients(ours)), dict(gradients(theirs))
    assert got.keys() == wanted.keys()
    for name, gradient in wanted.items():
        assert_close(got[name], gradient, **CLOSE, msg=lambda text, name=name: f"{name}: {text}")


def test_the_gpt_starts_with_small_embeddings():
    model = example("gpt").GPT(vocab_size=500, d_model=64, n_heads=4, n_layers=1, max_positions=500)
    for embedding in (model.token_embedding, model.position_embedding):
        assert_close(embedding.weight.std(), torch.tensor(0.02), rtol=0.05, atol=0)
    assert model.lm_head.weight is model.token_embedding.weight


def test_the_gpt_reads_no_later_token(language_models):
    _, gpt = language_models
    ids = torch.randint(12, (2, 9))
    other = ids.clone()
    other[:, 5:] = (ids[:, 5:] + 1) % 12  # what pads a shorter text, for instance
    assert_close(gpt(other)[:, :5], gpt(ids)[:, :5], **CLOSE)
    assert_close(gpt(ids[:, :5]), gpt(ids)[:, :5], **CLOSE)


def test_the_gpt_writes_what_the_language_model_writes(language_models):
    ours, gpt = language_models
    prompts = torch.randint(12, (4, 3))
    assert torch.equal(gpt.generate(prompts, 6, temperature=0), transformer.generate(ours, prompts, 6))


def test_the_gpt_draws_from_its_probabilities_and_reads_what_it_has_positions_for(language_models):
    ours, gpt = language_models
    ids = prompts = torch.randint(12, (4, 3))
    torch.manual_seed(1)
    with torch.no_grad():
        for _ in range(10):  # up to 13 tokens, of which 9 are read
            scores = ours(ids[:, -9:])[:, -1]
            ids = torch.cat((ids, (scores / 0.7).softmax(-1).multinomial(1)), 1)
    torch.manual_seed(1)
    assert torch.equal(gpt.generate(prompts, 10, temperature=0.7), ids)


def test_the_gpt_with_a_cache_computes_what_it_computes_without(language_models):
    _, gpt = language_models
    ids = torch.randint(12, (2, 9))
    wanted = gpt(ids)
    for sizes in ([9], [1] * 9, [4, 1, 1, 3]):
        cache = [example("gpt").Cache(2, 9, gpt.lm_head.weight) for _ in gpt.blocks]
        with torch.no_grad():
            rows = [gpt(part, cache) for part in ids.split(sizes, 1)]
        assert_close(torch.cat(rows, 1), wanted, **CLOSE)


def test_the_gpt_reads_each_token_once_while_its_positions_last(language_models):
    _, gpt = language_models
    read = []
    gpt.register_forward_pre_hook(lambda _, args: read.append(args[0].shape[1]))
    gpt.generate(torch.randint(12, (2, 4)), 8)
    assert read == [4, 1, 1, 1, 1, 1, 9, 9]


@pytest.mark.parametrize(
    "rules",
    [
        *({"top_k": k} for k in (1, 4, 40)),
        *({"top_p": share} for share in (0.1, 0.8, 1.0)),
        *({"min_p": share} for share in (0.05, 0.5, 1.0)),
        {"top_k": 5, "top_p": 0.6},
        {"top_k": 7, "top_p": 0.9, "min_p": 0.3},
        {"temperature": 2.5, "top_p": 0.8},
        {"temperature": 0},
    ],
    ids=str,
)
def test_the_gpt_s_rules_are_the_librarys(rules):
    logits = 3 * torch.randn(50, 12)
    for scores in (logits, logits.round(), torch.zeros(1, 4)):  # rounded ones have ties
        assert_close(
            example("gpt").distribution(scores, **rules), transformer.distribution(scores, **rules), **CLOSE
        )


def test_the_gpt_s_rules_take_scores_in_half_precision():
    logits = (3 * torch.randn(50, 5000)).bfloat16()
    for rules in ({"top_k": 50}, {"top_p": 0.9}, {"min_p": 0.1}, {"temperature": 0}):
        got, wanted = example("gpt").distribution(logits, **rules), transformer.distribution(logits, **rules)
        assert_close(got, wanted, rtol=1e-4, atol=1e-6)
    assert ((example("gpt").distribution(logits, top_k=50) > 0).sum(-1) == 50).all()


def test_the_gpt_writes_until_all_texts_have_their_end(language_models):
    ours, gpt = language_models
    prompts = torch.randint(12, (4, 3))
    for end in range(12):
        wanted = transformer.generate(ours, prompts, 6, eos_token_id=end)
        got = gpt.generate(prompts, 6, temperature=0, eos_token_id=end)
        n = got.shape[1]
        assert torch.equal(got, wanted[:, :n])
        assert (wanted[:, n:] == end).all()
        assert n == 9 or (got[:, -1] == end).all()


def test_the_gpt_refuses_sizes_that_do_not_fit(language_models):
    _, gpt = language_models
    with pytest.raises(ValueError, match="must divide by n_heads"):
        example("gpt").GPT(vocab_size=12, d_model=8, n_heads=3, n_layers=1, max_positions=9)
    with pytest.raises(ValueError, match="10 tokens are more than max_positions"):
        gpt(torch.zeros(1, 10, dtype=torch.long))


def kept(topic):
    """Return the cell that a chapter gives to take along."""
    (chapter,) = (EXAMPLES.parent / "chapters").glob(f"*_{topic}.ipynb")
    cells = json.loads(chapter.read_text(encoding="utf-8"))["cells"]
    (cell,) = [
        "".join(cell["source"]) for cell in cells if "take-it-with-you" in cell["metadata"].get("tags", ())
    ]
    return cell


@pytest.mark.parametrize(
    ("name", "topic", "first", "behind"),
    [
        ("gpt", "decoding", "class Cache", "def main"),
        ("encoder_decoder", "transformer", "class MultiHeadAttention", "PAD, BOS, EOS"),
    ],
)
def test_the_chapter_s_code_to_take_along_is_this_file_s(name, topic, first, behind):
    source = (EXAMPLES / f"{name}.py").read_text()
    model = source[source.index(first) : source.index(behind)].strip()
    assert max(map(len, model.split("\n"))) <= 76  # what a page shows
    assert kept(topic).endswith(model)


NAMES_IN_TRANSFORMER = {
    r"^(encoder|decoder)\.layers": r"\1",
    r"\.cross\.": ".cross_attention.",
    r"ffn\.in_proj": "ffn.0",
    r"ffn\.out_proj": "ffn.2",
}


class Reference(torch.nn.Module):
    """An encoder and a decoder of the library, put together as in the paper."""

    def __init__(self):
        super().__init__()
        how = {"positions": "sinusoidal", "norm_first": False, "activation": "relu", "d_ff": 24}
        self.embedding = torch.nn.Embedding(13, 16)
        torch.nn.init.normal_(self.embedding.weight, std=0.25)
        self.encoder = transformer.Encoder(16, 4, 2, **how)
        self.decoder = transformer.Decoder(16, 4, 2, **how)

    def forward(self, source, target):
        real = source != PAD
        memory = self.encoder(4 * self.embedding(source), key_mask=real)  # 4 = the root of d_model
        x = self.decoder(4 * self.embedding(target), memory, memory_mask=real)
        return x @ self.embedding.weight.T


@pytest.fixture
def translators():
    """Return the library's stacks and the copy, with the same weights."""
    torch.manual_seed(3)  # one with which texts end early, late and never
    ours = Reference()
    for stack in (ours.encoder, ours.decoder):
        for name, p in stack.named_parameters():
            p.detach().mul_(2 if "proj.weight" in name else 1)  # else it writes what it read last
    theirs = example("encoder_decoder").Transformer(13, 16, 4, 2, d_ff=24, dropout=0.0, pad_token_id=PAD)
    theirs.load_state_dict(renamed(ours.state_dict().items(), NAMES_IN_TRANSFORMER))
    return ours, theirs


def test_the_encoder_decoder_is_the_librarys(translators):
    ours, theirs = translators
    source, target = example("encoder_decoder").numbers(8, 5)
    assert (source == PAD).any()
    for model in translators:
        logits = model(source, target[:, :-1])
        F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD).backward()
    assert_close(theirs(source, target), ours(source, target), **CLOSE)
    wanted, got = renamed(gradients(ours), NAMES_IN_TRANSFORMER), dict(gradients(theirs))
    assert got.keys() == wanted.keys()
    for name, gradient in wanted.items():
        assert_close(got[name], gradient, **CLOSE, msg=lambda text, name=name: f"{name}: {text}")


def test_the_encoder_decoder_reads_neither_padding_nor_what_comes_later(translators):
    _, model = translators
    source, target = torch.randint(10, (2, 4)), torch.randint(10, (2, 5))
    wanted = model(source, target)
    assert_close(model(F.pad(source, (0, 3), value=PAD), target), wanted, **CLOSE)
    assert_close(model(source, F.pad(target, (0, 3), value=PAD))[:, :5], wanted, **CLOSE)
    target[:, 3:] += 1
    assert_close(model(source, target)[:, :3], wanted[:, :3], **CLOSE)


def test_the_encoder_decoder_writes_the_best_token_until_its_end(translators):
    ours, theirs = translators
    source, _ = example("encoder_decoder").numbers(6, 5)
    written = []
    for row in source:  # alone, without padding
        ids = torch.tensor([[BOS]])
        for _ in range(7):
            ids = torch.cat((ids, ours(row[row != PAD][None], ids)[:, -1:].argmax(-1)), 1)
        written.append(ids[0, 1:].tolist())
    end = written[0][1]  # a token that does come
    lengths = [row.index(end) + 1 if end in row else 7 for row in written]
    assert len(set(lengths)) == 3
    wanted = [row[:n] + [PAD] * (max(lengths) - n) for row, n in zip(written, lengths, strict=True)]
    assert theirs.generate(source, BOS, end, 7).tolist() == wanted
    assert theirs.generate(source[:1], BOS, end, 7).tolist() == [written[0][: lengths[0]]]


def test_dropout_takes_away_a_share_of_what_is_added_in_training_alone():
    made = example("encoder_decoder").Transformer(13, 16, 4, 2, dropout=0.1, pad_token_id=PAD)
    assert {m.p for m in made.modules() if isinstance(m, torch.nn.Dropout)} == {0.1}
    source, target = torch.randint(10, (2, 4)), torch.randint(10, (2, 5))
    assert not torch.equal(made(source, target), made(source, target))
    made.eval()
    assert torch.equal(made(source, target), made(source, target))


def test_it_writes_without_dropout_and_leaves_the_mode_as_it_was():
    torch.manual_seed(0)
    made = example("encoder_decoder").Transformer(13, 16, 4, 2, dropout=0.9, pad_token_id=PAD)
    source = torch.randint(10, (4, 5))
    written = made.generate(source, BOS, 12, 6)
    assert made.training
    assert torch.equal(made.generate(source, BOS, 12, 6), written)
    assert torch.equal(made.eval().generate(source, BOS, 12, 6), written)
    assert not made.training


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"d_model": 15, "n_heads": 3}, "d_model must divide by 2"),
        ({"n_heads": 3}, "d_model must divide by 2 and by n_heads"),
        ({"d_model": 0}, "d_model must be at least 1, got 0"),
        ({"n_heads": 0}, "n_heads must be at least 1, got 0"),
        ({"d_ff": 0}, "d_ff must be at least 1, got 0"),
    ],
)
def test_the_encoder_decoder_refuses_sizes_that_do_not_fit(sizes, said):
    with pytest.raises(ValueError, match=said):
        example("encoder_decoder").Transformer(
            **{"vocab_size": 13, "d_model": 16, "n_heads": 4, "n_layers": 1} | sizes
        )


def test_the_encoder_decoder_refuses_more_tokens_than_it_has_places():
    made = example("encoder_decoder").Transformer(13, 16, 4, 1, pad_token_id=PAD, max_positions=4)
    made(torch.ones(1, 4).long(), torch.ones(1, 4).long())
    for n_source, n_target in ((5, 4), (4, 5)):
        with pytest.raises(ValueError, match="4 positions"):
            made(torch.ones(1, n_source).long(), torch.ones(1, n_target).long())


ALONE = """
import runpy, sys
sys.modules["attnlab"] = sys.modules["attnbook"] = None  # an import would be an error
sys.argv = [sys.argv[1], "--steps", "50"]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("name", ["gpt", "encoder_decoder"])
def test_an_example_learns_with_torch_alone(name):
    done = subprocess.run(
        [sys.executable, "-I", "-c", ALONE, EXAMPLES / f"{name}.py"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert not done.returncode, done.stderr
    first, last = (float(loss) for loss in re.findall(r"loss (\S+)", done.stdout))
    assert last < 0.8 * first
    assert re.search(r"^\d+% of new .* without a mistake$", done.stdout, re.MULTILINE)
