"""Exercises on sparse attention: who hears of whom through different layers, and the cheapest stride."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.checks.exercise import Mistake, at_most, case, exercise, late, mistake
from attnlab import masks

Rule = Callable[[Tensor, Tensor, Tensor, int], Tensor]  # of row - column, row, column, stride or window


def in_each_way(message: str, *does: Callable) -> list[Mistake]:
    """One mistake that people write in several ways."""
    return [mistake(message, one) for one in does]


def by_rule(n: int, size: int, rule: Rule) -> Tensor:
    """Write a rule out as a mask (n, n); `size` is the stride or the window that the rule is about."""
    row, column = torch.arange(n)[:, None], torch.arange(n)
    return rule(row - column, row, column, size).expand(n, n)


def heard(masks: Tensor) -> Tensor:
    """The reference."""
    reach = torch.eye(masks.shape[-1], dtype=torch.float64)
    for one in masks:
        reach = ((one.double() @ reach + reach) > 0).double()
    return reach > 0


def _of_layers(layers: int, n: int, share: float, seed: int) -> Tensor:
    """Draw masks at random; a token need not see itself."""
    return torch.rand(layers, n, n, generator=torch.Generator().manual_seed(seed)) < share


def _crowd(layers: int, n: int) -> Tensor:
    """All see all but the last two: one sees the first alone, and nobody sees the other, who sees them all."""
    mask = torch.zeros(n, n, dtype=torch.bool)
    mask[:-2, :-2] = mask[-2, 0] = mask[-1] = True
    return mask.expand(layers, n, n)


def _relayed(ways: int) -> Tensor:
    """Two layers: many see the first token, then the last token sees the many."""
    masks = torch.zeros(2, ways + 2, ways + 2, dtype=torch.bool)
    masks[0, 1:-1, 0] = masks[1, -1, 1:-1] = True
    return masks


def _in_turn(
    step: Callable, start: Callable = lambda n: torch.eye(n), then: Callable = lambda reach: reach > 0
) -> Callable:
    """Go through the layers, with one thing wrong."""

    def answer(masks: Tensor) -> Tensor:
        reach = start(masks.shape[-1])
        for one in masks:
            reach = step(one.float(), reach)
        return then(reach)

    return answer


def _numbers(dtype: torch.dtype) -> Callable:
    """Count the ways, and never ask whether there is one before the end."""
    return lambda masks: _in_turn(
        lambda one, reach: one.to(dtype) @ reach + reach, lambda n: torch.eye(n, dtype=dtype)
    )(masks)


def _shares(masks: Tensor) -> Tensor:
    reach = torch.eye(masks.shape[-1], dtype=torch.float64)
    for one in masks:
        one = one.double() + torch.eye(len(one))
        reach = one / one.sum(1, keepdim=True) @ reach
    return reach > 0


def _yes(x: Tensor) -> Tensor:
    return (x > 0).float()


def _one_mask(which: int) -> Callable:
    return lambda masks: heard(masks[which].expand_as(masks))


TURNED = "The layers stand in the wrong order: each new mask goes to the left of what was heard so far."
COUNTED = "The ways are counted, and their number outgrows the type. Keep yes or no after each product."

exercise(
    "sparse-heard",
    "heard",
    reference=heard,
    cases=[
        *(case("", masks=_of_layers(layers, n, 1.2 / n, seed)) for seed, (layers, n) in enumerate(((2, 9), (3, 11), (5, 7), (4, 13)))),
        case("one layer, in which nobody sees anyone", "Each token keeps what it has: itself.", masks=torch.zeros(1, 6, 6, dtype=torch.bool)),
        case("a single token", masks=torch.ones(3, 1, 1, dtype=torch.bool)),
        case("a window, then every third token", masks=torch.stack((masks.window(12, 2, 0), masks.fixed(12, 3)))),
        case("every third token, then a window", masks=torch.stack((masks.fixed(12, 3), masks.window(12, 2, 0)))),
        case(
            "three layers in which each of 16 sees all others",
            "Ask whether there is a way, not how many there are: 256 of them are 0 in eight bits.",
            masks=~torch.eye(16, dtype=torch.bool).expand(3, 16, 16),
        ),
        case(
            "three layers, of which the second opens nothing",
            "A layer that adds nothing says nothing of the next.",
            masks=masks.window(12, 2, 0) & torch.tensor([1, 0, 1]).bool()[:, None, None],
        ),
        case(
            "258 tokens, of whom one sees 256 that have heard of the first",
            "256 ways are none in eight bits. Numbers need more room, also between two questions of yes or no.",
            masks=_relayed(256),
        ),
        case("90 layers of a window of 1 over 96 tokens", "Each layer adds a place.", masks=masks.window(96, 1, 0).expand(90, 96, 96)),
        case(
            "240 layers and a crowd",
            "The number of ways outgrows float64 there. Keep yes or no after each product.",
            masks=_crowd(240, 40),
        ),
        case(
            "280 layers, in which one token listens to 39 that listen to nobody",
            "It always keeps itself, however little of its attention that is.",
            masks=torch.cat((torch.ones(1, 40), torch.zeros(39, 40))).bool().expand(280, 40, 40),
        ),
    ],
    mistakes=[
        mistake(TURNED, lambda masks: heard(masks.flip(0))),
        mistake("What a token has heard stays with it, even where its mask hides the token itself.", _in_turn(lambda one, reach: _yes(one @ reach))),
        mistake("It looks at one layer after the other and joins what they open. A layer passes on what the one before it brought.", lambda masks: masks.any(0) | torch.eye(masks.shape[-1]).bool()),
        mistake("It takes all layers alike, as the first one. Each has a mask of its own.", _one_mask(0)),
        mistake("It takes all layers alike, as the last one. Each has a mask of its own.", _one_mask(-1)),
        mistake("The first layer is missing.", lambda masks: heard(masks[1:])),
        mistake("The last layer is missing.", lambda masks: heard(masks[:-1])),
        mistake("That multiplies entry by entry. A way through two layers needs a matrix product, `@`.", lambda masks: masks.all(0)),
        mistake("It is transposed: row i says of whom i has heard.", lambda masks: heard(masks).mT),
        mistake("The masks are transposed: row i says whom i sees.", lambda masks: heard(masks.mT)),
        mistake("Each token has heard of itself before the first layer. Begin with the identity.", lambda masks: _in_turn(lambda one, reach: _yes(one @ reach + reach), lambda n: torch.zeros(n, n))(masks)),
        mistake("Before the first layer a token has heard of itself alone.", _in_turn(lambda one, reach: _yes(one @ reach + reach), lambda n: torch.ones(n, n))),
        *in_each_way(COUNTED, *(_numbers(dtype) for dtype in (torch.uint8, torch.int8, torch.int64, torch.half, torch.float, torch.double))),
        mistake("It averages over the ways, and the share of a long one vanishes. Keep yes or no after each product.", _shares),
        mistake("It holds numbers. The answer is boolean: True where one has heard of the other.", lambda masks: heard(masks).float()),
    ],
    praise="What each layer opens, passed on by the next, in the right order, and yes or no after each product.",
)  # fmt: skip


def _keys(i: Tensor, s: Tensor) -> Tensor:
    """How many keys row i has at stride s."""
    return torch.minimum(i, s) + 1 + (i // s - 1).clamp_min(0)


def _cheapest(keys: Callable[[Tensor, Tensor], Tensor] = _keys, last: bool = False) -> Callable[[int], int]:
    """Find the stride with the fewest keys in all; of equals the smallest, or with `last` the largest."""

    def best_stride(n: int) -> int:
        found = keys(torch.arange(n), torch.arange(1, n + 1)[:, None]).sum(1)  # all strides at once
        best = (found == found.min()).nonzero().flatten()
        return int(best[-1 if last else 0]) + 1

    return best_stride


def _pairs(n: int) -> int:
    return int(_keys(torch.arange(n), torch.tensor(_cheapest()(n))).sum())


TALL = 120
"""Tokens of the case in which tables are looked for."""

exercise(
    "sparse-stride",
    "best_stride",
    reference=_cheapest(),
    cases=[
        *(case("", n=n) for n in (57, 61, TALL, 172, 1, 2, 3, 4, 5, 8, 13, 30, 34)),
        *late(case("", n=360)),
    ],
    promises=[
        at_most(
            "The answer is right, but it builds tables of n × n numbers. Add up the rows, one stride after the other.",
            largest=lambda n: n * n / 4 if n == TALL else math.inf,
            bytes=lambda n: n * n if n == TALL else math.inf,
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
            _cheapest(lambda i, s: torch.minimum(i, s) + i // s - 1),
        ),
        mistake("Distances 0 and s are counted twice: as neighbours, and as multiples of s.", _cheapest(lambda i, s: torch.minimum(i, s) + i // s)),
        mistake(
            "A far token of each row is missing: of its i // s + 1 multiples, two are neighbours.",
            _cheapest(lambda i, s: torch.minimum(i, s) + (i // s - 2).clamp_min(0)),
        ),
        mistake("The neighbours have been forgotten: a wider neighbourhood is not free.", _cheapest(lambda i, s: (i // s - 1).clamp_min(0))),
        mistake("Rows count from 0: row 0 sees itself only.", _cheapest(lambda i, s: _keys(i + 1, s))),
        mistake(
            "i // s rounds down: a multiple of s that would lie before the start is no token.",
            _cheapest(lambda i, s: torch.minimum(i, s) + (-(-i // s) - 1).clamp_min(0)),
        ),
        mistake("That counts the last row only. Rows near the start have fewer pairs.", _cheapest(lambda i, s: _keys(i, s)[:, -1:])),
    ],
    praise="The fewest pairs, by exact count, without a table of n × n. It lies near √(n/2), since a causal mask opens half of the far pairs.",
)  # fmt: skip
