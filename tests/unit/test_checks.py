"""The engine behind the exercises: it draws, runs, compares and names, and nothing escapes from it."""

import json
import random
import time
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attnbook.checks import EXERCISES, check, engine, judge, progress, report, running
from attnbook.checks.exercise import (
    at_most,
    case,
    draws,
    exercise,
    fresh,
    gradient,
    mistake,
    precisions,
    without,
)
from attnbook.checks.instruments import once
from attnbook.checks.queries_layer import output
from attnbook.checks.running import run, unwritten
from attnbook.checks.values import Difference, Tolerance, difference, number
from attnlab import attention


@pytest.fixture
def make(monkeypatch):
    """Register exercises for one test."""
    monkeypatch.setattr(running, "PATIENCE", 0.3)
    before = set(EXERCISES)

    def register(**data):
        data = {"cases": draws(x="... n d", lead=[(), (2,)]), "praise": "Twice each entry."} | data
        return exercise("test-double", "double", **data)

    yield register
    for name in set(EXERCISES) - before:
        del EXERCISES[name]


def test_sizes_differ_within_a_case_and_n_is_once_1_and_once_large():
    cases = draws(x="... n d", y="... m d", lead=[(), (3,), (2, 4)], seeds=8)
    seen = []
    for one in cases:
        x, y = one.make().values()
        sizes = [*x.shape, y.shape[-2]]
        assert len(set(sizes)) == len(sizes)
        assert x.shape[-1] == y.shape[-1]
        seen.append(x.shape[-2])
    assert 1 in seen
    assert max(seen) > 8
    assert torch.equal(cases[0].make()["x"], cases[0].make()["x"])
    assert cases[0].make()["x"] is not cases[0].make()["x"]


def test_a_pool_too_small_is_refused():
    with pytest.raises(ValueError, match="sizes must be able to differ"):
        draws(x="a b", a=(3,), b=(3,))


def test_a_size_that_only_a_function_uses_takes_its_usual_course():
    drawn = draws(n=..., h=(2, 3), lead=[(), (4,)], x=lambda s, g: torch.ones(*s.lead, s.n, 4 * s.h))
    shapes = [tuple(one.make()["x"].shape) for one in drawn if not one.late]
    assert [shape[-2] for shape in shapes] == [5, 1, 11, 7]
    assert {shape[-1] for shape in shapes} == {8, 12}


def test_a_right_answer_hears_what_it_was_tried_on(make):
    make(reference=lambda x: 2 * x, promises=[gradient("x"), precisions("float64")])
    assert (
        str(judge("test-double", lambda x: x + x))
        == "✓ Twice each entry. (9 cases; the gradient of x; float64.)"
    )


def test_a_right_answer_is_put_to_work_and_says_what_came_of_it(make):
    def use(answer):
        well = bool(answer(torch.ones(9))[-1] == 2)
        return well, "It doubled nine ones." if well else "Nine ones are too many for it."

    make(reference=lambda x: 2 * x, use=use)
    assert judge("test-double", lambda x: x + x).message.endswith("(9 cases.) It doubled nine ones.")
    verdict = judge("test-double", lambda x: x + x if x.shape != (9,) else x)
    assert (verdict.status, verdict.message) == (
        "wrong",
        "In all cases it is right; put to work it is not. Nine ones are too many for it.",
    )
    fails = judge("test-double", lambda x: x + x if x.shape != (9,) else x.zebra)
    assert "put to work it is not. It raised AttributeError" in fails.message
    # An answer that is wrong is not tried any further.
    assert "put to work" not in judge("test-double", lambda x: x).message


def test_the_first_difference_is_shown_with_its_case(make):
    make(reference=lambda x: 2 * x)

    def last_forgotten(x):
        out = 2 * x
        out[..., -1, :] = 0
        return out

    verdict = judge("test-double", last_forgotten)
    x = EXERCISES["test-double"].cases[0].make()["x"]
    assert verdict.case == f"x of shape {tuple(x.shape)}"
    assert f"row {len(x) - 1} should be [" in verdict.message
    assert verdict.want[0] == f"{2 * x[-1, 0].item():.3f}".rstrip("0")


