"""Answers to the exercises on masks that readers tried, or that fooled an earlier checker."""

import math

import numpy as np
import pytest
import torch

from attnlab import masks, scores


def lower(n):
    return torch.ones(n, n).tril().bool()


def real(lengths, n):
    return torch.arange(n) < lengths[:, None]


def both(lengths, n):
    return lower(n) & real(lengths, n)[:, None, :]


def in_place(lengths, n):
    lengths -= 1
    return lower(n) & (torch.arange(n) <= lengths[:, None])[:, None]


def cell_by_cell(lengths, n):
    return torch.tensor([[[j <= i and j < m for j in range(n)] for i in range(n)] for m in lengths.tolist()])


MASKS = [
    ("an empty sentence gets a token", "wrong", "With length 0 all of it is padding",
     lambda lengths, n: both(lengths.clamp_min(1), n)),
    ("rows and columns", "wrong", "Hide only their columns", lambda lengths, n: both(lengths, n) & real(lengths, n)[:, :, None]),
    ("padding sees itself", "wrong", "With lengths [2, 5, 3] and n = 5: the row at [0, 2]", lambda lengths, n: both(lengths, n) | torch.eye(n).bool()),
    ("the numbers 0 and 1", "wrong", "should hold True and False", lambda lengths, n: both(lengths, n).int()),
    ("an axis for heads", "wrong", "should have shape (3, 5, 5), it has (3, 1, 5, 5)", lambda lengths, n: both(lengths, n)[:, None]),
    ("room for broadcasting", "wrong", "should have shape (3, 5, 5), it has (3, 1, 5)", lambda lengths, n: real(lengths, n)[:, None]),
    ("for n = 5", "wrong", "With lengths [1, 4] and n = 6", lambda lengths, n: both(lengths, 5)),
    ("longest first", "wrong", "should be", lambda lengths, n: both(lengths.sort(descending=True).values, n)),
    ("the argument changed", "wrong", "it changed its argument lengths in place", in_place),
    ("the first length for all", "wrong", "should be", lambda lengths, n: both(lengths[:1].expand(len(lengths)), n)),
    ("a row later", "wrong", "should be", lambda lengths, n: both(lengths, n).roll(1, 1)),
    ("the package", "right", "", lambda lengths, n: masks.causal(n) & masks.padding(lengths, n)),
    ("cell by cell", "right", "", cell_by_cell),
    ("what may not be seen, turned over", "right", "",
     lambda lengths, n: ~(torch.ones(n, n).triu(1).bool() | ~real(lengths, n)[:, None])),
    ("the smaller of two places", "right", "",
     lambda lengths, n: torch.arange(n) < torch.minimum(torch.arange(1, n + 1)[None, :, None], lengths[:, None, None])),
    ("a product", "right", "", lambda lengths, n: (torch.ones(n, n).tril() * real(lengths, n)[:, None]).bool()),
    ("sentence by sentence", "right", "",
     lambda lengths, n: torch.stack([lower(n) & (torch.arange(n) < int(m)) for m in lengths])),
]  # fmt: skip


def shifted(s, mask, more=0.0, least=0.0):
    hidden = s.masked_fill(~mask, -math.inf)
    largest = hidden.amax(-1, keepdim=True)
    e = (hidden - largest.masked_fill(largest == -math.inf, 0.0)).exp()
    return e / (e.sum(-1, keepdim=True) + more).clamp_min(least)


def rows(s, mask):
    mask = mask.expand(s.shape)
    out = torch.zeros_like(s)
    for place in np.ndindex(*s.shape[:-1]):
        if mask[place].any():
            out[place] = out[place].masked_scatter(mask[place], s[place][mask[place]].softmax(0))
    return out


def hidden(s, mask):
    return s.masked_fill(~mask, -math.inf)


def empty(mask):
    return ~mask.any(-1, keepdim=True)


