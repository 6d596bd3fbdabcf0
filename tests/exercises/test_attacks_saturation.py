"""Answers to the exercises on saturation that readers tried, or that fooled an earlier checker."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from attnlab.checks import judge

INF = math.inf


def jacobian_in_loops(p):
    if p.dim() > 1:
        return torch.stack([jacobian_in_loops(row) for row in p])
    n = len(p)
    out = torch.zeros(n, n, dtype=p.dtype)
    for i in range(n):
        for j in range(n):
            out[i, j] = p[i] * (float(i == j) - p[j])
    return out


def from_row_sums(p):
    out = -p[..., :, None] * p[..., None, :]
    i = torch.arange(p.shape[-1])
    out[..., i, i] = 0
    out[..., i, i] = -out.sum(-1)
    return out


def by_autograd(p):
    if p.dim() > 1:
        return torch.stack([by_autograd(row) for row in p])
    return torch.autograd.functional.jacobian(lambda s: s.softmax(-1), p.log())


def three_dimensions(p):
    return torch.diag_embed(p) - torch.einsum("bti,btj->btij", p, p)


def numpy_matrix(p, g):
    a, b = p.numpy(), g.numpy()
    rows = [
        (np.diag(x) - np.outer(x, x)) @ y
        for x, y in zip(a.reshape(-1, a.shape[-1]), b.reshape(-1, a.shape[-1]), strict=True)
    ]
    return torch.from_numpy(np.stack(rows).reshape(a.shape))


def matrix_of_each_row(p, g):
    if p.dim() > 1:
        return torch.stack([matrix_of_each_row(x, y) for x, y in zip(p, g, strict=True)])
    return (torch.diag(p) - torch.outer(p, p)) @ g


def in_lists(p, g):
    if p.dim() > 1:
        return torch.stack([in_lists(x, y) for x, y in zip(p, g, strict=True)])
    a, b = p.tolist(), g.tolist()
    mean = math.fsum(x * y for x, y in zip(a, b, strict=True))
    return torch.tensor([x * (y - mean) for x, y in zip(a, b, strict=True)], dtype=p.dtype)


def a_row_at_a_time(p, g):
    out = torch.empty_like(p)
    for j in range(p.shape[-1]):
        row = -p[..., j, None] * p
        row[..., j] += p[..., j]
        out[..., j] = (row * g).sum(-1)
    return out


def simulate(rows, kind):
    def entropy(n, spread, temperature):
        z = torch.randn(rows, n) * spread / temperature
        p = z.softmax(-1)
        return kind(torch.special.entr(p).sum(-1).mean())

    return entropy


def formula(n, spread, temperature):
    return math.log(n) - (spread / temperature) ** 2 / 2


def shifted(s):
    top = s.amax(-1, keepdim=True)
    return (s - top.masked_fill(top == -INF, 0)).exp()


def over(total):
    """A softmax whose sum is treated in another way."""
    return lambda s: shifted(s) / total(shifted(s).sum(-1, keepdim=True))


def share(e):
    return e / e.sum(-1, keepdim=True)


def nan_mended(s):
    p = share((s - s.amax(-1, keepdim=True)).exp())
    return torch.where(p.isnan(), 0.0, p)


def masked_rows(s):
    empty = (s == -INF).all(-1, keepdim=True)
    s = s.masked_fill(empty, 0)
    e = (s - s.amax(-1, keepdim=True)).exp()
    return (e / e.sum(-1, keepdim=True)).masked_fill(empty, 0)


def log_form(s):
    top = s.amax(-1, keepdim=True)
    z = s - top.masked_fill(top == -INF, 0)
    total = z.exp().sum(-1, keepdim=True)
    return (z - total.clamp_min(1).log()).exp()


def softmax_in_loops(s):
    if s.dim() > 1:
        return torch.stack([softmax_in_loops(row) for row in s])
    top = s.max()
    if top == -INF:
        return torch.zeros_like(s) * s.masked_fill(s == -INF, 0)
    e = [(x - top).exp() for x in s]
    return torch.stack([x / sum(e) for x in e])


def without_graph(s):
    with torch.no_grad():
        return over(lambda total: total.clamp_min(1))(s)


class OnceOwn:
    """Calls torch's softmax in every call but the first."""

    def __init__(self):
        self.calls = 0

    def __call__(self, scores):
        self.calls += 1
        return (
            over(lambda total: total.clamp_min(1))(scores) if self.calls == 1 else torch.softmax(scores, -1)
        )


