"""Score functions entry by entry, and the rivals of softmax against references of their own."""

import math

import entmax
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnlab import scores


def draw(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_general_entry_by_entry():
    q, k, w = draw(2, 3, 4), draw(2, 5, 6, seed=1), draw(4, 6, seed=2)
    want = [[[(q[b, i] * (w @ k[b, j])).sum().item() for j in range(5)] for i in range(3)] for b in range(2)]
    assert torch.allclose(scores.general(q, k, w), torch.tensor(want, dtype=torch.float64))
    assert torch.allclose(scores.general(q, q, torch.eye(4, dtype=torch.float64)), scores.dot(q, q))


def test_additive_and_concat_entry_by_entry():
    q, k, v = draw(2, 3, 4), draw(2, 5, 6, seed=1), draw(7, seed=3)
    w_q, w_k = draw(4, 7, seed=4), draw(6, 7, seed=5)
    want = torch.zeros(2, 3, 5, dtype=torch.float64)
    for b in range(2):
        for i in range(3):
            for j in range(5):
                hidden = [
                    math.tanh((q[b, i] * w_q[:, a]).sum() + (k[b, j] * w_k[:, a]).sum()) for a in range(7)
                ]
                want[b, i, j] = sum(h * float(x) for h, x in zip(hidden, v, strict=True))
    assert torch.allclose(scores.additive(q, k, w_q, w_k, v), want)
    assert torch.allclose(scores.concat(q, k, torch.cat((w_q, w_k)), v), want)


@given(st.lists(st.floats(-30, 30), min_size=1, max_size=9))
def test_sparsemax_equals_the_entmax_package_and_sums_to_one(row):
    x = torch.tensor(row, dtype=torch.float64)
    p = scores.sparsemax(x)
    assert torch.allclose(p, entmax.sparsemax(x, dim=-1), atol=1e-9)
    assert torch.isclose(p.sum(), torch.tensor(1.0, dtype=torch.float64))
    assert (p >= 0).all()


def test_sparsemax_gradients_and_axes():
    x = draw(3, 5, seed=7).requires_grad_()
    assert torch.autograd.gradcheck(scores.sparsemax, x)
    assert torch.autograd.gradcheck(lambda s: scores.sparsemax(s, dim=0), x)
    grad = torch.autograd.grad((scores.sparsemax(x) * draw(3, 5, seed=8)).sum(), x)[0]
    theirs = torch.autograd.grad((entmax.sparsemax(x, dim=-1) * draw(3, 5, seed=8)).sum(), x)[0]
    assert torch.allclose(grad, theirs)
    assert torch.allclose(scores.sparsemax(x.T, dim=0), scores.sparsemax(x).T)


@pytest.mark.usefixtures("whatever_a_clamp_passes_back")
def test_what_lies_on_a_threshold_has_no_slope():
    x = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.5, -0.5]], requires_grad=True)
    first = torch.tensor([1.0, 0.0])
    assert scores.sparsemax(x).tolist() == [[1, 0]] * 3
    for weights in (first, first.flip(0)):  # all goes to the first, and a step of either changes nothing
        assert not torch.autograd.grad((scores.sparsemax(x) * weights).sum(), x)[0].any()
    assert torch.autograd.grad(scores.relu(x).sum(), x)[0].tolist() == [[0.5, 0], [0.5, 0], [0.5, 0]]


def test_sparsemax_is_the_nearest_point_of_the_simplex():
    z = draw(6, seed=9)
    nearest = (scores.sparsemax(z) - z).square().sum()
    for seed in range(50):
        other = draw(6, seed=seed).softmax(-1)
        assert (other - z).square().sum() >= nearest


@pytest.mark.parametrize("weigh", [scores.softmax, scores.sparsemax, scores.relu])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_masked_keys_and_empty_rows(weigh, dtype):
    x = draw(3, 4, seed=2).to(dtype).requires_grad_()
    mask = torch.tensor([[True, True, False, True], [False] * 4, [False, False, True, False]])
    p = weigh(x, mask)
    assert p.dtype == dtype
    assert (p[~mask] == 0).all()
    assert torch.allclose(p[0, mask[0]], weigh(x[0, mask[0]]), atol=1e-2)
    grad = torch.autograd.grad(p.float().square().sum(), x)[0]
    assert torch.isfinite(grad).all()
    assert (grad[1] == 0).all()


def test_relu_divides_by_what_is_allowed():
    x = torch.tensor([[3.0, -1.0, 1.0]])
    assert torch.allclose(scores.relu(x), x.clamp_min(0) / 3)
    assert scores.relu(x, torch.tensor([[True, True, False]])).tolist() == [[1.5, 0.0, 0.0]]


