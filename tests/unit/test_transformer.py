"""The Transformer against torch's own, against the formulas written out, and against itself with a cache."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attnlab import masks, positions
from attnlab.transformer import (
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    FeedForward,
    LanguageModel,
    from_torch,
    generate,
    make_norm,
)

SCHEMES = ("none", "learned", "sinusoidal", "relative", "alibi", "rotary")
FORMS = [
    (norm_first, activation, bias)
    for norm_first in (True, False)
    for activation, bias in (("relu", True), ("gelu", False))
]


def theirs(kind, norm_first, activation, bias, dtype=torch.float64):
    torch.manual_seed(0)
    layer = kind(
        12, 3, 20, dropout=0.0, norm_first=norm_first, activation=activation, bias=bias, batch_first=True
    )
    with torch.no_grad():  # norms begin as the identity: move them, so that a wrong one shows
        for p in layer.parameters():
            p.add_(0.3 * torch.randn_like(p))
    return layer.to(dtype)


def same(ours, other, inputs, call, atol):
    """Compare outputs, and the gradients of inputs and of all weights, taken together by their norm."""
    results = []
    for model in (ours, other):
        leaves = [x.clone().requires_grad_() for x in inputs]
        out = call(model, *leaves)
        weigh = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape)
        (out * weigh).sum().backward()
        size = sum(p.grad.square().sum() for p in model.parameters()).sqrt()
        results.append([out, *(leaf.grad for leaf in leaves), size[None]])
    for mine, want in zip(*results, strict=True):
        scale = max(1.0, want.abs().max().item())
        assert torch.allclose(mine, want, atol=atol * scale, rtol=0), (mine - want).abs().max()


@pytest.mark.parametrize(("dtype", "atol"), [(torch.float64, 1e-12), (torch.float32, 5e-6)])
@pytest.mark.parametrize(("norm_first", "activation", "bias"), FORMS)
def test_an_encoder_layer_is_that_of_torch(norm_first, activation, bias, dtype, atol):
    other = theirs(nn.TransformerEncoderLayer, norm_first, activation, bias, dtype)
    keys = torch.ones(2, 5, dtype=torch.bool)
    keys[1, 3:] = False

    def call(layer, x):
        if isinstance(layer, EncoderLayer):
            return layer(x, key_mask=keys)
        return layer(x, src_key_padding_mask=~keys)

    same(from_torch(other), other, [torch.randn(2, 5, 12, dtype=dtype)], call, atol)


@pytest.mark.parametrize(("dtype", "atol"), [(torch.float64, 1e-12), (torch.float32, 5e-6)])
@pytest.mark.parametrize(("norm_first", "activation", "bias"), FORMS)
def test_a_decoder_layer_is_that_of_torch(norm_first, activation, bias, dtype, atol):
    other = theirs(nn.TransformerDecoderLayer, norm_first, activation, bias, dtype)
    keys, hidden = torch.ones(2, 7, dtype=torch.bool), torch.ones(5, 5, dtype=torch.bool).triu(1)
    keys[0, 4:] = False

    def call(layer, x, memory):
        if isinstance(layer, DecoderLayer):
            return layer(x, memory, memory_mask=keys)
        return layer(x, memory, tgt_mask=hidden, memory_key_padding_mask=~keys)

    inputs = [torch.randn(2, 5, 12, dtype=dtype), torch.randn(2, 7, 12, dtype=dtype)]
    same(from_torch(other), other, inputs, call, atol)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_order_is_known_by_every_scheme_and_not_without(scheme):
    torch.manual_seed(0)
    encoder, x = Encoder(12, 3, 2, positions=scheme).double(), torch.randn(1, 5, 12).double()
    if scheme == "relative":
        nn.init.normal_(encoder.relative.weight)
    moved = encoder(x[:, [1, 0, 2, 3, 4]])[:, 2:]
    assert torch.allclose(moved, encoder(x)[:, 2:], atol=1e-9) == (scheme == "none")


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("norm_first", [True, False])
def test_six_layers_and_the_whole_transformer_are_those_of_torch(norm_first):
    torch.manual_seed(0)
    other = nn.Transformer(12, 3, 6, 6, 20, 0.0, norm_first=norm_first, batch_first=True).double()
    pair = nn.ModuleList(from_torch(other))
    hidden = torch.ones(5, 5, dtype=torch.bool).triu(1)

    def call(model, source, x):
        if model is other:
            return model(source, x, tgt_mask=hidden)
        encoder, decoder = model
        return decoder(x, encoder(source))

    inputs = [torch.randn(2, 7, 12).double(), torch.randn(2, 5, 12).double()]
    same(pair, other, inputs, call, 1e-11)


def test_a_copy_takes_over_the_mode_the_dropout_and_the_dtype_and_refuses_what_it_is_not():
    other = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.3), 2, enable_nested_tensor=False)
    ours = from_torch(other.half())
    assert ours.training
    assert ours.layers[0].dropout.p == 0.3
    assert ours.dropout.p == 0.0
    assert ours.final_norm is None
    assert ours.layers[1].ffn.in_proj.weight.dtype == torch.float16
    assert not from_torch(other.eval()).training
    with pytest.raises(TypeError, match="got Linear"):
        from_torch(nn.Linear(2, 2))


def test_the_layer_of_todays_models_is_its_formula():
    """RMSNorm, grouped heads with rotary positions, SwiGLU: written out, one head and one token at a time."""
    torch.manual_seed(0)
    layer = EncoderLayer(
        8, 4, d_ff=10, n_kv_heads=2, norm="rms", activation="swiglu", bias=False, rotary=True
    ).double()
    for p in layer.parameters():
        nn.init.normal_(p)
    x = torch.randn(1, 5, 8).double()

    def rms(x, norm):
        return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * norm.weight

    y, heads, a = rms(x[0], layer.attention_norm), [], layer.attention
    for head in range(4):
        own, shared = slice(2 * head, 2 * head + 2), slice(2 * (head // 2), 2 * (head // 2) + 2)
        q = positions.rotary(y @ a.q_proj.weight[own].T)
        k = positions.rotary(y @ a.k_proj.weight[shared].T)
        v = y @ a.v_proj.weight[shared].T
        rows = [((q[i] @ k[: i + 1].T) / 2**0.5).softmax(-1) @ v[: i + 1] for i in range(5)]
        heads.append(torch.stack(rows))
    want = x[0] + torch.cat(heads, -1) @ a.out_proj.weight.T
    z, f = rms(want, layer.ffn_norm), layer.ffn
    gate = z @ f.gate_proj.weight.T
    want = want + (gate * torch.sigmoid(gate) * (z @ f.in_proj.weight.T)) @ f.out_proj.weight.T
    assert torch.allclose(layer(x, is_causal=True)[0], want, atol=1e-12)


def test_each_part_can_be_left_out():
    torch.manual_seed(0)
    x = torch.randn(2, 3, 8)
    layer = EncoderLayer(8, 2, d_ff=0, norm="none")
    assert layer.ffn is None
    assert torch.equal(layer(x), x + layer.attention(x))
    layer = EncoderLayer(8, 2, dropout=1.0)
    assert torch.equal(layer(x), x)  # all that the parts add is dropped: the stream runs through
    assert torch.equal(Encoder(8, 2, 0, final_norm=False)(x), x)
    ours = FeedForward(8, 5, activation=torch.tanh)
    assert torch.allclose(ours(x), ours.out_proj(torch.tanh(ours.in_proj(x))))
    for name, bend in (("gelu_tanh", lambda a: F.gelu(a, approximate="tanh")), ("silu", F.silu)):
        ours = FeedForward(8, 5, activation=name)
        assert torch.allclose(ours(x), ours.out_proj(bend(ours.in_proj(x))))


def test_weights_and_heads_come_out_as_the_layers_have_them():
    torch.manual_seed(0)
    encoder, x = Encoder(8, 2, 3, dropout=0.5).eval(), torch.randn(2, 4, 8)
    out, weights = encoder(x, need_weights=True)
    assert len(weights) == 3
    assert all(torch.allclose(w.sum(-1), torch.ones(2, 2, 4)) for w in weights)
    assert torch.allclose(out, encoder(x), atol=1e-6)
    _, first = encoder.layers[0](x, need_weights=True)
    assert torch.allclose(weights[0], first)
    off = torch.ones(3, 2)
    off[1] = 0
    one = encoder.layers[1]
    without = encoder.layers[0](x)
    without = without + one.attention.out_proj.bias  # heads of zeros leave the bias
    without = without + one.ffn(one.ffn_norm(without))
    want = encoder.final_norm(encoder.layers[2](without))
    assert torch.allclose(encoder(x, head_weights=off), want, atol=1e-6)
    decoder = Decoder(8, 2, 2)
    _, pairs = decoder(x, torch.randn(2, 6, 8), need_weights=True)
    assert [tuple(w.shape) for w in pairs[1]] == [(2, 2, 4, 4), (2, 2, 4, 6)]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_one_token_at_a_time_is_the_full_pass(scheme):
    torch.manual_seed(0)
    model = LanguageModel(11, 12, 3, 2, positions=scheme, std=1.0).double()
    if scheme == "relative":
        nn.init.normal_(model.stack.relative.weight)
    ids = torch.randint(11, (2, 9))
    full = model(ids)
    with torch.no_grad():
        cache = model.new_cache(2, 9)
        steps = [model(part, cache=cache) for part in ids.split([4, 1, 1, 3], dim=1)]
    assert torch.allclose(torch.cat(steps, 1), full, atol=1e-12)
    assert torch.allclose(model(ids, last=True), full[:, -1:])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_decoder_reads_its_memory_once(scheme):
    torch.manual_seed(0)
    decoder = Decoder(12, 3, 2, positions=scheme).double()
    x, memory = torch.randn(2, 5, 12).double(), torch.randn(2, 7, 12).double()
    keys = torch.ones(2, 7, dtype=torch.bool)
    keys[1, 2:] = False
    full = decoder(x, memory, memory_mask=keys)
    with torch.no_grad():
        cache, kept = decoder.new_cache(2, 5), decoder.remember(memory)
        steps = [decoder(x[:, i : i + 1], kept, memory_mask=keys, cache=cache) for i in range(5)]
    assert torch.allclose(torch.cat(steps, 1), full, atol=1e-12)


def test_no_guess_depends_on_a_later_word():
    torch.manual_seed(0)
    model = LanguageModel(11, 12, 3, 2, std=1.0).double()
    x = torch.randn(1, 6, 12).double().requires_grad_()
    # Weighed: a norm ends the stack, and the plain sum of what it gives is 0 whatever comes in.
    (model.stack(x, is_causal=True)[0, 2] * torch.arange(12)).sum().backward()
    assert x.grad[0, :3].abs().amin() > 1e-6
    assert x.grad[0, 3:].abs().amax() == 0


def test_what_is_padded_does_not_matter():
    torch.manual_seed(0)
    encoder = Encoder(12, 3, 2, positions="rotary").double()
    x = torch.randn(1, 4, 12).double()
    noise = 100 * torch.randn(1, 3, 12).double()
    keys = torch.tensor([[True] * 4 + [False] * 3])
    assert torch.allclose(encoder(torch.cat((x, noise), 1), key_mask=keys)[:, :4], encoder(x), atol=1e-12)
    left = encoder(torch.cat((noise, x), 1), key_mask=keys.flip(1), is_causal=True)[:, 3:]
    assert torch.allclose(left, encoder(x, is_causal=True), atol=1e-12)
    assert torch.isfinite(encoder(x, key_mask=torch.zeros(1, 4, dtype=torch.bool))).all()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_writing_with_a_cache_writes_the_same(scheme):
    torch.manual_seed(0)
    model = LanguageModel(11, 12, 3, 2, positions=scheme, std=1.0).double().train()
    prompt = torch.randint(11, (3, 2))
    written = generate(model, prompt, 6)
    assert model.training
    assert torch.equal(written, generate(model, prompt, 6, use_cache=False))
    for at in range(2, 8):
        assert torch.equal(written[:, at], model(written[:, :at])[:, -1].argmax(-1))
    draws = [
        generate(model, prompt, 6, temperature=0.7, generator=torch.Generator().manual_seed(1)) for _ in "ab"
    ]
    assert torch.equal(*draws)


def test_draws_follow_the_scores_divided_by_the_temperature():
    torch.manual_seed(0)
    model = LanguageModel(5, 8, 2, 1, std=1.0).double()
    count, temperature = 20000, 2.0
    prompt = torch.tensor([[3, 1]])
    new = generate(model, prompt.expand(count, 2), 1, temperature=temperature)[:, -1]
    p = (model(prompt)[0, -1].detach() / temperature).softmax(-1)
    share = new.bincount(minlength=5) / count
    assert ((share - p).abs() < 4 * (p * (1 - p) / count).sqrt()).all()


def test_compile_finds_no_break():
    torch.manual_seed(0)
    x = torch.randn(2, 5, 8)
    for scheme in SCHEMES:
        encoder = Encoder(8, 2, 2, positions=scheme)
        whole = torch.compile(encoder, fullgraph=True, backend="eager")
        assert torch.allclose(whole(x, is_causal=True), encoder(x, is_causal=True), atol=1e-6)
    decoder = Decoder(8, 2, 1)
    assert torch.allclose(torch.compile(decoder, fullgraph=True, backend="eager")(x, x), decoder(x, x))
    model = LanguageModel(9, 8, 2, 2, norm="rms", activation="swiglu", n_kv_heads=1)
    ids = torch.randint(9, (2, 5))
    assert torch.allclose(torch.compile(model, fullgraph=True, backend="eager")(ids), model(ids), atol=1e-6)


def test_autocast_costs_no_more_digits_than_torchs_own_layer():
    torch.manual_seed(0)
    other = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, norm_first=True, batch_first=True)
    ours, x = from_torch(other), torch.randn(4, 16, 32)
    want = other(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        errors = [(layer(x).float() - want).abs().mean().item() for layer in (ours, other)]
    assert errors[0] < 2 * errors[1]


def test_a_model_can_be_saved_moved_and_copied():
    torch.manual_seed(0)
    make = {
        "vocab_size": 9,
        "d_model": 8,
        "n_heads": 2,
        "n_layers": 2,
        "positions": "learned",
        "max_positions": 7,
    }
    model, ids = LanguageModel(**make), torch.randint(9, (2, 5))
    other = LanguageModel(**make)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(ids), model(ids))
    assert other.out_proj.weight is other.embedding.weight
    twin = copy.deepcopy(model).to(torch.bfloat16)
    assert twin.out_proj.weight is twin.embedding.weight
    assert twin(ids).dtype == torch.bfloat16
    with torch.no_grad():
        assert twin(ids, cache=twin.new_cache(2, 5)).dtype == torch.bfloat16
    with torch.device("meta"):
        assert LanguageModel(**make)(torch.zeros(2, 5, dtype=torch.long)).shape == (2, 5, 9)
    assert LanguageModel(**make, tied=False).out_proj.weight.shape == (9, 8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_norm("batch", 3), "norm must be 'layer', 'rms' or 'none', got 'batch'"),
        (lambda: FeedForward(4, 8, activation="relux"), "activation must be a function or one of"),
        (lambda: FeedForward(4, 0), "d_ff must be at least 1, got 0"),
        (lambda: EncoderLayer(10, 4), "n_heads must divide d_model = 10"),
        (lambda: Encoder(8, 2, 1, positions="rope"), "positions must be .*got 'rope'"),
        (lambda: Encoder(8, 2, -1), "n_layers must be at least 0"),
        (lambda: Encoder(8, 2, 1)(torch.zeros(1, 3, 7)), r"x must have shape \(..., n, 8\)"),
        (lambda: Encoder(8, 2, 2)(torch.zeros(1, 3, 8), cache=[]), "one part a layer, 2, got 0"),
        (lambda: Encoder(8, 2, 2)(torch.zeros(1, 3, 8), head_weights=torch.ones(1, 2)), "head_weights"),
        (
            lambda: Encoder(8, 2, 1, positions="learned", max_positions=2)(torch.zeros(1, 3, 8)),
            "the 2 positions learned, it ends at 3",
        ),
        (lambda: Encoder(8, 2, 1)(torch.zeros(1, 3, 8), key_mask=torch.ones(2, 3).bool()), "key_mask"),
        (lambda: LanguageModel(0, 8, 2, 1), "vocab_size must be at least 1"),
        (lambda: LanguageModel(5, 8, 2, 1)(torch.zeros(3).long()), r"ids must have shape \(batch, n\)"),
        (lambda: generate(LanguageModel(5, 8, 2, 1), torch.zeros(1, 0).long(), 1), "n at least 1"),
        (lambda: generate(LanguageModel(5, 8, 2, 1), torch.zeros(1, 1).long(), -1), "max_new_tokens must be"),
        (
            lambda: generate(LanguageModel(5, 8, 2, 1), torch.zeros(1, 1).long(), 1, temperature=-1),
            "temperature must be at least 0, got -1",
        ),
    ],
)
def test_errors_say_what_was_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_dropout_falls_where_torchs_falls():
    """Both drop with the same draws: attention weights, what each part adds, the network's middle."""
    torch.manual_seed(0)
    other = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.4, norm_first=True, batch_first=True).double()
    ours, x = from_torch(other), torch.randn(64, 6, 8).double()
    assert ours.attention.dropout == 0.4
    spreads = []
    for layer in (ours, other):
        torch.manual_seed(1)
        draws = torch.stack([layer(x[:1]) for _ in range(4000)])
        spreads.append((draws.mean(0), draws.std(0)))
    (mean, deviation), (wanted, spread) = spreads
    assert ((mean - wanted).abs() < 5 * spread / 4000**0.5 * 2**0.5).all()
    assert torch.allclose(deviation, spread, rtol=0.1)


