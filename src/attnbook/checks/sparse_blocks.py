"""An exercise on sparse attention: each token reads its own block, and the blocks whose mean key fits its query."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnbook.checks.exercise import Case, case, exercise, gradient, late, mistake, precisions
from attnbook.checks.sparse import in_each_way
from attnlab.dot_product import attention

Score = Callable[[Tensor, Tensor, int], Tensor]  # of queries, keys and size: (..., n, blocks)


def _by_mean(q: Tensor, k: Tensor, size: int) -> Tensor:
    return q @ k.unflatten(-2, (-1, size)).mean(-2).mT


def _seen(
    q: Tensor,
    k: Tensor,
    size: int,
    top: int,
    *,
    score: Score = _by_mean,
    among: Callable[[Tensor, Tensor], Tensor] = lambda mine, block: block < mine,
    hide: bool = True,
    own: Callable[[Tensor], Tensor] = lambda back: back >= 0,
) -> Tensor:
    """Say who sees whom, (..., n, n).

    Blocks are chosen `among` some, by their score, and those that are not earlier are hidden in the end unless
    told not to; of its own block a token sees what `own` says of the distance.
    """
    n = q.shape[-2]
    place = torch.arange(n)
    mine, block = place[:, None] // size, torch.arange(n // size)
    scores = score(q, k, size).masked_fill(~among(mine, block), -math.inf)
    best = scores.topk(min(top, n // size)).indices
    chosen = torch.zeros_like(scores).scatter(-1, best, 1.0) > 0
    chosen = chosen & (block < mine) if hide else chosen
    near = (mine == place // size) & own(place[:, None] - place)
    return chosen[..., place // size] | near


def routed(q: Tensor, k: Tensor, v: Tensor, size: int, top: int, **options: Any) -> Tensor:
    """The reference, and with an option most of the mistakes."""
    return attention(q, k, v, mask=_seen(q, k, size, top, **options))


def _inputs(
    lead: tuple[int, ...],
    blocks: int,
    size: int,
    top: int,
    d: int,
    e: int,
    name: str = "",
    hint: str = "",
    seed: int = 0,
) -> Case:
    draw = torch.Generator().manual_seed(17 * blocks + size + seed)
    q, k, v = (torch.randn(*lead, blocks * size, width, generator=draw) for width in (d, d, e))
    return case(name, hint, q=q, k=k, v=v, size=size, top=top)


def _large() -> Case:
    """Whole numbers: the scores, up to 200, are exact, and no two blocks score alike for one query."""
    draw = torch.Generator().manual_seed(1)
    q, k = (torch.randint(-14, 15, (20, 4), generator=draw).float() for _ in range(2))
    v = torch.randn(20, 4, generator=draw)
    hint = "Let torch.softmax, or the largest score of each row, keep the exponentials finite."
    return Case("scores in the hundreds", {"q": q, "k": k, "v": v, "size": 4, "top": 2}, hint, exact=True)


def _close() -> Case:
    """Block means score 2,000 and a little, no two alike; half precision mixes some up. All products are exact."""
    draw = torch.Generator().manual_seed(310)
    q, k = (torch.randint(-24, 25, (28, 4), generator=draw).float() / 8 for _ in range(2))
    q[:, 0], k[:, 0] = 40.0, 50.0
    v = torch.randn(28, 4, generator=draw)
    hint = "Choose by the scores as they are: rounded, they tie."
    return Case(
        "blocks that score nearly alike", {"q": q, "k": k, "v": v, "size": 4, "top": 2}, hint, exact=True
    )


def _far_below() -> Case:
    """Block means score -20,000 and a little, no two alike: what hides a block must lie lower. All products are exact."""
    draw = torch.Generator().manual_seed(310)
    q, k = (torch.randint(-24, 25, (28, 4), generator=draw).float() / 8 for _ in range(2))
    q[:, 0], k[:, 0] = -400.0, 50.0
    v = torch.randn(28, 4, generator=draw)
    hint = "What may not be chosen must lie below every score: −∞."
    return Case("scores around −20,000", {"q": q, "k": k, "v": v, "size": 4, "top": 2}, hint, exact=True)


def _far_apart() -> Case:
    """Block means score hundreds apart, by one key of each: the other key decides what is read. All products are exact."""
    draw = torch.Generator().manual_seed(9)
    q, k = (torch.randint(-16, 17, (16, 4), generator=draw).float() / 16 for _ in range(2))
    q[:, 0], k[:, 0] = 8.0, 0.0
    k[1::2, 0] = -75.0 * torch.tensor([7.0, 0, 5, 3, 6, 1, 4, 2])
    v = torch.randn(16, 4, generator=draw)
    hint = "Choose by the scores as they are: through a softmax, low ones become zeros, and tie."
    return Case(
        "blocks that score hundreds apart", {"q": q, "k": k, "v": v, "size": 2, "top": 2}, hint, exact=True
    )


def _block_by_block(q: Tensor, k: Tensor, size: int) -> Tensor:
    means = q.unflatten(-2, (-1, size)).mean(-2)
    return _by_mean(means, k, size).repeat_interleave(size, -2)


def _best_keys(q: Tensor, k: Tensor, v: Tensor, size: int, top: int) -> Tensor:
    n = q.shape[-2]
    place = torch.arange(n)
    near = (place[:, None] // size == place // size) & (place <= place[:, None])
    s = (q @ k.mT).masked_fill(place // size >= place[:, None] // size, -math.inf)
    best = torch.zeros_like(s).scatter(-1, s.topk(min(top, n)).indices, 1.0) > 0
    return attention(q, k, v, mask=near | best & s.isfinite())


def _summaries_read(q: Tensor, k: Tensor, v: Tensor, size: int, top: int) -> Tensor:
    n = q.shape[-2]
    place, blocks = torch.arange(n), n // size
    seen = _seen(q, k, size, top)
    near = seen & (place[:, None] // size == place // size)
    far = (seen & ~near)[..., ::size]
    means = [torch.cat((x, x.unflatten(-2, (blocks, size)).mean(-2)), -2) for x in (k, v)]
    return attention(q, *means, mask=torch.cat((near, far), -1))


def _late_mask(q: Tensor, k: Tensor, v: Tensor, size: int, top: int) -> Tensor:
    s = q @ k.mT / math.sqrt(q.shape[-1])
    return (s.softmax(-1) * _seen(q, k, size, top)) @ v


def _scaled(scale: Callable[[Tensor, Tensor], float]) -> Callable:
    return lambda q, k, v, size, top: attention(q, k, v, mask=_seen(q, k, size, top), scale=scale(q, v))


def _with(**options: Any) -> Callable:
    return lambda q, k, v, size, top: routed(q, k, v, size, top, **options)


def _one(which: Callable[[Tensor], Tensor]) -> Score:
    return lambda q, k, size: q @ which(k.unflatten(-2, (-1, size))).mT


exercise(
    "sparse-routed",
    "routed",
    reference=routed,
    cases=[
        _inputs((2, 3), 5, 4, 2, 6, 7),
        _inputs((), 7, 3, 2, 5, 4),
        _inputs((4,), 6, 2, 3, 7, 5),
        _inputs((2,), 9, 5, 1, 3, 6, "9 blocks of which one is chosen"),
        _inputs((), 4, 3, 9, 5, 2, "more blocks wanted than there are", "Then a token sees everything before it."),
        _inputs((3,), 1, 6, 2, 4, 5, "a text of one block", "There is no earlier block: it is causal attention."),
        _inputs((), 8, 1, 3, 6, 4, "blocks of one token"),
        _inputs((), 8, 2, 4, 5, 6, "8 blocks of which four are chosen"),
        _inputs((2,), 1, 1, 1, 5, 3, "a single token"),
        _large(),
        _close(),
        _far_below(),
        _far_apart(),
        *late(_inputs((2, 3), 5, 4, 2, 6, 7, "2 by 3 other texts of 20 tokens", seed=1000)),
    ],
    promises=[gradient("q", "k", "v"), precisions("float64")],
    mistakes=[
        mistake(
            "A token's own block counts among its `top`. It is seen in any case; the `top` are chosen among earlier blocks.",
            _with(among=lambda mine, block: block <= mine),
        ),
        mistake(
            "Later blocks take part in the choice, and are hidden afterwards: too few are left. Hide them before you choose.",
            _with(among=lambda mine, block: mine == mine),
        ),
        mistake(
            "Where there are fewer earlier blocks than `top`, topk chooses hidden ones, too, and they show what comes later.",
            _with(hide=False),
        ),
        mistake("Later blocks are chosen and seen. Only earlier ones may be.", _with(hide=False, among=lambda mine, block: mine == mine)),
        mistake("Of its own block a token sees later tokens, too. It looks back.", _with(own=lambda back: back == back)),
        mistake("Its own block is missing: a token sees it up to itself.", _with(own=lambda back: back < back)),
        mistake("Of its own block a token sees itself alone.", _with(own=lambda back: back == 0)),
        mistake("It does not see itself.", _with(own=lambda back: back > 0)),
        mistake("It chooses the blocks that fit worst.", _with(score=lambda q, k, size: -_by_mean(q, k, size))),
        mistake("It chooses the nearest blocks. What counts is the mean key.", _with(score=lambda q, k, size: torch.arange(q.shape[-2] // size).expand(*q.shape[:-1], -1).to(q.dtype))),
        mistake("It takes one choice for a whole block of queries. Each token chooses for itself.", _with(score=_block_by_block)),
        mistake("It judges a block by its first key. Take the mean of its keys.", _with(score=_one(lambda k: k[..., 0, :]))),
        mistake("It judges a block by its last key. Take the mean of its keys.", _with(score=_one(lambda k: k[..., -1, :]))),
        mistake("It takes the largest entries of a block's keys. Take their mean.", _with(score=_one(lambda k: k.amax(-2)))),
        mistake("It judges a block by its best key. Take the mean of its keys.", _with(score=lambda q, k, size: (q @ k.mT).unflatten(-1, (-1, size)).amax(-1))),
        mistake("It judges a block by the length of its mean key. The query has a say.", _with(score=lambda q, k, size: k.unflatten(-2, (-1, size)).mean(-2).norm(dim=-1)[..., None, :].expand(*q.shape[:-1], -1))),
        mistake("It judges a block by the size of the dot product. A negative one does not fit.", _with(score=lambda q, k, size: _by_mean(q, k, size).abs())),
        mistake("The mean keys ask, and the queries answer: it compares keys with mean queries.", _with(score=lambda q, k, size: _by_mean(k, q, size))),
        mistake("It chooses one block too many.", lambda q, k, v, size, top: routed(q, k, v, size, top + 1)),
        mistake("It chooses one block too few.", lambda q, k, v, size, top: routed(q, k, v, size, top - 1)),
        mistake("It chooses one block. `top` are wanted.", lambda q, k, v, size, top: routed(q, k, v, size, 1)),
        mistake("It chooses single keys. Whole blocks are chosen.", _best_keys),
        mistake("It reads the means of the chosen blocks. All their tokens are seen.", _summaries_read),
        mistake("It sees everything before it. Only the chosen blocks may be seen, and its own.", lambda q, k, v, size, top: attention(q, k, v, is_causal=True)),
        mistake("It sees its own block alone: the chosen ones are missing.", lambda q, k, v, size, top: routed(q, k, v, size, 0)),
        mistake("The mask comes after the softmax, so the rows no longer sum to one. Hide scores, not weights.", _late_mask),
        *in_each_way("The scale is wrong. Divide the scores by √d, of the queries' width.", _scaled(lambda q, v: 1.0), _scaled(lambda q, v: 1 / q.shape[-1])),
        mistake("The scale is wrong: it is the root of the values' width. Divide the scores by √d, of the queries' width.", _scaled(lambda q, v: v.shape[-1] ** -0.5)),
    ],
    praise="Its own block up to itself, and of the earlier ones those whose mean key fits the query best, forward and backward.",
)  # fmt: skip
