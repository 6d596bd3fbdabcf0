"""The stride with the fewest pairs: neighbours, and multiples of the stride."""

import math

import numpy as np
import torch

from answers import right, wrong
from attnlab import masks


def exact(i, s):
    return min(i, s) + 1 + max(i // s - 1, 0)


def stride(keys, pick=min):
    """By the number of keys of each row."""
    return lambda n: pick(range(1, n + 1), key=lambda s: sum(keys(i, s) for i in range(n)))


right(stride(exact), "a loop")
right(stride(lambda i, s: exact(i, s) - 1), "a loop that leaves a constant out")
right(
    stride(lambda i, s: sum(1 for b in range(i + 1) if b <= s or b % s == 0)), "pair by pair: right, and slow"
)


def closed(n):
    """No loop over rows: sums of whole blocks."""

    def pairs(s):
        near = n * (n + 1) // 2 if n <= s else s * (s + 1) // 2 + (n - s) * (s + 1)
        whole, rest = divmod(n, s)
        return near + s * max(whole - 1, 0) * max(whole - 2, 0) // 2 + rest * max(whole - 1, 0)

    return pairs


right(lambda n: min(range(1, n + 1), key=closed(n)), "sums of blocks")
right(lambda n: min(range(1, min(n, 2 * math.isqrt(n) + 1) + 1), key=closed(n)), "up to 2√n")
right(lambda n: np.int64(min(range(1, n + 1), key=closed(n))), "NumPy's whole number")


@right
def downhill_from_1(n):
    """The count falls to its minimum and never rises before: true for all n up to 700."""
    s, pairs = 1, closed(n)
    while s < n and pairs(s + 1) < pairs(s):
        s += 1
    return s


@right
def in_numpy(n):
    i = np.arange(n)
    return min(range(1, n + 1), key=lambda s: (np.minimum(i, s) + np.maximum(i // s - 1, 0)).sum())


@wrong("tables of n × n numbers")
def table(n):
    i, s = torch.arange(n), torch.arange(1, n + 1)[:, None]
    return (torch.minimum(i, s) + (i // s - 1).clamp_min(0)).sum(1).argmin() + 1


@wrong("tables of n × n numbers")
def numpy_masks(n):
    back = np.subtract.outer(np.arange(n), np.arange(n))
    return min(range(1, n + 1), key=lambda s: ((back >= 0) & ((back <= s) | (back % s == 0))).sum())


@wrong("tables of n × n numbers")
def a_byte_a_pair(n):
    found = []
    for s in range(1, min(n, 2 * math.isqrt(n)) + 1):
        seen = np.zeros((n, n), dtype=bool)
        for i in range(n):
            back = i - np.arange(n)
            seen[i] = (back >= 0) & ((back <= s) | (back % s == 0))
        found.append(int(seen.sum()))
    return found.index(min(found)) + 1


@wrong("tables of n × n numbers")
def lists_of_lists(n):
    rows = [[exact(i, s) for i in range(n)] for s in range(1, n + 1)]
    return min(range(1, n + 1), key=lambda s: sum(rows[s - 1]))


@wrong("it builds tables of n × n numbers")
def masks_built(n):
    return min(range(1, max(2, 2 * math.isqrt(n))), key=lambda s: int(masks.strided(n, s).sum()))


@wrong("The stride that needs so many is wanted")
def the_number_of_pairs(n):
    return min(sum(exact(i, s) for i in range(n)) for s in range(1, n + 1))


KNOWN = {n: stride(exact)(n) for n in (1, 3, 4, 57, 60, 61, 79, 101, 105)}
wrong("should be")(lambda n: KNOWN.get(n, round((n / 2) ** 0.5)), "nine known sizes")
wrong("Of equally cheap strides it returns the largest")(
    stride(exact, lambda strides, key: min(reversed(strides), key=key)), "the largest of equals"
)
wrong("It returns √n")(lambda n: round(n**0.5), "√n")
wrong("It returns √n")(stride(lambda i, s: i % s + 1 + i // s), "the fixed pattern")
wrong("it is 5.339")(lambda n: (n / 2) ** 0.5, "√(n/2)")
wrong("√(n/2)")(lambda n: math.ceil((n / 2) ** 0.5), "√(n/2), up")
wrong("Distances 0 and s are counted twice")(
    stride(lambda i, s: len(range(max(0, i - s), i + 1)) + len(range(i % s, i + 1, s))),
    "neighbours and multiples",
)
wrong("A far token of each row is missing")(
    stride(lambda i, s: min(i, s) + 1 + len(range(3 * s, i + 1, s))), "multiples from three on"
)
wrong("The neighbours have been forgotten")(stride(lambda i, s: max(i // s - 1, 0)), "multiples alone")
wrong("Rows count from 0")(
    lambda n: min(range(1, n + 1), key=lambda s: sum(exact(i, s) for i in range(1, n + 1))), "rows from 1"
)
wrong("i // s rounds down")(
    stride(lambda i, s: min(i, s) + 1 + max(math.ceil(i / s) - 1, 0)), "a multiple before the start"
)
wrong("That counts the last row only")(
    lambda n: min(range(1, n + 1), key=lambda s: exact(n - 1, s)), "the last row alone"
)
wrong("should be")(lambda n: min(range(1, n + 1), key=closed(n)) - 1, "counted from zero")
wrong("it raised ValueError")(lambda n: min(range(2, n + 1), key=closed(n)), "none for one token")
wrong("should be")(lambda n: min((s for s in range(1, n + 1) if n % s == 0), key=closed(n)), "divisors of n")