SOFTMAXES = [
    ("1e-9 in the denominator", "wrong", "1e-9 is 0 in float16", lambda s, m: shifted(s, m, more=1e-9)),
    ("the equation as it stands", "wrong", "The exponential of a score beyond 88", lambda s, m: m * s.exp() / (m * s.exp()).sum(-1, keepdim=True)),
    ("less the logarithm of the sum", "wrong", "The logarithm of the sum is rounded",
     lambda s, m: (hidden(s, m) - hidden(s, m).logsumexp(-1, keepdim=True)).exp().masked_fill(empty(m), 0.0)),
    ("the lowest number, and the mask after", "wrong", "visible scores may be as low",
     lambda s, m: s.masked_fill(~m, torch.finfo(s.dtype).min).softmax(-1) * m),
    ("-1e9, and the mask after", "wrong", "in float16: it raised RuntimeError", lambda s, m: s.masked_fill(~m, -1e9).softmax(-1) * m),
    ("-1e9 added", "wrong", "an empty row between two others", lambda s, m: (s + ~m * -1e9).softmax(-1)),
    ("-60,000, and the mask after", "wrong", "visible scores at the lowest number",
     lambda s, m: s.masked_fill(~m, -6e4).softmax(-1) * m),
    ("detached", "wrong", "no gradient reaches scores", lambda s, m: scores.softmax(s.detach(), m)),
    ("by NumPy", "wrong", "no gradient reaches scores", lambda s, m: torch.tensor(scores.softmax(s.detach(), m).numpy(force=True))),
    ("single precision kept", "wrong", "In single precision all values are right", lambda s, m: scores.softmax(s.float(), m)),
    ("a mask for the whole batch", "wrong", "should", lambda s, m: scores.softmax(s, m.reshape(-1, *m.shape[-2:])[0])),
    ("down the columns", "wrong", "down the columns", lambda s, m: scores.softmax(s, m, dim=-2)),
    ("over all rows together", "wrong", "should be",
     lambda s, m: hidden(s, m).exp() / hidden(s, m).exp().sum((-2, -1), keepdim=True).clamp_min(1e-30)),
    ("doubled", "wrong", "should be", lambda s, m: scores.softmax(2 * s, m)),
    ("empty rows one", "wrong", "an empty row", lambda s, m: scores.softmax(s, m) + empty(m)),
    ("by hand", "right", "", lambda s, m: shifted(s, m, least=1e-4)),
    ("row by row", "right", "", rows),
    ("exp of log_softmax", "right", "",
     lambda s, m: s.masked_fill(~m & ~empty(m), -math.inf).log_softmax(-1).exp().masked_fill(empty(m), 0.0)),
    ("where for where", "right", "",
     lambda s, m: torch.where(empty(m), 0.0, torch.where(m | empty(m), s, -math.inf).softmax(-1)).to(s.dtype)),
    ("in double precision", "right", "", lambda s, m: scores.softmax(s.double(), m).to(s.dtype)),
    ("NaN filled over on both sides", "right", "", lambda s, m: hidden(s, m).softmax(-1).masked_fill(~m, 0.0)),
    ("minus infinity added, empty rows open", "right", "",
     lambda s, m: (s + torch.zeros_like(s).masked_fill(~m & ~empty(m), -math.inf)).softmax(-1) * m),
]  # fmt: skip


def depends(model, n, d_model, least=1e-6, x=None, probe=None):
    x = torch.randn(1, n, d_model) if x is None else x
    x = x.requires_grad_()
    out, found = model(x), torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        row = out[0, i] @ torch.randn(d_model) if probe is None else probe(out[0, i])
        (slope,) = torch.autograd.grad(row, x, retain_graph=True)
        found[i] = slope[0].abs().amax(-1) > least
    return found


def leaks(model, n, d_model, mask, **options):
    return depends(model, n, d_model, **options) & ~mask


def listed(*arguments, **options):
    return [(i, j) for i, j in leaks(*arguments, **options).nonzero().tolist()]


def nudged(model, n, d_model, mask):
    x, found = torch.randn(1, n, d_model), []
    for j in range(n):
        other = x.clone()
        other[0, j] += torch.randn(d_model)
        moved = (model(other) - model(x))[0].abs().amax(-1) > 1e-5
        found += [(i, j) for i in range(n) if moved[i] and not mask[i, j]]
    return sorted(found)


def jacobian(model, n, d_model, mask):
    slopes = (
        torch.autograd.functional.jacobian(model, torch.randn(1, n, d_model))[0, :, :, 0].abs().amax((1, 3))
    )
    return ((slopes > 1e-6) & ~mask).nonzero().tolist()


def by_vmap(model, n, d_model, mask):
    def row(x, i):
        return model(x[None])[0, i]

    x = torch.randn(n, d_model)
    slopes = torch.stack([torch.func.jacrev(row)(x, i) for i in range(n)]).abs().amax((1, 3))
    return [(i, j) for i in range(n) for j in range(n) if slopes[i, j] > 1e-6 and not mask[i, j]]


