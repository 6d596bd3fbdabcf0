"""The layer of several heads: of a text or two, under a mask for all heads or one for each."""

import math

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from answers import right, wrong
from attnlab import MultiHeadAttention, attention


@right
class Heads(nn.Module):
    """What follows changes one thing."""

    def __init__(self, d_model, d_memory, n_heads, d_head, bias=False):
        super().__init__()
        self.n_heads, width = n_heads, n_heads * d_head
        self.q_proj = nn.Linear(d_model, width, bias=False)
        self.k_proj, self.v_proj = (nn.Linear(d_memory, width, bias=False) for _ in range(2))
        self.out_proj = nn.Linear(width, d_model, bias=bias)

    def cut(self, t):
        return t.unflatten(-1, (self.n_heads, -1)).transpose(-3, -2)

    def root(self, q):
        return q.shape[-1] ** 0.5

    def hide(self, scores, mask):
        return scores if mask is None else scores.masked_fill(~mask, -math.inf)

    def weigh(self, scores, mask):
        return self.hide(scores, mask).softmax(-1)

    def attend(self, q, k, v, mask):
        return self.weigh(q @ k.mT / self.root(q), mask) @ v

    def join(self, out):
        return out.transpose(-3, -2).flatten(-2)

    def forward(self, x, memory=None, mask=None):
        memory = x if memory is None else memory
        q, k, v = (self.cut(t) for t in (self.q_proj(x), self.k_proj(memory), self.v_proj(memory)))
        return self.mix(self.join(self.attend(q, k, v, mask)))

    def mix(self, joined):
        return self.out_proj(joined)


def but(**methods):
    return type("Heads", (Heads,), methods)


def attending(attend):
    """With another attention, a function of (q, k, v, mask)."""
    return but(attend=lambda self, *given: attend(*given))


def under(change):
    """With another mask, where there is one."""
    return but(hide=lambda self, s, mask: Heads.hide(self, s, mask if mask is None else change(mask)))


def of_sizes(change):
    return lambda *sizes: Heads(*change(*sizes))


@right
class AsASum(Heads):
    """A loop over slices of the matrices; what each head says is added up."""

    def forward(self, x, memory=None, mask=None):
        memory, out = x if memory is None else memory, 0
        parts = [p.weight.T.chunk(self.n_heads, -1) for p in (self.q_proj, self.k_proj, self.v_proj)]
        parts.append(self.out_proj.weight.T.chunk(self.n_heads, 0))
        for i, (q, k, v, o) in enumerate(zip(*parts, strict=True)):
            s = (x @ q) @ (memory @ k).mT / q.shape[-1] ** 0.5
            if mask is not None:
                s = s.masked_fill(~(mask if mask.dim() == 2 else mask[..., i, :, :]), -math.inf)
            out = out + s.softmax(-1) @ (memory @ v) @ o
        return out


@right
class Stacked(Heads):
    """Chunks, stacked in front."""

    def forward(self, x, memory=None, mask=None):
        memory = x if memory is None else memory
        parts = self.q_proj(x), self.k_proj(memory), self.v_proj(memory)
        q, k, v = (torch.stack(part.chunk(self.n_heads, -1), -3) for part in parts)
        return self.out_proj(torch.cat(attention(q, k, v, mask=mask).unbind(-3), -1))


@right
class Einsum(Heads):
    def forward(self, x, memory=None, mask=None):
        memory, h = x if memory is None else memory, self.n_heads
        w_q, w_k, w_v = (p.weight.unflatten(0, (h, -1)) for p in (self.q_proj, self.k_proj, self.v_proj))
        s = torch.einsum("...qm,hdm,hdw,...kw->...hqk", x, w_q, w_k, memory) / w_q.shape[1] ** 0.5
        s = s if mask is None else torch.where(mask, s, -math.inf)
        w_o = self.out_proj.weight.unflatten(1, (h, -1))
        return torch.einsum("...hqk,...kw,hdw,mhd->...qm", s.softmax(-1), memory, w_v, w_o)


def zeros_and_a_division(s, mask, off=lambda s: s.amax(-1, keepdim=True)):
    e = (s - off(s)).exp() if mask is None else (s - off(s)).exp() * mask
    return e / e.sum(-1, keepdim=True)


