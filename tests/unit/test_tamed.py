"""Sinks, norms of queries and keys, gates, differences: against published code and against themselves."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn

from attnlab import MultiHeadAttention, attention, grouped_attention, masks, selection
from attnlab.differential import Difference
from attnlab.positions import RotaryPositions
from attnlab.transformer import DecoderLayer, EncoderLayer, LanguageModel

STORED = Path(__file__).parent / "frontier"
"""What benchmarks/frontier_reference.py wrote."""
HALVES = RotaryPositions(layout="halves")


def same(got, want, tolerance=1e-5):
    torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance)


def loaded(layer, stored):
    """Put the published weights into a layer that has them under the same names, but for the output's."""
    weights = {key[2:].replace("o_proj", "out_proj"): x for key, x in stored.items() if key[:2] == "w."}
    layer.double().load_state_dict(weights)
    return layer


def is_the_published(layer, stored, tolerance=1e-5):
    """Compare the output and all gradients, and return those of weights that have no place of their own."""
    x = stored["x"].requires_grad_()
    out = layer(x, is_causal=True)
    same(out, stored["out"], tolerance)
    same(layer(x, is_causal=True, need_weights=True)[0], stored["out"], tolerance)
    weights = dict(layer.named_parameters())
    got = torch.autograd.grad(out, [x, *weights.values()], stored["g"])
    same(got[0], stored["d.x"], tolerance)
    gradients = dict(zip(weights, got[1:], strict=True))
    for key in list(gradients):
        if (theirs := stored.get("d.w." + key.replace("out_proj", "o_proj"))) is not None:
            same(gradients.pop(key), theirs, tolerance)
    return gradients


# --- published layers --------------------------------------------------------------------------------------


def test_a_layer_with_sinks_is_that_of_gpt_oss():
    stored = load_file(STORED / "gpt_oss.safetensors")
    layer = MultiHeadAttention(16, 4, n_kv_heads=2, d_head=8, sinks=True, rotary=HALVES)
    assert not is_the_published(loaded(layer, stored), stored, 1e-12)  # the others round within


def test_norms_of_queries_and_keys_are_those_of_qwen3():
    stored = load_file(STORED / "qwen3.safetensors")
    layer = MultiHeadAttention(16, 4, n_kv_heads=2, d_head=8, bias=False, qk_norm=True, rotary=HALVES)
    assert not is_the_published(loaded(layer, stored), stored)


def test_a_gate_behind_each_head_is_that_of_qwen3_next():
    stored = load_file(STORED / "qwen3_next.safetensors")
    for key in "q_norm", "k_norm":
        stored[f"w.{key}.weight"] = (
            stored[f"w.{key}.weight"] + 1
        )  # they store by how much a factor differs from 1
    for kind in "w", "d.w":  # and gates beside queries, head by head
        both = stored.pop(f"{kind}.q_proj.weight").unflatten(0, (4, 2, 8))
        stored[f"{kind}.q_proj.weight"] = both[:, 0].flatten(0, 1)
        stored[f"{kind}.gate_proj.weight"] = both[:, 1].flatten(0, 1)
    options = {"n_kv_heads": 2, "d_head": 8, "bias": False, "qk_norm": True, "gate": "elementwise"}
    layer = MultiHeadAttention(16, 4, rotary=HALVES, **options)
    assert not is_the_published(loaded(layer, stored), stored)


def test_a_difference_of_heads_is_that_of_diffllama():
    stored = load_file(STORED / "diffllama.safetensors")
    start = 0.8 - 0.6 * torch.tensor(-0.3).exp().item()  # its layer was the one above one other
    layer = MultiHeadAttention(16, 4, n_kv_heads=2, d_head=8, bias=False, differential=start, rotary=HALVES)
    for key in [key for key in stored if "lambda" in key]:
        stored[key.replace("lambda", "difference.lambda")] = stored.pop(key)
    assert not is_the_published(loaded(layer, stored), stored)


