"""What training does around the sparse forms: mixed precision, odd buckets, batches that are empty."""

import pytest
import torch
import torch.nn.functional as F

from attnlab import sparse

FORMS = {
    "window": lambda q, k, v, **o: sparse.window(q, k, v, 30, 2, **o),
    "strided": lambda q, k, v, **o: sparse.strided(q, k, v, 9, **o),
    "fixed": lambda q, k, v, **o: sparse.fixed(q, k, v, 13, 2, **o),
    "big_bird": lambda q, k, v, **o: sparse.big_bird(q, k, v, 9, tokens=[0], count=1, block=8, **o),
    "lsh": lambda q, k, v, **o: sparse.lsh(q, v, chunk=16, **o),
    "tiled": lambda q, k, v, **o: sparse.tiled(q, k, v, tile=32, **o),
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
    wanted = sparse.lsh(x, v, chunk=8, buckets=few, key_mask=shown)
    for same in (few - 2, few * 10**12 - 2**40, (few + 123).to(torch.uint8), (few + 123).to(torch.int8)):
        assert torch.equal(sparse.lsh(x, v, chunk=8, buckets=same, key_mask=shown), wanted)


@every_form
@pytest.mark.parametrize("batch", [(0,), (0, 3), (2, 0), (0, 0, 1)])
def test_nothing_in_a_batch_is_nothing_forward_and_backward(name, batch):
    leaves = [torch.randn(*batch, 20, 4).requires_grad_() for _ in range(3)]
    out = FORMS[name](*leaves)
    assert out.shape == (*batch, 20, 4)
    grads = torch.autograd.grad(out.sum(), leaves, allow_unused=True)
    assert all(g.shape == (*batch, 20, 4) for g in grads if g is not None)
