"""Exercises on sparse attention: a strided mask, a window by blocks, the layers that reach needs, the best stride."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab import masks
from attnlab.attention import attention
from attnlab.checks.exercise import Case, Mistake, at_most, case, exercise, gradient, mistake, precisions

Rule = Callable[[Tensor, Tensor, Tensor, int], Tensor]  # of row - column, row, column, stride or window


def _same(message: str, *does: Callable) -> list[Mistake]:
    """One mistake that people write in several ways."""
    return [mistake(message, one) for one in does]


def _mask(n: int, size: int, rule: Rule) -> Tensor:
    row, column = torch.arange(n)[:, None], torch.arange(n)
    return rule(row - column, row, column, size).expand(n, n)


def _strided(message: str, rule: Rule) -> Mistake:
    return mistake(message, lambda n, stride: _mask(n, stride, rule))


exercise(
    "sparse-strided",
    "strided_mask",
    reference=lambda n, stride: _mask(n, stride, lambda b, i, j, s: (b >= 0) & ((b <= s) | (b % s == 0))),
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


def _window(q: Tensor, k: Tensor, v: Tensor, before: int, after: int = 0, **options: Any) -> Tensor:
    return attention(q, k, v, mask=masks.window(q.shape[-2], before, after), **options)


def _inputs(lead: tuple[int, ...], n: int, d: int, e: int, w: int, name: str = "", hint: str = "") -> Case:
    draw = torch.Generator().manual_seed(n)
    q, k, v = (torch.randn(*lead, n, width, generator=draw) for width in (d, d, e))
    return case(name, hint, q=q, k=k, v=v, w=w)


def _columns() -> Case:
    draw = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(2, 4, 14, generator=draw).mT for _ in range(3))
    return case(
        "a batch of 2 whose tokens are columns in memory", "`.view` needs rows in memory; `.reshape` does not.",
        q=q, k=k, v=v, w=3,
    )  # fmt: skip


def _exact(name: str, hint: str, q: Tensor, k: Tensor, w: int) -> Case:
    """A width of 4 and whole numbers: the scores are exact, and huge ones tell nothing but right from wrong."""
    v = torch.randn(len(q), 3, generator=torch.Generator().manual_seed(2))
    return case(name, hint, q=q.float(), k=k.float(), v=v, w=w)


def _whole(seed: int, n: int, most: int) -> Tensor:
    return torch.randint(-most, most + 1, (n, 4), generator=torch.Generator().manual_seed(seed))


def _blocks(q: Tensor, k: Tensor, v: Tensor, w: int, weights: Callable, around: bool = False) -> Tensor:
    """Attend by blocks, with weights made of scores, distances behind, and which keys are no padding.

    With `around` the last tokens stand before the first block.
    """
    n, column = q.shape[-2], torch.arange(2 * w)
    q, k, v = (F.pad(x, (0, 0, 0, -n % w)) for x in (q, k, v))
    k, v = (torch.cat((x[..., -w:, :] * around, x), -2).unfold(-2, 2 * w, w).mT for x in (k, v))
    q = q.unflatten(-2, (-1, w))
    real = torch.arange(q.shape[-3])[:, None, None] * w + column >= w
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    out = weights(scores, torch.arange(w)[:, None] + w - column, real | around) @ v
    return out.flatten(-3, -2)[..., :n, :]


def _plain(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -1e9).softmax(-1)


def _open(first: int, last: int, of: Callable[[Tensor, Tensor], Tensor] = _plain, **around: bool) -> Callable:
    """Attend by blocks to what lies `first` to w + `last` places behind."""

    def block_window(q: Tensor, k: Tensor, v: Tensor, w: int) -> Tensor:
        def weights(scores: Tensor, back: Tensor, real: Tensor) -> Tensor:
            return of(scores, (back >= first) & (back <= w + last) & real)

        return _blocks(q, k, v, w, weights, **around)

    return block_window


def _padding_seen(q: Tensor, k: Tensor, v: Tensor, w: int) -> Tensor:
    return _blocks(q, k, v, w, lambda scores, back, real: _plain(scores, (back >= 0) & (back <= w)))


def _hidden_rows(q: Tensor, k: Tensor, v: Tensor, w: int) -> Tensor:
    """Hide whatever touches padding, also behind the text: its rows are all −inf."""
    n = q.shape[-2]

    def weights(scores: Tensor, back: Tensor, real: Tensor) -> Tensor:
        first = torch.arange(scores.shape[-3])[:, None, None] * w
        query, key = first + torch.arange(w)[:, None], first + torch.arange(2 * w) - w
        shown = (back >= 0) & (back <= w) & real & (query < n) & (key < n)
        return scores.masked_fill(~shown, -math.inf).softmax(-1)

    return _blocks(q, k, v, w, weights)


def _by_blocks(rule: Rule) -> Callable:
    """Attend where a rule says so, to no further than the next block on each side."""

    def block_window(q: Tensor, k: Tensor, v: Tensor, w: int) -> Tensor:
        def near(b: Tensor, i: Tensor, j: Tensor, w: int) -> Tensor:
            return rule(b, i, j, w) & ((i // w - j // w).abs() <= 1)

        return attention(q, k, v, mask=_mask(q.shape[-2], w, near))

    return block_window


def _twice(q: Tensor, k: Tensor, v: Tensor, w: int) -> Tensor:
    seen = masks.window(q.shape[-2], w, 0).double()
    block = torch.arange(q.shape[-2]) // w
    return attention(q, k, v, bias=(seen + seen * (block[:, None] == block)).log().to(q.dtype))


def _scaled(scale: Callable[[Tensor, Tensor, int], float]) -> Callable:
    return lambda q, k, v, w: _window(q, k, v, w, scale=scale(q, v, w))


MANY = 600
"""So many tokens, and a table of their pairs dwarfs everything that a window needs."""

exercise(
    "sparse-block-window",
    "block_window",
    reference=lambda q, k, v, w: _window(q, k, v, w),
    cases=[
        _inputs((2, 3), 22, 5, 6, 4),
        _inputs((), 17, 4, 7, 5),
        _inputs((2,), 40, 3, 6, 9),
        _inputs((), 50, 7, 4, 20),
        _inputs((2,), 3, 6, 4, 5, "a window of 5 over 3 tokens", "The window reaches back beyond the start."),
        _inputs((1, 2), 12, 4, 3, 1, "a window of 1, and a batch of 1 by 2"),
        _inputs((3,), 1, 5, 2, 2, "a single token"),
        _inputs((), 24, 5, 2, 8, "24 tokens and a window of 8", "Nothing is left over: no padding is needed behind."),
        _columns(),
        _exact(
            "scores from −400 to 400",
            "Let torch.softmax, or the largest score of each row, keep the exponentials finite.",
            _whole(3, 13, 14),
            _whole(4, 13, 14),
            3,
        ),
        _exact(
            "scores around −20,000",
            "What is hidden must lie far below: −∞, or a number as good.",
            torch.full((11, 4), 10_000),
            torch.arange(44).view(11, 4) % 7 / 4096 - 1,
            4,
        ),
        _inputs((), MANY, 3, 2, 5, f"{MANY:,} tokens and a window of 5"),
    ],
    promises=[
        gradient("q", "k", "v"),
        precisions("float64"),
        at_most(
            "On the way stands a tensor with n² entries: none may be made, no mask either.",
            largest=lambda q, k, v, w: q.shape[-2] ** 2 / 4 if q.shape[-2] >= MANY else math.inf,
        ),
        at_most(
            "The work is not saved: piece by piece, it still makes about n² numbers. A query needs w + 1 scores, a "
            "block of them 2w each.",
            made=lambda q, k, v, w: q.shape[-2] ** 2 / 2 if q.shape[-2] >= MANY else math.inf,
        ),
    ],
    mistakes=[
        *_same("It is off by one: the token w places back is visible too.", lambda q, k, v, w: _window(q, k, v, w - 1)),
        *_same(
            "It is off by one: a token may attend to itself.",
            lambda q, k, v, w: attention(q, k, v, mask=_mask(q.shape[-2], w, lambda b, i, j, s: (b > 0) & (b <= s))),
            _open(1, 0),
            _open(1, 0, lambda s, mask: s.masked_fill(~mask, -math.inf).softmax(-1)),
        ),
        *_same("It is off by one: it looks one token ahead.", _open(-1, 0), lambda q, k, v, w: _window(q, k, v, w, 1)),
        *_same("It is off by one: w places back is the last.", _open(0, 1), lambda q, k, v, w: _window(q, k, v, w + 1)),
        *_same(
            "It looks ahead as well.",
            _by_blocks(lambda b, i, j, w: b <= w),
            _by_blocks(lambda b, i, j, w: (b <= w) & (i // w >= j // w)),
            lambda q, k, v, w: _window(q, k, v, w, w),
        ),
        mistake("It looks ahead, where it should look back.", lambda q, k, v, w: _window(q, k, v, 0, w)),
        mistake(
            "It reads the block after its own. The window looks back.",
            _by_blocks(lambda b, i, j, w: (j // w == i // w) | (j // w == i // w + 1)),
        ),
        *_same(
            "Each block sees itself alone: the block before is missing.",
            _by_blocks(lambda b, i, j, w: i // w == j // w),
            _by_blocks(lambda b, i, j, w: (i // w == j // w) & (b >= 0)),
        ),
        mistake(
            "Every pair of the two blocks is open. Within them, 0 <= i - j <= w.",
            _by_blocks(lambda b, i, j, w: (i // w == j // w) | (i // w == j // w + 1)),
        ),
        mistake(
            "The window has no end: within the two blocks, i - j may be w at most.",
            _by_blocks(lambda b, i, j, w: (b >= 0) & (i // w - j // w <= 1)),
        ),
        mistake("The window has no end: i - j may be w at most.", lambda q, k, v, w: attention(q, k, v, is_causal=True)),
        mistake(
            "The first block sees the last one: rolling goes round. Before the first block stands nothing.",
            _open(0, 0, around=True),
        ),
        mistake(
            "The first rows see the padding before the text, and its zeros take part in the softmax. Hide it.",
            _padding_seen,
        ),
        mistake(
            "The values are right, backward comes NaN: a padded row was all −∞. Cutting it off later does not help the "
            "gradient, so let padded queries see something, or use a softmax that knows.",
            _hidden_rows,
        ),
        mistake(
            "The mask comes after the softmax, so the rows no longer sum to one. Hide scores, not weights.",
            _open(0, 0, lambda s, mask: s.softmax(-1) * mask),
        ),
        mistake("Hidden scores are set to 0, and e to the 0 is 1. They must go to −∞.", _open(0, 0, lambda s, mask: (s * mask).softmax(-1))),
        *_same(
            "Hidden scores get a number that is not small enough. Hide them with −∞, or −10⁹ at least.",
            *(_open(0, 0, lambda s, mask, low=low: s.masked_fill(~mask, low).softmax(-1)) for low in (-10, -50, -100, -1e3, -1e4)),
        ),
        mistake(
            "The exponentials overflow where scores are large. Let torch.softmax make the weights.",
            _open(0, 0, lambda s, mask: s.exp() * mask / (s.exp() * mask).sum(-1, keepdim=True)),
        ),
        mistake(
            "The softmax runs over the queries of a block. Each query's weights sum to one: the last axis.",
            _open(0, 0, lambda s, mask: s.masked_fill(~mask, -1e9).softmax(-2)),
        ),
        *(
            mistake(f"The scale is wrong: {what}. Divide the scores by √d, of the queries' width.", _scaled(scale))
            for what, scale in (
                ("there is none", lambda q, v, w: 1.0),
                ("it is d, without the root", lambda q, v, w: 1 / q.shape[-1]),
                ("it is the root of the values' width", lambda q, v, w: v.shape[-1] ** -0.5),
                ("it is the root of the window", lambda q, v, w: w**-0.5),
            )
        ),
        mistake("Queries and keys have changed places.", lambda q, k, v, w: _window(k, q, v, w)),
        mistake("Pairs within a block count twice: once in the block, once in the window.", _twice),
        mistake(
            "The last partial block is lost: pad to a multiple of w and cut the padding off at the end.",
            lambda q, k, v, w: _window(*(x[..., : x.shape[-2] // w * w, :] for x in (q, k, v)), w),
        ),
        mistake(
            "The padding is still there. Cut it off at the end.",
            lambda q, k, v, w: F.pad(_window(q, k, v, w), (0, 0, 0, -q.shape[-2] % w)),
        ),
    ],
    praise="Equal to the dense window, forward and backward, for any length, and its work grows with n · w.",
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
        *_same(
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
        *_same(COUNTED, *(_numbers(dtype) for dtype in (torch.uint8, torch.int8, torch.int64, torch.half, torch.float, torch.double))),
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
        case("", n=n) for n in (57, 60, 61, 79, 101, 105, 150, 1, 2, 3, 4, 5, 8, 13, 30, MANY)
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
        *_same(
            "It returns √n. That is best for the bound n(s + n/s). A causal mask opens half of the far pairs only: count them.",
            lambda n: round(n**0.5),
            math.isqrt,
            lambda n: math.ceil(n**0.5),
            lambda n: n**0.5,
            _cheapest(lambda i, s: i % s + 1 + i // s),
        ),
        *_same(
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
