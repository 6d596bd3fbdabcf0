"""Answers to the exercises on sparse patterns that readers tried, or that fooled an earlier checker."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attnlab import attention, masks, sparse

STRIDED, WINDOW, LAYERS, STRIDE = "sparse-strided", "sparse-block-window", "sparse-layers", "sparse-stride"


def strided(rule):
    place = torch.arange(200)
    return lambda n, s: rule((place[:n, None] - place[:n]), place[:n, None], place[:n], s)


def by_distances(n, s):
    return sum(torch.ones(n - d).diag(-d) for d in range(n) if d <= s or d % s == 0) > 0


def by_loops(n, s):
    return torch.tensor(
        [[i - j >= 0 and (i - j <= s or (i - j) % s == 0) for j in range(n)] for i in range(n)]
    )


def sparse_layout(n, s):
    return masks.strided(n, s).to_sparse()


def softmax(s, mask):
    return s.masked_fill(~mask, -1e9).softmax(-1)


def blocks(weigh=softmax, width=None, first=0):
    def block_window(q, k, v, w):
        size, n = width or w, q.shape[-2]
        q, k, v = (F.pad(x, (0, 0, 0, -n % size)) for x in (q, k, v))
        k, v = (F.pad(x, (0, 0, size, 0)).unfold(-2, 2 * size, size).mT for x in (k, v))
        q = q.unflatten(-2, (-1, size))
        behind = torch.arange(size)[:, None] + size - torch.arange(2 * size)
        real = torch.arange(q.shape[-3])[:, None, None] * size + torch.arange(2 * size) >= size
        s = q @ k.mT * q.shape[-1] ** -0.5
        mask = ((behind >= first) & (behind <= w) & real).expand(s.shape)
        return (weigh(s, mask) @ v).flatten(-3, -2)[..., :n, :]

    return block_window


def by_hand(s, mask):
    s = s.masked_fill(~mask, -math.inf)
    e = (s - s.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


def row_by_row(q, k, v, w):
    rows = [slice(max(0, i - w), i + 1) for i in range(q.shape[-2])]
    return torch.cat(
        [attention(q[..., r.stop - 1 : r.stop, :], k[..., r, :], v[..., r, :]) for r in rows], -2
    )


def dense_in_pieces(size):
    """All scores, some rows at a time: what is stored is small, what is computed is not."""

    def block_window(q, k, v, w):
        mask, n = (
            (lambda i: (i[:, None] >= (j := torch.arange(q.shape[-2]))) & (i[:, None] - j <= w)),
            q.shape[-2],
        )
        pieces = [torch.arange(a, min(a + size, n)) for a in range(0, n, size)]
        return torch.cat([attention(q[..., i, :], k, v, mask=mask(i)) for i in pieces], -2)

    return block_window


def gathered(q, k, v, w):
    at = torch.arange(q.shape[-2])[:, None] - torch.arange(w, -1, -1)
    s = (q[..., None, :] * k[..., at.clamp_min(0), :]).sum(-1) / math.sqrt(q.shape[-1])
    return (s.masked_fill(at < 0, -math.inf).softmax(-1)[..., None] * v[..., at.clamp_min(0), :]).sum(-2)


def by_diagonals(q, k, v, w):
    """One product for each distance: w + 1 of them."""
    n, d = q.shape[-2:]
    keys, values = ([F.pad(x, (0, 0, b, 0))[..., :n, :] for b in range(w + 1)] for x in (k, v))
    s = torch.stack([(q * key).sum(-1) for key in keys], -1) / d**0.5
    s = s.masked_fill(torch.arange(n)[:, None] < torch.arange(w + 1), -math.inf)
    return sum(p[..., None] * x for p, x in zip(s.softmax(-1).unbind(-1), values, strict=True))


def in_place(q, k, v, w):
    return blocks()(q.mul_(2), k, v, w)


def layers(product=lambda mask, reach: mask.float() @ reach.float() > 0, most=10**6):
    def layers_needed(mask):
        reach, count = mask, 1
        while count < most and not torch.equal(further := product(mask, reach), reach):
            reach, count = further, count + 1
        return count

    return layers_needed


def by_sparse(mask):
    times, reach, count = mask.float().to_sparse(), mask, 1
    while not torch.equal(further := torch.sparse.mm(times, reach.float()) > 0, reach):
        reach, count = further, count + 1
    return count


def by_ways(dtype, more=lambda x: x > 0):
    def layers_needed(mask):
        now = times = mask.to(dtype)
        count = 1
        while not torch.equal(more(after := times @ now), more(now)):
            now, count = after, count + 1
        return count

    return layers_needed


def by_shares(mask):
    now = times = mask / mask.sum(1, keepdim=True)
    count = 1
    while not torch.equal((after := times @ now) > 0, now > 0):
        now, count = after, count + 1
    return count


def until_all(mask):
    reach, count = mask, 1
    while not reach.all():
        reach, count = mask.float() @ reach.float() > 0, count + 1
    return count


def forgetful(mask):
    step = (mask & ~torch.eye(len(mask), dtype=torch.bool)).float()
    reach, count = step > 0, 1
    while (further := step @ reach.float() > 0).any():
        reach, count = further, count + 1
    return count


def breadth_first(mask):
    sees = [row.nonzero().flatten().tolist() for row in mask]
    most = 1
    for start in range(len(mask)):
        far, line = {start: 0}, [start]
        for one in line:
            for other in sees[one]:
                if other not in far:
                    far[other] = far[one] + 1
                    line.append(other)
        most = max(most, *far.values())
    return most


def doubling(mask):
    """Squares until nothing is added, then searches between the last two powers."""
    powers = [mask]
    while not torch.equal(after := powers[-1].float() @ powers[-1].float() > 0, powers[-1]):
        powers.append(after)
    reach, count = torch.eye(len(mask), dtype=torch.bool), 0
    for i in reversed(range(len(powers))):
        further = reach.float() @ powers[i].float() > 0
        if not torch.equal(further, powers[-1]):
            reach, count = further, count + 2**i
    return count + 1


def stride(keys, pick=min):
    return lambda n: pick(range(1, n + 1), key=lambda s: sum(keys(i, s) for i in range(n)))


def exact(i, s):
    return min(i, s) + 1 + max(i // s - 1, 0)


def closed(n):
    """No loop over rows: sums of whole blocks."""

    def pairs(s):
        near = n * (n + 1) // 2 if n <= s else s * (s + 1) // 2 + (n - s) * (s + 1)
        whole, rest = divmod(n, s)
        return near + s * max(whole - 1, 0) * max(whole - 2, 0) // 2 + rest * max(whole - 1, 0)

    return min(range(1, n + 1), key=pairs)


def in_numpy(n):
    i = np.arange(n)
    return min(range(1, n + 1), key=lambda s: (np.minimum(i, s) + np.maximum(i // s - 1, 0)).sum())


def numpy_masks(n):
    back = np.subtract.outer(np.arange(n), np.arange(n))
    return min(range(1, n + 1), key=lambda s: ((back >= 0) & ((back <= s) | (back % s == 0))).sum())


def table(n):
    i, s = torch.arange(n), torch.arange(1, n + 1)[:, None]
    return (torch.minimum(i, s) + (i // s - 1).clamp_min(0)).sum(1).argmin() + 1


def lists(n):
    rows = [[exact(i, s) for i in range(n)] for s in range(1, n + 1)]
    return min(range(1, n + 1), key=lambda s: sum(rows[s - 1]))


KNOWN = {n: closed(n) for n in (1, 3, 4, 57, 60, 61, 79, 101, 105)}

ATTACKS = [
    ("far keys to five strides", STRIDED, "wrong", "should be", strided(lambda b, i, j, s: (b >= 0) & ((b <= s) | ((b % s == 0) & (b <= 5 * s))))),
    ("the fixed pattern", STRIDED, "wrong", "That is the fixed pattern", masks.fixed),
    ("a stride of 3 for all", STRIDED, "wrong", "With n = 17, stride = 5", strided(lambda b, i, j, s: (b >= 0) & ((b <= 3) | (b % 3 == 0)))),
    ("numbers", STRIDED, "wrong", "A mask is boolean", lambda n, s: masks.strided(n, s).int()),
    ("a longer one", STRIDED, "wrong", "should have shape (1, 1)", lambda n, s: masks.strided(max(n, s), s)),
    ("on the device meta", STRIDED, "wrong", "without data", lambda n, s: masks.strided(n, s).to("meta")),
    ("negative distances", STRIDED, "wrong", "It is not causal far away", strided(lambda b, i, j, s: ((b >= 0) & (b <= s)) | (b % s == 0))),
    ("a list", STRIDED, "wrong", "should be a tensor", lambda n, s: masks.strided(n, s).tolist()),
    ("a window without the stride-th", STRIDED, "right", "", strided(lambda b, i, j, s: (b >= 0) & ((b < s) | (b % s == 0)))),
    ("by distances", STRIDED, "right", "", by_distances),
    ("by loops", STRIDED, "right", "", by_loops),
    ("a sparse tensor", STRIDED, "right", "", sparse_layout),
    ("blocks of 8 always", WINDOW, "wrong", "w = 9", blocks(width=8)),
    ("blocks of 20 always", WINDOW, "wrong", "n² entries", blocks(width=300)),
    ("a row of all scores at a time", WINDOW, "wrong", "With 300 tokens", dense_in_pieces(1)),
    ("64 rows at a time", WINDOW, "wrong", "the work is not saved", dense_in_pieces(64)),
    ("the dense mask", WINDOW, "wrong", "n² entries", lambda q, k, v, w: attention(q, k, v, mask=masks.window(q.shape[-2], w, 0))),
    ("dense where it is long", WINDOW, "wrong", "n² entries", lambda q, k, v, w: (dense_in_pieces(10**6) if q.shape[-2] > 100 else blocks())(q, k, v, w)),
    ("the queries where it is long", WINDOW, "wrong", "300 tokens", lambda q, k, v, w: q[..., :2] if q.shape[-2] > 100 else blocks()(q, k, v, w)),
    ("exponentials by hand", WINDOW, "wrong", "The exponentials overflow", blocks(lambda s, m: s.exp() * m / (s.exp() * m).sum(-1, keepdim=True))),
    ("hidden at −50", WINDOW, "wrong", "not small enough", blocks(lambda s, m: s.masked_fill(~m, -50).softmax(-1))),
    ("hidden at −10,000", WINDOW, "wrong", "not small enough", blocks(lambda s, m: s.masked_fill(~m, -1e4).softmax(-1))),
    ("weights by relu", WINDOW, "wrong", "With", blocks(lambda s, m: (s.relu() * m) / (s.relu() * m).sum(-1, keepdim=True).clamp_min(1e-9))),
    ("without itself", WINDOW, "wrong", "a token may attend to itself", blocks(first=1)),
    ("no gradient", WINDOW, "wrong", "no gradient reaches q", torch.no_grad()(blocks())),
    ("k detached", WINDOW, "wrong", "no gradient reaches k", lambda q, k, v, w: blocks()(q, k.detach(), v, w)),
    ("k half detached", WINDOW, "wrong", "gradient of k", lambda q, k, v, w: blocks()(q, 2 * k.detach() - k, v, w)),
    ("in place", WINDOW, "wrong", "it changed its argument q in place", in_place),
    ("single precision inside", WINDOW, "wrong", "in float64", lambda q, k, v, w: blocks()(q.float(), k.float(), v.float(), w).to(q.dtype)),
    ("the batch joined", WINDOW, "wrong", "should have shape", lambda q, k, v, w: blocks()(q, k, v, w).flatten(0, -3) if q.dim() > 3 else blocks()(q, k, v, w)),
    ("row by row", WINDOW, "right", "", row_by_row),
    ("gathered", WINDOW, "right", "", gathered),
    ("by diagonals", WINDOW, "right", "", by_diagonals),
    ("a softmax by hand", WINDOW, "right", "", blocks(lambda s, m: by_hand(s, m).nan_to_num())),
    ("the package's", WINDOW, "right", "", lambda q, k, v, w: sparse.window(q, k, v, w, 0)),
    ("double inside", WINDOW, "right", "", lambda q, k, v, w: blocks()(q.double(), k.double(), v.double(), w).to(q.dtype)),
    ("and, or", LAYERS, "right", "", layers(lambda mask, reach: (mask[:, :, None] & reach[None]).any(1))),
    ("mask @ reach", LAYERS, "right", "", layers(lambda mask, reach: (mask.int() @ reach.int()).bool())),
    ("reach @ mask", LAYERS, "right", "", layers(lambda mask, reach: reach.float() @ mask.float() > 0)),
    ("einsum", LAYERS, "right", "", layers(lambda mask, reach: torch.einsum("ik,kj->ij", mask.float(), reach.float()) > 0)),
    ("a sparse mask", LAYERS, "right", "", by_sparse),
    ("breadth first", LAYERS, "right", "", breadth_first),
    ("doubling and a search", LAYERS, "right", "", doubling),
    ("NumPy", LAYERS, "right", "", lambda mask: np.int64(layers()(mask))),
    ("a tensor of one", LAYERS, "right", "", lambda mask: torch.tensor([layers()(mask)])),
    ("a float", LAYERS, "right", "", lambda mask: float(layers()(mask))),
    ("boolean @ boolean", LAYERS, "wrong", "it raised RuntimeError", layers(lambda mask, reach: mask @ reach)),
    ("ways in float64", LAYERS, "wrong", "The ways are counted", by_ways(torch.double)),
    ("ways in float32", LAYERS, "wrong", "The ways are counted", by_ways(torch.float)),
    ("ways in half", LAYERS, "wrong", "", by_ways(torch.half)),
    ("shares of ways", LAYERS, "wrong", "It averages over the ways", by_shares),
    ("no more than 20", LAYERS, "wrong", "a chain of 171 tokens", layers(most=20)),
    ("until all are reached", LAYERS, "wrong", "With a causal mask over 5 tokens: it does not stop. Its reach is complete at once", until_all),
    ("it forgets itself", LAYERS, "wrong", "", forgetful),
    ("a matrix", LAYERS, "wrong", "should be a number", lambda mask: mask),
    ("nine known sizes", STRIDE, "wrong", "", lambda n: KNOWN.get(n, round((n / 2) ** 0.5))),
    ("NumPy masks", STRIDE, "wrong", "tables of n × n numbers", numpy_masks),
    ("masks", STRIDE, "wrong", "tables of n × n numbers", lambda n: min(range(1, n + 1), key=lambda s: int(masks.strided(n, s).sum()))),
    ("a table", STRIDE, "wrong", "tables of n × n numbers", table),
    ("lists of lists", STRIDE, "wrong", "tables of n × n numbers", lists),
    ("the largest of equals", STRIDE, "wrong", "it returns the largest", lambda n: -stride(exact, lambda r, key: min(r, key=lambda s: (key(s), -s)))(n) * -1),
    ("√(n/2), up", STRIDE, "wrong", "√(n/2)", lambda n: math.ceil((n / 2) ** 0.5)),
    ("zero", STRIDE, "wrong", "should be", lambda n: closed(n) - 1),
    ("none for one token", STRIDE, "wrong", "it raised ValueError", lambda n: min(range(2, n + 1), key=lambda s: sum(exact(i, s) for i in range(n)))),
    ("a loop", STRIDE, "right", "", stride(exact)),
    ("a loop that leaves a constant out", STRIDE, "right", "", stride(lambda i, s: exact(i, s) - 1)),
    ("sums of blocks", STRIDE, "right", "", closed),
    ("NumPy, row by row", STRIDE, "right", "", in_numpy),
    ("NumPy's whole number", STRIDE, "right", "", lambda n: np.int64(closed(n))),
    ("up to 2√n", STRIDE, "right", "", lambda n: min(range(1, min(n, 2 * math.isqrt(n) + 1) + 1), key=lambda s: sum(exact(i, s) for i in range(n)))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "status", "message", "answer"),
    [a[1:] for a in ATTACKS],
    ids=[f"{a[1]}: {a[0]}" for a in ATTACKS],
)
def test_an_attack_is_judged_rightly(judged, name, status, message, answer):
    judged(name, status, message, answer)
