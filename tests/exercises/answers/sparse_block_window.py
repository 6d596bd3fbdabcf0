"""A causal window by blocks: each block reads itself and the one before."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from answers import right, wrong
from answers._ways import in_a_thread
from attnlab import attention, masks, scores, sparse

INF = math.inf


def softmax(s, mask):
    return s.masked_fill(~mask, -1e9).softmax(-1)


def blocks(
    weigh=softmax,
    shown=lambda behind, real, w: (behind >= 0) & (behind <= w) & real,
    width=lambda w: w,
    scale=lambda q, v, w: q.shape[-1] ** -0.5,
    before=torch.zeros_like,
    end=lambda out, n: out[..., :n, :],
):
    """Right; or with something changed: `shown` takes distances, and which keys are no padding in front."""

    def block_window(q, k, v, w):
        size, n, by = width(w), q.shape[-2], scale(q, v, w)
        q, k, v = (F.pad(x, (0, 0, 0, -n % size)) for x in (q, k, v))
        q = q.unflatten(-2, (-1, size))
        k, v = (torch.cat((before(x[..., -size:, :]), x), -2).unfold(-2, 2 * size, size).mT for x in (k, v))
        behind = torch.arange(size)[:, None] + size - torch.arange(2 * size)
        real = torch.arange(q.shape[-3])[:, None, None] * size + torch.arange(2 * size) >= size
        s = q @ k.mT * by
        return end((weigh(s, shown(behind, real, w).expand(s.shape)) @ v).flatten(-3, -2), n)

    return block_window


def tokens(seen=lambda i, w: range(i - w, i + 1), of=attention):
    """Token after token, each with the keys that it sees."""

    def block_window(q, k, v, w):
        rows, n = [], q.shape[-2]
        for i in range(n):
            at = [j for j in seen(i, w) if 0 <= j < n]
            rows.append(of(q[..., i : i + 1, :], k[..., at, :], v[..., at, :]))
        return torch.cat(rows, -2)

    return block_window


def by_hand(s, mask, most=lambda s: s.amax(-1, keepdim=True), more=0.0):
    s = s.masked_fill(~mask, -INF)
    e = (s - most(s)).exp()
    return e / (e.sum(-1, keepdim=True) + more)


def dense(q, k, v, w):
    return attention(q, k, v, mask=masks.window(q.shape[-2], w, 0))


def rows_at_a_time(size):
    """All scores, some rows at a time: what is stored is small, what is computed is not."""

    def block_window(q, k, v, w):
        out, place = [], torch.arange(q.shape[-2])
        for i in place.split(size):
            behind = i[:, None] - place
            out.append(attention(q[..., i, :], k, v, mask=(behind >= 0) & (behind <= w)))
        return torch.cat(out, -2)

    return block_window


def slices(q, k, v, w):
    """Block after block, each against a slice of the keys."""
    out, n = [], q.shape[-2]
    for i in range(0, n, w):
        a, e = max(0, i - w), min(n, i + w)
        s = q[..., i:e, :] @ k[..., a:e, :].mT / q.shape[-1] ** 0.5
        back = torch.arange(i, e)[:, None] - torch.arange(a, e)
        s = s.masked_fill((back < 0) | (back > w), -INF)
        out.append(s.softmax(-1) @ v[..., a:e, :])
    return torch.cat(out, -2)


def if_long(other, short=None):
    """Another answer from 100 tokens on."""
    return lambda q, k, v, w: (other if q.shape[-2] > 100 else short or blocks())(q, k, v, w)


right(blocks(), "by blocks")
right(blocks(lambda s, mask: by_hand(s, mask).nan_to_num()), "a softmax by hand")
right(blocks(width=lambda w: w + 1), "blocks wider by one")
right(tokens(), "token after token")
right(slices)


def fused(size):
    """Blocks of a fixed size, as in the page's listing: too wide for a window of 4, but linear in n."""

    def block_window(q, k, v, w):
        wide, place, out = max(w, size), torch.arange(q.shape[-2]), []
        for own in place.split(wide):
            near = torch.arange(max(own[0] - w, 0), own[-1] + 1)
            back = own[:, None] - near
            x = q[..., own, :], k[..., near, :], v[..., near, :]
            out.append(F.scaled_dot_product_attention(*x, attn_mask=(back >= 0) & (back <= w)))
        return torch.cat(out, -2)

    return block_window


