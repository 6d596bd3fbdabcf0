"""What the playground trains in the page, done with torch: the same tagger, batches and steps."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator
from functools import cache
from itertools import count, islice
from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn import functional as F

from attnbook.tagging.grammar import LEXICON, RULES, Sentence
from attnbook.tagging.taggers import Tagger, Vocabulary
from attnbook.tagging.training import NO_TAG
from attnbook.widgets.dice import uniforms

Divide = Literal["root", "width", "nothing"]
LONGEST = 8
"""Words of the grammar's longest sentences."""
SPREAD = 0.3
AHEAD = 4096
"""Numbers drawn at once."""


@cache
def vocabulary() -> Vocabulary:
    """Number the words of the toy grammar in the order in which its lexicon names them, as the page does.

    >>> len(vocabulary()), vocabulary().encode(("I", "saw")).flatten().tolist()
    (19, [2, 14])
    """
    named = (((word,), (symbol.rstrip("so"),)) for symbol, words in LEXICON.items() for word, _ in words)
    return Vocabulary(named)


def stream(seed: int, name: str) -> int:
    """Return the seed of the numbers that are drawn for what is called `name`: FNV-1a of both.

    References:
        Fowler, Noll and Vo 1991.

    >>> stream(0, "batches")
    2208967132
    """
    value = 2166136261
    for letter in f"{seed}/{name}".encode():
        value = (value ^ letter) * 16777619 & 0xFFFFFFFF
    return value


def build(
    seed: int, *, divide: Divide = "root", d_model: int = 32, n_heads: int = 2, **choices: str | int | bool
) -> Tagger:
    """Make a tagger of the toy grammar with the random weights that the page begins with.

    What a parameter is drawn from follows from the seed and its name alone: two taggers of one seed begin
    alike wherever they have the same parts. The distributions are those of the package and of torch.

    Args:
        seed: 0 or larger.
        divide: what q·k is divided by: the "root" of the width of a head, its "width", or "nothing".
        d_model: width.
        n_heads: heads of each attention layer.
        choices: of `Tagger`: context, positions, n_layers, residual.

    Returns:
        A tagger, float64.

    Raises:
        ValueError: an option is unknown.

    >>> tagger = build(0, context="attention", positions="rotary")
    >>> tagger.embedding.weight.shape, round(tagger.embedding.weight.std().item(), 2)
    (torch.Size([19, 32]), 0.29)
    """
    if divide not in get_args(Divide):
        raise ValueError(f"divide must be {', '.join(get_args(Divide))}; got {divide!r}")
    # What torch draws for itself is written over, and must not move anybody else's dice.
    with torch.random.fork_rng(devices=[]):
        tagger = Tagger(
            vocabulary(), d_model=d_model, n_heads=n_heads, max_positions=LONGEST, **choices
        ).double()
    shapes = {name: tuple(value.shape) for name, value in tagger.named_parameters()}
    with torch.no_grad():
        for name, value in tagger.named_parameters():
            value.copy_(_beginning(name, shapes, uniforms(stream(seed, name), value.numel())))
    d_head = d_model // n_heads
    # A query that is longer by a factor has scores that are larger by it.
    factor = {"root": 1.0, "width": d_head**-0.5, "nothing": d_head**0.5}[divide]
    for layer in tagger.layers if "attention" in tagger.context and factor != 1.0 else ():
        layer.mixer.q_proj.register_forward_hook(lambda module, given, queries: factor * queries)
    return tagger


def _beginning(name: str, shapes: dict[str, tuple[int, ...]], uniform: Tensor) -> Tensor:
    """Make a parameter from numbers between 0 and 1."""
    shape = shapes[name]
    weight = shapes[name.removesuffix("bias") + "weight"] if name.endswith("bias") else shape
    if name.startswith(("embedding", "learned")):
        radius, angle = (-2 * uniform[0::2].log()).sqrt(), 2 * math.pi * uniform[1::2]
        rows = SPREAD * torch.stack((radius * angle.cos(), radius * angle.sin()), -1).view(shape)
        if name.startswith("embedding"):
            rows[0] = 0  # padding
        return rows
    if len(weight) == 1:  # a layer norm
        return torch.full(shape, float(name.endswith("weight")), dtype=torch.float64)
    return ((2 * uniform - 1) / math.sqrt(weight[1])).view(shape)


