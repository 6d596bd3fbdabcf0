"""The counts behind the table of costs, held to what a pencil says."""

import importlib.util
from functools import partial
from pathlib import Path

import pytest
import torch

from attnbook.benchmark import multiplications

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "costs.py"


@pytest.fixture(scope="module")
def costs():
    spec = importlib.util.spec_from_file_location("costs", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# name -> multiplications on n tokens of width d, where a pencil can count them
PENCIL = {
    "recurrent network": lambda n, d: 2 * n * d * d,  # from the input, and from the state before
    "convolution, kernel 3": lambda n, d: 3 * (n + 2) * d * d,  # with its padding
    "self-attention": lambda n, d: 2 * n * n * d,
    "Linformer, 256 mixtures": lambda n, d: 4 * 256 * n * d,  # keys and values mixed, scores, weighted sum
}


@pytest.mark.parametrize("name", PENCIL)
def test_operations_are_all_counted_inside_the_fused_kernel_too(costs, name):
    torch.manual_seed(0)
    layer = costs.layers()[name]
    for n in (48, 96):
        counted = multiplications(partial(layer, torch.randn(1, n, 3 * costs.WIDTH)))
        assert counted == PENCIL[name](n, costs.WIDTH)


def test_every_layer_has_a_claim(costs):
    assert list(costs.layers()) == list(costs.CLAIMS)
