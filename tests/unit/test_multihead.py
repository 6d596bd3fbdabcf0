"""The layers against torch's own, and against one head at a time."""

import pytest
import torch
from torch import nn

from attnlab import MultiHeadAttention, SelfAttention, attention, masks, positions
from attnlab.cache import KVCache, kv_cache_bytes
from attnlab.dot_product import grouped_attention


def tokens(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def pair(bias=True, d_model=12, n_heads=3, seed=0):
    """Ours and torch's, with the same weights, none of them zero."""
    torch.manual_seed(seed)
    theirs = nn.MultiheadAttention(d_model, n_heads, bias=bias, batch_first=True)
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.5)
    return MultiHeadAttention.from_torch(theirs).eval(), theirs.eval()


def test_one_head_is_three_projections_and_attention():
    torch.manual_seed(1)
    layer, x = SelfAttention(3, 5, 4), tokens(50, 5, 3)
    out, weights = layer(x, need_weights=True)
    assert out.shape == (50, 5, 4)
    scores = (x @ layer.q_proj.weight.T) @ (x @ layer.k_proj.weight.T).mT / 5**0.5
    assert torch.allclose(weights, scores.softmax(-1), atol=1e-6)
    assert torch.allclose(out, scores.softmax(-1) @ (x @ layer.v_proj.weight.T), atol=1e-6)
    assert torch.allclose(layer(x), out, atol=1e-6)


def test_one_head_draws_its_weights_in_the_order_query_key_value():
    torch.manual_seed(89)
    want = [nn.Linear(5, 16, bias=False).weight for _ in range(3)]
    torch.manual_seed(89)
    layer = SelfAttention(5, 16)
    for got, wanted in zip((layer.q_proj, layer.k_proj, layer.v_proj), want, strict=True):
        assert torch.equal(got.weight, wanted)


def test_one_head_takes_masks():
    layer, x = SelfAttention(3, 4), tokens(2, 5, 3)
    assert torch.allclose(layer(x, is_causal=True), layer(x, mask=masks.causal(5)), atol=1e-6)
    assert not torch.allclose(layer(x, is_causal=True), layer(x), atol=1e-3)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("mask", ["none", "causal", "padding", "random", "per head"])
def test_equals_torch_with_the_same_weights(bias, mask):
    ours, theirs = pair(bias)
    x = tokens(2, 5, 12)
    keep = torch.rand(5, 5, generator=torch.Generator().manual_seed(4)) < 0.5
    keep.fill_diagonal_(True)
    per_head = torch.rand(2, 3, 5, 5, generator=torch.Generator().manual_seed(5)) < 0.5
    per_head.diagonal(dim1=-2, dim2=-1).fill_(True)
    ours_kw, theirs_kw = {
        "none": ({}, {}),
        "causal": ({"is_causal": True}, {"attn_mask": ~masks.causal(5)}),
        "padding": ({"key_mask": masks.padding([5, 3])}, {"key_padding_mask": ~masks.padding([5, 3])[:, 0]}),
        "random": ({"mask": keep}, {"attn_mask": ~keep}),
        "per head": ({"mask": per_head}, {"attn_mask": ~per_head.flatten(0, 1)}),
    }[mask]
    want, want_weights = theirs(x, x, x, average_attn_weights=False, **theirs_kw)
    out, weights = ours(x, need_weights=True, **ours_kw)
    assert torch.allclose(out, want, atol=1e-5)
    assert torch.allclose(weights, want_weights, atol=1e-5)
    assert torch.allclose(ours(x, **ours_kw), want, atol=1e-5)


def test_cross_attention_equals_torch():
    ours, theirs = pair()
    x, context = tokens(2, 4, 12), tokens(2, 6, 12, seed=1)
    mask = masks.padding([6, 2])
    want, _ = theirs(x, context, context, key_padding_mask=~mask[:, 0])
    assert torch.allclose(ours(x, context=context, key_mask=mask), want, atol=1e-6)


def test_gradients_equal_torch():
    ours, theirs = (layer.double() for layer in pair())
    x = tokens(2, 5, 12).double()
    ours(x).square().sum().backward()
    theirs(x, x, x)[0].square().sum().backward()
    projections = (ours.q_proj, ours.k_proj, ours.v_proj)
    got = torch.cat([projection.weight.grad for projection in projections])
    assert torch.allclose(got, theirs.in_proj_weight.grad, atol=1e-10)
    assert torch.allclose(ours.out_proj.weight.grad, theirs.out_proj.weight.grad, atol=1e-10)


