"""Parity and hybrids: the texts, what layers see, and that both are learned."""

import pytest
import torch

from attnbook.experiments.hybrids import Hybrid, Stack
from attnbook.experiments.parity import LAYERS, Parity, layer, texts
from attnlab import MultiHeadAttention
from attnlab.linear import GatedDeltaNet


def test_parity_is_that_of_a_loop():
    tokens, odd = texts(20, 9, draw=torch.Generator().manual_seed(0))
    assert tokens.shape == odd.shape == (20, 10)
    assert (tokens[:, 0] == 2).all()
    for bits, wanted in zip(tokens[:, 1:].tolist(), odd[:, 1:].tolist(), strict=True):
        assert wanted == [sum(bits[: at + 1]) % 2 for at in range(9)]
    assert 0.3 < odd[:, 1:].float().mean() < 0.7


@pytest.mark.parametrize("name", LAYERS)
def test_layers_for_parity_look_back_alone(name):
    torch.manual_seed(0)
    x = torch.randn(1, 6, 8, requires_grad=True)
    (slope,) = torch.autograd.grad(layer(name, 8)(x)[0, 2].sum(), x)
    assert slope[0, :3].any(-1).all()
    assert not slope[0, 3:].any()


def test_only_the_largest_rate_differs():
    one, two = (layer(name, 8) for name in ("delta, β ≤ 1", "delta, β ≤ 2"))
    assert (one.max_beta, two.max_beta) == (1.0, 2.0)
    assert [x.shape for x in one.parameters()] == [x.shape for x in two.parameters()]


def test_a_sign_that_turns_learns_parity():
    run = Parity("delta, β ≤ 2", n=8, longer=8, d_model=8, steps=100)(0.05, seed=0)
    assert run.value > 0.95


def test_a_stack_has_the_layers_of_its_letters():
    stack = Stack("sdds", keys=6, values=4, d_model=8, d_head=4)
    kinds = [MultiHeadAttention, GatedDeltaNet, GatedDeltaNet, MultiHeadAttention]
    assert [type(mixer) for mixer in stack.mixers] == kinds


def test_a_question_hears_all_pairs_and_no_other_question():
    torch.manual_seed(0)
    stack = Stack("ds", keys=6, values=4, d_model=8, d_head=4)
    keys, values = torch.tensor([[0, 1, 2, 3, 2, 0]]), torch.tensor([[3, 1, 0, 2]])
    first = stack(keys, values)
    for at in range(4):
        assert not torch.allclose(
            stack(keys, values.index_fill(1, torch.tensor(at), 3 - values[0, at])), first
        )
    other = stack(torch.tensor([[0, 1, 2, 3, 2, 1]]), values)
    torch.testing.assert_close(other[:, :1], first[:, :1])


def test_a_stack_of_softmax_recalls():
    small = {"pairs": 4, "asked": 4, "keys": 8, "values": 4, "d_model": 16, "d_head": 8}
    assert Hybrid("ss", **small, steps=300)(0.01, seed=0).value > 0.9
