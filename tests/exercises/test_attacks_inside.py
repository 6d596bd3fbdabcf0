"""Answers to the exercises on the heads of a real model, as people may give them or to get by the checkers."""

import itertools

import numpy as np
import pytest
import torch


def both(real):
    return real[:, 1:] & real[:, :-1]


def back(weights):
    return weights.diagonal(-1, -2, -1)


def previous(weights, real):
    return (back(weights) * both(real)[:, None]).sum((0, 2)) / both(real).sum()


def previous_in_loops(weights, real):
    texts, heads, n, _ = weights.shape
    places = [(t, i) for t in range(texts) for i in range(1, n) if real[t, i] and real[t, i - 1]]
    return torch.stack([sum(weights[t, h, i, i - 1] for t, i in places) / len(places) for h in range(heads)])


PREVIOUS = [
    ("the first text alone", "wrong", "should be", lambda w, real: back(w)[0][:, both(real)[0]].mean(-1)),
    ("the largest", "wrong", "should be", lambda w, real: (back(w) * both(real)[:, None]).amax((0, 2))),
    ("a number for each text", "wrong", "should have shape", lambda w, real: (back(w) * both(real)[:, None]).sum(2)),
    ("detached", "wrong", "no gradient reaches weights", lambda w, real: previous(w.detach(), real)),
    ("in single precision", "wrong", "in float64", lambda w, real: previous(w.float(), real)),
    ("padding divides too", "wrong", "should be", lambda w, real: (back(w) * both(real)[:, None]).mean((0, 2))),
    ("two back", "wrong", "should be", lambda w, real: (w.diagonal(-2, -2, -1) * both(real)[:, None, 1:]).sum((0, 2)) / both(real).sum()),
    ("nothing", "wrong", "`return`", lambda w, real: None),
    ("one text fewer in the count", "wrong", "should be", lambda w, real: (back(w) * both(real)[:, None]).sum((0, 2)) / (real.sum() - 1)),
    ("how often it is the largest", "wrong", "should be", lambda w, real: ((w.argmax(-1)[:, :, 1:] == torch.arange(w.shape[-1] - 1)) * both(real)[:, None]).sum((0, 2)) / both(real).sum()),
    ("shares without the piece itself", "wrong", "should be", lambda w, real: previous(w / (w.sum(-1, keepdim=True) - w.diagonal(0, -2, -1)[..., None]), real)),
    ("a list", "wrong", "should be a tensor", lambda w, real: previous(w, real).tolist()),
    ("padding zeroed in place", "wrong", "changed its argument weights", lambda w, real: previous(w.mul_(real[:, None, :, None]), real)),
    ("padding at the left forgotten", "wrong", "should be", lambda w, real: torch.stack([back(w)[t, :, i] for t, n in enumerate(real.sum(-1).tolist()) for i in range(n - 1)]).mean(0)),
    ("shares among the real", "wrong", "should be", lambda w, real: previous(w * real[:, None, None] / (w * real[:, None, None]).sum(-1, keepdim=True), real)),
    ("both directions", "wrong", "should be", lambda w, real: (previous(w, real) + previous(w.mT, real)) / 2),
    ("three heads", "wrong", "should have shape", lambda w, real: previous(w, real)[:3]),
    ("the first piece is no word", "wrong", "should be", lambda w, real: previous(w[:, :, 1:, 1:], real[:, 1:])),
    ("the first looks at the last", "wrong", "should be", lambda w, real: (w.roll(1, -1).diagonal(0, -2, -1) * real[:, None]).sum((0, 2)) / real.sum()),
    ("the median", "wrong", "should be", lambda w, real: back(w).movedim(1, -1)[both(real)].median(0).values),
    ("in NumPy", "wrong", "no gradient reaches weights", lambda w, real: torch.from_numpy(previous(w.detach(), real).numpy())),
    ("what is above 0 alone", "wrong", "A weight of exactly 0", lambda w, real: torch.stack([x[x > 0].mean() for x in (back(w) * both(real)[:, None]).unbind(1)])),
    ("shares among the real, once more", "wrong", "should be", lambda w, real: previous(w.masked_fill(~real[:, None, None], 0).softmax(-1), real)),
    ("a mask that wraps around", "wrong", "should be", lambda w, real: (back(w) * (real & real.roll(1, -1))[:, None, :-1]).sum((0, 2)) / both(real).sum()),
    ("chosen text by text, not head by head", "wrong", "should be", lambda w, real: back(w).masked_select(both(real)[:, None]).view(w.shape[1], -1).mean(1)),
    ("chosen head by head", "right", "", lambda w, real: back(w).transpose(0, 1).masked_select(both(real)).view(w.shape[1], -1).mean(1)),
    ("nanmean", "right", "", lambda w, real: back(w).masked_fill(~both(real)[:, None], float("nan")).nanmean((0, 2))),
    ("loops", "right", "", previous_in_loops),
    ("counted by texts", "right", "", lambda w, real: (back(w) * both(real)[:, None]).sum((0, 2)) / (real.sum() - real.any(-1).sum())),
    ("by a mask", "right", "", lambda w, real: back(w).movedim(1, -1)[both(real)].mean(0)),
    ("by indices", "right", "", lambda w, real: (w[:, :, range(1, w.shape[2]), range(w.shape[2] - 1)] * both(real)[:, None]).sum((0, 2)) / both(real).sum()),
]  # fmt: skip


