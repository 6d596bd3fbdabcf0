"""Train on short texts, test on longer ones, for every kind of position; write results/positions.json.

    python benchmarks/positions.py

Two tasks. *Letters*: say the letter before, in texts of 16, 32 and 64 letters after training on 16
(`attnbook.experiments.letters`). *Streams*: sentences of the toy grammar strung together, without marks
between them, and cut at n words. A tagger reads a stream from left to right: under a causal mask no word sees
a later one. So what it says at a place does not depend on how much follows, and one stream of four times the
trained length holds every length at once: its first quarter is as far as training went, its last is four
times as far.

Every scheme has its own learning rate, chosen by accuracy at the trained length. Each trained model is then
read twice: as it is, and with those keys hidden that are farther away than any in training. The finished runs
are kept in _build/runs, so an interruption costs one run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from attnbook import results
from attnbook.experiments import Comparison, Row, Run, around, letters, sweep
from attnbook.experiments.sweeps import Candidate
from attnbook.tagging import grammar, train
from attnbook.tagging.grammar import Sentence
from attnbook.tagging.taggers import REACH, Tagger, Vocabulary

KEPT = Path(__file__).parents[1] / "_build/runs"
SEEDS = (0, 1, 2, 3, 4)
SCOUT = 2
"""So many seeds try every rate; the others train at the best one."""
LEVEL = 0.95
"""Share of right letters to which steps are counted."""

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
TRAINING = {"epochs": 6, "batch_tokens": 1024}
BIAS_RATE = 10
"""The relative bias learns so many times as fast: Adam moves a number by about the rate a step."""
SETTINGS = (
    MODEL
    | TRAINING
    | {"optimizer": "AdamW on a cosine", "streams": STREAMS["train"], "tokens": TRAINED}
    | {"bias_rate": BIAS_RATE, "counts": f"tags right in {STREAMS['dev']} new streams"}
)
"""What is stored with every sweep of streams."""
SCHEMES = {
    "no positions": "none",
    "learned": "learned",
    "sinusoids": "sinusoidal",
    "relative bias": "relative",
    "ALiBi": "alibi",
    "RoPE": "rotary",
}
SLOW = "relative bias, rate of all else"
"""The control: its numbers learn no faster than the weights."""


def main() -> None:
    """Read the command line, train, and store."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    results.begin()
    by_letters, by_words = letters_sweep(chosen.seeds), streams_sweep(chosen.seeds)
    stretches = [stretch(at) for at in range(TIMES)]
    sweeps = {
        **both_ways("letters", by_letters, [str(n) for n in letters.LENGTHS]),
        "learned positions by their first spread": spreads_sweep(chosen.seeds).pick({}),
        **both_ways("streams", by_words, stretches),
    }
    numbers = {
        "letters": {"trained": letters.TRAINED, "tested": letters.LENGTHS, "steps": letters.STEPS},
        "streams": {"trained": TRAINED, "tested": TIMES * TRAINED, "count": STREAMS},
        "model": MODEL,
        "training": TRAINING,
        "bias rate": BIAS_RATE,
        "relative bias by the rate of all": by_rate(by_words[SLOW], stretches),
        "sweeps": sweeps,
    }
    results.store("positions", numbers, command="python benchmarks/positions.py", seeds=chosen.seeds)


def by_rate(row: Row, names: list[str]) -> dict[str, list[float]]:
    """Return the mean accuracies at every rate that was tried, over the seeds that tried every rate."""
    tried = sorted(row.tried.items())
    return {
        f"{rate:g}": [fmean(run.extras[name] for run in runs[:SCOUT]) for name in names]
        for rate, runs in tried
    }


def both_ways(title: str, found: Comparison, names: list[str]) -> dict[str, Comparison]:
    """Pick these numbers, the first as long as training, with all keys and with far ones hidden."""
    first, *later = names
    return {
        title: found.pick({name: name for name in names}),
        f"{title}, far keys hidden": found.pick({first: first} | {f"{name} near": name for name in later}),
    }