def test_a_mistake_is_named_only_if_it_fits_every_trial(make):
    make(
        reference=lambda x: 2 * x,
        mistakes=[mistake("It squares.", lambda x: x**2), mistake("It triples.", lambda x: 3 * x)],
    )
    assert judge("test-double", lambda x: x * x).message.startswith("It squares. With x of shape")
    first = EXERCISES["test-double"].cases[0].make()["x"].shape
    message = judge("test-double", lambda x: x * x if x.shape == first else 3 * x).message
    assert "It squares" not in message
    assert "It triples" not in message


def test_an_answer_that_raises_wherever_it_is_wrong_made_no_mistake_with_a_name(make):
    make(
        reference=lambda x: x.cumsum(-1),
        cases=[case("many", x=torch.randn(5)), case("one", x=torch.ones(1))],
        mistakes=[mistake("It does not add up.", lambda x: x)],
    )
    message = judge("test-double", lambda x: x if len(x) == 1 else x @ x[:1]).message
    assert message.startswith("With many: it raised RuntimeError")


def test_two_mistakes_that_fit_are_both_said(make):
    make(
        reference=lambda x: 2 * x,
        cases=[case("twos", x=torch.full((3,), 3.0))],
        mistakes=[mistake("It squares.", lambda x: x**2), mistake("It triples.", lambda x: 3 * x)],
    )
    assert judge("test-double", lambda x: x * x).message.startswith("It squares. It triples. With twos: ")


def test_a_gradient_that_is_lost_wrong_or_nan_is_told(make):
    make(reference=lambda x: 2 * x, promises=[gradient("x")])
    assert "no gradient reaches x" in judge("test-double", lambda x: 2 * x.detach()).message
    assert "the gradient of x" in judge("test-double", lambda x: x.detach() + x).message

    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, grad):
            return grad * float("nan")

    assert "the gradient of x is NaN" in judge("test-double", Broken.apply).message


def test_precisions_are_asked_for_and_kept(make):
    make(reference=lambda x: 2 * x, promises=[precisions("float64", "float16")])
    assert "in float64" in judge("test-double", lambda x: 2 * x.float()).message
    through = judge("test-double", lambda x: (2 * x.float()).to(x.dtype))
    assert "In single precision all values are right." in through.message
    doubled = judge("test-double", lambda x: 2 * x.double()).message
    assert "should keep the dtype of its arguments, float32, it has float64" in doubled
    halved = judge("test-double", lambda x: 2 * x if x.dtype is torch.float32 else 2 * x.double())
    assert "should keep that dtype, it has float64" in halved.message
    assert judge("test-double", lambda x: (2 * x.double()).to(x.dtype)).status == "right"


def test_an_endless_answer_is_stopped_and_its_case_named(make):
    make(reference=lambda x: 2 * x)

    def endless(x):
        while True:
            try:
                time.sleep(0)
                torch.ones(2).sum()
            except Exception:  # what an answer swallows does not keep it alive
                pass

    verdict = judge("test-double", endless)
    assert verdict.status == "wrong"
    assert "it does not stop" in verdict.message
    sum(range(10**6))  # nothing arrives later
    assert judge("test-double", lambda x: 2 * x).status == "right"


def test_the_readers_own_line_is_shown(make):
    make(reference=lambda x: 2 * x)

    def broken(x):
        y = 2 * x
        return y.reshape(-1, 10**6)

    message = judge("test-double", broken).message
    assert "it raised RuntimeError: shape '[-1, 1000000]' is invalid" in message
    assert "in the line `return y.reshape(-1, 10**6)`" in message


def test_arguments_stay_as_they_were(make):
    make(reference=lambda x: 2 * x)
    assert "it changed its argument x in place" in judge("test-double", lambda x: x.mul_(2)).message


