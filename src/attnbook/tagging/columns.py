"""All that the treebank says of a word, not only its tag: more to learn from the same sentences."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from attnbook.tagging.training import NO_TAG
from attnbook.tagging.treebank import CHECKSUMS, find_treebank, read_tokens

COLUMNS = ("tag", "fine tag", "features", "relation", "head")
"""The universal tag; the finer one of the Penn Treebank; number, tense and the like; what the word is to its
head; on which side the head stands and what tag it has."""


@dataclass(frozen=True)
class Annotated:
    """A sentence with the labels of its words.

    Args:
        words: the n words.
        labels: for each word, one label for each of `COLUMNS`.
    """

    words: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]

    @property
    def tagged(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The words and their universal tags, as everywhere else."""
        return self.words, tuple(row[0] for row in self.labels)


def load_columns(split: str = "train", path: str | os.PathLike | None = None) -> tuple[Annotated, ...]:
    """Read a part of the treebank with all that is annotated.

    Args:
        split: "train", "dev" or "test".
        path: the folder of the treebank; found as `load_treebank` finds it unless given.

    Returns:
        The sentences, in the order of `load_treebank`.

    Raises:
        FileNotFoundError: there is no treebank: call `load_treebank` first, which downloads it.
        TreebankError: the file differs from the pinned release.
    """
    folder = find_treebank(path)
    if folder is None:
        raise FileNotFoundError("there is no treebank yet: call load_treebank() first")
    name = f"en_ewt-ud-{split}.conllu"
    return tuple(map(_annotated, read_tokens(folder / name, CHECKSUMS[name])))


@dataclass(frozen=True)
class Labels:
    """Numbers for the labels of each column.

    Args:
        sentences: the training sentences.
        at_least: a label that is rarer is not learned.

    >>> one = Annotated(("saw",), (("VERB", "VBD", "Tense=Past", "root", "root"),))
    >>> Labels([one], at_least=1).encode(one).tolist()
    [[0, 0, 0, 0, 0]]
    """

    sentences: Sequence[Annotated]
    at_least: int = 2

    @cached_property
    def names(self) -> Mapping[str, tuple[str, ...]]:
        """The labels of each column, sorted."""
        columns = zip(*(row for sentence in self.sentences for row in sentence.labels), strict=True)
        counts = [Counter(column) for column in columns]
        return {
            column: tuple(sorted(label for label, times in count.items() if times >= self.at_least))
            for column, count in zip(COLUMNS, counts, strict=True)
        }

    def encode(self, sentence: Annotated) -> Tensor:
        """Return the numbers of a sentence's labels (n, columns); `NO_TAG` for those not learned."""
        rows = [
            [numbers.get(label, NO_TAG) for numbers, label in zip(self._numbers, row, strict=True)]
            for row in sentence.labels
        ]
        return torch.tensor(rows, dtype=torch.long).reshape(len(rows), len(COLUMNS))

    @cached_property
    def _numbers(self) -> list[dict[str, int]]:
        return [{label: at for at, label in enumerate(labels)} for labels in self.names.values()]


def _annotated(tokens: Sequence[Mapping]) -> Annotated:
    tags = {token["id"]: token["upos"] for token in tokens}
    labels = []
    for token in tokens:
        features = "|".join(f"{name}={value}" for name, value in (token["feats"] or {}).items())
        side = "<" if token["head"] < token["id"] else ">"
        head = side + tags[token["head"]] if token["head"] else "root"
        labels.append((token["upos"], token["xpos"], features, token["deprel"], head))
    return Annotated(tuple(token["form"] for token in tokens), tuple(labels))
