"""Exercises on the Transformer: the pre-norm block, its parameters, the loss of all guesses, LayerNorm backwards."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.checks.exercise import (
    AUTOGRAD,
    case,
    draws,
    exercise,
    gradient,
    late,
    mistake,
    precisions,
    without,
)


def _norm(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:])


def _attend(
    x: Tensor, w_q, w_k, w_v, w_o, *, scale: float | None = None, masked: bool = False, dim: int = -1
) -> Tensor:
    q, k = x @ w_q, x @ w_k
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if masked:
        scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf)
    return scores.softmax(dim) @ (x @ w_v) @ w_o


def _think(x: Tensor, w_in: Tensor, w_out: Tensor) -> Tensor:
    return (x @ w_in).relu() @ w_out


def _block(
    x, w_q, w_k, w_v, w_o, w_in, w_out, *, first=_norm, second=_norm, attend=_attend, think=_think
) -> Tensor:
    x = x + attend(first(x), w_q, w_k, w_v, w_o)
    return x + think(second(x), w_in, w_out)


def _same(x: Tensor) -> Tensor:
    return x


def _unbiased(x: Tensor) -> Tensor:
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt()


def _by_size(x: Tensor) -> Tensor:
    return F.rms_norm(x, x.shape[-1:])


def _post(x, w_q, w_k, w_v, w_o, w_in, w_out):
    x = _norm(x + _attend(x, w_q, w_k, w_v, w_o))
    return _norm(x + _think(x, w_in, w_out))


def _bare(x, w_q, w_k, w_v, w_o, w_in, w_out):
    return _think(_norm(_attend(_norm(x), w_q, w_k, w_v, w_o)), w_in, w_out)


def _half_bare(x, w_q, w_k, w_v, w_o, w_in, w_out):
    x = _attend(_norm(x), w_q, w_k, w_v, w_o)
    return x + _think(_norm(x), w_in, w_out)


def _unnormed_values(x, w_q, w_k, w_v, w_o, w_in, w_out):
    y = _norm(x)
    scores = (y @ w_q) @ (y @ w_k).mT / w_q.shape[-1] ** 0.5
    x = x + scores.softmax(-1) @ (x @ w_v) @ w_o
    return x + _think(_norm(x), w_in, w_out)


def _no_second_residual(x, w_q, w_k, w_v, w_o, w_in, w_out):
    return _think(_norm(x + _attend(_norm(x), w_q, w_k, w_v, w_o)), w_in, w_out)


def _normed_stream(x, w_q, w_k, w_v, w_o, w_in, w_out):
    x = _norm(x)
    x = _norm(x + _attend(x, w_q, w_k, w_v, w_o))
    return x + _think(x, w_in, w_out)


def _parallel(x, w_q, w_k, w_v, w_o, w_in, w_out):
    y = _norm(x)
    return x + _attend(y, w_q, w_k, w_v, w_o) + _think(y, w_in, w_out)


exercise(
    "transformer-block",
    "block",
    reference=lambda x, w_q, w_k, w_v, w_o, w_in, w_out: _block(x, w_q, w_k, w_v, w_o, w_in, w_out),
    cases=[
        *draws(d=(3, 4, 5, 6, 8), x="... n d", w_q="d k", w_k="d k", w_v="d v", w_o="v d", w_in="d f", w_out="f d",
               lead=[(), (2,), (3,)], seeds=8, large=dict(d=48)),
        *late(*draws(d=(4,), x="... n d", w_q="d k", w_k="d k", w_v="d v", w_o="v d", w_in="d f", w_out="f d", lead=[(2, 3)], seeds=1, large=None)),
        case("tokens far from zero", "Their mean and size should not matter to what the parts see.",
             **{name: {"x": 30 * value + 100, "w_q": 0.3 * value}.get(name, value) for name, value in draws(
                 d=(6,), x="n d", w_q="d k", w_k="d k", w_v="d v", w_o="v d", w_in="d f", w_out="f d", seeds=1, large=None)[0].values.items()}),
        case("scores of several hundreds", "A softmax of large scores must stay finite: torch's takes the largest away first.",
             **{name: 100 * value if name == "w_q" else value for name, value in draws(
                 d=(6,), x="n d", w_q="d k", w_k="d k", w_v="d v", w_o="v d", w_in="d f", w_out="f d", seeds=1, large=None)[0].values.items()}),
    ],
    promises=[gradient("x", "w_q", "w_k", "w_v", "w_o", "w_in", "w_out"), precisions("float64")],
    mistakes=[
        mistake("That is post-norm: the norm comes behind the sum. Here it stands before each part, and the stream itself is never normed.", _post),
        mistake("Nothing is added: each part replaces the stream. Both are added to it.", _bare),
        mistake("Attention replaces the stream. Add it.", _half_bare),
        mistake("The network replaces the stream. Add it.", _no_second_residual),
        mistake("The parts are added to what was normed. Add them to the stream as it came.", _normed_stream),
        mistake("The network should see what attention has added: norm the new stream, not the old one.", _parallel),
        mistake("The values are read from the stream before the norm. Queries, keys and values all read what is normed.", _unnormed_values),
        mistake("There is no norm before attention.", lambda *a: _block(*a, first=_same)),
        mistake("There is no norm before the network.", lambda *a: _block(*a, second=_same)),
        mistake("There is no norm at all.", lambda *a: _block(*a, first=_same, second=_same)),
        mistake("A last norm stands behind the block. It belongs behind the last block only.", lambda *a: _norm(_block(*a))),
        mistake("The scores are not scaled. Divide them by the root of their width.",
                lambda *a: _block(*a, attend=lambda *b: _attend(*b, scale=1.0))),
        mistake("The scores are divided by the root of the tokens' width. Queries have a width of their own.",
                lambda *a: _block(*a, attend=lambda *b: _attend(*b, scale=a[0].shape[-1] ** -0.5))),
        mistake("Later tokens are hidden. In this block every token sees all.",
                lambda *a: _block(*a, attend=lambda *b: _attend(*b, masked=True))),
        mistake("The softmax runs over the queries. Each query's weights sum to 1: it runs over the keys.",
                lambda *a: _block(*a, attend=lambda *b: _attend(*b, dim=-2))),
        mistake("Queries and keys have changed places.", lambda x, q, k, *rest: _block(x, k, q, *rest)),
        mistake("The variance is divided by d − 1. Layer norm divides by d.",
                lambda *a: _block(*a, first=_unbiased, second=_unbiased)),
        mistake("The network is linear: the ReLU between its two products is missing.",
                lambda *a: _block(*a, think=lambda x, w_in, w_out: x @ w_in @ w_out)),
        mistake("The network bends with GELU. Here it bends with ReLU.",
                lambda *a: _block(*a, think=lambda x, w_in, w_out: F.gelu(x @ w_in) @ w_out)),
        mistake("That is RMSNorm. Layer norm subtracts the mean first.",
                lambda *a: _block(*a, first=_by_size, second=_by_size)),
        mistake("The ReLU stands behind the second product. It stands between the two.",
                lambda *a: _block(*a, think=lambda x, w_in, w_out: (x @ w_in @ w_out).relu())),
        mistake("The feed-forward network comes before attention.",
                lambda x, q, k, v, o, w_in, w_out: (y := x + _think(_norm(x), w_in, w_out)) + _attend(_norm(y), q, k, v, o)),
        mistake("The norm runs over the tokens. Each token is normed by itself, over its own numbers.",
                lambda *a: _block(*a, first=lambda x: _norm(x.mT).mT, second=lambda x: _norm(x.mT).mT)),
        mistake("A whole sentence is normed at once. Each token is normed by itself.",
                lambda *a: _block(*a, first=lambda x: F.layer_norm(x, x.shape[-2:]), second=lambda x: F.layer_norm(x, x.shape[-2:]))),
    ],
    praise="Norm, attend, add; norm, work on each token, add: and the stream itself runs through.",
)  # fmt: skip


def _loss(scores: Tensor, ids: Tensor, real: Tensor, *, per_sentence: bool = False) -> Tensor:
    surprise = -scores[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
    counts = real[:, 1:]
    if per_sentence:
        means = (surprise * counts).sum(-1) / counts.sum(-1).clamp(min=1)
        return means[counts.any(-1)].mean()
    return (surprise * counts).sum() / counts.sum()


def _at(scores: Tensor, ids: Tensor, counts: Tensor) -> Tensor:
    """Mean surprise of the words `ids` under the scores that stand at the same places."""
    surprise = -scores.log_softmax(-1).gather(-1, ids[..., None])[..., 0]
    return (surprise * counts).sum() / counts.sum()


def _scores(s, generator: torch.Generator) -> Tensor:
    return torch.randn(s.b, s.n, s.words, generator=generator)


def _ids(s, generator: torch.Generator) -> Tensor:
    return torch.randint(s.words, (s.b, s.n), generator=generator)


def _real(s, generator: torch.Generator) -> Tensor:
    lengths = torch.randint(2, s.n + 1, (s.b, 1), generator=generator)
    lengths[0] = s.n
    return torch.arange(s.n) < lengths


_SIZES = {"b": (2, 3, 4), "n": (5, 6, 7, 8, 9, 10), "words": (11, 12, 13, 14)}
_TWO = torch.tensor([[0.0, 2.0, -1.0], [1.0, 0.0, 3.0]])

exercise(
    "transformer-loss",
    "next_word_loss",
    reference=lambda scores, ids, real: _loss(scores, ids, real),
    cases=[
        *draws(**_SIZES, scores=_scores, ids=_ids, real=_real, seeds=8, large=dict(b=41, n=42, words=43)),
        case("one sentence of two words", "There is one guess in it.", scores=_TWO[None], ids=torch.tensor([[2, 1]]),
             real=torch.ones(1, 2, dtype=torch.bool)),
        case("a sentence of one word beside a longer one", "A single word holds no guess.", scores=torch.stack((_TWO, _TWO + 1)),
             ids=torch.tensor([[2, 1], [0, 1]]), real=torch.tensor([[True, True], [True, False]])),
        case("a row of padding beside a sentence", "A row without words holds no guess.", scores=torch.stack((_TWO, _TWO + 1)),
             ids=torch.tensor([[2, 1], [0, 1]]), real=torch.tensor([[True, True], [False, False]])),
        case("scores of several hundreds", "Every loss must stay finite.", scores=300 * _TWO[None], ids=torch.tensor([[0, 0]]),
             real=torch.ones(1, 2, dtype=torch.bool)),
    ],
    promises=[gradient("scores"), precisions("float64")],
    mistakes=[
        mistake("Each place guesses its own word, which the model has just read. It should guess the next one.",
                lambda scores, ids, real: _at(scores, ids, real)),
        mistake("It is shifted the wrong way: each place guesses the word before it.",
                lambda scores, ids, real: _at(scores[:, 1:], ids[:, :-1], real[:, 1:])),
        mistake("It is shifted the wrong way: each place guesses the word before it.",
                lambda scores, ids, real: _at(scores[:, 1:], ids[:, :-1], real[:, :-1])),
        mistake("The padding counts: its guesses are averaged with the others.",
                lambda scores, ids, real: _at(scores[:, :-1], ids[:, 1:], torch.ones_like(real[:, 1:]))),
        mistake("The last word of a sentence has no next one, yet its guess is counted. A guess counts if the word to be guessed is real.",
                lambda scores, ids, real: _at(scores[:, :-1], ids[:, 1:], real[:, :-1])),
        mistake("The padding is summed out but still counted in the mean.",
                lambda scores, ids, real: _loss(scores, ids, real) * real[:, 1:].sum() / real[:, 1:].numel()),
        mistake("The mean is over all real words. Divide by the number of guesses, which is smaller.",
                lambda scores, ids, real: _loss(scores, ids, real) * real[:, 1:].sum() / real.sum()),
        mistake("One is taken from the count for every row. A row that is all padding has no first word: count `real[:, 1:]`.",
                lambda scores, ids, real: _loss(scores, ids, real) * real[:, 1:].sum() / (real.sum() - len(ids))),
        mistake("It averages each sentence, then the sentences. All guesses count the same: one mean over all.",
                lambda scores, ids, real: _loss(scores, ids, real, per_sentence=True)),
        mistake("The last place wraps round and guesses the first word.",
                lambda scores, ids, real: _at(scores, ids.roll(-1, 1), real.roll(-1, 1))),
        mistake("That is the sum of the surprises. Divide by the number of guesses.",
                lambda scores, ids, real: _loss(scores, ids, real) * real[:, 1:].sum()),
        mistake("The sign is missing: a loss is the mean of minus log p.", lambda *a: -_loss(*a)),
        mistake("The loss is in bits. Use the natural logarithm.", lambda *a: _loss(*a) / math.log(2)),
        mistake("The scores are taken for probabilities. They need a softmax first.",
                lambda scores, ids, real: -(scores[:, :-1].gather(-1, ids[:, 1:, None])[..., 0] * real[:, 1:]).sum() / real[:, 1:].sum()),
        mistake("The softmax runs over the places. It runs over the words.",
                lambda scores, ids, real: -(scores[:, :-1].log_softmax(1).gather(-1, ids[:, 1:, None])[..., 0] * real[:, 1:]).sum() / real[:, 1:].sum()),
    ],
    praise="Each place guesses the word after it; only words that exist are guessed, and all guesses count the same.",
)  # fmt: skip


def _backward(x, g, *, mean=True, radial=True, unbiased=False, outside=False, eps=1e-5, of=None, raw=False):
    centred = x - x.mean(-1, keepdim=True)
    n = x.shape[-1] - unbiased
    variance = centred.square().sum(-1, keepdim=True) / n
    if raw:
        variance = x.square().mean(-1, keepdim=True) - x.mean(-1, keepdim=True).square()
    deviation = variance.sqrt() + eps if outside else (variance + eps).sqrt()
    z = centred / deviation
    back = g
    if mean:
        back = back - g.mean(-1, keepdim=True)
    if radial:
        back = back - (z if of is None else of(x, z)) * (g * z).mean(-1, keepdim=True)
    return back / deviation


exercise(
    "transformer-norm-backward",
    "norm_backward",
    reference=lambda x, g: _backward(x, g),
    cases=[
        *draws(n=..., d=(2, 3, 4, 5, 6, 8, 9), x="... n d", g="... n d", lead=[(), (2,), (3, 2)], seeds=8, large=dict(d=43)),
        case("a token of equal numbers", "Its variance is 0: only the eps under the root is left.",
             x=torch.full((1, 4), 3.0), g=torch.tensor([[1.0, 2.0, 3.0, 5.0]])),
        case("tokens far from zero", x=100 + 10 * torch.linspace(-1, 1, 10).reshape(2, 5), g=torch.linspace(0, 1, 10).reshape(2, 5).square()),
        case("tokens near zero", "eps is as large as the variance there.", x=0.003 * torch.linspace(-1, 1, 10).reshape(2, 5),
             g=torch.linspace(0, 1, 10).reshape(2, 5).square()),
    ],
    promises=[
        precisions("float64"),
        without("Here a few means do it, without autograd and without torch's own backward passes.",
                *AUTOGRAD,  # its Jacobian is symmetric, so forward mode answers too
                "torch._decomp", "torch._refs",  # torch's kernels once more, in Python
                *(f"{kernel}_backward" for kernel in ("native_layer_norm", "native_group_norm", "native_batch_norm"))),
    ],
    mistakes=[
        mistake("It divides by σ and stops there. μ and σ depend on x too, and carry gradient back.", lambda x, g: _backward(x, g, mean=False, radial=False)),
        mistake("The mean depends on x too: its share of the gradient is missing.", lambda x, g: _backward(x, g, mean=False)),
        mistake("The standard deviation depends on x too: its share of the gradient is missing.", lambda x, g: _backward(x, g, radial=False)),
        mistake("The variance is divided by d − 1. LayerNorm divides by d.", lambda x, g: _backward(x, g, unbiased=True)),
        mistake("The variance is the mean square less the square of the mean: right on paper, but where the mean is large, it loses digits. "
                "Subtract the mean first.", lambda x, g: _backward(x, g, raw=True)),
        mistake("The eps under the root is missing, or another: it is 1e-5.", lambda x, g: _backward(x, g, eps=0.0)),
        mistake("The eps stands under the root, beside the variance; it's not added to σ.",
                lambda x, g: _backward(x, g, outside=True)),
        mistake("x and g have changed places.", lambda x, g: _backward(g, x)),
        mistake("It is divided by the variance. One σ is enough.", lambda x, g: _backward(x, g) / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()),
        mistake("It is multiplied by σ. Divide.", lambda x, g: _backward(x, g) * (x.var(-1, keepdim=True, correction=0) + 1e-5)),
        mistake("The last factor should be the normed token, not the token itself.", lambda x, g: _backward(x, g, of=lambda x, z: x)),
        mistake("The share of σ is added. It is taken away.", lambda x, g: 2 * _backward(x, g, radial=False) - _backward(x, g)),
        mistake("That is the forward pass.", lambda x, g: F.layer_norm(x, x.shape[-1:])),
        mistake("It runs over the tokens. Each token is normed by itself, over its own numbers.",
                lambda x, g: _backward(x.mT, g.mT).mT),
    ],
    praise="What comes back has no part along the mean and, but for ε, none along the token itself.",
)  # fmt: skip


def parameters(d_model, n_heads, n_kv_heads, d_head, d_ff, gated, n_layers, vocab_size, tied):
    """The reference: projections and norms without a bias."""
    attention = d_model * d_head * (2 * n_heads + 2 * n_kv_heads)
    layer = attention + (3 if gated else 2) * d_model * d_ff + 2 * d_model
    return n_layers * layer + d_model + vocab_size * d_model * (1 if tied else 2)


def _parameters(**change):
    """The reference with parts of its arguments replaced."""

    def count(d_model, n_heads, n_kv_heads, d_head, d_ff, gated, n_layers, vocab_size, tied):
        given = dict(d_model=d_model, n_heads=n_heads, n_kv_heads=n_kv_heads, d_head=d_head, d_ff=d_ff, gated=gated,
                     n_layers=n_layers, vocab_size=vocab_size, tied=tied)  # fmt: skip
        return parameters(**given | {name: value(given) for name, value in change.items()})

    return count


_SMALL = dict(
    d_model=12, n_heads=3, n_kv_heads=3, d_head=5, d_ff=31, gated=False, n_layers=2, vocab_size=17, tied=False
)
_SMOL = dict(
    d_model=576,
    n_heads=9,
    n_kv_heads=3,
    d_head=64,
    d_ff=1536,
    gated=True,
    n_layers=30,
    vocab_size=49152,
    tied=True,
)

exercise(
    "transformer-parameters",
    "parameters",
    reference=parameters,
    cases=[
        case("width 12, three heads of 5, d_ff 31, two layers, 17 words", **_SMALL),
        case("the same with a gated network", **_SMALL | dict(gated=True)),
        case("the same with one table for reading and guessing", **_SMALL | dict(tied=True)),
        case("six heads that share two key-value heads", **_SMALL | dict(n_heads=6, n_kv_heads=2, d_head=7)),
        case("one layer, one head, one word", **_SMALL | dict(n_heads=1, n_kv_heads=1, n_layers=1, vocab_size=1, tied=True)),
        case("the sizes of SmolLM2-135M", **_SMOL),
        case("the sizes of Llama 3 8B", d_model=4096, n_heads=32, n_kv_heads=8, d_head=128, d_ff=14336, gated=True,
             n_layers=32, vocab_size=128256, tied=False),
        *late(case("94 layers, 64 heads, 48 of them with keys and values", d_model=2048, n_heads=64, n_kv_heads=48, d_head=80, d_ff=6144,
                   gated=True, n_layers=94, vocab_size=151936, tied=True)),
    ],
    mistakes=[
        mistake("The last norm, behind the last layer, is missing.", lambda *a: parameters(*a) - a[0]),
        mistake("The norms are missing: two in each layer, and one behind the last.", lambda *a: parameters(*a) - a[0] * (2 * a[6] + 1)),
        mistake("Each layer has two norms.", lambda *a: parameters(*a) - a[0] * a[6]),
        mistake("These norms have a factor for each number and no bias.", lambda *a: parameters(*a) + a[0] * (2 * a[6] + 1)),
        mistake("The output projection of attention is missing.", lambda *a: parameters(*a) - a[6] * a[0] * a[1] * a[3]),
        mistake("A gated network has three matrices.", _parameters(gated=lambda g: False)),
        mistake("Only a gated network has three matrices.", _parameters(gated=lambda g: True)),
        mistake("Keys and values have n_kv_heads heads, not n_heads.", _parameters(n_kv_heads=lambda g: g["n_heads"])),
        mistake("Heads are d_head wide, which need not be d_model / n_heads.", _parameters(d_head=lambda g: g["d_model"] // g["n_heads"])),
        mistake("Each layer has weights of its own.", _parameters(n_layers=lambda g: 1)),
        mistake("Without tying, reading and guessing have a table each.", _parameters(tied=lambda g: True)),
        mistake("With tying, reading and guessing share one table.", _parameters(tied=lambda g: False)),
        mistake("Tied and not tied are mixed up: tied is one table.", _parameters(tied=lambda g: not g["tied"])),
        mistake("The projections are taken for squares. They lead to heads that are d_head wide, and only n_kv_heads of these have keys and values.",
                _parameters(d_head=lambda g: 1, n_heads=lambda g: g["d_model"], n_kv_heads=lambda g: g["d_model"])),
        mistake("The tables of words are missing.", _parameters(vocab_size=lambda g: 0)),
        mistake("Projections have no bias here.", lambda *a: parameters(*a) + a[6] * (a[3] * (a[1] + 2 * a[2]) + 2 * a[0] + a[4] * (2 if a[5] else 1))),
    ],
    praise="Four projections, two or three matrices, two norms for each layer; a last norm, and the words: once or twice.",
)  # fmt: skip
