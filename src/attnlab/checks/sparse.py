"""Exercises on sparse attention: a strided mask, the layers that reach needs, the cheapest stride."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attnlab import masks
from attnlab.checks.exercise import Mistake, at_most, case, exercise, mistake

Rule = Callable[[Tensor, Tensor, Tensor, int], Tensor]  # of row - column, row, column, stride or window


def in_each_way(message: str, *does: Callable) -> list[Mistake]:
    """One mistake that people write in several ways."""
    return [mistake(message, one) for one in does]


def by_rule(n: int, size: int, rule: Rule) -> Tensor:
    """Write a rule out as a mask (n, n); `size` is the stride or the window that the rule is about."""
    row, column = torch.arange(n)[:, None], torch.arange(n)
    return rule(row - column, row, column, size).expand(n, n)


def _strided(message: str, rule: Rule) -> Mistake:
    return mistake(message, lambda n, stride: by_rule(n, stride, rule))


exercise(
    "sparse-strided",
    "strided_mask",
    reference=lambda n, stride: by_rule(n, stride, lambda b, i, j, s: (b >= 0) & ((b <= s) | (b % s == 0))),
    cases=[
        *(case("", n=n, stride=stride) for n, stride in ((13, 3), (17, 5), (33, 4), (1, 3), (40, 7))),
        case("a stride longer than the text", "Everything before a token is its neighbour.", n=4, stride=6),
        case("a stride of 1", "Everything lies a multiple of 1 behind.", n=6, stride=1),
        case("a stride of all but one token", n=9, stride=8),
        case("100 tokens and a stride of 2", "The far tokens go back to the start, however far that is.", n=100, stride=2),
    ],
    mistakes=[
        _strided("The neighbourhood is missing: the last `stride` tokens are visible too.", lambda b, i, j, s: (b >= 0) & (b % s == 0)),
        _strided("It is a window: every `stride`-th token before it is missing.", lambda b, i, j, s: (b >= 0) & (b <= s)),
        _strided("It takes columns that are multiples of the stride. It is the distance, row - column, that must be one.", lambda b, i, j, s: (b >= 0) & ((b <= s) | (j % s == 0))),
        _strided("It takes rows that are multiples of the stride. It is the distance, row - column, that must be one.", lambda b, i, j, s: (b >= 0) & ((b <= s) | (i % s == 0))),
        _strided("It takes the last column of each block: that is the fixed pattern. Here the distance counts.", lambda b, i, j, s: (b >= 0) & ((b <= s) | (j % s == s - 1))),
        _strided("That is the fixed pattern. Here the distance counts, row - column, not where blocks begin.", lambda b, i, j, s: (b >= 0) & ((i // s == j // s) | (j % s == s - 1))),
        _strided("Its neighbourhood is a block of the text. It should slide: the last `stride` tokens, wherever it is.", lambda b, i, j, s: (b >= 0) & ((i // s == j // s) | (b % s == 0))),
        _strided("It is not causal: later tokens are visible.", lambda b, i, j, s: (b.abs() <= s) | (b % s == 0)),
        _strided("It is not causal in the neighbourhood: b.abs() lets later tokens in.", lambda b, i, j, s: (b.abs() <= s) | ((b >= 0) & (b % s == 0))),
        _strided("It is not causal far away: a multiple of the stride may be negative, too.", lambda b, i, j, s: ((b >= 0) & (b <= s)) | (b % s == 0)),
        _strided("It is transposed: rows are queries, and a query looks back. The distance is row - column.", lambda b, i, j, s: (b <= 0) & ((b >= -s) | (b % s == 0))),
        _strided("It allows where both rules do. Either is enough: use |.", lambda b, i, j, s: (b >= 0) & (b <= s) & (b % s == 0)),
        _strided("It leaves out what both rules allow: use |, not ^.", lambda b, i, j, s: (b >= 0) & ((b <= s) ^ (b % s == 0))),
        _strided("It is off by one: a token may see itself.", lambda b, i, j, s: (b > 0) & ((b <= s) | (b % s == 0))),
        _strided("It is off by one: the neighbourhood is a token too wide.", lambda b, i, j, s: (b >= 0) & ((b <= s + 1) | (b % s == 0))),
        _strided("It is off by one: the neighbourhood is a token too narrow.", lambda b, i, j, s: (b >= 0) & ((b < s - 1) | (b % s == 0))),
        _strided("It is off by one: the far tokens stand stride + 1 apart.", lambda b, i, j, s: (b >= 0) & ((b <= s) | (b % (s + 1) == 0))),
        _strided("The far tokens are shifted: their distance is a multiple of the stride, without rest.", lambda b, i, j, s: (b >= 0) & ((b <= s) | (b % s == s - 1))),
        _strided("It has one far token. There is one for every multiple of the stride.", lambda b, i, j, s: (b >= 0) & ((b <= s) | (b == 2 * s))),
        _strided("It is inverted: True must mean may attend.", lambda b, i, j, s: ~((b >= 0) & ((b <= s) | (b % s == 0)))),
        mistake("It holds numbers. A mask is boolean, True = may attend.", lambda n, stride: masks.strided(n, stride).int()),
    ],
    praise="Neighbours within the stride, every stride-th token beyond, nothing ahead.",
)  # fmt: skip


def layers_needed(mask: Tensor) -> int:
    """The reference."""
    reach, layers = mask, 1
    while not torch.equal(further := mask.double() @ reach.double() > 0, reach):
        reach, layers = further, layers + 1
    return layers


def _chain(n: int, *pairs: tuple[int, int]) -> Tensor:
    mask = torch.eye(n, dtype=torch.bool)
    for i, j in pairs:
        mask[i, j] = True
    return mask


def _crowd(size: int, chain: int) -> Tensor:
    """A chain that ends in a crowd; who stands in the chain sees the one before, and everyone behind."""
    mask = torch.eye(size + chain, dtype=torch.bool)
    mask[:size, :size] = True
    mask[size:, size:] |= masks.causal(chain).mT
    return mask | torch.ones(size + chain - 1, dtype=torch.bool).diag(-1)


def _two_ways(ways: int) -> Tensor:
    mask = torch.eye(ways + 2, dtype=torch.bool)
    mask[0, 1:-1] = mask[1:-1, -1] = True
    return mask


def _grow(step: Callable = lambda mask: mask.float(), start: Callable = lambda mask: mask.float(),
          keep: bool = True, stop: Callable = torch.equal, square: bool = False) -> Callable:  # fmt: skip
    """Multiply until nothing is added, with one thing wrong. It gives up after twice as many layers as tokens."""

    def answer(mask: Tensor) -> int:
        times, reach, layers = step(mask), start(mask), 1
        while layers < 2 * len(mask):
            further = (reach if square else times) @ reach
            further = (further > 0).to(reach.dtype) if keep else further
            if stop(further > 0, reach > 0):
                return layers
            reach, layers = further, layers + 1
        return layers

    return answer


def _numbers(dtype: torch.dtype, share: bool = False) -> Callable:
    """Count the ways, or average over them, and never ask whether there is one."""

    def start(mask: Tensor) -> Tensor:
        return mask.to(dtype) / mask.sum(1, keepdim=True) if share else mask.to(dtype)

    return _grow(start, start, keep=False)


RING = torch.eye(7, dtype=torch.bool)
COUNTED = "The ways are counted, and their number outgrows the type. Keep yes or no after each product."

exercise(
    "sparse-layers",
    "layers_needed",
    reference=layers_needed,
    cases=[
        case("a causal mask over 5 tokens", "Its reach is complete at once, and not every pair is in it.", mask=masks.causal(5)),
        case("a causal window of 3 over 10 tokens", "Multiply the reach by the mask until it no longer changes.", mask=masks.window(10, 3, 0)),
        case("a two-sided window of 2 over 12 tokens", "Multiply the reach by the mask until it no longer changes.", mask=masks.window(12, 2)),
        case("a strided mask over 16 tokens", mask=masks.strided(16, 4)),
        case("a single token", "One layer is the least.", mask=masks.causal(1)),
        case("a mask in which each token sees itself alone", "Nothing is added to the first layer.", mask=torch.eye(6, dtype=torch.bool)),
        case(
            "a chain whose last token hears of one other only",
            "Other tokens than the last may still be waiting.",
            mask=_chain(8, (1, 0), (2, 1), (3, 2), (4, 3), (5, 4), (7, 6)),
        ),
        case(
            "a chain whose first token hears of nobody, and the last of all at once",
            "Tokens in the middle may still be waiting.",
            mask=_chain(7, (2, 1), (3, 2), (4, 3), (5, 4), *((6, j) for j in range(6))),
        ),
        case(
            "a chain with a shortcut from its end to its start",
            "A token always sees itself, so that reach never shrinks.",
            mask=_chain(4, (1, 0), (2, 1), (3, 2), (3, 0)),
        ),
        case("a ring of 7 tokens", "Its reach grows by the same amount each time, until it grows by nothing.", mask=RING | RING.roll(1, 0)),
        case("258 tokens, where 256 ways lead from the last to the first", "Ask whether there is a way, not how many there are: 256 of them are 0 in eight bits.", mask=_two_ways(256).mT),
        case(
            "a chain of 171 tokens that ends in a crowd of 64",
            "The number of ways outgrows float64 there, and one way's share of them vanishes. Keep yes or no after each product.",
            mask=_crowd(64, 171),
        ),
    ],
    mistakes=[
        mistake("It is off by one: it counts the layer that only shows that nothing is added.", lambda mask: layers_needed(mask) + 1),
        mistake("It is off by one: the mask itself is the reach of the first layer.", lambda mask: layers_needed(mask) - 1),
        *in_each_way(
            "Squaring doubles the layers: multiply by the mask, one layer at a time, or search between the last two powers.",
            lambda mask: 1 << (layers_needed(mask) - 1).bit_length(),
            lambda mask: 1 + (layers_needed(mask) - 1).bit_length(),
        ),
        mistake(
            "It says 1 for every mask: a power of the matrix is needed, and `mask * mask` or `mask & mask` works entry by entry.",
            lambda mask: 1,
        ),
        mistake("It looks at the last token only; another one may still be waiting.", _grow(stop=lambda a, b: torch.equal(a[-1], b[-1]))),
        mistake("It looks at the first token only; another one may still be waiting.", _grow(stop=lambda a, b: torch.equal(a[0], b[0]))),
        mistake("It waits until every token reaches the first one. Count until nothing is added anywhere.", _grow(stop=lambda a, b: torch.equal(a[:, 0], b[:, 0]))),
        *in_each_way(COUNTED, *(_numbers(dtype) for dtype in (torch.uint8, torch.int8, torch.int64, torch.half, torch.float, torch.double))),
        mistake(
            "It averages over the ways, and the share of a long one vanishes. Keep yes or no after each product.",
            _numbers(torch.float, share=True),
        ),
        mistake("It returns the number of tokens less one. That many are needed only if each hears of one new one a layer.", lambda mask: len(mask) - 1),
    ],
    praise="The least number of layers, for chains, rings and crowds: yes or no after each product, until nothing is added.",
)  # fmt: skip


def _keys(i: Tensor, s: int) -> Tensor:
    """How many keys row i has at stride s."""
    return i.clamp_max(s) + 1 + (i // s - 1).clamp_min(0)


def _cheapest(keys: Callable[[Tensor, int], Tensor] = _keys, last: bool = False) -> Callable[[int], int]:
    """Find the stride with the fewest keys in all; of equals the smallest, or with `last` the largest."""

    def best_stride(n: int) -> int:
        rows = torch.arange(n)
        return min(range(1, n + 1), key=lambda s: (int(keys(rows, s).sum()), -s if last else s))

    return best_stride


def _pairs(n: int) -> int:
    return int(_keys(torch.arange(n), _cheapest()(n)).sum())


exercise(
    "sparse-stride",
    "best_stride",
    reference=_cheapest(),
    cases=[
        case("", n=n) for n in (57, 60, 61, 79, 101, 105, 150, 1, 2, 3, 4, 5, 8, 13, 30, 600)
    ],
    promises=[
        at_most(
            "The answer is right, but it builds tables of n × n numbers. Add up the rows, one stride after the other.",
            largest=lambda n: max(n * n / 2, 20_000),
            bytes=lambda n: max(n * n / 2, 100_000),
        ),
    ],
    mistakes=[
        mistake("It returns the number of pairs. The stride that needs so many is wanted.", _pairs),
        mistake("Of equally cheap strides it returns the largest. Return the smallest.", _cheapest(last=True)),
        *in_each_way(
            "It returns √n. That is best for the bound n(s + n/s). A causal mask opens half of the far pairs only: count them.",
            lambda n: round(n**0.5),
            math.isqrt,
            lambda n: math.ceil(n**0.5),
            lambda n: n**0.5,
            _cheapest(lambda i, s: i % s + 1 + i // s),
        ),
        *in_each_way(
            "It returns √(n/2), or counts too much where the text begins: row i has min(i, s) neighbours beside itself, and never "
            "less than no far token. The exact count decides.",
            lambda n: (n / 2) ** 0.5,
            lambda n: max(1, round((n / 2) ** 0.5)),
            lambda n: max(1, math.isqrt(n // 2)),
            lambda n: math.ceil((n / 2) ** 0.5),
            _cheapest(lambda i, s: s + i // s),
            _cheapest(lambda i, s: s + (i // s - 1).clamp_min(0)),
            _cheapest(lambda i, s: i.clamp_max(s) + i // s - 1),
        ),
        mistake("Distances 0 and s are counted twice: as neighbours, and as multiples of s.", _cheapest(lambda i, s: i.clamp_max(s) + i // s)),
        mistake(
            "A far token of each row is missing: of its i // s + 1 multiples, two are neighbours.",
            _cheapest(lambda i, s: i.clamp_max(s) + (i // s - 2).clamp_min(0)),
        ),
        mistake("The neighbours have been forgotten: a wider neighbourhood is not free.", _cheapest(lambda i, s: (i // s - 1).clamp_min(0))),
        mistake("Rows count from 0: row 0 sees itself only.", _cheapest(lambda i, s: _keys(i + 1, s))),
        mistake(
            "i // s rounds down: a multiple of s that would lie before the start is no token.",
            _cheapest(lambda i, s: i.clamp_max(s) + (-(-i // s) - 1).clamp_min(0)),
        ),
        mistake("That counts the last row only. Rows near the start have fewer pairs.", _cheapest(lambda i, s: _keys(i, s)[-1:])),
    ],
    praise="The fewest pairs, by exact count, without a table of n × n. It lies near √(n/2), since a causal mask opens half of the far pairs.",
)  # fmt: skip
