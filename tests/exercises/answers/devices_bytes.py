"""What one process sends: around a ring, all to all, for a sum of heads, for one new token."""

from collections import Counter
from fractions import Fraction

import torch

from answers import right, wrong
from attnlab.distributed import (
    Split,
    all_reduce_bytes,
    all_to_all_bytes,
    ring_bytes,
    split_attention_bytes,
)


def sent(ring=None, across=None, apart=None, split=None, size=None):
    """Numbers of each scheme, of the tokens of a part, and bytes of a number."""

    def answer(scheme, n, p, h, g, d, b=2):
        c = n // p
        if scheme == "ring":
            count = (ring or around)(c, p, h, g, d)
        elif scheme == "all-to-all":
            count = (across or to_heads)(c, p, h, g, d)
        elif scheme == "heads apart":
            count = (apart or reduced)(c, p, h, g, d)
        else:
            count = (split or token)(c, p, h, g, d)
        return count * (size or width)(scheme, b)

    return answer


def width(scheme, b):
    return 4 if scheme == "split" and b < 4 else b


def around(c, p, h, g, d):
    return sum(c * g * (d + d) for _ in range(1, p))


def to_heads(c, p, h, g, d, back=True):
    queries, keys = h // p, g // p or 1
    return sum(c * d * (queries + 2 * keys) + back * c * d * queries for _ in range(1, p))


def reduced(c, p, h, g, d):
    return sum(c * h * d for _ in range(2 * (p - 1)))


def token(c, p, h, g, d):
    return sum(h * d + h for _ in range(1, p))


right(sent(), "sums")
right(lambda *given: Fraction(sent()(*given)), "a fraction")
right(lambda *given: torch.tensor(sent()(*given)), "a tensor")


@right
def the_package(scheme, n, p, n_heads, n_kv_heads, d_head, bytes_per_number=2):
    size = {"bytes_per_number": bytes_per_number}
    heads = {"n_kv_heads": n_kv_heads, "d_head": d_head}
    if scheme == "ring":
        return ring_bytes(Split(n, p), 0, **heads, **size)
    if scheme == "all-to-all":
        return all_to_all_bytes(Split(n, p), p - 1, n_heads=n_heads, **heads, **size)
    if scheme == "heads apart":
        return all_reduce_bytes(n * n_heads * d_head, p, **size)
    return split_attention_bytes(p, n_heads=n_heads, d_v=d_head, **size)


@right
def formulas(scheme, n, p, n_heads, n_kv_heads, d_head, bytes_per_number=2):
    share = Fraction(p - 1, p) * n * d_head * bytes_per_number
    return {
        "ring": share * 2 * n_kv_heads,
        "all-to-all": share * Fraction(2 * n_heads + 2 * max(n_kv_heads, p), p),
        "heads apart": share * 2 * n_heads,
        "split": (p - 1) * n_heads * (d_head + 1) * max(4, bytes_per_number),
    }[scheme]


