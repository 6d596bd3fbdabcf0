"""Answers to the exercises on masks that readers tried, or that fooled an earlier checker."""

import math

import numpy as np
import pytest
import torch

from attnlab import masks, scores


def packed(documents, n, *, places=None, guesses=None, mask=None, dtype=torch.long):
    """Loops and lists, with parts exchanged."""
    row = [word for document in documents for word in document]
    owner = [at for at, document in enumerate(documents) for _ in document]
    fill = n - len(row)
    place = places or [at for document in documents for at in range(len(document))]
    guess = guesses or [word for document in documents for word in [*document[1:], -100]]
    at = torch.arange(n)
    owner = torch.tensor(owner + [-1] * fill)
    own = (at <= at[:, None]) & (owner[:, None] == owner) & (owner >= 0)
    words, place, guess = (
        torch.tensor(list(numbers) + [more] * fill, dtype=dtype)
        for numbers, more in ((row, 0), (place, 0), (guess, -100))
    )
    return words, place, guess, own if mask is None else mask(own)


def by_blocks(documents, n):
    words, place, guess, _ = packed(documents, n)
    blocks = [torch.ones(len(d), len(d)).tril() for d in documents]
    mask = torch.block_diag(*blocks)
    fill = n - len(mask)
    return words, place, guess, torch.nn.functional.pad(mask, (0, fill, 0, fill)).bool()


def from_the_package(documents, n):
    words, place, guess, _ = packed(documents, n)
    owner = torch.full((n,), len(documents))
    owner[: sum(map(len, documents))] = torch.repeat_interleave(torch.tensor([len(d) for d in documents]))
    real = owner < len(documents)
    return words, place, guess, masks.packed(owner) & masks.causal(n) & real & real[:, None]


def told_apart_by_their_words(documents, n):
    words, place, guess, _ = packed(documents, n)
    owner = torch.full((n,), -1)
    start = 0
    for document in documents:
        owner[start : start + len(document)] = documents.index(document)
        start += len(document)
    return words, place, guess, masks.causal(n) & masks.packed(owner) & (owner >= 0)


def in_place(documents, n):
    documents.append([0] * (n - sum(map(len, documents))))
    return packed(documents[:-1], n)


PACKS = [
    ("two alike are one", "wrong", "neither sees the other", told_apart_by_their_words),
    ("places of the padding run on", "wrong", "should be", lambda documents, n: (
        packed(documents, n)[0], packed(documents, n, places=[*range(n)][: sum(map(len, documents))])[1], *packed(documents, n)[2:])),
    ("the mask of the first document", "wrong", "should be", lambda documents, n: packed(
        documents, n, mask=lambda own: own & (torch.arange(n) < len(documents[0])))),
    ("a mask of 0 and 1", "wrong", "True and False", lambda documents, n: packed(documents, n, mask=lambda own: own.int())),
    ("an axis for the batch", "wrong", "should have shape", lambda documents, n: tuple(x[None] for x in packed(documents, n))),
    ("the padding sees all", "wrong", "should be", lambda documents, n: packed(documents, n, mask=lambda own: own | ~own.any(-1, keepdim=True))),
    ("everybody sees himself", "wrong", "should be", lambda documents, n: packed(documents, n, mask=lambda own: own | torch.eye(n).bool())),
    ("the padding left out", "wrong", "should have", lambda documents, n: packed(documents, sum(map(len, documents)))),
    ("three of four", "wrong", "should", lambda documents, n: packed(documents, n)[:3]),
    ("a dictionary", "wrong", "should", lambda documents, n: dict(enumerate(packed(documents, n)))),
    ("floats", "wrong", "should hold whole numbers", lambda documents, n: packed(documents, n, dtype=torch.float32)),
    ("mask first", "wrong", "should", lambda documents, n: packed(documents, n)[::-1]),
    ("the guesses of the first document", "wrong", "should be", lambda documents, n: packed(
        documents, n, guesses=[*documents[0][1:], -100, *[-100] * (sum(map(len, documents)) - len(documents[0]))])),
    ("longest first", "wrong", "should be", lambda documents, n: packed(sorted(documents, key=len, reverse=True), n)),
    ("its argument changed", "wrong", "it changed its argument documents", in_place),
    ("loops", "right", "", packed),
    ("blocks on a diagonal", "right", "", by_blocks),
    ("the package's masks", "right", "", from_the_package),
    ("lists of numbers", "wrong", "should be a tensor", lambda documents, n: [x.tolist() for x in packed(documents, n)]),
    ("arrays", "wrong", "should be a tensor", lambda documents, n: tuple(x.numpy() for x in packed(documents, n))),
    ("small whole numbers", "right", "", lambda documents, n: packed(documents, n, dtype=torch.int32)),
    ("two documents at most", "wrong", "the row of words", lambda documents, n: packed(documents[:2], n)),
    ("a window of six", "wrong", "row 9, from entry 0 to 7, of the mask should be", lambda documents, n: packed(
        documents, n, mask=lambda own: own.triu(-5))),
    ("a mask to be added", "wrong", "the mask should hold True and False, it has dtype float32", lambda documents, n: packed(
        documents, n, mask=lambda own: torch.zeros(n, n).masked_fill(~own, -math.inf))),
    ("no guess where the word is 0", "wrong", "the row of guesses should be [5, 0, -100,", lambda documents, n: packed(
        documents, n, guesses=[g if w else -100 for d in documents for w, g in zip(d, [*d[1:], -100], strict=True)])),
    ("numbers of 8 bits", "wrong", "with the numbers of a large vocabulary: it raised", lambda documents, n: packed(documents, n, dtype=torch.int8)),
    ("no guess where a word comes again at once", "wrong", "comes twice in a row", lambda documents, n: packed(
        documents, n, guesses=[g if g != w else -100 for d in documents for w, g in zip(d, [*d[1:], -100], strict=True)])),
    ("a window of twelve", "wrong", "one of them long", lambda documents, n: packed(documents, n, mask=lambda own: own & own.triu(-11))),
    ("three documents at most", "wrong", "many documents", lambda documents, n: packed(documents[:3] if len(documents) > 4 else documents, n)),
    ("a vocabulary of ten", "wrong", "raised IndexError", lambda documents, n: (torch.arange(10)[packed(documents, n)[0]], *packed(documents, n)[1:])),
    ("guesses where the next place is not 0", "right", "", lambda documents, n: (lambda words, at, _, mask: (
        words, at, torch.where(at.roll(-1) > 0, words.roll(-1), -100), mask))(*packed(documents, n))),
    ("numbered by where a place is 0", "right", "", lambda documents, n: packed(
        documents, n, mask=lambda own: masks.packed((packed(documents, n)[1] == 0).cumsum(0)) & own)),
]  # fmt: skip