def test_only_an_untouched_stub_is_not_written():
    def dots(x): ...

    def idle(x):
        """Say what it will do."""
        pass

    def raising(x):
        raise NotImplementedError

    def saying(x):
        raise NotImplementedError("soon")

    def forgets(x):
        x + 1

    def real(x):
        return x

    assert all(map(unwritten, (dots, idle, raising, saying)))
    assert not any(map(unwritten, (forgets, real, len, print)))


def test_an_answer_of_another_signature_is_told_so(make):
    make(reference=lambda x: 2 * x)
    assert "It takes (a, b); it is called with (x)." in judge("test-double", lambda a, b: a).message
    assert judge("test-double", torch.nn.Identity()).status == "wrong"


def test_random_answers_get_one_verdict_and_the_world_stays_as_it_was(make):
    make(reference=lambda x: 2 * x)

    def drawn():
        return [random.random(), random.gauss(), np.random.randn(), torch.randn(3).tolist()]  # noqa: NPY002

    def chance(x):
        torch.set_default_dtype(torch.float64)
        where = random.random() + np.random.randn() + torch.rand(())  # noqa: NPY002
        return 2 * x + (where > 0.5) * where

    for seed in (random.seed, np.random.seed, torch.manual_seed):
        seed(5)
    drawn()  # numpy and Python draw two normal numbers at once: of both one is left
    want = drawn(), drawn()
    for seed in (random.seed, np.random.seed, torch.manual_seed):
        seed(5)
    drawn()
    verdicts = {str(judge("test-double", chance)) for _ in range(3)}
    assert drawn() == want[0]
    verdicts.add(str(judge("test-double", chance)))
    assert drawn() == want[1]
    assert len(verdicts) == 1
    assert torch.get_default_dtype() == torch.float32


def test_what_an_ended_answer_leaves_behind_does_not_stay():
    """What throws an answer out may have hit the code that tidied up after it, too."""

    def world():
        return (
            torch.get_default_dtype(),
            torch.is_grad_enabled(),
            torch.get_rng_state().tolist(),
            random.getstate(),
            [*warnings.filters],
        )

    before = world()
    with running.kept():
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        torch.manual_seed(3)
        random.seed(3)
        warnings.simplefilter("ignore")
    assert world() == before


def test_work_is_limited_by_declaration(make):
    make(
        reference=lambda x: 2 * x,
        cases=[case("a long one", x=torch.ones(300))],
        promises=[at_most("It builds a matrix.", largest=lambda x: 4 * len(x), bytes=lambda x: 40_000)],
    )
    assert judge("test-double", lambda x: 2 * x).status == "right"
    message = judge("test-double", lambda x: (2 * x * torch.eye(len(x))).sum(0)).message
    assert message == "With a long one: it builds a matrix. (It took 90,000, at most 1,200 are needed.)"
    in_numpy = judge(
        "test-double", lambda x: torch.from_numpy((np.eye(len(x)) * 2 * x.numpy()).sum(0)).float()
    )
    assert "it builds a matrix. (It took" in in_numpy.message


def numbers(got):
    if got is None:
        raise ValueError("It returned None; for no number return an empty list.")
    return sorted(int(x) for x in got)


def test_a_result_is_read_before_it_is_compared_and_a_mistake_too(make):
    make(
        reference=lambda n: list(range(0, n, 2)),
        cases=[case("up to 1", n=0), case("up to 7", n=7)],
        mistakes=[mistake("These are odd.", lambda n: range(1, n, 2))],
        read=numbers,
    )
    for form in (list, set, torch.tensor, lambda x: torch.tensor(x).numpy(), iter):
        assert judge("test-double", lambda n, f=form: f(list(range(0, n, 2)))).status == "right"
        assert "These are odd." in judge("test-double", lambda n, f=form: f(list(range(1, n, 2)))).message
    assert "it returned None; for no number" in judge("test-double", lambda n: None).message
    assert "it returned 5." in judge("test-double", lambda n: 5).message