right(fused(64), "fused, in blocks of 64")
right(fused(128), "fused, in blocks of 128")
right(blocks(width=lambda w: max(w, 64)), "all blocks of 64 at once")
right(lambda q, k, v, w: sparse.window(q, k, v, w, 0), "the package's")
right(lambda q, k, v, w: blocks()(q.double(), k.double(), v.double(), w).to(q.dtype), "double inside")


@right
def text_after_text(q, k, v, w):
    """The batch laid flat, and a loop over it."""
    *lead, n, _ = q.shape
    q, k, v = (x.reshape(-1, n, x.shape[-1]) for x in (q, k, v))
    return torch.stack([slices(q[b], k[b], v[b], w) for b in range(len(q))]).reshape(*lead, n, v.shape[-1])


@right
def gathered(q, k, v, w):
    at = torch.arange(q.shape[-2])[:, None] - torch.arange(w, -1, -1)
    s = (q[..., None, :] * k[..., at.clamp_min(0), :]).sum(-1) / math.sqrt(q.shape[-1])
    return (s.masked_fill(at < 0, -INF).softmax(-1)[..., None] * v[..., at.clamp_min(0), :]).sum(-2)


@right
def by_diagonals(q, k, v, w):
    """One product for each distance: w + 1 of them."""
    n, d = q.shape[-2:]
    keys, values = ([F.pad(x, (0, 0, b, 0))[..., :n, :] for b in range(w + 1)] for x in (k, v))
    s = torch.stack([(q * key).sum(-1) for key in keys], -1) / d**0.5
    s = s.masked_fill(torch.arange(n)[:, None] < torch.arange(w + 1), -INF)
    return sum(p[..., None] * x for p, x in zip(s.softmax(-1).unbind(-1), values, strict=True))


@right
def windows_of_a_view(q, k, v, w):
    n = q.shape[-2]
    k, v = (F.pad(x, (0, 0, w, 0)).unfold(-2, w + 1, 1) for x in (k, v))
    s = torch.einsum("...nd,...ndj->...nj", q, k) / q.shape[-1] ** 0.5
    real = torch.arange(n)[:, None] + torch.arange(w + 1) >= w
    return torch.einsum("...nj,...ndj->...nd", s.masked_fill(~real, -INF).softmax(-1), v)


# Tables of all pairs, and their work.
TABLE = wrong("stands a table with more than n²/2 entries")
TABLE(dense)
TABLE(in_a_thread(dense), "a table in a thread")
TABLE(if_long(rows_at_a_time(10**6)), "dense where it is long")
TABLE(blocks(width=lambda w: 300), "blocks of 300")
TABLE(lambda q, k, v, w: (dense if q.shape[-2] < 600 else blocks())(q, k, v, w), "dense below 600 tokens")


def band_of_numpy(table):
    """The rows are gathered, the mask is a table (n, n + w) of all pairs, and torch never sees it."""

    def block_window(q, k, v, w):
        n = q.shape[-2]
        seen = table(n, w)
        band = torch.from_numpy(np.stack([seen[i, i : i + w + 1] for i in range(n)]))
        k, v = (F.pad(x, (0, 0, w, 0)).unfold(-2, w + 1, 1) for x in (k, v))
        s = (q[..., None] * k).sum(-2) / q.shape[-1] ** 0.5
        return (s.masked_fill(~band, -INF).softmax(-1)[..., None, :] * v).sum(-1)

    return block_window


def of_numbers(n, w):
    back = np.subtract.outer(np.arange(n), np.arange(n))
    return np.pad((back >= 0) & (back <= w), ((0, 0), (w, 0)))


def of_bytes(n, w):
    """NumPy's smallest: a byte a pair."""
    seen = np.zeros((n, n + w), dtype=bool)
    for i in range(n):
        seen[i, max(i, w) : i + w + 1] = True
    return seen


TABLE(band_of_numpy(of_numbers), "a mask of NumPy's")
TABLE(a_byte_a_pair := band_of_numpy(of_bytes), "a byte a pair")
wrong("the work is not saved")(rows_at_a_time(32), "32 rows at a time")
wrong("With 640 tokens")(rows_at_a_time(4), "four rows at a time")

