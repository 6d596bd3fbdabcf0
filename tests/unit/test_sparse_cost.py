"""What the sparse patterns cost: operations and bytes are counted, not timed."""

import functools

import pytest
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attnlab import sparse
from attnlab.benchmark import multiplications, slope


def naive(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1), -1) @ v


# name -> (form, largest exponent of operations, largest exponent of bytes)
FORMS = {
    "window": (lambda q, k, v: sparse.window(q, k, v, 32, 0), 1.1, 1.1),
    "two-sided": (lambda q, k, v: sparse.window(q, k, v, 32), 1.1, 1.1),
    "big_bird": (lambda q, k, v: sparse.big_bird(q, k, v, 24, tokens=[0, 5], count=2, block=16), 1.1, 1.1),
    "strided": (sparse.strided, 1.65, 1.1),
    "fixed": (sparse.fixed, 1.65, 1.65),
    "lsh": (lambda q, k, v: sparse.lsh(q, v, n_hashes=2, chunk=16, seed=0), 1.2, 1.1),
    "tiled": (lambda q, k, v: sparse.tiled(q, k, v, is_causal=True, tile=512), 2.05, 1.1),
}  # fmt: skip
SIZES = (1024, 2048, 4096)


def inputs(n, heads=2, d=8):
    torch.manual_seed(0)
    return [torch.randn(1, heads, n, d).requires_grad_() for _ in range(3)]


@functools.cache
def operations(form, n):
    """Count the multiplications of the forward and of the backward pass."""
    leaves = inputs(n)
    forward = multiplications(lambda: form(*leaves))
    return forward, multiplications(lambda: form(*leaves).sum().backward()) - forward


class Bytes(TorchDispatchMode):
    """Note how many bytes live at the same time, at most, in storages that were made here."""

    def __init__(self, known):
        super().__init__()
        self.known = {tensor.untyped_storage()._cdata for tensor in known}
        self.alive, self.peak = {}, 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        self.alive = {key: one for key, one in self.alive.items() if not one[0].expired()}
        for tensor in tree_leaves(out):
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                if storage._cdata not in self.known:
                    self.alive[storage._cdata] = StorageWeakRef(storage), storage.nbytes()
        self.peak = max(self.peak, sum(size for _, size in self.alive.values()))
        return out


@functools.cache
def peak(form, n):
    """Count the most bytes alive, in the forward pass and in both passes together."""
    leaves = inputs(n)
    grad = torch.ones_like(leaves[2])
    form(*leaves)  # the plan of the tiles is made once and kept
    with Bytes([*leaves, grad]) as watch:
        out = form(*leaves)
        forward = watch.peak
        out.backward(grad)
    return forward, watch.peak


@pytest.mark.parametrize("direction", [0, 1], ids=["forward", "backward"])
@pytest.mark.parametrize("name", FORMS)
def test_operations_grow_as_promised(name, direction):
    form, most, _ = FORMS[name]
    assert slope(SIZES, [operations(form, n)[direction] for n in SIZES]).exponent < most


@pytest.mark.parametrize("direction", [0, 1], ids=["forward", "both"])
@pytest.mark.parametrize("name", FORMS)
def test_memory_grows_as_promised(name, direction):
    form, _, most = FORMS[name]
    # A step's scores take up to a megabyte at every n.
    fixed = 6 * 2**20
    sizes = [peak(form, n)[direction] for n in SIZES]
    assert slope(SIZES, sizes).exponent < most
    assert sizes[-1] < fixed + 16 * inputs(SIZES[-1])[0].nbytes


def test_the_counters_see_a_square():
    for direction in (0, 1):
        assert slope(SIZES, [operations(naive, n)[direction] for n in SIZES]).exponent > 1.95
        assert slope(SIZES, [peak(naive, n)[direction] for n in SIZES]).exponent > 1.95


def test_the_products_of_a_window_are_those_of_its_band():
    forward, backward = operations(FORMS["window"][0], 4096)
    pairs = 2 * 4096 * (32 + 32)  # heads, queries, keys that a tile of 32 queries reaches
    assert forward == pytest.approx(2 * pairs * 8, rel=0.01)  # scores and output
    assert backward == pytest.approx(5 * pairs * 8, rel=0.01)  # scores again, and dv, dp, dq, dk
