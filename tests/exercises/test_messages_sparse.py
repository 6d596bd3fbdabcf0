"""Slips beside the files of wrong answers about sparse patterns: each is named too, and odd right answers pass."""

import math

import pytest
import torch
import torch.nn.functional as F

from attnlab import attention, masks, scores, sparse
from attnlab.checks import judge

STRIDED, WINDOW, LAYERS, STRIDE = "sparse-strided", "sparse-block-window", "sparse-layers", "sparse-stride"


def strided(rule):
    place = torch.arange(40)
    return lambda n, s: rule((place[:n, None] - place[:n]), place[:n, None], place[:n], s)


def blocks(first=0, last=0, *, weigh=scores.softmax, scale=lambda d, d_v, w: d**-0.5, cut=True, width=None):
    def block_window(q, k, v, w):
        w, n = width or w, q.shape[-2]
        q, k, v = (F.pad(x, (0, 0, 0, -n % w)) for x in (q, k, v))
        k, v = (F.pad(x, (0, 0, w, 0)).unfold(-2, 2 * w, w).mT for x in (k, v))
        q = q.unflatten(-2, (-1, w))
        behind = torch.arange(w)[:, None] + w - torch.arange(2 * w)
        real = torch.arange(q.shape[-3])[:, None, None] * w + torch.arange(2 * w) >= w
        s = q @ k.mT * scale(q.shape[-1], v.shape[-1], w)
        mask = ((behind >= first) & (behind <= w + last) & real).expand(s.shape)
        out = (weigh(s, mask) @ v).flatten(-3, -2)
        return out[..., :n, :] if cut else out

    return block_window


def rolled(q, k, v, w):
    n = q.shape[-2]
    q, k, v = (F.pad(x, (0, 0, 0, -n % w)).unflatten(-2, (-1, w)) for x in (q, k, v))
    k, v = (torch.cat((x.roll(1, -3), x), -2) for x in (k, v))
    behind = torch.arange(w)[:, None] + w - torch.arange(2 * w)
    return attention(q, k, v, mask=(behind >= 0) & (behind <= w)).flatten(-3, -2)[..., :n, :]


def twice(q, k, v, w):
    near, block = masks.window(q.shape[-2], w, 0), torch.arange(q.shape[-2]) // w
    return attention(q, k, v, bias=(near.float() + (near & (block[:, None] == block))).log())


def one_by_one(q, k, v, w):
    rows = [slice(max(0, i - w), i + 1) for i in range(q.shape[-2])]
    return torch.cat(
        [attention(q[..., i : i + 1, :], k[..., r, :], v[..., r, :]) for i, r in enumerate(rows)], -2
    )


def gathered(q, k, v, w):
    at = torch.arange(q.shape[-2])[:, None] - torch.arange(w, -1, -1)
    s = (q[..., None, :] * k[..., at.clamp_min(0), :]).sum(-1) / math.sqrt(q.shape[-1])
    return (s.masked_fill(at < 0, -math.inf).softmax(-1)[..., None] * v[..., at.clamp_min(0), :]).sum(-2)


def in_place(q, k, v, w):
    return blocks()(q.mul_(2), k, v, w)


def layers(step=lambda mask: mask, stop=torch.equal, of=lambda mask: mask.float()):
    def layers_needed(mask):
        times, reach, count = of(step(mask)), step(mask), 1
        while True:
            further = times @ of(reach) > 0
            if stop(further, reach):
                return count
            reach, count = further, count + 1

    return layers_needed


def until_all(mask):
    reach, count = mask, 1
    while not reach.all():
        reach, count = mask.float() @ reach.float() > 0, count + 1
    return count


def ways(dtype):
    def layers_needed(mask):
        now = times = mask.to(dtype)
        count = 1
        while not torch.equal((more := times @ now) > 0, now > 0):
            now, count = more, count + 1
        return count

    return layers_needed


def same_growth(mask):
    reach, count, last = mask, 1, 0
    while True:
        further = mask.float() @ reach.float() > 0
        gain = int(further.sum() - reach.sum())
        if gain in (0, last):
            return count
        reach, count, last = further, count + 1, gain


def squarings(mask):
    reach, count = mask, 1
    while not torch.equal(further := reach.float() @ reach.float() > 0, reach):
        reach, count = further, count + 1
    return count


