"""What the exercises' instruments count, on both sides; and that a call which does not stop is ended."""

import contextlib
import gc
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attnbook.checks import deadline
from attnbook.checks.deadline import Endless, within
from attnbook.checks.instruments import Calls, Memory, Work

X = torch.arange(30.0).reshape(6, 5)
ATEN = torch.ops.aten


def work_of(call):
    with Work() as work:
        call()
    return work


@pytest.mark.parametrize(
    "view",
    [
        lambda: X.mT,
        lambda: X[1:3],
        lambda: X[2],
        lambda: X[:, None].expand(6, 1000, 5),
        lambda: X.view(5, 6),
        lambda: X.reshape(30),
        lambda: X.unfold(0, 3, 1),
        lambda: X.split(2),
        lambda: X.unbind(),
        lambda: X.detach(),
        lambda: X.diagonal(),
        lambda: X.contiguous(),
        lambda: X.to(torch.float32),
        lambda: torch.broadcast_tensors(X, X[:, None]),
        lambda: ATEN.alias.default(X),
    ],
)
def test_a_view_costs_nothing(view):
    work = work_of(view)
    assert (work.made, work.held, work.largest, work.steps) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("made", "numbers"),
    [
        (lambda: X.clone(), 30),
        (lambda: X.mT.reshape(30), 30),
        (lambda: X.mT.contiguous(), 30),
        (lambda: X[:, None].expand(6, 7, 5).reshape(-1), 210),
        (lambda: X.unfold(0, 3, 1).flatten(), 60),
        (lambda: X[torch.tensor([1, 4])], 10),
        (lambda: X + 1, 30),
        (lambda: X @ X.mT, 36),
        (lambda: torch.einsum("id,jd->ij", X, X), 36),
        (lambda: torch.zeros(7), 7),
        (lambda: torch.cat((X, X)), 60),
        (lambda: X.to(torch.float64), 30),
        (lambda: X.topk(2), 24),
        (lambda: ATEN.mul.Tensor(X, X), 30),
        (lambda: ATEN.mul(X, X), 30),
        (lambda: torch.func.vmap(lambda row: 2 * row)(X), 30),
        (lambda: torch._foreach_add([X, X], 1.0), 60),
        (lambda: F.pad(X, (0, 0, 2, 0)), 40),
    ],
)
def test_new_numbers_count_once(made, numbers):
    assert work_of(made).made == numbers


@pytest.mark.parametrize(
    ("write", "numbers"),
    [
        (lambda x: x.copy_(X), 30),
        (lambda x: x.mul_(2), 30),
        (lambda x: x[2].mul_(2), 5),
        (lambda x: x.__setitem__(2, X[0]), 5),
        (lambda x: x.__setitem__(torch.tensor([1, 4]), X[:2]), 10),
        (lambda x: x.index_copy_(0, torch.tensor([3]), X[:1]), 5),
        (lambda x: torch.mul(X, X, out=x), 30),
        (lambda x: torch.add(X[:2], 1, out=x[:2]), 10),
        (lambda x: x.t_(), 0),
    ],
)
def test_what_is_written_in_place_counts_and_no_more(write, numbers):
    x = X.clone()
    work = work_of(lambda: write(x))
    assert work.made == numbers
    assert work.held <= 2  # an index


def test_memory_that_nobody_has_written_is_held_and_not_made():
    work = work_of(lambda: torch.empty(100))
    assert (work.made, work.held, work.largest, work.steps) == (0, 100, 100, 0)

    def filled():
        out = torch.empty(6, 5)
        for i in range(6):
            out[i] = X[i]

    assert work_of(filled).made == 30


def test_what_is_held_counts_though_it_was_made_bit_by_bit():
    with Work() as kept:
        parts = [torch.ones(10) * i for i in range(20)]
    with Work() as let_go:
        for part in parts:
            part * 2
    assert kept.held >= 200
    assert let_go.held <= 20
    assert kept.made == let_go.made * 2  # ones and product, product alone


def test_work_in_threads_that_start_meanwhile_counts_too():
    def alone():
        thread = threading.Thread(target=lambda: X * X)
        thread.start()
        thread.join()

    def pool():
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(lambda i: X * i, range(3)))

    before = threading.gettrace(), threading.getprofile()
    assert (work_of(alone).made, work_of(pool).made) == (30, 90)
    with Calls([torch.cumsum]) as calls:
        thread = threading.Thread(target=torch.cumsum, args=(X, 0))
        thread.start()
        thread.join()
    assert calls.seen == ["cumsum"]
    assert (threading.gettrace(), threading.getprofile()) == before
    assert work_of(lambda: X * X).made == 30  # in this thread once


def test_numpy_and_python_are_found_by_their_bytes_alone():
    assert work_of(lambda: np.ones((50, 50)) @ np.ones((50, 50))).made == 0
    with Memory() as memory:
        made = np.ones((50, 50)) @ np.ones((50, 50))
    assert made.nbytes <= memory.bytes <= 4 * made.nbytes
    with Memory() as memory:
        torch.ones(100_000)
    assert memory.bytes < 10_000


def test_calls_are_heard_by_every_name_and_in_a_module():
    fused = F.scaled_dot_product_attention
    q = X[None]
    for call in (
        lambda: fused(q, q, q),
        lambda: ATEN.scaled_dot_product_attention(q, q, q),
        lambda: ATEN.scaled_dot_product_attention.default(q, q, q),
    ):
        with Calls([fused]) as calls:
            call()
        assert calls.seen == ["scaled_dot_product_attention"]
    with Calls(["torch.nn.modules"]) as calls:
        torch.nn.Identity()(X)
    assert calls.seen == ["torch.nn.modules"]


def spins():
    while True:
        pass


def catches():
    while True:
        try:  # noqa: SIM105
            gc.isenabled()
        except BaseException:
            pass


def catches_thrice():
    while True:
        try:
            while True:
                try:
                    while True:
                        try:
                            sum(range(99))
                        except BaseException:
                            continue
                except BaseException:
                    gc.isenabled()
        except BaseException as error:
            del error


def suppresses():
    while True:
        with contextlib.suppress(BaseException):
            while True:
                sum(range(99))


def calls_itself():
    try:
        while True:
            pass
    except BaseException:
        calls_itself()


def returns():
    try:
        spins()
    except BaseException:
        return 7


def raises_another():
    try:
        spins()
    except BaseException as error:
        raise ValueError("never mind") from error


def finally_goes_on():
    while True:
        try:
            gc.isenabled()
        finally:
            continue  # noqa: B012


@pytest.mark.parametrize(
    "endless",
    [spins, catches, catches_thrice, suppresses, calls_itself, returns, raises_another, finally_goes_on],
)
def test_what_does_not_stop_is_ended_whatever_it_catches(endless):
    before = sys.gettrace()
    with pytest.raises(Endless):
        within(0.1, endless)
    sum(range(10**6))  # nothing arrives later
    assert sys.gettrace() is before
    assert within(1.0, lambda: 5) == 5


def test_an_import_takes_as_long_as_it_takes(tmp_path, monkeypatch):
    (tmp_path / "slow_to_import.py").write_text(
        "import time\nend = time.process_time() + 0.6\nwhile time.process_time() < end:\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    def imports():
        import slow_to_import

        return slow_to_import.end

    assert within(0.2, imports) > 0


def test_who_waits_instead_of_computing_is_ended_by_the_clock(monkeypatch):
    monkeypatch.setattr(deadline, "LONGEST", 0.3)

    def waits():
        while True:
            threading.Event().wait(0.01)

    with pytest.raises(Endless):
        within(0.1, waits)
