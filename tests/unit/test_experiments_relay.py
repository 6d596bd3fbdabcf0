"""The relay of a message through windows, and the loop in which it is trained."""

import itertools
import math

import pytest
import torch
from torch import nn

from attnbook.experiments.fitting import fit
from attnbook.experiments.relay import Relay, Windowed
from attnlab import masks


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_the_last_token_hears_exactly_as_far_as_the_windows_reach(layers):
    torch.manual_seed(0)
    model = Windowed(masks.window(9, 2, 0), layers, n_words=4, n_classes=3)
    words = torch.randint(1, 5, (1, 9))
    vectors = model.embedding(words).detach().requires_grad_()
    model.embedding = nn.Module()
    model.embedding.forward = lambda _: vectors
    (grad,) = torch.autograd.grad(model(words)[0, -1].sum(), vectors)
    heard = grad[0].abs().amax(-1).nonzero().flatten().tolist()
    assert heard == list(range(8 - 2 * layers, 9))


def test_padding_is_not_heard():
    torch.manual_seed(0)
    model = Windowed(masks.window(6, 5), 2, n_words=4, n_classes=3)
    words = torch.tensor([[1, 2, 3, 0, 0, 0]])
    assert torch.allclose(model(words)[:, :3], model(words[:, :3]), atol=1e-6)


def test_messages_begin_with_a_label_and_go_on_with_noise():
    task = Relay(3, asked=[4, 8, 12], labels=5)
    words = task.exam(seed=3)
    assert task.edge == 12
    assert words.shape == (300, 13)
    assert set(words[:, 0].tolist()) == {1, 2, 3, 4, 5}
    assert words[:, 1:].min() == 6
    assert words[:, 1:].max() == 10
    assert Relay(1, asked=range(9)).n_tokens == 9


def test_a_short_relay_arrives_and_nobody_beyond_its_edge_knows():
    run = Relay(1, asked=range(5), window=2, labels=4, steps=200)(0.02, seed=0)
    assert run.curve[-1] > 0.99
    assert run.extras["beyond"] < 0.4  # one in four, and the luck of 300 messages
    assert len(run.curve) < 20  # it stopped when it could


def test_a_loss_that_is_not_finite_ends_the_curve():
    model = nn.Linear(1, 1)
    losses = iter([1.0, 1.0, math.nan])

    def loss():
        return model.weight.sum() * 0 + next(losses)

    curve = fit(model, loss, lambda: 0.5, rate=0.1, steps=9, every=1)
    assert curve[:2] == [0.5, 0.5]
    assert math.isnan(curve[2])
    assert len(curve) == 3


def test_the_rate_rises_and_then_falls_to_zero():
    model, seen = nn.Linear(1, 1, bias=False), []

    def watch():
        seen.append(model.weight.item())
        return 0.0

    fit(model, lambda: model.weight.sum(), watch, rate=0.1, steps=60, every=1)
    moves = [a - b for a, b in itertools.pairwise(seen)]
    assert moves[0] == pytest.approx(0.01, rel=0.01)  # the second step of twenty
    assert max(moves) == pytest.approx(0.1, rel=0.01)
    assert moves[-1] < 0.001
