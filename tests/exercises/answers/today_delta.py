"""One token for a gated state: all fades, the old answer is taken away, the new one written, then read."""

import torch
import torch.nn.functional as F

from answers import right, wrong
from attnlab.linear import delta_rule, delta_step


def gates(x, w_beta, w_alpha, a):
    return torch.sigmoid(w_beta @ x), torch.exp(-a * F.softplus(w_alpha @ x))


def token(made=gates, one=None):
    """Head by head; or with other gates, or with another step of one head."""

    def answer(x, state, q, k, v, w_beta, w_alpha, a):
        heads = zip(state, q, k, v, *made(x, w_beta, w_alpha, a), strict=True)
        out, states = zip(*((one or step)(*head) for head in heads), strict=True)
        return torch.stack(out), torch.stack(states)

    return answer


def step(S, q, k, v, beta, alpha):
    S = alpha * S
    S = S + beta * torch.outer(k, v - k @ S)
    return q @ S, S


def fades(alpha):
    return token(lambda x, w_beta, w_alpha, a: (torch.sigmoid(w_beta @ x), alpha(w_alpha @ x, a)))


def writes(beta):
    return token(lambda x, w_beta, w_alpha, a: (beta(w_beta @ x), gates(x, w_beta, w_alpha, a)[1]))


right(token(), "head by head")


@right
def the_package(x, state, q, k, v, w_beta, w_alpha, a):
    beta, log_alpha = torch.sigmoid(w_beta @ x), -a * F.softplus(w_alpha @ x)
    return delta_step(q, k, v, beta[:, None], state, log_decay=log_alpha[:, None])


@right
def a_text_of_one_token(x, state, q, k, v, w_beta, w_alpha, a):
    beta, log_alpha = (w_beta @ x).sigmoid(), -a * F.softplus(w_alpha @ x)
    out, state = delta_rule(
        *(t[None, :, None] for t in (q, k, v, beta[:, None])),
        log_decay=log_alpha[None, :, None, None],
        form="recurrent",
        initial_state=state[None],
        return_state=True,
    )
    return out[0, :, 0], state[0]


@right
def a_projection(x, state, q, k, v, w_beta, w_alpha, a):
    """The state is multiplied by a matrix, and the new pair is added."""
    beta, alpha = (g[:, None, None] for g in gates(x, w_beta, w_alpha, a))
    keys = k.unsqueeze(-1)
    turn = torch.eye(k.shape[-1], dtype=k.dtype) - beta * keys @ keys.mT
    state = turn @ (alpha * state) + beta * keys @ v.unsqueeze(-2)
    return (q.unsqueeze(-2) @ state).squeeze(-2), state


@right
def a_power_of_the_sigmoid(x, state, q, k, v, w_beta, w_alpha, a):
    """exp(−softplus(z)) is σ(−z)."""
    z = w_alpha @ x
    alpha = torch.exp(a * F.logsigmoid(-z))
    return token(lambda *_: (1 - torch.sigmoid(-(w_beta @ x)), alpha))(x, state, q, k, v, w_beta, w_alpha, a)


right(lambda *given: list(token()(*given)), "a list")

# How it fades.
wrong("Nothing fades")(fades(lambda z, a: z * 0 + 1), "no α")
wrong("α is the sigmoid of w_alpha · x")(fades(lambda z, a: 1 / (1 + torch.exp(-z))), "a sigmoid")
wrong("a is missing")(fades(lambda z, a: 1 - torch.sigmoid(z)), "no a")
wrong("The state grows")(fades(lambda z, a: torch.exp(a * F.softplus(z))), "no minus")
wrong("by the logarithm of α")(fades(lambda z, a: 0 - F.softplus(z) * a), "no exponential")
wrong("softplus is missing")(fades(lambda z, a: torch.exp(a * -z)), "no softplus")
wrong("relu in the place of softplus")(fades(lambda z, a: torch.exp(-a * z.clamp(min=0))), "relu")
wrong("The exponential in softplus overflows")(
    fades(lambda z, a: (1 + torch.exp(z)) ** -a), "a power of 1 + exp"
)
wrong("α and 1 − α have changed places")(fades(lambda z, a: -torch.expm1(-a * F.softplus(z))), "what goes")
wrong("should be")(fades(lambda z, a: torch.exp(-a.exp() * F.softplus(z))), "a as a logarithm")
wrong("should be")(fades(lambda z, a: torch.exp(-F.softplus(a * z))), "a inside")

