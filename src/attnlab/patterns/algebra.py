"""What every pattern can do, and how `&` and `|` join patterns into one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.nn.attention.flex_attention import BlockMask

from attnlab.arguments import Device, at_least
from attnlab.patterns.block_masks import from_tiles, where_kept
from attnlab.patterns.plan import Plan, Sees, cut
from attnlab.patterns.tiles import Tiles

ALL = 2**62
"""A window so wide that no sequence is longer."""


class Pattern:
    """Which pairs of tokens a sparse form looks at, whatever the length of the sequence.

    A pattern is said once, as a rule for a pair, with tiles that hold all its pairs. Everything else follows:
    the dense mask, the tiles that `sparse.attend` runs, the rule and the blocks that FlexAttention wants.
    `a | b` sees what one of them sees, `a & b` what both see. Patterns are plain values: two that are written
    alike are equal, and may be keys of a dict.

    >>> from attnlab.patterns import Causal, GlobalTokens, Window
    >>> longformer = Window(1) | GlobalTokens([0])
    >>> (longformer & Causal()).dense(4).int().tolist()
    [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]]
    """

    def __or__(self, other: Pattern) -> Pattern:
        return Either(self, other) if isinstance(other, Pattern) else NotImplemented

    def __and__(self, other: Pattern) -> Pattern:
        return Both(self, other) if isinstance(other, Pattern) else NotImplemented

    def terms(self) -> tuple[Term, ...]:
        """Write the pattern as a union of terms."""
        raise NotImplementedError

    def sees(self, n: int, device: Device = None) -> Sees:
        """Return the rule: a function of queries i and keys j, whole numbers that broadcast.

        Args:
            n: sequence length.
            device: where the numbers will be.

        Raises:
            ValueError: the pattern does not fit this length.
        """
        raise NotImplementedError

    def dense(self, n: int, *, device: Device = None) -> Tensor:
        """Return the pattern as a mask, with all its n² entries.

        Args:
            n: sequence length.
            device: where the mask is made.

        Returns:
            Boolean mask (n, n), True = may attend.

        Raises:
            ValueError: n is negative, or the pattern does not fit this length.

        >>> from attnlab.patterns import Strided
        >>> Strided(2).dense(4).int().tolist()
        [[1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1], [0, 1, 1, 1]]
        """
        at_least(0, n=n)
        place = torch.arange(n, device=device)
        return self.sees(n, device)(place[:, None], place).expand(n, n).clone()

    def mask_mod(self, n: int, *, device: Device = None) -> Callable[..., Tensor]:
        """Return the rule as FlexAttention wants it, a function of (batch, head, query, key).

        Args:
            n: sequence length.
            device: where the attention will run.

        Raises:
            ValueError: the pattern does not fit this length.

        >>> from torch.nn.attention.flex_attention import create_mask
        >>> from attnlab.patterns import Window
        >>> create_mask(Window(1, 0).mask_mod(3), None, None, 3, 3, device="cpu")[0, 0].int().tolist()
        [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
        """
        sees = self.sees(n, device)
        return lambda batch, head, i, j: sees(i, j)

    def tiles(self, n: int, *, device: Device = None, block_size: int | None = None) -> tuple[Tiles, ...]:
        """Cut the pattern into rectangles of the score matrix: every visible pair lies in exactly one.

        Args:
            n: sequence length, at least 1.
            device: where the attention will run.
            block_size: most rows and columns of a tile; unless given, what suits each part of the pattern.

        Returns:
            What `sparse.attend` runs in its forward pass.

        Raises:
            ValueError: n or block_size is smaller than 1, or the pattern does not fit this length.

        >>> from attnlab.patterns import Window
        >>> for one in Window(2, 0).tiles(40):
        ...     print(one.queries, one.keys)
        Rows(start=0, size=32, step=0, spread=1) Rows(start=0, size=32, step=0, spread=1)
        Rows(start=32, size=8, step=0, spread=1) Rows(start=30, size=10, step=0, spread=1)
        """
        return self.plan(n, device=device, block_size=block_size).forward

    def plan(self, n: int, *, device: Device = None, block_size: int | None = None) -> Plan:
        """Return the tiles of both directions; made once for a length and a device, and kept.

        Args:
            n: as in `tiles`.
            device: as in `tiles`.
            block_size: as in `tiles`.

        Returns:
            Tiles for the forward pass and for the backward pass.

        Raises:
            ValueError: as in `tiles`.
        """
        at_least(1, n=n, **({} if block_size is None else {"block_size": block_size}))
        return _plan(self, n, str(torch.get_default_device() if device is None else device), block_size)

    def block_mask(self, n: int, *, key_mask: Tensor | None = None, device: Device = None) -> BlockMask:
        """Return the blocks of 128 by 128 pairs that FlexAttention needs to look at, found from the tiles.

        Args:
            n: sequence length, at least 1.
            key_mask: (batch, n), True = may be attended to.
            device: where the attention will run; that of the key mask unless given.

        Returns:
            The same blocks as `create_block_mask` finds, without its table of n² pairs. Beside a key mask
            they are those of the pattern alone.

        Raises:
            ValueError: n is smaller than 1, or the pattern does not fit this length.

        References:
            Dong et al. 2024, section 4.

        >>> from attnlab.patterns import Window
        >>> Window(128, 0).block_mask(512).kv_num_blocks.tolist()
        [[[1, 2, 2, 2]]]
        """
        device = key_mask.device if device is None and key_mask is not None else device
        device = str(torch.get_default_device() if device is None else device)
        at_least(1, n=n)
        blocks = _blocks(self, n, device, key_mask is not None)
        return blocks if key_mask is None else where_kept(blocks, key_mask)


@dataclass(frozen=True)
class Term:
    """What a window and some leaves all allow; `before` and `after` are `ALL` without a window."""

    before: int = ALL
    after: int = ALL
    leaves: tuple = ()

    def holds(self, other: Term) -> bool:
        """Say whether all that the other term sees is seen here too, as far as their parts show it."""
        wider = self.before >= other.before and self.after >= other.after
        return wider and set(self.leaves) <= set(other.leaves)

    def period(self, n: int) -> int | None:
        """Return p such that the pair (i + p, j + p) is seen where (i, j) is; None if nothing repeats."""
        periods = [leaf.period(n) for leaf in self.leaves]
        return None if None in periods else math.lcm(*periods)

    def sees(self, n: int, device: Device = None) -> Sees:
        """Return the rule of the term, as `Pattern.sees`."""
        before, after = min(self.before, n), min(self.after, n)
        rules = [leaf.sees(n, device) for leaf in self.leaves]
        if before < n or after < n or not rules:
            rules.append(lambda i, j: (j - i >= -before) & (j - i <= after))

        def sees(i: Tensor, j: Tensor) -> Tensor:
            seen = rules[0](i, j)
            for rule in rules[1:]:
                seen = seen & rule(i, j)
            return seen

        return sees


@dataclass(frozen=True)
class Either(Pattern):
    """What one of two patterns sees; written `first | second`."""

    first: Pattern
    second: Pattern

    def __repr__(self) -> str:
        return f"({self.first!r} | {self.second!r})"

    def terms(self) -> tuple[Term, ...]:
        """Write the pattern as a union of terms."""
        return _without_repeats(self.first.terms() + self.second.terms())

    def sees(self, n: int, device: Device = None) -> Sees:
        """Return the rule, as `Pattern.sees`."""
        first, second = self.first.sees(n, device), self.second.sees(n, device)
        return lambda i, j: first(i, j) | second(i, j)


@dataclass(frozen=True)
class Both(Pattern):
    """What both of two patterns see; written `first & second`."""

    first: Pattern
    second: Pattern

    def __repr__(self) -> str:
        return f"({self.first!r} & {self.second!r})"

    def terms(self) -> tuple[Term, ...]:
        """Write the pattern as a union of terms: (a | b) & c is a & c | b & c."""
        return _without_repeats(
            Term(min(a.before, b.before), min(a.after, b.after), tuple(dict.fromkeys(a.leaves + b.leaves)))
            for a in self.first.terms()
            for b in self.second.terms()
        )

    def sees(self, n: int, device: Device = None) -> Sees:
        """Return the rule, as `Pattern.sees`."""
        first, second = self.first.sees(n, device), self.second.sees(n, device)
        return lambda i, j: first(i, j) & second(i, j)


def _without_repeats(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Leave out the terms that another one holds."""
    out = []
    for term in terms:
        if not any(kept.holds(term) for kept in out):
            out = [kept for kept in out if not term.holds(kept)] + [term]
    return tuple(out)


@lru_cache(maxsize=16)
def _plan(pattern: Pattern, n: int, device: str, block_size: int | None) -> Plan:
    with _for_keeps():
        return cut(pattern.terms(), n, device, block_size)


@lru_cache(maxsize=16)
def _blocks(pattern: Pattern, n: int, device: str, masked: bool) -> BlockMask:
    tiles = pattern.tiles(n, device=device)
    with _for_keeps():
        rule = pattern.mask_mod(n, device=device)
    with torch.inference_mode(False), unset_fake_temporarily():  # torch makes the blocks by vmap
        return from_tiles(tiles, n, device, rule, full=not masked)


@contextmanager
def _for_keeps():
    """Make ordinary tensors, whatever goes on around: what is kept must not be fake, nor of a transform."""
    with torch.inference_mode(False), torch.no_grad(), unset_fake_temporarily(), torch._C._DisableFuncTorch():
        yield
