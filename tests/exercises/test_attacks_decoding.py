"""Answers to the exercises on decoding, as people may give them or to get by the checkers."""

import math

import numpy as np
import pytest
import torch


def step(x, t, keys, values, w_q, w_k, w_v, *, seen=None, scale=None):
    keys, values = keys.clone(), values.clone()
    slot = t % keys.shape[1]
    keys[:, slot], values[:, slot] = x @ w_k, x @ w_v
    used = t + 1 if seen is None else seen
    k, v = keys[:, :used], values[:, :used]
    scores = (x @ w_q)[:, None] @ k.mT / (k.shape[-1] ** 0.5 if scale is None else scale)
    return (scores.softmax(-1) @ v)[:, 0], keys, values


def step_by_mask(x, t, keys, values, w_q, w_k, w_v):
    at = torch.arange(keys.shape[1])
    here, used = (at == t % len(at))[:, None], at <= t
    keys = torch.where(here, (x @ w_k)[:, None], keys)
    values = torch.where(here, (x @ w_v)[:, None], values)
    scores = torch.einsum("bd,bkd->bk", x @ w_q, keys) / math.sqrt(keys.shape[-1])
    weights = scores.masked_fill(~used, -torch.inf).softmax(-1)
    return torch.einsum("bk,bkd->bd", weights, values), keys, values


def step_in_loops(x, t, keys, values, w_q, w_k, w_v):
    keys, values, room = keys.clone(), values.clone(), keys.shape[1]
    keys[:, t % room], values[:, t % room] = x @ w_k, x @ w_v
    out = torch.zeros_like(values[:, 0])
    for b in range(len(x)):
        q = x[b] @ w_q
        e = [q @ keys[b, s] / q.numel() ** 0.5 for s in range(min(t + 1, room))]
        top = max(e)
        e = [(one - top).exp() for one in e]
        out[b] = sum(one * values[b, s] for s, one in enumerate(e)) / sum(e)
    return out, keys, values


def step_old_text(x, t, keys, values, *w):
    """Right while the cache is not full, as if there were no window."""
    if t < keys.shape[1]:
        return step(x, t, keys, values, *w)
    return step(x, keys.shape[1] - 1, keys, values, *w)


STEPS = [
    ("nothing rolls", "wrong", "takes the last slot", step_old_text),
    ("the first text alone", "wrong", "should", lambda x, t, k, v, *w: step(x[:1], t, k[:1], v[:1], *w)),
    ("only the newest", "wrong", "should be", lambda x, t, k, v, *w: (x @ w[2], *step(x, t, k, v, *w)[1:])),
    ("the output alone", "wrong", "should", lambda *a: step(*a)[0]),
    ("values and keys in the other order", "wrong", "should", lambda *a: (step(*a)[0], step(*a)[2], step(*a)[1])),
    ("scaled by the window", "wrong", "should be", lambda x, t, k, *a: step(x, t, k, *a, scale=k.shape[1] ** 0.5)),
    ("one slot too many", "wrong", "should be", lambda x, t, *a: step(x, t, *a, seen=t + 2)),
    ("one slot too few", "wrong", "should be", lambda x, t, *a: step(x, t, *a, seen=max(t, 1))),
    ("the mean of all used", "wrong", "should be", lambda x, t, *a: (step(x, t, *a)[2][:, : t + 1].mean(1), *step(x, t, *a)[1:])),
    ("in half precision", "wrong", "should", lambda x, t, k, v, *w: tuple(y.to(x.dtype) for y in step(x.bfloat16(), t, k.bfloat16(), v.bfloat16(), *(m.bfloat16() for m in w)))),
    ("in single precision", "wrong", "in float64", lambda x, t, k, v, *w: tuple(y.to(x.dtype) for y in step(x.float(), t, k.float(), v.float(), *(m.float() for m in w)))),
    ("unused slots emptied", "wrong", "should be", lambda x, t, k, v, *w: step(x, t, k * (torch.arange(k.shape[1]) < t)[:, None], v, *w)),
    ("in place", "wrong", "changed its argument", lambda x, t, k, v, *w: (lambda out: (out[0], k.copy_(out[1]), v.copy_(out[2])))(step(x, t, k, v, *w))),
    ("the cache rolled round", "wrong", "should be", lambda *a: (step(*a)[0], *(y.roll(1, 1) for y in step(*a)[1:]))),
    ("by a mask", "wrong", "NaN", step_by_mask),
    ("in loops", "right", "", step_in_loops),
    ("a list", "right", "", lambda *a: list(step(*a))),
    ("with torch's attention", "right", "", lambda x, t, k, v, *w: (torch.nn.functional.scaled_dot_product_attention(
        (x @ w[0])[:, None], *(y[:, : t + 1] for y in step(x, t, k, v, *w)[1:]))[:, 0], *step(x, t, k, v, *w)[1:])),
]  # fmt: skip


