"""The one loop under all patterns: attention as a list of tiles, merged by their log-sum-exp.

A pattern is a list of tiles. A tile is a rectangle of the score matrix: some queries, some keys, and a bias that
hides single pairs. What a query finds in one tile is a pair (o, lse): the mean of the values there, and the
logarithm of the sum of the exponentials of its scores there. Two such pairs merge exactly:

    lse = log(exp(lse1) + exp(lse2)),   o = exp(lse1 - lse) o1 + exp(lse2 - lse) o2

so the tiles may come in any order and no row of weights is ever whole. The backward pass keeps only the outputs
and the log-sum-exps, and computes each tile's weights again: memory stays linear in both directions.
Logarithms are to base 2 inside, because `exp2` has no slow path for the -1e30 of hidden pairs.

References: Milakov and Gimelshein 2018, section 3 (merging); Dao et al. 2022, algorithms 1 and 4 (backward).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

HIDDEN = -1e30
"""The score of a pair that may not attend: finite, so that a row without keys is no NaN on its way."""

LOG2E = math.log2(math.e)


@dataclass(frozen=True)
class Rows:
    """Rows of a sequence, tile by tile: row i of tile t is token start + t * step + i * spread."""

    start: int
    size: int
    step: int = 0
    spread: int = 1

    def view(self, x: Tensor, first: int, count: int) -> Tensor:
        """Show tiles first..first+count-1 of x (heads, n, d) as (heads, count, size, d), without copying."""
        heads, row, column = x.stride()
        start = x.storage_offset() + (self.start + first * self.step) * row
        shape = (x.shape[0], count, self.size, x.shape[2])
        return x.as_strided(shape, (heads, self.step * row, self.spread * row, column), start)

    def add(self, x: Tensor, tiles: Tensor, first: int, factor: float = 1.0) -> None:
        """Add factor * tiles (heads, count, size, d) to where `view` would show them; tiles may overlap."""
        count = tiles.shape[1]
        overlap = self.spread == 1 and count > 1 and self.step < self.size
        piece = self.step if overlap else self.size  # within one piece no token comes twice
        for at in range(0, self.size, piece):
            part = tiles[:, :, at : at + piece]
            rows = Rows(self.start + at, part.shape[2], self.step, self.spread)
            rows.view(x, first, count).add_(part, alpha=factor)


Bias = Tensor | Callable[[int, int, Tensor | None], Tensor]


@dataclass(frozen=True)
class Tiles:
    """`count` equal rectangles of the score matrix.

    `bias` is 0 for a pair that may attend and `HIDDEN` for one that may not: (1 or count, rows, columns), or a
    function of the first tile, the number of tiles and the layer's order (heads, n) or None, which makes
    (heads or 1, tiles or 1, rows, columns). `index` (count, columns) names the keys of each tile one by one,
    where they follow no rule; `keys` is not looked at then.
    """

    queries: Rows
    keys: Rows
    count: int = 1
    bias: Bias | None = None
    index: Tensor | None = None

    @property
    def columns(self) -> int:
        """Return the number of keys of one tile."""
        return self.keys.size if self.index is None else self.index.shape[1]

    def take_keys(self, x: Tensor, first: int, count: int) -> Tensor:
        """Return the keys' rows of x (heads, n, d) as (heads * count, columns, d)."""
        if self.index is None:
            return self.keys.view(x, first, count).flatten(0, 1)
        rows = self.index[first : first + count].flatten()
        return x.index_select(1, rows).view(-1, self.columns, x.shape[2])

    def add_keys(self, x: Tensor, tiles: Tensor, first: int, count: int, factor: float, fresh: bool) -> None:
        """Add factor * tiles (heads * count, columns, d) to the keys' rows of x (heads, n, d), or store them."""
        if fresh:
            torch.mul(
                tiles.view(x.shape[0], count, *tiles.shape[1:]), factor, out=self.keys.view(x, first, count)
            )
        elif self.index is None:
            self.keys.add(x, tiles.view(x.shape[0], count, *tiles.shape[1:]), first, factor)
        else:
            rows = self.index[first : first + count].flatten()
            x.index_add_(1, rows, tiles.view(x.shape[0], -1, x.shape[2]), alpha=factor)


