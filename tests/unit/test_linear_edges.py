"""Linear attention where it is easily broken unseen: signs, hidden keys, maps that learn, what is kept."""

import functools
import math

import pytest
import torch
import torch.nn.functional as F

from attnlab import linear
from attnlab.linear import FourierFeatures, PositiveFeatures, linear_attention


def draw(seed, *shapes, dtype=torch.float64):
    g = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=g, dtype=torch.float64).to(dtype) for shape in shapes]


def delta(q, k, v, **how):
    return linear.delta_rule(q, F.normalize(k, dim=-1), v, k[..., :1].sigmoid(), **how)


def gated(q, k, v, **how):
    return linear.gated_linear_attention(q, k, v, -k.square(), **how)


FAVOR = PositiveFeatures.draw(4, 8, generator=torch.Generator().manual_seed(0))
RFA = FourierFeatures(FAVOR.projection / 2)


def faded(q, k, v, **how):
    return linear_attention(q, k, v, features=RFA, gate=k[..., :1].sigmoid(), is_causal=True, **how)


CAUSAL = {
    "elu": functools.partial(linear_attention, is_causal=True),
    "favor": functools.partial(linear_attention, features=FAVOR, is_causal=True),
    "rfa, gated": faded,
    "gated": gated,
    "delta": delta,
}


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("form", ["chunked", "parallel"])
def test_a_negative_sum_of_weights_is_divided_by_all_the_same(form, is_causal):
    q, k, v = draw(0, (12, 3), (12, 3), (12, 2))
    got = linear_attention(q, k, v, features=lambda x: x, is_causal=is_causal, form=form, block_size=5)
    signs = set()
    for i in range(12):
        weights = [float(q[i] @ k[j]) for j in range(i + 1 if is_causal else 12)]
        want = sum(w * v[j] for j, w in enumerate(weights)) / sum(weights)
        signs.add(math.copysign(1, sum(weights)))
        torch.testing.assert_close(got[i], want, rtol=1e-8, atol=1e-8)
    assert signs == {-1.0, 1.0}


@pytest.mark.parametrize("is_causal", [False, True])
def test_a_hidden_key_of_great_weight_does_not_drown_the_others(is_causal):
    """Random features of this key are exp(|w|²/2) large, beyond what float32 can hold beside the others."""
    d = 256
    features = PositiveFeatures.draw(d, 4, generator=torch.Generator().manual_seed(0))
    q, k, v = draw(1, (6, d), (6, d), (6, 2), dtype=torch.float32)
    k[2] = features.projection[0] * d**0.25
    q, k = q / 10, torch.where(torch.arange(6)[:, None] == 2, k, k / 10)
    seen = torch.arange(6) != 2
    got = linear_attention(q, k, v, features=features, key_mask=seen, is_causal=is_causal, block_size=4)
    want = linear_attention(q[seen], k[seen], v[seen], features=features, is_causal=is_causal)
    torch.testing.assert_close(got[seen], want)
    assert (got[seen] != 0).all()


@pytest.mark.parametrize("is_causal", [False, True])
def test_a_hidden_key_does_not_drown_others_of_little_weight(is_causal):
    """The weights of these long keys are about exp(-200); that of the hidden one is not."""
    q, k, v = draw(17, (6, 4), (6, 4), (6, 2), dtype=torch.float32)
    k = 30 * F.normalize(k, dim=-1)
    seen = torch.arange(6) != 1
    how = {"features": FAVOR, "is_causal": is_causal, "block_size": 4}
    got = linear_attention(q, k, v, key_mask=seen, **how)
    torch.testing.assert_close(got[seen], linear_attention(q[seen], k[seen], v[seen], **how))
    assert (got[seen] != 0).all()


@pytest.mark.parametrize("is_causal", [False, True])
def test_a_projection_that_learns_gets_a_finite_gradient_from_huge_keys(is_causal):
    q, k, v = draw(2, (9, 4), (9, 4), (9, 2), dtype=torch.float32)
    projection = FAVOR.projection.clone().requires_grad_()
    size = torch.linspace(60, 0.5, 9)[:, None]  # later keys count exp(thousands) times as much
    out = linear_attention(
        q, size * k, v, features=PositiveFeatures(projection), is_causal=is_causal, block_size=4
    )
    (grad,) = torch.autograd.grad(out.square().sum(), projection)
    assert grad.isfinite().all()
    assert (grad != 0).any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("is_causal", [False, True])
def test_a_map_that_learns_keeps_half_precision(dtype, is_causal):
    q, k, v = draw(3, (7, 4), (7, 4), (7, 2), dtype=dtype)
    projection = FAVOR.projection.clone().requires_grad_()
    out = linear_attention(q, k, v, features=PositiveFeatures(projection), is_causal=is_causal, block_size=3)
    fixed = linear_attention(q, k, v, features=FAVOR, is_causal=is_causal, block_size=3)
    assert out.dtype == fixed.dtype == dtype
    torch.testing.assert_close(out, fixed)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", CAUSAL)