def test_a_soft_cap_is_that_of_gemma_2():
    stored = load_file(STORED / "gemma2.safetensors")
    options = {"n_kv_heads": 2, "d_head": 8, "bias": False, "rotary": HALVES}
    layer = MultiHeadAttention(16, 4, score_mod=lambda score, *_: 2 * (score / 2).tanh(), **options)
    assert not is_the_published(loaded(layer, stored), stored)


class OwnValues(nn.Module):
    """Values that are the keys before their norm, brought to a common size: layers of Gemma 4."""

    def __init__(self, k_proj):
        super().__init__()
        self.k_proj = k_proj

    def forward(self, x):
        return F.rms_norm(self.k_proj(x).unflatten(-1, (-1, 8)), (8,), eps=1e-6).flatten(-2)


def test_what_gemma_4_changes_is_said_by_parts_of_the_layer():
    stored = load_file(STORED / "gemma4.safetensors")
    layer = MultiHeadAttention(16, 4, n_kv_heads=2, d_head=8, bias=False, qk_norm=True, rotary=HALVES)
    layer.v_proj = None
    loaded(layer, stored)
    layer.v_proj = OwnValues(layer.k_proj)
    with torch.no_grad():
        layer.q_norm.weight *= 8**0.5  # it divides by no root
    stored["d.w.q_norm.weight"] /= 8**0.5
    assert not is_the_published(layer, stored)


class LengthTemperature(nn.Module):
    """Multiply each head's queries by a line over the logarithm of how many tokens there are so far."""

    def __init__(self, n_heads):
        super().__init__()
        self.scale, self.bias = (nn.Parameter(torch.ones(n_heads, 1, 1)) for _ in range(2))

    def forward(self, q, k, positions):
        return q * (self.scale * (positions[..., None] + 1).log() + self.bias), k


def test_a_temperature_that_grows_with_the_length_is_that_of_mistral_large_4():
    stored, ours = load_file(STORED / "mistral_large4.safetensors"), LengthTemperature(4)
    for key in "scale", "bias":
        getattr(ours, key).data = stored[f"w.{key}"][:, None, None]
    q = stored["q"].requires_grad_()
    out, _ = ours(q, q, stored["at"][:, None])
    got = torch.autograd.grad(out, [q, ours.scale, ours.bias], stored["g"])
    same(out, stored["out"])
    for key, one in zip(("d.q", "d.w.scale", "d.w.bias"), got, strict=True):
        same(one.reshape(stored[key].shape), stored[key])


@torch.no_grad()
def test_a_layer_takes_a_temperature_as_its_positions():
    layer = MultiHeadAttention(16, 2, rotary=LengthTemperature(2))
    layer.rotary.scale *= 2
    x = torch.randn(1, 5, 16)
    q, k, v = (layer._split(project(x)) for project in (layer.q_proj, layer.k_proj, layer.v_proj))
    factor = 1 + 2 * torch.arange(1, 6).log()[:, None]
    want = layer.out_proj(attention(q * factor, k, v, is_causal=True).transpose(1, 2).flatten(-2))
    same(layer(x, is_causal=True), want)


def test_attention_over_depth_is_that_of_inkling_2():
    stored = load_file(STORED / "inkling2.safetensors")
    leaves = [stored[key].requires_grad_() for key in ("blocks", "last", "w.query")]
    blocks, last, query = leaves
    depth = F.rms_norm(torch.cat((blocks, last[..., None, :]), -2), (16,), eps=1e-6)  # (batch, n, blocks, d)
    out = attention(query[None], depth, depth)[..., 0, :]
    same(out, stored["out"])
    for key, got in zip(
        ("blocks", "last", "w.query"), torch.autograd.grad(out, leaves, stored["g"]), strict=True
    ):
        same(got, stored[f"d.{key}"])


# --- a sink ------------------------------------------------------------------------------------------------