right(attending(lambda q, k, v, mask: attention(q, k, v, mask=mask)), "the package's attention")
right(attending(scaled_dot_product_attention), "torch's own attention")
right(but(weigh=lambda self, *given: zeros_and_a_division(*given)), "zeros and a division")
right(
    but(hide=lambda self, s, mask: s + (0.0 if mask is None else torch.where(mask, 0.0, -1e30))),
    "a mask to be added",
)
right(but(hide=lambda self, s, mask: s if mask is None else s.masked_fill(~mask, -1e9)), "a fill of -1e9")
right(
    but(weigh=lambda self, s, mask: self.hide(s, mask).log_softmax(-1).exp()), "the logarithm of the softmax"
)
right(under(lambda mask: mask.view(-1).view(mask.shape)), "the mask as one row and back")

# What is made.
wrong("should make a torch.nn.Module")(lambda d_model, d_memory, n_heads, d_head: torch.zeros(2), "a tensor")
wrong("a ready-made layer does the work")(
    lambda m, k, h, d: nn.MultiheadAttention(h * d, h, bias=False, batch_first=True), "torch's layer"
)


@wrong("a ready-made layer does the work")
class ThePackagesLayer(MultiHeadAttention):
    def __init__(self, d_model, d_memory, n_heads, d_head):
        super().__init__(d_model, n_heads, d_head=d_head, bias=False)