def test_rotary_positions_of_another_base_and_layout_and_a_dtype_of_ones_own():
    torch.manual_seed(0)
    turn = positions.RotaryPositions(base=100.0, layout="halves")
    model = LanguageModel(9, 8, 2, 2, positions=turn, dtype=torch.float64)
    assert model.out_proj.weight.dtype == torch.float64
    assert model.out_proj.weight is model.embedding.weight
    ids = torch.randint(9, (2, 6))
    usual = LanguageModel(9, 8, 2, 2, dtype=torch.float64)
    usual.load_state_dict(model.state_dict())
    assert not torch.allclose(model(ids), usual(ids))
    with torch.no_grad():
        cache = model.new_cache(2, 6)
        steps = [model(ids[:, i : i + 1], cache=cache) for i in range(6)]
    assert torch.allclose(torch.cat(steps, 1), model(ids), atol=1e-12)
    decoder = Decoder(8, 2, 1, dtype=torch.float64, device="cpu", dropout=0.3).eval()
    assert decoder.layers[0].cross.dropout == decoder.layers[0].ffn.dropout.p == 0.3
    quiet = Decoder(8, 2, 1, dropout=0.3, attention_dropout=0.0).layers[0]
    assert (quiet.cross.dropout, quiet.attention.dropout, quiet.dropout.p) == (0.0, 0.0, 0.3)
    assert decoder(torch.zeros(1, 2, 8).double(), torch.zeros(1, 3, 8).double()).dtype == torch.float64


