"""Delta rules with a decay for each row, state-space duality, and the layers made of them, as published."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn
from torch.func import functional_call

from attnlab import linear
from attnlab.linear import DeltaNetState, GatedDeltaNet

FRONTIER = Path(__file__).parent / "frontier"


def draw(*shapes, seed=0, dtype=torch.float64):
    g = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=g, dtype=torch.float64).to(dtype) for shape in shapes]


def with_gradients(function, *inputs):
    inputs = [x.detach().requires_grad_() for x in inputs]
    out = function(*inputs)
    g = torch.randn(out.shape, generator=torch.Generator().manual_seed(9)).to(out)
    return [out.detach(), *torch.autograd.grad(out, inputs, g)]


def assert_same(got, want, tolerance):
    for a, b in zip(got, want, strict=True):
        size = max(1.0, b.abs().max().item()) if b.numel() else 1.0
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance * size)


# --- decays for each row -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["delta", "gated"])
def test_strong_decays_are_exact_forward_and_backward(rule):
    """Beside a row that fades to nothing in one token stands one that does not fade at all."""
    q, k, v, beta, decay = draw((2, 37, 4), (2, 37, 4), (2, 37, 3), (2, 37, 1), (2, 37, 4))
    k, beta, decay = (
        F.normalize(k, dim=-1),
        2 * beta.sigmoid(),
        -decay.square() * torch.tensor([0, 1, 80, 900]),
    )

    def run(form):
        def delta(q, k, v, beta, decay):
            return linear.delta_rule(q, k, v, beta, log_decay=decay, form=form, block_size=16)

        def gated(q, k, v, beta, decay):
            return linear.gated_linear_attention(q, k, beta * v, decay, form=form, block_size=16)

        return with_gradients({"delta": delta, "gated": gated}[rule], q, k, v, beta, decay)

    chunked = run("chunked")
    assert all(x.isfinite().all() for x in chunked)
    assert_same(chunked, run("recurrent"), 1e-12)


def test_one_decay_for_all_rows_is_as_many_equal_ones():
    q, k, v, beta, decay = draw((2, 21, 4), (2, 21, 4), (2, 21, 3), (2, 21, 1), (2, 21, 1))
    k, beta, decay = F.normalize(k, dim=-1), beta.sigmoid(), -decay.square()

    def run(width):
        def function(q, k, v, beta, decay):
            return linear.delta_rule(q, k, v, beta, log_decay=decay.expand(2, 21, width), block_size=8)

        return with_gradients(function, q, k, v, beta, decay)

    assert_same(run(4), run(1), 1e-12)


def test_a_decay_of_another_width_is_refused():
    q, k, v, beta = draw((2, 5, 4), (2, 5, 4), (2, 5, 3), (2, 5, 1))
    with pytest.raises(ValueError, match=r"log_decay must end in \(5, 4\), one row a token"):
        linear.delta_rule(q, k, v, beta, log_decay=torch.zeros(2, 5, 3))


def test_a_sign_that_turns_keeps_parity_at_any_length():
    """With β = 2 and nothing to write each 1 turns the state's sign: the state is (-1)^(number of ones)."""
    bits = torch.randint(2, (1, 1000, 1), generator=torch.Generator().manual_seed(0)).double()
    one = torch.ones_like(bits)
    for form in ("chunked", "recurrent"):
        held = linear.delta_rule(
            one, one, 0 * one, 2 * bits, initial_state=torch.ones(1, 1, 1).double(), form=form
        )
        assert torch.equal(held[..., 0], (-1.0) ** bits.cumsum(1)[..., 0])


# --- state-space duality -----------------------------------------------------------------------------------


def test_a_fading_state_is_a_masked_table():
    """Recurrent, quadratic and chunked: out = (q kᵀ ∘ L) v, and L_ij is the product of the decays after j."""
    q, k, v, decay = draw((2, 29, 4), (2, 29, 4), (2, 29, 3), (2, 29, 1))
    decay = -decay.square()

    def quadratic(q, k, v, decay):
        rows = [torch.stack([decay[:, j + 1 : i + 1].sum((1, 2)) for j in range(29)], -1) for i in range(29)]
        return ((q @ k.mT) * torch.stack(rows, -2).exp()).tril() @ v

    want = with_gradients(quadratic, q, k, v, decay)
    for how in ({"form": "recurrent"}, {"block_size": 29}, {"block_size": 8}):
        got = with_gradients(lambda *x, how=how: linear.gated_linear_attention(*x, **how), q, k, v, decay)
        assert_same(got, want, 1e-12)


# --- published layers --------------------------------------------------------------------------------------


