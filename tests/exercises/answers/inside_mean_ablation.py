"""What a layer adds without one head: its mean over other text stands in its place."""

import torch

from answers import right, wrong


def without(x, others, head, w_o):
    is_head = (torch.arange(x.shape[2]) == head)[:, None]
    return torch.where(is_head, others.mean(0), x).flatten(-2) @ w_o


def filled(fill, at=lambda head: head):
    """Something else in the head's place, or in another place."""

    def answer(x, others, head, w_o):
        out = x.clone()
        out[:, :, at(head)] = fill(x, others, head)
        return out.flatten(-2) @ w_o

    return answer


def mean(x, others, head):
    return others[:, head].mean(0)


def parts(w_o, x):
    """The rows of w_o that belong to each head."""
    return w_o.unflatten(0, x.shape[2:])


right(without, "torch.where")
right(filled(mean), "put in its place")
right(
    lambda x, o, h, w: (
        x.index_copy(2, torch.tensor([h]), mean(x, o, h).expand(*x.shape[:2], 1, -1)).flatten(2) @ w
    ),
    "index_copy",
)
right(
    lambda x, o, h, w: x.flatten(-2) @ w + (mean(x, o, h) - x[:, :, h]) @ parts(w, x)[h], "by the difference"
)


@right
def rows_of_w_o(x, others, head, w_o):
    kept = parts(w_o, x).clone()
    kept[head] = 0
    return x.flatten(-2) @ kept.flatten(0, 1) + mean(x, others, head) @ parts(w_o, x)[head]


@right
def head_by_head_added_up(x, others, head, w_o):
    said = [
        mean(x, others, head).expand_as(x[:, :, i]) if i == head else x[:, :, i] for i in range(x.shape[2])
    ]
    return sum(one @ part for one, part in zip(said, parts(w_o, x), strict=True))


@wrong("it changed its argument x in place")
def in_place(x, others, head, w_o):
    x[:, :, head] = mean(x, others, head)
    return x.flatten(-2) @ w_o


@wrong("the backward pass raised")
def put_there_and_taken_away_again(x, others, head, w_o):
    said = x[:, :, head].clone()
    x[:, :, head] = mean(x, others, head)
    out = x.flatten(-2) @ w_o
    x[:, :, head] = said
    return out


@wrong("All *other* heads were replaced")
def this_head_alone(x, others, head, w_o):
    out = others.mean(0).expand_as(x).clone()
    out[:, :, head] = x[:, :, head]
    return out.flatten(-2) @ w_o


@wrong("The columns of the heads are interleaved")
def interleaved(x, others, head, w_o):
    out = x.clone()
    out[:, :, head] = others[:, head].mean(0)
    return out.mT.flatten(-2) @ w_o


@wrong("should be")
def tokens_and_heads_mixed(x, others, head, w_o):
    out = x.clone()
    out[:, :, head] = others[:, head].mean(0)
    return out.transpose(1, 2).reshape(*x.shape[:2], -1) @ w_o


wrong("This is an ablation by zero")(filled(lambda x, o, h: 0), "zero")
wrong("This is the mean over x itself")(filled(lambda x, o, h: x[:, :, h].mean((0, 1))), "the mean of x")
wrong("This is the mean over each text of x")(
    filled(lambda x, o, h: x[:, :, h].mean(1, keepdim=True)), "the mean of each text"
)
wrong("should be")(
    filled(lambda x, o, h: torch.cat((o, x.flatten(0, 1)))[:, h].mean(0)), "the mean over both"
)
wrong("This is the mean of all heads")(
    filled(lambda x, o, h: o.flatten(0, 1).mean(0)), "the mean of all heads"
)
wrong("This is one number for the whole head")(filled(lambda x, o, h: o[:, h].mean()), "one number")
wrong("One of the other pieces stands there")(filled(lambda x, o, h: o[0, h]), "the first of the others")
wrong("This is the median of the others")(filled(lambda x, o, h: o[:, h].median(0)[0]), "the median")
wrong("should be")(
    filled(lambda x, o, h: (o[:, h].amax(0) + o[:, h].amin(0)) / 2), "halfway between the extremes"
)
wrong("should be")(filled(lambda x, o, h: o[:, h].std(0, correction=0)), "the spread")
wrong("should be")(filled(lambda x, o, h: o[:, h].sum(0)), "the sum")
wrong("should be")(filled(lambda x, o, h: o[:, h].sum(0) / max(len(o) - 1, 1)), "divided by one fewer")
wrong("should be")(filled(lambda x, o, h: o[:8, h].mean(0)), "of the others the first eight")
wrong("should be")(filled(lambda x, o, h: mean(x, o.half(), h).to(x.dtype)), "the mean in half precision")
wrong("should be")(
    filled(lambda x, o, h: mean(x, o, h) * (x[:, :, h].norm() / mean(x, o, h).norm())), "its mean stretched"
)
wrong("The mean was added")(filled(lambda x, o, h: x[:, :, h] + mean(x, o, h)), "its mean added")
wrong("should be")(filled(lambda x, o, h: x[:, :, h] - mean(x, o, h)), "its mean subtracted")
wrong("should be")(filled(lambda x, o, h: (x[:, :, h] + mean(x, o, h)) / 2), "half of it")
wrong("All heads were replaced")(filled(lambda x, o, h: o.mean(0), at=lambda h: slice(None)), "all heads")
wrong("The head before it was replaced")(filled(mean, at=lambda h: h - 1), "counted from 1")
wrong("should be")(lambda x, o, h, w: without(x, o, x.shape[2] - 1 - h, w), "counted from the end")
wrong("should be")(lambda x, o, h, w: without(x, o, 1, w), "always head 1")
wrong("should be")(lambda x, o, h, w: without(x, o.roll(-1, 1), h, w), "the next head's mean")
wrong("Nothing was replaced")(lambda x, o, h, w: x.flatten(2) @ w, "nothing replaced")
wrong("should be")(
    lambda x, o, h, w: torch.cat((without(x[:1], o, h, w), x[1:].flatten(-2) @ w)), "only in the first text"
)
wrong("should be")(
    lambda x, o, h, w: torch.cat(((x.flatten(-2) @ w)[:, :1], without(x, o, h, w)[:, 1:]), 1),
    "not at the first place",
)
wrong("should be")(
    lambda x, o, h, w: torch.cat((without(x, o, h, w)[:, :-1], (x.flatten(-2) @ w)[:, -1:]), 1),
    "not at the last",
)
wrong("should be")(
    lambda x, o, h, w: (mean(x, o, h) @ parts(w, x)[h]).expand(*x.shape[:2], -1), "the head's share alone"
)
wrong("should be")(
    lambda x, o, h, w: (o.flatten(-2) @ w).mean(0).expand(*x.shape[:2], -1),
    "the layer of the others, averaged",
)
wrong("should")(lambda x, o, h, w: without(x, o, h, torch.eye(len(w), dtype=w.dtype)), "not mixed")
wrong("no gradient reaches x")(lambda x, o, h, w: without(x.detach(), o, h, w), "detached")
