"""A softmax beside a sink: one score more in every row, and no weight for it."""

import torch
import torch.nn.functional as F

from answers import right, wrong
from attnlab import attention


def beside(scores, sink, where=-1):
    """Weights of keys and sink, the sink last or first."""
    column = sink.view(-1, 1, 1).expand(*scores.shape[:-1], 1)
    return F.softmax(torch.cat([scores, column] if where else [column, scores], dim=-1), dim=-1)


right(lambda scores, sink: beside(scores, sink)[..., : scores.shape[-1]], "the sink last")
right(lambda scores, sink: beside(scores, sink, where=0)[..., 1:], "the sink first")
right(lambda scores, sink: beside(scores, sink).split([scores.shape[-1], 1], -1)[0], "split")


@right
def by_logs(scores, sink):
    """The logarithm of the sum, with the sink in it, is taken off."""
    column = sink[:, None, None].expand(*scores.shape[:-1], 1)
    return (scores - torch.cat((scores, column), -1).logsumexp(-1, keepdim=True)).exp()


@right
def the_largest_by_hand(scores, sink):
    sink = sink[:, None, None]
    top = torch.maximum(scores.amax(-1, keepdim=True), sink)
    e = (scores - top).exp()
    return e / (e.sum(-1, keepdim=True) + (sink - top).exp())


@right
def head_by_head(scores, sink):
    heads = []
    for i, b in enumerate(sink):
        s = scores[..., i, :, :]
        heads.append(torch.cat((s, b.expand(*s.shape[:-1], 1)), -1).softmax(-1)[..., :-1])
    return torch.stack(heads, -3)


@right
def a_gate_on_the_softmax(scores, sink):
    """How much is found opens it; rows without a key have zeros."""
    empty = (scores == -torch.inf).all(-1, keepdim=True)
    scores = scores.masked_fill(empty, 0.0)
    found = scores.logsumexp(-1, keepdim=True) - sink[:, None, None]
    return (scores.softmax(-1) * found.sigmoid()).masked_fill(empty, 0.0)


@right
def the_package(scores, sink):
    """Scores as queries of unit keys, values of unit vectors: what comes out are the weights."""
    hidden, lead = scores == -torch.inf, scores.dim() == 3
    scores, hidden = (x[None] if lead else x for x in (scores.masked_fill(hidden, 0.0), hidden))
    eye = torch.eye(scores.shape[-1], dtype=scores.dtype).expand(*scores.shape[:-2], -1, -1)
    out = attention(scores, eye, eye, mask=~hidden, scale=1.0, sinks=sink)
    return out[0] if lead else out


# Where what the sink gets is left.
wrong("The rows sum to 1")(lambda scores, sink: scores.softmax(-1), "no sink")


@wrong("The rows sum to 1")
def made_whole_again(scores, sink):
    w = beside(scores, sink)[..., :-1]
    return w / w.sum(-1, keepdim=True)


wrong("should be")(lambda scores, sink: (scores + sink[:, None, None]).softmax(-1), "a shift of all")
wrong("as well. Cut its column off")(beside, "its column is there")
wrong("as well, in front")(lambda scores, sink: beside(scores, sink, where=0), "its column in front")
wrong("not that of the sink")(lambda scores, sink: beside(scores, sink)[..., 1:], "a key cut off")
wrong("is shared out among the keys")(
    lambda scores, sink: (lambda w: w[..., :-1] + (1 - w[..., :-1].sum(-1, keepdim=True)) / scores.shape[-1])(
        beside(scores, sink)
    ),
    "shared out",
)


@wrong("should be")
def given_to_the_first_key(scores, sink):
    w = beside(scores, sink)
    return w[..., :-1] + F.pad(w[..., -1:], (0, scores.shape[-1] - 1))


