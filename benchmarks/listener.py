"""The sample of a marked project: a listener whose weights fall off with distance, and its control.

    python benchmarks/listener.py

Writes results/listener.json, in a minute and a half. chapters/marking_sample.md has its numbers from there.
"""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest
from typing import ClassVar

import torch
from torch import Tensor, nn

from attnbook import results
from attnbook.experiments import around, sweep
from attnbook.tagging import grammar
from attnbook.tagging.asking import WORDS, Asking, encode

SEEDS, STEPS = range(3), 800


class Listener(nn.Module):
    """A tagger whose words hear each other by distance alone: no queries, no keys.

    Args:
        falls: whether the weights fall off with distance, as fast as is learned; else all words weigh alike.
        width: of what is heard.
    """

    def __init__(self, *, falls: bool, width: int = 32) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.ones(())) if falls else None
        self.value = nn.Linear(len(WORDS), width, bias=False)
        self.read = nn.Sequential(
            nn.Linear(len(WORDS) + width, 64), nn.ReLU(), nn.Linear(64, len(grammar.TAGS))
        )

    def weights(self, real: Tensor) -> Tensor:
        """Return who hears how much of whom, (..., n, n), given which tokens are real, (..., n)."""
        at = torch.arange(real.shape[-1])
        distance = (at[:, None] - at).abs()  # (n, n)
        slope = self.value.weight.new_zeros(()) if self.slope is None else self.slope
        scores = -slope * distance
        return scores.masked_fill(~real[..., None, :], -torch.inf).softmax(-1)

    def forward(self, x: Tensor, *, need_weights: bool = False) -> Tensor | tuple[Tensor, Tensor]:
        """Return a score for each tag, (..., n, tags), of tokens (..., n, WIDTH), whose places stay unread.

        With `need_weights` also the weights.
        """
        words = x[..., : len(WORDS)]  # (..., n, words)
        weights = self.weights(words.sum(-1) > 0)  # (..., n, n)
        heard = weights @ self.value(words)  # (..., n, width)
        logits = self.read(torch.cat((words, heard), -1))
        return (logits, weights) if need_weights else logits


class Trained(Asking):
    """A listener's training, told as it is: what is heard has a width, and heads there are none."""

    told: ClassVar = {
        "optimizer": "Adam",
        "examples": "new sentences",
        "counts": Asking.told["counts"],
        "d_model": len(WORDS),
    }


def mirrored(words: grammar.Words, i: int) -> tuple:
    """What such a listener can tell: its word, and at each distance which two words, not on which side."""
    sides = zip_longest(reversed(words[:i]), words[i + 1 :], fillvalue="")
    return words[i], *((a, b) if a < b else (b, a) for a, b in sides)


@torch.no_grad()
def wrong_by_word(model: nn.Module) -> dict[str, float]:
    """Say of each word how much of all words it is, wrongly tagged, in per cent."""
    found: Counter[str] = Counter()
    every = list(grammar.sentences().items())
    total = 0.0
    for at in range(0, len(every), 8192):
        some = every[at : at + 8192]
        guesses = model(encode(*(words for (words, _), _ in some))).argmax(-1).tolist()
        for ((words, tags), chance), guess in zip(some, guesses, strict=True):
            total += float(chance) * len(words)
            for word, tag, guessed in zip(words, tags, guess, strict=False):
                found[word] += float(chance) * (grammar.TAGS[guessed] != tag)
    return {word: 100 * count / total for word, count in found.most_common() if count}


def main() -> None:
    """Train the idea and its control, and store."""
    torch.set_num_threads(1)
    results.begin()
    grammar.VIEWS["mirrored"] = mirrored
    views = {"falls off with distance": "mirrored", "control: all alike": "bag of words"}
    candidates = {
        name: Trained(lambda falls=falls: Listener(falls=falls), steps=STEPS)
        for name, falls in zip(views, (True, False), strict=True)
    }
    idea, control = candidates
    found = sweep(
        {idea: candidates[idea]},
        controls={control: candidates[control]},
        rates=around(0.02),
        seeds=SEEDS,
        flat=0.5,
        measure="right, %",
        progress=False,
    )
    print(found.as_table(digits=2), flush=True)
    errors, slopes = {}, []
    for name in views:
        trained = candidates[name].train([(found[name].rate, seed) for seed in SEEDS])
        each = [wrong_by_word(model) for model, _ in trained]
        errors[name] = {
            word: sum(one.get(word, 0.0) for one in each) / len(each)
            for word in sorted(WORDS, key=lambda word: -sum(one.get(word, 0.0) for one in each))
        }
        slopes += [model.slope.item() for model, _ in trained if model.slope is not None]
        print(name, {word: round(share, 2) for word, share in errors[name].items() if share > 0.005})
    ceilings = {view: 100 * float(grammar.ceiling(view)) for view in (*views.values(), "whole sentence")}
    numbers = {
        "sweeps": {"listener": found},
        "ceilings": ceilings,
        "wrong by word": errors,
        "slopes": slopes,
    }
    results.store("listener", numbers, command="python benchmarks/listener.py", seeds=SEEDS)


if __name__ == "__main__":
    main()
