"""What each argument of the sparse forms does, against dense attention that has it too."""

import functools

import pytest
import torch

from attnlab import attention, masks, sparse

MASKED = {  # form with options of its own, and its mask
    "window": (functools.partial(sparse.window, before=5, after=2), lambda n: masks.window(n, 5, 2)),
    "strided": (functools.partial(sparse.strided, stride=4), lambda n: masks.strided(n, 4)),
    "fixed": (functools.partial(sparse.fixed, stride=4), lambda n: masks.fixed(n, 4)),
    "big_bird": (
        functools.partial(sparse.big_bird, before=2, global_tokens=[9, 3], n_random=1, seed=4, block_size=8),
        lambda n: (
            masks.window(n, 2)
            | masks.global_tokens(n, [3, 9])
            | masks.random_keys(n, 1, seed=4, block_size=8)
        ),
    ),
    "tiled": (functools.partial(sparse.tiled, block_size=16), lambda n: torch.ones(n, n, dtype=torch.bool)),
}


@pytest.mark.parametrize("name", MASKED)
def test_the_scale_is_used_forward_and_backward(name):
    form, mask = MASKED[name]
    torch.manual_seed(0)
    leaves = [torch.randn(2, 41, width).requires_grad_() for width in (4, 4, 3)]
    grad = torch.randn(2, 41, 3)
    outs = form(*leaves, scale=1.7), attention(*leaves, mask=mask(41), scale=1.7)
    assert (outs[0] - outs[1]).abs().max() < 1e-4
    for a, b in zip(*(torch.autograd.grad(out, leaves, grad) for out in outs), strict=True):
        assert (a - b).abs().max() < 1e-4


def test_the_scale_of_hashing_is_used():
    torch.manual_seed(0)
    qk, v = torch.randn(2, 30, 4), torch.randn(2, 30, 3)
    seen = masks.causal(30).fill_diagonal_(False)  # one chunk: every round sees all
    dense = attention(qk[:, 1:], qk / qk.norm(dim=-1, keepdim=True), v, mask=seen[1:], scale=1.7)
    assert (sparse.lsh(qk, v, n_hashes=2, block_size=30, scale=1.7)[:, 1:] - dense).abs().max() < 1e-5


@pytest.mark.parametrize("name", MASKED)
@pytest.mark.parametrize("batch", [(3,), (3, 3), (3, 2, 3), (3, 1, 1, 2)])
def test_a_key_mask_belongs_to_the_batch_whatever_follows_it(name, batch):
    # Batch and heads of one size: a mask spread over the wrong one gives no error.
    form, mask = MASKED[name]
    torch.manual_seed(0)
    q, k, v = (torch.randn(*batch, 21, 4) for _ in range(3))
    shown = torch.rand(3, 21, generator=torch.Generator().manual_seed(1)) < 0.6
    dense = attention(q, k, v, mask=mask(21) & shown.view(3, *(1 for _ in batch[1:]), 1, 21))
    assert (form(q, k, v, key_mask=shown) - dense).abs().max() < 1e-5
    assert (form(q, k, v, key_mask=shown[:, None]) - dense).abs().max() < 1e-5


def test_what_is_not_said_has_its_stated_value():
    torch.manual_seed(0)
    for n in (90, 93):  # roots 9.49 and 9.64
        q, k, v = torch.randn(3, 2, n, 4)
        stride = {90: 9, 93: 10}[n]
        for form, mask in ((sparse.strided, masks.strided), (sparse.fixed, masks.fixed)):
            assert (form(q, k, v) - attention(q, k, v, mask=mask(n, stride))).abs().max() < 1e-5
        near = masks.window(n, 3)
        for form in (sparse.window, sparse.big_bird):
            assert (form(q, k, v, 3) - attention(q, k, v, mask=near)).abs().max() < 1e-5
        some = near | masks.random_keys(n, 1, seed=0, block_size=64)
        assert (sparse.big_bird(q, k, v, 3, n_random=1) - attention(q, k, v, mask=some)).abs().max() < 1e-5


@pytest.mark.parametrize(("before", "after"), [(300, 0), (200, 90), (1100, 0)])
def test_a_window_wider_than_a_tile(before, after):
    torch.manual_seed(0)
    leaves = [torch.randn(1, 1300, 4).requires_grad_() for _ in range(3)]
    outs = sparse.window(*leaves, before, after), attention(*leaves, mask=masks.window(1300, before, after))
    assert (outs[0] - outs[1]).abs().max() < 1e-4
    for a, b in zip(*(torch.autograd.grad(out.sin().sum(), leaves) for out in outs), strict=True):
        assert (a - b).abs().max() < 1e-4


def test_the_seed_of_hashing_is_used():
    torch.manual_seed(0)
    qk, v = torch.randn(2, 60, 4), torch.randn(2, 60, 3)
    given = sparse.lsh(qk, v, n_hashes=2, block_size=8, buckets=sparse.lsh_buckets(qk, 2, 8, seed=3))
    assert torch.equal(sparse.lsh(qk, v, n_hashes=2, block_size=8, seed=3), given)
    assert not torch.allclose(sparse.lsh(qk, v, n_hashes=2, block_size=8, seed=0), given)