def shifted(s, mask, more=0.0, least=0.0):
    hidden = s.masked_fill(~mask, -math.inf)
    largest = hidden.amax(-1, keepdim=True)
    e = (hidden - largest.masked_fill(largest == -math.inf, 0.0)).exp()
    return e / (e.sum(-1, keepdim=True) + more).clamp_min(least)


def rows(s, mask):
    mask = mask.expand(s.shape)
    out = torch.zeros_like(s)
    for place in np.ndindex(*s.shape[:-1]):
        if mask[place].any():
            out[place] = out[place].masked_scatter(mask[place], s[place][mask[place]].softmax(0))
    return out


def hidden(s, mask):
    return s.masked_fill(~mask, -math.inf)


def empty(mask):
    return ~mask.any(-1, keepdim=True)


SOFTMAXES = [
    ("1e-9 in the denominator", "wrong", "1e-9 is 0 in float16", lambda s, m: shifted(s, m, more=1e-9)),
    ("the equation as it stands", "wrong", "The exponential of a score beyond 88", lambda s, m: m * s.exp() / (m * s.exp()).sum(-1, keepdim=True)),
    ("less the logarithm of the sum", "wrong", "The logarithm of the sum is rounded",
     lambda s, m: (hidden(s, m) - hidden(s, m).logsumexp(-1, keepdim=True)).exp().masked_fill(empty(m), 0.0)),
    ("the lowest number, and the mask after", "wrong", "visible scores may be as low",
     lambda s, m: s.masked_fill(~m, torch.finfo(s.dtype).min).softmax(-1) * m),
    ("-1e9, and the mask after", "wrong", "in float16: it raised RuntimeError", lambda s, m: s.masked_fill(~m, -1e9).softmax(-1) * m),
    ("-1e9 added", "wrong", "an empty row between two others", lambda s, m: (s + ~m * -1e9).softmax(-1)),
    ("-60,000, and the mask after", "wrong", "visible scores at the lowest number",
     lambda s, m: s.masked_fill(~m, -6e4).softmax(-1) * m),
    ("detached", "wrong", "no gradient reaches scores", lambda s, m: scores.softmax(s.detach(), m)),
    ("by NumPy", "wrong", "no gradient reaches scores", lambda s, m: torch.tensor(scores.softmax(s.detach(), m).numpy(force=True))),
    ("single precision kept", "wrong", "In single precision all values are right", lambda s, m: scores.softmax(s.float(), m)),
    ("a mask for the whole batch", "wrong", "should", lambda s, m: scores.softmax(s, m.reshape(-1, *m.shape[-2:])[0])),
    ("down the columns", "wrong", "down the columns", lambda s, m: scores.softmax(s, m, dim=-2)),
    ("over all rows together", "wrong", "should be",
     lambda s, m: hidden(s, m).exp() / hidden(s, m).exp().sum((-2, -1), keepdim=True).clamp_min(1e-30)),
    ("doubled", "wrong", "should be", lambda s, m: scores.softmax(2 * s, m)),
    ("empty rows one", "wrong", "an empty row", lambda s, m: scores.softmax(s, m) + empty(m)),
    ("clamped", "wrong", "visible scores of 300 and 301",
     lambda s, m: m * s.clamp(-50, 50).exp() / (m * s.clamp(-50, 50).exp()).sum(-1, keepdim=True).clamp_min(1e-30)),
    ("less the largest of all", "wrong", "a hidden score of 300",
     lambda s, m: m * (s - s.max()).exp() / (m * (s - s.max()).exp()).sum(-1, keepdim=True).clamp_min(1e-30)),
    ("the logarithm of the mask added", "wrong", "a NaN was made inside",
     lambda s, m: (s + m.to(s.dtype).log()).softmax(-1).masked_fill(empty(m), 0.0)),
    ("added, then chosen by where", "wrong", "a NaN was made inside", lambda s, m: torch.where(
        m, (s + torch.zeros_like(s).masked_fill(~m, -math.inf)).softmax(-1), 0.0)),
    ("through half precision", "wrong", "should be", lambda s, m: scores.softmax(s.half(), m).to(s.dtype)),
    ("one dimension squeezed", "wrong", "one row of a mask for all queries", lambda s, m: scores.softmax(s, m if m.shape == s.shape else m.squeeze())),
    ("by hand", "right", "", lambda s, m: shifted(s, m, least=1e-4)),
    ("torch's attention to unit vectors", "right", "", lambda s, m: torch.nn.functional.scaled_dot_product_attention(
        s, *[torch.eye(s.shape[-1], dtype=s.dtype).expand(*s.shape[:-2], -1, -1)] * 2, attn_mask=m.expand(s.shape), scale=1.0)),
    ("filled, then chosen by where", "right", "", lambda s, m: torch.where(m, hidden(s, m).softmax(-1), 0.0)),
    ("row by row", "right", "", rows),
    ("exp of log_softmax", "right", "",
     lambda s, m: s.masked_fill(~m & ~empty(m), -math.inf).log_softmax(-1).exp().masked_fill(empty(m), 0.0)),
    ("where for where", "right", "",
     lambda s, m: torch.where(empty(m), 0.0, torch.where(m | empty(m), s, -math.inf).softmax(-1)).to(s.dtype)),
    ("in double precision", "right", "", lambda s, m: scores.softmax(s.double(), m.expand(s.shape)).to(s.dtype)),
    ("NaN filled over on both sides", "right", "", lambda s, m: hidden(s, m).softmax(-1).masked_fill(~m, 0.0)),
    ("minus infinity added, empty rows open", "right", "",
     lambda s, m: (s + torch.zeros_like(s).masked_fill(~m & ~empty(m), -math.inf)).softmax(-1) * m),
]  # fmt: skip


