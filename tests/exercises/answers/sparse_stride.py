"""The stride of the strided pattern that needs the fewest pairs, by exact count."""

import math

import numpy as np
import torch

from answers import right, wrong
from attnlab import masks


def exact(i, s):
    """How many keys row i has: its neighbours, itself among them, and the far ones."""
    return min(i, s) + 1 + max(i // s - 1, 0)


def pairs(n, s, keys=exact):
    return sum(keys(i, s) for i in range(n))


def fewest(keys=exact, strides=lambda n: range(1, n + 1)):
    """The stride with the fewest keys in all rows; of equals the first in `strides`."""
    return lambda n: min(strides(n), key=lambda s: pairs(n, s, keys))


def closed(n):
    """No loop over rows: sums of whole blocks."""

    def pairs(s):
        near = n * (n + 1) // 2 if n <= s else s * (s + 1) // 2 + (n - s) * (s + 1)
        whole, rest = divmod(n, s)
        return near + s * max(whole - 1, 0) * max(whole - 2, 0) // 2 + rest * max(whole - 1, 0)

    return min(range(1, n + 1), key=pairs)


def by_rows_of_numpy(n):
    i = np.arange(n)
    return min(range(1, n + 1), key=lambda s: (np.minimum(i, s) + np.maximum(i // s - 1, 0)).sum())


right(fewest(), "a loop")
right(fewest(lambda i, s: exact(i, s) - 1), "a constant left out")
right(fewest(strides=lambda n: range(1, min(n, 2 * math.isqrt(n) + 1) + 1)), "up to 2√n")
right(closed, "sums of blocks")
right(lambda n: np.int64(closed(n)), "NumPy's whole number")
right(by_rows_of_numpy, "NumPy, row by row")


@right
def downhill(n):
    """The count falls to its minimum and never rises before: true for all n up to 700."""
    s = 1
    while s < n and pairs(n, s + 1) < pairs(n, s):
        s += 1
    return s


@right
def rows_counted(n):
    """For each stride, pair by pair, and no table: right, and slow."""

    def pairs(s):
        return sum(back <= s or back % s == 0 for i in range(n) for back in range(i + 1))

    return min(range(1, n + 1), key=pairs)


# Tables.
def table(n):
    i, s = torch.arange(n), torch.arange(1, n + 1)[:, None]
    return (torch.minimum(i, s) + (i // s - 1).clamp_min(0)).sum(1).argmin() + 1


def masks_of_numpy(n):
    back = np.subtract.outer(np.arange(n), np.arange(n))
    return min(range(1, n + 1), key=lambda s: ((back >= 0) & ((back <= s) | (back % s == 0))).sum())


TABLES = wrong("it builds tables of n × n numbers")
TABLES(table)
TABLES(masks_of_numpy)
TABLES(lambda n: min(range(1, n + 1), key=lambda s: int(masks.strided(n, s).sum())), "the package's masks")


@TABLES
def lists_of_lists(n):
    rows = [[exact(i, s) for i in range(n)] for s in range(1, n + 1)]
    return min(range(1, n + 1), key=lambda s: sum(rows[s - 1]))


@TABLES
def a_byte_a_pair(n):
    found = []
    for s in range(1, math.isqrt(n) + 1):
        seen = np.zeros((n, n), dtype=bool)
        for i in range(n):
            back = i - np.arange(n)
            seen[i] = (back >= 0) & ((back <= s) | (back % s == 0))
        found.append(int(seen.sum()))
    return found.index(min(found)) + 1


# Formulas.
wrong("It returns √n")(lambda n: round(n**0.5), "√n, rounded")
wrong("It returns √n")(lambda n: int(math.sqrt(n)), "√n, down")
wrong("√(n/2)")(lambda n: math.ceil((n / 2) ** 0.5), "√(n/2), up")
wrong("it is 5.339")(lambda n: (n / 2) ** 0.5, "no whole number")

KNOWN = {n: closed(n) for n in (1, 3, 4, 57, 60, 61, 79, 101, 105)}
wrong("should be")(lambda n: KNOWN.get(n, round((n / 2) ** 0.5)), "nine known sizes")

# What is counted.
wrong("It returns √n")(fewest(lambda i, s: i % s + 1 + i // s), "the fixed pattern")
wrong("or counts too much where the text begins")(fewest(lambda i, s: s + i // s), "no beginning")
wrong("Distances 0 and s are counted twice")(
    fewest(lambda i, s: len(range(max(0, i - s), i + 1)) + len(range(i, -1, -s))), "neighbours and multiples"
)
wrong("A far token of each row is missing")(
    fewest(lambda i, s: min(i, s) + 1 + len(range(3 * s, i + 1, s))), "far ones from 3s on"
)
wrong("The neighbours have been forgotten")(fewest(lambda i, s: max(i // s - 1, 0)), "far ones alone")
wrong("Rows count from 0")(
    lambda n: min(range(1, n + 1), key=lambda s: sum(exact(i, s) for i in range(1, n + 1))), "rows from 1"
)
wrong("i // s rounds down")(fewest(lambda i, s: min(i, s) + 1 + max(math.ceil(i / s) - 1, 0)), "rounded up")
wrong("That counts the last row only")(
    lambda n: min(range(1, n + 1), key=lambda s: exact(n - 1, s)), "the last row"
)

# What is returned.
wrong("The stride that needs so many is wanted")(
    lambda n: min(pairs(n, s) for s in range(1, n + 1)), "the number of pairs"
)
wrong("Of equally cheap strides it returns the largest")(
    fewest(strides=lambda n: range(n, 0, -1)), "the largest of equals"
)
wrong("should be")(lambda n: closed(n) - 1, "one less")
wrong("should be")(lambda n: int(np.argmin([pairs(n, s) for s in range(1, n + 1)])), "counted from zero")
wrong("it raised ValueError")(fewest(strides=lambda n: range(2, n + 1)), "none for one token")
wrong("should be")(fewest(strides=lambda n: [s for s in range(1, n + 1) if n % s == 0]), "divisors of n")
wrong("should be")(fewest(strides=lambda n: range(1, min(n, 12) + 1)), "none above twelve")
