"""The other road: chunked rules beside the published code, parity, and what layers of softmax buy in a stack.

    PYTHONPATH=.cache/peers python benchmarks/road.py speed [--repeats 5] [--out FILE]
    python benchmarks/road.py parity
    python benchmarks/road.py hybrids
    python benchmarks/road.py wide

Each writes results/road-NAME.json. `speed` needs the transformers of benchmarks/requirements.txt; its ratios
are those of times measured side by side in the same rounds. The others have learning rates of their own for
each row, and three seeds; finished runs are kept in .cache. `wide` is a control of `hybrids`, at its rate.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook import results
from attnbook.benchmark import compare
from attnbook.experiments import Comparison, around, sweep
from attnbook.experiments.hybrids import Hybrid
from attnbook.experiments.parity import Parity
from attnlab.linear import delta_rule, gated_linear_attention

CACHE = Path(__file__).parents[1] / ".cache/runs"
SEEDS = range(3)
HEADS, D = 8, 64
LENGTHS = (128, 256, 512, 1024, 2048, 4096)
LONGEST = {"Kimi Delta Attention": 1024}
"""The published code makes tables of chunk · chunk · d numbers: it soon asks for gigabytes."""

# --- speed -------------------------------------------------------------------------------------------------


def ours(q: Tensor, k: Tensor, v: Tensor, beta: Tensor, decay: Tensor) -> Tensor:
    """Run our delta rule in the published layout (batch, n, heads, d), with all that their function does."""
    q, k, v, beta = (x.transpose(1, 2) for x in (q, k, v, beta))
    decay = decay.transpose(1, 2)
    decay = decay if decay.dim() == 4 else decay[..., None]
    q, k = F.normalize(q, dim=-1) * D**-0.5, F.normalize(k, dim=-1)
    return delta_rule(q, k, v, beta[..., None], log_decay=decay).transpose(1, 2)


def ours_mamba2(q: Tensor, k: Tensor, v: Tensor, step: Tensor, a: Tensor) -> Tensor:
    """Run our gated linear attention as Mamba-2's core."""
    q, k, v, step = (x.transpose(1, 2) for x in (q, k, v, step[..., None]))
    return gated_linear_attention(q, k, step * v, a[:, None, None] * step).transpose(1, 2)


def pairs() -> dict[str, tuple[Callable, Callable]]:
    """Return for each rule the published function, on our arguments, and ours."""

    def published(family: str, name: str) -> Callable:
        return getattr(import_module(f"transformers.models.{family}.modeling_{family}"), name)

    rule = published("qwen3_next", "torch_chunk_gated_delta_rule")
    kimi = published("kimi_linear", "chunk_kimi_delta_attention")
    scan = published("mamba2", "mamba2_chunk_scan")
    unit = {"use_qk_l2norm_in_kernel": True}
    return {
        "gated delta rule": (lambda q, k, v, b, g: rule(q, k, v, g, b, **unit)[0], ours),
        "Kimi Delta Attention": (lambda q, k, v, b, g: kimi(q, k, v, g, b, **unit)[0], ours),
        # Its own default is chunks of 256; with those of 64, as ours has, it is faster.
        "Mamba-2": (lambda q, k, v, b, a: scan(v, b, a, k, q, chunk_size=64), ours_mamba2),
        "Mamba-2, chunks of 256": (lambda q, k, v, b, a: scan(v, b, a, k, q, chunk_size=256), ours_mamba2),
    }


def inputs(rule: str, n: int) -> list[Tensor]:
    """Return q, k, v, rates and (logarithms of) decays of one text."""
    draw = torch.Generator().manual_seed(n)
    q, k, v, decay = (torch.randn(1, n, HEADS, D, generator=draw) for _ in range(4))
    rate = torch.rand(1, n, HEADS, generator=draw)
    if rule.startswith("Mamba-2"):
        return [q, k, v, 0.1 * rate, -1.0 - torch.arange(HEADS)]
    decay = F.logsigmoid(decay) / 16
    return [q, k, v, rate, decay if rule.startswith("Kimi") else decay[..., 0]]


def prepare(function: Callable, given: list[Tensor], mode: str) -> Callable[[], object]:
    """Return what is measured: the function, with all its gradients or without."""
    gradient = mode != "forward"
    leaves = [x.clone().requires_grad_(gradient) for x in given]

    def run() -> object:
        with torch.set_grad_enabled(gradient):
            out = function(*leaves)
            return torch.autograd.grad(out, leaves, torch.ones_like(out)) if gradient else out

    return run