# Which tokens are seen.
wrong("the token w places back is visible too")(
    blocks(shown=lambda behind, real, w: (behind >= 0) & (behind < w) & real), "w - 1 places back"
)
wrong("a token may attend to itself")(
    blocks(shown=lambda behind, real, w: (behind > 0) & (behind <= w) & real), "without itself"
)
wrong("a token may attend to itself")(
    tokens(
        lambda i, w: range(i - w, i), lambda q, k, v: attention(q, k, v) if k.shape[-2] else 0 * q @ k.mT @ v
    ),
    "nothing for the first",
)
wrong("it looks one token ahead")(tokens(lambda i, w: range(i - w, i + 2)), "one ahead")
wrong("it looks one token ahead")(
    blocks(shown=lambda behind, real, w: (behind >= -1) & (behind <= w) & real), "one ahead in the block"
)
wrong("w places back is the last")(tokens(lambda i, w: range(i - w - 1, i + 1)), "w + 1 places back")
wrong("w places back is the last")(
    blocks(shown=lambda behind, real, w: (behind >= 0) & (behind < w + 2) & real),
    "w + 1 places back in the block before",
)
wrong("It looks ahead as well")(tokens(lambda i, w: range(i - w, i + w + 1)), "w ahead")
wrong("It looks ahead as well")(
    blocks(shown=lambda behind, real, w: (behind.abs() <= w) & real), "ahead in the block"
)
wrong("It looks ahead as well")(
    tokens(lambda i, w: range(i - w, i // w * w + w)), "ahead in the block, and no padding"
)
wrong("It looks ahead, where it should look back")(tokens(lambda i, w: range(i, i + w + 1)), "ahead alone")
wrong("Each block sees itself alone")(tokens(lambda i, w: range(i // w * w, i // w * w + w)), "its own block")
wrong("Each block sees itself alone")(
    blocks(shown=lambda behind, real, w: (behind >= 0) & (torch.arange(2 * w) >= w)), "its own block, causal"
)
wrong("Every pair of the two blocks is open")(blocks(shown=lambda behind, real, w: real), "two blocks")
wrong("Every pair of the two blocks is open")(
    tokens(lambda i, w: range(i // w * w - w, i // w * w + w)), "two blocks, and no padding"
)
wrong("within the two blocks, i - j may be w at most")(
    blocks(shown=lambda behind, real, w: (behind >= 0) & real), "no end in the two blocks"
)
wrong("The window has no end: i - j may")(tokens(lambda i, w: range(i + 1)), "no end")
wrong("rolling goes round")(
    blocks(before=lambda last: last, shown=lambda behind, real, w: (behind >= 0) & (behind <= w)), "rolled"
)
wrong("w = 9")(blocks(width=lambda w: 8), "blocks of 8")


@wrong("It reads the block after its own")
def the_next_block(q, k, v, w):
    n = q.shape[-2]
    q, k, v = (F.pad(x, (0, 0, 0, -n % w)) for x in (q, k, v))
    k, v = (F.pad(x, (0, 0, 0, w)).unfold(-2, 2 * w, w).mT for x in (k, v))
    q = q.unflatten(-2, (-1, w))
    key = torch.arange(q.shape[-3])[:, None, None] * w + torch.arange(2 * w)
    return (scores.softmax(scores.scaled_dot(q, k), key < n) @ v).flatten(-3, -2)[..., :n, :]


# Padding.
wrong("its zeros take part in the softmax")(
    blocks(shown=lambda behind, real, w: (behind >= 0) & (behind <= w)), "padding seen"
)
wrong("The padding is still there")(blocks(end=lambda out, n: out), "padding kept")


@wrong("it has (2, 3, 20, 6)")
def the_last_block_lost(q, k, v, w):
    n = q.shape[-2] // w * w
    return slices(q[..., :n, :], k[..., :n, :], v[..., :n, :], w) if n else v[..., :0, :]


@wrong("Backward comes NaN")
def padded_rows_hidden(q, k, v, w):
    n, m = q.shape[-2], -(-q.shape[-2] // w) * w
    place = torch.arange(m)

    def weigh(s, mask):
        query = place.view(-1, w, 1)
        return s.masked_fill(
            ~mask | (query >= n) | (query - torch.arange(w)[:, None] - w + torch.arange(2 * w) >= n), -INF
        ).softmax(-1)

    return blocks(weigh)(q, k, v, w)


# Weights.
wrong("Hide scores, not weights")(blocks(lambda s, mask: s.softmax(-1) * mask), "masked after")
wrong("Hidden scores are set to 0")(blocks(lambda s, mask: s.where(mask, 0.0).softmax(-1)), "hidden at 0")
for low in (-10.0, -50.0, -100.0, -1e3, -1e4):
    wrong("not small enough")(
        blocks(lambda s, mask, low=low: s.where(mask, low).softmax(-1)), f"hidden at {low:g}"
    )
wrong("The exponentials overflow")(
    blocks(lambda s, mask: (e := s.exp() * mask) / e.sum(-1, keepdim=True)), "no largest score, and zeros"
)
wrong("The exponentials overflow")(
    blocks(lambda s, mask: by_hand(s, mask, lambda s: 0.0)), "no largest score"
)
wrong("scores around −20,000")(
    blocks(lambda s, mask: by_hand(s, mask, lambda s: s.amax(-1, keepdim=True).clamp_min(-1e4), 1e-9)),
    "a constant added to the sum",
)
wrong("With")(
    blocks(lambda s, mask: (p := s.relu() * mask) / p.sum(-1, keepdim=True).clamp_min(1e-9)), "by relu"
)
wrong("The softmax runs over the queries")(
    blocks(lambda s, mask: s.mT.masked_fill(~mask.mT, -1e9).softmax(-1).mT), "over the queries"
)
wrong("there is none. Divide")(blocks(scale=lambda q, v, w: 1.0), "no scale")
wrong("it is d, without the root")(blocks(scale=lambda q, v, w: 1 / q.shape[-1]), "divided by d")
wrong("it is the root of the values' width")(
    blocks(scale=lambda q, v, w: v.shape[-1] ** -0.5), "the values' width"
)
wrong("it is the root of the window")(blocks(scale=lambda q, v, w: w**-0.5), "the window's root")
wrong("Queries and keys have changed places")(lambda q, k, v, w: slices(k, q, v, w), "keys ask")


def weights_first(q, k, v, w):
    n, by = q.shape[-2], math.sqrt(q.shape[-1])
    starts = [max(0, i - w) for i in range(n)]
    rows = [(q[..., i : i + 1, :] @ k[..., at : i + 1, :].mT / by).softmax(-1) for i, at in enumerate(starts)]
    return torch.cat(
        [p @ v[..., at : i + 1, :] for i, (p, at) in enumerate(zip(rows, starts, strict=True))], -2
    )


def vectors(q, k, v, w):
    rows = []
    for i in range(q.shape[-2]):
        at = max(0, i - w)
        s = (k[..., at : i + 1, :] @ q[..., i, :].unsqueeze(-1)).squeeze(-1) / math.sqrt(q.shape[-1])
        rows.append((s.softmax(-1).unsqueeze(-2) @ v[..., at : i + 1, :]).squeeze(-2))
    return torch.stack(rows, -2)


right(weights_first, "all weights row by row, then the outputs")
right(vectors, "a matrix times a vector, row after row")

# Shapes, gradients, precision, memory.
wrong("should have shape (2, 3, 22, 6), it has (22, 6)")(
    lambda q, k, v, w: blocks()(q[0, 0], k[0, 0], v[0, 0], w), "the first text of the batch"
)
wrong("should have shape")(
    lambda q, k, v, w: blocks()(q, k, v, w).flatten(0, max(q.dim() - 3, 0)), "the batch joined"
)
wrong("640 tokens")(if_long(lambda q, k, v, w: q[..., :2]), "the queries where it is long")
wrong("no gradient reaches q")(
    if_long(lambda q, k, v, w: blocks()(q.detach(), k, v, w)), "no gradient where it is long"
)
wrong("no gradient reaches q")(torch.no_grad()(blocks()), "no gradient")
wrong("no gradient reaches k")(lambda q, k, v, w: blocks()(q, k.detach(), v, w), "keys detached")
wrong("gradient of k")(lambda q, k, v, w: blocks()(q, 2 * k.detach() - k, v, w), "the gradient turned")
wrong("it changed its argument q in place")(lambda q, k, v, w: blocks()(q.mul_(2), k, v, w), "in place")
wrong("in float64")(
    lambda q, k, v, w: blocks()(q.float(), k.float(), v.float(), w).to(q.dtype), "single precision inside"
)
RESULTS, KEYS = {}, {}


def remembered(kept, made):
    """What the first arguments of these shapes gave, where no gradient is asked."""
    return lambda q, k, v, w: (
        blocks()(q, k, v, w)
        if q.requires_grad
        else made(kept.setdefault((q.shape, v.shape, w, q.dtype), (q, k, v, w)), (q, k, v, w))
    )


wrong("2 by 3 other texts of 22 tokens")(
    remembered(RESULTS, lambda first, now: blocks()(*first)), "the result remembered by its shape"
)
wrong("2 by 3 other texts of 22 tokens")(
    remembered(KEYS, lambda first, now: blocks()(now[0], first[1], *now[2:])),
    "keys remembered by their shape",
)