def letters_sweep(seeds: list[int]) -> Comparison:
    """Compare the schemes on letters, each at its own rate."""
    return sweep(
        {name: letters.letter_before(name) for name in SCHEMES},
        controls={SLOW: letters.letter_before("relative bias", bias_rate=1)},
        rates=around(5e-3, n=5),
        seeds=seeds,
        level=LEVEL,
        tie=0.005,
        measure="right at 16",
        may_end_at_edge=["no positions"],
        cache=KEPT / "positions-letters.json",
    )


def spreads_sweep(seeds: list[int]) -> Comparison:
    """Compare the spreads at which learned positions begin, by the steps to a level."""
    steps = 2 * letters.STEPS
    return sweep(
        {f"{std:g}": letters.letter_before("learned", std=std, steps=steps) for std in (0.02, 0.1, 0.3, 1.0)},
        rates=around(5e-3, n=5),
        seeds=seeds,
        level=LEVEL,
        choose="steps",
        measure="right at 16",
        cache=KEPT / "positions-spreads.json",
    )


def streams_sweep(seeds: list[int]) -> Comparison:
    """Compare the schemes on streams of words, each at its own rate."""
    return words_sweep(
        {name: partial(tag_streams, scheme) for name, scheme in SCHEMES.items()},
        seeds,
        "positions-streams",
        controls={SLOW: partial(tag_streams, "relative", bias_rate=1)},
    )


def words_sweep(
    taggers: Mapping[str, Candidate],
    seeds: Iterable[int],
    kept: str,
    controls: Mapping[str, Candidate] | None = None,
    **settings: Any,
) -> Comparison:
    """Compare taggers of streams, a control's too; `settings` has what is theirs alone."""
    return sweep(
        taggers,
        controls=controls,
        rates=around(4e-3, n=3),
        seeds=seeds,
        scout=SCOUT,
        measure=f"dev, {TRAINED} words, %",
        flat=0.5,
        cache=KEPT / f"{kept}.json",
        settings=SETTINGS | settings,
    )


@cache
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


def tag_streams(
    scheme: str,
    rate: float,
    seed: int,
    *,
    count: int = STREAMS["train"],
    bias_rate: float = BIAS_RATE,
    reach: int = REACH,
    **changes: int,
) -> Run:
    """Train one tagger once; measure it on each stretch of the test streams, with all keys and near ones."""
    data = streams(count, TRAINED, seed)
    torch.manual_seed(seed)
    tagger = Tagger(Vocabulary(data), positions=scheme, reach=reach, **MODEL)
    dev = streams(STREAMS["dev"], TRAINED, seed=20_000)
    own = {"bias_lr": bias_rate * rate} if scheme == "relative" else {}
    history = train(tagger, data, dev, seed=seed, lr=rate, progress=False, **own, **TRAINING | changes)
    whole, near = by_stretch(tagger, held_out()), by_stretch(tagger, held_out(), within=TRAINED - 1)
    extras = {stretch(at): value for at, value in enumerate(whole)}
    extras |= {f"{stretch(at)} near": value for at, value in enumerate(near)}
    return Run([100 * d for d in history.dev], value=100 * max(history.dev), extras=extras)


def stretch(at: int) -> str:
    """Name a stretch of the test streams."""
    return f"{at * TRAINED + 1}–{(at + 1) * TRAINED}"


@torch.no_grad()
def by_stretch(tagger: Tagger, data: list[Sentence], *, within: int | None = None) -> list[float]:
    """Measure the accuracy, in per cent, on words 1 to 24, 25 to 48, and so on."""
    number = {tag: at for at, tag in enumerate(tagger.vocabulary.tags)}
    ids = torch.stack([tagger.vocabulary.encode(words) for words, _ in data])  # all are equally long
    wanted = torch.tensor([[number[tag] for tag in tags] for _, tags in data])
    guesses = torch.cat([tagger.eval()(part, within=within).argmax(-1) for part in ids.split(100)])
    right = (guesses == wanted).double()
    return (100 * right.unflatten(1, (TIMES, TRAINED)).mean((0, 2))).tolist()


if __name__ == "__main__":
    main()