@pytest.mark.parametrize("shape", [(0, 4, 8), (2, 0, 8)])
def test_an_empty_batch_and_an_empty_text_go_through_and_back(shape):
    for stack in (Encoder(8, 2, 2, positions="rotary"), Encoder(8, 2, 2)):
        x = torch.randn(shape, requires_grad=True)
        stack(x).sum().backward()
        assert x.grad.shape == x.shape


class Stop:
    """Press the stop button when a part of a model is reached, once."""

    def __init__(self, part):
        self.handle = part.register_forward_pre_hook(self)

    def __call__(self, *_):
        self.handle.remove()
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("kind", "reached"),
    [
        ("layer", lambda model: model.stack.layers[0].attention.out_proj),
        ("layer", lambda model: model.stack.layers[0].ffn),
        ("stack", lambda model: model.stack.layers[1]),
        ("stack", lambda model: model.stack.final_norm),
        ("model", lambda model: model.stack.layers[2].ffn),
        ("model", lambda model: model.out_proj),
    ],
)
@torch.no_grad()
def test_a_step_that_is_stopped_anywhere_may_be_taken_again(kind, reached):
    torch.manual_seed(0)
    model = LanguageModel(20, 16, 4, 3).double().eval()
    x, ids = torch.randn(1, 6, 16).double(), torch.randint(20, (1, 6))
    call = {
        "layer": lambda at, cache: model.stack.layers[0](x[:, at], cache=cache[0]),
        "stack": lambda at, cache: model.stack(x[:, at], cache=cache),
        "model": lambda at, cache: model(ids[:, at], cache=cache),
    }[kind]
    cache, other = model.new_cache(1, 8), model.new_cache(1, 8)
    for one in (cache, other):
        call(slice(5), one)
    Stop(reached(model))
    with pytest.raises(KeyboardInterrupt):
        call(slice(5, 6), cache)
    assert [part.length for part in cache] == [part.length for part in other]
    assert torch.equal(call(slice(5, 6), cache), call(slice(5, 6), other))


