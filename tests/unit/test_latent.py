"""Latent attention: the published layer, its two forms, what it keeps, and what it refuses."""

import itertools
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from attnbook.benchmark import multiplications
from attnlab import KVCache, MultiHeadAttention, attention, masks
from attnlab.cache import kv_cache_bytes
from attnlab.latent import PARTS, LatentAttention
from attnlab.positions import RotaryPositions, rotary
from attnlab.transformer import LanguageModel

FRONTIER = Path(__file__).parent / "frontier"
SIZES = {
    "hidden_size": 16,
    "num_attention_heads": 4,
    "kv_lora_rank": 10,
    "qk_nope_head_dim": 6,
    "qk_rope_head_dim": 4,
    "v_head_dim": 5,
}
PUBLISHED = {
    "deepseek_v3": SIZES | {"q_lora_rank": 12, "attention_bias": True},
    "deepseek_v3_halves": SIZES | {"q_lora_rank": None, "rope_interleave": False, "rope_theta": 10_000.0},
}
FORMS = ("plain", "absorbed")


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def layer(n_heads=4, **options):
    torch.manual_seed(0)
    sizes = {"d_latent": 10, "d_head": 6, "d_rotary": 4, "d_v": 5, "d_query_latent": 7} | options
    made = LatentAttention(16, n_heads, **sizes, dtype=torch.float64)
    for name in ("q_norm", "kv_norm"):
        if getattr(made, name) is not None:
            torch.nn.init.normal_(getattr(made, name).weight)
    return made.eval()


def stored(file):
    tensors = load_file(FRONTIER / f"{file}.safetensors")
    state = {name[2:]: value for name, value in tensors.items() if name.startswith("w.")}
    return tensors, state, LatentAttention.from_deepseek(state, PUBLISHED[file])


# --- the published layer -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("file", PUBLISHED)
def test_outputs_and_gradients_are_those_of_the_published_layer(file, form):
    want, state, ours = stored(file)
    x = want["x"].requires_grad_()
    out = ours(x, is_causal=True, form=form)
    torch.testing.assert_close(out, want["out"], rtol=1e-5, atol=1e-5)
    leaves = {"x": x} | {
        name: ours.get_parameter(f"{PARTS.get(part, part)}.{kind}")
        for name, (part, _, kind) in ((name, name.rpartition(".")) for name in state)
    }
    assert len(leaves) == 1 + len(list(ours.parameters()))
    got = torch.autograd.grad(out, list(leaves.values()), want["g"])
    for name, gradient in zip(leaves, got, strict=True):
        there = want["d.x" if name == "x" else f"d.w.{name}"]
        torch.testing.assert_close(gradient, there, rtol=1e-5, atol=1e-5 * there.abs().max().item())


@pytest.mark.parametrize("file", PUBLISHED)
@torch.no_grad()
def test_decoding_and_what_is_kept_are_those_of_the_published_layer(file):
    want, _, ours = stored(file)
    cache = ours.new_cache(2, 6)
    steps = [ours(token, cache=cache) for token in want["x"].split(1, 1)]
    torch.testing.assert_close(torch.cat(steps, 1), want["decoded"], rtol=1e-5, atol=1e-5)
    latents, turned = cache._keys.split((10, 4), -1)
    torch.testing.assert_close(latents, want["latents"], rtol=1e-5, atol=1e-5)
    if file == "deepseek_v3":  # which moves the first of each pair to the front, of queries and keys alike
        turned = torch.cat((turned[..., ::2], turned[..., 1::2]), -1)
    torch.testing.assert_close(turned, want["rotary_keys"], rtol=1e-5, atol=1e-5)
    assert kv_cache_bytes(1, 1, ours.d_kept, 6, d_v=0, batch=2, bytes_per_number=4) == cache._keys.nbytes
    assert want["latents"].numel() + want["rotary_keys"].numel() == cache._keys.numel()


def test_published_weights_are_copied_and_what_is_unknown_is_refused():
    _, state, ours = stored("deepseek_v3")
    assert ours.scale == 10**-0.5
    assert ours.rotary.layout == "interleaved"
    assert all(p.requires_grad for p in ours.parameters())
    ours.out_proj.weight.data.zero_()
    assert state["o_proj.weight"].any()
    config = PUBLISHED["deepseek_v3"]
    with pytest.raises(ValueError, match="config has rope_scaling: give what turns"):
        LatentAttention.from_deepseek(state, config | {"rope_scaling": {"type": "yarn"}})
    other = LatentAttention.from_deepseek(
        state, config | {"rope_scaling": {"type": "yarn"}}, rotary=False, scale=1.0
    )
    assert other.rotary is None
    assert other.scale == 1.0
    with pytest.raises(RuntimeError, match="size mismatch"):
        LatentAttention.from_deepseek(state, config | {"kv_lora_rank": 9})
    with pytest.raises(KeyError, match="v_head_dim"):
        LatentAttention.from_deepseek(state, {k: v for k, v in config.items() if k != "v_head_dim"})


