"""Train the taggers of the ladder on the treebank and write benchmarks/results/tagging.json.

    python benchmarks/tagging.py [--data FOLDER]

From row to row one thing changes; every row has the same dropout, the same hidden words, the same treatment
of capitals and rare words, and, from the third on, the same feed-forward block. Each chooses its learning
rate on the dev set, with one seed; two more train at the best rate. The dev set also chooses the epoch. Test
figures are stored for the best rates alone. The finished runs are kept in _build/runs, so an interruption
costs one run.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path

import torch

from attnbook import results
from attnbook.experiments import Run, around, sweep
from attnbook.tagging.taggers import MostFrequentTag, Tagger, Vocabulary
from attnbook.tagging.training import Score, evaluate, train
from attnbook.tagging.treebank import (
    CHECKSUMS,
    COMMIT,
    Treebank,
    ambiguity,
    costliest,
    count_tags,
    load_treebank,
    strongly_ambiguous,
)

KEPT = Path(__file__).parents[1] / "_build/runs/tagging.json"
SEEDS = (0, 1, 2)
TRAINING = {"epochs": 6, "batch_tokens": 1024}
ALIKE = {"dropout": 0.3, "word_dropout": 0.2}
AT_LEAST = 2
"""A word or affix that training met once has no vector of its own, in any row."""
BIAS_RATE = 10
"""The relative bias learns so many times as fast: Adam moves a number by about the rate a step."""

D_MODEL = 128
ATTENTION = {"context": "attention"}
TWO = {"n_layers": 2}

# Row -> (the row from which it differs in one thing, what it has).
ROWS: dict[str, tuple[str | None, dict]] = {
    "word alone": (None, {"affixes": False}),
    "+ prefixes, suffixes, shape": ("word alone", {}),
    "+ a block, no context": ("+ prefixes, suffixes, shape", {"context": "alone"}),
    # What the block hears of the other words.
    "average": ("+ a block, no context", {"context": "mean"}),
    "attention": ("+ a block, no context", ATTENTION),
    "window of three": ("+ a block, no context", {"context": "window"}),
    "LSTM, both ways": ("+ a block, no context", {"context": "recurrent"}),
    # What tells it the order.
    "average, learned positions": ("average", {"context": "mean", "positions": "learned"}),
    "attention, learned positions of 0.02": (
        "attention",
        ATTENTION | {"positions": "learned", "position_std": 0.02},
    ),
    "attention, learned positions of 0.3": ("attention", ATTENTION | {"positions": "learned"}),
    "attention, sinusoids": ("attention", ATTENTION | {"positions": "sinusoidal"}),
    "attention, relative bias": ("attention", ATTENTION | {"positions": "relative"}),
    "attention, ALiBi both ways": ("attention", ATTENTION | {"positions": "alibi"}),
    "attention, RoPE": ("attention", ATTENTION | {"positions": "rotary"}),
    # One more block.
    "two windows of three": ("window of three", {"context": "window"} | TWO),
    "two of attention, RoPE": ("attention, RoPE", ATTENTION | {"positions": "rotary"} | TWO),
    "two of attention, RoPE, 12 epochs": (
        "two of attention, RoPE",
        ATTENTION | {"positions": "rotary"} | TWO | {"epochs": 12},
    ),
}
CONTROL = "attention, relative bias, rate of all else"
"""The relative bias once more, its numbers no faster than the weights."""

# Reported by others, on other versions of the treebank and under other conditions: to compare, not to rank.
PUBLISHED = [
    {"name": "UDPipe 1.2", "all": 94.4, "tokens": "gold", "source": "straka2017tokenizing"},
    {"name": "Stanza 1.0", "all": 95.4, "tokens": "raw text", "source": "qi2020stanza"},
    {"name": "spaCy, RoBERTa", "all": 96.9, "tokens": "raw text", "source": "explosion2022englishewt"},
]

QUICK = {"row": "attention", "sentences": 4000, "epochs": 3, "rate": 4e-3}
"""A run small enough for the tests: they train it again and compare."""


def main() -> None:
    """Read the command line and train what is missing."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", help="folder of the treebank; else ATTNLAB_DATA, the cache, the network")
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    results.begin()
    treebank = load_treebank(chosen.data)
    ladder = sweep(
        {name: candidate(treebank, name) for name in ROWS},
        controls={CONTROL: candidate(treebank, "attention, relative bias", bias_rate=1)},
        rates=around(2e-3, n=3),
        seeds=SEEDS,
        scout=1,
        measure="dev, %",
        flat=0.2,
        cache=KEPT,
        settings={"data": COMMIT},
    )
    shown = {name: name for name in ("all words", "strongly ambiguous", "unknown", "parameters", "CPU s")}
    numbers = describe(treebank) | {
        "training": TRAINING,
        "alike": ALIKE | {"at_least": AT_LEAST},
        "bias rate": BIAS_RATE,
        "rows": {name: {"than": than, "options": options} for name, (than, options) in ROWS.items()},
        "lookup": asdict(score(treebank, MostFrequentTag(treebank.train))),
        "quick": {"setting": QUICK, "runs": [asdict(quick(treebank, seed)) for seed in SEEDS]},
        "sweeps": {"ladder": ladder.pick(shown)},
    }
    results.store("tagging", numbers, command="python benchmarks/tagging.py", seeds=SEEDS)


