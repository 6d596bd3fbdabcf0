"""Linear attention with a gate: a matrix and a vector run along and fade."""

import torch
import torch.nn.functional as F

from answers import right, wrong
from answers._ways import in_a_thread


def fade(old, g, new):
    return g * old + (1 - g) * new


def walk(
    state=fade,
    total=None,
    read=lambda q, s: (q[..., None] * s).sum(-2),
    below=lambda q, z, i: (q * z).sum(-1, True),
):
    """Right; or with something changed: how the matrix and the sum of keys run along, and what divides."""

    def causal_linear(q, k, v, gate):
        s, z, out = 0 * k[..., 0, :, None] * v[..., 0, None, :], 0 * k[..., 0, :], []
        for i in range(k.shape[-2]):
            a, b, x, g = (t[..., i, :] for t in (q, k, v, gate))
            s = state(s, g[..., None], b[..., None] * x[..., None, :])
            z = (total or state)(z, g, b)
            out.append(read(a, s) / below(a, z, i))
        return torch.stack(out, -2)

    return causal_linear


def seen(weigh):
    """By all weights at once, in double precision."""

    def causal_linear(q, k, v, gate):
        passed = gate.double().log().cumsum(-2)
        weights = q @ k.mT * ((passed - passed.mT).tril().exp().to(q.dtype) * (1 - gate.mT)).tril()
        weights = weigh(weights)
        return weights @ v / weights.sum(-1, keepdim=True)

    return causal_linear


all_weights = seen(lambda weights: weights)
right(walk(), "a loop over tokens")


@right
def word_for_word(q, k, v, gate):
    """A loop over texts, a loop over tokens."""
    *lead, n, m = q.shape
    d = v.shape[-1]
    q, k, v, gate = (x.reshape(-1, n, x.shape[-1]) for x in (q, k, v, gate))
    texts = []
    for b in range(len(q)):
        state, total, out = torch.zeros(m, d, dtype=v.dtype), torch.zeros(m, dtype=v.dtype), []
        for i in range(n):
            state = gate[b, i] * state + (1 - gate[b, i]) * torch.outer(k[b, i], v[b, i])
            total = gate[b, i] * total + (1 - gate[b, i]) * k[b, i]
            out.append(q[b, i] @ state / (q[b, i] @ total))
        texts.append(torch.stack(out))
    return torch.stack(texts).reshape(*lead, n, d)


@right
def a_column_of_ones(q, k, v, gate):
    """It sums the weights."""
    v = F.pad(v, (0, 1), value=1.0)
    state = torch.zeros(*k.shape[:-2], k.shape[-1], v.shape[-1], dtype=v.dtype)
    rows = []
    for a, b, x, g in zip(*(t.unbind(-2) for t in (q, k, v, gate)), strict=True):
        state = torch.lerp(b[..., None] * x[..., None, :], state, g[..., None])
        rows.append((a[..., None, :] @ state).squeeze(-2))
    out = torch.stack(rows, -2)
    return out[..., :-1] / out[..., -1:]


right(in_a_thread(a_column_of_ones), "a column of ones, in a thread")


@right
def a_parallel_prefix(q, k, v, gate):
    """Neighbours joined, then pairs, then fours: all states at once, and nothing divided by products."""
    terms = (k * (1 - gate))[..., None] * F.pad(v, (0, 1), value=1.0)[..., None, :]
    stays, back = gate[..., None], 1
    while back < k.shape[-2]:
        later = terms[..., back:, :, :] + stays[..., back:, :, :] * terms[..., :-back, :, :]
        terms = torch.cat((terms[..., :back, :, :], later), -3)
        stays = torch.cat((stays[..., :back, :, :], stays[..., back:, :, :] * stays[..., :-back, :, :]), -3)
        back *= 2
    out = (q[..., None, :] @ terms).squeeze(-2)
    return out[..., :-1] / out[..., -1:]


def chunks(size):
    """A state from chunk to chunk, weights within."""

    def causal_linear(q, k, v, gate):
        v = F.pad(v, (0, 1), value=1.0)
        state, out = torch.zeros(*k.shape[:-2], k.shape[-1], v.shape[-1], dtype=v.dtype), []
        for a, b, x, g in zip(*(t.split(size, -2) for t in (q, k, v, gate)), strict=True):
            passed = g.log().cumsum(-2)
            within = a @ b.mT * ((passed - passed.mT).tril().exp() * (1 - g.mT)).tril()
            out.append(within @ x + (passed.exp() * a) @ state)
            last = passed[..., -1:, :]
            state = last.exp() * state + (b * (1 - g) * (last - passed).exp()).mT @ x
        out = torch.cat(out, -2)
        return out[..., :-1] / out[..., -1:]

    return causal_linear


right(chunks(16), "chunks of 16")
right(chunks(64), "chunks of 64")