def qkvs(dtype=torch.float64, n=7, n_k=7):
    g = torch.Generator().manual_seed(0)
    shapes = (2, 4, n, 12), (2, 2, n_k, 12), (2, 2, n_k, 5), (4,)
    return [torch.randn(shape, generator=g, dtype=torch.float64).to(dtype) for shape in shapes]


def by_hand(q, k, v, sinks, allowed=None, scale=None):
    """The denominator has one term more."""
    k, v = (x.repeat_interleave(2, 1) for x in (k, v))
    scores = q @ k.mT * (12**-0.5 if scale is None else scale)
    allowed = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool) if allowed is None else allowed
    parts = scores.exp() * allowed
    return parts / (parts.sum(-1, keepdim=True) + sinks[:, None, None].exp()) @ v


HIDDEN = {
    "nothing": ({}, None),
    "is_causal": ({"is_causal": True}, masks.causal(7)),
    "a mask": ({"mask": masks.window(7, 2, 0)}, masks.window(7, 2, 0)),
    "mask and is_causal": ({"mask": masks.window(7, 2), "is_causal": True}, masks.window(7, 2, 0)),
    "padding on the left": ({"mask": ~masks.padding([3, 0], 7)[:, None]}, ~masks.padding([3, 0], 7)[:, None]),
    "everything": ({"mask": torch.zeros(1, 1, 7, 1) > 0}, torch.zeros(7, 7) > 0),
    "a scale": ({"scale": 0.3}, None),
    "no scale at all": ({"scale": 0.0}, None),
}


@pytest.mark.parametrize("hidden", HIDDEN)
def test_a_sink_is_a_term_of_the_denominator_by_both_roads(hidden):
    options, allowed = HIDDEN[hidden]
    leaves = [x.requires_grad_() for x in qkvs()]
    want = by_hand(*leaves, allowed, options.get("scale"))
    fused = grouped_attention(*leaves[:3], sinks=leaves[3], **options)
    weighted, weights = grouped_attention(*leaves[:3], sinks=leaves[3], need_weights=True, **options)
    wanted = torch.autograd.grad(want.square().sum(), leaves)
    for out in fused, weighted:
        same(out, want, 1e-12)
        for one, other in zip(torch.autograd.grad(out.square().sum(), leaves), wanted, strict=True):
            same(one, other, 1e-12)
    assert (weights.sum(-1) < 1).all()


def test_a_sink_has_the_right_gradients():
    q, k, v, s = (x[:1, :2, :3].requires_grad_() if x.dim() > 1 else x.requires_grad_() for x in qkvs())
    torch.autograd.gradcheck(lambda *a: grouped_attention(*a[:3], sinks=a[3], is_causal=True), (
        torch.cat((q, q), 1).detach().requires_grad_(), k, v, s))  # fmt: skip


def test_one_sink_serves_all_heads_and_any_dimensions():
    q, k, v, _ = qkvs()
    q, k, v = q[:, :2], k[:, :1], v[:, 1:]
    one = torch.tensor(0.4, dtype=torch.float64)
    want = attention(q, k, v, sinks=one.expand(2))
    same(attention(q, k, v, sinks=one), want, 1e-12)
    same(attention(q[:, 0], k[:, 0], v[:, 0], sinks=one), want[:, 0], 1e-12)
    same(attention(q[0, 1], k[0, 0], v[0, 0], sinks=one), want[0, 1], 1e-12)


def test_a_bias_and_a_changed_score_do_not_reach_the_sink():
    q, k, v, s = qkvs()
    far = torch.linspace(-1, 1, 49, dtype=torch.float64).view(7, 7)
    want = grouped_attention(q, k, v, sinks=s, score_mod=lambda score, b, h, i, j: score + far[i, j])
    same(grouped_attention(q, k, v, sinks=s, bias=far), want, 1e-12)
    same(grouped_attention(q, k, v, sinks=s, bias=far, need_weights=True)[0], want, 1e-12)
    capped = grouped_attention(
        q, k, v, sinks=s + 9, score_mod=lambda score, *_: 0 * score, need_weights=True
    )[1]
    same(capped.sum(-1), (7 / (7 + (s + 9).exp()))[:, None].expand(2, 4, 7), 1e-12)


