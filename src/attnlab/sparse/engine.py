"""The one loop under all patterns: attention over a list of tiles, merged by their log-sum-exp.

A pattern is a list of tiles: rectangles of the score matrix. A query finds three things in a tile: the
largest score m, the sum of exponentials l = sum exp(s - m), and the mean of the values o. Two finds merge:

    m = max(m1, m2),   l = l1 exp(m1 - m) + l2 exp(m2 - m),   o = (l1 exp(m1 - m) o1 + l2 exp(m2 - m) o2) / l

so the tiles may come in any order, and no row of weights is ever whole. The backward pass keeps only o, m and
l of each query, and computes each tile's weights again: memory stays linear in both directions.

References: Milakov and Gimelshein 2018, section 3 (merging); Dao et al. 2022, algorithms 1 and 4 (backward).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attnlab.arguments import no_second_derivative
from attnlab.sparse.tiles import HIDDEN, Layer, Step, portions

LOG2E = math.log2(math.e)
FUSED = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
LARGE = 128.0
"""A sum's logarithm beyond this is rounded to 1e-5 or worse, and the weights exp(score - log) with it."""


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    layers: list[Layer],
    *,
    backward: list[Layer] | None = None,
    key_bias: Tensor | None = None,
    scale: float | None = None,
    fused: bool = True,
) -> tuple[Tensor, Tensor]:
    """Attend along the tiles of all layers together.

    Args:
        q: queries (heads, n_q, d_k).
        k: keys (heads, n_k, d_k).
        v: values (heads, n_k, d_v).
        layers: the first must hold every query exactly once, and so must any with an order. A pair that is
            visible in two tiles counts twice.
        backward: the same pairs in other tiles, for the backward pass. The first layer must hold every key
            exactly once: then their gradients are stored and not added up.
        key_bias: (heads, n_k), 0 for a key that may be attended to and `HIDDEN` for one that may not.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.
        fused: on a CPU, let torch's fused kernel attend within the tiles of the forward pass, which is faster
            than tensor code. It is not used where scores are so large that its answer has lost digits.

    Returns:
        Output (heads, n_q, d_v), and which queries see no key, (heads, n_q, 1): their output is zeros. The
        output can be differentiated once.
    """
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    key_bias = None if key_bias is None else key_bias[..., None]
    rows = all(x.stride(-1) == 1 for x in (q, k, v))  # the kernel reads numbers that lie side by side
    fits = q.is_cpu and rows and q.dtype == exact_dtype(q) and q.shape[-1] == v.shape[-1]
    find = _find_fused if fused and fits else _find
    if q.shape[:-1].numel() == 0:  # nothing to attend: any shape that is empty, and gradients that are
        nothing = v + 0 * (q.sum(-1, keepdim=True) + k.sum(-1, keepdim=True))
        return nothing, nothing.new_zeros(*q.shape[:-1], 1, dtype=torch.bool)
    return _Attend.apply(q, k, v, key_bias, layers, backward, scale, find)


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, key_bias, layers, backward, scale, find):
        with torch.autocast(q.device.type, enabled=False):  # the dtypes are chosen here
            out, top, total = _forward(q, k, v, key_bias, layers, scale, find)
            empty = top < HIDDEN / 2
            if find is _find_fused and ((top.abs() > LARGE) & ~empty).any():
                out, top, total = _forward(q, k, v, key_bias, layers, scale, _find)
        # A query that saw hidden keys only holds a mean of what it may not see, and passes back nothing.
        if empty.any():
            out.masked_fill_(empty, 0.0)
            total.masked_fill_(empty, math.inf)
        ctx.mark_non_differentiable(empty)
        ctx.save_for_backward(q, k, v, out, top, total, key_bias)
        ctx.layers, ctx.stored, ctx.scale = backward or layers, backward is not None, scale
        return out.to(v.dtype), empty

    @staticmethod
    def backward(ctx, grad, _):
        no_second_derivative("sparse attention", "attention(q, k, v, mask=..., need_weights=True)")
        with torch.autocast(grad.device.type, enabled=False):
            return _Attend.pull_back(ctx, grad)

    @staticmethod
    def pull_back(ctx, grad):
        q, k, v, out, top, total, key_bias = ctx.saved_tensors
        exact, scale, layers = top.dtype, ctx.scale, ctx.layers
        make = torch.empty_like if ctx.stored else torch.zeros_like
        sums = torch.zeros_like(q, dtype=exact), make(k, dtype=exact), make(v, dtype=exact)
        # dS = P * (dP - rowsum(dO * O)) is the Jacobian of the softmax, without its matrix. P is
        # exp(S - top) / total; the division is done on dO where that is smaller.
        inner = torch.stack([(g * o).sum(-1, keepdim=True) for g, o in zip(grad, out, strict=True)])
        for layer in layers:
            fresh = ctx.stored and layer is layers[0]
            for some, steps in portions(layer, q.shape[0], _at_once(layer, q, _find)):
                order = steps[0].order
                given = (q, k, v, key_bias, grad, inner, top, total)
                q_, k_, v_, hidden, *of_queries = (_arranged(x, some, order) for x in given)
                dq, dk, dv = (x[some] if order is None else torch.zeros_like(x[some]) for x in sums)
                for step in steps:
                    rows, columns, first = step.tiles.queries, step.tiles.keys, step.first
                    qs, g, row, most, parts = (step.queries(x).to(exact) for x in (q_, *of_queries))
                    ks, vs = step.keys(k_).to(exact) * scale, step.keys(v_).to(exact)
                    p = _scores(step, qs, ks, hidden).sub_(most).mul_(LOG2E).exp2_()
                    if p.shape[2] < g.shape[2]:
                        p.div_(parts)
                    else:
                        g, row = g / parts, row / parts
                    columns.add(dv, torch.bmm(p.transpose(1, 2), g), first, 1.0, fresh)
                    ds = torch.bmm(g, vs.transpose(1, 2)).sub_(row).mul_(p)
                    rows.add(dq, torch.bmm(ds, ks), first, 1.0, False)
                    columns.add(dk, torch.bmm(ds.transpose(1, 2), qs), first, scale, fresh)
                if order is not None:
                    for whole, part in zip(sums, (dq, dk, dv), strict=True):
                        whole[some].add_(_restored(part, order))
        dq, dk, dv = sums
        return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype), None, None, None, None, None


