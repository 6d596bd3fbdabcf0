"""Back through a softmax and its temperature, by hand."""

import math

import numpy as np
import torch

from answers import right, wrong


def through(p, g):
    return p * (g - (p * g).sum(-1, keepdim=True))


def of_temperature(j, s, t, g):
    return -(j * s).sum() / t**2


def both(
    step=through, scores=lambda j, t: j / t, temperature=of_temperature, weights=lambda z: z.softmax(-1)
):
    """Both gradients, by another step through the softmax or another last step."""

    def backward(s, t, g):
        j = step(weights(s / t), g)
        return scores(j, t), temperature(j, s, t, g)

    return backward


def with_temperature(gradient):
    """The scores' gradient is right, the temperature's another one."""
    return both(temperature=gradient)


@right
def in_lists(s, t, g):
    if s.dim() > 1:
        parts = [in_lists(x, t, y) for x, y in zip(s, g, strict=True)]
        return torch.stack([part for part, _ in parts]), sum(part for _, part in parts)
    p, a, b = (s / t).softmax(-1).tolist(), s.tolist(), g.tolist()
    mean = math.fsum(x * y for x, y in zip(p, b, strict=True))
    j = [x * (y - mean) for x, y in zip(p, b, strict=True)]
    slope = -math.fsum(x * y for x, y in zip(j, a, strict=True)) / t**2
    return torch.tensor([x / t for x in j], dtype=s.dtype), slope


@right
def in_numpy(s, t, g):
    a, b = s.numpy(), g.numpy()
    p = np.exp((a - a.max(-1, keepdims=True)) / t)
    p /= p.sum(-1, keepdims=True)
    j = p * (b - (p * b).sum(-1, keepdims=True))
    return torch.from_numpy((j / t).astype(a.dtype)), float(-(j * a).sum() / t**2)


@right
def row_by_row(s, t, g):
    n = s.shape[-1]
    rows = [both()(x, t, y) for x, y in zip(s.reshape(-1, n), g.reshape(-1, n), strict=True)]
    return torch.stack([x for x, _ in rows]).reshape(s.shape), torch.stack([x for _, x in rows]).sum()


@right
def one_entry_at_a_time(s, t, g):
    p, out = (s / t).softmax(-1), torch.empty_like(s)
    for i in range(s.shape[-1]):
        row = -p[..., i : i + 1] * p
        row[..., i] += p[..., i]
        out[..., i] = (row * g).sum(-1)
    return out / t, -(out * s).sum() / t**2


@right
def a_covariance(s, t, g):
    p = (s / t).softmax(-1)
    slope = -((p * s * g).sum(-1) - (p * s).sum(-1) * (p * g).sum(-1)).sum() / t**2
    return both()(s, t, g)[0], slope.item()


@right
def vmap(s, t, g):
    if s.dim() == 1:
        return both()(s, t, g)
    slopes, slope = torch.func.vmap(lambda a, b: vmap(a, t, b))(s, g)
    return slopes, slope.sum()


@right
def through_what_the_softmax_gets(s, t, g):
    z = s / t
    j = through(z.softmax(-1), g)
    return j / t, -(j * z).sum() / t


right(lambda s, t, g: list(both()(s, t, g)), "a list of two")
right(with_temperature(lambda *all: of_temperature(*all)[None]), "a tensor of one number")

wrong("The weighted mean of the gradient is not subtracted")(both(torch.mul), "no mean")
wrong("It subtracts the plain mean")(both(lambda p, g: (g - g.mean(-1, keepdim=True)) * p), "a plain mean")
wrong("It averages p g over the keys once more")(
    both(lambda p, g: p * (g - torch.mean(p * g, -1, True))), "a mean for the sum"
)
wrong("the diagonal of the Jacobian alone")(both(lambda p, g: (p - p**2) * g), "the diagonal")
wrong("The factor p before the bracket is missing")(
    both(lambda p, g: g - torch.einsum("...i,...i", p, g)[..., None]), "no factor p"
)
wrong("The mean is added")(both(lambda p, g: 2 * p * g - through(p, g)), "the mean added")
wrong("The mean runs over more than one row")(
    both(lambda p, g: p * (g - torch.tensordot(p, g, p.dim()))), "one mean for all rows"
)
wrong("it raised RuntimeError")(both(lambda p, g: p * (g - (p * g).sum(-1))), "no keepdim")
wrong("The weights are those at temperature 1")(
    lambda s, t, g: ((j := through(s.softmax(-1), g)) / t, of_temperature(j, s, t, g)), "temperature 1"
)
wrong("The scores are multiplied by the temperature")(
    lambda s, t, g: ((j := through((t * s).softmax(-1), g)) / t, of_temperature(j, s, t, g)), "s T for s/T"
)
wrong("That is the gradient of s/T, what the softmax gets.")(both(scores=lambda j, t: j), "not divided by T")
wrong("What reaches s/T is multiplied by T")(both(scores=torch.mul), "multiplied by T")

