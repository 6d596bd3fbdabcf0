"""Orders that change, in days that end: the texts against a loop, and what layers learn of them."""

import pytest
import torch

from attnbook.experiments.days import KINDS, Days, Layer, Reader, learn, texts

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
                assert kinds[person] == (2 if person in persons[:16] else 3)
        seen |= set(kinds)
    assert seen == {0, 1, 2, 3}
    assert KINDS == ("once", "changed", "another day", "never")


@pytest.mark.parametrize("name", ["softmax", "sum", "gate", "delta rule", "gate and delta"])
def test_a_reader_asks_everybody_at_the_end_and_hears_all_that_was_ordered(name):
    torch.manual_seed(0)
    reader = Reader(Layer(name, 8), 8, 5, 4)
    who, what, _, _ = texts(2, **SHAPE, draw=torch.Generator().manual_seed(0))
    out = reader(who, what)
    assert out.shape == (2, 5, 5)
    fewer = reader(who[:, :-1], what[:, :-1])
    assert not torch.allclose(out, fewer, atol=1e-4)
    assert {kind: x.shape for kind, x in reader.tokens().items()} == {
        "an order": (20, 8),
        "a new day": (1, 8),
        "a question": (5, 8),
    }
    order = reader.who(who[:, 1]) + reader.what(what[:, 1])
    assert all((reader.tokens()["an order"] == x).all(-1).any() for x in order)
    assert torch.equal(reader.tokens()["a new day"][0], reader.who(who[0, 0]) + reader.what(what[0, 0]))


def test_a_layer_learns_little_days_and_the_same_seed_learns_them_again():
    how = {"steps": 150, "d_model": 16, "days": 2, "orders": 2, "guests": 2, "customers": 3, "drinks": 3}
    _, run = learn(lambda d: Layer("gate and delta", d), rate=0.02, seed=1, **how)
    assert run.value > 0.9
    assert len(run.curve) == 6
    again = Days("gate and delta", **how)(0.02, seed=1)
    assert again.value == pytest.approx(run.value, abs=0.02)
    assert set(run.extras) <= set(KINDS)
