"""The taggers of the ladder: from a table of counts to attention, one part more at a time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from attnlab.masks import padding
from attnlab.multihead import MultiHeadAttention
from attnlab.positions import sinusoidal
from attnlab.tagging.words import features

Sentence = tuple[tuple[str, ...], tuple[str, ...]]
Context = Literal["none", "mean", "attention", "causal attention"]
Positions = Literal["none", "learned", "sinusoidal", "rotary"]
LONGEST = 512
"""Sentences of the treebank stay well under this; learned positions need a table that ends somewhere."""


class MostFrequentTag:
    """A lookup table: every word gets the tag it has most often in training.

    An unknown word is tried in lower case, then guessed from its first character: PROPN for a capital, NUM
    for a digit, PUNCT for what is neither letter nor digit, NOUN otherwise.

    Args:
        sentences: tagged sentences.

    >>> lookup = MostFrequentTag([(("I", "saw", "a", "dog"), ("PRON", "VERB", "DET", "NOUN"))])
    >>> lookup.tag(("I", "saw", "a", "saw"))
    ('PRON', 'VERB', 'DET', 'VERB')
    """

    def __init__(self, sentences: Iterable[Sentence]) -> None:
        as_written: defaultdict[str, Counter[str]] = defaultdict(Counter)
        lower: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for words, tags in sentences:
            for word, tag in zip(words, tags, strict=True):
                as_written[word][tag] += 1
                lower[word.lower()][tag] += 1
        self.table = {word: max(sorted(tags), key=tags.get) for word, tags in (lower | as_written).items()}

    def tag(self, words: Sequence[str]) -> tuple[str, ...]:
        """Tag a sentence.

        Args:
            words: its words.

        Returns:
            A tag for each word.
        """
        return tuple(self.table.get(w) or self.table.get(w.lower()) or self._guess(w) for w in words)

    @staticmethod
    def _guess(word: str) -> str:
        if word[:1].isupper():
            return "PROPN"
        if word[:1].isdigit():
            return "NUM"
        return "NOUN" if word[:1].isalpha() else "PUNCT"


class Vocabulary:
    """The features that training knows, numbered; 0 is padding, 1 stands for every unknown feature.

    Args:
        sentences: the training sentences.
        affixes: describe a word by its prefixes, suffixes and shape too, not only as it is written.
        at_least: how often a feature must occur to get a number of its own.

    >>> vocabulary = Vocabulary([(("I", "saw", "a", "saw"), ("PRON", "VERB", "DET", "NOUN"))])
    >>> vocabulary.tags, vocabulary.encode(("a", "dog")).tolist()
    (('DET', 'NOUN', 'PRON', 'VERB'), [[4], [1]])
    """

    def __init__(self, sentences: Iterable[Sentence], *, affixes: bool = False, at_least: int = 1) -> None:
        self.affixes = affixes
        sentences = list(sentences)
        counts = Counter(f for words, _ in sentences for word in words for f in self._describe(word))
        known = [feature for feature, count in counts.items() if count >= at_least]
        self.ids = {feature: number for number, feature in enumerate(known, start=2)}
        self.tags = tuple(sorted({tag for _, tags in sentences for tag in tags}))

    def __len__(self) -> int:
        return len(self.ids) + 2

    def encode(self, words: Sequence[str]) -> Tensor:
        """Turn words into numbers.

        Args:
            words: a sentence of n words.

        Returns:
            Feature numbers (n, features).
        """
        rows = [[self._number(feature) for feature in self._describe(word)] for word in words]
        return torch.tensor(rows, dtype=torch.long).reshape(len(words), len(self._describe("")))

    def _number(self, feature: str) -> int:
        # "Great" at the start of a sentence may be new when "great" is not.
        return self.ids.get(feature) or self.ids.get(feature.lower(), 1)

    def _describe(self, word: str) -> list[str]:
        return features(word) if self.affixes else [word]


class Tagger(nn.Module):
    """A tagger that adds one thing at a time to a table of word vectors.

    Embeddings of a word's features are summed; positions are added or, with "rotary", turn queries and keys;
    a context layer lets the words see one another; a small network reads off the tags.

    Args:
        vocabulary: numbers for features and tags.
        context: "none"; "mean", the average of all words; "attention"; or "causal attention".
        positions: "none", "learned", "sinusoidal" or "rotary".
        d_model: width.
        n_heads: heads of each attention layer.
        n_layers: context layers.
        position_std: spread of learned positions at the start. 0.02, the usual choice, drowns them in the
            words.
        dropout: share of activations dropped in training.
        word_dropout: share of words that training hides, so that affixes and neighbours must do.

    Raises:
        ValueError: an option is unknown, or rotary positions are asked for without attention.

    >>> vocabulary = Vocabulary([(("I", "saw"), ("PRON", "VERB"))])
    >>> Tagger(vocabulary, context="attention")(vocabulary.encode(("I", "saw"))[None]).shape
    torch.Size([1, 2, 2])
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        context: Context = "none",
        positions: Positions = "none",
        d_model: int = 128,
        n_heads: int = 4,
        n_layers: int = 1,
        position_std: float = 0.3,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if context not in ("none", "mean", "attention", "causal attention"):
            raise ValueError(f"context must be none, mean, attention or causal attention, got {context!r}")
        if positions not in ("none", "learned", "sinusoidal", "rotary"):
            raise ValueError(f"positions must be none, learned, sinusoidal or rotary, got {positions!r}")
        if positions == "rotary" and "attention" not in context:
            raise ValueError(f"rotary positions turn queries and keys: context has none, it is {context!r}")
        self.vocabulary, self.context, self.word_dropout = vocabulary, context, word_dropout
        self.embedding = nn.Embedding(len(vocabulary), d_model, padding_idx=0)
        nn.init.normal_(self.embedding.weight, std=0.3)
        self.dropout = nn.Dropout(dropout)
        self.positions = nn.Embedding(LONGEST, d_model) if positions == "learned" else None
        if self.positions is not None:
            nn.init.normal_(self.positions.weight, std=position_std)
        self.sinusoids = positions == "sinusoidal"
        make = {"none": None, "mean": _Mean}.get(context, MultiHeadAttention)
        options = {} if context == "mean" else {"rotary": positions == "rotary"}
        self.layers = nn.ModuleList(
            _Layer(make(d_model, n_heads, **options), d_model, dropout)
            for _ in range(n_layers if make else 0)
        )
        self.norm = nn.LayerNorm(d_model)
        self.out = nn.Linear(d_model, len(vocabulary.tags))

    def forward(self, ids: Tensor) -> Tensor:
        """Score every tag for every word.

        Args:
            ids: feature numbers (batch, n, features), 0 where a sentence is padded.

        Returns:
            Scores (batch, n, tags).
        """
        real = ids[..., 0] != 0  # (batch, n)
        if self.training and self.word_dropout:
            hidden = torch.rand(ids.shape[:2], device=ids.device) < self.word_dropout
            ids = torch.cat((ids[..., :1].masked_fill((hidden & real)[..., None], 1), ids[..., 1:]), -1)
        x = self.embedding(ids).sum(-2)  # (batch, n, d_model)
        n, d_model = x.shape[-2:]
        if self.positions is not None:
            x = x + self.positions.weight[:n]
        if self.sinusoids:
            x = x + sinusoidal(n, d_model, device=x.device, dtype=x.dtype)
        x = self.dropout(x)
        mask = None if real.all() else padding(real.sum(-1), n)  # (batch, 1, n)
        for layer in self.layers:
            x = layer(x, mask, self.context == "causal attention")
        return self.out(self.norm(x))


class _Layer(nn.Module):
    """Let words see one another, then work on each: two steps, each added to its input."""

    def __init__(self, mixer: nn.Module, d_model: int, dropout: float) -> None:
        super().__init__()
        self.norm, self.mixer = nn.LayerNorm(d_model), mixer
        self.each = nn.Sequential(
            nn.LayerNorm(d_model), nn.Linear(d_model, 2 * d_model), nn.ReLU(), nn.Linear(2 * d_model, d_model)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None, is_causal: bool) -> Tensor:
        x = x + self.dropout(self.mixer(self.norm(x), mask=mask, is_causal=is_causal))
        return x + self.dropout(self.each(x))


class _Mean(nn.Module):
    """Attention with nothing to choose: every word takes the same share of every word."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.value, self.out = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, *, mask: Tensor | None, is_causal: bool) -> Tensor:
        keep = x.new_ones(x.shape[0], 1, x.shape[1]) if mask is None else mask.to(x.dtype)  # (batch, 1, n)
        mean = keep @ self.value(x) / keep.sum(-1, keepdim=True).clamp_min(1)  # (batch, 1, d_model)
        return self.out(mean).expand_as(x)
