"""What an exercise may say of its answers beside values: forms that are welcome, functions that are not."""

import pytest
import torch
import torch.nn.functional as F

from attnlab import attention
from attnlab.checks.engine import EXERCISES, judge
from attnlab.checks.exercise import case, draws, exercise, mistake, without


@pytest.fixture
def register():
    before = set(EXERCISES)
    yield exercise
    for name in set(EXERCISES) - before:
        del EXERCISES[name]


def numbers(got):
    if got is None:
        raise ValueError("It returned None; for no number return an empty list.")
    return sorted(int(x) for x in got)


def test_a_result_is_read_before_it_is_compared_and_a_mistake_too(register):
    register(
        "test-read",
        "evens",
        reference=lambda n: list(range(0, n, 2)),
        cases=[case("up to 1", n=0), case("up to 7", n=7)],
        mistakes=[mistake("These are odd.", lambda n: range(1, n, 2))],
        read=numbers,
        praise="Even.",
    )
    for form in (list, set, torch.tensor, lambda x: torch.tensor(x).numpy(), iter):
        assert judge("test-read", lambda n, f=form: f(list(range(0, n, 2)))).status == "right"
        assert "These are odd." in judge("test-read", lambda n, f=form: f(list(range(1, n, 2)))).message
    assert judge("test-read", lambda n: None).message.startswith(
        "With up to 1: it returned None; for no number"
    )
    assert "it returned 5." in judge("test-read", lambda n: 5).message


def test_functions_that_are_not_to_be_called_are_heard_at_any_depth(register):
    register(
        "test-without",
        "attend",
        reference=lambda q: (q @ q.mT / q.shape[-1] ** 0.5).softmax(-1) @ q,
        cases=draws(q="... n d"),
        promises=[without("Write it yourself.", attention, F.scaled_dot_product_attention)],
        praise="By hand.",
    )
    fused = F.scaled_dot_product_attention
    for answer, name in (
        (lambda q: attention(q, q, q), "attention"),
        (lambda q: fused(q, q, q), fused.__name__),
    ):
        assert f"write it yourself. (It called {name}.)" in judge("test-without", answer).message
    assert judge("test-without", lambda q: (q @ q.mT / q.shape[-1] ** 0.5).softmax(-1) @ q).status == "right"


def test_a_size_that_only_a_function_uses_takes_its_usual_course():
    drawn = draws(
        n=..., h=(2, 3), x=lambda s, g: torch.randn(*s.lead, s.n, 4 * s.h, generator=g), lead=[(), (4,)]
    )
    shapes = [tuple(one.make()["x"].shape) for one in drawn]
    assert [shape[-2] for shape in shapes] == [5, 1, 11, 7]
    assert {shape[-1] for shape in shapes} == {8, 12}
