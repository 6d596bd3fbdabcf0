"""Answers to the exercises on heads that readers tried, or that fooled an earlier checker."""

import math

import pytest
import torch
import torch.nn.functional as F

from attnlab import MultiHeadAttention, attention
from attnlab.dot_product import grouped_attention


def route(m, *, scale=100.0, dtype=torch.float32, w_o=None):
    place = torch.eye(m, dtype=dtype)
    w_k = torch.cat((torch.zeros(1, 2 * m, dtype=dtype), torch.cat((place, place), 1)))
    w_v = torch.cat((torch.ones(1, 2, dtype=dtype), torch.zeros(m, 2, dtype=dtype)))
    return scale * torch.eye(2 * m, dtype=dtype), w_k, w_v, torch.eye(2, dtype=dtype) if w_o is None else w_o


def by_hand(m):
    """Keys on a circle: two columns are enough for any number of places."""
    angle = torch.arange(m) * 2 * math.pi / m
    circle = torch.stack((angle.cos(), angle.sin()), -1)  # the nearest neighbour is 1 - cos(2π/m) below
    w_q = torch.block_diag(circle, circle) * 100 / (1 - math.cos(2 * math.pi / m))
    w_k = torch.cat((torch.zeros(1, 4), torch.cat((circle, circle), 1)))
    w_v = torch.zeros(1 + m, 2)
    w_v[0] = 1
    return w_q, w_k, w_v, torch.eye(2)


def on_a_line(m):
    """Place p as (p, p²): the score 2ap − p² is largest at p = a."""
    p, w_q, w_k = torch.arange(m) + 0.0, torch.zeros(2 * m, 4), torch.zeros(1 + m, 4)
    w_q[:m, :2] = w_q[m:, 2:] = 100 * torch.stack((2 * p, -torch.ones(m)), -1)
    w_k[1:] = torch.stack((p, p * p, p, p * p), -1)
    return w_q, w_k, *route(m)[2:]


def wide_values(m):
    """The whole token as value, and an output matrix that reads the number."""
    w_q, w_k, _, _ = route(m)
    w_v = torch.eye(1 + m).repeat(1, 2)
    w_o = torch.zeros(2 * (1 + m), 2)
    w_o[0, 0] = w_o[1 + m, 1] = 1
    return w_q, w_k, w_v, w_o


def large_in_the_keys(m):
    w_q, w_k, w_v, w_o = route(m)
    return w_q / 100, w_k * 100, w_v, w_o


def heads_exchanged(m):
    """Head 1 answers the second question and writes into the second number."""
    w_q, w_k, w_v, w_o = route(m)
    return w_q.roll(m, 0), w_k, w_v, w_o.flip(0)


def with_constant(m):
    """Something added to all scores of a row changes no weight."""
    w_q, w_k, w_v, w_o = route(m)
    return w_q, w_k + torch.cat((torch.zeros(1, 2 * m), torch.ones(m, 2 * m))), w_v, w_o


