"""What the playground's answers are put to, once they are right: a tagger is trained with them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from attnbook.tagging import grammar
from attnbook.tagging.taggers import MostFrequentTag, Tagger, Vocabulary
from attnbook.tagging.training import NO_TAG, predict

Slope = Callable[[Tensor], Tensor]
Backward = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]
STEPS = 200
BATCH = 32
ENOUGH = 95
"""Per cent of all words. With attention that learns nothing it is 88, with Adam that does nothing 10."""
HELD_BACK = 1000
"""Sentences on which it is measured, and never trained."""


@cache
def _sentences() -> tuple[Vocabulary, Tensor, Tensor]:
    """Sample the toy grammar: its vocabulary, the numbers (count, 8, 1) of the words, their tags (count, 8)."""
    drawn = grammar.sample(STEPS * BATCH + HELD_BACK, seed=0)
    vocabulary = Vocabulary(drawn)
    pad = torch.nn.utils.rnn.pad_sequence
    number = {tag: at for at, tag in enumerate(vocabulary.tags)}
    ids = pad([vocabulary.encode(words) for words, _ in drawn], batch_first=True)
    tags = [torch.tensor([number[tag] for tag in tags]) for _, tags in drawn]
    return vocabulary, ids, pad(tags, batch_first=True, padding_value=NO_TAG)


def _batch(step: int) -> tuple[Tensor, Tensor]:
    """The sentences of a step, which no other step has."""
    _, ids, tags = _sentences()
    rows = slice(step % STEPS * BATCH, (step % STEPS + 1) * BATCH)
    return ids[rows], tags[rows]


def _loss(tagger: nn.Module, step: int) -> Tensor:
    ids, tags = _batch(step)
    return F.cross_entropy(tagger(ids).flatten(0, 1), tags.flatten(), ignore_index=NO_TAG)


def _right(tagger: nn.Module) -> float:
    """Share of the words that are tagged right, per cent, of sentences that training has not seen."""
    _, ids, tags = _sentences()
    with torch.no_grad():
        guessed = tagger(ids[-HELD_BACK:]).argmax(-1)
    real = tags[-HELD_BACK:] != NO_TAG
    return 100 * float((guessed == tags[-HELD_BACK:])[real].double().mean())


def _reached(tagger: nn.Module, whose: str) -> tuple[bool, str]:
    """Say whether a tagger came over `ENOUGH` per cent."""
    right = _right(tagger)
    if right > ENOUGH:
        return True, f"With {whose} a tagger of the grammar came over {ENOUGH} % in {STEPS} steps."
    return False, f"With {whose} a tagger has only {right:.1f} % of all words right after {STEPS} steps."


def train_with_adam(adam: Callable[[Tensor, Slope, int, float], Tensor]) -> tuple[bool, str]:
    """Train an attention tagger with an answer to the exercise on Adam.

    Args:
        adam: the answer.

    Returns:
        Whether it came as far as it should, and a sentence that says so.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        tagger = Tagger(
            _sentences()[0], context="attention", positions="rotary", d_model=16, n_heads=2, max_positions=8
        )
    asked = 0

    def slope(p: Tensor) -> Tensor:
        nonlocal asked
        vector_to_parameters(p.detach().clone(), tagger.parameters())
        tagger.zero_grad()
        _loss(tagger, asked).backward()
        asked += 1
        # The vector of padding gets no slope, and stays.
        return parameters_to_vector([p.grad for p in tagger.parameters()])

    trained = adam(parameters_to_vector(tagger.parameters()).detach(), slope, STEPS, 0.01)
    if asked < STEPS:
        return False, f"In {STEPS} steps it asked for the slope {asked} times."
    vector_to_parameters(trained.detach().clone(), tagger.parameters())
    return _reached(tagger, "your Adam")


class _OneHead(nn.Module):
    """Word and position, one head whose way back is somebody's, and a small network: (batch, 8) to tags."""

    def __init__(self, backward: Backward, width: int = 16) -> None:
        super().__init__()
        words, tags = len(_sentences()[0]), len(_sentences()[0].tags)
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(8, width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.read = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, tags)
        )

        class Attention(torch.autograd.Function):
            @staticmethod
            def forward(ctx, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
                ctx.save_for_backward(q, k, v)
                return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v

            @staticmethod
            def backward(ctx, slope: Tensor) -> tuple[Tensor, Tensor, Tensor]:
                return tuple(backward(*ctx.saved_tensors, slope))  # a list of them is right too

        self.attend = Attention.apply

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids[..., 0]) + self.places.weight  # (batch, 8, width)
        x = x + self.out(self.attend(*self.qkv(x).chunk(3, -1)))
        return self.read(x)


def train_with_backward(backward: Backward) -> tuple[bool, str]:
    """Train a tagger whose attention finds its way back by an answer.

    Args:
        backward: the answer to the exercise on attention's backward pass.

    Returns:
        Whether it came as far as it should, and a sentence that says so.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        tagger = _OneHead(backward)
    optimizer = torch.optim.Adam(tagger.parameters(), lr=0.01)
    for step in range(STEPS):
        optimizer.zero_grad()
        _loss(tagger, step).backward()
        optimizer.step()
    return _reached(tagger, "your gradients")


def cover_with(standard_error: Callable[[Tensor, Tensor], Tensor]) -> tuple[bool, str]:
    """Measure a tagger on many samples, and count how often its true accuracy lies within two of their errors.

    Args:
        standard_error: the answer to the exercise on the error of an accuracy.

    Returns:
        Whether that is about 95 times in a hundred, and a sentence that says how often.
    """
    tagger, samples, size = MostFrequentTag(grammar.sample(20_000, seed=0)), 200, 100
    truth = float(grammar.ceiling("word"))  # whoever knows each word's most frequent tag has just that
    drawn = grammar.sample(samples * size, seed=1)
    guesses = predict(tagger, [words for words, _ in drawn])
    right = [
        sum(a == b for a, b in zip(tags, guess, strict=True))
        for (_, tags), guess in zip(drawn, guesses, strict=True)
    ]
    rights = torch.tensor(right, dtype=torch.float64).view(samples, size)
    words = torch.tensor([len(tags) for _, tags in drawn], dtype=torch.float64).view(samples, size)
    within = 0
    for r, n in zip(rights, words, strict=True):
        within += int(abs(float(r.sum() / n.sum()) - truth) < 2 * float(standard_error(r, n)))
    said = f"Of {samples} samples of {size} sentences, {within} have the true accuracy within two of your errors."
    return 0.9 * samples < within < samples, said
