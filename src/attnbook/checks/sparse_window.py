"""An exercise on sparse attention: a causal window by blocks, whose work grows with n · w."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.checks.exercise import Case, at_most, case, exercise, gradient, late, mistake, precisions
from attnbook.checks.sparse import Rule, by_rule, in_each_way
from attnlab import masks
from attnlab.dot_product import attention


def _window(q: Tensor, k: Tensor, v: Tensor, before: int, after: int = 0, **options: Any) -> Tensor:
    return attention(q, k, v, mask=masks.window(q.shape[-2], before, after), **options)


def _inputs(
    lead: tuple[int, ...], n: int, d: int, e: int, w: int, name: str = "", hint: str = "", seed: int = 0
) -> Case:
    draw = torch.Generator().manual_seed(n + seed)
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
    """Widths of 4 and whole numbers: the scores are exact, and huge ones tell nothing but right from wrong."""
    v = torch.randn(len(q), 4, generator=torch.Generator().manual_seed(2))
    return Case(name, {"q": q.float(), "k": k.float(), "v": v, "w": w}, hint, exact=True)


def _whole(seed: int, n: int, most: int) -> Tensor:
    return torch.randint(-most, most + 1, (n, 4), generator=torch.Generator().manual_seed(seed))


def _blocks(
    q: Tensor, k: Tensor, v: Tensor, w: int, weights: Callable, around: bool = False, cut: bool = True
) -> Tensor:
    """Attend by blocks, with weights made of scores, distances behind, and which keys are no padding.

    With `around` the last tokens stand before the first block; without `cut` the padding stays behind.
    """
    n, column = q.shape[-2], torch.arange(2 * w)
    q, k, v = (F.pad(x, (0, 0, 0, -n % w)) for x in (q, k, v))
    k, v = (torch.cat((x[..., -w:, :] * around, x), -2).unfold(-2, 2 * w, w).mT for x in (k, v))
    q = q.unflatten(-2, (-1, w))
    real = torch.arange(q.shape[-3])[:, None, None] * w + column >= w
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    out = weights(scores, torch.arange(w)[:, None] + w - column, real | around) @ v
    return out.flatten(-3, -2)[..., : n if cut else None, :]


def _plain(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -1e9).softmax(-1)


def _open(
    first: float, last: float, of: Callable[[Tensor, Tensor], Tensor] = _plain, **options: bool
) -> Callable:
    """Attend by blocks to what lies `first` to w + `last` places behind."""

    def block_window(q: Tensor, k: Tensor, v: Tensor, w: int) -> Tensor:
        def weights(scores: Tensor, back: Tensor, real: Tensor) -> Tensor:
            return of(scores, (back >= first) & (back <= w + last) & real)

        return _blocks(q, k, v, w, weights, **options)

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

        return attention(q, k, v, mask=by_rule(q.shape[-2], w, near))

    return block_window


def _cut_short(q: Tensor, k: Tensor, v: Tensor, w: int) -> Tensor:
    n = q.shape[-2] // w * w
    return _window(*(x[..., :n, :] for x in (q, k, v)), w) if n else v[..., :0, :]


def _scaled(scale: Callable[[Tensor, Tensor, int], float]) -> Callable:
    return lambda q, k, v, w: _window(q, k, v, w, scale=scale(q, v, w))


MANY = 640
"""So many tokens, and a table of their pairs dwarfs everything that a window needs."""
FEWER = 320
"""So many, and such a table is still far larger than all others."""

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
        _inputs((), MANY, 3, 2, 4, f"{MANY} tokens and a window of 4"),
        _inputs((), FEWER, 3, 2, 4, f"{FEWER} tokens and a window of 4"),
        *late(_inputs((2, 3), 22, 5, 6, 4, "2 by 3 other texts of 22 tokens", seed=1)),
    ],
    promises=[
        gradient("q", "k", "v"),
        precisions("float64"),
        at_most(
            "On the way stands a table with more than n²/2 entries: none of all pairs may be made, no mask either.",
            largest=lambda q, k, v, w: q.shape[-2] ** 2 / 2 if q.shape[-2] >= FEWER else math.inf,
            bytes=lambda q, k, v, w: q.shape[-2] ** 2 / 2 if q.shape[-2] >= MANY else math.inf,
        ),
        at_most(
            "The work is not saved: piece by piece, it still makes more than 2n² numbers. A query needs w + 1 scores, a "
            "block of them 2w each.",
            made=lambda q, k, v, w: q.shape[-2] ** 2 * 2 if q.shape[-2] >= MANY else math.inf,
        ),
    ],
    mistakes=[
        *in_each_way("It is off by one: the token w places back is visible too.", lambda q, k, v, w: _window(q, k, v, w - 1)),
        *in_each_way(
            "It is off by one: a token may attend to itself.",
            lambda q, k, v, w: attention(q, k, v, mask=by_rule(q.shape[-2], w, lambda b, i, j, s: (b > 0) & (b <= s))),
            _open(1, 0),
            _open(1, 0, lambda s, mask: s.masked_fill(~mask, -math.inf).softmax(-1)),
        ),
        *in_each_way("It is off by one: it looks one token ahead.", _open(-1, 0), lambda q, k, v, w: _window(q, k, v, w, 1)),
        *in_each_way("It is off by one: w places back is the last.", _open(0, 1), lambda q, k, v, w: _window(q, k, v, w + 1)),
        *in_each_way(
            "It looks ahead as well.",
            _open(-math.inf, 0),
            _by_blocks(lambda b, i, j, w: (b <= w) & (i // w >= j // w)),
            lambda q, k, v, w: _window(q, k, v, w, w),
        ),
        mistake("It looks ahead, where it should look back.", lambda q, k, v, w: _window(q, k, v, 0, w)),
        mistake(
            "It reads the block after its own. The window looks back.",
            _by_blocks(lambda b, i, j, w: (j // w == i // w) | (j // w == i // w + 1)),
        ),
        *in_each_way(
            "Each block sees itself alone: the block before is missing.",
            _by_blocks(lambda b, i, j, w: i // w == j // w),
            _by_blocks(lambda b, i, j, w: (i // w == j // w) & (b >= 0)),
        ),
        *in_each_way(
            "Every pair of the two blocks is open. Within them, 0 <= i - j <= w.",
            _open(-math.inf, math.inf),
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
            "Backward comes NaN: a padded row was all −∞. Cutting it off later does not help the "
            "gradient, so let padded queries see something, or use a softmax that knows.",
            _hidden_rows,
        ),
        mistake(
            "The mask comes after the softmax, so the rows no longer sum to one. Hide scores, not weights.",
            _open(0, 0, lambda s, mask: s.softmax(-1) * mask),
        ),
        mistake("Hidden scores are set to 0, and e to the 0 is 1. They must go to −∞.", _open(0, 0, lambda s, mask: (s * mask).softmax(-1))),
        *in_each_way(
            "Hidden scores get a number that is not small enough. Hide them with −∞, or −10⁹ at least.",
            *(_open(0, 0, lambda s, mask, low=low: s.masked_fill(~mask, low).softmax(-1)) for low in (-10, -50, -100, -1e3, -1e4)),
        ),
        *in_each_way(
            "The exponentials overflow where scores are large. Let torch.softmax make the weights.",
            _open(0, 0, lambda s, mask: s.exp() * mask / (s.exp() * mask).sum(-1, keepdim=True)),
            _open(0, 0, lambda s, mask: s.where(mask, -math.inf).exp() / s.where(mask, -math.inf).exp().sum(-1, keepdim=True)),
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
        mistake(
            "The last partial block is lost: pad to a multiple of w and cut the padding off at the end.",
            _cut_short,
        ),
        mistake("The padding is still there. Cut it off at the end.", _open(0, 0, cut=False)),
    ],
    praise="Equal to the dense window, forward and backward, for any length, and without a table of all pairs.",
)  # fmt: skip
