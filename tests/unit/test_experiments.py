"""Sweeps, held to objectives whose best learning rate is known."""

import json
import math
from dataclasses import MISSING, fields, replace

import pytest

from attnbook import experiments
from attnbook.experiments import Comparison, EdgeError, Row, Run, around, comparison, settings, sweep
from attnbook.experiments.days import Days
from attnbook.experiments.hops import Hops
from attnbook.experiments.recall import Recall
from attnbook.experiments.relay import Relay

NAN = float("nan")


def bowl(best, *, width=1.0, calls=None):
    """An end that is highest at one rate, on a logarithmic axis; the seed shifts it a little."""

    def train(rate, seed):
        if calls is not None:
            calls.append((rate, seed))
        end = 1 - width * math.log2(rate / best) ** 2 / 100 - seed / 1000
        return Run([0.0, end / 2, end, end, end, end, end, end], every=10)

    return train


def test_a_sweep_finds_the_known_best_rate_and_its_spread():
    found = sweep(
        {"a": bowl(0.2), "b": bowl(0.05)}, rates=[0.05, 0.1, 0.2, 0.4], seeds=range(3), progress=False
    )
    assert found["a"].rate == 0.2
    assert found["b"].rate == 0.05  # the grid grew by 0.025
    assert min(found["b"].tried) == 0.025
    mean, spread = found["a"].end()
    assert math.isclose(mean, 0.999)
    assert math.isclose(spread, 0.001, rel_tol=1e-6)
    assert [run.value for run in found["a"].runs] == [1.0, 0.999, 0.998]


def test_gradient_descent_on_a_parabola_is_best_at_the_inverse_of_its_curvature():
    def descend(curvature):
        def train(rate, seed):
            x, curve = 1.0 + seed, []
            for _ in range(20):
                x -= rate * curvature * x
                curve.append(min(curvature * x * x / 2, 1e300) if abs(x) < 1e150 else math.inf)
            return Run(curve)

        return train

    curved = {f"curvature {c}": descend(c) for c in (0.25, 1, 8)}
    found = sweep(curved, rates=around(1), seeds=range(2), goal="low", progress=False)
    assert [row.rate for row in found.rows.values()] == [4, 1, 0.125]


def test_a_best_rate_at_the_edge_is_an_error_unless_it_is_marked():
    rising = {"a": lambda rate, seed: Run([rate])}
    with pytest.raises(EdgeError, match=r"'a', 3.2, is the upper edge of its grid, 0.1 to 3.2"):
        sweep(rising, rates=[0.1, 0.2, 0.4], seeds=[0], widen=3, progress=False)
    found = sweep(rising, rates=[0.1, 0.2, 0.4], seeds=[0], widen=3, may_end_at_edge=["a"], progress=False)
    assert found["a"].edge
    assert "nothing may be concluded" in found["a"].marks()[0]
    falling = {"a": lambda rate, seed: Run([-rate])}
    with pytest.raises(EdgeError, match="lower edge"):
        sweep(falling, rates=[0.1, 0.2, 0.4], seeds=[0], widen=0, progress=False)


def test_a_diverged_rate_is_never_the_best_and_is_marked():
    def train(rate, seed):
        return Run([0.1, 0.5, NAN] if rate > 0.25 and seed == 1 else [0.1, rate, rate])

    found = sweep({"a": train}, rates=[0.1, 0.2, 0.4], seeds=range(2), flat=1, progress=False)
    assert found["a"].rate == 0.2
    assert found["a"].marks() == ["diverges from 0.4"]
    lost = sweep({"a": lambda rate, seed: Run([NAN])}, rates=[0.1, 0.2, 0.4], seeds=[0], progress=False)
    assert lost["a"].rate is None
    assert lost["a"].marks() == ["diverged at every rate"]
    assert "diverged at every rate" in repr(lost.as_table())


@pytest.mark.parametrize(
    ("goal", "curve", "marked"),
    [
        ("high", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8], True),
        ("high", [0.1, 0.5, 0.7, 0.8, 0.8, 0.8, 0.8, 0.8], False),
        ("high", [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2], False),
        ("low", [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2], True),
        ("high", [0.5], False),
    ],
)
def test_a_curve_that_still_improves_is_marked(goal, curve, marked):
    def train(rate, seed):
        return Run(curve, value=-abs(rate - 0.2) * (1 if goal == "high" else -1))

    found = sweep({"a": train}, rates=[0.1, 0.2, 0.4], seeds=range(2), goal=goal, progress=False)
    assert ("still improving" in found["a"].marks()) is marked


