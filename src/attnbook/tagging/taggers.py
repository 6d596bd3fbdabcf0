"""The taggers of the ladder: from a table of counts to attention, one part more at a time."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from attnbook.tagging.contexts import Mean, Recurrent, Window
from attnbook.tagging.grammar import Sentence
from attnbook.tagging.views import Design
from attnbook.tagging.words import features
from attnlab.masks import padding, window
from attnlab.multihead import MultiHeadAttention
from attnlab.positions import LearnedPositions, RelativeBias, alibi, sinusoidal

Context = Literal["none", "alone", "mean", "window", "recurrent", "attention", "causal attention"]
Positions = Literal["none", "learned", "sinusoidal", "relative", "alibi", "rotary"]
LONGEST = 512
"""Sentences of the treebank stay well under this; learned positions need a table that ends somewhere."""
REACH = 16
"""So far a relative bias reaches unless told otherwise."""


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
        affixes: describe a word by its prefixes, suffixes and shape too, not only by itself in lower case.
        at_least: how often a feature must occur to get a number of its own.

    >>> vocabulary = Vocabulary([(("I", "saw", "a", "saw"), ("PRON", "VERB", "DET", "NOUN"))])
    >>> vocabulary.tags, vocabulary.encode(("a", "dog")).tolist()
    (('DET', 'NOUN', 'PRON', 'VERB'), [[4], [1]])
    """

    def __init__(self, sentences: Iterable[Sentence], *, affixes: bool = False, at_least: int = 1) -> None:
        self.affixes = affixes
        self._rows: dict[str, list[int]] = {}  # each word is described once
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
        rows = self._described(words)
        return torch.tensor(rows, dtype=torch.long).reshape(len(words), len(self._row("")))

    def encode_padded(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        """Turn the words of several sentences into numbers at once: a tensor for each would take longer.

        Args:
            sentences: the words of each, at least one word in one of them.

        Returns:
            Feature numbers (sentences, n, features), with n those of the longest; 0 is padding.

        >>> vocabulary = Vocabulary([(("I", "saw"), ("PRON", "VERB"))])
        >>> vocabulary.encode_padded([("I", "saw"), ("saw",)])[..., 0].tolist()
        [[2, 3], [3, 0]]
        """
        n, padding = max(map(len, sentences)), [0] * len(self._row(""))
        rows = [self._described(words) + [padding] * (n - len(words)) for words in sentences]
        return torch.tensor(rows, dtype=torch.long)

    def _described(self, words: Sequence[str]) -> list[list[int]]:
        for word in words:
            if word not in self._rows:
                self._rows[word] = self._row(word)
        return [self._rows[word] for word in words]

    def _row(self, word: str) -> list[int]:
        return [self._number(feature) for feature in self._describe(word)]

    def _number(self, feature: str) -> int:
        # A shape of capitals that training never saw is read as that of small letters.
        return self.ids.get(feature) or self.ids.get(feature.lower(), 1)

    def _describe(self, word: str) -> list[str]:
        return features(word) if self.affixes else [word.lower()]


class Tagger(nn.Module):
    """A tagger that adds one thing at a time to a table of word vectors.

    Embeddings of a word's features are summed. Positions are added to them ("learned", "sinusoidal"), to the
    scores of every attention layer ("relative", "alibi"), or turn queries and keys ("rotary"). A context
    layer lets the words see one another; a small network reads off the tags.

    Args:
        vocabulary: numbers for features and tags.
        context: what lets the words see one another, in layers that are otherwise alike: "alone", nothing;
            "mean", the average of all words; "window", a convolution over three; "recurrent", an LSTM in both
            directions; "attention"; "causal attention". With "none" there are no layers at all.
        positions: "none", "learned", "sinusoidal", "relative" (one bias per head and distance, the same in
            all layers), "alibi" or "rotary".
        d_model: width.
        n_heads: heads of each attention layer.
        n_layers: context layers.
        word_std: spread of a word's vector at the start, whatever number of features is summed in it.
        position_std: spread of learned positions at the start. From 0.02 six epochs learn too little.
        dropout: share of activations dropped in training.
        word_dropout: share of words that training hides, so that affixes and neighbours must do.
        residual: whether the output of each part of a layer is added to its input, or takes its place.
        max_positions: words that a sentence may have where positions are learned.
        reach: the largest distance to which the relative bias gives a number of its own.
        design: who may see whom, layer by layer; all words see all unless given.

    Raises:
        ValueError: an option is unknown, positions that act inside attention are asked for without it, or a
            design has another number of layers.

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
        word_std: float = 0.3,
        position_std: float = 0.3,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
        residual: bool = True,
        max_positions: int = LONGEST,
        reach: int = REACH,
        design: Design | None = None,
    ) -> None:
        super().__init__()
        if context not in get_args(Context):
            raise ValueError(f"context must be {', '.join(get_args(Context))}; got {context!r}")
        if positions not in get_args(Positions):
            raise ValueError(f"positions must be {', '.join(get_args(Positions))}; got {positions!r}")
        if positions in ("relative", "alibi", "rotary") and "attention" not in context:
            raise ValueError(
                f"{positions} positions act inside attention: context has none, it is {context!r}"
            )
        if design is not None and len(design.layers) != n_layers:
            raise ValueError(f"design must have n_layers = {n_layers} layers, got {len(design.layers)}")
        self.vocabulary, self.context, self.word_dropout = vocabulary, context, word_dropout
        self.design = design
        self.embedding = nn.Embedding(len(vocabulary), d_model, padding_idx=0)
        # Variances add up: nine features of a third of the spread make a word of the whole.
        n_features = vocabulary.encode(()).shape[1]
        nn.init.normal_(self.embedding.weight, std=word_std / math.sqrt(n_features))
        self.dropout = nn.Dropout(dropout)
        self.scheme, self.n_heads = positions, n_heads
        self.learned = (
            LearnedPositions(max_positions, d_model, std=position_std) if positions == "learned" else None
        )
        self.relative = RelativeBias(n_heads, reach) if positions == "relative" else None
        self.layers = nn.ModuleList(
            _Layer(self._mixer(d_model), d_model, dropout, residual)
            for _ in range(0 if context == "none" else n_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.out = nn.Linear(d_model, len(vocabulary.tags))

    def forward(self, ids: Tensor, *, within: int | None = None) -> Tensor:
        """Score every tag for every word.

        Args:
            ids: feature numbers (batch, n, features), 0 where a sentence is padded.
            within: hide keys that are farther away than this from every query of attention.

        Returns:
            Scores (batch, n, tags).

        Raises:
            ValueError: `within` is given to a tagger without attention.
        """
        if within is not None and "attention" not in self.context:
            raise ValueError(f"within hides keys of attention: context has none, it is {self.context!r}")
        real = ids[..., 0] != 0  # (batch, n)
        if self.training and self.word_dropout:
            hidden = torch.rand(ids.shape[:2], device=ids.device) < self.word_dropout
            ids = torch.cat((ids[..., :1].masked_fill((hidden & real)[..., None], 1), ids[..., 1:]), -1)
        x = self.embedding(ids).sum(-2)  # (batch, n, d_model)
        n, d_model = x.shape[-2:]
        if self.learned is not None:
            x = self.learned(x)
        elif self.scheme == "sinusoidal":
            x = x + sinusoidal(n, d_model, device=x.device, dtype=x.dtype)
        x = self.dropout(x)
        options = {"key_mask": None if real.all() else padding(real.sum(-1), n)}  # (batch, 1, n)
        if "attention" in self.context:
            options |= {"bias": self._bias(n, x.device), "is_causal": self.context == "causal attention"}
        if within is not None:
            options["mask"] = window(n, within, within, device=x.device)  # (n, n)
        masks = [] if self.design is None else self.design.masks(real)
        for layer, mask in zip_longest(self.layers, masks):
            x = layer(x, **options | ({} if mask is None else {"mask": mask}))
        return self.out(self.norm(x))

    def _mixer(self, d_model: int) -> nn.Module | None:
        """Make what lets the words see one another."""
        if "attention" in self.context:
            return MultiHeadAttention(d_model, self.n_heads, rotary=self.scheme == "rotary")
        make = {"mean": Mean, "window": Window, "recurrent": Recurrent}.get(self.context)
        return make and make(d_model)

    def _bias(self, n: int, device: torch.device) -> Tensor | None:
        """Return what positions add to the scores, (1, n_heads, n, n)."""
        if self.relative is not None:
            return self.relative(n)[None]
        if self.scheme == "alibi":
            return alibi(self.n_heads, n, device=device)[None]
        return None


class _Layer(nn.Module):
    """Let words see one another, then work on each: two steps, each added to its input if `residual`."""

    def __init__(self, mixer: nn.Module | None, d_model: int, dropout: float, residual: bool) -> None:
        super().__init__()
        self.residual = residual
        self.norm, self.mixer = nn.LayerNorm(d_model) if mixer else None, mixer
        self.each = nn.Sequential(
            nn.LayerNorm(d_model), nn.Linear(d_model, 2 * d_model), nn.ReLU(), nn.Linear(2 * d_model, d_model)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, **options: Tensor | bool | None) -> Tensor:
        if self.mixer is not None:
            x = self._join(x, self.dropout(self.mixer(self.norm(x), **options)))
        return self._join(x, self.dropout(self.each(x)))

    def _join(self, before: Tensor, after: Tensor) -> Tensor:
        return before + after if self.residual else after
