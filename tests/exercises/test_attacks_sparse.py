"""Answers to the exercises on sparse patterns that readers tried, or that fooled an earlier checker."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attnlab import attention, masks, sparse

HEARD, ROUTED = "sparse-heard", "sparse-routed"
WINDOW, STRIDE = "sparse-block-window", "sparse-stride"


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


def by_a_view(q, k, v, w):
    n = q.shape[-2]
    k, v = (F.pad(x, (0, 0, w, 0)).unfold(-2, w + 1, 1) for x in (k, v))
    s = torch.einsum("...nd,...ndj->...nj", q, k) / q.shape[-1] ** 0.5
    real = torch.arange(n)[:, None] + torch.arange(w + 1) >= w
    return torch.einsum("...nj,...ndj->...nd", s.masked_fill(~real, -math.inf).softmax(-1), v)


def band_of_numpy(q, k, v, w):
    """The rows are gathered, the mask is a table of all pairs, and torch never sees it."""
    n = q.shape[-2]
    back = np.subtract.outer(np.arange(n), np.arange(n))
    mask = np.pad((back >= 0) & (back <= w), ((0, 0), (w, 0)))
    band = torch.from_numpy(np.stack([mask[i, i : i + w + 1] for i in range(n)]))
    k, v = (F.pad(x, (0, 0, w, 0)).unfold(-2, w + 1, 1) for x in (k, v))
    s = (q[..., None] * k).sum(-2) / q.shape[-1] ** 0.5
    return (s.masked_fill(~band, -math.inf).softmax(-1)[..., None, :] * v).sum(-1)


def by_hand_and_a_bit(s, mask):
    s = s.masked_fill(~mask, -math.inf)
    e = (s - s.amax(-1, keepdim=True).clamp_min(-1e4)).exp()
    return e / (e.sum(-1, keepdim=True) + 1e-9)


def in_place(q, k, v, w):
    return blocks()(q.mul_(2), k, v, w)


def in_turn(product, start=lambda n: torch.eye(n), end=lambda reach: reach > 0):
    """Go through the layers; `product` takes a mask in numbers and what was heard."""

    def heard(masks):
        reach = start(masks.shape[-1])
        for mask in masks:
            reach = product(mask.float(), reach)
        return end(reach)

    return heard


def yes(x):
    return (x > 0).float()


def and_or(masks):
    reach = torch.eye(masks.shape[-1], dtype=torch.bool)
    for mask in masks:
        reach = reach | (mask[:, :, None] & reach).any(1)
    return reach


def by_einsum(masks):
    reach = torch.eye(masks.shape[-1], dtype=torch.bool)
    for mask in masks.unbind():
        reach = reach | (torch.einsum("ik,kj->ij", mask.int(), reach.int()) > 0)
    return reach


def by_sets(masks):
    of = [{i} for i in range(masks.shape[-1])]
    for mask in masks.tolist():
        of = [
            mine.union(*(of[k] for k, sees in enumerate(row) if sees))
            for row, mine in zip(mask, of, strict=True)
        ]
    return torch.tensor([[j in mine for j in range(len(of))] for mine in of])


def by_numpy(masks):
    reach = np.eye(masks.shape[-1], dtype=bool)
    for mask in masks.numpy():
        reach = reach | (mask.astype(float) @ reach > 0)
    return torch.from_numpy(reach)


def backward(masks):
    """Ask from the last layer on, whom the answer can come from."""
    n = masks.shape[-1]
    wants = torch.eye(n)
    for mask in masks.flip(0):
        wants = yes(wants @ (mask.float() + torch.eye(n)))
    return wants > 0


def clamped(masks):
    reach = torch.eye(masks.shape[-1])
    for mask in masks:
        reach = (mask.float() @ reach + reach).clamp(max=1)
    return reach.bool()


def five_layers(masks):
    return in_turn(lambda mask, reach: yes(mask @ reach + reach))(masks[:5])


def until_still(masks):
    reach = torch.eye(masks.shape[-1])
    for mask in masks:
        further = yes(mask.float() @ reach + reach)
        if further.equal(reach):
            break
        reach = further
    return reach > 0


def rows_gathered(masks):
    reach = torch.eye(masks.shape[-1], dtype=torch.bool)
    for mask in masks:
        reach = torch.stack([mine | reach[sees].any(0) for mine, sees in zip(reach, mask, strict=True)])
    return reach


def masks_in_place(masks):
    masks |= torch.eye(masks.shape[-1], dtype=torch.bool)
    return and_or(masks)


def most(scores, top):
    return scores.argsort(-1, descending=True).argsort(-1) < top


def routed(judge=lambda q, k, size: q @ k.unflatten(-2, (-1, size)).mean(-2).mT, pick=most):
    def answer(q, k, v, size, top):
        n = q.shape[-2]
        block = torch.arange(n) // size
        scores = judge(q, k, size)
        scores = scores.masked_fill(block[:, None] <= torch.arange(n // size), -math.inf)
        chosen = pick(scores, top)[..., block] & (block[:, None] > block)
        near = (block[:, None] == block) & torch.ones(n, n, dtype=torch.bool).tril()
        return attention(q, k, v, mask=chosen | near)

    return answer


def above_the_last(scores, top):
    """A threshold in place of indices."""
    return scores >= scores.topk(min(top, scores.shape[-1])).values[..., -1:]


def token_by_token(q, k, v, size, top):
    """Gather the keys of each token, and attend to nothing else."""
    if q.dim() > 2:
        return torch.stack([token_by_token(*x, size, top) for x in zip(q, k, v, strict=True)])
    rows = []
    for i, query in enumerate(q):
        earlier = i // size
        means = k[: earlier * size].reshape(earlier, size, k.shape[-1]).mean(1)
        best = (means @ query).topk(min(top, earlier)).indices
        at = [*(b * size + j for b in best.tolist() for j in range(size)), *range(earlier * size, i + 1)]
        w = (k[at] @ query / query.shape[-1] ** 0.5).softmax(-1)
        rows.append(w @ v[at])
    return torch.stack(rows)


def no_batches(q, k, v, size, top):
    return (
        token_by_token(q, k, v, size, top)
        if q.dim() == 2
        else routed()(q[:1], k[:1], v[:1], size, top).expand_as(v)
    )


def late(q, k, v, size, top):
    n = q.shape[-2]
    block = torch.arange(n) // size
    scores = (q @ k.unflatten(-2, (-1, size)).mean(-2).mT).masked_fill(
        block[:, None] <= torch.arange(n // size), -math.inf
    )
    seen = most(scores, top)[..., block] & (block[:, None] > block)
    seen = seen | (block[:, None] == block) & torch.ones(n, n, dtype=torch.bool).tril()
    return ((q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) * seen) @ v


def two_softmaxes(q, k, v, size, top):
    """The mean of what the own block says, and of what the chosen ones say."""
    n = q.shape[-2]
    block = torch.arange(n) // size
    scores = (q @ k.unflatten(-2, (-1, size)).mean(-2).mT).masked_fill(
        block[:, None] <= torch.arange(n // size), -math.inf
    )
    far = most(scores, top)[..., block] & (block[:, None] > block)
    near = (block[:, None] == block) & torch.ones(n, n, dtype=torch.bool).tril()
    own = attention(q, k, v, mask=near)
    return torch.where(far.any(-1, keepdim=True), (own + attention(q, k, v, mask=far | near)) / 2, own)


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


def downhill(n):
    """The count falls to its minimum and never rises before: true for all n up to 700."""
    s, of = 1, lambda s: sum(exact(i, s) for i in range(n))
    while s < n and of(s + 1) < of(s):
        s += 1
    return s


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
    ("and, or", HEARD, "right", "", and_or),
    ("einsum", HEARD, "right", "", by_einsum),
    ("sets", HEARD, "right", "", by_sets),
    ("NumPy", HEARD, "right", "", by_numpy),
    ("from the last layer on", HEARD, "right", "", backward),
    ("clamped", HEARD, "right", "", clamped),
    ("ways in float64", HEARD, "wrong", "The ways are counted", in_turn(lambda m, r: m.double() @ r + r, lambda n: torch.eye(n).double())),
    ("ways in whole numbers", HEARD, "wrong", "The ways are counted", in_turn(lambda m, r: m.long() @ r + r, lambda n: torch.eye(n).long())),
    ("ways with the diagonal", HEARD, "wrong", "", in_turn(lambda m, r: yes(m + torch.eye(len(m))).double() @ r, lambda n: torch.eye(n).double())),
    ("at least half a way", HEARD, "wrong", "", in_turn(lambda m, r: (m @ r + r) / (m.sum(1, keepdim=True) + 1))),
    ("until nothing is new", HEARD, "wrong", "A layer that adds nothing says nothing of the next", until_still),
    ("yes or no in eight bits", HEARD, "wrong", "256 ways are none in eight bits", in_turn(lambda m, r: yes(m.byte() @ r.byte()) + r)),
    ("the diagonal at the end", HEARD, "wrong", "", in_turn(lambda m, r: yes(m @ r), end=lambda r: (r + torch.eye(len(r))) > 0)),
    ("rows gathered", HEARD, "right", "", rows_gathered),
    ("five layers at most", HEARD, "wrong", "", five_layers),
    ("the other way round", HEARD, "wrong", "The layers stand in the wrong order", in_turn(lambda m, r: yes(r @ m + r))),
    ("entry by entry", HEARD, "wrong", "", in_turn(lambda m, r: yes(m * r + r))),
    ("the last layer alone", HEARD, "wrong", "", lambda masks: masks[-1]),
    ("boolean @ boolean", HEARD, "wrong", "it raised RuntimeError", lambda masks: masks[0] @ masks[-1]),
    ("all", HEARD, "wrong", "", lambda masks: torch.ones_like(masks[0])),
    ("a list", HEARD, "wrong", "should be a tensor", lambda masks: and_or(masks).tolist()),
    ("in place", HEARD, "wrong", "it changed its argument masks in place", masks_in_place),
    ("ranks", ROUTED, "right", "", routed()),
    ("a threshold", ROUTED, "right", "", routed(pick=above_the_last)),
    ("sums for means", ROUTED, "right", "", routed(lambda q, k, size: q @ k.unflatten(-2, (-1, size)).sum(-2).mT)),
    ("the mean of the scores", ROUTED, "right", "", routed(lambda q, k, size: (q @ k.mT).unflatten(-1, (-1, size)).mean(-1))),
    ("token by token", ROUTED, "right", "", token_by_token),
    ("the first of a batch", ROUTED, "wrong", "", no_batches),
    ("keys without gradient", ROUTED, "wrong", "no gradient reaches k", lambda q, k, v, size, top: routed()(q, k.detach(), v, size, top)),
    ("the best weight", ROUTED, "wrong", "It judges a block by its best key", routed(lambda q, k, size: (q @ k.mT).unflatten(-1, (-1, size)).amax(-1))),
    ("the logsumexp", ROUTED, "wrong", "", routed(lambda q, k, size: (q @ k.mT).unflatten(-1, (-1, size)).logsumexp(-1))),
    ("unit means", ROUTED, "wrong", "", routed(lambda q, k, size: q @ F.normalize(k.unflatten(-2, (-1, size)).mean(-2), dim=-1).mT)),
    ("two softmaxes", ROUTED, "wrong", "", two_softmaxes),
    ("a threshold that leaves itself out", ROUTED, "wrong", "It chooses one block too few", routed(pick=lambda s, top: s > s.topk(min(top, s.shape[-1])).values[..., -1:])),
    ("the block before in any case", ROUTED, "wrong", "", routed(pick=lambda s, top: most(s, top) | (s.isfinite() & ~s.roll(-1, -1).isfinite()))),
    ("one hot", ROUTED, "right", "", routed(pick=lambda s, top: F.one_hot(s.topk(min(top, s.shape[-1])).indices, s.shape[-1]).sum(-2) > 0)),
    ("positive ones only", ROUTED, "wrong", "", routed(pick=lambda s, top: most(s, top) & (s > 0))),
    ("every other token a block", ROUTED, "wrong", "", routed(lambda q, k, size: q @ k.unflatten(-2, (size, -1)).mean(-3).mT)),
    ("two blocks always", ROUTED, "wrong", "", routed(pick=lambda s, top: most(s, 2))),
    ("the weights cut off", ROUTED, "wrong", "The mask comes after the softmax", late),
    ("causal", ROUTED, "wrong", "It sees everything before it", lambda q, k, v, size, top: attention(q, k, v, is_causal=True)),
    ("single precision inside", ROUTED, "wrong", "in float64", lambda q, k, v, size, top: routed()(q.float(), k.float(), v.float(), size, top).to(q.dtype)),
    ("blocks of 8 always", WINDOW, "wrong", "w = 9", blocks(width=8)),
    ("blocks of 20 always", WINDOW, "wrong", "n² entries", blocks(width=300)),
    ("four rows of all scores at a time", WINDOW, "wrong", "With 640 tokens", dense_in_pieces(4)),
    ("a mask of NumPy's", WINDOW, "wrong", "n² entries", band_of_numpy),
    ("a constant added to the sum", WINDOW, "wrong", "scores around −20,000", blocks(by_hand_and_a_bit)),
    ("without gradient where it is long", WINDOW, "wrong", "no gradient reaches q", lambda q, k, v, w: blocks()(q.detach() if q.shape[-2] > 100 else q, k, v, w)),
    ("32 rows at a time", WINDOW, "wrong", "the work is not saved", dense_in_pieces(32)),
    ("the dense mask", WINDOW, "wrong", "n² entries", lambda q, k, v, w: attention(q, k, v, mask=masks.window(q.shape[-2], w, 0))),
    ("dense where it is long", WINDOW, "wrong", "n² entries", lambda q, k, v, w: (dense_in_pieces(10**6) if q.shape[-2] > 100 else blocks())(q, k, v, w)),
    ("the queries where it is long", WINDOW, "wrong", "640 tokens", lambda q, k, v, w: q[..., :2] if q.shape[-2] > 100 else blocks()(q, k, v, w)),
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
    ("blocks wider by one", WINDOW, "right", "", lambda q, k, v, w: blocks(width=w + 1)(q, k, v, w)),
    ("windows of a view", WINDOW, "right", "", by_a_view),
    ("the package's", WINDOW, "right", "", lambda q, k, v, w: sparse.window(q, k, v, w, 0)),
    ("double inside", WINDOW, "right", "", lambda q, k, v, w: blocks()(q.double(), k.double(), v.double(), w).to(q.dtype)),
    ("nine known sizes", STRIDE, "wrong", "", lambda n: KNOWN.get(n, round((n / 2) ** 0.5))),
    ("NumPy masks", STRIDE, "wrong", "tables of n × n numbers", numpy_masks),
    ("masks", STRIDE, "wrong", "tables of n × n numbers", lambda n: min(range(1, n + 1), key=lambda s: int(masks.strided(n, s).sum()))),
    ("a table", STRIDE, "wrong", "tables of n × n numbers", table),
    ("lists of lists", STRIDE, "wrong", "tables of n × n numbers", lists),
    ("the largest of equals", STRIDE, "wrong", "it returns the largest", lambda n: -stride(exact, lambda r, key: min(r, key=lambda s: (key(s), -s)))(n) * -1),
    ("√(n/2), up", STRIDE, "wrong", "√(n/2)", lambda n: math.ceil((n / 2) ** 0.5)),
    ("zero", STRIDE, "wrong", "should be", lambda n: closed(n) - 1),
    ("none for one token", STRIDE, "wrong", "it raised ValueError", lambda n: min(range(2, n + 1), key=lambda s: sum(exact(i, s) for i in range(n)))),
    ("divisors of n", STRIDE, "wrong", "", lambda n: min((s for s in range(1, n + 1) if n % s == 0), key=lambda s: sum(exact(i, s) for i in range(n)))),
    ("counted from zero", STRIDE, "wrong", "", lambda n: int(np.argmin([sum(exact(i, s) for i in range(n)) for s in range(1, n + 1)]))),
    ("the fixed pattern", STRIDE, "wrong", "It returns √n", stride(lambda i, s: i % s + 1 + i // s)),
    ("downhill from 1", STRIDE, "right", "", downhill),
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
