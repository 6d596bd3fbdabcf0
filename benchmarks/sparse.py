"""Sparse attention beside torch's fused kernel, and beside the packages people use: time and memory.

    python benchmarks/sparse.py --out FILE [--peers] [--sizes 1024 ... 8192] [--repeats 5]

Attention alone, without the rest of a layer: batch 1, 8 heads of 64, single precision. All candidates of a
size run in turn, round after round, in seconds that this process computed; kept are medians and the ratios
within rounds. The packages to compare with are in benchmarks/requirements.txt; one that is missing is said to
be missing.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook import results
from attnbook.benchmark import compare, peak_memory, slope
from attnlab import masks, sparse

HEADS, WIDTH = 8, 64
REACH, CHUNK, BLOCK, HASHES = 128, 64, 64, 4
PEERS = ("local-attention", "reformer-pytorch", "transformers")
SHOWN = ("SDPA, causal", "window", "strided", "fixed")
"""What the chapter shows."""
Form = Callable[[Tensor, Tensor, Tensor], Tensor]


def causal_sdpa(n: int) -> Form:
    """F.scaled_dot_product_attention, which skips what lies above the diagonal."""
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)


def masked_sdpa(n: int) -> Form:
    """F.scaled_dot_product_attention under the window as a mask: all n² scores are computed."""
    mask = masks.window(n, REACH, 0)
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def module(n: int) -> Form:
    """nn.MultiheadAttention, causal, without weights; its four projections are in its time."""
    layer = torch.nn.MultiheadAttention(HEADS * WIDTH, HEADS, batch_first=True)
    mask = torch.nn.Transformer.generate_square_subsequent_mask(n)

    def run(q, k, v):
        x, y, z = (t.transpose(1, 2).flatten(2) for t in (q, k, v))
        return layer(x, y, z, attn_mask=mask, is_causal=True, need_weights=False)[0]

    return run


def local_attention(n: int) -> Form:
    """LocalAttention of local-attention, with exactly our window."""
    from local_attention import LocalAttention

    options = {"look_backward": 1, "use_rotary_pos_emb": False, "exact_windowsize": True}
    return LocalAttention(window_size=REACH, causal=True, **options)


def reformer(n: int) -> Form:
    """LSHAttention of reformer-pytorch: as many rounds, buckets of the same size."""
    from reformer_pytorch.reformer_pytorch import LSHAttention

    layer = LSHAttention(bucket_size=CHUNK, n_hashes=HASHES, causal=True)
    return lambda q, k, v: layer(q.flatten(0, 1), v.flatten(0, 1))[0].view_as(v)


def hugging_face(n: int) -> Form:
    """BigBird of transformers without its projections, in evaluation mode: it draws no random blocks."""
    from transformers import BigBirdConfig
    from transformers.models.big_bird import modeling_big_bird as big_bird

    config = BigBirdConfig(hidden_size=HEADS * WIDTH, num_attention_heads=HEADS, block_size=BLOCK,
                           num_random_blocks=3, attention_probs_dropout_prob=0.0)  # fmt: skip
    layer = big_bird.BigBirdBlockSparseAttention(config).eval()
    all_of_them = torch.ones(1, n)
    blocked, band, rows, columns = big_bird.BigBirdModel.create_masks_for_block_sparse_attn(
        all_of_them, BLOCK
    )

    def run(q, k, v):
        out, _ = layer.bigbird_block_sparse_attention(
            q, k, v, band, rows, columns, blocked, blocked, HEADS, 3, WIDTH, BLOCK, BLOCK, 1, n, n,
            seed=0, plan_from_length=None, plan_num_rand_blocks=None)  # fmt: skip
        return out

    return run


def our_big_bird(n: int) -> Form:
    """As many keys as BigBird of transformers sees: three blocks near, two global, three random."""
    ends = [*range(BLOCK), *range(n - BLOCK, n)]
    return lambda q, k, v: sparse.big_bird(q, k, v, 96, global_tokens=ends, n_random=3, block_size=BLOCK)


# name -> (how to make it for a length, longest length it is run at)
CANDIDATES: dict[str, tuple[Callable[[int], Form], int]] = {
    "SDPA, causal": (causal_sdpa, 16384),
    "SDPA, window as a mask": (masked_sdpa, 8192),
    "nn.MultiheadAttention, causal": (module, 4096),
    "window": (lambda n: lambda q, k, v: sparse.window(q, k, v, REACH, 0), 16384),
    "local-attention": (local_attention, 16384),
    "strided": (lambda n: sparse.strided, 16384),
    "fixed": (lambda n: sparse.fixed, 16384),
    "big_bird": (our_big_bird, 16384),
    "transformers BigBird": (hugging_face, 16384),
    "lsh": (
        lambda n: lambda q, k, v: sparse.lsh(q, v, n_hashes=HASHES, block_size=CHUNK, seed=0),
        16384,
    ),
    "reformer-pytorch": (reformer, 16384),
}
PAIRS = [  # (ours, theirs)
    ("window", "SDPA, causal"),
    ("strided", "SDPA, causal"),
    ("fixed", "SDPA, causal"),
    ("window", "local-attention"),
    ("big_bird", "transformers BigBird"),
    ("lsh", "reformer-pytorch"),
]


def inputs(n: int, seed: int = 0) -> list[Tensor]:
    """Draw q, k, v and a gradient."""
    torch.manual_seed(seed)
    return [torch.randn(1, HEADS, n, WIDTH) for _ in range(4)]


def forward(form: Form, n: int) -> Callable[[], object]:
    """Return the forward pass alone, without a graph."""
    q, k, v, _ = inputs(n)

    def run():
        with torch.no_grad():
            form(q, k, v)

    return run


def both(form: Form, n: int) -> Callable[[], object]:
    """Return forward and backward pass."""
    *leaves, grad = inputs(n)

    def run():
        fresh = [x.detach().requires_grad_() for x in leaves]
        out = form(*fresh)
        out.backward(grad.view_as(out) if out.numel() == grad.numel() else grad)

    return run


PASSES = {"forward": forward, "forward and backward": both}


def runnable(names) -> tuple[dict, dict[str, str]]:
    """Split the candidates into those that can run here and those that cannot, with the reason."""
    there, missing = {}, {}
    for name in names:
        try:
            CANDIDATES[name][0](1024)
            there[name] = CANDIDATES[name]
        except ImportError as error:
            missing[name] = f"not installed: {error}"
            print(f"{name} is left out, {missing[name]}", flush=True)
    return there, missing


def peak(name: str, n: int, which: str) -> int:
    """Measure the peak memory of one candidate in a process of its own."""
    setup = f"""