@pytest.mark.parametrize("n_heads", [2, 4])
def test_one_query_alone_is_the_last_of_many(n_heads):
    q, k, v, s = qkvs()
    q, s = q[:, :n_heads], s[:n_heads]
    want = grouped_attention(q, k, v, sinks=s)[..., -1:, :]
    same(grouped_attention(q[..., -1:, :], k, v, sinks=s), want, 1e-12)
    same(grouped_attention(q[..., -1:, :], k, v, sinks=s, need_weights=True)[0], want, 1e-12)


def test_a_sink_of_minus_infinity_is_none():
    leaves = [x.requires_grad_() for x in qkvs()[:3]]
    for one in -torch.inf, -300.0:
        want = grouped_attention(*leaves, is_causal=True)
        out = grouped_attention(*leaves, is_causal=True, sinks=torch.tensor(one))
        same(out, want, 1e-12)
        for a, b in zip(*(torch.autograd.grad(o.square().sum(), leaves) for o in (out, want)), strict=True):
            same(a, b, 1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("n", [1, 7])
def test_a_sink_is_not_rounded_where_the_rest_is_in_half_precision(dtype, n):
    # Scores of zero: the output is 7 / (7 + exp(sink)), and the square root of 12 in it is not a half's.
    q, k, v, _ = qkvs(dtype, n=n)
    q, v, sinks = 0 * q, 0 * v + 1, torch.tensor([7.3, -2.1, 4.7, 6.1])
    want = (7 / (7 + sinks.double().exp()))[:, None, None].expand(2, 4, n, 5)
    for out in (
        grouped_attention(q, k, v, sinks=sinks),
        grouped_attention(q, k, v, sinks=sinks, need_weights=True)[0],
    ):
        assert out.dtype == dtype
        assert ((out.double() - want) / want).abs().max() < 1.5 * torch.finfo(dtype).eps


def test_sinks_of_another_shape_are_refused():
    q, k, v, s = qkvs()
    for wrong in s[:3], s[:, None], s[:2]:
        with pytest.raises(ValueError, match=r"sinks must have shape \(n_heads,\) = \(4,\), got"):
            grouped_attention(q, k, v, sinks=wrong)
    with pytest.raises(ValueError, match=r"sinks must have shape"):
        attention(q[0], q[0], q[0], sinks=s)  # the first dimension may be the batch
    with pytest.raises(TypeError, match="sinks must be a tensor, got float"):
        attention(q, q, q, sinks=0.5)


# --- the layer ---------------------------------------------------------------------------------------------

OPTIONS = {
    "sinks": {"sinks": True},
    "norms": {"qk_norm": True},
    "gate of numbers": {"gate": "elementwise"},
    "gate of heads": {"gate": "headwise"},
    "differences": {"differential": 0.6},
    "all": {"sinks": True, "qk_norm": True, "gate": "headwise", "differential": 0.6},
}


@pytest.fixture(params=OPTIONS)
def layer(request):
    torch.manual_seed(0)
    layer = MultiHeadAttention(
        16, 4, n_kv_heads=2, rotary=True, dtype=torch.float64, **OPTIONS[request.param]
    )
    for name, parameter in layer.named_parameters():
        if "norm" in name or name == "sinks":
            parameter.data.add_(torch.randn_like(parameter))
    return layer


@torch.no_grad()
def test_piece_by_piece_is_at_once_with_every_option(layer):
    x, cache = torch.randn(2, 9, 16, dtype=torch.float64), layer.new_cache(2, 9)
    want, weights = layer(x, is_causal=True, need_weights=True)
    same(layer(x, is_causal=True), want, 1e-12)
    assert weights.shape == (2, 4, 9, 9)
    pieces = [layer(piece, cache=cache) for piece in x.split([4, 1, 3, 1], 1)]
    same(torch.cat(pieces, 1), want, 1e-12)


@torch.no_grad()
def test_padding_on_the_left_changes_nothing_with_any_option(layer):
    x, cache = torch.randn(1, 6, 16, dtype=torch.float64), layer.new_cache(1, 9)
    padded = torch.cat((torch.randn(1, 3, 16, dtype=torch.float64), x), 1)
    real, at = torch.arange(9)[None] >= 3, (torch.arange(9) - 3).clamp_min(0)
    want = layer(x, is_causal=True)
    same(layer(padded, is_causal=True, key_mask=real, position_ids=at)[:, 3:], want, 1e-12)
    first = layer(padded[:, :8], key_mask=real[:, :8], position_ids=at[:8], cache=cache)
    last = layer(padded[:, 8:], key_mask=real, position_ids=at[8:], cache=cache)
    same(torch.cat((first, last), 1)[:, 3:], want, 1e-12)


@torch.no_grad()
def test_a_query_that_may_attend_to_nothing_gets_the_projection_of_zeros(layer):
    x, mask = torch.randn(1, 4, 16, dtype=torch.float64), masks.causal(4)
    mask[2] = False
    for out in layer(x, mask=mask), layer(x, mask=mask, need_weights=True)[0]:
        same(out[0, 2], layer.out_proj.bias, 1e-12)


def test_a_layer_of_which_heads_are_pooled_keeps_its_options(layer):
    if layer.difference is not None:
        with pytest.raises(ValueError, match="differential pairs heads: n_kv_heads must be even, got 1"):
            layer.grouped(1)
    else:
        x = torch.randn(2, 3, 16, dtype=torch.float64)
        for name in "k_proj", "v_proj":  # the same in both heads: their mean is each of them
            project = getattr(layer, name)
            project.weight.data[8:], project.weight.data[4:8] = (
                project.weight.data[:0],
                project.weight.data[:4],
            )
            project.bias.data[4:] = project.bias.data[:4]
        same(layer.grouped(1)(x), layer(x), 1e-12)


def test_selected_keys_are_gated_too_and_sinks_beside_them_are_refused():
    layer, x = MultiHeadAttention(16, 4, gate="headwise", qk_norm=True), torch.randn(2, 5, 16)
    all_of_them = selection.SelectedAttention(layer, selection.Indexer(16, 5))
    same(all_of_them(x, is_causal=True), layer(x, is_causal=True))
    for options in {"sinks": True}, {"differential": 0.8}:
        with pytest.raises(ValueError, match="heads must have no score_mod, sinks or differences"):
            selection.SelectedAttention(MultiHeadAttention(16, 4, **options), selection.Indexer(16, 5))


def test_a_gate_that_is_wide_open_halves_or_shuts_what_a_head_brings():
    for gate, width in ("elementwise", 16), ("headwise", 4):
        layer, plain = MultiHeadAttention(16, 4, gate=gate), MultiHeadAttention(16, 4)
        plain.load_state_dict({k: v for k, v in layer.state_dict().items() if "gate" not in k})
        assert layer.gate_proj.weight.shape == (width, 16)
        nn.init.zeros_(layer.gate_proj.weight)
        layer.gate_proj.bias.data = torch.tensor([99.0, 0.0, -99.0, 99.0]).repeat_interleave(width // 4)
        x = torch.randn(2, 5, 16)
        same(layer(x), plain(x, head_weights=torch.tensor([1.0, 0.5, 0.0, 1.0])))


def test_norms_leave_scores_that_do_not_grow_with_the_tokens():
    layer, x = MultiHeadAttention(16, 4, bias=False, qk_norm=True), torch.randn(1, 5, 16)
    same(layer(x, need_weights=True)[1], layer(100 * x, need_weights=True)[1], 1e-4)


def test_what_both_heads_of_a_pair_give_alike_is_taken_away():
    difference = Difference(4, start=1.0)
    for parameter in difference.parameters():
        nn.init.zeros_(parameter)
    assert difference.factor == 1
    assert not difference(torch.randn(2, 3, 5, 8).repeat(1, 2, 1, 1)).any()


def test_a_factor_on_a_head_comes_before_the_difference():
    layer = MultiHeadAttention(16, 4, differential=0.5)
    x, without = torch.randn(2, 5, 16), torch.tensor([1.0, 1.0, 0.0, 0.0])
    heads = []
    hook = layer.difference.register_forward_pre_hook(lambda _, inputs: heads.append(inputs[0]))
    out = layer(x, head_weights=without)
    hook.remove()
    rest = 0.5 * F.rms_norm(heads[0][:, :2], (8,), eps=1e-5)
    same(out, layer.out_proj(rest.transpose(1, 2).flatten(-2)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gate": "softmax"}, r"gate must be None or one of \('elementwise', 'headwise'\), got 'softmax'"),
        ({"gate": True}, "gate must be None or one of"),
        ({"differential": 0.8, "n_kv_heads": 1}, "differential pairs heads: n_kv_heads must be even, got 1"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(16, 4, **options)


# --- the stack ---------------------------------------------------------------------------------------------


def test_a_sandwich_norms_what_each_part_adds_too():
    torch.manual_seed(0)
    layer, x = EncoderLayer(16, 4, norm="rms", sandwich=True, sinks=True), torch.randn(2, 5, 16)
    for parameter in layer.parameters():
        parameter.data.add_(0.3 * torch.randn_like(parameter))
    mid = x + layer.attention_out_norm(layer.attention(layer.attention_norm(x)))
    want = mid + layer.ffn_out_norm(layer.ffn(layer.ffn_norm(mid)))
    same(layer(x), want)
    reader = DecoderLayer(16, 4, norm="rms", sandwich=True)
    assert reader(x, x).shape == x.shape
    assert sum("out_norm" in name for name, _ in reader.named_parameters()) == 3


@torch.no_grad()
def test_a_language_model_of_today_writes_with_a_cache_what_it_writes_without():
    torch.manual_seed(0)
    options = {"norm": "rms", "bias": False, "n_kv_heads": 2, "qk_norm": True, "sinks": True}
    model = LanguageModel(20, 16, 4, 2, gate="headwise", sandwich=True, **options).eval()
    ids, cache = torch.randint(20, (2, 8)), model.new_cache(2, 8)
    want = model(ids)
    got = torch.cat([model(part, cache=cache) for part in ids.split([5, 1, 2], 1)], 1)
    same(got, want)
    with pytest.raises(TypeError, match="sinkz"):
        LanguageModel(20, 16, 4, 2, sinkz=True)


# --- values mixed with the first layer's -------------------------------------------------------------------


class MixedValues(nn.Module):
    """Values of a layer, mixed with those that the first layer made of the same tokens."""

    def __init__(self, own, first):
        super().__init__()
        self.own, self.share, self.kept = own, nn.Parameter(torch.tensor(0.5)), None
        first.register_forward_hook(lambda _, __, out: setattr(self, "kept", out))

    def forward(self, x):
        return self.share * self.own(x) + (1 - self.share) * self.kept


@torch.no_grad()
def test_values_of_the_first_layer_reach_the_others_with_a_cache_too():
    torch.manual_seed(0)
    model = LanguageModel(20, 16, 4, 3).eval()
    ids, cache = torch.randint(20, (2, 6)), model.new_cache(2, 6)
    plain, attentions = model(ids), [layer.attention for layer in model.stack.layers]
    for one in attentions[1:]:
        one.v_proj = MixedValues(one.v_proj, attentions[0].v_proj)
    want = model(ids)
    assert (want - plain).abs().max() > 1e-3
    same(torch.cat([model(part, cache=cache) for part in ids.split([3, 1, 2], 1)], 1), want)
    for one in attentions[1:]:
        one.v_proj.share.fill_(1.0)
    same(model(ids), plain)
