"""Associative recall: pairs of a key and a value are written, then keys are asked for their values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.experiments.descent import by_seed, descend
from attnbook.experiments.forms import Form, form
from attnbook.experiments.runs import Run


def texts(
    count: int, pairs: int, *, asked: int, keys: int, values: int, times: int = 1, draw: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw texts in which each of some keys, all different, is written with a value, `times` times over.

    Args:
        count: how many texts.
        pairs: how many keys are written in each.
        asked: how many of them are asked for; all are, in the order in which they were written, if it is
            `pairs`.
        keys: how many keys there are.
        values: how many values there are.
        times: how often each key is written, each time with a new value. The newest counts.
        draw: the source of randomness.

    Returns:
        The keys (count, pairs), the values (count, times, pairs), and the places (count, asked) among the
        pairs of those asked for.

    >>> which, numbers, at = texts(2, 3, asked=1, keys=9, values=4, draw=torch.Generator().manual_seed(0))
    >>> which.shape, numbers.shape, at.shape
    (torch.Size([2, 3]), torch.Size([2, 1, 3]), torch.Size([2, 1]))
    """
    which = torch.rand(count, keys, generator=draw).argsort(-1)[:, :pairs]
    numbers = torch.randint(values, (count, times, pairs), generator=draw)
    if asked == pairs:
        return which, numbers, torch.arange(pairs).expand(count, pairs)
    return which, numbers, torch.rand(count, pairs, generator=draw).argsort(-1)[:, :asked]