# Not beside the scores.
wrong("divided by 1 + exp(sink) afterwards")(
    lambda scores, sink: scores.softmax(-1) / (1 + torch.exp(sink.view(-1, 1, 1))), "divided afterwards"
)
wrong("The weights close by the sink alone")(
    lambda scores, sink: scores.softmax(-1) * (1 - sink.sigmoid())[..., None, None], "a gate of the sink"
)
wrong("It is a score: its exponential is added")(
    lambda scores, sink: scores.exp() / (scores.exp().sum(-1, keepdim=True) + sink.view(-1, 1, 1)),
    "the sink in the sum",
)
wrong("A 1 is added to the sum")(
    lambda scores, sink: F.pad(scores, (0, 1)).softmax(-1)[..., :-1] + 0 * sink.sum(), "off by one"
)
wrong("The sink has the wrong sign")(lambda scores, sink: beside(scores, 0 - sink)[..., :-1], "minus")


@wrong("It opens where it should close")
def turned_round(scores, sink):
    over = scores.logsumexp(-1, keepdim=True) - sink[:, None, None]
    return F.softmax(scores, -1) * (1 - over.sigmoid())


# Whose sink.
wrong("All heads have the sink of the first")(
    lambda scores, sink: beside(scores, sink[0].repeat(len(sink)))[..., :-1], "one for all"
)
wrong("should be")(lambda scores, sink: beside(scores, sink.flip(0))[..., :-1], "that of another head")


@wrong("Every row has the sinks of all heads")
def all_of_them(scores, sink):
    top = torch.maximum(scores.amax(-1, keepdim=True), sink.max())
    e = (scores - top).exp()
    return e / (e.sum(-1, keepdim=True) + (sink - top).exp().sum(-1, keepdim=True))


@wrong("each query has a sink")
def broadcast_to_queries(scores, sink):
    if scores.shape[-2] != len(sink):
        return beside(scores, sink)[..., :-1]
    if len(sink) != scores.shape[-1]:
        return beside(scores, sink)[..., :-1]
    return torch.cat((scores, sink[:, None].expand(*scores.shape[:-1], 1)), -1).softmax(-1)[..., :-1]


@wrong("each key has a sink")
def broadcast_to_keys(scores, sink):
    if len({len(sink), *scores.shape[-2:]}) > 1:
        return beside(scores, sink)[..., :-1]
    top = torch.maximum(scores.amax(-1, keepdim=True), sink)
    return (scores - top).exp() / ((scores - top).exp().sum(-1, keepdim=True) + (sink - top).exp())


# Large numbers, hidden keys.
wrong("exp overflows")(
    lambda scores, sink: (
        scores.exp()
        / torch.cat((scores, sink[:, None, None].expand(*scores.shape[:-1], 1)), -1).exp().sum(-1, True)
    ),
    "bare exponentials",
)


@wrong("The largest score is taken off, the sink not counted")
def the_largest_of_the_keys(scores, sink):
    m = scores.amax(-1, keepdim=True)
    return (scores - m).exp() / ((scores - m).exp().sum(-1, keepdim=True) + (sink[:, None, None] - m).exp())


@wrong("The largest score of a head is taken off")
def the_largest_of_the_head(scores, sink):
    sink = sink.view(-1, 1, 1)
    top = torch.maximum(scores.flatten(-2).max(-1).values[..., None, None], sink)
    e = torch.cat((scores, sink.expand(*scores.shape[:-1], 1)), -1).sub(top).exp()
    return (e / e.sum(-1, keepdim=True))[..., :-1]


wrong("hidden keys, and a row of them")(
    lambda scores, sink: scores.softmax(-1) * (scores.logsumexp(-1, True) - sink[:, None, None]).sigmoid(),
    "the gate, and NaN in an empty row",
)
wrong("should be")(lambda scores, sink: beside(scores.mT, sink)[..., :-1].mT, "down the columns")
wrong("no gradient reaches sink")(lambda scores, sink: beside(scores, sink.detach())[..., :-1], "detached")
wrong("should be")(
    lambda scores, sink: beside(scores, torch.tensor(sink.tolist()).clamp(-5, 5))[..., :-1], "clamped"
)
