"""A recurrence with gates in O(log n) steps."""

import math

import torch
import torch.nn.functional as F

from answers import right, wrong


def back(x, step, value=0.0):
    return F.pad(x, (0, 0, step, 0), value=value)[: len(x)]


def rounds(hear=None, join=None, further=lambda step: 2 * step, goes_on=lambda step, n: step < n):
    """Right; or with something changed: `hear` and `join` take a token's own and what stood `step` before."""

    def recurrence(a, x):
        a, step = a[:, None], 1
        while goes_on(step, len(x)):
            old, gate = back(x, step), back(a, step)
            new = a * gate if join is None else join(a, gate, step)
            x = x + (a * old if hear is None else hear(a, gate, old, step))
            a, step = new, further(step)
        return x

    return recurrence


def token_by_token(add, gate=lambda a, i: a[i]):
    def recurrence(a, x):
        h, states = torch.zeros_like(x[0]), []
        for i in range(len(x)):
            h = add(gate(a, i), h, x[i])
            states.append(h)
        return torch.stack(states)

    return recurrence


def walk_over(size):
    """A few rounds of doubling, then n/size steps one after the other."""

    def recurrence(a, x):
        gates, step = a[:, None], 1
        while step < size:
            x, gates = x + gates * back(x, step), gates * back(gates, step, 1.0)
            step *= 2
        h, out = torch.zeros(size, x.shape[1], dtype=x.dtype), []
        for i in range(0, len(x), size):
            h = x[i : i + size] + gates[i : i + size] * h[: len(x) - i]
            out.append(h)
        return torch.cat(out)

    return recurrence


right(rounds(), "by doubling")