def test_equal_ends_are_told_apart_by_steps_and_steps_may_choose_alone():
    speed = {0.1: 40, 0.2: 30, 0.4: 10, 0.8: 20}

    def train(rate, seed):
        first = speed[rate] // 10
        return Run([0.0] * (first - 1) + [1.0] * (8 - first), every=10, value=1.0 - (rate == 0.2) * 0.001)

    how = {"rates": list(speed), "seeds": [0], "level": 0.9, "progress": False}
    assert sweep({"a": train}, **how)["a"].rate == 0.4
    assert sweep({"a": train}, **how)["a"].steps()[0] == 10
    assert sweep({"a": train}, choose="steps", **how)["a"].rate == 0.4

    def some_arrive(rate, seed):  # 0.2: both seeds arrive, slowly; 0.4: one does, at once
        if rate == 0.4:
            return Run([1.0 - seed] * 4)
        return Run([0, 0, 0, 1.0] if rate == 0.2 else [0.0] * 4)

    how = {"rates": [0.1, 0.2, 0.4], "seeds": [0, 1], "level": 0.9, "progress": False}
    row = sweep({"a": some_arrive}, choose="steps", flat=2, **how)["a"]
    assert (row.rate, row.arrived()) == (0.2, 2)


def test_a_finished_run_is_never_trained_again(tmp_path):
    calls, cache = [], tmp_path / "runs.json"
    how = {"rates": [0.1, 0.2, 0.4], "settings": {"steps": 8, "sizes": (1, 2)}, "cache": cache}
    first = sweep({"a": bowl(0.2, calls=calls)}, seeds=range(2), progress=False, **how)
    assert len(calls) == len(set(calls)) == 6
    second = sweep({"a": bowl(0.2, calls=calls)}, seeds=range(3), progress=False, **how)
    assert len(calls) == 9
    assert {seed for _, seed in calls[6:]} == {2}
    assert second["a"].rate == first["a"].rate
    assert second["a"].runs[0].curve == first["a"].runs[0].curve
    with pytest.raises(ValueError, match=r"cache .* holds runs of .a. with the settings"):
        sweep({"a": bowl(0.2)}, **how | {"seeds": [0], "settings": {"steps": 9}})


def test_an_interruption_costs_one_run(tmp_path):
    cache, calls = tmp_path / "runs.json", []

    def breaks(rate, seed):
        calls.append(rate)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return Run([NAN, 1 - abs(rate - 0.2)] if rate == 0.1 else [1 - abs(rate - 0.2)])

    how = {"rates": [0.1, 0.2, 0.4], "seeds": [0], "cache": cache, "progress": False}
    with pytest.raises(KeyboardInterrupt):
        sweep({"a": breaks}, **how)
    assert len(json.loads(cache.read_text())["runs"]) == 2
    found = sweep({"a": breaks}, **how)
    assert calls == [0.1, 0.2, 0.4, 0.4]
    assert found["a"].tried[0.1][0].diverged
    assert found["a"].rate == 0.2


def test_scouts_try_all_rates_and_the_others_only_the_best():
    calls = []
    found = sweep(
        {"a": bowl(0.2, calls=calls)}, rates=[0.1, 0.2, 0.4], seeds=range(5), scout=2, progress=False
    )
    assert len(calls) == 3 * 2 + 3
    assert len(found["a"].runs) == 5
    assert len(found["a"].tried[0.1]) == 2


def test_a_candidate_may_train_its_runs_side_by_side():
    class Side:
        def __init__(self):
            self.batches = []

        def together(self, pairs):
            self.batches.append(list(pairs))
            return [bowl(0.4)(rate, seed) for rate, seed in pairs]

    side = Side()
    found = sweep({"a": side}, rates=[0.1, 0.2, 0.4], seeds=range(2), progress=False)
    assert found["a"].rate == 0.4
    assert [len(batch) for batch in side.batches] == [6, 2]  # the grid, then the rate 0.8


def test_a_control_stands_beside_and_a_stored_comparison_comes_back(tmp_path):
    def with_extras(rate, seed):
        run = bowl(0.2)(rate, seed)
        return Run(run.curve, every=10, extras={"test": run.value / 2})

    how = {"rates": [0.1, 0.2, 0.4], "seeds": range(2), "level": 0.9, "measure": "right", "progress": False}
    found = sweep({"a": with_extras}, controls={"same start": bowl(0.1)}, settings={"steps": 8}, **how)
    head, rows = found.cells()
    assert head == ["", "best rate", "steps to 0.9", "right", "test", "marks"]
    assert rows[0] == ["a", "0.2", "30 ± 0", "1.00 ± 0.00", "0.50 ± 0.00", ""]
    assert rows[1][-1] == "control"
    assert rows[1][4] == "–"
    back = Comparison.from_dict(json.loads(json.dumps(found.as_dict(), allow_nan=False)))
    assert back.cells() == found.cells()
    assert back.note() == found.note()
    assert back["a"].tried[0.1][0].steps_to(0.9, "high") == 30
    assert back["a"].tried[0.1][0].curve == []
    back.plot()
    back.plot(against="rate")
    with pytest.raises(KeyError, match="no row is called 'b'; there are: a, same start"):
        back["b"]