LEAKS = [
    ("lists for pairs", "right", "", lambda *a: leaks(*a).nonzero().tolist()),
    ("a tensor of pairs", "right", "", lambda *a: leaks(*a).nonzero()),
    ("an array of pairs", "right", "", lambda *a: leaks(*a).numpy().nonzero() and np.argwhere(leaks(*a).numpy())),
    ("pairs of tensors", "right", "", lambda *a: list(leaks(*a).nonzero())),
    ("NumPy numbers", "right", "", lambda *a: [tuple(np.int64(x) for x in pair) for pair in listed(*a)]),
    ("a tuple", "right", "", lambda *a: tuple(listed(*a))),
    ("nudged tokens", "right", "", nudged),
    ("the whole Jacobian", "right", "", jacobian),
    ("jacrev", "right", "", by_vmap),
    ("a bolder threshold", "right", "", lambda *a: listed(*a, least=1e-5)),
    ("a shy threshold", "wrong", "Missing", lambda *a: listed(*a, least=1e-2)),
    ("no threshold", "wrong", "That is the early mask again", lambda *a: listed(*a, least=0.0)),
    ("a flat list", "wrong", "should be a pair (i, j), one is 3", lambda *a: [3, 4]),
    ("pairs and sizes", "wrong", "should be a pair (i, j), one is (0, 3, 0.5)", lambda *a: [(0, 3, 0.5)]),
    ("a pair that is not there", "wrong", "Too much: [(9, 9)]", lambda *a: [(9, 9)]),
    ("a list of None", "wrong", "should be a pair (i, j), one is None", lambda *a: [None]),
    ("None where nothing leaks", "wrong", "it returned None. Where nothing leaks, return an empty list", lambda *a: listed(*a) or None),
    ("a set", "wrong", "should return a list of pairs, it returned a set", lambda *a: set(listed(*a))),
    ("a table", "wrong", "a table of True and False", lambda *a: leaks(*a)),
    ("the first alone, as the package", "wrong", "should", lambda model, n, d, mask: masks.leaks(model, n, d, mask)),
    ("at zero", "wrong", "It asks at x = 0", lambda model, n, d, mask: listed(model, n, d, mask, x=torch.zeros(1, n, d))),
    ("the last number", "wrong", "one number of each output row", lambda *a: listed(*a, probe=lambda row: row[-1])),
    ("the plain sum", "wrong", "the plain sum has no gradient", lambda *a: listed(*a, probe=lambda row: row.sum(), least=1e-5)),
    ("without the diagonal", "wrong", "It leaves out i = j", lambda *a: [p for p in listed(*a) if p[0] != p[1]]),
    ("five tokens", "wrong", "Missing: [(5, 0), (5, 1)]",
     lambda model, n, d, mask: [(i, j) for i in range(5) for j in range(5) if leaks(model, n, d, mask)[i, j]]),
    ("the first row", "wrong", "Missing: [(2, 4)]", lambda *a: [p for p in listed(*a) if p[0] == 0]),
    ("twice each", "wrong", "should have length 2, it has 4", lambda *a: [p for p in listed(*a) for _ in range(2)]),
    ("from the end", "wrong", "the first entry: the first entry should be 0, it is 2", lambda *a: listed(*a)[::-1]),
    ("counted from one", "wrong", "the first entry: the first entry should be 0, it is 1", lambda *a: [(i + 1, j + 1) for i, j in listed(*a)]),
    ("never a leak", "wrong", "Missing: [(0, 3), (2, 4)]", lambda *a: []),
]  # fmt: skip

RIGHT = (masks.prefix(6, 2) & masks.packed([0, 0, 0, 1, 1, 1])).int()


def flipped(i, j):
    mask = RIGHT.clone()
    mask[i, j] = 1 - mask[i, j]
    return mask.tolist()


PAINTED = [
    ("a tensor", "right", "", lambda: RIGHT),
    ("truths", "right", "", lambda: RIGHT.bool().tolist()),
    ("an array", "right", "", lambda: RIGHT.numpy()),
    ("floats", "right", "", lambda: RIGHT.float()),
    ("rows as tuples", "right", "", lambda: tuple(map(tuple, RIGHT.tolist()))),
    ("one cell too many", "wrong", "row 5, column 6 should be closed", lambda: flipped(4, 5)),
    ("one cell too few", "wrong", "row 1, column 2 should be open", lambda: flipped(0, 1)),
    ("five rows", "wrong", "six rows of six zeros and ones", lambda: RIGHT[:5]),
    ("twos", "wrong", "six rows of six zeros and ones", lambda: 2 * RIGHT),
    ("the figure's rows as text", "wrong", "six rows of six zeros and ones", lambda: str(RIGHT.tolist())),
    ("nothing", "wrong", "six rows of six zeros and ones", lambda: None),
    ("all", "wrong", "Everything is open", lambda: torch.ones(6, 6)),
    ("all of three documents", "wrong", "two tokens each", lambda: masks.prefix(6, 2) & masks.packed([0, 0, 1, 1, 2, 2])),
]  # fmt: skip

ATTACKS = [
    pytest.param(name, *rest, id=f"{name}: {title}")
    for name, attacks in (
        ("masking-both", MASKS),
        ("masking-softmax", SOFTMAXES),
        ("masking-leaks", LEAKS),
        ("masking-paint", PAINTED),
    )
    for title, *rest in attacks
]


@pytest.mark.parametrize(("name", "status", "piece", "answer"), ATTACKS)
def test_an_attack_is_judged_rightly(judged, name, status, piece, answer):
    judged(name, status, piece, answer)