# How much is written.
wrong("β is not used")(writes(torch.ones_like), "no β")
wrong("β is w_beta · x itself")(writes(torch.clone), "no sigmoid")
wrong("β is twice the sigmoid")(writes(lambda z: 1 + torch.tanh(z / 2)), "up to 2")
wrong("β and 1 − β have changed places")(writes(lambda z: 1 - torch.sigmoid(z)), "1 − β")
wrong("w_beta and w_alpha have changed places")(
    token(lambda x, w_beta, w_alpha, a: gates(x, w_alpha, w_beta, a)), "weights exchanged"
)
wrong("All heads fade as the first does")(
    token(lambda *given: (gates(*given)[0], [gates(*given)[1][0]] * len(given[1]))), "one α"
)
wrong("All heads write at the rate of the first")(
    token(lambda *given: ([gates(*given)[0][0]] * len(given[1]), gates(*given)[1])), "one β"
)

# The step.
wrong("before it faded")(
    token(one=lambda S, q, k, v, b, g: (lambda T: (q @ T, T))(g * S + b * torch.outer(k, v - k @ S))),
    "asks first",
)


@wrong("What is written fades at once")
def fades_last(*given):
    def one(S, q, k, v, beta, alpha):
        S = alpha * (S + beta * torch.outer(k, v - k @ S))
        return q @ S, S

    return token(one=one)(*given)


def written(change):
    """Another change of the faded state, (S, k, v, β) to what is added."""
    return token(one=lambda S, q, k, v, b, g: (lambda T: (q @ T, T))(g * S + change(g * S, k, v, b)))


wrong("The value is added to what is there")(written(lambda S, k, v, b: b * k[:, None] * v), "added")
wrong("The sign is wrong")(written(lambda S, k, v, b: -b * torch.outer(k, v - k @ S)), "minus")
wrong("β multiplies the value alone")(
    written(lambda S, k, v, b: torch.outer(k, b * v - k @ S)), "β for the value"
)
wrong("β multiplies the old answer alone")(
    written(lambda S, k, v, b: torch.outer(k, v) - b * torch.outer(k, k @ S)), "β for the old answer"
)
wrong("The outer product is transposed")(
    written(
        lambda S, k, v, b: b * (torch.outer(v - k @ S, k) if len(k) == len(v) else torch.outer(k, v - k @ S))
    ),
    "rows for values",
)
wrong("What the key holds is k @ S")(
    written(lambda S, k, v, b: b * torch.outer(k, v - (S @ k if len(k) == len(v) else k @ S))),
    "columns asked",
)
wrong("should be")(written(lambda S, k, v, b: b * torch.outer(k, v - k @ S) - b * S), "all fades by β too")
wrong("should be")(
    token(one=lambda S, q, k, v, b, g: step(S, q, k, v, b * (1 - g), g)), "1 − α for what is new"
)

# What is read and returned.
wrong("The output is q @ S")(
    token(
        one=lambda S, q, k, v, b, g: (lambda T: (T @ q if len(q) == len(v) else q @ T, T))(
            step(S, q, k, v, b, g)[1]
        )
    ),
    "columns read",
)
wrong("before this token has written")(
    token(one=lambda S, q, k, v, b, g: (q @ (S * g), step(S, q, k, v, b, g)[1])), "reads, then writes"
)
wrong("from the state as it came in")(
    token(one=lambda S, q, k, v, b, g: (q @ S, step(S, q, k, v, b, g)[1])), "reads first of all"
)
wrong("The output is what the key finds")(
    token(one=lambda S, q, k, v, b, g: step(S, k, k, v, b, g)), "the key reads"
)
wrong("The state comes first")(lambda *given: token()(*given)[::-1], "the state first")
wrong("The old state is returned")(
    lambda x, state, *rest: (token()(x, state, *rest)[0], state), "the old state"
)
wrong("should be 2 values (output, state), it is a tensor")(
    lambda *given: token()(*given)[1], "the state alone"
)
wrong("should be")(
    lambda x, state, q, k, *rest: token()(x, state, F.normalize(q, dim=-1) * q.shape[-1] ** -0.5, k, *rest),
    "queries scaled as in a layer",
)
wrong("divided by their length")(
    lambda x, state, q, k, *rest: token()(
        x, state, q / q.norm(dim=1, keepdim=True), k / k.norm(dim=1, keepdim=True), *rest
    ),
    "keys and queries normed",
)


@wrong("it changed its argument state in place")
def in_place(x, state, q, k, v, w_beta, w_alpha, a):
    beta, alpha = gates(x, w_beta, w_alpha, a)
    state *= alpha[:, None, None]
    state += torch.einsum("hk,hv->hkv", k, beta[:, None] * (v - torch.einsum("hk,hkv->hv", k, state)))
    return torch.einsum("hk,hkv->hv", q, state), state


wrong("no gradient reaches")(lambda x, state, *rest: token()(x, state.detach(), *rest), "the state detached")