def is_head(x, head):
    return (torch.arange(x.shape[2]) == head)[:, None]


def without(x, others, head, w_o):
    return torch.where(is_head(x, head), others.mean(0), x).flatten(-2) @ w_o


def put_and_taken_away(x, others, head, w_o):
    said = x[:, :, head].clone()
    x[:, :, head] = others[:, head].mean(0)
    out = x.flatten(-2) @ w_o
    x[:, :, head] = said
    return out


ABLATIONS = [
    ("the middle between the extremes", "wrong", "should be", lambda x, o, h, w: without(x, (o.amax(0, keepdim=True) + o.amin(0, keepdim=True)) / 2, h, w)),
    ("the mean in half precision", "wrong", "should be", lambda x, o, h, w: without(x, o.half().mean(0, keepdim=True).to(x.dtype), h, w)),
    ("of the others the first eight", "wrong", "should be", lambda x, o, h, w: without(x, o[:8], h, w)),
    ("put there and taken away again", "wrong", "the backward pass raised", lambda x, o, h, w: put_and_taken_away(x, o, h, w)),
    ("rows of w_o", "right", "", lambda x, o, h, w: x.flatten(-2) @ w.unflatten(0, x.shape[2:]).mul((torch.arange(x.shape[2]) != h)[:, None, None]).flatten(0, 1) + o[:, h].mean(0) @ w.unflatten(0, x.shape[2:])[h]),
    ("the mean over both", "wrong", "should be", lambda x, o, h, w: without(x, torch.cat((o, x.flatten(0, 1))), h, w)),
    ("detached", "wrong", "no gradient reaches x", lambda x, o, h, w: without(x.detach(), o, h, w)),
    ("not mixed", "wrong", "should", lambda x, o, h, w: torch.where(is_head(x, h), o.mean(0), x).flatten(-2)),
    ("always head 1", "wrong", "should be", lambda x, o, h, w: without(x, o, 1, w)),
    ("the sum", "wrong", "should be", lambda x, o, h, w: without(x, o * len(o), h, w)),
    ("half of it", "wrong", "should be", lambda x, o, h, w: (without(x, o, h, w) + x.flatten(-2) @ w) / 2),
    ("tokens and heads mixed", "wrong", "should be", lambda x, o, h, w: torch.where(is_head(x, h), o.mean(0), x).transpose(1, 2).reshape(*x.shape[:2], -1) @ w),
    ("the first place is kept", "wrong", "should be", lambda x, o, h, w: torch.where(is_head(x, h) & (torch.arange(x.shape[1]) > 0)[:, None, None], o.mean(0), x).flatten(-2) @ w),
    ("only the first text", "wrong", "should be", lambda x, o, h, w: torch.cat((without(x[:1], o, h, w), x[1:].flatten(-2) @ w))),
    ("the head's share alone", "wrong", "should be", lambda x, o, h, w: (o[:, h].mean(0) @ w.unflatten(0, (x.shape[2], -1))[h]).expand(*x.shape[:2], -1)),
    ("its mean subtracted", "wrong", "should be", lambda x, o, h, w: (x - is_head(x, h) * o.mean(0)).flatten(-2) @ w),
    ("the next head's mean", "wrong", "should be", lambda x, o, h, w: without(x, o.roll(-1, 1), h, w)),
    ("its mean stretched", "wrong", "should be", lambda x, o, h, w: without(x, o * (x[:, :, h].norm() / o[:, h].mean(0).norm()), h, w)),
    ("the spread", "wrong", "should be", lambda x, o, h, w: without(x, o.std(0, correction=0, keepdim=True), h, w)),
    ("the last place is kept", "wrong", "should be", lambda x, o, h, w: torch.cat((without(x, o, h, w)[:, :-1], (x.flatten(-2) @ w)[:, -1:]), 1)),
    ("divided by one fewer", "wrong", "should be", lambda x, o, h, w: without(x, o * len(o) / max(len(o) - 1, 1), h, w)),
    ("counted from the end", "wrong", "should be", lambda x, o, h, w: without(x, o, x.shape[2] - 1 - h, w)),
    ("all others' layer, averaged", "wrong", "should be", lambda x, o, h, w: (o.flatten(-2) @ w).mean(0).expand(*x.shape[:2], -1)),
    ("torch.where", "right", "", without),
    ("index_copy", "right", "", lambda x, o, h, w: x.index_copy(2, torch.tensor([h]), o[:, h].mean(0).expand(*x.shape[:2], 1, -1)).flatten(2) @ w),
    ("by the difference", "right", "", lambda x, o, h, w: x.flatten(-2) @ w + (o[:, h].mean(0) - x[:, :, h]) @ w.unflatten(0, (x.shape[2], -1))[h]),
    ("head by head, added up", "right", "", lambda x, o, h, w: sum((o[:, h].mean(0).expand_as(x[:, :, i]) if i == h else x[:, :, i]) @ part for i, part in enumerate(w.unflatten(0, (x.shape[2], -1))))),
]  # fmt: skip