wrong("should have no bias")(lambda *sizes: Heads(*sizes, bias=True), "a bias")
wrong("'q_proj.weight'")(of_sizes(lambda m, k, h, d: (k, m, h, d)), "model and memory exchanged")
wrong("'q_proj.weight'")(of_sizes(lambda m, k, h, d: (m, k, h, m // h or 1)), "heads of the model's width")
wrong("With d_model")(of_sizes(lambda m, k, h, d: (m, k, d, h)), "heads exchanged with their width")
wrong("With d_model")(of_sizes(lambda m, k, h, d: (m, k, 1, h * d)), "one head")

# Cut and joined.
wrong("Heads and tokens are mixed on the way in")(
    but(cut=lambda self, t: t.reshape(*t.shape[:-2], self.n_heads, t.shape[-2], -1)), "a reshape"
)
wrong("it got columns that lie n_heads apart")(
    but(cut=lambda self, t: torch.stack([t[..., h :: self.n_heads] for h in range(self.n_heads)], -3)),
    "every n_heads-th column",
)
wrong("it raised")(
    but(cut=lambda self, t: t.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)),
    "the first axis is the batch",
)
wrong("without moving them back")(
    but(join=lambda self, out: out.reshape(*out.shape[:-3], out.shape[-2], -1)), "joined too early"
)
wrong("The heads are interleaved when they are joined")(
    but(join=lambda self, out: torch.stack(out.unbind(-3), -1).flatten(-2)), "interleaved"
)


wrong("no gradient reaches out_proj")(
    but(mix=lambda self, joined: torch.nn.functional.pad(joined, (0, 9))[..., : self.out_proj.out_features]),
    "not mixed",
)

# Scale, softmax, mask.
wrong("The scores are not scaled")(but(root=lambda self, q: 1), "no scale")
wrong("It divides by d_head")(but(root=lambda self, q: q.shape[-1]), "d_head for its root")
wrong("It divides by the root of d_model")(
    but(root=lambda self, q: math.sqrt(self.q_proj.in_features)), "the root of d_model"
)
wrong("It divides by the root of the whole width")(
    but(root=lambda self, q: math.sqrt(self.q_proj.out_features)), "the root of the whole width"
)
wrong("There is no softmax")(but(weigh=lambda self, s, mask: s), "no softmax")
wrong("The softmax runs down the columns")(
    but(weigh=lambda self, s, mask: self.hide(s, mask).softmax(-2)), "down the columns"
)
wrong("exp overflows")(
    but(weigh=lambda self, s, mask: zeros_and_a_division(s, mask, off=lambda s: 0.0)), "exponentials by hand"
)
wrong("'heads(x, memory) with scores in the hundreds' should be")(
    but(weigh=lambda self, s, mask: zeros_and_a_division(s.clamp(-80, 80), mask, off=lambda s: 0.0)),
    "scores cut off at 80",
)
wrong("The mask is not used")(but(hide=lambda self, s, mask: s), "the mask forgotten")
wrong("the wrong way round")(under(torch.logical_not), "the mask inverted")
wrong("the wrong way round")(
    attending(lambda q, k, v, mask: attention(q, k, v, mask=mask if mask is None else ~mask)),
    "the mask inverted, rows of zeros",
)
wrong("it changed its argument mask in place")(
    under(lambda mask: ~mask.logical_not_()), "the mask inverted in place"
)
wrong("The mask comes after the softmax")(
    but(weigh=lambda self, s, mask: s.softmax(-1) * (1 if mask is None else mask)), "masked after the softmax"
)
wrong("Where the mask is False the scores become 0")(
    but(hide=lambda self, s, mask: s if mask is None else s * mask), "hidden scores are 0"
)
wrong("not low enough")(
    but(hide=lambda self, s, mask: s if mask is None else s.masked_fill(~mask, -50.0)), "a fill of -50"
)
wrong("it raised")(under(lambda mask: mask.mT), "the mask turned")
wrong("should be")(
    under(lambda mask: mask if mask.dim() == 2 else mask[..., :1, :, :]), "the first head's mask"
)
wrong("should be")(
    under(lambda mask: mask if mask.dim() < 4 else mask[:1].expand_as(mask)), "the first sentence's mask"
)


@wrong("with other numbers")
class RememberedByShape(Heads):
    """What a call gave is given again; gradients are those of this call."""

    def forward(self, x, memory=None, mask=None):
        out = super().forward(x, memory, mask)
        kept = self.__dict__.setdefault("kept", {}).setdefault(
            (x.shape, out.dtype, mask is None), out.detach()
        )
        return out + (kept - out).detach()


@wrong("with other numbers")
class TheFirstMaskOfAShape(Heads):
    def hide(self, scores, mask):
        if mask is None:
            return scores
        self.masks = getattr(self, "masks", {})
        return super().hide(scores, self.masks.setdefault(mask.shape, mask))


@wrong("4 and 9 tokens, (2,) in front, no mask")
class TheLastMaskWhereThereIsNone(Heads):
    def hide(self, scores, mask):
        last = self.__dict__.get("last")
        if mask is None and last is not None and last.shape[-2:] == scores.shape[-2:]:
            mask = last
        self.__dict__["last"] = last if mask is None else mask
        return super().hide(scores, mask)


@wrong("should be")
class AlwaysCausal(Heads):
    def hide(self, scores, mask):
        return super().hide(scores, torch.ones(scores.shape[-2:]).tril().bool())


# Who asks whom.
def up_to(most):
    """Keys up to some place."""
    return attending(
        lambda q, k, v, mask: attention(
            q, k[..., :most, :], v[..., :most, :], mask=mask if mask is None else mask[..., :most]
        )
    )


wrong("it raised")(
    but(forward=lambda self, x, memory=None, mask=None: Heads.forward(self, x, x, mask)), "no memory"
)
wrong("should be")(up_to(6), "six keys")
wrong("3 and 40 tokens")(up_to(9), "nine keys")
wrong("should")(
    attending(lambda q, k, v, mask: attention(q[..., :1, :, :], k, v, mask=mask)), "the first head asks"
)


@wrong("no gradient reaches memory")
class AMemoryOfXsShapeIgnored(Heads):
    def forward(self, x, memory=None, mask=None):
        same = memory is not None and memory.shape == x.shape
        return super().forward(x, x if same else memory, mask)


@wrong("should be")
class Residual(Heads):
    def forward(self, x, memory=None, mask=None):
        return x + super().forward(x, memory, mask)


wrong("should be")(
    but(join=lambda self, out: torch.nn.functional.pad(Heads.join(self, out)[..., :-1, :], (0, 0, 0, 1))),
    "the last row forgotten",
)
wrong("no gradient reaches")(but(join=lambda self, out: Heads.join(self, out).detach()), "detached")
wrong("no gradient reaches")(
    but(attend=lambda self, q, k, v, mask: Heads.attend(self, q, k, v.detach(), mask)), "values detached"
)
wrong("it raised")(
    attending(lambda q, k, v, mask: torch.from_numpy(attention(q, k, v, mask=mask).numpy())), "in NumPy"
)


@wrong("it raised AssertionError: too loud")
class Asserts(Heads):
    def forward(self, x, memory=None, mask=None):
        assert x.abs().max() < 8, "too loud"
        return super().forward(x, memory, mask)


@wrong("after heads.double()")
class SingleAlone(Heads):
    def forward(self, x, memory=None, mask=None):
        out = super().forward(x.float(), memory if memory is None else memory.float(), mask)
        assert out.dtype == torch.float32
        return out
