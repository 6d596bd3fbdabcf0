"""What is done around the sparse forms: mixed precision, odd buckets, empty batches, transforms."""

import pytest
import torch
import torch.nn.functional as F
from torch._subclasses import FakeTensorMode

from attnlab import attention, masks, sparse
from attnlab.patterns import Causal, GlobalTokens, Window
from attnlab.precision import unit

FORMS = {
    "window": lambda q, k, v, **o: sparse.window(q, k, v, 30, 2, **o),
    "strided": lambda q, k, v, **o: sparse.strided(q, k, v, 9, **o),
    "fixed": lambda q, k, v, **o: sparse.fixed(q, k, v, 13, 2, **o),
    "big_bird": lambda q, k, v, **o: sparse.big_bird(
        q, k, v, 9, global_tokens=[0], n_random=1, block_size=8, **o
    ),
    "lsh": lambda q, k, v, **o: sparse.lsh(q, v, block_size=16, **o),
    "tiled": lambda q, k, v, **o: sparse.tiled(q, k, v, block_size=32, **o),
}
every_form = pytest.mark.parametrize("name", FORMS)


def far(got, want):
    """Return how far a result lies from what it should be, as a share of that."""
    return ((got.double() - want.double()).norm() / want.double().norm()).item()


def results(form, leaves, grad, autocast=False):
    leaves = [x.detach().requires_grad_() for x in leaves]
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        out = form(*leaves)
        grads = torch.autograd.grad(out, leaves, grad.to(out.dtype), allow_unused=True)
    return [out.detach(), *(g for g in grads if g is not None)]


@every_form
@pytest.mark.parametrize("size", [1.0, 4.0])
def test_autocast_costs_no_more_than_it_costs_torchs_attention(name, size):
    torch.manual_seed(0)
    *leaves, grad = (torch.randn(1, 2, 100, 16) for _ in range(4))
    leaves = [(x * (size if at < 2 else 1)).bfloat16() for at, x in enumerate(leaves)]
    sdpa = F.scaled_dot_product_attention
    bounds = zip(
        results(sdpa, leaves, grad, autocast=True),
        results(sdpa, [x.double() for x in leaves], grad),
        strict=True,
    )
    bound = max(far(a, b) for a, b in bounds)
    exact = results(FORMS[name], [x.float() for x in leaves], grad.bfloat16().float())
    for got, want in zip(results(FORMS[name], leaves, grad.bfloat16(), autocast=True), exact, strict=True):
        assert far(got, want) < 2 * bound


@pytest.mark.parametrize("shown", [None, torch.arange(40)[None] < torch.tensor([[30], [40]])])
def test_only_the_order_of_buckets_counts(shown):
    torch.manual_seed(0)
    x, v = torch.randn(2, 3, 40, 4), torch.randn(2, 3, 40, 4)
    few = torch.randint(0, 5, (2, 3, 2, 40))
    wanted = sparse.lsh(x, v, block_size=8, buckets=few, key_mask=shown)
    for same in (few - 2, few * 10**12 - 2**40, (few + 123).to(torch.uint8), (few + 123).to(torch.int8)):
        assert torch.equal(sparse.lsh(x, v, block_size=8, buckets=same, key_mask=shown), wanted)


@every_form
@pytest.mark.parametrize("shape", [(0, 20), (0, 3, 20), (2, 0, 20), (0, 0, 1, 20), (2, 3, 0), (0, 0)])
def test_what_is_empty_stays_empty_forward_and_backward(name, shape):
    leaves = [torch.randn(*shape, 4).requires_grad_() for _ in range(3)]
    shown = torch.ones(shape[0], shape[-1], dtype=torch.bool) if len(shape) > 1 else None
    out = FORMS[name](*leaves, key_mask=shown)
    assert out.shape == (*shape, 4)
    grads = torch.autograd.grad(out.sum(), leaves, allow_unused=True)
    assert all(g.shape == (*shape, 4) for g in grads if g is not None)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("size", [1e15, 1e18])
def test_no_score_is_so_large_that_the_hidden_are_seen_or_the_seen_hidden(size, sign, dtype):
    """Scores near 1e30 and 1e36: each query's highest wins alone, so outputs are values and must be equal."""
    torch.manual_seed(0)
    q, k = size * torch.rand(2, 2, 40, 1, dtype=dtype)
    k, v = sign * k, torch.randn(2, 40, 4, dtype=dtype)
    for pattern in (Window(3), Window(3, 0) | GlobalTokens([7]), (Window(3) | GlobalTokens([7])) & Causal()):
        want = attention(q, k, v, mask=pattern.dense(40), need_weights=True)[0]
        assert torch.equal(sparse.attend(q, k, v, pattern), want)
        shown = torch.arange(40) % 9 > 3  # some windows hold no key
        want = attention(q, k, v, mask=pattern.dense(40) & shown, need_weights=True)[0]
        assert torch.equal(sparse.attend(q, k, v, pattern, key_mask=shown.expand(2, -1)), want)


