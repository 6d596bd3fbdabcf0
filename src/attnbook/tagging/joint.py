"""The tagger with all it has: an encoder that learns every column of the treebank, and hidden words."""

from __future__ import annotations

import copy
import itertools
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.tagging.columns import Annotated, Labels
from attnbook.tagging.taggers import Sentence, Vocabulary
from attnbook.tagging.training import NO_TAG, History, batches, evaluate, warm_cosine
from attnlab.transformer import Encoder

UNKNOWN = 1
"""The number that a hidden word, or a hidden feature, gets."""
MOST_LETTERS = 16
"""Of a longer word, the first and the last eight letters are read."""
SHORT = (4, 7)
"""Words of up to so many letters are read together."""
BIAS_RATE = 10
"""The relative bias learns so many times as fast, because Adam moves a number by about the rate a step."""


class LetterVocabulary(Vocabulary):
    """The features that training knows, and its letters, both numbered: n words become (n, features + 16).

    Args:
        sentences: the training sentences.
        at_least: how often a feature must occur to get a number of its own.

    >>> vocabulary = LetterVocabulary([(("I", "saw"), ("PRON", "VERB"))], at_least=1)
    >>> vocabulary.encode(("was",))[0, -16:].tolist()
    [5, 4, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    """

    def __init__(self, sentences: Iterable[Sentence], *, at_least: int = 2) -> None:
        sentences = list(sentences)
        super().__init__(sentences, affixes=True, at_least=at_least)
        letters = Counter(letter for words, _ in sentences for word in words for letter in word)
        known = [letter for letter, count in letters.items() if count >= at_least]
        self.letters = {letter: number for number, letter in enumerate(known, start=2)}

    def _row(self, word: str) -> list[int]:
        half = MOST_LETTERS // 2
        short = word if len(word) <= MOST_LETTERS else word[:half] + word[-half:]
        numbers = [self.letters.get(letter, UNKNOWN) for letter in short]
        return super()._row(word) + numbers + [0] * (MOST_LETTERS - len(numbers))


class Letters(nn.Module):
    """Read each word letter by letter: letters attend to one another, and the word is their mean.

    Args:
        n_letters: how many letters there are, with 0 for none and 1 for unknown ones.
        d_letters: width of a letter.
        d_model: width of a word.

    >>> Letters(9, 8, 16)(torch.tensor([[[5, 4, 3, 0]]])).shape
    torch.Size([1, 1, 16])
    """

    def __init__(self, n_letters: int, d_letters: int, d_model: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_letters, d_letters, padding_idx=0)
        self.stack = Encoder(
            d_letters, 4, 1, positions="learned", max_positions=MOST_LETTERS, d_ff=2 * d_letters
        )
        nn.init.normal_(self.stack.learned.weight, std=1.0)
        self.out_proj = nn.Linear(d_letters, d_model)

    def forward(self, letters: Tensor) -> Tensor:
        """Describe words by their letters: (batch, n, letters) to (batch, n, d_model)."""
        once, back = letters.flatten(0, 1).unique(dim=0, return_inverse=True)  # each word is read once
        lengths = (once != 0).sum(-1)
        means, places = [], []
        # Long words are rare: short ones are read apart from them, so that little of what is read is padding.
        for most, group in _by_length(lengths):
            short = once[group, :most]
            real = short != 0
            read = self.stack(self.embedding(short), key_mask=real) * real[..., None]
            means.append(read.sum(-2) / real.sum(-1, keepdim=True).clamp(min=1))
            places.append(group)
        word = self.out_proj(torch.cat(means)[torch.cat(places).argsort()])
        return word[back].unflatten(0, letters.shape[:2])


def _by_length(lengths: Tensor) -> Iterator[tuple[int, Tensor]]:
    """Yield a few lengths, and the places of the words that fit into each and not into the one before."""
    for less, most in itertools.pairwise((-1, *SHORT, MOST_LETTERS)):
        yield most, ((lengths > less) & (lengths <= most)).nonzero()[:, 0]


