"""Train the tagger with all it has on the treebank, leave out one thing at a time, and vary its size.

    python benchmarks/tagging_joint.py [tried] [all] [without] [size] [--seeds 0 1 2 3 4 5] [--data FOLDER]

Writes results/tagging-joint.json with what is finished. The dev set chose the settings (the part "tried":
short trainings with one seed, the learning rate among them) and chooses the epoch; the test set is only read.
Taggers of neighbouring seeds are averaged too, two and four at a time. Every finished run is kept in
.cache/runs/tagging-joint, one file a run and its weights beside it: an interruption costs one run, and
several processes can share the work, each with its own parts or seeds. With --continue the rows that the
stored file has already are not trained again; only seeds with weights here can be averaged.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path

import torch
from torch import nn

from attnbook import benchmark, results
from attnbook.tagging.columns import Labels, load_columns
from attnbook.tagging.joint import JointTagger, LetterVocabulary, Together, train_jointly
from attnbook.tagging.taggers import Vocabulary
from attnbook.tagging.training import evaluate
from attnbook.tagging.treebank import COMMIT, count_tags, strongly_ambiguous

KEPT = Path(__file__).parents[1] / ".cache/runs/tagging-joint"
SEEDS = (0, 1, 2, 3, 4, 5)
MODEL = {"d_model": 192, "n_heads": 6, "n_layers": 2, "d_letters": 48, "positions": "relative"}
TRAINING = {"epochs": 10, "rate": 4e-3, "others": 0.3, "hide": 0.1, "guess": 0.3, "average": 0.998}
SHORT = {"epochs": 5}
"""For what was tried, and for the curves: fewer epochs, the same for all points."""
SMALL = {"d_model": 96, "d_letters": 0}
"""For the curves: a smaller model."""
OF_CURVES = SEEDS[:3]

ALL = "all of it"
TOGETHER = {2: "two of them, averaged", 4: "four of them, averaged"}
TRIED = {
    "rate 0.002": ({}, {"rate": 2e-3}),
    "rate 0.004": ({}, {"rate": 4e-3}),
    "rate 0.006, batches of 2048": ({}, {"rate": 6e-3, "batch_tokens": 2048}),
    "rate 0.004, other columns 1.0": ({}, {"rate": 4e-3, "others": 1.0}),
    "rate 0.004, three layers": ({"n_layers": 3}, {"rate": 4e-3}),
    "rate 0.004, no letters, seven epochs": ({"d_letters": 0}, {"rate": 4e-3, "epochs": 7}),
}
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
    "share of sentences": ("share", (1 / 8, 1 / 4, 1 / 2, 1)),
}


def main() -> None:
    """Read the command line and train what is missing."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("parts", nargs="*", default=["tried", "all", "without", "size"])
    arguments.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="of the second part")
    arguments.add_argument("--data", help="folder of the treebank; else ATTNLAB_DATA or the cache")
    arguments.add_argument("--continue", action="store_true", dest="go_on", help="keep the rows stored")
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    results.begin()
    KEPT.mkdir(parents=True, exist_ok=True)
    if chosen.go_on:
        unpack(results.load("tagging-joint"))
    points: dict[str, dict] = {}  # the four curves meet in one point, which is trained once
    for name, model, training, share, seed in wanted(chosen.parts, chosen.seeds):
        settings = json.dumps([MODEL | model, TRAINING | training, share, seed])
        found = kept(name, seed) or points.get(settings)
        if found is None:
            found = run(chosen.data, name, MODEL | model, TRAINING | training, share, seed)
            print(name, seed, found, flush=True)
        if training == SHORT:
            points[settings] = found
        benchmark.store(path(name, seed), found | {"name": name, "seed": seed})
        if name == ALL:
            average(chosen.data)
        write()


def wanted(parts: list[str], seeds: list[int]) -> Iterator[tuple[str, dict, dict, float, int]]:
    """Yield name, changed model, changed training, share of the sentences and seed of each run asked for."""
    if "tried" in parts:
        for name, (model, training) in TRIED.items():
            yield name, model, SHORT | training, 1.0, 0
    if "all" in parts:
        for seed in seeds:
            yield ALL, {}, {}, 1.0, seed
    if "without" in parts:
        for name, changes in WITHOUT.items():
            yield name, *changes, 1.0, 0
    if "size" in parts:
        for name, (option, values) in CURVES.items():
            for value in values:
                change = {} if option == "share" else {option: value}
                model = SMALL | {"n_heads": 4} | change
                share = value if option == "share" else 1.0
                yield from ((f"{name}: {value:g}", model, SHORT, share, seed) for seed in OF_CURVES)


def path(name: str, seed: int | str, end: str = "json") -> Path:
    """Return where a run is kept."""
    return KEPT / f"{re.sub('[^a-z0-9.]+', '-', name.lower())}-{seed}.{end}"


def kept(name: str, seed: int | str) -> dict | None:
    """Return a finished run, or None."""
    there = path(name, seed)
    return json.loads(there.read_text()) if there.exists() else None


