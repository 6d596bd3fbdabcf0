"""Answers to the exercises on why attention that readers tried, or that fooled an earlier checker."""

import math
from collections import Counter, UserDict
from fractions import Fraction

import numpy as np
import pytest
import torch

from attnlab.checks import judge


def by_dict(sentences, view):
    seen = {}
    for (words, tags), p in sentences.items():
        for i in range(len(words)):
            look = seen.setdefault(view(words, i), {})
            look[tags[i]] = look.get(tags[i], 0) + p
    return sum(max(t.values()) for t in seen.values()) / sum(p * len(w) for (w, _), p in sentences.items())


def by_function(sentences, view):
    """Choose the function first, then count what it gets right."""
    pairs = Counter()
    for (words, tags), p in sentences.items():
        for i, tag in enumerate(tags):
            pairs[view(words, i), tag] += p
    best = {look: tag for (look, tag), _ in sorted(pairs.items(), key=lambda pair: pair[1])}
    right = sum(p for (look, tag), p in pairs.items() if best[look] == tag)
    return Fraction(right, pairs.total())


def by_sentence(sentences, view):
    return sum(by_dict({one: Fraction(1)}, view) * p for one, p in sentences.items())


def half_or_nothing(sentences, view):
    seen = {}
    for (words, tags), p in sentences.items():
        for i, tag in enumerate(tags):
            seen.setdefault(view(words, i), Counter())[tag] += p
    right = sum(m for t in seen.values() if 2 * (m := max(t.values())) >= t.total())
    return right / sum(t.total() for t in seen.values())


def in_whole_numbers(sentences, view):
    scale = math.lcm(*(p.denominator for p in sentences.values()))
    seen = {}
    for (words, tags), p in sentences.items():
        for i, tag in enumerate(tags):
            seen.setdefault(view(words, i), Counter())[tag] += int(p * scale)
    return Fraction(sum(max(t.values()) for t in seen.values()), sum(t.total() for t in seen.values()))


def by_search(sentences, view):
    """Ask of a look only whether it equals another."""
    looks, seen = [], []
    for (words, tags), p in sentences.items():
        for i, tag in enumerate(tags):
            look = view(words, i)
            if look not in looks:
                looks.append(look)
                seen.append(Counter())
            seen[looks.index(look)][tag] += p
    return sum(max(t.values()) for t in seen) / sum(t.total() for t in seen)


def emptied(sentences, view):
    found = by_dict(sentences, view)
    sentences.clear()
    return found


def in_loops(x):
    if x.dim() > 2:
        return torch.stack([in_loops(one) for one in x])
    return torch.stack([x[: i + 1].mean(0) for i in range(len(x))])


def last_row_forgotten(x):
    out = torch.zeros_like(x)
    for i in range(x.shape[-2] - 1):
        out[..., i, :] = x[..., : i + 1, :].mean(-2)
    return out


def triangle(x):
    n = x.shape[-2]
    return (torch.ones(n, n, dtype=x.dtype).tril() / torch.arange(1, n + 1)[:, None]) @ x


def by_softmax(x):
    ones = torch.ones(x.shape[-2], x.shape[-2], dtype=x.dtype)
    return ones.masked_fill(ones.triu(1) > 0, -torch.inf).softmax(-1) @ x


def mean_that_moves(x):
    mean, rows = torch.zeros_like(x[..., 0, :]), []
    for i in range(x.shape[-2]):
        mean = mean + (x[..., i, :] - mean) / (i + 1)
        rows.append(mean)
    return torch.stack(rows, -2)


def no_return(x):
    x.cumsum(-2)


def needed(take, dim=-1):
    def moved(tag, words):
        whole = tag(words, [])
        return torch.stack([take(tag(words, [j]), whole) for j in range(len(words))], dim)

    return moved


def hiding(which):
    def moved(tag, words):
        whole = tag(words, [])
        return torch.stack(
            [(tag(words, which(words, j)) - whole).abs().sum(-1) for j in range(len(words))], -1
        )

    return moved


def deleted(tag, words):
    """Take the word out instead of hiding it: the others move to other places."""
    n, whole = len(words), tag(words, [])
    out = torch.zeros(n, n)
    for j in range(n):
        others = [i for i in range(n) if i != j]
        if others:
            out[others, j] = (tag([words[i] for i in others], []) - whole[others]).abs().sum(-1)
    return out


def loops(tag, words):
    out, whole = torch.zeros(len(words), len(words)), tag(words, [])
    for j in range(len(words)):
        without = tag(words, (j,))
        for i in range(len(words)):
            out[i, j] = sum(abs(float(a - b)) for a, b in zip(without[i], whole[i], strict=True))
    return out


