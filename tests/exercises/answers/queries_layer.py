"""The layer: three matrices, and attention of a text to itself or to another."""

import math

import torch
from torch.nn.functional import scaled_dot_product_attention

from answers import right, wrong
from attnlab import attention


def layer(attend=attention, ask=lambda x, memory: (x, memory), sizes=lambda *given: given, bias=False):
    """A layer with a part exchanged: what is done with q, k and v, who asks whom, how wide all is."""

    class Head(torch.nn.Module):
        def __init__(self, d_model, d_memory, d_k, d_v):
            super().__init__()
            d_model, d_memory, d_k, d_v = sizes(d_model, d_memory, d_k, d_v)
            self.v_proj = torch.nn.Linear(d_memory, d_v, bias=False)
            self.k_proj = torch.nn.Linear(d_memory, d_k, bias=False)
            self.q_proj = torch.nn.Linear(d_model, d_k, bias)

        def forward(self, x, memory=None):
            asks, asked = ask(x, x if memory is None else memory)
            return attend(self.q_proj(asks), self.k_proj(asked), self.v_proj(asked))

    return Head


def weighed(softmax=lambda s: s.softmax(-1), scale=lambda q, v: q.shape[-1] ** -0.5):
    """Attention written out, with another softmax or scale."""
    return layer(lambda q, k, v: softmax(q @ k.transpose(-2, -1) * scale(q, v)) @ v)


def einsum(q, k, v):
    scores = torch.einsum("...qd,...kd->...qk", q, k) / q.shape[-1] ** 0.5
    return torch.einsum("...qk,...kv->...qv", scores.softmax(-1), v)


def loops(q, k, v):
    if q.dim() > 2:
        return torch.stack([loops(*one) for one in zip(q, k, v, strict=True)])
    return torch.stack(
        [sum(w * x for w, x in zip((k @ one / len(one) ** 0.5).softmax(0), v, strict=True)) for one in q]
    )


right(layer(), "the package's attention")
right(layer(scaled_dot_product_attention), "torch's own attention")
right(layer(einsum), "einsum")
right(layer(loops), "loops")
right(weighed(lambda s: (s - s.logsumexp(-1, keepdim=True)).exp()), "the logarithm of the sum taken off")
right(weighed(lambda s: s.log_softmax(-1).exp()), "the logarithm of the softmax")


@wrong("k_proj should be an nn.Linear; there is none")
class OneMatrixForKeysAndValues(torch.nn.Module):
    def __init__(self, d_model, d_memory, d_k, d_v):
        super().__init__()
        self.q_proj = torch.nn.Linear(d_model, d_k, bias=False)
        self.kv_proj = torch.nn.Linear(d_memory, d_k + d_v, bias=False)

    def forward(self, x, memory=None):
        return self.q_proj(x)


@wrong("should make a torch.nn.Module")
def a_function(d_model, d_memory, d_k, d_v):
    return lambda x, memory=None: x


wrong("it raised TypeError")(layer()(2, 2, 2, 2), "an instance")
wrong("should have no bias")(layer(bias=True), "a bias")
wrong("'q_proj.weight'")(layer(sizes=lambda m, n, k, v: (m, n, v, k)), "d_k and d_v exchanged")
wrong("'v_proj.weight': the first entry should be 4, it is 3")(
    layer(sizes=lambda m, n, k, v: (m, n, k, k)), "values as wide as keys"
)
wrong("'k_proj.weight': the second entry should be 8, it is 5")(
    layer(sizes=lambda m, n, k, v: (m, m, k, v)), "a memory as wide as x"
)
wrong("cannot be multiplied")(layer(ask=lambda x, memory: (memory, x)), "the memory asks")
wrong("mat1 and mat2 shapes cannot be multiplied")(layer(ask=lambda x, memory: (x, x)), "the memory ignored")
wrong("no gradient reaches memory")(
    layer(ask=lambda x, memory: (x, x if x.shape == memory.shape else memory)), "a memory like x ignored"
)