@pytest.mark.parametrize("whole", [True, False])
@torch.no_grad()
def test_a_decoder_whose_memory_is_refused_keeps_its_caches(whole):
    torch.manual_seed(0)
    decoder, memory = Decoder(8, 2, 2).eval(), torch.randn(1, 3, 8)
    x = torch.randn(2, 1, 1, 8)
    part = decoder if whole else decoder.layers[0]
    cache, other = part.new_cache(1, 8), part.new_cache(1, 8)
    for one in (cache, other):
        part(x[0], memory, cache=one)
    wrong = torch.ones(1, 4, dtype=torch.bool)
    with pytest.raises(ValueError, match="memory_mask must"):
        part(x[1], memory, cache=cache, memory_mask=wrong)
    with pytest.raises(ValueError, match="memory must"):
        part(x[1], torch.randn(1, 3, 7), cache=cache)
    with pytest.raises(ValueError, match="memory_mask must"):
        part(x[1], part.remember(memory), cache=cache, memory_mask=wrong)
    assert torch.equal(part(x[1], memory, cache=cache), part(x[1], memory, cache=other))


def test_a_step_with_a_cache_becomes_one_graph():
    torch.manual_seed(0)
    model = LanguageModel(9, 8, 2, 2).eval()
    step = torch.compile(model, fullgraph=True, backend="eager", dynamic=True)
    ids, cache = torch.randint(9, (1, 6)), model.new_cache(1, 8)
    with torch.no_grad():
        steps = [step(part, cache=cache) for part in ids.split([3, 1, 1, 1], dim=1)]
        assert torch.allclose(torch.cat(steps, 1), model(ids), atol=1e-5)
    assert [part.length for part in cache] == [6, 6]