def left(prompts, pad, n=None):
    n = max(map(len, prompts)) if n is None else n
    ids = torch.tensor([[pad] * (n - len(p)) + p for p in prompts])
    first = torch.tensor([[n - len(p)] for p in prompts])
    at = torch.arange(n)
    return ids, (at - first).clamp(min=0), (at <= at[:, None]) & (at >= first[..., None])


def left_in_lists(prompts, pad):
    n = max(map(len, prompts))
    ids, places, mask = [], [], []
    for p in prompts:
        gap = n - len(p)
        ids.append([pad] * gap + p)
        places.append([0] * gap + list(range(len(p))))
        mask.append([[gap <= j <= i for j in range(n)] for i in range(n)])
    return torch.tensor(ids), torch.tensor(places), torch.tensor(mask)


def left_in_place(prompts, pad):
    n = max(map(len, prompts))
    for p in prompts:
        p[:0] = [pad] * (n - len(p))
    return left(prompts, pad)


PADDED = [
    ("padding sees itself", "wrong", "should", lambda p, pad: (*left(p, pad)[:2], left(p, pad)[2] | torch.eye(max(map(len, p)), dtype=torch.bool))),
    ("the prompts grow", "wrong", "changed its argument prompts", left_in_place),
    ("one mask for all", "wrong", "should have shape", lambda p, pad: (*left(p, pad)[:2], left(p, pad)[2][0])),
    ("a key mask", "wrong", "should have shape", lambda p, pad: (*left(p, pad)[:2], left(p, pad)[2][:, -1])),
    ("always zeros", "wrong", "should be", lambda p, pad: left(p, 0)),
    ("one column too wide", "wrong", "should have shape", lambda p, pad: left(p, pad, max(map(len, p)) + 1)),
    ("sorted by length", "wrong", "should be", lambda p, pad: left(sorted(p, key=len), pad)),
    ("the mask turned round", "wrong", "True means: may attend", lambda p, pad: (*left(p, pad)[:2], ~left(p, pad)[2])),
    ("numbers for a mask", "wrong", "should hold True and False", lambda p, pad: (*left(p, pad)[:2], left(p, pad)[2].int())),
    ("padding sees what is before", "wrong", "should be", lambda p, pad: (*left(p, pad)[:2], left(p, pad)[2] | (~left(p, pad)[2].any(-1, keepdim=True) & torch.ones_like(left(p, pad)[2]).tril()))),
    ("numbers of words as floats", "wrong", "should hold whole numbers", lambda p, pad: (left(p, pad)[0].float(), *left(p, pad)[1:])),
    ("places as floats", "wrong", "should hold whole numbers", lambda p, pad: (left(p, pad)[0], left(p, pad)[1].float(), left(p, pad)[2])),
    ("in fewer bits", "right", "", lambda p, pad: (*(x.short() for x in left(p, pad)[:2]), left(p, pad)[2])),
    ("a list of three", "right", "", lambda p, pad: list(left(p, pad))),
    ("lists", "right", "", left_in_lists),
    ("by flipping", "right", "", lambda p, pad: (torch.nn.utils.rnn.pad_sequence([torch.tensor(x[::-1]) for x in p], True, pad).flip(1), *left(p, pad)[1:])),
    ("places summed up", "right", "", lambda p, pad: (left(p, pad)[0], (left(p, pad)[2][:, -1].cumsum(-1) - 1).clamp(min=0), left(p, pad)[2])),
    ("arrays", "wrong", "should be a tensor", lambda p, pad: tuple(x.numpy() for x in left(p, pad))),
]  # fmt: skip