def test_gradients_in_half_precision_are_those_of_single_rounded(name, dtype):
    inputs = draw(4, (2, 40, 4), (2, 40, 4), (2, 40, 3), dtype=dtype)
    grads = []
    for to in (dtype, torch.float32):
        leaves = [x.to(to).requires_grad_() for x in inputs]
        out = CAUSAL[name](*leaves, block_size=16)
        assert out.dtype == to
        grads.append(torch.autograd.grad(out.float().sum(), leaves))
    for half, single in zip(*grads, strict=True):
        assert half.dtype == dtype
        error = (half.float() - single).norm() / single.norm()
        # Decays, rates and gates are rounded before they come in: a few roundings, not one a token.
        assert error < 8 * torch.finfo(dtype).eps


def differentiate_twice(function, q, k, v):
    (first,) = torch.autograd.grad(function(q, k, v).square().sum(), q, create_graph=True)
    first.sum().backward()


@pytest.mark.parametrize("name", CAUSAL)
def test_a_second_derivative_is_refused_and_says_so(name):
    q, k, v = (x.requires_grad_() for x in draw(5, (5, 4), (5, 4), (5, 2)))
    with pytest.raises(RuntimeError, match=r"has no second derivative .*; form='recurrent' has one"):
        differentiate_twice(CAUSAL[name], q, k, v)
    out = CAUSAL[name](q, k, v, form="recurrent")  # this form has one
    (first,) = torch.autograd.grad(out.square().sum(), q, create_graph=True)
    assert torch.autograd.grad(first.sum(), k)[0].abs().sum() > 0