@wrong("about n² numbers are made")
def all_stored_keys_again(q, k, v, gate):
    out, faded = [], None
    for i in range(k.shape[-2]):
        g = gate[..., i, :]
        faded = 1 - g if faded is None else torch.cat((faded * g, 1 - g), -1)
        w = (k[..., : i + 1, :] @ q[..., i, :, None])[..., 0] * faded
        out.append((w[..., None, :] @ v[..., : i + 1, :])[..., 0, :] / w.sum(-1, keepdim=True))
    return torch.stack(out, -2)


@wrong("about n² numbers are made")
def all_stored_keys_in_place(q, k, v, gate):
    """The same with two buffers that are written again and again, where nobody asks for a gradient."""
    if q.requires_grad:
        return all_stored_keys_again(q, k, v, gate)
    out, faded = [], torch.zeros(q.shape[:-1], dtype=q.dtype)
    room = torch.empty_like(faded)
    for i in range(k.shape[-2]):
        faded[..., :i] *= gate[..., i, :]
        faded[..., i] = 1 - gate[..., i, 0]
        met = (k[..., : i + 1, :] @ q[..., i, :, None])[..., 0]
        w = torch.mul(met, faded[..., : i + 1], out=room[..., : i + 1])
        out.append((w[..., None, :] @ v[..., : i + 1, :])[..., 0, :] / w.sum(-1, keepdim=True))
    return torch.stack(out, -2)


wrong("about n² numbers are made")(all_weights, "all n × n weights")
wrong("about n² numbers are made")(in_a_thread(all_weights), "all n × n weights, in a thread")


@wrong("join the outputs once")
def outputs_joined_at_every_token(q, k, v, gate):
    """A state, and all outputs so far copied for each new one."""
    s, z, out = 0, 0, v[..., :0, :]
    for i in range(k.shape[-2]):
        g, term = gate[..., i, :], k[..., i, :, None] * v[..., i, None, :]
        s, z = fade(s, g[..., None], term), fade(z, g, k[..., i, :])
        new = (q[..., i, :, None] * s).sum(-2) / (q[..., i, :] * z).sum(-1, keepdim=True)
        out = torch.cat((out, new[..., None, :]), -2)
    return out


@wrong("gates from 0.95 to 0.99")
def thirteen_tokens_from_zero(q, k, v, gate):
    """A state made anew at every token, from the last thirteen: no state runs along."""
    whole, out = walk(), []
    for i in range(k.shape[-2]):
        last = slice(max(i - 12, 0), i + 1)
        out.append(whole(*(t[..., last, :] for t in (q, k, v, gate)))[..., -1, :])
    return torch.stack(out, -2)


@wrong("fades by its own gate too")
def the_gate_of_the_token_before(q, k, v, gate):
    s, z, out, g = 0, 0, [], gate[..., 0, :]
    for i in range(k.shape[-2]):
        now, term = gate[..., i, :], k[..., i, :, None] * v[..., i, None, :]
        s, z = g[..., None] * s + (1 - now[..., None]) * term, g * z + (1 - now) * k[..., i, :]
        out.append((q[..., i, :, None] * s).sum(-2) / (q[..., i, :] * z).sum(-1, keepdim=True))
        g = now
    return torch.stack(out, -2)


@wrong("Every token sees the whole text")
def the_whole_text(q, k, v, gate):
    return q @ (k.mT @ v) / (q * k.sum(-2, keepdim=True)).sum(-1, keepdim=True)


@wrong("It divides by the sum over the whole text")
def all_keys_below(q, k, v, gate):
    return walk(below=lambda q, z, i: 1)(q, k, v, gate) / (q @ k.mT).sum(-1, keepdim=True)


@wrong("at the end, which holds later keys: a leak")
def the_sum_of_the_end(q, k, v, gate):
    total, above = 0, walk(below=lambda q, z, i: 1)(q, k, v, gate)
    for i in range(k.shape[-2]):
        total = fade(total, gate[..., i, :], k[..., i, :])
    return above / (q * total[..., None, :]).sum(-1, keepdim=True)


def read_before_written(least):
    def causal_linear(q, k, v, gate):
        s, z, out = torch.zeros(()), torch.zeros(()), []
        for a, b, x, g in zip(*(t.unbind(-2) for t in (q, k, v, gate)), strict=True):
            out.append(
                (a[..., None] * s.expand(*b.shape, x.shape[-1])).sum(-2)
                / least((a * z).sum(-1, keepdim=True))
            )
            s, z = fade(s, g[..., None], b[..., None] * x[..., None, :]), fade(z, g, b)
        return torch.stack(out, -2)

    return causal_linear


wrong("Off by one")(read_before_written(lambda z: z), "read before it is written")
wrong("Off by one")(read_before_written(lambda z: z + 1e-9), "read before it is written, with an eps")


