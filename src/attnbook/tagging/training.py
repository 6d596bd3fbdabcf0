"""Train a tagger, keep its best epoch, and say how good it is."""

from __future__ import annotations

import copy
import math
import random
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor
from tqdm.auto import tqdm

from attnbook.tagging import grammar
from attnbook.tagging.grammar import Sentence
from attnbook.tagging.taggers import MostFrequentTag, Tagger

NO_TAG = -100
"""The number that `F.cross_entropy` passes over."""


@dataclass
class History:
    """What happened in training."""

    dev: list[float] = field(default_factory=list)
    """Accuracy on the dev set after each epoch, 0 to 1."""
    best_epoch: int = 0
    """The epoch that was kept, from 1."""
    seconds: float = 0.0
    """Processor seconds, all threads together."""


@dataclass(frozen=True)
class Score:
    """Accuracy of a tagger, in per cent."""

    all: float
    strong: float
    """On the strongly ambiguous words alone; NaN if there are none."""
    tokens: int
    strong_tokens: int
    unknown: float = float("nan")
    """On words that training never met; NaN if there are none, or if nobody said what it met."""
    unknown_tokens: int = 0


def train(
    tagger: Tagger,
    train: Sequence[Sentence],
    dev: Sequence[Sentence],
    *,
    epochs: int,
    seed: int,
    lr: float = 2e-3,
    weight_decay: float = 0.01,
    batch_tokens: int = 1024,
    patience: int | None = None,
    bias_lr: float | None = None,
    progress: bool = True,
) -> History:
    """Train a tagger with AdamW on a cosine schedule and leave it as it was after its best epoch.

    Args:
        tagger: the tagger, on the device where it should train. Build it after `torch.manual_seed`.
        train: sentences to learn from.
        dev: sentences that choose the epoch.
        epochs: passes over `train`, at least 1.
        seed: seeds dropout and the order of the batches.
        lr: learning rate at its height.
        weight_decay: pull towards zero, of AdamW.
        batch_tokens: about how many tokens make a batch.
        patience: stop after this many epochs without a better dev accuracy; never unless given.
        bias_lr: learning rate of the relative bias, at its height, without weight decay. Adam moves a number
            by about the rate a step, whatever its gradient, and these few must come as far as scores do. That
            of all others unless given.
        progress: show a bar if it takes more than two seconds.

    Returns:
        The dev accuracies and the time.

    Raises:
        ValueError: epochs is smaller than 1, there is nothing to train on or nothing to choose the epoch by,
            or `bias_lr` is given to a tagger without a relative bias.

    >>> from attnbook.tagging.taggers import Vocabulary
    >>> sentences = grammar.sample(200, seed=1)
    >>> tagger = Tagger(Vocabulary(sentences), d_model=8)
    >>> train(tagger, sentences, sentences, epochs=2, seed=0, progress=False).best_epoch in (1, 2)
    True
    """
    if epochs < 1:
        raise ValueError(f"epochs must be at least 1, got {epochs}")
    if not train:
        raise ValueError("train must hold at least one sentence, got none")
    if not any(words for words, _ in dev):
        raise ValueError("dev must hold at least one word, to choose the epoch by; got none")
    if bias_lr is not None and tagger.relative is None:
        raise ValueError(f"bias_lr needs a tagger with relative positions, this one has {tagger.scheme!r}")
    device = next(tagger.parameters()).device
    torch.manual_seed(seed)
    shuffle = random.Random(seed)
    encoded = _encode(tagger, train)
    steps = epochs * len(_grouped([len(ids) for ids, _ in encoded], batch_tokens, random.Random(seed)))
    # Most numbers stand in the table of features; one fused pass over it takes a quarter of the time.
    apart = set() if bias_lr is None else set(tagger.relative.parameters())
    groups: list[dict] = [{"params": [p for p in tagger.parameters() if p not in apart]}]
    if apart:
        groups.append({"params": list(apart), "lr": bias_lr, "weight_decay": 0.0})
    optimizer = torch.optim.AdamW(groups, lr=lr, weight_decay=weight_decay, fused=True)
    schedule = warm_cosine(optimizer, steps)
    history, best, start = History(), None, time.process_time()
    with tqdm(total=steps, disable=not progress, unit="batch", delay=2) as bar:
        for epoch in range(1, epochs + 1):
            tagger.train()
            for ids, tags in batches(encoded, batch_tokens, shuffle):
                loss = F.cross_entropy(
                    tagger(ids.to(device)).flatten(0, 1), tags.to(device).flatten(), ignore_index=NO_TAG
                )
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(tagger.parameters(), 1.0)
                optimizer.step()
                if bar.n < steps - 1:
                    schedule.step()
                bar.update()
            history.dev.append(evaluate(tagger, dev).all / 100)
            bar.set_postfix(dev=f"{history.dev[-1]:.4f}", refresh=False)
            if best is None or history.dev[-1] > history.dev[history.best_epoch - 1]:
                history.best_epoch, best = epoch, copy.deepcopy(tagger.state_dict())
            elif patience is not None and epoch - history.best_epoch >= patience:
                break
    tagger.load_state_dict(best)
    tagger.eval()
    history.seconds = time.process_time() - start
    return history


