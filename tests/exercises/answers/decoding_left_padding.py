"""A batch of prompts, padded on the left: numbers, places, and who may see whom."""

import torch

from answers import right, wrong


def left(prompts, pad, *, n=None, places=lambda at, first: (at - first).clamp(min=0), mask=None):
    """Right; or with something changed: `mask` takes row, column, and the column of the first word."""
    n = max(map(len, prompts)) if n is None else n
    ids = torch.tensor([[pad] * (n - len(p)) + p for p in prompts])
    first = torch.tensor([[n - len(p)] for p in prompts])
    i, j, start = torch.arange(n)[:, None], torch.arange(n), first[..., None]
    sees = (j <= i) & (j >= start) if mask is None else mask(i, j, start)
    return ids, places(j, first), sees.expand(len(prompts), n, n)


def but(change):
    """The three of them, changed when they are done."""
    return lambda *a: change(*left(*a))


right(left, "by the first word's place")
right(lambda *a: list(left(*a)), "a list of three")
right(but(lambda ids, places, mask: (ids.short(), places.short(), mask)), "in fewer bits")
right(
    but(lambda ids, places, mask: (ids, (mask[:, -1].cumsum(-1) - 1).clamp(min=0), mask)), "places summed up"
)


@right
def in_lists(prompts, pad):
    n = max(map(len, prompts))
    ids, places, mask = [], [], []
    for p in prompts:
        gap = n - len(p)
        ids.append([pad] * gap + p)
        places.append([0] * gap + list(range(len(p))))
        mask.append([[gap <= j <= i for j in range(n)] for i in range(n)])
    return torch.tensor(ids), torch.tensor(places), torch.tensor(mask)


@right
def by_flipping(prompts, pad):
    backwards = [torch.tensor(p[::-1]) for p in prompts]
    ids = torch.nn.utils.rnn.pad_sequence(backwards, batch_first=True, padding_value=pad).flip(1)
    return ids, *left(prompts, pad)[1:]


@wrong("The prompts are padded on the right")
def on_the_right(prompts, pad):
    n = max(map(len, prompts))
    ids = torch.tensor([p + [pad] * (n - len(p)) for p in prompts])
    real = torch.arange(n) < torch.tensor([[len(p)] for p in prompts])
    places = torch.where(real, torch.arange(n), real.sum(-1, keepdim=True) - 1)
    return ids, places, torch.ones(n, n).tril().bool() & real[:, None]


@wrong("A prompt may hold the number of the padding")
def padding_known_by_its_number(prompts, pad):
    ids = left(prompts, pad)[0]
    real, n = ids != pad, ids.shape[1]
    return ids, (real.cumsum(-1) - 1).clamp(min=0), torch.ones(n, n).tril().bool() & real[:, None]


@wrong("changed its argument prompts")
def the_prompts_grow(prompts, pad):
    n = max(map(len, prompts))
    for p in prompts:
        p[:0] = [pad] * (n - len(p))
    return left(prompts, pad)


wrong("The places are counted from the padding on")(
    lambda *a: left(*a, places=lambda at, first: at.expand(len(first), -1)), "places of the row"
)
wrong("The places begin with 1")(
    lambda *a: left(*a, places=lambda at, first: (at - first + 1).clamp(min=0)), "places from 1"
)
wrong("The places of the padding are negative")(
    lambda *a: left(*a, places=lambda at, first: at - first), "negative places"
)
wrong("should hold whole numbers, it has dtype float32")(
    lambda *a: left(*a, places=lambda at, first: (at - first.float()).clamp(min=0)), "places as floats"
)
wrong("Words see the padding")(lambda *a: left(*a, mask=lambda i, j, start: j <= i), "causal only")
wrong("Words see those after them")(
    lambda *a: left(*a, mask=lambda i, j, start: (j >= start) & (i >= 0)), "no causal mask"
)
wrong("It is the queries that are checked for padding")(
    lambda *a: left(*a, mask=lambda i, j, start: (i >= start) & (j <= i)), "queries checked"
)
wrong("True means: may attend")(
    lambda *a: left(*a, mask=lambda i, j, start: (j > i) | (j < start)), "the mask turned round"
)
wrong("Rows and columns have changed places")(
    lambda *a: left(*a, mask=lambda i, j, start: (start <= i) & (i <= j)), "rows for columns"
)
wrong("A word does not see itself")(
    lambda *a: left(*a, mask=lambda i, j, start: (start <= j) & (j < i)), "only those before it"
)
wrong("should")(
    lambda *a: left(*a, mask=lambda i, j, start: ((start <= j) & (j <= i)) | (i == j)), "padding sees itself"
)
wrong("should be")(
    lambda *a: left(*a, mask=lambda i, j, start: (j <= i) & ((j >= start) | (i < start))),
    "padding sees the padding before it",
)
wrong("should be")(lambda prompts, pad: left(prompts, 0), "always zeros")
wrong("should be")(lambda prompts, pad: left(sorted(prompts, key=len), pad), "sorted by length")
wrong("should have shape")(lambda p, pad: left(p, pad, n=max(map(len, p)) + 1), "one column too wide")
wrong("should have shape")(but(lambda ids, places, mask: (ids, places, mask[0])), "one mask for all")
wrong("should have shape")(but(lambda ids, places, mask: (ids, places, mask[:, -1])), "a key mask")
wrong("should hold True and False")(
    but(lambda ids, places, mask: (ids, places, mask.int())), "numbers for a mask"
)
wrong("should hold whole numbers")(but(lambda ids, *rest: (ids.float(), *rest)), "words as floats")
wrong("should be a tensor")(but(lambda *made: tuple(x.numpy() for x in made)), "arrays")
