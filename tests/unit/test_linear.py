"""Linear attention against its definitions: formulas with all their weights, recurrences by the token."""

import functools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from attnlab import attention, linear, masks
from attnlab.linear import FourierFeatures, PositiveFeatures, elu_plus_one, linear_attention

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
D = 3
MAPS = {
    "elu": elu_plus_one,
    "favor": PositiveFeatures.draw(D, 16, generator=torch.Generator().manual_seed(1)),
    "rfa": FourierFeatures.draw(D, 64, sigma=2.0, generator=torch.Generator().manual_seed(2)),
}


def draw(seed, *shapes, dtype=torch.float64):
    g = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=g, dtype=torch.float64).to(dtype) for shape in shapes]


def qkv(seed=0, batch=(2, 2), n=13, n_k=None, d=D, d_v=2, dtype=torch.float64):
    n_k = n if n_k is None else n_k
    return draw(seed, (*batch, n, d), (*batch, n_k, d), (*batch, n_k, d_v), dtype=dtype)


def with_gradients(function, *inputs):
    """Return the output, and the gradient of every input of one fixed weighted sum of the output."""
    inputs = [x.detach().clone().requires_grad_() for x in inputs]
    out = function(*inputs)
    loss = (out * torch.cos(torch.arange(out.numel(), dtype=torch.float64)).view(out.shape).to(out)).sum()
    return [out.detach(), *torch.autograd.grad(loss, inputs, materialize_grads=True)]


def assert_same(got, want, tolerance=1e-9):
    for a, b in zip(got, want, strict=True):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


def rates(seed, batch, n, width=1):
    """Numbers between 0 and 1, a few of them exactly 0 or 1."""
    (x,) = draw(seed, (*batch, n, width))
    return (torch.sigmoid(2 * x) * 1.2 - 0.1).clamp(0.0, 1.0)


# Equality with the definitions


def test_the_definition_by_hand():
    q, k, v = qkv(batch=(), n=4)
    phi = lambda x: np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))  # noqa: E731
    a, b, c = (x.numpy() for x in (q, k, v))
    for is_causal in (False, True):
        out = linear_attention(q, k, v, is_causal=is_causal)
        for i in range(4):
            weights = [float(phi(a[i]) @ phi(b[j])) for j in range(i + 1 if is_causal else 4)]
            want = sum(w * c[j] for j, w in enumerate(weights)) / sum(weights)
            np.testing.assert_allclose(out[i].numpy(), want, rtol=1e-12)


def test_elu_plus_one_is_elu_plus_one_with_its_slope():
    x = torch.linspace(-30, 30, 101, dtype=torch.float64)
    assert_same(with_gradients(elu_plus_one, x), with_gradients(lambda x: F.elu(x) + 1, x), 1e-12)
    assert torch.autograd.gradcheck(elu_plus_one, (x[:40:5].clone().requires_grad_(),))


@pytest.mark.parametrize("name", MAPS)
@given(
    seed=st.integers(0, 999),
    batch=st.sampled_from([(), (2,), (2, 2)]),
    n=st.integers(1, 20),
    chunk=st.integers(1, 24),
    gated=st.booleans(),
    hidden=st.booleans(),
)
@settings(max_examples=12, deadline=None)
def test_parallel_recurrent_and_chunked_agree(name, seed, batch, n, chunk, gated, hidden):
    inputs = qkv(seed, batch, n)
    if gated:
        inputs.append(rates(seed, batch, n).clamp(0.01, 0.99))
    key_mask = torch.rand(*batch[:1], n) < 0.7 if hidden else None

    def run(form):
        def function(q, k, v, gate=None):
            return linear_attention(q, k, v, features=MAPS[name], gate=gate, key_mask=key_mask,
                                    is_causal=True, form=form, block_size=chunk)  # fmt: skip

        return with_gradients(function, *inputs)

    want = run("parallel")
    assert_same(run("chunked"), want, 1e-7)
    assert_same(run("recurrent"), want, 1e-7)


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("name", MAPS)
def test_chunks_of_several_parts_agree_with_the_parallel_form(name, hidden):
    # With chunks of 192 the first two fall into three parts of 64 each; the last, of 16 tokens, stays whole.
    inputs = qkv(3, (2,), 400)
    key_mask = torch.rand(2, 400) < 0.7 if hidden else None
    run = lambda form: with_gradients(  # noqa: E731
        lambda *x: linear_attention(*x, features=MAPS[name], key_mask=key_mask, is_causal=True, form=form,
                                    block_size=192), *inputs)  # fmt: skip
    assert_same(run("chunked"), run("parallel"), 1e-7)


