"""The book's own words, letter by letter: a text to learn from that is always there."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.experiments.fitting import fit
from attnbook.experiments.runs import Run
from attnlab.transformer import LanguageModel

Part = Literal["train", "dev", "test"]


def prose(folder: Path) -> str:
    """Join the prose of the book's numbered chapters: no code, no formulas, no exercises.

    Args:
        folder: the folder of the notebooks.

    Returns:
        Paragraphs of plain text in lower case, a line each; links, citations and emphasis reduced to words.

    Raises:
        FileNotFoundError: there are no chapters.
    """
    files = sorted(folder.glob("[0-9][0-9]_*.ipynb"))
    if not files:
        raise FileNotFoundError(f"no chapters in {folder}: they are in the folder chapters of the book")
    paragraphs = []
    for file in files:
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        for text in texts:
            if text.startswith("## Exercises"):
                break
            paragraphs += [_plain(part) for part in re.split(r"\n\s*\n", text) if part[:1].isalpha()]
    return "\n".join(part for part in paragraphs if len(part) > 40 and "\\" not in part) + "\n"


def _plain(paragraph: str) -> str:
    text = re.sub(r"\$[^$]*\$", "x", paragraph)  # a formula is a word that cannot be read aloud
    text = re.sub(r"\{[a-z:-]+\}`([^`]*)`", r"\1", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = text.lower().replace("’", "'").replace("“", '"').replace("”", '"')
    return re.sub(r"[^a-z0-9 .,;:?!'\"()%-]", "", re.sub(r"\s+", " ", text)).strip()


@dataclass(frozen=True)
class Letters:
    """A text as numbers of its letters: eight tenths to learn from, one to choose by, and the last to test.

    Args:
        text: the text.

    >>> letters = Letters("abcabcabca" * 10)
    >>> letters.alphabet, *(len(letters.part(name)) for name in ("train", "dev", "test"))
    ('abc', 80, 10, 10)
    >>> letters.read(letters.encode("cab"))
    'cab'
    """

    text: str = field(repr=False)

    @cached_property
    def alphabet(self) -> str:
        """All letters, sorted."""
        return "".join(sorted(set(self.text)))

    def part(self, name: Part) -> Tensor:
        """Return the numbers of a part, "train", "dev" or "test"."""
        tenths = {"train": (0, 8), "dev": (8, 9), "test": (9, 10)}[name]
        return self.encode(self.text[slice(*(len(self.text) * tenth // 10 for tenth in tenths))])

    @property
    def sha256(self) -> str:
        """The checksum of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def encode(self, text: str) -> Tensor:
        """Turn letters into numbers (n,)."""
        return torch.tensor([self.alphabet.index(letter) for letter in text], dtype=torch.long)

    def read(self, ids: Tensor) -> str:
        """Turn numbers (n,) into letters."""
        return "".join(self.alphabet[at] for at in ids.tolist())


def counting(letters: Letters, order: int, part: Part = "test") -> Tensor:
    """Return what tables of counts, made from the training part, pay for each letter of another, in nats.

    The longest table looks at the last `order` letters. From each of its counts a share of one is taken and
    left to the table of one letter less, which counts after how many *different* letters something came.

    Args:
        letters: the text.
        order: letters before, at least 0.
        part: what is read; what stands before it is known.

    References:
        Kneser and Ney 1995; with all tables blended, as here: Chen and Goodman 1999. The share is
        n1 / (n1 + 2 n2), from how many things were counted once and twice.

    >>> float(counting(Letters("ab" * 50), 1).mean()) < 0.1 < float(counting(Letters("ab" * 50), 0).mean())
    True
    """
    train, read = letters.part("train").tolist(), letters.part(part).tolist()
    before = train + (letters.part("dev").tolist() if part == "test" else [])
    held = before[len(before) - order :] + read
    longest: defaultdict[tuple, Counter] = defaultdict(Counter)
    for at in range(order, len(train)):
        longest[tuple(train[at - order : at])][train[at]] += 1
    tables = [longest]
    for _ in range(order):
        shorter: defaultdict[tuple, Counter] = defaultdict(Counter)
        for context, counts in tables[-1].items():
            shorter[context[1:]].update(dict.fromkeys(counts, 1))
        tables.append(shorter)
    shares = [_share(table) for table in tables]
    paid = []
    for at in range(order, len(held)):
        p = 1 / len(letters.alphabet)
        for k in range(order, -1, -1):  # from no letter before to all
            if counts := tables[k].get(tuple(held[at - order + k : at])):
                left = shares[k] * len(counts) * p
                p = (max(counts[held[at]] - shares[k], 0) + left) / counts.total()
        paid.append(-math.log(p))
    return torch.tensor(paid)