import runpy, torch
torch.set_num_threads(1)
bench = runpy.run_path({str(Path(__file__))!r})
make, run = bench["CANDIDATES"][{name!r}][0], bench["PASSES"][{which!r}]
run(make(1024), 1024)()
once = run(make({n}), {n})
"""
    return peak_memory("once()", setup)


def main() -> None:
    """Read the command line, measure and write."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--sizes", nargs="+", type=int, default=[1024, 2048, 4096, 8192])
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--peers", action="store_true", help="beside the packages people use")
    arguments.add_argument("--out", type=Path, required=True, help="the file to write: no chapter shows it")
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    results.begin(chosen.out)
    there, missing = runnable(CANDIDATES if chosen.peers else SHOWN)
    numbers = {
        "shape": {"batch": 1, "heads": HEADS, "width": WIDTH, "dtype": "float32"},
        "settings": {"window": REACH, "stride": "round(sqrt(n))"},
        "clock": "CPU time of the process",
        "repeats": {},
        "seconds": {which: {} for which in PASSES},
        "ratios": {which: {} for which in PASSES},
        "peak bytes": {which: {} for which in PASSES},
    }
    if chosen.peers:
        numbers["settings"] |= {"chunk": CHUNK, "block": BLOCK, "hashes": HASHES}
        numbers["missing"] = missing
    for n in chosen.sizes:
        for which in PASSES:
            times(numbers, there, n, which, chosen.repeats)
    numbers["slopes"] = {which: slopes(by_size) for which, by_size in numbers["seconds"].items()}
    for which, found in numbers["peak bytes"].items():
        longest = max(chosen.sizes)
        found[str(longest)] = {
            name: peak(name, longest, which) for name, (_, most) in there.items() if longest <= most
        }
        print(longest, which, {name: f"{size / 2**20:.0f} MiB" for name, size in found[str(longest)].items()})
    packages = PEERS if chosen.peers else ()
    command = "python benchmarks/sparse.py" + " --peers" * chosen.peers
    results.store("sparse", numbers, command=command, packages=packages, path=chosen.out)


def times(numbers: dict, there: dict, n: int, which: str, repeats: int) -> None:
    """Time all candidates of one size in turn, and note medians and ratios."""
    timed = {name: PASSES[which](make(n), n) for name, (make, most) in there.items() if n <= most}
    rounds = max(3, min(repeats, repeats * 4096 // n))
    result = compare(timed, repeats=rounds, clock=time.process_time)
    numbers["repeats"][str(n)] = rounds
    numbers["seconds"][which][str(n)] = result.summary("SDPA, causal")
    for ours, theirs in PAIRS:
        if ours in timed and theirs in timed:
            ratio = result.ratio(theirs, ours)
            numbers["ratios"][which].setdefault(f"{ours} against {theirs}", {})[str(n)] = ratio
            print(f"{n:6d} {which:21s} {ours} {ratio:.2f} times as fast as {theirs}", flush=True)


def slopes(by_size: dict[str, dict]) -> dict[str, dict[str, float | None]]:
    """Fit the exponent of each candidate's time from 1024 tokens on."""
    out = {}
    sizes = [n for n in by_size if int(n) >= 1024]
    for name in {name: None for n in sizes for name in by_size[n]}:
        points = [(int(n), by_size[n][name]["median"]) for n in sizes if name in by_size[n]]
        if len(points) > 1:
            fit = slope(*zip(*points, strict=True))
            error = None if math.isnan(fit.error) else fit.error
            out[name] = {"exponent": fit.exponent, "error": error, "sizes": len(points)}
    return out


if __name__ == "__main__":
    main()