@right
def odd_and_even(a, x):
    """Join neighbours, solve for every other token, and fill in the rest."""
    n = len(x)
    if n == 1:
        return x
    whole, gates = n // 2 * 2, a[:, None]
    odd = odd_and_even(a[1:whole:2] * a[:whole:2], x[1:whole:2] + gates[1:whole:2] * x[:whole:2])
    before = torch.cat((torch.zeros_like(x[:1]), odd))[: (n + 1) // 2]
    even = x[::2] + gates[::2] * before
    out = torch.empty_like(x).index_copy(0, torch.arange(0, n, 2), even)
    return out.index_copy(0, torch.arange(1, n, 2), odd)


@wrong("such as a table of n × n numbers")
def table(a, x):
    n = len(a)
    gates = a[:, None].expand(n, n).masked_fill(~torch.ones(n, n).tril(-1).bool(), 1.0)
    return gates.cumprod(0).tril() @ x


@wrong("too many steps one after the other")
def one_call_each(a, x):
    h, states = torch.zeros_like(x[0]), []
    for i in range(len(x)):
        h = torch.addcmul(x[i], a[i], h)
        states.append(h)
    return torch.stack(states)


@wrong("too many steps")
def by_halves_one_after_the_other(a, x):
    """The chain is short, but its pieces are computed in turn: as many calls as tokens."""
    if len(x) == 1:
        return x
    half = len(x) // 2
    first, second = (
        by_halves_one_after_the_other(a[:half], x[:half]),
        by_halves_one_after_the_other(a[half:], x[half:]),
    )
    return torch.cat((first, second + a[half:].cumprod(0)[:, None] * first[-1]))


@wrong("With 16,384 tokens: it takes too many steps")
def columns_then_carries(a, x):
    """The text as a square: its columns in turn, all rows at once, then what each row hands on."""
    n, d = x.shape
    wide = math.isqrt(n - 1) + 1
    high = -(-n // wide)
    gates = F.pad(a, (0, high * wide - n)).view(high, wide, 1)
    inputs = F.pad(x, (0, 0, 0, high * wide - n)).view(high, wide, d)
    states, joined, carried = [inputs[:, 0]], [gates[:, 0]], [torch.zeros_like(x[0])]
    for j in range(1, wide):
        states.append(torch.addcmul(inputs[:, j], gates[:, j], states[-1]))
        joined.append(gates[:, j] * joined[-1])
    states, joined = torch.stack(states, 1), torch.stack(joined, 1)
    for row in range(high - 1):
        carried.append(torch.addcmul(states[row, -1], joined[row, -1], carried[-1]))
    return (states + joined * torch.stack(carried)[:, None]).reshape(-1, d)[:n]


@right
def down_and_up(a, x):
    """Join neighbours until one is left, and hand back what stood before each, for padded lengths."""

    def joined(gates, x):
        if len(x) == 1:
            return gates, x
        both = gates[1::2] * gates[::2], x[1::2] + gates[1::2] * x[::2]
        gate, heard = joined(*both)
        gate_before, heard_before = back(gate, 1, 1.0), back(heard, 1)
        even = gates[::2] * gate_before, x[::2] + gates[::2] * heard_before
        return (torch.stack(two, 1).flatten(0, 1) for two in zip(even, (gate, heard), strict=True))

    room = 2 ** (len(x) - 1).bit_length() - len(x)
    return list(joined(F.pad(a, (0, room))[:, None], F.pad(x, (0, 0, 0, room))))[1][: len(x)]


@wrong("nothing may be divided by it")
def divided_by_products(a, x):
    gates = a.cumprod(0)[:, None]
    return gates * (x / gates).cumsum(0)


@wrong("should be")
def by_logarithms(a, x):
    sums = a.clamp_min(1e-30).log().cumsum(0)[:, None]
    return sums.exp() * (x * (-sums).exp()).cumsum(0)


@wrong("row 0 should be")
def the_last_ones_heard_by_the_first(a, x):
    a, step = a[:, None], 1
    while step < len(x):
        x, a, step = x + a * x.roll(step, 0), a * a.roll(step, 0), 2 * step
    return x


@wrong("no gradient reaches a")
def in_numpy(a, x):
    h, states = 0.0, []
    for gate, token in zip(a.detach().numpy(), x.detach().numpy(), strict=True):
        h = gate * h + token
        states.append(torch.from_numpy(h))
    return torch.stack(states)


wrong("too many steps")(token_by_token(lambda g, h, x: g * h + x), "token by token")
wrong("too many steps")(walk_over(4), "n/4 steps")
wrong("too many steps")(walk_over(8), "n/8 steps")
wrong("2,048 tokens")(rounds(goes_on=lambda step, n: step < 16), "four rounds")
wrong("2,048 tokens")(rounds(goes_on=lambda step, n: step < 512), "nine rounds")
wrong("16,384 tokens")(rounds(goes_on=lambda step, n: step < 2048), "eleven rounds")
wrong("It stops too early")(rounds(goes_on=lambda step, n: 2 * step < n), "one round too few")
wrong("double the step, do not add one")(rounds(further=lambda step: step + 1), "steps of 1, 2, 3")
wrong("The gates are not joined")(rounds(join=lambda a, gate, step: a), "gates not joined")
wrong("its own squared")(rounds(join=lambda a, gate, step: a**2), "gates squared")
wrong("its own squared")(
    rounds(lambda a, gate, old, step: a**step * old, join=lambda a, gate, step: a), "powers of one gate"
)
wrong("It takes the gate as it was before the round")(
    rounds(lambda a, gate, old, step: a * gate * old), "the joined gate too soon"
)
wrong("the gate of the token it comes to")(
    rounds(lambda a, gate, old, step: gate * old), "the gate of the other"
)
wrong("The gates are not used")(lambda a, x: torch.cumsum(x, 0), "a running sum")
wrong("a h + x, not a (h + x)")(token_by_token(lambda g, h, x: g * (h + x)), "what comes in is gated too")
wrong("not multiplied by 1 − a")(token_by_token(lambda g, h, x: torch.lerp(x, h, g)), "a mean that moves")
wrong("h_i takes its own gate a_i")(
    token_by_token(lambda g, h, x: g * h + x, gate=lambda a, i: a.roll(1)[i]), "with the gate before"
)
wrong("One gate for all")(
    rounds(lambda a, gate, old, step: a[0] ** step * old, join=lambda a, gate, step: a), "one gate for all"
)
wrong("It runs from the last token to the first")(
    lambda a, x: rounds()(a.flip(0), x.flip(0)).flip(0), "from the end"
)
wrong("All states are asked for")(lambda a, x: rounds()(a, x)[-1], "the last state")
wrong("nothing is carried on")(lambda a, x: torch.einsum("n,nd->nd", a, x), "gated inputs")
wrong("should be")(lambda a, x: rounds()(a.abs(), x), "gates without their sign")
wrong("row 4 should be")(lambda a, x: torch.cat((rounds()(a, x)[:-1], x[-1:])), "the last row forgotten")
wrong("should be")(lambda a, x: x, "the inputs")
wrong("should be")(lambda a, x: torch.zeros_like(x), "zeros")
wrong("should be a tensor")(lambda a, x: list(rounds()(a, x)), "a list of states")
wrong("it changed its argument x in place")(lambda a, x: rounds()(a, x.mul_(2)) / 2, "the arguments changed")
wrong("in float64")(lambda a, x: rounds()(a.float(), x.float()).to(x.dtype), "single precision")
wrong("gradient")(lambda a, x: rounds()(a.detach(), x), "no gradient for the gates")
