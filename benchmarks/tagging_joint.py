"""Train the tagger with all it has on the treebank, leave out one thing at a time, and vary its size.

    python benchmarks/tagging_joint.py [all] [without] [size] [--seeds 0 1 2] [--data FOLDER]

Writes results/tagging-joint.json with what is finished. The dev set chose the settings and chooses the epoch;
the test set is only read. Every finished run is kept in .cache/runs/tagging-joint.json, so an interruption
costs one run. The learning rate is the same in every row and was not swept.
"""

from __future__ import annotations

import argparse
import json
import statistics
from dataclasses import asdict
from functools import cache
from pathlib import Path

import torch

from attnlab import benchmark, results
from attnlab.tagging.columns import Labels, load_columns
from attnlab.tagging.joint import JointTagger, LetterVocabulary, train_jointly
from attnlab.tagging.taggers import Vocabulary
from attnlab.tagging.training import evaluate
from attnlab.tagging.treebank import COMMIT, count_tags, strongly_ambiguous

KEPT = Path(__file__).parents[1] / ".cache/runs/tagging-joint.json"
SEEDS = (0, 1, 2)
MODEL = {"d_model": 192, "n_heads": 6, "n_layers": 2, "d_letters": 48, "positions": "relative"}
TRAINING = {"epochs": 14, "rate": 2e-3, "others": 0.3, "hide": 0.1, "guess": 0.3, "average": 0.998}
SMALL = {"d_model": 96, "d_letters": 0}, {"epochs": 5}
"""For the curves: a smaller model and fewer epochs, the same for all points."""

ALL = "all of it"
WITHOUT = {
    "without the letters": ({"d_letters": 0}, {}),
    "without the other columns": ({}, {"others": 0.0}),
    "without hidden words": ({}, {"hide": 0.0, "guess": 0.0}),
    "without averaged weights": ({}, {"average": 0.0}),
    "RoPE instead of the relative bias": ({"positions": "rotary"}, {}),
}
CURVES = {
    "heads": ("n_heads", (1, 2, 4, 8)),
    "layers": ("n_layers", (1, 2, 3, 4)),
    "width": ("d_model", (24, 48, 96, 192)),
    "share of the training sentences": ("share", (1 / 8, 1 / 4, 1 / 2, 1)),
}


def main() -> None:
    """Read the command line and train what is missing."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("parts", nargs="*", default=["all", "without", "size"])
    arguments.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="of the first part")
    arguments.add_argument("--data", help="folder of the treebank; else ATTNLAB_DATA or the cache")
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    wanted: list[tuple[str, dict, dict, float, int]] = []
    if "all" in chosen.parts:
        wanted += [(ALL, {}, {}, 1.0, seed) for seed in chosen.seeds]
    if "without" in chosen.parts:
        wanted += [(name, *changes, 1.0, 0) for name, changes in WITHOUT.items()]
    if "size" in chosen.parts:
        small, few = SMALL
        for name, (option, values) in CURVES.items():
            for value in values:
                change = {} if option == "share" else {option: value}
                model = small | {"n_heads": 4} | change
                wanted.append((f"{name}: {value:g}", model, few, value if option == "share" else 1.0, 0))
    for name, model, training, share, seed in wanted:
        kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
        key = f"{name} | seed {seed}"
        if key not in kept:
            kept[key] = run(chosen.data, MODEL | model, TRAINING | training, share, seed)
            KEPT.parent.mkdir(parents=True, exist_ok=True)
            benchmark.store(KEPT, kept)
            print(key, kept[key], flush=True)
        write(kept)


@cache
def data(path: str | None) -> tuple:
    """Read the three parts once."""
    return tuple(load_columns(part, path) for part in ("train", "dev", "test"))


def run(path: str | None, model: dict, training: dict, share: float, seed: int) -> dict:
    """Train once, and measure."""
    train, dev, test = data(path)
    train = train[: int(share * len(train))]
    tagged, labels = [s.tagged for s in train], Labels(train)
    letters = model["d_letters"]
    vocabulary = LetterVocabulary(tagged) if letters else Vocabulary(tagged, affixes=True, at_least=2)
    torch.manual_seed(seed)
    tagger = JointTagger(vocabulary, labels.names, **model)
    history = train_jointly(tagger, labels, train, dev, seed=seed, **training)
    known, strong = count_tags(tagged, lower=True), strongly_ambiguous(tagged)
    return {
        "dev": 100 * max(history.dev),
        "curve": [100 * value for value in history.dev],
        "test": asdict(evaluate(tagger, [s.tagged for s in test], strong, known)),
        "parameters": sum(p.numel() for p in tagger.parameters()),
        "CPU s": history.seconds,
    }


def write(kept: dict) -> None:
    """Store what is finished: rows with their seeds, and the curves."""
    rows: dict[str, dict] = {}
    for key, found in kept.items():
        name, _, seed = key.partition(" | seed ")
        rows.setdefault(name, {"seeds": [], "runs": []})
        rows[name]["seeds"].append(int(seed))
        rows[name]["runs"].append(found)
    for row in rows.values():
        row["dev"] = statistics.fmean(found["dev"] for found in row["runs"])
    numbers = {"data": COMMIT, "model": MODEL, "training": TRAINING, "small": SMALL, "rows": rows}
    seeds = sorted({seed for row in rows.values() for seed in row["seeds"]})
    results.store("tagging-joint", numbers, command="python benchmarks/tagging_joint.py", seeds=seeds)


if __name__ == "__main__":
    main()