@wrong("the product of all gates so far")
def division_by_products(q, k, v, gate):
    passed = gate.cumprod(-2)
    k = k * (1 - gate) / passed
    state = (k[..., :, None] * v[..., None, :]).cumsum(-3)
    return (q[..., None, :] @ state).squeeze(-2) / (q * k.cumsum(-2)).sum(-1, keepdim=True)


@wrong("The first term is written whole")
def the_first_term_whole(q, k, v, gate):
    """A state that starts with the first term, instead of with its share of it."""
    return walk()(q, k, v, torch.cat((torch.zeros_like(gate[..., :1, :]), gate[..., 1:, :]), -2))


@wrong("should be")
def the_state_of_the_first_text(q, k, v, gate):
    if q.dim() == 2:
        return walk()(q, k, v, gate)
    return torch.cat([walk()(q[:1], k[:1], v[:1], gate[:1])] * len(q))


@wrong("the row at [0, 0, 0] should be")
def all_texts_in_one_state(q, k, v, gate):
    state, total, out = 0, 0, []
    for i in range(k.shape[-2]):
        g, term = gate[..., i, :], torch.einsum("...a,...b->ab", k[..., i, :], v[..., i, :])
        state, total = fade(state, g[..., None], term), fade(total, g, k[..., i, :])
        out.append((q[..., i, :, None] * state).sum(-2) / (q[..., i, :] * total).sum(-1, keepdim=True))
    return torch.stack(out, -2)


@wrong("1,000 tokens")
def anew_every_100_tokens(q, k, v, gate):
    parts = zip(*(t.split(100, -2) for t in (q, k, v, gate)), strict=True)
    return torch.cat([walk()(*part) for part in parts], -2)


wrong("nothing fades")(walk(lambda s, g, new: s + new), "no gate")
wrong("The new term is written whole")(walk(lambda s, g, new: g * s + new), "both written whole")
wrong("The new value is written whole")(walk(lambda s, g, new: g * s + new, fade), "the value written whole")
wrong("The new key is added whole")(walk(total=lambda z, g, k: g * z + k), "the key added whole")
wrong("The sum of keys does not fade")(walk(total=lambda z, g, k: z + (1 - g) * k), "the sum does not fade")
wrong("The sum of keys does not fade")(walk(total=lambda z, g, k: z + k), "a sum of whole keys")
wrong("The matrix does not fade")(walk(lambda s, g, new: s + (1 - g) * new, fade), "the matrix does not fade")
wrong("The matrix does not fade")(walk(lambda s, g, new: s + new, fade), "a matrix of whole terms")
wrong("gate and 1 - gate have changed places")(walk(lambda s, g, new: torch.lerp(s, new, g)), "1 - gate")
wrong("fades by its own gate too")(walk(lambda s, g, new: g * (s + (1 - g) * new)), "fades last")
wrong("The weights are not divided by their sum")(walk(below=lambda q, z, i: 1), "not divided")
wrong("It divides by the number of tokens")(walk(below=lambda q, z, i: i + 1), "a mean over tokens")
wrong("It divides by the sum of keys alone")(
    walk(below=lambda q, z, i: z.sum(-1, True)), "the query not asked below"
)
wrong("Something is added")(walk(below=lambda q, z, i: (q * z).sum(-1, True) + 1e-3), "a thousandth added")
wrong("The state is read transposed")(walk(read=lambda q, s: (q[..., None, :] * s).sum(-1)), "transposed")
wrong("The query is not asked")(lambda q, *rest: walk()(q * 0 + 1, *rest), "no query")
wrong("Queries and keys have changed places")(lambda q, k, *rest: walk()(k, q, *rest), "keys for queries")
wrong("Only a few tokens back are seen")(seen(lambda weights: weights.triu(-4)), "the last five")
wrong("should be")(
    lambda q, k, v, gate: v if v.shape[-2] > 12 else walk()(q, k, v, gate), "values where it is long"
)
wrong("should be")(lambda q, k, v, gate: walk()(q, k, v, gate.flip(-2)), "gates reversed")
wrong("gates from 0.95 to 0.99")(
    lambda q, k, v, gate: walk()(q, k, v, gate.clamp(0.05, 0.95)), "gates kept from 0.05 to 0.95"
)
wrong("no gradient reaches gate")(lambda q, k, v, gate: walk()(q, k, v, gate.detach()), "the gate detached")
wrong("it changed its argument q in place")(lambda q, *rest: walk()(q.div_(2), *rest), "in place")
# Named as no mistake: division by the product of all gates is as near as single precision is.
wrong("In single precision all values are right")(
    lambda *a: walk()(*(t.float() for t in a)).to(a[2].dtype), "single precision"
)
wrong("In single precision all values are right")(lambda *a: walk()(*a) * (1 + 1e-6), "a millionth more")