# --- two forms ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{}, {"d_v": 17}, {"d_rotary": 0}, {"rotary": False}, {"d_query_latent": None}]
)
@pytest.mark.parametrize("told", ["nothing", "causal", "mask", "padding", "bias", "weights"])
def test_both_forms_are_the_formula(options, told):
    heads, x = layer(**options), draw(2, 9, 16).requires_grad_()
    pairs = torch.rand(2, 4, 9, 9, generator=torch.Generator().manual_seed(1)) < 0.5
    pairs[0, :, 3] = False  # who may attend to nothing
    given = {
        "nothing": {},
        "causal": {"is_causal": True},
        "mask": {"mask": pairs},
        "padding": {"key_mask": torch.arange(9) >= torch.tensor([[0], [4]]), "is_causal": True},
        "bias": {"bias": draw(4, 9, 9)[None]},
        "weights": {"need_weights": True, "mask": pairs},
    }[told]
    found = []
    for form in FORMS:
        out = heads(x, form=form, **given)
        out, weights = out if told == "weights" else (out, None)
        found.append((out, weights, torch.autograd.grad(out.square().sum(), (x, *heads.parameters()))))
    (out, weights, gradients), (other, other_weights, other_gradients) = found
    assert (out - other).abs().max() < 1e-12
    for a, b in zip(gradients, other_gradients, strict=True):
        assert (a - b).abs().max() < 1e-12 * max(1, b.abs().max())
    want, seen = by_hand(
        heads, x, given.get("mask"), given.get("key_mask"), given.get("bias"), "is_causal" in given
    )
    assert (out - want).abs().max() < 1e-12
    if told == "weights":
        assert (weights - seen).abs().max() < 1e-12
        assert (weights - other_weights).abs().max() < 1e-12


def by_hand(heads, x, mask, key_mask, bias, causal):
    """Every head by itself, from the equations of the paper."""
    n, (d_head, d_rotary, d_v) = x.shape[1], (heads.d_head, heads.d_rotary, heads.d_v)

    def norm(module, z):
        return z / (z.square().mean(-1, keepdim=True) + 1e-6).sqrt() * module.weight

    def turned(z):
        return z if heads.rotary is None else rotary(z)

    asks = x if heads.q_down is None else norm(heads.q_norm, heads.q_down(x))
    down = heads.kv_down(x)
    c, r = norm(heads.kv_norm, down[..., :10]), turned(down[..., 10:])
    q_width, kv_width = d_head + d_rotary, d_head + d_v
    outs, seen = [], []
    for h in range(4):
        q = asks @ heads.q_proj.weight[h * q_width : (h + 1) * q_width].T
        kv = c @ heads.kv_up.weight[h * kv_width : (h + 1) * kv_width].T
        q = torch.cat((q[..., :d_head], turned(q[..., d_head:])), -1)
        k, v = torch.cat((kv[..., :d_head], r), -1), kv[..., d_head:]
        allowed = torch.ones(2, n, n, dtype=torch.bool) if mask is None else mask[:, h]
        allowed = allowed.tril() if causal else allowed
        allowed = allowed if key_mask is None else allowed & key_mask[:, None]
        out, weights = attention(
            q, k, v, mask=allowed, bias=None if bias is None else bias[:, h], need_weights=True
        )
        outs.append(out)
        seen.append(weights)
    return heads.out_proj(torch.cat(outs, -1)), torch.stack(seen, 1)


def test_gradients_of_the_absorbed_form_are_those_of_differences():
    heads, x = layer(2, d_latent=3, d_head=2, d_rotary=2, d_v=2, d_query_latent=None), draw(1, 4, 16)
    leaves = [x.requires_grad_()]
    assert torch.autograd.gradcheck(lambda x: heads(x, is_causal=True, form="absorbed"), leaves)