def depends(model, n, n_words, *, sentences=60, least=1e-5, words=None, change=None, seen=lambda out: out):
    words = torch.randint(n_words, (sentences, n)) if words is None else words
    before, found = seen(model(words)), torch.zeros(n, n, dtype=torch.bool)
    for j in range(n):
        for step in range(1, n_words):
            other = words.clone()
            other[:, j] = (words[:, j] + step) % n_words
            moves = (seen(model(other if change is None else change(words, j))) - before).abs()
            found[:, j] |= moves.amax((0, 2)) > least
    return found


def leaks(model, n, n_words, mask, **options):
    return depends(model, n, n_words, **options) & ~mask


def listed(*arguments, **options):
    return [(i, j) for i, j in leaks(*arguments, **options).nonzero().tolist()]


def one_by_one(model, n, n_words, mask):
    """Without a batch, in plain Python."""
    found = set()
    for words in torch.randint(n_words, (16, n)).tolist():
        before = model(torch.tensor([words]))[0]
        for j in range(n):
            for word in range(n_words):
                after = model(torch.tensor([[*words[:j], word, *words[j + 1 :]]]))[0]
                found |= {(i, j) for i in range(n) if (after[i] - before[i]).abs().max() > 1e-5}
    return sorted((i, j) for i, j in found if not mask[i, j])


