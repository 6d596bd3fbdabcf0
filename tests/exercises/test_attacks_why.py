"""Answers to the exercises on why attention that readers tried, or that fooled an earlier checker."""

from collections import UserDict
from fractions import Fraction

import numpy as np
import pytest
import torch

from attnlab.checks import judge


def all_but_last(x, scores):
    out = torch.zeros(*scores.shape[:-1], x.shape[-1])
    for i in range(scores.shape[-2] - 1):
        out[..., i, :] = (scores[..., i : i + 1, :].softmax(-1) @ x)[..., 0, :]
    return out


def by_hand(shift):
    def mix(x, scores):
        e = (scores - shift(scores)).exp()
        return e / e.sum(-1, keepdim=True) @ x

    return mix


def in_loops(x, scores):
    if x.dim() > 2:
        return torch.stack([in_loops(a, b) for a, b in zip(x, scores, strict=True)])
    rows = [sum(w * token for w, token in zip(row.softmax(0), x, strict=True)) for row in scores]
    return torch.stack(rows)


def no_return(x, scores):
    scores.softmax(-1) @ x


def biggest(counts):
    return {w: sorted(t.items(), key=lambda pair: (-pair[1], pair[0]))[0][0] for w, t in counts.items()}


ATTACKS = [
    ("all of the ties", "why-best-tags", "wrong", "all of the most frequent tags",
     lambda c: {w: [t for t in sorted(ts) if ts[t] == max(ts.values())] for w, ts in c.items()}),
    ("ties by insertion", "why-best-tags", "wrong", "'like' should be 'AUX'",
     lambda c: {w: sorted(t.items(), key=lambda p: p[1])[-1][0] for w, t in c.items()}),
    ("one sorted list", "why-best-tags", "right", "", biggest),
    ("a UserDict", "why-best-tags", "right", "", lambda c: UserDict(biggest(c))),
    ("half or nothing", "why-ceiling", "wrong", "at least half of its tokens",
     lambda c: Fraction(sum(m for t in c.values() if 2 * (m := max(t.values())) >= sum(t.values())),
                        sum(sum(t.values()) for t in c.values()))),
    ("a float", "why-ceiling", "wrong", "return a Fraction",
     lambda c: sum(max(t.values()) for t in c.values()) / sum(sum(t.values()) for t in c.values())),
    ("three tokens", "why-bag", "wrong", "row 0 should be", lambda x: (x.sum(-2, True) / 3).expand(x.shape)),
    ("whole numbers", "why-bag", "wrong", "row 0 should be",
     lambda x: x.long().float().mean(-2, keepdim=True).expand(x.shape)),
    ("the whole batch", "why-bag", "wrong", "sentences run into each other",
     lambda x: x.mean(0, keepdim=True).expand(x.shape)),
    ("a matrix of equal weights", "why-bag", "right", "",
     lambda x: torch.full((x.shape[-2],) * 2, 1 / x.shape[-2], dtype=x.dtype) @ x),
    ("einsum and repeat", "why-bag", "right", "",
     lambda x: torch.einsum("...nd->...d", x)[..., None, :].repeat(*[1] * (x.dim() - 2), x.shape[-2], 1) / x.shape[-2]),
    ("the largest of all", "why-mixture", "wrong", "that row alone", by_hand(lambda s: s.max())),
    ("the mean of the row", "why-mixture", "wrong", "spans from -200 to 200", by_hand(lambda s: s.mean(-1, True))),
    ("the first of the row", "why-mixture", "wrong", "should be", by_hand(lambda s: s[..., :1])),
    ("the largest of the row", "why-mixture", "right", "", by_hand(lambda s: s.amax(-1, True))),
    ("a boolean", "why-mixture", "wrong", "hold numbers, it has dtype bool", lambda x, s: (s.softmax(-1) @ x) > 0),
    ("complex", "why-mixture", "wrong", "real numbers", lambda x, s: (s.softmax(-1) @ x) + 0j),
    ("no gradient", "why-mixture", "wrong", "The values are right; the gradient is not.",
     lambda x, s: (s.softmax(-1) @ x).detach()),
    ("single precision inside", "why-mixture", "wrong", "in float64",
     lambda x, s: (s.float().softmax(-1) @ x.float()).to(x.dtype)),
    ("NumPy inside", "why-mixture", "wrong", "Can't call numpy()",
     lambda x, s: torch.from_numpy(s.numpy() @ x.numpy()).softmax(-1) if x.requires_grad else s.softmax(-1) @ x),
    ("loops", "why-mixture", "right", "", in_loops),
    ("dimension 1", "why-mixture", "wrong", "Count from the end", lambda x, s: s.softmax(1) @ x),
    ("no return", "why-mixture", "wrong", "the output is None. Is a `return` missing?", no_return),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "status", "message", "answer"), [a[1:] for a in ATTACKS], ids=[a[0] for a in ATTACKS]
)
def test_an_attack_is_judged_rightly(judged, name, status, message, answer):
    judged(name, status, message, answer)


def test_a_forgotten_last_row_is_shown_where_it_is():
    verdict = judge("why-mixture", all_but_last)
    assert "row 4 should be" in verdict.message
    assert set(verdict.got) == {"0.0"}
    assert any(verdict.off)


def test_a_subclass_of_ndarray_is_no_tensor():
    assert "should be a tensor" in judge("why-bag", lambda x: np.asarray(x)).message
