"""Documents packed into one row: words, places, guesses, and who sees whom."""

import math
from typing import Any, NamedTuple

import torch

from answers import right, wrong
from attnlab import masks


class Four(NamedTuple):
    words: Any
    places: Any
    guesses: Any
    mask: Any

    @property
    def at(self):
        return torch.arange(len(self.words))

    @property
    def real(self):
        return self.mask.any(0)

    @property
    def number(self):
        """Of the document, from 1; a padding is one more each."""
        return (self.places == 0).cumsum(0)


@right
def lists(documents, n, dtype=torch.long):
    row = [word for document in documents for word in document]
    owner = [at for at, document in enumerate(documents) for _ in document]
    place = [at for document in documents for at in range(len(document))]
    guess = [word for document in documents for word in [*document[1:], -100]]
    at, owner = torch.arange(n), torch.tensor(owner + [-1] * (n - len(row)))
    own = (at <= at[:, None]) & (owner[:, None] == owner) & (owner >= 0)
    parts = ((row, 0), (place, 0), (guess, -100))
    return Four(*(torch.tensor(x + [fill] * (n - len(row)), dtype=dtype) for x, fill in parts), own)


def but(**changes):
    """The four, with something else made of them in the place of one."""

    def pack(documents, n):
        four = lists(documents, n)
        return four._replace(**{name: change(four) for name, change in changes.items()})

    return pack


@right
def slices(documents, n):
    (words, places, owner, guesses), at = (torch.full((n,), fill) for fill in (0, 0, -1, -100)), 0
    for i, document in enumerate(documents):
        here = slice(at, at + len(document))
        words[here], owner[here] = torch.tensor(document), i
        places[here] = torch.arange(len(document))
        guesses[at : at + len(document) - 1] = words[at + 1 : at + len(document)]
        at += len(document)
    return words, places, guesses, (owner[:, None] == owner) & (owner >= 0) & torch.ones(n, n).tril().bool()


@right
def blocks_on_a_diagonal(documents, n):
    mask = torch.block_diag(*[torch.ones(len(d), len(d)).tril() for d in documents])
    fill = n - len(mask)
    return *lists(documents, n)[:3], torch.nn.functional.pad(mask, (0, fill, 0, fill)).bool()


@right
def the_packages_masks(documents, n):
    owner = torch.full((n,), len(documents))
    owner[: sum(map(len, documents))] = torch.repeat_interleave(torch.tensor([len(d) for d in documents]))
    real = owner < len(documents)
    return *lists(documents, n)[:3], masks.packed(owner) & masks.causal(n) & real & real[:, None]


right(lambda documents, n: lists(documents, n, torch.int32), "small whole numbers")
right(
    but(guesses=lambda f: f.words.roll(-1).where(f.places.roll(-1) > 0, -100)),
    "guesses where the next place is not 0",
)
right(but(mask=lambda f: masks.packed(f.number) & f.mask), "numbered by where a place is 0")

# Guesses.
wrong("The last word of a document guesses the first of the next")(
    but(guesses=lambda f: f.words.roll(-1).where(f.at < f.real.sum() - 1, -100)), "guesses cross"
)
wrong("they cross from one document into the next, and into the padding")(
    but(guesses=lambda f: torch.cat((f.words[1:], torch.tensor([-100])))), "the whole row shifted"
)
wrong("The guesses are not shifted")(
    but(guesses=lambda f: f.words.where(f.real, -100)), "guesses not shifted"
)
wrong("The guesses are shifted the wrong way")(
    but(guesses=lambda f: f.words.roll(1).where(f.places > 0, -100)), "the word before"
)
wrong("0 is no guess to skip but a word")(
    but(guesses=lambda f: f.guesses.where((f.guesses >= 0) | ~f.real, 0)), "0 at the end"
)
wrong("the row of guesses should be [5, 0, -100,")(
    but(guesses=lambda f: f.guesses.where(f.words > 0, -100)), "no guess where the word is 0"
)
wrong("comes twice in a row")(
    but(guesses=lambda f: f.guesses.where(f.guesses != f.words, -100)),
    "no guess where a word comes again at once",
)
wrong("should be")(
    but(guesses=lambda f: f.guesses.where(f.number == 1, -100)), "guesses of the first document alone"
)

