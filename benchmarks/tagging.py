"""Train the taggers of the ladder on the treebank and write benchmarks/results/tagging.json.

    python benchmarks/tagging.py --data FOLDER [--only ROW ...] [--seeds 0 1 2]

Every finished run is written at once, so an interruption costs one run. The dev set chooses the epoch; the
test set is read once a run.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import statistics
import time
from dataclasses import asdict
from pathlib import Path

import torch

from attnlab.benchmark import store
from attnlab.tagging.taggers import MostFrequentTag, Tagger, Vocabulary
from attnlab.tagging.training import evaluate, train
from attnlab.tagging.treebank import (
    CHECKSUMS,
    COMMIT,
    Treebank,
    ambiguity,
    costliest,
    count_tags,
    load_treebank,
    strongly_ambiguous,
)

RESULTS = Path(__file__).parent / "results" / "tagging.json"
TRAINING = {"epochs": 8, "batch_tokens": 1024}
CHOOSING = {"epochs": 4, "seed": 0}
"""The budget at which a row's learning rate is chosen, on the dev set."""
ALIKE = {"dropout": 0.3, "word_dropout": 0.2}
AT_LEAST = 2
"""A word or affix seen once is described by the others: in every row."""
BIAS_RATE = 10
"""The relative bias learns so many times as fast as all else: Adam moves a number by about the rate a step."""

ATTENTION = {"context": "attention"}
TWO = {"n_layers": 2}

# Row -> (name, the row from which it differs in one thing, what it has).
ROWS: dict[str, tuple[str, str | None, dict]] = {
    "word": ("word alone", None, {"affixes": False}),
    "affixes": ("+ prefixes, suffixes, shape", "word", {}),
    "alone": ("+ a feed-forward block, no context", "affixes", {"context": "alone"}),
    # What the block hears of the other words.
    "mean": ("average of the sentence", "alone", {"context": "mean"}),
    "attention": ("attention, no positions", "alone", ATTENTION),
    "window": ("window: one word to each side", "alone", {"context": "window"}),
    "recurrent": ("LSTM in both directions", "alone", {"context": "recurrent"}),
    # What tells the order.
    "mean-learned": ("average, learned positions", "mean", {"context": "mean", "positions": "learned"}),
    "learned-0.02": (
        "attention, learned positions, std 0.02",
        "attention",
        ATTENTION | {"positions": "learned", "position_std": 0.02},
    ),
    "learned-0.3": (
        "attention, learned positions, std 0.3",
        "attention",
        ATTENTION | {"positions": "learned", "position_std": 0.3},
    ),
    "sinusoidal": ("attention, sinusoids", "attention", ATTENTION | {"positions": "sinusoidal"}),
    "relative": ("attention, learned relative bias", "attention", ATTENTION | {"positions": "relative"}),
    "alibi": ("attention, ALiBi, alike to both sides", "attention", ATTENTION | {"positions": "alibi"}),
    "rotary": ("attention, RoPE", "attention", ATTENTION | {"positions": "rotary"}),
    # Two layers.
    "window-2": ("two layers of windows", "window", {"context": "window"} | TWO),
    "rotary-2": ("two layers of attention, RoPE", "rotary", ATTENTION | {"positions": "rotary"} | TWO),
}

# Reported by others, on other versions of the treebank and under other conditions: to compare, not to rank.
PUBLISHED = [
    {"name": "UDPipe 1.2", "all": 94.4, "tokens": "gold", "source": "straka2017tokenizing"},
    {"name": "Stanza 1.0", "all": 95.4, "tokens": "raw text", "source": "qi2020stanza"},
    {"name": "spaCy, RoBERTa", "all": 96.9, "tokens": "raw text", "source": "explosion2022englishewt"},
]

QUICK = {"sentences": 4000, "epochs": 3}
"""A run small enough for the tests: they train it again and compare."""


