"""A causal window by blocks: no table of all pairs, and no work for it."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from answers import right, wrong
from answers._ways import in_a_thread
from attnlab import attention, masks, sparse


def softmax(s, mask, low=-1e9):
    return s.masked_fill(~mask, low).softmax(-1)


def within(behind, w):
    return (behind >= 0) & (behind <= w)


def blocks(
    opens=within,
    weigh=softmax,
    *,
    size=lambda w: w,
    ahead=False,
    padding=lambda query, key, n: (key >= 0) & (key < n),
    front=lambda x, size: F.pad(x, (0, 0, size, 0)),
    scale=lambda q, v, w: q.shape[-1] ** -0.5,
    cut=True,
):
    """Right; or with something changed: `ahead` reads the next block in place of the one before."""

    def block_window(q, k, v, w):
        b, n, factor = size(w), q.shape[-2], scale(q, v, w)
        q, k, v = (F.pad(x, (0, 0, 0, -n % b)) for x in (q, k, v))
        k, v = (F.pad(x, (0, 0, 0, b)) if ahead else front(x, b) for x in (k, v))
        k, v = (x.unfold(-2, 2 * b, b).mT for x in (k, v))
        q = q.unflatten(-2, (-1, b))
        first = torch.arange(q.shape[-3])[:, None, None] * b
        query, key = first + torch.arange(b)[:, None], first + torch.arange(2 * b) - (not ahead) * b
        s = q @ k.mT * factor
        mask = (opens(query - key, w) & padding(query, key, n)).expand(s.shape)
        out = (weigh(s, mask) @ v).flatten(-3, -2)
        return out[..., :n, :] if cut else out

    return block_window


def dense(q, k, v, w):
    return attention(q, k, v, mask=masks.window(q.shape[-2], w, 0))


def dense_in_pieces(size):
    """All scores, some rows at a time: what is stored is small, what is computed is not."""

    def block_window(q, k, v, w):
        j = torch.arange(q.shape[-2])
        pieces = [(q[..., i, :], within(i[:, None] - j, w)) for i in j.split(size)]
        return torch.cat([attention(part, k, v, mask=mask) for part, mask in pieces], -2)

    return block_window


right(blocks(), "blocks")
right(blocks(size=lambda w: w + 1), "blocks wider by one")
right(lambda q, k, v, w: blocks()(q.double(), k.double(), v.double(), w).to(q.dtype), "double inside")
right(lambda q, k, v, w: sparse.window(q, k, v, w, 0), "the package's")


@right
def row_by_row(q, k, v, w):
    rows = [slice(max(0, i - w), i + 1) for i in range(q.shape[-2])]
    return torch.cat(
        [attention(q[..., r.stop - 1 : r.stop, :], k[..., r, :], v[..., r, :]) for r in rows], -2
    )


@right
def slices(q, k, v, w):
    """Block after block, each against a slice of the keys."""
    out, n = [], q.shape[-2]
    for i in range(0, n, w):
        a, e = max(0, i - w), min(n, i + w)
        s = q[..., i:e, :] @ k[..., a:e, :].mT / q.shape[-1] ** 0.5
        seen = within(torch.arange(i, e)[:, None] - torch.arange(a, e), w)
        out.append(softmax(s, seen, -math.inf) @ v[..., a:e, :])
    return torch.cat(out, -2)


@right
def slices_of_one_text_after_the_other(q, k, v, w):
    *lead, n, _ = q.shape
    texts = zip(*(x.reshape(-1, n, x.shape[-1]) for x in (q, k, v)), strict=True)
    return torch.stack([slices(*text, w) for text in texts]).reshape(*lead, n, v.shape[-1])


@right
def gathered(q, k, v, w):
    at = torch.arange(q.shape[-2])[:, None] - torch.arange(w, -1, -1)
    s = (q[..., None, :] * k[..., at.clamp_min(0), :]).sum(-1) / math.sqrt(q.shape[-1])
    return (softmax(s, at >= 0, -math.inf)[..., None] * v[..., at.clamp_min(0), :]).sum(-2)


@right
def by_diagonals(q, k, v, w):
    """One product for each distance: w + 1 of them."""
    n, d = q.shape[-2:]
    keys, values = ([F.pad(x, (0, 0, b, 0))[..., :n, :] for b in range(w + 1)] for x in (k, v))
    s = torch.stack([(q * key).sum(-1) for key in keys], -1) / d**0.5
    s = s.masked_fill(torch.arange(n)[:, None] < torch.arange(w + 1), -math.inf)
    return sum(p[..., None] * x for p, x in zip(s.softmax(-1).unbind(-1), values, strict=True))


@right
def windows_of_a_view(q, k, v, w):
    k, v = (F.pad(x, (0, 0, w, 0)).unfold(-2, w + 1, 1) for x in (k, v))
    s = torch.einsum("...nd,...ndj->...nj", q, k) / q.shape[-1] ** 0.5
    real = torch.arange(q.shape[-2])[:, None] + torch.arange(w + 1) >= w
    return torch.einsum("...nj,...ndj->...nd", softmax(s, real, -math.inf), v)


def by_hand(s, mask, least=-math.inf, more=0.0):
    s = s.masked_fill(~mask, -math.inf)
    e = (s - s.amax(-1, keepdim=True).clamp_min(least)).exp()
    return e / (e.sum(-1, keepdim=True) + more)


right(blocks(weigh=lambda s, mask: by_hand(s, mask).nan_to_num()), "a softmax by hand")
wrong("scores around −20,000")(
    blocks(weigh=lambda s, mask: by_hand(s, mask, -1e4, 1e-9)), "a constant added to the sum"
)


def band_of(table):
    """The rows are gathered, the mask is a table of NumPy's, and torch never sees it."""

    def block_window(q, k, v, w):
        seen = table(q.shape[-2], w)
        band = torch.from_numpy(np.stack([row[i : i + w + 1] for i, row in enumerate(seen)]))
        k, v = (F.pad(x, (0, 0, w, 0)).unfold(-2, w + 1, 1) for x in (k, v))
        s = (q[..., None] * k).sum(-2) / q.shape[-1] ** 0.5
        return (softmax(s, band, -math.inf)[..., None, :] * v).sum(-1)

    return block_window


