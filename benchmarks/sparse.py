"""Sparse attention beside the packages people use: time and memory, into benchmarks/results/sparse.json.

    python benchmarks/sparse.py [--sizes 512 ... 16384] [--repeats 7] [--parts times alone memory]

Batch 1, 8 heads of 64, single precision. All candidates of a size run in turn, round after round; kept are
medians and the ratios within rounds. On a CPU the clock counts the seconds that this process computed. The
packages to compare with are in benchmarks/requirements.txt; one that is missing is said to be missing.

"times" are taken in one process. There a package that allocates much finds memory that another has freed; in
a process of its own it must ask the system for it, page by page, and takes up to 1.7 times as long. "alone"
times each pair in a fresh process; both are written down.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab import masks, sparse
from attnlab.benchmark import Clock, ceilings, compare, peak_memory, provenance, slope, store

RESULTS = Path(__file__).parent / "results" / "sparse.json"
HEADS, WIDTH = 8, 64
REACH, CHUNK, BLOCK, HASHES = 128, 64, 64, 4
PEERS = ("local-attention", "reformer-pytorch", "transformers")
Form = Callable[[Tensor, Tensor, Tensor], Tensor]


def causal_sdpa(n: int, device: str) -> Form:
    """F.scaled_dot_product_attention, which skips what lies above the diagonal."""
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)


def masked_sdpa(n: int, device: str) -> Form:
    """F.scaled_dot_product_attention under the window as a mask: all n² scores are computed."""
    mask = masks.window(n, REACH, 0, device=device)
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def module(n: int, device: str) -> Form:
    """nn.MultiheadAttention, causal, without weights; its four projections are in its time."""
    layer = torch.nn.MultiheadAttention(HEADS * WIDTH, HEADS, batch_first=True, device=device)
    mask = torch.nn.Transformer.generate_square_subsequent_mask(n, device=device)

    def run(q, k, v):
        x, y, z = (t.transpose(1, 2).flatten(2) for t in (q, k, v))
        return layer(x, y, z, attn_mask=mask, is_causal=True, need_weights=False)[0]

    return run


def local_attention(n: int, device: str) -> Form:
    """LocalAttention of local-attention, with exactly our window."""
    from local_attention import LocalAttention

    options = {"look_backward": 1, "use_rotary_pos_emb": False, "exact_windowsize": True}
    return LocalAttention(window_size=REACH, causal=True, **options)


def reformer(n: int, device: str) -> Form:
    """LSHAttention of reformer-pytorch: as many rounds, buckets of the same size."""
    from reformer_pytorch.reformer_pytorch import LSHAttention

    layer = LSHAttention(bucket_size=CHUNK, n_hashes=HASHES, causal=True).to(device)
    return lambda q, k, v: layer(q.flatten(0, 1), v.flatten(0, 1))[0].view_as(v)


def hugging_face(n: int, device: str) -> Form:
    """BigBird of transformers without its projections, in evaluation mode: it draws no random blocks."""
    from transformers import BigBirdConfig
    from transformers.models.big_bird import modeling_big_bird as big_bird

    config = BigBirdConfig(hidden_size=HEADS * WIDTH, num_attention_heads=HEADS, block_size=BLOCK,
                           num_random_blocks=3, attention_probs_dropout_prob=0.0)  # fmt: skip
    layer = big_bird.BigBirdBlockSparseAttention(config).to(device).eval()
    all_of_them = torch.ones(1, n, device=device)
    blocked, band, rows, columns = big_bird.BigBirdModel.create_masks_for_block_sparse_attn(
        all_of_them, BLOCK
    )

    def run(q, k, v):
        out, _ = layer.bigbird_block_sparse_attention(
            q, k, v, band, rows, columns, blocked, blocked, HEADS, 3, WIDTH, BLOCK, BLOCK, 1, n, n,
            seed=0, plan_from_length=None, plan_num_rand_blocks=None, output_attentions=False)  # fmt: skip
        return out

    return run


def our_big_bird(n: int, device: str) -> Form:
    """As many keys as BigBird of transformers sees: three blocks near, two global, three random."""
    ends = [*range(BLOCK), *range(n - BLOCK, n)]
    return lambda q, k, v: sparse.big_bird(q, k, v, 96, global_tokens=ends, n_random=3, block_size=BLOCK)


# name -> (how to make it for a length, longest length it is run at)
CANDIDATES: dict[str, tuple[Callable[[int, str], Form], int]] = {
    "SDPA, causal": (causal_sdpa, 16384),
    "SDPA, window as a mask": (masked_sdpa, 8192),
    "nn.MultiheadAttention, causal": (module, 4096),
    "window": (lambda n, device: lambda q, k, v: sparse.window(q, k, v, REACH, 0), 16384),
    "local-attention": (local_attention, 16384),
    "strided": (lambda n, device: sparse.strided, 16384),
    "fixed": (lambda n, device: sparse.fixed, 16384),
    "big_bird": (our_big_bird, 16384),
    "transformers BigBird": (hugging_face, 16384),
    "lsh": (
        lambda n, device: lambda q, k, v: sparse.lsh(q, v, n_hashes=HASHES, block_size=CHUNK, seed=0),
        16384,
    ),
    "reformer-pytorch": (reformer, 16384),
}
PAIRS = [  # (ours, theirs, wanted at least, from n, to n), forward and with backward
    ("window", "local-attention", (4.0, 3.0), 4096, 16384),
    ("window", "SDPA, causal", (1.0, 1.0), 512, 16384),
    ("strided", "SDPA, causal", (4.0, 4.0), 8192, 8192),
    ("fixed", "SDPA, causal", (4.0, 4.0), 8192, 8192),
    ("big_bird", "transformers BigBird", (4.0, 4.0), 4096, 16384),
    ("lsh", "reformer-pytorch", (1.5, 1.5), 4096, 16384),
]


def inputs(n: int, device: str, seed: int = 0) -> list[Tensor]:
    """Draw q, k, v and a gradient."""
    torch.manual_seed(seed)
    return [torch.randn(1, HEADS, n, WIDTH, device=device) for _ in range(4)]


def forward(form: Form, n: int, device: str) -> Callable[[], object]:
    """Return the forward pass alone, without a graph."""
    q, k, v, _ = inputs(n, device)

    def run():
        with torch.no_grad():
            form(q, k, v)

    return run


def both(form: Form, n: int, device: str) -> Callable[[], object]:
    """Return forward and backward pass."""
    *leaves, grad = inputs(n, device)

    def run():
        fresh = [x.detach().requires_grad_() for x in leaves]
        out = form(*fresh)
        out.backward(grad.view_as(out) if out.numel() == grad.numel() else grad)

    return run


PASSES = {"forward": forward, "forward and backward": both}


def runnable(names, device: str) -> tuple[dict, dict[str, str]]:
    """Split the candidates into those that can run here and those that cannot, with the reason."""
    there, missing = {}, {}
    for name in names:
        try:
            CANDIDATES[name][0](1024, device)
            there[name] = CANDIDATES[name]
        except ImportError as error:
            missing[name] = f"not installed: {error}"
            print(f"{name} is left out, {missing[name]}", flush=True)
    return there, missing


def peak(name: str, n: int, which: str, threads: int) -> int:
    """Measure the peak memory of one candidate in a process of its own."""
    setup = f"""
