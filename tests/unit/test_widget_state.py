"""The state that fills: its numbers from the rules as the chapter writes them, order by order."""

import pytest
import torch

from attnbook.widgets import StateFilling
from attnbook.widgets.state import DRINKS, NEW_DAY, ORDERS, PEOPLE, RULES

from .test_widgets import Cells


def by_hand(figure):
    state = torch.zeros(4, 3, dtype=torch.float64)
    for t, (who, what) in enumerate(ORDERS[: figure.step]):
        k, v = figure.vectors[PEOPLE.index(who)], torch.eye(3, dtype=torch.float64)[DRINKS.index(what)]
        if figure.rule in ("gate", "both"):
            state = state * (0 if t == NEW_DAY else figure.stays)
        if figure.rule in ("delta", "both"):
            v = v - k @ state
        state = state + torch.outer(k, v)
    return state


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("step", [0, 4, 6, 8])
def test_the_state_is_what_the_rule_says(rule, step):
    figure = StateFilling(rule=rule, step=step, asked="Bob", likeness=0.4, stays=0.8)
    assert torch.allclose(figure.vectors @ figure.vectors.T, 0.4 + 0.6 * torch.eye(4).double())
    assert torch.allclose(figure.held, by_hand(figure), atol=1e-12)
    assert torch.allclose(figure.answer, figure.vectors[1] @ by_hand(figure), atol=1e-12)
    rows = Cells(figure._repr_html_()).rows
    got = [[float(x.replace("−", "-")) for x in row[1:]] for row in rows[1:5]]
    assert got == [pytest.approx(row, abs=5.1e-5) for row in by_hand(figure).tolist()]


def test_only_gate_and_delta_together_hold_the_last_day_and_nothing_else():
    wanted = [[1.0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0]]  # Ann tea, Cy milk
    ends = {rule: StateFilling(rule=rule, step=8).held for rule in RULES}
    right = [rule for rule, held in ends.items() if torch.allclose(held, torch.tensor(wanted).double())]
    assert right == ["both"]
    assert StateFilling(rule="gate", step=8).held[0].tolist() == pytest.approx([0.5, 0, 0])
    assert StateFilling(rule="delta", step=8).held[3].tolist() == pytest.approx([0, 0, 1])
    assert StateFilling(rule="sum", step=8).held[0].tolist() == pytest.approx([2, 1, 0])


def test_softmax_weighs_the_orders_of_one_person_alike():
    figure = StateFilling(step=7, asked="Ann")
    want = torch.tensor([8.0 * (who == "Ann") for who, _ in ORDERS[:7]]).double().softmax(-1)
    assert torch.allclose(figure.weights, want, atol=1e-12)
    assert figure.softmax.tolist() == pytest.approx([2 / 3, 1 / 3, 0], abs=2e-3)
    assert [StateFilling(step=n).today for n in (0, 1, 3, 6, 7)] == [
        "nothing",
        "tea",
        "milk",
        "nothing",
        "tea",
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rule": "fade"}, "rule must be one of sum, gate, delta, both; got 'fade'"),
        ({"asked": "Eve"}, "asked must be one of Ann, Bob, Cy, Dee; got 'Eve'"),
        ({"step": 9}, "step must be a whole number from 0 to 8, got 9"),
        ({"likeness": 0.9}, "likeness must be from 0 to 0.8, got 0.9"),
        ({"stays": -0.1}, "stays must be from 0 to 1, got -0.1"),
    ],
)
def test_bad_input_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        StateFilling(**changes)
