"""Train a model to turn dates, as people write them, into ISO 8601: the task of `dates`, as a candidate."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
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


@dataclass(frozen=True)
class Translation:
    """A model that learns to write dates; a candidate of `sweep`.

    Its curve is the share of dates that are right, in texts it doesn't learn from; each batch holds texts of
    one number of dates, which take turns. Its extras are the same share on other texts, by their number of
    dates; how much weight falls where it should ("aligned"); and the processor's seconds.

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
        """Train once, with a bar if it takes more than two seconds, and return the model too."""
        torch.manual_seed(seed)
        model = MODELS[self.name](**self.options)
        source = random.Random(seed)
        dev = [dates.draw(30, n, random.Random(-1)) for n in self.train_on]
        step = 0

        def loss() -> Tensor:
            nonlocal step
            pairs = dates.draw(self.batch, self.train_on[step % len(self.train_on)], source)
            step += 1
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
        for n in self.test_on:
            found = measure(model, dates.draw(100, n, random.Random(-2)))
            extras[f"{n} date{'s' * (n > 1)}"] = found["right"]
            looks += [found["aligned"]] * (n in self.train_on)
        if self.name != "fixed" and looks:
            extras["aligned"] = sum(looks) / len(looks)
        extras["CPU s"] = spent
        return model, Run(curve, every=self.every, value=curve[-1], extras=extras)


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
