"""One step of decoding from latents and turned keys, with nothing expanded."""

import torch
import torch.nn.functional as F

from answers import right, wrong
from attnlab import attention
from attnlab.dot_product import grouped_attention


def parts(q, q_r, c, k_r, U):
    """The score of the contents and that of the places, (n_heads, n) each."""
    return torch.stack([u @ one for u, one in zip(U, q, strict=True)]) @ c.T, q_r @ k_r.T


def step(
    join=lambda content, place, q, q_r, c: (content + place) * (q.shape[1] + q_r.shape[1]) ** -0.5,
    weigh=lambda s: torch.softmax(s, dim=1),
    change=lambda q, q_r, c, k_r, U, V: (q, q_r, c, k_r, U, V),
):
    """Head by head; or with something changed: how scores are joined, how weighed, of what arguments."""

    def answer(*given):
        q, q_r, c, k_r, U, V = change(*given)
        w = weigh(join(*parts(q, q_r, c, k_r, U), q, q_r, c))
        return torch.stack([(w[i] @ c) @ V[i] for i in range(len(q))])

    return answer


def divided(root):
    return step(
        lambda content, place, q, q_r, c: (content + place) / root(q.shape[1], q_r.shape[1], c.shape[1])
    )


right(step(), "head by head")


@right
def one_wide_key(q, q_r, c, k_r, U, V):
    """The package, with what is kept as the one key of all heads."""
    asked = torch.cat(((U @ q[..., None])[..., 0], q_r), -1)
    kept = torch.cat((c, k_r), -1)
    scale = (q.shape[-1] + q_r.shape[-1]) ** -0.5
    return (attention(asked, kept, c, scale=scale)[:, None] @ V)[:, 0]


@right
def as_heads_of_the_package(q, q_r, c, k_r, U, V):
    asked = torch.cat((torch.einsum("hd,hrd->hr", q, U), q_r), -1)[None, :, None]
    kept = torch.cat((c, k_r), -1)[None, None]
    scale = (q.shape[-1] + q_r.shape[-1]) ** -0.5
    found = grouped_attention(asked, kept, kept[..., : c.shape[-1]], scale=scale)
    return (found[0] @ V)[:, 0]


@right
def three_at_a_time(q, q_r, c, k_r, U, V):
    root = (q.shape[-1] + q_r.shape[-1]) ** 0.5
    s = torch.einsum("hd,hrd,nr->hn", q / root, U, c) + (q_r / root) @ k_r.T
    return torch.einsum("hn,nr,hrw->hw", F.softmax(s, -1), c, V)


@right
def the_maximum_by_hand(q, q_r, c, k_r, U, V):
    def weigh(s):
        e = torch.exp(s - s.amax(1, keepdim=True))
        return e / e.sum(1, keepdim=True)

    return step(weigh=weigh)(q, q_r, c, k_r, U, V)


# How.
EXPANDED = wrong("something of each head is made for every token that came before")


@EXPANDED
def keys_and_values(q, q_r, c, k_r, U, V):
    k, v = (torch.einsum("nr,hrd->hnd", c, m) for m in (U, V))
    k = torch.cat((k, k_r.expand(len(q), -1, -1)), -1)
    return attention(torch.cat((q, q_r), -1)[:, None], k, v)[:, 0]


@EXPANDED
def values_alone(q, q_r, c, k_r, U, V):
    content, place = parts(q, q_r, c, k_r, U)
    w = ((content + place) / (q.shape[1] + q_r.shape[1]) ** 0.5).softmax(-1)
    return torch.einsum("hn,hnw->hw", w, c @ V)


@EXPANDED
def keys_alone(q, q_r, c, k_r, U, V):
    s = torch.einsum("hd,hnd->hn", q, c @ U) + q_r @ k_r.T
    w = (s / (q.shape[1] + q_r.shape[1]) ** 0.5).softmax(-1)
    return torch.einsum("hr,hrw->hw", w @ c, V)


@EXPANDED
def a_head_at_a_time(q, q_r, c, k_r, U, V):
    """Never all at once, and all of them nevertheless."""
    out = []
    for i in range(len(q)):
        k = torch.cat((c @ U[i], k_r), -1)
        w = (k @ torch.cat((q[i], q_r[i])) / k.shape[1] ** 0.5).softmax(0)
        out.append(w @ (c @ V[i]))
    return torch.stack(out)


# The scale.
wrong("the root of what is kept of a token")(divided(lambda d, d_r, r: (r + d_r) ** 0.5), "√(r + d_r)")


@wrong("the root of what is kept of a token")
def the_scale_of_the_wide_key(q, q_r, c, k_r, U, V):
    """What attention takes for itself, if nobody says otherwise."""
    asked = torch.cat(((U @ q[..., None])[..., 0], q_r), -1)
    return (attention(asked, torch.cat((c, k_r), -1), c)[:, None] @ V)[:, 0]