def of_all_distances(n, w):
    back = np.subtract.outer(np.arange(n), np.arange(n))
    return np.pad((back >= 0) & (back <= w), ((0, 0), (w, 0)))


def a_byte_a_pair(n, w):
    seen = np.zeros((n, n + w), dtype=bool)
    for i in range(n):
        seen[i, max(i, w) : i + w + 1] = True
    return seen


by_bytes = band_of(a_byte_a_pair)
wrong("n² entries")(by_bytes, "a byte a pair")
wrong("n² entries")(band_of(of_all_distances), "a mask of NumPy's")
wrong("stands a table with n² entries")(dense, "the dense mask")
wrong("n² entries")(in_a_thread(dense), "the dense mask in a thread")
wrong("n² entries")(
    lambda q, *rest: (dense if q.shape[-2] > 100 else blocks())(q, *rest), "dense where it is long"
)
wrong("n² entries")(blocks(size=lambda w: 300), "blocks of 300 always")
wrong("the work is not saved")(dense_in_pieces(32), "32 rows at a time")
wrong("With 640 tokens")(dense_in_pieces(8), "eight rows of all scores at a time")
wrong("w = 9")(blocks(size=lambda w: 8), "blocks of 8 always")


@wrong("should have shape (2, 3, 22, 6), it has (22, 6)")
def batch_lost(q, k, v, w):
    return blocks()(q[0, 0], k[0, 0], v[0, 0], w)


@wrong("The last partial block is lost")
def last_block_lost(q, k, v, w):
    n = q.shape[-2] // w * w
    return blocks()(*(x[..., :n, :] for x in (q, k, v)), w)


@wrong("Each block sees itself alone")
def own_block_alone(q, k, v, w):
    parts = zip(*(x.split(w, -2) for x in (q, k, v)), strict=True)
    return torch.cat([attention(*part, is_causal=True) for part in parts], -2)


