"""Remove each head of the shipped tagger, by zero and by its mean, and count mistakes on the treebank.

    python benchmarks/heads.py --data FOLDER

Writes results/heads-ablation.json. "By zero" leaves out what a head adds; "by its mean" puts in what it adds
on average over the dev set, which keeps what later layers are used to. Each loss comes with its standard
error over sentences, because the same sentences are tagged with and without the head.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from attnbook import results
from attnbook.tagging import load_treebank, shipped
from attnbook.tagging.treebank import CHECKSUMS, COMMIT

TEST = "en_ewt-ud-test.conllu"


def outputs_of_heads(tagger: shipped.ShippedTagger, change: Callable[[int, Tensor], Tensor | None]) -> list:
    """Hand each layer's (batch, n, heads, d_head) outputs to `change` before mixing; return the hooks."""
    heads = tagger.card["form"]["n_heads"]

    def hook(at: int):
        def before(_, inputs: tuple[Tensor]) -> tuple[Tensor] | None:
            changed = change(at, inputs[0].unflatten(-1, (heads, -1)))
            return None if changed is None else (changed.flatten(-2),)

        return before

    mixers = [layer["attention"].out_proj for layer in tagger.model.layers]
    return [mixer.register_forward_pre_hook(hook(at)) for at, mixer in enumerate(mixers)]


def batches(tagger: shipped.ShippedTagger, sentences: list) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Stack sentences of one length: features (batch, n, k), tags (batch, n), places in the list (batch,)."""
    by_length: dict[int, list[int]] = {}
    for at, (words, _) in enumerate(sentences):
        by_length.setdefault(len(words), []).append(at)
    number = {tag: at for at, tag in enumerate(tagger.tags)}
    return [
        (
            torch.stack([tagger.ids(sentences[at][0]) for at in places]),
            torch.tensor([[number[tag] for tag in sentences[at][1]] for at in places]),
            torch.tensor(places),
        )
        for places in by_length.values()
    ]


@torch.no_grad()
def means(tagger: shipped.ShippedTagger, sentences: list) -> Tensor:
    """Return what each head gives on average, (layers, heads, d_head)."""
    sums: dict[int, Tensor] = {}

    def watch(at: int, x: Tensor) -> None:
        sums[at] = sums.get(at, 0) + x.sum((0, 1))

    hooks = outputs_of_heads(tagger, watch)
    for ids, _, _ in batches(tagger, sentences):
        tagger.model(ids)
    for hook in hooks:
        hook.remove()
    return torch.stack([sums[at] for at in sorted(sums)]) / sum(len(words) for words, _ in sentences)


@torch.no_grad()
def right(tagger: shipped.ShippedTagger, stacks: list, filled: dict[tuple[int, int], Tensor]) -> Tensor:
    """Count the right tags of each sentence with some heads' outputs replaced."""

    def change(at: int, x: Tensor) -> Tensor:
        x = x.clone()
        for (layer, head), value in filled.items():
            if layer == at:
                x[:, :, head] = value
        return x

    hooks = outputs_of_heads(tagger, change)
    counts = torch.zeros(sum(len(places) for _, _, places in stacks), dtype=torch.float64)
    for ids, tags, places in stacks:
        counts[places] = (tagger.model(ids).argmax(-1) == tags).sum(-1).double()
    for hook in hooks:
        hook.remove()
    return counts


def lost(whole: Tensor, less: Tensor, lengths: Tensor) -> dict[str, float]:
    """Return the points lost, and their standard error over sentences (of a ratio of two sums)."""
    points = ((whole - less).sum() / lengths.sum()).item()
    rest = whole - less - points * lengths
    return {"lost": 100 * points, "error": 100 * math.sqrt((rest**2).sum()) / lengths.sum().item()}


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the treebank's files")
    torch.set_num_threads(1)
    results.begin()
    treebank, tagger = load_treebank(parser.parse_args().data), shipped.load()
    test = treebank.test
    stacks = batches(tagger, test)
    shape = (tagger.card["form"]["n_layers"], tagger.card["form"]["n_heads"])
    places = [(layer, head) for layer in range(shape[0]) for head in range(shape[1])]
    average = means(tagger, treebank.dev)
    lengths = torch.tensor([len(tags) for _, tags in test], dtype=torch.float64)
    whole = right(tagger, stacks, {})
    fill = {"zero": torch.zeros_like(average), "mean": average}
    without: dict[str, list[list[dict[str, float]]]] = {}
    together = {}
    for how, value in fill.items():
        found = {at: lost(whole, right(tagger, stacks, {at: value[at]}), lengths) for at in places}
        without[how] = [[found[layer, head] for head in range(shape[1])] for layer in range(shape[0])]
        worst = max(places, key=lambda at: found[at]["lost"])
        others = {at: value[at] for at in places if at != worst}
        together[how] = {
            "all": lost(whole, right(tagger, stacks, {at: value[at] for at in places}), lengths),
            "all but the worst": lost(whole, right(tagger, stacks, others), lengths),
            "worst": f"{worst[0] + 1}.{worst[1] + 1}",
        }
        print(how, {f"{a + 1}.{b + 1}": round(x["lost"], 2) for (a, b), x in found.items()}, flush=True)
    numbers = {
        "data": f"UD English-EWT 2.16, test split, commit {COMMIT[:7]}",
        "sha256": CHECKSUMS[TEST],
        "tokens": int(lengths.sum()),
        "accuracy": 100 * (whole.sum() / lengths.sum()).item(),
        "without": without,
        "together": together,
    }
    results.store("heads-ablation", numbers, command="python benchmarks/heads.py")


if __name__ == "__main__":
    main()
