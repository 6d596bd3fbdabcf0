"""How sharp attention is after training: the shipped tagger's.

    python benchmarks/saturation_after.py

Writes results/saturation-after.json. The tagger's weights are read on the treebank's test set, before and
after training; then its scores are multiplied by a factor, and its mistakes counted again.
"""

from __future__ import annotations

import argparse
import copy
import math

import torch

from attnbook import results
from attnbook.tagging import load_treebank, shipped

SEEDS = range(3)
CLOSED = 0.01  # a row whose slopes p (1 - p) are all below this is saturated: of < 99 keys, one is near 1
ALL = 1000.0  # a factor on the scores with which the largest takes all
LENGTHS = ((2, 9), (10, 19), (20, 39), (40, 200))


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the treebank")
    torch.set_num_threads(1)
    results.begin()
    found = {"tagger": tagger(load_treebank(parser.parse_args().data).test)}
    results.store("saturation-after", found, command="python benchmarks/saturation_after.py", seeds=SEEDS)


@torch.no_grad()
def tagger(sentences: list) -> dict:
    """Read the tagger before and after training, and count what it gets right with sharper scores."""
    trained = shipped.load()
    form = {k: trained.card["form"][k] for k in ("n_buckets", "d_model", "n_heads", "n_layers", "d_ff")}
    fresh = []
    for seed in SEEDS:
        torch.manual_seed(seed)
        model = shipped.HashedTagger(**form, n_tags=len(trained.tags))
        torch.nn.init.normal_(model.table.weight, std=0.15)  # as in ship_tagger.py
        fresh.append(read(model.eval(), trained, sentences)[1])
    accuracy, after = {}, {}
    for factor in (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, ALL):
        right, weights = read(sharpened(trained.model, factor), trained, sentences)
        accuracy[f"{factor:g}"] = right
        after = weights if factor == 1 else after
        print(f"scores x {factor:g}: {100 * right:.2f} % right", flush=True)
    before = {key: [sum(x) / len(x) for x in zip(*(one[key] for one in fresh), strict=True)] for key in after}
    print("before", before, "after", after, sep="\n", flush=True)
    return {"heads": form["n_heads"], "accuracy": accuracy, "before": before, "after": after}


def sharpened(model: torch.nn.Module, factor: float) -> torch.nn.Module:
    """Multiply the scores of every head: as much as multiplying its queries, for turning them is linear."""
    other = copy.deepcopy(model)
    for layer in other.layers:
        for parameter in layer["attention"].q_proj.parameters():
            parameter *= factor
    return other


def read(model: torch.nn.Module, card: shipped.ShippedTagger, sentences: list) -> tuple[float, dict]:
    """Tag all sentences.

    Returns:
        The share of right tags; and for each head, in order, the mean over its rows of the entropy as a share
        of ln n, of the largest weight and of being saturated, and of the keys heard, e^H, by length;
        and for each range of lengths their mean over its rows.
    """
    right, words, rows, heard = 0, 0, [], {name: [] for name in map(named, LENGTHS)}
    lengths = {name: [] for name in heard}
    for tokens, tags in sentences:
        n = len(tokens)
        scores, weights = model(card.ids(tokens)[None], need_weights=True)
        guess = [card.tags[at] for at in scores[0].argmax(-1).tolist()]
        right, words = right + sum(map(str.__eq__, guess, tags)), words + n
        if n < 2:
            continue
        p = weights[0].flatten(0, 1)  # (heads, n, n)
        entropy = torch.special.entr(p).sum(-1)
        closed = (p * (1 - p)).amax(-1) < CLOSED
        rows.append(torch.stack((entropy / math.log(n), p.amax(-1), closed.float())))  # (3, heads, n)
        for low, high in LENGTHS:
            if low <= n <= high:
                heard[named((low, high))].append(entropy.exp())
                lengths[named((low, high))] += [n] * n
    means = torch.cat(rows, -1).mean(-1).tolist()
    found = dict(zip(("entropy", "largest", "saturated"), means, strict=True))
    found |= {f"heard, {name}": torch.cat(several, -1).mean(-1).tolist() for name, several in heard.items()}
    found |= {f"words, {name}": [sum(several) / len(several)] for name, several in lengths.items()}
    return right / words, found


def named(lengths: tuple[int, int]) -> str:
    """Name a range of lengths."""
    return f"{lengths[0]} to {lengths[1]}"


if __name__ == "__main__":
    main()