@pytest.mark.parametrize("scale", [1e30, -1e30, 1e36, -1e36])
def test_hashing_hides_the_future_and_itself_whatever_the_scores(scale):
    torch.manual_seed(0)
    x, v = torch.randn(2, 1, 12, 4)
    one = torch.zeros(1, 1, 12, dtype=torch.long)
    for is_causal in (True, False):
        mask = ~torch.eye(12, dtype=torch.bool) & (masks.causal(12) | (not is_causal))
        want = attention(x, unit(x), v, mask=mask, scale=scale, need_weights=True)[0]
        want[:, 0] = v[:, 0] if is_causal else want[:, 0]  # the first sees no other
        got = sparse.lsh(x, v, block_size=12, buckets=one, is_causal=is_causal, scale=scale)
        assert torch.allclose(got, want)


def batch(seed=0, n=77):
    torch.manual_seed(seed)
    return [torch.randn(2, 3, n, 8).requires_grad_() for _ in range(3)]


def slopes(form, q, k, v):
    return torch.autograd.grad(form(q, k, v).square().sum(), (q, v))


@every_form
def test_fake_tensors_pass_and_leave_nothing_behind(name):
    n = 79  # a length that no other test has put into the cache
    with FakeTensorMode():
        leaves = [torch.empty(2, 3, n, 8).requires_grad_() for _ in range(3)]
        out = FORMS[name](*leaves)
        assert out.shape == (2, 3, n, 8)
        assert torch.autograd.grad(out.sum(), leaves[2])[0].shape == (2, 3, n, 8)
    q, k, v = batch(n=n)
    assert FORMS[name](q, k, v).isfinite().all()


@every_form
def test_what_inference_makes_serves_training_too(name):
    q, k, v = batch(n=83)
    with torch.inference_mode():
        want = FORMS[name](q, k, v).clone()
    out = FORMS[name](q, k, v)
    assert torch.equal(out.detach(), want)
    out.sum().backward()


@every_form
def test_functional_derivatives_and_vmap(name):
    form, leaves = FORMS[name], batch()
    q, k, v = (x.detach() for x in leaves)
    want, wanted = form(q, k, v), slopes(form, *leaves)
    slope = torch.func.grad(lambda q, v: form(q, k, v).square().sum(), argnums=(0, 1))
    for got, by_hand in zip(slope(q, v), wanted, strict=True):
        assert (got - by_hand).abs().max() < 1e-5
    assert (torch.func.vmap(form)(q, k, v) - want).abs().max() < 1e-6
    turned = torch.func.vmap(form, in_dims=(1, 1, 1), out_dims=1)(q, k, v)
    assert (turned - want).abs().max() < 1e-6
    one = torch.func.vmap(form, in_dims=(None, None, 0))(q[0], k[0], v)
    assert (one[1] - form(q[0], k[0], v[1])).abs().max() < 1e-6
    mapped = torch.func.vmap(torch.func.grad(lambda q, k, v: form(q, k, v).square().sum()))(q, k, v)
    assert (mapped - wanted[0]).abs().max() < 1e-5


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
@pytest.mark.parametrize("name", ["big_bird", "lsh"])
def test_under_compile_the_tiles_run_as_they_are(name):
    leaves = batch()
    compiled = torch.compile(lambda *x: 2 * FORMS[name](*x), backend="eager")
    assert torch.equal(compiled(*leaves), 2 * FORMS[name](*leaves))
    for got, want in zip(slopes(compiled, *leaves), slopes(FORMS[name], *leaves), strict=True):
        assert torch.equal(got, 4 * want)


def test_a_key_mask_can_be_mapped_over():
    q, k, v = (x.detach() for x in batch())
    shown = torch.arange(77) < torch.tensor([40, 77])[:, None]
    mapped = torch.func.vmap(
        lambda q, k, v, m: sparse.window(q[None], k[None], v[None], 9, key_mask=m[None])[0]
    )
    want = sparse.window(q, k, v, 9, key_mask=shown)
    assert (mapped(q, k, v, shown) - want).abs().max() < 1e-6


def test_forward_mode_and_second_derivatives_are_refused():
    q, k, v = (x.detach() for x in batch())
    with pytest.raises(NotImplementedError, match="jvp"):
        torch.func.jvp(lambda q: sparse.window(q, k, v, 5), (q,), (q,))
    slope = torch.func.grad(lambda q: sparse.window(q, k, v, 5).square().sum())
    with pytest.raises(RuntimeError, match=r"sparse attention has no second derivative .* has one"):
        torch.func.grad(lambda q: slope(q).sum())(q)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("n", [4, 9, 10, 13])
def test_padding_of_zeros_leaves_no_trace_in_what_is_hashed(n, dtype):
    """A vector of zeros has no direction: divided by its length it must stay zeros, in half precision too."""
    torch.manual_seed(0)
    qk, v = (torch.randn(1, 2, 16, 8).to(dtype) for _ in range(2))
    real = torch.arange(16)[None] < n
    qk, v = (x.masked_fill(~real[:, None, :, None], 0.0).requires_grad_() for x in (qk, v))
    out = sparse.lsh(qk, v, block_size=4, key_mask=real)
    assert out.isfinite().all()
    want = sparse.lsh(qk.float(), v.float(), block_size=4, key_mask=real)
    torch.testing.assert_close(out[:, :, :n].float(), want[:, :, :n], atol=3e-2, rtol=0)
    out[:, :, :n].sum().backward()
    assert qk.grad[:, :, :n].isfinite().all()
    assert v.grad.isfinite().all()
