"""What a right answer and a forbidden one count, for each limit on work: they lie ten times apart."""

import math
import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))

from answers.costs_online import all_scores, by_logs
from answers.costs_scan import odd_and_even, walk_over
from answers.costs_tiles import in_arrays, whole_rows, whole_rows_in_numpy
from answers.devices_ring import a_mask_of_the_whole_text
from answers.heads_latent import arrays, keys_in_arrays, with_keys
from answers.linear_running_state import all_stored_keys_again
from answers.saturation_backward import by_numpy_matrix
from answers.saturation_backward import in_lists as lists_of_scores
from answers.sparse_block_window import a_byte_a_pair, dense, rows_at_a_time
from answers.sparse_stride import by_rows_of_numpy, masks_of_numpy, table
from answers.today_latent import keys_and_values
from stored import SOLUTIONS, run

from attnbook.checks import EXERCISES, running
from attnbook.checks.exercise import Limit
from attnbook.checks.instruments import Memory, Work


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
    ("costs-scan", "steps"): (solution("costs-scan"), walk_over(4)),
    ("costs-scan", "largest"): (odd_and_even, lambda a, x: (a[:, None] * torch.ones(len(x), len(x)).tril()) @ x),
    ("costs-online", "held"): (solution("costs-online"), all_scores(lambda s: s)),
    ("costs-online", "bytes"): (by_logs, all_scores(lambda s: s.tolist())),
    ("costs-tiles", "held"): (solution("costs-tiles"), whole_rows),
    ("costs-tiles", "bytes"): (in_arrays, whole_rows_in_numpy),
    ("devices-ring", "largest"): (solution("devices-ring"), a_mask_of_the_whole_text),
    ("heads-latent", "made"): (solution("heads-latent"), with_keys),
    ("heads-latent", "bytes"): (arrays, keys_in_arrays),
    (STATE, "made"): (solution(STATE), all_stored_keys_again),
    (STRIDE, "largest"): (solution(STRIDE), table),
    (STRIDE, "bytes"): (by_rows_of_numpy, masks_of_numpy),
    (WINDOW, "largest"): (solution(WINDOW), dense),
    (WINDOW, "bytes"): (solution(WINDOW), a_byte_a_pair),
    (WINDOW, "made"): (solution(WINDOW), rows_at_a_time(32)),
    ("saturation-backward", "largest"): (solution("saturation-backward"), lambda s, t, g: ((s.softmax(-1)[..., None] * s.softmax(-1)[..., None, :]) @ g[..., None])[..., 0]),
    ("saturation-backward", "bytes"): (lists_of_scores, by_numpy_matrix),
    ("today-latent", "made"): (solution("today-latent"), keys_and_values),
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