def test_functions_that_are_not_to_be_called_are_heard_at_any_depth(make):
    fused = F.scaled_dot_product_attention
    make(
        reference=lambda x: (x @ x.mT / x.shape[-1] ** 0.5).softmax(-1) @ x,
        promises=[without("Write it yourself.", attention, fused)],
    )
    for answer, name in (
        (lambda x: attention(x, x, x), "attention"),
        (lambda x: fused(x, x, x), fused.__name__),
    ):
        assert f"write it yourself. (It called {name}.)" in judge("test-double", answer).message
    assert judge("test-double", lambda x: (x @ x.mT / x.shape[-1] ** 0.5).softmax(-1) @ x).status == "right"


def test_a_source_is_read_once(make):
    def total(tiles):
        return sum(tile.sum() for tile in tiles)

    tiles = fresh(lambda: once([torch.ones(2), torch.ones(3)], "tiles"), "two tiles")
    make(reference=total, cases=[case("", tiles=tiles)], lift=False)
    assert judge("test-double", total).status == "right"

    def twice(tiles):
        return sum(tile.sum() for tile in tiles) + 0 * sum(tile.sum() for tile in tiles)

    assert "With two tiles: it reads the tiles a second time" in judge("test-double", twice).message


def test_a_case_that_does_not_fit_is_the_authors_error():
    with pytest.raises(ValueError, match=r"must give \['x'\] in order"):
        exercise("test-bad", "f", reference=lambda x: x, cases=[case("", y=1)], praise="")
    with pytest.raises(ValueError, match="there is already an exercise 'why-running-bag'"):
        exercise("why-running-bag", "f", reference=lambda x: x, cases=[], praise="")


@pytest.mark.parametrize(
    "kind",
    [
        int,
        float,
        np.int64,
        np.float32,
        np.array,
        torch.tensor,
        lambda x: torch.ones(1) * x,
        Fraction,
        Decimal,
    ],
)
def test_numbers_of_every_kind_are_numbers(kind):
    value = kind(3)
    assert number(value) == 3
    assert difference(value, 3) is None
    assert difference(value, 4.0).text == f"The output should be 4.0, it is {float(number(value))}."


@pytest.mark.parametrize(
    "value", [True, np.bool_(True), 3j, "3", [3], None, torch.ones(2), torch.tensor(True)]
)
def test_other_things_are_no_numbers(value):
    assert number(value) is None
    assert isinstance(difference(value, 3), Difference)


class Pair(NamedTuple):
    mean: float
    standard_error: float


@pytest.mark.parametrize(
    ("got", "want", "text"),
    [
        (
            (1.0, 2.5),
            Pair(1.0, 2.0),
            "The standard error should be 2.0, it is 2.5. As a whole it should be [1.0, 2.0], it is [1.0,",
        ),
        (torch.tensor([1.0, 2.0]), Pair(1.0, 2.0), None),
        (3, Pair(1.0, 2.0), "The output should be 2 values (mean, standard error), it is 3 (int)."),
        ([(0, 1)], [(0, 1), (2, 3)], "The output should have length 2, it has 1. Missing: [(2, 3)]."),
        ([[0, 1], [2, 3]], [(0, 1), (2, 3)], None),
        (torch.tensor([[0, 1], [2, 3]]), [(0, 1), (2, 3)], None),
        (torch.empty(0, 2), [], None),
        (torch.tensor([0.0]), torch.tensor([-torch.inf]), "The output should be [-inf], it is [0.0]."),
        (torch.tensor([-torch.inf]), torch.tensor([-torch.inf]), None),
        ({"a": 1, "b": 2}, {"a": 1}, "The output should not have the key 'b'."),
        (
            torch.ones(2),
            torch.ones(2, dtype=torch.bool),
            "The output should hold True and False, it has dtype float32.",
        ),
        (torch.tensor([0.0, 1.0]), torch.tensor([0, 1]), "should hold whole numbers, it has dtype float32."),
        (torch.tensor([0, 1]), torch.tensor([0.0, 1.0]), None),
        (torch.tensor([0, 2]), torch.tensor([0, 1]), "The output should be [0, 1], it is [0, 2]."),
        (torch.tensor([0, 1], dtype=torch.uint8), torch.tensor([0, 1]), None),
        (torch.tensor([1j]), torch.tensor([0.0]), "should hold real numbers, it has dtype complex64."),
        (torch.tensor([True]), torch.tensor([1]), "should hold whole numbers, it has dtype bool."),
        (
            torch.tensor([True, False]),
            torch.tensor([True, True]),
            "should be [True, True], it is [True, False]",
        ),
        (torch.tensor([float("nan")]), torch.tensor([float("nan")]), None),
        (torch.tensor([1.0000001]), torch.tensor([1.0]), None),
        (torch.ones(2, device="meta"), torch.ones(2), "without data"),
        (torch.eye(2).to_sparse(), torch.eye(2), None),
        (1e20, 10**20 + 10**16, "it is 1"),
        (1, True, "The output should be True or False, it is 1 (int)."),
        (np.bool_(True), True, None),
    ],
)
def test_differences(got, want, text):
    found = difference(got, want, Tolerance())
    assert (found is None) if text is None else text in found.text


