"""The layers against torch's own, and against one head at a time."""

import pytest
import torch
from torch import nn

from attnlab import MultiHeadAttention, SelfAttention, attention, masks, positions


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