class Stop(torch.autograd.Function):
    """A function that nothing flows back through: its gradient is undefined, not zero."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return None


@pytest.mark.parametrize("name", CAUSAL)
def test_an_undefined_gradient_is_passed_on_as_zero(name):
    inputs = [x.requires_grad_() for x in draw(15, (5, 4), (5, 4), (5, 2))]
    grads = torch.autograd.grad(Stop.apply(CAUSAL[name](*inputs)).sum(), inputs)
    assert all((grad == 0).all() for grad in grads)


@pytest.mark.parametrize("shape", [(0, 5, 4), (2, 0, 5, 4)])
@pytest.mark.parametrize("name", CAUSAL)
def test_an_empty_batch_gives_an_empty_answer(name, shape):
    q, k, v = (torch.zeros(*shape[:-1], d).requires_grad_() for d in (4, 4, 2))
    out = CAUSAL[name](q, k, v)
    assert out.shape == (*shape[:-1], 2)
    assert torch.autograd.grad(out.sum(), q)[0].shape == q.shape


@pytest.mark.parametrize("name", CAUSAL)
def test_only_inputs_and_output_are_kept_for_the_backward_pass(name):
    inputs = [x.requires_grad_() for x in draw(6, (1, 256, 4), (1, 256, 4), (1, 256, 4), dtype=torch.float32)]
    kept = []

    def keep(x):
        kept.append(x.untyped_storage().nbytes() // x.element_size())
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        CAUSAL[name](*inputs, block_size=32)
    # Features and weights of all chunks would be 256 · 8 and 256 · 32 numbers, several of each.
    assert sum(kept) <= 12 * 256 * 4


@pytest.mark.parametrize("name", CAUSAL)
@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 65])
def test_around_the_boundary_of_a_chunk_nothing_happens(name, n):
    inputs = draw(7, (2, n, 4), (2, n, 4), (2, n, 3))
    key_mask = torch.rand(2, n, generator=torch.Generator().manual_seed(n)) < 0.8
    results = []
    for form, size in (("chunked", 32), ("recurrent", 32)):
        leaves = [x.clone().requires_grad_() for x in inputs]
        out = CAUSAL[name](*leaves, key_mask=key_mask, form=form, block_size=size)
        loss = (out * torch.arange(out.numel(), dtype=out.dtype).cos().view(out.shape)).sum()
        results.append([out, *torch.autograd.grad(loss, leaves)])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("form", ["chunked", "recurrent"])
@pytest.mark.parametrize("name", CAUSAL)
def test_hidden_tokens_might_as_well_not_be_there(name, form):
    inputs = draw(14, (2, 13, 4), (2, 13, 4), (2, 13, 3))
    seen = torch.tensor([1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 1, 1], dtype=torch.bool)  # a whole chunk is hidden
    for key_mask in (seen.expand(2, 13), seen.expand(2, 1, 13)):
        got = CAUSAL[name](*inputs, key_mask=key_mask, form=form, block_size=4)
        want = CAUSAL[name](*(x[:, seen] for x in inputs), form="recurrent")
        torch.testing.assert_close(got[:, seen], want)


@pytest.mark.parametrize("name", CAUSAL)
def test_nothing_is_left_behind_by_the_call_before(name):
    first, second = (draw(seed, (2, 20, 4), (2, 20, 4), (2, 20, 3)) for seed in (8, 9))
    copies = [x.clone() for x in first]
    alone = CAUSAL[name](*first, block_size=8)
    CAUSAL[name](*second, block_size=8)
    assert torch.equal(CAUSAL[name](*first, block_size=8), alone)
    assert all(torch.equal(a, b) for a, b in zip(first, copies, strict=True))


def test_the_gate_has_the_slope_of_its_definition():
    q, k, v, gate = draw(10, (2, 9, 4), (2, 9, 4), (2, 9, 3), (2, 9, 1))
    gate = gate.sigmoid().requires_grad_()
    key_mask = torch.ones(2, 9, dtype=torch.bool)
    key_mask[0, 3:5] = False  # in the chunk and over its end
    assert torch.autograd.gradcheck(
        lambda g: linear_attention(q, k, v, gate=g, key_mask=key_mask, is_causal=True, block_size=4),
        gate,
        check_undefined_grad=False,
    )


def test_gates_of_exactly_0_and_1_mean_the_same_in_every_form():
    inputs = draw(16, (13, 4), (13, 4), (13, 3))
    gate = torch.tensor([1, 1, 1, 0.5, 0, 0, 1, 0.3, 1, 0, 1, 1, 0.9], dtype=torch.float64)[:, None]
    seen = torch.arange(13) != 3
    for key_mask, empty in ((None, 3), (seen, 4)):
        results = []
        for form in ("recurrent", "parallel", "chunked"):
            leaves = [x.clone().requires_grad_() for x in inputs]
            out = linear_attention(
                *leaves, gate=gate, key_mask=key_mask, is_causal=True, form=form, block_size=4
            )
            assert (out[:empty] == 0).all()
            assert (out[empty:] != 0).all()
            results.append([out, *torch.autograd.grad(out.square().sum(), leaves)])
        for others in results[1:]:
            for a, b in zip(others, results[0], strict=True):
                torch.testing.assert_close(a, b)


def test_decoding_with_a_gate_and_hidden_tokens_continues_the_sequence():
    q, k, v, gate = draw(11, (2, 9, 4), (2, 9, 4), (2, 9, 3), (2, 9, 1))
    gate, keep = gate.sigmoid(), torch.arange(9) != 4
    whole = linear_attention(q, k, v, gate=gate, key_mask=keep.expand(2, 9), is_causal=True)
    fading, fixed = gated(q, k, v), delta(q, k, v)
    state = fade = held = None
    for t in range(9):
        now = q[:, t], k[:, t], v[:, t]
        seen = keep[t].expand(2, 1)
        out, state = linear.linear_step(*now, state, gate=gate[:, t], key_mask=seen)
        torch.testing.assert_close(out, whole[:, t])
        out, fade = linear.gated_step(*now, -k[:, t].square(), fade)
        torch.testing.assert_close(out, fading[:, t])
        unit = F.normalize(k[:, t], dim=-1)
        out, held = linear.delta_step(q[:, t], unit, v[:, t], k[:, t, :1].sigmoid(), held)
        torch.testing.assert_close(out, fixed[:, t])
    assert state.sums.shape == (2, 4, 3)
    assert fade.shape == held.shape == (2, 4, 3)


@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_random_fourier_features_have_the_width_and_the_size_they_promise(sigma):
    x, y = draw(12, (1, 4), (1, 4), dtype=torch.float32)
    features = FourierFeatures.draw(4, 50_000, sigma=sigma, generator=torch.Generator().manual_seed(0))
    unit = F.normalize(x, dim=-1) - F.normalize(y, dim=-1)
    want = math.exp(-float(unit.square().sum()) / (2 * sigma**2))
    assert float(features(x) @ features(y).T) == pytest.approx(want, abs=0.02)
    assert float(features(x) @ features(x).T) == pytest.approx(1.0, abs=1e-4)
    whole = FourierFeatures(features.projection, unit=False)
    want = math.exp(-float((x - y).square().sum()) / (2 * sigma**2))
    assert float(whole(x) @ whole(y).T) == pytest.approx(want, abs=0.02)


def test_linformer_uses_its_scale_its_own_values_and_no_hidden_key():
    q, k, v, e, f = draw(13, (2, 5, 4), (2, 7, 4), (2, 7, 3), (3, 9), (3, 9))
    seen = torch.arange(7) != 6
    got = linear.linformer_attention(q, k, v, e, f, key_mask=seen.expand(2, 7), scale=2.0)
    keys, values = e[:, :6] @ k[:, :6], f[:, :6] @ v[:, :6]
    torch.testing.assert_close(got, torch.softmax(2.0 * q @ keys.mT, -1) @ values)