class KimiDelta(GatedDeltaNet):
    """Kimi Delta Attention: a decay for each row of the state; a sigmoid for a gate; both of low rank."""

    def __init__(self, d_model, n_heads, d_head):
        super().__init__(d_model, n_heads, d_head=d_head, eps=1e-5)
        self.decay_proj, self.gate_proj = (
            nn.Sequential(
                nn.Linear(d_model, d_head, bias=False), nn.Linear(d_head, n_heads * d_head, bias=bias)
            )
            for bias in (True, False)
        )

    def gated(self, out, x):
        return self.norm(out) * self.gate_proj(x).sigmoid().unflatten(-1, out.shape[-2:])


def qwen3_next(w, x, seen):
    q, k, v, gate = w["in_proj_qkvz.weight"].unflatten(0, (2, -1)).split([6, 6, 10, 10], 1)
    beta, decay = w["in_proj_ba.weight"].unflatten(0, (2, -1)).split(2, 1)
    ours = {
        "qkv_proj.weight": torch.cat([part.flatten(0, 1) for part in (q, k, v)]),
        "conv.weight": w["conv1d.weight"],
        "beta_proj.weight": beta.flatten(0, 1),
        "decay_proj.weight": decay.flatten(0, 1),
        "decay_proj.bias": w["dt_bias"],
        "log_a": w["A_log"],
        "gate_proj.weight": gate.flatten(0, 1),
        "norm.weight": w["norm.weight"],
        "out_proj.weight": w["out_proj.weight"],
    }
    layer = GatedDeltaNet(8, 4, n_qk_heads=2, d_head=6, d_v=5)
    return functional_call(layer, ours, x, {"key_mask": seen})


def olmo_hybrid(w, x, seen):
    ours = {
        "qkv_proj.weight": torch.cat([w[f"{part}_proj.weight"] for part in "qkv"]),
        "conv.weight": w["conv1d.weight"],
        "beta_proj.weight": w["b_proj.weight"],
        "decay_proj.weight": w["a_proj.weight"],
        "decay_proj.bias": w["dt_bias"],
        "log_a": w["A_log"],
        "gate_proj.weight": w["g_proj.weight"],
        "norm.weight": w["o_norm.weight"],
        "out_proj.weight": w["o_proj.weight"],
    }
    layer = GatedDeltaNet(8, 4, d_head=6, d_v=5, max_beta=2.0, eps=1e-5)
    return functional_call(layer, ours, x, {"key_mask": seen})


def kimi_linear(w, x, seen):
    ours = {
        "qkv_proj.weight": torch.cat([w[f"{part}_proj.weight"] for part in "qkv"]),
        "conv.weight": w["conv1d.weight"],
        "beta_proj.weight": w["b_proj.weight"],
        "decay_proj.0.weight": w["forget_gate.f_a_proj.weight"],
        "decay_proj.1.weight": w["forget_gate.f_b_proj.weight"],
        "decay_proj.1.bias": w["forget_gate.dt_bias"],
        "log_a": w["forget_gate.A_log"].flatten(),
        "gate_proj.0.weight": w["g_a_proj.weight"],
        "gate_proj.1.weight": w["g_b_proj.weight"],
        "norm.weight": w["o_norm.weight"],
        "out_proj.weight": w["o_proj.weight"],
    }
    return functional_call(KimiDelta(8, 2, 6), ours, x, {"key_mask": seen})


def mamba2(w, x, seen):
    """Mamba-2: keys are B, queries C, values Δx; α = exp(-A Δ), and D x goes past the state."""
    hide, heads = ~seen[..., None], lambda t: t.unflatten(-1, (-1, 4)).transpose(1, 2)
    gate, mixed, step = (x.masked_fill(hide, 0) @ w["in_proj.weight"].T).split([16, 36, 4], -1)
    mixed = F.conv1d(F.pad(mixed.mT, (3, 0)), w["conv1d.weight"], w["conv1d.bias"], groups=36).mT
    value, k, q = F.silu(mixed).masked_fill(hide, 0).split([16, 10, 10], -1)
    k, q = (t.unflatten(-1, (2, 5)).transpose(1, 2).repeat_interleave(2, 1) for t in (k, q))
    step = F.softplus(step + w["dt_bias"]).mT[..., None]  # (batch, heads, n, 1)
    decay = -w["A_log"].exp()[:, None, None] * step
    out = linear.gated_linear_attention(q, k, step * heads(value), decay, key_mask=seen, block_size=16)
    out = (out + w["D"][:, None, None] * heads(value)).transpose(1, 2).flatten(-2) * F.silu(gate)
    out = F.rms_norm(out.unflatten(-1, (2, 8)), (8,), eps=1e-5).flatten(-2)
    return (w["norm.weight"] * out) @ w["out_proj.weight"].T


