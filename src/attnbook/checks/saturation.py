"""Exercises on saturation: back through a softmax and its temperature, length, and how sharp a model's heads are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from attnbook.checks.exercise import BY_HAND, at_most, case, draws, exercise, late, mistake, precisions, rows
from attnbook.checks.values import Difference, difference, number

LEADS = ((), (2,), (3,), (2, 4), (1,), (4, 3))


class Slopes(NamedTuple):
    """What `backward` returns."""

    gradient_of_the_scores: Tensor
    gradient_of_the_temperature: float


def backward(scores: Tensor, temperature: float, gradient: Tensor) -> Slopes:
    """The reference."""
    through = _through((scores / temperature).softmax(-1), gradient)
    return _slopes(through / temperature, -(through * scores).sum() / temperature**2)


def _through(p: Tensor, g: Tensor) -> Tensor:
    return p * (g - (p * g).sum(-1, keepdim=True))


def _slopes(scores: Tensor, temperature: Tensor) -> Slopes:
    return Slopes(scores, temperature.item() if temperature.numel() == 1 else temperature)


def _backward(
    through: Callable[[Tensor, Tensor], Tensor] = _through,
    of_scores: Callable[[Tensor, float], Tensor] = lambda j, t: j / t,
    of_temperature: Callable[..., Tensor] = lambda j, s, t, g: -(j * s).sum() / t**2,
    weights: Callable[[Tensor, float], Tensor] = lambda s, t: (s / t).softmax(-1),
) -> Callable:
    """A `backward` with another step through the softmax, or another last step."""

    def does(s: Tensor, t: float, g: Tensor) -> Slopes:
        j = through(weights(s, t), g)
        return _slopes(of_scores(j, t), of_temperature(j, s, t, g))

    return does


def _normal(spread: float) -> Callable:
    return lambda s, generator: spread * torch.randn(*s.lead, s.n, generator=generator, dtype=torch.float64)


LONG = 200
"""Scores of a row whose matrix of pairs dwarfs it."""
NO_MATRIX = "It builds a matrix. Multiply out (diag(p) − p pᵀ) g: none is needed."
OWN_MEAN = "The mean runs over more than one row. Every row has a mean of its own: sum over the last axis."

exercise(
    "saturation-backward",
    "backward",
    reference=backward,
    cases=[
        *draws(scores=_normal(1.5), temperature=lambda s, generator: round(0.4 + 2 * torch.rand((), generator=generator).item(), 2),
               gradient=_normal(1.0), n=(5, 11, 7, 9), lead=LEADS, seeds=6, large=dict(n=41)),
        *draws(scores=_normal(3.0), temperature=lambda s, generator: 1.5, gradient=_normal(1.0), n=(LONG,), lead=[(2,), ()], seeds=2, large=None),
        case("one score far ahead", "Its exponential overflows, unless the largest is subtracted first; torch's softmax does it.",
             scores=torch.tensor([[400.0, 0.0, 1.0]], dtype=torch.float64), temperature=0.5, gradient=torch.tensor([[1.0, -2.0, 0.5]], dtype=torch.float64)),
        case("a single key", "Its gradient is the mean itself: nothing is left.",
             scores=torch.tensor([[2.0], [-1.0]], dtype=torch.float64), temperature=0.7, gradient=torch.tensor([[2.0], [0.5]], dtype=torch.float64)),
        *late(case("two large scores near each other", "Clamped scores have lost their difference. Nothing needs to be clamped: torch's softmax subtracts the largest.",
                   scores=torch.tensor([[24.0, 23.5, 0.3]], dtype=torch.float64), temperature=0.5, gradient=torch.tensor([[0.2, 1.0, -1.5]], dtype=torch.float64))),
    ],
    promises=[
        precisions("float32"),
        at_most(
            NO_MATRIX,
            largest=lambda scores, temperature, gradient: 4 * scores.numel() if scores.shape[-1] >= LONG else math.inf,
            bytes=lambda scores, temperature, gradient: 400 * scores.numel() if scores.shape[-1] >= LONG else math.inf,
        ),
        BY_HAND,
    ],
    mistakes=[
        mistake("The weighted mean of the gradient is not subtracted: what reaches the scores of a row sums to zero.", _backward(lambda p, g: p * g)),
        mistake("It subtracts the plain mean of the gradient. The mean has the weights p.", _backward(lambda p, g: p * (g - g.mean(-1, keepdim=True)))),
        mistake("It averages p g over the keys once more. The p are weights already: take the sum.", _backward(lambda p, g: p * (g - (p * g).mean(-1, keepdim=True)))),
        mistake("That is the diagonal of the Jacobian alone. The other entries of a row are −p_i p_j.", _backward(lambda p, g: p * (1 - p) * g)),
        mistake("The factor p before the bracket is missing.", _backward(lambda p, g: g - (p * g).sum(-1, keepdim=True))),
        mistake("The mean is added. Subtract it.", _backward(lambda p, g: p * (g + (p * g).sum(-1, keepdim=True)))),
        mistake(OWN_MEAN, _backward(lambda p, g: p * (g - (p * g).sum()))),
        mistake(OWN_MEAN, _backward(lambda p, g: p * (g - (p * g).sum(0, keepdim=True)))),
        mistake("The weights are those at temperature 1. Divide the scores first.", _backward(weights=lambda s, t: s.softmax(-1))),
        mistake("The scores are multiplied by the temperature. They are divided by it.", _backward(weights=lambda s, t: (s * t).softmax(-1))),
        mistake("That is the gradient of s/T, what the softmax gets. One more step leads to the scores: divide by T.", _backward(of_scores=lambda j, t: j)),
        mistake("What reaches s/T is multiplied by T on its way to the scores. The derivative of s/T by s is 1/T.", _backward(of_scores=lambda j, t: j * t)),
        mistake("The sign of the temperature's gradient: a higher temperature makes s/T smaller, so its derivative is −s/T².",
                _backward(of_temperature=lambda j, s, t, g: (j * s).sum() / t**2)),
        mistake("The derivative of s/T by T is −s/T²; the temperature's gradient has one T too few.", _backward(of_temperature=lambda j, s, t, g: -(j * s).sum() / t)),
        mistake("The derivative of s/T by T is −s/T²; the temperature's gradient has one T too many.", _backward(of_temperature=lambda j, s, t, g: -(j * s).sum() / t**3)),
        mistake("The derivative of s/T by T is −s/T². The division by T² is missing.", _backward(of_temperature=lambda j, s, t, g: -(j * s).sum())),
        mistake("The factor s of the temperature's gradient is missing: the derivative of s/T by T is −s/T².", _backward(of_temperature=lambda j, s, t, g: -j.sum() / t**2)),
        mistake("The temperature's gradient is taken before the softmax. What reaches s/T is p(g − ḡ), not g.", _backward(of_temperature=lambda j, s, t, g: -(g * s).sum() / t**2)),
        mistake("All rows share one temperature, so its gradient is one number: add up those of the rows.",
                _backward(of_temperature=lambda j, s, t, g: -(j * s).sum(-1) / t**2)),
        mistake("All rows share one temperature, and its gradient is the sum over all of them, not the mean.",
                _backward(of_temperature=lambda j, s, t, g: -(j * s).sum(-1).mean() / t**2)),
    ],
    praise="Both gradients, one by a row and one for all rows together, and no matrix built.",
)  # fmt: skip


def ahead(n: int, spread: float, weight: float, temperature: float) -> float:
    """The reference."""
    return temperature * (_log(n - 1) + _log(weight / (1 - weight))) + spread**2 / (2 * temperature)


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


@lru_cache(maxsize=64)
def _others(n: int, spread: float, temperature: float) -> Tensor:
    """The logarithm of the sum of the other keys' exponentials, in 400 sampled rows."""
    scores = torch.randn(400, n - 1, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
    return (spread / temperature * scores).logsumexp(-1)


def _near_the_weight(
    got: Any, want: float, n: int, spread: float, weight: float, temperature: float
) -> Difference | None:
    """Let a key have the score that is said, and see what weight it gets: a tenth off in the log odds will do."""
    said = number(got)
    if said is None or not math.isfinite(said):
        return difference(got, want)
    reached = (float(said) / temperature - _others(n, spread, temperature)).sigmoid().mean().item()
    off = abs(_log(reached) - _log(1 - reached) - math.log(weight / (1 - weight)))
    if off <= 0.1:
        return None
    text = f"With a score of {float(said):.4g} it gets {reached:.2g} of the weight, the mean of 400 sampled rows; {weight:g} was asked."
    return Difference(text, (f"{weight:g}",), (f"{reached:.2g}",), (True,))


exercise(
    "saturation-ahead",
    "ahead",
    reference=ahead,
    cases=[
        *rows("n spread weight temperature", (1000, 1.0, 0.5, 1.0), (64, 0.0, 0.9, 1.0), (4000, 1.5, 0.9, 1.5),
              (300, 0.6, 0.25, 0.5), (2000, 0.9, 0.02, 0.75), (9000, 3.0, 0.5, 2.5)),
        case("two keys, the other one at 0", "Less than half of the weight, against one other key at 0: the score lies below 0.", n=2, spread=0.0, weight=0.2, temperature=3.0),
        case("less than an equal share", "Equal scores give 1/400: it has to stay behind.", n=400, spread=0.0, weight=0.0005, temperature=2.0),
        *late(*rows("n spread weight temperature", (1000, 0.7, 0.8, 1.2))),
    ],
    compare=_near_the_weight,
    mistakes=[
        mistake("The other keys' exponentials have the mean e^(σ²/2T²), not 1: the spread of their scores counts.",
                lambda n, s, w, t: t * (math.log(n - 1) + math.log(w / (1 - w)))),
        mistake("The variance comes in whole. The mean of e^x is e^(variance/2).", lambda n, s, w, t: ahead(n, s * 2**0.5, w, t)),
        mistake("It takes the spread where the variance belongs: the mean of e^x is e^(variance/2).",
                lambda n, s, w, t: t * (math.log(n - 1) + math.log(w / (1 - w))) + s / (2 * t)),
        mistake("The weight's odds are missing: against n − 1 others with this score it gets one half, whatever was asked.", lambda n, s, w, t: ahead(n, s, 0.5, t)),
        mistake("It takes ln w. What the scores fix is a ratio, the weight against the remainder: w/(1 − w).",
                lambda n, s, w, t: t * (math.log(n - 1) + math.log(w)) + s**2 / (2 * t)),
        mistake("The odds are upside down: a larger weight needs a larger score.", lambda n, s, w, t: ahead(n, s, 1 - w, t)),
        mistake("It counts n other keys. There are n − 1.", lambda n, s, w, t: ahead(n + 1, s, w, t)),
        mistake("The number of keys is missing: each of the others has its exponential in the sum.", lambda n, s, w, t: ahead(2, s, w, t)),
        mistake("The temperature is forgotten.", lambda n, s, w, t: ahead(n, s, w, 1.0)),
        mistake("That is s/T, what the softmax gets. The score is T times as large.", lambda n, s, w, t: ahead(n, s, w, t) / t),
        mistake("The temperature multiplies all of it. The others' spread is divided by it, too: their variance is σ²/T².",
                lambda n, s, w, t: t * ahead(n, s, w, 1.0)),
        mistake("The others' variance is σ²/T², and T times that is left in the score: one T below, not two.",
                lambda n, s, w, t: t * (math.log(n - 1) + math.log(w / (1 - w))) + s**2 / (2 * t**2)),
        mistake("The spread's term lacks its temperature: the others' variance is σ²/T², and T times half of it is σ²/(2T).",
                lambda n, s, w, t: t * (math.log(n - 1) + math.log(w / (1 - w))) + s**2 / 2),
        mistake("It never goes below 0. A key that is to get less than the others has to stay behind them.", lambda n, s, w, t: max(0.0, ahead(n, s, w, t))),
        mistake("It divides by the temperature. Scores are divided by it, so the lead must be T times as large.", lambda n, s, w, t: ahead(n, s, w, 1 / t)),
        mistake("The softmax has base e: take natural logarithms.", lambda n, s, w, t: t * (math.log2(n - 1) + math.log2(w / (1 - w))) + s**2 / (2 * t)),
        mistake("The softmax has base e: take natural logarithms.", lambda n, s, w, t: t * (math.log10(n - 1) + math.log10(w / (1 - w))) + s**2 / (2 * t)),
    ],
    praise="With this score a key gets the weight that was asked, among two keys and among thousands, above an equal share and below it.",
)  # fmt: skip


def evenness(weights: Tensor, lengths: Tensor) -> Tensor:
    """The reference, and the frame of its mistakes."""
    return _evenness()(weights, lengths)


def _share(p: Tensor, lengths: Tensor) -> Tensor:
    return torch.special.entr(p).sum(-1) / lengths.to(p.dtype).log()[:, None, None]


def _real(p: Tensor, lengths: Tensor) -> Tensor:
    return torch.arange(p.shape[-1]) < lengths[:, None]  # (batch, n)


def _asked(p: Tensor, lengths: Tensor) -> Tensor:
    return _real(p, lengths) & (lengths > 1)[:, None]


def _evenness(share: Callable = _share, asked: Callable = _asked) -> Callable:
    """An `evenness` with another number for a row, or with other rows."""

    def does(p: Tensor, lengths: Tensor) -> Tensor:
        rows = asked(p, lengths)  # (batch, n)
        return torch.where(rows[:, None], share(p, lengths), 0.0).sum((0, 2)) / rows.sum()

    return does


def _by_sentence(p: Tensor, lengths: Tensor) -> Tensor:
    means = [evenness(p[at : at + 1], lengths[at : at + 1]) for at in range(len(p)) if lengths[at] > 1]
    return torch.stack(means).mean(0)


def _batch(
    lengths: Sequence[int], heads: int, n: int, spread: float = 2.0, seed: int = 0, back: bool = False
) -> dict[str, Tensor]:
    """Weights of a padded batch, as a layer makes them: a padded query looks at the real keys too."""
    lengths = torch.tensor(lengths)
    scores = spread * torch.randn(len(lengths), heads, n, n, generator=torch.Generator().manual_seed(seed))
    scores = (
        scores * torch.arange(1, heads + 1)[:, None, None] / heads
    )  # each head has a sharpness of its own
    scores = scores.masked_fill(torch.arange(n) >= lengths[:, None, None, None], -torch.inf)
    if back:  # a query looks at itself and at the words before it
        scores = scores.masked_fill(torch.ones(n, n).tril() == 0, -torch.inf)
    return {"weights": scores.softmax(-1), "lengths": lengths}


def _not_numbers(weights: Tensor, lengths: Tensor) -> dict[str, Tensor]:
    """Rows of padding as a softmax makes them that has nothing to choose from."""
    padding = torch.arange(weights.shape[-1]) >= lengths[:, None]
    return {"weights": weights.masked_fill(padding[:, None, :, None], torch.nan), "lengths": lengths}


def _numbers(out: Any) -> Any:
    """One number for each head: a tensor, or a list or an array of them."""
    if isinstance(out, np.ndarray):
        return torch.from_numpy(out)
    return torch.stack([torch.as_tensor(x) for x in out]) if isinstance(out, list | tuple) and out else out


exercise(
    "saturation-sharpness",
    "evenness",
    reference=evenness,
    read=_numbers,
    cases=[
        case("sentences of 5, 2 and 4 words", "", **_batch((5, 2, 4), 2, 5)),
        case("sentences of 3, 7, 2 and 6 words", "", **_batch((3, 7, 2, 6), 5, 7, seed=1)),
        case("a sentence by itself, of 9 words", "", **_batch((9,), 4, 9, seed=2)),
        case("a sentence of one word among others", "Its only key has all the weight, and ln 1 is 0: such a row has nothing to choose, and does not count.",
             **_batch((6, 1, 3), 4, 6, seed=3)),
        case("more padding than words", "", **_batch((2, 3), 3, 8, seed=4)),
        case("weights of exactly 0 and 1", "0 times ln 0 counts as 0: torch.special.entr knows that.", **_batch((4, 2, 3), 2, 4, spread=2000.0, seed=5)),
        case("equal weights", "Each head is at 1 there.", **_batch((4, 3), 3, 4, spread=0.0, seed=6)),
        case("weights that only look back", "A row has weight 0 after its own word, and is divided by ln of the sentence's length all the same.",
             **_batch((6, 2, 4), 3, 6, seed=11, back=True)),
        case("rows of padding that are not numbers", "They mean nothing, and NaN times 0 is NaN: put 0 in their place with torch.where.",
             **_not_numbers(**_batch((5, 2, 4), 2, 6, seed=7))),
        *late(
            case("sentences of 3, 5 and 4 words", "", **_batch((3, 5, 4), 2, 5, seed=8)),
            case("sentences of 43 and 20 words, 42 heads", "", **_batch((43, 20), 42, 43, seed=9)),
            case("41 sentences", "", **_batch(tuple(1 + i % 6 for i in range(41)), 2, 6, seed=10)),
        ),
    ],
    mistakes=[
        mistake("Rows of padding are counted. Only the first `lengths` queries of a sentence are words.", _evenness(asked=lambda p, length: (length > 1)[:, None].expand(len(length), p.shape[-1]))),
        mistake("Rows of padding add to the sum, but not to the number of rows that it is divided by.",
                lambda p, length: torch.where((length > 1)[:, None, None], _share(p, length), 0.0).sum((0, 2)) / _asked(p, length).sum()),
        mistake("Padding is taken out of the sum, but counted in the number of rows.",
                lambda p, length: torch.where(_asked(p, length)[:, None], _share(p, length), 0.0).sum((0, 2)) / (len(length) * p.shape[-1])),
        mistake("It divides by the logarithm of the padded length. The most a row can have is ln of its own sentence's length.",
                _evenness(lambda p, length: torch.special.entr(p).sum(-1) / math.log(max(p.shape[-1], 2)))),
        mistake("Those are nats. Divide each row by the most that it can have, ln of the sentence's length.", _evenness(lambda p, length: torch.special.entr(p).sum(-1))),
        mistake("It divides by the length. The most entropy that a row can have is its logarithm.", _evenness(lambda p, length: torch.special.entr(p).sum(-1) / length[:, None, None])),
        mistake("The entropy is in bits and the logarithm natural. Use one base for both.", _evenness(lambda p, length: _share(p, length) / math.log(2))),
        mistake("The sign is turned around: p ln p is negative, and entropy is not.", _evenness(lambda p, length: -_share(p, length))),
        mistake("That is one minus the share. Equal weights should give 1, one-hot ones 0.", _evenness(lambda p, length: 1 - _share(p, length))),
        mistake("That is the largest weight. The exercise asks for the entropy.", _evenness(lambda p, length: p.amax(-1))),
        mistake("That is the number of keys heard, e^H. The exercise asks for H as a share of ln of the length.", _evenness(lambda p, length: torch.special.entr(p).sum(-1).exp())),
        mistake("A sentence of one word gives 0/0. It has no choice to make: leave its row out.", _evenness(asked=_real)),
        mistake("The row of a sentence of one word counts as 0. It has no choice to make: leave it out.",
                _evenness(lambda p, length: torch.where((length > 1)[:, None, None], _share(p, length), 0.0), _real)),
        mistake("0 · ln 0 is NaN in arithmetic. It counts as 0: use torch.special.entr.", _evenness(lambda p, length: -(p * p.log()).sum(-1) / length.to(p.dtype).log()[:, None, None])),
        mistake("It averages over sentences. Every row counts the same, so a long sentence counts for more.", _by_sentence),
        mistake("It averages over the heads too. Return one number for each head.", lambda p, length: evenness(p, length).mean()),
        mistake("It returns one number for each sentence. Return one for each head.",
                lambda p, length: (torch.where(_asked(p, length)[:, None], _share(p, length), 0.0).sum(-1).mean(1) / _asked(p, length).sum(-1).clamp_min(1))),
        mistake("The sums run down the columns. A query's weights are a row: sum over the last axis.",
                lambda p, length: evenness(p.transpose(-2, -1), length)),
    ],
    praise="One number for each head, over the rows of real words that have a choice.",
)  # fmt: skip