@pytest.mark.parametrize("rotary", [False, True])
def test_the_heads_are_slices_side_by_side(rotary):
    torch.manual_seed(2)
    layer, x = MultiHeadAttention(12, 3, d_head=6, rotary=rotary), tokens(2, 5, 12)
    turn = positions.rotary if rotary else (lambda head: head)
    heads = []
    for h in range(3):
        rows = slice(6 * h, 6 * h + 6)
        q, k, v = (x @ p.weight[rows].T + p.bias[rows] for p in (layer.q_proj, layer.k_proj, layer.v_proj))
        heads.append(attention(turn(q), turn(k), v))
    assert torch.allclose(layer(x), layer.out_proj(torch.cat(heads, -1)), atol=1e-6)


def test_rotary_sees_order_and_plain_attention_does_not():
    torch.manual_seed(3)
    x = tokens(1, 5, 12)
    twins = x[:, [0, 1, 2, 1]]  # tokens 1 and 3 are the same word
    plain, turned = MultiHeadAttention(12, 3), MultiHeadAttention(12, 3, rotary=True)
    assert torch.allclose(plain(twins)[0, 1], plain(twins)[0, 3], atol=1e-6)
    assert not torch.allclose(turned(twins)[0, 1], turned(twins)[0, 3], atol=1e-3)


