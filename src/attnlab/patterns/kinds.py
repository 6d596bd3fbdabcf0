"""The patterns in use. Each is a rule for a pair of tokens, and tiles that hold all pairs it allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import torch
from torch import Tensor

from attnlab.arguments import Device, at_least
from attnlab.patterns.algebra import ALL, Pattern, Term
from attnlab.patterns.plan import Sees
from attnlab.patterns.tiles import Listed, Rows, Tiles

WIDE = 2048
"""Most keys of a tile whose queries see all."""


class Leaf(Pattern):
    """A pattern with tiles of its own."""

    def terms(self) -> tuple[Term, ...]:
        """Write the pattern as a union of terms."""
        return (Term(leaves=(self,)),)

    def period(self, n: int) -> int | None:
        """Return p such that the pair (i + p, j + p) is seen where (i, j) is; None if nothing repeats."""
        return None

    def cover(self, n: int, rows: int, device: Device) -> list[Tiles]:
        """Return tiles of about so many rows, without bias, that hold all pairs of the pattern."""
        raise NotImplementedError


class Named(Pattern):
    """A pattern that is made of others."""

    @property
    def meaning(self) -> Pattern:
        """The same, written out."""
        raise NotImplementedError

    def terms(self) -> tuple[Term, ...]:
        """Write the pattern as a union of terms."""
        return self.meaning.terms()

    def sees(self, n: int, device: Device = None) -> Sees:
        """Return the rule, as `Pattern.sees`."""
        return self.meaning.sees(n, device)


@dataclass(frozen=True)
class Window(Pattern):
    """The neighbours: `before` tokens back, itself, and `after` tokens ahead.

    Args:
        before: how many earlier tokens are visible, at least 0.
        after: how many later tokens are visible; as many as `before` unless given. 0 makes it causal.

    Raises:
        ValueError: a width is negative.

    References:
        Beltagy et al. 2020, section 3.1.

    >>> Window(1).dense(4).int().tolist()
    [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]
    """

    before: int
    after: int | None = None

    def __post_init__(self) -> None:
        if self.after is None:
            object.__setattr__(self, "after", self.before)
        at_least(0, before=self.before, after=self.after)

    def terms(self) -> tuple[Term, ...]:
        """Write the pattern as a union of terms."""
        return (Term(self.before, self.after),)

    def sees(self, n: int, device: Device = None) -> Sees:
        """Return the rule, as `Pattern.sees`."""
        return Term(self.before, self.after).sees(n, device)


class Causal(Window):
    """Itself and all tokens before.

    References:
        Vaswani et al. 2017, section 3.2.3.

    >>> Causal().dense(3).int().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """

    def __init__(self) -> None:
        super().__init__(ALL, 0)

    def __repr__(self) -> str:
        return "Causal()"


class Everything(Window):
    """All tokens.

    >>> Everything().dense(2).int().tolist()
    [[1, 1], [1, 1]]
    """

    def __init__(self) -> None:
        super().__init__(ALL, ALL)

    def __repr__(self) -> str:
        return "Everything()"


@dataclass(frozen=True)
class Every(Leaf):
    """Every `stride`-th token, counted from the query in both directions.

    Together with a window it is a dilated window: `Window(6) & Every(3)`. Tokens that see one another share
    their place modulo `stride`, so they split into `stride` small sequences in which attention is dense.

    Args:
        stride: step between the tokens, at least 1.

    Raises:
        ValueError: the stride is smaller than 1.

    References:
        Child et al. 2019, section 4.3; Beltagy et al. 2020, section 3.1 (dilated).

    >>> Every(2).dense(4)[3].int().tolist()
    [0, 1, 0, 1]
    """

    stride: int

    def __post_init__(self) -> None:
        at_least(1, stride=self.stride)

    def period(self, n: int) -> int:
        """Return 1: only the distance counts."""
        return 1

    def sees(self, n: int, device: Device = None) -> Sees:
        """Return the rule, as `Pattern.sees`."""
        return lambda i, j: (j - i) % self.stride == 0

    def cover(self, n: int, rows: int, device: Device) -> list[Tiles]:
        """Return the small sequences, as many at once as have one length."""
        stride = min(self.stride, n)
        length, longer = divmod(n, stride)  # `longer` of them hold one token more
        return [
            Tiles(
                Rows(start + top * stride, min(rows, size - top), 1, stride),
                Rows(start, size, 1, stride),
                count,
            )
            for start, size, count in ((0, length + 1, longer), (longer, length, stride - longer))
            if count
            for top in range(0, size, rows)
        ]


@dataclass(frozen=True)
class Blocks(Leaf):
    """The token's own block: the sequence is cut into blocks of `stride` tokens.

    Args:
        stride: tokens a block, at least 1; the last block may be shorter.

    Raises:
        ValueError: the stride is smaller than 1.

    >>> Blocks(2).dense(3).int().tolist()
    [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    """

    stride: int

    def __post_init__(self) -> None:
        at_least(1, stride=self.stride)

    def period(self, n: int) -> int:
        """Return the length of a block."""
        return self.stride

    def sees(self, n: int, device: Device = None) -> Sees:
        """Return the rule, as `Pattern.sees`."""
        return lambda i, j: i // self.stride == j // self.stride

    def cover(self, n: int, rows: int, device: Device) -> list[Tiles]:
        """Return the whole blocks and the last one, in strips of rows."""
        stride = min(self.stride, n)
        whole, last = divmod(n, stride)
        return [
            Tiles(Rows(start + top, min(rows, size - top), stride), Rows(start, size, stride), count)
            for start, size, count in ((0, stride, whole), (whole * stride, last, 1))
            for top in range(0, size, rows)
        ]


@dataclass(frozen=True)
class Summaries(Leaf):
    """The last tokens of every block of `stride` tokens.

    Args:
        stride: tokens a block, at least 1.
        summary: how many tokens at the end of each block all may attend to.

    Raises:
        ValueError: the stride is smaller than 1, or `summary` does not lie between 0 and the stride.

    >>> Summaries(2).dense(5)[0].int().tolist()
    [0, 1, 0, 1, 0]
    """

    stride: int
    summary: int = 1

    def __post_init__(self) -> None:
        at_least(1, stride=self.stride)
        if not 0 <= self.summary <= self.stride:
            raise ValueError(f"summary must lie between 0 and stride = {self.stride}, got {self.summary}")

    def period(self, n: int) -> int:
        """Return the length of a block."""
        return self.stride

    def sees(self, n: int, device: Device = None) -> Sees:
        """Return the rule, as `Pattern.sees`."""
        return lambda i, j: j % self.stride >= self.stride - self.summary

    def cover(self, n: int, rows: int, device: Device) -> list[Tiles]:
        """Return strips of rows against the tokens at the ends."""
        place = torch.arange(n, device=device)
        return _columns(place[place % self.stride >= self.stride - self.summary], n, rows)


@dataclass(frozen=True)
class _Positions(Leaf):
    """Some tokens of the sequence, by position."""

    positions: Sequence[int] | Tensor

    def __post_init__(self) -> None:
        at = torch.as_tensor(self.positions)
        at = at.long() if at.numel() == 0 else at
        if at.dim() != 1 or at.is_floating_point() or at.dtype == torch.bool:
            got = f"{tuple(at.shape)} of dtype {at.dtype}"
            raise ValueError(f"positions of global tokens must be a list of whole numbers, got {got}")
        object.__setattr__(self, "positions", tuple(sorted(set(at.tolist()))))
        if self.positions and self.positions[0] < 0:
            raise ValueError(f"positions of global tokens must not be negative, got {list(self.positions)}")

    def among(self, n: int, device: Device) -> Tensor:
        """Say of every token whether it is one of them, (n,)."""
        if self.positions and self.positions[-1] >= n:
            got = list(self.positions)
            raise ValueError(f"positions of global tokens must lie between 0 and n - 1 = {n - 1}, got {got}")
        among = torch.zeros(n, dtype=torch.bool, device=device)
        among[list(self.positions)] = True
        return among

    def table(self, device: Device) -> Tensor:
        return torch.tensor(self.positions, dtype=torch.long, device=device)


class SeenByAll(_Positions):
    """A few tokens that every token attends to.

    Args:
        positions: where they stand.

    Raises:
        ValueError: they are no list of whole numbers, or one is negative.

    >>> SeenByAll([1]).dense(3).int().tolist()
    [[0, 1, 0], [0, 1, 0], [0, 1, 0]]
    """

    def sees(self, n: int, device: Device = None) -> Sees:
        """Return the rule, as `Pattern.sees`."""
        among = self.among(n, device)
        return lambda i, j: among[j]

    def cover(self, n: int, rows: int, device: Device) -> list[Tiles]:
        """Return strips of rows against these columns."""
        return _columns(self.table(device), n, rows)


class SeesAll(_Positions):
    """A few tokens that attend to every token.

    Args:
        positions: where they stand.

    Raises:
        ValueError: they are no list of whole numbers, or one is negative.

    >>> SeesAll([1]).dense(3).int().tolist()
    [[0, 0, 0], [1, 1, 1], [0, 0, 0]]
    """

    def sees(self, n: int, device: Device = None) -> Sees:
        """Return the rule, as `Pattern.sees`."""
        among = self.among(n, device)
        return lambda i, j: among[i]

    def cover(self, n: int, rows: int, device: Device) -> list[Tiles]:
        """Return these rows against strips of columns."""
        return [
            Tiles(Listed(queries[None]), Rows(left, min(WIDE, n - left)))
            for queries in self.table(device).split(rows)
            if len(queries)
            for left in range(0, n, WIDE)
        ]


@dataclass(frozen=True)
class GlobalTokens(Named):
    """A few tokens that attend to all and are attended to by all.

    Args:
        positions: where they stand; each between 0 and n - 1.

    Raises:
        ValueError: they are no list of whole numbers, or one is negative.

    References:
        Beltagy et al. 2020, section 3.1 ("global attention").

    >>> GlobalTokens([0]).dense(3).int().tolist()
    [[1, 1, 1], [1, 0, 0], [1, 0, 0]]
    """

    positions: Sequence[int] | Tensor

    def __post_init__(self) -> None:
        object.__setattr__(self, "positions", SeesAll(self.positions).positions)

    @property
    def meaning(self) -> Pattern:
        """Their columns and their rows."""
        return SeenByAll(self.positions) | SeesAll(self.positions)


@dataclass(frozen=True)
class RandomBlocks(Leaf):
    """Some keys drawn at random, the same on every device.

    The sequence is cut into blocks, and the queries of one block share `n_random` random blocks of keys. That
    is what makes random keys fast to fetch. With a block size of 1 every query has keys of its own.

    Args:
        n_random: how many different blocks of keys each block of queries sees.
        block_size: tokens a block; the last block may be shorter.
        seed: number that fixes the draw.

    Raises:
        ValueError: block_size is smaller than 1, or n_random negative.

    References:
        Zaheer et al. 2020, section 2 and appendix D (blocks); Bentley and Floyd 1987 (drawing without putting
        back, in time and memory linear in what is drawn).

    >>> RandomBlocks(2, block_size=1).dense(4).sum(-1).tolist()
    [2, 2, 2, 2]
    """

    n_random: int
    block_size: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(1, block_size=self.block_size)
        at_least(0, n_random=self.n_random)

    def drawn(self, n: int) -> Tensor:
        """Return for each block of queries the numbers of its blocks of keys.

        Args:
            n: sequence length.

        Returns:
            Whole numbers (ceil(n / block_size), n_random), ascending in each row.

        Raises:
            ValueError: there are fewer blocks than n_random.

        >>> RandomBlocks(3, block_size=2).drawn(6).tolist()
        [[0, 1, 2], [0, 1, 2], [0, 1, 2]]
        """
        total = -(-n // self.block_size)
        if self.n_random > total:
            raise ValueError(
                f"n_random must be at most {total}, the number of blocks of {self.block_size} in {n}, "
                f"got {self.n_random}"
            )
        generator = torch.Generator().manual_seed(self.seed)
        drawn = torch.empty(total, 0, dtype=torch.long)
        for last in range(total - self.n_random, total):
            pick = torch.randint(last + 1, (total, 1), generator=generator)
            again = (drawn == pick).any(1, keepdim=True)  # then `last`, which could not be drawn
            drawn = torch.cat((drawn, torch.where(again, last, pick)), dim=1)
        return drawn.sort(1).values

    def sees(self, n: int, device: Device = None) -> Sees:
        """Return the rule, as `Pattern.sees`."""
        columns = self.drawn(n).T.contiguous().to(device)  # (n_random, blocks)
        size = self.block_size

        def sees(i: Tensor, j: Tensor) -> Tensor:
            nothing = (i < 0) & (j < 0)
            return reduce(or_, (column[i // size] == j // size for column in columns), nothing)

        return sees

    def cover(self, n: int, rows: int, device: Device) -> list[Tiles]:
        """Return the blocks of queries, each against its blocks of keys."""
        size, inside = self.block_size, torch.arange(self.block_size, device=device)
        keys = (self.drawn(n).to(device)[:, :, None] * size + inside).flatten(1)  # may lie beyond the end
        whole, last = divmod(n, size)
        return [
            Tiles(Rows(start * size, high, size), Listed(keys[start : start + count]), count)
            for start, high, count in ((0, size, whole), (whole, last, 1))
            if count and high and keys.shape[1]
        ]


@dataclass(frozen=True)
class Strided(Named):
    """The `stride` neighbours on each side and, beyond them, every `stride`-th token.

    Args:
        stride: width of the neighbourhood and step between the far tokens, at least 1; near sqrt(n) it is
            cheapest.

    Raises:
        ValueError: the stride is smaller than 1.

    References:
        Child et al. 2019, section 4.3 ("strided attention").

    >>> (Strided(2) & Causal()).dense(6)[5].int().tolist()
    [0, 1, 0, 1, 1, 1]
    """

    stride: int

    def __post_init__(self) -> None:
        at_least(1, stride=self.stride)

    @property
    def meaning(self) -> Pattern:
        """A window and steps."""
        return Window(self.stride) | Every(self.stride)


@dataclass(frozen=True)
class Fixed(Named):
    """The token's own block of `stride` tokens, and the last tokens of all blocks.

    Args:
        stride: tokens a block, at least 1; near sqrt(n) it is cheapest.
        summary: how many tokens at the end of each block all may attend to.

    Raises:
        ValueError: the stride is smaller than 1, or `summary` does not lie between 0 and the stride.

    References:
        Child et al. 2019, section 4.3 ("fixed attention").

    >>> (Fixed(2) & Causal()).dense(6)[5].int().tolist()
    [0, 1, 0, 1, 1, 1]
    """

    stride: int
    summary: int = 1

    def __post_init__(self) -> None:
        Summaries(self.stride, self.summary)

    @property
    def meaning(self) -> Pattern:
        """Blocks and their ends."""
        return Blocks(self.stride) | Summaries(self.stride, self.summary)


def _columns(keys: Tensor, n: int, rows: int) -> list[Tiles]:
    """Return strips of rows against some columns."""
    if len(keys) == 0:
        return []
    return [Tiles(Rows(top, min(rows, n - top)), Listed(keys[None])) for top in range(0, n, rows)]
