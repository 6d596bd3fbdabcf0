"""Time linear attention against causal SDPA and the packages people use, and measure its memory.

    python -m pip install --no-deps --target .cache/peers -r benchmarks/requirements.txt
    PYTHONPATH=.cache/peers python benchmarks/linear.py --out FILE [--repeats 5]
                        [--longest 16384]

Writes medians, spreads, ratios measured side by side in one run, slopes, peak
memory, and what each package gets wrong. A package that is not installed is left out, and the file says so.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import itertools
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook import results
from attnbook.benchmark import compare, peak_memory, slope
from attnlab import linear

PACKAGES = ("flash-linear-attention", "linear-attention-transformer", "performer-pytorch", "linformer")
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
HEADS, D, FEATURES, MIXTURES = 8, 64, 256, 256
Attention = Callable[[Tensor, Tensor, Tensor], Tensor]


def main() -> None:
    """Measure everything and store it."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--longest", type=int, default=LENGTHS[-1])
    arguments.add_argument("--out", type=Path, required=True, help="the file to write: no chapter shows it")
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    results.begin(chosen.out)
    lengths = [n for n in LENGTHS if n <= chosen.longest]
    candidates, missing = collect(lengths[-1])
    for line in missing:
        print(f"left out: {line}")
    numbers = {
        "clock": "CPU time of the process",
        "shape": {"batch": 1, "heads": HEADS, "d_head": D, "features": FEATURES, "mixtures": MIXTURES},
        "repeats": chosen.repeats,
        "left out": missing,
        "checked": {name: check(name, candidates) for name in candidates},
        "seconds": {},
        "memory": {},
    }
    # Stored after every row: what is measured so far survives an interruption.
    modes = ("forward", "forward and backward")
    for mode, n in itertools.product(modes, lengths):
        row = measure(candidates, n, mode, chosen.repeats, time.process_time)
        numbers["seconds"].setdefault(mode, {})[str(n)] = row
        print(mode, n, {name: round(1e3 * times["median"], 1) for name, times in row.items()}, flush=True)
        finish(numbers, chosen.out)
    for mode, n in itertools.product(modes, [n for n in lengths if n >= 2048]):
        asked = [name for name, (_, most) in candidates.items() if n <= most]
        numbers["memory"].setdefault(mode, {})[str(n)] = {
            name: bytes_at_peak(name, n, mode) for name in asked
        }
        finish(numbers, chosen.out)
    print_summary(numbers)


def finish(numbers: dict, path: Path) -> None:
    """Store what has been measured, with its slopes and ratios."""
    numbers["slopes from 2048"] = slopes(numbers)
    numbers["ratios"] = ratios(numbers["seconds"])
    results.store("linear", numbers, command="python benchmarks/linear.py", packages=PACKAGES, path=path)


# Candidates: name -> (function of q, k, v, longest length it is asked for)


def collect(longest: int, wanted: str = "") -> tuple[dict[str, tuple[Attention, int]], list[str]]:
    """Return the candidates that are installed, up to the `wanted` one, and a line about each that is not."""
    found, missing = ours(longest), []
    for package, make in zip(PACKAGES, (fla, transformer_package, performer, linformer_package), strict=True):
        if wanted in found:
            break
        try:
            with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                found |= make(longest)
        except (ImportError, FileNotFoundError) as error:
            missing.append(f"{package}: {error}")
    return found, missing


