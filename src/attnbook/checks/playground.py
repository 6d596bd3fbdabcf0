"""Exercises of the playground: Adam, the error of an accuracy that is measured on a sample, attention's backward pass."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.optim.adam import adam as functional_adam

from attnbook.checks.exercise import BY_HAND, case, draws, exercise, late, mistake, precisions, without
from attnbook.checks.playground_training import cover_with, train_with_adam, train_with_backward
from attnbook.checks.values import Tolerance

Slope = Callable[[Tensor], Tensor]


def _adam(
    p: Tensor,
    slope: Slope,
    steps: int,
    rate: float,
    *,
    keep: tuple[float, float] = (0.9, 0.999),
    corrected: tuple[bool, bool] = (True, True),
    by: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda m, v, g: m / (v.sqrt() + 1e-8),
    still: bool = False,
    sign: float = -1.0,
) -> Tensor:
    """Train with Adam, or with what somebody takes for it."""
    p, mean, square = p.clone(), torch.zeros_like(p), torch.zeros_like(p)
    first = slope(p)
    for t in range(1, steps + 1):
        g = first if still else slope(p)
        mean = keep[0] * mean + (1 - keep[0]) * g
        square = keep[1] * square + (1 - keep[1]) * g * g
        m = mean / (1 - keep[0] ** t) if corrected[0] else mean
        v = square / (1 - keep[1] ** t) if corrected[1] else square
        p = p + sign * rate * by(m, v, g)
    return p


def _like(**changes: object) -> Callable:
    return lambda p, slope, steps, rate: _adam(p, slope, steps, rate, **changes)


def adam(p: Tensor, slope: Slope, steps: int, rate: float) -> Tensor:
    """The reference."""
    return _adam(p, slope, steps, rate)


def _bowl(*widths: float, around: float = 1.0) -> Slope:
    """The slope of a bowl, steeper in some directions than in others, and flat where the width is 0."""
    return lambda p: (p - around) * torch.tensor(widths, dtype=p.dtype)


def _table(words: int, tags: int) -> Slope:
    """The slope of the cross-entropy of a table of scores: a tagger that sees a word and nothing else."""
    share = torch.rand(words, tags, generator=torch.Generator().manual_seed(words)).double()
    share = share / share.sum()
    return lambda p: share.sum(-1, keepdim=True).to(p) * p.softmax(-1) - share.to(p)


def _from(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


exercise(
    "playground-adam",
    "adam",
    reference=adam,
    cases=[
        case("one step", "A first step is as long as the rate, in each direction.", p=_from(3), slope=_bowl(1.0, 30.0, 0.01), steps=1, rate=0.1),
        case("five steps", p=_from(4), slope=_bowl(1.0, 30.0, 0.01, 2.0), steps=5, rate=0.05),
        case("a direction with no slope", "There both running means are 0: that is what the 1e-8 is for.", p=_from(2), slope=_bowl(0.0, 3.0), steps=3, rate=0.1),
        case("slopes of a hundred-millionth", "Here the 1e-8 is as large as the root beside it, and where it stands matters.", p=_from(2), slope=_bowl(1e-8, 3e-8), steps=3, rate=0.05),
        case("no step at all", "After 0 steps p is what it was.", p=_from(3), slope=_bowl(1.0, 2.0, 3.0), steps=0, rate=0.1),
        case("a table of tags for 17 words, trained for 10 steps", p=_from(17, 6), slope=_table(17, 6), steps=10, rate=0.05),
        # Late: what goes astray amplifies rounding, and after so many steps two ways of writing one slip differ.
        *late(
            case("a table of tags for 5 words, trained for 100 steps", p=_from(5, 3).double(), slope=_table(5, 3), steps=100, rate=0.2),
            case("five other steps", p=-_from(4), slope=_bowl(2.0, 0.5, 1.0, 20.0, around=-0.2), steps=5, rate=0.05),
            case("a table of tags for 45 words, trained for 250 steps", p=_from(45, 43).double(), slope=_table(45, 43), steps=250, rate=0.05),
        ),
    ],
    mistakes=[
        mistake("That is plain gradient descent: p − rate · slope. Adam divides a running mean of the slope by the root of one of its square.", _like(by=lambda m, v, g: g)),
        mistake("That is momentum: the running mean of the slope. It is not yet divided by the root of the running mean of its square.", _like(by=lambda m, v, g: m)),
        mistake("That is momentum: the running mean of the slope. It is not yet divided by the root of the running mean of its square.", _like(by=lambda m, v, g: m, corrected=(False, True))),
        mistake("Neither running mean is corrected. Both begin at 0, so after t steps divide them by 1 − 0.9ᵗ and 1 − 0.999ᵗ.", _like(corrected=(False, False))),
        mistake("The mean of the slope is not corrected: divide it by 1 − 0.9ᵗ.", _like(corrected=(False, True))),
        mistake("The mean of the square is not corrected: divide it by 1 − 0.999ᵗ.", _like(corrected=(True, False))),
        mistake("The root is missing: divide by the root of the mean of the square.", _like(by=lambda m, v, g: m / (v + 1e-8))),
        mistake("1e-8 stands under the root. It is added to the root.", _like(by=lambda m, v, g: m / (v + 1e-8).sqrt())),
        mistake("1e-8 stands under the root. It is added to the root.", _like(by=lambda m, v, g: m / (v + 1e-16).sqrt())),
        mistake("1e-8 is missing: where the slope is 0, 0 is divided by 0.", _like(by=lambda m, v, g: m / v.sqrt())),
        mistake("The slope itself is divided by the root. Divide its running mean.", _like(by=lambda m, v, g: g / (v.sqrt() + 1e-8))),
        mistake("It takes the sign of the slope. That is Adam's first step, and no other.", _like(by=lambda m, v, g: g.sign())),
        mistake("The two 0.9 and 0.999 have changed places: 0.9 is for the slope, 0.999 for its square.", _like(keep=(0.999, 0.9))),
        mistake("Both running means keep 0.9. That of the square keeps 0.999.", _like(keep=(0.9, 0.9))),
        mistake("Both running means keep 0.999. That of the slope keeps 0.9.", _like(keep=(0.999, 0.999))),
        mistake("It goes up the slope. Subtract the step.", _like(sign=1.0)),
        mistake("The slope is asked for once. It changes with p: ask at every step.", _like(still=True)),
        mistake("It takes one step less than it should.", lambda p, slope, steps, rate: _adam(p, slope, max(steps - 1, 0), rate)),
        mistake("It takes one step more than it should.", lambda p, slope, steps, rate: _adam(p, slope, steps + 1, rate)),
        mistake("It takes one step, whatever is asked for.", lambda p, slope, steps, rate: _adam(p, slope, 1, rate)),
    ],
    praise="Your Adam trains a table of tags to the very numbers of the reference, over 1 to 250 steps.",
    promises=[
        without("Here the steps are yours. It leaves them to torch's own optimiser.",
                *(inspect.unwrap(one.step) for one in (torch.optim.Adam, torch.optim.AdamW, torch.optim.NAdam, torch.optim.RAdam)),
                functional_adam),
    ],
    use=train_with_adam,
)  # fmt: skip


def _error(right: Tensor, words: Tensor) -> Tensor:
    p = right.sum() / words.sum()
    return (right - p * words).square().sum().sqrt() / words.sum()


def _sample(right: list[int], words: list[int]) -> dict[str, Tensor]:
    return {
        "right": torch.tensor(right, dtype=torch.float64),
        "words": torch.tensor(words, dtype=torch.float64),
    }


exercise(
    "playground-error",
    "standard_error",
    reference=lambda right, words: _error(right, words),
    cases=[
        case("five sentences", **_sample([3, 4, 5, 2, 4], [3, 4, 6, 4, 4])),
        case("twelve sentences", **_sample([2, 8, 4, 3, 6, 5, 1, 7, 2, 4, 4, 3], [2, 8, 5, 4, 6, 5, 3, 7, 2, 6, 4, 4])),
        case("errors that come together", "One sentence has all the errors: its words are no independent evidence.", **_sample([8, 8, 0, 8], [8, 8, 8, 8])),
        case("all right", "Then it is 0.", **_sample([3, 5, 4], [3, 5, 4])),
        case("the same share in every sentence", "Then it is 0, whatever the share.", **_sample([1, 2, 3], [2, 4, 6])),
        case("one long sentence among short ones", **_sample([1, 2, 2, 30, 1], [2, 2, 3, 40, 2])),
        case("ten times as many sentences", **_sample([2, 8, 4, 3, 6, 5, 1, 7, 2, 4] * 10, [2, 8, 5, 4, 6, 5, 3, 7, 2, 6] * 10)),
    ],
    mistakes=[
        mistake("That is the error if words were drawn one by one. Sentences are drawn: the words of one come together.",
                lambda right, words: (lambda p: (p * (1 - p) / words.sum()).sqrt())(right.sum() / words.sum())),
        mistake("It treats every sentence as one throw that comes out right or wrong. Take how far each one's right words lie from p times its words.",
                lambda right, words: (lambda p: (p * (1 - p) / len(words)).sqrt())(right.sum() / words.sum())),
        mistake("That is the spread of the sentences' shares, each counting alike. The accuracy counts words: a long sentence has more of them.",
                lambda right, words: (right / words).std(correction=0) / len(words) ** 0.5),
        mistake("That is the spread of the sentences' shares, each counting alike. The accuracy counts words: a long sentence has more of them.",
                lambda right, words: (right / words).std() / len(words) ** 0.5),
        mistake("It sums the distances before it squares them, and they sum to 0. Square first.",
                lambda right, words: ((right - right.sum() / words.sum() * words).sum() ** 2).sqrt() / words.sum()),
        mistake("The root is missing.", lambda right, words: (right - right.sum() / words.sum() * words).square().sum() / words.sum()),
        mistake("The sum of the squares is divided by the number of words before the root. Divide the root by it.",
                lambda right, words: ((right - right.sum() / words.sum() * words).square().sum() / words.sum()).sqrt()),
        mistake("The mean of the squares is taken. It is their sum whose root is divided by the number of words.",
                lambda right, words: (right - right.sum() / words.sum() * words).square().mean().sqrt() / words.sum()),
        mistake("The squares are those of a standard deviation over n − 1 sentences. Here their plain sum is wanted.",
                lambda right, words: _error(right, words) * (len(words) / (len(words) - 1)) ** 0.5),
        mistake("It is divided by the number of sentences. The accuracy is a share of the words.",
                lambda right, words: (right - right.sum() / words.sum() * words).square().sum().sqrt() / len(words)),
        mistake("Each sentence is compared with the mean number of right words. A long one has more by its length: compare with p times its words.",
                lambda right, words: (right - right.mean()).square().sum().sqrt() / words.sum()),
        mistake("p is the mean of the sentences' shares. It is the share of all words.",
                lambda right, words: (right - (right / words).mean() * words).square().sum().sqrt() / words.sum()),
        mistake("Absolute distances are summed. Take squares, and the root of their sum.",
                lambda right, words: (right - right.sum() / words.sum() * words).abs().sum() / words.sum()),
        mistake("That is the accuracy.", lambda right, words: right.sum() / words.sum()),
    ],
    praise="The error of an accuracy whose words come in sentences: that which stands behind the ± of the figure.",
    within=Tolerance(1e-7, 1e-6),
    use=cover_with,
)  # fmt: skip


def _attend_back(
    scores_back: Callable[[Tensor, Tensor], Tensor] = lambda p, g: p * (g - (p * g).sum(-1, keepdim=True)),
    *,
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0),
    value: Callable[[Tensor, Tensor], Tensor] = lambda p, slope: p.mT @ slope,
    keys: Callable[[Tensor, Tensor], Tensor] = lambda j, q: j.mT @ q,
    queries: Callable[[Tensor, Tensor], Tensor] = lambda j, k: j @ k,
) -> Callable:
    """Attention's backward pass; `scale`: powers of 1/√d in scores, in dq and in dk."""

    def backward(q: Tensor, k: Tensor, v: Tensor, slope: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        root = 1 / math.sqrt(q.shape[-1])
        p = (q @ k.mT * root ** scale[0]).softmax(-1)
        j = scores_back(p, slope @ v.mT)
        return queries(j, k) * root ** scale[1], keys(j, q) * root ** scale[2], value(p, slope)

    return backward


exercise(
    "playground-backward",
    "backward",
    reference=_attend_back(),
    cases=[
        *draws(q="... n d", k="... m d", v="... m w", slope="... n w", lead=[(), (2,), (2, 3), (4,)], seeds=4),
        case("scores far apart", "Their exponentials overflow, unless the largest is subtracted first; torch's softmax does it.",
             q=60 * _from(3, 4).double(), k=60 * _from(5, 4).double(), v=_from(5, 2).double(), slope=_from(3, 2).double()),
        case("a single key", "It has all the weight whatever the query is: no slope reaches query or key.",
             q=_from(2, 3), k=_from(1, 3), v=_from(1, 4), slope=_from(2, 4)),
    ],
    promises=[
        precisions("float64"),
        BY_HAND,
    ],
    mistakes=[
        mistake("The weighted mean of the slopes is not subtracted on the way through the softmax.", _attend_back(lambda p, g: p * g)),
        mistake("On the way through the softmax a plain mean is subtracted. The mean has the weights p.", _attend_back(lambda p, g: p * (g - g.mean(-1, keepdim=True)))),
        mistake("That is the diagonal of the softmax's Jacobian alone. The other entries of a row are −p_i p_j.", _attend_back(lambda p, g: p * (1 - p) * g)),
        mistake("The factor p of the softmax's backward pass is missing.", _attend_back(lambda p, g: g - (p * g).sum(-1, keepdim=True))),
        mistake("The mean on the way through the softmax runs down the columns. Each row of weights belongs to one query.",
                _attend_back(lambda p, g: p * (g - (p * g).sum(-2, keepdim=True)))),
        mistake("The softmax's backward pass is left out: what reaches the weights is not yet what reaches the scores.", _attend_back(lambda p, g: g)),
        mistake("The scores were scaled by 1/√d, so what reaches queries and keys is scaled too.", _attend_back(scale=(1, 0, 0))),
        mistake("The slope of the keys lacks its 1/√d.", _attend_back(scale=(1, 1, 0))),
        mistake("The slope of the queries lacks its 1/√d.", _attend_back(scale=(1, 0, 1))),
        mistake("The scores are not scaled on the way forward.", _attend_back(scale=(0, 1, 1))),
        mistake("Nothing is scaled: the scores are q·k/√d.", _attend_back(scale=(0, 0, 0))),
        mistake("What reaches queries and keys is divided by d. One root of it is enough.", _attend_back(scale=(1, 2, 2))),
        mistake("The three come in another order: queries, keys, values.", lambda q, k, v, slope: _attend_back()(q, k, v, slope)[::-1]),
        mistake("The values' slope is taken with the slopes of the weights. A value counts as much as its weight: p transposed, times the slope.",
                lambda q, k, v, slope: (*_attend_back()(q, k, v, slope)[:2], (slope @ v.mT).mT @ slope)),
    ],
    praise="The backward pass of attention, with a batch and without: what the page computes at every step.",
    use=train_with_backward,
)  # fmt: skip