def test_digits_are_shown_until_the_difference_can_be_seen():
    found = difference(torch.tensor([0.12345678]), torch.tensor([0.12349]))
    assert found.want[0] != found.got[0]
    long = torch.arange(100.0)
    off = long.clone()
    off[50] = 0
    found = difference(off, long)
    assert found.off.index(True) == found.want.index("50.0")
    assert len(found.want) == 8


def test_the_panel_marks_what_differs_and_escapes(make):
    make(reference=lambda x: 2 * x, cases=[case("<b>", x=torch.tensor([1.0, 2.0]))])
    html = judge("test-double", lambda x: torch.tensor([2.0, 5.0]))._repr_html_()
    assert "&lt;b&gt;" in html
    assert html.count("font-weight: bold") == 2  # the differing entry, in both rows
    assert "<td" in html.split("differs.")[1]  # the numbers stand in the table alone
    assert html.count("<tr>") == 2


def test_outcomes_carry_gradients():
    outcome = run(lambda x: x**2, lambda: {"x": torch.tensor([3.0])}, leaves=("x",))
    probe = torch.randn(1, generator=torch.Generator().manual_seed(1), dtype=torch.float64).float()
    torch.testing.assert_close(outcome.slopes["x"], 6 * probe)


def test_outcomes_carry_the_gradient_of_each_of_several_tensors():
    def both(x):
        return {"b": [x**2, 2], "a": (x.long(), x**3)}

    outcome = run(both, lambda: {"x": torch.tensor([3.0])}, leaves=("x",))
    draw = torch.Generator().manual_seed(1)
    a, b = (torch.randn(1, generator=draw, dtype=torch.float64).float() for _ in range(2))
    torch.testing.assert_close(outcome.slopes["x"], 27 * a + 6 * b)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda x: (2 * x, x**2), ""),
        (lambda x: [x + x, x * x], ""),
        (lambda x: (2 * x.detach(), x**2), "the gradient of x"),
        (lambda x: (2 * x, x.detach() ** 2), "the gradient of x"),
        (lambda x: (2 * x.detach(), x.detach() ** 2), "no gradient reaches x"),
    ],
)
def test_a_promised_gradient_goes_through_every_tensor_of_a_tuple(make, answer, words):
    make(reference=lambda x: (2 * x, x**2), promises=[gradient("x")])
    verdict = judge("test-double", answer)
    assert (verdict.status == "wrong") == bool(words), verdict.message
    assert words in verdict.message


def test_the_report_keeps_what_was_solved(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress, "_SEEN", {})
    path = tmp_path / "kept.json"
    check("why-running-bag", lambda x: x)
    check("why-running-bag", lambda x: x.cumsum(-2) / torch.arange(1, x.shape[-2] + 1)[:, None])
    check("why-running-bag", lambda x: x)
    check("why-scores", lambda weights: weights)
    assert capsys.readouterr().out[0] == "✗"
    text = str(report(path))
    assert "✓ running-bag (2)" in text
    assert "✗ scores (1)" in text
    assert "1 of " in text
    assert "kept.json" in report(path)._repr_html_()
    monkeypatch.setattr(progress, "_SEEN", {})
    assert report(path).exercises == json.loads(path.read_text())["exercises"]
    assert report(path).exercises["why-running-bag"] == {"solved": True, "tries": 2}


