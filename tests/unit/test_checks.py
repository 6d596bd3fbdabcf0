"""The engine that judges exercises, on small ones made for the purpose."""

import pytest
import torch

from attnlab.checks import EXERCISES, engine, judge
from attnlab.checks.exercise import at_most, case, draws, exercise, never, precisions


@pytest.fixture
def register():
    """Register an exercise for one test."""
    names = []

    def one(**fields):
        name = f"test-{len(names)}"
        names.append(exercise(name, "answer", praise="Right.", **fields).name)
        return name

    yield one
    for name in names:
        del EXERCISES[name]
    engine._trials.cache_clear()


def test_an_operation_that_is_promised_away_is_found_under_all_its_names(register):
    message = "It calls a softmax of torch."
    name = register(
        reference=lambda x: x.softmax(-1), cases=draws(x="... n"), promises=[never(message, "_softmax")]
    )
    for answer in (lambda x: x.softmax(-1), lambda x: torch.nn.functional.softmax(x, -1)):
        verdict = judge(name, answer)
        assert verdict.status == "wrong"
        assert message.lower() in verdict.message.lower()
        assert "(It took" not in verdict.message
    assert judge(name, lambda x: x.exp() / x.exp().sum(-1, keepdim=True)).status == "right"


def test_a_case_is_not_tried_in_a_precision_that_cannot_hold_it(register):
    name = register(
        reference=lambda x: 1 * x,
        cases=[case("large", x=torch.tensor([1e20])), case("small", x=torch.tensor([1.0, -torch.inf]))],
        promises=[precisions("float16")],
    )
    tried = [str(trial) for trial in engine.trials(EXERCISES[name])]
    assert tried == ["large", "small", "small, in float16"]


def test_what_only_a_first_call_takes_is_not_counted_as_work(register):
    name = register(
        reference=lambda x: 2 * x, cases=draws(x="n"), promises=at_most("Too much.", bytes=lambda x: 100_000)
    )
    kept = []

    def once(x):
        kept.extend(range(0 if kept else 100_000))
        return x + x

    def always(x):
        return x + x if list(range(100_000)) else None

    assert judge(name, once).status == "right"
    assert "too much. (It took" in judge(name, always).message