wrong("the root of d alone")(divided(lambda d, d_r, r: d**0.5), "√d")
wrong("the root of d_r alone")(divided(lambda d, d_r, r: d_r**0.5), "√d_r")
wrong("It divides by the root of r.")(divided(lambda d, d_r, r: r**0.5), "√r")
wrong("It divides by d + d_r")(divided(lambda d, d_r, r: d + d_r), "no root")
wrong("The scores are not scaled")(step(lambda content, place, *_: content + place), "no scale")
wrong("a root of its own")(
    step(lambda content, place, q, q_r, c: content / q.shape[1] ** 0.5 + place / q_r.shape[1] ** 0.5),
    "two scales",
)

# The two parts of a score.
wrong("The part with positions is missing")(
    step(lambda content, place, q, q_r, c: content / (q.shape[1] + q_r.shape[1]) ** 0.5), "contents alone"
)
wrong("The part with contents is missing")(
    step(lambda content, place, q, q_r, c: place / (q.shape[1] + q_r.shape[1]) ** 0.5), "places alone"
)
wrong("should be")(
    step(lambda content, place, q, q_r, c: content * place / (q.shape[1] + q_r.shape[1]) ** 0.5), "a product"
)
wrong("should be")(
    step(lambda content, place, q, q_r, c: content / (q.shape[1] + q_r.shape[1]) ** 0.5 + place),
    "only contents scaled",
)


@wrong("Both parts have a softmax of their own")
def two_softmaxes(q, q_r, c, k_r, U, V):
    root = (q.shape[1] + q_r.shape[1]) ** 0.5
    w = sum((s / root).softmax(-1) for s in parts(q, q_r, c, k_r, U)) / 2
    return ((w @ c)[:, None] @ V)[:, 0]


# Whose matrices.
wrong("U makes the values too")(
    step(change=lambda q, q_r, c, k_r, U, V: (q, q_r, c, k_r, U, U if U.shape == V.shape else V)), "U twice"
)
wrong("U and V have changed places")(
    step(change=lambda q, q_r, c, k_r, U, V: (q, q_r, c, k_r, *((V, U) if U.shape == V.shape else (U, V)))),
    "V for keys",
)
wrong("All heads use the U of the first")(
    step(change=lambda q, q_r, c, k_r, U, V: (q, q_r, c, k_r, [U[0]] * len(U), V)), "one U"
)
wrong("All heads use the V of the first")(
    step(change=lambda q, q_r, c, k_r, U, V: (q, q_r, c, k_r, U, [V[0]] * len(V))), "one V"
)
wrong("the turned query of the first")(
    step(change=lambda q, q_r, c, k_r, U, V: (q, q_r[0].repeat(len(q), 1), c, k_r, U, V)), "one turned query"
)
wrong("should be")(
    step(change=lambda q, q_r, c, k_r, U, V: (q, q_r.mean(0).repeat(len(q), 1), c, k_r, U, V)),
    "the mean of the turned queries",
)
wrong("should be")(
    step(change=lambda q, q_r, c, k_r, U, V: (q, q_r, c[:-1], k_r[:-1], U, V)), "without itself"
)
wrong("should have shape")(
    lambda q, q_r, c, k_r, U, V: (parts(q, q_r, c, k_r, U)[0]).softmax(-1) @ c, "no V at all"
)

# The softmax.
wrong("The softmax runs over the heads")(step(weigh=lambda s: s.T.softmax(-1).T), "over the heads")


@wrong("exp overflows where scores are large")
def divided_last(q, q_r, c, k_r, U, V):
    """By the sum of the exponentials, behind the mixture."""
    e = ((lambda a, b: a + b)(*parts(q, q_r, c, k_r, U)) / (q.shape[1] + q_r.shape[1]) ** 0.5).exp()
    return torch.einsum("hr,hrw->hw", (e @ c) / e.sum(1, keepdim=True), V)


@wrong("The largest of all scores is taken off")
def less_the_largest_of_all(q, q_r, c, k_r, U, V):
    def weigh(s):
        e = (s - s.max()).exp()
        return e / e.sum(1, keepdim=True)

    return step(weigh=weigh)(q, q_r, c, k_r, U, V)


@wrong("The mean of a row is taken off")
def less_the_mean(q, q_r, c, k_r, U, V):
    def weigh(s):
        e = torch.exp(s - torch.mean(s, 1)[:, None])
        return e / e.sum(1)[:, None]

    return step(weigh=weigh)(q, q_r, c, k_r, U, V)


wrong("in float64")(
    lambda *given: step()(*(x.float() for x in given)).to(given[0].dtype), "single precision inside"
)
