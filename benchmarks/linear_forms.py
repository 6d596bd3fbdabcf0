"""Time the causal forms whose recall benchmarks/recall.py measures, row by row: a whole text, and one step.

    python benchmarks/linear_forms.py [--repeats 5]

Writes results/linear-forms.json. All linear forms have as many features as a key has numbers, and FAVOR+ once
more four times as many, as there. A step is timed with a text of n tokens behind it: for softmax a cache of n
keys and values, for the others a state. Lengths begin where softmax is ahead of every form, so that the
crossing is seen.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import asdict

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook import results
from attnbook.benchmark import compare, slope
from attnlab import linear

HEADS, D = 8, 64
LENGTHS = tuple(64 * 2**p for p in range(8))
BEHIND = tuple(1024 * 4**p for p in range(4))
FITTED = 2048
"""Exponents are fitted from this length on."""
Form = Callable[..., Tensor]


def normal(*shape: int, seed: int) -> Tensor:
    """Return the same normal numbers at every call."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def inputs(n: int) -> dict[str, Tensor]:
    """Return queries, keys of length 1, values, rates, and the logarithms of mild decays."""
    q, k, v = (normal(1, HEADS, n, D, seed=seed) for seed in range(3))
    rate = normal(1, HEADS, n, 1, seed=3).sigmoid()
    return {"q": D**-0.5 * q, "k": F.normalize(k, dim=-1), "v": v, "rate": rate, "decay": rate.log() / 16}


def maps() -> dict[str, Callable[[Tensor], Tensor]]:
    """Return the feature maps of the rows that have one."""
    draw = torch.Generator().manual_seed(0)
    few, many = (linear.PositiveFeatures.draw(D, m, generator=draw) for m in (D, 4 * D))
    return {"elu + 1": linear.elu_plus_one, "FAVOR+": few, "FAVOR+, 4 times the features": many}


def whole(x: dict[str, Tensor]) -> dict[str, Callable[[], Tensor]]:
    """Return each form as a call over a whole text."""
    q, k, v, rate, decay = x.values()
    calls = {"softmax": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)}
    for name, phi in maps().items():
        calls[name] = lambda phi=phi: linear.linear_attention(q, k, v, features=phi, is_causal=True)
    return calls | {
        "gate": lambda: linear.gated_linear_attention(q, k, v, decay),
        "delta rule": lambda: linear.delta_rule(q, k, v, rate),
        "gate and delta": lambda: linear.delta_rule(q, k, v, rate, log_decay=decay),
    }


def steps(n: int) -> tuple[dict[str, Callable[[], object]], dict[str, int]]:
    """Return each form as a call for one more token behind n others, and the bytes that it keeps of them."""
    token = {name: x[..., 0, :] for name, x in inputs(1).items()}
    q, k, v, rate, decay = token.values()
    cache = [normal(1, HEADS, n, D, seed=seed) for seed in (4, 5)]
    calls: dict[str, Callable[[], object]] = {
        "softmax": lambda: F.scaled_dot_product_attention(q[..., None, :], *cache)
    }
    kept = {"softmax": sum(x.nbytes for x in cache)}
    for name, phi in maps().items():
        _, state = linear.linear_step(q, k, v, features=phi)
        calls[name] = lambda phi=phi, state=state: linear.linear_step(q, k, v, state, features=phi)
        kept[name] = sum(x.nbytes for x in state)
    state = normal(1, HEADS, D, D, seed=6)
    kept |= dict.fromkeys(("gate", "delta rule", "gate and delta"), state.nbytes)
    return calls | {
        "gate": lambda: linear.gated_step(q, k, v, decay, state),
        "delta rule": lambda: linear.delta_step(q, k, v, rate, state),
        "gate and delta": lambda: linear.delta_step(q, k, v, rate, state, log_decay=decay),
    }, kept


def with_backward(n: int) -> dict[str, Callable[[], object]]:
    """Return each form over a whole text, with the gradient of everything it read."""
    x = {name: t.requires_grad_() for name, t in inputs(n).items()}
    x["decay"] = x["decay"].detach().requires_grad_()

    def run(call: Callable[[], Tensor]) -> object:
        out = call()
        return torch.autograd.grad(out, list(x.values()), torch.ones_like(out), allow_unused=True)

    return {name: lambda call=call: run(call) for name, call in whole(x).items()}


def main() -> None:
    """Measure and store."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeats", type=int, default=5)
    repeats = arguments.parse_args().repeats
    torch.set_num_threads(1)
    results.begin()
    how = {"repeats": repeats, "clock": time.process_time}
    seconds: dict[str, dict] = {"forward": {}, "forward and backward": {}, "a step": {}}
    kept: dict[str, dict[str, int]] = {}
    for n in LENGTHS:
        with torch.no_grad():
            seconds["forward"][str(n)] = compare(whole(inputs(n)), **how).summary()
        seconds["forward and backward"][str(n)] = compare(with_backward(n), **how).summary()
        print(
            n,
            {name: round(1e3 * t["median"], 2) for name, t in seconds["forward"][str(n)].items()},
            flush=True,
        )
    for n in BEHIND:
        calls, kept[str(n)] = steps(n)
        with torch.no_grad():
            found = compare(
                {name: lambda call=call: [call() for _ in range(20)] for name, call in calls.items()}, **how
            )
        seconds["a step"][str(n)] = {
            name: {"median": t["median"] / 20, "spread": t["spread"]} for name, t in found.summary().items()
        }
        print(
            n, {name: round(1e6 * t["median"]) for name, t in seconds["a step"][str(n)].items()}, flush=True
        )
    exponents = {}
    for mode in ("forward", "forward and backward"):
        long = [n for n in LENGTHS if n >= FITTED]
        exponents[mode] = {
            name: asdict(slope(long, [seconds[mode][str(n)][name]["median"] for n in long]))
            for name in seconds[mode][str(FITTED)]
        }
    shape = {"batch": 1, "heads": HEADS, "d_head": D, "features": D, "dtype": "float32"}
    numbers = {"clock": "CPU time of the process", "shape": shape, "repeats": repeats}
    numbers |= {"seconds": seconds, "bytes kept": kept, f"exponents from {FITTED}": exponents}
    results.store("linear-forms", numbers, command="python benchmarks/linear_forms.py")


if __name__ == "__main__":
    main()
