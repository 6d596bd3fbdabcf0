"""What the sparse patterns cost: operations and bytes are counted, not timed."""

import functools
from functools import partial

import pytest
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attnbook.benchmark import multiplications, slope
from attnlab import patterns, sparse
from attnlab.patterns import Blocks, Causal, Every, GlobalTokens, RandomBlocks, Strided, Window


def naive(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1), -1) @ v


JOINED = (Window(40) | GlobalTokens([0]) | RandomBlocks(2, 16)) & (Causal() | Blocks(64) | Every(7))
# name -> (form, largest exponent of operations, largest exponent of bytes)
FORMS = {
    "window": (lambda q, k, v: sparse.window(q, k, v, 32, 0), 1.1, 1.1),
    "two-sided": (lambda q, k, v: sparse.window(q, k, v, 32), 1.1, 1.1),
    "big_bird": (partial(sparse.big_bird, before=24, global_tokens=[0, 5], n_random=2), 1.1, 1.1),
    "strided": (sparse.strided, 1.65, 1.1),
    "fixed": (sparse.fixed, 1.65, 1.65),
    "lsh": (lambda q, k, v: sparse.lsh(q, v, n_hashes=2, block_size=16, seed=0), 1.2, 1.1),
    "& and |": (lambda q, k, v: sparse.attend(q, k, v, JOINED), 1.2, 1.2),
    "tiled": (lambda q, k, v: sparse.tiled(q, k, v, is_causal=True, block_size=512), 2.05, 1.1),
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
    # A portion's scores take up to a megabyte at every n, and the biases of many terms some more.
    fixed = 8 * 2**20
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


ENGINES = {
    "tiles": lambda pattern, n: pattern.plan(n),
    "flex": lambda pattern, n: pattern.block_mask(n),
    "flex with a key mask": lambda pattern, n: pattern.block_mask(
        n, key_mask=torch.ones(4, n, dtype=torch.bool)
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("pattern", "most"),
    [
        (Window(100, 0), 1.1),
        (Window(96) | GlobalTokens([0, 9]) | RandomBlocks(3), 1.1),
        (JOINED, 1.2),
        (Strided(64) & Causal() & Window(2000), 1.1),
        (Causal() & Window(0, 2**14), 1.1),  # the diagonal
    ],
    ids=str,
)
def test_no_engine_makes_a_square_to_know_its_way(pattern, most, engine):
    sizes, peaks = (2048, 4096, 8192), []
    for n in sizes:
        patterns.algebra._plan.cache_clear(), patterns.algebra._blocks.cache_clear()
        with Bytes([]) as watch:
            ENGINES[engine](pattern, n)
        peaks.append(max(watch.peak, 2**20))
    assert slope(sizes, peaks).exponent < most
    assert peaks[-1] < sizes[-1] ** 2 / 2  # half a byte a pair