def random(*shape: int, seed: int = 1) -> Tensor:
    """Return the same normal numbers at every call."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def rates(n: int) -> Tensor:
    """Return gates or rates between 0 and 1 for n tokens."""
    return torch.sigmoid(random(1, HEADS, n, 1, seed=2))


def decay(n: int) -> Tensor:
    """Return the logarithms of mild decays, one for every row of the state."""
    return F.logsigmoid(random(1, HEADS, n, D, seed=3)) / 16


def ours(longest: int) -> dict:
    """Return this book's functions and torch's own attention."""
    projection = linear.orthogonal_gaussian(FEATURES, D, generator=torch.Generator().manual_seed(0))
    favor = linear.PositiveFeatures(projection)
    fourier = linear.FourierFeatures(projection[: FEATURES // 2])
    mix = random(2, MIXTURES, LENGTHS[-1]) / 16
    attend = linear.linear_attention

    def mixed(q, k, v):
        return linear.linformer_attention(q, k, v, mix[0], mix[1])

    functions = {
        "causal SDPA": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        "ours: linear, causal": lambda q, k, v: attend(q, k, v, is_causal=True),
        "ours: FAVOR+, causal": lambda q, k, v: attend(q, k, v, features=favor, is_causal=True),
        "ours: RFA with gate, causal": lambda q, k, v: attend(
            q, k, v, features=fourier, gate=rates(q.shape[-2]), is_causal=True
        ),
        "ours: gated": lambda q, k, v: linear.gated_linear_attention(q, k, v, decay(q.shape[-2])),
        "ours: delta rule": lambda q, k, v: linear.delta_rule(
            D**-0.5 * q, F.normalize(k, dim=-1), v, rates(q.shape[-2])
        ),
        "ours: linear": attend,
        "ours: FAVOR+": lambda q, k, v: attend(q, k, v, features=favor),
        "ours: Linformer": mixed,
    }
    return {name: (function, longest) for name, function in functions.items()}


def fla(longest: int) -> dict:
    """Return flash-linear-attention's plain-torch forms, loaded as files: the package wants a GPU."""
    folder = importlib.util.find_spec("fla")
    if folder is None or not folder.submodule_search_locations:
        raise ImportError("not installed")
    ops = Path(next(iter(folder.submodule_search_locations))) / "ops"

    def load(name: str):
        spec = importlib.util.spec_from_file_location(f"fla_{name}", ops / name / "naive.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    chunk, delta = load("linear_attn").naive_chunk_linear_attn, load("delta_rule").delta_rule_chunkwise
    recurrent = load("gla").naive_recurrent_gla

    def linear_causal(q, k, v):  # (batch, n, heads, d) is its layout
        q, k = F.elu(q) + 1, F.elu(k) + 1
        return chunk(*(x.transpose(1, 2) for x in (q, k, v)), normalize=True).transpose(1, 2)

    def delta_rule(q, k, v):
        return delta(q, F.normalize(k, dim=-1), v, rates(q.shape[-2])[..., 0])[0]

    def gated(q, k, v):
        inputs = (D**0.5 * q, k, v, decay(q.shape[-2]))
        return recurrent(*(x.transpose(1, 2) for x in inputs))[0].transpose(1, 2)

    return {
        "fla: linear, chunked, plain torch": (linear_causal, longest),
        "fla: delta rule, chunked, plain torch": (delta_rule, min(longest, 8192)),
        "fla: gated, recurrent, plain torch": (gated, min(longest, 1024)),
    }


def transformer_package(longest: int) -> dict:
    """Return linear-attention-transformer's functions: softmax over features, and its causal forms.

    The causal one reads the sums of earlier buckets alone: with its 64 tokens a bucket a query sees neither
    itself nor its neighbours. With 1 token a bucket it is exact, and needs memory for n·d·d numbers.
    """
    from linear_attention_transformer.linear_attention_transformer import causal_linear_attn, linear_attn

    def exact(q, k, v):
        return causal_linear_attn(q, k, v, bucket_size=1)

    return {
        "linear-attention-transformer, causal": (causal_linear_attn, longest),
        "linear-attention-transformer, causal, exact": (exact, min(longest, 1024)),
        "linear-attention-transformer": (linear_attn, longest),
    }


def performer(longest: int) -> dict:
    """Return performer-pytorch's attention. Its causal form needs memory for n·m·d numbers: short texts."""
    from performer_pytorch import FastAttention

    torch.manual_seed(0)
    return {
        "performer-pytorch": (FastAttention(D, FEATURES), longest),
        "performer-pytorch, causal": (FastAttention(D, FEATURES, causal=True), min(longest, 1024)),
    }


def linformer_package(longest: int) -> dict:
    """Return linformer's layer, and ours with its weights: both with the projections before and after."""
    from linformer import LinformerSelfAttention

    torch.manual_seed(0)
    layer = LinformerSelfAttention(HEADS * D, LENGTHS[-1], k=MIXTURES, heads=HEADS)

    def theirs(q, k, v):
        return layer(q.transpose(1, 2).flatten(2))

    def own(q, k, v):
        x = q.transpose(1, 2).flatten(2)
        q, k, v = (
            f(x).unflatten(-1, (HEADS, D)).transpose(1, 2) for f in (layer.to_q, layer.to_k, layer.to_v)
        )
        out = linear.linformer_attention(q, k, v, layer.proj_k.T, layer.proj_v.T)
        return layer.to_out(out.transpose(1, 2).flatten(2))

    return {"linformer, layer": (theirs, longest), "ours: Linformer, same layer": (own, longest)}


# Measurements


def inputs(n: int, *, gradient: bool) -> list[Tensor]:
    """Return q, k and v of length n."""
    scale = D**-0.5  # small enough for FAVOR+ to mean something, and for exp(k) not to overflow
    # In place: a temporary tensor would leave freed memory behind, which the measured function could use
    # unseen.
    return [random(1, HEADS, n, D, seed=i).mul_(scale).requires_grad_(gradient) for i in range(3)]


def prepare(function: Attention, n: int, mode: str) -> Callable[[], object]:
    """Return what is measured: the function, with its gradient or without."""
    gradient = mode != "forward"
    q, k, v = inputs(n, gradient=gradient)

    def run():
        with torch.set_grad_enabled(gradient):
            out = function(q, k, v)

            if not gradient:
                return out
            return torch.autograd.grad(out, (q, k, v), torch.ones_like(out), allow_unused=True)

    return run


def measure(candidates: dict, n: int, mode: str, repeats: int, clock: Callable[[], float]) -> dict:
    """Let all candidates take turns at one length."""
    calls = {name: prepare(f, n, mode) for name, (f, longest) in candidates.items() if n <= longest}
    return compare(calls, repeats=repeats, clock=clock).summary()


def bytes_at_peak(name: str, n: int, mode: str) -> int:
    """Return a candidate's peak memory beyond its inputs, in a process of its own."""
    setup = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import torch, linear as bench\n"
        f"torch.set_num_threads({torch.get_num_threads()})\n"
        f"function = bench.collect({n}, {name!r})[0][{name!r}][0]\n"
        f"bench.prepare(function, 256, {mode!r})()\n"
        f"run = bench.prepare(function, {n}, {mode!r})"
    )
    return peak_memory("run()", setup)


