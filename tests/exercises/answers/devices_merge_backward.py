"""From the gradients of a merge's results to those of its parts."""

import torch

from answers import right, wrong
from attnlab.distributed import merge


def shares(row):
    """Of one query: what each part counts for."""
    if row.isinf().all():
        return torch.zeros_like(row)
    e = torch.exp(row - row.max())
    return e / e.sum()


def by_queries(weigh=shares, to_out=None, to_lse=None, hole=0.0):
    """Query by query. `to_lse` is of the weights, the parts' outputs, the merged one and what comes back."""

    def answer(outs, lses, d_out, d_lse):
        d_outs, d_lses = torch.zeros_like(outs), torch.zeros_like(lses)
        for i in range(outs.shape[1]):
            w, found = weigh(lses[:, i]), torch.where(lses[:, i, None].isinf(), hole, outs[:, i])
            d_outs[:, i] = (to_out or (lambda w, g: torch.outer(w, g)))(w, d_out[i])
            d_lses[:, i] = (to_lse or slopes)(w, found, w @ found, d_out[i], d_lse[i])
        return d_outs, d_lses

    return answer


def slopes(w, found, out, g, of_lse):
    return w * ((found - out) @ g + of_lse)


right(by_queries(), "query by query")


@right
def by_the_jacobian(outs, lses, d_out, d_lse):
    """d w / d lse = diag(w) − w wᵀ."""
    hole = lses.isinf()
    w = torch.where(hole, 0.0, lses.softmax(0))
    held = torch.where(hole[..., None], 0.0, outs)
    jacobian = torch.diag_embed(w.T) - w.T[:, :, None] * w.T[:, None, :]  # (n, parts, parts)
    d_w = torch.einsum("pnd,nd->np", held, d_out)
    return torch.einsum("pn,nd->pnd", w, d_out), torch.einsum("npq,nq->pn", jacobian, d_w) + w * d_lse


@right
def by_the_merged_lse(outs, lses, d_out, d_lse):
    """As a backward pass has it, that kept the results: w = exp(lse_S − lse)."""
    hole = lses.isinf()
    out, lse = merge(list(outs), list(lses))
    w = torch.where(hole, 0.0, (lses - lse).exp())
    inner = (torch.where(hole[..., None], 0.0, outs) * d_out).sum(-1) - (out * d_out).sum(-1)
    return w[..., None] * d_out, w * inner + w * d_lse


@right
def part_by_part(outs, lses, d_out, d_lse):
    lse = torch.logsumexp(lses, 0)
    ws = [torch.where(z.isinf(), torch.zeros_like(z), torch.exp(z - lse)) for z in lses]
    held = [torch.where(z.isinf()[:, None], 0.0, o) for z, o in zip(lses, outs, strict=True)]
    out = sum(w[:, None] * o for w, o in zip(ws, held, strict=True))
    to_lses = [w * (((o - out) * d_out).sum(1) + d_lse) for w, o in zip(ws, held, strict=True)]
    return torch.stack([w[:, None] * d_out for w in ws]), torch.stack(to_lses)


right(lambda *given: list(by_queries()(*given)), "a list")

# What reaches the outputs.
wrong("Every part gets all of the output's gradient")(by_queries(to_out=lambda w, g: g), "no weights")
wrong("should be")(by_queries(to_out=lambda w, g: torch.outer(w * (1 - w), g)), "w (1 − w)")

