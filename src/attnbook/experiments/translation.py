"""Train a model to turn dates, as people write them, into ISO 8601: the task of `dates`, as a candidate."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.experiments import dates
from attnbook.experiments.fitting import fit
from attnbook.experiments.runs import Run
from attnlab.recurrent import BahdanauModel, FixedVectorModel, LuongModel, Translator

_SIZES = (len(dates.SOURCE), len(dates.TARGET))
MODELS: dict[str, Callable[..., Translator]] = {
    "fixed": lambda **how: FixedVectorModel(*_SIZES, **how),
    "bahdanau": lambda **how: BahdanauModel(*_SIZES, **how),
    "dot": lambda **how: LuongModel(*_SIZES, score="dot", **how),
    "general": lambda **how: LuongModel(*_SIZES, score="general", **how),
    "concat": lambda **how: LuongModel(*_SIZES, score="concat", **how),
    "local-m": lambda **how: LuongModel(*_SIZES, where="local-m", **how),
    "local-p": lambda **how: LuongModel(*_SIZES, where="local-p", **how),
}
"""The models, by name; each takes the options of its class. The local ones score by `general`."""
_SEEDS = 10_000
_DEV, _TEST = _SEEDS + 1, _SEEDS + 2
"""Trainings have seeds below `_SEEDS`; what they are watched and tested with is drawn from two above."""


@dataclass(frozen=True)
class Translation:
    """A model that learns to write dates; a candidate of `sweep`.

    Its curve is the share of dates that are right, in texts that it never learns from; each batch holds texts
    of one number of dates, which take turns. Its extras are the same share on other such texts, by their
    number of dates; how much weight falls where it should ("aligned"); and the processor's seconds.

    Args:
        name: one of `MODELS`.
        options: of the model.
        train_on: how many dates the texts have from which it learns.
        test_on: how many dates the texts have with which it is tested, each number by itself.
        steps: of Adam.
        batch: texts in a step.
        every: steps to a point of the curve.

    >>> run = Translation("fixed", {"d_hidden": 8}, steps=2, every=1, batch=4, test_on=(1, 2))(0.01, seed=0)
    >>> len(run.curve), sorted(run.extras)[:2]
    (2, ['1 date', '2 dates'])
    """

    told: ClassVar = {
        "optimizer": "AdamW on a cosine",
        "examples": "texts",
        "counts": "dates right, of 30 new texts for each number of dates",
    }

    name: str
    options: dict[str, int | bool] = field(default_factory=dict)
    train_on: tuple[int, ...] = (1, 2, 3)
    test_on: tuple[int, ...] = (1, 2, 3, 4, 5)
    steps: int = 600
    batch: int = 32
    every: int = 60

    def __call__(self, rate: float, seed: int) -> Run:
        """Train once and return what was watched."""
        return self.train(rate, seed, progress=False)[1]

    def train(self, rate: float, seed: int, *, progress: bool = True) -> tuple[Translator, Run]:
        """Train once, with a bar if it takes more than two seconds, and return the model too.

        Raises:
            ValueError: the seed isn't from 0 to 9999.
        """
        torch.manual_seed(seed)
        model = MODELS[self.name](**self.options)
        lessons, known = self.lessons(seed), self.known(seed)
        dev = [new(30, n, _DEV, known) for n in self.train_on]
        known |= {pair.text for pairs in dev for pair in pairs}
        tests = {n: new(100, n, _TEST, known) for n in self.test_on}

        def loss() -> Tensor:
            pairs = next(lessons)
            texts, answers = dates.encode([p.text for p in pairs]), dates.answers([p.iso for p in pairs])
            logits = model(texts, answers[:, :-1], key_mask=texts > 0)
            return F.cross_entropy(logits.flatten(0, 1), answers[:, 1:].flatten())

        def watch() -> float:
            return sum(measure(model, pairs)["right"] for pairs in dev) / len(dev)

        begun = time.process_time()
        how = {"rate": rate, "steps": self.steps, "every": self.every, "clip": 1.0, "progress": progress}
        curve = fit(model, loss, watch, **how)
        spent = time.process_time() - begun
        extras, looks = {}, []
        for n, pairs in tests.items():
            found = measure(model, pairs)
            extras[f"{n} date{'s' * (n > 1)}"] = found["right"]
            looks += [found["aligned"]] * (n in self.train_on)
        if self.name != "fixed" and looks:
            extras["aligned"] = sum(looks) / len(looks)
        extras["CPU s"] = spent
        return model, Run(curve, every=self.every, value=curve[-1], extras=extras)

    def lessons(self, seed: int) -> Iterator[list[dates.Dates]]:
        """Draw the batches from which a training with this seed learns, one after the other.

        Raises:
            ValueError: the seed isn't from 0 to 9999. Below 0 `random` drops the sign, and seeds would share
                their texts; above, tests are drawn.

        >>> task = Translation("dot", train_on=(1, 2), steps=3, batch=4)
        >>> [len(batch[0].iso) for batch in task.lessons(0)]  # of one date, of two, of one
        [10, 21, 10]
        """
        if not 0 <= seed < _SEEDS:
            raise ValueError(f"seed must be from 0 to {_SEEDS - 1}, got {seed}")
        source = random.Random(seed)
        for step in range(self.steps):
            yield dates.draw(self.batch, self.train_on[step % len(self.train_on)], source)

    def known(self, seed: int) -> set[str]:
        """Return every text from which a training with this seed learns.

        >>> task = Translation("dot", train_on=(1,), steps=3, batch=4)
        >>> len(task.known(0))
        12
        """
        return {pair.text for batch in self.lessons(seed) for pair in batch}


def new(count: int, n: int, seed: int, known: Collection[str]) -> list[dates.Dates]:
    """Draw texts that a training has not seen.

    Args:
        count: how many texts.
        n: dates in each.
        seed: of the drawing.
        known: texts that are dropped when they are drawn, such as those of `Translation.known`.

    >>> first, second = dates.draw(2, 1, random.Random(0))
    >>> new(1, 1, 0, {first.text}) == [second]
    True
    """
    source, found = random.Random(seed), []
    while len(found) < count:
        found += [pair for pair in dates.draw(count, n, source) if pair.text not in known]
    return found[:count]


@torch.no_grad()
def measure(model: Translator, pairs: Sequence[dates.Dates]) -> dict[str, float]:
    """Let a model write the answers to texts.

    Args:
        model: a model of this task.
        pairs: texts and answers.

    Returns:
        "right": the share of dates. "aligned": the share of weight, while the *right* answer is read, on the
        characters that make the next one of it (`dates.aligned`).

    >>> model = MODELS["bahdanau"](d_hidden=8)
    >>> found = measure(model, dates.draw(3, 1, random.Random(0)))
    >>> found["right"], 0 < found["aligned"] < 1
    (0.0, True)
    """
    answers = dates.answers([pair.iso for pair in pairs])
    written, _ = write(model, [pair.text for pair in pairs], max_new_tokens=answers.shape[1])
    texts = dates.encode([pair.text for pair in pairs])
    _, weights = model(texts, answers[:, :-1], key_mask=texts > 0, need_weights=True)
    share = dates.aligned(weights, pairs) if weights.shape[-1] == texts.shape[1] else 0.0
    return {"right": dates.right(written, pairs), "aligned": share}


def write(
    model: Translator, texts: Sequence[str], *, max_new_tokens: int = 64
) -> tuple[list[str], list[Tensor]]:
    """Let a model turn texts into answers.

    Args:
        model: a model of this task.
        texts: dates, in lower case.
        max_new_tokens: the longest answer, its end counted.

    Returns:
        The answers, and for each its weights (characters of the answer, characters of the text).

    Raises:
        ValueError: a text is empty or has a character that the task doesn't know.
    """
    source = dates.encode(texts)
    tokens, weights = model.generate(
        source,
        bos_token_id=dates.START,
        eos_token_id=dates.END,
        max_new_tokens=max_new_tokens,
        key_mask=source > 0,
    )
    found = dates.decode(tokens)
    return found, [w[: len(a), : len(t)] for w, a, t in zip(weights, found, texts, strict=True)]
