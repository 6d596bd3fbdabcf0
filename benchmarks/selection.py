"""Learned selection: what an indexer recalls once it has learned to imitate, and what it costs.

    python benchmarks/selection.py recall|costs [--repeats 5] [--longest 16384]

Writes results/selection-recall.json: shares of values recalled, by the numbers of the indexer and by how many
tokens are read, each with learning rates of its own and five seeds; beside them the same indexers as they
were drawn. Writes results/selection-costs.json: the time of a layer beside the same one with fused dense
attention, in pairs within rounds, by length; and the first length from which selection stays ahead, if any.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from attnbook import results
from attnbook.benchmark import compare
from attnbook.experiments import around, sweep
from attnbook.experiments.imitation import Imitation
from attnlab import MultiHeadAttention
from attnlab.selection import (
    Indexer,
    SelectedAttention,
    index_scores,
    keys_of_blocks,
    selected_attention,
    top_keys,
)

CACHE = Path(__file__).parents[1] / ".cache/runs"
SEEDS = range(5)
SIZES = ((1, 2), (1, 4), (1, 8), (1, 16), (4, 4))
D_MODEL, HEADS, TOP, INDEX_HEADS, INDEX_WIDTH, BLOCK = 1024, 16, 128, 4, 32, 16
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)


def recall() -> None:
    """Train indexers, and store what they recall."""
    results.begin()
    trained = {
        f"{heads} of {width}": Imitation(width=width, heads=heads, steps=200 if heads == 1 else 600)
        for heads, width in SIZES
    }  # several heads on the same keys go on improving for longer
    learned = sweep(
        trained,
        rates=around(0.02, n=7),
        seeds=SEEDS,
        scout=2,
        widen=2,
        may_end_at_edge=("1 of 16",),  # it recalls all at any rate
        measure="recalled",
        cache=CACHE / "selection-recall.json",
    )
    print(learned.as_table(), flush=True)
    drawn = {
        name: {
            what: [
                run.extras[what] for run in Imitation(**sizes, steps=1).together([(0.0, s) for s in SEEDS])
            ]
            for what in ("top 4", "top 8", "top 16")
        }
        for name, sizes in ((f"{h} of {w}", {"heads": h, "width": w}) for h, w in SIZES)
    }
    numbers = {"sweeps": {"trained": learned}, "as drawn": drawn}
    results.store("selection-recall", numbers, command="python benchmarks/selection.py recall", seeds=SEEDS)


def by_blocks(heads: MultiHeadAttention, indexer: Indexer, x: Tensor) -> Tensor:
    """Run the layer with blocks chosen by the mean of their keys, as many tokens as the indexer's."""
    q, k, v = heads._project(x, None, None, None)
    asked, keys, weights = indexer._asked(x, None, None, None)
    n, blocks = x.shape[1], x.shape[1] // BLOCK
    at, means = torch.arange(n)[:, None], keys.unflatten(1, (blocks, BLOCK)).mean(2)
    scores = index_scores(asked, means, weights)
    scores = scores.masked_fill(torch.arange(blocks) == at // BLOCK, torch.inf)  # its own always
    chosen = top_keys(scores, TOP // BLOCK, mask=torch.arange(blocks) <= at // BLOCK)
    out = selected_attention(q, k, v, keys_of_blocks(chosen, BLOCK, n))
    return heads.out_proj(out.transpose(1, 2).flatten(-2))


def layers(n_kv_heads: int) -> tuple[MultiHeadAttention, SelectedAttention]:
    """Return a dense layer, and the same one behind an indexer."""
    torch.manual_seed(0)
    dense = MultiHeadAttention(D_MODEL, HEADS, n_kv_heads=n_kv_heads, bias=False, rotary=True).eval()
    choose = Indexer(D_MODEL, TOP, n_heads=INDEX_HEADS, width=INDEX_WIDTH, rotary=True)
    return dense, SelectedAttention(dense, choose).eval()


def whole_text(n: int) -> dict[str, Callable[[], Tensor]]:
    """Read a text of n tokens at once."""
    (dense, selected), x = layers(1), torch.randn(1, n, D_MODEL)
    return {
        "dense": lambda: dense(x, is_causal=True),
        "selected": lambda: selected(x, is_causal=True),
        "choosing alone": lambda: selected.indexer(x, is_causal=True),
        "selected by blocks": lambda: by_blocks(dense, selected.indexer, x),
    }


def own_keys(n: int) -> dict[str, Callable[[], Tensor]]:
    """Read a text of n tokens where every head has keys of its own: each gathers for itself."""
    (dense, selected), x = layers(HEADS), torch.randn(1, n, D_MODEL)
    return {"dense": lambda: dense(x, is_causal=True), "selected": lambda: selected(x, is_causal=True)}


def one_token(n: int, n_kv_heads: int) -> dict[str, Callable[[], Tensor]]:
    """Decode one token behind n others."""
    (dense, selected), x = layers(n_kv_heads), torch.randn(1, 1, D_MODEL)
    keys, index = torch.randn(2, 1, n_kv_heads, n, D_MODEL // HEADS), torch.randn(1, n, INDEX_WIDTH)
    plain, indexed = dense.new_cache(1, n + 1), selected.new_cache(1, n + 1)
    plain.append(*keys)
    indexed.append(*keys, index)

    def step(layer, cache):
        def run():
            cache.truncate(n)
            return layer(x, cache=cache)

        return run

    return {"dense": step(dense, plain), "selected": step(selected, indexed)}


def ahead_from(rows: dict[str, dict], name: str) -> int | None:
    """Return the first length from which a candidate takes less time than dense attention, at all longer."""
    first = None
    for n, row in sorted(rows.items(), key=lambda item: -int(item[0])):
        if row[name]["times base"] <= 1:
            break
        first = int(n)
    return first


def costs(repeats: int, longest: int) -> None:
    """Time the layers, and store the ratios."""
    results.begin()
    torch.set_num_threads(1)
    kinds = {
        "a whole text": (whole_text, LENGTHS),
        "a whole text, keys for each head": (own_keys, LENGTHS[:3]),
        "one token": (lambda n: one_token(n, 1), (*LENGTHS, 65536)),
        "one token, keys for each head": (lambda n: one_token(n, HEADS), (*LENGTHS, 65536)),
    }
    found: dict[str, dict] = {}
    for kind, (make, lengths) in kinds.items():
        for n in lengths:
            if n > longest and not (kind.startswith("one") and n == 65536):
                continue
            many = repeats * (20 if kind.startswith("one") else 1)
            with torch.no_grad():
                row = compare(make(n), repeats=many, clock=time.process_time).summary("dense")
            found.setdefault(kind, {})[str(n)] = row
            print(kind, n, {name: round(one["times base"], 2) for name, one in row.items()}, flush=True)
    numbers = {
        "clock": "CPU time of the process",
        "shape": {
            "d_model": D_MODEL, "heads": HEADS, "top": TOP, "index_heads": INDEX_HEADS,
            "index_width": INDEX_WIDTH, "block_size": BLOCK,
        },
        "repeats": repeats,
        "rows": found,
        "ahead from": {
            kind: {name: ahead_from(rows, name) for name in rows[min(rows)] if name.startswith("selected")}
            for kind, rows in found.items()
        },
    }  # fmt: skip
    results.store("selection-costs", numbers, command="python benchmarks/selection.py costs")


def main() -> None:
    """Measure what is asked for."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("what", choices=("recall", "costs"))
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--longest", type=int, default=LENGTHS[-1])
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    if chosen.what == "recall":
        recall()
    else:
        costs(chosen.repeats, chosen.longest)


if __name__ == "__main__":
    main()
