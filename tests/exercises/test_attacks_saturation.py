"""Answers to the exercises on saturation that readers tried, or that fooled an earlier checker."""

import math

import numpy as np
import pytest
import torch

from attnlab.checks import judge

INF = math.inf
one = torch.ones((), requires_grad=True)
clamps_cut = not torch.autograd.grad(one.clamp_min(1), one)[0]
"""Whether this torch's clamp passes nothing back where a number lies on its bound."""


def both(
    s, t, g, through=lambda p, g: p * (g - (p * g).sum(-1, keepdim=True)), weights=lambda z: z.softmax(-1)
):
    j = through(weights(s / t), g)
    return j / t, -(j * s).sum() / t**2


def by_numpy_matrix(s, t, g):
    def through(p, g):
        a, b = p.numpy(), g.numpy()
        rows = [
            (np.diag(x) - np.outer(x, x)) @ y
            for x, y in zip(a.reshape(-1, a.shape[-1]), b.reshape(-1, a.shape[-1]), strict=True)
        ]
        return torch.from_numpy(np.stack(rows).reshape(a.shape))

    return both(s, t, g, through)


def by_backward(s, t, g):
    s, t = s.clone().requires_grad_(), torch.tensor(t, dtype=s.dtype, requires_grad=True)
    (s / t).softmax(-1).backward(g)
    return s.grad, t.grad


def in_lists(s, t, g):
    if s.dim() > 1:
        parts = [in_lists(x, t, y) for x, y in zip(s, g, strict=True)]
        return torch.stack([part for part, _ in parts]), sum(part for _, part in parts)
    p, a, b = (s / t).softmax(-1).tolist(), s.tolist(), g.tolist()
    mean = math.fsum(x * y for x, y in zip(p, b, strict=True))
    j = [x * (y - mean) for x, y in zip(p, b, strict=True)]
    slope = -math.fsum(x * y for x, y in zip(j, a, strict=True)) / t**2
    return torch.tensor([x / t for x in j], dtype=s.dtype), slope


def by_rows(s, t, g):
    flat = [
        both(x, t, y) for x, y in zip(s.reshape(-1, s.shape[-1]), g.reshape(-1, s.shape[-1]), strict=True)
    ]
    return torch.stack([x for x, _ in flat]).reshape(s.shape), torch.stack([x for _, x in flat]).sum()


def by_covariance(s, t, g):
    p = (s / t).softmax(-1)
    slope = -((p * s * g).sum(-1) - (p * s).sum(-1) * (p * g).sum(-1)).sum() / t**2
    return both(s, t, g)[0], slope.item()


def in_numpy(s, t, g):
    a, b = s.numpy(), g.numpy()
    p = np.exp((a - a.max(-1, keepdims=True)) / t)
    p /= p.sum(-1, keepdims=True)
    j = p * (b - (p * b).sum(-1, keepdims=True))
    return torch.from_numpy((j / t).astype(a.dtype)), float(-(j * a).sum() / t**2)


def by_vmap(s, t, g):
    if s.dim() == 1:
        return both(s, t, g)
    slopes, slope = by_vmapped(s, t, g)
    return slopes, slope.sum()


def by_vmapped(s, t, g):
    return torch.func.vmap(lambda a, b: both(a, t, b) if a.dim() == 1 else by_vmap(a, t, b))(s, g)


def by_own_softmax(s, t, g):
    s, t = s.clone().requires_grad_(), torch.tensor(t, dtype=s.dtype, requires_grad=True)
    e = (s / t - (s / t).amax(-1, keepdim=True)).exp()
    return torch.autograd.grad((e / e.sum(-1, keepdim=True) * g).sum(), (s, t))


def by_entries(s, t, g):
    p, through = (s / t).softmax(-1), torch.empty_like(s)
    for i in range(s.shape[-1]):
        row = -p[..., i : i + 1] * p
        row[..., i] += p[..., i]
        through[..., i] = (row * g).sum(-1)
    return through / t, -(through * s).sum() / t**2


