"""Answers to the exercises on the Transformer: by confused readers, by readers who game the checker, in other styles."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attnlab import attention


def norm(x):
    return F.layer_norm(x, x.shape[-1:])


def right_block(x, q, k, v, o, w_in, w_out):
    y = norm(x)
    x = x + attention(y @ q, y @ k, y @ v) @ o
    return x + F.relu(norm(x) @ w_in) @ w_out


def by_loops(x, q, k, v, o, w_in, w_out):
    if x.dim() > 2:
        return torch.stack([by_loops(one, q, k, v, o, w_in, w_out) for one in x])
    y, rows = norm(x), []
    for i in range(len(x)):
        scores = torch.stack([(y[i] @ q) @ (y[j] @ k) for j in range(len(x))]) / math.sqrt(q.shape[1])
        weights = scores.softmax(0)
        row = x[i] + sum(w * (y[j] @ v) for j, w in enumerate(weights)) @ o
        rows.append(row + (norm(row) @ w_in).clamp(min=0) @ w_out)
    return torch.stack(rows)


def mapped(x, *weights):
    return right_block(x, *weights) if x.dim() == 2 else torch.func.vmap(lambda one: mapped(one, *weights))(x)


def norm_by_hand(x):
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()


def sample_norm(x):
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt()


BLOCKS = [
    ("loops", "right", "", by_loops),
    ("norm by hand", "right", "", lambda x, q, k, v, o, a, b: (
        (y := x + attention(norm_by_hand(x) @ q, norm_by_hand(x) @ k, norm_by_hand(x) @ v) @ o)
        + (norm_by_hand(y) @ a).relu() @ b)),
    ("values and output in one matrix", "right", "", lambda x, q, k, v, o, a, b: (
        (y := x + attention(norm(x) @ q, norm(x) @ k, norm(x) @ (v @ o))) + (norm(y) @ a).relu() @ b)),
    ("a module of torch", "right", "", lambda x, q, k, v, o, a, b: (
        (y := x + attention(*(nn.LayerNorm(x.shape[-1], dtype=x.dtype)(x) @ w for w in (q, k, v))) @ o)
        + (norm(y) @ a).relu() @ b)),
    ("detached", "wrong", "no gradient reaches", lambda *a: right_block(*(t.detach() for t in a))),
    ("stream detached", "wrong", "gradient", lambda x, *w: right_block(x, *w) - x + x.detach()),
    ("in single precision", "wrong", "in float64", lambda *a: right_block(*(t.float() for t in a)).to(a[0].dtype)),
    ("first token only", "wrong", "should be", lambda x, *w: torch.cat((right_block(x, *w)[..., :1, :], x[..., 1:, :]), -2)),
    ("GELU", "wrong", "should be", lambda x, q, k, v, o, a, b: (
        (y := x + attention(norm(x) @ q, norm(x) @ k, norm(x) @ v) @ o) + F.gelu(norm(y) @ a) @ b)),
    ("RMS norm", "wrong", "should be", lambda x, q, k, v, o, a, b: (
        (y := x + attention(*(F.rms_norm(x, x.shape[-1:]) @ w for w in (q, k, v))) @ o)
        + (F.rms_norm(y, y.shape[-1:]) @ a).relu() @ b)),
    ("another eps", "wrong", "should be", lambda x, q, k, v, o, a, b: (
        (y := x + attention(*(F.layer_norm(x, x.shape[-1:], eps=0.1) @ w for w in (q, k, v))) @ o) + (norm(y) @ a).relu() @ b)),
    ("values not normed", "wrong", "should be", lambda x, q, k, v, o, a, b: (
        (y := x + attention(norm(x) @ q, norm(x) @ k, x @ v) @ o) + (norm(y) @ a).relu() @ b)),
    ("einsum", "right", "", lambda x, q, k, v, o, a, b: (
        (y := x + torch.einsum("...ij,...jd,dv,ve->...ie", (torch.einsum("...id,de,...jf,fe->...ij", norm(x), q, norm(x), k)
                                                           / math.sqrt(q.size(1))).softmax(-1), norm(x), v, o)) + (norm(y) @ a).relu() @ b)),
    ("softmax over the queries", "wrong", "runs over the keys", lambda x, q, k, v, o, a, b: (
        (y := x + ((norm(x) @ q) @ (norm(x) @ k).mT / q.shape[1] ** 0.5).softmax(-2) @ norm(x) @ v @ o) + (norm(y) @ a).relu() @ b)),
    ("keys for queries", "wrong", "changed places", lambda x, q, k, *w: right_block(x, k, q, *w)),
    ("scaled by the width of values", "wrong", "should be", lambda x, q, k, v, *w: right_block(x, q * (q.shape[1] / v.shape[1]) ** 0.5, k, v, *w)),
    ("what the parts find is normed too", "wrong", "should be", lambda x, q, k, v, o, a, b: (
        (y := x + norm(attention(norm(x) @ q, norm(x) @ k, norm(x) @ v) @ o)) + norm((norm(y) @ a).relu() @ b))),
    ("divides by d - 1", "wrong", "d − 1", lambda x, q, k, v, o, a, b: (
        (y := x + attention(*(sample_norm(x) @ w for w in (q, k, v))) @ o) + (sample_norm(y) @ a).relu() @ b)),
    ("in NumPy", "wrong", "gradient", lambda *a: torch.from_numpy(right_block(*(t.detach() for t in a)).numpy())),
    ("a tuple", "wrong", "tensor", lambda *a: (right_block(*a),)),
    ("residual twice", "wrong", "should be", lambda x, *w: x + right_block(x, *w)),
    ("a softmax that overflows", "wrong", "several hundreds", lambda x, q, k, v, o, a, b: (
        (y := x + (e := ((norm(x) @ q) @ (norm(x) @ k).mT / q.shape[1] ** 0.5).exp()) / e.sum(-1, keepdim=True) @ norm(x) @ v @ o)
        + (norm(y) @ a).relu() @ b)),
    ("all sentences as one", "wrong", "should be", lambda x, *w: right_block(x.reshape(-1, x.shape[-1]), *w).reshape(x.shape)),
    ("the stream written over", "wrong", "in place", lambda x, *w: x.copy_(right_block(x, *w))),
    ("leaky", "wrong", "should be", lambda x, q, k, v, o, a, b: (
        (y := x + attention(norm(x) @ q, norm(x) @ k, norm(x) @ v) @ o) + F.leaky_relu(norm(y) @ a) @ b)),
    ("one sentence at a time, mapped", "right", "", mapped),
    ("weights by a log-sum-exp", "right", "", lambda x, q, k, v, o, a, b: (
        (y := x + ((s := (norm(x) @ q) @ (norm(x) @ k).mT / q.shape[1] ** 0.5) - s.logsumexp(-1, keepdim=True)).exp() @ (norm(x) @ v) @ o)
        + (norm(y) @ a).relu() @ b)),
    ("weights detached", "wrong", "gradient", lambda x, q, k, v, o, a, b: (
        (y := x + ((norm(x) @ q) @ (norm(x) @ k).mT / q.shape[1] ** 0.5).softmax(-1).detach() @ (norm(x) @ v) @ o) + (norm(y) @ a).relu() @ b)),
    ("mean and deviation detached", "wrong", "gradient", lambda x, *w: right_block(x, *w) - norm(x) + (
        x - x.mean(-1, keepdim=True).detach()) / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt().detach()),
    ("ReLU behind both products", "wrong", "should be", lambda x, q, k, v, o, a, b: (
        (y := x + attention(norm(x) @ q, norm(x) @ k, norm(x) @ v) @ o) + ((norm(y) @ a).relu() @ b).relu())),
    ("the last token not worked on", "wrong", "should be", lambda x, q, k, v, o, a, b: torch.cat((
        right_block(x, q, k, v, o, a, b)[..., :-1, :], (x + attention(norm(x) @ q, norm(x) @ k, norm(x) @ v) @ o)[..., -1:, :]), -2)),
    ("network adds to the normed", "wrong", "should be", lambda x, q, k, v, o, a, b: (
        norm(y := x + attention(norm(x) @ q, norm(x) @ k, norm(x) @ v) @ o) + (norm(y) @ a).relu() @ b)),
]  # fmt: skip


def right_loss(scores, ids, real):
    return F.cross_entropy(scores[:, :-1].transpose(1, 2), ids[:, 1:].masked_fill(~real[:, 1:], -100))


def loss_by_loops(scores, ids, real):
    found = []
    for b in range(len(ids)):
        for i in range(ids.shape[1] - 1):
            if real[b, i + 1]:
                found.append(torch.logsumexp(scores[b, i], 0) - scores[b, i, ids[b, i + 1]])
    return sum(found) / len(found)


LOSSES = [
    ("in bits", "wrong", "in bits", lambda s, i, r: right_loss(s, i, r) / math.log(2)),
    ("places that count, by number", "right", "", lambda s, i, r: (
        lambda b, at: F.cross_entropy(s[b, at], i[b, at + 1]))(*r[:, 1:].nonzero(as_tuple=True))),
    ("whole sentences only", "wrong", "should be", lambda s, i, r: right_loss(s[r.all(1)], i[r.all(1)], r[r.all(1)])),
    ("the last guess dropped", "wrong", "should be", lambda s, i, r: right_loss(s[:, :-1], i[:, :-1], r[:, :-1])),
    ("softmax twice", "wrong", "should be", lambda s, i, r: right_loss(s.softmax(-1), i, r)),
    ("padding guesses word 0", "wrong", "should be", lambda s, i, r: F.cross_entropy(s[:, :-1].mT, (i * r)[:, 1:])),
    ("ignored numbers", "right", "", right_loss),
    ("loops", "right", "", loss_by_loops),
    ("one-hot", "right", "", lambda s, i, r: -(
        (s.log_softmax(-1)[:, :-1] * F.one_hot(i[:, 1:], s.shape[-1])).sum(-1) * r[:, 1:]).sum() / r[:, 1:].sum()),
    ("by log-sum-exp", "right", "", lambda s, i, r: (
        (s.logsumexp(-1)[:, :-1] - s[:, :-1].gather(-1, i[:, 1:, None])[..., 0]) * r[:, 1:]).sum() / r[:, 1:].sum()),
    ("word 0 is padding", "wrong", "should be", lambda s, i, r: F.cross_entropy(
        s[:, :-1].mT, (i * r)[:, 1:], ignore_index=0)),
    ("logarithm of a softmax", "wrong", "several hundreds", lambda s, i, r: -(
        s.softmax(-1).log()[:, :-1].gather(-1, i[:, 1:, None])[..., 0][r[:, 1:]]).mean()),
    ("with a floor under p", "wrong", "several hundreds", lambda s, i, r: -(
        (s.softmax(-1) + 1e-9).log()[:, :-1].gather(-1, i[:, 1:, None])[..., 0][r[:, 1:]]).mean()),
    ("labels smoothed", "wrong", "should be", lambda s, i, r: F.cross_entropy(
        s[:, :-1][r[:, 1:]], i[:, 1:][r[:, 1:]], label_smoothing=0.1)),
    ("padding only", "wrong", "should be", lambda s, i, r: right_loss(s, i, ~r)),
    ("not averaged", "wrong", "shape", lambda s, i, r: F.cross_entropy(s[:, :-1][r[:, 1:]], i[:, 1:][r[:, 1:]], reduction="none")),
    ("a float", "wrong", "tensor", lambda s, i, r: right_loss(s, i, r).item()),
    ("detached", "wrong", "no gradient reaches scores", lambda s, i, r: right_loss(s.detach(), i, r)),
    ("half of it", "wrong", "should be", lambda s, i, r: right_loss(s, i, r) / 2),
    ("first sentence only", "wrong", "should be", lambda s, i, r: right_loss(s[:1], i[:1], r[:1])),
    ("two words ahead", "wrong", "should be", lambda s, i, r: right_loss(s[:, :-1], torch.cat((i[:, :1], i[:, 2:]), 1), r[:, 1:])),
    ("a mean of nothing", "wrong", "should be", lambda s, i, r: right_loss(s, i, r) * 0),
    ("one guess missing", "wrong", "should be", lambda s, i, r: right_loss(s[:, 1:], i[:, 1:], r[:, 1:])),
    ("by place", "wrong", "should be", lambda s, i, r: (
        (F.cross_entropy(s[:, :-1].mT, i[:, 1:], reduction="none") * r[:, 1:]).sum(0) / r[:, 1:].sum(0).clamp(min=1)).mean()),
    ("log p never below -50", "wrong", "several hundreds", lambda s, i, r: -(
        s.log_softmax(-1).clamp(min=-50)[:, :-1].gather(-1, i[:, 1:, None])[..., 0][r[:, 1:]]).mean()),
    ("perplexity", "wrong", "should be", lambda s, i, r: right_loss(s, i, r).exp()),
    ("one sentence at a time", "right", "", lambda s, i, r: torch.cat([
        F.cross_entropy(s[b, : n - 1], i[b, 1:n], reduction="none") for b, n in enumerate(r.sum(1).tolist()) if n > 1]).mean()),
    ("a distribution of torch", "right", "", lambda s, i, r: -torch.distributions.Categorical(logits=s[:, :-1]).log_prob(i[:, 1:])[r[:, 1:]].mean()),
    ("p instead of its logarithm", "wrong", "should be", lambda s, i, r: -(
        s.softmax(-1)[:, :-1].gather(-1, i[:, 1:, None])[..., 0] * r[:, 1:]).sum() / r[:, 1:].sum()),
]  # fmt: skip


def by_autograd(x, g):
    x = x.detach().requires_grad_()
    with torch.enable_grad():
        return torch.autograd.grad(norm(x), x, g)[0]


def by_jacobian(x, g):
    d = x.shape[-1]
    sigma = (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()
    z = (x - x.mean(-1, keepdim=True)) / sigma
    jacobian = torch.eye(d, dtype=x.dtype) - 1 / d - z[..., :, None] * z[..., None, :] / d
    return (jacobian @ g[..., None])[..., 0] / sigma


def by_chain_rule(x, g):
    d, centred = x.shape[-1], x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True) + 1e-5
    back_variance = -0.5 * (g * centred).sum(-1, keepdim=True) * variance**-1.5
    back_mean = -(g / variance.sqrt()).sum(-1, keepdim=True)
    return g / variance.sqrt() + back_variance * 2 * centred / d + back_mean / d


def backward_by_loops(x, g):
    if x.dim() > 1:
        return torch.stack([backward_by_loops(a, b) for a, b in zip(x, g, strict=True)])
    d, mean = len(x), sum(x) / len(x)
    sigma = (sum((one - mean) ** 2 for one in x) / d + 1e-5) ** 0.5
    z = [(one - mean) / sigma for one in x]
    along = sum(a * b for a, b in zip(g, z, strict=True)) / d
    return torch.stack([(g[i] - sum(g) / d - z[i] * along) / sigma for i in range(d)])


def by_projection(x, g):
    """Take away what points along the unit vector of x: forgets that eps lets some of it through."""
    centred = x - x.mean(-1, keepdim=True)
    unit = F.normalize(centred, dim=-1)
    g = g - g.mean(-1, keepdim=True)
    return (g - unit * (g * unit).sum(-1, keepdim=True)) / (
        centred.square().mean(-1, keepdim=True) + 1e-5
    ).sqrt()


def by_kernel(x, g):
    _, mean, scale = torch.native_layer_norm(x, x.shape[-1:], None, None, 1e-5)
    backward = torch.ops.aten.native_layer_norm_backward
    return backward(g, x, x.shape[-1:], mean, scale, None, None, [True, False, False])[0]


def by_node(x, g):
    return norm(x.detach().requires_grad_()).grad_fn(g)[0]


def by_batch_norm(x, g):
    """Batch norm over columns, if the tokens are laid on their sides."""
    on_side, above = (one.flatten(0, -2).mT.contiguous() for one in (x, g))
    _, mean, scale = torch.native_batch_norm(on_side, None, None, None, None, True, 0.1, 1e-5)
    rest = (None, None, None, mean, scale, True, 1e-5, [True, False, False])
    return torch.ops.aten.native_batch_norm_backward(above, on_side, *rest)[0].mT.reshape(x.shape)


def by_engine(x, g):
    x = x.detach().requires_grad_()
    run = torch.autograd.Variable._execution_engine.run_backward
    return run((norm_by_hand(x),), (g,), False, False, (x,), allow_unreachable=True, accumulate_grad=False)[0]


def from_the_forward_kernel(x, g):
    z, _, scale = torch.native_layer_norm(x, x.shape[-1:], None, None, 1e-5)
    return scale * (g - g.mean(-1, keepdim=True) - z * (g * z).mean(-1, keepdim=True))


def in_numpy(x, g):
    a, b = x.numpy(), g.numpy()
    sigma = np.sqrt(a.var(-1, keepdims=True) + 1e-5)
    z = (a - a.mean(-1, keepdims=True)) / sigma
    return torch.from_numpy((b - b.mean(-1, keepdims=True) - z * (b * z).mean(-1, keepdims=True)) / sigma)


def by_differences(x, g):
    """Nudge each number up and down: the forward pass answers, though only to five digits or so."""
    nudges = 1e-5 * torch.eye(x.shape[-1], dtype=torch.float64)
    columns = [((norm(x.double() + e) - norm(x.double() - e)) * g.double()).sum(-1) / 2e-5 for e in nudges]
    return torch.stack(columns, -1).to(x.dtype)


def of_rms_norm(x, g):
    size = (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    return (g - x * (g * x).mean(-1, keepdim=True) / size**2) / size


def eps_outside(x, g):
    centred = x - x.mean(-1, keepdim=True)
    sigma = x.std(-1, keepdim=True, correction=0) + 1e-5
    z = centred / sigma
    return (g - g.mean(-1, keepdim=True) - z * (g * z).mean(-1, keepdim=True)) / sigma


def by_complex_steps(x, g):
    """Nudge each number into the imaginary: exact, and no autograd."""
    columns = []
    for e in torch.eye(x.shape[-1], dtype=torch.float64):
        t = torch.complex(x.double(), 1e-20 * e.expand_as(x))
        t = t - t.mean(-1, keepdim=True)
        columns.append(((t / ((t * t).mean(-1, keepdim=True) + 1e-5).sqrt()).imag * 1e20 * g).sum(-1))
    return torch.stack(columns, -1).to(x.dtype)


BACKWARDS = [
    ("complex steps", "right", "", by_complex_steps),
    ("one sum for all tokens", "wrong", "should be", lambda x, g: by_jacobian(x, g) + norm(x) * (
        (g * norm(x)).mean(-1, keepdim=True) - (g * norm(x)).mean()) / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()),
    ("the chain rule, step by step", "right", "", by_chain_rule),
    ("loops", "right", "", backward_by_loops),
    ("a projection", "wrong", "should be", by_projection),
    ("eps beside sigma", "wrong", "not added to σ", eps_outside),
    ("x for g", "wrong", "changed places", lambda x, g: by_jacobian(g, x)),
    ("in place", "wrong", "in place", lambda x, g: x.copy_(by_jacobian(x, g))),
    ("torch.func", "wrong", "without autograd", lambda x, g: torch.func.vjp(norm, x)[1](g)[0]),
    ("one mean for all tokens", "wrong", "should be", lambda x, g: by_jacobian(x, g - g.mean())[..., :] + 0.01),
    ("the last entry lost", "wrong", "should be", lambda x, g: torch.cat((by_jacobian(x, g)[..., :-1], 0 * x[..., -1:]), -1)),
    ("the Jacobian", "right", "", by_jacobian),
    ("autograd", "wrong", "without autograd", by_autograd),
    ("signs turned", "wrong", "should be", lambda x, g: -by_jacobian(x, g)),
    ("autograd's own product", "wrong", "without autograd", lambda x, g: torch.autograd.functional.vjp(norm, x, g)[1]),
    ("torch's own backward pass", "wrong", "It called native_layer_norm_backward", by_kernel),
    ("the node of the graph", "wrong", "It called native_layer_norm_backward", by_node),
    ("batch norm's backward pass", "wrong", "It called native_batch_norm_backward", by_batch_norm),
    ("autograd's engine", "wrong", "It called run_backward", by_engine),
    ("forward mode, by symmetry", "wrong", "It called make_dual", lambda x, g: torch.func.jvp(norm_by_hand, (x,), (g,))[1]),
    ("torch's forward pass", "right", "", from_the_forward_kernel),
    ("in single precision", "wrong", "float64", lambda x, g: by_jacobian(x.float(), g.float()).to(x.dtype)),
    ("the first token for all", "wrong", "should be", lambda x, g: by_jacobian(x, g)[..., :1, :].expand_as(x)),
    ("zero", "wrong", "should be", lambda x, g: torch.zeros_like(x)),
    ("finite differences", "wrong", "float64", by_differences),
    ("of RMSNorm", "wrong", "should be", of_rms_norm),
    ("a sum for the second mean", "wrong", "should be", lambda x, g: by_jacobian(x, g) - (x.shape[-1] - 1) * (
        norm(x) * (g * norm(x)).mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()),
    ("in NumPy", "right", "", in_numpy),
    ("g itself", "wrong", "should be", lambda x, g: g),
    ("eps of 1e-6", "wrong", "should be", lambda x, g: by_jacobian(x, g) * ((x.var(-1, keepdim=True, correction=0) + 1e-5)
                                                                           / (x.var(-1, keepdim=True, correction=0) + 1e-6)).sqrt()),
]  # fmt: skip


def count(d, h, g, e, f, gated, layers, words, tied):
    one = d * h * e + 2 * d * g * e + h * e * d + d * f + f * d + (d * f if gated else 0) + d + d
    return layers * one + d + (words * d if tied else 2 * words * d)


COUNTS = [
    ("a score's bias for each word", "wrong", "should be", lambda *a: count(*a) + a[7]),
    ("biases of attention alone", "wrong", "should be", lambda *a: count(*a) + a[6] * (a[3] * (a[1] + 2 * a[2]) + a[0])),
    ("twelve squares a layer", "wrong", "should be", lambda *a: 12 * a[6] * a[0] ** 2 + a[7] * a[0]),
    ("matrix by matrix", "right", "", count),
    ("a float", "right", "", lambda *a: float(count(*a))),
    ("a module that is counted", "right", "", lambda d, h, g, e, f, gated, layers, words, tied: layers * sum(
        a * b for a, b in ((d, h * e), (d, g * e), (d, g * e), (h * e, d), (d, f), (f, d), (1, 2 * d), *([(d, f)] if gated else [])))
        + d + (2 - tied) * words * d),
    ("a NumPy integer", "right", "", lambda *a: np.int64(count(*a))),
    ("tied turned round", "wrong", "mixed up", lambda *a: count(*a[:8], not a[8])),
    ("four squares", "wrong", "squares", lambda d, h, g, e, *rest: count(d, d, d, 1, *rest)),
    ("text", "wrong", "number", lambda *a: str(count(*a))),
    ("in thousands", "wrong", "should be", lambda *a: round(count(*a), -3)),
    ("32 bits", "wrong", "Llama", lambda *a: count(*a) % 2**31),
    ("norms of two numbers", "wrong", "", lambda *a: count(*a) + 2),
    ("in millions", "wrong", "should be", lambda *a: count(*a) / 1e6),
    ("a layer too many", "wrong", "should be", lambda *a: count(*a[:6], a[6] + 1, *a[7:])),
    ("keys and values counted once", "wrong", "should be", lambda d, h, g, e, *rest: count(d, h, g, e, *rest) - rest[2] * d * g * e),
    ("a table of positions", "wrong", "should be", lambda *a: count(*a) + 2048 * a[0]),
    ("a tensor", "right", "", lambda *a: torch.tensor(count(*a))),
    ("the sizes of one model", "wrong", "should be", lambda *a: 134515008),
]  # fmt: skip


ATTACKS = [
    pytest.param(f"transformer-{name}", status, piece, answer, id=f"{name}: {what}")
    for name, rows in (
        ("block", BLOCKS),
        ("loss", LOSSES),
        ("norm-backward", BACKWARDS),
        ("parameters", COUNTS),
    )
    for what, status, piece, answer in rows
]


@pytest.mark.parametrize(("name", "status", "piece", "answer"), ATTACKS)
def test_an_attack_is_judged_rightly(judged, name, status, piece, answer):
    judged(name, status, piece, answer)