def found(weights, ids, some=lambda ids, i: True):
    rows = [i for i in range(len(ids)) if ids[i] in ids[:i] and some(ids, i)]
    return [weights[:, i, max(j for j in range(i) if ids[j] == ids[i]) + 1] for i in rows]


def induction(weights, ids, empty=0.0, **more):
    rows = found(weights, ids, **more)
    return torch.stack(rows).mean(0) if rows else weights[:, 0, 0] * 0 + empty


def by_a_matrix(weights, ids):
    n = len(ids)
    same = torch.tensor([[ids[j] == ids[i] and j < i for j in range(n)] for i in range(n)])
    rows = same.any(1)
    if not rows.any():
        return weights.new_zeros(len(weights))
    latest = torch.where(same, torch.arange(n), -1).amax(1)[rows]
    return weights[:, rows.nonzero()[:, 0], latest + 1].mean(-1)


def by_notes(weights, ids, is_there=lambda place: place is not None):
    last, rows = {}, []
    for i, piece in enumerate(ids):
        if is_there(last.get(piece)):
            rows.append(weights[:, i, last[piece] + 1])
        last[piece] = i
    return torch.stack(rows).mean(0) if rows else weights.new_zeros(len(weights))


def popped_and_put_back(score, pieces):
    whole, found = score(list(pieces)), []
    for i in range(len(pieces)):
        word = pieces.pop(i)
        found.append(whole - score(list(pieces)))
        pieces.insert(i, word)
    return found


def by_a_table(weights, ids, size):
    last, rows = [None] * size, []
    for i, piece in enumerate(ids):
        if last[piece] is not None:
            rows.append(weights[:, i, last[piece] + 1])
        last[piece] = i
    return torch.stack(rows).mean(0) if rows else weights.new_zeros(len(weights))


def by_identity(weights, ids):
    latest = [max((j for j in range(i) if ids[j] is ids[i]), default=None) for i in range(len(ids))]
    rows = [weights[:, i, j + 1] for i, j in enumerate(latest) if j is not None]
    return torch.stack(rows).mean(0) if rows else weights.new_zeros(len(weights))