def test_a_refused_call_leaves_the_caches_as_they_were():
    model = LanguageModel(9, 8, 2, 2)
    cache = model.new_cache(1, 4)
    with torch.no_grad():
        model(torch.zeros(1, 3, dtype=torch.long), cache=cache)
        with pytest.raises(ValueError, match="capacity"):
            model(torch.zeros(1, 2, dtype=torch.long), cache=cache)
    assert [part.length for part in cache] == [3, 3]


@pytest.mark.parametrize("scheme", ["learned", "sinusoidal", "rotary"])
def test_places_say_where_the_tokens_stand(scheme):
    torch.manual_seed(0)
    model = LanguageModel(11, 12, 3, 2, positions=scheme, max_positions=40, std=1.0).double()
    ids = torch.randint(11, (2, 6))
    position_ids = torch.tensor([[0, 1, 2, 3, 4, 5], [9, 2, 30, 4, 5, 6]])
    got = model(ids, position_ids=position_ids)
    assert torch.allclose(got[0], model(ids)[0])
    assert not torch.allclose(got[1], model(ids)[1], atol=1e-3)
    assert torch.allclose(got[1:], model(ids[1:], position_ids=position_ids[1]))
    with torch.no_grad():
        cache = model.new_cache(2, 6)
        parts = zip(ids.split([2, 1, 3], 1), position_ids.split([2, 1, 3], 1), strict=True)
        steps = [model(part, position_ids=at, cache=cache) for part, at in parts]
    assert torch.allclose(torch.cat(steps, 1), got)
    for wrong in (position_ids[:, :3], position_ids[None], position_ids[0, :2]):
        with pytest.raises(
            ValueError, match=r"position_ids must be \(n,\) or have the dimensions of the tokens, \(2, 6\)"
        ):
            model(ids, position_ids=wrong)