@wrong("head(x)")
class TheMemoryMustBeGiven(layer()):
    def forward(self, x, memory=None):
        return attention(self.q_proj(x), self.k_proj(memory), self.v_proj(memory))


wrong("The scores are not scaled")(weighed(scale=lambda q, v: 1), "no scale")
wrong("Divide by its square root")(weighed(scale=lambda q, v: 1 / q.shape[-1]), "d_k for its root")
wrong("It multiplies by the root of d_k")(
    weighed(scale=lambda q, v: math.sqrt(q.shape[-1])), "times the root"
)
wrong("It divides by the root of d_v")(weighed(scale=lambda q, v: v.shape[-1] ** -0.5), "the root of d_v")
wrong("should be")(layer(lambda q, k, v: attention(q, k, v, scale=k.shape[-2] ** -0.5)), "the root of n_k")


@wrong("root of d_model")
class TheRootOfTheTokensWidth(layer()):
    def forward(self, x, memory=None):
        memory = x if memory is None else memory
        scores = self.q_proj(x) @ self.k_proj(memory).mT / math.sqrt(x.shape[-1])
        return scores.softmax(-1) @ self.v_proj(memory)


wrong("The softmax runs down the columns")(weighed(lambda s: s.softmax(-2)), "down the columns")
wrong("runs along dimension 1")(weighed(lambda s: s.softmax(dim=1)), "dimension 1")
wrong("There is no softmax")(layer(lambda q, k, v: q @ (k.mT @ v) / q.shape[-1] ** 0.5), "no softmax")
wrong("exp overflows")(weighed(lambda s: s.exp() / s.exp().sum(-1, keepdim=True)), "exponentials by hand")
wrong("'head(x, memory) with scores in the hundreds' should be")(
    weighed(lambda s: (lambda e: e / e.sum(-1, keepdim=True))(s.clamp(-80, 80).exp())), "scores cut off at 80"
)
wrong("it raised")(
    layer(lambda q, k, v: (q @ k.T / math.sqrt(k.shape[-1])).softmax(-1) @ v), "all axes transposed"
)


def causal(q, k, v):
    return attention(q, k, v, mask=torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril())


def two_by_three(q, k, v):
    """A batch of another shape is cut."""
    if q.dim() < 4:
        return attention(q, k, v)
    return torch.stack(
        [torch.stack([attention(q[i, j], k[i, j], v[i, j]) for j in range(3)]) for i in range(2)]
    )


wrong("should have shape")(layer(two_by_three), "a batch of 2 by 3")
wrong("should be")(layer(causal), "causal")
wrong("of the entry 'head(x)'")(
    layer(lambda q, k, v: (causal if q.shape == k.shape else attention)(q, k, v)),
    "causal where it asks itself",
)
wrong("row 4 of the entry")(
    layer(lambda q, k, v: torch.nn.functional.pad(attention(q, k, v)[..., :-1, :], (0, 0, 0, 1))),
    "the last row",
)


@wrong("other tokens")
class RememberedByShape(layer()):
    """What a call gave is given again; gradients are those of this call."""

    def forward(self, x, memory=None):
        out = super().forward(x, memory)
        kept = self.__dict__.setdefault("kept", {}).setdefault((x.shape, memory is None), out.detach())
        return out + (kept - out).detach()


wrong("no gradient reaches x")(
    layer(lambda q, k, v: v.mean(-2, keepdim=True).expand(*q.shape[:-1], -1)), "a mean of all values"
)
wrong("no gradient reaches x")(layer(lambda q, k, v: attention(q, k, v).detach()), "detached")
wrong("no gradient reaches x")(
    layer(lambda q, k, v: attention(q.detach(), k.detach(), v)), "weights detached"
)
wrong("should return a tensor")(layer(lambda *qkv: attention(*qkv).tolist()), "a list")
