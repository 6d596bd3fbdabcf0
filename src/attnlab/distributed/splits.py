"""Who holds what: how tokens are dealt out, and heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from attnlab.arguments import Device, at_least, divides, is_number_of

Kind = Literal["contiguous", "zigzag"]


@dataclass(frozen=True)
class Split:
    """How the tokens of a sequence are dealt out among processes.

    "contiguous" cuts the sequence into one run for each process. Under a causal mask the last process then
    has most to do. "zigzag" cuts it into twice as many runs and gives process r the r-th from the front and
    the r-th from the back: of equal runs, everyone's two see 2·world + 1 runs of keys together.

    Args:
        n: tokens of the sequence. They need not divide evenly: runs differ by one token at most.
        world: processes.
        kind: "contiguous" or "zigzag".

    Raises:
        ValueError: a number is too small, or there is no such kind.

    References:
        Liu et al. 2023, section 3 (contiguous). Brandon et al. 2023, section 3 (the imbalance, and stripes
        against it). Llama Team 2024, section 3.3.2 (zigzag).

    >>> Split(8, 2, "zigzag").positions(0).tolist(), Split(8, 2).positions(1).tolist()
    ([0, 1, 6, 7], [4, 5, 6, 7])
    """

    n: int
    world: int
    kind: Kind = "contiguous"

    def __post_init__(self) -> None:
        at_least(0, n=self.n)
        at_least(1, world=self.world)
        if self.kind not in get_args(Kind):
            raise ValueError(f"kind must be one of {get_args(Kind)}, got {self.kind!r}")

    def runs(self, rank: int) -> list[tuple[int, int]]:
        """Return where the runs of a process start and stop, in the order in which it holds them.

        Args:
            rank: the process.

        Returns:
            (start, stop) of each run that has tokens.
        """
        is_number_of("process", self.world, rank=rank)
        pieces = self.world if self.kind == "contiguous" else 2 * self.world
        mine = (rank,) if self.kind == "contiguous" else (rank, pieces - 1 - rank)
        bounds = [(piece * self.n // pieces, (piece + 1) * self.n // pieces) for piece in mine]
        return [(start, stop) for start, stop in bounds if start < stop]

    def size(self, rank: int) -> int:
        """Count the tokens of a process."""
        return sum(stop - start for start, stop in self.runs(rank))

    def positions(self, rank: int, *, device: Device = None) -> Tensor:
        """Return where the tokens of a process stand in the sequence, (size,): `position_ids` of a layer."""
        runs = [torch.arange(start, stop, device=device) for start, stop in self.runs(rank)]
        return torch.cat(runs) if runs else torch.zeros(0, dtype=torch.long, device=device)

    def take(self, x: Tensor, rank: int, dim: int = -2) -> Tensor:
        """Take the tokens of a process out of a whole sequence.

        Args:
            x: (..., n, d), or with its n tokens along `dim`.
            rank: the process.
            dim: where the tokens lie.

        Returns:
            (..., size, d), a copy.

        Raises:
            ValueError: x has another number of tokens.
        """
        if x.shape[dim] != self.n:
            raise ValueError(f"x must have n = {self.n} tokens along dim {dim}, got {tuple(x.shape)}")
        return x.index_select(dim, self.positions(rank, device=x.device))

    def join(self, parts: Sequence[Tensor], dim: int = -2) -> Tensor:
        """Put the parts of all processes back into one sequence: the inverse of `take`.

        Args:
            parts: of each process, in order of rank, its tokens (..., size, d).
            dim: where the tokens lie.

        Returns:
            (..., n, d).

        >>> split = Split(7, 3, "zigzag")
        >>> x = torch.arange(7)
        >>> split.join([split.take(x, rank, dim=0) for rank in range(3)], dim=0).tolist()
        [0, 1, 2, 3, 4, 5, 6]
        """
        whole = torch.cat(list(parts), dim)
        order = torch.cat([self.positions(rank, device=whole.device) for rank in range(self.world)])
        return whole.index_select(dim, order.argsort())

    def hops(self, before: int, after: int) -> int:
        """Count how often keys must be passed on around the ring until nobody misses one.

        Args:
            before: how many earlier tokens a query sees.
            after: how many later ones.

        Returns:
            0 to world - 1, the same for every process: without a window, world - 1.
        """
        runs = [self.runs(rank) for rank in range(self.world)]
        return next(
            (
                hop
                for hop in reversed(range(self.world))  # without a window the first that is tried
                for rank, mine in enumerate(runs)
                for start, stop in mine
                for first, last in runs[(rank - hop) % self.world]
                if first < stop + after and last > start - before
            ),
            0,
        )


def heads_of(n_heads: int, n_kv_heads: int, world: int, rank: int) -> tuple[range, list[int]]:
    """Say which query heads a process has, and which key-value heads these read.

    Args:
        n_heads: query heads.
        n_kv_heads: key-value heads, a divisor of n_heads. With fewer of them than processes, several
            processes have the same one.
        world: processes, at most as many as query heads.
        rank: the process.

    Returns:
        The query heads, and the number of the key-value head that each of them reads.

    Raises:
        ValueError: n_kv_heads does not divide n_heads, or there are more processes than query heads.

    References:
        Shoeybi et al. 2019, section 3 (whole heads to each process).

    >>> [heads_of(6, 2, 3, rank) for rank in range(3)]
    [(range(0, 2), [0, 0]), (range(2, 4), [0, 1]), (range(4, 6), [1, 1])]
    """
    at_least(1, n_heads=n_heads, n_kv_heads=n_kv_heads, world=world)
    divides(n_heads, n_kv_heads=n_kv_heads)
    is_number_of("process", world, rank=rank)
    if world > n_heads:
        raise ValueError(
            f"{n_heads} heads can't be dealt out to {world} processes: each needs one of its own; "
            f"take {n_heads} processes at most, or split the tokens (ring_attention)"
        )
    heads = range(rank * n_heads // world, (rank + 1) * n_heads // world)
    return heads, [head * n_kv_heads // n_heads for head in heads]


def compacted(reads: Sequence[int]) -> tuple[list[int], bool]:
    """Leave out what is read twice, if what is left can be shared in equal groups.

    Args:
        reads: the key-value head that each query head reads, ascending.

    Returns:
        Key-value heads: each once and True if all are read equally often, otherwise `reads` and False.

    >>> compacted([0, 0, 1, 1]), compacted([0, 0, 1])
    (([0, 1], True), ([0, 0, 1], False))
    """
    once = sorted(set(reads))
    even = len({list(reads).count(one) for one in once}) <= 1
    return (once, True) if even else (list(reads), False)