import runpy, torch
torch.set_num_threads({threads})
bench = runpy.run_path({str(Path(__file__))!r})
make, run = bench["CANDIDATES"][{name!r}][0], bench["PASSES"][{which!r}]
run(make(1024, "cpu"), 1024, "cpu")()
once = run(make({n}, "cpu"), {n}, "cpu")
"""
    return peak_memory("once()", setup)


def alone(pair: tuple[str, str], n: int, threads: int) -> dict[str, float]:
    """Time a pair in a process of its own: no third package has grown the heap for either of them."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "pair.json"
        options = ["--parts", "times", "--only", *pair, "--sizes", n, "--repeats", 5]
        options += ["--threads", threads, "--out", out]
        subprocess.run([sys.executable, __file__, *map(str, options)], check=True, capture_output=True)
        found = json.loads(out.read_text())["ratios"]
    return {which: found[which][f"{pair[0]} against {pair[1]}"][str(n)] for which in PASSES}


def main() -> None:
    """Read the command line, measure and write."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = ("times", "alone", "memory")
    arguments.add_argument("--sizes", nargs="+", type=int, default=[512, 1024, 2048, 4096, 8192, 16384])
    arguments.add_argument("--repeats", type=int, default=7)
    arguments.add_argument("--threads", type=int, default=1)
    arguments.add_argument("--only", nargs="+", choices=CANDIDATES, default=list(CANDIDATES))
    arguments.add_argument(
        "--parts", nargs="+", choices=parts, default=list(parts), help="the others are kept"
    )
    arguments.add_argument("--out", type=Path, default=RESULTS)
    chosen = arguments.parse_args()
    torch.set_num_threads(chosen.threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    clock = time.perf_counter if device == "cuda" or chosen.threads > 1 else time.process_time
    there, missing = runnable(chosen.only, device)
    results = json.loads(chosen.out.read_text()) if chosen.out.exists() else {}
    results |= {
        "made by": "python benchmarks/sparse.py",
        "shape": {"batch": 1, "heads": HEADS, "width": WIDTH, "dtype": "float32"},
        "settings": {
            "window": REACH,
            "chunk": CHUNK,
            "block": BLOCK,
            "hashes": HASHES,
            "stride": "round(sqrt(n))",
        },
        "clock": f"time.{clock.__name__}",
        "machine": provenance(*PEERS),
        "ceilings": ceilings(clock=clock),
        "missing": missing,
    }
    if "times" in chosen.parts:
        results["seconds"] = {which: {} for which in PASSES}
        results["ratios"] = {which: {} for which in PASSES}
        for n in chosen.sizes:
            for which in PASSES:
                times(results, there, n, which, device, chosen.repeats, clock)
                store(chosen.out, results)
        results["slopes"] = {which: slopes(by_size) for which, by_size in results["seconds"].items()}
        store(chosen.out, results)
    if "alone" in chosen.parts and device == "cpu":
        for ours, theirs, *_ in PAIRS:
            if theirs == "SDPA, causal":  # it allocates nothing to speak of
                continue
            for n in (n for n in (4096, 8192, 16384) if n in chosen.sizes and {ours, theirs} <= set(there)):
                ratios = alone((ours, theirs), n, chosen.threads)
                results.setdefault("ratios alone", {}).setdefault(f"{ours} against {theirs}", {})[str(n)] = (
                    ratios
                )
                print(f"{n} alone: {ours} against {theirs} {ratios}", flush=True)
                store(chosen.out, results)
    if "memory" in chosen.parts and device == "cpu":
        for n in (n for n in (4096, 16384) if n in chosen.sizes):
            for which in PASSES:
                of_size = results.setdefault("peak bytes", {}).setdefault(which, {}).setdefault(str(n), {})
                for name in (name for name, (_, most) in there.items() if n <= most):
                    of_size[name] = peak(name, n, which, chosen.threads)
                    store(chosen.out, results)
                print(
                    n, which, {name: f"{size / 2**20:.0f} MiB" for name, size in of_size.items()}, flush=True
                )


def times(results: dict, there: dict, n: int, which: str, device: str, repeats: int, clock: Clock) -> None:
    """Time all candidates of one size in turn, and note medians and ratios."""
    forms = {name: make(n, device) for name, (make, most) in there.items() if n <= most}
    timed = {name: PASSES[which](form, n, device) for name, form in forms.items()}
    result = compare(timed, repeats=max(3, min(repeats, repeats * 8192 // n)), clock=clock)
    base = "SDPA, causal" if "SDPA, causal" in timed else None
    results["seconds"][which][str(n)] = result.summary(base)
    for ours, theirs, *_ in PAIRS:
        if ours in timed and theirs in timed:
            ratio = result.ratio(theirs, ours)
            results["ratios"][which].setdefault(f"{ours} against {theirs}", {})[str(n)] = ratio
            print(f"{n:6d} {which:21s} {ours} {ratio:.2f} times as fast as {theirs}", flush=True)


def slopes(by_size: dict[str, dict]) -> dict[str, dict[str, float | None]]:
    """Fit the exponent of each candidate's time from 2048 tokens on."""
    out = {}
    sizes = [n for n in by_size if int(n) >= 2048]
    for name in {name: None for n in sizes for name in by_size[n]}:
        points = [(int(n), by_size[n][name]["median"]) for n in sizes if name in by_size[n]]
        if len(points) > 1:
            fit = slope(*zip(*points, strict=True))
            error = None if math.isnan(fit.error) else fit.error
            out[name] = {"exponent": fit.exponent, "error": error, "sizes": len(points)}
    return out


if __name__ == "__main__":
    main()