@pytest.mark.parametrize("scheme", ["none", "relative", "alibi"])
def test_places_that_would_be_ignored_are_refused(scheme):
    model = LanguageModel(11, 12, 3, 2, positions=scheme)
    with pytest.raises(ValueError, match=f"position_ids must be None: positions = '{scheme}' reads none"):
        model(torch.zeros(1, 3, dtype=torch.long), position_ids=torch.arange(3))


PACKED = [3, 1, 4]
"""How many words the texts have that share one row."""


def packed_texts():
    """Return the words of one row, the mask that keeps them apart, and positions that start again."""
    owner = torch.repeat_interleave(torch.arange(len(PACKED)), torch.tensor(PACKED))
    ids = torch.randint(11, (1, sum(PACKED)), generator=torch.Generator().manual_seed(0))
    return ids, masks.packed(owner), torch.cat([torch.arange(n) for n in PACKED])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_texts_packed_into_one_row_are_what_they_are_alone(scheme):
    torch.manual_seed(0)
    model = LanguageModel(11, 12, 3, 2, positions=scheme, max_positions=40, std=1.0).double()
    if model.stack.relative is not None:
        nn.init.normal_(model.stack.relative.weight)
    ids, apart, position_ids = packed_texts()
    added = scheme in ("learned", "sinusoidal")
    alone = torch.cat([model(text) for text in ids.split(PACKED, 1)], 1)
    # Where only distances count, the mask alone keeps the texts apart, and no position needs to start again.
    assert torch.allclose(model(ids, mask=apart), alone) == (not added)
    if added or scheme == "rotary":
        for given in (position_ids, position_ids[None]):
            assert torch.allclose(model(ids, mask=apart, position_ids=given), alone)
        assert not torch.allclose(model(ids, position_ids=position_ids), alone, atol=1e-3)
    else:
        with pytest.raises(ValueError, match="position_ids must be None"):
            model(ids, mask=apart, position_ids=position_ids)


