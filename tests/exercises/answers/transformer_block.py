"""The pre-norm block: norm, attend, add; norm, work on each token, add."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from answers import right, wrong
from attnlab import attention


def norm(x):
    return F.layer_norm(x, x.shape[-1:])


def by_hand(correction, eps=1e-5):
    def normed(x):
        return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=correction) + eps).sqrt()

    return normed


def attend(y, w_q, w_k, w_v):
    return attention(y @ w_q, y @ w_k, y @ w_v)


def weights(y, w_q, w_k, width=None):
    return (y @ w_q) @ (y @ w_k).mT / math.sqrt(width or w_q.shape[1])


def network(y, w_in, w_out):
    return F.relu(y @ w_in) @ w_out


def block(norm=norm, attend=attend, network=network):
    """Right; or with a part that is not."""

    def answer(x, w_q, w_k, w_v, w_o, w_in, w_out):
        x = x + attend(norm(x), w_q, w_k, w_v) @ w_o
        return x + network(norm(x), w_in, w_out)

    return answer


def by_exponentials(y, w_q, w_k, w_v):
    e = weights(y, w_q, w_k).exp()
    return e / e.sum(-1, keepdim=True) @ y @ w_v


def by_log_sum_exp(y, w_q, w_k, w_v):
    s = weights(y, w_q, w_k)
    return (s - s.logsumexp(-1, keepdim=True)).exp() @ (y @ w_v)


right(block(by_hand(correction=0)), "norm by hand")
right(block(lambda x: nn.LayerNorm(x.shape[-1], dtype=x.dtype)(x)), "a module of torch")
right(block(attend=by_log_sum_exp), "weights by a log-sum-exp")


@right
def loops(x, w_q, w_k, w_v, w_o, w_in, w_out):
    if x.dim() > 2:
        return torch.stack([loops(one, w_q, w_k, w_v, w_o, w_in, w_out) for one in x])
    y, rows = norm(x), []
    keys, values = y @ w_k, y @ w_v
    for i in range(len(x)):
        weights = (torch.stack([y[i] @ w_q @ key for key in keys]) / math.sqrt(w_q.shape[1])).softmax(0)
        row = x[i] + sum(w * value for w, value in zip(weights, values, strict=True)) @ w_o
        rows.append(row + (norm(row) @ w_in).clamp(min=0) @ w_out)
    return torch.stack(rows)


@right
def one_sentence_at_a_time_mapped(x, *w):
    return (
        block()(x, *w)
        if x.dim() == 2
        else torch.func.vmap(lambda one: one_sentence_at_a_time_mapped(one, *w))(x)
    )


@right
def values_and_output_in_one_matrix(x, w_q, w_k, w_v, w_o, w_in, w_out):
    x = x + attend(norm(x), w_q, w_k, w_v @ w_o)
    return x + network(norm(x), w_in, w_out)


@right
def einsum(x, w_q, w_k, w_v, w_o, w_in, w_out):
    y = norm(x)
    s = torch.einsum("...id,de,...jf,fe->...ij", y, w_q, y, w_k) / math.sqrt(w_q.size(1))
    x = x + torch.einsum("...ij,...jd,dv,ve->...ie", s.softmax(-1), y, w_v, w_o)
    return x + network(norm(x), w_in, w_out)


@wrong("That is post-norm")
def post_norm(x, w_q, w_k, w_v, w_o, w_in, w_out):
    x = norm(x + attend(x, w_q, w_k, w_v) @ w_o)
    return norm(x + network(x, w_in, w_out))


@wrong("Nothing is added")
def nothing_added(x, w_q, w_k, w_v, w_o, w_in, w_out):
    return network(norm(attend(norm(x), w_q, w_k, w_v) @ w_o), w_in, w_out)


@wrong("Attention replaces the stream")
def attention_not_added(x, w_q, w_k, w_v, w_o, w_in, w_out):
    x = attend(norm(x), w_q, w_k, w_v) @ w_o
    return x + network(norm(x), w_in, w_out)


@wrong("The network replaces the stream")
def network_not_added(x, w_q, w_k, w_v, w_o, w_in, w_out):
    x = x + attend(norm(x), w_q, w_k, w_v) @ w_o
    return network(norm(x), w_in, w_out)


@wrong("The parts are added to what was normed")
def added_to_the_normed(x, w_q, w_k, w_v, w_o, w_in, w_out):
    x = norm(x)
    x = norm(x + attend(x, w_q, w_k, w_v) @ w_o)
    return x + network(x, w_in, w_out)


@wrong("should be")
def network_added_to_the_normed(x, w_q, w_k, w_v, w_o, w_in, w_out):
    x = norm(x + attend(norm(x), w_q, w_k, w_v) @ w_o)
    return x + network(x, w_in, w_out)


@wrong("norm the new stream, not the old one")
def old_stream(x, w_q, w_k, w_v, w_o, w_in, w_out):
    y = norm(x)
    return x + attend(y, w_q, w_k, w_v) @ w_o + network(y, w_in, w_out)


@wrong("There is no norm before attention")
def attention_not_normed(x, w_q, w_k, w_v, w_o, w_in, w_out):
    x = x + attend(x, w_q, w_k, w_v) @ w_o
    return x + network(norm(x), w_in, w_out)


@wrong("There is no norm before the network")
def network_not_normed(x, w_q, w_k, w_v, w_o, w_in, w_out):
    x = x + attend(norm(x), w_q, w_k, w_v) @ w_o
    return x + network(x, w_in, w_out)


@wrong("row 0 should be")
def keys_and_values_not_normed(x, w_q, w_k, w_v, w_o, w_in, w_out):
    x = x + attention(norm(x) @ w_q, x @ w_k, x @ w_v) @ w_o
    return x + network(norm(x), w_in, w_out)


@wrong("should be")
def values_not_normed(x, w_q, w_k, w_v, w_o, w_in, w_out):
    x = x + attention(norm(x) @ w_q, norm(x) @ w_k, x @ w_v) @ w_o
    return x + network(norm(x), w_in, w_out)


@wrong("should be")
def what_the_parts_find_is_normed_too(x, w_q, w_k, w_v, w_o, w_in, w_out):
    x = x + norm(attend(norm(x), w_q, w_k, w_v) @ w_o)
    return x + norm(network(norm(x), w_in, w_out))


@wrong("The feed-forward network comes before attention")
def network_first(x, w_q, w_k, w_v, w_o, w_in, w_out):
    x = x + network(norm(x), w_in, w_out)
    return x + attend(norm(x), w_q, w_k, w_v) @ w_o


@wrong("should be")
def the_last_token_not_worked_on(x, w_q, w_k, w_v, w_o, w_in, w_out):
    x = x + attend(norm(x), w_q, w_k, w_v) @ w_o
    return torch.cat(((x + network(norm(x), w_in, w_out))[..., :-1, :], x[..., -1:, :]), -2)


@wrong("raised RuntimeError")
def one_axis_of_batches(x, w_q, w_k, w_v, w_o, w_in, w_out):
    if x.dim() == 2:
        return one_axis_of_batches(x[None], w_q, w_k, w_v, w_o, w_in, w_out)[0]
    y = norm(x)
    s = torch.bmm(y @ w_q, (y @ w_k).mT) / w_q.shape[1] ** 0.5
    x = x + torch.bmm(s.softmax(-1), y @ w_v) @ w_o
    return x + network(norm(x), w_in, w_out)


@wrong("gradient")
def mean_and_deviation_detached(x, *w):
    off, size = (
        x.mean(-1, keepdim=True).detach(),
        (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt().detach(),
    )
    return block()(x, *w) - norm(x) + (x - off) / size


wrong("There is no norm at all")(block(lambda x: x), "no norm")
wrong("A last norm stands behind the block")(lambda *a: norm(block()(*a)), "a norm behind it")
wrong("The norm runs over the tokens")(
    block(lambda x: F.layer_norm(x.mT, x.mT.shape[-1:]).mT), "normed along the text"
)
wrong("A whole sentence is normed at once")(
    block(lambda x: F.layer_norm(x, x.shape[-2:])), "sentences normed"
)
wrong("d − 1")(block(by_hand(correction=1)), "divides by d - 1")
wrong("should be")(block(by_hand(correction=0, eps=0.1)), "another eps")
wrong("That is RMSNorm")(block(lambda x: F.rms_norm(x, x.shape[-1:])), "RMS norm")
wrong("The scores are not scaled")(
    block(attend=lambda y, q, k, v: weights(y, q, k, 1).softmax(-1) @ y @ v), "not scaled"
)
wrong("the root of the tokens' width")(
    block(attend=lambda y, q, k, v: weights(y, q, k, y.shape[-1]).softmax(-1) @ y @ v), "scaled by d_model"
)
wrong("should be")(
    block(attend=lambda y, q, k, v: weights(y, q, k, v.shape[1]).softmax(-1) @ y @ v),
    "scaled by the width of values",
)
wrong("Later tokens are hidden")(
    block(attend=lambda y, q, k, v: F.scaled_dot_product_attention(y @ q, y @ k, y @ v, is_causal=True)),
    "causal",
)
wrong("runs over the keys")(
    block(attend=lambda y, q, k, v: weights(y, q, k).softmax(-2) @ y @ v), "softmax over the queries"
)
wrong("changed places")(block(attend=lambda y, q, k, v: attend(y, k, q, v)), "keys for queries")
wrong("several hundreds")(block(attend=by_exponentials), "a softmax that overflows")
wrong("The network is linear")(block(network=lambda y, w_in, w_out: y @ (w_in @ w_out)), "no ReLU")
wrong("The ReLU stands behind the second product")(
    block(network=lambda y, w_in, w_out: F.relu(y @ w_in @ w_out)), "ReLU at the end"
)
wrong("should be")(block(network=lambda *a: network(*a).relu()), "ReLU behind both products")
wrong("bends with GELU")(block(network=lambda y, w_in, w_out: F.gelu(y @ w_in) @ w_out), "GELU")
wrong("should be")(block(network=lambda y, w_in, w_out: F.leaky_relu(y @ w_in) @ w_out), "leaky")
wrong("should be")(lambda x, *w: x + block()(x, *w), "residual twice")
wrong("should be")(
    lambda x, *w: torch.cat((block()(x, *w)[..., :1, :], x[..., 1:, :]), -2), "first token only"
)
wrong("should be")(
    lambda x, *w: block()(x.reshape(-1, x.shape[-1]), *w).reshape(x.shape), "all sentences as one"
)
wrong("in place")(lambda x, *w: x.copy_(block()(x, *w)), "the stream written over")
wrong("tensor")(lambda *a: (block()(*a),), "a tuple")
wrong("in float64")(lambda *a: block()(*(t.float() for t in a)).to(a[0].dtype), "in single precision")
wrong("no gradient reaches")(lambda *a: block()(*(t.detach() for t in a)), "detached")
wrong("gradient")(lambda x, *w: block()(x, *w) - x + x.detach(), "stream detached")
wrong("gradient")(
    block(attend=lambda y, q, k, v: weights(y, q, k).softmax(-1).detach() @ (y @ v)), "weights detached"
)
wrong("gradient")(lambda *a: torch.from_numpy(block()(*(t.detach() for t in a)).numpy()), "in NumPy")
