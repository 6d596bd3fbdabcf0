"""One head learns whom to ask: the toy grammar's words and places, and a head that reads them.

The head is a module that the chapter writes; here it is trained, many of them side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.experiments.descent import descend
from attnbook.experiments.runs import Run
from attnbook.tagging import grammar
from attnlab.dot_product import attention

WORDS = tuple(word for word in sorted({word for words in grammar.LEXICON.values() for word, _ in words}))
PLACES, HEAD = 8, 16
"""Words of the longest sentence, and the width of a head."""
WIDTH = len(WORDS) + PLACES
"""How wide a token is, which is its word and its place, both one-hot, side by side."""

SAW = ("I", "saw", "a", "saw")


def encode(*sentences: Sequence[str]) -> Tensor:
    """Write sentences as tokens: the word one-hot, and beside it the place one-hot; zeros are padding.

    Args:
        sentences: of words of the grammar, at most `PLACES` of them.

    Returns:
        Tokens (sentences, PLACES, WIDTH).

    Raises:
        ValueError: a word is not the grammar's, or a sentence is too long.

    >>> x = encode(["I", "saw", "a", "saw"])
    >>> x.shape, x.sum((0, 2)).tolist()
    (torch.Size([1, 8, 25]), [2.0, 2.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0])
    """
    for words in sentences:
        if len(words) > PLACES:
            raise ValueError(f"a sentence must have at most {PLACES} words, got {len(words)}")
        for word in words:
            if word not in WORDS:
                raise ValueError(f"words must be the grammar's, {', '.join(WORDS)}; got {word!r}")
    return _tokens(torch.tensor([_numbers(words, WORDS) for words in sentences]))


def _numbers(items: Sequence[str], names: Sequence[str]) -> list[int]:
    return [*map(names.index, items), *[-1] * (PLACES - len(items))]


def _tokens(words: Tensor) -> Tensor:
    """Turn numbers of words (..., PLACES), -1 for padding, into tokens (..., PLACES, WIDTH)."""
    real = words >= 0
    place = F.one_hot(torch.arange(PLACES), PLACES).expand(*words.shape, PLACES)
    both = torch.cat((F.one_hot(words.clamp_min(0), len(WORDS)), place), -1)
    return (both * real[..., None]).float()


@cache
def _everything() -> tuple[Tensor, Tensor, Tensor]:
    """Return the words and tags of every sentence of the grammar, as numbers, and its probability."""
    found = grammar.sentences()
    words = torch.tensor([_numbers(words, WORDS) for words, _ in found])
    tags = torch.tensor([_numbers(tags, grammar.TAGS) for _, tags in found])
    return words, tags, torch.tensor([float(p) for p in found.values()], dtype=torch.float64)


def accuracy(model: Callable[[Tensor], Tensor]) -> float:
    """Compute the expected share of right tags, over every sentence of the grammar.

    Args:
        model: tokens (batch, PLACES, WIDTH) to logits (batch, PLACES, tags).

    >>> always_noun = F.one_hot(torch.tensor(grammar.TAGS.index("NOUN")), len(grammar.TAGS)).float()
    >>> found = accuracy(lambda x: always_noun.expand(*x.shape[:2], -1))
    >>> abs(found - float(grammar.ceiling("nothing"))) < 0.05
    True
    """
    words, tags, chance = _everything()
    with torch.no_grad():
        guess = torch.cat([model(_tokens(part)).argmax(-1) for part in words.split(8192)])
    real = tags >= 0
    right = (guess == tags) & real
    return ((chance @ right.double()).sum() / (chance @ real.double()).sum()).item()


class Views(nn.Module):
    """Queries, keys and values of tokens, each by a matrix; several may be one and the same.

    Args:
        which: the matrix of the queries, of the keys and of the values, counted from 0.
        width: of each.
        start: what the matrices of queries and keys are multiplied by, before any training.
        turned: so many numbers of each query get the other sign.

    >>> q, k, v = Views(0, 1, 1)(encode(["I", "saw"]))
    >>> torch.equal(q, k), torch.equal(k, v)
    (False, True)
    """

    def __init__(self, *which: int, width: int = HEAD, start: float = 1.0, turned: int = 0) -> None:
        super().__init__()
        self.which, self.width, self.turned = which, width, turned
        self.matrices = nn.ModuleList(nn.Linear(WIDTH, width, bias=False) for _ in range(max(which) + 1))
        with torch.no_grad():
            for i in {*which[:2]}:
                self.matrices[i].weight.mul_(start)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values."""
        made = [matrix(x) for matrix in self.matrices]
        q, k, v = (made[i] for i in self.which)
        return torch.cat((-q[..., : self.turned], q[..., self.turned :]), -1), k, v


