"""Orders that change, in days that end: the texts against a loop, and what each form can know of them."""

import pytest
import torch

from attnbook.experiments.days import KINDS, Days, texts
from attnbook.experiments.forms import form
from attnlab import attention

SHAPE = {"days": 3, "orders": 7, "guests": 3, "customers": 5, "drinks": 4}


def test_the_newest_order_of_the_last_day_is_wanted():
    who, what, wanted, kind = texts(40, **SHAPE, draw=torch.Generator().manual_seed(1))
    assert who.shape == what.shape == (40, 24)
    assert (who[:, ::8] == 5).all()  # a mark before each day
    assert (what[:, ::8] == 4).all()
    seen = set()
    for persons, drinks, want, kinds in zip(*(x.tolist() for x in (who, what, wanted, kind)), strict=True):
        today, changed = {}, set()
        for person, drink in zip(persons[17:], drinks[17:], strict=True):
            if today.get(person, drink) != drink:
                changed.add(person)
            today[person] = drink
        assert len(today) <= 3
        assert want == [today.get(person, 4) for person in range(5)]
        for person in range(5):
            if person in today:
                assert kinds[person] == (person in changed)
            else:
                assert kinds[person] == (2 if person in persons[:16] else -1)
        seen |= set(kinds)
    assert seen == {-1, 0, 1, 2}
    assert KINDS == ("once", "changed", "another day")


def answers(name, gates, likeness=0.0, seed=2):
    """What a form answers to texts of customers with keys at right angles, its gates set by hand."""
    task = Days(name, d=8, **SHAPE)
    who, what, wanted, kind = texts(30, **SHAPE, draw=torch.Generator().manual_seed(seed))
    keys = 20 * torch.eye(6, 8)[None] + likeness
    return task._answers(keys, torch.tensor(gates)[None], who, what)[0], wanted, kind


OPEN, SHUT = 30.0, -30.0


def test_gate_and_delta_know_it_all_and_neither_does_alone():
    """The gate stands open at an order and shut at a mark, and what an order writes is written whole."""
    out, wanted, kind = answers("gate and delta", [[OPEN, OPEN], [SHUT, OPEN]])
    nothing = out[..., :4].abs().sum(-1) < 1e-4
    assert torch.equal(nothing, wanted == 4)
    assert torch.equal(out[..., :4].argmax(-1)[~nothing], wanted[~nothing])
    out, wanted, kind = answers("delta rule", [[OPEN, OPEN], [OPEN, OPEN]])
    assert torch.equal(out.argmax(-1)[kind < 2][wanted[kind < 2] < 4], wanted[kind < 2][wanted[kind < 2] < 4])
    assert (out[kind == 2][:, :4].sum(-1) > 0.99).all()  # what was ordered on another day is still there
    out, wanted, kind = answers("gate", [[OPEN, OPEN], [SHUT, OPEN]])
    assert (out[kind == 1][:, :4].amax(-1) < out[kind == 1].sum(-1)).all()  # old and new are mixed
    assert (out[kind == 2][:, :4].abs() < 1e-4).all()
    sums, _, _ = answers("sum", [[SHUT, SHUT], [SHUT, SHUT]])  # it has no gates to shut
    assert (sums[kind == 2][:, :4].sum(-1) > 0.99).all()


def test_a_gate_in_softmax_takes_from_scores_what_the_gates_between_two_tokens_leave():
    q, k, v = torch.randn(3, 2, 6, 4, generator=torch.Generator().manual_seed(0))
    rate = torch.rand(2, 6, 1, generator=torch.Generator().manual_seed(1))
    bias = torch.tensor(
        [[[row[j + 1 : i + 1].log().sum().item() for j in range(6)] for i in range(6)] for row in rate]
    )
    want = attention(q, k, v, bias=bias, is_causal=True)
    assert torch.allclose(form("softmax, gate", 4)(q, k, v, rate, None), want, atol=1e-5)
    hidden = torch.tensor([[True, True, False, True, True, True]] * 2)
    got = form("softmax, gate", 4)(q, k, v, rate, hidden)
    kept = [0, 1, 3, 4, 5]
    alone = form("softmax, gate", 4)(q[:, kept], k[:, kept], v[:, kept], rate[:, kept], None)
    assert torch.allclose(got[:, kept], alone, atol=1e-5)


@pytest.mark.parametrize("name", ["sum", "softmax, gate", "gate and delta"])
def test_models_that_train_side_by_side_train_as_they_do_alone(name):
    task = Days(name, d=8, **SHAPE, steps=25, batch=4)
    pairs = [(0.05, 0), (0.2, 0), (0.05, 1)]
    both = task.together(pairs)
    for run, pair in zip(both, pairs, strict=True):
        assert run.value == pytest.approx(task.together([pair])[0].value, abs=0.02)
        assert set(run.extras) == set(KINDS)
        assert run.value == pytest.approx(sum(run.extras.values()) / 3)
