"""How far the tags of each word move when each word is hidden."""

import torch

from answers import right, wrong


def moved(take, hide=lambda words, j: [j], stack=-1):
    """Hide words, and `take` a number for each word from its tags then and in the whole sentence."""

    def does(tag, words):
        whole = tag(words, [])
        return torch.stack([take(tag(words, hide(words, j)), whole) for j in range(len(words))], stack)

    return does


def far(hidden, whole):
    return torch.linalg.vector_norm(hidden - whole, ord=1, dim=-1)


@right
def loops(tag, words):
    out, whole = torch.zeros(len(words), len(words)), tag(words, [])
    for j in range(len(words)):
        without = tag(words, (j,))
        for i in range(len(words)):
            out[i, j] = sum(abs(float(a - b)) for a, b in zip(without[i], whole[i], strict=True))
    return out


right(moved(lambda a, b: 2 * (a - b).clamp_min(0).sum(-1)), "twice the total variation")
right(moved(far, lambda words, j: {j}), "a set")


@wrong("should be")
def taken_out(tag, words):
    """The others move to other places."""
    n, whole = len(words), tag(words, [])
    out = torch.zeros(n, n)
    for j in range(n):
        others = [i for i in range(n) if i != j]
        if others:
            out[others, j] = far(tag([words[i] for i in others], []), whole[others])
    return out


@wrong("Everything but word j is hidden")
def one_shown(tag, words):
    n = len(words)
    return torch.stack([far(tag(words, {*range(n)} - {j}), tag(words, ())) for j in range(n)], 1)


@wrong("The diagonal is missing")
def others_alone(tag, words):
    out = loops(tag, words)
    return out - out.diag().diag()


wrong("Rows and columns have changed places")(moved(far, stack=0), "rows")
wrong("with their signs")(moved(lambda a, b: a.sum(-1) - b.sum(-1)), "signs kept")
wrong("It keeps the largest change alone")(moved(lambda a, b: (a - b).abs().max(-1).values), "the largest")
wrong("It averages over the tags")(moved(lambda a, b: far(a, b) / a.shape[1]), "the mean")
wrong("should")(moved(lambda a, b: 17 * (a - b).abs().mean(-1)), "17 tags")
wrong("It adds up squares")(moved(lambda a, b: ((a - b) ** 2).sum(-1)), "squares")
wrong("should be")(moved(lambda a, b: far(a, b) / 2), "half")
wrong("should be")(moved(lambda a, b: ((a - b).abs() / b).sum(-1)), "relative")
wrong("Take those of the whole sentence away")(moved(lambda a, b: a.sum(-1)), "not subtracted")
wrong("the probability of one tag alone")(
    moved(lambda a, b: (b - a)[torch.arange(len(b)), b.argmax(-1)]), "the tag of the whole sentence"
)
wrong("should be")(moved(far, lambda words, j: range(j + 1)), "all before it hidden too")
wrong("should be")(
    moved(far, lambda words, j: [i for i, word in enumerate(words) if word == words[j]]),
    "every word of that spelling",
)
wrong("should be")(moved(far, lambda words, j: [words.index(words[j])]), "the first of that spelling")
wrong("should have shape (6, 6), it has (4, 4)")(lambda tag, words: loops(tag, words[:4]), "four words")
wrong("should")(
    lambda tag, words: torch.stack([far(tag(words, [j]), tag(words, [0])) for j in range(len(words))], -1),
    "against the first word hidden",
)
