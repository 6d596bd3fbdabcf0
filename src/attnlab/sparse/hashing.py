"""Reformer's attention: tokens whose vectors point the same way are sorted next to each other."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from attnlab.arguments import at_least, of_keys
from attnlab.patterns.plan import Plan
from attnlab.patterns.tiles import HIDDEN, Rows, Tiles
from attnlab.precision import unit, without_autocast
from attnlab.sparse.flex import Engine, check_engine
from attnlab.sparse.inputs import along, check, outside_graphs
from attnlab.sparse.portions import Portion


@outside_graphs
def lsh(
    qk: Tensor,
    v: Tensor,
    *,
    n_hashes: int = 4,
    block_size: int = 64,
    seed: int = 0,
    buckets: Tensor | None = None,
    is_causal: bool = True,
    key_mask: Tensor | None = None,
    scale: float | None = None,
    engine: Engine = "auto",
) -> Tensor:
    """Attend to the tokens whose vectors hash alike, found by sorting: n log n instead of n².

    Queries are the vectors qk, keys the same vectors at length one. In each round of hashing the tokens are
    sorted by bucket, by position within a bucket; those that `key_mask` hides come last, by position too. The
    sorted row is cut into blocks, and every token sees its block and the block before. What this is, exactly:
    let N_ij be the number of rounds in which i sees j. Token i gets the mean of the values with weights
    proportional to

        N_ij exp(scale · q_i · k_j)    over j < i when causal, over j ≠ i otherwise,

    which is dense attention with the bias log N_ij. A token sees itself only if it sees no other. A key found
    in several rounds counts that often; the paper also describes dividing by N_ij.

    Runs under `torch.compile`, `torch.func.grad` and `torch.func.vmap` as `attend` does.

    Args:
        qk: queries and keys (..., n, d_k).
        v: values (..., n, d_v).
        n_hashes: rounds; more find more of the large weights.
        block_size: tokens a block.
        seed: number that fixes the random directions.
        buckets: (..., n_hashes, n) whole numbers to use in place of `lsh_buckets`.
        is_causal: hide later tokens.
        key_mask: (batch, n) or (batch, 1, n), True = may be attended to, as `masks.padding` makes it.
        scale: factor on q kᵀ; 1/sqrt(d_k) unless given.
        engine: "tiles" or "auto", which are the same here: the pairs are not known before the vectors are.

    Returns:
        Output (..., n, d_v); zeros for a query that sees no key.

    Raises:
        TypeError: key_mask is not boolean, or buckets are no whole numbers.
        ValueError: shapes do not fit, n_hashes or block_size is smaller than 1, or the engine is another.

    References:
        Kitaev et al. 2020, section 2.

    >>> qk = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 0.1], [0.1, 2.0]])
    >>> lsh(qk, torch.eye(4), block_size=2, buckets=torch.tensor([[0, 1, 0, 1]]))[2].tolist()
    [1.0, 0.0, 0.0, 0.0]
    """
    n = check(qk, qk, v)
    check_engine(engine, ("auto", "tiles"))
    at_least(1, n_hashes=n_hashes, block_size=block_size)
    if buckets is None:
        buckets = lsh_buckets(qk, n_hashes, -(-n // block_size), seed=seed)
    if buckets.shape[:-2] != qk.shape[:-2] or buckets.shape[-1] != n:
        raise ValueError(f"buckets must have shape (..., n_hashes, n) beside qk {tuple(qk.shape)}, "
                         f"got {tuple(buckets.shape)}")  # fmt: skip
    if buckets.is_floating_point() or buckets.is_complex() or buckets.dtype == torch.bool:
        raise TypeError(f"buckets must be whole numbers, got dtype {buckets.dtype}")
    visible = None if key_mask is None else of_keys(key_mask, qk.shape[:-2], n)  # (batch, 1, ..., n)
    if visible is not None:
        buckets = buckets.long().masked_fill(~visible[..., None, :], torch.iinfo(torch.long).max)
    orders = buckets.sort(stable=True, dim=-1).indices  # ties in the order of the sequence
    orders = orders.reshape(qk.shape[:-2].numel(), *buckets.shape[-2:])  # (heads, n_hashes, n)
    plan = _plan(n, min(block_size, n), _causal if is_causal else _both_ways) if n else None
    out, empty = along(plan, qk, unit(qk), v, key_mask, scale, orders)
    sees_itself_alone = empty if visible is None else empty & visible[..., None]
    return torch.where(sees_itself_alone, v, out)


@torch.no_grad()
def lsh_buckets(x: Tensor, n_hashes: int, n_buckets: int, *, seed: int) -> Tensor:
    """Hash vectors by direction: the bucket is the random direction to which a vector points most.

    Directions come in opposite pairs, r and -r. A vector is hashed twice and the bucket is the pair of
    answers: that takes about 2 sqrt(n_buckets) directions in place of n_buckets.

    Args:
        x: vectors (..., n, d); their lengths do not matter.
        n_hashes: how many hashes, each with directions of its own, the same for all leading dimensions.
        n_buckets: how many buckets are wanted; the number used is the square of an even number near it.
        seed: number that fixes the directions.

    Returns:
        Whole numbers (..., n_hashes, n).

    References:
        Andoni et al. 2015, section 3 (cross-polytope hash); Kitaev et al. 2020, section 2.

    >>> x = torch.tensor([[1.0, 2.0], [2.0, 4.0], [-1.0, -2.0]])
    >>> a, b, c = lsh_buckets(x, 1, 4, seed=0)[0].tolist()
    >>> a == b, a == c
    (True, False)
    """
    half = max(1, round(n_buckets**0.5 / 2))
    generator = torch.Generator().manual_seed(seed)
    with torch._C._DisableFuncTorch():  # drawn with a seed: `vmap` need not fear for it
        directions = torch.randn(2, n_hashes * half, x.shape[-1], generator=generator)
    directions = directions.to(x.device)
    with without_autocast(x):  # `_most` needs the bits of single precision
        first, second = (_most(x, side, n_hashes, half) for side in directions)
    return first * (2 * half) + second


def _most(x: Tensor, directions: Tensor, n_hashes: int, half: int) -> Tensor:
    """Return the largest of the products with the directions and their opposites, (..., n_hashes, n).

    Products are turned into whole numbers below 2^30, and the number of a direction is written into their
    last bits, so that one maximum finds both. Of two that differ in those alone the later direction wins.
    """
    bits = (2 * half - 1).bit_length()
    reach = directions.abs().sum(-1).amax()  # no product is larger, where no entry of x is above 1
    longest = x.abs().amax(-1, keepdim=True).clamp(min=torch.finfo(x.dtype).tiny)
    product = (directions * (2**30 / reach)) @ (x / longest).float().transpose(-2, -1)
    product = product.to(torch.int32).unflatten(-2, (n_hashes, half)) & (-1 << bits)
    names = torch.arange(0, 2 * half, 2, dtype=torch.int32, device=x.device)[:, None]
    return torch.maximum(product | names, -product | names + 1).amax(-2) & ((1 << bits) - 1)


def _plan(n: int, size: int, bias: Callable) -> Plan:
    """Let each block of the sorted row see itself and the one before."""
    whole, remainder = divmod(n, size)
    tiles = [Tiles(Rows(0, size), Rows(0, size), 1, bias, fresh=True)]
    if whole > 1:
        tiles.append(Tiles(Rows(size, size, size), Rows(0, 2 * size, size), whole - 1, bias, fresh=True))
    if remainder:
        start = whole * size
        keys = Rows(start - size, size + remainder)
        tiles.append(Tiles(Rows(start, remainder), keys, 1, bias, fresh=True))
    return Plan(tuple(tiles), tuple(tiles), blank_queries=False, blank_keys=True, may_be_empty=True)


def _distance(portion: Portion) -> Tensor:
    """Return how far each key lies behind each query in the sequence, (heads, count, rows, columns)."""
    place = portion.order[..., None].float()  # exact up to 2^24 tokens
    queries = portion.tiles.queries.view(place, portion.first, portion.count)
    keys = portion.tiles.keys.view(place, portion.first, portion.count)
    return queries - keys.transpose(2, 3)


def _causal(portion: Portion) -> Tensor:
    """Hide the token itself and the future: the distance is below 1."""
    return _distance(portion).sub_(1).clamp_(-1, 0).mul_(-HIDDEN)


def _both_ways(portion: Portion) -> Tensor:
    """Hide the token itself."""
    return _distance(portion).abs_().sub_(1).clamp_(-1, 0).mul_(-HIDDEN)
