"""RoPE on a grid: half of each vector turned by the row of its patch, half by the column."""

import torch

from answers import right, wrong
from attnlab import positions


def turned(t, at, base):
    d = t.shape[-1]
    angle = at[:, None] * base ** (-2 * torch.arange(d // 2) / d)
    a, b, c, s = t[..., 0::2], t[..., 1::2], angle.cos(), angle.sin()
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)


def grid(change=lambda rows, columns: (rows, columns), turn=turned):
    """Right; or with other places, or turned in another way."""

    def answer(x, rows, columns, base=10000.0):
        half = x.shape[-1] // 2
        first, second = change(rows, columns)
        return torch.cat((turn(x[..., :half], first, base), turn(x[..., half:], second, base)), -1)

    return answer


def halves(t, at, base):
    """Pairs half a width apart."""
    a, b = t.chunk(2, -1)
    angle = at[:, None] * base ** (-torch.arange(a.shape[-1]) / a.shape[-1])
    return torch.cat((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), -1)


right(grid(), "by hand")


@right
def complex_numbers(x, rows, columns, base=10000.0):
    d = x.shape[-1]
    speed = base ** (-4 * torch.arange(d // 4) / d)
    angle = torch.cat((rows[:, None] * speed, columns[:, None] * speed), -1)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones(()), angle)).flatten(-2)


@right
def token_by_token(x, rows, columns, base=10000.0):
    each = zip(x.split(1, -2), rows.split(1), columns.split(1), strict=True)
    return torch.cat([grid()(*one, base) for one in each], -2)


@right
def a_stack_of_two(x, rows, columns, base=10000.0):
    parts = zip(x.chunk(2, -1), (rows, columns), strict=True)
    return torch.stack([positions.rotary(part, at, base=base) for part, at in parts], -2).flatten(-2)


@wrong("should be")
def halves_joined_in_the_wrong_order(x, *rest):
    return grid()(x, *rest).roll(x.shape[-1] // 2, -1)


@wrong("Every pair is turned twice")
def turned_twice(x, rows, columns, base=10000.0):
    return turned(turned(x, rows, base), columns, base)


@wrong("The two halves share one row of speeds")
def speeds_of_the_whole(x, rows, columns, base=10000.0):
    half = x.shape[-1] // 2
    return torch.cat((turned(x, rows, base)[..., :half], turned(x, columns, base)[..., half:]), -1)


@wrong("Pairs take turns, one by the row, the next by the column")
def every_other_pair(x, rows, columns, base=10000.0):
    pairs = x.unflatten(-1, (-1, 2))
    out = torch.empty_like(pairs)
    out[..., 0::2, :] = turned(pairs[..., 0::2, :].flatten(-2), rows, base).unflatten(-1, (-1, 2))
    out[..., 1::2, :] = turned(pairs[..., 1::2, :].flatten(-2), columns, base).unflatten(-1, (-1, 2))
    return out.flatten(-2)


SPEEDS = {}


@wrong("the sizes of an earlier case and another base")
def speeds_kept_by_their_width(x, rows, columns, base=10000.0):
    half = x.shape[-1] // 2
    speed = SPEEDS.setdefault((x.shape[-2], half), base ** (-2 * torch.arange(half // 2) / half))
    turns = [torch.polar(torch.ones(()), at[:, None] * speed) for at in (rows, columns)]
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.cat(turns, -1)).flatten(-2)


@wrong("should be")
def one_long_row(x, rows, columns, base=10000.0):
    return turned(x, rows * (int(columns.max()) + 1) + columns, base)


wrong("It returns x as it was")(lambda x, *rest: x, "nothing turned")
wrong("Rows and columns have changed places")(grid(lambda r, c: (c, r)), "swapped")
wrong("Only rows count")(grid(lambda r, c: (r, r)), "rows alone")
wrong("Only columns count")(grid(lambda r, c: (c, c)), "columns alone")
wrong("The second half is left as it is")(
    lambda x, rows, columns, base=1e4: torch.cat(
        (turned(x.chunk(2, -1)[0], rows, base), x.chunk(2, -1)[1]), -1
    ),
    "half of it turned",
)
wrong("It pairs entry i with one half a width away")(grid(turn=halves), "pairs half a width apart")
wrong("It turns the wrong way round")(grid(lambda r, c: (-r, -c)), "clockwise")
wrong("It ignores the base")(grid(turn=lambda t, at, base: positions.rotary(t, at)), "no base")
wrong("It counts the patches one after the other")(
    lambda x, rows, columns, base=1e4: turned(x, torch.arange(x.shape[-2]), base), "in the order of reading"
)
wrong("should be")(grid(lambda r, c: (r + 1, c + 1)), "counted from 1")
wrong("should be")(grid(lambda r, c: (r / 2, c / 2)), "half the distance")
wrong("should be")(grid(lambda r, c: (r + c, r - c)), "the sum and the difference")
wrong("should be")(grid(lambda r, c: (r - r[0], c - c[0])), "from the first patch")
wrong("should be")(grid(lambda r, c: (r.clamp_max(5), c)), "no row beyond 5")
wrong("rows and columns up to 5000")(
    grid(lambda r, c: (r.clamp_max(63), c.clamp_max(63))), "no place beyond 63"
)
wrong("should be")(
    lambda x, rows, columns, base=1e4: x + positions.sinusoidal(*x.shape[-2:], base=base), "sinusoids added"
)
wrong("no gradient reaches x")(lambda x, *rest: grid()(x.detach(), *rest), "detached")
wrong("should be a tensor")(lambda *a: grid()(*a).chunk(2, -1), "both halves apart")
wrong("it is called with")(lambda x, rows, columns: grid()(x, rows, columns), "without a base")
wrong("the base left out")(
    lambda x, rows, columns, base=100.0: grid()(x, rows, columns, base), "another default"
)