def by_differences(s, t, g):
    up, down = ((s / (t + h)).softmax(-1) for h in (0.01, -0.01))
    return both(s, t, g)[0], ((up - down) / 0.02 * g).sum()


def by_nanmean(p, lengths):
    share = torch.special.entr(p).sum(-1) / lengths.log()[:, None, None]
    counts = (torch.arange(p.shape[-1]) < lengths[:, None])[:, None] & (lengths > 1)[:, None, None]
    return torch.where(counts, share, torch.nan).movedim(1, 0).flatten(1).nanmean(1)


def formula(n, spread, weight, temperature):
    return temperature * math.log((n - 1) * weight / (1 - weight)) + spread**2 / (2 * temperature)


def by_halving(n, spread, weight, temperature):
    others = (spread / temperature * torch.randn(300, n - 1)).logsumexp(-1)
    low, high = -100.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        less = (middle / temperature - others).sigmoid().mean() < weight
        low, high = (middle, high) if less else (low, middle)
    return middle


def in_loops(p, lengths, entropies=torch.special.entr):
    found = []
    for head in range(p.shape[1]):
        rows = [
            entropies(p[b, head, i]).sum() / math.log(n)
            for b, n in enumerate(lengths.tolist())
            for i in range(n)
            if n > 1
        ]
        found.append(torch.stack(rows).mean())
    return torch.stack(found)


def rows_picked(p, lengths):
    words = (torch.arange(p.shape[-1]) < lengths[:, None]) & (lengths[:, None] > 1)
    entropy = torch.special.entr(p).sum(-1) / lengths.clamp_min(2).to(p.dtype).log()[:, None, None]
    return entropy.movedim(1, -1)[words].mean(0)


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


class OwnBackward(torch.autograd.Function):
    """A backward pass by hand."""

    @staticmethod
    def forward(ctx, s):
        p = over(lambda total: total.clamp_min(1))(s)
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        return p * (g - (p * g).sum(-1, keepdim=True))


class HalfBackward(OwnBackward):
    """The same without the weighted mean."""

    @staticmethod
    def backward(ctx, g):
        return ctx.saved_tensors[0] * g


class OnceOwn:
    """Calls torch's softmax in every call but the first."""

    def __init__(self):
        self.calls = 0

    def __call__(self, scores):
        self.calls += 1
        return (
            over(lambda total: total.clamp_min(1))(scores) if self.calls == 1 else torch.softmax(scores, -1)
        )


