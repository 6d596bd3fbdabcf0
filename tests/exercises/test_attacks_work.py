"""Answers that got round a limit on work, or were refused for work they did not do; and what each of them counts."""

import math
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).parent))

from answers.costs_online import all_scores, by_logs
from answers.costs_scan import odd_and_even, walk_over
from answers.costs_tiles import in_arrays, whole_rows, whole_rows_in_numpy
from answers.linear_running_state import all_stored_keys_again
from answers.saturation_backward import by_numpy_matrix
from answers.saturation_backward import in_lists as lists_of_scores
from stored import SOLUTIONS, run
from test_attacks_sparse import dense_in_pieces, in_numpy, numpy_masks, table

from attnlab import attention, masks
from attnlab.checks import EXERCISES, running
from attnlab.checks.exercise import Limit
from attnlab.checks.instruments import Memory, Work


def solution(name):
    return run(SOLUTIONS[name])[EXERCISES[name].answer]


def in_a_thread(answer):
    """Another thread does the work."""

    def elsewhere(*arguments):
        found = []
        thread = threading.Thread(target=lambda: found.append(answer(*arguments)))
        thread.start()
        thread.join()
        return found[0]

    return elsewhere


def by_slices(q, k, v, w):
    """Block after block, each against a slice of the keys."""
    out, n = [], q.shape[-2]
    for i in range(0, n, w):
        a, e = max(0, i - w), min(n, i + w)
        s = q[..., i:e, :] @ k[..., a:e, :].mT / q.shape[-1] ** 0.5
        back = torch.arange(i, e)[:, None] - torch.arange(a, e)
        s = s.masked_fill((back < 0) | (back > w), -math.inf)
        out.append(s.softmax(-1) @ v[..., a:e, :])
    return torch.cat(out, -2)


def text_after_text(q, k, v, w):
    """The same with the batch laid flat, and a loop over it."""
    *lead, n, _ = q.shape
    q, k, v = (x.reshape(-1, n, x.shape[-1]) for x in (q, k, v))
    return torch.stack([by_slices(q[b], k[b], v[b], w) for b in range(len(q))]).reshape(*lead, n, v.shape[-1])


def token_after_token(q, k, v, w):
    rows = []
    for i in range(q.shape[-2]):
        a = max(0, i - w)
        s = q[..., i : i + 1, :] @ k[..., a : i + 1, :].mT / q.shape[-1] ** 0.5
        rows.append(s.softmax(-1) @ v[..., a : i + 1, :])
    return torch.cat(rows, -2)


def dense(q, k, v, w):
    return attention(q, k, v, mask=masks.window(q.shape[-2], w, 0))


def a_table_of_yes_and_no(q, k, v, w):
    """NumPy's smallest table of all pairs: a byte each."""
    n = q.shape[-2]
    seen = np.zeros((n, n + w), dtype=bool)
    for i in range(n):
        seen[i, max(i, w) : i + w + 1] = True
    band = torch.from_numpy(np.stack([seen[i, i : i + w + 1] for i in range(n)]))
    k, v = (F.pad(x, (0, 0, w, 0)).unfold(-2, w + 1, 1) for x in (k, v))
    s = (q[..., None] * k).sum(-2) / q.shape[-1] ** 0.5
    return (s.masked_fill(~band, -math.inf).softmax(-1)[..., None, :] * v).sum(-1)


def rows_counted(n):
    """For each stride, row by row, and no table: right, and slow."""

    def pairs(s):
        return sum(int(((torch.arange(i + 1) <= s) | (torch.arange(i + 1) % s == 0)).sum()) for i in range(n))

    return min(range(1, n + 1), key=pairs)


def bytes_of_yes_and_no(n):
    found = []
    for s in range(1, n + 1):
        seen = np.zeros((n, n), dtype=bool)
        for i in range(n):
            back = i - np.arange(n)
            seen[i] = (back >= 0) & ((back <= s) | (back % s == 0))
        found.append(int(seen.sum()))
    return found.index(min(found)) + 1


STATE, WINDOW, STRIDE = "linear-running-state", "sparse-block-window", "sparse-stride"
ATTACKS = [
    ("slices", WINDOW, "right", "", by_slices),
    ("slices of one text after the other", WINDOW, "right", "", text_after_text),
    ("one token after the other", WINDOW, "right", "", token_after_token),
    ("a table in a thread", WINDOW, "wrong", "n² entries", in_a_thread(dense)),
    ("a byte a pair", WINDOW, "wrong", "n² entries", a_table_of_yes_and_no),
    ("row by row", STRIDE, "right", "", rows_counted),
    ("a byte a pair", STRIDE, "wrong", "tables of n × n numbers", bytes_of_yes_and_no),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "status", "message", "answer"),
    [a[1:] for a in ATTACKS],
    ids=[f"{a[1]}: {a[0]}" for a in ATTACKS],
)
def test_an_attack_is_judged_rightly(judged, name, status, message, answer):
    judged(name, status, message, answer)


def counted(name, what, case, answer):
    """What an answer counts in a case, as the engine counts it: not in its first call."""
    instrument = Memory() if what == "bytes" else Work()
    for work in (None, instrument):
        outcome = running.run(answer, case.make, work=work, seconds=60.0)
        assert not outcome.trouble, outcome.trouble
    return getattr(instrument, what)


COUNTED = {
    # exercise, measure -> a right answer, and one that does what is forbidden; NumPy's where it is about bytes
    ("costs-scan", "steps"): (solution("costs-scan"), walk_over(4)),
    ("costs-scan", "largest"): (odd_and_even, lambda a, x: (a[:, None] * torch.ones(len(x), len(x)).tril()) @ x),
    ("costs-online", "held"): (solution("costs-online"), all_scores(lambda s: s)),
    ("costs-online", "bytes"): (by_logs, all_scores(lambda s: s.tolist())),
    ("costs-tiles", "held"): (solution("costs-tiles"), whole_rows),
    ("costs-tiles", "bytes"): (in_arrays, whole_rows_in_numpy),
    (STATE, "made"): (solution(STATE), all_stored_keys_again),
    (STRIDE, "largest"): (solution(STRIDE), table),
    (STRIDE, "bytes"): (in_numpy, numpy_masks),
    (WINDOW, "largest"): (solution(WINDOW), dense),
    (WINDOW, "bytes"): (solution(WINDOW), a_table_of_yes_and_no),
    (WINDOW, "made"): (solution(WINDOW), dense_in_pieces(32)),
    ("saturation-backward", "largest"): (solution("saturation-backward"), lambda s, t, g: ((s.softmax(-1)[..., None] * s.softmax(-1)[..., None, :]) @ g[..., None])[..., 0]),
    ("saturation-backward", "bytes"): (lists_of_scores, by_numpy_matrix),
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