def unpack(stored: dict) -> None:
    """Keep the runs of the stored file as if they had been trained here, if the settings are the same."""
    same = {"model": MODEL, "training": TRAINING, "small": SMALL, "short": SHORT}
    if other := [name for name, value in same.items() if stored[name] != value]:
        raise SystemExit(f"the stored rows were trained with other settings: {', '.join(other)}")
    for name, row in (stored["rows"] | stored["tried"]).items():
        for seed, found in zip(row["seeds"], row["runs"], strict=True):
            which = seed if isinstance(seed, int) else "-".join(map(str, seed))
            if not kept(name, which):
                benchmark.store(path(name, which), {"name": name, "seed": seed} | found)


@cache
def data(folder: str | None) -> tuple:
    """Read the three parts once."""
    return tuple(load_columns(part, folder) for part in ("train", "dev", "test"))


def build(folder: str | None, model: dict, share: float = 1.0) -> tuple[JointTagger, Labels, list]:
    """Make a tagger for a share of sentences; they are returned too."""
    sentences = data(folder)[0]
    # Every so manieth, not the first ones: the file goes from weblogs over mails to reviews.
    sentences = sentences[:: round(1 / share)]
    tagged, labels = [s.tagged for s in sentences], Labels(sentences)
    letters = model["d_letters"]
    vocabulary = LetterVocabulary(tagged) if letters else Vocabulary(tagged, affixes=True, at_least=2)
    return JointTagger(vocabulary, labels.names, **model), labels, sentences


def run(folder: str | None, name: str, model: dict, training: dict, share: float, seed: int) -> dict:
    """Train once, and measure; what was only tried is not measured on the test set."""
    torch.manual_seed(seed)
    tagger, labels, sentences = build(folder, model, share)
    history = train_jointly(tagger, labels, sentences, data(folder)[1], seed=seed, **training)
    found = {"dev": 100 * max(history.dev), "curve": [100 * value for value in history.dev]}
    if name not in TRIED:
        found["test"] = on_test(folder, tagger, sentences)
    if name == ALL:
        torch.save(tagger.state_dict(), path(name, seed, "pt"))
    numbers = sum(p.numel() for p in tagger.parameters())
    return found | {"parameters": numbers, "CPU s": history.seconds}


def on_test(folder: str | None, tagger: nn.Module, sentences: list) -> dict:
    """Measure on the test set; `sentences` are those of training, which say what is known and ambiguous."""
    tagged = [s.tagged for s in sentences]
    known, strong = count_tags(tagged, lower=True), strongly_ambiguous(tagged)
    return asdict(evaluate(tagger, [s.tagged for s in data(folder)[2]], strong, known))


def average(folder: str | None) -> None:
    """Let finished taggers vote, seeds 0 and 1, 2 and 3, and so on: no tagger is in two groups of a size."""
    for size, name in TOGETHER.items():
        for first in range(0, 100, size):
            seeds = range(first, first + size)
            which = "-".join(map(str, seeds))
            there = (kept(ALL, seed) and path(ALL, seed, "pt").exists() for seed in seeds)
            if kept(name, which) or not all(there):
                continue
            taggers = []
            for seed in seeds:
                tagger, _, sentences = build(folder, MODEL)
                tagger.load_state_dict(torch.load(path(ALL, seed, "pt")))
                taggers.append(tagger)
            together = Together(taggers).eval()
            found = {
                "name": name,
                "seed": list(seeds),
                "dev": evaluate(together, [s.tagged for s in data(folder)[1]]).all,
                "test": on_test(folder, together, sentences),
                "parameters": sum(p.numel() for p in together.parameters()),
                "CPU s": sum(kept(ALL, seed)["CPU s"] for seed in seeds),
            }
            benchmark.store(path(name, which), found)


def write() -> None:
    """Store what is finished: rows with their seeds."""
    names = [ALL, *TOGETHER.values(), *WITHOUT]
    names += [f"{name}: {value:g}" for name, (_, values) in CURVES.items() for value in values]
    rows: dict[str, dict] = {name: {"seeds": [], "runs": []} for name in [*names, *TRIED]}
    files = [json.loads(file.read_text()) for file in KEPT.glob("*.json")]
    for found in sorted(files, key=lambda found: (str(type(found["seed"])), found["seed"])):
        row = rows[found.pop("name")]
        row["seeds"].append(found.pop("seed"))
        row["runs"].append(found)
    rows = {name: row for name, row in rows.items() if row["runs"]}
    for row in rows.values():
        row["dev"] = statistics.fmean(found["dev"] for found in row["runs"])
    tried = {name: rows.pop(name) for name in TRIED if name in rows}
    numbers = {"data": COMMIT, "model": MODEL, "training": TRAINING, "small": SMALL, "short": SHORT}
    seeds = sorted({seed for row in rows.values() for seed in row["seeds"] if isinstance(seed, int)})
    command = "python benchmarks/tagging_joint.py"
    results.store("tagging-joint", numbers | {"tried": tried, "rows": rows}, command=command, seeds=seeds)


if __name__ == "__main__":
    main()
