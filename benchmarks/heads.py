"""Remove each head of the shipped tagger, count mistakes on the treebank, write results/heads.json.

python benchmarks/heads.py --data FOLDER
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from attnlab.benchmark import provenance, store
from attnlab.tagging import load_treebank, shipped
from attnlab.tagging.treebank import CHECKSUMS, COMMIT

RESULTS = Path(__file__).parent / "results" / "heads.json"
TEST = "en_ewt-ud-test.conllu"


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the treebank's files")
    torch.set_num_threads(1)
    test = load_treebank(parser.parse_args().data).test
    tagger = shipped.load()
    shape = (tagger.card["form"]["n_layers"], tagger.card["form"]["n_heads"])

    def accuracy(head_weights: torch.Tensor) -> float:
        right = total = 0
        for words, tags in test:
            guess = tagger.tag(words, head_weights=head_weights).tags
            right += sum(a == b for a, b in zip(guess, tags, strict=True))
            total += len(tags)
        return 100 * right / total

    everything = torch.ones(shape)
    without = []
    for layer in range(shape[0]):
        without.append([])
        for head in range(shape[1]):
            keep = everything.clone()
            keep[layer, head] = 0
            without[-1].append(accuracy(keep))
            print(f"without head {layer + 1}.{head + 1}: {without[-1][-1]:.2f} %", flush=True)
    store(
        RESULTS,
        {
            "made by": "python benchmarks/heads.py",
            "data": f"UD English-EWT 2.16, test split, commit {COMMIT[:7]}",
            "sha256": CHECKSUMS[TEST],
            "tokens": sum(len(tags) for _, tags in test),
            "accuracy": accuracy(everything),
            "without": without,
            "without any": accuracy(torch.zeros(shape)),
            "machine": provenance(),
        },
    )


if __name__ == "__main__":
    main()