# Places.
wrong("The places run on through the row")(but(places=lambda f: f.at.where(f.real, 0)), "places run on")
wrong("The places are counted from 1")(but(places=lambda f: f.places + f.real), "places from 1")
wrong("should be")(but(places=lambda f: f.at.where(~f.real, f.places)), "padding has places")
wrong("in a row of 300")(but(places=lambda f: f.places.clamp_max(30)), "thirty places")

# Who sees whom.
wrong("The mask is causal alone")(but(mask=lambda f: masks.causal(len(f.words)) & f.real), "causal alone")
wrong("Words see later ones")(but(mask=lambda f: f.mask | f.mask.T), "not causal")
wrong("Words do not see themselves")(but(mask=lambda f: f.mask.tril(-1)), "strictly before")
wrong("Rows and columns have changed places")(but(mask=lambda f: f.mask.T), "transposed")
wrong("It is inverted")(but(mask=lambda f: ~f.mask), "inverted")
wrong("The padding sees itself")(
    but(mask=lambda f: f.mask | (~f.real & ~f.real[:, None]).tril()), "the padding sees itself"
)
wrong("should be")(but(mask=lambda f: f.mask | ~f.mask.any(-1, keepdim=True)), "the padding sees all")
wrong("should be")(but(mask=lambda f: f.mask | torch.eye(len(f.mask)).bool()), "everybody sees himself")
wrong("A document may hold the number of the padding")(
    but(mask=lambda f: f.mask & (f.words != 0) & (f.words != 0)[:, None]), "padding known by its number"
)
wrong("should be")(but(mask=lambda f: f.mask & (f.number == 1)), "the mask of the first document")
wrong("row 9, from entry 0 to 7, of the mask should be")(
    but(mask=lambda f: f.mask.triu(-5)), "a window of six"
)
wrong("one of them long")(but(mask=lambda f: f.mask.triu(-11)), "a window of twelve")
wrong("in a row of 300")(but(mask=lambda f: f.mask & (f.at < 64)), "64 words at most")


@wrong("neither sees the other")
def told_apart_by_their_words(documents, n):
    owner, start = torch.full((n,), -1), 0
    for document in documents:
        owner[start : start + len(document)] = documents.index(document)
        start += len(document)
    return *lists(documents, n)[:3], masks.causal(n) & masks.packed(owner) & (owner >= 0)


# What comes in, and in which form it goes out.
@wrong("it changed its argument documents")
def padding_as_a_document(documents, n):
    documents.append([0] * (n - sum(map(len, documents))))
    return lists(documents[:-1], n)


wrong("should be")(lambda documents, n: lists(sorted(documents, key=len, reverse=True), n), "longest first")
wrong("the row of words")(lambda documents, n: lists(documents[:2], n), "two documents")
wrong("many documents")(
    lambda documents, n: lists(documents[:3] if len(documents) > 4 else documents, n),
    "three of more than four",
)
wrong("should have")(lambda documents, n: lists(documents, sum(map(len, documents))), "the padding left out")
wrong("raised IndexError")(but(words=lambda f: torch.arange(10)[f.words]), "a vocabulary of ten")
wrong("with the numbers of a large vocabulary: it raised")(
    lambda documents, n: lists(documents, n, torch.int8), "numbers of 8 bits"
)
wrong("should hold whole numbers")(lambda documents, n: lists(documents, n, torch.float32), "floats")
wrong("True and False")(but(mask=lambda f: f.mask.int()), "a mask of 0 and 1")
wrong("the mask should hold True and False, it has dtype float32")(
    but(mask=lambda f: torch.zeros(f.mask.shape).masked_fill(~f.mask, -math.inf)), "a mask to be added"
)
wrong("should have shape")(
    lambda documents, n: tuple(x[None] for x in lists(documents, n)), "an axis for the batch"
)
wrong("should have length 4, it has 3")(lambda documents, n: lists(documents, n)[:3], "three of four")
wrong("the output should be 4 values")(
    lambda documents, n: dict(enumerate(lists(documents, n))), "a dictionary"
)
wrong("the row of words should have shape (7,), it has (7, 7)")(
    lambda documents, n: lists(documents, n)[::-1], "the mask first"
)
wrong("should be a tensor")(
    lambda documents, n: [x.tolist() for x in lists(documents, n)], "lists of numbers"
)
wrong("should be a tensor")(lambda documents, n: tuple(x.numpy() for x in lists(documents, n)), "arrays")