class JointTagger(nn.Module):
    """Describe words by their letters, let them attend to one another, read off all that is annotated.

    The tag is one column among several. The others are there in training only, to teach the layers below.

    Args:
        vocabulary: numbers for features and tags.
        labels: the labels of each column, as `Labels(...).names`; the first column is the tag.
        d_model: width.
        n_heads: heads of each layer.
        n_layers: layers.
        positions: how the layers know the order, as in `Encoder`.
        dropout: share of activations dropped in training.
        word_dropout: share of words that training hides, so that affixes and neighbours must do.
        word_std: spread of a word's vector at the start, whatever number of features is summed in it.
        d_letters: width at which a word's letters are read, 0 for not at all; needs a `LetterVocabulary`.

    >>> vocabulary = Vocabulary([(("I", "saw"), ("PRON", "VERB"))])
    >>> tagger = JointTagger(vocabulary, {"tag": ("PRON", "VERB")}, d_model=8, n_heads=2)
    >>> tagger(vocabulary.encode(("I", "saw"))[None]).shape
    torch.Size([1, 2, 2])
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        labels: dict[str, Sequence[str]],
        *,
        d_model: int = 192,
        n_heads: int = 6,
        n_layers: int = 2,
        positions: str = "relative",
        dropout: float = 0.3,
        word_dropout: float = 0.2,
        word_std: float = 0.3,
        d_letters: int = 0,
    ) -> None:
        super().__init__()
        self.vocabulary, self.word_dropout = vocabulary, word_dropout
        self.letters = None
        if d_letters:
            self.letters = Letters(len(vocabulary.letters) + 2, d_letters, d_model)
        self.embedding = nn.Embedding(len(vocabulary), d_model, padding_idx=0)
        self.n_features = vocabulary.encode(()).shape[1] - (MOST_LETTERS if d_letters else 0)
        nn.init.normal_(self.embedding.weight, std=word_std / math.sqrt(self.n_features))
        layer = {"d_ff": 2 * d_model, "dropout": dropout, "attention_dropout": 0.0}
        self.stack = Encoder(d_model, n_heads, n_layers, positions=positions, **layer)
        self.columns = nn.ModuleList(nn.Linear(d_model, len(names)) for names in labels.values())

    def forward(self, ids: Tensor) -> Tensor:
        """Score every tag for every word: (batch, n, features) to (batch, n, tags)."""
        return self.columns[0](self.read(ids))

    def read(self, ids: Tensor, hidden: Tensor | None = None) -> Tensor:
        """Describe every word in its sentence.

        Args:
            ids: feature numbers (batch, n, features), 0 where a sentence is padded.
            hidden: boolean (batch, n); of these words the model sees nothing but the place.

        Returns:
            Tokens (batch, n, d_model).
        """
        real = ids[..., 0] != 0  # (batch, n)
        if hidden is not None:
            ids = ids.masked_fill((hidden & real)[..., None], UNKNOWN)
        if self.training and self.word_dropout:
            drop = torch.rand(real.shape, device=ids.device) < self.word_dropout
            ids = torch.cat((ids[..., :1].masked_fill((drop & real)[..., None], UNKNOWN), ids[..., 1:]), -1)
        x = self.embedding(ids[..., : self.n_features]).sum(-2)  # (batch, n, d_model)
        if self.letters is not None:
            x = x + self.letters(ids[..., self.n_features :])
        return self.stack(x, key_mask=None if real.all() else real)


class Together(nn.Module):
    """Taggers that were trained apart and vote: the probability of a tag is the mean of theirs.

    What one of them has learned by chance the others have not, so that the mean errs less often than each.

    Args:
        taggers: at least one; they must number features and tags alike, as taggers with one vocabulary do.

    Raises:
        ValueError: there is no tagger, or they do not number alike.

    References:
        Hansen and Salamon 1990.

    >>> vocabulary = Vocabulary([(("I", "saw"), ("PRON", "VERB"))])
    >>> two = [JointTagger(vocabulary, {"tag": ("PRON", "VERB")}, d_model=8, n_heads=2) for _ in range(2)]
    >>> Together(two)(vocabulary.encode(("I", "saw"))[None]).exp().sum(-1).round().tolist()
    [[1.0, 1.0]]
    """

    def __init__(self, taggers: Iterable[JointTagger]) -> None:
        super().__init__()
        self.taggers = nn.ModuleList(taggers)
        if not len(self.taggers):
            raise ValueError("taggers must hold at least one tagger, got none")
        self.vocabulary = self.taggers[0].vocabulary
        for at, tagger in enumerate(self.taggers):
            own = tagger.vocabulary
            if (own.ids, own.tags) != (self.vocabulary.ids, self.vocabulary.tags):
                raise ValueError(f"taggers must number features and tags alike; taggers[{at}] does not")

    def forward(self, ids: Tensor) -> Tensor:
        """Score every tag for every word by the logarithm of its mean probability: (batch, n, tags)."""
        return torch.stack([tagger(ids).softmax(-1) for tagger in self.taggers]).mean(0).log()


def train_jointly(
    tagger: JointTagger,
    labels: Labels,
    train: Sequence[Annotated],
    dev: Sequence[Annotated],
    *,
    epochs: int,
    seed: int,
    rate: float = 2e-3,
    others: float = 0.3,
    hide: float = 0.1,
    guess: float = 0.3,
    average: float = 0.998,
    batch_tokens: int = 1024,
    watch: Callable[[int, float], None] = lambda epoch, accuracy: None,
) -> History:
    """Train a tagger on all columns, average its weights on the way, and leave it as in its best epoch.

    Args:
        tagger: the tagger, built after `torch.manual_seed`.
        labels: numbers for the labels of each column.
        train: sentences to learn from.
        dev: sentences that choose the epoch.
        epochs: passes over `train`.
        seed: seeds dropout, hidden words and the order of the batches.
        rate: learning rate at its height.
        others: weight of the loss of each column but the first; 0 learns tags alone.
        hide: share of words of which the model sees nothing and whose labels it must guess all the same.
        guess: weight of the loss of guessing these words themselves; 0 does not ask for them.
        average: share of the mean of the weights that a step keeps; 0 takes the weights as they are.
        batch_tokens: about how many tokens make a batch.
        watch: called after each epoch with its number and its dev accuracy.

    Returns:
        The dev accuracies and the time.

    References:
        Søgaard and Goldberg 2016 (several columns at once); Devlin et al. 2019, section 3.1 (hidden words);
        Polyak and Juditsky 1992 (averaged weights).
    """
    torch.manual_seed(seed)
    shuffle = random.Random(seed)
    encoded = [(tagger.vocabulary.encode(s.words), labels.encode(s)) for s in train]
    history, start = History(), time.process_time()
    words = _HiddenWords(tagger, encoded)
    mean, best = copy.deepcopy(tagger), None

    def loss_of(ids: Tensor, found: Tensor) -> Tensor:
        hidden = torch.rand(ids.shape[:2]) < hide  # (batch, n)
        tokens = tagger.read(ids, hidden)
        loss = torch.zeros(())
        for at, column in enumerate(tagger.columns):
            weight = others if at else 1.0
            if weight:
                scores = column(tokens).flatten(0, 1)
                loss = loss + weight * F.cross_entropy(scores, found[..., at].flatten(), ignore_index=NO_TAG)
        if guess:
            loss = loss + guess * words.loss(tokens[hidden], ids[..., 0][hidden])
        return loss

    def after(step: int) -> None:
        with torch.no_grad():  # the first steps count less: the mean of few is not held back by the start
            keep = min(average, step / (step + 10))
            torch._foreach_lerp_(list(mean.parameters()), list(tagger.parameters()), 1 - keep)

    tagged = [s.tagged for s in dev]
    for epoch in _epochs([tagger, words], encoded, loss_of, epochs, rate, batch_tokens, shuffle, after):
        history.dev.append(evaluate(mean, tagged).all / 100)
        watch(epoch, 100 * history.dev[-1])
        if best is None or history.dev[-1] > history.dev[history.best_epoch - 1]:
            history.best_epoch, best = epoch, copy.deepcopy(mean.state_dict())
    tagger.load_state_dict(best)
    tagger.eval()
    history.seconds = time.process_time() - start
    return history


class _HiddenWords(nn.Module):
    """Guess the words of which the model has seen nothing, from what it made of their places."""

    def __init__(self, tagger: JointTagger, encoded: Sequence[tuple[Tensor, Tensor]]) -> None:
        super().__init__()
        words = torch.cat([ids[:, 0] for ids, _ in encoded]).unique()
        words = words[words > UNKNOWN]
        number = torch.full((len(tagger.vocabulary),), NO_TAG)
        number[words] = torch.arange(len(words))
        self.register_buffer("number", number)
        self.out = nn.Linear(tagger.embedding.embedding_dim, len(words))

    def loss(self, tokens: Tensor, words: Tensor) -> Tensor:
        """Return the mean loss of guessing `words` (count,) from `tokens` (count, d_model)."""
        wanted = self.number[words]
        # Where no word was hidden there is nothing to learn from, and the loss is zero.
        total = F.cross_entropy(self.out(tokens), wanted, ignore_index=NO_TAG, reduction="sum")
        return total / max(int((wanted != NO_TAG).sum()), 1)


def _epochs(parts, encoded, loss_of, epochs, rate, batch_tokens, shuffle, after):
    """Train, and yield the number of each epoch that has ended."""
    parameters = [p for part in parts for p in part.parameters()]
    slow = [
        p for part in parts for name, p in part.named_parameters() if not name.endswith("relative.weight")
    ]
    apart = {id(p) for p in slow}
    fast = [p for p in parameters if id(p) not in apart]
    groups: list[dict] = [{"params": slow}]
    if fast:
        groups.append({"params": fast, "lr": BIAS_RATE * rate, "weight_decay": 0.0})
    optimizer = torch.optim.AdamW(groups, lr=rate, weight_decay=0.01, fused=True)
    steps = epochs * sum(1 for _ in batches(encoded, batch_tokens, random.Random(0)))
    schedule, step = warm_cosine(optimizer, steps), 0
    for epoch in range(1, epochs + 1):
        for part in parts:
            part.train()
        for ids, found in batches(encoded, batch_tokens, shuffle):
            loss = loss_of(ids, found)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            step += 1
            if step < steps:
                schedule.step()
            after(step)
        yield epoch