def swapped(words, j):
    other = words.clone()
    other[:, [j, (j + 1) % words.shape[1]]] = words[:, [(j + 1) % words.shape[1], j]]
    return other


def first_word(words, j):
    """Whatever depends on a word differs from what it is at word 0 for some word."""
    other = words.clone()
    other[:, j] = 0
    return other


def shuffled_sentences(words, j):
    other = words.clone()
    other[:, j] = words[torch.randperm(len(words)), j]
    return other


def mirrored(words, j, n_words):
    other = words.clone()
    other[:, j] = n_words - 1 - words[:, j]
    return other


def again_and_again(model, n, n_words, mask):
    """Three draws a time miss what only a certain word shows."""
    mask, found = mask.clone(), []
    while pair := masks.leaks(model, n, mask=mask, n_words=n_words):
        found.append(pair)
        mask[pair] = True
    return found


def cut_off(model, n, n_words, mask):
    words = torch.randint(n_words, (60, n))
    whole = model(words)
    leaky = [i for i in range(n) if (model(words[:, : i + 1])[:, i] - whole[:, i]).abs().max() > 1e-5]
    return [(i, j) for i in leaky for j in range(n) if not mask[i, j]]


def every_sentence(model, n, n_words, mask):
    return listed(
        model,
        n,
        n_words,
        mask,
        words=torch.cartesian_prod(*[torch.arange(n_words)] * n).reshape(-1, n),
        change=first_word,
    )


LEAKS = [
    ("lists for pairs", "right", "", lambda *a: leaks(*a).nonzero().tolist()),
    ("a tensor of pairs", "right", "", lambda *a: leaks(*a).nonzero()),
    ("an array of pairs", "right", "", lambda *a: np.argwhere(leaks(*a).numpy())),
    ("NumPy numbers", "right", "", lambda *a: [tuple(np.int64(x) for x in pair) for pair in listed(*a)]),
    ("a tuple", "right", "", lambda *a: tuple(listed(*a))),
    ("one sentence at a time", "right", "", one_by_one),
    ("words of other sentences", "right", "", lambda *a: listed(*a, change=shuffled_sentences)),
    ("a bolder threshold", "right", "", lambda *a: listed(*a, least=1e-4)),
    ("a shy threshold", "wrong", "Missing", lambda *a: listed(*a, least=1e-2)),
    ("no threshold", "wrong", "It takes rounding for a leak", lambda *a: listed(*a, least=0.0)),
    ("neighbours change places", "wrong", "should", lambda *a: listed(*a, change=swapped)),
    ("one sentence of zeros", "wrong", "", lambda model, n, n_words, mask: listed(model, n, n_words, mask, words=torch.zeros(1, n, dtype=torch.long))),
    ("a flat list", "wrong", "should be a pair (i, j), one is 3", lambda *a: [3, 4]),
    ("pairs and sizes", "wrong", "should be a pair (i, j), one is (0, 3, 0.5)", lambda *a: [(0, 3, 0.5)]),
    ("a pair that is not there", "wrong", "Too much: [(9, 9)]", lambda *a: [(9, 9)]),
    ("a list of None", "wrong", "should be a pair (i, j), one is None", lambda *a: [None]),
    ("None where nothing leaks", "wrong", "it returned None. Where nothing leaks, return an empty list", lambda *a: listed(*a) or None),
    ("a set", "wrong", "should return a list of pairs, it returned a set", lambda *a: set(listed(*a))),
    ("a table", "wrong", "a table of True and False", lambda *a: leaks(*a)),
    ("the first alone, as the package", "wrong", "should",
     lambda model, n, n_words, mask: masks.leaks(model, n, mask=mask, n_words=n_words)),
    ("the last number", "wrong", "one number of each output", lambda *a: listed(*a, seen=lambda out: out[..., -1:])),
    ("the length of an output", "wrong", "", lambda *a: listed(*a, seen=lambda out: out.sign())),
    ("the sum of an output", "wrong", "may cancel", lambda *a: listed(*a, seen=lambda out: out.sum(-1, keepdim=True))),
    ("probabilities", "wrong", "The softmax of an output does not notice", lambda *a: listed(*a, seen=lambda out: out.log_softmax(-1))),
    ("always for the first word", "right", "", lambda *a: listed(*a, change=first_word, sentences=200)),
    ("a gradient", "wrong", "it raised", lambda model, n, n_words, mask: torch.func.jacrev(model)(torch.zeros(1, n).long())),
    ("without the diagonal", "wrong", "It leaves out i = j", lambda *a: [p for p in listed(*a) if p[0] != p[1]]),
    ("five words", "wrong", "Missing: [(5, 0), (5, 1)]",
     lambda model, n, n_words, mask: [(i, j) for i, j in listed(model, n, n_words, mask) if i < 5 and j < 5]),
    ("the first row", "wrong", "Missing: [(2, 4)]", lambda *a: [p for p in listed(*a) if p[0] == 0]),
    ("twice each", "wrong", "should have length 2, it has 4", lambda *a: [p for p in listed(*a) for _ in range(2)]),
    ("from the end", "wrong", "the first entry: the first entry should be 0, it is 2", lambda *a: listed(*a)[::-1]),
    ("counted from one", "wrong", "the first entry: the first entry should be 0, it is 1", lambda *a: [(i + 1, j + 1) for i, j in listed(*a)]),
    ("the package until it finds no more", "wrong", "Missing: [(0, 1)]", again_and_again),
    ("a text cut off", "wrong", "", cut_off),
    ("a thousandth of a move", "wrong", "Missing: [(3, 8)]", lambda *a: listed(*a, seen=lambda out: out * 1e-3)),
    ("the mirrored word", "wrong", "Missing: [(1, 4)]", lambda model, n, n_words, mask: listed(
        model, n, n_words, mask, sentences=300, change=lambda words, j: mirrored(words, j, n_words))),
    ("two words alone", "wrong", "Missing: [(1, 3)]", lambda model, n, n_words, mask: listed(model, n, 2, mask, sentences=300)),
    ("every sentence there is", "right", "", every_sentence),
    ("never a leak", "wrong", "Missing: [(0, 3), (2, 4)]", lambda *a: []),
]  # fmt: skip

