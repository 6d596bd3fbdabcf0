"""Time multi-head attention against torch's, and decoding with shared heads and with a cache.

    python benchmarks/multihead.py [--repeats 15]

Writes benchmarks/results/multihead.json: medians, spreads, and ratios measured side by side in one run.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlab import MultiHeadAttention, masks
from attnlab.benchmark import compare, provenance, slope, store
from attnlab.cache import KVCache
from attnlab.dot_product import grouped_attention

RESULTS = Path(__file__).parent / "results" / "multihead.json"
LAYER = {"batch": 8, "n": 512, "d_model": 512, "n_heads": 8}
DECODE = {"batch": 1, "n_heads": 8, "d_head": 64, "n": 8192, "n_layers": 12}
LENGTHS = (1024, 2048, 4096, 8192, 16384)


def main() -> None:
    """Measure everything and store it."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeats", type=int, default=15)
    arguments.add_argument("--threads", type=int, default=1)
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--out", type=Path, default=RESULTS)
    chosen = arguments.parse_args()
    torch.set_num_threads(chosen.threads)
    torch.manual_seed(0)
    with torch.device(chosen.device):
        results = {
            "made by": "python benchmarks/multihead.py",
            "machine": provenance("torch"),
            "repeats": chosen.repeats,
            "layer": {"shape": LAYER, "times": layer(chosen.repeats)},
            "decoding": {"shape": DECODE, "times": decoding(chosen.repeats)},
            "cache": cache(chosen.repeats),
        }
    store(chosen.out, results)
    for name, row in results["layer"]["times"].items():
        print(f"{name:40} torch takes {row['torch']['times ours']:.2f} times as long as ours")
    for name, row in results["decoding"]["times"].items():
        print(f"{name:40} {1e3 * row['median']:7.2f} ms")
    for name, row in results["cache"]["slopes"].items():
        print(f"{name:40} time grows as n^{row['exponent']:.2f}")


def layer(repeats: int) -> dict:
    """Compare our layer with torch's, with the same weights, forward alone and with its gradient."""
    theirs = nn.MultiheadAttention(LAYER["d_model"], LAYER["n_heads"], batch_first=True)
    ours = MultiHeadAttention.from_torch(theirs)
    x = torch.randn(LAYER["batch"], LAYER["n"], LAYER["d_model"])
    hidden = ~masks.causal(LAYER["n"], device=x.device)
    per_head = {"need_weights": True, "average_attn_weights": False}
    calls: dict[str, tuple[Callable, Callable]] = {
        "no mask": (ours, lambda x: theirs(x, x, x, need_weights=False)[0]),
        "causal": (
            lambda x: ours(x, is_causal=True),
            lambda x: theirs(x, x, x, attn_mask=hidden, is_causal=True, need_weights=False)[0],
        ),
        "with weights": (
            lambda x: ours(x, need_weights=True)[0],
            lambda x: theirs(x, x, x, **per_head)[0],
        ),
        "causal, with weights": (
            lambda x: ours(x, is_causal=True, need_weights=True)[0],
            lambda x: theirs(x, x, x, attn_mask=hidden, **per_head)[0],
        ),
    }
    out = {}
    for name, (mine, other) in calls.items():
        for training in (True, False):
            ours.train(training)
            theirs.train(training)
            passes = {"forward": _forward} | ({"forward and backward": _backward} if training else {})
            for what, run in passes.items():
                result = compare({"torch": run(other, x), "ours": run(mine, x)}, repeats=repeats)
                row = result.summary()
                row["torch"]["times ours"] = result.ratio("torch", "ours")
                out[f"{name}, {what}, {'train' if training else 'eval'}"] = row
    return out


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
    with torch.no_grad():
        for n_kv_heads in (heads, 2, 1):
            pair = [candidates[f"{n_kv_heads} key-value heads, {way}"]() for way in ("ours", "enable_gqa")]
            assert torch.allclose(*pair, atol=1e-5)
        result = compare(candidates, repeats=4 * repeats, warmup=DECODE["n_layers"])
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

            result = compare({"set aside": append, "joined": join}, repeats=4 * repeats, warmup=3)
            for name, times in rows.items():
                times.append(result.median(name))
    return {
        "n": list(LENGTHS),
        "seconds": rows,
        "slopes": {name: asdict(slope(LENGTHS, times)) for name, times in rows.items()},
    }


def _forward(call: Callable[[Tensor], Tensor], x: Tensor) -> Callable[[], object]:
    def run() -> None:
        with torch.no_grad():
            call(x)

    return run


def _backward(call: Callable[[Tensor], Tensor], x: Tensor) -> Callable[[], object]:
    x = x.clone().requires_grad_()
    return lambda: call(x).sum().backward()


if __name__ == "__main__":
    main()
