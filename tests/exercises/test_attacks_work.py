"""Answers that got round a limit on work, or were refused for work they did not do; and what each of them counts."""

import functools
import math
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).parent))

from answers.saturation_backward import by_numpy_matrix
from answers.saturation_backward import in_lists as lists_of_scores
from stored import SOLUTIONS, run
from test_attacks_costs import by_logs, in_arrays, in_plain_numbers, odd_and_even
from test_attacks_linear import all_weights, powers, with_ones
from test_attacks_sparse import dense_in_pieces, in_numpy, numpy_masks, table

from attnlab import attention, masks
from attnlab.checks import EXERCISES, running
from attnlab.checks.exercise import Limit
from attnlab.checks.instruments import Memory, Work


def solution(name):
    return run(SOLUTIONS[name])[EXERCISES[name].answer]


def walk_over_pairs(size):
    """A few rounds of doubling, then n/size steps one after the other."""

    def recurrence(a, x):
        n, gates, step = len(x), a[:, None], 1
        while step < size:
            back = (0, 0, step, 0)
            x, gates = x + gates * F.pad(x, back)[:n], gates * F.pad(gates, back, value=1.0)[:n]
            step *= 2
        h, out = torch.zeros(size, x.shape[1], dtype=x.dtype), []
        for i in range(0, n, size):
            h = x[i : i + size] + gates[i : i + size] * h[: n - i]
            out.append(h)
        return torch.cat(out)

    return recurrence


def all_scores_kept(tiles):
    """The values are summed up as they come, with one running maximum; the scores are kept."""
    largest, total, scores = torch.tensor(-math.inf), 0.0, []
    for s, v in tiles:
        new = torch.maximum(largest, s.max())
        total, largest = total * (largest - new).exp() + (s - new).exp() @ v, new
        scores.append(s)
    return total / (torch.cat(scores) - largest).exp().sum()


def all_scores_in(form):
    def online_attention(tiles):
        largest, total, scores = torch.tensor(-math.inf), 0.0, []
        for s, v in tiles:
            new = torch.maximum(largest, s.max())
            total, largest = total * (largest - new).exp() + (s - new).exp() @ v, new
            scores.append(form(s))
        return total / (torch.cat([torch.as_tensor(s, dtype=v.dtype) for s in scores]) - largest).exp().sum()

    return online_attention


def whole_rows(read, n, size, tiles=torch.cat):
    """One softmax over whole rows of scores; the values are streamed."""
    for i in range(0, n, size):
        q = read("queries", i, i + size)
        scores = [q @ read("keys", j, j + size).mT / q.shape[1] ** 0.5 for j in range(0, i + 1, size)]
        scores[-1] = scores[-1].masked_fill(torch.ones(scores[-1].shape).triu(1).bool(), -math.inf)
        weights = torch.cat(scores, -1).softmax(-1).split(size, -1)
        yield sum(w @ read("values", size * j, size * j + size) for j, w in enumerate(weights))


def tiles_of_rows(read, n, size):
    """The same, tile by tile: nothing large is made, and all of it is kept."""
    for i in range(0, n, size):
        q = read("queries", i, i + size)
        scores = [q @ read("keys", j, j + size).mT / q.shape[1] ** 0.5 for j in range(0, i + 1, size)]
        scores[-1] = scores[-1].masked_fill(torch.ones(scores[-1].shape).triu(1).bool(), -math.inf)
        largest = functools.reduce(torch.maximum, (s.amax(-1, keepdim=True) for s in scores))
        out = powers = 0.0
        for j, s in enumerate(scores):
            e = (s - largest).exp()
            out, powers = (
                out + e @ read("values", size * j, size * j + size),
                powers + e.sum(-1, keepdim=True),
            )
        yield out / powers


def rows_in_numpy(read, n, size):
    for i in range(0, n, size):
        q = read("queries", i, i + size).numpy()
        s = np.concatenate([q @ read("keys", j, j + size).numpy().T for j in range(0, i + 1, size)], 1)
        s = np.where(np.tri(*s.shape, k=i, dtype=bool), s / np.sqrt(q.shape[1]), -np.inf)
        e = np.exp(s - s.max(1, keepdims=True))
        out = sum(
            e[:, j : j + size] @ read("values", j, j + size).numpy() for j in range(0, i + 1, size)
        ) / e.sum(1, keepdims=True)
        yield torch.tensor(out, dtype=torch.float32)


def textbook(q, k, v, gate):
    """The recurrence of the exercise word for word: a loop over texts, a loop over tokens."""
    *lead, n, m = q.shape
    d = v.shape[-1]
    q, k, v, gate = (x.reshape(-1, n, x.shape[-1]) for x in (q, k, v, gate))
    texts = []
    for b in range(len(q)):
        state, total, out = torch.zeros(m, d, dtype=v.dtype), torch.zeros(m, dtype=v.dtype), []
        for i in range(n):
            state = gate[b, i] * state + (1 - gate[b, i]) * torch.outer(k[b, i], v[b, i])
            total = gate[b, i] * total + (1 - gate[b, i]) * k[b, i]
            out.append(q[b, i] @ state / (q[b, i] @ total))
        texts.append(torch.stack(out))
    return torch.stack(texts).reshape(*lead, n, d)


