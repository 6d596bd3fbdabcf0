"""Measure the table of costs: how time and counted operations of each kind of layer grow with the length.

    python benchmarks/costs.py [--repeats 5]

Writes benchmarks/results/costs.json: fitted exponents, medians, and what the machine could do at best.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from attnlab import attention, linear, sparse
from attnlab.benchmark import ceilings, compare, multiplications, provenance, slope, store

RESULTS = Path(__file__).parent / "results" / "costs.json"
HEADS, D_HEAD = 8, 64
WIDTH = HEADS * D_HEAD
LENGTHS = (2048, 4096, 8192, 16384)
PROFILED = 8192
"""The length at which each layer's time is split into torch's operations."""

# Name -> (operations, sequential steps, longest path) as the literature states them.
CLAIMS = {
    "recurrent network": ("n d²", "n", "n"),
    "convolution, kernel 3": ("3 n d²", "1", "n / 2"),
    "self-attention": ("n² d", "1", "1"),
    "Sparse Transformer, strided": ("n √n d", "1", "2"),
    "Reformer, LSH": ("n log n d", "log n", "log n"),
    "Linformer, 256 mixtures": ("256 n d", "1", "1"),
    "Linear Transformer": ("n d²/h", "1 or n", "1"),
}


def main() -> None:
    """Measure every layer at every length, and store the fits."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--threads", type=int, default=1)
    arguments.add_argument("--out", type=Path, default=RESULTS)
    chosen = arguments.parse_args()
    torch.set_num_threads(chosen.threads)
    torch.manual_seed(0)
    rows = []
    for name, layer in layers().items():
        times: dict[str, list[float]] = {"operations": [], "forward": [], "backward": []}
        for n in LENGTHS:
            x = torch.randn(1, n, 3 * WIDTH)
            times["operations"].append(multiplications(partial(layer, x)))
            passes = {"forward": forward(layer, x), "backward": backward(layer, x)}
            result = compare(passes, repeats=chosen.repeats)
            for kind in ("forward", "backward"):
                times[kind].append(result.median(kind))
        claim, steps, path = CLAIMS[name]
        rows.append(
            {
                "name": name,
                "claim": claim,
                "steps": steps,
                "path": path,
                "measured": times,
                "profile": profile(layer, torch.randn(1, PROFILED, 3 * WIDTH)),
                "slopes": {kind: asdict(slope(LENGTHS, values)) for kind, values in times.items()},
            }
        )
        print(name, {kind: round(fit["exponent"], 2) for kind, fit in rows[-1]["slopes"].items()}, flush=True)
    store(
        chosen.out,
        {
            "made by": "python benchmarks/costs.py",
            "machine": provenance("torch"),
            "shape": {"batch": 1, "heads": HEADS, "d_head": D_HEAD, "lengths": LENGTHS},
            "repeats": chosen.repeats,
            "profiled": PROFILED,
            "layers": rows,
            "ceilings": ceilings(),
        },
    )


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


def profile(layer: Callable[[Tensor], Tensor], x: Tensor) -> dict[str, float]:
    """Return the operations of a forward pass that take most of its time, as shares of it."""
    run = forward(layer, x)
    run()
    with torch.profiler.profile() as seen:
        run()
    times = {event.key.removeprefix("aten::"): event.self_cpu_time_total for event in seen.key_averages()}
    whole = sum(times.values())
    return {name: times[name] / whole for name in sorted(times, key=times.get, reverse=True)[:4]}


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