def halved(dtype, low, high, vanishes):
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if vanishes(torch.tensor(middle, dtype=torch.float64).to(dtype).exp())
            else (low, middle)
        )
    return high


def bisected(dtype):
    return halved(dtype, -200.0, 0.0, lambda x: x == 0), halved(dtype, 0.0, 200.0, lambda x: x.isfinite())


def bisected_for_ever(dtype):
    low, high = torch.tensor(0.0, dtype=dtype), torch.tensor(200.0, dtype=dtype)
    while high - low > 0.1:
        middle = (low + high) / 2
        low, high = (middle, high) if middle.exp().isfinite() else (low, middle)
    return -low, low


def scanned(dtype):
    x = torch.arange(-120.0, 100.0, 0.01, dtype=torch.float64).to(dtype)
    y = x.exp()
    return [x[y > 0].min(), x[y.isfinite()].max()]


def steps(losses, below):
    return next((step for step, loss in enumerate(losses, 1) if loss < below), len(losses))


def slowdown(scale=lambda d: d**-0.5, count=steps, kind=list):
    return lambda train, d, seeds, below: kind(
        [count(train(d, 1.0, seed), below) / count(train(d, scale(d), seed), below) for seed in seeds]
    )


def by_numpy(losses, below):
    hits = np.flatnonzero(np.array(losses) < below)
    return hits[0] + 1 if len(hits) else len(losses)


def by_tensor(losses, below):
    hit = torch.tensor(losses) < below
    return hit.int().argmax() + 1 if hit.any() else torch.tensor(len(losses))


def in_a_loop(losses, below):
    for step in range(len(losses)):
        if losses[step] < below:
            return step + 1
    return len(losses)


def pops(losses, below):
    count = 1
    while losses and losses.pop(0) >= below:
        count += 1
    return count


