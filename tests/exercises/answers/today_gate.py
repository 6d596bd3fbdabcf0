"""A gate behind the heads, made of the tokens that ask."""

import torch
import torch.nn.functional as F

from answers import right, wrong


def gate(x, w, b, heads, squash=torch.sigmoid):
    """(batch, n_heads, n, d or 1), by a product for each head."""
    return torch.stack(
        [squash(F.linear(x, *one)) for one in zip(w.chunk(heads), b.chunk(heads), strict=True)], 1
    )


def squashed(squash):
    return lambda x, heads, w, b: heads * gate(x, w, b, heads.shape[1], squash)


right(squashed(torch.sigmoid), "head by head")
right(squashed(lambda z: 1 / (1 + (-z).exp())), "the sigmoid by hand")


@right
def einsum(x, heads, w, b):
    n_heads = heads.shape[1]
    w, b = w.view(n_heads, -1, w.shape[-1]), b.view(n_heads, 1, -1)
    return heads * (torch.einsum("bnm,hdm->bhnd", x, w) + b).sigmoid()


@right
def rows_repeated(x, heads, w, b):
    """A row for each head is written down for each entry."""
    _, n_heads, n, d = heads.shape
    if len(b) == n_heads:
        w, b = w.repeat_interleave(d, 0), b.repeat_interleave(d)
    return (x @ w.T + b).sigmoid().view(len(x), n, n_heads, d).transpose(1, 2) * heads


@right
def heads_side_by_side(x, heads, w, b):
    """The heads are joined first, as for the output projection, and taken apart again."""
    n_heads = heads.shape[1]
    joined = heads.transpose(1, 2)  # (batch, n, n_heads, d)
    out = joined * torch.sigmoid(F.linear(x, w, b)).unflatten(-1, (n_heads, -1))
    return out.transpose(1, 2)


# Of what it is made.
@wrong("the gate is made of what the heads found")
def of_its_own_output(x, heads, w, b):
    if w.shape[0] == w.shape[1]:
        x = heads.transpose(1, 2).reshape(x.shape)
    return heads * gate(x, w, b, heads.shape[1])


wrong("used the other way round")(
    lambda x, heads, w, b: heads * gate(x, w.T if len(set(w.shape)) == 1 else w, b, heads.shape[1]), "x @ w"
)
wrong("The bias is missing")(lambda x, heads, w, b: heads * gate(x, w, 0 * b, heads.shape[1]), "no bias")
wrong("The bias is taken away")(
    lambda x, heads, w, b: heads * gate(x, w, -b, heads.shape[1]), "minus the bias"
)
wrong("The mean of all tokens gates")(
    lambda x, heads, w, b: heads * gate(x.mean(1, keepdim=True), w, b, heads.shape[1]), "the mean token"
)
wrong("The last token gates all of them")(
    lambda x, heads, w, b: heads * gate(x[:, -1:], w, b, heads.shape[1]), "the last token"
)
wrong("should be")(
    lambda x, heads, w, b: heads * gate(x.roll(1, 1), w, b, heads.shape[1]), "the token before"
)
wrong("should be")(lambda x, heads, w, b: heads * gate(x[:1], w, b, heads.shape[1]), "the first text for all")

# How it is squashed.
wrong("That is a softmax")(
    lambda x, heads, w, b: (
        heads * F.linear(x, w, b).softmax(-1).unflatten(-1, (heads.shape[1], -1)).transpose(1, 2)
    ),
    "softmax",
)
wrong("That is SiLU")(squashed(F.silu), "SiLU")
wrong("That is tanh")(squashed(lambda z: 2 * torch.sigmoid(2 * z) - 1), "tanh")
wrong("The gate has no sigmoid")(squashed(torch.clone), "linear")
wrong("It closes where it should open")(squashed(lambda z: 1 - z.sigmoid()), "turned round")
wrong("should be")(squashed(torch.relu), "relu")
wrong("should be")(squashed(lambda z: (z > 0).to(z.dtype)), "open or closed")
wrong("should be")(squashed(lambda z: 2 * z.sigmoid()), "twice the sigmoid")

# What it does.
wrong("That is the gate")(lambda x, heads, w, b: gate(x, w, b, heads.shape[1]) + 0 * heads, "the gate alone")
wrong("The gate is added")(lambda x, heads, w, b: gate(x, w, b, heads.shape[1]) + heads, "added")
wrong("The gated output is added to the heads")(
    lambda x, heads, w, b: heads * (1 + gate(x, w, b, heads.shape[1])), "a way around"
)
wrong("should have shape")(
    lambda x, heads, w, b: (heads * gate(x, w, b, heads.shape[1])).transpose(1, 2).flatten(2), "joined"
)

# Which number for whom.
wrong("The numbers of several tokens are mixed")(
    lambda x, heads, w, b: heads * F.linear(x, w, b).sigmoid().view(*heads.shape[:3], -1), "view alone"
)
wrong("dealt out to the heads in turn")(
    lambda x, heads, w, b: (
        heads
        * torch.stack(
            [F.linear(x, w[i :: heads.shape[1]], b[i :: heads.shape[1]]) for i in range(heads.shape[1])], 1
        ).sigmoid()
    ),
    "every n_heads-th row",
)


@wrong("A head has one gate for all its entries")
def means(x, heads, w, b):
    return heads * gate(x, w, b, heads.shape[1]).mean(-1, True)


@wrong("should be")
def heads_turned(x, heads, w, b):
    return heads * gate(x, w, b, heads.shape[1]).flip(1)


@wrong("it raised")
def entries_alone(x, heads, w, b):
    """No gate for whole heads."""
    return heads * F.linear(x, w, b).sigmoid().view(len(x), heads.shape[2], *heads.shape[1::2]).transpose(
        1, 2
    )


wrong("no gradient reaches x")(
    lambda x, heads, w, b: heads * gate(x.detach(), w, b, heads.shape[1]), "the tokens detached"
)