@pytest.mark.parametrize("name", [*MAPS, "narrow"])
@given(seed=st.integers(0, 999), n_q=st.integers(1, 9), n_k=st.integers(1, 20), chunk=st.integers(1, 24))
@settings(max_examples=8, deadline=None)
def test_without_causality_queries_and_keys_may_differ_in_number(name, seed, n_q, n_k, chunk):
    inputs = qkv(seed, (2,), n_q, n_k)
    features = (MAPS | {"narrow": PositiveFeatures(MAPS["favor"].projection[:2])})[name]
    key_mask = masks.padding([n_k, n_k // 2], n_k)
    run = lambda form: with_gradients(  # noqa: E731
        lambda *x: linear_attention(*x, features=features, key_mask=key_mask, form=form, block_size=chunk),
        *inputs,
    )
    assert_same(run("chunked"), run("parallel"), 1e-7)


def decay_by_matrices(q, k, v, log_decay):
    """Gated linear attention from S_t = diag(a_t) S_{t-1} + k_t v_tᵀ, in numpy."""
    q, k, v, a = (x.numpy() for x in (q, k, v, log_decay.exp()))
    state, outs = np.zeros((q.shape[1], v.shape[1])), []
    for t in range(len(q)):
        state = np.diag(np.broadcast_to(a[t], q.shape[1])) @ state + np.outer(k[t], v[t])
        outs.append(state.T @ q[t])
    return torch.from_numpy(np.stack(outs))


def correct_by_matrices(q, k, v, beta):
    """The delta rule from S_t = (I - β k kᵀ) diag(α) S_{t-1} + β k vᵀ, in numpy; α is 1 unless given."""
    q, k, v, beta = (x.numpy() for x in (q, k, v, beta))
    beta, stays = beta[:, :1], np.exp(beta[:, 1:]) if beta.shape[1] > 1 else np.ones((len(q), 1))
    state, outs = np.zeros((q.shape[1], v.shape[1])), []
    for t in range(len(q)):
        kept = (np.eye(q.shape[1]) - beta[t] * np.outer(k[t], k[t])) * stays[t]
        state = kept @ state + beta[t] * np.outer(k[t], v[t])
        outs.append(state.T @ q[t])
    return torch.from_numpy(np.stack(outs))


def delta_and_gate(q, k, v, beta, **how):
    return linear.delta_rule(q, k, v, beta[..., :1], log_decay=beta[..., 1:], **how)


RULES = {
    "gated": (linear.gated_linear_attention, decay_by_matrices, D),
    "gated, one decay for all rows": (linear.gated_linear_attention, decay_by_matrices, 1),
    "delta": (linear.delta_rule, correct_by_matrices, 1),
    "delta, gated": (delta_and_gate, correct_by_matrices, 2),
    "delta, gated by row": (delta_and_gate, correct_by_matrices, 1 + D),
}


def rule_inputs(name, seed, batch, n):
    q, k, v = qkv(seed, batch, n)
    fourth = rates(seed, batch, n, RULES[name][2])
    logs, plain = fourth.clamp(min=1e-3).log(), int(name.startswith("delta"))
    fourth = 2 * fourth if "row" in name else fourth  # the eigenvalue along the key: 1 - β, from -1 to 1
    return [q, F.normalize(k, dim=-1), v, torch.cat((fourth[..., :plain], logs[..., plain:]), -1)]


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("form", ["chunked", "recurrent"])
def test_gates_and_the_delta_rule_are_their_matrix_recurrences(name, form):
    function, reference, _ = RULES[name]
    inputs = rule_inputs(name, 0, (), 11)
    chunk = 4
    assert_same([function(*inputs, form=form, block_size=chunk)], [reference(*inputs)], 1e-10)


@pytest.mark.parametrize("name", RULES)
@given(
    seed=st.integers(0, 999),
    batch=st.sampled_from([(), (2,), (2, 2)]),
    n=st.integers(1, 20),
    chunk=st.integers(1, 24),
    hidden=st.booleans(),
)
@settings(max_examples=12, deadline=None)
def test_gates_and_the_delta_rule_agree_in_both_forms(name, seed, batch, n, chunk, hidden):
    function = RULES[name][0]
    inputs = rule_inputs(name, seed, batch, n)
    key_mask = torch.rand(*batch[:1], n) < 0.7 if hidden else None
    run = lambda form: with_gradients(  # noqa: E731
        lambda *x: function(*x, key_mask=key_mask, form=form, block_size=chunk), *inputs
    )
    assert_same(run("chunked"), run("recurrent"), 1e-8)


@pytest.mark.parametrize("device", DEVICES)
def test_in_single_precision_over_a_length_that_is_no_multiple(device):
    q, k, v = qkv(3, (1, 2), 333, d=8, d_v=8, dtype=torch.float32)
    beta = rates(3, (1, 2), 333).float()
    unit = F.normalize(k, dim=-1)
    q, k, v, beta, unit = (x.to(device) for x in (q, k, v, beta, unit))
    favor = PositiveFeatures.draw(8, 32, generator=torch.Generator().manual_seed(0))
    for features in (elu_plus_one, favor, FourierFeatures(favor.projection / 2)):
        for is_causal in (False, True):
            run = lambda form: linear_attention(  # noqa: E731
                q, k, v, features=features, is_causal=is_causal, form=form, block_size=64  # noqa: B023
            )  # fmt: skip
            assert_same([run("chunked")], [run("parallel")], 1e-5)
    exact = linear.delta_rule(*(x.double() for x in (q, unit, v, beta)), form="recurrent")
    assert_same([linear.delta_rule(q, unit, v, beta).double()], [exact], 1e-5)
    decay = (-3 * beta).expand_as(k)
    exact = linear.gated_linear_attention(*(x.double() for x in (q, k, v, decay)), form="recurrent")
    assert_same([linear.gated_linear_attention(q, k, v, decay).double()], [exact], 1e-5)


def test_leading_dimensions_spread_and_strides_do_not_matter():
    q, k, v = draw(0, (2, 5, 3, D), (1, 3, 5, D), (3, 5, 2))
    q = q.transpose(1, 2)  # (2, 3, 5, D), as a layer with heads makes it
    for is_causal in (False, True):
        run = lambda form: with_gradients(  # noqa: E731
            lambda *x: linear_attention(*x, is_causal=is_causal, form=form, block_size=2), q, k, v  # noqa: B023
        )  # fmt: skip
        assert_same(run("chunked"), run("parallel"))
    out = linear.delta_rule(q, F.normalize(k, dim=-1), v, torch.ones(5, 1, dtype=torch.float64))
    assert out.shape == (2, 3, 5, 2)


# Decoding


def test_decoding_token_by_token_continues_the_sequence():
    q, k, v = qkv(batch=(2,), n=9)
    whole = linear_attention(q, k, v, is_causal=True)
    state = None
    for t in range(9):
        out, state = linear.linear_step(q[:, t], k[:, t], v[:, t], state)
        torch.testing.assert_close(out, whole[:, t])
    assert [x.shape for x in state] == [(2, D, 2), (2, D, 1), (2, 1, 1)]


def test_the_delta_rule_replaces_what_addition_would_pile_up():
    k = torch.eye(3, dtype=torch.float64)[[0, 1, 0]]
    v = torch.tensor([[3.0], [5.0], [7.0]], dtype=torch.float64)
    one = torch.ones(3, 1, dtype=torch.float64)
    assert linear.delta_rule(k, k, v, one).flatten().tolist() == [3.0, 5.0, 7.0]
    assert linear.gated_linear_attention(k, k, v, one.log()).flatten().tolist() == [3.0, 5.0, 10.0]
    assert linear.delta_rule(k, k, v, one / 2).flatten().tolist() == [1.5, 2.5, 4.25]


# Causality, masks, nothing to attend to


def causal_map(features, block_size=4):
    return functools.partial(linear_attention, features=features, is_causal=True, block_size=block_size)


def gated_map(q, k, v):
    return causal_map(MAPS["rfa"])(q, k, v, gate=torch.sigmoid(k[..., :1]))


def gated(q, k, v, block_size=4):
    return linear.gated_linear_attention(q, k, v, -k.square(), block_size=block_size)


def delta(q, k, v, block_size=4):
    return linear.delta_rule(q, F.normalize(k, dim=-1), v, k[..., :1].sigmoid(), block_size=block_size)


CAUSAL = {name: causal_map(features) for name, features in MAPS.items()}
CAUSAL |= {"rfa, gated": gated_map, "gated": gated, "delta": delta}


@pytest.mark.parametrize("name", CAUSAL)
def test_no_gradient_and_no_rounding_comes_from_the_future(name):
    q, k, v = (x.requires_grad_() for x in qkv(batch=(), n=11))
    for t in (0, 3, 4, 6):
        for grad in torch.autograd.grad(CAUSAL[name](q, k, v)[t].sum(), (q, k, v)):
            assert (grad[t + 1 :] == 0).all()
    before = CAUSAL[name](q, k, v)
    with torch.no_grad():  # a huge later key, in the same chunk and in the next
        k[6] *= -300
        k[9] *= -300
    assert torch.equal(CAUSAL[name](q, k, v)[:6], before[:6])
    assert not torch.equal(CAUSAL[name](q, k, v)[6:], before[6:])


@pytest.mark.parametrize("name", [*CAUSAL, "linformer"])
def test_padding_equals_the_shorter_sequence(name):
    q, k, v = qkv(batch=(2,), n=11)
    short = [7, 11]
    key_mask = masks.padding(short, 11)
    (mix,) = draw(5, (4, 11))
    decay, beta = -k.square(), k[..., :1].sigmoid()

    def run(q, k, v, key_mask=None, rows=slice(None)):
        unit = F.normalize(k, dim=-1)
        if name == "linformer":
            return linear.linformer_attention(q, k, v, mix, key_mask=key_mask)
        if name == "gated":
            return linear.gated_linear_attention(
                q, k, v, decay[rows, : k.shape[1]], key_mask=key_mask, block_size=4
            )
        if name == "delta":
            return linear.delta_rule(q, unit, v, beta[rows, : k.shape[1]], key_mask=key_mask, block_size=4)
        gate = beta[rows, : k.shape[1]] if name == "rfa, gated" else None
        features = MAPS[name.split(",")[0]]
        return linear_attention(
            q, k, v, features=features, gate=gate, key_mask=key_mask, is_causal=True, block_size=4
        )

    out, *grads = with_gradients(lambda *x: run(*x, key_mask), q, k, v)
    for i, n in enumerate(short):
        row = slice(i, i + 1)
        torch.testing.assert_close(out[row, :n], run(q[row, :n], k[row, :n], v[row, :n], rows=row))
        assert all((grad[i, n:] == 0).all() for grad in grads[1:])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", [*MAPS, "gated", "delta", "linformer"])
def test_nothing_to_attend_to_gives_zeros_and_no_gradient(name, dtype):
    q, k, v = qkv(batch=(2,), n=6, dtype=dtype)
    key_mask = torch.ones(2, 6, dtype=torch.bool)
    key_mask[0, :3] = False
    key_mask[1] = False
    rate = torch.full((6, 1), 0.5, dtype=dtype)
    function = {
        "gated": lambda *x: linear.gated_linear_attention(*x, rate.log(), key_mask=key_mask, block_size=2),
        "delta": lambda *x: linear.delta_rule(*x, rate, key_mask=key_mask, block_size=2),
        "linformer": lambda *x: linear.linformer_attention(
            *x, torch.ones(2, 6, dtype=dtype), key_mask=key_mask
        ),
    }.get(name)
    if function is None:
        function = lambda *x: linear_attention(  # noqa: E731
            *x, features=MAPS[name], key_mask=key_mask, is_causal=True, block_size=2
        )
    out, *grads = with_gradients(function, q, k, v)
    assert out.dtype == dtype
    assert (out[1] == 0).all()
    assert name == "linformer" or (out[0, :3] == 0).all()
    assert (out[0, 3:] != 0).any()
    assert all((grad[1] == 0).all() and grad.isfinite().all() for grad in grads)


# Extremes


@pytest.mark.parametrize("size", [1e2, 1e4])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("name", MAPS)
def test_huge_inputs_overflow_nowhere(name, is_causal, size):
    q, k, v = qkv(n=9, dtype=torch.float32)
    function = lambda *x: linear_attention(  # noqa: E731
        *x, features=MAPS[name], is_causal=is_causal, block_size=4
    )
    results = with_gradients(function, size * q, size * k, v)
    assert all(x.isfinite().all() for x in results)


def test_huge_decays_and_gates_overflow_nowhere():
    q, k, v = qkv(n=20, dtype=torch.float32)
    decay = torch.full_like(k, -torch.inf)
    out, *grads = with_gradients(lambda *x: linear.gated_linear_attention(*x, decay), q, k, v)
    torch.testing.assert_close(out, (q * k).sum(-1, keepdim=True) * v)  # each token sees itself alone
    assert all(grad.isfinite().all() for grad in grads)
    gate = rates(0, (2, 2), 20).round().float()
    results = with_gradients(lambda *x: linear_attention(*x, gate=gate, is_causal=True), q, k, v)
    assert all(x.isfinite().all() for x in results)
    # After a gate of 0 only later tokens count, however many gates of 0 came before.
    gate = torch.full((20, 1), 0.5)
    gate[2:8] = 0.0
    out = linear_attention(q, k, v, gate=gate, is_causal=True, block_size=16)
    rest = linear_attention(*(x[..., 7:, :] for x in (q, k, v)), gate=gate[7:], is_causal=True)
    torch.testing.assert_close(out[..., 7:, :], rest, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [1.0, 12.0])
def test_favor_equals_its_formula_where_the_formula_itself_overflows(size):
    q, k, v = qkv(7, (), 24, d=4, d_v=3, dtype=torch.float32)
    q, k = size * q, size * k
    features = PositiveFeatures.draw(4, 64, generator=torch.Generator().manual_seed(0))
    log = [x.double() / math.sqrt(2) for x in (q, k)]  # d^-1/4 is 1/√2
    log = [x @ features.projection.double().T - x.square().sum(-1, keepdim=True) / 2 for x in log]
    weights = torch.logsumexp(log[0][:, None] + log[1][None], -1)  # (n, n)
    for is_causal in (False, True):
        shown = weights.masked_fill(~masks.causal(24), -torch.inf) if is_causal else weights
        want = shown.softmax(-1) @ v.double()
        got = linear_attention(q, k, v, features=features, is_causal=is_causal, block_size=8)
        torch.testing.assert_close(got.double(), want, rtol=1e-3, atol=1e-5 if size == 1.0 else 1e-3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_summed_in_single(dtype):
    q, k, v = qkv(n=64, d=8, dtype=dtype)
    small = [x.float() for x in (q, k, v)]
    out = linear_attention(q, k, v + 30, is_causal=True, block_size=16)
    want = linear_attention(small[0], small[1], (v + 30).float(), is_causal=True)
    assert out.dtype == dtype
    torch.testing.assert_close(out, want.to(dtype))


def test_autocast_does_not_reach_into_the_sums():
    q, k, v = qkv(n=40, d=8, dtype=torch.float32)
    want = linear_attention(q, k, v, is_causal=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(linear_attention(q, k, v, is_causal=True), want)


# Random features


def estimates(make, q, k, draws):
    """Return φ(q)·φ(k) for many draws of the random matrix."""
    g = torch.Generator().manual_seed(11)
    return torch.stack([(f(q) @ f(k).mT) for f in (make(generator=g) for _ in range(draws))])


def test_favor_is_unbiased_with_the_variance_that_was_derived():
    q, k = draw(0, (2, 4), (3, 4))
    q, k = 0.6 * q, 0.6 * k
    draws, m = 3000, 8
    truth = (q @ k.T / 2).exp()
    variance = PositiveFeatures.draw(4, m).variance(q, k)
    for orthogonal in (False, True):
        make = functools.partial(PositiveFeatures.draw, 4, m, orthogonal=orthogonal)
        got = estimates(make, q, k, draws)
        assert (got > 0).all()
        assert ((got.mean(0) - truth).abs() < 4 * (variance / draws).sqrt()).all()
        ratio = got.var(0) / variance
        # Heavy tails: the sample's own variance is known to about a tenth here.
        assert ((ratio > 0.8) & (ratio < 1.2)).all() if not orthogonal else (ratio < 0.95).all()


def test_the_error_of_favor_falls_with_the_root_of_the_number_of_features():
    q, k = draw(1, (1, 4), (1, 4))
    spread = []
    for m in (4, 16, 64):
        make = functools.partial(PositiveFeatures.draw, 4, m, orthogonal=False)
        spread.append(float(estimates(make, q / 2, k / 2, 1500).std()))
    assert 1.7 < spread[0] / spread[1] < 2.3
    assert 1.7 < spread[1] / spread[2] < 2.3


def test_favor_approaches_softmax_attention():
    q, k, v = qkv(4, (2,), 30, d=4)
    q, k = q / 2, k / 2
    features = PositiveFeatures.draw(4, 4096, generator=torch.Generator().manual_seed(0))
    for is_causal in (False, True):
        got = linear_attention(q, k, v, features=features, is_causal=is_causal)
        assert (got - attention(q, k, v, is_causal=is_causal)).abs().max() < 0.03


def test_sines_and_cosines_estimate_the_gaussian_kernel_and_not_the_exponential():
    q, k = torch.tensor([[1.5, -0.5]]), torch.tensor([[-1.0, 0.5]])
    features = FourierFeatures.draw(2, 200_000, unit=False, generator=torch.Generator().manual_seed(0))
    got = float(features(q) @ features(k).T)
    assert got == pytest.approx(math.exp(-float((q - k).square().sum()) / 2), abs=0.005)
    assert abs(got - math.exp(float((q * k).sum()))) > 0.1


def test_random_feature_attention_approaches_softmax_of_unit_vectors():
    q, k, v = qkv(4, (2,), 20, d=4)
    features = FourierFeatures.draw(4, 20_000, sigma=0.8, generator=torch.Generator().manual_seed(0))
    got = linear_attention(q, k, v, features=features, is_causal=True, block_size=8)
    want = attention(F.normalize(q, dim=-1), F.normalize(k, dim=-1), v, scale=1 / 0.8**2, is_causal=True)
    assert (got - want).abs().max() < 0.05


def test_orthogonal_rows_are_orthogonal_normal_vectors():
    w = linear.orthogonal_gaussian(3000, 5, generator=torch.Generator().manual_seed(0))
    first = w[:5] @ w[:5].T
    assert (first - first.diag().diag()).abs().max() < 1e-5
    assert w.mean().abs() < 0.03
    assert w.var() == pytest.approx(1.0, abs=0.03)
    assert w.norm(dim=1).square().var() == pytest.approx(10.0, rel=0.15)  # chi-squared with 5 degrees


def test_a_feature_map_that_learns_gets_its_gradient():
    q, k, v = qkv(batch=(2,), n=7)
    weight = draw(3, (4, D))[0].requires_grad_()
    grads = []
    for is_causal in (False, True):
        for form in ("parallel", "chunked"):
            out = linear_attention(
                q, k, v, features=lambda x: (x @ weight.T).exp(), is_causal=is_causal, form=form, block_size=3
            )
            grads.append(torch.autograd.grad(out.square().sum(), weight)[0])
    torch.testing.assert_close(grads[0], grads[1])
    torch.testing.assert_close(grads[2], grads[3])


# Linformer


def test_linformer_is_attention_to_mixtures():
    q, k, v = qkv(batch=(2,), n=5, n_k=7)
    e, f = draw(8, (3, 9), (3, 9))
    out = linear.linformer_attention(q, k, v, e, f)
    weights = torch.softmax(q @ (e[:, :7] @ k).mT / math.sqrt(D), -1)
    torch.testing.assert_close(out, weights @ (f[:, :7] @ v))
    eye = torch.eye(7, dtype=torch.float64)
    torch.testing.assert_close(linear.linformer_attention(q, k, v, eye), attention(q, k, v))


def test_linformer_sees_the_future():
    q, k, v = (x.requires_grad_() for x in qkv(batch=(), n=6))
    first = linear.linformer_attention(q, k, v, draw(8, (3, 6))[0])[0]
    assert (torch.autograd.grad(first.sum(), v)[0][-1] != 0).all()


# Cost


class Allocated(TorchDispatchMode):
    """Add up the bytes of every new storage that an operation returns."""

    def __init__(self):
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        tensors = [x for x in (*args, *(kwargs or {}).values()) if isinstance(x, torch.Tensor)]
        known = {x.untyped_storage().data_ptr() for x in tensors}
        for x in out if isinstance(out, (tuple, list)) else (out,):
            if isinstance(x, torch.Tensor) and x.untyped_storage().data_ptr() not in known:
                self.bytes += x.untyped_storage().nbytes()
        return out


COSTS = {
    **{name: functools.partial(linear_attention, features=features) for name, features in MAPS.items()},
    **{f"{name}, causal": causal_map(features, 32) for name, features in MAPS.items()},
    "gated": functools.partial(gated, block_size=32),
    "delta": functools.partial(delta, block_size=32),
    "linformer": lambda q, k, v: linear.linformer_attention(q, k, v, torch.ones(8, k.shape[-2])),
}


@pytest.mark.parametrize("name", COSTS)
def test_operations_and_bytes_grow_linearly_forward_and_backward(name):
    counts = []
    for n in (256, 512, 1024):
        q, k, v = (x.requires_grad_() for x in qkv(0, (1,), n, dtype=torch.float32))
        with FlopCounterMode(display=False) as forward_flops, Allocated() as forward_bytes:
            out = COSTS[name](q, k, v)
        loss = out.square().sum()
        with FlopCounterMode(display=False) as backward_flops, Allocated() as backward_bytes:
            torch.autograd.grad(loss, (q, k, v))
        flops = forward_flops.get_total_flops(), backward_flops.get_total_flops()
        counts.append((*flops, forward_bytes.bytes, backward_bytes.bytes))
    for small, middle, large in zip(*counts, strict=True):
        assert small > 0
        assert math.log2(middle / small) <= 1.1
        assert math.log2(large / middle) <= 1.1


def test_the_slope_would_show_a_square():
    with FlopCounterMode(display=False) as flops, Allocated() as allocated:
        linear_attention(*qkv(0, (1,), 64), form="parallel")
    with FlopCounterMode(display=False) as more_flops, Allocated() as more_allocated:
        linear_attention(*qkv(0, (1,), 256), form="parallel")
    assert more_flops.get_total_flops() > 15 * flops.get_total_flops()
    assert more_allocated.bytes > 10 * allocated.bytes


# Errors


def test_errors_name_the_argument_and_what_it_should_be():
    q, k, v = qkv(batch=(2,), n=5)
    with pytest.raises(ValueError, match=r"key_mask must have shape .* = \(2, 5\), got \(5, 5\)"):
        linear_attention(q, k, v, key_mask=masks.causal(5))
    with pytest.raises(TypeError, match="key_mask must be a boolean"):
        linear_attention(q, k, v, key_mask=torch.ones(2, 5))
    with pytest.raises(ValueError, match="n_q = 2 and n_k = 5"):
        linear_attention(q[:, :2], k, v, is_causal=True)
    with pytest.raises(ValueError, match="a gate needs is_causal"):
        linear_attention(q, k, v, gate=torch.ones(5, 1))
    with pytest.raises(ValueError, match="form='recurrent' needs is_causal"):
        linear_attention(q, k, v, form="recurrent")
    with pytest.raises(
        ValueError, match="form must be one of 'chunked', 'parallel', 'recurrent', got 'fast'"
    ):
        linear_attention(q, k, v, form="fast")
    with pytest.raises(ValueError, match="block_size must be at least 1, got 0"):
        linear_attention(q, k, v, block_size=0)
    with pytest.raises(ValueError, match=r"gate must end in \(5, 1\).*got shape \(5,\)"):
        linear_attention(q, k, v, gate=torch.ones(5), is_causal=True)
    with pytest.raises(ValueError, match=r"beta of shape \(3, 5, 1\) does not broadcast to \(2, 5, 1\)"):
        linear.delta_rule(q, k, v, torch.ones(3, 5, 1))
    with pytest.raises(ValueError, match=r"log_decay must end in \(5, 3\)"):
        linear.gated_linear_attention(q, k, v, torch.ones(5, 2))
    with pytest.raises(ValueError, match=r"mix_keys must end in \(r, n_max\) with n_max >= n_k = 5"):
        linear.linformer_attention(q, k, v, torch.ones(2, 4))
    with pytest.raises(ValueError, match="k and v must have the same number of tokens"):
        linear_attention(q, k, v[:, 1:])
    with pytest.raises(ValueError, match="n_features must be at least 1, got 0"):
        PositiveFeatures.draw(4, 0)
    with pytest.raises(ValueError, match=r"sigma must be positive, got 0\.0"):
        FourierFeatures.draw(4, 2, sigma=0.0)