ROUTES = [
    ("nothing", "wrong", "should return four matrices", lambda m: None),
    ("three matrices", "wrong", "should return four matrices", lambda m: route(m)[:3]),
    ("lists", "wrong", "should be a matrix of floating numbers", lambda m: tuple(w.tolist() for w in route(m))),
    ("whole numbers", "wrong", "should be a matrix of floating numbers", lambda m: tuple(w.long() for w in route(m))),
    ("one head for both", "wrong", "w_o should have two columns", lambda m: tuple(w[..., :1] for w in route(m))),
    ("places up to five", "wrong", "the rows of w_k without the first", lambda m: route(min(m, 5))),
    ("always the left one", "wrong", "should be", lambda m: (*route(m, scale=0.0)[:2], *route(m)[2:])),
    ("nearly sharp", "wrong", "should be", lambda m: route(m, scale=3.0 * m**0.5)),
    ("the mean of both", "wrong", "should be", lambda m: route(m, w_o=torch.full((2, 2), 0.5))),
    ("w_o upright", "wrong", "w_o should have two columns", lambda m: route(m, w_o=torch.ones(2, 3))),
    ("w_q upright", "wrong", "w_q should have a row for each number of a query", lambda m: (route(m)[0][:-1], *route(m)[1:])),
    ("not finite", "wrong", "should be", lambda m: (route(m)[0] * math.inf, *route(m)[1:])),
    ("values see the place", "wrong", "should be", lambda m: (*route(m)[:2], torch.ones(1 + m, 2), torch.eye(2))),
    ("a table of four", "wrong", "With twelve places", lambda m: {k: route(k) for k in (2, 3, 5, 9)}.get(m)),
    ("contents in the scores", "wrong", "should be",
     lambda m: (route(m)[0], route(m)[1] + 0.2 * (torch.arange(1 + m) == 0)[:, None], *route(m)[2:])),
    ("keys on a line", "right", "", on_a_line),
    ("keys on a circle", "right", "", by_hand),
    ("the whole token as value", "right", "", wide_values),
    ("large in the keys", "right", "", large_in_the_keys),
    ("heads exchanged", "right", "", heads_exchanged),
    ("a constant in the scores", "right", "", with_constant),
    ("double precision", "right", "", lambda m: route(m, dtype=torch.float64)),
    ("a list of matrices", "right", "", lambda m: list(route(m))),
]  # fmt: skip


def layer(
    ask=None, *, sizes=lambda m, k, h, d: (m, k, h, d), mask_of=lambda mask: mask, base=torch.nn.Module
):
    """A layer whose attention is done by `ask(q, k, v, mask)`, q of shape (..., n_heads, n_q, d_head)."""

    class Heads(base):
        def __init__(self, d_model, d_memory, n_heads, d_head):
            super().__init__()
            d_model, d_memory, n_heads, d_head = sizes(d_model, d_memory, n_heads, d_head)
            self.n_heads = n_heads
            for name, wide in (("q_proj", d_model), ("k_proj", d_memory), ("v_proj", d_memory)):
                setattr(self, name, torch.nn.Linear(wide, n_heads * d_head, bias=False))
            self.out_proj = torch.nn.Linear(n_heads * d_head, d_model, bias=False)

        def forward(self, x, memory=None, mask=None):
            memory = x if memory is None else memory
            q, k, v = (
                t.unflatten(-1, (self.n_heads, -1)).transpose(-3, -2)
                for t in (self.q_proj(x), self.k_proj(memory), self.v_proj(memory))
            )
            do = ask or (lambda q, k, v, mask: attention(q, k, v, mask=mask))
            return self.out_proj(do(q, k, v, mask_of(mask)).transpose(-3, -2).flatten(-2))

    return Heads


class AsASum(layer()):
    """A loop over slices of the matrices; what each head says is added up."""

    def forward(self, x, memory=None, mask=None):
        memory, out = x if memory is None else memory, 0
        parts = [p.weight.T.chunk(self.n_heads, -1) for p in (self.q_proj, self.k_proj, self.v_proj)]
        for i, (q, k, v, o) in enumerate(
            zip(*parts, self.out_proj.weight.T.chunk(self.n_heads, 0), strict=True)
        ):
            s = (x @ q) @ (memory @ k).mT / q.shape[-1] ** 0.5
            if mask is not None:
                s = s.masked_fill(~(mask if mask.dim() == 2 else mask[..., i, :, :]), -math.inf)
            out = out + s.softmax(-1) @ (memory @ v) @ o
        return out


def first_head_for_all(q, k, v, mask):
    return attention(q[..., :1, :, :], k, v, mask=mask)


def same_mask_for_all(mask):
    return mask if mask is None or mask.dim() == 2 else mask[..., :1, :, :]


