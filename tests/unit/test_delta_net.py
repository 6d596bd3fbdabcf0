"""Delta rules with a decay for each row, state-space duality, and the layers made of them, as published."""

import pytest
import torch
import torch.nn.functional as F

from attnlab import linear


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
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance * max(1.0, b.abs().max().item()))


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
    bits = torch.randint(2, (1, 5000, 1), generator=torch.Generator().manual_seed(0)).double()
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
