"""One step of the delta rule: all fades, the old answer is taken away, the new one written."""

import torch

from answers import right, wrong


def write(s, k, v, b, g):
    s = g * s
    return s + b * torch.outer(k, v - k @ s)


right(write, "word for word")
right(lambda s, k, v, b, g: (g * s).addr(k, v - g * s.T @ k, alpha=b), "addr")
right(lambda s, k, v, b, g: write(s, k / k.norm(), v, b, g), "divided by the length")
right(
    lambda s, k, v, b, g: g * s + b * torch.einsum("m,d->md", k, v - g * torch.einsum("m,md->d", k, s)),
    "einsum",
)


@right
def a_projection(s, k, v, b, g):
    return (torch.eye(len(k), dtype=s.dtype) - b * torch.outer(k, k)) @ (g * s) + b * torch.outer(k, v)


@right
def by_rows(s, k, v, b, g):
    return torch.stack([g * row + b * x * (v - g * (k @ s)) for row, x in zip(s, k, strict=True)])


@right
def by_columns(s, k, v, b, g):
    s = g * s
    return torch.stack([s[:, j] + b * (v[j] - k @ s[:, j]) * k for j in range(s.shape[1])], 1)


@wrong("it changed its argument state in place")
def in_place(s, k, v, b, g):
    s *= g
    s += b * torch.outer(k, v - k @ s)
    return s


@wrong("That is the change alone")
def the_change(s, k, v, b, g):
    return b * torch.outer(k, v - k @ (g * s))


wrong("It adds the value to what is there")(lambda s, k, v, b, g: g * s + b * k[:, None] * v, "added")
wrong("Wrong sign")(lambda s, k, v, b, g: 2 * g * s - write(s, k, v, b, g), "the sign lost")
wrong("The outer product is transposed")(
    lambda s, k, v, b, g: g * s + b * (v - k @ (g * s))[:, None] * k, "rows for values"
)
wrong("not state @ k")(lambda s, k, v, b, g: g * s + b * torch.outer(k, v - (g * s) @ k), "columns read")
wrong("The whole state fades once more")(
    lambda s, k, v, b, g: torch.lerp(g * s, torch.outer(k, v), b), "a running mean"
)
wrong("The rate is missing")(lambda s, k, v, b, g: write(s, k, v, 1, g), "no beta")
wrong("beta multiplies the value alone")(
    lambda s, k, v, b, g: write(s, k, b * v, 1, g), "beta for the value alone"
)
wrong("beta multiplies the old answer alone")(
    lambda s, k, v, b, g: g * s + torch.outer(k, v) - b * torch.outer(k, k @ (g * s)),
    "beta for the old answer alone",
)
wrong("writes nothing in its place")(lambda s, k, v, b, g: write(s, k, 0 * v, b, g), "erased")
wrong("The difference goes into every row")(
    lambda s, k, v, b, g: g * s + b * (v - k @ (g * s)), "in every row"
)
wrong("The whole state is replaced")(lambda s, k, v, b, g: k[:, None] * v, "replaced")
wrong("Return the state")(lambda s, k, v, b, g: k @ write(s, k, v, b, g), "what it holds")
wrong("A key points where it points")(lambda s, k, v, b, g: write(s, k.abs(), v, b, g), "the absolute key")
wrong("A key points where it points")(lambda s, k, v, b, g: write(s, k.relu(), v, b, g), "the positive key")
wrong("Use it as it is given")(lambda s, k, v, b, g: write(s, k, v, min(b, 1.0), g), "at most one")
wrong("With a state of 4 by 4, beta = 0.3 and gate = 0.9")(
    lambda s, k, v, b, g: write(s, k, v, max(b, 0.5), g), "at least a half"
)
wrong("should be")(lambda s, k, v, b, g: write(s, k, v, 0.5, g), "always a half")
wrong("beta and 1 - beta have changed places")(
    lambda s, k, v, b, g: (g * s) + (1 - b) * torch.outer(k, v - g * k @ s), "1 - beta"
)
wrong("nothing fades")(lambda s, k, v, b, g: s + b * torch.outer(k, v - k @ s), "no gate")
wrong("before it faded")(lambda s, k, v, b, g: g * s + b * torch.outer(k, v - k @ s), "asks before it fades")
wrong("What is written fades at once")(
    lambda s, k, v, b, g: g * (s + b * torch.outer(k, v - k @ s)), "fades last"
)
wrong("The state fades in the difference alone")(
    lambda s, k, v, b, g: s + b * torch.outer(k, v - k @ (g * s)), "only the answer fades"
)
wrong("gate and 1 - gate have changed places")(
    lambda s, k, v, b, g: (1 - g) * s + b * torch.outer(k, v - (1 - g) * (k @ s)), "1 - gate"
)
wrong("gate and beta have changed places")(
    lambda s, k, v, b, g: write(s, k, v, b=g, g=b), "beta for the gate"
)
wrong("enters with 1 - gate too")(
    lambda s, k, v, b, g: write(s, k, v, b * (1 - g), g), "a share of what is new"
)
wrong("should be")(lambda s, k, v, b, g: write(s, k, v, b, 2.718281828**g), "the gate as a logarithm")
wrong("With gate = 0")(lambda s, k, v, b, g: write(s, k, v, b, g or 1.0), "the gate only where it is not 0")
wrong("With beta = 1 and gate = 1")(
    lambda s, k, v, b, g: write(s, k, v, b, g) if len(k) == len(v) else g * s, "square states alone"
)
wrong("no gradient reaches")(lambda s, k, v, b, g: write(s, k, v, b, g).detach(), "detached")
