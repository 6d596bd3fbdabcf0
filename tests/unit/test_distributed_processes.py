"""Processes that are started, run together and end: also when one of them dies, hangs or raises."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch

from attnbook.tagging import grammar
from attnlab.distributed import ProcessError, Processes, run

from .distributed_jobs import train_alone

SOURCE = Path(__file__).with_name("distributed_jobs.py").read_text(encoding="utf-8")


def lives(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_what_each_returns_comes_back_in_order():
    assert [(rank, x) for rank, _, x in run(SOURCE, 3, "add", 4)] == [(rank, 5) for rank in range(3)]
    assert (
        run("def main(comm): return comm.all_reduce(__import__('torch').ones(2), 'x').tolist()", 2)
        == [[2.0, 2.0]] * 2
    )


def test_they_are_started_once_and_end_with_their_block():
    with Processes(2) as processes:
        pids = processes.pids
        for x in (1, 2):
            assert [pid for _, pid, _ in processes.run(SOURCE, "add", x)] == pids
    assert not any(map(lives, pids))
    with pytest.raises(RuntimeError, match="have ended: start others"):
        processes.run(SOURCE, "add", 1)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("raises", r"rank 1 raised an error\. All have been ended.*waits for a second sum(?s:.*)can't count"),
        ("dies", "rank 1 was ended by SIGKILL; its last words: 'is about to fail'.*waits for a second sum"),
        ("leaves", "rank 1 ended with 3; its last words: 'is about to fail'"),
        ("hangs", "after 4 s rank 1 has not ended; its last words: 'is about to fail'.*rank 0: 'waits for"),
    ],
)
def test_one_that_fails_ends_all_and_is_named(how, told):
    processes = Processes(3)
    pids = processes.pids
    with pytest.raises(ProcessError, match=told) as failed:
        processes.run(SOURCE, "fail", 1, how, limit=4 if how == "hangs" else 100)
    assert failed.value.rank == 1
    assert not any(map(lives, pids))


def test_one_that_was_killed_between_two_runs_is_named():
    processes = Processes(2)
    pids = processes.pids
    os.kill(pids[0], signal.SIGKILL)
    with pytest.raises(ProcessError, match="rank 0 was ended by SIGKILL") as failed:
        processes.run(SOURCE, "add", 1)
    assert failed.value.rank == 0
    assert not any(map(lives, pids))


def test_the_error_of_the_function_shows_its_line():
    with pytest.raises(ProcessError, match=r"return 1 / 0\n(?s:.*)ZeroDivisionError"):
        run("def main(comm):\n    return 1 / 0\n", 1)


def test_what_no_process_can_know_is_refused(monkeypatch):
    with pytest.raises(ProcessError, match=r"the source must define a function main\(comm, ...\)"):
        run("x = 1\n", 1)
    with Processes(1) as one:
        with pytest.raises(ValueError, match="job and args must be known to other processes"):
            one.run(lambda comm: 1)
        cell = type(lives)(lives.__code__, {}, "cell")
        cell.__module__ = "__main__"
        monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
        with pytest.raises(ValueError, match="no other process can see cell, which a cell defines: give its"):
            one.run(cell)


def test_a_script_runs_its_own_functions_and_nothing_outlives_it(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
            import os, signal
            from attnlab.distributed import Processes

            def mine(comm, x):
                return comm.rank + x

            if __name__ == "__main__":
                processes = Processes(2)
                print(processes.run(mine, 10), flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
        """)
    )
    # All of its processes hold the other end of this pipe: it is read to its end when the last one is gone.
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.returncode) == ("[10, 11]\n", -signal.SIGKILL), done.stderr


# --- what torch brings -------------------------------------------------------------------------------------


def test_taggers_trained_together_are_the_one_trained_alone(processes):
    sentences = grammar.sample(40, seed=1)
    want = train_alone(sentences, seed=0)
    for got in processes(2, "train_together", sentences, 0, True):
        for name, parameter in want.items():
            torch.testing.assert_close(got[name], parameter, rtol=1e-9, atol=1e-9)


def test_a_mean_of_means_is_another_training(processes):
    # Parts of a batch have unequal numbers of words, and the mean over processes weighs them alike.
    sentences = grammar.sample(40, seed=1)
    want, got = train_alone(sentences, seed=0), processes(2, "train_together", sentences, 0, False)[0]
    assert max((got[name] - want[name]).abs().max() for name in want) > 1e-4


def test_torchs_own_context_parallel_does_not_run_on_a_cpu(processes):
    for said in processes(2, "torchs_own"):
        assert isinstance(said, str), (
            "torch now splits its fused attention on a CPU: compare both tensors of this result here, say so "
            "in the chapter on many devices, and show it beside ring_attention"
        )
        assert "sharding strategy" in said, said