def test_with_a_latent_as_wide_as_all_heads_it_is_multi_head_attention():
    # Nothing is compressed: kv_up holds the matrices of keys and values, and the norm is undone.
    heads, plain = layer(d_latent=16, d_rotary=0, d_query_latent=None, d_head=4, d_v=4), None
    plain = MultiHeadAttention(16, 4, bias=False, dtype=torch.float64)
    with torch.no_grad():
        heads.kv_down.weight.copy_(torch.eye(16))
        heads.kv_norm.weight.fill_(1)
        keys, values = heads.kv_up.weight.unflatten(0, (4, 8)).split(4, 1)
        plain.q_proj.weight.copy_(heads.q_proj.weight)
        plain.k_proj.weight.copy_(keys.flatten(0, 1))
        plain.v_proj.weight.copy_(values.flatten(0, 1))
        plain.out_proj.weight.copy_(heads.out_proj.weight)
    x = draw(2, 5, 16)
    x = x / (x.square().mean(-1, keepdim=True)).sqrt()
    for form in FORMS:
        assert (heads(x, form=form) - plain(x)).abs().max() < 1e-5  # eps of the norm


@pytest.mark.parametrize("sizes", [{}, {"d_latent": 24}, {"d_latent": 3}, {"d_v": 20}])
def test_the_form_that_is_taken_multiplies_less(sizes):
    heads = layer(**sizes)
    for n_q, n_k in itertools.product((1, 2, 5, 16), (1, 2, 16, 40)):
        if n_q > n_k:
            continue
        counts = {form: counted(heads, n_q, n_k, form) for form in (*FORMS, None)}
        assert counts[None] == min(counts.values()), (n_q, n_k, counts)


def counted(heads, n_q, n_k, form):
    with torch.no_grad():
        cache = heads.new_cache(1, n_k)
        if n_k > n_q:
            heads(draw(1, n_k - n_q, 16), cache=cache)
        return multiplications(lambda: heads(draw(1, n_q, 16), cache=cache, form=form))


def test_published_widths_absorb_up_to_170_new_tokens():
    with torch.device("meta"):
        v3 = LatentAttention(7168, 128, d_latent=512, d_head=128, d_rotary=64, d_query_latent=1536)
    assert v3.d_kept == 576
    assert v3._cheaper(1, 2) == v3._cheaper(170, 10**6) == "absorbed"
    assert v3._cheaper(171, 10**6) == v3._cheaper(4096, 4096) == v3._cheaper(1, 1) == "plain"


# --- decoding ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [*FORMS, None])
@pytest.mark.parametrize("parts", [(9,), (4, 1, 1, 3), (1,) * 9, (2, 7)])
@torch.no_grad()
def test_piece_by_piece_is_all_at_once(parts, form):
    heads, x = layer(), draw(2, 9, 16)
    cache = heads.new_cache(2, 9)
    got = torch.cat([heads(part, cache=cache, form=form) for part in x.split(parts, 1)], 1)
    assert (got - heads(x, is_causal=True)).abs().max() < 1e-12
    assert cache._keys.shape == (2, 1, 9, 14)
    assert cache._values.numel() == 0


@pytest.mark.parametrize("form", FORMS)
@torch.no_grad()
def test_padding_on_the_left_changes_nothing(form):
    heads, x = layer(), draw(1, 5, 16)
    padded = torch.cat((draw(1, 3, 16, seed=1), x), 1)
    real, places = torch.arange(8)[None] >= 3, (torch.arange(8)[None] - 3).clamp(min=0)
    want = heads(x, is_causal=True)
    got = heads(padded, is_causal=True, key_mask=real, position_ids=places, form=form)
    assert (got[:, 3:] - want).abs().max() < 1e-12
    cache = heads.new_cache(1, 8)
    steps = [
        heads(
            padded[:, t : t + 1],
            cache=cache,
            key_mask=real[:, : t + 1],
            position_ids=places[:, t : t + 1],
            form=form,
        )
        for t in range(8)
    ]
    assert (torch.cat(steps, 1)[:, 3:] - want).abs().max() < 1e-12
    assert not heads(padded, is_causal=True, key_mask=real, form=form)[:, 0].any()  # the empty row; no bias


@torch.no_grad()
def test_scores_depend_on_distances_alone():
    heads, x = layer(), draw(1, 6, 16)
    moved = heads(x, position_ids=torch.arange(6) + 1000)
    assert (moved - heads(x)).abs().max() < 1e-11
    assert (heads(x, position_ids=2 * torch.arange(6)) - heads(x)).abs().max() > 1e-3


