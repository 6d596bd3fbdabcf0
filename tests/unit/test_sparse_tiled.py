"""Dense attention by tiles: what only shows when a row has several tiles, and small ones."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attnlab import attention, sparse


def leaves(n, d=3, d_v=2):
    torch.manual_seed(n)
    return [torch.randn(2, n, width).requires_grad_() for width in (d, d, d_v)]


def assert_agree(ours, dense, inputs, tolerance=1e-5):
    grad = torch.randn_like(ours)
    assert (ours - dense).abs().max() < tolerance
    got, want = (torch.autograd.grad(out, inputs, grad.to(out.dtype)) for out in (ours, dense))
    for a, b in zip(got, want, strict=True):
        assert (a - b).abs().max() < tolerance


@pytest.mark.parametrize("is_causal", [True, False])
@pytest.mark.parametrize("tile", [1, 2, 5, 8])
def test_small_tiles(tile, is_causal):
    for n in (1, 2, 7, 16):
        q, k, v = leaves(n)
        ours = sparse.tiled(q, k, v, block_size=tile, is_causal=is_causal)
        assert_agree(ours, attention(q, k, v, is_causal=is_causal), (q, k, v))


@pytest.mark.parametrize("order", ["rising", "falling", "last tile", "mixed"])
@pytest.mark.parametrize("tile", [1, 3, 7, 20])
def test_scores_of_ten_thousand_in_every_order_of_the_tiles(tile, order):
    size = torch.linspace(-1e4, 1e4, 20).round()
    size = {"rising": size, "falling": size.flip(0), "last tile": -size.abs().sort(descending=True).values,
            "mixed": size[torch.randperm(20, generator=torch.Generator().manual_seed(1))]}[order]  # fmt: skip
    size[[2, 17]] = size.max()  # two that share the weight, far apart
    q, v = torch.ones(1, 20, 1).requires_grad_(), torch.randn(1, 20, 2).requires_grad_()
    k = size[None, :, None].clone().requires_grad_()
    dense = attention(q.double(), k.double(), v.double())
    ours = sparse.tiled(q, k, v, block_size=tile)
    assert ours.isfinite().all()
    assert (ours - dense).abs().max() < 1e-5
    got, want = (torch.autograd.grad(out.sum(), (k, v)) for out in (ours, dense))
    for a, b in zip(got, want, strict=True):
        assert (a - b).abs().max() < 1e-5


def test_the_scale_that_is_given_is_used_and_nothing_is_hidden_unless_asked():
    q, k, v = leaves(40)
    assert_agree(sparse.tiled(q, k, v, block_size=16, scale=0.1), attention(q, k, v, scale=0.1), (q, k, v))
    assert_agree(sparse.tiled(q, k, v), attention(q, k, v), (q, k, v))


class Largest(TorchDispatchMode):
    """Notes the largest tensor that is made."""

    def __init__(self):
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        sizes = [
            x.untyped_storage().nbytes() // x.element_size() for x in tree_leaves(out) if torch.is_tensor(x)
        ]
        self.numbers = max([self.numbers, *sizes])
        return out


@pytest.mark.parametrize(("n", "options"), [(256, {"block_size": 16}), (512, {"block_size": 64}), (1024, {})])
def test_no_matrix_of_scores_is_ever_made_forward_or_backward(n, options):
    q, k, v = (x[:1] for x in leaves(n))
    q, k, v = (x.detach().clone().requires_grad_() for x in (q, k, v))
    with Largest() as seen:
        sparse.tiled(q, k, v, **options).sum().backward()
    assert seen.numbers < n * n / 4
