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
    scores = (x @ layer.query.weight.T) @ (x @ layer.key.weight.T).mT / 5**0.5
    assert torch.allclose(weights, scores.softmax(-1), atol=1e-6)
    assert torch.allclose(out, scores.softmax(-1) @ (x @ layer.value.weight.T), atol=1e-6)
    assert torch.allclose(layer(x), out, atol=1e-6)


def test_one_head_draws_its_weights_in_the_order_query_key_value():
    torch.manual_seed(89)
    want = [nn.Linear(5, 16, bias=False).weight for _ in range(3)]
    torch.manual_seed(89)
    layer = SelfAttention(5, 16)
    for got, wanted in zip((layer.query, layer.key, layer.value), want, strict=True):
        assert torch.equal(got.weight, wanted)


def test_one_head_takes_masks():
    layer, x = SelfAttention(3, 4), tokens(2, 5, 3)
    assert torch.allclose(layer(x, is_causal=True), layer(x, masks.causal(5)), atol=1e-6)
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
        "padding": ({"mask": masks.padding([5, 3])}, {"key_padding_mask": ~masks.padding([5, 3])[:, 0]}),
        "random": ({"mask": keep}, {"attn_mask": ~keep}),
        "per head": ({"mask": per_head}, {"attn_mask": ~per_head.flatten(0, 1)}),
    }[mask]
    want, want_weights = theirs(x, x, x, average_attn_weights=False, **theirs_kw)
    out, weights = ours(x, need_weights=True, **ours_kw)
    assert torch.allclose(out, want, atol=1e-6)
    assert torch.allclose(weights, want_weights, atol=1e-6)
    assert torch.allclose(ours(x, **ours_kw), want, atol=1e-6)


def test_cross_attention_equals_torch():
    ours, theirs = pair()
    x, context = tokens(2, 4, 12), tokens(2, 6, 12, seed=1)
    mask = masks.padding([6, 2])
    want, _ = theirs(x, context, context, key_padding_mask=~mask[:, 0])
    assert torch.allclose(ours(x, context, mask=mask), want, atol=1e-6)


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
    out = layer(x, mask=masks.padding([5, 0], 5))
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
@pytest.mark.parametrize("shape", [(5,), (2, 1, 1, 5), (6, 1, 5), (1, 6, 1, 5), (2, 6, 1, 5)])
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
    want_padded = layer(x, is_causal=True, mask=padded)
    cache, other = layer.new_cache(2, 7), layer.new_cache(2, 9)
    at = 0
    for n in steps:
        new = slice(at, at + n)
        out, weights = layer(x[:, new], cache=cache, need_weights=True)
        assert torch.allclose(out, want[:, new], atol=1e-6)
        assert torch.allclose(weights, want_weights[:, :, new, : at + n], atol=1e-6)
        out = layer(x[:, new], cache=other, mask=padded[..., : at + n])
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
            lambda: grouped_attention(*[torch.ones(4, 2, 3)] * 3),
            ValueError,
            r"q must have shape \(batch, heads",
        ),
        (
            lambda: grouped_attention(
                torch.ones(1, 4, 1, 3), *[torch.ones(1, 2, 5, 3)] * 2, mask=torch.ones(1, 2, 1, 5).bool()
            ),
            ValueError,
            r"mask of shape \(1, 2, 1, 5\) does not broadcast to the scores' shape \(1, 4, 1, 5\)",
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
            lambda: MultiHeadAttention(8, 2)(*[torch.ones(1, 3, 8)] * 2, cache=KVCache(1, 2, 5, 4)),
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
            lambda: MultiHeadAttention(8, 2)(torch.ones(2, 5, 8), torch.ones(3, 5, 8)),
            ValueError,
            r"context must have .* batch of x \(2, 5, 8\), got \(3, 5, 8\)",
        ),
        (
            lambda: MultiHeadAttention(8, 2)(torch.ones(2, 5, 8), torch.ones(2, 5, 7)),
            ValueError,
            r"context must have shape \(..., n, 8\), got \(2, 5, 7\)",
        ),
        (
            lambda: MultiHeadAttention(8, 2, rotary=True)(torch.ones(1, 5, 8), torch.ones(1, 5, 8)),
            ValueError,
            "context must be None",
        ),
        (
            lambda: MultiHeadAttention(8, 2)(torch.ones(2, 5, 8), mask=torch.ones(4, 5, 5).bool()),
            ValueError,
            r"mask of shape \(4, 1, 5, 5\) does not broadcast to the scores' shape \(2, 2, 5, 5\)",
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