def question(
    count: int, n: int, *, d: int = 32, values: int = 8, alike: float = 0.0, shift: int = 0, seed: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Draw texts of n tokens, each a key and a value, and a query that is the key of one of them.

    Keys are directions drawn at random, so nothing is to be learned.

    Args:
        count: how many texts.
        n: tokens in each.
        d: width of the keys.
        values: how many values there are.
        alike: the share of a key's variance that it has in common with its group of eight, from 0 to 1.
        shift: how many places before the first token the first group begins.
        seed: number that fixes the draw.

    Returns:
        The queries (count, 1, d), the keys (count, n, d), both of length 1 and in double precision, the
        values (count, n, values), one-hot, and the right ones (count, 1), as numbers.

    >>> q, k, v, wanted = question(5, 16, seed=0)
    >>> ((100 * q @ k.mT).softmax(-1) @ v).argmax(-1).equal(wanted)
    True
    """
    draw, how = torch.Generator().manual_seed(seed), {"dtype": torch.float64}
    keys = torch.randn(count, n, d, generator=draw, **how)
    if alike:
        common = torch.randn(count, (n + shift - 1) // 8 + 1, d, generator=draw, **how)
        common = common.repeat_interleave(8, -2)[:, shift : shift + n]
        keys = (1 - alike) ** 0.5 * keys + alike**0.5 * common
    keys = F.normalize(keys, dim=-1)
    numbers = torch.randint(values, (count, n), generator=draw)
    at = torch.randint(n, (count, 1), generator=draw)
    query = keys.gather(1, at[..., None].expand(-1, -1, d))
    return query, keys, F.one_hot(numbers, values).to(keys), numbers.gather(1, at)


def answers(
    attend: Form, keys: Tensor, numbers: Tensor, at: Tensor, *, values: int, rate: Tensor | float = 1.0
) -> Tensor:
    """Write pairs, ask for keys, and return what attention answers.

    Args:
        attend: how the questions look back, as from `forms.form`; queries and keys are the same vectors.
        keys: vectors (..., count, pairs, d).
        numbers: values (count, times, pairs), as numbers; they are written as one-hot vectors.
        at: places (count, asked) of the keys that are asked for.
        values: how many values there are.
        rate: between 0 and 1, a number or (..., 1, 1, r), r as many as a form has, for those that have any.

    Returns:
        (..., count, asked, values).

    >>> from attnbook.experiments.forms import form
    >>> keys, numbers = 30 * torch.eye(4)[None], torch.tensor([[[5, 6, 7, 8]]])
    >>> answers(form("softmax", 4), keys, numbers, torch.tensor([[2, 0]]), values=9).argmax(-1).tolist()
    [[7, 5]]
    """
    times, pairs = numbers.shape[1:]
    index = at[..., None].expand(*keys.shape[:-2], at.shape[-1], keys.shape[-1])
    x = torch.cat((*[keys] * times, keys.gather(-2, index)), -2)  # (..., count, n, d)
    v = F.pad(F.one_hot(numbers.flatten(1), values).to(x.dtype), (0, 0, 0, at.shape[-1]))
    written = torch.arange(x.shape[-2]) < times * pairs  # who asks only reads
    rate = torch.atleast_1d(torch.as_tensor(rate, dtype=x.dtype))
    rate = rate.expand(*x.shape[:-1], rate.shape[-1])
    out = attend(x, x, v.expand(*x.shape[:-1], values), rate, written.expand(len(x), -1))
    return out[..., times * pairs :, :]


@dataclass(frozen=True)
class Recall:
    """Train keys so that a way to attend recalls their values; a candidate of `sweep`.

    What training may choose is a vector for each key, a rate or two, and how sharply the answer is read. The
    curve is the share of right answers in texts that are new at each step. At the end the shares on other
    texts are taken one by one for the numbers of pairs: their mean chooses the learning rate. "pairs kept" is
    the largest number of pairs of which nine tenths are recalled.

    Args:
        attend: seed -> how the questions look back.
        d: width of the keys.
        pairs: numbers of pairs; the training texts take turns.
        keys: how many keys there are.
        values: how many values.
        times: how often each key is written.
        steps: updates.
        batch: texts of one update.
        features: what `attend` has of them, for the record; as many as a key has numbers unless given.

    >>> task = Recall.of("softmax", d=8, pairs=(4,), keys=8, values=4, steps=60)
    >>> task.together([(0.1, 0)])[0].value > 0.9
    True
    """

    told: ClassVar = {
        "optimizer": "Adam",
        "examples": "texts",
        "counts": "values recalled, all numbers of pairs alike",
    }

    attend: Callable[[int], Form]
    d: int = 16
    pairs: Sequence[int] = (4, 8, 16, 32, 64)
    keys: int = 64
    values: int = 64
    times: int = 1
    steps: int = 300
    batch: int = 16
    features: int | None = None

    @classmethod
    def of(cls, name: str, *, d: int = 16, features: int | None = None, **options) -> Recall:
        """Recall by one of the causal forms: `name` and `features` as in `forms.form`, the rest as above."""
        return cls(
            lambda seed: form(name, d, features=features, seed=seed), d=d, features=features, **options
        )

    def together(self, pairs: Sequence[tuple[float, int]]) -> list[Run]:
        """Train one model for each (rate, seed): those of one seed side by side, on the same texts."""
        return by_seed(self._train, pairs)

    def _train(self, rates: Sequence[float], seed: int) -> list[Run]:
        draw, attend, count = torch.Generator().manual_seed(seed), self.attend(seed), len(rates)
        keys = torch.randn(self.keys, self.d, generator=draw).repeat(count, 1, 1).requires_grad_()
        sharpness = torch.full((count,), 1.0, requires_grad=True)
        gate = torch.full((count, 2), 3.0, requires_grad=True)  # most forms use the first, or none

        def right(texts: int, pairs: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
            which, numbers, at = self._texts(texts, pairs, source)
            rate = gate.sigmoid()[:, None, None]
            x = keys[:, which]  # (count, texts, pairs, d)
            got = answers(attend, x, numbers, at, values=self.values, rate=rate)
            got = sharpness.exp()[:, None, None, None] * got  # (count, texts, asked, values)
            wanted = numbers[:, -1].gather(1, at).expand(count, -1, -1)
            loss = F.cross_entropy(got.movedim(-1, 1), wanted, reduction="none").flatten(1).mean(-1)
            loss = loss + 0 * gate.sum(-1)  # a form without a rate has a gradient for it all the same
            return loss, (got.argmax(-1) == wanted).float().flatten(1).mean(-1)

        def measure(step: int) -> tuple[Tensor, Tensor]:
            return right(self.batch, self.pairs[step % len(self.pairs)], draw)

        how = {"steps": self.steps, "every": 5 * len(self.pairs), "optimizer": "Adam"}
        curves = descend([keys, sharpness, gate], torch.tensor(rates), measure, **how)
        with torch.no_grad():
            exam = {n: right(100, n, torch.Generator().manual_seed(1000 + n))[1] for n in self.pairs}
        return [
            self._run(curve.curve, {n: found[at].item() for n, found in exam.items()})
            for at, curve in enumerate(curves)
        ]

    def _run(self, curve: Sequence[float], shares: dict[int, float]) -> Run:
        mean = sum(shares.values()) / len(shares) if math.isfinite(curve[-1]) else math.nan
        extras: dict[str, float] = {}
        if len(shares) > 1:
            extras = {f"{n} pairs": share for n, share in shares.items()}
            extras["pairs kept"] = max((n for n, share in shares.items() if share >= 0.9), default=0)
        return Run(curve, every=5 * len(self.pairs), value=mean, extras=extras)

    def _texts(self, count: int, pairs: int, draw: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        how = {"keys": self.keys, "values": self.values, "times": self.times}
        return texts(count, pairs, asked=pairs, draw=draw, **how)