def check(name: str, candidates: dict) -> dict:
    """Say whether a later token changes earlier outputs, and whether the first outputs are there at all."""
    function = candidates[name][0]
    with torch.no_grad():
        q, k, v = (10 * x for x in inputs(256, gradient=False))
        out = function(q, k, v)
        q[..., -1, :] *= 3
        k[..., -1, :] *= 3
        v[..., -1, :] += 1
        change = (function(q, k, v) - out)[..., :-1, :].abs().max().item()
    return {"a later token changes earlier outputs by": change,
            "its first 64 outputs are zero": bool((out[..., :64, :] == 0).all())}  # fmt: skip


PAIRS = (
    ("causal SDPA", "ours: linear, causal"),
    ("fla: linear, chunked, plain torch", "ours: linear, causal"),
    ("linear-attention-transformer, causal", "ours: linear, causal"),
    ("linear-attention-transformer, causal, exact", "ours: linear, causal"),
    ("linear-attention-transformer", "ours: linear"),
    ("performer-pytorch", "ours: FAVOR+"),
    ("performer-pytorch, causal", "ours: FAVOR+, causal"),
    ("causal SDPA", "ours: FAVOR+, causal"),
    ("fla: delta rule, chunked, plain torch", "ours: delta rule"),
    ("fla: gated, recurrent, plain torch", "ours: gated"),
    ("linformer, layer", "ours: Linformer, same layer"),
)


def ratios(seconds: dict) -> dict:
    """Return how many times as long the first of each pair takes as the second."""
    out: dict = {}
    for mode, rows in seconds.items():
        for n, row in rows.items():
            for slow, fast in PAIRS:
                if slow in row and fast in row:
                    pair = out.setdefault(mode, {}).setdefault(f"{slow} / {fast}", {})
                    pair[n] = row[slow]["median"] / row[fast]["median"]
    return out


def slopes(numbers: dict) -> dict:
    """Return the exponents of time and of memory from 2048 tokens on, where there are three lengths."""
    out: dict = {}
    for kind in ("seconds", "memory"):
        for mode, rows in numbers[kind].items():
            long = {int(n): row for n, row in rows.items() if int(n) >= 2048}
            for name in numbers["checked"]:
                points = {n: row[name] for n, row in long.items() if name in row}
                values = [p["median"] if kind == "seconds" else p for p in points.values()]
                if len(points) >= 3 and min(values) > 0:
                    out.setdefault(f"{kind}, {mode}", {})[name] = asdict(slope(list(points), values))
    return out


def print_summary(numbers: dict) -> None:
    """Print the ratios, the slopes and the memory."""
    for mode, rows in numbers["ratios"].items():
        for pair, row in rows.items():
            print(f"{mode:20} {pair:75}", {n: round(value, 2) for n, value in row.items()})
    for what, rows in numbers["slopes from 2048"].items():
        print(what, {name: round(row["exponent"], 2) for name, row in rows.items()})
    for mode, rows in numbers["memory"].items():
        for n, row in rows.items():
            print("MiB,", mode, n, {name: round(value / 2**20) for name, value in row.items()})
    for name, row in numbers["checked"].items():
        print(name, row)


if __name__ == "__main__":
    sys.exit(main())