wrong("The sign of the temperature's gradient")(
    with_temperature(lambda *all: -of_temperature(*all)), "the temperature's sign"
)
wrong("one T too few")(with_temperature(lambda j, s, t, g: t * of_temperature(j, s, t, g)), "one T too few")
wrong("one T too many")(with_temperature(lambda j, s, t, g: of_temperature(j, s, t, g) / t), "one T too many")
wrong("The division by T² is missing")(with_temperature(lambda j, s, t, g: (-j * s).sum()), "no T")
wrong("The factor s of the temperature's gradient is missing")(
    with_temperature(lambda j, s, t, g: -j.sum() / t**2), "no scores"
)
wrong("taken before the softmax")(
    with_temperature(lambda j, s, t, g: torch.sum(g * -s / t**2)), "before the softmax"
)
wrong("All rows share one temperature, so its gradient is one number")(
    with_temperature(lambda j, s, t, g: (-j * s / t**2).sum(dim=-1)), "a row of temperatures"
)
wrong("the sum over all of them, not the mean")(
    with_temperature(lambda j, s, t, g: of_temperature(j, s, t, g) * s.shape[-1] / s.numel()),
    "a mean over rows",
)
wrong("gradient of the temperature")(
    with_temperature(lambda j, s, t, g: -(j * s / t).sum(0).mean() / t), "the first axis summed"
)
wrong("gradient of the temperature")(
    with_temperature(
        lambda j, s, t, g: of_temperature(*(x.reshape(-1, s.shape[-1])[0] for x in (j, s)), t, g)
    ),
    "the first row's temperature",
)
wrong("should be")(
    with_temperature(
        lambda j, s, t, g: of_temperature(j[:-1], s[:-1], t, g) if s.dim() > 1 else of_temperature(j, s, t, g)
    ),
    "the last row forgotten",
)


@wrong("gradient of the temperature")
def the_temperature_by_differences(s, t, g):
    up, down = ((s / (t + h)).softmax(-1) for h in (0.01, -0.01))
    return both()(s, t, g)[0], ((up - down) / 0.02 * g).sum()


wrong("2 values")(lambda s, t, g: both()(s, t, g)[1], "the temperature alone")
wrong("the gradient of the scores should have shape (9,), it has ()")(
    lambda s, t, g: both()(s, t, g)[::-1], "the temperature first"
)
wrong("two large scores near each other")(
    lambda s, t, g: both()(s.clamp(-20, 20), t, g), "clamped before the softmax"
)
wrong("one score far ahead")(
    both(weights=lambda z: z.exp() / z.exp().sum(-1, keepdim=True)), "naive exponentials"
)
wrong("should be")(lambda s, t, g: both()(s.float(), t, g.float()), "single precision inside")
wrong("in place")(lambda s, t, g: (g.mul_(2), 0.0), "the gradient doubled in place")


@wrong("in place")
def divided_in_place(s, t, g):
    j = through(s.div_(t).softmax(-1), g)
    return j / t, -(j * s).sum() / t


def numpy_matrix(p, g):
    n = p.shape[-1]
    rows = zip(p.numpy().reshape(-1, n), g.numpy().reshape(-1, n), strict=True)
    return torch.from_numpy(np.stack([(np.diag(x) - np.outer(x, x)) @ y for x, y in rows]).reshape(p.shape))


by_numpy_matrix = wrong("it builds a matrix")(both(numpy_matrix), "a matrix in NumPy")


@wrong("it builds a matrix. Multiply out (diag(p) − p pᵀ) g: none is needed.")
def by_the_jacobian(s, t, g):
    p = (s / t).softmax(-1)
    jacobian = torch.diag_embed(p) - p[..., :, None] * p[..., None, :]
    j = (jacobian @ g[..., None])[..., 0]
    return j / t, -(j * s).sum() / t**2


wrong("it builds a matrix")(
    both(lambda p, g: p * ((g[..., :, None] - g[..., None, :]) * p[..., None, :]).sum(-1)), "all differences"
)


def leaves(s, t):
    return s.clone().requires_grad_(), torch.tensor(t, dtype=s.dtype, requires_grad=True)


@wrong("it leaves the work to autograd.")
def autograd_of_the_softmax(s, t, g):
    s, t = leaves(s, t)
    return torch.autograd.grad((s / t).softmax(-1), (s, t), g)


@wrong("it leaves the work to autograd.")
def autograd_of_exponentials(s, t, g):
    s, t = leaves(s, t)
    e = (s / t - (s / t).amax(-1, keepdim=True)).exp()
    return torch.autograd.grad((e / e.sum(-1, keepdim=True) * g).sum(), (s, t))


@wrong("it leaves the work to autograd.")
def backward_called(s, t, g):
    s, t = leaves(s, t)
    (s / t).softmax(-1).backward(g)
    return s.grad, t.grad


@wrong("it leaves the work to autograd.")
def torchs_vjp(s, t, g):
    t = torch.tensor(t, dtype=s.dtype)
    return torch.autograd.functional.vjp(lambda a, b: (a / b).softmax(-1), (s, t), g)[1]