def with_zeros(q, k, v, mask, off=lambda s: s.amax(-1, keepdim=True)):
    s = q @ k.mT / q.shape[-1] ** 0.5
    s = (s - off(s)).exp()
    s = s if mask is None else s * mask
    return s / s.sum(-1, keepdim=True) @ v


def overflowing(q, k, v, mask):
    return with_zeros(q, k, v, mask, off=lambda s: 0.0)


def no_heads_in_a_batch(q, k, v, mask):
    """A mask for each head, but of the first sentence."""
    return attention(q, k, v, mask=mask if mask is None or mask.dim() < 4 else mask[:1].expand_as(mask))


def filled(low):
    return lambda q, k, v, mask: (
        (
            (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(
                mask.logical_not() if mask is not None else torch.tensor(False), low
            )
        ).softmax(-1)
        @ v
    )


def six_tokens(q, k, v, mask):
    return attention(q, k[..., :6, :], v[..., :6, :], mask=None if mask is None else mask[..., :6])


class AloneIfAlike(layer()):
    """Takes a memory of x's shape for x."""

    def forward(self, x, memory=None, mask=None):
        same = memory is not None and memory.shape == x.shape
        return super().forward(x, x if same else memory, mask)


class Stacked(layer()):
    """Chunks, stacked in front."""

    def forward(self, x, memory=None, mask=None):
        memory = x if memory is None else memory
        q, k, v = (
            torch.stack(project(t).chunk(self.n_heads, -1), -3)
            for project, t in ((self.q_proj, x), (self.k_proj, memory), (self.v_proj, memory))
        )
        return self.out_proj(torch.cat(attention(q, k, v, mask=mask).unbind(-3), -1))


class Einsum(layer()):
    def forward(self, x, memory=None, mask=None):
        memory = x if memory is None else memory
        w_q, w_k, w_v = (
            p.weight.unflatten(0, (self.n_heads, -1)) for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        s = torch.einsum("...qm,hdm,hdw,...kw->...hqk", x, w_q, w_k, memory) / w_q.shape[1] ** 0.5
        s = s if mask is None else torch.where(mask, s, -math.inf)
        w_o = self.out_proj.weight.unflatten(1, (self.n_heads, -1))
        return torch.einsum("...hqk,...kw,hdw,mhd->...qm", s.softmax(-1), memory, w_v, w_o)


def additive(q, k, v, mask):
    bias = 0.0 if mask is None else torch.where(mask, 0.0, -1e30)
    return (q @ k.mT / q.shape[-1] ** 0.5 + bias).softmax(-1) @ v


LAYERS = [
    ("a tensor", "wrong", "should make a torch.nn.Module", lambda d_model, d_memory, n_heads, d_head: torch.zeros(2)),
    ("sizes exchanged", "wrong", "'q_proj.weight'", layer(sizes=lambda m, k, h, d: (k, m, h, d))),
    ("heads exchanged with their width", "wrong", "With d_model", layer(sizes=lambda m, k, h, d: (m, k, d, h))),
    ("one head", "wrong", "With d_model", layer(sizes=lambda m, k, h, d: (m, k, 1, h * d))),
    ("the first head's queries", "wrong", "should", layer(first_head_for_all)),
    ("the first head's mask", "wrong", "should be", layer(mask_of=same_mask_for_all)),
    ("the mask turned", "wrong", "it raised", layer(mask_of=lambda mask: None if mask is None else mask.mT)),
    ("always causal", "wrong", "should be",
     layer(lambda q, k, v, m: attention(q, k, v, mask=torch.ones(q.shape[-2], k.shape[-2]).tril().bool()))),
    ("detached", "wrong", "no gradient reaches", layer(lambda q, k, v, mask: attention(q, k, v, mask=mask).detach())),
    ("values detached", "wrong", "no gradient reaches", layer(lambda q, k, v, mask: attention(q, k, v.detach(), mask=mask))),
    ("in NumPy", "wrong", "it raised", layer(lambda q, k, v, mask: torch.from_numpy(attention(q, k, v, mask=mask).numpy()))),
    ("the last row forgotten", "wrong", "should be",
     layer(lambda q, k, v, mask: torch.cat((attention(q, k, v, mask=mask)[..., :-1, :], 0 * q[..., -1:, :]), -2))),
    ("torch's own inside", "wrong", "a ready-made layer does the work",
     lambda m, k, h, d: torch.nn.MultiheadAttention(h * d, h, bias=False, batch_first=True)),
    ("the package's own", "wrong", "a ready-made layer does the work", lambda m, k, h, d: MultiHeadAttention(m, h, d_head=d)),
    ("with attention", "right", "", layer()),
    ("a sum", "right", "", AsASum),
    ("exp overflows", "wrong", "exp overflows", layer(overflowing)),
    ("the first sentence's mask", "wrong", "should be", layer(no_heads_in_a_batch)),
    ("a fill of -50", "wrong", "not low enough", layer(filled(-50.0))),
    ("a fill of -1e9", "right", "", layer(filled(-1e9))),
    ("the mask inverted", "wrong", "the wrong way round", layer(mask_of=lambda mask: None if mask is None else ~mask)),
    ("six tokens at most", "wrong", "should be", layer(six_tokens)),
    ("a memory of x's shape ignored", "wrong", "no gradient reaches memory", AloneIfAlike),
    ("the mask inverted in place", "wrong", "it changed its argument mask in place",
     layer(lambda q, k, v, mask: attention(q, k, v, mask=mask if mask is None else ~mask.logical_not_()))),
    ("a residual", "wrong", "should be", type("Plus", (layer(),), {"forward": lambda self, x, memory=None, mask=None: x + layer().forward(self, x, memory, mask)})),
    ("zeros and a division", "right", "", layer(with_zeros)),
    ("stacked chunks", "right", "", Stacked),
    ("einsum", "right", "", Einsum),
    ("a bias", "right", "", layer(additive)),
    ("fused", "right", "", layer(lambda q, k, v, mask: F.scaled_dot_product_attention(q, k, v, mask))),
]  # fmt: skip


def rows_of(w_o, i, d):
    return w_o[i * d : (i + 1) * d]


def as_a_sum(heads, w_o, i, real):
    out, d = 0, heads.shape[-1]
    for j in range(heads.shape[1]):
        said = heads[:, j]
        if j == i:
            said = (said * real[..., None]).sum((0, 1)) / real.sum()
            said = said.expand(heads.shape[0], heads.shape[2], d)
        out = out + said @ rows_of(w_o, j, d)
    return out


def looped(heads, w_o, i, real):
    kept = [heads[b, i, t] for b in range(len(real)) for t in range(real.shape[1]) if real[b, t]]
    parts = list(heads.unbind(1))
    parts[i] = torch.stack(kept).mean(0).expand_as(parts[i])
    return torch.cat(parts, -1) @ w_o


def with_where(heads, w_o, i, real):
    mean = torch.einsum("bnd,bn->d", heads[:, i], real.to(heads.dtype)) / real.sum()
    own = (torch.arange(heads.shape[1]) == i)[:, None, None]
    return torch.einsum(
        "bhnd,hdm->bnm", torch.where(own, mean, heads), w_o.unflatten(0, (heads.shape[1], -1))
    )


def mean_of(heads, w_o, i, real, mean):
    heads = heads.clone()
    heads[:, i] = mean(heads, i, real)
    return heads.transpose(1, 2).flatten(2) @ w_o


MEANS = [
    ("the first sentence's", "wrong", "should be", lambda *a: mean_of(*a, lambda h, i, real: h[0, i][real[0]].mean(0))),
    ("the first token's", "wrong", "should be", lambda *a: mean_of(*a, lambda h, i, real: h[0, i, 0])),
    ("the median", "wrong", "should be", lambda *a: mean_of(*a, lambda h, i, real: h[:, i][real].median(0).values)),
    ("place by place", "wrong", "should be", lambda *a: mean_of(*a, lambda h, i, real: h[:, i].mean(0))),
    ("detached mean", "wrong", "the gradient is not", lambda *a: mean_of(*a, lambda h, i, real: h[:, i][real].mean(0).detach())),
    ("padding only", "wrong", "should be", lambda *a: mean_of(*a, lambda h, i, real: h[:, i][~real].mean(0))),
    ("real turned", "wrong", "should be", lambda *a: mean_of(*a, lambda h, i, real: h[:, i][real.flip(1)].mean(0))),
    ("columns interleaved", "wrong", "should be",
     lambda h, w_o, i, real: mean_of(h, torch.eye(h.shape[1] * h.shape[-1], dtype=h.dtype), i, real,
                                     lambda h, i, real: h[:, i][real].mean(0)).unflatten(-1, (h.shape[1], -1)).mT.flatten(-2) @ w_o),
    ("not mixed", "wrong", "should have shape",
     lambda h, w_o, i, real: mean_of(h, torch.eye(h.shape[1] * h.shape[-1], dtype=h.dtype), i, real, lambda h, i, real: h[:, i][real].mean(0))),
    ("head 1 always", "wrong", "should be", lambda h, w_o, i, real: mean_of(h, w_o, 1, real, lambda h, i, real: h[:, i][real].mean(0))),
    ("in single precision", "wrong", "in float64",
     lambda h, w_o, i, real: mean_of(h.float(), w_o.float(), i, real, lambda h, i, real: h[:, i][real].mean(0)).to(h.dtype)),
    ("a sum over heads", "right", "", as_a_sum),
    ("loops", "right", "", looped),
    ("where and einsum", "right", "", with_where),
    ("nanmean", "right", "", lambda *a: mean_of(
        *a, lambda h, i, real: h[:, i].masked_fill(~real[..., None], math.nan).flatten(0, 1).nanmean(0))),
]  # fmt: skip


def attend(q, k, v, scale=None):
    return (q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)).softmax(-1) @ v


def grouped(q, k, v, **options):
    share = q.shape[1] // k.shape[1]
    return attend(q, k.repeat_interleave(share, 1), v.repeat_interleave(share, 1), **options)


def halves(q, k, v):
    half = q.shape[1] // 2
    return torch.cat((attend(q[:, :half], k[:, :1], v[:, :1]), attend(q[:, half:], k[:, -1:], v[:, -1:])), 1)


def head_by_head(q, k, v):
    share = q.shape[1] // k.shape[1]
    return torch.stack([attend(q[:, i], k[:, i // share], v[:, i // share]) for i in range(q.shape[1])], 1)


def queries_as_rows(q, k, v):
    groups = q.unflatten(1, (k.shape[1], -1))  # all queries of a group ask as if they were tokens
    return attend(groups.flatten(2, 3), k, v).unflatten(2, groups.shape[2:4]).flatten(1, 2)


def not_shared_only(q, k, v):
    if q.shape[1] == k.shape[1]:
        raise ValueError("nothing is shared")
    return grouped(q, k, v)


GROUPS = [
    ("torch's own", "wrong", "without a ready-made attention. (It called scaled_dot_product_attention.)",
     lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)),
    ("the package's", "wrong", "without a ready-made attention. (It called grouped_attention.)", grouped_attention),
    ("the package's, after repeating", "wrong", "without a ready-made attention. (It called attention.)",
     lambda q, k, v: attention(q, k.repeat_interleave(q.shape[1] // k.shape[1], 1), v.repeat_interleave(q.shape[1] // k.shape[1], 1))),
    ("the root of five", "wrong", "should be", lambda q, k, v: grouped(q, k, v, scale=5**-0.5)),
    ("two halves", "wrong", "should be", halves),
    ("the root of d_v", "wrong", "the root of the values' width", lambda q, k, v: grouped(q, k, v, scale=v.shape[-1] ** -0.5)),
    ("the root of all keys", "wrong", "n_kv_heads · d_head", lambda q, k, v: grouped(q, k, v, scale=(k.shape[1] * k.shape[-1]) ** -0.5)),
    ("the root of the share", "wrong", "should be", lambda q, k, v: grouped(q, k, v, scale=(k.shape[1] / q.shape[1] / q.shape[-1]) ** 0.5)),
    ("as many heads of each refused", "wrong", "a key-value head for each of four query heads: it raised ValueError: nothing is shared",
     not_shared_only),
    ("detached keys", "wrong", "no gradient reaches k", lambda q, k, v: grouped(q, k.detach(), v)),
    ("added up over the group", "wrong", "should have shape", lambda q, k, v: grouped(q, k, v).unflatten(1, (k.shape[1], -1)).sum(2)),
    ("a causal mask", "wrong", "should be",
     lambda q, k, v: (
         (q @ k.repeat_interleave(q.shape[1] // k.shape[1], 1).mT / q.shape[-1] ** 0.5)
         .masked_fill(torch.ones(q.shape[2], k.shape[2]).triu(1).bool(), -math.inf)
         .softmax(-1)
         @ v.repeat_interleave(q.shape[1] // k.shape[1], 1)
     )),
    ("exp overflows", "wrong", "exp overflows",
     lambda q, k, v: (
         (e := (q @ k.repeat_interleave(q.shape[1] // k.shape[1], 1).mT / q.shape[-1] ** 0.5).exp())
         / e.sum(-1, keepdim=True)
         @ v.repeat_interleave(q.shape[1] // k.shape[1], 1)
     )),
    ("five groups at most", "wrong", "sixteen heads that share eight",
     lambda q, k, v: grouped(q, k, v) if k.shape[1] <= 5 else grouped(q, k.flip(1), v)),
    ("in half precision", "wrong", "should be",
     lambda q, k, v: grouped(q.half(), k.half(), v.half()).to(q.dtype)),
    ("values averaged", "wrong", "should be", lambda q, k, v: grouped(q, k, v.mean(1, keepdim=True).expand_as(v))),
    ("exp(s - lse)", "right", "",
     lambda q, k, v: (
         (s := q @ k.repeat_interleave(q.shape[1] // k.shape[1], 1).mT / q.shape[-1] ** 0.5)
         - s.logsumexp(-1, keepdim=True)
     ).exp() @ v.repeat_interleave(q.shape[1] // k.shape[1], 1)),
    ("the last group for all", "wrong", "should be", lambda q, k, v: attend(q, k[:, -1:], v[:, -1:])),
    ("head by head", "right", "", head_by_head),
    ("queries as rows", "right", "", queries_as_rows),
    ("einsum", "right", "",
     lambda q, k, v: torch.einsum(
         "bgrqk,bgkv->bgrqv",
         (torch.einsum("bgrqd,bgkd->bgrqk", q.unflatten(1, (k.shape[1], -1)), k) / q.shape[-1] ** 0.5).softmax(-1), v,
     ).flatten(1, 2)),
    ("expanded", "right", "",
     lambda q, k, v: attend(q.unflatten(1, (k.shape[1], -1)), k[:, :, None], v[:, :, None]).flatten(1, 2)),
    ("an index", "right", "",
     lambda q, k, v: attend(q, *(t[:, torch.arange(q.shape[1]) * k.shape[1] // q.shape[1]] for t in (k, v)))),
]  # fmt: skip


ATTACKS = [
    pytest.param(name, *rest, id=f"{name}: {title}")
    for name, attacks in (
        ("heads-route", ROUTES),
        ("heads-layer", LAYERS),
        ("heads-mean", MEANS),
        ("heads-grouped-query", GROUPS),
    )
    for title, *rest in attacks
]


@pytest.mark.parametrize(("name", "status", "piece", "answer"), ATTACKS)
def test_an_attack_is_judged_rightly(judged, name, status, piece, answer):
    judged(name, status, piece, answer)