def test_a_new_run_agrees_within_the_stored_spread_or_says_no():
    noise = {0: 0.0, 1: 0.03, 2: -0.03, 7: 0.05, 8: 0.5}

    def train(rate, seed):
        return Run([0.4 + noise[seed] - abs(rate - 0.2)])

    stored = sweep({"a": train}, rates=[0.1, 0.2, 0.4], seeds=range(3), progress=False)
    assert experiments.again(stored, {"a": train}, seeds=[7], progress=False).agree
    beside = experiments.again(stored, {"a": train}, seeds=[8], progress=False)
    assert not beside.agree
    assert list(beside.live["a"].tried) == [0.2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rates": [0.1, 0.3, 0.9]}, "common ratio of at most 2"),
        ({"rates": [0.1, 0.2]}, "at least 3 positive"),
        ({"rates": [0.1, 0.2, 0.3]}, "common ratio"),
        ({"seeds": []}, "at least one"),
        ({"scout": 3}, "scout at most their number"),
        ({"goal": "max"}, "'high' or 'low', got 'max'"),
        ({"choose": "best"}, "'end' or 'steps', got 'best'"),
        ({"controls": {"a": bowl(1)}}, r"names of their own, got \['a'\]"),
        ({"candidates": {}}, "at least one, got none"),
        ({"candidates": {"a": lambda rate, seed: 0.5}}, "'a' must return a Run, got float"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    given = {
        "candidates": {"a": bowl(0.2)},
        "rates": [0.1, 0.2, 0.4],
        "seeds": [0],
        "progress": False,
    } | changes
    with pytest.raises(ValueError, match=message):
        sweep(**given)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(((0,), {}), "centre"), (((1,), {"n": 4}), "odd"), (((1,), {"factor": 3}), "at most 2")],
)
def test_a_grid_that_would_miss_the_best_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        around(*arguments[0], **arguments[1])


def test_a_run_needs_something_to_say():
    with pytest.raises(ValueError, match="a curve or a value"):
        Run()
    with pytest.raises(ValueError, match="every must be at least 1"):
        Run([1.0], every=0)
    assert Run([0.0] * 18 + [0.5, 1.0]).value == 0.75  # the last tenth


def test_picking_keeps_test_figures_at_the_best_rate_alone():
    def train(rate, seed):
        return Run([1 - abs(rate - 0.2)], extras={"test": rate + seed, "seconds": 1.0})

    found = sweep({"a": train, "b": train}, rates=[0.1, 0.2, 0.4], seeds=[0, 1], progress=False)
    picked = found.pick({"test": "right"}, rows=["b"])
    assert list(picked.rows) == ["b"]
    assert picked["b"].rate == found["b"].rate == 0.2
    assert [run.extras for run in picked["b"].runs] == [{"right": 0.2}, {"right": 1.2}]
    assert all(not run.extras for rate in (0.1, 0.4) for run in picked["b"].tried[rate])
    assert picked["b"].end() == found["b"].end()
    with pytest.raises(KeyError, match="'c'"):
        found.pick({}, rows=["c"])


def test_a_sweep_keeps_and_tells_every_setting_of_its_candidates(tmp_path):
    """All fields with a default, but those at which nothing is done and those that the row's name tells."""
    kinds = [
        {"√d": experiments.Retrieval(steps=10), "nothing": experiments.Retrieval(steps=10, scale=1.0)},
        {"1": Hops(1), "2": Hops(2), "wide": Hops(1, d_model=128)},
        {"all": Relay(2, (0, 1)), "longer": Relay(2, (0, 1), steps=2000)},
        {"softmax": Recall.of("softmax"), "64": Recall.of("FAVOR+", features=64)},
        {"days": Days("gate")},
        {"two": experiments.TwoPlaces(2, 8)},
        {"dates": experiments.Translation("fixed", {"d_hidden": 64})},
    ]
    for candidates in kinds:
        rows = {
            name: Row(name, 0.1, {0.1: [Run([0.5])]}, settings=settings.settings_of(one))
            for name, one in candidates.items()
        }
        stored = json.loads(json.dumps(Comparison(rows).as_dict()))
        back = Comparison.from_dict(stored)
        for name, one in candidates.items():
            wanted = {f.name for f in fields(one) if f.default is not MISSING}
            assert wanted <= set(back[name].settings), (name, wanted - set(back[name].settings))
            assert back[name].settings == json.loads(json.dumps(rows[name].settings))
            for key in wanted - set(settings.BY_NAME) - {"every"}:
                value = back[name].settings[key]
                if value != settings.QUIET.get(key, ...):
                    assert settings._say(key, value) in back.note(), (name, key, back.note())
    note = Comparison({"a": Row("a", 0.1, {0.1: [Run([0.5] * 4, every=5)]})}).note()
    assert note == "1 learning rates a row; one seed; looked at every 5 steps."


def test_a_note_leaves_out_what_the_names_of_the_rows_tell():
    rows = {
        name: Row(name, 0.1, {0.1: [Run([0.5])]}, settings={"part": part, "steps": 9})
        for name, part in {"whole": "", "no norm": "norm"}.items()
    }
    assert "Part: none or norm" in comparison.note([Comparison(rows)])
    assert comparison.note([Comparison(rows)], but=["part"]) == comparison.note(
        [Comparison({name: replace(row, settings={"steps": 9}) for name, row in rows.items()})]
    )