def load(tagger: Tagger, text: str) -> None:
    """Give a tagger the weights that the page copied out.

    Args:
        tagger: what `build` made of the same choices.
        text: its parameters one behind the other, single precision, in base 64.

    Raises:
        ValueError: these are not the weights of such a tagger.

    >>> tagger = build(0, context="alone", d_model=8)
    >>> load(tagger, "AAAA")
    Traceback (most recent call last):
    ValueError: text must hold 518 numbers of four bytes, for this tagger; got 3 bytes
    """
    packed, size = base64.b64decode(text), sum(value.numel() for value in tagger.parameters())
    if len(packed) != 4 * size:
        raise ValueError(
            f"text must hold {size} numbers of four bytes, for this tagger; got {len(packed)} bytes"
        )
    values = torch.frombuffer(bytearray(packed), dtype=torch.float32).double()
    torch.nn.utils.vector_to_parameters(values, tagger.parameters())


def sentences(seed: int) -> Iterator[Sentence]:
    """Draw sentences of the toy grammar without end: those on which the page trains.

    Args:
        seed: the same seed draws the same sentences, here and in the page.

    Yields:
        (words, tags) of each.

    >>> next(sentences(0))
    (('a', 'saw', 'can', 'duck'), ('DET', 'NOUN', 'AUX', 'VERB'))
    """
    numbers = _numbers(stream(seed, "batches"))
    while True:
        words, tags, waiting = [], [], ["S"]
        while waiting:
            symbol = waiting.pop()
            ways = RULES.get(symbol) or LEXICON[symbol]
            left = 100 * next(numbers)
            for chosen, share in ways:  # noqa: B007
                left -= share
                if left < 0:
                    break
            if symbol in RULES:
                waiting += reversed(chosen.split())
            else:
                words.append(chosen)
                tags.append(symbol.rstrip("so"))
        yield tuple(words), tuple(tags)


def _numbers(seed: int) -> Iterator[float]:
    for first in count(step=AHEAD):
        yield from uniforms(seed, AHEAD, first).tolist()


def loss(tagger: Tagger, batch: list[Sentence]) -> Tensor:
    """Return the cross-entropy of the tags of a batch in nats, its mean over the words.

    Args:
        tagger: of the toy grammar.
        batch: tagged sentences.
    """
    pad = torch.nn.utils.rnn.pad_sequence
    number = {tag: at for at, tag in enumerate(tagger.vocabulary.tags)}
    ids = pad([tagger.vocabulary.encode(words) for words, _ in batch], batch_first=True)
    tags = [torch.tensor([number[tag] for tag in tags]) for _, tags in batch]
    wanted = pad(tags, batch_first=True, padding_value=NO_TAG)
    return F.cross_entropy(tagger(ids).flatten(0, 1), wanted.flatten(), ignore_index=NO_TAG)


def train(tagger: Tagger, seed: int, *, steps: int, lr: float, batch_size: int) -> list[float]:
    """Train a tagger as the page does: Adam, on batches drawn anew for every step.

    Args:
        tagger: what `build` made.
        seed: of the batches.
        steps: how many.
        lr: learning rate.
        batch_size: sentences of a batch.

    Returns:
        The loss of each step.

    >>> tagger = build(0, context="attention", positions="rotary", d_model=8)
    >>> losses = train(tagger, 0, steps=30, lr=0.01, batch_size=16)
    >>> losses[0] > 1.6 > losses[-1]
    True
    """
    optimizer = torch.optim.Adam(tagger.parameters(), lr=lr)
    drawn, losses = sentences(seed), []
    for _ in range(steps):
        value = loss(tagger, list(islice(drawn, batch_size)))
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses
