"""Which outputs depend on words that the mask hides from them."""

import numpy as np
import torch

from answers import right, wrong
from attnlab import masks


def depends(model, n, vocab_size, *, sentences=60, least=1e-5, words=None, change=None, seen=lambda out: out):
    """Every word is exchanged for every other one, or `change(words, j)` says for which."""
    words = torch.randint(vocab_size, (sentences, n)) if words is None else words
    before, found = seen(model(words)), torch.zeros(n, n, dtype=torch.bool)
    for j in range(n):
        for step in range(1, vocab_size if change is None else 2):
            other = words.clone()
            other[:, j] = (words[:, j] + step) % vocab_size
            moves = (seen(model(other if change is None else change(words, j))) - before).abs()
            found[:, j] |= moves.amax((0, 2)) > least
    return found


def table(model, n, vocab_size, mask, **options):
    return depends(model, n, vocab_size, **options) & ~mask


def pairs(keep=lambda found, mask: found & ~mask, **options):
    """A list of pairs from the table of who depends on whom."""
    return lambda model, n, vocab_size, mask: [
        tuple(pair) for pair in keep(depends(model, n, vocab_size, **options), mask).nonzero().tolist()
    ]


def many(**options):
    """As many sentences as the words ask for."""
    return lambda model, n, vocab_size, mask: pairs(sentences=100 * vocab_size, **options)(
        model, n, vocab_size, mask
    )


def listed(form, **options):
    """The pairs in another form."""
    return lambda *given: form(pairs(**options)(*given))


def exchanged(places):
    """The words at some places for those of other sentences."""

    def change(words, j):
        other = words.clone()
        other[:, places(j)] = words.roll(1, 0)[:, places(j)]
        return other

    return change


@right
def one_sentence_at_a_time(model, n, vocab_size, mask):
    found = set()
    for words in torch.randint(vocab_size, (16, n)).tolist():
        before = model(torch.tensor([words]))
        for j in range(n):
            others = model(torch.tensor([[*words[:j], word, *words[j + 1 :]] for word in range(vocab_size)]))
            moves = (others - before).abs().amax((0, 2))
            found |= {(i, j) for i in range(n) if moves[i] > 1e-5}
    return sorted((i, j) for i, j in found if not mask[i, j])


def first_word(words, j):
    """Whatever depends on a word differs from what it is at word 0 for some word."""
    other = words.clone()
    other[:, j] = 0
    return other


@right
def every_sentence(model, n, vocab_size, mask):
    words = torch.cartesian_prod(*[torch.arange(vocab_size)] * n).reshape(-1, n)
    return pairs(words=words, change=first_word)(model, n, vocab_size, mask)


def shuffled(words, j):
    other = words.clone()
    other[:, j] = words[torch.randperm(len(words)), j]
    return other


right(many(change=shuffled), "words of other sentences")
right(many(change=first_word), "always for the first word")
right(pairs(least=1e-4), "a bolder threshold")
right(lambda *given: table(*given).nonzero().tolist(), "lists for pairs")
right(lambda *given: table(*given).nonzero(), "a tensor of pairs")
right(lambda *given: np.argwhere(table(*given).numpy()), "an array of pairs")
right(listed(lambda found: [tuple(map(np.int64, pair)) for pair in found]), "NumPy numbers")
right(listed(tuple), "a tuple")

# Which of them to keep.
wrong("It lists what may be seen as well")(pairs(lambda found, mask: found), "the mask ignored")
wrong("All of these may be seen")(pairs(lambda found, mask: found & mask), "the mask turned round")
wrong("These are all pairs that the mask hides")(pairs(lambda found, mask: ~mask), "all that is hidden")
wrong("It looks at later words only")(pairs(lambda found, mask: found.triu(1)), "later words only")
wrong("It leaves out i = j")(
    pairs(lambda found, mask: found & ~mask & ~torch.eye(len(mask)).bool()), "no diagonal"
)
wrong("Missing: [(5, 0), (5, 1)]")(
    listed(lambda found: [(i, j) for i, j in found if i < 5 and j < 5]), "five words"
)
wrong("Missing: [(2, 4)]")(listed(lambda found: [pair for pair in found if pair[0] == 0]), "the first row")
wrong("It stops at the first")(listed(lambda found: found[:1]), "the first only")
wrong("Missing: [(0, 3), (2, 4)]")(lambda *given: [], "never a leak")
wrong("Row and column have changed places")(listed(lambda found: [(j, i) for i, j in found]), "transposed")
wrong("The pairs come in the order of the words")(
    lambda *given: [pair[::-1] for pair in table(*given).T.nonzero().tolist()], "word by word"
)
wrong("right pairs, but in reading order they are [(0, 3), (2, 4)]")(
    listed(lambda found: found[::-1]), "from the end"
)
wrong("the first entry: the first entry should be 0, it is 1")(
    listed(lambda found: [(i + 1, j + 1) for i, j in found]), "counted from one"
)
wrong("stands there more often")(listed(lambda found: [p for p in found for _ in range(2)]), "twice each")


@wrong("should be a pair (i, j), one is 0")
def the_first_alone_as_the_package(model, n, vocab_size, mask):
    return masks.leaks(model, n, mask=mask, vocab_size=vocab_size)