@torch.no_grad()
def test_a_rolling_cache_is_a_window():
    heads, x = layer(), draw(2, 12, 16)
    cache = heads.new_cache(2, 4, rolling=True)
    got = torch.cat([heads(part, cache=cache) for part in x.split((6, 1, 1, 1, 1, 1, 1), 1)], 1)
    assert (got - heads(x, mask=masks.window(12, 3, 0))).abs().max() < 1e-12


@torch.no_grad()
def test_one_step_of_the_absorbed_form_makes_no_keys_of_heads():
    # 16 heads, 400 tokens: expanding would multiply 400 · 10 · 16 · 11 times before anything is compared.
    heads = layer(16)
    assert counted(heads, 1, 400, "absorbed") < 400 * 10 * 16 * 11 < counted(heads, 1, 400, "plain")


def test_weights_are_dropped_in_training_alone():
    heads, x = layer(dropout=0.5), draw(2, 9, 16)
    assert torch.equal(heads(x), heads(x))
    heads.train()
    for form in FORMS:
        _, weights = heads(x, need_weights=True, form=form)
        assert ((weights == 0).double().mean() - 0.5).abs() < 0.15
        assert not torch.equal(heads(x, form=form), heads(x, form=form))


@pytest.mark.parametrize("form", FORMS)
def test_heads_are_weighted_one_by_one(form):
    heads, x = layer(), draw(2, 5, 16)
    factors = torch.tensor([0.0, 1.0, -2.0, 0.5], dtype=torch.float64)
    got, single = heads(x, head_weights=factors, form=form), torch.eye(4, dtype=torch.float64)
    want = sum(factor * heads(x, head_weights=one) for factor, one in zip(factors, single, strict=True))
    assert (got - want).abs().max() < 1e-12


@torch.no_grad()
def test_a_model_whose_layers_keep_latents_decodes_as_it_reads():
    torch.manual_seed(0)
    model = LanguageModel(20, 16, 4, 2, positions="none", std=1.0).double().eval()
    for part in model.stack.layers:
        part.attention = layer()
    ids = torch.randint(20, (2, 7))
    cache = model.new_cache(2, 7)
    got = torch.cat([model(one, cache=cache) for one in ids.split((3, 1, 1, 2), 1)], 1)
    assert (got - model(ids)).abs().max() < 1e-11
    assert all(part._keys.shape[-1] == 14 for part in cache)


# --- what is refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"d_latent": 0}, "d_latent must be at least 1, got 0"),
        ({"d_rotary": -2}, "d_rotary must be at least 0, got -2"),
        ({"d_rotary": 3}, "rotary turns pairs: d_rotary must be even, got 3"),
        ({"d_query_latent": 0}, "d_query_latent must be at least 1, got 0"),
        ({"d_v": 0}, "d_v must be at least 1, got 0"),
        ({"dropout": 2}, "dropout must lie between 0 and 1, got 2"),
    ],
)
def test_a_layer_that_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        layer(**options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"form": "expanded"},
            ValueError,
            r"form must be None or one of \('plain', 'absorbed'\), got 'expanded'",
        ),
        ({"mask": torch.ones(3, 4) > 0}, ValueError, r"mask must be .* got \(3, 4\)"),
        ({"key_mask": torch.ones(2, 5) > 0}, ValueError, r"key_mask must have shape .* got \(2, 5\)"),
        ({"position_ids": torch.arange(4)}, ValueError, r"position_ids must be \(n,\) or .* got \(4,\)"),
        ({"cache": [1]}, TypeError, "cache must be a KVCache, that of this layer, got list"),
        (
            {"cache": KVCache(2, 1, 8, 13, 0, dtype=torch.float64)},
            ValueError,
            r"k must have shape \(2, 1, 3, 13\)",
        ),
        ({"x": draw(2, 3, 17)}, ValueError, r"x must have shape \(\.\.\., n, 16\)"),
        ({"x": draw(3, 16)}, ValueError, r"x must have shape \(batch, n, d_model\), got \(3, 16\)"),
    ],
)
@torch.no_grad()
def test_a_call_that_does_not_fit_is_refused(options, error, message):
    heads, given = layer(), {"x": draw(2, 3, 16)} | options
    with pytest.raises(error, match=message):
        heads(given.pop("x"), **given)


def test_places_need_something_that_turns():
    for heads in (layer(rotary=False), layer(d_rotary=0)):
        with pytest.raises(ValueError, match="position_ids turn queries and keys"):
            heads(draw(1, 3, 16), position_ids=torch.arange(3))
    other = layer(rotary=RotaryPositions(base=100.0))
    assert not torch.allclose(other(draw(1, 3, 16)), layer()(draw(1, 3, 16)))
