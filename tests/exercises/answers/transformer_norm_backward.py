"""LayerNorm backwards: the gradient less its part along the mean and along the token, over σ."""

import numpy as np
import torch
import torch.nn.functional as F

from answers import right, wrong
from answers._ways import in_a_thread


def norm(x):
    return F.layer_norm(x, x.shape[-1:])


def norm_by_hand(x):
    return (x - x.mean(-1, keepdim=True)) / sigma_of(x)


def mean(x):
    return x.mean(-1, keepdim=True)


def sigma_of(x, correction=0, eps=1e-5):
    return (x.var(-1, keepdim=True, correction=correction) + eps).sqrt()


def backward(x, g, *, sigma=sigma_of, along=lambda z, g: z * mean(g * z)):
    """Right; or with something changed."""
    s = sigma(x)
    z = (x - mean(x)) / s
    return (g - mean(g) - along(z, g)) / s


right(backward, "two means")


@right
def by_the_jacobian(x, g):
    d, s = x.shape[-1], sigma_of(x)
    z = (x - mean(x)) / s
    jacobian = torch.eye(d, dtype=x.dtype) - 1 / d - z[..., :, None] * z[..., None, :] / d
    return (jacobian @ g[..., None])[..., 0] / s


@right
def the_chain_rule_step_by_step(x, g):
    d, centred = x.shape[-1], x - mean(x)
    variance = mean(centred.square()) + 1e-5
    back_variance = -0.5 * (g * centred).sum(-1, keepdim=True) * variance**-1.5
    back_mean = -(g / variance.sqrt()).sum(-1, keepdim=True)
    return g / variance.sqrt() + back_variance * 2 * centred / d + back_mean / d


@right
def loops_in_plain_numbers(x, g):
    def one(x, g):
        d, middle = len(x), sum(x) / len(x)
        s = (sum((entry - middle) ** 2 for entry in x) / d + 1e-5) ** 0.5
        z = [(entry - middle) / s for entry in x]
        along = sum(a * b for a, b in zip(g, z, strict=True)) / d
        return [(b - sum(g) / d - a * along) / s for a, b in zip(z, g, strict=True)]

    rows = zip(x.flatten(0, -2).tolist(), g.flatten(0, -2).tolist(), strict=True)
    return torch.tensor([one(*row) for row in rows], dtype=x.dtype).view(x.shape)


@right
def by_complex_steps(x, g):
    """Nudge each number into the imaginary: exact, and no autograd."""
    columns = []
    for e in torch.eye(x.shape[-1], dtype=torch.float64):
        t = torch.complex(x.double(), 1e-20 * e.expand_as(x))
        t = t - mean(t)
        columns.append(((t / (mean(t * t) + 1e-5).sqrt()).imag * 1e20 * g).sum(-1))
    return torch.stack(columns, -1).to(x.dtype)


@right
def from_the_forward_kernel(x, g):
    z, _, scale = torch.native_layer_norm(x, x.shape[-1:], None, None, 1e-5)
    return scale * (g - mean(g) - z * mean(g * z))


@right
def in_numpy(x, g):
    a, b = x.numpy(), g.numpy()
    s = np.sqrt(a.var(-1, keepdims=True) + 1e-5)
    z = (a - a.mean(-1, keepdims=True)) / s
    return torch.from_numpy((b - b.mean(-1, keepdims=True) - z * (b * z).mean(-1, keepdims=True)) / s)


@wrong("without autograd")
def by_autograd(x, g):
    x = x.detach().requires_grad_()
    with torch.enable_grad():
        return torch.autograd.grad(norm(x), x, g)[0]


wrong("without autograd")(in_a_thread(by_autograd), "autograd in a thread")
wrong("without autograd")(lambda x, g: torch.autograd.functional.vjp(norm, x, g)[1], "autograd's own product")
wrong("without autograd")(lambda x, g: torch.func.vjp(norm, x)[1](g)[0], "torch.func")
wrong("It called make_dual")(
    lambda x, g: torch.func.jvp(norm_by_hand, (x,), (g,))[1], "forward mode, for the Jacobian is symmetric"
)


@wrong("It called run_backward")
def by_the_engine(x, g):
    x = x.detach().requires_grad_()
    run = torch.autograd.Variable._execution_engine.run_backward
    return run((norm_by_hand(x),), (g,), False, False, (x,), allow_unreachable=True, accumulate_grad=False)[0]


@wrong("without torch's own backward passes. (It called native_layer_norm_backward.)")
def by_the_node_of_the_graph(x, g):
    return norm(x.detach().requires_grad_()).grad_fn(g)[0]


@wrong("It called native_layer_norm_backward")
def by_the_kernel(x, g):
    _, middle, scale = torch.native_layer_norm(x, x.shape[-1:], None, None, 1e-5)
    kernel = torch.ops.aten.native_layer_norm_backward
    return kernel(g, x, x.shape[-1:], middle, scale, None, None, [True, False, False])[0]