def test_a_bias_per_head_is_added_to_the_scores():
    torch.manual_seed(4)
    layer, x = MultiHeadAttention(12, 3), tokens(2, 5, 12)
    bias = torch.zeros(1, 3, 5, 5)
    bias[0, 1, :, 2] = 50.0  # head 1 of every token looks at token 2
    _, weights = layer(x, bias=bias, need_weights=True)
    _, plain = layer(x, need_weights=True)
    assert torch.allclose(weights[:, 1, :, 2], torch.ones(2, 5))
    assert torch.equal(weights[:, [0, 2]], plain[:, [0, 2]])
    assert torch.allclose(layer(x, bias=bias), layer(x, bias=bias, need_weights=True)[0], atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_an_empty_row_and_an_empty_sentence_stay_finite(dtype):
    layer = MultiHeadAttention(12, 3, bias=False).to(dtype)
    x = tokens(2, 5, 12).to(dtype).requires_grad_()
    out = layer(x, key_mask=masks.padding([5, 0], 5))
    assert (out[1] == 0).all()
    assert (out[0] != 0).any()
    out.float().sum().backward()
    assert torch.isfinite(x.grad).all()
    assert layer(tokens(2, 0, 12).to(dtype)).shape == (2, 0, 12)


def by_hand(q, k, v, size, **options):
    """Attend head by head: query head h reads key-value head h // size."""
    parts = [
        attention(q[:, h], k[:, h // size], v[:, h // size], need_weights=True, **options)
        for h in range(q.shape[1])
    ]
    return tuple(torch.stack(part, 1) for part in zip(*parts, strict=True))


@pytest.mark.parametrize("n_q", [1, 4])
@pytest.mark.parametrize("n_kv_heads", [1, 2, 3, 6])
def test_grouped_heads_read_the_head_of_their_group(n_q, n_kv_heads):
    q, k, v = tokens(2, 6, n_q, 4), tokens(2, n_kv_heads, 5, 4, seed=1), tokens(2, n_kv_heads, 5, 3, seed=2)
    want, want_weights = by_hand(q, k, v, 6 // n_kv_heads)
    out, weights = grouped_attention(q, k, v, need_weights=True)
    assert torch.allclose(out, want, atol=1e-6)
    assert torch.allclose(weights, want_weights, atol=1e-6)
    assert torch.allclose(grouped_attention(q, k, v), want, atol=1e-6)


@pytest.mark.parametrize("n_q", [1, 5])
@pytest.mark.parametrize("shape", [(1, 5), (2, 1, 1, 5), (1, 6, 1, 5), (2, 6, 1, 5), (1, 1, 1, 1)])
def test_masks_and_biases_reach_their_own_head(n_q, shape):
    q, k, v = tokens(2, 6, n_q, 4), tokens(2, 2, 5, 4, seed=1), tokens(2, 2, 5, 3, seed=2)
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(3)) < 0.6
    bias = tokens(*shape, seed=4)
    full_mask, full_bias = mask.expand(2, 6, n_q, 5), bias.expand(2, 6, n_q, 5)
    rows = [
        attention(q[:, h], k[:, h // 3], v[:, h // 3], mask=full_mask[:, h], bias=full_bias[:, h])
        for h in range(6)
    ]
    got = grouped_attention(q, k, v, mask=mask, bias=bias)
    assert torch.allclose(got, torch.stack(rows, 1), atol=1e-6)


def test_grouped_causal_equals_the_mask_and_gradients_agree():
    q, k, v = tokens(2, 6, 5, 4).double(), tokens(2, 2, 5, 4, seed=1).double(), tokens(2, 2, 5, 3).double()
    for x in (q, k, v):
        x.requires_grad_()
    got = torch.autograd.grad(grouped_attention(q, k, v, is_causal=True).square().sum(), (q, k, v))
    want = torch.autograd.grad(by_hand(q, k, v, 3, mask=masks.causal(5))[0].square().sum(), (q, k, v))
    for a, b in zip(got, want, strict=True):
        assert torch.allclose(a, b, atol=1e-10)


def test_pooled_heads_are_the_mean_of_their_group():
    torch.manual_seed(5)
    layer, x = MultiHeadAttention(12, 6, rotary=True), tokens(2, 5, 12)
    pooled = layer.grouped(2)
    for name in ("k_proj", "v_proj"):
        old, new = getattr(layer, name), getattr(pooled, name)
        for group in range(2):
            rows = [slice(2 * h, 2 * h + 2) for h in range(3 * group, 3 * group + 3)]
            mean = sum(old.weight[r] for r in rows) / 3
            assert torch.allclose(new.weight[2 * group : 2 * group + 2], mean)
            mean = sum(old.bias[r] for r in rows) / 3
            assert torch.allclose(new.bias[2 * group : 2 * group + 2], mean)
    assert torch.allclose(layer.grouped(6)(x), layer(x), atol=1e-6)
    # Where the heads of a group are alike already, nothing is lost.
    alike = pooled.state_dict()
    for name in ("k_proj.weight", "k_proj.bias", "v_proj.weight", "v_proj.bias"):
        alike[name] = alike[name].unflatten(0, (2, 1, 2)).repeat_interleave(3, 1).flatten(0, 2)
    layer.load_state_dict(alike)
    assert torch.allclose(layer.grouped(2)(x), layer(x), atol=1e-6)
    assert layer.grouped(1).k_proj.weight.shape == (2, 12)


@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
@pytest.mark.parametrize("steps", [[1] * 7, [3, 1, 1, 2], [7], [1, 6]])
@torch.no_grad()
def test_decoding_with_a_cache_equals_the_full_pass(rotary, n_kv_heads, steps):
    torch.manual_seed(6)
    layer, x = MultiHeadAttention(16, 4, n_kv_heads=n_kv_heads, rotary=rotary), tokens(2, 7, 16)
    want, want_weights = layer(x, is_causal=True, need_weights=True)
    padded = masks.padding([7, 5])
    want_padded = layer(x, is_causal=True, key_mask=padded)
    cache, other = layer.new_cache(2, 7), layer.new_cache(2, 9)
    at = 0
    for n in steps:
        new = slice(at, at + n)
        out, weights = layer(x[:, new], cache=cache, need_weights=True)
        assert torch.allclose(out, want[:, new], atol=1e-6)
        assert torch.allclose(weights, want_weights[:, :, new, : at + n], atol=1e-6)
        out = layer(x[:, new], cache=other, key_mask=padded[..., : at + n])
        assert torch.allclose(out, want_padded[:, new], atol=1e-6)
        at += n
    assert cache.length == 7
    cache.clear()
    assert torch.allclose(layer(x[:, :3], cache=cache), want[:, :3], atol=1e-6)


@torch.no_grad()
def test_a_cache_writes_in_place_and_copies_nothing():
    cache = KVCache(1, 2, 8, 4, dtype=torch.float64)
    where = cache.append(*(tokens(1, 2, 3, 4).double() for _ in range(2)))[0].data_ptr()
    for n in range(4, 9):
        k = tokens(1, 2, 1, 4, seed=n).double()
        keys, values = cache.append(k, 2 * k)
        assert keys.data_ptr() == where
        assert keys.shape == values.shape == (1, 2, n, 4)
        assert torch.equal(keys[:, :, -1:], k)
        assert torch.equal(values[:, :, -1:], 2 * k)
    with pytest.raises(ValueError, match="room for capacity = 8 tokens; it holds 8, and 1 more"):
        cache.append(k, k)
    assert cache.length == 8


def test_head_weights_remove_and_scale_heads():
    torch.manual_seed(7)
    layer, x = MultiHeadAttention(12, 3), tokens(2, 5, 12)
    factors = torch.tensor([1.0, 0.0, 2.0])
    copy = MultiHeadAttention(12, 3)
    copy.load_state_dict(layer.state_dict())
    with torch.no_grad():
        copy.out_proj.weight.mul_(factors.repeat_interleave(4))
    assert torch.allclose(layer(x, head_weights=factors), copy(x), atol=1e-6)


@pytest.mark.parametrize(
    "make", [lambda **o: SelfAttention(12, 8, **o), lambda **o: MultiHeadAttention(12, 3, **o)]
)
def test_weights_and_output_are_under_the_masks(make):
    layer, x = make(), tokens(2, 5, 12)
    padded = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    near = masks.window(5, 1)
    for options, seen in (
        ({"mask": near}, near),
        ({"is_causal": True}, masks.causal(5)),
        ({"key_mask": padded}, padded[:, None]),
        ({"key_mask": masks.padding([5, 3])}, padded[:, None]),
        ({"mask": near, "key_mask": padded, "is_causal": True}, near & padded[:, None] & masks.causal(5)),
    ):
        out, weights = layer(x, **options, need_weights=True)
        seen = seen.expand(2, 5, 5) if weights.dim() == 3 else seen.expand(2, 5, 5)[:, None]
        assert torch.equal(weights > 0, seen.expand_as(weights))
        assert torch.allclose(layer(x, **options), out, atol=1e-6)


@pytest.mark.parametrize(
    "make", [lambda **o: SelfAttention(12, 8, **o), lambda **o: MultiHeadAttention(12, 3, **o)]
)
def test_layers_are_made_where_and_in_what_dtype_they_are_asked_for(make):
    for parameter in make(device="meta", dtype=torch.bfloat16).parameters():
        assert parameter.device.type == "meta"
        assert parameter.dtype == torch.bfloat16
    with pytest.raises(ValueError, match="dropout must lie between 0 and 1, got 10"):
        make(dropout=10)


@pytest.mark.parametrize("need_weights", [False, True])
def test_dropout_is_torchs_draw_for_draw(need_weights):
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(12, 3, dropout=0.4, batch_first=True)
    ours, x = MultiHeadAttention.from_torch(theirs), tokens(2, 5, 12)
    assert ours.dropout == 0.4
    torch.manual_seed(1)
    want = theirs(x, x, x, need_weights=need_weights, average_attn_weights=False)
    torch.manual_seed(1)
    got = ours(x, need_weights=need_weights)
    for a, b in zip(got if need_weights else (got,), want[: 1 + need_weights], strict=True):
        assert torch.allclose(a, b, atol=1e-6)
    assert torch.allclose(ours.eval()(x), theirs.eval()(x, x, x)[0], atol=1e-6)
    assert not MultiHeadAttention.from_torch(theirs).training


def test_one_head_drops_weights_in_training_only():
    torch.manual_seed(0)
    layer, x = SelfAttention(12, 8, dropout=0.5), tokens(1, 40, 12)
    full = layer.eval()(x, need_weights=True)[1]
    assert (full > 0).all()
    weights = layer.train()(x, need_weights=True)[1]
    kept = weights > 0
    assert torch.allclose(weights[kept], 2 * full[kept])
    assert 0.4 < kept.float().mean() < 0.6


@torch.no_grad()
def test_a_call_that_is_refused_leaves_the_cache_as_it_was():
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(12, 3, rotary=True), tokens(2, 6, 12)
    want = layer(x, is_causal=True)
    cache = layer.new_cache(2, 6)
    layer(x[:, :3], cache=cache)
    for wrong in (
        {"mask": torch.ones(2, 4).bool()},
        {"mask": torch.ones(2, 6).int()},
        {"key_mask": torch.ones(2, 3).bool()},
        {"bias": torch.ones(3, 2, 6)},
        {"head_weights": torch.ones(2)},
    ):
        with pytest.raises((ValueError, TypeError)):
            layer(x[:, 3:5], cache=cache, **wrong)
        assert cache.length == 3
    layer.out_proj.register_forward_pre_hook(refuse := lambda *_: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(MemoryError):
        layer(x[:, 3:5], cache=cache)
    assert cache.length == 3
    layer.out_proj._forward_pre_hooks.clear()
    assert refuse
    assert torch.allclose(layer(x[:, 3:], cache=cache), want[:, 3:], atol=1e-6)


class Llama(nn.Module):
    """Attention of Llama and GPT-NeoX, written after their published code: the second half is turned in."""

    def __init__(self, width, base):
        super().__init__()
        self.width, self.base = width, base

    def turn(self, x, position_ids):
        turned, kept = x[..., : self.width], x[..., self.width :]
        rates = 1.0 / self.base ** (torch.arange(0, self.width, 2).float() / self.width)
        angles = torch.outer(position_ids.float(), rates)
        angles = torch.cat((angles, angles), -1)
        first, second = turned.chunk(2, -1)
        turned = turned * angles.cos() + torch.cat((-second, first), -1) * angles.sin()
        return torch.cat((turned, kept), -1)

    def forward(self, layer, x, n_heads, n_kv_heads):
        n = x.shape[1]
        q, k, v = (p(x).view(2, n, -1, 8).transpose(1, 2) for p in (layer.q_proj, layer.k_proj, layer.v_proj))
        q, k = self.turn(q, torch.arange(n)), self.turn(k, torch.arange(n))
        k, v = (y.repeat_interleave(n_heads // n_kv_heads, 1) for y in (k, v))
        out = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return layer.out_proj(out.transpose(1, 2).reshape(2, n, -1))


@pytest.mark.parametrize("width", [None, 2])  # all of a head, as Llama does, and a quarter, as GPT-NeoX does
def test_published_weights_of_llama_and_neox_mean_the_same_here(width):
    torch.manual_seed(0)
    turn = positions.RotaryPositions(base=500.0, layout="halves", width=width)
    layer = MultiHeadAttention(32, 4, n_kv_heads=2, bias=False, rotary=turn)
    x = tokens(2, 9, 32)
    want = Llama(width or 8, 500.0)(layer, x, 4, 2)
    assert torch.allclose(layer(x, is_causal=True), want, atol=1e-5)
    with torch.no_grad():
        cache = layer.new_cache(2, 9)
        steps = [layer(x[:, at], cache=cache) for at in (slice(0, 4), slice(4, 5), slice(5, 9))]
        assert torch.allclose(torch.cat(steps, 1), want, atol=1e-5)


def test_rotary_may_be_any_function_of_queries_keys_and_places():
    calls = []

    def turn(q, k, position_ids):
        calls.append(position_ids.tolist())
        return positions.rotary(q, position_ids / 2), positions.rotary(k, position_ids / 2)

    torch.manual_seed(0)
    layer = MultiHeadAttention(12, 3, rotary=turn)
    plain = MultiHeadAttention(12, 3, rotary=True)
    plain.load_state_dict(layer.state_dict())
    x = tokens(2, 4, 12)
    assert not torch.allclose(layer(x), plain(x), atol=1e-4)
    with torch.no_grad():
        cache = layer.new_cache(2, 4)
        out = torch.cat([layer(x[:, :3], cache=cache), layer(x[:, 3:], cache=cache)], 1)
    assert calls == [[0, 1, 2, 3], [0, 1, 2], [3]]
    assert torch.allclose(out, layer(x, is_causal=True), atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@torch.no_grad()
def test_grouped_heads_decode_in_half_precision(dtype):
    torch.manual_seed(6)
    layer, x = MultiHeadAttention(16, 4, n_kv_heads=2, rotary=True), tokens(2, 7, 16)
    want = layer(x, is_causal=True)
    layer, x = layer.to(dtype), x.to(dtype)
    cache = layer.new_cache(2, 7)
    out, weights = [], None
    for at in (slice(0, 3), slice(3, 4), slice(4, 7)):
        one, weights = layer(
            x[:, at], cache=cache, need_weights=True, key_mask=masks.padding([7, 7])[..., : at.stop]
        )
        out.append(one)
    out = torch.cat(out, 1)
    assert out.dtype == weights.dtype == cache._keys.dtype == dtype
    error = (out - want).abs().max() / want.abs().max()
    assert error < 5 * torch.finfo(dtype).eps
    assert (layer(x, is_causal=True) - want).abs().max() < 5 * torch.finfo(dtype).eps * want.abs().max()


def test_pooling_keeps_all_that_the_layer_was_made_with():
    turn = positions.RotaryPositions(base=99.0)
    layer = MultiHeadAttention(
        12, 4, d_head=6, bias=False, dropout=0.2, rotary=turn, dtype=torch.float64
    ).eval()
    layer.q_proj.requires_grad_(False)
    pooled = layer.grouped(2)
    assert (pooled.d_head, pooled.n_kv_heads, pooled.dropout, pooled.rotary.base) == (6, 2, 0.2, 99.0)
    assert {name: tuple(p.shape) for name, p in pooled.named_parameters()} == {
        "q_proj.weight": (24, 12), "k_proj.weight": (12, 12), "v_proj.weight": (12, 12),
        "out_proj.weight": (12, 24),
    }  # fmt: skip
    assert all(p.dtype == torch.float64 for p in pooled.parameters())
    assert not pooled.training
    assert [p.requires_grad for p in pooled.parameters()] == [False, True, True, True]
    x = tokens(2, 5, 12).double()
    assert pooled(x).shape == x.shape
    assert torch.equal(layer.grouped(4)(x), layer(x))
    same = MultiHeadAttention(12, 4, n_kv_heads=2, d_head=6, bias=False, dtype=torch.float64)
    same.load_state_dict(pooled.state_dict())
    assert repr(pooled.k_proj) == repr(same.k_proj)


def test_grouped_attention_takes_a_scale():
    q, k, v = tokens(2, 6, 1, 4), tokens(2, 2, 5, 4, seed=1), tokens(2, 2, 5, 3, seed=2)
    for queries in (q, q.expand(2, 6, 3, 4)):
        want = by_hand(queries, k, v, 3, scale=0.3)
        got = grouped_attention(queries, k, v, scale=0.3, need_weights=True)
        for a, b in zip(got, want, strict=True):
            assert torch.allclose(a, b, atol=1e-6)
        assert torch.allclose(grouped_attention(queries, k, v, scale=0.3), want[0], atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*performance drop:UserWarning")  # vmap over a fused kernel is a loop
@pytest.mark.parametrize("rotary", [False, True])
def test_a_layer_is_compiled_whole_and_differentiated_by_its_parameters(rotary):
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(16, 4, n_kv_heads=2, rotary=rotary).double(), tokens(3, 5, 16).double()
    parameters = dict(layer.named_parameters())

    def loss(parameters, one):
        return torch.func.functional_call(layer, parameters, (one[None],), {"is_causal": True}).square().sum()

    each = torch.func.vmap(torch.func.grad(loss), (None, 0))(parameters, x)
    layer(x, is_causal=True).square().sum().backward()
    for name, parameter in parameters.items():
        assert torch.allclose(each[name].sum(0), parameter.grad)

    def decode(x):
        cache = layer.new_cache(3, 5)
        return torch.cat([layer(x[:, :3], cache=cache), layer(x[:, 3:4], cache=cache),
                          layer(x[:, 4:], cache=cache)], 1)  # fmt: skip

    torch._dynamo.reset()
    want = layer(x, is_causal=True).detach()
    assert torch.allclose(torch.compile(layer, fullgraph=True, backend="eager")(x, is_causal=True), want)
    with torch.no_grad():
        assert torch.allclose(torch.compile(decode, fullgraph=True, backend="eager")(x), want)
    with torch.inference_mode():
        assert torch.allclose(decode(x), want)


def test_a_layer_round_trips_through_its_state():
    torch.manual_seed(0)
    for make in (
        lambda: SelfAttention(12, 8),
        lambda: MultiHeadAttention(12, 3, n_kv_heads=1, d_head=4, rotary=True),
    ):
        layer, other = make(), make()
        assert len(layer.state_dict()) == len(list(layer.parameters()))
        other.load_state_dict(layer.state_dict())
        assert torch.equal(layer(tokens(2, 5, 12)), other(tokens(2, 5, 12)))
        assert layer.double()(tokens(2, 5, 12).double()).dtype == torch.float64


def test_cache_bytes_count_what_a_cache_holds():
    cache = KVCache(3, 2, 10, 8, dtype=torch.float16)
    held = sum(room.untyped_storage().nbytes() for room in (cache._keys, cache._values))
    assert kv_cache_bytes(1, 2, 8, 10, batch=3) == held
    assert kv_cache_bytes(5, 2, 8, 10, batch=3, bytes_per_number=4) == 10 * held


def test_from_torch_refuses_parts_that_ours_lacks():
    for theirs in (
        nn.MultiheadAttention(8, 2, kdim=4),
        nn.MultiheadAttention(8, 2, add_bias_kv=True),
        nn.MultiheadAttention(8, 2, add_zero_attn=True),
    ):
        with pytest.raises(ValueError, match="no kdim, vdim, add_bias_kv, add_zero_attn"):
            MultiHeadAttention.from_torch(theirs)


def test_from_torch_keeps_dtype():
    theirs = nn.MultiheadAttention(8, 2, dtype=torch.float64)
    assert MultiHeadAttention.from_torch(theirs).q_proj.weight.dtype == torch.float64


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: MultiHeadAttention(10, 3), ValueError, "n_heads must divide d_model = 10, got 3"),
        (lambda: MultiHeadAttention(10, 0), ValueError, "n_heads must be at least 1, got 0"),
        (lambda: MultiHeadAttention(9, 3, rotary=True), ValueError, "d_head must be even, got 3"),
        (lambda: MultiHeadAttention(12, 6, n_kv_heads=4), ValueError, "n_kv_heads must divide 6, got 4"),
        (lambda: MultiHeadAttention(12, 6).grouped(0), ValueError, "n_kv_heads must divide 6, got 0"),
        (
            lambda: MultiHeadAttention(12, 6)(torch.ones(1, 2, 12), head_weights=torch.ones(5)),
            ValueError,
            r"head_weights must have shape \(n_heads,\) = \(6,\), got \(5,\)",
        ),
        (
            lambda: grouped_attention(torch.ones(1, 4, 2, 3), torch.ones(1, 3, 2, 3), torch.ones(1, 3, 2, 3)),
            ValueError,
            "share n_kv_heads, a divisor of n_heads",
        ),
        (
            lambda: grouped_attention(torch.ones(1, 4, 1, 3), torch.ones(1, 2, 2, 3), torch.ones(1, 1, 2, 3)),
            ValueError,
            r"k and v must share n_kv_heads.* v \(1, 1, 2, 3\)",
        ),
        (
            lambda: grouped_attention(torch.ones(1, 4, 1, 3), *[torch.ones(1, 2, 3, 3)] * 2, is_causal=True),
            ValueError,
            "is_causal needs as many queries as keys, got n_q = 1 and n_k = 3",
        ),
        (
            lambda: MultiHeadAttention(8, 2)(torch.ones(2, 5, 8), key_mask=torch.ones(2, 4).bool()),
            ValueError,
            r"key_mask must have shape \(..., n_k\) = \(2, 5\), got \(2, 4\)",
        ),
        (
            lambda: SelfAttention(8, 2)(torch.ones(2, 5, 8), key_mask=torch.ones(2, 5)),
            TypeError,
            "key_mask must be a boolean tensor",
        ),
        (
            lambda: grouped_attention(*[torch.ones(4, 2, 3)] * 3),
            ValueError,
            r"q must have shape \(batch, heads",
        ),
        (
            lambda: grouped_attention(
                torch.ones(1, 4, 1, 3), *[torch.ones(1, 2, 5, 3)] * 2, mask=torch.ones(1, 2, 1, 5).bool()
            ),
            ValueError,
            r"mask must .* scores, \(1, 4, 1, 5\); got \(1, 2, 1, 5\)",
        ),
        (lambda: KVCache(1, 1, 0, 4), ValueError, "capacity must be at least 1, got 0"),
        (
            lambda: KVCache(1, 2, 5, 4).append(torch.ones(1, 2, 1, 4), torch.ones(1, 2, 2, 4)),
            ValueError,
            r"v must have shape \(1, 2, 1, 4\), got \(1, 2, 2, 4\)",
        ),
        (
            lambda: MultiHeadAttention(8, 2)(torch.ones(1, 3, 8), cache=KVCache(1, 2, 5, 4)),
            RuntimeError,
            "decode under torch.no_grad",
        ),
        (
            lambda: MultiHeadAttention(8, 2)(
                torch.ones(1, 3, 8), context=torch.ones(1, 3, 8), cache=KVCache(1, 2, 5, 4)
            ),
            ValueError,
            "a cache grows with x: context must be None",
        ),
        (lambda: kv_cache_bytes(1, 1, 1, -1), ValueError, "n must be at least 0, got -1"),
        (lambda: SelfAttention(0, 3), ValueError, "d_model must be at least 1, got 0"),
        (
            lambda: SelfAttention(3, 4)(torch.ones(5, 2)),
            ValueError,
            r"x must have shape \(..., n, 3\), got \(5, 2\)",
        ),
        (
            lambda: MultiHeadAttention(8, 2)(torch.ones(5, 8)),
            ValueError,
            r"x must have shape \(batch, n, d_model\), got \(5, 8\)",
        ),
        (
            lambda: MultiHeadAttention(8, 2)(torch.ones(2, 5, 8), context=torch.ones(3, 5, 8)),
            ValueError,
            r"context must have .* batch of x \(2, 5, 8\), got \(3, 5, 8\)",
        ),
        (
            lambda: MultiHeadAttention(8, 2)(torch.ones(2, 5, 8), context=torch.ones(2, 5, 7)),
            ValueError,
            r"context must have shape \(..., n, 8\), got \(2, 5, 7\)",
        ),
        (
            lambda: MultiHeadAttention(8, 2, rotary=True)(torch.ones(1, 5, 8), context=torch.ones(1, 5, 8)),
            ValueError,
            "context must be None",
        ),
        (
            lambda: MultiHeadAttention(8, 2)(torch.ones(2, 5, 8), mask=torch.ones(2, 5, 5).bool()),
            ValueError,
            r"scores, \(2, 2, 5, 5\); got \(2, 5, 5\); write mask\[:, None\] if",
        ),
        (
            lambda: MultiHeadAttention(8, 2)(torch.ones(2, 5, 8), mask=torch.ones(5, 5)),
            TypeError,
            "mask must be a boolean tensor",
        ),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_every_sequence_may_have_places_of_its_own():
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(16, 4, n_kv_heads=2, rotary=True).double(), tokens(2, 5, 16).double()
    position_ids = torch.tensor([[0, 1, 2, 3, 4], [7, 3, 9, 1, 2]])
    got = layer(x, position_ids=position_ids)
    for row in range(2):
        assert torch.allclose(got[row], layer(x[row : row + 1], position_ids=position_ids[row])[0])
    assert torch.allclose(got[0], layer(x)[0])
    assert not torch.allclose(got[1], layer(x)[1], atol=1e-3)
    assert torch.allclose(layer(x, position_ids=position_ids + 11), got, atol=1e-12)  # only distances count
    with torch.no_grad():
        cache = layer.new_cache(2, 5)
        steps = [
            layer(x[:, i : i + 1], position_ids=position_ids[:, i : i + 1], cache=cache) for i in range(5)
        ]
        assert torch.allclose(torch.cat(steps, 1), layer(x, position_ids=position_ids, is_causal=True))


def test_texts_packed_into_one_row_are_what_they_are_alone():
    torch.manual_seed(0)
    x, lengths = tokens(2, 7, 16).double(), (4, 3)
    position_ids = torch.tensor([0, 1, 2, 3, 0, 1, 2])
    apart = masks.packed([0, 0, 0, 0, 1, 1, 1])
    turn = positions.RotaryPositions(base=100.0)
    for rotary in (turn, lambda q, k, at: turn(q, k, at.square())):  # in which not only distances count
        layer = MultiHeadAttention(16, 4, n_kv_heads=2, rotary=rotary).double()
        alone = torch.cat([layer(text, is_causal=True) for text in x.split(lengths, 1)], 1)
        got = layer(x, mask=apart & masks.causal(7), position_ids=position_ids)
        assert torch.allclose(got, alone)
    assert not torch.allclose(layer(x, mask=apart & masks.causal(7)), alone, atol=1e-3)
    with pytest.raises(TypeError, match="position_ids"):  # one head has no positions to be told about
        SelfAttention(16, 4)(x, position_ids=position_ids)


@pytest.mark.parametrize("shape", [(5, 1), (3, 5), (2, 4), (2, 1, 5), ()])
def test_places_that_do_not_fit_are_refused_by_name(shape):
    layer = MultiHeadAttention(8, 2, rotary=True)
    with pytest.raises(
        ValueError, match=r"position_ids must be \(n,\) or have the dimensions of the tokens, \(2, 5\)"
    ):
        layer(tokens(2, 5, 8), position_ids=torch.zeros(shape))


def test_places_without_rotary_positions_are_refused():
    with pytest.raises(ValueError, match=r"position_ids turn queries and keys: .* must be made with rotary="):
        MultiHeadAttention(8, 2)(tokens(2, 5, 8), position_ids=torch.arange(5))


def test_a_mask_as_context_is_told_where_it_goes():
    with pytest.raises(TypeError, match=r"context must be tokens, got a boolean tensor .* mask=\.\.\."):
        MultiHeadAttention(8, 2)(tokens(2, 5, 8), context=masks.causal(5))
