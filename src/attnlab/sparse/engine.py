"""The one loop under all patterns: attention over a plan of tiles, merged by their log-sum-exp.

A plan is a list of tiles: rectangles of the score matrix. A query finds three things in a tile: the largest
score `row_max`, the sum of the exponentials `row_sum` = sum exp(score - row_max), and the mean of the values.
Two finds merge:

    row_max = max(row_max1, row_max2)
    share1, share2 = row_sum1 exp(row_max1 - row_max), row_sum2 exp(row_max2 - row_max)
    row_sum = share1 + share2
    mean = (share1 mean1 + share2 mean2) / row_sum

so the tiles may come in any order, and no row of weights is ever whole. The backward pass keeps only the mean
and the two running numbers of each query, and computes each tile's weights again: memory stays linear in both
directions. All running numbers are float32 at least, under autocast too.

References: Milakov and Gimelshein 2018, section 3 (merging); Dao et al. 2022, algorithms 1 and 4 (backward).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

from attnlab.arguments import no_second_derivative
from attnlab.patterns.plan import Plan
from attnlab.patterns.tiles import HIDDEN, Tiles
from attnlab.precision import without_autocast, working_dtype
from attnlab.sparse.portions import Portion, shared_out

LOG2E = math.log2(math.e)
FUSED = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
LARGE = 128.0
"""A sum's logarithm beyond this is rounded to 1e-5 or worse, and the weights exp(score - log) with it."""