@right
def a_post_office(scheme, n, p, n_heads, n_kv_heads, d_head, bytes_per_number=2):
    """Each vector of process 0 that is sent to somebody, by whom it goes to."""
    box, c, d = Counter(), n // p, d_head
    for other in range(1, p):
        if scheme == "ring":
            box[1] += c * 2 * n_kv_heads * d
        elif scheme == "all-to-all":
            its = range(other * n_heads // p, (other + 1) * n_heads // p)
            reads = {head * n_kv_heads // n_heads for head in its}
            box[other] += c * (len(its) + 2 * len(reads)) * d + c * (n_heads // p) * d
        elif scheme == "heads apart":
            box[1] += 2 * c * n_heads * d
        else:
            box[other] += n_heads * (d + 1)
    return sum(box.values()) * (max(4, bytes_per_number) if scheme == "split" else bytes_per_number)


# The ring.
wrong("only keys travel, or only values")(sent(ring=lambda c, p, h, g, d: (p - 1) * c * g * d), "keys alone")
wrong("The ring takes p steps")(sent(ring=lambda c, p, h, g, d: 2 * c * p * g * d), "a whole round")
wrong("keys and values of all query heads")(
    sent(ring=lambda c, p, h, g, d: around(c, p, h, h, d)), "all heads"
)
wrong("the keys and values of the whole text are sent")(
    sent(ring=lambda c, p, h, g, d: around(p * c, p, h, g, d)), "all n tokens a step"
)
wrong("The ring sends its own part alone")(
    sent(ring=lambda c, p, h, g, d: around(c, min(p, 2), h, g, d)), "one step"
)
wrong("should be")(sent(ring=lambda c, p, h, g, d: (p - 1) * c * (2 * g + h) * d), "queries, too")

# All to all.
wrong("All-to-all counts all heads of the tokens here")(
    sent(across=lambda c, p, h, g, d: 0 if p == 1 else c * d * (2 * h + 2 * max(g, p))), "nothing stays"
)
wrong("All-to-all has a way back")(sent(across=lambda *sizes: to_heads(*sizes, back=False)), "one way")
wrong("The way back of all-to-all is all there is")(
    sent(across=lambda c, p, h, g, d: (p - 1) * c * h * d // p), "the way back alone"
)
wrong("all-to-all counts a part of a head")(
    sent(across=lambda c, p, h, g, d: (p - 1) * c * d * (h + g) * 2 / p), "parts of heads"
)
wrong("All-to-all sends every key-value head to every process")(
    sent(across=lambda c, p, h, g, d: to_heads(c, p, h, g * p, d)), "all keys to all"
)
wrong("each query head brings keys and values of its own")(
    sent(across=lambda c, p, h, g, d: to_heads(c, p, h, h, d)), "keys copied"
)
wrong("should be")(
    sent(across=lambda c, p, h, g, d: (p - 1) * c * d * (h // p + 2 * (g // p)) * 2), "twice there"
)

# Heads apart.
wrong("as many again to spread the sums")(sent(apart=lambda *sizes: reduced(*sizes) / 2), "to add up alone")
wrong("sends its whole output to each of the others")(
    sent(apart=lambda c, p, h, g, d: (p - 1) * p * c * h * d), "everything to everybody"
)
wrong("the outputs of one head are counted")(
    sent(apart=lambda c, p, h, g, d: 2 * (p - 1) * c * d), "one head"
)
wrong("should be")(sent(apart=lambda c, p, h, g, d: 2 * (p - 1) * c * (h // p) * d), "its own heads")
wrong("should be")(sent(apart=lambda c, p, h, g, d: 2 * p * c * h * d), "p pieces twice")

# Split decoding.
wrong("In split decoding the lse is missing")(sent(split=lambda c, p, h, g, d: (p - 1) * h * d), "no lse")
wrong("one lse is sent for all heads")(sent(split=lambda c, p, h, g, d: (p - 1) * (h * d + 1)), "one lse")
wrong("the partial results of key-value heads")(
    sent(split=lambda c, p, h, g, d: token(c, p, g, g, d)), "shared heads"
)
wrong("partial results of all n tokens are counted")(
    sent(split=lambda c, p, h, g, d: c * p * token(c, p, h, g, d)), "all tokens"
)
wrong("take 4 bytes a number at least")(sent(size=lambda scheme, b: b), "half precision")
wrong("a number takes 4 bytes whatever is asked")(
    sent(size=lambda scheme, b: {"split": 4}.get(scheme, b)), "single precision"
)
wrong("should be")(sent(split=lambda c, p, h, g, d: (p - 1) * 2 * c * g * d), "the cache itself")

# Bytes.
wrong("Those are numbers")(sent(size=lambda scheme, b: 1), "numbers")
wrong("A number takes 2 bytes whatever is asked")(
    lambda scheme, n, p, h, g, d, b=2: sent()(scheme, n, p, h, g, d), "the default"
)
wrong("That is what all processes send together")(
    lambda scheme, n, p, *rest: sum(sent()(scheme, n, p, *rest) for _ in range(p)), "all processes"
)
wrong("should be")(sent(size=lambda scheme, b: 8 * width(scheme, b)), "bits")
