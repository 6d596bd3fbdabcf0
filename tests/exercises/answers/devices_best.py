"""Seconds of three schemes on a machine, what fits in its memory, and the best."""

import math

import numpy as np
import torch

from answers import right, wrong
from attnlab.distributed import Split, all_to_all_bytes, ring_bytes

RINGS = "ring", "zigzag"


def sizes(n, p, h, g, d):
    """Of each scheme: messages, bytes sent, pairs of the slowest, bytes held."""
    c, heads, kv = n // p, h // p, max(g // p, 1)
    triangle = n * (n + 1) / 2 * h
    around = (p - 1, (p - 1) * c * 4 * g * d)
    held = 4 * c * d * (h + 2 * g)
    return {
        "ring": (*around, h * (c * n - c * (c - 1) / 2), held),
        "zigzag": (*around, triangle / p, held),
        "all-to-all": (3 * p - 3, (p - 1) * c * 4 * d * (heads + kv), triangle / p, 4 * n * d * (heads + kv)),
    }


def take(change=None, time=None, fits=None, choose=min, first=False):
    """`change` is of a scheme, its four numbers and the sizes; `time` of three of them and of the machine."""

    def answer(n, p, h, g, d, latency, bandwidth, rate, memory):
        seconds, every = {}, {}
        for name, four in sizes(n, p, h, g, d).items():
            messages, sent, pairs, held = change(name, four, n, p, h, g, d) if change else four
            every[name] = (time or in_turn)(messages, sent, pairs, latency, bandwidth, rate)
            seconds[name] = every[name] if (fits or (lambda a, b: a <= b))(held, memory) else None
        if first:
            best = min(every, key=every.get)
            return (best if seconds[best] is not None else None), seconds
        fit = {name: s for name, s in seconds.items() if s is not None}
        return (choose(fit, key=fit.get) if fit else None), seconds

    return answer


def in_turn(messages, sent, pairs, latency, bandwidth, rate):
    return messages * latency + sent / bandwidth + pairs / rate


right(take(), "sizes first")