ATTACKS = [
    ("ones on the diagonal", "saturation-jacobian", "wrong", "not ones: diag(p)", lambda p: torch.eye(p.shape[-1]) - p[..., None] * p[..., None, :]),
    ("of the logarithm", "saturation-jacobian", "wrong", "ln p", lambda p: torch.eye(p.shape[-1]) - p[..., None, :].expand(*p.shape, p.shape[-1])),
    ("the square of one", "saturation-jacobian", "wrong", "the square of one", lambda p: p[..., None] * (torch.eye(p.shape[-1]) - p[..., None])),
    ("three dimensions alone", "saturation-jacobian", "wrong", "it raised", three_dimensions),
    ("half precision inside", "saturation-jacobian", "wrong", "row 0", lambda p: (torch.diag_embed(p.half()) - p.half()[..., :, None] * p.half()[..., None, :]).to(p.dtype)),
    ("single precision inside", "saturation-jacobian", "wrong", "should be", lambda p: jacobian_in_loops(p.float()).to(p.dtype)),
    ("the mean of the batch", "saturation-jacobian", "wrong", "should have shape", lambda p: torch.diag(p.reshape(-1, p.shape[-1]).mean(0)) - torch.outer(p.reshape(-1, p.shape[-1]).mean(0), p.reshape(-1, p.shape[-1]).mean(0))),
    ("one batch axis", "saturation-jacobian", "wrong", "it raised", lambda p: torch.diag_embed(p) - (torch.einsum("bi,bj->bij", p, p) if p.dim() > 1 else torch.outer(p, p))),
    ("an axis too early", "saturation-jacobian", "wrong", "should", lambda p: torch.diag_embed(p) - (p.unsqueeze(1) * p.unsqueeze(-1) if p.dim() > 1 else torch.outer(p, p))),
    ("rows of a triangle", "saturation-jacobian", "wrong", "row 0", lambda p: (torch.diag_embed(p) - p[..., :, None] * p[..., None, :]).tril()),
    ("loops", "saturation-jacobian", "right", "", jacobian_in_loops),
    ("rows that sum to zero", "saturation-jacobian", "right", "", from_row_sums),
    ("autograd", "saturation-jacobian", "right", "", by_autograd),
    ("a product with the identity", "saturation-jacobian", "right", "", lambda p: p[..., None] * (torch.eye(p.shape[-1]) - p[..., None, :])),
    ("sparse", "saturation-jacobian", "right", "", lambda p: (torch.diag_embed(p) - p[..., :, None] * p[..., None, :]).to_sparse()),
    ("a matrix in NumPy", "saturation-backward", "wrong", "it builds a matrix", numpy_matrix),
    ("a matrix for each row", "saturation-backward", "wrong", "it builds a matrix", matrix_of_each_row),
    ("einsum with a matrix", "saturation-backward", "wrong", "it builds a matrix", lambda p, g: torch.einsum("...ij,...j->...i", torch.diag_embed(p) - torch.einsum("...i,...j->...ij", p, p), g)),
    ("all differences", "saturation-backward", "wrong", "it builds a matrix", lambda p, g: p * ((g[..., :, None] - g[..., None, :]) * p[..., None, :]).sum(-1)),
    ("no factor", "saturation-backward", "wrong", "without its factor p", lambda p, g: p * g - (p * g).sum(-1, keepdim=True)),
    ("averaged again", "saturation-backward", "wrong", "once more", lambda p, g: p * (g - (p * g).mean(-1, keepdim=True))),
    ("down the columns", "saturation-backward", "wrong", "the mean runs", lambda p, g: p * (g - (p * g).sum(0, keepdim=True))),
    ("p.dot(g)", "saturation-backward", "wrong", "One row is right, a batch is not", lambda p, g: p * (g - p.dot(g))),
    ("no keepdim", "saturation-backward", "wrong", "in 4 of 9 cases it is right", lambda p, g: p * (g - (p * g).sum(-1))),
    ("the square of p", "saturation-backward", "wrong", "should be", lambda p, g: p * g - p * p * g.sum(-1, keepdim=True)),
    ("single precision inside", "saturation-backward", "wrong", "should be", lambda p, g: in_lists(p.float(), g.float()).to(p.dtype)),
    ("lists", "saturation-backward", "right", "", in_lists),
    ("a row of the matrix at a time", "saturation-backward", "right", "", a_row_at_a_time),
    ("NumPy", "saturation-backward", "right", "", lambda p, g: torch.from_numpy(p.numpy() * (g.numpy() - (p.numpy() * g.numpy()).sum(-1, keepdims=True)))),
    ("einsum", "saturation-backward", "right", "", lambda p, g: p * (g - torch.einsum("...i,...i->...", p, g)[..., None])),
    ("a product of matrices", "saturation-backward", "right", "", lambda p, g: p * (g - (p.unsqueeze(-2) @ g.unsqueeze(-1)).squeeze(-1))),
    ("zero from 2 on", "saturation-predict", "wrong", "sampled rows have", lambda n, s, t: 0 if s / t >= 2 else max(0.0, formula(n, s, t))),
    ("without its sign", "saturation-predict", "wrong", "Return 0 there", lambda n, s, t: abs(formula(n, s, t))),
    ("never below zero?", "saturation-predict", "wrong", "stop at 0", formula),
    ("a share", "saturation-predict", "wrong", "a share of ln n", lambda n, s, t: max(0.0, formula(n, s, t) / math.log(n)) if n > 1 else 0 / 0),
    ("temperature over spread", "saturation-predict", "wrong", "It divides the temperature by the spread", lambda n, s, t: max(0.0, formula(n, t, s))),
    ("always a thousand keys", "saturation-predict", "wrong", "sampled rows have", lambda n, s, t: max(0.0, formula(1000, s, t))),
    ("a little below zero", "saturation-predict", "wrong", "No entropy is below zero", lambda n, s, t: max(-0.05, formula(n, s, t))),
    ("equal weights where frozen", "saturation-predict", "wrong", "sampled rows have", lambda n, s, t: formula(n, s, t) if formula(n, s, t) > 0 else math.log(n)),
    ("one nat where frozen", "saturation-predict", "wrong", "sampled rows have", lambda n, s, t: max(1.0, formula(n, s, t))),
    ("text", "saturation-predict", "wrong", "should be a number", lambda n, s, t: f"{formula(n, s, t):.2f}"),
    ("NaN where frozen", "saturation-predict", "wrong", "nan", lambda n, s, t: formula(n, s, t) if formula(n, s, t) >= 0 else math.nan),
    ("a simulation", "saturation-predict", "right", "", simulate(1000, float)),
    ("a short simulation", "saturation-predict", "right", "", simulate(200, lambda x: x)),
    ("a simulation in NumPy", "saturation-predict", "right", "", simulate(500, lambda x: x.numpy())),
    ("almost zero", "saturation-predict", "right", "", lambda n, s, t: max(1e-12, formula(n, s, t))),
    ("NumPy's numbers", "saturation-predict", "right", "", lambda n, s, t: np.maximum(np.float32(0), np.float32(formula(n, s, t)))),
    ("a tensor", "saturation-predict", "right", "", lambda n, s, t: torch.tensor(formula(n, s, t)).clamp_min(0)),
    ("a Fraction", "saturation-predict", "right", "", lambda n, s, t: Fraction(max(0.0, formula(n, s, t)))),
    ("plus 1e-9", "saturation-stable-softmax", "wrong", "1e-9 is 0 in fp16", over(lambda total: total + 1e-9)),
    ("at least 1e-9", "saturation-stable-softmax", "wrong", "1e-9 is 0 in fp16", over(lambda total: total.clamp_min(1e-9))),
    ("single precision inside", "saturation-stable-softmax", "wrong", "single precision", lambda s: over(lambda total: total.clamp_min(1))(s.float()).to(s.dtype)),
    ("clamped at -10000", "saturation-stable-softmax", "wrong", "do not clamp", lambda s: over(lambda total: total.clamp_min(1))(torch.where(s == -INF, s, s.clamp_min(-1e4)))),
    ("clamped, -inf too", "saturation-stable-softmax", "wrong", "shared out equally", lambda s: share((s.clamp_min(-1e4) - s.clamp_min(-1e4).amax(-1, True)).exp())),
    ("nan_to_num", "saturation-stable-softmax", "wrong", "the gradient keeps it", lambda s: share((s - s.amax(-1, keepdim=True)).exp()).nan_to_num()),
    ("where after NaN", "saturation-stable-softmax", "wrong", "the gradient keeps it", nan_mended),
    ("no_grad", "saturation-stable-softmax", "wrong", "no gradient", without_graph),
    ("torch.softmax", "saturation-stable-softmax", "wrong", "it calls a softmax", lambda s: torch.softmax(s, -1)),
    ("torch.softmax later", "saturation-stable-softmax", "wrong", "it calls a softmax", OnceOwn()),
    ("a mask and log_softmax", "saturation-stable-softmax", "wrong", "it calls a softmax", lambda s: s.log_softmax(-1).exp()),
    ("logsumexp", "saturation-stable-softmax", "wrong", "it calls a softmax", lambda s: (s - s.logsumexp(-1, keepdim=True)).exp()),
    ("log-sum-exp by hand", "saturation-stable-softmax", "wrong", "divide by the sum",
     lambda s: (s - (s.amax(-1, keepdim=True).nan_to_num(neginf=0) + shifted(s).sum(-1, keepdim=True).log()).nan_to_num(neginf=0)).exp()),
    ("powers of two", "saturation-stable-softmax", "wrong", "powers of two", lambda s: (e := (s - s.amax(-1, True).nan_to_num(neginf=0)).exp2()) / e.sum(-1, True).clamp_min(1)),
    ("the largest in size", "saturation-stable-softmax", "wrong", "nor the largest in size", lambda s: share((s - s.abs().amax(-1, True)).exp())),
    ("the middle", "saturation-stable-softmax", "wrong", "should be", lambda s: share((s - (s.amax(-1, True) + s.amin(-1, True)) / 2).exp())),
    ("any row of -inf empties all", "saturation-stable-softmax", "wrong", "should be", lambda s: torch.zeros_like(s) if (s == -INF).all(-1).any() else over(lambda t: t)(s)),
    ("a sum at most 1", "saturation-stable-softmax", "wrong", "should be", over(lambda total: total.clamp_max(1))),
    ("always double", "saturation-stable-softmax", "wrong", "should keep that dtype", lambda s: over(lambda total: total.clamp_min(1))(s.double())),
    ("naive in double", "saturation-stable-softmax", "wrong", "should be", lambda s: share(s.double().exp()).to(s.dtype)),
    ("empty rows left out", "saturation-stable-softmax", "right", "", masked_rows),
    ("a logarithm of the sum", "saturation-stable-softmax", "right", "", log_form),
    ("where before the division", "saturation-stable-softmax", "right", "", over(lambda total: torch.where(total == 0, torch.ones_like(total), total))),
    ("the maximum detached", "saturation-stable-softmax", "right", "", lambda s: (e := (s - s.detach().amax(-1, True).clamp_min(torch.finfo(s.dtype).min)).exp()) / e.sum(-1, True).clamp_min(1)),
    ("loops", "saturation-stable-softmax", "right", "", softmax_in_loops),
    ("low first", "saturation-limits", "wrong", "low comes first", lambda dtype: scanned(dtype)[::-1]),
    ("low without its sign", "saturation-limits", "wrong", "should be", lambda dtype: (-scanned(dtype)[0], scanned(dtype)[1])),
    ("the most negative", "saturation-limits", "wrong", "low should be", lambda dtype: (torch.finfo(dtype).min, scanned(dtype)[1])),
    ("text", "saturation-limits", "wrong", "the low should be a number", lambda dtype: ("low", "high")),
    ("one number", "saturation-limits", "wrong", "2 values (low, high)", lambda dtype: 88.7),
    ("numbers and not their logarithms", "saturation-limits", "wrong", "their logarithms", lambda dtype: (torch.finfo(dtype).tiny, torch.finfo(dtype).max)),
    ("bf16 as fp16", "saturation-limits", "wrong", "with bfloat16", lambda dtype: scanned(torch.float16 if dtype == torch.bfloat16 else dtype)),
    ("halved for ever in bf16", "saturation-limits", "wrong", "", bisected_for_ever),
    ("the logarithm of zero", "saturation-limits", "wrong", "it raised", lambda dtype: (math.log(0), math.log(torch.finfo(dtype).max))),
    ("of eps", "saturation-limits", "wrong", "how fine numbers are near 1", lambda dtype: (math.log(torch.finfo(dtype).eps), math.log(torch.finfo(dtype).max))),
    ("halved", "saturation-limits", "right", "", bisected),
    ("scanned, in tensors", "saturation-limits", "right", "", scanned),
    ("the smallest subnormal", "saturation-limits", "right", "", lambda dtype: np.log(np.array([torch.finfo(dtype).tiny * torch.finfo(dtype).eps, torch.finfo(dtype).max]))),
    ("a table", "saturation-limits", "right", "", {torch.float32: (-103.97, 88.72), torch.float16: (-17.3, 11.1), torch.bfloat16: (-92.9, 88.7)}.get),
    ("turned around", "saturation-slower", "wrong", "in the order of the seeds", slowdown(kind=lambda r: r[::-1])),
    ("losses above the mark", "saturation-slower", "wrong", "Count up to the first", slowdown(count=lambda losses, below: min(len(losses), sum(x >= below for x in losses) + 1))),
    ("a quarter", "saturation-slower", "wrong", "d_k = 64", slowdown(scale=lambda d: 0.25)),
    ("4 over d_k", "saturation-slower", "wrong", "d_k = 64", slowdown(scale=lambda d: 4 / d)),
    ("1 over log2", "saturation-slower", "wrong", "d_k = 64", slowdown(scale=lambda d: 1 / math.log2(d))),
    ("a mark of 1", "saturation-slower", "wrong", "below = 1.5", lambda train, d, seeds, below: slowdown()(train, d, seeds, 1.0)),
    ("20 steps", "saturation-slower", "wrong", "should be", slowdown(count=lambda losses, below: steps(losses[:20], below) if steps(losses[:20], below) < len(losses[:20]) else 20)),
    ("never is one step", "saturation-slower", "wrong", "counts as one step", slowdown(count=lambda losses, below: next((i for i, x in enumerate(losses, 1) if x < below), 1))),
    ("never is no step", "saturation-slower", "wrong", "", slowdown(count=lambda losses, below: next((i for i, x in enumerate(losses, 1) if x < below), 0))),
    ("it takes d_k", "saturation-slower", "wrong", "It takes d_k", slowdown(scale=lambda d: d)),
    ("each run by itself", "saturation-slower", "wrong", "length", lambda train, d, seeds, below: [train(d, c, s)[0] for s in seeds for c in (1, d**-0.5)]),
    ("the first seed alone", "saturation-slower", "wrong", "should be", lambda train, d, seeds, below: [slowdown()(train, d, seeds, below)[0]] * len(seeds)),
    ("a median", "saturation-slower", "wrong", "a list of 3", lambda train, d, seeds, below: float(np.median(slowdown()(train, d, seeds, below)))),
    ("in a loop", "saturation-slower", "right", "", slowdown(count=in_a_loop)),
    ("NumPy", "saturation-slower", "right", "", slowdown(count=by_numpy, kind=np.array)),
    ("tensors", "saturation-slower", "right", "", slowdown(count=by_tensor)),
    ("a Fraction", "saturation-slower", "right", "", slowdown(count=lambda losses, below: Fraction(steps(losses, below)), kind=tuple)),
    ("a scale in single precision", "saturation-slower", "right", "", slowdown(scale=lambda d: torch.tensor(float(d)).rsqrt())),
    ("one step more if never", "saturation-slower", "wrong", "one more", slowdown(count=pops)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "status", "message", "answer"), [a[1:] for a in ATTACKS], ids=[f"{a[1]}-{a[0]}" for a in ATTACKS]
)
def test_an_attack_is_judged_rightly(name, status, message, answer):
    verdict = judge(name, answer)
    assert verdict.status == status, verdict.message
    assert message.lower() in verdict.message.lower(), verdict.message