def _share(table: dict[tuple, Counter]) -> float:
    once, twice = (sum(n == m for counts in table.values() for n in counts.values()) for m in (1, 2))
    return once / (once + 2 * twice) if once else 0.5


@dataclass(frozen=True)
class NextLetter:
    """Train a Transformer to guess the next letter of a text; a candidate of `sweep`.

    The curve is the loss on the part to choose by, in nats a letter; an extra has it on the test part.

    Args:
        letters: the text.
        n_layers: layers.
        d_model: width.
        context: letters in a window of training.
        batch: windows in each step.
        steps: of AdamW.
        every: steps between two points of the curve.
        dropout: share dropped in training.
    """

    letters: Letters = field(repr=False)
    n_layers: int = 3
    d_model: int = 96
    context: int = 64
    batch: int = 16
    steps: int = 700
    every: int = 100
    dropout: float = 0.1

    def __call__(self, rate: float, seed: int) -> Run:
        """Train once."""
        model, curve = self.train(rate, seed)
        return Run(curve, self.every, extras={"test": self.loss(model, "test")})

    def model(self, seed: int) -> LanguageModel:
        """Build the model, untrained."""
        torch.manual_seed(seed)
        return LanguageModel(len(self.letters.alphabet), self.d_model, 4, self.n_layers, dropout=self.dropout)

    def train(self, rate: float, seed: int) -> tuple[LanguageModel, list[float]]:
        """Return the trained model and its curve."""
        model = self.model(seed)
        text, draw = self.letters.part("train"), torch.Generator().manual_seed(seed)
        place = torch.arange(self.context + 1)

        def loss() -> Tensor:
            model.train()
            start = torch.randint(len(text) - self.context, (self.batch, 1), generator=draw)
            return self.surprise(model, text[start + place])

        how = {"rate": rate, "steps": self.steps, "every": self.every, "warm": 50}
        curve = fit(model, loss, lambda: self.loss(model, "dev"), **how)
        return model.eval(), curve

    def loss(self, model: LanguageModel, part: Part) -> float:
        """Return the loss on a part, read in windows whose first half is not counted."""
        return float(self.paid(model, part).mean())

    @torch.no_grad()
    def paid(self, model: LanguageModel, part: Part) -> Tensor:
        """Return the loss for each letter of a part, from letter number `context` // 2 + 1 on."""
        text, half = self.letters.part(part), self.context // 2
        windows = text.unfold(0, self.context + 1, half)  # (windows, context + 1)
        scores = model.eval()(windows[:, :-1])[:, half:]
        return F.cross_entropy(scores.mT, windows[:, 1 + half :], reduction="none").flatten()

    @torch.no_grad()
    def by_place(self, model: LanguageModel, part: Part, length: int) -> Tensor:
        """Return the loss at each place of windows of a part, each read from its first letter (length,)."""
        windows = self.letters.part(part).unfold(0, length + 1, length)
        scores = model.eval()(windows[:, :-1])
        return F.cross_entropy(scores.mT, windows[:, 1:], reduction="none").mean(0)

    @staticmethod
    def surprise(model: LanguageModel, windows: Tensor) -> Tensor:
        """Return the mean loss over windows (batch, n + 1): each letter is guessed from those before."""
        return F.cross_entropy(model(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten())