@wrong("Missing: [(0, 1)]")
def the_package_until_it_finds_no_more(model, n, vocab_size, mask):
    """Three draws a time miss what only a certain word shows."""
    mask, found = mask.clone(), []
    while pair := masks.leaks(model, n, mask=mask, vocab_size=vocab_size):
        found.append(pair)
        mask[pair] = True
    return found


# What to change.
wrong("It changes all words from j on")(
    pairs(sentences=200, change=exchanged(lambda j: slice(j, None))), "all from j on"
)
wrong("It changes all words up to j")(
    pairs(sentences=200, change=exchanged(lambda j: slice(j + 1))), "all up to j"
)
wrong("should have length")(pairs(sentences=1), "one sentence")
wrong("45 different words")(
    pairs(sentences=20, change=shuffled), "twenty sentences, however many words there are"
)
wrong("1,000 different words")(
    pairs(sentences=100, change=shuffled), "a hundred sentences, however many words there are"
)


@wrong("it takes more of them the more words there are")
def a_hundred_sentences_and_as_many_others(model, n, vocab_size, mask):
    words, other = torch.randint(vocab_size, (2, 100, n))
    before, found = model(words), torch.zeros(n, n, dtype=torch.bool)
    for j in range(n):
        changed = words.clone()
        changed[:, j] = other[:, j]
        found[:, j] = (model(changed) - before).abs().amax((0, 2)) > 1e-5
    return (found & ~mask).nonzero().tolist()


@wrong("the largest move and no mean")
def a_mean_over_the_sentences(model, n, vocab_size, mask):
    words, other = torch.randint(vocab_size, (2, 20 * vocab_size, n))
    before, found = model(words), torch.zeros(n, n, dtype=torch.bool)
    for j in range(n):
        changed = words.clone()
        changed[:, j] = other[:, j]
        found[:, j] = (model(changed) - before).abs().mean((0, 2)) > 1e-5
    return (found & ~mask).nonzero().tolist()


@wrong("Not all the other words of a sentence should be one and the same")
def one_word_and_one_other(model, n, vocab_size, mask):
    """Sentences that say one word again and again, but for the place that is asked about."""
    words = torch.arange(vocab_size)[:, None].expand(-1, n)
    return pairs(words=words)(model, n, vocab_size, mask)


wrong("Missing: [(1, 4)]")(
    lambda model, n, vocab_size, mask: pairs(words=torch.zeros(1, n).long())(model, n, vocab_size, mask),
    "zeros",
)
wrong("Missing: [(1, 3)]")(
    lambda model, n, vocab_size, mask: pairs(sentences=300)(model, n, 2, mask), "two words alone"
)


@wrong("Missing: [(1, 4)]")
def the_mirrored_word(model, n, vocab_size, mask):
    def mirrored(words, j):
        other = words.clone()
        other[:, j] = vocab_size - 1 - words[:, j]
        return other

    return pairs(sentences=300, change=mirrored)(model, n, vocab_size, mask)


@wrong("Missing: [(2, 4)]. Too much")
def neighbours_change_places(model, n, vocab_size, mask):
    def swapped(words, j):
        other = words.clone()
        other[:, [j, (j + 1) % n]] = words[:, [(j + 1) % n, j]]
        return other

    return pairs(change=swapped)(model, n, vocab_size, mask)


@wrong("it raised RuntimeError")
def a_text_cut_off(model, n, vocab_size, mask):
    words = torch.randint(vocab_size, (60, n))
    whole = model(words)
    leaky = [i for i in range(n) if (model(words[:, : i + 1])[:, i] - whole[:, i]).abs().max() > 1e-5]
    return [(i, j) for i in leaky for j in range(n) if not mask[i, j]]


# What to look at.
wrong("It takes rounding for a leak")(pairs(least=0.0), "no threshold")
wrong("a leak of one part in a thousand")(pairs(least=1e-2), "a shy threshold")
wrong("Missing: [(3, 8)]")(pairs(seen=lambda out: out * 1e-3), "a thousandth of a move")
wrong("It looks at the most probable word alone")(
    pairs(seen=lambda out: out.argmax(-1)[..., None].float()), "the most probable word"
)
wrong("one number of each output")(pairs(seen=lambda out: out[..., -1:]), "the last number")
wrong("Every hidden score is still in the sum")(pairs(seen=lambda out: out.sign()), "signs")
wrong("may cancel")(pairs(seen=lambda out: out.sum(-1, keepdim=True)), "the sum of an output")
wrong("The softmax of an output does not notice")(
    pairs(seen=lambda out: out.log_softmax(-1)), "probabilities"
)
wrong("it raised")(
    lambda model, n, vocab_size, mask: torch.func.jacrev(model)(torch.zeros(1, n).long()), "a gradient"
)

# In which form.
wrong("should be a pair (i, j), one is 3")(lambda *given: [3, 4], "a flat list")
wrong("should be a pair (i, j), one is (0, 3, 0.5)")(lambda *given: [(0, 3, 0.5)], "pairs and sizes")
wrong("should be a pair (i, j), one is None")(lambda *given: [None], "a list of None")
wrong("Too much: [(9, 9)]")(lambda *given: [(9, 9)], "a pair that is not there")
wrong("it returned None. Where nothing leaks, return an empty list")(
    listed(lambda found: found or None), "None where nothing leaks"
)
wrong("should return a list of pairs, it returned a set")(listed(set), "a set")
wrong("a table of True and False")(table, "a table")
