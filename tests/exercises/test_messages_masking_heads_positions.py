"""Slips beside the files of wrong answers: each checker of masking, heads and positions names these too."""

import re

import pytest
import torch

from attnlab.checks import judge


def longest_sentence(lengths, n):
    place = torch.arange(int(lengths.max()))
    return (place <= place[:, None]) & (place < lengths[:, None])[:, None]


def one_padding_token(lengths, n):
    place = torch.arange(n)
    return (place <= place[:, None]) & (place <= lengths[:, None])[:, None]


def hide(scores, mask):
    empty = ~mask.any(-1, keepdim=True)
    return scores.masked_fill(~mask & ~empty, float("-inf")).softmax(-1).masked_fill(empty, 0.0)


def finite(scores, mask):
    return scores.masked_fill(~mask, -60000).softmax(-1) * mask


def pairs(model, n, d_model, mask, of=lambda out: out @ torch.randn(len(out)), keep=lambda m: ~m):
    x = torch.randn(1, n, d_model, requires_grad=True)
    out, found = model(x), []
    for i in range(n):
        (slope,) = torch.autograd.grad(of(out[0, i]), x, retain_graph=True)
        size = slope[0].abs().amax(-1)
        found += [(i, j) for j in range(n) if keep(mask)[i, j] and size[j] > 1e-6]
    return found


def grouped(q, k, v, scale=0.5, dim=-1, after=1.0):
    share = q.shape[-3] // k.shape[-3]
    k, v = k.repeat_interleave(share, -3), v.repeat_interleave(share, -3)
    return (q @ k.transpose(-2, -1) * q.shape[-1] ** -scale).softmax(dim) * after @ v


def rope(q, k, v, base=10000.0, *, use=None, sign=1, step=2):
    n, d = q.shape[-2:]
    angle = sign * torch.arange(n)[:, None] * (use or base) ** (-step * torch.arange(d // 2) / d)

    def turned(t):
        a, b, c, s = t[..., 0::2], t[..., 1::2], angle.cos(), angle.sin()
        return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)

    return (turned(q) @ turned(k).transpose(-2, -1) / d**0.5).softmax(-1) @ v


def price(n_heads, n, *, eight=8, own=0, gap=torch.abs):
    place = torch.arange(n)
    slopes = 2 ** (-eight * torch.arange(1, n_heads + 1) / n_heads)
    return -slopes[:, None, None] * (gap(place - place[:, None]) + own)


def equivariant(f, x, orders, tolerance=1e-5):
    return all(torch.allclose(f(x[p]), f(x)[p], atol=tolerance) for p in orders)


SLIPS = (
    ("masking-both", longest_sentence, r"should have shape \(2, 6, 6\)"),
    ("masking-both", one_padding_token, "One padding token is still seen"),
    ("masking-softmax", lambda s, m: hide(s.detach(), m), "No gradient comes back"),
    ("masking-softmax", lambda s, m: hide(s.float(), m), "come back as float32"),
    ("masking-softmax", finite, "visible scores near -100,000"),
    ("masking-softmax", lambda s, m: (s * m).softmax(-1), "A score of 0 is not hidden"),
    ("masking-leaks", lambda *a: pairs(*a, of=lambda out: out[0]), "all numbers of both"),
    ("masking-leaks", lambda *a: pairs(*a, keep=lambda m: m), "All of these may be seen"),
    ("masking-leaks", lambda f, n, d, m: (~m).nonzero().tolist(), "all pairs that the mask hides"),
    ("masking-leaks", lambda *a: pairs(*a, of=lambda out: out.square().sum()), "no gradient"),
    ("masking-paint", lambda: (~torch.ones(6, 6).tril().bool()).tolist(), "should be open"),
    ("heads-split", lambda x, h: x.unflatten(-1, (-1, 2)).transpose(-3, -2), "each head is 4 wide"),
    ("heads-merge", lambda x: x[..., 0, :, :], "The heads are not all there"),
    ("heads-grouped-query", lambda *a: grouped(*a, scale=1), "Divide by its root"),
    ("heads-grouped-query", lambda *a: grouped(*a, dim=-2), "runs down the columns"),
    ("heads-grouped-query", lambda *a: grouped(*a, scale=0, after=5**-0.5), "divides after the softmax"),
    ("heads-cache-bytes", lambda layers, h, k, d, n, b, s: 2 * layers * k * d * b * s, "Every token leaves"),
    ("heads-cache-bytes", lambda layers, h, k, d, n, b, s: 2 * layers * k * n * b * s, "A key is a vector"),
    ("heads-cache-bytes", lambda layers, h, k, d, n, b, s: 2 * layers * d * n * b * s, "key-value head keeps"),
    ("positions-rope", lambda *a: rope(*a[:3]), "use the base that is given"),
    ("positions-rope", lambda *a: rope(*a, sign=-1), "wrong way round"),
    ("positions-rope", lambda *a: rope(*a, step=1), "with the 2"),
    ("positions-rope", lambda *a: rope(*a, use=1.0), "All pairs turn at one speed"),
    ("positions-alibi", lambda h, n: price(h, n, eight=1), "The 8 is missing"),
    ("positions-alibi", lambda h, n: price(h, n, own=1), "pays for itself"),
    ("positions-alibi", lambda h, n: price(h, n, gap=lambda g: (-g).clamp_min(0)), "cost nothing"),
    ("positions-alibi", lambda h, n: price(h, n).flip(0), "reverse order"),
    ("positions-equivariant", lambda f, x: equivariant(f, x, [torch.randperm(7)]), "try ten"),
    ("positions-equivariant", lambda f, x: equivariant(f, x, [torch.tensor([1, 0, 2, 3, 4, 5, 6])]), "last row"),
    (
        "positions-equivariant",
        lambda f, x: equivariant(f, x, [torch.randperm(7) for _ in range(9)], 1.0),
        "too wide",
    ),
)  # fmt: skip


@pytest.mark.parametrize(("name", "answer", "message"), SLIPS, ids=[f"{s[0]}: {s[2]}" for s in SLIPS])
def test_a_slip_is_a_verdict_that_names_it(name, answer, message):
    verdict = judge(name, answer)
    assert verdict.status == "wrong"
    assert re.search(message, verdict.message), verdict.message


def test_what_only_looks_odd_is_right():
    assert judge("masking-softmax", hide).status == "right"
    assert judge("masking-leaks", pairs).status == "right"
    assert judge("heads-grouped-query", grouped).status == "right"
    assert judge("positions-rope", rope).status == "right"
    assert judge("positions-alibi", price).status == "right"
