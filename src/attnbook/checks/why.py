"""Exercises on why attention: the best that a view allows, a bag that fills, scores for shares, who was needed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor

from attnbook.checks.exercise import case, draws, exercise, gradient, late, mistake, precisions
from attnbook.checks.values import Tolerance, difference

Words = tuple[str, ...]
Language = dict[tuple[Words, Words], Fraction]
View = Callable[[Words, int], Hashable]


def language(*sentences: tuple[str, str, str]) -> Language:
    """Write a language down: for each sentence its words, its tags and its probability."""
    return {(tuple(w.split()), tuple(t.split())): Fraction(p) for w, t, p in sentences}


SAWS = language(
    ("I saw", "PRON VERB", "1/2"),
    ("the saw", "DET NOUN", "1/4"),
    ("saw it", "VERB PRON", "1/8"),
    ("the old saw left", "DET ADJ NOUN VERB", "1/8"),
)
THAT = language(
    ("I saw that", "PRON VERB PRON", "3/10"),
    ("I saw that saw", "PRON VERB DET NOUN", "1/2"),
    ("that saw can saw", "DET NOUN AUX VERB", "1/10"),
    ("can that can saw", "AUX DET NOUN VERB", "1/10"),
)
MANY = language(*((f"w{i % 7} w{i % 9}", f"{'NVA'[i % 3]} {'NVA'[i // 9 % 3]}", "1/45") for i in range(45)))
LONG = language(
    (" ".join(f"w{i % 7}" for i in range(48)), " ".join("NVA"[i % 5 % 3] for i in range(48)), "1")
)
LAST = language(
    (" ".join(["saw", *"abcdefghijkl", "can"]), " ".join(["N"] * 14), "2/5"),
    (" ".join(["saw", *"abcdefghijkl", "saw"]), " ".join(["V"] * 14), "3/5"),
)
RARE = language(("can saw", "NOUN VERB", "1/1000003"), ("saw", "NOUN", "1000002/1000003"))
CASED = language(("Can saw", "AUX VERB", "1/2"), ("can saw", "NOUN VERB", "1/2"))
EVEN = language(("can", "NOUN", "1/3"), ("can", "VERB", "1/3"), ("can", "AUX", "1/3"))


def see_word(words: Words, i: int) -> Hashable:
    """See the word alone."""
    return words[i]


def see_previous(words: Words, i: int) -> Hashable:
    """See the word and the one before."""
    return words[max(i - 1, 0) : i + 1], i == 0


def see_next(words: Words, i: int) -> Hashable:
    """See the word and the one after."""
    return words[i : i + 2]


def see_sentence(words: Words, i: int) -> Hashable:
    """See the whole sentence, and which word of it is asked for."""
    return i, words


def see_place(words: Words, i: int) -> Hashable:
    """See the place and no word."""
    return i


def ceiling(sentences: Language, view: View) -> Fraction:
    """The reference."""
    seen: defaultdict[Hashable, Counter] = defaultdict(Counter)
    for (words, tags), probability in sentences.items():
        for i, tag in enumerate(tags):
            seen[view(words, i)][tag] += probability
    return sum(max(t.values()) for t in seen.values()) / sum(t.total() for t in seen.values())


def _flat(sentences: Language) -> Language:
    return dict.fromkeys(sentences, Fraction(1))


def _by_sentence(sentences: Language, view: View) -> Fraction:
    best = _best(sentences, view)
    return sum(
        p * Fraction(sum(best[view(words, i)] == tag for i, tag in enumerate(tags)), len(tags))
        for (words, tags), p in sentences.items()
    )


def _best(sentences: Language, view: View) -> dict[Hashable, str]:
    seen: defaultdict[Hashable, Counter] = defaultdict(Counter)
    for (words, tags), probability in sentences.items():
        for i, tag in enumerate(tags):
            seen[view(words, i)][tag] += probability
    return {look: max(tags, key=tags.__getitem__) for look, tags in seen.items()}


def _by_view(sentences: Language, view: View) -> Fraction:
    seen: defaultdict[Hashable, Counter] = defaultdict(Counter)
    for (words, tags), probability in sentences.items():
        for i, tag in enumerate(tags):
            seen[view(words, i)][tag] += probability
    return sum(max(t.values()) / t.total() for t in seen.values()) / len(seen)


exercise(
    "why-ceiling",
    "ceiling",
    reference=ceiling,
    cases=[
        case("a view of the word alone", sentences=SAWS, view=see_word),
        case("a view of the word and the one before it", sentences=SAWS, view=see_previous),
        case("a view of the place and of no word", sentences=SAWS, view=see_place),
        case("other sentences, a view of the word alone", sentences=THAT, view=see_word),
        case("other sentences, a view of the word and the one after it", sentences=THAT, view=see_next),
        case("other sentences, a view of the word and the one before it", sentences=THAT, view=see_previous),
        case("sentences that differ in their last word, a view of the whole sentence", sentences=LAST, view=see_sentence),
        case("words that differ in a capital, a view of the word alone", sentences=CASED, view=see_word),
        case("a word none of whose tags has a majority", sentences=EVEN, view=see_word),
        case("a sentence that is rare", sentences=RARE, view=see_word),
        *late(
            case("45 sentences", sentences=MANY, view=see_previous),
            case("a sentence of 48 words", sentences=LONG, view=see_word),
        ),
    ],
    mistakes=[
        mistake("It went through a float. The ceiling is exact: work with Fractions to the end.", lambda sentences, view: float(ceiling(sentences, view))),
        mistake(
            "It looks at the word whatever the view shows. What the tagger goes by is view(words, i).",
            lambda sentences, view: ceiling(sentences, see_word),
        ),
        mistake(
            "Every sentence counts alike. Each pair of look and tag has the sum of the probabilities of its sentences.",
            lambda sentences, view: ceiling(_flat(sentences), view),
        ),
        mistake(
            "That is how many words come out right in a sentence. Divide by how many words a sentence has, both expected.",
            lambda sentences, view: ceiling(sentences, view) * sum(p * len(w) for (w, _), p in sentences.items()),
        ),
        mistake(
            "It averages over sentences. Count words: a sentence of four weighs as much as two of two.",
            _by_sentence,
        ),
        mistake("It averages over looks. A look that is common weighs more.", _by_view),
        mistake(
            "That is the share of words that stay wrong. The ceiling is the share that comes out right.",
            lambda sentences, view: 1 - ceiling(sentences, view),
        ),
    ],
    praise="Exact, for the word alone and for four other views.",
)  # fmt: skip


def _running(x: Tensor) -> Tensor:
    return x.cumsum(-2) / torch.arange(1, x.shape[-2] + 1)[:, None]


exercise(
    "why-running-bag",
    "running_bag",
    reference=_running,
    cases=draws(x="... n d", lead=[(), (2,), (3,), (2, 4)], seeds=8),
    promises=[gradient("x"), precisions("float64")],
    mistakes=[
        mistake(
            "Every row is the mean of the whole sentence. Row i may hear itself and what stands before it.",
            lambda x: x.mean(-2, keepdim=True).expand(x.shape),
        ),
        mistake("It adds up and does not divide. Row i is a mean of i + 1 rows.", lambda x: x.cumsum(-2)),
        mistake(
            "It divides every row by the number of all tokens. Row i is a mean of i + 1 rows.",
            lambda x: x.cumsum(-2) / x.shape[-2],
        ),
        mistake(
            "It runs over the features of one token. Run over the tokens: rows are tokens.",
            lambda x: x.cumsum(-1) / torch.arange(1, x.shape[-1] + 1),
        ),
        mistake(
            "It hears what comes after, not what came before.",
            lambda x: _running(x.flip(-2)).flip(-2),
        ),
        mistake(
            "Its own token is missing: row i hears itself too.",
            lambda x: torch.cat((torch.zeros_like(x[..., :1, :]), _running(x)[..., :-1, :]), -2),
        ),
        mistake(
            "With a batch, sentences run into each other. Run over axis -2, the tokens, alone.",
            lambda x: x.cumsum(0) / torch.arange(1, x.shape[0] + 1).reshape(-1, *[1] * (x.dim() - 1)),
        ),
    ],
    praise="Every row is the mean of itself and of all before it, for any batch.",
)


def _shares(s: Any, generator: torch.Generator) -> Tensor:
    return (2 * torch.randn(*s.lead, s.n, s.n, generator=generator)).softmax(-1)


def _softmax(scores: Any) -> Any:
    if isinstance(scores, Tensor) and scores.is_floating_point() and scores.dim():
        return scores.softmax(-1)
    return scores


def _as_shares(got: Any, want: Tensor, weights: Tensor) -> Any:
    eps, place = torch.finfo(weights.dtype).eps, "The softmax of your scores"
    found = difference(got, want, Tolerance(eps, 64 * eps), place)
    # A share of zero is nothing at all.
    return found or difference(torch.where(want == 0, got, want), want, Tolerance(0, 0), place)


exercise(
    "why-scores",
    "scores_for",
    reference=lambda weights: weights,
    cases=[
        *draws(n=..., weights=_shares, lead=[(), (2,), (3,), (2, 4)], seeds=8),
        case(
            "shares of exactly zero",
            "Which score makes its exponential zero?",
            weights=torch.tensor([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.25, 0.0, 0.75]]),
        ),
        case(
            "one share of a millionth",
            "The ratio of two shares is what the difference of their scores must give.",
            weights=torch.tensor([[1e-6, 1 - 1e-6], [0.5, 0.5]]),
        ),
        case("a sentence of one word", weights=torch.ones(1, 1)),
    ],
    mistakes=[
        mistake(
            "It returns the shares themselves. Their softmax is flatter than they are: undo the exponential.",
            lambda weights: weights,
        ),
        mistake(
            "It takes exponentials. They come after the scores: undo them.", lambda weights: weights.exp()
        ),
        mistake(
            "log p/(1 − p) undoes a sigmoid, which has two outcomes. Softmax divides by the sum of all.",
            lambda weights: weights.logit(),
        ),
        mistake("The logarithm has another base. Softmax takes powers of e.", lambda weights: weights.log2()),
        mistake(
            "The logarithm has another base. Softmax takes powers of e.", lambda weights: weights.log10()
        ),
        mistake(
            "The sign is turned: the largest share needs the largest score.", lambda weights: -weights.log()
        ),
        mistake(
            "Shares of zero come out larger than zero: what is added to every share stays in the result.",
            lambda weights: (weights + 1e-3).log(),
        ),
        mistake("Rows and columns have changed places.", lambda weights: weights.mT.log()),
    ],
    read=_softmax,
    compare=_as_shares,
    praise="The softmax of your scores gives back every share, zeros too, for any batch.",
)

Tag = Callable[[Sequence[str], Sequence[int]], Tensor]


def tagger(seed: int, n_tags: int) -> Tag:
    """Make a tagger that learned nothing: attention between random vectors, and words that can be hidden."""
    generator = torch.Generator().manual_seed(seed)
    words_at, places = torch.randn(2, 97, 6, generator=generator)
    match, out = torch.randn(6, 6, generator=generator), torch.randn(6, n_tags, generator=generator)

    def tag(words: Sequence[str], hidden: Sequence[int]) -> Tensor:
        own = torch.stack([words_at[sum(map(ord, word)) % 97] for word in words])  # (n, 6)
        x = own + places[: len(words)]
        scores = x @ match @ x.T / 6  # (n, n)
        scores[:, list(hidden)] = -torch.inf
        return ((own + 2 * scores.softmax(-1).nan_to_num() @ x) @ out / 2).softmax(-1)  # (n, tags)

    return tag


def moved(tag: Tag, words: Sequence[str]) -> Tensor:
    """The reference."""
    return _compared(tag, words, lambda change: change.abs().sum(-1))


def _compared(tag: Tag, words: Sequence[str], take: Callable[[Tensor], Tensor]) -> Tensor:
    whole = tag(words, [])  # (n, tags)
    return torch.stack([take(tag(words, [j]) - whole) for j in range(len(words))], -1)


def _of_the_tag(tag: Tag, words: Sequence[str]) -> Tensor:
    best = tag(words, []).argmax(-1, keepdim=True)
    return _compared(tag, words, lambda change: -change.gather(-1, best)[:, 0])


def _alone(tag: Tag, words: Sequence[str]) -> Tensor:
    n, whole = len(words), tag(words, [])
    others = [tag(words, [i for i in range(n) if i != j]) for j in range(n)]
    return torch.stack([(p - whole).abs().sum(-1) for p in others], -1)


exercise(
    "why-needed",
    "moved",
    reference=moved,
    cases=[
        case("“I saw a saw”, 17 tags", tag=tagger(1, 17), words=["I", "saw", "a", "saw"]),
        case("“can you open the can ?”, 5 tags", tag=tagger(2, 5), words=["can", "you", "open", "the", "can", "?"]),
        case("three words, 8 tags", tag=tagger(3, 8), words=["you", "can", "fish"]),
        case("one word, 4 tags", tag=tagger(4, 4), words=["saw"]),
        *late(
            case("“you saw the can”, 41 tags", tag=tagger(5, 41), words=["you", "saw", "the", "can"]),
            case("45 words, 4 tags", tag=tagger(6, 4), words=["I", "saw", "a", "can", "saw"] * 9),
        ),
    ],
    mistakes=[
        mistake("Rows and columns have changed places: row i says what moves word i.", lambda tag, words: moved(tag, words).T),
        mistake(
            "It adds up the changes with their signs. Probabilities sum to one before and after: take absolute values.",
            lambda tag, words: _compared(tag, words, lambda change: change.sum(-1)),
        ),
        mistake(
            "It keeps the largest change alone. Add up the changes of all tags.",
            lambda tag, words: _compared(tag, words, lambda change: change.abs().amax(-1)),
        ),
        mistake(
            "It averages over the tags. Add them up.",
            lambda tag, words: _compared(tag, words, lambda change: change.abs().mean(-1)),
        ),
        mistake(
            "It adds up squares. Add up absolute values.",
            lambda tag, words: _compared(tag, words, lambda change: change.square().sum(-1)),
        ),
        mistake("It looks at the probability of one tag alone. Add up how far all of them move.", _of_the_tag),
        mistake("Everything but word j is hidden. Hide word j, and let all others be seen.", _alone),
        mistake(
            "The diagonal is missing. A word can be hidden from itself too.",
            lambda tag, words: moved(tag, words).fill_diagonal_(0.0),
        ),
        mistake(
            "Those are the probabilities while words are hidden. Take those of the whole sentence away.",
            lambda tag, words: torch.stack([tag(words, [j]).sum(-1) for j in range(len(words))], -1),
        ),
    ],
    praise="Row i says how far the tags of word i move when each word is hidden, for any tagger.",
)  # fmt: skip