# What reaches the lses.
wrong("The merged output is not subtracted")(
    by_queries(to_lse=lambda w, o, out, g, z: w * (o @ g + z)), "no out"
)
wrong("The plain mean of the outputs is subtracted")(
    by_queries(to_lse=lambda w, o, out, g, z: w * ((o - sum(o) / len(o)) @ g + z)), "a plain mean"
)
wrong("The sign is wrong")(by_queries(to_lse=lambda w, o, out, g, z: w * (z - (o - out) @ g)), "minus")
wrong("The weights count as constants")(by_queries(to_lse=lambda w, o, out, g, z: w * z), "through the lse")
wrong("The gradient of the merged lse is not used")(
    by_queries(to_lse=lambda w, o, out, g, z: w * ((o - out) @ g)), "through the output"
)
wrong("The gradient of the merged lse reaches every part whole")(
    by_queries(to_lse=lambda w, o, out, g, z: w * ((o - out) @ g) + z), "z to everybody"
)
wrong("The weight is missing from the gradient of the lses")(
    by_queries(to_lse=lambda w, o, out, g, z: (o - out) @ g + z), "no weight"
)
wrong("Half of it is missing")(
    by_queries(to_lse=lambda w, o, out, g, z: (o - out) @ g + w * z), "half a weight"
)
wrong("Over the entries of the output a mean is taken")(
    by_queries(to_lse=lambda w, o, out, g, z: w * (((o - out) * g).mean(1) + z)), "a mean over d"
)
wrong("should be")(by_queries(to_lse=lambda w, o, out, g, z: w * ((o - out) @ g + z + 1)), "1 too many")
wrong("should be")(
    by_queries(to_lse=lambda w, o, out, g, z: w * (1 - w) * (o @ g) + w * z), "the diagonal alone"
)

# The weights.


@wrong("The weights run over the queries")
def over_queries(outs, lses, d_out, d_lse):
    w = torch.softmax(lses, 1)
    held = torch.where(lses.isinf()[..., None], 0.0, outs)
    to_lses = (held - torch.einsum("pn,pnd->nd", w, held)) * d_out
    return w[..., None] * d_out, w * (to_lses.sum(2) + d_lse)


wrong("All parts count alike")(
    by_queries(lambda row: torch.full_like(row, 1 / len(row))), "one weight for all"
)
wrong("exp(lse) is made before anything is taken off")(
    by_queries(lambda row: row.exp() / row.exp().sum()), "plain exponentials"
)


def in_double(row):
    """No number of single precision overflows here."""
    e = row.double().exp()
    return torch.zeros_like(row) if row.isinf().all() else (e / e.sum()).to(row)


wrong("In double precision, too, their exponentials are infinite")(by_queries(in_double), "in double")
for low in (-100.0, -1e4):
    wrong("no number of your own can stand for −∞")(
        lambda outs, lses, d_out, d_lse, low=low: by_queries(
            lambda row: torch.where(row.isinf(), low, row).softmax(0) * ~row.isinf()
        )(outs, lses, d_out, d_lse),
        f"an empty part at {low:,.0f}",
    )
wrong("What an empty part holds goes through")(
    lambda outs, lses, d_out, d_lse: (
        by_queries()(outs, lses, d_out, d_lse)[0],
        torch.stack([
            slopes(w, outs[:, i], w @ outs[:, i], d_out[i], d_lse[i])
            for i, w in enumerate(map(shares, lses.T))
        ], 1),
    ),
    "NaN times 0",
)  # fmt: skip
wrong("Where no part has a key, −∞ − (−∞) makes NaN")(
    by_queries(lambda row: torch.softmax(row, 0)), "no thought of empty rows"
)
wrong("gradients reach the parts all the same")(
    by_queries(lambda row: torch.softmax(row if row.max() > -torch.inf else torch.zeros_like(row), 0)),
    "nothing as everything",
)


@wrong("Nothing is done about empty parts")
def plain_formulas(outs, lses, d_out, d_lse):
    w = lses.softmax(0)[..., None]
    out = (w * outs).sum(0)
    return w * d_out, (w * (outs - out) * d_out).sum(-1) + w[..., 0] * d_lse


# How, and what is returned.
@wrong("it leaves the work to autograd")
def autograd(outs, lses, d_out, d_lse):
    given = outs.requires_grad_(), lses.requires_grad_()
    return torch.autograd.grad(merge(*map(list, given)), given, (d_out, d_lse))


wrong("The gradient of the lses comes first")(lambda *given: by_queries()(*given)[::-1], "the lses first")
wrong("should be a tensor")(lambda *given: by_queries()(*given)[0], "the outputs alone")


@wrong("it changed its argument outs in place")
def in_place(outs, lses, d_out, d_lse):
    outs[lses.isinf()] = 0.0
    return by_queries()(outs, lses, d_out, d_lse)