ATTACKS = [
    ("sums in place of vectors", "saturation-backward", "wrong", "in place", lambda s, t, g: (g.mul_(2), 0.0)),
    ("a matrix in NumPy", "saturation-backward", "wrong", "it builds a matrix", by_numpy_matrix),
    ("all differences", "saturation-backward", "wrong", "it builds a matrix", lambda s, t, g: both(s, t, g, lambda p, g: p * ((g[..., :, None] - g[..., None, :]) * p[..., None, :]).sum(-1))),
    ("no keepdim", "saturation-backward", "wrong", "in", lambda s, t, g: both(s, t, g, lambda p, g: p * (g - (p * g).sum(-1)))),
    ("the first row's temperature", "saturation-backward", "wrong", "gradient of the temperature", lambda s, t, g: (both(s, t, g)[0], both(s.reshape(-1, s.shape[-1])[:1], t, g.reshape(-1, s.shape[-1])[:1])[1])),
    ("the last row forgotten", "saturation-backward", "wrong", "should be", lambda s, t, g: (both(s, t, g)[0], both(s[:-1], t, g[:-1])[1] if s.dim() > 1 else both(s, t, g)[1])),
    ("the temperature alone", "saturation-backward", "wrong", "2 values", lambda s, t, g: both(s, t, g)[1]),
    ("the other way round", "saturation-backward", "wrong", "", lambda s, t, g: both(s, t, g)[::-1]),
    ("a row of temperatures", "saturation-backward", "wrong", "All rows share one temperature", lambda s, t, g: (both(s, t, g)[0], -(both(s, t, g)[0] * s).sum(-1) / t)),
    ("single precision inside", "saturation-backward", "wrong", "should be", lambda s, t, g: both(s.float(), t, g.float())),
    ("naive exponentials", "saturation-backward", "wrong", "one score far ahead", lambda s, t, g: both(s, t, g, weights=lambda z: z.exp() / z.exp().sum(-1, keepdim=True))),
    ("autograd's backward", "saturation-backward", "wrong", "leaves the work to autograd", by_backward),
    ("lists", "saturation-backward", "right", "", in_lists),
    ("a tensor of one number", "saturation-backward", "right", "", lambda s, t, g: (both(s, t, g)[0], torch.tensor([both(s, t, g)[1]]))),
    ("a list of two", "saturation-backward", "right", "", lambda s, t, g: list(both(s, t, g))),
    ("through z", "saturation-backward", "right", "", lambda s, t, g: (j := both(s / t, 1.0, g)[0]) is not None and (j / t, -(j * (s / t)).sum() / t)),
    ("a loop over rows", "saturation-backward", "right", "", by_rows),
    ("a covariance", "saturation-backward", "right", "", by_covariance),
    ("NumPy without a matrix", "saturation-backward", "right", "", in_numpy),
    ("vmap", "saturation-backward", "right", "", by_vmap),
    ("a slope of the temperature by differences", "saturation-backward", "wrong", "gradient of the temperature", by_differences),
    ("autograd through exponentials", "saturation-backward", "wrong", "leaves the work to autograd", by_own_softmax),
    ("one entry at a time", "saturation-backward", "right", "", by_entries),
    ("the first axis summed", "saturation-backward", "wrong", "gradient of the temperature", lambda s, t, g: (both(s, t, g)[0], -(both(s, t, g)[0] * s).sum(0).mean() / t)),
    ("torch's vjp", "saturation-backward", "wrong", "leaves the work to autograd", lambda s, t, g: torch.autograd.functional.vjp(lambda a, b: (a / b).softmax(-1), (s, torch.tensor(t, dtype=s.dtype)), g)[1]),
    ("the diagonal embedded", "saturation-backward", "wrong", "it builds a matrix", lambda s, t, g: both(s, t, g, lambda p, g: ((torch.diag_embed(p) - p[..., :, None] * p[..., None, :]) @ g[..., None])[..., 0])),
    ("always 6.9", "saturation-ahead", "wrong", "of the weight", lambda n, s, w, t: 6.9),
    ("a thousand keys", "saturation-ahead", "wrong", "of the weight", lambda n, s, w, t: formula(1000, s, w, t)),
    ("text", "saturation-ahead", "wrong", "should be a number", lambda n, s, w, t: f"{formula(n, s, w, t):.2f}"),
    ("NaN", "saturation-ahead", "wrong", "nan", lambda n, s, w, t: math.nan),
    ("infinite", "saturation-ahead", "wrong", "inf", lambda n, s, w, t: math.inf),
    ("never behind", "saturation-ahead", "wrong", "of the weight", lambda n, s, w, t: max(0.0, formula(n, s, w, t))),
    ("the weight, not its odds", "saturation-ahead", "wrong", "It takes ln w", lambda n, s, w, t: t * (math.log(n - 1) + math.log(w)) + s**2 / (2 * t)),
    ("temperature on the inside alone", "saturation-ahead", "wrong", "of the weight", lambda n, s, w, t: math.log((n - 1) * w / (1 - w)) + s**2 / (2 * t * t)),
    ("spread over temperature", "saturation-ahead", "wrong", "of the weight", lambda n, s, w, t: t * math.log((n - 1) * w / (1 - w)) + s / t),
    ("half a nat too far", "saturation-ahead", "wrong", "of the weight", lambda n, s, w, t: formula(n, s, w, t) + 0.5 * t),
    ("halving in samples", "saturation-ahead", "right", "", by_halving),
    ("NumPy's numbers", "saturation-ahead", "right", "", lambda n, s, w, t: np.float32(formula(n, s, w, t))),
    ("a tensor", "saturation-ahead", "right", "", lambda n, s, w, t: torch.tensor(formula(n, s, w, t))),
    ("the logit", "saturation-ahead", "right", "", lambda n, s, w, t: t * (torch.logit(torch.tensor(w, dtype=torch.float64)) + math.log(n - 1)) + s**2 / 2 / t),
    ("the largest of the others", "saturation-ahead", "wrong", "of the weight", lambda n, s, w, t: s * math.sqrt(2 * math.log(n)) + t * math.log(w / (1 - w))),
    ("rounded", "saturation-ahead", "wrong", "of the weight", lambda n, s, w, t: round(formula(n, s, w, t))),
    ("the spread at temperature 1 alone", "saturation-ahead", "wrong", "of the weight", lambda n, s, w, t: formula(n, s if t == 1 else 0, w, t)),
    ("in a tuple", "saturation-ahead", "wrong", "should be a number", lambda n, s, w, t: (formula(n, s, w, t),)),
    ("another order", "saturation-ahead", "right", "", lambda n, s, w, t: t * (math.log(w) - math.log1p(-w) + math.log(n - 1) + (s / t) ** 2 / 2)),
    ("the plain mean of all rows", "saturation-sharpness", "wrong", "should", lambda p, n: torch.special.entr(p).sum(-1).mean((0, 2))),
    ("padding weighed", "saturation-sharpness", "wrong", "Rows of padding are counted", lambda p, n: (torch.special.entr(p).sum(-1) / n.log()[:, None, None])[n > 1].mean((0, 2))),
    ("the first sentence alone", "saturation-sharpness", "wrong", "should be", lambda p, n: in_loops(p[:1], n[:1])),
    ("the last row forgotten", "saturation-sharpness", "wrong", "should be", lambda p, n: in_loops(p, (n - 1).clamp_min(1)) if (n > 2).any() else torch.zeros(p.shape[1])),
    ("one head", "saturation-sharpness", "wrong", "should have shape", lambda p, n: in_loops(p, n)[:1]),
    ("bits", "saturation-sharpness", "wrong", "Use one base", lambda p, n: in_loops(p, n) / math.log(2)),
    ("the mean of the heads", "saturation-sharpness", "wrong", "one number for each head", lambda p, n: in_loops(p, n).mean()),
    ("a little added", "saturation-sharpness", "wrong", "", lambda p, n: in_loops(p, n, lambda p: -(p * (p + 1e-3).log()))),
    ("NaN taken for 0", "saturation-sharpness", "wrong", "", lambda p, n: torch.where(torch.arange(p.shape[-1]) < n[:, None, None], torch.special.entr(p).sum(-1) / n.log()[:, None, None], 0).nan_to_num().sum((0, 2)) / n.sum()),
    ("the columns", "saturation-sharpness", "wrong", "down the columns", lambda p, n: in_loops(p.transpose(-2, -1), n)),
    ("half precision inside", "saturation-sharpness", "wrong", "should be", lambda p, n: in_loops(p.half(), n).to(p.dtype)),
    ("loops", "saturation-sharpness", "right", "", in_loops),
    ("rows picked out", "saturation-sharpness", "right", "", rows_picked),
    ("a product of logarithms", "saturation-sharpness", "right", "", lambda p, n: in_loops(p, n, lambda p: -torch.xlogy(p, p))),
    ("NumPy inside", "saturation-sharpness", "right", "", lambda p, n: torch.tensor(in_loops(p, n).numpy())),
    ("a list of numbers", "saturation-sharpness", "right", "", lambda p, n: in_loops(p, n).tolist()),
    ("a list of tensors", "saturation-sharpness", "right", "", lambda p, n: list(in_loops(p, n))),
    ("NumPy's array", "saturation-sharpness", "right", "", lambda p, n: in_loops(p, n).numpy()),
    ("a mean without NaN", "saturation-sharpness", "right", "", by_nanmean),
    ("a list of too few", "saturation-sharpness", "wrong", "should have shape", lambda p, n: in_loops(p, n).tolist()[:1]),
    ("a list of words", "saturation-sharpness", "wrong", "", lambda p, n: ["sharp"] * p.shape[1]),
    ("an empty list", "saturation-sharpness", "wrong", "", lambda p, n: []),
    ("a column", "saturation-sharpness", "wrong", "should have shape", lambda p, n: in_loops(p, n)[:, None]),
    ("keys heard as a share of n", "saturation-sharpness", "wrong", "should be", lambda p, n: in_loops(p, n).exp() / 5),
    ("lengths mended in place", "saturation-sharpness", "wrong", "in place", lambda p, n: (n.clamp_(min=2), in_loops(p, n))[1]),
    ("rows that got weight", "saturation-sharpness", "wrong", "Rows of padding are counted", lambda p, n: torch.where((n > 1)[:, None, None], torch.special.entr(p).sum(-1) / n.log()[:, None, None], 0).sum((0, 2)) / ((n > 1).sum() * p.shape[-1])),
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
    ("always double", "saturation-stable-softmax", "wrong", "should keep the dtype of its arguments, float32", lambda s: over(lambda total: total.clamp_min(1))(s.double())),
    ("naive in double", "saturation-stable-softmax", "wrong", "should be", lambda s: share(s.double().exp()).to(s.dtype)),
    ("empty rows left out", "saturation-stable-softmax", "right", "", masked_rows),
    ("a logarithm of the sum", "saturation-stable-softmax", "right", "", log_form),
    ("where before the division", "saturation-stable-softmax", "right", "", over(lambda total: torch.where(total == 0, torch.ones_like(total), total))),
    ("the maximum detached", "saturation-stable-softmax", "right", "", lambda s: (e := (s - s.detach().amax(-1, True).clamp_min(torch.finfo(s.dtype).min)).exp()) / (t := e.sum(-1, True)).where(t > 0, 1)),
    # A sum of exactly 1 is the usual case, and what a clamp passes back there is for each torch to say.
    ("the maximum detached, the sum cut", "saturation-stable-softmax", "wrong" if clamps_cut else "right", "Replace a sum of 0 alone" if clamps_cut else "",
     lambda s: (e := (s - s.detach().amax(-1, True).clamp_min(torch.finfo(s.dtype).min)).exp()) / e.sum(-1, True).clamp_min(1)),
    ("loops", "saturation-stable-softmax", "right", "", softmax_in_loops),
    ("a backward of its own", "saturation-stable-softmax", "right", "", OwnBackward.apply),
    ("a backward without the mean", "saturation-stable-softmax", "wrong", "the gradient is not", HalfBackward.apply),
    ("the sum detached", "saturation-stable-softmax", "wrong", "the gradient is not", over(lambda total: total.clamp_min(1).detach())),
    ("plus a millionth", "saturation-stable-softmax", "wrong", "should be", over(lambda total: total + 1e-6)),
    ("powers of e by powers of two", "saturation-stable-softmax", "right", "", lambda s: (e := ((s - s.amax(-1, True).nan_to_num(neginf=0)) / math.log(2)).exp2()) / e.sum(-1, True).clamp_min(1)),
    ("sorted", "saturation-stable-softmax", "right", "", lambda s: over(lambda total: total.clamp_min(1))(s.sort(-1).values).gather(-1, s.argsort(-1).argsort(-1))),
    ("one score of -inf empties its row", "saturation-stable-softmax", "wrong", "should be", lambda s: torch.where((s == -INF).any(-1, keepdim=True), 0, over(lambda total: total.clamp_min(1))(s))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "status", "message", "answer"), [a[1:] for a in ATTACKS], ids=[f"{a[1]}-{a[0]}" for a in ATTACKS]
)
def test_an_attack_is_judged_rightly(name, status, message, answer):
    verdict = judge(name, answer)
    assert verdict.status == status, verdict.message
    assert message.lower() in verdict.message.lower(), verdict.message
