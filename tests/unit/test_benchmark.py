"""The measuring instruments, held to what is known without measuring."""

import itertools
import json
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from attnbook import benchmark


def test_candidates_take_turns_and_another_one_starts_every_round():
    calls = []
    result = benchmark.compare(
        {name: (lambda name=name: calls.append(name)) for name in "abc"}, repeats=4, warmup=2
    )
    rounds = list(itertools.batched(calls, 3)) if hasattr(itertools, "batched") else [
        tuple(calls[at : at + 3]) for at in range(0, len(calls), 3)
    ]  # fmt: skip
    assert len(rounds) == 6
    assert all(sorted(turn) == ["a", "b", "c"] for turn in rounds)
    assert [turn[0] for turn in rounds[2:]] == ["a", "b", "c", "a"]
    assert {name: len(values) for name, values in result.seconds.items()} == {"a": 4, "b": 4, "c": 4}


def test_the_longest_chain_is_counted_on_forks_and_beyond_pythons_stack():
    x = torch.ones(2, requires_grad=True)
    short, long = x.exp(), x
    for _ in range(3000):
        long = long + 1
    assert benchmark.longest_chain(long) == 3001  # one more for x itself
    assert benchmark.longest_chain(short * long) == 3002
    assert benchmark.longest_chain((x * x).sum()) == 3
    with pytest.raises(ValueError, match="nothing was recorded"):
        benchmark.longest_chain(torch.ones(2))


def test_the_clock_given_is_the_one_that_is_read():
    ticks = itertools.accumulate(itertools.cycle([0.0, 2.0, 0.0, 5.0]))  # between two readings: 2 s, 5 s
    clock = iter(ticks)
    result = benchmark.compare(
        {"a": lambda: None, "b": lambda: None}, repeats=1, warmup=0, clock=lambda: next(clock)
    )
    assert result.seconds == {"a": [2.0], "b": [5.0]}


def test_a_ratio_is_taken_within_rounds_so_that_a_slow_machine_cancels():
    machine = [1.0, 50.0, 2.0]
    result = benchmark.Comparison({"slow": [30.0, 100.0, 6.0], "fast": machine})
    assert result.ratio("slow", "fast") == 3  # of 30, 2 and 3; the medians, 30 and 2, would say 15
    assert result.median("fast") == 2
    assert result.spread("fast") == 0.5
    summary = result.summary("slow")
    assert summary["fast"] == {"median": 2.0, "spread": 0.5, "times base": 3.0}
    assert summary["slow"]["times base"] == 1
    assert "times base" not in result.summary()["fast"]


def test_slope_and_its_error_are_those_of_a_least_squares_fit():
    torch.manual_seed(0)
    n = [512, 1024, 2048, 4096, 8192]
    y = [3e-6 * size**1.5 * math.exp(0.1 * e) for size, e in zip(n, torch.randn(5).tolist(), strict=True)]
    (want, start), covariance = np.polyfit(np.log(n), np.log(y), 1, cov=True)
    fit = benchmark.slope(n, y)
    assert math.isclose(fit.exponent, want, rel_tol=1e-9)
    assert math.isclose(fit.factor, math.exp(start), rel_tol=1e-9)
    assert math.isclose(fit.error, math.sqrt(covariance[0, 0]), rel_tol=1e-6)
    assert math.isnan(benchmark.slope([1, 2], [1, 4]).error)


def test_peak_memory_sees_what_is_gone_again_but_not_what_was_there():
    setup = "import numpy\nkept = numpy.ones(30_000_000)"  # 240 MB
    used = benchmark.peak_memory("numpy.ones(10_000_000)\nnumpy.ones(10_000_000)", setup)  # 80 MB, twice
    assert 70e6 < used < 110e6


def test_peak_memory_hands_on_the_message_of_a_failure():
    with pytest.raises(RuntimeError, match="no such luck"):
        benchmark.peak_memory("raise SystemError('no such luck')")


def test_provenance_names_machine_and_versions():
    facts = benchmark.provenance("hypothesis", "no-such-package")
    assert facts["threads"] == torch.get_num_threads()
    assert facts["packages"]["no-such-package"] is None
    assert facts["packages"]["hypothesis"]
    assert facts["processor"]


def test_store_writes_whole_files_and_refuses_nan(tmp_path):
    path = tmp_path / "new" / "results.json"
    benchmark.store(path, {"a": [1, 2.5]})
    assert json.loads(path.read_text()) == {"a": [1, 2.5]}
    with pytest.raises(ValueError, match=r"Out of range|not JSON compliant"):
        benchmark.store(path, {"a": math.nan})
    assert json.loads(path.read_text()) == {"a": [1, 2.5]}
    assert [p.name for p in path.parent.iterdir()] == ["results.json"]


def test_one_round_warms_up_unless_more_are_asked_for():
    calls = []
    benchmark.compare({"a": lambda: calls.append(1)}, repeats=2)
    assert len(calls) == 3


def test_a_clock_too_coarse_to_move_divides_nothing_by_zero():
    still = benchmark.compare({"a": int, "b": int}, repeats=1, clock=lambda: 7.0)
    assert still.ratio("a", "b") == 1


def test_a_gpu_is_waited_for_before_each_reading_of_the_clock(monkeypatch):
    seen = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: seen.append("wait"))

    def clock():
        seen.append("clock")
        return 0.0

    benchmark.compare({"a": lambda: seen.append("run")}, repeats=1, warmup=0, clock=clock)
    assert seen == ["wait", "clock", "run", "wait", "clock"]


def test_peak_memory_does_not_hide_below_a_peak_of_the_setup():
    setup = "import numpy\nnumpy.ones(30_000_000)"  # 240 MB, gone again
    assert 70e6 < benchmark.peak_memory("numpy.ones(10_000_000)", setup) < 110e6


def test_an_interrupted_store_leaves_the_old_file_whole(tmp_path, monkeypatch):
    path = tmp_path / "results.json"
    benchmark.store(path, {"a": 1})
    whole = Path.write_text

    def interrupted(self, text):
        whole(self, text[:3])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", interrupted)
    with pytest.raises(KeyboardInterrupt):
        benchmark.store(path, {"a": 2})
    assert json.loads(path.read_text()) == {"a": 1}


def test_provenance_names_the_gpu_and_its_torch(monkeypatch):
    assert benchmark.provenance()["torch"] == torch.__version__
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a GPU")
    assert benchmark.provenance()["gpu"] == "a GPU"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: benchmark.compare({}), "candidates must name at least one function, got none"),
        (lambda: benchmark.compare({"a": int}, repeats=0), "repeats must be at least 1, got 0"),
        (lambda: benchmark.slope([1, 1], [1, 2]), "must be equally long and hold two sizes"),
        (lambda: benchmark.slope([1, 2, 3], [1, 2]), "got 3 and 2 numbers"),
        (lambda: benchmark.slope([1, 2], [0, 1]), "must be positive"),
        (lambda: benchmark.slope([0, 2], [1, 1]), "must be positive"),
    ],
)
def test_errors_say_what_was_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_multiplications_of_fused_attention_are_those_of_the_formula():
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 3, n, 8).requires_grad_() for n in (5, 7, 7))
    fused = partial(torch.nn.functional.scaled_dot_product_attention, q, k, v)
    forward = 2 * 3 * 2 * 5 * 7 * 8  # batch, heads; scores and output; queries, keys, width
    assert benchmark.multiplications(fused) == forward
    assert benchmark.multiplications(lambda: fused().sum().backward()) == forward + 5 * forward // 2