def changes_it(mask):
    mask |= mask.float() @ mask.float() > 0
    return 2


def stride(keys, among=lambda n: range(1, n + 1), pick=min):
    return lambda n: pick(among(n), key=lambda s: sum(keys(i, s) for i in range(n)))


def exact(i, s):
    return min(i, s) + 1 + max(i // s - 1, 0)


def table(n):
    i, s = torch.arange(n), torch.arange(1, n + 1)[:, None]
    return (torch.minimum(i, s) + (i // s - 1).clamp_min(0)).sum(1).argmin() + 1


WRONG = [
    (STRIDED, strided(lambda b, i, j, s: (b <= 0) & ((b >= -s) | (b % s == 0))), "It is transposed"),
    (STRIDED, masks.fixed, "That is the fixed pattern"),
    (STRIDED, strided(lambda b, i, j, s: (b >= 0) & ((i // s == j // s) | (b % s == 0))), "It should slide"),
    (STRIDED, strided(lambda b, i, j, s: (b.abs() <= s) | ((b >= 0) & (b % s == 0))), "lets later tokens in"),
    (STRIDED, strided(lambda b, i, j, s: (b >= 0) & ((b <= s) ^ (b % s == 0))), "use |, not ^"),
    (STRIDED, strided(lambda b, i, j, s: (b >= 0) & ((b < s - 1) | (b % s == 0))), "a token too narrow"),
    (STRIDED, strided(lambda b, i, j, s: (b >= 0) & ((b <= s) | (b % s == s - 1))), "tokens are shifted"),
    (STRIDED, strided(lambda b, i, j, s: (b >= 0) & ((b <= s) | (b == 2 * s))), "It has one far token"),
    (STRIDED, strided(lambda b, i, j, s: (b >= 0) & ((b <= 3) | (b % 3 == 0))), "With n = 17 and stride 5"),
    (STRIDED, strided(lambda b, i, j, s: ((b >= 0) & ((b <= s) | (b % s == 0))).int()), "should be boolean"),
    (STRIDED, lambda n, s: masks.strided(max(n, s), s), "should have shape (4, 4)"),
    (WINDOW, blocks(0, -1), "the token w places back is visible too"),
    (WINDOW, blocks(0, 1), "w places back is the last"),
    (WINDOW, blocks(1, 0), "a token may attend to itself"),
    (WINDOW, blocks(-1, 0), "it looks one token ahead"),
    (WINDOW, blocks(scale=lambda d, d_v, w: 1.0), "there is none"),
    (WINDOW, blocks(scale=lambda d, d_v, w: 1 / d), "it is d, without the root"),
    (WINDOW, blocks(scale=lambda d, d_v, w: d_v**-0.5), "the root of the values' width"),
    (WINDOW, blocks(scale=lambda d, d_v, w: w**-0.5), "the root of the window"),
    (WINDOW, blocks(weigh=lambda s, mask: s.softmax(-1) * mask), "The mask comes after the softmax"),
    (WINDOW, blocks(weigh=lambda s, mask: (s * mask).softmax(-1)), "e to the 0 is 1"),
    (WINDOW, blocks(weigh=lambda s, mask: s.masked_fill(~mask, -10).softmax(-1)), "a little weight"),
    (WINDOW, blocks(weigh=lambda s, mask: s.masked_fill(~mask, -1e9).softmax(-2)), "the last axis"),
    (WINDOW, blocks(cut=False), "The padding is still there"),
    (WINDOW, blocks(width=4), "not for w = 5"),
    (WINDOW, rolled, "rolling goes round"),
    (WINDOW, twice, "Pairs within a block count twice"),
    (WINDOW, in_place, "It changed its argument in place"),
    (WINDOW, lambda q, k, v, w: blocks()(k, q, v, w), "Queries and keys have changed places"),
    (WINDOW, lambda q, k, v, w: sparse.window(q, k, v, 0, w), "where it should look back"),
    (WINDOW, lambda q, k, v, w: attention(q, k, v, is_causal=True), "The window has no end"),
    (WINDOW, torch.no_grad()(blocks()), "No gradient comes out of it"),
    (WINDOW, lambda q, k, v, w: blocks()(q, k.detach(), v, w), "No gradient reaches k"),
    (WINDOW, lambda q, k, v, w: blocks()(q, 2 * k.detach() - k, v, w), "the gradient of k is not"),
    (WINDOW, lambda q, k, v, w: blocks()(q.double(), k.double(), v.double(), w), "not torch.float64"),
    (WINDOW, lambda q, k, v, w: blocks()(q, k, v, w).flatten(0, 1), "The batch is lost"),
    (LAYERS, until_all, "It does not stop for a causal mask"),
    (LAYERS, ways(torch.int8), "does not stop for a two-sided window"),
    (LAYERS, ways(torch.half), "their number outgrows the type"),
    (LAYERS, same_growth, "Reach may grow by the same amount twice"),
    (LAYERS, squarings, "Squaring doubles the layers"),
    (LAYERS, changes_it, "It changed its argument in place"),
    (LAYERS, layers(step=lambda mask: mask & ~torch.eye(len(mask), dtype=torch.bool),
                         stop=lambda a, b: not (a & ~b).any()), "reach never shrinks"),
    (LAYERS, layers(stop=lambda a, b: torch.equal(a[:, 0], b[:, 0])), "there is a way, for all pairs"),
    (LAYERS, lambda mask: len(mask) - 1, "Multiply the reach by the mask"),
    (LAYERS, lambda mask: float(layers()(mask)), "should return a whole number of layers"),
    (LAYERS, lambda mask: mask.float() @ mask.float() > 0, "should return a whole number of layers"),
    (STRIDE, lambda n: max(1, round((n / 2) ** 0.5)), "It is √(n/2), rounded"),
    (STRIDE, lambda n: math.ceil((n / 2) ** 0.5), "return the smallest"),
    (STRIDE, stride(lambda i, s: i % s + 1 + i // s), "That is best for the bound"),
    (STRIDE, stride(lambda i, s: min(i, s) + 1 + i // s), "are counted twice"),
    (STRIDE, stride(lambda i, s: min(i, s) + max(i // s - 2, 0)), "A far token of each row is missing"),
    (STRIDE, stride(lambda i, s: s + max(i // s - 1, 0)), "they have min(i, s)"),
    (STRIDE, stride(lambda i, s: min(i, s) + max(-(-i // s) - 1, 0)), "i // s rounds down"),
    (STRIDE, stride(lambda i, s: exact(i + 1, s)), "Rows count from 0"),
    (STRIDE, lambda n: min(range(1, n + 1), key=lambda s: exact(n - 1, s)), "counts the last row only"),
    (STRIDE, stride(exact, pick=max), "opens 9 pairs, stride 1 opens 10"),
    (STRIDE, lambda n: stride(exact)(n) - 1, "should lie between 1 and n, it is 0"),
    (STRIDE, stride(exact, lambda n: range(2, n + 1)), "It raised ValueError"),
    (STRIDE, lambda n: {57: 6, 105: 7}.get(n, 1), "For n = 4"),
]  # fmt: skip
RIGHT = [
    (STRIDED, strided(lambda b, i, j, s: (b >= 0) & ((b < s) | (b % s == 0)))),
    (
        "sparse-strided",
        lambda n, s: sum(torch.ones(n - d).diag(-d) for d in range(n) if d <= s or d % s == 0) > 0,
    ),
    (WINDOW, one_by_one),
    (WINDOW, gathered),
    (WINDOW, lambda q, k, v, w: sparse.window(q, k, v, w, 0)),
    (WINDOW, blocks(weigh=lambda s, mask: s.masked_fill(~mask, -1e9).softmax(-1))),
    (LAYERS, lambda mask: torch.tensor(layers()(mask))),
    (LAYERS, lambda mask: layers()(mask.T)),
    (LAYERS, layers(of=lambda mask: mask.double())),
    (STRIDE, table),
    (STRIDE, stride(lambda i, s: exact(i, s) - 1)),
    (STRIDE, lambda n: stride(exact)(n) + torch.tensor(0)),
]


@pytest.mark.parametrize(("name", "answer", "message"), WRONG)
def test_a_slip_is_refused_and_named(name, answer, message):
    verdict = judge(name, answer)
    assert verdict.status == "wrong"
    assert message in verdict.message


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_an_odd_right_answer_is_accepted(name, answer):
    verdict = judge(name, answer)
    assert verdict.status == "right", verdict.message
