"""Measure what the model of time needs of one accelerator: attention by length, and moving memory.

    python benchmarks/distributed_gpu.py [--out FILE]

Writes benchmarks/results/distributed-gpu.json. Attention is torch's fused kernel in bfloat16, 32 query heads
of 128 and 8 key-value heads, forward and backward; a merge is `attnlab.distributed.merge` of two parts.
Medians of seconds between two events of the device.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F

from attnbook import results
from attnlab.distributed import merge

HEADS, KV_HEADS, WIDTH = 32, 8, 128
LENGTHS = tuple(2**power for power in range(10, 18))


def main() -> None:
    """Measure all, and store it."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--out", type=Path, help="another file, for a trial")
    chosen = arguments.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("this measures a GPU, and torch sees none here")
    results.begin(chosen.out)
    numbers = {
        "device": torch.cuda.get_device_name(),
        "shape": {"heads": HEADS, "kv_heads": KV_HEADS, "d_head": WIDTH, "dtype": "bfloat16"},
        "repeats": chosen.repeats,
        "copy": copying(chosen.repeats),
        "attention": [
            attending(n, is_causal, chosen.repeats) for n in LENGTHS for is_causal in (False, True)
        ],
        "merge": [merging(n, chosen.repeats) for n in LENGTHS[:6]],
    }
    results.store("distributed-gpu", numbers, command="python benchmarks/distributed_gpu.py", path=chosen.out)


def seconds(run: Callable[[], object], repeats: int) -> float:
    """Return the median of what a run takes on the device."""
    run()
    found = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        end.synchronize()
        found.append(start.elapsed_time(end) / 1000)
    return statistics.median(found)


def copying(repeats: int) -> dict:
    """Copy 4 GiB within the device's memory; bytes read and written count."""
    x = torch.empty(2**32, dtype=torch.uint8, device="cuda")
    y = torch.empty_like(x)
    return {"bytes": 2 * x.numel(), "seconds": seconds(lambda: y.copy_(x), repeats)}


def attending(n: int, is_causal: bool, repeats: int) -> dict:
    """Attend n queries to n keys, forward, then backward."""
    q, k, v = (
        torch.randn(1, heads, n, WIDTH, dtype=torch.bfloat16, device="cuda", requires_grad=True)
        for heads in (HEADS, KV_HEADS, KV_HEADS)
    )

    def forward():
        return F.scaled_dot_product_attention(q, k, v, is_causal=is_causal, enable_gqa=True)

    out = forward()
    grad = torch.randn_like(out)
    row = {
        "n": n,
        "is_causal": is_causal,
        "forward": seconds(forward, repeats),
        "backward": seconds(lambda: torch.autograd.grad(out, (q, k, v), grad, retain_graph=True), repeats),
    }
    print(row, flush=True)
    return row


def merging(n: int, repeats: int) -> dict:
    """Merge two results of n queries."""
    outs = torch.randn(2, 1, HEADS, n, WIDTH, device="cuda", dtype=torch.bfloat16)
    lses = torch.randn(2, 1, HEADS, n, device="cuda")
    with torch.no_grad():
        return {"n": n, "seconds": seconds(lambda: merge(list(outs), list(lses)), repeats)}


if __name__ == "__main__":
    main()