@pytest.mark.parametrize("ours", [qwen3_next, olmo_hybrid, kimi_linear, mamba2])
def test_outputs_and_gradients_are_those_of_the_published_layer(ours):
    want = load_file(FRONTIER / f"{ours.__name__.replace('next', 'next_delta')}.safetensors")
    w = {name[2:]: value.requires_grad_() for name, value in want.items() if name.startswith("w.")}
    x, seen = want["x"].requires_grad_(), want["seen"]
    out = ours(w, x, seen)
    real, g = seen[..., None], want["g"]
    assert_same([out.where(real, 0)], [want["out"].where(real, 0)], 1e-5)
    got = torch.autograd.grad(out, [x, *w.values()], g)
    assert_same(got, [want["d.x"], *(want[f"d.w.{name}"] for name in w)], 1e-5)


# --- the layer ---------------------------------------------------------------------------------------------


def layer(**options):
    torch.manual_seed(0)
    return GatedDeltaNet(8, 4, **{"n_qk_heads": 2, "d_head": 6, "d_v": 5, "dtype": torch.float64} | options)


@pytest.mark.parametrize("options", [{}, {"kernel_size": 1}, {"max_beta": 2.0}])
def test_a_text_read_in_pieces_is_the_text_read_at_once(options):
    ours, (x,) = layer(**options), draw((2, 11, 8))
    seen = torch.arange(11) >= torch.tensor([[0], [3]])
    want, end = ours(x, key_mask=seen, return_state=True)
    outs, state = [], None
    for piece, mask in zip(x.split([5, 0, 1, 4, 1], 1), seen.split([5, 0, 1, 4, 1], 1), strict=True):
        out, state = ours(piece, key_mask=mask, state=state, return_state=True)
        outs.append(out)
    assert_same([torch.cat(outs, 1), *state], [want, *end], 1e-12)


def test_padding_on_the_left_is_no_text_at_all():
    ours, (x,) = layer(), draw((1, 9, 8))
    padded = torch.cat((torch.full((1, 4, 8), torch.nan, dtype=x.dtype), x), 1)
    out, state = ours(padded, key_mask=torch.arange(13)[None] >= 4, return_state=True)
    want, end = ours(x, return_state=True)
    assert_same([out[:, 4:], *state], [want, *end], 1e-12)


def test_a_token_sees_itself_and_those_before_it():
    ours, (x,) = layer(), draw((1, 9, 8))
    (slope,) = torch.autograd.grad(ours(x.requires_grad_())[0, 4].sum(), x)
    assert slope[0, :5].any(-1).all()
    assert not slope[0, 5:].any()


def test_rates_and_decays_begin_within_their_ranges():
    ours, (x,) = layer(max_beta=2.0), draw((1, 50, 8))
    beta, log_decay = ours.rates(0 * x)
    assert (beta == 1).all()
    at_start = log_decay / -ours.log_a.exp()
    assert 0.001 < at_start.min() < at_start.max() < 0.11
    beta, log_decay = ours.rates(100 * x)
    assert beta.min() < 0.01
    assert beta.max() > 1.99
    assert log_decay.max() <= 0


def test_half_precision_keeps_its_memory_in_single():
    ours, x = layer(dtype=torch.bfloat16), draw((1, 9, 8), dtype=torch.bfloat16)[0]
    out, (memory, tail) = ours(x, return_state=True)
    assert (out.dtype, memory.dtype, tail.dtype) == (torch.bfloat16, torch.float32, torch.bfloat16)
    want = layer(dtype=torch.float32)
    want.load_state_dict(ours.state_dict())
    torch.testing.assert_close(out.float(), want(x.float()), rtol=0.1, atol=0.05)


def test_errors_name_the_argument():
    ours, (x,) = layer(), draw((2, 5, 8))
    with pytest.raises(ValueError, match=r"n_qk_heads must divide 4|n_qk_heads"):
        GatedDeltaNet(8, 4, n_qk_heads=3)
    with pytest.raises(ValueError, match="kernel_size must be at least 1"):
        GatedDeltaNet(8, 4, kernel_size=0)
    with pytest.raises(ValueError, match=r"x must have shape \(\.\.\., n, 8\)"):
        ours(x[..., :7])
    with pytest.raises(TypeError, match="key_mask must be a boolean tensor"):
        ours(x, key_mask=torch.ones(2, 5))
    memory, tail = ours(x, return_state=True)[1]
    with pytest.raises(ValueError, match=r"state.tail must have shape \(batch, channels, kernel_size - 1\)"):
        ours(x, state=DeltaNetState(memory, tail[..., :1]))
    with pytest.raises(ValueError, match="initial_state must have shape"):
        ours(x, state=DeltaNetState(memory[:, :1], tail))