def top_p(p, share):
    best, order = p.sort(dim=-1, descending=True, stable=True)
    kept = torch.zeros_like(p).scatter(-1, order, best * (best.cumsum(-1) - best < share))
    return kept / kept.sum(-1, keepdim=True)


def top_p_in_loops(p, share):
    rows = []
    for row in p.reshape(-1, p.shape[-1]).tolist():
        total, kept = 0.0, [0.0] * len(row)
        for at in sorted(range(len(row)), key=lambda at: -row[at]):
            if total >= share:
                break
            kept[at] = row[at]
            total += row[at]
        rows.append([x / total for x in kept])
    return torch.tensor(rows, dtype=p.dtype).reshape(p.shape)


def top_p_cut(p, share):
    """A threshold: the probability of the word that crosses, equals and all."""
    best = p.sort(dim=-1, descending=True).values
    last = (best.cumsum(-1) < share).sum(-1, keepdim=True).clamp(max=p.shape[-1] - 1)
    kept = p * (p >= best.gather(-1, last))
    return kept / kept.sum(-1, keepdim=True)


def top_p_shifted(p, share):
    best, order = p.sort(-1, descending=True)
    out = best.cumsum(-1) > share
    out[..., 1:] = out[..., :-1].clone()
    out[..., 0] = False
    kept = p.masked_fill(torch.zeros_like(out).scatter(-1, order, out), 0)
    return kept / kept.sum(-1, keepdim=True)


TOP_P = [
    ("a cut with all equals", "wrong", "Equal words are all kept", top_p_cut),
    ("the usual shift, beyond the share", "wrong", "one more is kept", top_p_shifted),
    ("at least two words", "wrong", "should be", lambda p, s: top_p(p, max(s, float(p.amax()) + 1e-4))),
    ("over all rows at once", "wrong", "should be", lambda p, s: top_p(p.flatten(), s).reshape(p.shape)),
    ("over the first axis", "wrong", "should be", lambda p, s: top_p(p.T, s).T if p.dim() == 2 else top_p(p, s)),
    ("always 0.9", "wrong", "should be", lambda p, s: top_p(p, 0.9)),
    ("a mask", "wrong", "should", lambda p, s: top_p(p, s) > 0),
    ("a softmax again", "wrong", "A second softmax", lambda p, s: p.masked_fill(top_p(p, s) == 0, -torch.inf).softmax(-1)),
    ("in single precision", "wrong", "in float64", lambda p, s: top_p(p.float(), s).to(p.dtype)),
    ("top-k of its number", "wrong", "should be", lambda p, s: top_p(p, s) * 0 + p),
    ("the later of two equals", "wrong", "With four equal words", lambda p, s: top_p(p.flip(-1), s).flip(-1)),
    ("not divided", "wrong", "Divide by its sum", lambda p, s: p * (top_p(p, s) > 0)),
    ("gathered back", "right", "", lambda p, s: (lambda best, order: (lambda kept: kept / kept.sum(-1, keepdim=True))(
        p * (best.cumsum(-1) - best < s).gather(-1, order.argsort(-1))))(*p.sort(dim=-1, descending=True, stable=True))),
    ("those before, shifted", "right", "", lambda p, s: (lambda best, order: (lambda kept: kept / kept.sum(-1, keepdim=True))(
        torch.zeros_like(p).scatter(-1, order, best * (torch.nn.functional.pad(best.cumsum(-1)[..., :-1], (1, 0)) < s))))(*p.sort(dim=-1, descending=True, stable=True))),
    ("in loops", "right", "", top_p_in_loops),
    ("by ranks", "right", "", lambda p, s: (lambda kept: kept / kept.sum(-1, keepdim=True))(
        p * ((p.sort(dim=-1, descending=True, stable=True).values.cumsum(-1) < s).sum(-1, keepdim=True) >= p.argsort(dim=-1, descending=True, stable=True).argsort(-1)))),
    ("an array", "wrong", "should be a tensor", lambda p, s: top_p(p, s).numpy()),
]  # fmt: skip