def test_a_place_that_was_never_learned_is_refused():
    model = LanguageModel(11, 12, 3, 2, positions="learned", max_positions=8)
    ids = torch.zeros(1, 3, dtype=torch.long)
    for position_ids in ([0, 1, -1], [0, 8, 1]):
        with pytest.raises(
            ValueError, match="position_ids must lie within the 8 positions learned, 0 to 7, got"
        ):
            model(ids, position_ids=torch.tensor(position_ids))
    with pytest.raises(TypeError, match=r"position_ids must be whole numbers .*, got dtype"):
        model(ids, position_ids=torch.zeros(3))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_model_without_memory_is_the_model_without_its_numbers(scheme):
    """On "meta" nothing is drawn or moved, so that what is tied stays tied."""
    make = {
        "vocab_size": 9,
        "d_model": 8,
        "n_heads": 2,
        "n_layers": 2,
        "positions": scheme,
        "input_norm": True,
    }
    torch.manual_seed(0)
    real, state = LanguageModel(**make), torch.get_rng_state()
    empty = LanguageModel(**make, device="meta", dtype=torch.bfloat16)
    decoder = Decoder(8, 2, 2, positions=scheme, activation="swiglu", device="meta", dtype=torch.bfloat16)
    assert torch.equal(torch.get_rng_state(), state)
    assert empty.out_proj.weight is empty.embedding.weight
    assert [(n, p.shape) for n, p in empty.named_parameters()] == [
        (n, p.shape) for n, p in real.named_parameters()
    ]
    for module in (empty, decoder, empty.to_empty(device="cpu")):
        assert {p.dtype for p in module.parameters()} == {torch.bfloat16}
    assert {p.device.type for p in decoder.parameters()} == {"meta"}
    assert empty.out_proj.weight is empty.embedding.weight


