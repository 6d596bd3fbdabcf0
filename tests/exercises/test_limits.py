"""What a right answer counts of each limit on work, and what one does that is forbidden: ten times apart."""

import math
import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))

from answers import (
    costs_online,
    costs_scan,
    costs_tiles,
    linear_running_state,
    saturation_backward,
    sparse_block_window,
    sparse_stride,
)
from stored import SOLUTIONS, run

from attnlab.checks import EXERCISES, running
from attnlab.checks.exercise import Limit
from attnlab.checks.instruments import Memory, Work


def solution(name):
    return run(SOLUTIONS[name])[EXERCISES[name].answer]


def counted(name, what, case, answer):
    """What an answer counts in a case, as the engine counts it: not in its first call."""
    instrument = Memory() if what == "bytes" else Work()
    for work in (None, instrument):
        outcome = running.run(answer, case.make, work=work, seconds=60.0)
        assert not outcome.trouble, outcome.trouble
    return getattr(instrument, what)


STATE, WINDOW, STRIDE = "linear-running-state", "sparse-block-window", "sparse-stride"
COUNTED = {
    # exercise, measure -> a right answer, and one that does what is forbidden; NumPy's where it is about bytes
    ("costs-scan", "steps"): (solution("costs-scan"), costs_scan.walk_over(4)),
    ("costs-scan", "largest"): (costs_scan.odd_and_even, lambda a, x: (a[:, None] * torch.ones(len(x), len(x)).tril()) @ x),
    ("costs-online", "held"): (solution("costs-online"), costs_online.all_scores(lambda s: s)),
    ("costs-online", "bytes"): (costs_online.by_logs, costs_online.all_scores(lambda s: s.tolist())),
    ("costs-tiles", "held"): (solution("costs-tiles"), costs_tiles.whole_rows),
    ("costs-tiles", "bytes"): (costs_tiles.in_arrays, costs_tiles.whole_rows_in_numpy),
    (STATE, "made"): (solution(STATE), linear_running_state.all_stored_keys_again),
    (STRIDE, "largest"): (solution(STRIDE), sparse_stride.table),
    (STRIDE, "bytes"): (sparse_stride.in_numpy, sparse_stride.numpy_masks),
    (WINDOW, "largest"): (solution(WINDOW), sparse_block_window.dense),
    (WINDOW, "bytes"): (solution(WINDOW), sparse_block_window.by_bytes),
    (WINDOW, "made"): (solution(WINDOW), sparse_block_window.dense_in_pieces(32)),
    ("saturation-backward", "largest"): (solution("saturation-backward"), lambda s, t, g: ((s.softmax(-1)[..., None] * s.softmax(-1)[..., None, :]) @ g[..., None])[..., 0]),
    ("saturation-backward", "bytes"): (saturation_backward.in_lists, saturation_backward.by_numpy_matrix),
}  # fmt: skip


def test_every_limit_has_its_two_counts():
    limits = {
        (name, p.what) for name, task in EXERCISES.items() for p in task.promises if isinstance(p, Limit)
    }
    assert limits == set(COUNTED)


@pytest.mark.parametrize(("name", "what"), COUNTED, ids=" ".join)
def test_the_honest_and_the_forbidden_answer_lie_ten_times_apart(name, what, capsys):
    task = EXERCISES[name]
    limit = next(p for p in task.promises if isinstance(p, Limit) and p.what == what)
    apart = []
    for case in task.cases:
        most = limit.most(**case.make())
        if most < math.inf:
            honest, forbidden = (counted(name, what, case, answer) for answer in COUNTED[name, what])
            with capsys.disabled():
                print(f"\n{name}, {what}: {honest:,} honest, {forbidden:,} forbidden, at most {most:,.0f}")
            assert honest <= most < forbidden
            apart.append(forbidden / honest)
    assert max(apart) >= 10