def run(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    plan: Plan | None,
    *,
    key_bias: Tensor | None = None,
    orders: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Attend along the tiles of a plan.

    Args:
        q: queries (heads, n, d_k).
        k: keys (heads, n, d_k).
        v: values (heads, n, d_v).
        plan: a pair that is visible in two of its tiles counts twice. None for an empty sequence.
        key_bias: (heads, n), 0 for a key that may be attended to and `HIDDEN` for one that may not.
        orders: (heads, rounds, n), permutations of the tokens. The plan is run once for each round, on the
            tokens in that order; a pair counts as often as it is seen. All tiles must then be fresh.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.

    Returns:
        Output (heads, n, d_v), and which queries see no key, (heads, n, 1): their output is zeros. The output
        can be differentiated once.
    """
    if q.shape[:-1].numel() == 0:  # an empty output, whose gradients are empty too
        out = v + 0 * (q.sum(-1, keepdim=True) + k.sum(-1, keepdim=True))
        return out.to(v.dtype), torch.zeros(*q.shape[:-1], 1, dtype=torch.bool, device=q.device)
    if isinstance(q, FakeTensor):
        plan = plan.with_tensors(q.fake_mode.from_tensor)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    key_bias = None if key_bias is None else key_bias[..., None]
    mean, row_max, _ = _Run.apply(q, k, v, key_bias, orders, plan, scale)
    return mean.to(v.dtype), row_max < HIDDEN / 2


class _Run(torch.autograd.Function):
    """Attention over a plan. Both directions are functions of their own, so that both can be mapped."""

    @staticmethod
    def forward(q, k, v, key_bias, orders, plan, scale):
        with without_autocast(q):  # the dtypes are chosen here
            inputs = q, k, v, key_bias, orders, plan, scale
            mean, row_max, row_sum = _forward(*inputs, find := _way(q, k, v))
            empty = row_max < HIDDEN / 2
            if find is _find_fused and ((row_max.abs() > LARGE) & ~empty).any():
                mean, row_max, row_sum = _forward(*inputs, _find)
            if plan.may_be_empty or key_bias is not None:
                # A query that saw hidden keys only holds a mean of what it may not see; nothing flows back.
                mean.masked_fill_(empty, 0.0)
                row_max.clamp_(min=HIDDEN)  # of a query in no tile it is lower
                row_sum.masked_fill_(empty, math.inf)
        return mean, row_max, row_sum

    @staticmethod
    def setup_context(ctx, inputs, output):
        *tensors, ctx.plan, ctx.scale = inputs
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*tensors, *output)

    @staticmethod
    def backward(ctx, grad, *_):
        grads = _PullBack.apply(grad, *ctx.saved_tensors, ctx.plan, ctx.scale)
        return *grads, None, None, None, None

    @staticmethod
    def vmap(info, in_dims, *inputs):
        return _as_heads(_Run, info.batch_size, in_dims, inputs)


class _PullBack(torch.autograd.Function):
    """The gradients of `_Run`, which have no derivative."""

    @staticmethod
    def forward(grad, q, k, v, key_bias, orders, mean, row_max, row_sum, plan, scale):
        with without_autocast(q):
            return _backward(grad, q, k, v, key_bias, orders, mean, row_max, row_sum, plan, scale)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, *_):
        with torch.enable_grad():  # only a second derivative comes here
            no_second_derivative(
                "sparse attention", "attention(q, k, v, mask=pattern.dense(n), need_weights=True)"
            )

    @staticmethod
    def vmap(info, in_dims, *inputs):
        return _as_heads(_PullBack, info.batch_size, in_dims, inputs)


def _as_heads(function, size: int, in_dims, inputs):
    """Apply a function of (heads, ...) to a batch of inputs: what is mapped over becomes more heads."""

    def folded(x, dim):
        if not isinstance(x, Tensor):
            return x
        x = x.expand(size, *x.shape) if dim is None else x.movedim(dim, 0)
        return x.flatten(0, 1)

    out = function.apply(*(folded(x, dim) for x, dim in zip(inputs, in_dims, strict=True)))
    return tuple(x.unflatten(0, (size, -1)) for x in out), (0,) * len(out)


def _way(q: Tensor, k: Tensor, v: Tensor) -> Callable:
    """Choose torch's fused kernel within tiles, where there is one that takes these inputs.

    It is not trusted where scores are so large that its answer has lost digits.
    """
    rows = all(x.stride(-1) == 1 for x in (q, k, v))  # the kernel reads numbers that lie side by side
    alike = q.dtype == k.dtype == v.dtype == working_dtype(q.dtype) and q.shape[-1] == v.shape[-1]
    return _find_fused if q.is_cpu and rows and alike and not isinstance(q, FakeTensor) else _find


def _forward(q, k, v, key_bias, orders, plan, scale, find) -> tuple[Tensor, Tensor, Tensor]:
    """Return of each query the mean of the values, the largest score and the sum of exponentials."""
    like = {"device": q.device, "dtype": working_dtype(q.dtype)}
    running = [torch.empty(*q.shape[:2], d, **like) for d in (v.shape[2], 1, 1)]
    if plan.blank_queries:
        for x, start in zip(running, (0.0, 2 * HIDDEN, 0.0), strict=True):
            x.fill_(start)
    for turn, order in enumerate([None] if orders is None else orders.unbind(1)):
        for heads, portions in shared_out(plan.forward, len(q), _at_once(plan.forward, q, find), order):
            head_order = portions[0].order
            inputs = [_arranged(x, heads, head_order) for x in (q, k, v, key_bias)]
            targets = [x[heads] if head_order is None else torch.empty_like(x[heads]) for x in running]
            for portion in portions:
                tiles, span = portion.tiles, (portion.first, portion.count)
                target_rows = [tiles.queries.view(x, *span) for x in targets]
                (_store if tiles.fresh else _merge)(*find(portion, *inputs, scale), *target_rows)
                for x, part in zip(targets, target_rows, strict=True):
                    tiles.queries.put(x, part, *span)
            if head_order is not None:
                found = (_restored(x, head_order) for x in targets)
                (_merge if turn else _store)(*found, *(x[heads] for x in running))
    return tuple(running)


def _backward(grad, q, k, v, key_bias, orders, mean, row_max, row_sum, plan, scale) -> tuple[Tensor, ...]:
    """Return the gradients of q, k and v."""
    exact, stored = row_max.dtype, orders is None and not plan.blank_keys
    make = torch.empty_like if stored else torch.zeros_like
    sums = torch.zeros_like(q, dtype=exact), make(k, dtype=exact), make(v, dtype=exact)
    # dS = P * (dP - rowsum(dO * O)) is the Jacobian of the softmax, without its matrix. P is
    # exp(S - row_max) / row_sum; the division is done on dO where that is smaller.
    inner = torch.stack([(g * o).sum(-1, keepdim=True) for g, o in zip(grad, mean, strict=True)])
    for order in [None] if orders is None else orders.unbind(1):
        for heads, portions in shared_out(plan.backward, len(q), _at_once(plan.backward, q, _find), order):
            head_order = portions[0].order
            inputs = (q, k, v, key_bias, grad, inner, row_max, row_sum)
            q_, k_, v_, key_bias_, *of_queries = (_arranged(x, heads, head_order) for x in inputs)
            dq, dk, dv = (x[heads] if head_order is None else torch.zeros_like(x[heads]) for x in sums)
            for portion in portions:
                rows, columns, first = portion.tiles.queries, portion.tiles.keys, portion.first
                fresh = portion.tiles.fresh and head_order is None
                q_rows, grad_rows, inner_rows, max_rows, sum_rows = (
                    portion.queries(x).to(exact) for x in (q_, *of_queries)
                )
                k_rows, v_rows = portion.keys(k_).to(exact) * scale, portion.keys(v_).to(exact)
                p = _scores(portion, q_rows, k_rows, key_bias_).sub_(max_rows).mul_(LOG2E).exp2_()
                if p.shape[2] < grad_rows.shape[2]:
                    p.div_(sum_rows)
                else:
                    grad_rows, inner_rows = grad_rows / sum_rows, inner_rows / sum_rows
                columns.add(dv, torch.bmm(p.transpose(1, 2), grad_rows), first, 1.0, fresh)
                ds = torch.bmm(grad_rows, v_rows.transpose(1, 2)).sub_(inner_rows).mul_(p)
                rows.add(dq, torch.bmm(ds, k_rows), first, 1.0, False)
                columns.add(dk, torch.bmm(ds.transpose(1, 2), q_rows), first, scale, fresh)
            if head_order is not None:
                for whole, part in zip(sums, (dq, dk, dv), strict=True):
                    whole[heads].add_(_restored(part, head_order))
    return tuple(d.to(x.dtype) for d, x in zip(sums, (q, k, v), strict=True))


def _at_once(tiles: Sequence[Tiles], x: Tensor, find: Callable) -> int:
    """Say how many scores to compute at once: where they or their bias are written down, a cache's fill."""
    if x.is_cuda:
        return 2**26
    written = find is _find or any(callable(one.bias) for one in tiles)
    return 2**18 if written else 2**22


def _find(portion: Portion, q, k, v, key_bias, scale) -> tuple[Tensor, Tensor, Tensor]:
    """Attend within tiles in plain tensor code: mean of the values, largest score, sum of exponentials."""
    exact = working_dtype(q.dtype)
    s = _scores(portion, portion.queries(q).to(exact) * scale, portion.keys(k).to(exact), key_bias)
    row_max = s.amax(-1, keepdim=True)
    # exp2 after a factor, because exp takes twenty times as long on hidden scores.
    weights = s.sub_(row_max).mul_(LOG2E).exp2_()
    row_sum = weights.sum(-1, keepdim=True)
    mean = torch.bmm(weights, portion.keys(v).to(exact)).div_(row_sum)
    return tuple(x.unflatten(0, (-1, portion.count)) for x in (mean, row_max, row_sum))


def _find_fused(portion: Portion, q, k, v, key_bias, scale) -> tuple[Tensor, Tensor, Tensor]:
    """Attend within tiles by the kernel under `F.scaled_dot_product_attention`, which writes no scores down.

    Of a query's scores it returns the log of the sum of their exponentials, row_max + log row_sum in one.
    """
    tiles, span = portion.tiles, (portion.first, portion.count)
    q, k, v = tiles.queries.view(q, *span), tiles.keys.view(k, *span), tiles.keys.view(v, *span)
    bias = portion.bias()
    if key_bias is not None:
        hidden = tiles.keys.view(key_bias, *span).transpose(2, 3)
        bias = hidden if bias is None else bias + hidden
    if bias is not None:
        bias = bias.to(q.dtype).expand(*q.shape[:3], k.shape[2])
    mean, norm = FUSED(q, k, v, attn_mask=bias, scale=scale)
    return mean, norm[..., None], torch.ones_like(norm)[..., None]


def _scores(portion: Portion, q: Tensor, k: Tensor, key_bias: Tensor | None) -> Tensor:
    """Return biased scores (heads * count, rows, columns)."""
    s = torch.bmm(q, k.transpose(1, 2))
    bias = portion.bias()
    if bias is not None:  # added in place: baddbmm would spread it out first
        s.unflatten(0, (-1, portion.count)).add_(bias)
    if key_bias is not None:
        s += portion.keys(key_bias).transpose(1, 2)
    return s


def _store(mean, row_max, row_sum, mean_before, max_before, sum_before) -> None:
    """Write down what a tile found: the first that its queries see."""
    mean_before.copy_(mean)
    max_before.copy_(row_max)
    sum_before.copy_(row_sum)


def _merge(mean, row_max, row_sum, mean_before, max_before, sum_before) -> None:
    """Join what a tile found with what its queries found before: the online softmax."""
    highest = torch.maximum(max_before, row_max)
    before, now = sum_before * (max_before - highest).exp_(), row_sum * (row_max - highest).exp_()
    torch.add(before, now, out=sum_before)
    mean_before.mul_(before.div_(sum_before)).addcmul_(mean, now.div_(sum_before))
    max_before.copy_(highest)


def _arranged(x: Tensor | None, heads: slice, order: Tensor | None) -> Tensor | None:
    """Return these heads of x (heads, n, d), their tokens in this order."""
    if x is None or order is None:
        return None if x is None else x[heads]
    if order.shape[0] == 1:
        return x[heads].index_select(1, order[0])
    return x[heads].gather(1, order[..., None].expand(-1, -1, x.shape[2]))


def _restored(x: Tensor, order: Tensor) -> Tensor:
    """Put rows that lie in an order back to where they came from."""
    positions = torch.arange(order.shape[1], device=order.device).expand_as(order)
    return _arranged(x, slice(None), torch.empty_like(order).scatter_(1, order, positions))