@right
def the_package(n, p, n_heads, n_kv_heads, d_head, latency, bandwidth, rate, memory):
    """Bytes as the package counts them, pairs as who holds which tokens says."""
    heads = {"n_kv_heads": n_kv_heads, "d_head": d_head, "bytes_per_number": 2}
    found = {}
    for name in ("ring", "zigzag", "all-to-all"):
        split = Split(n, p, "zigzag" if name == "zigzag" else "contiguous")
        if name == "all-to-all":
            messages, sent = 3 * (p - 1), all_to_all_bytes(split, 0, n_heads=n_heads, **heads)
            pairs = n_heads // p * n * (n + 1) // 2
            vectors = n * (2 * n_heads // p + 2 * max(1, n_kv_heads // p))
        else:
            messages, sent = p - 1, ring_bytes(split, 0, **heads)
            pairs = n_heads * max(
                sum((start + 1 + stop) * (stop - start) // 2 for start, stop in split.runs(r))
                for r in range(p)
            )
            vectors = n // p * (2 * n_heads + 4 * n_kv_heads)
        fits = vectors * d_head * 2 <= memory
        found[name] = messages * latency + sent / bandwidth + pairs / rate if fits else None
    best = None
    for name, seconds in found.items():
        if seconds is not None and (best is None or seconds < found[best]):
            best = name
    return best, found


@right
def in_arrays(n, p, h, g, d, latency, bandwidth, rate, memory):
    table = np.array(list(sizes(n, p, h, g, d).values()), dtype=float)  # (3 schemes, 4)
    seconds = table[:, :3] @ np.array([latency, 1 / bandwidth, 1 / rate])
    seconds[table[:, 3] > memory] = np.inf
    names = ["ring", "zigzag", "all-to-all"]
    best = names[int(seconds.argmin())] if np.isfinite(seconds).any() else None
    return [best, {name: s if np.isfinite(s) else None for name, s in zip(names, seconds, strict=True)}]


@right
def tensors(*given):
    best, seconds = take()(*given)
    return best, {
        name: s if s is None else torch.tensor(s, dtype=torch.float64) for name, s in seconds.items()
    }


def other(*names, messages=None, sent=None, pairs=None, held=None):
    """Other numbers for some schemes: functions of what it was and of the sizes."""

    def change(name, four, *of):
        if name not in names:
            return four
        return [f(x, *of) if f else x for f, x in zip((messages, sent, pairs, held), four, strict=True)]

    return take(change)


ALL = (*RINGS, "all-to-all")

# Pairs.
wrong("The ring has the pairs of a device on average")(
    other("ring", pairs=lambda x, n, p, h, g, d: h * n * (n + 1) / 2 / p), "a mean"
)
wrong("as if all were visible")(other("ring", pairs=lambda x, n, p, h, g, d: n // p * n * h), "whole blocks")
wrong("Pairs are counted without the causal mask")(
    other(*ALL, pairs=lambda x, n, p, h, g, d: n * n * h / p), "all pairs"
)
wrong("Pairs are halved for the mask")(
    other(*ALL[1:], pairs=lambda x, n, p, h, g, d: n * (n / 2) * h / p), "half of n²"
)
wrong("The pairs of one head are counted")(other(*ALL, pairs=lambda x, n, p, h, g, d: x / h), "one head")
wrong("The pairs of all devices are counted for each")(
    other(*ALL, pairs=lambda x, n, p, h, g, d: (n * n + n) * h // 2), "all devices"
)
wrong("the entry 'ring' should be")(
    other("ring", pairs=lambda x, n, p, h, g, d: h * (n // p) * (n // p + 1) / 2), "the first device"
)

# Messages and bytes.
wrong("All-to-all sends to each of the others three times")(
    other("all-to-all", messages=lambda x, *_: x / 3), "one message each"
)
wrong("Messages are p, or a multiple of it")(
    other(*ALL, messages=lambda x, n, p, *_: x + x // (p - 1)), "one to itself"
)
wrong("Latency is counted once")(
    take(time=lambda m, s, w, latency, bandwidth, rate: latency + s / bandwidth + w / rate), "one latency"
)
wrong("Messages cost nothing")(take(time=lambda m, s, w, a, b, c: s / b + w / c), "no latency")
wrong("Bytes cost nothing")(take(time=lambda m, s, w, a, b, c: m * a + w / c), "no bandwidth")
wrong("the entry 'ring' should be")(take(time=lambda m, s, w, a, b, c: m * a + s / b), "no arithmetic")
wrong("are laid over each other")(take(time=lambda m, s, w, a, b, c: max(m * a + s / b, w / c)), "overlapped")
wrong("the entry 'ring' should be")(
    take(time=lambda m, s, w, a, b, c: max(m * a, s / b, w / c)), "the worst of three"
)
wrong("the entry 'all-to-all' should be")(
    take(time=lambda m, s, w, a, b, c: m * (a + s / b) + w / c), "bytes a message"
)
wrong("Numbers are sent and held as one byte")(
    other(*ALL, sent=lambda x, *_: x / 2, held=lambda x, *_: x / 2), "numbers"
)
wrong("Numbers are sent as one byte")(other(*ALL, sent=lambda x, *_: x // 2), "numbers sent")
wrong("Numbers are held as one byte")(other(*ALL, held=lambda x, *_: x // 2), "numbers held")
wrong("all-to-all has a part of one")(
    other("all-to-all", sent=lambda x, n, p, h, g, d: (p - 1) * n / p * 4 * d * (h / p + g / p),
          held=lambda x, n, p, h, g, d: n * 4 * d * (h / p + g / p)),
    "parts of heads",
)  # fmt: skip

# Memory, and the choice.
wrong("A ring holds the keys and values that are here")(
    other(*RINGS, held=lambda x, n, p, h, g, d: x - 4 * n * g * d // p), "nothing that comes"
)
wrong("Memory is not looked at")(take(fits=lambda held, memory: memory > 0), "memory for ever")
wrong("to the byte, fits")(take(fits=lambda held, memory: held < memory), "less than all")
wrong("The fastest is chosen first")(take(first=True), "the fastest or nothing")
wrong("The slowest is chosen")(take(choose=max), "max")


@wrong("should be None")
def infinite(*given):
    best, seconds = take()(*given)
    return best, {name: math.inf if s is None else s for name, s in seconds.items()}


@wrong("the scheme should be None")
def the_first_of_none(*given):
    best, seconds = take()(*given)
    return best or "ring", seconds


@wrong("the scheme should be None")
def nothing_as_a_text(*given):
    best, seconds = take()(*given)
    return str(best), seconds


@wrong("should be None")
def nothing_as_a_text_for_seconds(*given):
    best, seconds = take()(*given)
    return best, {name: str(s) if s is None else s for name, s in seconds.items()}


@wrong("the dictionary of seconds lacks the key")
def what_fits_alone(*given):
    best, seconds = take()(*given)
    return best, {name: s for name, s in seconds.items() if s is not None}


wrong("the output should be 2 values (scheme, seconds)")(lambda *given: take()(*given)[0], "the name alone")
wrong("the scheme should be")(lambda *given: take()(*given)[::-1], "the other way round")
