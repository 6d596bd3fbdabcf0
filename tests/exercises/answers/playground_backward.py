"""Attention's backward pass, by hand."""

import math

import torch

from answers import right, wrong


def through(p, g):
    """Back through the softmax."""
    return p * (g - (p * g).sum(-1, keepdim=True))


def attend_back(
    step=through,
    *,
    softmax=lambda z: z.softmax(-1),
    forward=1.0,
    queries=1.0,
    keys=1.0,
    values=lambda p, slope, v: p.mT @ slope,
):
    """Queries', keys' and values' slopes; `forward`, `queries`, `keys`: powers of the root that divides."""

    def backward(q, k, v, slope):
        root = math.sqrt(q.shape[-1])
        p = softmax(q @ k.mT / root**forward)
        j = step(p, slope @ v.mT)
        return j @ k / root**queries, j.mT @ q / root**keys, values(p, slope, v)

    return backward


@right
def by_the_jacobian(q, k, v, slope):
    root = math.sqrt(q.shape[-1])
    p = (q @ k.mT / root).softmax(-1)
    jacobian = torch.diag_embed(p) - p[..., :, None] * p[..., None, :]
    j = (jacobian @ (slope @ v.mT)[..., None])[..., 0] / root
    return j @ k, j.mT @ q, p.mT @ slope


right(lambda *given: list(attend_back()(*given)), "a list")

wrong("weighted mean of the slopes is not subtracted")(attend_back(torch.mul), "no mean")
wrong("a plain mean is subtracted")(
    attend_back(lambda p, g: p * g - p * g.mean(-1, keepdim=True)), "a plain mean"
)
wrong("diagonal of the softmax's Jacobian alone")(attend_back(lambda p, g: (p - p * p) * g), "the diagonal")
wrong("The factor p of the softmax's backward pass is missing")(
    attend_back(lambda p, g: g - torch.einsum("...ij,...ij->...i", p, g)[..., None]), "no factor p"
)
wrong("runs down the columns")(attend_back(lambda p, g: through(p.mT, g.mT).mT), "down the columns")
wrong("backward pass is left out")(attend_back(lambda p, g: g), "the softmax left out")

wrong("is scaled too")(attend_back(queries=0, keys=0), "scaled forward alone")
wrong("The slope of the keys lacks its 1/√d")(attend_back(keys=0), "keys not scaled")
wrong("The slope of the queries lacks its 1/√d")(attend_back(queries=0), "queries not scaled")
wrong("The scores are not scaled on the way forward")(attend_back(forward=0), "scaled back alone")
wrong("Nothing is scaled")(attend_back(forward=0, queries=0, keys=0), "nothing scaled")
wrong("is divided by d. One root")(attend_back(queries=2, keys=2), "d for its root")

wrong("another order: queries, keys, values")(lambda *given: attend_back()(*given)[::-1], "values first")
wrong("shape")(lambda *given: tuple(attend_back()(*given)[i] for i in (1, 0, 2)), "keys first")
wrong("A value counts as much as its weight")(
    attend_back(values=lambda p, slope, v: (v @ slope.mT) @ slope), "values by the slopes of weights"
)
wrong("overflow")(
    attend_back(softmax=lambda z: z.exp() / z.exp().sum(-1, keepdim=True)), "exponentials by hand"
)


def attend(q, k, v):
    e = q @ k.mT / math.sqrt(q.shape[-1])
    e = (e - e.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True) @ v


@wrong("it leaves the work to autograd")
def autograd_of_an_own_softmax(q, k, v, slope):
    q, k, v = (t.detach().requires_grad_() for t in (q, k, v))
    with torch.enable_grad():
        out = attend(q, k, v)
    return torch.autograd.grad(out, (q, k, v), slope)


wrong("it leaves the work to autograd")(
    lambda q, k, v, slope: torch.func.vjp(attend, q, k, v)[1](slope), "torch's vjp"
)