@wrong("It called native_batch_norm_backward")
def by_batch_norm(x, g):
    """Batch norm over columns, if the tokens are laid on their sides."""
    on_side, above = (one.flatten(0, -2).mT.contiguous() for one in (x, g))
    _, middle, scale = torch.native_batch_norm(on_side, None, None, None, None, True, 0.1, 1e-5)
    rest = (None, None, None, middle, scale, True, 1e-5, [True, False, False])
    return torch.ops.aten.native_batch_norm_backward(above, on_side, *rest)[0].mT.reshape(x.shape)


@wrong("It called torch._decomp")
def torchs_own_in_python(x, g):
    from torch._decomp.decompositions import native_layer_norm_backward

    rest = (list(x.shape[-1:]), mean(x), 1 / sigma_of(x), None, None, [True, False, False])
    return native_layer_norm_backward(g, x, *rest)[0]


@wrong("float64")
def finite_differences(x, g):
    """Nudge each number up and down: the forward pass answers, though only to five digits or so."""
    nudges = 1e-5 * torch.eye(x.shape[-1], dtype=torch.float64)
    columns = [((norm(x.double() + e) - norm(x.double() - e)) * g.double()).sum(-1) / 2e-5 for e in nudges]
    return torch.stack(columns, -1).to(x.dtype)


@wrong("should be")
def by_projection(x, g):
    """Take away what points along the unit vector of x: forgets that eps lets some of it through."""
    unit = F.normalize(x - mean(x), dim=-1)
    g = g - mean(g)
    return (g - unit * (g * unit).sum(-1, keepdim=True)) / sigma_of(x)


@wrong("should be")
def of_rms_norm(x, g):
    size = (mean(x.square()) + 1e-5).sqrt()
    return (g - x * mean(g * x) / size**2) / size


@wrong("The mean depends on x too")
def without_the_mean(x, g):
    z = norm(x)
    return (g - z * (g * z).mean(-1, keepdim=True)) / sigma_of(x)


@wrong("The last factor should be the normed token")
def times_the_token(x, g):
    return (g - mean(g) - x * mean(g * norm(x))) / sigma_of(x)


wrong("It divides by σ and stops there")(lambda x, g: g / sigma_of(x), "only sigma")
wrong("The standard deviation depends on x too")(
    lambda x, g: (g - mean(g)) / sigma_of(x), "without deviation"
)
wrong("The variance is divided by d − 1")(
    lambda x, g: backward(x, g, sigma=lambda x: sigma_of(x, correction=1)), "divided by d - 1"
)
wrong("loses digits. Subtract the mean first")(
    lambda x, g: backward(x, g, sigma=lambda x: (mean(x.square()) - mean(x).square() + 1e-5).sqrt()),
    "the mean square less the square of the mean",
)
wrong("The eps under the root is missing")(
    lambda x, g: backward(x, g, sigma=lambda x: x.std(-1, keepdim=True, correction=0)), "no eps"
)
wrong("not added to σ")(
    lambda x, g: backward(x, g, sigma=lambda x: x.std(-1, keepdim=True, correction=0) + 1e-5),
    "eps beside sigma",
)
wrong("should be")(
    lambda x, g: backward(x, g) * sigma_of(x) / sigma_of(x, eps=1e-6), "eps of 1e-6 in the last division"
)
wrong("changed places")(lambda x, g: backward(g, x), "x for g")
wrong("It is divided by the variance")(lambda x, g: backward(x, g) / sigma_of(x), "divided twice")
wrong("It is multiplied by σ")(
    lambda x, g: (g - mean(g) - norm(x) * mean(g * norm(x))) * sigma_of(x), "times sigma"
)
wrong("The share of σ is added")(lambda x, g: backward(x, g, along=lambda z, g: -z * mean(g * z)), "added")
wrong("should be")(
    lambda x, g: backward(x, g, along=lambda z, g: z * (g * z).sum(-1, keepdim=True)),
    "a sum for the second mean",
)
wrong("should be")(
    lambda x, g: backward(x, g, along=lambda z, g: z * (g * z).mean()), "one sum for all tokens"
)
wrong("should be")(lambda x, g: backward(x, g - g.mean()) + 0.01, "a hundredth too much")
wrong("should be")(
    lambda x, g: backward(x, g) + (mean(g) - g.mean()) / sigma_of(x), "one mean for all tokens"
)
wrong("That is the forward pass")(lambda x, g: norm(x), "forwards")
wrong("It runs over the tokens")(lambda x, g: backward(x.mT, g.mT).mT, "along the text")
wrong("should be")(lambda x, g: -backward(x, g), "signs turned")
wrong("should be")(lambda x, g: g, "g itself")
wrong("should be")(lambda x, g: torch.zeros_like(x), "zero")
wrong("should be")(lambda x, g: F.pad(backward(x, g)[..., :-1], (0, 1)), "the last entry lost")
wrong("should be")(lambda x, g: backward(x, g)[..., :1, :].expand_as(x), "the first token for all")
wrong("in place")(lambda x, g: x.copy_(backward(x, g)), "the argument written over")
wrong("float64")(lambda x, g: backward(x.float(), g.float()).to(x.dtype), "in single precision")