def speed(repeats: int) -> dict:
    """Let each published function and ours take turns."""
    found: dict = {}
    for (rule, both), n in itertools.product(pairs().items(), LENGTHS):
        if n > LONGEST.get(rule, n):
            continue
        given = inputs(rule, n)
        want, got = both[0](*given), both[1](*given)
        row = {"n": n, "apart": ((got - want).norm() / want.norm()).item()}
        for mode in ("forward", "forward and backward"):
            calls = dict(zip(("published", "ours"), (prepare(f, given, mode) for f in both), strict=True))
            timed = compare(calls, repeats=repeats, clock=time.process_time)
            row[mode] = timed.summary() | {"published / ours": timed.ratio("published", "ours")}
        found.setdefault(rule, []).append(row)
        print(rule, n, {mode: round(row[mode]["published / ours"], 2) for mode in list(row)[2:]}, flush=True)
    shape = {"batch": 1, "heads": HEADS, "d": D, "dtype": "float32", "threads": 1}
    return {"clock": "CPU time of the process", "shape": shape, "repeats": repeats, "rules": found}


# --- training ----------------------------------------------------------------------------------------------


def parity() -> Comparison:
    """Train each layer of `parity.LAYERS`; all but the last are at chance at every rate."""
    centres = {"softmax": 0.01, "gate": 0.02, "delta, β ≤ 1": 0.04, "delta, β ≤ 2": 0.04}
    rows = {name: Parity(name) for name in centres}
    # As far as the rates at which its rival, with β up to 2, is always right.
    wide = {"delta, β ≤ 1": 5}
    return swept(rows, centres, "right", at_edge=tuple(centres)[:-1], wide=wide, level=0.99)


def hybrids() -> Comparison:
    """Train stacks of four layers with more and more of softmax; one of it at either end."""
    centres = {"dddd": 0.004, "dddS": 0.01, "Sddd": 0.01, "dSdS": 0.01, "dSSS": 0.01, "SSSS": 0.01}
    # Without softmax it still improves after 1,000 steps, and is given more.
    rows = {name: Hybrid(name.lower(), steps=1000 if "S" in name else 4000) for name in centres}
    return swept(rows, centres, "recalled", level=0.9, tie=0.005)


def wide(d_head: int = 64) -> dict:
    """Train the stack without softmax once more, with more rows in a state than a text has pairs."""
    rate, cache = results.sweep("road-hybrids")["dddd"].rate, CACHE / f"road-wide-{d_head}.json"
    done = json.loads(cache.read_text()) if cache.exists() else {}
    stack = Hybrid("dddd", d_head=d_head, steps=4000)
    for seed in SEEDS:
        if str(seed) not in done:
            run = stack(rate, seed)
            curve = [round(point, 4) for point in run.curve]
            done[str(seed)] = {"value": run.value, "steps": len(curve) * run.every, "curve": curve}
            cache.parent.mkdir(parents=True, exist_ok=True)
            cache.write_text(json.dumps(done))
            print(seed, done[str(seed)], flush=True)
    return {"settings": dataclasses.asdict(stack), "rate": rate, "runs": done}


def swept(
    rows: Mapping,
    centres: Mapping[str, float],
    measure: str,
    *,
    at_edge: tuple[str, ...] = (),
    wide: Mapping[str, int] | None = None,
    **how: float,
) -> Comparison:
    """Sweep each row around a rate of its own, or read from the cache what is there."""
    out = None
    for name, candidate in rows.items():
        one = sweep(
            {name: candidate},
            rates=around(centres[name], n=(wide or {}).get(name, 3)),
            seeds=SEEDS,
            scout=1,
            measure=measure,
            widen=0 if name in at_edge else 4,
            may_end_at_edge=at_edge,
            cache=CACHE / f"road-{measure}-{name.replace(' ', '')}.json",
            **how,
        )
        print(one.as_table(), flush=True)
        out = one if out is None else dataclasses.replace(out, rows={**out.rows, **one.rows})
    return out


def main() -> None:
    """Measure or train, and store."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("what", choices=("speed", "parity", "hybrids", "wide"))
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--out", type=Path, help="another file, for a trial")
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    results.begin(chosen.out)
    options: dict = {"command": f"python benchmarks/road.py {chosen.what}", "path": chosen.out}
    if chosen.what == "speed":
        numbers, options["packages"] = speed(chosen.repeats), ("transformers",)
    elif chosen.what == "wide":
        numbers, options["seeds"] = wide(), SEEDS
    else:
        numbers = {"sweeps": {chosen.what: {"parity": parity, "hybrids": hybrids}[chosen.what]()}}
        options["seeds"] = SEEDS
    results.store(f"road-{chosen.what}", numbers, **options)


if __name__ == "__main__":
    main()