@torch.no_grad()
def predict(
    tagger: Tagger | MostFrequentTag, sentences: Sequence[Sequence[str]], batch_tokens: int = 8192
) -> list[tuple[str, ...]]:
    """Tag sentences.

    Args:
        tagger: a tagger.
        sentences: the words of each sentence.
        batch_tokens: about how many tokens are tagged at once.

    Returns:
        The tags of each sentence, in the order given.

    >>> predict(MostFrequentTag([(("dog",), ("NOUN",))]), [("dog", "7")])
    [('NOUN', 'NUM')]
    """
    if isinstance(tagger, MostFrequentTag):
        return [tagger.tag(words) for words in sentences]
    was_training, device = tagger.training, next(tagger.parameters()).device
    tagger.eval()
    found: dict[int, tuple[str, ...]] = {at: () for at, words in enumerate(sentences) if not words}
    names = tagger.vocabulary.tags
    asked = [at for at in range(len(sentences)) if at not in found]
    for group in _grouped([len(sentences[at]) for at in asked], batch_tokens):
        together = [asked[one] for one in group]
        ids = tagger.vocabulary.encode_padded([sentences[at] for at in together])
        chosen = tagger(ids.to(device)).argmax(-1).tolist()
        for row, at in zip(chosen, together, strict=True):
            found[at] = tuple(names[tag] for tag in row[: len(sentences[at])])
    tagger.train(was_training)
    return [found[at] for at in range(len(sentences))]


def evaluate(
    tagger: Tagger | MostFrequentTag,
    sentences: Sequence[Sentence],
    strong: Collection[str] = (),
    known: Collection[str] | None = None,
) -> Score:
    """Count how many tags are right.

    Args:
        tagger: a tagger.
        sentences: tagged sentences.
        strong: words, in lower case, that are counted a second time on their own.
        known: the words of training, in lower case; all others are counted a second time on their own.

    Returns:
        Accuracies in per cent.

    >>> evaluate(MostFrequentTag([(("dog",), ("NOUN",))]), [(("dog", "can"), ("NOUN", "AUX"))]).all
    50.0
    """
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for (words, tags), guess in zip(sentences, predict(tagger, [w for w, _ in sentences]), strict=True):
        for word, tag, guessed in zip(words, tags, guess, strict=True):
            low = word.lower()
            kinds = {"all": True, "strong": low in strong, "unknown": known is not None and low not in known}
            counted = [kind for kind, member in kinds.items() if member]
            total.update(counted)
            right.update(counted if tag == guessed else ())
    share = {k: 100 * right[k] / total[k] if total[k] else float("nan") for k in ("all", "strong", "unknown")}
    return Score(
        share["all"], share["strong"], total["all"], total["strong"], share["unknown"], total["unknown"]
    )


def expected_accuracy(tagger: Tagger | MostFrequentTag) -> float:
    """Compute the accuracy on the toy grammar over every sentence, each with its probability: no sampling.

    Args:
        tagger: a tagger of the grammar's words.

    Returns:
        Accuracy, 0 to 1; at most the `grammar.ceiling` of what the tagger sees.

    >>> round(expected_accuracy(MostFrequentTag(grammar.sample(20000, seed=0))), 5)
    0.74536
    """
    every = grammar.sentences()
    guesses = predict(tagger, [words for words, _ in every])
    right = total = 0.0
    for ((_, tags), probability), guess in zip(every.items(), guesses, strict=True):
        weight = float(probability)
        right += weight * sum(a == b for a, b in zip(tags, guess, strict=True))
        total += weight * len(tags)
    return right / total


def warm_cosine(optimizer: torch.optim.Optimizer, steps: int) -> torch.optim.lr_scheduler.LRScheduler:
    """Make the schedule of all trainings here: up in the first twentieth of the steps, then down a cosine.

    Args:
        optimizer: its rates are those at the height.
        steps: of the whole training.

    Returns:
        The schedule, to be stepped after every step but the last.
    """
    warmup = max(steps // 20, 1)
    falls = max(steps - warmup, 1)

    def height(step: int) -> float:
        if step < warmup:
            return (1 + (warmup - 1) * step / warmup) / warmup
        return (1 + math.cos(math.pi * (step - warmup) / falls)) / 2

    return torch.optim.lr_scheduler.LambdaLR(optimizer, height)


def _encode(tagger: Tagger, sentences: Sequence[Sentence]) -> list[tuple[Tensor, Tensor]]:
    number = {tag: at for at, tag in enumerate(tagger.vocabulary.tags)}
    return [
        (tagger.vocabulary.encode(words), torch.tensor([number[tag] for tag in tags]))
        for words, tags in sentences
        if words
    ]


def batches(
    encoded: list[tuple[Tensor, Tensor]], batch_tokens: int, shuffle: random.Random | None = None
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield batches of sentences of about the same length, so that little of a batch is padding.

    Args:
        encoded: for each sentence its numbers (n, ...) and its labels (n, ...).
        batch_tokens: about how many tokens make a batch.
        shuffle: draws the order; the shortest first unless given.

    Yields:
        Numbers, padded with 0, and labels, padded with `NO_TAG`.
    """
    pad = torch.nn.utils.rnn.pad_sequence
    for group in _grouped([len(ids) for ids, _ in encoded], batch_tokens, shuffle):
        yield (
            pad([encoded[at][0] for at in group], batch_first=True),
            pad([encoded[at][1] for at in group], batch_first=True, padding_value=NO_TAG),
        )


def _grouped(
    lengths: Sequence[int], batch_tokens: int, shuffle: random.Random | None = None
) -> list[list[int]]:
    """Say which sentences make a batch, by their lengths: as `batches` does."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    if shuffle:
        jitter = [shuffle.random() for _ in lengths]
        order.sort(key=lambda at: (lengths[at] // 2, jitter[at]))
    groups, group, longest = [], [], 0
    for at in order:
        longest = max(longest, lengths[at])
        if group and longest * (len(group) + 1) > batch_tokens:
            groups.append(group)
            group, longest = [], lengths[at]
        group.append(at)
    groups.append(group)
    if shuffle:
        shuffle.shuffle(groups)
    return [group for group in groups if group]
