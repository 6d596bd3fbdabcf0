"""How many heads: for two places with an exact bound, for retrieval, in a tagger; and one head with a gate.

    python benchmarks/heads_count.py [bound] [gates] [numbers] [count] [longer] [within]

Writes results/heads-bound.json, heads-gates.json, heads-numbers.json, heads-count.json, heads-longer.json and
heads-within.json.
The width of a layer is the same for every number of heads, so that only the cut differs.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import torch

from attnbook import results
from attnbook.experiments import Retrieval, Run, TwoPlaces, around, retrieval, sweep, two_places
from attnbook.tagging import Tagger, Vocabulary, evaluate, grammar, train

CACHE = Path(__file__).parents[1] / ".cache/runs"
COMMAND = "python benchmarks/heads_count.py"
SEEDS, TEN, EPOCHS, STEPS = range(5), range(10), 8, 600
LONGER = {"epochs": 24, "steps": 3000}
BOUND_STEPS = 4000
SHAPE = {"context": "attention", "positions": "rotary", "d_model": 64}
DRAWN = (3000, 500, 4000)
TITLES = ("four contents at once", "tags of the toy grammar")
HOW = {"seeds": SEEDS, "scout": 2, "progress": False}
BOUND = HOW | {
    "seeds": TEN,
    "rates": around(0.03),
    "goal": "low",
    "tie": 0.001,
    "measure": "error over the bound of one head",
}
"""How heads are trained on two places."""


@cache
def sentences() -> tuple[list, list, list]:
    """Draw sentences to learn from, to choose by, and to report on."""
    return tuple(grammar.sample(count, seed) for count, seed in zip(DRAWN, (1, 2, 3), strict=True))


def tagger(n_heads: int, epochs: int = EPOCHS):
    """Make a candidate that trains a tagger of one layer with so many heads.

    Its value is the accuracy on the dev set, and it carries that on the test set.
    """

    def candidate(rate: float, seed: int) -> Run:
        lessons, dev, test = sentences()
        torch.manual_seed(seed)
        made = Tagger(Vocabulary(lessons), n_heads=n_heads, **SHAPE)
        history = train(made, lessons, dev, epochs=epochs, lr=rate, seed=seed, progress=False)
        return Run([100 * share for share in history.dev], extras={"test": evaluate(made, test).all})

    candidate.told = {
        "optimizer": "AdamW on a cosine",
        "sentences": DRAWN[0],
        "epochs": epochs,
        "d_model": SHAPE["d_model"],
        "n_heads": n_heads,
        "counts": f"tags right in {DRAWN[1]} new sentences",
    }
    return candidate


def bound() -> None:
    """Two places: one head against its exact bound, two heads, and one head with each assumption broken."""
    head = partial(TwoPlaces, 1, 64)
    broken = {
        "1 head of width 64, a gate from the query": head(gate="query"),
        "1 head of width 64, a matrix of the query added": head(added="query"),
        "1 head of width 64, one more token that holds nothing": head(empty=1),
        "1 head of width 64, two more tokens that hold nothing": head(empty=2),
    }
    longer = {
        f"{name}, {BOUND_STEPS:,} steps": replace(one, steps=BOUND_STEPS)
        for name, one in broken.items()
        if not one.gate
    }
    found = sweep(
        {"1 head of width 64": head(), "2 heads of width 8": TwoPlaces(2, 8), **broken, **longer},
        controls={
            "1 head of width 64, a gate that does not see the query": head(gate="blind"),
            "1 head of width 64, asked only (left, right)": head(questions=(1,)),
        },
        cache=CACHE / "heads-bound.json",
        **BOUND,
    )
    print(found.as_table(digits=3), flush=True)
    results.store("heads-bound", {"sweeps": {"two places": found}}, command=COMMAND, seeds=TEN)


def gates() -> None:
    """Two places again: one head with one number for all its columns, the query's or a sink's."""
    found = sweep(
        {
            "one number from the query, width 64": TwoPlaces(1, 64, gate="whole"),
            "one number from the query, width 16": TwoPlaces(1, 16, gate="whole", steps=1200),
            "a sink, width 64": TwoPlaces(1, 64, sinks=True),
            "a sink, width 16": TwoPlaces(1, 16, sinks=True),
        },
        cache=CACHE / "heads-gates.json",
        **BOUND,
    )
    print(found.as_table(digits=3), flush=True)
    results.store("heads-gates", {"sweeps": {"two places": found}}, command=f"{COMMAND} gates", seeds=TEN)


def numbers() -> None:
    """Two places once more, and two numbers a token: how far do weights that depend on them carry?"""
    found = sweep(
        {
            "a matrix of the query added": TwoPlaces(1, 64, added="query", numbers=2, steps=1200),
            "two more tokens that hold nothing": TwoPlaces(1, 64, empty=2, numbers=2, steps=1200),
            "asked the mixed questions": TwoPlaces(1, 64, questions=(1, 2), numbers=2),
            "asked the mixed questions, one number": TwoPlaces(1, 64, questions=(1, 2)),
        },
        cache=CACHE / "heads-numbers.json",
        **BOUND | {"seeds": range(3)},
    )
    print(found.as_table(digits=3), flush=True)
    results.store(
        "heads-numbers", {"sweeps": {"two places": found}}, command=f"{COMMAND} numbers", seeds=range(3)
    )


def count() -> None:
    """Accuracy by the number of heads: four contents at once, and tags of the toy grammar."""
    asked = sweep(
        {f"{h} heads" if h > 1 else "1 head": Retrieval(heads=h, asked=4, steps=STEPS) for h in (1, 2, 4, 8)},
        rates=around(0.014, factor=2**0.5),
        tie=0.01,
        level=0.9,
        widen=6,
        measure="contents right",
        cache=CACHE / "heads-retrieval.json",
        **HOW,
    )
    print(asked.as_table(), flush=True)
    tags = sweep(
        {f"{h} heads" if h > 1 else "1 head": tagger(h) for h in (1, 2, 4, 8)},
        rates=around(0.005),
        measure="dev, %",
        flat=0.2,
        cache=CACHE / "heads-tagger.json",
        **HOW,
    )
    print(tags.as_table(digits=1), flush=True)
    views = {view: 100 * float(grammar.ceiling(view)) for view in ("word", "whole sentence")}
    sweeps = dict(zip(TITLES, (asked, tags), strict=True))
    results.store("heads-count", {"ceilings": views, "sweeps": sweeps}, command=COMMAND, seeds=SEEDS)


def longer() -> None:
    """Train the rows of `count` longer, at the rates that were best there: which were only slow?

    Begun where it was left.
    """
    try:
        done = results.load("heads-longer")["ends"]
    except FileNotFoundError:
        done = {title: {} for title in TITLES}
    contents, tags = TITLES
    for h, name in (1, "1 head"), (2, "2 heads"):  # those that had not answered all by then
        if name not in done[contents]:
            rate = results.sweep("heads-count", contents)[name].rate
            runs = Retrieval(heads=h, asked=4, steps=LONGER["steps"]).together([(rate, s) for s in SEEDS])
            done[contents][name] = [run.value for run in runs]
            keep(done)
    for seed in range(3):
        for name, row in results.sweep("heads-count", tags).rows.items():
            h, ends = int(name.split()[0]), done[tags].setdefault(name, [])
            if len(ends) == seed:
                ends.append(tagger(h, LONGER["epochs"])(row.rate, seed).extras["test"])
                keep(done)


def keep(ends: dict[str, dict[str, list[float]]]) -> None:
    """Store what `longer` has so far."""
    print(ends, flush=True)
    results.store("heads-longer", LONGER | {"ends": ends}, command=COMMAND, seeds=SEEDS)


def within() -> None:
    """Look into trained layers: how two heads share their weight, and what one head guesses.

    The layers are those of `bound` and `longer`, trained again with the same rates and seeds.
    """
    rate, two = results.sweep("heads-bound")["2 heads of width 8"].rate, []
    for seed in TEN:
        layer, run = TwoPlaces(2, 8).train(rate, seed)
        queries, tokens, _ = two_places.draw(2000, seed=-1)
        with torch.no_grad():
            _, weights = layer(queries, context=tokens, need_weights=True)
        left = weights[..., 0]  # (pairs, heads, questions)
        two.append({"seed": seed, "error": run.value})
        for name, found in (("left", left.mean(0)), ("spread", left.std(0))):
            two[-1][name] = [[round(x, 3) for x in row] for row in found.tolist()]
        print(two[-1], flush=True)
    rate = results.sweep("heads-count", TITLES[0])["1 head"].rate
    task = Retrieval(heads=1, asked=4, steps=LONGER["steps"])
    runs, vectors, matrices = task.train([(rate, s) for s in SEEDS])
    draws = [torch.Generator().manual_seed(1000 + s) for s in SEEDS]
    asked = [retrieval.ask(draw, batch=3000, asked=4) for draw in draws]
    names = ("names", "contents", "asked", "answers")
    some = retrieval.Questions(*(torch.stack([getattr(q, name) for q in asked]) for name in names))
    guesses = task.answers(vectors, matrices, some).argmax(-1)  # (seeds, batch, 4)
    among = guesses[..., None] == some.answers[..., None, :]
    often = (some.answers[..., None] == some.answers[..., None, :]).sum(-1).amax(-1, keepdim=True)
    one = {"right": [run.value for run in runs]}
    for name, true in (("among the four", among.any(-1)), ("a most frequent one", among.sum(-1) == often)):
        one[name] = [round(share, 4) for share in true.float().mean((1, 2)).tolist()]
    print(one, flush=True)
    results.store("heads-within", {"two heads": two, "one head": one}, command=COMMAND, seeds=TEN)


if __name__ == "__main__":
    torch.set_num_threads(1)
    results.begin()
    every = (bound, gates, numbers, count, longer, within)
    parts = {part.__name__: part for part in every}
    for name in sys.argv[1:] or parts:
        parts[name]()