def _forward(q, k, v, key_bias, layers, scale, find) -> tuple[Tensor, Tensor, Tensor]:
    """Return of each query: the mean of the values, the largest score m, and sum exp(score - m)."""
    made = [torch.empty(*q.shape[:2], d, device=q.device, dtype=exact_dtype(q)) for d in (v.shape[2], 1, 1)]
    for layer in layers:
        for some, steps in portions(layer, q.shape[0], _at_once(layer, q, find)):
            order, first = steps[0].order, layer is layers[0]
            given = [_arranged(x, some, order) for x in (q, k, v, key_bias)]
            places = [x[some] if order is None else torch.empty_like(x[some]) for x in made]
            for step in steps:
                rows = [step.tiles.queries.view(x, step.first, step.count) for x in places]
                (_store if first or order is not None else _merge)(*find(step, *given, scale), *rows)
            if order is not None:
                mean, *norm = (_restored(x, order) for x in places)
                (_store if first else _merge)(mean, *norm, *(x[some] for x in made))
    return tuple(made)


def _at_once(layer: Layer, x: Tensor, find: Callable) -> int:
    """Say how many scores to compute at once: where they or their bias are written down, a cache's fill."""
    if x.is_cuda:
        return 2**26
    written = find is _find or any(callable(kind.bias) for kind in layer.tiles)
    return 2**18 if written else 2**22


def _find(step, q, k, v, key_bias, scale) -> tuple[Tensor, Tensor, Tensor]:
    """Attend within tiles in plain tensor code: mean of the values, largest score, sum of exponentials."""
    exact = exact_dtype(q)
    s = _scores(step, step.queries(q).to(exact) * scale, step.keys(k).to(exact), key_bias)
    most = s.amax(-1, keepdim=True)
    # exp2 after a factor, because exp takes twenty times as long on hidden scores.
    weights = s.sub_(most).mul_(LOG2E).exp2_()
    parts = weights.sum(-1, keepdim=True)
    mean = torch.bmm(weights, step.keys(v).to(exact)).div_(parts)
    return tuple(x.unflatten(0, (-1, step.count)) for x in (mean, most, parts))


def _find_fused(step, q, k, v, key_bias, scale) -> tuple[Tensor, Tensor, Tensor]:
    """Attend within tiles by the kernel under `F.scaled_dot_product_attention`, which writes no scores down.

    Of a query's scores it returns the log of the sum of their exponentials, which is m + log l in one.
    """
    tiles, some = step.tiles, (step.first, step.count)
    q, k, v = tiles.queries.view(q, *some), tiles.keys.view(k, *some), tiles.keys.view(v, *some)
    bias = step.bias()
    if key_bias is not None:
        hidden = tiles.keys.view(key_bias, *some).transpose(2, 3)
        bias = hidden if bias is None else bias + hidden
    if bias is not None:
        bias = bias.to(q.dtype).expand(*q.shape[:3], k.shape[2])
    mean, norm = FUSED(q, k, v, attn_mask=bias, scale=scale)
    return mean, norm[..., None], torch.ones_like(norm)[..., None]


def exact_dtype(x: Tensor) -> torch.dtype:
    """Name the type to compute in: half precision is too coarse to add up many tiles."""
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _scores(step: Step, q: Tensor, k: Tensor, key_bias: Tensor | None) -> Tensor:
    """Return biased scores (heads * count, rows, columns)."""
    s = torch.bmm(q, k.transpose(1, 2))
    bias = step.bias()
    if bias is not None:  # added in place: baddbmm would spread it out first
        s.unflatten(0, (-1, step.count)).add_(bias)
    if key_bias is not None:
        s += step.keys(key_bias).transpose(1, 2)
    return s


def _store(found: Tensor, most: Tensor, parts: Tensor, out: Tensor, top: Tensor, total: Tensor) -> None:
    """Write down what a tile found: the first that its queries see."""
    out.copy_(found)
    top.copy_(most)
    total.copy_(parts)


def _merge(found: Tensor, most: Tensor, parts: Tensor, out: Tensor, top: Tensor, total: Tensor) -> None:
    """Join what a tile found with what its queries found before: the online softmax."""
    highest = torch.maximum(top, most)
    before, now = total * (top - highest).exp_(), parts * (most - highest).exp_()
    torch.add(before, now, out=total)
    out.mul_(before.div_(total)).addcmul_(found, now.div_(total))
    top.copy_(highest)


def _arranged(x: Tensor | None, some: slice, order: Tensor | None) -> Tensor | None:
    """Return some heads of x (heads, n, d), their tokens in the layer's order."""
    if x is None or order is None:
        return None if x is None else x[some]
    if order.shape[0] == 1:
        return x[some].index_select(1, order[0])
    return x[some].gather(1, order[..., None].expand(-1, -1, x.shape[2]))


def _restored(x: Tensor, order: Tensor) -> Tensor:
    """Put rows that lie in an order back to where they came from."""
    places = torch.arange(order.shape[1], device=order.device).expand_as(order)
    return _arranged(x, slice(None), torch.empty_like(order).scatter_(1, order, places))