RIGHT = (masks.prefix(6, 2) & masks.packed([0, 0, 0, 1, 1, 1])).int()


def flipped(i, j):
    mask = RIGHT.clone()
    mask[i, j] = 1 - mask[i, j]
    return mask.tolist()


PAINTED = [
    ("a tensor", "right", "", lambda: RIGHT),
    ("truths", "right", "", lambda: RIGHT.bool().tolist()),
    ("an array", "right", "", lambda: RIGHT.numpy()),
    ("floats", "right", "", lambda: RIGHT.float()),
    ("rows as tuples", "right", "", lambda: tuple(map(tuple, RIGHT.tolist()))),
    ("one cell too many", "wrong", "row 5, column 6 should be closed", lambda: flipped(4, 5)),
    ("one cell too few", "wrong", "row 1, column 2 should be open", lambda: flipped(0, 1)),
    ("five rows", "wrong", "six rows of six zeros and ones", lambda: RIGHT[:5]),
    ("twos", "wrong", "six rows of six zeros and ones", lambda: 2 * RIGHT),
    ("the figure's rows as text", "wrong", "six rows of six zeros and ones", lambda: str(RIGHT.tolist())),
    ("nothing", "wrong", "six rows of six zeros and ones", lambda: None),
    ("all", "wrong", "Everything is open", lambda: torch.ones(6, 6)),
    ("strictly before", "wrong", "row 1, column 1 should be open", lambda: RIGHT.tril(-1)),
    ("not a number", "wrong", "six rows of six zeros and ones", lambda: torch.full((6, 6), math.nan)),
    ("an axis for the batch", "wrong", "six rows of six zeros and ones", lambda: RIGHT[None]),
    ("each himself", "wrong", "row 1, column 2 should be open", lambda: torch.eye(6)),
    ("all of three documents", "wrong", "two tokens each", lambda: masks.prefix(6, 2) & masks.packed([0, 0, 1, 1, 2, 2])),
]  # fmt: skip

ATTACKS = [
    pytest.param(name, *rest, id=f"{name}: {title}")
    for name, attacks in (
        ("masking-pack", PACKS),
        ("masking-softmax", SOFTMAXES),
        ("masking-leaks", LEAKS),
        ("masking-paint", PAINTED),
    )
    for title, *rest in attacks
]


@pytest.mark.parametrize(("name", "status", "piece", "answer"), ATTACKS)
def test_an_attack_is_judged_rightly(judged, name, status, piece, answer):
    judged(name, status, piece, answer)