@dataclass(frozen=True)
class Layer:
    """Tiles in which a query appears at most once. With `order` (heads, n) they lie on permuted tokens."""

    tiles: tuple[Tiles, ...]
    order: Tensor | None = None


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    layers: list[Layer],
    *,
    backward: list[Layer] | None = None,
    key_bias: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Attend along the tiles of all layers together.

    Args:
        q: queries (heads, n, d_k).
        k: keys (heads, n, d_k).
        v: values (heads, n, d_v).
        layers: the first must hold every query exactly once, and so must any with an order. A pair that is
            visible in two tiles counts twice.
        backward: the same pairs in other tiles, for the backward pass. The first layer must hold every key
            exactly once: then their gradients are stored and never added up.
        key_bias: (heads, n), 0 for a key that may be attended to and `HIDDEN` for one that may not.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.

    Returns:
        Output (heads, n, d_v); zeros where a query sees no key.
    """
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    key_bias = None if key_bias is None else key_bias[..., None]
    return _Attend.apply(q, k, v, key_bias, layers, backward, scale)


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, key_bias, layers, backward, scale):
        heads, n, d_v = *q.shape[:2], v.shape[-1]
        exact = _exact(q)
        out = torch.empty(heads, n, d_v, device=q.device, dtype=exact)
        lse = torch.empty(heads, n, 1, device=q.device, dtype=exact)
        for layer in layers:
            for some, order, portion in _portions(layer, heads, q.is_cuda):
                q_, k_, v_, hidden = (_arranged(x, some, order) for x in (q, k, v, key_bias))
                out_, lse_ = (x[some] if order is None else torch.empty_like(x[some]) for x in (out, lse))
                fresh = layer is layers[0] or order is not None
                for tiles, first, count in _steps(portion, q_.shape[0], q.is_cuda):
                    rows, columns = tiles.queries, tiles.take_keys
                    s = _scores(
                        tiles,
                        rows.view(q_, first, count).flatten(0, 1),
                        columns(k_, first, count),
                        hidden,
                        first,
                        count,
                        order,
                        scale,
                    )
                    top = s.amax(-1, keepdim=True)
                    weights = s.sub_(top).exp2_()
                    total = weights.sum(-1, keepdim=True)
                    mean = torch.bmm(weights, columns(v_, first, count).to(exact))
                    found = (mean, total, top, rows.view(out_, first, count), rows.view(lse_, first, count))
                    _write(*found) if fresh else _merge(*found)
                if order is not None:
                    _put(out, lse, out_, lse_, some, order, fresh=layer is layers[0])
        if key_bias is not None:
            # A query that saw hidden keys only holds a mean of what it may not see. Its weights in the backward
            # pass become exp2(s - inf) = 0.
            empty = lse < HIDDEN / 2
            out.masked_fill_(empty, 0.0)
            lse.masked_fill_(empty, math.inf)
        ctx.save_for_backward(q, k, v, out, lse, key_bias)
        ctx.layers, ctx.backward_layers, ctx.scale = layers, backward, scale
        return out.to(v.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        q, k, v, out, lse, key_bias = ctx.saved_tensors
        exact = lse.dtype
        layers = ctx.backward_layers or ctx.layers
        make = torch.empty if ctx.backward_layers else torch.zeros
        sums = [torch.zeros(q.shape, device=q.device, dtype=exact)]
        sums += [make(x.shape, device=q.device, dtype=exact) for x in (k, v)]
        # dS = P * (dP - rowsum(dO * O)) is the Jacobian of the softmax, without its matrix.
        inner = torch.stack([(g * o).sum(-1, keepdim=True) for g, o in zip(grad, out, strict=True)])
        for layer in layers:
            fresh = layer is layers[0] and ctx.backward_layers is not None
            for some, order, portion in _portions(layer, q.shape[0], q.is_cuda):
                given = (q, k, v, key_bias, grad, inner, lse)
                q_, k_, v_, hidden, grad_, inner_, lse_ = (_arranged(x, some, order) for x in given)
                dq, dk, dv = (x[some] if order is None else torch.zeros_like(x[some]) for x in sums)
                for tiles, first, count in _steps(portion, q_.shape[0], q.is_cuda):
                    rows, columns = tiles.queries, tiles.take_keys
                    qs, g, row, norm = (
                        rows.view(x, first, count).flatten(0, 1).to(exact) for x in (q_, grad_, inner_, lse_)
                    )
                    ks, vs = (columns(x, first, count).to(exact) for x in (k_, v_))
                    p = _scores(tiles, qs, ks, hidden, first, count, order, ctx.scale, norm).exp2_()
                    tiles.add_keys(dv, torch.bmm(p.transpose(1, 2), g), first, count, 1.0, fresh)
                    ds = torch.baddbmm(row.expand_as(p), g, vs.transpose(1, 2), beta=-1).mul_(p)
                    rows.add(dq, torch.bmm(ds, ks).view(dq.shape[0], count, *qs.shape[1:]), first, ctx.scale)
                    tiles.add_keys(dk, torch.bmm(ds.transpose(1, 2), qs), first, count, ctx.scale, fresh)
                if order is not None:
                    for whole, part in zip(sums, (dq, dk, dv), strict=True):
                        whole[some].scatter_add_(1, order[..., None].expand_as(part), part)
        dq, dk, dv = sums
        return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype), None, None, None, None


def _exact(x: Tensor) -> torch.dtype:
    """Name the type to compute in: half precision is too coarse to add up many tiles."""
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _portions(layer: Layer, heads: int, on_gpu: bool) -> Iterator[tuple[slice, Tensor | None, tuple]]:
    """Yield (heads, their order, tiles): one head at a time where the tiles alone fill a batch, else all."""
    for tiles in [layer.tiles] if layer.order is not None else [(tiles,) for tiles in layer.tiles]:
        together = heads if on_gpu or (layer.order is None and tiles[0].count == 1) else 1
        for at in range(0, heads, together):
            some = slice(at, at + together)
            yield some, None if layer.order is None else layer.order[some], tiles


def _steps(portion: tuple[Tiles, ...], heads: int, on_gpu: bool) -> Iterator[tuple[Tiles, int, int]]:
    """Yield (tiles, first, count): as many tiles at once as keep the scores in the processor's cache."""
    most = 2**26 if on_gpu else 2**18
    for tiles in portion:
        together = max(1, most // (heads * tiles.queries.size * tiles.columns))
        for first in range(0, tiles.count, together):
            yield tiles, first, min(together, tiles.count - first)


def _arranged(x: Tensor | None, some: slice, order: Tensor | None) -> Tensor | None:
    """Return some heads of x (heads, n, d), their tokens in the layer's order."""
    if x is None or order is None:
        return None if x is None else x[some]
    if order.shape[0] == 1:
        return x[some].index_select(1, order[0])
    return x[some].gather(1, order[..., None].expand(-1, -1, x.shape[2]))


def _scores(tiles, q, k, key_bias, first, count, order, scale, norm=None) -> Tensor:
    """Return the biased scores of some tiles in bits, minus their rows' norm: (heads * count, rows, columns)."""
    exact = _exact(q)
    q, k = q.to(exact), k.to(exact)
    shape = (q.shape[0], q.shape[1], k.shape[1])
    bias = tiles.bias
    if callable(bias):
        bias = bias(first, count, order)
    elif bias is not None:
        bias = bias[None, first : first + count] if bias.shape[0] > 1 else bias[None]
    if bias is not None:
        bias = bias.expand(shape[0] // count, count, *shape[1:]).reshape(shape)
    if norm is not None:
        bias = -norm.expand(shape) if bias is None else bias - norm
    if bias is None:
        s = torch.bmm(q, k.transpose(1, 2)).mul_(scale * LOG2E)
    else:
        s = torch.baddbmm(bias, q, k.transpose(1, 2), alpha=scale * LOG2E)
    if key_bias is not None:
        s += tiles.take_keys(key_bias, first, count).transpose(1, 2)
    return s


def _write(mean: Tensor, total: Tensor, top: Tensor, out: Tensor, lse: Tensor) -> None:
    """Store what a tile found: the first of its queries."""
    torch.div(mean.view(out.shape), total.view(lse.shape), out=out)
    torch.add(top.view(lse.shape), total.log2_().view(lse.shape), out=lse)


def _merge(mean: Tensor, total: Tensor, top: Tensor, out: Tensor, lse: Tensor) -> None:
    """Join what a tile found with what earlier tiles found for the same queries."""
    part = (top + total.log2()).view(lse.shape)
    both = torch.logaddexp2(lse, part)
    out.mul_((lse - both).exp2_()).addcmul_(
        mean.view(out.shape), (part - both).exp2_().div_(total.view(lse.shape))
    )
    lse.copy_(both)


def _put(out, lse, part_out, part_lse, some, order, *, fresh) -> None:
    """Bring an ordered layer's results back to the tokens' places and join them with the earlier ones."""
    back = order[..., None]
    part_out = torch.empty_like(part_out).scatter_(1, back.expand_as(part_out), part_out)
    part_lse = torch.empty_like(part_lse).scatter_(1, back, part_lse)
    if fresh:
        out[some], lse[some] = part_out, part_lse
    else:
        _merge(part_out, torch.ones_like(part_lse), part_lse, out[some], lse[some])