def test_the_words_vectors_begin_with_the_spread_that_is_asked_for():
    torch.manual_seed(0)
    for std in (1.0, 0.02, 3.0):
        model = LanguageModel(500, 64, 2, 1, std=std)
        assert abs(float(model.embedding.weight.detach().std()) / std - 1) < 0.05
    assert not LanguageModel(9, 8, 2, 1, std=0.0).embedding.weight.any()


@pytest.mark.parametrize("part", ["final_norm", "input_norm"])
def test_every_norm_has_the_eps_that_is_asked_for(part):
    for kind in (Encoder, Decoder):
        stack = kind(8, 2, 1, eps=0.25, input_norm=True)
        norms = [module for module in stack.modules() if isinstance(module, nn.LayerNorm)]
        assert getattr(stack, part).eps == 0.25
        assert {norm.eps for norm in norms} == {0.25}


def test_a_memory_in_parts_has_one_for_each_layer():
    decoder, x = Decoder(8, 2, 3), torch.randn(1, 2, 8)
    parts = decoder.remember(torch.randn(1, 4, 8))
    for wrong in (parts[:2], [*parts, parts[0]], []):
        with pytest.raises(ValueError, match=f"memory must have one part a layer, 3, got {len(wrong)}"):
            decoder(x, wrong)
    assert decoder(x, parts).shape == x.shape


def test_a_memory_that_is_remembered_loses_the_same_weights():
    torch.manual_seed(0)
    layer, x, memory = DecoderLayer(8, 2, attention_dropout=1.0), *torch.randn(2, 1, 3, 8)
    for mode in (True, False):
        layer.train(mode)
        assert torch.allclose(layer(x, layer.remember(memory)), layer(x, memory), atol=1e-6)


def test_what_is_no_memory_is_refused_by_name():
    x, mask = torch.randn(2, 5, 8), torch.ones(5, 5, dtype=torch.bool)
    for part in (Decoder(8, 2, 2), DecoderLayer(8, 2)):
        with pytest.raises(
            TypeError, match=r"memory must be tokens, got a boolean .* \(5, 5\); .* mask=\.\.\."
        ):
            part(x, mask)
        with pytest.raises(TypeError, match="memory must be a tensor, got NoneType"):
            part(x, None)
        with pytest.raises(ValueError, match=r"memory must have .* batch of x \(2, 5, 8\), got \(3, 5, 8\)"):
            part(x, torch.randn(3, 5, 8))
        for memory in (x, part.remember(x)):
            with pytest.raises(ValueError, match=r"memory_mask must have shape \(..., n_k\) = \(2, 5\), got"):
                part(x, memory, memory_mask=mask)
