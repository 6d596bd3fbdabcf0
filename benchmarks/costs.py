"""Measure the table of costs: how time and counted operations of each kind of layer grow with the length.

    python benchmarks/costs.py [--repeats 3] [--out FILE]

Writes results/costs.json. Of each length all layers run in turns, round after round, in seconds that this
process computed: kept are fitted exponents, and ratios within rounds. What is timed is a layer's own part:
the weights of the recurrent network and of the convolution are in it, those that make q, k and v are not.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from attnbook import results
from attnbook.benchmark import compare, multiplications, slope
from attnlab import attention, linear, sparse

HEADS, D_HEAD = 8, 64
WIDTH = HEADS * D_HEAD
LENGTHS = (1024, 2048, 4096, 8192)
BASE = "self-attention"

# Name -> operations, as the literature states them.
CLAIMS = {
    "recurrent network": "n d²",
    "convolution, kernel 3": "3 n d²",
    BASE: "n² d",
    "Sparse Transformer, strided": "n √n d",
    "Reformer, LSH": "n log n d",
    "Linformer, 256 mixtures": "256 n d",
    "Linear Transformer": "n d²/h",
}


def main() -> None:
    """Measure every layer at every length, and store the fits."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--out", type=Path, help="another file, for a trial")
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    results.begin(chosen.out)
    torch.manual_seed(0)
    found = {name: {"operations": [], "forward": [], "backward": [], "times as fast": []} for name in CLAIMS}
    for n in LENGTHS:
        x, both = torch.randn(1, n, 3 * WIDTH), layers()
        passes = {"forward": forward, "backward": backward}
        timed = {
            way: compare(
                {name: run(layer, x) for name, layer in both.items()},
                repeats=chosen.repeats,
                clock=time.process_time,
            )
            for way, run in passes.items()
        }
        for name, row in found.items():
            row["operations"].append(multiplications(partial(both[name], x)))
            row["times as fast"].append(timed["forward"].ratio(BASE, name))
            for way, result in timed.items():
                row[way].append(result.median(name))
        print(n, {name: round(row["times as fast"][-1], 1) for name, row in found.items()}, flush=True)
    rows = [
        {
            "name": name,
            "claim": CLAIMS[name],
            "measured": times,
            "slopes": {
                kind: asdict(slope(LENGTHS, times[kind])) for kind in ("operations", "forward", "backward")
            },
        }
        for name, times in found.items()
    ]
    numbers = {
        "clock": "CPU time of the process",
        "shape": {"batch": 1, "heads": HEADS, "d_head": D_HEAD, "lengths": LENGTHS},
        "repeats": chosen.repeats,
        "layers": rows,
    }
    results.store("costs", numbers, command="python benchmarks/costs.py", path=chosen.out)


def layers() -> dict[str, Callable[[Tensor], Tensor]]:
    """Return each layer as a function of x (1, n, 3 · width): of its first third, or of q, k and v."""
    recurrent = nn.RNN(WIDTH, WIDTH, batch_first=True)
    convolution = nn.Conv1d(WIDTH, WIDTH, 3, padding=2)
    mixtures = torch.randn(256, max(LENGTHS)) / math.sqrt(max(LENGTHS))

    def with_heads(attend: Callable[..., Tensor]) -> Callable[[Tensor], Tensor]:
        def layer(x: Tensor) -> Tensor:
            return attend(*(part.unflatten(-1, (HEADS, D_HEAD)).transpose(1, 2) for part in x.chunk(3, -1)))

        return layer

    return {
        "recurrent network": lambda x: recurrent(x[..., :WIDTH])[0],
        "convolution, kernel 3": lambda x: convolution(x[..., :WIDTH].mT)[..., : x.shape[1]],
        "self-attention": with_heads(lambda q, k, v: attention(q, k, v, is_causal=True)),
        "Sparse Transformer, strided": with_heads(sparse.strided),
        "Reformer, LSH": with_heads(lambda q, k, v: sparse.lsh(q, v, is_causal=True)),
        "Linformer, 256 mixtures": with_heads(
            lambda q, k, v: linear.linformer_attention(q, k, v, mixtures[:, : q.shape[-2]])
        ),
        "Linear Transformer": with_heads(lambda q, k, v: linear.linear_attention(q, k, v, is_causal=True)),
    }


def forward(layer: Callable[[Tensor], Tensor], x: Tensor) -> Callable[[], None]:
    """Return one forward pass without a gradient, to be timed."""

    def run() -> None:
        with torch.no_grad():
            layer(x)

    return run


def backward(layer: Callable[[Tensor], Tensor], x: Tensor) -> Callable[[], None]:
    """Return a forward and a backward pass, to be timed."""
    x = x.clone().requires_grad_()
    return lambda: layer(x).sum().backward()


if __name__ == "__main__":
    main()