ATTACKS = [
    ("a plain dict", "why-ceiling", "right", "", by_dict),
    ("the function first", "why-ceiling", "right", "", by_function),
    ("by sentence", "why-ceiling", "wrong", "should be", by_sentence),
    ("half or nothing", "why-ceiling", "wrong", "none of whose tags has a majority", half_or_nothing),
    ("one of the numbers", "why-ceiling", "wrong", "should be", lambda s, view: Fraction(7, 8)),
    ("whole numbers", "why-ceiling", "right", "", in_whole_numbers),
    ("a list searched", "why-ceiling", "right", "", by_search),
    ("a fraction close by", "why-ceiling", "wrong", "went through a float",
     lambda s, view: Fraction(float(by_dict(s, view))).limit_denominator()),
    ("the arguments emptied", "why-ceiling", "wrong", "changed its argument sentences", emptied),
    ("the word beside the view", "why-ceiling", "wrong", "a view of the place and of no word",
     lambda s, view: by_dict(s, lambda w, i: (w[i], view(w, i)))),
    ("a dict of words", "why-ceiling", "wrong", "should be",
     lambda s, view: by_dict({(w, t): p for (w, t), p in UserDict(s).items() if len(w) == 2}, view)),
    ("the first view of all", "why-ceiling", "wrong", "should be", lambda s, view: by_dict(s, lambda w, i: w[: i + 1])),
    ("loops", "why-running-bag", "right", "", in_loops),
    ("a triangle of weights", "why-running-bag", "right", "", triangle),
    ("last row forgotten", "why-running-bag", "wrong", "row 4 should be", last_row_forgotten),
    ("no return", "why-running-bag", "wrong", "Is a `return` missing?", no_return),
    ("no gradient", "why-running-bag", "wrong", "the gradient is not", lambda x: triangle(x).detach()),
    ("single precision inside", "why-running-bag", "wrong", "in float64", lambda x: triangle(x.float()).to(x.dtype)),
    ("the first sentence for all", "why-running-bag", "wrong", "should be",
     lambda x: triangle(x[:1]).expand_as(x) if x.dim() > 2 else triangle(x)),
    ("without itself", "why-running-bag", "wrong", "Its own token is missing",
     lambda x: torch.cat((torch.zeros_like(x[..., :1, :]), triangle(x)[..., :-1, :]), -2)),
    ("NumPy", "why-running-bag", "wrong", "Can't call numpy()",
     lambda x: torch.from_numpy(np.cumsum(x.numpy(), -2)) if x.requires_grad else triangle(x)),
    ("a causal mean by softmax", "why-running-bag", "right", "", by_softmax),
    ("a mean that moves", "why-running-bag", "right", "", mean_that_moves),
    ("no column", "why-running-bag", "wrong", "raised RuntimeError",
     lambda x: x.cumsum(-2) / torch.arange(1, x.shape[-2] + 1)),
    ("a window of three", "why-running-bag", "wrong", "row 3 should be",
     lambda x: torch.stack([x[..., max(0, i - 2) : i + 1, :].mean(-2) for i in range(x.shape[-2])], -2)),
    ("any constant", "why-scores", "right", "", lambda w: w.log() + torch.arange(w.shape[-2])[:, None]),
    ("the largest is zero", "why-scores", "right", "", lambda w: (w / w.amax(-1, keepdim=True)).log()),
    ("far below", "why-scores", "right", "", lambda w: torch.where(w > 0, w.log(), -1e9)),
    ("a logarithm near one", "why-scores", "right", "", lambda w: torch.log1p(w - 1)),
    ("in NumPy", "why-scores", "right", "", lambda w: torch.from_numpy(np.log(w.numpy()))),
    ("almost zero", "why-scores", "wrong", "should be [0.5, 0.5, 0.0]", lambda w: (w + 1e-9).log()),
    ("a floor", "why-scores", "wrong", "should be [0.5, 0.5, 0.0]", lambda w: w.log().clamp_min(-20)),
    ("zeros scored zero", "why-scores", "wrong", "Which score makes its exponential zero?",
     lambda w: w.log().nan_to_num(neginf=0.0)),
    ("cut off", "why-scores", "wrong", "should be", lambda w: w.clamp_min(1e-5).log()),
    ("zeros are NaN", "why-scores", "wrong", "nan", lambda w: w.log() * (w > 0)),
    ("a constant for the batch", "why-scores", "wrong", "Rows and columns", lambda w: w.mT.log()),
    ("a list", "why-scores", "wrong", "should be a tensor", lambda w: w.log().tolist()),
    ("uniform", "why-scores", "wrong", "should be", torch.zeros_like),
    ("loops over words", "why-needed", "right", "", loops),
    ("twice the total variation", "why-needed", "right", "",
     needed(lambda a, b: 2 * (a - b).clamp_min(0).sum(-1))),
    ("all before it hidden too", "why-needed", "wrong", "should be", hiding(lambda words, j: range(j + 1))),
    ("every word of that spelling", "why-needed", "wrong", "should be",
     hiding(lambda words, j: [i for i, word in enumerate(words) if word == words[j]])),
    ("the first of that spelling", "why-needed", "wrong", "should be",
     hiding(lambda words, j: [words.index(words[j])])),
    ("a set", "why-needed", "right", "", hiding(lambda words, j: {j})),
    ("half", "why-needed", "wrong", "should be", needed(lambda a, b: (a - b).abs().sum(-1) / 2)),
    ("deleted", "why-needed", "wrong", "should be", deleted),
    ("rows", "why-needed", "wrong", "Rows and columns", needed(lambda a, b: (a - b).abs().sum(-1), 0)),
    ("relative", "why-needed", "wrong", "should be", needed(lambda a, b: ((a - b).abs() / b).sum(-1))),
    ("one tag", "why-needed", "wrong", "one tag alone",
     needed(lambda a, b: (b - a).gather(-1, b.argmax(-1, keepdim=True))[:, 0])),
    ("four words", "why-needed", "wrong", "should", lambda tag, words: loops(tag, words[:4])),
    ("17 tags", "why-needed", "wrong", "should", needed(lambda a, b: 17 * (a - b).abs().mean(-1))),
    ("no call without hiding", "why-needed", "wrong", "should",
     lambda tag, words: torch.stack([(tag(words, [j]) - tag(words, [0])).abs().sum(-1) for j in range(len(words))], -1)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "status", "message", "answer"), [a[1:] for a in ATTACKS], ids=[a[0] for a in ATTACKS]
)
def test_an_attack_is_judged_rightly(judged, name, status, message, answer):
    judged(name, status, message, answer)


def test_a_subclass_of_ndarray_is_no_tensor():
    assert "should be a tensor" in judge("why-running-bag", lambda x: np.asarray(x)).message