def test_a_file_of_somebody_elses_is_left_alone(tmp_path):
    path = tmp_path / "notes.json"
    path.write_text("my notes")
    with pytest.raises(
        ValueError, match=r"path must be a file written by report\(\), notes.json holds something else"
    ):
        report(path)
    assert path.read_text() == "my notes"
    assert [p.name for p in tmp_path.iterdir()] == ["notes.json"]


def test_an_operation_that_is_promised_away_is_found_however_it_is_called(make):
    message = "it calls a softmax of torch."
    make(reference=lambda x: x.softmax(-1), promises=[without(message, "_softmax")])
    for answer in (lambda x: x.softmax(-1), lambda x: torch.nn.functional.softmax(x, -1)):
        verdict = judge("test-double", answer)
        assert verdict.status == "wrong"
        assert message in verdict.message
    assert judge("test-double", lambda x: x.exp() / x.exp().sum(-1, keepdim=True)).status == "right"


def test_a_case_is_not_tried_in_a_precision_that_cannot_hold_it(make):
    make(
        reference=lambda x: 1 * x,
        cases=[case("large", x=torch.tensor([1e20])), case("small", x=torch.tensor([1.0, -torch.inf]))],
        promises=[precisions("float16")],
    )
    tried = [str(trial) for trial in engine.trials(EXERCISES["test-double"])]
    assert tried == ["large", "small", "small, in float16"]


def test_what_only_a_first_call_takes_is_not_counted_as_work(make):
    make(reference=lambda x: 2 * x, promises=at_most("it is too much.", bytes=lambda x: 100_000))
    kept = []

    def once(x):
        kept.extend(range(0 if kept else 100_000))
        return x + x

    def always(x):
        return x + x if list(range(100_000)) else None

    assert judge("test-double", once).status == "right"
    assert "it is too much. (It took" in judge("test-double", always).message


def test_a_mistake_may_give_what_no_reference_gives(make):
    make(
        reference=lambda x: x**2,
        cases=[case("4", x=4.0), case("-4", x=-4.0)],
        mistakes=[mistake("The root.", lambda x: x**0.5), mistake("Nothing.", lambda x: None)],
    )
    assert judge("test-double", lambda x: x**0.5).message.startswith("The root.")
    assert "Nothing." not in judge("test-double", lambda x: 1 - x**0.5).message


@pytest.mark.parametrize("one", [torch.tensor(1.0), np.array(1.0)])
def test_one_number_is_no_pair(one):
    assert "should be a tuple of 2, it is a" in difference(one, (1.0, 2.0)).text


def test_numbers_that_are_double_already_stay_as_they_are():
    top = torch.finfo(torch.float64).max
    one = case("the largest", x=torch.tensor([top], dtype=torch.float64), y=torch.tensor([0.5]))
    made = one.make(torch.float64)
    assert made["x"].item() == top
    assert made["y"].item() == 0.5 * (1 + 1e-9)


def test_a_layer_may_take_its_memory_by_place_or_by_name_alone():
    class ByPlace(torch.nn.Module):
        def forward(self, x, context=None, mask=None):
            return attention(x, context, context, mask=mask)

    class ByName(torch.nn.Module):
        def forward(self, x, *, mask=None, memory=None):
            return attention(x, memory, memory, mask=mask)

    given = {"x": torch.randn(5, 4), "memory": torch.randn(3, 4), "mask": torch.ones(5, 3).tril() > 0}
    want = attention(given["x"], given["memory"], given["memory"], mask=given["mask"])
    for layer in (ByPlace(), ByName()):
        assert torch.equal(output(layer, "heads(x, memory)", given), want)
