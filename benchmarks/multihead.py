"""Time a decoding step of one layer with shared heads, and what keeping one more token takes.

    python benchmarks/multihead.py [--repeats 15] [--out FILE]

Writes results/multihead.json: medians, spreads, and ratios measured side by side in one run.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook import results
from attnbook.benchmark import compare
from attnlab.cache import KVCache
from attnlab.dot_product import grouped_attention

DECODE = {"batch": 1, "n_heads": 8, "d_head": 64, "n": 8192, "n_layers": 12}
LENGTHS = (1024, 2048, 4096, 8192, 16384)


def main() -> None:
    """Measure everything and store it."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeats", type=int, default=15)
    arguments.add_argument("--out", type=Path, help="another file, for a trial")
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    results.begin(chosen.out)
    torch.manual_seed(0)
    numbers = {
        "clock": "CPU time of the process",
        "repeats": 4 * chosen.repeats,
        "decoding": {"shape": DECODE, "times": decoding(4 * chosen.repeats)},
        "cache": cache(4 * chosen.repeats),
    }
    for name, row in numbers["decoding"]["times"].items():
        print(f"{name:40} {1e3 * row['median']:7.2f} ms")
    print(numbers["cache"])
    results.store("multihead", numbers, command="python benchmarks/multihead.py", path=chosen.out)


def decoding(repeats: int) -> dict:
    """Time one query against a long cache: all heads, two and one key-value heads; folded and repeated.

    The time to read such a cache once, added up and nothing else, is a floor for both.
    """
    heads, n, d, layers = DECODE["n_heads"], DECODE["n"], DECODE["d_head"], DECODE["n_layers"]
    q = torch.randn(DECODE["batch"], heads, 1, d)
    ways = {
        "ours": grouped_attention,
        "enable_gqa": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
    }

    def through_the_layers(way: Callable, n_kv_heads: int) -> Callable[[], Tensor]:
        # Each layer has a cache of its own: by the time its turn comes, it has left the processor's memory.
        draw = torch.Generator(q.device).manual_seed(n_kv_heads)
        shape = (layers, 2, DECODE["batch"], n_kv_heads, n, d)
        caches = itertools.cycle(torch.randn(shape, generator=draw))
        return lambda: way(q, *next(caches))

    candidates = {
        f"{n_kv_heads} key-value heads, {name}": through_the_layers(way, n_kv_heads)
        for n_kv_heads in (heads, 2, 1)
        for name, way in {**ways, "read once": lambda q, k, v: k.sum() + v.sum()}.items()
    }
    how = {"repeats": repeats, "clock": time.process_time}
    with torch.no_grad():
        for n_kv_heads in (heads, 2, 1):
            pair = [candidates[f"{n_kv_heads} key-value heads, {way}"]() for way in ("ours", "enable_gqa")]
            assert torch.allclose(*pair, atol=1e-5)
        result = compare(candidates, warmup=DECODE["n_layers"], **how)
    out = result.summary()
    for n_kv_heads in (heads, 2, 1):
        ratio = result.ratio(
            f"{n_kv_heads} key-value heads, enable_gqa", f"{n_kv_heads} key-value heads, ours"
        )
        out[f"{n_kv_heads} key-value heads, ours"]["enable_gqa over ours"] = ratio
    return out


def cache(repeats: int) -> dict:
    """Time keeping the key and value of one more token, in set-aside memory and by joining tensors."""
    heads, d = DECODE["n_heads"], DECODE["d_head"]
    new = torch.randn(1, heads, 1, d)
    rows: dict[str, list[float]] = {"set aside": [], "joined": []}
    with torch.no_grad():
        for n in LENGTHS:
            room, old = KVCache(1, heads, n, d), torch.randn(1, heads, n - 1, d)
            room.append(old, old)

            def append(room: KVCache = room, n: int = n) -> None:
                room.truncate(n - 1)
                room.append(new, new)

            def join(old: Tensor = old) -> tuple[Tensor, Tensor]:
                return torch.cat((old, new), 2), torch.cat((old, new), 2)

            result = compare(
                {"set aside": append, "joined": join}, repeats=repeats, warmup=3, clock=time.process_time
            )
            for name, times in rows.items():
                times.append(result.median(name))
    return {
        "n": list(LENGTHS),
        "seconds": rows,
    }


if __name__ == "__main__":
    main()
