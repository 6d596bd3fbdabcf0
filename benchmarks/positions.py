"""Train on short streams of words, test on longer ones, for every kind of position; write positions.json.

    python benchmarks/positions.py [--only SCHEME ...] [--seeds 0 1 2]

A stream strings sentences of the toy grammar together, without marks between them, and is cut at n words. A
tagger reads it from left to right: under a causal mask no word sees a later one. So what it says at a place
does not depend on how much follows, and one stream of four times the trained length holds every length at
once: its first quarter is as far as training went, its last is four times as far.

Every finished run is written at once. The streams that choose the epoch are as short as those of training.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import math
import statistics
from pathlib import Path

import torch

from attnlab.benchmark import provenance, store
from attnlab.tagging import grammar, predict, train
from attnlab.tagging.taggers import Sentence, Tagger, Vocabulary

RESULTS = Path(__file__).parent / "results" / "positions.json"
TRAINED = 24
"""Words in a stream of training."""
TIMES = 4
"""The test streams are so many times as long."""
STREAMS = {"train": 3000, "dev": 200, "test": 500}
MODEL = {
    "context": "causal attention",
    "d_model": 64,
    "n_heads": 4,
    "n_layers": 2,
    "dropout": 0.1,
}
TRAINING = {"epochs": 6, "lr": 3e-3, "batch_tokens": 1024}
SCHEMES = {
    "none": "no positions",
    "learned": "learned",
    "sinusoidal": "sinusoids",
    "relative": "learned relative bias",
    "alibi": "ALiBi",
    "rotary": "RoPE",
}
QUICK = {"scheme": "alibi", "streams": 500, "epochs": 3}
"""A run small enough for the tests: they train it again and compare."""


def main() -> None:
    """Read the command line and train what it asks for."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", nargs="+", choices=SCHEMES, default=list(SCHEMES))
    arguments.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    arguments.add_argument("--threads", type=int, default=1)
    chosen = arguments.parse_args()
    torch.set_num_threads(chosen.threads)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results |= describe()
    results["quick"] = {"setting": QUICK, "runs": [quick(seed) for seed in chosen.seeds]}
    schemes = results.setdefault("schemes", {})
    for seed in chosen.seeds:
        for scheme in chosen.only:
            run = train_one(scheme, seed)
            kept = [r for r in schemes.get(scheme, {}).get("runs", []) if r["seed"] != seed]
            schemes[scheme] = summary(scheme, sorted([*kept, run], key=lambda r: r["seed"]))
            results["schemes"] = {name: schemes[name] for name in SCHEMES if name in schemes}
            store(RESULTS, results)
            print(f"{scheme} (seed {seed}): " + " ".join(f"{a:.1f}" for a in run["accuracy"]), flush=True)


def describe() -> dict:
    """Return where the numbers come from and what was asked."""
    text = "\n".join(" ".join(words) + "\t" + " ".join(tags) for words, tags in held_out())
    return {
        "made by": "python benchmarks/positions.py",
        "task": {
            "trained_words": TRAINED,
            "words": [TRAINED * times for times in range(1, TIMES + 1)],
            "streams": STREAMS,
            "test_sha256": hashlib.sha256(text.encode()).hexdigest(),
        },
        "model": MODEL,
        "training": TRAINING,
        "machine": provenance(),
    }


def streams(count: int, n: int, seed: int) -> list[Sentence]:
    """String sentences of the toy grammar together until there are `count` streams of n words."""
    sentences = iter(grammar.sample(count * n, seed))  # more than enough: no sentence is empty
    out = []
    for _ in range(count):
        words: list[str] = []
        tags: list[str] = []
        while len(words) < n:
            more_words, more_tags = next(sentences)
            words += more_words
            tags += more_tags
        out.append((tuple(words[:n]), tuple(tags[:n])))
    return out


def held_out() -> list[Sentence]:
    """Return the streams that every tagger is tested on; no seed of training is as large as theirs."""
    return streams(STREAMS["test"], TIMES * TRAINED, seed=10_000)


def train_one(scheme: str, seed: int, *, count: int = STREAMS["train"], **changes: int) -> dict:
    """Train one tagger once; measure it on each stretch of the test streams."""
    data = streams(count, TRAINED, seed)
    torch.manual_seed(seed)
    tagger = Tagger(Vocabulary(data), positions=scheme, **MODEL)
    dev = streams(STREAMS["dev"], TRAINED, seed=20_000)
    history = train(tagger, data, dev, seed=seed, progress=False, **TRAINING | changes)
    return {
        "seed": seed,
        "accuracy": by_stretch(tagger, held_out()),
        "dev": 100 * max(history.dev),
        "best_epoch": history.best_epoch,
        "seconds": history.seconds,
    }


def by_stretch(tagger: Tagger, data: list[Sentence]) -> list[float]:
    """Measure the accuracy, in per cent, on words 1 to 24, 25 to 48, and so on."""
    guesses = predict(tagger, [words for words, _ in data])
    right = torch.tensor(
        [
            [a == b for a, b in zip(tags, guess, strict=True)]
            for (_, tags), guess in zip(data, guesses, strict=True)
        ]
    )
    return (100 * right.double().unflatten(1, (TIMES, TRAINED)).mean((0, 2))).tolist()


def quick(seed: int) -> dict:
    """Train one scheme on few streams, for the tests."""
    run = train_one(QUICK["scheme"], seed, count=QUICK["streams"], epochs=QUICK["epochs"])
    return {"seed": seed, "accuracy": run["accuracy"]}


def summary(scheme: str, runs: list[dict]) -> dict:
    """Name a scheme, and average its runs: accuracy at each stretch, with the deviation between seeds."""
    columns = list(zip(*(run["accuracy"] for run in runs), strict=True))
    assert all(map(math.isfinite, itertools.chain(*columns))), runs
    return {
        "name": SCHEMES[scheme],
        "runs": runs,
        "mean": [statistics.mean(column) for column in columns],
        "std": [statistics.stdev(column) if len(column) > 1 else 0.0 for column in columns],
    }


if __name__ == "__main__":
    main()