def verify(drafted, p_draft, p, u, *, rest=None):
    for i, word in enumerate(drafted.tolist()):
        if u[i] * p_draft[i, word] >= p[i, word]:
            more = (p[i] - p_draft[i]).clamp(min=0) if rest is None else rest(p[i], p_draft[i], word)
            return i, more / more.sum()
    return len(drafted), p[-1]


def verify_at_once(drafted, p_draft, p, u):
    at = torch.arange(len(drafted))
    refused = (u >= p[at, drafted] / p_draft[at, drafted]).nonzero()
    if not len(refused):
        return len(drafted), p[-1]
    i = refused[0, 0]
    more = torch.relu(p[i] - p_draft[i])
    return i, more / more.sum()


def without(p, word):
    return p * (torch.arange(len(p)) != word)


def verify_padded(drafted, p_draft, p, u):
    """A row of zeros behind the draft makes the last case the same as the others."""
    i = verify(drafted, p_draft, p, u)[0]
    more = (p[i] - torch.cat((p_draft, torch.zeros_like(p[:1])))[i]).clamp(min=0)
    return i, more / more.sum()


VERIFIED = [
    ("p without the refused word", "wrong", "should be", lambda *a: verify(*a, rest=lambda p, q, w: without(p, w))),
    ("what is missing, squared", "wrong", "should be", lambda *a: verify(*a, rest=lambda p, q, w: (p - q).clamp(min=0) ** 2)),
    ("even among what is missing", "wrong", "should be", lambda *a: verify(*a, rest=lambda p, q, w: (p > q).to(p.dtype))),
    ("the mean of both", "wrong", "should be", lambda *a: verify(*a, rest=lambda p, q, w: p + q)),
    ("all kept", "wrong", "should be", lambda d, q, p, u: (len(d), p[-1])),
    ("none kept", "wrong", "should", lambda d, q, p, u: verify(d[:0], q[:0], p[:1], u[:0])),
    ("the word drawn", "wrong", "should", lambda *a: (verify(*a)[0], int(verify(*a)[1].argmax()))),
    ("the words kept", "wrong", "should", lambda d, *a: (d[: verify(d, *a)[0]], verify(d, *a)[1])),
    ("one chance for all", "wrong", "should be", lambda d, q, p, u: verify(d, q, p, u[:1].expand(len(u)) if len(u) else u)),
    ("a chance of its own", "wrong", "should be", lambda d, q, p, u: verify(d, q, p, torch.rand(len(u)))),
    ("at most, not below", "wrong", "should be", lambda d, q, p, u: verify(d, q, p, (u - 1e-6).clamp(min=-1))),
    ("in single precision", "wrong", "in float64", lambda d, q, p, u: verify(d, q.float(), p.float(), u.float())),
    ("kept behind a refusal", "wrong", "should be", lambda d, q, p, u: (int((u * q[range(len(d)), d] < p[range(len(d)), d]).sum()), verify(d, q, p, u)[1])),
    ("the model and its draft exchanged", "wrong", "should", lambda d, q, p, u: verify(d, p[:-1], torch.cat((q, p[-1:])), u)),
    ("at once", "right", "", verify_at_once),
    ("padded", "right", "", verify_padded),
    ("a list, a number of NumPy's", "right", "", lambda *a: [np.int64(verify(*a)[0]), verify(*a)[1]]),
    ("a tensor for the number", "right", "", lambda *a: (torch.tensor(verify(*a)[0]), verify(*a)[1])),
]  # fmt: skip

ATTACKS = [
    pytest.param(name, *rest, id=f"{name}: {title}")
    for name, attacks in (
        ("decoding-step", STEPS),
        ("decoding-left-padding", PADDED),
        ("decoding-top-p", TOP_P),
        ("decoding-verify", VERIFIED),
    )
    for title, *rest in attacks
]


@pytest.mark.parametrize(("name", "status", "piece", "answer"), ATTACKS)
def test_an_attack_is_judged_rightly(judged, name, status, piece, answer):
    judged(name, status, piece, answer)