def main() -> None:
    """Read the command line and train what it asks for."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", help="folder of the treebank; else ATTNLAB_DATA, the cache, the network")
    arguments.add_argument("--only", nargs="+", choices=ROWS, help="without it: all, and the tests' run")
    arguments.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    arguments.add_argument("--threads", type=int, default=1)
    chosen = arguments.parse_args()
    torch.set_num_threads(chosen.threads)
    treebank = load_treebank(chosen.data)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results |= describe(treebank, chosen.threads)
    if not chosen.only:
        results["quick"] = {"setting": QUICK, "runs": [quick(treebank, seed) for seed in chosen.seeds]}
    rows = results.setdefault("rows", {})
    rows["lookup"] = lookup(treebank)
    store(RESULTS, results)
    for seed in chosen.seeds:
        for row in chosen.only or ROWS:
            run = train_one(treebank, row, seed)
            fresh = summary(row, [run])
            before = rows.get(row, {})
            if all(before.get(key) == fresh[key] for key in ("options", "training")):
                kept = [r for r in before["runs"] if r["seed"] != seed]
                fresh = summary(row, sorted([*kept, run], key=lambda r: r["seed"]))
            rows[row] = fresh
            results["rows"] = {name: rows[name] for name in ("lookup", *ROWS) if name in rows}
            store(RESULTS, results)
            scores = " ".join(f"{key} {run[key]:.2f}" for key in ("dev", "all", "strong"))
            print(f"{row} (seed {seed}): {scores}", flush=True)


def describe(treebank: Treebank, threads: int) -> dict:
    """Return where the numbers come from, and what is known of the data without any training."""
    facts = ambiguity(treebank)
    counts = count_tags(treebank.train, lower=True)
    return {
        "made by": "python benchmarks/tagging.py",
        "data": {
            "name": "UD English-EWT 2.16",
            "licence": "CC BY-SA 4.0",
            "commit": COMMIT,
            "sha256": CHECKSUMS,
            "sentences": {name: len(getattr(treebank, name)) for name in ("train", "dev", "test")},
            "train_tokens": facts.train_tokens,
            "test_tokens": facts.test_tokens,
            "ambiguous_share": float(facts.ambiguous_share),
            "strong_words": len(facts.strong_words),
            "strong_share": float(facts.strong_share),
            "lookup_on_test": float(facts.lookup_on_test),
            "costliest": [[word, dict(tags.most_common())] for word, tags in costliest(treebank.train, 12)],
            "saw": dict(counts["saw"].most_common()),
            "work": dict(counts["work"].most_common()),
            "like_the_saws": twice_with_two_tags(treebank),
        },
        "machine": {
            "processor": platform.machine(),
            "threads": threads,
            "python": platform.python_version(),
            "torch": torch.__version__.split("+")[0],
        },
        "published": PUBLISHED,
    }


def twice_with_two_tags(treebank: Treebank) -> list[dict]:
    """Find short real sentences in which one word stands twice with two tags, as in "I saw a saw"."""
    found = []
    for split in ("train", "dev", "test"):
        for words, tags in getattr(treebank, split):
            low = [word.lower() for word in words]
            pairs = [
                word
                for word in sorted(set(low))
                if word.isalpha() and len({t for w, t in zip(low, tags, strict=True) if w == word}) > 1
            ]
            if pairs and 5 <= len(words) <= 7 and "PROPN" not in tags:
                found.append({"split": split, "words": words, "tags": tags, "twice": pairs})
    return found


def lookup(treebank: Treebank) -> dict:
    """Measure the table of most frequent tags; it has no seed."""
    start = time.process_time()
    table = MostFrequentTag(treebank.train)
    score = evaluate(table, treebank.test, strongly_ambiguous(treebank.train))
    run = {"seed": None, "all": score.all, "strong": score.strong, "seconds": time.process_time() - start}
    return {"name": "most frequent tag of the word", "parameters": 0, "runs": [run]} | means([run])


def train_one(treebank: Treebank, row: str, seed: int) -> dict:
    """Train one tagger once and measure it on the test set."""
    _, affixes, options, changes = ROWS[row]
    torch.manual_seed(seed)
    # Affixes describe a rare word better than a vector of its own, seen once.
    tagger = Tagger(Vocabulary(treebank.train, affixes=affixes, at_least=2 if affixes else 1), **options)
    history = train(tagger, treebank.train, treebank.dev, seed=seed, **TRAINING | changes)
    score = evaluate(tagger, treebank.test, strongly_ambiguous(treebank.train))
    return {
        "seed": seed,
        "all": score.all,
        "strong": score.strong,
        "dev": 100 * max(history.dev),
        "best_epoch": history.best_epoch,
        "seconds": history.seconds,
        "parameters": sum(p.numel() for p in tagger.parameters()),
    }


def quick(treebank: Treebank, seed: int) -> dict:
    """Train attention without positions on a part of the data, for the tests."""
    part = treebank.train[: QUICK["sentences"]]
    torch.manual_seed(seed)
    tagger = Tagger(Vocabulary(part, affixes=True, at_least=2), **ATTENTION, d_model=64)
    train(tagger, part, treebank.dev, epochs=QUICK["epochs"], seed=seed, progress=False)
    return {"seed": seed} | asdict(evaluate(tagger, treebank.test, strongly_ambiguous(treebank.train)))


def summary(row: str, runs: list[dict]) -> dict:
    """Name a row, and average its runs."""
    name, affixes, options, changes = ROWS[row]
    return {
        "name": name,
        "options": options | {"affixes": affixes},
        "training": TRAINING | changes,
        "parameters": runs[0]["parameters"],
        "runs": runs,
    } | means(runs)


def means(runs: list[dict]) -> dict:
    """Average each measurement over the seeds, with the standard deviation between them."""
    out = {}
    for key in ("all", "strong", "seconds"):
        values = [run[key] for run in runs]
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        assert all(map(math.isfinite, values)), f"{key} is not finite: {values}"
        out[key] = {"mean": statistics.mean(values), "std": spread}
    return out


if __name__ == "__main__":
    main()