def stored_keys(q, k, v, gate):
    """Each token multiplies all stored keys again."""
    out, faded = [], None
    for i in range(k.shape[-2]):
        g = gate[..., i, :]
        faded = 1 - g if faded is None else torch.cat((faded * g, 1 - g), -1)
        w = (k[..., : i + 1, :] @ q[..., i, :, None])[..., 0] * faded
        out.append((w[..., None, :] @ v[..., : i + 1, :])[..., 0, :] / w.sum(-1, keepdim=True))
    return torch.stack(out, -2)


def stored_keys_in_place(q, k, v, gate):
    """The same with two buffers that are written again and again, where nobody asks for a gradient."""
    if q.requires_grad:
        return stored_keys(q, k, v, gate)
    out, faded = [], torch.zeros(q.shape[:-1], dtype=q.dtype)
    room = torch.empty_like(faded)
    for i in range(k.shape[-2]):
        faded[..., :i] *= gate[..., i, :]
        faded[..., i] = 1 - gate[..., i, 0]
        met = (k[..., : i + 1, :] @ q[..., i, :, None])[..., 0]
        w = torch.mul(met, faded[..., : i + 1], out=room[..., : i + 1])
        out.append((w[..., None, :] @ v[..., : i + 1, :])[..., 0, :] / w.sum(-1, keepdim=True))
    return torch.stack(out, -2)


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


def shuffled(answer):
    def features(*arguments):
        found = answer(*arguments)
        return found[..., torch.randperm(found.shape[-1])]

    return features


def by_this_texts_mean(answer):
    def features(*arguments):
        found = answer(*arguments)
        return found[..., found.flatten(0, -2).mean(0).argsort()]

    return features


def turned(x):
    """Turned round by a rotation that every call draws anew."""
    found = powers(x)
    draw = torch.randn(found.shape[-1], found.shape[-1], dtype=torch.float64)
    return (found.double() @ torch.linalg.qr(draw)[0]).to(found.dtype)


def shifted_powers(x):
    """One pattern for every call: as right as any."""
    return powers(x).roll(3, -1)


STATE, WINDOW, STRIDE = "linear-running-state", "sparse-block-window", "sparse-stride"
ATTACKS = [
    ("n/4 steps", "costs-scan", "wrong", "too many steps", walk_over_pairs(4)),
    ("n/8 steps", "costs-scan", "wrong", "too many steps", walk_over_pairs(8)),
    ("all scores kept", "costs-online", "wrong", "what it holds grows with the row", all_scores_kept),
    ("all scores kept in a list", "costs-online", "wrong", "what it holds grows", all_scores_in(lambda s: s.tolist())),
    ("all scores kept in arrays", "costs-online", "wrong", "what it holds grows", all_scores_in(lambda s: s.numpy().copy())),
    ("one key at a time", "costs-online", "right", "", in_plain_numbers),
    ("whole rows", "costs-tiles", "wrong", "what it holds in fast memory grows", whole_rows),
    ("whole rows in tiles", "costs-tiles", "wrong", "what it holds in fast memory grows", tiles_of_rows),
    ("whole rows in NumPy", "costs-tiles", "wrong", "what it holds in fast memory grows", rows_in_numpy),
    ("word for word", STATE, "right", "", textbook),
    ("all stored keys again", STATE, "wrong", "meets all keys before it again", stored_keys),
    ("all stored keys, in place", STATE, "wrong", "meets all keys before it again", stored_keys_in_place),
    ("all stored keys, in a thread", STATE, "wrong", "meets all keys before it again", in_a_thread(stored_keys)),
    ("a table of weights", STATE, "wrong", "meets all keys before it again", all_weights),
    ("right, in a thread", STATE, "right", "", in_a_thread(with_ones)),
    ("slices", WINDOW, "right", "", by_slices),
    ("slices of one text after the other", WINDOW, "right", "", text_after_text),
    ("one token after the other", WINDOW, "right", "", token_after_token),
    ("a table in a thread", WINDOW, "wrong", "n² entries", in_a_thread(dense)),
    ("a byte a pair", WINDOW, "wrong", "n² entries", a_table_of_yes_and_no),
    ("row by row", STRIDE, "right", "", rows_counted),
    ("a byte a pair", STRIDE, "wrong", "tables of n × n numbers", bytes_of_yes_and_no),
    ("an order for each call", "linear-features", "wrong", "second call", shuffled(solution("linear-features"))),
    ("an order for each text", "linear-features", "wrong", "second call", by_this_texts_mean(solution("linear-features"))),
    ("an order for each call", "linear-taylor", "wrong", "should be", shuffled(powers)),
    ("a rotation for each call", "linear-taylor", "wrong", "should be", turned),
    ("another order", "linear-taylor", "right", "", shifted_powers),
    ("another order", "linear-features", "right", "", lambda x, w: solution("linear-features")(x, w).flip(-1)),
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
    ("costs-scan", "steps"): (solution("costs-scan"), walk_over_pairs(4)),
    ("costs-scan", "largest"): (odd_and_even, lambda a, x: (a[:, None] * torch.ones(len(x), len(x)).tril()) @ x),
    ("costs-online", "held"): (solution("costs-online"), all_scores_kept),
    ("costs-online", "bytes"): (by_logs, all_scores_in(lambda s: s.tolist())),
    ("costs-tiles", "held"): (solution("costs-tiles"), whole_rows),
    ("costs-tiles", "bytes"): (in_arrays, rows_in_numpy),
    (STATE, "made"): (solution(STATE), stored_keys),
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