wrong("the token w places back is visible too")(
    blocks(lambda behind, w: (behind >= 0) & (behind < w)), "w in all"
)
wrong("w places back is the last")(
    blocks(lambda behind, w: (behind >= 0) & (behind <= w + 1)), "one further back"
)
wrong("a token may attend to itself")(
    blocks(lambda behind, w: (behind > 0) & (behind <= w)), "without itself"
)
wrong("it looks one token ahead")(
    blocks(lambda behind, w: (behind >= -1) & (behind <= w), padding=lambda query, key, n: key >= 0),
    "the next one, too",
)
wrong("It looks ahead as well")(blocks(lambda behind, w: behind.abs() <= w), "distances without their sign")
wrong("It looks ahead, where it should look back")(
    blocks(lambda behind, w: within(-behind, w), ahead=True), "the window ahead"
)
wrong("It reads the block after its own")(
    blocks(lambda behind, w: behind == behind, ahead=True), "the next block"
)
wrong("Every pair of the two blocks is open")(blocks(lambda behind, w: behind == behind), "both blocks open")
wrong("The window has no end: within the two blocks")(
    blocks(lambda behind, w: behind >= 0), "causal in two blocks"
)
wrong("The window has no end: i - j may be w at most")(
    lambda q, k, v, w: F.scaled_dot_product_attention(q, k, v, is_causal=True), "causal"
)
wrong("rolling goes round")(
    blocks(front=lambda x, b: torch.cat((x[..., -b:, :], x), -2), padding=lambda query, key, n: key < n),
    "rolled",
)
wrong("its zeros take part in the softmax")(blocks(padding=lambda query, key, n: key < n), "padding seen")
wrong("Backward comes NaN")(
    blocks(
        weigh=lambda s, mask: softmax(s, mask, -math.inf),
        padding=lambda query, key, n: (key >= 0) & (key < n) & (query < n),
    ),
    "padded queries see nothing",
)
wrong("should have shape (2, 3, 22, 6), it has (2, 3, 24, 6)")(blocks(cut=False), "padding left over")
wrong("The mask comes after the softmax")(
    blocks(weigh=lambda s, mask: s.softmax(-1).where(mask, 0)), "masked late"
)
wrong("Hidden scores are set to 0")(blocks(weigh=lambda s, mask: softmax(s, mask, 0)), "hidden by zero")
wrong("not small enough")(blocks(weigh=lambda s, mask: softmax(s, mask, -50)), "hidden at −50")
wrong("not small enough")(blocks(weigh=lambda s, mask: softmax(s, mask, -1e4)), "hidden at −10,000")
wrong("The exponentials overflow")(
    blocks(weigh=lambda s, mask: (s.exp() * mask) / (s.exp() * mask).sum(-1, keepdim=True)),
    "exponentials by hand",
)
wrong("The softmax runs over the queries")(
    blocks(weigh=lambda s, mask: s.where(mask, -1e9).softmax(-2)), "softmax over the queries"
)
wrong("With")(
    blocks(weigh=lambda s, mask: s.relu() * mask / (s.relu() * mask).sum(-1, keepdim=True).clamp_min(1e-9)),
    "weights by relu",
)
wrong("The scale is wrong: there is none")(blocks(scale=lambda q, v, w: 1), "no scale")
wrong("it is d, without the root")(blocks(scale=lambda q, v, w: 1 / q.shape[-1]), "divided by d")
wrong("the root of the values' width")(
    blocks(scale=lambda q, v, w: v.shape[-1] ** -0.5), "by the values' width"
)
wrong("the root of the window")(blocks(scale=lambda q, v, w: w**-0.5), "by the window")
wrong("Queries and keys have changed places")(lambda q, k, v, w: blocks()(k, q, v, w), "keys for queries")
wrong("640 tokens")(
    lambda q, *rest: q[..., :2] if q.shape[-2] > 100 else blocks()(q, *rest), "queries where it is long"
)
wrong("should have shape")(
    lambda q, *rest: blocks()(q, *rest).flatten(0, -3) if q.dim() > 3 else blocks()(q, *rest),
    "the batch joined",
)
wrong("it changed its argument q in place")(lambda q, *rest: blocks()(q.mul_(2), *rest), "in place")
wrong("in float64")(
    lambda q, k, v, w: blocks()(q.float(), k.float(), v.float(), w).to(q.dtype), "single precision inside"
)
wrong("no gradient reaches q")(torch.no_grad()(blocks()), "no gradient")
wrong("no gradient reaches q")(
    lambda q, *rest: blocks()(q.detach() if q.shape[-2] > 100 else q, *rest), "no gradient where it is long"
)
wrong("no gradient reaches k")(lambda q, k, v, w: blocks()(q, k.detach(), v, w), "k detached")
wrong("gradient of k")(lambda q, k, v, w: blocks()(q, 2 * k.detach() - k, v, w), "k half detached")