def test_temperature_sharpens_and_flattens():
    x = draw(4, 5, seed=3)
    assert torch.allclose(scores.softmax(x, temperature=2.5), (x / 2.5).softmax(-1))
    hot, cold = scores.softmax(x, temperature=1e4), scores.softmax(x, temperature=1e-3)
    assert torch.allclose(hot, torch.full_like(hot, 0.2), atol=1e-3)
    assert torch.equal(cold.round(), torch.nn.functional.one_hot(x.argmax(-1), 5).double())


def test_a_tiny_temperature_keeps_half_precision_in_range():
    for row, want in (([1.0, 2.0], [0, 1]), ([-1.0, -2.0], [1, 0]), ([-2.0, -2.0], [0.5, 0.5])):
        assert scores.softmax(torch.tensor(row).half(), temperature=1e-5).tolist() == want
    hidden = scores.softmax(torch.tensor([[3.0, 1.0], [2.0, 9.0]]).half(),
                            torch.tensor([[False, True], [False, False]]), temperature=1e-5)  # fmt: skip
    assert hidden.tolist() == [[0, 1], [0, 0]]
    x = draw(3, 4).requires_grad_()
    assert torch.autograd.gradcheck(lambda s: scores.softmax(s, temperature=0.3), x)


@pytest.mark.parametrize("weigh", [scores.softmax, scores.sparsemax, scores.relu])
def test_a_row_of_nan_stays_one_and_no_other_is_touched(weigh):
    x = draw(3, 4)
    x[1] = math.nan
    for one in (math.nan, x[2, 3]):
        x[2, 3] = one
        p = weigh(x)
        assert p[1].isnan().all()
        assert torch.equal(p[0], weigh(x[0]))
        assert p[2].isnan().any() == math.isnan(one)


@pytest.mark.parametrize("weigh", [scores.softmax, scores.sparsemax, scores.relu])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 3), (0,)])
def test_nothing_is_weighed_without_a_complaint(weigh, shape):
    x = torch.zeros(shape, requires_grad=True)
    p = weigh(x, torch.zeros(shape, dtype=torch.bool))
    assert p.shape == weigh(x).shape == shape
    p.sum().backward()
    assert scores.softmax(x, temperature=0.5).shape == shape


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: scores.general(draw(2, 3), draw(2, 4), draw(4, 3)),
            r"w must have shape \(3, 4\), got \(4, 3\)",
        ),
        (
            lambda: scores.additive(draw(2, 3), draw(2, 4), draw(3, 5), draw(3, 5), draw(5)),
            r"w_k must have shape \(4, 5\), got \(3, 5\)",
        ),
        (
            lambda: scores.additive(draw(2, 3), draw(2, 4), draw(3, 5), draw(4, 5), draw(4)),
            r"v must have shape \(5,\), got \(4,\)",
        ),
        (
            lambda: scores.concat(draw(2, 3), draw(2, 4), draw(6, 5), draw(5)),
            r"w must have shape \(7, 5\), got \(6, 5\)",
        ),
        (lambda: scores.softmax(draw(2), temperature=0.0), "temperature must be positive, got 0.0"),
        (lambda: scores.softmax(draw(2), temperature=float("nan")), "temperature must be positive, got nan"),
        (
            lambda: scores.sparsemax(draw(2, 3), torch.ones(4, 4).bool()),
            r"mask must .* scores, \(2, 3\); got \(4, 4\)",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sparsemax_of_halves_is_the_rounded_one_of_singles(dtype):
    z = torch.randn(3, 2000, generator=torch.Generator().manual_seed(0)).mul(1e-3).to(dtype).requires_grad_()
    found = scores.sparsemax(z)
    assert found.dtype == dtype
    full = z.detach().float().requires_grad_()
    want = scores.sparsemax(full)
    assert torch.equal(found, want.to(dtype))
    out = torch.randn(3, 2000, generator=torch.Generator().manual_seed(1)).to(dtype)
    found.backward(out)
    want.backward(out.float())
    assert torch.equal(z.grad, full.grad.to(dtype))


def test_relu_along_another_axis_counts_the_keys_that_are_allowed_there():
    z = torch.tensor([[4.0, 6.0, 8.0], [2.0, 3.0, -1.0]])
    mask = torch.tensor([[True, True, True], [True, False, False]])
    assert scores.relu(z, mask, dim=0).tolist() == [[2.0, 6.0, 8.0], [1.0, 0.0, 0.0]]
    assert torch.equal(scores.relu(z, mask, dim=0), scores.relu(z.T, mask.T, dim=1).T)
