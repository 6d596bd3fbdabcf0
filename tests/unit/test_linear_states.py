"""A text read in pieces, its state handed from call to call, is the text read at once."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab import linear
from attnlab.linear import FourierFeatures, LinearState, PositiveFeatures, elu_plus_one, linear_attention

D, D_V = 4, 3
FAVOR = PositiveFeatures.draw(D, 8, generator=torch.Generator().manual_seed(0))
RFA = FourierFeatures.draw(D, 8, sigma=2.0, generator=torch.Generator().manual_seed(1))


def learned(x):
    return x.square() + 0.1 * x.cumsum(-1).square()


def kernel(features, gated=False):
    def whole(q, k, v, rate, **how):
        gate = rate if gated else None
        return linear_attention(q, k, v, features=features, gate=gate, is_causal=True, **how)

    def step(q, k, v, rate, state, **how):
        return linear.linear_step(q, k, v, state, features=features, gate=rate if gated else None, **how)

    return whole, step


def gated(q, k, v, rate, **how):
    return linear.gated_linear_attention(q, k, v, rate.log().expand_as(k), **how)


def gated_step(q, k, v, rate, state, **how):
    return linear.gated_step(q, k, v, rate.log(), state, **how)


def delta(q, k, v, rate, **how):
    return linear.delta_rule(q, F.normalize(k, dim=-1), v, rate, **how)


def delta_step(q, k, v, rate, state, **how):
    return linear.delta_step(q, F.normalize(k, dim=-1), v, rate, state, **how)


def fading_delta(q, k, v, rate, **how):
    return delta(q, k, v, rate, log_decay=rate.log() / 2, **how)


def fading_delta_step(q, k, v, rate, state, **how):
    return delta_step(q, k, v, rate, state, log_decay=rate.log() / 2, **how)


def by_row(rate, k):
    return rate.log() * torch.arange(k.shape[-1])


def delta_by_row(q, k, v, rate, **how):
    return delta(q, k, v, 2 * rate, log_decay=by_row(rate, k), **how)


def delta_step_by_row(q, k, v, rate, state, **how):
    return delta_step(q, k, v, 2 * rate, state, log_decay=by_row(rate, k), **how)


FORMS = {
    "elu": kernel(elu_plus_one),
    "elu, gated": kernel(elu_plus_one, gated=True),
    "favor": kernel(FAVOR),
    "favor, gated": kernel(FAVOR, gated=True),
    "rfa, gated": kernel(RFA, gated=True),
    "another map": kernel(learned),
    "gated": (gated, gated_step),
    "delta": (delta, delta_step),
    "delta, gated": (fading_delta, fading_delta_step),
    "delta, gated by row": (delta_by_row, delta_step_by_row),
}


def text(seed, batch, n, dtype=torch.float64, size=1.0):
    g = torch.Generator().manual_seed(seed)
    q, k, v, rate = (torch.randn(*batch, n, d, generator=g, dtype=torch.float64) for d in (D, D, D_V, 1))
    return [x.to(dtype) for x in (size * q, size * k, v, (2 * rate).sigmoid())]


def in_pieces(name, inputs, cuts, key_mask=None, state=None, block_size=4, forms=("chunked", "recurrent")):
    """Read a text up to each cut by the function, and what is left token by token."""
    whole, step = FORMS[name]
    outs, start = [], 0
    for i, cut in enumerate(cuts):
        piece = [x[..., start:cut, :] for x in inputs]
        seen = None if key_mask is None else key_mask[..., start:cut]
        out, state = whole(*piece, key_mask=seen, initial_state=state, return_state=True,
                           form=forms[i % len(forms)], block_size=block_size)  # fmt: skip
        outs.append(out)
        start = cut
    for t in range(start, inputs[0].shape[-2]):
        seen = None if key_mask is None else key_mask[..., t : t + 1]
        out, state = step(*(x[..., t, :] for x in inputs), state, key_mask=seen)
        outs.append(out[..., None, :])
    return torch.cat(outs, -2), state


def parts_of(state):
    """Return what a state says, whatever scale it is written in."""
    if isinstance(state, LinearState):
        return [state.sums * state.log_scale.exp(), state.total * state.log_scale.exp()]
    return [state]


def gradients(out, state, inputs):
    weights = torch.arange(out.numel(), dtype=torch.float64).cos().view(out.shape).to(out)
    loss = (out * weights).sum()
    for x in parts_of(state):
        loss = loss + (x * torch.arange(x.numel()).sin().view(x.shape).to(x)).sum()
    return torch.autograd.grad(loss, inputs, materialize_grads=True)


@pytest.mark.parametrize("name", FORMS)
@given(
    seed=st.integers(0, 999),
    batch=st.sampled_from([(), (2,), (2, 2)]),
    cuts=st.lists(st.integers(0, 14), max_size=3).map(sorted),
    hidden=st.booleans(),
)
@settings(max_examples=15, deadline=None)
def test_any_cut_and_then_token_by_token_is_one_pass(name, seed, batch, cuts, hidden):
    inputs = text(seed, batch, 14)
    key_mask = None
    if hidden:
        key_mask = torch.rand(*batch[:1], 14, generator=torch.Generator().manual_seed(seed)) < 0.6
    leaves = [[x.clone().requires_grad_() for x in inputs] for _ in range(2)]
    want = FORMS[name][0](*leaves[0], key_mask=key_mask, return_state=True, block_size=5)
    got = in_pieces(name, leaves[1], cuts, key_mask)
    for a, b in zip(
        [got[0], *parts_of(got[1]), *gradients(*got, leaves[1])],
        [want[0], *parts_of(want[1]), *gradients(*want, leaves[0])],
        strict=True,
    ):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", FORMS)
def test_in_half_precision_the_state_stays_in_single(name, dtype):
    inputs = text(3, (2,), 60, dtype)
    want, want_state = FORMS[name][0](*(x.float() for x in inputs), return_state=True)
    for cuts in ([], [17, 40], [60]):
        out, state = in_pieces(name, inputs, cuts, block_size=16)
        assert out.dtype == dtype
        assert all(
            x.dtype in (torch.float32, torch.float64)
            for x in (state if type(state) is LinearState else [state])
        )
        # A decay or a key's length is rounded before it comes in; what is summed is not rounded again.
        torch.testing.assert_close(out.float(), want, rtol=0.02, atol=12 * torch.finfo(dtype).eps)
        for a, b in zip(parts_of(state), parts_of(want_state), strict=True):
            torch.testing.assert_close(a.float(), b.float(), rtol=0.02, atol=0.02)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("name", ["elu", "another map", "gated"])
def test_a_long_sum_does_not_stop_growing(name, dtype):
    """300 tokens of value 1, then zeros: in half precision a sum of 512, or of 4,096, takes no more 1s."""
    n = 3300 if dtype != torch.float16 else 9000
    one = torch.ones(D, dtype=dtype)
    rate = torch.ones(1, dtype=dtype)
    step, state = FORMS[name][1], None
    for t in range(n):
        out, state = step(one, one, one[:D_V] * (t < 300), rate, state)
    total = 300 / n if name != "gated" else 300.0 * D
    torch.testing.assert_close(out, torch.full((D_V,), total, dtype=dtype))


@pytest.mark.parametrize("name", ["favor", "favor, gated"])
def test_a_state_of_weights_beyond_the_range_of_floats_is_handed_on(name):
    inputs = text(5, (), 20, torch.float32, size=60.0)
    want = FORMS[name][0](*inputs, block_size=20)
    for cuts in ([], [7], [20]):
        out, state = in_pieces(name, inputs, cuts)
        assert all(x.isfinite().all() for x in state)
        torch.testing.assert_close(out, want, rtol=2e-3, atol=1e-4)


def test_a_state_read_under_a_gate_goes_on_without_one():
    inputs = text(6, (2,), 12)
    q, k, v, gate = inputs
    gate = torch.where(torch.arange(12)[:, None] < 6, gate, 0.0)
    _, state = linear_attention(
        *(x[:, :6] for x in (q, k, v)), gate=gate[:, :6], is_causal=True, return_state=True
    )
    got = linear_attention(*(x[:, 6:] for x in (q, k, v)), is_causal=True, initial_state=state)
    s, z = parts_of(state)
    fq, fk = elu_plus_one(q[:, 6:]), elu_plus_one(k[:, 6:])
    s = s[:, None] + (fk[..., :, None] * v[:, 6:, None, :]).cumsum(1)
    z = z[:, None] + fk[..., None].cumsum(1)
    want = (fq[..., None, :] @ s / (fq[..., None, :] @ z)).squeeze(-2)
    torch.testing.assert_close(got, want)
    for t in range(6, 12):
        out, state = linear.linear_step(q[:, t], k[:, t], v[:, t], state)
        torch.testing.assert_close(out, want[:, t - 6])


@pytest.mark.parametrize("name", FORMS)
def test_the_state_alone_has_a_gradient(name):
    grads = []
    for form in ("chunked", "recurrent"):
        inputs = [x.requires_grad_() for x in text(10, (2,), 9)]
        _, state = FORMS[name][0](*inputs, return_state=True, form=form, block_size=4)
        loss = sum(x.square().sum() for x in parts_of(state))
        grads.append(torch.autograd.grad(loss, inputs, materialize_grads=True))
    assert (grads[0][0] == 0).all()  # the state has heard of no query
    for a, b in zip(*grads, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("form", ["chunked", "recurrent"])
@pytest.mark.parametrize("name", FORMS)
def test_a_call_leaves_the_state_it_was_given_as_it_was(name, form):
    inputs = text(7, (2,), 5)
    _, state = FORMS[name][0](*inputs, return_state=True)
    given = state if isinstance(state, LinearState) else (state,)
    copies = [x.clone() for x in given]
    FORMS[name][0](*inputs, initial_state=state, return_state=True, form=form)
    FORMS[name][1](*(x[:, 0] for x in inputs), state)
    assert all(torch.equal(a, b) for a, b in zip(given, copies, strict=True))
    nothing = [x[:, :0] for x in inputs]
    out, same = FORMS[name][0](*nothing, initial_state=state, return_state=True, form=form)
    assert out.shape == (2, 0, D_V)
    for a, b in zip(parts_of(same), parts_of(state), strict=True):
        torch.testing.assert_close(a, b)


def test_states_that_do_not_fit_are_refused_by_name():
    q, k, v, rate = text(8, (2,), 5)
    bad = torch.zeros(2, D, D_V + 1)
    with pytest.raises(ValueError, match=r"initial_state must have shape .* = \(2, 4, 3\), got \(2, 4, 4\)"):
        delta(q, k, v, rate, initial_state=bad)
    with pytest.raises(ValueError, match=r"initial_state must have shape .* = \(2, 4, 3\), got \(2, 4, 4\)"):
        gated(q, k, v, rate, initial_state=bad)
    _, state = linear_attention(q, k, v, is_causal=True, return_state=True)
    with pytest.raises(ValueError, match=r"initial_state\.sums must have shape \(2, 8, 3\), got \(2, 4, 3\)"):
        linear_attention(q, k, v, features=FAVOR, is_causal=True, initial_state=state)
    with pytest.raises(
        ValueError, match=r"initial_state\.log_scale must have shape \(2, 1, 1\), got \(1, 1\)"
    ):
        linear_attention(q, k, v, is_causal=True, initial_state=state._replace(log_scale=torch.zeros(1, 1)))
    with pytest.raises(ValueError, match="a state needs is_causal=True"):
        linear_attention(q, k, v, return_state=True)
    with pytest.raises(ValueError, match="form='parallel' has no state"):
        linear_attention(q, k, v, is_causal=True, form="parallel", initial_state=state)
    now, rated = [x[:, 0] for x in (q, k, v)], [x[:, 0] for x in (q, k, v, rate)]
    with pytest.raises(ValueError, match=r"state\.sums must have shape \(2, 4, 3\), got \(1, 4, 3\)"):
        linear.linear_step(*now, LinearState(*(x[:1] for x in state)))
    for step in (linear.gated_step, linear.delta_step):
        with pytest.raises(ValueError, match=r"state must have shape .* = \(2, 4, 3\), got \(1, 4, 3\)"):
            step(*rated, bad[:1, :, :D_V])
    with pytest.raises(TypeError, match=r"key_mask must be a boolean tensor .* got dtype torch\.float64"):
        linear.linear_step(*now, key_mask=torch.ones(2, 1, dtype=torch.float64))
    for step, token in ((linear.linear_step, now), (linear.gated_step, rated), (linear.delta_step, rated)):
        with pytest.raises(ValueError, match=r"key_mask must have shape .* = \(2, 1\), got \(2,\)"):
            step(*token, key_mask=torch.ones(2, dtype=torch.bool))


@pytest.mark.parametrize("form", ["chunked", "recurrent"])
@pytest.mark.parametrize("name", ["gated", "delta", "delta, gated by row"])
def test_a_state_of_another_precision_takes_that_of_the_sequences(name, form):
    start = torch.full((2, D, D_V), 0.5)
    for dtype, other in ((torch.float64, torch.float32), (torch.float32, torch.float64)):
        run = partial(FORMS[name][0], *text(9, (2,), 5, dtype), form=form)
        out = run(initial_state=start.to(other))
        torch.testing.assert_close(out, run(initial_state=start.to(dtype)))