def candidate(treebank: Treebank, row: str, **changes: int) -> partial[Run]:
    """Return a candidate that trains the tagger of a row and says what it is given."""
    made = partial(tag, treebank, row, **changes)
    made.told = {"optimizer": "AdamW on a cosine", "sentences": len(treebank.train), "d_model": D_MODEL}
    made.told |= {"counts": "dev tags right", "bias_rate": BIAS_RATE} | ALIKE | TRAINING
    made.told |= {key: x for key, x in ROWS[row][1].items() if key in ("epochs", "n_layers")}
    return made


def tag(treebank: Treebank, row: str, rate: float, seed: int, *, bias_rate: float = BIAS_RATE) -> Run:
    """Train the tagger of a row once; the curve is the dev accuracy of each epoch, in per cent."""
    options = dict(ROWS[row][1])
    vocabulary = learn_words(treebank, affixes=options.pop("affixes", True))
    budget = TRAINING | {"epochs": options.pop("epochs", TRAINING["epochs"])}
    torch.manual_seed(seed)
    tagger = Tagger(vocabulary, d_model=D_MODEL, **ALIKE | options)
    own = {"bias_lr": bias_rate * rate} if tagger.relative is not None else {}
    history = train(tagger, treebank.train, treebank.dev, seed=seed, lr=rate, progress=False, **own, **budget)
    test = score(treebank, tagger)
    extras = {
        "all words": test.all,
        "strongly ambiguous": test.strong,
        "unknown": test.unknown,
        "parameters": sum(p.numel() for p in tagger.parameters()),
        "CPU s": history.seconds,
    }
    return Run([100 * d for d in history.dev], value=100 * max(history.dev), extras=extras)


@cache
def learn_words(treebank: Treebank, *, affixes: bool) -> Vocabulary:
    """Number the words and affixes of training, once for all rows."""
    return Vocabulary(treebank.train, affixes=affixes, at_least=AT_LEAST)


def score(treebank: Treebank, tagger: Tagger | MostFrequentTag) -> Score:
    """Measure a tagger on the test set: on all words, on the ambiguous ones, on those training never met."""
    known = count_tags(treebank.train, lower=True)
    return evaluate(tagger, treebank.test, strongly_ambiguous(treebank.train), known)


def quick(treebank: Treebank, seed: int) -> Score:
    """Train a row on a part of the data, at a width of 64, for the tests."""
    part = treebank.train[: QUICK["sentences"]]
    torch.manual_seed(seed)
    tagger = Tagger(
        Vocabulary(part, affixes=True, at_least=AT_LEAST), **ALIKE | ROWS[QUICK["row"]][1], d_model=64
    )
    train(tagger, part, treebank.dev, epochs=QUICK["epochs"], lr=QUICK["rate"], seed=seed, progress=False)
    return score(treebank, tagger)


def describe(treebank: Treebank) -> dict:
    """Return where the numbers come from, and what is known of the data without any training."""
    facts = ambiguity(treebank)
    counts = count_tags(treebank.train, lower=True)
    return {
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


if __name__ == "__main__":
    main()