class AsTheyAre(nn.Module):
    """No matrix but that of the values: tokens are compared as they are, and only how sharply is learned.

    >>> q, k, v = AsTheyAre()(encode(["I", "saw"]))
    >>> q.shape == k.shape, v.shape
    (True, torch.Size([1, 8, 16]))
    """

    def __init__(self, *, width: int = HEAD) -> None:
        super().__init__()
        self.width = width
        self.sharpness = nn.Parameter(torch.ones(()))
        self.value = nn.Linear(WIDTH, width, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values."""
        return self.sharpness * x, x, self.value(x)


class OneTable(nn.Module):
    """One square matrix of relevance in the place of queries and keys.

    Args:
        width: of the values.

    >>> q, k, v = OneTable()(encode(["I", "saw"]))
    >>> q.shape == k.shape, v.shape
    (True, torch.Size([1, 8, 16]))
    """

    def __init__(self, *, width: int = HEAD) -> None:
        super().__init__()
        self.width = width
        self.table = nn.Linear(WIDTH, WIDTH, bias=False)
        self.value = nn.Linear(WIDTH, width, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values."""
        return self.table(x), x, self.value(x)


class Alike(nn.Module):
    """No relevance at all: every score is 0, and the head hears a plain mean of values.

    >>> OneHead(Alike())(encode(["I", "saw"]), need_weights=True)[1][0, 0, :2]
    tensor([0.5000, 0.5000])
    """

    def __init__(self, *, width: int = HEAD) -> None:
        super().__init__()
        self.width = width
        self.value = nn.Linear(WIDTH, width, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values."""
        return torch.zeros_like(x), x, self.value(x)


class OneHead(nn.Module):
    """A tagger with one head: a linear layer reads each token beside what it has heard.

    Args:
        views: makes queries, keys and values of tokens.
        itself: whether a token may hear itself.

    >>> OneHead(Views(0, 1, 2))(encode(["I", "saw", "a", "saw"])).shape
    torch.Size([1, 8, 6])
    """

    def __init__(self, views: Views | AsTheyAre | OneTable | Alike, *, itself: bool = True) -> None:
        super().__init__()
        self.views, self.itself = views, itself
        self.tag = nn.Linear(WIDTH + views.width, len(grammar.TAGS))

    def forward(self, x: Tensor, *, need_weights: bool = False) -> Tensor | tuple[Tensor, Tensor]:
        """Return logits (..., PLACES, tags); with `need_weights` also whom each token heard."""
        real = (x.sum(-1) > 0)[..., None, :].expand(*x.shape[:-1], x.shape[-2])  # no padding
        mask = real if self.itself else real & ~torch.eye(x.shape[-2], dtype=torch.bool)
        heard, weights = attention(*self.views(x), mask=mask, need_weights=True)
        logits = self.tag(torch.cat((x, heard), -1))
        return (logits, weights) if need_weights else logits


FORMS = {
    "queries, keys, values": lambda: OneHead(Views(0, 1, 2)),
    "queries are the keys": lambda: OneHead(Views(0, 0, 1)),
    "compared as they are": lambda: OneHead(AsTheyAre()),
    "all three, never itself": lambda: OneHead(Views(0, 1, 2), itself=False),
    "queries are the keys, never itself": lambda: OneHead(Views(0, 0, 1), itself=False),
}
"""What makes the taggers that are compared."""

RIVALS = {
    "one full table": lambda: OneHead(OneTable()),
    "a plain mean": lambda: OneHead(Alike()),
    "a plain mean, never itself": lambda: OneHead(Alike(), itself=False),
}
"""The plainest other heads. One has all relevance in one matrix, the rest have none at all."""

STARTS = {
    "queries are the keys, started at 0.3": lambda: OneHead(Views(0, 0, 1, start=0.3)),
    "queries are the keys, started at 0.1": lambda: OneHead(Views(0, 0, 1, start=0.1)),
    "queries, keys, values, started at 0.1": lambda: OneHead(Views(0, 1, 2, start=0.1)),
}
"""Heads whose scores start nearer to 0."""

TURNED = {"queries are keys half turned": lambda: OneHead(Views(0, 0, 1, turned=HEAD // 2))}
"""One matrix makes both, and half of the numbers of each query get the other sign."""


def looks(model: nn.Module, words: Sequence[str]) -> Tensor:
    """Return whom each word hears: the weights (n, n) of a tagger on one sentence.

    Args:
        model: called with tokens and `need_weights=True`, it returns logits and weights.
        words: the sentence.

    >>> looks(OneHead(Views(0, 1, 2)), ["I", "saw", "a", "saw"]).sum(-1).round().tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    with torch.no_grad():
        _, weights = model(encode(words), need_weights=True)
    return weights[0, : len(words), : len(words)]


@dataclass(frozen=True)
class Asking:
    """One head, trained to tag the toy grammar; a candidate of `sweep`, which trains its runs side by side.

    Every step draws new sentences. The curve shows how many tags are right on them, in per cent, before they
    are learned from; the value is `accuracy` at the end. Beside it stands how much, in per cent, each of the
    two saw hears of the article in "I saw a saw".

    Args:
        make: makes the tagger.
        steps: of Adam.
        every: steps to a point of the curve.
        batch: sentences in each step.

    >>> runs = Asking(FORMS["queries, keys, values"], steps=20).together([(0.01, 0), (0.01, 1)])
    >>> len(runs), len(runs[0].curve)
    (2, 2)
    """

    told: ClassVar = {
        "optimizer": "Adam",
        "examples": "new sentences",
        "counts": "tags right over all sentences of the grammar",
        "d_model": WIDTH,
        "d_head": HEAD,
    }

    make: Callable[[], nn.Module]
    steps: int = 600
    every: int = 10
    batch: int = 128

    def together(self, pairs: Sequence[tuple[float, int]]) -> list[Run]:
        """Train one tagger for each (rate, seed); its sentences depend on the seed alone."""
        return [run for _, run in self.train(pairs)]

    def train(self, pairs: Sequence[tuple[float, int]]) -> list[tuple[nn.Module, Run]]:
        """Train, and return the taggers too."""
        models = []
        for _, seed in pairs:
            torch.manual_seed(seed)
            models.append(self.make())
        parameters, _ = torch.func.stack_module_state(models)
        alike = models[0]

        def logits(values: dict[str, Tensor], x: Tensor) -> Tensor:
            return torch.func.functional_call(alike, values, (x,))

        seeds = list(dict.fromkeys(seed for _, seed in pairs))
        which = torch.tensor([seeds.index(seed) for _, seed in pairs])
        draws = [torch.Generator().manual_seed(seed) for seed in seeds]
        words, tags, chance = _everything()
        upto = chance.cumsum(0)

        def measure(step: int) -> tuple[Tensor, Tensor]:
            some = torch.stack([torch.rand(self.batch, generator=d, dtype=torch.float64) for d in draws])
            some = torch.searchsorted(upto, some.clamp_max(upto[-1])).clamp_max(len(upto) - 1)[which]
            found, wanted = torch.func.vmap(logits)(parameters, _tokens(words[some])), tags[some]
            real = wanted >= 0
            loss = F.cross_entropy(found.movedim(-1, 1), wanted, ignore_index=-1, reduction="none")
            right = (found.argmax(-1) == wanted) & real
            words_in = real.sum((1, 2))
            return loss.sum((1, 2)) / words_in, 100 * right.sum((1, 2)) / words_in

        rates = torch.tensor([rate for rate, _ in pairs])
        runs = descend(
            list(parameters.values()), rates, measure, steps=self.steps, every=self.every, optimizer="Adam"
        )
        out = []
        for i, (model, run) in enumerate(zip(models, runs, strict=True)):
            model.load_state_dict({name: value[i].detach() for name, value in parameters.items()})
            _, first, _, second = (100 * looks(model, SAW)[:, 2]).tolist()
            extras = {"the second saw hears a, %": second, "the first, %": first}
            out.append((model, Run(run.curve, self.every, 100 * accuracy(model), extras)))
        return out