INDUCTION = [
    ("a table of 100 pieces", "wrong", "raised IndexError", lambda w, ids: by_a_table(w, ids, 100)),
    ("a table of as many as needed", "right", "", lambda w, ids: by_a_table(w, ids, max(ids) + 1)),
    ("the same object", "wrong", "Equal numbers are the same piece", by_identity),
    ("the last 16 bits", "wrong", "Equal numbers are the same piece", lambda w, ids: induction(w, [x % 2**16 for x in ids])),
    ("not farther back than nine", "wrong", "however far apart", lambda w, ids: induction(
        w, ids, some=lambda ids, i: i - max(j for j in range(i) if ids[j] == ids[i]) <= 9)),
    ("as bytes", "wrong", "raised ValueError", lambda w, ids: induction(w, bytes(ids))),
    ("place 0 is none", "wrong", "0 is a place", lambda w, ids: by_notes(w, ids, bool)),
    ("the first return sets the period", "wrong", "different distances", lambda w, ids: next(
        (w.diagonal(1 - i + ids.index(x), -2, -1)[:, 1:].mean(-1) for i, x in enumerate(ids) if x in ids[:i]), w.new_zeros(len(w)))),
    ("the last piece left out", "wrong", "should be", lambda w, ids: induction(w[:, :-1, :-1], ids[:-1]) if len(ids) > 1 else induction(w, ids)),
    ("an empty list for none", "wrong", "should be a tensor", lambda w, ids: induction(w, ids) if len(set(ids)) < len(ids) else []),
    ("notes", "right", "", by_notes),
    ("a matrix of equal pieces", "right", "", by_a_matrix),
    ("NaN where nothing comes back", "wrong", "nothing comes back", lambda w, ids: induction(w, ids, float("nan"))),
    ("not twice in a row", "wrong", "should be", lambda w, ids: induction(w, ids, some=lambda ids, i: ids[i - 1] != ids[i])),
    ("half of the text is a round", "wrong", "should be", lambda w, ids: w.diagonal(1 - max(len(ids) // 2, 1), -2, -1)[:, 1:].mean(-1)),
    ("each token once", "wrong", "should be", lambda w, ids: induction(w, ids, some=lambda ids, i: ids[i] not in ids[i + 1 :])),
    ("the first head", "wrong", "should have shape", lambda w, ids: induction(w, ids)[:1]),
    ("detached", "wrong", "no gradient reaches weights", lambda w, ids: induction(w.detach(), ids)),
    ("a number", "wrong", "should be a tensor", lambda w, ids: 0),
    ("the largest of all earlier places", "wrong", "should be", lambda w, ids: torch.stack([torch.stack([w[:, i, j + 1] for j in range(i) if ids[j] == ids[i]]).amax(0) for i in range(len(ids)) if ids[i] in ids[:i]] or [w[:, 0, 0] * 0]).mean(0)),
    ("never the token itself", "wrong", "should be", lambda w, ids: torch.stack([w[:, i, min(max(j for j in range(i) if ids[j] == ids[i]) + 1, i - 1)] for i in range(len(ids)) if ids[i] in ids[:i]] or [w[:, 0, 0] * 0]).mean(0)),
    ("zeros in single precision", "wrong", "should keep that dtype", lambda w, ids: induction(w, ids) if len(set(ids)) < len(ids) else torch.zeros(len(w))),
    ("noted before it is looked up", "wrong", "Look a piece up *before*", lambda w, ids: torch.zeros_like(w[:, 0, 0])),
    ("a row too early", "wrong", "should be", lambda w, ids: induction(w.roll(1, 1), ids)),
    ("where it came true", "wrong", "should be", lambda w, ids: induction(w, ids, some=lambda ids, i: ids[i + 1 : i + 2] == ids[(j := max(j for j in range(i) if ids[j] == ids[i])) + 1 : j + 2])),
    ("a mean of each piece", "wrong", "should be", lambda w, ids: torch.stack([induction(w, ids, some=lambda ids, i, kind=kind: ids[i] == kind) for kind in sorted({p for i, p in enumerate(ids) if p in ids[:i]})] or [w[:, 0, 0] * 0]).mean(0)),
    ("a search backwards", "right", "", induction),
    ("added up", "right", "", lambda w, ids: sum(found(w, ids), torch.zeros_like(w[:, 0, 0])) / max(len(found(w, ids)), 1)),
]  # fmt: skip


def drops(score, pieces):
    return [score(list(pieces)) - score(pieces[:i] + pieces[i + 1 :]) for i in range(len(pieces))]


LEFT_OUT = [
    ("only falls", "wrong", "should be", lambda s, p: [max(0.0, x) for x in drops(s, p)]),
    ("rounded", "wrong", "should be", lambda s, p: [round(x) for x in drops(s, p)]),
    ("not the last", "wrong", "should have length", lambda s, p: drops(s, p)[:-1]),
    ("by word", "wrong", "should be a list", lambda s, p: dict(zip(p, drops(s, p), strict=True))),
    ("in another order", "wrong", "should be", lambda s, p: [s(list(p)) - s(p[i + 1 :] + p[:i]) for i in range(len(p))]),
    ("its own list handed over", "wrong", "changed its argument pieces", lambda s, p: [s(p) - s(p[:i] + p[i + 1 :]) for i in range(len(p))]),
    ("what a suffix loses", "wrong", "should be", lambda s, p: [s(p[i:]) - s(p[i + 1 :]) for i in range(len(p))]),
    ("nothing for one word", "wrong", "should be", lambda s, p: drops(s, p) if len(p) > 1 else [0.0]),
    ("once for each word", "wrong", "drop of its first place", lambda s, p: [dict(zip(reversed(p), reversed(drops(s, p)), strict=True))[word] for word in p]),
    ("sorted texts", "wrong", "should be", lambda s, p: [s(sorted(p)) - s(sorted(p[:i] + p[i + 1 :])) for i in range(len(p))]),
    ("what each adds", "wrong", "should be", lambda s, p: [s(p[: i + 1]) - s(p[:i]) for i in range(len(p))]),
    ("the last one first", "wrong", "should be", lambda s, p: [drops(s, p)[i] for i in range(-1, len(p) - 1)]),
    ("against the mean drop", "wrong", "should be", lambda s, p: [x - sum(drops(s, p)) / len(p) for x in drops(s, p)]),
    ("a tuple handed over", "wrong", "AttributeError", lambda s, p: [s(tuple(p)) - s(tuple(p[:i] + p[i + 1 :])) for i in range(len(p))]),
    ("a share of the text", "wrong", "should be", lambda s, p: [x / len(p) for x in drops(s, p)]),
    ("the parts' sum for the whole", "wrong", "should be", lambda s, p: [sum(s([q]) for q in p) - s(p[:i] + p[i + 1 :]) for i in range(len(p))]),
    ("less what nothing scores", "wrong", "should be", lambda s, p: [x - s([]) for x in drops(s, p)]),
    ("one string", "wrong", "should be", lambda s, p: [s(" ".join(p)) - s(" ".join(p[:i] + p[i + 1 :])) for i in range(len(p))]),
    ("whole numbers", "wrong", "should be", lambda s, p: [int(x) for x in drops(s, p)]),
    ("all but one, as they come", "wrong", "reverse order", lambda s, p: [s(list(p)) - s(list(kept)) for kept in itertools.combinations(p, len(p) - 1)]),
    ("all but one, turned round", "right", "", lambda s, p: [s(list(p)) - s(list(kept)) for kept in itertools.combinations(p, len(p) - 1)][::-1]),
    ("popped and put back", "right", "", popped_and_put_back),
    ("a tensor", "right", "", lambda s, p: torch.tensor(drops(s, p))),
    ("an array", "right", "", lambda s, p: np.array(drops(s, p))),
    ("a tuple", "right", "", lambda s, p: tuple(drops(s, p))),
    ("by enumerate", "right", "", lambda s, p: [s(p.copy()) - s([q for j, q in enumerate(p) if j != i]) for i in range(len(p))]),
]  # fmt: skip

ATTACKS = [
    pytest.param(name, *rest, id=f"{name}: {title}")
    for name, attacks in (
        ("inside-previous", PREVIOUS),
        ("inside-mean-ablation", ABLATIONS),
        ("inside-induction", INDUCTION),
        ("inside-left-out", LEFT_OUT),
    )
    for title, *rest in attacks
]


@pytest.mark.parametrize(("name", "status", "piece", "answer"), ATTACKS)
def test_an_attack_is_judged_rightly(judged, name, status, piece, answer):
    judged(name, status, piece, answer)
